//! Hostile trees and the cache of descriptors: what only a local mount can be asked.

use std::os::unix::fs::symlink;

use super::*;
use crate::base::Name;
use crate::storage::{AttrChange, Call, Cookie, How, Sought, Stable, Want};

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).unwrap()
}

/// CREATE of `at` with this mode; whether it says that it may have been carried out before; its node.
fn make(mount: &LocalMount, dir: &Node, at: &str, mode: u32) -> (Out<Node>, bool) {
    let change = AttrChange { mode: Some(mode), ..AttrChange::default() };
    let call = one(mount, Call::create(dir, &name(at), How::Guarded, change));
    (call.found().map(|found| found.node), call.repeated)
}

fn one<'a>(mount: &LocalMount, call: Call<'a>) -> Call<'a> {
    let mut calls = [call];
    mount.perform(&mut calls);
    let [call] = calls;
    call
}

fn mkdir(mount: &LocalMount, dir: &Node, at: &str) -> Node {
    one(mount, Call::mkdir(dir, &name(at), AttrChange::default())).found().unwrap().node
}

fn create(mount: &LocalMount, dir: &Node, at: &str) -> Out<Node> {
    one(mount, Call::create(dir, &name(at), How::Guarded, AttrChange::default())).found().map(|found| found.node)
}

fn write(mount: &LocalMount, node: &Node, data: &[u8], stable: Stable) -> Result<(), Status> {
    one(mount, Call::write(node, 0, data, stable)).status()
}

#[test]
fn a_symlink_in_the_middle_is_not_followed() {
    let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(outside.path().join("f"), "precious").unwrap();
    std::fs::create_dir(outside.path().join("d")).unwrap();
    symlink(outside.path(), inside.path().join("link")).unwrap();
    symlink(outside.path().join("f"), inside.path().join("flink")).unwrap();
    let mount = LocalMount::open(inside.path()).unwrap();
    let root = mount.root();
    let link = one(&mount, Call::lookup(&root, &name("link"))).found().unwrap();
    assert_eq!(link.attr.unwrap().kind, Kind::Symlink);
    let file = one(&mount, Call::lookup(&root, &name("flink"))).found().unwrap().node;
    for (call, status) in [
        (Call::lookup(&link.node, &name("f")), Status::NotDir),
        (Call::create(&link.node, &name("new"), How::Unchecked, AttrChange::default()), Status::NotDir),
        (Call::remove(&link.node, &name("f")), Status::NotDir),
        (Call::rmdir(&link.node, &name("d")), Status::NotDir),
        (Call::rename(&link.node, &name("f"), &root, &name("g")), Status::NotDir),
        (Call::link(&root, &link.node, &name("g")), Status::NotDir),
        (Call::read_dir(&link.node, Default::default(), Want::Names, 4096), Status::NotDir),
        (Call::clear(&link.node, 4096), Status::NotDir),
        (Call::read(&file, 0, 10, Vec::new()), Status::Inval),
        (Call::write(&file, 0, b"gone", Stable::FileSync), Status::Inval),
        (Call::set_attr(&file, AttrChange { size: Some(0), ..Default::default() }), Status::Inval),
        (Call::set_attr(&file, AttrChange { mode: Some(0), ..Default::default() }), Status::NotSupp),
    ] {
        let proc = call.proc();
        assert_eq!(one(&mount, call).status(), Err(status), "{proc}");
    }
    assert_eq!(std::fs::read(outside.path().join("f")).unwrap(), b"precious");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 2);
}

#[test]
fn a_symlink_swapped_in_for_an_evicted_directory_is_not_followed() {
    let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::create_dir(outside.path().join("b")).unwrap();
    let mount = LocalMount::open_with(inside.path(), 1).unwrap();
    let a = mkdir(&mount, &mount.root(), "a");
    let b = mkdir(&mount, &a, "b");
    create(&mount, &b, "before").unwrap();
    let other = mkdir(&mount, &mount.root(), "other");
    create(&mount, &other, "evicts").unwrap();
    std::fs::rename(inside.path().join("a"), inside.path().join("moved")).unwrap();
    symlink(outside.path(), inside.path().join("a")).unwrap();
    assert_eq!(create(&mount, &b, "after").unwrap_err(), Status::NotDir);
    assert_eq!(one(&mount, Call::remove(&b, &name("before"))).status(), Err(Status::NotDir));
    std::fs::write(outside.path().join("b/precious"), "").unwrap();
    assert_eq!(one(&mount, Call::clear(&b, 4096)).status(), Err(Status::NotDir));
    assert_eq!(std::fs::read_dir(outside.path().join("b")).unwrap().count(), 1);
    assert!(inside.path().join("moved/b/before").exists());
}

