//! posixaio: I/O by threads of this process that each carry out one at a time, as the C library does it.
//!
//! Promises: as many I/Os at once as the depth, [`THREADS_MAX`] at most, also on one file; no memory is allocated for an I/O; whoever drops the
//! engine waits for those that have begun.
//! Leaves out: an order between I/Os; glibc serves one file by one thread at a time, which hides what a server can do.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::{Errno, pread, pwrite, retry_on_intr};

use super::super::Direction;
use super::descriptors::{Descriptors, files_are_descriptors};
use super::pool::Pool;
use super::{Done, Engine, Io, Queued};

type Task = (Io, Arc<OwnedFd>);

/// Threads of one clone at most.
pub const THREADS_MAX: u32 = 64;

/// The descriptor is let go before the end is told, so that the job can close the file.
fn carry_out((mut io, fd): Task) -> Done {
    let result = match io.direction {
        Direction::Read => retry_on_intr(|| pread(&fd, &mut io.buf[..], io.offset)),
        Direction::Write => retry_on_intr(|| pwrite(&fd, &io.buf, io.offset)),
        Direction::Trim => Err(Errno::OPNOTSUPP),
    };
    Done { slot: io.slot, buf: io.buf, result }
}

/// The engine.
pub struct PosixAio {
    files: Descriptors,
    pool: Pool<Task, Done>,
    queued: Vec<Task>,
}

impl PosixAio {
    /// With `depth` I/Os under way, for `files` files. The text says why not.
    pub fn new(depth: u32, files: u32) -> Result<PosixAio, String> {
        let depth = depth.max(1);
        let pool = Pool::new("posixaio", depth.min(THREADS_MAX) as usize, || carry_out)
            .map_err(|error| format!("posixaio: a thread: {error}"))?;
        Ok(PosixAio { files: Descriptors::new(files), pool, queued: Vec::with_capacity(depth as usize) })
    }
}

impl Engine for PosixAio {
    fn waits(&self) -> bool {
        false
    }

    fn queue(&mut self, io: Io) -> Queued {
        match self.files.share(io.file) {
            Ok(fd) => {
                self.queued.push((io, fd));
                Queued::Pending
            }
            Err(errno) => Queued::Done(Done { slot: io.slot, buf: io.buf, result: Err(errno) }),
        }
    }

    fn commit(&mut self) -> Result<usize, Errno> {
        let sent = self.queued.len();
        self.pool.submit(&mut self.queued);
        Ok(sent)
    }

    fn reap(&mut self, min: usize, max: usize, wait: Option<Duration>, done: &mut Vec<Done>) -> Result<(), Errno> {
        self.pool.take(min, max, wait, |ended| done.push(ended))
    }

    files_are_descriptors!(open);
}
