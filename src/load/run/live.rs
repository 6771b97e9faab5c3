//! What a clone shows of itself while it runs, and what it is told.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

use super::super::results::JobResult;
use super::super::steady::SteadyResult;
use super::super::{Direction, Each};

/// What a clone is doing: the letters of fio's status line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)] // the letters' names
#[repr(u8)]
pub enum State {
    NotStarted = 0,
    Created,
    Initialized,
    PreReading,
    Ramping,
    Running,
    Verifying,
    Syncing,
    Finishing,
    Exited,
    Reaped,
}

const STATES: [State; 11] = [
    State::NotStarted,
    State::Created,
    State::Initialized,
    State::PreReading,
    State::Ramping,
    State::Running,
    State::Verifying,
    State::Syncing,
    State::Finishing,
    State::Exited,
    State::Reaped,
];

/// One clone's counters and flags.
#[derive(Debug, Default)]
pub struct Live {
    state: AtomicU8,
    /// I/Os and bytes that have ended since the clone's start, ramp_time included.
    ios: [AtomicU64; 2],
    bytes: [AtomicU64; 2],
    /// Open files.
    pub open: AtomicU32,
    /// Bytes that the clone will move in all, if that is known.
    pub expected: AtomicU64,
    /// When its time began, in ns since the run's start; 0 before.
    pub began: AtomicU64,
    /// It is to end.
    end: AtomicBool,
    /// It ended with an error.
    pub failed: AtomicBool,
    /// A snapshot is wanted.
    wanted: AtomicBool,
    snapshot: Mutex<Option<JobResult>>,
    taken: Condvar,
    steady: Mutex<Option<SteadyResult>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Live {
    /// What it is doing.
    pub fn state(&self) -> State {
        STATES[usize::from(self.state.load(Ordering::Relaxed)).min(STATES.len() - 1)]
    }

    /// It does this now.
    pub fn set_state(&self, state: State) {
        self.state.store(state as u8, Ordering::Relaxed);
    }

    /// True before it is ready to begin.
    pub fn is_preparing(&self) -> bool {
        matches!(self.state(), State::NotStarted | State::Created | State::PreReading)
    }

    /// Counts so far, of the one thread that counts.
    #[inline]
    pub fn count(&self, direction: Direction, bytes: u64) {
        let at = usize::from(direction != Direction::Read);
        self.ios[at].store(self.ios[at].load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        self.bytes[at].store(self.bytes[at].load(Ordering::Relaxed) + bytes, Ordering::Relaxed);
    }

    /// I/Os and bytes so far.
    pub fn done(&self) -> Each<(u64, u64)> {
        let both = |at: usize| (self.ios[at].load(Ordering::Relaxed), self.bytes[at].load(Ordering::Relaxed));
        Each { read: both(0), write: both(1), trim: (0, 0) }
    }

    /// Asks it to end.
    pub fn end(&self) {
        self.end.store(true, Ordering::Relaxed);
    }

    /// True when it is to end.
    #[inline]
    pub fn is_ending(&self) -> bool {
        self.end.load(Ordering::Relaxed)
    }

    /// True when a snapshot is wanted.
    #[inline]
    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// Gives a snapshot.
    pub fn give(&self, result: JobResult) {
        *lock(&self.snapshot) = Some(result);
        self.wanted.store(false, Ordering::Relaxed);
        self.taken.notify_all();
    }

    /// How steady it is.
    pub fn set_steady(&self, steady: SteadyResult) {
        *lock(&self.steady) = Some(steady);
    }

    /// How steady it was when that was looked at last; None where nobody looks.
    pub fn steady(&self) -> Option<SteadyResult> {
        lock(&self.steady).clone()
    }

    /// What the clone has measured so far. One that waits for an I/O for longer than `wait` gives what it gave last.
    pub fn look(&self, wait: Duration) -> Option<JobResult> {
        let state = self.state();
        if (State::Ramping..State::Exited).contains(&state) {
            self.wanted.store(true, Ordering::Relaxed);
            let held = lock(&self.snapshot);
            let waiting = self.taken.wait_timeout_while(held, wait, |_| self.is_wanted());
            return waiting.unwrap_or_else(std::sync::PoisonError::into_inner).0.clone();
        }
        lock(&self.snapshot).clone()
    }
}
