use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use tempfile::TempDir;

use super::super::Direction;
use super::super::offsets::Extent;
use super::super::settings::{Advice, EngineChoice, OpenSync, UringChoice};
use super::choose::{WithEngine, with_engine};
use super::uring::Uring;
use super::{Buf, Done, Engine, Io, Open, Queued, SyncKind};

const BLOCK: usize = 4096;
const ALL: Extent = Extent { offset: 0, len: 0 };
const READ: Open = Open { read: true, write: false, create: false, direct: false, sync: OpenSync::None };
const WRITE: Open = Open { read: true, write: true, create: true, direct: false, sync: OpenSync::None };

struct With<'a>(&'a mut dyn FnMut(&mut dyn Engine));

impl WithEngine<()> for With<'_> {
    fn run<E: Engine>(self, mut engine: E) {
        (self.0)(&mut engine);
    }
}

fn choice(name: &'static str, depth: u32, uring: UringChoice) -> EngineChoice {
    EngineChoice {
        name,
        depth,
        in_flight: depth,
        batch: 1,
        complete: (1, depth),
        low: depth,
        direct: false,
        serialize_overlap: false,
        uring,
        nfs_urls: Vec::new(),
        nconnect: None,
    }
}

/// Every engine that moves bytes, with io_uring's ways of doing so. Without io_uring here, which is said, the others.
fn engines(depth: u32) -> Vec<(String, EngineChoice)> {
    let plain = ["psync", "sync", "vsync", "pvsync", "pvsync2", "libaio", "posixaio", "mmap"];
    let mut all: Vec<_> =
        plain.iter().map(|name| ((*name).to_owned(), choice(name, depth, UringChoice::default()))).collect();
    if let Err(text) = Uring::new(1, UringChoice::default(), 1) {
        assert!(text.contains("io_uring"), "{text}");
        // To the terminal, past the capture of output.
        drop(fs::write("/dev/stderr", format!("NOT TESTED: {text}\n")));
        return all;
    }
    let none = UringChoice::default();
    let ways = [
        ("vectored", none),
        ("nonvectored", UringChoice { nonvectored: true, ..none }),
        ("fixed", UringChoice { fixedbufs: true, registerfiles: true, nonvectored: true, ..none }),
        ("sqthread_poll", UringChoice { sqthread_poll: true, registerfiles: true, ..none }),
    ];
    all.extend(ways.map(|(name, uring)| (format!("io_uring {name}"), choice("io_uring", depth, uring))));
    all
}

fn run(choice: &EngineChoice, mut what: impl FnMut(&mut dyn Engine)) {
    with_engine(choice, 2, With(&mut what)).unwrap();
}

fn buffers(count: usize, len: usize) -> Vec<Buf> {
    (0..count).map(|_| Buf::zeroed(len, 0).unwrap()).collect()
}

fn io(slot: usize, direction: Direction, offset: u64, buf: Buf) -> Io {
    Io { slot: slot as u32, file: 0, direction, offset, buf }
}

/// Carries out all of them, which came back once each, in the order of their slots.
fn all(engine: &mut dyn Engine, ios: Vec<Io>) -> Vec<Done> {
    let count = ios.len();
    let mut done = Vec::new();
    for io in ios {
        if let Queued::Done(over) = engine.queue(io) {
            done.push(over);
        }
    }
    let pending = count - done.len();
    engine.commit().unwrap();
    engine.reap(pending, pending, None, &mut done).unwrap();
    done.sort_by_key(|done| done.slot);
    assert_eq!(done.iter().map(|done| done.slot).collect::<HashSet<_>>().len(), count);
    assert_eq!(done.len(), count);
    done
}

/// One I/O's result.
fn one(engine: &mut dyn Engine, direction: Direction, offset: u64, len: usize) -> Result<usize, Errno> {
    let buf = Buf::zeroed(len, 0).unwrap();
    all(engine, vec![io(0, direction, offset, buf)]).remove(0).result
}

fn file(dir: &TempDir, name: &str, bytes: &[u8]) -> PathBuf {
    let path = dir.path().join(name);
    fs::write(&path, bytes).unwrap();
    path
}

/// Bytes of a file, by a seed.
fn bytes(len: usize, seed: u64) -> Vec<u8> {
    let mut random = super::super::random::Random::new(seed);
    (0..len).map(|_| random.bits() as u8).collect()
}

