//! How long a job takes on any number of mount targets, from what a rehearsal of it asked.
//!
//! Six things bound a job, each with the time that it alone would make it last: a target's IOPS, its bandwidth, the round trips that
//! lanes wait for, the longest chain of calls, the lock that a kernel's mount holds on a directory,
//! and what it was asked to stay below. The slowest one binds; at the
//! job's two ends, where lanes have not yet or no longer something to do, a chain's time is added. What this host's processors take
//! is left out.

use std::time::Duration;

use crate::base::price::Ceiling;
use crate::base::{PriceList, Proc};
use crate::storage::Tally;
use crate::storage::volume::{LANES_SUGGESTED_MAX, LATE_LANES_MAX};

use super::course::Seen;

/// Round trips at a job's beginning and end in which the lanes are not busy, at most: the first listing or header, the first
/// file's calls, the last ones and their directory's.
const EDGES_MAX: u64 = 8;

/// Changes of one directory for each mount, from which lanes go to more mounts than one: fewer are a few lanes' work.
const SHARED_FROM: u64 = 64;

/// One side of a job: the source, the destination, or the only one.
#[derive(Clone, Debug)]
pub struct Side {
    /// `source`, `destination`, or none where there is one side only.
    pub role: Option<&'static str>,
    /// The targets, with commas between them: sides of which one names a target of the other share what it gives.
    pub key: String,
    /// Mounts or targets that the rehearsal went through.
    pub mounts: usize,
    /// The procedures that would be issued.
    pub tally: Tally,
    /// Round trips, chains, changes of one directory.
    pub seen: Seen,
    /// A mount target answers: direct NFS, or a kernel's NFS mount.
    pub is_nfs: bool,
    /// A kernel's mount: a directory takes one change at a time.
    pub is_locked: bool,
    /// Answer time of an idle target.
    pub latency: Duration,
    /// Lanes that one target is driven with.
    pub lanes: usize,
}

impl Side {
    fn targets(&self) -> Vec<&str> {
        self.key.split(',').collect()
    }

    /// Mounts on so many targets: of one there may be several of a kernel's, each with locks and lanes of its own.
    fn mounts_on(&self, targets: usize) -> usize {
        let each = if self.is_locked { (self.mounts / self.targets().len()).max(1) } else { 1 };
        targets.max(1) * each
    }

    /// Round trips of the longest chain of calls that also wait for each other at locks of directories, each of which `mounts` mounts
    /// have. A directory that some lanes meet in keeps its mount; where many do, they share out what waits. Names are removed so
    /// through more than two mounts only, and looked up before, under the lock, for the others' changes made each mount forget them.
    fn locked_rounds(&self, mounts: u64) -> u64 {
        let count = |procs: &[Proc]| procs.iter().map(|&proc| self.tally.get(proc).calls).sum::<u64>();
        let removes =
            count(&[Proc::Remove, Proc::RmDir]) > count(&[Proc::Create, Proc::MkDir, Proc::Symlink, Proc::Link]);
        let share = match mounts {
            _ if self.seen.busiest < SHARED_FROM * mounts => 1.0,
            0..=2 if removes => 1.0,
            _ if removes => 2.0 / mounts as f64,
            _ => 1.0 / mounts as f64,
        };
        let waits = self.seen.locked.saturating_sub(self.seen.chain);
        self.seen.chain.min(self.seen.locked) + (waits as f64 * share) as u64
    }
}

/// What bounds a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Bound {
    Iops,
    ReadBandwidth,
    WriteBandwidth,
    /// Lanes and windows over the latency.
    Latency,
    /// Calls that need each other's answers.
    Chain,
    /// One directory's lock in a kernel's mounts.
    Lock,
    /// What the run was asked to stay below.
    Limit,
}

