//! What extraction makes of archives: the tree that GNU tar would leave, for every shape and input.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::sync::Arc;

use parfs::archive::{Input, ReadAt};
use parfs::base::Proc;
use parfs::jobs::extract::{Existing, Options, Owner};
use parfs::jobs::select::Selection;
use parfs::mounts::{LocalMount, MemoryMount};
use parfs::storage::{Kind, Ledger, Mount, SetTime, Spread, Tapped, Volume};

use crate::tars::{MTIME, Ran, Tar, at, crew, extract, pipe, seekable, volume};
use crate::tree::{self, Tree, content, dump};

const SHAPES: [(usize, usize); 4] = [(1, 1), (1, 4), (4, 1), (16, 4)];

/// One of everything.
fn sample() -> Tar {
    let mut tar = Tar::default().dir_mode("./", 0o750).dir("./a/").dir_mode("./a/ro/", 0o555);
    for i in 0..30 {
        tar = tar.file_at(&format!("./a/ro/f{i}"), vec![b'x'; i * 97], MTIME + i as u64);
    }
    let big: Vec<u8> = (0..300_000u32).flat_map(u32::to_le_bytes).collect();
    tar = tar.file("./a/big", &big).file("./implied/deep/er/file", "data").symlink("./a/sym", "../nowhere");
    tar = tar.link("./a/hard", "./a/big").link("./a/hard2", "a/hard").special("./a/fifo", b'6');
    tar = tar.file("./b/late", "late").dir_mode("./b/", 0o711).file("./a/empty", "");
    let (head, tail) = (vec![1; 5000], vec![2; 200_000]);
    tar = tar.sparse("./sparse", 10_000_000, &[(8192, &head), (4 << 20, &tail)]).sparse("./hole", 64 << 20, &[]);
    tar.file("./a/ro/after", "0444").add(crate::tars::Entry {
        typeflag: b'0',
        path: "./a/suid",
        link: "",
        mode: 0o4755,
        mtime: MTIME,
        data: b"suid",
    })
}

fn options() -> Options {
    Options { mode_mask: 0, range_bytes: 256 << 10, ..Options::default() }
}

fn memory(bytes: Input, options: &Options, shape: (usize, usize)) -> (Arc<MemoryMount>, Ran) {
    let mount = Arc::new(MemoryMount::new());
    let ran = extract(&volume(&mount), bytes, options, &crew(shape.0, shape.1));
    (mount, ran)
}

/// The tree without the times of directories that no member asked for.
fn stable(mount: &dyn Mount) -> Tree {
    let mut tree = dump(mount);
    for (path, object) in &mut tree {
        if path.starts_with("implied") && object.kind == Kind::Dir {
            object.mtime = at(0);
        }
    }
    tree
}

#[test]
fn every_shape_and_input_gives_the_same_tree() {
    let bytes = sample().bytes();
    let mut first: Option<Tree> = None;
    for shape in SHAPES {
        for input in [seekable(bytes.clone()), pipe(bytes.clone())] {
            let (mount, ran) = memory(input, &options(), shape);
            let ran = ran.clean();
            assert_eq!(ran.done.len() as u64, ran.summary.members);
            assert_eq!(ran.done[..3], ["./", "./a/", "./a/ro/"]);
            assert_eq!((ran.summary.files, ran.summary.dirs, ran.summary.links), (38, 4, 3));
            let tree = stable(&*mount);
            assert_eq!(*first.get_or_insert_with(|| tree.clone()), tree, "{shape:?}");
        }
    }
    let tree = first.unwrap();
    assert_eq!((tree[""].mode, tree[""].mtime), (0o750, at(MTIME + 1)));
    assert_eq!((tree["a/ro"].mode, tree["a/ro"].mtime), (0o555, at(MTIME + 1)));
    assert_eq!((tree["b"].mode, tree["b"].mtime), (0o711, at(MTIME + 1)));
    assert_eq!((tree["a/ro/f7"].size, tree["a/ro/f7"].mtime, tree["a/ro/f7"].mode), (679, at(MTIME + 7), 0o644));
    assert_eq!((tree["a/suid"].mode, tree["a/suid"].mtime), (0o4755, at(MTIME)));
    assert_eq!((&tree["a/sym"].target[..], tree["a/sym"].mtime), (&b"../nowhere"[..], at(MTIME + 2)));
    assert_eq!((tree["a/hard2"].nlink, tree["a/hard2"].first.as_str()), (3, "a/big"));
    assert_eq!((tree["a/fifo"].kind, tree["a/fifo"].mtime), (Kind::Fifo, at(MTIME + 3)));
    assert_eq!((tree["sparse"].size, tree["sparse"].mtime), (10_000_000, at(MTIME)));
    assert_eq!((tree["hole"].size, tree["implied/deep"].mode), (64 << 20, 0o755));
}

