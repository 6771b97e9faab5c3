//! Creation of what others replace meanwhile: who writes a file anew and renames it has a file of that name at every moment, and is to find
//! one in the archive.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use rustix::fs::FileType;

use parfs::archive::{Codec, Input, MemberKind};
use parfs::base::{Status, Time};
use parfs::jobs::create::{Newer, Options, Pack, Summary};
use parfs::mounts::{LocalMount, MemoryMount};
use parfs::storage::{Attr, AttrChange, Beyond, Call, Mount, Node, Op, SetTime, Tap, Tapped};

use crate::ask::Ask;
use crate::copies::crew;
use crate::create::members;
use crate::creates::{Made, named, packed, shared, stream, whole};
use crate::nasty::{put, set};
use crate::remove_odd::{Odd, pass};

/// Does something to the tree just before what is at `top/d/x` is read, so many times.
struct Meddle<F> {
    mount: Arc<MemoryMount>,
    times: AtomicUsize,
    what: F,
    /// Several lanes read at once.
    turn: Mutex<()>,
}

impl<F: Fn(&MemoryMount, usize) + Send + Sync> Tap for Meddle<F> {
    fn before(&self, calls: &[Call<'_>]) {
        for call in calls {
            let (Op::Read { node, .. } | Op::ReadLink { node, .. }) = &call.op else { continue };
            let mount = &*self.mount;
            let _turn = self.turn.lock().unwrap();
            let x =
                ["top", "d", "x"].iter().try_fold(mount.root(), |dir, name| mount.lookup(&dir, name).map(|o| o.node));
            let left = |left: usize| left.checked_sub(1);
            if x.is_ok_and(|x| x == *node)
                && let Ok(left) = self.times.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left)
            {
                (self.what)(mount, left - 1);
            }
        }
    }
}

/// An archive of `top`, in which `x` is made by `make` and meddled with.
fn made(
    make: impl Fn(&MemoryMount, &parfs::storage::Node),
    times: usize,
    what: impl Fn(&MemoryMount, usize) + Send + Sync + 'static,
) -> Made {
    of(&["top"], make, times, what)
}

/// An archive of these.
fn of(
    operands: &[&str],
    make: impl Fn(&MemoryMount, &parfs::storage::Node),
    times: usize,
    what: impl Fn(&MemoryMount, usize) + Send + Sync + 'static,
) -> Made {
    let mount = Arc::new(MemoryMount::new());
    let top = mount.dir(&mount.root(), "top");
    let dir = mount.dir(&top, "d");
    make(&mount, &dir);
    mount.file(&top, "other", b"as it was");
    let tap: Arc<dyn Tap> =
        Arc::new(Meddle { mount: mount.clone(), times: times.into(), what, turn: Mutex::default() });
    let volume = shared(vec![Arc::new(Tapped::new(mount, vec![tap])) as Arc<dyn Mount>]);
    let operands = operands.iter().map(|name| named(&volume, name)).collect();
    stream(operands, &Options { sort_by_name: true, ..Options::default() }, &crew(2, 2))
}

fn file(bytes: usize) -> impl Fn(&MemoryMount, &parfs::storage::Node) {
    move |mount, dir| put(mount, &mount.file(dir, "x", b""), 0, &vec![1; bytes])
}

/// Renames a new file of so many bytes over it.
fn replace(bytes: usize) -> impl Fn(&MemoryMount, usize) + Send + Sync {
    move |mount, left| {
        let dir = mount.lookup(&mount.lookup(&mount.root(), "top").unwrap().node, "d").unwrap().node;
        put(mount, &mount.file(&mount.root(), "new", b""), 0, &vec![2 + left as u8; bytes]);
        mount.rename(&mount.root(), "new", &dir, "x").unwrap();
    }
}

