//! What is beyond NFSv3: who announces it keeps its promises, who does not answers `NotSupp`.

use parfs::base::Status;
use parfs::storage::{How, Kind, Mount, NO_XATTR, Node, Sought, Special, Stable};

use super::super::ask::{Ask, mode, size};
use super::{AT, Can, age, each};

/// `user::rwx,user:12345:r-x,group::r-x,mask::r-x,other::---` as Linux stores it (version 2; tag, permissions, id).
pub(super) const ACL_RWXR_X: &[u8] = b"\x02\0\0\0\
    \x01\0\x07\0\xff\xff\xff\xff\
    \x02\0\x05\0\x39\x30\0\0\
    \x04\0\x05\0\xff\xff\xff\xff\
    \x10\0\x05\0\xff\xff\xff\xff\
    \x20\0\0\0\xff\xff\xff\xff";

/// Without what a security module adds.
fn ours(mut names: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    names.retain(|name| name.starts_with(b"user."));
    names
}

/// More than any file system keeps in one block or less.
const FAR: u64 = 64 << 20;

#[test]
fn what_is_not_announced_is_not_supported() {
    each(|mount, root, _| {
        let extras = mount.limits().extras;
        let file = mount.file(root, "f", b"content");
        let not = Err(Status::NotSupp);
        if !extras.holes {
            assert_eq!(mount.seek(&file, 0, Sought::Data), Err(Status::NotSupp));
            assert_eq!(mount.seek(&file, 100, Sought::Hole), Err(Status::NotSupp));
        }
        if !extras.xattrs {
            assert_eq!(mount.list_xattrs(&file), Err(Status::NotSupp));
            assert_eq!(mount.get_xattr(&file, "user.a"), Err(Status::NotSupp));
            assert_eq!((mount.set_xattr(&file, "user.a", b""), mount.remove_xattr(&file, "user.a")), (not, not));
        }
        if !extras.caches {
            assert_eq!(mount.io_advise(&file), not);
        }
        assert_eq!(mount.lend(&file).is_some(), extras.copies);
        assert_eq!(mount.content(&file).unwrap(), b"content");
    });
}

#[test]
fn seek_finds_all_data_and_tells_holes() {
    each(|mount, root, _| {
        if !mount.limits().extras.holes {
            return;
        }
        let file = mount.file(root, "f", b"");
        for what in [Sought::Data, Sought::Hole] {
            assert_eq!(mount.seek(&file, 0, what), Err(Status::NxIo), "an empty file has neither");
        }
        mount.write(&file, FAR, &[1; 5000], Stable::FileSync).unwrap();
        mount.set_attr(&file, size(2 * FAR)).unwrap();
        assert_eq!(mount.seek(&file, 0, Sought::Hole), Ok(0));
        let data = mount.seek(&file, 0, Sought::Data).unwrap();
        assert!(data > 0 && data <= FAR, "{data}");
        assert_eq!(mount.seek(&file, FAR + 4999, Sought::Data), Ok(FAR + 4999));
        let hole = mount.seek(&file, FAR, Sought::Hole).unwrap();
        assert!((FAR + 5000..2 * FAR).contains(&hole), "{hole}");
        assert_eq!(mount.seek(&file, hole, Sought::Data), Err(Status::NxIo), "only a hole follows");
        assert_eq!(mount.seek(&file, 2 * FAR - 1, Sought::Hole), Ok(2 * FAR - 1));
        for offset in [2 * FAR, 2 * FAR + 1, 1 << 63, u64::MAX] {
            assert_eq!(mount.seek(&file, offset, Sought::Data), Err(Status::NxIo));
            assert_eq!(mount.seek(&file, offset, Sought::Hole), Err(Status::NxIo));
        }
        let full = mount.file(root, "full", &[1; 10_000]);
        assert_eq!((mount.seek(&full, 0, Sought::Data), mount.seek(&full, 0, Sought::Hole)), (Ok(0), Ok(10_000)));
        mount.write(&full, 0, b"x", Stable::Unstable).unwrap();
        assert_eq!(mount.content(&full).unwrap()[..2], [b'x', 1], "READ and WRITE do not mind");
        assert_eq!(mount.seek(root, 0, Sought::Data), Err(Status::IsDir));
        let link = mount.symlink(root, "l", b"full").unwrap().node;
        assert_eq!(mount.seek(&link, 0, Sought::Data), Err(Status::Inval), "not followed");
    });
}

