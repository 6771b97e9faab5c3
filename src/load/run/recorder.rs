//! What one clone measures while it runs, as the result that reports show.
//!
//! Promises: adding an I/O takes no allocation and no lock. What ended during ramp_time is not counted.
//! Leaves out: reading the clock.

use super::super::histogram::Moments;
use super::super::results::{DirectionResult, Errors, JobResult, Latency, Target};
use super::super::settings::{Measures, Settings};
use super::super::timeline::Timeline;
use super::super::{Direction, Each};
use super::clock::ns;
use super::usage::Usage;

/// When an I/O was ready, was given to the engine, and ended; in ns since the run's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // as above
pub struct Times {
    pub ready: u64,
    pub issued: u64,
    pub ended: u64,
}

/// Bytes and I/Os at the last sample of a direction.
#[derive(Clone, Copy, Debug, Default)]
struct Sampled {
    amount: u64,
    at: u64,
    /// When the interval began that it is in: a late sample does not make the later ones late.
    begun: u64,
}

impl Sampled {
    /// When the next one is due: by its interval, but not so soon behind a late one that it would be no rate.
    fn due(&self, every: u64) -> u64 {
        self.begun.saturating_add(every).max(self.at.saturating_add(every / 2))
    }
}

/// One clone's measuring.
#[derive(Debug)]
pub struct Recorder {
    /// What is found so far.
    pub result: JobResult,
    measures: Measures,
    /// Submissions are told apart from completions.
    has_slat: bool,
    bw: Each<Sampled>,
    iops: Each<Sampled>,
    bw_every: u64,
    iops_every: u64,
    /// The next sample is due.
    due: u64,
    /// Since when I/O counts.
    since: u64,
    spent: Spent,
    usage: Usage,
}

/// What was spent for each direction, in ns. As in fio, what is read back after a pass is no part of the time in which it was written.
#[derive(Debug, Default)]
struct Spent {
    ns: Each<u64>,
    /// What is under way since `since` is for these.
    on: Each<bool>,
    since: u64,
}

impl Spent {
    fn until(&self, now: u64) -> Each<u64> {
        let more = now.saturating_sub(self.since);
        Each::of(|direction| self.ns[direction] + if self.on[direction] { more } else { 0 })
    }
}

impl Recorder {
    /// For a clone of `settings` in the report's `group`.
    pub fn new(settings: &Settings, group: u32, has_slat: bool) -> Recorder {
        let measures = settings.measures.clone();
        let latency = |is_on: bool, percentiles: bool| Latency::new(is_on && percentiles);
        let direction = |_| DirectionResult {
            slat: latency(measures.slat && has_slat, measures.slat_percentiles),
            clat: latency(measures.clat, measures.clat_percentiles),
            lat: latency(measures.lat, measures.lat_percentiles),
            timeline: measures.samples.then(Timeline::default),
            ..DirectionResult::default()
        };
        let continued = settings.errors.continues().then_some((0, 0));
        let result = JobResult {
            name: settings.name.clone(),
            group,
            members: 1,
            pid: std::process::id(),
            options: settings.own.clone(),
            description: settings.description.clone(),
            directions: Each::of(direction),
            sync: (0, Latency::new(true)),
            unified: measures.unified,
            target: target(settings),
            percentiles: measures.percentiles.clone(),
            errors: Errors { continued, ..Errors::default() },
            ..JobResult::default()
        };
        let (bw_every, iops_every) = (ns(measures.bw_every).max(1), ns(measures.iops_every).max(1));
        let has_slat = has_slat && measures.slat;
        let (bw, iops) = (Each::default(), Each::default());
        Recorder {
            result,
            measures,
            has_slat,
            bw,
            iops,
            bw_every,
            iops_every,
            due: 0,
            since: 0,
            spent: Spent { on: Each::of(|_| true), ..Spent::default() },
            usage: Usage::default(),
        }
    }

    /// From `now` on time is spent for these directions.
    pub fn turn(&mut self, now: u64, on: Each<bool>) {
        self.spent = Spent { ns: self.spent.until(now), on, since: now };
    }

