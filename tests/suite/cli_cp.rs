//! parcp through the binary: cp's and rsync's habits, what is refused, and what is told.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use parfs::base::hash::mix;
use rustix::process::Signal;
use serde_json::Value;

use super::cli_support::{Bench, PARFS, Ran, Sim, run_with, send};
use super::tree::{assert_same, dump_dir};

/// A tree of three directories, four files and a symbolic link.
fn plant(bench: &Bench, name: &str) -> PathBuf {
    let tree = bench.path(name);
    fs::create_dir_all(tree.join("sub/deep")).unwrap();
    for file in ["a.txt", "b.log", "sub/c.log", "sub/deep/d"] {
        fs::write(tree.join(file), file).unwrap();
    }
    symlink("a.txt", tree.join("link")).unwrap();
    tree
}

/// All paths below a directory of the bench, sorted.
fn paths(bench: &Bench, name: &str) -> Vec<String> {
    let walk = walkdir::WalkDir::new(bench.path(name)).min_depth(1).sort_by_file_name();
    let paths = walk.into_iter().map(|entry| entry.unwrap().path().to_path_buf());
    paths.map(|path| path.strip_prefix(bench.path(name)).unwrap().display().to_string()).collect()
}

fn json(bench: &Bench) -> Value {
    serde_json::from_slice(&fs::read(bench.path("run.json")).unwrap()).unwrap()
}

/// The same tree in both directories of the bench.
#[track_caller]
fn same(bench: &Bench, a: &str, b: &str) {
    assert_same(&dump_dir(&bench.path(a)), &dump_dir(&bench.path(b)), &format!("{a} and {b}"));
}

#[test]
fn it_is_a_command_of_parfs_too() {
    for name in ["parcp", "cp"] {
        let bench = Bench::new();
        let tree = plant(&bench, "s");
        Ran::of(Command::new(PARFS).args([name, "-a"]).arg(&tree).arg(bench.path("d")).output().unwrap()).ok();
        same(&bench, "s", "d");
    }
}

#[test]
fn several_sources_land_below_the_directory_under_their_names() {
    let bench = Bench::new();
    plant(&bench, "s");
    plant(&bench, "x/t");
    fs::write(bench.path("f"), "one").unwrap();
    symlink("s", bench.path("alias")).unwrap();
    bench.run_as("parcp s x/t f alias out").ok();
    same(&bench, "s", "out/s");
    same(&bench, "x/t", "out/t");
    assert_eq!(fs::read_link(bench.path("out/alias")).unwrap(), PathBuf::from("s"));
    assert_eq!(fs::read(bench.path("out/f")).unwrap(), b"one");
    fs::create_dir(bench.path("e")).unwrap();
    bench.run_as("parcp -t e s").ok();
    same(&bench, "s", "e/s");
    // Contents, and what a link with a slash behind it leads to.
    fs::create_dir(bench.path("g")).unwrap();
    bench.run_as("parcp x/t/. alias/ g").ok();
    same(&bench, "s", "g/alias");
    assert!(bench.path("g/sub/deep/d").exists() && !bench.path("g/t").exists());
    let ran = bench.run_as("parcp s none f out").ended(1, "parcp: none: cannot stat: No such file or directory");
    assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
    bench.run_as("parcp s f none").ended(1, "target 'none': No such file or directory");
    bench.run_as("parcp s f a.tar").ended(1, "target 'a.tar' is not a directory");
}

