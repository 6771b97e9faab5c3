//! What one change at the destination takes along: other names of a file, and directories that do not let their owner in.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use parfs::base::Status;
use parfs::jobs::copy::{Compare, Delete, Existing, Options, User, Verify};
use parfs::jobs::select::Rules;
use parfs::mounts::MemoryMount;
use parfs::storage::{AttrChange, Call, Mount, Node, Op};

use crate::ask::{Ask, mode};
use crate::copies::{Ran, crew, run, sync, volume};
use crate::nasty::{past, set, set_time};
use crate::remove_odd::{Odd, pass};
use crate::tree::{assert_same, content, dump, node_at};

fn memory() -> Arc<MemoryMount> {
    Arc::new(MemoryMount::new())
}

fn go(source: &Arc<impl Mount + 'static>, target: &Arc<impl Mount + 'static>, options: &Options, lanes: usize) -> Ran {
    run(&volume(vec![source.clone() as _]), &volume(vec![target.clone() as _]), options, &crew(lanes, 3))
}

/// A file with these names, each in the root.
fn file(mount: &MemoryMount, names: &[&str], bits: u32) -> Node {
    let node = mount.file(&mount.root(), names[0], b"data");
    for name in &names[1..] {
        mount.link(&node, &mount.root(), name).unwrap();
    }
    set(mount, &node, mode(bits));
    set_time(mount, &node, past(1));
    node
}

/// `f` and `h` are one file in the source, and `f` and `g` at the destination.
#[test]
fn a_file_does_not_take_attributes_of_another_whose_file_it_shares() {
    let set_xattr = |mount: &MemoryMount, node: &Node| mount.set_xattr(node, "user.of", b"f").unwrap();
    for (bits, xattr, carried) in
        [(0o4755, false, true), (0o600, false, true), (0o600, false, false), (0o644, true, true)]
    {
        for names in [["f", "h", "g"], ["g", "h", "f"]] {
            for compare in [Compare::SizeAndTime, Compare::Bytes] {
                for lanes in [1, 4] {
                    let [changed, other, alone] = names;
                    let (from, to) = (memory(), memory());
                    let node = file(&from, &[changed, other], bits);
                    file(&from, &[alone], 0o644);
                    file(&to, &[changed, alone], 0o644);
                    if xattr {
                        set_xattr(&from, &node);
                    }
                    let mut options = Options { compare, ..Options::default() };
                    // Without, what the listings say is equal is not asked for: over NFSv3, say.
                    (options.preserve.xattrs, options.preserve.acls) = (carried, carried);
                    let ran = go(&from, &to, &options, lanes).clean();
                    assert_same(&dump(&*from), &dump(&*to), &format!("{bits:o} {names:?} {lanes} {:?}", ran.deeds));
                    let again = go(&from, &to, &options, lanes).clean();
                    assert!(again.deeds.is_empty(), "{names:?} {:?}", again.deeds);
                }
            }
        }
    }
    // What is equal stays one file at the destination: another program may have made it so.
    let (from, to) = (memory(), memory());
    for name in ["f", "g"] {
        file(&from, &[name], 0o644);
    }
    file(&to, &["f", "g"], 0o644);
    set_time(&*from, &from.root(), past(9));
    set_time(&*to, &to.root(), past(9));
    assert!(go(&from, &to, &Options::default(), 1).clean().deeds.is_empty());
    assert_eq!(to.get_attr(&node_at(&*to, &["f"])).unwrap().nlink, 2);
}

/// Files of several names each, whose names are those of other files at the destination: none of them becomes another's.
#[test]
fn two_files_with_names_of_each_other_stay_two() {
    let ours: [&[&str]; 2] = [&["a1", "a2"], &["b1", "b2"]];
    let theirs: [&[&[&str]]; 3] =
        [&[&["a1", "b2"], &["a2", "b1"]], &[&["a1", "b1"], &["a2", "b2"]], &[&["a1", "a2", "b1", "b2"]]];
    for (theirs, lanes) in theirs.into_iter().flat_map(|theirs| [(theirs, 1), (theirs, 4)]) {
        for (compare, existing) in [
            (Compare::SizeAndTime, Existing::Replace),
            (Compare::Bytes, Existing::Replace),
            (Compare::SizeAndTime, Existing::UnlessNewer),
        ] {
            for first in ["a", "b"] {
                let (from, to) = (memory(), memory());
                let mut sorted = ours;
                sorted.sort_by_key(|names| !names[0].starts_with(first));
                sorted.iter().for_each(|names| drop(file(&from, names, 0o644)));
                theirs.iter().for_each(|names| drop(file(&to, names, 0o644)));
                let options = Options { compare, existing, ..Options::default() };
                let ran = go(&from, &to, &options, lanes).clean();
                assert_same(
                    &dump(&*from),
                    &dump(&*to),
                    &format!("{theirs:?} {first} {lanes} {compare:?} {:?}", ran.deeds),
                );
                let again = go(&from, &to, &options, lanes).clean();
                assert!(again.deeds.is_empty(), "{theirs:?} {:?}", again.deeds);
            }
        }
    }
}

