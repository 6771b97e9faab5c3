//! What a shadow remembers of the changes it did not make: which names were taken or given up, what stands under them, and
//! the attributes of real files that were seen. All of it is bounded: of each kind the latest are remembered, and what was
//! forgotten is answered plausibly.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::base::{Memo, Time};
use crate::storage::{Attr, AttrChange, Call, Handle, Kind, Mount, Node, SetTime, Verifier};

use super::LentFile;

/// Names, invented objects and real files remembered at least, of each; at most twice as many. One of the largest kind has some 130
/// bytes, so that all of it together stays below 40 MB, and below 60 where very many objects are met again that were forgotten.
pub(super) const REMEMBERED_MAX: usize = 50_000;

/// The same where nothing is forecast: more than is under way at once, and little enough to stay in a processor's cache. Twice as many
/// are just below a power of two, which rows of them grow to.
pub(super) const IDLE_REMEMBERED_MAX: usize = 8_000;

/// File ids from here on are invented; servers and file systems do not count so far.
const FIRST_ID: u64 = 1 << 63;
/// File ids of objects that were forgotten, made from their names.
const FORGOTTEN_ID: u64 = 1 << 62;

/// An invented object, as its handle tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Made {
    pub id: u64,
    pub kind: Kind,
}

/// What is known of a name in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// It was removed, or renamed.
    Gone,
    /// An invented object.
    Made(Made),
    /// A real one, of this kind.
    Real(Kind),
}

/// A real file as it was last seen.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    pub attr: Attr,
    /// A call that was not made would have changed its size: what the real mount says of it is no longer to the point.
    pub resized: bool,
}

/// A real directory whose owner was given all rights: a call that was not made would have opened it.
#[derive(Clone, Copy)]
pub(super) struct Opened {
    /// The mode that it was given last.
    pub mode: u32,
    /// What the real mount does not say of it would be told then: it is this user's. None until that is asked.
    pub would_tell: Option<bool>,
}

/// What a directory gives to what is made in it hangs on these, as far as they are known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Given {
    pub mode: Option<u32>,
    pub gid: Option<u32>,
}

pub(super) struct Memory {
    pub names: Memo<Known>,
    pub objects: Objects,
    pub real: Memo<Seen>,
    /// Real directories in which names were given up.
    pub emptied: Memo<()>,
    pub opened: Memo<Opened>,
    /// How many invented objects directories have in them.
    pub filled: Memo<u64>,
    /// Real directories in which something is made, and whatever else may be one by what it was given.
    pub parents: Memo<Given>,
    /// The keys of directories that were listed, or are to be removed, by those of their names, where nodes are handles.
    pub dirs: Memo<u64>,
    /// The keys of such directories that were removed, where others may begin in them.
    pub gone: Memo<()>,
}

/// The attributes of invented objects. Their ids are counted, so the latest are a row: to find one costs no hash, and what was
/// made together lies together.
pub(super) struct Objects {
    /// The id of the first in the row.
    first: u64,
    row: VecDeque<Option<Attr>>,
    /// Those that were met again after they had been forgotten.
    others: Memo<Attr>,
}

impl Objects {
    fn new(max: usize) -> Objects {
        Objects { first: FIRST_ID, row: VecDeque::new(), others: Memo::new(max) }
    }

    /// Its place in the row; none before the first.
    fn at(&self, id: u64) -> Option<usize> {
        usize::try_from(id.checked_sub(self.first)?).ok()
    }

    pub fn get(&self, id: u64) -> Option<&Attr> {
        match self.at(id) {
            Some(at) => self.row.get(at)?.as_ref(),
            None => self.others.get(id),
        }
    }

    pub fn get_mut(&mut self, id: u64) -> Option<&mut Attr> {
        match self.at(id) {
            Some(at) => self.row.get_mut(at)?.as_mut(),
            None => self.others.get_mut(id),
        }
    }

    /// Remembers an object's attributes; of those in the row, the latest twice `max`.
    pub fn insert(&mut self, id: u64, attr: &Attr) {
        let Some(at) = self.at(id) else { return self.others.insert(id, *attr) };
        let over = (at + 1).saturating_sub(2 * self.others.max);
        for _ in 0..over.min(self.row.len()) {
            self.row.pop_front();
        }
        self.first += over as u64;
        let at = at - over;
        if at < self.row.len() {
            self.row[at] = Some(*attr);
            return;
        }
        // Most often it is the next one.
        while self.row.len() < at {
            self.row.push_back(None);
        }
        self.row.push_back(Some(*attr));
    }
}

impl Memory {
    /// Notes what is under a name from now on, and how many invented objects its directory then has.
    pub fn set_name(&mut self, dir: u64, name: u64, known: Known) {
        let was = matches!(self.names.get(name), Some(Known::Made(_)));
        let is = matches!(known, Known::Made(_));
        self.names.insert(name, known);
        if is != was {
            let filled = self.filled.renew(dir, || 0);
            *filled = if is { *filled + 1 } else { filled.saturating_sub(1) };
        }
    }

