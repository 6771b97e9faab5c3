//! File systems that are mounted within a tree: their snapshots are theirs.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::collections::HashSet;
use std::sync::Arc;

use parfs::mounts::MemoryMount;
use parfs::storage::{Attr, Call, Cookie, Mount, Node, Op, Want};

use crate::ask::Ask;
use crate::copies::{crew, run, sync, volume};
use crate::create::members;
use crate::creates::{shared, stream, whole};
use crate::remove_odd::{Odd, pass};
use crate::tree::dump;

/// The file ids of a directory and of all below it.
fn ids(mount: &MemoryMount, node: &Node, ids: &mut HashSet<u64>) {
    ids.insert(mount.get_attr(node).unwrap().fileid);
    if let Ok(page) = mount.read_dir(node, Cookie::default(), Want::Attributes, 1 << 20) {
        page.entries.iter().for_each(|entry| self::ids(mount, entry.node.as_ref().unwrap(), ids));
    }
}

fn attrs<'c>(call: &'c mut Call<'_>) -> Vec<&'c mut Attr> {
    match &mut call.op {
        Op::GetAttr { out: Ok(attr), .. } => vec![attr],
        Op::Lookup { out: Ok(found), .. } => found.attr.iter_mut().collect(),
        Op::ReadDir { out: Ok(page), .. } => page.entries.iter_mut().filter_map(|entry| entry.attr.as_mut()).collect(),
        _ => Vec::new(),
    }
}

/// The mount, with `m` in its root as another file system.
fn with_another(mount: &Arc<MemoryMount>) -> Arc<dyn Mount> {
    let mut below = HashSet::new();
    ids(mount, &mount.lookup(&mount.root(), "m").unwrap().node, &mut below);
    Odd::new(mount, move |mount, call| {
        pass(mount, call);
        attrs(call).into_iter().filter(|attr| below.contains(&attr.fileid)).for_each(|attr| attr.fsid = 9);
    })
}

/// A tree with `m`, in which are a snapshot and a file, and an ordinary directory with the snapshots' name.
fn tree() -> Arc<MemoryMount> {
    let mount = Arc::new(MemoryMount::new());
    let (m, d) = (mount.dir(&mount.root(), "m"), mount.dir(&mount.root(), "d"));
    for dir in [&m, &d] {
        let daily = mount.dir(&mount.dir(dir, ".snapshot"), "daily");
        mount.file(&daily, "f", b"of yesterday");
        mount.file(dir, "f", b"of today");
    }
    mount
}

fn names(mount: &MemoryMount) -> Vec<String> {
    dump(mount).into_keys().filter(|path| path.ends_with('f')).collect()
}

#[test]
fn what_is_mounted_in_the_source_is_copied_without_its_snapshots() {
    let to = Arc::new(MemoryMount::new());
    run(&volume(vec![with_another(&tree())]), &volume(vec![to.clone()]), &sync(), &crew(2, 2)).clean();
    assert_eq!(names(&to), ["d/.snapshot/daily/f", "d/f", "m/f"]);
    let volume = shared(vec![with_another(&tree())]);
    let made = stream(whole(&volume), &parfs::jobs::create::Options::default(), &crew(2, 2)).clean();
    let mut paths: Vec<String> = members(&made.archive).into_iter().map(|(path, ..)| path).collect();
    paths.retain(|path| path.ends_with('f'));
    paths.sort();
    assert_eq!(paths, ["./d/.snapshot/daily/f", "./d/f", "./m/f"]);
}

/// It is in the source too, or an extra.
#[test]
fn what_is_mounted_in_the_destination_keeps_its_snapshots() {
    for is_there in [true, false] {
        let (from, to) = (Arc::new(MemoryMount::new()), tree());
        if is_there {
            from.dir(&from.root(), "m");
        }
        run(&volume(vec![from]), &volume(vec![with_another(&to)]), &sync(), &crew(2, 2));
        assert_eq!(names(&to), ["m/.snapshot/daily/f"], "{is_there}");
    }
}
