//! What `parfs plan` gives a job's run so that it is a rehearsal, and takes from it: the sides of the job, and what was asked of each.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use crate::base::price::Ceiling;
use crate::base::{Pace, PriceList};
use crate::crew::Crew;
use crate::mounts::local::peers::Mounted;
use crate::mounts::{Kernel, LocalMount, Locks, Paced, Server, nfs};
use crate::plan::course::{Course, Seen};
use crate::plan::forecast::{Held, Side, Timed};
use crate::storage::{Changer, Ledger, Mount, Tap};

use super::meter::{Meter, Role};

/// Windows whose time a rehearsal follows: of a job that makes more, the rest goes on as these did. Each takes some 10 us of a processor, and
/// where a server is really asked now and then, time passes no faster than it answers.
const FOLLOWED_MIN: u64 = 8_000;

/// And for each lane: many lanes take long until all that they do is under way.
const FOLLOWED_BY_LANE: u64 = 64;

/// Of what answers later no time is followed: thousands of such answers must still be a time.
const LATENCY_MAX: Duration = Duration::from_secs(86_400);

/// How long a call that is not made takes in a rehearsal that follows no time: lanes then take turns as they do when a server answers, and windows fill as
/// they would. Without it the first lane does most of the work, in windows of one. With 16 lanes and windows of 4 it holds a forecast
/// up for 0.4 s in each million calls; four times as long told the same.
pub const PAUSE: Duration = Duration::from_micros(25);

/// A run that is rehearsed; none of its changes are made. Clones are the same.
#[derive(Clone, Default)]
pub struct Planned(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    sides: Vec<Observed>,
    lanes: Option<usize>,
    held: Held,
    /// Answer times need not be measured.
    latency: Option<Duration>,
    pacing: Option<Pacing>,
    /// Mounts of kernels by their target and name, with what they answered in.
    answers: Vec<(String, String, Option<Duration>)>,
    summary: String,
    notes: Vec<String>,
}

/// The time of the rehearsal.
struct Pacing {
    pace: Arc<Pace>,
    ceiling: Ceiling,
    price: PriceList,
    servers: HashMap<String, Arc<Server>>,
    locks: Arc<Locks>,
    /// What kernels' mounts change beside each other, and each of them by its key.
    changes: Changer,
    changers: HashMap<String, Changer>,
    /// The mounts of NFS that were opened, and those whose time is followed.
    opened: usize,
    followed: usize,
    /// When half of what is followed was over, and all; and what was asked until then.
    marks: Vec<(f64, Vec<Side>)>,
}

struct Observed {
    key: String,
    role: Option<Role>,
    /// One, and one of each side that turned out to be the same.
    courses: Vec<Arc<Course>>,
    ledgers: Vec<Arc<Ledger>>,
    mounts: usize,
    lanes: usize,
    is_nfs: bool,
    is_locked: bool,
    is_direct: bool,
    idle: Option<Duration>,
}

impl Inner {
    /// In what the slowest kernel's mount of these targets answered.
    fn measured(&self, targets: &[&str]) -> Option<Duration> {
        let of_them = self.answers.iter().filter(|(target, ..)| targets.contains(&target.as_str()));
        of_them.filter_map(|(.., answer)| *answer).max()
    }
}

impl Observed {
    /// True when one of its targets is one of these.
    fn is_of(&self, targets: &[&str]) -> bool {
        self.key.split(',').any(|key| targets.contains(&key))
    }

    /// `other` has some of the same targets: both are one from here on.
    fn absorb(&mut self, other: Observed) {
        let mut targets: Vec<&str> = self.key.split(',').chain(other.key.split(',')).collect();
        targets.sort_unstable();
        targets.dedup();
        self.mounts = self.mounts.max(other.mounts).max(targets.len());
        self.key = targets.join(",");
        self.courses.extend(other.courses);
        other.ledgers.iter().for_each(|ledger| self.counted_in(ledger));
        self.lanes = self.lanes.max(other.lanes);
        self.idle = self.idle.max(other.idle);
        self.is_locked |= other.is_locked;
        self.is_direct &= other.is_direct;
    }

    fn counted_in(&mut self, ledger: &Arc<Ledger>) {
        if !self.ledgers.iter().any(|there| Arc::ptr_eq(there, ledger)) {
            self.ledgers.push(ledger.clone());
        }
    }
}

