//! `partar`: GNU tar's command line over parallel extraction.

pub mod high;
pub mod low;
mod refused;
mod run;
mod summary;

use std::ffi::OsString;
use std::sync::Arc;

use super::Exit;
use super::console::Console;
use super::host::{Host, Unclear};

use high::High;

/// Runs partar with what follows its name.
pub fn run(args: Vec<OsString>) -> Exit {
    let console = Arc::new(Console::new("partar"));
    let usage = |text: String| {
        console.message(text);
        console.line("Try 'partar --help' for more information.");
        Exit::Failure
    };
    let low = match low::parse(args) {
        Ok(low) => low,
        Err(text) => return usage(text),
    };
    if low.output.tell.help || low.output.tell.version {
        let text = if low.output.tell.help { low::help() } else { super::version("partar (parfs)") };
        console.print(text.trim_end());
        console.flush();
        return Exit::Success;
    }
    match High::new(low, &Host::here()) {
        Ok(high) => run::run(&high, &console),
        Err(Unclear::Usage(text)) => usage(text),
        Err(Unclear::Fatal(text)) => {
            console.message(text);
            console.message("Error is not recoverable: exiting now");
            Exit::Failure
        }
    }
}
