//! Whose a member becomes: names are asked for once and remembered, within bounds.

use std::collections::HashMap;

use crate::archive::Member;

use super::{Owner, Owners};

/// User names remembered, and group names.
const NAMES_MAX: usize = 4096;
/// The longest name that is asked for: Linux's LOGIN_NAME_MAX. A pax record can be of 16 MiB, and not every name service
/// survives that (nss-systemd ends the process).
const NAME_BYTES_MAX: usize = 256;

/// The users and groups of members.
pub(in crate::jobs) struct Ids<'a> {
    owner: Owner,
    owners: &'a dyn Owners,
    uids: Known,
    gids: Known,
}

/// What was found of names.
#[derive(Default)]
struct Known {
    all: HashMap<Vec<u8>, Option<u32>>,
    /// The last one that was asked for, which most often is the next member's too.
    last: Option<(Vec<u8>, Option<u32>)>,
}

impl<'a> Ids<'a> {
    pub fn new(owner: Owner, owners: &'a dyn Owners) -> Ids<'a> {
        Ids { owner, owners, uids: Known::default(), gids: Known::default() }
    }

    /// Who knows names.
    pub fn owners(&self) -> &'a dyn Owners {
        self.owners
    }

    /// The member's user and group; none where the caller's are meant.
    #[inline]
    pub fn of(&mut self, member: &Member) -> (Option<u32>, Option<u32>) {
        let owners = self.owners;
        let (uid, gid) = match self.owner {
            Owner::Keep => (None, None),
            Owner::FromArchive { numeric: true } => (Some(member.uid), Some(member.gid)),
            Owner::FromArchive { numeric: false } => {
                let uid = self.uids.of(&member.uname, |name| owners.uid(name));
                let gid = self.gids.of(&member.gname, |name| owners.gid(name));
                (Some(uid.unwrap_or(member.uid)), Some(gid.unwrap_or(member.gid)))
            }
        };
        // Nobody has this number: to chown(2) it is -1, which leaves the owner as it is.
        let is_any = |id: &u32| *id != u32::MAX;
        (uid.filter(is_any), gid.filter(is_any))
    }
}

impl Known {
    fn of(&mut self, name: &[u8], find: impl FnOnce(&[u8]) -> Option<u32>) -> Option<u32> {
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            return None;
        }
        if let Some((_, found)) = self.last.as_ref().filter(|(last, _)| last == name) {
            return *found;
        }
        let found = self.all.get(name).copied().unwrap_or_else(|| {
            if self.all.len() >= NAMES_MAX {
                self.all.clear();
            }
            *self.all.entry(name.to_vec()).insert_entry(find(name)).get()
        });
        self.last = Some((name.to_vec(), found));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nobody;

    impl Owners for Nobody {
        fn uid(&self, _name: &[u8]) -> Option<u32> {
            None
        }
        fn gid(&self, _name: &[u8]) -> Option<u32> {
            None
        }
    }

    #[test]
    fn a_number_that_nobody_has_is_no_owner() {
        for numeric in [false, true] {
            let mut ids = Ids::new(Owner::FromArchive { numeric }, &Nobody);
            assert_eq!(ids.of(&Member { uid: u32::MAX, gid: 7, ..Member::default() }), (None, Some(7)));
            assert_eq!(ids.of(&Member { uid: 7, gid: u32::MAX, ..Member::default() }), (Some(7), None));
        }
    }

    #[test]
    fn a_name_that_no_user_can_have_is_never_asked_for_nor_kept() {
        let mut known = Known::default();
        assert_eq!(known.of(&[b'u'; NAME_BYTES_MAX + 1], |_| panic!("asked")), None);
        assert_eq!(known.of(b"", |_| panic!("asked")), None);
        assert!(known.all.is_empty() && known.last.is_none());
        assert_eq!(known.of(&[b'u'; NAME_BYTES_MAX], |_| Some(7)), Some(7));
        // Asked for once, also when another came between and when nobody has the name.
        assert_eq!(known.of(b"other", |_| None), None);
        for _ in 0..2 {
            assert_eq!(known.of(&[b'u'; NAME_BYTES_MAX], |_| panic!("asked")), Some(7));
            assert_eq!(known.of(b"other", |_| panic!("asked")), None);
        }
    }
}
