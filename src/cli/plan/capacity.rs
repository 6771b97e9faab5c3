//! `parfs plan capacity`: how many mount targets a load needs, which ceiling binds, how far the alarm is; or what a number
//! of targets gives.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Command, CommandFactory, Parser};
use serde::Serialize;

use crate::base::Proc;
use crate::base::units::{bytes_shown, grouped, io_shown};
use crate::cli::Exit;
use crate::cli::console::Console;
use crate::cli::flags::{bytes, latency};
use crate::cli::table::Table;
use crate::plan::capacity::{Bound, Demand, Goal, Load, Spread, Yield};
use crate::plan::{ServerProfile, profile::BadProfile};

use super::{Told, counted, io_bytes, mb, percent, rate, whole};

const PROGRAM: &str = "parfs plan capacity";

/// Targets of one question at most; beyond it a typing error is likelier than a wish.
const TARGETS_MAX: u64 = 10_000;

/// Targets of an answer at most: as many as a float tells one by one.
const ANSWER_MAX: u64 = 1 << 53;

/// Sizes that are shown where none is asked for: the source's smallest and largest, and one between.
const IO_BYTES: [u64; 3] = [32 << 10, 256 << 10, 1 << 20];

const AFTER_HELP: &str = "\
With --iops or --throughput: the fewest mount targets, and the fewest that stay below the alarm.
With --targets alone: what that many give, for reads and for writes.
A target's IOPS are not the I/Os of a program: a READ or WRITE costs several, by its size.

Examples:
  parfs plan capacity --iops 200000 --throughput 4GB/s --io-size 32k --read-pct 70
  parfs plan capacity --targets 1,2,4,8
  parfs plan capacity --throughput 4GB/s --io-size 1M --read-pct 100 --targets 4,5,6";

/// The command line as it was typed.
#[derive(Clone, Debug, Parser)]
#[command(
    name = PROGRAM,
    version,
    about = "How many mount targets a load of reads and writes needs, and which of their ceilings binds",
    after_help = AFTER_HELP,
    max_term_width = 110
)]
struct Low {
    /// I/Os a second that the programs make, each of --io-size; not the IOPS of the price list
    #[arg(long, value_name = "N", value_parser = rate)]
    iops: Option<f64>,
    /// Bytes a second that the programs move, such as 4GB/s. Of both goals the larger counts
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    throughput: Option<u64>,
    /// Bytes of one I/O, such as 32k
    #[arg(long, value_name = "SIZE", value_parser = io_bytes)]
    io_size: Option<u64>,
    /// How many I/Os of a hundred are reads
    #[arg(long, value_name = "PERCENT", value_parser = read_pct)]
    read_pct: Option<f64>,
    /// What these numbers of mount targets give, or how full the goal makes them
    #[arg(long, value_name = "N,N...", value_delimiter = ',', value_parser = targets)]
    targets: Vec<u64>,
    /// Answer time of a target [default: the profile's]
    #[arg(long, value_name = "TIME", value_parser = latency)]
    latency: Option<Duration>,
    /// Prices and ceilings of another server, as TOML [default: an OCI mount target's]
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn read_pct(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|n| (0.0..=100.0).contains(n)).ok_or_else(|| "a number from 0 to 100".into())
}

fn targets(text: &str) -> Result<u64, String> {
    whole(text, TARGETS_MAX)
}

/// The plan of a goal.
#[derive(Debug, Serialize)]
struct GoalPlan {
    load: Load,
    goal: Goal,
    demand: Demand,
    io_price: f64,
    bound: Bound,
    targets_min: u64,
    targets_below_alarm: u64,
    alarm_share: f64,
    latency_us: u64,
    /// READs and WRITEs that must be in flight at once over all targets.
    calls_in_flight: f64,
    rows: Vec<Spread>,
}

/// What targets give.
#[derive(Debug, Serialize)]
struct YieldPlan {
    rows: Vec<YieldRow>,
}

/// One load on one number of targets.
#[derive(Debug, Serialize)]
struct YieldRow {
    load: Load,
    #[serde(flatten)]
    given: Yield,
}

/// What the command line asks.
#[derive(Debug)]
enum Question {
    Goal { load: Load, goal: Goal },
    Targets(Vec<Load>),
}

