//! The host's processors and memory against the lanes that a job has, and the files that it may have open.

use std::time::Duration;

use crate::base::units::{bytes_shown, grouped};
use crate::cli::flags::PARALLEL_MAX;
use crate::cli::session::BUDGET_BYTES;

use super::finding::{Finding, Severity, Subject};
use super::nfs::Clients;
use super::root::Root;
use super::words::{counted, ms};

/// Calls that one target takes in a second of small files: 50,000 IOPS, of which a file of CREATE, WRITE and SETATTR costs 10.
const CALLS_PER_S: f64 = 15_000.0;

/// Processor time of parfs for a call, in microseconds: docs/figures.md, 4 targets.
const CALL_US: f64 = 12.0;

/// Payload in flight to one target (README, Limits).
const TARGET_BYTES: u64 = 16 << 20;

/// Memory that a lane takes besides: 64 lanes on 4 targets had 214 MB at most (docs/figures.md, "4 targets x0.2").
const LANE_BYTES: u64 = 256 << 10;

/// Open files that are of use (`Host::here`).
const OPEN_FILES: u64 = 16 << 10;

/// Groups above a process's own that are looked at.
const GROUPS_MAX: usize = 64;

/// Lanes that a job is to have, and whether they were chosen.
#[derive(Clone, Copy, Debug)]
pub struct Lanes {
    /// How many.
    pub count: u64,
    /// By `-P`.
    pub is_chosen: bool,
}

/// What is known of the host.
pub fn look(root: &Root, clients: &Clients, lanes: Lanes, latency: Duration) -> Subject {
    let name = root.text("/proc/sys/kernel/hostname", "the host's name").unwrap_or_else(|| "?".into());
    let name = crate::base::name::Printable(name.as_bytes()).to_string();
    let mut subject = Subject::new("host", name.clone(), format!("Host {name}"));
    if let Some(release) = root.text("/proc/sys/kernel/osrelease", "the kernel's version") {
        subject.fact("kernel", release.clone(), format!("Linux {release}"));
    }
    let targets = clients.targets().len().max(1) as u64;
    let group = group(root);
    processors(root, &group, targets, &mut subject);
    memory(root, &group, (targets, lanes.count), &mut subject);
    if subject.facts.iter().any(|fact| matches!(fact.name, "processors" | "memory_bytes")) {
        subject.fact(
            "lanes",
            lanes.count,
            format!(
                "judged for {} and {}",
                counted(lanes.count, "lane", "lanes"),
                counted(targets, "target", "targets")
            ),
        );
    }
    in_flight(lanes, targets, clients.rtt().unwrap_or(latency), &mut subject);
    open_files(root, &mut subject);
    subject
}

/// What limits the process's control groups set (cgroups(7), version 2): processors and bytes.
#[derive(Debug, Default, PartialEq)]
struct Group {
    processors: Option<f64>,
    bytes: Option<u64>,
}

fn group(root: &Root) -> Group {
    let own = root.may_read("/proc/self/cgroup").unwrap_or_default();
    let own = own.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/").trim_matches('/').to_string();
    let mut found = Group::default();
    let mut path = "/sys/fs/cgroup".to_string();
    let names = own.split('/').filter(|name| !name.is_empty() && *name != "..");
    for name in std::iter::once("").chain(names).take(GROUPS_MAX) {
        path = if name.is_empty() { path } else { format!("{path}/{name}") };
        let quota = root.may_read(&format!("{path}/cpu.max")).unwrap_or_default();
        if let [quota, period] = quota.split_whitespace().collect::<Vec<_>>()[..]
            && let (Ok(quota), Ok(period)) = (quota.parse::<u64>(), period.parse::<u64>())
            && period > 0
        {
            let processors = quota as f64 / period as f64;
            found.processors = Some(found.processors.map_or(processors, |least: f64| least.min(processors)));
        }
        if let Some(bytes) = root.may_number(&format!("{path}/memory.max")) {
            found.bytes = Some(found.bytes.map_or(bytes, |least| least.min(bytes)));
        }
    }
    found
}

/// `0-3,8`: how many.
fn listed(text: &str) -> Option<u64> {
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.trim().parse::<u64>().ok()?, last.trim().parse::<u64>().ok()?);
        last.checked_sub(first)?.checked_add(1)
    };
    text.split(',').map(range).try_fold(0u64, |sum, n| sum.checked_add(n?))
}

fn processors(root: &Root, group: &Group, targets: u64, subject: &mut Subject) {
    let online = "/sys/devices/system/cpu/online";
    let Some(count) = root.text(online, "processors").and_then(|text| listed(&text)) else { return };
    let quota = group.processors.filter(|quota| *quota < count as f64);
    let usable = quota.unwrap_or(count as f64);
    let of_group = quota.map_or_else(String::new, |quota| format!(", {quota:.1} of them for its control group"));
    subject.fact("processors", usable, format!("{}{of_group}", counted(count, "processor", "processors")));
    let load = root.text("/proc/loadavg", "load").and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    if let Some(load) = load.filter(|load| load.is_finite()) {
        subject.fact("load", load, format!("load {load:.2}"));
        if load >= count as f64 {
            subject.findings.push(Finding {
                check: "load",
                severity: Severity::Warning,
                found: format!("load {load:.2} on {}", counted(count, "processor", "processors")),
                reason: "More is ready to run, or waits for storage, than there are processors: each answer of a server then waits for one, \
                         which looks like a slow network."
                    .into(),
                advice: "See what runs; processes in state D wait for storage, which may be a server that does not answer.".into(),
                fix: vec!["ps -eo state,pid,wchan:32,args --sort=state | grep -E '^[RD]'".into()],
            });
        }
    }
    let needed = CALLS_PER_S * targets as f64 * CALL_US / 1e6;
    if usable < needed {
        subject.findings.push(Finding {
            check: "processors",
            severity: Severity::Warning,
            found: format!("{usable:.1} processors"),
            reason: format!(
                "{} at their ceiling take {} calls of small files a second, and a call takes some {CALL_US:.0} us of processor time: {needed:.1} processors.",
                counted(targets, "target", "targets"),
                grouped((CALLS_PER_S * targets as f64) as u64),
            ),
            advice: "Use a larger host, or several hosts with a part of the tree each.".into(),
            fix: Vec::new(),
        });
    }
}

