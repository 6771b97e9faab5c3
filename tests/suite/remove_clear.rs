//! CLEAR: a local directory's files go while it is listed. What goes, what is left for other calls, how it is counted, and when nobody
//! may ask for it.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parfs::base::price::Ceiling;
use parfs::base::{PriceList, Status};
use parfs::crew::{Crew, Stop};
use parfs::jobs::Live;
use parfs::jobs::remove::{Excluded, Options, Summary, remove};
use parfs::mounts::{LocalMount, ShadowMount};
use parfs::storage::{
    AttrChange, Beyond, Call, Cookie, How, Ledger, Mount, Node, Op, Stable, Tap, Tapped, Throttle, Trace, Want,
};
use rustix::fs::{IFlags, ioctl_setflags};

use crate::remove::{do_one, find, name, operand, plant, plant_tree, remove_paths};
use crate::remove_odd::{Odd, pass};
use crate::tars::{at, crew, volume};
use crate::tree::dump;

/// The directory as a mount. What is made through it stays open there: another one removes.
fn local(dir: &Path) -> Arc<LocalMount> {
    Arc::new(LocalMount::open(dir).unwrap())
}

/// Removes `top` without a word of each object.
fn silently(mount: &Arc<impl Mount + 'static>, options: &Options, crew: &Crew) -> (Summary, Vec<String>) {
    let volume = volume(mount);
    let mut operands = [Ok(operand(&volume, "top"))].into_iter();
    let summary = remove(&volume, &mut operands, options, crew, &Live::default(), None);
    (summary, crew.report().failures().iter().map(ToString::to_string).collect())
}

/// How many directories were cleared, and what went with that; stops the run after some calls.
#[derive(Default)]
struct Cleared {
    dirs: AtomicU64,
    gone: AtomicU64,
    calls: AtomicU64,
    stop: Option<(Stop, u64)>,
}

impl Cleared {
    fn get(&self) -> (u64, u64) {
        (self.dirs.load(Ordering::Relaxed), self.gone.load(Ordering::Relaxed))
    }
}

impl Tap for Cleared {
    fn sees_each(&self) -> bool {
        false
    }

