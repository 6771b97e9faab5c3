//! What one direction of a job did in each half second: I/Os, bytes, latencies. For samples that are compared and for latencies over time.
//!
//! Promises: merging the timelines of clones is as if one had counted all, to half an interval where they did not start together; memory is bounded, for intervals
//! become twice as long when there are too many.
//! Leaves out: the clock.

use super::histogram::Histogram;

/// The shortest interval.
const EVERY_NS: u64 = 500_000_000;

/// Intervals at most: ten minutes of the shortest. An even number, for two become one.
const INTERVALS_MAX: usize = 1200;

/// What ended within an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interval {
    /// I/Os.
    pub ios: u64,
    /// Bytes.
    pub bytes: u64,
    /// Latencies as fio's buckets: their middles in ns, ascending, and counts.
    pub bins: Vec<(u64, u64)>,
}

impl Interval {
    fn merge(&mut self, other: &Interval) {
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.bins.extend(&other.bins);
        self.bins.sort_unstable();
        self.bins.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
    }

    /// The latency, in ns, that this percentage of the I/Os did not pass; 0 without I/O.
    pub fn percentile(&self, percentage: f64) -> u64 {
        let wanted = percentage / 100.0 * self.bins.iter().map(|(_, count)| *count).sum::<u64>() as f64;
        let mut sum = 0;
        let reaches = |(_, count): &&(u64, u64)| {
            sum += *count;
            sum as f64 >= wanted
        };
        self.bins.iter().find(reaches).map_or(0, |(ns, _)| *ns)
    }
}

/// The intervals of a job, from its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// When it begins, by the run's clock.
    from_ns: u64,
    every_ns: u64,
    whole: Vec<Interval>,
    /// The one that is not over: I/Os, bytes, latencies.
    open: (u64, u64, Histogram),
}

impl Default for Timeline {
    fn default() -> Timeline {
        Timeline { from_ns: 0, every_ns: EVERY_NS, whole: Vec::new(), open: Default::default() }
    }
}

impl Timeline {
    /// One that begins at `from_ns`.
    pub fn since(from_ns: u64) -> Timeline {
        Timeline { from_ns, ..Timeline::default() }
    }

    /// An I/O of `bytes` ended `at_ns` after the start and took `ns`.
    #[inline]
    pub fn add(&mut self, at_ns: u64, bytes: u64, ns: u64) {
        while at_ns / self.every_ns > self.whole.len() as u64 {
            self.close();
        }
        self.open.0 += 1;
        self.open.1 += bytes;
        self.open.2.add(ns);
    }

    #[cold]
    fn close(&mut self) {
        let (ios, bytes, latencies) = std::mem::take(&mut self.open);
        self.whole.push(Interval { ios, bytes, bins: latencies.bins() });
        if self.whole.len() >= INTERVALS_MAX {
            self.coarsen();
        }
    }

    fn coarsen(&mut self) {
        let merged = |pair: &[Interval]| {
            let mut one = pair[0].clone();
            pair[1..].iter().for_each(|other| one.merge(other));
            one
        };
        self.whole = self.whole.chunks(2).map(merged).collect();
        self.every_ns *= 2;
    }

    /// Adds those of another clone of the run. The intervals stay those of what started first.
    pub fn merge(&mut self, other: &Timeline) {
        let mut other = other.clone();
        if other.from_ns < self.from_ns {
            std::mem::swap(self, &mut other);
        }
        let later = other.from_ns - self.from_ns;
        let mut every_ns = self.every_ns.max(other.every_ns);
        while later / every_ns > INTERVALS_MAX as u64 {
            every_ns *= 2;
        }
        while self.every_ns < every_ns {
            self.coarsen();
        }
        while other.every_ns < every_ns {
            other.coarsen();
        }
        let skipped = ((later + every_ns / 2) / every_ns) as usize;
        if self.whole.len() < skipped + other.whole.len() {
            self.whole.resize(skipped + other.whole.len(), Interval::default());
        }
        self.whole.iter_mut().skip(skipped).zip(&other.whole).for_each(|(here, there)| here.merge(there));
    }

