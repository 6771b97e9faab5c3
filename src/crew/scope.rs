//! Where tasks are spawned while a job runs. In a rehearsal it counts who acts: a task does from when a lane is free for it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::base::Pace;

/// Where tasks are spawned while a job runs; a task may spawn further ones, which its lane takes up first.
pub struct Scope<'r, 'scope> {
    inner: &'r rayon::Scope<'scope>,
    counted: Option<Counted>,
}

/// What counts the tasks of a crew.
#[derive(Clone)]
pub(super) struct Counted {
    pub pace: Arc<Pace>,
    pub tasks: Arc<Tasks>,
}

/// How many tasks there are.
#[derive(Debug)]
pub(super) struct Tasks {
    lanes: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Spawned and not begun; for how many of them there is a free lane.
    waiting: usize,
    called: usize,
    /// Begun and not ended.
    under_way: usize,
}

impl Tasks {
    pub fn new(lanes: usize) -> Arc<Tasks> {
        Arc::new(Tasks { lanes, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counted {
    fn spawned(&self) {
        let mut state = self.tasks.state();
        state.waiting += 1;
        if state.called + state.under_way < self.tasks.lanes {
            state.called += 1;
            self.pace.acts(1);
        }
    }

    /// Runs a task that was counted when it was spawned.
    fn run(&self, task: impl FnOnce()) {
        {
            let mut state = self.tasks.state();
            state.waiting -= 1;
            state.under_way += 1;
            match state.called {
                0 => self.pace.acts(1),
                _ => state.called -= 1,
            }
        }
        let _ended = Ended(self);
        let _own = self.pace.adopt();
        task();
    }
}

/// A task has ended, be it by a panic.
struct Ended<'a>(&'a Counted);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        let Counted { pace, tasks } = self.0;
        let mut state = tasks.state();
        state.under_way -= 1;
        // Its lane takes up the next one.
        if state.waiting > state.called {
            state.called += 1;
        } else {
            pace.rests();
        }
    }
}

impl<'r, 'scope> Scope<'r, 'scope> {
    pub(super) fn new(inner: &'r rayon::Scope<'scope>, counted: Option<Counted>) -> Scope<'r, 'scope> {
        Scope { inner, counted }
    }

    /// A lane runs `task`.
    pub fn spawn(&self, task: impl FnOnce(&Scope<'_, 'scope>) + Send + 'scope) {
        let Some(counted) = self.counted.clone() else {
            return self.inner.spawn(move |inner| task(&Scope::new(inner, None)));
        };
        counted.spawned();
        self.inner.spawn(move |inner| counted.run(|| task(&Scope::new(inner, Some(counted.clone())))));
    }
}
