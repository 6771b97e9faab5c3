//! -c, -r and -u: opens what is to be stored and where it goes, creates, tells, and reports.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use crate::archive::write::{self, RECORD_BYTES, label};
use crate::archive::{Archive, ArchiveError, Codec, FinishWrite, MemberKind, Pack, Packing, ReadAt};
use crate::base::name::Shown;
use crate::base::{Failure, Time};
use crate::cli::Exit;
use crate::cli::archive::{self, ArchiveName};
use crate::cli::bound::Flow;
use crate::cli::console::reason;
use crate::cli::exports::Found;
use crate::cli::filter::Filter;
use crate::cli::location::Location;
use crate::cli::meter::Role;
use crate::cli::open::Opener;
use crate::cli::owners::HostOwners;
use crate::cli::packing;
use crate::cli::places::{self, Lost, Places};
use crate::cli::session::{Ended, Session, processors};
use crate::crew::{Crew, Stop};
use crate::jobs::Live;
use crate::jobs::create::{Archived, Latest, Operand, Options, Output, Summary, create};
use crate::jobs::select::Selection;
use crate::mounts::nfs::Usage;
use crate::storage::{Mount, Shape};

use super::creation::{Creation, Packed};
use super::high::High;
use super::index;
use super::lock::{Locked, lock};
use super::output::Sink;
use super::summary;
use super::words::{Named, Names};

/// Members of an archive that is updated, at most: some 200 bytes each are kept.
const UPDATED_MAX: usize = 10_000_000;

/// Directories of `-C` that are none, remembered at most: lists may have any number.
const LOST_MAX: usize = 10_000;

/// What is done to the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It is made.
    Create,
    /// Members go behind those that are there.
    Append,
    /// As `Append`, only those that are newer.
    Update,
}

/// What was stored.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Stored {
    pub members: u64,
    pub files: u64,
    pub dirs: u64,
    pub links: u64,
    pub bytes: u64,
    pub archive_bytes: u64,
}

/// What the report says beside what every run's does.
#[derive(Clone, Debug, Serialize)]
struct Job {
    archive: String,
    codec: Option<String>,
    stored: Stored,
}

/// Runs it; the report is written however it ends.
pub fn run(high: &High, creation: &Creation, how: How, mut session: Session<'_>) -> Exit {
    let console = session.console.clone();
    let mut job = Job { archive: high.archive.to_string(), codec: None, stored: Stored::default() };
    let exit = run_all(high, creation, how, &mut session, &mut job).unwrap_or_else(|fatal| {
        console.flush();
        console.message(&fatal);
        console.message("Error is not recoverable: exiting now");
        session.report.fatal = Some(fatal);
        Exit::Failure
    });
    session.conclude(&job, exit, Exit::Failure)
}

/// What a run works on.
struct Open {
    options: Options,
    sink: Sink,
    /// Where the first member goes.
    at: u64,
    places: Arc<Places>,
    locked: Option<Locked>,
}

/// Opens the archive and finds out what is in it already.
fn open(high: &High, creation: &Creation, how: How, session: &Session<'_>) -> Result<Open, String> {
    // All that can be said against the command line is said before an archive that is there is emptied.
    let (packing, _) = packed(creation, &high.archive, &Stop::default())?;
    if high.index.is_some() && !matches!(packing, Packing::Plain) {
        return Err(index::packed(high));
    }
    index::check(high)?;
    let planned = high.manner.planned.as_ref();
    let mut opener = session.opener().planned(planned);
    spread(&mut opener, high, creation)?;
    let mut options = creation.options.clone();
    if let Some(text) = &creation.label {
        options.label = label(text, Time::now(), options.format).map_err(|unfit| format!("-V: {unfit}"))?;
    }
    let mode = high.manner.report_mode;
    let locked = match how {
        How::Append | How::Update if planned.is_none() => {
            lock(&high.archive, mode, |text| session.console.message(text))?
        }
        _ => None,
    };
    let had = if how == How::Create { Had::default() } else { had(high, &mut opener, how == How::Update)? };
    let (at, len) = (had.end, had.len);
    if had.goes_on {
        session.console.message(format_args!(
            "{}: what is behind its end, at byte {at}, is no part of it and may be written over; with -i it is read on behind \
             zeros",
            high.archive
        ));
    }
    options.update = (how == How::Update).then(|| Arc::new(had) as Arc<dyn Archived>);
    let sink = match how {
        _ if planned.is_some() => Sink::rehearsed(&high.archive, &mut opener, mode)?,
        How::Create => Sink::create(&high.archive, &mut opener, mode)?,
        How::Append | How::Update => Sink::existing(&high.archive, &mut opener, mode, len)?,
    };
    options.archive = sink.key();
    Ok(Open { options, sink, at, places: Places::new(opener), locked })
}

