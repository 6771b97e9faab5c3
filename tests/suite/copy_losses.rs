//! Ways to lose data that were found by reading and by trial: other names, files that change while they are read, destinations that refuse.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parfs::base::{Status, Time};
use parfs::jobs::Live;
use parfs::jobs::copy::{Existing, Options, Side, What, copy};
use parfs::mounts::MemoryMount;
use parfs::storage::{Attr, Beyond, Call, Kind, Mount, Node, Op};

use crate::ask::{Ask, name, size};
use crate::cli_support::{Bench, Sim};
use crate::copies::{Ran, crew, run, sync, volume};
use crate::nasty::{past, put, set, set_time};
use crate::remove_odd::{Odd, pass};
use crate::tree::{content, dump, node_at};

const MIB: usize = 1 << 20;

fn memory() -> Arc<MemoryMount> {
    Arc::new(MemoryMount::new())
}

fn file(mount: &MemoryMount, at: &str, data: &[u8], n: i64) -> Node {
    let node = mount.file(&mount.root(), at, b"");
    put(mount, &node, 0, data);
    set_time(mount, &node, past(n));
    node
}

fn link(mount: &MemoryMount, node: &Node, at: &str) {
    let (root, at) = (mount.root(), name(at));
    let mut calls = [Call::link(node, &root, &at)];
    mount.perform(&mut calls);
    calls[0].status().unwrap();
}

/// A source of one file of two names.
fn two_names() -> Arc<MemoryMount> {
    let from = memory();
    link(&from, &file(&from, "a", b"source", 5), "b");
    from
}

fn noise(len: usize) -> Vec<u8> {
    crate::random::Random(9).bytes(len)
}

fn go(source: &Arc<impl Mount + 'static>, target: &Arc<impl Mount + 'static>, options: &Options) -> Ran {
    run(&volume(vec![source.clone() as _]), &volume(vec![target.clone() as _]), options, &crew(3, 3))
}

fn fileid(mount: &MemoryMount, at: &str) -> u64 {
    let mut calls = [Call::get_attr(&node_at(mount, &[at]))];
    mount.perform(&mut calls);
    calls[0].attr().unwrap().fileid
}

/// Two names of one file, of which the destination has one as an older file and one as a newer one.
#[test]
fn a_newer_file_is_kept_also_where_the_source_s_has_several_names() {
    let options = Options { existing: Existing::UnlessNewer, ..Options::default() };
    let (from, to) = (two_names(), memory());
    file(&to, "a", b"old", 1);
    file(&to, "b", b"somebody's later work", 9);
    let ran = go(&from, &to, &options).clean();
    assert_eq!((content(&*to, "a"), content(&*to, "b")), (b"source".to_vec(), b"somebody's later work".to_vec()));
    assert_eq!((ran.summary.kept, ran.summary.hard_links), (1, 0));
}

/// The source lies in the destination by another way, and nothing can be made there to find that out.
#[test]
fn what_cannot_be_told_from_the_source_is_not_removed() {
    for status in [Status::NoSpc, Status::DQuot, Status::Access] {
        let mount = memory();
        let c = ["a", "b", "c"].iter().fold(mount.root(), |dir, at| mount.dir(&dir, at));
        mount.file(&c, "f", b"the only copy");
        let before = dump(&*mount);
        let full = Odd::new(&mount, move |mount, call| match &mut call.op {
            Op::Create { out, .. } => *out = Err(status),
            _ => pass(mount, call),
        });
        let volumes = [volume(vec![mount.clone() as _]), volume(vec![full as _])];
        let side = |i: usize, path: &str| {
            let way = path.split('/').map(name).collect();
            Side { volume: &volumes[i], way, fs_root: false, shown: path.into() }
        };
        let crew = crew(2, 2);
        copy(&side(0, "a/b/c"), &side(1, "a"), What::Tree, &sync(), &crew, &Live::default(), None);
        assert_eq!(crew.report().failures().len(), 2, "{:?}", crew.report().failures());
        assert_eq!(content(&*mount, "a/b/c/f"), b"the only copy");
        assert_eq!(dump(&*mount).len(), before.len());
    }
}

/// A READ within the file that finds its end, `times` times: it is being written anew.
fn cut(mount: &Arc<MemoryMount>, times: u64) -> Arc<Odd> {
    let left = AtomicU64::new(times);
    Odd::new(mount, move |mount, call| {
        pass(mount, call);
        if let Op::Read { offset, buf, attr, out: out @ Ok(_), .. } = &mut call.op
            && *offset == MIB as u64
            && left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
        {
            buf.clear();
            (*attr, *out) = (None, Ok(true));
        }
    })
}

