//! What creation makes of trees: archives that extract to the same tree, the same bytes for every shape and output, and true
//! words about what could not be read.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parfs::archive::write::Format;
use parfs::archive::{Archive, Codec, Input, MemberKind};
use parfs::base::{Proc, Status};
use parfs::jobs::create::{Attributes, Operand, Options};
use parfs::jobs::extract;
use parfs::jobs::select::Selection;
use parfs::mounts::MemoryMount;
use parfs::storage::faults::Which;
use parfs::storage::{Call, Faults, Mount, Node, Op, Tap, Tapped};

use crate::ask::{Ask, size};
use crate::copies::{counted, crew, direct};
use crate::creates::{Made, file, named, packed, shared, stream, whole};
use crate::nasty::{Nasty, past, put, set, set_time};
use crate::random::Random;
use crate::tree::{Tree, assert_same, dump};

const SHAPES: [(usize, usize); 4] = [(1, 1), (2, 3), (5, 1), (16, 4)];

/// What is in the archive: path, kind and stored bytes, in order. Panics when it is not sound.
pub fn members(archive: &[u8]) -> Vec<(String, MemberKind, Vec<u8>)> {
    let (found, warnings) = read(archive);
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(archive.len() % 10240, 0, "whole records");
    found
}

/// Members and what is said of them.
type Read = (Vec<(String, MemberKind, Vec<u8>)>, Vec<String>);

/// The same, and what is said of it.
pub fn read(archive: &[u8]) -> Read {
    read_all(Input::Seekable(Arc::new(archive.to_vec())))
}

pub fn read_all(input: Input) -> Read {
    let mut reader = Archive::new(input, Default::default());
    let mut found = Vec::new();
    while let Some(member) = reader.next().unwrap() {
        let mut data = vec![0; usize::try_from(member.stored).unwrap()];
        let mut at = 0;
        while at < data.len() {
            at += reader.read(&mut data[at..]).unwrap();
        }
        found.push((String::from_utf8_lossy(&member.path).into_owned(), member.kind, data));
    }
    (found, reader.take_warnings().told())
}

fn paths(archive: &[u8]) -> Vec<String> {
    members(archive).into_iter().map(|(path, ..)| path).collect()
}

/// The tree that extraction makes of it.
fn extracted(archive: &[u8]) -> Tree {
    let mount = Arc::new(MemoryMount::new());
    let options = extract::Options {
        mode_mask: 0,
        owner: extract::Owner::FromArchive { numeric: true },
        ..extract::Options::default()
    };
    let input = crate::tars::seekable(archive.to_vec());
    crate::tars::extract(&crate::tars::volume(&mount), input, &options, &crew(4, 2)).clean();
    dump(&*mount)
}

/// Without what archives do not carry unless they are told to.
fn bare(mut tree: Tree) -> Tree {
    tree.retain(|path, _| !path.contains("socket"));
    tree.values_mut().for_each(|object| object.xattrs.clear());
    tree
}

/// Small files, large ones, links, in three levels.
pub fn sample() -> Arc<dyn Mount> {
    let mount = MemoryMount::new();
    let root = mount.root();
    let mut random = Random(7);
    for (i, at) in ["b", "a", "c"].into_iter().enumerate() {
        let dir = mount.dir(&root, at);
        for j in 0..40 {
            let node = mount.file(&dir, format!("f{}", (j * 7) % 40), b"");
            put(&mount, &node, 0, &random.bytes(j * 97));
            set_time(&mount, &node, past((i * 100 + j) as i64));
        }
        let deep = mount.dir(&dir, "deep");
        let big = mount.file(&deep, "big", b"");
        put(&mount, &big, 0, &random.bytes((2 << 20) + 1000 * i + 1));
        mount.link(&big, &dir, "another name").unwrap();
        mount.symlink(&deep, "link", b"../f1").unwrap();
        mount.dir(&deep, "empty");
    }
    Arc::new(mount)
}

