//! What goes from the source while it is copied: it is as if it had never been there, and deletions go on.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parfs::base::Status;
use parfs::jobs::copy::{Options, Verify};
use parfs::mounts::MemoryMount;
use parfs::storage::{Beyond, Call, Mount, Node, Op};

use crate::ask::Ask;
use crate::copies::{Ran, crew, run, sync, volume};
use crate::remove_odd::{Odd, pass};
use crate::tree::dump;

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

fn attributes(op: &Op<'_>) -> Option<Node> {
    if let Op::Beyond(Beyond::ListXattrs { node, .. }) = op { Some(node.clone()) } else { None }
}

#[test]
fn a_directory_that_goes_before_it_is_listed_holds_nothing_back() {
    for is_it in [listed as fn(&Op<'_>) -> Option<Node>, attributes] {
        let (from, dir, to) = trees();
        to.file(&to.dir(&to.root(), "t"), "old", b"");
        let odd = before(&from, is_it, &dir, |mount| mount.rmdir(&mount.root(), "t").unwrap());
        let ran = go(odd, &to, &sync()).clean();
        let old: &[&str] = if ran.summary.deleted == 1 { &["f", "t", "t/old"] } else { &["f", "t"] };
        assert_eq!((paths(&*to), ran.summary.delete_held_back), (old.iter().map(|&at| at.into()).collect(), 0));
        assert_eq!(ran.summary.vanished, u64::from(ran.summary.deleted == 1));
        go(Odd::new(&from, pass), &to, &sync()).clean();
        assert_eq!(paths(&*to), ["f"]);
    }
}

/// Does `first` before the file's attributes are listed: at once, or once it was read.
fn before_attributes(mount: &Arc<MemoryMount>, at_once: bool, first: fn(&dyn Mount)) -> Arc<Odd> {
    let file = mount.lookup(&mount.root(), "f").unwrap().node;
    let (read, met) = (AtomicBool::new(at_once), AtomicBool::new(false));
    Odd::new(mount, move |mount, call| {
        if matches!(&call.op, Op::Read { node, .. } if *node == file) {
            read.store(true, Ordering::Relaxed);
        }
        let is_next = attributes(&call.op).as_ref() == Some(&file) && read.load(Ordering::Relaxed);
        if is_next && !met.swap(true, Ordering::Relaxed) {
            first(mount);
        }
        pass(mount, call);
    })
}

#[test]
fn a_file_that_goes_before_its_attributes_are_listed_holds_nothing_back() {
    let removed: fn(&dyn Mount) = |mount| mount.remove(&mount.root(), "f").unwrap();
    let replaced: fn(&dyn Mount) = |mount| {
        mount.file(&mount.root(), "new", b"other");
        mount.rename(&mount.root(), "new", &mount.root(), "f").unwrap();
    };
    for first in [removed, replaced] {
        let (from, _, to) = trees();
        let ran = go(before_attributes(&from, false, first), &to, &sync()).clean();
        assert_eq!((paths(&*to), ran.summary.deleted), (vec!["f".to_owned(), "t".into()], 1));
    }
    // The copy is equal, and nothing of the source is read.
    for (first, verify) in [(removed, Verify::Off), (removed, Verify::Only), (replaced, Verify::Off)] {
        let (from, _, to) = trees();
        go(Odd::new(&from, pass), &to, &sync()).clean();
        to.file(&to.root(), "gone", b"");
        let ran = go(before_attributes(&from, true, first), &to, &Options { verify, ..sync() }).clean();
        assert_eq!(ran.summary.deleted, u64::from(verify == Verify::Off));
    }
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

/// Handles of a directory and of what is in it are not known any more, and it is there: that says nothing of the file.
#[test]
fn a_directory_that_is_there_says_nothing_of_what_was_in_it() {
    let (from, dir, to) = trees();
    from.file(&dir, "in", b"data");
    let file = from.lookup(&dir, "in").unwrap().node;
    let read = AtomicBool::new(false);
    let odd = Odd::new(&from, move |mount, call: &mut Call<'_>| {
        let is_read = read.load(Ordering::Relaxed);
        let is_stale = match &call.op {
            Op::Beyond(Beyond::ListXattrs { node, .. }) => *node == file,
            Op::Lookup { dir: at, .. } => *at == dir && is_read,
            _ => false,
        };
        if matches!(&call.op, Op::Beyond(Beyond::ListXattrs { node, .. }) if *node == file) {
            read.store(true, Ordering::Relaxed);
        }
        if is_stale { call.fail(Status::Stale) } else { pass(mount, call) }
    });
    let ran = go(odd, &to, &sync());
    assert!(ran.failures.len() == 1 && ran.failures[0].contains("t/in"), "{:?}", ran.failures);
    assert!(paths(&*to).contains(&"gone".to_owned()));
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
