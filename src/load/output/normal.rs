//! fio's human report: a block for each job or group, then the aggregate of each group. Blanks count: scripts cut these lines.
//!
//! The format is 3.42's: no zone resets, `/syncfs` in the heading of syncs, units behind latency_target.

use std::fmt::Write;

use crate::base::reason;

use super::super::histogram::{Histogram, Moments, percent_of};
use super::super::results::{Depths, DirectionResult, JobResult, Latency, MIXED, Unified, per_second};
use super::super::steady::SteadyResult;
use super::super::{Direction, Each};
use super::number::{Of, shown};

/// How results are printed for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    /// significant_figures.
    pub digits: usize,
    /// kb_base=1024: binary units first.
    pub binary: bool,
    /// unit_base=1: rates are in bits. As in fio those of samples (`bw (KiB/s)`) stay in bytes.
    pub bits: bool,
}

impl Default for Manner {
    fn default() -> Manner {
        Manner { digits: 4, binary: true, bits: false }
    }
}

/// A report in the making. Writing to a String does not fail.
struct Report<'a> {
    out: String,
    manner: &'a Manner,
}

/// Which kinds of percentiles a job prints: fio's clat_percentiles, lat_percentiles, slat_percentiles are told by the histograms.
const KINDS: [&str; 3] = ["slat", "clat", "lat"];

/// What a job failed at; `error` is the text of its errno.
fn why(job: &JobResult, error: &str) -> String {
    // What the engine had to say stands in the detail already.
    let detail = &job.errors.detail;
    if detail.contains("error=") { detail.clone() } else { format!("{detail}, error={error}") }
}

/// The line ahead of all blocks of a clone that an error ended.
pub fn ended(job: &JobResult, error: &str) -> String {
    format!("fio: pid={}, err={}/{}", job.pid, job.errors.error, why(job, error))
}

/// The block of one job or group; `when` is the time as ctime(3) writes it, `error` the text of the job's errno. Nothing for a job without I/O
/// and without an error.
pub fn job(job: &JobResult, when: &str, error: &str, manner: &Manner) -> String {
    let mut report = Report { out: String::new(), manner };
    if job.ios() == 0 && job.sync.0 == 0 && job.errors.error == 0 {
        return String::new();
    }
    report.head(job, when, error);
    for (direction, result) in job.directions.iter().filter(|(_, result)| result.ios > 0) {
        report.direction(job, job.label(direction), result, job.share(direction));
    }
    if let Some((sum, share)) = job.sum().filter(|(sum, _)| sum.ios > 0) {
        report.direction(job, MIXED, &sum, share);
    }
    report.shares(job);
    if job.sync.0 > 0 {
        report.sync(job);
    }
    report.foot(job, error);
    report.out
}

