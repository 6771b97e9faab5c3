//! What each procedure costs a mount target, in IOPS. Source of the built-in list: OCI File Storage Performance
//! Characteristics, v2.0, August 2023.

use std::time::Duration;

use super::Proc;

/// READ and WRITE are priced by blocks of this many bytes.
pub const BLOCK_BYTES: u64 = 32 * 1024;

/// Prices in IOPS: a base for each procedure and, for READ and WRITE, a step for each further 32 KiB begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriceList {
    base: [u32; Proc::COUNT],
    read_step: u32,
    write_step: u32,
}

impl PriceList {
    /// The list of these prices: of each procedure, and of each further block of a READ and of a WRITE.
    pub fn new(base: [u32; Proc::COUNT], read_step: u32, write_step: u32) -> PriceList {
        PriceList { base, read_step, write_step }
    }

    /// The price list of an OCI File Storage mount target.
    pub fn oci() -> PriceList {
        let mut base = [0; Proc::COUNT];
        for proc in Proc::ALL {
            base[proc as usize] = match proc {
                // Beyond NFSv3: no mount target serves them.
                Proc::Null
                | Proc::Seek
                | Proc::Copy
                | Proc::IoAdvise
                | Proc::ListXattrs
                | Proc::GetXattr
                | Proc::SetXattr
                | Proc::RemoveXattr => 0,
                Proc::Access
                | Proc::Commit
                | Proc::FsInfo
                | Proc::FsStat
                | Proc::GetAttr
                | Proc::ReadLink
                | Proc::PathConf => 1,
                Proc::Lookup | Proc::ReadDir | Proc::SetAttr | Proc::Read => 2,
                Proc::Create
                | Proc::Link
                | Proc::MkDir
                | Proc::MkNod
                | Proc::ReadDirPlus
                | Proc::RmDir
                | Proc::Symlink
                | Proc::Write => 4,
                Proc::Remove | Proc::Rename => 8,
            };
        }
        PriceList::new(base, 1, 2)
    }

    /// The price of one procedure that carries `bytes` of payload (0 for all but READ and WRITE).
    pub fn price(&self, proc: Proc, bytes: u64) -> u64 {
        self.total(proc, 1, blocks_extra(bytes))
    }

    /// The price of `count` procedures that together began `blocks_extra` blocks beyond their first; saturates, for a plan
    /// may ask about more than there could ever be.
    pub fn total(&self, proc: Proc, count: u64, blocks_extra: u64) -> u64 {
        let step = match proc {
            Proc::Read => self.read_step,
            Proc::Write => self.write_step,
            _ => 0,
        };
        let of = |n: u64, price: u32| n.saturating_mul(u64::from(price));
        of(count, self.base[proc as usize]).saturating_add(of(blocks_extra, step))
    }
}

/// Blocks of 32 KiB begun beyond the first by a payload of `bytes`.
pub fn blocks_extra(bytes: u64) -> u64 {
    bytes.div_ceil(BLOCK_BYTES).saturating_sub(1)
}

/// What one mount target gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ceiling {
    /// Priced IOPS a second.
    pub iops: f64,
    /// Payload bytes a second, reads and writes together.
    pub bytes_per_s: f64,
    /// Answer time of an idle target.
    pub latency: Duration,
}

impl Ceiling {
    /// An OCI mount target: 50,000 IOPS, 1 GB/s (10^9 bytes); 1 ms is the simulator's default answer time.
    pub fn oci() -> Ceiling {
        Ceiling { iops: 50_000.0, bytes_per_s: 1e9, latency: Duration::from_millis(1) }
    }

    /// The ceilings times `scale`; the latency stays.
    pub fn scaled(self, scale: f64) -> Ceiling {
        Ceiling { iops: self.iops * scale, bytes_per_s: self.bytes_per_s * scale, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's own derived figures, DESIGN section 7.
    #[test]
    fn published_prices() {
        let list = PriceList::oci();
        assert_eq!(list.price(Proc::Read, 64 << 10), 3);
        assert_eq!(50_000 / list.price(Proc::Read, 32 << 10), 25_000);
        assert_eq!(50_000 / list.price(Proc::Write, 32 << 10), 12_500);
        assert_eq!(50_000 / list.price(Proc::Write, 1 << 20), 757);
        assert_eq!(list.price(Proc::Write, 0), 4);
        assert_eq!(list.price(Proc::Write, (32 << 10) + 1), 6);
        let small_file = list.price(Proc::Create, 0) + list.price(Proc::Write, 16 << 10) + list.price(Proc::SetAttr, 0);
        assert_eq!(small_file, 10);
    }

    #[test]
    fn more_than_can_be_counted_is_the_most_that_can() {
        let mut base = [0; Proc::COUNT];
        base[Proc::Remove as usize] = u32::MAX;
        let list = PriceList::new(base, 1, u32::MAX);
        assert_eq!(list.total(Proc::Remove, 5_000_000_000, 0), u64::MAX);
        assert_eq!(list.total(Proc::Write, 1, u64::MAX), u64::MAX);
        assert_eq!(list.total(Proc::Remove, 4_000_000_000, 0), 4_000_000_000 * u64::from(u32::MAX));
    }
}
