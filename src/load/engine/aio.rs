//! libaio: the kernel's own asynchronous I/O by its system calls; no library.
//!
//! Promises: what was queued is submitted in one call where the kernel takes all of it; no memory is allocated for an I/O; whoever drops the
//! engine waits until the kernel has let go of all buffers.
//! Leaves out: fsync through AIO (it is a plain fsync(2) here, as most file systems have no other), cancelling, polling.
//! With direct=0 the kernel blocks in io_submit(2), as it does under fio.
#![allow(unsafe_code)]

use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use libc::{c_long, c_ulong};
use rustix::io::Errno;

use super::super::Direction;
use super::descriptors::{Descriptors, files_are_descriptors};
use super::{Buf, Done, Engine, Io, Queued};

const PREAD: u16 = 0;
const PWRITE: u16 = 1;

/// `struct iocb` of linux/aio_abi.h. `key` and `rw_flags` stand the other way round where the large end comes first; both are 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Iocb {
    data: u64,
    key: u32,
    rw_flags: u32,
    opcode: u16,
    priority: i16,
    fd: u32,
    buf: u64,
    len: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_fd: u32,
}

/// `struct io_event` of linux/aio_abi.h.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Event {
    data: u64,
    iocb: u64,
    result: i64,
    result2: i64,
}

/// The engine.
#[derive(Debug)]
pub struct Aio {
    files: Descriptors,
    context: c_ulong,
    /// By slot; a buffer is here from queueing until its I/O has ended.
    bufs: Box<[Option<Buf>]>,
    /// Not yet submitted. The kernel reads these during io_submit only.
    queued: Vec<Iocb>,
    pointers: Vec<*mut Iocb>,
    events: Box<[Event]>,
    in_flight: usize,
    /// Ended, and not yet reaped.
    ended: Vec<Done>,
}

/// What a system call returned.
fn told(returned: c_long) -> Result<usize, Errno> {
    usize::try_from(returned).map_err(|_| {
        let errno = std::io::Error::last_os_error().raw_os_error();
        Errno::from_raw_os_error(errno.unwrap_or(libc::EIO))
    })
}

impl Aio {
    /// With `depth` I/Os under way, for `files` files. The text says why not.
    pub fn new(depth: u32, files: u32) -> Result<Aio, String> {
        let depth = depth.max(1);
        let mut context: c_ulong = 0;
        // SAFETY: io_setup(2) writes the context's number into `context`.
        let made = told(unsafe { libc::syscall(libc::SYS_io_setup, c_long::from(depth), &raw mut context) });
        made.map_err(|errno| match errno {
            Errno::AGAIN => {
                format!("libaio: no room for {depth} I/Os; the limit of this host is in /proc/sys/fs/aio-max-nr")
            }
            Errno::NOSYS => "libaio: this kernel has no asynchronous I/O; ioengine=posixaio works without".into(),
            errno => format!("libaio: io_setup for {depth} I/Os: {errno}"),
        })?;
        let depth = depth as usize;
        Ok(Aio {
            files: Descriptors::new(files),
            context,
            bufs: (0..depth).map(|_| None).collect(),
            queued: Vec::with_capacity(depth),
            pointers: Vec::with_capacity(depth),
            events: vec![Event::default(); depth].into_boxed_slice(),
            in_flight: 0,
            ended: Vec::with_capacity(depth),
        })
    }

    /// Checks an I/O and makes it ready to be submitted.
    fn ready(&self, io: &Io) -> Result<Iocb, Errno> {
        let fd = self.files.get(io.file)?;
        match self.bufs.get(io.slot as usize) {
            Some(None) => {}
            // A slot that is under way would lose the buffer that the kernel uses.
            _ => return Err(Errno::INVAL),
        }
        let opcode = match io.direction {
            Direction::Read => PREAD,
            Direction::Write => PWRITE,
            Direction::Trim => return Err(Errno::OPNOTSUPP),
        };
        Ok(Iocb {
            data: u64::from(io.slot),
            opcode,
            fd: fd.as_raw_fd().cast_unsigned(),
            buf: io.buf.address() as u64,
            len: io.buf.len() as u64,
            offset: i64::try_from(io.offset).map_err(|_| Errno::INVAL)?,
            ..Iocb::default()
        })
    }

    /// Takes back the buffer of an I/O that is over.
    fn finish(bufs: &mut [Option<Buf>], slot: u64, result: Result<usize, Errno>, done: &mut Vec<Done>) {
        if let Some(buf) = bufs.get_mut(slot as usize).and_then(Option::take) {
            done.push(Done { slot: slot as u32, buf, result });
        }
    }

