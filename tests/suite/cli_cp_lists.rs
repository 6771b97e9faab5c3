//! parcp --files-from: lists that name things twice, or a directory before, between or after what is in it.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, UNIX_EPOCH};

use super::cli_support::{Bench, Ran, Sim, run_with};
use super::tree::{assert_same, dump_dir};

fn copy(bench: &Bench, list: &str, words: &[&str]) -> Ran {
    run_with(bench.command_as("parcp", [&["-P", "8", "--files-from", "-"], words].concat()), list.as_bytes())
}

/// Thirty files of two names each, in two directories.
fn plant_pairs(bench: &Bench) {
    for dir in ["t/b", "t/x"] {
        fs::create_dir_all(bench.path(dir)).unwrap();
    }
    for i in 0..30 {
        let (one, other) = (bench.path(format!("t/b/h{i}")), bench.path(format!("t/x/y{i}")));
        fs::write(&one, i.to_string()).unwrap();
        fs::hard_link(one, other).unwrap();
    }
}

/// The paths below `t`, in the order that is asked for.
fn listed(bench: &Bench, contents_first: bool) -> String {
    let walk = walkdir::WalkDir::new(bench.path("t")).min_depth(1).sort_by_file_name().contents_first(contents_first);
    let top = bench.path("t");
    walk.into_iter().fold(String::new(), |mut list, entry| {
        let path = entry.unwrap().path().strip_prefix(&top).unwrap().display().to_string();
        writeln!(list, "{path}").unwrap();
        list
    })
}

/// The names of `d` that are the only one of their file, and those that are no names of the source.
fn odd_names(dir: &Path) -> Vec<String> {
    let walk = walkdir::WalkDir::new(dir).into_iter().map(Result::unwrap);
    let odd = walk.filter(|entry| {
        let name = entry.file_name().to_string_lossy();
        (entry.file_type().is_file() && entry.metadata().unwrap().nlink() != 2) || name.starts_with(".parfs")
    });
    odd.map(|entry| entry.path().display().to_string()).collect()
}

/// A list does not come back to DST itself: it is made with its mode at once, where nothing is to be shut out of it meanwhile.
#[test]
fn what_a_killed_run_made_of_dst_has_its_mode() {
    let bench = Bench::new();
    plant_pairs(&bench);
    fs::set_permissions(bench.path("t"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut run = bench.command_as("parcp", ["--files-from", "-", "--max-iops", "10", "t", "d"]);
    let mut child = run.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"b\nx\n").unwrap();
    while !bench.path("d").exists() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    copy(&bench, "b\nx\n", &["t", "d"]).ok();
    assert_eq!(fs::metadata(bench.path("d")).unwrap().permissions().mode() & 0o7777, 0o755);
}

#[test]
fn a_directory_listed_after_what_is_in_it_is_copied_once() {
    let bench = Bench::new();
    plant_pairs(&bench);
    let pairs: String = (0..30).map(|i| format!("b/h{i}\nx/y{i}\n")).collect();
    let lists = [
        listed(&bench, true),
        listed(&bench, false),
        format!("{pairs}b\nx\n"),
        format!("b/h1\n{pairs}./b/\nb//h2\nx/\nx\n./x/y3\n{pairs}"),
        format!("b\nx/y1\nb/h1\nx\nb/h2\n{pairs}"),
    ];
    for (list, flags) in lists.iter().flat_map(|list| [&[][..], &["--atomic"]].map(|flags| (list, flags))) {
        let words = [flags, &["t", "d"]].concat();
        copy(&bench, list, &words).ok();
        assert_eq!(odd_names(&bench.path("d")), Vec::<String>::new(), "{list}");
        // Files that were changed are made the source's again.
        for i in 0..30 {
            let changed = bench.path(format!("d/b/h{i}"));
            fs::remove_file(&changed).unwrap();
            fs::write(changed, "changed meanwhile").unwrap();
        }
        copy(&bench, list, &words).ok();
        assert_eq!(odd_names(&bench.path("d")), Vec::<String>::new(), "{list}");
        for part in ["b", "x"] {
            let [source, copied] = ["t", "d"].map(|top| dump_dir(&bench.path(top).join(part)));
            assert_same(&source, &copied, list);
        }
        fs::remove_dir_all(bench.path("d")).unwrap();
    }
}

/// The directory's contents are listed once more only when its names are over, so one CREATE and one LOOKUP fewer would do for
/// none of them: each name is made once.
#[test]
fn what_is_listed_twice_is_made_once() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("t/a/b")).unwrap();
    for i in 0..200 {
        fs::write(bench.path(format!("t/a/b/{i}")), vec![7; 3000]).unwrap();
    }
    let sim = Sim::start(&["--unlimited", "--targets", "2"]);
    let url = sim.url.trim_end_matches('/');
    let names: String = (0..200).map(|i| format!("a/b/{i}\n")).collect();
    for (at, list) in
        [format!("{names}a/b\na\n"), format!("{names}{names}"), format!("a/b\n{names}a\n")].iter().enumerate()
    {
        let to = format!("{url}/d{at}");
        copy(&bench, list, &["--atomic", "--report", "run.json", "t", &to]).ok();
        let report: serde_json::Value = serde_json::from_slice(&fs::read(bench.path("run.json")).unwrap()).unwrap();
        assert_eq!(report["copied"]["files"], 200, "{at}: {report}");
        bench.run_as(&format!("parcp --verify-only --no-preserve=ownership t/a {to}/a")).ok();
    }
}

