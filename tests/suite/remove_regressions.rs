//! What removal once did wrong.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parfs::base::{Proc, Status};
use parfs::jobs::remove::{Operand, Options};
use parfs::mounts::MemoryMount;
use parfs::storage::{AttrChange, Call, How, Mount, Op, SetTime};

use crate::cli_support::{Bench, Ran, Sim, run_with};
use crate::remove::{do_one, find, operand, paths, plant, remove_all, remove_paths};
use crate::remove_odd::{Odd, pass, with_mounts};
use crate::tars::{at, crew, volume};
use crate::tree::dump;

/// A list named a mount point, and all that was mounted there went.
#[test]
fn mount_points_of_a_list_are_refused() {
    let memory = Arc::new(MemoryMount::new());
    plant(&*memory, &["a/", "a/mnt/", "a/mnt/f", "mnt/", "mnt/d/", "mnt/d/f", "b/", "b/f"]);
    let odd = with_mounts(&memory, false);
    let options = Options { mounts_stay: true, ..Options::default() };
    let ran = remove_paths(&odd, &["mnt", "a/mnt", "b", "mnt/d"], &options, &crew(2, 2));
    assert_eq!(
        ran.failures,
        ["a/mnt: it is the root of a mounted file system", "mnt: it is the root of a mounted file system"]
    );
    // What is in one may be named.
    assert_eq!(paths(&dump(&*memory)), ["a", "a/mnt", "a/mnt/f", "mnt"].into());
    let mut emptied = operand(&*memory, "a/mnt");
    emptied.contents = true;
    remove_all(&volume(&odd), [Ok(emptied)].into_iter(), &options, &crew(2, 2)).clean();
    assert_eq!(paths(&dump(&*memory)), ["a", "a/mnt", "mnt"].into());
}

/// What was mounted after the run began was emptied, `--contents` or not, `--preserve-root=all` or not; and a list's mount points
/// where the directory above them could not be asked.
#[test]
fn mount_points_are_known_when_their_turn_comes() {
    let memory = Arc::new(MemoryMount::new());
    plant(&*memory, &["mnt/", "mnt/d/", "mnt/d/f"]);
    let odd = with_mounts(&memory, false);
    let options = Options { mounts_stay: true, same_device: true, ..Options::default() };
    let fsid = {
        let mut calls = [Call::get_attr(&memory.root())];
        memory.perform(&mut calls);
        calls[0].attr().unwrap().fsid
    };
    for (contents, dir_fsid) in [(false, None), (true, None), (false, Some(fsid)), (true, Some(fsid))] {
        let mnt = Operand { contents, dir_fsid, ..operand(&*memory, "mnt") };
        let ran = remove_all(&volume(&odd), [Ok(mnt)].into_iter(), &options, &crew(2, 2));
        assert_eq!(ran.failures, ["mnt: it is the root of a mounted file system"]);
    }
    let root = memory.root();
    let silent = Odd::new(&odd, move |mount, call| match &call.op {
        Op::GetAttr { node, .. } if *node == root => call.fail(Status::Io),
        _ => pass(mount, call),
    });
    let ran = remove_paths(&silent, &["mnt"], &options, &crew(2, 2));
    assert_eq!(ran.failures, ["mnt: GETATTR: Input/output error"]);
    assert_eq!(paths(&dump(&*memory)), ["mnt", "mnt/d", "mnt/d/f"].into());
}

