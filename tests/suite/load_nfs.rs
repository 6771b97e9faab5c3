//! The load generator's NFS engine over a file system in memory, over taps that count, hold and fail calls, and over a simulated server
//! with faults: each I/O comes back once with what happened, sizes are exact, lost data is told, and nothing hangs.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex};

use parfs::base::hash::mix;
use parfs::base::{Proc, Status};
use parfs::load::Direction;
use parfs::load::engine::metadata::Operation;
use parfs::load::engine::nfs::{Export, Modes, NfsEngine, NfsMetadata, NfsPlace};
use parfs::load::engine::{Buf, Done, Engine, Io, Layout, Open, Place, Queued, SyncKind};
use parfs::load::settings::{Allocate, OpenSync};
use parfs::mounts::MemoryMount;
use parfs::mounts::nfs::{Url, Usage, attach};
use parfs::sim::{Config, Server};
use parfs::storage::faults::Which;
use parfs::storage::{Call, Faults, Limits, Mount, Node, Op, Spread, Stable, Tally, Tap, Tapped, Volume};
use rustix::io::Errno;

use crate::network::{LONG, QUICK, SHORT, free, watchdog};
use crate::tree::{content, dump};

const DEPTHS: [u32; 3] = [1, 2, 13];
pub const MODES: Modes = Modes { file: 0o640, dir: 0o750 };
pub const WRITES: Open = Open { read: true, write: true, create: true, direct: false, sync: OpenSync::None };
const READS: Open = Open { read: true, write: false, create: false, direct: true, sync: OpenSync::None };

pub fn over(mount: Arc<dyn Mount>) -> Arc<Export> {
    Arc::new(Export::new(Arc::new(Volume::new(vec![mount], Spread::LeastLoaded)), MODES))
}

pub fn tapped(memory: &Arc<MemoryMount>, tap: &Arc<impl Tap + 'static>) -> Arc<Export> {
    over(Arc::new(Tapped::new(memory.clone(), vec![tap.clone() as Arc<dyn Tap>])))
}

fn engine(export: &Arc<Export>, depth: u32) -> NfsEngine {
    NfsEngine::new(export.clone(), depth, true).unwrap()
}

/// Bytes that tell their place in the file.
pub fn bytes(offset: u64, len: usize) -> Vec<u8> {
    (offset..offset + len as u64).map(|at| mix(at / 8).to_le_bytes()[at as usize % 8]).collect()
}

pub fn io(slot: u32, file: u32, direction: Direction, offset: u64, len: usize) -> Io {
    let mut buf = Buf::zeroed(len, 1).unwrap();
    if direction == Direction::Write {
        buf.copy_from_slice(&bytes(offset, len));
    }
    Io { slot, file, direction, offset, buf }
}

/// Carries out I/Os with up to `depth` in flight; what came of each, by its slot. Each comes back once, with its buffer.
pub fn drive(engine: &mut dyn Engine, depth: u32, ios: Vec<Io>) -> Vec<Done> {
    let expected: Vec<(usize, usize)> = ios.iter().map(|io| (io.buf.address() as usize, io.buf.len())).collect();
    let mut back: Vec<Option<Done>> = ios.iter().map(|_| None).collect();
    let (mut in_flight, mut done) = (0, Vec::new());
    let mut todo = ios.into_iter().peekable();
    while todo.peek().is_some() || in_flight > 0 {
        while in_flight < depth
            && let Some(io) = todo.next()
        {
            in_flight += 1;
            match engine.queue(io) {
                Queued::Done(over) => done.push(over),
                Queued::Pending => assert!(!engine.waits()),
            }
        }
        engine.commit().unwrap();
        let missing = usize::from(done.is_empty());
        engine.reap(missing, usize::MAX, None, &mut done).unwrap();
        assert!(!done.is_empty());
        for over in done.drain(..) {
            in_flight -= 1;
            let slot = over.slot as usize;
            assert_eq!((over.buf.address() as usize, over.buf.len()), expected[slot]);
            assert!(back[slot].replace(over).is_none(), "slot {slot} came back twice");
        }
    }
    back.into_iter().map(Option::unwrap).collect()
}

