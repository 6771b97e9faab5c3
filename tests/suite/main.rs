//! One integration binary: what parfs promises to those who run it.

mod cli;
mod cli_nfs;
mod cli_support;
mod golden;
