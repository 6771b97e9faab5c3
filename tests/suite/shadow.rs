//! A shadow changes nothing, answers as the real mount would, and asks what the real one would be asked.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parfs::base::price::Ceiling;
use parfs::base::{Proc, Status, Time};
use parfs::jobs::Live;
use parfs::jobs::extract::{Existing, Options};
use parfs::jobs::remove;
use parfs::mounts::nfs::{Url, Usage, attach};
use parfs::mounts::{LocalMount, MemoryMount, ShadowMount, Shadows};
use parfs::sim::{Config, Server};
use parfs::storage::{
    AttrChange, Call, Cookie, How, Kind, Ledger, Limits, Mount, Node, Op, SetTime, Special, Spread, Stable, Tally,
    Tapped, Volume, Want, Was,
};

use crate::ask::{Ask, mode, name, size};
use crate::nasty::Nasty;
use crate::remove_odd::{Odd, pass};
use crate::tars::{Ran, Tar, crew, extract, pipe};
use crate::tree::{assert_same, dump, node_at};

/// The procedures that change something.
const CHANGING: [Proc; 14] = [
    Proc::SetAttr,
    Proc::Write,
    Proc::Create,
    Proc::MkDir,
    Proc::Symlink,
    Proc::MkNod,
    Proc::Remove,
    Proc::RmDir,
    Proc::Rename,
    Proc::Link,
    Proc::Commit,
    Proc::Copy,
    Proc::SetXattr,
    Proc::RemoveXattr,
];

