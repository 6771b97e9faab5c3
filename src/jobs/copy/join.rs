//! Comparing two listings page against page: names that were seen on one side only are kept until the other side
//! lists them or ends. Where both sides list in one order next to nothing is kept, whatever the directory's size.

use std::collections::HashMap;

use crate::base::Name;
use crate::storage::{Cookie, Entry};

/// Names to be looked up that become tasks at once: more than a page brings, so that they do not pile up.
const LOOKED_UP_MAX: usize = 1024;

/// An entry seen on one side only; in a box, for tables are larger than what is in them.
pub(super) type Alone = Box<Entry>;

/// The listings of one directory on both sides.
#[derive(Debug, Default)]
pub(super) struct Join {
    pub source: Listing,
    pub target: Listing,
    /// Names of the target were forgotten: what the source alone has must be looked up.
    pub lossy: bool,
    /// Names of the source that are to be looked up before it is listed on: taken by the page, for each becomes a task.
    unknown: Vec<Alone>,
    /// The source is to be listed anew when nothing of what was listed is under way any more: its names come again.
    anew: bool,
    /// Names that the run's sum counts for this directory.
    pub counted: usize,
}

/// One side's listing.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub next: Cookie,
    pub end: bool,
    /// The name that came last.
    last: Option<Name>,
    /// How often it began anew, because its cookie was refused.
    pub restarts: u8,
    /// Not seen on the other side yet. Boxed: a table of entries as they are (256 bytes) is half empty after it has grown,
    /// and for a moment there twice. So a name held costs some 350 bytes rather than 700.
    alone: HashMap<Name, Alone>,
}

/// A name of the source and what the target has under it.
pub(super) type Pair = (Entry, Option<Entry>);

impl Join {
    /// Takes in entries of the source; those whose match is known come back.
    pub fn source_entries(&mut self, entries: Vec<Entry>, pairs: &mut Vec<Pair>) {
        // Some servers say a name twice; the second would have no match.
        let mut entries = entries;
        entries.dedup_by(|entry, before| entry.name == before.name);
        let before = std::mem::replace(&mut self.source.last, entries.last().map(|entry| entry.name.clone()));
        for entry in entries.into_iter().skip_while(|entry| before.as_ref() == Some(&entry.name)) {
            match self.target.alone.remove(&entry.name) {
                Some(there) => pairs.push((entry, Some(*there))),
                None => {
                    self.source.alone.insert(entry.name.clone(), Box::new(entry));
                }
            }
        }
        self.settle(pairs);
    }

    /// Takes in entries of the target.
    pub fn target_entries(&mut self, entries: Vec<Entry>, pairs: &mut Vec<Pair>) {
        for there in entries {
            match self.source.alone.remove(&there.name) {
                Some(entry) => pairs.push((*entry, Some(there))),
                None => {
                    self.target.alone.insert(there.name.clone(), Box::new(there));
                }
            }
        }
        self.settle(pairs);
    }

    /// Takes back what the target has, as if the source did not have it.
    pub fn keeps_extra(&mut self, there: Entry) {
        if !self.lossy {
            self.target.alone.insert(there.name.clone(), Box::new(there));
        }
    }

    /// When the target has no more, what the source alone has is new.
    fn settle(&mut self, pairs: &mut Vec<Pair>) {
        if self.target.end && !self.lossy {
            pairs.extend(self.source.alone.drain().map(|(_, entry)| (*entry, None)));
        }
    }

    /// The target has been listed to its end.
    pub fn target_ended(&mut self, pairs: &mut Vec<Pair>) {
        self.target.end = true;
        self.settle(pairs);
    }

    pub fn is_over(&self) -> bool {
        self.source.end && self.target.end && self.unknown.is_empty()
    }

    /// True while the listings are to wait for the names that are looked up.
    pub fn rests(&self) -> bool {
        !self.unknown.is_empty()
    }

    /// Names held.
    pub fn held(&self) -> usize {
        self.source.alone.len() + self.target.alone.len() + self.unknown.len()
    }

    /// Forgets what the target has, to save memory, and lists it no further; what the source has must be looked up.
    pub fn forget(&mut self) {
        self.lossy = true;
        self.target.end = true;
        self.target.alone = HashMap::new();
    }

