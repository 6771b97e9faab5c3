//! Copies between volumes: what arrives, what is left alone, what is asked.

use std::sync::{Arc, Mutex};

use parfs::base::{Name, Proc, Time};
use parfs::crew::Crew;
use parfs::jobs::Live;
use parfs::jobs::copy::{Compare, Deed, Delete, Existing, Options, Side, Sparse, Summary, Verify, What, copy};
use parfs::mounts::MemoryMount;
use parfs::storage::{
    AttrChange, Call, How, Ledger, Mount, Node, SetTime, Shape, Special, Spread, Stable, Tally, Tap, Tapped, Volume,
};

use crate::copies;
use crate::tree::{content, dump};

pub fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).unwrap()
}

pub fn one<'a>(mount: &dyn Mount, call: Call<'a>) -> Call<'a> {
    let mut calls = [call];
    mount.perform(&mut calls);
    let [call] = calls;
    call
}

fn at(secs: i64) -> AttrChange {
    let time = SetTime::At(Time { secs, nanos: 123 });
    AttrChange { atime: time, mtime: time, ..AttrChange::default() }
}

fn file(mount: &dyn Mount, dir: &Node, text: &str, data: &[u8], secs: i64) -> Node {
    let change = AttrChange { mode: Some(0o640), uid: Some(7), gid: Some(8), ..AttrChange::default() };
    let node = one(mount, Call::create(dir, &name(text), How::Guarded, change)).found().unwrap().node;
    for (i, chunk) in data.chunks(1 << 20).enumerate() {
        one(mount, Call::write(&node, (i << 20) as u64, chunk, Stable::FileSync)).status().unwrap();
    }
    one(mount, Call::set_attr(&node, at(secs))).status().unwrap();
    node
}

fn dir(mount: &dyn Mount, parent: &Node, text: &str) -> Node {
    one(mount, Call::mkdir(parent, &name(text), AttrChange { mode: Some(0o755), ..AttrChange::default() }))
        .found()
        .unwrap()
        .node
}

fn set(mount: &dyn Mount, node: &Node, secs: i64) {
    one(mount, Call::set_attr(node, at(secs))).status().unwrap();
}

/// A tree with something of each kind: two directories, small and large files, links, specials.
fn plant(mount: &dyn Mount) {
    let root = mount.root();
    let a = dir(mount, &root, "a");
    let b = dir(mount, &a, "b");
    let big: Vec<u8> = (0..10_000_000_u32).map(|i| (i * 7 / 3) as u8).collect();
    let first = file(mount, &a, "big", &big, 1000);
    for i in 0..200 {
        file(mount, &b, &format!("f{i}"), &vec![i as u8 + 1; i * 97], 2000 + i as i64);
    }
    file(mount, &root, "empty", b"", 5);
    one(mount, Call::link(&first, &b, &name("big too"))).status().unwrap();
    let link = one(mount, Call::symlink(&a, &name("link"), b"../nowhere", AttrChange::default())).found().unwrap();
    set(mount, &link.node, 77);
    for (text, special) in [("fifo", Special::Fifo), ("null", Special::Char(1, 3)), ("disk", Special::Block(8, 1))] {
        let change = AttrChange { mode: Some(0o4711), ..AttrChange::default() };
        let made = one(mount, Call::mknod(&b, &name(text), special, change)).found().unwrap();
        set(mount, &made.node, 88);
    }
    set(mount, &b, 11);
    set(mount, &a, 12);
    one(mount, Call::set_attr(&root, AttrChange { mode: Some(0o1775), ..at(13) })).status().unwrap();
}

/// A memory mount behind a ledger.
pub struct Bed {
    pub memory: Arc<MemoryMount>,
    pub ledger: Arc<Ledger>,
    pub volume: Volume,
}

