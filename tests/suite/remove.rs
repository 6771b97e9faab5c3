//! Removal of trees: what goes, what stays, what it costs, on memory and on a real directory.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use parfs::base::{Name, PriceList, Proc, Time};
use parfs::crew::Crew;
use parfs::jobs::Live;
use parfs::jobs::remove::{Excluded, Operand, Options, Summary, remove};
use parfs::mounts::{LocalMount, MemoryMount, ShadowMount};
use parfs::storage::{AttrChange, Call, How, Kind, Ledger, Mount, Node, SetTime, Spread, Tally, Tapped, Volume};

use crate::tars::{at, crew, volume};
use crate::tree::{Tree, dump};

const SHAPES: [(usize, usize); 4] = [(1, 1), (1, 4), (4, 1), (8, 4)];

/// What a removal said.
#[derive(Debug)]
pub struct Ran {
    pub summary: Summary,
    pub failures: Vec<String>,
    /// Files, and directories with a slash, in the order they went.
    pub told: Vec<String>,
}

impl Ran {
    /// Panics unless all went well.
    pub fn clean(self) -> Ran {
        assert!(self.failures.is_empty(), "{:?}", self.failures);
        assert_eq!(self.summary.stopped, None);
        self
    }
}

pub fn name(bytes: impl AsRef<[u8]>) -> Name {
    Name::new(bytes.as_ref()).unwrap()
}

/// The names of a path.
pub fn way(path: &str) -> Vec<Name> {
    path.split('/').filter(|part| !part.is_empty()).map(name).collect()
}

pub fn operand(mount: &dyn Mount, path: &str) -> Operand {
    let shown = path.as_bytes().to_vec();
    Operand {
        dir: mount.root(),
        way: way(path),
        shown,
        contents: false,
        fs_root: false,
        dir_fsid: None,
        must_be_dir: false,
    }
}

/// Carries out one call that must succeed.
pub fn do_one(mount: &dyn Mount, call: Call<'_>) -> Option<Node> {
    let makes = !matches!(call.proc(), Proc::Rename | Proc::SetAttr | Proc::Link);
    let mut calls = [call];
    mount.perform(&mut calls);
    assert_eq!(calls[0].status(), Ok(()), "{:?}", calls[0]);
    makes.then(|| calls[0].found().unwrap().node)
}

pub fn find(mount: &dyn Mount, path: &str) -> Node {
    way(path).iter().fold(mount.root(), |dir, name| do_one(mount, Call::lookup(&dir, name)).unwrap())
}

/// Makes objects: `dir/`, `file`, `link -> target`. Directories on the way must be there.
pub fn plant(mount: &dyn Mount, paths: &[&str]) {
    for path in paths {
        let (path, target) = path.split_once(" -> ").map_or((*path, None), |(path, target)| (path, Some(target)));
        let is_dir = path.ends_with('/');
        let (parent, last) = path.trim_end_matches('/').rsplit_once('/').unwrap_or(("", path.trim_end_matches('/')));
        let (dir, last, none) = (find(mount, parent), name(last), AttrChange::default());
        do_one(
            mount,
            match target {
                Some(target) => Call::symlink(&dir, &last, target.as_bytes(), none),
                None if is_dir => Call::mkdir(&dir, &last, none),
                None => Call::create(&dir, &last, How::Guarded, none),
            },
        );
    }
}

/// `top` with `dirs` directories, each with `files` files, a link and an empty directory.
pub fn plant_tree(mount: &dyn Mount, top: &str, dirs: usize, files: usize) {
    plant(mount, &[&format!("{top}/")]);
    for d in 0..dirs {
        let dir = format!("{top}/d{d}");
        plant(mount, &[&format!("{dir}/"), &format!("{dir}/e/"), &format!("{dir}/s -> ../..")]);
        (0..files).for_each(|f| plant(mount, &[&format!("{dir}/f{f}")]));
    }
}

