//! The command lines: parse, open volumes, run, print, exit status. The only place where all rooms meet.
//!
//! Each command has what was typed (clap's output) and what it means; only the second looks at the host.

pub mod about;
mod archive;
mod bound;
mod clamped;
mod console;
mod demo;
mod doctor;
mod exit;
mod exports;
mod filter;
mod flags;
mod footprint;
mod host;
mod huge;
mod kernel;
mod lists;
mod load;
mod location;
mod meter;
mod old_style;
mod open;
mod owners;
mod packing;
pub mod pages;
mod parcp;
mod parrm;
mod partar;
mod patience;
mod places;
mod plan;
mod planned;
mod program;
mod readahead;
mod refused;
mod report;
mod session;
mod signals;
mod sim;
mod spread;
mod summary;
mod table;
mod unpack;
mod watch;
mod xz;

use std::ffi::{OsStr, OsString};
use std::path::Path;

pub use exit::{Exit, Fatal};

use console::Console;

/// What `parfs --help` prints.
pub const HELP: &str = "\
Parallel file work on NFS

Usage: parfs COMMAND [ARGUMENT...]

Commands:
  partar, tar  Make, list, compare and extract tar archives with many file operations in flight (also by a link)
  parcp, cp    Copy trees with many NFS operations in flight (also by a link named parcp)
  parrm, rm    Remove trees with many NFS operations in flight (also by a link named parrm)
  plan         Say what a job, a load or a layout of storage will take: cost, time, mount targets, volumes
  doctor       Say what holds this host's NFS mounts, network and disks back, and how to mend it
  load         fio's command lines, job files and reports, for files and NFS (also by a link named parload, or ending in fio)
  sim          Serve NFSv3 on the loopback as a mount target would, with its latency, ceilings and faults
  demo         Show what parallel extraction gains, against simulated mount targets, in a minute

Each command has its own --help.

Options:
  --help       This help
  --version    The version, and what this build is
";

/// The version line of `program`.
pub fn version(program: &str) -> String {
    format!("{program} {}", env!("CARGO_PKG_VERSION"))
}

/// Runs the command line `args`, whose first is the program's name, of a program built so.
pub fn run(args: Vec<OsString>, build: about::Build) -> Exit {
    let mut args = args.into_iter();
    let called = args.next().unwrap_or_default();
    let name = Path::new(&called).file_name().unwrap_or(OsStr::new("parfs")).to_string_lossy().into_owned();
    let rest: Vec<OsString> = args.collect();
    match name.as_str() {
        "partar" => partar::run(rest),
        "parcp" => parcp::run(rest),
        "parrm" => parrm::run(rest),
        "parload" => load::run(rest),
        // Scripts and wrappers call one path, whose name says fio.
        fio if fio.ends_with("fio") => load::run(rest),
        _ => command(rest, build),
    }
}

fn command(args: Vec<OsString>, build: about::Build) -> Exit {
    let console = Console::new("parfs");
    let mut rest = args.into_iter();
    let Some(first) = rest.next() else {
        console.line(HELP.trim_end());
        return Exit::Failure;
    };
    let rest: Vec<OsString> = rest.collect();
    match first.to_string_lossy().as_ref() {
        "partar" | "tar" => partar::run(rest),
        "parcp" | "cp" => parcp::run(rest),
        "parrm" | "rm" => parrm::run(rest),
        "plan" => plan::run(rest),
        "doctor" => doctor::run(rest),
        "load" | "parload" => load::run(rest),
        "sim" => sim::run(rest),
        "demo" => demo::run(rest),
        "help" if !rest.is_empty() => help_of(rest, build),
        "--help" | "-h" | "help" => shown(&console, HELP.trim_end()),
        "--version" | "-V" => shown(&console, &about::text(build)),
        other if other.starts_with('-') => refuse(format_args!("unrecognized option '{other}'; see parfs --help")),
        other => refuse(format_args!("there is no command '{other}'; see parfs --help")),
    }
}

/// What `COMMAND --help` prints, by the words behind `help`; `plan` is the command that has others.
fn help_of(mut words: Vec<OsString>, build: about::Build) -> Exit {
    let more = if words[0] == "plan" { 2 } else { 1 };
    if let Some(odd) = words.get(more) {
        return refuse(format_args!(
            "there is no command '{}' of '{}'; see parfs --help",
            odd.display(),
            words[0].display()
        ));
    }
    if words[0].to_string_lossy().starts_with('-') {
        return command(words, build);
    }
    words.push("--help".into());
    command(words, build)
}

fn refuse(text: impl std::fmt::Display) -> Exit {
    Console::new("parfs").message(text);
    Exit::Failure
}

/// Prints what was asked for.
fn shown(console: &Console, text: &str) -> Exit {
    console.print(text);
    console.flush();
    if console.has_failed() { Exit::Failure } else { Exit::Success }
}

/// Prints clap's help or version on stdout, or its error on stderr.
fn parse_ended(console: &Console, error: &clap::Error) -> Exit {
    let text = error.to_string();
    if error.use_stderr() {
        console.message(text.trim_end().trim_start_matches("error: "));
        return Exit::Failure;
    }
    shown(console, text.trim_end())
}
