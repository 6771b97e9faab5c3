//! Files that another program holds a lease on (fcntl(2), F_SETLEASE), as Samba does and Linux's NFS server for those who mount from it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags, fstat, openat};
use rustix::io::{Errno, retry_on_intr};

use crate::storage::Kind;

use super::convert::kind;
use super::modify::shown_in_proc;

/// Opens a file of which an open that does not wait has been told EAGAIN: the lease has been asked for, and its holder has some time to give it
/// back (`/proc/sys/fs/lease-break-time`, 45 s), which cp and rsync wait for. What has the name is held first, and must be a file: nothing else
/// is waited for, whatever is put there meanwhile.
pub(super) fn open(dir: BorrowedFd<'_>, name: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let itself = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = retry_on_intr(|| openat(dir, name, itself, Mode::empty()))?;
    if kind(&fstat(&held)?) != Kind::File {
        return Err(Errno::AGAIN);
    }
    let flags = flags.difference(OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CREATE);
    match retry_on_intr(|| openat(CWD, shown_in_proc(held.as_fd()), flags, Mode::empty())) {
        Err(Errno::NOENT) => Err(Errno::AGAIN), // there is no /proc
        opened => opened,
    }
}
