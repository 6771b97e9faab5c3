//! What to do, as tasks that make calls. Knows no back end.

pub mod acl;
pub mod compare;
pub mod copy;
pub mod create;
pub mod extract;
pub mod live;
pub mod members;
pub mod mode;
mod port;
pub mod remove;
pub mod select;
pub mod transform;
mod write;

pub use live::Live;