    fn after(&self, calls: &[Call<'_>], _took: Duration) {
        for call in calls {
            let clears = matches!(call.op, Op::Beyond(Beyond::Clear { .. }));
            self.dirs.fetch_add(u64::from(clears), Ordering::Relaxed);
            self.gone.fetch_add(call.gone(), Ordering::Relaxed);
            if let Some((stop, at)) = &self.stop
                && self.calls.fetch_add(1, Ordering::Relaxed) == *at
            {
                stop.set();
            }
        }
    }
}

/// 5 directories of 70 files, a link and a directory each, and one of more than three pages, with links and fifos in it.
fn planted(dir: &Path) {
    let mount = &*local(dir);
    plant_tree(mount, "top", 5, 0);
    plant(mount, &["top/wide/", "top/wide/sub/", "top/wide/link -> ../..", "out/", "out/keep", "top/out -> ../out"]);
    // Names of one file: ext4 looks long for a new file's place where many have just been removed.
    let file = |path: String| std::fs::hard_link(dir.join("out/keep"), dir.join("top").join(path)).unwrap();
    (0..5 * 70).for_each(|i| file(format!("d{}/f{i}", i % 5)));
    (0..1100).for_each(|i| file(format!("wide/f{i}")));
    ["wide/sub/f", "wide/.nfs0000000000000001"].map(String::from).into_iter().for_each(file);
}

#[test]
fn what_goes_with_its_listing_is_counted_as_if_it_went_by_itself() {
    for shape in [(1, 1), (4, 2)] {
        let run = |more: Option<Arc<dyn Tap>>| {
            let dir = tempfile::tempdir().unwrap();
            let (mount, ledger, cleared) =
                (local(dir.path()), Arc::new(Ledger::default()), Arc::new(Cleared::default()));
            planted(dir.path());
            let before = mount.issued().unwrap();
            let taps = [ledger.clone() as Arc<dyn Tap>, cleared.clone()].into_iter().chain(more);
            let view = Arc::new(Tapped::new(mount.clone(), taps.collect()));
            let (summary, failures) = silently(&view, &Options::default(), &crew(shape.0, shape.1));
            assert_eq!((failures, summary.stopped), (vec![], None));
            let (tally, issued) = (ledger.tally(), mount.issued().unwrap() - before);
            let left: BTreeSet<String> = dump(&*mount).into_keys().collect();
            assert_eq!(left, ["", "out", "out/keep"].map(String::from).into());
            assert_eq!(tally, issued, "{shape:?}");
            assert_eq!((summary.files, summary.dirs, summary.relisted), (5 * 71 + 1 + 1103, 13, 0));
            assert_eq!(summary.leftovers, Vec::<Vec<u8>>::new());
            (cleared.get(), tally)
        };
        let ((dirs, gone), by_clearing) = run(None);
        let (nothing, one_by_one) = run(Some(Arc::new(Trace::new(1))));
        assert_eq!(nothing, (0, 0), "who sees each call hears of each");
        assert_eq!(dirs, 13, "top, d0 to d4 with an empty one each, wide and sub");
        // Of the wide one the first page, of about 330 entries; of each at least 32, after which a slow one is left.
        assert!((6 * 32..5 * 71 + 2 + 400).contains(&gone), "{gone}");
        assert_eq!(by_clearing, one_by_one);
    }
}

#[test]
fn who_leaves_something_or_hears_of_each_clears_nothing() {
    let run = |options: Options, says: bool| {
        let dir = tempfile::tempdir().unwrap();
        let (mount, cleared) = (local(dir.path()), Arc::new(Cleared::default()));
        plant_tree(&*local(dir.path()), "top", 2, 3);
        let view = Arc::new(Tapped::new(mount, vec![cleared.clone()]));
        match says {
            true => drop(remove_paths(&view, &["top"], &options, &crew(2, 2)).clean()),
            false => assert_eq!(silently(&view, &options, &crew(2, 2)).1, [""; 0]),
        }
        cleared.get()
    };
    // --max-iops holds each REMOVE back.
    let ceiling = Ceiling { iops: 1e6, bytes_per_s: f64::INFINITY, latency: Duration::ZERO };
    let held: Arc<dyn Tap> = Arc::new(Throttle::new(ceiling, PriceList::oci(), Arc::default()));
    assert!(!Tapped::new(local(Path::new("/")), vec![held]).limits().extras.clears);
    let excluded = Excluded::anywhere(&["f1"]).unwrap();
    assert_eq!(run(Options { excluded, ..Options::default() }, false), (0, 0));
    assert_eq!(run(Options { older_than: Some(at(2_000_000_000)), ..Options::default() }, false), (0, 0));
    assert_eq!(run(Options::default(), true), (0, 0));
    assert_eq!(run(Options::default(), false), (5, 8));
}

/// The directory itself is looked through once more at the end, by its names.
#[test]
fn a_directory_that_is_only_emptied_is_not_cleared_itself() {
    let dir = tempfile::tempdir().unwrap();
    let (mount, cleared) = (local(dir.path()), Arc::new(Cleared::default()));
    plant_tree(&*local(dir.path()), "top", 2, 3);
    plant(&*local(dir.path()), &["top/f"]);
    let view = Arc::new(Tapped::new(mount.clone(), vec![cleared.clone()]));
    let (volume, crew) = (volume(&view), crew(2, 2));
    let mut top = operand(&volume, "top");
    top.contents = true;
    let summary = remove(&volume, &mut [Ok(top)].into_iter(), &Options::default(), &crew, &Live::default(), None);
    assert_eq!((summary.files, summary.dirs, cleared.get()), (9, 4, (4, 8)));
    assert_eq!(dump(&*mount).len(), 2);
}

#[test]
fn a_rehearsal_clears_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mount = local(dir.path());
    plant_tree(&*local(dir.path()), "top", 2, 3);
    let (all, shadow) = (dump(&*mount), Arc::new(ShadowMount::new(mount.clone())));
    assert!(mount.limits().extras.clears && !shadow.limits().extras.clears);
    let (summary, failures) = silently(&shadow, &Options::default(), &crew(2, 2));
    assert_eq!((summary.files, summary.dirs, failures), (8, 5, vec![]));
    // Nor when it is asked for all the same.
    let mut calls = [Call::clear(&find(&*mount, "top/d0"), 1 << 16)];
    shadow.perform(&mut calls);
    assert_eq!((calls[0].status(), calls[0].gone()), (Err(Status::NotSupp), 0));
    assert_eq!(dump(&*mount), all);
}

