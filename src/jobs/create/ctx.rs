//! What the lanes of one creation share.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::base::name::Shown;
use crate::base::{Failure, Warnings};
use crate::crew::{Crew, Flight};
use crate::storage::{Attr, Kind, Volume};

use super::super::Live;
use super::super::inside::inside;
use super::super::port::Port;
use super::super::select::Selection;
use super::super::transform::Part;
use super::entry::{Entry, Home, Listing};
use super::front::Front;
use super::recheck::Rechecks;
use super::{Latest, Names, Options, walk};

/// Files that went before they were read and are looked up once more, at once.
const AGAIN_MAX: usize = 10_000;
/// How often that is done. Of 600 files, each replaced some twice a second on four kernel mounts 1 ms away, a third was missed each time.
const AGAIN_ROUNDS: usize = 16;

/// Bytes of buffers that wait to be used again: four pieces of zstd. What more lanes hold is in use, or goes back to the system.
const SPARE_BYTES_MAX: usize = 32 << 20;

#[derive(Default)]
pub(super) struct Counts {
    pub members: AtomicU64,
    pub files: AtomicU64,
    pub dirs: AtomicU64,
    pub links: AtomicU64,
    pub bytes: AtomicU64,
    /// Differences that make the exit status 1.
    pub changed: AtomicU64,
    pub busy_ns: AtomicU64,
}

/// Buffers of pieces, to be used again: a new one is new memory, and 1.3 GB of it cost 300,000 page faults.
#[derive(Default)]
pub(super) struct Spare {
    buffers: Mutex<Vec<Vec<u8>>>,
}

impl Spare {
    fn buffers(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.buffers.lock().expect("nothing panics while it holds the buffers")
    }

    /// So many zeros.
    pub fn take(&self, bytes: usize) -> Vec<u8> {
        let Some(mut buffer) = self.buffers().pop() else { return vec![0; bytes] };
        buffer.clear();
        buffer.resize(bytes, 0);
        buffer
    }

    pub fn give(&self, buffer: Vec<u8>) {
        let mut buffers = self.buffers();
        if buffers.iter().map(Vec::capacity).sum::<usize>() + buffer.capacity() <= SPARE_BYTES_MAX {
            buffers.push(buffer);
        }
    }
}

pub(super) fn subtract(counter: &AtomicU64, n: u64) {
    counter.fetch_sub(n, Ordering::Relaxed);
}

pub(super) fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

/// What was not there when it was to be read, to be looked up once more.
#[derive(Default)]
struct Missed {
    paths: Vec<(Home, Vec<u8>)>,
    /// Rounds so far.
    rounds: usize,
}

/// What the lanes share.
pub(super) struct Ctx<'a> {
    pub options: &'a Options,
    pub names: &'a dyn Names,
    pub crew: &'a Crew,
    pub live: &'a Live,
    pub tell: &'a (dyn Fn(&[u8]) + Sync),
    pub front: Front<Listing, Entry>,
    pub counts: Counts,
    pub spare: Spare,
    /// Told once: holes cannot be seen, extended attributes cannot be read.
    pub said: [AtomicBool; 2],
    warnings: Mutex<Warnings>,
    missed: Mutex<Missed>,
    /// Directories that are left.
    pub rechecks: Arc<Rechecks>,
    /// Pieces that are not read, and packed, yet.
    pub flight: Flight,
}

impl<'a> Ctx<'a> {
    /// Tells of an object that is not stored. What was not asked because the run was stopped is not its fault.
    pub fn failed(&self, failure: Failure) {
        if !failure.is_cancelled() {
            self.crew.report().add(failure);
        }
    }

