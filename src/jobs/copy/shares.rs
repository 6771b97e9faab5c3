//! Files of the target that have several names: which of the source's files each stands for. Attributes that one of them is given are those
//! of all its names, so a file of the target that two of the source's meet is changed for neither: what differs is made anew.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::sync::{Mutex, MutexGuard};

use super::links::Key;

/// Files that are remembered, some 50 bytes each; what no more room was for is made anew rather than changed.
const SHARES_MAX: usize = 1 << 18;

/// A file of the target.
struct Share {
    /// The first of the source's files that met it.
    of: Key,
    /// Another one has met it as well, and may have found it equal.
    others: bool,
    /// It was, or is being, given other attributes.
    changed: bool,
    /// The source's file with several names whose names it gets.
    kept_for: Option<Key>,
}

/// The files of the target with several names that were met.
#[derive(Default)]
pub(super) struct Shares(Mutex<HashMap<Key, Share>>);

impl Shares {
    fn held(&self) -> MutexGuard<'_, HashMap<Key, Share>> {
        self.0.lock().expect("nothing panics while it holds the shares")
    }

    /// The source's file `of` has met `there`; false where that was changed for another one, so that nothing seen of it counts.
    pub fn meet(&self, there: Key, of: Key) -> bool {
        let mut shares = self.held();
        let has_room = shares.len() < SHARES_MAX;
        match shares.entry(there) {
            Slot::Occupied(mut slot) if slot.get().of != of => {
                slot.get_mut().others = true;
                !slot.get().changed
            }
            Slot::Occupied(_) => true,
            Slot::Vacant(slot) => {
                if has_room {
                    slot.insert(Share { of, others: false, changed: false, kept_for: None });
                }
                true
            }
        }
    }

    /// Is `there`, which was met, the file whose names those of the source's file `of` become? It is that of one: two would become one file.
    pub fn keep(&self, there: Key, of: Key) -> bool {
        let mut shares = self.held();
        shares.get_mut(&there).is_none_or(|share| *share.kept_for.get_or_insert(of) == of)
    }

    /// May `there` be given other attributes, as those of `of`? If so, that counts as done.
    pub fn may_change(&self, there: Key, of: Key) -> bool {
        let mut shares = self.held();
        let Some(share) = shares.get_mut(&there).filter(|share| share.of == of && !share.others) else { return false };
        share.changed = true;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THERE: Key = (1, 10);
    const ONE: Key = (2, 1);
    const OTHER: Key = (2, 2);

    #[test]
    fn what_two_have_met_is_changed_for_neither() {
        let shares = Shares::default();
        // Equal for both.
        assert!(shares.meet(THERE, ONE) && shares.meet(THERE, ONE) && shares.meet(THERE, OTHER));
        assert!(!shares.may_change(THERE, ONE) && !shares.may_change(THERE, OTHER));
        // Changed for one before the other met it.
        let shares = Shares::default();
        assert!(shares.meet(THERE, ONE) && shares.may_change(THERE, ONE) && shares.may_change(THERE, ONE));
        assert!(shares.meet(THERE, ONE) && !shares.meet(THERE, OTHER));
        assert!(!shares.may_change(THERE, OTHER));
    }

    #[test]
    fn what_two_have_met_is_kept_for_one() {
        let shares = Shares::default();
        assert!(shares.meet(THERE, ONE) && shares.meet(THERE, OTHER));
        assert!(shares.keep(THERE, OTHER) && shares.keep(THERE, OTHER) && !shares.keep(THERE, ONE));
    }

    #[test]
    fn what_there_is_no_room_for_is_not_changed() {
        let shares = Shares::default();
        assert!((0..=SHARES_MAX as u64).all(|at| shares.meet((1, at), ONE)));
        assert!(shares.may_change((1, 0), ONE) && !shares.may_change((1, SHARES_MAX as u64), ONE));
        assert_eq!(shares.held().len(), SHARES_MAX);
    }
}
