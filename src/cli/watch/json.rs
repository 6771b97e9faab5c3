//! Progress for programs: one JSON document a line.

use serde::Serialize;

use crate::base::price::Ceiling;
use crate::cli::meter::Role;

use super::{Sample, Watched, iops, rate};

/// One target.
#[derive(Debug, Serialize)]
struct Target<'a> {
    target: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<Role>,
    calls: u64,
    iops_total: u64,
    iops_per_s: f64,
    /// Of the ceiling, 0 to 1.
    iops_share: f64,
}

/// What a run has done so far. Rates are the last second's.
#[derive(Debug, Serialize)]
pub struct Seen<'a> {
    seconds: f64,
    objects: u64,
    objects_per_s: f64,
    bytes: u64,
    bytes_per_s: f64,
    failures: u64,
    /// Of an archive whose size is known, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    done: Option<f64>,
    targets: Vec<Target<'a>>,
}

#[derive(Serialize)]
struct Event<'a> {
    event: &'static str,
    program: &'static str,
    #[serde(flatten)]
    seen: Seen<'a>,
}

/// What the counters say.
pub fn progress<'a>(watched: &Watched<'_>, first: &Sample, last: &'a Sample) -> Seen<'a> {
    let (ceiling, seconds) = (Ceiling::oci(), (last.at - first.at).as_secs_f64());
    let of_target = |(target, (_, iops)): (&'a super::TargetSample, (Option<Role>, f64))| Target {
        target: &target.target,
        role: target.role,
        calls: target.calls,
        iops_total: target.iops,
        iops_per_s: iops,
        iops_share: iops / ceiling.iops,
    };
    Seen {
        seconds: (last.at - watched.started).as_secs_f64(),
        objects: last.objects,
        objects_per_s: rate(last.objects, first.objects, seconds),
        bytes: last.bytes,
        bytes_per_s: rate(last.bytes, first.bytes, seconds),
        failures: last.failures,
        done: watched.done().map(|(done, total)| done as f64 / total as f64),
        targets: last.targets.iter().zip(iops(first, last)).map(of_target).collect(),
    }
}

/// The line.
pub fn text(watched: &Watched<'_>, first: &Sample, last: &Sample) -> String {
    let event = Event { event: "progress", program: watched.program, seen: progress(watched, first, last) };
    serde_json::to_string(&event).expect("numbers and names are JSON")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;
    use std::time::{Duration, Instant};

    use super::super::line::tests::sample;
    use super::*;
    use crate::cli::meter::Meters;
    use crate::crew::Crew;
    use crate::jobs::Live;
    use crate::storage::Shape;

    #[test]
    fn a_line_is_one_document() {
        let (live, meters, at) = (Live::default(), Meters::default(), Instant::now());
        let crew = Crew::new(Shape::SERIAL, 1).unwrap();
        let watched =
            Watched { program: "partar", noun: "members", live: &live, meters: &meters, crew: &crew, started: at };
        let first = sample(at, 1, 100, 0, &[(Some(Role::Source), 0)]);
        let last = sample(at, 3, 300, 4096, &[(Some(Role::Source), 50_000)]);
        let read = |text: String| serde_json::from_str::<serde_json::Value>(&text).unwrap();
        let document = read(text(&watched, &first, &last));
        assert_eq!(
            document,
            serde_json::json!({
                "event": "progress", "program": "partar", "seconds": 3.0, "objects": 300, "objects_per_s": 100.0, "bytes": 4096,
                "bytes_per_s": 2048.0, "failures": 0, "targets": [{"target": "10.0.0.5", "role": "source", "calls": 25_000,
                "iops_total": 50_000, "iops_per_s": 25_000.0, "iops_share": 0.5}],
            })
        );
        live.total_bytes.store(1_000_000, Ordering::Relaxed);
        live.bytes.store(250_000, Ordering::Relaxed);
        assert_eq!(read(text(&watched, &first, &last))["done"], 0.25);
        assert!(last.at - first.at == Duration::from_secs(2));
    }
}
