//! Is the file that an open without O_EXCL gave us new? On a kernel NFS mount O_EXCL costs a SETATTR more than O_CREAT alone, and
//! both hold the directory's lock for a round trip. What CREATE (UNCHECKED) made is told from what was there by its attributes,
//! which came with the reply: asking for them costs nothing.
//!
//! It is only done in directories that this process made, or found empty (`Chain::fresh`): there nothing can be met but what
//! somebody puts there meanwhile. So no server is asked to CREATE over a file that its user kept, and what it would do with
//! that file's mode, or with a device of that name, does not matter.
//!
//! Left out: telling our file from one that another program of the same user makes under the same name, with the same mode, in
//! the same tick of the server's clock as ours, and has not written to yet.

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::Stat;

use crate::base::Time;
use crate::storage::Kind;

use super::convert::{attr, mode_bits};

/// How far a server's clock may seem to go back before a file counts as old: clocks are set, and one address may be several hosts.
const CLOCKS_APART_MAX_S: i64 = 60;
/// How often a mount may leave it open whether a file is new before it is asked no more. Each time costs a job some calls.
const DOUBTS_MAX: u32 = 8;
/// Files remembered: more than lanes make while one of them waits for a reply. What is older counts as doubtful.
const LATELY_MAX: usize = 16 << 10;

/// What a new file of this mount looks like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    pub mode: u32,
    pub uid: u32,
    /// The newest time that the server gave a new file before this one was asked for.
    pub since: Time,
}

/// What the attributes of an opened file say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    New,
    /// It may be new, on a server that gives modes or times of its own.
    Doubtful,
    /// It was there.
    Old,
}

/// Judges a file by its attributes alone.
pub(super) fn judge(stat: &Stat, expected: &Expected) -> Verdict {
    let is = attr(stat);
    let ours = is.kind == Kind::File && is.size == 0 && is.nlink == 1 && is.uid == expected.uid;
    if !ours || is.ctime.secs < expected.since.secs.saturating_sub(CLOCKS_APART_MAX_S) {
        return Verdict::Old;
    }
    let untouched = is.atime == is.ctime && is.mtime == is.ctime;
    // Equal is new enough: a server's clock may tick a hundred times a second.
    if untouched && is.ctime >= expected.since && mode_bits(stat) == expected.mode {
        Verdict::New
    } else {
        Verdict::Doubtful
    }
}

/// A file and when it was made: inode numbers are used again.
type Key = (u64, Time);

/// The files that this process made last, through whichever mount: two lanes may open one new file, where a source lists a name
/// twice or a server takes two names for the same. Only the first of them made it.
#[derive(Default)]
struct Lately {
    keys: Option<HashSet<Key>>,
    order: VecDeque<Key>,
    made: u64,
}

static LATELY: Mutex<Lately> = Mutex::new(Lately { keys: None, order: VecDeque::new(), made: 0 });

fn lately() -> MutexGuard<'static, Lately> {
    LATELY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Lately {
    /// True for the first who claims the file; false also when too many were made since `from` to be sure.
    fn claim(&mut self, key: Key, from: u64) -> bool {
        if self.made - from >= LATELY_MAX as u64 || !self.keys.get_or_insert_default().insert(key) {
            return false;
        }
        self.made += 1;
        self.order.push_back(key);
        if self.order.len() > LATELY_MAX
            && let (Some(oldest), Some(keys)) = (self.order.pop_front(), &mut self.keys)
        {
            keys.remove(&oldest);
        }
        true
    }
}

fn key(stat: &Stat) -> Key {
    (stat.st_ino, attr(stat).ctime)
}

/// What a mount has learned of the files it makes.
pub(super) struct Learned {
    /// The owner of a new file: the caller, or whom the server takes it for. From the first file, which is made with O_EXCL.
    uid: AtomicU64,
    newest: Mutex<Time>,
    doubts: AtomicU32,
    /// Held while the first file is made, so that not every lane makes one.
    first: Mutex<()>,
}

/// A try to make a file without O_EXCL.
pub(super) struct Try {
    expected: Expected,
    from: u64,
}

const UNKNOWN: u64 = u64::MAX;

impl Learned {
    /// Nothing yet; `possible` says whether it is of use here.
    pub fn new(possible: bool) -> Learned {
        let doubts = AtomicU32::new(if possible { 0 } else { DOUBTS_MAX });
        Learned { uid: AtomicU64::new(UNKNOWN), newest: Mutex::default(), doubts, first: Mutex::default() }
    }

    fn newest(&self) -> MutexGuard<'_, Time> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// False where O_EXCL is as cheap, or where it was in doubt too often what is new.
    pub fn is_of_use(&self) -> bool {
        self.doubts.load(Ordering::Relaxed) < DOUBTS_MAX
    }

    /// Begins a try; none before the first file was made. `mode` is what the file will have.
    pub fn begin(&self, mode: u32) -> Option<Try> {
        let uid = u32::try_from(self.uid.load(Ordering::Acquire)).ok()?;
        let from = lately().made;
        Some(Try { expected: Expected { mode, uid, since: *self.newest() }, from })
    }

    /// True when it is known what new files look like.
    pub fn is_ready(&self) -> bool {
        self.uid.load(Ordering::Acquire) != UNKNOWN
    }