#[test]
fn a_large_file_that_was_short_for_a_moment_is_read_again_and_then_told() {
    let options = Options { range_bytes: MIB as u64, reflink: false, ..Options::default() };
    let data = noise(5 * MIB + 7);
    let (from, to) = (memory(), memory());
    file(&from, "f", &data, 1);
    assert_eq!(go(&cut(&from, 1), &to, &options).clean().summary.read_again, 1);
    assert!(content(&*to, "f") == data);
    // Where it stays so the copy is no equal one, also for the next run.
    let to = memory();
    let ran = go(&cut(&from, u64::MAX), &to, &options);
    assert_eq!(ran.failures.len(), 1, "{:?}", ran.failures);
    assert!(ran.failures[0].contains("changed while it was read"), "{:?}", ran.failures);
    assert_eq!(go(&from, &to, &options).clean().summary.files, 1);
    assert!(content(&*to, "f") == data);
}

/// A server's nonsense: to go on to the end would take years.
#[test]
fn a_file_said_to_be_of_2_to_the_62_bytes_ends_where_it_ends() {
    let (from, to) = (memory(), memory());
    file(&from, "f", &noise(2 * MIB), 1);
    let huge = Odd::new(&from, |mount, call| {
        pass(mount, call);
        match &mut call.op {
            Op::Beyond(Beyond::Seek { out, .. }) => *out = Err(Status::NotSupp),
            Op::ReadDir { out: Ok(page), .. } => {
                page.entries.iter_mut().flat_map(|entry| &mut entry.attr).for_each(|attr| attr.size = 1 << 62);
            }
            Op::GetAttr { out: Ok(attr), .. } => attr.size = 1 << 62,
            _ => {}
        }
    });
    let ran = go(&huge, &to, &Options { range_bytes: MIB as u64, ..Options::default() });
    assert_eq!(ran.failures.len(), 1, "{:?}", ran.failures);
}

/// A sparse file is of any size: to ask for each range of a hole took hours.
#[test]
fn a_hole_is_not_gone_through() {
    let (from, to) = (memory(), memory());
    let node = file(&from, "f", &noise(3 * MIB), 1);
    set(&*from, &node, size(1 << 40));
    let asked = Arc::new(AtomicU64::new(0));
    let counted = asked.clone();
    let counting = Odd::new(&from, move |mount, call| {
        pass(mount, call);
        counted.fetch_add(u64::from(matches!(call.op, Op::Beyond(Beyond::Seek { .. }))), Ordering::Relaxed);
    });
    go(&counting, &to, &Options { range_bytes: MIB as u64, reflink: false, ..Options::default() }).clean();
    assert!((1..50).contains(&asked.load(Ordering::Relaxed)), "{asked:?}");
    let mut calls = [Call::get_attr(&node_at(&*to, &["f"]))];
    to.perform(&mut calls);
    assert_eq!(calls[0].attr().unwrap().size, 1 << 40);
}

/// A log that grows all the time, and is quiet then.
#[test]
fn what_changed_while_it_was_read_is_neither_newer_nor_kept() {
    for existing in [Existing::UnlessNewer, Existing::Keep] {
        let options = Options { existing, ..Options::default() };
        let (from, to) = (memory(), memory());
        file(&from, "f", b"first line, last line", 1);
        let grows = Odd::new(&from, |mount, call| {
            pass(mount, call);
            if let Op::Read { attr: Some(attr), .. } = &mut call.op {
                attr.mtime = past(3);
            }
        });
        let ran = go(&grows, &to, &options);
        assert_eq!(ran.failures.len(), 1, "{:?}", ran.failures);
        if existing == Existing::UnlessNewer {
            let mut calls = [Call::get_attr(&node_at(&*to, &["f"]))];
            to.perform(&mut calls);
            assert_eq!(calls[0].attr().unwrap().mtime, Time::default());
        }
        assert_eq!(go(&from, &to, &options).clean().summary.files, 1, "{existing:?}");
        assert_eq!(content(&*to, "f"), b"first line, last line");
    }
}

/// The name was removed for a link that could not be made, and no run after that made it anew.
#[test]
fn where_no_link_is_made_the_name_is_a_file_of_its_own() {
    for atomic in [false, true] {
        for status in [Status::Perm, Status::XDev, Status::NotSupp, Status::MLink] {
            for is_there in [false, true] {
                let (from, to) = (two_names(), memory());
                ["a", "b"].iter().filter(|_| is_there).for_each(|at| drop(file(&to, at, b"old", 1)));
                let refuses = Odd::new(&to, move |mount, call| match &mut call.op {
                    Op::Link { out, .. } => *out = Err(status),
                    _ => pass(mount, call),
                });
                let ran = go(&from, &refuses, &Options { atomic, ..Options::default() });
                assert_eq!((ran.failures.len(), ran.summary.warnings.len()), (0, 1), "{ran:?}");
                assert_eq!((content(&*to, "a"), content(&*to, "b")), (b"source".to_vec(), b"source".to_vec()));
                assert_eq!(dump(&*to).len(), 3);
            }
        }
    }
}