pub fn bed() -> Bed {
    let (memory, ledger) = (Arc::new(MemoryMount::new()), Arc::new(Ledger::default()));
    let tap: Arc<dyn Tap> = ledger.clone();
    let tapped = Tapped::new(memory.clone(), vec![tap]);
    Bed { memory, ledger, volume: Volume::new(vec![Arc::new(tapped)], Spread::default()) }
}

pub fn side(volume: &Volume) -> Side<'_> {
    Side { volume, way: Vec::new(), fs_root: true, shown: b"side".to_vec() }
}

pub struct Done {
    pub summary: Summary,
    pub failures: Vec<String>,
    pub deeds: Vec<(Deed, String)>,
}

pub fn run(source: &Volume, target: &Volume, options: &Options, shape: Shape) -> Done {
    let crew = Crew::new(shape, 64 << 20).unwrap();
    let deeds = Mutex::new(Vec::new());
    let tell = |deed, path: &[u8]| deeds.lock().unwrap().push((deed, String::from_utf8_lossy(path).into_owned()));
    let summary = copy(&side(source), &side(target), What::Tree, options, &crew, &Live::default(), Some(&tell));
    let failures = crew.report().failures().iter().map(ToString::to_string).collect();
    Done { summary, failures, deeds: deeds.into_inner().unwrap() }
}

const SHAPE: Shape = Shape { lanes: 4, window: 4 };

fn since(ledger: &Ledger, before: Tally) -> Tally {
    ledger.tally() - before
}

#[test]
fn a_tree_arrives_whole_and_a_second_run_only_lists_and_reads_links() {
    for shape in [Shape::SERIAL, SHAPE] {
        for atomic in [false, true] {
            let (from, to) = (bed(), bed());
            plant(&*from.memory);
            let options = Options { atomic, ..Options::default() };
            let done = run(&from.volume, &to.volume, &options, shape);
            assert_eq!(done.failures, Vec::<String>::new());
            assert_eq!(dump(&*to.memory), dump(&*from.memory));
            let summary = done.summary;
            assert_eq!((summary.files, summary.hard_links, summary.symlinks, summary.specials), (202, 1, 1, 3));
            let before = (from.ledger.tally(), to.ledger.tally());
            let done = run(&from.volume, &to.volume, &options, shape);
            assert_eq!(done.failures, Vec::<String>::new());
            assert!(done.deeds.is_empty(), "{:?}", done.deeds);
            for tally in [since(&from.ledger, before.0), since(&to.ledger, before.1)] {
                let asked: Vec<String> = tally
                    .iter()
                    .map(|(proc, _)| proc)
                    .filter(|proc| proc.is_nfs3())
                    .map(|proc| proc.to_string())
                    .collect();
                assert_eq!(asked, ["GETATTR", "READLINK", "READDIRPLUS"], "{tally:?}");
            }
        }
    }
}

#[test]
fn what_differs_is_made_equal_and_extras_go_only_when_asked() {
    let (from, to) = (bed(), bed());
    plant(&*from.memory);
    run(&from.volume, &to.volume, &Options::default(), SHAPE);
    let (source, target) = (&*from.memory, &*to.memory);
    let root = source.root();
    file(source, &root, "new", b"new", 9);
    one(source, Call::remove(&root, &name("empty"))).status().unwrap();
    let a = one(source, Call::lookup(&root, &name("a"))).found().unwrap().node;
    one(source, Call::remove(&a, &name("link"))).status().unwrap();
    file(source, &a, "link", b"a file now", 9);
    let there = target.root();
    let extra = dir(target, &there, "extra");
    let below = dir(target, &extra, "below");
    file(target, &below, "x", b"x", 1);
    run(&from.volume, &to.volume, &Options::default(), SHAPE);
    assert_eq!(content(target, "a/link"), b"a file now");
    assert_eq!(content(target, "extra/below/x"), b"x");
    let held = Options { delete: Some(Delete { max: Some(2), ..Delete::default() }), ..Options::default() };
    let done = run(&from.volume, &to.volume, &held, SHAPE);
    assert_eq!(done.summary.deleted, 2);
    assert!(done.summary.delete_held_back > 0);
    let all = Options { delete: Some(Delete::default()), ..Options::default() };
    let done = run(&from.volume, &to.volume, &all, SHAPE);
    assert_eq!(done.failures, Vec::<String>::new());
    assert_eq!(dump(target), dump(source));
}

