//! One clone of a job, from its beginning to its result.
//!
//! Promises: all that is under way has come back before data is made safe or files are closed; an error that ends the job is in its result.
//! Leaves out: setting files up, when clones start, and what is between beginning and end (`passes`, `flow`).

use std::collections::VecDeque;
use std::io::BufRead;
use std::path::PathBuf;
use std::time::Duration;

use rustix::io::Errno;

use super::super::content::Contents;
use super::super::depth::Search;
use super::super::engine::{Buf, Done, Engine, Place};
use super::super::general::Traces;
use super::super::iolog;
use super::super::offsets::Extent;
use super::super::pace::Pacer;
use super::super::random::{Seeds, Stream};
use super::super::results::JobResult;
use super::super::settings::Settings;
use super::super::verify::{Verifier, Written};
use super::super::{Direction, Each};
use super::choice::{Choice, Next};
use super::clock::{Clock, ns};
use super::latest::Latest;
use super::live::{Live, State};
use super::log::{LogFiles, Logs};
use super::open::OpenFiles;
use super::recorder::{Recorder, Times};
use super::traced::Traced;
use super::unwritten::Unwritten;
use super::upkeep::{command, unlink_all};
use super::verifiers::Verifiers;
use crate::base::reason;

/// What a clone asks of the host.
pub trait Host: Sync + LogFiles {
    /// A line for stderr.
    fn tell(&self, line: &str);

    /// Writes a file (verify_dump). An error is the reason.
    fn save(&self, name: &str, bytes: &[u8]) -> Result<(), String>;

    /// Where state files of this name are (--aux-path).
    fn state_path(&self, name: &str) -> String;

    /// Opens a file that is read as a stream (read_iolog). An error is the reason.
    fn read(&self, name: &str) -> Result<Box<dyn BufRead>, String>;

    /// A line of --debug.
    fn trace(&self, line: &str);

    /// A signal ends the run.
    fn is_signalled(&self) -> bool {
        false
    }

    /// Runs a shell's command (exec_prerun, exec_postrun); what it prints goes to the file `output`. An error is the reason.
    fn shell(&self, command: &str, output: &str) -> Result<(), String>;
}

/// What a clone is to do.
pub struct Work<'a> {
    /// Its job.
    pub settings: &'a Settings,
    /// What of it is told line by line.
    pub traces: Traces,
    /// Its group in reports.
    pub group: u32,
    /// Its number within the job, from 0, and in the run, from 1.
    pub clone: u32,
    #[allow(missing_docs)] // as above
    pub number: u32,
    /// Where its files are.
    pub place: &'a dyn Place,
    /// Its files, and the part of each that it works on.
    pub files: Vec<(PathBuf, Extent)>,
    /// Bytes of each that were there, where that is known.
    pub there: Vec<u64>,
    /// Bytes of I/O at most: of a job that fills its time, in a pass.
    pub total_bytes: u64,
    /// Where its random numbers come from.
    pub seeds: Seeds,
    /// What it shows.
    pub live: &'a Live,
    /// The run's clock.
    pub clock: Clock,
    /// What it says and saves.
    pub host: &'a dyn Host,
}

/// An I/O under way.
#[derive(Debug)]
pub(super) struct Slot {
    /// None while the engine has it.
    pub(super) buf: Option<Buf>,
    pub(super) next: Next,
    pub(super) times: Times,
    /// What of it has been moved: more than 0 where an I/O was short.
    pub(super) moved: usize,
    /// Something was read into its buffer since it was filled.
    pub(super) is_stale: bool,
    /// It reads back what was written.
    pub(super) checks: Option<Written>,
}

/// verify_backlog=.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    /// Writes of the job when some were last due.
    pub(super) writes: u64,
    /// Those that are to be read back.
    pub(super) due: u64,
}

/// Why a clone goes no further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failed {
    pub(super) errno: i32,
    pub(super) detail: String,
}

impl Failed {
    /// The signal ended it, which is no error of the job.
    pub(super) fn by_signal() -> Failed {
        Failed { errno: 0, detail: String::new() }
    }

    pub(super) fn new(errno: Errno, detail: impl Into<String>) -> Failed {
        Failed { errno: errno.raw_os_error(), detail: detail.into() }
    }
}

