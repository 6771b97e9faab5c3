//! Data and attributes: READ, WRITE, COMMIT, SETATTR, ACCESS.

use parfs::base::{Status, Time};
use parfs::storage::{AttrChange, How, Kind, SetTime, Stable};

use super::super::ask::{Ask, mode, size};
use super::{AT, LATER, age, each};

#[test]
fn data_is_read_as_it_was_written() {
    each(|mount, root, _| {
        let file = mount.file(root, "f", b"");
        assert_eq!(mount.read(&file, 0, 10).unwrap(), (vec![], true));
        let data: Vec<u8> = (0..300_000u32).map(|i| ((i * 7) >> 3) as u8).collect();
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
        assert_eq!(mount.read(&file, 5, 0).unwrap().0, Vec::<u8>::new());
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
    each(|mount, root, can| {
        let file = mount.file(root, "f", b"");
        let unstable = mount.write(&file, 0, b"a", Stable::Unstable).unwrap();
        let synced = mount.write(&file, 1, b"b", Stable::DataSync).unwrap();
        assert!(synced.stable >= Stable::DataSync);
        assert_eq!(mount.write(&file, 2, b"c", Stable::FileSync).unwrap().stable, Stable::FileSync);
        mount.write(&file, 3, b"d", Stable::Unstable).unwrap();
        let verifier = mount.commit(&file).unwrap();
        let again = mount.commit(&file).expect("nothing to commit is no error");
        if can.one_verifier {
            assert_eq!([unstable.verifier, synced.verifier, again], [verifier; 3]);
        }
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
