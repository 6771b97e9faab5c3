//! `parfs plan WHAT`: questions about what is not there yet, answered by arithmetic. Each WHAT has its own command line.

mod capacity;
mod explain;
mod forecast;
mod imagined;
mod load;
mod svg;
mod volume;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use clap::Command;
use serde::Serialize;

use crate::base::units::grouped;
use crate::plan::BadProfile;

use super::Exit;
use super::console::{Console, reason};
use super::flags::bytes;

/// Bytes read of a profile.
const PROFILE_BYTES_MAX: u64 = 1 << 20;

/// Operations a second that may be asked for: beyond it sums lose their last digits.
const RATE_MAX: f64 = 1e12;

/// Bytes of one I/O that may be asked for; beyond it a typing error is likelier than a wish.
const IO_BYTES_MAX: u64 = 1 << 40;

/// What `parfs plan --help` prints.
const HELP: &str = "\
Answers what a job, a load or a layout of storage will take, before it is there

Usage: parfs plan [OPTION...] JOB [ARGUMENT...]
       parfs plan capacity|volume [OPTION...]
       parfs plan load [OPTION...] JOB FILE|JOB OPTION...

What:
  extract   A job's cost and time by the number of mount targets, from its own command line: partar -x ...
  create    ... partar -c, -r or -u ...
  copy      ... parcp ...
  remove    ... parrm ...
  capacity  How many mount targets a load of reads and writes needs, and what a number of them gives
  load      What a job of parfs load gives by the number of mount targets, from its own command line
  volume    What block volumes give by size, level, attachment and host, and which mixes reach a goal

capacity, load and volume have their own --help. Of the jobs:
";

/// The parsers of forecasts, capacity, volume and load.
pub fn each() -> [Command; 4] {
    [forecast::command(), capacity::command(), volume::command(), load::command()]
}

/// The planner with what it plans, for completions.
pub fn commands() -> Command {
    let [forecast, capacity, volume, load] = each();
    let named = |command: Command, name: &'static str| command.name(name);
    // A job's word is a command with options of its own, which a value with arguments behind it is not to a shell.
    let options = forecast.get_arguments().filter(|arg| !arg.is_positional()).cloned();
    let plan = Command::new("plan").about(forecast.get_about().cloned().unwrap_or_default()).args(options);
    let plan = plan.version(env!("CARGO_PKG_VERSION")).disable_version_flag(true).subcommands(forecast::jobs());
    plan.subcommands([named(capacity, "capacity"), named(volume, "volume"), named(load, "load")])
}

/// Runs the planner with what follows `parfs plan`.
pub fn run(args: Vec<OsString>) -> Exit {
    let console = Console::new("parfs plan");
    let Some(first) = args.first() else {
        console.line(HELP.trim_end());
        return Exit::Failure;
    };
    let rest: Vec<OsString> = args.iter().skip(1).cloned().collect();
    let refuse = |text: String| {
        console.message(text);
        Exit::Failure
    };
    match first.to_string_lossy().as_ref() {
        "capacity" => capacity::run(rest),
        "volume" => volume::run(rest),
        "help" if rest.first().is_some_and(|word| !word.to_string_lossy().starts_with('-')) => {
            run(vec![rest[0].clone(), "--help".into()])
        }
        "-V" => forecast::run(vec!["--version".into()]),
        "--help" | "-h" | "help" => super::shown(&console, &format!("{HELP}\n{}", forecast::help())),
        "load" => load::run(rest),
        word if word.starts_with('-') => match behind_options(&args) {
            Some(args) => run(args),
            None => forecast::run(args),
        },
        word if forecast::is_job(word) => forecast::run(args),
        other => refuse(format!("nothing called '{other}' can be planned; see parfs plan --help")),
    }
}

