//! Directories that were not empty when they were to go, where only empty ones do (`-d`): a list as `find -depth` makes it names a directory
//! behind what is in it, and lanes may be at both. They wait until nothing else is under way, and are tried again as long as that helps.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::crew::{Class, Due};

use super::engine::{Step, Task};
use super::frame::Frame;

/// Directories that wait at first before the list waits too; twice as many each time that trying them again has not helped, for then what is
/// in them may be in the rest of the list.
const WAITING_MIN: usize = 10_000;
/// And at most: this many took 232 MB, of a list of as many directories with one in each behind them. With more, those that are not empty by
/// then are told.
const WAITING_MAX: usize = 160_000;

/// What waits.
pub(super) struct Later<T> {
    frames: Mutex<Vec<Arc<Frame<T>>>>,
    /// Objects removed when nothing was under way the last time.
    before: AtomicU64,
    /// Nothing was removed since: what is not empty now is told.
    told: AtomicBool,
    /// The list waits.
    paused: AtomicBool,
    /// How many wait before it does.
    room: AtomicUsize,
}

impl<T> Default for Later<T> {
    fn default() -> Later<T> {
        Later {
            frames: Mutex::default(),
            before: AtomicU64::default(),
            told: AtomicBool::default(),
            paused: AtomicBool::default(),
            room: AtomicUsize::new(WAITING_MIN),
        }
    }
}

impl<T> Later<T> {
    fn frames(&self) -> MutexGuard<'_, Vec<Arc<Frame<T>>>> {
        self.frames.lock().expect("nothing panics while it holds what waits")
    }

    /// Has a directory wait; false when it is to be told.
    pub fn takes(&self, frame: &Arc<Frame<T>>) -> bool {
        let waits = !self.told.load(Ordering::Relaxed);
        if waits {
            self.frames().push(frame.clone());
        }
        waits
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.frames().len()
    }

    /// True, and noted, where so many wait that no more are to be begun with.
    pub fn pauses_list(&self) -> bool {
        let is_full = self.waiting() >= self.room.load(Ordering::Relaxed);
        self.paused.fetch_or(is_full, Ordering::Relaxed);
        is_full
    }

    /// True where the list was paused, and goes on.
    pub fn resumes_list(&self) -> bool {
        self.paused.swap(false, Ordering::Relaxed)
    }

    /// What to do when nothing is under way any more and so many objects are removed.
    pub fn tries(&self, removed: u64) -> Vec<Due<Task<T>>> {
        let helped = self.before.swap(removed, Ordering::Relaxed) < removed;
        let room = self.room.load(Ordering::Relaxed);
        if !helped && room < WAITING_MAX && self.paused.load(Ordering::Relaxed) {
            self.room.store(room * 2, Ordering::Relaxed);
            return Vec::new();
        }
        let frames = std::mem::take(&mut *self.frames());
        self.told.store(!helped && !frames.is_empty(), Ordering::Relaxed);
        let due =
            |frame: Arc<Frame<T>>| Due { class: Class::Work, depth: frame.depth, task: Task(Step::RmDir { frame }) };
        frames.into_iter().map(due).collect()
    }
}
