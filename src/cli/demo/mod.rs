//! `parfs demo`: one archive extracted three times onto simulated mount targets, and what the difference shows. Everything
//! happens in this process and on the loopback; needs no server and no privilege, and leaves nothing behind.

mod patch;
mod round;

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use clap::{Command, CommandFactory, Parser};

use crate::base::price::Ceiling;
use crate::base::units::{bytes_shown, grouped, parse_duration};
use crate::crew::Stop;
use crate::storage::Shape;

use super::Exit;
use super::console::{Console, reason};
use super::signals::{self, Caught};
use super::table::Table;

use patch::Patch;
use round::{Figures, Round};

const FILES_MAX: u64 = 1_000_000;

/// IOPS of one small file: CREATE 4, WRITE 4, SETATTR 2.
const FILE_IOPS: u64 = 10;

/// Round trips of one small file, one after the other.
const FILE_ROUND_TRIPS: u32 = 3;

/// The demo's command line as it was typed.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "parfs demo",
    version,
    about = "Extracts a patch archive of many small files onto simulated mount targets: serially, onto one, onto four",
    max_term_width = 110
)]
struct Low {
    /// Files in the archive, of 1 to 16 KiB
    #[arg(long, value_name = "N", default_value = "20000", value_parser = clap::value_parser!(u64).range(1..=FILES_MAX))]
    files: u64,
    /// Mount targets of the last run
    #[arg(long, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u8).range(2..=16))]
    targets: u8,
    /// Ceilings of each simulated target as a share of a real one's 50,000 IOPS and 1 GB/s
    #[arg(long, value_name = "FACTOR", default_value = "0.25", value_parser = scale)]
    scale: f64,
    /// Answer time of an idle target
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = parse_duration)]
    latency: Duration,
    /// Cut the serial run after this long and extrapolate it
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = parse_duration)]
    serial_max: Duration,
}

fn scale(text: &str) -> Result<f64, String> {
    let factor = text.parse().ok().filter(|f: &f64| (0.001..=10.0).contains(f));
    factor.ok_or_else(|| "a factor from 0.001 to 10".into())
}

/// The parser.
pub fn command() -> Command {
    Low::command()
}

/// Runs the demo with what follows `parfs demo`.
pub fn run(args: Vec<OsString>) -> Exit {
    let console = Arc::new(Console::new("parfs demo"));
    let low = match Low::try_parse_from(std::iter::once("parfs demo".into()).chain(args)) {
        Ok(low) => low,
        Err(error) => return super::parse_ended(&console, &error),
    };
    let stop = Stop::default();
    let caught = match signals::watch(stop.clone(), |_| {}) {
        Ok(caught) => caught,
        Err(error) => return failed(&console, &reason(&error), &Caught::default()),
    };
    match show(&low, &console, &stop) {
        Ok(()) if console.has_failed() => Exit::Failure,
        Ok(()) => Exit::Success,
        Err(text) => failed(&console, &text, &caught),
    }
}

fn failed(console: &Console, text: &str, caught: &Caught) -> Exit {
    console.flush();
    console.message(text);
    caught.signal().map_or(Exit::Failure, Exit::Signal)
}

/// A line on stdout at once, so that a reader sees what is being waited for.
fn say(console: &Console, text: impl std::fmt::Display) {
    console.print(text);
    console.flush();
}

fn show(low: &Low, console: &Console, stop: &Stop) -> Result<(), String> {
    let ceiling = Ceiling { latency: low.latency, ..Ceiling::oci() }.scaled(low.scale);
    say(console, conditions(low, ceiling));
    let patch = Patch::make(low.files).map_err(|error| format!("Cannot make the archive: {}", reason(&error)))?;
    say(
        console,
        format_args!(
            "Archive: {} files in {} directories, {}.\n",
            grouped(low.files),
            grouped(patch.dirs),
            bytes_shown(patch.bytes)
        ),
    );
    let targets = usize::from(low.targets);
    let rounds = [
        Round {
            title: "one call at a time, as tar",
            targets: 1,
            shape: Some(Shape::SERIAL),
            cut: Some(low.serial_max),
        },
        Round { title: "parallel, one target", targets: 1, shape: None, cut: None },
        Round { title: "parallel, all targets", targets, shape: None, cut: None },
    ];
    let mut all = Vec::new();
    for (i, round) in rounds.iter().enumerate() {
        say(console, format_args!("Run {} of {}: {} ...", i + 1, rounds.len(), round.title));
        all.push(round.run(&patch, ceiling, stop)?);
    }
    say(console, "");
    comparison(low, ceiling, &rounds, &all).iter().for_each(|line| console.print(line));
    conclusions(low, ceiling, &all).iter().for_each(|line| console.print(line));
    console.flush();
    Ok(())
}