pub fn remove_all(
    volume: &Volume,
    operands: impl Iterator<Item = Result<Operand, String>> + Send,
    options: &Options,
    crew: &Crew,
) -> Ran {
    let told = Mutex::new(Vec::new());
    let tell = |path: &[u8], is_dir: bool| {
        let path = String::from_utf8_lossy(path).into_owned();
        told.lock().unwrap().push(if is_dir { format!("{path}/") } else { path });
    };
    let mut operands = operands;
    let summary = remove(volume, &mut operands, options, crew, &Live::default(), Some(&tell));
    let failures = crew.report().failures().iter().map(ToString::to_string).collect();
    let told = told.into_inner().unwrap();
    let dirs = told.iter().filter(|path| path.ends_with('/')).count() as u64;
    assert_eq!((summary.files + summary.dirs, summary.dirs), (told.len() as u64, dirs), "what is counted is told");
    Ran { summary, failures, told }
}

pub fn remove_paths(mount: &Arc<impl Mount + 'static>, paths: &[&str], options: &Options, crew: &Crew) -> Ran {
    let volume = volume(mount);
    let operands: Vec<_> = paths.iter().map(|path| Ok(operand(&volume, path))).collect();
    remove_all(&volume, operands.into_iter(), options, crew)
}

pub fn paths(tree: &Tree) -> BTreeSet<&str> {
    tree.keys().map(String::as_str).filter(|path| !path.is_empty()).collect()
}

/// Runs `body` on a memory mount, and on an empty local directory.
fn on_both(body: impl Fn(&dyn Fn(&[&str]), &dyn Fn(&[&str], &Options, &Crew) -> Ran, &dyn Fn() -> Tree)) {
    let memory = Arc::new(MemoryMount::new());
    body(&|paths| plant(&*memory, paths), &|paths, o, c| remove_paths(&memory, paths, o, c), &|| dump(&*memory));
    let dir = tempfile::tempdir().unwrap();
    let local = Arc::new(LocalMount::open(dir.path()).unwrap());
    body(&|paths| plant(&*local, paths), &|paths, o, c| remove_paths(&local, paths, o, c), &|| dump(&*local));
}

#[test]
fn trees_files_and_links_go_and_nothing_else() {
    for shape in SHAPES {
        on_both(|plant, remove, dump| {
            plant(&["out/", "out/x", "a/", "a/b/", "a/b/c/", "a/b/c/f", "a/b/g", "a/to -> ../out", "a/up -> ..", "f"]);
            plant(&["s -> out", "h/", "h/keep", "h/go/", "h/go/x", "h/t -> /"]);
            let ran = remove(&["a", "f", "s", "h/go/", "h/t"], &Options::default(), &crew(shape.0, shape.1)).clean();
            assert_eq!(paths(&dump()), ["h", "h/keep", "out", "out/x"].into());
            assert_eq!((ran.summary.files, ran.summary.dirs, ran.summary.kept), (8, 4, 0));
            let told: BTreeSet<&str> = ran.told.iter().map(String::as_str).collect();
            let expected =
                ["a/b/c/f", "a/b/c/", "a/b/g", "a/b/", "a/to", "a/up", "a/", "f", "s", "h/go/x", "h/go//", "h/t"];
            assert_eq!(told, expected.into());
            // From the inside outwards.
            let place = |path: &str| ran.told.iter().position(|told| told == path).unwrap();
            assert!(
                place("a/b/c/f") < place("a/b/c/") && place("a/b/c/") < place("a/b/") && place("a/b/") < place("a/")
            );
        });
    }
}

#[test]
fn what_is_not_there_is_told_unless_forced() {
    on_both(|plant, remove, dump| {
        plant(&["a/", "a/f", "l -> a"]);
        let ways = ["no", "a/no", "no/x", "a/f/x", "a/f/x/y", "l/f"];
        let ran = remove(&ways, &Options::default(), &crew(2, 2));
        let through = "a directory on the way is a symbolic link, which is not followed";
        let mut expected = vec![
            "a/f/x/y: LOOKUP: Not a directory".to_string(),
            "a/no: LOOKUP: No such file or directory".into(),
            format!("l/f: {through}"),
            "no/x: LOOKUP: No such file or directory".into(),
            "no: LOOKUP: No such file or directory".into(),
        ];
        expected.insert(0, "a/f/x: LOOKUP: Not a directory".into());
        let told: BTreeSet<String> = ran.failures.into_iter().collect();
        assert_eq!(told, expected.into_iter().collect());
        let forced = remove(&ways, &Options { force: true, ..Options::default() }, &crew(2, 2));
        assert_eq!(forced.failures, [format!("l/f: {through}")]);
        assert_eq!(paths(&dump()), ["a", "a/f", "l"].into());
    });
}

