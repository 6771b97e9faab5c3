//! Counting calls: `Tally` is a snapshot that adds and subtracts, `Ledger` the live counter with latencies.

use std::ops::{Add, AddAssign, Sub};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
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
        tally.count_call(call, false);
        tally
    }

    fn count_call(&mut self, call: &Call<'_>, failed: bool) {
        if let Some(copied) = call.copied() {
            let count = &mut self.0[call.proc() as usize];
            count.calls += copied.files() + copied.failed();
            count.failed += copied.failed();
            return;
        }
        self.count(call.proc(), call.payload(), failed);
        self.0[Proc::Remove as usize].calls += call.gone();
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

    /// All procedures together; saturates, as all sums of tallies do: a forecast's may be of any size.
    pub fn calls(&self) -> u64 {
        self.0.iter().fold(0, |sum, c| sum.saturating_add(c.calls))
    }

    /// Payload bytes of READ and WRITE together.
    pub fn bytes(&self) -> u64 {
        self.0.iter().fold(0, |sum, c| sum.saturating_add(c.bytes))
    }

    /// `times` of `over` equal parts that this is: exact where the parts are equal, else rounded down; saturates.
    pub fn scaled(&self, times: u64, over: u64) -> Tally {
        let part =
            |n: u64| u64::try_from(u128::from(n) * u128::from(times) / u128::from(over.max(1))).unwrap_or(u64::MAX);
        Tally(std::array::from_fn(|i| self.0[i].zip(Count::default(), |n, _| part(n))))
    }

    /// The price of all of it, in IOPS.
    pub fn price(&self, list: &PriceList) -> u64 {
        let price = |(p, c): (Proc, Count)| list.total(p, c.calls, c.blocks_extra);
        self.iter().map(price).fold(0, u64::saturating_add)
    }
}

impl Add for Tally {
    type Output = Tally;
    fn add(self, other: Tally) -> Tally {
        Tally(std::array::from_fn(|i| self.0[i].zip(other.0[i], u64::saturating_add)))
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

/// Parts of a ledger: threads count in different ones, so that they do not wait for each other or fight for cache lines.
const PARTS: usize = 8;

/// What some of the threads counted. Aligned to two cache lines, which are fetched in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Part(Mutex<Rows>);

#[derive(Debug, Default)]
struct Rows {
    tally: Tally,
    /// Microseconds, 1 us to 10 min, two significant digits (some 30 KiB); made at the first call.
    latency: [Option<Box<Histogram<u32>>>; Proc::COUNT],
}

impl Part {
    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Live counts, bytes and latencies of each procedure, for one target. As a `Tap` it counts what is asked of a mount
/// (latency: the window's); the direct NFS mount and the simulator feed one call by call.
#[derive(Debug, Default)]
pub struct Ledger {
    parts: [Part; PARTS],
}

/// The longest latency a histogram keeps apart, in microseconds.
const LATENCY_US_MAX: u64 = 600_000_000;

fn histogram() -> Histogram<u32> {
    Histogram::new_with_bounds(1, LATENCY_US_MAX, 2).expect("valid bounds")
}

/// The part that this thread counts in: threads get them in turn.
fn part_of_thread() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static PART: usize = NEXT.fetch_add(1, Ordering::Relaxed) % PARTS;
    }
    PART.try_with(|part| *part).unwrap_or(0) // 0 while the thread ends
}

impl Ledger {
    /// Counts one procedure that took `took`.
    pub fn record(&self, proc: Proc, bytes: u64, failed: bool, took: Duration) {
        self.parts[part_of_thread()].rows().record(proc, bytes, failed, took);
    }

    /// Counts calls of which nobody asks how long they took.
    pub fn count(&self, calls: &[Call<'_>]) {
        let mut rows = self.parts[part_of_thread()].rows();
        calls.iter().for_each(|call| rows.count(call));
    }

    /// Counts what a mount made of one call of which nobody asks how long it took.
    pub fn count_lowered(&self, call: &Call<'_>, lowered: &Tally) {
        self.parts[part_of_thread()].rows().count_lowered(call, lowered);
    }

    /// Counts what a mount made of one call; each of its procedures took `each`.
    pub fn record_lowered(&self, call: &Call<'_>, lowered: &Tally, each: Duration) {
        self.parts[part_of_thread()].rows().record_lowered(call, lowered, each);
    }

    /// What has been counted so far.
    pub fn tally(&self) -> Tally {
        self.parts.iter().map(|part| part.rows().tally).sum()
    }

    /// The latency in microseconds that `quantile` (0 to 1) of a procedure's calls did not exceed; none before the first.
    pub fn latency_us(&self, proc: Proc, quantile: f64) -> Option<u64> {
        let mut all: Option<Histogram<u32>> = None;
        for part in &self.parts {
            if let Some(latency) = &part.rows().latency[proc as usize] {
                all.get_or_insert_with(histogram).add(&**latency).expect("the same bounds");
            }
        }
        all.map(|latency| latency.value_at_quantile(quantile))
    }
}

impl Rows {
    fn count(&mut self, call: &Call<'_>) {
        self.tally.count_call(call, call.status().is_err());
    }

