//! io_uring: I/O through rings that are shared with the kernel.
//!
//! Promises: no memory is allocated for an I/O; an option that the kernel cannot carry out is an error, of the ring or of each I/O; whoever
//! drops the engine waits until the kernel has let go of all buffers.
//! Leaves out: fsync through the ring, cancelling, commands of devices.
#![allow(unsafe_code)]

use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::path::Path;
use std::time::{Duration, Instant};

use io_uring::squeue::Entry;
use io_uring::types::{Fd, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, Probe, opcode};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::super::Direction;
use super::super::offsets::Extent;
use super::super::settings::{Advice, UringChoice};
use super::descriptors::Descriptors;
use super::{Buf, Done, Engine, Io, Open, Queued, SyncKind};

/// RWF_DONTCACHE of Linux 6.14.
const DONTCACHE: i32 = 0x80;

/// IORING_ENTER_GETEVENTS of linux/io_uring.h.
const GETEVENTS: u32 = 1;

/// How long the kernel's thread goes on looking when there is nothing to do.
const POLL_IDLE_MS: u32 = 1000;

/// The engine. It belongs to the thread that made it (SINGLE_ISSUER).
pub struct Uring {
    files: Descriptors,
    ring: IoUring,
    choice: UringChoice,
    /// IORING_OP_READ and _WRITE instead of READV and WRITEV.
    plain: bool,
    /// Completions are put into the ring only while this thread is in the kernel.
    deferred: bool,
    /// By slot; a buffer is here from queueing until its I/O has ended.
    bufs: Box<[Option<Buf>]>,
    /// By slot: what READV and WRITEV point to.
    vectors: Box<[libc::iovec]>,
    /// Addresses and lengths of registered buffers, by their number, which is the slot's.
    registered: Vec<(usize, usize)>,
    /// In the ring, and not yet sent by [`Engine::commit`].
    queued: usize,
    /// The kernel may be at work on them: sent, or, where its own thread takes them, in the ring.
    in_flight: usize,
    /// Ended, and not yet reaped.
    ended: Vec<Done>,
    /// What the next calls fail with.
    #[cfg(test)]
    faults: tests::Faults,
}

/// How often a submission that the kernel has no memory for is tried anew while nothing is in flight, and how long is waited between.
const TRIES_MAX: u32 = 1000;
const TRY_AFTER: Duration = Duration::from_millis(1);

/// The same call may do after a while: a signal came, there is no memory, or the ring of what has ended must be emptied first.
fn passes(errno: Errno) -> bool {
    matches!(errno, Errno::INTR | Errno::AGAIN | Errno::BUSY)
}

/// An error of the ring's calls.
fn errno(error: &std::io::Error) -> Errno {
    Errno::from_raw_os_error(error.raw_os_error().unwrap_or(libc::EIO))
}

/// A ring as the choice asks for, and whether completions are deferred.
fn ring(depth: u32, choice: UringChoice) -> std::io::Result<(IoUring, bool)> {
    let builder = || {
        let mut builder = IoUring::builder();
        if choice.hipri {
            builder.setup_iopoll();
        }
        if choice.sqthread_poll {
            builder.setup_sqpoll(POLL_IDLE_MS);
        }
        builder
    };
    if !choice.sqthread_poll {
        // Linux 6.1: no interruption of this thread for each completion.
        let deferred = builder().setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag().build(depth);
        match deferred {
            Err(error) if errno(&error) == Errno::INVAL => {}
            made => return made.map(|ring| (ring, true)),
        }
    }
    builder().build(depth).map(|ring| (ring, false))
}

/// Why there is no ring, and what works instead.
fn no_ring(error: &std::io::Error, depth: u32) -> String {
    match errno(error) {
        Errno::NOSYS => "io_uring: this kernel has none; ioengine=libaio works without".into(),
        Errno::PERM => {
            "io_uring: forbidden by this host (kernel.io_uring_disabled) or by the container's seccomp filter; \
                        ioengine=libaio works without"
                .into()
        }
        Errno::NOMEM => format!(
            "io_uring: no memory may be locked for a depth of {depth} (ulimit -l); ioengine=libaio works without"
        ),
        Errno::INVAL => format!("io_uring: this kernel does not take these options with a depth of {depth}"),
        errno => format!("io_uring: io_uring_setup: {errno}"),
    }
}

