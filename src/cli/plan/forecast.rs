//! `parfs plan extract|create|copy|remove`: rehearses the job's own command line and tells what it would cost and how long it
//! would take, by the number of mount targets. Reads the real tree (and the archive); changes nothing.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Command, CommandFactory, Parser, ValueEnum};
use serde::Serialize;

use crate::base::Proc;
use crate::base::units::{self, bytes_shown, grouped};
use crate::cli::console::Console;
use crate::cli::flags::{PARALLEL_MAX, scale};
use crate::cli::planned::Planned;
use crate::cli::table::Table;
use crate::cli::{Exit, parcp, parrm, partar};
use crate::plan::ServerProfile;
use crate::plan::forecast::{Bound, Held, Job, Point, Side, Timed};
use crate::storage::Tally;

use super::explain::{self, Compared, Fact};
use super::imagined::Imagined;
use super::svg::{self, Canvas};

/// Mount targets of a forecast at most.
const TARGETS_MAX: u64 = 1024;

const AFTER_HELP: &str = "\
Options of the forecast stand before the job's name, the job's own command line behind it:
  parfs plan --targets 1,4 extract -xf app.tar -C nfs://10.0.0.5/apps
  parfs plan --latency 2ms copy -a /mnt/old/data nfs://10.0.0.6/new
  parfs plan remove -rf /mnt/fss/app
  parfs plan --files 10M --size 100k --per-dir 1000 extract -P 32

With --files the tree is made up, on mount targets that answer in --latency [the profile's: 1ms],
and the job is as partar -x, partar -c, parcp -a or parrm -rf would do it over nfs://; behind its
name -P and --window are all it takes.

The job is run against shadows: what it would read is read (listings, attributes, the archive; of
files only what it compares), what it would change is answered and not made. Its --report and
--index are not written. Only a name that proves several targets of nfs:// to be one export is made
and removed. Through nfs:// the time is that of the rehearsal on targets that answer as the
profile says; on other numbers of them, and through kernels' mounts, that of the slowest bound:
IOPS and bandwidth of a target, round trips over the lanes, the longest chain of calls that need
each other's answers, the lock of a directory in a kernel's mount. This host's processors are left
out.";

/// What can be forecast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum What {
    /// partar -x ...
    Extract,
    /// partar -c, -r or -u ...
    Create,
    /// parcp ...
    Copy,
    /// parrm ...
    Remove,
}

impl What {
    /// What does it.
    pub fn of(self) -> &'static str {
        match self {
            What::Extract => "partar -x",
            What::Create => "partar -c",
            What::Copy => "parcp",
            What::Remove => "parrm",
        }
    }
}

/// The command line as it was typed.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "parfs plan",
    version,
    disable_version_flag = true,
    about = "Tells what a job will cost and how long it will take, before it runs",
    after_help = AFTER_HELP,
    max_term_width = 110
)]
struct Low {
    /// Numbers of mount targets
    #[arg(long, value_name = "N,N...", value_delimiter = ',', default_value = "1,2,4,8", value_parser = targets)]
    targets: Vec<usize>,
    /// Answer time of an idle target [default: measured on the spot]
    #[arg(long, value_name = "TIME", value_parser = units::parse_duration)]
    latency: Option<Duration>,
    /// Fail where the answer time cannot be measured, instead of taking the profile's (1 ms)
    #[arg(long, conflicts_with_all = ["latency", "files"])]
    measure: bool,
    /// Prices and ceilings of a target, as TOML [default: OCI File Storage's]
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Ceilings of a target are the profile's times this
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = scale)]
    scale: f64,
    /// A tree that does not exist, instead of the job's own command line: this many files, such as 10M
    #[arg(long, value_name = "N", value_parser = files, requires = "size")]
    files: Option<u64>,
    /// Bytes of each of --files
    #[arg(long, value_name = "SIZE", value_parser = units::parse_bytes, requires = "files")]
    size: Option<u64>,
    /// How many of --files are in a directory
    #[arg(long, value_name = "N", value_parser = files, default_value = "1000", requires = "files")]
    per_dir: u64,
    /// Set the forecast beside what a run reported (its --report FILE)
    #[arg(long, value_name = "FILE")]
    explain: Option<PathBuf>,
    /// Draw IOPS and time against targets into FILE
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// JSON instead of tables
    #[arg(long)]
    json: bool,
    /// Print version
    #[arg(long, action = clap::ArgAction::Version)]
    version: Option<bool>,
    /// The job
    #[arg(value_name = "JOB")]
    what: What,
    /// The job's own command line
    #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
    job: Vec<OsString>,
}

