//! The tests that see parfs from outside, in one binary.

mod extract;
mod tars;
mod tree;
