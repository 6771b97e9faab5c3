//! A directory on its way out: what is still to be done in it, and what came of the rest. Also paths for messages, which are
//! built only when somebody is to read them.
//!
//! A frame lives as long as something in it is under way. On a 64-bit machine a level of the tree holds, at its most, for
//! each listing that a lane has in hand there one page of 64 KiB: some 330 entries of short names, as tasks of about 60 bytes
//! with their names in them, or as frames of about 270 bytes where they are directories and have been entered: at most
//! 100 KiB a page. A directory without siblings costs one frame.

use std::hash::{DefaultHasher, Hasher};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::base::{Name, Status};
use crate::storage::{Node, Route};

/// One tree or object to remove: an entry of a directory. The tag is the embedder's, given back when the tree is done.
#[derive(Debug)]
pub(in crate::jobs) struct Root<T> {
    /// The directory that it is in; or, without a name, itself.
    pub dir: Node,
    /// Its name there; none: `dir` itself, of which only the contents are removed.
    pub name: Option<Name>,
    /// Its path, for messages.
    pub shown: Vec<u8>,
    /// How much of paths (the shown one, a slash, and what is below) the filter does not see, in bytes.
    pub skip: usize,
    /// Remove what is in it and keep it.
    pub contents: bool,
    /// It is the root of a file system: a `.snapshot` in it is left alone.
    pub fs_root: bool,
    /// The file system of `dir`, where that is known: a root of another one is a mount point, and refused unless it stays.
    pub fsid: Option<u64>,
    /// What the embedder knows it by.
    pub tag: T,
}

impl<T> Root<T> {
    /// The path that those of entries begin with, less its slash.
    fn base(&self) -> &[u8] {
        let end = self.shown.iter().rposition(|b| *b != b'/').map_or(0, |i| i + 1);
        &self.shown[..end]
    }
}

/// What is known of a frame, as bits.
pub(super) mod flag {
    /// Something in it was removed since it was last listed from the start.
    pub const REMOVED: u16 = 1;
    /// Something in it could not be removed; that is told already.
    pub const FAILED: u16 = 2;
    /// Something in it was left because no more may be removed.
    pub const HELD: u16 = 4;
    /// Its listing had more than one page.
    pub const PAGES: u16 = 8;
    /// Its listing broke off because the cookie was stale.
    pub const STALE_COOKIE: u16 = 16;
    /// It has a `.snapshot` that is left alone.
    pub const SNAPSHOT: u16 = 32;
    /// It has names of files that some client has open.
    pub const SILLY: u16 = 64;
    /// It is being listed only to see whether that shows what the listing before skipped.
    pub const CHECK: u16 = 128;
    /// What was listed in it was said not to be there, or not to be known (STALE), when it was to be removed.
    pub const UNSURE: u16 = 256;
    /// Its listing failed, for `trouble`.
    pub const UNLISTED: u16 = 512;
    /// At the top: the root is refused unless it is a directory.
    pub const MUST_BE_DIR: u16 = 1024;
    /// It had such names when it was listed before, and was not empty when they were removed.
    pub const SILLY_BEFORE: u16 = 2048;
    /// Its open descriptor leads elsewhere.
    pub const MOVED: u16 = 4096;
    /// Something in it was removed before it was listed anew.
    pub const REMOVED_BEFORE: u16 = 8192;
    /// Removing it was tried again, in a directory that was opened.
    pub const AGAIN: u16 = 16384;
    /// It was told that it was moved while it was removed.
    pub const TOLD: u16 = 32768;
}

/// A directory that is being removed; or, at the top, the place of a root in the directory that it is in.
pub(super) struct Frame<T> {
    /// The directory that it is in; none at the top.
    pub up: Option<Arc<Frame<T>>>,
    /// An ancestor that directories below are compared with, to find one that contains itself (Brent's algorithm: the marks
    /// are at depths of powers of two, so a loop of any length is found before it is gone round three times).
    mark: Option<Arc<Frame<T>>>,
    /// Its name there; none at the top and for a directory that is only emptied.
    pub name: Option<Name>,
    /// At the top.
    pub root: Option<Box<Root<T>>>,
    pub node: Node,
    pub depth: u32,
    pub fsid: Option<u64>,
    /// Its own, where that is known.
    pub fileid: Option<NonZeroU64>,
    /// Modified too late to be removed itself.
    pub young: bool,
    pub fs_root: bool,
    /// The root's.
    pub skip: usize,
    /// How often its name turned out to be something else.
    pub tries: u8,
    /// What is under way in it, and one for its listing.
    pub pending: AtomicUsize,
    /// Objects left alone in it and below.
    pub kept: AtomicU64,
    flags: AtomicU16,
    /// Listings begun anew.
    pub passes: AtomicU32,
    /// Sums over names: of the entries listed less those that were then said not to be there, of those removed, and of those that
    /// the check showed.
    listed: AtomicU64,
    removed: AtomicU64,
    shown: AtomicU64,
    /// The mount that it was listed through, which knows its names.
    pub route: OnceLock<Route>,
    /// Names are removed from it through other mounts as well.
    pub spread: AtomicBool,
    /// Why it could not be listed, where removing it may succeed all the same.
    pub trouble: OnceLock<Status>,
    /// What its mode was where it did not let its owner in, which it does now; none where that was tried in vain.
    pub opened: OnceLock<Option<u32>>,
    /// Lanes that remove pages of it, of those that count themselves.
    lanes: AtomicUsize,
}

