//! The tests that see parfs from outside, in one binary: no root, loopback only.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // tests: helpers may unwrap, failures show what led to them

mod ask;
mod conformance;
mod model;
mod raw;
mod sim;
mod transport;
