//! What a walk finds: objects and the directories they are in.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::archive::Segment;
use crate::base::{Name, Time};
use crate::storage::{Attr, Cookie, Node, Page, Volume};

use super::super::select::Selection;
use super::recheck::{Left, Listed, Rechecks};
use super::{Follow, Operand};

/// A file: of which server, by the labels of its targets (empty: of this host), in which file system, and its id there. Two servers may
/// have files of the same ids.
pub type FileKey = (Arc<str>, u64, u64);

/// The server of a volume's files, as in [`FileKey`].
pub fn server(volume: &Volume) -> Arc<str> {
    if !volume.has_handles() {
        return "".into();
    }
    let labels: Vec<String> = volume.mounts().map(|mount| mount.label()).collect();
    labels.join(",").into()
}

/// What all objects of an operand share.
pub(super) struct Tree {
    pub volume: Arc<Volume>,
    pub server: Arc<str>,
    /// The file system that the operand is on.
    pub fsid: u64,
    /// The operand is the root of a file system: a `.snapshot` in it is left alone.
    pub fs_root: bool,
    pub recursive: bool,
    pub exclude: Arc<Selection>,
    pub follow: Option<Arc<dyn Follow>>,
    /// The way to the operand below the volume's root.
    pub way: Vec<Name>,
    /// Where its directories go when they are left.
    pub rechecks: Arc<Rechecks>,
}

impl Tree {
    /// Itself, to be found by this name.
    pub fn operand(&self, name: Vec<u8>) -> Operand {
        let Tree { volume, way, fs_root, recursive, exclude, follow, .. } = self;
        let (volume, way, exclude, follow) = (volume.clone(), way.clone(), exclude.clone(), follow.clone());
        Operand { volume, way, name, fs_root: *fs_root, recursive: *recursive, exclude, follow }
    }
}

/// A directory: its members' names begin with `path`.
pub(super) struct Dir {
    pub tree: Arc<Tree>,
    /// As the operand was typed and the names below it; without a slash at the end, but for `/`.
    pub path: Vec<u8>,
    pub node: Node,
    /// File system and file id.
    pub id: (u64, u64),
    /// As its own directory listed it.
    ctime: Time,
    listed: Mutex<Listed>,
    /// None: the operand itself.
    pub parent: Option<Arc<Dir>>,
    /// An ancestor that directories below are compared with, to find one that contains itself (Brent's algorithm, as in copies).
    mark: Option<Arc<Dir>>,
    depth: u32,
}

impl Dir {
    /// The directory at `path`, in `parent`.
    pub fn new(tree: Arc<Tree>, path: Vec<u8>, node: Node, attr: &Attr, parent: Option<&Arc<Dir>>) -> Dir {
        let depth = parent.map_or(0, |dir| dir.depth + 1);
        let mark =
            parent.and_then(|dir| if dir.depth.is_power_of_two() { Some(dir.clone()) } else { dir.mark.clone() });
        let (id, listed) = ((attr.fsid, attr.fileid), Mutex::default());
        Dir { tree, path, node, id, ctime: attr.ctime, listed, parent: parent.cloned(), mark, depth }
    }

    fn listed(&self) -> MutexGuard<'_, Listed> {
        self.listed.lock().expect("nothing panics while it notes names")
    }

    /// A page was listed; what a listing before has brought already is taken out of it. When all of it was read that was listed to the
    /// end, the directory is looked at once more.
    pub fn note(&self, page: &mut Page) {
        self.listed().note(page, &self.tree.rechecks);
    }

    /// The server refuses to go on with its listing: may it begin anew?
    pub fn begins_anew(&self) -> bool {
        self.listed().begins_anew()
    }

    /// Is it the root of a file system? What a link leads to is of another one and need be no root.
    pub fn is_fs_root(&self) -> bool {
        let is_mounted = |up: &Arc<Dir>| up.id.0 != self.id.0 && self.tree.follow.is_none();
        self.parent.as_ref().map_or(self.tree.fs_root, is_mounted)
    }

    /// Is the object one of the directories that this one is in, as far as handles tell? Only a faulty server has that.
    pub fn is_below(&self, node: &Node) -> bool {
        self.node == *node || self.mark.as_ref().is_some_and(|mark| mark.node == *node)
    }

    /// The path of `name` in it.
    pub fn join(&self, name: &Name) -> Vec<u8> {
        join(&self.path, name)
    }

    /// The name of what has this path in it.
    pub fn name<'p>(&self, path: &'p [u8]) -> &'p [u8] {
        let rest = path.strip_prefix(&self.path[..]).unwrap_or(path);
        rest.strip_prefix(b"/").unwrap_or(rest)
    }

    /// Is this the directory, or one above it?
    pub fn is_in(&self, id: (u64, u64)) -> bool {
        let mut dir = Some(self);
        while let Some(here) = dir {
            if here.id == id {
                return true;
            }
            dir = here.parent.as_deref();
        }
        false
    }
}

