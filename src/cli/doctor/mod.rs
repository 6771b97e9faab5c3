//! `parfs doctor`: reads the host and says what holds it back, each finding with its reason, its figure, and what to do.
//!
//! It promises: nothing is changed, on the host or on a server; a file or tool that is missing is said and the rest goes on. It asks no
//! server anything, unless paths are named: then their directories are listed.

mod blocks;
mod counted;
mod dirs;
mod disks;
mod exports;
mod finding;
mod fstab;
mod machine;
mod mounts;
mod nfs;
mod options;
mod places;
mod root;
mod show;
#[cfg(test)]
mod tests;
mod transport;
mod watch;
mod words;

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use clap::{Command, CommandFactory, Parser};

use crate::base::units::parse_duration;
use crate::crew::Stop;
use crate::mounts::local::peers::mountinfo::Table;

use super::Exit;
use super::console::{Console, reason};
use super::{flags, signals};
use crate::base::name::Shown;

use finding::{Diagnosis, Subject};
use machine::Lanes;
use nfs::Clients;
use root::Root;

const MOUNTINFO: &str = "/proc/self/mountinfo";

/// Lanes that are judged where none are chosen: those of one kernel mount.
const LANES: u64 = 64;

/// Levels of directories that are gone down to at most.
const DEPTH_MAX: i64 = 1_000;

/// The longest watch: a day.
const WATCH_S_MAX: f64 = 86_400.0;

const AFTER_HELP: &str = "\
Without PATHs all mounts of NFS and all disks are looked at; with PATHs the mounts and disks that
they are on, and their directories: over 10,000 entries, and .nfs files with who has them open. At
most 1,000,000 entries below each PATH are counted.

Findings are faults (data or most of the speed is at stake), warnings (speed or IOPS are lost) and
notes (a bound, or what could be better for some work). doctor changes nothing; the commands that it
prints are for you to run. IOPS are those of OCI File Storage's price list.

With --root DIR the files are DIR/proc/..., DIR/sys/... and DIR/etc/fstab, and what tools printed is
DIR/tools/NAME.

Exit status: 0 nothing is wrong; 1 there is a fault or a warning; 2 a usage error, or a PATH that
cannot be looked at; 130, 143 after a signal.

Examples:
  parfs doctor
  parfs doctor --watch 10 /mnt/fss
  parfs doctor --json | jq '.subjects[].findings[] | select(.severity != \"note\")'";

/// The command line as it was typed.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "parfs doctor",
    version,
    about = "Reads this host's NFS mounts, network, disks, processors and memory, and says what holds them back",
    after_help = AFTER_HELP,
    max_term_width = 110
)]
struct Low {
    /// Look at what these are on, and into these directories
    #[arg(value_name = "PATH")]
    paths: Vec<OsString>,
    /// Levels of directories below each PATH that are listed; 0 for the PATH alone [default: 1]
    #[arg(long, value_name = "N", requires = "paths", value_parser = clap::value_parser!(i64).range(0..=DEPTH_MAX))]
    depth: Option<i64>,
    /// Read the mounts' counters for so long, and say how near each target is to its ceilings
    #[arg(long, value_name = "SECONDS", value_parser = watched)]
    watch: Option<Duration>,
    /// Judge processors and memory for N lanes [default: 64]
    #[arg(short = 'P', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    parallel: Option<u64>,
    /// How far targets are whose answers nobody has counted
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = flags::latency)]
    latency: Duration,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
    /// Read the files of a host below DIR
    #[arg(long, value_name = "DIR", default_value = "/")]
    root: PathBuf,
}

fn watched(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    let is_well = (1.0..=WATCH_S_MAX).contains(&time.as_secs_f64());
    if is_well { Ok(time) } else { Err("from 1 second to a day".into()) }
}

/// The parser.
pub fn command() -> Command {
    Low::command()
}

/// Runs the doctor with what follows `parfs doctor`.
pub fn run(args: Vec<OsString>) -> Exit {
    let console = Console::new("parfs doctor");
    let low = match Low::try_parse_from(std::iter::once("parfs doctor".into()).chain(args)) {
        Ok(low) => low,
        Err(error) => return super::parse_ended(&console, &error),
    };
    match diagnose(&low, &console) {
        Ok((diagnosis, caught)) => {
            print(&low, &diagnosis, &console);
            match caught.signal() {
                Some(signal) => Exit::Signal(signal),
                None if console.has_failed() || diagnosis.exit_status > 1 => Exit::Failure,
                None if diagnosis.exit_status > 0 => Exit::Partly,
                None => Exit::Success,
            }
        }
        Err(text) => {
            console.message(text);
            Exit::Failure
        }
    }
}

fn print(low: &Low, diagnosis: &Diagnosis, console: &Console) {
    if low.json {
        match serde_json::to_string_pretty(diagnosis) {
            Ok(text) => console.print(text),
            Err(error) => console.message(error),
        }
    } else {
        show::lines(diagnosis).into_iter().for_each(|line| console.print(line));
    }
    console.flush();
}

