//! What trials with odd trees and lists found: jobs and their forecasts through the binary.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use super::cli_support::{Bench, PARFS, Ran, Sim};

/// A directory, and a simulator of it.
fn served(more: &[&str]) -> (tempfile::TempDir, Sim) {
    let dir = tempfile::tempdir().unwrap();
    let sim = Sim::start(&[&["--dir", dir.path().to_str().unwrap(), "--unlimited"], more].concat());
    (dir, sim)
}

/// As `find` lists them: a directory, then what is in it, which goes with the directory.
#[test]
fn a_list_may_name_what_is_in_a_directory_that_it_names() {
    let bench = Bench::new();
    let (served, sim) = served(&["--targets", "2"]);
    for shape in ["-P 1 --window 1", "-P 4 --window 2"] {
        let mut list = String::from("a/b\n");
        fs::create_dir_all(served.path().join("s/a/b")).unwrap();
        for file in 0..200 {
            fs::write(served.path().join(format!("s/a/b/{file}")), "x").unwrap();
            list += &format!("a/b/{file}\n");
        }
        fs::write(bench.path("list"), list).unwrap();
        bench.run_as(&format!("parrm -f {shape} --files-from list {}s", sim.url)).ok();
        assert!(!served.path().join("s/a/b").exists());
    }
}

/// A directory made in one with the set-group-id bit has it too, unless it is taken away.
#[test]
fn directories_have_the_archive_s_bits_also_without_times() {
    let bench = Bench::new();
    let (served, sim) = served(&[]);
    fs::create_dir_all(bench.path("g/u/v")).unwrap();
    let mode = |at: PathBuf, bits| fs::set_permissions(at, fs::Permissions::from_mode(bits)).unwrap();
    mode(bench.path("g"), 0o2755);
    mode(bench.path("g/u"), 0o755);
    mode(bench.path("g/u/v"), 0o755);
    bench.run("-cf g.tar g").ok();
    // Given away, where the tests run as root: then nothing tells the mode that a directory was made with.
    bench.run("-cf h.tar --owner=7 --group=7 g").ok();
    for (place, top) in [(sim.url.clone(), served.path().to_path_buf()), ("out".into(), bench.out())] {
        for archive in ["g.tar", "h.tar"] {
            mode(top.clone(), 0o2755);
            bench.run(&format!("-xpmf {archive} -C {place}")).ok();
            let bits = |at: &str| fs::metadata(top.join(at)).unwrap().permissions().mode() & 0o7777;
            assert_eq!(["g", "g/u", "g/u/v"].map(bits), [0o2755, 0o755, 0o755], "{archive} {place}");
            bench.run_as(&format!("parrm -rf {}/g", place.trim_end_matches('/'))).ok();
        }
    }
}

/// As GNU tar: what a user namespace has no number for is refused like what a caller may not give away.
#[test]
fn owners_that_a_user_namespace_does_not_map_are_told_and_the_rest_is_there() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("s/d")).unwrap();
    fs::write(bench.path("s/f"), "data").unwrap();
    std::os::unix::fs::symlink("f", bench.path("s/l")).unwrap();
    bench.run("-cf u.tar --owner=:12345 --group=:12345 s").ok();
    let commands = "exec unshare -U -r sh -c 'echo begun && exec ./partar -xf u.tar -C out'";
    let ran = Ran::of(Command::new("sh").args(["-c", commands]).current_dir(bench.path("")).output().unwrap());
    if !ran.stdout.contains("begun") {
        return; // a host that lets nobody make namespaces
    }
    let ran = ran.ended(2, "partar: s/f: extracted, but its owner cannot be set: Operation not permitted");
    assert_eq!(ran.stderr.lines().count(), 5, "{ran:?}");
    assert_eq!(fs::read(bench.out().join("s/f")).unwrap(), b"data");
    assert!(bench.out().join("s/l").is_symlink() && bench.out().join("s/d").is_dir());
}

