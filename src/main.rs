//! One binary under several names: `partar` by its own name, or `parfs COMMAND`.

use std::process::ExitCode;

fn main() -> ExitCode {
    parfs::cli::run(std::env::args_os().collect()).into()
}
