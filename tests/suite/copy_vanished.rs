//! What goes from the source while it is copied: it is as if it had never been there, and deletions go on.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parfs::base::Status;
use parfs::jobs::copy::{Compare, Options, Verify};
use parfs::mounts::{LocalMount, MemoryMount};
use parfs::storage::{AttrChange, Beyond, Call, Mount, Node, Op};

use crate::ask::{Ask, mode};
use crate::copies::{Ran, crew, run, sync, volume};
use crate::nasty::{past, put, set, set_time};
use crate::remove_odd::{Odd, pass};
use crate::tree::{Tree, dump};

fn go(source: Arc<Odd>, target: &Arc<MemoryMount>, options: &Options) -> Ran {
    run(&volume(vec![source]), &volume(vec![target.clone() as _]), options, &crew(3, 3))
}

fn paths(mount: &dyn Mount) -> Vec<String> {
    dump(mount).into_keys().filter(|path| !path.is_empty()).collect()
}

/// A source with a directory, its node, and a target that has something more.
fn trees() -> (Arc<MemoryMount>, Node, Arc<MemoryMount>) {
    let (from, to) = (Arc::new(MemoryMount::new()), Arc::new(MemoryMount::new()));
    from.file(&from.root(), "f", b"data");
    let dir = from.dir(&from.root(), "t");
    to.file(&to.root(), "gone", b"");
    (from, dir, to)
}

/// Does `first` before the first call about `node` that `is_it`.
fn before(
    mount: &Arc<MemoryMount>,
    is_it: fn(&Op<'_>) -> Option<Node>,
    node: &Node,
    first: fn(&dyn Mount),
) -> Arc<Odd> {
    let (node, met) = (node.clone(), AtomicBool::new(false));
    Odd::new(mount, move |mount, call| {
        if is_it(&call.op).as_ref() == Some(&node) && !met.swap(true, Ordering::Relaxed) {
            first(mount);
        }
        pass(mount, call);
    })
}

fn listed(op: &Op<'_>) -> Option<Node> {
    if let Op::ReadDir { dir, .. } = op { Some(dir.clone()) } else { None }
}

#[test]
fn a_directory_that_goes_before_it_is_listed_holds_nothing_back() {
    let (from, dir, to) = trees();
    to.file(&to.dir(&to.root(), "t"), "old", b"");
    let odd = before(&from, listed, &dir, |mount| mount.rmdir(&mount.root(), "t").unwrap());
    let Ran { summary, .. } = go(odd, &to, &sync()).clean();
    assert_eq!(paths(&*to), ["f", "t", "t/old"]);
    assert_eq!((summary.deleted, summary.delete_held_back, summary.vanished), (1, 0, 1));
    go(Odd::new(&from, pass), &to, &sync()).clean();
    assert_eq!(paths(&*to), ["f"]);
}

/// An ACL may let in fewer than the mode does: a copy without it is a failure, whatever became of the file.
#[test]
fn a_file_that_goes_before_its_attributes_are_listed_is_a_failure() {
    let (from, _, to) = trees();
    let file = from.lookup(&from.root(), "f").unwrap().node;
    let attributes = |op: &Op<'_>| match op {
        Op::Beyond(Beyond::ListXattrs { node, .. }) => Some(node.clone()),
        _ => None,
    };
    let odd = before(&from, attributes, &file, |mount| mount.remove(&mount.root(), "f").unwrap());
    let ran = go(odd, &to, &sync());
    assert!(ran.failures.len() == 1 && ran.failures[0].starts_with("from/f: "), "{:?}", ran.failures);
    assert!(paths(&*to).contains(&"gone".to_owned()));
}