impl<T> Frame<T> {
    /// The place of a root, which is under way.
    pub fn top(root: Root<T>, depth: u32) -> Frame<T> {
        let mut top = Frame::bare(None, None, root.dir.clone(), depth);
        top.skip = root.skip;
        top.fsid = root.fsid;
        top.root = Some(Box::new(root));
        top
    }

    /// A directory in `up`, whose listing is under way.
    pub fn dir(up: &Arc<Frame<T>>, name: Option<Name>, node: Node) -> Frame<T> {
        let mut frame = Frame::bare(Some(up.clone()), name, node, up.depth.saturating_add(1));
        frame.skip = up.skip;
        frame.mark = if up.depth.is_power_of_two() { Some(up.clone()) } else { up.mark.clone() };
        frame
    }

    fn bare(up: Option<Arc<Frame<T>>>, name: Option<Name>, node: Node, depth: u32) -> Frame<T> {
        Frame {
            up,
            mark: None,
            name,
            root: None,
            node,
            depth,
            fsid: None,
            fileid: None,
            young: false,
            fs_root: false,
            skip: 0,
            tries: 0,
            pending: AtomicUsize::new(1),
            kept: AtomicU64::new(0),
            flags: AtomicU16::new(0),
            passes: AtomicU32::new(0),
            listed: AtomicU64::new(0),
            removed: AtomicU64::new(0),
            shown: AtomicU64::new(0),
            route: OnceLock::new(),
            spread: AtomicBool::new(false),
            trouble: OnceLock::new(),
            opened: OnceLock::new(),
            lanes: AtomicUsize::new(0),
        }
    }

    pub fn set(&self, flag: u16) {
        // Most often it is set already, and a look costs less.
        if !self.has(flag) {
            self.flags.fetch_or(flag, Ordering::Relaxed);
        }
    }

    /// Is one of these known of it?
    pub fn has(&self, flag: u16) -> bool {
        self.flags.load(Ordering::Relaxed) & flag != 0
    }

    /// True when `node`, met in this directory, is known to be above it: only a broken or hostile server says so. Nodes without
    /// handles cannot be compared; there the kernel sees to it.
    pub fn is_within(&self, node: &Node) -> bool {
        self.node == *node || self.mark.as_ref().is_some_and(|mark| mark.node == *node)
    }

    /// The root that this directory is itself; none at the top and below.
    pub fn own_root(&self) -> Option<&Root<T>> {
        self.up.as_ref()?.root.as_deref()
    }

    /// Its file system and file id.
    pub fn number(&self) -> Option<(u64, u64)> {
        self.fsid.zip(self.fileid.map(NonZeroU64::get))
    }

    /// True for a directory that stays although all in it goes.
    pub fn stays(&self) -> bool {
        self.name.is_none() || self.own_root().is_some_and(|root| root.contents)
    }

    /// A lane begins to remove a page of it. True when fewer than `most` do so, with this one.
    pub fn enter(&self, most: usize) -> bool {
        self.lanes.fetch_add(1, Ordering::Relaxed) + 1 < most
    }

    /// It has done so.
    pub fn leave(&self) {
        self.lanes.fetch_sub(1, Ordering::Relaxed);
    }

    /// An entry was met in a listing.
    pub fn note_listed(&self, name: &Name) {
        let sum = if self.has(flag::CHECK) { &self.shown } else { &self.listed };
        sum.fetch_add(sum_of(name), Ordering::Relaxed);
    }

    /// An entry was removed.
    pub fn note_removed(&self, name: &Name) {
        self.removed.fetch_add(sum_of(name), Ordering::Relaxed);
    }

    /// An entry that was listed is said not to be there.
    pub fn note_vanished(&self, name: &Name) {
        self.listed.fetch_sub(sum_of(name), Ordering::Relaxed);
    }

