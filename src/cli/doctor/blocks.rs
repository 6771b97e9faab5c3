//! What holds block devices back: paths, scheduler, multi-queue, queue depth, requests and read-ahead.
//!
//! A multipath device and its paths are one subject. Left out: what a volume's performance level gives, which `plan` has.

use std::collections::BTreeMap;

use crate::base::units::grouped;

use super::disks::{self, Disk, PathState, Paths};
use super::finding::{Finding, Severity, Subject};
use super::root::Root;
use super::words::{binary, counted, shell};

/// Requests that are to fit in a device's queue: 50,000 IOPS, what one attached volume gives, at 1 ms are 50.
const DEPTH_MIN: u64 = 50;

/// The depth that is advised.
const DEPTH: u64 = 128;

/// What Linux reads ahead by itself, in KiB.
const READ_AHEAD_KIB: u64 = 128;

/// What is known of the disks; only of those that one of `devices` (`major:minor`) lies on, where such are given.
pub fn look(root: &Root, devices: Option<&[String]>) -> Vec<Subject> {
    let Some(disks) = disks::read(root) else { return Vec::new() };
    let wanted: Option<Vec<String>> =
        devices.map(|devices| devices.iter().flat_map(|number| disks::beneath(&disks, number)).collect());
    let is_wanted = |disk: &&Disk| wanted.as_ref().is_none_or(|wanted| wanted.contains(&disk.name));
    let multipath: Vec<&Disk> = disks.values().filter(|disk| disk.is_multipath()).filter(is_wanted).collect();
    let states = match multipath.is_empty() {
        true => Paths::new(),
        false => disks::paths(
            &root
                .tool("dmsetup", &["status", "--target", "multipath"], "which paths multipath took out of use")
                .unwrap_or_default(),
        ),
    };
    let mut subjects: Vec<Subject> = multipath.iter().map(|disk| several(root, disk, &disks, &states)).collect();
    let in_paths = |disk: &&Disk| disks.values().any(|of| of.is_multipath() && of.slaves.contains(&disk.name));
    let all: Vec<&Disk> = disks.values().filter(|disk| !disk.is_made()).filter(|disk| !in_paths(disk)).collect();
    let plain: Vec<&Disk> = all.iter().copied().filter(is_wanted).collect();
    subjects.extend(plain.iter().map(|disk| single(root, disk)));
    if !(plain.is_empty() && multipath.is_empty()) {
        subjects.extend(layer(root, &plain, &all));
    }
    subjects
}

fn single(root: &Root, disk: &Disk) -> Subject {
    let mut subject = Subject::new("device", disk.device(), format!("Device {}", disk.device()));
    let words = ["device/vendor", "device/model"].into_iter().filter_map(|file| root.may_read(&disk.file(file)));
    let model = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    if !model.is_empty() {
        let model = crate::base::name::Printable(model.as_bytes()).to_string();
        subject.fact("model", model.clone(), model);
    }
    facts(root, disk, &mut subject);
    subject.findings = queue(root, disk);
    subject
}

fn facts(root: &Root, disk: &Disk, subject: &mut Subject) {
    if let Some(scheduler) = scheduler(root, disk) {
        subject.fact("scheduler", scheduler.clone(), format!("scheduler {scheduler}"));
    }
    let mut number = |name: &'static str, file: &str, shown: &str| {
        if let Some(n) = root.may_number(&disk.file(file)) {
            subject.fact(name, n, format!("{shown} {}", grouped(n)));
        }
    };
    number("queue_depth", "device/queue_depth", "queue depth");
    number("nr_requests", "queue/nr_requests", "nr_requests");
    if let Some(kib) = root.may_number(&disk.file("queue/read_ahead_kb")) {
        subject.fact("read_ahead_kb", kib, format!("read-ahead {}", binary(kib.saturating_mul(1024))));
    }
    if let Some(queues) = root.names(&disk.file("mq")) {
        subject.fact(
            "hardware_queues",
            queues.len(),
            counted(queues.len() as u64, "hardware queue", "hardware queues"),
        );
    }
}

