//! What lies below all mounts: slots for requests in flight (sunrpc), and TCP's buffers against bandwidth x round trip.

use std::time::Duration;

use crate::base::price::Ceiling;
use crate::base::units::{bytes_shown, grouped};

use super::finding::{Finding, Severity, Subject};
use super::nfs::Clients;
use super::root::Root;
use super::words::{binary, counted, ms, rate};

/// Where sunrpc says how many slots a connection may have.
const SLOTS: &str = "/proc/sys/sunrpc/tcp_max_slot_table_entries";

/// Slots that Linux allows by itself.
const SLOTS_DEFAULT: u64 = 65_536;

/// Connections of parfs to a target over `nfs://`, where no mount says how many.
const OWN_CONNECTIONS: u64 = 2;

/// The largest buffer that is advised: 16 MiB are 1 GB/s over one connection at 8 ms.
const BUFFER_BYTES_MAX: u64 = 16 << 20;

/// Commands that allow more slots, now and after the next boot.
pub fn slots_fix() -> Vec<String> {
    vec![
        format!("sysctl -w sunrpc.tcp_max_slot_table_entries={SLOTS_DEFAULT}   # for connections made from now on"),
        format!("/etc/modprobe.d/sunrpc.conf: options sunrpc tcp_max_slot_table_entries={SLOTS_DEFAULT}"),
    ]
}

/// The way to one target: the mount whose connections have most to carry.
struct Way {
    name: String,
    rtt: Duration,
    connections: u64,
}

fn ways(clients: &Clients, latency: Duration) -> Vec<Way> {
    let of = |client: &super::nfs::Client| Way {
        name: format!("mount {}", client.point()),
        rtt: client.rtt().unwrap_or(latency),
        connections: client.connections(),
    };
    let mut ways: Vec<Way> = clients.all.iter().map(of).collect();
    if ways.is_empty() {
        ways.push(Way { name: "nfs://".into(), rtt: latency, connections: OWN_CONNECTIONS });
    }
    ways
}

/// The limit of slots, where there is one.
pub fn slots_max(root: &Root) -> Option<u64> {
    root.may_number(SLOTS)
}

/// What is known of it.
pub fn look(root: &Root, clients: &Clients, latency: Duration) -> Subject {
    let mut subject = Subject::new("transport", "tcp", "Transport: RPC slots and TCP");
    let ways = ways(clients, latency);
    let has_mounts = !clients.all.is_empty();
    let lost = if has_mounts { "slots" } else { "slots (sunrpc comes with the first mount of NFS)" };
    if let Some(slots) = root.number(SLOTS, lost) {
        subject.fact("slots_max", slots, format!("at most {} for each connection", counted(slots, "slot", "slots")));
        slots_checked(slots, &ways, &mut subject);
    }
    let share = root.text("/proc/sys/net/ipv4/tcp_adv_win_scale", "how much of a buffer is window (half is taken)");
    let share = share.and_then(|text| text.parse::<i32>().ok()).unwrap_or(1);
    for (check, what) in [("tcp_rmem", "receives"), ("tcp_wmem", "sends")] {
        let path = format!("/proc/sys/net/ipv4/{check}");
        let Some(numbers) = root.numbers(&path, &format!("TCP's buffers ({check})")) else { continue };
        let [low, begin, most] = numbers[..] else {
            root.miss(&path, "Not three numbers", &format!("TCP's buffers ({check})"));
            continue;
        };
        subject.fact(check, most, format!("{check} up to {}", binary(most)));
        buffers((check, what), [low, begin, most], share, &ways, &mut subject);
    }
    flags(root, &ways, &mut subject);
    subject
}

fn slots_checked(slots: u64, ways: &[Way], subject: &mut Subject) {
    let ceiling = Ceiling::oci().iops;
    let in_flight = |way: &Way| slots.saturating_mul(way.connections) as f64;
    // Calls of 1 IOPS: what a target could answer in one round trip.
    let short = |way: &Way| ceiling * way.rtt.as_secs_f64() - in_flight(way);
    let worst = ways.iter().max_by(|a, b| short(a).total_cmp(&short(b)));
    let Some(way) = worst.filter(|way| short(way) > 0.0) else { return };
    subject.findings.push(Finding {
        check: "tcp_max_slot_table_entries",
        severity: Severity::Warning,
        found: format!(
            "{} slots on {} of {}",
            grouped(slots),
            counted(way.connections, "connection", "connections"),
            way.name
        ),
        reason: format!(
            "A slot is one request in flight. At {} these are at most {} calls a second, where a target answers {}.",
            ms(way.rtt),
            grouped((in_flight(way) / way.rtt.as_secs_f64()) as u64),
            grouped(ceiling as u64),
        ),
        advice: format!(
            "Allow {} slots, Linux's default, and mount with nconnect=16; then mount anew.",
            grouped(SLOTS_DEFAULT)
        ),
        fix: slots_fix(),
    });
}