    /// The source's cookie was refused. What the target has is looked up from now on.
    pub fn begin_anew(&mut self) {
        self.forget();
        self.anew = true;
        (self.source.next, self.source.end, self.source.last) = (Cookie::default(), true, None);
        self.source.restarts += 1;
    }

    /// True when the source is to be listed anew, which begins with that.
    pub fn begins_anew(&mut self) -> bool {
        self.source.end &= !self.anew;
        std::mem::take(&mut self.anew)
    }

    /// What the source alone has, when the target could not tell; to be looked up. A page of it at a time.
    pub fn take_source(&mut self) -> Vec<Entry> {
        self.unknown.extend(std::mem::take(&mut self.source.alone).into_values());
        let from = self.unknown.len().saturating_sub(LOOKED_UP_MAX);
        let some = self.unknown.drain(from..).map(|entry| *entry).collect();
        if self.unknown.is_empty() {
            self.unknown = Vec::new();
        }
        some
    }

    /// At the end of both listings: what the target alone has.
    pub fn take_extras(&mut self) -> Vec<Alone> {
        std::mem::take(&mut self.target.alone).into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: u32) -> Entry {
        let name = Name::new(format!("{name}").as_bytes()).unwrap();
        Entry { name, fileid: 0, position: 0, node: None, attr: None, kind: None }
    }

    fn names<'e>(entries: impl IntoIterator<Item = &'e Entry>) -> Vec<String> {
        let mut names: Vec<String> = entries.into_iter().map(|e| e.name.to_string()).collect();
        names.sort();
        names
    }

    #[test]
    fn equal_orders_hold_nothing_and_any_order_finds_all() {
        for reversed in [false, true] {
            let mut join = Join::default();
            let (mut pairs, mut most) = (Vec::new(), 0);
            for page in 0..100 {
                join.source_entries((page * 10..page * 10 + 10).map(entry).collect(), &mut pairs);
                let there: Vec<u32> = (page * 10..page * 10 + 10).collect();
                let there = there.into_iter().map(|i| if reversed { 1004 - i } else { i + 5 });
                join.target_entries(there.map(entry).collect(), &mut pairs);
                most = most.max(join.held());
            }
            join.source.end = true;
            join.target_ended(&mut pairs);
            assert!(join.is_over());
            assert_eq!(most <= 20, !reversed);
            assert_eq!(pairs.len(), 1000);
            assert!(pairs.iter().all(|(a, b)| b.as_ref().is_none_or(|b| a.name == b.name)));
            let new: Vec<Entry> = pairs.into_iter().filter(|(_, b)| b.is_none()).map(|(a, _)| a).collect();
            assert_eq!(names(&new), ["0", "1", "2", "3", "4"]);
            assert_eq!(names(join.take_extras().iter().map(|e| &**e)), ["1000", "1001", "1002", "1003", "1004"]);
        }
    }

    #[test]
    fn names_said_twice_have_their_match_once() {
        let mut join = Join::default();
        let mut pairs = Vec::new();
        join.target_entries((0..4).map(entry).collect(), &mut pairs);
        join.source_entries([0, 0, 1, 1, 2].map(entry).into(), &mut pairs);
        join.source_entries([2, 3, 3].map(entry).into(), &mut pairs);
        join.source.end = true;
        join.target_ended(&mut pairs);
        assert!(join.is_over() && join.held() == 0);
        assert_eq!((pairs.len(), pairs.iter().filter(|(_, there)| there.is_none()).count()), (4, 0));
    }

    #[test]
    fn what_was_forgotten_is_never_called_new() {
        let mut join = Join::default();
        let mut pairs = Vec::new();
        join.target_entries((0..10).map(entry).collect(), &mut pairs);
        join.source_entries((100..103).map(entry).collect(), &mut pairs);
        join.forget();
        assert_eq!((join.held(), join.take_source().len()), (3, 3));
        join.source_entries((0..2000).map(entry).collect(), &mut pairs);
        join.source.end = true;
        assert!(pairs.is_empty());
        assert_eq!((join.take_source().len(), join.rests(), join.is_over()), (LOOKED_UP_MAX, true, false));
        assert_eq!((join.take_source().len(), join.is_over()), (2000 - LOOKED_UP_MAX, true));
        assert_eq!(join.take_extras().len(), 0);
    }
}