#[test]
fn a_nasty_tree_comes_back_from_its_archive() {
    let nasty = Nasty { sparse_bytes: 8 << 20, ..Nasty::SMALL }.allowed();
    let mount = MemoryMount::new();
    nasty.build(&mount);
    let mount: Arc<dyn Mount> = Arc::new(mount);
    let want = bare(dump(&*mount));
    let mut bytes = Vec::new();
    for (sparse, sort_by_name) in [(false, false), (true, true)] {
        let options = Options { sparse, sort_by_name, ..Options::default() };
        let made = stream(whole(&shared(vec![mount.clone()])), &options, &crew(4, 2)).clean();
        assert_same(&want, &extracted(&made.archive), &format!("sparse {sparse}"));
        let socket = made.summary.warnings.iter().any(|text| text.ends_with("socket ignored"));
        assert!(socket, "{:?}", made.summary.warnings);
        bytes.push(made.archive.len());
    }
    assert!(bytes[0] - bytes[1] > 8 << 20, "{bytes:?} bytes, the second without holes");
}

#[test]
fn the_archive_is_the_same_for_every_shape_and_output() {
    let mount = sample();
    for (sort_by_name, format) in [(false, Format::Pax), (true, Format::Gnu), (true, Format::Ustar)] {
        let options = Options { sort_by_name, format, ..Options::default() };
        let of = |shape: (usize, usize)| {
            stream(whole(&shared(vec![mount.clone()])), &options, &crew(shape.0, shape.1)).clean()
        };
        let want = of((1, 1));
        assert_eq!(want.told, {
            let shown = members(&want.archive).into_iter();
            shown.map(|(path, ..)| path).collect::<Vec<_>>()
        });
        assert_eq!(want.summary.members as usize, want.told.len());
        for shape in SHAPES {
            assert!(of(shape).archive == want.archive, "{shape:?} {format:?}");
            let made = file(whole(&shared(vec![mount.clone()])), b"", &options, &crew(shape.0, shape.1)).clean();
            assert!(made.archive == want.archive, "into a file, {shape:?}");
        }
        let tiny = Options { ahead_max: 1, ..options.clone() };
        assert!(stream(whole(&shared(vec![mount.clone()])), &tiny, &crew(3, 2)).clean().archive == want.archive);
        let (_server, views) = direct(mount.clone(), 2);
        let made = stream(whole(&shared(views)), &options, &crew(8, 2)).clean();
        assert!(made.archive == want.archive, "through NFS");
    }
}

#[test]
fn sorted_members_come_in_the_order_of_names() {
    let options = Options { sort_by_name: true, ..Options::default() };
    let made = stream(whole(&shared(vec![sample()])), &options, &crew(4, 2)).clean();
    let order = paths(&made.archive);
    let mut by_component = order.clone();
    by_component.sort_by_key(|path| path.trim_end_matches('/').split('/').map(str::to_owned).collect::<Vec<_>>());
    assert_eq!(order, by_component);
}

#[test]
fn what_is_asked_does_not_depend_on_shape_and_is_one_read_for_a_small_file() {
    let mount = sample();
    let asked = |shape: (usize, usize)| {
        let (counting, ledger) = counted(mount.clone());
        let made = stream(whole(&shared(vec![counting])), &Options::default(), &crew(shape.0, shape.1)).clean();
        (ledger.tally(), made.summary.dirs)
    };
    let (want, dirs) = asked((1, 1));
    // 39 of 40 files have data; each big file takes three pieces of 1 MiB.
    assert_eq!(want.get(Proc::Read).calls, 3 * (39 + 3));
    assert_eq!(want.get(Proc::ReadLink).calls, 3);
    assert_eq!((want.get(Proc::Lookup).calls, want.get(Proc::Access).calls), (0, 0));
    assert_eq!(want.get(Proc::GetAttr).calls, 1 + dirs, "the operand's, and each directory's when it is left");
    for shape in SHAPES {
        crate::copies::assert_asked(want, asked(shape).0, &format!("{shape:?}"));
    }
}

