//! The tests that see parfs from outside, in one binary: no root, loopback only.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // tests: helpers may unwrap, failures show what led to them

mod apart;
mod ask;
mod books;
mod cli;
mod cli_cp;
mod cli_mounts;
mod cli_nfs;
mod cli_rm;
mod cli_support;
mod clients;
mod compat;
mod conformance;
mod copies;
mod copy;
mod copy_faults;
mod copy_kill;
mod copy_regressions;
mod copy_trees;
mod edits;
mod extract;
mod extract_attributes;
mod faults;
mod golden;
mod hostile;
mod imagined;
mod memory;
mod model;
mod nasty;
mod network;
mod random;
mod raw;
mod remove;
mod remove_faults;
mod remove_network;
mod remove_odd;
mod remove_regressions;
mod shadow;
mod sim;
mod strict;
mod tars;
mod tidy;
mod transport;
mod tree;
mod trees;
