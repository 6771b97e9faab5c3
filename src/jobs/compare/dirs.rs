//! Directories that members are looked up in, by their names below the root, found once and remembered within bounds.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::base::{Name, Proc, Status};
use crate::storage::{Kind, Mount, Node, Route, Volume};

use crate::jobs::port::Port;

/// Directories remembered at most; then all are forgotten and looked up again.
const DIRS_MAX: usize = 100_000;

pub(super) struct Dirs {
    root: Node,
    known: Mutex<HashMap<Vec<Name>, Node>>,
}

impl Dirs {
    pub fn new(volume: &Volume) -> Dirs {
        Dirs { root: volume.root(), known: Mutex::default() }
    }

    /// The directory of these names; not through symbolic links, which are `Loop`, as for open(2) with O_NOFOLLOW.
    pub fn find(&self, port: Port<'_>, route: Route, names: &[Name]) -> Result<Node, (Proc, Status)> {
        let (mut node, mut covered) = (self.root.clone(), 0);
        {
            let known = self.known.lock().expect("nothing panics while it looks");
            for upto in (1..=names.len()).rev() {
                if let Some(found) = known.get(&names[..upto]) {
                    (node, covered) = (found.clone(), upto);
                    break;
                }
            }
        }
        for upto in covered..names.len() {
            let (found, attr) = port.look_up(route, &node, &names[upto])?;
            if attr.kind == Kind::Symlink {
                return Err((Proc::Lookup, Status::Loop));
            }
            node = found;
            let mut known = self.known.lock().expect("nothing panics while it looks");
            if known.len() >= DIRS_MAX {
                known.clear();
            }
            known.insert(names[..=upto].to_vec(), node.clone());
        }
        Ok(node)
    }
}
