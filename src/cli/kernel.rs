//! What the kernel's NFS client sent for a run, beside what the run planned: by mount and procedure, priced by the list.
//!
//! The kernel counts what goes through a mount, whoever causes it: where others work there too, theirs is in the figures. It
//! does so for mounts of NFSv3; of NFSv4, whose operations are others, nothing is told.

use std::sync::{Arc, Mutex, MutexGuard};

use serde::Serialize;

use crate::base::price::blocks_extra;
use crate::base::units::grouped;
use crate::base::{PriceList, Proc};
use crate::mounts::LocalMount;
use crate::mounts::local::peers::Mounted;
use crate::mounts::local::peers::mountstats::{self, Counts};
use crate::storage::{Mount, Tally};

use super::table::Table;

/// One procedure through one mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs)] // the names say it
pub struct KernelProcedure {
    pub procedure: &'static str,
    pub planned: u64,
    pub sent: u64,
}

/// One mount's figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[allow(missing_docs)] // the names say it
pub struct KernelReport {
    pub mount: String,
    pub server: String,
    pub procedures: Vec<KernelProcedure>,
    /// Priced by the list, in IOPS.
    pub planned_iops: u64,
    /// At least: how the bytes sent were divided over requests is not counted.
    pub sent_iops: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
    pub retransmitted: u64,
}

/// A mount, and what it had sent before the run.
struct Counted {
    mount: Mounted,
    before: Counts,
    /// What plans on it: one for each directory that was opened.
    planners: Vec<Arc<LocalMount>>,
}

/// The mounts of a run that the kernel counts for. Clones are the same.
#[derive(Clone, Default)]
pub struct Kernel(Arc<Mutex<Vec<Counted>>>);

impl Kernel {
    fn all(&self) -> MutexGuard<'_, Vec<Counted>> {
        self.0.lock().expect("nothing panics while it counts")
    }

    /// From now on what goes through this mount counts, of which `planner` is a part.
    pub fn count(&self, mount: &Mounted, planner: &Arc<LocalMount>) {
        let mut all = self.all();
        if let Some(there) = all.iter_mut().find(|there| there.mount.device == mount.device) {
            return there.planners.push(planner.clone());
        }
        let Some(before) = mountstats::of(&mount.point) else { return };
        all.push(Counted { mount: mount.clone(), before, planners: vec![planner.clone()] });
    }

    /// The figures so far.
    pub fn report(&self) -> Vec<KernelReport> {
        let all = self.all();
        if all.is_empty() {
            return Vec::new();
        }
        let now = mountstats::read().unwrap_or_default();
        let report = |counted: &Counted| {
            let now = now.iter().rfind(|counts| counts.point == counted.mount.point)?;
            let planned = counted.planners.iter().filter_map(|planner| planner.issued()).sum();
            Some(report(&counted.mount, planned, &now.since(&counted.before)))
        };
        all.iter().filter_map(report).collect()
    }
}

/// What the list says that a procedure's requests cost at least; how the bytes were divided over them is not counted.
pub fn price_sent(list: &PriceList, sent: &Counts, proc: Proc) -> u64 {
    let calls = sent.get(proc).calls;
    let bytes = if proc == Proc::Read { sent.read_bytes } else { sent.write_bytes };
    // All bytes in one request begin as many blocks as there are, less the first of each other request.
    let extra = match proc {
        Proc::Read | Proc::Write if calls > 0 => (blocks_extra(bytes) + 1).saturating_sub(calls),
        _ => 0,
    };
    list.total(proc, calls, extra)
}

/// The figures of one mount.
fn report(mount: &Mounted, planned: Tally, sent: &Counts) -> KernelReport {
    let list = PriceList::oci();
    let of_nfs = || Proc::ALL.into_iter().filter(|proc| proc.is_nfs3());
    let row = |proc: Proc| {
        let (planned, sent) = (planned.get(proc).calls, sent.get(proc).calls);
        (planned + sent > 0).then_some(KernelProcedure { procedure: proc.name(), planned, sent })
    };
    let sent_price = |proc: Proc| price_sent(&list, sent, proc);
    let planned_price = |proc: Proc| list.total(proc, planned.get(proc).calls, planned.get(proc).blocks_extra);
    KernelReport {
        mount: mount.point.display().to_string(),
        server: mount.server.clone(),
        procedures: of_nfs().filter_map(row).collect(),
        planned_iops: of_nfs().map(planned_price).sum(),
        sent_iops: of_nfs().map(sent_price).sum(),
        read_bytes: sent.read_bytes,
        write_bytes: sent.write_bytes,
        retransmitted: of_nfs().map(|proc| sent.get(proc).transmissions.saturating_sub(sent.get(proc).calls)).sum(),
    }
}

/// The lines for people: all mounts together.
pub fn lines(reports: &[KernelReport]) -> Vec<String> {
    if reports.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new(&["Kernel", "planned", "sent"]);
    for proc in Proc::ALL {
        let rows = reports.iter().flat_map(|report| &report.procedures).filter(|row| row.procedure == proc.name());
        let (planned, sent) = rows.fold((0, 0), |sum, row| (sum.0 + row.planned, sum.1 + row.sent));
        if planned + sent > 0 {
            table.row(vec![proc.name().to_string(), grouped(planned), grouped(sent)]);
        }
    }
    let sum = |figure: fn(&KernelReport) -> u64| reports.iter().map(figure).sum::<u64>();
    table.row(vec!["IOPS".into(), grouped(sum(|r| r.planned_iops)), grouped(sum(|r| r.sent_iops))]);
    let mut lines = table.lines();
    let again = match sum(|r| r.retransmitted) {
        0 => String::new(),
        n => format!("; {} were sent again", grouped(n)),
    };
    let n = reports.len();
    let mounts = if n == 1 { "this mount".to_string() } else { format!("these {n} mounts") };
    lines.push(format!("(sent: all that went through {mounts}, others' traffic included{again})"));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTED: &[u8] = b"device h:/e mounted on /m with fstype nfs statvers=1.1\n\
        \tbytes:\t0 0 0 0 0 131072 0 0\n\tWRITE: 2 3 0 0 0 0 0 0 0\n\tCREATE: 2 2 0 0 0 0 0 0 0\n";

    #[test]
    fn what_was_sent_stands_beside_what_was_planned() {
        let mount = Mounted { point: "/m".into(), server: "10.0.0.5".into(), device: 3, options: String::new() };
        let mut planned = Tally::default();
        planned.count(Proc::Create, 0, false);
        planned.count(Proc::Write, 65536, false);
        planned.count(Proc::Seek, 0, false);
        let report = report(&mount, planned, &mountstats::parse(COUNTED)[0]);
        let row = |procedure, planned, sent| KernelProcedure { procedure, planned, sent };
        assert_eq!(report.procedures, [row("WRITE", 1, 2), row("CREATE", 1, 2)]);
        // Two CREATEs of 4; two WRITEs of 4 and, for 128 KiB, two blocks more of 2.
        assert_eq!((report.planned_iops, report.sent_iops, report.retransmitted), (4 + 6, 8 + 8 + 4, 1));
        let lines = lines(&[report.clone(), report]);
        assert!(lines.iter().any(|line| line.split_whitespace().eq(["WRITE", "2", "4"])), "{lines:?}");
        assert!(
            lines.last().unwrap().contains("these 2 mounts") && lines.last().unwrap().contains("2 were sent again")
        );
        assert!(super::lines(&[]).is_empty());
    }
}
