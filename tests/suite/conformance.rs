//! The promises of `Mount`, one function each, over every mount and wrapper. A new mount is a line in `samples`.
//!
//! What a sample cannot do for a reason of its own (devices without root) its `Can` says, and the promise's function
//! then asserts how it refuses.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parfs::base::{Proc, Status, Time};
use parfs::mounts::{LocalMount, MemoryMount};
use parfs::storage::{
    AttrChange, Call, Cookie, Handle, How, Kind, Ledger, Limits, Mount, Node, Op, SetTime, Special, Spread, Stable,
    Tally, Tapped, Volume, Want,
};

use super::ask::{Ask, mode, name, size};

/// What differs between samples for good reasons.
#[derive(Clone, Copy)]
struct Can {
    /// Give files to other owners.
    chown: bool,
    /// Make device nodes.
    devices: bool,
    /// Count subdirectories in a directory's nlink (btrfs and others do not).
    dir_nlink: bool,
    /// How often `issued` counts a call: a volume of two views of one mount sums that mount twice.
    issued_times: u64,
    /// A page too small for its first entry is refused.
    handles: bool,
}

struct Sample {
    name: &'static str,
    mount: Arc<dyn Mount>,
    can: Can,
    _guard: Option<tempfile::TempDir>,
}

const ALL: Can = Can { chown: true, devices: true, dir_nlink: true, issued_times: 1, handles: true };

/// A LocalMount on a new directory; what its process and file system can do is tried out beside it.
fn local(name: &'static str, descriptors_max: Option<usize>) -> Sample {
    let guard = tempfile::tempdir().unwrap();
    let tried = tempfile::tempdir_in(guard.path()).unwrap();
    std::fs::create_dir(tried.path().join("d")).unwrap();
    let (zero, rw) = (rustix::fs::makedev(1, 5), rustix::fs::Mode::RUSR);
    let device = rustix::fs::FileType::CharacterDevice;
    let can = Can {
        chown: std::os::unix::fs::chown(tried.path().join("d"), Some(12345), Some(54321)).is_ok(),
        devices: rustix::fs::mknodat(rustix::fs::CWD, tried.path().join("c"), device, rw, zero).is_ok(),
        dir_nlink: std::os::unix::fs::MetadataExt::nlink(&tried.path().metadata().unwrap()) == 3,
        issued_times: 1,
        handles: false,
    };
    drop(tried);
    let mount = match descriptors_max {
        None => LocalMount::open(guard.path()),
        Some(max) => LocalMount::open_with(guard.path(), max),
    };
    Sample { name, mount: Arc::new(mount.unwrap()), can, _guard: Some(guard) }
}

/// Every mount and wrapper that must keep the promises, each empty.
fn samples() -> Vec<Sample> {
    let memory = |name, mount, can| Sample { name, mount, can, _guard: None };
    let one = Arc::new(MemoryMount::new());
    let views: Vec<Arc<dyn Mount>> = vec![one.clone(), one];
    let ledger = Arc::new(Ledger::default());
    vec![
        memory("memory", Arc::new(MemoryMount::new()), ALL),
        memory("tapped", Arc::new(Tapped::new(Arc::new(MemoryMount::new()), vec![ledger])), ALL),
        memory("volume", Arc::new(Volume::new(views, Spread::RoundRobin)), Can { issued_times: 2, ..ALL }),
        local("local", None),
        local("local, one descriptor", Some(1)),
    ]
}

fn each(promise: impl Fn(&dyn Mount, &Node, Can)) {
    for sample in samples() {
        println!("{}", sample.name); // shown when a promise fails
        promise(&*sample.mount, &sample.mount.root(), sample.can);
    }
}

const AT: Time = Time { secs: 1_000_000_000, nanos: 123_456_789 };
const LATER: Time = Time { secs: 2_000_000_001, nanos: 1 };

/// Moves an object's times into the past, so that any update shows.
fn age(mount: &dyn Mount, node: &Node) {
    let change = AttrChange { atime: SetTime::At(AT), mtime: SetTime::At(AT), ..AttrChange::default() };
    mount.set_attr(node, change).unwrap();
}

fn names(mount: &dyn Mount, dir: &Node) -> BTreeSet<String> {
    mount.list(dir, Want::Names, 4096).unwrap().iter().map(|entry| entry.name.to_string()).collect()
}

#[test]
fn root_is_an_empty_directory() {
    each(|mount, root, can| {
        let attr = mount.get_attr(root).unwrap();
        assert_eq!(attr.kind, Kind::Dir);
        assert!(attr.nlink == 2 || !can.dir_nlink);
        for want in [Want::Names, Want::Attributes] {
            let page = mount.read_dir(root, Cookie::default(), want, 4096).unwrap();
            assert!(page.end && page.entries.is_empty());
        }
        assert_eq!(mount.lookup(root, "nothing").unwrap_err(), Status::NoEnt);
        assert!(!mount.label().is_empty());
        let mut call = [Call::default()];
        mount.perform(&mut call);
        assert_eq!(call[0].status(), Ok(()));
    });
}

