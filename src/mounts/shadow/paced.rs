//! How long a target takes for what it is not asked: as long as it would be if it were, in the time of the rehearsal.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::base::hash::mix;
use crate::base::price::Ceiling;
use crate::base::{Memo, Pace, PriceList, Proc};
use crate::storage::throttle::Clock;
use crate::storage::{self, Call, Mount, Op, Shape, Tally};

/// Directories whose locks are remembered, at least; some 40 bytes each.
const LOCKS_MAX: usize = 16_384;

/// A target: it serves one call after the other, each for its price, and what it has served is there a latency later.
pub struct Server {
    pace: Arc<Pace>,
    clock: Clock,
    price: PriceList,
    /// When the rehearsal's time is 0.
    origin: Instant,
}

impl Server {
    /// One of these ceilings and prices, whose time is `pace`'s.
    pub fn new(pace: &Arc<Pace>, ceiling: Ceiling, price: PriceList) -> Server {
        Server { pace: pace.clone(), clock: Clock::new(ceiling, price.clone()), price, origin: Instant::now() }
    }
}

/// The locks that the kernel's mounts of a rehearsal hold on directories: each mount has its own. A mount asks again of a directory that another
/// one changed.
pub struct Locks {
    state: Mutex<Locked>,
    mounts: AtomicU64,
}

struct Locked {
    /// Until when, by directory and mount.
    until: Memo<Duration>,
    /// The mount that changed a directory last.
    changed_by: Memo<u64>,
}

impl Default for Locks {
    fn default() -> Locks {
        let locked = Locked { until: Memo::new(LOCKS_MAX), changed_by: Memo::new(LOCKS_MAX) };
        Locks { state: Mutex::new(locked), mounts: AtomicU64::new(0) }
    }
}

/// One kernel's mount.
#[derive(Clone)]
pub struct Kernel {
    locks: Arc<Locks>,
    number: u64,
}

impl Kernel {
    /// One more of those that have these.
    pub fn new(locks: &Arc<Locks>) -> Kernel {
        Kernel { locks: locks.clone(), number: locks.mounts.fetch_add(1, Ordering::Relaxed) }
    }

    /// When a call is through that comes `now`; each of its procedures waits for the one before, for a `latency`.
    fn book(&self, call: &Call<'_>, lowered: &Tally, now: Duration, latency: Duration) -> Duration {
        let trips = trips(call, lowered);
        let Some((dir, under_lock)) = storage::locked(&call.op, lowered) else { return now + latency * trips };
        let key = dir.key();
        let mut state = self.locks.state.lock().unwrap_or_else(PoisonError::into_inner);
        let others = state.changed_by.get(key).is_some_and(|&mount| mount != self.number);
        state.changed_by.insert(key, self.number);
        let held = key ^ mix(self.number);
        let until = state.until.get(held).copied();
        // ACCESS on the way to the directory, and LOOKUP where it is new to this mount; of a name that is there, LOOKUP under the lock.
        let looks = matches!(call.op, Op::Remove { .. } | Op::RmDir { .. } | Op::Rename { .. });
        let before = u32::from(others) + u32::from(others && until.is_none());
        let more = u32::from(others && looks);
        let under_lock = under_lock as u32 + more;
        let enters = until.unwrap_or_default().max(now + latency * before);
        state.until.insert(held, enters + latency * under_lock);
        enters + latency * (under_lock + trips.saturating_sub(under_lock - more))
    }
}

/// The procedures of a call that wait for each other: parts of a READ or WRITE are sent at once.
fn trips(call: &Call<'_>, lowered: &Tally) -> u32 {
    let parts = match call.op {
        Op::Read { .. } => lowered.get(Proc::Read).calls,
        Op::Write { .. } => lowered.get(Proc::Write).calls,
        _ => 0,
    };
    (lowered.calls() - parts.saturating_sub(1)) as u32
}

