//! What is said not to be there, and is: handles that a server has forgotten, and names that others remove at the same time.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parfs::base::Status;
use parfs::jobs::remove::{Excluded, Operand, Options};
use parfs::mounts::{LocalMount, MemoryMount};
use parfs::storage::{AttrChange, Call, Op, SetTime};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::ask::name;
use crate::remove::{Ran, do_one, find, operand, paths, plant, remove_all};
use crate::remove_odd::{Odd, pass};
use crate::tars::{at, crew, volume};
use crate::tree::dump;

const SHAPES: [(usize, usize); 3] = [(1, 1), (2, 4), (4, 3)];

fn keeping() -> Options {
    Options { excluded: Excluded::anywhere(&["keep"]).unwrap(), ..Options::default() }
}

fn old() -> Options {
    Options { older_than: Some(at(2000)), ..Options::default() }
}

/// `c`, with `files` in it and in `c/sub`, and a `keep` in each where `keep` says so; all of it old but `c/sub`.
fn plant_c(memory: &MemoryMount, files: usize, keep: bool) {
    plant(memory, &["c/", "c/sub/"]);
    for dir in ["c", "c/sub"] {
        (0..files).for_each(|i| plant(memory, &[&format!("{dir}/f{i}")]));
        if keep {
            plant(memory, &[&format!("{dir}/keep")]);
        }
    }
    for path in dump(memory).keys().filter(|path| !path.is_empty() && *path != "c/sub") {
        let change = AttrChange { mtime: SetTime::At(at(1000)), ..AttrChange::default() };
        do_one(memory, Call::set_attr(&find(memory, path), change));
    }
}

/// Removes `c`, or what is in it.
fn remove_c(odd: &Arc<Odd>, contents: bool, options: &Options, shape: (usize, usize)) -> Ran {
    let c = Operand { contents, ..operand(&**odd, "c") };
    remove_all(&volume(odd), [Ok(c)].into_iter(), options, &crew(shape.0, shape.1))
}

/// A server that came back and knows no handle any more: what is left is told, whatever stays.
#[test]
fn what_is_left_behind_stale_handles_is_a_failure() {
    for shape in SHAPES {
        for (contents, options) in [(true, Options::default()), (false, keeping()), (true, keeping()), (false, old())] {
            // Before the first, within the first directory, and within the other.
            for known in [0, 20, 80, 110] {
                let memory = Arc::new(MemoryMount::new());
                plant_c(&memory, 60, !options.excluded.is_empty());
                let removed = AtomicU64::new(0);
                let odd = Odd::new(&memory, move |mount, call| {
                    let is_removal = matches!(call.op, Op::Remove { .. } | Op::RmDir { .. });
                    match removed.fetch_add(u64::from(is_removal), Ordering::Relaxed) {
                        before if before < known || before == 0 && !is_removal => pass(mount, call),
                        _ => call.fail(Status::Stale),
                    }
                });
                let ran = remove_c(&odd, contents, &options, shape);
                assert!(dump(&*memory).len() > 4, "{:?}", dump(&*memory));
                assert_eq!(ran.failures.len(), 1, "{contents} {options:?} {known} {shape:?} {:?}", ran.failures);
                assert!(ran.failures[0].ends_with("Stale file handle"), "{:?}", ran.failures);
            }
        }
    }
}

/// Servers say so where only an entry has gone, by another run's hand, while they make a page.
#[test]
fn a_listing_of_what_is_said_not_to_be_there_is_begun_anew_where_it_is() {
    for (shape, status) in SHAPES.into_iter().flat_map(|shape| [(shape, Status::NoEnt), (shape, Status::Stale)]) {
        for nth in 0..3 {
            let memory = Arc::new(MemoryMount::new());
            plant_c(&memory, 60, false);
            let listings = AtomicU64::new(0);
            let odd = Odd::new(&memory, move |mount, call| match call.op {
                Op::ReadDir { .. } if listings.fetch_add(1, Ordering::Relaxed) == nth => call.fail(status),
                _ => pass(mount, call),
            });
            let ran = remove_c(&odd, false, &Options::default(), shape);
            assert_eq!((ran.failures, dump(&*memory).len()), (Vec::new(), 1), "{nth} {status:?} {shape:?}");
        }
    }
}

