//! How much is under way: a count that a producer raises, lanes lower, and barriers wait on.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::base::Bell;

#[derive(Debug, Default)]
struct State {
    count: usize,
    panicked: bool,
    waited: Duration,
}

/// Counts what was begun and has not ended.
#[derive(Debug, Default)]
pub struct Flight {
    state: Mutex<State>,
    landed: Bell,
}

/// A share of the count, given back when dropped, also by a panic.
#[derive(Debug)]
pub struct Ticket<'a> {
    flight: &'a Flight,
    count: usize,
}

impl Flight {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it counts")
    }

    /// Adds `count` at once; `below` is what bounds it.
    pub fn enter(&self, count: usize) -> Ticket<'_> {
        self.state().count += count;
        Ticket { flight: self, count }
    }

    /// Waits until fewer than `limit` are under way; false when a lane has panicked, after which nothing should begin.
    pub fn below(&self, limit: usize) -> bool {
        let mut state = self.state();
        if state.count >= limit {
            let start = Instant::now();
            while state.count >= limit {
                state = self.landed.wait(state).expect("nothing panics while it counts");
            }
            state.waited += start.elapsed();
        }
        !state.panicked
    }

    /// Waits until `done`, which is asked whenever something has ended, or nothing is under way; false when a lane has panicked.
    pub fn until(&self, done: impl Fn() -> bool) -> bool {
        let mut state = self.state();
        let start = Instant::now();
        while state.count > 0 && !state.panicked && !done() {
            state = self.landed.wait(state).expect("nothing panics while it counts");
        }
        state.waited += start.elapsed();
        !state.panicked
    }

    /// Waits until nothing is under way; false when a lane has panicked.
    pub fn drained(&self) -> bool {
        self.below(1)
    }

    /// True when fewer than `limit` are under way now.
    pub fn is_below(&self, limit: usize) -> bool {
        self.state().count < limit
    }

    /// How long `below` and `drained` have waited.
    pub fn waited(&self) -> Duration {
        self.state().waited
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        let mut state = self.flight.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.count -= self.count;
        state.panicked |= std::thread::panicking();
        self.flight.landed.ring(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_for_something_ends_when_it_is_so_or_nothing_is_left() {
        let (flight, told) = (Flight::default(), std::sync::atomic::AtomicBool::new(false));
        let is_told = || told.load(std::sync::atomic::Ordering::SeqCst);
        let tickets = [flight.enter(1), flight.enter(5)];
        std::thread::scope(|s| {
            let waits = s.spawn(|| flight.until(is_told));
            let [first, other] = tickets;
            told.store(true, std::sync::atomic::Ordering::SeqCst);
            drop(first);
            assert!(waits.join().unwrap() && !flight.is_below(5));
            let waits = s.spawn(|| flight.until(|| false));
            drop(other);
            assert!(waits.join().unwrap() && flight.is_below(1));
        });
    }

    #[test]
    fn barriers_wait_for_the_last_ticket() {
        let flight = Flight::default();
        let (a, b) = (flight.enter(2), flight.enter(1));
        assert!(flight.is_below(4) && !flight.is_below(3));
        std::thread::scope(|s| {
            let barrier = s.spawn(|| flight.drained());
            drop((a, b));
            assert!(barrier.join().unwrap());
        });
    }
}
