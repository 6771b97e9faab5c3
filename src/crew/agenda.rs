//! What there is to do in a tree that is discovered while it is worked on. Lanes take tasks, and what tasks lead to is added.
//!
//! Depth first, so that what waits is bounded by depth and width: a listing goes on only when less than `low_water` of
//! work waits, and of several listings the deepest one goes on. Each level of the tree then holds at most what the lanes listed of
//! it at once, however many entries it has. Leaves out any order among tasks of one depth.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::base::Bell;

use super::budget::LOOK_EVERY;
use super::{Crew, Places, Seat, Stop};

/// What a task does to the agenda.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Leads to nothing new, or to little.
    Work,
    /// Finds more to do.
    List,
}

/// A task to be added.
#[derive(Debug)]
pub struct Due<T> {
    /// What it does to the agenda.
    pub class: Class,
    /// How deep in the tree: deeper ones go first.
    pub depth: u32,
    /// The task.
    pub task: T,
}

/// Tasks by depth.
struct Shelf<T> {
    levels: BTreeMap<u32, Vec<T>>,
    len: usize,
}

impl<T> Shelf<T> {
    fn put(&mut self, depth: u32, task: T) {
        self.levels.entry(depth).or_default().push(task);
        self.len += 1;
    }

    /// Moves up to `max` of the deepest tasks to `into`.
    fn take(&mut self, max: usize, into: &mut Vec<T>) {
        let mut left = max.min(self.len);
        self.len -= left;
        while left > 0 {
            let Some(mut level) = self.levels.last_entry() else { return };
            let tasks = level.get_mut();
            let some = left.min(tasks.len());
            into.extend(tasks.drain(tasks.len() - some..));
            left -= some;
            if tasks.is_empty() {
                level.remove();
            }
        }
    }
}

struct State<T> {
    work: Shelf<T>,
    /// Work that changes one place, when the agenda tells places apart.
    placed: Places<T>,
    lists: Shelf<T>,
    /// Taken and not done; how many of these are listings.
    under_way: usize,
    listing: usize,
    waiting: usize,
    most: usize,
    /// Nothing is left, which was told.
    done: bool,
    /// A lane has panicked.
    broken: bool,
}

/// The place that a task of work changes, if it is one.
pub type PlaceOf<T> = fn(&T) -> Option<u64>;

/// The tasks of a run.
pub struct Agenda<T> {
    state: Mutex<State<T>>,
    changed: Bell,
    low_water: usize,
    lanes: usize,
    stop: Stop,
    place_of: PlaceOf<T>,
}

/// What lanes are told to end by, also when one of them panics.
struct Guard<'a, T>(&'a Agenda<T>);

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Steps that are long look at it.
            self.0.stop.set();
            let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.broken = true;
            self.0.changed.ring(state);
        }
    }
}

impl<T: Send> Agenda<T> {
    /// An empty agenda for the lanes of `crew`; `low_water` is how many tasks of work may wait before listings rest.
    pub fn new(crew: &Crew, low_water: usize) -> Agenda<T> {
        let shelf = || Shelf { levels: BTreeMap::new(), len: 0 };
        let state = State {
            work: shelf(),
            placed: Places::default(),
            lists: shelf(),
            under_way: 0,
            listing: 0,
            waiting: 0,
            most: 0,
            done: false,
            broken: false,
        };
        Agenda {
            state: Mutex::new(state),
            changed: Bell::default(),
            low_water: low_water.max(1),
            lanes: crew.shape().lanes,
            stop: crew.stop().clone(),
            place_of: |_| None,
        }
    }

    /// From now on lanes are kept apart by the places of their work, each of which has one of so many shares. Depth does not count
    /// among work with a place.
    pub fn apart(mut self, place_of: PlaceOf<T>, shares: usize) -> Agenda<T> {
        self.place_of = place_of;
        self.state().placed = Places::shared(shares);
        self
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().expect("nothing panics while it holds the agenda")
    }

    /// Adds tasks.
    pub fn add(&self, due: impl IntoIterator<Item = Due<T>>) {
        self.settle(0, (Class::Work, None), due);
    }

    /// True when a lane waits for something to take.
    pub fn is_waited_at(&self) -> bool {
        self.state().waiting > 0
    }

