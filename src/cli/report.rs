//! What a run did and cost, as figures: per target and procedure, priced by the list, and what bound the run. The JSON is
//! versioned by `schema`; a field may be added under the same number, not renamed or removed.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::base::price::Ceiling;
use crate::base::units::grouped;
use crate::base::{PriceList, Proc};
use crate::mounts::nfs::NfsMount;
use crate::storage::ledger::Count;
use crate::storage::{Ledger, Mount, Shape, Tally};

/// Shares from which a ceiling is said to bind: 80 % is where OCI raises its alarm, and a run's edges cost some more.
const BINDS_FROM: f64 = 0.85;

/// Shares of a mount target's ceiling that say it binds. What is clearly above has no such ceiling.
const BINDS: std::ops::RangeInclusive<f64> = BINDS_FROM..=1.15;

/// The lanes' idle share from which the archive's reading and decoding is said to bind, unless reading waited for lanes.
const SOURCE_BINDS_FROM: f64 = 0.3;

/// The reader's waiting share above which the lanes' idleness is not its doing.
const STORAGE_BINDS_FROM: f64 = 0.1;

/// From how many times the idle answer time, and some milliseconds for this host's own delays, calls are said to queue.
const QUEUES_FROM: (f64, f64) = (3.0, 2.0);

/// One procedure's figures.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)] // the names say it
pub struct ProcedureReport {
    pub procedure: &'static str,
    pub calls: u64,
    pub failed: u64,
    pub bytes: u64,
    /// Of the target's priced IOPS, 0 to 1.
    pub share: f64,
    pub p50_us: Option<u64>,
    pub p99_us: Option<u64>,
}

/// One mount target's figures.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)] // the names say it
pub struct TargetReport {
    pub target: String,
    /// What was asked, priced, in IOPS.
    pub iops_total: u64,
    pub iops_per_s: f64,
    /// Of the ceiling, 0 to 1.
    pub iops_share: f64,
    pub bytes: u64,
    pub bytes_per_s: f64,
    /// Of the ceiling, 0 to 1.
    pub bandwidth_share: f64,
    /// Procedures the mount issued, where it counts them: asked ones and its own.
    pub issued: Option<u64>,
    pub retransmitted: Option<u64>,
    pub reconnected: Option<u64>,
    /// How fast it answered before the run, where that was measured.
    pub idle_us: Option<u64>,
    /// True when it stopped answering and was left out.
    pub gone: bool,
    pub procedures: Vec<ProcedureReport>,
}

/// What bound the run.
#[derive(Clone, Debug, Serialize)]
pub struct Bound {
    /// `limit` (asked for), `iops`, `bandwidth`, `source`, `target` or `latency`.
    pub by: &'static str,
    /// One sentence with the figures.
    pub because: String,
}

/// One object's failure.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct FailureReport {
    pub path: String,
    /// The procedure that failed; none when parfs refused the object.
    pub call: Option<&'static str>,
    pub cause: String,
}

/// What was extracted.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Extracted {
    pub members: u64,
    pub files: u64,
    pub dirs: u64,
    pub links: u64,
    pub skipped: u64,
    pub bytes: u64,
}

/// The lanes and their windows.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs)]
pub struct ShapeReport {
    pub lanes: usize,
    pub window: usize,
}

impl From<Shape> for ShapeReport {
    fn from(shape: Shape) -> ShapeReport {
        ShapeReport { lanes: shape.lanes, window: shape.window }
    }
}

/// One run of partar.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)] // the names say it
pub struct RunReport {
    pub schema: u32,
    pub program: &'static str,
    pub version: &'static str,
    pub exit_status: u8,
    pub archive: String,
    pub codec: Option<String>,
    pub destination: String,
    pub seconds: f64,
    /// Processor time of the whole process, user and system.
    pub cpu_seconds: f64,
    /// The most memory resident at once; none where /proc does not say.
    pub memory_peak_bytes: Option<u64>,
    pub extracted: Extracted,
    pub shape: Option<ShapeReport>,
    pub ceiling_iops: f64,
    pub ceiling_bytes_per_s: f64,
    pub targets: Vec<TargetReport>,
    pub bound: Option<Bound>,
    pub warnings: Vec<String>,
    /// All failures, also those beyond the list.
    pub failures: u64,
    pub failed: Vec<FailureReport>,
    /// What ended the run before its end, if anything did.
    pub fatal: Option<String>,
    /// What was left undone because the run was stopped.
    pub stopped: Option<String>,
}

