//! What `-v` prints at the end of any run: what it cost by procedure and target, and what bound it.

use std::collections::HashSet;

use crate::base::price::Ceiling;
use crate::base::units::{bytes_shown, grouped};

use super::meter::{ProcedureReport, Role, TargetReport};
use super::report::RunReport;
use super::table::Table;

/// Targets listed at most; the JSON report has all.
const TARGETS_MAX: usize = 16;

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn ms(us: Option<u64>) -> String {
    us.map_or_else(String::new, |us| format!("{:.2}", us as f64 / 1000.0))
}

/// The lines of what a run cost; `procedures` are those of all targets together.
pub fn cost(report: &RunReport, procedures: &[ProcedureReport]) -> Vec<String> {
    let mut lines = Vec::new();
    if !procedures.is_empty() {
        lines.extend(by_procedure(procedures));
        lines.extend(by_target(report));
    }
    let calls: u64 = procedures.iter().map(|p| p.calls).sum();
    lines.push(format!(
        "Client: {:.1} us of processor time for each call, {} of memory at most.",
        report.cpu_seconds * 1e6 / calls.max(1) as f64,
        report.memory_peak_bytes.map_or_else(|| "an unknown amount".into(), bytes_shown),
    ));
    if let Some(bound) = &report.bound {
        lines.push(format!("Bound by {}.", bound.because));
    }
    lines
}

/// The lines of what a rehearsal found that a run would cost, by side.
pub fn price(targets: &[TargetReport], procedures: &[ProcedureReport]) -> Vec<String> {
    let ceiling = Ceiling::oci();
    let mut table = Table::new(&["Procedure", "calls", "of IOPS"]);
    for p in procedures {
        table.row(vec![p.procedure.to_string(), grouped(p.calls), percent(p.share)]);
    }
    let mut lines = table.lines();
    for role in [None, Some(Role::Source), Some(Role::Destination)] {
        let side: Vec<&TargetReport> = targets.iter().filter(|target| target.role == role).collect();
        if side.is_empty() {
            continue;
        }
        let (iops, bytes): (u64, u64) = (side.iter().map(|t| t.iops_total).sum(), side.iter().map(|t| t.bytes).sum());
        // Several mounts may be of one target.
        let n = side.iter().map(|target| &target.key).collect::<HashSet<_>>().len();
        let seconds = (iops as f64 / ceiling.iops).max(bytes as f64 / ceiling.bytes_per_s) / n as f64;
        let at = role.map_or_else(String::new, |role| format!("{}: ", role.name()));
        lines.push(format!(
            "{at}{} IOPS and {} of data: {seconds:.2} s at the ceiling of {n} mount target{} ({} IOPS, {:.0} MB/s each)",
            grouped(iops),
            bytes_shown(bytes),
            if n == 1 { "" } else { "s" },
            grouped(ceiling.iops as u64),
            ceiling.bytes_per_s / 1e6,
        ));
    }
    lines
}

fn by_procedure(procedures: &[ProcedureReport]) -> Vec<String> {
    let mut table = Table::new(&["Procedure", "calls", "failed", "of IOPS", "p50 ms", "p99 ms"]);
    for p in procedures {
        let cells = [grouped(p.calls), grouped(p.failed), percent(p.share), ms(p.p50_us), ms(p.p99_us)];
        table.row(std::iter::once(p.procedure.to_string()).chain(cells).collect());
    }
    table.lines()
}

fn by_target(report: &RunReport) -> Vec<String> {
    let ceiling = format!("of {}", grouped(report.ceiling_iops as u64));
    let bandwidth = format!("of {:.0} MB/s", report.ceiling_bytes_per_s / 1e6);
    let mut table = Table::new(&["Target", "IOPS", &ceiling, "MB/s", &bandwidth, "sent again", "reconnects"]);
    let row = |t: &TargetReport| {
        let count = |n: Option<u64>| n.map_or_else(|| "-".into(), grouped);
        let role = t.role.map_or_else(String::new, |role| format!("{} ", role.name()));
        vec![
            format!("{role}{}{}", t.target, if t.gone { " (gone)" } else { "" }),
            grouped(t.iops_per_s as u64),
            percent(t.iops_share),
            format!("{:.1}", t.bytes_per_s / 1e6),
            percent(t.bandwidth_share),
            count(t.retransmitted),
            count(t.reconnected),
        ]
    };
    report.targets.iter().take(TARGETS_MAX).for_each(|target| table.row(row(target)));
    let mut lines = table.lines();
    if report.targets.len() > TARGETS_MAX {
        lines.push(format!("and {} targets more; --report lists all", report.targets.len() - TARGETS_MAX));
    }
    lines
}
