//! The tests that see parfs from outside, in one binary: no root, loopback only.

mod ask;
mod conformance;
mod model;
mod transport;
