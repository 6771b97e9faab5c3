//! What the kernel counted of each mount since it was made (mountstats): operations by procedure and price, how long they waited and
//! travelled, what had to be sent again.

use std::time::Duration;

use crate::base::units::grouped;
use crate::base::{PriceList, Proc};
use crate::cli::kernel::price_sent;
use crate::mounts::local::peers::mountstats::{Counts, Sent};

use super::finding::{Finding, Procedure, Severity, Subject};
use super::mounts::NCONNECT;
use super::nfs::Client;
use super::words::{counted, ms, percent, shell};

/// Requests that a share is taken of at least; of fewer it says nothing.
const REQUESTS_MIN: u64 = 1_000;

/// Shares of requests sent again, in percent. TCP repairs lost packets by itself: what RPC sends again was not answered for a minute, or
/// its connection broke.
const AGAIN_WARNING: f64 = 0.01;
const AGAIN_FAULT: f64 = 1.0;

/// A server of one's own region answers in 1 to 2 ms.
const FAR: Duration = Duration::from_millis(5);

/// Percent of the IOPS for questions about attributes and names, from which on they are worth a look.
const QUESTIONS: f64 = 50.0;

/// The largest number that is multiplied by a price; counters beyond it are no counters.
const CALLS_MAX: u64 = 1 << 48;

/// Counters with nothing in them that no kernel has counted, so that sums and prices hold.
fn is_sane(counts: &Counts) -> bool {
    let within = |n: u64| n <= CALLS_MAX;
    Proc::ALL.into_iter().map(|proc| counts.get(proc)).all(|sent| {
        [sent.calls, sent.transmissions, sent.failed, sent.timeouts].into_iter().all(within)
            && [sent.queue_ms, sent.rtt_ms, sent.execute_ms].into_iter().all(within)
    }) && within(counts.silly_renames)
        && counts.connections.iter().all(|c| within(c.sends))
}

/// All procedures together.
pub fn total(counts: &Counts) -> Sent {
    Proc::ALL.into_iter().map(|proc| counts.get(proc)).fold(Sent::default(), |sum, sent| Sent {
        calls: sum.calls.saturating_add(sent.calls),
        transmissions: sum.transmissions.saturating_add(sent.transmissions),
        failed: sum.failed.saturating_add(sent.failed),
        timeouts: sum.timeouts.saturating_add(sent.timeouts),
        queue_ms: sum.queue_ms.saturating_add(sent.queue_ms),
        rtt_ms: sum.rtt_ms.saturating_add(sent.rtt_ms),
        execute_ms: sum.execute_ms.saturating_add(sent.execute_ms),
    })
}

fn mean(ms: u64, calls: u64) -> f64 {
    // Two digits: the kernel counts milliseconds.
    if calls == 0 { 0.0 } else { (ms as f64 / calls as f64 * 100.0).round() / 100.0 }
}

fn procedures(counts: &Counts) -> Vec<Procedure> {
    let list = PriceList::oci();
    let row = |proc: Proc| {
        let sent = counts.get(proc);
        (sent.calls > 0).then(|| Procedure {
            procedure: proc.name(),
            calls: sent.calls,
            iops: price_sent(&list, counts, proc),
            retransmitted: sent.transmissions.saturating_sub(sent.calls),
            failed: sent.failed,
            queue_ms: mean(sent.queue_ms, sent.calls),
            rtt_ms: mean(sent.rtt_ms, sent.calls),
            execute_ms: mean(sent.execute_ms, sent.calls),
        })
    };
    Proc::ALL.into_iter().filter(|proc| proc.is_nfs3()).filter_map(row).collect()
}

/// Adds what was counted to what is known of its mount.
pub fn look(client: &Client, slots_max: Option<u64>, subject: &mut Subject) {
    let Some(counts) = &client.counts else {
        if !client.is_v4() {
            subject.fact("counted", false, "the kernel's counters do not have it");
        }
        return;
    };
    if !is_sane(counts) {
        subject.fact("counted", false, "the kernel's counters make no sense");
        return;
    }
    subject.procedures = procedures(counts);
    let sum = total(counts);
    subject.fact("age_s", counts.age_s, format!("mounted {} s ago", grouped(counts.age_s)));
    if let Some(rtt) = client.rtt() {
        let us = u64::try_from(rtt.as_micros()).unwrap_or(u64::MAX);
        subject.fact("rtt_us", us, format!("answers in {}", ms(rtt)));
    }
    sent_again(client, counts, sum, subject);
    waiting(client, counts, sum, slots_max, subject);
    far(client, subject);
    subject.findings.extend(questions(&subject.procedures));
    events(client, counts, subject);
}

