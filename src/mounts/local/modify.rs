//! SETATTR, REMOVE, RMDIR, RENAME and LINK.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, Stat, Uid, chmodat, chownat, fchmod, fchown, fstat, ftruncate, futimens,
    linkat, openat, renameat, unlinkat, utimensat,
};
use rustix::io::{Errno, retry_on_intr};

use crate::base::{Name, Status};
use crate::storage::{Attr, AttrChange, Chain, Kind, Node, Out, SetTime};

use super::at_calls;
use super::convert::{ITSELF, Which, kind, mode, owner, status, times};
use super::data::QUIET;
use super::descriptors::{Held, Use};
use super::{LocalMount, Place};

/// A directory that was used last: its chain's id and its descriptor.
pub(super) type Near = Option<(u64, Arc<Held>)>;

/// What attributes are set on: an open file, or an object by its place.
pub(super) enum On<'a> {
    Fd(BorrowedFd<'a>),
    Place(&'a LocalMount, &'a Place),
    /// An object at its place that is held by `O_PATH`: what is set is set on it, whatever has its name by now.
    Held(&'a Place, BorrowedFd<'a>),
}

impl On<'_> {
    pub(super) fn stat(&self) -> Result<Stat, Status> {
        match self {
            On::Fd(fd) => fstat(fd).map_err(status),
            On::Place(_, place) => place.stat(),
            On::Held(_, held) => fstat(held).map_err(status),
        }
    }

    pub(super) fn chown(&self, uid: Option<Uid>, gid: Option<Gid>) -> Result<(), Status> {
        retry_on_intr(|| match self {
            On::Fd(fd) => fchown(fd, uid, gid),
            On::Place(_, place) => chownat(place.fd(), place.name(), uid, gid, ITSELF),
            On::Held(_, held) => chownat(held, c"", uid, gid, AtFlags::EMPTY_PATH),
        })
        .map_err(|errno| match errno {
            // user_namespaces(7): an owner that has no number here. The caller may not give it the file, as with EPERM.
            Errno::INVAL => Status::Perm,
            errno => status(errno),
        })
    }

    pub(super) fn chmod(&self, bits: u32) -> Result<(), Status> {
        match self {
            On::Fd(fd) => retry_on_intr(|| fchmod(fd, mode(bits))).map_err(status),
            On::Place(mount, place) => chmod(place, mount.hold(place)?.as_fd(), mode(bits)),
            On::Held(place, held) => chmod(place, *held, mode(bits)),
        }
    }

    pub(super) fn resize(&self, size: u64) -> Result<(), Status> {
        match self {
            On::Fd(fd) => retry_on_intr(|| ftruncate(fd, size)).map_err(status),
            On::Place(..) | On::Held(..) => Err(Status::Inval),
        }
    }

    /// Sets times, if any are to be; true when it did.
    pub(super) fn set_times(&self, change: &AttrChange) -> Result<bool, Status> {
        let Some(times) = times(change) else { return Ok(false) };
        retry_on_intr(|| match self {
            On::Fd(fd) => futimens(fd, &times),
            On::Place(_, place) => utimensat(place.fd(), place.name(), &times, ITSELF),
            On::Held(place, held) => match utimensat(held, c"", &times, AtFlags::EMPTY_PATH) {
                // Before Linux 5.8; by its name where there is no /proc either.
                Err(Errno::INVAL) => match utimensat(CWD, shown_in_proc(*held), &times, AtFlags::empty()) {
                    Err(Errno::NOENT) => utimensat(place.fd(), place.name(), &times, ITSELF),
                    set => set,
                },
                set => set,
            },
        })
        .map_err(status)?;
        Ok(true)
    }
}

pub(super) fn shown_in_proc(fd: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

/// chmod without following a symlink, which Linux has no old system call for: the object is held by `O_PATH` and reached
/// through its descriptor's name in /proc; without /proc, by the new one of Linux 6.6, and before that a file or directory by opening it.
/// Nothing else is opened: a device does something then, and a FIFO lets its writer go on.
fn chmod(place: &Place, held: BorrowedFd<'_>, mode: Mode) -> Result<(), Status> {
    let is = fstat(held).map_err(status)?;
    if kind(&is) == Kind::Symlink {
        return Err(Status::NotSupp); // Linux: a symlink has no mode of its own
    }
    match chmodat(CWD, shown_in_proc(held), mode, AtFlags::empty()) {
        Err(Errno::NOENT) => match at_calls::chmod(held, mode) {
            // A filter of a container that does not know the call may say PERM.
            Err(Errno::NOSYS | Errno::PERM) if matches!(kind(&is), Kind::File | Kind::Dir) => {
                chmod_opened(place, &is, mode)
            }
            set => set.map_err(status),
        },
        set => set.map_err(status),
    }
}

fn chmod_opened(place: &Place, is: &Stat, mode: Mode) -> Result<(), Status> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | QUIET;
    let open = retry_on_intr(|| openat(place.fd(), place.name(), flags, Mode::empty())).map_err(status)?;
    let same = fstat(&open).map_err(status)?;
    if (same.st_dev, same.st_ino) != (is.st_dev, is.st_ino) {
        return Err(Status::Stale);
    }
    fchmod(&open, mode).map_err(status)
}