    /// I/O counts from `now` on; what was counted before is forgotten (ramp_time is over).
    pub fn begin(&mut self, now: u64) {
        let fresh = |latency: &mut Latency| *latency = Latency::new(latency.histogram.is_some());
        for direction in Direction::ALL {
            let result = &mut self.result.directions[direction];
            [&mut result.slat, &mut result.clat, &mut result.lat].into_iter().for_each(fresh);
            let (slat, clat, lat) =
                (std::mem::take(&mut result.slat), std::mem::take(&mut result.clat), std::mem::take(&mut result.lat));
            let timeline = result.timeline.as_ref().map(|_| Timeline::since(now));
            *result = DirectionResult { slat, clat, lat, timeline, ..DirectionResult::default() };
        }
        fresh(&mut self.result.sync.1);
        self.result.sync.0 = 0;
        (self.result.depths, self.result.shares) = Default::default();
        self.since = now;
        (self.spent.ns, self.spent.since) = (Each::default(), now);
        let sampled = Sampled { amount: 0, at: now, begun: now };
        (self.bw, self.iops) = (Each::of(|_| sampled), Each::of(|_| sampled));
        self.due = now + self.bw_every.min(self.iops_every);
        self.usage = Usage::of_thread();
    }

    /// An I/O ended, of which `bytes` were moved.
    #[inline]
    pub fn io(&mut self, direction: Direction, bytes: u64, times: &Times) {
        let result = &mut self.result.directions[direction];
        result.ios += 1;
        result.bytes += bytes;
        let clat = times.ended.saturating_sub(times.issued);
        if self.has_slat {
            result.slat.add(times.issued.saturating_sub(times.ready));
        }
        if self.measures.lat {
            result.lat.add(times.ended.saturating_sub(times.ready));
        }
        if self.measures.clat {
            result.clat.add(clat);
            // latency_us= and its like are of clat (measured of fio 3.33).
            self.result.shares.add(clat);
        }
        if let Some(timeline) = &mut result.timeline {
            timeline.add(times.ended.saturating_sub(self.since), bytes, times.ended.saturating_sub(times.ready));
        }
        if times.ended >= self.due {
            self.sample(times.ended);
        }
    }

    /// Samples of bandwidth and IOPS that are due. An interval without I/O is none.
    #[cold]
    fn sample(&mut self, now: u64) {
        for direction in Direction::ALL {
            let result = &mut self.result.directions[direction];
            sample(&mut self.bw[direction], &mut result.bw, result.bytes, 1024, self.bw_every, now);
            sample(&mut self.iops[direction], &mut result.iops, result.ios, 1, self.iops_every, now);
        }
        let nexts = Direction::ALL
            .map(|direction| self.bw[direction].due(self.bw_every).min(self.iops[direction].due(self.iops_every)));
        self.due = nexts.into_iter().min().unwrap_or(u64::MAX);
    }

    /// An fsync or its like took from `start` to `end`.
    pub fn sync(&mut self, start: u64, end: u64) {
        self.result.sync.0 += 1;
        self.result.sync.1.add(end.saturating_sub(start));
    }

    /// The clone as it stands at `now`: times and processor time filled in.
    pub fn snapshot(&self, now: u64) -> JobResult {
        let mut result = self.result.clone();
        let runtime_ms = now.saturating_sub(self.since).div_ceil(1_000_000);
        result.runtime_ms = runtime_ms;
        result.elapsed_s = now / 1_000_000_000 + 1;
        let spent = self.spent.until(now);
        for direction in Direction::ALL {
            let done = &mut result.directions[direction];
            done.runtime_ms = if done.ios > 0 { spent[direction].div_ceil(1_000_000) } else { 0 };
        }
        let used = Usage::of_thread().since(&self.usage);
        (result.usr_us, result.sys_us) = (used.usr_us, used.sys_us);
        (result.ctx, result.majf, result.minf) = (used.ctx, used.majf, used.minf);
        result
    }
}

fn target(settings: &Settings) -> Target {
    match &settings.pacing.latency {
        Some(asked) => {
            Target { latency_ns: ns(asked.target), window_ns: ns(asked.window), percentile: asked.percentile, depth: 1 }
        }
        None => Target { depth: u64::from(settings.engine.depth), ..Target::default() },
    }
}

fn sample(last: &mut Sampled, moments: &mut Moments, amount: u64, unit: u64, every: u64, now: u64) {
    if now < last.due(every) {
        return;
    }
    let (since, spent) = (now.saturating_sub(last.begun), now.saturating_sub(last.at).max(1));
    let done = amount - last.amount;
    if done > 0 {
        moments.add((u128::from(done) * 1_000_000_000 / u128::from(spent) / u128::from(unit)) as u64);
    }
    let begun = now - since.checked_rem(every).unwrap_or(0);
    *last = Sampled { amount, at: now, begun };
}
