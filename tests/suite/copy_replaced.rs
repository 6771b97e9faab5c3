//! Multiply linked files that are replaced, or written to, while they are copied: no name gets another file's bytes.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use parfs::base::{Proc, Status};
use parfs::jobs::copy::{Options, Preserve, Verify};
use parfs::mounts::{LocalMount, MemoryMount};
use parfs::storage::faults::Which;
use parfs::storage::{Call, Faults, Kind, Mount, Op, Tap, Tapped};

use crate::ask::Ask;
use crate::cli_support::Bench;
use crate::copies::{Ran, crew, run, sync, volume};
use crate::nasty::{past, put, set_time};
use crate::remove_odd::{Odd, pass};
use crate::tree::{content, dump, node_at};

const SIZES: [usize; 2] = [1000, 3 << 20];
const NAMES: [&str; 3] = ["a", "b", "c"];

/// A mount with a file of three names.
fn linked(mount: &Arc<impl Mount + 'static>, bytes: usize) {
    let (root, node) = (mount.root(), mount.file(&mount.root(), "a", b""));
    put(&**mount, &node, 0, &vec![7; bytes]);
    for at in &NAMES[1..] {
        mount.link(&node, &root, at).unwrap();
    }
    set_time(&**mount, &node, past(1));
}

/// Copies what `odd` does something to at its `nth` READ, from one lane and from several.
fn copied(
    from: &Arc<impl Mount + 'static>,
    nth: u64,
    odd: impl Fn(&dyn Mount) + Send + Sync + 'static,
    lanes: usize,
) -> (Arc<MemoryMount>, Ran) {
    copied_with(from, nth, odd, lanes, &Options::default())
}

fn copied_with(
    from: &Arc<impl Mount + 'static>,
    nth: u64,
    odd: impl Fn(&dyn Mount) + Send + Sync + 'static,
    lanes: usize,
    options: &Options,
) -> (Arc<MemoryMount>, Ran) {
    let (to, n) = (Arc::new(MemoryMount::new()), AtomicU64::new(0));
    let from = Odd::new(from, move |mount, call| {
        if matches!(&call.op, Op::Read { .. }) && n.fetch_add(1, Ordering::Relaxed) == nth {
            odd(mount);
        }
        pass(mount, call);
    });
    let ran = run(&volume(vec![from]), &volume(vec![to.clone() as _]), options, &crew(lanes, 2));
    (to, ran)
}

/// An editor, a rotation of logs: the first name that is met is another file's now.
#[test]
fn the_names_of_a_file_that_was_replaced_keep_its_bytes() {
    for (bytes, lanes) in SIZES.into_iter().flat_map(|bytes| [(bytes, 1), (bytes, 4)]) {
        for is_local in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let replace = |mount: &dyn Mount| {
                let root = mount.root();
                let node = mount.file(&root, "new", b"");
                put(mount, &node, 0, b"another file");
                mount.rename(&root, "new", &root, "a").unwrap();
            };
            let (to, ran) = if is_local {
                let from = Arc::new(LocalMount::open(dir.path()).unwrap());
                linked(&from, bytes);
                copied(&from, 0, replace, lanes)
            } else {
                let from = Arc::new(MemoryMount::new());
                linked(&from, bytes);
                copied(&from, 0, replace, lanes)
            };
            let ran = ran.clean();
            let tree = dump(&*to);
            let was = vec![7; bytes];
            for at in &NAMES[1..] {
                assert!(content(&*to, at) == was, "{at} of {bytes} bytes, {lanes} lanes, local: {is_local}: {ran:?}");
            }
            assert_eq!((tree["b"].nlink > 1, tree["b"].first == tree["c"].first), (true, true), "{ran:?}");
            // A small file may have been read before: then `a` is what was listed.
            let is_new = content(&*to, "a") == b"another file";
            assert!(is_new && tree["a"].nlink == 1 || content(&*to, "a") == was, "{ran:?}");
        }
    }
}

