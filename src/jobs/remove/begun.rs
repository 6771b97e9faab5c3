//! Which directories of a list were begun: what is in one of them may be gone before its own turn comes, and that is no failure.
//! `find -depth` names what is in a directory right before the directory, and lanes begin with both.

use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use crate::jobs::select::normal;

/// Directories remembered at most; of those in others the others alone. Some tens of batches: more are not under way at once.
const REMEMBERED_MAX: usize = 4096;

/// The operands that are directories and were begun last, by their paths from one directory.
#[derive(Debug, Default)]
pub(super) struct Begun(Mutex<Paths>);

#[derive(Debug, Default)]
struct Paths {
    all: HashSet<Vec<u8>>,
    order: VecDeque<Vec<u8>>,
}

impl Paths {
    fn has_above(&self, path: &[u8]) -> bool {
        path.iter().enumerate().any(|(end, &byte)| byte == b'/' && self.all.contains(&path[..end]))
    }
}

impl Begun {
    pub fn note(&self, shown: &[u8]) {
        let path = normal(shown);
        let mut paths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if paths.has_above(&path) || !paths.all.insert(path.clone()) {
            return;
        }
        paths.order.push_back(path);
        if paths.order.len() > REMEMBERED_MAX
            && let Some(oldest) = paths.order.pop_front()
        {
            paths.all.remove(&oldest);
        }
    }

    /// Was a directory begun that this is in?
    pub fn has_above(&self, shown: &[u8]) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).has_above(&normal(shown))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_above_are_known() {
        let begun = Begun::default();
        assert!(!begun.has_above(b"d/f"));
        begun.note(b"./d//e/");
        assert!(begun.has_above(b"d/e/f") && begun.has_above(b"d/e/f/g") && begun.has_above(b"./d/e/f"));
        assert!(
            !begun.has_above(b"d/e")
                && !begun.has_above(b"d/f")
                && !begun.has_above(b"d/ef/g")
                && !begun.has_above(b"d")
        );
        for n in 0..REMEMBERED_MAX - 1 {
            begun.note(format!("d/e/{n}").as_bytes());
            begun.note(format!("f{n}").as_bytes());
        }
        assert!(begun.has_above(b"d/e/f"), "what is in another takes no place");
        begun.note(b"g");
        assert!(!begun.has_above(b"d/e/f") && begun.has_above(b"g/h"), "the oldest is forgotten");
    }
}
