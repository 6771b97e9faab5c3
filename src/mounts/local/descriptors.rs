//! The open descriptors of a local mount: bounded in number, the least recently used closed first, none while in use.
//!
//! Closing a descriptor that was written through may report an error (a kernel NFS mount sends its data then). When
//! the cache closes one by itself, that error is kept until the file's next COMMIT or SETATTR asks for it.
//!
//! The cache is in parts with a lock each, chosen by an object's place, so that lanes seldom meet; a removal takes none
//! unless something may be open under the name.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher as _};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU16, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crate::base::hash::Mix;
use crate::base::{Name, Status};
use crate::storage::{Chain, Node};

use super::list::Listing;

/// Parts of a cache that is large enough to be parted.
const PARTS: usize = 16;
/// The fewest descriptors a part is worth having for.
const PART_MIN: usize = 16;
/// Counters of what is open by place: some for each descriptor, so that few names share one.
const COUNTERS: usize = 16 << 10;

/// Between two tries for a descriptor that others hold; lanes hold theirs for a few round trips.
const ROOM_PAUSE: Duration = Duration::from_millis(5);
const ROOM_TRIES_MAX: u32 = 400;

/// What a descriptor is open for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Use {
    Dir,
    Read,
    Write,
    List,
}

impl Use {
    fn is_file(self) -> bool {
        matches!(self, Use::Read | Use::Write)
    }
}

/// What became of what was written through a descriptor.
#[derive(Default)]
pub(super) struct Sent {
    /// Set by the first write, or a flush before it, which is alone.
    pub first: OnceLock<()>,
    /// The first error of storing it. The kernel tells each error once; all who share the descriptor are to hear of it.
    pub failed: Mutex<Option<Status>>,
}

/// Stretches of a file that are remembered as read, in 16 KB; one of which there are more stays open until there is no room.
const STRETCHES_MAX: usize = 1024;

/// What was read through a descriptor, in any order, or is a hole that nobody has to read.
#[derive(Default)]
pub(super) struct Ranges(Mutex<Covered>);

#[derive(Default)]
struct Covered {
    /// From and to, in order, none touching another.
    stretches: Vec<(u64, u64)>,
    /// The file's end was met.
    ended: bool,
}

impl Ranges {
    /// One more, up to the file's end or not. True when that end was met, and nothing is left of what there was when it was opened.
    pub(super) fn are_all(&self, size: u64, (from, to): (u64, u64), ended: bool) -> bool {
        let mut covered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        covered.ended |= ended;
        covered.add(from, to);
        covered.ended && (size == 0 || covered.stretches.first().is_some_and(|first| first.0 == 0 && first.1 >= size))
    }
}

impl Covered {
    fn add(&mut self, from: u64, to: u64) {
        let touching =
            self.stretches.partition_point(|is| is.1 < from)..self.stretches.partition_point(|is| is.0 <= to);
        let merged = self.stretches.get(touching.clone()).unwrap_or_default();
        let is_new = merged.is_empty();
        if from >= to || is_new && self.stretches.len() >= STRETCHES_MAX {
            return;
        }
        let from = merged.first().map_or(from, |first| first.0.min(from));
        let to = merged.last().map_or(to, |last| last.1.max(to));
        self.stretches.splice(touching, [(from, to)]);
    }
}

/// An open descriptor.
pub(super) enum Held {
    /// An object by `O_PATH`: mostly a directory, which names are looked up in.
    Dir(OwnedFd),
    /// A regular file to read, its size when it was opened, and what was read of it.
    Read(OwnedFd, u64, Ranges),
    /// A regular file to write. The flag says that it might not open again, being write-protected by its own mode.
    Write(OwnedFd, bool, Sent),
    /// A directory that is being listed, or was.
    List(OwnedFd, Mutex<Listing>),
}

impl Held {
    /// The descriptor, whatever it is open for.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Held::Dir(fd) | Held::Read(fd, ..) | Held::Write(fd, ..) | Held::List(fd, _) => fd.as_fd(),
        }
    }
}

type Key = (u64, Use);

/// A name in a directory, as a number. Two names that share one are let go of together, which only costs an opening.
fn place(dir: u64, name: &Name) -> u64 {
    let mut mix = Mix::default();
    mix.write_u64(dir);
    mix.write(name.as_bytes());
    mix.write_u64(name.as_bytes().len() as u64);
    mix.finish()
}

fn place_of(chain: &Chain) -> u64 {
    match &chain.parent {
        Some((Node::Chain(dir), name)) => place(dir.id, name),
        _ => 0,
    }
}

struct Slot {
    held: Arc<Held>,
    /// When it was last used, on the part's clock.
    tick: u64,
    place: u64,
}

#[derive(Default)]
struct Part {
    slots: HashMap<Key, Slot, BuildHasherDefault<Mix>>,
    tick: u64,
}