#[test]
fn copy_copies_what_was_lent() {
    each(|mount, root, _| {
        let extras = mount.limits().extras;
        if !extras.copies {
            return;
        }
        let data: Vec<u8> = (0..300_000u32).map(|i| ((i * 7) >> 3) as u8).collect();
        let source = mount.file(root, "source", &data);
        let target = mount.file(root, "target", b"");
        let lent = mount.lend(&source).unwrap();
        let mut at = 0;
        while at < 300_000 {
            let copied = mount.copy(&lent, at, &target, at, u64::MAX >> 2).unwrap();
            assert!(copied > 0 && copied <= 300_000 - at);
            at += copied;
        }
        assert_eq!(mount.copy(&lent, at, &target, at, 10), Ok(0), "the end");
        assert_eq!(mount.copy(&lent, u64::MAX, &target, 0, 10), Ok(0), "far beyond it");
        mount.commit(&target).unwrap();
        assert!(mount.content(&target).unwrap() == data);
        // A part to another place; the rest of the target stays.
        assert_eq!(mount.copy(&lent, 100_001, &target, 7, 1000), Ok(1000));
        mount.commit(&target).unwrap();
        let mut expected = data.clone();
        expected[7..1007].copy_from_slice(&data[100_001..101_001]);
        assert!(mount.content(&target).unwrap() == expected);
        assert!(mount.content(&source).unwrap() == data, "the source is as it was");
        assert_eq!(mount.copy(&lent, 0, &target, u64::MAX, 10), Err(Status::FBig));
        assert_eq!(mount.copy(&lent, 0, root, 0, 10), Err(Status::IsDir));
        let empty = mount.lend(&mount.file(root, "empty", b"")).unwrap();
        assert_eq!(mount.copy(&empty, 0, &target, 0, 10), Ok(0));
        // What is lent can be copied after its name is gone.
        mount.remove(root, "source").unwrap();
        assert_eq!(mount.copy(&lent, 0, &target, 0, 10), Ok(10));
        mount.commit(&target).unwrap();
        let link = mount.symlink(root, "l", b"target").unwrap().node;
        assert!(mount.lend(root).is_none() && mount.lend(&link).is_none());
        let strange = parfs::storage::Lent { file: std::sync::Arc::new("of another kind"), attr: None };
        assert_eq!(mount.copy(&strange, 0, &target, 0, 10), Err(Status::NotSupp));
    });
}

#[test]
fn io_advise_changes_nothing_that_can_be_read() {
    each(|mount, root, _| {
        if !mount.limits().extras.caches {
            return;
        }
        let file = mount.file(root, "f", &[3; 100_000]);
        mount.io_advise(&file).unwrap();
        assert!(mount.content(&file).unwrap() == [3; 100_000]);
        mount.write(&file, 0, b"unstable", Stable::Unstable).unwrap();
        mount.io_advise(&file).unwrap();
        mount.commit(&file).unwrap();
        assert_eq!(mount.content(&file).unwrap()[..9], *b"unstable\x03");
        assert_eq!(mount.io_advise(root), Err(Status::IsDir));
    });
}

#[test]
fn xattrs_are_kept_by_files_and_directories() {
    each(|mount, root, can| {
        if !mount.limits().extras.xattrs || !can.user_xattrs {
            return;
        }
        let list = |node: &Node| -> Vec<Vec<u8>> { ours(mount.list_xattrs(node).unwrap()) };
        let made = mount.create(root, "f", How::Guarded, mode(0o444)).unwrap().node;
        for node in [&made, &mount.dir(root, "d")] {
            assert_eq!(list(node), Vec::<Vec<u8>>::new());
            assert_eq!(mount.get_xattr(node, "user.a"), Err(NO_XATTR));
            assert_eq!(mount.remove_xattr(node, "user.a"), Err(NO_XATTR));
            age(mount, node);
            let before = mount.get_attr(node).unwrap();
            let large: Vec<u8> = (0..2000u32).map(|i| i as u8).collect();
            for (at, value) in [("user.b", &b"first"[..]), ("user.a", b""), ("user.c", &large), ("user.b", b"\0\xff")] {
                mount.set_xattr(node, at, value).unwrap();
                assert_eq!(mount.get_xattr(node, at).unwrap(), value);
            }
            let after = mount.get_attr(node).unwrap();
            assert_eq!((after.mode, after.mtime), (before.mode, AT), "neither mode nor mtime changes");
            assert!(after.ctime >= before.ctime);
            assert_eq!(list(node), [b"user.a", b"user.b", b"user.c"], "sorted");
            mount.remove_xattr(node, "user.b").unwrap();
            assert_eq!(list(node), [b"user.a", b"user.c"]);
            assert_eq!(mount.get_xattr(node, "user.b"), Err(NO_XATTR));
            for at in ["", "user.n\0ul", "nowhere.a", &format!("user.{}", "n".repeat(251))] {
                assert!(mount.set_xattr(node, at, b"").is_err(), "{at}");
            }
            assert!(mount.set_xattr(node, "user.d", &vec![0; (64 << 10) + 1]).is_err());
            assert_eq!(list(node), [b"user.a", b"user.c"]);
        }
        let again = mount.lookup(root, "f").unwrap().node;
        assert_eq!(list(&again), [b"user.a", b"user.c"], "they are the object's, not the node's");
        mount.remove(root, "f").unwrap();
        assert!(mount.list_xattrs(&made).is_err());
        assert_eq!(list(&mount.file(root, "f", b"")), Vec::<Vec<u8>>::new());
    });
}

