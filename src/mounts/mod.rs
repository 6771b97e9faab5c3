//! What carries out calls.
pub mod nfs;
