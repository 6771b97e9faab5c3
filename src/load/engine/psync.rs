//! Engines that wait for each I/O: psync, sync, vsync, pvsync, pvsync2.
//!
//! Promises: one I/O is one call (sync and vsync seek where the file does not stand there already); EINTR is no error.
//! Leaves out: going on behind a short read or write, which is told.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::fs::{SeekFrom, seek};
use rustix::io::{self, Errno, ReadWriteFlags, retry_on_intr};

use super::super::Direction;
use super::descriptors::{Descriptors, files_are_descriptors};
use super::{Done, Engine, Io, Queued};

/// RWF_DONTCACHE of Linux 6.14: pages leave the cache when the I/O is over.
const DONTCACHE: u32 = 0x80;

/// How bytes are moved.
pub trait Call {
    /// Reads at `offset` of the file `file`.
    fn read(&mut self, fd: BorrowedFd<'_>, file: u32, buf: &mut [u8], offset: u64) -> Result<usize, Errno>;

    /// Writes at `offset` of the file `file`.
    fn write(&mut self, fd: BorrowedFd<'_>, file: u32, buf: &[u8], offset: u64) -> Result<usize, Errno>;

    /// The file `file` is another one now, and stands at its start.
    fn opened(&mut self, _file: u32) {}
}

/// An engine that waits.
#[derive(Debug)]
pub struct Waiting<C> {
    files: Descriptors,
    call: C,
}

impl<C: Call> Waiting<C> {
    /// For `files` files.
    pub fn new(call: C, files: u32) -> Waiting<C> {
        Waiting { files: Descriptors::new(files), call }
    }

    #[inline]
    fn carry_out(&mut self, io: &mut Io) -> Result<usize, Errno> {
        let fd = self.files.get(io.file)?;
        let call = &mut self.call;
        match io.direction {
            Direction::Read => retry_on_intr(|| call.read(fd, io.file, &mut io.buf, io.offset)),
            Direction::Write => retry_on_intr(|| call.write(fd, io.file, &io.buf, io.offset)),
            Direction::Trim => Err(Errno::OPNOTSUPP),
        }
    }
}

impl<C: Call> Engine for Waiting<C> {
    fn waits(&self) -> bool {
        true
    }

    fn open(&mut self, file: u32, path: &std::path::Path, how: super::Open) -> Result<(), Errno> {
        self.call.opened(file);
        self.files.open(file, path, how)
    }

    #[inline]
    fn queue(&mut self, mut io: Io) -> Queued {
        let result = self.carry_out(&mut io);
        Queued::Done(Done { slot: io.slot, buf: io.buf, result })
    }

    fn commit(&mut self) -> Result<usize, Errno> {
        Ok(0)
    }

    fn reap(&mut self, _: usize, _: usize, _: Option<Duration>, _: &mut Vec<Done>) -> Result<(), Errno> {
        Ok(())
    }

    files_are_descriptors!();
}

/// psync: pread(2), pwrite(2).
#[derive(Debug)]
pub struct Psync;

impl Call for Psync {
    #[inline]
    fn read(&mut self, fd: BorrowedFd<'_>, _: u32, buf: &mut [u8], offset: u64) -> Result<usize, Errno> {
        io::pread(fd, buf, offset)
    }

    #[inline]
    fn write(&mut self, fd: BorrowedFd<'_>, _: u32, buf: &[u8], offset: u64) -> Result<usize, Errno> {
        io::pwrite(fd, buf, offset)
    }
}

/// pvsync: preadv(2), pwritev(2).
#[derive(Debug)]
pub struct Pvsync;

impl Call for Pvsync {
    #[inline]
    fn read(&mut self, fd: BorrowedFd<'_>, _: u32, buf: &mut [u8], offset: u64) -> Result<usize, Errno> {
        io::preadv(fd, &mut [IoSliceMut::new(buf)], offset)
    }

    #[inline]
    fn write(&mut self, fd: BorrowedFd<'_>, _: u32, buf: &[u8], offset: u64) -> Result<usize, Errno> {
        io::pwritev(fd, &[IoSlice::new(buf)], offset)
    }
}

/// pvsync2: preadv2(2), pwritev2(2) with flags, which a kernel that does not know them refuses (EOPNOTSUPP).
#[derive(Debug)]
pub struct Pvsync2(ReadWriteFlags);

impl Pvsync2 {
    /// With RWF_HIPRI (`hipri`), RWF_DONTCACHE (`uncached`).
    pub fn new(hipri: bool, uncached: bool) -> Pvsync2 {
        let mut flags = ReadWriteFlags::empty();
        flags.set(ReadWriteFlags::HIPRI, hipri);
        flags.set(ReadWriteFlags::from_bits_retain(DONTCACHE), uncached);
        Pvsync2(flags)
    }
}

impl Call for Pvsync2 {
    #[inline]
    fn read(&mut self, fd: BorrowedFd<'_>, _: u32, buf: &mut [u8], offset: u64) -> Result<usize, Errno> {
        io::preadv2(fd, &mut [IoSliceMut::new(buf)], offset, self.0)
    }

    #[inline]
    fn write(&mut self, fd: BorrowedFd<'_>, _: u32, buf: &[u8], offset: u64) -> Result<usize, Errno> {
        io::pwritev2(fd, &[IoSlice::new(buf)], offset, self.0)
    }
}

/// sync: lseek(2), read(2), write(2); vsync: lseek(2), readv(2), writev(2).
#[derive(Debug)]
pub struct Seeking {
    vectored: bool,
    /// Where each file stands; none where that is not known.
    at: Vec<Option<u64>>,
}

impl Seeking {
    /// sync, or vsync.
    pub fn new(vectored: bool) -> Seeking {
        Seeking { vectored, at: Vec::new() }
    }

    /// Seeks, moves bytes by `call`, and keeps where the file stands afterwards.
    #[inline]
    fn at(
        &mut self,
        fd: BorrowedFd<'_>,
        file: u32,
        offset: u64,
        call: impl FnOnce() -> Result<usize, Errno>,
    ) -> Result<usize, Errno> {
        let Some(at) = self.at.get_mut(file as usize) else { return Err(Errno::BADF) };
        if at.take() != Some(offset) {
            seek(fd, SeekFrom::Start(offset))?;
        }
        let moved = call()?;
        *at = Some(offset + moved as u64);
        Ok(moved)
    }
}

impl Call for Seeking {
    #[inline]
    fn read(&mut self, fd: BorrowedFd<'_>, file: u32, buf: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let vectored = self.vectored;
        self.at(fd, file, offset, || match vectored {
            true => io::readv(fd, &mut [IoSliceMut::new(buf)]),
            false => io::read(fd, buf),
        })
    }

    #[inline]
    fn write(&mut self, fd: BorrowedFd<'_>, file: u32, buf: &[u8], offset: u64) -> Result<usize, Errno> {
        let vectored = self.vectored;
        self.at(fd, file, offset, || match vectored {
            true => io::writev(fd, &[IoSlice::new(buf)]),
            false => io::write(fd, buf),
        })
    }

    fn opened(&mut self, file: u32) {
        let file = file as usize;
        if file >= self.at.len() {
            self.at.resize(file + 1, None);
        }
        self.at[file] = Some(0);
    }
}
