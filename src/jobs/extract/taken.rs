//! Which places are taken by members in flight; the producer's own, so that lanes wait for no lock of it.
//!
//! A member counts as in flight until all before it are complete as well: that much the completions' order tells, and a place that
//! comes again is waited for a little longer than it must be. What is remembered is bounded by how far members run ahead.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use crate::base::hash::Mix;

/// Places in a generation: as many as are in flight at most, so that most often all of the older one are complete by then.
const GENERATION: usize = 4096;

type Table = HashMap<u64, u64, BuildHasherDefault<Mix>>;

/// The numbers of the latest members by the hashes of their places.
#[derive(Default)]
pub(super) struct Taken {
    young: Table,
    old: Table,
    /// The last number of the older ones.
    old_last: u64,
}

impl Taken {
    /// Notes that the member `number` takes `place`; true if nothing is in flight at it: all numbers below `low` are complete.
    pub fn take(&mut self, place: u64, number: u64, low: impl Fn() -> u64) -> bool {
        if self.young.len() >= GENERATION && self.old_last < low() {
            // Its memory is used again.
            self.old.clear();
            std::mem::swap(&mut self.old, &mut self.young);
            self.old_last = number;
        }
        let before = self.young.insert(place, number).or_else(|| self.old.get(&place).copied());
        before.is_none_or(|before| before < low())
    }

    /// True if something is in flight at `place`.
    pub fn is_taken(&self, place: u64, low: impl Fn() -> u64) -> bool {
        let there = self.young.get(&place).or_else(|| self.old.get(&place));
        there.is_some_and(|&number| number >= low())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_taken_until_all_up_to_its_member_are_complete_and_little_is_remembered() {
        // Members take 1,000 places in turn, and some run ahead of what is complete by as much as they may.
        for behind in [1, 900, 3 * GENERATION as u64] {
            let mut taken = Taken::default();
            for number in 0..20 * GENERATION as u64 {
                let low = number.saturating_sub(behind);
                let place = number % 1_000;
                let before = number.checked_sub(1_000);
                let is_free = before.is_none_or(|before| before < low);
                assert_eq!(taken.is_taken(place, || low), !is_free);
                assert_eq!(taken.take(place, number, || low), is_free);
                assert!(taken.is_taken(place, || low) && !taken.is_taken(place, || number + 1));
            }
        }
        // All of them different: no more are remembered than are in flight, or a generation's.
        let mut taken = Taken::default();
        for number in 0..20 * GENERATION as u64 {
            let low = number.saturating_sub(5_000);
            assert!(taken.take(number, number, || low));
            assert!(taken.is_taken(low, || low) && !taken.is_taken(number + 1, || low));
            assert!(taken.young.len() + taken.old.len() <= 5_000 + 2 * GENERATION);
        }
    }
}
