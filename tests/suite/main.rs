//! The tests that see parfs from outside, in one binary.

mod ask;
mod conformance;
mod model;
mod raw;
mod sim;