/// The scheduler in use: that in brackets, or the only one.
fn scheduler(root: &Root, disk: &Disk) -> Option<String> {
    let path = disk.file("queue/scheduler");
    let text = root.text(&path, &format!("the scheduler of {}", disk.name))?;
    let chosen = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    let chosen = chosen.or_else(|| Some(text.trim()).filter(|text| !text.is_empty() && !text.contains(' ')))?;
    Some(crate::base::name::Printable(chosen.as_bytes()).to_string())
}

/// What is wrong with one device's queue.
fn queue(root: &Root, disk: &Disk) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(state(root, disk));
    findings.extend(wrong_scheduler(root, disk));
    findings.extend(depth(root, disk));
    findings.extend(requests(root, disk));
    findings.extend(read_ahead(root, disk));
    findings
}

fn state(root: &Root, disk: &Disk) -> Option<Finding> {
    if !disk.has_state() {
        return None;
    }
    // SCSI's states; of NVMe it is `live`.
    let state =
        root.may_read(&disk.file("device/state")).filter(|state| !matches!(state.as_str(), "running" | "live"))?;
    let (advice, fix) = match disk.controller() {
        Some(controller) => (
            "See why its controller is not live; of one on a network, whether its target answers.",
            vec![
                format!("journalctl -k --grep {}", shell(controller.as_bytes())),
                "nvme list-subsys   # controllers, how they are reached, and their states".into(),
            ],
        ),
        None => (
            "See why it was taken out of use, and log in to its portal again.",
            vec![
                format!("journalctl -k --grep {}", shell(disk.name.as_bytes())),
                "iscsiadm -m session -P 3   # sessions and their devices".into(),
                set(disk, "running", "device/state"),
            ],
        ),
    };
    Some(Finding {
        check: "state",
        severity: Severity::Fault,
        found: format!("{} is {}", disk.name, crate::base::name::Printable(state.as_bytes())),
        reason: "The kernel gives it no requests.".into(),
        advice: advice.into(),
        fix,
    })
}

/// The command that writes `value` to one of the device's files.
fn set(disk: &Disk, value: impl std::fmt::Display, file: &str) -> String {
    format!("echo {value} > {}", shell(disk.file(file).as_bytes()))
}

/// A disk of this host, of SATA or USB: its queue is as long as its protocol has it (of NCQ 32), and sorting does it no harm.
fn is_attached(root: &Root, disk: &Disk) -> bool {
    disk.is_usb || root.may_read(&disk.file("device/vendor")).as_deref() == Some("ATA")
}

fn wrong_scheduler(root: &Root, disk: &Disk) -> Option<Finding> {
    let is_multi_queue = root.names(&disk.file("mq")).is_some();
    // Volumes on a network call themselves rotational too.
    if is_attached(root, disk) {
        return None;
    }
    let chosen = scheduler(root, disk).filter(|chosen| chosen != "none" && is_multi_queue)?;
    Some(Finding {
        check: "scheduler",
        severity: Severity::Warning,
        found: format!("{}: {chosen}", disk.name),
        reason: "It sorts requests under one lock, for heads that move. A volume on a network has none, and its own queues sort better."
            .into(),
        advice: "none, for multi-queue devices.".into(),
        fix: vec![
            set(disk, "none", "queue/scheduler"),
            format!(
                "/etc/udev/rules.d/60-scheduler.rules: ACTION==\"add|change\", KERNEL==\"{}\", ATTR{{queue/scheduler}}=\"none\"",
                disk.name
            ),
        ],
    })
}

fn depth(root: &Root, disk: &Disk) -> Option<Finding> {
    if is_attached(root, disk) {
        return None;
    }
    let depth = root.may_number(&disk.file("device/queue_depth")).filter(|depth| *depth < DEPTH_MIN)?;
    Some(Finding {
        check: "queue_depth",
        severity: Severity::Warning,
        found: format!("{}: queue depth {depth}", disk.name),
        reason: format!(
            "So many requests are in flight at most: {} IOPS at 1 ms, where one attached volume gives up to 50,000.",
            grouped(depth.saturating_mul(1000))
        ),
        advice: format!("A depth of {DEPTH}."),
        fix: vec![
            set(disk, DEPTH, "device/queue_depth"),
            format!(
                "iscsiadm -m node -o update -n node.session.queue_depth -v {DEPTH}   # for iSCSI, from the next login on"
            ),
        ],
    })
}

