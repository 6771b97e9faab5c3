//! The tests of parfs that need nothing but this machine: no root, loopback only.

mod transport;
