//! `parfs load` through the binary: what reports say beyond one direction of one job that went well.
//! Leaves out what fio prints of the same, which tests/fio/run compares with.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::load::{Loads, document};

fn job(document: &Value, index: usize) -> &Value {
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
            let line = format!(
                "--minimal --disk_util=0 --terse-version={version} --name=a --size=64k --rw=rw --unified_rw_reporting={how}"
            );
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
    // Both clones together, and four KiB for each I/O; each second's figure and their mean are cut off to whole I/Os.
    assert!((2500..5500).contains(&number("iops_mean")), "{steady}");
    assert!(number("bw_mean").abs_diff(number("iops_mean") * 4096) < 3 * 4096, "{steady}");
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

#[test]
fn disks_are_told_where_files_are_on_one() {
    let loads = Loads::new();
    let line = "--name=a --size=64k --rw=write --end_fsync=1";
    let document = loads.json(line);
    let device = fs::metadata(loads.path("")).unwrap().dev();
    let link = format!("/sys/dev/block/{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let ran = loads.run(line).ok();
    if Path::new(&link).exists() {
        let disk = &document["disk_util"][0];
        assert!(fs::canonicalize(link).unwrap().to_str().unwrap().contains(disk["name"].as_str().unwrap()), "{disk}");
        assert!(disk["write_sectors"].is_u64() && disk["util"].is_f64(), "{disk}");
        let stats = format!("\nDisk stats (read/write):\n  {}: ios=", disk["name"].as_str().unwrap());
        assert!(ran.stdout.contains(&stats), "{ran:?}");
        let terse = loads.run(&format!("--minimal {line}")).ok();
        assert_eq!(terse.stdout.trim_end().split(';').count(), 130, "{terse:?}");
    } else {
        assert!(document.get("disk_util").is_none() && !ran.stdout.contains("Disk stats"), "{ran:?}");
    }
    for without in ["--disk_util=0", "--ioengine=null"] {
        assert!(loads.json(&format!("{without} {line}")).get("disk_util").is_none(), "{without}");
    }
    let pipe = "--name=a --size=64k --rw=write --filename=/proc/self/fd/1/none --allow_file_create=0";
    assert!(!loads.run(pipe).stdout.contains("Disk stats"), "nothing was set up");
}

#[test]
fn the_bandwidth_of_all_jobs_is_logged() {
    let loads = Loads::new();
    let line = "--disk_util=0 --ioengine=null --rw=write --bs=1k --size=1m --time_based --runtime=2 --rate_iops=1000 --name=a --name=b";
    loads.run(&format!("--bandwidth-log {line}")).ok();
    loads.run(&format!("--bandwidth-log=two {}", line.replace("runtime=2", "runtime=1"))).ok();
    for prefix in ["agg", "two"] {
        let of = |direction: &str| fs::read_to_string(loads.path(format!("{prefix}-{direction}_bw.log"))).unwrap();
        let written = of("write");
        let lines: Vec<Vec<u64>> =
            written.lines().map(|line| line.split(", ").map(|word| word.parse().unwrap()).collect()).collect();
        assert!(lines.len() > usize::from(prefix == "agg"), "{prefix}: {written}");
        assert!(lines.iter().all(|line| line.len() == 5 && line[2..] == [1, 0, 0]), "{written}");
        // Both jobs: 2000 KiB a second; the first line has the time before they began.
        let most = lines.iter().map(|line| line[1]).max().unwrap();
        assert!((1000..4000).contains(&most), "{written}");
        assert!(of("read").lines().all(|line| line.contains(", 0, 0, 0, 0")) && of("trim").contains(", 0, 2, 0, 0"));
    }
    loads.run(&format!("--bandwidth-log=no/such/place {line}")).ended(1, "no/such/place-read_bw.log");
}

/// As in fio: a second job file waits for all before it.
#[test]
fn jobs_of_the_command_line_run_with_those_of_the_first_file() {
    let loads = Loads::new();
    let section = |name: &str| format!("[{name}]\nioengine=null\nsize=4k\n");
    std::fs::write(loads.path("two.fio"), section("a") + &section("b")).unwrap();
    std::fs::write(loads.path("c.fio"), section("c")).unwrap();
    let report = loads.json("--name=z --ioengine=null --size=4k two.fio c.fio");
    let groups = report["jobs"].as_array().unwrap().iter().map(|job| job["groupid"].as_u64().unwrap());
    assert_eq!(groups.collect::<Vec<_>>(), [0, 0, 0, 1]);
}

/// As fio 3.33: what reads `bw_mean` and `iops_mean` reads them of such jobs too.
#[test]
fn bandwidth_is_sampled_where_latencies_are_not_measured() {
    let loads = Loads::new();
    for option in ["gtod_reduce", "disable_bw_measurement"] {
        let line = "--name=a --ioengine=null --rw=read --size=4k --rate_iops=100 --time_based --runtime=1200ms";
        let report = loads.json(&format!("{line} --{option}=1"));
        let read = &report["jobs"][0]["read"];
        assert!(read["bw_samples"].as_u64() > Some(0) && read["iops_mean"].as_f64() > Some(0.0), "{option}: {read}");
    }
}

/// fio lists them as well; programs take a job by its place.
#[test]
fn a_job_that_never_ran_is_in_documents() {
    let loads = Loads::new();
    let jobs = "[global]\nsize=4k\nrw=randread\n[b]\nexitall\nexit_what=all\n[c]\nstonewall\n[d]\nstonewall\n";
    fs::write(loads.path("jobs.fio"), jobs).unwrap();
    let document = loads.json("jobs.fio");
    let names: Vec<&str> =
        document["jobs"].as_array().unwrap().iter().map(|job| job["jobname"].as_str().unwrap()).collect();
    assert_eq!(names, ["b", "c", "d"]);
    assert_eq!([0, 1, 2].map(|index| job(&document, index)["read"]["total_ios"].as_u64()), [Some(1), Some(0), Some(0)]);
    assert_eq!([1, 2].map(|index| job(&document, index)["minf"].as_u64()), [Some(0); 2]);
    let ran = loads.run("--output-format=terse jobs.fio").ok();
    assert_eq!(ran.stdout.lines().count(), 3, "{ran:?}");
    let ran = loads.run("jobs.fio").ok();
    assert!(
        ran.stdout.contains("\nb: ") && !ran.stdout.contains("\nd: (groupid=2, jobs=1): err= 0: pid=0: Thu Jan"),
        "{ran:?}"
    );
}

/// max_latency= is one of the errors that continue_on_error= counts and ignore_error= lets pass, as in fio; of an engine that does not wait, the
/// one that ends the job is not counted.
#[test]
fn latencies_above_the_limit_are_errors_like_others() {
    for (line, ios, total, status) in [
        ("--continue_on_error=all", 1, 1, 1),
        ("--continue_on_error=read", 1, 0, 1),
        ("--continue_on_error=all --ioengine=libaio --iodepth=1", 1, 0, 1),
        ("--continue_on_error=write --ignore_error=,ETIMEDOUT", 4, 4, 0),
        ("--continue_on_error=all --ignore_error=,110 --ioengine=libaio --iodepth=2", 4, 4, 0),
    ] {
        let loads = Loads::new();
        let asked = format!("--output-format=json --name=a --rw=write --size=1m --bs=256k --max_latency=1us {line}");
        let ran = loads.run(&asked);
        let document = document(&ran);
        let done = self::job(&document, 0);
        let told = (&done["write"]["total_ios"], &done["total_err"], &done["error"], ran.status);
        assert_eq!(told, (&ios.into(), &total.into(), &110.into(), Some(status)), "{line}");
    }
}
