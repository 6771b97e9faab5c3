//! The front of a walk: entries in the order they go into the archive, listed ahead in parallel.
//!
//! Each place has a key, the way of indices to it; keys in order are the depth-first order. A listing stands at a key until its page
//! has come, which then stands in its place: runs of entries, listings of the directories among them (their entries get keys one level
//! down), and the listing of the next page, whose entries go on at the same level. So a page that comes late holds up what is after
//! it, and nothing is held but what was listed ahead.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::base::Bell;

/// How often a waiting thread looks whether the run was stopped.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Listings that a lane is given at once where its calls wait for nothing: handing them over one by one costs more than making them. An
/// archive of 61,000 empty directories on a tmpfs took 1.9 s of processor time by one lane so.
pub(super) const LISTINGS_MAX: usize = 16;

/// Directories listed at once at first, when nothing is known of how many entries one has.
const AT_FIRST: usize = 64;

/// A place in the order.
pub(super) type Key = Vec<u32>;

/// What stands at a place.
enum Slot<L, E> {
    /// Listed.
    Run(Vec<E>),
    /// To be listed; the rest of a directory if entries of it are listed.
    Due(L, Option<Size>),
    /// A lane lists it; true: a directory's rest.
    UnderWay(bool, Size),
}

/// Entries of a directory: those that are listed, those of them that its listing has gathered, and how many more are expected.
#[derive(Clone, Copy, Default)]
struct Size {
    listed: usize,
    gathered: usize,
    to_come: usize,
}

/// What a listing led to, in order.
pub(super) enum Grown<L, E> {
    Entries(Vec<E>),
    /// A directory's.
    Listing(L),
    /// Of the same directory's next page; nothing follows it. It holds so many entries that will come with its end.
    Rest(L, usize),
}

/// What comes next.
pub(super) enum Next<E> {
    Run(Vec<E>),
    /// A listing has to come first.
    Waits,
    /// Nothing is left.
    End,
}

struct State<L, E> {
    slots: BTreeMap<Key, Slot<L, E>>,
    /// Keys of the listings that are due.
    due: BTreeSet<Key>,
    /// Entries listed and not taken.
    entries: usize,
    under_way: usize,
    /// Entries expected of the directories whose listings are under way, to their ends.
    to_come: usize,
    /// Entries that a listing is expected to bring: those of the largest lately.
    page: usize,
    /// Entries that a directory is expected to have: a mean of those that came to their end, the last ones most.
    directory: usize,
    /// Roots added.
    roots: u32,
    broken: bool,
}

impl<L, E> State<L, E> {
    /// The first listing that is due, if it may be begun, and what is known of its directory. The very first place always may; else what is
    /// listed and what is to come are to stay below a limit. To come is not a page alone: with first pages of 1,000 directories nothing
    /// more may be held, and the rest of each would be listed when no other listing is under way.
    fn first_due(&self, ahead_max: usize) -> Option<(&Key, Option<Size>)> {
        let key = self.due.first()?;
        let is_first = self.slots.first_key_value().is_some_and(|(first, _)| first == key);
        match self.slots.get(key) {
            Some(Slot::Due(_, size)) if is_first || self.entries + self.to_come < ahead_max => Some((key, *size)),
            _ => None,
        }
    }

    /// Learns from a listing's entries what the next ones may bring: at once that it is more, slowly that it is less. Those that have `come`
    /// are in their places; with a number the directory goes on, and its listing has gathered so many. Returns what is known of the
    /// directory; one that has more than was expected is expected to have as many again.
    fn learn(&mut self, size: Size, come: usize, gathered: Option<usize>) -> Size {
        let found = (come + gathered.unwrap_or(0)).saturating_sub(size.gathered);
        self.page = found.max(self.page - self.page.saturating_sub(found).div_ceil(8));
        self.to_come -= size.to_come;
        self.entries = self.entries + gathered.unwrap_or(0) - size.gathered;
        let listed = size.listed + found;
        let Some(gathered) = gathered else {
            self.directory = (7 * self.directory + listed) / 8;
            return Size { listed, ..Size::default() };
        };
        let rest = if size.to_come > found { size.to_come - found } else { listed };
        Size { listed, gathered, to_come: rest.max(self.page) }
    }
}

/// Listings of type `L` that lead to entries of type `E`.
pub(super) struct Front<L, E> {
    state: Mutex<State<L, E>>,
    changed: Bell,
    /// Entries listed ahead at most, as far as pages allow.
    ahead_max: usize,
}

impl<L, E> Front<L, E> {
    pub fn new(ahead_max: usize) -> Front<L, E> {
        let state = State {
            slots: BTreeMap::new(),
            due: BTreeSet::new(),
            entries: 0,
            under_way: 0,
            to_come: 0,
            page: 0,
            directory: ahead_max / AT_FIRST,
            roots: 0,
            broken: false,
        };
        Front { state: Mutex::new(state), changed: Bell::default(), ahead_max }
    }

