//! Exports and the mounts that show them: whether several mounts of one are several, and what the directory lock leaves of one.
//!
//! Two mounts of one superblock have one lock and one set of connections. Mounts of one address share its connections whatever
//! their superblocks. Only addresses of their own give targets of their own. Left out: the proof that two servers show one
//! file system, which `partar -v` makes.

use std::time::Duration;

use crate::base::Proc;
use crate::base::name::Printable;
use crate::base::units::grouped;

use super::finding::{Finding, Severity, Subject};
use super::nfs::{Client, Clients, Further, is_address, shown};
use super::options::Options;
use super::words::{counted, ms, shell};

/// One export and the superblocks that show it.
struct Group<'a> {
    path: &'a [u8],
    clients: Vec<&'a Client>,
}

/// The superblocks by what they show: the same path, and not two file systems by their servers' numbers.
fn groups(clients: &[Client]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for client in clients {
        let is_same = |other: &Client| client.fsid.is_none() || other.fsid.is_none() || client.fsid == other.fsid;
        let path = &client.export.path[..];
        match groups.iter_mut().find(|group| group.path == path && group.clients.iter().all(|other| is_same(other))) {
            Some(group) => group.clients.push(client),
            None => groups.push(Group { path, clients: vec![client] }),
        }
    }
    groups
}

/// What is known of each export.
pub fn look(clients: &Clients, latency: Duration) -> Vec<Subject> {
    groups(&clients.all).iter().map(|group| one(group, clients, latency)).collect()
}

fn one(group: &Group<'_>, clients: &Clients, latency: Duration) -> Subject {
    let path = Printable(group.path).to_string();
    let mut targets: Vec<&str> = group.clients.iter().map(|client| client.target()).collect();
    targets.sort_unstable();
    targets.dedup();
    let mut subject = Subject::new("export", path.clone(), format!("Export {path}"));
    let n = group.clients.len() as u64;
    subject.fact(
        "superblocks",
        n,
        format!("{} of {}", counted(n, "superblock", "superblocks"), points(&group.clients)),
    );
    subject.fact("targets", targets.clone(), format!("through {}", targets.join(", ")));
    let fsids = group.clients.iter().filter_map(|client| client.fsid.as_deref()).collect::<Vec<_>>();
    if let Some(fsid) = fsids.first() {
        let all = if n > 1 && fsids.len() == group.clients.len() { " on all" } else { "" };
        subject.fact("fsid", *fsid, format!("fsid {fsid}{all}"));
    }
    one_superblock(group, clients, &mut subject);
    one_address(group, &mut subject);
    other_numbers(group, clients, &mut subject);
    lock(group, clients, &targets, latency, &mut subject);
    subject
}

fn points(clients: &[&Client]) -> String {
    clients.iter().map(|client| client.point()).collect::<Vec<_>>().join(", ")
}

/// Several mounts that are one.
fn one_superblock(group: &Group<'_>, clients: &Clients, subject: &mut Subject) {
    for client in group.clients.iter().filter(|client| !client.further.is_empty()) {
        let mut points = vec![client.point()];
        points.extend(client.further.iter().map(|further| shown(&further.entry.point)));
        let in_fstab = |point: &std::path::Path| clients.fstab.iter().any(|line| line.point == point);
        let is_other = |further: &&Further| !further.is_part && further.export.path != client.export.path;
        // A bind mount is meant to be the same; what /etc/fstab has twice as a mount of its own is not.
        let is_again = |further: &&Further| further.export.path == client.export.path && in_fstab(&further.entry.point);
        let meant = in_fstab(&client.entry.point) && client.further.iter().any(|further| is_again(&further));
        let reason = match client.further.iter().any(|further| is_other(&further)) {
            true => {
                "The server has these exports on one file system, and Linux makes one superblock of them: the same connections, and one \
                 lock for a directory that is seen through several."
            }
            false => {
                "The second mount of one address and export, or a bind mount, is the first one again: the same directory locks, the same \
                 connections. Working through both gains nothing."
            }
        };
        let apart = |further: &Further| {
            let point = further.entry.point.as_os_str().as_encoded_bytes();
            let options =
                Options::of(&further.entry, further.typed.as_ref()).guarded(&further.entry).version(client.spoken());
            let options = options.without(&["sharecache"]).with("nosharecache");
            format!("umount {} && {}", shell(point), options.command(&further.entry.source, point))
        };
        subject.findings.push(Finding {
            check: "shared_superblock",
            severity: if meant { Severity::Warning } else { Severity::Note },
            found: format!(
                "{} are one superblock ({}:{})",
                points.join(", "),
                client.entry.device.0,
                client.entry.device.1
            ),
            reason: reason.into(),
            advice: "For locks of its own mount it through another mount target's address, or with nosharecache."
                .into(),
            // A directory of an export need not be one that the server lets mount.
            fix: client.further.iter().filter(|further| !further.is_part).map(apart).collect(),
        });
    }
}