impl Report<'_> {
    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.out, "{text}");
    }

    fn head(&mut self, job: &JobResult, when: &str, error: &str) {
        let JobResult { name, group, members, pid, .. } = job;
        let _ = write!(self.out, "{name}: (groupid={group}, jobs={members}): err={:2}", job.errors.error);
        if job.errors.error != 0 {
            let _ = write!(self.out, " ({})", why(job, error));
        }
        self.line(format_args!(": pid={pid}: {when}"));
        if let Some(text) = &job.description {
            self.line(format_args!("  Description  : [{text}]"));
        }
    }

    /// Bytes a second in both units: `294MiB/s (309MB/s)`; with unit_base=1 `2352Mibit/s (2472Mbit/s)`.
    fn rate(&self, bytes: u64) -> String {
        let [first, second] = [self.manner.binary, !self.manner.binary];
        format!("{} ({})", self.rate_in(bytes, first), self.rate_in(bytes, second))
    }

    fn rate_in(&self, bytes: u64, binary: bool) -> String {
        shown(bytes, self.manner.digits, binary, Of::rate(self.manner.bits))
    }

    fn bytes(&self, bytes: u64, binary: bool) -> String {
        shown(bytes, self.manner.digits, binary, Of::Bytes)
    }

    fn direction(&mut self, job: &JobResult, name: &str, result: &DirectionResult, share: f64) {
        let iops = shown(per_second(result.ios, result.runtime_ms), self.manner.digits, false, Of::Nothing);
        let (rate, bytes) = (self.rate(result.bytes_per_second()), self.bytes(result.bytes, self.manner.binary));
        self.line(format_args!("  {name}: IOPS={iops}, BW={rate}({bytes}/{}msec)", result.runtime_ms));
        let latencies = [&result.slat, &result.clat, &result.lat];
        for (kind, latency) in KINDS.iter().zip(latencies) {
            self.moments(&format!("    {kind:>4} "), &latency.moments);
        }
        for (kind, latency) in KINDS.iter().zip(latencies) {
            self.percentiles(kind, latency, &job.percentiles);
        }
        self.samples(result, share);
    }

    fn moments(&mut self, name: &str, moments: &Moments) {
        if moments.n == 0 || moments.max == 0 {
            return;
        }
        let (divisor, unit) = scale(moments);
        let (mean, deviation) = (moments.mean / divisor as f64, moments.deviation() / divisor as f64);
        // Six digits at most, as fio.
        let ends = [moments.least(), moments.max].map(|ns| shown(ns / divisor, 6, false, Of::Nothing));
        self.line(format_args!(
            "{name}({unit}): min={}, max={}, avg={mean:5.2}, stdev={deviation:5.2}",
            ends[0], ends[1]
        ));
    }

    fn percentiles(&mut self, kind: &str, latency: &Latency, percentiles: &[f64]) {
        let Some(histogram) = latency.histogram.as_ref().filter(|histogram| histogram.total() > 0) else { return };
        if percentiles.is_empty() {
            return;
        }
        let (values, unit) = scaled(histogram, percentiles);
        self.line(format_args!("    {kind} percentiles ({unit}):"));
        let widest = values.last().map_or(1, |value| value.to_string().len());
        let width = widest.max(5);
        let decimals = decimals(percentiles);
        let each_line = ((80 - 7) / (decimals + 10 + width)).max(1);
        let label = decimals + 3;
        for (index, (percentile, value)) in percentiles.iter().zip(&values).enumerate() {
            let begin = if index.is_multiple_of(each_line) { "     | " } else { " " };
            let end = match index + 1 {
                last if last == percentiles.len() => "\n",
                next if next.is_multiple_of(each_line) => ",\n",
                _ => ",",
            };
            let _ = write!(self.out, "{begin}{percentile:label$.decimals$}th=[{value:width$}]{end}");
        }
    }

    fn samples(&mut self, result: &DirectionResult, share: f64) {
        if result.bw.n > 0 {
            let base = if self.manner.binary { 1024 } else { 1000 };
            let mebi = result.bw.mean > (base * base) as f64;
            let divisor = if mebi { base } else { 1 };
            let unit = match (self.manner.binary, mebi) {
                (true, false) => "KiB/s",
                (true, true) => "MiB/s",
                (false, false) => "kB/s",
                (false, true) => "MB/s",
            };
            // Samples are in KiB. With kb_base=1000 fio prints the same numbers and calls them kB; here they are converted.
            let scaled =
                |value: f64| if self.manner.binary { value / divisor as f64 } else { value * 1.024 / divisor as f64 };
            let ends = [result.bw.least(), result.bw.max].map(|value| scaled(value as f64) as u64);
            let (mean, deviation) = (scaled(result.bw.mean), scaled(result.bw.deviation()));
            self.line(format_args!(
                "   bw ({unit:>7}): min={:5}, max={:5}, per={share:3.2}%, avg={mean:5.2}, stdev={deviation:5.2}, samples={}",
                ends[0], ends[1], result.bw.n
            ));
        }
        let iops = &result.iops;
        if iops.n > 0 {
            self.line(format_args!(
                "   iops        : min={:5}, max={:5}, avg={:5.2}, stdev={:5.2}, samples={}",
                iops.least(),
                iops.max,
                iops.mean,
                iops.deviation(),
                iops.n
            ));
        }
    }

    fn shares(&mut self, job: &JobResult) {
        let all = job.ios();
        let units: [(&str, &[u64]); 3] = [("nsec", &job.shares.ns), ("usec", &job.shares.us), ("msec", &job.shares.ms)];
        for (unit, counts) in units {
            let labels = super::super::histogram::Shares::LABELS;
            let filled: Vec<String> = labels
                .iter()
                .zip(counts)
                .filter(|(_, count)| **count > 0)
                .map(|(label, count)| format!("{label}={:3.2}%", percent_of(*count, all)))
                .collect();
            for line in filled.chunks(5) {
                self.line(format_args!("  lat ({unit})   : {}", line.join(", ")));
            }
        }
    }

    fn sync(&mut self, job: &JobResult) {
        self.line(format_args!("  fsync/fdatasync/sync_file_range/syncfs:"));
        self.moments("    sync ", &job.sync.1.moments);
        self.percentiles("sync", &job.sync.1, &job.percentiles);
    }

    fn foot(&mut self, job: &JobResult, error: &str) {
        let (usr, sys) = job.cpu();
        let JobResult { ctx, majf, minf, depths, directions, .. } = job;
        self.line(format_args!("  cpu          : usr={usr:3.2}%, sys={sys:3.2}%, ctx={ctx}, majf={majf}, minf={minf}"));
        self.depths("  IO depths    :", &Depths::LEVELS, &depths.level, job.ios());
        self.depths("     submit    :", &Depths::BATCHES, &depths.submit, depths.submits);
        self.depths("     complete  :", &Depths::BATCHES, &depths.complete, depths.completes);
        let each = |value: fn(&DirectionResult) -> u64| {
            let Each { read, write, trim } = directions;
            format!("{},{},{}", value(read), value(write), value(trim))
        };
        let (total, short, dropped) =
            (each(|result| result.ios), each(|result| result.short), each(|result| result.dropped));
        self.line(format_args!("     issued rwts: total={total},{} short={short},0 dropped={dropped},0", job.sync.0));
        if let Some((total, first)) = job.errors.continued {
            let text = match first {
                0 => "Success".into(),
                first if first == job.errors.error => error.to_string(),
                first => reason(&std::io::Error::from_raw_os_error(first)),
            };
            self.line(format_args!("     errors    : total={total}, first_error={first}/<{text}>"));
        }
        let target = &job.target;
        if job.target.depth > 0 {
            self.line(format_args!(
                "     latency   : target={}, window={}, percentile={:.2}%, depth={}",
                time(target.latency_ns),
                time(target.window_ns),
                target.percentile,
                target.depth
            ));
        }
        if let Some(steady) = &job.steady {
            self.steady(steady);
        }
    }

    fn steady(&mut self, steady: &SteadyResult) {
        let criterion = &steady.asked.criterion;
        let (iops, bw) = steady.means();
        let (rate, iops) = (self.rate(bw), shown(iops, self.manner.digits, false, Of::Nothing));
        self.line(format_args!(
            "  steadystate  : attained={}, bw={rate}, iops={iops}, {} {}={:.3}{}",
            if steady.attained { "yes" } else { "no" },
            criterion.name(),
            if criterion.slope { "slope" } else { "mean dev" },
            steady.found,
            criterion.unit()
        ));
    }

    fn depths(&mut self, name: &str, labels: &[&str], counts: &[u64], all: u64) {
        let percent = |count: u64| super::super::results::depth_percent(count, all);
        let shares: Vec<String> =
            labels.iter().zip(counts).map(|(label, count)| format!("{label}={:3.1}%", percent(*count))).collect();
        self.line(format_args!("{name} {}", shares.join(", ")));
    }

    /// A group's line: the bytes of all in the longest time, the slowest and the fastest of them. None of what did no I/O.
    fn aggregate(&mut self, name: &str, results: &[&DirectionResult]) {
        let done = || results.iter().filter(|result| result.ios > 0);
        if done().next().is_none() {
            return;
        }
        let bytes: u64 = done().map(|result| result.bytes).sum();
        let times = || done().map(|result| result.runtime_ms);
        let rates = || done().map(|result| result.bytes_per_second());
        let (shortest, longest) = (times().min().unwrap_or(0), times().max().unwrap_or(0));
        let (slowest, fastest) = (rates().min().unwrap_or(0), rates().max().unwrap_or(0));
        let rate = self.rate(per_second(bytes, longest));
        let [first, second] = [self.manner.binary, !self.manner.binary]
            .map(|binary| format!("{}-{}", self.rate_in(slowest, binary), self.rate_in(fastest, binary)));
        let [io, io_second] = [self.manner.binary, !self.manner.binary].map(|binary| self.bytes(bytes, binary));
        let name = name.to_uppercase();
        self.line(format_args!(
            "  {name:>5}: bw={rate}, {first} ({second}), io={io} ({io_second}), run={shortest}-{longest}msec"
        ));
    }
}