#[test]
fn what_one_writes_another_reads() {
    let dir = tempfile::tempdir().unwrap();
    let depth = 16;
    let engines = engines(depth as u32);
    for (index, (name, writer)) in engines.iter().enumerate() {
        let wanted = bytes(depth * BLOCK, index as u64);
        let path = file(&dir, "data", &vec![0; wanted.len()]);
        run(writer, |engine| {
            let mut bufs = buffers(depth, BLOCK);
            bufs.iter_mut().zip(wanted.chunks(BLOCK)).for_each(|(buf, bytes)| buf.copy_from_slice(bytes));
            engine.prepare(&bufs).unwrap();
            engine.open(0, &path, WRITE).unwrap();
            let ios = bufs.into_iter().enumerate();
            let ios = ios.map(|(slot, buf)| io(slot, Direction::Write, (slot * BLOCK) as u64, buf)).collect();
            let done = all(engine, ios);
            assert!(done.iter().all(|done| done.result == Ok(BLOCK)), "{name}: {:?}", done[0].result);
            engine.sync(0, SyncKind::Full).unwrap();
            engine.close(0).unwrap();
        });
        assert!(fs::read(&path).unwrap() == wanted, "{name} wrote something else");
        let (name, reader) = &engines[(index + 1) % engines.len()];
        run(reader, |engine| {
            let bufs = buffers(depth, BLOCK);
            engine.prepare(&bufs).unwrap();
            engine.open(0, &path, READ).unwrap();
            // Backwards, so that nothing stands where it is to be.
            let ios = bufs.into_iter().enumerate();
            let ios =
                ios.map(|(slot, buf)| io(slot, Direction::Read, ((depth - 1 - slot) * BLOCK) as u64, buf)).collect();
            for (done, bytes) in all(engine, ios).iter().rev().zip(wanted.chunks(BLOCK)) {
                assert_eq!(done.result, Ok(BLOCK), "{name}");
                assert!(done.buf[..] == *bytes, "{name} read something else into slot {}", done.slot);
            }
            engine.close(0).unwrap();
        });
    }
}

#[test]
fn files_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "short", &[7; 6000]);
    for (name, choice) in engines(4) {
        run(&choice, |engine| {
            engine.open(0, &path, READ).unwrap();
            let results = [0, 4096, 8192].map(|offset| one(engine, Direction::Read, offset, BLOCK));
            let ends = match choice.name {
                "mmap" => [Ok(BLOCK), Err(Errno::IO), Err(Errno::IO)],
                _ => [Ok(BLOCK), Ok(1904), Ok(0)],
            };
            assert_eq!(results, ends, "{name}");
            engine.close(0).unwrap();
        });
    }
}

#[test]
fn what_is_not_open_for_it_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "read only", &[7; 3 * BLOCK]);
    for (name, choice) in engines(4) {
        run(&choice, |engine| {
            let bad = |result: Result<(), Errno>| assert_eq!(result, Err(Errno::BADF), "{name}");
            assert_eq!(one(engine, Direction::Read, 0, BLOCK), Err(Errno::BADF), "{name}");
            bad(engine.close(0));
            bad(engine.sync(0, SyncKind::Full));
            bad(engine.advise(0, Some(ALL), None));
            engine.open(0, &path, READ).unwrap();
            // The others are carried out.
            let directions = [Direction::Read, Direction::Write, Direction::Read, Direction::Trim];
            let ios = directions.into_iter().zip(buffers(4, BLOCK)).enumerate();
            let ios = ios.map(|(slot, (direction, buf))| io(slot, direction, 0, buf)).collect();
            let results: Vec<_> = all(engine, ios).into_iter().map(|done| done.result).collect();
            assert_eq!(results, [Ok(BLOCK), Err(Errno::BADF), Ok(BLOCK), Err(Errno::OPNOTSUPP)], "{name}");
            engine.close(0).unwrap();
            assert_eq!(one(engine, Direction::Read, 0, BLOCK), Err(Errno::BADF), "{name}: closed");
            let nowhere = dir.path().join("nowhere");
            assert_eq!(engine.open(0, &nowhere, READ), Err(Errno::NOENT), "{name}");
            bad(engine.close(0));
        });
    }
}