/// A list named the root directory by another name, and all that is in it went.
#[test]
fn the_root_directory_is_known_by_any_name() {
    let memory = Arc::new(MemoryMount::new());
    plant(&*memory, &["a/", "a/root/", "a/root/f", "b"]);
    let mut calls = [Call::get_attr(&find(&*memory, "a/root"))];
    memory.perform(&mut calls);
    let root = calls[0].attr().unwrap();
    let options = Options { host_root: Some((root.fsid, root.fileid)), ..Options::default() };
    for (contents, one_file_system) in [(false, false), (true, false), (false, true)] {
        let operand = Operand { contents, ..operand(&*memory, "a/root") };
        let options = Options { one_file_system, ..options.clone() };
        let ran = remove_all(&volume(&memory), [Ok(operand)].into_iter(), &options, &crew(2, 2));
        assert_eq!(ran.failures, ["a/root: it is the root directory, which is never removed"]);
    }
    // Below an operand it is known where attributes are asked for.
    let options = Options { one_file_system: true, ..options };
    let ran = remove_paths(&memory, &["a", "b"], &options, &crew(2, 2));
    assert_eq!(ran.failures, ["a/root: it is the root directory, which is never removed"]);
    assert_eq!(paths(&dump(&*memory)), ["a", "a/root", "a/root/f"].into());
}

/// A path of a list that ends in a slash was removed whatever it was.
#[test]
fn a_slash_behind_a_path_of_a_list_means_a_directory() {
    let bench = Bench::new();
    for path in ["file/", "link/", "./sub/file/.", "gone/"] {
        fs::create_dir_all(bench.path("sub")).unwrap();
        for file in ["file", "sub/file"] {
            fs::write(bench.path(file), "").unwrap();
        }
        let _ = std::os::unix::fs::symlink("sub", bench.path("link"));
        for force in ["-v", "-f"] {
            let list = run_with(bench.command_as("parrm", ["--files-from=-", force]), format!("{path}\n").as_bytes());
            match (path, force) {
                // To look at it so fails as at what is not there; the link leads to a directory.
                ("gone/" | "file/" | "./sub/file/.", "-f") => assert_eq!(list.ok().stderr, ""),
                ("gone/", _) => drop(list.ended(1, "gone/: LOOKUP: No such file or directory")),
                _ => drop(list.ended(1, &format!("parrm: {path}: Not a directory"))),
            }
        }
        assert!(bench.path("file").exists() && bench.path("sub/file").exists(), "{path}");
        assert!(bench.path("link").symlink_metadata().is_ok(), "{path}");
    }
    run_with(bench.command_as("parrm", ["--files-from=-"]), b"sub/\n").ok();
    assert!(!bench.path("sub").exists());
}

/// By another name of the list it has been removed meanwhile.
#[test]
fn a_link_that_is_gone_before_it_is_read_is_nothing_to_force() {
    for (status, force) in [Status::NoEnt, Status::Stale, Status::Access].map(|s| [(s, true), (s, false)]).concat() {
        let memory = Arc::new(MemoryMount::new());
        plant(&*memory, &["l -> no"]);
        let odd = Odd::new(&memory, move |mount, call| match &mut call.op {
            Op::ReadLink { out, .. } => *out = Err(status),
            _ => pass(mount, call),
        });
        let list = Operand { must_be_dir: true, ..operand(&*memory, "l") };
        let options = Options { force, ..Options::default() };
        let ran = remove_all(&volume(&odd), [Ok(list)].into_iter(), &options, &crew(1, 1));
        let wants: &[&str] = if force && status != Status::Access { &[] } else { &["l: Not a directory"] };
        assert_eq!(ran.failures, wants, "{status:?} {force}");
    }
}