    /// Begins the check. Nothing is under way in it.
    pub fn check(&self) {
        self.set(flag::CHECK);
        self.pending.store(1, Ordering::Relaxed);
    }

    /// Did the check show nothing new: what was listed less what was removed, or all that was listed (in a dry run, or from a
    /// client's cache)?
    pub fn is_checked(&self) -> bool {
        let get = |sum: &AtomicU64| sum.load(Ordering::Relaxed);
        let (listed, shown) = (get(&self.listed), get(&self.shown));
        shown == listed || shown == listed.wrapping_sub(get(&self.removed))
    }

    /// Makes ready for another listing from the start. Nothing is under way in it.
    pub fn renew(&self) {
        self.passes.fetch_add(1, Ordering::Relaxed);
        for sum in [&self.kept, &self.listed, &self.removed, &self.shown] {
            sum.store(0, Ordering::Relaxed);
        }
        let silly = if self.has(flag::SILLY) { flag::SILLY_BEFORE } else { 0 };
        let removed = if self.has(flag::REMOVED | flag::REMOVED_BEFORE) { flag::REMOVED_BEFORE } else { 0 };
        let told = if self.has(flag::TOLD) { flag::TOLD } else { 0 };
        self.flags.store(silly | removed | told, Ordering::Relaxed);
        self.pending.store(1, Ordering::Relaxed);
    }
}

/// A name's part in a sum that tells sets of names apart.
fn sum_of(name: &Name) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(name.as_bytes());
    hasher.finish()
}

/// A chain of frames is taken apart one by one: the compiler's way would need stack for each level of the tree.
impl<T> Drop for Frame<T> {
    fn drop(&mut self) {
        let mut up = self.up.take();
        while let Some(frame) = up {
            up = Arc::into_inner(frame).and_then(|mut frame| frame.up.take());
        }
    }
}

/// Builds paths. It remembers the last directory it was in, so that the next path costs no more than the way from there: in
/// a tree of any depth, about nothing.
pub(super) struct Cursor<T> {
    /// A directory whose path `path` begins with; none at the start.
    at: Option<Arc<Frame<T>>>,
    path: Vec<u8>,
    /// How much of `path` is that directory's.
    len: usize,
}

impl<T> Default for Cursor<T> {
    fn default() -> Self {
        Cursor { at: None, path: Vec::new(), len: 0 }
    }
}

impl<T> Cursor<T> {
    /// The path of the entry `name` of `up`; of the root when `up` is a top.
    pub fn path<'a>(&'a mut self, up: &'a Arc<Frame<T>>, name: Option<&Name>) -> &'a [u8] {
        if let Some(root) = &up.root {
            return &root.shown;
        }
        self.go(up);
        if let Some(name) = name {
            self.path.push(b'/');
            self.path.extend_from_slice(name.as_bytes());
        }
        &self.path
    }

    /// The path of the entry `name` of `up`, which is no top, as shown and below its root.
    pub fn paths<'a>(&'a mut self, up: &'a Arc<Frame<T>>, name: &Name) -> (&'a [u8], &'a [u8]) {
        let skip = up.skip;
        let path = self.path(up, Some(name));
        (path, path.get(skip..).unwrap_or_default())
    }

    /// Moves to another directory, by the way between the two.
    fn go(&mut self, to: &Arc<Frame<T>>) {
        self.path.truncate(self.len);
        let mut down = Vec::new();
        let mut target = to;
        let mut at = self.at.take();
        loop {
            let Some(from) = at else {
                // Only the root is left, whose path is the base.
                while let Some(up) = target.up.as_ref().filter(|up| up.root.is_none()) {
                    down.push(target);
                    target = up;
                }
                self.path.clear();
                self.path.extend_from_slice(target.own_root().map_or(b"", |root| root.base()));
                break;
            };
            if Arc::ptr_eq(&from, target) {
                break;
            }
            if target.depth >= from.depth
                && let Some(up) = target.up.as_ref().filter(|up| up.root.is_none())
            {
                down.push(target);
                target = up;
                at = Some(from);
                continue;
            }
            let name = from.name.as_ref().map_or(0, |name| name.as_bytes().len() + 1);
            at = from.up.clone().filter(|up| up.root.is_none());
            self.path.truncate(self.path.len().saturating_sub(name));
        }
        for frame in down.into_iter().rev() {
            self.path.push(b'/');
            self.path.extend_from_slice(frame.name.as_ref().map_or(b"", |name| name.as_bytes()));
        }
        self.len = self.path.len();
        self.at = Some(to.clone());
    }
}
