//! A sync of a small tree in which the k-th call of one side fails, for each k: nothing hangs, what failed is named, what the
//! source has is never deleted, nothing looks complete that is not, and the same command without the fault puts all right.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI64};
use std::sync::{Arc, Mutex};

use parfs::base::{Proc, Status};
use parfs::jobs::Live;
use parfs::jobs::copy::{Deletes, Options, Series, Side, Verify, What};
use parfs::mounts::MemoryMount;
use parfs::storage::faults::Which;
use parfs::storage::{AttrChange, Call, Faults, Kind, Limits, Mount, Node, Op, Special, Tally, Tap, Tapped};

use crate::ask::Ask;
use crate::copies::{Ran, crew, run, sync, volume};
use crate::nasty::{past, put, set, set_time};
use crate::random::Random;
use crate::tree::{Tree, assert_same, dump};

/// One of everything, some of it not new to the target.
fn source() -> Arc<dyn Mount> {
    let mount = MemoryMount::new();
    let root = mount.root();
    let mut random = Random(1);
    for (i, at) in ["a", "b", "c"].into_iter().enumerate() {
        let dir = mount.dir(&root, at);
        for (j, bytes) in [0, 1, 5000, 70_000].into_iter().enumerate() {
            let file = mount.file(&dir, format!("f{j}"), b"");
            put(&mount, &file, 0, &random.bytes(bytes));
            set_time(&mount, &file, past((10 * i + j) as i64));
        }
        let link = mount.symlink(&dir, "link", b"somewhere").unwrap().node;
        set_time(&mount, &link, past(40));
        let fifo = mount.mknod(&dir, "fifo", Special::Fifo, AttrChange { mode: Some(0o600), ..Default::default() });
        set_time(&mount, &fifo.unwrap().node, past(41));
    }
    let a = mount.lookup(&root, "a").unwrap().node;
    let deep = mount.dir(&a, "deep");
    let big = mount.file(&deep, "big", b"");
    put(&mount, &big, 0, &random.bytes((3 << 20) + 17));
    put(&mount, &big, 6 << 20, &random.bytes(10));
    set_time(&mount, &big, past(50));
    mount.link(&big, &a, "big once more").unwrap();
    let pair = mount.file(&a, "one of two", b"12");
    set_time(&mount, &pair, past(51));
    mount.link(&pair, &mount.lookup(&root, "b").unwrap().node, "two of two").unwrap();
    set(&mount, &mount.lookup(&a, "f1").unwrap().node, AttrChange { mode: Some(0o4711), ..Default::default() });
    for (i, way) in ["deep", "a", "b", "c"].into_iter().enumerate() {
        let dir = if way == "deep" { &deep } else { &mount.lookup(&root, way).unwrap().node };
        set_time(&mount, dir, past(60 + i as i64));
    }
    set_time(&mount, &root, past(70));
    Arc::new(mount)
}

/// What the target has before: some of it equal, some changed, some of another type, some to be deleted.
fn target() -> Arc<dyn Mount> {
    let mount: Arc<dyn Mount> = Arc::new(MemoryMount::new());
    run(&volume(vec![source()]), &volume(vec![mount.clone()]), &sync(), &crew(1, 1)).clean();
    let root = mount.root();
    let [a, b, c] = ["a", "b", "c"].map(|at| mount.lookup(&root, at).unwrap().node);
    for at in ["f0", "f1", "f2", "f3", "link", "fifo"] {
        mount.remove(&c, at).unwrap();
    }
    mount.rmdir(&root, "c").unwrap();
    mount.file(&root, "c", b"a file where a directory should be");
    mount.remove(&b, "f2").unwrap();
    mount.remove(&a, "one of two").unwrap();
    mount.remove(&b, "two of two").unwrap();
    let dir = mount.dir(&b, "f2");
    mount.file(&dir, "in the way", b"x");
    mount.remove(&a, "link").unwrap();
    mount.symlink(&a, "link", b"elsewhere").unwrap();
    put(&*mount, &mount.lookup(&a, "f3").unwrap().node, 0, b"changed");
    set(&*mount, &mount.lookup(&a, "f2").unwrap().node, AttrChange { mode: Some(0o600), ..Default::default() });
    let extra = mount.dir(&a, "extra");
    mount.file(&extra, "gone soon", b"1");
    mount.file(&b, "gone soon", b"2");
    mount
}