#[test]
fn contents_go_and_the_directory_stays() {
    on_both(|plant, remove_these, dump| {
        plant(&["a/", "a/b/", "a/b/c", "a/f", "l -> a", "f"]);
        let empty = Options { empty_only: true, ..Options::default() };
        let ran = remove_these(&["a", "f", "l"], &empty, &crew(2, 2));
        assert_eq!(ran.failures, ["a: RMDIR: Directory not empty"]);
        assert_eq!(paths(&dump()), ["a", "a/b", "a/b/c", "a/f"].into());
        plant(&["f", "l -> a"]);
    });
    let memory = Arc::new(MemoryMount::new());
    plant(&*memory, &["a/", "a/b/", "a/b/c", "a/f", "l -> a", "f"]);
    let volume = volume(&memory);
    let contents = |path: &str| Ok(Operand { contents: true, ..operand(&volume, path) });
    let operands = [contents("a"), contents("l"), contents("f")];
    let ran = remove_all(&volume, operands.into_iter(), &Options::default(), &crew(2, 2));
    assert_eq!(ran.failures, ["f: READDIRPLUS: Not a directory", "l: READDIRPLUS: Not a directory"]);
    assert_eq!(paths(&dump(&*memory)), ["a", "f", "l"].into());
    // The root itself, by an empty way: only its contents, whatever was asked.
    let root = Operand { way: vec![], shown: b"/".to_vec(), fs_root: true, ..operand(&*memory, "/") };
    let ran = remove_all(&volume, [Ok(root)].into_iter(), &Options::default(), &crew(2, 2)).clean();
    assert_eq!(dump(&*memory).len(), 1);
    assert_eq!(ran.told.iter().map(String::as_str).collect::<BTreeSet<_>>(), ["/a/", "/f", "/l"].into());
}

#[test]
fn what_is_excluded_stays_and_so_does_what_it_is_in() {
    for shape in SHAPES {
        on_both(|plant, remove, dump| {
            plant(&[
                "a/",
                "a/b/",
                "a/b/x.log",
                "a/b/f",
                "a/c/",
                "a/c/f",
                "a/keep/",
                "a/keep/f",
                "b.log",
                "a/c/l.log -> x",
            ]);
            plant(&["z/", "z/keep"]);
            let excluded = Excluded::anywhere(&["*.log", "keep"]).unwrap();
            let ran =
                remove(&["a", "b.log", "z"], &Options { excluded, ..Options::default() }, &crew(shape.0, shape.1));
            let ran = ran.clean();
            let left = ["a", "a/b", "a/b/x.log", "a/c", "a/c/l.log", "a/keep", "a/keep/f", "b.log", "z", "z/keep"];
            assert_eq!(paths(&dump()), left.into());
            assert_eq!((ran.summary.kept, ran.summary.files, ran.summary.dirs), (5, 2, 0));
        });
    }
}

#[test]
fn only_what_is_older_goes() {
    let old = |mount: &dyn Mount, path: &str| {
        let change = AttrChange { mtime: SetTime::At(at(1000)), ..AttrChange::default() };
        do_one(mount, Call::set_attr(&find(mount, path), change));
    };
    let options = Options { older_than: Some(at(2000)), ..Options::default() };
    let dir = tempfile::tempdir().unwrap();
    let local = Arc::new(LocalMount::open(dir.path()).unwrap());
    let memory = Arc::new(MemoryMount::new());
    for mount in [memory as Arc<dyn Mount>, local] {
        plant(
            &*mount,
            &["a/", "a/o/", "a/o/f", "a/o/g", "a/p/", "a/p/f", "a/p/new", "a/q/", "a/q/f", "new", "old", "e/"],
        );
        for path in ["a/o/f", "a/o/g", "a/o", "a/p/f", "a/p", "a/q/f", "a", "old", "e"] {
            old(&*mount, path);
        }
        let view = Arc::new(Tapped::new(mount.clone(), vec![]));
        let ran = remove_paths(&view, &["a", "new", "old", "e"], &options, &crew(4, 2)).clean();
        // `a/q` is new itself, and empty now.
        assert_eq!(paths(&dump(&*mount)), ["a", "a/p", "a/p/new", "a/q", "new"].into());
        assert_eq!((ran.summary.kept, ran.summary.files, ran.summary.dirs), (3, 5, 2));
        assert!(Time::now() > at(2000));
    }
}

