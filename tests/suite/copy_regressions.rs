//! What copying once did wrong: each test lost or garbled data, left a tree, called a failure a success, or never ended.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::collections::BTreeSet;
use std::sync::Arc;

use parfs::base::{Proc, Status};
use parfs::jobs::Live;
use parfs::jobs::copy::{Compare, Delete, Existing, Options, Preserve, Side, Verify, What, copy};
use parfs::jobs::select::Rules;
use parfs::mounts::{LocalMount, MemoryMount};
use parfs::storage::faults::Which;
use parfs::storage::{AttrChange, Beyond, Faults, Mount, Node, Op, Tap, Tapped};

use crate::ask::{Ask, mode, name};
use crate::copies::{Ran, counted, crew, run, sync, volume};
use crate::nasty::{acl, past, set, set_time};
use crate::remove_odd::{Odd, pass, with_mounts};
use crate::tree::{content, dump, node_at};

fn memory() -> Arc<MemoryMount> {
    Arc::new(MemoryMount::new())
}

/// Copies one mount's root to another's.
fn go(source: &Arc<impl Mount + 'static>, target: &Arc<impl Mount + 'static>, options: &Options) -> Ran {
    run(&volume(vec![source.clone() as _]), &volume(vec![target.clone() as _]), options, &crew(3, 3))
}

/// Fails the k-th call of a procedure.
fn failing(mount: &Arc<MemoryMount>, proc: Proc, k: u64, status: Status) -> Arc<Tapped> {
    let tap: Arc<dyn Tap> = Arc::new(Faults::new(Which::Nth(k, Some(proc)), status));
    Arc::new(Tapped::new(mount.clone(), vec![tap]))
}

fn file(mount: &dyn Mount, dir: &Node, at: &str, data: &[u8], n: i64) -> Node {
    let node = mount.file(dir, at, b"");
    crate::nasty::put(mount, &node, 0, data);
    set_time(mount, &node, past(n));
    node
}

/// Bytes that no range of equals another.
fn noise(len: usize) -> Vec<u8> {
    crate::random::Random(7).bytes(len)
}

fn paths(mount: &dyn Mount) -> BTreeSet<String> {
    dump(mount).into_keys().filter(|path| !path.is_empty()).collect()
}

/// Copies within one file system that is reached in two ways; the failures.
fn within(mount: &Arc<MemoryMount>, from: &str, to: &str, options: &Options) -> Vec<String> {
    let volumes = [volume(vec![mount.clone() as _]), volume(vec![mount.clone() as _])];
    let side = |i: usize, path: &str| {
        let way = path.split('/').map(name).collect();
        Side { volume: &volumes[i], way, fs_root: false, shown: path.into() }
    };
    let crew = crew(2, 2);
    copy(&side(0, from), &side(1, to), What::Tree, options, &crew, &Live::default(), None);
    crew.report().failures().iter().map(ToString::to_string).collect()
}

/// By two mount targets, or by a URL and a kernel mount, nobody sees by the paths that one is in the other.
#[test]
fn a_source_in_the_destination_is_not_deleted() {
    let mount = memory();
    let root = mount.root();
    let c = ["a", "b", "c"].iter().fold(root, |dir, at| mount.dir(&dir, at));
    file(&*mount, &c, "f", b"data", 1);
    let failures = within(&mount, "a/b/c", "a", &sync());
    assert_eq!(failures, ["a: the source is in it, and --delete would remove that; exclude it, or move it out"]);
    assert_eq!(paths(&*mount), ["a", "a/b", "a/b/c", "a/b/c/f"].map(String::from).into());
}

#[test]
fn a_destination_made_in_the_source_is_not_copied_into_itself() {
    let mount = memory();
    let a = mount.dir(&mount.root(), "a");
    file(&*mount, &a, "f", b"data", 1);
    let failures = within(&mount, "a", "a/new", &Options::default());
    assert_eq!(failures, ["a/new: is the destination; it is not copied into itself"]);
    assert_eq!(paths(&*mount), ["a", "a/f", "a/new", "a/new/f"].map(String::from).into());
}