/// An error ends the run before its first member.
fn run_all(
    high: &High,
    creation: &Creation,
    how: How,
    session: &mut Session<'_>,
    job: &mut Job,
) -> Result<Exit, String> {
    // Before an archive that is there is emptied.
    session.ready()?;
    // The lock is given back last.
    let Open { locked: _locked, options, mut sink, at, places } = open(high, creation, how, session)?;
    let mut operands = Operands::new(&places, creation);
    // Lanes for the side that is farther away; the first operand tells how far its side is.
    let shapes = operands.look().into_iter().chain(sink.shape());
    let shape =
        shapes.fold(Shape::SERIAL, |a, b| Shape { lanes: a.lanes.max(b.lanes), window: a.window.max(b.window) });
    let is_plain = matches!(packed(creation, &high.archive, &Stop::default())?.0, Packing::Plain);
    let is_local = session.meters.list().iter().all(|meter| !meter.is_nfs);
    let shape = if is_plain && is_local { copying(shape) } else { shape };
    session.tell_mounts(places.opener().spreader());
    // This thread puts in order what lanes list, which holds them up now and then: of half a million files on two processors a forecast
    // took 0.65 s with four lanes, 0.67 s with three, 0.78 s with two.
    let shape = session.busy_shape(shape, |processors| processors + 2);
    let (crew, caught) = session.crew_for(shape, true)?;
    let (mut packing, codec) = packed(creation, &high.archive, crew.stop())?;
    if let Some(planned) = &high.manner.planned
        && !matches!(packing, Packing::Plain)
    {
        planned.note("the archive is forecast as it is before compression, in data and calls");
        packing = packing.unpacked();
    }
    job.codec = Some(codec);
    session.tell_setup(&high.archive.to_string(), &crew);
    let (console, live) = (session.console.clone(), Arc::new(Live::default()));
    let to_stdout = high.archive == ArchiveName::Stdin;
    let tell = |path: &[u8]| match (high.manner.verbose, to_stdout) {
        (0, _) => {}
        (_, true) => console.line(Shown(path)),
        (_, false) => console.print(Shown(path)),
    };
    let names = HostOwners::default();
    let start = Instant::now();
    let mut work = |output: Output<'_>, pack: Option<&dyn Pack>| {
        session
            .with_progress(&live, &crew, || create(&mut operands, output, pack, &options, &names, &crew, &live, &tell))
    };
    let (mut done, mut gone) = match packing {
        Packing::Plain => (work(sink.output(at), None), sink.gone()),
        Packing::Pieces(pack) => (work(sink.output(at), Some(&*pack)), sink.gone()),
        Packing::Stream(wrap) => {
            let gone = sink.gone();
            let mut writer = wrap.wrap(sink.into_stream()).map_err(|e| format!("{}: {}", high.archive, reason(&e)))?;
            let mut done = work(Output::Stream(&mut writer), None);
            end_stream(writer, &mut done);
            (done, gone)
        }
    };
    done.archive_error = done.archive_error.map(|error| format!("{}: {error}", high.archive));
    done.elapsed = start.elapsed();
    gone.extend(places.gone());
    gone.sort();
    let end = write::end(done.archive_bytes, creation.options.record_bytes).len() as u64;
    let exit = tell_all((high, end), session, job, &crew, done, gone)?;
    Ok(caught.signal().map_or(exit, Exit::Signal))
}

/// Lanes that only copy bytes from files of this host into a file of this host, which one at a time writes: more than there are
/// processors gain nothing and take the writer's. The Linux source on tmpfs and two processors, medians of 7 in turn with GNU tar's
/// 1.52 s: two lanes 0.85 s, three 0.92 s, four 1.09 s.
fn copying(shape: Shape) -> Shape {
    Shape { lanes: shape.lanes.min(processors().max(2)), ..shape }
}

