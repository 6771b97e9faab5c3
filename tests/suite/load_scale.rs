//! `parfs load --scale` and `--sweep` from outside, on simulated mount targets whose ceilings are far below what this host moves: figures
//! per target, JSON and CSV that can be read, refusals.

use std::process::Command;

use serde_json::Value;

use super::cli_support::{PARFS, Ran, Sim};

fn load(args: &[&str]) -> Ran {
    Ran::of(Command::new(PARFS).arg("load").args(args).output().unwrap())
}

fn near(fact: f64, wanted: f64) -> bool {
    (fact / wanted - 1.0).abs() < 0.10
}

/// Two targets of 1,000 IOPS: 500 reads of 32 KiB a second each, or 250 writes.
#[test]
fn each_target_gives_its_ceiling() {
    let sims = [Sim::start(&["--iops", "1000"]), Sim::start(&["--iops", "1000"])];
    let targets = format!("--x_targets={} {}", sims[0].url, sims[1].url);
    let dir = tempfile::tempdir().unwrap();
    let csv = dir.path().join("table.csv");
    let args = [
        "--scale=2,1",
        "--scale-ceilings=0.02",
        "--sweep",
        "rwmix=100,0",
        "--report-csv",
        csv.to_str().unwrap(),
        "--output-format=json",
        "--name=j",
        "--ioengine=nfs",
        &targets,
        "--rw=randrw",
        "--bs=32k",
        "--size=1m",
        "--iodepth=8",
        "--time_based",
        "--ramp_time=500ms",
        "--runtime=1500ms",
    ];
    let told = load(&args).ok().stdout;
    let document: Value = serde_json::from_str(&told).unwrap();
    let rows = document["x_scale"].as_array().unwrap();
    let shown = |row: &Value| {
        let mix = row["options"]["rwmixread"].as_str().unwrap();
        (row["targets"].as_u64().unwrap(), mix.to_owned(), row["bound"].as_str().unwrap().to_owned())
    };
    let row = |targets, mix: &str| (targets, mix.to_owned(), "IOPS".to_owned());
    let expected = [row(2, "100"), row(1, "100"), row(2, "0"), row(1, "0")];
    assert_eq!(rows.iter().map(shown).collect::<Vec<_>>(), expected, "{told}");
    for (row, wanted) in rows.iter().zip([500.0, 500.0, 250.0, 250.0]) {
        assert!(near(row["iops_each"].as_f64().unwrap(), wanted), "{row}");
        assert!(near(row["linearity_percent"].as_f64().unwrap(), 100.0), "{row}");
        assert_eq!(row["forecast_iops_each"].as_f64(), Some(wanted));
    }
    // Each target has one clone in every step, and is in fio's keys as a job.
    let jobs = document["jobs"].as_array().unwrap();
    let steps: Vec<_> = jobs.iter().map(|job| job["x_step"]["targets"].as_str().unwrap()).collect();
    assert_eq!(steps, ["2", "2", "1", "2", "2", "1"]);
    let text = std::fs::read_to_string(&csv).unwrap();
    let columns: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
    assert_eq!(columns, [18; 5], "{text}");
    assert!(text.starts_with("job,rwmixread,io_bytes,"), "{text}");
}

/// However they are written: a URL of two hosts is two targets.
#[test]
fn each_host_of_a_url_gives_its_ceiling() {
    let sim = Sim::start(&["--targets", "2", "--iops", "1000"]);
    let url = format!("--nfs_url={}", sim.url);
    let scale = ["--scale=2,1", "--scale-ceilings=0.02", "--output-format=json", "--name=j", "--ioengine=nfs", &url];
    let job = ["--rw=randread", "--bs=32k", "--size=1m", "--iodepth=8", "--time_based", "--ramp_time=500ms"];
    let told = load(&[&scale[..], &job, &["--runtime=1500ms"]].concat()).ok().stdout;
    let document: Value = serde_json::from_str(&told).unwrap();
    let rows = document["x_scale"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["targets"].as_u64().unwrap()).collect::<Vec<_>>(), [2, 1]);
    for row in rows {
        assert!(near(row["iops_each"].as_f64().unwrap(), 500.0), "{row}");
        assert_eq!(row["forecast_iops_each"].as_f64(), Some(500.0));
    }
    load(&["--scale=3", "--name=j", "--ioengine=nfs", &url]).ended(1, "--scale wants 3 targets and the job has 2");
}