/// Handles of one directory are stale; those that a listing above it then shows are good again.
#[test]
fn a_directory_whose_handle_is_new_is_removed_by_that() {
    for (contents, options) in [(true, Options::default()), (false, keeping()), (false, old())] {
        let memory = Arc::new(MemoryMount::new());
        plant_c(&memory, 20, !options.excluded.is_empty());
        let (sub, stale) = (find(&*memory, "c/sub"), AtomicU64::new(0));
        let odd = Odd::new(&memory, move |mount, call| {
            let is_first = |most| stale.fetch_add(1, Ordering::Relaxed) < most;
            match &call.op {
                Op::Remove { dir, .. } if *dir == sub && is_first(20) => call.fail(Status::Stale),
                Op::RmDir { .. } if is_first(21) => call.fail(Status::Stale),
                _ => pass(mount, call),
            }
        });
        let ran = remove_c(&odd, contents, &options, (2, 2)).clean();
        let left: &[&str] = match (contents, options.excluded.is_empty()) {
            (true, _) => &["c"],
            (false, true) => &["c", "c/sub"],
            (false, false) => &["c", "c/keep", "c/sub", "c/sub/keep"],
        };
        assert_eq!(paths(&dump(&*memory)), left.iter().copied().collect(), "{:?}", ran.summary);
    }
}

/// Another run removes each name just before: all is gone, and nothing is wrong with that.
#[test]
fn what_others_removed_meanwhile_is_gone() {
    for shape in SHAPES {
        for (contents, options) in [(true, Options::default()), (false, keeping()), (true, keeping()), (true, old())] {
            for each in [1, 3] {
                let memory = Arc::new(MemoryMount::new());
                let keep = !options.excluded.is_empty();
                plant_c(&memory, 60, keep);
                let count = AtomicU64::new(0);
                let odd = Odd::new(&memory, move |mount, call| {
                    pass(mount, call);
                    let is_others = || count.fetch_add(1, Ordering::Relaxed).is_multiple_of(each);
                    if matches!(call.op, Op::Remove { out: Ok(()), .. } | Op::RmDir { out: Ok(()), .. }) && is_others()
                    {
                        call.fail(if each == 1 { Status::NoEnt } else { Status::Stale });
                    }
                });
                let ran = remove_c(&odd, contents, &options, shape).clean();
                let left: &[&str] = match (keep, options.older_than.is_some()) {
                    (true, _) => &["c", "c/keep", "c/sub", "c/sub/keep"],
                    (_, true) => &["c", "c/sub"],
                    _ => &["c"],
                };
                assert_eq!(paths(&dump(&*memory)), left.iter().copied().collect(), "{contents} {shape:?}");
                assert_eq!(ran.summary.kept, if keep { 2 } else { 0 } + u64::from(options.older_than.is_some()));
                assert!(ran.summary.relisted <= 1, "a look is enough: {}", ran.summary.relisted);
            }
        }
    }
}

/// What is moved out of the tree before it is listed stays as it is; what has its name by then goes.
#[test]
fn what_was_moved_away_before_it_was_listed_stays() {
    for (shape, replaced) in SHAPES.into_iter().flat_map(|shape| [(shape, false), (shape, true)]) {
        let memory = Arc::new(MemoryMount::new());
        plant(&*memory, &["c/", "safe/"]);
        (0..20)
            .for_each(|i| plant(&*memory, &[&format!("c/d{i}/"), &format!("c/d{i}/sub/"), &format!("c/d{i}/sub/f")]));
        let (c, lookups) = (find(&*memory, "c"), Arc::new(AtomicU64::new(0)));
        let (moved, counted) = (AtomicBool::new(false), lookups.clone());
        let odd = Odd::new(&memory, move |mount, call| {
            pass(mount, call);
            counted.fetch_add(u64::from(matches!(call.op, Op::Lookup { .. })), Ordering::Relaxed);
            let is_listed = matches!(&call.op, Op::ReadDir { dir, .. } if *dir == c);
            if is_listed && !moved.swap(true, Ordering::Relaxed) {
                for i in 0..10 {
                    let d = name(format!("d{i}"));
                    do_one(mount, Call::rename(&c, &d, &find(mount, "safe"), &d));
                    if replaced {
                        plant(mount, &[&format!("c/d{i}/"), &format!("c/d{i}/new")]);
                    }
                }
            }
        });
        let ran = remove_c(&odd, false, &Options::default(), shape).clean();
        let left = dump(&*memory);
        assert!(!left.contains_key("c"), "{shape:?} {:?}", paths(&left));
        assert_eq!(left.keys().filter(|path| path.ends_with("/sub/f")).count(), 10, "{shape:?} {:?}", paths(&left));
        assert_eq!(ran.summary.dirs, 1 + 20 + if replaced { 10 } else { 0 }, "{shape:?}");
        // The operand; and of what was moved each twice, what is there now and again before that is entered.
        assert!(lookups.load(Ordering::Relaxed) <= 1 + 20, "{lookups:?}");
    }
}