fn sent_again(client: &Client, counts: &Counts, sum: Sent, subject: &mut Subject) {
    let again = sum.transmissions.saturating_sub(sum.calls);
    let share = percent(again, sum.calls);
    let is_many = sum.calls >= REQUESTS_MIN && share >= AGAIN_WARNING;
    if !is_many && sum.timeouts == 0 {
        return;
    }
    let worst = Proc::ALL.into_iter().max_by_key(|proc| {
        let sent = counts.get(*proc);
        sent.transmissions.saturating_sub(sent.calls)
    });
    subject.findings.push(Finding {
        check: "retransmissions",
        severity: if sum.calls >= REQUESTS_MIN && share >= AGAIN_FAULT { Severity::Fault } else { Severity::Warning },
        found: format!(
            "{} of {} requests were sent again ({share:.2} %{}), {}",
            grouped(again),
            grouped(sum.calls),
            worst.filter(|_| again > 0).map_or_else(String::new, |proc| format!(", most of them {proc}s")),
            counted(sum.timeouts, "timeout", "timeouts"),
        ),
        reason: "TCP repairs lost packets by itself. RPC sends again what was not answered in time or whose connection broke: the \
                 network drops connections (a firewall's table, two different MTUs), or the server is overloaded. Each costs seconds."
            .into(),
        advice: format!(
            "Look for packets that are too large for the way to {0} and for lost connections; see with --watch whether the target is near \
             its ceiling.",
            client.target()
        ),
        fix: way(client),
    });
}

/// The commands that show the way to the server, and what became of its connections.
fn way(client: &Client) -> Vec<String> {
    let address = client.address();
    let mut commands = vec![format!("tracepath {}", shell(address.as_bytes()))];
    if client.is_tcp() {
        // Without brackets ss takes what follows an address's last colon for the port.
        let host = if address.contains(':') { format!("[{address}]") } else { address.to_string() };
        let port = client.port().map_or_else(String::new, |port| format!(" dport = :{port}"));
        let host = shell(host.as_bytes());
        commands.push(format!("ss -tin dst {host}{port}   # retrans, rto, mss of each connection"));
    }
    commands.push("journalctl -k --grep 'nfs: server'".into());
    commands
}

/// Requests that waited on this host before they were sent.
fn waiting(client: &Client, counts: &Counts, sum: Sent, slots_max: Option<u64>, subject: &mut Subject) {
    let sends = counts.connections.iter().fold(0, |all: u64, c| all.saturating_add(c.sends));
    let backlog = counts.connections.iter().fold(0, |all: u64, c| all.saturating_add(c.backlog));
    let slots_used = counts.connections.iter().map(|c| c.slots_used_max).max().unwrap_or(0);
    let mean_backlog = if sends == 0 { 0.0 } else { backlog as f64 / sends as f64 };
    if !counts.connections.is_empty() {
        let rounded = (mean_backlog * 100.0).round() / 100.0;
        subject.fact("backlog", rounded, format!("{mean_backlog:.2} in the backlog"));
        subject.fact("slots_used_max", slots_used, format!("{} used at most", counted(slots_used, "slot", "slots")));
    }
    if sends >= REQUESTS_MIN && mean_backlog >= 1.0 {
        let limit = slots_max.map_or_else(String::new, |limit| format!(" of {} allowed", grouped(limit)));
        subject.findings.push(Finding {
            check: "backlog",
            severity: Severity::Warning,
            found: format!("{mean_backlog:.1} requests waited for a slot at each send; {} slots were used{limit}", grouped(slots_used)),
            reason: "A slot is one request in flight on one connection. What finds none waits on this host, while the target has time.".into(),
            advice: match client.is_tcp() {
                true => "Allow more slots (see \"tcp_max_slot_table_entries\"), or mount with nconnect=16: each connection has its own.".into(),
                false => "Allow more slots, or work through several mounts.".into(),
            },
            fix: if client.is_tcp() { super::transport::slots_fix() } else { Vec::new() },
        });
    }
    if sum.calls >= REQUESTS_MIN && sum.queue_ms > sum.rtt_ms {
        let has_few = client.is_tcp() && client.connections() < NCONNECT;
        subject.findings.push(Finding {
            check: "queue",
            severity: Severity::Warning,
            found: format!(
                "a request waits {:.2} ms before it is sent, and {:.2} ms for its answer",
                mean(sum.queue_ms, sum.calls),
                mean(sum.rtt_ms, sum.calls)
            ),
            reason: "More time goes by on this host than on the way and in the server: for a slot, for a connection that is busy with large \
                     WRITEs, or for one that is being made anew."
                .into(),
            advice: match has_few {
                true => "Mount with nconnect=16, so that small requests do not stand behind large ones; look at slots and retransmissions.".into(),
                false => "Look at slots and retransmissions.".into(),
            },
            fix: if has_few { client.fix(&client.connected(client.options())) } else { Vec::new() },
        });
    }
}

