//! Tests of the test support: the comparison of trees notices each field, the nasty tree is what it says on every mount, and
//! random edits are seen.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::collections::BTreeSet;
use std::time::Duration;

use parfs::base::Time;
use parfs::base::price::Ceiling;
use parfs::mounts::nfs::{Url, Usage, attach};
use parfs::mounts::{LocalMount, MemoryMount};
use parfs::sim::{Config, Server};
use parfs::storage::{AttrChange, Call, Kind, Mount, Node, Special};

use crate::ask::{Ask, mode, size};
use crate::edits::Editor;
use crate::nasty::{Nasty, past, put, set, set_time, time};
use crate::tree::{assert_same, differences, dump, dump_dir, node_at, through_nfs};

/// Small enough to be read through a wire.
fn tiny() -> Nasty {
    Nasty { sparse_bytes: 8 << 20, ..Nasty::SMALL }.allowed()
}

type Mutation = fn(&dyn Mount, &Node);

/// A mutation of the object at a path, and the field that it changes.
const MUTATIONS: [(&str, &str, Mutation); 16] = [
    ("modes/f4755", "mode", |mount, node| set(mount, node, mode(0o755))),
    ("modes/d1777", "mode", |mount, node| set(mount, node, mode(0o777))),
    ("sizes/4096", "uid", |mount, node| set(mount, node, AttrChange { uid: Some(77), ..AttrChange::default() })),
    ("sizes/4096", "gid", |mount, node| set(mount, node, AttrChange { gid: Some(77), ..AttrChange::default() })),
    ("sizes/4096", "size", |mount, node| set(mount, node, size(4097))),
    ("times/file4", "mtime", |mount, node| set_time(mount, node, Time { secs: i64::from(i32::MAX) + 1, nanos: 4 })),
    ("times/dir0", "mtime", |mount, node| set_time(mount, node, Time { secs: 0, nanos: 1 })),
    ("times/link0", "mtime", |mount, node| set_time(mount, node, Time { secs: 1, nanos: 0 })),
    ("sizes/1048577", "hash", |mount, node| put(mount, node, 1 << 20, b"\x01")),
    ("sparse/islands", "hash", |mount, node| put(mount, node, 5 << 20, b"\x01")),
    ("sparse/all hole", "holes", |mount, node| put(mount, node, 0, &vec![1; 6 << 20])),
    ("links/d0/f0", "nlink", |mount, node| {
        mount.link(node, &mount.root(), "new").unwrap();
    }),
    ("kinds/symlink1", "target", |mount, _| {
        let dir = node_at(mount, &["kinds"]);
        mount.remove(&dir, "symlink1").unwrap();
        mount.symlink(&dir, "symlink1", b".").unwrap();
    }),
    ("kinds/symlink2", "kind", |mount, _| {
        let dir = node_at(mount, &["kinds"]);
        mount.remove(&dir, "symlink2").unwrap();
        mount.mknod(&dir, "symlink2", Special::Fifo, AttrChange::default()).unwrap();
    }),
    ("sizes/1", "is missing", |mount, _| mount.remove(&node_at(mount, &["sizes"]), "1").unwrap()),
    ("sizes/new", "should not be", |mount, _| drop(mount.file(&node_at(mount, &["sizes"]), "new", b""))),
];

#[test]
fn each_mutation_is_noticed_in_its_field() {
    let mount = MemoryMount::new();
    tiny().build(&mount);
    let before = dump(&mount);
    assert_same(&before, &dump(&mount), "the tree and itself");
    for (path, field, mutate) in MUTATIONS {
        let mount = MemoryMount::new();
        tiny().build(&mount);
        let way: Vec<&str> = path.split('/').collect();
        let there = field != "should not be";
        let node = if there { node_at(&mount, &way) } else { mount.root() };
        mutate(&mount, &node);
        let found = differences(&before, &dump(&mount));
        let line = format!("{path}: {field}");
        assert!(found.iter().any(|found| found.starts_with(&line)), "{line}: {found:?}");
    }
}

#[test]
fn link_structure_is_compared_not_link_counts() {
    let trees = [["a", "a", "b", "b"], ["a", "b", "a", "b"]].map(|of| {
        let mount = MemoryMount::new();
        let root = mount.root();
        for at in ["a", "b"] {
            let node = mount.file(&root, at, b"the same");
            set_time(&mount, &node, past(1));
        }
        for (i, file) in of.into_iter().enumerate() {
            mount.link(&mount.lookup(&root, file).unwrap().node, &root, format!("l{i}")).unwrap();
        }
        set_time(&mount, &root, past(2));
        dump(&mount)
    });
    let found: BTreeSet<String> = differences(&trees[0], &trees[1]).into_iter().collect();
    let lines = ["l1: first: \"b\", not \"a\"", "l2: first: \"a\", not \"b\""];
    assert_eq!(found, lines.map(String::from).into());
}

#[test]
fn rdev_is_compared() {
    let trees = [(1, 3), (1, 5)].map(|(major, minor)| {
        let mount = MemoryMount::new();
        let node = mount.mknod(&mount.root(), "c", Special::Char(major, minor), AttrChange::default()).unwrap().node;
        set_time(&mount, &node, past(1));
        set_time(&mount, &mount.root(), past(1));
        dump(&mount)
    });
    assert_eq!(differences(&trees[0], &trees[1]), ["c: rdev: (1, 5), not (1, 3)"]);
}