/// With each call failing in turn: it is told, the archive is sound, and what was not touched is in it as it is.
#[test]
fn whatever_call_fails_the_archive_is_sound_and_the_failure_told() {
    let mount = MemoryMount::new();
    let root = mount.root();
    let dir = mount.dir(&root, "d");
    for (i, bytes) in [0, 1, 5000, 70_000].into_iter().enumerate() {
        put(&mount, &mount.file(&dir, format!("f{i}"), b""), 0, &vec![i as u8 + 1; bytes]);
    }
    put(&mount, &mount.file(&dir, "big", b""), 0, &vec![9; (3 << 20) + 5]);
    mount.symlink(&dir, "link", b"f1").unwrap();
    mount.dir(&dir, "sub");
    let mount: Arc<dyn Mount> = Arc::new(mount);
    let whole_one = members(&stream(whole(&shared(vec![mount.clone()])), &Options::default(), &crew(1, 1)).archive);
    for status in [Status::Io, Status::Access, Status::NoEnt] {
        for shape in [(1, 1), (4, 2)] {
            for k in 0.. {
                let faults = Arc::new(Faults::new(Which::Nth(k, None), status));
                let tap: Arc<dyn Tap> = faults.clone();
                let volume = shared(vec![Arc::new(Tapped::new(mount.clone(), vec![tap])) as Arc<dyn Mount>]);
                let made = stream(whole(&volume), &Options::default(), &crew(shape.0, shape.1));
                let context = format!("call {k}, {status:?}, {shape:?}: {:?}", made.failures);
                if faults.failed() == 0 {
                    assert!(k >= 15, "{context}");
                    break;
                }
                let is = members(&made.archive);
                let missing: Vec<_> = whole_one.iter().filter(|member| !is.contains(member)).collect();
                if status == Status::NoEnt && missing.is_empty() && made.failures.is_empty() {
                    // What is there after all is stored at the end; of a directory that was removed nothing was in.
                    let removed = "./d/sub: File removed before we read it";
                    let gone = made.summary.warnings.iter().filter(|told| *told == removed).count() as u64;
                    assert_eq!((is.len(), made.summary.changed), (whole_one.len(), gone), "{context}");
                    continue;
                }
                assert!(!made.failures.is_empty() || made.summary.changed > 0, "{context}");
                if missing.is_empty() {
                    // Nothing was in the directory that could not be listed; of one that cannot be asked it is not known.
                    let unlisted = made.failures.iter().any(|told| told.starts_with("./d/sub: READDIRPLUS"));
                    let told = [".", "./d", "./d/sub"].map(|dir| vec![format!("{dir}: file changed as we read it")]);
                    assert!(unlisted != told.contains(&made.summary.warnings), "{context}");
                    continue;
                }
                assert!(is.len() <= whole_one.len(), "{context}");
                let padded = |path: &str| is.iter().any(|(p, _, data)| p == path && data.contains(&0));
                // A failed listing loses what is in the directory, any other call one object.
                let one = missing.len() == 1 && (padded(&missing[0].0) || is.len() + 1 == whole_one.len());
                let listing = k <= 3 && missing.iter().all(|(path, ..)| is.iter().all(|(p, ..)| p != path));
                assert!(one || listing, "{context}: {:?}", missing.iter().map(|m| &m.0).collect::<Vec<_>>());
            }
        }
    }
}

/// Buffers of earlier READs are used again: a file that cannot be read is never stored with what was read of another.
#[test]
fn a_file_that_cannot_be_read_has_no_other_s_bytes() {
    let mount = MemoryMount::new();
    let dir = mount.dir(&mount.root(), "d");
    for i in 0..9_u8 {
        put(&mount, &mount.file(&dir, format!("f{i}"), b""), 0, &[i + 1; 3000]);
    }
    let mount: Arc<dyn Mount> = Arc::new(mount);
    let whole_one = members(&stream(whole(&shared(vec![mount.clone()])), &Options::default(), &crew(1, 1)).archive);
    for window in [1, 2, 4] {
        for k in 0..9 {
            let tap: Arc<dyn Tap> = Arc::new(Faults::new(Which::Nth(k, Some(Proc::Read)), Status::Unanswered));
            let volume = shared(vec![Arc::new(Tapped::new(mount.clone(), vec![tap])) as Arc<dyn Mount>]);
            let made = stream(whole(&volume), &Options::default(), &crew(1, window));
            let is = members(&made.archive);
            assert!(is.iter().all(|member| whole_one.contains(member)), "READ {k}, windows of {window}");
            assert_eq!((is.len() + 1, made.failures.len()), (whole_one.len(), 1), "READ {k}, windows of {window}");
        }
    }
}

