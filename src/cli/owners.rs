//! User and group numbers of the names in an archive, through the host's name service, each asked once.
//!
//! A name the host does not know is remembered as unknown: an archive of a million files of one foreign user asks once.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Mutex;

use crate::jobs::extract::Owners;

type Known = Mutex<HashMap<Vec<u8>, Option<u32>>>;

/// Names kept at most, of users and of groups each; beyond it they are asked again each time. An archive cannot make it grow.
const NAMES_MAX: usize = 4096;

/// The host's users and groups.
#[derive(Debug, Default)]
pub struct HostOwners {
    users: Known,
    groups: Known,
}

fn cached(known: &Known, name: &[u8], ask: impl FnOnce(&OsStr) -> Option<u32>) -> Option<u32> {
    // A name with a NUL inside cannot be asked of the host.
    if name.is_empty() || name.contains(&0) {
        return None;
    }
    let mut known = known.lock().expect("a name table never panics");
    if let Some(id) = known.get(name) {
        return *id;
    }
    let id = ask(OsStr::from_bytes(name));
    if known.len() < NAMES_MAX {
        known.insert(name.to_vec(), id);
    }
    id
}

impl Owners for HostOwners {
    fn uid(&self, name: &[u8]) -> Option<u32> {
        cached(&self.users, name, |name| uzers::get_user_by_name(name).map(|user| user.uid()))
    }

    fn gid(&self, name: &[u8]) -> Option<u32> {
        cached(&self.groups, name, |name| uzers::get_group_by_name(name).map(|group| group.gid()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_asked_once_and_unknown_ones_are_remembered() {
        let known = Known::default();
        assert_eq!(cached(&known, b"amy", |_| Some(7)), Some(7));
        assert_eq!(cached(&known, b"amy", |_| panic!("asked twice")), Some(7));
        assert_eq!(cached(&known, b"bob", |_| None), None);
        assert_eq!(cached(&known, b"bob", |_| panic!("asked twice")), None);
        assert_eq!(cached(&known, b"a\0b", |_| panic!("cannot be asked")), None);
    }

    #[test]
    fn root_is_0() {
        assert_eq!(HostOwners::default().uid(b"root"), Some(0));
    }
}
