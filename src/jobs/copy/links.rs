//! Hard links: which of the source's multiply linked files is where at the target.
//!
//! Keyed by the source's file id. An entry is forgotten a while after as many names as the file has were met: a page of a listing may
//! repeat names of the one before. At most `max` entries are remembered, some 250 bytes each; when there are more, the upper half of the
//! keys (by hash) is postponed, and the source is listed once more for those. So any number of links is carried in bounded memory, across
//! directories, and each pass does at least half of what fits.

use std::collections::hash_map::Entry as Slot;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

use crate::base::hash::mix;
use crate::storage::{Attr, Node};

use super::super::first_met::FirstMet;
use super::shares::Shares;
use super::task::Held;

/// Complete entries that are kept, 16 MB: many times the names of a page.
const COMPLETE_MAX: usize = 1 << 16;

/// File system and file.
pub(super) type Key = (u64, u64);

/// What is to be done with a name of a multiply linked file.
pub(super) enum Role {
    /// The first name met: to be copied like any other, and `made` told.
    First(Key),
    /// The file is there under another name: its node and file id at the target.
    Other(Node, Option<u64>),
    /// It waits for the first one.
    Parked,
    /// For a later pass.
    Postponed,
    /// Dealt with in an earlier pass.
    Past,
    /// Not what the first name was: the file was changed, or its id has become another file's. It is copied by itself.
    Another,
    /// The file was changed while its first name was copied, which was begun anew: what is known of this one may be older.
    Anew,
    /// Nothing more can be remembered, and there is no later pass: it is copied by itself.
    Alone,
}

enum Link {
    Making(Vec<Held>),
    Made(Node, Option<u64>),
}

struct Entry {
    link: Link,
    /// Names that have not been met.
    left: u32,
    first: FirstMet,
    /// The first name was looked up again, and the file has been changed.
    renewed: bool,
}

impl Entry {
    fn new(link: Link, left: u32, attr: &Attr) -> Entry {
        Entry { link, left, first: FirstMet::new(attr), renewed: false }
    }

    /// All its names were met, so that another file may have its number by now; and it is another one.
    fn is_over(&self, attr: &Attr) -> bool {
        self.left == 0 && matches!(self.link, Link::Made(..)) && self.first.is_succeeded_by(attr)
    }
}

struct Inner {
    map: HashMap<Key, Entry>,
    /// Keys of a hash below are done.
    floor: u64,
    /// Keys of a hash from here on are postponed; none when there is no pass after this one.
    ceiling: Option<u64>,
    /// Names are met more than once, so that how many were met does not say that there are no others.
    keeps: bool,
    /// By several copies.
    several: bool,
    /// Entries with no name left, in the order in which their last name was met.
    complete: VecDeque<Key>,
    /// The source can be gone through again.
    passes: bool,
    /// Copies that were begun with this table.
    copies: u64,
    /// An entry with names that were not met was forgotten; it was told what that means.
    lost: bool,
    told: bool,
}

/// The table.
pub(super) struct Links {
    inner: Mutex<Inner>,
    max: usize,
    /// The target's own.
    pub shares: Shares,
    /// A file system of the target.
    fsid: OnceLock<u64>,
    /// It has another one.
    several_fs: AtomicBool,
}

fn hash(key: Key) -> u64 {
    mix(key.1 ^ mix(key.0))
}

impl Links {
    /// At most `max` entries; `several`: for copies some of which meet what others have met.
    pub fn new(max: usize, several: bool) -> Links {
        let inner = Inner {
            map: HashMap::new(),
            floor: 0,
            ceiling: None,
            keeps: true,
            several,
            complete: VecDeque::new(),
            passes: false,
            copies: 0,
            lost: false,
            told: false,
        };
        let several_fs = AtomicBool::new(false);
        let shares = Shares::default();
        Links { inner: Mutex::new(inner), max: max.max(1), shares, fsid: OnceLock::new(), several_fs }
    }

    /// A directory of the target is of this file system; each is met before what is in it.
    pub fn met_fs(&self, fsid: u64) {
        if *self.fsid.get_or_init(|| fsid) != fsid {
            self.several_fs.store(true, Ordering::Relaxed);
        }
    }

    /// Has the target files of one id that are not one file?
    pub fn has_several_fs(&self) -> bool {
        self.several_fs.load(Ordering::Relaxed)
    }

    /// Another copy begins; what those before it have made stays known. `passes`: its source can be gone through again for those that are
    /// postponed.
    pub fn begin(&self, passes: bool) {
        let mut inner = self.inner();
        (inner.passes, inner.keeps) = (passes, !passes || inner.several);
        (inner.floor, inner.ceiling) = (0, None);
        inner.map.retain(|_, entry| matches!(entry.link, Link::Made(..)));
        inner.copies += 1;
    }

