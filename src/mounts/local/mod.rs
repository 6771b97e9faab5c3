//! A directory of a local file system or of a kernel mount, as a mount.
//!
//! It promises: nothing outside its directory is reached. Objects are known by their way from the root ([`Chain`]), and each
//! step of it is one openat of one name with `O_NOFOLLOW` from the parent's descriptor: never a path, never through a symlink,
//! whatever is swapped in meanwhile, and however deep. (openat2's RESOLVE_BENEATH would save system calls on long ways and
//! promise no more; this works on every kernel and under every seccomp filter.)
//!
//! Stability: FILE_SYNC means on an NFS mount "sent by fsync", which costs NFSv3's requests of closing (close-to-open), elsewhere
//! "written, closed, and the error of closing reported", which leaves durability to the kernel. UNSTABLE leaves the file open for
//! the next WRITE; COMMIT closes it. The verifier is that of this instance; data is committed through the mount that wrote it.
//!
//! While its descriptor is cached a directory's node follows the object, afterwards its name.
//! Beyond NFSv3 it does what the kernel does on a local file system. On a kernel NFS mount it announces less: NFSv3 has no holes,
//! no copies and no extended attributes, and its ACLs would cost a request for each file; there only IO_ADVISE works.
//! Left out: NFSv3's guard, and asking the kernel what it really sent to a server.

mod alias;
mod at_calls;
mod beyond;
mod convert;
mod data;
mod descriptors;
mod fresh;
mod leased;
mod list;
mod lower;
mod made_up;
mod make;
mod modify;
pub(crate) mod peers;
mod remembered;
mod view;
mod whole;
mod xattrs;

#[cfg(test)]
mod tests;

use std::hash::{BuildHasher, RandomState};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rustix::fs::{
    Access, AtFlags, Mode, OFlags, StatxFlags, accessat, fstatvfs, makedev, openat, readlinkat, statat, statx,
};
use rustix::io::{Errno, retry_on_intr};
use rustix::process::{Resource, getegid, geteuid, getrlimit};

use crate::base::{Name, Status, Time};
use crate::storage::Space;
use crate::storage::{
    Attr, Call, Chain, Changer, Extras, Found, Kind, Ledger, Lent, Limits, Mount, Node, Op, Out, Shape, Tally,
};

pub(crate) use alias::Alias;
use convert::{ITSELF, Which, attr, kind, status};
use descriptors::{Descriptors, Held, Use};
use fresh::Learned;
use lower::Client;
use remembered::Remembered;

/// Descriptors cached by one mount at most: enough for the open directories and files of some hundred lanes.
const DESCRIPTORS_MAX: usize = 1024;
/// And at least, so that a small limit of the process slows it down rather than stop it.
const DESCRIPTORS_MIN: usize = 32;
/// Descriptors of the process left to the rest of the program.
const DESCRIPTORS_OTHER: u64 = 128;

/// NFS_SUPER_MAGIC of statfs(2).
const NFS_MAGIC: u64 = 0x6969;
/// TMPFS_MAGIC and RAMFS_MAGIC: nobody waits for a disk there.
const MEMORY_MAGICS: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// Answers that tell how fast a mount is: the first may wait for a connection, and others for what else this host does.
const ANSWERS_TIMED: usize = 5;

/// Mounts open in this process: they share its descriptors.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// A directory as a mount.
pub struct LocalMount {
    root: Arc<Held>,
    root_node: Node,
    descriptors: Descriptors,
    limits: Limits,
    verifier: AtomicU64,
    /// Permission bits that the kernel takes off new objects; read once, for the command line sets it before.
    umask: u32,
    /// True when this process may open files whatever their mode.
    superuser: bool,
    /// The file system that was last found not to share blocks, by its device number: not asked again for each file.
    clones_not: AtomicU64,
    /// The file system that was last found to say what its files hold, by its device number: likewise.
    sized: AtomicU64,
    /// A kernel's NFS mount.
    nfs: bool,
    /// The device of the file system in which what is met under a name is known by its number as long as it lives: the directory's own, where
    /// it is of that kind. What is mounted below may be of any.
    numbered: Option<u64>,
    /// Its kernel's part, where that speaks NFSv3.
    client: Option<Client>,
    /// What that has in memory.
    remembered: Remembered,
    /// What it asks anew because of what those beside it change.
    changer: Changer,
    /// Other mounts make names in its directory, which it has to look up.
    has_peers: AtomicBool,
    /// What new files look like, where that spares O_EXCL.
    learned: Learned,
    /// Done when it is known whether the directory itself was empty.
    root_read: OnceLock<()>,
    label: String,
    alias: Alias,
    ledger: Ledger,
}