/// Changes a file's size when it is first read.
struct Resize {
    mount: Arc<dyn Mount>,
    to: u64,
    done: AtomicBool,
}

impl Tap for Resize {
    fn before(&self, calls: &[Call<'_>]) {
        for call in calls {
            if let Op::Read { node, count, .. } = &call.op
                && *count >= 50_000
                && !self.done.swap(true, Ordering::Relaxed)
            {
                set(&*self.mount, node, size(self.to));
            }
        }
    }
}

#[test]
fn a_file_that_changes_while_it_is_read_is_padded_or_cut_and_told() {
    for (bytes, to, said) in [
        (50_000, 20_000, "File shrank by 30000 bytes; padding with zeros"),
        (50_000, 90_000, "file changed as we read it"),
        (20_000_000, 20_000, "File shrank by 19980000 bytes; padding with zeros"), // once, of several pieces
    ] {
        let mount = MemoryMount::new();
        mount.file(&mount.root(), "before", b"1");
        put(&mount, &mount.file(&mount.root(), "changing", b""), 0, &vec![5; bytes]);
        mount.file(&mount.root(), "later", b"2");
        let mount: Arc<dyn Mount> = Arc::new(mount);
        let tap: Arc<dyn Tap> = Arc::new(Resize { mount: mount.clone(), to, done: AtomicBool::new(false) });
        let volume = shared(vec![Arc::new(Tapped::new(mount, vec![tap])) as Arc<dyn Mount>]);
        let made = stream(whole(&volume), &Options { sort_by_name: true, ..Options::default() }, &crew(1, 2));
        assert_eq!((made.summary.changed, made.failures.len()), (1, 0));
        assert_eq!(made.summary.warnings, [format!("./changing: {said}")]);
        let is = members(&made.archive);
        let mut data = vec![5; bytes];
        data[usize::min(to as usize, bytes)..].fill(0);
        assert_eq!(is[2].0, "./changing");
        assert!(is[2].2 == data && is[3].2 == b"2", "{to}");
    }
}

#[test]
fn hard_links_beyond_the_bound_become_files_of_their_own() {
    let mount = MemoryMount::new();
    let root = mount.root();
    for i in 0..20 {
        let node = mount.file(&root, format!("a{i:02}"), format!("{i}").as_bytes());
        mount.link(&node, &root, format!("b{i:02}")).unwrap();
    }
    let mount: Arc<dyn Mount> = Arc::new(mount);
    let of = |links_max, hard_dereference| {
        let options = Options { sort_by_name: true, links_max, hard_dereference, ..Options::default() };
        stream(whole(&shared(vec![mount.clone()])), &options, &crew(2, 2)).clean()
    };
    let links = |made: &Made| members(&made.archive).iter().filter(|m| m.1 == MemberKind::HardLink).count();
    let all = of(100, false);
    assert_eq!((links(&all), all.summary.warnings.len()), (20, 0));
    let few = of(5, false);
    assert_eq!((links(&few), few.summary.warnings.len()), (5, 1), "{:?}", few.summary.warnings);
    assert_eq!(links(&of(100, true)), 0);
}

/// GNU tar does so of files with one name as well, for which it remembers all of them.
#[test]
fn a_tree_that_is_stored_twice_has_its_links_twice() {
    let mount = MemoryMount::new();
    let root = mount.root();
    for i in 0..20 {
        let node = mount.file(&root, format!("f{i:02}"), b"x");
        mount.link(&node, &root, format!("f{i:02}.link")).unwrap();
    }
    let volume = shared(vec![Arc::new(mount) as Arc<dyn Mount>]);
    for (links_max, expected) in [(100, 20 + 40), (5, 20 + 20)] {
        let options = Options { sort_by_name: true, several: true, links_max, ..Options::default() };
        let twice = whole(&volume).into_iter().chain(whole(&volume)).collect();
        let made = stream(twice, &options, &crew(2, 2)).clean();
        let links = members(&made.archive).iter().filter(|m| m.1 == MemberKind::HardLink).count();
        assert_eq!((links, made.summary.warnings.len()), (expected, 0), "{links_max}");
    }
}

#[test]
fn names_patterns_and_overrides() {
    let mount = sample();
    let volume = shared(vec![mount]);
    let one = |options: &Options, operands| stream(operands, options, &crew(2, 2));
    let options = Options {
        exclude: Selection::new(&["f*".into(), "deep/empty".into()], &[], false).unwrap(),
        attributes: Attributes {
            owner: Some((b"who".to_vec(), 7)),
            mtime: Some(past(3)),
            numeric: true,
            ..Attributes::default()
        },
        ..Options::default()
    };
    let made = one(&options, vec![named(&volume, "/a/"), named(&volume, "b/deep/link")]).clean();
    assert_eq!(
        made.summary.warnings,
        ["Removing leading `/' from member names", "Removing leading `/' from hard link targets"]
    );
    let mut is = paths(&made.archive);
    is.sort();
    assert_eq!(is, ["a/", "a/another name", "a/deep/", "a/deep/big", "a/deep/link", "b/deep/link"]);
    let mut reader = Archive::new(Input::Seekable(Arc::new(made.archive)), Default::default());
    let member = reader.next().unwrap().unwrap();
    assert_eq!((member.uid, member.mtime, &member.uname[..]), (7, past(3), &b""[..]));
    let flat = Operand { recursive: false, ..named(&volume, "a") };
    let made = one(&Options::default(), vec![flat]).clean();
    assert_eq!(paths(&made.archive), ["a/"]);
    let made = one(&Options::default(), vec![named(&volume, "a/no such"), named(&volume, "b/f3")]);
    assert_eq!(made.failures, ["a/no such: LOOKUP: No such file or directory"]);
    assert_eq!(paths(&made.archive), ["b/f3"]);
}

#[test]
fn members_go_behind_those_that_are_there() {
    let volume = shared(vec![sample()]);
    let first = stream(vec![named(&volume, "a")], &Options::default(), &crew(2, 2)).clean();
    let before = &first.archive[..usize::try_from(first.summary.archive_bytes).unwrap()];
    assert_eq!(before.len() % 512, 0);
    let both = file(vec![named(&volume, "b/f3")], before, &Options::default(), &crew(2, 2)).clean();
    let names = paths(&both.archive);
    assert_eq!((names.len(), names.last().unwrap().as_str()), (paths(&first.archive).len() + 1, "b/f3"));
}

#[test]
fn packed_pieces_unpack_to_the_same_archive() {
    let mount = sample();
    let plain = stream(whole(&shared(vec![mount.clone()])), &Options::default(), &crew(2, 2)).clean();
    for codec in [Codec::Gzip, Codec::Zstd, Codec::Bzip2, Codec::Lz4] {
        let pack = codec.pack(codec.levels().unwrap().0).unwrap();
        let of =
            |lanes| packed(whole(&shared(vec![mount.clone()])), &*pack, &Options::default(), &crew(lanes, 2)).clean();
        let made = of(4);
        assert!(made.archive == of(1).archive, "{codec:?}");
        assert_eq!(Codec::detect(&made.archive), codec);
        let mut unpacked = Vec::new();
        let reader: Box<dyn std::io::Read + Send> = Box::new(std::io::Cursor::new(made.archive));
        codec.decoder(reader).unwrap().read_to_end(&mut unpacked).unwrap();
        assert!(unpacked == plain.archive, "{codec:?}");
    }
}

#[test]
fn a_stream_that_takes_no_more_ends_the_run() {
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if self.0 < bytes.len() {
                return Err(std::io::Error::from_raw_os_error(28));
            }
            self.0 -= bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let volume = shared(vec![sample()]);
    let mut full = Full(3 << 20);
    let crew = crew(4, 2);
    let summary = parfs::jobs::create::create(
        &mut whole(&volume).into_iter().map(Ok),
        parfs::jobs::create::Output::Stream(&mut full),
        None,
        &Options::default(),
        &crate::creates::Numbers,
        &crew,
        &Default::default(),
        &|_| (),
    );
    assert!(summary.archive_error.unwrap().contains("No space left on device"));
    assert_eq!((summary.stopped, crew.budget().held()), (None, 0));
}

/// Refuses READ of some files.
struct Deny(Vec<Node>);

impl Tap for Deny {
    fn admit(&self, call: &Call<'_>) -> Result<(), Status> {
        match &call.op {
            Op::Read { node, .. } if self.0.contains(node) => Err(Status::Access),
            _ => Ok(()),
        }
    }
}

#[test]
fn a_file_that_cannot_be_opened_is_left_out_also_a_large_one() {
    let mount = MemoryMount::new();
    let (secret, big) = (mount.file(&mount.root(), "secret", b"x"), mount.file(&mount.root(), "secret big", b""));
    put(&mount, &big, 0, &vec![1; 5 << 20]);
    mount.file(&mount.root(), "open", b"y");
    let mount: Arc<dyn Mount> = Arc::new(mount);
    let tap: Arc<dyn Tap> = Arc::new(Deny(vec![secret, big]));
    for shape in SHAPES {
        let volume = shared(vec![Arc::new(Tapped::new(mount.clone(), vec![tap.clone()])) as Arc<dyn Mount>]);
        let made = stream(whole(&volume), &Options::default(), &crew(shape.0, shape.1));
        assert_eq!(made.failures, ["./secret: READ: Permission denied", "./secret big: READ: Permission denied"]);
        assert_eq!(paths(&made.archive), ["./", "./open"]);
        assert_eq!(made.summary.members, 2);
    }
}

/// Stops the run at the k-th READ.
pub struct StopAt<'a> {
    pub stop: &'a parfs::crew::Stop,
    pub left: std::sync::atomic::AtomicI64,
}

