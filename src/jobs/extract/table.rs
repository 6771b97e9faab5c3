//! The directories that are known, by path; the producer's own. Bounded: when it is full, the half that was not needed for
//! longest is finished and forgotten.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::base::Name;
use crate::storage::Node;

use super::dirs::{self, Dir, Last};
use super::seen::Seen;

/// A directory as the producer has it: for each member it is taken up once and left again, which by the count that lanes share is a
/// locked instruction that waits for all stores before.
pub(super) type Known = Rc<Arc<Dir>>;

pub(super) struct Table {
    dirs: HashMap<(u64, Name), Known>,
    root: Known,
    /// The directory of the last path, which most often is the next one's too.
    last: (Vec<Name>, Known),
    /// When that was needed last; noted with it once another one is, since lanes read what lies beside that.
    last_used: u64,
    next_id: u64,
    tick: u64,
    /// Those that this run made or set something on, and are forgotten: one found to be there may be one of them.
    forgotten: Seen,
    implied_mode: u32,
    state: RandomState,
}

impl Table {
    pub fn new(root: Node, implied_mode: u32) -> Table {
        let state = RandomState::new();
        let root = Rc::new(Arc::new(Dir::root(root, 0)));
        let last = (Vec::new(), root.clone());
        Table {
            dirs: HashMap::new(),
            root,
            last,
            last_used: 0,
            next_id: 1,
            tick: 0,
            forgotten: Seen::default(),
            implied_mode,
            state,
        }
    }

    pub fn root(&self) -> &Dir {
        &self.root
    }

    pub fn len(&self) -> usize {
        self.dirs.len()
    }

    /// The hash of a place in a directory.
    pub fn hash_in(&self, dir: u64, name: &Name) -> u64 {
        dirs::place_hash(&self.state, dir, name)
    }

    /// The hash of a path.
    pub fn hash_of(&self, names: &[Name]) -> u64 {
        names.iter().fold(self.root.hash, |hash, name| self.hash_in(hash, name))
    }

    /// The deepest known directory on the way to `names`, and how many of them it covers.
    pub fn deepest(&mut self, names: &[Name]) -> (Known, usize) {
        self.tick += 1;
        if self.last.0 == names {
            self.last_used = self.tick;
            return (self.last.1.clone(), names.len());
        }
        let mut dir = self.root.clone();
        for (i, name) in names.iter().enumerate() {
            match self.dirs.get(&(dir.id, name.clone())) {
                Some(child) => dir = child.clone(),
                None => return (dir, i),
            }
            dir.used.store(self.tick, Ordering::Relaxed);
        }
        self.leave_last((names.to_vec(), dir.clone()));
        (dir, names.len())
    }

    /// Another path is the last one now.
    fn leave_last(&mut self, last: (Vec<Name>, Known)) {
        self.last.1.used.fetch_max(self.last_used, Ordering::Relaxed);
        (self.last, self.last_used) = (last, self.tick);
    }

    pub fn child(&self, dir: &Dir, name: &Name) -> Option<&Known> {
        // Most members are in directories that hold files only: no name is to be hashed.
        dir.has_dirs.load(Ordering::Relaxed).then(|| self.dirs.get(&(dir.id, name.clone())))?
    }

    /// Adds a directory, in a path or as a member.
    pub fn add(&mut self, parent: &Arc<Dir>, name: &Name, last: Option<Last>) -> Known {
        let ids = (self.next_id, self.hash_in(parent.hash, name));
        self.next_id += 1;
        let was_there = self.forgotten.has(ids.1);
        let dir = Rc::new(Arc::new(Dir::new(parent, name, ids, self.implied_mode, last, was_there)));
        dir.used.store(self.tick, Ordering::Relaxed);
        parent.has_dirs.store(true, Ordering::Relaxed);
        self.dirs.insert((parent.id, name.clone()), dir.clone());
        dir
    }

    /// Takes out the directory and all below it.
    pub fn take_tree(&mut self, top: &Arc<Dir>) -> Vec<Arc<Dir>> {
        let below = |dir: &Arc<Dir>| {
            let mut here = dir;
            while here.depth > top.depth {
                let Some((parent, _)) = &here.place else { return false };
                here = parent;
            }
            here.id == top.id
        };
        self.leave_last((Vec::new(), self.root.clone()));
        // What was to replace it may fail, or be skipped.
        let taken: Vec<_> =
            self.dirs.extract_if(|_, dir| below(dir)).map(|(_, dir)| Rc::unwrap_or_clone(dir)).collect();
        self.forget(&taken);
        taken
    }

    /// Takes out all but the destination.
    pub fn take_known(&mut self) -> Vec<Arc<Dir>> {
        self.last = (Vec::new(), self.root.clone());
        let taken: Vec<_> = self.dirs.drain().map(|(_, dir)| Rc::unwrap_or_clone(dir)).collect();
        self.forget(&taken);
        taken
    }

    fn forget(&mut self, taken: &[Arc<Dir>]) {
        for dir in taken.iter().filter(|dir| dir.is_of_this_run()) {
            self.forgotten.note(dir.hash);
        }
    }

    /// Takes out the half that was not needed for longest. What is below a directory goes before it.
    pub fn take_oldest(&mut self) -> Vec<Arc<Dir>> {
        self.leave_last((Vec::new(), self.root.clone()));
        let mut all: Vec<Arc<Dir>> = self.dirs.values().map(|dir| Arc::clone(dir)).collect();
        // A directory was needed when one in it was.
        all.sort_by_key(|dir| std::cmp::Reverse(dir.depth));
        for dir in &all {
            if let Some((parent, _)) = &dir.place {
                parent.used.fetch_max(dir.used.load(Ordering::Relaxed), Ordering::Relaxed);
            }
        }
        // Stable: among equals the deepest first.
        all.sort_by_key(|dir| dir.used.load(Ordering::Relaxed));
        all.truncate(all.len().div_ceil(2));
        for (parent, name) in all.iter().filter_map(|dir| dir.place.as_ref()) {
            self.dirs.remove(&(parent.id, name.clone()));
        }
        self.forget(&all);
        all
    }

    /// Takes out all of them, and the destination.
    pub fn take_all(&mut self) -> Vec<Arc<Dir>> {
        let mut all: Vec<Arc<Dir>> = self.dirs.drain().map(|(_, dir)| Rc::unwrap_or_clone(dir)).collect();
        all.push(Arc::clone(&self.root));
        all
    }
}