    /// Has this directory something in it that is not really there?
    pub fn is_filled(&self, dir: u64) -> bool {
        self.filled.get(dir).is_some_and(|&objects| objects > 0)
    }

    /// Notes which mode a real object was given, of those that may be directories that this opens.
    /// True if it does.
    pub fn set_mode(&mut self, key: u64, mode: u32) -> bool {
        match self.opened.get_mut(key) {
            Some(opened) => opened.mode = mode,
            None if mode & 0o700 != 0o700 => return false,
            None => self.opened.insert(key, Opened { mode, would_tell: None }),
        }
        true
    }

    /// Remembers at least `max` of each from now on.
    pub fn limit(&mut self, max: usize) {
        let Memory { names, objects, real, emptied, opened, filled, parents, dirs, gone } = self;
        (names.max, objects.others.max, real.max, gone.max, parents.max) = (max, max, max, max, max);
        (emptied.max, opened.max, filled.max, dirs.max) = (max, max, max, max);
    }
}

/// Whether READ brings attributes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tells {
    /// When it ends before the file does.
    pub before: bool,
    /// When it reaches the file's end.
    pub at_end: bool,
}

/// What all views of one volume share.
pub(super) struct World {
    /// What invented handles begin with: 128 random bits, so that no server's do.
    mark: [u8; 16],
    next: AtomicU64,
    pub verifier: Verifier,
    memory: Mutex<Memory>,
    root: OnceLock<Option<Attr>>,
    pub tells: OnceLock<Tells>,
    /// A listing named something without its kind: a job may try REMOVE to find out.
    pub untyped: AtomicBool,
    /// A directory may have been opened.
    pub opens: AtomicBool,
    /// A real file was to be read.
    pub is_read: AtomicBool,
    /// What is lent of any file where nothing is forecast.
    pub any_file: Arc<LentFile>,
}

const KINDS: [Kind; 7] = [Kind::File, Kind::Dir, Kind::Block, Kind::Char, Kind::Symlink, Kind::Socket, Kind::Fifo];

impl World {
    pub fn new(remembered_max: usize) -> World {
        let hasher = RandomState::new();
        let bits = u128::from(hasher.hash_one(1)) << 64 | u128::from(RandomState::new().hash_one(2));
        World {
            mark: bits.to_be_bytes(),
            next: AtomicU64::new(FIRST_ID),
            verifier: hasher.hash_one(3),
            memory: Mutex::new(Memory {
                names: Memo::new(remembered_max),
                objects: Objects::new(remembered_max),
                real: Memo::new(remembered_max),
                emptied: Memo::new(remembered_max),
                opened: Memo::new(remembered_max),
                filled: Memo::new(remembered_max),
                parents: Memo::new(remembered_max),
                dirs: Memo::new(remembered_max),
                gone: Memo::new(remembered_max),
            }),
            root: OnceLock::new(),
            tells: OnceLock::new(),
            untyped: AtomicBool::new(false),
            opens: AtomicBool::new(false),
            is_read: AtomicBool::new(false),
            any_file: Arc::new(LentFile { was: None, bare: true }),
        }
    }

    pub fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The invented object that this node is; none for a real one.
    pub fn made(&self, node: &Node) -> Option<Made> {
        let Node::Handle(handle) = node else { return None };
        let rest = handle.as_bytes().strip_prefix(&self.mark)?;
        let (id, kind) = (rest.get(..8)?.try_into().ok()?, *rest.get(8)?);
        Some(Made { id: u64::from_be_bytes(id), kind: *KINDS.get(usize::from(kind))? })
    }

    /// The node of an invented object.
    #[inline]
    pub fn node(&self, made: Made) -> Node {
        let mut bytes = [0; 25];
        bytes[..16].copy_from_slice(&self.mark);
        bytes[16..24].copy_from_slice(&made.id.to_be_bytes());
        bytes[24] = KINDS.iter().position(|kind| *kind == made.kind).unwrap_or(0) as u8;
        Node::Handle(Handle::new(&bytes).expect("25 bytes are a handle"))
    }

    pub fn new_made(&self, kind: Kind) -> Made {
        Made { id: self.next.fetch_add(1, Ordering::Relaxed), kind }
    }

    /// What may stand under a name that was forgotten: most objects are files.
    pub fn forgotten(&self, key: u64) -> Made {
        Made { id: FORGOTTEN_ID | key >> 2, kind: Kind::File }
    }

    /// The attributes of the volume's root, which are asked for once, but of whoever makes objects there.
    pub fn root(&self, mount: &dyn Mount) -> Option<Attr> {
        *self.root.get_or_init(|| {
            let mut calls = [Call::get_attr(&mount.root())];
            mount.perform(&mut calls);
            let root = calls[0].attr().ok()?;
            let (uid, gid) = mount.makes_as().unwrap_or((root.uid, root.gid));
            Some(Attr { uid, gid, ..root })
        })
    }

