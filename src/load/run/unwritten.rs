//! Which writes of a pass failed and were passed over: what they left behind is anybody's, and is not read back, as in fio.
//!
//! Promises: memory grows with the runs of failed writes, not with the writes.

use std::collections::BTreeMap;

/// Numbers of writes, in runs.
#[derive(Debug, Default)]
pub(super) struct Unwritten {
    /// First number of a run: the number behind it.
    runs: BTreeMap<u64, u64>,
}

impl Unwritten {
    pub(super) fn add(&mut self, number: u64) {
        let ahead = self.runs.range(..=number).next_back().map(|(first, behind)| (*first, *behind));
        let first = match ahead {
            Some((_, behind)) if behind > number => return,
            Some((first, behind)) if behind == number => first,
            _ => number,
        };
        let behind = self.runs.remove(&(number + 1)).unwrap_or(number + 1);
        self.runs.insert(first, behind);
    }

    pub(super) fn has(&self, number: u64) -> bool {
        self.runs.range(..=number).next_back().is_some_and(|(_, behind)| *behind > number)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn runs_grow_at_both_ends_and_meet() {
        let mut unwritten = Unwritten::default();
        let added = [5, 3, 4, 4, 9, 0, 10, 8, 1];
        added.iter().for_each(|number| unwritten.add(*number));
        let all: BTreeSet<u64> = added.into_iter().collect();
        (0..20).for_each(|number| assert_eq!(unwritten.has(number), all.contains(&number), "{number}"));
        assert_eq!(unwritten.runs.into_iter().collect::<Vec<_>>(), [(0, 2), (3, 6), (8, 11)]);
    }
}
