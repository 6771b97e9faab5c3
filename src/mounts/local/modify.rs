//! SETATTR, REMOVE, RMDIR, RENAME and LINK.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::fs::{
    AtFlags, CWD, Gid, Mode, OFlags, Stat, StatxFlags, Uid, chmodat, chownat, fchmod, fchown, fstat, ftruncate,
    futimens, linkat, renameat, statx, unlinkat, utimensat,
};
use rustix::io::{Errno, retry_on_intr};

use crate::base::{Name, Status};
use crate::storage::{Attr, AttrChange, Chain, Kind, Node, Out, SetTime};

use super::convert::{ITSELF, kind, mode, owner, status, times};
use super::data::QUIET;
use super::descriptors::{Held, Use};
use super::{LocalMount, Place};

/// A directory that was used last: its chain's id and its descriptor.
pub(super) type Near = Option<(u64, Arc<Held>)>;

/// What attributes are set on: an open file, or an object by its place.
pub(super) enum On<'a> {
    Fd(BorrowedFd<'a>),
    Place(&'a LocalMount, &'a Place),
}

impl On<'_> {
    pub(super) fn stat(&self) -> Result<Stat, Status> {
        match self {
            On::Fd(fd) => fstat(fd).map_err(status),
            On::Place(_, place) => place.stat(),
        }
    }

    pub(super) fn chown(&self, uid: Option<Uid>, gid: Option<Gid>) -> Result<(), Status> {
        retry_on_intr(|| match self {
            On::Fd(fd) => fchown(fd, uid, gid),
            On::Place(_, place) => chownat(place.fd(), place.name(), uid, gid, ITSELF),
        })
        .map_err(status)
    }

    pub(super) fn chmod(&self, bits: u32) -> Result<(), Status> {
        match self {
            On::Fd(fd) => retry_on_intr(|| fchmod(fd, mode(bits))).map_err(status),
            On::Place(mount, place) => mount.chmod(place, mode(bits)),
        }
    }

    pub(super) fn resize(&self, size: u64) -> Result<(), Status> {
        match self {
            On::Fd(fd) => retry_on_intr(|| ftruncate(fd, size)).map_err(status),
            On::Place(..) => Err(Status::Inval),
        }
    }

    /// Sets times, if any are to be; true when it did.
    pub(super) fn set_times(&self, change: &AttrChange) -> Result<bool, Status> {
        let Some(times) = times(change) else { return Ok(false) };
        retry_on_intr(|| match self {
            On::Fd(fd) => futimens(fd, &times),
            On::Place(_, place) => utimensat(place.fd(), place.name(), &times, ITSELF),
        })
        .map_err(status)?;
        Ok(true)
    }
}

impl LocalMount {
    /// chmod without following a symlink, which Linux has no old system call for: the object is held by `O_PATH` and reached
    /// through its descriptor's name in /proc; without /proc, by opening it.
    fn chmod(&self, place: &Place, mode: Mode) -> Result<(), Status> {
        let held = self.open_at(place.fd(), place.name(), OFlags::PATH, Mode::empty()).map_err(status)?;
        if kind(&fstat(&held).map_err(status)?) == Kind::Symlink {
            return Err(Status::NotSupp); // Linux: a symlink has no mode of its own
        }
        match chmodat(CWD, format!("/proc/self/fd/{}", held.as_raw_fd()), mode, AtFlags::empty()) {
            Err(Errno::NOENT) => {
                let flags = OFlags::RDONLY | QUIET;
                let open = self.open_at(place.fd(), place.name(), flags, Mode::empty()).map_err(status)?;
                fchmod(&open, mode).map_err(status)
            }
            set => set.map_err(status),
        }
    }

    /// In this order: chown takes set-id bits off, truncation changes the mtime.
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
        let place;
        let on = match &held {
            Some(held) => On::Fd(held.fd()),
            None => {
                place = self.place(chain)?;
                On::Place(self, &place)
            }
        };
        if let Some((uid, gid)) = owner(change, None) {
            on.chown(uid, gid)?;
        }
        if let Some(bits) = change.mode.filter(|&bits| !self.is_mode_known(chain, &on, change, bits)) {
            on.chmod(bits)?;
        }
        if let Some(size) = change.size {
            on.resize(size)?;
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
        let is = || statx(place.fd(), place.name(), flags, StatxFlags::MODE).ok();
        sure && is().is_some_and(|is| u32::from(is.stx_mode) & 0o7777 == bits & 0o7777)
    }

    /// REMOVE, or RMDIR by its flag. `near` is the directory of the one before: in a window of them it is mostly the same.
    pub(super) fn remove(&self, near: &mut Near, dir: &Node, name: &Name, flags: AtFlags) -> Out<()> {
        let chain = self.chain(dir)?;
        if near.as_ref().is_none_or(|(id, _)| *id != chain.id) {
            *near = Some((chain.id, self.dir(chain)?));
        }
        let Some((_, held)) = near else { return Err(Status::ServerFault) };
        // Of a local name that is no directory's, only a file may be open.
        if self.nfs || !flags.is_empty() || self.descriptors.has_files() {
            self.descriptors.forget(chain.id, name);
        }
        retry_on_intr(|| unlinkat(held.fd(), name.as_bytes(), flags)).map_err(status)
    }

    pub(super) fn rename(&self, from_dir: &Node, from: &Name, to_dir: &Node, to: &Name) -> Out<()> {
        let (source, target) = (self.place_in(from_dir, from)?, self.place_in(to_dir, to)?);
        self.descriptors.forget(self.chain(from_dir)?.id, from);
        self.descriptors.forget(self.chain(to_dir)?.id, to);
        retry_on_intr(|| renameat(source.fd(), source.name(), target.fd(), target.name())).map_err(status)
    }

    pub(super) fn link(&self, node: &Node, dir: &Node, name: &Name) -> Out<Option<Attr>> {
        let (source, target) = (self.place_of(node)?, self.place_in(dir, name)?);
        let no_flags = AtFlags::empty(); // a symlink itself gets the name
        match retry_on_intr(|| linkat(source.fd(), source.name(), target.fd(), target.name(), no_flags)) {
            Ok(()) => Ok(None),
            // link(2) says EPERM for directories; NFSv3's servers say ISDIR.
            Err(Errno::PERM) if source.stat().is_ok_and(|stat| kind(&stat) == Kind::Dir) => Err(Status::IsDir),
            Err(errno) => Err(status(errno)),
        }
    }
}
