//! parrm through the binary: GNU rm's habits, what is refused, what is asked, and what is told.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use super::cli_support::{Bench, PARFS, Ran, Sim, run_with, send};

/// A tree `name` of two directories, four files and a symbolic link to a file outside.
pub(super) fn plant(bench: &Bench, name: &str) -> PathBuf {
    let tree = bench.path(name);
    let _absent = fs::remove_dir_all(&tree);
    fs::create_dir_all(tree.join("sub/deep")).unwrap();
    for file in ["a.txt", "b.log", "sub/c.log", "sub/deep/d"] {
        fs::write(tree.join(file), file).unwrap();
    }
    symlink(bench.path("a.tar"), tree.join("link")).unwrap();
    tree
}

/// All paths below a directory of the bench, sorted.
pub(super) fn left(bench: &Bench, name: &str) -> Vec<String> {
    let walk = walkdir::WalkDir::new(bench.path(name)).min_depth(1).sort_by_file_name();
    let paths = walk.into_iter().map(|entry| entry.unwrap().path().to_path_buf());
    paths.map(|path| path.strip_prefix(bench.path(name)).unwrap().display().to_string()).collect()
}

pub(super) fn json(bench: &Bench) -> Value {
    serde_json::from_slice(&fs::read(bench.path("run.json")).unwrap()).unwrap()
}

#[test]
fn trees_and_files_go_and_what_links_lead_to_stays() {
    let bench = Bench::new();
    let tree = plant(&bench, "t");
    symlink("t", bench.path("alias")).unwrap();
    fs::write(bench.path("f"), "").unwrap();
    let ran = bench.run_as("parrm alias f").ok();
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
    assert!(tree.join("sub/deep/d").exists() && fs::symlink_metadata(bench.path("alias")).is_err());
    bench.run_as("parrm t/ -P 3 --window 2").ok();
    assert!(!tree.exists() && bench.path("a.tar").exists());
    // The way to an operand may lead through links.
    let tree = plant(&bench, "u");
    symlink("u", bench.path("way")).unwrap();
    bench.run_as("parrm way/sub").ok();
    assert!(!tree.join("sub").exists() && tree.join("a.txt").exists());
}

#[test]
fn it_is_a_command_of_parfs_too() {
    for name in ["parrm", "rm"] {
        let bench = Bench::new();
        let tree = plant(&bench, "t");
        let output = Command::new(PARFS).args([name, "-rf"]).arg(&tree).output().unwrap();
        assert_eq!(Ran::of(output).ok().stderr, "");
        assert!(!tree.exists());
    }
}

#[test]
fn what_must_never_be_removed_is_refused_and_the_rest_goes() {
    let bench = Bench::new();
    let tree = plant(&bench, "t");
    symlink("t", bench.path("link")).unwrap();
    let dot = "refusing to remove '.' or '..'";
    for (operand, said) in [
        ("/", "it is the root directory, which is never removed"),
        ("//", "it is the root directory, which is never removed"),
        (".", dot),
        ("t/..", dot),
        ("t/sub/.", dot),
        ("link/", "link/: Not a directory"),
        ("t/a.txt/", "t/a.txt/: Not a directory"),
        ("/proc", "it is the root of a mounted file system; --contents removes what is in it"),
    ] {
        fs::write(bench.path("other"), "").unwrap();
        for flags in ["", "-rf ", "--contents "] {
            if (flags, operand) == ("--contents ", "/proc") || (flags, operand) == ("-rf ", "t/a.txt/") {
                continue;
            }
            bench.run_as(&format!("parrm {flags}{operand}")).ended(1, said);
        }
        bench.run_as(&format!("parrm {operand} other")).ended(1, said);
        assert!(!bench.path("other").exists(), "{operand}");
    }
    let ran = bench.command_as("parrm", ["", "t/a.txt"]).output().unwrap();
    Ran::of(ran).ended(1, "parrm: the empty name is no file's");
    assert_eq!(left(&bench, "t"), ["b.log", "link", "sub", "sub/c.log", "sub/deep", "sub/deep/d"]);
    bench.run_as("parrm --preserve-root=all --contents --dry-run /proc").ended(1, "on another device");
    assert!(tree.exists());
}