impl LocalMount {
    fn hold(&self, place: &Place) -> Result<OwnedFd, Status> {
        self.open_at(place.fd(), place.name(), OFlags::PATH, Mode::empty()).map_err(status)
    }

    /// Holds the object that is meant, where that is known: who may write to its directory can have put another one under its name since,
    /// and can at any time. No other object is given away, dated or opened, and none but a directory stands for a directory. Those are
    /// finished long after they were made or met, and not every file system has the same id for them then: what is held and is a directory
    /// is taken for it.
    fn hold_meant(&self, chain: &Chain, place: &Place) -> Result<Option<OwnedFd>, Status> {
        if chain.met_as().is_none() {
            return Ok(None);
        }
        let held = self.hold(place)?;
        self.is_meant(chain, held.as_fd())?;
        Ok(Some(held))
    }

    /// An error where this is no directory, and not the object that was made or met.
    pub(super) fn is_meant(&self, chain: &Chain, held: BorrowedFd<'_>) -> Result<(), Status> {
        let Some(fileid) = chain.met_as() else { return Ok(()) };
        // To a client of NFS what has another id is another object, so no server is asked.
        let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
        let is = Which::at(held, c"", flags).map_err(status)?;
        match FileType::from_raw_mode(is.mode) {
            FileType::Directory => Ok(()),
            _ if is.fileid != fileid => Err(Status::Stale),
            _ => Ok(()),
        }
    }

    /// Holds what was looked at.
    pub(super) fn hold_seen(&self, place: &Place, seen: &Stat) -> Result<OwnedFd, Status> {
        let held = self.hold(place)?;
        let is = fstat(&held).map_err(status)?;
        if (is.st_dev, is.st_ino) == (seen.st_dev, seen.st_ino) { Ok(held) } else { Err(Status::Stale) }
    }

    /// In this order: nothing is cut where the caller may not set the rest; chown takes set-id bits off, and so does setting a size
    /// by who is not root, which changes the mtime too.
    pub(super) fn set_attr(&self, node: &Node, change: &AttrChange) -> Out<Option<Attr>> {
        let chain = self.chain(node)?;
        self.descriptors.take_error(chain.id)?;
        if change.size.is_some_and(|size| size > self.limits.size_max) {
            return Err(Status::FBig);
        }
        let held = match (change.size, self.descriptors.get(chain, Use::Write)) {
            (Some(_), None) => Some(self.file(chain, Use::Write)?),
            (_, held) => held,
        };
        let (place, meant);
        let mut on = match &held {
            Some(held) => On::Fd(held.fd()),
            None => {
                place = self.place(chain)?;
                On::Place(self, &place)
            }
        };
        let owner = owner(change, None);
        let bits = change.mode.filter(|&bits| !self.is_mode_known(chain, &on, change, bits));
        if let On::Place(_, place) = on
            && (owner.is_some() || bits.is_some() || chain.fileid().is_none() && times(change).is_some())
        {
            // A time alone does no harm that is worth three system calls for each file that was made: 12 % of an extraction on tmpfs.
            meant = self.hold_meant(chain, place)?;
            on = meant.as_ref().map_or(on, |held| On::Held(place, held.as_fd()));
        }
        if let Some((uid, gid)) = owner {
            on.chown(uid, gid)?;
        }
        if let Some(bits) = bits {
            on.chmod(bits)?;
        }
        if let Some(size) = change.size {
            on.resize(size)?;
            if let Some(bits) = bits.filter(|bits| bits & 0o6000 != 0) {
                on.chmod(bits)?;
            }
        }
        on.set_times(change)?;
        if change.is_empty() {
            on.stat()?;
        }
        match held {
            // The mtime is set last, when all is written: the file need not stay open.
            Some(held) if change.mtime != SetTime::Keep => self.send(chain, held, true)?,
            _ => {}
        }
        Ok(None)
    }

