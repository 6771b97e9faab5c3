//! Temporary names of copies: two runs at once into one directory, and what killed runs leave.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use parfs::base::Status;
use parfs::jobs::Live;
use parfs::jobs::copy::{Deletes, Options, Series, Side, What};
use parfs::mounts::{LocalMount, MemoryMount};
use parfs::storage::{Mount, Op};

use crate::ask::Ask;
use crate::copies::{Ran, crew, run, sync, volume};
use crate::nasty::{past, put, set_time};
use crate::remove_odd::{Odd, pass};
use crate::tree::{content, dump};

fn memory() -> Arc<MemoryMount> {
    Arc::new(MemoryMount::new())
}

fn go(source: &Arc<impl Mount + 'static>, target: &Arc<impl Mount + 'static>, options: &Options) -> Ran {
    run(&volume(vec![source.clone() as _]), &volume(vec![target.clone() as _]), options, &crew(3, 3))
}

fn file(mount: &dyn Mount, at: &str, data: &[u8], n: i64) {
    let node = mount.file(&mount.root(), at, b"");
    put(mount, &node, 0, data);
    set_time(mount, &node, past(n));
}

fn paths(mount: &dyn Mount) -> Vec<String> {
    dump(mount).into_keys().filter(|path| !path.is_empty()).collect()
}

fn atomic() -> Options {
    Options { atomic: true, ..Options::default() }
}

fn wait(for_it: &Mutex<Receiver<()>>) {
    for_it.lock().unwrap().recv_timeout(Duration::from_secs(60)).unwrap();
}

