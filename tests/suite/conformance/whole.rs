//! Listings, limits, nodes, windows and counts: what holds of a mount as a whole.

use std::collections::{BTreeMap, BTreeSet};

use parfs::base::{Proc, Status};
use parfs::mounts::MemoryMount;
use parfs::storage::{Call, Cookie, Handle, How, Kind, Limits, Mount, Node, Op, Stable, Tally, Want};

use super::super::ask::{Ask, mode, name};
use super::{each, names};

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
            let from = Cookie { position: entry.position, verifier, ..Cookie::default() };
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
