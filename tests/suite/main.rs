//! The tests that see parfs from outside, in one binary.

mod ask;
mod cli;
mod cli_nfs;
mod cli_support;
mod conformance;
mod golden;
mod model;
mod tidy;
mod transport;
