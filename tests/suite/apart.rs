//! Jobs on a volume that locks directories keep lanes apart: what is made is the same, whatever the order it is made in.

use std::fs;
use std::sync::Arc;

use parfs::base::Proc;
use parfs::jobs::copy::Options as CopyOptions;
use parfs::jobs::extract::Options;
use parfs::mounts::{LocalMount, MemoryMount};
use parfs::storage::{Call, Extras, Limits, Mount, Node, Shape, Spread, Tally, Volume};

use crate::copies;
use crate::copy;
use crate::tars::{MTIME, Tar, crew, extract, seekable, volume};
use crate::tree::{assert_same, dump};

const SHAPES: [(usize, usize); 4] = [(1, 1), (1, 4), (4, 1), (16, 4)];

/// A mount that says of itself what a kernel NFS mount says.
struct Locked(Arc<dyn Mount>);

impl Mount for Locked {
    fn root(&self) -> Node {
        self.0.root()
    }
    fn limits(&self) -> Limits {
        Limits { dirs_locked: true, extras: Extras::default(), ..self.0.limits() }
    }
    fn perform(&self, calls: &mut [Call<'_>]) {
        self.0.perform(calls);
    }
    fn issued(&self) -> Option<Tally> {
        self.0.issued()
    }
    fn label(&self) -> String {
        "locked".into()
    }
}

fn locked() -> (Arc<MemoryMount>, Volume) {
    let memory = Arc::new(MemoryMount::new());
    let volume = Volume::new(vec![Arc::new(Locked(memory.clone()))], Spread::default());
    assert!(volume.limits().dirs_locked);
    (memory, volume)
}

/// Directories of unequal size, in each other, that the archive comes back to; names that occur twice; links.
fn archive() -> Vec<u8> {
    let mut tar = Tar::default();
    for round in 0..3 {
        for d in 0..9 {
            for i in 0..d * d {
                let path = format!("d{d}/e{}/f{i}-{}", i % 3, round.min(i % 2));
                tar = tar.file_at(&path, vec![d as u8; 100 * round + i], MTIME + i as u64);
            }
            for e in 0..(d * d).min(3) {
                tar = tar.dir(&format!("d{d}/e{e}/"));
            }
            tar = tar.dir_mode(&format!("d{d}/"), 0o750 + d as u32 % 8);
        }
        tar = tar.symlink(&format!("d8/l{round}"), "../x").link(&format!("d8/h{round}"), "d8/e0/f0-0");
        let big: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
        tar = tar.file("d3/big", &big[round..]);
    }
    tar.dir("./").bytes()
}

#[test]
fn an_archive_makes_the_same_tree() {
    let options = Options { mode_mask: 0, range_bytes: 256 << 10, dirs_max: 7, ..Options::default() };
    let bytes = archive();
    let plain = Arc::new(MemoryMount::new());
    let ran = extract(&volume(&plain), seekable(bytes.clone()), &options, &crew(4, 4)).clean();
    for shape in SHAPES {
        let (memory, volume) = locked();
        let apart = extract(&volume, seekable(bytes.clone()), &options, &crew(shape.0, shape.1)).clean();
        assert_same(&dump(&*plain), &dump(&*memory), &format!("{shape:?}"));
        assert_eq!(ran.done, apart.done, "members are told in the archive's order");
    }
}

#[test]
fn a_copy_is_the_same_tree() {
    let source = copy::bed();
    let options = Options { mode_mask: 0, ..Options::default() };
    extract(&source.volume, seekable(archive()), &options, &crew(4, 4)).clean();
    for (lanes, window) in SHAPES {
        let (memory, volume) = locked();
        let done = copy::run(&source.volume, &volume, &CopyOptions::default(), Shape { lanes, window });
        assert_eq!(done.failures, [""; 0]);
        assert_same(&dump(&*source.memory), &dump(&*memory), &format!("{lanes} {window}"));
    }
}

/// A program has a file open through the mount that was named, whose kernel knows that; through another one its data would go.
#[test]
fn what_is_replaced_goes_through_the_first_mount() {
    for (atomic, replacing) in [(true, Proc::Rename), (false, Proc::Remove)] {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for d in 0..4 {
            fs::create_dir_all(from.path().join(format!("d{d}"))).unwrap();
            fs::create_dir_all(to.path().join(format!("d{d}"))).unwrap();
            for f in 0..20 {
                fs::write(from.path().join(format!("d{d}/f{f}")), "new").unwrap();
                fs::write(from.path().join(format!("d{d}/g{f}")), "new").unwrap();
                // With a further name it is not written into.
                fs::write(to.path().join(format!("d{d}/f{f}")), "older").unwrap();
                fs::hard_link(to.path().join(format!("d{d}/f{f}")), to.path().join(format!("h{d}.{f}"))).unwrap();
            }
        }
        let (views, ledgers): (Vec<_>, Vec<_>) =
            (0..3).map(|_| copies::counted(Arc::new(Locked(Arc::new(LocalMount::open(to.path()).unwrap()))))).unzip();
        let source = copies::volume(vec![Arc::new(LocalMount::open(from.path()).unwrap())]);
        let target = copies::volume(views);
        assert!(target.is_late());
        let options = CopyOptions { atomic, ..CopyOptions::default() };
        copies::run(&source, &target, &options, &copies::crew(8, 4)).clean();
        let calls = |proc| ledgers.iter().map(|ledger| ledger.tally().get(proc).calls).collect::<Vec<_>>();
        let made = calls(Proc::Create);
        assert!(made.iter().all(|calls| *calls > 0) && made.iter().sum::<u64>() == 160, "{made:?}");
        // New files are renamed through the mount that made them.
        let new = if atomic { 80 } else { 0 };
        let calls = calls(replacing);
        assert_eq!((calls[0] >= 80, calls.iter().sum::<u64>()), (true, 80 + new), "{calls:?}");
        assert!((0..80).all(|i| fs::read(to.path().join(format!("d{}/f{}", i % 4, i / 4))).unwrap() == b"new"));
    }
}

/// Also where directories of an archive take the places of files.
#[test]
fn what_directories_of_an_archive_replace_goes_through_the_first_mount() {
    let to = tempfile::tempdir().unwrap();
    let mut tar = Tar::default();
    for d in 0..40 {
        fs::write(to.path().join(format!("d{d}")), "a file").unwrap();
        tar = tar.dir(&format!("d{d}/")).file(&format!("d{d}/f"), b"new");
    }
    let (views, ledgers): (Vec<_>, Vec<_>) =
        (0..3).map(|_| copies::counted(Arc::new(Locked(Arc::new(LocalMount::open(to.path()).unwrap()))))).unzip();
    let options = Options { mode_mask: 0, ..Options::default() };
    extract(&copies::volume(views), seekable(tar.bytes()), &options, &crew(8, 1)).clean();
    let removed: Vec<u64> = ledgers.iter().map(|ledger| ledger.tally().get(Proc::Remove).calls).collect();
    assert_eq!(removed, [40, 0, 0]);
    assert!((0..40).all(|d| fs::read(to.path().join(format!("d{d}/f"))).unwrap() == b"new"));
}