#[test]
fn trees_deeper_than_any_path_work() {
    let inside = tempfile::tempdir().unwrap();
    let mount = LocalMount::open_with(inside.path(), 8).unwrap();
    // 200 bytes of name: 60 levels are 12,000 bytes of path, three times PATH_MAX.
    let long = "n".repeat(200);
    let mut way = vec![mount.root()];
    for _ in 0..60 {
        way.push(mkdir(&mount, way.last().unwrap(), &long));
    }
    let file = create(&mount, &way[60], "leaf").unwrap();
    write(&mount, &file, b"deep", Stable::FileSync).unwrap();
    drop(mount);
    let mount = LocalMount::open_with(inside.path(), 8).unwrap();
    let mut at = vec![mount.root()];
    for _ in 0..60 {
        at.push(one(&mount, Call::lookup(at.last().unwrap(), &name(&long))).found().unwrap().node);
    }
    assert!(mount.descriptors.len() <= 8);
    assert_eq!(one(&mount, Call::remove(&at[60], &name("leaf"))).status(), Ok(()));
    for dir in at[..60].iter().rev() {
        assert_eq!(one(&mount, Call::rmdir(dir, &name(&long))).status(), Ok(()));
    }
    assert_eq!(std::fs::read_dir(inside.path()).unwrap().count(), 0);
}

#[test]
fn the_cache_stays_within_its_limit_and_files_stay_writable() {
    let inside = tempfile::tempdir().unwrap();
    let mount = LocalMount::open_with(inside.path(), 16).unwrap();
    let dirs: Vec<Node> = (0..40).map(|i| mkdir(&mount, &mount.root(), &format!("d{i}"))).collect();
    let files: Vec<Node> = dirs.iter().map(|dir| create(&mount, dir, "f").unwrap()).collect();
    for round in 0..3 {
        for (i, file) in files.iter().enumerate() {
            write(&mount, file, format!("{i} {round}").as_bytes(), Stable::Unstable).unwrap();
            assert!(mount.descriptors.len() <= 16);
        }
    }
    for (i, file) in files.iter().enumerate() {
        assert_eq!(one(&mount, Call::commit(file, 0, 0)).status(), Ok(()));
        assert_eq!(std::fs::read_to_string(inside.path().join(format!("d{i}/f"))).unwrap(), format!("{i} 2"));
    }
}

#[test]
fn nothing_stays_open_of_what_is_finished_or_removed() {
    let inside = tempfile::tempdir().unwrap();
    let mount = LocalMount::open(inside.path()).unwrap();
    let root = mount.root();
    let open = || mount.descriptors.len();
    let synced = create(&mount, &root, "synced").unwrap();
    assert_eq!(open(), 1);
    write(&mount, &synced, b"x", Stable::FileSync).unwrap();
    assert_eq!(open(), 0);
    let committed = create(&mount, &root, "committed").unwrap();
    write(&mount, &committed, b"x", Stable::Unstable).unwrap();
    assert_eq!(open(), 1);
    assert_eq!(one(&mount, Call::commit(&committed, 0, 0)).status(), Ok(()));
    assert_eq!(open(), 0);
    assert_eq!(one(&mount, Call::read(&committed, 0, 1, Vec::new())).status(), Ok(()));
    assert_eq!(open(), 0, "read to its end");
    create(&mount, &root, "removed").unwrap();
    assert_eq!(one(&mount, Call::remove(&root, &name("removed"))).status(), Ok(()));
    assert_eq!(open(), 0);
    create(&mount, &root, "timed").unwrap();
    let timed = create(&mount, &root, "timed2").unwrap();
    assert_eq!(open(), 2);
    let change = AttrChange { mtime: crate::storage::SetTime::Now, ..Default::default() };
    assert_eq!(one(&mount, Call::set_attr(&timed, change)).status(), Ok(()));
    assert_eq!(one(&mount, Call::rename(&root, &name("timed"), &root, &name("timed3"))).status(), Ok(()));
    assert_eq!(open(), 0);
    let page = one(&mount, Call::read_dir(&root, Default::default(), Want::Names, 4096)).take_page();
    assert!(page.unwrap().end);
    assert_eq!(open(), 0);
}