impl Low {
    fn question(&self) -> Result<Question, String> {
        let goal = Goal { ios_per_s: self.iops, bytes_per_s: self.throughput.map(|bytes| bytes as f64) };
        let read_share = self.read_pct.map(|percent| percent / 100.0);
        if goal != Goal::default() {
            let io_bytes = self.io_size.ok_or("how large is an I/O? Say --io-size, such as 32k")?;
            let read_share = read_share.ok_or("how many of the I/Os are reads? Say --read-pct, such as 70")?;
            return Ok(Question::Goal { load: Load { io_bytes, read_share }, goal });
        }
        if self.targets.is_empty() {
            return Err("what is to be reached? Say --iops, --throughput or --targets".into());
        }
        if self.latency.is_some() {
            return Err("--latency is about a goal; say --iops or --throughput as well".into());
        }
        let sizes = self.io_size.map_or(IO_BYTES.to_vec(), |bytes| vec![bytes]);
        let shares = read_share.map_or(vec![1.0, 0.0], |share| vec![share]);
        let load = |read_share: f64| sizes.iter().map(move |&io_bytes| Load { io_bytes, read_share });
        Ok(Question::Targets(shares.into_iter().flat_map(load).collect()))
    }
}

/// The parser.
pub fn command() -> Command {
    Low::command()
}

/// Runs it with what follows `parfs plan capacity`.
pub fn run(args: Vec<OsString>) -> Exit {
    let console = Console::new(PROGRAM);
    let low = match Low::try_parse_from(std::iter::once(PROGRAM.into()).chain(args)) {
        Ok(low) => low,
        Err(error) => return crate::cli::parse_ended(&console, &error),
    };
    match answer(&low, &console) {
        Ok(()) => Exit::Success,
        Err(text) => {
            console.message(text);
            Exit::Failure
        }
    }
}

fn answer(low: &Low, console: &Console) -> Result<(), String> {
    let question = low.question()?;
    let parse: fn(&str, &str) -> Result<ServerProfile, BadProfile> = ServerProfile::parse;
    let server = super::profile(low.profile.as_deref(), ServerProfile::oci, parse)?;
    let (profile, source, json) = (server.name.as_str(), server.source.as_str(), low.json);
    match question {
        Question::Goal { load, goal } => {
            let plan = goal_plan(low, &server, load, goal);
            // Rows of a float's last digits, or of the most that a u64 holds, would be no answer.
            let told = [plan.demand.ios_per_s, plan.demand.bytes_per_s, plan.demand.priced_iops];
            if plan.targets_below_alarm > ANSWER_MAX || told.iter().any(|figure| *figure > u64::MAX as f64 / 2.0) {
                return Err("it takes more mount targets than can be told: is the goal or the profile mistyped?".into());
            }
            let lines = goal_lines(&server, &plan);
            Told { program: PROGRAM, profile, source, json, plan: &plan, lines }.print(console)
        }
        Question::Targets(loads) => {
            let targets = once_each(low.targets.clone());
            let row = |load: Load, n: &u64| YieldRow { load, given: load.given(&server, *n) };
            let rows = loads.iter().flat_map(|load| targets.iter().map(|n| row(*load, n))).collect();
            let plan = YieldPlan { rows };
            let lines = yield_lines(&server, &plan);
            Told { program: PROGRAM, profile, source, json, plan: &plan, lines }.print(console)
        }
    }
}

/// Numbers of targets, ascending, each once.
fn once_each(mut targets: Vec<u64>) -> Vec<u64> {
    targets.sort_unstable();
    targets.dedup();
    targets
}

fn goal_plan(low: &Low, server: &ServerProfile, load: Load, goal: Goal) -> GoalPlan {
    let demand = load.demand(server, goal);
    let (targets_min, targets_below_alarm) = (demand.targets_min(server), demand.targets_below_alarm(server));
    let asked = low.targets.clone();
    let shown = once_each(if asked.is_empty() { vec![targets_min, targets_below_alarm] } else { asked });
    let latency = low.latency.unwrap_or(server.ceiling.latency);
    GoalPlan {
        load,
        goal,
        demand,
        io_price: load.price(server),
        bound: demand.bound(server),
        targets_min,
        targets_below_alarm,
        alarm_share: server.alarm_share,
        latency_us: u64::try_from(latency.as_micros()).unwrap_or(u64::MAX),
        calls_in_flight: demand.ios_per_s * load.calls(server) as f64 * latency.as_secs_f64(),
        rows: shown.into_iter().map(|n| demand.spread(server, &load, n)).collect(),
    }
}

/// What a target gives, in a line.
fn target_line(server: &ServerProfile) -> String {
    format!(
        "Target: {} IOPS and {}/s of data ({}).",
        grouped(server.ceiling.iops as u64),
        bytes_shown(server.ceiling.bytes_per_s as u64),
        server.name
    )
}

