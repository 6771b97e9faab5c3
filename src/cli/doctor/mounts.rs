//! What the options of each NFS mount cost. Reads what the kernel says they are, and /etc/fstab for what was typed.
//!
//! Sources: nfs(5); OCI File Storage Performance Characteristics, v2.0, August 2023: mount without rsize and wsize, nconnect=16.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

use crate::base::price::Ceiling;
use crate::base::units::{bytes_shown, grouped};
use crate::base::{PriceList, Proc};

use super::finding::{Finding, Severity, Subject};
use super::nfs::{Client, Clients, IO_BYTES_MAX, shown};
use super::root::Root;
use super::words::{binary, counted, ms, rate};

/// What OCI advises.
pub const NCONNECT: u64 = 16;

/// Tenths of a second before a request is sent again: 600 are the default over TCP (nfs(5)); below this a busy server is asked twice.
const TIMEO_MIN: u64 = 100;

/// Seconds that attributes should be believed at least; the defaults are 3 to 60 for files and 30 to 60 for directories (nfs(5)).
const ATTRIBUTES_S_MIN: u64 = 3;

/// Read-ahead in READs: what Linux had by itself until 5.4, and servers' vendors advise since.
const READS_AHEAD: u64 = 15;

/// What is known of one mount. `anew`: the commands that mount all of a server anew.
pub fn look<'c>(root: &Root, client: &'c Client, anew: &mut Anew<'c>, latency: Duration) -> Subject {
    let mut subject = Subject::new("mount", client.point(), format!("Mount {} of {}", client.point(), client.source()));
    let entry = &client.entry;
    let proto = entry.option("proto").unwrap_or("tcp");
    subject.fact("version", client.version(), format!("NFSv{}", client.version()));
    subject.fact("proto", proto, proto);
    let connections = client.connections();
    subject.fact("connections", connections, counted(connections, "connection", "connections"));
    for option in ["rsize", "wsize"] {
        if let Some(bytes) = client.io_bytes(option) {
            subject.fact(
                if option == "rsize" { "rsize" } else { "wsize" },
                bytes,
                format!("{option} {}", binary(bytes)),
            );
        }
    }
    subject.fact("target", client.target(), format!("target {}", client.target()));
    if !client.further.is_empty() {
        let further: Vec<String> = client.further.iter().map(|further| shown(&further.entry.point)).collect();
        subject.fact("also_at", further.clone(), format!("also at {}", further.join(", ")));
    }
    version(client, &mut subject);
    protocol(client, proto, &mut subject);
    connection_count(client, anew, connections, &mut subject);
    ["rsize", "wsize"].into_iter().for_each(|option| io_size(client, option, &mut subject));
    patience(client, &mut subject);
    caching(client, &mut subject);
    read_ahead(root, client, latency, &mut subject);
    subject
}

fn version(client: &Client, subject: &mut Subject) {
    match client.version() {
        "3" => {}
        v if v.starts_with('4') => subject.findings.push(Finding {
            check: "version",
            severity: Severity::Note,
            found: format!("vers={v}"),
            reason:
                "OCI File Storage speaks NFSv3. The price list and the kernel's counters by procedure are NFSv3's, so \
                     what this mount costs is not judged here."
                    .into(),
            advice: "Mount it with vers=3, if the server has it.".into(),
            fix: client.fix(&client.options().version("3")),
        }),
        v => subject.findings.push(Finding {
            check: "version",
            severity: Severity::Warning,
            found: format!("vers={v}"),
            reason: "NFSv2 carries 8 KiB in a request, and files of 2 GiB at most.".into(),
            advice: "Mount it with vers=3.".into(),
            fix: client.fix(&client.options().version("3")),
        }),
    }
}