/// The counters of one target, and what its mount tells of itself.
#[derive(Clone)]
pub struct Meter {
    /// The target's name.
    pub label: String,
    /// What was asked of it.
    pub ledger: Arc<Ledger>,
    /// The mount itself, when it is one that knows each call's own latency.
    pub nfs: Option<Arc<NfsMount>>,
    /// What is behind it may be a mount target, with a mount target's ceilings: direct NFS, or a kernel's NFS mount.
    pub is_nfs: bool,
}

impl Meter {
    /// The latency that `quantile` of a procedure's calls did not exceed: each call's own where the mount keeps it, else
    /// that of the windows it was in.
    fn latency_us(&self, proc: Proc, quantile: f64) -> Option<u64> {
        let ledger = self.nfs.as_ref().map_or(&*self.ledger, |mount| mount.ledger());
        ledger.latency_us(proc, quantile)
    }

    /// The figures so far of a run that has taken `elapsed`.
    pub fn report(&self, elapsed: Duration, ceiling: Ceiling) -> TargetReport {
        let list = PriceList::oci();
        let tally = self.ledger.tally();
        let seconds = elapsed.as_secs_f64().max(1e-9);
        let (iops_total, bytes) = (tally.price(&list), tally.bytes());
        let (iops_per_s, bytes_per_s) = (iops_total as f64 / seconds, bytes as f64 / seconds);
        TargetReport {
            target: self.label.clone(),
            iops_total,
            iops_per_s,
            iops_share: iops_per_s / ceiling.iops,
            bytes,
            bytes_per_s,
            bandwidth_share: bytes_per_s / ceiling.bytes_per_s,
            issued: self.nfs.as_ref().and_then(|mount| mount.issued()).map(|tally| tally.calls()),
            retransmitted: self.nfs.as_ref().map(|mount| mount.retransmitted()),
            reconnected: self.nfs.as_ref().map(|mount| mount.reconnects()),
            idle_us: self.nfs.as_ref().and_then(|mount| u64::try_from(mount.idle_answer().as_micros()).ok()),
            gone: false,
            procedures: procedures(&[self], &tally),
        }
    }
}

/// The figures of each procedure of `tally`, which is what `meters` counted together. A latency is the slowest target's.
pub fn procedures(meters: &[&Meter], tally: &Tally) -> Vec<ProcedureReport> {
    let list = PriceList::oci();
    let total = tally.price(&list).max(1) as f64;
    let quantile = |proc: Proc, q: f64| meters.iter().filter_map(|m| m.latency_us(proc, q)).max();
    let row = |(proc, count): (Proc, Count)| ProcedureReport {
        procedure: proc.name(),
        calls: count.calls,
        failed: count.failed,
        bytes: count.bytes,
        share: list.total(proc, count.calls, count.blocks_extra) as f64 / total,
        p50_us: quantile(proc, 0.5),
        p99_us: quantile(proc, 0.99),
    };
    tally.iter().map(row).collect()
}

/// How long the lanes waited for the archive, and how parallel they were.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// The lanes' waiting for work, as a share of the run, 0 to 1.
    pub source_wait: f64,
    /// The reader's waiting for lanes and memory, as a share of the run, 0 to 1.
    pub storage_wait: f64,
    /// Lanes and windows.
    pub shape: Shape,
    /// A ceiling that the user held each target under.
    pub held: Option<Ceiling>,
    /// The targets may have a mount target's ceilings; a local file system has none to be bound by.
    pub is_nfs: bool,
}