/// Does `first` before the first call that `is_it`.
fn before(
    mount: &Arc<impl Mount + 'static>,
    is_it: fn(&Op<'_>) -> bool,
    first: impl FnOnce() + Send + 'static,
) -> Arc<Odd> {
    let first = Mutex::new(Some(first));
    Odd::new(mount, move |mount, call| {
        let first = if is_it(&call.op) { first.lock().unwrap().take() } else { None };
        if let Some(first) = first {
            first();
        }
        pass(mount, call);
    })
}

/// The second makes its file while the first writes, and writes when the first has ended: the first once moved the second's, which was
/// empty, into the place of a good one, and said that all was well.
#[test]
fn of_two_runs_at_once_none_moves_what_the_other_has_not_finished() {
    let (from, to) = (memory(), memory());
    file(&*from, "db", b"new content", 2);
    file(&*to, "db", b"old", 1);
    let ((begun, is_begun), (ended, is_ended)) = (channel(), channel());
    let (is_begun, is_ended) = (Mutex::new(is_begun), Mutex::new(is_ended));
    let is_write = |op: &Op<'_>| matches!(op, Op::Write { .. });
    let odd = before(&to, is_write, move || {
        begun.send(()).unwrap();
        wait(&is_ended);
    });
    let source = from.clone();
    let second = Arc::new(Mutex::new(None));
    let running = second.clone();
    let first = before(&to, is_write, move || {
        *running.lock().unwrap() = Some(thread::spawn(move || go(&source, &odd, &atomic())));
        wait(&is_begun);
    });
    go(&from, &first, &atomic()).clean();
    assert_eq!(content(&*to, "db"), b"new content");
    ended.send(()).unwrap();
    let second = second.lock().unwrap().take().unwrap();
    second.join().unwrap().clean();
    assert_eq!((content(&*to, "db"), paths(&*to)), (b"new content".to_vec(), vec!["db".to_owned()]));
}

/// The name is another of the same file by then: rename(2) does nothing, and both stay.
#[test]
fn of_two_runs_at_once_none_leaves_a_name_beside_a_hard_link() {
    for options in [Options::default(), atomic()] {
        let from = memory();
        file(&*from, "a", b"data", 1);
        let a = crate::tree::node_at(&*from, &["a"]);
        from.link(&a, &from.root(), "b").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let to = Arc::new(LocalMount::open(dir.path()).unwrap());
        go(&from, &to, &options).clean();
        fs::remove_file(dir.path().join("b")).unwrap();
        fs::write(dir.path().join("b"), "y").unwrap();
        let met = Arc::new(AtomicBool::new(false));
        let (source, how, is_met) = (from.clone(), options.clone(), met.clone());
        let target = Arc::new(LocalMount::open(dir.path()).unwrap());
        let odd = before(
            &to,
            |op| matches!(op, Op::Rename { .. }),
            move || {
                is_met.store(true, Ordering::Relaxed);
                thread::spawn(move || go(&source, &target, &how).clean()).join().unwrap();
            },
        );
        go(&from, &odd, &options).clean();
        assert!(met.load(Ordering::Relaxed));
        let inode = |at: &str| fs::metadata(dir.path().join(at)).unwrap().ino();
        assert_eq!((paths(&*to), inode("a")), (["a", "b"].map(String::from).to_vec(), inode("b")));
    }
}

/// The mount, and listings say of all in them that it was changed last more than a day ago.
fn aged(mount: &Arc<MemoryMount>) -> Arc<Odd> {
    Odd::new(mount, |mount, call| {
        pass(mount, call);
        if let Op::ReadDir { out: Ok(page), .. } = &mut call.op {
            page.entries
                .iter_mut()
                .filter_map(|entry| entry.attr.as_mut())
                .for_each(|attr| attr.ctime.secs -= 25 * 3600);
        }
    })
}

#[test]
fn what_a_killed_run_left_goes_when_it_can_be_no_run_s_any_more() {
    let left = [".parfs.0123456789abcdef", ".parfs.0123456789abcdef.0123456789abcdef01234567"];
    let deleting = Options { atomic: true, ..sync() };
    let (from, to) = (memory(), memory());
    file(&*from, "x", b"data", 1);
    left.iter().for_each(|at| file(&*to, at, b"a part", 1));
    file(&*to, "other", b"other", 1);
    let of = |more: &[&str]| more.iter().map(|at| (*at).to_owned()).collect::<Vec<_>>();
    let young = of(&[left[0], left[1], "other", "x"]);
    go(&from, &to, &atomic()).clean();
    assert_eq!(paths(&*to), young);
    for options in [Options::default(), atomic()] {
        go(&from, &aged(&to), &options).clean();
        assert_eq!(paths(&*to), of(&["other", "x"]));
        left.iter().for_each(|at| file(&*to, at, b"a part", 1));
    }
    for options in [&deleting, &sync()] {
        let ran = go(&from, &to, options);
        assert_eq!((ran.failures, paths(&*to)), (Vec::new(), of(&[left[0], left[1], "x"])));
        let told = &ran.summary.warnings;
        assert!(told.len() == 1 && told[0].starts_with("some temporary names"), "{told:?}");
    }
    go(&from, &aged(&to), &deleting).clean();
    assert_eq!(paths(&*to), of(&["x"]));
}

/// What proves directories to be one, or not, is empty; a file of that name is somebody's where it is not.
#[test]
fn what_a_proof_left_goes_like_a_killed_run_s_files() {
    let (left, other) = (".parfs-0123456789abcdef", ".parfs-0123456789abcdee");
    let plant = || {
        let (from, to) = (memory(), memory());
        file(&*from, "x", b"data", 1);
        to.file(&to.root(), left, b"");
        file(&*to, other, b"somebody's", 1);
        (from, to)
    };
    for options in [Options::default(), atomic()] {
        let (from, to) = plant();
        go(&from, &to, &options).clean();
        assert_eq!(paths(&*to), [other, left, "x"]);
        go(&from, &aged(&to), &options).clean();
        assert_eq!(paths(&*to), [other, "x"]);
    }
    let (from, to) = plant();
    let told = go(&from, &to, &sync()).summary.warnings;
    assert!(told.len() == 1 && told[0].starts_with("some temporary names"), "{told:?}");
    assert_eq!(paths(&*to), [left, "x"]);
    go(&from, &aged(&to), &sync()).clean();
    assert_eq!(paths(&*to), ["x"]);
}

/// The roots of two file systems with one number, as it seems: a name made in the one is looked for in the other.
#[test]
fn the_name_that_tells_two_directories_apart_is_the_run_s_own() {
    let (from, to) = (memory(), memory());
    file(&*from, "x", b"data", 1);
    let fsid = from.get_attr(&from.root()).unwrap().fsid;
    let killed = Odd::new(&to, move |mount, call| match &mut call.op {
        Op::Remove { .. } => call.fail(Status::Io),
        Op::GetAttr { .. } => {
            pass(mount, call);
            if let Op::GetAttr { out: Ok(attr), .. } = &mut call.op {
                attr.fsid = fsid;
            }
        }
        _ => pass(mount, call),
    });
    go(&from, &killed, &Options { host: Some(1), ..Options::default() });
    let left = paths(&*to);
    let pid = format!("{:08x}", std::process::id());
    assert!(left.len() == 2 && left[0].starts_with(".parfs.") && left[0].contains(&pid), "{left:?}");
    go(&from, &aged(&to), &Options::default()).clean();
    assert_eq!(paths(&*to), ["x"]);
}

/// Hard links that replace something have such names too, with any options.
#[test]
fn what_a_run_left_that_was_killed_as_it_made_hard_links_goes_with_the_same_command() {
    let (from, to) = (memory(), memory());
    file(&*from, "a", b"data", 1);
    from.link(&crate::tree::node_at(&*from, &["a"]), &from.root(), "b").unwrap();
    ["a", "b"].iter().for_each(|at| file(&*to, at, b"data", 1));
    let killed = Odd::new(&to, |mount, call| match call.op {
        Op::Rename { .. } | Op::Remove { .. } => call.fail(Status::Io),
        _ => pass(mount, call),
    });
    go(&from, &killed, &Options::default());
    let left = paths(&*to);
    assert!(left.len() == 3 && left[0].starts_with(".parfs."), "{left:?}");
    go(&from, &aged(&to), &Options::default()).clean();
    assert_eq!(paths(&*to), ["a", "b"]);
}

/// What a listing says is not all that a source has, and not all of a run's sources are known where nothing else is deleted.
#[test]
fn what_a_source_of_the_run_may_have_under_such_a_name_stays() {
    let name = ".parfs.0123456789abcdef";
    for (has, others, stays) in [(false, false, false), (true, false, true), (false, true, true)] {
        let (from, to) = (memory(), memory());
        file(&*to, name, b"data", 1);
        let from: Arc<dyn Mount> = match has {
            true => {
                file(&*from, name, b"new", 2);
                Odd::new(&from, |mount, call| {
                    pass(mount, call);
                    if let Op::ReadDir { out: Ok(page), .. } = &mut call.op {
                        page.entries.clear();
                    }
                })
            }
            false => from,
        };
        let (source, target) = (volume(vec![from]), volume(vec![aged(&to)]));
        let side = |volume| Side { volume, way: Vec::new(), fs_root: false, shown: b"x".to_vec() };
        let (crew, live, options) = (crew(1, 1), Live::default(), Options::default());
        let (left, held) = (options.deletable(), AtomicBool::new(false));
        let deletes = Deletes { left: &left, spared: &[], others, held: &held };
        let summary = Series::new(&options, (&crew, &live), deletes, others).copy(
            &side(&source),
            &side(&target),
            What::Tree,
            (None, None),
        );
        assert_eq!(paths(&*to), if stays { vec![name] } else { vec![] });
        assert_eq!(summary.warnings.iter().any(|told| told.contains("several sources")), others);
    }
}
