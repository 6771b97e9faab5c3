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
//!
//! It is the start of each run, so it takes few round trips: all peers are put to it at once, what is asked of the base is asked
//! once for all of them (`Witness`), the two sides of a comparison are asked at the same time, and how fast a mount answers is
//! taken from the first answers.
//! Left out: what a mount shows further below, and how mounts are found and opened.

use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::base::Unbroken;

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

/// A name that was made to be found.
#[derive(Clone)]
struct Made {
    name: String,
    seen: Seen,
    /// No signal ends the process before it is gone.
    _unbroken: Unbroken,
}

/// Root and directory as a mount shows them, and how fast it did.
#[derive(Clone, Copy)]
struct Looked {
    spots: [Seen; 2],
    time: Duration,
}

/// The mount that others are compared with, by several threads at once.
pub struct Witness {
    view: Box<dyn View>,
    looked: OnceLock<io::Result<Looked>>,
    lent: Mutex<Lent>,
}

/// What a witness shows to those that look for it.
#[derive(Default)]
struct Lent {
    /// The name that is there to be found, and by how many.
    made: Option<(Made, usize)>,
    /// Nobody is waited for any more.
    is_over: bool,
}

impl Witness {
    /// Nothing is asked yet.
    pub fn new(view: impl View + 'static) -> Witness {
        Witness { view: Box::new(view), looked: OnceLock::new(), lent: Mutex::default() }
    }

    /// What it shows; asked once.
    fn looked(&self) -> Result<Looked, Reason> {
        self.looked.get_or_init(|| looked(&*self.view)).as_ref().copied().map_err(|error| Reason::base(again(error)))
    }

    /// How fast it answers, where that is known.
    pub fn time(&self) -> Option<Duration> {
        Some(self.looked.get()?.as_ref().ok()?.time)
    }

    fn lent(&self) -> MutexGuard<'_, Lent> {
        self.lent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A name to be found, made unless one is there already. Each is to be given back.
    fn lend(&self) -> io::Result<Made> {
        // Held while it is made: who comes meanwhile waits for it.
        let mut lent = self.lent();
        if let Some((made, users)) = &mut lent.made {
            *users += 1;
            return Ok(made.clone());
        }
        let made = make(&*self.view)?;
        lent.made = Some((made.clone(), 1));
        Ok(made)
    }

    /// The last who gives it back removes it.
    fn give_back(&self, made: &Made) -> Result<(), Reason> {
        let mut lent = self.lent();
        let Some((_, users)) = lent.made.as_mut().filter(|(there, _)| there.name == made.name) else { return Ok(()) };
        *users -= 1;
        if *users > 0 {
            return Ok(());
        }
        lent.made = None;
        drop(lent);
        unmake(&*self.view, made)
    }

    /// Removes the name that a mount, which does not answer any more, has not given back. Who comes later makes none.
    pub fn end(&self) -> Result<(), Reason> {
        // Where it is held, making the name is not answered.
        let Ok(mut lent) = self.lent.try_lock() else { return Ok(()) };
        lent.is_over = true;
        let left = lent.made.take();
        drop(lent);
        left.map_or(Ok(()), |(made, _)| unmake(&*self.view, &made))
    }
}

