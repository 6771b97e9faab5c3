//! Counting calls: `Tally` is a snapshot that adds and subtracts, `Ledger` the live counter with latencies.

use std::ops::{Add, AddAssign, Sub};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::base::{PriceList, Proc, price};

use super::{Call, Tap};

/// Counts of one procedure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How many.
    pub calls: u64,
    /// Payload bytes asked for (READ) or carried (WRITE).
    pub bytes: u64,
    /// Blocks of 32 KiB begun beyond each call's first: with `calls`, what the price list needs.
    pub blocks_extra: u64,
    /// How many of them failed.
    pub failed: u64,
}

impl Count {
    fn zip(self, other: Count, f: impl Fn(u64, u64) -> u64) -> Count {
        Count {
            calls: f(self.calls, other.calls),
            bytes: f(self.bytes, other.bytes),
            blocks_extra: f(self.blocks_extra, other.blocks_extra),
            failed: f(self.failed, other.failed),
        }
    }
}

/// A snapshot: how many of each procedure, with payload bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally([Count; Proc::COUNT]);

impl Tally {
    /// The tally of one call as it is asked.
    pub fn of(call: &Call<'_>) -> Tally {
        let mut tally = Tally::default();
        tally.count(call.proc(), call.payload(), false);
        tally
    }

    /// Counts one more.
    pub fn count(&mut self, proc: Proc, bytes: u64, failed: bool) {
        let count = &mut self.0[proc as usize];
        count.calls += 1;
        count.bytes += bytes;
        count.blocks_extra += price::blocks_extra(bytes);
        count.failed += u64::from(failed);
    }

    /// The counts of one procedure.
    pub fn get(&self, proc: Proc) -> Count {
        self.0[proc as usize]
    }

    /// The procedures that occurred, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (Proc, Count)> + '_ {
        Proc::ALL.into_iter().map(|p| (p, self.get(p))).filter(|(_, c)| c.calls > 0)
    }

    /// All procedures together.
    pub fn calls(&self) -> u64 {
        self.0.iter().map(|c| c.calls).sum()
    }

    /// Payload bytes of READ and WRITE together.
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|c| c.bytes).sum()
    }

    /// The price of all of it, in IOPS.
    pub fn price(&self, list: &PriceList) -> u64 {
        self.iter().map(|(p, c)| list.total(p, c.calls, c.blocks_extra)).sum()
    }
}

impl Add for Tally {
    type Output = Tally;
    fn add(self, other: Tally) -> Tally {
        Tally(std::array::from_fn(|i| self.0[i].zip(other.0[i], |a, b| a + b)))
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        *self = *self + other;
    }
}

/// What came between two snapshots; saturates at 0.
impl Sub for Tally {
    type Output = Tally;
    fn sub(self, other: Tally) -> Tally {
        Tally(std::array::from_fn(|i| self.0[i].zip(other.0[i], u64::saturating_sub)))
    }
}

impl std::iter::Sum for Tally {
    fn sum<I: Iterator<Item = Tally>>(iter: I) -> Tally {
        iter.fold(Tally::default(), Add::add)
    }
}

#[derive(Debug, Default)]
struct Row {
    calls: AtomicU64,
    bytes: AtomicU64,
    blocks_extra: AtomicU64,
    failed: AtomicU64,
    /// Microseconds, 1 us to 10 min, two significant digits (some 30 KiB); made at the first call.
    latency: Mutex<Option<Histogram<u32>>>,
}

/// Live counts, bytes and latencies of each procedure, for one target. As a `Tap` it counts what is asked of a mount
/// (latency: the window's); the direct NFS mount and the simulator feed one call by call.
#[derive(Debug, Default)]
pub struct Ledger {
    rows: [Row; Proc::COUNT],
}

/// The longest latency a histogram keeps apart, in microseconds.
const LATENCY_US_MAX: u64 = 600_000_000;

impl Ledger {
    /// Counts one procedure that took `took`.
    pub fn record(&self, proc: Proc, bytes: u64, failed: bool, took: Duration) {
        let row = &self.rows[proc as usize];
        row.calls.fetch_add(1, Ordering::Relaxed);
        row.bytes.fetch_add(bytes, Ordering::Relaxed);
        row.blocks_extra.fetch_add(price::blocks_extra(bytes), Ordering::Relaxed);
        row.failed.fetch_add(u64::from(failed), Ordering::Relaxed);
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).clamp(1, LATENCY_US_MAX);
        let mut latency = row.latency.lock().expect("a histogram never panics");
        latency
            .get_or_insert_with(|| Histogram::new_with_bounds(1, LATENCY_US_MAX, 2).expect("valid bounds"))
            .saturating_record(us);
    }

    /// What has been counted so far.
    pub fn tally(&self) -> Tally {
        Tally(std::array::from_fn(|i| {
            let row = &self.rows[i];
            Count {
                calls: row.calls.load(Ordering::Relaxed),
                bytes: row.bytes.load(Ordering::Relaxed),
                blocks_extra: row.blocks_extra.load(Ordering::Relaxed),
                failed: row.failed.load(Ordering::Relaxed),
            }
        }))
    }

    /// The latency in microseconds that `quantile` (0 to 1) of a procedure's calls did not exceed; none before the first.
    pub fn latency_us(&self, proc: Proc, quantile: f64) -> Option<u64> {
        let latency = self.rows[proc as usize].latency.lock().expect("a histogram never panics");
        latency.as_ref().map(|h| h.value_at_quantile(quantile))
    }
}

impl Tap for Ledger {
    fn after(&self, calls: &[Call<'_>], took: Duration) {
        for call in calls {
            self.record(call.proc(), call.payload(), call.status().is_err(), took);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tallies_add_subtract_and_price() {
        let mut a = Tally::default();
        a.count(Proc::Write, 64 << 10, false);
        a.count(Proc::Create, 0, true);
        let twice = a + a;
        assert_eq!(twice.get(Proc::Write).blocks_extra, 2);
        assert_eq!(twice.price(&PriceList::oci()), 2 * (6 + 4));
        assert_eq!(twice - a, a);
        assert_eq!((twice.calls(), twice.bytes(), twice.get(Proc::Create).failed), (4, 256 << 9, 2));
    }

    #[test]
    fn ledger_keeps_latency_within_two_digits() {
        let ledger = Ledger::default();
        for ms in 1..=100 {
            ledger.record(Proc::GetAttr, 0, false, Duration::from_millis(ms));
        }
        let median = ledger.latency_us(Proc::GetAttr, 0.5).unwrap();
        assert!((49_000..=51_000).contains(&median), "{median}");
        assert_eq!(ledger.latency_us(Proc::Read, 0.5), None);
        assert_eq!(ledger.tally().get(Proc::GetAttr).calls, 100);
    }
}