type Real = (&'static str, Arc<dyn Mount>, Option<Box<dyn Any>>);

/// Mounts to cast shadows, each with a small nasty tree.
fn reals() -> Vec<Real> {
    let dir = tempfile::tempdir().unwrap();
    let local = Arc::new(LocalMount::open(dir.path()).unwrap());
    let ceiling = Ceiling { iops: f64::INFINITY, bytes_per_s: f64::INFINITY, latency: Duration::ZERO };
    let config = Config { targets: 2, ceiling, squash: true, ..Config::default() };
    let server = Server::start(Arc::new(MemoryMount::new()), config).unwrap();
    let views =
        attach(&Url::parse(&server.url()).unwrap(), Usage::Writes).unwrap().into_iter().map(|m| m as Arc<dyn Mount>);
    let direct = Arc::new(Volume::new(views.collect(), Spread::RoundRobin));
    let reals: Vec<Real> = vec![
        ("memory", Arc::new(MemoryMount::new()), None),
        ("local", local, Some(Box::new(dir))),
        ("direct", direct, Some(Box::new(server))),
    ];
    for (_, mount, _) in &reals {
        Nasty { sparse_bytes: 5 << 20, ..Nasty::SMALL }.allowed().build(&**mount);
    }
    reals
}

fn each(promise: impl Fn(&Arc<dyn Mount>, &ShadowMount)) {
    for (name, real, _guard) in reals() {
        println!("{name}"); // shown when a promise fails
        promise(&real, &ShadowMount::new(real.clone()));
    }
}

/// Every changing procedure on what is there and on what is not.
fn change_everything(mount: &dyn Mount) {
    let root = mount.root();
    let sizes = node_at(mount, &["sizes"]);
    let made = mount.dir(&root, "made");
    let at = Time { secs: 1, nanos: 2 };
    let all = AttrChange {
        mode: Some(0o777),
        uid: Some(4),
        gid: Some(5),
        size: None,
        atime: SetTime::At(at),
        mtime: SetTime::At(at),
        masked: None,
    };
    for (dir, old) in [(&sizes, Some("4096")), (&made, None)] {
        let file = match old {
            Some(old) => mount.lookup(dir, old).unwrap().node,
            None => mount.file(dir, "of ours", b"data"),
        };
        mount.set_attr(&file, all).unwrap();
        mount.set_attr(&file, size(3)).unwrap();
        mount.set_attr(dir, all).unwrap();
        mount.write(&file, 1 << 20, &[1; 100], Stable::Unstable).unwrap();
        mount.write(&file, 0, &[1; 100], Stable::FileSync).unwrap();
        mount.commit(&file).unwrap();
        for how in [How::Guarded, How::Unchecked, How::Exclusive(3)] {
            mount.create(dir, format!("{how:?}"), how, mode(0o600)).unwrap();
        }
        mount.symlink(dir, "symlink", b"x").unwrap();
        mount.mknod(dir, "fifo", Special::Fifo, mode(0o600)).unwrap();
        mount.dir(dir, "sub");
        mount.link(&file, dir, "linked").unwrap();
        mount.link(&file, &root, format!("linked {old:?}")).unwrap();
        mount.rename(dir, "symlink", &root, format!("renamed {old:?}")).unwrap();
        mount.rename(dir, old.unwrap_or("of ours"), dir, "sub of another name").unwrap();
        mount.remove(dir, "fifo").unwrap();
        mount.rmdir(dir, "sub").unwrap();
        let value = [Call::set_xattr(&file, b"user.x", b"1"), Call::remove_xattr(&file, b"user.x")];
        for call in value {
            mount.perform(&mut [call]);
        }
    }
    mount.create(&sizes, "1048576", How::Unchecked, size(0)).unwrap();
    mount.remove(&sizes, "1").unwrap();
    mount.rename(&sizes, "65536", &sizes, "65537").unwrap();
    mount.rmdir(&sizes, "empty directory").unwrap();
    mount.rename(&root, "deep", &made, "deep").unwrap();
}

#[test]
fn nothing_is_changed() {
    each(|real, shadow| {
        let (before, attr) = (dump(&**real), real.get_attr(&real.root()).unwrap());
        let asked = real.issued().unwrap();
        change_everything(shadow);
        let asked = real.issued().unwrap() - asked;
        for proc in CHANGING {
            assert_eq!(asked.get(proc).calls, 0, "{proc}");
        }
        assert_same(&before, &dump(&**real), "after all changes");
        assert_eq!(real.get_attr(&real.root()).unwrap().ctime, attr.ctime);
        let issued = shadow.issued().unwrap();
        // What a mount refuses without asking anybody is not issued.
        for proc in CHANGING.into_iter().filter(|proc| proc.is_nfs3()) {
            assert!(issued.get(proc).calls > 0, "{proc} was not tried");
        }
    });
}

#[test]
fn what_is_there_is_seen_as_it_is() {
    each(|real, shadow| {
        // But for CLEAR and COPY_FILES, which meet many files at once; and not all that is made is remembered.
        let mut limits = real.limits();
        (limits.extras.bulk, limits.extras.clears, limits.extras.forgets) = (false, false, true);
        assert_eq!((shadow.limits(), shadow.label()), (limits, real.label()));
        let (mut is, want) = (dump(shadow), dump(&**real));
        assert!(is.values().any(|object| object.kind == Kind::File && object.hash != want[""].hash));
        for (path, object) in &mut is {
            object.hash = want[path].hash; // data is not read
        }
        assert_same(&want, &is, "but for data");
        let reading = ShadowMount::new(real.clone()).reading();
        assert_same(&want, &dump(&reading), "with data");
    });
}

#[test]
fn read_tells_sizes_and_reads_nothing() {
    each(|real, shadow| {
        let file = node_at(shadow, &["sizes", "65537"]);
        let before = real.issued().unwrap().get(Proc::Read);
        let (bytes, end) = shadow.read(&file, 0, 65_536).unwrap();
        assert!(bytes.len() == 65_536 && bytes.iter().all(|&b| b != 0) && !end);
        assert_eq!(shadow.read(&file, 65_536, 100).unwrap(), (bytes[..1].to_vec(), true));
        assert_eq!(shadow.read(&file, 65_537, 100).unwrap(), (vec![], true));
        assert_eq!(shadow.read(&file, u64::MAX, u32::MAX).unwrap(), (vec![], true));
        assert_eq!(shadow.content(&file).unwrap().len(), 65_537);
        let empty = node_at(shadow, &["sizes", "0"]);
        assert_eq!(shadow.read(&empty, 0, 10).unwrap(), (vec![], true));
        assert_eq!(shadow.read(&shadow.root(), 0, 1).unwrap_err(), Status::IsDir);
        let link = node_at(shadow, &["kinds", "symlink0"]);
        assert_eq!(shadow.read(&link, 0, 1).unwrap_err(), Status::Inval);
        let read = real.issued().unwrap().get(Proc::Read);
        assert!(read.calls - before.calls <= 2, "one READ of nothing and one beyond the end tell of attributes");
        assert!(read.bytes - before.bytes <= 1, "no data was asked for");
        // The size is what a change would have made it.
        shadow.set_attr(&file, size(10)).unwrap();
        assert_eq!(shadow.content(&file).unwrap().len(), 10);
        shadow.write(&file, 20, &[1; 5], Stable::FileSync).unwrap();
        assert_eq!(shadow.content(&file).unwrap().len(), 25);
        shadow.create(&node_at(shadow, &["sizes"]), "65537", How::Unchecked, size(0)).unwrap();
        assert_eq!(shadow.content(&file).unwrap().len(), 0);
    });
}

#[test]
fn names_are_taken_and_given_up_as_on_the_real_mount() {
    each(|_, shadow| {
        let (root, none) = (shadow.root(), AttrChange::default());
        for at in ["sizes", "new"] {
            let first = shadow.mkdir(&root, at, none);
            assert_eq!(first.err(), (at == "sizes").then_some(Status::Exist));
            assert_eq!(shadow.mkdir(&root, at, none).unwrap_err(), Status::Exist);
            assert_eq!(shadow.create(&root, at, How::Guarded, none).unwrap_err(), Status::Exist);
            assert_eq!(shadow.create(&root, at, How::Unchecked, none).unwrap_err(), Status::Exist);
            assert_eq!(shadow.symlink(&root, at, b"x").unwrap_err(), Status::Exist);
            assert_eq!(shadow.remove(&root, at), Err(Status::IsDir));
            let dir = shadow.lookup(&root, at).unwrap().node;
            assert_eq!(shadow.link(&dir, &root, "dirlink").unwrap_err(), Status::IsDir);
            assert_eq!(shadow.create(&dir, "4096", How::Guarded, none).is_err(), at == "sizes");
            assert_eq!(shadow.create(&dir, "4096", How::Guarded, none).unwrap_err(), Status::Exist);
            let file = shadow.create(&dir, "4096", How::Unchecked, size(7)).unwrap();
            assert_eq!(file.attr.unwrap().size, 7);
            assert_eq!(shadow.rmdir(&dir, "4096"), Err(Status::NotDir));
            assert_eq!(shadow.remove(&dir, "4096"), Ok(()));
            assert_eq!(shadow.remove(&dir, "4096"), Err(Status::NoEnt));
            assert_eq!(shadow.lookup(&dir, "4096").unwrap_err(), Status::NoEnt);
            let again = shadow.create(&dir, "4096", How::Guarded, mode(0o640)).unwrap();
            let seen = shadow.lookup(&dir, "4096").unwrap();
            assert_eq!((seen.node.clone(), seen.attr.unwrap().mode), (again.node, 0o640));
            assert_eq!(shadow.rmdir(&root, at), Err(Status::NotEmpty));
            assert_eq!(shadow.rename(&dir, "4096", &root, format!("moved {at}")), Ok(()));
            assert_eq!(shadow.rename(&dir, "4096", &root, "moved again"), Err(Status::NoEnt));
            assert_eq!(shadow.lookup(&root, format!("moved {at}")).unwrap().node, seen.node);
            assert_eq!(shadow.rmdir(&root, at), Ok(()));
            assert_eq!(shadow.rmdir(&root, at), Err(Status::NoEnt));
            assert!(shadow.mkdir(&root, at, none).is_ok());
        }
        assert_eq!(shadow.rename(&root, "nothing", &root, "x"), Err(Status::NoEnt));
        assert_eq!(shadow.rmdir(&root, "nothing"), Err(Status::NoEnt));
        assert_eq!(shadow.rmdir(&root, "names"), Err(Status::NotEmpty));
        assert_eq!(shadow.lookup(&root, "nothing").unwrap_err(), Status::NoEnt);
    });
}

#[test]
fn a_directory_that_was_listed_and_emptied_is_not_asked_for() {
    each(|real, shadow| {
        let root = shadow.root();
        let listed = shadow.read_dir(&root, Cookie::default(), Want::Types, 1 << 16).unwrap();
        assert!(listed.end);
        let sizes = node_at(shadow, &["sizes"]);
        shadow.remove(&sizes, "1").unwrap();
        let before = real.issued().unwrap();
        assert_eq!(shadow.rmdir(&root, "sizes"), Ok(()));
        assert_eq!((real.issued().unwrap() - before).calls(), 0);
        assert_eq!(shadow.rmdir(&root, "names"), Err(Status::NotEmpty), "nothing was removed from it");
    });
}

#[test]
fn where_nothing_is_forecast_a_file_is_lent_without_being_opened() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "12345").unwrap();
    let real: Arc<dyn Mount> = Arc::new(LocalMount::open(dir.path()).unwrap());
    for opens in [true, false] {
        let shadow = ShadowMount::new(real.clone());
        let shadow = if opens { shadow } else { shadow.unopened() };
        let found = shadow.lookup(&shadow.root(), "file").unwrap();
        let before = real.issued().unwrap();
        let lent = shadow.lend(&found.node).unwrap();
        assert_eq!((real.issued().unwrap() - before).get(Proc::ListXattrs).calls, u64::from(opens));
        // Who opens a file to copy it knows then what it is, and asks nothing more.
        assert_eq!((lent.attr, (real.issued().unwrap() - before).get(Proc::Lookup).calls), (found.attr, 0));
        let (was, copy) = (Was::from(&found.attr.unwrap()), name("copy"));
        let mut calls = [Call::copy_file(lent, was, true, &shadow.root(), &copy, AttrChange::default())];
        shadow.perform(&mut calls);
        assert_eq!(calls[0].status(), Ok(()));
        assert_eq!(shadow.lookup(&shadow.root(), "copy").unwrap().attr.unwrap().size, 5);
    }
}