/// Requests that each of a device's own queues takes; 0 where the kernel does not tell.
fn tags(root: &Root, disk: &Disk) -> u64 {
    let queues =
        root.names(&disk.file("mq")).unwrap_or_default().into_iter().filter_map(|name| name.into_string().ok());
    queues.filter_map(|queue| root.may_number(&disk.file(&format!("mq/{queue}/nr_tags")))).min().unwrap_or(0)
}

fn requests(root: &Root, disk: &Disk) -> Option<Finding> {
    let requests = root.number(&disk.file("queue/nr_requests"), &format!("nr_requests of {}", disk.name))?;
    let depth = root.may_number(&disk.file("device/queue_depth")).unwrap_or(0);
    // Without a scheduler the kernel refuses more than the device has tags (blk_mq_tag_update_depth).
    let most = if scheduler(root, disk).is_some_and(|chosen| chosen != "none") { u64::MAX } else { tags(root, disk) };
    if is_attached(root, disk) || requests >= depth.max(DEPTH_MIN).min(most) {
        return None;
    }
    Some(Finding {
        check: "nr_requests",
        severity: Severity::Warning,
        found: format!("{}: nr_requests {requests}{}", disk.name, if depth > 0 { format!(", queue depth {depth}") } else { String::new() }),
        reason: "The block layer holds fewer requests than the device takes; who has one more waits before the queue, not in it.".into(),
        advice: match depth.max(DEPTH) <= most {
            true => "At least the queue depth, and 128.".into(),
            false => format!("{most}: without a scheduler the kernel takes no more than the device's tags."),
        },
        fix: vec![set(disk, depth.max(DEPTH).min(most), "queue/nr_requests")],
    })
}

fn read_ahead(root: &Root, disk: &Disk) -> Option<Finding> {
    let kib = root.number(&disk.file("queue/read_ahead_kb"), &format!("read-ahead of {}", disk.name))?;
    if kib >= READ_AHEAD_KIB {
        return None;
    }
    Some(Finding {
        check: "read_ahead",
        severity: if kib == 0 { Severity::Warning } else { Severity::Note },
        found: format!("{}: read_ahead_kb {kib}", disk.name),
        reason: format!(
            "A program that reads a file from start to end has {} in flight at most; each further read waits for the one before.",
            binary(kib.saturating_mul(1024).max(4096))
        ),
        advice: format!(
            "{READ_AHEAD_KIB} KiB, Linux's own, or more; less only where all reads are small and here and there (databases)."
        ),
        fix: vec![set(disk, READ_AHEAD_KIB, "queue/read_ahead_kb")],
    })
}

/// A multipath device with its paths.
fn several(root: &Root, disk: &Disk, disks: &BTreeMap<String, Disk>, states: &Paths) -> Subject {
    let name = disk.mapped.as_ref().map_or(disk.name.as_str(), |(name, _)| name.as_str());
    let mut subject =
        Subject::new("device", disk.device(), format!("Device {} ({}), multipath", disk.device(), disk.name));
    let paths: Vec<&Disk> = disk.slaves.iter().filter_map(|slave| disks.get(slave)).collect();
    let known = states.get(name);
    let state = |path: &Disk| -> Option<PathState> { known?.get(path.numbers.first()?).copied() };
    let lost: Vec<&str> =
        paths.iter().filter(|path| state(path).is_some_and(|s| !s.is_active)).map(|path| path.name.as_str()).collect();
    let names: Vec<&str> = paths.iter().map(|path| path.name.as_str()).collect();
    subject.fact(
        "paths",
        names.clone(),
        format!("{}: {}", counted(paths.len() as u64, "path", "paths"), names.join(", ")),
    );
    let failures: u64 = paths.iter().filter_map(|path| state(path)).fold(0, |sum, s| sum.saturating_add(s.failed));
    if known.is_some() {
        subject.fact("path_failures", failures, counted(failures, "path failure so far", "path failures so far"));
    }
    facts(root, disk, &mut subject);
    if !lost.is_empty() {
        subject.findings.push(Finding {
            check: "path_failed",
            severity: Severity::Fault,
            found: format!(
                "{} of {} failed: {}",
                lost.len(),
                counted(paths.len() as u64, "path", "paths"),
                lost.join(", ")
            ),
            reason: "What is left carries all, and the next failure stops the device.".into(),
            advice: "See why they failed, and log in to their portals again.".into(),
            fix: vec![format!("multipath -ll {}", shell(name.as_bytes())), "iscsiadm -m node -l".into()],
        });
    }
    if paths.len() < 2 {
        subject.findings.push(Finding {
            check: "paths",
            severity: Severity::Fault,
            found: counted(paths.len() as u64, "path", "paths"),
            reason: "A volume is attached with several paths because one does not carry what it gives, and because one can fail.".into(),
            advice: "Log in to all portals of the volume.".into(),
            fix: vec!["iscsiadm -m node -l".into(), format!("multipath -ll {}", shell(name.as_bytes()))],
        });
    }
    if root.may_read(&disk.file("dm/use_blk_mq")).as_deref() == Some("0") {
        subject.findings.push(single_queue("dm_mod.use_blk_mq", &format!("{}: use_blk_mq 0", disk.name)));
    }
    subject.findings.extend(wrong_scheduler(root, disk));
    subject.findings.extend(read_ahead(root, disk));
    subject.findings.extend(together(paths.iter().flat_map(|path| queue(root, path)).collect()));
    subject
}

