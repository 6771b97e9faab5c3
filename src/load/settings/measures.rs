//! What is measured, and which logs are written.
//!
//! Promises: gtod_reduce= switches measurements off where it stands; options behind it may switch one on again, as in fio.
//! Leaves out: the names of log files beyond their prefix.

use std::time::Duration;

use super::super::options::Value;
use super::super::results::Unified;
use super::asked::Asked;

/// What is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measures {
    /// Not disable_slat, disable_clat, disable_lat, disable_bw_measurement; all false with gtod_reduce.
    #[allow(missing_docs)] // as above
    pub slat: bool,
    #[allow(missing_docs)] // as above
    pub clat: bool,
    #[allow(missing_docs)] // as above
    pub lat: bool,
    /// Of the same kind: samples of bandwidth and IOPS, which there always are, as in fio, have each I/O's time; else one that is looked at
    /// now and then.
    pub bw: bool,
    /// slat_percentiles, clat_percentiles, lat_percentiles.
    #[allow(missing_docs)] // as above
    pub slat_percentiles: bool,
    #[allow(missing_docs)] // as above
    pub clat_percentiles: bool,
    #[allow(missing_docs)] // as above
    pub lat_percentiles: bool,
    /// percentile_list, ascending.
    pub percentiles: Vec<f64>,
    /// bwavgtime= and iopsavgtime=.
    #[allow(missing_docs)] // as above
    pub bw_every: Duration,
    #[allow(missing_docs)] // as above
    pub iops_every: Duration,
    /// significant_figures.
    pub digits: usize,
    /// kb_base=1024.
    pub binary: bool,
    /// unit_base=1: people are told rates in bits.
    pub bits: bool,
    /// stats=0: the job is in no report.
    pub told: bool,
    /// disk_util=: what the disks below its files did is told.
    pub disks: bool,
    /// unified_rw_reporting=.
    pub unified: Unified,
    /// x_samples: what is done in each half second is kept.
    pub samples: bool,
}

/// Log files, each with its prefix.
#[derive(Clone, Debug, PartialEq)]
pub struct Logs {
    #[allow(missing_docs)] // fio's names
    pub bw: Option<String>,
    #[allow(missing_docs)] // as above
    pub iops: Option<String>,
    #[allow(missing_docs)] // as above
    pub lat: Option<String>,
    /// Which latencies it is of: slat, clat, lat. As in fio those that are switched off have no file.
    pub of: [bool; 3],
    /// Lines for each I/O of bandwidth and IOPS: not where they are not measured.
    pub rated: [bool; 2],
    #[allow(missing_docs)] // as above
    pub hist: Option<String>,
    /// log_avg_msec: one line for each; zero for a line for each I/O.
    pub every: Duration,
    /// The same of the bandwidth log, which bwavgtime= may shorten, and of the IOPS log.
    #[allow(missing_docs)] // as above
    pub bw_every: Duration,
    #[allow(missing_docs)] // as above
    pub iops_every: Duration,
    /// log_hist_msec and log_hist_coarseness.
    pub hist_every: (Duration, u32),
    /// per_job_logs.
    pub per_job: bool,
    /// log_offset.
    pub offset: bool,
    /// log_window_value, log_max_value.
    pub window: WindowValue,
    /// log_unix_epoch.
    pub unix_epoch: bool,
}

/// What a line of a log that is averaged shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // fio's names
pub enum WindowValue {
    #[default]
    Average,
    Max,
    Both,
}

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
        bits: asked.word("unit_base") == "1",
        told: asked.is("stats"),
        disks: asked.is("disk_util"),
        unified: match asked.word("unified_rw_reporting") {
            "mixed" | "1" => Unified::Mixed,
            "both" | "2" => Unified::Both,
            _ => Unified::Apart,
        },
        samples: asked.is("x_samples"),
    }
}

/// `name` is the job's, which a log without a prefix has.
pub(super) fn logs(asked: &mut Asked<'_>, name: &str) -> Logs {
    if asked.has("write_hist_log") && asked.time("log_hist_msec").is_zero() {
        asked.note("fio: write_hist_log= without log_hist_msec= leaves its file empty, as in fio itself");
    }
    let asked: &Asked<'_> = asked;
    let prefix = |option: &str| {
        let text = asked.text(option).filter(|_| asked.has(option))?;
        Some(if text.is_empty() { name.to_owned() } else { text })
    };
    let every = asked.time("log_avg_msec");
    // Without an interval there is a line for each I/O, whatever these say.
    let own = |option: &str| if asked.has(option) && !every.is_zero() { asked.time(option) } else { every };
    let coarseness = asked.count("log_hist_coarseness").unwrap_or(0);
    let window = match asked.word("log_window_value") {
        "max" | "1" => WindowValue::Max,
        "both" => WindowValue::Both,
        _ if asked.is("log_max_value") => WindowValue::Max,
        _ => WindowValue::Average,
    };
    let Switches { measured: [slat, clat, lat], bw, .. } = switches(asked);
    Logs {
        bw: prefix("write_bw_log"),
        iops: prefix("write_iops_log"),
        lat: prefix("write_lat_log"),
        of: [slat, clat, lat],
        rated: [bw, bw || slat || clat],
        hist: prefix("write_hist_log"),
        every,
        bw_every: own("bwavgtime"),
        iops_every: own("iopsavgtime"),
        hist_every: (asked.time("log_hist_msec"), coarseness),
        per_job: asked.is("per_job_logs"),
        offset: asked.is("log_offset"),
        window,
        unix_epoch: asked.is("log_unix_epoch"),
    }
}