    /// The right to make the first file, when no other lane does that now; the others wait for it.
    pub fn first(&self) -> MutexGuard<'_, ()> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What came of it.
    pub fn end(&self, tried: &Try, stat: &Stat) -> Verdict {
        let verdict = match judge(stat, &tried.expected) {
            Verdict::New if !lately().claim(key(stat), tried.from) => Verdict::Doubtful,
            verdict => verdict,
        };
        match verdict {
            Verdict::New => self.note(stat),
            Verdict::Doubtful => _ = self.doubts.fetch_add(1, Ordering::Relaxed),
            Verdict::Old => {}
        }
        verdict
    }

    /// A file was made with O_EXCL. False when another lane has taken it for its own meanwhile; in the tick in which a file of
    /// ours was removed, also one that got its inode number: but only once.
    pub fn made(&self, stat: &Stat) -> bool {
        let mut lately = lately();
        let from = lately.made;
        let first = lately.claim(key(stat), from);
        if !first {
            lately.keys.get_or_insert_default().remove(&key(stat));
        }
        drop(lately);
        self.note(stat);
        self.uid.store(u64::from(stat.st_uid), Ordering::Release);
        first
    }

    fn note(&self, stat: &Stat) {
        let mut newest = self.newest();
        *newest = (*newest).max(attr(stat).ctime);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat() -> (tempfile::TempDir, Stat) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, "").unwrap();
        let mut stat = rustix::fs::stat(&path).unwrap();
        (stat.st_atime, stat.st_mtime, stat.st_ctime) = (1000, 1000, 1000);
        (stat.st_atime_nsec, stat.st_mtime_nsec, stat.st_ctime_nsec) = (5, 5, 5);
        stat.st_mode = 0o100_640;
        stat.st_uid = 7;
        (dir, stat)
    }

    fn expected(secs: i64, nanos: u32) -> Expected {
        Expected { mode: 0o640, uid: 7, since: Time { secs, nanos } }
    }

    #[test]
    fn only_what_looks_new_in_every_way_is_new() {
        let (_dir, new) = stat();
        for since in [expected(0, 0), expected(1000, 4), expected(1000, 5)] {
            assert_eq!(judge(&new, &since), Verdict::New);
        }
        let told = |change: &dyn Fn(&mut Stat)| {
            let mut changed = new;
            change(&mut changed);
            judge(&changed, &expected(1000, 5))
        };
        assert_eq!(told(&|s| s.st_mode = 0o040_640), Verdict::Old);
        assert_eq!(told(&|s| s.st_mode = 0o010_640), Verdict::Old);
        assert_eq!(told(&|s| s.st_mode = 0o120_640), Verdict::Old);
        assert_eq!(told(&|s| s.st_size = 1), Verdict::Old);
        assert_eq!(told(&|s| s.st_nlink = 2), Verdict::Old);
        assert_eq!(told(&|s| s.st_uid = 8), Verdict::Old);
        for mode in [0o100_644, 0o100_600, 0o104_640] {
            assert_eq!(told(&|s| s.st_mode = mode), Verdict::Doubtful);
        }
        assert_eq!(told(&|s| s.st_atime_nsec = 4), Verdict::Doubtful, "it was read");
        assert_eq!(told(&|s| s.st_mtime = 999), Verdict::Doubtful, "it was written or touched");
        assert_eq!(told(&|s| s.st_ctime_nsec = 6), Verdict::Doubtful, "it was linked, renamed or given away");
    }

    #[test]
    fn a_file_from_before_is_not_new_and_one_from_long_before_is_old() {
        let (_dir, new) = stat();
        assert_eq!(judge(&new, &expected(1000, 6)), Verdict::Doubtful);
        assert_eq!(judge(&new, &expected(1060, 0)), Verdict::Doubtful);
        assert_eq!(judge(&new, &expected(1061, 0)), Verdict::Old);
        assert_eq!(judge(&new, &expected(i64::MIN, 0)), Verdict::New);
    }

    #[test]
    fn of_two_who_open_one_new_file_the_first_made_it() {
        let mut lately = Lately::default();
        let (a, b) = ((5, Time { secs: 1, nanos: 0 }), (5, Time { secs: 1, nanos: 1 }));
        assert!(lately.claim(a, 0));
        assert!(!lately.claim(a, 0));
        assert!(lately.claim(b, 0), "an inode number that is used again");
        for ino in 10..10 + LATELY_MAX as u64 {
            let from = lately.made;
            assert!(lately.claim((ino, a.1), from));
        }
        assert!(!lately.claim((9, a.1), 1), "nobody knows any more what was made since");
        assert!(lately.keys.as_ref().unwrap().len() <= LATELY_MAX && lately.order.len() <= LATELY_MAX);
    }

    #[test]
    fn nothing_is_tried_before_the_first_file_or_after_many_doubts() {
        let (_dir, mut new) = stat();
        new.st_ino = u64::MAX; // no file of another test
        let learned = Learned::new(true);
        assert!(learned.begin(0o640).is_none());
        assert!(learned.made(&new));
        assert!(!learned.made(&new), "another lane has it");
        assert!(learned.made(&new), "and it was removed since");
        for _ in 0..DOUBTS_MAX {
            assert!(learned.is_of_use());
            let tried = learned.begin(0o600).unwrap();
            assert_eq!(learned.end(&tried, &new), Verdict::Doubtful);
        }
        assert!(!learned.is_of_use());
        assert!(!Learned::new(false).is_of_use());
    }
}
