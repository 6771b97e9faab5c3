//! Running jobs: what is next, when it may start, what came of it.
//!
//! Promises: every I/O is measured once; what a clone found is its own until it ends, so that measuring takes no lock.
//! Leaves out: how I/O is carried out (`engine`), and how results are shown (`output`).

mod checking;
pub mod choice;
pub mod clock;
pub mod clone;
mod flow;
#[cfg(test)]
mod harness;
pub mod idleness;
mod latest;
pub mod live;
pub mod log;
mod open;
mod passes;
pub mod prepare;
mod prio;
pub mod recorder;
mod replay;
pub mod schedule;
mod slots;
mod state;
pub mod steady;
mod traced;
mod unwritten;
mod upkeep;
pub mod usage;
mod verifiers;

pub use clock::Clock;
pub use clone::{Host, Work, failed, only_create, run, said, unstarted};
pub use idleness::IdleProf;
pub use live::{Live, State};
pub use log::LogFiles;
pub use schedule::{Entry, Schedule};
pub use steady::SteadyWatch;