impl Tap for StopAt<'static> {
    fn before(&self, calls: &[Call<'_>]) {
        for call in calls {
            if let Op::Read { .. } = &call.op
                && self.left.fetch_sub(1, Ordering::Relaxed) == 0
            {
                self.stop.set();
            }
        }
    }
}

/// What is in an archive up to where it ends, with the data that is whole.
fn members_until_its_end(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut reader = Archive::new(Input::Seekable(Arc::new(archive.to_vec())), Default::default());
    let mut found = Vec::new();
    while let Ok(Some(member)) = reader.next() {
        let mut data = vec![0; usize::try_from(member.stored).unwrap()];
        let mut at = 0;
        while at < data.len() {
            match reader.read(&mut data[at..]) {
                Ok(n) if n > 0 => at += n,
                _ => return found,
            }
        }
        found.push((String::from_utf8_lossy(&member.path).into_owned(), data));
    }
    found
}

/// The error at an archive's end.
fn why_it_ends(archive: &[u8]) -> String {
    let mut reader = Archive::new(Input::Seekable(Arc::new(archive.to_vec())), Default::default());
    loop {
        match reader.next() {
            Ok(Some(_)) => {}
            Ok(None) => return "its end".into(),
            Err(error) => return error.to_string(),
        }
    }
}