/// File systems that may number an object anew while its name stays, as the kernel forgets it or it is first written to: FAT, exFAT, FUSE,
/// overlayfs, CIFS, SMB2, SMB, 9P, VirtualBox's.
const RENUMBERING_MAGICS: [u64; 9] =
    [0x4d44, 0x2011_bab0, 0x6573_5546, 0x794c_7630, 0xff53_4d42, 0xfe53_4d42, 0x517b, 0x0102_1997, 0x786f_4256];

/// Lanes for a kernel's NFS mount, each one round trip in flight. 20,000 files in 200 directories at 1 ms were extracted, copied
/// and removed in 2.1, 2.0 and 0.76 s with 32 lanes, 1.1, 1.1 and 0.45 s with 64, 0.69, 0.67 and 0.27 s with 128; 64 are
/// 50,000 requests a second at that distance, and more than one mount target takes of these.
const NFS_LANES: usize = 64;

/// An object as system calls want it: a directory's descriptor and a name in it; the root is `.` in itself.
struct Place {
    dir: Arc<Held>,
    name: Option<Name>,
}

impl Place {
    fn fd(&self) -> BorrowedFd<'_> {
        self.dir.fd()
    }

    fn name(&self) -> &[u8] {
        self.name.as_ref().map_or(b".", |name| name.as_bytes())
    }

    fn stat(&self) -> Result<rustix::fs::Stat, Status> {
        statat(self.fd(), self.name(), ITSELF).map_err(status)
    }
}

impl LocalMount {
    /// The directory `path` (through symlinks, for its user named it) and everything beneath it.
    /// Errors: whatever opening it says; not a directory.
    pub fn open(path: &Path) -> std::io::Result<LocalMount> {
        LocalMount::open_with(path, descriptors_share())
    }

    /// The same with a cache of at most `descriptors_max` descriptors, more only while more are in use at once.
    pub fn open_with(path: &Path, descriptors_max: usize) -> std::io::Result<LocalMount> {
        let root = rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        LocalMount::of(root, path, descriptors_max)
    }

    /// The open directory `root`, whose mount shows the file system that `alias` says, and everything beneath it; `path` is
    /// its name for people.
    pub fn of_dir(root: OwnedFd, path: &Path, alias: Alias) -> std::io::Result<LocalMount> {
        let mut mount = LocalMount::of(root, path, descriptors_share())?;
        mount.alias = alias;
        Ok(mount)
    }

    /// How fast a kernel's NFS mount answers: the least of some GETATTRs of the directory, one after the other, which no cache
    /// answers. None of what is no NFS mount, or does not answer.
    pub fn answer(&self) -> Option<Duration> {
        let ask = |_| {
            let start = Instant::now();
            let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
            statx(self.root.fd(), c"", flags, StatxFlags::BASIC_STATS).ok().map(|_| start.elapsed())
        };
        (0..ANSWERS_TIMED).filter(|_| self.nfs).filter_map(ask).min()
    }

    /// The same directory through another mount, which is known to show the same file system.
    pub fn beside(&self, root: OwnedFd, path: &Path) -> std::io::Result<LocalMount> {
        let kind = (self.nfs, self.limits.name_max, self.limits.shape.lanes);
        let mut mount = LocalMount::of_kind(root, path, descriptors_share(), kind)?;
        mount.alias = self.alias.clone();
        mount.changer = self.changer.beside();
        [self, &mount].iter().for_each(|one| one.has_peers.store(true, Ordering::Relaxed));
        mount.numbered = mount.numbered.filter(|_| self.numbered.is_some());
        Ok(mount)
    }