#[test]
fn a_slot_that_is_under_way_is_not_taken_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "data", &[7; BLOCK]);
    for (name, choice) in engines(2).into_iter().filter(|(name, _)| name.starts_with("io_uring") || name == "libaio") {
        run(&choice, |engine| {
            engine.open(0, &path, READ).unwrap();
            let [first, second, beyond] = <[Buf; 3]>::try_from(buffers(3, BLOCK)).unwrap();
            assert!(matches!(engine.queue(io(0, Direction::Read, 0, first)), Queued::Pending), "{name}");
            for (slot, buf) in [(0, second), (2, beyond)] {
                let Queued::Done(done) = engine.queue(io(slot, Direction::Read, 0, buf)) else {
                    panic!("{name}: slot {slot} was taken")
                };
                assert_eq!(done.result, Err(Errno::INVAL), "{name}");
            }
            engine.commit().unwrap();
            let mut done = Vec::new();
            engine.reap(1, 1, None, &mut done).unwrap();
            assert_eq!((done.len(), done[0].result), (1, Ok(BLOCK)), "{name}");
        });
    }
}

#[test]
fn data_is_made_safe() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "data", &[0; 2 * BLOCK]);
    for (name, choice) in engines(1) {
        run(&choice, |engine| {
            for sync in [OpenSync::None, OpenSync::Sync, OpenSync::DSync] {
                engine.open(0, &path, Open { sync, ..WRITE }).unwrap();
                assert_eq!(one(engine, Direction::Write, BLOCK as u64, BLOCK), Ok(BLOCK), "{name}");
                engine.sync(0, SyncKind::Full).unwrap();
                engine.sync(0, SyncKind::Data).unwrap();
                let range = |flags| SyncKind::Range { flags, offset: 0, len: BLOCK as u64 };
                let results = [engine.sync(0, range(2)), engine.sync(0, range(64))];
                let wanted = match choice.name {
                    "mmap" => [Ok(()); 2],
                    _ => [Ok(()), Err(Errno::INVAL)],
                };
                assert_eq!(results, wanted, "{name}");
                engine.advise(0, Some(ALL), Some(Advice::Random)).unwrap();
                engine.advise(0, None, Some(Advice::Sequential)).unwrap();
                engine.advise(0, None, Some(Advice::NoReuse)).unwrap();
                assert_eq!(engine.advise(0, None, Some(Advice::ByLoad)), Err(Errno::INVAL), "{name}");
                engine.close(0).unwrap();
            }
        });
    }
}

/// With many under way, taken a few at a time while others are queued, each comes back once.
#[test]
fn each_comes_back_once() {
    let dir = tempfile::tempdir().unwrap();
    let depth = 64;
    let path = file(&dir, "data", &bytes(depth * BLOCK, 1));
    for (name, choice) in engines(depth as u32).into_iter().filter(|(name, _)| !name.contains("sync")) {
        run(&choice, |engine| {
            let mut free: Vec<(usize, Buf)> = buffers(depth, BLOCK).into_iter().enumerate().collect();
            engine.open(0, &path, READ).unwrap();
            let (mut queued, mut ended, mut sent) = (0, 0, 0);
            let mut done = Vec::new();
            while ended < 1000 {
                while queued < 1000
                    && let Some((slot, buf)) = free.pop()
                {
                    queued += 1;
                    match engine.queue(io(slot, Direction::Read, (slot * BLOCK) as u64, buf)) {
                        Queued::Done(over) => {
                            sent += 1;
                            done.push(over);
                        }
                        Queued::Pending => {}
                    }
                }
                sent += engine.commit().unwrap();
                assert_eq!(sent, queued, "{name}");
                let had = done.len();
                engine.reap(1, 3, None, &mut done).unwrap();
                assert!(done.len() <= had + 3 && !done.is_empty(), "{name}");
                engine.reap(0, 2, Some(Duration::ZERO), &mut done).unwrap();
                ended += done.len();
                for done in done.drain(..) {
                    // The kernel's polling thread says so where it gets no worker for a read that would wait, on a busy machine.
                    let is_busy = name.contains("sqthread_poll") && done.result == Err(Errno::AGAIN);
                    assert!(is_busy || done.result == Ok(BLOCK), "{name}: {:?}", done.result);
                    assert!(free.iter().all(|(slot, _)| *slot != done.slot as usize), "{name}: {} twice", done.slot);
                    free.push((done.slot as usize, done.buf));
                }
            }
            assert_eq!((ended, free.len()), (1000, depth), "{name}");
            // Nothing is under way: nobody waits.
            engine.reap(1, 1, None, &mut done).unwrap();
            assert!(done.is_empty(), "{name}");
        });
    }
}

