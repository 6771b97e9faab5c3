//! A condition variable that asks the kernel for nothing where nobody waits: std's notifies with a system call each time, which is
//! much of what a small file costs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, LockResult, MutexGuard, OnceLock, PoisonError, WaitTimeoutResult};
use std::time::Duration;

use super::Pace;

/// Used with one mutex. What is waited for must have been changed under that mutex before it is rung.
#[derive(Debug, Default)]
pub struct Bell {
    rung: Condvar,
    /// Raised under the mutex: who changes something under it later sees it.
    waiting: AtomicUsize,
    /// In a rehearsal: who counts those that wait, how many of them do not act, and how many were woken and have not seen it. Changed under the mutex.
    pace: OnceLock<Arc<Pace>>,
    resting: AtomicUsize,
    woken: AtomicUsize,
}

impl Bell {
    /// As [`Condvar::wait`].
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let pace = self.rests();
        let guard = self.rung.wait(guard);
        self.acts(pace, false);
        guard
    }

    /// As [`Condvar::wait_timeout`].
    pub fn wait_timeout<'a, T>(&self, guard: MutexGuard<'a, T>, most: Duration) -> LockResult<MutexGuard<'a, T>> {
        let pace = self.rests();
        let waited = self.rung.wait_timeout(guard, most);
        let is_over = |waited: &(_, WaitTimeoutResult)| waited.1.timed_out();
        self.acts(pace, waited.as_ref().map_or_else(|error| is_over(error.get_ref()), is_over));
        waited.map(|(guard, _)| guard).map_err(|error| PoisonError::new(error.into_inner().0))
    }

    /// This thread waits from now on.
    fn rests(&self) -> Option<&Pace> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let own = Pace::own()?;
        let pace = self.pace.get_or_init(|| own);
        self.resting.fetch_add(1, Ordering::Relaxed);
        pace.rests();
        Some(pace)
    }

    /// It does not any more. Who was not rung for has waited long enough, or for no reason: he must not be taken for another one who was, and
    /// is not awake yet.
    fn acts(&self, pace: Option<&Pace>, has_waited: bool) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        let Some(pace) = pace else { return };
        let rung = self.woken.load(Ordering::Relaxed) > 0;
        if rung && (!has_waited || self.resting.load(Ordering::Relaxed) == 0) {
            self.woken.fetch_sub(1, Ordering::Relaxed);
        } else {
            self.resting.fetch_sub(1, Ordering::Relaxed);
            pace.acts(1);
        }
    }

    /// Those who wait act from now on, before they know it.
    fn calls(&self, some: usize) {
        let some = some.min(self.resting.load(Ordering::Relaxed));
        if let Some(pace) = self.pace.get().filter(|_| some > 0) {
            self.resting.fetch_sub(some, Ordering::Relaxed);
            self.woken.fetch_add(some, Ordering::Relaxed);
            pace.acts(some);
        }
    }

    /// Wakes all who wait, and gives back the mutex.
    pub fn ring<T>(&self, guard: MutexGuard<'_, T>) {
        self.calls(usize::MAX);
        drop(guard);
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.rung.notify_all();
        }
    }

    /// The same of so many of them.
    pub fn ring_for<T>(&self, some: usize, guard: MutexGuard<'_, T>) {
        let some = some.min(self.waiting.load(Ordering::Relaxed));
        self.calls(some);
        drop(guard);
        (0..some).for_each(|_| self.rung.notify_one());
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
                        bell.ring(now);
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
