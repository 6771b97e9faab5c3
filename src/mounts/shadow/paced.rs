//! How long a target takes for what it is not asked: as long as it would be if it were, in the time of the rehearsal.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::base::hash::mix;
use crate::base::price::Ceiling;
use crate::base::{Memo, Pace, PriceList, Proc};
use crate::storage::throttle::Clock;
use crate::storage::{self, Call, Changer, Mount, Op, Shape, Tally};

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

/// The locks that the kernel's mounts of a rehearsal hold on directories: each mount has its own.
pub struct Locks {
    /// Until when, by directory and mount.
    until: Mutex<Memo<Duration>>,
    mounts: AtomicU64,
}

impl Default for Locks {
    fn default() -> Locks {
        Locks { until: Mutex::new(Memo::new(LOCKS_MAX)), mounts: AtomicU64::new(0) }
    }
}

/// One kernel's mount.
#[derive(Clone)]
pub struct Kernel {
    locks: Arc<Locks>,
    number: u64,
    /// What it asks anew: a mount that is opened twice is one.
    pub(super) changer: Changer,
}

impl Kernel {
    /// One more of those that have these.
    pub fn new(locks: &Arc<Locks>, changer: Changer) -> Kernel {
        Kernel { locks: locks.clone(), number: locks.mounts.fetch_add(1, Ordering::Relaxed), changer }
    }