/// A clone while it runs.
pub(super) struct Runner<'a, E> {
    pub(super) work: &'a Work<'a>,
    pub(super) engine: E,
    pub(super) choice: Choice,
    /// Of [`Choice::rounds`], those that began with what [`Runner::drop_cached`] does.
    pub(super) rounds: u64,
    /// The pass from its start, for what is read back.
    pub(super) replay: Option<Choice>,
    /// Which of its writes are still there, where later ones may be on the same bytes.
    pub(super) latest: Option<Latest>,
    pub(super) unwritten: Unwritten,
    pub(super) contents: Contents,
    pub(super) verifier: Option<Verifier>,
    pub(super) verifiers: Option<Verifiers>,
    pub(super) recorder: Recorder,
    pub(super) logs: Logs,
    pub(super) has_logs: bool,
    pub(super) io_log: Option<iolog::Writer>,
    pub(super) open: OpenFiles,
    pub(super) slots: Vec<Slot>,
    pub(super) free: Vec<u32>,
    pub(super) done: Vec<Done>,
    /// Slots of what is queued and not sent, in that order.
    pub(super) queued: VecDeque<u32>,
    pub(super) in_flight: usize,
    /// The depth was reached; none is sent until iodepth_low.
    pub(super) is_full: bool,
    pub(super) pacers: Each<Option<Pacer>>,
    pub(super) search: Option<Search>,
    pub(super) is_paced: bool,
    /// When the clock was read last; ns since the run's start.
    pub(super) now: u64,
    pub(super) began: u64,
    /// I/O counts.
    pub(super) counts: bool,
    /// When the time is over.
    pub(super) ends: u64,
    /// When ramp_time is over.
    pub(super) ramped: u64,
    /// All that was written is safe: closing need not see to it.
    pub(super) is_synced: bool,
    /// I/Os that ended, and that were issued, of the job; syncs excepted.
    pub(super) ended: u64,
    pub(super) issued: u64,
    /// I/Os that were issued in this pass.
    pub(super) pass_issued: u64,
    /// The most of any pass; and how many a pass may have.
    pub(super) pass_most: u64,
    pub(super) ios_max: u64,
    /// Writes that were issued, of the job, and the bytes of the last file that they touched since the last sync.
    pub(super) writes: u64,
    pub(super) touched: Option<(u32, Extent)>,
    pub(super) thought: u64,
    pub(super) paused: u64,
    /// What the last cycle of rate_min began with.
    pub(super) cycle: (u64, Each<(u64, u64)>),
    pub(super) failed: Option<Failed>,
    /// The first block that was not what was written, where the job goes on to the end.
    pub(super) mismatch: Option<String>,
    /// A mismatch that continue_on_error lets pass: the exit status tells it all the same.
    pub(super) has_mismatch: bool,
    /// I/Os of this pass that were visited again.
    pub(super) checked: u64,
    pub(super) backlog: Backlog,
    pub(super) has_times: bool,
    /// max_latency= or latency_target=.
    pub(super) has_limit: bool,
    /// Files are read ahead of the load.
    pub(super) is_preparing: bool,
}

/// Runs a clone: opens its files, waits for `go`, and does its I/O.
pub fn run<E: Engine>(engine: E, work: &Work<'_>, go: &dyn Fn()) -> JobResult {
    match work.traces.names().next() {
        None => drive(engine, work, go),
        Some(_) => drive(Traced::new(Box::new(engine), work), work, go),
    }
}

fn drive<E: Engine>(engine: E, work: &Work<'_>, go: &dyn Fn()) -> JobResult {
    let mut runner = Runner::new(engine, work);
    runner.adopt_host();
    if runner.failed.is_none() {
        runner.failed = before(work);
    }
    if runner.failed.is_none() {
        runner.prepare();
    }
    let is_prepared = runner.failed.is_none();
    work.live.set_state(State::Initialized);
    go();
    runner.begin();
    runner.load_state();
    if runner.failed.is_none() {
        runner.all_passes();
    }
    runner.finish(is_prepared)
}

