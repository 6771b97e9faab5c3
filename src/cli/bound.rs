//! What bound a run, from its figures: a limit asked for, a target's ceiling, the source, or latency.

use std::time::Duration;

use serde::Serialize;

use crate::base::price::Ceiling;
use crate::base::units::grouped;
use crate::storage::Shape;

use super::meter::{Role, TargetReport};

/// Shares from which a ceiling is said to bind: 80 % is where OCI raises its alarm, and a run's edges cost some more.
const BINDS_FROM: f64 = 0.85;

/// Shares of a mount target's ceiling that say it binds. What is clearly above has no such ceiling.
const BINDS: std::ops::RangeInclusive<f64> = BINDS_FROM..=1.15;

/// The lanes' idle share from which the archive's reading and decoding is said to bind, unless reading waited for lanes.
const SOURCE_BINDS_FROM: f64 = 0.3;

/// The reader's waiting share above which the lanes' idleness is not its doing.
const STORAGE_BINDS_FROM: f64 = 0.1;

/// From how many times the idle answer time, and some milliseconds for this host's own delays, calls are said to queue.
const QUEUES_FROM: (f64, f64) = (3.0, 2.0);

/// What bound the run.
#[derive(Clone, Debug, Serialize)]
pub struct Bound {
    /// `limit` (asked for), `iops`, `bandwidth`, `source`, `target` or `latency`.
    pub by: &'static str,
    /// One sentence with the figures.
    pub because: String,
}

/// What a bound is judged by besides the targets' figures.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// The lanes' waiting for work, as a share of the run, 0 to 1; 0 in jobs without an archive.
    pub source_wait: f64,
    /// The reader's waiting for lanes and memory, as a share of the run, 0 to 1.
    pub storage_wait: f64,
    /// Lanes and windows.
    pub shape: Shape,
    /// A ceiling that the user held each target under.
    pub held: Option<Ceiling>,
    /// Bytes a second that the user held all targets of the destination under together.
    pub bwlimit: Option<f64>,
}

/// The targets of one role, and what one of them gave on average in all its roles.
struct Group<'a> {
    targets: Vec<&'a TargetReport>,
    iops: f64,
    bytes: f64,
    each: String,
}