/// The first file of each of two file systems has the same id there.
#[test]
fn files_of_one_id_in_two_file_systems_are_two() {
    let (from, to) = (two_names(), memory());
    file(&to, "a", b"old", 1);
    file(&to, "b", b"old", 1);
    let b = fileid(&to, "b");
    let mounted = move |attr: &mut Attr| {
        if attr.kind == Kind::File {
            (attr.fsid, attr.fileid) = (if attr.fileid == b { 77 } else { attr.fsid }, 12);
        }
    };
    let alike = Odd::new(&to, move |mount, call| {
        if let Op::Link { out, .. } = &mut call.op {
            *out = Err(Status::XDev);
            return;
        }
        pass(mount, call);
        match &mut call.op {
            Op::ReadDir { out: Ok(page), .. } => {
                page.entries.iter_mut().flat_map(|entry| &mut entry.attr).for_each(mounted);
            }
            Op::Lookup { out: Ok(found), .. } => found.attr.iter_mut().for_each(mounted),
            Op::GetAttr { out: Ok(attr), .. } => mounted(attr),
            _ => {}
        }
    });
    let ran = go(&from, &alike, &Options::default());
    assert_eq!((ran.failures.len(), ran.summary.unchanged), (0, 0), "{ran:?}");
    assert_eq!((content(&*to, "a"), content(&*to, "b")), (b"source".to_vec(), b"source".to_vec()));
}

/// The second time it is the file that the first time made.
#[test]
fn a_list_may_name_one_of_several_names_twice() {
    let (from, to) = (two_names(), memory());
    file(&from, "c", b"between", 1);
    file(&to, "b", b"old", 1);
    let volumes = [volume(vec![from.clone() as _]), volume(vec![to.clone() as _])];
    let side = |i: usize| Side { volume: &volumes[i], way: Vec::new(), fs_root: false, shown: b"t".to_vec() };
    let crew = crew(1, 1);
    let mut names = ["b", "c", "b"].iter().map(|at| Ok(at.as_bytes().to_vec()));
    copy(&side(0), &side(1), What::Names(&mut names), &Options::default(), &crew, &Live::default(), None);
    assert_eq!(crew.report().failures().len(), 0, "{:?}", crew.report().failures());
    assert_eq!(content(&*to, "b"), b"source");
    assert_eq!(dump(&*to).len(), 3);
}

#[test]
fn a_link_in_a_directory_s_place_is_still_a_link() {
    for options in [Options::default(), sync(), Options { atomic: true, ..Options::default() }] {
        for dir in ["a", "b", "c"] {
            let (from, to) = (memory(), memory());
            let node = file(&from, "a", b"source", 5);
            ["b", "c"].iter().for_each(|at| link(&from, &node, at));
            to.dir(&to.root(), dir);
            go(&from, &to, &options).clean();
            let ids = ["a", "b", "c"].map(|at| fileid(&to, at));
            assert!(ids[0] == ids[1] && ids[0] == ids[2], "{ids:?} {dir} {options:?}");
        }
    }
}

/// By a URL and by a path nobody sees that it is one: it was emptied before it was read.
#[test]
fn a_large_file_is_not_copied_onto_itself() {
    let bench = Bench::new();
    let exported = bench.path("e/d");
    fs::create_dir_all(&exported).unwrap();
    let data = noise(3 * MIB);
    fs::write(exported.join("f"), &data).unwrap();
    fs::hard_link(exported.join("f"), bench.path("e/g")).unwrap();
    let sim = Sim::start(&["--dir", bench.path("e").to_str().unwrap(), "--unlimited"]);
    let url = sim.url.trim_end_matches('/').to_owned();
    for (from, to) in [(format!("{url}/d/f"), "e/d/f".into()), ("e/d/f".into(), format!("{url}/d/f"))] {
        bench.run_as(&format!("parcp -I {from} {to}")).ended(1, "source and destination are the same");
    }
    bench.run_as(&format!("parcp -I {url}/d/f e/g")).ended(1, "source and destination are the same");
    assert!(fs::read(exported.join("f")).unwrap() == data);
    // Another file of the same name is another file.
    fs::create_dir(bench.path("x")).unwrap();
    fs::write(bench.path("x/f"), "").unwrap();
    bench.run_as(&format!("parcp -I {url}/d/f x/f")).ok();
    assert_eq!(fs::metadata(bench.path("x/f")).unwrap().size(), data.len() as u64);
}
