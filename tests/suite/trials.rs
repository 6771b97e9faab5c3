//! What trials with odd trees and lists found: jobs and their forecasts through the binary.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

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
