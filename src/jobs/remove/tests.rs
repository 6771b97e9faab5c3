//! What only the inside shows: how much waits, how long frames live, and the engine in another job's hands.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use super::engine::{Counts, Engine, How, LANES_IN_A_DIRECTORY, Met, Task};
use super::frame::{Cursor, Frame, Root, flag};
use super::*;
use crate::base::Name;
use crate::mounts::{LocalMount, MemoryMount};
use crate::storage::{AttrChange, Beyond, Call, Cookie, How as Created, Kind, Mount, Op, Shape, Spread, Want};

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).unwrap()
}

fn make(mount: &MemoryMount, call: Call<'_>) -> Node {
    let mut calls = [call];
    mount.perform(&mut calls);
    calls[0].found().unwrap().node
}

fn mkdir(mount: &MemoryMount, dir: &Node, text: &str) -> Node {
    make(mount, Call::mkdir(dir, &name(text), AttrChange::default()))
}

fn touch(mount: &MemoryMount, dir: &Node, text: &str) {
    make(mount, Call::create(dir, &name(text), Created::Guarded, AttrChange::default()));
}

fn is_empty(mount: &MemoryMount) -> bool {
    let mut calls = [Call::read_dir(&mount.root(), Default::default(), Want::Names, 1 << 16)];
    mount.perform(&mut calls);
    calls[0].take_page().unwrap().entries.is_empty()
}

fn volume(memory: &Arc<MemoryMount>) -> Volume {
    Volume::new(vec![memory.clone() as Arc<dyn Mount>], Spread::default())
}

fn crew(lanes: usize, window: usize) -> Crew {
    Crew::new(Shape { lanes, window }, 1).unwrap()
}

/// Removes `top`; returns the summary and the most tasks that waited.
fn remove_top(memory: &Arc<MemoryMount>, shape: (usize, usize)) -> (Summary, usize) {
    let (volume, crew) = (volume(memory), crew(shape.0, shape.1));
    let (dir, way, shown) = (volume.root(), vec![name("top")], b"top".to_vec());
    let mut operands =
        [Ok(Operand { dir, way, shown, contents: false, fs_root: false, dir_fsid: None, must_be_dir: false })]
            .into_iter();
    let ran = run(&volume, &mut operands, &Options::default(), &crew, &Live::default(), None);
    assert_eq!(crew.report().failures(), []);
    assert!(is_empty(memory));
    ran
}

/// What `frame` says of memory.
#[test]
fn tasks_and_frames_are_small() {
    let (task, frame) = (size_of::<Task<()>>(), size_of::<Frame<()>>());
    assert!(task <= 56 && frame <= 280, "{task} {frame}");
}

/// Entries of a page of 64 KiB with names of at least 4 bytes (24 + 164 + 4 bytes each).
const PAGE_ENTRIES: usize = (64 << 10) / 192;

#[test]
fn a_wide_directory_waits_a_few_pages_at_a_time() {
    let memory = Arc::new(MemoryMount::new());
    let top = mkdir(&memory, &memory.root(), "top");
    (0..200_000).for_each(|i| touch(&memory, &top, &i.to_string()));
    let (summary, most) = remove_top(&memory, (4, 4));
    assert_eq!((summary.files, summary.dirs, summary.relisted), (200_000, 1, 0));
    // What may wait before the listing rests, and the page that then comes in.
    assert!(most <= LOW_WATER_MIN + PAGE_ENTRIES + 1, "{most}");
}

#[test]
fn a_directory_of_directories_waits_a_few_pages_at_a_time() {
    for shape in [(1, 1), (4, 4)] {
        let memory = Arc::new(MemoryMount::new());
        let top = mkdir(&memory, &memory.root(), "top");
        for i in 0..20_000 {
            let dir = mkdir(&memory, &top, &i.to_string());
            touch(&memory, &dir, "f");
            mkdir(&memory, &dir, "d");
        }
        let (summary, most) = remove_top(&memory, shape);
        assert_eq!((summary.files, summary.dirs), (20_000, 40_001));
        // A page of the upper level, its directories, and what up to 16 listings of them brought.
        assert!(most <= LOW_WATER_MIN + 4 * PAGE_ENTRIES, "{most}");
    }
}

