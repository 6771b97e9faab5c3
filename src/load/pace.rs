//! When each I/O may start, and when a job ends: rate, rate_iops, thinktime, startdelay, ramp_time, runtime, time_based, loops.
//!
//! Promises: arithmetic on times that the caller brings, in time since the job's start; no clock is read, nothing sleeps.
//! Leaves out: waiting, and what an engine does meanwhile.

use std::num::NonZeroU64;
use std::time::Duration;

use super::random::Random;
use super::{Direction, Each};

/// How fast one direction may go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// Bytes a second.
    Bytes(u64),
    /// I/Os a second.
    Ios(u64),
}

/// How starts of I/Os at a rate are spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Process {
    /// Evenly.
    #[default]
    Linear,
    /// As independent requests arrive: the rate on average, also when answers are late.
    Poisson,
}

/// One direction at a rate. What is late is caught up with, so that the rate is met on average.
#[derive(Clone, Debug)]
pub struct Pacer {
    rate: Rate,
    process: Process,
    random: Random,
    /// When the next may start.
    next: Duration,
    /// Of linear starts: bytes or I/Os so far, so that no rounding adds up.
    done: u128,
    /// Since when `done` counts.
    since: Duration,
}

impl Pacer {
    /// From `start` on.
    pub fn new(rate: Rate, process: Process, random: Random, start: Duration) -> Pacer {
        Pacer { rate, process, random, next: start, done: 0, since: start }
    }

    /// When the next I/O may start.
    pub fn next_start(&self) -> Duration {
        self.next
    }

    /// An I/O of `len` bytes started.
    pub fn started(&mut self, len: u64) {
        let (amount, per_second) = self.share(len);
        match self.process {
            Process::Linear => {
                self.done += u128::from(amount);
                let ns = self.done * 1_000_000_000 / u128::from(per_second);
                self.next = self.since + Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX / 2));
            }
            Process::Poisson => {
                let mean = amount as f64 / per_second as f64;
                // 1 - unit is above 0.
                self.next += Duration::from_secs_f64(-mean * (1.0 - self.random.unit()).ln());
            }
        }
    }

    /// What an I/O of `len` bytes is of the rate, and the rate: bytes or I/Os a second.
    fn share(&self, len: u64) -> (u64, u64) {
        match self.rate {
            Rate::Bytes(rate) => (len, rate.max(1)),
            Rate::Ios(rate) => (1, rate.max(1)),
        }
    }

    /// Time in which nothing was to be done (thinktime with rate_ignore_thinktime=1) is not caught up with, but for one I/O, of `block` bytes, so
    /// that the next starts at once (measured of fio 3.33: 100 IOPS and 50 ms after each are 20 a second, and three and 10 ms are 100).
    pub fn paused(&mut self, by: Duration, block: u64) {
        let (amount, per_second) = self.share(block);
        let one = Duration::from_secs_f64(amount as f64 / per_second as f64);
        let by = if self.process == Process::Linear && one <= by { by - one } else { by };
        self.next += by;
        self.since += by;
    }
}

/// Pauses between I/Os.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Think {
    /// How long.
    pub pause: Duration,
    /// How much of it is spent computing, at most all.
    pub spin: Duration,
    /// After so many I/Os, if they count.
    pub blocks: Option<NonZeroU64>,
    /// After this much time since the last pause, if it counts: what comes first.
    pub io_time: Duration,
}

/// A pause that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub struct Pause {
    pub spin: Duration,
    pub sleep: Duration,
}

impl Think {
    /// The pause that is due, if one is: since the last one began, so many I/Os were issued or completed (as thinktime_blocks_type says), which
    /// may be several at once; `io` is the time since it ended.
    pub fn after(&self, ios: u64, io: Duration) -> Option<Pause> {
        let is_time = !self.io_time.is_zero() && io >= self.io_time;
        let due = is_time || self.blocks.is_some_and(|blocks| ios >= blocks.get());
        let spin = self.spin.min(self.pause);
        (due && !self.pause.is_zero()).then_some(Pause { spin, sleep: self.pause - spin })
    }
}

/// How long a job goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Before I/O is counted; not part of `runtime`.
    pub ramp: Duration,
    /// Ends the job, if given.
    pub runtime: Option<Duration>,
    /// The job begins anew until `runtime`.
    pub time_based: bool,
    /// How often the whole load is done; 0 counts as 1.
    pub loops: u64,
}

/// What to do at the end of a pass over the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum AfterPass {
    Again,
    End,
}

impl Span {
    /// True when I/O that ends at `now` counts.
    pub fn counts(&self, now: Duration) -> bool {
        now >= self.ramp
    }

    /// True when the time is over.
    pub fn is_over(&self, now: Duration) -> bool {
        self.ends().is_some_and(|end| now >= end)
    }

    /// When the time is over: ramp_time comes before runtime.
    pub fn ends(&self) -> Option<Duration> {
        self.runtime.map(|runtime| runtime.saturating_add(self.ramp))
    }

    /// Passes go on until the time is over. Without a runtime, time_based has nothing to fill (fio says so and runs once).
    pub fn fills(&self) -> bool {
        self.time_based && self.runtime.is_some()
    }

    /// After `passes` whole passes.
    pub fn after_pass(&self, passes: u64) -> AfterPass {
        if self.fills() || passes < self.loops.max(1) { AfterPass::Again } else { AfterPass::End }
    }
}

/// Which direction is next in a mix, by percent of reads.
#[derive(Clone, Debug)]
pub struct Mix {
    read: u64,
    random: Random,
}