/// Says what came of it; the archive's end has `end` bytes.
fn tell_all(
    (high, end): (&High, u64),
    session: &mut Session<'_>,
    job: &mut Job,
    crew: &Crew,
    done: Summary,
    gone: Vec<String>,
) -> Result<Exit, String> {
    job.stored = stored(&done);
    let flow = Flow { source_wait: 0.0, storage_wait: 0.0, shape: crew.shape(), held: high.manner.held, bwlimit: None };
    let (elapsed, changed, unread) = (done.elapsed, done.changed, done.unread);
    let ended = Ended {
        elapsed,
        gone,
        gone_advice: "",
        warnings: done.warnings,
        stopped: done.stopped,
        fatal: done.archive_error.filter(|_| !unread),
    };
    session.fill(crew, flow, ended);
    let console = session.console.clone();
    let clean = session.tell_failures(crew);
    if unread {
        return Ok(Exit::UNREAD);
    }
    if high.totals {
        console.line(summary::written(job.stored.archive_bytes + end, elapsed));
    }
    if let Some(planned) = &high.manner.planned {
        planned.would(summary::would_store(&job.stored));
    } else if high.manner.verbose > 0 {
        session.tell_summary(summary::stored(&job.stored, &session.report));
    }
    if !clean || (high.manner.planned.is_none() && !index::make(high, &console)?) {
        console.message("Exiting with failure status due to previous errors");
        return Ok(Exit::Failure);
    }
    Ok(if changed > 0 { Exit::Partly } else { Exit::Success })
}

/// Finds the mounts of what was named on the command line, before anything is opened or changed.
fn spread(opener: &mut Opener, high: &High, creation: &Creation) -> Result<(), String> {
    let mut dirs: Vec<(std::path::PathBuf, Option<Role>)> = Vec::new();
    if let ArchiveName::Path(path) = &high.archive {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        dirs.extend(std::fs::canonicalize(parent).ok().map(|parent| (parent, Some(Role::Destination))));
    }
    for named in Names::new(&creation.named_words()).flatten() {
        let Ok(Location::Dir(base)) = Location::parse(&named.dir) else { continue };
        let base = if base.as_os_str().is_empty() { Path::new(".") } else { &base };
        let top = places::top_of(base, &named.name, creation.dereference);
        dirs.extend(top.map(|top| (top, Some(Role::Source))));
    }
    opener.spread(dirs.iter().map(|(path, role)| (path.as_path(), *role)))
}

/// How the archive is to be packed, and the codec's name for the report.
fn packed(creation: &Creation, archive: &ArchiveName, stop: &Stop) -> Result<(Packing, String), String> {
    let codec = match &creation.packed {
        Packed::Program(command) => {
            let filter = Filter::new(command, stop);
            return Ok((Packing::Stream(Box::new(filter)), command.to_string_lossy().into_owned()));
        }
        Packed::As(codec) => *codec,
        Packed::ByName => match archive {
            ArchiveName::Stdin => Codec::Plain,
            ArchiveName::Path(path) => by_name(archive, path.as_os_str().as_encoded_bytes())?,
            ArchiveName::Nfs(url, _) => by_name(archive, &url.path)?,
        },
    };
    let packing = packing::packing(codec, creation.level)?;
    Ok((packing, format!("{codec:?}").to_lowercase()))
}

fn by_name(archive: &ArchiveName, path: &[u8]) -> Result<Codec, String> {
    let wanted = |program| {
        format!("{archive}: by its name it is for {program}, which is not carried; use -I {program}, or another name")
    };
    Codec::by_name(path).map_err(wanted)
}

/// Ends a stream that has to be ended, unless it failed already.
fn end_stream(writer: Box<dyn FinishWrite + '_>, done: &mut Summary) {
    if done.archive_error.is_some() || done.stopped.is_some() {
        return;
    }
    if let Err(error) = writer.finish() {
        done.archive_error = Some(format!("Cannot write: {}", reason(&error)));
    }
}

fn stored(done: &Summary) -> Stored {
    Stored {
        members: done.members,
        files: done.files,
        dirs: done.dirs,
        links: done.links,
        bytes: done.bytes,
        archive_bytes: done.archive_bytes,
    }
}

/// What an archive has that is to be added to.
#[derive(Debug, Default)]
struct Had {
    /// Where its members end.
    end: u64,
    /// Its bytes; 0 where it is not there.
    len: u64,
    /// There are others than zeros behind the end.
    goes_on: bool,
    /// Of each name.
    names: HashMap<Vec<u8>, Latest>,
}

