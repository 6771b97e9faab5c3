//! Directories that somebody moves away while a copy or an extraction puts something into them: what was put there is not where it was to be,
//! and that is told.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use parfs::base::{Proc, Status};
use parfs::jobs::copy::{self, Delete, Verify};
use parfs::jobs::extract;
use parfs::mounts::{LocalMount, MemoryMount};
use parfs::storage::{Call, Handle, Mount, Node, Op, Want};

use crate::ask::Ask;
use crate::copies::{self, asked, direct, local};
use crate::nasty::{past, put, set_time};
use crate::remove_odd::{Odd, entries, pass};
use crate::tars::{self, Tar, seekable};
use crate::tree::{dump, node_at};

const SHAPES: [(usize, usize); 3] = [(1, 1), (2, 4), (4, 3)];

const MOVED: &str = "it was moved or removed while it was written: what was copied into it is not at this path";

/// A peer's hand: what it does to the tree, whose root is this.
type Hand = fn(&dyn Mount);

/// Moves `top/d` out of `top`.
fn moves(mount: &dyn Mount) {
    let top = node_at(mount, &["top"]);
    mount.rename(&top, "d", &mount.root(), "away").unwrap();
}

/// The same, and makes another in its place.
fn replaces(mount: &dyn Mount) {
    moves(mount);
    mount.dir(&node_at(mount, &["top"]), "d");
}

/// Does the call put something into a directory, or into a file in one, under the name `last`?
fn gives(call: &Call<'_>, last: &str) -> bool {
    match &call.op {
        Op::Create { name, .. } | Op::MkDir { name, .. } | Op::Link { name, .. } => name.as_bytes() == last.as_bytes(),
        _ => false,
    }
}