/// The same error again.
pub fn again(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

/// Does both at once; one after the other where there is no thread to be had.
fn both<A, B: Send>(here: impl FnOnce() -> A, there: impl FnOnce() -> B + Send) -> (A, B) {
    let work = Mutex::new(Some(there));
    let take = || work.lock().unwrap_or_else(PoisonError::into_inner).take();
    std::thread::scope(|scope| {
        let started = std::thread::Builder::new().name("mounts".into()).spawn_scoped(scope, || take().map(|f| f()));
        let a = here();
        let b = match started {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(_) => take().map(|f| f()),
        };
        (a, b.expect("it is taken once, by the thread or without it"))
    })
}

/// Asks for root and directory at once. Of two answers the faster counts: one may have been held up.
fn looked(view: &dyn View) -> io::Result<Looked> {
    let look = |spot| {
        let start = Instant::now();
        view.look(spot).map(|seen| (seen, start.elapsed()))
    };
    let (root, dir) = both(|| look(Spot::Root), || look(Spot::Dir));
    let ((root, slow), (dir, fast)) = (root?, dir?);
    Ok(Looked { spots: [root, dir], time: slow.min(fast) })
}

/// Proves that `peer` shows what `base` does, or says why it cannot be used beside it. Tells how fast the peer answers.
pub fn prove(base: &Witness, peer: &dyn View, terms: Terms) -> Result<Duration, Reason> {
    let (ours, theirs) = both(|| base.looked(), || looked(peer));
    let (ours, theirs) = (ours?, theirs.map_err(Reason::NotThere)?);
    same_ids(&ours, &theirs)?;
    match terms {
        Terms { one_server: true, .. } if same_handles(&*base.view, peer) => {}
        Terms { writes: true, .. } => by_name(base, peer)?,
        _ => by_looks(&*base.view, peer)?,
    }
    Ok(fastest(theirs.time, ours.time, peer))
}

/// How fast a mount answers: one that seems slow beside the base is asked again, for this host may have held its answer up.
fn fastest(first: Duration, base: Duration, peer: &dyn View) -> Duration {
    if !is_slow(first, base) || first > ASKED_AGAIN_WITHIN {
        return first;
    }
    let again = (0..ASKED_AGAIN).filter_map(|_| Some(looked(peer).ok()?.time));
    again.fold(first, Duration::min)
}

/// Neither may show anything else than the other.
fn same_ids(ours: &Looked, theirs: &Looked) -> Result<(), Reason> {
    for (is_root, (ours, theirs)) in [true, false].into_iter().zip(ours.spots.iter().zip(&theirs.spots)) {
        // The type is in the mode's upper bits.
        if ours.fileid != theirs.fileid || ours.mode >> 12 != theirs.mode >> 12 {
            return Err(Reason::Other { is_root, fileid: theirs.fileid, expected: ours.fileid });
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
fn by_name(base: &Witness, peer: &dyn View) -> Result<(), Reason> {
    if base.lent().is_over {
        return Err(Reason::Silent);
    }
    let (ours, theirs) = both(|| base.lend(), || make(peer));
    let found = match (&ours, &theirs) {
        (Ok(ours), Ok(theirs)) => {
            let (here, there) = both(|| found(&*base.view, theirs), || found(peer, ours));
            here.and(there)
        }
        _ => Ok(()), // one is missing, as is told below
    };
    // Whatever was found, they go.
    let (left, theirs_left) = both(
        || ours.as_ref().map_or(Ok(()), |made| base.give_back(made)),
        || theirs.as_ref().map_or(Ok(()), |made| unmake(peer, made)),
    );
    left.and(theirs_left)?;
    let (theirs, ours) = (theirs.map_err(Reason::CannotMake)?, ours.map_err(Reason::base)?);
    found?;
    let owner = |made: &Made| (made.seen.uid, made.seen.gid);
    if owner(&theirs) != owner(&ours) {
        return Err(Reason::OtherOwner { makes: owner(&theirs), expected: owner(&ours) });
    }
    Ok(())
}

fn make(maker: &dyn View) -> io::Result<Made> {
    let (name, unbroken) = (name(), Unbroken::begin());
    let seen = maker.make(&name)?;
    Ok(Made { name, seen, _unbroken: unbroken })
}

fn found(finder: &dyn View, made: &Made) -> Result<(), Reason> {
    match finder.find(&made.name) {
        Ok(found) if found.fileid == made.seen.fileid => Ok(()),
        Ok(_) => Err(Reason::NotSeen),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(Reason::NotSeen),
        Err(error) => Err(Reason::NotThere(error)),
    }
}

fn unmake(maker: &dyn View, made: &Made) -> Result<(), Reason> {
    match maker.unmake(&made.name) {
        // Some servers cannot tell a request that they have carried out from one sent again.
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Reason::Left(made.name.clone(), error)),
        _ => Ok(()),
    }
}

/// Is a name that is made through `maker` found through `finder`? It is gone again then.
pub fn made_and_found(maker: &dyn View, finder: &dyn View) -> Result<(), Reason> {
    let made = make(maker).map_err(Reason::CannotMake)?;
    let found = found(finder, &made);
    unmake(maker, &made).and(found)
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

/// How often a mount that seems slow is asked again. Two mounts of one server on a busy host were seen to answer in 5.3 and 0.4 ms.
const ASKED_AGAIN: usize = 3;
/// One that takes longer is slow for certain.
const ASKED_AGAIN_WITHIN: Duration = Duration::from_millis(500);

/// True when a mount that answers in `answer` would hold up what the fastest, which takes `best`, could do alone.
pub fn is_slow(answer: Duration, best: Duration) -> bool {
    answer > best.saturating_mul(SLOW_FROM.0).saturating_add(SLOW_FROM.1)
}
