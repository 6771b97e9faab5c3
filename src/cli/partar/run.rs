//! One run of partar: opens what it names, extracts, tells, and reports.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::archive::{self, Archive, Codec};
use crate::base::name::Shown;
use crate::base::price::Ceiling;
use crate::base::{Cause, Failure};
use crate::cli::Exit;
use crate::cli::console::{Console, Quoted, reason};
use crate::cli::footprint;
use crate::cli::open::{self, Opened};
use crate::cli::owners::HostOwners;
use crate::cli::progress::Progress;
use crate::cli::report::{self, Extracted, FailureReport, Flow, Meter, RunReport};
use crate::cli::signals::{self, Caught};
use crate::crew::{Crew, Stop};
use crate::jobs::Live;
use crate::jobs::extract::{Summary, extract};
use crate::storage::{Mount, Shape, Tally};

use super::high::High;
use super::summary;

/// Memory for file data on its way, in bytes: the payload that eight targets can have in flight.
const BUDGET_BYTES: u64 = 128 << 20;

/// Runs `high`; the report is written however it ends.
pub fn run(high: &High, console: &Arc<Console>) -> Exit {
    let mut report = empty_report(high);
    let mut exit = match extract_all(high, console, &mut report) {
        Ok(exit) => exit,
        Err(fatal) => {
            console.flush();
            console.message(&fatal);
            console.message("Error is not recoverable: exiting now");
            report.fatal = Some(fatal);
            Exit::Failure
        }
    };
    report.exit_status = exit.number();
    if let Some(path) = &high.report
        && let Err(error) = report::write_json(path, high.options.implied_mode & 0o666, &report)
    {
        console.message(format_args!("{}: Cannot write: {}", path.display(), reason(&error)));
        if exit == Exit::Success {
            exit = Exit::Failure;
        }
    }
    exit
}

fn empty_report(high: &High) -> RunReport {
    let ceiling = Ceiling::oci();
    RunReport {
        schema: 1,
        program: "partar",
        version: env!("CARGO_PKG_VERSION"),
        exit_status: 0,
        archive: high.archive.to_string(),
        codec: None,
        destination: high.destination.to_string(),
        seconds: 0.0,
        cpu_seconds: 0.0,
        memory_peak_bytes: None,
        extracted: Extracted::default(),
        shape: None,
        ceiling_iops: ceiling.iops,
        ceiling_bytes_per_s: ceiling.bytes_per_s,
        targets: Vec::new(),
        bound: None,
        warnings: Vec::new(),
        failures: 0,
        failed: Vec::new(),
        fatal: None,
        stopped: None,
    }
}

/// An error ends the run before its first member.
fn extract_all(high: &High, console: &Arc<Console>, report: &mut RunReport) -> Result<Exit, String> {
    let Opened { volume, meters } = open::volume(&high.destination, high.held)?;
    let suggested = volume.limits().shape;
    let lanes = high.lanes.unwrap_or(suggested.lanes);
    let shape = Shape { lanes, window: high.window.unwrap_or(suggested.window) };
    let crew = Crew::new(shape, BUDGET_BYTES).map_err(|error| error.to_string())?;
    let caught = watch_signals(console, crew.stop())?;
    let opened = open::archive(&high.archive, crew.stop())?;
    report.shape = Some(shape.into());
    report.codec = Some(format!("{:?}", opened.codec).to_lowercase());
    note_setup(high, console, opened.codec, shape, &meters);
    let mut archive = Archive::new(opened.input, archive::Options { ignore_zeros: high.ignore_zeros });
    let live = Arc::new(Live::default());
    live.total_bytes.store(opened.bytes.unwrap_or(0), Ordering::Relaxed);
    let progress =
        high.progress.then(|| Progress::start(console.clone(), live.clone(), meters.clone(), crew.budget().clone()));
    let list = |path: &[u8]| {
        if high.verbose > 0 {
            console.print(Quoted(path));
        }
    };
    let start = Instant::now();
    let done = extract(&volume, &mut archive, &high.options, &HostOwners::default(), &crew, &live, &list);
    let elapsed = start.elapsed();
    if let Some(progress) = progress {
        progress.finish();
    }
    console.flush();
    let gone = volume.gone();
    let took = Took { elapsed, gone: &gone };
    fill_report(high, report, &done, &crew, &meters, took);
    let ended = tell_failures(console, report, &crew, &done, &gone);
    if high.totals {
        console.line(summary::totals(archive.offset(), elapsed));
    }
    if high.verbose > 0 {
        let refs: Vec<&Meter> = meters.iter().collect();
        let tally: Tally = meters.iter().map(|meter| meter.ledger.tally()).sum();
        summary::lines(report, &report::procedures(&refs, &tally)).iter().for_each(|line| console.line(line));
    }
    Ok(match (caught.signal(), ended) {
        (Some(signal), _) => Exit::Signal(signal),
        (None, Exit::Success) => Exit::Success,
        (None, other) => {
            console.message("Exiting with failure status due to previous errors");
            other
        }
    })
}

