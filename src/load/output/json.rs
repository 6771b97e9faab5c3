//! JSON and JSON+ as fio writes them: two blanks of indentation, `"key" : value`, floats with six decimals, integers without a dot.

use std::fmt::Write;

use super::super::Direction;
use super::super::histogram::{Shares, percent_of};
use super::super::results::{
    Depths, DirectionResult, DiskResult, Idleness, JobResult, Latency, MIXED, RunResult, TargetResult, Unified,
    depth_percent,
};
use super::super::steady::{Steady, SteadyResult};

/// A JSON value that knows which kind of number it is.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // the names say it
pub enum Json {
    Int(u64),
    /// errno, which may be negative.
    Signed(i64),
    /// Six decimals, always.
    Float(f64),
    Text(String),
    Object(Vec<(String, Json)>),
    Array(Vec<Json>),
}

/// What fio says of the time that is left of a job that ended.
const ETA_ENDED: u64 = i32::MAX as u64;

impl Json {
    /// The document, with a newline behind it.
    pub fn document(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, 0);
        out.push('\n');
        out
    }

    fn write(&self, out: &mut String, depth: usize) {
        // Writing to a String does not fail.
        let _ = match self {
            Json::Int(n) => write!(out, "{n}"),
            Json::Signed(n) => write!(out, "{n}"),
            Json::Float(n) if n.is_finite() => write!(out, "{n:.6}"),
            Json::Float(_) => write!(out, "0.000000"),
            Json::Text(text) => write!(out, "{}", quoted(text)),
            Json::Object(members) => {
                block(out, depth, '{', '}', members.iter(), |out, (key, value)| {
                    let _ = write!(out, "{} : ", quoted(key));
                    value.write(out, depth + 1);
                });
                Ok(())
            }
            Json::Array(values) => {
                block(out, depth, '[', ']', values.iter(), |out, value| value.write(out, depth + 1));
                Ok(())
            }
        };
    }
}

