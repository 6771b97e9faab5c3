//! Handles for nodes. A mount whose nodes are handles needs nothing; for one whose nodes are ways from the root (a
//! directory) a bounded table gives each object a number.
//!
//! A handle follows its object when it is renamed through this server, and is stale once it was removed, replaced by
//! another file id, or is among the least recently used beyond `handles_max`. Changes behind the server's back are
//! seen at the next LOOKUP only. Two hard links have two handles.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::base::{Name, Proc, Status, Time};
use crate::storage::{Attr, Call, Handle, Node, Op};

/// An entry's number; also the last 8 bytes of its handle.
type Id = u64;
const ROOT: Id = 1;

#[derive(Debug)]
struct Entry {
    node: Node,
    at: Option<(Id, Name)>,
    fileid: Option<u64>,
    /// The entries of objects in this directory.
    children: HashSet<Id>,
    /// When it was last used, by the table's own count.
    used: u64,
}

#[derive(Debug)]
struct Table {
    instance: u64,
    handles_max: usize,
    entries: HashMap<Id, Entry>,
    by_name: HashMap<(Id, Name), Id>,
    /// The entry of each node's chain.
    by_chain: HashMap<u64, Id>,
    by_use: BTreeMap<u64, Id>,
    uses: u64,
    next: Id,
}

/// The handles of one served mount.
#[derive(Debug)]
pub(super) struct Handles {
    root: Node,
    /// None when the mount's nodes are handles themselves.
    table: Option<Mutex<Table>>,
}

fn chain_of(node: &Node) -> Option<u64> {
    match node {
        Node::Chain(chain) => Some(chain.id),
        Node::Handle(_) => None,
    }
}

/// The file id that an object was made with: what made it may have been answered without attributes.
fn fileid_of(node: &Node) -> Option<u64> {
    match node {
        Node::Chain(chain) => chain.fileid(),
        Node::Handle(_) => None,
    }
}

impl Handles {
    /// For the mount with this root; `handles_max` objects are remembered.
    pub(super) fn new(root: Node, handles_max: usize) -> Handles {
        let table = chain_of(&root).map(|chain| {
            let instance = RandomState::new().hash_one(Time::now());
            let entry = Entry { node: root.clone(), at: None, fileid: None, children: HashSet::new(), used: 0 };
            Mutex::new(Table {
                instance,
                handles_max: handles_max.max(2),
                entries: HashMap::from([(ROOT, entry)]),
                by_name: HashMap::new(),
                by_chain: HashMap::from([(chain, ROOT)]),
                by_use: BTreeMap::new(),
                uses: 0,
                next: ROOT + 1,
            })
        });
        Handles { root, table }
    }

    fn lock(table: &Mutex<Table>) -> MutexGuard<'_, Table> {
        table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The node of a handle from the wire.
    pub(super) fn node(&self, handle: Handle) -> Result<Node, Status> {
        let Some(table) = &self.table else { return Ok(Node::Handle(handle)) };
        let mut table = Handles::lock(table);
        let id = table.id(&handle)?;
        let node = table.entries.get(&id).ok_or(Status::Stale)?.node.clone();
        table.touch(id);
        Ok(node)
    }

    /// The handle of a node that came from [`Handles::node`] or was settled; anything else gets one that is stale.
    pub(super) fn handle(&self, node: &Node) -> Handle {
        match (node, &self.table) {
            (Node::Handle(handle), _) => *handle,
            (Node::Chain(chain), Some(table)) => {
                let table = Handles::lock(table);
                table.handle(table.by_chain.get(&chain.id).copied().unwrap_or(0))
            }
            (Node::Chain(_), None) => Handle::new(&[]).expect("an empty handle is short enough"),
        }
    }

    /// The directory that a directory is in, the root's being the root itself; unknown for nodes that are handles.
    pub(super) fn parent(&self, node: &Node) -> Result<Node, Status> {
        if *node == self.root {
            return Ok(node.clone());
        }
        match node {
            Node::Chain(chain) => Ok(chain.parent.as_ref().map_or_else(|| self.root.clone(), |(dir, _)| dir.clone())),
            Node::Handle(_) => Err(Status::NotSupp),
        }
    }