/// In an empty source `find .` says no more.
#[test]
fn a_list_that_names_the_source_alone_copies_nothing_and_says_so() {
    let bench = Bench::new();
    plant_pairs(&bench);
    for (list, is_told) in [("./\n", true), (".\n./.\n", true), (".\n./b\n", false), ("", false)] {
        let ran = copy(&bench, list, &["t", "out/t"]).ok();
        assert_eq!(
            ran.stderr.contains("names the source itself and nothing in it"),
            is_told,
            "{list:?}: {}",
            ran.stderr
        );
    }
}

#[test]
fn snapshots_and_what_is_excluded_on_the_way_are_left_out() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("t/no/way")).unwrap();
    fs::create_dir_all(bench.path("t/a/no")).unwrap();
    for file in ["t/no/way/f", "t/a/no/f", "t/a/f"] {
        fs::write(bench.path(file), "f").unwrap();
    }
    copy(&bench, "no/way/f\na/no/f\na/f\n", &["--exclude", "no", "t", "d"]).ok();
    assert!(bench.path("d/a/f").exists() && !bench.path("d/no").exists() && !bench.path("d/a/no").exists());
    // An export is the root of a file system, in which the server shows snapshots.
    let served = tempfile::tempdir().unwrap();
    fs::create_dir_all(served.path().join(".snapshot/day")).unwrap();
    fs::create_dir_all(served.path().join("in/.snapshot")).unwrap();
    for file in [".snapshot/day/f", "in/.snapshot/f"] {
        fs::write(served.path().join(file), "f").unwrap();
    }
    let sim = Sim::start(&["--dir", served.path().to_str().unwrap(), "--unlimited"]);
    copy(&bench, ".snapshot/day/f\nin/.snapshot/f\n", &[&sim.url, "e"]).ok();
    assert!(!bench.path("e/.snapshot").exists() && bench.path("e/in/.snapshot/f").exists());
}

#[test]
fn directories_on_the_way_get_the_sources_attributes() {
    let bench = Bench::new();
    let old = UNIX_EPOCH + Duration::from_secs(1);
    for dir in ["a/x/n", "b/x", "a/y", "b/y"] {
        fs::create_dir_all(bench.path(dir)).unwrap();
    }
    for file in ["a/x/f", "a/x/n/g", "a/x/h", "a/y/f", "a/y/g"] {
        fs::write(bench.path(file), "1").unwrap();
    }
    fs::set_permissions(bench.path("a/x"), PermissionsExt::from_mode(0o550)).unwrap();
    fs::set_permissions(bench.path("b"), PermissionsExt::from_mode(0o751)).unwrap();
    for dir in ["a/x/n", "a/x", "a/y", "a", "b/x", "b/y", "b"] {
        fs::File::open(bench.path(dir)).unwrap().set_modified(old).unwrap();
    }
    copy(&bench, "x/f\ny/f\nx/n/g\ny/g\nx/h\n", &["a", "b"]).ok();
    for dir in ["x", "x/n", "y"] {
        let [from, to] = ["a", "b"].map(|top| fs::metadata(bench.path(top).join(dir)).unwrap());
        assert_eq!((from.mode(), from.modified().unwrap()), (to.mode(), to.modified().unwrap()), "{dir}");
    }
    // The destination itself is not in the list.
    assert_eq!(fs::metadata(bench.path("b")).unwrap().mode() & 0o777, 0o751);
    fs::set_permissions(bench.path("b/y"), PermissionsExt::from_mode(0o700)).unwrap();
    copy(&bench, "y/f\n", &["--verify-only", "a", "b"]).ended(1, "");
    copy(&bench, "y/f\n", &["a", "b"]).ok();
    copy(&bench, "y/f\n", &["--verify-only", "a", "b"]).ok();
}

