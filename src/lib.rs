//! parfs: parallel file work on NFS. See ARCHITECTURE.md for the house's plan; the modules below are in reading order.

pub mod archive;
pub mod base;
pub mod cli;
pub mod crew;
pub mod jobs;
pub mod load;
pub mod mounts;
pub mod plan;
pub mod sim;
pub mod storage;
pub mod wire;