    pub fn new(
        options: &'a Options,
        names: &'a dyn Names,
        crew: &'a Crew,
        live: &'a Live,
        tell: &'a (dyn Fn(&[u8]) + Sync),
    ) -> Ctx<'a> {
        Ctx {
            options,
            names,
            crew,
            live,
            tell,
            front: Front::new(options.ahead_max),
            counts: Counts::default(),
            flight: Flight::default(),
            spare: Spare::default(),
            said: Default::default(),
            warnings: Mutex::default(),
            missed: Mutex::default(),
            rechecks: Arc::default(),
        }
    }

    pub fn port<'v>(&self, volume: &'v Volume) -> Port<'v> {
        Port::new(volume, self.crew.shape().window)
    }

    pub fn warn(&self, text: String) {
        self.warnings.lock().expect("nothing panics while it warns").add(text);
    }

    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock().expect("nothing panics while it warns")).told()
    }

    /// What was listed here is not there. Whoever writes a file anew and renames it, so that there always is one, is to find it in the
    /// archive: at the end its name is looked up once more.
    pub fn missed(&self, home: Home, path: &[u8]) {
        if self.notes(home.clone(), path) {
            return;
        }
        if self.held_missed().rounds < AGAIN_ROUNDS {
            return walk::leave_out(self, &home, path);
        }
        let times = AGAIN_ROUNDS + 1;
        let why =
            format!("something else took its place each of {times} times that it was to be read; it is not archived");
        self.failed(Failure::refused(path, why));
    }

    /// Notes a path that is looked up once more at the end; false when that is not to be any more.
    pub fn notes(&self, home: Home, path: &[u8]) -> bool {
        let mut missed = self.held_missed();
        let has_room = missed.rounds < AGAIN_ROUNDS && missed.paths.len() < AGAIN_MAX;
        if has_room {
            missed.paths.push((home, path.to_vec()));
        }
        has_room
    }

    fn held_missed(&self) -> MutexGuard<'_, Missed> {
        self.missed.lock().expect("nothing panics while it notes a path")
    }

    /// Takes what was missed, for another round.
    pub fn take_missed(&self) -> Vec<(Home, Vec<u8>)> {
        let mut missed = self.held_missed();
        missed.rounds += 1;
        let mut paths = std::mem::take(&mut missed.paths);
        // Lanes note them in any order.
        paths.sort_by(|(_, a), (_, b)| a.cmp(b));
        paths
    }

    /// Something else took the place of what was listed, and nothing more is noted.
    pub fn overran(&self, path: &[u8]) {
        let why = format!(
            "something else took its place before it was read, as of more than {AGAIN_MAX} files, which are as many as are looked up \
             again; it is not archived"
        );
        self.failed(Failure::refused(path, why));
    }

    /// It went between the listing and now.
    pub fn vanished(&self, path: &[u8]) {
        add(&self.counts.changed, 1);
        self.warn(format!("{}: File removed before we read it", Shown(path)));
    }

    /// Do the patterns, and those of its operand, let this path in?
    pub fn includes(&self, path: &[u8], of_operand: &Selection) -> bool {
        self.options.exclude.lets_in(path) && of_operand.lets_in(path)
    }

    /// Is an object in a directory to be stored, by what its listing says?
    pub fn is_wanted(&self, path: &[u8], attr: &Attr) -> bool {
        if attr.kind == Kind::Dir {
            return true;
        }
        let newer = self
            .options
            .newer
            .is_none_or(|newer| attr.mtime >= newer.than || (newer.or_changed && attr.ctime >= newer.than));
        newer && !self.is_archived(path, attr)
    }

    /// Has the archive a member of this name that is not older? Some have whole seconds only; of others a change within the second is one, as
    /// for GNU tar, which stores no directory anew: each new name in it changes its time.
    pub fn is_archived(&self, path: &[u8], attr: &Attr) -> bool {
        let Some(archived) = &self.options.update else { return false };
        // It is there under the name that it would get.
        archived.latest(&self.name_of(path, Part::Member)).is_some_and(|Latest { mtime, is_exact, is_dir }| {
            match is_exact {
                _ if attr.kind == Kind::Dir => is_dir,
                true => attr.mtime <= mtime,
                false => attr.mtime.secs <= mtime.secs,
            }
        })
    }

    /// Has the archive that is updated a directory of this very path? As of GNU tar, what is stored by another name is not found.
    pub fn has_dir(&self, path: &[u8]) -> bool {
        let Some(archived) = &self.options.update else { return false };
        let is_stored_so = self.options.absolute_names || inside(path) == path;
        is_stored_so && archived.latest(path).is_some_and(|latest| latest.is_dir)
    }

    /// What the archive has for a path: without what would lead out of the place where it is extracted, and then transformed. As of GNU tar,
    /// expressions are about names without a leading slash, and what they make of a name is stored.
    pub fn name_of<'p>(&self, path: &'p [u8], part: Part) -> Cow<'p, [u8]> {
        let path = if self.options.absolute_names { path } else { inside(path) };
        match &self.options.transform {
            Some(transform) => Cow::Owned(transform.apply(path, part)),
            None => Cow::Borrowed(path),
        }
    }
}
