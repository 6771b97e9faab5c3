//! `partar`: GNU tar's command line over parallel work on archives.

mod compare;
pub mod create;
mod creation;
mod dates;
mod environ;
pub mod flags;
pub mod high;
mod index;
pub mod line;
mod list;
mod lock;
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

use high::{High, Mode};

/// The program.
pub fn program() -> Program<low::Low, High> {
    Program {
        name: "partar",
        parse: environ::parse,
        help: low::help,
        tell: |low| &low.output.tell,
        high: High::new,
        run: run::run,
        manner: |high| &mut high.manner,
        job: |high| match high.mode {
            Mode::Extract { .. } => Some("extract"),
            Mode::Create(_) | Mode::Append(_) | Mode::Update(_) => Some("create"),
            Mode::List(_) | Mode::ToStdout(_) | Mode::Compare { .. } => None,
        },
        fatal: (Exit::Failure, Some("Error is not recoverable: exiting now")),
    }
}

/// Runs partar with what follows its name.
pub fn run(args: Vec<OsString>) -> Exit {
    program().run(args)
}