/// A later run took the rest of a file for the user's, or for complete.
#[test]
fn an_unfinished_file_is_never_what_the_options_keep() {
    let keep = |existing| Options { existing, range_bytes: 1 << 20, ..Options::default() };
    let size = Options { compare: Compare::Size, range_bytes: 1 << 20, ..Options::default() };
    for options in [keep(Existing::Keep), keep(Existing::UnlessNewer), size] {
        for k in 0..5 {
            let (from, to) = (memory(), memory());
            let data = noise((4 << 20) + 9);
            file(&*from, &from.root(), "f", &data, 1);
            let ran = go(&from, &failing(&to, Proc::Write, k, Status::NoSpc), &options);
            assert_eq!(ran.failures.len(), 1, "{:?}", ran.failures);
            go(&from, &to, &options).clean();
            assert!(content(&*to, "f") == data, "{options:?} {k}");
            assert_eq!(paths(&*to).len(), 1);
        }
    }
}

#[test]
fn a_large_file_that_cannot_be_read_leaves_the_copy_there_is() {
    let (from, to) = (memory(), memory());
    let old = noise(3 << 20);
    file(&*to, &to.root(), "f", &old, 1);
    file(&*from, &from.root(), "f", &noise(4 << 20), 2);
    let ran = go(&failing(&from, Proc::Read, 0, Status::Access), &to, &Options::default());
    assert_eq!(ran.failures, ["from/f: READ: Permission denied"]);
    assert!(content(&*to, "f") == old);
}

#[test]
fn a_directory_is_kept_where_what_is_there_is_kept() {
    let (from, to) = (memory(), memory());
    file(&*from, &from.root(), "x", b"new", 1);
    file(&*from, &from.root(), "y", b"new", 1);
    let x = to.dir(&to.root(), "x");
    to.file(&x, "kept", b"old");
    to.dir(&to.root(), "y");
    let ran = go(&from, &to, &Options { existing: Existing::Keep, ..sync() }).clean();
    assert_eq!((ran.summary.kept, ran.summary.deleted), (2, 0));
    assert_eq!(paths(&*to), ["x", "x/kept", "y"].map(String::from).into());
    // What cannot be put into a file is told: cp -an and rsync --ignore-existing fail as well.
    file(&*from, &from.dir(&from.root(), "z"), "in", b"data", 1);
    to.file(&to.root(), "z", b"kept");
    let ran = go(&from, &to, &Options { existing: Existing::Keep, ..Options::default() });
    let why = "is no directory at the destination and is kept, so that nothing in the source's directory is copied";
    assert_eq!((ran.failures, ran.summary.kept), (vec![format!("to/z: {why}")], 3));
    assert_eq!(content(&*to, "z"), b"kept");
}

/// The file was missing, and nothing said so.
#[test]
fn what_the_rules_keep_in_a_file_s_place_is_told() {
    let (from, to) = (memory(), memory());
    file(&*from, &from.root(), "x", b"new", 1);
    let x = to.dir(&to.root(), "x");
    to.file(&x, "a.log", b"old");
    let rules = Rules::new(&[(false, "*.log".into())]).unwrap();
    let ran = go(&from, &to, &Options { rules: rules.clone(), ..sync() });
    assert_eq!(ran.failures, ["to/x: a directory is in its place, and not all in it was removed"]);
    assert_eq!(content(&*to, "x/a.log"), b"old");
    let delete = Some(Delete { excluded: true, ..Delete::default() });
    go(&from, &to, &Options { rules, delete, ..sync() }).clean();
    assert_eq!(content(&*to, "x"), b"new");
}

/// A later rule, which matches what is above them, left them out, and with `--delete-excluded` removed some of them.
#[test]
fn what_an_include_decides_for_a_directory_is_not_undone_in_it() {
    let (from, to) = (memory(), memory());
    let some = from.dir(&from.root(), "some.d");
    file(&*from, &some, "data", b"1", 1);
    file(&*from, &from.dir(&some, "sub"), "x", b"2", 2);
    from.dir(&from.root(), "other.d");
    let rules = Rules::new(&[(true, "some.d".into()), (false, "*.d".into())]).unwrap();
    let there = to.dir(&to.root(), "some.d");
    to.file(&to.dir(&there, "old"), "y", b"");
    to.file(&to.dir(&there, "kept.d"), "z", b"");
    go(&from, &to, &Options { rules: rules.clone(), ..sync() }).clean();
    let all = ["some.d", "some.d/data", "some.d/kept.d", "some.d/kept.d/z", "some.d/sub", "some.d/sub/x"];
    assert_eq!(paths(&*to), all.map(String::from).into());
    let delete = Some(Delete { excluded: true, ..Delete::default() });
    go(&from, &to, &Options { rules, delete, ..sync() }).clean();
    assert_eq!(paths(&*to), ["some.d", "some.d/data", "some.d/sub", "some.d/sub/x"].map(String::from).into());
}

