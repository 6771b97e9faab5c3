//! A memory of bounded size that keeps the latest, for what a tree of any size brings.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasherDefault;

use super::hash::Mix;

type Table<V> = HashMap<u64, V, BuildHasherDefault<Mix>>;

/// Remembers the latest `max` to `2 * max` keys, which are hashes or counters of this process.
#[derive(Debug)]
pub struct Memo<V> {
    young: Table<V>,
    old: Table<V>,
    /// How many it remembers at least.
    pub max: usize,
    /// Something was dropped: a key that is not here may have been.
    pub forgot: bool,
}

impl<V> Memo<V> {
    /// An empty memory of at least `max` keys.
    pub fn new(max: usize) -> Memo<V> {
        Memo { young: Table::default(), old: Table::default(), max, forgot: false }
    }

    /// What is remembered of `key`.
    pub fn get(&self, key: u64) -> Option<&V> {
        self.young.get(&key).or_else(|| self.old.get(&key))
    }

    /// What is remembered of `key`, to be changed.
    pub fn get_mut(&mut self, key: u64) -> Option<&mut V> {
        self.young.get_mut(&key).or_else(|| self.old.get_mut(&key))
    }

    /// Remembers `value`; a full memory forgets its older half.
    pub fn insert(&mut self, key: u64, value: V) {
        self.make_room();
        self.young.insert(key, value);
    }

    /// Remembers `value`, unless something is remembered of `key` that is not `free`; true if it does.
    pub fn claim(&mut self, key: u64, value: V, free: impl Fn(&V) -> bool) -> bool {
        self.make_room();
        match self.young.entry(key) {
            Entry::Occupied(mut there) => {
                let is_free = free(there.get());
                if is_free {
                    there.insert(value);
                }
                is_free
            }
            Entry::Vacant(place) => {
                let is_free = self.old.get(&key).is_none_or(free);
                if is_free {
                    place.insert(value);
                }
                is_free
            }
        }
    }

    /// What is remembered of `key`, or what `new` makes, remembered anew and to be changed.
    pub fn renew(&mut self, key: u64, new: impl FnOnce() -> V) -> &mut V
    where
        V: Copy,
    {
        // What is about to be forgotten may be what is asked for.
        let kept = if self.young.len() >= self.max { self.old.get(&key).copied() } else { None };
        self.make_room();
        let Memo { young, old, .. } = self;
        young.entry(key).or_insert_with(|| old.get(&key).copied().or(kept).unwrap_or_else(new))
    }

    fn make_room(&mut self) {
        if self.young.len() >= self.max {
            self.forgot |= !self.old.is_empty();
            // Its memory is used again: a new table would grow to the same size step by step.
            self.old.clear();
            std::mem::swap(&mut self.old, &mut self.young);
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_keeps_the_latest() {
        let mut memo = Memo::new(100);
        for i in 0..10_000 {
            memo.insert(i, i);
            assert!(memo.len() <= 200);
            assert!((i.saturating_sub(99)..=i).all(|j| memo.get(j) == Some(&j)));
            assert_eq!(memo.forgot, i >= 200);
        }
        // What is claimed is remembered, and only where nothing stands in the way, be it young or old.
        for i in 30_000..30_150 {
            assert!(
                memo.claim(i, i, |_| false) && !memo.claim(i, 0, |_| false) && memo.claim(i, i, |there| *there == i)
            );
            assert!(!memo.claim(i.max(30_090) - 90, 0, |there| *there == 0));
        }
        // What is renewed is changed in place, and is among the latest.
        for i in 10_000..20_000 {
            *memo.renew(1 << 20, || 10_000) += 1;
            assert_eq!(*memo.renew(i, || i), i);
            assert!(memo.len() <= 200 && memo.get(1 << 20) == Some(&(i + 1)));
        }
    }
}
