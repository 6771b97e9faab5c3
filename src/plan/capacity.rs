//! How many mount targets a load needs, and what a number of targets gives: by the price list and the ceilings of one
//! target, and nothing else. What a client's latency and locks take away is the forecast's matter.

use serde::Serialize;

use crate::base::Proc;

use super::ServerProfile;

/// Targets' worths this close to a whole number are taken for it: what is left is of floating point.
const ROUNDING: f64 = 1e-9;

/// I/Os of one size, some reads and some writes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs)] // the names say it
pub struct Load {
    pub io_bytes: u64,
    /// The part of the I/Os that are reads, 0 to 1.
    pub read_share: f64,
}

/// What a load is to reach; the larger of the two binds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Goal {
    pub ios_per_s: Option<f64>,
    pub bytes_per_s: Option<f64>,
}

/// What a goal asks of all targets together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Demand {
    pub ios_per_s: f64,
    pub bytes_per_s: f64,
    /// IOPS of the price list.
    pub priced_iops: f64,
}

/// Which ceiling of a target is met first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Bound {
    Iops,
    Bandwidth,
}

impl Bound {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Bound::Iops => "IOPS",
            Bound::Bandwidth => "bandwidth",
        }
    }
}

/// A demand spread evenly over a number of targets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Spread {
    pub targets: u64,
    /// Of each target.
    pub priced_iops: f64,
    pub iops_share: f64,
    pub bytes_per_s: f64,
    pub bandwidth_share: f64,
    /// Neither ceiling is passed.
    pub enough: bool,
    pub below_alarm: bool,
    /// I/Os a second of the same load that fit below the alarm besides; none where bandwidth or the alarm is passed.
    pub room_ios_per_s: f64,
}

/// What a number of targets gives for a load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Yield {
    pub targets: u64,
    pub ios_per_s: f64,
    pub bytes_per_s: f64,
    pub bound: Bound,
}

impl Load {
    /// What one of its I/Os costs on average, in IOPS of the price list. One that is longer than a transfer is several.
    pub fn price(&self, profile: &ServerProfile) -> f64 {
        let of = |proc| {
            let (whole, rest) =
                (self.io_bytes / profile.transfer_bytes_max, self.io_bytes % profile.transfer_bytes_max);
            let rest = if rest > 0 || whole == 0 { profile.prices.price(proc, rest) } else { 0 };
            // As a float, for a profile may price each of many small transfers high.
            whole as f64 * profile.prices.price(proc, profile.transfer_bytes_max) as f64 + rest as f64
        };
        self.read_share * of(Proc::Read) + (1.0 - self.read_share) * of(Proc::Write)
    }

    /// READs and WRITEs that one I/O is.
    pub fn calls(&self, profile: &ServerProfile) -> u64 {
        self.io_bytes.div_ceil(profile.transfer_bytes_max).max(1)
    }

    /// What reaching `goal` with this load asks.
    pub fn demand(&self, profile: &ServerProfile, goal: Goal) -> Demand {
        let of_bytes = goal.bytes_per_s.map(|bytes| bytes / self.io_bytes as f64);
        let ios_per_s = goal.ios_per_s.unwrap_or(0.0).max(of_bytes.unwrap_or(0.0));
        Demand {
            ios_per_s,
            bytes_per_s: ios_per_s * self.io_bytes as f64,
            priced_iops: ios_per_s * self.price(profile),
        }
    }

    /// What `targets` give for it.
    pub fn given(&self, profile: &ServerProfile, targets: u64) -> Yield {
        let (n, io_bytes) = (targets as f64, self.io_bytes as f64);
        let by_iops = n * profile.ceiling.iops / self.price(profile);
        let by_bandwidth = n * profile.ceiling.bytes_per_s / io_bytes;
        let bound = if by_iops <= by_bandwidth { Bound::Iops } else { Bound::Bandwidth };
        let ios_per_s = by_iops.min(by_bandwidth);
        Yield { targets, ios_per_s, bytes_per_s: ios_per_s * io_bytes, bound }
    }
}

impl Demand {
    /// Targets' worth of IOPS, and of bandwidth.
    pub fn targets_worth(&self, profile: &ServerProfile) -> (f64, f64) {
        (self.priced_iops / profile.ceiling.iops, self.bytes_per_s / profile.ceiling.bytes_per_s)
    }

    /// The ceiling that decides how many targets are needed.
    pub fn bound(&self, profile: &ServerProfile) -> Bound {
        let (iops, bandwidth) = self.targets_worth(profile);
        if iops >= bandwidth { Bound::Iops } else { Bound::Bandwidth }
    }

    /// The fewest targets whose ceilings hold it.
    pub fn targets_min(&self, profile: &ServerProfile) -> u64 {
        let (iops, bandwidth) = self.targets_worth(profile);
        ((iops.max(bandwidth) - ROUNDING).ceil() as u64).max(1)
    }

    /// The fewest targets whose ceilings hold it, with the IOPS of each below the alarm.
    pub fn targets_below_alarm(&self, profile: &ServerProfile) -> u64 {
        let (iops, _) = self.targets_worth(profile);
        // At the alarm's share it is raised, so a whole number there needs one target more.
        let quiet = ((iops / profile.alarm_share + ROUNDING).floor() as u64).saturating_add(1);
        self.targets_min(profile).max(quiet)
    }

