//! `parfs load` through the binary: what reports say beyond one direction of one job that went well.
//! Leaves out what fio prints of the same, which tests/fio/run compares with.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::load::{Loads, document};

fn job<'a>(document: &'a Value, index: usize) -> &'a Value {
    &document["jobs"][index]
}

#[test]
fn directions_are_told_together_where_that_is_asked_for() {
    let loads = Loads::new();
    let line = "--size=256k --name=a --rw=randrw --numjobs=2 --group_reporting --fsync=8";
    let mixed = loads.json(&format!("{line} --unified_rw_reporting=mixed"));
    assert!(["read", "write", "trim", "sync"].iter().all(|key| job(&mixed, 0).get(*key).is_none()), "{mixed}");
    assert_eq!(
        (&job(&mixed, 0)["mixed"]["total_ios"], &job(&mixed, 0)["mixed"]["clat_ns"]["N"]),
        (&128.into(), &128.into())
    );
    let both = loads.json(&format!("{line} --unified_rw_reporting=both"));
    let ran = loads.run(&format!("--output-format=json {line} --unified_rw_reporting=both")).ok();
    let keys: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with("      \"")).collect();
    let keys: Vec<&str> = keys.into_iter().filter_map(|line| line.trim().split('"').nth(1)).collect();
    assert_eq!(keys[7..13], ["read", "write", "trim", "sync", "mixed", "job_runtime"], "{ran:?}");
    let ios = |which: &str| job(&both, 0)[which]["total_ios"].as_u64().unwrap();
    assert!(ios("read") > 0 && ios("write") > 0 && ios("read") + ios("write") == 128 && ios("mixed") == 128, "{both}");
    for (how, fields) in [("mixed", [79, 80, 80, 86]), ("2", [202, 162, 203, 227])] {
        for (version, wanted) in (2..=5).zip(fields) {
            let line =
                format!("--minimal --terse-version={version} --name=a --size=64k --rw=rw --unified_rw_reporting={how}");
            assert_eq!(loads.run(&line).ok().stdout.trim_end().split(';').count(), wanted, "{how}, version {version}");
        }
    }
    let ran = loads.run(&format!("{line} --unified_rw_reporting=mixed")).ok();
    assert!(ran.stdout.contains("\n  mixed: IOPS=") && ran.stdout.contains("\n  MIXED: bw="), "{ran:?}");
    assert!(ran.stdout.contains(" issued rwts: total=128,0,0,") && !ran.stdout.contains("read: IOPS"), "{ran:?}");
    let ran = loads.run(&format!("{line} --unified_rw_reporting=both")).ok();
    let at = |text: &str| ran.stdout.find(text).unwrap_or_else(|| panic!("{text} is not in {ran:?}"));
    assert!(at("\n  write: IOPS=") < at("\n  mixed: IOPS=") && at("\n  WRITE: bw=") < at("\n  MIXED: bw="));
    assert!(ran.stdout.contains("io=512KiB (524kB)"), "the sum of both: {ran:?}");
}

#[test]
fn a_job_whose_files_cannot_be_set_up_keeps_no_other_from_its_own() {
    let loads = Loads::new();
    fs::create_dir(loads.path("there")).unwrap();
    fs::write(loads.path("file"), []).unwrap();
    for (bad, errno, said) in [
        ("--filename=no/such --rw=read --size=64k --allow_file_create=0", 1, "file creation disallowed"),
        ("--filename=file/below --rw=write --size=64k", 20, "file/below: Not a directory"),
        ("--filename=there --rw=write --size=64k", 21, "it is a directory"),
        ("--filename=nothing --rw=write", 22, "bad: you need to specify size="),
        (
            "--rw=write --size=64k --directory=there --filename_format=../file/$filenum --nrfiles=3",
            20,
            "Not a directory",
        ),
        ("--filename=nothing --rw=read --size=64k --create_on_open=1", 5, "io_u error on file nothing"),
    ] {
        let ran = loads.run(&format!("--output-format=json --name=bad {bad} --name=good --size=64k --rw=write"));
        assert_eq!(ran.status, Some(1), "{bad}: {ran:?}");
        let document = document(&ran);
        let of = |index: usize, key: &str| job(&document, index)[key].clone();
        assert_eq!((of(0, "error"), of(1, "error")), (errno.into(), 0.into()), "{bad}: {ran:?}");
        assert_eq!(job(&document, 1)["write"]["total_ios"], 16, "{bad}");
        assert!(ran.stderr.contains(said), "{bad}: {ran:?}");
    }
    // Both of its clones fail, and of those that wait for nothing more each runs.
    let line = "--size=64k --rw=write --name=bad --filename=file/below --numjobs=2 --name=good --stonewall --name=last";
    let ran = loads.run(line).ended(2, "file/below: Not a directory");
    assert!(
        ran.stdout.contains("bad: (groupid=0, jobs=1): err=20 (func=setup_files, error=Not a directory)"),
        "{ran:?}"
    );
    assert!(
        ran.stdout.contains("good: (groupid=1, jobs=1): err= 0") && ran.stdout.contains("last: (groupid=1"),
        "{ran:?}"
    );
    assert_eq!(ran.stderr.matches("Not a directory").count(), 1, "{ran:?}");
    // What several clones use fails for all of them.
    let line = "--size=64k --rw=read --name=a --filename=file/x --name=b --filename=file/x --name=c --filename=ok";
    let ran = loads.run(&format!("--output-format=json {line}"));
    assert_eq!(ran.status, Some(2), "{ran:?}");
    assert_eq!([0, 1, 2].map(|index| job(&document(&ran), index)["error"].as_u64().unwrap()), [20, 20, 0]);
    loads.run("--name=a --size=64k --rw=read --readonly").ended(1, "read-only");
    loads.run("--name=a --size=64k --rw=read --readonly --create_on_open=1").ended(1, "read-only");
    assert!(!loads.path("a.0.0").exists());
}