fn targets(text: &str) -> Result<usize, String> {
    super::whole(text, TARGETS_MAX).map(|n| n as usize)
}

fn files(text: &str) -> Result<u64, String> {
    let n = units::parse_count(text).map_err(|error| error.to_string())?;
    if n > 0 { Ok(n) } else { Err("a number above 0, such as 10M".into()) }
}

/// True of a word that names a job.
pub fn is_job(word: &str) -> bool {
    What::from_str(word, false).is_ok()
}

/// The jobs by their words, each with its own parser, for completions.
pub fn jobs() -> [Command; 4] {
    let job = |word: &'static str, what: What, command: Command| {
        command.name(word).about(format!("What {} will cost and how long it will take", what.of()))
    };
    [
        job("extract", What::Extract, partar::low::Low::command()),
        job("create", What::Create, partar::low::Low::command()),
        job("copy", What::Copy, parcp::low::Low::command()),
        job("remove", What::Remove, parrm::low::Low::command()),
    ]
}

/// The options of forecasts.
pub fn help() -> String {
    command().render_help().to_string().trim_end().into()
}

/// The parser.
pub fn command() -> Command {
    Low::command()
}

/// The arguments with `--` before a job's own command line that begins with `-h`, where that is an option of the job: the parser
/// would take it for its own.
fn apart(mut args: Vec<OsString>) -> Vec<OsString> {
    // An option of plan's, and its value if that is an argument of its own.
    let option = |at: usize| {
        let text = args.get(at)?.to_str().filter(|text| text.starts_with("--"))?;
        let command = Low::command();
        let takes = command.get_arguments().find(|arg| arg.get_long() == Some(&text[2..]))?.get_action().takes_values();
        Some(at + 1 + usize::from(takes))
    };
    let behind = |mut at: usize| {
        while let Some(next) = option(at).or_else(|| is_joined(args.get(at)?).then_some(at + 1)) {
            at = next;
        }
        at
    };
    let job = behind(0);
    let is_tar = args.get(job).is_some_and(|word| word == "create" || word == "extract");
    let own = behind(job + 1);
    let is_h = |word: &OsString| word.as_encoded_bytes().starts_with(b"-h");
    if is_tar && args.get(own).is_some_and(is_h) {
        args.insert(own, "--".into());
    }
    args
}

/// `--option=value`.
fn is_joined(word: &OsString) -> bool {
    word.as_encoded_bytes().starts_with(b"--") && word.as_encoded_bytes().contains(&b'=')
}

/// Runs a forecast with what follows `parfs plan`.
pub fn run(args: Vec<OsString>) -> Exit {
    let console = Arc::new(Console::new("parfs plan"));
    let low = match Low::try_parse_from(std::iter::once("parfs plan".into()).chain(apart(args))) {
        Ok(mut low) => {
            // A line is drawn from each to the next, and advice compares the first with the best.
            low.targets.sort_unstable();
            low.targets.dedup();
            low
        }
        Err(error) => return crate::cli::parse_ended(&console, &error),
    };
    forecast(&low, &console).unwrap_or_else(|text| {
        console.message(text);
        Exit::Failure
    })
}