#[test]
fn names_of_any_bytes_go() {
    let dir = tempfile::tempdir().unwrap();
    let local = Arc::new(LocalMount::open(dir.path()).unwrap());
    let memory = Arc::new(MemoryMount::new());
    for mount in [memory as Arc<dyn Mount>, local] {
        plant(&*mount, &["t/"]);
        let top = find(&*mount, "t");
        for bytes in [&[b'x'; 255][..], b"\xff\xfe", b"a\nb", b"-rf", b" ", b"*", b"\\", b"...", "\u{e9}".as_bytes()] {
            let made = do_one(&*mount, Call::mkdir(&top, &name(bytes), AttrChange::default())).unwrap();
            do_one(&*mount, Call::create(&made, &name(bytes), How::Guarded, AttrChange::default()));
        }
        let view = Arc::new(Tapped::new(mount.clone(), vec![]));
        let ran = remove_paths(&view, &["t"], &Options::default(), &crew(4, 2)).clean();
        assert_eq!((ran.summary.files, ran.summary.dirs), (9, 10));
        assert_eq!(dump(&*mount).len(), 1);
    }
}

/// A local tree that other programs made, deeper than PATH_MAX; and links out of it.
#[test]
fn a_real_tree_deeper_than_a_path_may_be() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("outside"), "precious").unwrap();
    let local = Arc::new(LocalMount::open_with(dir.path(), 16).unwrap());
    let (mut node, none) = (local.root(), AttrChange::default());
    for _ in 0..300 {
        node = do_one(&*local, Call::mkdir(&node, &name("a-name-of-some-length"), none)).unwrap();
        do_one(&*local, Call::symlink(&node, &name("s"), dir.path().join("outside").as_os_str().as_bytes(), none));
    }
    let ran = remove_paths(&local, &["a-name-of-some-length"], &Options::default(), &crew(4, 2)).clean();
    assert_eq!((ran.summary.files, ran.summary.dirs, ran.summary.relisted), (300, 300, 0));
    assert_eq!(std::fs::read(dir.path().join("outside")).unwrap(), b"precious");
    assert!(!Path::exists(&dir.path().join("a-name-of-some-length")));
}

/// What is asked of `mounts` views of the tree that `plant` makes.
fn asked(
    plant: &dyn Fn(&dyn Mount),
    mounts: usize,
    spread: Spread,
    options: &Options,
    shape: (usize, usize),
) -> (Tally, Ran, Arc<MemoryMount>) {
    let memory = Arc::new(MemoryMount::new());
    plant(&*memory);
    let ledgers: Vec<Arc<Ledger>> = (0..mounts).map(|_| Arc::default()).collect();
    let seats = ledgers.iter().map(|l| Arc::new(Tapped::new(memory.clone(), vec![l.clone()])) as Arc<dyn Mount>);
    let volume = Volume::new(seats.collect(), spread);
    let operands = [Ok(operand(&volume, "top"))];
    let ran = remove_all(&volume, operands.into_iter(), options, &crew(shape.0, shape.1));
    (ledgers.iter().map(|l| l.tally()).sum(), ran, memory)
}

