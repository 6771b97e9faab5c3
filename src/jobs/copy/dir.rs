//! A directory of the source and its place at the target, while something is open in it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use crate::base::Name;
use crate::crew::Due;
use crate::storage::{Attr, Node};

use super::super::moved::Filled;
use super::super::remove::Spares;
use super::ctx::On;
use super::join::{Alone, Join};
use super::task::{At, Task};

/// The target's directory.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub node: Node,
    /// What it was before; none when it was made by this run.
    pub was: Option<Attr>,
    /// Its mode was changed to let its owner in.
    pub opened: bool,
    /// The mode that it was made with, where that did not let its owner in.
    pub let_in: Option<u32>,
    /// It was given its group, which it had not.
    pub regrouped: bool,
    /// The server does not let the caller give it away.
    pub owner_refused: bool,
    /// Whose it is, where the reply to its MKDIR said so.
    pub owner_is: Option<(u32, u32)>,
    /// New objects in it may get attributes from a default ACL.
    pub inherits: bool,
}

impl Made {
    /// A directory that was `was` before, or was made.
    pub fn new(node: Node, was: Option<Attr>) -> Made {
        Made {
            node,
            was,
            opened: false,
            let_in: None,
            regrouped: false,
            owner_refused: false,
            owner_is: None,
            inherits: false,
        }
    }
}

/// A pair of directories.
#[derive(Debug)]
pub(super) struct Dir {
    parent: Option<(Arc<Dir>, Name)>,
    /// An ancestor that directories below are compared with, to find one that contains itself (Brent's algorithm, as in the
    /// removal's frames).
    mark: Option<Arc<Dir>>,
    depth: u32,
    pub source: Node,
    pub attr: Attr,
    /// What was known of the target's before it was entered.
    pub at: At,
    made: OnceLock<Made>,
    /// What is open in it: its listing, its objects, its directories.
    open: AtomicU64,
    /// A name was made, replaced or removed in the target's. Of a comparison: it was told what differs in the directory itself.
    touched: AtomicBool,
    /// Something was put into the target's: made or renamed there, or written over in its place.
    filled: AtomicBool,
    /// It was not listed, or not to its end: nothing is deleted in it.
    broken: AtomicBool,
    /// It went from the source meanwhile.
    vanished: AtomicBool,
    /// Not listed: only some names in it are copied.
    partial: bool,
    listing: Mutex<Join>,
    /// What the target alone has.
    extras: Mutex<Vec<Alone>>,
    /// The extras were dealt with.
    swept: AtomicBool,
    /// What of the target's stays, whatever the source has.
    spared: OnceLock<Spares>,
    /// Names of the target's that it takes for names of the source's which are spelled otherwise.
    respelled: Mutex<Vec<Name>>,
}

impl Dir {
    /// The pair of roots.
    pub fn root(source: Node, attr: Attr, at: At, partial: bool) -> Dir {
        Dir::with(None, 0, source, attr, at, partial)
    }

    /// A directory of the source in `parent`, which has it open from now on.
    pub fn child(parent: &Arc<Dir>, name: &Name, source: Node, attr: Attr, at: At, partial: bool) -> Dir {
        parent.hold(1);
        Dir::with(Some((parent.clone(), name.clone())), parent.depth + 1, source, attr, at, partial)
    }

    fn with(parent: Option<(Arc<Dir>, Name)>, depth: u32, source: Node, attr: Attr, at: At, partial: bool) -> Dir {
        let above = parent.as_ref().map(|(dir, _)| dir);
        let mark = above.and_then(|dir| if dir.depth.is_power_of_two() { Some(dir.clone()) } else { dir.mark.clone() });
        Dir {
            parent,
            mark,
            depth,
            source,
            attr,
            at,
            made: OnceLock::new(),
            open: AtomicU64::new(1),
            touched: AtomicBool::new(false),
            filled: AtomicBool::new(false),
            broken: AtomicBool::new(false),
            vanished: AtomicBool::new(false),
            partial,
            listing: Mutex::default(),
            extras: Mutex::default(),
            swept: AtomicBool::new(false),
            spared: OnceLock::new(),
            respelled: Mutex::default(),
        }
    }

    /// True when the source's `node`, met in this directory, is known to be above it: only a broken or hostile server says so.
    /// Nodes without handles cannot be compared; there the kernel sees to it.
    pub fn is_within(&self, node: &Node) -> bool {
        self.source == *node || self.mark.as_ref().is_some_and(|mark| mark.source == *node)
    }

    pub fn is_root(&self) -> bool {
        self.parent.is_none()
    }

    pub fn is_partial(&self) -> bool {
        self.partial
    }

    /// True for the root that names are copied below: its attributes are not the copy's to set.
    pub fn is_frame(&self) -> bool {
        self.partial && self.is_root()
    }

    pub fn depth(&self) -> u32 {
        self.depth
    }

    pub fn parent(&self) -> Option<&(Arc<Dir>, Name)> {
        self.parent.as_ref()
    }

    /// The directory that it is in, and its name there.
    pub fn place(&self) -> Option<(&Dir, &Name)> {
        self.parent.as_ref().map(|(dir, name)| (&**dir, name))
    }