    /// Milliseconds of an interval.
    pub fn every_ms(&self) -> u64 {
        self.every_ns / 1_000_000
    }

    /// Those that are over, in order.
    pub fn intervals(&self) -> &[Interval] {
        &self.whole
    }

    /// `amount` of each interval, as a second's.
    pub fn per_second(&self, amount: impl Fn(&Interval) -> u64) -> Vec<f64> {
        let seconds = self.every_ns as f64 / 1e9;
        self.whole.iter().map(|interval| amount(interval) as f64 / seconds).collect()
    }

    /// All intervals as one.
    pub fn all(&self) -> Interval {
        let mut all = Interval::default();
        self.whole.iter().for_each(|interval| {
            all.ios += interval.ios;
            all.bytes += interval.bytes;
            all.bins.extend(&interval.bins);
        });
        all.merge(&Interval::default());
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn counted(ends_ms: &[u64]) -> Timeline {
        let mut timeline = Timeline::default();
        ends_ms.iter().for_each(|at| timeline.add(at * MS, 10, 100));
        timeline
    }

    #[test]
    fn intervals_that_are_over() {
        let timeline = counted(&[0, 499, 500, 1600, 1700, 2100]);
        assert_eq!(timeline.per_second(|interval| interval.ios), [4.0, 2.0, 0.0, 4.0]);
        assert_eq!(timeline.per_second(|interval| interval.bytes), [40.0, 20.0, 0.0, 40.0]);
        assert_eq!((timeline.all().ios, timeline.all().bins.len(), timeline.every_ms()), (5, 1, 500));
    }

    #[test]
    fn clones_together() {
        let mut one = counted(&[0, 700, 1000]);
        one.merge(&counted(&[10, 20, 510, 1200, 1600]));
        assert_eq!(one.per_second(|interval| interval.ios), [6.0, 4.0, 2.0]);
        // Longer than ten minutes: intervals of a second.
        let ends: Vec<u64> = (0..1300).map(|half| half * 500).collect();
        let long = counted(&ends);
        assert_eq!((long.every_ms(), long.intervals().len()), (1000, 649));
        assert!(long.per_second(|interval| interval.ios).iter().all(|ios| *ios == 2.0));
        one.merge(&long);
        assert_eq!((one.every_ms(), one.intervals().len()), (1000, 649));
        assert_eq!(one.per_second(|interval| interval.ios)[..3], [7.0, 3.0, 2.0]);
    }

    #[test]
    fn clones_one_after_the_other() {
        let early = counted(&[0, 600, 1100, 1600]);
        let mut late = Timeline { from_ns: 1000 * MS, ..counted(&[0, 10, 600, 1100]) };
        late.merge(&early);
        assert_eq!(late.per_second(|interval| interval.ios), [2.0, 2.0, 6.0, 2.0]);
        let mut hours = early.clone();
        hours.merge(&Timeline { from_ns: 10_000_000 * MS, ..counted(&[0, 600]) });
        assert!(hours.intervals().len() <= INTERVALS_MAX + 1 && hours.all().ios == 4, "{}", hours.intervals().len());
    }

    #[test]
    fn latencies_by_their_buckets() {
        let interval = |bins: &[(u64, u64)]| Interval { ios: 0, bytes: 0, bins: bins.to_vec() };
        let mut one = interval(&[(10, 1), (30, 2)]);
        one.merge(&interval(&[(10, 4), (20, 3)]));
        assert_eq!(one.bins, [(10, 5), (20, 3), (30, 2)]);
        assert_eq!([0.0, 50.0, 51.0, 80.0, 99.9].map(|p| one.percentile(p)), [10, 10, 20, 20, 30]);
        assert_eq!(Interval::default().percentile(50.0), 0);
    }
}