#[test]
fn missing_objects_are_errors_unless_forced() {
    let bench = Bench::new();
    bench.run_as("parrm none").ended(1, "parrm: none: ");
    bench.run_as("parrm none/x").ended(1, "No such file or directory");
    symlink("a.tar", bench.path("link")).unwrap();
    for line in
        ["parrm -f none", "parrm -f none/x", "parrm -f a.tar/x", "parrm -f", "parrm -f a.tar/", "parrm -rf link/"]
    {
        assert_eq!(bench.run_as(line).ok().stderr, "", "{line}");
    }
    assert!(bench.path("a.tar").exists() && bench.path("link").is_symlink());
    bench.run_as("parrm a.tar/").ended(1, "a.tar/: Not a directory");
}

/// To look at it with the slash fails as at what is not there. A link to a directory is there.
#[test]
fn what_is_no_directory_behind_a_slash_is_nothing_to_force() {
    let (bench, served) = (Bench::new(), tempfile::tempdir().unwrap());
    for dir in [served.path().to_path_buf(), bench.path(".")] {
        fs::create_dir_all(dir.join("d/in")).unwrap();
        fs::write(dir.join("x"), "").unwrap();
        for (link, text) in [("gone", "no"), ("lost", "d/no/y"), ("lx", "x"), ("ld", "d/in"), ("up", "../no")] {
            symlink(text, dir.join(link)).unwrap();
        }
    }
    let sim = Sim::start(&["--dir", served.path().to_str().unwrap(), "--unlimited"]);
    let listed = |flags: &str, names: &str, end: &str, dir: &str| {
        let list: String = names.split(' ').map(|name| format!("{name}/{end}")).collect();
        let zero = if end == "\0" { "-0 " } else { "" };
        let command = bench.command_as("parrm", format!("{flags} {zero}--files-from - {dir}").split_whitespace());
        run_with(command, list.as_bytes())
    };
    for name in ["x", "gone", "lost", "lx"] {
        bench.run_as(&format!("parrm -f {name}/")).ok();
        bench.run_as(&format!("parrm -f {}{name}/", sim.url)).ok();
        bench.run_as(&format!("parrm {}{name}/", sim.url)).ended(1, "Not a directory");
    }
    for end in ["\0", "\n"] {
        for dir in ["", &sim.url] {
            assert_eq!(listed("-f", "x gone lost lx", end, dir).ok().stderr, "");
            listed("", "x", end, dir).ended(1, "x/: Not a directory");
            for link in ["ld", "up"] {
                listed("-f", link, end, dir).ended(1, &format!("{link}/: Not a directory"));
            }
        }
    }
    bench.run_as("parrm -rf ld/").ended(1, "Not a directory");
    bench.run_as(&format!("parrm -rf {}ld/", sim.url)).ended(1, "Not a directory");
    for dir in [served.path().to_path_buf(), bench.path(".")] {
        let all = ["x", "gone", "lost", "lx", "ld", "up", "d/in"];
        assert!(all.iter().all(|name| fs::symlink_metadata(dir.join(name)).is_ok()));
    }
}

#[test]
fn what_cannot_be_on_a_server_is_nothing_to_force() {
    let (bench, served) = (Bench::new(), tempfile::tempdir().unwrap());
    for at in ["file", "last"] {
        fs::write(served.path().join(at), "").unwrap();
    }
    let sim = Sim::start(&["--dir", served.path().to_str().unwrap(), "--unlimited"]);
    let url = &sim.url;
    for (below, why) in [("nope/a/b", "No such file"), ("file/a", "not a directory"), ("file/a/b", "Not a directory")] {
        for how in ["-f", "-rf", "-f --contents"] {
            assert_eq!(bench.run_as(&format!("parrm {how} {url}{below}")).ok().stderr, "", "{how} {below}");
        }
        bench.run_as(&format!("parrm -rf --dry-run {url}{below}")).ok();
        bench.run_as(&format!("parrm -r {url}{below}")).ended(1, why);
    }
    Ran::of(Command::new(PARFS).args(["plan", "remove", "-rf", &format!("{url}nope/a")]).output().unwrap()).ok();
    bench.run_as(&format!("parrm -f {url}nope/a {url}last")).ok();
    assert!(!served.path().join("last").exists() && served.path().join("file").exists());
    bench.run_as("parrm -f nfs://127.0.0.1:1/nope/a").ended(1, "cannot reach");
}

