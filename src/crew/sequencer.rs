//! Completions come in any order; this tells them in the order of their numbers, and knows the point before which
//! everything is complete. What is held back is bounded by how far its user lets numbers run ahead of that point.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Restores the order of numbers 0, 1, 2, ...
#[derive(Debug)]
pub struct Sequencer<T> {
    /// All numbers below are complete and told. Raised while `early` is held.
    low: AtomicU64,
    /// What is complete but waits for an earlier one: of the numbers from `low` on. A slot for each, since numbers that run ahead by no
    /// more than a bound are dense.
    early: Mutex<VecDeque<Option<T>>>,
}

impl<T> Default for Sequencer<T> {
    fn default() -> Self {
        Sequencer { low: AtomicU64::new(0), early: Mutex::default() }
    }
}

impl<T> Sequencer<T> {
    /// Says that `number` is complete, once for each number; `tell` hears of it and of those that waited for it, in
    /// order, by one thread at a time.
    pub fn complete(&self, number: u64, what: T, tell: impl FnMut(T)) {
        self.complete_all([(number, what)], tell);
    }

    /// As `complete` of each, at once.
    pub fn complete_all(&self, all: impl IntoIterator<Item = (u64, T)>, mut tell: impl FnMut(T)) {
        let mut early = self.early.lock().expect("a teller that panics ends the run");
        let mut low = self.low();
        for (number, what) in all {
            assert!(number >= low, "number {number} was complete before");
            let ahead = (number - low) as usize;
            if ahead > 0 {
                let slots = early.len().max(ahead + 1);
                early.resize_with(slots, || None);
                early[ahead] = Some(what);
                continue;
            }
            let mut next = Some(what);
            early.pop_front();
            while let Some(what) = next {
                low += 1;
                tell(what);
                next = early.front_mut().and_then(Option::take);
                if next.is_some() {
                    early.pop_front();
                }
            }
        }
        // Once for all: others read it.
        self.low.store(low, Ordering::Release);
    }

    /// The first number that is not complete: everything before it is.
    pub fn low(&self) -> u64 {
        self.low.load(Ordering::Acquire)
    }

    /// How many are complete but wait for an earlier one.
    #[cfg(test)]
    fn early(&self) -> usize {
        self.early.lock().expect("a teller that panics ends the run").iter().flatten().count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_order_in_number_order_out() {
        // 7 generates the numbers modulo 71, so that every number below 70 comes once, in a scattered order.
        let sequencer = Sequencer::default();
        let mut told = Vec::new();
        let mut number = 1u64;
        for _ in 0..70 {
            number = number * 7 % 71;
            sequencer.complete(number - 1, number - 1, |n| told.push(n));
            assert!(sequencer.low() as usize == told.len());
        }
        assert_eq!(told, (0..70).collect::<Vec<_>>());
        assert_eq!((sequencer.low(), sequencer.early()), (70, 0));
        // Several at once, some of which wait for others among them and some for one that comes later.
        sequencer.complete_all([72, 70, 75, 71, 74].map(|n| (n, n)), |n| told.push(n));
        assert_eq!((sequencer.low(), sequencer.early(), told.len()), (73, 2, 73));
        sequencer.complete(73, 73, |n| told.push(n));
        assert_eq!(told, (0..76).collect::<Vec<_>>());
    }
}
