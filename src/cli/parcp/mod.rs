//! `parcp`: the command lines of cp and rsync over parallel copying.

mod across;
pub mod high;
pub mod legs;
pub mod low;
pub mod preserve;
mod rate;
mod refused;
pub mod relation;
mod run;
mod summary;
mod taken;

use std::ffi::OsString;

use super::Exit;
use super::program::Program;

use high::High;

/// The program.
pub fn program() -> Program<low::Low, High> {
    Program {
        name: "parcp",
        parse: low::parse,
        help: low::help,
        tell: |low| &low.output.tell,
        high: High::new,
        run: run::run,
        manner: |high| &mut high.manner,
        job: |_| Some("copy"),
        fatal: (Exit::Partly, None),
    }
}

/// Runs parcp with what follows its name.
pub fn run(args: Vec<OsString>) -> Exit {
    program().run(args)
}