#[test]
fn failures_name_the_file_and_the_call_and_the_rest_goes() {
    let bench = Bench::new();
    plant(&bench, "t");
    // -d removes a directory only when it is empty: the same for root and all others.
    fs::create_dir(bench.path("empty")).unwrap();
    let ran = bench.run_as("parrm -d t empty --report run.json").ended(1, "parrm: t: RMDIR: Directory not empty");
    assert!(!bench.path("empty").exists() && !ran.stderr.contains("empty:"));
    let report = json(&bench);
    assert_eq!((&report["program"], &report["schema"]), (&"parrm".into(), &1.into()));
    assert_eq!((&report["exit_status"], &report["failed"][0]["call"]), (&1.into(), &"RMDIR".into()));
    assert_eq!((&report["removed"]["dirs"], &report["removed"]["files"]), (&1.into(), &0.into()));
    bench.run_as("parrm -rd t").ok();
    assert!(!bench.path("t").exists());
}

#[test]
fn it_asks_once_where_it_is_told_to_and_never_else() {
    let bench = Bench::new();
    for (answer, goes) in [("y\n", true), ("Yes\n", true), ("n\n", false), ("", false), ("maybe\n", false)] {
        let tree = plant(&bench, "t");
        let ran = run_with(bench.command_as("parrm", ["-I", "t"]), answer.as_bytes()).ok();
        assert_eq!(ran.stderr, "parrm: remove 1 argument recursively? ");
        assert_eq!(!tree.exists(), goes, "{answer:?}");
    }
    plant(&bench, "t");
    let ran = run_with(bench.command_as("parrm", ["-Id", "t/a.txt", "t/b.log", "t/link"]), b"n\n").ok();
    assert_eq!((ran.stderr.as_str(), left(&bench, "t").len()), ("", 4));
    // What is no tree goes unasked, up to three operands.
    plant(&bench, "t");
    fs::write(bench.path("plain"), "").unwrap();
    symlink("t", bench.path("alias")).unwrap();
    assert_eq!(bench.run_as("parrm -I plain alias t/a.txt").ok().stderr, "");
    assert!(!bench.path("plain").exists() && !bench.path("alias").is_symlink() && left(&bench, "t").len() == 6);
    let ran = run_with(bench.command_as("parrm", ["-I", "t/b.log", "t/link", "t/none", "t/gone"]), b"n\n").ok();
    assert_eq!(ran.stderr, "parrm: remove 4 arguments? ");
    let ran = run_with(bench.command_as("parrm", ["-I", "t/b.log", "t/sub"]), b"n\n").ok();
    assert_eq!((ran.stderr.as_str(), left(&bench, "t").len()), ("parrm: remove 2 arguments recursively? ", 6));
    // A closed standard input is no answer, and no question is asked without -I.
    bench.run_as("parrm t").ok();
    for i in ["-i t", "--interactive t", "--interactive=always t"] {
        assert_eq!(bench.run_as(&format!("parrm {i}")).status, Some(2), "{i}");
    }
}

#[test]
fn a_refused_rehearsal_prices_nothing() {
    let bench = Bench::new();
    let refused = bench.run_as("parrm --dry-run /").ended(1, "it is the root directory");
    assert_eq!((refused.stdout.as_str(), refused.stderr.lines().count()), ("", 1), "{refused:?}");
}

#[test]
fn a_figure_below_zero_is_a_wrong_value() {
    let bench = Bench::new();
    bench.run_as("parrm --older-than -5d a.tar").failed("--older-than: '-5d' is neither a span");
    for count in ["-1", "10%", "many"] {
        let said = format!("invalid value '{count}' for '--max-delete <N>': a count of objects, 0 or more");
        bench.run_as(&format!("parcp --delete --max-delete {count} a b")).failed(&said);
    }
    bench.run_as("parrm --window -1 a.tar").failed("invalid value '-1' for '--window <N>'");
    bench.run_as("parrm --max-iops -1 a.tar").failed("invalid value '-1' for '--max-iops <N>'");
    assert!(bench.path("a.tar").exists());
}