    /// True once, when names that one copy met may have been forgotten before another met their file's others.
    pub fn has_lost_others(&self) -> bool {
        let mut inner = self.inner();
        let tells = inner.lost && inner.copies > 1 && !inner.told;
        inner.told |= tells;
        tells
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().expect("nothing panics while it holds the links")
    }

    /// The key of an object that has other names.
    pub fn key(attr: &Attr) -> Key {
        (attr.fsid, attr.fileid)
    }

    /// The first name was looked up again, and is this file still.
    pub fn renew(&self, attr: &Attr) {
        if let Some(entry) = self.inner().map.get_mut(&Links::key(attr)) {
            entry.renewed |= entry.first.is_changed(attr);
            entry.first = FirstMet::new(attr);
        }
    }

    /// A name of a file with `attr.nlink` names was met. `object` is taken where it has to wait.
    pub fn meet(&self, attr: &Attr, object: &mut Option<Held>) -> Role {
        let key = Links::key(attr);
        let mut inner = self.inner();
        if inner.may_forget() && inner.map.get(&key).is_some_and(|entry| entry.is_over(attr)) {
            inner.map.remove(&key);
        }
        if let Some(entry) = inner.map.get_mut(&key) {
            // What is being made may be looked up again until it is.
            if entry.first.is_changed(attr) && matches!(entry.link, Link::Made(..)) {
                let is_first_look = object.as_ref().is_some_and(|object| object.tries == 0);
                return if entry.renewed && is_first_look { Role::Anew } else { Role::Another };
            }
            let was_last = entry.left == 1;
            entry.left = entry.left.saturating_sub(1);
            match &mut entry.link {
                Link::Making(waiting) => {
                    waiting.extend(object.take());
                    return Role::Parked;
                }
                Link::Made(node, fileid) => {
                    let role = Role::Other(node.clone(), *fileid);
                    if was_last {
                        inner.complete(key, self.max);
                    }
                    return role;
                }
            }
        }
        let hash_here = hash(key);
        if hash_here < inner.floor {
            return Role::Past;
        }
        if inner.ceiling.is_some_and(|ceiling| hash_here >= ceiling) {
            return Role::Postponed;
        }
        if inner.map.len() >= self.max {
            let has_room = inner.may_forget() && inner.forget_complete();
            if !has_room && !inner.passes {
                return Role::Alone;
            }
            if !has_room {
                inner.postpone_upper_half();
            }
            if inner.ceiling.is_some_and(|ceiling| hash_here >= ceiling) {
                return Role::Postponed;
            }
        }
        let left = attr.nlink.saturating_sub(1);
        inner.map.insert(key, Entry::new(Link::Making(Vec::new()), left, attr));
        Role::First(key)
    }

    /// A directory is listed anew: no entry is forgotten from now on.
    pub fn keep(&self) {
        self.inner().keeps = true;
    }

    /// A name that was to be another one of the file that is `there` will be met again: something was in its way.
    pub fn put_back(&self, attr: &Attr, (there, fileid): (Node, Option<u64>)) {
        let mut inner = self.inner();
        let has_room = inner.map.len() < self.max;
        let entry = Entry::new(Link::Made(there, fileid), 0, attr);
        match inner.map.entry(Links::key(attr)) {
            Slot::Occupied(mut entry) => entry.get_mut().left += 1,
            Slot::Vacant(slot) if has_room => slot.insert(entry).left += 1,
            // It will be a file of its own.
            Slot::Vacant(_) => {}
        }
    }

    /// The file that is `there` is gone: the name that is met next is its first again.
    pub fn forget(&self, attr: &Attr, there: &Node) {
        if let Slot::Occupied(entry) = self.inner().map.entry(Links::key(attr))
            && matches!(&entry.get().link, Link::Made(node, _) if node == there)
        {
            entry.remove();
        }
    }

    /// The first name is there, or not (none): what waited for it is to be met again.
    pub fn made(&self, key: Key, made: Option<(Node, Option<u64>)>) -> Vec<Held> {
        let mut inner = self.inner();
        let postponed = inner.ceiling.is_some_and(|ceiling| hash(key) >= ceiling);
        let Some(entry) = inner.map.get_mut(&key) else { return Vec::new() };
        let mut waiting = match &mut entry.link {
            Link::Making(waiting) => std::mem::take(waiting),
            Link::Made(..) => Vec::new(),
        };
        if entry.renewed {
            waiting.iter_mut().for_each(|object| object.source = None);
        }
        entry.left += u32::try_from(waiting.len()).unwrap_or(u32::MAX);
        match made {
            Some((node, fileid)) if !postponed || !waiting.is_empty() => {
                entry.link = Link::Made(node, fileid);
                if entry.left == 0 {
                    inner.complete(key, self.max);
                }
            }
            _ => {
                inner.map.remove(&key);
            }
        }
        waiting
    }

