//! Directories below the paths that were named: how many entries they have, and files that were removed while they were open
//! (`.nfs...`), with who has them open.
//!
//! It promises: nothing is opened but directories, no symbolic link is followed, no other file system entered; what is counted and
//! listed is bounded, and a server that does not answer is not waited for.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crate::base::name::{Printable, SNAPSHOT, is_silly};
use crate::base::units::grouped;
use crate::cli::console::reason;

use super::finding::{Finding, Severity, Subject};
use super::root::Root;
use super::words::{counted, shell};

/// Entries of a directory that are well (OCI File Storage Performance Characteristics, v2.0, August 2023).
const ENTRIES_WELL: u64 = 10_000;

/// Entries of one directory that are counted: 100 times 1,000 a READDIR.
const ENTRIES_MAX: u64 = 100_000;

/// Entries of all directories below one path that are counted.
const ENTRIES_ALL_MAX: u64 = 1_000_000;

/// Large directories and `.nfs` files that are kept for one path.
const KEPT_MAX: usize = 1_000;

/// Names of them that a finding shows.
const SHOWN_MAX: usize = 10;

/// A server that says nothing for so long hangs: a request is answered in milliseconds, and sent again after 60 s.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);

/// Processes of this host that are looked at.
const LOOKED_MAX: usize = 100_000;

/// Checks that are about NFS.
pub const OF_NFS: [&str; 2] = ["large_directory", "nfs_files"];

/// What a walk tells while it goes.
#[derive(Debug)]
enum Told {
    /// It is still going.
    Alive,
    /// The end.
    Done(io::Result<Walk>),
}

/// What is below one path.
#[derive(Debug, Default)]
struct Walk {
    /// The path is no directory: what was looked at is the one that it is in.
    is_beside: bool,
    directories: u64,
    entries: u64,
    /// Directories over 10,000 entries.
    large: Vec<(PathBuf, u64)>,
    /// Files that were removed while they were open.
    silly: Vec<PathBuf>,
    /// Directories that could not be listed.
    closed: Vec<(PathBuf, String)>,
    /// It stopped counting.
    is_cut: bool,
}

/// What is known of `path`, `depth` levels of directories below it included; `mount` is the mount of NFS that it is on, if it is. None where it
/// cannot be listed, which is remembered.
pub fn look(root: &Root, path: &Path, depth: u32, mount: Option<&Path>) -> Option<Subject> {
    let name = super::nfs::shown(path);
    let mut subject = Subject::new("directory", name.clone(), format!("Directory {name}"));
    let (tell, told) = channel();
    let top = root.path(path);
    // A thread that nobody waits for: the call that hangs cannot be taken back.
    let started = std::thread::Builder::new().name("directories".into()).spawn(move || {
        let walk = walk(&top, depth, &tell);
        // The receiver may have given up waiting.
        drop(tell.send(Told::Done(walk)));
    });
    let ended = match started {
        Ok(_) => ended(&told),
        Err(error) => Some(Err(error)),
    };
    match ended {
        Some(Ok(walk)) if walk.is_beside => {
            subject.title = format!("File {name}: the directory that it is in");
            judge(root, &walk, &mut subject);
        }
        Some(Ok(walk)) => judge(root, &walk, &mut subject),
        Some(Err(error)) => {
            root.miss(&name, &reason(&error), "its directories");
            return None;
        }
        None => silent(mount, &mut subject),
    }
    Some(subject)
}

/// How it ended; none when it hangs.
fn ended(told: &Receiver<Told>) -> Option<io::Result<Walk>> {
    loop {
        match told.recv_timeout(ANSWER_WITHIN) {
            Ok(Told::Alive) => {}
            Ok(Told::Done(walk)) => return Some(walk),
            Err(_) => return None,
        }
    }
}

/// Which mount a path is on is seen by its name alone where looking at it hangs: of a symbolic link that is where the link is. So only a
/// mount of NFS is said to be one that may be unmounted, and never the root of all.
fn silent(mount: Option<&Path>, subject: &mut Subject) {
    let found = format!("no answer within {} s", ANSWER_WITHIN.as_secs());
    let (check, severity) = ("silent", Severity::Fault);
    subject.findings.push(match mount.filter(|mount| *mount != Path::new("/")) {
        Some(mount) => Finding {
            check,
            severity,
            found,
            reason: "A hard mount waits for its server for ever, and every program that touches it with it.".into(),
            advice: "See whether the server can be reached; unmount it lazily if it will not come back.".into(),
            fix: vec![
                "journalctl -k --grep 'nfs: server'".into(),
                format!("umount -l {}", shell(mount.as_os_str().as_encoded_bytes())),
            ],
        },
        None => Finding {
            check,
            severity,
            found,
            reason: "Every program that touches it waits for its disk or server.".into(),
            advice:
                "See what the kernel says of the disk that it is on, or of the mount that a link in its path leads to."
                    .into(),
            fix: vec!["journalctl -k".into()],
        },
    });
}

