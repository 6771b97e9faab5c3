//! Removal when calls fail, at every possible place: what failed is named and stays, with what it is in; all else goes; another
//! run removes the rest.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parfs::base::{Proc, Status};
use parfs::crew::{Crew, Stop};
use parfs::jobs::remove::{Excluded, Operand, Options};
use parfs::mounts::{LocalMount, MemoryMount};
use parfs::storage::faults::Which;
use parfs::storage::{Call, Faults, Mount, Tap, Tapped, Trace};

use crate::remove::{Ran, operand, paths, plant, plant_tree, remove_all, remove_paths};
use crate::tars::{crew, volume};
use crate::tree::dump;

/// Names differ, so that a call's name tells the path.
const SAMPLE: [&str; 16] = [
    "w/",
    "w/top/",
    "w/top/f1",
    "w/top/f2",
    "w/top/sub/",
    "w/top/sub/g1",
    "w/top/sub/s1 -> g1",
    "w/top/sub/last/",
    "w/top/sub/last/z1",
    "w/top/empty/",
    "w/top/x.keep",
    "w/top/k/",
    "w/top/k/y.keep",
    "w/top/k/k1",
    "w/alone",
    "w/link -> top",
];
const OPERANDS: [&str; 3] = ["w/top", "w/alone", "w/link"];
const KEPT: [&str; 5] = ["w", "w/top", "w/top/x.keep", "w/top/k", "w/top/k/y.keep"];

fn planted() -> Arc<MemoryMount> {
    let memory = Arc::new(MemoryMount::new());
    plant(&*memory, &SAMPLE);
    memory
}

fn through(mount: Arc<dyn Mount>, taps: Vec<Arc<dyn Tap>>, exclude: bool, crew: &Crew) -> Ran {
    let patterns: &[&str] = if exclude { &["*.keep"] } else { &[] };
    let options = Options { excluded: Excluded::anywhere(patterns).unwrap(), ..Options::default() };
    remove_paths(&Arc::new(Tapped::new(mount, taps)), &OPERANDS, &options, crew)
}

/// Is `path` above one of these, or one of them?
fn leads_to(path: &str, these: &BTreeSet<String>) -> bool {
    these.iter().any(|this| this == path || this.starts_with(&format!("{path}/")))
}

fn assert_left(left: &BTreeSet<&str>, failed: &BTreeSet<String>, exclude: bool, context: &str) {
    for path in left {
        // What could not be listed keeps what is in it.
        let within = failed.iter().any(|f| path.starts_with(&format!("{f}/")));
        let kept = *path == "w" || (exclude && KEPT.contains(path));
        assert!(kept || leads_to(path, failed) || within, "{path} is left: {context}");
    }
    for path in failed {
        assert!(left.contains(path.as_str()), "{path} is told and gone: {context}");
    }
    assert!(!exclude || KEPT.iter().all(|path| left.contains(path)), "{context}");
}

