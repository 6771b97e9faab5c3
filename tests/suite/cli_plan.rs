//! `parfs plan capacity` and `parfs plan volume` from outside: answers, JSON, profiles of other servers, exit status; and
//! what the documents show of them.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::cli_support::{PARFS, Ran};
use super::documents;

fn plan(line: &str) -> Ran {
    Ran::of(Command::new(PARFS).arg("plan").args(line.split_whitespace()).output().unwrap())
}

fn json(line: &str) -> Value {
    serde_json::from_str(&plan(&format!("{line} --json")).ok().stdout).unwrap()
}

/// The profile of that name, with `from` changed `to`, in a file.
fn changed(name: &str, from: &str, to: &str) -> (tempfile::TempDir, String) {
    let path = format!("{}/packaging/profiles/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from}");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("my.toml");
    fs::write(&file, text.replacen(from, to, 1)).unwrap();
    let file = file.to_str().unwrap().to_owned();
    (dir, file)
}

#[test]
fn a_goal_is_answered_in_words_and_in_json() {
    let line = "capacity --iops 200000 --throughput 4GB/s --io-size 32k --read-pct 70";
    let told = plan(line).ok().stdout;
    assert!(told.contains("Fewest: 11 mount targets, bound by IOPS"), "{told}");
    assert!(told.contains("Below the alarm at 80 % of the IOPS: 14 mount targets."), "{told}");
    let plan = json(line);
    assert_eq!((&plan["targets_min"], &plan["targets_below_alarm"]), (&11.into(), &14.into()));
    assert_eq!((&plan["bound"], &plan["schema"]), (&"iops".into(), &1.into()));
    assert_eq!(plan["rows"][1]["below_alarm"], Value::Bool(true));
    let few = json(&format!("{line} --targets 4"));
    assert_eq!((&few["rows"][0]["enough"], few["rows"].as_array().unwrap().len()), (&Value::Bool(false), 1));
    // An answer takes ten times as long: ten times the calls are in flight.
    let far = json(&format!("{line} --latency 10ms"));
    assert_eq!((plan["calls_in_flight"].as_f64(), far["calls_in_flight"].as_f64()), (Some(200.0), Some(2_000.0)));
}

#[test]
fn targets_alone_say_what_they_give() {
    // Each number once, ascending.
    let rows = json("capacity --targets 8,1,8,1 --io-size 1M")["rows"].as_array().unwrap().clone();
    let shown: Vec<_> = rows.iter().map(|r| (r["ios_per_s"].as_f64().unwrap() as u64, r["bound"].clone())).collect();
    let (iops, bandwidth) = (Value::from("iops"), Value::from("bandwidth"));
    assert_eq!(shown, [(953, bandwidth.clone()), (7_629, bandwidth), (757, iops.clone()), (6_060, iops)]);
}

#[test]
fn another_server_is_another_profile() {
    let line = "capacity --iops 100000 --io-size 4k --read-pct 100 --profile";
    let (_dir, file) = changed("oci-fss.toml", "iops = 50_000", "iops = 100_000");
    assert_eq!(json(&format!("{line} {file}"))["targets_min"], 2);
    let (_dir, file) = changed("oci-fss.toml", "alarm_share = 0.8", "alarm = 0.8");
    let failed = plan(&format!("{line} {file}"));
    failed.failed(&format!("parfs plan capacity: {file}: line 11 ('alarm = 0.8')"));
    let (_dir, file) = changed("oci-fss.toml", "transfer_bytes_max = 1_048_576", "transfer_bytes_max = 32_768");
    let side = json(&format!("--files 10 --size 1M --profile {file} extract"))["sides"][0].clone();
    let writes =
        side["procedures"].as_array().unwrap().iter().find(|row| row["procedure"] == "WRITE").unwrap()["calls"].clone();
    assert_eq!(writes, 320);
    let (_dir, file) = changed("oci-fss.toml", "latency_us = 1_000", "latency_us = 20_000");
    let late = |more: &str| {
        json(&format!("--files 10 --size 1 --profile {file} {more} extract"))["sides"][0]["latency_us"].clone()
    };
    assert_eq!((late(""), late("--latency 3ms")), (20_000.into(), 3_000.into()));
    let (_dir, file) = changed("oci-fss.toml", "iops = 50_000", "iops = 1e-320");
    plan(&format!("{line} {file}")).failed("target.iops: 1e-320 is given; from 1 to 1000000000000 is expected");
    let (_dir, file) = changed("oci-fss.toml", "iops = 50_000", "iops = 1");
    let most = "capacity --iops 1000000000000 --io-size 1T --read-pct 0 --profile";
    plan(&format!("{most} {file}")).failed("more mount targets than can be told");
    let (_dir, file) = changed("oci-block.toml", "gb_min = 50", "gb_min = 50");
    plan(&format!("{line} {file}")).failed("kind: 'server' is expected, not 'volume', which parfs plan volume reads");
    let large = tempfile::NamedTempFile::new().unwrap();
    large.as_file().set_len(2 << 20).unwrap();
    plan(&format!("{line} {}", large.path().display())).failed("Cannot read: it has more than 1 MiB");
}

