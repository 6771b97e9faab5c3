//! `parfs plan`: what a job will cost, before it runs.

mod explain;
pub mod forecast;
mod svg;

use std::ffi::OsString;

use super::Exit;

/// Runs `parfs plan` with what follows it.
pub fn run(args: Vec<OsString>) -> Exit {
    forecast::run(args)
}
