//! Trees that change while they are archived: what the archive may lack is told.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parfs::archive::MemberKind;
use parfs::base::Name;
use parfs::jobs::create::{Follow, Operand, Options, Unfollowed};
use parfs::mounts::{LocalMount, MemoryMount};
use parfs::storage::{Call, Mount, Op, Volume};

use crate::ask::Ask;
use crate::copies::crew;
use crate::create::members;
use crate::creates::{Made, named, shared, stream, whole};
use crate::nasty::{put, set_time};
use crate::remove_odd::{Odd, pass};

/// An archive of `z/deep` with two files; `meddle` comes when all is listed, before the first file is read.
fn meddled(meddle: impl Fn(&MemoryMount) + Send + Sync + 'static, shape: (usize, usize)) -> Made {
    let mount = Arc::new(MemoryMount::new());
    let deep = mount.dir(&mount.dir(&mount.root(), "z"), "deep");
    mount.file(&deep, "moved", b"data");
    mount.file(&deep, "read", b"read");
    let done = AtomicBool::new(false);
    let tree = mount.clone();
    let odd = Odd::new(&mount, move |mount, call| {
        if matches!(call.op, Op::Read { .. }) && !done.swap(true, Ordering::Relaxed) {
            meddle(&tree);
        }
        pass(mount, call);
    });
    stream(whole(&shared(vec![odd as Arc<dyn Mount>])), &Options::default(), &crew(shape.0, shape.1))
}

/// GNU tar tells so of each directory whose ctime has changed.
#[test]
fn directories_that_change_behind_their_listing_are_told() {
    let of = |mount: &MemoryMount, at: &[&str]| {
        at.iter().fold(mount.root(), |dir, name| mount.lookup(&dir, name).unwrap().node)
    };
    for shape in [(1, 1), (2, 4)] {
        let moved = move |mount: &MemoryMount| {
            mount.rename(&of(mount, &["z", "deep"]), "moved", &of(mount, &["z"]), "moved").unwrap();
        };
        let made = meddled(moved, shape);
        // What it was taken out of is whole in the archive.
        assert_eq!(
            (made.summary.changed, &made.summary.warnings[..]),
            (1, &["./z: file changed as we read it".into()][..])
        );
        for (at, dir) in [(&["z", "deep"][..], "./z/deep"), (&["z"], "./z"), (&[], ".")] {
            let made = meddled(move |mount| drop(mount.file(&of(mount, at), "new", b"")), shape);
            assert_eq!((made.summary.changed, made.failures.len()), (1, 0));
            assert_eq!(made.summary.warnings, [format!("{dir}: file changed as we read it")]);
        }
        meddled(|_| {}, shape).clean();
    }
}

/// One GETATTR for each directory, however many lanes there are.
#[test]
fn a_directory_is_asked_for_once_more_and_a_file_is_not() {
    for shape in [(1, 1), (1, 4), (4, 4)] {
        let mount = MemoryMount::new();
        for i in 0..30 {
            let dir = mount.dir(&mount.root(), format!("d{i}"));
            (0..i).for_each(|f| drop(mount.file(&dir, format!("f{f}"), b"x")));
        }
        let gets = Arc::new(AtomicUsize::new(0));
        let count = gets.clone();
        let odd = Odd::new(&Arc::new(mount), move |mount, call| {
            count.fetch_add(usize::from(matches!(call.op, Op::GetAttr { .. })), Ordering::Relaxed);
            pass(mount, call);
        });
        stream(whole(&shared(vec![odd as Arc<dyn Mount>])), &Options::default(), &crew(shape.0, shape.1)).clean();
        // And one for the operand.
        assert_eq!(gets.load(Ordering::Relaxed), 1 + 31, "{shape:?}");
    }
}

/// A writer may put the time of modification back; ctime is the kernel's.
#[test]
fn a_file_whose_time_is_put_back_while_it_is_read_is_told() {
    let mount = Arc::new(MemoryMount::new());
    let big = mount.file(&mount.root(), "big", b"");
    put(&*mount, &big, 0, &vec![1; 20_000_000]);
    let tree = mount.clone();
    let reads = AtomicUsize::new(0);
    let odd = Odd::new(&mount, move |mount, call| {
        if matches!(call.op, Op::Read { .. }) && reads.fetch_add(1, Ordering::Relaxed) == 5 {
            let was = tree.lookup(&tree.root(), "big").unwrap().attr.unwrap().mtime;
            put(&*tree, &big, 0, &vec![2; 20_000_000]);
            set_time(&*tree, &big, was);
        }
        pass(mount, call);
    });
    let made = stream(whole(&shared(vec![odd as Arc<dyn Mount>])), &Options::default(), &crew(1, 2));
    assert_eq!((made.summary.changed, made.failures.len()), (1, 0));
    assert_eq!(made.summary.warnings, ["./big: file changed as we read it"]);
}