/// Which of two files a name then held was a matter of which came first.
#[test]
fn names_like_temporary_ones_are_not_copied_by_way_of_them() {
    let (from, to) = (memory(), memory());
    let root = from.root();
    file(&*from, &root, "x", b"data", 1);
    // What a killed run with --atomic once left of `x`.
    file(&*from, &root, ".parfs.02f590758a6d2936", b"left over", 2);
    let options = Options { atomic: true, ..Options::default() };
    let faults: Arc<dyn Tap> = Arc::new(Faults::new(Which::Nth(0, Some(Proc::Rename)), Status::Io));
    let killed = Arc::new(Tapped::new(to.clone(), vec![faults]));
    let left = Odd::new(&(killed as Arc<Tapped>), |mount, call| match call.op {
        Op::Remove { .. } => call.fail(Status::Io), // nobody cleans up after a kill
        _ => pass(mount, call),
    });
    go(&from, &left, &options);
    let is_aside = |path: &String| path.starts_with(".parfs.") && path.len() > 23;
    assert!(paths(&*to).iter().all(is_aside) && paths(&*to).len() == 1, "{:?}", paths(&*to));
    for _ in 0..2 {
        let ran = go(&from, &to, &options);
        assert_eq!(ran.failures.len(), 1, "{:?}", ran.failures);
        assert!(ran.failures[0].starts_with("to/.parfs.02f590758a6d2936: has the form of a temporary name"));
        // It is this process's, which is still there.
        assert_eq!((content(&*to, "x"), paths(&*to).len()), (b"data".to_vec(), 2));
    }
    go(&from, &to, &Options::default()).clean();
    assert_eq!(content(&*to, ".parfs.02f590758a6d2936"), b"left over");
}

const ACL: &str = "system.posix_acl_default";

#[test]
fn what_a_new_directory_inherits_goes_and_old_ones_follow_their_sources() {
    let (from, to) = (memory(), memory());
    let sub = from.dir(&from.dir(&from.root(), "d"), "sub");
    to.set_xattr(&to.root(), ACL, b"inherited").unwrap();
    // Linux: a new directory gets its parent's default ACL.
    let inheriting = Odd::new(&to, |mount, call| {
        pass(mount, call);
        let Op::MkDir { dir, out: Ok(found), .. } = &call.op else { return };
        if let Ok(acl) = mount.get_xattr(dir, ACL) {
            mount.set_xattr(&found.node, ACL, &acl).unwrap();
        }
    });
    go(&from, &inheriting, &Options::default()).clean();
    assert!(dump(&*to).values().all(|object| object.xattrs.is_empty()), "{:?}", dump(&*to));
    from.set_xattr(&sub, "user.later", b"1").unwrap();
    let only = Options { verify: Verify::Only, ..Options::default() };
    let told = go(&from, &to, &only);
    assert_eq!(told.deeds, ["Differs(\"extended attributes\") d/sub"]);
    let ran = go(&from, &to, &Options::default()).clean();
    assert_eq!(ran.deeds, ["Attributes d/sub"]);
    assert_eq!(to.get_xattr(&node_at(&*to, &["d", "sub"]), "user.later").unwrap(), b"1");
    assert_eq!(go(&from, &to, &only).clean().summary.differences, 0);
}