#[test]
fn one_file_goes_below_a_directory_or_takes_the_name() {
    let bench = Bench::new();
    plant(&bench, "s");
    bench.run_as("parcp s/a.txt out").ok();
    bench.run_as("parcp s/a.txt new").ok();
    bench.run_as("parcp s/link out/").ok();
    assert_eq!(fs::read(bench.path("out/a.txt")).unwrap(), b"a.txt");
    assert_eq!(fs::read(bench.path("new")).unwrap(), b"a.txt");
    assert_eq!(fs::read_link(bench.path("out/link")).unwrap(), PathBuf::from("a.txt"));
    fs::write(bench.path("new"), "longer than before").unwrap();
    bench.run_as("parcp s/a.txt new").ok();
    assert_eq!(fs::read(bench.path("new")).unwrap(), b"a.txt");
    bench.run_as("parcp s/a.txt absent/").ended(1, "cannot create regular file 'absent/': Not a directory");
    // rsync would go to another host.
    for remote in ["host:backup", "user@host:"] {
        bench.run_as(&format!("parcp s {remote}")).ended(1, "other hosts are reached by nfs://HOST/PATH");
        bench.run_as(&format!("parcp {remote} new")).ended(1, "other hosts are reached by nfs://HOST/PATH");
        bench.run_as(&format!("parcp s s/a.txt {remote}")).ended(1, "other hosts are reached by nfs://HOST/PATH");
        bench.run_as(&format!("parcp -t {remote} s")).ended(1, "other hosts are reached by nfs://HOST/PATH");
        assert!(!bench.path(remote).exists());
    }
    bench.run_as("parcp s/a.txt ./a:b").ok();
    bench.run_as("parcp s/a.txt a:b").ok();
    bench.run_as("parcp s/a.txt no/where").ended(1, "cannot create 'no/where': no: No such file or directory");
    bench.run_as("parcp s no/where").ended(1, "no: No such file or directory");
    bench.run_as("parcp s new").ended(1, "cannot overwrite non-directory 'new' with directory 's'");
    bench.run_as("parcp none new").ended(1, "cannot stat 'none': No such file or directory");
    symlink("away", bench.path("dangling")).unwrap();
    bench.run_as("parcp s dangling").ended(1, "not writing through dangling symlink 'dangling'");
}

#[test]
fn nothing_is_copied_onto_or_into_itself_or_deleted_under_its_own_feet() {
    let bench = Bench::new();
    plant(&bench, "s");
    symlink("s", bench.path("alias")).unwrap();
    let before = dump_dir(&bench.path("s"));
    for (line, said) in [
        ("s s", "'s' and 's' are the same file"),
        ("s/. alias", "are the same file"),
        ("s/a.txt s", "are the same file"),
        ("s/a.txt s/a.txt", "are the same file"),
        ("-t . s", "are the same file"),
        ("s s/sub", "cannot copy a directory, 's', into itself, 's/sub'"),
        ("s s/sub/new", "cannot copy a directory, 's', into itself, 's/sub/new'"),
        ("-t s/sub s", "into itself, 's/sub/s'"),
        ("--delete s/sub s", "--delete would remove the source 's/sub', which is in the destination 's'"),
    ] {
        bench.run_as(&format!("parcp {line}")).ended(1, said);
        assert_same(&before, &dump_dir(&bench.path("s")), line);
    }
    bench.run_as("parcp --exclude deep s s/sub/deep/copy").ok();
    assert!(bench.path("s/sub/deep/copy/a.txt").exists() && !bench.path("s/sub/deep/copy/sub/deep").exists());
}

#[test]
fn rules_decide_in_their_order() {
    let bench = Bench::new();
    plant(&bench, "s");
    bench.run_as("parcp --include c.log --exclude *.log s d").ok();
    assert_eq!(paths(&bench, "d"), ["a.txt", "link", "sub", "sub/c.log", "sub/deep", "sub/deep/d"]);
    fs::write(bench.path("d/keep.log"), "").unwrap();
    bench.run_as("parcp --delete --exclude *.log s d").ok();
    assert!(bench.path("d/keep.log").exists() && bench.path("d/sub/c.log").exists());
    bench.run_as("parcp --delete-excluded --exclude *.log s d").ok();
    assert!(!bench.path("d/keep.log").exists());
    let ran = bench.run_as("parcp --exclude sub/ s e").ok();
    assert!(ran.stderr.contains("pattern 'sub/' excludes nothing: it ends in a slash"), "{ran:?}");
    bench.run_as("parcp --include sub --include [[:lower:]].log --exclude * s f").ok();
    assert_eq!(paths(&bench, "f"), ["b.log", "sub", "sub/c.log"]);
    fs::write(bench.path("list"), "sub/deep/d\nsub/c.log\n").unwrap();
    bench.run_as("parcp --files-from list --exclude deep s g").ok();
    assert_eq!(paths(&bench, "g"), ["sub", "sub/c.log"]);
}