/// The mount, on which `hand` acts once, right after the first call that `is_it`.
fn behind(
    mount: &Arc<impl Mount + 'static>,
    is_it: impl Fn(&dyn Mount, &Call<'_>) -> bool + Send + Sync + 'static,
    hand: Hand,
) -> Arc<Odd> {
    let acted = AtomicBool::new(false);
    Odd::new(mount, move |mount, call| {
        let is_now = is_it(mount, call) && !acted.swap(true, Ordering::Relaxed);
        pass(mount, call);
        if is_now {
            assert_eq!(call.status(), Ok(()));
            hand(mount);
        }
    })
}

/// Removes what is there, with all that is in it.
fn removes(mount: &dyn Mount, dir: &Node, at: &str) {
    let node = mount.lookup(dir, at).unwrap().node;
    let names = entries(mount, &node, Want::Types).map(|page| page.entries).unwrap_or_default();
    match mount.remove(dir, at) {
        Ok(()) => {}
        Err(_) => {
            names.iter().for_each(|entry| removes(mount, &node, &String::from_utf8_lossy(entry.name.as_bytes())));
            mount.rmdir(dir, at).unwrap();
        }
    }
}

/// The directory above is known by a handle, of which nothing is left to look a name up in.
#[test]
fn a_directory_that_is_removed_with_the_one_above_it_is_told_as_removed() {
    let hand = |to: &Arc<MemoryMount>| {
        let acted = AtomicBool::new(false);
        // When `top/d` is over.
        Odd::new(to, move |mount, call| {
            let is_d = matches!(&call.op, Op::Lookup { name, .. } if name.as_bytes() == b"d");
            if is_d && !acted.swap(true, Ordering::Relaxed) {
                removes(mount, &mount.root(), "top");
            }
            pass(mount, call);
        })
    };
    let is_told = |root: &str, failures: &[String]| {
        let told = ["top", "top/d"].map(|at| format!("{root}{at}: {MOVED}"));
        assert!(told.iter().all(|text| failures.contains(text)), "{failures:?}");
        assert!(!failures.iter().any(|text| text.contains("LOOKUP")), "{failures:?}");
    };
    let to = Arc::new(MemoryMount::new());
    is_told("to/", &go(&source(), hand(&to), &copies::sync(), (1, 1)).failures);
    let to = Arc::new(MemoryMount::new());
    is_told("", &extracted(hand(&to), &tar(), &extract::Options::default(), (1, 1)).failures);
}

fn paths(mount: &dyn Mount) -> BTreeSet<String> {
    dump(mount).into_keys().filter(|path| !path.is_empty()).collect()
}

/// `top/d` with two files and `top/d/sub` with one, and a file beside `d`.
fn source() -> Arc<MemoryMount> {
    let from = Arc::new(MemoryMount::new());
    let top = from.dir(&from.root(), "top");
    let d = from.dir(&top, "d");
    for name in ["one", "two"] {
        from.file(&d, name, b"data");
    }
    from.file(&from.dir(&d, "sub"), "three", b"more");
    from.file(&top, "beside", b"else");
    from
}

fn go(
    from: &Arc<impl Mount + 'static>,
    to: Arc<dyn Mount>,
    options: &copy::Options,
    shape: (usize, usize),
) -> copies::Ran {
    let (source, target) = (copies::volume(vec![from.clone() as _]), copies::volume(vec![to]));
    copies::run(&source, &target, options, &copies::crew(shape.0, shape.1))
}

#[test]
fn a_directory_that_is_moved_away_while_it_is_copied_into_is_told() {
    let atomic = copy::Options { atomic: true, ..copies::sync() };
    let verified = copy::Options { verify: Verify::Written, ..copy::Options::default() };
    for options in [copies::sync(), atomic, verified, copy::Options::default()] {
        for (shape, hand) in SHAPES.into_iter().flat_map(|shape| [(shape, moves as Hand), (shape, replaces as Hand)]) {
            let to = Arc::new(MemoryMount::new());
            // Whatever name it has until it is complete.
            let odd = behind(&to, |_, call| matches!(&call.op, Op::Write { data: b"more", .. }), hand);
            let ran = go(&source(), odd, &options, shape);
            assert_eq!(ran.failures, [format!("to/top/d: {MOVED}")], "{shape:?} {:?}", paths(&*to));
            for path in ["away/one", "away/two", "away/sub/three", "top/beside"] {
                assert!(paths(&*to).contains(path), "{path} {:?}", paths(&*to));
            }
        }
    }
}

#[test]
fn over_nfs_and_on_this_host_it_is_told_as_well() {
    for hand in [moves as Hand, replaces as Hand] {
        let to = Arc::new(MemoryMount::new());
        let (server, views) = direct(behind(&to, |_, call| gives(call, "three"), hand), 2);
        let ran = copies::run(
            &copies::volume(vec![source() as _]),
            &copies::volume(views),
            &copies::sync(),
            &copies::crew(4, 3),
        );
        assert_eq!(ran.failures, [format!("to/top/d: {MOVED}")]);
        drop(server);
    }
    for replaced in [false, true] {
        let (dir, _) = local();
        let mount = Arc::new(LocalMount::open(dir.path()).unwrap());
        let (way, acted) = (dir.path().to_owned(), AtomicBool::new(false));
        let odd = Odd::new(&mount, move |mount, call| {
            let is_now = gives(call, "three") && !acted.swap(true, Ordering::Relaxed);
            pass(mount, call);
            if is_now {
                std::fs::rename(way.join("top/d"), way.join("away")).unwrap();
                if replaced {
                    std::fs::create_dir(way.join("top/d")).unwrap();
                }
            }
        });
        let ran = go(&source(), odd, &copies::sync(), (1, 1));
        assert_eq!(ran.failures, [format!("to/top/d: {MOVED}")], "{replaced}");
        assert!(Path::new(&dir.path().join("away/sub/three")).exists());
    }
}

/// Nobody can know then that it is another one: it is filled, and is at its path. What is moved later is told, once more files are in it.
#[test]
fn on_this_host_a_directory_that_was_exchanged_before_its_first_use_is_filled_as_the_new_one() {
    for (job, again) in [("copy", false), ("copy", true), ("extract", false), ("extract", true), ("found", false)] {
        let (dir, _) = local();
        let mount = Arc::new(LocalMount::open(dir.path()).unwrap());
        if job == "found" {
            mount.dir(&mount.dir(&mount.root(), "top"), "d");
        }
        let (way, acted) = (dir.path().to_owned(), [false; 2].map(AtomicBool::new));
        let odd = Odd::new(&mount, move |mount, call| {
            let is_met = match &call.op {
                Op::MkDir { name, .. } => name.as_bytes() == b"d" && job != "found",
                Op::Lookup { name, .. } => name.as_bytes() == b"d" && job == "found",
                _ => false,
            };
            let is_later = again && gives(call, "three");
            pass(mount, call);
            for (is_now, acted, to) in [(is_met, &acted[0], "away"), (is_later, &acted[1], "later")] {
                if is_now && !acted.swap(true, Ordering::Relaxed) {
                    std::fs::rename(way.join("top/d"), way.join(to)).unwrap();
                    std::fs::create_dir(way.join("top/d")).unwrap();
                }
            }
        });
        let (failures, place) = match job {
            "copy" => (go(&source(), odd, &copies::sync(), (1, 1)).failures, "to/top/d"),
            _ => (extracted(odd, &tar(), &extract::Options::default(), (1, 1)).failures, "top/d"),
        };
        let told = if again { vec![format!("{place}: {MOVED}")] } else { vec![] };
        assert_eq!(failures, told, "{job}");
        let filled = if again { "later" } else { "top/d" };
        assert!(dir.path().join(filled).join("sub/three").exists(), "{job} {again}");
        assert_eq!(std::fs::read_dir(dir.path().join("away")).unwrap().count(), 0, "{job} {again}");
    }
}

/// A name in it is not changed then, but its bytes are elsewhere all the same.
#[test]
fn what_is_written_over_in_its_place_counts_and_so_does_a_hard_link() {
    for size in [4, 3_000_000] {
        let (from, to) = (source(), Arc::new(MemoryMount::new()));
        go(&from, to.clone(), &copies::sync(), (2, 2)).clean();
        let file = node_at(&*from, &["top", "d", "one"]);
        put(&*from, &file, 0, &vec![9; size]);
        set_time(&*from, &file, past(77));
        let odd = behind(&to, |_, call| matches!(call.op, Op::Write { .. }), replaces);
        let ran = go(&from, odd, &copies::sync(), (3, 3));
        assert_eq!(ran.failures, [format!("to/top/d: {MOVED}")], "{size}");
    }
    // Whichever of the directories has the name that becomes the link.
    let (from, to) = (Arc::new(MemoryMount::new()), Arc::new(MemoryMount::new()));
    let [d, e] = ["d", "e"].map(|name| from.dir(&from.root(), name));
    from.link(&from.file(&d, "one", b"data"), &e, "two").unwrap();
    let moved = Arc::new(Mutex::new(""));
    let note = moved.clone();
    let odd = Odd::new(&to, move |mount, call| {
        pass(mount, call);
        if let Op::Link { dir, .. } = &call.op {
            let name = if *dir == node_at(mount, &["d"]) { "d" } else { "e" };
            mount.rename(&mount.root(), name, &mount.root(), "away").unwrap();
            *note.lock().unwrap() = name;
        }
    });
    let ran = go(&from, odd, &copies::sync(), (1, 1));
    assert_eq!(ran.failures, [format!("to/{}: {MOVED}", moved.lock().unwrap())]);
}

/// One LOOKUP for each directory that something was put into, and none for others.
#[test]
fn it_is_asked_only_of_what_something_was_put_into() {
    let lookups = |from: &Arc<MemoryMount>, to: &Arc<MemoryMount>, options: &copy::Options| {
        let (from, to): (Arc<dyn Mount>, Arc<dyn Mount>) = (from.clone(), to.clone());
        let (_, written, ran) = asked(&from, &to, options, (2, 2));
        (written.get(Proc::Lookup).calls, ran.failures)
    };
    let (from, to) = (source(), Arc::new(MemoryMount::new()));
    from.dir(&from.root(), "empty");
    assert_eq!(lookups(&from, &to, &copies::sync()), (3, vec![]));
    // Nothing is to be done.
    assert_eq!(lookups(&from, &to, &copies::sync()), (0, vec![]));
    let compares = copy::Options { verify: Verify::Only, ..copy::Options::default() };
    assert_eq!(lookups(&from, &to, &compares), (0, vec![]));
    // Something is only removed.
    from.remove(&node_at(&*from, &["top", "d"]), "one").unwrap();
    let deletes = copy::Options { delete: Some(Delete::default()), ..copy::Options::default() };
    assert_eq!(lookups(&from, &to, &deletes), (0, vec![]));
    // In one of them.
    from.file(&node_at(&*from, &["top", "d"]), "new", b"data");
    assert_eq!(lookups(&from, &to, &copies::sync()), (1, vec![]));
}

/// A LOOKUP that fails says nothing of the name, and is told as what it is; who may not ask has made all the same what was to be made. And one
/// object may have several handles.
#[test]
fn what_is_no_proof_is_not_told() {
    for (status, told) in [(Status::Access, 0), (Status::Io, 3), (Status::Stale, 3)] {
        let odd = || {
            Odd::new(&Arc::new(MemoryMount::new()), move |mount, call| match call.op {
                Op::Lookup { .. } => call.fail(status),
                _ => pass(mount, call),
            })
        };
        let copied = go(&source(), odd(), &copy::Options::default(), (2, 2)).failures;
        let extracted = extracted(odd(), &tar(), &extract::Options::default(), (2, 2)).failures;
        for failures in [copied, extracted] {
            let said = failures.iter().filter(|text| text.ends_with(&format!(": LOOKUP: {status}"))).count();
            assert_eq!((said, failures.len()), (told, told), "{failures:?}");
        }
    }
    go(&source(), with_other_handles(), &copy::Options::default(), (2, 2)).clean();
    extracted(with_other_handles(), &tar(), &extract::Options::default(), (2, 2)).clean();
}

/// A server whose LOOKUP finds another handle of the object than the one that was made with it.
fn with_other_handles() -> Arc<Odd> {
    Odd::new(&Arc::new(MemoryMount::new()), |mount, call| {
        let of = |node: &Node| match node {
            Node::Handle(handle) => handle.as_bytes().strip_suffix(b"another").and_then(Handle::new).map(Node::Handle),
            Node::Chain(_) => None,
        };
        if let Op::GetAttr { node, .. } = &mut call.op
            && let Some(real) = of(node)
        {
            *node = real;
        }
        pass(mount, call);
        if let Op::Lookup { out: Ok(found), .. } = &mut call.op
            && let Node::Handle(handle) = &found.node
        {
            found.node = Node::Handle(Handle::new(&[handle.as_bytes(), b"another"].concat()).unwrap());
            found.attr = None;
        }
    })
}

/// `top/d` as a member, with files in it and in `top/d/sub`, which is in a path alone.
fn tar() -> Tar {
    Tar::default().dir("top/d/").file("top/d/one", "data").file("top/d/sub/three", "more").file("top/d/two", "data")
}

fn extracted(to: Arc<Odd>, tar: &Tar, options: &extract::Options, shape: (usize, usize)) -> tars::Ran {
    tars::extract(&tars::volume(&to), seekable(tar.bytes()), options, &tars::crew(shape.0, shape.1))
}

#[test]
fn a_directory_that_is_moved_away_while_it_is_extracted_into_is_told() {
    // Directories that are finished early and used again as well.
    for (dirs_max, range_bytes) in [(100_000, 4 << 20), (1, 4 << 20), (100_000, 1)] {
        let options = extract::Options { dirs_max, range_bytes, ..extract::Options::default() };
        for (shape, hand) in SHAPES.into_iter().flat_map(|shape| [(shape, moves as Hand), (shape, replaces as Hand)]) {
            let to = Arc::new(MemoryMount::new());
            let ran = extracted(behind(&to, |_, call| gives(call, "one"), hand), &tar(), &options, shape);
            let told = format!("top/d: {MOVED}");
            assert_eq!(ran.failures.iter().filter(|failure| **failure == told).count(), 1, "{:?}", ran.failures);
            assert!(ran.failures.len() == 1 || dirs_max == 1, "{:?}", ran.failures);
            assert!(paths(&*to).contains("away/one"));
        }
    }
}

/// Nothing else is due of a directory that is in a path alone.
#[test]
fn a_directory_of_a_path_alone_is_told_as_well() {
    let tar = Tar::default().file("top/d/one", "data").link("top/d/two", "top/d/one");
    for last in ["one", "two"] {
        let to = Arc::new(MemoryMount::new());
        let odd = behind(&to, move |_, call| gives(call, last), replaces);
        let ran = extracted(odd, &tar, &extract::Options::default(), (1, 1));
        assert!(ran.failures.contains(&format!("top/d: {MOVED}")), "{last} {:?}", ran.failures);
    }
}

#[test]
fn an_extraction_asks_only_of_what_something_was_put_into() {
    let tar = tar().dir("top/none/");
    let to = Arc::new(MemoryMount::new());
    for (options, lookups) in [
        (extract::Options::default(), 3),
        // Each file is looked up, and MKDIR finds four directories.
        (extract::Options { resume: true, ..extract::Options::default() }, 3 + 4),
    ] {
        let (counted, ledger) = copies::counted(to.clone());
        let volume = copies::volume(vec![counted]);
        tars::extract(&volume, seekable(tar.bytes()), &options, &tars::crew(1, 1)).clean();
        assert_eq!(ledger.tally().get(Proc::Lookup).calls, lookups);
    }
}
