//! A file system in memory: the reference model of NFSv3's semantics (RFC 1813), what the simulator serves, and what a
//! forecast writes to.
//!
//! Where the RFC leaves a choice, it answers as Linux does: REMOVE of a directory is ISDIR, RMDIR of a file NOTDIR, RENAME of a file
//! onto a directory ISDIR. Unstable data is lost by [`MemoryMount::restart`]. Left out: permissions (a mount has no caller to
//! check; ACCESS grants all that makes sense), the update of atime by READ, as under `noatime`, and what ACLs mean: they
//! are kept as bytes and change no mode.

mod beyond;
mod data;
mod quota;
mod serve;
mod tree;

#[cfg(test)]
mod tests;

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::base::{Status, Time};
use crate::storage::{Call, Extras, Handle, Ledger, Limits, Mount, Node, Shape, Tally};

use data::SIZE_MAX;
use quota::Quota;
use tree::{Body, Inode, ROOT, State, Tree};

/// A file system in memory. Share it in an `Arc`; several targets may serve one.
pub struct MemoryMount {
    /// Of this file system: its handles start with it, so that another's are stale. Also its fsid and cookie verifier.
    instance: u64,
    tree: RwLock<Tree>,
    /// Read while a write or commit goes on, so that none overlaps a restart.
    verifier: RwLock<u64>,
    quota: Quota,
    ledger: Ledger,
}

impl Default for MemoryMount {
    fn default() -> Self {
        MemoryMount::new()
    }
}

impl MemoryMount {
    /// An empty file system that is full only when memory is.
    pub fn new() -> MemoryMount {
        MemoryMount::with(Quota::unlimited(), false)
    }

    /// An empty file system that holds at most `bytes` of data, counted in blocks of 4 KiB, and `files` objects beside the
    /// root; more is `NoSpc`.
    pub fn with_capacity(bytes: u64, files: u64) -> MemoryMount {
        MemoryMount::with(Quota::new(bytes, files), false)
    }

    /// An empty file system that takes names for one whose ASCII letters differ in their case alone, and lists them as they were made.
    pub fn folding() -> MemoryMount {
        MemoryMount::with(Quota::unlimited(), true)
    }

    fn with(quota: Quota, folds: bool) -> MemoryMount {
        let instance = RandomState::new().hash_one(Time::now());
        let now = Time::now();
        let root = State { mode: 0o755, nlink: 2, uid: 0, gid: 0, atime: now, mtime: now, ctime: now, body: Body::Dir };
        MemoryMount {
            instance,
            tree: RwLock::new(Tree::new(root, folds)),
            verifier: RwLock::new(instance),
            quota,
            ledger: Ledger::default(),
        }
    }

    /// What a crash and restart of the server does: data written UNSTABLE and not committed is lost (content and size
    /// are again as they were), and the write verifier changes. The names and handles stay.
    pub fn restart(&self) {
        let mut verifier = self.verifier.write().unwrap_or_else(PoisonError::into_inner);
        let inodes: Vec<Arc<Inode>> = self.tree().inodes.values().cloned().collect();
        for inode in inodes {
            if let Body::File(data, _) = &mut inode.write().body {
                data.restore(&self.quota);
            }
        }
        *verifier = verifier.wrapping_add(1);
    }

    fn tree(&self) -> RwLockReadGuard<'_, Tree> {
        self.tree.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn tree_mut(&self) -> RwLockWriteGuard<'_, Tree> {
        self.tree.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn verifier(&self) -> RwLockReadGuard<'_, u64> {
        self.verifier.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The node of a file id: 8 bytes of instance, 8 of id.
    fn node(&self, id: u64) -> Node {
        let bytes = (u128::from(self.instance) << 64 | u128::from(id)).to_be_bytes();
        Node::Handle(Handle::new(&bytes).expect("16 bytes are a handle"))
    }

    /// The file id of a node.
    fn id(&self, node: &Node) -> Result<u64, Status> {
        let Node::Handle(handle) = node else { return Err(Status::BadHandle) };
        let bytes: [u8; 16] = handle.as_bytes().try_into().map_err(|_| Status::BadHandle)?;
        let bits = u128::from_be_bytes(bytes);
        if (bits >> 64) as u64 == self.instance { Ok(bits as u64) } else { Err(Status::Stale) }
    }

    fn inode(&self, node: &Node) -> Result<Arc<Inode>, Status> {
        self.tree().inode(self.id(node)?).cloned()
    }
}

impl Mount for MemoryMount {
    fn root(&self) -> Node {
        self.node(ROOT)
    }

    /// The largest sizes that NFSv3 servers of today announce (1 MiB), and a shape that suits a simulated target.
    fn limits(&self) -> Limits {
        let shape = Shape { lanes: 16, window: 4 };
        let extras = Extras { holes: true, xattrs: true, ..Extras::default() };
        Limits {
            read_max: 1 << 20,
            write_max: 1 << 20,
            list_max: 1 << 20,
            name_max: 255,
            size_max: SIZE_MAX,
            shape,
            extras,
            dirs_locked: false,
        }
    }

    fn perform(&self, calls: &mut [Call<'_>]) {
        for call in &mut *calls {
            self.serve(call);
        }
        self.ledger.count(calls);
    }

    fn issued(&self) -> Option<Tally> {
        Some(self.ledger.tally())
    }

    fn label(&self) -> String {
        "memory".into()
    }
}