/// How often a mount of this process has found no descriptor left, and none of its own idle: each cache then gives half of its idle ones.
static WANTED: AtomicU64 = AtomicU64::new(0);

/// The cache.
pub(super) struct Descriptors {
    /// The `WANTED` that this cache has answered.
    given: AtomicU64,
    parts: Box<[Mutex<Part>]>,
    /// Of each part.
    max: usize,
    /// How many descriptors are open by place.
    open: Box<[AtomicU16]>,
    /// How many of them are files.
    files: AtomicUsize,
    /// What closing said, by node. One entry for each file whose data was lost unseen, until it is asked for.
    errors: Mutex<HashMap<u64, Status>>,
    errors_len: AtomicUsize,
}

/// Closes a descriptor; what the kernel says of data that could not be stored is the caller's.
pub(super) fn close(fd: OwnedFd) -> Result<(), Status> {
    // After EINTR the descriptor is closed all the same on Linux.
    match nix::unistd::close(fd) {
        Ok(()) | Err(nix::errno::Errno::EINTR) => Ok(()),
        Err(errno) => Err(Status::from_errno(errno as i32)),
    }
}

impl Descriptors {
    /// A cache of at most `max` descriptors (more only while more are in use at once).
    pub(super) fn new(max: usize) -> Descriptors {
        let parts = if max >= PARTS * PART_MIN { PARTS } else { 1 };
        Descriptors {
            given: AtomicU64::new(WANTED.load(Ordering::Relaxed)),
            parts: (0..parts).map(|_| Mutex::default()).collect(),
            max: max / parts,
            open: (0..COUNTERS).map(|_| AtomicU16::new(0)).collect(),
            files: AtomicUsize::new(0),
            errors: Mutex::default(),
            errors_len: AtomicUsize::new(0),
        }
    }

    fn part(&self, place: u64) -> MutexGuard<'_, Part> {
        let part = &self.parts[(place >> 16) as usize % self.parts.len()];
        part.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn counter(&self, place: u64) -> &AtomicU16 {
        &self.open[place as usize % COUNTERS]
    }

    fn take_from(&self, part: &mut Part, key: Key) -> Option<Arc<Held>> {
        let slot = part.slots.remove(&key)?;
        self.counter(slot.place).fetch_sub(1, Ordering::Release);
        if key.1.is_file() {
            self.files.fetch_sub(1, Ordering::Release);
        }
        Some(slot.held)
    }

    /// Takes out the least recently used descriptors that nobody uses, until at most `max` remain.
    fn evict(&self, part: &mut Part, max: usize) -> Vec<(u64, Arc<Held>)> {
        let over = part.slots.len().saturating_sub(max);
        let idle = part.slots.iter().filter(|(_, slot)| Arc::strong_count(&slot.held) == 1);
        let mut idle: Vec<(u64, Key)> = idle.map(|(key, slot)| (slot.tick, *key)).collect();
        idle.sort_unstable();
        idle.truncate(over);
        idle.into_iter().filter_map(|(_, key)| Some((key.0, self.take_from(part, key)?))).collect()
    }

    /// The node's descriptor for this use, if it is open.
    pub(super) fn get(&self, chain: &Chain, used: Use) -> Option<Arc<Held>> {
        self.get_any(chain, &[used])
    }

    /// The node's descriptor for the first of these uses that it is open for.
    pub(super) fn get_any(&self, chain: &Chain, uses: &[Use]) -> Option<Arc<Held>> {
        let place = place_of(chain);
        if self.counter(place).load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut part = self.part(place);
        let Part { slots, tick } = &mut *part;
        for used in uses {
            if let Some(slot) = slots.get_mut(&(chain.id, *used)) {
                *tick += 1;
                slot.tick = *tick;
                return Some(slot.held.clone());
            }
        }
        None
    }

    /// Keeps a descriptor just opened. If another thread was faster, its descriptor is returned and this one closed.
    pub(super) fn keep(&self, chain: &Chain, used: Use, held: Held) -> Arc<Held> {
        let wanted = WANTED.load(Ordering::Relaxed);
        if self.given.swap(wanted, Ordering::Relaxed) != wanted {
            self.shrink();
        }
        let (key, place) = ((chain.id, used), place_of(chain));
        let held = Arc::new(held);
        let mut part = self.part(place);
        if let Some(slot) = part.slots.get(&key) {
            return slot.held.clone();
        }
        part.tick += 1;
        let tick = part.tick;
        part.slots.insert(key, Slot { held: held.clone(), tick, place });
        self.counter(place).fetch_add(1, Ordering::Release);
        if used.is_file() {
            self.files.fetch_add(1, Ordering::Release);
        }
        if part.slots.len() > self.max {
            // Several at once: each search goes through the part.
            let evicted = self.evict(&mut part, self.max - self.max / 8);
            drop(part);
            self.close_all(evicted);
        }
        held
    }