#[test]
fn new_files_have_exactly_the_mode_size_and_times_asked_for() {
    each(|mount, root, _| {
        for how in [How::Guarded, How::Unchecked] {
            for bits in [0o600, 0o644, 0o666, 0o777, 0o4755, 0o1644, 0o444] {
                let at = format!("{how:?}{bits:o}");
                let found = mount.create(root, &at, how, mode(bits)).unwrap();
                assert_eq!(mount.get_attr(&found.node).unwrap().mode, bits, "{at}");
                assert!(found.attr.is_none_or(|attr| attr.mode == bits && attr.kind == Kind::File && attr.nlink == 1));
            }
            let change = AttrChange { mtime: SetTime::At(AT), atime: SetTime::At(LATER), ..size(100_000) };
            let found = mount.create(root, format!("{how:?}"), how, change).unwrap();
            let attr = mount.get_attr(&found.node).unwrap();
            assert_eq!((attr.size, attr.mtime, attr.atime), (100_000, AT, LATER));
            assert_eq!(mount.content(&found.node), Ok(vec![0; 100_000]));
        }
    });
}

#[test]
fn create_treats_an_existing_name_as_told() {
    each(|mount, root, _| {
        let made = mount.create(root, "f", How::Guarded, mode(0o640)).unwrap();
        mount.write(&made.node, 0, b"content", Stable::FileSync).unwrap();
        assert_eq!(mount.create(root, "f", How::Guarded, mode(0o600)).unwrap_err(), Status::Exist);
        assert_eq!(mount.create(root, "f", How::Exclusive(7), AttrChange::default()).unwrap_err(), Status::Exist);
        let opened = mount.create(root, "f", How::Unchecked, AttrChange { mtime: SetTime::At(AT), ..mode(0o777) });
        let attr = mount.get_attr(&opened.unwrap().node).unwrap();
        assert_eq!((attr.mode, attr.size, attr.mtime == AT), (0o640, 7, false), "only the size would be applied");
        let cut = mount.create(root, "f", How::Unchecked, AttrChange { mode: Some(0o600), ..size(3) }).unwrap();
        assert_eq!(mount.content(&cut.node).unwrap(), b"con");
        let cut = mount.create(root, "f", How::Unchecked, AttrChange { mode: Some(0o600), ..size(0) }).unwrap();
        assert_eq!(mount.get_attr(&cut.node).unwrap().size, 0);
        assert_eq!(mount.get_attr(&cut.node).unwrap().mode, 0o640);
    });
}

#[test]
fn exclusive_create_knows_its_own_verifier() {
    each(|mount, root, _| {
        let verifier = 0x0123_4567_6789_abcd;
        let how = How::Exclusive(verifier);
        let made = mount.create(root, "x", how, AttrChange::default()).unwrap();
        let again = mount.create(root, "x", how, AttrChange::default()).unwrap();
        assert_eq!(mount.get_attr(&made.node).unwrap().fileid, mount.get_attr(&again.node).unwrap().fileid);
        let other = How::Exclusive(verifier + 1);
        assert_eq!(mount.create(root, "x", other, AttrChange::default()).unwrap_err(), Status::Exist);
    });
}

#[test]
fn create_never_opens_what_is_not_a_file() {
    each(|mount, root, _| {
        mount.dir(root, "dir");
        mount.symlink(root, "link", b"target").unwrap();
        mount.mknod(root, "fifo", Special::Fifo, AttrChange::default()).unwrap();
        mount.mknod(root, "socket", Special::Socket, AttrChange::default()).unwrap();
        for at in ["dir", "link", "fifo", "socket"] {
            for how in [How::Unchecked, How::Guarded, How::Exclusive(1)] {
                for change in [AttrChange::default(), size(0), mode(0o666)] {
                    assert_eq!(mount.create(root, at, how, change).unwrap_err(), Status::Exist, "{at} {how:?}");
                }
            }
        }
        assert_eq!(mount.lookup(root, "target").unwrap_err(), Status::NoEnt, "the symlink was not followed");
    });
}