#[test]
fn options_say_what_is_left_alone() {
    let (from, to) = (bed(), bed());
    file(&*from.memory, &from.memory.root(), "f", b"source", 10);
    file(&*to.memory, &to.memory.root(), "f", b"target", 20);
    let with = |existing, compare| Options { existing, compare, ..Options::default() };
    for (options, expected) in [
        (with(Existing::Keep, Compare::SizeAndTime), &b"target"[..]),
        (with(Existing::UnlessNewer, Compare::SizeAndTime), b"target"),
        (with(Existing::Replace, Compare::Size), b"target"),
        (with(Existing::Replace, Compare::Bytes), b"source"),
    ] {
        let done = run(&from.volume, &to.volume, &options, SHAPE);
        assert_eq!(done.failures, Vec::<String>::new());
        assert_eq!(content(&*to.memory, "f"), expected, "{options:?}");
    }
}

#[test]
fn more_links_than_are_remembered_take_more_passes() {
    let (from, to) = (bed(), bed());
    let source = &*from.memory;
    let root = source.root();
    let dirs: Vec<Node> = (0..5).map(|i| dir(source, &root, &format!("d{i}"))).collect();
    for i in 0..300 {
        let node = file(source, &root, &format!("f{i}"), format!("{i}").as_bytes(), i);
        for dir in &dirs {
            one(source, Call::link(&node, dir, &name(&format!("l{i}")))).status().unwrap();
        }
    }
    let options = Options { links_max: 40, ..Options::default() };
    let done = run(&from.volume, &to.volume, &options, SHAPE);
    assert_eq!(done.failures, Vec::<String>::new());
    assert!(done.summary.passes > 2);
    let (mut ours, theirs) = (dump(&*to.memory), dump(source));
    // The root's time is set in each pass; it is the source's in the end.
    assert_eq!(ours.len(), theirs.len());
    ours.retain(|path, object| theirs.get(path) != Some(object));
    assert!(ours.is_empty(), "{ours:?}");
}

#[test]
fn holes_stay_holes_and_setting_sizes_takes_nothing_off() {
    for sparse in [Sparse::Auto, Sparse::Always, Sparse::Never] {
        let (from, to) = (bed(), bed());
        let source = &*from.memory;
        let node = file(source, &source.root(), "sparse", b"start", 1);
        one(source, Call::write(&node, 50 << 20, b"middle", Stable::FileSync)).status().unwrap();
        let size = AttrChange { size: Some(64 << 20), ..at(3) };
        one(source, Call::set_attr(&node, size)).status().unwrap();
        let small = file(source, &source.root(), "small", b"start", 1);
        one(source, Call::set_attr(&small, AttrChange { size: Some(100_000), ..at(4) })).status().unwrap();
        for node in [&node, &small] {
            one(source, Call::set_xattr(node, b"security.capability", b"some")).status().unwrap();
            let set_id = AttrChange { mode: Some(0o6755), ..AttrChange::default() };
            one(source, Call::set_attr(node, set_id)).status().unwrap();
        }
        let done = run(&from.volume, &to.volume, &Options { sparse, ..Options::default() }, SHAPE);
        assert_eq!(done.failures, Vec::<String>::new());
        assert_eq!(dump(&*to.memory), dump(source));
        let written = to.ledger.tally().get(Proc::Write).bytes;
        assert_eq!(written < 1 << 20, sparse != Sparse::Never, "{sparse:?} {written}");
    }
}