impl Mix {
    /// `read` of 100 I/Os are reads.
    pub fn new(read: u64, random: Random) -> Mix {
        Mix { read, random }
    }

    /// The next direction. One that may not start yet (`late` says by how much) gives way to the other, unless that is later still: a rate
    /// of one direction does not hold the other up.
    pub fn next_direction(&mut self, late: &Each<Duration>) -> Direction {
        let (drawn, other) = match self.random.percent(self.read) {
            true => (Direction::Read, Direction::Write),
            false => (Direction::Write, Direction::Read),
        };
        let possible = self.read > 0 && self.read < 100;
        if possible && late[drawn] > late[other] { other } else { drawn }
    }
}

/// startdelay: a time, or one drawn from a range for each clone.
pub fn start_delay(low: Duration, high: Duration, random: &mut Random) -> Duration {
    let span = u64::try_from(high.saturating_sub(low).as_nanos()).unwrap_or(u64::MAX - 1);
    low + Duration::from_nanos(random.below(span + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn pacer(rate: Rate, process: Process) -> Pacer {
        Pacer::new(rate, process, Random::new(1), Duration::ZERO)
    }

    /// How many I/Os of 4096 bytes start within ten seconds when none waits for anything else.
    fn starts(mut pacer: Pacer) -> usize {
        std::iter::from_fn(|| (pacer.next_start() < 10 * SECOND).then(|| pacer.started(4096))).count()
    }

    #[test]
    fn rates_are_met_without_drift() {
        assert_eq!(starts(pacer(Rate::Ios(500), Process::Linear)), 5000);
        assert_eq!(starts(pacer(Rate::Ios(3), Process::Linear)), 30);
        assert_eq!(starts(pacer(Rate::Bytes(4 << 20), Process::Linear)), 10_240);
        let poisson = starts(pacer(Rate::Ios(1000), Process::Poisson));
        assert!((9_700..10_300).contains(&poisson), "{poisson}");
    }

    #[test]
    fn what_is_late_is_caught_up_with_but_not_pauses() {
        let mut late = pacer(Rate::Ios(10), Process::Linear);
        late.started(1);
        assert_eq!(late.next_start(), SECOND / 10, "though it may have started at 0.9 s");
        late.paused(SECOND / 20, 1);
        late.started(1);
        assert_eq!(late.next_start(), SECOND / 4, "less than an I/O takes");
        late.paused(SECOND, 1);
        assert_eq!(late.next_start(), SECOND / 4 + SECOND * 9 / 10, "at once, behind a pause that began at 0.15 s");
    }

    #[test]
    fn pauses() {
        let ms = Duration::from_millis;
        let think = Think { pause: ms(10), spin: ms(4), blocks: NonZeroU64::new(4), io_time: Duration::ZERO };
        assert_eq!([0, 3, 4, 9].map(|ios| think.after(ios, ms(99)).is_some()), [false, false, true, true]);
        assert_eq!(think.after(4, ms(0)), Some(Pause { spin: ms(4), sleep: ms(6) }));
        let spinning = Think { spin: ms(99), ..think };
        assert_eq!(spinning.after(4, ms(0)), Some(Pause { spin: ms(10), sleep: ms(0) }), "no longer than the pause");
        let timed = Think { io_time: ms(5), ..think };
        assert_eq!([(3, 4), (4, 1), (1, 5)].map(|(ios, io)| timed.after(ios, ms(io)).is_some()), [false, true, true]);
        let by_time = Think { blocks: None, ..timed };
        assert_eq!([(9, 4), (0, 5)].map(|(ios, io)| by_time.after(ios, ms(io)).is_some()), [false, true]);
        assert_eq!(Think::default().after(1, ms(0)), None);
    }

    #[test]
    fn spans() {
        let span = Span { ramp: SECOND, runtime: Some(2 * SECOND), time_based: true, loops: 1 };
        assert_eq!([0, 1, 2, 3].map(|s| span.counts(s * SECOND)), [false, true, true, true]);
        assert_eq!([2, 3].map(|s| span.is_over(s * SECOND)), [false, true], "the ramp is extra");
        assert_eq!(span.after_pass(9), AfterPass::Again);
        let once = Span { runtime: None, ..span };
        assert_eq!(once.after_pass(1), AfterPass::End, "time_based without runtime");
        let thrice = Span { time_based: false, loops: 3, ..span };
        assert_eq!([1, 2, 3].map(|n| thrice.after_pass(n)), [AfterPass::Again, AfterPass::Again, AfterPass::End]);
    }

    #[test]
    fn mixes() {
        let on_time = Each::default();
        let mut mix = Mix::new(70, Random::new(2));
        let reads = (0..1024).filter(|_| mix.next_direction(&on_time) == Direction::Read).count();
        assert!((670..760).contains(&reads), "{reads}");
        let late = Each { read: SECOND, ..Each::default() };
        assert!((0..100).all(|_| mix.next_direction(&late) == Direction::Write), "reads have used up their rate");
        let mut all = Mix::new(100, Random::new(2));
        assert!((0..100).all(|_| all.next_direction(&late) == Direction::Read));
    }

    #[test]
    fn delays() {
        let mut random = Random::new(5);
        assert_eq!(start_delay(SECOND, SECOND, &mut random), SECOND);
        assert!((0..100).all(|_| (SECOND..=3 * SECOND).contains(&start_delay(SECOND, 3 * SECOND, &mut random))));
        assert!(start_delay(Duration::ZERO, Duration::MAX, &mut random) > Duration::ZERO);
    }
}