#[test]
fn volumes_are_answered_stage_by_stage() {
    let plan = json("volume --total 20T --volumes 20 --vpu 120 --io-size 64k");
    assert_eq!(plan["layout"]["gb_each"], 1_024);
    assert_eq!((&plan["volumes"]["iops"], &plan["total"]["iops"]), (&4_608_000.0.into(), &1_300_000.0.into()));
    assert_eq!(
        (&plan["iops_bound"], &plan["gb"], &plan["vpu_gb"]),
        (&"host".into(), &20_480.into(), &2_457_600.into())
    );
    // 6,000 MB/s are 91,552 I/Os of 64 KiB, fewer than the IOPS would let through.
    assert_eq!(plan["ios_per_s"].as_f64().unwrap() as u64, 91_552);
    let wide = json("volume --total 20T --volumes 20 --vpu 120 --host-iops 9000000 --host-throughput 90GB/s");
    assert_eq!(wide["iops_bound"], "size");
    let single = json("volume --size 2T --vpu 120 --single-path");
    assert_eq!((&single["total"]["iops"], &single["iops_bound"]), (&50_000.0.into(), &"attachment".into()));
}

#[test]
fn a_goal_has_the_mixes_that_reach_it() {
    let mixes = json("volume --iops 400000 --throughput 4GB/s --total 4T")["mixes"].as_array().unwrap().clone();
    assert!(mixes.len() > 10, "{mixes:?}");
    for mix in &mixes {
        let at_least = |path: &str, goal: f64| assert!(mix.pointer(path).unwrap().as_f64().unwrap() >= goal, "{mix}");
        at_least("/given/total/iops", 400_000.0);
        at_least("/given/total/bytes_per_s", 4e9);
        at_least("/given/gb", 4_096.0);
    }
    let priced = plan("volume --iops 400000 --price-per-gb 0.02 --price-per-vpu-gb 0.001").ok().stdout;
    assert!(priced.contains("cost\n") && priced.contains("Least cost: "), "{priced}");
    plan("volume --iops 400000 --price-per-gb 0.02").failed("--price-per-vpu-gb is needed as well");
    let (_dir, file) = changed(
        "oci-block.toml",
        "# [price]\n# per_gb = 0.0255\n# per_vpu_gb = 0.0017",
        "[price]\nper_gb = 1\nper_vpu_gb = 2",
    );
    let cost = json(&format!("volume --size 100G --vpu 10 --profile {file}"))["cost"].clone();
    assert_eq!(cost, 2_100.0);
    // One price of the command line, the other of the profile.
    let cost = json(&format!("volume --size 100G --vpu 10 --price-per-gb 3 --profile {file}"))["cost"].clone();
    assert_eq!(cost, 2_300.0);
    let (_dir, file) = changed("oci-block.toml", "hosts_per_volume_max = 32", "hosts_per_volume_max = 4_000_000_000");
    let endless = format!("volume --iops 20000000 --host-iops 1 --sharing --profile {file}");
    plan(&endless).ended(1, "no mix of up to 1024 volumes");
    plan("volume --iops 90000 --vpu 120 --volumes 1 --single-path").ended(1, "no mix of up to 1024 volumes");
}

