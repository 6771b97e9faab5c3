//! Help texts: what the options are, from the table itself.

use crate::load::options::{ENGINES, Kind, Spec, TABLE, engine, nearest};

/// What is said when there is no job.
pub const USAGE: &str = "\
parfs load: fio's command lines, job files and reports, for files and for NFS

Usage: parfs load [OPTION...] [JOB FILE...]
       parfs load --name=JOB [JOB OPTION...]

Jobs:
  --name=JOB               Begins a job; what follows are its options (--cmdhelp lists them)
  JOB FILE                 Jobs in sections, as fio takes them; - for standard input
  --section=NAME           Only these sections of job files
  --showcmd                Shows job files as command lines
  --parse-only             Checks jobs, and does nothing
  --readonly               Refuses jobs that write
  --warnings-fatal         Refuses jobs of which a warning would be told
  --max-jobs=N, --alloc-size=KB
                           Taken, and nothing comes of them: as in fio there is room for all jobs

Results:
  --output=FILE            Results go to FILE
  --output-format=FORMAT   terse, json, json+, normal; several with commas
  --minimal, --append-terse, --terse-version=N
                           Terse lines (versions 2 to 5; 3 if not given)
  --bandwidth-log[=NAME]   Bytes a second of all jobs together go to NAME-read_bw.log and so on; NAME is agg if not given
  --status-interval=TIME   Results so far, again and again
  --idle-prof=WHAT         How idle processors were while jobs ran: system (their mean) or percpu (each too); calibrate measures only
                           the unit of work that idle time is told by
  --debug=TYPE,TYPE        Tells line by line of io (each I/O), random (seeds, and where random I/Os go) or all, in the report or, where
                           there is none, on standard error; help lists the types
  --eta=WHEN               The status line: always, never, auto (on a terminal)
  --aux-path=DIR           Where the state files of verify_state_save=1 go
  --eta-interval=TIME, --eta-newline=TIME
                           How often it is refreshed, and goes to a new line

Many targets (not in fio):
  --scale=N,N...           Runs the jobs on the first N of their targets (x_targets=, nfs_url=, directory=), with N times the clones, one
                           number after the other, and prints a table: I/Os a second of each target and in all, how linear that is,
                           priced IOPS against the ceiling of a mount target, forecast and fact, and what bound it
  --sweep OPTION=V,V... [OPTION=V,V...]
                           Runs the jobs with each combination of these values: --sweep bs=4k,8k rwmix=100,70,0
  --scale-ceilings=FACTOR  The targets have FACTOR of the ceilings of an OCI mount target
  --report-html=FILE       The table, IOPS and throughput against targets, latencies over time and cumulative, as one HTML file
  --report-csv=FILE        The table goes to FILE as CSV; with --output-format=json it is in x_scale
  --per-target             Results of each target beneath those of a job, of a URL's hosts together (as x_per_target=1; in JSON x_per_target)
  --x-samples              JSON has x_samples: what each job did in each half second (as x_samples=1)
  --compare A.json B.json  Whether two runs differ: Welch's test on those samples, job by job; exit status 0 whatever it says.
                           Half seconds of one run are not independent, so that a p not far below 0.05 says little

Help:
  --cmdhelp[=OPTION]       Job options
  --enghelp[=ENGINE]       Engines and their options
  --version, --help        The version; this help

Exit status: 0, or how many jobs failed; 1 when a command line or a job file is refused; 128 after a signal.
";

/// `--help`.
pub fn help() -> String {
    USAGE.trim_end().to_owned()
}

/// What [`USAGE`] says of the general option `name`.
pub fn general(name: &str) -> Option<String> {
    let mut lines = USAGE.lines().skip_while(|line| {
        let heads = line.strip_prefix("  --").map(|line| line.split("  ").next().unwrap_or_default());
        let mut names = heads.iter().flat_map(|heads| heads.split(", ")).map(|head| head.trim_start_matches('-'));
        !names.any(|head| head.split(['=', '[', ' ']).next() == Some(name))
    });
    let first = lines.next()?.trim_start().split_once("  ").map_or("", |(_, text)| text.trim());
    let more = lines.take_while(|line| line.starts_with("   ")).map(str::trim);
    let text: Vec<&str> = std::iter::once(first).chain(more).filter(|text| !text.is_empty()).collect();
    Some(text.join(" "))
}

/// What the value of an option is, and what holds without it.
pub fn about(spec: &Spec) -> String {
    let default = if spec.default.is_empty() { String::new() } else { format!("; {} if not given", spec.default) };
    format!("{}{default}", kind(&spec.kind))
}

fn line(spec: &Spec) -> String {
    let aliases = if spec.aliases.is_empty() { String::new() } else { format!(" ({})", spec.aliases.join(", ")) };
    format!("{}{aliases}: {}\n", spec.name, about(spec))
}

fn kind(kind: &Kind) -> String {
    match kind {
        Kind::Text | Kind::TextOrNone => "a text".into(),
        Kind::Names => "names separated by ':'".into(),
        Kind::Choice(words) | Kind::ChoiceMore(words) => format!("one of {}", words.join(", ")),
        Kind::Bool | Kind::Flag => "0 or 1".into(),
        Kind::Int(low, high) => format!("a number from {low} to {high}"),
        Kind::Each(..) => "a number, or one each for reads, writes and trims".into(),
        Kind::Bytes => "a size or count".into(),
        Kind::BytesRange => "a size, or a range".into(),
        Kind::Amount => "a size, or a percentage".into(),
        Kind::EachRange => "a range of sizes, or one each".into(),
        Kind::EachSplit => "SIZE/PERCENT:..., or one each".into(),
        Kind::Time(_) => "a time".into(),
        Kind::TimeRange => "a time, or a range".into(),
        Kind::Floats(..) => "numbers separated by ':'".into(),
        Kind::Cpus => "processors".into(),
    }
}

/// `--cmdhelp`, of one option or of all. An error is for stderr.
pub fn command_help(name: Option<&str>) -> Result<String, String> {
    match name {
        None | Some("all") => Ok(TABLE.iter().map(line).collect()),
        Some(name) => match crate::load::options::find(name) {
            Some(spec) => Ok(line(spec)),
            None => {
                let like = nearest(name).map(|like| format!("\nDid you mean {like}?")).unwrap_or_default();
                Err(format!("No such command: {name}{like}"))
            }
        },
    }
}

/// `--enghelp`, of one engine or which there are. An error is for stderr.
pub fn engine_help(asked: Option<&str>) -> Result<String, String> {
    let Some(asked) = asked else {
        return Ok(format!("Available IO engines:\n{}", ENGINES.map(|name| format!("\t{name}\n")).concat()));
    };
    let (name, option) = asked.split_once(',').map_or((asked, None), |(name, option)| (name, Some(option)));
    let name = engine(name).map_err(|reason| format!("fio: {reason}"))?;
    let mut own =
        TABLE.iter().filter(|spec| spec.engines.contains(&name)).filter(|spec| option.is_none_or(|o| spec.name == o));
    let text: String = own.by_ref().map(line).collect();
    match (text.is_empty(), option) {
        (true, Some(option)) => Err(format!("fio: engine {name} has no option {option}")),
        (true, None) => Ok(format!("{name} has no options of its own\n")),
        (false, _) => Ok(text),
    }
}
