//! System calls that end in `at` and that no safe crate has: fchmodat2(2) of Linux 6.6, listxattrat and getxattrat of 6.13. They need no name in
//! /proc, which is not everywhere mounted.
//!
//! Promises: nothing is opened, and no symbolic link is followed. A kernel that has not got a call answers NOSYS. Left out: setxattrat, which
//! takes no descriptor of `O_PATH` for the object itself, so that it would change whatever has the name by then.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::fs::Mode;
use rustix::io::Errno;

/// The same number on each architecture that Linux has got since; not every C library has a name for them.
const FCHMODAT2: libc::c_long = 452;
const GETXATTRAT: libc::c_long = 464;
const LISTXATTRAT: libc::c_long = 465;

/// linux/xattr.h: struct xattr_args.
#[repr(C, align(8))]
struct Args {
    value: u64,
    size: u32,
    flags: u32,
}

fn done(result: libc::c_long) -> Result<usize, Errno> {
    let failed = |_| Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL);
    usize::try_from(result).map_err(failed)
}

fn text(bytes: &[u8]) -> Result<CString, Errno> {
    CString::new(bytes).map_err(|_| Errno::INVAL)
}

/// Sets the mode of what is held by `O_PATH`.
pub(super) fn chmod(held: BorrowedFd<'_>, mode: Mode) -> Result<(), Errno> {
    let mode = libc::c_long::from(mode.as_raw_mode());
    // SAFETY: the descriptor is open while it is borrowed, the path is a constant, and the rest are integers.
    done(unsafe { libc::syscall(FCHMODAT2, held.as_raw_fd(), c"".as_ptr(), mode, libc::AT_EMPTY_PATH) })?;
    Ok(())
}

/// The length of the value of the attribute `of`, which is in `buf`; of `name` in a directory.
pub(super) fn get_xattr(dir: BorrowedFd<'_>, name: &[u8], of: &[u8], buf: &mut [u8]) -> Result<usize, Errno> {
    let (name, of) = (text(name)?, text(of)?);
    let size = u32::try_from(buf.len()).map_err(|_| Errno::TOOBIG)?;
    let args = Args { value: buf.as_mut_ptr().expose_provenance() as u64, size, flags: 0 };
    let (args, len) = (&raw const args, size_of::<Args>());
    let no_link = libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: the names end in NUL; the arguments, which live through the call, lead to `buf`, which has as many bytes as they say.
    done(unsafe { libc::syscall(GETXATTRAT, dir.as_raw_fd(), name.as_ptr(), no_link, of.as_ptr(), args, len) })
}

/// The length of the list of attributes, which is in `buf`; of `name` in a directory.
pub(super) fn list_xattrs(dir: BorrowedFd<'_>, name: &[u8], buf: &mut [u8]) -> Result<usize, Errno> {
    let name = text(name)?;
    let (list, len) = (buf.as_mut_ptr(), buf.len());
    // SAFETY: the name ends in NUL; `buf` is borrowed for the call, and has as many bytes as it is told.
    done(unsafe { libc::syscall(LISTXATTRAT, dir.as_raw_fd(), name.as_ptr(), libc::AT_SYMLINK_NOFOLLOW, list, len) })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::{AsFd, OwnedFd};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use rustix::fs::{CWD, FileType, OFlags, XattrFlags, mknodat, open, setxattr};

    use super::*;

    fn hold(path: &Path) -> OwnedFd {
        open(path, OFlags::PATH | OFlags::NOFOLLOW, Mode::empty()).unwrap()
    }

    #[test]
    fn a_mode_is_set_on_what_is_held() {
        let dir = tempfile::tempdir().unwrap();
        let (path, moved) = (dir.path().join("fifo"), dir.path().join("moved"));
        mknodat(CWD, &path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        let held = hold(&path);
        fs::rename(&path, &moved).unwrap();
        match chmod(held.as_fd(), Mode::from_raw_mode(0o2640)) {
            Err(Errno::NOSYS) => return, // before Linux 6.6
            set => set.unwrap(),
        }
        assert_eq!(fs::metadata(&moved).unwrap().permissions().mode() & 0o7777, 0o2640);
    }

    #[test]
    fn attributes_are_read_by_a_directory_and_a_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        fs::write(&path, "").unwrap();
        std::os::unix::fs::symlink("f", dir.path().join("link")).unwrap();
        if setxattr(&path, "user.parfs", b"value", XattrFlags::empty()) == Err(Errno::OPNOTSUPP) {
            return; // a file system without them
        }
        let (mut buf, held) = ([0; 100], hold(dir.path()));
        let held = held.as_fd();
        let len = match list_xattrs(held, b"f", &mut buf) {
            Err(Errno::NOSYS) => return, // before Linux 6.13
            len => len.unwrap(),
        };
        let is_listed = |list: &[u8]| list.split(|&byte| byte == 0).any(|name| name == b"user.parfs");
        assert!(is_listed(&buf[..len]));
        let len = list_xattrs(held, b"link", &mut buf).unwrap();
        assert!(!is_listed(&buf[..len]));
        let len = get_xattr(held, b"f", b"user.parfs", &mut buf).unwrap();
        assert_eq!(&buf[..len], b"value");
        assert_eq!(get_xattr(held, b"f", b"user.parfs", &mut buf[..2]), Err(Errno::RANGE));
        assert_eq!(get_xattr(held, b"f", b"user.none", &mut buf), Err(Errno::NODATA));
        assert_eq!(get_xattr(held, b"f", b"user.a\0b", &mut buf), Err(Errno::INVAL));
    }
}