/// As `find` and `find -depth` write them: lanes begin with a directory while what is in it waits for its turn.
#[test]
fn a_list_may_name_directories_and_what_is_in_them() {
    let bench = Bench::new();
    let files: String = (0..40).map(|n| format!("d/e/f{n}\n")).collect();
    for (n, text) in [format!("{files}d/e\nd\n"), format!("./d/\n./d/e\n{files}")].iter().cycle().take(10).enumerate() {
        fs::create_dir_all(bench.path("t/d/e")).unwrap();
        files.lines().for_each(|file| fs::write(bench.path("t").join(file), "").unwrap());
        fs::write(bench.path("list"), text).unwrap();
        bench.run_as("parrm --files-from list t").ok();
        assert_eq!(left(&bench, "t"), Vec::<String>::new(), "round {n}");
    }
    fs::create_dir_all(bench.path("t/d")).unwrap();
    fs::write(bench.path("list"), "d\ne/f\nd2\n").unwrap();
    let ran = bench.run_as("parrm --files-from list t").ended(1, "e/f: LOOKUP: No such file or directory");
    assert!(ran.stderr.contains("d2: LOOKUP: No such file or directory"), "{ran:?}");
    // What is in a directory goes not with a link to it, in whatever batch it is asked for.
    fs::create_dir_all(bench.path("t/d")).unwrap();
    fs::write(bench.path("t/d/x"), "").unwrap();
    symlink("d", bench.path("t/l")).unwrap();
    let others: String = (0..300).map(|n| format!("f{n}\n")).collect();
    others.lines().for_each(|file| fs::write(bench.path("t").join(file), "").unwrap());
    fs::write(bench.path("list"), format!("l\n{others}l/x\n")).unwrap();
    bench.run_as("parrm --files-from list t").ended(1, "l/x: LOOKUP: No such file or directory");
    assert_eq!(left(&bench, "t"), ["d", "d/x"]);
}

/// Of directories that were looked up and are gone meanwhile, a server says that the handle is stale.
#[test]
fn a_list_over_nfs_may_name_directories_and_what_is_in_them() {
    let bench = Bench::new();
    let sim = Sim::start(&["--unlimited"]);
    let url = sim.url.trim_end_matches('/');
    let mut text = "d\nd/b\n".to_string();
    for n in 0..300 {
        fs::create_dir_all(bench.path(format!("s/d/b/c{n}"))).unwrap();
        fs::write(bench.path(format!("s/d/b/c{n}/z")), "").unwrap();
        text += &format!("d/b/c{n}\nd/b/c{n}/z\n");
    }
    fs::write(bench.path("list"), text).unwrap();
    for options in ["", "-P 1 "] {
        bench.run_as(&format!("parcp s {url}/t")).ok();
        bench.run_as(&format!("parrm {options}--files-from list {url}/t")).ok();
        bench.run_as(&format!("parcp {url}/t empty")).ok();
        assert_eq!(left(&bench, "empty"), Vec::<String>::new());
    }
}

/// Whichever lane is faster: a path that comes again was removed by this run. What was never there is told, once.
#[test]
fn a_list_may_name_a_path_twice() {
    let bench = Bench::new();
    for (flags, text) in
        [("", "f\n./f\nd\nd/\nf\n"), ("", "d/\nd\nf\n"), ("-P 1", "f\nd\nf\nd\n"), ("-d", "d/\nf\nd\nf\n")]
    {
        for round in 0..5 {
            fs::create_dir_all(bench.path("t/d")).unwrap();
            fs::write(bench.path("t/f"), "").unwrap();
            fs::write(bench.path("list"), text).unwrap();
            bench.run_as(&format!("parrm {flags} --files-from list t")).ok();
            assert_eq!(left(&bench, "t"), Vec::<String>::new(), "{flags} {text:?}, round {round}");
        }
    }
    fs::write(bench.path("list"), "f\nf\n").unwrap();
    let ran = bench.run_as("parrm --files-from list t").ended(1, "f: LOOKUP: No such file or directory");
    assert_eq!(ran.stderr.matches("No such file").count(), 1, "{ran:?}");
    // A slash keeps what is no directory, and the path without it removes that.
    fs::write(bench.path("t/f"), "").unwrap();
    fs::write(bench.path("list"), "f/\nf\n").unwrap();
    bench.run_as("parrm --files-from list t").ended(1, "f");
    assert_eq!(left(&bench, "t"), Vec::<String>::new());
}

