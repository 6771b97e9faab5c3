//! Finding the other mounts of the export that holds a directory, and proving that they show the same file system, so that a
//! job can be spread over them: each mount has its own locks, caches and, from another mount target, its own connections.
//!
//! It promises: nothing is taken for the same file system that is not (`proof`); a mount that hangs does not hang the search;
//! nothing is written unless the job writes there, and what is made is removed again. Supported are the kernel's mounts of
//! NFSv3 and NFSv4. Mounts with another mount within the directory are left out, for there they differ.
//! Left out: exports of one file system under different paths, unless their mounts are named.

pub mod mountinfo;
pub mod mountstats;
pub mod proof;
pub mod reason;
pub mod same;
#[cfg(test)]
mod tests;
mod view;

use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use super::Alias;
use mountinfo::{Entry, Export, Table, below};
use proof::{Terms, Witness};
pub use reason::Reason;
use view::Opened;

/// How long a mount may take for its answers; more than a TCP connection needs that lost some packets.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);

/// Mounts that a job is spread over at most; beyond it a client's own work binds.
const PEERS_MAX: usize = 63;

/// What a job does in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Reads only.
    Reads,
    /// Makes or removes names.
    Writes,
    /// Finds out what it would write.
    Rehearses,
}

/// Which mounts come into question.
#[derive(Clone, Copy, Debug)]
pub enum Among<'a> {
    /// All of the same export.
    All,
    /// These, by their mount points.
    Named(&'a [PathBuf]),
}

/// A mount that is used.
#[derive(Clone, Debug)]
pub struct Mounted {
    /// Where it is mounted.
    pub point: PathBuf,
    /// The server's address and port, or else its name.
    pub server: String,
    /// What stat(2) gives as its device.
    pub device: u64,
    /// How it is mounted, as far as that changes what it sends: `vers=3,nconnect=4,rsize=1048576,wsize=1048576`.
    pub options: String,
}

/// One way to a directory.
#[derive(Debug)]
pub struct Way {
    /// The directory, open for its path only.
    pub dir: OwnedFd,
    /// The mount it is reached through.
    pub mount: Mounted,
}

/// What was found for a directory on an NFS mount.
#[derive(Debug)]
pub struct Found {
    /// The ways to it; the first is the one that was given.
    pub ways: Vec<Way>,
    /// The mounts that are left out, by their mount points.
    pub left_out: Vec<(PathBuf, Reason)>,
}

/// Finds mounts, and remembers what was proven.
#[derive(Debug, Default)]
pub struct Finder {
    /// Devices that show one file system, as far as reading goes.
    classes: Vec<Vec<u64>>,
    /// Pairs of devices of which that was proven for writing too.
    proven: HashSet<(u64, u64)>,
    /// Mounts, by their ids, that are not used beside another; their reason was told.
    out: HashSet<(u64, u64, Purpose)>,
}

/// A mount that comes into question, and where it shows what is to be compared.
struct Candidate {
    entry: Entry,
    mounted: Mounted,
    terms: Terms,
    /// The way to the common root and to the directory, below the mount points of the base and of the candidate.
    root: [Vec<u8>; 2],
    dir: Vec<u8>,
}

/// A directory on a mount of NFS.
pub struct Place {
    base: Base,
    table: Table,
}

impl Place {
    /// The directory `path`; none when it is not on a mount of NFS, or is out of sight of this process. May wait as long as the
    /// server does.
    pub fn of(path: &Path) -> io::Result<Option<Place>> {
        Ok(Base::find(path)?.map(|(base, table)| Place { base, table }))
    }

    /// The mount point.
    pub fn point(&self) -> &Path {
        &self.base.entry.point
    }
}

/// The operand's own mount.
struct Base {
    entry: Entry,
    export: Export,
    dir: Arc<OwnedFd>,
    /// The directory below the mount point.
    way: Vec<u8>,
    path: PathBuf,
}