    fn of(root: OwnedFd, path: &Path, descriptors_max: usize) -> std::io::Result<LocalMount> {
        // Asked once: on NFS each asking is an FSSTAT.
        let fs = rustix::fs::fstatfs(&root)?;
        let name_max = u32::try_from(fs.f_namelen).unwrap_or(255).clamp(1, 255);
        #[allow(clippy::unnecessary_cast)] // f_type's type differs by architecture
        let magic = fs.f_type as u64;
        let nfs = magic == NFS_MAGIC;
        let lanes = if nfs { NFS_LANES } else { local_lanes(MEMORY_MAGICS.contains(&magic)) };
        let mut mount = LocalMount::of_kind(root, path, descriptors_max, (nfs, name_max, lanes))?;
        mount.numbered = mount.numbered.filter(|_| !RENUMBERING_MAGICS.contains(&magic));
        Ok(mount)
    }

    /// `kind`: whether it is a kernel's NFS mount; the longest name there; lanes for it.
    fn of_kind(
        root: OwnedFd,
        path: &Path,
        descriptors_max: usize,
        kind: (bool, u32, usize),
    ) -> std::io::Result<LocalMount> {
        let (nfs, name_max, lanes) = kind;
        let device = rustix::fs::fstat(&root)?.st_dev;
        let client = if nfs { Client::of(device) } else { None };
        let shape = Shape { lanes, window: 4 };
        let size_max = i64::MAX as u64;
        OPEN.fetch_add(1, Ordering::Relaxed);
        Ok(LocalMount {
            root: Arc::new(Held::Dir(root)),
            root_node: Node::root_chain(0),
            descriptors: Descriptors::new(descriptors_max),
            limits: Limits {
                read_max: 1 << 20,
                write_max: 1 << 20,
                list_max: 1 << 20,
                name_max,
                size_max,
                shape,
                extras: Extras {
                    holes: !nfs,
                    copies: !nfs,
                    xattrs: !nfs,
                    caches: true,
                    bulk: !nfs,
                    clears: !nfs,
                    forgets: false,
                },
                dirs_locked: nfs,
            },
            clones_not: AtomicU64::new(u64::MAX),
            sized: AtomicU64::new(u64::MAX),
            verifier: AtomicU64::new(RandomState::new().hash_one(Time::now())),
            umask: umask(),
            superuser: geteuid().is_root(),
            nfs,
            numbered: Some(device),
            remembered: Remembered::default(),
            changer: Changer::default(),
            learned: Learned::new(client.is_some_and(|client| client.creates_alone())),
            client,
            has_peers: AtomicBool::new(false),
            root_read: OnceLock::new(),
            label: path.to_string_lossy().into_owned(),
            alias: Alias::default(),
            ledger: Ledger::default(),
        })
    }

    /// For a server of it that restarts: what was written UNSTABLE is to be written again, for the write verifier is another. The host has
    /// not restarted, so nothing is lost.
    pub fn restart(&self) {
        self.verifier.fetch_add(1, Ordering::Relaxed);
    }

    /// Makes files as on a mount where O_EXCL costs a call more, so that tests can see that.
    #[cfg(test)]
    fn plainly(mut self) -> LocalMount {
        self.learned = Learned::new(true);
        self
    }

