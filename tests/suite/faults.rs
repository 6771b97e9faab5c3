//! Extraction when things go wrong at every possible place: one object fails, is told, and all else is as it should be.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parfs::base::{Name, Proc, Status};
use parfs::crew::{Crew, Stop};
use parfs::jobs::extract::{Existing, Options};
use parfs::mounts::MemoryMount;
use parfs::storage::faults::Which;
use parfs::storage::{
    AttrChange, Call, Faults, How, Kind, Ledger, Limits, Mount, Node, Spread, Tally, Tap, Tapped, Trace, Volume,
};

use crate::tars::{MTIME, Ran, Tar, at, crew, extract, pipe, seekable, volume};
use crate::tree::{Tree, dump};

/// Names differ, so that a call's name tells the path.
fn sample() -> Tar {
    let tar = Tar::default().dir("top/").file("top/f1", "one").file("top/f2", vec![2; 70_000]).file("top/f3", "");
    let tar = tar.dir_mode("top/sub/", 0o700).file("top/sub/g1", "g").symlink("top/sub/s1", "g1").special("p1", b'6');
    let tar = tar.file("big", vec![5; 5 << 20]).file("imp/i1", "i").link("top/h1", "top/f1").dir("top/sub/last/");
    tar.sparse("top/sparse", 1 << 20, &[(4096, &[1; 5000]), (500_000, &[2; 3000])])
}

fn options() -> Options {
    Options { range_bytes: 2 << 20, ..Options::default() }
}

fn whole() -> Tree {
    let memory = Arc::new(MemoryMount::new());
    extract(&volume(&memory), seekable(sample().bytes()), &options(), &crew(1, 1)).clean();
    dump(&*memory)
}

fn through(memory: &Arc<MemoryMount>, taps: Vec<Arc<dyn Tap>>, options: &Options, crew: &Crew) -> Ran {
    let mount = Arc::new(Tapped::new(memory.clone(), taps));
    extract(&volume(&mount), pipe(sample().bytes()), options, crew)
}

/// Two trees without what the failure of `failed` must change: it, what is in it, links to it, and times that nobody sets.
fn assert_same_beside(tree: &Tree, expected: &Tree, failed: &BTreeSet<String>, context: &str) {
    let spoilt = |path: &str| failed.iter().any(|f| path == f || path.starts_with(&format!("{f}/")));
    for (path, object) in expected {
        // Another name of the same file shares its fate.
        if path.is_empty() || spoilt(path) || spoilt(&object.first) {
            continue;
        }
        // Made only for what failed.
        if path == "imp" && failed.contains("imp/i1") {
            continue;
        }
        let Some(found) = tree.get(path) else { panic!("{path} is missing: {context}") };
        let (mut found, mut object) = (found.clone(), object.clone());
        if object.nlink > 1 || path == "imp" {
            (found.nlink, found.first, found.mtime) = (object.nlink, object.first.clone(), object.mtime);
        }
        object.nlink = found.nlink;
        assert_eq!(found, object, "{path}: {context}");
    }
    assert!(tree.keys().all(|path| expected.contains_key(path)), "{context}");
}

/// The members' paths without their slashes.
fn members() -> Vec<&'static str> {
    vec![
        "top",
        "top/f1",
        "top/f2",
        "top/f3",
        "top/sub",
        "top/sub/g1",
        "top/sub/s1",
        "p1",
        "big",
        "imp/i1",
        "top/h1",
        "top/sub/last",
        "top/sparse",
    ]
}

