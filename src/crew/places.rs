//! Tasks that wait, by the place that they change. Where names of one directory are made one after the other, lanes had best
//! be in different ones: the place that the fewest lanes are at goes first, of those the one that has waited longest. So the
//! oldest place always has a lane, and as many as are left over when places are few.
//!
//! Leaves out any order of importance, and limits: who puts tasks in bounds them.

use std::collections::{BTreeSet, HashMap, VecDeque};

/// Where a lane is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seat {
    /// The place.
    pub place: u64,
    /// When the place came, among all places: a number that spreads places over whatever there are several of.
    pub came: u64,
    /// The lane's number at the place: the smallest that no other lane there has.
    pub slot: usize,
    /// How many places have tasks that wait, or lanes.
    pub places: usize,
}

/// The tasks of one place.
struct Place<T> {
    waiting: VecDeque<T>,
    lanes: usize,
    /// Which slots are taken.
    slots: Vec<bool>,
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
            Place { waiting: VecDeque::new(), lanes: 0, slots: Vec::new(), came: *come }
        });
        if here.waiting.is_empty() {
            self.order.insert((here.lanes, here.came, place));
        }
        here.waiting.push_back(task);
        self.len += 1;
    }

    /// Moves up to `max` tasks of one place to `into`; a lane is there then, until `leave`. None where none waits.
    pub fn take(&mut self, max: usize, into: &mut Vec<T>) -> Option<Seat> {
        let places = self.places.len();
        let (_, _, place) = self.order.pop_first()?;
        let here = self.places.get_mut(&place).expect("a place is known while tasks wait for it");
        let some = max.clamp(1, here.waiting.len());
        into.extend(here.waiting.drain(..some));
        self.len -= some;
        here.lanes += 1;
        let slot = here.slots.iter().position(|taken| !taken).unwrap_or(here.slots.len());
        here.slots.resize(here.slots.len().max(slot + 1), false);
        here.slots[slot] = true;
        let came = here.came;
        if !here.waiting.is_empty() {
            self.order.insert((here.lanes, came, place));
        }
        Some(Seat { place, came, slot, places })
    }

    /// A lane has left the place.
    pub fn leave(&mut self, seat: Seat) {
        let place = seat.place;
        let here = self.places.get_mut(&place).expect("a place is known while a lane is there");
        let waits = self.order.remove(&(here.lanes, here.came, place));
        here.lanes -= 1;
        here.slots[seat.slot] = false;
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
        (places.take(max, &mut some).map(|seat| seat.place), some)
    }

    fn at(place: u64, slot: usize) -> Seat {
        Seat { place, slot, ..Seat::default() }
    }

    #[test]
    fn lanes_at_one_place_have_different_slots() {
        let mut places = Places::default();
        (0..9).for_each(|i| places.put(7, i));
        places.put(8, 9);
        let mut seat = || places.take(1, &mut Vec::new()).unwrap();
        let seats = [seat(), seat(), seat(), seat()];
        assert_eq!(seats.map(|seat| (seat.place, seat.slot)), [(7, 0), (8, 0), (7, 1), (7, 2)]);
        assert_eq!(seats.map(|seat| (seat.came, seat.places)), [(1, 2), (2, 2), (1, 2), (1, 2)]);
        places.leave(seats[2]);
        assert_eq!(places.take(1, &mut Vec::new()).map(|seat| seat.slot), Some(1));
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
        places.leave(at(5, 0));
        assert_eq!(take(&mut places, 0), (Some(5), vec![5]));
        places.leave(at(7, 0));
        places.leave(at(7, 1));
        places.put(9, 8);
        assert_eq!(take(&mut places, 1), (Some(7), vec![3]));
        assert_eq!((places.len(), take(&mut places, 1)), (1, (Some(9), vec![8])));
        assert_eq!(take(&mut places, 1), (None, vec![]));
        [(5, 0), (7, 0), (9, 0), (9, 1)].into_iter().for_each(|(place, slot)| places.leave(at(place, slot)));
        assert!(places.is_empty() && places.places.is_empty() && places.order.is_empty());
    }

    #[test]
    fn what_is_cleared_is_counted_and_lanes_may_leave_after() {
        let mut places = Places::default();
        (0..10).for_each(|i| places.put(i % 3, i as u32));
        assert_eq!(take(&mut places, 2).1.len(), 2);
        assert_eq!((places.clear(), places.len()), (8, 0));
        places.leave(at(0, 0));
        assert!(places.places.is_empty());
        places.put(0, 1);
        assert_eq!(take(&mut places, 5), (Some(0), vec![1]));
    }
}
