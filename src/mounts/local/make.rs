//! CREATE, MKDIR, SYMLINK and MKNOD: new objects with exactly the attributes asked for.
//!
//! When an attribute cannot be set (an owner without the right to give files away), the call fails and the object
//! stays, as it does on a server that stops half way.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;

use rustix::fs::{
    AtFlags, FileType, OFlags, RawDir, Stat, StatxFlags, Timespec, Timestamps, fstat, futimens, getxattr, makedev,
    mkdirat, mknodat, statat, statx, symlinkat,
};
use rustix::io::{Errno, retry_on_intr};

use crate::base::{Name, Status};
use crate::storage::{AttrChange, Errand, Found, How, Kind, Node, Out, SetTime, Special};

use super::at_calls;
use super::convert::{ITSELF, Is, attr, kind, mode, mode_bits, owner, status};
use super::data::QUIET;
use super::descriptors::Use;
use super::fresh::Verdict;
use super::modify::{On, shown_in_proc};
use super::{LocalMount, Place};

/// Modes of new objects when none is asked for. Not the process's umask: parfs sets that to 0.
pub(super) const FILE_MODE: u32 = 0o644;
const DIR_MODE: u32 = 0o755;
const DEFAULT_ACL: &str = "system.posix_acl_default";

/// The times in which an exclusive CREATE keeps its verifier, as Linux's server does: 31 bits in each.
fn verifier_times(verifier: u64) -> Timestamps {
    let time = |bits: u64| Timespec { tv_sec: (bits & 0x7fff_ffff) as i64, tv_nsec: 0 };
    Timestamps { last_access: time(verifier >> 32), last_modification: time(verifier) }
}

impl LocalMount {
    /// The mode that making an object in `dir` asks for. This process has no umask: it is the job that took it off.
    pub(super) fn asked(&self, dir: &Node, change: &AttrChange, unasked: u32) -> Result<u32, Status> {
        let bits = change.mode.unwrap_or(unasked);
        let Some(masked) = change.masked.filter(|masked| masked & !bits != 0) else { return Ok(bits) };
        Ok(if self.has_default_acl(dir)? { bits | masked } else { bits })
    }

    fn has_default_acl(&self, dir: &Node) -> Result<bool, Status> {
        let chain = self.chain(dir)?;
        if let Some(has) = chain.default_acl.get() {
            return Ok(*has);
        }
        let held = self.dir(chain)?;
        let path = shown_in_proc(held.fd());
        // What cannot be asked has none: of two modes the one that lets fewer in. No ACL fits.
        let mut byte = [0; 1];
        let mut asked = retry_on_intr(|| getxattr(&path, DEFAULT_ACL, &mut byte[..]));
        if asked == Err(Errno::NOENT) {
            asked = retry_on_intr(|| at_calls::get_xattr(held.fd(), b".", DEFAULT_ACL.as_bytes(), &mut byte));
        }
        let has = asked == Err(Errno::RANGE);
        Ok(*chain.default_acl.get_or_init(|| has))
    }

    /// `repeated` is set where a name that exists may be this very call's work.
    pub(super) fn create(
        &self,
        dir: &Node,
        name: &Name,
        how: How,
        change: &AttrChange,
        repeated: &mut bool,
    ) -> Out<Found> {
        let place = self.place_in(dir, name)?;
        if change.size.is_some_and(|size| size > self.limits.size_max) {
            return Err(Status::FBig);
        }
        match how {
            How::Guarded => {
                let plain = self.is_plain(dir, change)?;
                // Held while the mount's first file is made.
                let mut first = (plain && !self.learned.is_ready()).then(|| self.learned.first());
                if plain && self.learned.is_ready() {
                    first = None;
                    if let Some((fd, stat)) = self.try_plain(dir, &place, change, repeated)? {
                        return self.made_new(dir, &place, change, fd, stat);
                    }
                }
                let made = self.create_new(dir, &place, change, repeated);
                drop(first);
                made
            }
            How::Exclusive(verifier) => self.create_exclusive(dir, &place, verifier),
            How::Unchecked => self.create_unchecked(dir, &place, change, repeated),
        }
    }