impl<'a> Group<'a> {
    fn new(role: Option<Role>, all: &[&'a TargetReport]) -> Option<Group<'a>> {
        let targets: Vec<&TargetReport> = all.iter().copied().filter(|target| target.role == role).collect();
        let n = targets.len();
        if n == 0 {
            return None;
        }
        let of_target = |key: &str, figure: fn(&TargetReport) -> f64| -> f64 {
            all.iter().filter(|other| other.key == key).map(|other| figure(other)).sum()
        };
        let mean = |figure: fn(&TargetReport) -> f64| {
            targets.iter().map(|target| of_target(&target.key, figure)).sum::<f64>() / n as f64
        };
        let (iops, bytes) = (mean(|t| t.iops_per_s), mean(|t| t.bytes_per_s));
        let each = match (role, n) {
            (None, 1) => "the target".into(),
            (None, n) => format!("{n} targets"),
            (Some(role), 1) => format!("the {}'s target", role.name()),
            (Some(role), n) => format!("the {}'s {n} targets", role.name()),
        };
        Some(Group { targets, iops, bytes, each })
    }

    fn limit(&self, flow: &Flow) -> Option<Bound> {
        let of_each = flow.held.map(|held| {
            let (iops, bytes) = (self.iops / held.iops, self.bytes / held.bytes_per_s);
            if iops >= bytes { ("--max-iops", iops) } else { ("--bwlimit", bytes) }
        });
        let of_all = flow.bwlimit.filter(|_| self.targets[0].role == Some(Role::Destination)).map(|limit| {
            let written: f64 = self.targets.iter().map(|target| target.bytes_per_s).sum();
            ("--bwlimit", written / limit)
        });
        let (flag, share) = of_each.into_iter().chain(of_all).max_by(|a, b| a.1.total_cmp(&b.1))?;
        let because = match share {
            share if share <= *BINDS.end() => format!("{flag}: {:.0} % of what it allows were used", share * 100.0),
            // What it held goes at once when the run is stopped.
            _ => format!("{flag}, until the run was stopped"),
        };
        (share >= BINDS_FROM).then_some(Bound { by: "limit", because })
    }

    fn is_nfs(&self) -> bool {
        self.targets.iter().all(|target| target.is_nfs)
    }

    /// How long its calls took in all, by their medians, in microseconds.
    fn waiting(&self) -> f64 {
        let all = self.targets.iter().flat_map(|target| &target.procedures);
        all.map(|procedure| procedure.calls as f64 * procedure.p50_us.unwrap_or(0) as f64).sum()
    }

    fn ceiling(&self, ceiling: Ceiling) -> Option<Bound> {
        if !self.is_nfs() {
            return None;
        }
        let (iops, bandwidth, each) = (self.iops / ceiling.iops, self.bytes / ceiling.bytes_per_s, &self.each);
        if BINDS.contains(&iops) {
            let ceiling = grouped(ceiling.iops as u64);
            let because = format!("the IOPS ceiling of {each}: {:.0} % of {ceiling} IOPS each were used", iops * 100.0);
            return Some(Bound { by: "iops", because });
        }
        if BINDS.contains(&bandwidth) {
            let ceiling = ceiling.bytes_per_s / 1e6;
            let because = format!(
                "the bandwidth ceiling of {each}: {:.0} % of {ceiling:.0} MB/s each were used",
                bandwidth * 100.0
            );
            return Some(Bound { by: "bandwidth", because });
        }
        None
    }
}

/// What bound a run, from its figures.
pub fn bound(targets: &[TargetReport], flow: Flow, ceiling: Ceiling, elapsed: Duration) -> Bound {
    // A target that went away is no measure of what the others gave.
    let left: Vec<&TargetReport> = targets.iter().filter(|target| !target.gone).collect();
    let targets = if left.is_empty() { targets.iter().collect() } else { left };
    let roles = [None, Some(Role::Destination), Some(Role::Source)];
    let groups: Vec<Group<'_>> = roles.into_iter().filter_map(|role| Group::new(role, &targets)).collect();
    if let Some(bound) = groups.iter().find_map(|group| group.limit(&flow)) {
        return bound;
    }
    if let Some(bound) = groups.iter().find_map(|group| group.ceiling(ceiling)) {
        return bound;
    }
    if flow.source_wait >= SOURCE_BINDS_FROM && flow.storage_wait < STORAGE_BINDS_FROM {
        let because = format!(
            "reading and decoding the archive: the lanes waited for it {:.0} % of the time",
            flow.source_wait * 100.0
        );
        return Bound { by: "source", because };
    }
    let slowest = groups.iter().max_by(|a, b| a.waiting().total_cmp(&b.waiting()));
    let share = slowest.filter(|group| group.is_nfs()).map(|group| group.iops / ceiling.iops);
    let waited_for = slowest.map_or(&targets, |group| &group.targets);
    bound_by_latency(waited_for, flow, share, elapsed)
}

/// By the targets of the role that was waited for longest. The median latency is that of the procedure with the most calls, at the slowest
/// target; `share` is that of the IOPS ceiling, where there is one.
fn bound_by_latency(targets: &[&TargetReport], flow: Flow, share: Option<f64>, elapsed: Duration) -> Bound {
    let all = || targets.iter().flat_map(|t| &t.procedures);
    let role = targets.first().and_then(|target| target.role).map(Role::name);
    let who = role.map_or(String::new(), |role| format!(" to the {role}"));
    let calls: u64 = all().map(|p| p.calls).sum();
    let per_s = calls as f64 / elapsed.as_secs_f64().max(1e-9);
    let median_ms = all().max_by_key(|p| p.calls).and_then(|p| p.p50_us).unwrap_or(0) as f64 / 1000.0;
    let idle_ms = targets.iter().filter_map(|t| t.idle_us).min().map(|us| us as f64 / 1000.0);
    if let Some(idle_ms) = idle_ms.filter(|idle| median_ms > QUEUES_FROM.0 * idle + QUEUES_FROM.1) {
        let because = format!(
            "the {}targets: they answered {} calls a second, at a median of {median_ms:.2} ms, where one call alone took \
             {idle_ms:.2} ms, so calls queued there ({:.0} % of the IOPS ceiling); more targets help, more lanes do not",
            role.map_or(String::new(), |role| format!("{role}'s ")),
            grouped(per_s as u64),
            share.unwrap_or(0.0) * 100.0
        );
        return Bound { by: "target", because };
    }
    let (share, more) = match share {
        Some(share) if share <= *BINDS.end() => {
            (format!(" ({:.0} % of the IOPS ceiling)", share * 100.0), " or targets")
        }
        _ => Default::default(),
    };
    let because = format!(
        "latency: {} lanes with up to {} calls each in flight made {} calls a second{who}, at a median of \
         {median_ms:.2} ms{share}; more lanes (-P){more} help until the latency rises",
        flow.shape.lanes,
        flow.shape.window,
        grouped(per_s as u64),
    );
    Bound { by: "latency", because }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Proc;
    use crate::cli::meter::tests::meter;

    const SECOND: Duration = Duration::from_secs(1);
    const FLOW: Flow =
        Flow { source_wait: 0.0, storage_wait: 0.0, shape: Shape { lanes: 16, window: 4 }, held: None, bwlimit: None };

    fn target(calls: u64, proc: Proc, bytes: u64) -> TargetReport {
        meter(calls, proc, bytes).report(SECOND, Ceiling::oci())
    }

    fn bound_by(flow: Flow, calls: u64, proc: Proc, bytes: u64) -> &'static str {
        bound(&[target(calls, proc, bytes)], flow, Ceiling::oci(), SECOND).by
    }

    #[test]
    fn what_bound_the_run_follows_from_the_figures() {
        assert_eq!(bound_by(FLOW, 11_000, Proc::Create, 0), "iops");
        // WRITEs of any size reach the IOPS ceiling first; READs of 1 MiB do not.
        assert_eq!(bound_by(FLOW, 900, Proc::Read, 1 << 20), "bandwidth");
        assert_eq!(bound_by(Flow { source_wait: 0.5, ..FLOW }, 1_000, Proc::Create, 0), "source");
        assert_eq!(bound_by(Flow { source_wait: 0.1, ..FLOW }, 1_000, Proc::Create, 0), "latency");
        let held = Some(Ceiling { iops: 4_000.0, bytes_per_s: f64::INFINITY, latency: Duration::ZERO });
        assert_eq!(bound_by(Flow { source_wait: 0.5, held, ..FLOW }, 900, Proc::Create, 0), "limit");
        assert_eq!(bound_by(Flow { source_wait: 0.5, held, ..FLOW }, 500, Proc::Create, 0), "source");
    }

    #[test]
    fn a_target_that_answers_far_slower_than_when_idle_is_the_bound() {
        let by = |idle_us| {
            let mut target = target(1_000, Proc::Create, 0);
            target.procedures.iter_mut().for_each(|p| p.p50_us = Some(10_000));
            target.idle_us = idle_us;
            bound(&[target], Flow { storage_wait: 0.9, ..FLOW }, Ceiling::oci(), SECOND).by
        };
        assert_eq!((by(None), by(Some(5_000)), by(Some(1_000))), ("latency", "latency", "target"));
    }

    /// Many fast calls on a local source say nothing of the export that is written to.
    #[test]
    fn latency_is_that_of_the_side_that_was_waited_for() {
        let side = |role, key: &str, calls, us| {
            let mut side = TargetReport { role: Some(role), key: key.into(), ..target(calls, Proc::Create, 0) };
            side.procedures.iter_mut().for_each(|p| p.p50_us = Some(us));
            side
        };
        let by = |us| {
            let sides = [side(Role::Source, "a", 2_000, 10), side(Role::Destination, "b", 1_000, us)];
            bound(&sides, FLOW, Ceiling::oci(), SECOND).because
        };
        assert!(
            by(34_800).contains("made 1,000 calls a second to the destination, at a median of 34.80 ms"),
            "{}",
            by(34_800)
        );
        assert!(by(1).contains("made 2,000 calls a second to the source, at a median of 0.01 ms"), "{}", by(1));
    }

    #[test]
    fn a_local_directory_has_no_ceiling_and_a_gone_target_does_not_count() {
        let bound = |targets: &[TargetReport]| bound(targets, FLOW, Ceiling::oci(), SECOND);
        let mut targets = vec![target(12_000, Proc::Create, 0)];
        targets[0].is_nfs = false;
        let local = bound(&targets);
        assert_eq!(local.by, "latency");
        assert!(!local.because.contains("ceiling"), "{}", local.because);
        targets = ["a", "b"].map(|key| TargetReport { key: key.into(), ..target(12_000, Proc::Create, 0) }).into();
        targets[1] = TargetReport { key: "b".into(), ..target(10, Proc::Create, 0) };
        assert_eq!(bound(&targets).by, "latency");
        targets[1].gone = true;
        assert_eq!(bound(&targets).by, "iops");
        targets[0].gone = true;
        assert_eq!(bound(&targets).by, "latency");
        // Faster than any mount target: it has no such ceiling either.
        assert!(!bound(&[target(50_000, Proc::Create, 0)]).because.contains("ceiling"));
    }

    #[test]
    fn a_target_of_both_sides_has_one_ceiling_and_others_are_judged_by_their_side() {
        let side = |role, key: &str, calls, is_nfs| TargetReport {
            role: Some(role),
            key: key.into(),
            is_nfs,
            ..target(calls, Proc::Create, 0)
        };
        let bound = |targets: &[TargetReport], flow| bound(targets, flow, Ceiling::oci(), SECOND);
        let both = [side(Role::Source, "a", 6_000, true), side(Role::Destination, "a", 6_000, true)];
        assert_eq!(bound(&both, FLOW).by, "iops");
        let apart = [side(Role::Source, "a", 6_000, true), side(Role::Destination, "b", 6_000, true)];
        assert_eq!(bound(&apart, FLOW).by, "latency");
        let one = [side(Role::Source, "a", 90_000, false), side(Role::Destination, "b", 12_000, true)];
        let by = bound(&one, FLOW);
        assert!(by.because.contains("the destination's target"), "{by:?}");
        let mut written = one;
        written[1] = TargetReport { bytes_per_s: 90.0, ..written[1].clone() };
        assert_eq!(bound(&written, Flow { bwlimit: Some(100.0), ..FLOW }).by, "limit");
        assert_eq!(bound(&written, Flow { bwlimit: Some(200.0), ..FLOW }).by, "iops");
    }
}
