//! `--debug=io` and `--debug=random`: an engine around another, which tells what goes by.
//!
//! Promises: lines of fio's shape, type, thread and text; the engine within sees the same calls in the same order. A run that is not told of
//! is compiled without this.
//! Leaves out: steps of fio's that are none here (fill, prep), and where the lines go. An I/O is known by its slot, where fio prints an address;
//! random numbers are told as the offsets that came of them.

use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::gettid;

use super::super::engine::{Buf, Done, Engine, Io, Open, Queued, SyncKind};
use super::super::offsets::Extent;
use super::super::random::Stream;
use super::super::settings::Advice;
use super::clone::Work;

/// How fio numbers syncs among its directions.
const DDIR_SYNC: u8 = 3;
const DDIR_DATASYNC: u8 = 4;
const DDIR_SYNC_FILE_RANGE: u8 = 5;

/// What is said of an I/O.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    slot: u32,
    file: u32,
    offset: u64,
    len: usize,
    ddir: u8,
}

/// An engine whose calls are told.
pub(super) struct Traced<'a> {
    engine: Box<dyn Engine + 'a>,
    work: &'a Work<'a>,
    /// What was queued, by slot.
    queued: Vec<Told>,
    in_flight: usize,
    /// The clone's thread, as the kernel numbers it.
    thread: u32,
}

impl<'a> Traced<'a> {
    /// Around `engine`, on the thread that drives it; the seeds of the clone are told at once.
    pub(super) fn new(engine: Box<dyn Engine + 'a>, work: &'a Work<'a>) -> Traced<'a> {
        let thread = gettid().as_raw_nonzero().get().unsigned_abs();
        let traced = Traced { engine, work, queued: Vec::new(), in_flight: 0, thread };
        traced.io(format_args!("load ioengine {}", work.settings.engine.name));
        let load = &work.settings.load;
        if !load.repeat && load.seed.is_none() {
            traced.random(format_args!("using system RNG for random seeds"));
        }
        traced.random(format_args!("FIO_RAND_NR_OFFS={}", Stream::ALL.len()));
        for (index, stream) in Stream::ALL.into_iter().enumerate() {
            traced.random(format_args!("rand_seeds[{index}]={}", work.seeds.seed(stream, 0)));
        }
        traced
    }

    fn line(&self, name: &str, text: std::fmt::Arguments<'_>) {
        self.work.host.trace(&format!("{name:<8} {:<5} {text}", self.thread));
    }

    fn io(&self, text: std::fmt::Arguments<'_>) {
        if self.work.traces.io {
            self.line("io", text);
        }
    }

    fn random(&self, text: std::fmt::Arguments<'_>) {
        if self.work.traces.random {
            self.line("random", text);
        }
    }

    fn told(&self, step: &str, told: &Told) {
        let Told { slot, file, offset, len, ddir } = *told;
        let file = self.work.files[file as usize].0.display();
        self.io(format_args!("{step}: io_u {slot:#x}: off={offset:#x},len={len:#x},ddir={ddir},file={file}"));
    }

    fn ended(&mut self, done: &Done) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.told("complete", &self.queued[done.slot as usize]);
    }
}

impl Engine for Traced<'_> {
    fn waits(&self) -> bool {
        self.engine.waits()
    }

    fn moves(&self) -> bool {
        self.engine.moves()
    }

    fn prepare(&mut self, bufs: &[Buf]) -> Result<(), Errno> {
        self.engine.prepare(bufs)
    }

    fn open(&mut self, file: u32, path: &Path, how: Open) -> Result<(), Errno> {
        self.engine.open(file, path, how)
    }

    fn close(&mut self, file: u32) -> Result<(), Errno> {
        self.engine.close(file)
    }

    fn advise(&mut self, file: u32, dropped: Option<Extent>, advice: Option<Advice>) -> Result<(), Errno> {
        self.engine.advise(file, dropped, advice)
    }

    fn let_go(&mut self, file: u32) -> Result<(), Errno> {
        self.engine.let_go(file)
    }

    fn queue(&mut self, io: Io) -> Queued {
        let Io { slot, file, offset, .. } = io;
        let told = Told { slot, file, offset, len: io.buf.len(), ddir: io.direction as u8 };
        if self.work.settings.load.is_random() {
            self.random(format_args!("off rand {offset}"));
        }
        self.told("queue", &told);
        let at = slot as usize;
        self.queued.resize(self.queued.len().max(at + 1), Told::default());
        self.queued[at] = told;
        self.in_flight += 1;
        let queued = self.engine.queue(io);
        if let Queued::Done(done) = &queued {
            self.ended(done);
        }
        queued
    }

    fn commit(&mut self) -> Result<usize, Errno> {
        self.io(format_args!("calling ->commit(), depth {}", self.in_flight));
        self.engine.commit()
    }

    fn reap(&mut self, min: usize, max: usize, wait: Option<Duration>, done: &mut Vec<Done>) -> Result<(), Errno> {
        self.io(format_args!("io_u_queued_complete: min={min}"));
        let before = done.len();
        let result = self.engine.reap(min, max, wait, done);
        self.io(format_args!("getevents: {}", done.len() - before));
        done[before..].iter().for_each(|done| self.ended(done));
        result
    }

    fn sync(&mut self, file: u32, how: SyncKind) -> Result<(), Errno> {
        let (ddir, offset, len) = match how {
            SyncKind::Full => (DDIR_SYNC, 0, 0),
            SyncKind::Data => (DDIR_DATASYNC, 0, 0),
            SyncKind::Range { offset, len, .. } => (DDIR_SYNC_FILE_RANGE, offset, len as usize),
        };
        // Slots are below the depth: no I/O under way has this one.
        let slot = self.work.settings.engine.in_flight.max(1);
        let told = Told { slot, file, offset, len, ddir };
        self.told("queue", &told);
        let result = self.engine.sync(file, how);
        self.told("complete", &told);
        result
    }

    fn explain(&mut self) -> Option<String> {
        self.engine.explain()
    }
}
