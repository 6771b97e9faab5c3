//! Ways to lose data that were found by reading and by trial: other names, files that change while they are read, destinations that refuse.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parfs::base::{Proc, Status, Time};
use parfs::jobs::Live;
use parfs::jobs::copy::{Compare, Delete, Existing, Options, Side, What, copy};
use parfs::jobs::select::Rules;
use parfs::mounts::MemoryMount;
use parfs::storage::{Attr, AttrChange, Beyond, Call, Kind, Mount, Node, Op, Stable};

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
    let data = noise(3 * MIB);
    let end = (1 << 40) - data.len() as u64;
    let node = file(&from, "f", &data, 1);
    set(&*from, &node, size(1 << 40));
    set(&*from, &file(&from, "hole", b"", 1), size(1 << 40));
    for (part, i) in data.chunks(MIB).zip(0..) {
        from.write(&node, end + i * MIB as u64, part, Stable::FileSync).unwrap();
    }
    let asked = Arc::new(AtomicU64::new(0));
    let counted = asked.clone();
    let counting = Odd::new(&from, move |mount, call| {
        pass(mount, call);
        counted.fetch_add(u64::from(matches!(call.op, Op::Beyond(Beyond::Seek { .. }))), Ordering::Relaxed);
    });
    go(&counting, &to, &Options { range_bytes: MIB as u64, reflink: false, ..Options::default() }).clean();
    assert!((1..100).contains(&asked.load(Ordering::Relaxed)), "{asked:?}");
    let (copy, hole) = (node_at(&*to, &["f"]), node_at(&*to, &["hole"]));
    assert_eq!([&copy, &hole].map(|node| to.get_attr(node).unwrap().size), [1 << 40, 1 << 40]);
    let at = |offset| to.read(&copy, offset, MIB as u32).unwrap().0;
    let are = |from: u64| data.chunks(MIB).zip(0..).all(|(part, i)| at(from + i * MIB as u64) == part);
    assert!(are(0) && are(end) && at(end / 2).iter().all(|byte| *byte == 0));
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

/// A kernel's clock ticks every few milliseconds: what was left of the first try had the size and the time of what the source is by now.
#[test]
fn a_large_file_that_changes_is_not_taken_for_its_own_unfinished_copy() {
    let (from, to) = (memory(), memory());
    let source = file(&from, "f", &vec![1; 3 * MIB], 1);
    let (meddled, there) = (AtomicU64::new(0), to.clone());
    let odd = Odd::new(&from, move |mount, call| {
        pass(mount, call);
        let asks = matches!(&call.op, Op::GetAttr { node, .. } if *node == source);
        if asks && meddled.fetch_add(1, Ordering::Relaxed) == 0 {
            put(mount, &source, 0, &vec![2; 3 * MIB]);
            set_time(mount, &source, there.get_attr(&there.lookup(&there.root(), "f").unwrap().node).unwrap().mtime);
            pass(mount, call);
        }
    });
    let options = Options { range_bytes: MIB as u64, ..Options::default() };
    run(&volume(vec![odd]), &volume(vec![to.clone() as _]), &options, &crew(2, 2)).clean();
    assert!(content(&*to, "f") == vec![2; 3 * MIB]);
}

/// What changed also the second time is not equal for the next run, whatever time the source has.
#[test]
fn a_copy_that_is_not_of_one_moment_is_copied_by_the_next_run() {
    for (bytes, ends_at, is_left_at) in [(3 * MIB, 5, 0), (10, 5, 0), (10, 0, 1)] {
        let (from, to) = (memory(), memory());
        let source = file(&from, "f", &vec![1; bytes], 0);
        let n = AtomicU64::new(0);
        let odd = Odd::new(&from, move |mount, call| {
            if matches!(&call.op, Op::Read { node, .. } if *node == source) {
                let n = n.fetch_add(1, Ordering::Relaxed);
                put(mount, &source, 0, &[7 + n as u8]);
                set_time(mount, &source, Time { secs: ends_at, nanos: 1 + n as u32 });
            }
            pass(mount, call);
        });
        let ran = run(&volume(vec![odd]), &volume(vec![to.clone() as _]), &Options::default(), &crew(1, 1));
        assert!(ran.failures[0].contains("changed while it was read, also the second time"), "{:?}", ran.failures);
        let time = |mount: &MemoryMount| mount.get_attr(&node_at(mount, &["f"])).unwrap().mtime;
        assert_eq!(time(&to), Time { secs: is_left_at, nanos: 0 });
        run(&volume(vec![from.clone() as _]), &volume(vec![to.clone() as _]), &Options::default(), &crew(1, 1)).clean();
        assert!(content(&*to, "f") == content(&*from, "f"), "{bytes}");
        assert_eq!(time(&to), time(&from));
    }
}

