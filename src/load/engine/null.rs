//! The null engine: I/O that moves nothing, to measure what everything else costs; and the place of its files, which are none.
//!
//! Promises: with a depth of 1 an I/O is over when it was queued; with more it comes back from reap, as in fio. All bytes asked for are told
//! as moved.
//! Leaves out: files; a buffer that is read keeps what it held.

use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;

use super::super::offsets::Extent;
use super::super::settings::Advice;
use super::{Done, Engine, Io, Layout, Open, Place, Queued, SyncKind, There};

/// The engine.
#[derive(Debug)]
pub struct Null {
    depth: usize,
    /// Queued; of these `sent` were committed.
    under_way: Vec<Done>,
    sent: usize,
}

impl Null {
    /// With `depth` I/Os under way.
    pub fn new(depth: u32) -> Null {
        Null { depth: depth.max(1) as usize, under_way: Vec::with_capacity(depth as usize), sent: 0 }
    }
}

impl Engine for Null {
    fn waits(&self) -> bool {
        self.depth == 1
    }

    fn moves(&self) -> bool {
        false
    }

    fn open(&mut self, _: u32, _: &Path, _: Open) -> Result<(), Errno> {
        Ok(())
    }

    fn close(&mut self, _: u32) -> Result<(), Errno> {
        Ok(())
    }

    fn advise(&mut self, _: u32, _: Option<Extent>, _: Option<Advice>) -> Result<(), Errno> {
        Ok(())
    }

    #[inline]
    fn queue(&mut self, io: Io) -> Queued {
        let result = Ok(io.buf.len());
        let done = Done { slot: io.slot, buf: io.buf, result };
        if self.depth == 1 {
            return Queued::Done(done);
        }
        self.under_way.push(done);
        Queued::Pending
    }

    #[inline]
    fn commit(&mut self) -> Result<usize, Errno> {
        let sent = self.under_way.len() - self.sent;
        self.sent = self.under_way.len();
        Ok(sent)
    }

    #[inline]
    fn reap(&mut self, _: usize, max: usize, _: Option<Duration>, done: &mut Vec<Done>) -> Result<(), Errno> {
        let ended = self.sent.min(max);
        done.extend(self.under_way.drain(..ended));
        self.sent -= ended;
        Ok(())
    }

    fn sync(&mut self, _: u32, _: SyncKind) -> Result<(), Errno> {
        Ok(())
    }
}

/// Where the null engine's files are: nothing exists, and everything can be laid out without being there.
#[derive(Debug)]
pub struct NullPlace;

impl Place for NullPlace {
    fn look(&self, _: &Path) -> Result<There, Errno> {
        Ok(There::Nothing)
    }

    fn make_parents(&self, _: &Path) -> Result<(), Errno> {
        Ok(())
    }

    fn lay_out(
        &self,
        _: &Path,
        _: &Layout,
        _: &mut dyn FnMut(u64, &mut [u8]),
        _: &dyn Fn() -> bool,
    ) -> Result<(), Errno> {
        Ok(())
    }

    fn remove(&self, _: &Path) -> Result<(), Errno> {
        Ok(())
    }

    fn is_on_disk(&self, _: &Path) -> bool {
        false
    }
}