/// Counts what is in `path` and so many levels below, or beside it where it is a file.
fn walk(path: &Path, depth: u32, tell: &Sender<Told>) -> io::Result<Walk> {
    let is_beside = !fs::metadata(path)?.is_dir();
    let (top, depth) = if is_beside { (path.parent().unwrap_or(path), 0) } else { (path, depth) };
    let is = fs::metadata(top)?;
    let mut walk = Walk { is_beside, ..Walk::default() };
    // Depth first, so that what waits is bounded by what one directory has of directories at each level.
    let mut waiting = vec![(top.to_path_buf(), depth)];
    while let Some((dir, depth)) = waiting.pop() {
        if walk.entries >= ENTRIES_ALL_MAX {
            walk.is_cut = true;
            break;
        }
        // The receiver may have given up waiting.
        drop(tell.send(Told::Alive));
        match one(&dir, is.dev(), depth > 0, &mut walk, tell) {
            Ok(below) => waiting.extend(below.into_iter().map(|below| (below, depth - 1))),
            Err(error) if dir == top => return Err(error),
            Err(error) if walk.closed.len() < KEPT_MAX => walk.closed.push((dir, reason(&error))),
            Err(_) => {}
        }
    }
    walk.large.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    walk.silly.sort();
    Ok(walk)
}

/// Counts one directory; the directories in it, if they are `wanted`.
fn one(dir: &Path, device: u64, wanted: bool, walk: &mut Walk, tell: &Sender<Told>) -> io::Result<Vec<PathBuf>> {
    if fs::symlink_metadata(dir)?.dev() != device {
        return Ok(Vec::new());
    }
    let (mut entries, mut below) = (0, Vec::new());
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        entries += 1;
        if entries % 1000 == 0 {
            drop(tell.send(Told::Alive));
        }
        let name = entry.file_name();
        if is_silly(name.as_bytes()) && walk.silly.len() < KEPT_MAX {
            walk.silly.push(entry.path());
        }
        // Snapshots show the tree again.
        if wanted && name.as_bytes() != SNAPSHOT && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            below.push(entry.path());
        }
        if entries >= ENTRIES_MAX || walk.entries + entries >= ENTRIES_ALL_MAX {
            walk.is_cut = true;
            break;
        }
    }
    walk.directories += 1;
    walk.entries += entries;
    if entries > ENTRIES_WELL && walk.large.len() < KEPT_MAX {
        walk.large.push((dir.to_path_buf(), entries));
    }
    Ok(below)
}

fn judge(root: &Root, walk: &Walk, subject: &mut Subject) {
    let (directories, entries) =
        (counted(walk.directories, "directory", "directories"), counted(walk.entries, "entry", "entries"));
    let cut = if walk.is_cut { ", not all of them: counting stopped" } else { "" };
    subject.fact("directories", walk.directories, directories);
    subject.fact("entries", walk.entries, format!("{entries}{cut}"));
    subject.fact("is_cut", walk.is_cut, if walk.is_cut { "name a path further below for the rest" } else { "" });
    for (dir, why) in walk.closed.iter().take(SHOWN_MAX) {
        root.miss(&super::nfs::shown(&host(root, dir)), why, "its entries");
    }
    large(root, walk, subject);
    silly(root, walk, subject);
}

/// The host's path of one beneath the root.
fn host(root: &Root, path: &Path) -> PathBuf {
    let beneath = path.strip_prefix(root.path("/")).unwrap_or(path);
    Path::new("/").join(beneath)
}

fn list(root: &Root, paths: impl Iterator<Item = (PathBuf, String)>, all: usize) -> String {
    let shown = paths.take(SHOWN_MAX).map(|(path, more)| format!("{}{more}", super::nfs::shown(&host(root, &path))));
    let more = if all > SHOWN_MAX { format!(" and {} more", all - SHOWN_MAX) } else { String::new() };
    shown.collect::<Vec<_>>().join(", ") + &more
}

