//! `parrm`: GNU rm's command line over parallel removal.

mod age;
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

/// Runs parrm with what follows its name.
pub fn run(args: Vec<OsString>) -> Exit {
    let program = Program {
        name: "parrm",
        parse: low::parse,
        help: low::help,
        tell: |low| &low.output.tell,
        high: High::new,
        run: run::run,
        fatal: (Exit::Partly, None),
    };
    program.run(args)
}