impl Uring {
    /// With `depth` I/Os under way, for `files` files. The text says why not.
    pub fn new(depth: u32, choice: UringChoice, files: u32) -> Result<Uring, String> {
        let depth = depth.max(1);
        let (ring, deferred) = ring(depth, choice).map_err(|error| no_ring(&error, depth))?;
        let mut probe = Probe::new();
        // Linux 5.6 has both the probe and what it is asked for.
        let probed = ring.submitter().register_probe(&mut probe).is_ok();
        if choice.registerfiles {
            let none = vec![-1; files.max(1) as usize];
            let registered = ring.submitter().register_files(&none);
            registered.map_err(|error| format!("io_uring: registerfiles with {files} files: {}", errno(&error)))?;
        }
        let nothing = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        Ok(Uring {
            files: Descriptors::new(files),
            ring,
            choice,
            plain: choice.nonvectored && probed && probe.is_supported(opcode::Read::CODE),
            deferred,
            bufs: (0..depth).map(|_| None).collect(),
            vectors: vec![nothing; depth as usize].into_boxed_slice(),
            registered: Vec::new(),
            queued: 0,
            in_flight: 0,
            ended: Vec::with_capacity(depth as usize),
            #[cfg(test)]
            faults: tests::Faults::default(),
        })
    }

    /// Checks an I/O and makes its entry; it points to the buffer, and to this slot's vector.
    fn entry(&mut self, io: &Io) -> Result<Entry, Errno> {
        let fd = self.files.get(io.file)?.as_raw_fd();
        let slot = io.slot as usize;
        match self.bufs.get(slot) {
            Some(None) => {}
            // A slot that is under way would lose the buffer that the kernel uses.
            _ => return Err(Errno::INVAL),
        }
        let len = u32::try_from(io.buf.len()).map_err(|_| Errno::INVAL)?;
        let (address, offset) = (io.buf.address(), io.offset);
        self.vectors[slot] = libc::iovec { iov_base: address.cast(), iov_len: len as usize };
        let vector = &raw const self.vectors[slot];
        let flags = if self.choice.uncached { DONTCACHE } else { 0 };
        let number = io.slot as u16;
        let is_registered =
            self.registered.get(slot).is_some_and(|(start, held)| *start == address as usize && io.buf.len() <= *held);
        // The two kinds of descriptors have no common name outside the crate.
        macro_rules! entry {
            ($target:expr) => {
                match io.direction {
                    Direction::Read if is_registered => {
                        opcode::ReadFixed::new($target, address, len, number).offset(offset).rw_flags(flags).build()
                    }
                    Direction::Write if is_registered => {
                        opcode::WriteFixed::new($target, address, len, number).offset(offset).rw_flags(flags).build()
                    }
                    Direction::Read if self.plain => {
                        opcode::Read::new($target, address, len).offset(offset).rw_flags(flags).build()
                    }
                    Direction::Write if self.plain => {
                        opcode::Write::new($target, address, len).offset(offset).rw_flags(flags).build()
                    }
                    Direction::Read => opcode::Readv::new($target, vector, 1).offset(offset).rw_flags(flags).build(),
                    Direction::Write => opcode::Writev::new($target, vector, 1).offset(offset).rw_flags(flags).build(),
                    Direction::Trim => return Err(Errno::OPNOTSUPP),
                }
            };
        }
        let entry = if self.choice.registerfiles { entry!(Fixed(io.file)) } else { entry!(Fd(fd)) };
        Ok(entry.user_data(u64::from(io.slot)))
    }

    /// Puts a descriptor, or -1 for none, into the table of registered files.
    fn register(&self, file: u32, fd: RawFd) -> Result<(), Errno> {
        if !self.choice.registerfiles {
            return Ok(());
        }
        self.ring.submitter().register_files_update(file, &[fd]).map(drop).map_err(|error| errno(&error))
    }

    /// Takes what the ring has, `max` at most; how many that were.
    fn take(&mut self, max: usize, done: &mut Vec<Done>) -> usize {
        let mut taken = 0;
        for event in self.ring.completion().take(max) {
            let slot = event.user_data();
            let result = usize::try_from(event.result()).map_err(|_| Errno::from_raw_os_error(-event.result()));
            if let Some(buf) = self.bufs.get_mut(slot as usize).and_then(Option::take) {
                done.push(Done { slot: slot as u32, buf, result });
                taken += 1;
            }
        }
        self.in_flight -= taken;
        taken
    }