impl Bound {
    /// For people and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Bound::Iops => "IOPS",
            Bound::ReadBandwidth => "read bandwidth",
            Bound::WriteBandwidth => "write bandwidth",
            Bound::Latency => "latency x lanes",
            Bound::Chain => "longest chain",
            Bound::Lock => "directory lock",
            Bound::Limit => "limit asked for",
        }
    }
}

/// A job on so many targets.
#[derive(Clone, Debug)]
pub struct Point {
    /// Mount targets of each side, of the one that has the most where that differs.
    pub targets: usize,
    /// Lanes of the run.
    pub lanes: usize,
    /// How long it takes.
    pub seconds: f64,
    /// What binds; none where nothing is asked of any target.
    pub bound: Option<Bound>,
    /// The seconds that each bound alone would take, the longest first.
    pub alone: Vec<(Bound, f64)>,
    /// Priced IOPS a second of the busiest target.
    pub iops_per_s: f64,
    /// Payload bytes a second of the busiest target.
    pub bytes_per_s: f64,
}

/// What a run is to stay below.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    /// Each target, in IOPS of OCI's list, whatever its own prices are, and in bytes.
    pub target: Option<Ceiling>,
    /// Bytes a second that are written to the destination, on all its targets together.
    pub written_per_s: Option<f64>,
}

/// How many mount targets a side is to have.
pub type Number<'a> = &'a dyn Fn(&Side) -> usize;

/// How long a rehearsal took in its own time, in which targets answer as they would: where its sides have the targets they were opened
/// with.
#[derive(Clone, Debug)]
pub enum Timed {
    /// The whole job, in seconds.
    Whole(f64),
    /// As far as time was followed: half of that, and all. With the sides as they were then.
    Part([(f64, Vec<Side>); 2]),
}

impl Timed {
    /// Where not all was followed, lanes took what there was without waiting, in windows of another size than they would: the round trips of
    /// what was not followed are as many for each call as in the second half of what was.
    pub fn settle(&self, sides: &mut [Side]) {
        let Timed::Part([half, all]) = self else { return };
        for side in sides {
            let then = |part: &(f64, Vec<Side>)| {
                let there = part.1.iter().find(|there| (there.role, &there.key) == (side.role, &side.key))?;
                Some((there.tally.calls(), there.seen.rounds))
            };
            let (Some(half), Some(all)) = (then(half), then(all)) else { continue };
            let more = side.tally.calls().saturating_sub(all.0) as f64;
            let each = all.1.saturating_sub(half.1) as f64 / all.0.saturating_sub(half.0).max(1) as f64;
            side.seen.rounds = all.1 + (more * each) as u64;
        }
    }
}

/// What a rehearsal found.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its sides.
    pub sides: Vec<Side>,
    /// Lanes asked for; else they grow with the targets.
    pub lanes: Option<usize>,
    /// What it is to stay below.
    pub held: Held,
    /// How long the rehearsal took.
    pub timed: Option<Timed>,
    /// What a target charges.
    pub price: PriceList,
    /// What a target gives.
    pub ceiling: Ceiling,
}

/// What the targets of one side, or of two that have some in common, do.
#[derive(Clone, Copy, Default)]
struct Load {
    /// By OCI's list, which limits are about.
    price_oci: u64,
    is_nfs: bool,
    /// How many targets do it; a local side is one, however many the others are.
    targets: f64,
    price: u64,
    read: u64,
    written: u64,
}

impl Job {
    fn nfs(&self) -> impl Iterator<Item = &Side> {
        self.sides.iter().filter(|side| side.is_nfs)
    }

