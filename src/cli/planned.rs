//! What `parfs plan` gives a job's run so that it is a rehearsal, and takes from it: the sides of the job, and what was asked of each.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use crate::base::price::Ceiling;
use crate::mounts::nfs;
use crate::plan::course::{Course, Seen};
use crate::plan::forecast::{Held, Side};
use crate::storage::{Ledger, Mount, Tap};

use super::meter::{Meter, Role};

/// How long a call that is not made takes in a rehearsal: lanes then take turns as they do when a server answers, and windows fill as
/// they would. Without it the first lane does most of the work, in windows of one.
pub const PAUSE: Duration = Duration::from_micros(100);

/// A run that is rehearsed; none of its changes are made. Clones are the same.
#[derive(Clone, Default)]
pub struct Planned(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    sides: Vec<Observed>,
    lanes: Option<usize>,
    held: Held,
    summary: String,
    notes: Vec<String>,
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

impl fmt::Debug for Planned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Planned").finish_non_exhaustive()
    }
}

impl Planned {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().expect("nothing panics while it notes")
    }

    /// A volume of these mounts is opened: the taps that follow what is asked of each.
    pub fn follow(&self, mounts: &[Arc<dyn Mount>], meters: &[Meter]) -> Vec<Arc<dyn Tap>> {
        let (Some(first), Some(mount)) = (meters.first(), mounts.first()) else { return Vec::new() };
        let mut targets: Vec<&str> = meters.iter().map(|meter| meter.target.as_str()).collect();
        targets.sort_unstable();
        targets.dedup();
        let key = targets.join(",");
        let is_locked = mount.limits().dirs_locked;
        let mut inner = self.inner();
        let answers = meters.iter().flat_map(|meter| &meter.nfs).map(|mount| mount.idle_answer());
        let mut side = Observed {
            role: first.role,
            courses: Vec::new(),
            ledgers: Vec::new(),
            mounts: mounts.len(),
            lanes: mounts.iter().map(|mount| mount.limits().shape.lanes).max().unwrap_or(1),
            is_nfs: first.is_nfs,
            is_locked,
            is_direct: !first.nfs.is_empty(),
            idle: answers.max(),
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
        mounts.iter().map(|mount| course.tap(mount.clone(), is_locked)).collect()
    }

    /// What was asked of the side of `meter` is counted in `ledger`.
    pub fn counts(&self, target: &str, role: Option<Role>, ledger: &Arc<Ledger>) {
        let mut inner = self.inner();
        let of = |side: &&mut Observed| side.role == role && side.is_of(&[target]);
        if let Some(side) = inner.sides.iter_mut().find(of) {
            side.counted_in(ledger);
        }
    }

    /// Something that the forecast does not know.
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

    /// What was asked of each side; targets answer in `latency`, or in what was measured, or else in `unknown`.
    pub fn sides(&self, latency: Option<Duration>, unknown: Duration) -> Vec<Side> {
        let inner = self.inner();
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