    /// Is the source's directory, or the target's, of another file system than the one that it is in?
    pub fn is_mounted(&self, on: On) -> bool {
        let fsid = |dir: &Dir| match on {
            On::Source => Some(dir.attr.fsid),
            On::Target => dir.entered()?.was.as_ref().map(|was| was.fsid),
        };
        self.parent.as_ref().and_then(|(up, _)| fsid(up).zip(fsid(self))).is_some_and(|(above, here)| above != here)
    }

    /// What stays of the target's directory, by `spares` of it and of those that it is in. Each is asked for once.
    pub fn spared(&self, spares: impl Fn(&Dir) -> Spares) -> Spares {
        let (mut way, mut at) = (Vec::new(), self);
        let mut known = loop {
            if let Some(known) = at.spared.get() {
                break *known;
            }
            way.push(at);
            let Some((up, _)) = &at.parent else { break Spares::Nothing };
            at = up;
        };
        for dir in way.into_iter().rev() {
            known = *dir.spared.get_or_init(|| if known == Spares::All { known } else { spares(dir) });
        }
        known
    }

    /// The target's directory; it was entered.
    pub fn made(&self) -> &Made {
        self.made.get().expect("what is in a directory is met after it was entered")
    }

    /// The target's directory, if it was entered.
    pub fn entered(&self) -> Option<&Made> {
        self.made.get()
    }

    pub fn set_made(&self, made: Made) {
        let set = self.made.set(made);
        debug_assert!(set.is_ok(), "a directory is entered once");
    }

    /// True when nothing was in the target's before this run.
    pub fn is_fresh(&self) -> bool {
        self.made().was.is_none()
    }

    pub fn join(&self) -> MutexGuard<'_, Join> {
        self.listing.lock().expect("nothing panics while it holds a listing")
    }

    /// The target has a name of the source's as `name`.
    pub fn respell(&self, name: Name) {
        self.respelled.lock().expect("nothing panics while it adds").push(name);
    }

    pub fn is_respelled(&self, name: &Name) -> bool {
        self.respelled.lock().expect("nothing panics while it looks").contains(name)
    }

    pub fn extras(&self) -> MutexGuard<'_, Vec<Alone>> {
        self.extras.lock().expect("nothing panics while it holds the extras")
    }

    /// True the first time.
    pub fn sweep(&self) -> bool {
        !self.swept.swap(true, Ordering::Relaxed)
    }

    pub fn touch(&self) {
        self.touched.store(true, Ordering::Relaxed);
    }

    pub fn is_touched(&self) -> bool {
        self.touched.load(Ordering::Relaxed)
    }

    /// Something was put into the target's, which may have been there.
    pub fn fill(&self) {
        if !self.filled.load(Ordering::Relaxed) {
            self.filled.store(true, Ordering::Relaxed);
        }
    }

    /// A name was made, or given to something, in the target's.
    pub fn gain(&self) {
        self.touch();
        self.fill();
    }

    /// The target's directory by its name, if something was put into it. The root has none.
    pub fn filled(&self) -> Option<Filled> {
        let (above, name) = self.parent.as_ref().filter(|_| self.filled.load(Ordering::Relaxed))?;
        Some(Filled { above: above.made().node.clone(), name: name.clone(), node: self.made().node.clone() })
    }

    /// Its listing failed.
    pub fn break_off(&self) {
        self.broken.store(true, Ordering::Relaxed);
    }

    /// It vanished from the source before it was listed to its end: nothing is deleted in it, and that is not told.
    pub fn vanish(&self) {
        self.break_off();
        self.swept.store(true, Ordering::Relaxed);
        self.vanished.store(true, Ordering::Relaxed);
    }

    pub fn has_vanished(&self) -> bool {
        self.vanished.load(Ordering::Relaxed)
    }

    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    /// Something more is open in it.
    pub fn hold(&self, count: u64) {
        self.open.fetch_add(count, Ordering::Relaxed);
    }

    /// Something in it is over; with the last, it is to be finished.
    pub fn leave(self: &Arc<Dir>, due: &mut Vec<Due<Task>>) {
        if self.open.fetch_sub(1, Ordering::AcqRel) == 1 {
            due.push(Task::Finish(self.clone()).due());
        }
    }

    /// Its path, or that of a name in it, below the root; empty for the root.
    pub fn path_of(&self, name: Option<&Name>) -> Vec<u8> {
        let mut names: Vec<&[u8]> = name.into_iter().map(Name::as_bytes).collect();
        let mut dir = self;
        while let Some((parent, name)) = &dir.parent {
            names.push(name.as_bytes());
            dir = parent;
        }
        names.reverse();
        names.join(&b'/')
    }
}

/// Parents are let go one by one: the compiler's way would need stack for each directory of a path.
impl Drop for Dir {
    fn drop(&mut self) {
        let mut parent = self.parent.take();
        while let Some((dir, _)) = parent {
            parent = Arc::into_inner(dir).and_then(|mut dir| dir.parent.take());
        }
    }
}
