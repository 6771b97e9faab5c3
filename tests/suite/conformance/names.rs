//! What names stand for: making, linking, renaming and removing.

use std::collections::BTreeSet;

use parfs::base::Status;
use parfs::storage::{AttrChange, How, Kind, SetTime, Special, Stable};

use super::super::ask::{Ask, mode, size};
use super::{AT, LATER, age, each, names};

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