fn sweep(prepare: &dyn Fn() -> (Arc<dyn Mount>, Option<tempfile::TempDir>)) {
    for shape in [(1, 1), (1, 3), (4, 2)] {
        for exclude in [false, true] {
            let counter = Arc::new(Faults::new(Which::Nth(u64::MAX, None), Status::Io));
            let (mount, _dir) = prepare();
            through(mount, vec![counter.clone()], exclude, &crew(shape.0, shape.1)).clean();
            assert!(counter.seen() > 15);
            for k in 0..counter.seen() {
                let ((mount, _dir), trace) = (prepare(), Arc::new(Trace::new(1000)));
                let fault = Arc::new(Faults::new(Which::Nth(k, None), Status::Io));
                let crew_of_run = crew(shape.0, shape.1);
                let ran = through(mount.clone(), vec![trace.clone(), fault.clone()], exclude, &crew_of_run);
                assert_eq!(fault.failed(), 1);
                let seen = trace.seen().into_iter().find(|s| s.status == Err(Status::Io)).unwrap();
                let context = format!("call {k} of {shape:?}, {exclude}, {seen:?}, {:?}", ran.failures);
                let failures = crew_of_run.report().failures();
                let failed: BTreeSet<String> =
                    failures.iter().map(|f| String::from_utf8(f.path.clone()).unwrap()).collect();
                // The directory that all operands are in is told by each.
                let expected = if seen.name.as_ref().is_some_and(|name| name.as_bytes() == b"w") { 3 } else { 1 };
                assert_eq!((failures.len(), failed.len()), (expected, expected), "{context}");
                assert!(
                    ran.failures.iter().all(|f| f.ends_with(&format!("{}: Input/output error", seen.proc))),
                    "{context}"
                );
                if let Some(name) = seen.name.filter(|name| name.as_bytes() != b"w") {
                    let last = failed.first().unwrap().rsplit('/').next().unwrap();
                    assert_eq!(last.as_bytes(), name.as_bytes(), "{context}");
                }
                assert_left(&paths(&dump(&*mount)), &failed, exclude, &context);
                assert_eq!(ran.summary.stopped, None, "{context}");
                // The same once more, for the rest.
                let options = Options { force: true, ..Options::default() };
                if !exclude {
                    remove_paths(&Arc::new(Tapped::new(mount.clone(), vec![])), &OPERANDS, &options, &crew(2, 2))
                        .clean();
                    assert_eq!(paths(&dump(&*mount)), ["w"].into(), "{context}");
                }
            }
        }
    }
}

#[test]
fn every_failing_call_is_told_once_and_harms_nothing_else() {
    sweep(&|| (planted(), None));
}

#[test]
fn the_same_on_a_local_directory() {
    sweep(&|| {
        let dir = tempfile::tempdir().unwrap();
        let local = LocalMount::open(dir.path()).unwrap();
        plant(&local, &SAMPLE);
        (Arc::new(local), Some(dir))
    });
}

/// Many calls fail at once; what is left is exactly what was told, and what it is in.
#[test]
fn random_failures_leave_what_they_name() {
    for seed in 0..60 {
        let memory = planted();
        let fault = Arc::new(Faults::new(Which::Random { seed, per_million: 200_000 }, Status::Access));
        let crew = crew(3, 2);
        let ran = through(memory.clone(), vec![fault], seed % 2 == 0, &crew);
        let failed = crew.report().failures().iter().map(|f| String::from_utf8(f.path.clone()).unwrap()).collect();
        assert_left(&paths(&dump(&*memory)), &failed, seed % 2 == 0, &format!("seed {seed} {:?}", ran.failures));
    }
}

/// Sets the flag at the k-th call.
struct StopAt {
    stop: Stop,
    at: u64,
    seen: AtomicU64,
}