#[test]
fn a_list_with_more_directories_than_are_held_open_waits_and_goes_on() {
    const DIRS: usize = 4500;
    let bench = Bench::new();
    for i in 0..DIRS {
        let dir = bench.path(format!("t/{}/{i}", i % 7));
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("a"), i.to_string()).unwrap();
        fs::hard_link(dir.join("a"), dir.join("b")).unwrap();
    }
    // Each number comes once, for DIRS and the factors have no divisor in common.
    let line = |at: usize, name: &str| format!("{}/{at}{name}\n", at % 7);
    let mixed = |factor: usize, name: &str| (0..DIRS).map(|i| line(i * factor % DIRS, name)).collect::<String>();
    let list = [mixed(1009, "/b"), mixed(7, "/"), mixed(2003, "/a"), mixed(1009, "/b"), "3\n5\n3/\n".into()].concat();
    let ran = copy(&bench, &list, &["t", "d"]).ok();
    assert_eq!((ran.stderr.as_str(), odd_names(&bench.path("d"))), ("", Vec::new()));
    for i in 0..7 {
        let [from, to] = ["t", "d"].map(|top| dump_dir(&bench.path(top).join(i.to_string())));
        assert_same(&from, &to, "the list's own order");
    }
}

/// What is listed below a directory that is listed is left to it; through a link nothing is.
#[test]
fn a_name_below_a_link_that_is_listed_is_told() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("t/a/b")).unwrap();
    fs::write(bench.path("t/a/b/x"), "1").unwrap();
    std::os::unix::fs::symlink("a/b", bench.path("t/l")).unwrap();
    std::os::unix::fs::symlink("b", bench.path("t/a/m")).unwrap();
    for list in ["l\nl/x\n", "l/x\nl\n"] {
        copy(&bench, list, &["t", "d"]).ended(1, "t/l: LOOKUP: Not a directory");
        assert!(bench.path("d/l").is_symlink(), "{list}");
    }
    copy(&bench, "a/m\na/m/x\n", &["t", "d"]).ended(1, "t/a/m: LOOKUP: Not a directory");
    copy(&bench, "a/b\na/b/x\na/b/x\n", &["t", "d"]).ok();
    copy(&bench, "a\na/m\na/b/x\na/b\n", &["t", "e"]).ok();
    assert_same(&dump_dir(&bench.path("t/a")), &dump_dir(&bench.path("e/a")), "left to the directory");
}

/// A list may be older than the source. What is at the destination goes for what is copied, and not for what is not there.
#[test]
fn what_is_in_the_way_of_a_missing_path_stays() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("s/d/sub")).unwrap();
    fs::create_dir(bench.path("d")).unwrap();
    fs::write(bench.path("d/d"), "precious").unwrap();
    for (list, missing) in [("d/nothere\n", "s/d/nothere"), ("d/sub/a/b\nd/nothere\n", "s/d/sub/a")] {
        for more in [&[][..], &["--atomic"], &["-n"], &["-u"]] {
            copy(&bench, list, &[more, &["s", "d"]].concat()).ended(1, missing);
            assert_eq!(fs::read(bench.path("d/d")).unwrap(), b"precious", "{more:?}");
        }
    }
    let plan = copy(&bench, "d/nothere\n", &["--dry-run", "-v", "s", "d"]).ended(1, "s/d/nothere");
    assert_eq!(plan.stdout, "");
    // Another path of the same directory is there.
    fs::write(bench.path("s/d/sub/f"), "data").unwrap();
    copy(&bench, "d/nothere\nd/sub/f\n", &["s", "d"]).ended(1, "s/d/nothere");
    assert_eq!(fs::read(bench.path("d/d/sub/f")).unwrap(), b"data");
}