/// Its copy is emptied by then, where it is begun again: nothing of it is to be had.
#[test]
fn a_file_that_goes_with_its_directory_after_it_was_begun_is_a_failure() {
    let (from, dir, to) = trees();
    for (mount, bytes) in [(&from, 3_000_000), (&to, 3_500_000)] {
        let dir =
            mount.lookup(&mount.root(), "t").map(|found| found.node).unwrap_or_else(|_| mount.dir(&mount.root(), "t"));
        put(&**mount, &mount.file(&dir, "big", b""), 0, &vec![7; bytes]);
    }
    let big = from.lookup(&dir, "big").unwrap().node;
    let read = AtomicBool::new(false);
    let odd = Odd::new(&from, move |mount, call| {
        match &call.op {
            Op::Read { node, .. } if *node == big && !read.swap(true, Ordering::Relaxed) => {
                set_time(mount, &big, past(9));
            }
            Op::Lookup { dir: at, .. } if *at == dir && read.load(Ordering::Relaxed) => {
                let _ = mount.remove(&dir, "big");
                let _ = mount.rmdir(&mount.root(), "t");
            }
            _ => {}
        }
        pass(mount, call);
    });
    let ran = go(odd, &to, &sync());
    let told = "from/t/big: vanished while it was read; it was not copied";
    assert!(ran.failures.iter().any(|failure| failure == told), "{:?}", ran.failures);
    assert!(paths(&*to).contains(&"gone".to_owned()), "{:?}", paths(&*to));
}

/// What is there all the same could not be read, and what took a directory's place is not copied: nothing is deleted then.
#[test]
fn what_is_said_to_be_gone_and_is_there_is_a_failure() {
    let (from, dir, to) = trees();
    let broken = Odd::new(&from, move |mount, call: &mut Call<'_>| match listed(&call.op).as_ref() == Some(&dir) {
        true => call.fail(Status::NoEnt),
        false => pass(mount, call),
    });
    let ran = go(broken, &to, &sync());
    assert_eq!(
        (ran.failures.len(), paths(&*to)),
        (1, ["f", "gone", "t"].map(String::from).to_vec()),
        "{:?}",
        ran.failures
    );

    let (from, dir, to) = trees();
    let odd = before(&from, listed, &dir, |mount| {
        mount.rmdir(&mount.root(), "t").unwrap();
        mount.file(&mount.dir(&mount.root(), "t"), "in", b"");
    });
    let ran = go(odd, &to, &sync());
    assert!(!ran.failures.is_empty() && paths(&*to).contains(&"gone".to_owned()), "{:?}", ran.failures);
}

/// Handles of a directory and of the one that it is in are not known any more, and that one is there: it says nothing of the other.
#[test]
fn a_directory_that_is_there_says_nothing_of_what_was_in_it() {
    let (from, dir, to) = trees();
    let below = from.dir(&dir, "u");
    let odd = Odd::new(&from, move |mount, call: &mut Call<'_>| match &call.op {
        Op::ReadDir { dir: at, .. } if *at == below => call.fail(Status::Stale),
        Op::Lookup { dir: at, .. } if *at == dir => call.fail(Status::Stale),
        _ => pass(mount, call),
    });
    let ran = go(odd, &to, &sync());
    assert!(ran.failures.len() == 1 && ran.failures[0].starts_with("from/t/u: "), "{:?}", ran.failures);
    assert!(paths(&*to).contains(&"gone".to_owned()));
}

/// What differs in it beside its content was told by then.
#[test]
fn a_comparison_tells_once_of_a_file_that_is_replaced() {
    let (from, _, to) = trees();
    go(Odd::new(&from, pass), &to, &Options::default()).clean();
    set(&*to, &to.lookup(&to.root(), "f").unwrap().node, mode(0o600));
    let read = |op: &Op<'_>| if let Op::Read { node, .. } = op { Some(node.clone()) } else { None };
    for (first, lost) in [((|mount| mount.remove(&mount.root(), "f").unwrap()) as fn(&dyn Mount), 1), (replace, 0)] {
        let (again, _, _) = trees();
        let odd = before(&again, read, &again.lookup(&again.root(), "f").unwrap().node, first);
        let ran = go(odd, &to, &Options { verify: Verify::Only, ..Options::default() });
        let modes = ran.deeds.iter().filter(|deed| deed.contains("mode")).count();
        assert_eq!((modes, ran.failures.len() as u64 + ran.summary.vanished), (1, lost), "{ran:?}");
    }
}