/// As rsync, which asks patterns of what is named too: of its own name, wherever it goes.
#[test]
fn rules_are_asked_of_a_source_that_is_no_directory() {
    let bench = Bench::new();
    plant(&bench, "s");
    fs::write(bench.path("list"), "*.log\nlink\n").unwrap();
    let there = |to: &str| fs::symlink_metadata(bench.path(to)).is_ok();
    for (rules, source, is_copied) in [
        ("--exclude *.log", "s/b.log", false),
        ("--exclude-from list", "s/b.log", false),
        ("--exclude-from list", "s/link", false),
        ("--exclude a.txt", "s/link", true),
        ("--exclude s/b.log", "s/b.log", true),
        ("--exclude s", "s/b.log", true),
        ("--exclude to", "s/b.log", true),
        ("--include b* --exclude *", "s/b.log", true),
        ("--exclude s", "s", true),
    ] {
        let ran = bench.run_as(&format!("parcp -av {rules} {source} to")).ok();
        assert_eq!((there("to"), ran.stdout.contains("'to'")), (is_copied, is_copied), "{rules} {source}: {ran:?}");
        let ran = bench.run_as(&format!("parcp -a --dry-run {rules} {source} dry")).ok();
        assert_eq!((there("dry"), ran.stdout.contains("'dry'")), (false, is_copied), "{rules} {source}: {ran:?}");
        let ran = bench.run_as(&format!("parcp -a --report run.json {rules} {source} to")).ok();
        let left_out = json(&bench)["copied"]["left_out"].as_u64();
        if source != "s" {
            assert_eq!(left_out, Some(u64::from(!is_copied)), "{rules} {source}: {ran:?}");
        }
        drop(fs::remove_dir_all(bench.path("to")).or_else(|_| fs::remove_file(bench.path("to"))));
    }
}

#[test]
fn a_list_of_paths_is_copied_with_its_directories() {
    let bench = Bench::new();
    plant(&bench, "s");
    run_with(bench.command_as("parcp", ["--files-from", "-", "s", "d"]), b"sub/deep/d\na.txt\n").ok();
    assert_eq!(paths(&bench, "d"), ["a.txt", "sub", "sub/deep", "sub/deep/d"]);
    let ran = run_with(bench.command_as("parcp", ["--files-from=-", "-0", "s", "e"]), b"../a.tar\0sub\0none\0");
    let ran = ran.ended(1, "../a.tar");
    assert!(ran.stderr.contains("s/none: LOOKUP: No such file or directory"), "{ran:?}");
    assert_eq!(paths(&bench, "e"), ["sub", "sub/c.log", "sub/deep", "sub/deep/d"]);
}

#[test]
fn what_is_there_is_compared_as_asked() {
    let bench = Bench::new();
    plant(&bench, "s");
    bench.run_as("parcp s d").ok();
    let file = bench.path("d/a.txt");
    let touch = |text: &str, secs: u64| {
        fs::write(&file, text).unwrap();
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(secs);
        fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    };
    let text = || fs::read_to_string(&file).unwrap();
    let source_time = u64::try_from(fs::metadata(bench.path("s/a.txt")).unwrap().mtime()).unwrap();
    for (flags, secs, expected) in [
        ("--size-only", 5, "A.TXT"),
        ("-n", 5, "A.TXT"),
        ("-u", source_time + 100, "A.TXT"),
        ("-u", 5, "a.txt"),
        ("", 5, "a.txt"),
        ("-c", 5, "a.txt"),
        ("-I", 5, "a.txt"),
    ] {
        touch("A.TXT", secs);
        bench.run_as(&format!("parcp {flags} s d")).ok();
        assert_eq!(text(), expected, "{flags}");
    }
    bench.run_as("parcp --resume s d").ok();
    same(&bench, "s", "d");
}

