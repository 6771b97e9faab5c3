//! The books of an extraction: what it asks of storage is the least there is, and does not depend on how parallel it is.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::sync::{Arc, Mutex};
use std::time::Duration;

use parfs::base::{PriceList, Proc};
use parfs::crew::Crew;
use parfs::jobs::extract::{Existing, Options};
use parfs::mounts::MemoryMount;
use parfs::storage::{Call, Ledger, Mount, Shape, Spread, Tally, Tap, Tapped, Volume};

use crate::tars::{Ran, Tar, crew, extract, pipe, seekable, volume};
use crate::tree::{dump, timeless};

const SHAPES: [(usize, usize); 5] = [(1, 1), (1, 4), (4, 1), (8, 4), (32, 4)];

fn flat(files: usize) -> Tar {
    let tar = Tar::default().dir("flat/");
    (0..files).fold(tar, |tar, i| tar.file(&format!("flat/{i}"), vec![1; 1 + i * 37]))
}

fn archives() -> Vec<(&'static str, Tar)> {
    let deep = (0..40).fold(Tar::default(), |tar, i| {
        let dir = format!("a/{}", "d/".repeat(i));
        tar.dir(&dir).file(&format!("{dir}f"), "deep").symlink(&format!("{dir}s"), "f")
    });
    let implied = (0..60).fold(Tar::default(), |tar, i| tar.file(&format!("x/{}/y/{}", i % 7, i), "implied"));
    let late = (0..20).fold(implied.clone(), |tar, i| tar.dir(&format!("x/{}/", i % 7)).file(&format!("x/{i}/z"), ""));
    let links = (0..30).fold(flat(5), |tar, i| {
        tar.link(&format!("l/{i}"), &format!("flat/{}", i % 5)).link(&format!("l/{i}again"), &format!("l/{i}"))
    });
    let big = (0..4).fold(Tar::default(), |tar, i| tar.file(&format!("big{i}"), vec![i; 2_500_000 + i as usize]));
    let big = big.sparse("sparse", 50_000_000, &[(5, &[1; 400_000]), (40_000_000, &[2; 400_000])]);
    vec![("flat", flat(60)), ("deep", deep), ("implied", implied), ("late", late), ("links", links), ("big", big)]
}

fn options() -> Options {
    Options { range_bytes: 1 << 20, ..Options::default() }
}

/// Extracts onto `mounts` views of one file system; what was asked of each together.
fn asked(
    tar: &Tar,
    mounts: usize,
    spread: Spread,
    options: &Options,
    shape: (usize, usize),
) -> (Tally, Ran, Arc<MemoryMount>) {
    let memory = Arc::new(MemoryMount::new());
    let (tally, ran) = asked_of(&memory, tar, mounts, spread, options, shape);
    (tally, ran, memory)
}

fn asked_of(
    memory: &Arc<MemoryMount>,
    tar: &Tar,
    mounts: usize,
    spread: Spread,
    options: &Options,
    shape: (usize, usize),
) -> (Tally, Ran) {
    let ledgers: Vec<Arc<Ledger>> = (0..mounts).map(|_| Arc::default()).collect();
    let seats = ledgers.iter().map(|l| Arc::new(Tapped::new(memory.clone(), vec![l.clone()])) as Arc<dyn Mount>);
    let volume = Volume::new(seats.collect(), spread);
    let ran = extract(&volume, pipe(tar.bytes()), options, &crew(shape.0, shape.1));
    (ledgers.iter().map(|l| l.tally()).sum(), ran)
}

#[test]
fn law_1_asked_does_not_depend_on_lanes_window_or_spread() {
    for (name, tar) in archives() {
        let (serial, ran, memory) = asked(&tar, 1, Spread::First, &options(), (1, 1));
        ran.clean();
        let expected = timeless(dump(&*memory));
        for shape in SHAPES {
            for (mounts, spread) in [(1, Spread::First), (3, Spread::RoundRobin), (4, Spread::LeastLoaded)] {
                let (tally, ran, memory) = asked(&tar, mounts, spread, &options(), shape);
                ran.clean();
                assert_eq!(tally, serial, "{name} {shape:?} {spread:?}");
                assert_eq!(timeless(dump(&*memory)), expected, "{name} {shape:?} {spread:?}");
            }
        }
    }
}

#[test]
fn law_1_holds_for_a_second_run_over_the_first() {
    for (name, tar) in archives() {
        for existing in [Existing::Replace, Existing::UnlinkFirst, Existing::Skip, Existing::Overwrite, Existing::Keep]
        {
            let again = Options { existing, ..options() };
            let mut first = None;
            for shape in SHAPES {
                let (_, _, memory) = asked(&tar, 1, Spread::First, &options(), (4, 4));
                let (tally, ran) = asked_of(&memory, &tar, 2, Spread::RoundRobin, &again, shape);
                let said = (tally, ran.failures, ran.summary.skipped);
                assert_eq!(*first.get_or_insert_with(|| said.clone()), said, "{name} {existing:?} {shape:?}");
            }
        }
    }
}

