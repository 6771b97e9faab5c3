//! What `-v` prints at the end: what was extracted, what it cost by procedure and target, and what bound the run.

use std::time::Duration;

use crate::base::units::{bytes_shown, grouped};
use crate::cli::report::{ProcedureReport, RunReport, TargetReport};
use crate::cli::table::Table;

/// Targets listed at most; the JSON report has all.
const TARGETS_MAX: usize = 16;

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn ms(us: Option<u64>) -> String {
    us.map_or_else(String::new, |us| format!("{:.2}", us as f64 / 1000.0))
}

/// The lines of the summary; `procedures` are those of all targets together.
pub fn lines(report: &RunReport, procedures: &[ProcedureReport]) -> Vec<String> {
    let done = &report.extracted;
    let mut lines = vec![format!(
        "{} members ({} files, {} directories, {} links), {} in {:.2} s: {} members a second{}",
        grouped(done.members),
        grouped(done.files),
        grouped(done.dirs),
        grouped(done.links),
        bytes_shown(done.bytes),
        report.seconds,
        grouped((done.members as f64 / report.seconds.max(1e-9)) as u64),
        if done.skipped > 0 { format!("; {} skipped", grouped(done.skipped)) } else { String::new() },
    )];
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
        vec![
            if t.gone { format!("{} (gone)", t.target) } else { t.target.clone() },
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

/// GNU tar's line for `--totals`.
pub fn totals(bytes: u64, elapsed: Duration) -> String {
    let per_s = bytes as f64 / elapsed.as_secs_f64().max(1e-9);
    format!("Total bytes read: {bytes} ({}, {}/s)", binary(bytes as f64), binary(per_s))
}

/// GNU tar's way with sizes: `10KiB`, `1.3MiB`, rounded up.
fn binary(bytes: f64) -> String {
    let (mut value, mut unit) = (bytes, 0);
    while value >= 1024.0 && unit < 6 {
        value /= 1024.0;
        unit += 1;
    }
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if value < 10.0 && unit > 0 && value.fract() > 0.0 {
        format!("{:.1}{}", (value * 10.0).ceil() / 10.0, units[unit])
    } else {
        format!("{:.0}{}", value.ceil(), units[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_read_as_gnu_tar_prints_them() {
        assert_eq!(totals(10240, Duration::from_secs(1)), "Total bytes read: 10240 (10KiB, 10KiB/s)");
        assert_eq!(totals(1_300_000, Duration::from_secs(10)), "Total bytes read: 1300000 (1.3MiB, 127KiB/s)");
    }
}