#[test]
fn lists_of_paths_are_relative_to_the_directory() {
    let bench = Bench::new();
    plant(&bench, "t");
    let list = |text: &[u8], args: &[&str]| run_with(bench.command_as("parrm", args), text);
    list(b"a.txt\nsub/deep\n", &["--files-from", "-", "t"]).ok();
    assert_eq!(left(&bench, "t"), ["b.log", "link", "sub", "sub/c.log"]);
    fs::write(bench.path("t/new\nline"), "").unwrap();
    list(b"t/new\nline\0./t/link\0", &["--files-from=-", "-0"]).ok();
    assert_eq!(left(&bench, "t"), ["b.log", "sub", "sub/c.log"]);
    let ran = list(b"../a.tar\n/etc\n.\nsub\n", &["--files-from", "-", "t"]).ended(1, "../a.tar: '..' is not followed");
    assert!(ran.stderr.contains("/etc: an absolute path") && bench.path("a.tar").exists(), "{ran:?}");
    assert_eq!(left(&bench, "t"), ["b.log"]);
    fs::write(bench.path("t/last"), "").unwrap();
    let ran = list(b"b.log\0last", &["--null", "--files-from", "-", "t"]).ended(1, "'last', has no NUL behind it");
    assert_eq!((ran.stderr.lines().count(), left(&bench, "t")), (1, vec!["last".to_string()]), "{ran:?}");
    bench.run_as("parrm --files-from none t").ended(1, "parrm: none: Cannot open: No such file or directory");
    bench.run_as("parrm --files-from - t u").ended(2, "one directory");
}

#[test]
fn a_rehearsal_tells_and_prices_and_removes_nothing() {
    let bench = Bench::new();
    plant(&bench, "t");
    let before = left(&bench, "t");
    let ran = bench.run_as("parrm --dry-run t --report run.json").ok();
    let mut lines: Vec<&str> = ran.stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines.len(), 8, "{ran:?}");
    assert!(lines.contains(&"would remove 't/a.txt'") && lines.contains(&"would remove directory 't/sub'"), "{ran:?}");
    for part in ["would remove 5 files and 3 directories", "REMOVE", "IOPS and 0 B of data", "at the ceiling of 1"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    assert_eq!(left(&bench, "t"), before);
    let planned = json(&bench)["targets"][0]["iops_total"].clone();
    bench.run_as("parrm t --report run.json").ok();
    let report = json(&bench);
    assert_eq!((&report["targets"][0]["iops_total"], &report["dry_run"]), (&planned, &false.into()));
    assert!(!bench.path("t").exists());
}