#[test]
fn a_chain_of_a_hundred_thousand_directories() {
    const LEVELS: u64 = 100_000;
    let memory = Arc::new(MemoryMount::new());
    let mut dir = mkdir(&memory, &memory.root(), "top");
    for _ in 1..LEVELS {
        touch(&memory, &dir, "f");
        dir = mkdir(&memory, &dir, "d");
    }
    let (summary, most) = remove_top(&memory, (4, 4));
    assert_eq!((summary.files, summary.dirs), (LEVELS - 1, LEVELS));
    // Files go before deeper directories are listed once there are many of them.
    assert!(most <= LOW_WATER_MIN + 4 * 4 * 2, "{most}");
}

#[test]
fn a_chain_of_frames_needs_no_stack_to_go_and_paths_cost_the_way_between() {
    let root = |shown: &str| Root {
        dir: MemoryMount::new().root(),
        name: Some(name("x")),
        shown: shown.into(),
        skip: 2,
        contents: false,
        fs_root: false,
        fsid: None,
        tag: (),
    };
    let node = MemoryMount::new().root();
    let mut frame = Arc::new(Frame::top(root("x/"), 0));
    let mut cursor = Cursor::default();
    assert_eq!(cursor.path(&frame, Some(&name("x"))), b"x/");
    let mut some = Vec::new();
    for level in 0..1_000_000u32 {
        frame = Arc::new(Frame::dir(&frame, Some(name("d")), node.clone()));
        if level % 100_000 == 7 {
            some.push((level as usize, frame.clone()));
        }
    }
    for (level, frame) in some.iter().chain(some.iter().rev()) {
        assert_eq!(cursor.path(frame, Some(&name("f"))).len(), 1 + 2 * level + 2);
        assert_eq!(cursor.paths(frame, &name("f")).1.len(), 2 * level + 1);
        assert_eq!(cursor.path(frame, None).len(), 1 + 2 * level);
    }
    // Beside it, in another branch, and in another root's.
    let (_, low) = some.remove(0);
    let beside = Arc::new(Frame::dir(low.up.as_ref().unwrap(), Some(name("beside")), node.clone()));
    let under = Arc::new(Frame::dir(&beside, Some(name("under")), node.clone()));
    assert_eq!(cursor.path(&under, Some(&name("f"))), b"x/d/d/d/d/d/d/beside/under/f");
    let other = Arc::new(Frame::dir(&Arc::new(Frame::top(root("/"), 0)), Some(name("y")), node.clone()));
    assert_eq!(cursor.path(&other, Some(&name("f"))), b"/f");
    let deeper = Arc::new(Frame::dir(&other, Some(name("z")), node));
    assert_eq!(cursor.path(&deeper, None), b"/z");
    assert_eq!(cursor.paths(&deeper, &name("f")).1, b"/f");
    assert_eq!(cursor.path(&low, None), b"x/d/d/d/d/d/d/d");
    drop((low, some, cursor));
    drop(frame);
}

/// Roots of another job's, each with a tag, within its agenda; no more objects than `may`.
fn embedded(memory: &Arc<MemoryMount>, lanes: usize, may: i64) -> (Vec<(u32, bool)>, Counts, i64) {
    let (volume, crew, live, counts) = (volume(memory), crew(lanes, 2), Live::default(), Counts::default());
    let budget = AtomicI64::new(may);
    let allow = |_: &[u8], path: &[u8], _| Some(!path.ends_with(b"keep"));
    let done = Mutex::new(Vec::new());
    {
        let mut engine = Engine::new(Port::new(&volume, 2), How::default(), &crew, &live, &counts, None);
        engine.may_remove = Some(&budget);
        engine.allow = Some(&allow);
        let agenda: Agenda<Task<u32>> = Agenda::new(&crew, 64);
        let (mut due, mut finished) = (Vec::new(), Vec::new());
        let mut calls = [Call::read_dir(&volume.root(), Default::default(), Want::Types, 1 << 16)];
        volume.perform(&mut calls);
        for (tag, entry) in calls[0].take_page().unwrap().entries.into_iter().enumerate() {
            let shown = entry.name.as_bytes().to_vec();
            let (dir, tag) = (volume.root(), tag as u32);
            let root =
                Root { dir, name: Some(entry.name), shown, skip: 0, contents: false, fs_root: false, fsid: None, tag };
            let met = Met { kind: entry.kind, node: entry.node, ..Met::default() };
            engine.begin(root, met, 0, &mut due, &mut finished);
        }
        agenda.add(due);
        let left = agenda.run(&crew, engine.take_max(), |class, seat, tasks, due| {
            let mut finished = Vec::new();
            engine.step((class, seat), tasks, due, &mut finished, &|next| agenda.add(next.drain(..)));
            done.lock().unwrap().extend(finished);
        });
        assert_eq!(left, 0);
        assert_eq!(crew.report().failures(), []);
    }
    let mut done = done.into_inner().unwrap();
    done.sort_unstable();
    (done, counts, budget.into_inner())
}

