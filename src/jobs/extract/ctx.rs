//! What the producer and the lanes of one extraction share: where calls go, and what becomes of members.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

use crate::archive::MemberKind;
use crate::base::{Failure, Name, Proc, Status, Time};
use crate::crew::{Crew, Flight, Places, Sequencer, Stop};
use crate::storage::{Attr, Call, Mount, Node, Route, SetTime, Volume};

use super::super::Live;
use super::super::inside;
use super::super::port::Port;
use super::batch::Batch;
use super::{Fate, Options};

/// Members that a lane is given at once where calls wait for nothing, at least: then to hand them over is much of what they cost.
/// A forecast of a million empty files on a directory took 3.0 s of two processors that others used too in windows of 4, 2.4 s in windows of
/// 64. Batches are of several windows: a lane about as fast as the archive is read falls asleep and is woken for each.
const BATCH_AT_ONCE: usize = 256;

/// Existing files with several names that are remembered while they are written into, of 24 bytes each.
const OVERWRITTEN_MAX: usize = 1 << 20;

/// What became of a member.
#[derive(Debug)]
pub(super) enum Outcome {
    Done,
    /// There was nothing to do: it is there as it should be, or no name of it is left.
    Skipped,
    /// Something was there, and options say to leave it.
    Left,
    /// It is there and whole, but for what is told of it.
    Lacking(Failure),
    Failed(Failure),
    /// The run was stopped before it was begun.
    Undone,
}

/// Attributes that a member asks for, by the options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meta {
    pub mode: u32,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    pub mtime: SetTime,
    /// The member's time, also where it is not to be set.
    pub dated: Time,
}

/// What is known of a member until it is complete.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub number: u64,
    pub path: Vec<u8>,
    pub kind: MemberKind,
    /// A member before may have had its name, so that what is there may be that one's.
    pub again: bool,
    /// Data bytes it stands for when done.
    pub bytes: u64,
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    pub members: AtomicU64,
    pub files: AtomicU64,
    pub dirs: AtomicU64,
    pub links: AtomicU64,
    pub bytes: AtomicU64,
    pub skipped: AtomicU64,
    pub undone: AtomicU64,
    pub busy_ns: AtomicU64,
}

/// What a batch adds to the counts, all at once: lanes would fight for the counters' cache line.
#[derive(Default)]
struct Sums {
    members: u64,
    files: u64,
    dirs: u64,
    links: u64,
    bytes: u64,
    skipped: u64,
    undone: u64,
}

impl Sums {
    /// Counts a member; what is to be told of it if it failed.
    fn count(&mut self, kind: MemberKind, bytes: u64, outcome: Outcome) -> Option<Failure> {
        self.members += u64::from(!matches!(outcome, Outcome::Undone));
        match &outcome {
            Outcome::Done | Outcome::Lacking(_) => {
                match kind {
                    MemberKind::File => self.files += 1,
                    MemberKind::Dir => self.dirs += 1,
                    MemberKind::HardLink | MemberKind::Symlink => self.links += 1,
                    MemberKind::Fifo | MemberKind::Char | MemberKind::Block => {}
                }
                self.bytes += bytes;
            }
            Outcome::Skipped | Outcome::Left => self.skipped += 1,
            Outcome::Failed(_) => {}
            Outcome::Undone => self.undone += 1,
        }
        match outcome {
            Outcome::Lacking(failure) | Outcome::Failed(failure) => Some(failure),
            _ => None,
        }
    }
}

/// How far the archive is complete without a gap.
#[derive(Debug, Default)]
pub(super) struct Front {
    pub path: Vec<u8>,
    pub count: u64,
    /// A member before was not begun, so that nothing after it counts.
    pub gap: bool,
}

/// Told in archive order.
struct Told {
    path: Vec<u8>,
    fate: Option<Fate>,
    undone: bool,
}

