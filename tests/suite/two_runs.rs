//! What another run does meanwhile to the tree that is written: it puts files of its own in the place of this run's.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parfs::base::{Name, Status};
use parfs::jobs::Live;
use parfs::jobs::copy::{Options, Side, What, copy};
use parfs::jobs::extract;
use parfs::mounts::MemoryMount;
use parfs::storage::{Mount, Op};

use crate::ask::Ask;
use crate::copies;
use crate::remove_odd::{Odd, pass};
use crate::tars::{self, Tar, pipe};
use crate::tree::{content, dump};

fn replaced(mount: &dyn Mount, name: &str) {
    mount.remove(&mount.root(), name).unwrap();
    mount.file(&mount.root(), name, b"data");
}

/// Before its first LINK, `meanwhile` is done to what is there.
fn at_first_link(to: &Arc<MemoryMount>, meanwhile: impl Fn(&dyn Mount) + Send + Sync + 'static) -> Arc<Odd> {
    let links = AtomicU64::new(0);
    Odd::new(to, move |mount, call| {
        if matches!(call.op, Op::Link { .. }) && links.fetch_add(1, Ordering::Relaxed) == 0 {
            meanwhile(mount);
        }
        pass(mount, call);
    })
}

#[test]
fn links_are_extracted_to_what_has_the_target_s_name_now() {
    let bytes = Tar::default().file("a", "data").link("b", "a").link("c", "a").bytes();
    let options = extract::Options::default();
    for (lanes, window) in [(1, 1), (2, 8)] {
        let to = Arc::new(MemoryMount::new());
        let odd = at_first_link(&to, |mount| replaced(mount, "a"));
        tars::extract(&tars::volume(&odd), pipe(bytes.clone()), &options, &tars::crew(lanes, window)).clean();
        let tree = dump(&*to);
        assert_eq!((tree["a"].nlink, tree["b"].first.as_str(), tree["c"].first.as_str()), (3, "a", "a"));

        // The other run has removed it and makes it in a moment; what it does not make is told.
        for (missing, is_told) in [(1, false), (2, false), (9, true)] {
            let (to, looks) = (Arc::new(MemoryMount::new()), AtomicU64::new(0));
            let odd = Odd::new(&to, move |mount, call| match &call.op {
                Op::Lookup { name, .. }
                    if name.as_bytes() == b"a" && looks.fetch_add(1, Ordering::Relaxed) < missing =>
                {
                    call.fail(Status::NoEnt);
                }
                _ => pass(mount, call),
            });
            let bytes = Tar::default().file("a", "data").link("b", "a").bytes();
            let ran = tars::extract(&tars::volume(&odd), pipe(bytes), &options, &tars::crew(lanes, window));
            let told = "b: its target 'a': LOOKUP: No such file or directory";
            assert_eq!(ran.failures, if is_told { vec![told] } else { vec![] });
            assert_eq!(dump(&*to)["a"].nlink, if is_told { 1 } else { 2 });
        }
    }
}

#[test]
fn names_are_copied_anew_where_their_file_is_gone() {
    let from = Arc::new(MemoryMount::new());
    let node = from.file(&from.root(), "a", b"data");
    for name in ["b", "c"] {
        from.link(&node, &from.root(), name).unwrap();
    }
    for (lanes, window) in [(1, 1), (2, 8)] {
        let to = Arc::new(MemoryMount::new());
        let odd = at_first_link(&to, |mount| {
            for name in ["a", "b", "c"] {
                if mount.lookup(&mount.root(), name).is_ok() {
                    replaced(mount, name);
                }
            }
        });
        let (source, target) = (copies::volume(vec![from.clone()]), copies::volume(vec![odd]));
        copies::run(&source, &target, &Options::default(), &copies::crew(lanes, window)).clean();
        let tree = dump(&*to);
        assert_eq!(tree.values().filter(|object| object.nlink == 2).count(), 2, "{tree:?}");
        ["a", "b", "c"].iter().for_each(|name| assert_eq!(content(&*to, name), b"data"));
        // What goes on from there finds nothing to do but the name that the other run has made.
        copies::run(&source, &target, &Options::default(), &copies::crew(lanes, window)).clean();
        assert_eq!(dump(&*to)["a"].nlink, 3);
    }
}

#[test]
fn a_destination_that_another_run_has_just_made_is_copied_into() {
    let (from, to) = (Arc::new(MemoryMount::new()), Arc::new(MemoryMount::new()));
    from.file(&from.root(), "f", b"data");
    let odd = Odd::new(&to, |mount, call| {
        if let Op::MkDir { name, .. } = &call.op {
            mount.dir(&mount.root(), name.as_bytes());
        }
        pass(mount, call);
    });
    let (source, target) = (copies::volume(vec![from]), copies::volume(vec![odd]));
    let side = |volume, way| Side { volume, way, fs_root: false, shown: b"it".to_vec() };
    let way = vec![Name::new(b"dst").unwrap()];
    let crew = copies::crew(1, 1);
    let (source, target) = (side(&source, Vec::new()), side(&target, way));
    let live = Live::default();
    let summary = copy(&source, &target, What::Tree, &Options::default(), &crew, &live, None);
    assert_eq!((crew.report().failures().len(), summary.files), (0, 1), "{:?}", crew.report().failures());
    assert_eq!(content(&*to, "dst/f"), b"data");
}