/// A new name of a file changes its ctime; before its turn that is nothing to be told.
#[test]
fn a_file_that_gets_another_name_before_it_is_read_has_not_changed() {
    let mount = Arc::new(MemoryMount::new());
    let files: Vec<_> = (0..5).map(|i| mount.file(&mount.root(), format!("f{i}"), b"data")).collect();
    let elsewhere = mount.dir(&mount.root(), "elsewhere");
    let tree = mount.clone();
    let done = AtomicBool::new(false);
    let odd = Odd::new(&mount, move |mount, call| {
        if matches!(call.op, Op::Read { .. }) && !done.swap(true, Ordering::Relaxed) {
            for (i, file) in files.iter().enumerate() {
                tree.link(file, &elsewhere, format!("f{i}")).unwrap();
            }
        }
        pass(mount, call);
    });
    let volume = shared(vec![odd as Arc<dyn Mount>]);
    let operands = (0..5).map(|i| named(&volume, &format!("f{i}"))).collect();
    stream(operands, &Options::default(), &crew(2, 2)).clean();
}

/// By its name, another file would be found by then.
#[test]
fn a_large_file_that_is_replaced_is_read_to_its_end() {
    const SIZE: usize = 20 << 20;
    let dir = tempfile::tempdir().unwrap();
    let big = dir.path().join("big");
    std::fs::write(&big, vec![1; SIZE]).unwrap();
    let reads = AtomicUsize::new(0);
    let odd = Odd::new(&Arc::new(LocalMount::open(dir.path()).unwrap()), move |mount, call| {
        let Op::Read { node, .. } = &call.op else { return pass(mount, call) };
        let node = node.clone();
        if reads.fetch_add(1, Ordering::Relaxed) == 3 {
            // As a lane that is ahead would.
            let mut last = Call::read(&node, SIZE as u64 - 10, 4096, Vec::new());
            pass(mount, &mut last);
            std::fs::write(big.with_extension("new"), vec![2; 100]).unwrap();
            std::fs::rename(big.with_extension("new"), &big).unwrap();
        }
        pass(mount, call);
    });
    let volume = shared(vec![odd as Arc<dyn Mount>]);
    let made = stream(vec![named(&volume, "big")], &Options::default(), &crew(1, 1));
    let is = members(&made.archive);
    assert!(is[0].2 == vec![1; SIZE], "{:?}", made.summary);
    // Its name has gone, which changes its ctime.
    assert_eq!(made.summary.warnings, ["big: file changed as we read it"]);
}

/// Follows the links of one volume to what their texts say in its root.
struct InRoot(Arc<Volume>);

impl Follow for InRoot {
    fn follow(&self, path: &[u8]) -> Result<(Arc<Volume>, Vec<Name>), Unfollowed> {
        let name = path.rsplit(|byte| *byte == b'/').next().and_then(|name| name.strip_prefix(b"to-")).unwrap();
        Ok((self.0.clone(), vec![Name::new(name).unwrap()]))
    }
}

/// Where links are followed, files with one name are remembered too, as in GNU tar; they make room for those with several.
#[test]
fn files_with_one_name_leave_room_for_those_with_several() {
    let mount = MemoryMount::new();
    let root = mount.root();
    for i in 0..50 {
        mount.file(&root, format!("a{i:02}"), b"one");
    }
    for i in 0..4 {
        let node = mount.file(&root, format!("b{i}"), b"several");
        mount.link(&node, &root, format!("c{i}")).unwrap();
    }
    mount.symlink(&root, "to-a49", b"a49").unwrap();
    mount.symlink(&root, "to-a00", b"a00").unwrap();
    let volume = shared(vec![Arc::new(mount) as Arc<dyn Mount>]);
    let linked = |links_max| {
        let follow = Arc::new(InRoot(volume.clone()));
        let operands: Vec<Operand> =
            whole(&volume).into_iter().map(|one| Operand { follow: Some(follow.clone()), ..one }).collect();
        let options = Options { sort_by_name: true, links_max, ..Options::default() };
        let made = stream(operands, &options, &crew(1, 1)).clean();
        assert_eq!(made.summary.warnings, [""; 0]);
        let links = members(&made.archive).into_iter().filter(|member| member.1 == MemberKind::HardLink);
        links.map(|member| member.0).collect::<Vec<_>>()
    };
    assert_eq!(linked(10), ["./c0", "./c1", "./c2", "./c3", "./to-a49"]);
    assert_eq!(linked(100), ["./c0", "./c1", "./c2", "./c3", "./to-a00", "./to-a49"]);
}