#[test]
fn a_long_list_of_names_is_whole_and_sorted() {
    each(|mount, root, can| {
        if !mount.limits().extras.xattrs || !can.user_xattrs {
            return;
        }
        let file = mount.file(root, "f", b"");
        let mut kept = Vec::new();
        for i in (10..40).rev() {
            let at = format!("user.{i}{}", "n".repeat(100));
            match mount.set_xattr(&file, &at, b"") {
                Ok(()) => kept.insert(0, at.into_bytes()),
                Err(Status::NoSpc) => break, // ext4 keeps them in one block
                Err(status) => panic!("{status}"),
            }
        }
        assert!(kept.len() > 20, "more than a small buffer holds");
        let listed = ours(mount.list_xattrs(&file).unwrap());
        assert!(listed == kept);
    });
}

#[test]
fn xattrs_of_symlinks_are_their_own() {
    each(|mount, root, can| {
        if !mount.limits().extras.xattrs || !can.user_xattrs {
            return;
        }
        let target = mount.file(root, "target", b"");
        mount.set_xattr(&target, "user.a", b"target's").unwrap();
        let link = mount.symlink(root, "l", b"target").unwrap().node;
        assert!(!mount.list_xattrs(&link).unwrap().contains(&b"user.a".to_vec()));
        assert_eq!(mount.get_xattr(&link, "user.a"), Err(NO_XATTR));
        assert_eq!(mount.set_xattr(&link, "user.b", b"x"), Err(Status::Perm), "Linux keeps none on symlinks");
        assert_eq!(mount.remove_xattr(&link, "user.a"), Err(Status::Perm));
        let fifo = mount.mknod(root, "fifo", Special::Fifo, mode(0o644)).unwrap().node;
        assert_eq!(mount.set_xattr(&fifo, "user.b", b"x"), Err(Status::Perm), "and it was not opened");
        assert_eq!(mount.get_xattr(&target, "user.a").unwrap(), b"target's");
        assert_eq!(mount.get_xattr(&target, "user.b"), Err(NO_XATTR));
        symlink_security(mount, &link, can);
        assert_eq!(mount.get_xattr(&target, "security.mark"), Err(NO_XATTR));
        assert_eq!(mount.get_attr(&link).unwrap().kind, Kind::Symlink);
    });
}

fn symlink_security(mount: &dyn Mount, link: &Node, can: Can) {
    if !can.symlink_xattrs {
        assert!(mount.set_xattr(link, "security.mark", b"l").is_err());
        return;
    }
    mount.set_xattr(link, "security.mark", b"l").unwrap();
    assert_eq!(mount.get_xattr(link, "security.mark").unwrap(), b"l");
    assert!(mount.list_xattrs(link).unwrap().contains(&b"security.mark".to_vec()));
    mount.remove_xattr(link, "security.mark").unwrap();
    assert_eq!(mount.get_xattr(link, "security.mark"), Err(NO_XATTR));
}

#[test]
fn acls_travel_as_attributes() {
    each(|mount, root, can| {
        if !can.acls || !mount.limits().extras.xattrs {
            return;
        }
        let (access, default) = ("system.posix_acl_access", "system.posix_acl_default");
        let (dir, file) = (mount.dir(root, "d"), mount.file(root, "f", b""));
        assert_eq!(mount.get_xattr(&file, access), Err(NO_XATTR));
        mount.set_xattr(&file, access, ACL_RWXR_X).unwrap();
        mount.set_xattr(&dir, default, ACL_RWXR_X).unwrap();
        assert_eq!(mount.get_attr(&file).unwrap().mode, 0o750, "the mode is part of the ACL");
        assert!(mount.list_xattrs(&file).unwrap().contains(&access.into()));
        assert!(mount.list_xattrs(&dir).unwrap().contains(&default.into()));
        assert_eq!(mount.get_xattr(&file, access).unwrap(), ACL_RWXR_X);
        // A new object has the mode that was asked for, whatever its directory's default ACL says.
        for bits in [0o666, 0o640, 0o600] {
            let made = mount.create(&dir, format!("{bits:o}"), How::Guarded, mode(bits)).unwrap().node;
            assert_eq!(mount.get_attr(&made).unwrap().mode, bits);
            let made = mount.mkdir(&dir, format!("d{bits:o}"), mode(bits | 0o100)).unwrap().node;
            assert_eq!(mount.get_attr(&made).unwrap().mode, bits | 0o100);
        }
        mount.remove_xattr(&file, access).unwrap();
        assert_eq!(mount.get_xattr(&file, access), Err(NO_XATTR));
    });
}
