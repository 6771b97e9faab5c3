//! Results of clones as the report shows them: merged by group, told in every format that was asked for.

use jiff::{Timestamp, tz::TimeZone};

use super::forecast;
use crate::load::general::{Format, General};
use crate::load::output::{json, machine, normal, terse};
use crate::load::results::{DirectionResult, DiskResult, Idleness, JobResult, RunResult, TargetResult};
use crate::load::settings::{Measures, Settings};
use crate::load::{Direction, Each};

/// A clone's result and its job.
pub struct Line<'a> {
    /// Its job.
    pub settings: &'a Settings,
    /// Which of the job's clones, from 0.
    pub clone: u32,
    /// What it found.
    pub result: JobResult,
    /// False of one that never ran, which has zeros: readers count on a job's place among the others.
    pub began: bool,
}

/// One line for each clone, or for each group whose jobs ask for that; in order.
pub fn merged<'a>(clones: Vec<Line<'a>>) -> Vec<Line<'a>> {
    let mut clones = clones;
    clones.iter_mut().for_each(|clone| clone.result.unify());
    let rates = group_rates(&clones);
    let mut lines: Vec<Line<'a>> = Vec::new();
    for mut clone in clones.into_iter().filter(|clone| clone.settings.measures.told) {
        clone.result.group_rate = rates[clone.result.group as usize];
        if clone.settings.per_target {
            let directions = clone.result.directions.clone();
            let target = target(clone.settings, clone.clone);
            let hosts = if clone.settings.engine.nfs_urls.is_empty() { 1 } else { forecast::hosts(&target).len() };
            clone.result.targets = vec![TargetResult { target, hosts, directions }];
        }
        let same = lines.iter_mut().find(|line| {
            clone.settings.order.group_reporting
                && line.settings.order.group_reporting
                && line.result.group == clone.result.group
                && line.result.unified == clone.result.unified
        });
        match same {
            Some(line) => line.result.merge(&clone.result),
            None => lines.push(clone),
        }
    }
    lines
}

/// The target that a clone works on: its URL, or its directory.
fn target(settings: &Settings, clone: u32) -> String {
    let entries = match settings.engine.nfs_urls.is_empty() {
        true => &settings.files.directories,
        false => &settings.engine.nfs_urls,
    };
    let entry = match settings.files.names.first() {
        // Files that are named are in one directory.
        Some(file) if settings.engine.nfs_urls.is_empty() => file.directory.as_ref(),
        _ => entries.get(clone as usize % entries.len().max(1)),
    };
    entry.cloned().unwrap_or_else(|| ".".into())
}

