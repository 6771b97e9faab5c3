//! `partar`: GNU tar's command line over parallel work on archives.

mod compare;
pub mod create;
mod creation;
mod dates;
pub mod flags;
pub mod high;
mod index;
pub mod list;
pub mod low;
mod output;
mod reading;
mod refused;
mod run;
mod summary;
pub mod to_stdout;
pub mod words;

use std::ffi::OsString;

use super::Exit;
use super::program::Program;

use high::High;

/// Runs partar with what follows its name.
pub fn run(args: Vec<OsString>) -> Exit {
    let program = Program {
        name: "partar",
        parse: low::parse,
        help: low::help,
        tell: |low| &low.output.tell,
        high: High::new,
        run: run::run,
        fatal: (Exit::Failure, Some("Error is not recoverable: exiting now")),
    };
    program.run(args)
}
