//! What to do, as tasks that make calls. Knows no back end.

pub mod copy;
pub mod extract;
pub mod live;
mod port;
pub mod remove;
pub mod select;
mod write;

pub use live::Live;