/// One CLEAR: how it ended, how many went, and the names on its page.
fn clear(mount: &LocalMount, dir: &Node, bytes_max: u32) -> (Result<(Cookie, bool), Status>, u64, Vec<String>) {
    let mut calls = [Call::clear(dir, bytes_max)];
    mount.perform(&mut calls);
    let gone = calls[0].gone();
    match calls[0].take_page() {
        Ok(page) => {
            let names = page.entries.iter().map(|entry| String::from_utf8_lossy(entry.name.as_bytes()).into_owned());
            (Ok((page.next, page.end)), gone, names.collect())
        }
        Err(status) => (Err(status), gone, Vec::new()),
    }
}

fn in_order(mut names: Vec<String>) -> Vec<String> {
    names.sort_unstable();
    names
}

#[test]
fn what_is_on_a_page_goes_and_the_listing_goes_on_after_it() {
    // Room for `..` and 9 entries of 24 + 164 + 4 bytes.
    let bytes = 104 + 36 + 9 * 192;
    for (dirs, files) in [(0, 40), (40, 0), (13, 27), (39, 1), (0, 9), (3, 6)] {
        let dir = tempfile::tempdir().unwrap();
        let mount = local(dir.path());
        plant(&*local(dir.path()), &["d/"]);
        (0..dirs).for_each(|i| plant(&*local(dir.path()), &[&format!("d/d{i}/")]));
        (0..files).for_each(|i| plant(&*local(dir.path()), &[&format!("d/f{i}")]));
        let at = find(&*mount, "d");
        let (ended, gone, mut rest) = clear(&mount, &at, bytes);
        let (mut next, mut end) = ended.unwrap();
        assert_eq!((gone + rest.len() as u64, end), (9, dirs + files <= 9));
        assert!(rest.iter().all(|name| name.starts_with('d')), "{rest:?}");
        while !end {
            let mut calls = [Call::read_dir(&at, next, Want::Types, bytes)];
            mount.perform(&mut calls);
            let page = calls[0].take_page().unwrap();
            rest.extend(page.entries.iter().map(|e| String::from_utf8_lossy(e.name.as_bytes()).into_owned()));
            (next, end) = (page.next, page.end);
        }
        let there = std::fs::read_dir(dir.path().join("d")).unwrap();
        let there = there.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        assert_eq!(rest.len() as u64 + gone, dirs + files);
        assert_eq!(in_order(rest), in_order(there), "each name once");
    }
}

#[test]
fn what_else_has_to_be_looked_at_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let mount = local(dir.path());
    plant(
        &*local(dir.path()),
        &["d/", "d/sub/", "d/sub/f", "d/f", "d/.nfs0123456789abcdef", "d/s -> sub", "none/", "file"],
    );
    let at = find(&*mount, "d");
    // While a file is open its descriptor is to be closed by its name.
    let file =
        do_one(&*mount, Call::create(&mount.root(), &name("open"), How::Guarded, AttrChange::default())).unwrap();
    let mut calls = [Call::write(&file, 0, b"x", Stable::Unstable)];
    mount.perform(&mut calls);
    let names = ["d", "f", "s", "sub", ".nfs0123456789abcdef"];
    let (ended, gone, rest) = clear(&mount, &at, 1 << 16);
    assert_eq!(
        (ended.unwrap().1, gone, in_order(rest)),
        (true, 0, in_order(names[1..].iter().map(|n| n.to_string()).collect()))
    );
    let mut calls = [Call::commit(&file, 0, 0)];
    mount.perform(&mut calls);
    let (ended, gone, rest) = clear(&mount, &at, 1 << 16);
    assert_eq!((ended.unwrap().1, gone, in_order(rest)), (true, 2, in_order(vec![names[3].into(), names[4].into()])));
    assert!(dir.path().join("d/sub/f").exists());
    assert_eq!(clear(&mount, &find(&*mount, "none"), 1 << 16).1, 0);
    assert_eq!(clear(&mount, &find(&*mount, "file"), 1 << 16), (Err(Status::NotDir), 0, vec![]));
    std::fs::write(dir.path().join("none/long-enough"), "").unwrap();
    assert_eq!(clear(&mount, &find(&*mount, "none"), 200), (Err(Status::TooSmall), 0, vec![]));
    let none = find(&*mount, "none");
    std::fs::remove_dir_all(dir.path().join("none")).unwrap();
    assert_eq!(clear(&mount, &none, 1 << 16), (Err(Status::NoEnt), 0, vec![]));
}