/// The result of a clone that does no I/O (create_only). As in fio its commands run, and its files go where unlink= says so.
pub fn only_create(work: &Work<'_>) -> JobResult {
    let refused = before(work);
    if refused.is_none() {
        after(work);
    }
    let unlinked = work.settings.files.unlink.then(|| unlink_all(work)).flatten();
    refused
        .or(unlinked)
        .map_or_else(|| idle(work), |reason| failed(work, Errno::from_raw_os_error(reason.errno), &reason.detail))
}

/// exec_prerun=. What cannot be prepared is not begun.
fn before(work: &Work<'_>) -> Option<Failed> {
    let is_done = command(work, work.settings.host.before.as_deref(), "prerun");
    (!is_done).then(|| Failed::new(Errno::IO, "func=exec_prerun"))
}

/// exec_postrun=. The I/O was done: as in fio what follows it does not fail the job.
fn after(work: &Work<'_>) {
    command(work, work.settings.host.after.as_deref(), "postrun");
}

/// The result of a clone that never ran: what a thread was charged with meanwhile is not its own.
pub fn unstarted(work: &Work<'_>) -> JobResult {
    JobResult { usr_us: 0, sys_us: 0, ctx: 0, majf: 0, minf: 0, ..idle(work) }
}

fn idle(work: &Work<'_>) -> JobResult {
    let now = work.clock.now();
    let mut recorder = Recorder::new(work.settings, work.group, false);
    recorder.result.start_ms = work.clock.wall_ms(now);
    recorder.begin(now);
    recorder.snapshot(now)
}

/// The result of a clone that could not begin.
pub fn failed(work: &Work<'_>, errno: Errno, detail: &str) -> JobResult {
    let mut result = idle(work);
    (result.errors.error, result.errors.detail) = (errno.raw_os_error(), detail.to_owned());
    work.live.failed.store(true, std::sync::atomic::Ordering::Relaxed);
    result
}