/// What came of asking a mount, and how fast it answers; that is not known of one that was proven before.
type Timed<T> = Result<(T, Option<Duration>), Reason>;

impl Mounted {
    fn new(entry: &Entry, export: &Export) -> Mounted {
        let server = export.address.clone().unwrap_or_else(|| export.host.clone());
        let said = |name| entry.option(name).map(|value| format!("{name}={value}"));
        let options = ["vers", "nconnect", "rsize", "wsize"].into_iter().filter_map(said).collect::<Vec<_>>();
        Mounted { point: entry.point.clone(), server, device: entry.device_number(), options: options.join(",") }
    }
}

/// `path` without symbolic links, as the table of mounts would name it. One that does not answer is an error in time.
pub fn resolved(path: &Path) -> io::Result<PathBuf> {
    let (send, receive) = channel();
    let path = path.to_path_buf();
    // The receiver may have given up waiting.
    start(move || drop(send.send(path.canonicalize())));
    let silent = |_| io::Error::new(io::ErrorKind::TimedOut, Reason::Silent);
    receive.recv_timeout(ANSWERS_WITHIN).map_err(silent)?
}

impl Base {
    /// The directory's, and all mounts there are.
    fn find(path: &Path) -> io::Result<Option<(Base, Table)>> {
        let at = view::locate(path)?;
        // After that, for opening it may have mounted it.
        let table = Table::read()?;
        let Some((entry, export)) = table.get(at.mount).and_then(|entry| Some((entry, entry.export()?))) else {
            return Ok(None);
        };
        let way = below(view::bytes(&at.path), &mountinfo::tidy(view::bytes(&entry.point)));
        // A directory that was removed, or is out of sight, has no way to it.
        let Some(way) = way else { return Ok(None) };
        Ok(Some((Base { entry: entry.clone(), export, dir: Arc::new(at.dir), way, path: at.path }, table)))
    }

    /// Where `peer` shows the directory; none where its export's path says that it does not.
    fn seen_through(&self, entry: &Entry, export: &Export, is_named: bool) -> Option<Candidate> {
        let one_address = self.export.address.is_some() && self.export.address == export.address;
        let terms = Terms { writes: false, one_server: one_address && self.entry.option("sec") == entry.option("sec") };
        let candidate = |root: [Vec<u8>; 2], dir: Vec<u8>| {
            let mounted = Mounted::new(entry, export);
            Some(Candidate { entry: entry.clone(), mounted, terms, root, dir })
        };
        if self.export.path == export.path {
            return candidate([Vec::new(), Vec::new()], self.way.clone());
        }
        let whole = mountinfo::joined(&self.export.path, &self.way);
        let related = || {
            let dir = below(&whole, &export.path)?;
            match below(&self.export.path, &export.path) {
                Some(further) => candidate([Vec::new(), further], dir),
                None => candidate([below(&export.path, &self.export.path)?, Vec::new()], dir),
            }
        };
        match (one_address || is_named).then(related).flatten() {
            // One file system may be exported under several paths; the proof tells.
            None if is_named => candidate([Vec::new(), Vec::new()], self.way.clone()),
            found => found,
        }
    }

    /// A mount in the directory, seen at `path` through `entry`, that the server did not put there.
    fn mount_within(table: &Table, entry: &Entry, export: &Export, path: &Path) -> Option<PathBuf> {
        let is_servers = |inner: &Entry| {
            let (Some(theirs), Some(way)) =
                (inner.export(), below(view::bytes(&inner.point), &mountinfo::tidy(view::bytes(&entry.point))))
            else {
                return false;
            };
            theirs.host == export.host && theirs.path == mountinfo::joined(&export.path, &way)
        };
        table.within(path).find(|inner| !is_servers(inner)).map(|inner| inner.point.clone())
    }
}