    /// This demand on `targets`.
    pub fn spread(&self, profile: &ServerProfile, load: &Load, targets: u64) -> Spread {
        let n = targets as f64;
        let (iops, bandwidth) = self.targets_worth(profile);
        let (iops_share, bandwidth_share) = (iops / n, bandwidth / n);
        let room = |share: f64, limit: f64, ceiling: f64, each: f64| (limit - share) * ceiling * n / each;
        let by_iops = room(iops_share, profile.alarm_share, profile.ceiling.iops, load.price(profile));
        let by_bandwidth = room(bandwidth_share, 1.0, profile.ceiling.bytes_per_s, load.io_bytes as f64);
        Spread {
            targets,
            priced_iops: self.priced_iops / n,
            iops_share,
            bytes_per_s: self.bytes_per_s / n,
            bandwidth_share,
            // As the fewest targets are found, by their worth: of a thousand millions each share differs by no more than rounding.
            enough: iops.max(bandwidth) - ROUNDING <= n,
            below_alarm: iops / profile.alarm_share + ROUNDING < n && bandwidth - ROUNDING <= n,
            room_ios_per_s: by_iops.min(by_bandwidth).max(0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::PriceList;

    const MIXED: Load = Load { io_bytes: 32 << 10, read_share: 0.7 };

    /// The issue's own question: 200,000 I/Os of 32 KiB are 6.55 GB/s, more than the 4 GB/s asked for.
    #[test]
    fn the_larger_of_two_goals_counts() {
        let oci = ServerProfile::oci();
        let both = Goal { ios_per_s: Some(200_000.0), bytes_per_s: Some(4e9) };
        let demand = MIXED.demand(&oci, both);
        assert_eq!((demand.ios_per_s, demand.bytes_per_s), (200_000.0, 6_553_600_000.0));
        assert!((demand.priced_iops - 520_000.0).abs() < 1e-6);
        assert_eq!((demand.targets_min(&oci), demand.targets_below_alarm(&oci)), (11, 14));
        assert_eq!(demand.bound(&oci), Bound::Iops);
        let large = Load { io_bytes: 1 << 20, read_share: 1.0 };
        let demand = large.demand(&oci, Goal { ios_per_s: Some(10.0), ..both });
        assert!((demand.bytes_per_s - 4e9).abs() < 1.0);
        assert_eq!((demand.targets_min(&oci), demand.bound(&oci)), (4, Bound::Bandwidth));
    }

    #[test]
    fn whole_targets_are_enough_and_the_alarm_is_stayed_below() {
        let oci = ServerProfile::oci();
        let reads = Load { io_bytes: 32 << 10, read_share: 1.0 };
        let demand = |ios| reads.demand(&oci, Goal { ios_per_s: Some(ios), bytes_per_s: None });
        assert_eq!(demand(25_000.0).targets_min(&oci), 1);
        assert_eq!(demand(25_001.0).targets_min(&oci), 2);
        // 20,000 reads are 40,000 IOPS: just at the alarm.
        assert_eq!(demand(20_000.0).targets_below_alarm(&oci), 2);
        assert_eq!(demand(19_999.0).targets_below_alarm(&oci), 1);
        let spread = demand(20_000.0).spread(&oci, &reads, 2);
        assert!(spread.enough && spread.below_alarm);
        assert_eq!((spread.iops_share, spread.room_ios_per_s.round()), (0.4, 20_000.0));
        let full = demand(20_000.0).spread(&oci, &reads, 1);
        assert!(full.enough && !full.below_alarm && full.room_ios_per_s < 1.0);
        assert!(!demand(26_000.0).spread(&oci, &reads, 1).enough);
        // As many as are said to be the fewest are enough, however many they are.
        let vast = demand(25_000.0 * 4e9);
        let (fewest, quiet) = (vast.targets_min(&oci), vast.targets_below_alarm(&oci));
        let of = |targets| vast.spread(&oci, &reads, targets);
        assert_eq!((fewest, quiet), (4_000_000_000, 5_000_000_001));
        assert!(of(fewest).enough && !of(fewest - 1).enough && of(quiet).below_alarm && !of(quiet - 1).below_alarm);
    }

    #[test]
    fn an_io_longer_than_a_transfer_is_several() {
        let oci = ServerProfile::oci();
        let writes = |io_bytes| Load { io_bytes, read_share: 0.0 };
        assert_eq!(writes(4 << 20).price(&oci), 4.0 * 66.0);
        assert_eq!(writes((1 << 20) + 1).price(&oci), 66.0 + 4.0);
        assert_eq!((writes(4 << 20).calls(&oci), writes(1).calls(&oci)), (4, 1));
        assert_eq!(writes(1).price(&oci), 4.0);
        // More than a u64 holds.
        let mut base = [0; Proc::COUNT];
        base[Proc::Write as usize] = u32::MAX;
        let dear = ServerProfile { prices: PriceList::new(base, 1, 1), transfer_bytes_max: 1, ..oci };
        assert!((writes(1 << 60).price(&dear) / ((1_u64 << 60) as f64 * f64::from(u32::MAX)) - 1.0).abs() < 1e-9);
    }
}
