//! A copy whose source refuses a cookie: the directory is listed anew, and its names come again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parfs::base::Status;
use parfs::jobs::copy::Options;
use parfs::mounts::MemoryMount;
use parfs::storage::{Call, Cookie, Mount, Op};

use crate::copies::{crew, run, sync, volume};
use crate::remove_odd::{Odd, pass};
use crate::tars::{Tar, extract, seekable};
use crate::tree::{assert_same, dump};

const FILES: usize = 3000;

/// More files than a page holds, some of which have three names, one of them in another directory.
fn planted() -> Arc<MemoryMount> {
    let memory = Arc::new(MemoryMount::new());
    let mut tar = Tar::default().dir("d/").dir("e/");
    for i in 0..FILES {
        tar = tar.file(&format!("d/{i}"), vec![b'x'; 1000 + i]);
        if i % 100 == 0 {
            tar = tar.link(&format!("d/{i}-too"), &format!("d/{i}")).link(&format!("e/{i}"), &format!("d/{i}"));
        }
    }
    let options = parfs::jobs::extract::Options { mode_mask: 0, ..Default::default() };
    extract(&crate::tars::volume(&memory), seekable(tar.dir("./").bytes()), &options, &crew(4, 4)).clean();
    memory
}

/// How many files are at the target, whole.
fn whole(target: &MemoryMount) -> usize {
    dump(target).iter().filter(|(path, object)| path.starts_with("d/") && object.size >= 1000).count()
}

#[test]
fn what_was_listed_is_there_before_it_is_listed_again() {
    let source = planted();
    for options in [Options::default(), sync()] {
        for shape in [(1, 1), (4, 4)] {
            let target = Arc::new(MemoryMount::new());
            // By its names' bytes the page that is refused is not the last.
            let (listed, begun) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let odd = {
                let (target, listed, begun) = (target.clone(), listed.clone(), begun.clone());
                Odd::new(&source, move |mount, call| {
                    let Op::ReadDir { from, .. } = &call.op else { return pass(mount, call) };
                    let is_first = *from == Cookie::default();
                    pass(mount, call);
                    let Op::ReadDir { out, .. } = &mut call.op else { return };
                    let Ok(page) = out else { return };
                    let is_large = page.entries.len() > 100;
                    if is_large && is_first && begun.fetch_add(1, Ordering::SeqCst) == 1 {
                        let there = whole(&target);
                        assert!(there >= listed.load(Ordering::SeqCst), "{there} of what was listed are there");
                    } else if is_large && is_first {
                        listed.store(page.entries.len(), Ordering::SeqCst);
                    } else if is_large && begun.load(Ordering::SeqCst) == 1 {
                        *out = Err(Status::BadCookie);
                    }
                })
            };
            let from = volume(vec![odd as Arc<dyn Mount>]);
            run(&from, &volume(vec![target.clone() as Arc<dyn Mount>]), &options, &crew(shape.0, shape.1)).clean();
            assert_eq!(begun.load(Ordering::SeqCst), 2, "{shape:?}");
            assert_same(&dump(&*source), &dump(&*target), &format!("{shape:?}"));
        }
    }
}

/// An unmatched name at the target goes with `--delete` all the same.
#[test]
fn what_the_target_alone_has_is_still_found() {
    let (source, target) = (planted(), planted());
    let name = |text: &[u8]| parfs::base::Name::new(text).unwrap();
    let mut calls = [Call::remove(&crate::tree::node_at(&*source, &["d"]), &name(b"77"))];
    source.perform(&mut calls);
    calls[0].status().unwrap();
    let refused = AtomicUsize::new(0);
    let odd = Odd::new(&source, move |mount, call| match &call.op {
        Op::ReadDir { from, .. } if *from != Cookie::default() && refused.fetch_add(1, Ordering::SeqCst) == 0 => {
            call.fail(Status::BadCookie);
        }
        _ => pass(mount, call),
    });
    run(&volume(vec![odd as Arc<dyn Mount>]), &volume(vec![target.clone() as Arc<dyn Mount>]), &sync(), &crew(4, 4))
        .clean();
    let names = |mount: &MemoryMount| dump(mount).into_keys().collect::<Vec<_>>();
    assert_eq!(names(&source), names(&target));
}