    /// True when the object is known to have this mode: no chmod is needed, which by a place takes four system calls. On NFS chmod and
    /// utimensat are a SETATTR each, and what the kernel remembers is believed of a directory that this process made alone.
    fn is_mode_known(&self, chain: &Chain, on: &On<'_>, change: &AttrChange, bits: u32) -> bool {
        let On::Place(_, place) = on else { return false };
        let believed = !self.nfs || chain.fresh.load(Ordering::Relaxed);
        // Giving an object away changes its mode, on a server in its own way.
        let sure = believed && change.uid.or(change.gid).is_none();
        // Without asking the server.
        let flags = if self.nfs { ITSELF | AtFlags::STATX_DONT_SYNC } else { ITSELF };
        let is = || Which::at(place.fd(), place.name(), flags).ok();
        sure && is().is_some_and(|is| is.mode & 0o7777 == bits & 0o7777)
    }

    /// REMOVE, or RMDIR by its flag. `near` is the directory of the one before: in a window of them it is mostly the same.
    pub(super) fn remove(&self, near: &mut Near, dir: &Node, name: &Name, flags: AtFlags) -> Out<()> {
        let chain = self.chain(dir)?;
        if near.as_ref().is_none_or(|(id, _)| *id != chain.id) {
            let held = self.dir(chain)?;
            if !self.nfs && self.was_moved(chain, &held) {
                return Err(Status::Stale);
            }
            *near = Some((chain.id, held));
        }
        let Some((_, held)) = near else { return Err(Status::ServerFault) };
        let remove = || retry_on_intr(|| unlinkat(held.fd(), name.as_bytes(), flags));
        // Of a local name that is no directory's, only a file may be open.
        if self.nfs || flags.is_empty() {
            if self.nfs || self.descriptors.has_files() {
                self.descriptors.forget(chain.id, name);
            }
            return remove().map_err(status);
        }
        let removed = remove();
        let lives = removed == Err(Errno::NOENT) && self.descriptors.lives(chain.id, name);
        self.descriptors.forget(chain.id, name);
        if lives { Err(Status::Stale) } else { removed.map_err(status) }
    }

