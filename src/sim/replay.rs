//! The duplicate request cache of one target: a procedure that is not idempotent is carried out once, however often
//! its request arrives, and each arrival gets the same reply.

use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, VecDeque};
use std::hash::{Hash, Hasher};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::base::{Bell, Proc};

/// How many bytes of the arguments tell requests apart, as in the Linux server's cache.
const HASHED_BYTES_MAX: usize = 256;

/// How long a second arrival waits for whoever carries the request out before it looks again.
const WAIT: Duration = Duration::from_millis(100);

/// What a retransmission has in common with its original: the client's address and port, the xid, and the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    peer: SocketAddr,
    xid: u32,
    proc: Proc,
    args: u64,
}

impl Key {
    pub(super) fn new(peer: SocketAddr, xid: u32, proc: Proc, args: &[u8]) -> Key {
        let mut hasher = DefaultHasher::new();
        args.len().hash(&mut hasher);
        args[..args.len().min(HASHED_BYTES_MAX)].hash(&mut hasher);
        Key { peer, xid, proc, args: hasher.finish() }
    }
}

/// True for the procedures that are not idempotent.
pub(super) fn is_kept(proc: Proc) -> bool {
    matches!(
        proc,
        Proc::SetAttr
            | Proc::Write
            | Proc::Create
            | Proc::MkDir
            | Proc::Symlink
            | Proc::MkNod
            | Proc::Remove
            | Proc::RmDir
            | Proc::Rename
            | Proc::Link
    )
}

/// What is to be done with a request.
#[derive(Debug)]
pub(super) enum Begun {
    /// Carry it out, then [`Replay::finish`].
    New,
    /// Another connection carries it out at this moment: [`Replay::wait`].
    Busy,
    /// Answer with these bytes again.
    Again(Arc<[u8]>),
}

#[derive(Debug, Default)]
struct Entries {
    /// None while the request is being carried out.
    replies: HashMap<Key, Option<Arc<[u8]>>>,
    order: VecDeque<Key>,
}

/// The cache: the last `replay_max` requests.
#[derive(Debug)]
pub(super) struct Replay {
    replay_max: usize,
    entries: Mutex<Entries>,
    finished: Bell,
}

impl Replay {
    pub(super) fn new(replay_max: usize) -> Replay {
        Replay { replay_max, entries: Mutex::default(), finished: Bell::default() }
    }

    /// False when nothing is kept.
    pub(super) fn is_on(&self) -> bool {
        self.replay_max > 0
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks a request up and, when it is new, enters it.
    pub(super) fn begin(&self, key: Key) -> Begun {
        let mut entries = self.lock();
        match entries.replies.get(&key) {
            Some(Some(reply)) => return Begun::Again(reply.clone()),
            Some(None) => return Begun::Busy,
            None => {}
        }
        while entries.order.len() >= self.replay_max {
            let oldest = entries.order.pop_front();
            oldest.and_then(|oldest| entries.replies.remove(&oldest));
        }
        entries.order.push_back(key);
        entries.replies.insert(key, None);
        Begun::New
    }

    /// Waits a little for whoever carries the request out.
    pub(super) fn wait(&self, key: Key) {
        let (mut entries, until) = (self.lock(), Instant::now() + WAIT);
        while matches!(entries.replies.get(&key), Some(None)) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            entries = self.finished.wait_timeout(entries, left).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Enters the reply of a request that was begun.
    pub(super) fn finish(&self, key: Key, reply: &[u8]) {
        let mut entries = self.lock();
        if let Some(slot) = entries.replies.get_mut(&key) {
            *slot = Some(reply.into());
        }
        self.finished.ring(entries);
    }

    /// Forgets everything, as a restart does.
    pub(super) fn clear(&self) {
        let mut entries = self.lock();
        *entries = Entries::default();
        self.finished.ring(entries);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_new_once_and_is_forgotten_after_replay_max_others() {
        let replay = Replay::new(2);
        let peer: SocketAddr = "127.0.0.1:700".parse().unwrap();
        let key = |xid| Key::new(peer, xid, Proc::Create, b"args");
        assert!(matches!(replay.begin(key(1)), Begun::New));
        assert!(matches!(replay.begin(key(1)), Begun::Busy));
        replay.finish(key(1), b"reply");
        assert!(matches!(replay.begin(key(1)), Begun::Again(reply) if *reply == *b"reply"));
        let other = "127.0.0.1:701".parse().unwrap();
        assert!(matches!(replay.begin(Key::new(other, 1, Proc::Create, b"args")), Begun::New));
        assert!(matches!(replay.begin(Key::new(peer, 1, Proc::Create, b"arms")), Begun::New));
        assert!(matches!(replay.begin(key(1)), Begun::New));
        replay.finish(key(9), b"");
        replay.clear();
        assert!(matches!(replay.begin(key(1)), Begun::New));
    }
}
