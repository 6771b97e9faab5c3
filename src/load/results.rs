//! What a run found, as numbers: one [`JobResult`] for each line of a report (a clone, or a whole group with group_reporting).
//!
//! Promises: results of clones merge as fio merges them (bytes and counts are summed, times are the slowest member's).
//! Leaves out: how it is printed.

use super::histogram::{Histogram, Moments, Shares};
use super::steady::SteadyResult;
use super::timeline::Timeline;
use super::{Direction, Each};

/// Latencies of one kind, in ns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latency {
    /// Smallest, largest, mean, deviation.
    pub moments: Moments,
    /// The buckets, where percentiles are wanted.
    pub histogram: Option<Histogram>,
}

impl Latency {
    /// With buckets for percentiles, or without.
    pub fn new(percentiles: bool) -> Latency {
        Latency { moments: Moments::default(), histogram: percentiles.then(Histogram::default) }
    }

    /// Adds one.
    #[inline]
    pub fn add(&mut self, ns: u64) {
        self.moments.add(ns);
        if let Some(histogram) = &mut self.histogram {
            histogram.add(ns);
        }
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Latency) {
        self.moments.merge(&other.moments);
        if let (Some(here), Some(there)) = (&mut self.histogram, &other.histogram) {
            here.merge(there);
        }
    }
}

/// One direction of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DirectionResult {
    /// Bytes done.
    pub bytes: u64,
    /// I/Os done.
    pub ios: u64,
    /// I/Os that moved fewer bytes than asked.
    pub short: u64,
    /// I/Os that were never carried out.
    pub dropped: u64,
    /// Milliseconds of the job (not of this direction alone); 0 without I/O.
    pub runtime_ms: u64,
    /// From being ready to being submitted.
    pub slat: Latency,
    /// From submission to completion.
    pub clat: Latency,
    /// Both.
    pub lat: Latency,
    /// Samples of KiB a second.
    pub bw: Moments,
    /// Samples of I/Os a second.
    pub iops: Moments,
    /// What was done in each half second, where that is asked for (x_samples).
    pub timeline: Option<Timeline>,
}

impl DirectionResult {
    /// Bytes a second, rounded down.
    pub fn bytes_per_second(&self) -> u64 {
        per_second(self.bytes, self.runtime_ms)
    }

    /// I/Os a second.
    pub fn ios_per_second(&self) -> f64 {
        if self.runtime_ms == 0 { 0.0 } else { 1000.0 * self.ios as f64 / self.runtime_ms as f64 }
    }

    fn merge(&mut self, other: &DirectionResult) {
        self.bytes += other.bytes;
        self.ios += other.ios;
        self.short += other.short;
        self.dropped += other.dropped;
        self.runtime_ms = self.runtime_ms.max(other.runtime_ms);
        self.slat.merge(&other.slat);
        self.clat.merge(&other.clat);
        self.lat.merge(&other.lat);
        self.bw.merge_sum(&other.bw);
        self.iops.merge_sum(&other.iops);
        match (&mut self.timeline, &other.timeline) {
            (Some(here), Some(there)) => here.merge(there),
            (here, there) => *here = here.take().or_else(|| there.clone()),
        }
    }
}

/// `amount` in `ms`, as a second's, rounded down; 0 for no time.
pub fn per_second(amount: u64, ms: u64) -> u64 {
    if ms == 0 { 0 } else { (u128::from(amount) * 1000 / u128::from(ms)) as u64 }
}

/// How many I/Os were in flight, submitted and completed at once: by fio's bounds 1, 2, 4 to 64 and more; 0, 4, 8 to 64 and more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // as above
pub struct Depths {
    pub level: [u64; 7],
    pub submit: [u64; 7],
    pub complete: [u64; 7],
    /// Submissions.
    pub submits: u64,
    /// Completions.
    pub completes: u64,
}