#[test]
fn content_is_what_was_stored() {
    let data: Vec<u8> = (0..1_000_003u32).map(|i| (i * 7 % 251) as u8).collect();
    let segments: [(u64, &[u8]); 3] = [(1, &data[..300]), (500_000, &data[300..400_000]), (999_999, b"z")];
    let tar = Tar::default().file("big", &data).sparse("sparse", 1_000_000, &segments).bytes();
    for (range_bytes, input) in
        [(1, seekable(tar.clone())), (4096, pipe(tar.clone())), (65_537, seekable(tar.clone())), (1 << 20, pipe(tar))]
    {
        // Ranges of one byte are slow on a megabyte; the largest prime there is between does as well.
        let options = Options { range_bytes: if range_bytes == 1 { 4093 } else { range_bytes }, ..options() };
        let (mount, ran) = memory(input, &options, (8, 4));
        ran.clean();
        assert!(content(&*mount, "big") == data);
        let mut expected = vec![0; 1_000_000];
        segments.iter().for_each(|(at, d)| expected[*at as usize..*at as usize + d.len()].copy_from_slice(d));
        assert!(content(&*mount, "sparse") == expected);
    }
}

/// A header, then zeros without end: a large file that takes no memory here.
struct Zeros {
    header: Vec<u8>,
    size: u64,
}

impl ReadAt for Zeros {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> std::io::Result<usize> {
        let n = buf.len().min(usize::try_from(self.len() - offset.min(self.len())).unwrap());
        buf[..n].fill(0);
        if let Some(header) = self.header.get(offset as usize..) {
            let k = n.min(header.len());
            buf[..k].copy_from_slice(&header[..k]);
        }
        Ok(n)
    }
    fn len(&self) -> u64 {
        512 + self.size + 1024
    }
}

#[test]
fn eight_gibibytes_in_ranges_within_the_budget() {
    let size = 8 << 30;
    let mut header = tar::Header::new_gnu();
    header.set_path("zeros").unwrap();
    header.set_size(size);
    header.set_mode(0o600);
    header.set_mtime(MTIME);
    header.set_cksum();
    let zeros = Zeros { header: header.as_bytes().to_vec(), size };
    let mount = Arc::new(MemoryMount::new());
    let ledger = Arc::new(Ledger::default());
    let tapped = Arc::new(Tapped::new(mount.clone(), vec![ledger.clone()]));
    let crew = crew(4, 4);
    let options = Options { range_bytes: 16 << 20, ..Options::default() };
    let ran = extract(&volume(&tapped), Input::Seekable(Arc::new(zeros)), &options, &crew).clean();
    assert_eq!(ran.summary.bytes, size);
    assert!(crew.budget().held_most() <= 64 << 20);
    let tally = ledger.tally();
    assert_eq!(tally.get(Proc::Write).bytes, size);
    assert_eq!(tally.get(Proc::Commit).calls, size / (16 << 20));
    assert_eq!((tally.get(Proc::Create).calls, tally.get(Proc::SetAttr).calls), (1, 1));
}

