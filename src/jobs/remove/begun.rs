//! Which directories of a list were begun: what is in one of them may be gone before its own turn comes, and that is no failure.
//! `find -depth` names what is in a directory right before the directory, and lanes begin with both. And which paths a list has
//! named last: one that comes again is passed over, for whether it is gone by its second turn would be by chance.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use crate::base::Name;
use crate::jobs::select::normal;
use crate::storage::Node;

/// Directories remembered at most, of those in others the others alone, and paths. Some tens of batches: more are not under way at once.
const REMEMBERED_MAX: usize = 4096;

/// The operands that are directories and were begun last, by their paths from one directory.
#[derive(Debug)]
pub(super) struct Begun {
    /// What is in them goes with them.
    trees: bool,
    paths: Mutex<Paths>,
}

#[derive(Debug, Default)]
struct Paths {
    all: HashSet<Vec<u8>>,
    order: VecDeque<Vec<u8>>,
}

impl Paths {
    /// True for one that is not remembered; from now on it is.
    fn insert(&mut self, path: Vec<u8>) -> bool {
        if !self.all.insert(path.clone()) {
            return false;
        }
        self.order.push_back(path);
        if self.order.len() > REMEMBERED_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.all.remove(&oldest);
        }
        true
    }

    fn has_above(&self, path: &[u8]) -> bool {
        path.iter().enumerate().any(|(end, &byte)| byte == b'/' && self.all.contains(&path[..end]))
    }
}

impl Begun {
    pub fn new(trees: bool) -> Begun {
        Begun { trees, paths: Mutex::default() }
    }

    pub fn note(&self, shown: &[u8]) {
        let path = normal(shown);
        let mut paths = self.paths.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.trees || !paths.has_above(&path) {
            paths.insert(path);
        }
    }

    /// Was a directory begun that this is, or goes with?
    pub fn has(&self, shown: &[u8]) -> bool {
        let (path, paths) = (normal(shown), self.paths.lock().unwrap_or_else(PoisonError::into_inner));
        paths.all.contains(&path) || self.trees && paths.has_above(&path)
    }
}

/// The ways from one directory that a list named last. It is told in the list's order alone, so what it says is not by chance.
#[derive(Debug, Default)]
pub(super) struct Named {
    dir: Option<Node>,
    ways: Paths,
}

impl Named {
    /// Was this named already? It is, from now on. A slash behind a path may keep what has its name, which is no reason to pass over the
    /// path without it.
    pub fn again(&mut self, dir: &Node, way: &[Name], must_be_dir: bool) -> bool {
        if self.dir.as_ref() != Some(dir) {
            *self = Named { dir: Some(dir.clone()), ways: Paths::default() };
        }
        let mut path = way.iter().map(Name::as_bytes).collect::<Vec<_>>().join(&b'/');
        if must_be_dir {
            if self.ways.all.contains(&path) {
                return true;
            }
            path.push(b'/');
        }
        !self.ways.insert(path)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::mounts::MemoryMount;
    use crate::storage::Mount;

    #[test]
    fn directories_above_are_known() {
        let begun = Begun::new(true);
        assert!(!begun.has(b"d/f"));
        begun.note(b"./d//e/");
        assert!(begun.has(b"d/e/f") && begun.has(b"d/e/f/g") && begun.has(b"./d/e/f"));
        assert!(begun.has(b"d/e") && !begun.has(b"d/f") && !begun.has(b"d/ef/g") && !begun.has(b"d"));
        for n in 0..REMEMBERED_MAX - 1 {
            begun.note(format!("d/e/{n}").as_bytes());
            begun.note(format!("f{n}").as_bytes());
        }
        assert!(begun.has(b"d/e/f"), "what is in another takes no place");
        begun.note(b"g");
        assert!(!begun.has(b"d/e/f") && begun.has(b"g/h"), "the oldest is forgotten");
    }

    #[test]
    fn nothing_goes_with_directories_that_have_to_be_empty() {
        let begun = Begun::new(false);
        begun.note(b"d");
        assert!(begun.has(b"d/") && !begun.has(b"d/e"));
        begun.note(b"d/e");
        assert!(begun.has(b"d/e") && !begun.has(b"d/e/f"));
    }

    #[test]
    fn a_path_is_named_once() {
        let (mut named, root) = (Named::default(), MemoryMount::new().root());
        let mut again = |path: &str, must_be_dir| {
            let way: Vec<Name> = path.split('/').map(|name| Name::new(name.as_bytes()).unwrap()).collect();
            named.again(&root, &way, must_be_dir)
        };
        assert!(!again("d/e", true) && again("d/e", true));
        assert!(!again("d/e", false), "what it is when it is no directory was left");
        assert!(again("d/e", false) && again("d/e", true) && !again("e", false));
        for n in 0..REMEMBERED_MAX {
            assert!(!again(&format!("d/{n}"), false));
        }
        assert!(!again("d/e", false), "the oldest is forgotten");
    }
}