/// Superblocks of their own through one address.
fn one_address(group: &Group<'_>, subject: &mut Subject) {
    for (at, first) in group.clients.iter().enumerate() {
        let is_known = group.clients[..at].iter().any(|earlier| earlier.target() == first.target());
        let same: Vec<&Client> =
            group.clients[at..].iter().copied().filter(|client| client.target() == first.target()).collect();
        if is_known || same.len() < 2 {
            continue;
        }
        let ports = |client: &Client| -> Vec<u16> {
            client.counts.iter().flat_map(|counts| &counts.connections).map(|connection| connection.port).collect()
        };
        let own = ports(first);
        let shared = same[1..].iter().flat_map(|client| ports(client)).filter(|port| own.contains(port)).count();
        let connections = match (own.is_empty(), shared) {
            (true, _) => "whether they share connections is not told".to_string(),
            (false, 0) => "their connections are their own (no source port in common)".to_string(),
            (false, _) => {
                format!("they share {} (the same source ports)", counted(own.len() as u64, "connection", "connections"))
            }
        };
        subject.findings.push(Finding {
            check: "one_address",
            severity: Severity::Note,
            found: format!("{} go to {}; {connections}", points(&same), first.target()),
            reason: "Their superblocks and directory locks are their own, so work in one directory gains. The mount target is one: its IOPS and \
                     bandwidth are there once."
                .into(),
            advice: "Where the target's ceiling binds (see --watch), mount through several mount targets of the export.".into(),
            fix: Vec::new(),
        });
    }
}

/// Mounts of the same path whose servers number the file system differently.
fn other_numbers(group: &Group<'_>, clients: &Clients, subject: &mut Subject) {
    let ours = group.clients.iter().find_map(|client| client.fsid.as_deref());
    let other = clients.all.iter().find(|other| {
        other.export.path == group.path && other.fsid.is_some() && ours.is_some() && other.fsid.as_deref() != ours
    });
    let (Some(ours), Some(other)) = (ours, other) else { return };
    subject.findings.push(Finding {
        check: "other_file_system",
        severity: Severity::Note,
        found: format!("fsid {ours} here, {} on {}", other.fsid.as_deref().unwrap_or_default(), other.point()),
        reason: "The path is the same, and the servers number the file systems differently: most likely they are two."
            .into(),
        advice: "partar, parcp and parrm prove it before they use a mount beside another; -v says what came out."
            .into(),
        fix: Vec::new(),
    });
}

/// What the lock of one directory leaves, and how to have more of it.
fn lock(group: &Group<'_>, clients: &Clients, targets: &[&str], latency: Duration, subject: &mut Subject) {
    let Some(first) = group.clients.iter().find(|client| !client.entry.is_read_only()) else { return };
    let counted_rtt = group.clients.iter().filter_map(|c| c.rtt_of(Proc::Create).or_else(|| c.rtt())).min();
    let rtt = counted_rtt.unwrap_or(latency);
    let k = group.clients.len() as u64;
    let each = 1.0 / rtt.as_secs_f64().max(1e-6);
    // Measured on Linux 6.12: two mounts gain nothing for unlink and rename, whose names must then be looked up under the lock.
    let removes = each * (k as f64 / 2.0).max(1.0);
    let further = not_mounted(group, clients);
    let others: Vec<&str> = clients.targets().into_iter().filter(|target| !targets.contains(target)).collect();
    let mut advice =
        "nfs:// has no such lock. Kernel mounts multiply it: partar, parcp and parrm use all mounts of an export."
            .to_string();
    if !further.is_empty() {
        advice += &format!(
            " /etc/fstab names {} of this export that {} not mounted.",
            further.join(", "),
            if further.len() == 1 { "is" } else { "are" }
        );
    } else if k == 1 && !others.is_empty() {
        advice += &format!(
            " Other servers are mounted here: {}; see whether they are targets of this export too.",
            others.join(", ")
        );
    }
    let new = clients.point_beside(first, k + 1);
    subject.findings.push(Finding {
        check: if k == 1 { "one_mount" } else { "directory_lock" },
        severity: if k == 1 && !further.is_empty() { Severity::Warning } else { Severity::Note },
        found: format!(
            "{}, {} {}",
            counted(k, "mount with a lock of its own", "mounts with locks of their own"),
            ms(rtt),
            if counted_rtt.is_some() { "for a round trip" } else { "taken for a round trip (--latency), for none was counted" }
        ),
        reason: format!(
            "A kernel mount holds a directory's lock for the whole round trip of each create, remove, rename and link. In one directory that is \
             at most {} creates (half of it with O_EXCL, as tar makes files) and {} removes a second, with any number of threads \
             and connections.",
            grouped((each * k as f64) as u64),
            grouped(removes as u64),
        ),
        advice,
        fix: vec![match further.first() {
            Some(host) => first.beside(&[host.as_bytes(), b":", group.path].concat(), &new, true),
            None => first.beside(&first.entry.source, &new, false),
        }],
    });
}

/// Servers that /etc/fstab has this export of, and that it is not mounted from.
fn not_mounted(group: &Group<'_>, clients: &Clients) -> Vec<String> {
    let is_mounted = |host: &str| {
        let names = group.clients.iter().map(|client| client.export.host.as_str());
        // Mounted, and shown by its number to be another file system.
        let is_other = clients.all.iter().any(|other| other.export.path == group.path && other.address() == host);
        let address = host.trim_matches(['[', ']']);
        let is_one = group.clients.iter().any(|client| client.address() == address);
        is_one || names.into_iter().any(|name| name == host) || is_other
    };
    let lines = clients.fstab.iter().filter(|line| line.path == group.path && !is_mounted(&line.host));
    // A name may be an address that is mounted; what it is now would have to be asked.
    let mut hosts: Vec<String> = lines.filter(|line| is_address(&line.host)).map(|line| line.host.clone()).collect();
    hosts.sort_unstable();
    hosts.dedup();
    hosts
}