pub fn results(done: &[Done]) -> Vec<Result<usize, Errno>> {
    done.iter().map(|over| over.result).collect()
}

fn writes(file: u32, count: u32, len: usize) -> Vec<Io> {
    (0..count).map(|slot| io(slot, file, Direction::Write, u64::from(slot) * len as u64, len)).collect()
}

#[test]
fn what_was_written_is_read_whatever_the_depth() {
    for depth in DEPTHS {
        let memory = Arc::new(MemoryMount::new());
        let export = over(memory.clone());
        let mut engine = engine(&export, depth);
        assert_eq!(engine.waits(), depth == 1);
        engine.open(0, Path::new("a"), WRITES).unwrap();
        engine.open(3, Path::new("/b"), WRITES).unwrap();
        let mut ios = writes(0, 50, 1000);
        ios.push(io(50, 3, Direction::Write, 10, 5));
        assert!(drive(&mut engine, depth, ios).iter().all(|over| over.result == Ok(over.buf.len())));
        engine.sync(0, SyncKind::Full).unwrap();
        engine.sync(3, SyncKind::Data).unwrap();
        assert!(content(&*memory, "a") == bytes(0, 50_000), "depth {depth}");
        assert_eq!(content(&*memory, "b")[10..], bytes(10, 5));
        let ios = (0..50).map(|slot| io(slot, 0, Direction::Read, u64::from(49 - slot) * 1000, 1000)).collect();
        for over in drive(&mut engine, depth, ios) {
            assert_eq!(over.result, Ok(1000));
            assert!(over.buf[..] == bytes(u64::from(49 - over.slot) * 1000, 1000));
        }
        // The end of the file is a short I/O, and behind it there is nothing.
        let ios = [49_500, 50_000, 1 << 40].into_iter().zip(0..);
        let done = drive(&mut engine, depth, ios.map(|(at, slot)| io(slot, 0, Direction::Read, at, 1000)).collect());
        assert_eq!(results(&done), [Ok(500), Ok(0), Ok(0)]);
        engine.close(0).unwrap();
        assert_eq!(engine.close(0), Err(Errno::BADF));
        let attr = dump(&*memory)["a"].clone();
        assert_eq!((attr.mode, attr.size), (0o640, 50_000));
    }
}

#[test]
fn what_nobody_looks_at_is_not_copied() {
    let memory = Arc::new(MemoryMount::new());
    let export = over(memory);
    for (fetch, expected) in [(true, bytes(0, 100)), (false, vec![0; 100])] {
        let mut engine = NfsEngine::new(export.clone(), 1, fetch).unwrap();
        engine.open(0, Path::new("f"), WRITES).unwrap();
        drive(&mut engine, 1, writes(0, 1, 100));
        let done = drive(&mut engine, 1, vec![io(0, 0, Direction::Read, 0, 100)]);
        assert_eq!((done[0].result, &done[0].buf[..]), (Ok(100), &expected[..]));
    }
}

/// Moves at most so many bytes a call, whatever it says it takes; counts calls.
pub struct Stingy {
    pub memory: Arc<MemoryMount>,
    pub says: u32,
    pub moves: usize,
}