/// Bites where the mount for the directory has extended attributes, and its file system.
#[test]
fn extended_attributes_are_compared() {
    let dir = tempfile::tempdir().unwrap();
    let mount = LocalMount::open(dir.path()).unwrap();
    let node = mount.file(&mount.root(), "f", b"x");
    let before = dump(&mount);
    let mut calls = [Call::set_xattr(&node, b"user.new", b"v")];
    mount.perform(&mut calls);
    let after = differences(&before, &dump(&mount));
    assert_eq!(after.iter().any(|line| line.starts_with("f: xattrs: ")), calls[0].status().is_ok(), "{after:?}");
}

#[test]
fn the_nasty_tree_is_the_same_on_every_mount() {
    let size = tiny();
    let memory = MemoryMount::new();
    size.build(&memory);
    let mut expected = dump(&memory);
    // Which names of attributes there are, and what a new owner makes of them, is each file system's own.
    expected.values_mut().for_each(|object| object.xattrs.clear());
    assert!(expected.values().any(|object| object.nlink > 5), "hard links");
    assert!(expected.keys().any(|path| path.len() > 4096), "a path longer than PATH_MAX");
    assert!(
        expected.keys().any(|path| path.contains("\\377\\376 invalid")) && expected.contains_key("names/new\\nline")
    );
    assert!(expected["sparse/islands"].size > 4 * expected["sparse/islands"].used.0);
    let kinds: BTreeSet<String> = expected.values().map(|object| format!("{:?}", object.kind)).collect();
    assert!(kinds.len() == 7 || !size.root && kinds.len() == 5, "{kinds:?}");

    let dir = tempfile::tempdir().unwrap();
    let local = LocalMount::open(dir.path()).unwrap();
    size.build(&local);
    let mut is = dump_dir(dir.path());
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    for (path, object) in &mut is {
        // What the mounts decide by themselves.
        (object.uid, object.gid) = expected.get(path).map_or((0, 0), |want| match (object.uid, object.gid) {
            own if own == (uid, gid) => (want.uid, want.gid),
            other => other,
        });
        object.xattrs.clear();
    }
    is.get_mut("").unwrap().mode = expected[""].mode;
    // An ACL's mask is shown as the group's bits.
    let acls: Vec<_> = ["xattrs/file", "xattrs/dir"].map(|path| (path, is[path].mode)).into();
    for (path, _) in acls {
        is.get_mut(path).unwrap().mode = expected[path].mode;
    }
    assert_same(&expected, &is, "a directory");
}

#[test]
fn times_that_nfs_cannot_carry_are_the_nearest_that_it_can() {
    let memory = std::sync::Arc::new(MemoryMount::new());
    let ceiling = Ceiling { iops: f64::INFINITY, bytes_per_s: f64::INFINITY, latency: Duration::ZERO };
    let server =
        Server::start(memory.clone(), Config { targets: 1, ceiling, squash: true, ..Config::default() }).unwrap();
    let mount = attach(&Url::parse(&server.url()).unwrap(), Usage::Writes).unwrap().remove(0);
    let root = mount.root();
    let (old, far) = (Time { secs: -315_619_200, nanos: 987_654_321 }, Time { secs: 7_258_118_400, nanos: 5 });
    for (name, at) in [("old", old), ("far", far), ("fits", past(5))] {
        let node = mount.file(&root, name, b"");
        set(&*mount, &node, time(at));
    }
    set_time(&*mount, &root, past(9));
    let here = MemoryMount::new();
    for (name, at) in [("old", old), ("far", far), ("fits", past(5))] {
        let node = here.file(&here.root(), name, b"");
        set(&here, &node, time(at));
    }
    set_time(&here, &here.root(), past(9));
    let (here, there) = (dump(&here), dump(&*mount));
    assert_eq!(there["old"].mtime, Time::default());
    assert_eq!(there["far"].mtime.secs, i64::from(u32::MAX));
    assert_eq!(differences(&here, &there).len(), 2);
    assert_same(&through_nfs(here), &there, "as nfstime3 has it");
}

#[test]
fn edits_of_one_seed_are_the_same_everywhere_and_all_are_seen() {
    for seed in 0..4 {
        let dir = tempfile::tempdir().unwrap();
        let (memory, local) = (MemoryMount::new(), LocalMount::open(dir.path()).unwrap());
        let mut editors = [Editor::new(seed), Editor::new(seed)];
        let mounts: [&dyn Mount; 2] = [&memory, &local];
        let mut said = Vec::new();
        for (editor, mount) in editors.iter_mut().zip(mounts) {
            editor.plant(mount, 60);
            let before = dump(mount);
            let mut last = before.clone();
            let mut lines = Vec::new();
            for _ in 0..40 {
                let line = editor.edit(mount, 1).remove(0);
                let now = dump(mount);
                // A mode or owner may be what it was; the rest shows.
                let may_be_same = ["chmod", "chown", "rename", "nothing"].iter().any(|word| line.contains(word));
                assert!(may_be_same || !differences(&last, &now).is_empty(), "{line}");
                last = now;
                lines.push(line);
            }
            assert!(!differences(&before, &last).is_empty());
            assert!(last.values().filter(|object| object.kind == Kind::File).count() > 3);
            said.push((lines, last.keys().cloned().collect::<Vec<_>>()));
        }
        assert_eq!(said[0], said[1], "seed {seed}");
    }
}
