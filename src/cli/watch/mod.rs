//! A run is watched while it goes on: the progress line or its JSON, an answer to SIGUSR1, metrics for Prometheus, the log. All of them
//! sample counters that the run keeps anyway.

mod endpoint;
mod json;
mod line;
pub mod log;
mod metrics;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, Scope};
use std::time::{Duration, Instant};

use crate::base::PriceList;
use crate::crew::Crew;
use crate::jobs::Live;

use super::console::Console;
use super::meter::{Meters, Role};
use line::Line;

pub use endpoint::Endpoint;

const SAMPLE_EVERY: Duration = Duration::from_millis(200);
/// Samples that a rate is taken over: one second's.
const SAMPLES: usize = 6;
/// Samples between two lines where there is no terminal: a second's.
const TICKS_OF_LINE: u64 = 5;
/// Samples between two events of the log: ten seconds'.
const TICKS_OF_LOG: u64 = 50;

/// How progress is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Progress {
    /// Not at all.
    #[default]
    Off,
    /// A line for people.
    Line,
    /// A JSON document a line each second, for programs.
    Json,
}

/// A run as it is seen from outside.
pub struct Watched<'a> {
    /// The command.
    pub program: &'static str,
    /// The name of what it counts: `members`, `files`.
    pub noun: &'static str,
    /// Its counters.
    pub live: &'a Live,
    /// Those of its targets.
    pub meters: &'a Meters,
    /// Who works, what failed, and what was read but is not written.
    pub crew: &'a Crew,
    /// When it began.
    pub started: Instant,
}

/// How it is watched.
pub struct Ways<'a> {
    /// Where lines go.
    pub console: &'a Console,
    /// As what.
    pub progress: Progress,
    /// Raised by SIGUSR1.
    pub asked: &'a AtomicBool,
    /// Who is told of the counters over HTTP.
    pub endpoint: Option<&'a Endpoint>,
}

/// One target's counters.
#[derive(Clone, Debug)]
struct TargetSample {
    target: String,
    role: Option<Role>,
    calls: u64,
    iops: u64,
}

/// What the counters said at one time.
#[derive(Clone, Debug)]
struct Sample {
    at: Instant,
    objects: u64,
    bytes: u64,
    failures: u64,
    targets: Vec<TargetSample>,
}

impl Watched<'_> {
    fn sample(&self) -> Sample {
        let list = PriceList::oci();
        let of_target = |meter: super::meter::Meter| {
            let tally = meter.ledger.tally();
            TargetSample { target: meter.label, role: meter.role, calls: tally.calls(), iops: tally.price(&list) }
        };
        Sample {
            at: Instant::now(),
            objects: self.live.objects.load(Ordering::Relaxed),
            bytes: self.live.bytes.load(Ordering::Relaxed),
            failures: self.crew.report().count(),
            targets: self.meters.list().into_iter().map(of_target).collect(),
        }
    }

    /// How much of the archive is dealt with, at least, and its size: reading runs ahead of writing by what is held, and stands still
    /// while a large file is written; members have a header of 512 bytes each. None in jobs that read no archive of a known size.
    fn done(&self) -> Option<(u64, u64)> {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let total = get(&self.live.total_bytes);
        let written = get(&self.live.bytes) + 512 * get(&self.live.objects);
        let read = get(&self.live.archive_bytes).saturating_sub(self.crew.budget().held());
        (total > 0).then(|| (read.max(written).min(total), total))
    }
}

/// Rates of events a second between two samples.
fn rate(now: u64, then: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { now.saturating_sub(then) as f64 / seconds } else { 0.0 }
}

/// Priced IOPS of each target between two samples. A target that joined meanwhile had nothing before.
fn iops(first: &Sample, last: &Sample) -> Vec<(Option<Role>, f64)> {
    let seconds = (last.at - first.at).as_secs_f64();
    let then = first.targets.iter().map(|target| target.iops).chain(std::iter::repeat(0));
    last.targets.iter().zip(then).map(|(target, then)| (target.role, rate(target.iops, then, seconds))).collect()
}

