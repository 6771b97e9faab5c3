//! Counters of the targets of a run and the figures made of them: per target and procedure, priced by the list.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde::Serialize;

use super::clamped::Clamped;
use super::kernel::Kernel;
use crate::base::price::Ceiling;
use crate::base::{PriceList, Proc};
use crate::mounts::nfs::NfsMount;
use crate::storage::ledger::Count;
use crate::storage::{Ledger, Mount, Tally};

/// What a target is to a job that has two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // the names say it
pub enum Role {
    Source,
    Destination,
}

impl Role {
    /// The word for people.
    pub fn name(self) -> &'static str {
        match self {
            Role::Source => "source",
            Role::Destination => "destination",
        }
    }
}

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
    /// `source` or `destination`, in jobs that have both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// What the same target has in common, in whichever role.
    #[serde(skip)]
    pub key: String,
    /// It may be a mount target, with a mount target's ceilings.
    pub is_nfs: bool,
    /// What was asked, priced, in IOPS.
    pub iops_total: u64,
    pub iops_per_s: f64,
    /// Of the ceiling, 0 to 1.
    pub iops_share: f64,
    pub bytes: u64,
    pub bytes_per_s: f64,
    /// Of the ceiling, 0 to 1.
    pub bandwidth_share: f64,
    /// Procedures the mount issued, where it counts them: asked ones and its own. Mounts that found out where a URL leads are others.
    pub issued: Option<u64>,
    /// Their price in IOPS. What was sent again because no answer came is not in it: the target may not have had it the first time.
    pub issued_iops: Option<u64>,
    pub retransmitted: Option<u64>,
    pub reconnected: Option<u64>,
    /// How fast it answered before the run, where that was measured.
    pub idle_us: Option<u64>,
    /// True when it stopped answering and was left out.
    pub gone: bool,
    pub procedures: Vec<ProcedureReport>,
}

/// The counters of one target, and what its mount tells of itself.
#[derive(Clone)]
pub struct Meter {
    /// The target's name.
    pub label: String,
    /// What was asked of it.
    pub ledger: Arc<Ledger>,
    /// The mounts themselves, when they know each call's own latency.
    pub nfs: Vec<Arc<NfsMount>>,
    /// What is behind it may be a mount target, with a mount target's ceilings: direct NFS, or a kernel's NFS mount.
    pub is_nfs: bool,
    /// Which side it is on, in jobs that have two.
    pub role: Option<Role>,
    /// What is counted together, in whichever role: a target, or one mount of it.
    pub key: String,
    /// The target: several mounts may be of one.
    pub target: String,
}

impl Meter {
    /// The latency that `quantile` of a procedure's calls did not exceed: each call's own where the mount keeps it, else
    /// that of the windows it was in.
    fn latency_us(&self, proc: Proc, quantile: f64) -> Option<u64> {
        if self.nfs.is_empty() {
            return self.ledger.latency_us(proc, quantile);
        }
        self.nfs.iter().filter_map(|mount| mount.ledger().latency_us(proc, quantile)).max()
    }

    /// The figures so far of a run that has taken `elapsed`.
    pub fn report(&self, elapsed: Duration, ceiling: Ceiling) -> TargetReport {
        let list = PriceList::oci();
        let tally = self.ledger.tally();
        let seconds = elapsed.as_secs_f64().max(1e-9);
        let (iops_total, bytes) = (tally.price(&list), tally.bytes());
        let (iops_per_s, bytes_per_s) = (iops_total as f64 / seconds, bytes as f64 / seconds);
        let of_nfs = |figure: fn(&NfsMount) -> u64| {
            (!self.nfs.is_empty()).then(|| self.nfs.iter().map(|mount| figure(mount)).sum())
        };
        TargetReport {
            target: self.label.clone(),
            role: self.role,
            key: self.target.clone(),
            is_nfs: self.is_nfs,
            iops_total,
            iops_per_s,
            iops_share: iops_per_s / ceiling.iops,
            bytes,
            bytes_per_s,
            bandwidth_share: bytes_per_s / ceiling.bytes_per_s,
            issued: of_nfs(|mount| mount.issued().map_or(0, |tally| tally.calls())),
            issued_iops: of_nfs(|mount| mount.issued().map_or(0, |tally| tally.price(&PriceList::oci()))),
            retransmitted: of_nfs(NfsMount::retransmitted),
            reconnected: of_nfs(NfsMount::reconnects),
            idle_us: self.nfs.iter().filter_map(|mount| u64::try_from(mount.idle_answer().as_micros()).ok()).min(),
            gone: false,
            procedures: procedures(std::slice::from_ref(self), &tally),
        }
    }
}