/// Of a page with a file that cannot go, what the listing has before it goes.
#[test]
fn what_comes_after_a_failure_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let mount = local(dir.path());
    plant(&*local(dir.path()), &["d/"]);
    (0..20).for_each(|i| std::fs::write(dir.path().join(format!("d/f{i}")), "").unwrap());
    let order: Vec<_> = std::fs::read_dir(dir.path().join("d")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let middle = std::fs::File::open(&order[7]).unwrap();
    // Only root may, and not on every file system: then all go.
    let fixed = ioctl_setflags(&middle, IFlags::IMMUTABLE).is_ok();
    let (ended, gone, rest) = clear(&mount, &find(&*mount, "d"), 1 << 16);
    if fixed {
        ioctl_setflags(&middle, IFlags::empty()).unwrap();
    }
    assert_eq!((ended.unwrap().1, gone, rest.len()), (true, if fixed { 7 } else { 20 }, if fixed { 13 } else { 0 }));
    assert_eq!(std::fs::read_dir(dir.path().join("d")).unwrap().count(), rest.len());
}

/// procfs lets nobody remove anything.
#[test]
fn what_cannot_go_is_left_to_say_why() {
    let mount = local(Path::new("/proc/self"));
    let (ended, gone, rest) = clear(&mount, &find(&*mount, "ns"), 1 << 16);
    assert_eq!((ended.unwrap().1, gone), (true, 0));
    assert!(rest.iter().any(|name| name == "mnt"), "{rest:?}");
}

/// What CLEAR could not remove is tried again by itself, and told once.
#[test]
fn what_was_left_is_told_once() {
    let dir = tempfile::tempdir().unwrap();
    let mount = local(dir.path());
    plant_tree(&*local(dir.path()), "top", 3, 5);
    let odd = Odd::new(&mount, |mount, call| match &mut call.op {
        Op::Beyond(Beyond::Clear { dir, gone, out, .. }) => {
            let mut calls = [Call::read_dir(dir, Cookie::default(), Want::Types, 1 << 16)];
            mount.perform(&mut calls);
            let mut page = calls[0].take_page();
            // As far as f1.
            if let Ok(page) = &mut page {
                page.entries.sort_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
                if let Some(first) = page.entries.first().filter(|entry| entry.name.as_bytes() == b"e") {
                    let (e, f0) = (first.clone(), page.entries[1].name.clone());
                    do_one_of(mount, Call::remove(dir, &f0));
                    page.entries.drain(..2);
                    page.entries.insert(0, e);
                    *gone = 1;
                }
            }
            *out = page;
        }
        Op::Remove { name, .. } if name.as_bytes() == b"f1" => call.fail(Status::Perm),
        _ => pass(mount, call),
    });
    let (summary, failures) = silently(&odd, &Options::default(), &crew(2, 2));
    let failed: BTreeSet<String> = failures.iter().cloned().collect();
    let told = (0..3).map(|d| format!("top/d{d}/f1: REMOVE: Operation not permitted"));
    assert_eq!((failures.len(), failed), (3, told.collect()));
    assert_eq!((summary.files, summary.dirs), (3 * 5, 3));
    assert_eq!(dump(&*mount).len(), 1 + 1 + 3 + 3);
}

fn do_one_of(mount: &dyn Mount, call: Call<'_>) {
    let mut calls = [call];
    mount.perform(&mut calls);
    assert_eq!(calls[0].status(), Ok(()));
}

#[test]
fn a_run_that_is_stopped_has_counted_what_went() {
    for stops_at in 0..30 {
        let dir = tempfile::tempdir().unwrap();
        let (mount, crew_of_run) = (local(dir.path()), crew(2, 4));
        planted(dir.path());
        let all = dump(&*mount).len();
        let stop = Some((crew_of_run.stop().clone(), stops_at));
        let cleared = Arc::new(Cleared { stop, ..Cleared::default() });
        let view = Arc::new(Tapped::new(mount.clone(), vec![cleared]));
        let (summary, failures) = silently(&view, &Options::default(), &crew_of_run);
        let left = dump(&*mount).len();
        assert_eq!(left as u64 + summary.files + summary.dirs, all as u64, "{stops_at}: {summary:?}");
        assert_eq!((summary.stopped.is_some(), failures), (left > 3, vec![]), "{stops_at}: {summary:?}");
        silently(&mount, &Options { force: true, ..Options::default() }, &crew(2, 2));
        assert_eq!(dump(&*mount).len(), 3);
    }
}
