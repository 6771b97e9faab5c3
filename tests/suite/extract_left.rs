//! Files that an extraction could not complete, where other runs leave what they find (`-k`, `--skip-old-files`, `--keep-newer-files`): they
//! go, or it is told that they have to.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parfs::base::{Proc, Status};
use parfs::jobs::extract::{Existing, Options};
use parfs::mounts::{LocalMount, MemoryMount};
use parfs::storage::{Call, Kind, Mount, Op};

use crate::remove_odd::{Odd, pass};
use crate::tars::{MTIME, Ran, Tar, at, crew, extract, pipe, volume};
use crate::tree::{content, dump};

const STAYING: [Existing; 3] = [Existing::Keep, Existing::Skip, Existing::KeepNewer];

fn run(mount: &Arc<impl Mount + 'static>, tar: &Tar, existing: Existing, resume: bool) -> Ran {
    let options = Options { existing, resume, range_bytes: 2 << 20, ..Options::default() };
    extract(&volume(mount), pipe(tar.bytes()), &options, &crew(2, 2))
}

/// The first call that `is_it` says, of a mount that else does what it is asked.
fn once(
    memory: &Arc<MemoryMount>,
    is_it: impl Fn(&Call<'_>) -> bool + Send + Sync + 'static,
    carried_out: bool,
    status: Status,
) -> Arc<Odd> {
    let done = AtomicBool::new(false);
    Odd::new(memory, move |mount, call| {
        let here = is_it(call) && !done.swap(true, Ordering::Relaxed);
        if !here || carried_out {
            pass(mount, call);
        }
        if here {
            call.fail(status);
        }
    })
}

#[test]
fn a_file_without_the_hole_at_its_end_is_not_left() {
    let small = Tar::default().sparse("f", 1 << 20, &[(0, &[1; 5000])]);
    let big = Tar::default().sparse("f", 20 << 20, &[(0, &vec![1; 5 << 20])]);
    for (tar, existing) in [&small, &big].into_iter().flat_map(|tar| STAYING.map(|existing| (tar, existing))) {
        let memory = Arc::new(MemoryMount::new());
        let sizes = |call: &Call<'_>| matches!(&call.op, Op::SetAttr { change, .. } if change.size.is_some());
        let ran = run(&once(&memory, sizes, false, Status::FBig), tar, existing, false);
        assert_eq!(ran.failures, ["f: SETATTR: File too large"]);
        assert!(!dump(&*memory).contains_key("f"), "{existing:?}");
        run(&memory, tar, existing, true).clean();
        assert!(content(&*memory, "f").len() >= 1 << 20);
    }
}

#[test]
fn a_file_that_was_made_without_an_answer_is_told() {
    let tar = Tar::default().file("a", "1").file("b", "2").file("big", vec![3; 5 << 20]);
    let creates = |call: &Call<'_>| call.proc() == Proc::Create;
    for existing in STAYING {
        let memory = Arc::new(MemoryMount::new());
        let ran = run(&once(&memory, creates, true, Status::NoReply), &tar, existing, false);
        let [told] = &ran.failures[..] else { panic!("{:?}", ran.failures) };
        assert!(told.contains("it may be there all the same, empty: remove it, or other runs"), "{told}");
        let left: Vec<_> = ["a", "b", "big"].into_iter().filter(|name| content(&*memory, name).is_empty()).collect();
        assert_eq!(left, [told.split(':').next().unwrap()], "{existing:?}");
    }
    // Also where nobody can look any more.
    let memory = Arc::new(MemoryMount::new());
    let gone = AtomicBool::new(false);
    let silent = Odd::new(&memory, move |mount, call| match call.proc() {
        Proc::Create => {
            pass(mount, call);
            gone.store(true, Ordering::Relaxed);
            call.fail(Status::NoReply);
        }
        _ if gone.load(Ordering::Relaxed) => call.fail(Status::NoReply),
        _ => pass(mount, call),
    });
    let ran = run(&silent, &Tar::default().file("a", "1"), Existing::Skip, false);
    assert!(ran.failures[0].contains("it may be there all the same, empty: remove it, or other runs"), "{ran:?}");
}

/// A node of this host is a way: what it leads to may be another program's by now.
#[test]
fn what_another_program_put_there_stays_on_this_host_too() {
    let dir = tempfile::tempdir().unwrap();
    let (top, local) = (dir.path().to_path_buf(), Arc::new(LocalMount::open(dir.path()).unwrap()));
    let replaced = Odd::new(&local, move |mount, call| match &call.op {
        Op::Write { .. } => {
            fs::write(top.join("new"), "another program's").unwrap();
            fs::rename(top.join("new"), top.join("f")).unwrap();
            call.fail(Status::NoSpc);
        }
        _ => pass(mount, call),
    });
    let ran = run(&replaced, &Tar::default().file("f", "1"), Existing::Skip, false);
    assert_eq!(ran.failures, ["f: WRITE: No space left on device"]);
    assert_eq!(fs::read(dir.path().join("f")).unwrap(), b"another program's");
}

/// File systems behind a server whose modes are what they are (FAT, SMB).
#[test]
fn a_mode_that_is_refused_costs_nothing_else() {
    let memory = Arc::new(MemoryMount::new());
    let fixed = Odd::new(&memory, |mount, call| match &mut call.op {
        Op::SetAttr { change, out, .. } if change.mode.is_some() => *out = Err(Status::Perm),
        Op::Create { .. } => {
            pass(mount, call);
            if let Op::Create { out: Ok(found), .. } = &mut call.op {
                found.attr.iter_mut().for_each(|attr| attr.mode = 0o777);
            }
        }
        _ => pass(mount, call),
    });
    let ran = run(&fixed, &Tar::default().file("f", "1"), Existing::Replace, false);
    assert_eq!(ran.failures, ["f: extracted, but its mode cannot be set: Operation not permitted"]);
    let tree = dump(&*memory);
    assert_eq!((tree["f"].kind, tree["f"].mtime, content(&*memory, "f")), (Kind::File, at(MTIME), b"1".to_vec()));
}
