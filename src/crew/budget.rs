//! How many bytes a run holds at once. A semaphore over bytes; a permit gives them back when it is dropped.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::base::Bell;

use super::Stop;

/// How often a waiting thread looks at the stop flag, which a signal sets without a word.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(50);

struct Inner {
    total: u64,
    held: Mutex<Held>,
    freed: Bell,
    stop: Stop,
}

#[derive(Default)]
struct Held {
    bytes: u64,
    bytes_most: u64,
    waited: Duration,
}

impl Held {
    fn hold(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.bytes_most = self.bytes_most.max(self.bytes);
    }
}

/// A number of bytes that may be held at once. Clones share it.
#[derive(Clone)]
pub struct Budget(Arc<Inner>);

/// Bytes of a budget, given back when dropped.
pub struct Permit {
    budget: Budget,
    bytes: u64,
}

impl Budget {
    /// A budget of `total` bytes (at least 1), whose waits end when `stop` is set.
    pub fn new(total: u64, stop: Stop) -> Budget {
        Budget(Arc::new(Inner { total: total.max(1), held: Mutex::default(), freed: Bell::default(), stop }))
    }

    fn held_now(&self) -> std::sync::MutexGuard<'_, Held> {
        self.0.held.lock().expect("nothing panics while it holds the budget")
    }

    fn take(&self, held: &mut Held, bytes: u64) -> Option<Permit> {
        if bytes > self.0.total - held.bytes {
            return None;
        }
        held.hold(bytes);
        Some(Permit { budget: self.clone(), bytes })
    }

    /// `bytes` if they are free now. A request above the whole budget counts as the whole.
    pub fn try_acquire(&self, bytes: u64) -> Option<Permit> {
        let bytes = bytes.min(self.0.total);
        self.take(&mut self.held_now(), bytes)
    }

    /// Adds `bytes` to what a permit of this budget holds, if they are free now.
    pub fn try_extend(&self, permit: &mut Permit, bytes: u64) -> bool {
        let mut held = self.held_now();
        let is_free = bytes <= self.0.total - held.bytes;
        if is_free {
            held.hold(bytes);
            permit.bytes += bytes;
        }
        is_free
    }

    /// Waits for `bytes` (a request above the whole budget counts as the whole, so that it can be met); none when the
    /// run is stopped first. The caller must hold no permit that only it can give back.
    pub fn acquire(&self, bytes: u64) -> Option<Permit> {
        let bytes = bytes.min(self.0.total);
        let mut held = self.held_now();
        if let Some(permit) = self.take(&mut held, bytes) {
            return Some(permit);
        }
        let start = Instant::now();
        loop {
            held = self.0.freed.wait_timeout(held, LOOK_EVERY).expect("nothing panics while it holds the budget");
            let permit = self.take(&mut held, bytes);
            if permit.is_some() || self.0.stop.is_set() {
                held.waited += start.elapsed();
                return permit;
            }
        }
    }

    /// The bytes held now.
    pub fn held(&self) -> u64 {
        self.held_now().bytes
    }

    /// The most bytes held at once so far.
    pub fn held_most(&self) -> u64 {
        self.held_now().bytes_most
    }

    /// The whole budget.
    pub fn total(&self) -> u64 {
        self.0.total
    }

    /// How long `acquire` has waited so far.
    pub fn waited(&self) -> Duration {
        self.held_now().waited
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut held = self.budget.0.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.bytes -= self.bytes;
        self.budget.0.freed.ring(held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_more_than_the_whole_and_a_greater_request_is_capped() {
        let budget = Budget::new(100, Stop::default());
        let a = budget.acquire(60).unwrap();
        assert!(budget.try_acquire(41).is_none());
        let b = budget.try_acquire(40).unwrap();
        assert_eq!(budget.held(), 100);
        drop((a, b));
        let mut some = budget.acquire(1).unwrap();
        assert!(budget.try_extend(&mut some, 99) && !budget.try_extend(&mut some, 1));
        assert_eq!(budget.held(), 100);
        drop(some);
        let whole = budget.acquire(u64::MAX).unwrap();
        assert_eq!(budget.held(), 100);
        drop(whole);
        assert_eq!((budget.held(), budget.held_most()), (0, 100));
    }

    #[test]
    fn a_waiter_gets_what_another_thread_gives_back() {
        let budget = Budget::new(10, Stop::default());
        let first = budget.acquire(10).unwrap();
        std::thread::scope(|s| {
            let waiter = s.spawn(|| budget.acquire(10).is_some());
            drop(first);
            assert!(waiter.join().unwrap());
        });
    }

    #[test]
    fn stop_ends_the_wait() {
        let stop = Stop::default();
        let budget = Budget::new(10, stop.clone());
        let _all = budget.acquire(10).unwrap();
        stop.set();
        assert!(budget.acquire(1).is_none());
        assert!(budget.waited() > Duration::ZERO);
    }
}
