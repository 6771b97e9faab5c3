//! A condition variable that asks the kernel for nothing where nobody waits: std's notifies with a system call each time, which is
//! much of what a small file costs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, LockResult, MutexGuard, PoisonError};
use std::time::Duration;

/// Used with one mutex. What is waited for must have been changed under that mutex before it is rung.
#[derive(Debug, Default)]
pub struct Bell {
    rung: Condvar,
    /// Raised under the mutex: who changes something under it later sees it.
    waiting: AtomicUsize,
}

impl Bell {
    /// As [`Condvar::wait`].
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let guard = self.rung.wait(guard);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        guard
    }

    /// As [`Condvar::wait_timeout`].
    pub fn wait_timeout<'a, T>(&self, guard: MutexGuard<'a, T>, most: Duration) -> LockResult<MutexGuard<'a, T>> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let waited = self.rung.wait_timeout(guard, most);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        waited.map(|(guard, _)| guard).map_err(|error| PoisonError::new(error.into_inner().0))
    }

    /// Wakes all who wait.
    pub fn ring(&self) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.rung.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn nobody_who_waits_is_forgotten() {
        let (bell, turn) = (Bell::default(), Mutex::new(0_u32));
        // Each thread sleeps until it is its turn: one wake-up that is lost, and none goes on.
        const THREADS: u32 = 4;
        std::thread::scope(|scope| {
            for own in 0..THREADS {
                let (bell, turn) = (&bell, &turn);
                scope.spawn(move || {
                    for _ in 0..10_000 {
                        let mut now = turn.lock().unwrap();
                        while *now % THREADS != own {
                            now = bell.wait(now).unwrap();
                        }
                        *now += 1;
                        drop(now);
                        bell.ring();
                    }
                });
            }
        });
        assert_eq!(*turn.lock().unwrap(), THREADS * 10_000);
        // Nobody rings.
        let guard = turn.lock().unwrap();
        assert_eq!(*bell.wait_timeout(guard, Duration::from_millis(1)).unwrap(), THREADS * 10_000);
        assert_eq!(bell.waiting.load(Ordering::Relaxed), 0);
    }
}