    fn state(&self) -> MutexGuard<'_, State<L, E>> {
        self.state.lock().expect("nothing panics while it holds the front")
    }

    /// Adds a listing behind all others.
    pub fn add(&self, listing: L) {
        let mut state = self.state();
        let key = vec![state.roots];
        state.roots += 1;
        state.due.insert(key.clone());
        state.slots.insert(key, Slot::Due(listing, None));
    }

    /// Places that are not taken yet: what a list of operands is to stay below.
    pub fn places(&self) -> usize {
        self.state().slots.len()
    }

    /// Listings to be begun now by one of so many lanes, the first ones first: as many as it has calls in flight, and up to
    /// [`LISTINGS_MAX`] where there are enough for all of them. None when enough is listed ahead or `under_way_max` are under way. The
    /// very first place is always listed.
    pub fn begin(&self, (lanes, window): (usize, usize), under_way_max: usize) -> Vec<(Key, L)> {
        let mut state = self.state();
        let max = (state.due.len() / lanes.max(1)).min(LISTINGS_MAX).max(window);
        let mut begun = Vec::new();
        while begun.len() < max && state.under_way < under_way_max {
            let Some((key, known)) = state.first_due(self.ahead_max) else { break };
            let key = key.clone();
            let size = known.unwrap_or(Size { to_come: state.directory.max(state.page), ..Size::default() });
            state.due.pop_first();
            state.under_way += 1;
            state.to_come += size.to_come;
            if let Some(Slot::Due(listing, _)) = state.slots.remove(&key) {
                state.slots.insert(key.clone(), Slot::UnderWay(known.is_some(), size));
                begun.push((key, listing));
            }
        }
        begun
    }

    /// Puts what the listing at `key` led to in its place.
    pub fn grow(&self, key: Key, grown: impl IntoIterator<Item = Grown<L, E>>) {
        let mut state = self.state();
        state.under_way -= 1;
        let mut key = key;
        let size = match state.slots.remove(&key) {
            Some(Slot::UnderWay(true, size)) => size,
            is => {
                key.push(0);
                if let Some(Slot::UnderWay(_, size)) = is { size } else { Size::default() }
            }
        };
        let before = state.entries;
        let (mut run, mut is_end) = (Vec::new(), true);
        let mut put = |state: &mut State<L, E>, slot| {
            if let Slot::Due(..) = slot {
                state.due.insert(key.clone());
            }
            state.slots.insert(key.clone(), slot);
            // An index for each entry of a directory and twice as many directories: below 2^32 for any real one.
            if let Some(last) = key.last_mut() {
                *last += 1;
            }
        };
        for one in grown {
            let (listing, gathered) = match one {
                // A page of files alone stays where it was made.
                Grown::Entries(entries) if run.is_empty() => {
                    run = entries;
                    continue;
                }
                Grown::Entries(entries) => {
                    run.extend(entries);
                    continue;
                }
                Grown::Listing(listing) => (listing, None),
                Grown::Rest(listing, gathered) => (listing, Some(gathered)),
            };
            if !run.is_empty() {
                state.entries += run.len();
                put(&mut state, Slot::Run(std::mem::take(&mut run)));
            }
            is_end = gathered.is_none();
            let come = state.entries - before;
            let rest = gathered.map(|gathered| state.learn(size, come, Some(gathered)));
            put(&mut state, Slot::Due(listing, rest));
        }
        if !run.is_empty() {
            state.entries += run.len();
            put(&mut state, Slot::Run(run));
        }
        if is_end {
            let come = state.entries - before;
            state.learn(size, come, None);
        }
        self.changed.ring(state);
    }

    /// A lane that lists has panicked: nobody is to wait for it.
    pub fn break_off(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.broken = true;
        self.changed.ring(state);
    }

    /// Takes what comes next, if it is there.
    pub fn take(&self) -> Next<E> {
        let mut state = self.state();
        match state.slots.first_key_value() {
            _ if state.broken => Next::End,
            None => Next::End,
            Some((_, Slot::Run(_))) => match state.slots.pop_first() {
                Some((_, Slot::Run(run))) => {
                    state.entries -= run.len();
                    Next::Run(run)
                }
                _ => Next::End,
            },
            Some(_) => Next::Waits,
        }
    }

    /// Waits for a change, for a moment, where nothing can be taken or begun.
    pub fn wait(&self, under_way_max: usize) {
        let state = self.state();
        let first = state.slots.first_key_value();
        let is_there = first.is_none_or(|(_, slot)| matches!(slot, Slot::Run(_)));
        let may_begin = state.under_way < under_way_max && state.first_due(self.ahead_max).is_some();
        let goes_on = is_there || state.broken || may_begin;
        if !goes_on {
            drop(self.changed.wait_timeout(state, LOOK_EVERY).expect("nothing panics while it holds the front"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A listing of a tree in the mind: (path, first index). Directory `path` has 7 entries in pages of 3; those with an even number are
    /// directories, down to a depth.
    type Listing = (Vec<u8>, u8);

    fn page(listing: &Listing, depth: usize) -> Vec<Grown<Listing, Vec<u8>>> {
        let (path, from) = listing;
        let mut grown = Vec::new();
        for i in *from..(from + 3).min(7) {
            let child = [&path[..], &[i]].concat();
            grown.push(Grown::Entries(vec![child.clone()]));
            if i % 2 == 0 && path.len() < depth {
                grown.push(Grown::Listing((child, 0)));
            }
        }
        if from + 3 < 7 {
            grown.push(Grown::Rest((path.clone(), from + 3), 0));
        }
        grown
    }

    fn expected(path: &[u8], depth: usize, into: &mut Vec<Vec<u8>>) {
        for i in 0..7 {
            let child = [path, &[i]].concat();
            into.push(child.clone());
            if i % 2 == 0 && path.len() < depth {
                expected(&child, depth, into);
            }
        }
    }

    /// Whatever order listings end in, entries come depth first; few are held.
    #[test]
    fn entries_come_depth_first_whatever_ends_first() {
        for (backwards, ahead_max) in [(false, 5), (true, 5), (true, 1000), (false, 0)] {
            let front: Front<Listing, Vec<u8>> = Front::new(ahead_max);
            front.add((vec![0], 0));
            front.add((vec![1], 0));
            let (mut got, mut begun, mut most) = (Vec::new(), Vec::new(), 0);
            loop {
                begun.extend(front.begin((1, 2), 4));
                match front.take() {
                    Next::Run(run) => got.extend(run),
                    Next::End => break,
                    Next::Waits => {
                        let (key, listing) = if backwards { begun.pop().unwrap() } else { begun.remove(0) };
                        front.grow(key, page(&listing, 4));
                        most = most.max(front.state().entries);
                    }
                }
            }
            let mut all = Vec::new();
            expected(&[0], 4, &mut all);
            expected(&[1], 4, &mut all);
            assert!(got == all, "{backwards} {ahead_max}");
            // Four listings under way may each bring a page, and those of the first places always come.
            assert!(most <= ahead_max + 4 * 3 + 5 * 3, "{most} were held with {ahead_max}");
        }
    }

    /// What may come of listings under way is held as well, so they are fewer the more each brings.
    #[test]
    fn listings_under_way_are_held_to_what_they_may_bring() {
        let front: Front<usize, usize> = Front::new(1000);
        front.add(0);
        let mut begun = front.begin((1, 1), 4096);
        let listings = (1..=500).map(Grown::Listing);
        front.grow(begun.remove(0).0, [Grown::Entries((1..=500).collect())].into_iter().chain(listings));
        assert_eq!(front.begin((1, 500), 4096).len(), 1, "500 are listed, 500 may come");
        assert!(matches!(front.take(), Next::Run(_)));
        assert_eq!(front.begin((1, 500), 4096).len(), 1, "1,000 may come of two");
        assert!(front.begin((1, 500), 4096).is_empty());
    }

    /// Directories of several pages, too many to be held: those that are begun come to their end before others are, so that listing stays
    /// wide. Each round answers all that is under way.
    #[test]
    fn rests_find_room_and_listing_stays_wide() {
        let (directories, in_page) = (600, 10);
        // The last one gathers what is listed of a directory until its end, as for `--sort=name`.
        for (pages, rounds_max, gathers) in [(1, 10, false), (4, 160, false), (8, 700, false), (4, 160, true)] {
            let front: Front<(usize, usize), usize> = Front::new(800);
            front.add((0, 0));
            let mut under_way = front.begin((4, 4), 256);
            front.grow(under_way.remove(0).0, (0..directories).map(|directory| Grown::Listing((directory, 0))));
            let (mut got, mut rounds, mut most) = (0, 0, 0);
            while got < directories * pages * in_page {
                std::iter::from_fn(|| Some(front.begin((4, 4), 256)).filter(|begun| !begun.is_empty()))
                    .for_each(|begun| under_way.extend(begun));
                for (key, (directory, page)) in under_way.drain(..) {
                    let is_end = page + 1 == pages;
                    let come = if gathers { pages * usize::from(is_end) } else { 1 };
                    let held = if gathers { (page + 1) * in_page } else { 0 };
                    let rest = (!is_end).then(|| Grown::Rest((directory, page + 1), held));
                    front.grow(key, [Some(Grown::Entries(vec![0; come * in_page])), rest].into_iter().flatten());
                }
                most = most.max(front.state().entries);
                while let Next::Run(run) = front.take() {
                    got += run.len();
                }
                rounds += 1;
            }
            // A few pages more: some are the first place's, others larger than was expected.
            assert!(rounds <= rounds_max && most <= 840, "{rounds} rounds for {pages} pages, {most} held");
        }
    }

    #[test]
    fn a_broken_walk_ends() {
        let front: Front<Listing, Vec<u8>> = Front::new(5);
        front.add((vec![0], 0));
        assert_eq!(front.begin((1, 2), 4).len(), 1);
        assert!(matches!(front.take(), Next::Waits));
        front.break_off();
        front.wait(4);
        assert!(matches!(front.take(), Next::End));
    }
}