    /// Submits `queued` from `sent` on; how many the kernel took.
    fn submit(&mut self, sent: usize) -> Result<usize, Errno> {
        self.pointers.clear();
        self.pointers.extend(self.queued[sent..].iter_mut().map(|iocb| &raw mut *iocb));
        let (len, pointers) = (self.pointers.len() as c_long, self.pointers.as_mut_ptr());
        // SAFETY: `len` pointers to blocks that live through the call; their buffers are in `bufs`, and stay there until the kernel has
        // told their end.
        let taken = told(unsafe { libc::syscall(libc::SYS_io_submit, self.context, len, pointers) })?;
        if taken == 0 { Err(Errno::AGAIN) } else { Ok(taken) }
    }

    /// Waits for `min` to `max` I/Os of those in flight to end.
    fn collect(&mut self, min: usize, max: usize, wait: Option<Duration>, done: &mut Vec<Done>) -> Result<(), Errno> {
        let max = max.min(self.in_flight);
        let min = min.min(max);
        if max == 0 {
            return Ok(());
        }
        let mut time = wait.map(|wait| libc::timespec {
            // Its type has no name to be used here: the libc crate deprecates time_t with musl.
            tv_sec: wait.as_secs().try_into().unwrap_or(i32::MAX.into()),
            tv_nsec: wait.subsec_nanos().into(),
        });
        let time = time.as_mut().map_or(std::ptr::null_mut(), |time| &raw mut *time);
        let (min, max, events) = (min as c_long, max as c_long, self.events.as_mut_ptr());
        // SAFETY: there is room for as many events as I/Os can be in flight; `time` is null or lives through the call.
        let ended = unsafe { libc::syscall(libc::SYS_io_getevents, self.context, min, max, events, time) };
        let ended = match told(ended) {
            Err(Errno::INTR) => return Ok(()),
            ended => ended?,
        };
        self.in_flight -= ended;
        for event in &self.events[..ended] {
            let result = usize::try_from(event.result).map_err(|_| Errno::from_raw_os_error(-event.result as i32));
            Aio::finish(&mut self.bufs, event.data, result, done);
        }
        Ok(())
    }

    /// Sends what is queued from `sent` on; `sent` is also what was sent when there is an error.
    fn send(&mut self, sent: &mut usize) -> Result<(), Errno> {
        while *sent < self.queued.len() {
            match self.submit(*sent) {
                Ok(taken) => {
                    self.in_flight += taken;
                    *sent += taken;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if self.in_flight > 0 => {
                    let mut ended = std::mem::take(&mut self.ended);
                    let collected = self.collect(1, usize::MAX, None, &mut ended);
                    self.ended = ended;
                    collected?;
                }
                // The kernel stops at the first that it refuses: this one.
                Err(errno) => {
                    let slot = self.queued[*sent].data;
                    Aio::finish(&mut self.bufs, slot, Err(errno), &mut self.ended);
                    *sent += 1;
                }
            }
        }
        Ok(())
    }
}

impl Engine for Aio {
    fn waits(&self) -> bool {
        false
    }

    fn queue(&mut self, io: Io) -> Queued {
        match self.ready(&io) {
            Ok(iocb) => {
                self.queued.push(iocb);
                self.bufs[io.slot as usize] = Some(io.buf);
                Queued::Pending
            }
            Err(errno) => Queued::Done(Done { slot: io.slot, buf: io.buf, result: Err(errno) }),
        }
    }

    fn commit(&mut self) -> Result<usize, Errno> {
        let mut sent = 0;
        let result = self.send(&mut sent);
        self.queued.drain(..sent);
        result.map(|()| sent)
    }

    fn reap(&mut self, min: usize, max: usize, wait: Option<Duration>, done: &mut Vec<Done>) -> Result<(), Errno> {
        let kept = self.ended.len().min(max);
        done.extend(self.ended.drain(..kept));
        self.collect(min.saturating_sub(kept), max - kept, wait, done)
    }

    files_are_descriptors!(open);
}

impl Drop for Aio {
    fn drop(&mut self) {
        // SAFETY: the context is this value's, and is not used again. The call returns when all that was in flight has ended.
        let destroyed = told(unsafe { libc::syscall(libc::SYS_io_destroy, self.context) });
        if destroyed.is_err() && self.in_flight > 0 {
            // The kernel may still write into them.
            std::mem::forget(std::mem::take(&mut self.bufs));
        }
    }
}

/// sync_file_range(2), which no crate has as a safe call.
pub(super) fn sync_file_range(fd: BorrowedFd<'_>, offset: u64, len: u64, flags: u32) -> Result<(), Errno> {
    let offset = i64::try_from(offset).map_err(|_| Errno::INVAL)?;
    let len = i64::try_from(len).map_err(|_| Errno::INVAL)?;
    // SAFETY: the descriptor is open while it is borrowed; the call takes no memory.
    told(c_long::from(unsafe { libc::sync_file_range(fd.as_raw_fd(), offset, len, flags) })).map(drop)
}
