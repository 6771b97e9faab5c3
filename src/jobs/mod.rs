//! What to do, as tasks that make calls. Knows no back end.

pub mod extract;
pub mod select;
