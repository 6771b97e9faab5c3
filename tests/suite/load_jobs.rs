//! The job files of packaging/jobs, each with its values made small: each runs, on files and where it says so on a simulated server, and does
//! what its comment promises.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::cli_support::{Ran, Sim};
use super::load::{Loads, document};

const JOBS: [&str; 7] =
    ["block-randread", "fss-read-1m", "fss-read-32k", "fss-write-1m", "fss-write-32k", "metadata-storm", "oltp"];

/// What is large in them, and small here.
const SMALLER: [(&str, &str); 8] = [
    ("runtime=240", "runtime=1"),
    ("runtime=180", "runtime=1"),
    ("runtime=120", "runtime=1"),
    ("size=8G", "size=2m"),
    ("size=4G", "size=1m"),
    ("size=1G", "size=1m"),
    ("nrfiles=2500", "nrfiles=25"),
    ("iodepth=256", "iodepth=16"),
];

fn packaged(name: &str) -> String {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/jobs");
    let mut text = fs::read_to_string(dir.join(format!("{name}.fio"))).unwrap();
    for (large, small) in SMALLER {
        text = text.replace(large, small);
    }
    assert!(!text.contains('G') || name == "metadata-storm" || !text.contains("size=8G"), "{name} is still large");
    text
}

fn run(name: &str, variables: &[(&str, &str)]) -> (Loads, Ran) {
    let loads = Loads::new();
    fs::write(loads.path("job.fio"), packaged(name)).unwrap();
    fs::create_dir(loads.path("mount")).unwrap();
    fs::write(loads.path("device"), vec![3; 1 << 20]).unwrap();
    let line = if name == "block-randread" { "--readonly" } else { "" };
    let mut command = loads.command(&format!("--output-format=json {line} job.fio"));
    command.envs(variables.iter().copied());
    let ran = Ran::of(command.output().unwrap()).ok();
    assert_eq!(ran.stderr, "", "{name}");
    (loads, ran)
}

fn total(job: &Value) -> u64 {
    job["read"]["total_ios"].as_u64().unwrap() + job["write"]["total_ios"].as_u64().unwrap()
}

#[test]
fn all_are_known_here() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/jobs");
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap().trim_end_matches(".fio").to_owned())
        .collect();
    names.sort();
    assert_eq!(names, JOBS);
}

#[test]
fn each_runs_on_mounts() {
    for name in JOBS {
        let (loads, ran) = run(name, &[("TARGETS", "mount"), ("ENGINE", "libaio"), ("DEVICE", "device")]);
        let document = document(&ran);
        for job in document["jobs"].as_array().unwrap() {
            assert!(job["error"] == 0 && total(job) > 0, "{name}: {job}");
        }
        let left = fs::read_dir(loads.path("mount")).unwrap().count();
        let expected = match name {
            // What was made is removed again.
            "block-randread" | "metadata-storm" => 0,
            "oltp" => 5,
            _ => 8,
        };
        assert_eq!(left, expected, "{name}");
    }
}

#[test]
fn those_for_targets_run_on_urls() {
    let sim = Sim::start(&["--unlimited", "--targets", "2"]);
    for name in JOBS.into_iter().filter(|name| !["block-randread", "metadata-storm"].contains(name)) {
        let (_, ran) = run(name, &[("TARGETS", &sim.url), ("ENGINE", "nfs")]);
        let document = document(&ran);
        for job in document["jobs"].as_array().unwrap() {
            assert!(job["error"] == 0 && total(job) > 0, "{name}: {job}");
        }
    }
}

#[test]
fn the_storm_makes_looks_and_removes() {
    let (_, ran) = run("metadata-storm", &[("TARGETS", "mount"), ("ENGINE", "psync")]);
    let document = document(&ran);
    let did: Vec<u64> = document["jobs"].as_array().unwrap().iter().map(total).collect();
    assert_eq!(did, [200, 200, 200]);
}