#[test]
fn directories_are_made_counted_and_removed() {
    each(|mount, root, can| {
        for bits in [0o700, 0o777, 0o1777, 0o2755, 0o500] {
            let found = mount.mkdir(root, format!("d{bits:o}"), mode(bits)).unwrap();
            let attr = mount.get_attr(&found.node).unwrap();
            assert_eq!((attr.kind, attr.mode), (Kind::Dir, bits));
            assert!(attr.nlink == 2 || !can.dir_nlink);
        }
        let dir = mount.dir(root, "dir");
        assert_eq!(mount.mkdir(root, "dir", AttrChange::default()).unwrap_err(), Status::Exist);
        age(mount, &dir);
        mount.dir(&dir, "sub");
        let attr = mount.get_attr(&dir).unwrap();
        assert!(attr.mtime > AT && (attr.nlink == 3 || !can.dir_nlink));
        assert_eq!(mount.rmdir(root, "dir"), Err(Status::NotEmpty));
        assert_eq!(mount.remove(root, "dir"), Err(Status::IsDir));
        age(mount, &dir);
        assert_eq!(mount.rmdir(&dir, "sub"), Ok(()));
        let attr = mount.get_attr(&dir).unwrap();
        assert!(attr.mtime > AT && (attr.nlink == 2 || !can.dir_nlink));
        assert_eq!(mount.rmdir(root, "dir"), Ok(()));
        assert_eq!(mount.rmdir(root, "dir"), Err(Status::NoEnt));
        let attr = mount.get_attr(root).unwrap();
        assert!(attr.nlink == 7 || !can.dir_nlink);
    });
}

#[test]
fn directories_hand_down_their_set_group_id_bit() {
    each(|mount, root, _| {
        let dir = mount.mkdir(root, "dir", mode(0o2775)).unwrap().node;
        let sub = mount.mkdir(&dir, "sub", mode(0o755)).unwrap().node;
        assert_eq!(mount.get_attr(&sub).unwrap().mode, 0o2755);
        let file = mount.create(&dir, "file", How::Guarded, mode(0o644)).unwrap().node;
        assert_eq!(mount.get_attr(&file).unwrap().mode, 0o644);
        assert_eq!(mount.get_attr(&file).unwrap().gid, mount.get_attr(&dir).unwrap().gid);
    });
}

#[test]
fn symlinks_keep_their_target_bytes() {
    each(|mount, root, _| {
        for (at, target) in [("a", &b"../../etc/passwd"[..]), ("b", b"\xff\n "), ("c", &[b'x'; 4000]), ("d", b".")] {
            let node = mount.symlink(root, at, target).unwrap().node;
            assert_eq!(mount.read_link(&node).unwrap(), target);
            let attr = mount.get_attr(&node).unwrap();
            assert_eq!((attr.kind, attr.size), (Kind::Symlink, target.len() as u64));
            assert_eq!(mount.symlink(root, at, b"other").unwrap_err(), Status::Exist);
            assert_eq!(mount.read(&node, 0, 10).unwrap_err(), Status::Inval);
            assert_eq!(mount.write(&node, 0, b"x", Stable::FileSync).unwrap_err(), Status::Inval);
            assert_eq!(mount.set_attr(&node, mode(0o600)).unwrap_err(), Status::NotSupp);
            age(mount, &node);
            assert_eq!(mount.get_attr(&node).unwrap().mtime, AT);
            assert_eq!(mount.lookup(&node, "x").unwrap_err(), Status::NotDir, "the symlink is not followed");
        }
        assert!(mount.symlink(root, "e", b"").is_err() && mount.symlink(root, "e", &[b'x'; 4096]).is_err());
        assert!(mount.symlink(root, "e", b"nul\0").is_err());
        assert_eq!(mount.lookup(root, "e").unwrap_err(), Status::NoEnt);
        let file = mount.file(root, "file", b"");
        assert_eq!(mount.read_link(&file), Err(Status::Inval));
        assert_eq!(mount.read_link(root), Err(Status::Inval));
    });
}

#[test]
fn special_files_are_made_with_their_numbers() {
    each(|mount, root, can| {
        for (at, special, kind) in [("fifo", Special::Fifo, Kind::Fifo), ("socket", Special::Socket, Kind::Socket)] {
            let node = mount.mknod(root, at, special, mode(0o622)).unwrap().node;
            let attr = mount.get_attr(&node).unwrap();
            assert_eq!((attr.kind, attr.mode), (kind, 0o622));
            assert_eq!(mount.mknod(root, at, special, mode(0o622)).unwrap_err(), Status::Exist);
            assert_eq!(mount.read(&node, 0, 1).unwrap_err(), Status::Inval, "and it does not wait");
            assert_eq!(mount.write(&node, 0, b"x", Stable::Unstable).unwrap_err(), Status::Inval);
            assert_eq!(mount.set_attr(&node, size(0)).unwrap_err(), Status::Inval);
            mount.set_attr(&node, mode(0o600)).unwrap();
            assert_eq!(mount.get_attr(&node).unwrap().mode, 0o600);
        }
        for (at, special, kind) in
            [("char", Special::Char(1, 5), Kind::Char), ("block", Special::Block(259, 70_000), Kind::Block)]
        {
            match mount.mknod(root, at, special, mode(0o600)) {
                Ok(found) => {
                    assert!(can.devices);
                    let attr = mount.get_attr(&found.node).unwrap();
                    let rdev = if kind == Kind::Char { (1, 5) } else { (259, 70_000) };
                    assert_eq!((attr.kind, attr.mode, attr.rdev), (kind, 0o600, rdev));
                }
                Err(status) => assert!(!can.devices && status == Status::Perm, "{status}"),
            }
        }
    });
}