#[test]
fn where_nothing_is_forecast_what_was_written_is_read_back() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "12345").unwrap();
    let shadow = ShadowMount::new(Arc::new(LocalMount::open(dir.path()).unwrap())).unopened();
    let file = shadow.lookup(&shadow.root(), "file").unwrap().node;
    shadow.set_attr(&file, AttrChange { size: Some(0), ..AttrChange::default() }).unwrap();
    shadow.write(&file, 0, b"1234567", Stable::FileSync).unwrap();
    assert_eq!(shadow.read(&file, 0, 100).unwrap().0.len(), 7);
    assert_eq!(std::fs::read(dir.path().join("file")).unwrap(), b"12345");
}

#[test]
fn invented_objects_have_the_attributes_they_were_given() {
    each(|_, shadow| {
        let root = shadow.root();
        let at = Time { secs: 5, nanos: 6 };
        let change = AttrChange { mode: Some(0o2750), uid: Some(7), gid: Some(8), mtime: SetTime::At(at), ..mode(0) };
        let dir = shadow.mkdir(&root, "new", AttrChange { mode: Some(0o2750), ..change }).unwrap();
        let attr = shadow.get_attr(&dir.node).unwrap();
        assert_eq!(dir.attr, Some(attr));
        assert_eq!((attr.kind, attr.mode, attr.uid, attr.gid, attr.mtime), (Kind::Dir, 0o2750, 7, 8, at));
        let sub = shadow.mkdir(&dir.node, "sub", mode(0o700)).unwrap().attr.unwrap();
        assert_eq!((sub.mode, sub.gid), (0o2700, 8), "the set-group-id bit goes down");
        let file = shadow.file(&dir.node, "f", b"");
        let written = shadow.write(&file, 10, &vec![1; 3 << 20], Stable::Unstable).unwrap();
        assert_eq!((written.count, written.stable), (shadow.limits().write_max, Stable::Unstable));
        assert_eq!(shadow.commit(&file), Ok(written.verifier));
        assert_eq!(shadow.get_attr(&file).unwrap().size, 10 + u64::from(written.count));
        assert_eq!(shadow.write(&file, u64::MAX, b"x", Stable::FileSync).unwrap_err(), Status::FBig);
        shadow.link(&file, &dir.node, "g").unwrap();
        let other = shadow.lookup(&dir.node, "g").unwrap();
        assert_eq!((other.node.clone(), other.attr.unwrap().nlink), (file.clone(), 2));
        assert_eq!(shadow.access(&file, 0x3f), Ok(0x2d));
        let link = shadow.symlink(&dir.node, "l", b"four").unwrap();
        assert_eq!(shadow.read_link(&link.node).unwrap().len(), 4);
        assert_eq!(shadow.write(&link.node, 0, b"x", Stable::FileSync).unwrap_err(), Status::Inval);
        assert_eq!(shadow.lookup(&file, "x").unwrap_err(), Status::NotDir);
        for want in [Want::Names, Want::Types, Want::Attributes] {
            let page = shadow.read_dir(&dir.node, Cookie::default(), want, 4096).unwrap();
            assert!(page.end && page.entries.is_empty());
        }
        assert_eq!(shadow.read_dir(&file, Cookie::default(), Want::Names, 4096).unwrap_err(), Status::NotDir);
        assert_eq!(shadow.fs_info(&file).map(|limits| limits.write_max), Ok(shadow.limits().write_max));
        assert_eq!(shadow.path_conf(&file), Ok(shadow.limits().name_max));
        assert!(shadow.fs_stat(&file).is_ok());
    });
}