/// Per-target lines, samples, plots, and two runs compared: of 1,000 IOPS and of 500.
#[test]
fn what_is_told_beyond_fio() {
    let dir = tempfile::tempdir().unwrap();
    let run = |iops: &str, name: &str| {
        let sims = [Sim::start(&["--iops", iops]), Sim::start(&["--iops", iops])];
        let targets = format!("--x_targets={},{}", sims[0].url, sims[1].url);
        let (json, html) = (dir.path().join(format!("{name}.json")), dir.path().join("plots.html"));
        let job = ["--name=j", "--ioengine=nfs", &targets, "--rw=randread", "--bs=4k", "--size=64k", "--iodepth=8"];
        let times = ["--time_based", "--runtime=2600ms", "--group_reporting"];
        let output = format!("--output={}", json.display());
        let html = format!("--report-html={}", html.display());
        let own = ["--scale=2", "--per-target", "--x-samples", "--output-format=json", &output, &html];
        load(&[&own[..], &job, &times].concat()).ok();
        (json.to_str().unwrap().to_owned(), sims.map(|sim| sim.url.clone()))
    };
    let ((fast, urls), (slow, _)) = (run("1000", "fast"), run("500", "slow"));
    let document: Value = serde_json::from_str(&std::fs::read_to_string(&fast).unwrap()).unwrap();
    let job = &document["jobs"][0];
    let targets = job["x_per_target"].as_array().unwrap();
    assert_eq!(
        targets.iter().map(|t| t["target"].as_str().unwrap()).collect::<std::collections::BTreeSet<_>>().len(),
        2
    );
    assert!(targets.iter().all(|target| urls.iter().any(|url| target["target"] == url[..])));
    let ios: u64 = targets.iter().map(|target| target["read"]["total_ios"].as_u64().unwrap()).sum();
    assert_eq!(Some(ios), job["read"]["total_ios"].as_u64());
    let samples = job["x_samples"]["read"]["iops"].as_array().unwrap();
    assert!((4..=6).contains(&samples.len()), "{samples:?}");
    let told = load(&["--compare", &fast, &slow]).ok().stdout;
    assert!(told.contains("j targets=2 read: ") && told.contains("the second is slower"), "{told}");
    let told = load(&["--compare", &fast, &fast]).ok().stdout;
    assert!(told.contains("no difference is shown"), "{told}");
    let html = std::fs::read_to_string(dir.path().join("plots.html")).unwrap();
    assert!(html.contains("Latency over time") && html.matches("<svg ").count() >= 5, "{html}");
    load(&["--compare", &fast]).ended(1, "two JSON documents");
    load(&["--compare", &fast, "/nowhere.json"]).ended(1, "/nowhere.json: Cannot read");
}

#[test]
fn more_targets_than_there_are_is_refused() {
    let refused = |args: &[&str], said: &str| {
        let told = load(args).ended(1, said);
        assert_eq!(told.stdout, "", "{args:?}");
    };
    refused(&["--scale=1,4", "--name=j", "--directory=/a:/b"], "--scale wants 4 targets and the job has 2");
    refused(&["--scale=2", "--name=j", "--directory=/a:/b", "--filename=f"], "all files are in the first directory");
    refused(&["--scale=1", "--status-interval=1", "--name=j"], "--status-interval");
    refused(&["--scale=0", "--name=j"], "--scale=0");
    refused(&["--sweep", "rwmix=1,2", "--name=j", "--rw=read"], "rw=randrw");
    refused(&["--sweep", "nonsense=1,2", "--name=j"], "nonsense");
    refused(&["--report-csv=x", "--name=j"], "--report-csv");
    // What would change nothing, be begun anew by each step, or be lost after hours.
    let swept =
        |more: &[&'static str]| [&["--sweep", "bs=4k,8k", "--name=j", "--ioengine=null", "--size=8k"], more].concat();
    refused(&swept(&["--bssplit=4k/50:8k/50"]), "bssplit= or bsrange= says the sizes");
    refused(&swept(&["--bsrange=4k-8k"]), "bssplit= or bsrange= says the sizes");
    refused(&["--sweep", "bs=4k,8k", "blocksize=4k", "--name=j"], "bs is there twice");
    refused(&swept(&["--write_bw_log=log"]), "logs are of one run");
    refused(&[&["--report-csv=/nowhere/x.csv"], &swept(&[])[..]].concat(), "/nowhere/x.csv: Cannot write");
    refused(&[&["--report-csv=x", "--report-html=x"], &swept(&[])[..]].concat(), "are one file");
    // A file of another kind is not written over.
    let dir = tempfile::tempdir().unwrap();
    for option in ["--report-csv", "--report-html"] {
        let (path, kept) = (dir.path().join("precious"), "<!DOCTYPE html>\n<html>jobs");
        std::fs::write(&path, kept).unwrap();
        let option = format!("{option}={}", path.display()).leak();
        refused(&swept(&[option]), "is there and is no report");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), kept);
    }
    // Nor is an earlier report emptied by what measures nothing.
    let earlier = dir.path().join("earlier.csv");
    std::fs::write(&earlier, "job,bs,io_bytes\n").unwrap();
    let csv = &*format!("--report-csv={}", earlier.display()).leak();
    let html = &*format!("--report-html={}", dir.path().join("precious").display()).leak();
    refused(&swept(&[csv, html]), "is there and is no report");
    let nowhere = ["--sweep", "bs=4k,8k", "--name=j", "--rw=read", "--size=8k", "--directory=/nowhere", csv];
    refused(&nowhere, "/nowhere is not a directory");
    assert_eq!(std::fs::metadata(&earlier).unwrap().len(), 16);
    refused(&["--compare", "a.json", "b.json", "--output=x"], "and nothing else");
}

#[test]
fn hosts_of_one_url_are_told_together() {
    let sim = Sim::start(&["--unlimited", "--targets", "2"]);
    let url = format!("--nfs_url={}", sim.url);
    let job = ["--per-target", "--name=j", "--ioengine=nfs", &url, "--rw=write", "--size=64k"];
    let told = load(&job).ok().stdout;
    assert!(told.contains(&format!("  write on {}, 2 targets together: IOPS=", sim.url)), "{told}");
    let told = load(&[&["--output-format=json"], &job[..]].concat()).ok().stdout;
    let document: Value = serde_json::from_str(&told).unwrap();
    let targets = &document["jobs"][0]["x_per_target"];
    assert!(targets[0]["target"] == sim.url[..] && targets[0]["targets"] == 2 && targets[1].is_null(), "{targets}");
}