/// Each time that it is looked up it is another file, with another name: nothing is handed on.
#[test]
fn a_name_that_is_replaced_again_and_again_takes_no_others_with_it() {
    let (from, to) = (Arc::new(MemoryMount::new()), Arc::new(MemoryMount::new()));
    linked(&from, SIZES[1]);
    let n = AtomicU64::new(0);
    let replace = move |mount: &dyn Mount| {
        let (root, n) = (mount.root(), n.fetch_add(1, Ordering::Relaxed));
        let node = mount.file(&root, "new", b"");
        put(mount, &node, 0, &vec![n as u8; SIZES[1]]);
        mount.link(&node, &root, format!("other{n}")).unwrap();
        mount.rename(&root, "new", &root, "a").unwrap();
    };
    let is_read = AtomicU64::new(0);
    let odd = Odd::new(&from, move |mount, call| {
        let is_first_read = matches!(call.op, Op::Read { .. }) && is_read.swap(1, Ordering::Relaxed) == 0;
        let is_lookup = matches!(call.op, Op::Lookup { .. });
        if is_first_read {
            replace(mount);
        }
        pass(mount, call);
        if is_lookup {
            replace(mount);
        }
    });
    let ran = run(&volume(vec![odd]), &volume(vec![to.clone() as _]), &Options::default(), &crew(1, 1));
    let was = vec![7; SIZES[1]];
    assert!(content(&*to, "b") == was && content(&*to, "c") == was, "{:?}", ran.failures);
    // Within one tick of the clock it may pass for what it was: `a` is what was listed then.
    let tree = dump(&*to);
    let is_apart = tree.get("a").is_none_or(|a| a.first != tree["b"].first);
    assert!(is_apart || content(&*to, "a") == was, "{:?}", ran.deeds);
}

#[test]
fn the_names_of_a_file_that_was_written_to_stay_one_file_s() {
    for (bytes, lanes) in SIZES.into_iter().flat_map(|bytes| [(bytes, 1), (bytes, 4)]) {
        let from = Arc::new(MemoryMount::new());
        linked(&from, bytes);
        let append = move |mount: &dyn Mount| {
            let node = node_at(mount, &["c"]);
            put(mount, &node, bytes as u64, b"more");
            set_time(mount, &node, past(9));
        };
        let (to, ran) = copied(&from, 0, append, lanes);
        let ran = ran.clean();
        assert!(ran.summary.warnings.is_empty(), "{ran:?}");
        let tree = dump(&*to);
        assert_eq!((tree["a"].nlink, tree["a"].size), (3, bytes as u64 + 4), "{ran:?}");
    }
}

/// N of --max-delete is for the whole run, whatever the sources.
#[test]
fn no_more_is_deleted_than_was_allowed_for_all_sources() {
    let bench = Bench::new();
    for k in 1..=3 {
        fs::create_dir_all(bench.path(format!("p{k}/s{k}"))).unwrap();
        fs::create_dir_all(bench.path(format!("dst/s{k}"))).unwrap();
        for x in 0..2 {
            fs::write(bench.path(format!("dst/s{k}/x{x}")), "x").unwrap();
        }
    }
    let left = || (1..=3).map(|k| fs::read_dir(bench.path(format!("dst/s{k}"))).unwrap().count()).sum::<usize>();
    let ran = bench.run_as("parcp --delete --max-delete 2 p1/s1 p2/s2 p3/s3 dst");
    assert_eq!((ran.status, left()), (Some(1), 4), "{ran:?}");
    bench.run_as("parcp --delete --max-delete 4 p1/s1 p2/s2 p3/s3 dst").ok();
    assert_eq!(left(), 0);
}