/// What bound a run, from its figures.
pub fn bound(targets: &[TargetReport], flow: Flow, ceiling: Ceiling, elapsed: Duration) -> Bound {
    // A target that went away is no measure of what the others gave.
    let left: Vec<&TargetReport> = targets.iter().filter(|target| !target.gone).collect();
    let targets = if left.is_empty() { targets.iter().collect() } else { left };
    let n = targets.len();
    let each = if n == 1 { "the target".to_string() } else { format!("{n} targets") };
    let mean =
        |figure: fn(&TargetReport) -> f64| targets.iter().map(|target| figure(target)).sum::<f64>() / n.max(1) as f64;
    let (iops, bytes) = (mean(|t| t.iops_per_s), mean(|t| t.bytes_per_s));
    if let Some(held) = flow.held {
        let (iops, bytes) = (iops / held.iops, bytes / held.bytes_per_s);
        if iops.max(bytes) >= BINDS_FROM {
            let (flag, share) = if iops >= bytes { ("--max-iops", iops) } else { ("--bwlimit", bytes) };
            return Bound {
                by: "limit",
                because: format!("{flag}: {:.0} % of what it allows were used", share * 100.0),
            };
        }
    }
    let (iops, bandwidth) = (iops / ceiling.iops, bytes / ceiling.bytes_per_s);
    if flow.is_nfs && BINDS.contains(&iops) {
        let ceiling = grouped(ceiling.iops as u64);
        let because = format!("the IOPS ceiling of {each}: {:.0} % of {ceiling} IOPS each were used", iops * 100.0);
        return Bound { by: "iops", because };
    }
    if flow.is_nfs && BINDS.contains(&bandwidth) {
        let ceiling = ceiling.bytes_per_s / 1e6;
        let because =
            format!("the bandwidth ceiling of {each}: {:.0} % of {ceiling:.0} MB/s each were used", bandwidth * 100.0);
        return Bound { by: "bandwidth", because };
    }
    if flow.source_wait >= SOURCE_BINDS_FROM && flow.storage_wait < STORAGE_BINDS_FROM {
        let because = format!(
            "reading and decoding the archive: the lanes waited for it {:.0} % of the time",
            flow.source_wait * 100.0
        );
        return Bound { by: "source", because };
    }
    bound_by_latency(&targets, flow, iops, elapsed)
}

/// The median latency is that of the procedure with the most calls, at the slowest target.
fn bound_by_latency(targets: &[&TargetReport], flow: Flow, iops: f64, elapsed: Duration) -> Bound {
    let all = || targets.iter().flat_map(|t| &t.procedures);
    let calls: u64 = all().map(|p| p.calls).sum();
    let per_s = calls as f64 / elapsed.as_secs_f64().max(1e-9);
    let median_ms = all().max_by_key(|p| p.calls).and_then(|p| p.p50_us).unwrap_or(0) as f64 / 1000.0;
    let idle_ms = targets.iter().filter_map(|t| t.idle_us).min().map(|us| us as f64 / 1000.0);
    if let Some(idle_ms) = idle_ms.filter(|idle| median_ms > QUEUES_FROM.0 * idle + QUEUES_FROM.1) {
        let because = format!(
            "the targets: they answered {} calls a second, at a median of {median_ms:.2} ms, where one call alone took \
             {idle_ms:.2} ms, so calls queued there ({:.0} % of the IOPS ceiling); more targets help, more lanes do not",
            grouped(per_s as u64),
            iops * 100.0
        );
        return Bound { by: "target", because };
    }
    let (share, more) = if flow.is_nfs && iops <= *BINDS.end() {
        (format!(" ({:.0} % of the IOPS ceiling)", iops * 100.0), " or targets")
    } else {
        Default::default()
    };
    let because = format!(
        "latency: {} lanes with up to {} calls each in flight made {} calls a second, at a median of {median_ms:.2} \
         ms{share}; more lanes (-P){more} help until the latency rises",
        flow.shape.lanes,
        flow.shape.window,
        grouped(per_s as u64),
    );
    Bound { by: "latency", because }
}