/// A temporary name of a run on this host that is over.
fn left_by_an_ended_run() -> String {
    let (boot, space) =
        (fs::read("/proc/sys/kernel/random/boot_id").unwrap(), fs::read_link("/proc/self/ns/pid").unwrap());
    let host = boot.iter().chain(space.as_os_str().as_bytes()).fold(0, |hash, byte| mix(hash ^ u64::from(*byte)));
    let mut run = Command::new("true").spawn().unwrap();
    run.wait().unwrap();
    format!(".parfs.0123456789abcdef.{:08x}{:08x}01234567", mix(host) as u32, run.id())
}

#[test]
fn complete_files_with_several_names_get_all_of_them() {
    let bench = Bench::new();
    let tree = plant(&bench, "s");
    for name in ["b.link", "sub/deep/a.link"] {
        fs::hard_link(tree.join("a.txt"), tree.join(name)).unwrap();
    }
    bench.run_as("parcp --atomic s d").ok();
    same(&bench, "s", "d");
    fs::write(tree.join("a.txt"), "now another").unwrap();
    bench.run_as("parcp --atomic s d").ok();
    same(&bench, "s", "d");
    // A run was killed over one of the names, and this one begins with another: what was left goes.
    let names = ["a.txt", "b.link", "sub/deep/a.link"];
    for name in names {
        let at = bench.path("d").join(name);
        fs::remove_file(&at).unwrap();
        fs::write(at.with_file_name(left_by_an_ended_run()), "a part").unwrap();
    }
    // It may be another host's.
    fs::write(bench.path("d/.parfs.0123456789abcdef.0123456789abcdef01234567"), "a part").unwrap();
    bench.run_as("parcp -v --atomic s d").ok();
    let ran = bench.run_as("parcp --atomic --delete s d").ok();
    assert!(ran.stderr.contains("some temporary names (.parfs.* or .parfs-*) were not deleted"), "{ran:?}");
    fs::remove_file(bench.path("d/.parfs.0123456789abcdef.0123456789abcdef01234567")).unwrap();
    bench.run_as("parcp --atomic s d").ok();
    same(&bench, "s", "d");
}

/// A limit of the shell, which by itself ends what goes beyond it: it is told of the file, and the others are copied.
#[test]
fn a_file_beyond_the_limit_of_sizes_leaves_nothing_and_is_told() {
    let bench = Bench::new();
    fs::create_dir(bench.path("s")).unwrap();
    fs::write(bench.path("s/large"), vec![1; 1 << 20]).unwrap();
    fs::write(bench.path("s/small"), "small").unwrap();
    let limited = |line: &str| {
        // In blocks of 512 or 1,024 bytes, as the shell has it.
        let line = format!("ulimit -f 64; exec ./{line}");
        Ran::of(Command::new("sh").args(["-c", &line]).current_dir(bench.path("")).output().unwrap())
    };
    for how in ["--atomic ", "--atomic --window 1 ", ""] {
        let ran = limited(&format!("parcp {how}s d")).ended(1, "d/large: ");
        assert!(ran.stderr.contains("File too large"), "{ran:?}");
        if !how.is_empty() {
            assert_eq!(paths(&bench, "d"), ["small"], "{ran:?}");
        }
        fs::remove_dir_all(bench.path("d")).unwrap();
    }
    bench.run("-cf l.tar s").ok();
    limited("partar -xf l.tar -C out").failed("s/large: ");
    assert_eq!(fs::read(bench.path("out/s/small")).unwrap(), b"small");
    limited("partar -cf m.tar s").failed("m.tar: ");
}

