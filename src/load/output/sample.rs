//! The results of a job that Debian's fio 3.33 ran, by its JSON, and what it printed of them.

use super::super::Each;
use super::super::histogram::{Histogram, Moments, Shares};
use super::super::results::{DirectionResult, JobResult, Latency, RunResult};

/// Moments with these results.
fn moments(min: u64, max: u64, mean: f64, deviation: f64, n: u64) -> Moments {
    Moments { min, max, n, mean, squares: deviation * deviation * (n - 1) as f64 }
}

/// A histogram of `n` values that has these percentiles: as many of each as lie between its neighbours.
fn histogram(n: u64, values: [u64; 17]) -> Histogram {
    let mut histogram = Histogram::default();
    let mut before = 0;
    for (percentile, ns) in PERCENTILES.iter().zip(values) {
        let upto = (percentile / 100.0 * n as f64).ceil() as u64;
        (before..upto).for_each(|_| histogram.add(ns));
        before = upto;
    }
    (before..n).for_each(|_| histogram.add(values[16]));
    histogram
}

/// fio's default list.
pub const PERCENTILES: [f64; 17] =
    [1., 5., 10., 20., 30., 40., 50., 60., 70., 80., 90., 95., 99., 99.5, 99.9, 99.95, 99.99];

const READ: [u64; 17] = [
    48896, 51456, 54016, 58624, 64256, 69120, 75264, 83456, 99840, 246_784, 1_105_920, 2_375_680, 4_046_848, 4_489_216,
    5_406_720, 5_406_720, 5_406_720,
];
const WRITE: [u64; 17] =
    [2224, 2416, 2512, 2704, 2992, 3312, 3632, 4192, 5344, 7712, 12096, 15808, 28544, 35072, 43776, 70144, 70144];
const SYNC: [u64; 17] = [
    46336, 76288, 112_128, 195_584, 272_384, 407_552, 577_536, 847_872, 1_302_528, 1_875_968, 2_899_968, 4_177_920,
    7_634_944, 8_716_288, 8_847_360, 8_847_360, 8_847_360,
];

fn direction(bytes: u64, ios: u64, clat: Latency, lat: Latency) -> DirectionResult {
    DirectionResult { bytes, ios, runtime_ms: 482, clat, lat, ..DirectionResult::default() }
}