#[test]
fn what_is_removed_is_listed_and_summed_up() {
    let bench = Bench::new();
    plant(&bench, "t");
    fs::write(bench.path("t").join(std::ffi::OsStr::from_bytes(b"odd\n\xff")), "").unwrap();
    let ran = bench.run_as("parrm -v t").ok();
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!((lines.len(), lines.last()), (9, Some(&"removed directory 't'")));
    assert!(lines.contains(&"removed 't/odd\\n\\377'"), "{ran:?}");
    for part in ["removed 6 files and 3 directories", "Procedure", "RMDIR", "Bound by"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    plant(&bench, "t");
    let mut command = bench.command_as("parrm", ["-v", "t"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    Ran::of(command.stdout(writer).output().unwrap()).ok();
    assert!(!bench.path("t").exists());
}

/// A throttle waits before it lets a window through, so no run can be faster than its limit.
#[test]
fn a_limit_holds() {
    let bench = Bench::new();
    plant(&bench, "t");
    bench.run_as("parrm t --max-iops=1000 --report run.json").ok();
    let rate = json(&bench)["targets"][0]["iops_per_s"].as_f64().unwrap();
    assert!(rate > 0.0 && rate <= 1000.0, "{rate}");
}

#[test]
fn exports_are_cleared_and_never_removed() {
    let bench = Bench::new();
    let served = tempfile::tempdir().unwrap();
    let sim = Sim::start(&["--dir", served.path().to_str().unwrap(), "--targets", "2", "--unlimited"]);
    let url = sim.url.trim_end_matches('/');
    for dir in ["a/b", "c/d", ".snapshot/daily"] {
        fs::create_dir_all(served.path().join(dir)).unwrap();
        fs::write(served.path().join(dir).join("f"), "x").unwrap();
    }
    symlink("c", served.path().join("link")).unwrap();
    bench
        .run_as(&format!("parrm {url}/link/ {url}/.snapshot {url}/.snapshot/daily {url}/a --report run.json"))
        .ended(1, "Not a directory");
    let report = json(&bench);
    assert_eq!((&report["failures"], &report["removed"]["files"]), (&3.into(), &1.into()));
    assert_eq!(report["targets"].as_array().unwrap().len(), 2);
    assert!(!served.path().join("a").exists() && served.path().join("link").exists());
    bench.run_as(&format!("parrm {url}/")).ended(1, "it is an export's root; --contents removes what is in it");
    bench.run_as(&format!("parrm -r {url}/c/..")).ended(1, "refusing to remove '.' or '..'");
    assert!(served.path().join("c/d/f").exists());
    bench.run_as(&format!("parrm --contents {url}/")).ok();
    let names = fs::read_dir(served.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
    assert_eq!(names, [".snapshot"]);
    assert!(served.path().join(".snapshot/daily/f").exists());
    bench.run_as("parrm nfs://127.0.0.1:1/e/x").ended(1, "nfs://127.0.0.1:1/e/x: Cannot mount: ");
}

/// As rm: the second time it is not there any more, whatever lanes are faster.
#[test]
fn what_is_named_twice_or_is_in_another_operand_ends_as_with_rm() {
    let bench = Bench::new();
    let served = tempfile::tempdir().unwrap();
    let sim = Sim::start(&["--dir", served.path().to_str().unwrap(), "--unlimited"]);
    let url = sim.url.trim_end_matches('/').to_string();
    let plant = |top: &std::path::Path| {
        fs::create_dir_all(top.join("t/b/c")).unwrap();
        (0..40).for_each(|i| fs::write(top.join(format!("t/b/{i}")), "").unwrap());
    };
    for (top, at) in [(bench.path(""), String::new()), (served.path().to_path_buf(), url + "/")] {
        for _ in 0..10 {
            for operands in ["t t", "t t/b", "t/b t t/b/c", "t t/b/c/d"] {
                let line = operands.split(' ').map(|name| format!("{at}{name}")).collect::<Vec<_>>().join(" ");
                plant(&top);
                let ran = bench.run_as(&format!("parrm -rf {line}")).ok();
                assert_eq!((ran.stderr.as_str(), top.join("t").exists()), ("", false), "{line}");
                plant(&top);
                let ran = bench.run_as(&format!("parrm -r {line}")).ended(1, "No such file or directory");
                assert_eq!((ran.stderr.lines().count(), top.join("t").exists()), (1, false), "{line}: {ran:?}");
            }
        }
    }
}

#[test]
fn a_signal_ends_the_run_in_order() {
    let bench = Bench::new();
    fs::create_dir(bench.path("t")).unwrap();
    (0..500).for_each(|i| fs::write(bench.path(format!("t/{i}")), "").unwrap());
    // A ceiling of 8 IOPS is one REMOVE a second.
    let args = ["-vv", "-P", "1", "--window", "1", "--max-iops", "8", "t", "--report", "run.json"];
    let mut child = bench.command_as("parrm", args).stdout(Stdio::null()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.contains("lanes of"), "{line}");
    send(&child, Signal::INT);
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut stderr, &mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
    assert!(rest.contains("a second one ends at once"), "{rest}");
    let report = json(&bench);
    assert_eq!(report["exit_status"], Value::from(130));
    assert!(report["stopped"].as_str().unwrap().contains("the same command removes the rest"), "{report}");
    bench.run_as("parrm t").ok();
}

#[test]
fn a_directory_that_may_not_be_written_is_told() {
    if rustix::process::geteuid().is_root() {
        // Root may write everywhere; an immutable place that needs no privileges to make is /proc.
        let bench = Bench::new();
        bench.run_as("parrm /proc/self/status").ended(1, "parrm: /proc/self/status: REMOVE: ");
        return;
    }
    let bench = Bench::new();
    let tree = plant(&bench, "t");
    fs::set_permissions(tree.join("sub"), fs::Permissions::from_mode(0o555)).unwrap();
    bench.run_as("parrm t").ended(1, "parrm: t/sub/c.log: REMOVE: Permission denied");
    fs::set_permissions(tree.join("sub"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(left(&bench, "t"), ["sub", "sub/c.log", "sub/deep"]);
}
