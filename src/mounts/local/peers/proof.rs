//! Do two mounts show one file system? What is asked of them, and what the answers prove.
//!
//! It promises to take two file systems for one only where
//! - one server (the same address and port) gives the same handles for the root and the directory, which says that they are
//!   the same objects (RFC 1813 2.4); or
//! - a name that nobody can guess was made through the one and found, with its file id, through the other; or
//! - the job only reads, and all that can be compared without writing is equal: ids, owners and times of root and directory to
//!   the nanosecond, the first names, what the server allows, and the file system's counts of free blocks and files, which
//!   two copies of one disk do not share for long.
//!
//! Equal handles of two servers alone prove nothing: copies of one disk give out the same.
//! Left out: what a mount shows further below, and how mounts are found and opened.

use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind};
use std::time::Duration;

use super::reason::Reason;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// The deepest directory that the roots of both mounts have in common.
    Root,
    /// The job's directory.
    Dir,
}

/// What an object is, as a mount says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // stat's fields; times in seconds and nanoseconds
pub struct Seen {
    pub fileid: u64,
    pub mode: u32,
    pub nlink: u64,
    pub uid: u32,
    pub gid: u32,
    pub size: u64,
    pub mtime: (i64, u32),
    pub ctime: (i64, u32),
}

/// A mount, as a proof looks at it.
pub trait View: Send + Sync {
    /// What is there now, asked of the server.
    fn look(&self, spot: Spot) -> io::Result<Seen>;
    /// The server's handle of it, where the kernel tells it.
    fn handle(&self, spot: Spot) -> Option<Vec<u8>>;
    /// What the server allows there, as bits.
    fn access(&self, spot: Spot) -> u8;
    /// Total and free blocks and files.
    fn space(&self) -> io::Result<[u64; 4]>;
    /// The first names of the job's directory, with their file ids.
    fn first_names(&self) -> io::Result<Vec<(Vec<u8>, u64)>>;
    /// Makes `name` in the job's directory.
    fn make(&self, name: &str) -> io::Result<Seen>;
    /// Finds `name` there.
    fn find(&self, name: &str) -> io::Result<Seen>;
    /// Removes `name` there.
    fn unmake(&self, name: &str) -> io::Result<()>;
}

/// What is known before anything is asked.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// The job makes names in the directory, so the proof may.
    pub writes: bool,
    /// Both are mounts of one address and port, with one flavour of security.
    pub one_server: bool,
}

/// How often a comparison is begun again because what is compared was changing.
const TRIES: usize = 4;

/// How names that prove something begin. One that is left, because this process was killed, is a symbolic link that says so.
pub const NAME: &str = ".parfs-proof-";

/// A name that nobody can guess: 128 bits out of keys that the system seeds.
pub fn name() -> String {
    let mut name = NAME.to_string();
    for _ in 0..2 {
        write!(name, "{:016x}", RandomState::new().hash_one(std::process::id())).expect("a string takes all");
    }
    name
}

/// Proves that `peer` shows what `base` does, or says why it cannot be used beside it.
pub fn prove(base: &dyn View, peer: &dyn View, terms: Terms) -> Result<(), Reason> {
    same_ids(base, peer)?;
    match terms {
        Terms { one_server: true, .. } if same_handles(base, peer) => Ok(()),
        Terms { writes: true, .. } => by_name(base, peer),
        _ => by_looks(base, peer),
    }
}

/// Neither may show anything else than the other.
fn same_ids(base: &dyn View, peer: &dyn View) -> Result<(), Reason> {
    for spot in [Spot::Root, Spot::Dir] {
        let ours = base.look(spot).map_err(Reason::base)?;
        let theirs = peer.look(spot).map_err(Reason::NotThere)?;
        // The type is in the mode's upper bits.
        if ours.fileid != theirs.fileid || ours.mode >> 12 != theirs.mode >> 12 {
            return Err(Reason::Other { is_root: spot == Spot::Root, fileid: theirs.fileid, expected: ours.fileid });
        }
    }
    Ok(())
}

/// True when the handles of root and directory are known and equal.
fn same_handles(base: &dyn View, peer: &dyn View) -> bool {
    [Spot::Root, Spot::Dir]
        .into_iter()
        .all(|spot| base.handle(spot).is_some_and(|handle| Some(handle) == peer.handle(spot)))
}

/// A name is made through each and looked for through the other, for owners may be squashed through one of them alone.
fn by_name(base: &dyn View, peer: &dyn View) -> Result<(), Reason> {
    let theirs = made_and_found(peer, base)?;
    let ours = made_and_found(base, peer).map_err(|reason| match reason {
        Reason::CannotMake(error) => Reason::base(error),
        reason => reason,
    })?;
    let owner = |seen: Seen| (seen.uid, seen.gid);
    if owner(theirs) != owner(ours) {
        return Err(Reason::OtherOwner { makes: owner(theirs), expected: owner(ours) });
    }
    Ok(())
}

/// What a name is that is made through `maker`, found through `finder`, and gone again.
pub fn made_and_found(maker: &dyn View, finder: &dyn View) -> Result<Seen, Reason> {
    let name = name();
    let made = maker.make(&name).map_err(Reason::CannotMake)?;
    let found = finder.find(&name);
    let removed = match maker.unmake(&name) {
        // Some servers cannot tell a request that they have carried out from one sent again.
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Reason::Left(name, error)),
        _ => Ok(()),
    };
    let found = match found {
        Ok(found) if found.fileid == made.fileid => Ok(made),
        Ok(_) => Err(Reason::NotSeen),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(Reason::NotSeen),
        Err(error) => Err(Reason::NotThere(error)),
    };
    removed.and(found)
}

/// Everything that can be compared without writing.
fn by_looks(base: &dyn View, peer: &dyn View) -> Result<(), Reason> {
    for spot in [Spot::Root, Spot::Dir] {
        equal("times or owners", || base.look(spot), || peer.look(spot), PartialEq::eq)?;
        if base.access(spot) != peer.access(spot) {
            return Err(Reason::OtherAccess);
        }
    }
    equal("first names", || base.first_names(), || peer.first_names(), PartialEq::eq)?;
    equal("free blocks or files", || base.space(), || peer.space(), PartialEq::eq)
}

/// Compares what may be changing: the first is asked before and after the second, and again while it changes.
pub fn equal<T>(
    what: &'static str,
    ours: impl Fn() -> io::Result<T>,
    theirs: impl Fn() -> io::Result<T>,
    is: impl Fn(&T, &T) -> bool,
) -> Result<(), Reason> {
    for _ in 0..TRIES {
        let before = ours().map_err(Reason::base)?;
        if is(&before, &theirs().map_err(Reason::NotThere)?) {
            return Ok(());
        }
        if is(&before, &ours().map_err(Reason::base)?) {
            return Err(Reason::NotProven(what));
        }
    }
    Err(Reason::Changing(what))
}

/// From how many times the fastest's time to answer a mount is too slow to be of use, and this much more.
const SLOW_FROM: (u32, Duration) = (4, Duration::from_millis(2));

/// True when a mount that answers in `answer` would hold up what the fastest, which takes `best`, could do alone.
pub fn is_slow(answer: Duration, best: Duration) -> bool {
    answer > best.saturating_mul(SLOW_FROM.0).saturating_add(SLOW_FROM.1)
}