#[test]
fn what_was_put_in_a_files_place_is_stored_at_the_end() {
    for (had, gets, times) in [(10, 20, 1), (10, 20, 3), (10, 9_000_000, 1), (9_000_000, 10, 2)] {
        let made = made(file(had), times, replace(gets)).clean();
        let is = members(&made.archive);
        let paths: Vec<_> = is.iter().map(|(path, ..)| path.as_str()).collect();
        assert_eq!(paths, ["top/", "top/d/", "top/other", "top/d/x"], "{had} {gets} {times}");
        assert!(is[3].2 == vec![2; gets], "{had} {gets} {times}");
        assert_eq!(made.summary.warnings, Vec::<String>::new());
        assert_eq!((made.summary.files, made.summary.members), (2, 4));
    }
}

/// Names of a list, as of `-T`.
#[test]
fn operands_are_looked_up_again_too() {
    let made = of(&["top/d/x", "top/other"], file(10), 1, replace(20)).clean();
    let is = members(&made.archive);
    let paths: Vec<_> = is.iter().map(|(path, ..)| path.as_str()).collect();
    assert_eq!((paths, &is[1].2), (vec!["top/other", "top/d/x"], &vec![2; 20]));
    let remove = |mount: &MemoryMount, _| {
        let top = mount.lookup(&mount.root(), "top").unwrap().node;
        mount.remove(&mount.lookup(&top, "d").unwrap().node, "x").unwrap();
    };
    let made = of(&["top/d/x", "top/other"], file(10), 1, remove);
    // As GNU tar has it of what was named.
    assert_eq!(made.failures, ["top/d/x: LOOKUP: No such file or directory"]);
    assert_eq!((made.summary.changed, members(&made.archive).len()), (0, 1));
}

/// Something that has come about, once.
#[derive(Default)]
struct Event(Mutex<bool>, Condvar);

impl Event {
    fn set(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }

    fn wait(&self) {
        let is_set = self.0.lock().unwrap();
        let (is_set, _) = self.1.wait_timeout_while(is_set, Duration::from_secs(60), |is_set| !*is_set).unwrap();
        assert!(*is_set, "it never came about");
    }
}

/// Packs, and tells when the piece with `top/z` is packed.
struct Telling(Box<dyn Pack>, Arc<Event>);

impl Pack for Telling {
    fn pack(&self, piece: &[u8]) -> std::io::Result<Vec<u8>> {
        let packed = self.0.pack(piece)?;
        if piece.windows(5).any(|bytes| bytes == b"top/z") {
            self.1.set();
        }
        Ok(packed)
    }

    fn piece_bytes(&self) -> usize {
        self.0.piece_bytes()
    }
}

/// Renames another file over `top/d/x` on this host, or removes it, just before something is read. The first bytes are read
/// `after` something.
struct Once {
    top: PathBuf,
    replaces: bool,
    /// Held while it does so: nobody opens the file before.
    done: Mutex<bool>,
    after: Option<Arc<Event>>,
}