#[test]
fn a_window_of_real_and_invented_calls_gets_all_its_outcomes() {
    each(|_, shadow| {
        let root = shadow.root();
        let names = ["sizes", "a", "none", "names"].map(name);
        let mut calls = [
            Call::lookup(&root, &names[0]),
            Call::mkdir(&root, &names[1], AttrChange::default()),
            Call::lookup(&root, &names[2]),
            Call::mkdir(&root, &names[3], AttrChange::default()),
            Call::default(),
        ];
        shadow.perform(&mut calls);
        let outcomes: Vec<_> = calls.iter().map(Call::status).collect();
        assert_eq!(outcomes, [Ok(()), Ok(()), Err(Status::NoEnt), Err(Status::Exist), Ok(())]);
        let mut expected = Tally::default();
        expected.count(Proc::Lookup, 0, false);
        expected.count(Proc::MkDir, 0, false);
        expected.count(Proc::Lookup, 0, true);
        expected.count(Proc::MkDir, 0, true);
        expected.count(Proc::Null, 0, false);
        assert_eq!(shadow.issued(), Some(expected), "and is counted as asked, not as found out");
        shadow.perform(&mut []);
    });
}

#[test]
fn what_is_made_through_one_mount_of_a_volume_is_there_through_the_others() {
    let memory: Arc<dyn Mount> = Arc::new(MemoryMount::new());
    let views = ShadowMount::all([memory.clone(), memory.clone(), memory]);
    let volume =
        Volume::new(views.into_iter().map(|view| Arc::new(view) as Arc<dyn Mount>).collect(), Spread::RoundRobin);
    let dir = volume.dir(&volume.root(), "d");
    for i in 0..10 {
        let file = volume.file(&dir, format!("{i}"), b"12345");
        assert_eq!(volume.get_attr(&file).unwrap().size, 5);
        assert_eq!(volume.lookup(&dir, format!("{i}")).unwrap().node, file);
    }
}