#[test]
fn a_local_directory_gets_the_same_tree_as_memory() {
    let bytes = sample().bytes();
    let (memory, _) = memory(seekable(bytes.clone()), &options(), (4, 4));
    let (expected, dir) = (stable(&*memory), tempfile::tempdir().unwrap());
    for shape in SHAPES {
        let below = dir.path().join(format!("{shape:?}"));
        std::fs::create_dir(&below).unwrap();
        let mount = Arc::new(LocalMount::open(&below).unwrap());
        extract(&volume(&mount), pipe(bytes.clone()), &options(), &crew(shape.0, shape.1)).clean();
        let mut tree = stable(&*mount);
        for (path, object) in &mut tree {
            object.uid = expected[path].uid;
        }
        assert_eq!(tree, expected, "{shape:?}");
    }
}

#[test]
fn few_directories_remembered_give_the_same_tree() {
    let mut tar = Tar::default();
    // Breadth first, so that every directory is needed again after others, then depth first once more.
    for i in 0..7 {
        tar = tar.dir_mode(&format!("d{i}/"), 0o555).dir(&format!("d{i}/sub/"));
    }
    for name in ["x", "y"] {
        for i in 0..7 {
            tar = tar.file(&format!("d{i}/{name}"), name).file(&format!("d{i}/sub/deep/{name}"), name);
        }
    }
    for i in 0..7 {
        tar = tar.dir_mode(&format!("d{i}/sub/deep/"), 0o500).link(&format!("d{i}/hard"), &format!("d{i}/sub/deep/x"));
    }
    let bytes = tar.bytes();
    let (all, ran) = memory(seekable(bytes.clone()), &options(), (4, 4));
    ran.clean();
    let expected = dump(&*all);
    for dirs_max in [1, 2, 4, 20] {
        for shape in SHAPES {
            let options = Options { dirs_max, ..options() };
            let (mount, ran) = memory(seekable(bytes.clone()), &options, shape);
            ran.clean();
            assert_eq!(dump(&*mount), timed(&expected, dump(&*mount)), "{dirs_max} {shape:?}");
            let (d3, deep) = (&dump(&*mount)["d3"], &dump(&*mount)["d3/sub/deep"]);
            assert_eq!((d3.mode, d3.mtime, deep.mode, deep.mtime), (0o555, at(MTIME + 1), 0o500, at(MTIME + 1)));
        }
    }
}

/// `expected`, with the root's time as it is in `tree`: no member asked for it.
fn timed(expected: &Tree, tree: Tree) -> Tree {
    let mut expected = expected.clone();
    expected.get_mut("").unwrap().mtime = tree[""].mtime;
    expected
}

#[test]
fn a_second_run_replaces_keeps_skips_or_overwrites() {
    let old =
        Tar::default().dir_mode("d/", 0o700).file("d/f", "old").file_at("d/same", "same", 5).symlink("d/s", "old");
    let old = old.file("d/name", "kept name").link("d/other", "d/name").file("d/was", "file").dir("d/empty/");
    let new =
        Tar::default().dir_mode("d/", 0o755).file("d/f", "newer").file_at("d/same", "same", 5).symlink("d/s", "new");
    let new = new.file("d/name", "new").symlink("d/was", "now a link").file("d/empty", "now a file").bytes();
    for shape in SHAPES {
        let run = |existing, resume| {
            let (mount, ran) = memory(seekable(old.bytes()), &options(), shape);
            ran.clean();
            let again = Options { existing, resume, ..options() };
            let ran = extract(&volume(&mount), seekable(new.clone()), &again, &crew(shape.0, shape.1));
            (mount, ran)
        };
        let (mount, ran) = run(Existing::Replace, false);
        ran.clean();
        let tree = dump(&*mount);
        assert_eq!((tree["d"].mode, tree["d"].mtime), (0o755, at(MTIME + 1)));
        assert_eq!(content(&*mount, "d/f"), b"newer");
        assert_eq!(content(&*mount, "d/other"), b"kept name");
        assert_eq!((&tree["d/s"].target[..], &tree["d/was"].target[..]), (&b"new"[..], &b"now a link"[..]));
        assert_eq!(tree["d/empty"].kind, Kind::File);

        // As GNU tar 1.34: an empty directory is not removed for a file that is to be written into.
        let (mount, ran) = run(Existing::Overwrite, false);
        assert_eq!(ran.failures, ["d/empty: CREATE: Is a directory"]);
        assert_eq!(dump(&*mount)["d/empty"].kind, Kind::Dir);
        assert_eq!(content(&*mount, "d/other"), b"new");
        assert_eq!(dump(&*mount)["d/other"].nlink, 2);
        assert_eq!(content(&*mount, "d/f"), b"newer");

        let (mount, ran) = run(Existing::Keep, false);
        assert_eq!(ran.failures.len(), 6, "{:?}", ran.failures);
        assert!(ran.failures.iter().all(|f| f.ends_with("File exists")), "{:?}", ran.failures);
        assert_eq!((content(&*mount, "d/f"), dump(&*mount)["d"].mode), (b"old".to_vec(), 0o700));

        let (mount, ran) = run(Existing::Skip, false);
        assert_eq!((ran.failures.len(), ran.summary.skipped), (0, 6));
        assert_eq!((content(&*mount, "d/f"), dump(&*mount)["d"].mode), (b"old".to_vec(), 0o700));

        let (mount, ran) = run(Existing::Replace, true);
        assert_eq!((ran.failures.len(), ran.summary.skipped), (0, 1));
        assert_eq!(content(&*mount, "d/f"), b"newer");
    }
}