#[test]
fn another_job_hears_when_each_of_its_trees_is_gone() {
    for lanes in [1, 4] {
        let memory = Arc::new(MemoryMount::new());
        for i in 0..30 {
            let dir = mkdir(&memory, &memory.root(), &format!("dir{i}"));
            (0..i).for_each(|f| touch(&memory, &dir, &f.to_string()));
            if i % 3 == 0 {
                touch(&memory, &dir, "keep");
            }
            touch(&memory, &memory.root(), &format!("file{i}"));
        }
        let (done, counts, left) = embedded(&memory, lanes, 1_000_000);
        let expected: Vec<(u32, bool)> = (0..60).map(|tag| (tag, tag % 2 == 1 || tag / 2 % 3 != 0)).collect();
        assert_eq!(done, expected);
        let get = |n: &AtomicU64| n.load(Ordering::Relaxed);
        assert_eq!((get(&counts.files), get(&counts.dirs), get(&counts.kept)), (435 + 30, 20, 10));
        assert_eq!(1_000_000 - left, 435 + 30 + 20);
    }
}

#[test]
fn no_more_is_removed_than_may_be() {
    for lanes in [1, 4] {
        for may in [0, 1, 7, 50, 110, 111, 200] {
            let memory = Arc::new(MemoryMount::new());
            for i in 0..10 {
                let dir = mkdir(&memory, &memory.root(), &format!("d{i}"));
                (0..10).for_each(|f| touch(&memory, &dir, &f.to_string()));
            }
            touch(&memory, &memory.root(), "f");
            let (done, counts, left) = embedded(&memory, lanes, may);
            let get = |n: &AtomicU64| i64::try_from(n.load(Ordering::Relaxed)).unwrap();
            let removed = get(&counts.files) + get(&counts.dirs);
            assert_eq!((removed, left), (may.min(111), may - removed));
            assert_eq!(removed + get(&counts.held_back), 111, "{may}");
            assert_eq!((done.len(), done.iter().all(|(_, gone)| *gone)), (11, may >= 111));
        }
    }
}

/// An entry without a kind is REMOVEd first; what that costs of the leave is given back when it is a directory.
#[test]
fn a_root_of_unknown_kind() {
    let memory = Arc::new(MemoryMount::new());
    let (volume, crew, live, counts) = (volume(&memory), crew(1, 1), Live::default(), Counts::default());
    mkdir(&memory, &memory.root(), "d");
    let engine = Engine::new(Port::new(&volume, 1), How::default(), &crew, &live, &counts, None);
    let (mut due, mut finished) = (Vec::new(), Vec::new());
    let shown = b"d".to_vec();
    let (dir, name) = (volume.root(), Some(name("d")));
    let root = Root { dir, name, shown, skip: 0, contents: false, fs_root: false, fsid: None, tag: Kind::Dir };
    engine.begin(root, Met::default(), 5, &mut due, &mut finished);
    assert_eq!(due.iter().map(|due| (due.class, due.depth)).collect::<Vec<_>>(), [(Class::List, 6)]);
    while let Some(next) = due.pop() {
        engine.step((next.class, None), &mut vec![next.task], &mut due, &mut finished, &|_| panic!("it has handles"));
    }
    assert_eq!(finished, [(Kind::Dir, true)]);
    assert!(is_empty(&memory));
}

