//! The table of a run on several numbers of mount targets: what each gave, how linear that is, and what bound it.
//!
//! Promises: figures per target are totals divided by the targets; MB are 10^6 bytes; a price that is not known is not guessed.
//! Leaves out: running, forecasts (the planner's), and columns for people.

pub mod csv;
pub mod html;
pub mod json;
pub mod plot;

use super::results::DirectionResult;
use crate::base::price::{Ceiling, blocks_extra};
use crate::base::{PriceList, Proc};

/// The share of a ceiling from which on it is what binds.
const BINDS: f64 = 0.95;

/// What one mount target gives, and what it charges.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // the names say it
pub struct Target {
    pub prices: PriceList,
    pub ceiling: Ceiling,
    /// Bytes of one READ or WRITE at most: a longer I/O is several.
    pub transfer_bytes_max: u64,
}

/// I/Os of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub struct Moved {
    pub ios: u64,
    pub bytes: u64,
}

impl Moved {
    fn and(self, other: Moved) -> Moved {
        Moved { ios: self.ios + other.ios, bytes: self.bytes + other.bytes }
    }

    /// IOPS of the price list in all. Of I/Os of several sizes it is an estimate by their mean.
    fn price(self, target: &Target, proc: Proc) -> f64 {
        if self.ios == 0 {
            return 0.0;
        }
        let bytes = self.bytes.div_ceil(self.ios);
        let (whole, rest) = (bytes / target.transfer_bytes_max, bytes % target.transfer_bytes_max);
        let calls = whole + u64::from(rest > 0 || whole == 0);
        let blocks = whole.saturating_mul(blocks_extra(target.transfer_bytes_max)) + blocks_extra(rest);
        self.ios as f64 * target.prices.total(proc, calls, blocks) as f64
    }
}

impl From<&DirectionResult> for Moved {
    fn from(result: &DirectionResult) -> Moved {
        Moved { ios: result.ios, bytes: result.bytes }
    }
}

/// What a job did on a number of targets, all clones together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Its place among the jobs: two may have one name.
    pub at: usize,
    /// Its name.
    pub job: String,
    /// Options of the sweep and their values.
    pub marks: Vec<(String, String)>,
    /// On how many targets.
    pub targets: u32,
    /// Jobs of one step and group run at once.
    pub group: u32,
    /// What it read and wrote.
    #[allow(missing_docs)] // as above
    pub read: Moved,
    #[allow(missing_docs)] // as above
    pub write: Moved,
    /// COMMITs.
    pub syncs: u64,
    /// Its time, in seconds.
    pub seconds: f64,
    /// I/Os are READs and WRITEs, whose price is known.
    pub is_priced: bool,
    /// I/Os a second of one target that rate= allows.
    pub rate: Option<f64>,
    /// I/Os a second of one target that were forecast.
    pub forecast: Option<f64>,
    /// Mean latency of its I/Os, in seconds.
    pub latency: f64,
    /// Clones that ended with an error.
    pub failed: u32,
}

/// What kept a job from more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum Bound {
    Iops,
    ReadBandwidth,
    WriteBandwidth,
    Bandwidth,
    Rate,
    /// No ceiling was reached: as many I/Os as are in flight in the time of one.
    Latency,
    /// There was no I/O.
    Nothing,
}

impl Bound {
    /// For people and for files.
    pub fn name(self) -> &'static str {
        match self {
            Bound::Iops => "IOPS",
            Bound::ReadBandwidth => "read bandwidth",
            Bound::WriteBandwidth => "write bandwidth",
            Bound::Bandwidth => "bandwidth",
            Bound::Rate => "rate=",
            Bound::Latency => "latency x depth",
            Bound::Nothing => "nothing",
        }
    }
}

/// A line of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The job's place among the jobs.
    pub at: usize,
    /// The job's name.
    pub job: String,
    /// As above.
    pub marks: Vec<(String, String)>,
    /// Bytes of one I/O, the mean.
    pub io_bytes: u64,
    /// Percent of the I/Os that are reads.
    pub read_percent: f64,
    /// Targets.
    pub targets: u32,
    /// I/Os a second of each target, and of all.
    #[allow(missing_docs)] // as above
    pub iops_each: f64,
    #[allow(missing_docs)] // as above
    pub iops: f64,
    /// 10^6 bytes a second of each target, and of all.
    #[allow(missing_docs)] // as above
    pub mb_each: f64,
    #[allow(missing_docs)] // as above
    pub mb: f64,
    /// Percent of what the fewest targets of the same job gave, times how many more these are.
    pub linearity: f64,
    /// Priced IOPS of each target.
    pub priced_each: Option<f64>,
    /// Percent of the IOPS ceiling, and of the bandwidth ceiling.
    pub iops_percent: Option<f64>,
    #[allow(missing_docs)] // as above
    pub bandwidth_percent: f64,
    /// I/Os a second of each target that were forecast, and the fact in percent of it.
    pub forecast_each: Option<f64>,
    #[allow(missing_docs)] // as above
    pub forecast_percent: Option<f64>,
    /// Mean latency of an I/O, in ms.
    pub latency_ms: f64,
    /// What bound it.
    pub bound: Bound,
    /// Clones that ended with an error.
    pub failed: u32,
}