impl Depths {
    /// Labels of `level`.
    pub const LEVELS: [&'static str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
    /// Labels of the others.
    pub const BATCHES: [&'static str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];

    /// An I/O was submitted as the `depth`-th in flight.
    #[inline]
    pub fn at(&mut self, depth: u64) {
        self.level[(63 - depth.max(1).leading_zeros() as usize).min(6)] += 1;
    }

    /// `ios` were submitted at once.
    pub fn submitted(&mut self, ios: u64) {
        self.submit[batch(ios)] += 1;
        self.submits += 1;
    }

    /// `ios` were completed at once.
    pub fn completed(&mut self, ios: u64) {
        self.complete[batch(ios)] += 1;
        self.completes += 1;
    }

    fn merge(&mut self, other: &Depths) {
        for (here, there) in
            [(&mut self.level, &other.level), (&mut self.submit, &other.submit), (&mut self.complete, &other.complete)]
        {
            here.iter_mut().zip(there).for_each(|(here, there)| *here += there);
        }
        self.submits += other.submits;
        self.completes += other.completes;
    }
}

/// fio's labels of batches are upper bounds, included: none, up to 4, up to 8.
fn batch(ios: u64) -> usize {
    match ios {
        0 => 0,
        1..=4 => 1,
        5..=8 => 2,
        9..=16 => 3,
        17..=32 => 4,
        33..=64 => 5,
        _ => 6,
    }
}

/// unified_rw_reporting=: whether reads and writes are told together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unified {
    /// Each by itself.
    #[default]
    Apart,
    /// Together only.
    Mixed,
    /// Each by itself, and together.
    Both,
}

/// What went wrong first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Errors {
    /// The errno that ended the job; 0 for none.
    pub error: i32,
    /// What was being done, for people.
    pub detail: String,
    /// With continue_on_error: how many, and the first's errno.
    pub continued: Option<(u64, i32)>,
}

/// What a line's clones did on one target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetResult {
    /// Its URL or directory.
    pub target: String,
    /// How many targets these are: a URL's hosts share its I/O, and are told together.
    pub hosts: usize,
    /// Results by direction.
    pub directions: Each<DirectionResult>,
}

/// Results of one line of a report.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobResult {
    /// As reports name it.
    pub name: String,
    /// From 0.
    pub group: u32,
    /// Clones in it.
    pub members: u32,
    /// Of the first member.
    pub pid: u32,
    /// When the first member started: ms since 1970.
    pub start_ms: u64,
    /// Seconds from the run's start to the job's end.
    pub elapsed_s: u64,
    /// Errors.
    pub errors: Errors,
    /// Names and texts of its own options.
    pub options: Vec<(String, String)>,
    /// description=, if given.
    pub description: Option<String>,
    /// Results by direction.
    pub directions: Each<DirectionResult>,
    /// Whether directions are told together; with `Mixed`, after [`JobResult::unify`], all is in the first.
    pub unified: Unified,
    /// Bytes a second of the whole group, by which shares of samples are told; 0 for its own.
    pub group_rate: Each<u64>,
    /// fsync, fdatasync and sync_file_range: how many, and their latencies.
    pub sync: (u64, Latency),
    /// Milliseconds, summed over the members.
    pub runtime_ms: u64,
    /// Processor time, in µs, summed.
    #[allow(missing_docs)] // as above
    pub usr_us: u64,
    #[allow(missing_docs)] // as above
    pub sys_us: u64,
    /// Context switches, page faults with and without I/O.
    #[allow(missing_docs)] // as above
    pub ctx: u64,
    #[allow(missing_docs)] // as above
    pub majf: u64,
    #[allow(missing_docs)] // as above
    pub minf: u64,
    /// I/Os in flight.
    pub depths: Depths,
    /// Shares of latencies, all directions together.
    pub shares: Shares,
    /// latency_target and its window in ns, the percentile, and the depth that was reached.
    pub target: Target,
    /// Whether its rate has become steady, where that is asked for.
    pub steady: Option<SteadyResult>,
    /// percentile_list, ascending.
    pub percentiles: Vec<f64>,
    /// What was done on each target, where that is asked for (x_per_target).
    pub targets: Vec<TargetResult>,
    /// Of a run in steps (--scale, --sweep): names and texts of what this step has.
    pub step: Vec<(String, String)>,
}

