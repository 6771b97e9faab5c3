//! posixaio: I/O by threads of this process that each carry out one at a time, as the C library does it.
//!
//! Promises: as many I/Os at once as the depth, [`THREADS_MAX`] at most, also on one file; no memory is allocated for an I/O; whoever drops the
//! engine waits for those that have begun.
//! Leaves out: an order between I/Os; glibc serves one file by one thread at a time, which hides what a server can do.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use rustix::io::{Errno, pread, pwrite, retry_on_intr};

use super::super::Direction;
use super::descriptors::{Descriptors, files_are_descriptors};
use super::{Done, Engine, Io, Queued};

/// Threads of one clone at most.
pub const THREADS_MAX: u32 = 64;

/// A thread carries out system calls and nothing else.
const STACK_BYTES: usize = 64 << 10;

#[derive(Debug, Default)]
struct Work {
    waiting: VecDeque<(Io, Arc<OwnedFd>)>,
    closing: bool,
}

#[derive(Debug, Default)]
struct Shared {
    work: Mutex<Work>,
    begin: Condvar,
    ended: Mutex<VecDeque<Done>>,
    end: Condvar,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code that may panic runs under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// What a thread does until the engine goes.
    fn serve(&self) {
        while let Some((io, fd)) = self.next() {
            let done = carry_out(io, &fd);
            // Before the end is told, so that the job can close the file.
            drop(fd);
            lock(&self.ended).push_back(done);
            self.end.notify_one();
        }
    }

    fn next(&self) -> Option<(Io, Arc<OwnedFd>)> {
        let work = lock(&self.work);
        let mut work = self
            .begin
            .wait_while(work, |work| work.waiting.is_empty() && !work.closing)
            .unwrap_or_else(PoisonError::into_inner);
        if work.closing { None } else { work.waiting.pop_front() }
    }
}

fn carry_out(mut io: Io, fd: &OwnedFd) -> Done {
    let result = match io.direction {
        Direction::Read => retry_on_intr(|| pread(fd, &mut io.buf[..], io.offset)),
        Direction::Write => retry_on_intr(|| pwrite(fd, &io.buf, io.offset)),
        Direction::Trim => Err(Errno::OPNOTSUPP),
    };
    Done { slot: io.slot, buf: io.buf, result }
}

/// The engine.
#[derive(Debug)]
pub struct PosixAio {
    files: Descriptors,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    queued: Vec<(Io, Arc<OwnedFd>)>,
    /// Sent, and not yet reaped.
    in_flight: usize,
}

impl PosixAio {
    /// With `depth` I/Os under way, for `files` files. The text says why not.
    pub fn new(depth: u32, files: u32) -> Result<PosixAio, String> {
        let depth = depth.max(1);
        let shared = Shared {
            work: Mutex::new(Work { waiting: VecDeque::with_capacity(depth as usize), closing: false }),
            ended: Mutex::new(VecDeque::with_capacity(depth as usize)),
            ..Shared::default()
        };
        let mut engine = PosixAio {
            files: Descriptors::new(files),
            shared: Arc::new(shared),
            threads: Vec::new(),
            queued: Vec::with_capacity(depth as usize),
            in_flight: 0,
        };
        for number in 0..depth.min(THREADS_MAX) {
            let shared = Arc::clone(&engine.shared);
            let builder = Builder::new().name(format!("posixaio-{number}")).stack_size(STACK_BYTES);
            let thread = builder.spawn(move || shared.serve());
            engine.threads.push(thread.map_err(|error| format!("posixaio: thread {number}: {error}"))?);
        }
        Ok(engine)
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
        lock(&self.shared.work).waiting.extend(self.queued.drain(..));
        for _ in 0..sent.min(self.threads.len()) {
            self.shared.begin.notify_one();
        }
        self.in_flight += sent;
        Ok(sent)
    }

    fn reap(&mut self, min: usize, max: usize, wait: Option<Duration>, done: &mut Vec<Done>) -> Result<(), Errno> {
        let min = min.min(max).min(self.in_flight);
        let until = wait.and_then(|wait| Instant::now().checked_add(wait));
        let mut ended = lock(&self.shared.ended);
        while ended.len() < min {
            let Some(until) = until else {
                ended = self.shared.end.wait(ended).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            (ended, _) = self.shared.end.wait_timeout(ended, left).unwrap_or_else(PoisonError::into_inner);
        }
        let taken = ended.len().min(max);
        done.extend(ended.drain(..taken));
        self.in_flight -= taken;
        Ok(())
    }

    files_are_descriptors!(open);
}

impl Drop for PosixAio {
    fn drop(&mut self) {
        lock(&self.shared.work).closing = true;
        self.shared.begin.notify_all();
        for thread in self.threads.drain(..) {
            // A thread cannot panic: it makes system calls only.
            drop(thread.join());
        }
    }
}
