//! `parfs load`: fio's command line, and what comes of it. Also run as `parload`, and by any link whose name ends in `fio`.
//!
//! Promises: stdout (or `--output`'s file) holds what fio would print there, a JSON or terse document alone; stderr is empty when all went
//! well; the exit status is the number of failed jobs, 1 for a command line that is none, 128 after a signal.
//! Leaves out: the language, the numbers and the measuring, which are `load`'s.

mod aggregate;
mod compare;
mod disks;
mod eta;
pub(super) mod forecast;
mod here;
pub(super) mod inputs;
mod out;
mod places;
mod report;
mod run;
mod steps;
pub(super) mod words;

use std::ffi::OsString;
use std::sync::Arc;

use crate::load::commandline::{self, Asked};
use crate::load::general::{General, Traces};
use crate::load::output::machine;
use crate::load::run::IdleProf;

use super::Exit;
use super::console::Console;

/// What reports say the program is: readers cut at dots and compare with `fio-3`; the format is 3.42's.
pub fn version() -> String {
    format!("fio-3.42-parfs-{}", env!("CARGO_PKG_VERSION"))
}

/// Runs the command line `args`, without the program's name.
pub fn run(args: Vec<OsString>) -> Exit {
    let console = Arc::new(Console::new("fio"));
    let mut typed = Vec::with_capacity(args.len());
    for arg in args {
        match arg.into_string() {
            Ok(word) => typed.push(word),
            Err(arg) => return refused(&console, &format!("fio: '{}' is not UTF-8", arg.to_string_lossy())),
        }
    }
    match commandline::parse(&typed) {
        Err(error) => {
            if matches!(error, commandline::LineError::NoJob { .. }) {
                console.print(words::USAGE.trim_end());
                console.flush();
            }
            refused(&console, &error.to_string())
        }
        Ok(Asked::Version) => super::shown(&console, &version()),
        Ok(Asked::Help) => super::shown(&console, &words::help()),
        Ok(Asked::CommandHelp(name)) => match words::command_help(name.as_deref()) {
            Ok(text) => super::shown(&console, text.trim_end()),
            Err(text) => refused(&console, &text),
        },
        Ok(Asked::EngineHelp(name)) => match words::engine_help(name.as_deref()) {
            Ok(text) => super::shown(&console, text.trim_end()),
            Err(text) => refused(&console, &text),
        },
        Ok(Asked::DebugHelp) => {
            super::shown(&console, &format!("fio: dumping debug options:{},all", Traces::NAMES.join(",")))
        }
        Ok(Asked::Calibrate(general)) => match calibrated(&general) {
            Ok(out) => run::ended(&console, &out, Exit::Success),
            Err(text) => refused(&console, &text),
        },
        Ok(Asked::Compare(first, second)) => match compare::compared(&first, &second) {
            Ok(text) => super::shown(&console, &text),
            Err(text) => refused(&console, &text),
        },
        Ok(Asked::Run(line)) => match inputs::gather(*line) {
            Err(text) => refused(&console, &text),
            Ok(gathered) => {
                super::host::allow_open_files();
                super::host::beside(|| run::run(&console, gathered))
            }
        },
    }
}

/// `--idle-prof=calibrate`: told whatever the format.
fn calibrated(general: &General) -> Result<out::Out, String> {
    let out = out::Out::open(general)?;
    out.write(&machine::idleness(&IdleProf::calibrate()?.calibration()));
    Ok(out)
}

/// Nothing was done: exit status 1, as fio's.
fn refused(console: &Console, text: &str) -> Exit {
    console.line(text);
    Exit::Partly
}