    fn create_new(&self, dir: &Node, place: &Place, change: &AttrChange, repeated: &mut bool) -> Out<Found> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY;
        let bits = mode(self.asked(dir, change, FILE_MODE)?);
        let fd = self.open_at(place.fd(), place.name(), flags, bits).map_err(status)?;
        let stat = fstat(&fd).map_err(status)?;
        if self.learned.is_of_use() && !self.learned.made(&stat) {
            *repeated = true;
            return Err(Status::Exist);
        }
        self.made_new(dir, place, change, fd, stat)
    }

    fn made_new(&self, dir: &Node, place: &Place, change: &AttrChange, fd: OwnedFd, stat: Stat) -> Out<Found> {
        let changed = self.settle(&On::Fd(fd.as_fd()), &Is::from(&stat), change)?;
        let bits = change.exact_mode().unwrap_or(mode_bits(&stat));
        let found = self.keep_open(dir, place, fd, bits, (!changed).then_some(&stat))?;
        let chain = self.chain(&found.node)?;
        chain.note(stat.st_ino);
        chain.is_first_opened(Errand::Made);
        Ok(found)
    }

    /// May the file be made without O_EXCL: in a directory where nothing is that this process did not put there?
    fn is_plain(&self, dir: &Node, change: &AttrChange) -> Result<bool, Status> {
        // A server may refuse set-id bits in its own way; O_EXCL sets them by a SETATTR.
        let set_id = change.mode.is_some_and(|bits| bits & 0o7000 != 0);
        Ok(self.learned.is_of_use() && !set_id && self.is_fresh(dir)?)
    }

    /// Makes a file without O_EXCL. None where that did not show that it is new: O_EXCL will tell.
    fn try_plain(
        &self,
        dir: &Node,
        place: &Place,
        change: &AttrChange,
        repeated: &mut bool,
    ) -> Out<Option<(OwnedFd, Stat)>> {
        let bits = self.asked(dir, change, FILE_MODE)?;
        let Some(tried) = self.learned.begin(bits & !self.umask) else { return Ok(None) };
        // Whatever this meets is met again, and told, by the open with O_EXCL.
        let flags = OFlags::CREATE | OFlags::WRONLY | QUIET;
        let Ok(fd) = self.open_at(place.fd(), place.name(), flags, mode(bits)) else { return Ok(None) };
        let stat = fstat(&fd).map_err(status)?;
        match self.learned.end(&tried, &stat) {
            Verdict::New => return Ok(Some((fd, stat))),
            Verdict::Old => {}
            Verdict::Doubtful => {
                self.chain(dir)?.fresh.store(false, Ordering::Relaxed);
                *repeated = true;
            }
        }
        Ok(None)
    }

    /// Is there nothing in the directory but what this process put there? Of the mount's own directory that is found out by
    /// reading it, once.
    fn is_fresh(&self, dir: &Node) -> Result<bool, Status> {
        let chain = self.chain(dir)?;
        if chain.parent.is_none() {
            self.root_read.get_or_init(|| {
                if self.is_root_empty().unwrap_or(false) {
                    chain.fresh.store(true, Ordering::Relaxed);
                }
            });
        }
        Ok(chain.fresh.load(Ordering::Relaxed))
    }

    fn is_root_empty(&self) -> Result<bool, Errno> {
        // What a kernel remembers of an NFS directory may be a minute old.
        statx(self.root.fd(), "", AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC, StatxFlags::BASIC_STATS)?;
        let fd = self.open_at(self.root.fd(), b".", OFlags::RDONLY | OFlags::DIRECTORY, mode(0))?;
        let mut buf = Vec::with_capacity(4096);
        let mut entries = RawDir::new(fd, buf.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Opens what is there, or makes it. One open does both, unless the attributes to be set would have to tell one from the other.
    fn create_unchecked(&self, dir: &Node, place: &Place, change: &AttrChange, repeated: &mut bool) -> Out<Found> {
        let bits = self.asked(dir, change, FILE_MODE)?;
        let times = change.atime != SetTime::Keep || change.mtime != SetTime::Keep;
        let apart = change.uid.or(change.gid).is_some() || times || bits & self.umask != 0;
        let mut flags = OFlags::WRONLY | QUIET;
        if apart {
            match self.create_new(dir, place, change, repeated) {
                Err(Status::Exist) => {}
                made => return made,
            }
        } else {
            flags |= OFlags::CREATE;
        }
        if change.size == Some(0) {
            flags |= OFlags::TRUNC;
        }
        let fd = self.open_at(place.fd(), place.name(), flags, mode(bits)).map_err(|errno| match errno {
            Errno::LOOP | Errno::ISDIR | Errno::NXIO | Errno::NODEV => Status::Exist, // not a regular file
            errno => status(errno),
        })?;
        let mut stat = fstat(&fd).map_err(status)?;
        if kind(&stat) != Kind::File {
            return Err(Status::Exist);
        }
        if let Some(size) = change.size.filter(|&size| size != 0) {
            On::Fd(fd.as_fd()).resize(size)?;
            stat = fstat(&fd).map_err(status)?;
        }
        self.keep_open(dir, place, fd, mode_bits(&stat), Some(&stat))
    }

    /// RFC 1813 3.3.8: EXIST, unless the same request made the file (its reply was lost).
    fn create_exclusive(&self, dir: &Node, place: &Place, verifier: u64) -> Out<Found> {
        let times = verifier_times(verifier);
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY;
        match self.open_at(place.fd(), place.name(), flags, mode(FILE_MODE)) {
            Ok(fd) => {
                futimens(&fd, &times).map_err(status)?;
                let stat = fstat(&fd).map_err(status)?;
                self.keep_open(dir, place, fd, mode_bits(&stat), Some(&stat))
            }
            Err(Errno::EXIST) => {
                let stat = place.stat()?;
                let is = attr(&stat);
                let ours = (is.atime.secs, is.mtime.secs) == (times.last_access.tv_sec, times.last_modification.tv_sec);
                if ours && is.kind == Kind::File && is.size == 0 {
                    self.found(dir, place, Some(&stat))
                } else {
                    Err(Status::Exist)
                }
            }
            Err(errno) => Err(status(errno)),
        }
    }

    fn found(&self, dir: &Node, place: &Place, stat: Option<&Stat>) -> Out<Found> {
        let name = place.name.clone().ok_or(Status::Inval)?;
        Ok(Found { node: Node::child(self.chain(dir)?, name), attr: stat.map(attr) })
    }

    /// A new file stays open for the WRITE that follows.
    fn keep_open(&self, dir: &Node, place: &Place, fd: OwnedFd, bits: u32, stat: Option<&Stat>) -> Out<Found> {
        let found = self.found(dir, place, stat)?;
        self.descriptors.keep(self.chain(&found.node)?, Use::Write, self.for_writing(fd, bits));
        Ok(found)
    }

    pub(super) fn mkdir(&self, dir: &Node, name: &Name, change: &AttrChange) -> Out<Found> {
        let place = self.place_in(dir, name)?;
        let bits = mode(self.asked(dir, change, DIR_MODE)?);
        retry_on_intr(|| mkdirat(place.fd(), place.name(), bits)).map_err(status)?;
        let found = self.made(dir, &place, FileType::Directory, change)?;
        let chain = self.chain(&found.node)?;
        chain.fresh.store(true, Ordering::Relaxed);
        if self.nfs {
            // The first to look into it asks the server whether it may (ACCESS). Better once now than by each lane at once then.
            let _may = self.dir(chain).map(|dir| statat(dir.fd(), ".", ITSELF));
            chain.is_first_asked(Errand::Made);
        }
        Ok(found)
    }

    pub(super) fn symlink(&self, dir: &Node, name: &Name, target: &[u8], change: &AttrChange) -> Out<Found> {
        let place = self.place_in(dir, name)?;
        retry_on_intr(|| symlinkat(target, place.fd(), place.name())).map_err(status)?;
        self.made(dir, &place, FileType::Symlink, &AttrChange { mode: None, ..*change }) // Linux: a symlink has no mode of its own
    }

    pub(super) fn mknod(&self, dir: &Node, name: &Name, special: Special, change: &AttrChange) -> Out<Found> {
        let place = self.place_in(dir, name)?;
        // As the kernel, which takes 12 bits and 20 (MAJOR and MINOR of its dev_t), says of numbers that reach it whole.
        if let Special::Char(major, minor) | Special::Block(major, minor) = special
            && (major >= 1 << 12 || minor >= 1 << 20)
        {
            return Err(Status::Inval);
        }
        let (kind, rdev) = match special {
            Special::Char(major, minor) => (FileType::CharacterDevice, makedev(major, minor)),
            Special::Block(major, minor) => (FileType::BlockDevice, makedev(major, minor)),
            Special::Socket => (FileType::Socket, 0),
            Special::Fifo => (FileType::Fifo, 0),
        };
        let bits = mode(self.asked(dir, change, FILE_MODE)?);
        retry_on_intr(|| mknodat(place.fd(), place.name(), kind, bits, rdev)).map_err(status)?;
        self.made(dir, &place, kind, change)
    }

    /// What follows where an object of this type was made. Who may write to its directory can have put another one under its name by now,
    /// and can at any time: the object that is looked at, and is what was made, gets the owner and the mode.
    fn made(&self, dir: &Node, place: &Place, what: FileType, change: &AttrChange) -> Out<Found> {
        let stat = place.stat()?;
        if FileType::from_raw_mode(stat.st_mode) != what {
            return Err(Status::Stale);
        }
        let (is, change) = (Is::from(&stat), AttrChange { size: None, ..*change });
        let is_due =
            owner(&change, Some(&is)).is_some() || change.exact_mode().is_some_and(|bits| bits & 0o7777 != is.bits);
        let held = if is_due { Some(self.hold_seen(place, &stat)?) } else { None };
        let on = held.as_ref().map_or(On::Place(self, place), |held| On::Held(place, held.as_fd()));
        let changed = self.settle(&on, &is, &change)?;
        let found = self.found(dir, place, (!changed).then_some(&stat))?;
        self.chain(&found.node)?.note(stat.st_ino);
        Ok(found)
    }

    /// Sets what making the object could not: its owner when another is asked for, its mode where the kernel took bits
    /// off (umask, mkdir's set-id bits, chown), its size and times. Returns whether it was changed from what `is` says.
    ///
    /// Its caller's look at the object stays: a default ACL, a set-group-id directory or a mount option may have made the object another than
    /// was asked for, and any of them may have come since the last object was made there.
    pub(super) fn settle(&self, on: &On<'_>, is: &Is, change: &AttrChange) -> Result<bool, Status> {
        let mut touched = false;
        let owner = owner(change, Some(is));
        if let Some((uid, gid)) = owner {
            on.chown(uid, gid)?;
            touched = true;
        }
        if let Some(want) = change.exact_mode() {
            // A new directory inherits the set-group-id bit of its parent, on servers as here.
            let inherited = if is.kind == Kind::Dir { is.bits & 0o2000 } else { 0 };
            let want = (want & 0o7777) | inherited;
            if want != is.bits || (owner.is_some() && want & 0o6000 != 0) {
                on.chmod(want)?;
                touched = true;
            }
        }
        if let Some(size) = change.size.filter(|&size| size != 0) {
            on.resize(size)?;
            touched = true;
        }
        touched |= on.set_times(change)?;
        Ok(touched)
    }
}