/// What was an old directory was removed as whatever it had become.
#[test]
fn what_was_a_directory_is_chosen_anew() {
    for proc in [Proc::ReadDirPlus, Proc::RmDir] {
        for must_be_dir in [false, true] {
            let memory = Arc::new(MemoryMount::new());
            plant(&*memory, &["a/", "a/d/"]);
            for path in ["a/d", "a"] {
                let change = AttrChange { mtime: SetTime::At(at(1000)), ..AttrChange::default() };
                do_one(&*memory, Call::set_attr(&find(&*memory, path), change));
            }
            let (a, d, swapped) = (find(&*memory, "a"), find(&*memory, "a/d"), AtomicBool::new(false));
            let odd = Odd::new(&memory, move |mount, call| {
                let is_d = match &call.op {
                    Op::ReadDir { dir, .. } => *dir == d,
                    Op::RmDir { name, .. } => name.as_bytes() == b"d",
                    _ => false,
                };
                if is_d && call.proc() == proc && !swapped.swap(true, Ordering::Relaxed) {
                    let name = crate::remove::name("d");
                    let mut calls = [Call::rmdir(&a, &name)];
                    mount.perform(&mut calls);
                    do_one(mount, Call::create(&a, &name, How::Guarded, AttrChange::default()));
                    return call.fail(Status::NotDir);
                }
                pass(mount, call);
            });
            let older_than = (!must_be_dir).then(|| at(2000));
            let d = Operand { must_be_dir, ..operand(&*memory, "a/d") };
            let options = Options { older_than, ..Options::default() };
            let ran = remove_all(&volume(&odd), [Ok(d)].into_iter(), &options, &crew(2, 2));
            let told: &[&str] = if must_be_dir { &["a/d: Not a directory"] } else { &[] };
            assert_eq!(ran.failures, told, "{proc}");
            assert_eq!(paths(&dump(&*memory)), ["a", "a/d"].into(), "{proc}");
        }
    }
}

/// A list that broke off within `t/a/f` removed `t/a`.
#[test]
fn a_list_that_is_cut_off_removes_nothing_by_its_last_path() {
    let bench = Bench::new();
    plant_keep(&bench.path(""));
    let said = "the list of operands: -: its last path, 't/a', has no NUL behind it";
    run_with(bench.command_as("parrm", ["--files-from=-", "-0"]), b"t/keep/in/f\0t/a").ended(1, said);
    assert!(!bench.path("t/keep/in/f").exists() && bench.path("t/a/f").exists());
}

/// `t/keep/in/f` and `t/a/f` in a directory.
fn plant_keep(top: &Path) {
    for dir in ["t/keep/in", "t/a"] {
        fs::create_dir_all(top.join(dir)).unwrap();
        fs::write(top.join(dir).join("f"), "").unwrap();
    }
}

/// Runs parrm with these words and `input`, which are to remove `t/a/f` of `top` and keep `t/keep/in/f`.
fn keeps_keep(bench: &Bench, top: &Path, pattern: &str, words: &[&str], input: &str) {
    plant_keep(top);
    let args = ["--exclude", pattern].into_iter().chain(words.iter().copied());
    let ran = run_with(bench.command_as("parrm", args), input.as_bytes()).ok();
    assert!(top.join("t/keep/in/f").exists(), "{pattern} {words:?} {input:?} {ran:?}");
    assert!(!top.join("t/a/f").exists(), "{pattern} {words:?} {input:?} {ran:?}");
    let told = format!("left alone with all that is in it: pattern '{pattern}' names it, or a directory above it");
    assert!(ran.stderr.contains(&told), "{pattern} {words:?} {input:?} {ran:?}");
}

/// All ways that lead into `t/keep`, where `base` is what the paths of `top` begin with as they are typed.
fn keeps_keep_however_it_is_reached(bench: &Bench, top: &Path, base: &str) {
    let at = |path: &str| format!("{base}{path}");
    for pattern in ["keep", "keep/", "**/keep", "**/keep/", "k*p", "[k]eep", "t/keep", "t/k*p/"] {
        for into in ["t/keep/in", "t/keep/in/", "t/keep/in/f", "t//keep/./in"] {
            keeps_keep(bench, top, pattern, &[&at(into), &at("t/a/f")], "");
        }
        keeps_keep(bench, top, pattern, &["--contents", &at("t/keep/in"), &at("t/a")], "");
        let dir = if base.is_empty() { "." } else { base };
        for (dir, list) in [
            (at("t"), "keep/in\na\n"),
            (at("t/"), "./keep/in/\n./a/f\n"),
            (at("t"), "keep/in/f\na/f\n"),
            (dir.to_string(), "t/keep/in/f\nt/a/f\n"),
            (dir.to_string(), "./t/keep/in/f\n./t/a/f\n"),
        ] {
            keeps_keep(bench, top, pattern, &["--files-from", "-", &dir], list);
            keeps_keep(bench, top, pattern, &["--files-from", "-", "-0", &dir], &list.replace('\n', "\0"));
        }
    }
}