/// The path of `name` in the directory at `path`.
pub(super) fn join(path: &[u8], name: &Name) -> Vec<u8> {
    let slash: &[u8] = if path.ends_with(b"/") { b"" } else { b"/" };
    [path, slash, name.as_bytes()].concat()
}

/// Where an object was found.
#[derive(Clone)]
pub(super) enum Home {
    /// It is the operand itself.
    Operand(Arc<Tree>),
    Dir(Arc<Dir>),
}

impl Home {
    pub fn new(tree: &Arc<Tree>, dir: Option<&Arc<Dir>>) -> Home {
        dir.map_or_else(|| Home::Operand(tree.clone()), |dir| Home::Dir(dir.clone()))
    }
}

/// An object to be stored, described so far as its header needs it.
pub(super) struct Entry {
    pub tree: Arc<Tree>,
    /// Where it was found; none for an operand.
    pub dir: Option<Arc<Dir>>,
    /// As in `Dir`; not yet changed or stripped.
    pub path: Vec<u8>,
    pub node: Node,
    pub attr: Attr,
    /// A symbolic link's text.
    pub link: Vec<u8>,
    /// What few objects have.
    pub more: Option<Box<More>>,
}

/// A page's entries lie in one piece, of which several wait: with 16 bytes more for each, a million files listed over NFS took 270 MB at
/// the peak instead of 160, for a page of 1,000 then needs the allocator's next larger size.
const _: () = assert!(size_of::<Entry>() <= 256);

impl Entry {
    pub fn home(&self) -> Home {
        Home::new(&self.tree, self.dir.as_ref())
    }

    pub fn key(&self) -> FileKey {
        (self.tree.server.clone(), self.attr.fsid, self.attr.fileid)
    }
}

/// Extended attributes, ACLs as texts, where a sparse file's data is, and what a file holds that is made up while it is read.
#[derive(Default)]
pub(super) struct More {
    pub held: Option<Arc<[u8]>>,
    pub xattrs: Vec<(Vec<u8>, Vec<u8>)>,
    pub acl_access: Option<Vec<u8>>,
    pub acl_default: Option<Vec<u8>>,
    pub segments: Option<Vec<Segment>>,
}

/// Something to be listed.
pub(super) enum Listing {
    /// An operand, to be found first.
    Operand(Operand),
    /// What there is at this path by now: what there was went before it was read.
    Again { home: Home, path: Vec<u8> },
    /// A directory from a cookie on. `gathered` are the entries before it that wait to be sorted.
    Page { dir: Arc<Dir>, from: Cookie, gathered: Vec<Entry> },
}

/// A deep way is taken apart link by link: the compiler's way would need stack for each directory of it.
///
/// Whoever has something of a directory to read holds it, so that it is left when nobody does.
impl Drop for Dir {
    fn drop(&mut self) {
        let listed = std::mem::take(self.listed.get_mut().unwrap_or_else(PoisonError::into_inner));
        if listed.ended {
            let (volume, node, path) = (self.tree.volume.clone(), self.node.clone(), std::mem::take(&mut self.path));
            let exclude = self.tree.exclude.clone();
            self.tree.rechecks.add(Left { volume, node, path, exclude, ctime: self.ctime, listed });
        }
        let mut parent = self.parent.take();
        while let Some(dir) = parent {
            parent = Arc::into_inner(dir).and_then(|mut dir| dir.parent.take());
        }
    }
}