fn large(root: &Root, walk: &Walk, subject: &mut Subject) {
    if walk.large.is_empty() {
        return;
    }
    let figure = |entries: u64| match entries >= ENTRIES_MAX {
        true => format!(" ({} or more)", grouped(entries)),
        false => format!(" ({})", grouped(entries)),
    };
    let shown = walk.large.iter().map(|(path, entries)| (path.clone(), figure(*entries)));
    subject.findings.push(Finding {
        check: "large_directory",
        severity: Severity::Warning,
        found: format!(
            "{} over {} entries: {}",
            counted(walk.large.len() as u64, "directory", "directories"),
            grouped(ENTRIES_WELL),
            list(root, shown, walk.large.len())
        ),
        reason: "OCI advises to keep directories under 10,000 files. Each change makes clients read a directory anew, a listing of 100,000 \
                 names is some 300 round trips one after the other, and all creates and removes of a kernel mount stand in line at its lock."
            .into(),
        advice: "Spread the files over subdirectories, by the first letters of their names or of a hash.".into(),
        fix: Vec::new(),
    });
}

fn silly(root: &Root, walk: &Walk, subject: &mut Subject) {
    if walk.silly.is_empty() {
        return;
    }
    let holders = holders(root);
    let by = |file: &PathBuf| match file.file_name().and_then(|name| holders.get(name)) {
        Some(by) => format!(" (open by {})", by.join(", ")),
        None => " (open by nobody seen on this host)".to_string(),
    };
    let shown = walk.silly.iter().map(|file| (file.clone(), by(file)));
    let more = if walk.silly.len() < KEPT_MAX { "" } else { " or more" };
    let first = shell(host(root, &walk.silly[0]).as_os_str().as_encoded_bytes());
    subject.findings.push(Finding {
        check: "nfs_files",
        severity: Severity::Warning,
        found: format!(
            "{}{more}: {}",
            counted(walk.silly.len() as u64, "file of a removed name", "files of removed names"),
            list(root, shown, walk.silly.len())
        ),
        reason: "NFSv3 has no open files: the client renames what is removed while it is open, and removes that name at the close. Until then \
                 its space is taken and its directory cannot be removed; what a client that crashed left stays for ever."
            .into(),
        advice: "End or restart the programs that have them open. What no host has open can be removed: ask the other hosts first."
            .into(),
        fix: vec![format!("fuser -v {first}   # on each host that mounts the export")],
    });
}

/// The files of removed names that a process has by its descriptors, runs, or has mapped.
fn held_by(root: &Root, process: &str) -> io::Result<Vec<OsString>> {
    let files = fs::read_dir(root.path(format!("/proc/{process}/fd")))?.filter_map(Result::ok).map(|file| file.path());
    let links = files.chain([root.path(format!("/proc/{process}/exe"))]);
    let mut paths: Vec<PathBuf> = links.filter_map(|link| fs::read_link(link).ok()).collect();
    let maps = fs::read(root.path(format!("/proc/{process}/maps"))).unwrap_or_default();
    let mapped = maps
        .split(|&byte| byte == b'\n')
        .filter_map(|line| line.iter().position(|&byte| byte == b'/').map(|at| &line[at..]));
    paths.extend(mapped.map(|path| PathBuf::from(OsStr::from_bytes(path))));
    Ok(paths
        .iter()
        .filter_map(|path| path.file_name())
        .filter(|name| is_silly(name.as_bytes()))
        .map(OsStr::to_owned)
        .collect())
}

