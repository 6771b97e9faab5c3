//! Open files by number, for the engines that make a kernel's system calls.
//!
//! Promises: a number that is not open is EBADF; what close(2) says of data that was written is told.
//! Leaves out: reading and writing, which differ from engine to engine.

use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{self, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};

use super::super::offsets::Extent;
use super::super::settings::{Advice, OpenSync};
use super::{Open, SyncKind};

/// Permissions of files that are made, before the process's umask; as of those that fio lays out.
pub(super) const MODE: Mode = Mode::from_raw_mode(0o644);

/// Files of one clone.
#[derive(Debug, Default)]
pub(super) struct Descriptors {
    /// Shared with threads only while they carry out an I/O.
    open: Vec<Option<Arc<OwnedFd>>>,
}

/// Closes a descriptor; what the kernel says of data that could not be stored is the caller's.
pub(super) fn close(fd: OwnedFd) -> Result<(), Errno> {
    // After EINTR the descriptor is closed all the same on Linux.
    match nix::unistd::close(fd) {
        Ok(()) | Err(nix::errno::Errno::EINTR) => Ok(()),
        Err(errno) => Err(Errno::from_raw_os_error(errno as i32)),
    }
}

/// Opens `path` as `how` says; it is never cut.
pub(super) fn open(path: &Path, how: Open) -> Result<OwnedFd, Errno> {
    let mut flags = OFlags::CLOEXEC;
    flags |= match (how.read, how.write) {
        (_, false) => OFlags::RDONLY,
        (false, true) => OFlags::WRONLY,
        (true, true) => OFlags::RDWR,
    };
    flags.set(OFlags::CREATE, how.create);
    flags.set(OFlags::DIRECT, how.direct);
    flags |= match how.sync {
        OpenSync::None => OFlags::empty(),
        OpenSync::Sync => OFlags::SYNC,
        OpenSync::DSync => OFlags::DSYNC,
    };
    retry_on_intr(|| fs::open(path, flags, MODE))
}

impl Descriptors {
    /// For numbers below `files`; more are taken.
    pub(super) fn new(files: u32) -> Descriptors {
        Descriptors { open: Vec::with_capacity(files as usize) }
    }

    /// Opens `path` as the file `file`; one that was open under this number is closed before.
    pub(super) fn open(&mut self, file: u32, path: &Path, how: Open) -> Result<(), Errno> {
        if self.get(file).is_ok() {
            self.close(file)?;
        }
        self.insert(file, open(path, how)?);
        Ok(())
    }

    /// Keeps a descriptor that is open as the file `file`.
    pub(super) fn insert(&mut self, file: u32, fd: OwnedFd) {
        let file = file as usize;
        if file >= self.open.len() {
            self.open.resize(file + 1, None);
        }
        self.open[file] = Some(Arc::new(fd));
    }

    /// The descriptor of an open file.
    #[inline]
    pub(super) fn get(&self, file: u32) -> Result<BorrowedFd<'_>, Errno> {
        match self.open.get(file as usize) {
            Some(Some(fd)) => Ok(fd.as_fd()),
            _ => Err(Errno::BADF),
        }
    }

    /// The same, for another thread.
    #[inline]
    pub(super) fn share(&self, file: u32) -> Result<Arc<OwnedFd>, Errno> {
        self.open.get(file as usize).cloned().flatten().ok_or(Errno::BADF)
    }

    /// Closes a file. EBUSY, and it stays open, when a thread is still at work on it.
    pub(super) fn close(&mut self, file: u32) -> Result<(), Errno> {
        let place = self.open.get_mut(file as usize).ok_or(Errno::BADF)?;
        match Arc::try_unwrap(place.take().ok_or(Errno::BADF)?) {
            Ok(fd) => close(fd),
            Err(shared) => {
                *place = Some(shared);
                Err(Errno::BUSY)
            }
        }
    }

    /// posix_fadvise(2): drops the part `dropped`, and advises on the whole file. [`Advice::ByLoad`] is for whoever knows the load; here it is EINVAL.
    pub(super) fn advise(&self, file: u32, dropped: Option<Extent>, advice: Option<Advice>) -> Result<(), Errno> {
        let fd = self.get(file)?;
        if let Some(Extent { offset, len }) = dropped {
            fs::fadvise(fd, offset, NonZeroU64::new(len), fs::Advice::DontNeed)?;
        }
        let advice = match advice {
            None | Some(Advice::None) => return Ok(()),
            Some(Advice::ByLoad) => return Err(Errno::INVAL),
            Some(Advice::Random) => fs::Advice::Random,
            Some(Advice::Sequential) => fs::Advice::Sequential,
            Some(Advice::NoReuse) => fs::Advice::NoReuse,
        };
        fs::fadvise(fd, 0, None, advice)
    }

    /// fsync(2), fdatasync(2), sync_file_range(2).
    pub(super) fn sync(&self, file: u32, how: SyncKind) -> Result<(), Errno> {
        let fd = self.get(file)?;
        retry_on_intr(|| match how {
            SyncKind::Full => fs::fsync(fd),
            SyncKind::Data => fs::fdatasync(fd),
            SyncKind::Range { flags, offset, len } => super::aio::sync_file_range(fd, offset, len, flags),
        })
    }
}

/// The methods of [`super::Engine`] that are the same wherever files are plain descriptors in a field `files`; with `open` that as well.
macro_rules! files_are_descriptors {
    (open) => {
        fn open(&mut self, file: u32, path: &std::path::Path, how: super::Open) -> Result<(), rustix::io::Errno> {
            self.files.open(file, path, how)
        }

        super::descriptors::files_are_descriptors!();
    };
    () => {
        fn close(&mut self, file: u32) -> Result<(), rustix::io::Errno> {
            self.files.close(file)
        }

        fn advise(
            &mut self,
            file: u32,
            dropped: Option<super::super::offsets::Extent>,
            advice: Option<super::super::settings::Advice>,
        ) -> Result<(), rustix::io::Errno> {
            self.files.advise(file, dropped, advice)
        }

        fn sync(&mut self, file: u32, how: super::SyncKind) -> Result<(), rustix::io::Errno> {
            self.files.sync(file, how)
        }
    };
}

pub(super) use files_are_descriptors;