fn watch_signals(console: &Arc<Console>, stop: &Stop) -> Result<Caught, String> {
    let tell = console.clone();
    signals::watch(stop.clone(), move |signal| {
        let name = signal_hook::low_level::signal_name(signal).unwrap_or("A signal");
        tell.message(format_args!("{name}: finishing what is under way; a second one ends at once"));
    })
    .map_err(|error| format!("Cannot watch signals: {}", reason(&error)))
}

fn note_setup(high: &High, console: &Console, codec: Codec, shape: Shape, meters: &[Meter]) {
    if let Some((said, flag)) = high.codec_said
        && said != codec
    {
        let (found, said) = (format!("{codec:?}").to_lowercase(), format!("{said:?}").to_lowercase());
        console.message(format_args!("{}: is {found} by its content, not {said} as {flag} says", high.archive));
    }
    if high.verbose > 1 {
        let targets = meters.iter().map(|meter| meter.label.as_str()).collect::<Vec<_>>().join(", ");
        let Shape { lanes, window } = shape;
        console.message(format_args!("{}: {codec:?}; {lanes} lanes of {window} calls to {targets}", high.archive));
    }
}

/// How long a run took, and the targets it lost.
struct Took<'a> {
    elapsed: Duration,
    gone: &'a [String],
}

fn fill_report(high: &High, report: &mut RunReport, done: &Summary, crew: &Crew, meters: &[Meter], took: Took<'_>) {
    let Took { elapsed, gone } = took;
    let ceiling = Ceiling::oci();
    report.seconds = elapsed.as_secs_f64();
    report.cpu_seconds = footprint::cpu_time().as_secs_f64();
    report.memory_peak_bytes = footprint::memory_peak_bytes();
    report.extracted = Extracted {
        members: done.members,
        files: done.files,
        dirs: done.dirs,
        links: done.links,
        skipped: done.skipped,
        bytes: done.bytes,
    };
    report.targets = meters.iter().map(|meter| meter.report(elapsed, ceiling)).collect();
    report.targets.iter_mut().for_each(|target| target.gone = gone.contains(&target.target));
    let share = |waited: Duration| (waited.as_secs_f64() / elapsed.as_secs_f64().max(1e-9)).min(1.0);
    let (source_wait, storage_wait) = (share(done.source_wait), share(done.storage_wait));
    let is_nfs = meters.iter().all(|meter| meter.is_nfs);
    let flow = Flow { source_wait, storage_wait, shape: crew.shape(), held: high.held, is_nfs };
    report.bound = Some(report::bound(&report.targets, flow, ceiling, elapsed));
    report.warnings.clone_from(&done.warnings);
    report.failures = crew.report().count();
    let told = |failure: &Failure| match &failure.cause {
        Cause::Call(proc, status) => {
            FailureReport { path: Shown(&failure.path).to_string(), call: Some(proc.name()), cause: status.to_string() }
        }
        Cause::Refused(cause) => {
            FailureReport { path: Shown(&failure.path).to_string(), call: None, cause: cause.clone() }
        }
    };
    report.failed = crew.report().failures().iter().map(told).collect();
    report.stopped.clone_from(&done.stopped);
    // A reader that was stopped says so with an error, which is no fault of the archive's.
    report.fatal = done.archive_error.clone().filter(|_| !crew.stop().is_set());
}

/// Says on stderr what went wrong; the result knows no signals.
fn tell_failures(console: &Console, report: &RunReport, crew: &Crew, done: &Summary, gone: &[String]) -> Exit {
    done.warnings.iter().for_each(|warning| console.message(warning));
    for target in gone {
        console.message(format_args!("{target}: does not answer and was left out; should it wake, what it was sent may still be done: files' times may then differ, which --resume mends"));
    }
    // Also what was begun when the run was stopped: it is there, and incomplete.
    crew.report().failures().iter().for_each(|failure| console.message(failure));
    if crew.report().unkept() > 0 {
        console.message(format_args!("{} failures more are not listed", crew.report().unkept()));
    }
    if let Some(error) = &report.fatal {
        console.message(error);
    }
    if let Some(stopped) = &report.stopped {
        console.message(stopped);
    }
    let clean = report.failures == 0 && report.fatal.is_none() && report.stopped.is_none() && !console.has_failed();
    if clean { Exit::Success } else { Exit::Failure }
}