impl Finder {
    /// The ways to a directory; its own is the first. With `Among::Named` a mount that is left out is the caller's error. May
    /// wait some seconds for the others.
    pub fn find(&mut self, place: &Place, purpose: Purpose, among: Among<'_>) -> io::Result<Found> {
        let Place { base, table } = place;
        let mut left_out = Vec::new();
        let mut candidates = match base.entry.is_read_only() && purpose != Purpose::Reads {
            true => Vec::new(), // the job will say why nothing can be written
            false => candidates(table, base, among, &mut left_out),
        };
        let mut devices = vec![(base.entry.device_number(), base.entry.point.clone())];
        candidates.retain_mut(|candidate| {
            let (entry, device) = (&candidate.entry, candidate.entry.device_number());
            candidate.terms.writes = purpose == Purpose::Writes;
            let reason = if self.out.contains(&(base.entry.id, entry.id, purpose)) {
                None
            } else if let Some((_, point)) = devices.iter().find(|(there, _)| *there == device) {
                Some(Reason::Superblock(point.clone()))
            } else if entry.is_read_only() && purpose != Purpose::Reads {
                Some(Reason::ReadOnly)
            } else {
                devices.push((device, entry.point.clone()));
                return true;
            };
            left_out.extend(reason.map(|reason| (entry.point.clone(), reason)));
            false
        });
        candidates.truncate(PEERS_MAX);
        let ways = self.compared(base, candidates, purpose, &mut left_out)?;
        Ok(Found { ways, left_out })
    }

    /// Puts the candidates to the proof, all at once, and keeps those that stand it and are fast enough.
    fn compared(
        &mut self,
        base: &Base,
        candidates: Vec<Candidate>,
        purpose: Purpose,
        left_out: &mut Vec<(PathBuf, Reason)>,
    ) -> io::Result<Vec<Way>> {
        let ours = base.entry.device_number();
        let mut ways = vec![Way { dir: base.dir.try_clone()?, mount: Mounted::new(&base.entry, &base.export) }];
        if candidates.is_empty() {
            return Ok(ways);
        }
        let (own, answers) = self.answers(base, &candidates);
        let times = answers.iter().filter_map(|answer| answer.as_ref().ok()?.1);
        let best = times.chain(own).min().unwrap_or_default();
        for (candidate, answer) in candidates.into_iter().zip(answers) {
            let theirs = candidate.entry.device_number();
            let answer = match answer {
                Ok((_, Some(answer))) if proof::is_slow(answer, best) => Err(Reason::Slow { answer, best }),
                answer => answer,
            };
            match answer {
                Ok((opened, _)) => {
                    if candidate.terms.writes || candidate.terms.one_server {
                        self.proven.insert((ours, theirs));
                    }
                    self.join(ours, theirs);
                    ways.push(Way { dir: opened.dir, mount: candidate.mounted });
                }
                Err(reason) => {
                    if reason.is_of_mount() {
                        self.out.insert((base.entry.id, candidate.entry.id, purpose));
                    }
                    left_out.push((candidate.entry.point, reason));
                }
            }
        }
        Ok(ways)
    }