#[test]
fn hard_links_are_names_of_one_object() {
    each(|mount, root, _| {
        let file = mount.file(root, "one", b"shared");
        let dir = mount.dir(root, "dir");
        let attr = mount.link(&file, &dir, "two").unwrap();
        assert!(attr.is_none_or(|attr| attr.nlink == 2));
        let two = mount.lookup(&dir, "two").unwrap().node;
        assert_eq!(mount.get_attr(&file).unwrap().fileid, mount.get_attr(&two).unwrap().fileid);
        mount.write(&two, 0, b"SH", Stable::FileSync).unwrap();
        assert_eq!(mount.content(&file).unwrap(), b"SHared");
        assert_eq!(mount.link(&file, &dir, "two"), Err(Status::Exist));
        assert_eq!(mount.link(&dir, root, "three"), Err(Status::IsDir));
        assert_eq!(mount.link(&file, &file, "three"), Err(Status::NotDir));
        assert_eq!(mount.remove(root, "one"), Ok(()));
        assert_eq!(mount.get_attr(&two).unwrap().nlink, 1);
        assert_eq!(mount.content(&two).unwrap(), b"SHared");
        let link = mount.symlink(root, "soft", b"nowhere").unwrap().node;
        mount.link(&link, root, "soft2").unwrap();
        let soft2 = mount.lookup(root, "soft2").unwrap();
        assert_eq!(mount.read_link(&soft2.node).unwrap(), b"nowhere", "the symlink itself got the name");
    });
}

#[test]
fn removed_objects_are_gone() {
    each(|mount, root, _| {
        let file = mount.file(root, "f", b"x");
        assert_eq!(mount.rmdir(root, "f"), Err(Status::NotDir));
        age(mount, root);
        assert_eq!(mount.remove(root, "f"), Ok(()));
        assert!(mount.get_attr(root).unwrap().mtime > AT);
        assert_eq!(mount.remove(root, "f"), Err(Status::NoEnt));
        for status in [
            mount.get_attr(&file).unwrap_err(),
            mount.write(&file, 0, b"y", Stable::FileSync).unwrap_err(),
            mount.read(&file, 0, 1).unwrap_err(),
            mount.set_attr(&file, mode(0o600)).unwrap_err(),
        ] {
            assert!(matches!(status, Status::Stale | Status::NoEnt), "{status}");
        }
        let dir = mount.dir(root, "d");
        mount.rmdir(root, "d").unwrap();
        let status = mount.mkdir(&dir, "sub", AttrChange::default()).unwrap_err();
        assert!(matches!(status, Status::Stale | Status::NoEnt), "{status}");
    });
}

#[test]
fn rename_moves_and_replaces() {
    each(|mount, root, can| {
        let (a, b) = (mount.dir(root, "a"), mount.dir(root, "b"));
        mount.file(&a, "f", b"first");
        mount.file(&b, "g", b"second");
        age(mount, &a);
        age(mount, &b);
        assert_eq!(mount.rename(&a, "f", &b, "g"), Ok(()));
        assert!(mount.get_attr(&a).unwrap().mtime > AT && mount.get_attr(&b).unwrap().mtime > AT);
        assert_eq!(mount.lookup(&a, "f").unwrap_err(), Status::NoEnt);
        assert_eq!(mount.content(&mount.lookup(&b, "g").unwrap().node).unwrap(), b"first");
        let sub = mount.dir(&a, "sub");
        mount.file(&sub, "deep", b"");
        mount.dir(&b, "empty");
        assert_eq!(mount.rename(&a, "sub", &b, "empty"), Ok(()), "onto an empty directory");
        if can.dir_nlink {
            assert_eq!((mount.get_attr(&a).unwrap().nlink, mount.get_attr(&b).unwrap().nlink), (2, 3));
        }
        let moved = mount.lookup(&b, "empty").unwrap().node;
        assert_eq!(names(mount, &moved), BTreeSet::from(["deep".to_string()]));
        assert_eq!(mount.rename(&a, "none", &b, "x"), Err(Status::NoEnt));
    });
}