    /// By groups of sides that have targets in common, all of them or some. Where it is some, the group's load is spread over
    /// as many targets as each side has, the fewest where that differs, as if all were the same: those that are not in common have
    /// less to do.
    fn loads(&self, number: Number<'_>) -> Vec<Load> {
        let mut groups: Vec<(Vec<&str>, Load)> = Vec::new();
        for side in &self.sides {
            let mut load = Load {
                price_oci: side.tally.price(&PriceList::oci()),
                is_nfs: side.is_nfs,
                targets: if side.is_nfs { number(side).max(1) as f64 } else { 1.0 },
                price: side.tally.price(&self.price),
                read: side.tally.get(Proc::Read).bytes,
                written: side.tally.get(Proc::Write).bytes,
            };
            let mut targets = side.targets();
            let shared = |(there, other): &mut (Vec<&str>, Load)| {
                other.is_nfs == side.is_nfs && there.iter().any(|target| targets.contains(target))
            };
            let others: Vec<_> = groups.extract_if(.., shared).collect();
            for (more, other) in others {
                load.price_oci += other.price_oci;
                load.targets = load.targets.min(other.targets);
                load.price += other.price;
                load.read += other.read;
                load.written += other.written;
                targets.extend(more);
            }
            groups.push((targets, load));
        }
        groups.into_iter().map(|(_, load)| load).collect()
    }

    /// True when sides have some targets in common and others not: which the loads of each target do not show.
    pub fn overlaps_in_part(&self) -> bool {
        let sides: Vec<Vec<&str>> = self.nfs().map(Side::targets).collect();
        let in_part = |a: &[&str], b: &[&str]| {
            let common = a.iter().filter(|target| b.contains(target)).count();
            common > 0 && (common < a.len() || common < b.len())
        };
        sides.iter().enumerate().any(|(i, a)| sides[..i].iter().any(|b| in_part(a, b)))
    }

    /// The time that what it is to stay below makes it last.
    fn limit_s(&self, loads: &[Load]) -> f64 {
        let each = self.held.target.map_or(0.0, |ceiling| {
            let load = |load: &Load| {
                let bytes = (load.read + load.written) as f64;
                (load.price_oci as f64 / ceiling.iops).max(bytes / ceiling.bytes_per_s) / load.targets
            };
            loads.iter().map(load).fold(0.0, f64::max)
        });
        let written = self.sides.iter().filter(|side| side.role != Some("source"));
        let written: u64 = written.map(|side| side.tally.get(Proc::Write).bytes).sum();
        each.max(self.held.written_per_s.map_or(0.0, |rate| written as f64 / rate))
    }

    /// Lanes on so many targets: two exports wait for each other's answers, a local side does not add to that. Of several mounts
    /// of a kernel a run takes no more than its client carries, and of many targets no more than a host does.
    fn lanes_on(&self, number: Number<'_>) -> usize {
        let of = |side: &Side| {
            let mounts = side.mounts_on(number(side));
            let all = side.lanes * mounts;
            all.min(if side.is_locked && mounts > 1 { LATE_LANES_MAX } else { LANES_SUGGESTED_MAX })
        };
        let all = self.nfs().map(of).reduce(|a, b| a + b);
        let local = || self.sides.iter().map(number).max();
        self.lanes.or(all).or_else(local).unwrap_or(1).max(1)
    }

    /// The time of one call after the other with nothing else in flight, as tar, cp and rm make them, in seconds: each waits for a
    /// round trip, and for its share of the ceiling.
    pub fn serial_s(&self) -> f64 {
        let side = |side: &Side| {
            let served = side.tally.price(&self.price) as f64 / self.ceiling.iops;
            let sent = side.tally.bytes() as f64 / self.ceiling.bytes_per_s;
            side.tally.calls() as f64 * side.latency.as_secs_f64() + served.max(sent)
        };
        // No side at all takes 0 s, not the -0 of an empty sum.
        self.nfs().map(side).fold(0.0, |all, one| all + one)
    }

    /// The job on `targets` mount targets of each side.
    pub fn on(&self, targets: usize) -> Point {
        Point { targets, ..self.on_each(&|_| targets) }
    }