/// latency_target's search.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // the names say it
pub struct Target {
    pub latency_ns: u64,
    pub window_ns: u64,
    pub percentile: f64,
    pub depth: u64,
}

impl Default for Target {
    fn default() -> Target {
        Target { latency_ns: 0, window_ns: 0, percentile: 100.0, depth: 1 }
    }
}

impl JobResult {
    /// Reads, writes and trims.
    pub fn ios(&self) -> u64 {
        self.directions.iter().map(|(_, direction)| direction.ios).sum()
    }

    /// What the samples of bandwidth are of the group's, in percent, 100 at most: fio's bw_agg and per.
    pub fn share(&self, direction: Direction) -> f64 {
        share(&self.directions[direction], self.group_rate[direction])
    }

    /// As reports name a direction.
    pub fn label(&self, direction: Direction) -> &'static str {
        if self.unified == Unified::Mixed { MIXED } else { direction.name() }
    }

    /// Puts all directions into the first where only their sum is told.
    pub fn unify(&mut self) {
        if self.unified == Unified::Mixed {
            self.directions = unified(&self.directions);
            self.targets.iter_mut().for_each(|target| target.directions = unified(&target.directions));
        }
    }

    /// The sum of all directions, where it is told behind them, and its share of the group's.
    pub fn sum(&self) -> Option<(DirectionResult, f64)> {
        let sum = (self.unified == Unified::Both).then(|| unified(&self.directions).read)?;
        let share = share(&sum, self.group_rate.iter().map(|(_, rate)| rate).sum());
        Some((sum, share))
    }

    /// Adds a member of its group; the name, options and times of start stay the first's.
    pub fn merge(&mut self, other: &JobResult) {
        self.members += other.members;
        self.elapsed_s = self.elapsed_s.max(other.elapsed_s);
        if self.errors.error == 0 {
            (self.errors.error, self.errors.detail) = (other.errors.error, other.errors.detail.clone());
        }
        self.errors.continued = match (self.errors.continued, other.errors.continued) {
            (Some((here, first)), Some((there, second))) => {
                Some((here + there, if first == 0 { second } else { first }))
            }
            (here, there) => here.or(there),
        };
        merge(&mut self.directions, &other.directions);
        for there in &other.targets {
            match self.targets.iter_mut().find(|here| here.target == there.target) {
                Some(here) => merge(&mut here.directions, &there.directions),
                None => self.targets.push(there.clone()),
            }
        }
        self.steady = self.steady.take().or_else(|| other.steady.clone());
        self.sync.0 += other.sync.0;
        self.sync.1.merge(&other.sync.1);
        self.runtime_ms += other.runtime_ms;
        self.usr_us += other.usr_us;
        self.sys_us += other.sys_us;
        self.ctx += other.ctx;
        self.majf += other.majf;
        self.minf += other.minf;
        self.depths.merge(&other.depths);
        self.shares.merge(&other.shares);
    }

    /// User and system time in percent of the run time.
    pub fn cpu(&self) -> (f64, f64) {
        let percent = |us: u64| if self.runtime_ms == 0 { 0.0 } else { us as f64 / 10.0 / self.runtime_ms as f64 };
        (percent(self.usr_us), percent(self.sys_us))
    }
}

/// How reports name all directions together.
pub const MIXED: &str = "mixed";

/// What `result`'s samples of bandwidth are of `group_rate` (bytes a second; 0 for its own rate), in percent.
fn share(result: &DirectionResult, group_rate: u64) -> f64 {
    let rate = if group_rate == 0 { result.bytes_per_second() } else { group_rate };
    if rate == 0 { 0.0 } else { (100.0 * result.bw.mean / (rate as f64 / 1024.0)).min(100.0) }
}

/// All in the first. Samples of bandwidth are added up, as those of clones are.
fn unified(each: &Each<DirectionResult>) -> Each<DirectionResult> {
    let mut sum = each.read.clone();
    sum.merge(&each.write);
    sum.merge(&each.trim);
    Each { read: sum, ..Each::default() }
}

