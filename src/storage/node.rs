//! What a call works on: a reference to an object, good on each mount of its volume.

use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::base::Name;

/// The most bytes a handle has (RFC 1813 2.4, NFS3_FHSIZE).
pub const HANDLE_MAX: usize = 64;

/// An opaque file handle: up to 64 bytes, kept inline. Equal bytes are the same object.
#[derive(Clone, Copy)]
pub struct Handle {
    len: u8,
    bytes: [u8; HANDLE_MAX],
}

impl Handle {
    /// The handle of these bytes; none when they are more than 64.
    #[inline]
    pub fn new(bytes: &[u8]) -> Option<Handle> {
        let mut handle = Handle { len: u8::try_from(bytes.len()).ok()?, bytes: [0; HANDLE_MAX] };
        handle.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(handle)
    }

    /// The handle's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl PartialEq for Handle {
    fn eq(&self, other: &Handle) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Handle {}

impl Hash for Handle {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

/// An object known by its way from the root: for mounts without handles (local directories, kernel mounts) and for
/// targets whose handles differ. `handles` has one slot for each target, filled when that target is first asked.
#[derive(Debug)]
pub struct Chain {
    /// Unique in this process; the key of descriptor caches.
    pub id: u64,
    /// The directory and the name in it; none at the root.
    pub parent: Option<(Node, Name)>,
    /// One slot for each target of the volume; empty for mounts without handles.
    pub handles: Box<[OnceLock<Handle>]>,
    /// A directory that was empty when this process made or met it: all that is in it was put there since. Set by mounts.
    pub fresh: AtomicBool,
    /// Whether the directory has a default ACL, once that was asked. Set by mounts.
    pub default_acl: OnceLock<bool>,
    /// The mount of the volume that made or found it last, counted from 1; 0: not known.
    home: AtomicU32,
    /// The mounts that have looked it up since, as bits.
    seen: AtomicU64,
    /// Its file id, where that is known; 0: not known.
    fileid: AtomicU64,
    /// The file id is what a mount has found under the name; the volume does not hold the object to it.
    met: AtomicBool,
    /// The file id of the directory that was listed under the name first; 0: none was.
    entered: AtomicU64,
    /// The file id of the directory that was opened under the name first, to do something in it; 0: none was.
    reached: AtomicU64,
    /// What it was found to have for a key; 0: it was not asked for.
    key: AtomicU64,
    /// What a kernel's client was first asked about it for, and what it first opened it to be written for; 0: nothing yet.
    asked: AtomicU8,
    opened: AtomicU8,
    /// How many READs have each brought all of it, which a kernel's client keeps.
    wholes: AtomicU8,
}

/// What brings a kernel's client to an object. What it asks its server then it remembers, so that the first one alone costs that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Errand {
    /// This process made it.
    Made = 1,
    /// A directory's name was looked up.
    Found,
    /// It is listed.
    Listed,
    /// The client is to forget what it has of its data.
    Advised,
    /// It is read.
    Read,
    /// It gets a size.
    Sized,
    /// It is written.
    Written,
    /// Another of its names was used before.
    Named,
}

/// A deep chain is taken apart link by link: the compiler's way would need stack for each directory of a path.
impl Drop for Chain {
    fn drop(&mut self) {
        let mut parent = self.parent.take();
        while let Some((Node::Chain(chain), _)) = parent {
            parent = Arc::into_inner(chain).and_then(|mut chain| chain.parent.take());
        }
    }
}

impl Chain {
    /// The file id that the object had when it was made or found, where that is known.
    pub fn fileid(&self) -> Option<u64> {
        self.met_as().filter(|_| !self.met.load(Ordering::Relaxed))
    }

    /// The same, or else the file id of what a mount met under the name: what is changed has to be that.
    pub fn met_as(&self) -> Option<u64> {
        Some(self.fileid.load(Ordering::Relaxed)).filter(|&fileid| fileid != 0)
    }