fn block<T>(
    out: &mut String,
    depth: usize,
    open: char,
    close: char,
    items: impl Iterator<Item = T>,
    each: impl Fn(&mut String, T),
) {
    out.push(open);
    for (index, item) in items.enumerate() {
        out.push_str(if index > 0 { ",\n" } else { "\n" });
        out.push_str(&"  ".repeat(depth + 1));
        each(out, item);
    }
    out.push('\n');
    out.push_str(&"  ".repeat(depth));
    out.push(close);
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            control if control.is_control() => out.push_str(&format!("\\u{:04x}", control as u32)),
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

pub(in crate::load) fn object(members: Vec<(&str, Json)>) -> Json {
    Json::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

pub(in crate::load) fn texts(options: &[(String, String)]) -> Json {
    Json::Object(options.iter().map(|(name, text)| (name.clone(), Json::Text(text.clone()))).collect())
}

/// The whole document; `bins` asks for JSON+.
pub fn run(result: &RunResult, bins: bool) -> Json {
    let mut members = vec![
        ("fio version", Json::Text(result.version.clone())),
        ("timestamp", Json::Int(result.timestamp_ms / 1000)),
        ("timestamp_ms", Json::Int(result.timestamp_ms)),
        ("time", Json::Text(result.time.clone())),
    ];
    if !result.globals.is_empty() {
        members.push(("global options", texts(&result.globals)));
    }
    members.push(("jobs", Json::Array(result.jobs.iter().map(|result| job(result, bins)).collect())));
    if !result.disks.is_empty() {
        members.push(("disk_util", Json::Array(result.disks.iter().map(disk).collect())));
    }
    members.extend(result.idleness.as_ref().map(|idleness| ("cpu_idleness", self::idleness(idleness))));
    if !result.notices.is_empty() {
        members.push(("notices", Json::Array(result.notices.iter().cloned().map(Json::Text).collect())));
    }
    object(members)
}

fn disk(disk: &DiskResult) -> Json {
    let mut members = vec![("name".to_owned(), Json::Text(disk.name.clone()))];
    members.extend(counts(disk, ""));
    members.extend(disk.parts.iter().flat_map(|parts| counts(parts, "aggr_")));
    Json::Object(members)
}

fn counts(disk: &DiskResult, prefix: &str) -> impl Iterator<Item = (String, Json)> {
    let DiskResult { ios, sectors, merges, ticks, in_queue, util, .. } = disk;
    // As fio names it of what a disk is made of.
    let write_merges = if prefix.is_empty() { "write_merges" } else { "write_merge" };
    let members = [
        ("read_ios", Json::Int(ios[0])),
        ("write_ios", Json::Int(ios[1])),
        ("read_sectors", Json::Int(sectors[0])),
        ("write_sectors", Json::Int(sectors[1])),
        ("read_merges", Json::Int(merges[0])),
        (write_merges, Json::Int(merges[1])),
        ("read_ticks", Json::Int(ticks[0])),
        ("write_ticks", Json::Int(ticks[1])),
        ("in_queue", Json::Int(*in_queue)),
        ("util", Json::Float(*util)),
    ];
    members.into_iter().map(move |(name, value)| (format!("{prefix}{name}"), value))
}

fn idleness(idleness: &Idleness) -> Json {
    let mut members = vec![("system".to_owned(), Json::Float(idleness.system()))];
    let each = idleness.cpus.iter().filter(|_| idleness.told);
    members.extend(each.map(|(cpu, idle)| (format!("cpu-{cpu}"), Json::Float(*idle))));
    members.push(("unit_mean".to_owned(), Json::Float(idleness.unit_mean_us)));
    members.push(("unit_stddev".to_owned(), Json::Float(idleness.unit_stddev_us)));
    Json::Object(members)
}

/// One job.
fn job(job: &JobResult, bins: bool) -> Json {
    let (usr, sys) = job.cpu();
    let mut members = vec![
        ("jobname", Json::Text(job.name.clone())),
        ("groupid", Json::Int(u64::from(job.group))),
        ("job_start", Json::Int(job.start_ms)),
        ("error", Json::Signed(i64::from(job.errors.error))),
        ("eta", Json::Int(ETA_ENDED)),
        ("elapsed", Json::Int(job.elapsed_s)),
        ("job options", texts(&job.options)),
    ];
    members.extend(done(job, bins));
    members.extend([
        ("job_runtime", Json::Int(job.runtime_ms)),
        ("usr_cpu", Json::Float(usr)),
        ("sys_cpu", Json::Float(sys)),
        ("ctx", Json::Int(job.ctx)),
        ("majf", Json::Int(job.majf)),
        ("minf", Json::Int(job.minf)),
        ("iodepth_level", depths(&Depths::LEVELS, &job.depths.level, job.ios())),
        ("iodepth_submit", depths(&Depths::BATCHES, &job.depths.submit, job.depths.submits)),
        ("iodepth_complete", depths(&Depths::BATCHES, &job.depths.complete, job.depths.completes)),
        ("latency_ns", shares(&job.shares.ns, job.ios())),
        ("latency_us", shares(&job.shares.us, job.ios())),
        ("latency_ms", shares(&job.shares.ms, job.ios())),
    ]);
    if let Some((total, first)) = job.errors.continued {
        members.push(("total_err", Json::Int(total)));
        members.push(("first_error", Json::Signed(i64::from(first))));
    }
    let target = &job.target;
    members.extend([
        ("latency_depth", Json::Int(target.depth)),
        ("latency_target", Json::Int(target.latency_ns / 1000)),
        ("latency_target_ns", Json::Int(target.latency_ns)),
        ("latency_percentile", Json::Float(target.percentile)),
        ("latency_window", Json::Int(target.window_ns / 1000)),
        ("latency_window_us", Json::Int(target.window_ns / 1000)),
    ]);
    if let Some(text) = &job.description {
        members.push(("desc", Json::Text(text.clone())));
    }
    members.extend(job.steady.as_ref().map(|steady| ("steadystate", self::steady(steady))));
    if let Some(samples) = samples(job) {
        members.push(("x_samples", samples));
    }
    if !job.targets.is_empty() {
        let target = |target: &TargetResult| {
            let done = target.directions.iter().filter(|(_, done)| done.ios > 0);
            let done = done.map(|(which, done)| (job.label(which), self::direction(done, 0.0, &job.percentiles, bins)));
            let together = (target.hosts > 1).then_some(("targets", Json::Int(target.hosts as u64)));
            let named = [("target", Json::Text(target.target.clone()))].into_iter().chain(together);
            object(named.chain(done).collect())
        };
        members.push(("x_per_target", Json::Array(job.targets.iter().map(target).collect())));
    }
    if !job.step.is_empty() {
        members.push(("x_step", texts(&job.step)));
    }
    object(members)
}

/// What the job did: each direction and syncs, and all directions together; or these alone, without syncs, as in fio.
fn done(job: &JobResult, bins: bool) -> Vec<(&'static str, Json)> {
    let of = |which: Direction| {
        (job.label(which), direction(&job.directions[which], job.share(which), &job.percentiles, bins))
    };
    if job.unified == Unified::Mixed {
        return vec![of(Direction::Read)];
    }
    let mut done: Vec<_> = Direction::ALL.into_iter().map(of).collect();
    let lat = latency(&job.sync.1, &job.percentiles, bins);
    done.push(("sync", object(vec![("total_ios", Json::Int(job.sync.0)), ("lat_ns", lat)])));
    done.extend(job.sum().map(|(sum, share)| (MIXED, direction(&sum, share, &job.percentiles, bins))));
    done
}

fn steady(steady: &SteadyResult) -> Json {
    let Steady { criterion, seconds, .. } = steady.asked;
    let (iops_mean, bw_mean) = steady.means();
    let each = |values: &[u64]| Json::Array(values.iter().copied().map(Json::Int).collect());
    let slope = if criterion.slope { "_slope" } else { "" };
    object(vec![
        ("ss", Json::Text(format!("{}{slope}:{:.6}{}", criterion.name(), criterion.limit, criterion.unit()))),
        ("duration", Json::Int(u64::from(seconds))),
        ("attained", Json::Int(u64::from(steady.attained))),
        ("criterion", Json::Text(format!("{:.6}{}", steady.found, criterion.unit()))),
        ("max_deviation", Json::Float(steady.deviation)),
        ("slope", Json::Float(steady.slope)),
        (
            "data",
            object(vec![
                ("bw_mean", Json::Int(bw_mean)),
                ("iops_mean", Json::Int(iops_mean)),
                ("iops", each(&steady.iops)),
                ("bw", each(&steady.bw)),
            ]),
        ),
    ])
}

/// What was done in each half second (or longer interval): KiB and I/Os a second.
fn samples(job: &JobResult) -> Option<Json> {
    let every = job.directions.iter().find_map(|(_, done)| done.timeline.as_ref())?.every_ms();
    let mut members = vec![("msec", Json::Int(every))];
    for (direction, done) in job.directions.iter().filter(|(_, done)| done.ios > 0) {
        let Some(timeline) = &done.timeline else { continue };
        let floats = |values: Vec<f64>| Json::Array(values.into_iter().map(Json::Float).collect());
        let bw = timeline.per_second(|interval| interval.bytes).into_iter().map(|bytes| bytes / 1024.0).collect();
        let iops = floats(timeline.per_second(|interval| interval.ios));
        members.push((job.label(direction), object(vec![("bw", floats(bw)), ("iops", iops)])));
    }
    Some(object(members))
}

fn depths(labels: &[&str], counts: &[u64], all: u64) -> Json {
    let float = |(label, count): (&&str, &u64)| ((*label).to_owned(), Json::Float(depth_percent(*count, all)));
    Json::Object(labels.iter().zip(counts).map(float).collect())
}

fn shares(counts: &[u64], all: u64) -> Json {
    let float = |(label, count): (&&str, &u64)| ((*label).to_owned(), Json::Float(percent_of(*count, all)));
    Json::Object(Shares::LABELS.iter().zip(counts).map(float).collect())
}

/// One direction; `share` is bw_agg.
fn direction(result: &DirectionResult, share: f64, percentiles: &[f64], bins: bool) -> Json {
    let bytes_per_second = result.bytes_per_second();
    let (bw, iops) = (&result.bw, &result.iops);
    object(vec![
        ("io_bytes", Json::Int(result.bytes)),
        ("io_kbytes", Json::Int(result.bytes >> 10)),
        ("bw_bytes", Json::Int(bytes_per_second)),
        ("bw", Json::Int(bytes_per_second >> 10)),
        ("iops", Json::Float(result.ios_per_second())),
        ("runtime", Json::Int(result.runtime_ms)),
        ("total_ios", Json::Int(result.ios)),
        ("short_ios", Json::Int(result.short)),
        ("drop_ios", Json::Int(result.dropped)),
        ("slat_ns", latency(&result.slat, percentiles, bins)),
        ("clat_ns", latency(&result.clat, percentiles, bins)),
        ("lat_ns", latency(&result.lat, percentiles, bins)),
        ("bw_min", Json::Int(bw.least())),
        ("bw_max", Json::Int(bw.max)),
        ("bw_agg", Json::Float(share)),
        ("bw_mean", Json::Float(bw.mean)),
        ("bw_dev", Json::Float(bw.deviation())),
        ("bw_samples", Json::Int(bw.n)),
        ("iops_min", Json::Int(iops.least())),
        ("iops_max", Json::Int(iops.max)),
        ("iops_mean", Json::Float(iops.mean)),
        ("iops_stddev", Json::Float(iops.deviation())),
        ("iops_samples", Json::Int(iops.n)),
    ])
}

fn latency(latency: &Latency, percentiles: &[f64], bins: bool) -> Json {
    let moments = &latency.moments;
    let mut members = vec![
        ("min", Json::Int(moments.least())),
        ("max", Json::Int(moments.max)),
        ("mean", Json::Float(moments.mean)),
        ("stddev", Json::Float(moments.deviation())),
        ("N", Json::Int(moments.n)),
    ];
    if let Some(histogram) = latency.histogram.as_ref().filter(|histogram| histogram.total() > 0) {
        let values = histogram.percentiles(percentiles);
        let named = percentiles.iter().zip(values).map(|(percentile, ns)| (format!("{percentile:.6}"), Json::Int(ns)));
        members.push(("percentile", Json::Object(named.collect())));
        if bins {
            let counted = histogram.bins().into_iter().map(|(ns, count)| (ns.to_string(), Json::Int(count)));
            members.push(("bins", Json::Object(counted.collect())));
        }
    }
    object(members)
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    /// The parts of a document that fio 3.33 wrote, from the numbers that the sample has.
    #[test]
    fn as_fio_writes_it() {
        let text = run(&sample::run(), false).document();
        for part in sample::JSON_PARTS {
            assert!(text.contains(part), "{part}\nis not in\n{text}");
        }
        let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(parsed["jobs"][0]["job options"]["numjobs"], "2");
    }

    #[test]
    fn keys_in_fio_s_order() {
        let Json::Object(members) = run(&sample::run(), true) else { panic!("no object") };
        let names =
            |members: &[(String, Json)]| members.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>().join(",");
        assert_eq!(names(&members), "fio version,timestamp,timestamp_ms,time,global options,jobs");
        let Json::Array(jobs) = &members[5].1 else { panic!("no jobs") };
        let Json::Object(job) = &jobs[0] else { panic!("no job") };
        let wanted = "jobname,groupid,job_start,error,eta,elapsed,job options,read,write,trim,sync,job_runtime,usr_cpu,sys_cpu,ctx,majf,minf,\
                      iodepth_level,iodepth_submit,iodepth_complete,latency_ns,latency_us,latency_ms,latency_depth,latency_target,\
                      latency_target_ns,latency_percentile,latency_window,latency_window_us,desc";
        assert_eq!(names(job), wanted);
        let Json::Object(read) = &job[7].1 else { panic!("no read") };
        let Json::Object(clat) = &read[10].1 else { panic!("no clat") };
        assert_eq!(names(clat), "min,max,mean,stddev,N,percentile,bins");
    }

    #[test]
    fn what_a_disk_is_made_of_is_told_behind_it() {
        let part = DiskResult { merges: [5, 6], util: 2.0, ..DiskResult::default() };
        let Json::Object(members) = disk(&DiskResult { parts: Some(Box::new(part)), ..DiskResult::default() }) else {
            panic!("no object")
        };
        let names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
        let wanted = "name,read_ios,write_ios,read_sectors,write_sectors,read_merges,write_merges,read_ticks,write_ticks,in_queue,util,\
                      aggr_read_ios,aggr_write_ios,aggr_read_sectors,aggr_write_sectors,aggr_read_merges,aggr_write_merge,aggr_read_ticks,\
                      aggr_write_ticks,aggr_in_queue,aggr_util";
        assert_eq!(names.join(","), wanted);
        assert_eq!((&members[16].1, &members[20].1), (&Json::Int(6), &Json::Float(2.0)));
    }

    #[test]
    fn texts_are_quoted_and_nothing_is_no_number() {
        assert_eq!(Json::Text("a\"b\\c\nd\u{1}".into()).document(), "\"a\\\"b\\\\c\\nd\\u0001\"\n");
        assert_eq!(Json::Float(f64::NAN).document(), "0.000000\n");
        assert_eq!(Json::Array(vec![Json::Int(1), Json::Int(2)]).document(), "[\n  1,\n  2\n]\n");
    }
}
