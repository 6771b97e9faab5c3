//! What tallies do not tell of a job's calls: how many round trips its lanes wait for, the longest chain of calls that wait for each
//! other, and how many changes one directory takes.
//!
//! A tap; it changes nothing and knows no time. Memory is bounded: of objects seen long ago the chain is forgotten, which may
//! make the longest one too short.

use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::base::Memo;
use crate::storage::{self, Attr, Beyond, Call, Cookie, Found, How, Kind, Mount, Node, Op, Out, Tally, Tap};

/// Objects of which it is remembered what was changed or listed, at least; some 60 bytes each.
const REMEMBERED_MAX: usize = 100_000;

/// Objects of which it is remembered after how many round trips they are known, or written to, at least; some 20 bytes each. Each new one is noted, and
/// goes on within a batch or two of each lane: more would not fit a processor's cache, and plan extract of a million files to an export
/// took 5 % longer with 100,000.
const KNOWN_MAX: usize = 16_384;

/// Blocks that a file system counts together: less than that missing from a file is no hole.
const BLOCK_MAX: u64 = 64 << 10;

/// What was seen so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Round trips that lanes waited for: one for a window of direct NFS; of a kernel's mount one for each procedure.
    pub rounds: u64,
    /// Round trips in the longest chain of calls of which each needs an earlier one's answer.
    pub chain: u64,
    /// The most changes of entries that one directory takes.
    pub busiest: u64,
    /// The most entries that one directory has right after one was added, as far as that is seen: those listed, plus those added,
    /// less those removed. What was there and not listed is not known; a name that replaces another one adds to them.
    pub largest: u64,
    /// The longest chain where changes of one directory also wait for each other, at its lock in a kernel's mount; else 0.
    pub locked: u64,
    /// A file was met that has fewer bytes on storage than its size.
    pub has_holes: bool,
}

impl Seen {
    /// What two courses saw that know nothing of each other.
    pub fn and(self, other: Seen) -> Seen {
        Seen {
            rounds: self.rounds + other.rounds,
            chain: self.chain.max(other.chain),
            busiest: self.busiest.max(other.busiest),
            largest: self.largest.max(other.largest),
            locked: self.locked.max(other.locked),
            has_holes: self.has_holes || other.has_holes,
        }
    }
}

struct State {
    seen: Seen,
    plain: Known,
    /// The same where locks are waited for.
    locked: Known,
}

/// Of the objects that were seen, by their keys.
struct Known {
    /// After how many round trips an object is known.
    known: Memo<u64>,
    /// After how many it was last written to.
    written: Memo<u64>,
    /// What else became of it.
    since: Memo<Since>,
    /// The keys of directories by their parent and name.
    named: Memo<u64>,
    /// The keys of directories' parents by their own.
    above: Memo<u64>,
}

/// After how many round trips an object was last changed, was listed so far, and is free of its lock; how often a directory was
/// changed, and its entries, which may be below 0 where it was not listed.
#[derive(Clone, Copy, Default)]
struct Since {
    changed: u64,
    listed: u64,
    locked: u64,
    changes: u64,
    entries: i64,
}

/// Follows the calls of one mount or more.
pub struct Course {
    state: Mutex<State>,
}

impl Default for Course {
    fn default() -> Course {
        let known = || Known {
            known: Memo::new(KNOWN_MAX),
            written: Memo::new(KNOWN_MAX),
            since: Memo::new(REMEMBERED_MAX),
            named: Memo::new(REMEMBERED_MAX),
            above: Memo::new(REMEMBERED_MAX),
        };
        let state = State { seen: Seen::default(), plain: known(), locked: known() };
        Course { state: Mutex::new(state) }
    }
}

impl Course {
    /// What was seen so far.
    pub fn seen(&self) -> Seen {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).seen
    }

    /// A tap for a mount of which only this is to be known: whether a file with holes was met.
    pub fn looking(self: &Arc<Course>) -> Arc<dyn Tap> {
        Arc::new(Looker(self.clone()))
    }

    /// A tap for `mount`, which sends the procedures of its calls one after the other, as a kernel does, when `in_turn`.
    pub fn tap(self: &Arc<Course>, mount: Arc<dyn Mount>, in_turn: bool) -> Arc<dyn Tap> {
        Arc::new(Follower { course: self.clone(), mount, in_turn })
    }
}

/// True for a file that has fewer bytes on storage than its size.
fn has_holes(attr: &Attr) -> bool {
    attr.kind == Kind::File && attr.used.saturating_add(BLOCK_MAX) < attr.size
}

struct Looker(Arc<Course>);

impl Tap for Looker {
    fn sees_each(&self) -> bool {
        false
    }

    fn after(&self, calls: &[Call<'_>], _took: Duration) {
        let met = |call: &Call<'_>| match &call.op {
            Op::ReadDir { out: Ok(page), .. } => page.entries.iter().filter_map(|e| e.attr.as_ref()).any(has_holes),
            _ => call.found_object().and_then(|found| found.attr.as_ref()).is_some_and(has_holes),
        };
        if calls.iter().any(met) {
            self.0.state.lock().unwrap_or_else(PoisonError::into_inner).seen.has_holes = true;
        }
    }
}