    /// Notes the file id of the object that was made or found.
    pub fn note(&self, fileid: u64) {
        self.fileid.store(fileid, Ordering::Relaxed);
        self.met.store(false, Ordering::Relaxed);
    }

    /// Is this directory, which has the name now, the one that was listed under it first? The first one is remembered.
    pub fn enter(&self, fileid: u64) -> bool {
        let first = self.entered.compare_exchange(0, fileid, Ordering::Relaxed, Ordering::Relaxed);
        first.is_ok() || first == Err(fileid)
    }

    /// Was no directory opened under the name so far?
    pub(crate) fn is_unreached(&self) -> bool {
        self.reached.load(Ordering::Relaxed) == 0
    }

    /// Notes the file id of the directory that was opened under the name, unless one was before.
    pub(crate) fn reach(&self, fileid: u64) {
        let _ = self.reached.compare_exchange(0, fileid, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// The file id of the directory that was listed, if it was.
    pub fn entered(&self) -> Option<u64> {
        Some(self.entered.load(Ordering::Relaxed)).filter(|&fileid| fileid != 0)
    }

    /// Is this what its client was first asked for whether the object may be used? Each time the same, so that a call can be counted before
    /// and after it.
    pub(crate) fn is_first_asked(&self, by: Errand) -> bool {
        is_first(&self.asked, by)
    }

    /// Is this what the file is first opened for to be written?
    pub(crate) fn is_first_opened(&self, by: Errand) -> bool {
        is_first(&self.opened, by)
    }

    /// Was the file opened to be written, by making it or later?
    pub(crate) fn was_opened(&self) -> bool {
        self.opened.load(Ordering::Relaxed) != 0
    }

    /// Notes that a READ has brought all of it.
    pub(crate) fn note_whole(&self) {
        let more = |wholes: u8| Some(wholes.saturating_add(1));
        let _ = self.wholes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }

    /// Notes that its client forgets what it has of it.
    pub(crate) fn forget_whole(&self) {
        self.wholes.store(0, Ordering::Relaxed);
    }

    /// Does its client have all of it before a READ, which may be `done` by now?
    pub(crate) fn was_whole(&self, done: bool) -> bool {
        self.wholes.load(Ordering::Relaxed) > u8::from(done)
    }

    /// Notes the file id of what was met under the name of this chain, which is new.
    pub fn note_met(&self, fileid: u64) {
        self.met.store(true, Ordering::Relaxed);
        self.fileid.store(fileid, Ordering::Relaxed);
    }
}

fn is_first(first: &AtomicU8, by: Errand) -> bool {
    let was = first.compare_exchange(0, by as u8, Ordering::Relaxed, Ordering::Relaxed);
    was.is_ok() || was == Err(by as u8)
}

/// A hash that nobody outside can foresee, the same for all volumes of this process.
fn hash(value: impl Hash) -> u64 {
    static HASHER: OnceLock<RandomState> = OnceLock::new();
    HASHER.get_or_init(RandomState::new).hash_one(value)
}

/// The bit of a mount; mounts beyond the 63rd share one and are asked once too often or too seldom, which file ids catch.
fn bit(seat: usize) -> u64 {
    1 << seat.min(63)
}

/// A reference to an object, good on each mount of its volume. Cheap to clone.
#[derive(Clone, Debug)]
pub enum Node {
    /// A handle that every mount of the volume understands.
    Handle(Handle),
    /// The way from the root.
    Chain(Arc<Chain>),
}

impl Node {
    /// The root of a volume of mounts without common handles, with slots for `targets` handles.
    pub fn root_chain(targets: usize) -> Node {
        Node::chain(None, targets)
    }

    /// The object `name` in `dir`, of the same sort as `dir`: a chain below a chain.
    /// A handle has no children that could be named without asking, so `dir` must be a chain.
    pub fn child(dir: &Arc<Chain>, name: Name) -> Node {
        Node::chain(Some((Node::Chain(dir.clone()), name)), dir.handles.len())
    }

    /// Is it known by handles, of a server?
    pub fn has_handles(&self) -> bool {
        match self {
            Node::Handle(_) => true,
            Node::Chain(chain) => !chain.handles.is_empty(),
        }
    }

    /// The directory that it is in, where it is known by its way.
    pub fn parent(&self) -> Option<&Node> {
        match self {
            Node::Chain(chain) => chain.parent.as_ref().map(|(dir, _)| dir),
            Node::Handle(_) => None,
        }
    }

    /// Stands for the object in this process. A chain's is that of its way from the root: two chains may be one directory.
    pub fn key(&self) -> u64 {
        let mut chain = match self {
            Node::Handle(handle) => return hash(handle),
            Node::Chain(chain) => chain,
        };
        let known = |chain: &Chain| Some(chain.key.load(Ordering::Relaxed)).filter(|&key| key != 0);
        // Most often what is above is known: no way is to be remembered.
        if known(chain).is_none()
            && let Some((Node::Chain(up), name)) = &chain.parent
            && let Some(above) = known(up)
        {
            let key = hash((above, name));
            chain.key.store(key, Ordering::Relaxed);
            return key;
        }
        // Down from the nearest directory above whose key is known, without going to the root for each of its entries.
        let mut way = Vec::new();
        let mut key = loop {
            match (chain.key.load(Ordering::Relaxed), &chain.parent) {
                (0, None) => break 0,
                (0, Some((Node::Handle(handle), name))) => {
                    way.push((chain, name));
                    break hash(handle);
                }
                (0, Some((Node::Chain(up), name))) => {
                    way.push((chain, name));
                    chain = up;
                }
                (known, _) => break known,
            }
        };
        for (chain, name) in way.into_iter().rev() {
            key = hash((key, name));
            chain.key.store(key, Ordering::Relaxed);
        }
        key
    }

    /// Gives a volume's root, before it is used, the key that it has by this way from the root of another one.
    pub fn stand_at<'n>(&self, way: impl IntoIterator<Item = &'n Name>) {
        if let Node::Chain(chain) = self {
            let key = way.into_iter().fold(0, |key, name| hash((key, name)));
            chain.key.store(key, Ordering::Relaxed);
        }
    }

    /// Stands for the object `name` in this directory: a chain's key, and what of handles is known before they are.
    pub fn key_of(&self, name: &Name) -> u64 {
        Node::key_below(self.key(), name)
    }

    /// The same, of a directory whose key is known.
    pub(crate) fn key_below(dir: u64, name: &Name) -> u64 {
        hash((dir, name))
    }

    /// The mount, by its place in the volume, that made or found the object last and so surely sees it.
    pub(super) fn home(&self) -> Option<usize> {
        match self {
            Node::Chain(chain) => (chain.home.load(Ordering::Relaxed) as usize).checked_sub(1),
            Node::Handle(_) => None,
        }
    }

    /// Notes the mount that made or found the object, and its file id if that is known.
    pub(super) fn settle(&self, seat: usize, fileid: Option<u64>) {
        if let (Node::Chain(chain), Ok(home)) = (self, u32::try_from(seat + 1)) {
            chain.home.store(home, Ordering::Relaxed);
            chain.seen.store(bit(seat), Ordering::Relaxed);
            fileid.into_iter().for_each(|fileid| chain.note(fileid));
        }
    }

    /// The file id that the object had when it was made or found, where that is known.
    pub fn fileid(&self) -> Option<u64> {
        match self {
            Node::Chain(chain) => chain.fileid(),
            _ => None,
        }
    }

    /// The file id of the directory that was listed under the name, or else of the one that was opened there first, or of what was made, found
    /// or met there. Who has put another one in its place before anything was done in it has that one filled.
    pub fn number(&self) -> Option<u64> {
        let reached = |chain: &Chain| Some(chain.reached.load(Ordering::Relaxed)).filter(|&fileid| fileid != 0);
        match self {
            Node::Chain(chain) => chain.entered().or_else(|| reached(chain)).or_else(|| chain.met_as()),
            Node::Handle(_) => None,
        }
    }

    /// The same object under the name that a RENAME has given it, at the mount that it is settled at; none of handles, which go by no name.
    pub(crate) fn renamed(&self, dir: &Node, name: &Name) -> Option<Node> {
        let (Node::Chain(chain), Node::Chain(dir), Some(home)) = (self, dir, self.home()) else { return None };
        let node = Node::child(dir, name.clone());
        node.settle(home, chain.fileid());
        Some(node)
    }

    /// True when this mount has not looked the object up since another one made or found it.
    pub(super) fn is_new_to(&self, seat: usize) -> bool {
        let Node::Chain(chain) = self else { return false };
        let elsewhere = self.home().is_some_and(|home| home != seat);
        elsewhere && chain.seen.load(Ordering::Relaxed) & bit(seat) == 0
    }

    /// Notes that this mount has looked it up.
    pub(super) fn is_known_to(&self, seat: usize) {
        if let Node::Chain(chain) = self {
            chain.seen.fetch_or(bit(seat), Ordering::Relaxed);
        }
    }

    fn chain(parent: Option<(Node, Name)>, targets: usize) -> Node {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let handles = (0..targets).map(|_| OnceLock::new()).collect();
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let (home, seen, fileid) = (AtomicU32::new(0), AtomicU64::new(0), AtomicU64::new(0));
        let (entered, reached, key) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        let (fresh, met) = (AtomicBool::new(false), AtomicBool::new(false));
        let default_acl = OnceLock::new();
        let (asked, opened, wholes) = (AtomicU8::new(0), AtomicU8::new(0), AtomicU8::new(0));
        Node::Chain(Arc::new(Chain {
            id,
            parent,
            handles,
            fresh,
            default_acl,
            home,
            seen,
            fileid,
            met,
            entered,
            reached,
            key,
            asked,
            opened,
            wholes,
        }))
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Node) -> bool {
        match (self, other) {
            (Node::Handle(a), Node::Handle(b)) => a == b,
            (Node::Chain(a), Node::Chain(b)) => a.id == b.id,
            _ => false,
        }
    }
}

impl Eq for Node {}

impl Hash for Node {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Node::Handle(handle) => handle.hash(state),
            Node::Chain(chain) => chain.id.hash(state),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_of_a_million_links_needs_no_stack_to_go() {
        let mut node = Node::root_chain(0);
        for _ in 0..1_000_000 {
            let Node::Chain(chain) = &node else { panic!("a chain") };
            node = Node::child(chain, Name::new(b"d").unwrap());
        }
        drop(node);
    }

    #[test]
    fn two_chains_of_one_way_are_one_directory() {
        let Node::Chain(root) = Node::root_chain(0) else { panic!("a chain") };
        let name = |bytes: &[u8]| Name::new(bytes).unwrap();
        let way = |names: [&[u8]; 2]| {
            names.iter().fold(Node::Chain(root.clone()), |dir, bytes| {
                let Node::Chain(dir) = &dir else { panic!("a chain") };
                Node::child(dir, name(bytes))
            })
        };
        let (one, other) = (way([b"a", b"b"]), way([b"b", b"a"]));
        assert_eq!(one.key(), way([b"a", b"b"]).key());
        assert_ne!(one.key(), other.key());
        // The same when it is known, and when those above are.
        let dir = one.parent().unwrap();
        assert_eq!((one.key(), dir.key_of(&name(b"b"))), (way([b"a", b"b"]).key(), one.key()));
        assert_ne!(dir.key(), Node::Chain(root.clone()).key());
    }
}