    /// Lets the kernel put what has ended into the ring, and waits for `want`, without sending what is queued.
    fn wait(&mut self, want: usize, until: Option<Instant>) -> Result<(), Errno> {
        let polls = self.choice.hipri && !self.choice.sqthread_poll;
        let Some(until) = until else { return self.enter(want) };
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || polls {
            // A ring that polls has no other waiting than to look again.
            return self.enter(0);
        }
        if self.queued == 0 && self.ring.params().is_feature_ext_arg() {
            let time = Timespec::new().sec(left.as_secs()).nsec(left.subsec_nanos());
            let waited = self.ring.submitter().submit_with_args(want, &SubmitArgs::new().timespec(&time));
            return waited.map(drop).map_err(|error| errno(&error));
        }
        let time = rustix::event::Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        // SAFETY: the ring's descriptor is open as long as the ring.
        let fd = unsafe { BorrowedFd::borrow_raw(self.ring.as_raw_fd()) };
        poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&time))?;
        self.enter(0)
    }

    /// io_uring_enter(2) for `want` completions, sending nothing.
    fn enter(&mut self, want: usize) -> Result<(), Errno> {
        #[cfg(test)]
        if let Some(errno) = self.faults.enter.pop_front() {
            return Err(errno);
        }
        // SAFETY: nothing is submitted and no argument is passed, so no memory is named.
        let entered = unsafe { self.ring.submitter().enter::<libc::sigset_t>(0, want as u32, GETEVENTS, None) };
        entered.map(drop).map_err(|error| errno(&error))
    }

    /// io_uring_enter(2) for what is queued; how many the kernel took.
    fn submit(&mut self) -> Result<usize, Errno> {
        #[cfg(test)]
        if let Some(errno) = self.faults.submit.pop_front() {
            return Err(errno);
        }
        self.ring.submit().map_err(|error| errno(&error))
    }

    /// After a submission that did not pass: takes what has ended, or waits until something has.
    fn make_room(&mut self) -> Result<(), Errno> {
        let mut ended = std::mem::take(&mut self.ended);
        let mut taken = self.take(usize::MAX, &mut ended);
        let mut entered = Ok(());
        if taken == 0 && self.in_flight > self.unsent() {
            entered = self.enter(1);
            taken = self.take(usize::MAX, &mut ended);
        }
        self.ended = ended;
        if taken == 0 {
            std::thread::sleep(TRY_AFTER);
        }
        match entered {
            Err(errno) if !passes(errno) => Err(errno),
            _ => Ok(()),
        }
    }

    /// Those of `in_flight` that the kernel's thread may not have seen.
    fn unsent(&self) -> usize {
        if self.choice.sqthread_poll { self.queued } else { 0 }
    }

    /// True when something may have ended that is not in the ring yet.
    fn must_enter(&mut self) -> bool {
        let polls = self.choice.hipri && !self.choice.sqthread_poll;
        self.in_flight > 0 && (polls || (self.deferred && self.ring.submission().taskrun()))
    }
}

impl Engine for Uring {
    fn waits(&self) -> bool {
        false
    }

    /// With `fixedbufs` registers the buffers by their place in `bufs`: I/Os of a slot whose buffer is another go without.
    fn prepare(&mut self, bufs: &[Buf]) -> Result<(), Errno> {
        if !self.choice.fixedbufs {
            return Ok(());
        }
        let vector = |buf: &Buf| libc::iovec { iov_base: buf.address().cast(), iov_len: buf.capacity() };
        let vectors: Vec<libc::iovec> = bufs.iter().map(vector).collect();
        // SAFETY: the addresses are those of memory that is there; the kernel holds its pages, and writes to them only in I/Os that are
        // queued with a buffer of that address, which `bufs` keeps for as long.
        unsafe { self.ring.submitter().register_buffers(&vectors) }.map_err(|error| errno(&error))?;
        self.registered = bufs.iter().map(|buf| (buf.address() as usize, buf.capacity())).collect();
        Ok(())
    }

    fn open(&mut self, file: u32, path: &Path, how: Open) -> Result<(), Errno> {
        self.files.open(file, path, how)?;
        let registered = self.register(file, self.files.get(file)?.as_raw_fd());
        if registered.is_err() {
            // What closing says of a file that nobody used is no news.
            let _ = self.files.close(file);
        }
        registered
    }

    fn close(&mut self, file: u32) -> Result<(), Errno> {
        self.files.get(file)?;
        let registered = self.register(file, -1);
        self.files.close(file).and(registered)
    }

