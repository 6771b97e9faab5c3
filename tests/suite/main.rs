//! The tests that see parfs from outside, in one binary, so that the library is linked once. No root, loopback only.

#![allow(clippy::unwrap_used)] // a test that panics has failed, which is what is wanted

mod ask;
mod books;
mod cli;
mod cli_nfs;
mod cli_support;
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
mod conformance;