/// A time as 3.42 prints latency_target.
fn time(ns: u64) -> String {
    match ns {
        0..10_000 => format!("{:.2}ns", ns as f64),
        10_000..10_000_000 => format!("{:.2}us", ns as f64 / 1e3),
        _ => format!("{:.2}ms", ns as f64 / 1e6),
    }
}

/// The unit of a line of latencies: a larger one only where all three numbers are large.
fn scale(moments: &Moments) -> (u64, &'static str) {
    let (min, max, deviation) = (moments.least(), moments.max, moments.deviation());
    let exceeds = |by: u64| min > 2000 * by && max > 99_999 * by && deviation > 1000.0 * by as f64;
    match () {
        () if exceeds(1000) => (1_000_000, "msec"),
        () if exceeds(1) => (1000, "usec"),
        () => (1, "nsec"),
    }
}

/// Percentiles in the unit that their ends ask for, rounded up.
fn scaled(histogram: &Histogram, percentiles: &[f64]) -> (Vec<u64>, &'static str) {
    let values = histogram.percentiles(percentiles);
    let (min, max) = (values.first().copied().unwrap_or(0), values.last().copied().unwrap_or(0));
    let (divisor, unit) = match () {
        () if min > 2_000_000 && max > 99_999_999 => (1_000_000, "msec"),
        () if min > 2000 && max > 99_999 => (1000, "usec"),
        () => (1, "nsec"),
    };
    (values.into_iter().map(|ns| ns.div_ceil(divisor)).collect(), unit)
}