    /// Must these calls be performed and settled before handles of what comes behind them, a `next` procedure, become nodes? What they rename
    /// or remove is elsewhere then. Removals in a row are each of a name of its own.
    pub(super) fn waits_for(&self, calls: &[Call<'_>], next: Proc) -> bool {
        let removes = |proc: Proc| matches!(proc, Proc::Remove | Proc::RmDir);
        self.table.is_some()
            && calls.iter().map(Call::proc).any(|proc| proc == Proc::Rename || (removes(proc) && !removes(next)))
    }

    /// Takes note of what a call found, made, renamed or removed. The nodes that it found are replaced by those already
    /// known for the same object.
    pub(super) fn settle(&self, call: &mut Call<'_>) {
        let Some(table) = &self.table else { return };
        if call.status().is_err() {
            return;
        }
        let mut table = Handles::lock(table);
        match &mut call.op {
            Op::Lookup { dir, name, out: Ok(found) }
            | Op::Create { dir, name, out: Ok(found), .. }
            | Op::MkDir { dir, name, out: Ok(found), .. }
            | Op::Symlink { dir, name, out: Ok(found), .. }
            | Op::MkNod { dir, name, out: Ok(found), .. } => {
                table.intern(dir, name, &mut found.node, found.attr.as_ref())
            }
            Op::ReadDir { dir, out: Ok(page), .. } => {
                for entry in &mut page.entries {
                    if let Some(node) = &mut entry.node {
                        table.intern(dir, &entry.name, node, entry.attr.as_ref());
                    }
                }
            }
            Op::Remove { dir, name, .. } | Op::RmDir { dir, name, .. } => table.forget_name(dir, name),
            Op::Rename { from_dir, from, to_dir, to, .. } => table.rename((from_dir, from), (to_dir, to)),
            _ => {}
        }
    }
}

impl Table {
    fn handle(&self, id: Id) -> Handle {
        let bytes = (u128::from(self.instance) << 64 | u128::from(id)).to_be_bytes();
        Handle::new(&bytes).expect("16 bytes are a handle")
    }

    fn id(&self, handle: &Handle) -> Result<Id, Status> {
        let bytes: [u8; 16] = handle.as_bytes().try_into().map_err(|_| Status::BadHandle)?;
        let bits = u128::from_be_bytes(bytes);
        if (bits >> 64) as u64 == self.instance { Ok(bits as u64) } else { Err(Status::Stale) }
    }

    /// Marks an entry and the directories above it as just used, these later: so none goes before what is in it.
    fn touch(&mut self, mut id: Id) {
        while let Some(entry) = self.entries.get_mut(&id) {
            let Some((parent, _)) = &entry.at else { return };
            let parent = *parent;
            self.uses += 1;
            self.by_use.remove(&entry.used);
            entry.used = self.uses;
            self.by_use.insert(self.uses, id);
            id = parent;
        }
    }

    fn forget(&mut self, id: Id) {
        let Some(entry) = self.entries.remove(&id) else { return };
        self.by_use.remove(&entry.used);
        if let Some((dir, name)) = entry.at {
            self.entries.get_mut(&dir).map(|dir| dir.children.remove(&id));
            self.by_name.remove(&(dir, name));
        }
        if let Some(chain) = chain_of(&entry.node) {
            self.by_chain.remove(&chain);
        }
    }

    fn known(&self, dir: &Node, name: &Name) -> Option<Id> {
        let dir = self.by_chain.get(&chain_of(dir)?)?;
        self.by_name.get(&(*dir, name.clone())).copied()
    }

    fn forget_name(&mut self, dir: &Node, name: &Name) {
        if let Some(id) = self.known(dir, name) {
            self.forget_tree(id);
        }
    }

    /// Forgets an entry and all beneath it (nothing, after an RMDIR; a whole tree when it was replaced unseen).
    fn forget_tree(&mut self, id: Id) {
        for below in self.beneath(id).into_iter().rev() {
            self.forget(below);
        }
    }

    /// An entry and all entries beneath it, each after the one it is in.
    fn beneath(&self, id: Id) -> Vec<Id> {
        let mut found = vec![id];
        let mut next = 0;
        while let Some(entry) = found.get(next).and_then(|id| self.entries.get(id)) {
            next += 1;
            found.extend(&entry.children);
        }
        found
    }