/// What is told of a kernel's mount. NFSv4's operations are not NFSv3's, whose prices the forecast has.
fn mount_note(name: &str, answer: Option<Duration>, options: &str) -> String {
    let answer = answer.map(|answer| format!("answers in {:.2} ms", answer.as_secs_f64() * 1e3));
    let options = (!options.is_empty()).then(|| format!("is mounted with {options}"));
    let is_new = options.as_ref().is_some_and(|text| text.contains("vers=4"));
    let new = is_new.then(|| "what it sends is counted as NFSv3's procedures, which NFSv4's are not".into());
    let said: Vec<String> = [answer, options, new].into_iter().flatten().collect();
    if said.is_empty() { format!("{name}: nothing is known of it") } else { format!("{name} {}", said.join("; ")) }
}

impl fmt::Debug for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Planned").finish_non_exhaustive()
    }
}

impl Planned {
    /// A rehearsal, of whose mounts the answer times are measured unless `latency` is given; what targets give and charge is given.
    pub fn new(latency: Option<Duration>, ceiling: Ceiling, price: &PriceList) -> Planned {
        let pace = Pace::new(FOLLOWED_MIN);
        let (price, servers, locks) = (price.clone(), HashMap::new(), Arc::default());
        let pacing = Some(Pacing {
            pace: pace.clone(),
            ceiling,
            price,
            servers,
            locks,
            changes: Changer::default(),
            changers: HashMap::new(),
            opened: 0,
            followed: 0,
            marks: Vec::new(),
        });
        let planned = Planned(Arc::new(Mutex::new(Inner { latency, pacing, ..Inner::default() })));
        let inner = Arc::downgrade(&planned.0);
        pace.noting(move |at| Planned::mark(&inner, at));
        planned
    }

    fn mark(inner: &Weak<Mutex<Inner>>, at: Duration) {
        let Some(planned) = inner.upgrade().map(Planned) else { return };
        let sides = planned.sides(Duration::ZERO);
        if let Some(pacing) = &mut planned.inner().pacing {
            pacing.marks.push((at.as_secs_f64(), sides));
        }
    }

    /// The crew that rehearses, in the rehearsal's time.
    pub fn at_pace(&self, crew: Crew) -> Crew {
        match &self.inner().pacing {
            Some(pacing) if !pacing.servers.is_empty() => {
                pacing.pace.follows(FOLLOWED_BY_LANE * crew.shape().lanes as u64);
                crew.at_pace(&pacing.pace)
            }
            _ => crew,
        }
    }

    /// A mount of `target`, which is a kernel's of this key or answers in `idle`, in the rehearsal's time; none where that is not followed.
    pub fn paced(&self, target: &str, key: &str, idle: Option<Duration>, is_kernel: bool) -> Option<Paced> {
        let mut inner = self.inner();
        let latency = inner.latency.or(idle).or_else(|| inner.measured(&[target]));
        let latency = latency.filter(|latency| *latency <= LATENCY_MAX)?;
        let shape = inner.latency.filter(|_| !is_kernel).map(nfs::shape);
        let Pacing { pace, ceiling, price, servers, locks, changes, changers, followed, .. } = inner.pacing.as_mut()?;
        *followed += 1;
        let mut changer = || changers.entry(key.into()).or_insert_with(|| changes.beside()).clone();
        let kernel = is_kernel.then(|| Kernel::new(locks, changer()));
        let new = || Arc::new(Server::new(pace, *ceiling, price.clone()));
        Some(Paced { server: servers.entry(target.into()).or_insert_with(new).clone(), latency, shape, kernel })
    }

    /// How long the job took in the rehearsal's time; none where that is not known of all that it asked.
    pub fn timed(&self) -> Option<Timed> {
        let inner = self.inner();
        let is_all = |pacing: &&Pacing| pacing.followed > 0 && pacing.followed == pacing.opened;
        let pacing = inner.pacing.as_ref().filter(is_all)?;
        let seconds = pacing.pace.now().as_secs_f64();
        match &pacing.marks[..] {
            _ if !pacing.pace.is_over() => Some(Timed::Whole(seconds)),
            [half, all] => Some(Timed::Part([half.clone(), all.clone()])),
            _ => None,
        }
    }

    /// Was the rehearsal's time to be followed, and was not? Then bounds are all that is known.
    pub fn is_untimed(&self) -> bool {
        let is_paced = self.inner().pacing.as_ref().is_some_and(|pacing| pacing.opened > 0);
        is_paced && self.timed().is_none()
    }