/// How much of a buffer of `bytes` is window (tcp(7), tcp_adv_win_scale). Since Linux 6.6 it is measured; half is about right.
fn window(bytes: u64, share: i32) -> u64 {
    let part = bytes.checked_shr(share.unsigned_abs()).unwrap_or(0);
    if share > 0 { bytes - part } else { part }
}

fn buffers(names: (&'static str, &str), [low, begin, most]: [u64; 3], share: i32, ways: &[Way], subject: &mut Subject) {
    let (check, what) = names;
    let ceiling = Ceiling::oci().bytes_per_s;
    let window = window(most, share);
    let all = |way: &Way| rate(window, way.rtt).saturating_mul(way.connections);
    let Some(way) = ways.iter().min_by_key(|way| all(way)).filter(|way| (all(way) as f64) < ceiling) else { return };
    let product = ceiling * way.rtt.as_secs_f64();
    // Twice what must be in flight on one connection, for half of a buffer is book-keeping.
    let wanted =
        ((2.0 * product / way.connections as f64) as u64).checked_next_power_of_two().unwrap_or(BUFFER_BYTES_MAX);
    let wanted = wanted.clamp(most.min(BUFFER_BYTES_MAX), BUFFER_BYTES_MAX);
    let path = format!("net.ipv4.{check}");
    subject.findings.push(Finding {
        check,
        severity: Severity::Warning,
        found: format!(
            "{check} {low} {begin} {most}; {}, {} away ({})",
            counted(way.connections, "connection", "connections"),
            ms(way.rtt),
            way.name
        ),
        reason: format!(
            "A connection {what} no more in a round trip than its window, about {} of this buffer: {}/s in all. Bandwidth x round trip is {}: \
             a target gives {}/s.",
            bytes_shown(window),
            bytes_shown(all(way)),
            bytes_shown(product as u64),
            bytes_shown(ceiling as u64),
        ),
        advice: match most < wanted {
            true => format!("Let the kernel take up to {} for a connection; with nconnect=16 each needs a sixteenth.", binary(wanted)),
            false => format!("The buffer is large enough as it is; use more connections (nconnect=16) or more targets. It is {} here.", binary(most)),
        },
        fix: match most < wanted {
            true => vec![
                format!("sysctl -w {path}='{low} {begin} {wanted}'"),
                format!("/etc/sysctl.d/90-nfs.conf: {path} = {low} {begin} {wanted}"),
            ],
            false => Vec::new(),
        },
    });
}

/// Switches of TCP that nothing works well without.
fn flags(root: &Root, ways: &[Way], subject: &mut Subject) {
    let rtt = ways.iter().map(|way| way.rtt).max().unwrap_or_default();
    let rows = [
        (
            "tcp_window_scaling",
            Severity::Fault,
            format!(
                "Windows are then 64 KiB at most (RFC 7323): {}/s on a connection at {}.",
                bytes_shown(rate(65_535, rtt)),
                ms(rtt)
            ),
        ),
        (
            "tcp_sack",
            Severity::Warning,
            "After a lost packet all behind it is sent again (RFC 2018), and a large window empties.".to_string(),
        ),
    ];
    for (check, severity, reason) in rows {
        let path = format!("/proc/sys/net/ipv4/{check}");
        if root.number(&path, &format!("whether {check} is on")) == Some(0) {
            subject.findings.push(Finding {
                check,
                severity,
                found: format!("net.ipv4.{check} = 0"),
                reason,
                advice: "Switch it on.".into(),
                fix: vec![
                    format!("sysctl -w net.ipv4.{check}=1"),
                    format!("/etc/sysctl.d/90-nfs.conf: net.ipv4.{check} = 1"),
                ],
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_a_buffer_is_window() {
        assert_eq!((window(4096, 1), window(4096, 2), window(4096, 0), window(4096, -2)), (2048, 3072, 4096, 1024));
        assert_eq!((window(u64::MAX, i32::MIN), window(u64::MAX, i32::MAX)), (0, u64::MAX));
    }

    #[test]
    fn no_buffer_is_to_be_made_smaller() {
        let found = |most: u64| -> Finding {
            let mut subject = Subject::new("transport", "tcp", "TCP");
            let way = Way { name: "mount /m".into(), rtt: Duration::from_millis(60), connections: 1 };
            buffers(("tcp_rmem", "takes"), [4096, 131_072, most], 1, &[way], &mut subject);
            subject.findings.remove(0)
        };
        let (small, large) = (found(6 << 20), found(32 << 20));
        assert!(small.fix[0].ends_with("'4096 131072 16777216'"), "{:?}", small.fix);
        assert!(large.fix.is_empty() && large.advice.contains("more connections"), "{}", large.advice);
    }
}