/// More names than are remembered: memory stays, and the job goes on.
#[test]
fn what_is_forgotten_is_answered_plausibly() {
    let shadow = ShadowMount::new(Arc::new(MemoryMount::new()));
    let dir = shadow.dir(&shadow.root(), "d");
    let first = shadow.file(&dir, "first", b"123");
    let mut node: Option<Node> = None;
    for i in 0..110_000 {
        node = Some(shadow.create(&dir, format!("{i}"), How::Guarded, AttrChange::default()).unwrap().node);
    }
    assert_eq!(shadow.lookup(&dir, "109999").unwrap().node, node.unwrap());
    assert_eq!(shadow.get_attr(&first).unwrap().kind, Kind::File);
    assert!(shadow.write(&first, 0, b"x", Stable::FileSync).is_ok());
    assert_eq!(shadow.lookup(&dir, "first").unwrap().attr.unwrap().kind, Kind::File);
    assert_eq!(shadow.get_attr(&dir).unwrap().kind, Kind::Dir);
    assert_eq!(shadow.remove(&dir, "first"), Ok(()));
    assert_eq!(shadow.remove(&dir, "first"), Err(Status::NoEnt));
}

fn archive() -> Tar {
    let tar = Tar::default().dir("top/").file("top/f1", "one").file("top/f2", vec![2; 70_000]).file("top/f3", "");
    let tar = tar.dir_mode("top/sub/", 0o700).file("top/sub/g1", "g").symlink("top/sub/s1", "g1").special("p1", b'6');
    let tar = tar.file("big", vec![5; 5 << 20]).file("imp/i1", "i").link("top/h1", "top/f1").dir("top/sub/last/");
    let tar = tar.dir_mode("sgid/", 0o2755).dir("sgid/d/").file("top/f1", "again").link("h2", "big");
    // Directories that are not empty any more cannot make way.
    let tar = tar.dir("full/").file("full/f", "f").symlink("full", "big").file("imp", "i");
    // Nor has a directory other names.
    tar.link("none", "sgid/d")
}