impl Tap for Once {
    fn before(&self, calls: &[Call<'_>]) {
        let mut done = self.done.lock().unwrap();
        if calls.iter().any(|call| matches!(call.op, Op::Read { .. })) && !std::mem::replace(&mut *done, true) {
            let x = self.top.join("d/x");
            match self.replaces {
                true => {
                    std::fs::write(self.top.join("new"), [2; 20]).unwrap();
                    std::fs::rename(self.top.join("new"), x).unwrap();
                }
                false => std::fs::remove_file(x).unwrap(),
            }
        }
        drop(done);
        if let Some(after) = &self.after
            && calls.iter().any(|call| matches!(call.op, Op::Read { offset: 0, .. }))
        {
            after.wait();
        }
    }
}

/// The others are stored with the data that they have had all the time.
#[test]
fn other_names_of_a_file_that_was_replaced_are_stored_for_themselves() {
    for (bytes, replaces, is_packed) in [
        (10, true, false),
        (10, false, false),
        (3_000_000, true, false),
        (10, true, true),
        // The other names are in a later piece, which is packed before it is known.
        (3_000_000, true, true),
        (3_000_000, false, true),
    ] {
        let place = tempfile::tempdir().unwrap();
        let top = place.path().join("top");
        std::fs::create_dir_all(top.join("d")).unwrap();
        std::fs::write(top.join("d/x"), vec![1; bytes]).unwrap();
        std::fs::hard_link(top.join("d/x"), top.join("d/y")).unwrap();
        std::fs::hard_link(top.join("d/x"), top.join("z")).unwrap();
        let late: Arc<Event> = Arc::default();
        let after = (is_packed && bytes > 2 << 20).then(|| late.clone());
        let tap: Arc<dyn Tap> = Arc::new(Once { top, replaces, done: Mutex::new(false), after });
        let mount = Arc::new(LocalMount::open(place.path()).unwrap());
        let volume = shared(vec![Arc::new(Tapped::new(mount, vec![tap])) as Arc<dyn Mount>]);
        let options = Options { sort_by_name: true, ..Options::default() };
        let gzip = Telling(Codec::Gzip.pack(1).unwrap(), late);
        let operands = vec![named(&volume, "top")];
        let made = match is_packed {
            true => packed(operands, &gzip, &options, &crew(2, 2)),
            false => stream(operands, &options, &crew(2, 2)),
        };
        let (_, input) = parfs::archive::open(Input::Seekable(Arc::new(made.archive.clone()))).unwrap();
        let is = crate::create::read_all(input).0;
        let paths: Vec<_> = is.iter().map(|(path, kind, data)| (path.as_str(), *kind, data.len())).collect();
        let (file, dir, link) = (MemberKind::File, MemberKind::Dir, MemberKind::HardLink);
        let mut expected = vec![("top/", dir, 0), ("top/d/", dir, 0)];
        if replaces {
            expected.push(("top/d/x", file, 20));
        }
        expected.extend([("top/d/y", file, bytes), ("top/z", link, 0)]);
        let context = format!("{bytes} {replaces} {is_packed}");
        assert_eq!(paths, expected, "{context}");
        assert_eq!(made.failures, Vec::<String>::new(), "{context}");
        let Summary { members, files, links, changed, .. } = made.summary;
        assert_eq!((members, made.told.len()), (expected.len() as u64, expected.len()), "{context}");
        assert_eq!((files, links, changed), (1 + u64::from(replaces), 1, u64::from(!replaces)));
    }
}

/// Renames another file over `w` and `x` in `top/d` just before they are read, and over `x` after something.
struct Each {
    top: PathBuf,
    after: Arc<Event>,
    replaced: [Event; 2],
}

impl Tap for Each {
    fn before(&self, calls: &[Call<'_>]) {
        for call in calls {
            let Op::Read { node: Node::Chain(chain), offset, .. } = &call.op else { continue };
            let name = chain.parent.as_ref().map(|(_, name)| name.to_string());
            let Some(name) = name.filter(|name| name == "w" || name == "x") else { continue };
            let replaced = &self.replaced[usize::from(name == "x")];
            if *offset != 0 {
                // What is open would be read on.
                replaced.wait();
                continue;
            }
            if name == "x" {
                self.after.wait();
            }
            if std::fs::metadata(self.top.join("d").join(&name)).unwrap().len() > 20 {
                // Of its own: both may be replaced at once.
                let new = self.top.with_file_name(format!("new-{name}"));
                std::fs::write(&new, [2; 20]).unwrap();
                std::fs::rename(&new, self.top.join("d").join(&name)).unwrap();
            }
            replaced.set();
        }
    }
}

/// Some of a piece's links go before it is packed and some after that; what is behind them stays what it is.
#[test]
fn links_of_one_piece_go_one_after_the_other() {
    let place = tempfile::tempdir().unwrap();
    let top = place.path().join("top");
    std::fs::create_dir_all(top.join("d")).unwrap();
    for (file, byte) in [("d/v", 1), ("d/w", 3), ("d/x", 4)] {
        std::fs::write(top.join(file), vec![byte; 3_000_000]).unwrap();
    }
    for (file, link) in [("w", "y1"), ("v", "y2"), ("x", "y3"), ("w", "y4"), ("v", "y5"), ("x", "y6"), ("v", "y7")] {
        std::fs::hard_link(top.join("d").join(file), top.join(link)).unwrap();
    }
    std::fs::write(top.join("z"), vec![5; 10_000]).unwrap();
    let late: Arc<Event> = Arc::default();
    let tap: Arc<dyn Tap> = Arc::new(Each { top, after: late.clone(), replaced: Default::default() });
    let mount = Arc::new(LocalMount::open(place.path()).unwrap());
    let volume = shared(vec![Arc::new(Tapped::new(mount, vec![tap])) as Arc<dyn Mount>]);
    let options = Options { sort_by_name: true, ..Options::default() };
    let gzip = Telling(Codec::Gzip.pack(1).unwrap(), late);
    let made = packed(vec![named(&volume, "top")], &gzip, &options, &crew(8, 2)).clean();
    let (_, input) = parfs::archive::open(Input::Seekable(Arc::new(made.archive))).unwrap();
    let is = crate::create::read_all(input).0;
    let is: Vec<_> = is.iter().map(|(path, kind, data)| (path.as_str(), *kind, data.len(), data.first())).collect();
    let (file, dir, link) = (MemberKind::File, MemberKind::Dir, MemberKind::HardLink);
    let large = 3_000_000;
    let expected = [
        ("top/", dir, 0, None),
        ("top/d/", dir, 0, None),
        ("top/d/v", file, large, Some(&1)),
        ("top/y2", link, 0, None),
        ("top/y5", link, 0, None),
        ("top/y7", link, 0, None),
        ("top/z", file, 10_000, Some(&5)),
        ("top/d/w", file, 20, Some(&2)),
        ("top/d/x", file, 20, Some(&2)),
        ("top/y1", file, large, Some(&3)),
        ("top/y3", file, large, Some(&4)),
        ("top/y4", link, 0, None),
        ("top/y6", link, 0, None),
    ];
    let mut sorted = is.clone();
    sorted.sort_unstable_by_key(|(path, ..)| *path);
    let mut wanted = expected.to_vec();
    wanted.sort_unstable_by_key(|(path, ..)| *path);
    assert_eq!(sorted, wanted, "{is:?}");
}

#[test]
fn what_is_replaced_again_and_again_is_told_at_last() {
    let made = made(file(10), 100, replace(20));
    let told = "top/d/x: something else took its place each of 17 times that it was to be read; it is not archived";
    assert_eq!((&made.failures[..], &made.summary.warnings), (&[told.to_owned()][..], &Vec::new()));
    assert_eq!((made.summary.changed, members(&made.archive).len()), (0, 3));
    // Others are removed and made anew all the time, and each is in the archive at last.
    let last = self::made(file(10), 12, replace(20)).clean();
    assert_eq!(members(&last.archive).len(), 4);
}

#[test]
fn a_symbolic_link_that_is_switched_is_stored() {
    let link = |mount: &MemoryMount, dir: &parfs::storage::Node| {
        mount.symlink(dir, "x", b"release-1").unwrap();
    };
    let switch = |mount: &MemoryMount, _| {
        let dir = mount.lookup(&mount.lookup(&mount.root(), "top").unwrap().node, "d").unwrap().node;
        mount.symlink(&mount.root(), "new", b"release-2").unwrap();
        mount.rename(&mount.root(), "new", &dir, "x").unwrap();
    };
    let archive = made(link, 1, switch).clean().archive;
    let is = members(&archive);
    assert_eq!((is[3].0.as_str(), is[3].1), ("top/d/x", MemberKind::Symlink));
    let stored = |text: &[u8]| archive.windows(text.len()).any(|bytes| bytes == text);
    assert_eq!((stored(b"release-1"), stored(b"release-2")), (false, true));
}

/// Also when its directory went with it.
#[test]
fn what_was_removed_is_told_as_removed() {
    for with_dirs in 0..3 {
        let remove = move |mount: &MemoryMount, _| {
            let top = mount.lookup(&mount.root(), "top").unwrap().node;
            mount.remove(&mount.lookup(&top, "d").unwrap().node, "x").unwrap();
            if with_dirs > 0 {
                mount.rmdir(&top, "d").unwrap();
            }
            if with_dirs > 1 {
                mount.rename(&top, "other", &mount.root(), "other").unwrap();
                mount.rmdir(&mount.root(), "top").unwrap();
            }
        };
        let made = made(file(10), 1, remove);
        assert_eq!(made.failures, Vec::<String>::new());
        assert_eq!(made.summary.warnings, ["top/d/x: File removed before we read it"]);
        assert_eq!((made.summary.changed, members(&made.archive).len()), (1, 3));
    }
}

/// All names of a file were stored, it was removed, and a new one has its number.
#[test]
fn a_file_that_has_the_number_of_a_complete_one_is_its_own() {
    let from = Arc::new(MemoryMount::new());
    let mut ids = Vec::new();
    for (names, data) in [(["a1", "a2"], "old"), (["b1", "b2"], "newer")] {
        let node = from.file(&from.root(), names[0], b"");
        put(&*from, &node, 0, data.as_bytes());
        from.link(&node, &from.root(), names[1]).unwrap();
        ids.push(from.get_attr(&node).unwrap().fileid);
    }
    let as_before = move |attr: &mut Attr| {
        if attr.fileid == ids[1] {
            attr.fileid = ids[0];
        }
    };
    let reuses = Odd::new(&from, move |mount, call| {
        pass(mount, call);
        match &mut call.op {
            Op::ReadDir { out: Ok(page), .. } => {
                page.entries.iter_mut().filter_map(|e| e.attr.as_mut()).for_each(&as_before)
            }
            Op::Read { attr, .. } => attr.iter_mut().for_each(&as_before),
            Op::GetAttr { out: Ok(attr), .. } => as_before(attr),
            _ => {}
        }
    });
    let options = Options { sort_by_name: true, ..Options::default() };
    let made = stream(whole(&shared(vec![reuses])), &options, &crew(2, 2)).clean();
    let is: Vec<_> = members(&made.archive).into_iter().map(|(path, kind, data)| (path, kind, data.len())).collect();
    let [file, link] = [MemberKind::File, MemberKind::HardLink];
    let want = [("a1", file, 3), ("a2", link, 0), ("b1", file, 5), ("b2", link, 0)];
    assert_eq!(is[1..], want.map(|(path, kind, len)| (format!("./{path}"), kind, len)));
}

/// Of a file that was all holes nothing is read, and by its turn it may hold something.
#[test]
fn what_was_all_holes_is_stored_as_it_is_by_its_turn() {
    for how in ["left", "written", "shrunk"] {
        let mount = Arc::new(MemoryMount::new());
        let root = mount.root();
        let x = mount.file(&root, "x", b"");
        mount.set_attr(&x, AttrChange { size: Some(1 << 20), ..AttrChange::default() }).unwrap();
        mount.link(&x, &root, "y").unwrap();
        let (memory, is_first) = (mount.clone(), AtomicBool::new(true));
        let odd = Odd::new(&mount, move |inner, call| {
            pass(inner, call);
            if !matches!(call.op, Op::Beyond(Beyond::Seek { .. })) || !is_first.swap(false, Ordering::Relaxed) {
                return;
            }
            let size = AttrChange { size: Some(5000), ..AttrChange::default() };
            match how {
                "written" => put(&*memory, &x, 5000, b"data"),
                "shrunk" => drop(memory.set_attr(&x, size).unwrap()),
                _ => {}
            }
        });
        let volume = shared(vec![odd as Arc<dyn Mount>]);
        let options = Options { sort_by_name: true, sparse: true, ..Options::default() };
        let made = stream(whole(&volume), &options, &crew(2, 2));
        let is = members(&made.archive);
        let of = |name: &str| is.iter().find(|(path, ..)| path == name).map(|(_, kind, data)| (*kind, data.len()));
        let x = if how == "written" { 5004 } else { 0 };
        let expected = (Some((MemberKind::File, x)), Some((MemberKind::HardLink, 0)));
        assert_eq!((of("./x"), of("./y")), expected, "{how}: what is stored of them, without holes");
        let holds = is.iter().any(|(.., data)| data.ends_with(b"data"));
        assert_eq!((holds, made.failures.len(), made.summary.changed), (how == "written", 0, 0), "{how}");
    }
}

/// Only a faulty server says so; each round would be stored anew, down to the longest path.
#[test]
fn a_directory_that_contains_itself_is_not_stored_for_ever() {
    for above in 0..2 {
        let from = Arc::new(MemoryMount::new());
        let dir = |parent: &Node, name| from.mkdir(parent, name, AttrChange::default()).unwrap().node;
        let a = dir(&from.root(), "a");
        let b = dir(&a, "b");
        let above = [from.root(), a][above].clone();
        let hostile = Odd::new(&from, move |mount, call| {
            pass(mount, call);
            if let Op::ReadDir { out: Ok(page), .. } = &mut call.op {
                for node in page.entries.iter_mut().filter_map(|entry| entry.node.as_mut()).filter(|node| **node == b) {
                    *node = above.clone();
                }
            }
        });
        let made = stream(whole(&shared(vec![hostile])), &Options::default(), &crew(2, 2));
        assert!(
            matches!(&made.failures[..], [one] if one.ends_with("a directory that contains itself")),
            "{:?}",
            made.failures
        );
        assert!(made.summary.members < 10);
    }
}

/// Which file was read is known of the file, and not by its name, under which there is none when that is asked.
#[test]
fn no_name_gets_the_data_of_a_file_that_was_there_for_a_moment() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    std::fs::write(path("a"), "of a and b").unwrap();
    std::fs::hard_link(path("a"), path("b")).unwrap();
    let (is_read, at) = (AtomicBool::new(false), dir.path().to_owned());
    let odd = Odd::new(&Arc::new(LocalMount::open(dir.path()).unwrap()), move |mount, call| {
        let is_first = matches!(call.op, Op::Read { .. }) && !is_read.swap(true, Ordering::Relaxed);
        if is_first {
            std::fs::write(at.join("new"), "another, and longer").unwrap();
            std::fs::rename(at.join("new"), at.join("a")).unwrap();
        }
        pass(mount, call);
        if is_first {
            std::fs::remove_file(at.join("a")).unwrap();
        }
    });
    let volume = shared(vec![odd as Arc<dyn Mount>]);
    let operands = vec![named(&volume, "a"), named(&volume, "b")];
    let made = stream(operands, &Options { sort_by_name: true, ..Options::default() }, &crew(2, 2));
    let is = members(&made.archive);
    let of = |name: &str| is.iter().find(|(path, ..)| path == name);
    assert!(of("a").is_none(), "{is:?}");
    assert_eq!(of("b").map(|b| (b.1, &b.2[..])), Some((MemberKind::File, &b"of a and b"[..])), "{made:?}");
}

/// On this host a name is opened to be read, and anything may have it by then.
#[test]
fn what_is_no_file_any_more_is_stored_as_what_it_is() {
    type Put = fn(&std::path::Path);
    let replaced: [(Put, MemberKind); 3] = [
        (|x| std::fs::create_dir(x).unwrap(), MemberKind::Dir),
        (|x| std::os::unix::fs::symlink("elsewhere", x).unwrap(), MemberKind::Symlink),
        (|x| rustix::fs::mknodat(rustix::fs::CWD, x, FileType::Fifo, 0o600.into(), 0).unwrap(), MemberKind::Fifo),
    ];
    for (put, kind) in replaced {
        let dir = tempfile::tempdir().unwrap();
        let x = dir.path().join("x");
        std::fs::write(&x, "a file").unwrap();
        let is_read = AtomicBool::new(false);
        let odd = Odd::new(&Arc::new(LocalMount::open(dir.path()).unwrap()), move |mount, call| {
            if matches!(call.op, Op::Read { .. }) && !is_read.swap(true, Ordering::Relaxed) {
                std::fs::remove_file(&x).unwrap();
                put(&x);
            }
            pass(mount, call);
        });
        let made = stream(whole(&shared(vec![odd as Arc<dyn Mount>])), &Options::default(), &crew(2, 2));
        let is: Vec<MemberKind> = members(&made.archive)
            .into_iter()
            .filter(|(path, ..)| path.ends_with("/x") || path.ends_with("/x/"))
            .map(|member| member.1)
            .collect();
        assert!(made.failures.is_empty() && is == [kind], "{is:?} {made:?}");
    }
}

/// Pieces are read in any order: the last one may be the first.
#[test]
fn a_piece_that_was_written_to_behind_the_last_one_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let big = dir.path().join("big");
    std::fs::write(&big, vec![1; 32 << 20]).unwrap();
    let last = Arc::new(Event::default());
    let is_first = AtomicBool::new(true);
    let odd = Odd::new(&Arc::new(LocalMount::open(dir.path()).unwrap()), move |mount, call| {
        let Op::Read { offset, .. } = &call.op else { return pass(mount, call) };
        let offset = *offset;
        if offset < 16 << 20 && is_first.swap(false, Ordering::Relaxed) {
            last.wait();
            let file = std::fs::File::options().write(true).open(&big).unwrap();
            std::os::unix::fs::FileExt::write_all_at(&file, &vec![2; 32 << 20], 0).unwrap();
        }
        pass(mount, call);
        if offset >= 31 << 20 {
            // What is asked behind it comes before the other goes on.
            std::thread::sleep(Duration::from_millis(50));
            last.set();
        }
    });
    let volume = shared(vec![odd as Arc<dyn Mount>]);
    let made = stream(vec![named(&volume, "big")], &Options::default(), &crew(4, 2));
    assert_eq!((made.summary.changed, made.summary.warnings), (1, vec!["big: file changed as we read it".into()]));
}

