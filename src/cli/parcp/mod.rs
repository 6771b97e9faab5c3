//! `parcp`: the command lines of cp and rsync over parallel copying.

pub mod high;
pub mod low;
pub mod preserve;
mod rate;
mod refused;