fn goal_lines(server: &ServerProfile, plan: &GoalPlan) -> Vec<String> {
    let (load, demand) = (&plan.load, &plan.demand);
    let price = |proc| server.prices.price(proc, load.io_bytes.min(server.transfer_bytes_max));
    let of_calls = match load.calls(server) {
        1 => String::new(),
        n => format!(", in {n} calls of up to {}", io_shown(server.transfer_bytes_max)),
    };
    let mut lines = vec![
        format!(
            "Load: {} I/Os a second of {}, {:.0} % reads: {}/s.",
            grouped(demand.ios_per_s.round() as u64),
            io_shown(load.io_bytes),
            load.read_share * 100.0,
            bytes_shown(demand.bytes_per_s.round() as u64)
        ),
        format!(
            "Price: {:.2} IOPS each{of_calls} (READ {}, WRITE {}): {} IOPS.",
            plan.io_price,
            price(Proc::Read),
            price(Proc::Write),
            grouped(demand.priced_iops.round() as u64)
        ),
        target_line(server),
        String::new(),
    ];
    lines.extend(goal_table(server, plan));
    lines.push(String::new());
    let (by_iops, by_bandwidth) = demand.targets_worth(server);
    lines.push(format!(
        "Fewest: {}, bound by {} (IOPS take {by_iops:.2}, bandwidth {by_bandwidth:.2}).",
        counted(plan.targets_min, "mount target"),
        plan.bound.name(),
    ));
    lines.push(format!(
        "Below the alarm at {:.0} % of the IOPS: {}.",
        plan.alarm_share * 100.0,
        counted(plan.targets_below_alarm, "mount target")
    ));
    lines.push(format!(
        "In flight at once, with an answer in {:?}: {}.",
        Duration::from_micros(plan.latency_us),
        counted(plan.calls_in_flight.ceil() as u64, "call")
    ));
    lines
}

fn goal_table(server: &ServerProfile, plan: &GoalPlan) -> Vec<String> {
    let of_iops = format!("of {}", grouped(server.ceiling.iops as u64));
    let of_bandwidth = format!("of {} MB/s", mb(server.ceiling.bytes_per_s));
    let headings = ["targets", "IOPS each", &of_iops, "MB/s each", &of_bandwidth, "room to alarm, I/Os", ""];
    let mut table = Table::new(&headings);
    for row in &plan.rows {
        let verdict = match (row.enough, row.below_alarm) {
            (false, _) => "too few",
            (true, false) => "alarm",
            (true, true) => "",
        };
        table.row(vec![
            grouped(row.targets),
            grouped(row.priced_iops.round() as u64),
            percent(row.iops_share),
            mb(row.bytes_per_s),
            percent(row.bandwidth_share),
            grouped(row.room_ios_per_s as u64),
            verdict.into(),
        ]);
    }
    table.lines()
}

fn yield_lines(server: &ServerProfile, plan: &YieldPlan) -> Vec<String> {
    let mut table = Table::new(&["I/Os", "targets", "I/Os a second", "MB/s", "bound by"]);
    for YieldRow { load, given } in &plan.rows {
        let kind = match load.read_share {
            1.0 => "reads".into(),
            0.0 => "writes".into(),
            share => format!("{:.0} % reads", share * 100.0),
        };
        table.row(vec![
            format!("{kind} of {}", io_shown(load.io_bytes)),
            grouped(given.targets),
            grouped(given.ios_per_s as u64),
            mb(given.bytes_per_s),
            given.bound.name().into(),
        ]);
    }
    let mut lines = vec![target_line(server), String::new()];
    lines.extend(table.lines());
    lines.push(String::new());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(line: &str) -> Result<Question, String> {
        let typed = std::iter::once(PROGRAM).chain(line.split_whitespace());
        Low::try_parse_from(typed).map_err(|error| error.to_string())?.question()
    }

    #[test]
    fn what_a_goal_needs_is_asked_for_and_never_guessed() {
        let refused = |line| question(line).unwrap_err();
        assert!(refused("").contains("--iops, --throughput or --targets"));
        assert!(refused("--iops 1000").contains("--io-size"));
        assert!(refused("--throughput 1GB/s --io-size 1M").contains("--read-pct"));
        assert!(refused("--targets 4 --latency 1ms").contains("--latency"));
        for line in
            ["--iops 0", "--iops nan", "--targets 0", "--targets 1,", "--read-pct 101", "--io-size 0", "--io-size 2T"]
        {
            assert!(question(line).is_err(), "{line}");
        }
        let late = |time| question(&format!("--iops 1 --io-size 4k --read-pct 1 --latency {time}"));
        assert!(late("1ms").is_ok());
        assert!(late("18446744073709551s").unwrap_err().contains("from 1us to a minute"));
    }

    #[test]
    fn targets_alone_are_asked_for_reads_and_for_writes() {
        let loads = |line| match question(line).unwrap() {
            Question::Targets(loads) => loads,
            goal => panic!("{goal:?}"),
        };
        assert_eq!(loads("--targets 1,2").len(), 6);
        assert_eq!(loads("--targets 1 --io-size 64k --read-pct 50"), [Load { io_bytes: 65_536, read_share: 0.5 }]);
    }
}