    /// Begins another pass if something was postponed.
    pub fn next_pass(&self) -> bool {
        let mut inner = self.inner();
        let Some(ceiling) = inner.ceiling.take() else { return false };
        inner.floor = ceiling;
        inner.lost |= inner.map.values().any(|entry| entry.left > 0);
        (inner.map, inner.complete) = (HashMap::new(), VecDeque::new());
        true
    }
}

impl Inner {
    /// Once a directory is listed anew, names of it may have been counted twice.
    fn may_forget(&self) -> bool {
        !self.keeps || !self.passes || self.several
    }

    /// The last name of this one was met.
    fn complete(&mut self, key: Key, max: usize) {
        if !self.may_forget() {
            return;
        }
        self.complete.push_back(key);
        if self.complete.len() > if self.keeps { max } else { max.min(COMPLETE_MAX) } {
            self.forget_complete();
        }
    }

    /// Makes room by an entry all names of which were met; false if there is none.
    fn forget_complete(&mut self) -> bool {
        while let Some(key) = self.complete.pop_front() {
            if self.map.get(&key).is_some_and(|entry| entry.left == 0 && matches!(entry.link, Link::Made(..))) {
                self.map.remove(&key);
                return true;
            }
        }
        false
    }

    fn postpone_upper_half(&mut self) {
        let mut hashes: Vec<u64> = self.map.keys().map(|key| hash(*key)).collect();
        let middle = hashes.len() / 2;
        let (_, median, _) = hashes.select_nth_unstable(middle);
        // At least one key stays, so that each pass gets somewhere. Never higher than before, though those that are being made
        // are above it: what was postponed once would count as done in the next pass.
        let ceiling = (*median).max(self.floor + 1).min(self.ceiling.unwrap_or(u64::MAX));
        self.ceiling = Some(ceiling);
        let before = self.map.len();
        self.map.retain(|key, entry| hash(*key) < ceiling || matches!(entry.link, Link::Making(_)));
        // What this copy has made is met again in its next pass, but what another one has made is not.
        self.lost |= self.copies > 1 && self.map.len() < before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Time;
    use crate::storage::{Handle, Kind};

    fn attr(fileid: u64, nlink: u32) -> Attr {
        let time = Default::default();
        Attr {
            kind: Kind::File,
            mode: 0,
            nlink,
            uid: 0,
            gid: 0,
            size: 0,
            used: 0,
            rdev: (0, 0),
            fsid: 1,
            fileid,
            atime: time,
            mtime: time,
            ctime: time,
        }
    }

    fn node(fileid: u64) -> Node {
        Node::Handle(Handle::new(&fileid.to_be_bytes()).unwrap())
    }

    #[test]
    fn every_name_of_every_file_gets_a_role_in_some_pass() {
        let (files, names) = (1000_u64, 3_u32);
        let links = Links::new(64, false);
        links.begin(true);
        let mut done = vec![0; files as usize];
        let mut passes = 0;
        loop {
            passes += 1;
            for name in 0..names {
                for fileid in 0..files {
                    match links.meet(&attr(fileid, names), &mut None) {
                        Role::First(key) => {
                            assert_eq!(links.made(key, Some((node(fileid), None))).len(), 0);
                            done[fileid as usize] |= 1 << name;
                        }
                        Role::Other(there, _) => {
                            assert_eq!(there, node(fileid));
                            done[fileid as usize] |= 1 << name;
                        }
                        Role::Postponed | Role::Past => {}
                        Role::Parked | Role::Another | Role::Anew | Role::Alone => panic!("nothing waits here"),
                    }
                }
            }
            assert!(links.inner().map.len() <= 64);
            if !links.next_pass() {
                break;
            }
        }
        assert!(passes > 2);
        assert!(done.iter().all(|names| *names == 0b111));
    }

    #[test]
    fn a_file_id_that_has_become_another_files_makes_no_link() {
        let links = Links::new(10, false);
        links.begin(true);
        let Role::First(key) = links.meet(&attr(1, 2), &mut None) else { panic!() };
        links.made(key, Some((node(1), None)));
        let other = Attr { size: 9, ..attr(1, 2) };
        assert!(matches!(links.meet(&other, &mut None), Role::Another));
        assert!(matches!(links.meet(&attr(1, 2), &mut None), Role::Other(..)));
    }

    #[test]
    fn what_is_being_made_raises_no_ceiling() {
        let links = Links::new(2, false);
        links.begin(true);
        let mut ids: Vec<u64> = (0..40).collect();
        ids.sort_unstable_by_key(|id| hash((1, *id)));
        // The two highest are long in the making; lower ones come and go.
        let mut ceilings = Vec::new();
        for id in [39, 38, 9, 8, 7, 6, 5, 4, 3, 2].map(|i| ids[i]) {
            if let Role::First(key) = links.meet(&attr(id, 2), &mut None)
                && ceilings.len() > 4
            {
                links.made(key, None);
            }
            ceilings.extend(links.inner().ceiling);
        }
        for id in [9, 8, 7, 6].map(|i| ids[i]) {
            links.made((1, id), None);
        }
        links.meet(&attr(ids[1], 2), &mut None);
        ceilings.extend(links.inner().ceiling);
        assert!(ceilings.len() > 1 && ceilings.is_sorted_by(|a, b| a >= b), "{ceilings:?}");
    }

    #[test]
    fn of_a_list_a_file_is_forgotten_when_the_room_is_needed() {
        let links = Links::new(2, false);
        links.begin(false);
        let meet = |fileid| links.meet(&attr(fileid, 2), &mut None);
        for fileid in [1, 2] {
            let Role::First(key) = meet(fileid) else { panic!() };
            links.made(key, Some((node(fileid), None)));
        }
        // Met twice by one name, perhaps: the other one is a link all the same.
        assert!(matches!((meet(1), meet(1)), (Role::Other(..), Role::Other(..))));
        assert!(matches!(meet(3), Role::First(_)));
        assert!(matches!(meet(2), Role::Other(..)));
        assert!(matches!(meet(4), Role::First(_)));
        // Both are being made, and nothing can make room.
        assert!(matches!(meet(5), Role::Alone));
    }

    #[test]
    fn a_file_is_forgotten_when_all_its_names_were_met_and_others_come() {
        let links = Links::new(10, false);
        links.begin(true);
        let Role::First(key) = links.meet(&attr(1, 2), &mut None) else { panic!() };
        links.made(key, Some((node(1), Some(9))));
        // One that has to come again is still another name of that file.
        for _ in 0..3 {
            let Role::Other(there, fileid) = links.meet(&attr(1, 2), &mut None) else { panic!() };
            assert_eq!(fileid, Some(9));
            links.put_back(&attr(1, 2), (there, fileid));
        }
        // A page may repeat a name.
        for _ in 0..3 {
            assert!(matches!(links.meet(&attr(1, 2), &mut None), Role::Other(_, Some(9))));
        }
        for fileid in 2..40 {
            let Role::First(key) = links.meet(&attr(fileid, 2), &mut None) else { panic!() };
            links.made(key, Some((node(fileid), None)));
            assert!(matches!(links.meet(&attr(fileid, 2), &mut None), Role::Other(..)));
            assert!(links.inner().map.len() <= 10);
        }
        assert!(matches!(links.meet(&attr(1, 2), &mut None), Role::First(_)));
        assert!(!links.next_pass());
    }

    /// All its names were met, it was removed, and a new one has its number: of equal size and time, as all files of one build are.
    #[test]
    fn a_file_that_has_the_number_of_a_complete_one_is_its_own() {
        let links = Links::new(10, false);
        links.begin(true);
        let Role::First(key) = links.meet(&attr(1, 2), &mut None) else { panic!() };
        links.made(key, Some((node(1), Some(9))));
        // A change while names are to come is one of the same file.
        let changed = |secs, nlink| Attr { ctime: Time { secs, nanos: 0 }, ..attr(1, nlink) };
        assert!(matches!(links.meet(&changed(5, 2), &mut None), Role::Other(_, Some(9))));
        // Nor is one that has a name more another file.
        assert!(matches!(links.meet(&changed(5, 3), &mut None), Role::Other(_, Some(9))));
        assert!(matches!(links.meet(&changed(5, 2), &mut None), Role::First(_)));
        // Where names may have been counted twice, nothing is known to be complete.
        let links = Links::new(10, false);
        links.begin(true);
        let Role::First(key) = links.meet(&attr(1, 2), &mut None) else { panic!() };
        links.made(key, Some((node(1), Some(9))));
        assert!(matches!(links.meet(&attr(1, 2), &mut None), Role::Other(_, Some(9))));
        links.keep();
        assert!(matches!(links.meet(&changed(5, 2), &mut None), Role::Other(_, Some(9))));
    }
}