    fn chain<'a>(&self, node: &'a Node) -> Result<&'a Arc<Chain>, Status> {
        match node {
            Node::Chain(chain) => Ok(chain),
            Node::Handle(_) => Err(Status::BadHandle),
        }
    }

    /// Opens one name, itself, in a directory. When descriptors run out, idle ones are closed first.
    fn open_at(&self, dir: BorrowedFd<'_>, name: &[u8], flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut tries = 0;
        loop {
            match retry_on_intr(|| openat(dir, name, flags, mode)) {
                Err(Errno::MFILE | Errno::NFILE) if self.descriptors.make_room(&mut tries) => {}
                Err(Errno::AGAIN) if flags.contains(OFlags::NONBLOCK) => return leased::open(dir, name, flags),
                opened => return opened,
            }
        }
    }

    /// The descriptor of a directory: cached, or opened from the nearest ancestor that is.
    fn dir(&self, chain: &Arc<Chain>) -> Result<Arc<Held>, Status> {
        let mut way = Vec::new();
        let mut at = chain;
        let mut held = loop {
            let Some((parent, name)) = &at.parent else { break self.root.clone() };
            if let Some(held) = self.open_dir(at) {
                break held;
            }
            way.push((at, name));
            at = self.chain(parent)?;
        };
        while let Some((chain, name)) = way.pop() {
            let flags = OFlags::PATH | OFlags::DIRECTORY;
            let fd = self.open_at(held.fd(), name.as_bytes(), flags, Mode::empty()).map_err(status)?;
            if !self.is_same(chain, &fd) {
                return Err(Status::Stale);
            }
            // mkdir opens nothing: what it made may have been exchanged since, and what is opened is what is filled.
            if !self.nfs
                && chain.met_as().is_some()
                && chain.is_unreached()
                && let Ok(Some(number)) = self.number(&fd)
            {
                chain.reach(number);
            }
            held = self.descriptors.keep(chain, Use::Dir, Held::Dir(fd));
        }
        Ok(held)
    }

    /// Is this the directory that was made or found, or that was listed? What was listed in one is not to be looked for in another that got
    /// its name. An NFS client may still know another one by its name, that was moved away through another mount and lives on.
    fn is_same(&self, chain: &Chain, fd: &OwnedFd) -> bool {
        let known = chain.entered().or_else(|| chain.fileid().filter(|_| self.nfs));
        known.is_none_or(|fileid| self.number(fd).is_ok_and(|number| number.is_none_or(|number| number == fileid)))
    }

    /// The number by which a directory is known as long as it lives, where its file system has one (an overlay with `xino=off` had 3, and 6
    /// when the kernel had forgotten it). Asking costs nothing: an object's number is known while it is open.
    fn number(&self, fd: &OwnedFd) -> Result<Option<u64>, Errno> {
        let is = Which::at(fd, c"", AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC)?;
        let is_known = self.nfs || self.numbered == Some(makedev(is.device.0, is.device.1));
        Ok(is_known.then_some(is.fileid))
    }

    /// Is an object of this name open?
    fn holds(&self, dir: &Node, name: &Name) -> bool {
        self.chain(dir).is_ok_and(|chain| self.descriptors.holds(chain.id, name))
    }

    /// Where an object is.
    fn place(&self, chain: &Arc<Chain>) -> Result<Place, Status> {
        match &chain.parent {
            None => Ok(Place { dir: self.root.clone(), name: None }),
            Some((parent, name)) => Ok(Place { dir: self.dir(self.chain(parent)?)?, name: Some(name.clone()) }),
        }
    }

    fn place_of(&self, node: &Node) -> Result<Place, Status> {
        self.place(self.chain(node)?)
    }

    /// The place of `name` in `dir`.
    fn place_in(&self, dir: &Node, name: &Name) -> Result<Place, Status> {
        Ok(Place { dir: self.dir(self.chain(dir)?)?, name: Some(name.clone()) })
    }

    fn carry_out(&self, call: &mut Call<'_>) {
        match &mut call.op {
            Op::Null { out } => *out = Ok(()),
            Op::GetAttr { node, out } => *out = self.get_attr(node),
            Op::SetAttr { node, change, out } => *out = self.set_attr(node, change),
            Op::Lookup { dir, name, out } => *out = self.lookup(dir, name),
            Op::Access { node, want, out } => *out = self.access(node, *want),
            Op::ReadLink { node, out } => *out = self.read_link(node),
            Op::Read { node, offset, count, buf, attr, out } => {
                let read = self.read(node, *offset, *count, buf);
                *attr = read.ok().and_then(|(_, attr)| attr);
                *out = read.map(|(end, _)| end);
            }
            Op::Write { node, offset, data, stable, out } => *out = self.write(node, *offset, data, *stable),
            Op::Create { dir, name, how, change, out } => {
                *out = self.create(dir, name, *how, change, &mut call.repeated);
            }
            Op::MkDir { dir, name, change, out } => *out = self.mkdir(dir, name, change),
            Op::Symlink { dir, name, target, change, out } => *out = self.symlink(dir, name, target, change),
            Op::MkNod { dir, name, special, change, out } => *out = self.mknod(dir, name, *special, change),
            Op::Remove { dir, name, out } => *out = self.remove(&mut None, dir, name, AtFlags::empty()),
            Op::RmDir { dir, name, out } => *out = self.remove(&mut None, dir, name, AtFlags::REMOVEDIR),
            Op::Rename { from_dir, from, to_dir, to, out, .. } => *out = self.rename(from_dir, from, to_dir, to),
            Op::Link { node, dir, name, out } => *out = self.link(node, dir, name),
            Op::ReadDir { dir, from, want, bytes_max, out } => *out = self.read_dir(dir, *from, *want, *bytes_max),
            Op::FsStat { node, out } => *out = self.fs_stat(node),
            Op::FsInfo { node, out } => *out = self.get_attr(node).map(|_| self.limits),
            Op::PathConf { node, out } => *out = self.get_attr(node).map(|_| self.limits.name_max),
            Op::Commit { node, out, .. } => *out = self.commit(node),
            Op::Beyond(beyond) => self.serve_beyond(beyond),
        }
    }

    fn get_attr(&self, node: &Node) -> Out<Attr> {
        let place = self.place_of(node)?;
        if self.nfs {
            // What this client knows may be what another mount has changed since. The answer is kept for the next question.
            let flags = ITSELF | AtFlags::STATX_FORCE_SYNC;
            let _ = statx(place.fd(), place.name(), flags, StatxFlags::BASIC_STATS);
        }
        Ok(attr(&place.stat()?))
    }

    fn lookup(&self, dir: &Node, name: &Name) -> Out<Found> {
        let chain = self.chain(dir)?;
        let stat = self.place_in(dir, name)?.stat()?;
        Ok(Found { node: self.met(chain, name.clone(), (stat.st_dev, stat.st_ino)), attr: Some(attr(&stat)) })
    }

    /// What was met under a name: who may write to the directory can put something else there at any time, which is not to be given its owner,
    /// its mode or its data.
    fn met(&self, dir: &Arc<Chain>, name: Name, (device, fileid): (u64, u64)) -> Node {
        let node = Node::child(dir, name);
        if let (Node::Chain(chain), true) = (&node, self.numbered == Some(device)) {
            chain.note_met(fileid);
        }
        node
    }

    /// The bits of RFC 1813 3.3.4, asked of the kernel one by one.
    fn access(&self, node: &Node, want: u32) -> Out<u32> {
        let place = self.place_of(node)?;
        let kind = kind(&place.stat()?);
        let bits = [
            (0x01, Access::READ_OK, true),
            (0x02, Access::EXEC_OK, kind == Kind::Dir),
            (0x04, Access::WRITE_OK, true),
            (0x08, Access::WRITE_OK, true),
            (0x10, Access::WRITE_OK, kind == Kind::Dir),
            (0x20, Access::EXEC_OK, kind != Kind::Dir),
        ];
        // A symlink has no permissions; asking would follow it.
        let allowed =
            |access| kind == Kind::Symlink || accessat(place.fd(), place.name(), access, AtFlags::EACCESS).is_ok();
        let granted = bits.into_iter().filter(|(bit, access, sense)| *sense && want & bit != 0 && allowed(*access));
        Ok(granted.map(|(bit, ..)| bit).sum())
    }

    fn read_link(&self, node: &Node) -> Out<Vec<u8>> {
        let place = self.place_of(node)?;
        match readlinkat(place.fd(), place.name(), Vec::new()) {
            Ok(target) => Ok(target.into_bytes()),
            Err(Errno::NOENT) if place.name.is_none() => Err(Status::Inval),
            Err(errno) => Err(status(errno)),
        }
    }

    fn fs_stat(&self, node: &Node) -> Out<Space> {
        let place = self.place_of(node)?;
        place.stat()?;
        let fs = fstatvfs(place.fd()).map_err(status)?;
        let bytes = |blocks: u64| blocks.saturating_mul(fs.f_frsize);
        Ok(Space {
            total_bytes: bytes(fs.f_blocks),
            free_bytes: bytes(fs.f_bfree),
            available_bytes: bytes(fs.f_bavail),
            total_files: fs.f_files,
            free_files: fs.f_ffree,
            available_files: fs.f_favail,
        })
    }
}