    /// Adds what `done` taken tasks have led to, and counts them off; the lane has left their place.
    fn settle(&self, done: usize, taken: (Class, Option<Seat>), due: impl IntoIterator<Item = Due<T>>) {
        let (class, seat) = taken;
        let mut state = self.state();
        let mut more = 0;
        for Due { class, depth, task } in due {
            more += 1;
            match (class, (self.place_of)(&task)) {
                (Class::Work, Some(place)) => state.placed.put(place, task),
                (Class::Work, None) => state.work.put(depth, task),
                (Class::List, _) => state.lists.put(depth, task),
            }
        }
        if let Some(seat) = seat {
            state.placed.leave(seat);
        }
        state.under_way -= done;
        state.listing -= if class == Class::List { done } else { 0 };
        state.most = state.most.max(state.work.len + state.placed.len() + state.lists.len);
        // Lanes wait only where there is nothing to take. That all is done is told by the one that finds nothing left under way.
        let wake = more.min(state.waiting);
        self.changed.ring_for(wake, state);
    }

    /// Waits for tasks of one class and moves up to `max` of them to `into`; none when all is done, or stopped.
    /// With the class where the lane is, if they have a place.
    fn take(&self, max: usize, into: &mut Vec<T>) -> Option<(Class, Option<Seat>)> {
        let mut state = self.state();
        loop {
            if state.done || state.broken || self.stop.is_set() {
                return None;
            }
            let class = match (state.work.len + state.placed.len(), state.lists.len) {
                (0, 0) if state.under_way == 0 => {
                    state.done = true;
                    // Once: with a thousand lanes, each of which woke all others, that took seconds.
                    self.changed.ring(state);
                    return None;
                }
                (0, 0) => None,
                (work, lists) if lists > 0 && work < self.low_water => Some(Class::List),
                _ => Some(Class::Work),
            };
            let Some(class) = class else {
                state.waiting += 1;
                state = self.changed.wait_timeout(state, LOOK_EVERY).expect("nothing panics while it holds the agenda");
                state.waiting -= 1;
                continue;
            };
            let mut seat = None;
            // Few tasks are shared out rather than taken by the first who comes.
            if class == Class::Work && state.work.len == 0 {
                let some = max.min(state.placed.len().div_ceil(self.lanes));
                seat = state.placed.take(some, into);
                // Each listing may bring another place.
                let listings = state.lists.len + state.listing;
                seat.iter_mut().for_each(|seat| seat.places += listings);
            } else {
                let shelf = if class == Class::Work { &mut state.work } else { &mut state.lists };
                shelf.take(max.min(shelf.len.div_ceil(self.lanes)), into);
            }
            state.under_way += into.len();
            state.listing += if class == Class::List { into.len() } else { 0 };
            return Some((class, seat));
        }
    }

    /// Lets the lanes of `crew` work until nothing is left to do, or the run is stopped. `step` takes up to `max` tasks of one
    /// class, and of one place where they have places, and says what they led to. Returns how many tasks were left undone.
    pub fn run(
        &self,
        crew: &Crew,
        max: usize,
        step: impl Fn(Class, Option<Seat>, &mut Vec<T>, &mut Vec<Due<T>>) + Sync,
    ) -> usize {
        let step = &step;
        self.state().done = false;
        crew.run(|scope| {
            for _ in 0..self.lanes {
                scope.spawn(move |_| {
                    let _guard = Guard(self);
                    let (mut tasks, mut due) = (Vec::new(), Vec::new());
                    while let Some((class, seat)) = self.take(max.max(1), &mut tasks) {
                        let taken = tasks.len();
                        step(class, seat, &mut tasks, &mut due);
                        tasks.clear();
                        self.settle(taken, (class, seat), due.drain(..));
                    }
                });
            }
        });
        let mut state = self.state();
        let left = state.work.len + state.placed.clear() + state.lists.len;
        let mut rest = Vec::new();
        state.work.take(usize::MAX, &mut rest);
        state.lists.take(usize::MAX, &mut rest);
        left
    }

