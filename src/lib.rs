//! parfs: parallel file work on NFS. See ARCHITECTURE.md for the house's plan; the modules below are in reading order.
//!
//! The library is for this program, its benches, tests and fuzz targets: what other programs may rely on is the command line and the reports
//! (CHANGELOG.md). `packaging/surface.txt` holds the names that it shows.

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