#[test]
fn a_stopped_run_leaves_the_beginning_of_the_archive_and_no_member_of_zeros() {
    let mount = sample();
    let whole_one: Vec<_> =
        members(&stream(whole(&shared(vec![mount.clone()])), &Options::default(), &crew(1, 1)).archive)
            .into_iter()
            .map(|(path, _, data)| (path, data))
            .collect();
    for (k, shape) in [(0, (1, 1)), (7, (1, 4)), (20, (4, 2)), (60, (16, 4)), (100, (3, 1))] {
        for into_file in [false, true] {
            let crew = Box::leak(Box::new(crew(shape.0, shape.1)));
            let tap: Arc<dyn Tap> = Arc::new(StopAt { stop: crew.stop(), left: k.into() });
            let volume = shared(vec![Arc::new(Tapped::new(mount.clone(), vec![tap])) as Arc<dyn Mount>]);
            let made = match into_file {
                true => file(whole(&volume), b"", &Options::default(), crew),
                false => stream(whole(&volume), &Options::default(), crew),
            };
            assert!(made.summary.stopped.is_some(), "{k} {shape:?}");
            let is = members_until_its_end(&made.archive);
            let so_far = is.len();
            assert!(so_far < whole_one.len() && whole_one.starts_with(&is), "{k} {shape:?} {into_file}: {so_far}");
            assert!(made.told.len() >= is.len(), "{k} {shape:?}");
            // GNU tar and bsdtar take for whole what ends behind a member.
            let why = why_it_ends(&made.archive);
            assert!(why.contains("Unexpected EOF"), "{k} {shape:?} {into_file}: {why}");
        }
    }
}

