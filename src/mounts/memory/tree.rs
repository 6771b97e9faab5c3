//! The namespace in memory: objects, directories, and the order in which a directory lists its names.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::base::{Name, Status, Time};
use crate::storage::{Attr, AttrChange, DotDot, Kind, SetTime};

use super::data::Data;

/// The root's file id.
pub(super) const ROOT: u64 = 1;

/// Positions 1 and 2 are those of `.`, which is not listed, and of `..`.
const DOTDOT_POSITION: u64 = 2;
const FIRST_POSITION: u64 = 3;

/// What an object is made of.
pub(super) enum Body {
    /// Content, and the verifier of the exclusive CREATE that made it (rare, so boxed).
    File(Data, Option<Box<u64>>),
    /// The names are in the tree.
    Dir,
    Symlink(Box<[u8]>),
    Special(Kind, (u32, u32)),
}

/// An object's state; about 150 bytes.
pub(super) struct State {
    pub(super) mode: u32,
    /// 0 when the last name is gone.
    pub(super) nlink: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) atime: Time,
    pub(super) mtime: Time,
    pub(super) ctime: Time,
    pub(super) body: Body,
}

/// An object. Its lock is taken with or without the tree's, never before it, and never together with another object's.
pub(super) struct Inode {
    pub(super) id: u64,
    state: RwLock<State>,
}

impl State {
    pub(super) fn kind(&self) -> Kind {
        match self.body {
            Body::File(..) => Kind::File,
            Body::Dir => Kind::Dir,
            Body::Symlink(_) => Kind::Symlink,
            Body::Special(kind, _) => kind,
        }
    }

    /// Names were added to or removed from this directory.
    pub(super) fn changed(&mut self, now: Time) {
        (self.mtime, self.ctime) = (now, now);
    }

    /// Takes the set-id bits off, as Linux does when a file changes its owner, or its size by who is not root.
    pub(super) fn take_set_ids(&mut self) {
        self.mode &= if self.mode & 0o010 == 0 { !0o4000 } else { !0o6000 };
    }

    /// Applies all but the size. Changing the owner takes the set-id bits off, as Linux does; a mode given with it stays.
    pub(super) fn apply(&mut self, change: &AttrChange, now: Time) {
        if change.uid.or(change.gid).is_some() && self.kind() != Kind::Dir {
            self.take_set_ids();
        }
        self.uid = change.uid.unwrap_or(self.uid);
        self.gid = change.gid.unwrap_or(self.gid);
        self.mode = change.mode.map_or(self.mode, |mode| mode & 0o7777);
        let set = |time: &mut Time, to: SetTime| match to {
            SetTime::Keep => {}
            SetTime::Now => *time = now,
            SetTime::At(at) => *time = at,
        };
        set(&mut self.atime, change.atime);
        set(&mut self.mtime, change.mtime);
        if !change.is_empty() {
            self.ctime = now;
        }
    }
}

impl Inode {
    pub(super) fn new(id: u64, state: State) -> Inode {
        Inode { id, state: RwLock::new(state) }
    }

    pub(super) fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The object's attributes, as those of file system `fsid`.
    pub(super) fn attr(&self, fsid: u64) -> Attr {
        let s = self.read();
        let (size, used, rdev) = match &s.body {
            Body::File(data, _) => (data.size(), data.used(), (0, 0)),
            Body::Dir => (4096, 4096, (0, 0)),
            Body::Symlink(target) => (target.len() as u64, 0, (0, 0)),
            Body::Special(_, rdev) => (0, 0, *rdev),
        };
        let (kind, fileid) = (s.kind(), self.id);
        let State { mode, nlink, uid, gid, atime, mtime, ctime, .. } = *s;
        Attr { kind, mode, nlink, uid, gid, size, used, rdev, fsid, fileid, atime, mtime, ctime }
    }
}

/// A directory's names. Each has a position that rises with every name added and never changes, so that a listing
/// can go on after any entry, whatever was added or removed meanwhile.
pub(super) struct Directory {
    pub(super) parent: u64,
    /// By what the file system takes for one name.
    names: HashMap<Name, (u64, u64)>,
    order: BTreeMap<u64, (Name, u64)>,
    next: u64,
    folds: bool,
}

impl Directory {
    pub(super) fn new(parent: u64, folds: bool) -> Directory {
        Directory { parent, names: HashMap::new(), order: BTreeMap::new(), next: FIRST_POSITION, folds }
    }