/// The paths that must fail when this call does.
fn expected_failures(proc: Proc, name: Option<&str>, said: &BTreeSet<String>) -> BTreeSet<String> {
    let below = |dir: &str| -> BTreeSet<String> {
        let within = |m: &&str| *m == dir || m.starts_with(&format!("{dir}/"));
        members().into_iter().filter(within).map(String::from).collect()
    };
    let path = |name: &str| members().into_iter().find(|m| m.rsplit('/').next() == Some(name)).map(String::from);
    match (proc, name) {
        (Proc::MkDir, Some("imp")) => below("imp"),
        (Proc::MkDir, Some(name)) => below(&path(name).unwrap()),
        // A link to what is not there is a failure of its own.
        (Proc::Create | Proc::Remove, Some("f1")) => ["top/f1", "top/h1"].map(String::from).into(),
        (Proc::Lookup, _) | (_, None) => {
            assert!(said.len() == 1 || proc == Proc::Lookup, "{proc} {said:?}");
            said.clone()
        }
        (_, Some(name)) => path(name).into_iter().collect(),
    }
}

#[test]
fn every_failing_call_is_told_once_and_harms_nothing_else() {
    let expected = whole();
    for shape in [(1, 1), (1, 3), (4, 2)] {
        for second_run in [false, true] {
            let counter = Arc::new(Faults::new(Which::Nth(u64::MAX, None), Status::Io));
            let prepare = || {
                let memory = Arc::new(MemoryMount::new());
                if second_run {
                    through(&memory, vec![], &options(), &crew(2, 2)).clean();
                }
                memory
            };
            through(&prepare(), vec![counter.clone()], &options(), &crew(shape.0, shape.1)).clean();
            assert!(counter.seen() > 40);
            for k in 0..counter.seen() {
                let (memory, trace) = (prepare(), Arc::new(Trace::new(10_000)));
                let fault = Arc::new(Faults::new(Which::Nth(k, None), Status::Io));
                let crew = crew(shape.0, shape.1);
                let ran = through(&memory, vec![trace.clone(), fault.clone()], &options(), &crew);
                assert_eq!(fault.failed(), 1);
                let seen = trace.seen().into_iter().find(|s| s.status == Err(Status::Io)).unwrap();
                let context = format!("call {k} of {shape:?}, {seen:?}, {:?}", ran.failures);
                let said: Vec<String> =
                    crew.report().failures().iter().map(|f| String::from_utf8(f.path.clone()).unwrap()).collect();
                let paths: BTreeSet<String> = said.iter().map(|p| p.trim_end_matches('/').to_string()).collect();
                assert_eq!(paths.len(), said.len(), "told once: {context}");
                assert!(!said.is_empty(), "told: {context}");
                let name = seen.name.as_ref().map(ToString::to_string);
                if !second_run {
                    assert_eq!(paths, expected_failures(seen.proc, name.as_deref(), &paths), "{context}");
                }
                assert!(ran.failures.iter().any(|f| f.contains("Input/output error")), "{context}");
                assert_same_beside(&dump(&*memory), &expected, &paths, &context);
                assert_eq!(ran.summary.members, members().len() as u64, "{context}");
                // What failed does not look complete: its time was not set.
                for path in paths.iter().filter(|_| seen.proc == Proc::Write || seen.proc == Proc::Commit) {
                    assert_ne!(dump(&*memory)[path].mtime, at(MTIME), "{context}");
                }
            }
        }
    }
}

/// Carries calls out and then, for the k-th, says that the target did not answer.
struct LostReply {
    mount: Arc<MemoryMount>,
    at: u64,
    seen: AtomicU64,
}