    fn advise(&mut self, file: u32, dropped: Option<Extent>, advice: Option<Advice>) -> Result<(), Errno> {
        self.files.advise(file, dropped, advice)
    }

    fn queue(&mut self, io: Io) -> Queued {
        let entry = match self.entry(&io) {
            Ok(entry) => entry,
            Err(errno) => return Queued::Done(Done { slot: io.slot, buf: io.buf, result: Err(errno) }),
        };
        let slot = io.slot as usize;
        // Ahead of the entry: the kernel's own thread may begin at once.
        self.bufs[slot] = Some(io.buf);
        // SAFETY: the buffer and the vector are this slot's, and stay where they are until the kernel has told the I/O's end.
        if unsafe { self.ring.submission().push(&entry) }.is_err() {
            let buf = self.bufs[slot].take();
            return match buf {
                Some(buf) => Queued::Done(Done { slot: io.slot, buf, result: Err(Errno::AGAIN) }),
                None => Queued::Pending,
            };
        }
        self.queued += 1;
        self.in_flight += usize::from(self.choice.sqthread_poll);
        Queued::Pending
    }

    fn commit(&mut self) -> Result<usize, Errno> {
        let (mut sent, mut tries) = (0, 0);
        while self.queued > 0 {
            let failed = match self.submit() {
                // The kernel's thread takes all of it, and may have been faster.
                Ok(_) if self.choice.sqthread_poll => {
                    sent += std::mem::take(&mut self.queued);
                    continue;
                }
                Ok(taken) if taken > 0 => {
                    sent += taken;
                    self.in_flight += taken;
                    self.queued -= taken;
                    continue;
                }
                Ok(_) => Errno::AGAIN,
                Err(Errno::INTR) => continue,
                Err(errno) => errno,
            };
            tries += 1;
            let room = if passes(failed) && tries <= TRIES_MAX { self.make_room() } else { Err(failed) };
            match room {
                Ok(()) => {}
                // The next call tells it; what was sent is under way.
                Err(_) if sent > 0 => break,
                Err(errno) => return Err(errno),
            }
        }
        Ok(sent)
    }

    fn reap(&mut self, min: usize, max: usize, wait: Option<Duration>, done: &mut Vec<Done>) -> Result<(), Errno> {
        let kept = self.ended.len().min(max);
        done.extend(self.ended.drain(..kept));
        let (min, max) = (min.min(max).saturating_sub(kept), max - kept);
        // The kernel's thread may sleep while something is queued that nobody sent.
        let min = min.min(self.in_flight.saturating_sub(self.unsent()));
        let until = wait.and_then(|wait| Instant::now().checked_add(wait));
        let mut taken = self.take(max, done);
        if taken == 0 && min == 0 && self.must_enter() {
            self.enter(0).or_else(|errno| if passes(errno) { Ok(()) } else { Err(errno) })?;
            self.take(max, done);
        }
        while taken < min {
            let waited = self.wait(min - taken, until);
            let more = self.take(max - taken, done);
            taken += more;
            match waited {
                Err(Errno::INTR) => return Ok(()),
                Ok(()) | Err(Errno::TIME) => {}
                // Whoever waits for more asks again.
                Err(errno) if passes(errno) => {
                    if more == 0 {
                        std::thread::sleep(TRY_AFTER);
                    }
                    return Ok(());
                }
                Err(errno) => return Err(errno),
            }
            if until.is_some_and(|until| until <= Instant::now()) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn sync(&mut self, file: u32, how: SyncKind) -> Result<(), Errno> {
        self.files.sync(file, how)
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        let mut ended = Vec::new();
        while self.in_flight > 0 {
            // Wakes the kernel's own thread.
            let woken = if self.choice.sqthread_poll { self.submit() } else { Ok(0) };
            match woken.and_then(|_| self.enter(1)) {
                Ok(()) => {
                    self.take(usize::MAX, &mut ended);
                }
                Err(errno) if passes(errno) => {
                    if self.take(usize::MAX, &mut ended) == 0 {
                        std::thread::sleep(TRY_AFTER);
                    }
                }
                Err(_) => {
                    // The kernel may still write into them.
                    std::mem::forget(std::mem::take(&mut self.bufs));
                    std::mem::forget(std::mem::take(&mut self.vectors));
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "uring_tests.rs"]
mod tests;