/// What of the source cannot be read takes no directory's place: a file that is copied in one piece, one that is copied in
/// ranges, a symbolic link; where the directory is empty, also without --delete.
#[test]
fn a_directory_stays_where_the_source_s_object_cannot_be_read() {
    let plain = Options { delete: None, ..sync() };
    let cases = SIZES.into_iter().map(|bytes| (Some(bytes), Proc::Read)).chain([(None, Proc::ReadLink)]);
    for (bytes, proc) in cases {
        for (options, is_full) in [(&sync(), true), (&sync(), false), (&plain, false)] {
            for (atomic, fails) in [(false, true), (true, true), (false, false), (true, false)] {
                let (from, to) = (Arc::new(MemoryMount::new()), Arc::new(MemoryMount::new()));
                match bytes {
                    Some(bytes) => put(&*from, &from.file(&from.root(), "a", b""), 0, &vec![7; bytes]),
                    None => drop(from.symlink(&from.root(), "a", b"somewhere").unwrap()),
                }
                let there = to.dir(&to.root(), "a");
                if is_full {
                    to.file(&to.dir(&there, "sub"), "v1", b"v1");
                }
                let which = if fails { Which::Nth(0, Some(proc)) } else { Which::Nth(u64::MAX, Some(proc)) };
                let faults: Arc<dyn Tap> = Arc::new(Faults::new(which, Status::Access));
                let from = volume(vec![Arc::new(Tapped::new(from, vec![faults]))]);
                let options = Options { atomic, ..options.clone() };
                let ran = run(&from, &volume(vec![to.clone() as _]), &options, &crew(1, 2));
                let tree = dump(&*to);
                let context = format!("{bytes:?}, full {is_full}, {options:?}: {ran:?}");
                assert_eq!(tree["a"].kind == Kind::Dir, fails, "{context}");
                assert_eq!(tree.contains_key("a/sub/v1"), fails && is_full, "{context}");
                let said = if fails { vec![format!("from/a: {proc}: Permission denied")] } else { Vec::new() };
                assert_eq!(ran.failures, said, "{context}");
            }
        }
    }
}

fn write_large(mount: &dyn Mount, name: &str, byte: u8) {
    put(mount, &mount.file(&mount.root(), name, b""), 0, &vec![byte; SIZES[1]]);
}

/// Over handles nothing more is to be had of what was there: the name is read anew, as of a small file.
#[test]
fn a_large_file_that_is_replaced_while_it_is_read_is_begun_again() {
    // The last READ of one lane is followed by the question what the file is now.
    for (nth, lanes, atomic) in [(0, 1, false), (1, 1, false), (2, 1, true), (2, 4, false)] {
        let from = Arc::new(MemoryMount::new());
        write_large(&*from, "a", 7);
        let replace = |mount: &dyn Mount| {
            write_large(mount, "new", 9);
            mount.rename(&mount.root(), "new", &mount.root(), "a").unwrap();
        };
        let options = Options { atomic, ..Options::default() };
        let (to, ran) = copied_with(&from, nth, replace, lanes, &options);
        let ran = ran.clean();
        assert!(content(&*to, "a") == vec![9; SIZES[1]], "{nth}, {lanes} lanes: {ran:?}");
        assert_eq!(ran.summary.read_again, 1);
    }
}

/// Neither is it as if it had never been there, nor does what there is of it look complete; also where it goes when it is begun again.
#[test]
fn a_large_file_that_vanishes_while_it_is_read_is_told() {
    for (nth, lanes, is_replaced) in [(0, 1, false), (1, 1, false), (2, 4, false), (1, 1, true)] {
        for (atomic, was_there) in [(false, false), (true, false), (false, true), (true, true)] {
            let (from, to) = (Arc::new(MemoryMount::new()), Arc::new(MemoryMount::new()));
            write_large(&*from, "a", 7);
            if was_there {
                write_large(&*to, "a", 5);
                set_time(&*to, &node_at(&*to, &["a"]), past(1));
            }
            let (n, lookups) = (AtomicU64::new(0), AtomicU64::new(0));
            let odd = Odd::new(&from, move |mount, call| {
                let is_looked_up = matches!(call.op, Op::Lookup { .. });
                if matches!(call.op, Op::Read { .. }) && n.fetch_add(1, Ordering::Relaxed) == nth {
                    if is_replaced {
                        write_large(mount, "new", 9);
                        mount.rename(&mount.root(), "new", &mount.root(), "a").unwrap();
                    } else {
                        mount.remove(&mount.root(), "a").unwrap();
                    }
                }
                pass(mount, call);
                // Another file has the name when that is asked, and is gone when it is to be read.
                if is_looked_up && is_replaced && lookups.fetch_add(1, Ordering::Relaxed) == 0 {
                    mount.remove(&mount.root(), "a").unwrap();
                }
            });
            let options = Options { atomic, ..Options::default() };
            let ran = run(&volume(vec![odd]), &volume(vec![to.clone() as _]), &options, &crew(lanes, 2));
            let context = format!("{nth}, {lanes} lanes, {is_replaced}, {atomic}, {was_there}: {ran:?}");
            assert_eq!(ran.failures, ["from/a: vanished while it was read; it was not copied"], "{context}");
            let left = dump(&*to).get("a").map(|a| a.size);
            // What is there is not given up before a first READ.
            let kept = if atomic || nth == 0 && was_there { was_there.then_some(SIZES[1] as u64) } else { Some(0) };
            assert_eq!(left, kept, "{context}");
        }
    }
}