#[test]
fn a_directory_that_shuts_its_owner_out_is_filled_and_is_nothing_to_tell_when_equal() {
    let bench = Bench::new();
    let tree = plant(&bench, "s");
    let mode = |mode| fs::set_permissions(tree.join("sub"), fs::Permissions::from_mode(mode)).unwrap();
    mode(0o555);
    bench.run_as("parcp s d").ok();
    let ran = bench.run_as("parcp -v s d").ok();
    assert_eq!(ran.stdout, "");
    mode(0o755);
    fs::write(tree.join("sub/more"), "more").unwrap();
    mode(0o555);
    bench.run_as("parcp s d").ok();
    same(&bench, "s", "d");
    // So that they can be removed.
    mode(0o755);
    fs::set_permissions(bench.path("d/sub"), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn modes_and_times_are_the_sources_unless_they_are_to_be_new() {
    for (flags, mode, is_old) in
        [("", 0o666, true), ("--no-preserve=mode,timestamps", 0o640, false), ("--no-preserve=mode -p", 0o666, true)]
    {
        let bench = Bench::new();
        let file = plant(&bench, "s").join("a.txt");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(7);
        fs::File::options().write(true).open(&file).unwrap().set_modified(old).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", &format!("umask 027; exec ./parcp {flags} s d")]).current_dir(bench.path("."));
        Ran::of(command.output().unwrap()).ok();
        let made = fs::metadata(bench.path("d/a.txt")).unwrap();
        assert_eq!((made.mode() & 0o7777, made.mtime() == 7), (mode, is_old), "{flags}");
    }
}

#[test]
fn deletions_are_limited_and_told() {
    let bench = Bench::new();
    plant(&bench, "s");
    plant(&bench, "d");
    (0..9).for_each(|i| fs::write(bench.path(format!("d/extra{i}")), "").unwrap());
    let ran = bench
        .run_as("parcp --delete --max-delete 4 s d --report run.json")
        .ended(1, "were not deleted from the destination: --max-delete allows no more");
    assert_eq!(json(&bench)["copied"]["deleted"], Value::from(4), "{ran:?}");
    assert_eq!(json(&bench)["copied"]["delete_held_back"], Value::from(5), "{ran:?}");
    let told = "5 objects were not deleted from the destination: --max-delete allows no more";
    assert_eq!(json(&bench)["warnings"], Value::from(vec![told]), "a script sees why it ended with 1");
    let ran = bench.run_as("parcp -v --delete s d").ok();
    assert_eq!(ran.stdout.lines().filter(|line| line.starts_with("removed 'd/extra")).count(), 5, "{ran:?}");
    same(&bench, "s", "d");
}

#[test]
fn trees_are_compared_without_a_change() {
    let bench = Bench::new();
    plant(&bench, "s");
    bench.run_as("parcp s d").ok();
    let ran = bench.run_as("parcp --verify-only s d").ok();
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""));
    fs::remove_file(bench.path("d/b.log")).unwrap();
    fs::write(bench.path("d/sub/extra"), "").unwrap();
    fs::write(bench.path("d/sub/deep/d"), "other").unwrap();
    let before = dump_dir(&bench.path("d"));
    let ran = bench.run_as("parcp --verify-only s d --report run.json").ended(1, "");
    let mut lines: Vec<&str> = ran.stdout.lines().collect();
    lines.sort_unstable();
    for line in ["b.log: only in the source", "sub/extra: only in the destination", "sub/deep/d: size"] {
        assert!(lines.contains(&line), "{line}: {lines:?}");
    }
    assert!(json(&bench)["copied"]["differences"].as_u64().unwrap() >= 3);
    assert_same(&before, &dump_dir(&bench.path("d")), "unchanged");
    bench.run_as("parcp --verify --delete s d").ok();
    same(&bench, "s", "d");
}

