//! One integration binary: what parfs promises to those who run it.

#![allow(clippy::unwrap_used)] // a test that panics has failed, which is what is wanted

mod cli;
mod cli_nfs;
mod cli_support;
mod golden;