#[test]
fn rename_refuses_what_cannot_be() {
    each(|mount, root, _| {
        let a = mount.dir(root, "a");
        let b = mount.dir(&a, "b");
        let c = mount.dir(&b, "c");
        let file = mount.file(root, "file", b"");
        mount.dir(root, "empty");
        assert_eq!(mount.rename(root, "a", &c, "x"), Err(Status::Inval), "below itself");
        assert_eq!(mount.rename(root, "a", &a, "x"), Err(Status::Inval), "into itself");
        assert_eq!(mount.rename(&b, "c", root, "a"), Err(Status::NotEmpty), "onto its ancestor");
        assert_eq!(mount.rename(root, "empty", root, "a"), Err(Status::NotEmpty));
        assert_eq!(mount.rename(root, "file", root, "empty"), Err(Status::IsDir));
        assert_eq!(mount.rename(root, "empty", root, "file"), Err(Status::NotDir));
        assert_eq!(mount.rename(root, "file", &file, "x"), Err(Status::NotDir));
        mount.link(&file, root, "same").unwrap();
        assert_eq!(mount.rename(root, "file", root, "same"), Ok(()), "two names of one object: nothing is done");
        assert_eq!(mount.rename(root, "same", root, "same"), Ok(()));
        let all = ["a", "empty", "file", "same"].map(String::from);
        assert_eq!(names(mount, root), BTreeSet::from(all));
    });
}

#[test]
fn data_is_read_as_it_was_written() {
    each(|mount, root, _| {
        let file = mount.file(root, "f", b"");
        assert_eq!(mount.read(&file, 0, 10).unwrap(), (vec![], true));
        let data: Vec<u8> = (0..300_000u32).map(|i| (i * 7 >> 3) as u8).collect();
        age(mount, &file);
        for (i, piece) in data.chunks(70_001).enumerate().collect::<Vec<_>>().into_iter().rev() {
            let written = mount.write(&file, i as u64 * 70_001, piece, Stable::Unstable).unwrap();
            assert_eq!(written.count as usize, piece.len());
        }
        mount.commit(&file).unwrap();
        assert!(mount.get_attr(&file).unwrap().mtime > AT);
        assert_eq!(mount.get_attr(&file).unwrap().size, 300_000);
        assert!(mount.content(&file).unwrap() == data);
        assert_eq!(mount.read(&file, 299_990, 10).unwrap().0, &data[299_990..]);
        assert_eq!(mount.read(&file, 299_990, 1000).unwrap(), (data[299_990..].to_vec(), true));
        assert_eq!(mount.read(&file, 1_000_000, 10).unwrap(), (vec![], true));
        assert_eq!(mount.read(&file, u64::MAX, u32::MAX).unwrap(), (vec![], true));
        assert_eq!(mount.read(&file, 5, 0).unwrap().0, vec![]);
        assert!(!mount.read(&file, 0, 299_999).unwrap().1);
        assert_eq!(mount.read(root, 0, 1).unwrap_err(), Status::IsDir);
        assert_eq!(mount.write(root, 0, b"x", Stable::FileSync).unwrap_err(), Status::IsDir);
        assert_eq!(mount.write(&file, 0, b"", Stable::FileSync).unwrap().count, 0);
        assert_eq!(mount.write(&file, u64::MAX, b"x", Stable::FileSync).unwrap_err(), Status::FBig);
        assert_eq!(mount.write(&file, 1 << 63, b"x", Stable::FileSync).unwrap_err(), Status::FBig);
        assert_eq!(mount.get_attr(&file).unwrap().size, 300_000);
    });
}

#[test]
fn holes_read_as_zeros_and_cost_little() {
    each(|mount, root, _| {
        let file = mount.file(root, "sparse", b"start");
        mount.write(&file, 100 << 20, b"end", Stable::FileSync).unwrap();
        let attr = mount.get_attr(&file).unwrap();
        assert_eq!(attr.size, (100 << 20) + 3);
        assert!(attr.used < 10 << 20, "{} bytes", attr.used);
        let (bytes, _) = mount.read(&file, 0, 100_000).unwrap();
        assert!(bytes[..5] == *b"start" && bytes[5..].iter().all(|&b| b == 0) && bytes.len() == 100_000);
        assert_eq!(mount.read(&file, (100 << 20) - 2, 10).unwrap(), (b"\0\0end".to_vec(), true));
    });
}

#[test]
fn a_large_read_or_write_takes_what_it_can() {
    each(|mount, root, _| {
        let file = mount.file(root, "f", b"");
        let data = vec![5; 3 << 20];
        let written = mount.write(&file, 0, &data, Stable::FileSync).unwrap();
        assert!(written.count > 0 && written.count <= 3 << 20);
        assert_eq!(mount.get_attr(&file).unwrap().size, u64::from(written.count));
        let (bytes, _) = mount.read(&file, 0, u32::MAX).unwrap();
        assert!(!bytes.is_empty() && bytes.iter().all(|&b| b == 5));
    });
}