fn forecast(low: &Low, console: &Console) -> Result<Exit, String> {
    let canvas = low.svg.as_deref().map(Canvas::at).transpose()?;
    let fact = low.explain.as_deref().map(|path| explain::read(path, low.what)).transpose()?;
    let profile = super::profile(low.profile.as_deref(), ServerProfile::oci, ServerProfile::parse)?;
    if let (Some(files), Some(size)) = (low.files, low.size) {
        let imagined = Imagined::new(low.what, (files, low.per_dir, size), (low.latency, &profile), &low.job)?;
        let told = (imagined.summary(), imagined.notes());
        let run = Run { lanes: imagined.lanes(), held: Held::default(), timed: None };
        let forecast = Forecast::new(low, imagined.sides()?, run, profile, told);
        return forecast.show(low, console, fact.as_ref(), canvas.as_ref()).map(|()| Exit::Success);
    }
    let planned = Planned::new(low.latency, profile.ceiling.scaled(low.scale), &profile.prices);
    let job = low.job.clone();
    let exit = match low.what {
        What::Extract => partar::program().rehearse(job, "extract", &planned),
        What::Create => partar::program().rehearse(job, "create", &planned),
        What::Copy => parcp::program().rehearse(job, "copy", &planned),
        What::Remove => parrm::program().rehearse(job, "remove", &planned),
    };
    let mut told = planned.told();
    // It could not begin, or was stopped, and said so.
    if told.0.is_empty() || matches!(exit, Exit::Signal(_)) {
        return Ok(exit);
    }
    let (unmeasured, is_nfs) = planned.unmeasured();
    // Of what could not be opened the job has said why.
    if low.measure && !is_nfs && exit != Exit::Success {
        return Ok(exit);
    }
    if low.measure && !is_nfs {
        return Err("--measure: nothing of this job is on NFS, so there is nothing to measure".into());
    }
    if let Some(target) = unmeasured.first() {
        let text = format!("how fast {target} answers could not be measured");
        if low.measure {
            return Err(format!("--measure: {text}; --latency gives it"));
        }
        told.1.push(format!("{text}: {:?} was taken; --latency gives another", profile.ceiling.latency));
    }
    if planned.is_untimed() {
        told.1.push(
            "the rehearsal's own time was not followed to its end: times are what the slowest bound says, and a run may take longer".into(),
        );
    }
    let (mut sides, timed) = (planned.sides(profile.ceiling.latency), planned.timed());
    timed.iter().for_each(|timed| timed.settle(&mut sides));
    let run = Run { lanes: planned.lanes(), held: planned.held(), timed };
    let forecast = Forecast::new(low, sides, run, profile, told);
    forecast.show(low, console, fact.as_ref(), canvas.as_ref()).map(|()| exit)
}

/// How the job is to run, and how long it did in the rehearsal's time.
struct Run {
    lanes: Option<usize>,
    held: Held,
    timed: Option<Timed>,
}

/// What is told.
struct Forecast {
    summary: String,
    notes: Vec<String>,
    job: Job,
    points: Vec<Point>,
    profile: ServerProfile,
}

#[derive(Serialize)]
struct ProcedureJson {
    procedure: &'static str,
    calls: u64,
    bytes: u64,
    iops: u64,
}

#[derive(Serialize)]
struct SideJson<'a> {
    role: Option<&'static str>,
    targets: &'a str,
    iops: u64,
    read_bytes: u64,
    written_bytes: u64,
    round_trips: u64,
    chain: u64,
    changes_of_one_directory: u64,
    entries_of_one_directory: u64,
    latency_us: u64,
    procedures: Vec<ProcedureJson>,
}

#[derive(Serialize)]
struct BoundJson {
    bound: &'static str,
    seconds: f64,
}

#[derive(Serialize)]
struct PointJson {
    targets: usize,
    lanes: usize,
    seconds: f64,
    bound: Option<&'static str>,
    iops_per_target: f64,
    bytes_per_s_per_target: f64,
    alone: Vec<BoundJson>,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    summary: &'a str,
    notes: &'a [String],
    advice: Vec<String>,
    sides: Vec<SideJson<'a>>,
    serial_seconds: f64,
    forecast: Vec<PointJson>,
    /// Beside a run that was reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    explained: Option<Compared>,
}