/// Giving a file away takes its capabilities.
#[test]
fn attributes_that_an_owner_takes_along_are_set_after_it() {
    const CAPABILITY: &str = "security.capability";
    let (from, to) = (memory(), memory());
    for (mount, uid) in [(&from, 5), (&to, 6)] {
        let node = file(&**mount, &mount.root(), "f", b"x", 1);
        set(&**mount, &node, AttrChange { uid: Some(uid), ..mode(0o644) });
        mount.set_xattr(&node, CAPABILITY, b"1").unwrap();
        set_time(&**mount, &node, past(1));
    }
    let kernel = Odd::new(&to, |mount, call| {
        pass(mount, call);
        if let Op::SetAttr { node, change: AttrChange { uid: Some(_), .. }, out: Ok(_), .. } = &call.op {
            mount.remove_xattr(node, CAPABILITY).unwrap();
        }
    });
    go(&from, &kernel, &Options::default()).clean();
    let node = node_at(&*to, &["f"]);
    assert_eq!((to.get_xattr(&node, CAPABILITY), to.get_attr(&node).unwrap().uid), (Ok(b"1".to_vec()), 5));
}

#[test]
fn a_comparison_sees_links_attributes_and_what_long_listings_have_too_much() {
    let (from, to) = (memory(), memory());
    for (mount, pairs) in [(&from, [("a", "b"), ("c", "d")]), (&to, [("a", "c"), ("b", "d")])] {
        for (first, other) in pairs {
            let node = file(&**mount, &mount.root(), first, b"same", 1);
            mount.link(&node, &mount.root(), other).unwrap();
        }
        set_time(&**mount, &mount.root(), past(9));
    }
    let only = Options { verify: Verify::Only, ..Options::default() };
    let told = go(&from, &to, &only).clean();
    assert_eq!(told.summary.differences, 2, "{:?}", told.deeds);
    assert!(told.deeds.iter().all(|deed| deed.starts_with("Differs(\"hard link\")")), "{:?}", told.deeds);
    let (from, to) = (memory(), memory());
    file(&*from, &from.root(), "z", b"", 1);
    for at in ["a", "b", "z"] {
        file(&*to, &to.root(), at, b"", 1);
    }
    set_time(&*from, &from.root(), past(9));
    set_time(&*to, &to.root(), past(9));
    // So few names are held that they are looked up instead.
    let told = go(&from, &to, &Options { join_max: 0, ..only }).clean();
    assert_eq!(told.deeds, ["Differs(\"only in the destination\") a", "Differs(\"only in the destination\") b"]);
}

#[test]
fn reads_and_listings_that_do_not_go_on_end() {
    let (from, to) = (memory(), memory());
    file(&*from, &from.root(), "f", b"data", 1);
    let mute = Odd::new(&from, |mount, call| {
        pass(mount, call);
        if let Op::Read { buf, out, .. } = &mut call.op {
            buf.clear();
            *out = Ok(false);
        }
    });
    assert_eq!(go(&mute, &to, &Options::default()).failures, ["from/f: READ: Input/output error"]);
    let stuck = |mount: &Arc<MemoryMount>| {
        Odd::new(mount, |mount, call| {
            pass(mount, call);
            if let Op::ReadDir { from, out: Ok(page), .. } = &mut call.op {
                (page.next, page.end) = (*from, false);
            }
        })
    };
    let ran = go(&stuck(&from), &to, &sync());
    assert_eq!(ran.failures, ["from: the server's listing does not go on"]);
    let ran = go(&from, &stuck(&to), &sync());
    assert_eq!(ran.failures, ["to: the server's listing does not go on"]);
    assert_eq!(content(&*to, "f"), b"data");
}