impl Mount for Stingy {
    fn root(&self) -> Node {
        self.memory.root()
    }
    fn limits(&self) -> Limits {
        Limits { read_max: self.says, write_max: self.says, ..self.memory.limits() }
    }
    fn perform(&self, calls: &mut [Call<'_>]) {
        for call in calls.iter_mut() {
            match &mut call.op {
                Op::Read { count, .. } => *count = (*count).min(self.moves as u32),
                Op::Write { data, .. } => *data = &data[..data.len().min(self.moves)],
                _ => {}
            }
        }
        self.memory.perform(calls);
    }
    fn issued(&self) -> Option<Tally> {
        self.memory.issued()
    }
    fn label(&self) -> String {
        "stingy".into()
    }
}

#[test]
fn short_answers_and_large_blocks_are_gone_on_with() {
    for (says, moves) in [(1000, 1000), (1000, 300), (1 << 20, 777)] {
        for depth in [1, 4] {
            let memory = Arc::new(MemoryMount::new());
            let export = over(Arc::new(Stingy { memory: memory.clone(), says, moves }));
            let mut engine = engine(&export, depth);
            engine.open(0, Path::new("f"), WRITES).unwrap();
            let done = drive(&mut engine, depth, writes(0, 6, 10_500));
            assert_eq!(results(&done), [Ok(10_500); 6]);
            assert!(content(&*memory, "f") == bytes(0, 63_000));
            let done = drive(&mut engine, depth, vec![io(0, 0, Direction::Read, 60_001, 9_999)]);
            assert_eq!(done[0].result, Ok(2_999));
            assert!(done[0].buf[..2_999] == bytes(60_001, 2_999));
        }
    }
}

/// Holds calls of one procedure until so many are held, or forever until it is opened; counts those that ended.
struct Hold {
    proc: Proc,
    together: Option<Barrier>,
    open: Mutex<bool>,
    opened: Condvar,
    begun: AtomicUsize,
    ended: AtomicUsize,
}

impl Hold {
    fn new(proc: Proc, together: Option<usize>) -> Arc<Hold> {
        Arc::new(Hold {
            proc,
            together: together.map(Barrier::new),
            open: Mutex::new(together.is_some()),
            opened: Condvar::new(),
            begun: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
        })
    }