/// What is compared is read as it is, and what would be written is not: that they differ says nothing.
#[test]
fn a_forecast_that_compares_bytes_does_not_doubt_what_it_did_not_write() {
    let bench = Bench::new();
    let (_served, sim) = served(&[]);
    fs::create_dir_all(bench.path("s")).unwrap();
    for (file, size) in [("a", 10), ("b", 100_000), ("c", 3 << 20)] {
        fs::write(bench.path("s").join(file), vec![7; size]).unwrap();
    }
    let (plan, report) = (bench.path("plan.json"), bench.path("run.json"));
    let url = format!("{}d", sim.url);
    let mut command = std::process::Command::new(PARFS);
    command
        .args(["plan", "--latency", "1ms", "--json", "copy", "-c", "--verify", "s", &url])
        .current_dir(bench.path(""));
    let forecast = Ran::of(command.output().unwrap()).ok();
    fs::write(&plan, &forecast.stdout).unwrap();
    bench.run_as(&format!("parcp -c --verify --report {} s {url}", report.display())).ok();
    let calls = |path, proc: &str| {
        let all: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        find(&all, proc).unwrap_or_else(|| panic!("no {proc} in {all}"))
    };
    for proc in ["READ", "WRITE", "SETATTR", "CREATE"] {
        assert_eq!(calls(&plan, proc), calls(&report, proc), "{proc}");
    }
}

/// File ids count from the same number on each: the second server's file was a link to the first one's, and one of them was taken for
/// the archive on the other.
#[test]
fn files_of_two_servers_are_no_names_of_one() {
    let bench = Bench::new();
    let sims = [Sim::start(&["--unlimited"]), Sim::start(&["--unlimited"])];
    let mut line = String::from("-cf two.tar");
    for (sim, data) in sims.iter().zip(["first", "second"]) {
        let (from, at) = (bench.path(data), format!("{data}.d"));
        fs::create_dir_all(from.join("sub")).unwrap();
        fs::write(from.join("a"), data).unwrap();
        fs::hard_link(from.join("a"), from.join("sub/b")).unwrap();
        bench.run_as(&format!("parcp -a {data} {}{at}", sim.url)).ok();
        line += &format!(" -C {} {at}/a -C {0}{at} sub", sim.url);
    }
    bench.run(&line).ok();
    let names = bench.run("-tvf two.tar").ok().stdout;
    assert_eq!(names.matches("link to first.d/a").count(), 1, "{names}");
    assert_eq!(names.matches("link to second.d/a").count(), 1, "{names}");

    let all = ["a", "b", "c", "d", "e", "f"];
    for file in all {
        fs::write(bench.path("second").join(file), file).unwrap();
    }
    bench.run_as(&format!("parcp -a second {}more", sims[1].url)).ok();
    let archive = format!("{}more.tar", sims[0].url);
    let ran = bench.run(&format!("-cf {archive} -C {} more", sims[1].url)).ok();
    assert_eq!(ran.stderr, "");
    let names = bench.run(&format!("-tf {archive}")).ok().stdout;
    all.iter().for_each(|file| assert!(names.contains(&format!("more/{file}\n")), "{file}: {names}"));
}

/// With `-i` the members behind zero blocks are members: they were written over.
#[test]
fn what_is_added_to_archives_in_a_row_goes_behind_the_last() {
    let bench = Bench::new();
    for file in ["x", "y", "z"] {
        fs::write(bench.path(file), file).unwrap();
    }
    bench.run("-cf x.tar x").ok();
    bench.run("-cf y.tar y").ok();
    let row = [fs::read(bench.path("x.tar")).unwrap(), fs::read(bench.path("y.tar")).unwrap()].concat();
    fs::write(bench.path("row.tar"), row).unwrap();
    bench.run("-rif row.tar z").ok();
    assert_eq!(bench.run("-tif row.tar").ok().stdout, "x\ny\nz\n");
    // Nor does an index of the first stand for all of them.
    bench.run("-tf row.tar --index row.idx").ok();
    let ran = bench.run("-tif row.tar --index row.idx z").ok();
    assert_eq!(ran.stdout, "z\n");
    assert!(ran.stderr.contains("row.idx: not used: it is of another archive"), "{ran:?}");
    // One that has an end and no members is added to as well.
    fs::write(bench.path("none.tar"), [0; 10240]).unwrap();
    bench.run("-rf none.tar z").ok();
    assert_eq!(bench.run("-tf none.tar").ok().stdout, "z\n");
}

/// The calls of a procedure, wherever a document has them.
fn find(value: &serde_json::Value, proc: &str) -> Option<u64> {
    if value.get("procedure").is_some_and(|name| name == proc) {
        return value.get("calls")?.as_u64();
    }
    match value {
        serde_json::Value::Object(map) => map.values().find_map(|value| find(value, proc)),
        serde_json::Value::Array(all) => all.iter().find_map(|value| find(value, proc)),
        _ => None,
    }
}