/// One file at the destination is `f`, of the source's time, and `g`, which is newer than the source's.
#[test]
fn what_is_kept_does_not_take_attributes_of_another() {
    for (links, names) in [true, false].map(|links| [(links, ["f", "g"]), (links, ["g", "f"])]).concat() {
        let [changed, kept] = names;
        let (from, to) = (memory(), memory());
        file(&from, &[changed], 0o4755);
        let older = from.file(&from.root(), kept, b"older");
        set_time(&*from, &older, past(0));
        file(&to, &[changed, kept], 0o644);
        let mut options = Options { existing: Existing::UnlessNewer, ..Options::default() };
        options.preserve.hard_links = links;
        go(&from, &to, &options, 1).clean();
        let is = |name: &str| to.get_attr(&node_at(&*to, &[name])).unwrap();
        assert_eq!((is(changed).mode, is(kept).mode, is(kept).nlink), (0o4755, 0o644, 1), "{links} {names:?}");
        assert_eq!(content(&*to, kept), b"data");
    }
}

#[test]
fn all_that_gets_other_attributes_is_told() {
    let (from, to) = (memory(), memory());
    for mount in [&from, &to] {
        file(mount, &["f"], 0o644);
        let dir = mount.dir(&mount.root(), "d");
        set(&**mount, &dir, mode(0o755));
        set_time(&**mount, &mount.root(), past(9));
    }
    from.set_xattr(&node_at(&*from, &["f"]), "user.x", b"1").unwrap();
    set(&*from, &node_at(&*from, &["d"]), mode(0o700));
    from.file(&node_at(&*from, &["d"]), "new", b"1");
    let mut deeds = go(&from, &to, &Options::default(), 1).clean().deeds;
    deeds.sort();
    assert_eq!(deeds, ["Attributes d", "Attributes f", "Made d/new"]);
    assert_same(&dump(&*from), &dump(&*to), "");
    // A directory that only gets another time for what was made in it is not.
    from.file(&node_at(&*from, &["d"]), "newer", b"1");
    assert_eq!(go(&from, &to, &Options::default(), 1).clean().deeds, ["Made d/newer"]);
    let only = Options { verify: Verify::Only, ..Options::default() };
    assert_eq!(go(&from, &to, &only, 1).clean().summary.differences, 0);
}

/// Refuses what a directory of such a mode does not let its owner do.
fn as_its_owner(to: &Arc<MemoryMount>) -> Arc<Odd> {
    Odd::new(to, |mount, call: &mut Call<'_>| {
        let lets = |dir: &Node, bits: u32| mount.get_attr(dir).is_ok_and(|is| is.mode & bits == bits);
        let refused = match &call.op {
            Op::Remove { dir, .. } | Op::RmDir { dir, .. } => !lets(dir, 0o300),
            Op::ReadDir { dir, .. } => !lets(dir, 0o400),
            _ => false,
        };
        match &mut call.op {
            Op::Remove { out, .. } | Op::RmDir { out, .. } if refused => *out = Err(Status::Access),
            Op::ReadDir { out, .. } if refused => *out = Err(Status::Access),
            _ => pass(mount, call),
        }
    })
}

#[test]
fn a_user_deletes_what_does_not_let_its_owner_in() {
    for bits in [0o555, 0o300, 0o000] {
        for lanes in [1, 4] {
            let (from, to) = (memory(), memory());
            let shut = to.dir(&to.root(), "shut");
            let below = to.dir(&shut, "below");
            for at in 0..20 {
                to.file(&shut, format!("f{at}"), b"1");
                to.file(&below, format!("f{at}"), b"1");
            }
            for dir in [&below, &shut] {
                set(&*to, dir, AttrChange { mode: Some(bits), ..AttrChange::default() });
            }
            let user = Some(User { uid: 1000, groups: Arc::default(), carried: true });
            go(&from, &as_its_owner(&to), &Options { user, ..sync() }, lanes).clean();
            assert_same(&dump(&*from), &dump(&*to), &format!("{bits:o} {lanes}"));
        }
    }
}