#[test]
fn nothing_is_removed_of_other_file_systems_with_x() {
    let (from, to) = (memory(), memory());
    for dir in ["mnt", "extra"] {
        let dir = to.dir(&to.root(), dir);
        let inner = to.dir(&dir, "mnt");
        to.file(&inner, "f", b"another file system's");
    }
    let odd = with_mounts(&to, false);
    let ran = go(&from, &odd, &Options { one_file_system: true, ..sync() });
    let why = "skipping it, since it's on a different device";
    // What is mounted there was never a part of the copy, so that this is no failure, as it is none of rsync's.
    let mut told = ran.summary.warnings;
    told.sort();
    assert_eq!((ran.failures, ran.summary.stopped), (Vec::new(), None));
    assert_eq!(told, [format!("to/extra/mnt: {why}"), format!("to/mnt: {why}")]);
    assert_eq!(paths(&*to).len(), 6);
    // Nor where the source has a directory of the same name.
    for at in ["mnt", "extra"] {
        file(&*from, &from.dir(&from.root(), at), "new", b"data", 1);
    }
    file(&*from, &from.dir(&node_at(&*from, &["extra"]), "mnt"), "new", b"data", 1);
    file(&*to, &node_at(&*to, &["extra"]), "goes", b"", 1);
    for join_max in [0, 1000] {
        let odd = with_mounts(&to, false);
        let ran = go(&from, &odd, &Options { one_file_system: true, join_max, ..sync() }).clean();
        assert_eq!(ran.summary.deleted, u64::from(join_max == 0));
        assert!(paths(&*to).is_superset(&["mnt/mnt/f", "extra/mnt/f"].map(String::from).into()), "{:?}", paths(&*to));
    }
}

/// A directory that only keeps what is excluded is nothing that was deleted: what it is in was set the source's time by each run.
#[test]
fn a_directory_that_stays_for_what_is_excluded_costs_no_change_of_the_one_above() {
    let (from, to) = (memory(), memory());
    file(&*from, &from.root(), "f", b"data", 1);
    to.file(&to.dir(&to.root(), "x"), "keep", b"");
    let options = Options { rules: Rules::new(&[(false, "keep".into())]).unwrap(), ..sync() };
    go(&from, &to, &options).clean();
    let (counting, ledger) = counted(to.clone());
    let ran = run(&volume(vec![from.clone() as _]), &volume(vec![counting]), &options, &crew(3, 3)).clean();
    assert_eq!((ran.deeds.len(), ledger.tally().get(Proc::SetAttr).calls), (0, 0), "{:?}", ran.deeds);
    assert!(paths(&*to).contains("x/keep"));
    // What goes beside it does change it.
    to.file(&node_at(&*to, &["x"]), "goes", b"");
    to.file(&to.root(), "goes", b"");
    let (counting, ledger) = counted(to.clone());
    let ran = run(&volume(vec![from as _]), &volume(vec![counting]), &options, &crew(3, 3)).clean();
    assert_eq!((ran.summary.deleted, ledger.tally().get(Proc::SetAttr).calls), (2, 1), "{:?}", ran.deeds);
}

#[test]
fn looking_for_the_destination_in_the_source_leaves_nothing_behind() {
    let mount = memory();
    let a = mount.dir(&mount.root(), "a");
    mount.dir(&a, "b");
    assert_eq!(within(&mount, "a", "a", &Options::default()), ["a: source and destination are the same"]);
    assert_eq!(paths(&*mount), ["a", "a/b"].map(String::from).into());
}

/// A user's copy of another's set-uid program would have run as that user for everybody.
#[test]
fn set_id_bits_are_not_given_to_others_than_the_owner() {
    let (from, to) = (memory(), memory());
    for (at, uid, gid) in [("theirs", 5, 6), ("group's", 7, 6), ("own", 7, 8)] {
        let node = file(&*from, &from.root(), at, b"x", 1);
        set(&*from, &node, AttrChange { uid: Some(uid), gid: Some(gid), ..mode(0o6755) });
    }
    // Whoever makes a file there is 7, of group 8, and can give nothing away.
    let user = Odd::new(&to, |mount, call| {
        let gives = |change: &AttrChange| change.uid.or(change.gid).is_some();
        match &call.op {
            Op::Create { change, .. } | Op::SetAttr { change, .. } if gives(change) => return call.fail(Status::Perm),
            _ => pass(mount, call),
        }
        if let Op::Create { out: Ok(found), .. } = &call.op {
            set(mount, &found.node, AttrChange { uid: Some(7), gid: Some(8), ..AttrChange::default() });
        }
    });
    let modes = || ["theirs", "group's", "own"].map(|at| to.get_attr(&node_at(&*to, &[at])).unwrap().mode);
    let keeping = Options::default();
    let mut plain = keeping.clone();
    (plain.preserve.uid, plain.preserve.gid) = (false, false);
    for _ in 0..2 {
        go(&from, &user, &plain).clean();
        assert_eq!(modes(), [0o755, 0o4755, 0o6755]);
    }
    assert!(go(&from, &user, &plain).clean().deeds.is_empty());
    // Where giving it away was refused, it gets none of the two.
    for _ in 0..2 {
        assert_eq!(go(&from, &user, &keeping).failures.len(), 2);
        assert_eq!(modes(), [0o755, 0o755, 0o6755]);
    }
}