#[test]
fn a_comparison_tells_every_difference_and_changes_nothing() {
    let (from, to) = (bed(), bed());
    plant(&*from.memory);
    run(&from.volume, &to.volume, &Options::default(), SHAPE);
    let options = Options { verify: Verify::Only, ..Options::default() };
    let done = run(&from.volume, &to.volume, &options, SHAPE);
    assert_eq!((done.summary.differences, done.failures.len()), (0, 0), "{:?}", done.deeds);
    let target = &*to.memory;
    let a = one(target, Call::lookup(&target.root(), &name("a"))).found().unwrap().node;
    let b = one(target, Call::lookup(&a, &name("b"))).found().unwrap().node;
    let f3 = one(target, Call::lookup(&b, &name("f3"))).found().unwrap();
    one(target, Call::write(&f3.node, 1, b"X", Stable::FileSync)).status().unwrap();
    set(target, &f3.node, 2003);
    one(target, Call::remove(&b, &name("f4"))).status().unwrap();
    file(target, &b, "extra", b"", 1);
    set(target, &b, 11);
    one(target, Call::set_attr(&a, AttrChange { mode: Some(0o700), ..AttrChange::default() })).status().unwrap();
    let before = dump(target);
    let done = run(&from.volume, &to.volume, &options, SHAPE);
    let mut told: Vec<String> = done.deeds.iter().map(|(deed, path)| format!("{path}: {deed:?}")).collect();
    told.sort();
    let expected = [
        "a/b/extra: Differs(\"only in the destination\")",
        "a/b/f3: Differs(\"content\")",
        "a/b/f4: Differs(\"only in the source\")",
        "a: Differs(\"mode\")",
    ];
    assert_eq!(told, expected);
    let equal = done.summary.objects - 3; // `a`, `f3` and `f4`; `extra` is no object of the source
    assert_eq!((done.summary.differences, done.summary.unchanged), (4, equal));
    assert_eq!(dump(target), before);
}

#[test]
fn a_directory_of_a_list_stands_for_what_is_in_it() {
    let (from, to) = (bed(), bed());
    plant(&*from.memory);
    let crew = Crew::new(SHAPE, 64 << 20).unwrap();
    let list = ["a", "a/big", "a/b", "a/b/f7", "empty", "empty", "no such"];
    let mut names = list.iter().map(|name| Ok(name.as_bytes().to_vec()));
    let what = What::Names(&mut names);
    let (source, target) = (side(&from.volume), side(&to.volume));
    copy(&source, &target, what, &Options::default(), &crew, &Live::default(), None);
    let failures: Vec<String> = crew.report().failures().iter().map(ToString::to_string).collect();
    assert_eq!(failures, ["side/no such: LOOKUP: No such file or directory"]);
    let (mut ours, mut theirs) = (dump(&*to.memory), dump(&*from.memory));
    for tree in [&mut ours, &mut theirs] {
        tree.remove(""); // the root is not of the list
    }
    assert!(ours == theirs);
    assert_eq!(to.ledger.tally().get(Proc::Create).calls, 202, "each file once");
}

#[test]
fn attributes_that_nfs_cannot_carry_are_told_once() {
    let from = bed();
    let source = &*from.memory;
    let (server, views) = copies::direct(Arc::new(MemoryMount::new()), 1);
    let target = copies::volume(views);
    for i in 0..20 {
        file(source, &source.root(), &format!("plain{i}"), b"x", 1);
    }
    assert!(run(&from.volume, &target, &Options::default(), SHAPE).summary.warnings.is_empty());
    for i in 0..20 {
        let node = file(source, &source.root(), &format!("f{i}"), b"x", 1);
        one(source, Call::set_xattr(&node, b"security.label", b"kept by the host")).status().unwrap();
        one(source, Call::set_xattr(&node, b"user.comment", b"lost")).status().unwrap();
    }
    let done = run(&from.volume, &target, &Options::default(), SHAPE);
    assert!(done.failures.is_empty() && done.summary.files == 20);
    assert!(matches!(&done.summary.warnings[..], [one] if one.contains("user.comment")), "{:?}", done.summary.warnings);
    server.stop();
}