/// What is excluded stays, and the directory that it is in with the mode that it had.
#[test]
fn a_directory_that_was_opened_and_stays_is_shut_again() {
    for (bits, max) in [(0o555, None), (0o300, None), (0o500, Some(1))] {
        let (from, to) = (memory(), memory());
        let shut = to.dir(&to.root(), "shut");
        for name in ["keep", "f", "g"] {
            to.file(&shut, name, b"1");
        }
        set(&*to, &shut, mode(bits));
        let mut options = Options { user: Some(User { uid: 1000, groups: Arc::default(), carried: true }), ..sync() };
        match max {
            None => options.rules = Rules::new(&[(false, "keep".into())]).unwrap(),
            Some(_) => options.delete = options.delete.map(|delete| Delete { max, ..delete }),
        }
        let ran = go(&from, &as_its_owner(&to), &options, 1);
        assert_eq!(to.get_attr(&node_at(&*to, &["shut"])).unwrap().mode, bits, "{max:?} {ran:?}");
        let left = dump(&*to).keys().filter(|path| path.starts_with("shut/")).count();
        assert_eq!(left, if max.is_some() { 2 } else { 1 }, "{ran:?}");
    }
    // It is emptied, and may not be removed from a directory that is another's.
    let (from, to) = (memory(), memory());
    let shut = to.dir(&to.root(), "shut");
    to.file(&shut, "f", b"1");
    set(&*to, &shut, mode(0o500));
    let owned = Odd::new(&to, |mount, call: &mut Call<'_>| match &mut call.op {
        Op::RmDir { out, .. } => *out = Err(Status::Access),
        Op::Remove { dir, out, .. } if mount.get_attr(dir).is_ok_and(|is| is.mode & 0o300 != 0o300) => {
            *out = Err(Status::Access);
        }
        _ => pass(mount, call),
    });
    let options = Options { user: Some(User { uid: 1000, groups: Arc::default(), carried: true }), ..sync() };
    let ran = go(&from, &owned, &options, 1);
    assert_eq!((ran.failures.len(), to.get_attr(&shut).unwrap().mode), (1, 0o500), "{ran:?}");
    assert!(!dump(&*to).contains_key("shut/f"), "{ran:?}");
}

/// Files that are complete, each name one of its own, as a copy without links leaves them.
#[test]
fn a_link_that_is_refused_costs_no_copy() {
    for status in [Status::Access, Status::NoSpc, Status::Io, Status::NotSupp, Status::MLink] {
        for atomic in [false, true] {
            let (from, to) = (memory(), memory());
            for at in 0..5 {
                let names = ["f", "g", "h"].map(|name| format!("{name}{at}"));
                file(&from, &names.each_ref().map(|name| name.as_str()), 0o644);
                names.iter().for_each(|name| drop(file(&to, &[name], 0o644)));
            }
            let before = to.dump_shape();
            let linkless = Odd::new(&to, move |mount, call: &mut Call<'_>| match &mut call.op {
                Op::Link { out, .. } => *out = Err(status),
                _ => pass(mount, call),
            });
            let options = Options { atomic, ..Options::default() };
            let ran = go(&from, &linkless, &options, 1);
            // What the target never does is a warning, and each name a file of its own.
            let is_failure = !matches!(status, Status::NotSupp | Status::MLink);
            assert_eq!(ran.failures.len(), if is_failure { 10 } else { 0 }, "{status:?} {:?}", ran.failures);
            assert!(ran.deeds.iter().all(|deed| deed.starts_with("Attributes")), "{status:?} {:?}", ran.deeds);
            assert_eq!(to.dump_shape(), before, "{status:?} {atomic}");
        }
    }
}

/// Paths, file ids and contents.
trait Shape {
    fn dump_shape(&self) -> Vec<(String, u64, Vec<u8>)>;
}

impl Shape for Arc<MemoryMount> {
    fn dump_shape(&self) -> Vec<(String, u64, Vec<u8>)> {
        let paths = dump(&**self).into_keys().filter(|path| !path.is_empty());
        let of = |path: String| {
            let node = node_at(&**self, &[path.as_str()]);
            (path.clone(), self.get_attr(&node).unwrap().fileid, content(&**self, &path))
        };
        paths.map(of).collect()
    }
}