fn protocol(client: &Client, proto: &str, subject: &mut Subject) {
    if proto.starts_with("udp") {
        subject.findings.push(Finding {
            check: "proto",
            severity: Severity::Fault,
            found: format!("proto={proto}"),
            reason: "Over UDP a request is one datagram in fragments: one that is lost loses all, and at 1 Gbit/s or more fragments of \
                     different requests can be put together to wrong data (nfs(5), \"Using NFS over UDP on high-speed links\")."
                .into(),
            advice: "Mount it over TCP.".into(),
            fix: client.fix(&client.options().over_tcp()),
        });
    }
}

/// The commands that mount all of a server anew, which are about each of its mounts: with the first of them, for each would name all.
pub struct Anew<'c> {
    clients: &'c Clients,
    /// By server, where they stand.
    told: HashMap<&'c str, String>,
}

impl<'c> Anew<'c> {
    pub fn new(clients: &'c Clients) -> Anew<'c> {
        Anew { clients, told: HashMap::new() }
    }

    /// What to do about this one: advice, and the line of /etc/fstab with the commands behind it, where no other has them.
    fn with(&mut self, client: &'c Client, advice: String) -> (String, Vec<String>) {
        let line = client.line(&client.connected(client.options()));
        match self.told.entry(client.target()) {
            Entry::Occupied(there) => (format!("{advice} The commands stand with {}.", there.get()), vec![line]),
            Entry::Vacant(place) => {
                place.insert(client.point());
                (advice, std::iter::once(line).chain(self.clients.mount_anew(client.target())).collect())
            }
        }
    }
}

fn connection_count<'c>(client: &'c Client, anew: &mut Anew<'c>, connections: u64, subject: &mut Subject) {
    if !client.is_tcp() {
        return;
    }
    let typed = client.typed.as_ref().and_then(|line| line.option("nconnect")?.parse::<u64>().ok());
    if let Some(typed) = typed.filter(|typed| *typed > connections) {
        let advice =
            format!("Give all mounts of {} nconnect=16, unmount all of them, then mount them again.", client.target());
        let (advice, fix) = anew.with(client, advice);
        subject.findings.push(Finding {
            check: "nconnect_shared",
            severity: Severity::Warning,
            found: format!("nconnect={typed} in /etc/fstab, {}", counted(connections, "connection", "connections")),
            reason:
                "All mounts of one server share the connections that the first of them made; nconnect of the others is \
                     not looked at. A kernel before Linux 5.3 does not know it at all."
                    .into(),
            advice,
            fix,
        });
        return;
    }
    if connections >= NCONNECT {
        return;
    }
    let advice = "Mount with nconnect=16, as OCI advises. All mounts of one server share its connections: unmount all of them first.";
    let (advice, fix) = anew.with(client, advice.into());
    subject.findings.push(Finding {
        check: "nconnect",
        severity: if connections == 1 { Severity::Warning } else { Severity::Note },
        found: counted(connections, "connection", "connections"),
        reason: "The data of one TCP connection is handled by one processor at a time, and clouds limit a single flow below the rate of \
                 the network card. It does not lift the directory lock: see \"export\"."
            .into(),
        advice,
        fix,
    });
}

/// What 1 MiB costs in requests of this size.
fn mib_price(proc: Proc, bytes: u64) -> u64 {
    (1 << 20) / bytes.clamp(1 << 10, 1 << 20) * PriceList::oci().price(proc, bytes)
}