/// An archive of 10,004 files, each replaced before it is read, every other one removed; `then` comes before the 10,001st is read.
fn of_many_replaced(options: &Options, then: impl Fn(&dyn Mount) + Send + Sync + 'static) -> Made {
    const FILES: usize = 10_004;
    let mount = Arc::new(MemoryMount::new());
    let top = mount.dir(&mount.root(), "top");
    let names: HashMap<u64, String> = (0..FILES)
        .map(|i| {
            let (name, node) = (i.to_string(), mount.file(&top, i.to_string(), b"x"));
            (mount.get_attr(&node).unwrap().fileid, name)
        })
        .collect();
    let reads = AtomicUsize::new(0);
    let odd = Odd::new(&mount, move |mount, call| match &call.op {
        Op::Read { node, .. } => {
            let n = reads.fetch_add(1, Ordering::Relaxed);
            if n >= FILES {
                return pass(mount, call);
            }
            if n == 10_000 {
                then(mount);
            }
            if n % 2 == 1 {
                mount.remove(&top, &names[&mount.get_attr(node).unwrap().fileid]).unwrap();
            }
            call.fail(Status::Stale);
        }
        _ => pass(mount, call),
    });
    stream(vec![named(&shared(vec![odd as Arc<dyn Mount>]), "top")], options, &crew(1, 1))
}

/// As many as are looked up again are remembered, and of the others it is told what became of them.
#[test]
fn of_more_than_are_looked_up_again_only_what_is_gone_is_told_as_removed() {
    let made = of_many_replaced(&Options::default(), |_| ());
    assert_eq!((made.summary.files, made.summary.changed), (5_000, 5_002));
    assert_eq!(made.failures.len(), 2, "{:?}", made.failures);
    let told = |failure: &String| failure.contains("something else took its place before it was read");
    assert!(made.failures.iter().all(told), "{:?}", made.failures);
    // What is older than is wanted by then is no failure.
    let newer = Some(Newer { than: Time { secs: 10, nanos: 0 }, or_changed: false });
    let made = of_many_replaced(&Options { newer, ..Options::default() }, |mount| {
        let top = mount.lookup(&mount.root(), "top").unwrap().node;
        let old = AttrChange { mtime: SetTime::At(Time::default()), ..AttrChange::default() };
        (0..10_004).filter_map(|name| mount.lookup(&top, name.to_string()).ok()).for_each(|x| set(mount, &x.node, old));
    });
    assert_eq!((made.failures, made.summary.files, made.summary.changed), (Vec::<String>::new(), 0, 5_002));
}