impl Forecast {
    fn new(
        low: &Low,
        sides: Vec<Side>,
        Run { lanes, held, timed }: Run,
        profile: ServerProfile,
        told: (String, Vec<String>),
    ) -> Forecast {
        let (summary, mut notes) = told;
        // Of what is not on NFS SEEK tells where data is.
        if sides.iter().any(|side| side.is_nfs && side.seen.has_holes && side.tally.get(Proc::Read).calls > 0) {
            notes.push("files with holes are forecast at their full size, for what is read is not known".into());
        }
        if !sides.iter().any(|side| side.is_nfs) {
            notes.push("nothing of this is on NFS: there is no mount target to forecast".into());
        }
        let ceiling = profile.ceiling.scaled(low.scale);
        let job = Job { sides, lanes, held, timed, price: profile.prices.clone(), ceiling };
        if job.overlaps_in_part() {
            notes.push(
                "source and destination have some of their targets in common: they are forecast as if they had all, \
                 which is too slow rather than too fast"
                    .into(),
            );
        }
        let points = low.targets.iter().map(|&n| job.on(n)).collect();
        Forecast { summary, notes, job, points, profile }
    }

    /// Prints it, and draws it where that is asked for.
    fn show(
        &self,
        low: &Low,
        console: &Console,
        fact: Option<&Fact>,
        canvas: Option<&Canvas<'_>>,
    ) -> Result<(), String> {
        if low.json {
            self.json(console, fact)?;
        } else {
            self.tell(console, fact);
        }
        console.flush();
        if console.has_failed() {
            return Err("the forecast could not be printed".into());
        }
        canvas.map_or(Ok(()), |canvas| canvas.write(&svg::draw(&self.points, self.job.ceiling)))
    }

    fn nfs(&self) -> impl Iterator<Item = &Side> {
        self.job.sides.iter().filter(|side| side.is_nfs)
    }

    fn procedures(&self, tally: &Tally) -> Vec<ProcedureJson> {
        let iops = |(proc, count): (Proc, crate::storage::ledger::Count)| ProcedureJson {
            procedure: proc.name(),
            calls: count.calls,
            bytes: count.bytes,
            iops: self.job.price.total(proc, count.calls, count.blocks_extra),
        };
        tally.iter().map(iops).collect()
    }

    fn json(&self, console: &Console, fact: Option<&Fact>) -> Result<(), String> {
        let sides = self.nfs().map(|side| SideJson {
            role: side.role,
            targets: &side.key,
            iops: side.tally.price(&self.job.price),
            read_bytes: side.tally.get(Proc::Read).bytes,
            written_bytes: side.tally.get(Proc::Write).bytes,
            round_trips: side.seen.rounds,
            chain: side.seen.chain,
            changes_of_one_directory: side.seen.busiest,
            entries_of_one_directory: side.seen.largest,
            latency_us: u64::try_from(side.latency.as_micros()).unwrap_or(u64::MAX),
            procedures: self.procedures(&side.tally),
        });
        let point = |point: &Point| PointJson {
            targets: point.targets,
            lanes: point.lanes,
            seconds: point.seconds,
            bound: point.bound.map(Bound::name),
            iops_per_target: point.iops_per_s,
            bytes_per_s_per_target: point.bytes_per_s,
            alone: point.alone.iter().map(|&(b, seconds)| BoundJson { bound: b.name(), seconds }).collect(),
        };
        let document = Document {
            schema: 1,
            summary: &self.summary,
            notes: &self.notes,
            advice: self.advice(),
            sides: sides.collect(),
            serial_seconds: self.job.serial_s(),
            forecast: self.points.iter().map(point).collect(),
            explained: fact.map(|fact| Compared::new(&self.job, fact)),
        };
        let text = serde_json::to_string_pretty(&document).map_err(|error| error.to_string())?;
        console.print(text);
        Ok(())
    }