/// Decimals that the percentiles need.
fn decimals(percentiles: &[f64]) -> usize {
    let needed = |percentile: &f64| {
        (0..6).find(|digits| (percentile * 10_f64.powi(*digits)).fract().abs() < 1e-6).unwrap_or(6) as usize
    };
    percentiles.iter().map(needed).max().unwrap_or(0)
}

/// The aggregate of the group `number`, whose members (clones, merged or not) are `jobs`.
pub fn group(number: u32, jobs: &[&JobResult], manner: &Manner) -> String {
    let mut report = Report { out: String::new(), manner };
    report.line(format_args!("\nRun status group {number} (all jobs):"));
    for direction in Direction::ALL {
        let apart = jobs.iter().filter(|job| job.unified != Unified::Mixed);
        report.aggregate(direction.name(), &apart.map(|job| &job.directions[direction]).collect::<Vec<_>>());
    }
    let together = jobs.iter().filter(|job| job.unified != Unified::Apart);
    report.aggregate(MIXED, &together.flat_map(|job| job.directions.iter().map(|(_, done)| done)).collect::<Vec<_>>());
    report.out
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    /// What Debian's fio 3.33 printed of the sample, with 3.42's heading of syncs, without its zone resets, and with units in the last line.
    const BLOCK: &str = "\
one: (groupid=0, jobs=2): err= 0: pid=5889: Sat Nov 21 15:49:16 2026
  Description  : [text here]
  read: IOPS=2037, BW=8149KiB/s (8345kB/s)(3928KiB/482msec)
    clat (usec): min=42, max=5396, avg=371.22, stdev=813.16
     lat (usec): min=42, max=5396, avg=371.28, stdev=813.17
    clat percentiles (usec):
     |  1.00th=[   49],  5.00th=[   52], 10.00th=[   55], 20.00th=[   59],
     | 30.00th=[   65], 40.00th=[   70], 50.00th=[   76], 60.00th=[   84],
     | 70.00th=[  100], 80.00th=[  247], 90.00th=[ 1106], 95.00th=[ 2376],
     | 99.00th=[ 4047], 99.50th=[ 4490], 99.90th=[ 5407], 99.95th=[ 5407],
     | 99.99th=[ 5407]
  write: IOPS=2211, BW=8846KiB/s (9059kB/s)(4264KiB/482msec)
    clat (nsec): min=2163, max=69874, avg=5807.96, stdev=5594.02
     lat (nsec): min=2193, max=71176, avg=5908.29, stdev=5697.53
    clat percentiles (nsec):
     |  1.00th=[ 2224],  5.00th=[ 2416], 10.00th=[ 2512], 20.00th=[ 2704],
     | 30.00th=[ 2992], 40.00th=[ 3312], 50.00th=[ 3632], 60.00th=[ 4192],
     | 70.00th=[ 5344], 80.00th=[ 7712], 90.00th=[12096], 95.00th=[15808],
     | 99.00th=[28544], 99.50th=[35072], 99.90th=[43776], 99.95th=[70144],
     | 99.99th=[70144]
  lat (usec)   : 4=30.03%, 10=14.70%, 20=5.62%, 50=2.98%, 100=32.32%
  lat (usec)   : 250=4.88%, 500=1.86%, 750=1.22%, 1000=1.22%
  lat (msec)   : 2=2.69%, 4=1.86%, 10=0.63%
  fsync/fdatasync/sync_file_range/syncfs:
    sync (usec): min=40, max=8910, avg=1167.00, stdev=1448.34
    sync percentiles (usec):
     |  1.00th=[   47],  5.00th=[   77], 10.00th=[  113], 20.00th=[  196],
     | 30.00th=[  273], 40.00th=[  408], 50.00th=[  578], 60.00th=[  848],
     | 70.00th=[ 1303], 80.00th=[ 1876], 90.00th=[ 2900], 95.00th=[ 4178],
     | 99.00th=[ 7635], 99.50th=[ 8717], 99.90th=[ 8848], 99.95th=[ 8848],
     | 99.99th=[ 8848]
  cpu          : usr=0.31%, sys=6.05%, ctx=2019, majf=0, minf=27
  IO depths    : 1=124.6%, 2=0.0%, 4=0.0%, 8=0.0%, 16=0.0%, 32=0.0%, >=64=0.0%
     submit    : 0=0.0%, 4=100.0%, 8=0.0%, 16=0.0%, 32=0.0%, 64=0.0%, >=64=0.0%
     complete  : 0=0.0%, 4=100.0%, 8=0.0%, 16=0.0%, 32=0.0%, 64=0.0%, >=64=0.0%
     issued rwts: total=982,1066,0,503 short=0,0,0,0 dropped=0,0,0,0
     latency   : target=0.00ns, window=0.00ns, percentile=100.00%, depth=1
";

    const GROUP: &str = "
Run status group 0 (all jobs):
   READ: bw=8149KiB/s (8345kB/s), 8149KiB/s-8149KiB/s (8345kB/s-8345kB/s), io=3928KiB (4022kB), run=482-482msec
  WRITE: bw=8846KiB/s (9059kB/s), 8846KiB/s-8846KiB/s (9059kB/s-9059kB/s), io=4264KiB (4366kB), run=482-482msec
";

    #[test]
    fn as_fio_prints_it() {
        let sample = sample::job();
        assert_eq!(job(&sample, "Sat Nov 21 15:49:16 2026", "", &Manner::default()), BLOCK);
        assert_eq!(group(0, &[&sample], &Manner::default()), GROUP);
    }

    #[test]
    fn samples_errors_and_other_units() {
        let mut sample = sample::job();
        let read = &mut sample.directions.read;
        [206_973, 353_526].iter().for_each(|kib| read.bw.add(*kib));
        [51_743, 88_381].iter().for_each(|iops| read.iops.add(*iops));
        sample.errors.error = 5;
        sample.errors.detail = "file:x.c:1, func=read".into();
        let text = job(&sample, "now", "Input/output error", &Manner { binary: false, ..Manner::default() });
        for line in [
            "one: (groupid=0, jobs=2): err= 5 (file:x.c:1, func=read, error=Input/output error): pid=5889: now\n",
            "  read: IOPS=2037, BW=8345kB/s (8149KiB/s)(4022kB/482msec)\n",
            "   iops        : min=51743, max=88381, avg=70062.00, stdev=25906.98, samples=2\n",
            "   bw (   kB/s): min=211940, max=362010, per=100.00%, avg=286975.49, stdev=106115.71, samples=2\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
        assert_eq!(
            ended(&sample, "Input/output error"),
            "fio: pid=5889, err=5/file:x.c:1, func=read, error=Input/output error"
        );
        sample.errors.detail = "func=io_u error, error=Input/output error".into();
        sample.errors.continued = Some((3, 5));
        let text = job(&sample, "now", "Input/output error", &Manner::default());
        for line in [
            "err= 5 (func=io_u error, error=Input/output error): pid=5889: now\n",
            "     errors    : total=3, first_error=5/<Input/output error>\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
        // The first may be another than the one that ended the job.
        sample.errors.continued = Some((3, 28));
        let text = job(&sample, "now", "Input/output error", &Manner::default());
        assert!(text.contains("total=3, first_error=28/<No space left on device>\n"), "{text}");
        let text = job(&sample, "now", "", &Manner::default());
        assert!(
            text.contains(
                "   bw (  KiB/s): min=206973, max=353526, per=100.00%, avg=280249.50, stdev=103628.62, samples=2\n"
            ),
            "{text}"
        );
    }

    /// unit_base=1: what fio 3.33 prints of the same numbers.
    #[test]
    fn rates_in_bits() {
        let mut sample = sample::job();
        [2040, 2064].iter().for_each(|kib| sample.directions.read.bw.add(*kib));
        let bits = Manner { bits: true, ..Manner::default() };
        let text = job(&sample, "now", "", &bits);
        for line in [
            "  read: IOPS=2037, BW=63.7Mibit/s (66.8Mbit/s)(3928KiB/482msec)\n",
            "   bw (  KiB/s): min= 2040, max= 2064, per=25.18%, avg=2052.00, stdev=16.97, samples=2\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
        let wanted = "   READ: bw=63.7Mibit/s (66.8Mbit/s), 63.7Mibit/s-63.7Mibit/s (66.8Mbit/s-66.8Mbit/s), io=3928KiB (4022kB), run=482-482msec\n";
        let text = group(0, &[&sample], &bits);
        assert!(text.contains(wanted), "{text}");
    }

    /// Lists that fio 3.33 was given, and their lines.
    #[test]
    fn percentiles_have_the_list_s_decimals() {
        let lines = [
            (vec![1.0, 50.0, 99.0], "     |   1th=["),
            (vec![50.0, 99.9], "     | 50.0th=["),
            (vec![1.5, 100.0], "     |  1.5th=["),
            (vec![5.0, 99.9999], "     |  5.0000th=["),
        ];
        for (list, wanted) in lines {
            let text = job(&JobResult { percentiles: list, ..sample::job() }, "", "", &Manner::default());
            assert!(text.contains(wanted), "{wanted}{text}");
        }
    }

    #[test]
    fn a_job_without_io_prints_nothing() {
        assert_eq!(job(&JobResult::default(), "", "", &Manner::default()), "");
    }
}