/// Extracts; what was asked of the volume.
fn asked(mount: Arc<dyn Mount>, options: &Options, shape: (usize, usize)) -> (Tally, Ran) {
    let ledger = Arc::new(Ledger::default());
    let seat: Arc<dyn Mount> = Arc::new(Tapped::new(mount, vec![ledger.clone()]));
    let ran =
        extract(&Volume::new(vec![seat], Spread::First), pipe(archive().bytes()), options, &crew(shape.0, shape.1));
    (ledger.tally(), ran)
}

#[test]
fn law_2_an_extraction_asks_of_a_shadow_what_it_asks_of_the_real_mount() {
    for existing in [Existing::Replace, Existing::UnlinkFirst, Existing::Skip, Existing::Overwrite, Existing::Keep] {
        let options = Options { existing, range_bytes: 2 << 20, ..Options::default() };
        for shape in [(1, 1), (8, 4)] {
            for rounds in 0..2 {
                let dir = tempfile::tempdir().unwrap();
                let local = || Arc::new(LocalMount::open(dir.path()).unwrap());
                let reals: [Arc<dyn Mount>; 2] = [Arc::new(MemoryMount::new()), local()];
                for real in reals {
                    // The second round goes over what the first has left.
                    for _ in 0..rounds {
                        asked(real.clone(), &options, (4, 4));
                    }
                    let shadow = Arc::new(ShadowMount::new(real.clone()));
                    let (planned, plan) = asked(shadow.clone(), &options, shape);
                    let before = real.issued().unwrap();
                    let (made, ran) = asked(real.clone(), &options, shape);
                    let context = format!("{} {existing:?} {shape:?} round {rounds}", real.label());
                    assert_eq!(planned, made, "{context}");
                    assert_eq!(shadow.issued(), Some(real.issued().unwrap() - before), "{context}");
                    assert_eq!(plan.failures, ran.failures, "{context}");
                }
            }
        }
    }
}