fn far(client: &Client, subject: &mut Subject) {
    let Some(rtt) = client.rtt().filter(|rtt| *rtt >= FAR) else { return };
    subject.findings.push(Finding {
        check: "rtt",
        severity: Severity::Warning,
        found: format!("answers in {}", ms(rtt)),
        reason: format!(
            "One call at a time, as tar, cp and rm work, is {:.0} a second, and a file of three calls {:.0}. A target of one's own region answers \
             in 1 to 2 ms: this one is far away, or so busy that requests queue there.",
            1.0 / rtt.as_secs_f64(),
            1.0 / rtt.as_secs_f64() / 3.0
        ),
        advice: "See with --watch whether it is near its ceiling; if not, work from a host near it. partar, parcp and parrm keep many \
                 calls in flight."
            .into(),
        fix: vec![format!("parfs doctor --watch 10 {}", shell(client.entry.point.as_os_str().as_encoded_bytes()))],
    });
}

/// Questions about attributes and names, which caches should answer.
fn questions(rows: &[Procedure]) -> Option<Finding> {
    let iops = |wanted: &[&str]| {
        let of = rows.iter().filter(|row| wanted.is_empty() || wanted.contains(&row.procedure));
        of.fold((0u64, 0u64), |sum, row| (sum.0.saturating_add(row.calls), sum.1.saturating_add(row.iops)))
    };
    let ((asked, price), (all, whole)) = (iops(&["GETATTR", "ACCESS", "LOOKUP"]), iops(&[]));
    if all < REQUESTS_MIN || percent(price, whole) < QUESTIONS {
        return None;
    }
    Some(Finding {
        check: "questions",
        severity: Severity::Note,
        found: format!(
            "{} GETATTR, ACCESS and LOOKUP of {} requests: {:.0} % of the IOPS",
            grouped(asked),
            grouped(all),
            percent(price, whole)
        ),
        reason: "They move no data. Each is asked because the client does not know the attributes or the name any more, or \
                 because many programs go through trees again and again."
            .into(),
        advice: "Look for noac, actimeo and lookupcache above, for jobs that walk the tree (find, du, backup agents), and for programs that \
                 look for files along long search paths."
            .into(),
        fix: vec!["nfsiostat 5   # which mount, now".into()],
    })
}

fn events(client: &Client, counts: &Counts, subject: &mut Subject) {
    if counts.delays > 0 {
        subject.findings.push(Finding {
            check: "delays",
            severity: Severity::Note,
            found: format!("{} answers said: try again later (JUKEBOX)", grouped(counts.delays)),
            reason: "The client waits 5 s before it asks again (NFS_JUKEBOX_RETRY_TIME of Linux).".into(),
            advice: "Look at what the server says of these times: it was short of something, or brought data back from elsewhere.".into(),
            fix: Vec::new(),
        });
    }
    if counts.silly_renames > 0 {
        let point = shell(client.entry.point.as_os_str().as_encoded_bytes());
        subject.findings.push(Finding {
            check: "silly_renames",
            severity: Severity::Note,
            found: format!("{} removed while open", counted(counts.silly_renames, "file was", "files were")),
            reason: "NFSv3 has no open files: the client renames such a file to .nfs..., RENAME for REMOVE (both 8 IOPS), and removes that name at \
                     the close. A directory cannot be removed until then, and what a client that crashed left stays."
                .into(),
            advice: "Name the directories that programs work in, and doctor lists the .nfs files there and who has them open.".into(),
            fix: vec![format!("parfs doctor --depth 3 {point}")],
        });
    }
}