    fn record(&mut self, proc: Proc, bytes: u64, failed: bool, took: Duration) {
        self.tally.count(proc, bytes, failed);
        self.took(proc, 1, took);
    }

    /// So many calls of `proc` took `each`.
    fn took(&mut self, proc: Proc, calls: u64, each: Duration) {
        let us = u64::try_from(each.as_micros()).unwrap_or(u64::MAX).clamp(1, LATENCY_US_MAX);
        let latency = self.latency[proc as usize].get_or_insert_with(|| Box::new(histogram()));
        latency.saturating_record_n(us, u32::try_from(calls).unwrap_or(u32::MAX));
    }

    fn count_lowered(&mut self, call: &Call<'_>, lowered: &Tally) {
        self.tally += *lowered;
        let own = &mut self.tally.0[call.proc() as usize];
        own.failed += u64::from(call.status().is_err() && lowered.get(call.proc()).calls > 0);
    }

    fn record_lowered(&mut self, call: &Call<'_>, lowered: &Tally, each: Duration) {
        self.count_lowered(call, lowered);
        for (proc, count) in lowered.iter() {
            self.took(proc, count.calls, each);
        }
    }
}

impl Tap for Ledger {
    fn sees_each(&self) -> bool {
        false
    }

    fn after(&self, calls: &[Call<'_>], took: Duration) {
        let mut rows = self.parts[part_of_thread()].rows();
        // Most often a window is of one procedure: its latency is found in the histogram once.
        for alike in calls.chunk_by(|a, b| a.proc() == b.proc()) {
            alike.iter().for_each(|call| rows.count(call));
            match alike[0].copied() {
                // One after the other.
                Some(copied) => {
                    let files = copied.files() + copied.failed();
                    let each = took / u32::try_from(files).unwrap_or(u32::MAX).max(1);
                    rows.took(alike[0].proc(), files, each);
                }
                None => rows.took(alike[0].proc(), alike.len() as u64, took),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Op;

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
    fn what_is_only_counted_has_failures_and_no_latency() {
        let ledger = Ledger::default();
        let done: Call<'_> = Op::Null { out: Ok(()) }.into();
        ledger.count(&[done, Call::default()]);
        let failed = Call::default();
        let mut lowered = Tally::default();
        lowered.count(Proc::GetAttr, 0, false);
        // Its own procedure was not sent; then it was.
        ledger.count_lowered(&failed, &lowered);
        ledger.count_lowered(&failed, &Tally::of(&failed));
        let (null, get_attr) = (ledger.tally().get(Proc::Null), ledger.tally().get(Proc::GetAttr));
        assert_eq!(((null.calls, null.failed), (get_attr.calls, get_attr.failed)), ((3, 2), (1, 0)));
        assert_eq!(ledger.latency_us(Proc::Null, 1.0), None);
    }

    #[test]
    fn a_tally_of_equal_parts_is_scaled_exactly() {
        let mut part = Tally::default();
        part.count(Proc::Write, 100 << 10, false);
        part.count(Proc::Create, 0, true);
        let three = part + part + part;
        assert_eq!(three.scaled(7, 3), (0..7).map(|_| part).sum());
        assert_eq!((three.scaled(0, 3), three.scaled(3, 3)), (Tally::default(), three));
        let many = three.scaled(1 << 40, 3);
        assert_eq!((many.get(Proc::Write).bytes, many.get(Proc::Create).failed), (100 << 50, 1 << 40));
        assert_eq!(three.scaled(u64::MAX, 1).get(Proc::Write).calls, u64::MAX);
    }

    #[test]
    fn what_is_too_much_to_count_is_the_most_that_can_be_counted() {
        let mut one = Tally::default();
        one.count(Proc::Write, 64 << 10, false);
        one.count(Proc::Remove, 0, false);
        let most = one.scaled(u64::MAX, 1);
        let twice = most + most;
        assert_eq!((twice, twice.calls()), (most, u64::MAX));
        assert_eq!((twice.bytes(), twice.price(&PriceList::oci())), (u64::MAX, u64::MAX));
        let half = one.scaled(1 << 63, 1);
        assert_eq!((half + half).get(Proc::Remove).calls, u64::MAX);
        assert_eq!(half.price(&PriceList::oci()), u64::MAX);
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
        // Other threads' counts are of the same ledger.
        std::thread::scope(|scope| {
            for _ in 0..3 * PARTS {
                scope.spawn(|| ledger.record(Proc::Write, 40_000, true, Duration::from_millis(7)));
            }
        });
        let (count, all) = (ledger.tally().get(Proc::Write), 3 * PARTS as u64);
        assert_eq!((count.calls, count.failed, count.blocks_extra), (all, all, all));
        assert!((6_900..=7_100).contains(&ledger.latency_us(Proc::Write, 0.1).unwrap()));
        assert_eq!(ledger.tally().get(Proc::GetAttr).calls, 100);
    }
}