struct Follower {
    course: Arc<Course>,
    mount: Arc<dyn Mount>,
    in_turn: bool,
}

impl Tap for Follower {
    fn after(&self, calls: &[Call<'_>], _took: Duration) {
        let mut state = self.course.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { seen, plain, locked } = &mut *state;
        let mut rounds = 0;
        let dir = Cell::default();
        for call in calls {
            // Of a call that is one procedure no tally is made.
            let lowered = (self.in_turn || !call.proc().is_nfs3()).then(|| self.mount.lower(call));
            let trips = lowered.as_ref().map_or(1, Tally::calls);
            rounds += trips;
            let one = if self.in_turn { trips } else { trips.min(1) };
            let end = Window { state: plain, seen, lock: None, dir: &dir }.follow(call, one);
            seen.chain = seen.chain.max(end);
            if let Some(lowered) = lowered.filter(|_| self.in_turn) {
                let lock = storage::locked(&call.op, &lowered);
                let end = Window { state: locked, seen, lock, dir: &dir }.follow(call, one);
                seen.locked = seen.locked.max(end);
            }
        }
        state.seen.rounds += if self.in_turn { rounds } else { rounds.min(1) };
    }
}

struct Window<'a, 'c> {
    state: &'a mut Known,
    seen: &'a mut Seen,
    /// The last directory and its key: most often a window's calls are about one, and a handle's key is a hash of all its bytes.
    dir: &'a Cell<Option<(&'c Node, u64)>>,
    /// The directory that the call changes and how long that keeps others waiting; none where none wait.
    lock: Option<(&'c Node, u64)>,
}

impl<'c> Window<'_, 'c> {
    /// After how many round trips the object of this key is known.
    fn get(&self, key: u64) -> u64 {
        self.state.known.get(key).copied().unwrap_or(0)
    }

    fn key_of_dir(&self, dir: &'c Node) -> u64 {
        if let Some((_, key)) = self.dir.get().filter(|(last, _)| *last == dir) {
            return key;
        }
        let key = dir.key();
        self.dir.set(Some((dir, key)));
        key
    }

    fn since(&self, key: u64) -> Since {
        self.state.since.get(key).copied().unwrap_or_default()
    }

    fn raise(&mut self, key: u64, to: u64) {
        let is = self.state.known.renew(key, || to);
        *is = to.max(*is);
    }

    /// Notes what became of the object of this key.
    fn note(&mut self, key: u64, note: impl FnOnce(&mut Since)) -> Since {
        let since = self.state.since.renew(key, Since::default);
        note(since);
        *since
    }

    /// After how many round trips the object is known.
    fn at(&self, node: &Node) -> u64 {
        self.get(node.key())
    }

    /// After how many it has last been changed.
    fn settled(&self, node: &Node) -> u64 {
        let key = node.key();
        let written = self.state.written.get(key).copied().unwrap_or(0);
        self.get(key).max(written).max(self.since(key).changed)
    }

    /// After how many the directory is known, and the names in it that were listed so far.
    fn listed(&self, dir: &'c Node) -> u64 {
        let key = self.key_of_dir(dir);
        self.get(key).max(self.since(key).listed)
    }

    /// After how many round trips the call can begin.
    fn begins(&self, op: &'c Op<'_>) -> u64 {
        match op {
            Op::SetAttr { node, .. } | Op::Commit { node, .. } => self.settled(node),
            Op::GetAttr { node, .. }
            | Op::Access { node, .. }
            | Op::ReadLink { node, .. }
            | Op::Read { node, .. }
            | Op::Write { node, .. }
            | Op::FsStat { node, .. }
            | Op::FsInfo { node, .. }
            | Op::PathConf { node, .. } => self.at(node),
            Op::Lookup { dir, .. }
            | Op::Create { dir, .. }
            | Op::MkDir { dir, .. }
            | Op::Symlink { dir, .. }
            | Op::MkNod { dir, .. } => self.get(self.key_of_dir(dir)),
            // The name is one of a page, where there are pages.
            Op::Remove { dir, .. } => self.listed(dir),
            Op::RmDir { dir, name, .. } => {
                let child = self.state.named.get(dir.key_of(name)).copied();
                // It is empty when its last page was seen and the last name on it is gone.
                let emptied = |child| self.get(child).max(self.since(child).changed).max(self.since(child).listed);
                self.listed(dir).max(child.map_or(0, emptied))
            }
            Op::Rename { from_dir, to_dir, .. } => self.at(from_dir).max(self.at(to_dir)),
            Op::Link { node, dir, .. } => self.at(node).max(self.at(dir)),
            Op::ReadDir { dir, from, .. } => {
                if *from == Cookie::default() {
                    self.at(dir)
                } else {
                    self.listed(dir)
                }
            }
            Op::Null { .. } | Op::Beyond(Beyond::Copy { .. } | Beyond::CopyFile { .. } | Beyond::CopyFiles { .. }) => 0,
            Op::Beyond(
                Beyond::Seek { node, .. }
                | Beyond::Clear { dir: node, .. }
                | Beyond::IoAdvise { node, .. }
                | Beyond::ListXattrs { node, .. }
                | Beyond::GetXattr { node, .. }
                | Beyond::SetXattr { node, .. }
                | Beyond::RemoveXattr { node, .. },
            ) => self.at(node),
        }
    }