/// A run that goes by size alone would give what is torn the source's time.
#[test]
fn a_copy_that_is_not_of_one_moment_is_none_where_the_size_decides() {
    let (from, to) = (memory(), memory());
    let source = file(&from, "f", &[1; 10], 5);
    let n = AtomicU64::new(0);
    let odd = Odd::new(&from, move |mount, call| {
        if matches!(&call.op, Op::Read { node, .. } if *node == source) {
            set_time(mount, &source, Time { secs: 9, nanos: 1 + n.fetch_add(1, Ordering::Relaxed) as u32 });
        }
        pass(mount, call);
    });
    let options = Options { compare: Compare::Size, ..Options::default() };
    let ran = run(&volume(vec![odd]), &volume(vec![to.clone() as _]), &options, &crew(1, 1));
    assert_eq!(ran.failures, ["from/f: changed while it was read, also the second time; it was not copied"]);
    assert!(dump(&*to).keys().all(|path| path.is_empty()), "{:?}", dump(&*to).keys());
    run(&volume(vec![from.clone() as _]), &volume(vec![to.clone() as _]), &options, &crew(1, 1)).clean();
    assert!(content(&*to, "f") == content(&*from, "f"));
}

/// No time that a server can keep is before the source's: an emptied file would be the newer one for -u.
#[test]
fn a_file_of_1970_whose_copy_failed_is_not_left_empty() {
    for (secs, is_left) in [(0, false), (5, true)] {
        let (from, to) = (memory(), memory());
        let source = file(&from, "f", &vec![1; 3 * MIB], 0);
        set_time(&*from, &source, Time { secs, nanos: 0 });
        let full = Odd::new(&to, |mount, call| match &mut call.op {
            Op::Write { out, .. } => *out = Err(Status::NoSpc),
            _ => pass(mount, call),
        });
        let ran = run(&volume(vec![from.clone() as _]), &volume(vec![full]), &Options::default(), &crew(1, 1));
        assert!(ran.failures[0].contains("No space left"), "{:?}", ran.failures);
        assert_eq!(dump(&*to).contains_key("f"), is_left, "{secs}");
        let newer = Options { existing: Existing::UnlessNewer, ..Options::default() };
        run(&volume(vec![from.clone() as _]), &volume(vec![to.clone() as _]), &newer, &crew(1, 1)).clean();
        assert!(content(&*to, "f") == content(&*from, "f"), "{secs}");
    }
}

/// As a file that is gone when it is looked up.
#[test]
fn a_file_that_vanishes_before_it_is_read_was_never_there() {
    let (from, to) = (memory(), memory());
    let source = file(&from, "f", b"x", 0);
    file(&to, "extra", b"y", 0);
    let odd = Odd::new(&from, move |mount, call| {
        if matches!(&call.op, Op::Read { node, .. } if *node == source) {
            let (root, f) = (mount.root(), name("f"));
            mount.perform(&mut [Call::remove(&root, &f)]);
        }
        pass(mount, call);
    });
    let options = Options { delete: Some(Delete::default()), ..Options::default() };
    run(&volume(vec![odd]), &volume(vec![to.clone() as _]), &options, &crew(1, 1)).clean();
    assert!(dump(&*to).keys().all(|path| path.is_empty()), "{:?}", dump(&*to).keys());
}