fn conditions(low: &Low, ceiling: Ceiling) -> String {
    format!(
        "Simulated mount targets on this machine's loopback, as threads of this process: an answer takes {:?}, and each\n\
         target stops at {} IOPS of OCI's price list and {:.0} MB/s, which is {} of a real target's 50,000 IOPS and\n\
         1 GB/s. Times below are measured, except where they say otherwise.",
        low.latency,
        grouped(ceiling.iops as u64),
        ceiling.bytes_per_s / 1e6,
        low.scale
    )
}

/// Seconds that the price list and the latency foretell for a round.
fn forecast(low: &Low, patch_iops: u64, round: &Round, ceiling: Ceiling) -> f64 {
    let by_iops = patch_iops as f64 / (ceiling.iops * round.targets as f64);
    match round.shape {
        Some(Shape::SERIAL) => {
            let by_latency = low.latency.as_secs_f64() * f64::from(FILE_ROUND_TRIPS) * low.files as f64;
            by_latency.max(by_iops)
        }
        _ => by_iops,
    }
}

fn comparison(low: &Low, ceiling: Ceiling, rounds: &[Round], all: &[Figures]) -> Vec<String> {
    let speedups: Vec<f64> = all.iter().map(|f| all[0].seconds_whole() / f.seconds_whole()).collect();
    let cells = |(round, figures): (&Round, &Figures)| {
        vec![
            round.title.to_string(),
            round.targets.to_string(),
            grouped(figures.in_flight as u64),
            format!("{:.1}{}", figures.seconds_whole(), if figures.is_cut() { "*" } else { "" }),
            format!("{:.1}", forecast(low, figures.iops_whole(), round, ceiling)),
            grouped(figures.files_per_s() as u64),
            grouped(figures.iops_per_s() as u64),
            format!("{:.0} %", figures.iops_per_s() / (ceiling.iops * round.targets as f64) * 100.0),
        ]
    };
    let headings = ["", "targets", "in flight", "seconds", "forecast s", "files/s", "IOPS", "of ceiling", "speed-up"];
    let mut table = Table::new(&headings);
    for (pair, speedup) in rounds.iter().zip(all).zip(&speedups) {
        let mut row = cells(pair);
        row.push(format!("{speedup:.1}x"));
        table.row(row);
    }
    let mut lines = table.lines();
    for figures in all.iter().filter(|figures| figures.is_cut()) {
        lines.push(format!(
            "* cut after {:.1} s with {} of {} files extracted; the seconds are extrapolated from that.",
            figures.seconds,
            grouped(figures.files),
            grouped(figures.files_whole)
        ));
    }
    lines
}

fn conclusions(low: &Low, ceiling: Ceiling, all: &[Figures]) -> Vec<String> {
    let real = Ceiling::oci();
    let whole = all[1].iops_whole() as f64;
    let share = |figures: &Figures, targets: f64| figures.iops_per_s() / (ceiling.iops * targets) * 100.0;
    let targets = f64::from(low.targets);
    let text = format!(
        "\nWhat it shows: a small file costs {FILE_IOPS} IOPS (CREATE 4, WRITE 4, SETATTR 2) in {FILE_ROUND_TRIPS} round \
         trips.\nOne call at a time waits for each of them and used {:.0} % of what its target gives (a tar on a kernel \
         mount also\nasks LOOKUP, ACCESS and GETATTR). Calls in flight together used {:.0} %, and {:.0} % of {} targets \
         of the same export.\nBy the same price list, at real targets' 50,000 IOPS this archive takes at least {:.1} s \
         on one and {:.1} s on {}.\n\n\
         On a mount target of your own (the directory must exist in the export):\n  \
         partar xf patch.tar -C 'nfs://MOUNT-TARGET/export/dir' -v --report run.json\n  \
         partar xf patch.tar -C 'nfs://MOUNT-TARGET-1,MOUNT-TARGET-2/export/dir' -v\n\
         Through a kernel mount, to compare:\n  \
         partar xf patch.tar -C /mnt/fss/dir -P 32 -v\n\
         Against simulated targets in a process of their own, at the URL that the first command prints:\n  \
         parfs sim --targets {} --scale {}\n  \
         partar xf patch.tar -C 'nfs://127.0.0.1:PORT,...' -v\n\
         Without a link named partar: parfs partar ...",
        share(&all[0], 1.0),
        share(&all[1], 1.0),
        share(&all[2], targets),
        low.targets,
        whole / real.iops,
        whole / (real.iops * targets),
        low.targets,
        low.targets,
        low.scale,
    );
    text.lines().map(String::from).collect()
}