#[test]
fn set_attr_sets_what_is_asked_and_nothing_else() {
    each(|mount, root, _| {
        let file = mount.file(root, "f", b"0123456789");
        mount.set_attr(&file, mode(0o751)).unwrap();
        age(mount, &file);
        let before = mount.get_attr(&file).unwrap();
        assert_eq!((before.mode, before.mtime, before.atime), (0o751, AT, AT));
        let change = AttrChange { mtime: SetTime::At(LATER), ..AttrChange::default() };
        mount.set_attr(&file, change).unwrap();
        let after = mount.get_attr(&file).unwrap();
        assert_eq!((after.atime, after.mtime, after.size, after.mode), (AT, LATER, 10, 0o751));
        mount.set_attr(&file, AttrChange { mtime: SetTime::At(AT), mode: Some(0o600), ..size(4) }).unwrap();
        let after = mount.get_attr(&file).unwrap();
        assert_eq!((after.mtime, after.size, after.mode), (AT, 4, 0o600), "the time is set after the size");
        mount.set_attr(&file, size(6)).unwrap();
        assert_eq!(mount.content(&file).unwrap(), b"0123\0\0");
        assert!(mount.get_attr(&file).unwrap().mtime > AT);
        let now = AttrChange { atime: SetTime::Now, ..AttrChange::default() };
        mount.set_attr(&file, now).unwrap();
        assert!(mount.get_attr(&file).unwrap().atime > AT);
        mount.set_attr(&file, AttrChange::default()).unwrap();
        let dir = mount.dir(root, "d");
        mount.set_attr(&dir, mode(0o1711)).unwrap();
        assert_eq!(mount.get_attr(&dir).unwrap().mode, 0o1711);
        assert_eq!(mount.set_attr(&dir, size(0)).unwrap_err(), Status::IsDir);
        assert_eq!(mount.set_attr(&file, size(1 << 63)).unwrap_err(), Status::FBig);
        let before_1970 = AttrChange { mtime: SetTime::At(Time { secs: -5, nanos: 3 }), ..AttrChange::default() };
        mount.set_attr(&dir, before_1970).unwrap();
    });
}

#[test]
fn owners_change_when_that_is_allowed() {
    each(|mount, root, can| {
        let file = mount.file(root, "f", b"");
        let give = AttrChange { uid: Some(12345), gid: Some(54321), mode: Some(0o4711), ..AttrChange::default() };
        let link = mount.symlink(root, "l", b"f").unwrap().node;
        let give_link = AttrChange { mode: None, ..give };
        let made = mount.create(root, "g", How::Guarded, give);
        let dir = mount.mkdir(root, "d", AttrChange { mode: Some(0o755), ..give });
        if !can.chown {
            assert_eq!(mount.set_attr(&file, give).unwrap_err(), Status::Perm);
            assert_eq!((made.unwrap_err(), dir.unwrap_err()), (Status::Perm, Status::Perm));
            return;
        }
        mount.set_attr(&file, give).unwrap();
        mount.set_attr(&link, give_link).unwrap();
        for node in [&file, &link, &made.unwrap().node, &dir.unwrap().node] {
            let attr = mount.get_attr(node).unwrap();
            assert_eq!((attr.uid, attr.gid), (12345, 54321));
            assert!(attr.kind != Kind::File || attr.mode == 0o4711, "the mode is set after the owner");
        }
        let only_gid = AttrChange { gid: Some(7), ..AttrChange::default() };
        mount.set_attr(&file, only_gid).unwrap();
        let attr = mount.get_attr(&file).unwrap();
        assert_eq!((attr.uid, attr.gid, attr.mode), (12345, 7, 0o711), "a new owner takes the set-id bits off");
    });
}

#[test]
fn writes_say_how_safe_they_are() {
    each(|mount, root, _| {
        let file = mount.file(root, "f", b"");
        let unstable = mount.write(&file, 0, b"a", Stable::Unstable).unwrap();
        let synced = mount.write(&file, 1, b"b", Stable::DataSync).unwrap();
        assert!(synced.stable >= Stable::DataSync);
        assert_eq!(mount.write(&file, 2, b"c", Stable::FileSync).unwrap().stable, Stable::FileSync);
        mount.write(&file, 3, b"d", Stable::Unstable).unwrap();
        let verifier = mount.commit(&file).unwrap();
        assert_eq!((unstable.verifier, synced.verifier), (verifier, verifier));
        assert_eq!(mount.commit(&file).unwrap(), verifier, "nothing to commit is no error");
        assert_eq!(mount.commit(root).unwrap_err(), Status::IsDir);
        assert_eq!(mount.content(&file).unwrap(), b"abcd");
        assert_eq!(mount.write(&file, 4, b"e", Stable::Unstable).unwrap().count, 1, "after COMMIT it goes on");
        mount.commit(&file).unwrap();
        assert_eq!(mount.content(&file).unwrap(), b"abcde");
    });
}