    /// Gives an object found an entry, or finds the one it has; `node` becomes the entry's.
    fn intern(&mut self, dir: &Node, name: &Name, node: &mut Node, attr: Option<&Attr>) {
        let Some(dir_id) = chain_of(dir).and_then(|chain| self.by_chain.get(&chain)).copied() else { return };
        let fileid = attr.map(|attr| attr.fileid).or_else(|| fileid_of(node));
        let at = (dir_id, name.clone());
        if let Some(&id) = self.by_name.get(&at) {
            if let Some(entry) = self.entries.get_mut(&id)
                && (fileid.is_none() || entry.fileid.is_none() || entry.fileid == fileid)
            {
                entry.fileid = entry.fileid.or(fileid);
                *node = entry.node.clone();
                return self.touch(id);
            }
            self.forget_tree(id);
        }
        let id = self.next;
        self.next += 1;
        chain_of(node).and_then(|chain| self.by_chain.insert(chain, id));
        self.by_name.insert(at.clone(), id);
        let entry = Entry { node: node.clone(), at: Some(at), fileid, children: HashSet::new(), used: 0 };
        self.entries.insert(id, entry);
        self.entries.get_mut(&dir_id).map(|dir| dir.children.insert(id));
        self.touch(id);
        while self.entries.len() > self.handles_max {
            match self.by_use.first_key_value() {
                Some((_, &oldest)) if oldest != id => self.forget(oldest),
                _ => break,
            }
        }
    }