/// The text without the number of round trips of a forecast: how full windows are depends on the moment.
fn steady(text: &str) -> String {
    let line = |line: &str| match line.split_once(" round trips") {
        Some((before, after)) => {
            format!("{} round trips{after}", before.trim_end_matches(|c: char| c.is_ascii_digit() || c == ','))
        }
        None => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Blocks of README and docs/ that begin with a command of `parfs plan` hold what it prints.
#[test]
fn documents_show_what_is_printed() {
    let documents = documents::text();
    let blocks: Vec<&str> = documents.split("```text\n$ parfs plan ").skip(1).collect();
    // Those of jobs need their trees.
    let alone = |block: &&str| ["capacity", "load", "volume", "--files"].iter().any(|what| block.starts_with(what));
    let blocks: Vec<&str> = blocks.into_iter().filter(alone).collect();
    assert!(blocks.len() >= 5, "the documents show capacity, load, volume and a tree that does not exist");
    for block in blocks {
        let (block, _) = block.split_once("```").unwrap();
        let (line, shown) = block.split_once('\n').unwrap();
        assert_eq!(steady(&plan(line).ok().stdout), steady(shown), "parfs plan {line}");
    }
}

/// What the paper measured on one target: 25,018, 12,580, 937 and 761.
#[test]
fn a_load_is_forecast_from_its_own_command_line() {
    let job = "--name=j --ioengine=nfs --nfs_url=nfs://nowhere/x --rw=randrw --iodepth=64";
    let line = format!("load --targets 1,8 --json --sweep rwmix=100,0 bs=32k,1m {job}");
    let told: Value = serde_json::from_str(&plan(&line).ok().stdout).unwrap();
    let jobs = told["jobs"].as_array().unwrap();
    let bounds: Vec<_> = jobs.iter().map(|job| job["each"]["bound"].as_str().unwrap()).collect();
    assert_eq!(bounds, ["iops", "bandwidth", "iops", "iops"]);
    for (job, fact) in jobs.iter().zip([25_018.0, 937.0, 12_580.0, 761.0]) {
        let each = job["each"]["ios_per_s"].as_f64().unwrap();
        assert!((each / fact - 1.0).abs() < 0.03, "{job}");
        assert_eq!(job["rows"][1]["ios_per_s"].as_f64(), Some(8.0 * each));
    }
    let text = plan(&format!("--rtt 4ms --targets 2 load {job} --bs=4k")).ok().stdout;
    assert!(text.contains("latency x depth") && text.contains("16,000") && text.contains("32,000"), "{text}");
    // A rate of the reads: they are fewer than rwmixread= says, and the dearer writes more.
    let rated = format!("{job} --bs=32k --rate_iops=1000,");
    let told: Value = serde_json::from_str(&plan(&format!("--json load {rated}")).ok().stdout).unwrap();
    let (each, price) = (&told["jobs"][0]["each"], told["jobs"][0]["io_price"].as_f64().unwrap());
    let [share, ios, priced] = ["read_share", "ios_per_s", "priced_iops"].map(|of| each[of].as_f64().unwrap());
    assert!((share * ios - 1000.0).abs() < 1.0 && (price * ios / priced - 1.0).abs() < 1e-9, "{told}");
    assert!(share < 0.1 && (price - (2.0 * share + 4.0 * (1.0 - share))).abs() < 1e-9, "{told}");
    let text = plan(&format!("load {rated}")).ok().stdout;
    assert!(text.contains(&format!("32 KiB {:.0} % reads", share * 100.0)), "{text}");
    // What makes the depth smaller is told.
    let text = plan(&format!("load {job} --bs=32k --iodepth_low=8 --latency_target=5ms")).ok().stdout;
    assert!(text.contains("Note: j: iodepth_low= is left out; ") && text.contains("latency_target= is left"), "{text}");
    let text = plan(&format!("load {job} --bs=32k --iodepth_low=64")).ok().stdout;
    assert!(!text.contains("left out; the forecast is of the whole"), "{text}");
    for what in ["capacity --targets 1,8", "volume --total 20T --volumes 20 --vpu 120"] {
        assert_eq!(plan(&format!("--json {what}")).ok().stdout, plan(&format!("{what} --json")).ok().stdout);
    }
    plan("load --name=j --ioengine=null").failed("reads and writes nothing");
    plan("load --name=j --rw=nonsense").failed("nonsense");
}
