//! What the human report says of the machine beneath the jobs: its disks and its processors.

use std::fmt::Write;

use super::super::results::{DiskResult, Idleness};

/// How fio names what a disk did, and what those that it is made of did.
const OF_DISK: [&str; 6] = ["ios", "sectors", "merge", "ticks", "in_queue", "util"];
const OF_PARTS: [&str; 6] = ["aggrios", "aggsectors", "aggrmerge", "aggrticks", "aggrin_queue", "aggrutil"];

/// What disks did; nothing where there are none.
pub fn disks(disks: &[DiskResult]) -> String {
    let mut out = String::new();
    if !disks.is_empty() {
        out.push_str("\nDisk stats (read/write):\n");
    }
    for disk in disks {
        let indent = if disk.parts.is_some() { "    " } else { "  " };
        let _ = write!(out, "{indent}{}: {}", disk.name, counts(disk, OF_DISK));
        if let Some(parts) = &disk.parts {
            let _ = write!(out, ", {}", counts(parts, OF_PARTS));
        }
        out.push('\n');
    }
    out
}

fn counts(disk: &DiskResult, names: [&str; 6]) -> String {
    let DiskResult { ios, sectors, merges, ticks, in_queue, util, .. } = disk;
    let both =
        names.iter().zip([ios, sectors, merges, ticks]).map(|(name, [read, write])| format!("{name}={read}/{write}"));
    format!("{}, {}={in_queue}, {}={util:3.2}%", both.collect::<Vec<_>>().join(", "), names[4], names[5])
}

/// How idle processors were; of a calibration what a unit of work takes.
pub fn idleness(idleness: &Idleness) -> String {
    let mut out = String::new();
    if !idleness.cpus.is_empty() {
        out.push_str(&format!("  system: {:3.2}%\n", idleness.system()));
    }
    if idleness.told {
        let each: Vec<String> = idleness.cpus.iter().map(|(_, idle)| format!("{idle:3.2}%")).collect();
        out.push_str(&format!("  percpu: {}\n", each.join(", ")));
    }
    let Idleness { unit_mean_us, unit_stddev_us, .. } = idleness;
    format!("CPU idleness:\n{out}  unit work: mean={unit_mean_us:3.2}us, stddev={unit_stddev_us:3.2}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// fio 3.42's lines.
    #[test]
    fn disks_and_what_they_are_made_of() {
        let numbers =
            |ios| DiskResult { ios: [ios, 2], sectors: [16, 8], in_queue: 3, util: 1.5, ..DiskResult::default() };
        let mapped = DiskResult { name: "dm-0".into(), parts: Some(Box::new(numbers(4))), ..numbers(9) };
        let wanted = "\nDisk stats (read/write):\n\
            \x20   dm-0: ios=9/2, sectors=16/8, merge=0/0, ticks=0/0, in_queue=3, util=1.50%, \
            aggrios=4/2, aggsectors=16/8, aggrmerge=0/0, aggrticks=0/0, aggrin_queue=3, aggrutil=1.50%\n\
            \x20 vda: ios=4/2, sectors=16/8, merge=0/0, ticks=0/0, in_queue=3, util=1.50%\n";
        assert_eq!(disks(&[mapped, DiskResult { name: "vda".into(), ..numbers(4) }]), wanted);
        assert_eq!(disks(&[]), "");
    }

    /// Lines of fio 3.33.
    #[test]
    fn idle_processors() {
        let calibration = Idleness { unit_mean_us: 7.8425, unit_stddev_us: 0.0502, ..Idleness::default() };
        assert_eq!(idleness(&calibration), "CPU idleness:\n  unit work: mean=7.84us, stddev=0.05\n");
        let system = Idleness { cpus: vec![(0, 64.79), (1, 52.65)], ..calibration };
        let wanted = "CPU idleness:\n  system: 58.72%\n  unit work: mean=7.84us, stddev=0.05\n";
        assert_eq!(idleness(&system), wanted);
        let wanted = wanted.replace("  unit", "  percpu: 64.79%, 52.65%\n  unit");
        assert_eq!(idleness(&Idleness { told: true, ..system }), wanted);
    }
}
