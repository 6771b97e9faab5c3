//! `parfs plan load`: what a load job gives on a number of mount targets, from its own command line; nothing is mounted and nothing runs.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Command, CommandFactory, Parser};
use serde::Serialize;

use crate::base::units::{bytes_shown, grouped, io_shown};
use crate::cli::Exit;
use crate::cli::console::Console;
use crate::cli::flags::latency;
use crate::cli::load::{forecast, inputs};
use crate::cli::table::Table;
use crate::load::commandline::{self, Asked as Line};
use crate::load::settings::{Settings, order};
use crate::plan::ServerProfile;
use crate::plan::load::{Asked, Given};

use super::{Told, mb, whole};

const PROGRAM: &str = "parfs plan load";

/// Targets of one question at most; beyond it a typing error is likelier than a wish.
const TARGETS_MAX: u64 = 10_000;

const AFTER_HELP: &str = "\
Behind its own options stands the command line of parfs load, or job files; they are read, and
not run. Each target is taken to have the job's numjobs= clones, as with parfs load --scale. The
forecast is the least of what the IOPS of a target, its bandwidth, the I/Os in flight over the
answer time, and rate= allow. This host's processors and network are left out.

Examples:
  parfs plan load --name=r --ioengine=nfs --nfs_url=nfs://fss/x --rw=randread --bs=32k --iodepth=64
  parfs plan load --targets 1,4 --latency 300us jobs.fio";

/// The command line as it was typed.
#[derive(Clone, Debug, Parser)]
#[command(
    name = PROGRAM,
    version,
    about = "What a job of parfs load will give, by the number of mount targets, before it runs",
    after_help = AFTER_HELP,
    max_term_width = 110
)]
struct Low {
    /// Numbers of mount targets
    #[arg(long, value_name = "N,N...", value_delimiter = ',', default_value = "1,2,4,8", value_parser = targets)]
    targets: Vec<u64>,
    /// Answer time of an idle target [default: the profile's]
    #[arg(long, visible_alias = "rtt", value_name = "TIME", value_parser = latency)]
    latency: Option<Duration>,
    /// Prices and ceilings of a target, as TOML [default: an OCI mount target's]
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Ceilings of a target are the profile's times this
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = crate::cli::flags::scale)]
    scale: f64,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// The command line of parfs load
    #[arg(value_name = "JOB", trailing_var_arg = true, allow_hyphen_values = true)]
    job: Vec<String>,
}

fn targets(text: &str) -> Result<u64, String> {
    whole(text, TARGETS_MAX)
}

/// A job on one target, and on several.
#[derive(Debug, Serialize)]
struct JobPlan {
    job: String,
    /// Options of the job's own --sweep.
    options: Vec<(String, String)>,
    /// What it asks of one target.
    asked: Asked,
    /// Of the I/Os that are given.
    io_price: f64,
    /// What one target gives.
    each: Given,
    rows: Vec<Row>,
}

/// So many targets together.
#[derive(Debug, Serialize)]
struct Row {
    targets: u64,
    ios_per_s: f64,
    bytes_per_s: f64,
}

#[derive(Debug, Serialize)]
struct Plan {
    latency_us: u64,
    jobs: Vec<JobPlan>,
    notes: Vec<String>,
}

/// The parser.
pub fn command() -> Command {
    Low::command()
}

/// Runs it with its options and the job's command line.
pub fn run(args: Vec<OsString>) -> Exit {
    let console = Console::new(PROGRAM);
    let low = match Low::try_parse_from(std::iter::once(PROGRAM.into()).chain(args)) {
        Ok(mut low) => {
            low.targets.sort_unstable();
            low.targets.dedup();
            low
        }
        Err(error) => return crate::cli::parse_ended(&console, &error),
    };
    match answer(&low, &console) {
        Ok(()) => Exit::Success,
        Err(text) => {
            // Messages about jobs are fio's, under its name.
            console.message(text.strip_prefix("fio: ").unwrap_or(&text));
            Exit::Failure
        }
    }
}

fn answer(low: &Low, console: &Console) -> Result<(), String> {
    let mut server = super::profile(low.profile.as_deref(), ServerProfile::oci, ServerProfile::parse)?;
    server.ceiling = server.ceiling.scaled(low.scale);
    let line = match commandline::parse(&low.job).map_err(|error| error.to_string())? {
        Line::Run(line) => *line,
        _ => return Err("what is planned is a job; its help is parfs load --help".into()),
    };
    let gathered = inputs::gather(line)?;
    let latency = low.latency.unwrap_or(server.ceiling.latency);
    let mut plan = Plan {
        latency_us: u64::try_from(latency.as_micros()).unwrap_or(u64::MAX),
        jobs: Vec::new(),
        notes: gathered.notices,
    };
    for (marks, jobs) in &gathered.combinations {
        for job in jobs {
            plan.add(job, marks, (&server, latency), &low.targets);
        }
    }
    if has_company(&gathered.jobs)? {
        plan.notes.push("jobs that run at once share the targets; each is forecast as if it were alone".into());
    }
    if plan.jobs.is_empty() {
        return Err(format!("nothing can be forecast: {}", plan.notes.join("; ")));
    }
    let (profile, source, json) = (server.name.as_str(), server.source.as_str(), low.json);
    let lines = plan.lines(&server, latency);
    Told { program: PROGRAM, profile, source, json, plan: &plan, lines }.print(console)
}