#[test]
fn a_read_only_file_is_written_by_who_made_it() {
    each(|mount, root, _| {
        let file = mount.create(root, "f", How::Guarded, mode(0o444)).unwrap().node;
        for i in 0..4 {
            mount.write(&file, i, &[i as u8], Stable::FileSync).unwrap();
        }
        assert_eq!(mount.content(&file).unwrap(), [0, 1, 2, 3]);
    });
}

#[test]
fn listings_name_everything_once() {
    each(|mount, root, _| {
        let dir = mount.dir(root, "d");
        let mut expected = BTreeMap::new();
        for i in 0..300 {
            let at = format!("{i}-{}", "n".repeat(i % 90));
            let node = if i % 3 == 0 { mount.dir(&dir, &at) } else { mount.file(&dir, &at, b"") };
            expected.insert(at, mount.get_attr(&node).unwrap());
        }
        for (want, bytes_max) in
            [(Want::Names, 512), (Want::Names, 1 << 20), (Want::Attributes, 1000), (Want::Attributes, 1 << 20)]
        {
            let entries = mount.list(&dir, want, bytes_max).unwrap();
            assert_eq!(entries.len(), 300);
            for entry in entries {
                let attr = expected[&entry.name.to_string()];
                assert_eq!(entry.fileid, attr.fileid);
                if want == Want::Attributes {
                    let listed = entry.attr.unwrap();
                    assert_eq!((listed.kind, listed.mode, listed.fileid), (attr.kind, attr.mode, attr.fileid));
                    assert_eq!(mount.get_attr(&entry.node.unwrap()).unwrap().fileid, attr.fileid);
                }
            }
        }
        let file = mount.file(root, "f", b"");
        assert_eq!(mount.read_dir(&file, Cookie::default(), Want::Names, 4096).unwrap_err(), Status::NotDir);
        let small = mount.read_dir(&dir, Cookie::default(), Want::Attributes, 64);
        assert_eq!(small.unwrap_err(), Status::TooSmall);
    });
}

#[test]
fn listings_go_on_while_entries_come_and_go() {
    each(|mount, root, _| {
        for i in 0..200 {
            mount.file(root, format!("{i:03}"), b"");
        }
        let mut seen = BTreeMap::new();
        let (mut from, mut added) = (Cookie::default(), 0);
        loop {
            let page = mount.read_dir(root, from, Want::Names, 500).unwrap();
            for entry in &page.entries {
                *seen.entry(entry.name.to_string()).or_insert(0) += 1;
                mount.remove(root, entry.name.as_bytes()).unwrap();
            }
            if page.end {
                break;
            }
            if added < 20 {
                mount.file(root, format!("new{added}"), b"");
                added += 1;
            }
            from = page.next;
        }
        assert!(seen.values().all(|&n| n == 1));
        assert!((0..200).all(|i| seen.contains_key(&format!("{i:03}"))), "an entry that stayed was missed");
    });
}

#[test]
fn a_listing_can_be_taken_up_at_any_entry() {
    each(|mount, root, _| {
        for i in 0..40 {
            mount.file(root, format!("{i}"), b"");
        }
        let all = mount.list(root, Want::Names, 1 << 20).unwrap();
        for (i, entry) in all.iter().enumerate().rev() {
            let verifier = mount.read_dir(root, Cookie::default(), Want::Names, 200).unwrap().next.verifier;
            let from = Cookie { position: entry.position, verifier };
            let page = mount.read_dir(root, from, Want::Names, 1 << 20).unwrap();
            let rest: Vec<_> = page.entries.iter().map(|entry| entry.name.clone()).collect();
            let expected: Vec<_> = all[i + 1..].iter().map(|entry| entry.name.clone()).collect();
            assert_eq!(rest, expected);
        }
    });
}

#[test]
fn names_are_bytes_up_to_255() {
    each(|mount, root, _| {
        let longest = [b'l'; 255];
        let odd: [&[u8]; 6] = [b"\xff\xfe", b"new\nline", b" ", b"...", b"-rf", &longest];
        for at in odd {
            mount.file(root, at, at);
            let found = mount.lookup(root, at).unwrap();
            assert_eq!(mount.content(&found.node).unwrap(), at);
        }
        let listed = mount.list(root, Want::Names, 4096).unwrap();
        let listed: BTreeSet<&[u8]> = listed.iter().map(|entry| entry.name.as_bytes()).collect();
        assert_eq!(listed, odd.into_iter().collect());
    });
}

#[test]
fn limits_are_what_fsinfo_and_pathconf_say() {
    each(|mount, root, _| {
        let limits = mount.limits();
        let asked = mount.fs_info(root).unwrap();
        assert_eq!(Limits { shape: limits.shape, ..asked }, limits, "a volume's shape is the sum of its mounts'");
        assert_eq!(mount.path_conf(root), Ok(limits.name_max));
        assert!(limits.read_max >= 4096 && limits.write_max >= 4096 && limits.list_max >= 4096);
        assert!(limits.shape.lanes > 0 && limits.shape.window > 0);
        let space = mount.fs_stat(root).unwrap();
        assert!(space.free_bytes <= space.total_bytes && space.available_bytes <= space.free_bytes);
    });
}