/// As who replaces files does: renames another over the one that is there.
fn replace(mount: &dyn Mount) {
    mount.file(&mount.root(), "new", b"data");
    mount.rename(&mount.root(), "new", &mount.root(), "f").unwrap();
}

fn sized(size: u64) -> AttrChange {
    AttrChange { size: Some(size), ..AttrChange::default() }
}

#[test]
fn what_is_replaced_at_the_target_while_it_is_compared_is_compared_again() {
    let modes = [(Compare::Bytes, Verify::Off), (Compare::default(), Verify::Only)];
    for (bytes, (compare, verify)) in [4, 3_000_000].into_iter().flat_map(|bytes| modes.map(|mode| (bytes, mode))) {
        let (from, to) = (Arc::new(MemoryMount::new()), Arc::new(MemoryMount::new()));
        set(&*from, &from.file(&from.root(), "f", b"data"), sized(bytes));
        go(Odd::new(&from, pass), &to, &Options::default()).clean();
        let read = |op: &Op<'_>| if let Op::Read { node, .. } = op { Some(node.clone()) } else { None };
        let was = to.lookup(&to.root(), "f").unwrap().node;
        let odd = before(&to, read, &was, |mount| {
            let size = mount.lookup(&mount.root(), "f").unwrap().attr.unwrap().size;
            set(mount, &mount.file(&mount.root(), "new", b"data"), sized(size));
            mount.rename(&mount.root(), "new", &mount.root(), "f").unwrap();
        });
        let options = Options { compare, verify, range_bytes: 64 << 10, ..Options::default() };
        run(&volume(vec![from.clone() as _]), &volume(vec![odd]), &options, &crew(3, 3)).clean();
        let is = to.lookup(&to.root(), "f").unwrap().node;
        assert_eq!((is == was, dump(&*to)["f"].hash), (false, dump(&*from)["f"].hash));
    }
}

/// Is this READ or READLINK of what has the name `f`?
fn reads(mount: &dyn Mount, op: &Op<'_>) -> bool {
    let file = || mount.lookup(&mount.root(), "f").unwrap().node;
    matches!(op, Op::Read { node, .. } | Op::ReadLink { node, .. } if *node == file())
}

#[test]
fn what_is_replaced_before_it_is_read_is_looked_up_again() {
    let file: fn(&dyn Mount) = |mount| drop(mount.file(&mount.root(), "new", b"another"));
    let link: fn(&dyn Mount) = |mount| drop(mount.symlink(&mount.root(), "new", b"release-2").unwrap());
    for (was, becomes, times) in [(file, file, 4), (link, link, 4), (link, file, 1), (file, link, 1), (file, file, 5)] {
        let (from, _, to) = trees();
        let put = move |mount: &dyn Mount, make: fn(&dyn Mount)| {
            make(mount);
            mount.rename(&mount.root(), "new", &mount.root(), "f").unwrap();
        };
        put(&*from, was);
        let left = AtomicUsize::new(times);
        let take = move || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
        let odd = Odd::new(&from, move |mount, call| {
            if reads(mount, &call.op) && take() {
                put(mount, becomes);
            }
            pass(mount, call);
        });
        let ran = go(odd, &to, &sync());
        if times > 4 {
            assert_eq!(ran.failures, ["from/f: READ: Stale file handle"]);
            continue;
        }
        ran.clean();
        let (is, copied) = (dump(&*from), dump(&*to));
        assert_eq!((is["f"].kind, is["f"].size), (copied["f"].kind, copied["f"].size));
    }
}