fn io_size(client: &Client, option: &'static str, subject: &mut Subject) {
    let Some(bytes) = client.io_bytes(option) else { return };
    let typed = client.typed.as_ref().and_then(|line| line.option(option));
    let proc = if option == "rsize" { Proc::Read } else { Proc::Write };
    if bytes < IO_BYTES_MAX {
        let by = match typed {
            Some(typed) => format!("set by hand in /etc/fstab: {option}={typed}"),
            None => "set by hand where it was mounted, or the server's limit".to_string(),
        };
        subject.findings.push(Finding {
            check: option,
            severity: Severity::Warning,
            found: format!("{option}={bytes} ({}), {by}", binary(bytes)),
            reason: format!(
                "1 MiB costs {} IOPS in {}s of {}, and {} in one; each of them is a round trip and takes a slot.",
                grouped(mib_price(proc, bytes)),
                proc.name(),
                binary(bytes),
                grouped(mib_price(proc, IO_BYTES_MAX)),
            ),
            advice: "Mount without rsize and wsize: client and server then agree on the largest that both can.".into(),
            fix: client.fix(&client.options().without(&["rsize", "wsize"])),
        });
    } else if let Some(typed) = typed {
        // The kernel rounds and caps what is typed, takes 0 for nothing, and refuses what is no number.
        let is_less = typed.parse::<u64>().is_ok_and(|typed| typed > 0 && typed < IO_BYTES_MAX);
        let (severity, reason) = match is_less {
            true => (Severity::Warning, "It is mounted with the largest there is; the next mount will be with less."),
            false => (
                Severity::Note,
                "It is the largest there is today. A value set by hand stays when client or server learn larger ones.",
            ),
        };
        subject.findings.push(Finding {
            check: option,
            severity,
            found: format!("{option}={typed} in /etc/fstab"),
            reason: reason.into(),
            advice: format!("Leave {option} out: client and server then agree on the largest that both can."),
            fix: client.fix(&client.options().without(&[option])),
        });
    }
}

/// hard or soft, and how soon a request is sent again.
fn patience(client: &Client, subject: &mut Subject) {
    let entry = &client.entry;
    let (timeo, retrans) = (entry.option("timeo").unwrap_or("600"), entry.option("retrans").unwrap_or("2"));
    if let Some(soft) = ["soft", "softerr"].into_iter().find(|option| entry.has(option)) {
        let read_only = entry.is_read_only();
        subject.findings.push(Finding {
            check: "soft",
            severity: if read_only { Severity::Warning } else { Severity::Fault },
            found: format!("{soft}, timeo={timeo}, retrans={retrans}{}", if read_only { ", ro" } else { "" }),
            reason: "A request that is not answered in time ends with an error, and many programs do not look at the errors of write and \
                     close: data is lost without a word (nfs(5), \"soft / hard\")."
                .into(),
            advice: "Mount it hard: a program then waits until the server is back.".into(),
            fix: client.fix(&client.options().without(&["soft", "softerr"]).with("hard")),
        });
    }
    if let Ok(tenths) = timeo.parse::<u64>()
        && client.is_tcp()
        && tenths < TIMEO_MIN
    {
        subject.findings.push(Finding {
            check: "timeo",
            severity: Severity::Warning,
            found: format!("timeo={timeo} ({:.1} s)", tenths as f64 / 10.0),
            reason: "TCP delivers what it was given. A server that is slow for so long is asked again over a new connection, and then has \
                     more to do, not less."
                .into(),
            advice: "Mount without timeo: 60 s are the default over TCP.".into(),
            fix: client.fix(&client.options().without(&["timeo"])),
        });
    }
}