#[test]
fn a_job_ends_when_its_rate_is_steady() {
    let loads = Loads::new();
    let line = "--ioengine=null --size=1m --time_based --runtime=60 --rate_iops=2000 --ss_dur=2 --group_reporting --name=a --ss=iops:50%";
    let (began, ran) = (Instant::now(), loads.run(&format!("--output-format=json {line} --numjobs=2")).ok());
    assert!(began.elapsed() < Duration::from_secs(30), "{ran:?}");
    let document = document(&ran);
    let steady = &job(&document, 0)["steadystate"];
    assert_eq!(
        (&steady["ss"], &steady["duration"], &steady["attained"]),
        (&"iops:50.000000%".into(), &2.into(), &1.into())
    );
    let number = |key: &str| steady["data"][key].as_u64().unwrap();
    // Both clones together, and four KiB for each I/O.
    assert!((2500..5500).contains(&number("iops_mean")), "{steady}");
    assert!(number("bw_mean").abs_diff(number("iops_mean") * 4096) < 8192, "{steady}");
    assert_eq!([&steady["data"]["iops"], &steady["data"]["bw"]].map(|values| values.as_array().unwrap().len()), [2, 2]);
    let from = ran.stdout.find("\"steadystate\" : {").unwrap();
    let keys: Vec<&str> = ran.stdout[from..].lines().filter_map(|line| line.trim().split('"').nth(1)).collect();
    let wanted = "steadystate ss duration attained criterion max_deviation slope data bw_mean iops_mean iops bw";
    assert_eq!(keys[..12], wanted.split(' ').collect::<Vec<_>>(), "{ran:?}");
    // A limit of nothing is never met.
    let ran = loads
        .run("--ioengine=null --size=1m --time_based --runtime=2 --rate_iops=2000 --ss_dur=2 --name=a --ss=bw_slope:0")
        .ok();
    assert!(ran.stdout.contains("\n  steadystate  : attained=no, bw="), "{ran:?}");
    for (wrong, said) in [
        ("--name=a --ss_dur=2 --ss=iops:much", "'much' is no limit"),
        ("--name=a --ss_dur=1 --ss=iops_slope:1%", "2 s at least"),
        ("--group_reporting --name=a --ss_dur=2 --name=b --ss_dur=3", "must be consistent within reporting groups"),
    ] {
        loads.run(&format!("--size=64k {wrong}")).ended(1, said);
    }
}

#[test]
fn the_depth_that_is_fast_enough_is_found() {
    let loads = Loads::new();
    let line = "--name=a --size=1m --time_based --runtime=60 --latency_window=20ms";
    let began = Instant::now();
    let found =
        loads.json(&format!("{line} --ioengine=null --iodepth=16 --latency_target=10s --latency_percentile=99"));
    assert!(began.elapsed() < Duration::from_secs(30));
    let of = |key: &str| job(&found, 0)[key].as_f64().unwrap();
    assert_eq!(
        ["latency_depth", "latency_target", "latency_window", "latency_percentile"].map(of),
        [16.0, 10e6, 20_000.0, 99.0]
    );
    // What is told is the last window.
    assert!((20..10_000).contains(&job(&found, 0)["read"]["runtime"].as_u64().unwrap()), "{found}");
    let ran = loads.run("--name=a --size=1m --bs=1m --rw=read --latency_target=1 --latency_window=1ms").ended(1, "");
    assert!(
        ran.stdout.contains("err=110 (latency of ") && ran.stdout.contains(" exceeds specified max (1000 nsec)"),
        "{ran:?}"
    );
    let ran = loads
        .run("--name=a --ioengine=null --size=1m --iodepth=4 --latency_run=1 --latency_target=10s --latency_window=1us")
        .ok();
    assert!(
        ran.stdout.contains("     latency   : target=10000.00ms, window=1000.00ns, percentile=100.00%, depth=4\n"),
        "{ran:?}"
    );
}