    /// The job on as many mount targets of each side as `number` says.
    pub fn on_each(&self, number: Number<'_>) -> Point {
        let bounds = self.bounds(number);
        let (bound, longest) = bounds.alone[0];
        let seconds = self.timed_s(number, &bounds).unwrap_or_else(|| bounds.seconds());
        let per_s = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
        Point {
            targets: self.nfs().map(number).max().unwrap_or(1),
            lanes: bounds.lanes,
            seconds,
            bound: (longest > 0.0).then_some(bound),
            iops_per_s: per_s(bounds.price),
            bytes_per_s: per_s(bounds.bytes),
            alone: bounds.alone,
        }
    }

    /// What bounds the job there.
    fn bounds(&self, number: Number<'_>) -> Bounds {
        let lanes = self.lanes_on(number);
        let loads = self.loads(number);
        let limit = self.limit_s(&loads);
        let loads: Vec<Load> = loads.into_iter().filter(|load| load.is_nfs).collect();
        // Of the busiest target.
        let price = loads.iter().map(|load| load.price as f64 / load.targets).fold(0.0, f64::max);
        let moved = |load: &Load| (load.read + load.written) as f64 / load.targets;
        let bytes = loads.iter().map(moved).fold(0.0, f64::max);
        let reads = loads.iter().max_by(|a, b| moved(a).total_cmp(&moved(b))).is_some_and(|l| l.read > l.written);
        let over = |figure: &dyn Fn(&Side) -> u64| -> f64 {
            self.nfs().map(|side| figure(side) as f64 * side.latency.as_secs_f64()).fold(0.0, |all, one| all + one)
        };
        let lock =
            over(&|side| if side.is_locked { side.locked_rounds(side.mounts_on(number(side)) as u64) } else { 0 });
        let mut alone = vec![
            (Bound::Iops, price / self.ceiling.iops),
            (if reads { Bound::ReadBandwidth } else { Bound::WriteBandwidth }, bytes / self.ceiling.bytes_per_s),
            (Bound::Latency, over(&|side| side.seen.rounds) / lanes as f64),
            (Bound::Chain, over(&|side| side.seen.chain)),
            (Bound::Lock, lock),
            (Bound::Limit, limit),
        ];
        alone.sort_by(|a, b| b.1.total_cmp(&a.1));
        Bounds { lanes, price, bytes, alone, edges: over(&|side| side.seen.chain.min(EDGES_MAX)) }
    }

    /// The same from how long the rehearsal took, if that is known: on its own targets that is it; on others as much longer than what
    /// binds there.
    fn timed_s(&self, number: Number<'_>, there: &Bounds) -> Option<f64> {
        let own: Number<'_> = &|side| side.targets().len();
        let here = self.bounds(own);
        let took = match self.timed.as_ref()? {
            Timed::Whole(seconds) => *seconds,
            Timed::Part(parts) => self.goes_on(&here, parts)?.max(here.seconds()),
        };
        if self.nfs().all(|side| number(side) == own(side)) {
            return Some(took.max(there.of(Bound::Limit)));
        }
        let more = (took - here.seconds()).max(0.0);
        // What a chain waits for besides is no less with more targets.
        if here.alone[0].0 == Bound::Chain {
            return Some(there.seconds() + more);
        }
        let rate = 1.0 + more / here.alone[0].1.max(f64::MIN_POSITIVE);
        Some((there.steady() * rate + there.edges).max(there.seconds()))
    }

    /// What was not followed goes on as the second half of what was.
    fn goes_on(&self, here: &Bounds, [half, all]: &[(f64, Vec<Side>); 2]) -> Option<f64> {
        let own: Number<'_> = &|side| side.targets().len();
        let then = |sides: &Vec<Side>| Job { sides: sides.clone(), timed: None, ..self.clone() }.bounds(own).alone[0].1;
        let (before, after) = (then(&half.1), then(&all.1));
        let rate = (after > before).then(|| (all.0 - half.0) / (after - before))?;
        Some(all.0 + (here.alone[0].1 - after).max(0.0) * rate.max(1.0))
    }
}