/// What has options of its own and stands behind options that forecasts have as well, put in front of them.
fn behind_options(args: &[OsString]) -> Option<Vec<OsString>> {
    let mut at = 0;
    while let Some(word) = args.get(at).and_then(|word| word.to_str()) {
        at += match word {
            "capacity" | "volume" | "load" => {
                return Some([&args[at..=at], &args[..at], &args[at + 1..]].concat());
            }
            "--json" => 1,
            "--targets" | "--latency" | "--rtt" | "--profile" | "--scale" => 2,
            other if other.starts_with("--") && other.contains('=') => 1,
            _ => return None,
        };
    }
    None
}

/// The profile in FILE as `parse` reads it; without one the built-in profile.
fn profile<P>(
    file: Option<&Path>,
    built_in: fn() -> P,
    parse: fn(&str, &str) -> Result<P, BadProfile>,
) -> Result<P, String> {
    let Some(path) = file else { return Ok(built_in()) };
    let shown = path.display().to_string();
    let read = || {
        let mut text = String::new();
        let read = File::open(path)?.take(PROFILE_BYTES_MAX + 1).read_to_string(&mut text)?;
        let fits = read as u64 <= PROFILE_BYTES_MAX;
        if fits { Ok(text) } else { Err(io::Error::other("it has more than 1 MiB and is no profile")) }
    };
    let text = read().map_err(|error| format!("{shown}: Cannot read: {}", reason(&error)))?;
    parse(&shown, &text).map_err(|error| error.to_string())
}

/// One JSON document for a plan: what every plan says, and its own fields beside it.
#[derive(Serialize)]
struct Document<'a, J: Serialize> {
    schema: u32,
    program: &'static str,
    version: &'static str,
    /// The profile, and where its figures are from.
    profile: &'a str,
    source: &'a str,
    #[serde(flatten)]
    plan: &'a J,
}

/// A plan that is ready to be told.
struct Told<'a, J: Serialize> {
    program: &'static str,
    profile: &'a str,
    source: &'a str,
    json: bool,
    plan: &'a J,
    lines: Vec<String>,
}

impl<J: Serialize> Told<'_, J> {
    /// Prints it on stdout: for people, or as JSON.
    fn print(&self, console: &Console) -> Result<(), String> {
        if self.json {
            let Told { program, profile, source, plan, .. } = *self;
            let version = env!("CARGO_PKG_VERSION");
            let document = Document { schema: 1, program, version, profile, source, plan };
            console.print(serde_json::to_string_pretty(&document).map_err(|error| error.to_string())?);
        } else {
            self.lines.iter().for_each(|line| console.print(line));
            console.print(format_args!("Figures: {}.", self.source));
        }
        console.flush();
        if console.has_failed() { Err("the plan could not be printed".into()) } else { Ok(()) }
    }
}

/// A share of something for people.
fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// `1 host`, `2 hosts`.
fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(n), if n == 1 { "" } else { "s" })
}

/// Megabytes a second, without digits that nobody reads.
fn mb(bytes_per_s: f64) -> String {
    let mb = bytes_per_s / 1e6;
    if mb < 1_000.0 { format!("{mb:.1}") } else { grouped(mb.round() as u64) }
}

/// For options: how many a second.
fn rate(text: &str) -> Result<f64, String> {
    let n = text.parse().ok().filter(|n: &f64| *n > 0.0 && *n <= RATE_MAX);
    n.ok_or_else(|| "a number above 0, such as 200000".into())
}

/// For options: a whole number from 1 to `max`.
fn whole(text: &str, max: u64) -> Result<u64, String> {
    let n = text.parse().ok().filter(|n| (1..=max).contains(n));
    n.ok_or_else(|| format!("a whole number, 1 to {max}"))
}

/// For options: bytes of an I/O.
fn io_bytes(text: &str) -> Result<u64, String> {
    let io_bytes = bytes(text)?;
    if io_bytes > IO_BYTES_MAX { Err("a size of up to 1T".into()) } else { Ok(io_bytes) }
}
