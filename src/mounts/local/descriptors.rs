//! The open descriptors of a local mount: bounded in number, the least recently used closed first, none while in use.
//!
//! Closing a descriptor that was written through may report an error (a kernel NFS mount sends its data then). When
//! the cache closes one by itself, that error is kept until the file's next COMMIT or SETATTR asks for it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::base::{Name, Status};
use crate::storage::{Chain, Node};

use super::list::Listing;

/// What a descriptor is open for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Use {
    Dir,
    Read,
    Write,
    List,
}

/// An open descriptor.
pub(super) enum Held {
    /// A directory, by `O_PATH`: what names are looked up in.
    Dir(OwnedFd),
    /// A regular file to read, and its size when it was opened.
    Read(OwnedFd, u64),
    /// A regular file to write. The flag says that it might not open again, being write-protected by its own mode.
    Write(OwnedFd, bool),
    /// A directory that is being listed.
    List(OwnedFd, Mutex<Listing>),
}

impl Held {
    /// The descriptor, whatever it is open for.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Held::Dir(fd) | Held::Read(fd, _) | Held::Write(fd, _) | Held::List(fd, _) => fd.as_fd(),
        }
    }
}

type Key = (u64, Use);
type Place = (u64, Name);

struct Slot {
    held: Arc<Held>,
    tick: u64,
    /// The directory's node and the name in it, to find files that are about to be removed; none at the root.
    place: Option<Place>,
}

#[derive(Default)]
struct Inner {
    slots: HashMap<Key, Slot>,
    order: BTreeMap<u64, Key>,
    places: HashMap<Place, HashSet<Key>>,
    tick: u64,
    /// What closing said, by node. One entry for each file whose data was lost unseen, until it is asked for.
    errors: HashMap<u64, Status>,
}

/// The cache.
pub(super) struct Descriptors {
    inner: Mutex<Inner>,
    max: usize,
}

/// Closes a descriptor; what the kernel says of data that could not be stored is the caller's.
pub(super) fn close(fd: OwnedFd) -> Result<(), Status> {
    // After EINTR the descriptor is closed all the same on Linux.
    match nix::unistd::close(fd) {
        Ok(()) | Err(nix::errno::Errno::EINTR) => Ok(()),
        Err(errno) => Err(Status::from_errno(errno as i32)),
    }
}

impl Inner {
    fn take(&mut self, key: Key) -> Option<Arc<Held>> {
        let slot = self.slots.remove(&key)?;
        self.order.remove(&slot.tick);
        if let Some(place) = slot.place
            && let Some(keys) = self.places.get_mut(&place)
        {
            keys.remove(&key);
            if keys.is_empty() {
                self.places.remove(&place);
            }
        }
        Some(slot.held)
    }

    /// Takes out the least recently used descriptors that nobody uses, until at most `max` remain.
    fn evict(&mut self, max: usize) -> Vec<(u64, Arc<Held>)> {
        let over = self.slots.len().saturating_sub(max);
        if over == 0 {
            return Vec::new();
        }
        let idle = |key: &&Key| self.slots.get(key).is_some_and(|slot| Arc::strong_count(&slot.held) == 1);
        let keys: Vec<Key> = self.order.values().filter(idle).take(over).copied().collect();
        keys.into_iter().filter_map(|key| Some((key.0, self.take(key)?))).collect()
    }
}

impl Descriptors {
    /// A cache of at most `max` descriptors (more only while more are in use at once).
    pub(super) fn new(max: usize) -> Descriptors {
        Descriptors { inner: Mutex::default(), max }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The node's descriptor for this use, if it is open.
    pub(super) fn get(&self, id: u64, used: Use) -> Option<Arc<Held>> {
        let mut inner = self.inner();
        let Inner { slots, order, tick, .. } = &mut *inner;
        let slot = slots.get_mut(&(id, used))?;
        order.remove(&slot.tick);
        *tick += 1;
        slot.tick = *tick;
        order.insert(*tick, (id, used));
        Some(slot.held.clone())
    }

    /// Keeps a descriptor just opened. If another thread was faster, its descriptor is returned and this one closed.
    pub(super) fn keep(&self, chain: &Chain, used: Use, held: Held) -> Arc<Held> {
        let key = (chain.id, used);
        let mut inner = self.inner();
        if let Some(slot) = inner.slots.get(&key) {
            return slot.held.clone();
        }
        let held = Arc::new(held);
        inner.tick += 1;
        let tick = inner.tick;
        let place = match &chain.parent {
            Some((Node::Chain(dir), name)) => Some((dir.id, name.clone())),
            _ => None,
        };
        if let Some(place) = &place {
            inner.places.entry(place.clone()).or_default().insert(key);
        }
        inner.slots.insert(key, Slot { held: held.clone(), tick, place });
        inner.order.insert(tick, key);
        let evicted = inner.evict(self.max);
        drop(inner);
        self.close_all(evicted);
        held
    }

    /// Takes a descriptor out. When others still use it, the last of them closes it.
    pub(super) fn take(&self, id: u64, used: Use) -> Option<Arc<Held>> {
        self.inner().take((id, used))
    }

    /// Takes out a descriptor that only the caller, who holds `held`, uses beside the cache.
    pub(super) fn take_alone(&self, id: u64, used: Use, held: Arc<Held>) -> Result<Held, Arc<Held>> {
        {
            let mut inner = self.inner();
            let same = inner.slots.get(&(id, used)).is_some_and(|slot| Arc::ptr_eq(&slot.held, &held));
            if !same || Arc::strong_count(&held) > 2 {
                return Err(held);
            }
            inner.take((id, used));
        }
        Arc::try_unwrap(held)
    }

    /// Lets go of what is open under a name that is about to be removed or to stand for something else: a kernel NFS
    /// mount would otherwise keep the removed file under another name (`.nfs...`), and its directory could not go.
    pub(super) fn forget(&self, dir: u64, name: &Name) {
        let mut inner = self.inner();
        let Some(keys) = inner.places.get(&(dir, name.clone())).cloned() else { return };
        let held: Vec<(u64, Arc<Held>)> = keys.into_iter().filter_map(|key| Some((key.0, inner.take(key)?))).collect();
        drop(inner);
        self.close_all(held);
    }

    /// Closes half of what is idle, when the process has run out of descriptors. False when nothing was idle.
    pub(super) fn shrink(&self) -> bool {
        let evicted = {
            let mut inner = self.inner();
            let half = inner.slots.len() / 2;
            inner.evict(half)
        };
        let any = !evicted.is_empty();
        self.close_all(evicted);
        any
    }

    /// What closing said of the node, once.
    pub(super) fn take_error(&self, id: u64) -> Result<(), Status> {
        self.inner().errors.remove(&id).map_or(Ok(()), Err)
    }

    fn close_all(&self, held: Vec<(u64, Arc<Held>)>) {
        for (id, held) in held {
            if let Some(Held::Write(fd, _)) = Arc::into_inner(held)
                && let Err(status) = close(fd)
            {
                self.close_failed(id, status);
            }
        }
    }

    /// Keeps what closing said; the first error is the cause of the others.
    pub(super) fn close_failed(&self, id: u64, status: Status) {
        self.inner().errors.entry(id).or_insert(status);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.inner().slots.len()
    }
}