fn merge(here: &mut Each<DirectionResult>, there: &Each<DirectionResult>) {
    Direction::ALL.into_iter().for_each(|direction| here[direction].merge(&there[direction]));
}

/// Percent of `all`; what is not 0 is 0.1 at least. Above 100 where syncs are counted in `count` alone, as in fio.
pub fn depth_percent(count: u64, all: u64) -> f64 {
    match (count, all) {
        (0, _) | (_, 0) => 0.0,
        (count, all) => (100.0 * count as f64 / all as f64).max(0.1),
    }
}

/// What a disk did during a run, as the kernel counts it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiskResult {
    /// As the kernel names it.
    pub name: String,
    /// Reads and writes: requests, sectors of 512 bytes, requests that were merged into others, ms that they took.
    #[allow(missing_docs)] // as above
    pub ios: [u64; 2],
    #[allow(missing_docs)] // as above
    pub sectors: [u64; 2],
    #[allow(missing_docs)] // as above
    pub merges: [u64; 2],
    #[allow(missing_docs)] // as above
    pub ticks: [u64; 2],
    /// ms, times the requests that were waited for.
    pub in_queue: u64,
    /// Percent of the time in which there was any.
    pub util: f64,
    /// The disks that it is made of, where it is of a device mapper or RAID: the mean of each number, and the largest `util`; without a name.
    pub parts: Option<Box<DiskResult>>,
}

impl DiskResult {
    /// As [`DiskResult::parts`], of disks that there are.
    pub fn mean(disks: &[&DiskResult]) -> Option<DiskResult> {
        let n = disks.len() as u64;
        let mean = |number: &dyn Fn(&DiskResult) -> u64| disks.iter().map(|disk| number(disk)).sum::<u64>() / n;
        let both = |numbers: &dyn Fn(&DiskResult) -> [u64; 2]| [0, 1].map(|at| mean(&|disk| numbers(disk)[at]));
        (n > 0).then(|| DiskResult {
            name: String::new(),
            ios: both(&|disk| disk.ios),
            sectors: both(&|disk| disk.sectors),
            merges: both(&|disk| disk.merges),
            ticks: both(&|disk| disk.ticks),
            in_queue: mean(&|disk| disk.in_queue),
            util: disks.iter().map(|disk| disk.util).fold(0.0, f64::max),
            parts: None,
        })
    }
}

/// How idle processors were, by work of the lowest priority that they had time for (--idle-prof).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Idleness {
    /// Each processor that the run could use, by the kernel's number, and its idle share in percent; none of a calibration alone.
    pub cpus: Vec<(usize, f64)>,
    /// --idle-prof=percpu: each is told, not only their mean.
    pub told: bool,
    /// What a unit of work takes in µs: the mean of all processors, and their deviation.
    pub unit_mean_us: f64,
    #[allow(missing_docs)] // as above
    pub unit_stddev_us: f64,
}

impl Idleness {
    /// The mean of all processors, in percent.
    pub fn system(&self) -> f64 {
        self.cpus.iter().map(|(_, idle)| idle).sum::<f64>() / self.cpus.len().max(1) as f64
    }
}

/// A whole run, or what of it is done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunResult {
    /// `fio-3.42-…`: readers cut it at dots and compare with `fio-3`.
    pub version: String,
    /// When it is told: ms since 1970.
    pub timestamp_ms: u64,
    /// The same as ctime(3) writes it, without the newline.
    pub time: String,
    /// Names and texts of the global options.
    pub globals: Vec<(String, String)>,
    /// Lines of the report.
    pub jobs: Vec<JobResult>,
    /// The disks below the jobs' files; none of files that are on no disk of this host.
    pub disks: Vec<DiskResult>,
    /// --idle-prof: how idle processors were.
    pub idleness: Option<Idleness>,
    /// What fio would print on stdout whatever the format.
    pub notices: Vec<String>,
}
