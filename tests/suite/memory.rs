//! What removals and copies hold at once: bounded by the depth and width of a tree, not by its size. Judged by counts of tasks and names;
//! `benches/jobs` shows the bytes.

use std::sync::Arc;
use std::time::Duration;

use parfs::base::Proc;
use parfs::crew::Crew;
use parfs::jobs::Live;
use parfs::jobs::copy::{self, Side, What, copy};
use parfs::jobs::remove::{self, Operand, remove};
use parfs::storage::{Mount, Shape, Spread, Volume};

use crate::imagined::{Imagined, Plan};

const SHAPE: Shape = Shape { lanes: 4, window: 4 };
/// Entries of a page, at most: 64 KiB of 200 bytes each.
const PAGE_ENTRIES: u64 = 328;
/// Tasks of work beyond which listings rest.
const LOW_WATER: u64 = 256;

fn plan(dirs: u64, fan: u64, files: u64) -> Plan {
    Plan { dirs, fan, files, reverse: false, empty: false, latency: Duration::ZERO }
}

/// Some 200,000 entries each.
fn plans() -> [Plan; 4] {
    [plan(201, 200, 1000), plan(40_000, 4, 5), plan(1, 1, 200_000), plan(30_001, 30_000, 5)]
}

fn volume(plan: Plan) -> (Arc<Imagined>, Volume) {
    let mount = Arc::new(Imagined::new(plan));
    let shared: Arc<dyn Mount> = mount.clone();
    (mount, Volume::new(vec![shared], Spread::default()))
}

/// At each level the pages of the listings that the lanes have in hand there.
fn waiting_max(plan: &Plan) -> u64 {
    let page = PAGE_ENTRIES.min(plan.fan.min(plan.dirs - 1) + plan.files);
    SHAPE.in_flight() as u64 * page * (plan.depth() + 1) + LOW_WATER
}

fn copied(plan: Plan, target: Plan, options: copy::Options) -> (copy::Summary, Arc<Imagined>) {
    let ((_, from), (target, to)) = (volume(plan), volume(target));
    let crew = Crew::new(SHAPE, 64 << 20).unwrap();
    let side = |volume| Side { volume, way: Vec::new(), fs_root: true, shown: b"side".to_vec() };
    let done = copy(&side(&from), &side(&to), What::Tree, &options, &crew, &Live::default(), None);
    assert_eq!(crew.report().count(), 0, "{plan:?} {:?}", crew.report().failures().first());
    (done, target)
}

#[test]
fn a_removal_holds_pages_not_trees() {
    for plan in plans() {
        let (mount, volume) = volume(plan);
        let crew = Crew::new(SHAPE, 64 << 20).unwrap();
        let root = Operand {
            dir: volume.root(),
            way: Vec::new(),
            shown: b"/".to_vec(),
            contents: true,
            fs_root: true,
            dir_fsid: None,
            must_be_dir: false,
        };
        let mut operands = std::iter::once(Ok(root));
        let options = remove::Options::default();
        let done = remove(&volume, &mut operands, &options, &crew, &Live::default(), None);
        assert_eq!((done.files, done.dirs), (plan.all_files(), plan.dirs - 1), "{plan:?}");
        assert_eq!((mount.failed(), mount.count(Proc::Lookup)), (0, 0), "{plan:?}");
        let waited = done.waited_most as u64;
        assert!(waited <= waiting_max(&plan), "{plan:?}: {waited} tasks waited");
    }
}

#[test]
fn a_copy_holds_pages_not_trees() {
    for plan in plans() {
        let (done, target) = copied(plan, Plan { empty: true, ..plan }, copy::Options::default());
        assert_eq!((done.files, target.count(Proc::Create)), (plan.all_files(), plan.all_files()), "{plan:?}");
        let waited = done.waited_most as u64;
        assert!(waited <= waiting_max(&plan), "{plan:?}: {waited} tasks waited");
    }
}

#[test]
fn sides_that_list_in_one_order_hold_no_names() {
    for plan in plans() {
        let (done, target) = copied(plan, plan, copy::Options::default());
        assert_eq!((done.unchanged, done.joined_most), (plan.all_files() + plan.dirs, 0), "{plan:?}");
        assert_eq!((target.count(Proc::Lookup), target.count(Proc::Create)), (0, 0), "{plan:?}");
        let waited = done.waited_most as u64;
        assert!(waited <= waiting_max(&plan), "{plan:?}: {waited} tasks waited");
    }
}

#[test]
fn sides_that_list_in_contrary_orders_hold_no_more_names_than_allowed() {
    for plan in plans() {
        let options = copy::Options { join_max: 5_000, ..copy::Options::default() };
        let (done, target) = copied(plan, Plan { reverse: true, ..plan }, options);
        assert_eq!(done.unchanged, plan.all_files() + plan.dirs, "{plan:?}");
        assert_eq!(target.count(Proc::Create), 0, "{plan:?}");
        // Each lane may add a page of each side before it sees that there are too many.
        let most = 5_000 + SHAPE.in_flight() as u64 * 2 * PAGE_ENTRIES;
        assert!(done.joined_most as u64 <= most, "{plan:?}: {} names", done.joined_most);
        let waited = done.waited_most as u64;
        assert!(waited <= waiting_max(&plan) + most, "{plan:?}: {waited} tasks waited");
        if plan.dirs == 1 {
            assert!(target.count(Proc::Lookup) > 190_000, "names that were forgotten are looked up");
        }
    }
}
