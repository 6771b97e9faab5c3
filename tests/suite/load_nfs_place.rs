//! The load generator's files on an export: laid out to the byte and safe, one by one and many at once, looked at and removed.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parfs::base::{Proc, Status};
use parfs::load::Direction;
use parfs::load::engine::metadata::Operation;
use parfs::load::engine::nfs::{NfsMetadata, NfsPlace};
use parfs::load::engine::{Engine, Layout, Place, There};
use parfs::mounts::MemoryMount;
use parfs::storage::faults::Which;
use parfs::storage::{Call, Faults, Mount, Tap};
use rustix::io::Errno;

use crate::load_nfs::{Stingy, WRITES, bytes, drive, fill, filled, io, never, over, results, tapped};
use crate::tree::{content, dump};

#[test]
fn files_are_laid_out_to_the_byte() {
    let memory = Arc::new(MemoryMount::new());
    let export = over(Arc::new(Stingy { memory: memory.clone(), says: 4096, moves: 4096 }));
    let place = NfsPlace::new(export);
    let path = Path::new("dir/with/file");
    assert_eq!(place.look(path), Ok(There::Nothing));
    assert_eq!(place.lay_out(path, &filled(1), &mut fill, &never), Err(Errno::NOENT));
    place.make_parents(path).unwrap();
    place.make_parents(path).unwrap();
    assert_eq!((place.look(Path::new("dir/with")), place.look(Path::new("."))), (Ok(There::Dir), Ok(There::Dir)));
    for size in [0, 1, 4095, 4096, 4097, 1_000_003, 5] {
        place.lay_out(path, &filled(size), &mut fill, &never).unwrap();
        assert_eq!(place.look(path), Ok(There::File(size)));
        assert!(content(&*memory, "dir/with/file") == bytes(0, size as usize), "{size}");
        memory.restart();
        assert_eq!(place.look(path), Ok(There::File(size)), "after a restart");
    }
    place.lay_out(path, &Layout { filled: false, ..filled(1 << 40) }, &mut fill, &never).unwrap();
    assert_eq!((place.look(path), place.is_on_disk(path)), (Ok(There::File(1 << 40)), false));
    for _ in 0..2 {
        place.remove(path).unwrap();
        assert_eq!(place.look(path), Ok(There::Nothing));
    }
    assert_eq!(place.remove(Path::new("no/such/dir")), Ok(()));
    assert_eq!(place.remove(Path::new("dir/with")), Err(Errno::ISDIR));
}

/// What was found of a directory is no longer so when it was made anew by somebody else.
#[test]
fn directories_that_were_made_anew_are_found_anew() {
    let memory = Arc::new(MemoryMount::new());
    let place = NfsPlace::new(over(memory.clone()));
    let path = Path::new("d/f");
    place.make_parents(path).unwrap();
    place.lay_out(path, &filled(10), &mut fill, &never).unwrap();
    place.remove(path).unwrap();
    let other = over(memory);
    for what in [Operation::DirDelete, Operation::DirCreate] {
        let mut engine = NfsMetadata::new(other.clone(), what, 1).unwrap();
        engine.open(0, Path::new("d"), WRITES).unwrap();
        assert_eq!(results(&drive(&mut engine, 1, vec![io(0, 0, Direction::Read, 0, 1)])), [Ok(1)]);
    }
    place.lay_out(path, &filled(10), &mut fill, &never).unwrap();
    assert_eq!(place.look(path), Ok(There::File(10)));
}

/// Restarts the server before its nth WRITE.
struct Restarts(Arc<MemoryMount>, AtomicUsize, usize);

