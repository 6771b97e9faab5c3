//! `parrm`: GNU rm's command line over parallel removal.

mod age;
pub mod high;
pub mod low;
pub mod operands;
mod refused;
