//! What partar prints at the end: the line of what was extracted for `-v`, and GNU tar's for `--totals`.

use std::time::Duration;

use crate::base::units::{bytes_shown, grouped};
use crate::cli::report::RunReport;

use super::create::Stored;
use super::run::Extracted;

/// Members of each kind, and their bytes.
fn counted(members: u64, [files, dirs, links]: [u64; 3], bytes: u64) -> String {
    let [members, files, dirs, links] = [members, files, dirs, links].map(grouped);
    format!("{members} members ({files} files, {dirs} directories, {links} links), {}", bytes_shown(bytes))
}

fn extracted(done: &Extracted) -> String {
    counted(done.members, [done.files, done.dirs, done.links], done.bytes)
}

fn created(done: &Stored) -> String {
    counted(done.members, [done.files, done.dirs, done.links], done.bytes)
}

fn in_time(members: u64, report: &RunReport) -> String {
    let per_s = members as f64 / report.seconds.max(1e-9);
    format!("in {:.2} s: {} members a second", report.seconds, grouped(per_s as u64))
}

fn skipped(done: &Extracted) -> String {
    counted_off(done.skipped, "skipped")
}

fn counted_off(n: u64, what: &str) -> String {
    if n > 0 { format!("; {} {what}", grouped(n)) } else { String::new() }
}

/// The first line of the summary.
pub fn line(done: &Extracted, report: &RunReport) -> String {
    let failed = counted_off(report.failures, if report.failures == 1 { "failure" } else { "failures" });
    format!("{} {}{}{failed}", extracted(done), in_time(done.members, report), skipped(done))
}

/// The first line of the summary of a creation.
pub fn stored(done: &Stored, report: &RunReport) -> String {
    format!("{} {}", created(done), in_time(done.members, report))
}

/// What a forecast says of an extraction.
pub fn would_extract(done: &Extracted) -> String {
    format!("would extract {}{}", extracted(done), skipped(done))
}

/// What a forecast says of a creation.
pub fn would_store(done: &Stored) -> String {
    format!("would store {}", created(done))
}

/// GNU tar's line for `--totals` of a creation.
pub fn written(bytes: u64, elapsed: Duration) -> String {
    let per_s = bytes as f64 / elapsed.as_secs_f64().max(1e-9);
    format!("Total bytes written: {bytes} ({}, {}/s)", binary(bytes as f64), binary(per_s))
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
