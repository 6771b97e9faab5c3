//! What only the memory mount can be asked: restarts, capacity, size.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::base::Name;
use crate::storage::{AttrChange, Cookie, How, Op, Stable, Verifier, Want};

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).unwrap()
}

fn one<'a>(mount: &MemoryMount, call: Call<'a>) -> Call<'a> {
    let mut calls = [call];
    mount.perform(&mut calls);
    let [call] = calls;
    call
}

fn create(mount: &MemoryMount, at: &str) -> Result<Node, Status> {
    one(mount, Call::create(&mount.root(), &name(at), How::Guarded, AttrChange::default()))
        .found()
        .map(|found| found.node)
}

fn write(mount: &MemoryMount, node: &Node, offset: u64, data: &[u8], stable: Stable) -> Result<Verifier, Status> {
    one(mount, Call::write(node, offset, data, stable)).written().map(|written| written.verifier)
}

fn read(mount: &MemoryMount, node: &Node) -> Vec<u8> {
    match one(mount, Call::read(node, 0, 1 << 20, Vec::new())).op {
        Op::Read { buf, out: Ok(true), .. } => buf,
        op => panic!("{op:?}"),
    }
}

#[test]
fn a_restart_loses_what_was_not_committed_and_says_so() {
    let mount = MemoryMount::new();
    let (safe, lost, half) =
        (create(&mount, "safe").unwrap(), create(&mount, "lost").unwrap(), create(&mount, "half").unwrap());
    write(&mount, &safe, 0, b"safe", Stable::FileSync).unwrap();
    let before = write(&mount, &lost, 0, b"lost", Stable::Unstable).unwrap();
    write(&mount, &half, 0, b"first", Stable::Unstable).unwrap();
    assert_eq!(one(&mount, Call::commit(&half, 0, 0)).verifier(), Ok(before));
    write(&mount, &half, 3, b"second", Stable::Unstable).unwrap();
    mount.restart();
    assert_eq!((read(&mount, &safe), read(&mount, &lost)), (b"safe".to_vec(), Vec::new()));
    assert_eq!(read(&mount, &half), b"first");
    let after = one(&mount, Call::commit(&half, 0, 0)).verifier().unwrap();
    assert_ne!(before, after);
    assert_eq!(write(&mount, &lost, 0, b"again", Stable::Unstable), Ok(after));
}

#[test]
fn a_commit_with_the_verifier_of_its_write_means_safe() {
    let mount = MemoryMount::new();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|lane| {
                let mount = &mount;
                scope.spawn(move || {
                    let node = create(mount, &lane.to_string()).unwrap();
                    for i in 0..2000u32 {
                        let written = write(mount, &node, 0, &i.to_be_bytes(), Stable::Unstable).unwrap();
                        if one(mount, Call::commit(&node, 0, 0)).verifier() == Ok(written) {
                            assert_eq!(read(mount, &node), i.to_be_bytes());
                        }
                    }
                })
            })
            .collect();
        let restarts = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                mount.restart();
                std::thread::yield_now();
            }
        });
        let results: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        over.store(true, Ordering::Relaxed);
        restarts.join().unwrap();
        assert!(results.iter().all(|result| result.is_ok()));
    });
}

#[test]
fn a_full_mount_says_so_and_takes_more_when_there_is_room() {
    let mount = MemoryMount::with_capacity(8192, 2);
    let (a, b) = (create(&mount, "a").unwrap(), create(&mount, "b").unwrap());
    assert_eq!(create(&mount, "c").unwrap_err(), Status::NoSpc);
    write(&mount, &a, 0, &[1; 5000], Stable::FileSync).unwrap();
    assert_eq!(write(&mount, &b, 0, b"x", Stable::FileSync), Err(Status::NoSpc));
    write(&mount, &b, 0, &[0; 5000], Stable::FileSync).unwrap(); // zeros cost nothing
    assert_eq!(one(&mount, Call::remove(&mount.root(), &name("a"))).status(), Ok(()));
    write(&mount, &b, 0, b"x", Stable::FileSync).unwrap();
    create(&mount, "c").unwrap();
    let space = match one(&mount, Call::fs_stat(&mount.root())).op {
        Op::FsStat { out, .. } => out.unwrap(),
        op => panic!("{op:?}"),
    };
    assert_eq!((space.total_bytes, space.free_bytes, space.total_files, space.free_files), (8192, 4096, 2, 0));
}

#[test]
fn large_directories_are_paged_in_order_of_making() {
    let mount = MemoryMount::new();
    for i in 0..50_000 {
        create(&mount, &i.to_string()).unwrap();
    }
    let (mut from, mut next) = (Cookie::default(), 0);
    loop {
        let page = one(&mount, Call::read_dir(&mount.root(), from, Want::Attributes, 100_000)).take_page().unwrap();
        for entry in &page.entries {
            assert_eq!(entry.name.as_bytes(), next.to_string().as_bytes());
            next += 1;
        }
        from = page.next;
        if page.end {
            break;
        }
    }
    assert_eq!(next, 50_000);
    let wrong = Cookie { verifier: from.verifier + 1, ..from };
    let page = one(&mount, Call::read_dir(&mount.root(), wrong, Want::Names, 4096)).take_page();
    assert_eq!(page.unwrap_err(), Status::BadCookie);
}

/// With its two map entries and its name, an empty file stays under 400 bytes.
#[test]
fn an_object_is_small() {
    assert!(size_of::<Inode>() <= 168, "{} bytes", size_of::<Inode>());
}
