//! Copies between directories of this host: files that are new are known by name alone until they are opened.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parfs::base::{Proc, Time};
use parfs::jobs::copy::{Options, Preserve};
use parfs::jobs::select::Rules;
use parfs::mounts::{LocalMount, ShadowMount};
use parfs::storage::{Beyond, Call, Mount, Op, Tap, Tapped, Trace};

use crate::copies::{asked, crew, local, run, volume};
use crate::random::Random;
use crate::tree::{assert_same, dump_dir, node_at};

fn noise(len: usize) -> Vec<u8> {
    Random(7).bytes(len)
}

/// Changes a source behind a copy's back, once its directory `d` was listed.
struct Behind(std::path::PathBuf, std::sync::Once);

impl Tap for Behind {
    fn after(&self, calls: &[Call<'_>], _took: Duration) {
        let lists = |call: &Call<'_>| matches!(&call.op, Op::ReadDir { out: Ok(page), .. } if page.entries.len() > 50);
        if calls.iter().any(lists) {
            self.1.call_once(|| {
                let at = |name: &str| self.0.join(name);
                for name in ["f007", "f008", "f009", "f010"] {
                    std::fs::remove_file(at(name)).unwrap();
                }
                rustix::fs::mknodat(rustix::fs::CWD, at("f007"), rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
                std::os::unix::fs::symlink("f001", at("f008")).unwrap();
                std::fs::create_dir(at("f009")).unwrap();
                std::fs::write(at("f009").join("inside"), "text").unwrap();
                std::fs::write(at("f011"), noise(5000)).unwrap();
            });
        }
    }
}

#[test]
fn new_files_between_local_mounts_are_not_looked_at_before_they_are_opened() {
    let ((from, source), (to, target)) = (local(), local());
    let dir = from.path().join("d");
    std::fs::create_dir(&dir).unwrap();
    for i in 0..100 {
        std::fs::write(dir.join(format!("f{i:03}")), noise(i * 7)).unwrap();
    }
    std::fs::set_permissions(dir.join("f001"), std::fs::Permissions::from_mode(0o4755)).unwrap();
    std::fs::hard_link(dir.join("f002"), dir.join("another name")).unwrap();
    std::fs::File::create(dir.join("sparse")).unwrap().set_len(300_000).unwrap();
    std::fs::write(dir.join("left out"), "").unwrap();
    std::fs::write(dir.join("large"), noise(3 << 20)).unwrap();
    std::os::unix::fs::symlink("nowhere", dir.join("link")).unwrap();
    let options = Options { rules: Rules::new(&[(false, "left*".into())]).unwrap(), ..Options::default() };
    let behind: Arc<dyn Tap> = Arc::new(Behind(dir.clone(), std::sync::Once::new()));
    let source: Arc<dyn Mount> = Arc::new(Tapped::new(source, vec![behind]));
    let (read, written, ran) = asked(&source, &target, &options, (3, 2));
    let ran = ran.clean();
    std::fs::remove_file(dir.join("left out")).unwrap();
    let (mut want, mut is) = (dump_dir(from.path()), dump_dir(to.path()));
    // The directory's own time is that of before.
    for tree in [&mut want, &mut is] {
        tree.get_mut("d").unwrap().mtime = Time::default();
    }
    assert_same(&want, &is, "what changed behind the listing is as it is now");
    // f010 went, `inside` came; the others are what they were called.
    assert_eq!((ran.summary.files, ran.summary.hard_links, ran.summary.left_out), (99, 1, 1));
    assert_eq!((ran.summary.symlinks, ran.summary.specials, ran.summary.dirs), (2, 1, 2));
    // Looked up were `link` and the four that could not be opened as files; of the rest nothing was asked but by
    // opening it: the attributes are the root's, and the large file's at its end.
    assert_eq!((read.get(Proc::Lookup).calls, read.get(Proc::GetAttr).calls), (5, 2));
    // The one with a set-id bit, the ones with two names and with a hole go the longer way.
    assert!(written.get(Proc::Copy).calls >= 94, "{}", written.get(Proc::Copy).calls);
}

/// Files that were copied by calls for many.
#[derive(Default)]
struct InBulk(AtomicU64);

impl Tap for InBulk {
    fn sees_each(&self) -> bool {
        false
    }

    fn after(&self, calls: &[Call<'_>], _took: Duration) {
        let copied = |call: &Call<'_>| match &call.op {
            Op::Beyond(Beyond::CopyFiles { out: Ok(copied), .. }) => copied.files(),
            _ => 0,
        };
        self.0.fetch_add(calls.iter().map(copied).sum(), Ordering::Relaxed);
    }
}

#[test]
fn many_files_by_one_call_are_copied_and_counted_as_each_by_its_own() {
    let (from, source) = local();
    let at = |name: &str| from.path().join("d").join(name);
    std::fs::create_dir(from.path().join("d")).unwrap();
    (0..200).for_each(|i| std::fs::write(at(&format!("f{i:03}")), noise(i * 97)).unwrap());
    std::fs::set_permissions(at("f003"), std::fs::Permissions::from_mode(0o4711)).unwrap();
    std::fs::set_permissions(at("f004"), std::fs::Permissions::from_mode(0o000)).unwrap();
    std::fs::hard_link(at("f005"), at("another name")).unwrap();
    std::fs::File::create(at("sparse")).unwrap().set_len(300_000).unwrap();
    std::fs::write(at("large"), noise(3 << 20)).unwrap();
    let labelled = node_at(&*source, &["d", "f006"]);
    source.perform(&mut [Call::set_xattr(&labelled, b"user.label", b"kept")]);
    let copied = |more: Option<Arc<dyn Tap>>, options: &Options| {
        let ((to, target), bulk) = (local(), Arc::new(InBulk::default()));
        let taps = [bulk.clone() as Arc<dyn Tap>].into_iter().chain(more).collect();
        let target: Arc<dyn Mount> = Arc::new(Tapped::new(target, taps));
        let (read, written, ran) = asked(&source, &target, options, (2, 2));
        let summary = ran.clean().summary;
        let counts = (summary.objects, summary.files, summary.hard_links, summary.bytes);
        (bulk.0.load(Ordering::Relaxed), (read, written, counts), dump_dir(to.path()))
    };
    let modes_alone = Preserve { uid: false, gid: false, times: false, hard_links: false, ..Preserve::ALL };
    for (preserve, apart) in [(Preserve::ALL, 5), (modes_alone, 3)] {
        let options = Options { preserve, ..Options::default() };
        let (in_bulk, counted, tree) = copied(None, &options);
        let (each, one_by_one, by_each) = copied(Some(Arc::new(Trace::new(1))), &options);
        assert_eq!(each, 0, "who sees each call sees each file");
        // Left are those with a set-id bit, an attribute (where the file system has them), a hole, too many bytes, and two names.
        assert!((203 - apart - 2..=203 - apart).contains(&in_bulk), "{in_bulk}");
        assert_eq!(counted, one_by_one);
        if preserve == Preserve::ALL {
            assert_same(&dump_dir(from.path()), &tree, "in bulk");
            assert_same(&tree, &by_each, "one by one");
        }
    }
}

#[test]
fn a_rehearsal_of_which_nothing_is_forecast_goes_through_many_files_by_one_call() {
    let ((from, source), (to, target)) = (local(), local());
    let at = |name: &str| from.path().join("d").join(name);
    std::fs::create_dir(from.path().join("d")).unwrap();
    (0..200).for_each(|i| std::fs::write(at(&format!("f{i:03}")), noise(i * 97)).unwrap());
    (0..9).for_each(|i| std::fs::write(from.path().join(format!("top{i}")), noise(i)).unwrap());
    std::fs::write(to.path().join("top3"), "older").unwrap();
    std::fs::set_permissions(at("f003"), std::fs::Permissions::from_mode(0o4711)).unwrap();
    std::fs::hard_link(at("f005"), at("another name")).unwrap();
    std::os::unix::fs::symlink("f005", at("link")).unwrap();
    std::fs::write(at("large"), noise(3 << 20)).unwrap();
    std::fs::File::create(at("sparse")).unwrap().set_len(300_000).unwrap();
    let before = dump_dir(to.path());
    let rehearsed = |unopened: bool| {
        let shadows = ShadowMount::all([source.clone()]).into_iter().chain(ShadowMount::all([target.clone()]));
        let mut shadows = shadows.map(|shadow| if unopened { shadow.unopened() } else { shadow });
        let source: Arc<dyn Mount> = Arc::new(shadows.next().unwrap());
        let bulk = Arc::new(InBulk::default());
        let target: Arc<dyn Mount> = Arc::new(Tapped::new(Arc::new(shadows.next().unwrap()), vec![bulk.clone()]));
        let (_, _, ran) = asked(&source, &target, &Options::default(), (2, 2));
        let summary = ran.clean().summary;
        let of = (summary.files, summary.dirs, summary.symlinks, summary.hard_links, summary.bytes, summary.objects);
        (bulk.0.load(Ordering::Relaxed), of)
    };
    let ((in_bulk, counted), (each, by_each)) = (rehearsed(true), rehearsed(false));
    assert_eq!((each, counted), (0, by_each), "what is forecast is met file by file");
    // Left are those with a set-id bit, too many bytes, a hole, and two names, and what is in a directory that was there.
    assert_eq!(in_bulk, 198);
    assert_same(&before, &dump_dir(to.path()), "nothing is made");
    let (_, _, ran) = asked(&source, &target, &Options::default(), (2, 2));
    let summary = ran.clean().summary;
    let of = (summary.files, summary.dirs, summary.symlinks, summary.hard_links, summary.bytes, summary.objects);
    assert_eq!(of, counted, "as the copy itself");
}

#[test]
fn where_each_file_is_refused_as_a_whole_no_more_are_tried() {
    let ((from, source), (to, target)) = (local(), local());
    std::fs::create_dir(from.path().join("d")).unwrap();
    for i in 0..200 {
        let name = format!("f{i:03}");
        std::fs::write(from.path().join("d").join(&name), noise(i)).unwrap();
        let node = node_at(&*source, &["d", &name]);
        let mut calls = [Call::set_xattr(&node, b"user.label", b"kept")];
        source.perform(&mut calls);
        if calls[0].status().is_err() {
            return; // a file system without them
        }
    }
    let (_, written, ran) = asked(&source, &target, &Options::default(), (1, 1));
    assert_eq!(ran.clean().summary.files, 200);
    assert_same(&dump_dir(from.path()), &dump_dir(to.path()), "with what was refused for");
    // Each of them once; a call for many goes on to its end, or as long as it may take.
    assert!((64..64 + 32).contains(&written.get(Proc::Copy).calls), "{}", written.get(Proc::Copy).calls);
}

#[test]
fn what_an_interrupted_copy_had_not_begun_is_told() {
    /// Stops the crew at the third file.
    struct Stopper(parfs::crew::Stop, std::sync::atomic::AtomicU32);
    impl Tap for Stopper {
        fn after(&self, calls: &[Call<'_>], _took: Duration) {
            let copies = calls.iter().filter(|call| call.proc() == Proc::Copy).count() as u32;
            if self.1.fetch_add(copies, std::sync::atomic::Ordering::Relaxed) + copies == 3 {
                self.0.set();
            }
        }
    }
    let ((from, source), (to, target)) = (local(), local());
    let dir = from.path().join("d");
    std::fs::create_dir(&dir).unwrap();
    (0..20).for_each(|i| std::fs::write(dir.join(format!("f{i:02}")), noise(i)).unwrap());
    let past = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
    std::fs::File::open(&dir).unwrap().set_modified(past).unwrap();
    let crew = crew(1, 1);
    let stop: Arc<dyn Tap> = Arc::new(Stopper(crew.stop().clone(), Default::default()));
    let target: Arc<dyn Mount> = Arc::new(Tapped::new(target, vec![stop]));
    let ran = run(&volume(vec![source]), &volume(vec![target]), &Options::default(), &crew);
    assert_eq!((ran.summary.files, ran.summary.objects), (3, 3));
    let told = ran.summary.stopped.unwrap();
    assert!(told.contains("interrupted: 1 tasks"), "{told}");
    let there = to.path().join("d");
    assert_eq!(std::fs::read_dir(&there).unwrap().count(), 3);
    assert!(there.metadata().unwrap().modified().unwrap() > past, "it does not look complete");
}

/// In memory nobody waits for a disk, so lanes beyond the processors only take turns.
#[test]
fn a_file_system_in_memory_gets_as_many_lanes_as_there_are_processors() {
    let processors = std::thread::available_parallelism().unwrap().get();
    let lanes = |at: &str| LocalMount::open(Path::new(at)).unwrap().limits().shape.lanes;
    assert_eq!(lanes("/dev/shm"), processors.clamp(2, 8), "tmpfs");
    assert_eq!(lanes("/proc"), (2 * processors).clamp(4, 8), "any other");
}
