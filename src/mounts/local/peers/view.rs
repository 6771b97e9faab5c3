//! A kernel mount as a proof looks at it: two open directories.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    Access, AtFlags, CWD, Dir, Mode, OFlags, StatxFlags, accessat, inotify, openat, statat, statx, symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::mountinfo::{Entry, Table};
use super::proof::{Seen, Spot, View};
use super::reason::Reason;

/// Names of a listing that are compared.
const NAMES_MAX: usize = 64;

/// The text of a name that proves something.
const SAYS: &str = "parfs made this to see whether two mounts show one file system; it can be removed";

/// An open directory, with the mount that it was reached through.
#[derive(Debug)]
pub struct Located {
    /// The directory, for its path only.
    pub dir: OwnedFd,
    /// The mount's id.
    pub mount: u64,
    /// Its path without symbolic links.
    pub path: PathBuf,
}

fn unlike(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Opens what is at `path`, through symbolic links, and sees where that is. May wait for as long as the server does.
pub fn locate(path: &Path) -> io::Result<Located> {
    // O_PATH asks a server nothing, so a name whose object another client has replaced is not looked up anew: this does both. Whether it can
    // be had the open says.
    let _asked = statx(CWD, path, AtFlags::STATX_FORCE_SYNC, StatxFlags::BASIC_STATS);
    let open = |flags| rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC | flags, Mode::empty());
    // As a directory, so that what is mounted on demand is.
    located(
        open(OFlags::DIRECTORY)
            .or_else(|errno| if errno == Errno::NOTDIR { open(OFlags::empty()) } else { Err(errno) })?,
    )
}

/// Where the open `dir` is.
pub fn located(dir: OwnedFd) -> io::Result<Located> {
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", dir.as_raw_fd()))?;
    let mount = info.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok());
    let path = std::fs::read_link(format!("/proc/self/fd/{}", dir.as_raw_fd()))?;
    Ok(Located { dir, mount: mount.ok_or_else(|| unlike("no mnt_id"))?, path })
}

/// The directory `way` (names with slashes between) below the open `top`, through no symbolic link.
pub fn descend(top: BorrowedFd<'_>, way: &[u8]) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at = openat(top, ".", flags, Mode::empty())?;
    for name in way.split(|&b| b == b'/').filter(|name| !name.is_empty()) {
        at = openat(&at, name, flags, Mode::empty())?;
    }
    Ok(at)
}

/// The root and the job's directory of one mount.
pub struct Opened {
    /// What both roots have in common.
    pub root: OwnedFd,
    /// The job's directory.
    pub dir: OwnedFd,
}

/// Opens both through the mount `entry`: the ways are below its mount point.
pub fn open(entry: &Entry, root: &[u8], dir: &[u8]) -> Result<Opened, Reason> {
    let top = locate(&entry.point).map_err(Reason::NotThere)?;
    let checked = |way: &[u8]| {
        let at = located(descend(top.dir.as_fd(), way).map_err(Reason::NotThere)?).map_err(Reason::NotThere)?;
        if at.mount != entry.id {
            let table = Table::read().map_err(Reason::NotThere)?;
            return Err(Reason::Within(table.get(at.mount).map_or_else(|| at.path.clone(), |on| on.point.clone())));
        }
        Ok(at.dir)
    };
    Ok(Opened { root: checked(root)?, dir: checked(dir)? })
}

/// What an open object is, asked of the server.
pub fn fresh(object: BorrowedFd<'_>) -> io::Result<Seen> {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
    let is = statx(object, "", flags, StatxFlags::BASIC_STATS).map_err(|errno| match errno {
        Errno::NOSYS => io::Error::other(
            "several mounts want Linux 4.11 or later: no older one can be made to ask the server (statx)",
        ),
        errno => errno.into(),
    })?;
    let time = |at: rustix::fs::StatxTimestamp| (at.tv_sec, at.tv_nsec);
    Ok(Seen {
        fileid: is.stx_ino,
        mode: is.stx_mode.into(),
        nlink: is.stx_nlink.into(),
        uid: is.stx_uid,
        gid: is.stx_gid,
        size: is.stx_size,
        mtime: time(is.stx_mtime),
        ctime: time(is.stx_ctime),
    })
}

