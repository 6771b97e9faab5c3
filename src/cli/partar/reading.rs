//! What all modes that read an archive have in common: opening it, and how a run ends.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::archive::write::RECORD_BYTES;
use crate::archive::{Archive, Codec};
use crate::cli::Exit;
use crate::cli::archive::{self, OpenedArchive};
use crate::cli::bound::Flow;
use crate::cli::console::{Console, reason};
use crate::cli::filter::Filter;
use crate::cli::host::Unclear::{self, Usage};
use crate::cli::location::Location;
use crate::cli::open::Opener;
use crate::cli::session::{Ended, Session};
use crate::cli::signals::Caught;
use crate::crew::Crew;
use crate::jobs::members::Read;

use super::high::{High, Mode};
use super::summary;

/// Says why a run ended before its first member.
pub fn fatal(session: &mut Session<'_>, fatal: String) -> Exit {
    session.console.flush();
    session.console.message(&fatal);
    session.console.message("Error is not recoverable: exiting now");
    session.report.fatal = Some(fatal);
    Exit::Failure
}

/// A directory of `-C`.
pub fn place(directory: &OsString) -> Result<Location, Unclear> {
    Location::parse(directory).map_err(|error| Usage(format!("-C: {error}")))
}

/// The directories of this host among these, each where the one before has led.
pub fn idle(directories: &[OsString]) -> Result<Vec<PathBuf>, Unclear> {
    let mut here = PathBuf::new();
    let mut idle = Vec::new();
    for directory in directories {
        if let Location::Dir(path) = place(directory)? {
            here.push(path);
            idle.push(here.clone());
        }
    }
    Ok(idle)
}

/// Opens the archive for reading.
pub fn open(
    high: &High,
    session: &Session<'_>,
    opener: &mut Opener,
    crew: &Crew,
    codec: &mut Option<String>,
) -> Result<OpenedArchive, String> {
    let opened = match &high.program {
        None => archive::open(&high.archive, opener, crew.stop())?,
        Some(command) => archive::open_through(&high.archive, &Filter::new(command, crew.stop()), crew.stop())?,
    };
    for path in &high.idle {
        // What is no directory has nothing in it.
        let there = std::fs::metadata(path.join("."));
        there.map_err(|error| format!("{}: Cannot open: {}", path.display(), reason(&error)))?;
    }
    *codec = Some(match &high.program {
        None => format!("{:?}", opened.codec).to_lowercase(),
        Some(command) => command.to_string_lossy().into_owned(),
    });
    note_codec(high, &session.console, opened.codec);
    // A listing has other uses for -vv.
    if !matches!(high.mode, Mode::List(_)) {
        session.tell_setup(&format!("{}: {:?}", high.archive, opened.codec), crew);
    }
    Ok(opened)
}

/// How reading an archive ended.
pub fn of_read(read: Read, elapsed: Duration, stopped: Option<String>) -> Ended {
    let (warnings, fatal) = (read.warnings.told(), read.archive_error);
    Ended { elapsed, warnings, stopped, fatal, ..Ended::default() }
}

/// Takes what came of a run into its report.
pub fn ended(session: &mut Session<'_>, crew: &Crew, flow: Flow, ended: Ended) {
    // A reader that was stopped says so with an error, which is no fault of the archive's.
    let fatal = ended.fatal.filter(|_| !crew.stop().is_set());
    session.fill(crew, flow, Ended { fatal, ..ended });
}

/// The line of `--totals`, where it is asked for.
pub fn totals(high: &High, console: &Console, archive: &Archive, elapsed: Duration) {
    if high.totals {
        // As GNU tar: whole records of what was read up to the end mark.
        console.line(summary::totals(archive.position().next_multiple_of(RECORD_BYTES), elapsed));
    }
}

/// How it ended: by a signal, clean, with what differs, or failed.
pub fn exit(console: &Console, caught: &Caught, clean: bool, differs: bool) -> Exit {
    match caught.signal() {
        Some(signal) => Exit::Signal(signal),
        None if clean && differs => Exit::Partly,
        None if clean => Exit::Success,
        None => {
            console.message("Exiting with failure status due to previous errors");
            Exit::Failure
        }
    }
}

fn note_codec(high: &High, console: &Console, codec: Codec) {
    // What a program unpacks has no codec of its own to be checked.
    if let Some((said, flag)) = high.codec_said
        && said != codec
        && high.program.is_none()
    {
        let (found, said) = (format!("{codec:?}").to_lowercase(), format!("{said:?}").to_lowercase());
        console.message(format_args!("{}: is {found} by its content, not {said} as {flag} says", high.archive));
    }
}