#[test]
fn law_1_asked_does_not_depend_on_lanes_window_or_spread() {
    let excluded = Excluded::anywhere(&["f1*", "d3"]).unwrap();
    let all = Options::default();
    let some = Options { excluded, ..Options::default() };
    let old = Options { older_than: Some(at(5)), one_file_system: true, ..Options::default() };
    let wide = |mount: &dyn Mount| plant_tree(mount, "top", 3, 800);
    let broad = |mount: &dyn Mount| plant_tree(mount, "top", 40, 7);
    for (what, plant) in [("wide", &wide as &dyn Fn(&dyn Mount)), ("broad", &broad)] {
        for options in [&all, &some, &old] {
            let (serial, ran, memory) = asked(plant, 1, Spread::First, options, (1, 1));
            ran.clean();
            let expected = dump(&*memory).into_keys().collect::<Vec<_>>();
            for shape in SHAPES {
                for (mounts, spread) in [(1, Spread::First), (3, Spread::RoundRobin), (4, Spread::LeastLoaded)] {
                    let (tally, ran, memory) = asked(plant, mounts, spread, options, shape);
                    ran.clean();
                    assert_eq!(tally, serial, "{what} {shape:?} {spread:?} {options:?}");
                    assert_eq!(dump(&*memory).into_keys().collect::<Vec<_>>(), expected);
                }
            }
        }
    }
}

/// n REMOVE, d RMDIR, a LOOKUP for the operand, and the pages.
#[test]
fn removal_costs_what_it_must() {
    let flat = |mount: &dyn Mount| {
        plant(mount, &["top/"]);
        let top = find(mount, "top");
        (0..5000).for_each(|i| {
            do_one(mount, Call::create(&top, &name(format!("{i:08}")), How::Guarded, AttrChange::default()));
        });
    };
    let broad = |mount: &dyn Mount| plant_tree(mount, "top", 50, 99);
    // An entry of READDIRPLUS with a name of 8 bytes takes 196 bytes, a page 104 besides.
    let pages = 5000u64.div_ceil(((64 << 10) - 104) / 196);
    for (plant, files, dirs, pages) in [(&flat as &dyn Fn(&dyn Mount), 5000, 1, pages), (&broad, 5000, 101, 101)] {
        let (tally, ran, _) = asked(plant, 2, Spread::RoundRobin, &Options::default(), (8, 4));
        ran.clean();
        let calls = |proc| tally.get(proc).calls;
        assert_eq!((calls(Proc::Remove), calls(Proc::RmDir), calls(Proc::Lookup)), (files, dirs, 1));
        assert_eq!(calls(Proc::ReadDirPlus), pages);
        assert_eq!(tally.calls(), files + dirs + 1 + pages);
        let price = tally.price(&PriceList::oci());
        assert_eq!(price, 8 * files + 4 * dirs + 2 + 4 * pages);
        assert!(price * 10 <= 82 * files, "{price}");
    }
}

/// One LOOKUP for each operand, and of each 128 of them one for each directory that they are in.
#[test]
fn operands_by_the_ten_thousand() {
    let memory = Arc::new(MemoryMount::new());
    plant(&*memory, &["p/", "p/a/", "p/b/", "stay"]);
    for dir in ["p/a", "p/b"] {
        let node = find(&*memory, dir);
        for i in 0..5000 {
            do_one(&*memory, Call::create(&node, &name(i.to_string()), How::Guarded, AttrChange::default()));
        }
    }
    let ledger = Arc::new(Ledger::default());
    let view = Arc::new(Tapped::new(memory.clone(), vec![ledger.clone()]));
    let volume = volume(&view);
    let list = (0..5000).flat_map(|i| ["a", "b"].map(|dir| Ok(operand(&volume, &format!("p/{dir}/{i}")))));
    let ran = remove_all(&volume, list, &Options::default(), &crew(4, 4)).clean();
    assert_eq!(ran.summary.files, 10_000);
    assert_eq!(paths(&dump(&*memory)), ["p", "p/a", "p/b", "stay"].into());
    let calls = |proc| ledger.tally().get(proc).calls;
    let ways = 3 * 10_000_u64.div_ceil(128);
    assert_eq!((calls(Proc::Remove), calls(Proc::Lookup)), (10_000, 10_000 + ways));
    assert_eq!(ledger.tally().calls(), 20_000 + ways);
}

