//! What a run of any command goes through: a crew, signals, a progress line, figures, failures told, the report written.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::base::price::Ceiling;
use crate::crew::{Crew, Stop};
use crate::jobs::Live;
use crate::storage::Shape;

use super::Exit;
use super::bound::{self, Flow};
use super::console::{Console, reason};
use super::footprint;
use super::host::Manner;
use super::huge;
use super::kernel;
use super::meter::{self, Meters};
use super::open::Opener;
use super::report::{self, Document, FailureReport, RunReport};
use super::signals::{self, Caught};
use super::spread::Spreader;
use super::summary;
use super::watch::log::Log;
use super::watch::{self, Endpoint, Watched, Ways};

/// Memory for file data on its way, in bytes: the payload that eight targets can have in flight.
pub const BUDGET_BYTES: u64 = 128 << 20;

/// Threads of a forecast that looks at what its server has, so that looks wait side by side.
const LOOKING_THREADS: usize = 32;
/// Lanes of a forecast in which nothing waits: more would spin at the directories' locks and at what is remembered of them.
const BUSY_LANES_MAX: usize = 8;

/// Processors that this process may use.
pub fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// What is said of a forecast that was stopped.
const UNPLANNED: &str = "interrupted: there is no forecast, and nothing was changed";

/// One run.
pub struct Session<'a> {
    /// Where it tells.
    pub console: Arc<Console>,
    /// How it is done.
    pub manner: &'a Manner,
    /// The counters of its targets.
    pub meters: Meters,
    /// What ends it early.
    pub stop: Stop,
    /// What it did.
    pub report: RunReport,
    /// The name of what it counts: `members`, `files`.
    pub noun: &'static str,
    started: Instant,
    endpoint: Option<Endpoint>,
    /// Raised by SIGUSR1.
    asked: Arc<AtomicBool>,
    /// Why the run cannot be watched as it was asked to be.
    unwatched: Option<String>,
    /// Where the report goes. None where that is another file, also of a run that failed for it.
    report_to: Option<PathBuf>,
}

/// The log's first event.
#[derive(Serialize)]
struct Begun {
    program: &'static str,
    version: &'static str,
    pid: u32,
    arguments: Vec<String>,
}

/// The log's last event.
#[derive(Serialize)]
struct Finished<'a, J: Serialize> {
    exit_status: u8,
    seconds: f64,
    failures: u64,
    fatal: &'a Option<String>,
    stopped: &'a Option<String>,
    #[serde(flatten)]
    job: &'a J,
}

/// Arguments that the log shows; a command line may have millions.
const ARGUMENTS_MAX: usize = 1000;

/// What came of a job, as far as all jobs have it in common.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    /// Wall time.
    pub elapsed: Duration,
    /// Targets that were lost, by name.
    pub gone: Vec<String>,
    /// What becomes of work that a lost target may still do.
    pub gone_advice: &'static str,
    /// What was odd.
    pub warnings: Vec<String>,
    /// Why not all was done.
    pub stopped: Option<String>,
    /// What ended it before its end.
    pub fatal: Option<String>,
}

