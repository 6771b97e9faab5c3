//! The tests that see parfs from outside, in one binary.

mod books;
mod extract;
mod faults;
mod hostile;
mod strict;
mod tars;
mod tree;