    fn rename(&mut self, from: (&Node, &Name), to: (&Node, &Name)) {
        let moved = self.known(from.0, from.1);
        let replaced = self.known(to.0, to.1);
        if moved == replaced {
            return; // both unknown, or a rename to itself
        }
        let fileid = |id: Option<Id>| self.entries.get(&id?)?.fileid;
        if fileid(moved).is_some() && fileid(moved) == fileid(replaced) {
            return; // names of one file, both of which stay (RFC 1813 3.3.14)
        }
        if let Some(replaced) = replaced {
            self.forget_tree(replaced);
        }
        let Some(moved) = moved else { return };
        let Some(to_dir) = chain_of(to.0).and_then(|chain| self.by_chain.get(&chain)).copied() else {
            return self.forget_tree(moved);
        };
        for id in self.beneath(moved) {
            let Some((dir, name)) = self.entries.get(&id).and_then(|entry| entry.at.clone()) else { continue };
            let at = if id == moved { (to_dir, to.1.clone()) } else { (dir, name.clone()) };
            let above = self.entries.get(&at.0).map(|entry| entry.node.clone());
            let Some(Node::Chain(above)) = above else { continue };
            let node = Node::child(&above, at.1.clone());
            self.by_name.remove(&(dir, name));
            self.by_name.insert(at.clone(), id);
            self.entries.get_mut(&dir).map(|dir| dir.children.remove(&id));
            self.entries.get_mut(&at.0).map(|dir| dir.children.insert(id));
            chain_of(&node).and_then(|chain| self.by_chain.insert(chain, id));
            if let Some(entry) = self.entries.get_mut(&id) {
                let old = std::mem::replace(&mut entry.node, node);
                entry.at = Some(at);
                chain_of(&old).and_then(|chain| self.by_chain.remove(&chain));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{AttrChange, Found, Kind};

    fn attr(fileid: u64) -> Attr {
        let time = Time::default();
        Attr {
            kind: Kind::File,
            mode: 0,
            nlink: 1,
            uid: 0,
            gid: 0,
            size: 0,
            used: 0,
            rdev: (0, 0),
            fsid: 0,
            fileid,
            atime: time,
            mtime: time,
            ctime: time,
        }
    }

    fn name(text: &str) -> Name {
        Name::new(text.as_bytes()).unwrap()
    }

    /// LOOKUP as a mount of ways answers it: with a new node each time.
    fn lookup(handles: &Handles, dir: Handle, text: &str, fileid: u64) -> Handle {
        answered(handles, dir, text, |_| Some(attr(fileid)))
    }

    fn answered(handles: &Handles, dir: Handle, text: &str, attr: impl Fn(&Node) -> Option<Attr>) -> Handle {
        let dir = handles.node(dir).unwrap();
        let mut call = Call::mkdir(&dir, &name(text), AttrChange::default());
        let Node::Chain(chain) = &dir else { panic!() };
        let node = Node::child(chain, name(text));
        let found = Found { attr: attr(&node), node };
        let Op::MkDir { out, .. } = &mut call.op else { panic!() };
        *out = Ok(found);
        handles.settle(&mut call);
        handles.handle(&call.found().unwrap().node)
    }

    fn done<'a>(mut call: Call<'a>) -> Call<'a> {
        match &mut call.op {
            Op::Remove { out, .. } | Op::RmDir { out, .. } | Op::Rename { out, .. } => *out = Ok(()),
            _ => panic!(),
        }
        call
    }

    fn path(handles: &Handles, handle: Handle) -> Result<String, Status> {
        let mut node = handles.node(handle)?;
        let mut path = String::new();
        while let Node::Chain(chain) = &node {
            let Some((dir, name)) = chain.parent.clone() else { break };
            path = format!("/{name}{path}");
            node = dir;
        }
        Ok(path)
    }

    #[test]
    fn a_handle_stays_follows_a_rename_and_ends_with_its_object() {
        let handles = Handles::new(Node::root_chain(0), 100);
        let root = handles.handle(&handles.root);
        let a = lookup(&handles, root, "a", 10);
        assert_eq!(lookup(&handles, root, "a", 10), a);
        let b = lookup(&handles, a, "b", 11);
        let c = lookup(&handles, b, "c", 12);
        assert_eq!(path(&handles, c).unwrap(), "/a/b/c");
        assert_eq!(handles.parent(&handles.node(b).unwrap()), handles.node(a));

        let [root_node, a_node] = [root, a].map(|handle| handles.node(handle).unwrap());
        handles.settle(&mut done(Call::rename(&a_node, &name("b"), &root_node, &name("z"))));
        assert_eq!(path(&handles, c).unwrap(), "/z/c");
        assert_eq!(path(&handles, b).unwrap(), "/z");
        assert_eq!(lookup(&handles, root, "z", 11), b);

        // Another object under the name, seen at the next LOOKUP; then a removal.
        let other = lookup(&handles, root, "z", 99);
        assert_eq!(path(&handles, b), Err(Status::Stale));
        assert_eq!(path(&handles, c), Err(Status::Stale));
        handles.settle(&mut done(Call::remove(&root_node, &name("z"))));
        assert_eq!(path(&handles, other), Err(Status::Stale));
        assert_eq!(path(&handles, Handle::new(b"short").unwrap()), Err(Status::BadHandle));
        let table = handles.table.as_ref().unwrap().lock().unwrap();
        assert_eq!((table.entries.len(), table.by_name.len(), table.by_chain.len(), table.by_use.len()), (2, 1, 2, 1));
    }

    #[test]
    fn what_was_made_without_attributes_is_told_from_what_took_its_place() {
        let handles = Handles::new(Node::root_chain(0), 10);
        let root = handles.handle(&handles.root);
        let made = answered(&handles, root, "f", |node| {
            let Node::Chain(chain) = node else { panic!() };
            chain.note(7);
            None
        });
        assert_eq!(lookup(&handles, root, "f", 7), made);
        let again = answered(&handles, root, "g", |node| {
            let Node::Chain(chain) = node else { panic!() };
            chain.note(8);
            None
        });
        assert_ne!(lookup(&handles, root, "g", 9), again);
        assert_eq!(path(&handles, again), Err(Status::Stale));
    }

    #[test]
    fn the_least_recently_used_become_stale_but_never_a_directory_before_its_content() {
        let handles = Handles::new(Node::root_chain(0), 10);
        let root = handles.handle(&handles.root);
        let dir = lookup(&handles, root, "dir", 1);
        let file = lookup(&handles, dir, "file", 2);
        let old = lookup(&handles, root, "old", 3);
        for i in 10..30 {
            lookup(&handles, root, &format!("n{i}"), i);
            assert_eq!(path(&handles, file).unwrap(), "/dir/file");
        }
        assert_eq!(path(&handles, old), Err(Status::Stale));
        assert!(handles.table.as_ref().unwrap().lock().unwrap().entries.len() <= 10);
    }
}
