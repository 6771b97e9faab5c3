//! Removal on servers and file systems with peculiarities, and under others' hands.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parfs::base::{Proc, Status};
use parfs::jobs::remove::{Excluded, Operand, Options};
use parfs::mounts::{LocalMount, MemoryMount};
use parfs::storage::faults::Which;
use parfs::storage::{
    Attr, AttrChange, Call, Cookie, Entry, Faults, Found, How, Kind, Limits, Mount, Node, Op, Page, Tally, Tapped, Want,
};

use crate::remove::{Ran, do_one, find, operand, paths, plant, plant_tree, remove_all, remove_paths};
use crate::tars::{crew, volume};
use crate::tree::dump;

type Around = Box<dyn Fn(&dyn Mount, &mut Call<'_>) + Send + Sync>;

/// A mount that carries out each call in a way of its own.
pub struct Odd {
    mount: Arc<dyn Mount>,
    around: Around,
}

impl Odd {
    pub fn new(
        mount: &Arc<impl Mount + 'static>,
        around: impl Fn(&dyn Mount, &mut Call<'_>) + Send + Sync + 'static,
    ) -> Arc<Odd> {
        Arc::new(Odd { mount: mount.clone(), around: Box::new(around) })
    }
}

impl Mount for Odd {
    fn root(&self) -> Node {
        self.mount.root()
    }
    fn limits(&self) -> Limits {
        self.mount.limits()
    }
    fn perform(&self, calls: &mut [Call<'_>]) {
        calls.iter_mut().for_each(|call| (self.around)(&*self.mount, call));
    }
    fn issued(&self) -> Option<Tally> {
        None
    }
    fn label(&self) -> String {
        "odd".into()
    }
}

pub fn pass(mount: &dyn Mount, call: &mut Call<'_>) {
    mount.perform(std::slice::from_mut(call));
}

/// All entries of a directory.
pub fn entries(mount: &dyn Mount, dir: &Node, want: Want) -> Result<Page, Status> {
    let (mut all, mut from) = (Page::default(), Cookie::default());
    loop {
        let mut calls = [Call::read_dir(dir, from, want, 1 << 20)];
        mount.perform(&mut calls);
        let page = calls[0].take_page()?;
        all.entries.extend(page.entries);
        if page.end {
            return Ok(Page { end: true, ..all });
        }
        from = page.next;
    }
}

const PAGE_ENTRIES: usize = 10;

/// Counts entries for a cookie, ten a page: what goes makes the next page skip others. With `strict`, a cookie is stale when
/// anything has gone since.
fn shifting(mount: &dyn Mount, call: &mut Call<'_>, strict: bool) {
    let Op::ReadDir { dir, from, want, out, .. } = &mut call.op else { return pass(mount, call) };
    *out = entries(mount, dir, *want).and_then(|all| {
        let (count, at) = (all.entries.len(), from.position as usize);
        if strict && at > 0 && from.verifier != count as u64 {
            return Err(Status::BadCookie);
        }
        let some: Vec<_> = all.entries.into_iter().skip(at).take(PAGE_ENTRIES).collect();
        let next = Cookie { position: (at + some.len()) as u64, verifier: count as u64, ..Cookie::default() };
        Ok(Page { above: None, end: at + some.len() >= count, entries: some, next })
    });
}

fn excluding(pattern: &str) -> Options {
    Options { excluded: Excluded::anywhere(&[pattern]).unwrap(), ..Options::default() }
}

#[test]
fn servers_whose_cookies_shift_are_listed_again_until_all_is_gone() {
    for strict in [false, true] {
        for shape in [(1, 1), (4, 3)] {
            let memory = Arc::new(MemoryMount::new());
            let odd = Odd::new(&memory, move |mount, call| shifting(mount, call, strict));
            plant_tree(&*memory, "top", 3, 333);
            let ran = remove_paths(&odd, &["top"], &Options::default(), &crew(shape.0, shape.1)).clean();
            assert_eq!((ran.summary.files, ran.summary.dirs), (3 * 334, 7));
            assert!(ran.summary.relisted >= 3, "{strict} {shape:?} {}", ran.summary.relisted);
            assert_eq!(dump(&*memory).len(), 1);

            // Where something is kept no RMDIR tells of what was skipped.
            plant_tree(&*memory, "top", 2, 333);
            let ran = remove_paths(&odd, &["top"], &excluding("f1*"), &crew(shape.0, shape.1)).clean();
            let kept: BTreeSet<String> = (0..333).map(|i| format!("f{i}")).filter(|f| f.starts_with("f1")).collect();
            assert_eq!(ran.summary.kept, 2 * kept.len() as u64, "each is counted once");
            assert_eq!(dump(&*memory).len(), 1 + 1 + 2 * (1 + kept.len()), "{strict} {shape:?}");

            let contents = Operand { contents: true, ..operand(&*memory, "top") };
            let all = Options::default();
            remove_all(&volume(&odd), [Ok(contents)].into_iter(), &all, &crew(shape.0, shape.1)).clean();
            assert_eq!(paths(&dump(&*memory)), ["top"].into());
        }
    }
}

/// A server that finds something in a directory whatever is removed, and one whose cookies are always stale.
#[test]
fn what_never_ends_is_a_failure() {
    let memory = Arc::new(MemoryMount::new());
    let never = Odd::new(&memory, |mount, call| match &call.op {
        Op::RmDir { name, .. } if name.as_bytes() == b"a" => call.fail(Status::NotEmpty),
        _ => pass(mount, call),
    });
    plant(&*memory, &["a/", "a/b/", "a/b/f"]);
    let ran = remove_paths(&never, &["a"], &Options::default(), &crew(2, 2));
    assert_eq!(ran.failures, ["a: RMDIR: Directory not empty"]);
    assert_eq!((ran.summary.relisted, ran.summary.dirs), (1, 1));

    // Some program fills it as fast as it is emptied.
    let filled = Odd::new(&memory, |mount, call| {
        if let Op::RmDir { dir, name, .. } = &call.op {
            let mut made = [Call::lookup(dir, name)];
            mount.perform(&mut made);
            let dir = made[0].found().unwrap().node;
            do_one(mount, Call::create(&dir, &crate::remove::name("new"), How::Guarded, AttrChange::default()));
        }
        pass(mount, call);
    });
    plant(&*memory, &["a/f"]);
    let ran = remove_paths(&filled, &["a"], &Options::default(), &crew(2, 2));
    assert_eq!(ran.failures, ["a: RMDIR: Directory not empty"]);
    assert_eq!((ran.summary.relisted, ran.summary.files), (64, 65));

    let stale = Odd::new(&memory, |mount, call| match &call.op {
        Op::ReadDir { from, .. } if *from != Cookie::default() => call.fail(Status::BadCookie),
        Op::ReadDir { .. } => shifting(mount, call, false),
        _ => pass(mount, call),
    });
    plant_tree(&*memory, "t", 1, 30);
    let ran = remove_paths(&stale, &["t"], &excluding("f*"), &crew(2, 2));
    assert_eq!(ran.failures, ["t/d0: READDIRPLUS: Directory cookie is stale"]);

    plant(&*memory, &["x/"]);
    let stuck = Odd::new(&memory, |mount, call| {
        pass(mount, call);
        if let Op::ReadDir { out: Ok(page), from, .. } = &mut call.op {
            (page.end, page.next) = (false, *from);
        }
    });
    let ran = remove_paths(&stuck, &["x"], &Options::default(), &crew(2, 2));
    assert_eq!(ran.failures, ["x: the server's listing does not go on"]);
}

/// A server whose directories lead back to one above them, after a way of any length.
#[test]
fn directories_that_contain_themselves_are_a_failure() {
    for length in [1, 2, 3, 10, 100] {
        let memory = Arc::new(MemoryMount::new());
        let mut path = "t".to_string();
        for _ in 0..length + 5 {
            plant(&*memory, &[&format!("{path}/"), &format!("{path}/f")]);
            path += "/d";
        }
        // What is named `d` in the last directory is one further up.
        let last = find(&*memory, &path[..path.len() - 2]);
        let above = find(&*memory, &path[..path.len() - 2 * length]);
        let odd = Odd::new(&memory, move |mount, call| {
            pass(mount, call);
            match &mut call.op {
                Op::ReadDir { dir, out: Ok(page), .. } if *dir == last => {
                    let (name, node, kind) = (crate::remove::name("d"), Some(above.clone()), Some(Kind::Dir));
                    page.entries.push(Entry { name, fileid: 1, position: 1 << 40, node, attr: None, kind });
                }
                Op::Lookup { dir, name, out } if *dir == last && name.as_bytes() == b"d" => {
                    *out = Ok(Found { node: above.clone(), attr: None });
                }
                _ => {}
            }
        });
        let ran = remove_paths(&odd, &["t"], &Options::default(), &crew(4, 2));
        assert_eq!(ran.failures.len(), 1, "{length}: {:?}", ran.failures);
        let (path, why) = ran.failures[0].split_once(": ").unwrap();
        assert_eq!(why, "a directory that contains itself");
        assert!(path.len() < 2 * (4 * length + 20), "{length}: found at {path}");
    }
}

/// Listings that say less than usual, or the wrong thing, and servers that call a directory PERM.
#[test]
fn listings_need_not_say_what_things_are() {
    for refusal in [Status::IsDir, Status::Perm] {
        for lie in [None, Some(Kind::File), Some(Kind::Dir)] {
            let memory = Arc::new(MemoryMount::new());
            let odd = Odd::new(&memory, move |mount, call| {
                pass(mount, call);
                match &mut call.op {
                    Op::ReadDir { out: Ok(page), .. } => page.entries.iter_mut().for_each(|entry| {
                        (entry.kind, entry.attr) = (lie, None);
                        entry.node = entry.node.take().filter(|_| lie == Some(Kind::Dir));
                    }),
                    Op::Remove { out: Err(status), .. } if *status == Status::IsDir && lie.is_none() => {
                        *status = refusal
                    }
                    _ => {}
                }
            });
            plant_tree(&*memory, "top", 4, 5);
            let ran = remove_paths(&odd, &["top"], &Options::default(), &crew(3, 2)).clean();
            assert_eq!((ran.summary.files, ran.summary.dirs), (24, 9), "{refusal} {lie:?}");
            assert_eq!(dump(&*memory).len(), 1);
            // With attributes wanted, they are asked for.
            plant_tree(&*memory, "top", 4, 5);
            let all = Options {
                older_than: Some(parfs::base::Time { secs: i64::MAX, nanos: 0 }),
                one_file_system: true,
                ..Options::default()
            };
            if lie != Some(Kind::Dir) {
                remove_paths(&odd, &["top"], &all, &crew(3, 2)).clean();
                assert_eq!(dump(&*memory).len(), 1);
            }
        }
    }
}

/// A file that may not be removed, and of which the listing did not say that it is a file.
#[test]
fn what_is_not_permitted_is_told_once() {
    let memory = Arc::new(MemoryMount::new());
    let odd = Odd::new(&memory, |mount, call| match &call.op {
        Op::Remove { name, .. } if name.as_bytes() == b"f1" => call.fail(Status::Perm),
        _ => {
            pass(mount, call);
            if let Op::ReadDir { out: Ok(page), .. } = &mut call.op {
                page.entries.iter_mut().for_each(|entry| (entry.kind, entry.attr, entry.node) = (None, None, None));
            }
        }
    });
    plant_tree(&*memory, "top", 2, 3);
    let ran = remove_paths(&odd, &["top"], &Options::default(), &crew(3, 2));
    assert_eq!(
        ran.failures,
        ["top/d0/f1: REMOVE: Operation not permitted", "top/d1/f1: REMOVE: Operation not permitted"]
    );
    assert_eq!(paths(&dump(&*memory)), ["top", "top/d0", "top/d0/f1", "top/d1", "top/d1/f1"].into());
}

/// What may not be listed goes if it is empty, as with rm.
#[test]
fn a_directory_that_may_not_be_read() {
    let memory = Arc::new(MemoryMount::new());
    plant(&*memory, &["a/", "a/f", "e/"]);
    let closed = || {
        let faults = Arc::new(Faults::new(Which::Nth(0, Some(Proc::ReadDirPlus)), Status::Access));
        Arc::new(Tapped::new(memory.clone(), vec![faults]))
    };
    remove_paths(&closed(), &["e"], &Options::default(), &crew(1, 1)).clean();
    let ran = remove_paths(&closed(), &["a"], &Options::default(), &crew(1, 1));
    assert_eq!(ran.failures, ["a: READDIRPLUS: Permission denied"]);
    assert_eq!(paths(&dump(&*memory)), ["a", "a/f"].into());
}

/// Everything below the directories `mnt` is on a file system of its own. With `silent` the listing says no attributes.
pub fn with_mounts(memory: &Arc<MemoryMount>, silent: bool) -> Arc<Odd> {
    let tree = dump(&**memory);
    let mut there = BTreeSet::new();
    for path in tree.keys().filter(|path| path.split('/').any(|part| part == "mnt")) {
        let mut calls = [Call::get_attr(&find(&**memory, path))];
        memory.perform(&mut calls);
        there.insert(calls[0].attr().unwrap().fileid);
    }
    let moved = move |attr: &mut Attr| attr.fsid += u64::from(there.contains(&attr.fileid));
    Odd::new(memory, move |mount, call| {
        pass(mount, call);
        match &mut call.op {
            Op::GetAttr { out: Ok(attr), .. } => moved(attr),
            Op::Lookup { out: Ok(found), .. } => found.attr.iter_mut().for_each(&moved),
            Op::ReadDir { out: Ok(page), .. } => page.entries.iter_mut().for_each(|entry| {
                entry.attr.iter_mut().for_each(&moved);
                entry.attr = entry.attr.filter(|_| !silent);
            }),
            _ => {}
        }
    })
}

#[test]
fn other_file_systems_are_left_alone_when_asked() {
    for silent in [false, true] {
        let memory = Arc::new(MemoryMount::new());
        let make = || {
            plant(&*memory, &["a/", "a/b/", "a/b/mnt/", "a/b/mnt/.snapshot/", "a/b/mnt/.snapshot/s/", "a/b/mnt/f"]);
            plant(&*memory, &["a/b/mnt/d/", "a/c", "mnt/", "mnt/f", "mnt/d/", "mnt/d/g"]);
        };
        make();
        let odd = with_mounts(&memory, silent);
        let options = Options { one_file_system: true, ..Options::default() };
        // The operand's own file system is the one.
        let ran = remove_paths(&odd, &["a", "mnt"], &options, &crew(3, 2));
        assert_eq!(ran.failures, ["a/b/mnt: skipping it, since it's on a different device"], "{silent}");
        let left = ["a", "a/b", "a/b/mnt", "a/b/mnt/.snapshot", "a/b/mnt/.snapshot/s", "a/b/mnt/d", "a/b/mnt/f"];
        assert_eq!(paths(&dump(&*memory)), left.into(), "{silent}");
        if !silent {
            // Entered without the option; its snapshots are not.
            let ran = remove_paths(&odd, &["a"], &Options::default(), &crew(3, 2));
            assert_eq!(ran.failures, ["a/b/mnt: RMDIR: Directory not empty: its .snapshot is left alone"]);
            assert_eq!(ran.summary.warnings, ["a/b/mnt: its .snapshot is left alone"]);
            let left = ["a", "a/b", "a/b/mnt", "a/b/mnt/.snapshot", "a/b/mnt/.snapshot/s"];
            assert_eq!(paths(&dump(&*memory)), left.into());
        }
    }
}

/// Where a listing tells no file systems, a name that may be a mounted one's snapshots is looked into.
#[test]
fn snapshots_of_what_is_mounted_below_are_left_alone() {
    for is_mounted in [false, true] {
        let memory = Arc::new(MemoryMount::new());
        plant(&*memory, &["r/", "r/d/", "r/d/.snapshot/", "r/d/.snapshot/x", "r/d/f"]);
        let d = find(&*memory, "r/d");
        let odd = Odd::new(&memory, move |mount, call| {
            pass(mount, call);
            match &mut call.op {
                Op::ReadDir { out: Ok(page), .. } => page.entries.iter_mut().for_each(|entry| entry.attr = None),
                Op::GetAttr { node, out: Ok(attr) } if *node == d && is_mounted => attr.fsid += 1,
                _ => {}
            }
        });
        let ran = remove_paths(&odd, &["r"], &Options::default(), &crew(2, 2));
        let left: &[&str] = if is_mounted { &["r", "r/d", "r/d/.snapshot", "r/d/.snapshot/x"] } else { &[] };
        assert_eq!(paths(&dump(&*memory)), left.iter().copied().collect(), "{ran:?}");
        assert_eq!(ran.failures.len(), usize::from(is_mounted), "{ran:?}");
    }
}

#[test]
fn snapshots_at_a_root_are_left_alone() {
    for hide_kind in [false, true] {
        let memory = Arc::new(MemoryMount::new());
        let odd = Odd::new(&memory, move |mount, call| {
            pass(mount, call);
            if let Op::ReadDir { out: Ok(page), .. } = &mut call.op {
                page.entries.iter_mut().filter(|_| hide_kind).for_each(|entry| entry.kind = None);
            }
        });
        let make = || plant(&*memory, &["r/f", "r/d/", "r/d/.snapshot/", "r/d/.snapshot/x"]);
        plant(&*memory, &["r/", "r/.snapshot/", "r/.snapshot/s/", "r/.snapshot/s/f"]);
        make();
        let root = |contents| Operand { contents, fs_root: true, ..operand(&*memory, "r") };
        let run = |contents| -> Ran {
            remove_all(&volume(&odd), [Ok(root(contents))].into_iter(), &Options::default(), &crew(2, 2))
        };
        // Below the root it is a name like any other.
        let ran = run(true).clean();
        let left = ["r", "r/.snapshot", "r/.snapshot/s", "r/.snapshot/s/f"];
        assert_eq!(paths(&dump(&*memory)), left.into(), "{hide_kind}");
        assert_eq!((ran.summary.kept, ran.summary.warnings), (0, vec!["r: its .snapshot is left alone".to_string()]));
        make();
        let ran = run(false);
        assert_eq!(paths(&dump(&*memory)), left.into(), "{hide_kind}");
        assert_eq!(ran.failures, ["r: RMDIR: Directory not empty: its .snapshot is left alone"]);
        assert_eq!(ran.summary.warnings.len(), 1);
        // A file of that name is no snapshot; nor is it one where there is no root.
        plant(&*memory, &["q/", "q/.snapshot"]);
        let file = Operand { fs_root: true, ..operand(&*memory, "q") };
        let both = [Ok(file), Ok(operand(&*memory, "r"))];
        let ran = remove_all(&volume(&odd), both.into_iter(), &Options::default(), &crew(2, 2)).clean();
        assert_eq!((dump(&*memory).len(), ran.summary.warnings.len()), (1, 0));
    }
}

#[test]
fn files_that_a_client_has_open_are_named() {
    let memory = Arc::new(MemoryMount::new());
    let plant_open =
        || plant(&*memory, &["a/", "a/b/", "a/b/.nfs0000000000a1b2c3000000ff", "a/.nfs00000001", "a/.nfs", "a/f"]);
    plant_open();
    let ran = remove_paths(&memory, &["a"], &Options::default(), &crew(2, 2)).clean();
    // What is gone is what a client left behind when it went.
    assert_eq!(ran.summary.leftovers, Vec::<Vec<u8>>::new());

    // A kernel mount of this host: busy.
    plant_open();
    let busy = Odd::new(&memory, |mount, call| match &call.op {
        Op::Remove { name, .. } if name.as_bytes().starts_with(b".nfs00000000") => call.fail(Status::Errno(16)),
        _ => pass(mount, call),
    });
    let ran = remove_paths(&busy, &["a"], &Options::default(), &crew(2, 2));
    assert_eq!(ran.summary.leftovers, [b"a/b/.nfs0000000000a1b2c3000000ff"]);
    let open =
        "a/b/.nfs0000000000a1b2c3000000ff: REMOVE: Device or resource busy: some client still has this file open";
    assert_eq!(ran.failures, [open]);
    assert_eq!(paths(&dump(&*memory)), ["a", "a/b", "a/b/.nfs0000000000a1b2c3000000ff"].into());

    // Each time it is removed it is there again, under another name.
    let count = AtomicU64::new(0);
    let again = Odd::new(&memory, move |mount, call| match &call.op {
        Op::Remove { dir, name, .. } if name.as_bytes().starts_with(b".nfs") => {
            let to = crate::remove::name(format!(".nfs{:024x}", count.fetch_add(1, Ordering::Relaxed)));
            do_one(mount, Call::rename(dir, name, dir, &to));
            if let Op::Remove { out, .. } = &mut call.op {
                *out = Ok(());
            }
        }
        _ => pass(mount, call),
    });
    let ran = remove_paths(&again, &["a"], &Options::default(), &crew(2, 2));
    assert_eq!(ran.failures, ["a/b: RMDIR: Directory not empty: some client still has files in it open"]);
    assert!(ran.summary.leftovers.len() > 10 && ran.summary.leftovers.len() <= 100);
}

/// A directory that turns into a link to elsewhere just before it is listed, and one that does just before it goes.
#[test]
fn a_directory_swapped_for_a_link_leads_nowhere() {
    for proc in [Proc::ReadDirPlus, Proc::RmDir, Proc::Remove] {
        let dir = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("precious"), "1").unwrap();
        let local = Arc::new(LocalMount::open_with(dir.path(), 16).unwrap());
        plant(&*local, &["t/", "t/sub/", "t/sub/f"]);
        let (tree, elsewhere, done) = (dir.path().to_owned(), outside.path().to_owned(), AtomicBool::new(false));
        let seen = AtomicU64::new(0);
        let odd = Odd::new(&local, move |mount, call| {
            // The second listing is that of `sub`.
            let lists = call.proc() == proc && (proc != Proc::ReadDirPlus || seen.fetch_add(1, Ordering::Relaxed) == 1);
            if lists && !done.swap(true, Ordering::Relaxed) {
                std::fs::rename(tree.join("t/sub"), tree.join("moved")).unwrap();
                std::os::unix::fs::symlink(&elsewhere, tree.join("t/sub")).unwrap();
            }
            pass(mount, call);
        });
        let ran = remove_paths(&odd, &["t"], &Options::default(), &crew(1, 1));
        assert!(outside.path().join("precious").exists(), "{proc}");
        assert!(dir.path().join("moved").exists(), "{proc}");
        assert!(!dir.path().join("t").exists() && ran.failures.is_empty(), "{proc}: {ran:?}");
    }
}

/// Another program removes the same tree.
#[test]
fn two_removals_of_one_tree_do_not_hurt_each_other() {
    let memory = Arc::new(MemoryMount::new());
    for _ in 0..10 {
        plant_tree(&*memory, "top", 20, 20);
        let runs: Vec<Ran> = std::thread::scope(|scope| {
            let run = || remove_paths(&memory, &["top"], &Options { force: true, ..Options::default() }, &crew(3, 2));
            let both = [scope.spawn(run), scope.spawn(run)];
            both.into_iter().map(|run| run.join().unwrap()).collect()
        });
        assert_eq!(dump(&*memory).len(), 1);
        let sum = |of: fn(&Ran) -> u64| runs.iter().map(of).sum::<u64>();
        assert_eq!((sum(|r| r.summary.files), sum(|r| r.summary.dirs)), (20 * 21, 41));
        assert!(
            runs.iter().all(|ran| ran.failures.is_empty()),
            "{:?}",
            runs.iter().map(|r| &r.failures).collect::<Vec<_>>()
        );
    }
}