#[test]
fn what_closing_says_is_kept_until_it_is_asked_for() {
    let descriptors = Descriptors::new(0);
    let Node::Chain(chain) = Node::root_chain(0) else { panic!("a chain") };
    assert_eq!(descriptors.take_error(chain.id), Ok(()));
    descriptors.close_failed(chain.id, Status::NoSpc);
    descriptors.close_failed(chain.id, Status::Io);
    assert_eq!(descriptors.take_error(chain.id), Err(Status::NoSpc), "the first error is the cause");
    assert_eq!(descriptors.take_error(chain.id), Ok(()));
}

#[test]
fn a_file_is_no_mount_and_a_symlink_to_a_directory_is() {
    let inside = tempfile::tempdir().unwrap();
    std::fs::write(inside.path().join("f"), "").unwrap();
    std::fs::create_dir(inside.path().join("d")).unwrap();
    symlink("d", inside.path().join("l")).unwrap();
    assert!(LocalMount::open(&inside.path().join("f")).is_err());
    assert!(LocalMount::open(&inside.path().join("none")).is_err());
    let mount = LocalMount::open(&inside.path().join("l")).unwrap();
    create(&mount, &mount.root(), "new").unwrap();
    assert!(inside.path().join("d/new").exists());
}

#[test]
fn nodes_are_good_on_another_mount_of_the_same_directory() {
    let inside = tempfile::tempdir().unwrap();
    let (a, b) = (LocalMount::open(inside.path()).unwrap(), LocalMount::open(inside.path()).unwrap());
    let dir = mkdir(&a, &a.root(), "d");
    let file = create(&b, &dir, "f").unwrap();
    write(&a, &file, b"through a", Stable::FileSync).unwrap();
    let unstable = one(&a, Call::write(&file, 8, b"A", Stable::Unstable)).written().unwrap();
    let committed = one(&b, Call::commit(&file, 0, 0)).verifier().unwrap();
    assert_ne!(committed, unstable.verifier, "one mount cannot vouch for another's data");
    assert_eq!(one(&a, Call::commit(&file, 0, 0)).verifier(), Ok(unstable.verifier));
    a.restart();
    assert_ne!(one(&a, Call::commit(&file, 0, 0)).verifier(), Ok(unstable.verifier));
    assert_eq!(std::fs::read(inside.path().join("d/f")).unwrap(), b"through A");
}

/// Ranges come in any order, holes are asked for and not read, some of them more than once, and a hole at the end has no READ.
#[test]
fn a_file_with_holes_is_closed_when_its_data_was_read() {
    use std::os::unix::fs::FileExt;
    const MIB: u64 = 1 << 20;
    let dir = tempfile::tempdir().unwrap();
    let mount = LocalMount::open(dir.path()).unwrap();
    for (name_of, size) in [("ends in data", 9 * MIB), ("ends in a hole", 12 * MIB), ("all hole", 5 * MIB)] {
        let file = std::fs::File::create(dir.path().join(name_of)).unwrap();
        file.set_len(size).unwrap();
        let data: &[u64] = if name_of == "all hole" { &[] } else { &[2, 5, 8] };
        data.iter().for_each(|at| file.write_all_at(&vec![1; MIB as usize], at * MIB).unwrap());
        let node = one(&mount, Call::lookup(&mount.root(), &name(name_of))).found().unwrap().node;
        let seek = |offset: u64, what| one(&mount, Call::seek(&node, offset, what)).sought();
        assert_eq!(mount.descriptors.len(), 0);
        // As lanes ask, each for its range.
        let mut found = Vec::new();
        let asked: &[u64] = if data.is_empty() { &[0] } else { &[4, 0, 1, 3, 7, 6, 5, 2, 8] };
        for at in asked {
            match seek(at * MIB, Sought::Data) {
                Ok(at) => found.push(at / MIB),
                Err(status) => assert_eq!(status, Status::NxIo),
            }
            assert_eq!(mount.descriptors.len(), usize::from(!data.is_empty()));
        }
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, data);
        if size == 12 * MIB {
            assert_eq!(seek(9 * MIB, Sought::Data), Err(Status::NxIo));
        }
        for (i, at) in data.iter().rev().enumerate() {
            assert_eq!(mount.descriptors.len(), 1, "{name_of}: {i}");
            let read = one(&mount, Call::read(&node, at * MIB, MIB as u32, Vec::new()));
            assert_eq!(read.status(), Ok(()));
        }
        assert_eq!(mount.descriptors.len(), 0, "{name_of}");
    }
}