/// File systems behind a server whose modes are what they are (FAT, SMB).
#[test]
fn a_mode_that_is_refused_costs_nothing_else() {
    for atomic in [false, true] {
        let (from, to) = (memory(), memory());
        let node = file(&from, "f", b"x", 1);
        let dir = from.dir(&from.root(), "d");
        for node in [&node, &dir] {
            set(&*from, node, AttrChange { mode: Some(0o740), ..AttrChange::default() });
        }
        set_time(&*from, &dir, past(2));
        let fixed = Odd::new(&to, |mount, call| match &mut call.op {
            Op::SetAttr { change, out, .. } if change.mode.is_some() => *out = Err(Status::Perm),
            _ => {
                pass(mount, call);
                if let Op::Create { out: Ok(found), .. } = &mut call.op {
                    found.attr.iter_mut().for_each(|attr| attr.mode = 0o777);
                }
            }
        });
        let ran = |options: &Options| go(&from, &fixed, &Options { atomic, ..options.clone() });
        let told = [
            "to/d: SETATTR: Operation not permitted",
            "to/f: copied, but its mode cannot be set: Operation not permitted",
        ];
        let sorted = |mut told: Vec<String>| {
            told.sort();
            told
        };
        assert_eq!(sorted(ran(&Options::default()).failures), told, "{atomic}");
        let (there, is) = (dump(&*from), dump(&*to));
        assert_eq!(
            (content(&*to, "f"), is["f"].mtime, is["d"].mtime),
            (b"x".to_vec(), there["f"].mtime, there["d"].mtime)
        );
        // A mode that is not to be kept is the server's to choose.
        let mut options = Options::default();
        options.preserve.mode = false;
        to.remove(&to.root(), "f").unwrap();
        set_time(&*from, &dir, past(3));
        ran(&options).clean();
        assert_eq!(dump(&*to)["d"].mtime, past(3));
    }
}

#[test]
fn an_attribute_that_cannot_be_read_takes_no_others_with_it() {
    let (from, to) = (memory(), memory());
    let node = file(&from, "f", b"x", 1);
    for name in ["user.a", "user.odd", "user.z"] {
        from.set_xattr(&node, name, name.as_bytes()).unwrap();
    }
    let odd = Odd::new(&from, |mount, call| match &mut call.op {
        Op::Beyond(Beyond::GetXattr { name, out, .. }) if &name[..] == b"user.odd" => *out = Err(Status::NotSupp),
        _ => pass(mount, call),
    });
    let ran = run(&volume(vec![odd]), &volume(vec![to.clone()]), &Options::default(), &crew(2, 2)).clean();
    assert_eq!(
        ran.summary.warnings,
        ["some extended attributes, such as user.odd, are listed and cannot be read: Operation not supported"]
    );
    let has = |name| to.get_xattr(&node_at(&*to, &["f"]), name).ok();
    assert_eq!(
        (has("user.a"), has("user.odd"), has("user.z")),
        (Some(b"user.a".to_vec()), None, Some(b"user.z".to_vec()))
    );
}

