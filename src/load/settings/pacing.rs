//! How fast a job goes, and how long.
//!
//! Promises: a rate in bytes or in I/Os, never both; zero means that there is none, as in fio.
//! Leaves out: clocks.

use std::num::NonZeroU64;
use std::time::Duration;

use super::super::depth::LatencyTarget;
use super::super::job::BadJob;
use super::super::options::Value;
use super::super::pace::{Process, Rate, Span, Think};
use super::super::steady::{Criterion, Steady};
use super::super::value::KbBase;
use super::super::{Direction, Each};
use super::Pacing;
use super::asked::Asked;

pub(super) fn pacing(asked: &Asked<'_>) -> Result<Pacing, BadJob> {
    let rate = rates(asked, "rate", "rate_iops")?;
    let least = rates(asked, "rate_min", "rate_iops_min")?;
    let exceeds = |direction: &Direction| match (rate[*direction], least[*direction]) {
        (Some(Rate::Bytes(rate)), Some(Rate::Bytes(least))) => rate < least,
        (Some(Rate::Ios(rate)), Some(Rate::Ios(least))) => rate < least,
        _ => false,
    };
    let told = |direction: Direction| format!("fio: minimum rate exceeds rate, ddir {}", direction as u8);
    let wrong: Vec<String> = Direction::ALL.into_iter().filter(exceeds).map(told).collect();
    if !wrong.is_empty() {
        return Err(asked.together(wrong.join("\n")));
    }
    let some = |time: Duration| (!time.is_zero()).then_some(time);
    Ok(Pacing {
        rate,
        least,
        cycle: asked.time("rate_cycle"),
        process: if asked.word("rate_process") == "poisson" { Process::Poisson } else { Process::Linear },
        ignore_thinktime: asked.is("rate_ignore_thinktime"),
        think: Think {
            pause: asked.time("thinktime"),
            spin: asked.time("thinktime_spin").min(asked.time("thinktime")),
            // As in fio, not beside thinktime_iotime= unless it is given.
            blocks: (asked.has("thinktime_blocks") || asked.time("thinktime_iotime").is_zero())
                .then(|| asked.number("thinktime_blocks").and_then(NonZeroU64::new).unwrap_or(NonZeroU64::MIN)),
            io_time: asked.time("thinktime_iotime"),
        },
        think_issued: asked.word("thinktime_blocks_type") == "issue",
        latency_max: some(asked.time("max_latency")),
        latency: some(asked.time("latency_target")).map(|target| latency(asked, target)),
    })
}

fn latency(asked: &Asked<'_>, target: Duration) -> LatencyTarget {
    let percentile = match asked.value("latency_percentile") {
        Some(Value::Floats(list)) => list.first().copied().unwrap_or(100.0),
        _ => 100.0,
    };
    LatencyTarget { target, window: asked.time("latency_window"), percentile, goes_on: asked.is("latency_run") }
}

/// steadystate=, which has no effect without a steadystate_duration=, as in fio.
pub(super) fn steady(asked: &mut Asked<'_>) -> Result<Option<Steady>, BadJob> {
    let duration = asked.time("steadystate_duration");
    if duration.is_zero() {
        for name in ["steadystate", "steadystate_ramp_time"] {
            if asked.has(name) {
                asked.note(format!("fio: {name} changes nothing without steadystate_duration"));
            }
        }
        return Ok(None);
    }
    let base = if asked.word("kb_base") == "1000" { KbBase::Decimal } else { KbBase::Binary };
    let (word, limit) = asked.choice("steadystate");
    let criterion = Criterion::read(word, limit.as_deref().unwrap_or_default(), base);
    let criterion = criterion.map_err(|reason| asked.bad("steadystate", reason))?;
    let steady = Steady::new(criterion, duration, asked.time("steadystate_ramp_time"));
    steady.map(Some).map_err(|reason| asked.bad("steadystate_duration", reason))
}

fn rates(asked: &Asked<'_>, bytes: &str, ios: &str) -> Result<Each<Option<Rate>>, BadJob> {
    let (per_byte, per_io) = (asked.each(bytes, 0), asked.each(ios, 0));
    let any = |each: &Each<u64>| each.iter().any(|(_, rate)| *rate > 0);
    if any(&per_byte) && any(&per_io) {
        return Err(asked.together("fio: rate and rate_iops are mutually exclusive"));
    }
    Ok(Each::of(|direction| match (per_byte[direction], per_io[direction]) {
        (0, 0) => None,
        (0, rate) => Some(Rate::Ios(rate)),
        (rate, _) => Some(Rate::Bytes(rate)),
    }))
}

pub(super) fn span(asked: &mut Asked<'_>) -> Span {
    let runtime = asked.time("runtime");
    let mut time_based = asked.is("time_based");
    if time_based && runtime.is_zero() {
        asked.warn("fio: time_based requires a runtime/timeout setting");
        time_based = false;
    }
    Span {
        ramp: asked.time("ramp_time"),
        runtime: (!runtime.is_zero()).then_some(runtime),
        time_based,
        loops: asked.number("loops").unwrap_or(1).max(1),
    }
}

/// startdelay=, from and to.
pub(super) fn delay(asked: &Asked<'_>) -> (Duration, Duration) {
    match asked.value("startdelay") {
        Some(Value::TimeRange(low, high)) => (low, high),
        _ => (Duration::ZERO, Duration::ZERO),
    }
}