    /// When a call is through that comes `now`; each of its procedures waits for the one before, for a `latency`.
    fn book(&self, call: &Call<'_>, lowered: &Tally, now: Duration, latency: Duration) -> Duration {
        let trips = trips(call, lowered);
        let Some((dir, under_lock)) = storage::locked(&call.op, lowered) else { return now + latency * trips };
        let held = dir.key() ^ mix(self.number);
        let mut until = self.locks.until.lock().unwrap_or_else(PoisonError::into_inner);
        let before = call.anew.before() as u32;
        let under_lock = (under_lock + call.anew.under_lock()) as u32;
        let enters = until.get(held).copied().unwrap_or_default().max(now + latency * before);
        until.insert(held, enters + latency * under_lock);
        enters + latency * under_lock.max(trips.saturating_sub(before))
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
    use crate::mounts::{MemoryMount, ShadowMount};
    use crate::storage::{AttrChange, How, Ledger, Limits, Lowered, Node, Stable, Tapped};

    const MS: Duration = Duration::from_millis(1);

    fn ms(kernel: &Kernel, call: &mut Call<'_>, more: &[(Proc, u64)], now: u32) -> u128 {
        let mut lowered = Tally::default();
        more.iter().for_each(|&(proc, calls)| (0..calls).for_each(|_| lowered.count(proc, 0, false)));
        kernel.changer.asks(std::slice::from_mut(call), true);
        lowered += call.anew.tally();
        kernel.book(call, &lowered, MS * now, MS).as_millis()
    }

    #[test]
    fn changes_of_a_directory_wait_for_each_other_on_one_mount_and_what_is_written_does_not() {
        let (locks, changer, dir) = (Arc::default(), Changer::default(), Node::root_chain(0));
        let (one, other) = (Kernel::new(&locks, changer.clone()), Kernel::new(&locks, changer.beside()));
        let name = Name::new(b"n").unwrap();
        let mut create = Call::create(&dir, &name, How::Guarded, AttrChange::default());
        let alone = [(Proc::Create, 1)];
        assert_eq!([0, 0, 1].map(|now| ms(&one, &mut create, &alone, now)), [1, 2, 3]);
        // The SETATTR of O_EXCL is under the lock, one more is not.
        assert_eq!(ms(&one, &mut create, &[(Proc::Create, 1), (Proc::SetAttr, 2)], 0), 6);
        assert_eq!(ms(&one, &mut create, &alone, 0), 6);
        // Three parts of a WRITE are one way there and back.
        assert_eq!(ms(&one, &mut Call::write(&dir, 0, b"", Stable::FileSync), &[(Proc::Write, 3)], 2), 3);
        // To another mount the directory is new; the one before asks again then; a name is looked up under the lock.
        assert_eq!([0, 0].map(|now| ms(&other, &mut create, &alone, now)), [3, 4]);
        assert_eq!(ms(&one, &mut create, &alone, 10), 12);
        let mut remove = Call::remove(&dir, &name);
        assert_eq!([20, 20].map(|now| ms(&other, &mut remove, &[(Proc::Remove, 1)], now)), [23, 25]);
    }

    /// A kernel's mount, as far as what it sends goes.
    struct Lowering(MemoryMount);

    impl Mount for Lowering {
        fn root(&self) -> Node {
            self.0.root()
        }
        fn limits(&self) -> Limits {
            Limits { dirs_locked: true, ..self.0.limits() }
        }
        fn perform(&self, calls: &mut [Call<'_>]) {
            self.0.perform(calls);
        }
        fn lower(&self, call: &Call<'_>) -> Tally {
            Tally::of(call) + call.anew.tally()
        }
        fn issued(&self) -> Option<Tally> {
            None
        }
        fn label(&self) -> String {
            "kernel".into()
        }
    }

    /// What was counted, by the ledger and by the mounts, and the time: of names that are made and removed by this many mounts in turn.
    fn rehearsed(mounts: usize, waits_max: u64) -> ([Tally; 2], Duration) {
        let pace = Pace::new(waits_max);
        let ceiling = Ceiling { iops: f64::INFINITY, bytes_per_s: f64::INFINITY, latency: MS };
        let server = Arc::new(Server::new(&pace, ceiling, PriceList::oci()));
        let (locks, changer, ledger) = (Arc::default(), Changer::default(), Arc::new(Ledger::default()));
        let real: Arc<dyn Mount> = Arc::new(Lowering(MemoryMount::new()));
        let shadows = ShadowMount::all((0..mounts).map(|_| real.clone())).into_iter().map(|shadow| {
            let kernel = Some(Kernel::new(&locks, changer.beside()));
            Arc::new(shadow.paced(Paced { server: server.clone(), latency: MS, shape: None, kernel }))
        });
        let shadows: Vec<Arc<ShadowMount>> = shadows.collect();
        let counted = |shadow: &Arc<ShadowMount>| {
            Tapped::new(shadow.clone(), vec![Arc::new(Lowered::new(shadow.clone(), ledger.clone()))])
        };
        let counted: Vec<Tapped> = shadows.iter().map(counted).collect();
        let (root, names) = (real.root(), ["a", "b", "c", "d"].map(|text| Name::new(text.as_bytes()).unwrap()));
        let all = |call: &dyn Fn(&Name) -> Call<'static>| {
            for (i, name) in names.iter().enumerate() {
                let mut calls = [call(name)];
                counted[i % mounts].perform(&mut calls);
                assert_eq!(calls[0].status(), Ok(()));
            }
        };
        all(&|name| Call::create(&root, name, How::Guarded, AttrChange::default()));
        all(&|name| Call::remove(&root, name));
        ([ledger.tally(), shadows.iter().filter_map(|shadow| shadow.issued()).sum()], pace.now())
    }

    #[test]
    fn what_is_asked_anew_is_counted_once_by_all_and_takes_its_time_on_several_mounts_alone() {
        let counts =
            |tally: &Tally| [Proc::Create, Proc::Remove, Proc::Access, Proc::Lookup].map(|proc| tally.get(proc).calls);
        let (one, took) = rehearsed(1, u64::MAX);
        assert_eq!((one.map(|tally| counts(&tally)), took), ([[4, 4, 0, 0]; 2], 8 * MS));
        // The directory is new to the second mount. Each change comes behind one of the other's; each name is looked up.
        let (two, took) = rehearsed(2, u64::MAX);
        assert_eq!((two.map(|tally| counts(&tally)), took), ([[4, 4, 7, 5]; 2], (8 + 7 + 5) * MS));
        // And the same where time is not followed any more.
        let (two, _) = rehearsed(2, 0);
        assert_eq!(two.map(|tally| counts(&tally)), [[4, 4, 7, 5]; 2]);
    }
}
