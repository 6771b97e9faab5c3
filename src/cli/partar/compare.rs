//! `-d`: members compared with files. Differences go to stdout in GNU tar's words; the exit status is then 1.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use serde::Serialize;

use crate::archive::Archive;
use crate::base::name::Shown;
use crate::cli::Exit;
use crate::cli::bound::Flow;
use crate::cli::location::Location;
use crate::cli::meter::Role;
use crate::cli::owners::HostOwners;
use crate::cli::session::Session;
use crate::jobs::Live;
use crate::jobs::compare::{Finding, Options, compare};
use crate::storage::Mount;

use super::high::High;
use super::reading;

#[derive(Serialize)]
struct Job {
    archive: String,
    codec: Option<String>,
    directory: String,
    compared: Compared,
}

#[derive(Default, Serialize)]
struct Compared {
    members: u64,
    different: u64,
    bytes: u64,
}

/// Compares, and says how it ended.
pub fn run(high: &High, options: &Options, directory: &Location, mut session: Session<'_>) -> Exit {
    let (archive, directory_shown) = (high.archive.to_string(), directory.to_string());
    let mut job = Job { archive, codec: None, directory: directory_shown, compared: Compared::default() };
    let exit = compare_all(high, options, directory, &mut session, &mut job);
    let exit = exit.unwrap_or_else(|fatal| reading::fatal(&mut session, fatal));
    session.conclude(&job, exit, Exit::Failure)
}

fn compare_all(
    high: &High,
    options: &Options,
    directory: &Location,
    session: &mut Session<'_>,
    job: &mut Job,
) -> Result<Exit, String> {
    let console = session.console.clone();
    let mut opener = session.opener().changing(false);
    opener.spread(directory.dir().map(|path| (path, Some(Role::Source))))?;
    let volume = opener.volume(directory, Some(Role::Source))?;
    session.tell_mounts(opener.spreader());
    let (crew, caught) = session.crew(volume.limits().shape)?;
    let opened = reading::open(high, session, &mut opener, &crew, &mut job.codec)?;
    let mut archive = Archive::new(opened.input, high.reading());
    let live = Arc::new(Live::default());
    live.total_bytes.store(opened.bytes.unwrap_or(0), Ordering::Relaxed);
    let tell = |path: &[u8], finding: &Finding| match finding {
        Finding::Compared if high.manner.verbose == 0 => {}
        Finding::Compared => console.print(Shown(path)),
        Finding::Differs(text) => console.print(format_args!("{}: {text}", Shown(path))),
        Finding::Missing(text) => console.message(format_args!("{}: {text}", Shown(path))),
    };
    let start = Instant::now();
    let done = session.with_progress(&live, &crew, || {
        compare(&volume, &mut archive, options, &HostOwners::default(), &crew, &live, &tell)
    });
    let elapsed = start.elapsed();
    job.compared = Compared { members: done.members, different: done.different, bytes: done.bytes };
    let flow = Flow { source_wait: 0.0, storage_wait: 0.0, shape: crew.shape(), held: high.manner.held, bwlimit: None };
    let mut ended = reading::of_read(done.read, elapsed, done.stopped);
    ended.gone = volume.gone();
    reading::ended(session, &crew, flow, ended);
    let clean = session.tell_failures(&crew);
    reading::totals(high, &console, &archive, elapsed);
    Ok(reading::exit(&console, &caught, clean && !archive.is_flawed(), done.different > 0))
}