/// A mount of it.
#[derive(Clone)]
pub struct Paced {
    /// Mounts of one target share what it gives.
    pub server: Arc<Server>,
    /// Answer time when it is idle.
    pub latency: Duration,
    /// How it is best driven then, where it is not the one that was measured.
    pub shape: Option<Shape>,
    /// Of a kernel's mount, which sends the procedures of calls one after the other.
    pub kernel: Option<Kernel>,
}

impl Paced {
    /// False when the rehearsal goes on without its time.
    pub fn is_followed(&self) -> bool {
        !self.server.pace.is_over()
    }

    /// When these are answered that come now; none where nothing is sent for them. `real` says what else than itself a call is. To a kernel's
    /// mount one comes when the one before is through.
    pub fn book(&self, calls: &[Call<'_>], real: &dyn Mount) -> Option<Duration> {
        let Server { pace, clock, price, origin } = &*self.server;
        let (mut sent, mut cost, mut bytes) = (0, 0, 0);
        let now = pace.now();
        let mut through = now;
        for call in calls {
            let is_itself = self.kernel.is_none() && call.proc().is_nfs3();
            let tally = if is_itself { Tally::of(call) } else { real.lower(call) };
            sent += tally.calls();
            cost += tally.price(price);
            bytes += tally.bytes();
            if let Some(kernel) = self.kernel.as_ref().filter(|_| tally.calls() > 0) {
                through = kernel.book(call, &tally, through, self.latency);
            }
        }
        let served = || clock.book_all(*origin + now, cost, bytes).saturating_duration_since(*origin);
        (sent > 0).then(|| through.max(served() + self.latency))
    }

    /// Waits until then.
    pub fn wait(&self, until: Option<Duration>) {
        until.into_iter().for_each(|until| self.server.pace.wait(until));
    }

    /// Asks what really takes its time, and is answered then.
    pub fn ask<R>(&self, until: Option<Duration>, ask: impl FnOnce() -> R) -> R {
        self.server.pace.wait_for(until.unwrap_or_default(), ask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Name;
    use crate::storage::{AttrChange, How, Node, Stable};

    const MS: Duration = Duration::from_millis(1);

    fn ms(kernel: &Kernel, call: &Call<'_>, more: &[(Proc, u64)], now: u32) -> u128 {
        let mut lowered = Tally::default();
        more.iter().for_each(|&(proc, calls)| (0..calls).for_each(|_| lowered.count(proc, 0, false)));
        kernel.book(call, &lowered, MS * now, MS).as_millis()
    }

    #[test]
    fn changes_of_a_directory_wait_for_each_other_on_one_mount_and_what_is_written_does_not() {
        let (locks, dir) = (Arc::default(), Node::root_chain(0));
        let (one, other) = (Kernel::new(&locks), Kernel::new(&locks));
        let name = Name::new(b"n").unwrap();
        let create = Call::create(&dir, &name, How::Guarded, AttrChange::default());
        let alone = [(Proc::Create, 1)];
        assert_eq!([0, 0, 1].map(|now| ms(&one, &create, &alone, now)), [1, 2, 3]);
        // The SETATTR of O_EXCL is under the lock, one more is not.
        assert_eq!(ms(&one, &create, &[(Proc::Create, 1), (Proc::SetAttr, 2)], 0), 6);
        assert_eq!(ms(&one, &create, &alone, 0), 6);
        // Three parts of a WRITE are one way there and back.
        assert_eq!(ms(&one, &Call::write(&dir, 0, b"", Stable::FileSync), &[(Proc::Write, 3)], 2), 3);
        // To another mount the directory is new; the one before asks again then; a name is looked up under the lock.
        assert_eq!([0, 0].map(|now| ms(&other, &create, &alone, now)), [3, 4]);
        assert_eq!(ms(&one, &create, &alone, 10), 12);
        let remove = Call::remove(&dir, &name);
        assert_eq!([20, 20].map(|now| ms(&other, &remove, &[(Proc::Remove, 1)], now)), [23, 24]);
    }
}