impl Row {
    /// `reads`, `writes`, `70 % reads`.
    pub fn kind(&self) -> String {
        match self.read_percent {
            100.0 => "reads".into(),
            0.0 => "writes".into(),
            percent => format!("{percent:.0} % reads"),
        }
    }
}

impl Measured {
    fn per_second(&self, n: f64) -> f64 {
        if self.seconds > 0.0 { n / self.seconds } else { 0.0 }
    }

    fn ios(&self) -> u64 {
        self.read.ios + self.write.ios
    }

    fn iops(&self) -> f64 {
        self.per_second(self.ios() as f64)
    }

    /// Priced IOPS of each target.
    fn priced_each(&self, target: &Target) -> Option<f64> {
        let io = self.read.price(target, Proc::Read) + self.write.price(target, Proc::Write);
        let price = io + target.prices.total(Proc::Commit, self.syncs, 0) as f64;
        self.is_priced.then(|| self.per_second(price) / f64::from(self.targets))
    }

    fn bytes_each(&self) -> f64 {
        self.per_second((self.read.bytes + self.write.bytes) as f64) / f64::from(self.targets)
    }

    fn is_beside(&self, other: &Measured) -> bool {
        self.targets == other.targets && self.marks == other.marks && self.group == other.group
    }
}

/// The table, in the order of what was measured.
pub fn rows(measured: &[Measured], target: &Target) -> Vec<Row> {
    measured.iter().map(|job| row(job, measured, target)).collect()
}

fn row(job: &Measured, all: &[Measured], target: &Target) -> Row {
    let moved = job.read.and(job.write);
    let n = f64::from(job.targets);
    let (iops, bytes_each) = (job.iops(), job.bytes_each());
    let is_same = |other: &&Measured| (other.at, &other.job, &other.marks) == (job.at, &job.job, &job.marks);
    let first = all.iter().filter(is_same).min_by_key(|other| other.targets);
    let expected = first.map_or(0.0, |first| first.iops() * n / f64::from(first.targets));
    let percent = |part: f64, whole: f64| if whole > 0.0 { 100.0 * part / whole } else { 0.0 };
    let priced_each = job.priced_each(target);
    Row {
        at: job.at,
        job: job.job.clone(),
        marks: job.marks.clone(),
        io_bytes: moved.bytes.checked_div(moved.ios).unwrap_or(0),
        read_percent: percent(job.read.ios as f64, moved.ios as f64),
        targets: job.targets,
        iops_each: iops / n,
        iops,
        mb_each: bytes_each / 1e6,
        mb: bytes_each * n / 1e6,
        linearity: percent(iops, expected),
        priced_each,
        iops_percent: priced_each.map(|priced| percent(priced, target.ceiling.iops)),
        bandwidth_percent: percent(bytes_each, target.ceiling.bytes_per_s),
        forecast_each: job.forecast,
        forecast_percent: job.forecast.map(|forecast| percent(iops / n, forecast)),
        latency_ms: job.latency * 1e3,
        bound: bound(job, all, target),
        failed: job.failed,
    }
}