/// A file of two names that is compared while somebody puts others in its place.
fn compared_while_replaced(by: fn(&Arc<MemoryMount>), window: usize) -> Vec<String> {
    let (from, to) = (Arc::new(MemoryMount::new()), Arc::new(MemoryMount::new()));
    linked(&from, 1000);
    linked(&to, 1000);
    let (target, acted) = (to.clone(), AtomicBool::new(false));
    let odd = Odd::new(&to, move |mount, call| {
        if matches!(call.op, Op::Read { .. }) && !acted.swap(true, Ordering::SeqCst) {
            NAMES.iter().for_each(|at| target.remove(&target.root(), at).unwrap());
            by(&target);
        }
        pass(mount, call);
    });
    let preserve = Preserve { xattrs: false, acls: false, ..Preserve::ALL };
    let options = Options { verify: Verify::Only, preserve, ..Options::default() };
    let ran = run(&volume(vec![from]), &volume(vec![odd]), &options, &crew(1, window));
    assert_eq!(ran.failures, Vec::<String>::new());
    // Somebody has changed the directory.
    ran.deeds.into_iter().filter(|deed| deed != "Differs(\"time\") ").collect()
}

/// Whoever replaces a file of several names, as a copy does, replaces all of them.
#[test]
fn names_of_one_file_that_are_replaced_while_they_are_compared_are_names_of_the_other() {
    for window in [1, 4] {
        let deeds = compared_while_replaced(|mount| linked(mount, 1000), window);
        assert_eq!(deeds, Vec::<String>::new(), "{window}");
        let apart = |mount: &Arc<MemoryMount>| {
            for at in NAMES {
                let node = mount.file(&mount.root(), at, b"");
                put(&**mount, &node, 0, &[7; 1000]);
                set_time(&**mount, &node, past(1));
            }
        };
        assert_eq!(compared_while_replaced(apart, window).len(), 2, "{window}");
    }
}

/// Notes how many GETATTRs come together.
#[derive(Default)]
struct Together(Mutex<Vec<usize>>);

impl Tap for Together {
    fn before(&self, calls: &[Call<'_>]) {
        let asked = calls.iter().filter(|call| call.proc() == Proc::GetAttr).count();
        self.0.lock().unwrap().extend((asked > 0).then_some(asked));
    }
}

/// What the first name led to, and what this one does.
#[test]
fn a_name_that_is_no_link_waits_for_one_answer() {
    let (from, to) = (Arc::new(MemoryMount::new()), Arc::new(MemoryMount::new()));
    linked(&from, 1000);
    for at in NAMES {
        let node = to.file(&to.root(), at, b"");
        put(&*to, &node, 0, &[7; 1000]);
        set_time(&*to, &node, past(1));
    }
    [&from, &to].into_iter().for_each(|mount| set_time(&**mount, &mount.root(), past(9)));
    let together = Arc::new(Together::default());
    let view = Arc::new(Tapped::new(to, vec![together.clone() as Arc<dyn Tap>]));
    let options = Options { verify: Verify::Only, ..Options::default() };
    let ran = run(&volume(vec![from]), &volume(vec![view]), &options, &crew(1, 4)).clean();
    assert_eq!(ran.deeds, ["b", "c"].map(|at| format!("Differs(\"hard link\") {at}")));
    // The root, once.
    assert_eq!(*together.0.lock().unwrap(), [1, 2, 2]);
}
