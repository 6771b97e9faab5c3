//! How I/O is carried out: what an engine promises to the job that drives it, and what a place for files promises.
//!
//! Promises: an I/O that was queued comes back once, with its buffer; an engine is driven by one thread, its job's.
//! Leaves out: which I/O is next, what is in the buffers, and the clock.

pub(crate) mod aio;
pub(crate) mod buffer;
mod choose;
mod descriptors;
pub(crate) mod kernel;
pub mod metadata;
pub(crate) mod mmap;
pub mod nfs;
pub(crate) mod null;
mod pool;
pub(crate) mod posixaio;
pub(crate) mod psync;
pub(crate) mod uring;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;

use super::Direction;
use super::offsets::Extent;
use super::settings::{Advice, Allocate, OpenSync};

pub use buffer::Buf;
pub use choose::{WithEngine, place, with_engine};

/// An I/O on its way.
#[derive(Debug)]
pub struct Io {
    /// What the job knows it by: below the depth.
    pub slot: u32,
    /// Which of the clone's files: below their number.
    pub file: u32,
    /// What is done.
    pub direction: Direction,
    /// Where, in bytes.
    pub offset: u64,
    /// What is written, or receives what is read; its length is that of the I/O, not 0.
    pub buf: Buf,
}

/// An I/O that has ended.
#[derive(Debug)]
pub struct Done {
    /// As it was queued.
    pub slot: u32,
    /// Its buffer.
    pub buf: Buf,
    /// Bytes moved; fewer than asked for is a short I/O, 0 of a read the file's end.
    pub result: Result<usize, Errno>,
}

/// What came of queueing an I/O.
#[derive(Debug)]
pub enum Queued {
    /// It is over: the engine waits for each I/O.
    Done(Done),
    /// It is under way, or will be at the next [`Engine::commit`].
    Pending,
}

/// How data is made safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncKind {
    /// fsync(2); COMMIT.
    Full,
    /// fdatasync(2); COMMIT.
    Data,
    /// sync_file_range(2) with these flags; other engines than the kernel's refuse it.
    #[allow(missing_docs)] // as above
    Range { flags: u32, offset: u64, len: u64 },
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    /// It is read.
    pub read: bool,
    /// It is written.
    pub write: bool,
    /// It is made when it is not there.
    pub create: bool,
    /// O_DIRECT.
    pub direct: bool,
    /// O_SYNC, O_DSYNC.
    pub sync: OpenSync,
}

/// What carries out the I/O of one clone. Files are numbered by the job, from 0.
pub trait Engine {
    /// True when an I/O is over when it was queued: depth 1, and no slat.
    fn waits(&self) -> bool;

    /// False where I/O moves no bytes, so that what is read cannot be checked.
    fn moves(&self) -> bool {
        true
    }

    /// Makes ready for the job's buffers, the one of slot i at i, before the first I/O; they are kept until the engine goes.
    fn prepare(&mut self, _bufs: &[Buf]) -> Result<(), Errno> {
        Ok(())
    }

    /// Opens `path` as the file `file`.
    fn open(&mut self, file: u32, path: &Path, how: Open) -> Result<(), Errno>;

    /// Closes the file; an error is what the system says of data that was written. Nothing is under way on it.
    fn close(&mut self, file: u32) -> Result<(), Errno>;

    /// Drops what is cached of a part of an open file, where there is a cache; and advises on what is to come.
    fn advise(&mut self, file: u32, dropped: Option<Extent>, advice: Option<Advice>) -> Result<(), Errno>;

    /// Lets go of what the engine itself keeps in the cache, as closing the file would: pages that are mapped are not dropped.
    fn let_go(&mut self, _file: u32) -> Result<(), Errno> {
        Ok(())
    }

    /// Takes an I/O on an open file.
    fn queue(&mut self, io: Io) -> Queued;

    /// Sends what was queued and not yet sent; how many that were.
    fn commit(&mut self) -> Result<usize, Errno>;

    /// Takes what has ended, into `done`: at least `min`, at most `max`; fewer than `min` only when `wait` is over (None: no limit) or a
    /// signal came.
    fn reap(&mut self, min: usize, max: usize, wait: Option<Duration>, done: &mut Vec<Done>) -> Result<(), Errno>;

    /// Makes written data of an open file safe, after all that is under way (the job has waited for it).
    fn sync(&mut self, file: u32, how: SyncKind) -> Result<(), Errno>;

    /// What there is to say of the newest failure beyond its errno; asked once.
    fn explain(&mut self) -> Option<String> {
        None
    }
}

/// What is there under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum There {
    Nothing,
    /// With its size in bytes.
    File(u64),
    /// A block device, with its size in bytes.
    Device(u64),
    /// A character device, a fifo.
    Stream,
    Dir,
}

/// How a file is laid out before a job.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Bytes.
    pub size: u64,
    /// All bytes are written (for reads); else only room is made, as `allocate` says.
    pub filled: bool,
    /// How room is made.
    pub allocate: Allocate,
    /// fsync afterwards.
    pub fsync: bool,
}

/// Where files are: a kernel's file systems, or an export. Used by several threads at once before jobs start.
pub trait Place: Send + Sync {
    /// What is there under `path`.
    fn look(&self, path: &Path) -> Result<There, Errno>;

    /// What is there under each of `paths`.
    fn look_many(&self, paths: &[PathBuf]) -> Vec<Result<There, Errno>> {
        paths.iter().map(|path| self.look(path)).collect()
    }

    /// An error where the block device `path` is in use: mounted, swapped to, or part of another device.
    fn is_free(&self, _path: &Path) -> Result<(), Errno> {
        Ok(())
    }

    /// Makes the directories that `path`'s parent needs.
    fn make_parents(&self, path: &Path) -> Result<(), Errno>;

    /// Makes a file of `layout.size` bytes anew. `fill` gives the bytes of a part, by its offset. Ends early when `stop` says so.
    fn lay_out(
        &self,
        path: &Path,
        layout: &Layout,
        fill: &mut dyn FnMut(u64, &mut [u8]),
        stop: &dyn Fn() -> bool,
    ) -> Result<(), Errno>;

    /// Lays out several files, whose parents are there. `fill` is told which file by its place in `files`; so is who reads an error. Ends
    /// early when `stop` says so.
    fn lay_out_many(
        &self,
        files: &[(PathBuf, Layout)],
        fill: &mut dyn FnMut(usize, u64, &mut [u8]),
        stop: &dyn Fn() -> bool,
    ) -> Result<(), (usize, Errno)> {
        for (index, (path, layout)) in files.iter().enumerate() {
            if stop() {
                break;
            }
            let mut fill = |offset: u64, bytes: &mut [u8]| fill(index, offset, bytes);
            self.lay_out(path, layout, &mut fill, stop).map_err(|errno| (index, errno))?;
        }
        Ok(())
    }

    /// Removes a file; one that is not there is no error, and a device or fifo that a load was on stays, as with fio.
    fn remove(&self, path: &Path) -> Result<(), Errno>;

    /// Removes files; what became of each.
    fn remove_many(&self, paths: &[PathBuf]) -> Vec<Result<(), Errno>> {
        paths.iter().map(|path| self.remove(path)).collect()
    }

    /// True when files are behind a block device of this host, which has a utilization (`disk_util`).
    fn is_on_disk(&self, path: &Path) -> bool;
}