    fn look(&mut self, attr: Option<&Attr>) {
        self.seen.has_holes |= attr.is_some_and(has_holes);
    }

    /// `is_new`: it was made by this call, so that nothing is remembered of it, and nothing has to be looked for.
    fn found(&mut self, dir: &'c Node, name: &crate::base::Name, out: &Out<Found>, end: u64, is_new: bool) {
        if let Ok(found) = out {
            self.look(found.attr.as_ref());
            let node = found.node.key();
            if is_new {
                self.state.known.insert(node, end);
            } else {
                self.raise(node, end);
            }
            if found.attr.is_none_or(|attr| attr.kind == Kind::Dir) {
                self.state.named.insert(dir.key_of(name), node);
            }
            if found.attr.is_some_and(|attr| attr.kind == Kind::Dir) {
                let above = self.key_of_dir(dir);
                self.state.above.insert(node, above);
            }
        }
    }

    /// A directory gets its attributes when those below it have theirs: one after the other, upwards.
    fn attributes_set(&mut self, node: &Node, end: u64) {
        if let Some(above) = self.state.above.get(node.key()).copied() {
            self.note(above, |since| since.changed = since.changed.max(end));
        }
    }

    /// An entry of `dir` was made, removed or moved, if the call `succeeded`: it then has `more` entries than before.
    fn changes(&mut self, dir: &'c Node, end: u64, succeeded: bool, more: i64) {
        let since = self.note(self.key_of_dir(dir), |since| {
            since.changed = since.changed.max(end);
            if succeeded {
                since.changes += 1;
                since.entries = since.entries.wrapping_add(more);
            }
        });
        if succeeded {
            self.seen.busiest = self.seen.busiest.max(since.changes);
        }
        if succeeded && more > 0 {
            self.seen.largest = self.seen.largest.max(u64::try_from(since.entries).unwrap_or(0));
        }
    }

    /// After how many round trips it begins that has to wait for the lock of the directory that it changes.
    fn enters(&mut self, begins: u64) -> u64 {
        let Some((dir, under_lock)) = self.lock else { return begins };
        let key = self.key_of_dir(dir);
        let enters = begins.max(self.since(key).locked);
        self.note(key, |since| since.locked = enters + under_lock);
        enters
    }

    /// The call's outcome, after which round trip it comes.
    fn follow(&mut self, call: &'c Call<'_>, trips: u64) -> u64 {
        let begins = self.begins(&call.op);
        let end = self.enters(begins) + trips;
        match &call.op {
            Op::Lookup { dir, name, out } => self.found(dir, name, out, end, false),
            Op::Create { dir, name, how: How::Unchecked, out, .. } => {
                self.found(dir, name, out, end, false);
                self.changes(dir, end, out.is_ok(), 1);
            }
            Op::Create { dir, name, out, .. }
            | Op::MkDir { dir, name, out, .. }
            | Op::Symlink { dir, name, out, .. }
            | Op::MkNod { dir, name, out, .. } => {
                self.found(dir, name, out, end, true);
                self.changes(dir, end, out.is_ok(), 1);
            }
            Op::Link { dir, out, .. } => self.changes(dir, end, out.is_ok(), 1),
            Op::Remove { dir, out, .. } | Op::RmDir { dir, out, .. } => self.changes(dir, end, out.is_ok(), -1),
            Op::Rename { from_dir, to_dir, out, .. } if from_dir.key() == to_dir.key() => {
                self.changes(to_dir, end, out.is_ok(), 0);
            }
            Op::Rename { from_dir, to_dir, out, .. } => {
                self.changes(from_dir, end, out.is_ok(), -1);
                self.changes(to_dir, end, out.is_ok(), 1);
            }
            Op::SetAttr { node, .. } => self.attributes_set(node, end),
            Op::Write { node, .. } => {
                let written = self.state.written.renew(node.key(), || end);
                *written = end.max(*written);
            }
            Op::ReadDir { dir, from, out: Ok(page), .. } => {
                let above = dir.key();
                self.note(above, |since| {
                    since.listed = since.listed.max(end);
                    // A listing that begins again tells all anew.
                    let before = if *from == Cookie::default() { 0 } else { since.entries };
                    since.entries = before.wrapping_add_unsigned(page.entries.len() as u64);
                });
                for entry in &page.entries {
                    self.look(entry.attr.as_ref());
                    let Some(node) = &entry.node else { continue };
                    let node = node.key();
                    self.raise(node, end);
                    if entry.kind.is_none_or(|kind| kind == Kind::Dir) {
                        self.state.named.insert(dir.key_of(&entry.name), node);
                    }
                    if entry.kind == Some(Kind::Dir) {
                        self.state.above.insert(node, above);
                    }
                }
            }
            _ => {}
        }
        end
    }
}

#[cfg(test)]
mod tests;
