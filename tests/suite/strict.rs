//! Extraction as a caller who is not root sees it: directories must let their owner in, writing clears set-id bits.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use parfs::base::Status;
use parfs::jobs::extract::Options;
use parfs::mounts::MemoryMount;
use parfs::storage::{AttrChange, Call, Limits, Mount, Node, Op, Tally};

use crate::tars::{Entry, MTIME, Tar, at, crew, extract, seekable, volume};
use crate::tree::dump;

/// A mount whose caller owns everything and is not root. Objects are reached by their way, as through a kernel.
struct Strict {
    mount: Arc<MemoryMount>,
    parents: Mutex<HashMap<Node, Node>>,
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
            if self.permits(call) {
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
            let strict = Arc::new(Strict { mount: memory.clone(), parents: Mutex::default() });
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
