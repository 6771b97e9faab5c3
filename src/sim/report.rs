//! What a simulated server has done, for people and as JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::base::{PriceList, Proc};
use crate::storage::{Ledger, Tally};

/// The whole server.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// One for each target, in order.
    pub targets: Vec<TargetReport>,
    /// Each fault's text and how often it struck.
    pub faults: BTreeMap<String, u64>,
}

/// One target. Rates are over the time from its first request to its last.
#[derive(Clone, Debug, Serialize)]
pub struct TargetReport {
    /// Where it listens.
    pub address: String,
    /// False once it has gone away.
    pub listening: bool,
    /// Connections accepted so far.
    pub connections: u64,
    /// Procedures carried out.
    pub calls: u64,
    /// Payload bytes of READ (asked for) and WRITE together.
    pub bytes: u64,
    /// Their price together.
    pub iops: u64,
    /// Seconds from the first request to the last reply.
    pub busy_s: f64,
    /// Priced IOPS a second.
    pub iops_per_s: f64,
    /// Payload bytes a second.
    pub bytes_per_s: f64,
    /// Replies given again from the duplicate request cache.
    pub replayed: u64,
    /// Requests that a fault kept from being carried out.
    pub dropped: u64,
    /// Replies that a fault kept from being sent.
    pub lost_replies: u64,
    /// By the RFC's names, those that occurred.
    pub procedures: BTreeMap<&'static str, ProcReport>,
}

/// One procedure at one target.
#[derive(Clone, Debug, Serialize)]
pub struct ProcReport {
    /// How many were carried out.
    pub calls: u64,
    /// How many of them failed.
    pub failed: u64,
    /// Payload bytes.
    pub bytes: u64,
    /// Price of all of them.
    pub iops: u64,
    /// Half of the replies were due within this time after the request's arrival, in microseconds.
    pub p50_us: u64,
    /// 99 of 100 replies were due within this time.
    pub p99_us: u64,
}

/// What a target counts beside its ledger.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub connections: u64,
    pub replayed: u64,
    pub dropped: u64,
    pub lost_replies: u64,
    pub busy: Duration,
}

pub(super) fn target(
    address: String,
    listening: bool,
    ledger: &Ledger,
    price: &PriceList,
    counts: Counts,
) -> TargetReport {
    let tally: Tally = ledger.tally();
    let latency = |proc: Proc, quantile: f64| ledger.latency_us(proc, quantile).unwrap_or(0);
    let procedures = tally.iter().map(|(proc, count)| {
        let report = ProcReport {
            calls: count.calls,
            failed: count.failed,
            bytes: count.bytes,
            iops: price.total(proc, count.calls, count.blocks_extra),
            p50_us: latency(proc, 0.5),
            p99_us: latency(proc, 0.99),
        };
        (proc.name(), report)
    });
    let busy_s = counts.busy.as_secs_f64();
    let rate = |amount: u64| if busy_s > 0.0 { amount as f64 / busy_s } else { 0.0 };
    TargetReport {
        address,
        listening,
        connections: counts.connections,
        calls: tally.calls(),
        bytes: tally.bytes(),
        iops: tally.price(price),
        busy_s,
        iops_per_s: rate(tally.price(price)),
        bytes_per_s: rate(tally.bytes()),
        replayed: counts.replayed,
        dropped: counts.dropped,
        lost_replies: counts.lost_replies,
        procedures: procedures.collect(),
    }
}