/// A pattern kept nothing of the directory it names where an operand, or a path of a list, led into that.
#[test]
fn what_is_in_an_excluded_directory_stays_where_an_operand_leads_into_it() {
    let bench = Bench::new();
    let top = bench.path("").canonicalize().unwrap();
    for base in [String::new(), "./".into(), format!("{}/", top.display())] {
        keeps_keep_however_it_is_reached(&bench, &top, &base);
    }
    // The directory of a list is typed too; links on the way make no difference.
    std::os::unix::fs::symlink("t/keep", bench.path("way")).unwrap();
    keeps_keep(&bench, &top, "keep", &["way/in", "t/a"], "");
    plant_keep(&top);
    for dir in ["t/keep", "way"] {
        let list = run_with(bench.command_as("parrm", ["--exclude=keep", "--files-from=-", dir]), b"in/f\n").ok();
        assert!(bench.path("t/keep/in/f").exists() && list.stderr.contains("in/f: left alone"), "{dir} {list:?}");
    }
}

#[test]
fn what_is_in_an_excluded_directory_of_an_export_stays_where_an_operand_leads_into_it() {
    let bench = Bench::new();
    for targets in ["1", "3"] {
        let served = tempfile::tempdir().unwrap();
        let top = served.path().join("e");
        plant_keep(&top);
        let sim = Sim::start(&["--dir", served.path().to_str().unwrap(), "--targets", targets, "--unlimited"]);
        keeps_keep_however_it_is_reached(&bench, &top, &format!("{}/e/", sim.url.trim_end_matches('/')));
    }
}

/// What was not typed, or is only alike, is named by no pattern of a name.
#[test]
fn a_name_of_a_directory_above_what_was_typed_keeps_nothing() {
    let bench = Bench::new();
    let here = bench.path("keep/x");
    for words in ["f", "./f", "../x/f", "--files-from list", "--files-from list .", "sub/../f"] {
        fs::create_dir_all(here.join("sub")).unwrap();
        fs::write(here.join("f"), "").unwrap();
        fs::write(here.join("list"), "./f\n").unwrap();
        for pattern in ["keep", "keep/", "k*p"] {
            fs::write(here.join("f"), "").unwrap();
            let args = ["--exclude", pattern].into_iter().chain(words.split(' '));
            let ran = Ran::of(bench.command_as("parrm", args).current_dir(&here).output().unwrap()).ok();
            assert!(!here.join("f").exists(), "{pattern} {words} {ran:?}");
        }
    }
    for pattern in ["/keep", "eep", "keep/x", "kee", "keep/in/f/x", "eep/in"] {
        plant_keep(&bench.path(""));
        let ran = bench.run_as(&format!("parrm --exclude {pattern} t/keep/in")).ok();
        assert!(!bench.path("t/keep/in").exists(), "{pattern} {ran:?}");
    }
}

/// As `find -depth` lists them, with more that are not empty than may wait.
#[test]
fn directories_of_a_list_go_when_what_is_in_them_went() {
    let options = Options { empty_only: true, ..Options::default() };
    for shape in [(1, 1), (1, 4), (4, 1), (16, 4)] {
        let memory = Arc::new(MemoryMount::new());
        plant(&*memory, &["a/", "a/b/", "a/b/c/", "a/b/f", "a/g", "full/", "full/x"]);
        let listed = ["a/b/c", "a/b/f", "a/b", "full", "a/g", "a"];
        let ran = remove_paths(&memory, &listed, &options, &crew(shape.0, shape.1));
        assert_eq!(ran.failures, ["full: RMDIR: Directory not empty"]);
        assert_eq!(paths(&dump(&*memory)), ["full", "full/x"].into());
    }
    let memory = Arc::new(MemoryMount::new());
    let full: Vec<String> = (0..10_200).map(|i| format!("full{i}")).collect();
    full.iter().for_each(|dir| plant(&*memory, &[&format!("{dir}/"), &format!("{dir}/x")]));
    plant(&*memory, &["a/", "a/b/"]);
    let listed: Vec<&str> = full.iter().map(String::as_str).chain(["a", "a/b"]).collect();
    let ran = remove_paths(&memory, &listed, &options, &crew(4, 4));
    assert!(!ran.failures.is_empty());
    assert!(paths(&dump(&*memory)).iter().all(|path| path.starts_with("full")));
}