#[test]
fn access_grants_what_makes_sense() {
    each(|mount, root, _| {
        let file = mount.create(root, "f", How::Guarded, mode(0o755)).unwrap().node;
        assert_eq!(mount.access(&file, 0x3f), Ok(0x2d));
        assert_eq!(mount.access(root, 0x3f), Ok(0x1f));
        assert_eq!(mount.access(&file, 0x01), Ok(0x01));
        let link = mount.symlink(root, "l", b"nowhere").unwrap().node;
        assert_eq!(mount.access(&link, 0x01), Ok(0x01));
    });
}

#[test]
fn strange_nodes_are_refused() {
    each(|mount, root, can| {
        let other = MemoryMount::new();
        let foreign = if can.handles { other.root() } else { Node::Handle(Handle::new(b"foreign").unwrap()) };
        let expected = if can.handles { Status::Stale } else { Status::BadHandle };
        assert_eq!(mount.get_attr(&foreign).unwrap_err(), expected);
        for bytes in [&b""[..], b"short", &[0; 64]] {
            let node = Node::Handle(Handle::new(bytes).unwrap());
            assert_eq!(mount.get_attr(&node).unwrap_err(), Status::BadHandle);
            assert_eq!(mount.lookup(&node, "x").unwrap_err(), Status::BadHandle);
            assert_eq!(mount.rename(root, "x", &node, "y").unwrap_err(), Status::BadHandle);
        }
        let file = mount.file(root, "f", b"");
        assert_eq!(mount.lookup(&file, "x").unwrap_err(), Status::NotDir);
        assert_eq!(mount.create(&file, "x", How::Guarded, mode(0o600)).unwrap_err(), Status::NotDir);
    });
}

#[test]
fn every_call_of_a_window_gets_its_outcome() {
    each(|mount, root, _| {
        let (dir, file) = (mount.dir(root, "d"), mount.file(root, "f", b"12"));
        let mut calls = vec![
            Call::get_attr(&dir),
            Call::lookup(root, &name("none")),
            Call::create(&dir, &name("new"), How::Guarded, mode(0o600)),
            Call::read(&file, 0, 10, Vec::new()),
            Call::rmdir(root, &name("f")),
            Call::default(),
        ];
        mount.perform(&mut calls);
        let outcomes: Vec<_> = calls.iter().map(Call::status).collect();
        assert_eq!(outcomes, [Ok(()), Err(Status::NoEnt), Ok(()), Ok(()), Err(Status::NotDir), Ok(())]);
        assert!(matches!(&calls[3].op, Op::Read { buf, out: Ok(true), .. } if buf == b"12"));
        mount.perform(&mut []);
    });
}

#[test]
fn issued_counts_what_was_asked() {
    each(|mount, root, can| {
        let before = mount.issued().unwrap();
        let file = mount.file(root, "f", &[1; 100_000]);
        mount.lookup(root, "none").unwrap_err();
        mount.content(&file).unwrap();
        let mut asked = Tally::default();
        for _ in 0..can.issued_times {
            asked.count(Proc::Create, 0, false);
            asked.count(Proc::Write, 100_000, false);
            asked.count(Proc::Lookup, 0, true);
            asked.count(Proc::Read, 64 << 10, false);
            asked.count(Proc::Read, 64 << 10, false);
        }
        assert_eq!(mount.issued().unwrap() - before, asked);
    });
}

#[test]
fn many_threads_work_in_one_directory_and_one_file() {
    each(|mount, root, _| {
        let (dir, file) = (mount.dir(root, "d"), mount.file(root, "big", b""));
        std::thread::scope(|scope| {
            for lane in 0..8u8 {
                let (dir, file) = (&dir, &file);
                scope.spawn(move || {
                    for i in 0..50 {
                        let node = mount.file(dir, format!("{lane}-{i}"), &[lane; 3]);
                        assert_eq!(mount.content(&node).unwrap(), [lane; 3]);
                        let stable = if i % 2 == 0 { Stable::Unstable } else { Stable::FileSync };
                        mount.write(file, (i * 8 + u64::from(lane)) * 1000, &[lane + 1; 1000], stable).unwrap();
                    }
                });
            }
        });
        mount.commit(&file).unwrap();
        assert_eq!(names(mount, &dir).len(), 400);
        let content = mount.content(&file).unwrap();
        assert_eq!(content.len(), 400_000);
        assert!(content.chunks(1000).enumerate().all(|(i, piece)| piece.iter().all(|&b| b == (i % 8) as u8 + 1)));
    });
}