/// Its owner may write to it all the same, or replace it.
#[test]
fn a_copy_that_cannot_be_read_is_made_anew() {
    let options = Options { compare: Compare::Bytes, range_bytes: 64 << 10, ..Options::default() };
    for bytes in [10, 1 << 20] {
        let (from, to) = (memory(), memory());
        for mount in [&from, &to] {
            let node = mount.file(&mount.root(), "f", &vec![u8::from(Arc::ptr_eq(mount, &from)); bytes]);
            set_time(&**mount, &node, past(1));
        }
        let shut = Odd::new(&to, |mount, call: &mut Call<'_>| match &mut call.op {
            Op::Read { out, .. } => *out = Err(Status::Access),
            _ => pass(mount, call),
        });
        let only = Options { verify: Verify::Only, ..options.clone() };
        assert_eq!(go(&from, &shut, &only, 2).failures, ["to/f: READ: Permission denied"]);
        go(&from, &shut, &options, 2).clean();
        assert_same(&dump(&*from), &dump(&*to), "");
    }
}

/// With an ACL the group's bits are its mask: until it is set, whom it shuts out would read what is written, or what is in the directory.
#[test]
fn nobody_is_let_in_before_the_acl_is_there() {
    const ACCESS: &str = "system.posix_acl_access";
    let put = |mount: &MemoryMount, dir: &Node, name: &str, data: &[u8], has_acl: bool| {
        let node = mount.file(dir, name, data);
        set(mount, &node, mode(0o664));
        if has_acl {
            mount.set_xattr(&node, ACCESS, data).unwrap();
        }
    };
    let from = memory();
    let dir = from.dir(&from.root(), "d");
    set(&*from, &dir, mode(0o775));
    from.set_xattr(&dir, ACCESS, b"of d").unwrap();
    for (name, has_acl) in [("plain", false), ("shut", true), ("was", false)] {
        put(&from, &dir, name, name.as_bytes(), has_acl);
    }
    let existing = memory();
    let there = existing.dir(&existing.root(), "d");
    put(&existing, &there, "shut", b"old", false);
    put(&existing, &there, "was", b"old", true);
    let new = [("d", 0o705), ("plain", 0o664), ("shut", 0o604), ("was", 0o664)];
    let old = [("plain", 0o664), ("shut", 0o604), ("was", 0o604)];
    for (to, expected) in [(memory(), &new[..]), (existing, &old)] {
        let seen = Arc::new(Mutex::new(BTreeMap::new()));
        let modes = seen.clone();
        let target = Odd::new(&to, move |mount, call| {
            pass(mount, call);
            let seen = match &call.op {
                Op::Write { node, data, .. } => (data.to_vec(), mount.get_attr(node).unwrap().mode),
                Op::MkDir { name, out: Ok(found), .. } => {
                    (name.as_bytes().to_vec(), mount.get_attr(&found.node).unwrap().mode)
                }
                _ => return,
            };
            modes.lock().unwrap().insert(String::from_utf8(seen.0).unwrap(), seen.1);
        });
        go(&from, &target, &Options::default(), 1).clean();
        let seen: Vec<(String, u32)> = seen.lock().unwrap().clone().into_iter().collect();
        assert_eq!(seen, expected.iter().map(|(name, mode)| (name.to_string(), *mode)).collect::<Vec<_>>());
        assert_same(&dump(&*from), &dump(&*to), "in the end");
    }
}

/// Another's file that its ACL, or its mode, lets us write: its mode is not ours to set, and it is no reason to remove it.
#[test]
fn anothers_file_that_has_an_acl_is_written_into() {
    const ACCESS: &str = "system.posix_acl_access";
    for of_source in [false, true] {
        let (from, to) = (memory(), memory());
        let ours = from.file(&from.root(), "f", b"new");
        let theirs = to.file(&to.root(), "f", b"other");
        set(&*from, &ours, mode(0o664));
        set(&*to, &theirs, mode(0o664));
        let (mount, node) = if of_source { (&from, &ours) } else { (&to, &theirs) };
        mount.set_xattr(node, ACCESS, b"lets us in").unwrap();
        let foreign = Odd::new(&to, |mount, call| match &mut call.op {
            Op::SetAttr { change, out, .. } if change.mode.is_some() => *out = Err(Status::Perm),
            Op::Remove { .. } => panic!("it is another's"),
            _ => pass(mount, call),
        });
        go(&from, &foreign, &Options::default(), 1);
        assert_eq!((content(&*to, "f"), dump(&*to)["f"].mode), (b"new".to_vec(), 0o664));
    }
}