/// Bytes a second of each group, by direction: all bytes in the longest time.
fn group_rates(clones: &[Line<'_>]) -> Vec<Each<u64>> {
    let groups = clones.iter().map(|clone| clone.result.group as usize + 1).max().unwrap_or(0);
    let mut sums = vec![Each::<(u64, u64)>::default(); groups];
    for clone in clones {
        for direction in Direction::ALL {
            let (done, sum) = (&clone.result.directions[direction], &mut sums[clone.result.group as usize][direction]);
            sum.0 += done.bytes;
            sum.1 = sum.1.max(done.runtime_ms);
        }
    }
    let rate = |(bytes, ms): (u64, u64)| crate::load::results::per_second(bytes, ms);
    sums.into_iter().map(|sum| Each::of(|direction| rate(sum[direction]))).collect()
}

/// The text of everything that was asked for, in fio's order: terse, JSON, human.
pub fn text(
    general: &General,
    lines: &[Line<'_>],
    globals: &[(String, String)],
    disks: &[DiskResult],
    idleness: Option<&Idleness>,
    notices: &[String],
) -> String {
    let jobs = lines.iter().map(|line| line.result.clone()).collect();
    let run = RunResult { idleness: idleness.cloned(), ..result(jobs, globals, disks, notices) };
    let mut out = String::new();
    if general.formats.contains(&Format::Terse) {
        run.jobs.iter().for_each(|job| out.push_str(&terse::line(job, disks, general.terse_version, &run.version)));
    }
    if let Some(bins) = json_bins(general) {
        out.push_str(&json::run(&run, bins).document());
    }
    if general.formats.contains(&Format::Normal) {
        out.push_str(&human(lines, &run.time));
        out.push_str(&machine::disks(disks));
        idleness.iter().for_each(|idleness| out.push_str(&format!("\n{}", machine::idleness(idleness))));
    }
    out
}

/// Whether JSON is asked for, and with latency buckets.
pub fn json_bins(general: &General) -> Option<bool> {
    let bins = general.formats.contains(&Format::JsonPlus);
    (bins || general.formats.contains(&Format::Json)).then_some(bins)
}

/// The run as it is told now.
pub fn result(
    jobs: Vec<JobResult>,
    globals: &[(String, String)],
    disks: &[DiskResult],
    notices: &[String],
) -> RunResult {
    let now = Timestamp::now();
    RunResult {
        version: super::version(),
        timestamp_ms: now.as_millisecond().try_into().unwrap_or(0),
        time: now.to_zoned(TimeZone::system()).strftime("%a %b %e %H:%M:%S %Y").to_string(),
        globals: globals.to_vec(),
        jobs,
        disks: disks.to_vec(),
        idleness: None,
        notices: notices.to_vec(),
    }
}

/// A line for each direction on a target: 10^6 bytes a second, mean and 99th percentile of clat.
pub fn of_target(target: &TargetResult, label: &dyn Fn(Direction) -> &'static str) -> String {
    let done = target.directions.iter().filter(|(_, done)| done.ios > 0);
    let line = |(direction, done): (Direction, &DirectionResult)| {
        let percentile = done.clat.histogram.as_ref().map(|histogram| histogram.percentiles(&[99.0])[0]);
        let percentile = percentile.map_or(String::new(), |ns| format!(", 99.00th={:.1}", ns as f64 / 1e3));
        let together = if target.hosts > 1 { format!(", {} targets together", target.hosts) } else { String::new() };
        format!(
            "  {} on {}{together}: IOPS={:.1}, {:.1}MB/s, clat (usec): avg={:.1}{percentile}\n",
            label(direction),
            target.target,
            done.ios_per_second(),
            done.bytes_per_second() as f64 / 1e6,
            done.clat.moments.mean / 1e3,
        )
    };
    done.map(line).collect()
}

/// The text of a job's errno; empty for none.
fn error_of(job: &JobResult) -> String {
    match job.errors.error {
        0 => String::new(),
        errno => crate::load::run::said(rustix::io::Errno::from_raw_os_error(errno)),
    }
}

/// The line of a clone that an error ended, ahead of the report.
pub fn ended(job: &JobResult) -> Option<String> {
    (job.errors.error != 0).then(|| normal::ended(job, &error_of(job)))
}

fn human(lines: &[Line<'_>], time: &str) -> String {
    let mut out = String::from("\n");
    let manner = |settings: &Settings| {
        let Measures { digits, binary, bits, .. } = settings.measures;
        normal::Manner { digits, binary, bits }
    };
    for line in lines {
        let error = error_of(&line.result);
        out.push_str(&normal::job(&line.result, time, &error, &manner(line.settings)));
        let label = |direction| line.result.label(direction);
        line.result.targets.iter().for_each(|target| out.push_str(&of_target(target, &label)));
    }
    let mut groups: Vec<u32> = lines.iter().map(|line| line.result.group).collect();
    groups.dedup();
    for group in groups {
        let of_group: Vec<&Line<'_>> = lines.iter().filter(|line| line.result.group == group).collect();
        // As in fio, a group's lines are in the units of the last of its jobs.
        let Some(last) = of_group.last() else { continue };
        let results: Vec<&JobResult> = of_group.iter().map(|line| &line.result).collect();
        out.push_str(&normal::group(group, &results, &manner(last.settings)));
    }
    out
}
