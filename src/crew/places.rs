//! Tasks that wait, by the place that they change. Where names of one directory are made one after the other, lanes had best
//! be in different ones: the place that the fewest lanes are at goes first, of those the one that has waited longest. So the
//! oldest place always has a lane, and as many as are left over when places are few.
//!
//! Where there are several of what the work is done through, each place gets a share of it when it comes: the one with the
//! fewest tasks. To take turns would give one of them more of what is large, and the last share to end is the run's end.
//!
//! Leaves out any order of importance, and limits: who puts tasks in bounds them.

use std::collections::{BTreeSet, HashMap, VecDeque};

/// Where a lane is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seat {
    /// The place.
    pub place: u64,
    /// The place's share of whatever there are several of.
    pub share: usize,
    /// The lane's number at the place: the smallest that no other lane there has.
    pub slot: usize,
    /// How many places have tasks that wait, or lanes, or are to be expected.
    pub places: usize,
    /// How many tasks waited at the place, those that the lane took among them.
    pub waited: usize,
    /// Tasks that the lane took.
    taken: usize,
}

/// The tasks of one place.
struct Place<T> {
    waiting: VecDeque<T>,
    lanes: usize,
    /// Which slots are taken.
    slots: Vec<bool>,
    /// When it came, among all places.
    came: u64,
    share: usize,
}

/// Tasks by place.
pub struct Places<T> {
    places: HashMap<u64, Place<T>>,
    /// Places with tasks that wait: how many lanes are there, when it came, which.
    order: BTreeSet<(usize, u64, u64)>,
    come: u64,
    len: usize,
    /// How many tasks of each share wait or are under way.
    shares: Vec<usize>,
}

impl<T> Default for Places<T> {
    fn default() -> Places<T> {
        Places::shared(1)
    }
}

impl<T> Places<T> {
    /// None yet; each that comes will have one of so many shares (at least one).
    pub fn shared(shares: usize) -> Places<T> {
        Places { places: HashMap::new(), order: BTreeSet::new(), come: 0, len: 0, shares: vec![0; shares.max(1)] }
    }

    /// Tasks that wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Adds a task.
    pub fn put(&mut self, place: u64, task: T) {
        let (come, shares) = (&mut self.come, &mut self.shares);
        let here = self.places.entry(place).or_insert_with(|| {
            *come += 1;
            // Of equal ones each in turn.
            let turn = (*come % shares.len() as u64) as usize;
            let share = (turn..shares.len()).chain(0..turn).min_by_key(|&share| shares[share]).unwrap_or(0);
            Place { waiting: VecDeque::new(), lanes: 0, slots: Vec::new(), came: *come, share }
        });
        shares[here.share] += 1;
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
        let waited = here.waiting.len();
        let some = max.clamp(1, waited);
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
        Some(Seat { place, share: here.share, slot, places, waited, taken: some })
    }

    /// A lane has left the place.
    pub fn leave(&mut self, seat: Seat) {
        let place = seat.place;
        let here = self.places.get_mut(&place).expect("a place is known while a lane is there");
        let waits = self.order.remove(&(here.lanes, here.came, place));
        here.lanes -= 1;
        here.slots[seat.slot] = false;
        self.shares[here.share] -= seat.taken;
        if waits {
            self.order.insert((here.lanes, here.came, place));
        } else if here.lanes == 0 {
            self.places.remove(&place);
        }
    }

    /// Takes out all tasks.
    pub fn clear(&mut self) -> usize {
        self.order.clear();
        for place in self.places.values_mut() {
            self.shares[place.share] -= place.waiting.len();
            place.waiting.clear();
        }
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
        assert_eq!(seats.map(|seat| (seat.share, seat.places)), [(0, 2); 4]);
        assert_eq!(seats.map(|seat| seat.waited), [9, 1, 8, 7]);
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
        assert!(places.len() == 0 && places.places.is_empty() && places.order.is_empty());
    }

    #[test]
    fn a_place_that_comes_gets_the_share_with_the_fewest_tasks() {
        let mut places = Places::shared(3);
        (0..5).for_each(|task| places.put(10, task));
        (0..2).for_each(|task| places.put(11, task));
        places.put(12, 0);
        places.put(13, 0); // beside 12, which has one
        let mut seats = Vec::new();
        while let Some(seat) = places.take(9, &mut Vec::new()) {
            seats.push(seat);
        }
        let share = |place: u64| seats.iter().find(|seat| seat.place == place).unwrap().share;
        let shares = [10, 11, 12].map(share);
        assert!((0..3).all(|share| shares.contains(&share)) && share(13) == share(12), "{shares:?}");
        assert_eq!(places.shares.iter().sum::<usize>(), 9, "what is under way counts");
        places.put(14, 0);
        assert_eq!(places.take(1, &mut Vec::new()).map(|seat| seat.share), Some(share(11)));
        seats.iter().for_each(|seat| places.leave(*seat));
        assert_eq!(places.shares.iter().sum::<usize>(), 1);
        (0..4).for_each(|task| places.put(15, task));
        places.clear();
        assert_eq!(places.shares.iter().sum::<usize>(), 1, "a lane is still at 14");
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