#[test]
fn a_rehearsal_tells_and_prices_by_side_and_changes_nothing() {
    let bench = Bench::new();
    plant(&bench, "s");
    fs::create_dir(bench.path("d")).unwrap();
    fs::write(bench.path("d/extra"), "").unwrap();
    let before = dump_dir(&bench.path("d"));
    let ran = bench.run_as("parcp --dry-run --delete s d --report run.json").ok();
    for part in ["'s/sub/deep/d' -> 'd/sub/deep/d'", "would remove 'd/extra'"] {
        assert!(ran.stdout.contains(part), "{part}: {ran:?}");
    }
    for part in
        ["would copy 4 files, 2 directories, 1 symbolic links", "source: ", "destination: ", "at the ceiling of"]
    {
        assert!(ran.stderr.contains(part), "{part}: {ran:?}");
    }
    assert_same(&before, &dump_dir(&bench.path("d")), "unchanged");
    bench.run_as("parcp --dry-run s new").ok();
    assert!(!bench.path("new").exists());
    let report = json(&bench);
    let roles: Vec<_> = report["targets"].as_array().unwrap().iter().map(|t| t["role"].clone()).collect();
    assert_eq!((roles, &report["dry_run"]), (vec!["source".into(), "destination".into()], &true.into()));
}

