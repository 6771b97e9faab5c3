//! Extraction as a caller who is not root sees it: directories must let their owner in, writing clears set-id bits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use parfs::base::{Proc, Status};
use parfs::jobs::extract::{Existing, Options, Owner};
use parfs::mounts::MemoryMount;
use parfs::storage::{AttrChange, Call, Limits, Mount, Node, Op, Tally};

use crate::tars::{Entry, MTIME, Tar, at, crew, extract, seekable, volume};
use crate::tree::dump;

/// A mount whose caller owns everything and is not root. Objects are reached by their way, as through a kernel.
struct Strict {
    mount: Arc<MemoryMount>,
    parents: Mutex<HashMap<Node, Node>>,
    /// Nothing may be given away; true: an object is made before its owner is refused, as Linux's server does.
    owners: Option<bool>,
}

impl Strict {
    fn mode(&self, node: &Node) -> u32 {
        let mut calls = [Call::get_attr(node)];
        self.mount.perform(&mut calls);
        calls[0].attr().unwrap().mode
    }

    /// May the caller come to `node`: are all directories above it searchable?
    fn reaches(&self, node: &Node) -> bool {
        let parents = self.parents.lock().unwrap();
        let mut here = node;
        while let Some(parent) = parents.get(here) {
            if self.mode(parent) & 0o100 == 0 {
                return false;
            }
            here = parent;
        }
        true
    }

    fn permits(&self, call: &Call<'_>) -> bool {
        match &call.op {
            Op::Create { dir, .. } | Op::MkDir { dir, .. } | Op::Symlink { dir, .. } | Op::Remove { dir, .. } => {
                self.reaches(dir) && self.mode(dir) & 0o300 == 0o300
            }
            Op::Lookup { dir, .. } => self.reaches(dir) && self.mode(dir) & 0o100 != 0,
            Op::SetAttr { node, .. } | Op::Write { node, .. } => self.reaches(node),
            _ => true,
        }
    }

    fn refuses_owner(&self, call: &mut Call<'_>) -> bool {
        let Some(makes) = self.owners else { return false };
        let (Op::Create { change, .. }
        | Op::MkDir { change, .. }
        | Op::Symlink { change, .. }
        | Op::SetAttr { change, .. }) = &mut call.op
        else {
            return false;
        };
        if change.uid.is_none() && change.gid.is_none() {
            return false;
        }
        if makes && call.proc() != Proc::SetAttr {
            self.mount.perform(std::slice::from_mut(call));
        }
        true
    }

    fn after(&self, call: &Call<'_>) {
        match &call.op {
            Op::Create { dir, out: Ok(found), .. }
            | Op::MkDir { dir, out: Ok(found), .. }
            | Op::Symlink { dir, out: Ok(found), .. }
            | Op::Lookup { dir, out: Ok(found), .. } => {
                self.parents.lock().unwrap().insert(found.node.clone(), dir.clone());
            }
            Op::Write { node, out: Ok(_), .. } => {
                let mode = Some(self.mode(node) & 0o1777);
                self.mount.perform(&mut [Call::set_attr(node, AttrChange { mode, ..AttrChange::default() })]);
            }
            _ => {}
        }
    }
}

impl Mount for Strict {
    fn root(&self) -> Node {
        self.mount.root()
    }
    fn limits(&self) -> Limits {
        self.mount.limits()
    }
    fn perform(&self, calls: &mut [Call<'_>]) {
        for call in calls {
            if self.refuses_owner(call) {
                call.fail(Status::Perm);
            } else if self.permits(call) {
                self.mount.perform(std::slice::from_mut(call));
                self.after(call);
            } else {
                call.fail(Status::Access);
            }
        }
    }
    fn issued(&self) -> Option<Tally> {
        None
    }
    fn label(&self) -> String {
        "strict".into()
    }
}

#[test]
fn closed_directories_are_filled_and_closed_again() {
    let suid = Entry { typeflag: b'0', path: "a/suid", link: "", mode: 0o4711, mtime: MTIME, data: b"x" };
    let tar = Tar::default().dir_mode("a/", 0o500).dir_mode("a/b/", 0).dir_mode("a/b/c/", 0o555).file("a/b/c/1", "1");
    let tar =
        tar.add(suid).file("z/1", "1").file("a/b/2", "2").file("y/1", "1").file("a/b/c/3", "3").symlink("a/s", "t");
    for dirs_max in [1, 2, 3, 1000] {
        for shape in [(1, 1), (4, 2), (16, 4)] {
            let memory = Arc::new(MemoryMount::new());
            let strict = Arc::new(Strict { mount: memory.clone(), parents: Mutex::default(), owners: None });
            let options = Options { mode_mask: 0, dirs_max, ..Options::default() };
            extract(&volume(&strict), seekable(tar.bytes()), &options, &crew(shape.0, shape.1)).clean();
            let tree = dump(&*memory);
            for (path, mode) in [("a", 0o500), ("a/b", 0), ("a/b/c", 0o555), ("a/suid", 0o4711)] {
                assert_eq!(tree[path].mode, mode, "{path} {dirs_max} {shape:?}");
            }
            for path in ["a", "a/b", "a/b/c"] {
                assert_eq!(tree[path].mtime, at(MTIME + 1), "{path} {dirs_max} {shape:?}");
            }
            assert!(["a/b/c/1", "a/b/2", "a/b/c/3", "a/s"].iter().all(|path| tree.contains_key(*path)));
        }
    }
}

/// Not root, or root that the server squashes: everything is there but for the owner, and each object is told.
#[test]
fn a_refused_owner_costs_nothing_else() {
    let big = vec![7; 3 << 20];
    let tar = Tar::default()
        .dir_mode("d/", 0o711)
        .file("d/f", "f")
        .file("d/big", &big)
        .symlink("d/s", "f")
        .link("d/l", "d/f");
    for existing in [Existing::Replace, Existing::Keep, Existing::Overwrite] {
        for makes in [false, true] {
            let memory = Arc::new(MemoryMount::new());
            let strict = Arc::new(Strict { mount: memory.clone(), parents: Mutex::default(), owners: Some(makes) });
            let owner = Owner::FromArchive { numeric: true };
            let options = Options { mode_mask: 0, owner, existing, range_bytes: 2 << 20, ..Options::default() };
            for run in 0..2 {
                let ran = extract(&volume(&strict), seekable(tar.bytes()), &options, &crew(4, 2));
                let told = ran.failures.iter().filter(|f| f.contains("extracted, but its owner cannot be set")).count();
                if run == 0 || existing != Existing::Keep {
                    let dir = usize::from(dir_is_ours(existing, makes));
                    assert_eq!(
                        (told, ran.failures.len()),
                        (3 + dir, 3 + dir),
                        "{:?} {existing:?} {makes}",
                        ran.failures
                    );
                }
                let tree = dump(&*memory);
                assert_eq!((tree["d/f"].size, tree["d/f"].mtime, tree["d/l"].nlink), (1, at(MTIME), 2));
                assert_eq!((tree["d/big"].size, tree["d/big"].mtime), (3 << 20, at(MTIME)));
                assert_eq!((&tree["d/s"].target[..], tree["d/s"].mtime), (&b"f"[..], at(MTIME + 2)));
                if dir_is_ours(existing, makes) {
                    assert_eq!((tree["d"].mode, tree["d"].mtime), (0o711, at(MTIME + 1)));
                }
            }
        }
    }
}

/// Under `Keep` a directory that is there is left as it is, and one that a refused call made looks no different.
fn dir_is_ours(existing: Existing, makes: bool) -> bool {
    existing != Existing::Keep || !makes
}