impl Tap for StopAt {
    fn after(&self, calls: &[Call<'_>], _took: Duration) {
        for _ in calls {
            if self.seen.fetch_add(1, Ordering::Relaxed) == self.at {
                self.stop.set();
            }
        }
    }
}

#[test]
fn a_stopped_run_says_so_and_the_next_removes_the_rest() {
    for shape in [(1, 1), (4, 2)] {
        for at in 0..30 {
            let (memory, crew_of_run) = (planted(), crew(shape.0, shape.1));
            let tap = StopAt { stop: crew_of_run.stop().clone(), at, seen: AtomicU64::new(0) };
            let ran = through(memory.clone(), vec![Arc::new(tap)], false, &crew_of_run);
            let left = dump(&*memory).len() - 1;
            let context = format!("{shape:?} {at}: {ran:?}");
            assert!(ran.failures.is_empty(), "{context}");
            // Nothing is left but `w`: the flag came too late to change anything.
            assert_eq!(ran.summary.stopped.is_none(), left == 1, "{context}");
            assert_eq!(SAMPLE.len(), left + ran.told.len(), "{context}");
            if let Some(said) = ran.summary.stopped {
                let (files, dirs) = (ran.summary.files, ran.summary.dirs);
                let counts = format!("interrupted: {files} files and {dirs} directories were removed");
                assert!(said.starts_with(&counts), "{said}");
            }
            let options = Options { force: true, ..Options::default() };
            remove_paths(&memory, &OPERANDS, &options, &crew(2, 2)).clean();
            assert_eq!(paths(&dump(&*memory)), ["w"].into(), "{context}");
        }
    }
}

/// Says that no target is left, from the k-th call on.
struct Gone {
    at: u64,
    seen: AtomicU64,
}

impl Tap for Gone {
    fn admit(&self, _call: &Call<'_>) -> Result<(), Status> {
        if self.seen.fetch_add(1, Ordering::Relaxed) < self.at { Ok(()) } else { Err(Status::NoTarget) }
    }
}

#[test]
fn a_lost_target_ends_the_run_and_is_told_once() {
    for shape in [(1, 1), (4, 2)] {
        for at in 0..20 {
            let memory = planted();
            let gone = Arc::new(Gone { at, seen: AtomicU64::new(0) });
            let list = (0..1000).map(|i| Ok(operand(&*memory, if i == 0 { "w/top" } else { "w/alone" })));
            let view = volume(&Arc::new(Tapped::new(memory.clone(), vec![gone])));
            let options = Options { force: true, ..Options::default() };
            let ran = remove_all(&view, list, &options, &crew(shape.0, shape.1));
            assert_eq!(ran.failures.len(), 1, "{ran:?}");
            assert!(ran.failures[0].ends_with("No mount target is left that answers"), "{ran:?}");
            assert!(ran.summary.stopped.unwrap().starts_with("no mount target is left that answers: "));
            let rest: [Result<Operand, String>; 1] = [Ok(operand(&*memory, "w"))];
            remove_all(&volume(&memory), rest.into_iter(), &options, &crew(2, 2)).clean();
            assert_eq!(dump(&*memory).len(), 1);
        }
    }
}

/// No window is empty.
struct Windows;

impl Tap for Windows {
    fn before(&self, calls: &[Call<'_>]) {
        assert!(!calls.is_empty());
    }
}

/// A local mount carries calls out one after the other: a lane removes itself what it listed, in windows.
#[test]
fn a_local_run_that_ends_early_loses_no_count_and_no_name() {
    for (at, stops) in (0..160).step_by(7).flat_map(|at| [(at, true), (at, false)]) {
        let dir = tempfile::tempdir().unwrap();
        let local = Arc::new(LocalMount::open(dir.path()).unwrap());
        plant_tree(&*local, "w", 2, 70);
        let (all, crew_of_run) = (dump(&*local).len(), crew(2, 4));
        let (stop, seen) = (crew_of_run.stop().clone(), AtomicU64::new(0));
        let tap: Arc<dyn Tap> = if stops { Arc::new(StopAt { stop, at, seen }) } else { Arc::new(Gone { at, seen }) };
        let view = Arc::new(Tapped::new(local.clone(), vec![Arc::new(Windows), tap]));
        let options = Options { force: true, ..Options::default() };
        let ran = remove_paths(&view, &["w"], &options, &crew_of_run);
        let left = dump(&*local).len() - 1;
        let context = format!("{at} {stops}: {:?} {:?}", ran.summary, ran.failures);
        assert_eq!(all - 1, left + ran.told.len(), "{context}");
        assert_eq!(ran.summary.files + ran.summary.dirs, ran.told.len() as u64, "{context}");
        assert_eq!(ran.summary.stopped.is_some(), left > 0, "{context}");
        assert_eq!(ran.failures.len(), usize::from(!stops && left > 0), "{context}");
        remove_paths(&local, &["w"], &options, &crew(2, 2)).clean();
        assert_eq!(dump(&*local).len(), 1, "{context}");
    }
}

/// A mount with a bug.
struct Panics;

impl Tap for Panics {
    fn before(&self, calls: &[Call<'_>]) {
        assert!(calls.iter().all(|c| c.proc() != Proc::RmDir), "the mount's own panic");
    }
}

#[test]
fn a_panic_in_a_lane_comes_out() {
    for shape in [(1, 1), (4, 2)] {
        let ran = catch_unwind(AssertUnwindSafe(|| {
            through(planted(), vec![Arc::new(Panics)], false, &crew(shape.0, shape.1));
        }));
        assert!(ran.is_err());
    }
}