    /// The most tasks that waited at once.
    pub fn most(&self) -> usize {
        self.state().most
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::storage::Shape;

    fn crew(lanes: usize) -> Crew {
        Crew::new(Shape { lanes, window: 4 }, 1).unwrap()
    }

    /// A tree in the mind: each directory lists `width` entries in pages, half of them directories.
    #[derive(Debug)]
    enum Task {
        List {
            depth: u32,
            next: u64,
        },
        /// With its directory.
        Leaf(u64),
    }

    fn walk(lanes: usize, width: u64, depth_max: u32, apart: bool) -> (u64, usize) {
        let crew = crew(lanes);
        let agenda = Agenda::new(&crew, 4 * lanes);
        let place_of: PlaceOf<Task> = |task| if let Task::Leaf(dir) = task { Some(*dir) } else { None };
        let agenda = if apart { agenda.apart(place_of, 2) } else { agenda };
        let leaves = AtomicU64::new(0);
        agenda.add([Due { class: Class::List, depth: 0, task: Task::List { depth: 0, next: 0 } }]);
        let left = agenda.run(&crew, 4, |class, _, tasks, due| {
            for task in tasks.drain(..) {
                match task {
                    Task::Leaf(_) => {
                        assert_eq!(class, Class::Work);
                        leaves.fetch_add(1, Ordering::Relaxed);
                    }
                    Task::List { depth, next } => {
                        assert_eq!(class, Class::List);
                        for i in next..(next + 10).min(width) {
                            due.push(if i % 2 == 0 && depth < depth_max {
                                let task = Task::List { depth: depth + 1, next: 0 };
                                Due { class: Class::List, depth: depth + 1, task }
                            } else {
                                Due { class: Class::Work, depth: depth + 1, task: Task::Leaf(next / 100) }
                            });
                        }
                        if next + 10 < width {
                            let task = Task::List { depth, next: next + 10 };
                            due.push(Due { class: Class::List, depth, task });
                        }
                    }
                }
            }
        });
        assert_eq!(left, 0);
        (leaves.into_inner(), agenda.most())
    }

    #[test]
    fn every_entry_is_met_once_and_few_wait() {
        // Leaves of depth d: width/2 directories at each level above, width/2 leaves in each, all of them at the last.
        let expected = |width: u64, depth: u32| {
            let half = width / 2;
            (0..depth).map(|d| half.pow(d) * half).sum::<u64>() + half.pow(depth) * width
        };
        let shapes = [(1, 20, 3), (4, 20, 3), (3, 40, 2), (8, 1000, 1), (2, 2, 40)];
        for ((lanes, width, depth), apart) in shapes.into_iter().flat_map(|shape| [(shape, false), (shape, true)]) {
            let (leaves, most) = walk(lanes, width, depth, apart);
            assert_eq!(leaves, expected(width, depth), "{lanes} {width} {depth}");
            // Pages of 10, up to 4 in each lane at once, for each level; and the low water.
            assert!(
                most <= lanes * 4 * 10 * (depth as usize + 1) + 4 * lanes,
                "{most} waited: {lanes} {width} {depth}"
            );
        }
    }

    #[test]
    fn listings_that_wait_or_are_under_way_count_as_places_to_come() {
        let agenda = Agenda::new(&crew(1), 1).apart(|dir: &u64| Some(*dir), 1);
        let due = |class, task| Due { class, depth: 0, task };
        agenda.add([7, 1, 2, 3].map(|dir| due(if dir == 7 { Class::Work } else { Class::List }, dir)));
        let mut tasks = Vec::new();
        let mut take = |most| {
            tasks.clear();
            agenda.take(most, &mut tasks).map(|(class, seat)| (class, seat.map(|seat| seat.places)))
        };
        assert_eq!(take(1), Some((Class::Work, Some(1 + 3))));
        assert_eq!(take(2), Some((Class::List, None)));
        agenda.add([due(Class::Work, 8)]);
        assert_eq!(take(1), Some((Class::Work, Some(2 + 1 + 2))));
        agenda.settle(2, (Class::List, None), [due(Class::Work, 9)]);
        assert_eq!(take(1), Some((Class::Work, Some(3 + 1))));
    }

    #[test]
    fn a_stop_leaves_the_rest_and_a_panic_ends_all_lanes() {
        let crew = crew(2);
        let agenda = Agenda::new(&crew, 1);
        agenda.add((0..100).map(|i| Due { class: Class::Work, depth: 0, task: i }));
        let left = agenda.run(&crew, 1, |_, _, _, _| crew.stop().set());
        assert!((98..100).contains(&left));
        let crew = self::crew(2);
        let agenda = Agenda::new(&crew, 1);
        agenda.add((0..100).map(|i| Due { class: Class::Work, depth: 0, task: i }));
        let run = || agenda.run(&crew, 1, |_, _, _, _| panic!("a lane's own"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
        assert!(crew.stop().is_set(), "a long step would go on");
    }

    #[test]
    fn what_a_step_adds_for_a_lane_that_waits_is_done_meanwhile() {
        let crew = crew(2);
        let agenda = Agenda::new(&crew, 1);
        let due = |task| Due { class: Class::List, depth: 0, task };
        let (came, deadline) = (AtomicU64::new(0), Instant::now() + Duration::from_secs(60));
        let until = |done: &dyn Fn() -> bool| {
            while !done() {
                assert!(Instant::now() < deadline, "no other lane came");
                std::thread::yield_now();
            }
        };
        agenda.add([due(0)]);
        let left = agenda.run(&crew, 1, |_, _, tasks, _| match tasks[0] {
            0 => {
                until(&|| agenda.is_waited_at());
                agenda.add([due(1)]);
                until(&|| came.load(Ordering::Acquire) == 1);
            }
            task => came.store(task, Ordering::Release),
        });
        assert_eq!((left, agenda.is_waited_at()), (0, false));
    }
}