    /// Takes a descriptor out. When others still use it, the last of them closes it.
    pub(super) fn take(&self, chain: &Chain, used: Use) -> Option<Arc<Held>> {
        let mut part = self.part(place_of(chain));
        self.take_from(&mut part, (chain.id, used))
    }

    /// Takes out a descriptor that only the caller, who holds `held`, uses beside the cache.
    pub(super) fn take_alone(&self, chain: &Chain, used: Use, held: Arc<Held>) -> Result<Held, Arc<Held>> {
        {
            let (key, mut part) = ((chain.id, used), self.part(place_of(chain)));
            let same = part.slots.get(&key).is_some_and(|slot| Arc::ptr_eq(&slot.held, &held));
            if !same || Arc::strong_count(&held) > 2 {
                return Err(held);
            }
            self.take_from(&mut part, key);
        }
        Arc::try_unwrap(held)
    }

    /// Lets go of what is open under a name that is about to be removed or to stand for something else: a kernel NFS
    /// mount would otherwise keep the removed file under another name (`.nfs...`), and its directory could not go.
    pub(super) fn forget(&self, dir: u64, name: &Name) {
        let place = place(dir, name);
        if self.counter(place).load(Ordering::Acquire) == 0 {
            return;
        }
        let mut part = self.part(place);
        let keys: Vec<Key> = part.slots.iter().filter(|(_, slot)| slot.place == place).map(|(key, _)| *key).collect();
        let held = keys.into_iter().filter_map(|key| Some((key.0, self.take_from(&mut part, key)?))).collect();
        drop(part);
        self.close_all(held);
    }

    /// Is a directory, open under a name, still there, by that name or another?
    pub(super) fn lives(&self, dir: u64, name: &Name) -> bool {
        let place = place(dir, name);
        let part = self.part(place);
        let mut open = part.slots.values().filter(|slot| slot.place == place).map(|slot| slot.held.clone());
        open.any(|held| {
            // overlayfs says 1 link of merged directories that are gone.
            let Ok(is) = rustix::fs::fstat(held.fd()) else { return false };
            let way = std::fs::read_link(format!("/proc/self/fd/{}", held.fd().as_raw_fd())).unwrap_or_default();
            let is_gone = way.as_os_str().as_bytes().ends_with(b" (deleted)")
                // It may be its name.
                && !rustix::fs::lstat(&way).is_ok_and(|there| (there.st_dev, there.st_ino) == (is.st_dev, is.st_ino));
            is.st_nlink > 0 && !is_gone
        })
    }

    /// Is something open under a name? Seldom said of one that shares its counter with another.
    pub(super) fn holds(&self, dir: u64, name: &Name) -> bool {
        self.counter(place(dir, name)).load(Ordering::Acquire) > 0
    }

    /// True when files are open.
    pub(super) fn has_files(&self) -> bool {
        self.files.load(Ordering::Acquire) > 0
    }

    /// Closes half of what is idle, when the process has run out of descriptors. False when nothing was idle.
    pub(super) fn shrink(&self) -> bool {
        let mut any = false;
        for part in &self.parts {
            let mut part = part.lock().unwrap_or_else(PoisonError::into_inner);
            let half = part.slots.len() / 2;
            let evicted = self.evict(&mut part, half);
            drop(part);
            any |= !evicted.is_empty();
            self.close_all(evicted);
        }
        any
    }

    /// Makes room for one more descriptor, and waits a little where only other mounts have idle ones. False when it was of no use
    /// for `tries` times.
    pub(super) fn make_room(&self, tries: &mut u32) -> bool {
        if self.shrink() {
            return true;
        }
        *tries += 1;
        WANTED.fetch_add(1, Ordering::Relaxed);
        std::thread::sleep(ROOM_PAUSE);
        *tries <= ROOM_TRIES_MAX
    }

    /// What closing said of the node, once.
    pub(super) fn take_error(&self, id: u64) -> Result<(), Status> {
        if self.errors_len.load(Ordering::Acquire) == 0 {
            return Ok(());
        }
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let error = errors.remove(&id);
        self.errors_len.store(errors.len(), Ordering::Release);
        error.map_or(Ok(()), Err)
    }

    fn close_all(&self, held: Vec<(u64, Arc<Held>)>) {
        for (id, held) in held {
            if let Some(Held::Write(fd, ..)) = Arc::into_inner(held)
                && let Err(status) = close(fd)
            {
                self.close_failed(id, status);
            }
        }
    }

    /// Keeps what closing said; the first error is the cause of the others.
    pub(super) fn close_failed(&self, id: u64, status: Status) {
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        errors.entry(id).or_insert(status);
        self.errors_len.store(errors.len(), Ordering::Release);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.parts.iter().map(|part| part.lock().unwrap().slots.len()).sum()
    }
}