/// They had been left out without a word where the server did not say whose the copy is.
#[test]
fn set_id_bits_whose_owner_cannot_be_asked_for_are_told_and_given_by_the_next_run() {
    let (from, to) = (memory(), memory());
    let node = file(&*from, &from.root(), "own", b"x", 1);
    set(&*from, &node, AttrChange { uid: Some(0), gid: Some(0), ..mode(0o6755) });
    let mut plain = Options::default();
    (plain.preserve.uid, plain.preserve.gid) = (false, false);
    let silent = Odd::new(&to, |mount, call| match &call.op {
        Op::GetAttr { node, .. } if *node != mount.root() => call.fail(Status::Io),
        _ => pass(mount, call),
    });
    let ran = go(&from, &silent, &plain);
    assert_eq!(ran.failures.len(), 1);
    assert!(ran.failures[0].contains("GETATTR"), "{}", ran.failures[0]);
    go(&from, &to, &plain).clean();
    assert_eq!(to.get_attr(&node_at(&*to, &["own"])).unwrap().mode, 0o6755);
}

/// CIFS and vfat have names of 255 characters, which may be of 765 bytes.
#[test]
fn a_name_that_the_destination_does_not_take_costs_no_other() {
    let from = memory();
    let long = "\u{5b57}".repeat(255);
    for at in ["a", &long, "z"] {
        file(&*from, &from.root(), at, b"data", 1);
    }
    let dir = tempfile::tempdir().unwrap();
    let to = Arc::new(LocalMount::open(dir.path()).unwrap());
    let ran = go(&from, &to, &Options::default());
    assert_eq!(ran.failures.len(), 1);
    assert!(ran.failures[0].contains("File name too long"), "{:?}", ran.failures);
    assert_eq!(paths(&*to), ["a", "z"].map(String::from).into());
}

/// Each kernel mount has pages of its own: what is to be read of the storage is dropped from all of them.
#[test]
fn a_large_file_is_compared_with_no_mounts_cache() {
    let from = memory();
    file(&*from, &from.root(), "large", &vec![7; 9 << 20], 1);
    let dir = tempfile::tempdir().unwrap();
    let to = Arc::new(LocalMount::open(dir.path()).unwrap());
    go(&from, &to, &Options::default()).clean();
    let (views, ledgers): (Vec<_>, Vec<_>) = (0..3).map(|_| counted(to.clone())).unzip();
    let only = Options { verify: Verify::Only, range_bytes: 1 << 20, ..Options::default() };
    let ran = run(&volume(vec![from]), &volume(views), &only, &crew(2, 2)).clean();
    assert_eq!((ran.summary.differences, ran.summary.verified_bytes), (0, 9 << 20));
    for ledger in ledgers {
        assert!(ledger.tally().get(Proc::Read).calls > 0);
        assert_eq!(ledger.tally().get(Proc::IoAdvise).calls, 1);
    }
}

#[test]
fn a_directory_that_contains_itself_is_not_copied_for_ever() {
    for above in 0..2 {
        let (from, to) = (memory(), memory());
        let a = from.dir(&from.root(), "a");
        let b = from.dir(&a, "b");
        let above = [from.root(), a][above].clone();
        let hostile = Odd::new(&from, move |mount, call| {
            pass(mount, call);
            if let Op::ReadDir { out: Ok(page), .. } = &mut call.op {
                for node in page.entries.iter_mut().filter_map(|entry| entry.node.as_mut()).filter(|node| **node == b) {
                    *node = above.clone();
                }
            }
        });
        let ran = go(&hostile, &to, &Options::default());
        assert!(matches!(&ran.failures[..], [one] if one.ends_with("a directory that contains itself")));
        assert!(paths(&*to).len() < 10);
    }
}

