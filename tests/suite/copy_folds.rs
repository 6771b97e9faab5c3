//! Copies to file systems that take names for one that differ in the case of their letters.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::sync::Arc;

use parfs::jobs::copy::Options;
use parfs::mounts::MemoryMount;
use parfs::storage::Mount;

use crate::ask::Ask;
use crate::copies::{Ran, asked, crew, run, sync, volume};
use crate::tree::dump;

fn atomic() -> Options {
    Options { atomic: true, ..Options::default() }
}

fn go(from: &Arc<MemoryMount>, to: &Arc<MemoryMount>, options: &Options, shape: (usize, usize)) -> Ran {
    run(&volume(vec![from.clone()]), &volume(vec![to.clone()]), options, &crew(shape.0, shape.1))
}

fn paths(mount: &dyn Mount) -> Vec<String> {
    dump(mount).into_keys().filter(|path| !path.is_empty()).collect()
}

fn content(mount: &MemoryMount, name: &str) -> Vec<u8> {
    mount.content(&mount.lookup(&mount.root(), name).unwrap().node).unwrap()
}

/// The two files' names are one there: the first that comes is whole, and the other is told.
#[test]
fn one_of_two_files_is_told_and_none_is_lost_without_a_word() {
    let from = Arc::new(MemoryMount::new());
    let (one, other) = (from.file(&from.root(), "Notes", b"one"), from.file(&from.root(), "nOTES", b"other"));
    assert_ne!(one, other);
    for options in [Options::default(), atomic(), sync()] {
        for shape in [(1, 1), (1, 8), (4, 2)] {
            let to = Arc::new(MemoryMount::folding());
            let Ran { failures, summary, .. } = go(&from, &to, &options, shape);
            let [there] = <[String; 1]>::try_from(paths(&*to)).unwrap();
            let (held, lost) = if there == "Notes" { ("one", "nOTES") } else { ("other", "Notes") };
            assert_eq!(content(&to, &there), held.as_bytes());
            let told =
                format!("to/{lost}: the destination has another of the source's objects by this name ('{there}'): ");
            assert!(failures.len() == 1 && failures[0].starts_with(&told), "{failures:?}");
            assert_eq!(summary.files, 1);
            // The next run finds and tells the same.
            let again = go(&from, &to, &options, shape);
            assert_eq!((again.failures, paths(&*to)), (failures, vec![there.clone()]));
            assert_eq!(content(&to, &there), held.as_bytes());
        }
    }
}

#[test]
fn directories_and_links_are_told_as_files_are() {
    let from = Arc::new(MemoryMount::new());
    for (dir, file) in [("Lib", "a"), ("lIB", "b")] {
        from.file(&from.dir(&from.root(), dir), file, b"x");
    }
    from.symlink(&from.root(), "L", b"one").unwrap();
    from.symlink(&from.root(), "l", b"other").unwrap();
    let to = Arc::new(MemoryMount::folding());
    let Ran { failures, .. } = go(&from, &to, &sync(), (1, 1));
    assert_eq!(failures.len(), 2, "{failures:?}");
    let there = paths(&*to);
    assert!(there == ["L", "Lib", "Lib/a"] || there == ["l", "lIB", "lIB/b"] || there.len() == 3, "{there:?}");
}

/// What was renamed in the case of its letters alone has its old name there, and is no name to be deleted: the copy would lack it.
#[test]
fn what_has_another_spelling_now_is_brought_up_to_date_and_not_deleted() {
    for (options, is_replaced) in [(sync(), false), (Options { atomic: true, ..sync() }, true)] {
        let (from, to) = (Arc::new(MemoryMount::new()), Arc::new(MemoryMount::folding()));
        from.file(&from.root(), "readme", b"new text");
        from.file(&from.dir(&from.root(), "Lib"), "a", b"x");
        for name in ["README", "gone"] {
            to.file(&to.root(), name, b"text");
        }
        to.file(&to.dir(&to.root(), "LIB"), "a", b"x");
        for deleted in [1, 0] {
            let Ran { summary, .. } = go(&from, &to, &options, (1, 1)).clean();
            assert_eq!((summary.deleted, content(&to, "readme")), (deleted, b"new text".to_vec()));
            let there = paths(&*to);
            assert!(there[..2] == ["LIB", "LIB/a"] && there.len() == 3, "{there:?}");
            assert!(is_replaced || there[2] == "README", "{there:?}");
        }
    }
}

/// To find out costs nothing where no name is taken, and one LOOKUP in a run where each is new under another name at first.
#[test]
fn it_is_asked_once_in_a_run() {
    let from = Arc::new(MemoryMount::new());
    (0..50).for_each(|at| drop(from.file(&from.root(), format!("f{at}"), b"x")));
    for (options, lookups) in [(Options::default(), 0), (atomic(), 1)] {
        let to: Arc<dyn Mount> = Arc::new(MemoryMount::new());
        let (_, written, ran) = asked(&(from.clone() as Arc<dyn Mount>), &to, &options, (3, 4));
        ran.clean();
        assert_eq!(written.get(parfs::base::Proc::Lookup).calls, lookups);
    }
}