/// On this host a name is opened: a symbolic link or a directory that has it by then cannot be read as the file that was listed.
#[test]
fn a_large_file_that_becomes_something_else_before_it_is_read_is_looked_up_again() {
    let link: fn(&Path) = |path| symlink("release-2", path).unwrap();
    let dir: fn(&Path) = |path| {
        fs::create_dir(path).unwrap();
        fs::write(path.join("in"), b"data").unwrap();
    };
    for (becomes, options) in [(link, sync()), (dir, sync()), (link, Options { atomic: true, ..sync() })] {
        let (from, to) = (tempfile::tempdir().unwrap(), Arc::new(MemoryMount::new()));
        fs::write(from.path().join("big"), vec![7; 3_000_000]).unwrap();
        let mount = Arc::new(LocalMount::open(from.path()).unwrap());
        let (place, read) = (from.path().join("big"), AtomicBool::new(false));
        let odd = Odd::new(&mount, move |mount, call| {
            if matches!(call.op, Op::Read { .. }) && !read.swap(true, Ordering::Relaxed) {
                fs::remove_file(&place).unwrap();
                becomes(&place);
            }
            pass(mount, call);
        });
        go(odd, &to, &options).clean();
        let kinds = |tree: Tree| tree.into_iter().map(|(path, at)| (path, at.kind)).collect::<Vec<_>>();
        assert_eq!(kinds(dump(&*mount)), kinds(dump(&*to)));
    }
}

/// As before it is read.
#[test]
fn what_goes_or_is_replaced_before_its_attributes_are_compared_is_looked_up_again() {
    let attributes = |op: &Op<'_>| match op {
        Op::Beyond(Beyond::ListXattrs { node, .. }) => Some(node.clone()),
        _ => None,
    };
    let gone: fn(&dyn Mount) = |mount| mount.remove(&mount.root(), "f").unwrap();
    for (compare, verify) in [(Compare::Bytes, Verify::Off), (Compare::default(), Verify::Only)] {
        let options = Options { compare, verify, ..sync() };
        for (first, vanished) in [(gone, 1), (replace, 0)] {
            let (from, _, to) = trees();
            go(Odd::new(&from, pass), &to, &Options::default()).clean();
            let odd = before(&from, attributes, &from.lookup(&from.root(), "f").unwrap().node, first);
            let Ran { summary, .. } = go(odd, &to, &options).clean();
            assert_eq!((summary.vanished, summary.delete_held_back), (vanished, 0), "{compare:?} {verify:?}");
            assert_eq!(paths(&*to).contains(&"gone".to_owned()), verify == Verify::Only);
        }
        let (from, _, to) = trees();
        go(Odd::new(&from, pass), &to, &Options::default()).clean();
        let odd = before(&to, attributes, &to.lookup(&to.root(), "f").unwrap().node, replace);
        run(&volume(vec![from.clone() as _]), &volume(vec![odd]), &options, &crew(3, 3)).clean();
        assert_eq!(dump(&*to)["f"].hash, dump(&*from)["f"].hash);
    }
}

#[test]
fn bytes_that_were_compared_in_vain_are_not_counted_as_verified() {
    for (compare, verify) in [(Compare::Bytes, Verify::Off), (Compare::default(), Verify::Only)] {
        let (from, to) = (Arc::new(MemoryMount::new()), Arc::new(MemoryMount::new()));
        set(&*from, &from.file(&from.root(), "f", b"data"), sized(3 << 20));
        go(Odd::new(&from, pass), &to, &Options::default()).clean();
        let n = AtomicUsize::new(0);
        let odd = Odd::new(&to, move |mount, call| {
            if matches!(call.op, Op::Read { .. }) && n.fetch_add(1, Ordering::Relaxed) == 10 {
                set(mount, &mount.file(&mount.root(), "new", b"data"), sized(3 << 20));
                mount.rename(&mount.root(), "new", &mount.root(), "f").unwrap();
            }
            pass(mount, call);
        });
        let options = Options { compare, verify, range_bytes: 64 << 10, ..Options::default() };
        let ran = run(&volume(vec![from]), &volume(vec![odd]), &options, &crew(1, 1)).clean();
        assert_eq!(ran.summary.verified_bytes, 3 << 20, "{compare:?} {verify:?}");
    }
}