/// As GNU tar 1.34 under -U, which also takes it amiss that it has made a directory itself.
#[test]
fn a_directory_that_is_to_be_unlinked_goes_or_stays_as_it_is() {
    let old = Tar::default().dir_mode("full/", 0o700).file("full/x", "x").dir_mode("bare/", 0o700);
    let old = old.dir_mode("late/", 0o700).file("late/x", "x").dir_mode("way/", 0o700).file("file", "x").bytes();
    let new = Tar::default().dir("full/").file("full/f", "f").dir("bare/").file("late/f", "f").dir("late/");
    let new = new.file("way/f", "f").dir("file/").dir("own/").file("own/f", "f").dir_mode("own/", 0o711).bytes();
    for shape in SHAPES {
        let (mount, ran) = memory(seekable(old.clone()), &options(), shape);
        ran.clean();
        let again = Options { existing: Existing::UnlinkFirst, ..options() };
        let mut ran = extract(&volume(&mount), seekable(new.clone()), &again, &crew(shape.0, shape.1));
        ran.failures.sort();
        assert_eq!(ran.failures, ["full: RMDIR: Directory not empty", "late: RMDIR: Directory not empty"]);
        let tree = dump(&*mount);
        let is = |path: &str| (tree[path].mode, tree[path].mtime == at(MTIME + 1));
        assert_eq!((is("full").0, is("late").0, is("way").0), (0o700, 0o700, 0o700));
        assert_eq!((is("bare"), is("file").0, is("own")), ((0o755, true), 0o755, (0o711, true)));
        assert!(["full/x", "full/f", "late/x", "late/f", "way/f", "own/f"].iter().all(|path| tree.contains_key(*path)));
        assert!(["full", "late"].iter().all(|path| tree[*path].mtime > at(MTIME + 1)));
    }
}

/// A run that was stopped has made the directories that the next one finds.
#[test]
fn a_run_that_goes_on_uses_the_directories_that_are_there() {
    let old = Tar::default().dir_mode("full/", 0o700).file("full/x", "x").dir_mode("bare/", 0o700).bytes();
    let new = Tar::default().dir("full/").file("full/f", "f").dir("bare/").dir_mode("full/", 0o711).bytes();
    for shape in SHAPES {
        let (mount, ran) = memory(seekable(old.clone()), &options(), shape);
        ran.clean();
        let again = Options { existing: Existing::UnlinkFirst, resume: true, ..options() };
        let ledger = Arc::new(Ledger::default());
        let tapped = Arc::new(Tapped::new(mount.clone(), vec![ledger.clone()]));
        extract(&volume(&tapped), seekable(new.clone()), &again, &crew(shape.0, shape.1)).clean();
        let tree = dump(&*mount);
        let is = |path: &str| (tree[path].mode, tree[path].mtime == at(MTIME + 1));
        assert_eq!((is("full"), is("bare")), ((0o711, true), (0o755, true)), "{shape:?}");
        assert!(tree.contains_key("full/x") && tree.contains_key("full/f"));
        assert_eq!(ledger.tally().get(Proc::RmDir).calls, 0);
    }
}