fn caching(client: &Client, subject: &mut Subject) {
    let entry = &client.entry;
    let mut add = |check, found: String, reason: &str, advice: &str, dropped: &[&str]| {
        let (reason, advice, severity) = (reason.into(), advice.into(), Severity::Warning);
        let fix = client.fix(&client.options().without(dropped));
        subject.findings.push(Finding { check, severity, found, reason, advice, fix });
    };
    let answer = client.rtt().map_or_else(String::new, |rtt| format!("; the server answers in {}", ms(rtt)));
    if entry.has("noac") {
        add(
            "noac",
            format!("noac{answer}"),
            "Attributes are asked for at each use (GETATTR, 1 IOPS and a round trip), and each write(2) waits for the server, for noac \
             brings sync along.",
            "Mount without it. Open and close still see what others wrote (close-to-open); locks do where more is needed.",
            &["noac"],
        );
    } else if entry.has("sync") || entry.options[0].split(',').any(|option| option == "sync") {
        add(
            "sync",
            format!("sync{answer}"),
            "Each write(2) is a WRITE that waits until the server has it on stable storage: one in flight, and one request for \
             each write however small it is.",
            "Mount without it; programs that need it call fsync.",
            &["sync"],
        );
    }
    let seconds = |option: &str| entry.option(option).and_then(|value| value.parse::<u64>().ok());
    let is_short = |option: &&&str| seconds(option).is_some_and(|s| s < ATTRIBUTES_S_MIN);
    let short: Vec<&str> = ["acregmax", "acdirmax"].iter().filter(is_short).copied().collect();
    // The least times go with the longest: they were chosen together, most often by actimeo.
    let least = short.iter().map(|option| if *option == "acregmax" { "acregmin" } else { "acdirmin" });
    let dropped: Vec<&str> = std::iter::once("actimeo").chain(short.iter().copied()).chain(least).collect();
    let short: Vec<String> = short.iter().filter_map(|option| Some(format!("{option}={}", seconds(option)?))).collect();
    if !short.is_empty() && !entry.has("noac") {
        add(
            "actimeo",
            format!("{}{answer}", short.join(", ")),
            "What the client knows of files and directories is asked for again after so short a time: GETATTR, ACCESS and LOOKUP for what \
             has not changed, 1 to 2 IOPS and a round trip each.",
            "Mount without actimeo, acregmax and acdirmax: the defaults are 60 s.",
            &dropped,
        );
    }
    if let Some(kind) = entry.option("lookupcache").filter(|kind| matches!(*kind, "none" | "pos" | "positive")) {
        add(
            "lookupcache",
            format!("lookupcache={kind}{answer}"),
            "Names are looked up again at each use, or those that are not there: LOOKUP, 2 IOPS and a round trip for each name of a path.",
            "Mount without lookupcache, unless programs on several hosts wait for each other's new files.",
            &["lookupcache"],
        );
    }
}

/// The command that sets the read-ahead of a device, and where it is kept.
fn read_ahead_fix(client: &Client, kib: u64) -> Vec<String> {
    let (device, fs) = (client.entry.device, &client.entry.fs);
    vec![
        format!("echo {kib} > /sys/class/bdi/{}:{}/read_ahead_kb", device.0, device.1),
        format!("/etc/nfs.conf: [nfsrahead] {fs}={kib}   # for each mount from now on; nfs-utils 2.6 or later"),
    ]
}

fn read_ahead(root: &Root, client: &Client, latency: Duration, subject: &mut Subject) {
    let (major, minor) = client.entry.device;
    let path = format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb");
    let Some(kib) = root.number(&path, &format!("read-ahead of {}", client.point())) else { return };
    let ahead = kib.saturating_mul(1024);
    subject.fact("read_ahead_bytes", ahead, format!("read-ahead {}", binary(ahead)));
    let rsize = client.io_bytes("rsize").unwrap_or(IO_BYTES_MAX);
    let rtt = client.rtt_of(Proc::Read).or_else(|| client.rtt()).unwrap_or(latency);
    let (one_reader, ceiling) = (rate(ahead, rtt), Ceiling::oci().bytes_per_s as u64);
    let wanted = IO_BYTES_MAX * READS_AHEAD;
    if ahead >= wanted || (ahead >= rsize && one_reader >= ceiling) {
        return;
    }
    let small = if ahead < rsize { format!(", less than one READ of {}", binary(rsize)) } else { String::new() };
    subject.findings.push(Finding {
        check: "read_ahead",
        severity: if ahead < rsize { Severity::Warning } else { Severity::Note },
        found: format!("read_ahead_kb={kib}{small}"),
        reason: format!(
            "A program that reads one file from start to end has no more than the read-ahead in flight: some {}/s at {}, where a target \
             gives {}/s.",
            bytes_shown(one_reader),
            ms(rtt),
            bytes_shown(ceiling),
        ),
        advice: format!(
            "Set {READS_AHEAD} READs of 1 MiB, as Linux did until 5.4. Leave it where programs read here and there in large files: \
             what is read ahead is paid for too."
        ),
        fix: read_ahead_fix(client, wanted >> 10),
    });
}