/// Bites when it is not run by root, who may open anything.
#[test]
fn a_write_protected_file_is_filled_though_its_descriptor_was_closed() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let mount = LocalMount::open_with(dir.path(), 1).unwrap();
    let protected = AttrChange { mode: Some(0o444), ..AttrChange::default() };
    let names = ["a", "b", "c", "d"].map(name);
    let nodes = names
        .each_ref()
        .map(|at| one(&mount, Call::create(&mount.root(), at, How::Guarded, protected)).found().unwrap().node);
    for node in &nodes {
        write(&mount, node, b"data", Stable::FileSync).unwrap();
    }
    for at in ["a", "b", "c", "d"] {
        let path = dir.path().join(at);
        assert_eq!(std::fs::read(&path).unwrap(), b"data");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o444);
    }
}

#[test]
fn a_listing_with_types_knows_them_without_asking_the_objects() {
    let inside = tempfile::tempdir().unwrap();
    std::fs::write(inside.path().join("f"), "x").unwrap();
    std::fs::create_dir(inside.path().join("d")).unwrap();
    symlink("f", inside.path().join("l")).unwrap();
    let mount = LocalMount::open(inside.path()).unwrap();
    for (want, kinds, attrs) in
        [(Want::Names, false, false), (Want::Types, true, false), (Want::Attributes, true, true)]
    {
        let page = one(&mount, Call::read_dir(&mount.root(), Default::default(), want, 4096)).take_page().unwrap();
        let mut seen: Vec<_> = page.entries.iter().map(|e| (e.name.to_string(), e.kind, e.attr.is_some())).collect();
        seen.sort_by(|a, b| a.0.cmp(&b.0));
        let expected = [("d", Kind::Dir), ("f", Kind::File), ("l", Kind::Symlink)];
        assert_eq!(seen, expected.map(|(at, kind)| (at.to_string(), kinds.then_some(kind), attrs)));
        let is_spared = |entry: &crate::storage::Entry| want == Want::Types && entry.kind != Some(Kind::Dir);
        assert!(page.entries.iter().all(|entry| entry.node.is_none() == is_spared(entry)));
    }
}

#[test]
fn a_read_to_the_end_says_what_the_file_is_then() {
    let inside = tempfile::tempdir().unwrap();
    let path = inside.path().join("f");
    std::fs::write(&path, vec![1; 100_000]).unwrap();
    let mount = LocalMount::open(inside.path()).unwrap();
    let file = one(&mount, Call::lookup(&mount.root(), &name("f"))).found().unwrap();
    let read = |offset, count| match one(&mount, Call::read(&file.node, offset, count, Vec::new())).op {
        Op::Read { buf, attr, out, .. } => (buf.len(), attr.map(|attr| attr.size), out.unwrap()),
        op => panic!("{op:?}"),
    };
    assert_eq!(read(0, 50_000), (50_000, Some(100_000), false));
    // Grown and cut between two READs of one descriptor: the size at opening does not count.
    std::fs::write(&path, vec![2; 120_000]).unwrap();
    assert_eq!(read(50_000, 60_000), (60_000, Some(120_000), false));
    assert_eq!(read(110_000, 60_000), (10_000, Some(120_000), true));
    assert_eq!(read(0, 1000), (1000, Some(120_000), false));
    std::fs::write(&path, vec![2; 500]).unwrap();
    assert_eq!(read(0, 1000), (500, Some(500), true));
    std::fs::write(&path, "").unwrap();
    assert_eq!(read(0, 1000), (0, Some(0), true));
    assert_eq!(read(7, 0), (0, Some(0), true));
}

