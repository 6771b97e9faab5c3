//! The tests of parfs that need nothing but this machine: no root, loopback only.

#![allow(clippy::unwrap_used)] // a test that panics has failed, which is what is wanted

mod cli;
mod cli_nfs;
mod cli_support;
mod golden;
mod transport;
mod tidy;