    /// Attributes of a new object: as `change` says, else as servers do, for the owner that `root` has.
    pub fn new_attr(root: Option<Attr>, made: Made, parent: Option<&Attr>, change: &AttrChange) -> Attr {
        World::new_attr_at(root, made, parent, change, recently())
    }

    /// The same, of one made at `now`.
    pub fn new_attr_at(root: Option<Attr>, made: Made, parent: Option<&Attr>, change: &AttrChange, now: Time) -> Attr {
        let (mode, nlink) = match made.kind {
            Kind::Dir => (0o755, 2),
            Kind::Symlink => (0o777, 1),
            _ => (0o644, 1),
        };
        let (uid, gid, fsid) = root.map_or((0, 0, 0), |root| (root.uid, root.gid, root.fsid));
        let mut attr = Attr {
            kind: made.kind,
            mode,
            nlink,
            uid,
            gid,
            size: 0,
            used: 0,
            rdev: (0, 0),
            fsid,
            fileid: made.id,
            atime: now,
            mtime: now,
            ctime: now,
        };
        // The group, and the bit itself for directories, go down the tree.
        let inherits = parent.is_some_and(|parent| parent.mode & 0o2000 != 0);
        if let Some(parent) = parent.filter(|_| inherits) {
            attr.gid = parent.gid;
        }
        apply_at(&mut attr, &AttrChange { mode: change.mode.filter(|_| made.kind != Kind::Symlink), ..*change }, now);
        if inherits && made.kind == Kind::Dir {
            attr.mode |= 0o2000;
        }
        attr
    }
}

/// The time, up to a tick of the kernel ago, at a fifth of the price: changes that nobody makes need no better.
pub(super) fn recently() -> Time {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
    Time { secs: now.tv_sec, nanos: u32::try_from(now.tv_nsec).unwrap_or(0) }
}

/// Does to `attr` what SETATTR does.
pub(super) fn apply(attr: &mut Attr, change: &AttrChange) {
    apply_at(attr, change, recently());
}

pub(super) fn apply_at(attr: &mut Attr, change: &AttrChange, now: Time) {
    if let Some(size) = change.size.filter(|_| attr.kind == Kind::File) {
        (attr.size, attr.used, attr.mtime) = (size, attr.used.min(size), now);
    }
    attr.mode = change.mode.map_or(attr.mode, |bits| bits & 0o7777);
    attr.uid = change.uid.unwrap_or(attr.uid);
    attr.gid = change.gid.unwrap_or(attr.gid);
    for (time, set) in [(&mut attr.atime, change.atime), (&mut attr.mtime, change.mtime)] {
        match set {
            SetTime::Keep => {}
            SetTime::Now => *time = now,
            SetTime::At(at) => *time = at,
        }
    }
    attr.ctime = now;
}

/// Does to `attr` what a WRITE up to `end` does.
pub(super) fn extend(attr: &mut Attr, end: u64, bytes: u64) {
    extend_at(attr, end, bytes, recently());
}

pub(super) fn extend_at(attr: &mut Attr, end: u64, bytes: u64, now: Time) {
    attr.size = attr.size.max(end);
    attr.used = attr.used.saturating_add(bytes).min(attr.size);
    (attr.mtime, attr.ctime) = (now, now);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_objects_are_remembered_and_no_more() {
        let mut objects = Objects::new(10);
        let attr = |id| World::new_attr(None, Made { id, kind: Kind::File }, None, &AttrChange::default());
        // Some ids are of objects of which nothing is remembered.
        let is_known = |id: u64| !(id - FIRST_ID).is_multiple_of(3);
        for id in (FIRST_ID..FIRST_ID + 1000).filter(|id| is_known(*id)) {
            objects.insert(id, &attr(id));
            assert!(objects.row.len() <= 20);
            assert!((id.max(FIRST_ID + 9) - 9..=id).all(|id| objects.get(id).is_some() == is_known(id)));
            assert_eq!(objects.get(id).map(|attr| attr.fileid), Some(id));
        }
        assert!(objects.get(FIRST_ID + 1).is_none() && objects.get(FIRST_ID + 5000).is_none());
        // One that was forgotten, one that never was counted, and one far ahead.
        for id in [FIRST_ID + 1, FORGOTTEN_ID | 7, FIRST_ID + 1_000_000] {
            objects.insert(id, &attr(id));
            objects.get_mut(id).unwrap().size = 5;
            assert_eq!(objects.get(id).map(|attr| (attr.fileid, attr.size)), Some((id, 5)));
            assert!(objects.row.len() <= 20);
        }
    }

    #[test]
    fn a_handle_tells_the_object_and_no_other_world_takes_it() {
        let (world, other) = (World::new(10), World::new(10));
        for kind in KINDS {
            let made = world.new_made(kind);
            assert_eq!(world.made(&world.node(made)), Some(made));
            assert_eq!(other.made(&world.node(made)), None);
        }
        assert_eq!(world.made(&Node::root_chain(0)), None);
        assert_eq!(world.made(&Node::Handle(Handle::new(&world.mark).unwrap())), None);
    }
}
