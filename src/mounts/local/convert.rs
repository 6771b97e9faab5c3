//! Between the kernel's words and NFSv3's: errors, attributes, times.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{
    AtFlags, FileType, Gid, Mode, Stat, StatxFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, Uid, fstat, major,
    minor, statat, statx,
};
use rustix::io::Errno;
use rustix::path::Arg;

use crate::base::{Status, Time};
use crate::storage::{Attr, AttrChange, Kind, SetTime};

/// The object itself, also when it is a symlink.
pub(super) const ITSELF: AtFlags = AtFlags::SYMLINK_NOFOLLOW;

pub(super) fn status(errno: Errno) -> Status {
    Status::from_errno(errno.raw_os_error())
}

pub(super) fn kind(stat: &Stat) -> Kind {
    kind_of(FileType::from_raw_mode(stat.st_mode))
}

/// The type; a `FileType::Unknown` passes for a file.
pub(super) fn kind_of(file_type: FileType) -> Kind {
    match file_type {
        FileType::Directory => Kind::Dir,
        FileType::Symlink => Kind::Symlink,
        FileType::BlockDevice => Kind::Block,
        FileType::CharacterDevice => Kind::Char,
        FileType::Fifo => Kind::Fifo,
        FileType::Socket => Kind::Socket,
        FileType::RegularFile | FileType::Unknown => Kind::File,
    }
}

/// The twelve permission bits.
pub(super) fn mode_bits(stat: &Stat) -> u32 {
    stat.st_mode & 0o7777
}

#[allow(clippy::unnecessary_cast, clippy::useless_conversion)] // the fields' types differ by architecture
pub(super) fn attr(stat: &Stat) -> Attr {
    let time = |secs: i64, nanos: u64| Time { secs, nanos: nanos as u32 };
    Attr {
        kind: kind(stat),
        mode: mode_bits(stat),
        nlink: u32::try_from(stat.st_nlink).unwrap_or(u32::MAX),
        uid: stat.st_uid,
        gid: stat.st_gid,
        size: u64::try_from(stat.st_size).unwrap_or(0),
        used: u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512),
        rdev: (rustix::fs::major(stat.st_rdev), rustix::fs::minor(stat.st_rdev)),
        fsid: stat.st_dev,
        fileid: stat.st_ino,
        atime: time(stat.st_atime as i64, stat.st_atime_nsec as u64),
        mtime: time(stat.st_mtime as i64, stat.st_mtime_nsec as u64),
        ctime: time(stat.st_ctime as i64, stat.st_ctime_nsec as u64),
    }
}

/// What making an object may have made other than was asked for, and the object's id.
#[derive(Clone, Copy)]
pub(super) struct Is {
    pub kind: Kind,
    pub bits: u32,
    pub uid: u32,
    pub gid: u32,
    pub fileid: u64,
}

impl From<&Stat> for Is {
    fn from(stat: &Stat) -> Is {
        let (uid, gid, fileid) = (stat.st_uid, stat.st_gid, stat.st_ino);
        Is { kind: kind(stat), bits: mode_bits(stat), uid, gid, fileid }
    }
}

/// Which object stands at a name, or is open.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Which {
    pub device: (u32, u32),
    pub fileid: u64,
    /// With its type.
    pub mode: u32,
}

impl Which {
    /// Of a name in `dir`, or of `dir` itself, as `flags` say. Before Linux 4.11 an NFS server may be asked, whatever they say of that.
    pub fn at(dir: impl AsFd + Copy, name: impl Arg + Copy, flags: AtFlags) -> Result<Which, Errno> {
        let what = StatxFlags::TYPE | StatxFlags::MODE | StatxFlags::INO;
        match statx(dir, name, flags, what) {
            Ok(is) => {
                let device = (is.stx_dev_major, is.stx_dev_minor);
                Ok(Which { device, fileid: is.stx_ino, mode: is.stx_mode.into() })
            }
            Err(Errno::NOSYS) => {
                let is = statat(dir, name, flags - AtFlags::STATX_DONT_SYNC)?;
                let device = (major(is.st_dev), minor(is.st_dev));
                Ok(Which { device, fileid: is.st_ino, mode: is.st_mode })
            }
            Err(errno) => Err(errno),
        }
    }
}

impl Is {
    /// Of an open file. Its times are not asked for: whose times were asked for gets its next ones by a finer clock and at each change
    /// (Linux 6.13, multigrain timestamps), which is of no use in a file that is yet to be written.
    pub fn of(file: BorrowedFd<'_>) -> Result<Is, Errno> {
        let what = StatxFlags::TYPE | StatxFlags::MODE | StatxFlags::UID | StatxFlags::GID | StatxFlags::INO;
        let Ok(is) = statx(file, c"", AtFlags::EMPTY_PATH, what) else { return Ok(Is::from(&fstat(file)?)) };
        let mode = u32::from(is.stx_mode);
        let kind = kind_of(FileType::from_raw_mode(mode));
        Ok(Is { kind, bits: mode & 0o7777, uid: is.stx_uid, gid: is.stx_gid, fileid: is.stx_ino })
    }
}

pub(super) fn mode(bits: u32) -> Mode {
    Mode::from_raw_mode(bits & 0o7777)
}

/// The owner to be set, unless it is what it should be.
pub(super) fn owner(change: &AttrChange, is: Option<&Is>) -> Option<(Option<Uid>, Option<Gid>)> {
    // 2^32 - 1 is the kernel's "leave it": no owner can be that.
    let uid = change.uid.filter(|&uid| uid != u32::MAX && is.is_none_or(|is| is.uid != uid));
    let gid = change.gid.filter(|&gid| gid != u32::MAX && is.is_none_or(|is| is.gid != gid));
    (uid.is_some() || gid.is_some()).then(|| (uid.map(Uid::from_raw), gid.map(Gid::from_raw)))
}

/// The times to be set, if any.
pub(super) fn times(change: &AttrChange) -> Option<Timestamps> {
    let time = |set: SetTime| match set {
        SetTime::Keep => Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        SetTime::Now => Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
        // Beyond a second, nanoseconds would be taken for one of the two constants above.
        SetTime::At(at) => Timespec { tv_sec: at.secs, tv_nsec: at.nanos.min(999_999_999).into() },
    };
    let any = change.atime != SetTime::Keep || change.mtime != SetTime::Keep;
    any.then(|| Timestamps { last_access: time(change.atime), last_modification: time(change.mtime) })
}