#[test]
fn deeds_and_costs_are_told_where_they_are_asked_for() {
    let bench = Bench::new();
    plant(&bench, "s");
    let ran = bench.run_as("parcp -v s d").ok();
    assert_eq!(ran.stdout.lines().count(), 8, "{ran:?}");
    assert!(
        ran.stdout.contains("'s/sub/deep/d' -> 'd/sub/deep/d'\n") && ran.stdout.contains("'s' -> 'd'\n"),
        "{ran:?}"
    );
    for part in ["copied 4 files, 3 directories, 1 symbolic links", "Procedure", "source ", "destination ", "Bound by"]
    {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let ran = bench.run_as("parcp --stats --info=progress2 s d").ok();
    assert!(ran.stdout.is_empty() && ran.stderr.contains("8 equal"), "{ran:?}");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    Ran::of(bench.command_as("parcp", ["-v", "s", "e"]).stdout(writer).output().unwrap()).ok();
    same(&bench, "s", "e");
}

/// A throttle waits before it lets a window through, so no run can be faster than its limit.
#[test]
fn limits_hold() {
    let bench = Bench::new();
    plant(&bench, "s");
    fs::write(bench.path("s/big"), vec![7; 200_000]).unwrap();
    bench.run_as("parcp --bwlimit=1000 s d --report run.json").ok();
    let report = json(&bench);
    let rate = |report: &Value, role: &str, figure: &str| {
        let target = report["targets"].as_array().unwrap().iter().find(|t| t["role"] == role).unwrap().clone();
        target[figure].as_f64().unwrap()
    };
    let written = rate(&report, "destination", "bytes_per_s");
    assert!(written > 0.0 && written <= 1_024_000.0, "{written}");
    bench.run_as("parcp --max-iops=2000 s e --report run.json").ok();
    let report = json(&bench);
    // Both are directories of one device, which is one target.
    let both = rate(&report, "source", "iops_per_s") + rate(&report, "destination", "iops_per_s");
    assert!(both > 0.0 && both <= 2000.0, "{both}");
}

#[test]
fn attributes_that_cannot_be_carried_are_told_once() {
    let bench = Bench::new();
    plant(&bench, "s");
    let sim = Sim::start(&["--unlimited"]);
    let url = sim.url.trim_end_matches('/');
    let ran = bench.run_as(&format!("parcp -AX s {url}/new")).ok();
    assert!(ran.stderr.starts_with("parcp: extended attributes and ACLs are not copied: "), "{ran:?}");
    assert_eq!(ran.stderr.lines().count(), 1);
    assert_eq!(bench.run_as(&format!("parcp -a s {url}/new")).ok().stderr, "");
}

/// By each program that sets them; not by a run that leaves files as they are.
#[test]
fn times_that_nfs_cannot_carry_are_told_with_their_number() {
    let bench = Bench::new();
    let tree = plant(&bench, "s");
    let sim = Sim::start(&["--unlimited"]);
    let url = sim.url.trim_end_matches('/');
    assert_eq!(bench.run_as(&format!("parcp -a s {url}/before")).ok().stderr, "");
    for (name, secs) in [("a.txt", -1), ("sub/c.log", 1 << 33), ("sub", -(1 << 33)), ("b.log", i64::from(u32::MAX))] {
        let times = [rustix::fs::Timespec { tv_sec: secs, tv_nsec: 0 }; 2];
        let times = rustix::fs::Timestamps { last_access: times[0], last_modification: times[1] };
        rustix::fs::utimensat(rustix::fs::CWD, tree.join(name), &times, rustix::fs::AtFlags::empty()).unwrap();
    }
    let told = |program: &str| {
        let what = "3 times of last modification are before 1970 or after 2106, which NFSv3 cannot carry; ";
        format!("{program}: {what}the nearest that it can was set\n")
    };
    assert_eq!(bench.run_as(&format!("parcp -a s {url}/new")).ok().stderr, told("parcp"));
    assert_eq!(bench.run_as(&format!("parcp -a s {url}/new")).ok().stderr, "", "nothing is copied again");
    bench.run_as("partar --format=posix -cf t.tar s").ok();
    bench.run_as("partar -xf t.tar -C out").ok();
    assert_eq!(bench.run_as(&format!("partar -xf t.tar -C {url}/new")).ok().stderr, told("partar"));
}

#[test]
fn trees_go_to_an_export_through_all_targets_and_come_back() {
    let bench = Bench::new();
    plant(&bench, "s");
    let served = tempfile::tempdir().unwrap();
    let sim = Sim::start(&["--dir", served.path().to_str().unwrap(), "--targets", "2", "--unlimited"]);
    let url = sim.url.trim_end_matches('/');
    bench.run_as(&format!("parcp s {url}/new --report run.json")).ok();
    assert_same(&dump_dir(&bench.path("s")), &dump_dir(&served.path().join("new")), "there");
    let targets = json(&bench)["targets"].clone();
    assert_eq!(targets.as_array().unwrap().iter().filter(|t| t["role"] == "destination").count(), 2);
    bench.run_as(&format!("parcp {url}/new back")).ok();
    same(&bench, "s", "back");
    bench.run_as(&format!("parcp {url}/new {url}/again")).ok();
    assert_same(&dump_dir(&bench.path("s")), &dump_dir(&served.path().join("again")), "from export to export");
    bench.run_as(&format!("parcp {url}/new/a.txt file")).ok();
    assert_eq!(fs::read(bench.path("file")).unwrap(), b"a.txt");
    bench.run_as(&format!("parcp file {url}/new/sub {url}/again")).ok();
    assert!(served.path().join("again/sub/deep/d").exists() && served.path().join("again/file").exists());
    bench.run_as(&format!("parcp {url}/new {url}/new/sub/x")).ended(1, "into itself");
    bench.run_as(&format!("parcp {url}/new {url}/new/")).ended(1, "are the same file");
    bench.run_as(&format!("parcp {url}/none x")).ended(1, "No such file or directory");
    bench.run_as("parcp s nfs://127.0.0.1:1/e").ended(1, "Cannot mount");
    // The root of an export: a snapshot is restored in place.
    fs::create_dir_all(served.path().join(".snapshot/daily/only")).unwrap();
    bench.run_as(&format!("parcp --delete {url}/.snapshot/daily {url}/")).ok();
    let mut names: Vec<_> = fs::read_dir(served.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, [".snapshot", "only"]);
}

#[test]
fn usage_errors_end_with_2_and_failures_with_1() {
    let bench = Bench::new();
    plant(&bench, "s");
    for line in ["parcp", "parcp s", "parcp -L s d", "parcp --bwlimit 1Q s d", "parcp --dry-run --verify s d"] {
        bench.run_as(line).ended(2, "Try 'parcp --help' for more information.");
    }
    let ran = bench.run_as("parcp none d --report run.json").ended(1, "none");
    assert_eq!(json(&bench)["exit_status"], Value::from(1), "{ran:?}");
    bench.run_as("parcp s d --report none/run.json").ended(1, "parcp: none/run.json: Cannot write: ");
    bench.run_as("parcp --exclude-from none s d").ended(1, "parcp: none: Cannot open: No such file or directory");
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = bench.command_as("parcp", ["-v", "s", "e"]).stdout(full).output().unwrap();
    Ran::of(output).ended(1, "parcp: stdout: No space left on device");
}

#[test]
fn a_signal_ends_the_run_in_order() {
    let bench = Bench::new();
    fs::create_dir(bench.path("s")).unwrap();
    (0..500).for_each(|i| fs::write(bench.path(format!("s/{i}")), "x").unwrap());
    let args = ["-vv", "-P", "1", "--window", "1", "--max-iops", "10", "s", "d", "--report", "run.json"];
    let mut child = bench.command_as("parcp", args).stdout(Stdio::null()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.contains("lanes of"), "{line}");
    send(&child, Signal::TERM);
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut stderr, &mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143), "{rest}");
    let report = json(&bench);
    assert!(report["stopped"].as_str().unwrap().contains("the same command goes on"), "{report}");
    bench.run_as("parcp s d").ok();
    same(&bench, "s", "d");
}

