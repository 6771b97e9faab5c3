//! Options that the commands share, and clap's errors in the words of the tools they stand in for.

use std::ffi::OsString;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Command, ValueEnum};

use crate::base::units::{parse_bytes, parse_duration};

/// Threads and windows at most; beyond it a typing error is likelier than a wish.
pub const PARALLEL_MAX: usize = 1024;

/// How much at once.
#[derive(Clone, Debug, Args)]
#[allow(missing_docs)] // the help texts are the docs
pub struct ParallelFlags {
    /// Threads, together over all targets [default: what the targets suggest]
    #[arg(short = 'P', long, alias = "lanes", value_name = "N", value_parser = threads, allow_hyphen_values = true)]
    pub parallel: Option<usize>,
    /// Operations that each thread keeps in flight [default: what the targets suggest]
    #[arg(long, value_name = "N", value_parser = window, allow_hyphen_values = true)]
    pub window: Option<usize>,
    /// Stay below N IOPS of OCI's price list on each mount target, and on each file system of this host's disks
    #[arg(long, value_name = "N", value_parser = iops, allow_hyphen_values = true)]
    pub max_iops: Option<u64>,
    /// Work through all of these mounts of one export, where an operand is on one of them (again for another export)
    /// [default: those found that show the same file system]
    #[arg(long, value_name = "DIR,DIR...", allow_hyphen_values = true)]
    pub mounts: Vec<OsString>,
    /// Work only through the mount that an operand is on
    #[arg(long)]
    pub no_spread: bool,
}

/// How progress is shown where it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProgressForm {
    /// A line for people
    Line,
    /// JSON for programs
    Json,
}

/// What is told, and where.
#[derive(Clone, Debug, Args)]
#[allow(missing_docs)]
pub struct TellFlags {
    /// Write what the run did and cost to FILE as JSON, also when it fails; an earlier report there is emptied first
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub report: Option<OsString>,
    /// Append what happens to FILE, a JSON document a line: the beginning, messages, each failure, progress every 10 s, the end
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub log: Option<OsString>,
    /// Answer Prometheus at http://ADDR/metrics while the run goes on: HOST:PORT, or a PORT of 127.0.0.1
    #[arg(long, value_name = "ADDR", value_parser = endpoint)]
    pub metrics: Option<String>,
    /// Show progress on stderr (default when it is a terminal); json: a document a line each second
    #[arg(
        long,
        value_name = "FORM",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "line",
        overrides_with = "no_progress"
    )]
    pub progress: Option<ProgressForm>,
    /// Show no progress
    #[arg(long, overrides_with = "progress")]
    pub no_progress: bool,
    /// This help
    #[arg(long)]
    pub help: bool,
    /// The version
    #[arg(long)]
    pub version: bool,
}

fn between(text: &str, max: usize, what: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| (1..=max).contains(n)).ok_or_else(|| format!("{what}, 1 to {max}"))
}

/// Of `-P`.
pub fn threads(text: &str) -> Result<usize, String> {
    between(text, PARALLEL_MAX, "-P is the number of threads")
}

/// Of `--window`.
pub fn window(text: &str) -> Result<usize, String> {
    between(text, PARALLEL_MAX, "operations in flight of each thread")
}

/// For options: bytes, or bytes a second, of which there has to be one.
pub fn bytes(text: &str) -> Result<u64, String> {
    let bytes = parse_bytes(text).map_err(|error| error.to_string())?;
    if bytes == 0 { Err("a size above 0".into()) } else { Ok(bytes) }
}

/// For options: what ceilings are multiplied by. Far beyond any server it would make figures that are no numbers.
pub fn scale(text: &str) -> Result<f64, String> {
    let n = text.parse().ok().filter(|n: &f64| (1e-6..=1e6).contains(n));
    n.ok_or_else(|| "a factor such as 0.1, from 0.000001 to 1000000".into())
}

/// For options: the answer time of a server.
pub fn latency(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    let is_well = (Duration::from_micros(1)..=Duration::from_secs(60)).contains(&time);
    if is_well { Ok(time) } else { Err("from 1us to a minute".into()) }
}

fn endpoint(text: &str) -> Result<String, String> {
    let port = text.rsplit_once(':').map_or(text, |(_, port)| port);
    port.parse::<u16>().map(|_| text.to_string()).map_err(|_| "HOST:PORT, or a port of 127.0.0.1".into())
}

fn iops(text: &str) -> Result<u64, String> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| "a whole number of IOPS above 0".into())
}

/// clap's error in the words of GNU's getopt.
pub fn complaint(command: &Command, error: &clap::Error) -> String {
    let argument = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) => argument.as_str(),
        _ => "",
    };
    if error.kind() == ErrorKind::UnknownArgument {
        let longs = command.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(|arg| arg.get_long());
        let typed = argument.trim_start_matches("--");
        let possible: Vec<String> = longs.filter(|l| l.starts_with(typed)).map(|l| format!("'--{l}'")).collect();
        return match possible.len() {
            2.. if argument.starts_with("--") && !typed.is_empty() => {
                format!("option '{argument}' is ambiguous; possibilities: {}", possible.join(" "))
            }
            // What is left of letters at a hyphen, as in -no-D.
            _ if argument == "--" => "invalid option -- '-'; what is more than a letter begins with two hyphens".into(),
            _ => format!("unrecognized option '{argument}'"),
        };
    }
    let text = error.to_string();
    text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_that_nobody_means_are_refused() {
        assert_eq!((bytes("1k"), bytes("0").is_err()), (Ok(1024), true));
        assert_eq!([scale("0.25"), scale("1e6")], [Ok(0.25), Ok(1e6)]);
        for bad in ["0", "-1", "nan", "inf", "1e7", "1e-7", ""] {
            assert!(scale(bad).unwrap_err().contains("from 0.000001 to 1000000"), "{bad}");
        }
        assert_eq!([latency("1us"), latency("1m")], [Ok(Duration::from_micros(1)), Ok(Duration::from_secs(60))]);
        for bad in ["0", "0.5us", "61s", "99999999999999s"] {
            assert_eq!(latency(bad).unwrap_err(), "from 1us to a minute", "{bad}");
        }
    }
}