    /// What each candidate answers within the time there is, and how fast the base does.
    fn answers(&self, base: &Base, candidates: &[Candidate]) -> (Option<Duration>, Vec<Timed<Opened>>) {
        let (send, receive) = channel();
        // By the root that is compared: mostly one for all.
        let mut witnesses: Vec<(&[u8], io::Result<Arc<Witness>>)> = Vec::new();
        for (at, candidate) in candidates.iter().enumerate() {
            let is_proven = self.proven.contains(&(base.entry.device_number(), candidate.entry.device_number()));
            let root = &candidate.root[0][..];
            let known = witnesses.iter().position(|(of, _)| *of == root).unwrap_or_else(|| {
                let opened = Opened::base(&base.entry, root, &base.dir);
                witnesses.push((root, opened.map(|opened| Arc::new(Witness::new(opened)))));
                witnesses.len() - 1
            });
            let witness = witnesses[known].1.as_ref().map(Arc::clone).map_err(proof::again);
            let (send, dir, terms) = (send.clone(), base.dir.clone(), candidate.terms);
            let (theirs, root, way) = (candidate.entry.clone(), candidate.root[1].clone(), candidate.dir.clone());
            let ask = move || {
                let opened = view::open(&theirs, &root, &way)?;
                if is_proven {
                    // One file system, so one id is one object; and it was timed then.
                    opened.is_at(&dir)?;
                    return Ok((opened, None));
                }
                let answer = proof::prove(&*witness.map_err(Reason::base)?, &opened, terms)?;
                Ok((opened, Some(answer)))
            };
            // The receiver may have given up waiting.
            start(move || drop(send.send((at, ask()))));
        }
        drop(send);
        let mut answers = collect(&receive, candidates.len(), ANSWERS_WITHIN);
        let witnesses = || witnesses.iter().filter_map(|(_, witness)| witness.as_ref().ok());
        if let Some(silent) = answers.iter_mut().find(|answer| matches!(answer, Err(Reason::Silent)))
            && let Some(left) = witnesses().find_map(|witness| witness.end().err())
        {
            *silent = Err(left);
        }
        (witnesses().filter_map(|witness| witness.time()).min(), answers)
    }

    /// From now on these devices are one file system.
    fn join(&mut self, a: u64, b: u64) {
        let mut joined = Vec::new();
        self.classes.retain_mut(|class| {
            let concerned = class.contains(&a) || class.contains(&b);
            if concerned {
                joined.append(class);
            }
            !concerned
        });
        joined.extend([a, b].into_iter().filter(|device| !joined.contains(device)).collect::<Vec<_>>());
        self.classes.push(joined);
    }

    /// The ids that the devices of one file system are to be known by.
    pub fn alias(&self) -> Alias {
        let known = self.classes.iter().flat_map(|class| class.iter().map(|device| (*device, class[0])));
        Alias::new(known.collect())
    }
}

/// Runs what may hang on a thread that nobody waits for. One that cannot be started answers nothing.
fn start(work: impl FnOnce() + Send + 'static) {
    let started = std::thread::Builder::new().name("mounts".into()).spawn(work);
    drop(started);
}

/// The answers that come within `time`; the rest are silent.
fn collect<T>(receive: &Receiver<(usize, Timed<T>)>, count: usize, time: Duration) -> Vec<Timed<T>> {
    let mut answers: Vec<_> = (0..count).map(|_| Err(Reason::Silent)).collect();
    let until = Instant::now() + time;
    for _ in 0..count {
        match receive.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok((at, answer)) => answers[at] = answer,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    answers
}

/// The mounts that come into question; those of which that is said already are left out.
fn candidates(table: &Table, base: &Base, among: Among<'_>, left_out: &mut Vec<(PathBuf, Reason)>) -> Vec<Candidate> {
    let mut named = match among {
        Among::All => Vec::new(),
        Among::Named(points) => points.iter().filter(|point| **point != base.entry.point).collect(),
    };
    let mut found = Vec::new();
    for (entry, export) in table.nfs().filter(|(entry, _)| entry.id != base.entry.id) {
        let is_named = named.iter().any(|point| **point == entry.point);
        named.retain(|point| **point != entry.point);
        if !is_named && matches!(among, Among::Named(_)) {
            continue;
        }
        let Some(candidate) = base.seen_through(entry, &export, is_named) else { continue };
        let theirs = entry.point.join(std::ffi::OsStr::from_bytes(&candidate.dir));
        let within = Base::mount_within(table, &base.entry, &base.export, &base.path)
            .or_else(|| Base::mount_within(table, entry, &export, &theirs));
        match within {
            Some(within) => left_out.push((entry.point.clone(), Reason::Within(within))),
            None => found.push(candidate),
        }
    }
    for point in named {
        let reason = if table.has_point(point) { Reason::NoNfs } else { Reason::NoMount };
        left_out.push((point.clone(), reason));
    }
    found
}
