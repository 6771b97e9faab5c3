//! What the meaning of a command line depends on besides its words, and what every run has whatever its job.

use std::io::IsTerminal;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::base::hash::mix;
use crate::base::price::Ceiling;
use crate::storage::Shape;

use super::Exit;
use super::flags::{ParallelFlags, ProgressForm, TellFlags};
use super::planned::Planned;
use super::spread::Spread;
use super::watch::Progress;

/// What the meaning of options depends on.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // the names say it
pub struct Host {
    pub uid: u32,
    pub umask: u32,
    pub stdin_is_terminal: bool,
    pub stdout_is_terminal: bool,
    pub stderr_is_terminal: bool,
    /// What tells its process ids from other hosts' and other namespaces'.
    pub pids: Option<u64>,
}

/// Open files that are of use: some thousand for each of eight mounts.
const OPEN_FILES_MAX: u64 = 16 << 10;

impl Host {
    /// This process's. Sets its umask to 0, so that every mode is exactly what it is asked to be, and lets it have as many open
    /// files as it may: each of several mounts keeps some hundred.
    pub fn here() -> Host {
        allow_open_files();
        Host {
            uid: rustix::process::geteuid().as_raw(),
            umask: rustix::process::umask(Mode::empty()).as_raw_mode(),
            stdin_is_terminal: std::io::stdin().is_terminal(),
            stdout_is_terminal: std::io::stdout().is_terminal(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
            pids: pids(),
        }
    }
}

/// The host, since it was started, and the namespace of its process ids; none where the kernel does not say.
fn pids() -> Option<u64> {
    let boot = std::fs::read("/proc/sys/kernel/random/boot_id").ok()?;
    let space = std::fs::read_link("/proc/self/ns/pid").ok()?;
    let bytes = boot.iter().chain(space.as_os_str().as_bytes());
    Some(bytes.fold(0, |hash, byte| mix(hash ^ u64::from(*byte))))
}

/// Lets this process have as many open files as it may and as are of use, and makes room for them; before it has other threads.
pub fn allow_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(OPEN_FILES_MAX, |most| most.min(OPEN_FILES_MAX));
    let may = match limit.current {
        Some(current) if current < wanted => {
            let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit });
            // Without it fewer stay open.
            raised.map_or(current, |()| wanted)
        }
        _ => wanted,
    };
    make_room(may);
}

/// Makes the kernel's table of this process's open files large enough for `files` at once. One that grows beside other threads waits for
/// all processors to have done with the old one (expand_fdtable in Linux's fs/file.c), some 10 ms each time it doubles, and whoever opens or
/// closes a file waits with it: of a copy of 90,000 files on tmpfs that took 60 ms of 700.
fn make_room(files: u64) {
    let highest = i32::try_from(files.saturating_sub(1)).unwrap_or(i32::MAX);
    // Where it cannot be had the table grows when it must.
    let _ =
        open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).and_then(|root| fcntl_dupfd_cloexec(root, highest));
}

/// What the first thread mostly has.
const STACK_BYTES: usize = 8 << 20;

/// Runs a job in a thread of its own, and waits for it. A signal is the first thread's where that does not block it, and its handler runs there
/// alone: not while the thread waits in the kernel for a mount whose server does not answer. So the first one waits where signals
/// interrupt it. After room was made for open files.
pub fn beside(run: impl FnOnce() -> Exit + Send) -> Exit {
    let run = Mutex::new(Some(run));
    let take = || run.lock().unwrap_or_else(PoisonError::into_inner).take().map(|run| run());
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("main".into()).stack_size(STACK_BYTES);
        let ended = match builder.spawn_scoped(scope, take) {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // No more threads are to be had, as the run will say.
            Err(_) => take(),
        };
        ended.expect("it is taken once, by the thread or without it")
    })
}

/// This process's umask; before `Host::here`, which takes it away.
pub fn umask() -> u32 {
    let umask = rustix::process::umask(Mode::empty());
    rustix::process::umask(umask);
    umask.as_raw_mode()
}

/// The mode of a new file that anybody may read and write whom this process's umask lets; before `Host::here`, which takes that away.
pub fn file_mode() -> u32 {
    0o666 & !umask()
}

/// Why a command line has no meaning: a usage error, or something on the host.
#[derive(Debug, PartialEq, Eq)]
pub enum Unclear {
    /// The command line contradicts itself or leaves something out.
    Usage(String),
    /// A file could not be read.
    Fatal(String),
}

/// How a run is to be done and told.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // the names say it
pub struct Manner {
    pub lanes: Option<usize>,
    pub window: Option<usize>,
    /// A ceiling that each target is held under.
    pub held: Option<Ceiling>,
    pub verbose: u8,
    pub report: Option<PathBuf>,
    /// The mode of new reports.
    pub report_mode: u32,
    pub progress: Progress,
    pub log: Option<PathBuf>,
    /// Where Prometheus is answered.
    pub metrics: Option<String>,
    pub spread: Spread,
    /// The run is a rehearsal for a forecast.
    pub planned: Option<Planned>,
}

impl Manner {
    /// What these options mean on `host`. Names on the terminal hide the progress line.
    pub fn new(
        parallel: &ParallelFlags,
        bwlimit: Option<u64>,
        tell: &TellFlags,
        verbose: u8,
        host: &Host,
    ) -> Result<Manner, Unclear> {
        let names_hide_progress = verbose > 0 && host.stdout_is_terminal;
        Ok(Manner {
            lanes: parallel.parallel,
            window: parallel.window,
            held: held(parallel.max_iops, bwlimit),
            verbose,
            report: tell.report.clone().map(PathBuf::from),
            report_mode: 0o666 & !host.umask,
            progress: match tell.progress {
                Some(ProgressForm::Json) => Progress::Json,
                Some(ProgressForm::Line) => Progress::Line,
                None if host.stderr_is_terminal && !tell.no_progress && !names_hide_progress => Progress::Line,
                None => Progress::Off,
            },
            log: tell.log.clone().map(PathBuf::from),
            metrics: tell.metrics.clone(),
            spread: Spread::new(parallel).map_err(Unclear::Usage)?,
            planned: None,
        })
    }

    /// The shape asked for; what was not asked for is as `suggested`.
    pub fn shape(&self, suggested: Shape) -> Shape {
        Shape { lanes: self.lanes.unwrap_or(suggested.lanes), window: self.window.unwrap_or(suggested.window) }
    }
}

fn held(iops: Option<u64>, bytes_per_s: Option<u64>) -> Option<Ceiling> {
    if iops.is_none() && bytes_per_s.is_none() {
        return None;
    }
    // What is infinite does not bind.
    let or_infinite = |limit: Option<u64>| limit.map_or(f64::INFINITY, |limit| limit as f64);
    Some(Ceiling { iops: or_infinite(iops), bytes_per_s: or_infinite(bytes_per_s), latency: Duration::ZERO })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_files_have_room() {
        allow_open_files();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("FDSize:")).unwrap();
        let room: u64 = line.trim().parse().unwrap();
        let may = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        assert!(room >= may.min(OPEN_FILES_MAX), "{room} of {may}");
    }
}
