//! What a run did and cost, as one JSON document: what is common to all commands, and what the job adds to it. The document
//! is versioned by `schema`; a field may be added under the same number, not renamed or removed.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::base::name::Shown;
use crate::base::price::Ceiling;
use crate::base::{Cause, Failure};
use crate::storage::Shape;

use super::bound::Bound;
use super::console::reason;
use super::kernel::KernelReport;
use super::meter::TargetReport;

/// One object's failure.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct FailureReport {
    pub path: String,
    /// The procedure that failed; none when parfs refused the object.
    pub call: Option<&'static str>,
    pub cause: String,
}

impl From<&Failure> for FailureReport {
    fn from(failure: &Failure) -> FailureReport {
        let (call, cause) = match &failure.cause {
            Cause::Call(proc, status) => (Some(proc.name()), status.to_string()),
            Cause::Refused(cause) => (None, cause.clone()),
        };
        FailureReport { path: Shown(&failure.path).to_string(), call, cause }
    }
}

/// The lanes and their windows.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct ShapeReport {
    pub lanes: usize,
    pub window: usize,
}

impl From<Shape> for ShapeReport {
    fn from(shape: Shape) -> ShapeReport {
        ShapeReport { lanes: shape.lanes, window: shape.window }
    }
}

/// One run of any command.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)] // the names say it
pub struct RunReport {
    pub schema: u32,
    pub program: &'static str,
    pub version: &'static str,
    pub exit_status: u8,
    pub seconds: f64,
    /// Processor time of the whole process, user and system.
    pub cpu_seconds: f64,
    /// The most memory resident at once; none where /proc does not say.
    pub memory_peak_bytes: Option<u64>,
    pub shape: Option<ShapeReport>,
    pub ceiling_iops: f64,
    pub ceiling_bytes_per_s: f64,
    pub targets: Vec<TargetReport>,
    /// What the kernel sent, by mount; none where no kernel's NFSv3 mount was used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kernel: Vec<KernelReport>,
    pub bound: Option<Bound>,
    pub warnings: Vec<String>,
    /// All failures, also those beyond the list.
    pub failures: u64,
    pub failed: Vec<FailureReport>,
    /// What ended the run before its end, if anything did.
    pub fatal: Option<String>,
    /// What was left undone because the run was stopped.
    pub stopped: Option<String>,
}

impl RunReport {
    /// The report of a run of `program` that has not begun.
    pub fn new(program: &'static str) -> RunReport {
        let ceiling = Ceiling::oci();
        RunReport {
            schema: 1,
            program,
            version: env!("CARGO_PKG_VERSION"),
            exit_status: 0,
            seconds: 0.0,
            cpu_seconds: 0.0,
            memory_peak_bytes: None,
            shape: None,
            ceiling_iops: ceiling.iops,
            ceiling_bytes_per_s: ceiling.bytes_per_s,
            targets: Vec::new(),
            kernel: Vec::new(),
            bound: None,
            warnings: Vec::new(),
            failures: 0,
            failed: Vec::new(),
            fatal: None,
            stopped: None,
        }
    }
}

/// The document of a run: the job's own fields beside those of every run.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct Document<'a, J: Serialize> {
    #[serde(flatten)]
    pub run: &'a RunReport,
    #[serde(flatten)]
    pub job: &'a J,
}

/// Writes `report` to `path` as JSON, as `write_whole` does.
pub fn write_json(path: &Path, mode: u32, report: &impl Serialize) -> io::Result<()> {
    write_whole(path, mode, |file| {
        serde_json::to_writer_pretty(&mut *file, report)?;
        file.write_all(b"\n")
    })
}

/// Before a run: its report can be made at `path`, and the one of an earlier run is emptied.
pub fn make_way(path: &Path, mode: u32, kind: (&str, &[u8])) -> Result<(), String> {
    judge(path, mode, kind)?;
    empty(path)
}

/// Can a report be made at `path`? A file that does not begin as one is not taken for one: an error that names the `option`, and it stays.
pub fn judge(path: &Path, mode: u32, (option, start): (&str, &[u8])) -> Result<(), String> {
    let path = &resolved(path);
    let cannot = |error: io::Error| cannot(path, &error);
    match fs::metadata(path) {
        Ok(there) if there.is_dir() => return Err(format!("{}: Cannot write: Is a directory", path.display())),
        Ok(there) if !there.is_file() => return Ok(()),
        Ok(there) if there.len() > 0 && !begins_as(path, start).map_err(cannot)? => {
            return Err(format!("{}: is there and is no report; give {option} another name", path.display()));
        }
        Ok(_) | Err(_) => {}
    }
    let beside = beside(path);
    fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&beside).map_err(cannot)?;
    fs::remove_file(&beside).map_err(cannot)
}

/// Empties what was judged, so that a report is of a run that came to its end; once nothing else keeps the run from its beginning.
pub fn empty(path: &Path) -> Result<(), String> {
    let path = &resolved(path);
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return Ok(());
    }
    match fs::OpenOptions::new().write(true).truncate(true).open(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(cannot(path, &error)),
        _ => Ok(()),
    }
}