/// Ends the watching when it goes, also when the job panics.
struct Ends<'a> {
    _ended: Sender<()>,
    over: &'a AtomicBool,
}

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// Does `job` while it is watched.
pub fn watched<R>(watched: &Watched<'_>, ways: &Ways<'_>, job: impl FnOnce() -> R) -> R {
    let over = AtomicBool::new(false);
    let line = (ways.progress == Progress::Line).then(|| Line::start(ways.console, watched));
    let done = std::thread::scope(|scope| {
        let (ended, end) = channel();
        let _ends = Ends { _ended: ended, over: &over };
        let line = &line;
        // Without the threads the run is the same, only silent.
        start(scope, "watch", ways.console, move || sample_on(watched, ways, line.as_ref(), &end));
        if let Some(endpoint) = ways.endpoint {
            let over = &over;
            start(scope, "metrics", ways.console, move || endpoint.serve(over, || metrics::text(watched)));
        }
        job()
    });
    if let Some(line) = line {
        line.finish(ways.console);
    }
    done
}

fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &'static str,
    console: &Console,
    work: impl FnOnce() + Send + 'scope,
) {
    if let Err(error) = Builder::new().name(name.into()).spawn_scoped(scope, work) {
        console.message(format_args!("nothing is shown of the run's progress: {}", super::console::reason(&error)));
    }
}

/// Samples until the run has ended.
fn sample_on(watched: &Watched<'_>, ways: &Ways<'_>, line: Option<&Line>, end: &Receiver<()>) {
    let mut samples = VecDeque::with_capacity(SAMPLES);
    // Without a first sample the first line would tell of no rate.
    samples.push_back(watched.sample());
    for tick in 1u64.. {
        if end.recv_timeout(SAMPLE_EVERY) != Err(RecvTimeoutError::Timeout) {
            return;
        }
        if samples.len() == SAMPLES {
            samples.pop_front();
        }
        samples.push_back(watched.sample());
        let (Some(first), Some(last)) = (samples.front(), samples.back()) else { continue };
        let text = || line::text(first, last, watched.noun);
        match line {
            Some(line) if line.is_drawn() => line.draw(watched.done(), text()),
            Some(_) if tick % TICKS_OF_LINE == 0 => ways.console.show(text()),
            None if ways.progress == Progress::Json && tick % TICKS_OF_LINE == 0 => {
                ways.console.line(json::text(watched, first, last));
            }
            Some(_) | None => {}
        }
        if ways.asked.swap(false, Ordering::Relaxed) {
            let seconds = watched.started.elapsed().as_secs_f64();
            ways.console.show(format_args!("{}, after {seconds:.0} s", text()));
        }
        if tick % TICKS_OF_LOG == 0
            && let Some(log) = ways.console.log()
        {
            log.add("progress", &json::progress(watched, first, last));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Shape;

    #[test]
    fn what_was_only_read_is_not_done() {
        let (live, meters) = (Live::default(), Meters::default());
        let crew = Crew::new(Shape::SERIAL, 8_000_000).unwrap();
        let watched = Watched {
            program: "partar",
            noun: "members",
            live: &live,
            meters: &meters,
            crew: &crew,
            started: Instant::now(),
        };
        assert_eq!(watched.done(), None);
        live.total_bytes.store(10_000_000, Ordering::Relaxed);
        live.archive_bytes.store(5_000_000, Ordering::Relaxed);
        let held = crew.budget().acquire(4_000_000);
        assert_eq!(watched.done(), Some((1_000_000, 10_000_000)));
        // A large file is being written: what was read of it is told when it is over.
        live.bytes.store(7_000_000, Ordering::Relaxed);
        live.objects.store(10, Ordering::Relaxed);
        assert_eq!(watched.done(), Some((7_005_120, 10_000_000)));
        live.bytes.store(20_000_000, Ordering::Relaxed);
        drop(held);
        assert_eq!(watched.done(), Some((10_000_000, 10_000_000)));
    }

    #[test]
    fn the_watching_ends_with_the_job_also_when_it_panics() {
        let (live, meters, asked) = (Live::default(), Meters::default(), AtomicBool::new(false));
        let crew = Crew::new(Shape::SERIAL, 1).unwrap();
        let console = Console::new("parrm");
        let endpoint = Endpoint::bind("127.0.0.1:0").unwrap();
        let seen = Watched {
            program: "parrm",
            noun: "objects",
            live: &live,
            meters: &meters,
            crew: &crew,
            started: Instant::now(),
        };
        let ways = Ways { console: &console, progress: Progress::Off, asked: &asked, endpoint: Some(&endpoint) };
        assert_eq!(watched(&seen, &ways, || 7), 7);
        let raised =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| watched(&seen, &ways, || panic!("a job's own"))));
        assert!(raised.is_err());
    }
}