/// Removes the contents of the root; what was asked, and what went.
fn removal(mount: Arc<dyn Mount>, shape: (usize, usize)) -> (Tally, u64, u64) {
    removal_by(mount, shape, &remove::Options::default())
}

fn removal_by(mount: Arc<dyn Mount>, shape: (usize, usize), options: &remove::Options) -> (Tally, u64, u64) {
    let ledger = Arc::new(Ledger::default());
    let seat: Arc<dyn Mount> = Arc::new(Tapped::new(mount, vec![ledger.clone()]));
    let volume = Volume::new(vec![seat], Spread::First);
    let (dir, shown) = (volume.root(), b"all".to_vec());
    let all = remove::Operand {
        dir,
        way: Vec::new(),
        shown,
        contents: true,
        fs_root: false,
        dir_fsid: None,
        must_be_dir: false,
    };
    let crew = crew(shape.0, shape.1);
    let summary = remove::remove(&volume, &mut std::iter::once(Ok(all)), options, &crew, &Live::default(), None);
    assert_eq!(crew.report().failures(), []);
    (ledger.tally(), summary.files, summary.dirs)
}

#[test]
fn law_2_a_removal_asks_of_a_shadow_what_it_asks_of_the_real_mount() {
    each(|real, _| {
        let before = dump(&**real);
        let planned = [(1, 1), (8, 4)].map(|shape| removal(Arc::new(ShadowMount::new(real.clone())), shape));
        assert_eq!(planned[0], planned[1], "law 1 on a shadow");
        assert_same(&before, &dump(&**real), "after a dry run");
        assert_eq!(planned[0].1 + planned[0].2 + 1, before.len() as u64, "all but the root");
        assert_eq!(removal(real.clone(), (4, 4)), planned[0]);
        assert_eq!(dump(&**real).len(), 1);
    });
}

/// Directories that stay are listed again, to be sure; what is forgotten of their removed names is not removed anew.
#[test]
fn more_names_than_are_remembered_are_removed_once() {
    let memory = Arc::new(MemoryMount::new());
    let keep = memory.root();
    for d in 0..7 {
        let dir = memory.dir(&keep, format!("d{d}"));
        for i in 0..16_000 {
            memory.create(&dir, format!("{i}"), How::Guarded, AttrChange::default()).unwrap();
        }
        memory.create(&dir, "keep", How::Guarded, AttrChange::default()).unwrap();
    }
    for lanes in [1, 6] {
        // As parrm has it, whose volumes know of each other.
        let shadow = ShadowMount::beside(&Shadows::new(), [memory.clone() as Arc<dyn Mount>]).remove(0);
        let excluded = remove::Excluded::anywhere(&["keep"]).unwrap();
        let options = remove::Options { rehearsal: true, excluded, ..remove::Options::default() };
        let (asked, files, dirs) = removal_by(Arc::new(shadow), (lanes, 4), &options);
        assert_eq!((asked.get(Proc::Remove).calls, files, dirs), (112_000, 112_000, 0), "{lanes}");
    }
}

/// A mount of user 1000.
struct His(Arc<Odd>);

