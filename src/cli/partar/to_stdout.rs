//! `-xO`: the files' data on standard output, one file after the other in the archive's order. Names go to stderr.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use serde::Serialize;

use crate::archive::{Archive, ArchiveError, Member, MemberKind};
use crate::base::name::Shown;
use crate::base::{Failure, Time};
use crate::cli::Exit;
use crate::cli::bound::Flow;
use crate::cli::console::{closed, reason};
use crate::cli::session::Session;
use crate::jobs::Live;
use crate::jobs::members::{Members, Names};
use crate::jobs::select::Selection;
use crate::jobs::transform::Transform;
use crate::storage::Shape;

use super::high::High;
use super::{index, reading};

/// Bytes read and written at once.
const CHUNK_BYTES: usize = 256 << 10;

/// Which members.
#[derive(Debug)]
pub struct Options {
    /// By name.
    pub select: Selection,
    /// Only members that are not older.
    pub newer: Option<Time>,
    /// What nothing is left of is passed over, as it is not extracted either.
    pub transform: Option<Transform>,
    #[allow(missing_docs)] // as above
    pub strip_components: usize,
}

impl Options {
    fn leaves(&self, path: &[u8]) -> bool {
        let changed = self.transform.as_ref().map(|transform| transform.apply_to_path(path));
        let parts = changed.as_deref().unwrap_or(path).split(|byte| *byte == b'/').filter(|part| !part.is_empty());
        self.strip_components == 0 || parts.count() > self.strip_components
    }
}

#[derive(Serialize)]
struct Job {
    archive: String,
    codec: Option<String>,
    written: Written,
}

#[derive(Clone, Copy, Default, Serialize)]
struct Written {
    members: u64,
    files: u64,
    bytes: u64,
}

/// Why writing ended early.
enum Why {
    Archive(ArchiveError),
    Stdout(io::Error),
}

/// Writes, and says how it ended.
pub fn run(high: &High, options: &Options, mut session: Session<'_>) -> Exit {
    let mut job = Job { archive: high.archive.to_string(), codec: None, written: Written::default() };
    let exit =
        write_all(high, options, &mut session, &mut job).unwrap_or_else(|fatal| reading::fatal(&mut session, fatal));
    session.conclude(&job, exit, Exit::Failure)
}

fn write_all(high: &High, options: &Options, session: &mut Session<'_>, job: &mut Job) -> Result<Exit, String> {
    let console = session.console.clone();
    let (crew, caught) = session.crew(Shape { lanes: 1, window: 1 })?;
    let mut opener = session.opener();
    let opened = reading::open(high, session, &mut opener, &crew, &mut job.codec)?;
    let mut archive = Archive::new(opened.input, high.reading());
    let keeper = index::prepare(high, &mut archive, &options.select, &console)?;
    let live = Arc::new(Live::default());
    let start = Instant::now();
    let mut out = io::stdout().lock();
    let mut written = Written::default();
    let mut lost = None;
    let read = session.with_progress(&live, &crew, || {
        let mut members = Members::new(&mut archive, &options.select, options.newer, Names::Extracted, (&crew, &live));
        let mut member = Member::default();
        while members.next(&mut member) {
            if !options.leaves(&member.path) {
                continue;
            }
            if high.manner.verbose > 0 {
                console.line(Shown(&member.path));
            }
            // What has no data of its own writes nothing, as in GNU tar.
            if member.kind != MemberKind::File {
                continue;
            }
            match copy(&mut members, &member, &mut out) {
                Ok(()) => {
                    written.files += 1;
                    written.bytes += member.size;
                    live.bytes.fetch_add(member.size, Ordering::Relaxed);
                    live.objects.fetch_add(1, Ordering::Relaxed);
                }
                Err(Why::Archive(error)) => {
                    crew.report().add(Failure::refused(&member.path, format!("incomplete: {error}")));
                    members.fail(error);
                }
                Err(Why::Stdout(error)) => {
                    lost = Some(error);
                    break;
                }
            }
        }
        match &lost {
            None => members.end(),
            Some(_) => Default::default(),
        }
    });
    let flushed = if lost.is_none() { out.flush().and_then(|()| closed(&out)).err() } else { lost };
    let unread = flushed.as_ref().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
    let lost = flushed.filter(|_| !unread);
    let elapsed = start.elapsed();
    written.members = read.members;
    job.written = written;
    let stopped = read.stopped.then(|| format!("stopped: {} files were written", written.files));
    let flow = Flow { source_wait: 1.0, storage_wait: 0.0, shape: crew.shape(), held: high.manner.held, bwlimit: None };
    let mut ended = reading::of_read(read, elapsed, stopped);
    ended.fatal = ended.fatal.or(lost.map(|error| format!("stdout: {}", reason(&error))));
    reading::ended(session, &crew, flow, ended);
    let clean = session.tell_failures(&crew);
    let clean = keeper.is_none_or(|keeper| keeper.finish(&archive, clean && !unread, &console)) && clean;
    if unread {
        return Ok(Exit::UNREAD);
    }
    reading::totals(high, &console, &archive, elapsed);
    Ok(reading::exit(&console, &caught, clean && !archive.is_flawed(), false))
}

/// Writes a file's data, zeros for its holes.
fn copy(members: &mut Members<'_>, member: &Member, out: &mut impl Write) -> Result<(), Why> {
    let whole = [crate::archive::Segment { offset: 0, len: member.stored }];
    let mut buf = vec![0; CHUNK_BYTES];
    let mut at = 0;
    for segment in member.segments.as_deref().unwrap_or(&whole) {
        zeros(segment.offset - at, &mut buf, out)?;
        let mut left = segment.len;
        while left > 0 {
            let want = buf.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let got = members.archive().read(&mut buf[..want]).map_err(Why::Archive)?;
            if got == 0 {
                let offset = members.archive().position();
                return Err(Why::Archive(ArchiveError::Truncated { offset, member: None }));
            }
            out.write_all(&buf[..got]).map_err(Why::Stdout)?;
            left -= got as u64;
        }
        at = segment.offset + segment.len;
    }
    zeros(member.size - at, &mut buf, out)
}

fn zeros(mut count: u64, buf: &mut [u8], out: &mut impl Write) -> Result<(), Why> {
    buf.fill(0);
    while count > 0 {
        let n = buf.len().min(usize::try_from(count).unwrap_or(usize::MAX));
        out.write_all(&buf[..n]).map_err(Why::Stdout)?;
        count -= n as u64;
    }
    Ok(())
}
