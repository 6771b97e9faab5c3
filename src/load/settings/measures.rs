//! What is measured, and which logs are written.
//!
//! Promises: gtod_reduce= switches measurements off where it stands; options behind it may switch one on again, as in fio.
//! Leaves out: the names of log files beyond their prefix.

use super::super::options::Value;
use super::asked::Asked;
use super::{Logs, Measures, WindowValue};

/// Which latencies are measured and which have percentiles: slat, clat, lat.
struct Switches {
    measured: [bool; 3],
    percentiles: [bool; 3],
    bw: bool,
}

const KINDS: [[&str; 2]; 3] =
    [["disable_slat", "slat_percentiles"], ["disable_clat", "clat_percentiles"], ["disable_lat", "lat_percentiles"]];

fn switches(asked: &Asked<'_>) -> Switches {
    let mut switches = Switches { measured: [true; 3], percentiles: [false, true, false], bw: true };
    for given in asked.job.all() {
        let Value::Bool(is) = given.value else { continue };
        match given.spec.name {
            "gtod_reduce" if is => switches = Switches { measured: [false; 3], percentiles: [false; 3], bw: false },
            "disable_bw_measurement" => switches.bw = !is,
            name => {
                for (at, [disable, percentiles]) in KINDS.iter().enumerate() {
                    if name == *disable {
                        switches.measured[at] = !is;
                    } else if name == *percentiles {
                        switches.percentiles[at] = is;
                    }
                }
            }
        }
    }
    switches
}

pub(super) fn measures(asked: &Asked<'_>, logs: &Logs) -> Measures {
    let Switches { measured: [slat, clat, lat], percentiles, bw } = switches(asked);
    let mut percentile_list = match asked.value("percentile_list") {
        Some(Value::Floats(list)) => list,
        _ => Vec::new(),
    };
    percentile_list.sort_by(f64::total_cmp);
    // As in fio: with a log and without an interval of their own, samples are as far apart as the log's lines.
    let every = |option: &str, log: &Option<String>| match logs.every {
        every if log.is_some() && !asked.has(option) && !every.is_zero() => every,
        _ => asked.time(option),
    };
    Measures {
        slat,
        clat,
        lat,
        bw,
        slat_percentiles: percentiles[0] && slat,
        clat_percentiles: percentiles[1] && clat,
        lat_percentiles: percentiles[2] && lat,
        percentiles: percentile_list,
        bw_every: every("bwavgtime", &logs.bw),
        iops_every: every("iopsavgtime", &logs.iops),
        digits: asked.number("significant_figures").map_or(4, |digits| digits as usize),
        binary: asked.word("kb_base") != "1000",
        told: asked.is("stats"),
        samples: asked.is("x_samples"),
    }
}

/// `name` is the job's, which a log without a prefix has.
pub(super) fn logs(asked: &Asked<'_>, name: &str) -> Logs {
    let prefix = |option: &str| {
        let text = asked.text(option).filter(|_| asked.has(option))?;
        Some(if text.is_empty() { name.to_owned() } else { text })
    };
    let every = asked.time("log_avg_msec");
    let shorter = |option: &str| if asked.has(option) { every.min(asked.time(option)) } else { every };
    let coarseness = asked.count("log_hist_coarseness").unwrap_or(0);
    let window = match asked.word("log_window_value") {
        "max" | "1" => WindowValue::Max,
        "both" => WindowValue::Both,
        _ if asked.is("log_max_value") => WindowValue::Max,
        _ => WindowValue::Average,
    };
    Logs {
        bw: prefix("write_bw_log"),
        iops: prefix("write_iops_log"),
        lat: prefix("write_lat_log"),
        hist: prefix("write_hist_log"),
        every,
        bw_every: shorter("bwavgtime"),
        iops_every: shorter("iopsavgtime"),
        hist_every: (asked.time("log_hist_msec"), coarseness),
        per_job: asked.is("per_job_logs"),
        offset: asked.is("log_offset"),
        window,
        unix_epoch: asked.is("log_unix_epoch"),
    }
}