/// A server whose `..` is something else is asked a few times.
#[test]
fn a_server_whose_parents_are_odd_is_asked_a_few_times() {
    let memory = Arc::new(MemoryMount::new());
    plant(&*memory, &["c/"]);
    (0..200).for_each(|i| plant(&*memory, &[&format!("c/d{i}/"), &format!("c/d{i}/f")]));
    let lookups = Arc::new(AtomicU64::new(0));
    let counted = lookups.clone();
    let odd = Odd::new(&memory, move |mount, call| {
        pass(mount, call);
        counted.fetch_add(u64::from(matches!(call.op, Op::Lookup { .. })), Ordering::Relaxed);
        if let Op::ReadDir { out: Ok(page), .. } = &mut call.op
            && let Some(above) = &mut page.above
        {
            above.fileid += 1000;
        }
    });
    let ran = remove_c(&odd, false, &Options::default(), (2, 4)).clean();
    assert_eq!((ran.summary.files, ran.summary.dirs), (200, 201));
    assert!((64..80).contains(&lookups.load(Ordering::Relaxed)), "{lookups:?}");
}

/// What is moved out of the tree while it is removed is emptied, for it is known by its handle; that is told.
#[test]
fn what_was_moved_away_meanwhile_is_told() {
    for shape in SHAPES {
        let memory = Arc::new(MemoryMount::new());
        plant(&*memory, &["c/", "c/d/", "c/d/f", "safe/"]);
        let moved = AtomicBool::new(false);
        let odd = Odd::new(&memory, move |mount, call| {
            let is_within = matches!(&call.op, Op::Remove { name, .. } if name.as_bytes() == b"f");
            if is_within && !moved.swap(true, Ordering::Relaxed) {
                let d = name("d");
                do_one(mount, Call::rename(&find(mount, "c"), &d, &find(mount, "safe"), &d));
            }
            pass(mount, call);
        });
        let ran = remove_c(&odd, false, &Options::default(), shape);
        assert_eq!(paths(&dump(&*memory)), ["safe", "safe/d"].into(), "{shape:?}");
        assert!(ran.failures.iter().any(|told| told.contains("d: it was moved while it was removed")), "{ran:?}");
    }
}

/// Its name is another directory's by the time that it is empty, which stays, as with rm.
#[test]
fn what_was_moved_away_and_replaced_is_told() {
    for shape in SHAPES {
        let memory = Arc::new(MemoryMount::new());
        plant(&*memory, &["c/", "c/d/", "safe/"]);
        (0..100).for_each(|i| plant(&*memory, &[&format!("c/d/f{i}")]));
        let done = AtomicU64::new(0);
        let odd = Odd::new(&memory, move |mount, call| {
            if matches!(call.op, Op::Remove { .. }) && done.fetch_add(1, Ordering::Relaxed) == 40 {
                let d = name("d");
                do_one(mount, Call::rename(&find(mount, "c"), &d, &find(mount, "safe"), &d));
                plant(mount, &["c/d/", "c/d/new"]);
            }
            pass(mount, call);
        });
        let ran = remove_c(&odd, false, &Options::default(), shape);
        assert_eq!(ran.failures.len(), 1, "{shape:?} {ran:?}");
        assert!(ran.failures[0].starts_with("c/d: it was moved while it was removed"), "{ran:?}");
        assert_eq!(paths(&dump(&*memory)), ["c", "c/d", "c/d/new", "safe", "safe/d"].into(), "{shape:?}");
    }
}