fn memory(root: &Root, group: &Group, (targets, lanes): (u64, u64), subject: &mut Subject) {
    let Some(text) = root.text("/proc/meminfo", "memory") else { return };
    let kib = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    };
    let Some(available) = kib("MemAvailable").or_else(|| kib("MemFree")) else {
        return root.miss("/proc/meminfo", "No line MemAvailable", "memory");
    };
    let usable = group.bytes.map_or(available, |most| most.min(available));
    let of_group = if usable < available { " (its control group's limit)" } else { "" };
    subject.fact("memory_bytes", usable, format!("{} of memory available{of_group}", bytes_shown(usable)));
    let needed = BUDGET_BYTES
        .saturating_add(TARGET_BYTES.saturating_mul(targets))
        .saturating_add(LANE_BYTES.saturating_mul(lanes));
    if usable >= needed.saturating_mul(2) {
        return;
    }
    subject.findings.push(Finding {
        check: "memory",
        severity: if usable < needed { Severity::Fault } else { Severity::Warning },
        found: format!("{} available{of_group}", bytes_shown(usable)),
        reason: format!(
            "A job with {} on {} takes up to {}; what is left is the page cache, which kernel mounts write and read through.",
            counted(lanes, "lane", "lanes"),
            counted(targets, "target", "targets"),
            bytes_shown(needed),
        ),
        advice: "Give the host more memory, or the job fewer lanes.".into(),
        fix: vec!["partar -P 16 ...".into()],
    });
}

/// Are there as many lanes as the targets' distance takes?
fn in_flight(lanes: Lanes, targets: u64, rtt: Duration, subject: &mut Subject) {
    // More than can be asked for are no advice.
    let needed = ((CALLS_PER_S * targets as f64 * rtt.as_secs_f64()).ceil() as u64).min(PARALLEL_MAX as u64);
    if lanes.count >= needed {
        return;
    }
    let rate = lanes.count as f64 / rtt.as_secs_f64();
    subject.findings.push(Finding {
        check: "lanes",
        severity: if lanes.is_chosen { Severity::Warning } else { Severity::Note },
        found: format!("{}, {} away from {}", counted(lanes.count, "lane", "lanes"), ms(rtt), counted(targets, "target", "targets")),
        reason: format!(
            "On a kernel mount a lane has one call in flight: {} calls a second, where the targets take {} of small files.",
            grouped(rate as u64),
            grouped((CALLS_PER_S * targets as f64) as u64),
        ),
        advice: "More lanes, up to 1,024; over nfs:// each has four calls in flight, and a quarter is enough.".into(),
        fix: vec![format!("partar -P {needed} ...")],
    });
}

fn open_files(root: &Root, subject: &mut Subject) {
    let Some(text) = root.text("/proc/self/limits", "how many files may be open") else { return };
    let hard = text
        .lines()
        .find_map(|line| line.strip_prefix("Max open files")?.split_whitespace().nth(1)?.parse::<u64>().ok());
    let Some(hard) = hard else { return };
    subject.fact("open_files_max", hard, format!("{} open files", grouped(hard)));
    if hard < OPEN_FILES {
        subject.findings.push(Finding {
            check: "open_files",
            severity: Severity::Note,
            found: format!("at most {} open files", grouped(hard)),
            reason: "On kernel mounts parfs keeps files and directories open, so that they need not be looked up again (LOOKUP, 2 IOPS).".into(),
            advice: format!("Allow {}; it takes what it may.", grouped(OPEN_FILES)),
            fix: vec![format!("ulimit -Hn {OPEN_FILES}"), format!("/etc/security/limits.d/90-parfs.conf: * hard nofile {OPEN_FILES}")],
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors() {
        assert_eq!([listed("0"), listed("0-3"), listed("0-3,8,10-11")], [Some(1), Some(4), Some(7)]);
        assert_eq!([listed(""), listed("3-1"), listed("a"), listed("0-18446744073709551615")], [None; 4]);
    }

    #[test]
    fn the_tightest_group_counts() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let root = Root::new(dir.path());
        assert_eq!(group(&root), Group::default());
        put("proc/self/cgroup", "12:cpu:/old\n0::/a/b\n");
        put("sys/fs/cgroup/a/cpu.max", "200000 100000\n");
        put("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
        put("sys/fs/cgroup/a/memory.max", "max\n");
        put("sys/fs/cgroup/a/b/memory.max", "1073741824\n");
        assert_eq!(group(&root), Group { processors: Some(2.0), bytes: Some(1 << 30) });
    }
}