/// Files go with their listing only where all may go, unasked and unheard.
#[test]
fn only_what_may_all_go_is_cleared() {
    let dir = tempfile::tempdir().unwrap();
    let mount: Arc<dyn Mount> = Arc::new(LocalMount::open(dir.path()).unwrap());
    let (volume, crew, live, counts) =
        (Volume::new(vec![mount], Spread::default()), crew(1, 1), Live::default(), Counts::default());
    let engine = |how, tell| Engine::<()>::new(Port::new(&volume, 1), how, &crew, &live, &counts, tell);
    let clears = |engine: &Engine<'_, ()>, name: Option<Name>, flags, position| {
        let (dir, tag, shown) = (volume.root(), (), b"d".to_vec());
        let root =
            Root { dir: dir.clone(), name: None, shown, skip: 0, contents: false, fs_root: false, fsid: None, tag };
        let up = Arc::new(Frame::dir(&Arc::new(Frame::top(root, 0)), None, dir.clone()));
        let frame = Frame::dir(&up, name, dir);
        frame.set(flags);
        let call = engine.list(&frame, Cookie { position, ..Cookie::default() });
        matches!(call.op, Op::Beyond(Beyond::Clear { .. }))
    };
    let d = || Some(name("d"));
    let mut plain = engine(How::default(), None);
    assert!(clears(&plain, d(), 0, 0));
    assert!(!clears(&plain, None, 0, 0), "it stays");
    assert!(!clears(&plain, d(), flag::CHECK, 0));
    assert!(!clears(&plain, d(), 0, 7), "others may be in it");
    let budget = AtomicI64::new(i64::MAX);
    plain.may_remove = Some(&budget);
    assert!(!clears(&plain, d(), 0, 0));
    let (tell, allow) = (|_: &[u8], _| (), |_: &[u8], _: &[u8], _| Some(true));
    let mut filtered = engine(How::default(), None);
    filtered.allow = Some(&allow);
    assert!(!clears(&filtered, d(), 0, 0));
    assert!(!clears(&engine(How::default(), Some(&tell)), d(), 0, 0));
    assert!(!clears(&engine(How { older_than: Some(Time::now()), ..How::default() }, None), d(), 0, 0));
}

/// Several lanes list and remove pages of one local directory at once, and no more than are worth it: here each next one begins while the one
/// before has listed its page and removed nothing.
#[test]
fn a_few_lanes_share_a_local_directory() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("d")).unwrap();
    let files = 2000;
    (0..files).for_each(|i| std::fs::write(dir.path().join(format!("d/{i:0>200}")), "").unwrap());
    let mount: Arc<dyn Mount> = Arc::new(LocalMount::open(dir.path()).unwrap());
    let (volume, crew) = (Volume::new(vec![mount], Spread::default()), crew(8, 1));
    let (live, counts, most) = (Live::default(), Counts::default(), AtomicU64::new(0));
    let engine = Engine::new(Port::new(&volume, 1), How::default(), &crew, &live, &counts, None);
    let (mut due, mut finished) = (Vec::new(), Vec::new());
    let (top, shown) = (volume.root(), b"d".to_vec());
    let root =
        Root { dir: top, name: Some(name("d")), shown, skip: 0, contents: false, fs_root: false, fsid: None, tag: () };
    engine.begin(root, Met::default(), 0, &mut due, &mut finished);
    while let Some(next) = due.pop() {
        lane(&engine, next, &mut due, (1, &most));
    }
    let get = |n: &AtomicU64| n.load(Ordering::Relaxed);
    assert_eq!((get(&counts.files), get(&counts.dirs), get(&counts.relisted)), (files, 1, 0));
    assert_eq!(get(&most), LANES_IN_A_DIRECTORY as u64);
    assert!(crew.report().failures().is_empty() && !dir.path().join("d").exists());
}

/// One lane's step, within which the next lane, number `at` and one, begins with what it is told early.
fn lane(engine: &Engine<'_, ()>, next: Due<Task<()>>, due: &mut Vec<Due<Task<()>>>, (at, most): (u64, &AtomicU64)) {
    let later = Mutex::new(Vec::new());
    let early = |next: &mut Vec<Due<Task<()>>>| {
        let mut due = later.lock().unwrap();
        next.drain(..).for_each(|next| lane(engine, next, &mut due, (at + 1, most)));
    };
    most.fetch_max(at, Ordering::Relaxed);
    engine.step((next.class, None), &mut vec![next.task], due, &mut Vec::new(), &early);
    due.append(&mut later.into_inner().unwrap());
}
