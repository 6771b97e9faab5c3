//! The tests that see parfs from outside, in one binary, so that the library is linked once. No root, loopback only.

#![allow(clippy::unwrap_used)] // a test that panics has failed, which is what is wanted

mod ask;
mod cli;
mod cli_nfs;
mod cli_support;
mod conformance;
mod golden;
mod model;
mod tidy;
mod transport;