/// The counters of a run: one meter for each target in each role, however many volumes it is in. Clones are the same.
#[derive(Clone, Default)]
pub struct Meters {
    meters: Arc<Mutex<Vec<Meter>>>,
    /// What the kernel counts of mounts among them.
    pub kernel: Kernel,
    /// Times that were not set as they were asked for.
    pub clamped: Arc<Clamped>,
    /// Directories that a rehearsed job opens before it looks into them.
    pub unseen: Arc<AtomicU64>,
}

impl Meters {
    fn all(&self) -> MutexGuard<'_, Vec<Meter>> {
        self.meters.lock().expect("nothing panics while it counts")
    }

    /// What a rehearsal could not see.
    pub fn unseen_warning(&self) -> Option<String> {
        let directories = match self.unseen.load(Ordering::Relaxed) {
            0 => return None,
            1 => "1 directory is".into(),
            directories => format!("{directories} directories are"),
        };
        Some(format!(
            "{directories} closed to this user and opened by the job first; what is in there is not known before, and taken for nothing"
        ))
    }

    /// Targets that were spoken to over fewer connections than were wanted.
    pub fn fewer_connections(&self) -> Vec<String> {
        let fewer = |mount: &Arc<NfsMount>| {
            let (used, all) = mount.fewer_connections()?;
            let label = mount.label();
            Some(format!(
                "{label}: {used} of {all} connections were used: no file can be opened for more, or no thread started (ulimit -n, ulimit -u)"
            ))
        };
        let mut told: Vec<String> = self.all().iter().flat_map(|meter| &meter.nfs).filter_map(fewer).collect();
        told.sort_unstable();
        told.dedup();
        told
    }

    /// The meters so far.
    pub fn list(&self) -> Vec<Meter> {
        self.all().clone()
    }

    /// The ledger of this target; `new` is taken into the list unless its target is there in its role.
    pub fn ledger(&self, new: Meter) -> Arc<Ledger> {
        let mut all = self.all();
        if let Some(there) = all.iter_mut().find(|meter| meter.key == new.key && meter.role == new.role) {
            // A mount may be opened more than once.
            for mount in new.nfs {
                if !there.nfs.iter().any(|known| Arc::ptr_eq(known, &mount)) {
                    there.nfs.push(mount);
                }
            }
            return there.ledger.clone();
        }
        let ledger = new.ledger.clone();
        all.push(new);
        ledger
    }

    /// What was asked of all of them.
    pub fn tally(&self) -> Tally {
        self.all().iter().map(|meter| meter.ledger.tally()).sum()
    }
}

/// The figures of each procedure of `tally`, which is what `meters` counted together. A latency is the slowest target's.
pub fn procedures(meters: &[Meter], tally: &Tally) -> Vec<ProcedureReport> {
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

#[cfg(test)]
#[allow(missing_docs)]
pub mod tests {
    use super::*;

    /// A target that was asked for `calls` of a procedure.
    pub fn meter(calls: u64, proc: Proc, bytes: u64) -> Meter {
        let ledger = Arc::new(Ledger::default());
        (0..calls).for_each(|_| ledger.record(proc, bytes, false, Duration::from_millis(2)));
        let (label, key) = ("10.0.0.5".to_string(), "10.0.0.5".to_string());
        Meter { label, ledger, nfs: Vec::new(), is_nfs: true, role: None, target: key.clone(), key }
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
    fn a_target_has_one_meter_in_each_role() {
        let meters = Meters::default();
        let of = |role| Meter { role, ..meter(1, Proc::Create, 0) };
        let first = meters.ledger(of(Some(Role::Source)));
        assert!(Arc::ptr_eq(&first, &meters.ledger(of(Some(Role::Source)))));
        assert!(!Arc::ptr_eq(&first, &meters.ledger(of(Some(Role::Destination)))));
        assert_eq!((meters.list().len(), meters.tally().calls()), (2, 2));
    }
}