/// True when jobs run beside each other.
fn has_company(jobs: &[Settings]) -> Result<bool, String> {
    let starts = order(jobs)?;
    Ok(starts.iter().any(|one| starts.iter().any(|other| one.job != other.job && one.group == other.group)))
}

impl Plan {
    fn add(
        &mut self,
        job: &Settings,
        marks: &[(String, String)],
        (server, latency): (&ServerProfile, Duration),
        targets: &[u64],
    ) {
        let mut note = |text: String| {
            if !self.notes.contains(&text) {
                self.notes.push(text);
            }
        };
        if !forecast::moves_data(job) {
            return note(format!("{}: ioengine={} reads and writes nothing on a target", job.name, job.engine.name));
        }
        if !forecast::is_priced(job) {
            note(format!(
                "{}: without direct=1 a kernel's mount reads ahead, caches and gathers writes; the forecast is of I/Os that all \
                 reach the target",
                job.name
            ));
        }
        for option in forecast::depths_left_out(job) {
            note(format!(
                "{}: {option} is left out; the forecast is of the whole iodepth= in flight all the time",
                job.name
            ));
        }
        let asked = forecast::asked(job, f64::from(job.clones));
        let each = asked.given(server, latency);
        let row = |&targets: &u64| Row {
            targets,
            ios_per_s: each.ios_per_s * targets as f64,
            bytes_per_s: each.bytes_per_s * targets as f64,
        };
        let rows = targets.iter().map(row).collect();
        let io_price = Asked { read_share: each.read_share, ..asked.clone() }.price(server);
        self.jobs.push(JobPlan { job: job.name.clone(), options: marks.to_vec(), asked, io_price, each, rows });
    }

    fn lines(&self, server: &ServerProfile, latency: Duration) -> Vec<String> {
        let marks = self.jobs.first().map_or(&[][..], |job| &job.options);
        let names = marks.iter().map(|(name, _)| name.as_str());
        let columns =
            ["I/O", "in flight", "price", "targets", "IOPS each", "IOPS", "MB/s each", "MB/s", "priced", "bound by"];
        let headings: Vec<&str> = ["job"].into_iter().chain(names).chain(columns).collect();
        let mut table = Table::new(&headings);
        for job in &self.jobs {
            for row in &job.rows {
                let mut cells = vec![job.job.clone()];
                cells.extend(job.options.iter().map(|(_, value)| value.clone()));
                cells.extend([
                    io(&job.asked, job.each.read_share),
                    grouped(job.asked.in_flight as u64),
                    format!("{:.2}", job.io_price),
                    grouped(row.targets),
                    iops(job.each.ios_per_s),
                    iops(row.ios_per_s),
                    mb(job.each.bytes_per_s),
                    mb(row.bytes_per_s),
                    super::percent(job.each.priced_iops / server.ceiling.iops),
                    job.each.bound.name().into(),
                ]);
                table.row(cells);
            }
        }
        let mut lines = vec![
            format!(
                "Target: {} IOPS and {}/s of data, an answer in {latency:?} ({}).",
                grouped(server.ceiling.iops as u64),
                bytes_shown(server.ceiling.bytes_per_s as u64),
                server.name
            ),
            String::new(),
        ];
        lines.extend(table.lines());
        lines.push(String::new());
        lines.extend(self.notes.iter().map(|note| format!("Note: {note}")));
        lines
    }
}

/// I/Os a second: few with a decimal.
fn iops(ios_per_s: f64) -> String {
    if ios_per_s < 100.0 { format!("{ios_per_s:.1}") } else { grouped(ios_per_s.round() as u64) }
}

/// `32 KiB reads`, `32 KiB 70 % reads`.
fn io(asked: &Asked, read_share: f64) -> String {
    let (read, write) = (io_shown(asked.read_bytes), io_shown(asked.write_bytes));
    match read_share {
        1.0 => format!("{read} reads"),
        0.0 => format!("{write} writes"),
        share if read == write => format!("{read} {:.0} % reads", share * 100.0),
        share => format!("{:.0} % reads of {read}, writes of {write}", share * 100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn options_stand_before_the_job_or_before_its_name() {
        let behind = |line: &str| super::super::behind_options(&words(line));
        assert_eq!(behind("--targets 1,4 --json load --name=j"), Some(words("load --targets 1,4 --json --name=j")));
        assert_eq!(behind("--latency=1ms load j.fio"), Some(words("load --latency=1ms j.fio")));
        assert_eq!(behind("--json volume --vpu 50"), Some(words("volume --json --vpu 50")));
        assert_eq!(behind("--targets 1,4 extract load"), None);
        assert_eq!(behind("--targets"), None);
        let low = Low::try_parse_from(words("x --rtt 2ms --targets 4 --name=j --latency_target=5 --json")).unwrap();
        assert_eq!((low.targets, low.latency, low.json), (vec![4], Some(Duration::from_millis(2)), false));
        assert_eq!(low.job, ["--name=j", "--latency_target=5", "--json"]);
    }
}