/// A list comes slowly: what has a directory's name by then is gone through, and not what had it.
#[test]
fn what_a_list_names_is_what_has_that_name() {
    let memory = Arc::new(MemoryMount::new());
    plant(&*memory, &["p/", "p/a/", "safe/"]);
    (0..256).for_each(|i| plant(&*memory, &[&format!("p/a/{i}")]));
    let volume = volume(&memory);
    let list = (0..256).map(|i| {
        if i == 128 {
            do_one(&*memory, Call::rename(&find(&*memory, "p"), &name("a"), &find(&*memory, "safe"), &name("a")));
            plant(&*memory, &["p/a/"]);
            (128..300).for_each(|i| plant(&*memory, &[&format!("p/a/{i}")]));
        }
        Ok(operand(&volume, &format!("p/a/{i}")))
    });
    remove_all(&volume, list, &Options::default(), &crew(4, 4)).clean();
    let left = dump(&*memory);
    let within = |dir: &str| left.keys().filter(|path| path.starts_with(dir)).count();
    assert_eq!((within("safe/a/"), within("p/a/")), (128, 44), "{:?}", paths(&left));
}

#[test]
fn a_list_of_operands_that_breaks_off_is_told() {
    let memory = Arc::new(MemoryMount::new());
    plant(&*memory, &["a", "b", "c"]);
    let volume = volume(&memory);
    let list = [Ok(operand(&volume, "a")), Err("disk on fire".into()), Ok(operand(&volume, "c"))];
    let ran = remove_all(&volume, list.into_iter(), &Options::default(), &crew(2, 2));
    assert_eq!(ran.failures, ["the list of operands: disk on fire"]);
    assert!(ran.summary.warnings.is_empty(), "it is told once");
    assert_eq!(paths(&dump(&*memory)), ["b", "c"].into());
}

#[test]
fn kinds_of_all_sorts_go() {
    let memory = Arc::new(MemoryMount::new());
    let none = AttrChange::default();
    plant(&*memory, &["a/", "a/f"]);
    let top = find(&*memory, "a");
    for (i, special) in
        [parfs::storage::Special::Fifo, parfs::storage::Special::Socket, parfs::storage::Special::Block(1, 2)]
            .into_iter()
            .enumerate()
    {
        do_one(&*memory, Call::mknod(&top, &name(format!("n{i}")), special, none));
    }
    do_one(&*memory, Call::link(&find(&*memory, "a/f"), &memory.root(), &name("other")));
    let ran = remove_paths(&memory, &["a"], &Options::default(), &crew(2, 2)).clean();
    assert_eq!((ran.summary.files, ran.summary.dirs), (4, 1));
    let tree = dump(&*memory);
    assert_eq!((paths(&tree), tree["other"].kind, tree["other"].nlink), (["other"].into(), Kind::File, 1));
}

/// Law 2: a dry run asks what the run asks, tells what the run tells, and changes nothing. Only where something is kept may
/// the run list less: its second listing of a directory is of what is left, the dry run's of what was there.
#[test]
fn a_dry_run_is_the_same_job() {
    let excluded = Excluded::anywhere(&["f1*"]).unwrap();
    for (options, kept) in [(Options::default(), 0), (Options { excluded, ..Options::default() }, 5 * 1111)] {
        let memory = Arc::new(MemoryMount::new());
        plant_tree(&*memory, "top", 5, 2500);
        let before = dump(&*memory);
        let run = |mount: Arc<dyn Mount>| {
            let ledger = Arc::new(Ledger::default());
            let tapped = Arc::new(Tapped::new(mount, vec![ledger.clone()]));
            let mut ran = remove_paths(&tapped, &["top"], &options, &crew(4, 2)).clean();
            ran.told.sort_unstable();
            assert_eq!(ran.summary.kept, kept);
            (ledger.tally(), ran.told)
        };
        let dry = run(Arc::new(ShadowMount::new(memory.clone())));
        assert!(dump(&*memory) == before);
        let wet = run(memory.clone());
        assert!(wet.1 == dry.1, "what is told differs");
        let checks = |tally: &Tally| tally.get(Proc::ReadDir).calls;
        assert_eq!((checks(&wet.0), checks(&dry.0)), if kept == 0 { (0, 0) } else { (5, 10) });
        assert_eq!(wet.0.calls() - checks(&wet.0), dry.0.calls() - checks(&dry.0));
    }
}
