//! `--watch`: what this host sends to each target now, priced, against the target's ceilings.
//!
//! It promises: counters are read once a second and nothing else. Left out: what other hosts send to the same targets; a
//! target's own metrics have that.

use std::time::{Duration, Instant};

use crate::base::price::Ceiling;
use crate::base::units::{bytes_shown, grouped};
use crate::base::{PriceList, Proc};
use crate::cli::kernel::price_sent;
use crate::crew::Stop;
use crate::mounts::local::peers::mountstats::{self, Counts};

use super::counted::total;
use super::finding::{Finding, Severity, Subject};
use super::nfs::{Client, Clients};
use super::root::Root;

/// The share of a ceiling to be told of: OCI advises an alarm at 80 % of the IOPS.
const ALARM: f64 = 0.8;

/// How often a stop is looked for while nothing is read.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How often counters are read.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);

/// Seconds that make a peak; what is left at the end may be a moment.
const PEAK_OF_S_MIN: f64 = 0.5;

/// Procedures that a directory's lock is held for.
const LOCKED: [Proc; 8] =
    [Proc::Create, Proc::MkDir, Proc::Symlink, Proc::MkNod, Proc::Remove, Proc::RmDir, Proc::Rename, Proc::Link];

/// The counters of each superblock, in the order of the clients.
type Sample = Vec<Option<Counts>>;

/// What went to one target.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Rates {
    /// Priced, in the mean.
    iops: f64,
    /// In the second with most.
    iops_peak: f64,
    /// READ and WRITE together, in the mean.
    bytes_per_s: f64,
    /// In the second with most.
    bytes_per_s_peak: f64,
    /// Requests, in the mean.
    requests_per_s: f64,
    /// Creates, removes and renames in flight at once, in the mean: their number times their round trip.
    locked_in_flight: f64,
}

/// Mounts watched, target by target.
struct Watch<'a> {
    clients: &'a Clients,
    targets: Vec<(String, Vec<usize>)>,
    rates: Vec<Rates>,
    seconds: f64,
    last: Sample,
    /// Which had counters at any time.
    seen: Vec<bool>,
}

/// None where the counters cannot be read, which says nothing of a mount.
fn sample(root: &Root, clients: &Clients) -> Option<Sample> {
    let counts = mountstats::parse(&root.read("/proc/self/mountstats", "what the mounts send")?);
    let of = |client: &Client| counts.iter().rfind(|counts| counts.point == client.entry.point).cloned();
    Some(clients.all.iter().map(of).collect())
}

/// Prices of what came between two readings. A counter that went back, as of a mount made anew, counts as nothing.
fn between(before: &Counts, now: &Counts) -> (u64, u64, u64, u64) {
    let since = now.since(before);
    let list = PriceList::oci();
    let price = |proc: Proc| match since.get(proc).calls {
        0..=0xffff_ffff => price_sent(&list, &since, proc),
        _ => 0, // 4,000 million in a second: no counter
    };
    let iops = Proc::ALL.into_iter().filter(|proc| proc.is_nfs3()).map(price).fold(0, u64::saturating_add);
    let locked_ms = LOCKED.iter().fold(0u64, |sum, proc| sum.saturating_add(since.get(*proc).rtt_ms));
    (iops, since.read_bytes.saturating_add(since.write_bytes), total(&since).calls, locked_ms)
}