/// Who has files of removed names: programs with their process ids, by name. A client makes each such name once, and another mount of
/// the export, or a container's, has other paths to it.
fn holders(root: &Root) -> BTreeMap<OsString, Vec<String>> {
    let mut all: BTreeMap<OsString, Vec<String>> = BTreeMap::new();
    let Some(processes) = root.names("/proc") else { return all };
    let (mut looked, mut hidden) = (0, 0);
    for process in
        processes.iter().filter_map(|name| name.to_str()).filter(|name| name.bytes().all(|b| b.is_ascii_digit()))
    {
        let files = match held_by(root, process) {
            Ok(files) => files,
            Err(error) => {
                // One that ended meanwhile has nothing open.
                hidden += u64::from(error.kind() == io::ErrorKind::PermissionDenied);
                continue;
            }
        };
        looked += 1;
        for open in files {
            let command = root.may_read(&format!("/proc/{process}/comm")).unwrap_or_default();
            let by = format!("{} {process}", Printable(command.as_bytes()));
            let known = all.entry(open).or_default();
            if !known.contains(&by) {
                known.push(by);
            }
        }
        if looked >= LOOKED_MAX {
            root.miss("/proc", "Too many processes", "who has the rest open");
            break;
        }
    }
    if hidden > 0 {
        root.miss(
            "/proc/PID/fd",
            &format!("{} of others", counted(hidden, "process", "processes")),
            "whether they have .nfs files open (root sees that)",
        );
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(dir: &Path, n: u64) {
        fs::create_dir_all(dir).unwrap();
        (0..n).for_each(|i| drop(fs::File::create(dir.join(i.to_string())).unwrap()));
    }

    #[test]
    fn directories_are_counted_as_deep_as_was_asked() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::new(dir.path());
        files(&dir.path().join("m/large"), ENTRIES_WELL + 1);
        files(&dir.path().join("m/well"), 3);
        files(&dir.path().join("m/well/deep"), 2);
        files(&dir.path().join("m/.snapshot"), 5);
        std::os::unix::fs::symlink("large", dir.path().join("m/link")).unwrap();
        let count = |depth| {
            let subject = look(&root, Path::new("/m"), depth, None).unwrap();
            let found = subject.findings.iter().map(|f| f.found.clone()).collect::<Vec<_>>();
            (subject.facts[0].value.as_u64().unwrap(), subject.facts[1].value.as_u64().unwrap(), found)
        };
        let large = vec!["1 directory over 10,000 entries: /m/large (10,001)".to_string()];
        assert_eq!(count(0), (1, 4, vec![]));
        assert_eq!(count(1), (3, 4 + 10_001 + 4, large.clone()));
        assert_eq!(count(9), (4, 4 + 10_001 + 4 + 2, large));
        assert_eq!(root.not_read(), []);
        assert_eq!(look(&root, Path::new("/none"), 1, None), None);
        assert_eq!(root.not_read()[0].what, "/none");
    }

    #[test]
    fn only_a_mount_of_nfs_is_to_be_unmounted() {
        let fix = |mount: Option<&str>| {
            let mut subject = Subject::new("directory", "/d", String::new());
            silent(mount.map(Path::new), &mut subject);
            subject.findings.remove(0).fix.join("; ")
        };
        assert!(fix(Some("/mnt/x")).ends_with("umount -l /mnt/x"));
        assert!([None, Some("/")].iter().all(|mount| !fix(*mount).contains("umount")));
    }

    #[test]
    fn removed_files_are_told_with_who_has_them_open() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::new(dir.path());
        files(&dir.path().join("m/d"), 1);
        for name in [".nfs0000000000a1b2c300000001", ".nfs0000000000a1b2c300000002"] {
            fs::File::create(dir.path().join("m/d").join(name)).unwrap();
        }
        for users_own in [".nfs_notes", ".nfsrahead.conf", ".nfs"] {
            fs::File::create(dir.path().join("m/d").join(users_own)).unwrap();
        }
        fs::create_dir_all(dir.path().join("proc/77/fd")).unwrap();
        fs::create_dir_all(dir.path().join("proc/78")).unwrap();
        fs::write(dir.path().join("proc/77/comm"), "java\n").unwrap();
        for fd in ["3", "4"] {
            let target = "/m/d/.nfs0000000000a1b2c300000001";
            std::os::unix::fs::symlink(target, dir.path().join("proc/77/fd").join(fd)).unwrap();
        }
        // What it runs, by the path of another mount; and what another one has mapped.
        let run = ".nfs0000000000a1b2c300000003";
        fs::File::create(dir.path().join("m/d").join(run)).unwrap();
        std::os::unix::fs::symlink(Path::new("/other").join(run), dir.path().join("proc/77/exe")).unwrap();
        fs::create_dir_all(dir.path().join("proc/79/fd")).unwrap();
        fs::write(dir.path().join("proc/79/comm"), "sh\n").unwrap();
        fs::write(dir.path().join("proc/79/maps"), format!("7f00-7f01 r-xp 00000000 00:2d 9    /m/d/{run}\n")).unwrap();
        let subject = look(&root, Path::new("/m"), 1, None).unwrap();
        let expected = "3 files of removed names: /m/d/.nfs0000000000a1b2c300000001 (open by java 77), \
                        /m/d/.nfs0000000000a1b2c300000002 (open by nobody seen on this host), \
                        /m/d/.nfs0000000000a1b2c300000003 (open by java 77, sh 79)";
        assert_eq!(subject.findings[0].found, expected);
        assert!(subject.findings[0].fix[0].starts_with("fuser -v /m/d/.nfs0000000000a1b2c300000001 "));
        assert_eq!(root.not_read(), []); // 78 has ended: it has no fd
    }
}