    fn tell(&self, console: &Console, fact: Option<&Fact>) {
        console.print(&self.summary);
        for side in self.nfs() {
            let role = side.role.map_or_else(String::new, |role| format!("{role} "));
            let seen = side.seen;
            console.print(format_args!(
                "\n{role}{}: {} calls, {} IOPS, {} read, {} written; {} round trips, the longest chain {}",
                side.key,
                grouped(side.tally.calls()),
                grouped(side.tally.price(&self.job.price)),
                bytes_shown(side.tally.get(Proc::Read).bytes),
                bytes_shown(side.tally.get(Proc::Write).bytes),
                grouped(seen.rounds),
                grouped(seen.chain),
            ));
            let mut table = Table::new(&["Procedure", "calls", "data", "IOPS"]);
            for p in self.procedures(&side.tally) {
                let data = if p.bytes > 0 { bytes_shown(p.bytes) } else { String::new() };
                table.row(vec![p.procedure.into(), grouped(p.calls), data, grouped(p.iops)]);
            }
            table.lines().iter().for_each(|line| console.print(line));
        }
        if self.nfs().next().is_some() {
            console.print("");
            self.table().lines().iter().for_each(|line| console.print(line));
            console.print(format_args!(
                "One call in flight, as tar, cp and rm work: {} at least",
                seconds_shown(self.job.serial_s())
            ));
        }
        self.notes.iter().for_each(|note| console.print(format_args!("Note: {note}.")));
        self.advice().iter().for_each(|advice| console.print(format_args!("Advice: {advice}.")));
        if let Some(fact) = fact {
            console.print("");
            Compared::new(&self.job, fact).lines().iter().for_each(|line| console.print(line));
        }
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&["Targets", "lanes", "time", "bound by", "IOPS each", "MB/s each"]);
        for point in &self.points {
            table.row(vec![
                grouped(point.targets as u64),
                grouped(point.lanes as u64),
                seconds_shown(point.seconds),
                point.bound.map_or("nothing", Bound::name).into(),
                grouped(point.iops_per_s as u64),
                format!("{:.1}", point.bytes_per_s / 1e6),
            ]);
        }
        table
    }

    /// What would make it faster, by what binds on the first number of targets.
    fn advice(&self) -> Vec<String> {
        let mut advice = Vec::new();
        let Some(point) = self.points.first() else { return advice };
        let alone = |bound| point.alone.iter().find(|(b, _)| *b == bound).map_or(0.0, |(_, seconds)| *seconds);
        match point.bound {
            Some(Bound::Iops | Bound::ReadBandwidth | Bound::WriteBandwidth) => {
                let best = self.points.iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds));
                if let Some(best) = best.filter(|best| best.targets > point.targets) {
                    advice.push(format!(
                        "the targets are what binds: with {} of them it takes {}",
                        best.targets,
                        seconds_shown(best.seconds)
                    ));
                }
            }
            Some(Bound::Latency) => {
                let next = point.alone.get(1).map_or(0.0, |(_, seconds)| *seconds);
                let lanes = (point.lanes as f64 * alone(Bound::Latency) / next.max(1e-9)).ceil();
                if lanes <= PARALLEL_MAX as f64 {
                    advice.push(format!("round trips are what binds: -P {lanes:.0} reaches the next bound"));
                } else if point.lanes < PARALLEL_MAX {
                    advice.push(format!("round trips are what binds: -P {PARALLEL_MAX}, the most, is the fastest"));
                }
            }
            Some(Bound::Chain) => {
                advice.push("calls wait for each other's answers: more targets or lanes do not help".into());
            }
            Some(Bound::Lock) => {
                advice.push(
                    "one directory's lock binds: work through more mounts of the export (--mounts), or nfs://".into(),
                );
            }
            Some(Bound::Limit) => advice.push("the limit asked for is what binds (--max-iops, --bwlimit)".into()),
            None => {}
        }
        let largest = self.nfs().map(|side| side.seen.largest).max().unwrap_or(0);
        let advised = self.profile.directory_entries_advised;
        if largest > advised {
            advice.push(format!(
                "a directory gets {} entries; directories are best under {}",
                grouped(largest),
                grouped(advised)
            ));
        }
        advice
    }
}

/// A time for people: `0.52 s`, `4 min 10 s`, `2 h 05 min`.
pub fn seconds_shown(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..100 => format!("{seconds:.2} s"),
        100..7200 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    }
}