/// A pipe that nobody writes to keeps an I/O under way, so that waiting has to end by itself.
#[test]
fn waiting_ends() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    // Opened both ways, so that nobody waits in open(2).
    let mut writer = fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    for (name, choice) in engines(2).into_iter().filter(|(name, _)| name.starts_with("io_uring")) {
        run(&choice, |engine| {
            engine.open(0, &pipe, Open { create: false, ..WRITE }).unwrap();
            assert!(matches!(engine.queue(io(1, Direction::Read, 0, buffers(1, 8).remove(0))), Queued::Pending));
            assert_eq!(engine.commit().unwrap(), 1);
            let (wait, start) = (Duration::from_millis(20), Instant::now());
            let mut done = Vec::new();
            engine.reap(1, 1, Some(wait), &mut done).unwrap();
            assert!(done.is_empty() && start.elapsed() >= wait, "{name}");
            std::io::Write::write_all(&mut writer, b"12345678").unwrap();
            engine.reap(1, 1, Some(Duration::from_secs(60)), &mut done).unwrap();
            assert_eq!((done[0].slot, done[0].result, &done[0].buf[..]), (1, Ok(8), &b"12345678"[..]), "{name}");
        });
    }
}

#[test]
fn an_engine_that_goes_waits_for_what_is_under_way() {
    let dir = tempfile::tempdir().unwrap();
    let depth = 8;
    let path = file(&dir, "data", &vec![7; depth << 20]);
    for (name, choice) in engines(depth as u32) {
        for committed in [true, false] {
            run(&choice, |engine| {
                let bufs = buffers(depth, 1 << 20);
                engine.prepare(&bufs).unwrap();
                engine.open(0, &path, READ).unwrap();
                engine.advise(0, Some(ALL), None).unwrap();
                for (slot, buf) in bufs.into_iter().enumerate() {
                    drop(engine.queue(io(slot, Direction::Read, (slot as u64) << 20, buf)));
                }
                if committed {
                    assert_eq!(engine.commit().unwrap(), if engine.waits() { 0 } else { depth }, "{name}");
                }
            });
        }
    }
}

#[test]
fn flags_that_a_kernel_does_not_know_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = file(&dir, "data", &[7; BLOCK]);
    for (name, mut choice) in
        engines(1).into_iter().filter(|(name, _)| name == "pvsync2" || name.starts_with("io_uring"))
    {
        choice.uring = UringChoice { uncached: true, ..choice.uring };
        run(&choice, |engine| {
            engine.open(0, &path, READ).unwrap();
            let result = one(engine, Direction::Read, 0, BLOCK);
            // By kernel and file system.
            assert!([Ok(BLOCK), Err(Errno::OPNOTSUPP), Err(Errno::INVAL)].contains(&result), "{name}: {result:?}");
        });
    }
}

#[test]
fn null_moves_nothing() {
    for depth in [1, 4] {
        run(&choice("null", depth, UringChoice::default()), |engine| {
            assert_eq!(engine.waits(), depth == 1);
            engine.open(0, Path::new("nowhere"), READ).unwrap();
            let ios = buffers(depth as usize, BLOCK).into_iter().enumerate();
            let ios = ios.map(|(slot, buf)| io(slot, Direction::Read, 0, buf)).collect();
            assert!(all(engine, ios).iter().all(|done| done.result == Ok(BLOCK)));
            engine.close(0).unwrap();
        });
    }
}

#[test]
fn operations_on_files_and_directories() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("one");
    let table = [
        ("filestat", Err(Errno::NOENT), None),
        ("filecreate", Ok(BLOCK), Some(true)),
        ("filestat", Ok(BLOCK), Some(true)),
        ("filecreate", Ok(BLOCK), Some(true)),
        ("filedelete", Ok(BLOCK), None),
        ("filedelete", Err(Errno::NOENT), None),
        ("dircreate", Ok(BLOCK), Some(false)),
        ("dircreate", Err(Errno::EXIST), Some(false)),
        ("dirstat", Ok(BLOCK), Some(false)),
        ("dirdelete", Ok(BLOCK), None),
        ("dirdelete", Err(Errno::NOENT), None),
    ];
    for (name, result, is_file) in table {
        run(&choice(name, 1, UringChoice::default()), |engine| {
            engine.open(0, &path, READ).unwrap();
            assert_eq!(one(engine, Direction::Read, 0, BLOCK), result, "{name}");
            assert_eq!(fs::metadata(&path).ok().map(|there| there.is_file()), is_file, "{name}");
            engine.close(0).unwrap();
            assert_eq!(one(engine, Direction::Read, 0, BLOCK), Err(Errno::BADF), "{name}");
        });
    }
}

#[test]
fn engines_that_are_not_the_kernels_are_refused() {
    let error = with_engine(&choice("nfs", 1, UringChoice::default()), 1, With(&mut |_| ())).unwrap_err();
    assert!(error.contains("nfs"), "{error}");
}