/// Files that would pass for complete and are not.
fn impostors(want: &Tree, is: &Tree) -> Vec<String> {
    let file = |object: &&crate::tree::Object| object.kind == Kind::File;
    let pairs = want.iter().filter_map(|(path, object)| Some((path, object, is.get(path)?)));
    let same = pairs.filter(|(_, a, b)| file(a) && file(b) && (a.size, a.mtime) == (b.size, b.mtime));
    same.filter(|(_, a, b)| a.hash != b.hash).map(|(path, ..)| path.clone()).collect()
}

/// Sees what is deleted after a call failed; not what makes room where the source has another kind of object.
struct Watch {
    faults: Arc<Faults>,
    deleted: Mutex<Vec<String>>,
}

impl Tap for Watch {
    fn admit(&self, call: &Call<'_>) -> Result<(), Status> {
        if let Op::Remove { name, .. } | Op::RmDir { name, .. } = &call.op
            && self.faults.failed() > 0
            && ["gone soon", "extra"].contains(&name.to_string().as_str())
        {
            self.deleted.lock().unwrap().push(name.to_string());
        }
        Ok(())
    }
}

/// One run in which call `k` of one side fails.
struct Fault {
    on_source: bool,
    k: u64,
    status: Status,
}

impl Fault {
    /// Runs; what the fault saw, what was said, and what was deleted after it.
    fn run(
        &self,
        target: &Arc<dyn Mount>,
        options: &Options,
        shape: (usize, usize),
    ) -> (Arc<Faults>, Ran, Vec<String>) {
        let faults = Arc::new(Faults::new(Which::Nth(self.k, None), self.status));
        let watch = Arc::new(Watch { faults: faults.clone(), deleted: Mutex::default() });
        let tapped = |mount: Arc<dyn Mount>, fails: bool| -> Arc<dyn Mount> {
            let fault: Option<Arc<dyn Tap>> = fails.then_some(faults.clone());
            let watch: Arc<dyn Tap> = watch.clone();
            Arc::new(Tapped::new(mount, fault.into_iter().chain([watch]).collect()))
        };
        let (from, to) = (tapped(source(), self.on_source), tapped(target.clone(), !self.on_source));
        let ran = run(&volume(vec![from]), &volume(vec![to]), options, &crew(shape.0, shape.1));
        let deleted = std::mem::take(&mut *watch.deleted.lock().unwrap());
        (faults, ran, deleted)
    }
}