impl<'a> Watch<'a> {
    /// Of these mounts, as they are now.
    fn new(clients: &'a Clients, first: Sample) -> Watch<'a> {
        let of = |target: &&str| {
            let mounts = clients.all.iter().enumerate().filter(|(_, client)| client.target() == *target);
            (target.to_string(), mounts.map(|(at, _)| at).collect())
        };
        let targets: Vec<(String, Vec<usize>)> = clients.targets().iter().map(of).collect();
        let rates = vec![Rates::default(); targets.len()];
        let seen = first.iter().map(Option::is_some).collect();
        Watch { clients, targets, rates, seconds: 0.0, last: first, seen }
    }

    /// Adds what was sent until `now`, `seconds` after the reading before.
    fn add(&mut self, now: Sample, seconds: f64) {
        if seconds <= 0.0 {
            return;
        }
        for ((_, mounts), rates) in self.targets.iter().zip(&mut self.rates) {
            let pairs = mounts.iter().filter_map(|at| Some((self.last[*at].as_ref()?, now[*at].as_ref()?)));
            let sum =
                pairs.map(|(before, now)| between(before, now)).fold((0, 0, 0, 0), |a: (u64, u64, u64, u64), b| {
                    (a.0.saturating_add(b.0), a.1.saturating_add(b.1), a.2.saturating_add(b.2), a.3.saturating_add(b.3))
                });
            let (iops, bytes) = (sum.0 as f64, sum.1 as f64);
            if seconds >= PEAK_OF_S_MIN {
                rates.iops_peak = rates.iops_peak.max(iops / seconds);
                rates.bytes_per_s_peak = rates.bytes_per_s_peak.max(bytes / seconds);
            }
            let mean = |so_far: f64, new: f64| (so_far * self.seconds + new) / (self.seconds + seconds);
            rates.iops = mean(rates.iops, iops);
            rates.bytes_per_s = mean(rates.bytes_per_s, bytes);
            rates.requests_per_s = mean(rates.requests_per_s, sum.2 as f64);
            rates.locked_in_flight = mean(rates.locked_in_flight, sum.3 as f64 / 1e3);
        }
        self.seconds += seconds;
        self.seen.iter_mut().zip(&now).for_each(|(seen, now)| *seen |= now.is_some());
        self.last = now;
    }

    /// What is known of each target; of one whose mounts have no counters that is said, and so it is of mounts that are gone since.
    fn subjects(&self, root: &Root) -> Vec<Subject> {
        let mut subjects = Vec::new();
        for ((target, mounts), rates) in self.targets.iter().zip(&self.rates) {
            for at in mounts.iter().filter(|at| self.seen[**at] && self.last[**at].is_none()) {
                let what = format!("mount {}", self.clients.all[*at].point());
                root.miss(&what, "Gone while it was watched", "what its target gets since");
            }
            if mounts.iter().any(|at| self.seen[*at]) {
                subjects.push(self.subject(target, mounts, *rates));
            } else {
                root.miss(&format!("target {target}"), "No counters of NFSv3", "how near it is to its ceilings");
            }
        }
        subjects
    }

    fn subject(&self, target: &str, mounts: &[usize], rates: Rates) -> Subject {
        let ceiling = Ceiling::oci();
        let mut subject = Subject::new("target", target, format!("Target {target}, watched for {:.0} s", self.seconds));
        let share = |rate: f64, most: f64| format!("{:.1} %", rate / most * 100.0);
        subject.fact("seconds", self.seconds, "");
        subject.fact("mounts", mounts.len(), "");
        let (iops, peak) = (rates.iops, rates.iops_peak);
        let shown = format!(
            "{} IOPS ({} of {}), at most {} ({}) in a second",
            grouped(iops as u64),
            share(iops, ceiling.iops),
            grouped(ceiling.iops as u64),
            grouped(peak as u64),
            share(peak, ceiling.iops)
        );
        subject.fact("iops", iops, shown);
        subject.fact("iops_peak", peak, "");
        let (bytes, peak) = (rates.bytes_per_s, rates.bytes_per_s_peak);
        let shown = format!(
            "{}/s ({} of {}), at most {}/s ({})",
            bytes_shown(bytes as u64),
            share(bytes, ceiling.bytes_per_s),
            bytes_shown(ceiling.bytes_per_s as u64),
            bytes_shown(peak as u64),
            share(peak, ceiling.bytes_per_s)
        );
        subject.fact("bytes_per_s", bytes, shown);
        subject.fact("bytes_per_s_peak", peak, "");
        subject.fact(
            "requests_per_s",
            rates.requests_per_s,
            format!("{} requests/s", grouped(rates.requests_per_s as u64)),
        );
        subject.fact("locked_in_flight", rates.locked_in_flight, "");
        let another = |at: &usize| {
            let client = &self.clients.all[*at];
            let source = [b"SECOND_TARGET:", &client.export.path[..]].concat();
            client.beside(&source, &self.clients.point_beside(client, 2), true)
        };
        let another = mounts.first().map(another);
        let another = another.as_deref();
        subject.findings.extend(near("iops_ceiling", [rates.iops, rates.iops_peak], ceiling.iops, ("IOPS", another)));
        let bytes = [rates.bytes_per_s, rates.bytes_per_s_peak];
        subject.findings.extend(near("bandwidth_ceiling", bytes, ceiling.bytes_per_s, ("bytes/s", another)));
        locked(rates, &mut subject);
        subject
    }
}

/// A finding when a rate, in the mean or in one second, is near its ceiling. `of`: its unit, and the command that mounts the export once more.
fn near(check: &'static str, rates: [f64; 2], ceiling: f64, of: (&str, Option<&str>)) -> Option<Finding> {
    let ([mean, peak], (unit, another)) = (rates, of);
    if peak < ALARM * ceiling {
        return None;
    }
    Some(Finding {
        check,
        severity: Severity::Warning,
        found: format!(
            "{} {unit} in the mean, {} in the second with most: {:.0} % and {:.0} % of {}",
            grouped(mean as u64),
            grouped(peak as u64),
            mean / ceiling * 100.0,
            peak / ceiling * 100.0,
            grouped(ceiling as u64),
        ),
        reason: "This is what this host alone sends; others share the target. Near its ceiling requests queue in the target, and each waits \
                 longer: OCI advises an alarm at 80 %."
            .into(),
        advice: "Mount the export through one more mount target: two have the ceiling twice. Or hold jobs under a budget; parcp and parrm \
                 have --max-iops too."
            .into(),
        fix: another.map(str::to_string).into_iter().chain(["partar --max-iops 20000 ...".to_string()]).collect(),
    })
}

fn locked(rates: Rates, subject: &mut Subject) {
    // One at a time, all the time: what a lock leaves. More are more directories.
    if !(0.8..=1.2).contains(&rates.locked_in_flight) {
        return;
    }
    subject.findings.push(Finding {
        check: "lock_binds",
        severity: Severity::Warning,
        found: format!("{:.2} creates, removes and renames in flight at once", rates.locked_in_flight),
        reason: "Just one at a time, all the time: a single program does them one by one, or many wait for the lock of one directory.".into(),
        advice: "Use partar, parcp or parrm over nfs:// or over several mounts; or let programs work in different directories.".into(),
        fix: Vec::new(),
    });
}

/// Watches for `time`; `stop` ends it early. Calls `begun` when the counters were read for the first time.
pub fn look(root: &Root, clients: &Clients, time: Duration, stop: &Stop, begun: impl FnOnce()) -> Vec<Subject> {
    let start = Instant::now();
    let first = sample(root, clients).unwrap_or_else(|| vec![None; clients.all.len()]);
    let mut watch = Watch::new(clients, first);
    begun();
    let mut read_at = start;
    while start.elapsed() < time && !stop.is_set() {
        std::thread::sleep(LOOK_EVERY.min(time.saturating_sub(start.elapsed())));
        if read_at.elapsed() >= SAMPLE_EVERY || start.elapsed() >= time {
            let now = Instant::now();
            if let Some(sent) = sample(root, clients) {
                watch.add(sent, (now - read_at).as_secs_f64());
                read_at = now;
            }
        }
    }
    watch.subjects(root)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mounts::local::peers::mountinfo::Table;

    fn clients() -> Clients {
        let table = "1 0 0:50 / /a rw - nfs h:/e rw,vers=3,addr=10.0.0.5\n2 0 0:51 / /b rw - nfs h:/e rw,vers=3,addr=10.0.0.5\n\
            3 0 0:52 / /c rw - nfs g:/e rw,vers=3,addr=10.0.0.6\n4 0 0:50 / /bind rw - nfs h:/e rw,vers=3,addr=10.0.0.5\n";
        let dir = tempfile::tempdir().unwrap();
        Clients::read(&Root::new(dir.path()), &Table::parse(table.as_bytes()))
    }

    /// Each mount has sent so many REMOVEs (8 IOPS), which took so many milliseconds, and written so many bytes in WRITEs of 64 KiB.
    fn sent(of: [(u64, u64, u64); 3]) -> Sample {
        let text = |(removes, ms, bytes): (u64, u64, u64)| {
            let text = format!(
                "device h:/e mounted on /x with fstype nfs statvers=1.1\n\tbytes: 0 0 0 0 0 {bytes} 0 0\n\
                 REMOVE: {removes} {removes} 0 0 0 0 {ms} {ms} 0\nWRITE: {0} {0} 0 0 0 0 0 0 0\n",
                bytes >> 16
            );
            mountstats::parse(text.as_bytes()).pop()
        };
        of.map(text).into()
    }

    #[test]
    fn rates_are_those_of_targets() {
        let clients = clients();
        let mut watch = Watch::new(&clients, sent([(100, 0, 0), (0, 0, 0), (7, 0, 0)]));
        assert_eq!(watch.targets, [("10.0.0.5".into(), vec![0, 1]), ("10.0.0.6".into(), vec![2])]);
        watch.add(sent([(2_600, 500, 0), (2_500, 0, 0), (7, 0, 0)]), 1.0);
        watch.add(sent([(2_600, 500, 64 << 20), (2_500, 0, 0), (0, 0, 0)]), 1.0);
        let first = watch.rates[0];
        assert_eq!((first.iops_peak, first.requests_per_s), (40_000.0, (5_000.0 + 1_024.0) / 2.0));
        // 1,024 WRITEs of 64 KiB: 6 IOPS each.
        assert_eq!((first.iops, first.locked_in_flight), ((40_000.0 + 6_144.0) / 2.0, 0.25));
        assert_eq!((first.bytes_per_s, first.bytes_per_s_peak), ((32 << 20) as f64, (64 << 20) as f64));
        // What a mount made anew counts is less than before.
        assert_eq!(watch.rates[1], Rates::default());
        let root = Root::new(std::path::Path::new("/none"));
        let subjects = watch.subjects(&root);
        assert_eq!(root.not_read(), []);
        assert_eq!(subjects[0].findings.len(), 1);
        assert_eq!(
            (subjects[0].findings[0].check, subjects[0].findings[0].severity),
            ("iops_ceiling", Severity::Warning)
        );
        assert_eq!(subjects[1].findings, []);
    }

    #[test]
    fn each_bound_is_found() {
        let clients = clients();
        let mut watch = Watch::new(&clients, sent([(0, 0, 0); 3]));
        watch.add(sent([(5_100, 990, 850_000_000), (0, 0, 0), (0, 0, 0)]), 1.0);
        let subject = &watch.subjects(&Root::new(std::path::Path::new("/none")))[0];
        let found: Vec<_> = subject.findings.iter().map(|f| (f.check, f.severity)).collect();
        let all = ["iops_ceiling", "bandwidth_ceiling", "lock_binds"].map(|check| (check, Severity::Warning));
        assert_eq!(found, all);
        assert!(subject.facts.iter().any(|fact| fact.shown.contains("of 50,000")), "{subject:?}");
    }

    #[test]
    fn absurd_counters_are_nothing() {
        let clients = clients();
        let mut watch = Watch::new(&clients, sent([(0, 0, 0); 3]));
        watch.add(sent([(u64::MAX, u64::MAX, u64::MAX); 3]), 1.0);
        watch.add(sent([(0, 0, 0); 3]), 0.0);
        assert_eq!(watch.seconds, 1.0);
        watch.add(sent([(0, 0, 0); 3]), 1.0);
        watch.add(sent([(9_000, 0, 0); 3]), 0.01);
        assert!(watch.rates[1].iops > 35_000.0 && watch.rates[1].iops_peak < 1.0, "{:?}", watch.rates[1]);
        let root = Root::new(std::path::Path::new("/none"));
        let subjects = watch.subjects(&root);
        assert!(subjects.iter().all(|subject| subject.facts.iter().all(|fact| !fact.shown.contains("NaN"))));
        let never = Watch::new(&clients, vec![None, None, None]);
        assert_eq!((never.subjects(&root), root.not_read().len()), (vec![], 2));
    }

    #[test]
    fn a_mount_that_is_gone_is_told_and_what_it_sent_counts() {
        let clients = clients();
        let mut watch = Watch::new(&clients, sent([(0, 0, 0); 3]));
        watch.add(sent([(1_000, 0, 0); 3]), 1.0);
        let gone = |of: [usize; 2]| {
            let mut now = sent([(1_000, 0, 0); 3]);
            of.iter().for_each(|at| now[*at] = None);
            now
        };
        let told = |watch: &Watch<'_>| {
            let root = Root::new(std::path::Path::new("/none"));
            let targets: Vec<_> = watch.subjects(&root).into_iter().map(|subject| subject.name).collect();
            (
                targets,
                root.not_read().into_iter().map(|not| format!("{}: {}", not.what, not.reason)).collect::<Vec<_>>(),
            )
        };
        let both = ["10.0.0.5", "10.0.0.6"].map(String::from).to_vec();
        let of = |point: &str| format!("mount {point}: Gone while it was watched");
        watch.add(gone([1, 2]), 1.0);
        assert_eq!(told(&watch), (both.clone(), vec![of("/b"), of("/c")]));
        assert_eq!(watch.rates[1].iops, 4_000.0);
        // One that is there again is not gone.
        watch.add(gone([0, 0]), 1.0);
        assert_eq!(told(&watch), (both, vec![of("/a")]));
    }
}