/// Lanes for a local file system: enough to keep processors and a disk busy, few enough not to spin at a directory's lock. On
/// two processors a copy of 100,000 files in one directory of tmpfs took 1.2 s with 2 to 4 lanes and 2.2 s with 8. In memory more lanes
/// than processors (2 to 8) only take turns: a copy of the Linux source took 2.1 s of two processors with two lanes, 2.4 s with four.
fn local_lanes(in_memory: bool) -> usize {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if in_memory { processors.clamp(2, 8) } else { (2 * processors).clamp(4, 8) }
}

/// Descriptors for the cache of one mount more, of what the process may have.
fn descriptors_share() -> usize {
    let mounts = OPEN.load(Ordering::Relaxed) + 1;
    let soft = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let share = usize::try_from(soft.saturating_sub(DESCRIPTORS_OTHER)).unwrap_or(usize::MAX) / mounts;
    share.clamp(DESCRIPTORS_MIN, DESCRIPTORS_MAX)
}

/// This process's umask, as the kernel shows it without changing it; the usual 022 where it does not.
fn umask() -> u32 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    line.and_then(|octal| u32::from_str_radix(octal.trim(), 8).ok()).unwrap_or(0o022)
}

impl Drop for LocalMount {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Mount for LocalMount {
    fn root(&self) -> Node {
        self.root_node.clone()
    }