/// Files that the kernel makes up have a size of 0 and content all the same.
#[test]
fn a_file_that_hides_its_size_is_read_whole() {
    let mount = LocalMount::open(Path::new("/proc/self")).unwrap();
    let file = one(&mount, Call::lookup(&mount.root(), &name("status"))).found().unwrap();
    assert_eq!(file.attr.unwrap().size, 0);
    let (mut whole, mut ends) = (Vec::new(), 0);
    while ends == 0 {
        let Op::Read { buf, out, .. } = one(&mount, Call::read(&file.node, whole.len() as u64, 100, Vec::new())).op
        else {
            panic!("a READ")
        };
        ends += u32::from(out.unwrap());
        whole.extend(buf);
    }
    assert!(whole.starts_with(b"Name:") && whole.len() > 300, "{}", whole.len());
}

/// What another mount has lent is copied, or READ must do it; nothing is taken for an empty file that is none.
#[test]
fn copies_go_from_mount_to_mount() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(from.path().join("f"), "lent").unwrap();
    let (source, target) = (LocalMount::open(from.path()).unwrap(), LocalMount::open(to.path()).unwrap());
    let file = one(&source, Call::lookup(&source.root(), &name("f"))).found().unwrap().node;
    let lent = source.lend(&file).unwrap();
    assert_eq!(source.descriptors.len(), 0, "what is lent is not cached");
    let new = create(&target, &target.root(), "new").unwrap();
    assert_eq!(one(&target, Call::copy(&lent, 0, &new, 0, 100)).status(), Ok(()));
    assert_eq!(target.descriptors.len(), 1, "open until COMMIT");
    assert_eq!(one(&target, Call::commit(&new, 0, 0)).status(), Ok(()));
    assert_eq!(std::fs::read(to.path().join("new")).unwrap(), b"lent");
    // Shared as a whole, or copied a part at a time.
    let large = std::fs::File::create(from.path().join("large")).unwrap();
    large.set_len(100 << 20).unwrap();
    let node = one(&source, Call::lookup(&source.root(), &name("large"))).found().unwrap().node;
    let large = source.lend(&node).unwrap();
    let Op::Beyond(crate::storage::Beyond::Copy { out: Ok(copied), .. }) =
        one(&target, Call::copy(&large, 0, &new, 0, 100 << 20)).op
    else {
        panic!("it can be copied")
    };
    assert!([64 << 20, 100 << 20].contains(&copied), "{copied}");
    let proc = LocalMount::open(Path::new("/proc/self")).unwrap();
    let status = one(&proc, Call::lookup(&proc.root(), &name("status"))).found().unwrap().node;
    let lent = proc.lend(&status).unwrap();
    assert_eq!(one(&target, Call::copy(&lent, 0, &new, 0, 100)).status(), Err(Status::NotSupp));
}

/// A mount that makes files without O_EXCL where it may, an empty directory in it, and that directory's path. It has made a file
/// before, so that it knows what files look like.
fn plain() -> (tempfile::TempDir, LocalMount, Node, std::path::PathBuf) {
    let inside = tempfile::tempdir().unwrap();
    let mount = LocalMount::open(inside.path()).unwrap().plainly();
    let dir = mkdir(&mount, &mount.root(), "d");
    make(&mount, &dir, "first", 0o644).0.unwrap();
    let path = inside.path().join("d");
    (inside, mount, dir, path)
}

fn is_fresh(node: &Node) -> bool {
    let Node::Chain(chain) = node else { panic!("a chain") };
    chain.fresh.load(Ordering::Relaxed)
}

/// The bits that are left of `mode` under this process's umask.
fn masked(mode: u32) -> u32 {
    mode & !umask()
}