/// The same finding of several paths as one.
fn together(findings: Vec<Finding>) -> Vec<Finding> {
    let mut all: Vec<Finding> = Vec::new();
    for finding in findings {
        let figure = |found: &str| found.split_once(": ").map(|(_, figure)| figure.to_string());
        let same = |known: &&mut Finding| {
            known.check == finding.check
                && figure(&known.found).is_some()
                && figure(&known.found) == figure(&finding.found)
        };
        match all.iter_mut().find(same) {
            Some(known) => {
                let (name, _) = finding.found.split_once(": ").unwrap_or_default();
                let (names, figure) = known.found.split_once(": ").unwrap_or_default();
                known.found = format!("{names}, {name}: {figure}");
                let new: Vec<String> = finding.fix.into_iter().filter(|line| !known.fix.contains(line)).collect();
                known.fix.extend(new);
            }
            None => all.push(finding),
        }
    }
    all
}

fn single_queue(parameter: &'static str, found: &str) -> Finding {
    Finding {
        check: if parameter.starts_with("dm") { "dm_blk_mq" } else { "scsi_blk_mq" },
        severity: Severity::Warning,
        found: found.into(),
        reason: "All processors put requests into one queue under one lock. Linux 5.0 and later have only multi-queue; this kernel has \
                 the choice."
            .into(),
        advice: "Switch multi-queue on by the kernel's command line, and boot.".into(),
        fix: vec!["grubby --update-kernel=ALL --args='scsi_mod.use_blk_mq=1 dm_mod.use_blk_mq=y'".into()],
    }
}

/// What concerns all devices: multi-queue, and volumes whose paths nobody put together.
fn layer(root: &Root, plain: &[&Disk], all: &[&Disk]) -> Option<Subject> {
    let mut subject = Subject::new("device", "all", "All block devices");
    for (module, parameter) in [("scsi_mod", "scsi_mod.use_blk_mq"), ("dm_mod", "dm_mod.use_blk_mq")] {
        let value = root.may_read(&format!("/sys/module/{module}/parameters/use_blk_mq"));
        if matches!(value.as_deref(), Some("N" | "0")) {
            subject.findings.push(single_queue(parameter, &format!("{parameter}=N")));
        }
    }
    let mut by_wwid: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    // The other path to a wanted volume is no device that anything wanted lies on.
    for disk in all {
        if let Some(wwid) = &disk.wwid {
            by_wwid.entry(wwid).or_default().push(&disk.name);
        }
    }
    for (wwid, names) in by_wwid
        .into_iter()
        .filter(|(_, names)| names.len() > 1 && plain.iter().any(|disk| names.contains(&disk.name.as_str())))
    {
        subject.findings.push(Finding {
            check: "no_multipath",
            severity: Severity::Fault,
            found: format!("{} are one volume ({})", names.join(", "), crate::base::name::Printable(wwid.as_bytes())),
            reason: "Each is a path to the same data, and no multipath device is made of them: one path carries all, and two that are written to \
                     destroy each other's file system."
                .into(),
            advice: "Let multipath put them together, and mount its device.".into(),
            fix: vec!["mpathconf --enable --with_multipathd y".into(), "multipath -ll".into()],
        });
    }
    (!subject.findings.is_empty()).then_some(subject)
}