    fn limits(&self) -> Limits {
        self.limits
    }

    fn perform(&self, calls: &mut [Call<'_>]) {
        let mut near = None;
        let changer = self.client.and(self.has_peers.load(Ordering::Relaxed).then_some(&self.changer));
        for call in &mut *calls {
            changer.into_iter().for_each(|changer| changer.asks(std::slice::from_mut(call), true));
            match &mut call.op {
                Op::Remove { dir, name, out } if !self.nfs => {
                    *out = self.remove(&mut near, dir, name, AtFlags::empty());
                }
                Op::RmDir { dir, name, out } if !self.nfs => {
                    *out = self.remove(&mut near, dir, name, AtFlags::REMOVEDIR);
                }
                _ => {
                    near = None;
                    self.serve(call);
                }
            }
            self.alias.apply(call);
            changer.into_iter().for_each(|changer| changer.finds(std::slice::from_ref(call)));
            if self.client.is_some() {
                // What is sent for it hangs on what is known now.
                self.ledger.count_lowered(call, &self.lower(call));
            }
        }
        if self.client.is_none() {
            self.ledger.count(calls);
        }
    }

    fn lend(&self, node: &Node) -> Option<Lent> {
        self.lend_file(node)
    }

    fn lend_dir(&self, dir: &Node) -> Option<Lent> {
        self.lend_open_dir(dir)
    }

    fn is_made_up(&self, node: &Node, attr: &Attr) -> bool {
        self.makes_up(node, attr)
    }

    fn refresh(&self, dir: &Node) {
        self.refresh_dir(dir);
    }

    fn lower(&self, call: &Call<'_>) -> Tally {
        let Some(client) = &self.client else { return Tally::of(call) };
        let is_fresh = match &call.op {
            Op::Create { dir, .. } => self.learned.is_of_use() && lower::is_fresh(dir),
            Op::SetAttr { node, .. } => lower::is_fresh(node),
            Op::Lookup { dir, name, out } => {
                let is_dir = out.as_ref().is_ok_and(|found| found.attr.is_some_and(|attr| attr.kind == Kind::Dir));
                !self.has_peers.load(Ordering::Relaxed) && lower::is_ours(call) || is_dir && self.holds(dir, name)
            }
            _ => self.remembered.spares(call),
        };
        client.lower(call, is_fresh)
    }

    fn makes_as(&self) -> Option<(u32, u32)> {
        Some((geteuid().as_raw(), getegid().as_raw()))
    }

    /// What was asked of it; on an NFSv3 mount what its kernel sends for that, by what is known of it.
    fn issued(&self) -> Option<Tally> {
        Some(self.ledger.tally())
    }

    fn label(&self) -> String {
        self.label.clone()
    }
}