pub(super) struct Ctx<'a> {
    pub volume: &'a Volume,
    pub options: &'a Options,
    pub crew: &'a Crew,
    pub live: &'a Live,
    pub done: &'a (dyn Fn(&[u8], Fate) + Sync),
    pub flight: Flight,
    pub port: Port<'a>,
    pub write_max: usize,
    pub counts: Counts,
    /// Batches that wait by their directories, where lanes had best be in different ones.
    pub apart: Option<Mutex<Places<Batch>>>,
    /// The volume has extended attributes.
    pub xattrs: bool,
    /// Some member's attributes could not be set for want of them.
    pub xattrs_lost: AtomicBool,
    /// Some directory was not given its set-group-id bit yet.
    pub bits_held_back: AtomicBool,
    /// The server does not let the caller give away what it makes: that is not tried again where it leaves owners out itself.
    pub owners_refused: AtomicBool,
    /// The owner and group that making an object was last refused for, packed.
    refused: AtomicU64,
    /// Existing files with several names, by file system and file id, and the key of the name that is written into (`--overwrite`).
    overwritten: Mutex<HashMap<(u64, u64), u64>>,
    /// The destination's mode, once it was asked for.
    destination_mode: OnceLock<Option<u32>>,
    sequencer: Sequencer<Told>,
    front: Mutex<Front>,
    /// Path bytes of members that were told.
    told_bytes: AtomicU64,
}

/// A user and a group, of which either may be the caller's.
fn packed((uid, gid): (Option<u32>, Option<u32>)) -> u64 {
    let id = |id: Option<u32>| u64::from(id.unwrap_or(u32::MAX));
    id(uid) << 32 | id(gid)
}