impl Tap for Restarts {
    fn before(&self, calls: &[Call<'_>]) {
        if calls.iter().any(|call| call.proc() == Proc::Write) && self.1.fetch_add(1, Ordering::SeqCst) == self.2 {
            self.0.restart();
        }
    }
}

#[test]
fn a_restart_during_the_layout_loses_nothing() {
    for nth in [0, 5, 19] {
        let memory = Arc::new(MemoryMount::new());
        let restarts = Arc::new(Restarts(memory.clone(), AtomicUsize::new(0), nth));
        let place = NfsPlace::new(tapped(&memory, &restarts));
        place.lay_out(Path::new("f"), &filled((20 << 20) - 1), &mut fill, &never).unwrap();
        assert!(restarts.1.load(Ordering::SeqCst) > nth);
        memory.restart();
        assert!(content(&*memory, "f") == bytes(0, (20 << 20) - 1), "{nth}");
    }
}

/// As with fio on a file system: 3 GiB, a signal after 0.7 s, and nothing is left.
#[test]
fn a_layout_that_is_stopped_leaves_no_part_of_a_file() {
    let place = NfsPlace::new(over(Arc::new(MemoryMount::new())));
    let pieces = AtomicUsize::new(0);
    let mut fill = |_: u64, _: &mut [u8]| {
        pieces.fetch_add(1, Ordering::SeqCst);
    };
    let stop = || pieces.load(Ordering::SeqCst) >= 3;
    place.lay_out(Path::new("f"), &filled(64 << 20), &mut fill, &stop).unwrap();
    assert_eq!((pieces.load(Ordering::SeqCst), place.look(Path::new("f"))), (3, Ok(There::Nothing)));
}

#[test]
fn many_files_are_laid_out_in_few_calls() {
    let memory = Arc::new(MemoryMount::new());
    let place = NfsPlace::new(over(Arc::new(Stingy { memory: memory.clone(), says: 64 << 10, moves: 64 << 10 })));
    let mut files: Vec<(PathBuf, Layout)> = (0..1000u64)
        .map(|i| (format!("d{}/f{i}", i % 7).into(), Layout { filled: i % 5 > 0, ..filled(i * 13 % 2000) }))
        .collect();
    files.push(("large".into(), filled(200_000)));
    files.push(("last".into(), filled(64 << 10)));
    files.iter().for_each(|(path, _)| place.make_parents(path).unwrap());
    let mut fill = |index: usize, offset: u64, into: &mut [u8]| {
        into.copy_from_slice(&bytes(offset + index as u64, into.len()));
    };
    for round in 0..2 {
        let before = memory.issued().unwrap();
        place.lay_out_many(&files, &mut fill, &never).unwrap();
        let calls = memory.issued().unwrap() - before;
        let counts = [Proc::Write, Proc::Commit, Proc::Remove, Proc::Lookup].map(|proc| calls.get(proc).calls);
        let taken = if round == 0 { 0 } else { 1002 };
        // One of 1000 sizes is 0 and filled; "large" is four WRITEs and the COMMIT.
        let written = files.iter().filter(|(_, layout)| layout.filled && layout.size > 0).count() as u64 + 3;
        assert_eq!(counts, [written, 1, taken, 0], "round {round}");
        assert_eq!(calls.get(Proc::Create).calls, 1002 + taken);
        memory.restart();
        for (index, (path, layout)) in files.iter().enumerate() {
            let (path, size) = (path.to_str().unwrap(), layout.size as usize);
            let expected = if layout.filled { bytes(index as u64, size) } else { vec![0; size] };
            assert!(content(&*memory, path) == expected, "{path}");
        }
    }
    files[500].0 = "no/such/dir".into();
    assert_eq!(place.lay_out_many(&files, &mut fill, &never), Err((500, Errno::NOENT)));
    let asked = memory.issued().unwrap().calls();
    assert_eq!(place.lay_out_many(&files, &mut fill, &|| true), Ok(()));
    assert_eq!(place.lay_out_many(&[], &mut fill, &never), Ok(()));
    assert_eq!(memory.issued().unwrap().calls(), asked);
}

#[test]
fn many_files_are_looked_at_and_removed_in_windows() {
    let memory = Arc::new(MemoryMount::new());
    let place = NfsPlace::new(over(memory.clone()));
    let mut files: Vec<(PathBuf, Layout)> =
        (0..200u64).map(|i| (format!("d{}/f{i}", i % 3).into(), Layout { filled: false, ..filled(i) })).collect();
    files.iter().for_each(|(path, _)| place.make_parents(path).unwrap());
    place.lay_out_many(&files, &mut |_, _, _| {}, &never).unwrap();
    files.extend(["d1", "", "d1/absent", "no/such/dir", "no/such/file"].map(|path| (path.into(), filled(0))));
    let paths: Vec<PathBuf> = files.into_iter().map(|(path, _)| path).collect();
    let mut expected: Vec<_> = (0..200).map(|size| Ok(There::File(size))).collect();
    expected.extend([There::Dir, There::Dir, There::Nothing, There::Nothing, There::Nothing].map(Ok));
    let before = memory.issued().unwrap();
    assert_eq!(place.look_many(&paths), expected);
    // One for each name that has a directory, and one for the directory that is not there.
    assert_eq!((memory.issued().unwrap() - before).calls(), 203);
    let other = NfsPlace::new(over(memory.clone()));
    let mut removed = other.remove_many(&paths);
    assert_eq!(
        removed.drain(200..).collect::<Vec<_>>(),
        [Err(Errno::ISDIR), Err(Errno::ISDIR), Ok(()), Ok(()), Ok(())]
    );
    assert!(removed.iter().all(Result::is_ok) && dump(&*memory).len() == 4);
    // The first still knows directories that are not what has their names now.
    for name in ["dirdelete", "dircreate"] {
        let mut engine = NfsMetadata::new(other.export().clone(), Operation::named(name).unwrap(), 1).unwrap();
        engine.open(0, Path::new("d1"), WRITES).unwrap();
        drive(&mut engine, 1, vec![io(0, 0, Direction::Read, 0, 1)]);
    }
    other.lay_out(&paths[1], &filled(7), &mut fill, &never).unwrap();
    assert_eq!(place.look_many(&paths[..2]), [Ok(There::Nothing), Ok(There::File(7))]);
    assert_eq!(place.remove_many(&paths[..2]), [Ok(()), Ok(())]);
    assert_eq!(other.look(&paths[1]), Ok(There::Nothing));
}

#[test]
fn layouts_tell_which_file_failed() {
    let failing = |proc, status| {
        let memory = Arc::new(MemoryMount::new());
        let faults = Arc::new(Faults::new(Which::Nth(3, Some(proc)), status));
        let place = NfsPlace::new(tapped(&memory, &faults));
        let files: Vec<_> = (0..9).map(|i| (PathBuf::from(format!("f{i}")), filled(10))).collect();
        place.lay_out_many(&files, &mut |_, _, _| {}, &never)
    };
    assert_eq!(failing(Proc::Create, Status::NoSpc), Err((3, Errno::NOSPC)));
    assert_eq!(failing(Proc::Write, Status::DQuot), Err((3, Errno::DQUOT)));
    let memory = Arc::new(MemoryMount::with_capacity(8 << 20, 10));
    let place = NfsPlace::new(over(memory));
    assert_eq!(place.lay_out(Path::new("f"), &filled(20 << 20), &mut fill, &never), Err(Errno::NOSPC));
}