/// On this host: windows under way go on, the next one goes by the name again.
#[test]
fn what_was_moved_away_on_this_host_stays_from_then_on() {
    for (shape, replaced) in SHAPES.into_iter().flat_map(|shape| [(shape, false), (shape, true)]) {
        // Within the files, and behind the last of them.
        for after in [40, 200] {
            let here = tempfile::tempdir().unwrap();
            let mount = Arc::new(LocalMount::open(here.path()).unwrap());
            plant(&*mount, &["c/", "c/d/", "safe/"]);
            (0..200).for_each(|i| plant(&*mount, &[&format!("c/d/f{i}")]));
            let (done, root) = (AtomicU64::new(0), here.path().to_path_buf());
            let odd = Odd::new(&mount, move |mount, call| {
                if matches!(call.op, Op::Remove { .. } | Op::RmDir { .. })
                    && done.fetch_add(1, Ordering::Relaxed) == after
                {
                    std::fs::rename(root.join("c/d"), root.join("safe/d")).unwrap();
                    if replaced {
                        std::fs::create_dir(root.join("c/d")).unwrap();
                        std::fs::write(root.join("c/d/g"), "new").unwrap();
                    }
                }
                pass(mount, call);
            });
            let c = operand(&*odd, "c");
            let ran = remove_all(&volume(&odd), [Ok(c)].into_iter(), &keeping(), &crew(shape.0, shape.1));
            let left = std::fs::read_dir(here.path().join("safe/d")).unwrap().count();
            // Each lane may have a call under way.
            let fewest = 200 - after as usize;
            assert!(
                (fewest.saturating_sub(shape.0)..=fewest).contains(&left),
                "{left} of {fewest} {shape:?} {replaced}"
            );
            let told =
                ran.failures.iter().filter(|told| told.contains("c/d: it was moved while it was removed")).count();
            assert_eq!((told, ran.failures.len()), (1, 1), "{ran:?} {shape:?} {replaced} {after}");
            // What has the name by then stays.
            assert_eq!(here.path().join("c/d/g").exists(), replaced, "{shape:?} {after}");
            assert_eq!(here.path().join("c").exists(), replaced, "{shape:?} {after}");
        }
    }
}

/// What gets the name of a directory in the moment before its RMDIR is not emptied in its place, as with rm.
#[test]
fn what_is_exchanged_for_a_directory_that_is_removed_stays() {
    for (shape, within) in SHAPES.into_iter().flat_map(|shape| [(shape, "c"), (shape, "c/d")]) {
        let here = tempfile::tempdir().unwrap();
        let mount = Arc::new(LocalMount::open(here.path()).unwrap());
        plant(&*mount, &["c/", "c/e/", "c/d/", "c/d/f", "keep/", "keep/g", "keep/h/", "keep/h/i"]);
        let (done, root, last) =
            (AtomicBool::new(false), here.path().to_path_buf(), within.rsplit('/').next().unwrap());
        let odd = Odd::new(&mount, move |mount, call| {
            let goes = matches!(&call.op, Op::RmDir { name, .. } if name.as_bytes() == last.as_bytes());
            if goes && !done.swap(true, Ordering::Relaxed) {
                let (a, b) = (root.join(within), root.join("keep"));
                renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).unwrap();
            }
            pass(mount, call);
        });
        let c = operand(&*odd, "c");
        let ran = remove_all(&volume(&odd), [Ok(c)].into_iter(), &Options::default(), &crew(shape.0, shape.1));
        assert_eq!(ran.failures.len(), 1, "{ran:?}");
        assert!(ran.failures[0].starts_with(&format!("{within}: ")), "{ran:?}");
        let kept = here.path().join(within);
        assert!(kept.join("g").exists() && kept.join("h/i").exists(), "{shape:?} {within} {ran:?}");
    }
}

/// A server that lists what it then does not know.
#[test]
fn what_is_listed_and_never_there_is_a_failure() {
    for status in [Status::NoEnt, Status::Stale] {
        let memory = Arc::new(MemoryMount::new());
        plant_c(&memory, 3, false);
        let c = find(&*memory, "c");
        let odd = Odd::new(&memory, move |mount, call| match &call.op {
            Op::Remove { dir, name, .. } if *dir == c && name.as_bytes() == b"f1" => call.fail(status),
            _ => pass(mount, call),
        });
        let ran = remove_c(&odd, true, &Options::default(), (2, 2));
        let told = "names in it are listed, and said not to be there when they are removed; run the same command again";
        assert_eq!(ran.failures, [format!("c: {told}")]);
        assert_eq!(paths(&dump(&*memory)), ["c", "c/f1"].into());
    }
}

/// What may be left in a directory that is too young to go and may not be read is not known.
#[test]
fn a_young_directory_that_may_not_be_read_is_a_failure() {
    let memory = Arc::new(MemoryMount::new());
    plant_c(&memory, 3, false);
    let sub = find(&*memory, "c/sub");
    let odd = Odd::new(&memory, move |mount, call| match &call.op {
        Op::ReadDir { dir, .. } if *dir == sub => call.fail(Status::Access),
        _ => pass(mount, call),
    });
    let ran = remove_c(&odd, false, &old(), (2, 2));
    assert_eq!(ran.failures, ["c/sub: READDIRPLUS: Permission denied"]);
}