impl Mount for His {
    fn root(&self) -> Node {
        self.0.root()
    }
    fn limits(&self) -> Limits {
        self.0.limits()
    }
    fn perform(&self, calls: &mut [Call<'_>]) {
        self.0.perform(calls);
    }
    fn makes_as(&self) -> Option<(u32, u32)> {
        Some((1000, 1000))
    }
    fn issued(&self) -> Option<Tally> {
        None
    }
    fn label(&self) -> String {
        "his".into()
    }
}

/// A directory's owner opens it before he looks in; a shadow opens nothing.
#[test]
fn what_is_in_a_directory_that_the_job_opens_is_taken_for_nothing() {
    let memory = Arc::new(MemoryMount::new());
    let closed = memory.dir(&memory.root(), "d");
    memory.file(&closed, "f", b"data");
    memory.set_attr(&closed, mode(0o444)).unwrap();
    let key = closed.clone();
    let odd = Odd::new(&memory, move |mount, call| {
        match &call.op {
            Op::Lookup { dir, .. } | Op::ReadDir { dir, .. } if *dir == key => call.fail(Status::Access),
            _ => pass(mount, call),
        };
    });
    let unseen = Arc::new(AtomicU64::new(0));
    let odd = Arc::new(His(odd));
    let shadow = ShadowMount::new(odd.clone()).telling(unseen.clone());
    // Nobody else can open it.
    memory.set_attr(&closed, AttrChange { uid: Some(7), ..AttrChange::default() }).unwrap();
    shadow.set_attr(&closed, mode(0o744)).unwrap();
    assert_eq!(shadow.lookup(&closed, "f").unwrap_err(), Status::Access);
    assert_eq!(unseen.load(Ordering::Relaxed), 0);
    memory.set_attr(&closed, AttrChange { uid: Some(1000), ..AttrChange::default() }).unwrap();
    let shadow = ShadowMount::new(odd).telling(unseen.clone());
    let list = || shadow.read_dir(&closed, Cookie::default(), Want::Attributes, 4096);
    assert_eq!(shadow.lookup(&closed, "f").unwrap_err(), Status::Access);
    assert_eq!(list().unwrap_err(), Status::Access);
    shadow.set_attr(&closed, mode(0o744)).unwrap();
    assert_eq!(shadow.get_attr(&closed).unwrap().mode, 0o744);
    assert_eq!(shadow.lookup(&shadow.root(), "d").unwrap().attr.unwrap().mode, 0o744);
    assert_eq!(shadow.lookup(&closed, "f").unwrap_err(), Status::NoEnt);
    let page = list().unwrap();
    assert!(page.entries.is_empty() && page.end);
    shadow.create(&closed, "g", How::Guarded, AttrChange::default()).unwrap();
    shadow.set_attr(&closed, mode(0o500)).unwrap();
    assert_eq!(shadow.get_attr(&closed).unwrap().mode, 0o500);
    assert_eq!(unseen.load(Ordering::Relaxed), 1);
    assert_eq!(memory.get_attr(&closed).unwrap().mode, 0o444);
}

#[test]
fn what_is_made_without_a_group_has_that_of_a_set_group_id_directory() {
    for (bits, later) in [(0o2755, None), (0o755, None), (0o2755, Some(0o755)), (0o755, Some(0o2755))] {
        let real = Arc::new(MemoryMount::new());
        let dir = real.dir(&real.root(), "d");
        let change = |bits, gid| AttrChange { gid, ..mode(bits) };
        real.set_attr(&dir, change(bits, Some(7))).unwrap();
        let shadow = ShadowMount::new(real.clone());
        let group = |mount: &dyn Mount, at: &str, gid| {
            mount.create(&dir, at, How::Guarded, change(0o644, gid)).unwrap().attr.unwrap().gid
        };
        let groups = |mount: &dyn Mount| {
            let first = group(mount, "a", None);
            if let Some(bits) = later {
                mount.set_attr(&dir, change(bits, None)).unwrap();
            }
            let second = group(mount, "b", None);
            mount.set_attr(&dir, AttrChange { gid: Some(8), ..AttrChange::default() }).unwrap();
            [first, second, group(mount, "c", Some(9)), group(mount, "d", None)]
        };
        assert_eq!(groups(&shadow), groups(&*real), "{bits:o} {later:?}");
    }
}