/// Job `one` of the run.
pub fn job() -> JobResult {
    let latency = |moments, values: Option<[u64; 17]>| Latency {
        moments,
        histogram: values.map(|values| histogram(moments.n, values)),
    };
    let read = direction(
        4_022_272,
        982,
        latency(moments(42_173, 5_396_734, 371_221.859_470, 813_162.894_408, 982), Some(READ)),
        latency(moments(42_213, 5_396_744, 371_283.354_379, 813_173.188_340, 982), None),
    );
    let write = direction(
        4_366_336,
        1066,
        latency(moments(2163, 69_874, 5_807.960_600, 5_594.016_141, 1066), Some(WRITE)),
        latency(moments(2193, 71_176, 5_908.294_559, 5_697.531_136, 1066), None),
    );
    let mut job = JobResult {
        name: "one".into(),
        members: 2,
        pid: 5889,
        start_ms: 1_795_276_156_400,
        elapsed_s: 1,
        options: [("rw", "randrw"), ("description", "text here"), ("fsync", "4"), ("numjobs", "2")]
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .to_vec(),
        description: Some("text here".into()),
        directions: Each { read, write, trim: DirectionResult::default() },
        sync: (503, latency(moments(40_540, 8_910_839, 1_167_002.429_423, 1_448_342.848_475, 503), Some(SYNC))),
        runtime_ms: 959,
        usr_us: 3000,
        sys_us: 58_000,
        ctx: 2019,
        minf: 27,
        shares: Shares {
            ns: [0; 10],
            us: [0, 615, 301, 115, 61, 662, 100, 38, 25, 25],
            ms: [55, 38, 13, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        },
        percentiles: PERCENTILES.to_vec(),
        ..JobResult::default()
    };
    job.depths.level[0] = 982 + 1066 + 503;
    (job.depths.submit[1], job.depths.submits, job.depths.complete[1], job.depths.completes) = (2048, 2048, 2048, 2048);
    job
}

/// The run.
pub fn run() -> RunResult {
    let globals = [("ioengine", "psync"), ("size", "4m"), ("bs", "4k")];
    RunResult {
        version: "fio-3.42".into(),
        timestamp_ms: 1_795_276_156_891,
        time: "Sat Nov 21 15:49:16 2026".into(),
        globals: globals.map(|(name, text)| (name.to_owned(), text.to_owned())).to_vec(),
        jobs: vec![job()],
        disks: Vec::new(),
        idleness: None,
        notices: Vec::new(),
    }
}

/// What fio wrote of it as JSON, in parts.
pub const JSON_PARTS: [&str; 6] = [
    r#"  "timestamp" : 1795276156,
  "timestamp_ms" : 1795276156891,
  "time" : "Sat Nov 21 15:49:16 2026",
  "global options" : {
    "ioengine" : "psync",
    "size" : "4m",
    "bs" : "4k"
  },
  "jobs" : [
    {
      "jobname" : "one",
      "groupid" : 0,
"#,
    r#"      "error" : 0,
      "eta" : 2147483647,
      "elapsed" : 1,
      "job options" : {
        "rw" : "randrw",
        "description" : "text here",
        "fsync" : "4",
        "numjobs" : "2"
      },
      "read" : {
        "io_bytes" : 4022272,
        "io_kbytes" : 3928,
        "bw_bytes" : 8344962,
        "bw" : 8149,
        "iops" : 2037.344398,
        "runtime" : 482,
        "total_ios" : 982,
        "short_ios" : 0,
        "drop_ios" : 0,
        "slat_ns" : {
          "min" : 0,
          "max" : 0,
          "mean" : 0.000000,
          "stddev" : 0.000000,
          "N" : 0
        },
        "clat_ns" : {
          "min" : 42173,
          "max" : 5396734,
          "mean" : 371221.859470,
          "stddev" : 813162.894408,
          "N" : 982,
          "percentile" : {
            "1.000000" : 48896,
            "5.000000" : 51456,
            "10.000000" : 54016,
"#,
    r#"            "99.950000" : 5406720,
            "99.990000" : 5406720
          }
        },
        "lat_ns" : {
          "min" : 42213,
          "max" : 5396744,
          "mean" : 371283.354379,
          "stddev" : 813173.188340,
          "N" : 982
        },
        "bw_min" : 0,
        "bw_max" : 0,
        "bw_agg" : 0.000000,
        "bw_mean" : 0.000000,
        "bw_dev" : 0.000000,
        "bw_samples" : 0,
        "iops_min" : 0,
        "iops_max" : 0,
        "iops_mean" : 0.000000,
        "iops_stddev" : 0.000000,
        "iops_samples" : 0
      },
      "write" : {
        "io_bytes" : 4366336,
        "io_kbytes" : 4264,
        "bw_bytes" : 9058788,
        "bw" : 8846,
        "iops" : 2211.618257,
"#,
    r#"      "sync" : {
        "total_ios" : 503,
        "lat_ns" : {
          "min" : 40540,
          "max" : 8910839,
          "mean" : 1167002.429423,
          "stddev" : 1448342.848475,
          "N" : 503,
          "percentile" : {
            "1.000000" : 46336,
"#,
    r#"      "job_runtime" : 959,
      "usr_cpu" : 0.312826,
      "sys_cpu" : 6.047967,
      "ctx" : 2019,
      "majf" : 0,
      "minf" : 27,
      "iodepth_level" : {
        "1" : 124.560547,
        "2" : 0.000000,
"#,
    r#"      "latency_us" : {
        "2" : 0.000000,
        "4" : 30.029297,
        "10" : 14.697266,
        "20" : 5.615234,
        "50" : 2.978516,
        "100" : 32.324219,
        "250" : 4.882812,
        "500" : 1.855469,
        "750" : 1.220703,
        "1000" : 1.220703
      },
      "latency_ms" : {
        "2" : 2.685547,
        "4" : 1.855469,
        "10" : 0.634766,
"#,
];