/// As `find` lists them, with more that are not empty yet than the list waited for.
#[test]
fn directories_of_a_list_go_although_they_come_before_what_is_in_them() {
    let options = Options { empty_only: true, ..Options::default() };
    for shape in [(1, 4), (4, 4)] {
        let memory = Arc::new(MemoryMount::new());
        let above: Vec<String> = (0..25_000).map(|i| format!("d{i}")).collect();
        let below: Vec<String> = above.iter().map(|dir| format!("{dir}/d")).collect();
        above.iter().for_each(|dir| plant(&*memory, &[&format!("{dir}/"), &format!("{dir}/d/")]));
        plant(&*memory, &["full/", "full/x"]);
        let listed = ["full"].into_iter().chain(above.iter().chain(&below).map(String::as_str)).collect::<Vec<_>>();
        let ran = remove_paths(&memory, &listed, &options, &crew(shape.0, shape.1));
        assert_eq!(ran.failures, ["full: RMDIR: Directory not empty"], "{shape:?}");
        assert_eq!(paths(&dump(&*memory)), ["full", "full/x"].into());
    }
}

/// A rehearsal counted twice what is in one operand and is another.
#[test]
fn operands_in_each_other_are_rehearsed_as_they_are_removed() {
    let bench = Bench::new();
    let sim_dir = tempfile::tempdir().unwrap();
    let sim = || Sim::start(&["--dir", sim_dir.path().to_str().unwrap(), "--unlimited"]);
    // Two servers that give what they serve handles of their own.
    let (one, other) = (sim(), sim());
    let one = one.url.trim_end_matches('/');
    let both = format!("{one},{}/", other.url.trim_end_matches('/').trim_start_matches("nfs://"));
    let (one, served) = (format!("{one}/"), sim_dir.path().to_path_buf());
    for (top, before) in [(bench.path(""), ""), (served.clone(), one.as_str()), (served, both.as_str())] {
        for line in ["a a/b", "a/b a", "a a/b/c a/b", "-f a a/b a/b/f", "a/b/c a/b a", "./a x/../a/b"] {
            fs::create_dir_all(top.join("a/b/c")).unwrap();
            fs::create_dir_all(top.join("x")).unwrap();
            ["a/f", "a/b/f", "a/b/c/f"].iter().for_each(|file| fs::write(top.join(file), "").unwrap());
            // A URL is not followed up; and where its directory is stale, -f does not know whether it is gone.
            if !before.is_empty() && (line.contains("..") || line.contains("-f")) {
                continue;
            }
            let words = line.split(' ').map(|word| match word {
                "-f" => word.to_owned(),
                word => format!("{before}{word}"),
            });
            let line = words.collect::<Vec<_>>().join(" ");
            let told = |ran: &Ran| {
                let mut told: Vec<String> =
                    ran.stdout.lines().map(|line| line.replace("would remove ", "removed ")).collect();
                told.sort();
                told
            };
            let would = bench.run_as(&format!("parrm -r -v --dry-run --report would.json {line}"));
            let did = bench.run_as(&format!("parrm -r -v --report did.json {line}"));
            assert_eq!((would.status, told(&would)), (did.status, told(&did)), "{line}: {would:?} {did:?}");
            assert_eq!(told(&did).len(), 6, "{did:?}");
            let report = |name: &str| -> serde_json::Value {
                serde_json::from_slice(&fs::read(bench.path(name)).unwrap()).unwrap()
            };
            let (would, did) = (report("would.json"), report("did.json"));
            assert_eq!(would["removed"], did["removed"], "{line}");
            if before.is_empty() {
                assert_eq!(would["failed"], did["failed"], "{line}");
            }
        }
    }
}