impl<'a> Ctx<'a> {
    pub fn new(
        volume: &'a Volume,
        options: &'a Options,
        crew: &'a Crew,
        live: &'a Live,
        done: &'a (dyn Fn(&[u8], Fate) + Sync),
    ) -> Ctx<'a> {
        let write_max = usize::try_from(volume.limits().write_max).unwrap_or(usize::MAX).max(1);
        let port = Port::new(volume, crew.shape().window);
        Ctx {
            volume,
            options,
            crew,
            live,
            done,
            flight: Flight::default(),
            port,
            write_max,
            counts: Counts::default(),
            apart: volume.limits().dirs_locked.then(|| Mutex::new(Places::shared(volume.mounts().len()))),
            xattrs: volume.limits().extras.xattrs,
            overwritten: Mutex::default(),
            xattrs_lost: AtomicBool::new(false),
            bits_held_back: AtomicBool::new(false),
            owners_refused: AtomicBool::new(false),
            refused: AtomicU64::new(packed((None, None))),
            destination_mode: OnceLock::new(),
            sequencer: Sequencer::default(),
            front: Mutex::default(),
            told_bytes: AtomicU64::new(0),
        }
    }

    pub fn stop(&self) -> &Stop {
        self.crew.stop()
    }

    /// Members that a lane is given at once: whole windows of them. A rehearsal waits only as long as its time is followed.
    pub fn batch_max(&self) -> usize {
        let window = self.port.window;
        if self.volume.waits() { window } else { BATCH_AT_ONCE.next_multiple_of(window) }
    }

    /// Was making an object refused for this owner, and done without? A kernel's client gives the owner by a call of its own, so that the
    /// object is there when that is refused, and is removed to be made anew.
    pub fn refuses(&self, owner: (Option<u32>, Option<u32>)) -> bool {
        owner != (None, None) && self.refused.load(Ordering::Relaxed) == packed(owner)
    }

    pub fn note_refused(&self, owner: (Option<u32>, Option<u32>)) {
        self.refused.store(packed(owner), Ordering::Relaxed);
    }

    /// Carries out calls in windows through one mount.
    pub fn perform(&self, route: Route, calls: &mut [Call<'_>]) {
        self.port.perform(route, calls);
    }

    /// The destination's mode, where bits that are not restored are to be left as they are; none where it is not to be had.
    pub fn destination_mode(&self) -> Option<u32> {
        if self.options.mode_mask & 0o7000 == 0 {
            return None;
        }
        let ask =
            || self.one(self.volume.route(), Call::get_attr(&self.volume.root())).attr().ok().map(|attr| attr.mode);
        *self.destination_mode.get_or_init(ask)
    }

    /// Does GNU tar make a directory with this mode at once? Then it sets no other, and what the directory inherited stays.
    pub fn is_made_with(&self, mode: u32) -> bool {
        let opened = if self.options.as_root { 0 } else { 0o300 };
        mode == mode & 0o700 | opened
    }

    /// Carries out one call.
    pub fn one<'c>(&self, route: Route, call: Call<'c>) -> Call<'c> {
        self.port.one(route, call)
    }

    /// Looks a name up.
    pub fn look_up(&self, route: Route, dir: &Node, name: &Name) -> Result<(Node, Attr), (Proc, Status)> {
        self.port.look_up(route, dir, name)
    }

    /// The object and attributes that a LOOKUP found; asks for the attributes where it gave none.
    pub fn found(&self, route: Route, lookup: &Call<'_>) -> Result<(Node, Attr), (Proc, Status)> {
        self.port.found(route, lookup)
    }

    /// Runs a lane's task and adds the time it took to what lanes were busy.
    pub fn busy<R>(&self, task: impl FnOnce() -> R) -> R {
        let start = Instant::now();
        let result = task();
        let ns = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.counts.busy_ns.fetch_add(ns, Ordering::Relaxed);
        result
    }

    /// May a member be written into the existing file `attr` by the name of this key? Through one name of a file that has several, and no
    /// more of them than are remembered: what else has one of its names is made anew.
    pub fn takes_over(&self, attr: &Attr, key: u64) -> bool {
        if attr.nlink <= 1 {
            return true;
        }
        let mut known = self.overwritten.lock().expect("nothing panics while it notes a file");
        let is_full = known.len() >= OVERWRITTEN_MAX;
        match known.entry((attr.fsid, attr.fileid)) {
            Entry::Occupied(by) => *by.get() == key,
            Entry::Vacant(_) if is_full => false,
            Entry::Vacant(file) => *file.insert(key) == key,
        }
    }

    /// The number before which everything is complete.
    pub fn low(&self) -> u64 {
        self.sequencer.low()
    }

    /// The same, and the path bytes of members that were told.
    pub fn told(&self) -> (u64, u64) {
        (self.low(), self.told_bytes.load(Ordering::Relaxed))
    }

    pub fn front(&self) -> std::sync::MutexGuard<'_, Front> {
        self.front.lock().expect("a teller that panics ends the run")
    }

    /// Says what became of a member; once for each.
    pub fn complete(&self, head: Head, outcome: Outcome) {
        self.complete_all([(head, outcome)]);
    }

    /// Says what became of members; once for each.
    pub fn complete_all(&self, all: impl IntoIterator<Item = (Head, Outcome)>) {
        let mut sums = Sums::default();
        let told = all.into_iter().map(|(head, outcome)| {
            let told = Told {
                path: head.path,
                fate: match outcome {
                    Outcome::Done | Outcome::Lacking(_) => Some(Fate::Made),
                    Outcome::Left => Some(Fate::Left),
                    Outcome::Skipped | Outcome::Failed(_) | Outcome::Undone => None,
                },
                // Also a file that was begun and not ended.
                undone: matches!(&outcome, Outcome::Undone)
                    || matches!(&outcome, Outcome::Failed(failure) if failure.is_cancelled()),
            };
            if let Some(failure) = sums.count(head.kind, head.bytes, outcome) {
                self.crew.report().add(self.placed(failure, &told.path));
            }
            (head.number, told)
        });
        // Counted before the first is told.
        let told: Vec<(u64, Told)> = told.collect();
        self.add(&sums);
        let (mut front, mut bytes) = (None, 0);
        self.sequencer.complete_all(told, |told| {
            bytes += told.path.len() as u64;
            self.tell(told, front.get_or_insert_with(|| self.front()));
        });
        self.told_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A member's failure by the path that it was to have, as GNU tar tells it; what has a `..` was to have none.
    fn placed(&self, failure: Failure, member: &[u8]) -> Failure {
        let has_place = failure.path == member && !inside::has_dot_dot(member);
        let path = if has_place { self.options.placed_path(member) } else { Vec::new() };
        if path.is_empty() { failure } else { Failure { path, ..failure } }
    }

    fn add(&self, sums: &Sums) {
        let Sums { members, files, dirs, links, bytes, skipped, undone } = *sums;
        let counts = &self.counts;
        let added = [
            (&counts.members, members),
            (&self.live.objects, members),
            (&counts.files, files),
            (&counts.dirs, dirs),
            (&counts.links, links),
            (&counts.bytes, bytes),
            (&counts.skipped, skipped),
            (&counts.undone, undone),
        ];
        for (counter, n) in added.into_iter().filter(|(_, n)| *n > 0) {
            counter.fetch_add(n, Ordering::Relaxed);
        }
    }

    fn tell(&self, told: Told, front: &mut Front) {
        match told.fate {
            Some(Fate::Left) => (self.done)(&self.options.placed_path(&told.path), Fate::Left),
            Some(fate) => (self.done)(&told.path, fate),
            None => {}
        }
        front.gap |= told.undone;
        if !front.gap {
            front.count += 1;
            front.path = told.path;
        }
    }
}
