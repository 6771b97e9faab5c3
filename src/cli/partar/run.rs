//! One run of partar: opens what it names, extracts, tells, and reports. Hands the other modes on.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::archive::Archive;
use crate::base::name::Shown;
use crate::base::{Cause, Failure, Proc};
use crate::cli::Exit;
use crate::cli::archive::ArchiveName;
use crate::cli::bound::Flow;
use crate::cli::console::Console;
use crate::cli::location::Location;
use crate::cli::owners::HostOwners;
use crate::cli::session::{Ended, Session};
use crate::jobs::Live;
use crate::jobs::extract::{Existing, Fate, Options, Summary, extract};
use crate::storage::Mount;

use super::create::{self, How};
use super::high::{High, Mode};
use super::{compare, index, list, reading, summary, to_stdout};

/// What was extracted.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Extracted {
    pub members: u64,
    pub files: u64,
    pub dirs: u64,
    pub links: u64,
    pub skipped: u64,
    pub bytes: u64,
}

/// What the report says beside what every run's does.
#[derive(Clone, Debug, Serialize)]
struct Job {
    archive: String,
    codec: Option<String>,
    destination: String,
    extracted: Extracted,
}

/// Runs `high`; the report is written however it ends.
pub fn run(high: &High, console: &Arc<Console>) -> Exit {
    let mut session = Session::new("partar", "members", console, &high.manner);
    let (options, destination) = match &high.mode {
        Mode::Extract { options, destination } => (options.as_ref(), destination),
        Mode::List(options) => return list::run(high, options, session),
        Mode::ToStdout(options) => return to_stdout::run(high, options, session),
        Mode::Compare { options, directory } => return compare::run(high, options, directory, session),
        Mode::Create(creation) => return create::run(high, creation, How::Create, session),
        Mode::Append(creation) => return create::run(high, creation, How::Append, session),
        Mode::Update(creation) => return create::run(high, creation, How::Update, session),
    };
    let mut job = Job {
        archive: high.archive.to_string(),
        codec: None,
        destination: destination.to_string(),
        extracted: Extracted::default(),
    };
    let exit = extract_all(high, options, destination, &mut session, &mut job)
        .unwrap_or_else(|fatal| reading::fatal(&mut session, fatal));
    session.conclude(&job, exit, Exit::Failure)
}

/// An error ends the run before its first member.
fn extract_all(
    high: &High,
    options: &Options,
    destination: &Location,
    session: &mut Session<'_>,
    job: &mut Job,
) -> Result<Exit, String> {
    let console = session.console.clone();
    let planned = high.manner.planned.as_ref();
    let opener = session.opener().planned(planned);
    let mut opener = opener.batched();
    opener.spread(destination.dir().map(|path| (path, None)))?;
    let volume = opener.volume(destination, None)?;
    session.tell_mounts(opener.spreader());
    let mut shape = volume.limits().shape;
    if !session.waits() {
        shape.window = IDLE_WINDOW;
    }
    // This thread reads the archive meanwhile, which takes it longer than lanes need for its members, and those would take turns at what
    // is remembered: of half a million files on two processors a forecast took 0.33 s with one lane, 0.42 s with two.
    let shape = session.busy_shape(shape, |processors| processors.saturating_sub(1).min(2));
    // Lanes read large members from the archive themselves.
    let waits = volume.waits() || matches!(high.archive, ArchiveName::Nfs(..));
    let (crew, caught) = session.crew_for(shape, waits)?;
    let opened = reading::open(high, session, &mut opener, &crew, &mut job.codec)?;
    let mut archive = Archive::new(opened.input, high.reading());
    let keeper = index::prepare(high, &mut archive, &options.select, &console)?;
    let live = Arc::new(Live::default());
    live.total_bytes.store(opened.bytes.unwrap_or(0), Ordering::Relaxed);
    let is_verbose = high.manner.verbose > 0;
    let list = |path: &[u8], fate: Fate| match (fate, options.existing) {
        (Fate::Made, _) if is_verbose => console.print(Shown(path)),
        // GNU tar tells it without -v too.
        (Fate::Left, Existing::KeepNewer) => {
            console.message(format_args!("Current '{}' is newer or same age", Shown(path)));
        }
        (Fate::Left, _) if is_verbose => console.message(format_args!("{}: skipping existing file", Shown(path))),
        _ => {}
    };
    let stays = options.existing.stays();
    let start = Instant::now();
    let done = session.with_progress(&live, &crew, || {
        extract(&volume, &mut archive, options, &HostOwners::default(), &crew, &live, &list)
    });
    let elapsed = start.elapsed();
    job.extracted = extracted(&done);
    let share = |waited: Duration| (waited.as_secs_f64() / elapsed.as_secs_f64().max(1e-9)).min(1.0);
    let (source_wait, storage_wait) = (share(done.source_wait), share(done.storage_wait));
    let flow = Flow { source_wait, storage_wait, shape: crew.shape(), held: high.manner.held, bwlimit: None };
    let ended = Ended {
        elapsed,
        gone: volume.gone(),
        gone_advice: match stays {
            true => ": files' times may then differ",
            false => ": files' times may then differ, which --resume mends",
        },
        warnings: done.warnings,
        stopped: done.stopped.map(|text| format!("{text}; the same command with --resume goes on")),
        fatal: done.archive_error,
    };
    reading::ended(session, &crew, flow, ended);
    let clean = session.tell_failures(&crew);
    if crew.report().failures().iter().any(is_unwritten) {
        console.message(UNWRITTEN);
    }
    let clean = keeper.is_none_or(|keeper| keeper.finish(&archive, clean, &console)) && clean;
    reading::totals(high, &console, &archive, elapsed);
    if let Some(planned) = planned {
        planned.would(summary::would_extract(&job.extracted));
    } else if high.manner.verbose > 0 {
        session.tell_summary(summary::line(&job.extracted, &session.report));
    }
    Ok(reading::exit(&console, &caught, clean && !archive.is_flawed(), false))
}

/// Calls in a window where nothing is forecast: of what is done at once each costs less.
const IDLE_WINDOW: usize = 64;

/// What to do about files that are there and not whole.
const UNWRITTEN: &str =
    "The same command with --resume makes the files that could not be written, and leaves what is complete";

/// A file that is there and not whole, and not because the run was stopped, which is told with its remedy.
fn is_unwritten(failure: &Failure) -> bool {
    matches!(failure.cause, Cause::Call(Proc::Write | Proc::Commit, _)) && !failure.is_cancelled()
}

fn extracted(done: &Summary) -> Extracted {
    Extracted {
        members: done.members,
        files: done.files,
        dirs: done.dirs,
        links: done.links,
        skipped: done.skipped,
        bytes: done.bytes,
    }
}