    fn key<'n>(&self, name: &'n Name) -> Cow<'n, Name> {
        let lower = || Name::new(&name.as_bytes().to_ascii_lowercase()).ok();
        self.folds.then(lower).flatten().map_or(Cow::Borrowed(name), Cow::Owned)
    }

    pub(super) fn get(&self, name: &Name) -> Option<u64> {
        self.names.get(&*self.key(name)).map(|&(_, id)| id)
    }

    /// Adds a name that is not there.
    pub(super) fn insert(&mut self, name: &Name, id: u64) {
        self.names.insert(self.key(name).into_owned(), (self.next, id));
        self.order.insert(self.next, (name.clone(), id));
        self.next += 1;
    }

    pub(super) fn remove(&mut self, name: &Name) -> Option<u64> {
        let (position, id) = self.names.remove(&*self.key(name))?;
        self.order.remove(&position);
        Some(id)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// `..`, if it is after `position`. The root's is the root.
    pub(super) fn dotdot(&self, position: u64) -> Option<DotDot> {
        (position < DOTDOT_POSITION).then_some(DotDot { fileid: self.parent, position: DOTDOT_POSITION })
    }

    /// The entries after `position`: their positions, names and file ids.
    pub(super) fn after(&self, position: u64) -> impl Iterator<Item = (u64, &Name, u64)> {
        let from = position.saturating_add(1);
        self.order.range(from..).map(|(&position, (name, id))| (position, name, *id))
    }
}

/// An object's extended attributes.
pub(super) type Xattrs = BTreeMap<Box<[u8]>, Box<[u8]>>;

/// All objects and directories.
pub(super) struct Tree {
    /// By file id; objects without any, most of them, take no room here.
    pub(super) xattrs: HashMap<u64, Xattrs>,
    pub(super) inodes: HashMap<u64, Arc<Inode>>,
    dirs: HashMap<u64, Directory>,
    next: u64,
    /// Upper and lower case are one in names.
    folds: bool,
}

impl Tree {
    /// A tree with an empty root.
    pub(super) fn new(root: State, folds: bool) -> Tree {
        let mut tree = Tree { xattrs: HashMap::new(), inodes: HashMap::new(), dirs: HashMap::new(), next: ROOT, folds };
        tree.add(root, ROOT);
        tree
    }

    /// Adds an object, without a name yet. Ids are never used twice.
    pub(super) fn add(&mut self, state: State, parent: u64) -> Arc<Inode> {
        let id = self.next;
        self.next += 1;
        if state.kind() == Kind::Dir {
            self.dirs.insert(id, Directory::new(parent, self.folds));
        }
        let inode = Arc::new(Inode::new(id, state));
        self.inodes.insert(id, inode.clone());
        inode
    }

    pub(super) fn inode(&self, id: u64) -> Result<&Arc<Inode>, Status> {
        self.inodes.get(&id).ok_or(Status::Stale)
    }

    /// The directory with this id: stale when nothing has it, `NotDir` when it is something else.
    pub(super) fn dir(&self, id: u64) -> Result<&Directory, Status> {
        self.dirs.get(&id).ok_or_else(|| self.no_dir(id))
    }

    pub(super) fn dir_mut(&mut self, id: u64) -> Result<&mut Directory, Status> {
        if self.dirs.contains_key(&id) { self.dirs.get_mut(&id).ok_or(Status::Stale) } else { Err(self.no_dir(id)) }
    }

    fn no_dir(&self, id: u64) -> Status {
        if self.inodes.contains_key(&id) { Status::NotDir } else { Status::Stale }
    }

    pub(super) fn is_dir(&self, id: u64) -> bool {
        self.dirs.contains_key(&id)
    }

    /// True when directory `id` is `above` or lies beneath it.
    pub(super) fn is_beneath(&self, mut id: u64, above: u64) -> bool {
        while id != above {
            match self.dirs.get(&id) {
                Some(dir) if dir.parent != id => id = dir.parent,
                _ => return false,
            }
        }
        true
    }

    /// Moves a directory below another parent.
    pub(super) fn set_parent(&mut self, id: u64, parent: u64) {
        if let Some(dir) = self.dirs.get_mut(&id) {
            dir.parent = parent;
        }
    }

    /// Takes a file's capabilities off, as Linux does when its size is set.
    pub(super) fn take_capabilities(&mut self, id: u64) {
        if let Some(xattrs) = self.xattrs.get_mut(&id) {
            xattrs.remove(&b"security.capability"[..]);
        }
    }

    /// Forgets an object that has no name left; its node is stale from now on.
    pub(super) fn forget(&mut self, id: u64) {
        self.inodes.remove(&id);
        self.dirs.remove(&id);
        self.xattrs.remove(&id);
    }
}