/// Writes `report` to `path` as JSON, into a file of `mode`: a temporary one beside it, which then takes its name, so that a
/// reader never sees half of it. What is there and no regular file (`/dev/null`, a pipe) is written to, never replaced.
pub fn write_json(path: &Path, mode: u32, report: &impl Serialize) -> io::Result<()> {
    // Through symbolic links, for its user named it.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        let mut there = io::BufWriter::new(fs::OpenOptions::new().write(true).open(path)?);
        serde_json::to_writer_pretty(&mut there, report)?;
        there.write_all(b"\n")?;
        return there.flush();
    }
    let mut beside = PathBuf::from(path).into_os_string();
    beside.push(format!(".{}.tmp", std::process::id()));
    let beside = PathBuf::from(beside);
    let write = || {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&beside)?;
        serde_json::to_writer_pretty(&mut file, report)?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    write().inspect_err(|_| {
        // The error that matters is the first; what is left beside carries its reason in its name.
        let _left = fs::remove_file(&beside);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(calls: u64, proc: Proc, bytes: u64) -> Meter {
        let ledger = Arc::new(Ledger::default());
        (0..calls).for_each(|_| ledger.record(proc, bytes, false, Duration::from_millis(2)));
        Meter { label: "10.0.0.5".into(), ledger, nfs: None, is_nfs: true }
    }

    fn bound_by(calls: u64, proc: Proc, bytes: u64, source_wait: f64) -> &'static str {
        bound_under(None, calls, proc, bytes, source_wait)
    }

    fn bound_under(held: Option<Ceiling>, calls: u64, proc: Proc, bytes: u64, source_wait: f64) -> &'static str {
        let (ceiling, second) = (Ceiling::oci(), Duration::from_secs(1));
        let targets = [meter(calls, proc, bytes).report(second, ceiling)];
        let flow = Flow { source_wait, storage_wait: 0.0, shape: Shape { lanes: 16, window: 4 }, held, is_nfs: true };
        bound(&targets, flow, ceiling, second).by
    }

    #[test]
    fn what_bound_the_run_follows_from_the_figures() {
        assert_eq!(bound_by(11_000, Proc::Create, 0, 0.0), "iops");
        // WRITEs of any size reach the IOPS ceiling first; READs of 1 MiB do not.
        assert_eq!(bound_by(900, Proc::Read, 1 << 20, 0.0), "bandwidth");
        assert_eq!(bound_by(1_000, Proc::Create, 0, 0.5), "source");
        assert_eq!(bound_by(1_000, Proc::Create, 0, 0.1), "latency");
        let held = Some(Ceiling { iops: 4_000.0, bytes_per_s: f64::INFINITY, latency: Duration::ZERO });
        assert_eq!(bound_under(held, 900, Proc::Create, 0, 0.5), "limit");
        assert_eq!(bound_under(held, 500, Proc::Create, 0, 0.5), "source");
    }

    #[test]
    fn a_target_that_answers_far_slower_than_when_idle_is_the_bound() {
        let by = |idle_us| {
            let mut target = meter(1_000, Proc::Create, 0).report(Duration::from_secs(1), Ceiling::oci());
            target.procedures.iter_mut().for_each(|p| p.p50_us = Some(10_000));
            target.idle_us = idle_us;
            let shape = Shape { lanes: 16, window: 4 };
            let flow = Flow { source_wait: 0.0, storage_wait: 0.9, shape, held: None, is_nfs: true };
            bound(&[target], flow, Ceiling::oci(), Duration::from_secs(1)).by
        };
        assert_eq!((by(None), by(Some(5_000)), by(Some(1_000))), ("latency", "latency", "target"));
    }

    #[test]
    fn a_local_directory_has_no_ceiling_and_a_gone_target_does_not_count() {
        let (ceiling, second) = (Ceiling::oci(), Duration::from_secs(1));
        let shape = Shape { lanes: 16, window: 4 };
        let flow = Flow { source_wait: 0.0, storage_wait: 0.0, shape, held: None, is_nfs: false };
        let mut targets = vec![meter(12_000, Proc::Create, 0).report(second, ceiling)];
        let local = bound(&targets, flow, ceiling, second);
        assert_eq!(local.by, "latency");
        assert!(!local.because.contains("ceiling"), "{}", local.because);
        targets.push(meter(10, Proc::Create, 0).report(second, ceiling));
        let flow = Flow { is_nfs: true, ..flow };
        assert_eq!(bound(&targets, flow, ceiling, second).by, "latency");
        targets[1].gone = true;
        assert_eq!(bound(&targets, flow, ceiling, second).by, "iops");
        targets[0].gone = true;
        assert_eq!(bound(&targets, flow, ceiling, second).by, "latency");
        // Faster than any mount target: it has no such ceiling either.
        let fast = [meter(50_000, Proc::Create, 0).report(second, ceiling)];
        assert!(!bound(&fast, flow, ceiling, second).because.contains("ceiling"));
    }

    #[test]
    fn a_target_is_priced_by_the_list() {
        let report = meter(100, Proc::Create, 0).report(Duration::from_secs(2), Ceiling::oci());
        assert_eq!((report.iops_total, report.iops_per_s), (400, 200.0));
        assert!((report.iops_share - 0.004).abs() < 1e-9);
        assert_eq!(report.procedures[0].procedure, "CREATE");
        assert_eq!(report.procedures[0].share, 1.0);
        assert!((1_900..=2_100).contains(&report.procedures[0].p99_us.unwrap()));
    }

    #[test]
    fn a_report_replaces_the_last_one_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.json");
        fs::write(&path, "old").unwrap();
        write_json(&path, 0o600, &[1, 2]).unwrap();
        let read: Vec<u32> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(read, [1, 2]);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(write_json(&dir.path().join("no/run.json"), 0o600, &[1]).is_err());
    }
}