/// The handle that the kernel knows an object by. A watch's fdinfo tells it (proc_pid_fdinfo(5)) without a system call that
/// no safe crate has, name_to_handle_at(2); on NFS it carries the server's.
pub fn handle(object: BorrowedFd<'_>) -> Option<Vec<u8>> {
    let watch = inotify::init(inotify::CreateFlags::CLOEXEC).ok()?;
    let path = format!("/proc/self/fd/{}", object.as_raw_fd());
    inotify::add_watch(&watch, path, inotify::WatchFlags::DELETE_SELF).ok()?;
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", watch.as_raw_fd())).ok()?;
    let line = info.lines().find(|line| line.starts_with("inotify "))?;
    let field = |name: &str| line.split_whitespace().find_map(|field| field.strip_prefix(name));
    let bytes = format!("{}:{}", field("fhandle-type:")?, field("f_handle:")?).into_bytes();
    Some(bytes)
}

impl Opened {
    /// The base's root at the way `root` below its mount point, and its directory, which is open already.
    pub fn base(entry: &Entry, root: &[u8], dir: &OwnedFd) -> io::Result<Opened> {
        let top = locate(&entry.point)?;
        Ok(Opened { root: descend(top.dir.as_fd(), root)?, dir: dir.try_clone()? })
    }

    /// Is its directory `dir`, seen through another mount of the same file system? By what the kernel knows.
    pub fn is_at(&self, dir: &OwnedFd) -> Result<(), Reason> {
        let id = |of: &OwnedFd| rustix::fs::fstat(of).map(|is| is.st_ino).map_err(io::Error::from);
        let (fileid, expected) = (id(&self.dir).map_err(Reason::NotThere)?, id(dir).map_err(Reason::base)?);
        if fileid == expected { Ok(()) } else { Err(Reason::Other { is_root: false, fileid, expected }) }
    }

    fn fd(&self, spot: Spot) -> BorrowedFd<'_> {
        match spot {
            Spot::Root => self.root.as_fd(),
            Spot::Dir => self.dir.as_fd(),
        }
    }

    fn lstat(&self, name: &str) -> io::Result<Seen> {
        let is = statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
        #[allow(clippy::unnecessary_cast, clippy::useless_conversion)] // the fields' types differ by architecture
        let time = |secs: i64, nanos: u64| (secs, nanos as u32);
        #[allow(clippy::unnecessary_cast, clippy::useless_conversion)]
        Ok(Seen {
            fileid: is.st_ino,
            mode: is.st_mode,
            nlink: is.st_nlink as u64,
            uid: is.st_uid,
            gid: is.st_gid,
            size: u64::try_from(is.st_size).unwrap_or(0),
            mtime: time(is.st_mtime as i64, is.st_mtime_nsec as u64),
            ctime: time(is.st_ctime as i64, is.st_ctime_nsec as u64),
        })
    }
}

impl View for Opened {
    fn look(&self, spot: Spot) -> io::Result<Seen> {
        fresh(self.fd(spot))
    }

    fn handle(&self, spot: Spot) -> Option<Vec<u8>> {
        handle(self.fd(spot))
    }

    fn access(&self, spot: Spot) -> u8 {
        let may = |access| match accessat(self.fd(spot), ".", access, AtFlags::EACCESS) {
            Ok(()) => true,
            // The mount's option, not the server's word.
            Err(errno) => errno == Errno::ROFS,
        };
        [Access::READ_OK, Access::WRITE_OK, Access::EXEC_OK]
            .into_iter()
            .enumerate()
            .map(|(bit, access)| u8::from(may(access)) << bit)
            .sum()
    }

    fn space(&self) -> io::Result<[u64; 4]> {
        let fs = rustix::fs::fstatvfs(&self.dir)?;
        Ok([fs.f_blocks.saturating_mul(fs.f_frsize), fs.f_bfree.saturating_mul(fs.f_frsize), fs.f_files, fs.f_ffree])
    }

    fn first_names(&self) -> io::Result<Vec<(Vec<u8>, u64)>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listing = Dir::new(openat(&self.dir, ".", flags, Mode::empty())?)?;
        let names =
            listing.take(NAMES_MAX).map(|entry| Ok(entry.map(|e| (e.file_name().to_bytes().to_vec(), e.ino()))?));
        // `.` and `..` come from the kernel: `..` of a mount's root is the host's.
        let is_own =
            |name: &io::Result<(Vec<u8>, u64)>| !matches!(name, Ok((name, _)) if name == b"." || name == b"..");
        names.filter(is_own).collect()
    }

    fn make(&self, name: &str) -> io::Result<Seen> {
        symlinkat(SAYS, &self.dir, name)?;
        self.lstat(name).inspect_err(|_| {
            // The error that matters is the first.
            let _left = self.unmake(name);
        })
    }

    fn find(&self, name: &str) -> io::Result<Seen> {
        self.lstat(name)
    }

    fn unmake(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(&self.dir, name, AtFlags::empty())?)
    }
}

/// The bytes of a path.
pub fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}