impl Archived for Had {
    fn latest(&self, path: &[u8]) -> Option<Latest> {
        self.names.get(plain(path)).copied()
    }
}

/// A name without what leads out, and without slashes at its end: as it is in the archive.
fn plain(path: &[u8]) -> &[u8] {
    let start = path.iter().position(|&b| b != b'/').unwrap_or(path.len());
    let end = path.iter().rposition(|&b| b != b'/').map_or(start, |last| last + 1);
    &path[start..end.max(start)]
}

/// Reads an archive to where its members end. One that is not there is empty.
fn had(high: &High, opener: &mut Opener, keep_times: bool) -> Result<Had, String> {
    let (mut had, name) = (Had::default(), &high.archive);
    if let ArchiveName::Path(path) = name {
        match std::fs::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(had),
            Ok(meta) if !meta.is_file() => return Err(format!("{name}: Cannot be added to: it is no regular file")),
            _ => {}
        }
    }
    if let ArchiveName::Nfs(url, _) = name
        && let Found::Nothing(..) =
            opener.exports().find(url, Usage::Reads).map_err(|error| format!("{name}: {error}"))?
    {
        return Ok(had);
    }
    let opened = archive::open(name, opener, &Stop::default())?;
    if opened.codec != Codec::Plain {
        return Err(format!("{name}: Cannot update compressed archives"));
    }
    let mut archive = Archive::new(opened.input, high.reading());
    // A file that mktemp(1) made.
    if archive.source().is_some_and(|source| source.is_empty()) {
        return Ok(had);
    }
    loop {
        match archive.next() {
            // With -i all of it is read.
            Ok(None) if high.reading().ignore_zeros && !is_read(&archive, archive.position()) => {
                return Err(format!("{name}: a read of nothing before its end; nothing was added"));
            }
            Ok(None) => break,
            Ok(Some(member)) if keep_times => {
                if had.names.len() == UPDATED_MAX {
                    return Err(format!("{name}: has more than {UPDATED_MAX} members; use -r"));
                }
                let (path, mtime) = (plain(&member.path).to_vec(), member.mtime);
                let (is_dir, whole) = (member.kind == MemberKind::Dir, mtime.nanos == 0);
                let latest = Latest { mtime, is_exact: archive.has_records() || !whole, is_dir };
                let entry = had.names.entry(path).or_insert(latest);
                let of = |it: &Latest| (it.mtime, it.is_exact);
                let (mtime, is_exact) = of(entry).max(of(&latest));
                *entry = Latest { mtime, is_exact, is_dir };
            }
            // An end is what is written now.
            Ok(Some(_)) => {}
            Err(ArchiveError::NoEnd { .. }) if is_read(&archive, archive.members_end()) => {}
            // Behind what cannot be read, members might be written over.
            Err(error) => return Err(format!("{name}: {error}; nothing was added")),
        }
    }
    had.end = archive.members_end();
    if let Some(source) = archive.source() {
        had.len = source.len();
        had.goes_on = goes_on(&*source, had.end).map_err(|error| format!("{name}: {}", reason(&error)))?;
    }
    Ok(had)
}

/// Was the archive, of which `read` bytes were passed, read as far as it goes? A read of nothing before that is no end.
fn is_read(archive: &Archive, read: u64) -> bool {
    archive.source().is_none_or(|source| read >= source.len())
}

/// Bytes behind an archive's end that are looked at: more than records have.
const BEHIND_MAX: usize = 1 << 20;

/// Is there something behind the end, as in archives that were put one behind the other? Not asked where there is a record at most.
fn goes_on(source: &dyn ReadAt, end: u64) -> io::Result<bool> {
    if source.len().saturating_sub(end) <= RECORD_BYTES {
        return Ok(false);
    }
    let (mut behind, mut read) = (vec![0; BEHIND_MAX], 0);
    while read < behind.len() {
        let at = end + read as u64;
        match source.read_at(at, &mut behind[read..])? {
            0 if at < source.len() => return Err(io::ErrorKind::UnexpectedEof.into()),
            0 => break,
            more => read += more,
        }
    }
    Ok(behind[..read].iter().any(|byte| *byte != 0))
}

/// The operands of the command line and its lists, found one after the other.
struct Operands<'a> {
    places: &'a Arc<Places>,
    names: Names,
    creation: &'a Creation,
    /// The first one, looked at before the run.
    first: Option<Result<Operand, Failure>>,
    /// The directories of `-C` that are none, which was told of each.
    lost: HashSet<OsString>,
}