/// What bounds a job on so many targets.
struct Bounds {
    lanes: usize,
    /// Of the busiest target.
    price: f64,
    bytes: f64,
    /// The seconds that each bound alone would take, the longest first.
    alone: Vec<(Bound, f64)>,
    /// And at its two ends.
    edges: f64,
}

impl Bounds {
    fn of(&self, bound: Bound) -> f64 {
        self.alone.iter().find(|(is, _)| *is == bound).map_or(0.0, |(_, seconds)| *seconds)
    }

    /// The longest that becomes less with more targets.
    fn steady(&self) -> f64 {
        let steady = self.alone.iter().find(|(is, _)| *is != Bound::Chain);
        steady.map_or(0.0, |(_, seconds)| *seconds)
    }

    fn seconds(&self) -> f64 {
        let (bound, longest) = self.alone[0];
        longest + if matches!(bound, Bound::Chain | Bound::Lock) { 0.0 } else { self.edges }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(calls: &[(Proc, u64, u64)], rounds: u64, chain: u64) -> Job {
        let mut tally = Tally::default();
        for &(proc, count, bytes) in calls {
            (0..count).for_each(|_| tally.count(proc, bytes, false));
        }
        let side = Side {
            role: None,
            key: "a".into(),
            mounts: 1,
            tally,
            seen: Seen { rounds, chain, busiest: 1000, ..Seen::default() },
            is_nfs: true,
            is_locked: false,
            latency: Duration::from_millis(1),
            lanes: 16,
        };
        Job {
            sides: vec![side],
            lanes: None,
            held: Held::default(),
            timed: None,
            price: PriceList::oci(),
            ceiling: Ceiling::oci(),
        }
    }

    #[test]
    fn the_slowest_bound_binds() {
        let bound = |job: &Job, n| job.on(n).bound.map(Bound::name);
        // 10,000 files at 10 IOPS, three windows for four of them.
        let files = [(Proc::Create, 10_000, 0), (Proc::Write, 10_000, 16 << 10), (Proc::SetAttr, 10_000, 0)];
        let small = job(&files, 7_500, 5);
        assert_eq!(bound(&small, 1), Some("IOPS"));
        assert!((small.on(1).seconds - 2.005).abs() < 1e-9);
        assert!((small.on(4).seconds - 0.505).abs() < 1e-9);
        assert!((small.serial_s() - 32.0).abs() < 1e-9);
        let few = Job { lanes: Some(2), ..small.clone() };
        assert_eq!((bound(&few, 1), few.on(1).lanes), (Some("latency x lanes"), 2));
        assert!((few.on(8).seconds - 3.755).abs() < 1e-9);
        let big = job(&[(Proc::Read, 1000, 1 << 20)], 250, 3);
        assert_eq!(bound(&big, 1), Some("read bandwidth"));
        assert!((big.on(2).seconds - 0.5274).abs() < 1e-3);
        assert_eq!(bound(&job(&[(Proc::MkDir, 1000, 0)], 1000, 1000), 8), Some("longest chain"));
        let mut locked = job(&[(Proc::Remove, 1000, 0)], 250, 2);
        (locked.sides[0].is_locked, locked.sides[0].seen.locked) = (true, 1_000);
        assert_eq!(bound(&locked, 2), Some("directory lock"));
        assert_eq!(bound(&job(&[], 0, 0), 1), None);
    }

    #[test]
    fn locks_are_shared_by_mounts_where_many_lanes_meet() {
        let lock = |proc, (busiest, mounts): (u64, usize), targets: usize| {
            let mut job = job(&[(proc, 1000, 0)], 1, 10);
            let side = &mut job.sides[0];
            (side.is_locked, side.mounts, side.seen.busiest, side.seen.locked) = (true, mounts, busiest, 1_010);
            let point = job.on(targets);
            let (_, seconds) = point.alone.into_iter().find(|(bound, _)| *bound == Bound::Lock).unwrap();
            (seconds * 1e3).round() as u64
        };
        // 10 that wait for each other's answers, 1,000 that wait at a lock.
        assert_eq!([1, 2, 4, 8].map(|n| lock(Proc::Create, (1_000, 1), n)), [1_010, 510, 260, 135]);
        // Names that another mount removed something beside are looked up again.
        assert_eq!([1, 2, 4, 8].map(|n| lock(Proc::Remove, (1_000, 1), n)), [1_010, 1_010, 510, 260]);
        // Of one target there may be several mounts.
        assert_eq!(lock(Proc::Create, (1_000, 4), 1), 260);
        // A few lanes' directory keeps its mount.
        assert_eq!(lock(Proc::Create, (100, 1), 4), 1_010);
    }

    #[test]
    fn sides_on_the_same_targets_share_their_ceiling_and_a_local_side_has_none() {
        let mut copy = job(&[(Proc::Read, 1000, 4096)], 1000, 3);
        let mut target = job(&[(Proc::Create, 1000, 0)], 250, 3).sides.remove(0);
        let iops = |job: &Job| job.on(1).alone.iter().find(|(bound, _)| *bound == Bound::Iops).unwrap().1;
        copy.sides.push(target.clone());
        assert!((iops(&copy) - 6_000.0 / 50_000.0).abs() < 1e-9);
        target.key = "b".into();
        copy.sides[1] = target.clone();
        assert!((iops(&copy) - 4_000.0 / 50_000.0).abs() < 1e-9);
        assert_eq!(copy.on(2).lanes, 64);
        assert!(!copy.overlaps_in_part());
        target.key = "a,b".into();
        copy.sides[1] = target.clone();
        assert!((iops(&copy) - 6_000.0 / 50_000.0).abs() < 1e-9 && copy.overlaps_in_part());
        // A third one that is on targets of both makes one of them.
        let third = |key: &str| Side { key: key.into(), ..target.clone() };
        let apart = Job { sides: vec![third("a"), third("b"), third("b,a")], ..copy.clone() };
        assert!((iops(&apart) - 12_000.0 / 50_000.0).abs() < 1e-9);
        assert!(!Job { sides: vec![third("a,b"), third("a,b"), third("c")], ..copy.clone() }.overlaps_in_part());
        // Of the targets of each side by its own number, the busier one's time.
        target.key = "b".into();
        (copy.sides[0].role, target.role) = (Some("source"), Some("destination"));
        copy.sides[1] = target.clone();
        let each = copy.on_each(&|side| if side.role == Some("source") { 4 } else { 1 });
        let iops = |point: &Point| point.alone.iter().find(|(bound, _)| *bound == Bound::Iops).unwrap().1;
        assert!((iops(&each) - 4_000.0 / 50_000.0).abs() < 1e-9);
        assert_eq!((each.targets, each.lanes, copy.on(4).lanes), (4, 80, 128));
        target.is_nfs = false;
        copy.sides[1] = target;
        let iops = |job: &Job| iops(&job.on(1));
        assert!((iops(&copy) - 2_000.0 / 50_000.0).abs() < 1e-9);
        assert_eq!(copy.on(2).lanes, 32);
    }

    #[test]
    fn what_a_run_is_to_stay_below_binds_it() {
        // 8,000 IOPS and 4 MB at 1,000 IOPS, or 1 MB/s, of each target.
        let mut held = job(&[(Proc::Create, 1_000, 0), (Proc::Write, 1_000, 4_000)], 500, 3);
        let is = |job: &Job, n: usize| (job.on(n).bound, job.on(n).alone[0].1);
        let price = held.sides[0].tally.price(&PriceList::oci()) as f64;
        let ceiling = |iops, bytes_per_s| Some(Ceiling { iops, bytes_per_s, latency: Duration::ZERO });
        held.held.target = ceiling(1_000.0, f64::INFINITY);
        assert_eq!(is(&held, 1), (Some(Bound::Limit), price / 1_000.0));
        assert_eq!(is(&held, 4), (Some(Bound::Limit), price / 4_000.0));
        // A profile's prices are not those that the limit is about.
        let dear = Job { price: PriceList::new([9; Proc::COUNT], 0, 0), ..held.clone() };
        assert_eq!(is(&dear, 1), (Some(Bound::Limit), price / 1_000.0));
        held.held.target = ceiling(f64::INFINITY, 1e6);
        assert_eq!(is(&held, 2), (Some(Bound::Limit), 2.0));
        held.held = Held { target: None, written_per_s: Some(1e6) };
        assert_eq!(is(&held, 2), (Some(Bound::Limit), 4.0));
        held.sides[0].role = Some("source");
        assert_ne!(is(&held, 2).0, Some(Bound::Limit));
    }

    #[test]
    fn a_rehearsal_that_took_its_time_says_how_long_it_is() {
        // 10,000 files: 2 s at the ceiling of one target; 0.47 s of round trips, the longest chain 5 ms.
        let files = [(Proc::Create, 10_000, 0), (Proc::Write, 10_000, 16 << 10), (Proc::SetAttr, 10_000, 0)];
        let plain = job(&files, 7_500, 5);
        let timed = Job { timed: Some(Timed::Whole(2.205)), ..plain.clone() };
        let seconds = |job: &Job, n| (job.on(n).seconds * 1e3).round();
        assert_eq!((seconds(&plain, 1), seconds(&timed, 1)), (2_005.0, 2_205.0));
        // A tenth longer than what binds, on others too: 0.25 s and the ends.
        assert_eq!((seconds(&plain, 8), seconds(&timed, 8)), (255.0, 280.0));
        // What it is to stay below it did not know of.
        let held = Some(Ceiling { iops: 10_000.0, bytes_per_s: f64::INFINITY, latency: Duration::ZERO });
        let held = Job { held: Held { target: held, written_per_s: None }, ..timed.clone() };
        assert_eq!(seconds(&held, 1), 10_000.0);
        // Where a chain binds, more targets change nothing.
        let mut chain = Job { timed: Some(Timed::Whole(3.0)), ..plain.clone() };
        chain.sides[0].seen.chain = 2_500;
        assert_eq!([1, 8].map(|n| seconds(&chain, n)), [3_000.0, 3_000.0]);
        // Of 1,000 files half is followed, and took 0.3 s, the second half of that a quarter longer than what binds it.
        let part = |times: u64, rounds| {
            job(&[(Proc::Create, 1_000 * times, 0), (Proc::SetAttr, 1_000 * times, 0)], rounds, 5).sides
        };
        let (half, all) = ((0.13, part(1, 1_000)), (0.28, part(2, 2_000)));
        let mut on = job(&[(Proc::Create, 10_000, 0), (Proc::SetAttr, 10_000, 0)], 20_000, 5);
        let timed = Timed::Part([half, all]);
        timed.settle(&mut on.sides);
        assert_eq!(on.sides[0].seen.rounds, 10_000);
        on.timed = Some(timed);
        // 1.2 s of IOPS, 0.24 of them followed; 0.96 s in 1.2.
        assert_eq!(seconds(&on, 1), 280.0 + 1_200.0);
    }

    #[test]
    fn lanes_over_a_kernels_mounts_are_what_a_volume_takes() {
        let mut kernel = job(&[(Proc::Remove, 1000, 0)], 250, 2);
        kernel.sides[0].lanes = 64;
        assert_eq!([8, 9, 1024].map(|n| kernel.on(n).lanes), [512; 3]);
        kernel.sides[0].is_locked = true;
        assert_eq!([1, 2, 8].map(|n| kernel.on(n).lanes), [64, 128, 256]);
    }
}