#[test]
fn a_small_file_costs_three_calls_and_so_does_a_directory() {
    for shape in SHAPES {
        let (tally, ran, _) = asked(&flat(50), 2, Spread::LeastLoaded, &options(), shape);
        ran.clean();
        let calls = |proc| tally.get(proc).calls;
        assert_eq!(
            (calls(Proc::Create), calls(Proc::Write), calls(Proc::SetAttr), calls(Proc::MkDir)),
            (50, 50, 51, 1)
        );
        // The directory is looked up when all is in it.
        assert_eq!((calls(Proc::Lookup), tally.calls()), (1, 3 * 50 + 3));
        assert_eq!(tally.price(&PriceList::oci()), 10 * 50 + 4 + 2 + 2);
        // Without times: no SETATTR at all, where the modes are as they were made.
        let (tally, ..) = asked(&flat(50), 1, Spread::First, &Options { mtime: false, ..options() }, shape);
        assert_eq!(tally.calls(), 2 * 50 + 2);
        // An empty file is not written.
        let tar = Tar::default().file("empty", "").symlink("s", "x").special("p", b'6');
        let (tally, ..) = asked(&tar, 1, Spread::First, &options(), shape);
        assert_eq!(tally.calls(), 6);
    }
}

#[test]
fn a_file_in_ranges_costs_one_commit_a_range() {
    let tar = Tar::default().file("big", vec![9; (5 << 20) + 1]);
    let mib = MemoryMount::new().limits().write_max as usize;
    let ranges = Options { range_bytes: 2 * mib as u64, ..Options::default() };
    let (tally, ran, _) = asked(&tar, 1, Spread::First, &ranges, (4, 4));
    ran.clean();
    let writes = ((5 << 20) + 1usize).div_ceil(mib) as u64;
    assert_eq!(tally.get(Proc::Write).calls, writes);
    // The last range is one write, which is stable by itself.
    assert_eq!(tally.get(Proc::Commit).calls, ((5 << 20) + 1u64).div_ceil(2 * mib as u64) - u64::from(writes % 2 == 1));
    assert_eq!((tally.get(Proc::Create).calls, tally.get(Proc::SetAttr).calls), (1, 1));
}

#[test]
fn links_cost_lookup_and_link() {
    let tar = (0..20).fold(flat(1), |tar, i| tar.link(&format!("flat/l{i}"), "flat/0"));
    for shape in SHAPES {
        let (tally, ran, _) = asked(&tar, 1, Spread::First, &options(), shape);
        ran.clean();
        assert_eq!((tally.get(Proc::Lookup).calls, tally.get(Proc::Link).calls), (20 + 1, 20));
        assert_eq!(tally.calls(), 3 + 3 + 40);
    }
}

#[test]
fn memory_held_stays_within_any_budget() {
    let tar = (0..20).fold(flat(40), |tar, i| tar.file(&format!("b{i}"), vec![i; 120_000]));
    let tar = tar.file("big", vec![1; 3_000_000]).bytes();
    for budget in [1, 1000, 300_000, 4 << 20] {
        for input in [seekable(tar.clone()), pipe(tar.clone())] {
            let memory = Arc::new(MemoryMount::new());
            let crew = Crew::new(Shape { lanes: 8, window: 4 }, budget).unwrap();
            let ran = extract(&volume(&memory), input, &options(), &crew).clean();
            assert_eq!(ran.summary.files, 61);
            assert!(crew.budget().held_most() <= budget);
        }
    }
}

/// Holds a window back, and notes what it took.
#[derive(Default)]
struct Holds(Mutex<Duration>);

const HELD: Duration = Duration::from_millis(400);

impl Tap for Holds {
    fn before(&self, _calls: &[Call<'_>]) {
        std::thread::sleep(HELD);
    }

    fn after(&self, _calls: &[Call<'_>], took: Duration) {
        *self.0.lock().unwrap() += took;
    }
}

#[test]
fn what_a_throttle_holds_back_is_not_the_mounts_time() {
    let holds = Arc::new(Holds::default());
    let mount = Tapped::new(Arc::new(MemoryMount::new()), vec![holds.clone() as Arc<dyn Tap>]);
    mount.perform(&mut [Call::get_attr(&mount.root())]);
    let took = *holds.0.lock().unwrap();
    assert!(!took.is_zero() && took < HELD, "{took:?}");
}