impl<'a> Operands<'a> {
    fn new(places: &'a Arc<Places>, creation: &'a Creation) -> Operands<'a> {
        let names = Names::new(&creation.words);
        Operands { places, names, creation, first: None, lost: HashSet::new() }
    }

    /// How the first operand's side likes to be driven.
    fn look(&mut self) -> Option<Shape> {
        self.first = self.find();
        let operand = self.first.as_ref()?.as_ref().ok()?;
        Some(operand.volume.limits().shape)
    }

    /// The next operand. A directory that is none is told once, whatever the number of names in it.
    fn find(&mut self) -> Option<Result<Operand, Failure>> {
        loop {
            let named = match self.names.next()? {
                Ok(named) => named,
                Err(error) => return Some(Err(Failure::refused(b"", error))),
            };
            let is_told = self.lost.contains(&named.dir);
            if is_told && !named.is_whole() {
                continue;
            }
            match self.open(&named) {
                Err(Lost::Base(_)) if is_told => {}
                Err(Lost::Base(failure)) => {
                    if self.lost.len() < LOST_MAX {
                        self.lost.insert(named.dir);
                    }
                    return Some(Err(failure));
                }
                // As with GNU tar, what is left out by its name need not be there.
                Err(Lost::Operand(_)) if self.is_left_out(&named) => {}
                Err(Lost::Operand(failure)) => return Some(Err(failure)),
                Ok(operand) => return Some(Ok(operand)),
            }
        }
    }

    /// What is left out there besides.
    fn exclude(&self, named: &Named) -> Option<&Arc<Selection>> {
        let holds = |(from, _): &&(usize, Arc<Selection>)| *from <= named.before;
        self.creation.excludes_behind.iter().rfind(holds).map(|(_, exclude)| exclude)
    }

    fn is_left_out(&self, named: &Named) -> bool {
        let name = self.places.called(&named.name);
        let lets_in = |exclude: &Selection| exclude.lets_in(&name);
        !(lets_in(&self.creation.options.exclude) && self.exclude(named).is_none_or(|own| lets_in(own)))
    }

    fn open(&self, named: &Named) -> Result<Operand, Lost> {
        let Named { dir, name, recursion, .. } = named;
        let base = Location::parse(dir);
        let base = base.map_err(|error| Lost::Base(Failure::refused(dir.as_encoded_bytes(), error.to_string())))?;
        let operand = self.places.operand(&base, name, (*recursion, self.creation.dereference))?;
        Ok(Operand { exclude: self.exclude(named).cloned().unwrap_or_default(), ..operand })
    }
}

impl Iterator for Operands<'_> {
    type Item = Result<Operand, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        self.first.take().or_else(|| self.find())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::{Input, Member, MemberKind};

    /// Bytes that are said to be more than can be read.
    struct Short(Vec<u8>, u64);

    impl ReadAt for Short {
        fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
            self.0.read_at(offset, buf)
        }

        fn len(&self) -> u64 {
            self.1
        }
    }

    #[test]
    fn a_read_of_nothing_is_no_end_of_what_goes_on() {
        let mut member = Vec::new();
        let of = Member { path: b"f".to_vec(), kind: MemberKind::File, mode: 0o644, ..Member::default() };
        crate::archive::write::header(&of, crate::archive::write::Format::Gnu, false, &mut member).unwrap();
        for (len, whole) in [(512, true), (513, false), (1 << 20, false)] {
            let mut archive = Archive::new(Input::Seekable(Arc::new(Short(member.clone(), len))), Default::default());
            assert!(archive.next().unwrap().is_some());
            assert!(matches!(archive.next(), Err(ArchiveError::NoEnd { .. })));
            assert_eq!(is_read(&archive, archive.members_end()), whole, "{len}");
        }
        let behind = |len| goes_on(&Short(vec![0; 512], len), 512).map_err(|error| error.kind());
        assert_eq!((behind(512), behind(1 << 20)), (Ok(false), Err(io::ErrorKind::UnexpectedEof)));
    }

    #[test]
    fn names_are_known_without_slashes_around_them() {
        for (path, is) in [("a/b/", "a/b"), ("/a", "a"), ("/", ""), ("a", "a"), ("", "")] {
            assert_eq!(plain(path.as_bytes()), is.as_bytes(), "{path}");
        }
    }
}