#[test]
fn without_o_excl_what_is_there_is_left_alone_and_told() {
    use std::os::unix::fs::PermissionsExt;
    let (_inside, mount, dir, path) = plain();
    let old = std::fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH);
    let put = |at: &str, text: &str, mode: u32| {
        std::fs::write(path.join(at), text).unwrap();
        std::fs::set_permissions(path.join(at), PermissionsExt::from_mode(mode)).unwrap();
    };
    put("full", "text", masked(0o644));
    put("linked", "", masked(0o644));
    std::fs::hard_link(path.join("linked"), path.join("link")).unwrap();
    symlink("first", path.join("symlink")).unwrap();
    symlink("nowhere", path.join("dangling")).unwrap();
    std::fs::create_dir(path.join("dir")).unwrap();
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, path.join("fifo"), fifo, Mode::from_raw_mode(masked(0o644)), 0).unwrap();
    for at in ["full", "linked", "link", "symlink", "dangling", "dir", "fifo"] {
        let before = std::fs::symlink_metadata(path.join(at)).unwrap();
        assert_eq!(make(&mount, &dir, at, 0o644), (Err(Status::Exist), false), "{at}");
        let after = std::fs::symlink_metadata(path.join(at)).unwrap();
        let same = |m: &std::fs::Metadata| (m.len(), m.permissions().mode(), m.modified().unwrap());
        assert_eq!(same(&before), same(&after), "{at}");
    }
    assert!(!path.join("nowhere").exists());
    assert!(is_fresh(&dir), "none of them was in doubt");
    // An empty file with other bits or times might be one that a server made in its own way: the caller is told to look.
    put("bits", "", 0o600);
    put("touched", "", masked(0o644));
    std::fs::File::options().write(true).open(path.join("touched")).unwrap().set_times(old).unwrap();
    for at in ["bits", "touched"] {
        let (_inside, mount, dir, other) = plain();
        std::fs::copy(path.join(at), other.join(at)).unwrap();
        if at == "touched" {
            std::fs::File::options().write(true).open(other.join(at)).unwrap().set_times(old).unwrap();
        }
        assert_eq!(make(&mount, &dir, at, 0o644), (Err(Status::Exist), true), "{at}");
        assert!(!is_fresh(&dir));
        // From now on O_EXCL tells.
        assert_eq!(make(&mount, &dir, at, 0o644), (Err(Status::Exist), false), "{at}");
        assert!(make(&mount, &dir, "new", 0o644).0.is_ok());
    }
}

#[test]
fn without_o_excl_new_files_are_what_was_asked_for() {
    use std::os::unix::fs::PermissionsExt;
    let (_inside, mount, dir, path) = plain();
    for (at, mode) in [("a", 0o644), ("b", 0o600), ("c", 0o777), ("d", 0o4755), ("e", 0o400)] {
        let (node, repeated) = make(&mount, &dir, at, mode);
        assert!(!repeated);
        write(&mount, &node.unwrap(), at.as_bytes(), Stable::FileSync).unwrap();
        let is = std::fs::metadata(path.join(at)).unwrap();
        assert_eq!(is.len(), 1);
        // Writing takes set-id bits of who is not root.
        assert_eq!(is.permissions().mode() & 0o777, mode & 0o777, "{at}");
    }
    assert!(is_fresh(&dir));
    // A name that is made again is there, before and after it was written.
    assert_eq!(make(&mount, &dir, "a", 0o644), (Err(Status::Exist), false));
    let first = make(&mount, &dir, "twice", 0o644).0;
    assert!(first.is_ok());
    assert_eq!(make(&mount, &dir, "twice", 0o644), (Err(Status::Exist), true), "who made it is told to look");
}

