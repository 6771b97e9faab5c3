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
    uids: HashMap<Vec<u8>, Option<u32>>,
    gids: HashMap<Vec<u8>, Option<u32>>,
}

impl<'a> Ids<'a> {
    pub fn new(owner: Owner, owners: &'a dyn Owners) -> Ids<'a> {
        Ids { owner, owners, uids: HashMap::new(), gids: HashMap::new() }
    }

    /// Who knows names.
    pub fn owners(&self) -> &'a dyn Owners {
        self.owners
    }

    /// The member's user and group; none where the caller's are meant.
    pub fn of(&mut self, member: &Member) -> (Option<u32>, Option<u32>) {
        let owners = self.owners;
        match self.owner {
            Owner::Keep => (None, None),
            Owner::FromArchive { numeric: true } => (Some(member.uid), Some(member.gid)),
            Owner::FromArchive { numeric: false } => {
                let uid = cached(&mut self.uids, &member.uname, |name| owners.uid(name));
                let gid = cached(&mut self.gids, &member.gname, |name| owners.gid(name));
                (Some(uid.unwrap_or(member.uid)), Some(gid.unwrap_or(member.gid)))
            }
        }
    }
}

fn cached(
    cache: &mut HashMap<Vec<u8>, Option<u32>>,
    name: &[u8],
    find: impl FnOnce(&[u8]) -> Option<u32>,
) -> Option<u32> {
    if name.is_empty() || name.len() > NAME_BYTES_MAX {
        return None;
    }
    if let Some(known) = cache.get(name) {
        return *known;
    }
    if cache.len() >= NAMES_MAX {
        cache.clear();
    }
    let found = find(name);
    cache.insert(name.to_vec(), found);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_user_can_have_is_never_asked_for_nor_kept() {
        let mut cache = HashMap::new();
        assert_eq!(cached(&mut cache, &[b'u'; NAME_BYTES_MAX + 1], |_| panic!("asked")), None);
        assert_eq!(cached(&mut cache, b"", |_| panic!("asked")), None);
        assert!(cache.is_empty());
        assert_eq!(cached(&mut cache, &[b'u'; NAME_BYTES_MAX], |_| Some(7)), Some(7));
    }
}
