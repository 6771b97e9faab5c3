//! `parrm`: GNU rm's command line over parallel removal.

mod age;
mod exclude;
pub mod high;
pub mod low;
pub mod operands;
pub mod plan;
mod refused;
mod run;

use std::ffi::OsString;

use super::Exit;
use super::program::Program;

use high::High;

/// The program.
pub fn program() -> Program<low::Low, High> {
    Program {
        name: "parrm",
        parse: low::parse,
        help: low::help,
        tell: |low| &low.output.tell,
        high: High::new,
        run: run::run,
        manner: |high| &mut high.manner,
        job: |_| Some("remove"),
        fatal: (Exit::Partly, None),
    }
}

/// Runs parrm with what follows its name.
pub fn run(args: Vec<OsString>) -> Exit {
    program().run(args)
}
