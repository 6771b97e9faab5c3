//! mmap: I/O is copying to and from files that are mapped into memory.
//!
//! Promises: an I/O that would go beyond the size that the file had when it was opened is EIO and touches nothing; fsync is msync(2), and
//! with sync= each write is followed by one of its pages.
//! Leaves out: O_DIRECT (the page cache is what is measured) and files that another process cuts while they are mapped: as with any
//! mapping, a page that cannot be had any more (cut off, no room behind a hole, a server's error on a soft mount) ends the process.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::path::Path;
use std::ptr::NonNull;
use std::time::Duration;

use rustix::fs::fstat;
use rustix::io::Errno;
use rustix::mm::{self, MapFlags, MsyncFlags, ProtFlags};

use super::super::Direction;
use super::super::offsets::Extent;
use super::super::settings::{Advice, OpenSync};
use super::descriptors::{self, Descriptors};
use super::{Done, Engine, Io, Open, Queued, SyncKind};

/// A file in memory.
#[derive(Debug)]
struct Mapped {
    start: NonNull<c_void>,
    len: NonZeroUsize,
    read: bool,
    write: bool,
    /// Each write is made safe.
    sync: bool,
}

impl Mapped {
    /// The first `len` bytes of a file; None of an empty one.
    fn new(fd: &std::os::fd::OwnedFd, len: u64, how: Open) -> Result<Option<Mapped>, Errno> {
        let Some(len) = NonZeroUsize::new(usize::try_from(len).map_err(|_| Errno::FBIG)?) else { return Ok(None) };
        let mut protection = ProtFlags::READ;
        protection.set(ProtFlags::WRITE, how.write);
        // SAFETY: a new mapping at an address that the kernel chooses overlaps nothing.
        let start = unsafe { mm::mmap(std::ptr::null_mut(), len.get(), protection, MapFlags::SHARED, fd, 0) }?;
        let start = NonNull::new(start).ok_or(Errno::NOMEM)?;
        Ok(Some(Mapped { start, len, read: how.read, write: how.write, sync: how.sync != OpenSync::None }))
    }

    /// Where an I/O's bytes are.
    #[inline]
    fn at(&self, offset: u64, len: usize) -> Result<*mut u8, Errno> {
        let offset = usize::try_from(offset).map_err(|_| Errno::IO)?;
        match offset.checked_add(len) {
            // SAFETY: `offset` is within the mapping.
            Some(end) if end <= self.len.get() => Ok(unsafe { self.start.as_ptr().cast::<u8>().add(offset) }),
            _ => Err(Errno::IO),
        }
    }

    /// Makes safe what was written to the pages of these bytes, which are within the mapping.
    fn flush(&self, offset: usize, len: usize) -> Result<(), Errno> {
        let from = offset - offset % rustix::param::page_size();
        // SAFETY: from a page's start within the mapping to an end that is within it.
        unsafe { mm::msync(self.start.as_ptr().byte_add(from), offset + len - from, MsyncFlags::SYNC) }
    }

    fn advise(&self, advice: mm::Advice) -> Result<(), Errno> {
        // SAFETY: the whole of this mapping; pages of a shared mapping that are dropped come back from the file.
        unsafe { mm::madvise(self.start.as_ptr(), self.len.get(), advice) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and no reference into it is kept. It fails for bad addresses only.
        let _ = unsafe { mm::munmap(self.start.as_ptr(), self.len.get()) };
    }
}

/// The engine.
#[derive(Debug, Default)]
pub struct Mmap {
    files: Descriptors,
    /// By number; none where a file is empty or not open.
    mapped: Vec<Option<Mapped>>,
}

impl Mmap {
    /// For `files` files.
    pub fn new(files: u32) -> Mmap {
        Mmap { files: Descriptors::new(files), mapped: Vec::with_capacity(files as usize) }
    }

    fn mapped(&self, file: u32) -> Option<&Mapped> {
        self.mapped.get(file as usize).and_then(Option::as_ref)
    }

    #[inline]
    fn carry_out(&self, io: &mut Io) -> Result<usize, Errno> {
        let Some(mapped) = self.mapped(io.file) else {
            return self.files.get(io.file).and(Err(Errno::IO));
        };
        let len = io.buf.len();
        let bytes = mapped.at(io.offset, len)?;
        match io.direction {
            // SAFETY: `len` bytes are within the mapping, and a buffer is no part of it.
            Direction::Read if mapped.read => unsafe { bytes.copy_to_nonoverlapping(io.buf.as_mut_ptr(), len) },
            // SAFETY: as above, and the mapping may be written.
            Direction::Write if mapped.write => unsafe { bytes.copy_from_nonoverlapping(io.buf.as_ptr(), len) },
            Direction::Read | Direction::Write => return Err(Errno::BADF),
            Direction::Trim => return Err(Errno::OPNOTSUPP),
        }
        if mapped.sync && io.direction == Direction::Write {
            // The offset fits: the bytes are in memory.
            mapped.flush(io.offset as usize, len)?;
        }
        Ok(len)
    }
}

impl Engine for Mmap {
    fn waits(&self) -> bool {
        true
    }

    fn open(&mut self, file: u32, path: &Path, how: Open) -> Result<(), Errno> {
        if self.files.get(file).is_ok() {
            self.close(file)?;
        }
        // A mapping that is written is read by the kernel as well, and O_DIRECT is not for mappings.
        let fd = descriptors::open(path, Open { read: true, direct: false, ..how })?;
        let mapped = Mapped::new(&fd, fstat(&fd)?.st_size.cast_unsigned(), how)?;
        let place = file as usize;
        if place >= self.mapped.len() {
            self.mapped.resize_with(place + 1, || None);
        }
        self.mapped[place] = mapped;
        self.files.insert(file, fd);
        Ok(())
    }

    fn close(&mut self, file: u32) -> Result<(), Errno> {
        if let Some(mapped) = self.mapped.get_mut(file as usize) {
            *mapped = None;
        }
        self.files.close(file)
    }

    fn advise(&mut self, file: u32, dropped: Option<Extent>, advice: Option<Advice>) -> Result<(), Errno> {
        if let Some(mapped) = self.mapped(file) {
            match advice {
                Some(Advice::Random) => mapped.advise(mm::Advice::Random)?,
                Some(Advice::Sequential) => mapped.advise(mm::Advice::Sequential)?,
                _ => {}
            }
        }
        self.files.advise(file, dropped, advice)
    }

    fn let_go(&mut self, file: u32) -> Result<(), Errno> {
        self.mapped(file).map_or(Ok(()), |mapped| mapped.advise(mm::Advice::LinuxDontNeed))
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

    /// msync(2), as in fio also for sync_file_range(2), which does not know of pages that are written through a mapping.
    fn sync(&mut self, file: u32, _: SyncKind) -> Result<(), Errno> {
        match self.mapped(file) {
            Some(mapped) if mapped.write => mapped.flush(0, mapped.len.get()),
            _ => self.files.get(file).map(drop),
        }
    }
}
