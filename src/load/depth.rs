//! latency_target=: the search of the highest depth at which I/Os are as fast as asked.
//!
//! Promises: fio's search: the depth is doubled until a window fails, then halved in between; three successes in a row at one depth give the
//! next a chance. It ends at the depth that stays, with a window of its own that alone is reported, unless latency_run asks to go on.
//! Leaves out: clocks, and waiting for what is in flight.

use std::time::Duration;

/// What a job asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencyTarget {
    /// latency_target=: no I/O takes longer.
    pub target: Duration,
    /// latency_window=: for so long.
    pub window: Duration,
    /// latency_percentile=: this share of the I/Os, in percent.
    pub percentile: f64,
    /// latency_run=: the job goes on at the depth that was found.
    pub goes_on: bool,
}

/// What is to be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing.
    Go,
    /// Wait for all that is in flight: the depth has become less, and what was sent before would fail as well.
    Quiet,
    /// The same, and forget what was measured: the depth is found.
    Last,
    /// End.
    Done,
}

/// A search under way.
#[derive(Clone, Debug)]
pub struct Search {
    asked: LatencyTarget,
    most: u64,
    depth: u64,
    low: u64,
    high: u64,
    /// Successes in a row just below `high`.
    stable: u32,
    since_ns: u64,
    ios: u64,
    slow: u64,
    /// The depth is found.
    is_last: bool,
    /// What was sent at a higher depth is waited for.
    is_quieting: bool,
}

impl Search {
    /// Among depths up to `most`, from `now` (ns) on.
    pub fn new(asked: LatencyTarget, most: u32, now_ns: u64) -> Search {
        let most = u64::from(most.max(1));
        let (stable, ios, slow, is_last, is_quieting) = (0, 0, 0, false, false);
        Search { asked, most, depth: 1, low: 1, high: most, stable, since_ns: now_ns, ios, slow, is_last, is_quieting }
    }

    /// I/Os in flight at most.
    pub fn depth(&self) -> u64 {
        self.depth
    }

    /// A window begins; `ios` have ended so far.
    pub fn begin(&mut self, now_ns: u64, ios: u64) {
        (self.since_ns, self.ios, self.slow, self.is_quieting) = (now_ns, ios, 0, false);
    }

    /// An I/O took so long. False when that is too long even at the depth 1, and none may be.
    #[must_use]
    pub fn takes(&mut self, took_ns: u64) -> bool {
        if u128::from(took_ns) <= self.asked.target.as_nanos() || self.is_quieting {
            return true;
        }
        self.slow += 1;
        match (self.asked.percentile < 100.0, self.depth) {
            (true, _) => true,
            (false, 1) => false,
            (false, _) => {
                self.lower();
                true
            }
        }
    }

    /// What is due after `ios` I/Os.
    pub fn step(&mut self, now_ns: u64, ios: u64) -> Step {
        if self.is_quieting {
            return Step::Quiet;
        }
        let done = ios - self.ios;
        if done == 0 || u128::from(now_ns.saturating_sub(self.since_ns)) < self.asked.window.as_nanos() {
            return Step::Go;
        }
        let good = 100.0 * done.saturating_sub(self.slow) as f64 / done as f64;
        let step = match good >= self.asked.percentile {
            true => self.higher(),
            false if self.depth > 1 => {
                self.lower();
                Step::Quiet
            }
            false => Step::Go,
        };
        if step != Step::Quiet {
            self.begin(now_ns, ios);
        }
        step
    }

    fn lower(&mut self) {
        self.high = self.depth;
        if self.depth == self.low {
            self.low = self.low.saturating_sub(1);
        }
        self.depth = ((self.depth + self.low) / 2).max(1);
        self.stable = 0;
        self.is_quieting = true;
    }

    fn higher(&mut self) -> Step {
        let before = self.depth;
        self.low = self.depth;
        if self.depth + 1 == self.high {
            self.stable += 1;
            if self.stable >= 3 {
                (self.high, self.stable) = (self.high + 1, 0);
            }
        }
        // Not failed yet: doubling is faster than coming down from the highest.
        let next = if self.high != self.most { (self.depth + self.high) / 2 } else { self.depth * 2 };
        self.depth = next.min(self.most);
        match () {
            () if self.asked.goes_on || self.depth != before => Step::Go,
            () if self.is_last => Step::Done,
            () => {
                self.is_last = true;
                Step::Last
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server whose latency is 100 µs for each I/O in flight: the depths that are tried, and the last step.
    fn searched(target_us: u64, most: u32, percentile: f64, goes_on: bool) -> (Vec<u64>, Step) {
        let target = Duration::from_micros(target_us);
        let asked = LatencyTarget { target, window: Duration::from_millis(10), percentile, goes_on };
        let mut search = Search::new(asked, most, 0);
        let (mut now, mut ios, mut depths) = (0, 0, vec![1]);
        for _ in 0..20 {
            let took = search.depth() * 100_000;
            for _ in 0..100 {
                ios += 1;
                now += 100_000;
                if !search.takes(took) {
                    return (depths, Step::Done);
                }
            }
            let step = search.step(now, ios);
            if search.depth() != depths[depths.len() - 1] {
                depths.push(search.depth());
            }
            match step {
                Step::Go => {}
                Step::Quiet | Step::Last => search.begin(now, ios),
                Step::Done => return (depths, step),
            }
        }
        (depths, Step::Go)
    }

    #[test]
    fn the_highest_depth_that_is_fast_enough_is_found() {
        assert_eq!(searched(10_000, 32, 99.0, false), (vec![1, 2, 4, 8, 16, 32], Step::Done), "all are");
        let (depths, step) = searched(1050, 64, 99.0, false);
        assert_eq!((depths, step), (vec![1, 2, 4, 8, 16, 12, 10, 11, 10], Step::Done));
        let (depths, step) = searched(1050, 64, 100.0, true);
        assert_eq!((depths.contains(&10), step), (true, Step::Go), "it goes on: {depths:?}");
        assert_eq!(searched(50, 64, 100.0, false), (vec![1], Step::Done), "not even one alone is");
        assert_eq!(searched(50, 64, 50.0, false), (vec![1], Step::Go), "some may be slow");
    }
}