    /// Measures how fast a kernel's mount of `target` answers, once, and notes how it is mounted.
    pub fn measure(&self, mount: &LocalMount, target: &str, mounted: Option<&Mounted>) {
        let name = mount.label();
        let is_given = self.inner().latency.is_some();
        if !mount.limits().dirs_locked || self.inner().answers.iter().any(|(_, there, _)| *there == name) {
            return;
        }
        let answer = if is_given { None } else { mount.answer() };
        let options = mounted.map_or("", |mounted| &mounted.options);
        self.note(&mount_note(&name, answer, options));
        self.inner().answers.push((target.into(), name, answer));
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How fast the mounts of a volume answer that are spoken to without a kernel: the slowest of them.
    pub fn idle(&self, meters: &[Meter]) -> Option<Duration> {
        let is_given = self.inner().latency.is_some();
        // One after the other: beside each other they would be answered later.
        let answer = |mount: &Arc<nfs::NfsMount>| if is_given { mount.idle_answer() } else { mount.answer() };
        meters.iter().flat_map(|meter| &meter.nfs).map(answer).max()
    }

    /// A volume of these mounts is opened, which answer in `direct`: the taps that follow what is asked of each.
    pub fn follow(&self, mounts: &[Arc<dyn Mount>], meters: &[Meter], direct: Option<Duration>) -> Vec<Arc<dyn Tap>> {
        let (Some(first), Some(mount)) = (meters.first(), mounts.first()) else { return Vec::new() };
        let mut targets: Vec<&str> = meters.iter().map(|meter| meter.target.as_str()).collect();
        targets.sort_unstable();
        targets.dedup();
        let key = targets.join(",");
        let is_locked = mount.limits().dirs_locked;
        let mut inner = self.inner();
        if let Some(pacing) = inner.pacing.as_mut().filter(|_| first.is_nfs) {
            pacing.opened += mounts.len();
        }
        let idle = direct.max(inner.measured(&targets));
        let mut side = Observed {
            role: first.role,
            courses: Vec::new(),
            ledgers: Vec::new(),
            mounts: mounts.len(),
            lanes: mounts.iter().map(|mount| mount.limits().shape.lanes).max().unwrap_or(1),
            is_nfs: first.is_nfs,
            is_locked,
            is_direct: !first.nfs.is_empty(),
            idle,
            key,
        };
        // Operands may name some of the targets of others, of several even: they all are one side, whose ceiling they share.
        let shares = |there: &mut Observed| there.role == first.role && there.is_of(&targets);
        let at = inner.sides.iter_mut().position(shares).unwrap_or(inner.sides.len());
        inner.sides.extract_if(.., shares).for_each(|there| side.absorb(there));
        // What one course follows it knows whole, so a side has no second one before two sides become one.
        if side.courses.is_empty() {
            side.courses.push(Arc::default());
        }
        let course = side.courses[0].clone();
        inner.sides.insert(at, side);
        // Of what is not on NFS nothing is forecast.
        let tap = |mount: &Arc<dyn Mount>| {
            if first.is_nfs { course.tap(mount.clone(), is_locked) } else { course.looking() }
        };
        mounts.iter().map(tap).collect()
    }

    /// What was asked of the side of `meter` is counted in `ledger`.
    pub fn counts(&self, target: &str, role: Option<Role>, ledger: &Arc<Ledger>) {
        let mut inner = self.inner();
        let of = |side: &&mut Observed| side.role == role && side.is_of(&[target]);
        if let Some(side) = inner.sides.iter_mut().find(of) {
            side.counted_in(ledger);
        }
    }

    /// Something that the forecast does not know, or found out.
    pub fn note(&self, text: &str) {
        self.inner().notes.push(text.into());
    }

    /// The run is to have so many lanes.
    pub fn has_lanes(&self, lanes: Option<usize>) {
        self.inner().lanes = lanes;
    }

    /// The lanes that the run is to have, where that was asked for.
    pub fn lanes(&self) -> Option<usize> {
        self.inner().lanes
    }

    /// Each target is to be held under this.
    pub fn holds(&self, ceiling: Option<Ceiling>) {
        self.inner().held.target = ceiling;
    }

    /// So many bytes a second are to be written to the destination, at most.
    pub fn writes_below(&self, bytes_per_s: f64) {
        self.inner().held.written_per_s = Some(bytes_per_s);
    }

    /// What the run is to stay below.
    pub fn held(&self) -> Held {
        self.inner().held
    }

    /// What the run would do, in a line.
    pub fn would(&self, summary: String) {
        self.inner().summary = summary;
    }

    /// The line of `would`, and the notes.
    pub fn told(&self) -> (String, Vec<String>) {
        let inner = self.inner();
        (inner.summary.clone(), inner.notes.clone())
    }

    /// Targets of which nobody said how fast they answer, though they are on NFS; and whether something is.
    pub fn unmeasured(&self) -> (Vec<String>, bool) {
        let inner = self.inner();
        let unknown = |side: &&Observed| side.is_nfs && side.idle.is_none() && inner.latency.is_none();
        let unknown = inner.sides.iter().filter(unknown).map(|side| side.key.clone()).collect();
        (unknown, inner.sides.iter().any(|side| side.is_nfs))
    }

    /// What was asked of each side; targets answer in what was given, or measured, or else in `unknown`.
    pub fn sides(&self, unknown: Duration) -> Vec<Side> {
        let inner = self.inner();
        let latency = inner.latency;
        let side = |side: &Observed| Side {
            role: side.role.map(Role::name),
            key: side.key.clone(),
            mounts: side.mounts,
            tally: side.ledgers.iter().map(|ledger| ledger.tally()).sum(),
            seen: side.courses.iter().map(|course| course.seen()).fold(Seen::default(), Seen::and),
            is_nfs: side.is_nfs,
            is_locked: side.is_locked,
            latency: latency.or(side.idle).unwrap_or(unknown),
            // Lanes follow the answer time.
            lanes: latency.filter(|_| side.is_direct).map_or(side.lanes, |latency| nfs::shape(latency).lanes),
        };
        inner.sides.iter().map(side).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::meter::tests::meter;
    use crate::mounts::MemoryMount;

    const UNKNOWN: Duration = Duration::from_millis(1);

    /// A side of one kernel mount of 10.0.0.5, after these were measured.
    fn planned(latency: Option<Duration>, answers: &[(&str, u64)]) -> Planned {
        let planned = Planned::new(latency, Ceiling::oci(), &PriceList::oci());
        let answer = |&(target, ms): &(&str, u64)| {
            (target.into(), format!("/mnt/{target}"), (ms > 0).then(|| Duration::from_millis(ms)))
        };
        planned.inner().answers = answers.iter().map(answer).collect();
        let mount: Arc<dyn Mount> = Arc::new(MemoryMount::new());
        assert_eq!(planned.follow(&[mount], &[meter(0, crate::base::Proc::Null, 0)], None).len(), 1);
        planned
    }

    #[test]
    fn a_kernel_mount_has_the_answer_time_that_was_measured_of_its_target() {
        let latency = |given: Option<u64>, answers: &[(&str, u64)]| {
            let given = given.map(Duration::from_millis);
            let planned = planned(given, answers);
            (planned.sides(UNKNOWN)[0].latency.as_millis(), planned.unmeasured().0.len())
        };
        assert_eq!(latency(None, &[("10.0.0.5", 3), ("10.0.0.6", 9)]), (3, 0));
        assert_eq!(latency(None, &[("10.0.0.5", 3), ("10.0.0.5", 4)]), (4, 0));
        assert_eq!(latency(Some(7), &[("10.0.0.5", 0)]), (7, 0));
        assert_eq!(latency(None, &[("10.0.0.5", 0), ("10.0.0.6", 9)]), (1, 1));
        assert_eq!(planned(None, &[]).unmeasured(), (vec!["10.0.0.5".to_string()], true));
    }

    #[test]
    fn answers_that_take_longer_than_is_followed_are_told_as_not_followed() {
        assert!(planned(Some(2 * LATENCY_MAX), &[]).is_untimed());
        assert!(
            !Planned::new(Some(2 * LATENCY_MAX), Ceiling::oci(), &PriceList::oci()).is_untimed(),
            "nothing is on NFS"
        );
    }

    #[test]
    fn it_is_told_how_a_kernel_mount_answers_and_is_mounted() {
        let told = |options| mount_note("/m", Some(Duration::from_micros(1_234)), options);
        assert_eq!(told("vers=3,nconnect=4"), "/m answers in 1.23 ms; is mounted with vers=3,nconnect=4");
        assert!(told("vers=4.1").ends_with("; what it sends is counted as NFSv3's procedures, which NFSv4's are not"));
        // What is not on NFS is not asked.
        let (dir, planned) = (tempfile::tempdir().unwrap(), Planned::new(None, Ceiling::oci(), &PriceList::oci()));
        let mount = LocalMount::open(dir.path()).unwrap();
        planned.measure(&mount, "t", None);
        assert!(mount.answer().is_none() && planned.told().1.is_empty() && planned.inner().answers.is_empty());
    }
}
