//! What to do, as tasks that make calls. Knows no back end.

pub mod acl;
mod charset;
pub(crate) mod compare;
pub mod copy;
pub mod create;
pub mod extract;
mod first_met;
mod inside;
pub(crate) mod live;
mod made_up;
pub(crate) mod members;
pub(crate) mod mode;
mod moved;
mod port;
pub mod remove;
pub mod select;
pub(crate) mod transform;
mod write;
mod xattr_masks;

pub use live::Live;
pub use xattr_masks::XattrMasks;
