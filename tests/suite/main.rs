//! The tests that see parfs from outside, in one binary, so that the library is linked once. No root, loopback only.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a test may panic: it has failed then; and says its seed

mod ask;
mod books;
mod cli;
mod cli_nfs;
mod cli_support;
mod conformance;
mod extract;
mod faults;
mod golden;
mod hostile;
mod model;
mod raw;
mod sim;
mod tars;
mod tidy;
mod transport;
mod tree;