fn sweep(options: &Options, shape: (usize, usize), status: Status) {
    let want = dump(&*source());
    let before = dump(&*target());
    let mut wrong = Vec::new();
    for on_source in [true, false] {
        for k in 0.. {
            let target = target();
            let (faults, ran, deleted) = Fault { on_source, k, status }.run(&target, options, shape);
            if faults.failed() == 0 {
                assert!(k > 20, "a run has more calls than {k}");
                assert_same(&want, &dump(&*target), "without a fault");
                break;
            }
            let side = if on_source { "source" } else { "target" };
            let context = format!("{side} call {k}, {status:?}, atomic {}, {shape:?}", options.atomic);
            let is = dump(&*target);
            let mut judge = |good: bool, what: &str| {
                if !good {
                    wrong.push(format!("{context}: {what}; said {:?}, did {:?}", ran.failures, ran.deeds));
                }
            };
            let complete = crate::tree::differences(&want, &is).is_empty();
            judge(complete || !ran.failures.is_empty(), "a failure that nobody was told of");
            judge(impostors(&want, &is).is_empty(), "a file looks complete and is not");
            let lost: BTreeSet<&String> =
                before.keys().filter(|path| want.contains_key(*path) && !is.contains_key(*path)).collect();
            // What is being replaced is gone for a moment, and stays so when that moment fails.
            let replaced =
                |path: &String| before[path].kind != want[path].kind || before[path].target != want[path].target;
            judge(lost.iter().all(|path| replaced(path)), "something was lost that the source has");
            // Other lanes may be deleting at the very moment.
            if on_source && !ran.failures.is_empty() && shape == (1, 1) {
                judge(deleted.is_empty(), &format!("deleted after the source failed: {deleted:?}"));
            }
            let again = run(&volume(vec![source()]), &volume(vec![target.clone()]), options, &crew(shape.0, shape.1));
            judge(again.failures.is_empty(), "the run after it fails");
            let found = crate::tree::differences(&want, &dump(&*target));
            judge(found.is_empty(), &format!("the run after it leaves {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} things went wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn any_call_may_fail() {
    for shape in [(1, 1), (4, 4)] {
        sweep(&sync(), shape, Status::Io);
    }
}

#[test]
fn any_call_may_fail_with_temporary_names() {
    sweep(&Options { atomic: true, ..sync() }, (4, 4), Status::Io);
}

#[test]
fn any_call_may_fail_while_what_was_written_is_read_back() {
    sweep(&Options { verify: Verify::Written, ..sync() }, (1, 4), Status::Io);
}

#[test]
fn any_object_may_be_gone_or_refused() {
    for status in [Status::Access, Status::Stale, Status::NoSpc] {
        sweep(&sync(), (2, 2), status);
    }
}

/// Says no attributes of what it makes, and answers no RENAME: of each it carries out some and leaves others.
struct Mute {
    mount: Arc<dyn Mount>,
    carried_out: fn(&str) -> bool,
}

impl Mount for Mute {
    fn root(&self) -> Node {
        self.mount.root()
    }

    fn limits(&self) -> Limits {
        self.mount.limits()
    }

    fn perform(&self, calls: &mut [Call<'_>]) {
        for call in calls {
            match &call.op {
                Op::Rename { to, .. } => {
                    if (self.carried_out)(&to.to_string()) {
                        self.mount.perform(std::slice::from_mut(call));
                        assert_eq!(call.status(), Ok(()));
                    }
                    call.fail(Status::NoReply);
                }
                _ => self.mount.perform(std::slice::from_mut(call)),
            }
            if let Op::Create { out: Ok(found), .. } | Op::Symlink { out: Ok(found), .. } = &mut call.op {
                found.attr = None;
            }
        }
    }

    fn issued(&self) -> Option<Tally> {
        self.mount.issued()
    }

    fn label(&self) -> String {
        self.mount.label()
    }
}

#[test]
fn a_rename_that_was_carried_out_is_no_failure_where_nobody_says_so() {
    let source = Arc::new(MemoryMount::new());
    for name in ["done", "undone"] {
        let file = source.file(&source.root(), name, b"new");
        set_time(&*source, &file, past(3));
    }
    let target: Arc<dyn Mount> = Arc::new(MemoryMount::new());
    for name in ["done", "undone"] {
        target.file(&target.root(), name, b"old and longer");
    }
    let mute = Mute { mount: target.clone(), carried_out: |name| name == "done" };
    let options = Options { atomic: true, ..Options::default() };
    let ran = run(&volume(vec![source]), &volume(vec![Arc::new(mute)]), &options, &crew(1, 4));
    assert_eq!(ran.failures.len(), 1, "{:?}", ran.failures);
    assert!(ran.failures[0].starts_with("to/undone: RENAME: "), "{:?}", ran.failures);
    let is = dump(&*target);
    assert_eq!((is["done"].size, is["undone"].size), (3, 14));
}

/// As in rsync: nobody knows whether what could not be read in one source is what the next one's destination has.
#[test]
fn what_failed_in_one_source_holds_back_deletion_for_the_next() {
    let memory = |name: &str| {
        let mount = Arc::new(MemoryMount::new());
        mount.file(&mount.root(), name, b"");
        mount
    };
    for fails in [false, true] {
        let (first, second, targets) = (memory("a"), memory("b"), [memory("extra"), memory("extra")]);
        let which = Which::Nth(if fails { 0 } else { u64::MAX }, Some(Proc::ReadDirPlus));
        let faults: Arc<dyn Tap> = Arc::new(Faults::new(which, Status::Access));
        let sources = [volume(vec![Arc::new(Tapped::new(first, vec![faults]))]), volume(vec![second])];
        let (crew, live) = (crew(2, 1), Live::default());
        let (left, held) = (AtomicI64::new(i64::MAX), AtomicBool::new(false));
        let deletes = Deletes { left: &left, spared: &[], others: false, held: &held };
        let series = Series::new(&sync(), (&crew, &live), deletes, false);
        let copied = sources.iter().zip(&targets).map(|(source, target)| {
            let target = volume(vec![target.clone() as Arc<dyn Mount>]);
            let [from, to] =
                [source, &target].map(|volume| Side { volume, way: Vec::new(), fs_root: false, shown: b"x".to_vec() });
            series.copy(&from, &to, What::Tree, (None, None)).delete_held_back
        });
        assert_eq!(copied.collect::<Vec<_>>(), if fails { [0, 1] } else { [0, 0] });
        let is_there = targets.map(|target| target.lookup(&target.root(), "extra").is_ok());
        assert_eq!(is_there, [fails; 2]);
    }
}