/// Its ranges are written in any order, and it has a time behind the source's.
#[test]
fn a_large_file_that_a_signal_left_unfinished_is_no_copy() {
    for options in [&[][..], &["--atomic"]] {
        let bench = Bench::new();
        fs::create_dir_all(bench.path("s")).unwrap();
        fs::write(bench.path("s/big"), vec![7; 40 << 20]).unwrap();
        let args = [&["--reflink=never", "--bwlimit", "10M", "s", "d"], options].concat();
        let mut child = bench.command_as("parcp", args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let is_begun = || {
            let names = fs::read_dir(bench.path("d")).into_iter().flatten();
            names.flatten().any(|entry| entry.metadata().is_ok_and(|meta| meta.len() > 0))
        };
        while !is_begun() {
            assert!(child.try_wait().unwrap().is_none(), "it ended before it was stopped");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        send(&child, Signal::TERM);
        assert_eq!(child.wait().unwrap().code(), Some(143));
        let names: Vec<_> = fs::read_dir(bench.path("d")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        if options.is_empty() {
            let meta = fs::metadata(bench.path("d/big")).unwrap();
            assert_eq!((meta.len(), std::os::unix::fs::MetadataExt::mtime(&meta)), (0, 0));
        } else {
            assert!(names.is_empty(), "{names:?}");
        }
        bench.run_as("parcp -u s d").ok();
        same(&bench, "s", "d");
    }
}

#[test]
fn no_source_is_copied_over_another() {
    let bench = Bench::new();
    for dir in ["one", "two", "out"] {
        let _made_before = fs::create_dir(bench.path(dir));
        fs::write(bench.path(dir).join("f"), dir).unwrap();
    }
    fs::remove_file(bench.path("out/f")).unwrap();
    bench.run_as("parcp one/f two/f out").ended(1, "two/f: would be copied over what 'one/f' is copied to");
    assert_eq!(fs::read_to_string(bench.path("out/f")).unwrap(), "one");
    bench.run_as("parcp one/f one/f out").ok();
}