/// Ranges of a large file are written in any order: what fails may have the source's size, and it has a time behind the source's.
#[test]
fn a_copy_that_failed_is_taken_for_none_by_runs_that_look_at_size_or_time_alone() {
    let options = |existing, compare| Options { existing, compare, ..Options::default() };
    let later = [options(Existing::UnlessNewer, Compare::SizeAndTime), options(Existing::Replace, Compare::Size)];
    for (existed, bytes, fails_at) in
        [(false, 3 * MIB, 0), (true, 3 * MIB, 0), (true, 10, 0), (false, 3 * MIB, MIB as u64)]
    {
        for later in &later {
            let (from, to) = (memory(), memory());
            file(&from, "f", &noise(bytes), 5);
            if existed {
                file(&to, "f", b"as it was", 1);
            }
            let odd = Odd::new(&to, move |mount, call| match &mut call.op {
                Op::Write { offset, out, .. } if *offset == fails_at => *out = Err(Status::NoSpc),
                _ => pass(mount, call),
            });
            let ran = run(&volume(vec![from.clone() as _]), &volume(vec![odd]), &Options::default(), &crew(3, 1));
            assert_eq!(ran.failures, ["to/f: WRITE: No space left on device"]);
            go(&from, &to, later).clean();
            assert!(content(&*to, "f") == content(&*from, "f"), "{existed} {bytes} {fails_at} {later:?}");
        }
    }
    // What is there before its first byte is written stays, and so does what has all of them.
    for proc in [Proc::Read, Proc::SetAttr] {
        let (from, to) = (memory(), memory());
        file(&from, "f", b"new", 5);
        let old = file(&to, "f", b"as it was", 1);
        let refuse = move |mount: &dyn Mount, call: &mut Call<'_>| match &mut call.op {
            Op::Read { out, .. } if proc == Proc::Read => *out = Err(Status::Io),
            Op::SetAttr { change, out, .. } if proc == Proc::SetAttr && change.size.is_none() => {
                *out = Err(Status::Perm)
            }
            _ => pass(mount, call),
        };
        let (source, target) = (Odd::new(&from, refuse), Odd::new(&to, refuse));
        let ran = run(&volume(vec![source]), &volume(vec![target]), &Options::default(), &crew(1, 1));
        assert!(ran.failures.iter().any(|text| text.contains("/f: ")), "{:?}", ran.failures);
        let (is, want) = (content(&*to, "f"), if proc == Proc::Read { &b"as it was"[..] } else { b"new" });
        assert!(is == want && to.get_attr(&old).is_ok(), "{proc:?} {is:?}");
    }
}

/// Trees whose times are all one, as of SOURCE_DATE_EPOCH.
#[test]
fn a_link_to_another_version_of_equal_length_and_time_is_made_anew() {
    let (from, to) = (memory(), memory());
    for (mount, text) in [(&from, b"lib.so.1.2.4"), (&to, b"lib.so.1.2.3")] {
        let link = mount.symlink(&mount.root(), "lib.so", text).unwrap().node;
        set_time(&**mount, &link, past(1));
    }
    run(&volume(vec![from.clone() as _]), &volume(vec![to.clone() as _]), &Options::default(), &crew(1, 1)).clean();
    assert_eq!(dump(&*to), dump(&*from));
}

#[test]
fn what_is_excluded_goes_from_both_listings_with_delete_excluded() {
    for join_max in [0, 1000] {
        let (from, to) = (memory(), memory());
        for (mount, names) in [(&from, ["x.log", "a"]), (&to, ["x.log", "y.log"])] {
            names.iter().for_each(|name| drop(file(mount, name, b"1", 1)));
        }
        let rules = Rules::new(&[(false, "*.log".into())]).unwrap();
        let delete = Some(Delete { excluded: true, ..Delete::default() });
        let options = Options { delete, rules, join_max, ..Options::default() };
        let ran = run(&volume(vec![from.clone() as _]), &volume(vec![to.clone() as _]), &options, &crew(1, 1)).clean();
        assert_eq!((ran.summary.deleted, ran.summary.left_out), (2, 1), "{join_max}");
        assert_eq!(dump(&*to).keys().map(String::as_str).collect::<Vec<_>>(), ["", "a"]);
    }
}

/// The source's file has a name that is not copied.
#[test]
fn a_name_outside_is_no_difference() {
    let bench = Bench::new();
    fs::create_dir(bench.path("s")).unwrap();
    fs::write(bench.path("s/a"), "x").unwrap();
    fs::hard_link(bench.path("s/a"), bench.path("outside")).unwrap();
    bench.run_as("parcp s d").ok();
    assert_eq!(bench.run_as("parcp --verify-only s d").ok().stdout, "");
    fs::hard_link(bench.path("d/a"), bench.path("d/b")).unwrap();
    bench.run_as("parcp --verify-only s d").ended(1, "");
}