/// By what all jobs that ran at once took of a target.
fn bound(job: &Measured, all: &[Measured], target: &Target) -> Bound {
    let beside = || all.iter().filter(|other| other.is_beside(job));
    let priced = beside().map(|other| other.priced_each(target)).sum::<Option<f64>>();
    let by_iops = priced.unwrap_or(0.0) / target.ceiling.iops;
    let by_bytes = beside().map(Measured::bytes_each).sum::<f64>() / target.ceiling.bytes_per_s;
    let each = job.iops() / f64::from(job.targets);
    match job.rate {
        _ if job.ios() == 0 => Bound::Nothing,
        Some(rate) if each >= BINDS * rate => Bound::Rate,
        _ if by_iops.max(by_bytes) < BINDS => Bound::Latency,
        _ if by_iops >= by_bytes => Bound::Iops,
        _ => match (job.read.ios, job.write.ios) {
            (_, 0) => Bound::ReadBandwidth,
            (0, _) => Bound::WriteBandwidth,
            _ => Bound::Bandwidth,
        },
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn target() -> Target {
        Target { prices: PriceList::oci(), ceiling: Ceiling::oci(), transfer_bytes_max: 1 << 20 }
    }

    /// `ios` of `bytes` in 10 s.
    fn measured(job: &str, targets: u32, reads: (u64, u64), writes: (u64, u64)) -> Measured {
        let moved = |(ios, bytes): (u64, u64)| Moved { ios, bytes: ios * bytes };
        Measured {
            job: job.into(),
            targets,
            read: moved(reads),
            write: moved(writes),
            seconds: 10.0,
            is_priced: true,
            latency: 0.001,
            ..Measured::default()
        }
    }

    /// The paper's four tests on one target and on two.
    pub fn published() -> Vec<Measured> {
        let mut all = vec![
            measured("r32k", 1, (250_180, 32 << 10), (0, 0)),
            measured("r32k", 2, (495_360, 32 << 10), (0, 0)),
            measured("w32k", 1, (0, 0), (125_800, 32 << 10)),
            measured("r1m", 1, (9370, 1 << 20), (0, 0)),
            measured("w1m", 1, (0, 0), (7610, 1 << 20)),
        ];
        all[0].forecast = Some(25_000.0);
        // One after the other.
        all[2].group = 1;
        all[3].group = 2;
        all[4].group = 3;
        all
    }

    #[test]
    fn the_paper_s_tests_are_bound_by_what_it_says() {
        let rows = rows(&published(), &target());
        let bounds: Vec<Bound> = rows.iter().map(|row| row.bound).collect();
        assert_eq!(bounds, [Bound::Iops, Bound::Iops, Bound::Iops, Bound::ReadBandwidth, Bound::Iops]);
        let [one, two, ..] = &rows[..] else { panic!("no rows") };
        assert_eq!((one.iops_each, one.iops, one.io_bytes, one.kind().as_str()), (25_018.0, 25_018.0, 32_768, "reads"));
        assert_eq!((two.iops_each, two.iops), (24_768.0, 49_536.0));
        assert!((two.linearity - 100.0 * 49_536.0 / 50_036.0).abs() < 1e-9 && one.linearity == 100.0);
        assert_eq!(one.priced_each, Some(50_036.0));
        assert!((one.mb_each - 819.789_824).abs() < 1e-9);
        assert!((one.forecast_percent.unwrap() - 100.072).abs() < 1e-9 && two.forecast_percent.is_none());
        assert_eq!(rows[4].priced_each, Some(761.0 * 66.0));
    }

    #[test]
    fn what_else_binds() {
        let bound_of = |job: Measured| rows(&[job], &target())[0].bound;
        assert_eq!(bound_of(measured("slow", 1, (1000, 4096), (0, 0))), Bound::Latency);
        assert_eq!(bound_of(measured("none", 1, (0, 0), (0, 0))), Bound::Nothing);
        let rated = Measured { rate: Some(100.0), ..measured("rated", 2, (2000, 4096), (0, 0)) };
        assert_eq!(bound_of(rated), Bound::Rate);
        let mixed = measured("both", 1, (5000, 1 << 20), (4600, 1 << 20));
        assert_eq!(rows(std::slice::from_ref(&mixed), &target())[0].kind(), "52 % reads");
        assert_eq!(bound_of(Measured { is_priced: false, ..mixed }), Bound::Bandwidth);
    }

    /// Two jobs that run at once meet a ceiling together.
    #[test]
    fn jobs_beside_each_other_share_a_target() {
        let half = |job: &str, group| Measured { group, ..measured(job, 1, (125_000, 32 << 10), (0, 0)) };
        let bounds = |all: &[Measured]| rows(all, &target()).iter().map(|row| row.bound).collect::<Vec<_>>();
        assert_eq!(bounds(&[half("a", 0), half("b", 0)]), [Bound::Iops; 2]);
        assert_eq!(bounds(&[half("a", 0), half("b", 1)]), [Bound::Latency; 2]);
    }

    #[test]
    fn long_ios_are_several_transfers_and_commits_have_a_price() {
        let mut job = measured("w4m", 1, (0, 0), (10, 4 << 20));
        assert_eq!(job.priced_each(&target()), Some(4.0 * 66.0));
        job.syncs = 20;
        assert_eq!(job.priced_each(&target()), Some(4.0 * 66.0 + 2.0));
        job.write.bytes += 10;
        assert_eq!(job.priced_each(&target()), Some(4.0 * 66.0 + 4.0 + 2.0));
    }
}
