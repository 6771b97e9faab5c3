//! User and group numbers of the names in an archive, and names of the numbers of files, through the host's name service, each asked
//! once.
//!
//! A name the host does not know is remembered as unknown: an archive of a million files of one foreign user asks once.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Mutex;

use crate::jobs::create::Names;
use crate::jobs::extract::Owners;

type Known = Mutex<HashMap<Vec<u8>, Option<u32>>>;
type Named = Mutex<HashMap<u32, Option<Vec<u8>>>>;

/// Names kept at most, of users and of groups each; beyond it they are asked again each time. An archive cannot make it grow.
const NAMES_MAX: usize = 4096;

/// The host's users and groups.
#[derive(Debug, Default)]
pub struct HostOwners {
    users: Known,
    groups: Known,
    user_names: Named,
    group_names: Named,
}

impl HostOwners {
    /// The name of this user, if it has one.
    pub fn user_name(&self, uid: u32) -> Option<Vec<u8>> {
        named(&self.user_names, uid, |uid| Some(uzers::get_user_by_uid(uid)?.name().as_bytes().to_vec()))
    }

    /// The name of this group.
    pub fn group_name(&self, gid: u32) -> Option<Vec<u8>> {
        named(&self.group_names, gid, |gid| Some(uzers::get_group_by_gid(gid)?.name().as_bytes().to_vec()))
    }
}

impl Names for HostOwners {
    fn user(&self, uid: u32) -> Vec<u8> {
        self.user_name(uid).unwrap_or_default()
    }

    fn group(&self, gid: u32) -> Vec<u8> {
        self.group_name(gid).unwrap_or_default()
    }
}

fn named(known: &Named, id: u32, ask: impl FnOnce(u32) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    let mut known = known.lock().expect("a name table never panics");
    if let Some(name) = known.get(&id) {
        return name.clone();
    }
    let name = ask(id);
    if known.len() < NAMES_MAX {
        known.insert(id, name.clone());
    }
    name
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
        assert_eq!(
            (HostOwners::default().user(0), HostOwners::default().group(0)),
            (b"root".to_vec(), b"root".to_vec())
        );
        let named_once = Named::default();
        assert_eq!(named(&named_once, 7, |_| Some(b"amy".to_vec())), Some(b"amy".to_vec()));
        assert_eq!(named(&named_once, 7, |_| panic!("asked twice")), Some(b"amy".to_vec()));
    }
}