/// Lanes that make the same names at once, as where a source lists a name twice: each file is made by one of them.
#[test]
fn without_o_excl_a_file_is_made_once() {
    let (_inside, mount, dir, _) = plain();
    let (mount, dir) = (&mount, &dir);
    let made = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for i in 0..200 {
                    let (node, _) = make(mount, dir, &i.to_string(), 0o644);
                    made.fetch_add(usize::from(node.is_ok()), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(made.into_inner(), 200);
}

#[test]
fn only_directories_of_our_own_or_empty_ones_are_made_into_without_o_excl() {
    let inside = tempfile::tempdir().unwrap();
    std::fs::create_dir(inside.path().join("d")).unwrap();
    let mount = LocalMount::open(inside.path()).unwrap().plainly();
    let there = one(&mount, Call::lookup(&mount.root(), &name("d"))).found().unwrap().node;
    make(&mount, &there, "f", 0o644).0.unwrap();
    make(&mount, &mount.root(), "f", 0o644).0.unwrap();
    assert!(!is_fresh(&there) && !is_fresh(&mount.root()));
    let mount = LocalMount::open(&inside.path().join("d")).unwrap().plainly();
    make(&mount, &mount.root(), "g", 0o644).0.unwrap();
    assert!(!is_fresh(&mount.root()));
    std::fs::create_dir(inside.path().join("empty")).unwrap();
    let mount = LocalMount::open(&inside.path().join("empty")).unwrap().plainly();
    for at in ["f", "g", "h"] {
        make(&mount, &mount.root(), at, 0o644).0.unwrap();
        assert!(is_fresh(&mount.root()));
    }
}

/// A directory's mode that the kernel knows to be right is not set again, and one that is not right is.
#[test]
fn a_directory_of_ours_has_the_mode_that_is_asked_for() {
    use std::os::unix::fs::PermissionsExt;
    let (_inside, mut mount, dir, path) = plain();
    mount.nfs = true;
    let time = crate::base::Time { secs: 1_000_000_000, nanos: 0 };
    for mode in [0o755, 0o755, 0o700, 0o2775, 0o755] {
        let change = AttrChange { mode: Some(mode), mtime: crate::storage::SetTime::At(time), ..AttrChange::default() };
        assert_eq!(one(&mount, Call::set_attr(&dir, change)).status(), Ok(()));
        let is = std::fs::metadata(&path).unwrap();
        assert_eq!(is.permissions().mode() & 0o7777, mode);
        assert_eq!(is.modified().unwrap(), std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000));
    }
}

/// One descriptor lists a local directory and stands for it, afterwards too; of a large one another does, which is there before anybody
/// can be in the directory. What is in it is reached whatever becomes of its name.
#[test]
fn what_lists_a_directory_serves_as_the_directory() {
    let inside = tempfile::tempdir().unwrap();
    let mut mount = LocalMount::open(inside.path()).unwrap();
    let dir = mkdir(&mount, &mount.root(), "d");
    (0..30).for_each(|i| std::fs::write(inside.path().join(format!("d/{i:0>100}")), "").unwrap());
    let Node::Chain(chain) = &dir else { panic!("no chain") };
    let list = |mount: &LocalMount, bytes_max: u32| {
        let (mut from, mut names, mut open) = (Cookie::default(), Vec::new(), Vec::new());
        loop {
            let page = one(mount, Call::read_dir(&dir, from, Want::Types, bytes_max)).take_page().unwrap();
            names.extend(page.entries.into_iter().map(|entry| entry.name));
            open.push([Use::Dir, Use::List].map(|used| mount.descriptors.get(chain, used).is_some()));
            from = page.next;
            if page.end {
                return (names, open);
            }
        }
    };
    let (mut names, open) = list(&mount, 1 << 16);
    assert_eq!((names.len(), open, mount.descriptors.len()), (30, vec![[false, true]], 1));
    std::fs::rename(inside.path().join("d"), inside.path().join("e")).unwrap();
    assert_eq!(one(&mount, Call::remove(&dir, &names.pop().unwrap())).status(), Ok(()));
    // Again from the start, by the same descriptor.
    assert_eq!((list(&mount, 1 << 16).0.len(), mount.descriptors.len()), (29, 1));
    std::fs::rename(inside.path().join("e"), inside.path().join("d")).unwrap();
    drop(mount.descriptors.take(chain, Use::List));
    let (mut names, open) = list(&mount, 2000);
    let (last, before) = open.split_last().unwrap();
    assert!(before.len() > 1 && before.iter().all(|open| *open == [true, true]), "{before:?}");
    assert_eq!((*last, mount.descriptors.len()), ([true, false], 1));
    std::fs::rename(inside.path().join("d"), inside.path().join("e")).unwrap();
    assert_eq!(one(&mount, Call::remove(&dir, &names.pop().unwrap())).status(), Ok(()));
    std::fs::rename(inside.path().join("e"), inside.path().join("d")).unwrap();
    // An NFS client is asked by opening `.`.
    drop(mount.descriptors.take(chain, Use::Dir));
    mount.nfs = true;
    assert_eq!((list(&mount, 1 << 16).1, mount.descriptors.len()), (vec![[true, false]], 1));
}