#[test]
fn each_name_of_a_file_that_cannot_be_read_is_told() {
    let mount = MemoryMount::new();
    let first = mount.file(&mount.root(), "a", b"x");
    mount.link(&first, &mount.root(), "b").unwrap();
    mount.file(&mount.root(), "c", b"y");
    let mount: Arc<dyn Mount> = Arc::new(mount);
    let tap: Arc<dyn Tap> = Arc::new(Deny(vec![first]));
    for shape in SHAPES {
        let volume = shared(vec![Arc::new(Tapped::new(mount.clone(), vec![tap.clone()])) as Arc<dyn Mount>]);
        let options = Options { sort_by_name: true, ..Options::default() };
        let made = stream(whole(&volume), &options, &crew(shape.0, shape.1));
        assert_eq!(made.failures, ["./a: READ: Permission denied", "./b: READ: Permission denied"]);
        assert_eq!(paths(&made.archive), ["./", "./c"]);
    }
}

/// Refuses WRITE in one MiB from an offset on.
pub struct FullFrom(pub u64);

impl Tap for FullFrom {
    fn admit(&self, call: &Call<'_>) -> Result<(), Status> {
        match &call.op {
            Op::Write { offset, .. } if (self.0..self.0 + (1 << 20)).contains(offset) => Err(Status::NoSpc),
            _ => Ok(()),
        }
    }
}

/// Pieces are written at their offsets by all lanes: one that fails must leave nothing behind it.
#[test]
fn a_full_target_leaves_the_beginning_of_the_archive() {
    let mount = sample();
    let whole_one = stream(whole(&shared(vec![mount.clone()])), &Options::default(), &crew(1, 1)).archive;
    for (from, shape) in [(1 << 20, (1, 1)), (2 << 20, (4, 2)), (3 << 20, (16, 4))] {
        let target = Arc::new(MemoryMount::new());
        let node = target.file(&target.root(), "a.tar", b"");
        let tap: Arc<dyn Tap> = Arc::new(FullFrom(from));
        let tapped = shared(vec![Arc::new(Tapped::new(target.clone(), vec![tap])) as Arc<dyn Mount>]);
        let crew = crew(shape.0, shape.1);
        let summary = parfs::jobs::create::create(
            &mut whole(&shared(vec![mount.clone()])).into_iter().map(Ok),
            parfs::jobs::create::Output::File { volume: &tapped, node, at: 0 },
            None,
            &Options::default(),
            &crate::creates::Numbers,
            &crew,
            &Default::default(),
            &|_| (),
        );
        assert!(summary.archive_error.unwrap().contains("No space left on device"));
        let is = crate::tree::content(&*target, "a.tar");
        // Up to the piece that failed, of a mebibyte at most.
        assert!((is.len() as u64).abs_diff(from) <= 1 << 20, "{from} {shape:?}: {} bytes", is.len());
        let same = is.iter().zip(&whole_one).take_while(|(a, b)| a == b).count();
        assert_eq!(same, is.len(), "{from} {shape:?}");
    }
}
