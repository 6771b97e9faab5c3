//! Tasks that wait, by the place that they change. Where names of one directory are made one after the other, lanes had best
//! be in different ones: the place that the fewest lanes are at goes first, of those the one that has waited longest. So the
//! oldest place always has a lane, and as many as are left over when places are few.
//!
//! Leaves out any order of importance, and limits: who puts tasks in bounds them.

use std::collections::{BTreeSet, HashMap, VecDeque};

/// The tasks of one place.
struct Place<T> {
    waiting: VecDeque<T>,
    lanes: usize,
    /// When it came, among all places.
    came: u64,
}

/// Tasks by place.
pub struct Places<T> {
    places: HashMap<u64, Place<T>>,
    /// Places with tasks that wait: how many lanes are there, when it came, which.
    order: BTreeSet<(usize, u64, u64)>,
    come: u64,
    len: usize,
}

impl<T> Default for Places<T> {
    fn default() -> Places<T> {
        Places { places: HashMap::new(), order: BTreeSet::new(), come: 0, len: 0 }
    }
}

impl<T> Places<T> {
    /// Tasks that wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True when none waits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a task.
    pub fn put(&mut self, place: u64, task: T) {
        let come = &mut self.come;
        let here = self.places.entry(place).or_insert_with(|| {
            *come += 1;
            Place { waiting: VecDeque::new(), lanes: 0, came: *come }
        });
        if here.waiting.is_empty() {
            self.order.insert((here.lanes, here.came, place));
        }
        here.waiting.push_back(task);
        self.len += 1;
    }

    /// Moves up to `max` tasks of one place to `into`; a lane is there then, until `leave`. None where none waits.
    pub fn take(&mut self, max: usize, into: &mut Vec<T>) -> Option<u64> {
        let (_, _, place) = self.order.pop_first()?;
        let here = self.places.get_mut(&place).expect("a place is known while tasks wait for it");
        let some = max.clamp(1, here.waiting.len());
        into.extend(here.waiting.drain(..some));
        self.len -= some;
        here.lanes += 1;
        if !here.waiting.is_empty() {
            self.order.insert((here.lanes, here.came, place));
        }
        Some(place)
    }

    /// A lane has left the place.
    pub fn leave(&mut self, place: u64) {
        let here = self.places.get_mut(&place).expect("a place is known while a lane is there");
        let waits = self.order.remove(&(here.lanes, here.came, place));
        here.lanes -= 1;
        if waits {
            self.order.insert((here.lanes, here.came, place));
        } else if here.lanes == 0 {
            self.places.remove(&place);
        }
    }

    /// Takes out all tasks.
    pub fn clear(&mut self) -> usize {
        self.order.clear();
        self.places.values_mut().for_each(|place| place.waiting.clear());
        self.places.retain(|_, place| place.lanes > 0);
        std::mem::take(&mut self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(places: &mut Places<u32>, max: usize) -> (Option<u64>, Vec<u32>) {
        let mut some = Vec::new();
        (places.take(max, &mut some), some)
    }

    #[test]
    fn lanes_go_where_the_fewest_are_and_then_where_tasks_wait_longest() {
        let mut places = Places::default();
        for (place, task) in [(7, 1), (7, 2), (7, 3), (5, 4), (5, 5), (9, 6)] {
            places.put(place, task);
        }
        assert_eq!(take(&mut places, 1), (Some(7), vec![1]));
        assert_eq!(take(&mut places, 1), (Some(5), vec![4]));
        assert_eq!(take(&mut places, 9), (Some(9), vec![6]));
        assert_eq!(take(&mut places, 1), (Some(7), vec![2]), "one lane in each; the oldest");
        places.leave(5);
        assert_eq!(take(&mut places, 0), (Some(5), vec![5]));
        places.leave(7);
        places.leave(7);
        places.put(9, 8);
        assert_eq!(take(&mut places, 1), (Some(7), vec![3]));
        assert_eq!((places.len(), take(&mut places, 1)), (1, (Some(9), vec![8])));
        assert_eq!(take(&mut places, 1), (None, vec![]));
        [5, 7, 9, 9].into_iter().for_each(|place| places.leave(place));
        assert!(places.is_empty() && places.places.is_empty() && places.order.is_empty());
    }

    #[test]
    fn what_is_cleared_is_counted_and_lanes_may_leave_after() {
        let mut places = Places::default();
        (0..10).for_each(|i| places.put(i % 3, i as u32));
        assert_eq!(take(&mut places, 2).1.len(), 2);
        assert_eq!((places.clear(), places.len()), (8, 0));
        places.leave(0);
        assert!(places.places.is_empty());
        places.put(0, 1);
        assert_eq!(take(&mut places, 5), (Some(0), vec![1]));
    }
}