    /// Is an open directory elsewhere than where it was found, having been moved? What is removed goes by names, which lead to it no more; what
    /// is open under them is let go of. Not asked of an NFS client: it would ask the server for `..`.
    fn was_moved(&self, chain: &Chain, held: &Held) -> bool {
        let Some((Node::Chain(up), name)) = &chain.parent else { return false };
        let Ok(above) = self.dir(up) else { return false };
        let number = |fd: BorrowedFd<'_>, name: &CStr, flags| {
            let is = Which::at(fd, name, flags | AtFlags::STATX_DONT_SYNC).ok()?;
            Some((is.device, is.fileid))
        };
        let is = number(held.fd(), c"..", AtFlags::empty());
        let was_moved = is.is_some() && is != number(above.fd(), c"", AtFlags::EMPTY_PATH);
        if was_moved {
            self.descriptors.forget(up.id, name);
        }
        was_moved
    }

    pub(super) fn rename(&self, from_dir: &Node, from: &Name, to_dir: &Node, to: &Name) -> Out<()> {
        let (source, target) = (self.place_in(from_dir, from)?, self.place_in(to_dir, to)?);
        self.descriptors.forget(self.chain(from_dir)?.id, from);
        self.descriptors.forget(self.chain(to_dir)?.id, to);
        retry_on_intr(|| renameat(source.fd(), source.name(), target.fd(), target.name())).map_err(status)
    }

    pub(super) fn link(&self, node: &Node, dir: &Node, name: &Name) -> Out<Option<Attr>> {
        let (source, target) = (self.place_of(node)?, self.place_in(dir, name)?);
        // By a name that another mount has given to another file since, this client would link the one it remembers.
        let chain = self.chain(node)?;
        if self.nfs && chain.fileid().is_some() && !self.is_same(chain, &self.hold(&source)?) {
            return Err(Status::Stale);
        }
        let no_flags = AtFlags::empty(); // a symlink itself gets the name
        match retry_on_intr(|| linkat(source.fd(), source.name(), target.fd(), target.name(), no_flags)) {
            Ok(()) => Ok(None),
            // link(2) says EPERM for directories; NFSv3's servers say ISDIR.
            Err(Errno::PERM) if source.stat().is_ok_and(|stat| kind(&stat) == Kind::Dir) => Err(Status::IsDir),
            Err(errno) => Err(status(errno)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;
    use crate::storage::{Call, How, Mount, Op, Stable};

    /// Its directory is somebody else's, who may rename what is in it: the mode is for the file that was made.
    #[test]
    fn what_took_a_new_file_s_name_gets_neither_its_mode_nor_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        let mount = LocalMount::open(dir.path()).unwrap();
        let (root, f) = (mount.root(), Name::new(b"f").unwrap());
        let mut calls = [Call::create(&root, &f, How::Guarded, AttrChange::default())];
        mount.perform(&mut calls);
        let node = calls[0].found().unwrap().node;
        mount.perform(&mut [Call::write(&node, 0, b"data", Stable::FileSync), Call::commit(&node, 0, 0)]);
        let set = |change| {
            let mut calls = [Call::set_attr(&node, change)];
            mount.perform(&mut calls);
            calls[0].status()
        };
        let mode = |bits| AttrChange { mode: Some(bits), ..AttrChange::default() };
        let is = || fs::metadata(dir.path().join("f")).unwrap().permissions().mode() & 0o7777;
        // The time lets go of the file.
        set(AttrChange { mtime: SetTime::Now, ..AttrChange::default() }).unwrap();
        set(mode(0o640)).unwrap();
        assert_eq!(is(), 0o640);
        fs::write(dir.path().join("secret"), "").unwrap();
        fs::set_permissions(dir.path().join("secret"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::rename(dir.path().join("f"), dir.path().join("g")).unwrap();
        fs::rename(dir.path().join("secret"), dir.path().join("f")).unwrap();
        assert_eq!(set(mode(0o4755)), Err(Status::Stale));
        let mut calls = [Call::set_xattr(&node, b"user.parfs", b"x")];
        mount.perform(&mut calls);
        assert_eq!(calls[0].status(), Err(Status::Stale));
        let uid = AttrChange { uid: Some(rustix::process::getuid().as_raw()), ..AttrChange::default() };
        assert_eq!(set(uid), Err(Status::Stale));
        assert_eq!(is(), 0o600);
    }

    /// The same of what was met under a name: what is put there since is not written into, given away, dated or opened.
    #[test]
    fn what_took_the_name_of_what_was_met_is_left_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let mount = LocalMount::open(dir.path()).unwrap();
        let root = mount.root();
        let path = |name: &str| dir.path().join(name);
        let listed = {
            fs::create_dir(path("d")).unwrap();
            fs::write(path("f"), "old").unwrap();
            let mut calls =
                [Call::read_dir(&root, crate::storage::Cookie::default(), crate::storage::Want::Attributes, 1 << 16)];
            mount.perform(&mut calls);
            let Op::ReadDir { out: Ok(page), .. } = &calls[0].op else { panic!() };
            page.entries.iter().map(|entry| entry.node.clone().unwrap()).collect::<Vec<_>>()
        };
        let looked_up = ["d", "f"].map(|name| {
            let name = Name::new(name.as_bytes()).unwrap();
            let mut calls = [Call::lookup(&root, &name)];
            mount.perform(&mut calls);
            calls[0].found().unwrap().node
        });
        let nodes = || listed.iter().chain(&looked_up);
        let status = |call: Call<'_>| {
            let mut calls = [call];
            mount.perform(&mut calls);
            calls[0].status()
        };
        let uid = rustix::process::getuid().as_raw();
        let changes = [
            AttrChange { mode: Some(0o4755), ..AttrChange::default() },
            AttrChange { uid: Some(uid), ..AttrChange::default() },
            AttrChange { mtime: SetTime::At(Default::default()), ..AttrChange::default() },
        ];
        for node in nodes() {
            for change in changes {
                status(Call::set_attr(node, change)).unwrap();
            }
        }
        for name in ["d", "f"] {
            fs::write(path("evil"), "evil").unwrap();
            fs::set_permissions(path("evil"), fs::Permissions::from_mode(0o600)).unwrap();
            fs::rename(path(name), path(&format!("{name}.away"))).unwrap();
            fs::rename(path("evil"), path(name)).unwrap();
        }
        let is = || ["d", "f"].map(|name| fs::metadata(path(name)).unwrap());
        let told = |is: [fs::Metadata; 2]| is.map(|is| (is.mode(), is.uid(), is.mtime(), is.len()));
        let before = told(is());
        for node in nodes() {
            for change in changes {
                assert_eq!(status(Call::set_attr(node, change)), Err(Status::Stale), "{node:?} {change:?}");
            }
            let size = AttrChange { size: Some(0), ..AttrChange::default() };
            assert_eq!(status(Call::set_attr(node, size)), Err(Status::Stale));
            assert_eq!(status(Call::write(node, 0, b"data", Stable::FileSync)), Err(Status::Stale));
            assert_eq!(status(Call::set_xattr(node, b"user.parfs", b"x")), Err(Status::Stale));
        }
        assert_eq!(told(is()), before);
    }
}