impl<'a, E: Engine> Runner<'a, E> {
    fn new(engine: E, work: &'a Work<'a>) -> Runner<'a, E> {
        let settings = work.settings;
        // A log that is replayed says itself where I/O goes.
        let chooses = settings.io_logs.replay.is_none();
        let regions: Vec<Extent> = work.files.iter().filter(|_| chooses).map(|(_, region)| *region).collect();
        let choice = Choice::new(settings, work.seeds, &regions, work.total_bytes).in_files(&work.there);
        let depth = if engine.waits() { 1 } else { settings.engine.in_flight.max(1) };
        let largest = settings.load.blocks.iter().map(|(_, (_, most))| *most).max().unwrap_or(1);
        let recorder = Recorder::new(settings, work.group, !engine.waits());
        let rates = &settings.pacing.rate;
        let pacer = |direction: Direction| {
            let random = work.seeds.random(Stream::Poisson, direction as u64);
            rates[direction].map(|rate| Pacer::new(rate, settings.pacing.process, random, Duration::ZERO))
        };
        let pacers = Each::of(pacer);
        let smallest = settings.load.block_min();
        // What has a mark of its own is made for itself.
        let part = settings.verify.as_ref().map_or(smallest, |verify| verify.interval.min(smallest));
        let measures = &settings.measures;
        let has_limit = settings.pacing.latency.is_some() || settings.pacing.latency_max.is_some();
        let mut runner = Runner {
            work,
            choice,
            rounds: 0,
            replay: None,
            latest: None,
            unwritten: Unwritten::default(),
            contents: Contents::new(&settings.buffers, work.seeds, part as usize),
            verifier: None,
            verifiers: None,
            logs: Logs::default(),
            has_logs: false,
            io_log: None,
            open: OpenFiles::new(work.files.len(), settings.files.open_max as usize),
            slots: Vec::new(),
            free: (0..depth).rev().collect(),
            done: Vec::with_capacity(depth as usize),
            queued: VecDeque::with_capacity(depth as usize),
            in_flight: 0,
            is_full: false,
            is_paced: rates.iter().any(|(_, rate)| rate.is_some()),
            pacers,
            search: settings.pacing.latency.map(|asked| Search::new(asked, depth, 0)),
            now: work.clock.now(),
            began: 0,
            counts: true,
            ends: u64::MAX,
            ramped: 0,
            ended: 0,
            issued: 0,
            pass_issued: 0,
            pass_most: 0,
            ios_max: Some(settings.load.number_ios).filter(|most| *most > 0).unwrap_or(u64::MAX),
            writes: 0,
            touched: None,
            thought: 0,
            paused: 0,
            cycle: (0, Each::default()),
            failed: None,
            mismatch: None,
            has_mismatch: false,
            checked: 0,
            backlog: Backlog::default(),
            has_limit,
            has_times: has_limit || measures.slat || measures.clat || measures.lat || measures.bw || measures.samples,
            is_preparing: false,
            is_synced: false,
            recorder,
            engine,
        };
        runner.set_up_slots(depth, largest as usize);
        let waits = runner.engine.waits();
        match Logs::open(&settings.logs, work.number, !waits, work.host, work.clock.wall_ms(runner.now)) {
            Ok(logs) => (runner.has_logs, runner.logs) = (!logs.is_empty(), logs),
            Err(text) => runner.log_failed(text),
        }
        runner.open_io_log();
        runner.start_verifiers();
        runner
    }

    /// Opens what is to be open from the start.
    fn prepare(&mut self) {
        // A log has its own lines for opening.
        if self.work.settings.io_logs.replay.is_none() || self.work.settings.files.pre_read {
            self.open_first();
        }
        if self.failed.is_none() && self.work.settings.files.pre_read {
            self.pre_read();
        }
    }

    pub(super) fn open_first(&mut self) {
        let first = self.work.files.len().min(self.open.most());
        for file in 0..first as u32 {
            if let Err(failed) = self.open_file(file) {
                self.failed = Some(failed);
                return;
            }
        }
    }

    fn begin(&mut self) {
        let span = &self.work.settings.span;
        self.now = self.work.clock.now();
        self.began = self.now;
        self.work.live.began.store(self.now.max(1), std::sync::atomic::Ordering::Relaxed);
        self.ends = span.ends().map_or(u64::MAX, |ends| self.began.saturating_add(ns(ends)));
        self.ramped = self.began.saturating_add(ns(span.ramp));
        self.counts = span.ramp.is_zero();
        self.paused = self.began;
        self.cycle.0 = self.began;
        self.recorder.result.start_ms = self.work.clock.wall_ms(self.began);
        self.turn_to_pass();
        self.recorder.begin(self.began);
        self.search.iter_mut().for_each(|search| search.begin(self.began, 0));
        self.logs.begin(self.began);
        self.io_log.iter_mut().for_each(|log| log.begin(self.began));
        self.work.live.set_state(if self.counts { State::Running } else { State::Ramping });
    }

    /// Ends what is under way, makes data safe where that is asked for, closes. `is_prepared`: it has begun its I/O, or could have.
    fn finish(mut self, is_prepared: bool) -> JobResult {
        self.drain();
        self.verifiers.take().into_iter().for_each(Verifiers::end);
        self.now = self.work.clock.now();
        if let (None, Some(detail)) = (&self.failed, self.mismatch.take()) {
            self.failed = Some(Failed { errno: Errno::ILSEQ.raw_os_error(), detail });
        }
        // Times end with the last I/O; what follows is told by its errors only.
        let mut result = self.snapshot();
        self.work.live.set_state(State::Finishing);
        self.save_state();
        self.close_all();
        let failed = self.logs.close(self.now).or_else(|| self.io_log.take().and_then(iolog::Writer::close));
        if let Some(text) = failed {
            self.log_failed(text);
        }
        if is_prepared {
            after(self.work);
        }
        if self.work.settings.files.unlink {
            self.unlink_all();
        }
        self.failed.take_if(|failed| failed.errno == 0);
        if let Some(failed) = &self.failed {
            (result.errors.error, result.errors.detail) = (failed.errno, failed.detail.clone());
        }
        if self.failed.is_some() || self.has_mismatch {
            self.work.live.failed.store(true, std::sync::atomic::Ordering::Relaxed);
        }
        self.work.live.give(result.clone());
        self.work.live.set_state(State::Exited);
        result
    }
}

/// What the system says of an errno, without its number.
pub fn said(errno: Errno) -> String {
    reason(&errno.into())
}