#[test]
fn resume_writes_only_what_is_missing() {
    let big = vec![3; 1 << 20];
    let tar = Tar::default().dir("d/").file("d/a", "a").file("d/b", "bb").file("d/big", &big).bytes();
    let (mount, ran) = memory(seekable(tar.clone()), &options(), (4, 2));
    ran.clean();
    let (before, ledger) = (dump(&*mount), Arc::new(Ledger::default()));
    let tapped = Arc::new(Tapped::new(mount.clone(), vec![ledger.clone()]));
    let again = Options { resume: true, ..options() };
    let ran = extract(&volume(&tapped), seekable(tar.clone()), &again, &crew(4, 2)).clean();
    assert_eq!((ran.summary.skipped, ran.summary.members), (3, 4));
    assert_eq!(ledger.tally().get(Proc::Write).calls + ledger.tally().get(Proc::Create).calls, 0);
    assert_eq!(dump(&*mount), before);
    // A file without the time that is set last was not complete.
    let root = mount.root();
    let mut d = [parfs::storage::Call::lookup(&root, &parfs::base::Name::new(b"d").unwrap())];
    mount.perform(&mut d);
    let mut b = [parfs::storage::Call::lookup(&d[0].found().unwrap().node, &parfs::base::Name::new(b"b").unwrap())];
    mount.perform(&mut b);
    let change = parfs::storage::AttrChange { mtime: SetTime::Now, ..Default::default() };
    mount.perform(&mut [parfs::storage::Call::set_attr(&b[0].found().unwrap().node, change)]);
    let ran = extract(&volume(&mount), seekable(tar), &again, &crew(4, 2)).clean();
    assert_eq!((ran.summary.skipped, dump(&*mount)), (2, before));
}

/// Under -k too, where what is there is an error otherwise.
#[test]
fn resume_leaves_links_and_special_files_that_are_there() {
    let tar = |text, device| {
        let tar = Tar::default().dir("d/").symlink("d/s", text).file("d/f", "f").link("d/l", "d/f");
        tar.special("d/p", b'6').special("d/c", device).bytes()
    };
    for shape in SHAPES {
        for existing in [Existing::Keep, Existing::Replace] {
            let (mount, ran) = memory(seekable(tar("there", b'3')), &options(), shape);
            ran.clean();
            let before = dump(&*mount);
            let again = Options { existing, resume: true, ..options() };
            let run = |tar| extract(&volume(&mount), seekable(tar), &again, &crew(shape.0, shape.1));
            let ran = run(tar("there", b'3')).clean();
            assert_eq!((ran.summary.skipped, dump(&*mount) == before), (4, true));
            // What is another link, another device is not complete.
            let mut ran = run(tar("elsewhere", b'4'));
            ran.failures.sort();
            if existing == Existing::Keep {
                assert_eq!(ran.failures, ["d/c: MKNOD: File exists", "d/s: SYMLINK: File exists"]);
                assert_eq!(dump(&*mount), before);
            } else {
                let (ran, tree) = (ran.clean(), dump(&*mount));
                assert_eq!((&tree["d/s"].target[..], tree["d/c"].kind), (&b"elsewhere"[..], Kind::Block));
                assert_eq!(ran.summary.skipped, 2);
            }
        }
    }
}