/// The names of the target's file are two files by now, of which each took the other's attributes.
#[test]
fn attributes_of_files_that_are_one_no_more_are_their_own() {
    let (from, to) = (memory(), memory());
    let there = file(&*to, &to.root(), "a", b"x", 1);
    to.link(&there, &to.root(), "b").unwrap();
    set_time(&*to, &there, past(1));
    for (name, value) in [("a", b"1"), ("b", b"2")] {
        let node = file(&*from, &from.root(), name, b"x", 1);
        from.set_xattr(&node, "user.k", value).unwrap();
        set_time(&*from, &node, past(1));
    }
    go(&from, &to, &Options::default()).clean();
    for (name, value) in [("a", b"1"), ("b", b"2")] {
        assert_eq!(to.get_xattr(&node_at(&*to, &[name]), "user.k").unwrap(), value, "{name}");
    }
    let only = Options { verify: Verify::Only, ..Options::default() };
    assert_eq!(go(&from, &to, &only).clean().summary.differences, 0);
    // Snapshots made of links are no reason to copy.
    to.link(&node_at(&*to, &["a"]), &to.root(), "snapshot").unwrap();
    assert_eq!(go(&from, &to, &Options::default()).clean().summary.files, 0);
}

/// That it was made is all that is told of a new directory, whatever comes last.
#[test]
fn a_new_directory_is_told_and_counted_once() {
    let (from, to) = (memory(), memory());
    let dir = from.dir(&from.root(), "d");
    from.set_xattr(&dir, "user.k", b"1").unwrap();
    let preserve = Preserve { mode: false, uid: false, gid: false, times: false, ..Preserve::ALL };
    let options = Options { preserve, ..Options::default() };
    let ran = go(&from, &to, &options).clean();
    assert_eq!((ran.summary.dirs, ran.summary.attributes, &ran.deeds[..]), (1, 0, &["Made d".to_string()][..]));
    from.set_xattr(&dir, "user.k", b"2").unwrap();
    let ran = go(&from, &to, &options).clean();
    assert_eq!((ran.summary.attributes, &ran.deeds[..]), (1, &["Attributes d".to_string()][..]));
    assert_eq!(to.get_xattr(&node_at(&*to, &["d"]), "user.k").unwrap(), b"2");
}

/// Made anew, apart from its other names, it would have none either.
#[test]
fn a_file_of_several_names_is_not_copied_again_for_an_acl_that_the_target_takes_none_of() {
    const ACL: &str = "system.posix_acl_access";
    let (from, to) = (memory(), memory());
    let node = file(&*from, &from.root(), "a", b"data", 1);
    from.link(&node, &from.root(), "b").unwrap();
    from.set_xattr(&node, ACL, &acl(0o640)).unwrap();
    from.set_xattr(&node, "user.k", b"1").unwrap();
    set_time(&*from, &node, past(1));
    let plain = Odd::new(&to, |mount, call| match &mut call.op {
        Op::Beyond(Beyond::SetXattr { name, out, .. }) if *name == ACL.as_bytes() => *out = Err(Status::NotSupp),
        Op::Beyond(Beyond::GetXattr { name, out, .. }) if *name == ACL.as_bytes() => *out = Err(Status::NotSupp),
        _ => pass(mount, call),
    });
    let newer = Options { existing: Existing::UnlessNewer, ..Options::default() };
    let warned = |ran: &Ran| ran.summary.warnings.iter().filter(|text| text.contains("cannot be set")).count();
    let first = go(&from, &plain, &newer).clean();
    assert_eq!((first.summary.files, first.summary.hard_links, warned(&first)), (1, 1, 1));
    for options in [&newer, &Options::default()] {
        let again = go(&from, &plain, options).clean();
        assert_eq!((again.deeds.len(), warned(&again)), (0, 1), "{:?}", again.deeds);
    }
    // What it does take is a reason.
    from.set_xattr(&node, "user.k", b"2").unwrap();
    assert_eq!(go(&from, &plain, &newer).clean().summary.files, 1);
    assert_eq!(to.get_xattr(&node_at(&*to, &["b"]), "user.k").unwrap(), b"2");
    assert_eq!(go(&from, &plain, &newer).clean().deeds, Vec::<String>::new());
}