impl Mount for LostReply {
    fn root(&self) -> Node {
        self.mount.root()
    }
    fn limits(&self) -> Limits {
        self.mount.limits()
    }
    fn perform(&self, calls: &mut [Call<'_>]) {
        self.mount.perform(calls);
        for call in calls {
            if self.seen.fetch_add(1, Ordering::Relaxed) == self.at {
                call.repeated = true;
                call.fail(Status::TargetGone);
            }
        }
    }
    fn issued(&self) -> Option<Tally> {
        None
    }
    fn label(&self) -> String {
        "forgetful".into()
    }
}

#[test]
fn a_lost_answer_is_made_good_on_another_target() {
    let expected = whole();
    for existing in [Existing::Replace, Existing::Keep, Existing::Skip, Existing::Overwrite] {
        for at in 0..60 {
            let memory = Arc::new(MemoryMount::new());
            let lost = Arc::new(LostReply { mount: memory.clone(), at, seen: AtomicU64::new(0) });
            let volume = Volume::new(vec![lost, memory.clone()], Spread::First);
            let options = Options { existing, ..options() };
            extract(&volume, pipe(sample().bytes()), &options, &crew(3, 2)).clean();
            assert_same_beside(&dump(&*memory), &expected, &BTreeSet::new(), &format!("{existing:?} {at}"));
        }
    }
}

/// Restarts the server before the k-th call.
struct Restart {
    mount: Arc<MemoryMount>,
    every: u64,
    seen: AtomicU64,
}

impl Tap for Restart {
    fn before(&self, calls: &[Call<'_>]) {
        for _ in calls {
            if self.seen.fetch_add(1, Ordering::Relaxed) % self.every == self.every - 1 {
                self.mount.restart();
            }
        }
    }
}

#[test]
fn data_that_a_restarted_server_lost_is_written_again() {
    let expected = whole();
    // Every call, often enough to spoil each unstable try, and seldom.
    for every in [1, 2, 3, 5, 7, 11, 40] {
        let memory = Arc::new(MemoryMount::new());
        let restart = Arc::new(Restart { mount: memory.clone(), every, seen: AtomicU64::new(0) });
        through(&memory, vec![restart], &options(), &crew(4, 2)).clean();
        assert_same_beside(&dump(&*memory), &expected, &BTreeSet::new(), &format!("every {every}"));
    }
}

#[test]
fn a_full_file_system_is_told_by_file() {
    let expected = whole();
    // Without the root, and with a link that is no file of its own.
    for files in 0..expected.len() as u64 - 2 {
        let memory = Arc::new(MemoryMount::with_capacity(1 << 30, files));
        let ran = through(&memory, vec![], &options(), &crew(4, 2));
        assert!(!ran.failures.is_empty());
        let tree = dump(&*memory);
        // A link needs no room but its target.
        assert!(
            ran.failures.iter().all(|f| f.contains("No space left") || f.starts_with("top/h1:")),
            "{:?}",
            ran.failures
        );
        assert_eq!(tree.keys().filter(|p| *p != "top/h1").count() as u64, files + 1);
    }
    let memory = Arc::new(MemoryMount::with_capacity(1 << 20, 1000));
    let ran = through(&memory, vec![], &options(), &crew(4, 2));
    assert!(ran.failures.iter().any(|f| f == "big: WRITE: No space left on device"), "{:?}", ran.failures);
    assert_ne!(dump(&*memory)["big"].mtime, at(MTIME));
}

/// What follows a WRITE that failed is carried out: the file would look nearly whole, with a hole.
#[test]
fn a_file_that_could_not_be_written_is_left_empty() {
    let mut failed = BTreeSet::new();
    for (n, shape) in (1..20).flat_map(|n| [(n, (1, 1)), (n, (4, 2))]) {
        let memory = Arc::new(MemoryMount::new());
        let full: Arc<dyn Tap> = Arc::new(Faults::new(Which::Nth(n, Some(Proc::Write)), Status::NoSpc));
        let ran = through(&memory, vec![full], &options(), &crew(shape.0, shape.1));
        for failure in &ran.failures {
            let path = failure.strip_suffix(": WRITE: No space left on device").unwrap();
            assert!(crate::tree::content(&*memory, path).is_empty(), "{n} {shape:?} {path}");
            failed.insert(path.to_string());
        }
    }
    assert!(["big", "top/sparse", "top/f2"].iter().all(|path| failed.contains(*path)), "{failed:?}");
}

/// Where the next run leaves what it finds, what is not whole has to go, or nothing would ever complete it.
const STAYING: [Existing; 3] = [Existing::Keep, Existing::Skip, Existing::KeepNewer];

/// Runs it once more, as the message of a run that failed or was stopped advises; all is whole then.
fn goes_on(memory: &Arc<MemoryMount>, options: &Options, context: &str) {
    let again = Options { resume: true, ..options.clone() };
    let ran = through(memory, vec![], &again, &crew(4, 2));
    let tells = |failure: &&String| !failure.ends_with("File exists");
    assert!(!ran.failures.iter().any(|f| tells(&f)), "{context}: {:?}", ran.failures);
    let files = |tree: Tree| -> Vec<_> {
        tree.into_iter().filter(|(_, o)| o.kind == Kind::File).map(|(p, o)| (p, o.hash, o.mtime)).collect()
    };
    assert_eq!(files(dump(&**memory)), files(whole()), "{context}");
}

#[test]
fn a_file_that_could_not_be_written_is_removed_where_the_next_run_would_leave_it() {
    let mut failed = BTreeSet::new();
    for (n, existing) in (0..20).flat_map(|n| STAYING.map(|existing| (n, existing))) {
        let memory = Arc::new(MemoryMount::new());
        let full: Arc<dyn Tap> = Arc::new(Faults::new(Which::Nth(n, Some(Proc::Write)), Status::NoSpc));
        let options = Options { existing, ..options() };
        let ran = through(&memory, vec![full], &options, &crew(4, 2));
        for failure in &ran.failures {
            let Some(path) = failure.strip_suffix(": WRITE: No space left on device") else { continue };
            assert!(!dump(&*memory).contains_key(path), "{n} {existing:?} {path}");
            failed.insert(path.to_string());
        }
        goes_on(&memory, &options, &format!("{n} {existing:?}"));
    }
    assert!(["big", "top/sparse", "top/f1", "top/f2"].iter().all(|path| failed.contains(*path)), "{failed:?}");
}

#[test]
fn what_cannot_be_removed_is_told() {
    let memory = Arc::new(MemoryMount::with_capacity(1 << 20, 1000));
    let fixed: Arc<dyn Tap> = Arc::new(Faults::new(Which::Nth(0, Some(Proc::Remove)), Status::Access));
    let options = Options { existing: Existing::Skip, ..options() };
    let ran = through(&memory, vec![fixed], &options, &crew(1, 1));
    let told = "WRITE: No space left on device, and what there is of it cannot be removed: Permission denied; remove it, or other runs \
                leave it as it is";
    assert_eq!(ran.failures.iter().filter(|f| f.ends_with(told)).count(), 1, "{:?}", ran.failures);
}

/// Another program has put its own file in the place of one whose WRITE failed.
struct Replaces(Arc<MemoryMount>);

impl Tap for Replaces {
    fn after(&self, calls: &[Call<'_>], _took: Duration) {
        for _ in calls.iter().filter(|call| call.proc() == Proc::Write && call.status().is_err()) {
            let root = self.0.root();
            let (big, new) = (Name::new(b"big").unwrap(), Name::new(b"new").unwrap());
            let mut made = [Call::create(&root, &new, How::Unchecked, AttrChange::default())];
            self.0.perform(&mut made);
            self.0.perform(&mut [Call::rename(&root, &new, &root, &big)]);
        }
    }
}

#[test]
fn what_another_program_put_there_is_not_removed() {
    let memory = Arc::new(MemoryMount::with_capacity(1 << 20, 1000));
    let options = Options { existing: Existing::Skip, ..options() };
    let mount = Arc::new(Tapped::new(memory.clone(), vec![Arc::new(Replaces(memory.clone())) as Arc<dyn Tap>]));
    let ran =
        extract(&volume(&mount), pipe(Tar::default().file("big", vec![5; 5 << 20]).bytes()), &options, &crew(4, 2));
    assert_eq!(ran.failures, ["big: WRITE: No space left on device"]);
    assert!(dump(&*memory).contains_key("big"));
}

#[test]
fn a_stopped_run_goes_on_where_existing_files_are_left() {
    let mut begun = 0;
    for (at, existing) in (0..40).flat_map(|at| STAYING.map(|existing| (at, existing))) {
        let (memory, crew) = (Arc::new(MemoryMount::new()), crew(4, 2));
        let tap = StopAt { stop: crew.stop().clone(), at, seen: AtomicU64::new(0) };
        let options = Options { existing, ..options() };
        let ledger = Arc::new(Ledger::default());
        through(&memory, vec![Arc::new(tap), ledger.clone()], &options, &crew);
        begun += ledger.tally().get(Proc::Remove).calls;
        goes_on(&memory, &options, &format!("{at} {existing:?}"));
    }
    assert!(begun > 0);
}

/// What a stopped run has left out is made by the next one, which must not find directories that pass their set-group-id bit on.
#[test]
fn after_a_stop_directories_have_the_bits_of_the_archive() {
    let top = |top: &str| Tar::default().dir_mode(top, 0o2775);
    let filled = |tar: Tar| {
        (0..200).fold(tar, |tar, i| tar.dir_mode(&format!("p/q{i}/"), 0o700).file(&format!("p/q{i}/f"), "f"))
    };
    let tars = [("p", filled(top("p/"))), ("", filled(top("./").dir_mode("p/", 0o755)))];
    for ((dir, tar), at) in tars.iter().flat_map(|tar| (0..400).step_by(25).map(move |at| (tar, at))) {
        for (had, resume) in [(0o755, false), (0o755, true), (0o2755, false)] {
            let run = |memory: &Arc<MemoryMount>, crew: &Crew, taps: Vec<Arc<dyn Tap>>, resume| {
                let mount = Arc::new(Tapped::new(memory.clone(), taps));
                extract(&volume(&mount), pipe(tar.bytes()), &Options { mode_mask: 0, resume, ..options() }, crew)
            };
            let destination = || {
                let memory = Arc::new(MemoryMount::new());
                let change = AttrChange { mode: Some(had), ..AttrChange::default() };
                memory.perform(&mut [Call::set_attr(&memory.root(), change)]);
                memory
            };
            let modes = |memory: &Arc<MemoryMount>| -> BTreeMap<String, u32> {
                dump(&**memory).into_iter().map(|(path, object)| (path, object.mode)).collect()
            };
            let (whole, memory, first) = (destination(), destination(), crew(4, 2));
            run(&whole, &crew(4, 2), vec![], false).clean();
            let tap = StopAt { stop: first.stop().clone(), at, seen: AtomicU64::new(0) };
            let ran = run(&memory, &first, vec![Arc::new(tap)], false);
            assert!(ran.summary.stopped.is_some());
            let stopped = modes(&memory);
            let lacks = stopped.get(*dir).is_some_and(|mode| mode & 0o2000 == 0);
            let says = ran.summary.warnings.iter().any(|told| told.contains("do not have their set-group-id bit yet"));
            assert!(!says || lacks, "{dir} {at}: {:?}", ran.summary.warnings);
            run(&memory, &crew(4, 2), vec![], resume).clean();
            // What the destination passes on by itself, it has passed on to what the stopped run made.
            if had & 0o2000 != 0 {
                assert_eq!(stopped[*dir] & 0o2000, 0o2000, "{dir} {at}");
            } else {
                assert_eq!(modes(&memory), modes(&whole), "{at} {resume}");
            }
        }
    }
}

/// Where the next run with the same options would leave a directory as it is, a stopped one gives it all that it is to have.
#[test]
fn a_stop_holds_nothing_back_that_would_never_be_given() {
    let tar = (0..200).fold(Tar::default().dir_mode("p/", 0o2775), |tar, i| tar.file(&format!("p/f{i}"), "f"));
    for existing in [Existing::UnlinkFirst, Existing::Keep, Existing::Skip, Existing::KeepNewer, Existing::Replace] {
        let (memory, crew) = (Arc::new(MemoryMount::new()), crew(4, 2));
        let tap = StopAt { stop: crew.stop().clone(), at: 20, seen: AtomicU64::new(0) };
        let mount = Arc::new(Tapped::new(memory.clone(), vec![Arc::new(tap) as Arc<dyn Tap>]));
        let options = Options { mode_mask: 0, existing, ..options() };
        let ran = extract(&volume(&mount), pipe(tar.bytes()), &options, &crew);
        assert!(ran.summary.stopped.is_some());
        let is_held_back = existing == Existing::Replace;
        assert_eq!(dump(&*memory)["p"].mode, if is_held_back { 0o775 } else { 0o2775 }, "{existing:?}");
        assert_eq!(ran.summary.warnings.len(), usize::from(is_held_back), "{existing:?}: {:?}", ran.summary.warnings);
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
fn a_stopped_run_says_what_it_left_undone() {
    let expected = whole();
    for shape in [(1, 1), (4, 2)] {
        for at in 0..40 {
            let (memory, crew) = (Arc::new(MemoryMount::new()), crew(shape.0, shape.1));
            let tap = StopAt { stop: crew.stop().clone(), at, seen: AtomicU64::new(0) };
            let ran = through(&memory, vec![Arc::new(tap)], &options(), &crew);
            let (tree, said) = (dump(&*memory), ran.summary.stopped.clone().unwrap());
            let context = format!("{at} {shape:?}: {said} {:?}", ran.failures);
            for path in &ran.done {
                let path = path.trim_end_matches('/');
                assert_eq!(
                    (tree[path].hash, tree[path].mtime),
                    (expected[path].hash, expected[path].mtime),
                    "{context}"
                );
            }
            // What has its time is complete, and was told.
            let complete = tree.iter().filter(|(p, o)| o.kind == Kind::File && o.mtime == expected[*p].mtime);
            for (path, object) in complete {
                assert_eq!(object.hash, expected[path].hash, "{path} {context}");
            }
            assert!(ran.failures.iter().all(|f| f == "big: WRITE: Interrupted"), "{context}");
            assert_eq!(ran.summary.members, (ran.done.len() + ran.failures.len()) as u64, "{context}");
            let front: usize = match said.split_once("the first ") {
                Some((_, rest)) => rest.split(' ').next().unwrap().parse().unwrap(),
                None => 0,
            };
            let first: Vec<&str> = ran.done.iter().take(front).map(|p| p.trim_end_matches('/')).collect();
            let failed = ran.failures.len();
            assert!(front <= ran.done.len() + failed && (failed > 0 || first == members()[..front]), "{context}");
        }
    }
}

/// A mount with a bug.
struct Panics;

impl Tap for Panics {
    fn before(&self, calls: &[Call<'_>]) {
        assert!(calls.iter().all(|c| c.proc() != Proc::Symlink), "the mount's own panic");
    }
}

#[test]
fn a_panic_in_a_lane_comes_out() {
    for shape in [(1, 1), (4, 2)] {
        let memory = Arc::new(MemoryMount::new());
        let ran = catch_unwind(AssertUnwindSafe(|| {
            through(&memory, vec![Arc::new(Panics)], &options(), &crew(shape.0, shape.1))
        }));
        assert!(ran.is_err());
    }
}

/// What a run that was stopped calls complete does not end with a file that it left incomplete.
#[test]
fn a_stopped_run_does_not_count_a_file_it_left_incomplete() {
    let memory = Arc::new(MemoryMount::new());
    let tar = Tar::default().file("a", "a").file("big", vec![5; 8 << 20]);
    let crew = crew(1, 1);
    // CREATE and WRITE of `a`, its SETATTR, then within `big`.
    let tap = StopAt { stop: crew.stop().clone(), at: 6, seen: AtomicU64::new(0) };
    let options = Options { range_bytes: 1 << 20, ..options() };
    let mount = Arc::new(Tapped::new(memory, vec![Arc::new(tap)]));
    let ran = extract(&volume(&mount), seekable(tar.bytes()), &options, &crew);
    assert_eq!(ran.failures, ["big: WRITE: Interrupted"], "{:?}", ran.summary);
    assert!(ran.summary.stopped.as_ref().unwrap().contains("the first 1 members, up to 'a'"), "{ran:?}");
}
