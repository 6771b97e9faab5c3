//! Who does the work: a crew of lanes (threads), the bytes they may hold, when they stop, what failed, and in which
//! order completions are told. Knows no storage but the numbers of a `Shape`, no mounts, and draws nothing.

pub(crate) mod agenda;
pub(crate) mod budget;
pub(crate) mod flight;
pub(crate) mod places;
pub(crate) mod report;
pub(crate) mod scope;
pub(crate) mod sequencer;
pub(crate) mod stop;

use std::sync::Arc;

use thiserror::Error;

use crate::base::Pace;
use crate::storage::Shape;

pub(crate) use agenda::{Agenda, Class, Due};
pub(crate) use budget::{Budget, Permit};
pub(crate) use flight::{Flight, Ticket};
pub(crate) use places::{Places, Seat};
pub use report::Report;
pub(crate) use scope::Scope;
pub(crate) use sequencer::Sequencer;
pub use stop::Stop;

/// More lanes than this are refused: each is a thread with a stack.
pub const LANES_MAX: usize = 4096;

/// Why there is no crew.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say it
pub enum CrewError {
    #[error("{0} lanes are more than the {LANES_MAX} that are possible")]
    TooMany(usize),
    #[error(
        "cannot start {0} lanes: {1}; give fewer with -P, or raise ulimit -u or the container's limit of processes"
    )]
    Threads(usize, rayon::ThreadPoolBuildError),
}

/// A fixed number of lanes and what they share. Blocking calls in a lane are intended: a lane is there to wait for
/// its window of calls.
pub struct Crew {
    pool: rayon::ThreadPool,
    shape: Shape,
    budget: Budget,
    stop: Stop,
    report: Report,
    /// What counts its tasks in a rehearsal.
    counted: Option<scope::Counted>,
}

impl Crew {
    /// `shape.lanes` named threads (at least one) that together hold at most `budget_bytes` of data.
    pub fn new(shape: Shape, budget_bytes: u64) -> Result<Crew, CrewError> {
        Crew::of_threads(shape, usize::MAX, budget_bytes, Stop::default())
    }

    /// The same with `threads` of them, where that is less: for tasks that wait neither for a server nor for each other, and of which
    /// it makes no difference how many run at once. `stop` ends its run early.
    pub fn of_threads(shape: Shape, threads: usize, budget_bytes: u64, stop: Stop) -> Result<Crew, CrewError> {
        let shape = Shape { lanes: shape.lanes.max(1), window: shape.window.max(1) };
        if shape.lanes > LANES_MAX {
            return Err(CrewError::TooMany(shape.lanes));
        }
        let threads = threads.clamp(1, shape.lanes);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).thread_name(|i| format!("lane {i}")).build();
        let pool = pool.map_err(|error| CrewError::Threads(threads, error))?;
        Ok(Crew {
            pool,
            shape,
            budget: Budget::new(budget_bytes, stop.clone()),
            stop,
            report: Report::default(),
            counted: None,
        })
    }

    /// For a rehearsal, whose time is `pace`'s.
    pub fn at_pace(self, pace: &Arc<Pace>) -> Crew {
        let tasks = scope::Tasks::new(self.pool.current_num_threads());
        Crew { counted: Some(scope::Counted { pace: pace.clone(), tasks }), ..self }
    }

    /// Lanes and window, each at least 1.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The bytes the crew may hold.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// The flag that ends the run early.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// What failed so far.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Runs `producer` on the calling thread; what it spawns runs in the lanes. Returns when all tasks have ended.
    /// A panic in a lane is raised again here.
    pub fn run<'scope, R>(&self, producer: impl FnOnce(&Scope<'_, 'scope>) -> R) -> R {
        self.pool.in_place_scope(|inner| {
            // Only as long as it has something to spawn: then it waits for the lanes.
            let _acting = self.counted.as_ref().map(|counted| counted.pace.enter());
            producer(&Scope::new(inner, self.counted.clone()))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn every_task_runs_once_also_those_of_tasks() {
        for lanes in [0, 1, 3] {
            let crew = Crew::new(Shape { lanes, window: 0 }, 1).unwrap();
            let count = AtomicU64::new(0);
            let made = crew.run(|scope| {
                for _ in 0..100 {
                    scope.spawn(|scope| {
                        count.fetch_add(1, Ordering::Relaxed);
                        scope.spawn(|_| {
                            count.fetch_add(1, Ordering::Relaxed);
                        });
                    });
                }
                7
            });
            assert_eq!((made, count.into_inner()), (7, 200));
            assert_eq!(crew.shape(), Shape { lanes: lanes.max(1), window: 1 });
        }
        assert!(matches!(Crew::new(Shape { lanes: 5000, window: 1 }, 1), Err(CrewError::TooMany(5000))));
    }

    #[test]
    fn there_are_as_many_threads_as_are_wanted_whatever_the_shape() {
        for (threads, wanted) in [(0, 1), (1, 1), (2, 2), (9, 3)] {
            let crew = Crew::of_threads(Shape { lanes: 3, window: 4 }, threads, 1, Stop::default()).unwrap();
            let there = AtomicU64::new(0);
            crew.run(|scope| scope.spawn(|_| there.store(rayon::current_num_threads() as u64, Ordering::Relaxed)));
            assert_eq!((there.into_inner(), crew.shape()), (wanted, Shape { lanes: 3, window: 4 }));
        }
    }

    #[test]
    fn a_panic_in_a_lane_is_raised_again_and_frees_what_it_held() {
        let crew = Crew::new(Shape { lanes: 2, window: 1 }, 10).unwrap();
        let flight = Flight::default();
        let raised = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            crew.run(|scope| {
                let (ticket, permit) = (flight.enter(1), crew.budget().acquire(10));
                scope.spawn(move |_| {
                    let _held = (ticket, permit);
                    panic!("a lane's own");
                });
                assert!(!flight.drained());
            });
        }));
        assert!(raised.is_err());
        assert_eq!(crew.budget().held(), 0);
    }
}