impl<'a> Session<'a> {
    /// A run of `program` that counts `noun`.
    pub fn new(program: &'static str, noun: &'static str, console: &Arc<Console>, manner: &'a Manner) -> Session<'a> {
        let mut session = Session {
            console: console.clone(),
            manner,
            meters: Meters::default(),
            stop: Stop::default(),
            report: RunReport::new(program),
            noun,
            started: Instant::now(),
            endpoint: None,
            asked: Arc::default(),
            unwatched: None,
            report_to: None,
        };
        // A rehearsal is no run, but proves of targets that they are one server's.
        let deferred = signals::defer().map_err(|error| format!("Cannot watch signals: {}", reason(&error)));
        session.unwatched = deferred.err();
        if manner.planned.is_none() && session.unwatched.is_none() {
            session.unwatched = session.open_watches().err();
        }
        session
    }

    /// Opens the run's volumes, by its counters and under its ceiling.
    pub fn opener(&self) -> Opener {
        let opener = Opener::new(self.meters.clone()).telling(&self.console).over(&self.manner.spread);
        opener.held(self.manner.held, &self.stop)
    }

    fn open_watches(&mut self) -> Result<(), String> {
        let asked = signals::outlive_limits().and_then(|()| signals::asked());
        self.asked = asked.map_err(|error| format!("Cannot watch signals: {}", reason(&error)))?;
        if let Some(path) = &self.manner.report {
            report::make_way(path, self.manner.report_mode, report::OF_RUN)?;
            self.report_to = Some(path.clone());
        }
        if let Some(path) = &self.manner.log {
            let log = Arc::new(Log::open(path, self.manner.report_mode)?);
            let arguments = std::env::args_os().take(ARGUMENTS_MAX).map(|a| a.to_string_lossy().into_owned()).collect();
            let RunReport { program, version, .. } = self.report;
            log.add("begin", &Begun { program, version, pid: std::process::id(), arguments });
            self.console.set_log(log);
        }
        if let Some(address) = &self.manner.metrics {
            let bound = Endpoint::bind(address).and_then(|endpoint| Ok((endpoint.address()?, endpoint)));
            let (at, endpoint) = bound.map_err(|error| format!("--metrics {address}: {}", reason(&error)))?;
            // A port that was left to the system has to be told.
            if self.manner.verbose > 0 || address == "0" || address.ends_with(":0") {
                self.console.message(format_args!("metrics are at http://{at}/metrics"));
            }
            self.endpoint = Some(endpoint);
        }
        Ok(())
    }

    /// An error where the run cannot be watched as it was asked to be. `crew` asks too; a job that changes something before has to.
    pub fn ready(&mut self) -> Result<(), String> {
        self.unwatched.take().map_or(Ok(()), Err)
    }

    /// Threads in the shape asked for, or as suggested; the first signal stops them. A forecast in which nothing waits for a server has
    /// no use for more lanes than processors: of 100,000 files a copy took 0.70 s of two of them with four lanes, 0.52 s with two.
    pub fn crew(&mut self, suggested: Shape) -> Result<(Crew, Caught), String> {
        let shape = self.busy_shape(suggested, |processors| processors);
        self.crew_for(shape, true)
    }

    /// The shape of a forecast in which nothing waits for a server: `lanes` by the number of processors, as the job's own thread leaves
    /// them some or needs one. `suggested` for all else.
    pub fn busy_shape(&self, suggested: Shape, lanes: impl FnOnce(usize) -> usize) -> Shape {
        if self.waits() {
            return suggested;
        }
        Shape { lanes: lanes(processors()).clamp(1, BUSY_LANES_MAX), ..suggested }
    }

    /// The same; where no task of the job `waits` for a server but to look at what is there, lanes are not a thread each: of a million
    /// files the forecast of an extraction with 256 lanes took 3.4 s of two processors in as many threads, 1.4 s in 32.
    pub fn crew_for(&mut self, suggested: Shape, waits: bool) -> Result<(Crew, Caught), String> {
        self.ready()?;
        huge::leave_away();
        let threads = if waits { usize::MAX } else { processors().max(LOOKING_THREADS) };
        let crew = Crew::of_threads(self.manner.shape(suggested), threads, BUDGET_BYTES, self.stop.clone());
        let crew = crew.map_err(|error| error.to_string())?;
        let crew = if let Some(planned) = &self.manner.planned { planned.at_pace(crew) } else { crew };
        self.report.shape = Some(crew.shape().into());
        let caught = self.watch_signals()?;
        if let Some(log) = self.console.log().cloned() {
            crew.report().tell(move |failure| log.add("failure", &FailureReport::from(failure)));
        }
        Ok((crew, caught))
    }

    /// False in a forecast of which nothing that was opened so far is on NFS: no call waits for a server, and how full windows are is not
    /// forecast.
    pub fn waits(&self) -> bool {
        self.manner.planned.is_none() || self.meters.list().iter().any(|meter| meter.is_nfs)
    }

    fn watch_signals(&self) -> Result<Caught, String> {
        let tell = self.console.clone();
        signals::watch(self.stop.clone(), move |signal| {
            let name = signal_hook::low_level::signal_name(signal).unwrap_or("A signal");
            tell.message(format_args!("{name}: finishing what is under way; a second one ends at once"));
        })
        .map_err(|error| format!("Cannot watch signals: {}", reason(&error)))
    }

    /// With `-vv`: how the run is set up. `what` opens the line.
    pub fn tell_setup(&self, what: &str, crew: &Crew) {
        if self.manner.verbose > 1 {
            let targets = self.meters.list().into_iter().map(|meter| meter.label).collect::<Vec<_>>().join(", ");
            let Shape { lanes, window } = crew.shape();
            self.console.message(format_args!("{what}; {lanes} lanes of {window} calls to {targets}"));
        }
    }

    /// With `-v`: which mounts were found and left out; and what has to be told of that in any case.
    pub fn tell_mounts(&mut self, spreader: &mut Spreader) {
        let (notes, warnings) = (spreader.take_notes(), spreader.take_warnings());
        if self.manner.verbose > 0 {
            notes.iter().for_each(|note| self.console.message(note));
        }
        warnings.iter().for_each(|warning| self.console.message(warning));
    }

    /// Runs `job` while it is watched, as far as that was asked for.
    pub fn with_progress<R>(&self, live: &Live, crew: &Crew, job: impl FnOnce() -> R) -> R {
        let (program, noun, meters) = (self.report.program, self.noun, &self.meters);
        let ways = Ways {
            console: &self.console,
            progress: self.manner.progress,
            asked: &self.asked,
            endpoint: self.endpoint.as_ref(),
        };
        let done = watch::watched(&Watched { program, noun, live, meters, crew, started: self.started }, &ways, job);
        self.console.flush();
        done
    }

    /// Takes the figures of the run into the report.
    pub fn fill(&mut self, crew: &Crew, flow: Flow, ended: Ended) {
        let (ceiling, elapsed) = (Ceiling::oci(), ended.elapsed);
        let report = &mut self.report;
        report.seconds = elapsed.as_secs_f64();
        report.cpu_seconds = footprint::cpu_time().as_secs_f64();
        report.memory_peak_bytes = footprint::memory_peak_bytes();
        report.targets = self.meters.list().iter().map(|meter| meter.report(elapsed, ceiling)).collect();
        report.targets.iter_mut().for_each(|target| target.gone = ended.gone.contains(&target.target));
        report.kernel = self.meters.kernel.report();
        report.bound = (!report.targets.is_empty()).then(|| bound::bound(&report.targets, flow, ceiling, elapsed));
        report.warnings = ended.warnings;
        report.warnings.extend(self.meters.clamped.warning());
        report.warnings.extend(self.meters.fewer_connections());
        match &self.manner.planned {
            Some(planned) => self.meters.unseen_warning().into_iter().for_each(|text| planned.note(&text)),
            None => report.warnings.extend(self.meters.unseen_warning()),
        }
        report.failures = crew.report().count();
        report.failed = crew.report().failures().iter().map(FailureReport::from).collect();
        report.stopped = ended.stopped;
        report.fatal = ended.fatal;
        for target in &ended.gone {
            let advice = ended.gone_advice;
            self.console.message(format_args!(
                "{target}: does not answer and was left out; should it wake, what it was sent may still be done{advice}. \
                 While it is away, a URL has to leave it out"
            ));
        }
    }

    /// Says on stderr what went wrong; true when nothing did.
    pub fn tell_failures(&self, crew: &Crew) -> bool {
        let (console, report) = (&self.console, &self.report);
        report.warnings.iter().for_each(|warning| console.message(warning));
        // Also what was begun when the run was stopped: it is there, and incomplete.
        crew.report().failures().iter().for_each(|failure| console.show(failure));
        if crew.report().unkept() > 0 {
            console.message(format_args!("{} failures more are not listed", crew.report().unkept()));
        }
        report.fatal.iter().for_each(|error| console.message(error));
        if let Some(stopped) = &report.stopped {
            console.message(if self.manner.planned.is_some() { UNPLANNED } else { stopped });
        }
        report.failures == 0 && report.fatal.is_none() && report.stopped.is_none() && !console.has_failed()
    }

    /// `first`, and then what the run cost and what bound it.
    pub fn tell_summary(&self, first: String) {
        let procedures = meter::procedures(&self.meters.list(), &self.meters.tally());
        self.console.line(first);
        summary::cost(&self.report, &procedures).iter().for_each(|line| self.console.line(line));
        kernel::lines(&self.report.kernel).iter().for_each(|line| self.console.line(line));
    }

    /// `first`, and then what a run that changes something would cost.
    pub fn tell_price(&self, first: String) {
        let procedures = meter::procedures(&self.meters.list(), &self.meters.tally());
        self.console.line(first);
        summary::price(&self.report.targets, &procedures).iter().for_each(|line| self.console.line(line));
    }

    /// Writes the report, if one is wanted; `failure` is how the run then ends when that fails.
    pub fn conclude<J: Serialize>(mut self, job: &J, exit: Exit, failure: Exit) -> Exit {
        self.console.flush();
        self.report.exit_status = exit.number();
        // A rehearsal is no run: what it found is the forecast's to tell.
        if self.manner.planned.is_some() {
            return exit;
        }
        let mut complaints = Vec::new();
        if let Some(path) = &self.report_to {
            let document = Document { run: &self.report, job };
            if let Err(error) = report::write_json(path, self.manner.report_mode, &document) {
                let path = path.display();
                complaints
                    .push(format!("{path}: Cannot write: {}; only the report of the run is missing", reason(&error)));
            }
        }
        if let Some(log) = self.console.log() {
            let RunReport { exit_status, seconds, failures, fatal, stopped, .. } = &self.report;
            let (exit_status, seconds, failures) = (*exit_status, *seconds, *failures);
            log.add("end", &Finished { exit_status, seconds, failures, fatal, stopped, job });
            complaints.extend(log.lost());
        }
        complaints.iter().for_each(|complaint| self.console.show(complaint));
        if exit == Exit::Success && !complaints.is_empty() { failure } else { exit }
    }
}