fn cannot(path: &Path, error: &io::Error) -> String {
    format!("{}: Cannot write: {}", path.display(), reason(error))
}

/// The option for a run's report, and how one begins.
pub const OF_RUN: (&str, &[u8]) = ("--report", b"{\n  \"schema\":");

/// True when the file's first bytes are these.
pub fn begins_as(path: &Path, start: &[u8]) -> io::Result<bool> {
    let mut first = vec![0; start.len()];
    match fs::File::open(path)?.read_exact(&mut first) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        read => read.map(|()| first == start),
    }
}

/// Through symbolic links, for its user named it.
pub fn resolved(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    // Linux follows no more of them.
    for _ in 0..40 {
        // What it leads to may have no path: a pipe in /proc.
        if fs::metadata(&path).is_ok() {
            return fs::canonicalize(&path).unwrap_or(path);
        }
        let Ok(next) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(next);
    }
    path
}

/// Where a file is until it is whole.
fn beside(path: &Path) -> PathBuf {
    let mut beside = path.to_path_buf().into_os_string();
    beside.push(format!(".{}.tmp", std::process::id()));
    PathBuf::from(beside)
}

/// Opens what is no file. A named pipe that nobody reads is an error: the run, which is over, would wait for a reader.
fn open_for_reader(path: &Path) -> io::Result<fs::File> {
    let is_fifo = fs::metadata(path)?.file_type().is_fifo();
    let there = fs::OpenOptions::new().write(true).custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32).open(path);
    let there = there.map_err(|error| match rustix::io::Errno::from_io_error(&error) {
        Some(rustix::io::Errno::NXIO) if is_fifo => io::Error::other("nobody reads it"),
        _ => error,
    })?;
    let flags = rustix::fs::fcntl_getfl(&there)?;
    rustix::fs::fcntl_setfl(&there, flags - rustix::fs::OFlags::NONBLOCK)?;
    Ok(there)
}

/// Writes `path`, a file of `mode`, with what `write` writes: a temporary one beside it, which then takes its name, so that a
/// reader never sees half of it. What is there and no regular file (`/dev/null`, a pipe) is written to, never replaced.
pub fn write_whole(path: &Path, mode: u32, write: impl Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let path = &resolved(path);
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        let mut there = io::BufWriter::new(open_for_reader(path)?);
        write(&mut there)?;
        return there.flush();
    }
    let beside = beside(path);
    let replace = || {
        let file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&beside)?;
        let mut file = io::BufWriter::new(file);
        write(&mut file)?;
        file.flush()?;
        file.get_ref().sync_all()?;
        fs::rename(&beside, path)
    };
    replace().inspect_err(|_| {
        // The error that matters is the first; what is left beside carries its reason in its name.
        let _left = fs::remove_file(&beside);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_without_a_reader_does_not_hold_the_run() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe");
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::from_bits_truncate(0o600));
        rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, 0).unwrap();
        assert_eq!(write_json(&path, 0o600, &[1]).unwrap_err().to_string(), "nobody reads it");
        let reader = std::thread::spawn({
            let path = path.clone();
            move || fs::read_to_string(path).unwrap()
        });
        // Until the reader is there.
        while write_json(&path, 0o600, &[1]).is_err() {
            std::thread::yield_now();
        }
        assert_eq!(reader.join().unwrap().trim_end(), "[\n  1\n]");
    }

    #[test]
    fn a_report_replaces_the_last_one_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.json");
        fs::write(&path, "old").unwrap();
        write_json(&path, 0o600, &[1, 2]).unwrap();
        let read: Vec<u32> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(read, [1, 2]);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(write_json(&dir.path().join("no/run.json"), 0o600, &[1]).is_err());
    }

    #[test]
    fn only_a_report_makes_way_for_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.json");
        let left = || make_way(&path, 0o600, OF_RUN).map(|()| fs::metadata(&path).map_or(0, |there| there.len()));
        assert_eq!((left(), fs::read_dir(dir.path()).unwrap().count()), (Ok(0), 0));
        write_json(&path, 0o600, &RunReport::new("partar")).unwrap();
        assert_eq!(left(), Ok(0), "an earlier run's would be taken for this one's");
        assert_eq!((left(), fs::read_dir(dir.path()).unwrap().count()), (Ok(0), 1), "an empty file is taken");
        for other in ["{", "an archive", "{\"schema\": 1}, and more"] {
            fs::write(&path, other).unwrap();
            assert!(left().unwrap_err().ends_with("is there and is no report; give --report another name"));
            assert_eq!(fs::read_to_string(&path).unwrap(), other);
        }
        assert!(make_way(dir.path(), 0o600, OF_RUN).unwrap_err().ends_with("Is a directory"));
        assert!(make_way(&dir.path().join("no/run.json"), 0o600, OF_RUN).is_err());
        assert_eq!(make_way(Path::new("/dev/null"), 0o600, OF_RUN), Ok(()));
    }
}