#[test]
fn names_are_stripped_selected_and_owned() {
    let tar = Tar::default().dir("top/").dir("top/a/").file("top/a/f", "f").link("top/a/l", "top/a/f");
    let tar = tar.file("top/b.log", "log").file("top/c", "c").bytes();
    let select = Selection::new(&["*.log".into()], &[b"top/a".to_vec(), b"gone".to_vec()], false).unwrap();
    let owner = Owner::FromArchive { numeric: false };
    let some = Options { strip_components: 1, select, owner, mtime: false, ..options() };
    let (mount, ran) = memory(pipe(tar), &some, (4, 4));
    assert_eq!(ran.failures, ["gone: Not found in archive"]);
    let tree = dump(&*mount);
    assert_eq!(tree.keys().collect::<Vec<_>>(), ["", "a", "a/f", "a/l"]);
    assert_eq!((tree["a/f"].uid, tree["a"].uid, tree["a/f"].nlink), (1000, 1000, 2));
    assert_ne!(tree["a/f"].mtime, at(MTIME));
}

#[test]
fn a_truncated_archive_leaves_nothing_that_looks_complete() {
    let tar = Tar::default().file("small", "small").file("cut", vec![7; 2 << 20]).bytes();
    let cut = tar[..512 + 512 + 512 + (1 << 20)].to_vec();
    for shape in SHAPES {
        for input in [seekable(cut.clone()), pipe(cut.clone())] {
            let (mount, ran) = memory(input, &options(), shape);
            assert!(ran.summary.archive_error.as_ref().is_some_and(|e| e.contains("Unexpected EOF")), "{ran:?}");
            assert_eq!(ran.failures.len(), 1, "{:?}", ran.failures);
            assert!(ran.failures[0].starts_with("cut: "), "{:?}", ran.failures);
            assert_eq!(ran.failures[0].matches("cut").count(), 1, "{:?}", ran.failures);
            let tree = dump(&*mount);
            assert_eq!(tree["small"].mtime, at(MTIME));
            assert!(tree.get("cut").is_none_or(|o| o.mtime != at(MTIME)));
        }
    }
}

#[test]
fn a_deep_path_and_many_lanes_on_several_mounts() {
    let deep = "d/".repeat(1500);
    let tar = Tar::default().file(&format!("{deep}f"), "deep").dir(&deep).file("f", "flat").bytes();
    let mount = Arc::new(MemoryMount::new());
    for spread in [Spread::LeastLoaded, Spread::RoundRobin, Spread::First] {
        let seats: Vec<Arc<dyn Mount>> = (0..4).map(|_| mount.clone() as Arc<dyn Mount>).collect();
        extract(&Volume::new(seats, spread), pipe(tar.clone()), &options(), &crew(32, 4)).clean();
    }
    let tree = tree::timeless(dump(&*mount));
    assert_eq!(tree.len(), 1503);
}

/// The first member of a name leaves what looks like the second one, complete.
#[test]
fn resume_does_not_take_one_member_for_a_later_one_of_its_name() {
    let (small, big) = ([vec![1; 10], vec![2; 10]], [vec![1; 300_000], vec![2; 300_000]]);
    let tar = Tar::default().file("s", &small[0]).file("b", &big[0]).file("s", &small[1]).file("b", &big[1]);
    let resume = Options { resume: true, ..options() };
    let mount = Arc::new(MemoryMount::new());
    for _ in 0..2 {
        extract(&volume(&mount), seekable(tar.bytes()), &resume, &crew(2, 2)).clean();
        assert!(content(&*mount, "s") == small[1] && content(&*mount, "b") == big[1]);
    }
    // A hard link that has the second one's size and time.
    let linked = Tar::default().file("y", "AAAA").link("x", "y").file("x", "BBBB");
    let fresh = Arc::new(MemoryMount::new());
    extract(&volume(&fresh), seekable(linked.bytes()), &resume, &crew(2, 2)).clean();
    assert_eq!((content(&*fresh, "y"), content(&*fresh, "x")), (b"AAAA".to_vec(), b"BBBB".to_vec()));
    // Interrupted between the two.
    let first = Tar::default().file("s", &small[0]).file("b", &big[0]);
    let mount = Arc::new(MemoryMount::new());
    extract(&volume(&mount), seekable(first.bytes()), &resume, &crew(2, 2)).clean();
    extract(&volume(&mount), seekable(tar.bytes()), &resume, &crew(2, 2)).clean();
    assert!(content(&*mount, "s") == small[1] && content(&*mount, "b") == big[1]);
}
