//! An archive of a directory whose server refuses a cookie, as RFC 1813 lets it where the directory has changed: it is listed anew, and
//! what is in the archive does not come in again.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parfs::base::Status;
use parfs::jobs::create::Options;
use parfs::mounts::MemoryMount;
use parfs::storage::{Cookie, Mount, Op};

use crate::ask::Ask;
use crate::copies::crew;
use crate::create::members;
use crate::creates::{Made, shared, stream, whole};
use crate::remove_odd::{Odd, pass};

/// More than several pages hold.
const FILES: usize = 2500;

/// An archive of so many files and a tenth as many directories with one each. Of the calls that list a directory on, those are refused
/// for whose number `refuses`; before that, the directory gets a new file.
fn made(refuses: fn(usize) -> bool, sort_by_name: bool, shape: (usize, usize)) -> (Made, Vec<String>) {
    let mount = Arc::new(MemoryMount::new());
    let root = mount.root();
    for i in 0..FILES {
        mount.file(&root, format!("f{i}"), i.to_string().as_bytes());
        if i % 10 == 0 {
            mount.file(&mount.dir(&root, format!("d{i}")), "in", b"x");
        }
    }
    let (tree, listed) = (mount.clone(), AtomicUsize::new(0));
    let odd = Odd::new(&mount, move |mount, call| {
        let Op::ReadDir { from, .. } = &call.op else { return pass(mount, call) };
        if *from == Cookie::default() {
            return pass(mount, call);
        }
        let number = listed.fetch_add(1, Ordering::SeqCst);
        match refuses(number) {
            true => {
                tree.file(&tree.root(), format!("new{number}"), b"new");
                call.fail(Status::BadCookie);
            }
            false => pass(mount, call),
        }
    });
    let options = Options { sort_by_name, ..Options::default() };
    let made = stream(whole(&shared(vec![odd as Arc<dyn Mount>])), &options, &crew(shape.0, shape.1));
    let mut paths: Vec<String> = members(&made.archive).into_iter().map(|member| member.0).collect();
    paths.sort_unstable();
    (made, paths)
}

#[test]
fn each_file_is_archived_once_however_often_its_directory_is_listed_anew() {
    let refuses = |number| [0, 2, 3, 7].contains(&number);
    for shape in [(1, 1), (4, 4)] {
        for sort_by_name in [false, true] {
            let (made, paths) = made(refuses, sort_by_name, shape);
            assert_eq!(made.failures, [""; 0]);
            let mut expected: Vec<String> = (0..FILES).map(|i| format!("./f{i}")).collect();
            for i in (0..FILES).step_by(10) {
                expected.extend([format!("./d{i}/"), format!("./d{i}/in")]);
            }
            expected.push("./".into());
            expected.extend([0, 2, 3, 7].map(|number| format!("./new{number}")));
            expected.sort_unstable();
            assert!(paths == expected, "{shape:?} {sort_by_name}: {} members", paths.len());
            // All of it is there, the new files too.
            assert_eq!(made.summary.warnings, [""; 0]);
        }
    }
}

#[test]
fn a_directory_that_is_never_listed_to_its_end_is_told() {
    for shape in [(1, 1), (4, 4)] {
        let (made, mut paths) = made(|number| number % 2 == 1, false, shape);
        assert_eq!(made.failures, [".: the directory changes while it is listed: not all of it is archived"]);
        let all = paths.len();
        paths.dedup();
        assert!(paths.len() == all && all > 100, "{all} members, {} of them once", paths.len());
    }
}