    fn release(&self) {
        *self.open.lock().unwrap() = true;
        self.opened.notify_all();
    }
}

impl Tap for Hold {
    fn before(&self, calls: &[Call<'_>]) {
        if calls.iter().any(|call| call.proc() == self.proc) {
            self.begun.fetch_add(1, Ordering::SeqCst);
            if let Some(barrier) = &self.together {
                barrier.wait();
            }
            drop(self.opened.wait_while(self.open.lock().unwrap(), |open| !*open).unwrap());
        }
    }

    fn after(&self, calls: &[Call<'_>], _took: std::time::Duration) {
        if calls.iter().any(|call| call.proc() == self.proc) {
            self.ended.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Calls go on only when the whole depth is in flight, so each completion must have been replaced while the others waited.
#[test]
fn the_whole_depth_is_in_flight() {
    let watched = watchdog("the whole depth is in flight");
    let memory = Arc::new(MemoryMount::new());
    let export = tapped(&memory, &Hold::new(Proc::Write, Some(8)));
    let mut engine = engine(&export, 8);
    engine.open(0, Path::new("f"), WRITES).unwrap();
    assert_eq!(results(&drive(&mut engine, 8, writes(0, 64, 100))), [Ok(100); 64]);
    drop(watched);
}

#[test]
fn a_wait_that_is_over_gives_what_there_is() {
    let memory = Arc::new(MemoryMount::new());
    let hold = Hold::new(Proc::Write, None);
    let export = tapped(&memory, &hold);
    let mut engine = engine(&export, 4);
    engine.open(0, Path::new("f"), WRITES).unwrap();
    writes(0, 2, 100).into_iter().for_each(|io| assert!(matches!(engine.queue(io), Queued::Pending)));
    assert!(matches!(engine.queue(io(2, 0, Direction::Read, 0, 10)), Queued::Pending));
    assert_eq!(engine.commit(), Ok(3));
    assert_eq!(engine.commit(), Ok(0));
    let mut done = Vec::new();
    engine.reap(1, 5, None, &mut done).unwrap();
    assert_eq!((done[0].slot, done[0].result), (2, Ok(0)));
    engine.reap(1, 5, Some(std::time::Duration::from_millis(1)), &mut done).unwrap();
    engine.reap(0, 5, None, &mut done).unwrap();
    assert_eq!(done.len(), 1);
    hold.release();
    engine.reap(9, 9, None, &mut done).unwrap();
    assert_eq!(done.len(), 3);
}

#[test]
fn dropping_waits_for_what_is_in_flight() {
    let watched = watchdog("dropping with I/O in flight");
    let memory = Arc::new(MemoryMount::new());
    let hold = Hold::new(Proc::Write, None);
    let export = tapped(&memory, &hold);
    let mut engine = engine(&export, 4);
    engine.open(0, Path::new("f"), WRITES).unwrap();
    writes(0, 9, 100).into_iter().for_each(|io| drop(engine.queue(io)));
    engine.commit().unwrap();
    while hold.begun.load(Ordering::SeqCst) < 4 {
        std::thread::yield_now();
    }
    let released = hold.clone();
    let releases = std::thread::spawn(move || released.release());
    drop(engine);
    releases.join().unwrap();
    assert_eq!(hold.begun.load(Ordering::SeqCst), hold.ended.load(Ordering::SeqCst));
    drop(watched);
}

#[test]
fn files_are_opened_as_asked() {
    let memory = Arc::new(MemoryMount::new());
    let export = over(memory.clone());
    let place = NfsPlace::new(export.clone());
    place.make_parents(Path::new("d/e/f")).unwrap();
    let before = memory.issued().unwrap();
    for depth in DEPTHS {
        let mut engine = engine(&export, depth);
        for (path, errno) in [
            ("nothing", Errno::NOENT),
            ("d", Errno::ISDIR),
            ("", Errno::ISDIR),
            ("no/f", Errno::NOENT),
            ("../f", Errno::INVAL),
            (&"x".repeat(1021), Errno::NAMETOOLONG),
        ] {
            assert_eq!(engine.open(0, Path::new(path), READS), Err(errno), "{path}");
        }
        assert_eq!(results(&drive(&mut engine, depth, vec![io(0, 7, Direction::Read, 0, 9)])), [Err(Errno::BADF)]);
        assert_eq!(
            (engine.sync(7, SyncKind::Full), engine.advise(7, None, None)),
            (Err(Errno::BADF), Err(Errno::BADF))
        );
    }
    let changed =
        |tally: Tally| [Proc::Create, Proc::Write, Proc::SetAttr, Proc::Commit].map(|proc| tally.get(proc).calls);
    assert_eq!(changed(memory.issued().unwrap() - before), [0; 4]);
    let mut engine = engine(&export, 2);
    engine.open(0, Path::new("d/e/f"), WRITES).unwrap();
    assert_eq!(results(&drive(&mut engine, 2, writes(0, 2, 10))), [Ok(10), Ok(10)]);
    // A second opening neither empties it nor lets itself be written.
    engine.open(1, Path::new("d/e/f"), READS).unwrap();
    let ios =
        vec![io(0, 1, Direction::Write, 0, 10), io(1, 1, Direction::Read, 0, 30), io(2, 0, Direction::Trim, 0, 10)];
    assert_eq!(results(&drive(&mut engine, 2, ios)), [Err(Errno::BADF), Ok(20), Err(Errno::OPNOTSUPP)]);
    assert_eq!(engine.sync(0, SyncKind::Range { flags: 2, offset: 0, len: 0 }), Err(Errno::OPNOTSUPP));
    assert_eq!(engine.advise(1, None, None), Ok(()));
    assert_eq!(dump(&*memory)["d/e"].mode, 0o750);
}

/// Notes how stable each WRITE is to be, and counts COMMITs.
#[derive(Default)]
struct Stables(Mutex<Vec<Stable>>, AtomicUsize);

impl Tap for Stables {
    fn before(&self, calls: &[Call<'_>]) {
        for call in calls {
            match &call.op {
                Op::Write { stable, .. } => self.0.lock().unwrap().push(*stable),
                Op::Commit { .. } => drop(self.1.fetch_add(1, Ordering::SeqCst)),
                _ => {}
            }
        }
    }
}

#[test]
fn data_is_as_stable_as_asked_and_committed_when_it_is_not() {
    for (sync, stable, commits) in [
        (OpenSync::None, Stable::Unstable, 1),
        (OpenSync::DSync, Stable::DataSync, 0),
        (OpenSync::Sync, Stable::FileSync, 0),
    ] {
        let memory = Arc::new(MemoryMount::new());
        let stables = Arc::new(Stables::default());
        let export = tapped(&memory, &stables);
        let mut engine = engine(&export, 3);
        engine.open(0, Path::new("f"), Open { sync, ..WRITES }).unwrap();
        drive(&mut engine, 3, writes(0, 5, 10));
        engine.close(0).unwrap();
        assert_eq!((stables.0.lock().unwrap().clone(), stables.1.load(Ordering::SeqCst)), (vec![stable; 5], 0));
        // What was written before the file was closed is committed all the same, once.
        engine.open(0, Path::new("f"), Open { sync, ..WRITES }).unwrap();
        for _ in 0..2 {
            engine.sync(0, SyncKind::Full).unwrap();
            assert_eq!(stables.1.load(Ordering::SeqCst), commits);
        }
    }
}

#[test]
fn a_restart_before_the_commit_is_told_once() {
    for depth in DEPTHS {
        let memory = Arc::new(MemoryMount::new());
        let export = over(memory.clone());
        let mut engine = engine(&export, depth);
        engine.open(0, Path::new("f"), WRITES).unwrap();
        for when in 0..3 {
            drive(&mut engine, depth, writes(0, 4, 100));
            if when == 0 {
                memory.restart();
            }
            // Under two instances, of which the second is the one that answers.
            if when == 1 {
                memory.restart();
                drive(&mut engine, depth, writes(0, 1, 100));
            }
            let (result, told) = (engine.sync(0, SyncKind::Full), engine.explain());
            if when == 2 {
                assert_eq!((result, told), (Ok(()), None));
            } else {
                assert!(result == Err(Errno::IO) && told.unwrap().contains("restarted"), "{when}");
            }
            assert_eq!(engine.sync(0, SyncKind::Full), Ok(()));
        }
        // Without a sync, what another instance has taken since says so when the file is closed.
        drive(&mut engine, depth, writes(0, 1, 100));
        memory.restart();
        drive(&mut engine, depth, writes(0, 4, 100));
        assert!(engine.close(0) == Err(Errno::IO) && engine.explain().unwrap().contains("restarted"));
        engine.open(0, Path::new("f"), WRITES).unwrap();
        assert_eq!((engine.close(0), engine.explain()), (Ok(()), None));
        assert_eq!(content(&*memory, "f"), bytes(0, 400));
    }
}

#[test]
fn errors_come_back_with_their_io() {
    for depth in DEPTHS {
        let memory = Arc::new(MemoryMount::new());
        NfsPlace::new(over(memory.clone())).lay_out(Path::new("f"), &filled(40_000), &mut fill, &never).unwrap();
        let faults = Arc::new(Faults::new(Which::Random { seed: 5, per_million: 300_000 }, Status::Denied));
        let export = tapped(&memory, &faults);
        let mut engine = engine(&export, depth);
        let mut opened = (0..20).map(|_| engine.open(0, Path::new("f"), WRITES));
        assert!(opened.any(|result| result.is_ok()), "each of 20 openings failed");
        let before = faults.failed();
        let ios = (0..200).map(|n| io(n, 0, Direction::ALL[n as usize % 2], u64::from(n) * 100, 100)).collect();
        let done = drive(&mut engine, depth, ios);
        let failed = done.iter().filter(|over| over.result.is_err()).count() as u64;
        assert!(done.iter().all(|over| matches!(over.result, Ok(100) | Err(Errno::ACCESS))));
        assert!(failed > 20 && failed == faults.failed() - before, "{failed}");
        assert!(engine.explain().unwrap().contains("credentials"));
    }
}

/// A part of a large I/O that fails is the I/O's failure.
#[test]
fn an_io_of_several_calls_fails_with_any_of_them() {
    for direction in [Direction::Read, Direction::Write] {
        let memory = Arc::new(MemoryMount::new());
        NfsPlace::new(over(memory.clone())).lay_out(Path::new("f"), &filled(4 << 20), &mut fill, &never).unwrap();
        let proc = if direction == Direction::Read { Proc::Read } else { Proc::Write };
        let faults = Arc::new(Faults::new(Which::Nth(2, Some(proc)), Status::NoSpc));
        let export = tapped(&memory, &faults);
        let mut engine = engine(&export, 2);
        engine.open(0, Path::new("f"), WRITES).unwrap();
        let ios = (0..2).map(|slot| io(slot, 0, direction, 0, 4 << 20)).collect();
        let results = results(&drive(&mut engine, 2, ios));
        let failed = results.iter().filter(|result| **result == Err(Errno::NOSPC)).count();
        assert!(failed == 1 && results.contains(&Ok(4 << 20)), "{results:?}");
        // What the failed I/O wrote before is not forgotten.
        engine.sync(0, SyncKind::Full).unwrap();
    }
}

pub fn filled(size: u64) -> Layout {
    Layout { size, filled: true, allocate: Allocate::Native, fsync: true }
}

pub fn fill(offset: u64, into: &mut [u8]) {
    into.copy_from_slice(&bytes(offset, into.len()));
}

pub fn never() -> bool {
    false
}

#[test]
fn metadata_operations_are_the_ios() {
    for depth in DEPTHS {
        let memory = Arc::new(MemoryMount::new());
        let export = over(memory.clone());
        NfsPlace::new(export.clone()).make_parents(Path::new("d/x")).unwrap();
        let run = |name: &str| {
            let mut engine = NfsMetadata::new(export.clone(), Operation::named(name).unwrap(), depth).unwrap();
            assert_eq!(engine.waits(), depth == 1);
            (0..40).for_each(|n| engine.open(n, &PathBuf::from(format!("d/{n}")), WRITES).unwrap());
            let ios = (0..41).map(|n| io(n, n, Direction::Read, 0, 4096)).collect();
            let before = memory.issued().unwrap();
            let mut results = results(&drive(&mut engine, depth, ios));
            assert_eq!(results.pop(), Some(Err(Errno::BADF)), "a file that is not open");
            assert_eq!((engine.close(0), engine.close(0)), (Ok(()), Err(Errno::BADF)));
            results.dedup();
            (results, memory.issued().unwrap() - before)
        };
        let kinds = || dump(&*memory).len() - 2;
        for (name, proc, result, left) in [
            ("filestat", Proc::Lookup, Err(Errno::NOENT), 0),
            ("filecreate", Proc::Create, Ok(4096), 40),
            ("filecreate", Proc::Create, Ok(4096), 40),
            ("filestat", Proc::Lookup, Ok(4096), 40),
            ("dirdelete", Proc::RmDir, Err(Errno::NOTDIR), 40),
            ("filedelete", Proc::Remove, Ok(4096), 0),
            ("dircreate", Proc::MkDir, Ok(4096), 40),
            ("dircreate", Proc::MkDir, Err(Errno::EXIST), 40),
            ("dirstat", Proc::Lookup, Ok(4096), 40),
            ("dirdelete", Proc::RmDir, Ok(4096), 0),
        ] {
            let (results, calls) = run(name);
            assert_eq!((results, calls.calls(), calls.get(proc).calls), (vec![result], 40, 40), "{name}");
            assert_eq!(kinds(), left, "{name}");
        }
    }
    assert_eq!(Operation::named("psync"), None);
}

/// A simulated server over `memory` with these faults, and what is mounted of it.
fn served(memory: &Arc<MemoryMount>, targets: usize, faults: &[&str], arguments: &str) -> (Server, Arc<Export>) {
    let restarted = memory.clone();
    let config = Config {
        targets,
        ceiling: free(),
        faults: faults.iter().map(|text| text.parse().unwrap()).collect(),
        on_restart: Some(Arc::new(move || restarted.restart())),
        ..Config::default()
    };
    let server = Server::start(memory.clone(), config).unwrap();
    let url = format!("{}?uid=0&gid=0&wsize=64k&rsize=64k&{arguments}", server.url());
    let mounts = attach(&Url::parse(&url).unwrap(), Usage::Writes).unwrap();
    let mounts = mounts.into_iter().map(|mount| mount as Arc<dyn Mount>).collect();
    let export = Arc::new(Export::new(Arc::new(Volume::new(mounts, Spread::RoundRobin)), MODES));
    (server, export)
}

#[test]
fn a_network_that_misbehaves_is_not_noticed() {
    for (targets, fault, arguments) in [
        (1, "lost-reply:p=0.02,seed=3", QUICK),
        (2, "lost-reply:p=0.02,seed=4", QUICK),
        (1, "reset:every=29", LONG),
        (2, "split:every=3", LONG),
        (2, "jukebox:every=11", LONG),
        (1, "duplicate:every=2", LONG),
    ] {
        let context = format!("{targets} targets, {fault}");
        let watched = watchdog(&context);
        let memory = Arc::new(MemoryMount::new());
        let (server, export) = served(&memory, targets, &[fault], arguments);
        let place = NfsPlace::new(export.clone());
        place.lay_out(Path::new("laid"), &filled(700_001), &mut fill, &never).unwrap();
        assert!(content(&*memory, "laid") == bytes(0, 700_001), "{context}");
        for depth in [1, 9] {
            let mut engine = engine(&export, depth);
            engine.open(0, Path::new("f"), WRITES).unwrap();
            // Of 100,000 bytes each I/O is two calls.
            let done = drive(&mut engine, depth, writes(0, 30, 100_000));
            assert_eq!(results(&done), [Ok(100_000); 30], "{context}");
            engine.sync(0, SyncKind::Full).unwrap();
            memory.restart();
            let ios = (0..30).map(|n| io(n, 0, Direction::Read, u64::from(n) * 100_000, 100_000)).collect();
            for over in drive(&mut engine, depth, ios) {
                assert_eq!(over.result, Ok(100_000), "{context}");
                assert!(over.buf[..] == bytes(u64::from(over.slot) * 100_000, 100_000), "{context}");
            }
        }
        assert!(server.report().faults.values().sum::<u64>() > 0, "{context}: the fault never struck");
        drop(watched);
    }
}

#[test]
fn a_server_that_restarts_is_told_at_the_next_sync() {
    let watched = watchdog("a server that restarts");
    let memory = Arc::new(MemoryMount::new());
    let (server, export) = served(&memory, 2, &[], LONG);
    let mut engine = engine(&export, 6);
    engine.open(0, Path::new("f"), WRITES).unwrap();
    for restarts in [false, true, false] {
        assert_eq!(results(&drive(&mut engine, 6, writes(0, 20, 1000))), [Ok(1000); 20]);
        if restarts {
            server.restart();
        }
        assert_eq!(engine.sync(0, SyncKind::Full).is_err(), restarts);
    }
    drop(watched);
}

#[test]
fn when_a_target_goes_the_others_go_on_and_the_last_is_told() {
    for (targets, faults) in [(2, &["gone:target=1,proc=READ,nth=9"][..]), (1, &["gone:proc=READ,nth=9"])] {
        let context = format!("{targets} targets, {faults:?}");
        let watched = watchdog(&context);
        let memory = Arc::new(MemoryMount::new());
        let (_server, export) = served(&memory, targets, faults, SHORT);
        let place = NfsPlace::new(export.clone());
        place.lay_out(Path::new("f"), &filled(64 << 10), &mut fill, &never).unwrap();
        let mut engine = engine(&export, 5);
        engine.open(0, Path::new("f"), READS).unwrap();
        let ios = (0..64).map(|n| io(n, 0, Direction::Read, u64::from(n) * 1024, 1024)).collect();
        let results = results(&drive(&mut engine, 5, ios));
        let failed = results.iter().filter(|result| result.is_err()).count();
        if targets == 2 {
            assert_eq!((failed, export.volume().gone().len()), (0, 1), "{context}");
        } else {
            assert!(failed >= 50, "{context}: {failed}");
            assert!(results.iter().all(|result| matches!(result, Ok(1024) | Err(Errno::TIMEDOUT))), "{context}");
            assert!(engine.explain().unwrap().contains("No mount target is left"), "{context}");
            assert_eq!(engine.open(1, Path::new("f"), READS), Err(Errno::TIMEDOUT), "{context}");
        }
        drop(watched);
    }
}