/// A PATH from the root on, without `.` and `..`. Nothing is asked for on the way: a mount may hang.
fn from_root(path: &Path, is_live: bool) -> Result<PathBuf, String> {
    let full =
        if is_live { std::path::absolute(path).map_err(|error| reason(&error))? } else { Path::new("/").join(path) };
    let mut found = PathBuf::new();
    for part in full.components() {
        match part {
            Component::ParentDir => drop(found.pop()),
            Component::CurDir => {}
            part => found.push(part),
        }
    }
    Ok(found)
}

/// The real place of a path on this host, so that its mount is found through symbolic links too. Asked on a thread that nobody waits
/// for; of a mount that hangs the path is taken as it is.
fn resolved(path: &Path) -> Result<PathBuf, String> {
    const WITHIN: Duration = Duration::from_secs(5);
    let (send, receive) = std::sync::mpsc::channel();
    let asked = path.to_path_buf();
    let started = std::thread::Builder::new().name("paths".into()).spawn(move || {
        // The receiver may have given up waiting.
        drop(send.send(std::fs::canonicalize(asked)));
    });
    drop(started);
    match receive.recv_timeout(WITHIN) {
        Ok(Ok(real)) => Ok(real),
        Ok(Err(error)) => Err(reason(&error)),
        Err(_) => Ok(path.to_path_buf()),
    }
}

fn paths(low: &Low, root: &Root) -> Result<Vec<PathBuf>, String> {
    let one = |typed: &OsString| {
        let at = || Shown(typed.as_encoded_bytes());
        let path = from_root(Path::new(typed), root.is_live()).map_err(|why| format!("{}: {why}", at()))?;
        let advice = "name a file or directory that is there";
        if root.is_live() {
            return resolved(&path).map_err(|why| format!("{}: Cannot be looked at: {why}; {advice}", at()));
        }
        match root.path(&path).symlink_metadata() {
            Ok(_) => Ok(path),
            Err(error) => Err(format!("{}: Cannot be looked at: {}; {advice} below --root", at(), reason(&error))),
        }
    };
    low.paths.iter().map(one).collect()
}

fn diagnose(low: &Low, console: &Console) -> Result<(Diagnosis, signals::Caught), String> {
    if !low.root.is_dir() {
        let root = low.root.as_os_str().as_encoded_bytes();
        return Err(format!("--root {}: No directory; name one with proc, sys and etc in it", Shown(root)));
    }
    let root = Root::new(&low.root);
    let paths = paths(low, &root)?;
    let mut caught = signals::Caught::default();
    let text = root.read(MOUNTINFO, "the mounts");
    if text.as_ref().is_some_and(|text| !Table::is_whole(text)) {
        root.miss(MOUNTINFO, "Not all of it is mounts", "the mounts that it does not name");
    }
    let table = Table::parse(&text.unwrap_or_default());
    let mut clients = Clients::read(&root, &table);
    if !paths.is_empty() {
        clients.keep(&table, &paths);
    }
    let mut subjects = mounts(&root, &clients, low.latency);
    subjects.extend(exports::look(&clients, low.latency));
    if let Some(time) = low.watch {
        let stop = Stop::default();
        caught = signals::watch(stop.clone(), |_| {}).map_err(|error| reason(&error))?;
        match clients.all.is_empty() {
            true => root.miss("--watch", "No mount of NFS", "how near targets are to their ceilings"),
            false => {
                let begun = || console.line(format_args!("Watching {} ...", clients.targets().join(", ")));
                subjects.extend(watch::look(&root, &clients, time, &stop, begun));
            }
        }
    }
    let depth = low.depth.map_or(1, |depth| u32::try_from(depth).unwrap_or(0));
    let directory = |path: &PathBuf| {
        let on = table.holding(path);
        let nfs = on.filter(|on| matches!(&*on.fs, "nfs" | "nfs4"));
        let mut subject = dirs::look(&root, path, depth, nfs.map(|on| on.point.as_path()))?;
        // Round trips and names of an NFS client are no matter of a disk.
        if on.is_some() && nfs.is_none() {
            subject.findings.retain(|finding| !dirs::OF_NFS.contains(&finding.check));
        }
        Some(subject)
    };
    let directories: Vec<_> = paths.iter().filter_map(directory).collect();
    let is_all = directories.len() == paths.len();
    subjects.extend(directories);
    subjects.push(transport::look(&root, &clients, low.latency));
    subjects.extend(blocks::look(&root, devices(&table, &paths).as_deref()));
    let lanes = Lanes { count: low.parallel.unwrap_or(LANES), is_chosen: low.parallel.is_some() };
    subjects.push(machine::look(&root, &clients, lanes, low.latency));
    Ok((Diagnosis::new(subjects, root.not_read(), is_all), caught))
}

fn mounts(root: &Root, clients: &Clients, latency: Duration) -> Vec<Subject> {
    let slots_max = transport::slots_max(root);
    let mut anew = mounts::Anew::new(clients);
    let one = |client| {
        let mut subject = mounts::look(root, client, &mut anew, latency);
        counted::look(client, slots_max, &mut subject);
        subject
    };
    clients.all.iter().map(one).collect()
}

/// The devices of the file systems that the paths are on; none where no path is given, which means all.
fn devices(table: &Table, paths: &[PathBuf]) -> Option<Vec<String>> {
    let number = |path: &PathBuf| table.holding(path).map(|on| format!("{}:{}", on.device.0, on.device.1));
    (!paths.is_empty()).then(|| paths.iter().filter_map(number).collect())
}
