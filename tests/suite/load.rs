//! `parfs load` through the binary, on files: what its documents are made of, exit statuses, what it refuses, order of jobs, signals.
//! Leaves out real fio, which tests/fio/run compares with, verification (`load_verify`), and the shipped job files (`load_jobs`).

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use super::cli_support::{PARFS, Ran, Sim, send};

/// A directory where `parfs load` runs.
pub struct Loads {
    dir: tempfile::TempDir,
}

impl Loads {
    pub fn new() -> Loads {
        Loads { dir: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join(name)
    }

    /// `parfs load` with its arguments separated by blanks.
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(PARFS);
        command.arg("load").args(line.split_whitespace()).current_dir(self.dir.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn run(&self, line: &str) -> Ran {
        Ran::of(self.command(line).output().unwrap())
    }

    /// Runs with JSON; fails unless it is one document and nothing else, and all went well.
    #[track_caller]
    pub fn json(&self, line: &str) -> Value {
        let ran = self.run(&format!("--output-format=json {line}")).ok();
        assert_eq!(ran.stderr, "", "{line}");
        document(&ran)
    }
}

#[track_caller]
pub fn document(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

/// Keys as they stand, indented, and the kind of each value: string, integer, float; values of options are kept.
fn keys(text: &str) -> String {
    let mut out = String::new();
    let mut options = false;
    for line in text.lines() {
        let Some((key, value)) = line.split_once(" : ") else {
            options &= !line.trim_start().starts_with('}');
            out += &format!("{line}\n");
            continue;
        };
        let value = value.trim_end_matches(',');
        let kind = match value.chars().next() {
            Some('{' | '[') => value,
            Some('"') if options => value,
            Some('"') => "string",
            Some(_) if value.contains('.') => "float",
            _ => "integer",
        };
        options |= key.ends_with("options\"");
        out += &format!("{key} : {kind}\n");
    }
    out
}

#[test]
fn documents_have_fios_keys_in_fios_order() {
    let loads = Loads::new();
    let ran = loads
        .run("--output-format=json --disk_util=0 --size=64k --name=a --rw=write --fsync=4 --thread --description=what")
        .ok();
    insta::assert_snapshot!("load_json_write", keys(&ran.stdout));
    let ran = loads.run("--output-format=json+ --name=a --size=64k --rw=read --percentile_list=50:99.9").ok();
    let clat = &document(&ran)["jobs"][0]["read"]["clat_ns"];
    assert_eq!(clat["bins"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum::<u64>(), 16);
    assert_eq!(clat["percentile"].as_object().unwrap().keys().collect::<Vec<_>>(), ["50.000000", "99.900000"]);
}

#[test]
fn the_three_formats_stand_in_fios_order() {
    let loads = Loads::new();
    let ran = loads.run("--output-format=normal,json,terse --name=a --size=64k").ok();
    let at = |text: &str| ran.stdout.find(text).unwrap_or_else(|| panic!("{text} is not in {ran:?}"));
    assert!(at("3;fio-3.") < at("{\n") && at("\n}\n") < at("\na: (groupid=0, jobs=1): err= 0: pid="), "{ran:?}");
    for (version, fields) in [(2, 161), (3, 121), (4, 162), (5, 180)] {
        let ran = loads.run(&format!("--minimal --disk_util=0 --terse-version={version} --name=a --size=64k")).ok();
        assert_eq!(ran.stdout.trim_end().split(';').count(), fields, "version {version}: {ran:?}");
    }
    loads.run("--output=out.txt --name=a --size=64k").ok();
    assert!(fs::read_to_string(loads.path("out.txt")).unwrap().contains("   READ: bw="));
}

#[test]
fn what_is_wrong_is_refused_before_anything_is_done() {
    let loads = Loads::new();
    for (line, said) in [
        ("", "No job"),
        ("--name=a --size=64k --bogus=1", "unrecognized option '--bogus=1'"),
        ("--name=a --size=64k --iodepht=1", "Did you mean iodepth?"),
        ("--name=a --size=64k --rw=sideways", "sideways"),
        ("--name=a --size=64k --direct=2", "direct"),
        ("--name=a --size=64k --directory=none", "none"),
        ("--name=a --size=64k --ioengine=cpuio", "cpuio"),
        ("--name=a --size=64k --zonemode=zbd", "zonemode"),
        ("--name=a --size=64k --rw=trim", "trim"),
        ("--client=h --name=a --size=64k", "client"),
        ("--name=a --size=64k --wait_for=zz", "zz"),
        (
            "--name=a --size=64k --rw=write --readonly",
            "write operations are not allowed with the --readonly parameter.",
        ),
        ("--name=a --size=64k --runtime=1.5q", "runtime"),
        ("missing.fio", "missing.fio"),
        ("--section=x --name=a --size=64k missing.fio", "missing.fio"),
    ] {
        let ran = loads.run(line).ended(1, said);
        assert!(!ran.stdout.contains("err="), "{line}: {ran:?}");
        let left: Vec<_> = fs::read_dir(loads.path("")).unwrap().collect();
        assert!(left.is_empty(), "{line} left {left:?}");
    }
}

#[test]
fn job_files_are_checked_and_shown() {
    let loads = Loads::new();
    let text = "[global]\nsize=16*$pagesize\nbs=$pagesize\nnumjobs=$ncpus\n[a]\nrw=write\n[b]\nwait_for=zz\n";
    fs::write(loads.path("jobs.fio"), text).unwrap();
    fs::write(loads.path("none.fio"), "[global]\nsize=1m\n").unwrap();
    let (page, processors) = (rustix::param::page_size(), std::thread::available_parallelism().unwrap());
    let shown = format!(
        "fio --size={} --bs={page} --numjobs={processors} --name=a --rw=write --name=b --wait_for=zz \n",
        16 * page
    );
    assert_eq!(loads.run("--showcmd jobs.fio").ok().stdout, shown);
    for file in ["jobs.fio", "none.fio"] {
        let ran = loads.run(&format!("--parse-only {file}")).ok();
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""), "{file}");
    }
    assert_eq!(loads.run("--showcmd --section=zz jobs.fio").ok().stdout, "");
    loads.run("--section=zz jobs.fio").ended(1, "No job");
    loads.run("jobs.fio").ended(1, "waitee job zz unknown.");
    loads.run("none.fio").ended(1, "No job");
    // In Latin-1, as comments of other programs' editors may be.
    fs::write(loads.path("latin.fio"), b"# Gr\xf6\xdfe\n[a]\n ; \xfcber\nsize=4k\n").unwrap();
    assert_eq!(loads.run("--showcmd latin.fio").ok().stdout, "fio --name=a --size=4k \n");
    fs::write(loads.path("named.fio"), b"[a]\nsize=4k\n[\xfc]\n").unwrap();
    loads.run("--showcmd named.fio").ended(1, "'named.fio' job file: line 3 is not UTF-8");
}

#[test]
fn create_only_makes_files_and_reports_no_io() {
    let loads = Loads::new();
    let document = loads.json("--name=a --rw=read --size=64k --nrfiles=2 --create_only=1");
    assert_eq!(ios(&document), [(0, 0)]);
    for file in ["a.0.0", "a.0.1"] {
        assert_eq!(fs::metadata(loads.path(file)).unwrap().len(), 32768);
    }
    fs::write(loads.path("there"), [0; 65536]).unwrap();
    for files in ["--nrfiles=2", "--filename=there"] {
        loads.json(&format!("--name=u --rw=read --size=64k {files} --create_only=1 --unlink=1"));
    }
    assert_eq!(fs::read_dir(loads.path("")).unwrap().count(), 2, "also what was there, as in fio");
    loads
        .run("--name=b --rw=write --size=64k --allow_file_create=0")
        .ended(1, "file creation disallowed by allow_file_create=0");
    loads.run("--name=a --rw=read --size=64k --nrfiles=2 --allow_file_create=0").ok();
    loads
        .run("--name=a --rw=read --size=64m --nrfiles=2 --allow_file_create=0")
        .ended(1, "file creation disallowed by allow_file_create=0");
    assert_eq!(fs::read_dir(loads.path("")).unwrap().count(), 2);
}

/// One number is of both directions, of which a job may have one.
#[test]
fn the_least_rate_is_asked_of_what_a_job_does() {
    let loads = Loads::new();
    for least in ["--rate_min=1", "--rate_iops_min=1"] {
        for rw in ["write", "read"] {
            let line = format!("--name=a --rw={rw} --size=64k --runtime=1 --time_based --rate_cycle=100 {least}");
            loads.run(&line).ok();
        }
    }
    let line = "--name=a --rw=read --size=64k --runtime=60 --time_based --rate_cycle=100 --rate_iops_min=500000000";
    loads.run(line).ended(1, "rate_iops_min=500000000 not met");
}

/// A name that was mistyped, or a mount that is not there, is no target: it was made, filled and measured as one.
#[test]
fn steps_do_not_make_the_directories_that_are_named() {
    let loads = Loads::new();
    let there = loads.path("there").display().to_string();
    fs::create_dir(&there).unwrap();
    let missing = loads.path("missing").display().to_string();
    for line in [
        format!("--scale=1,2 --name=a --rw=write --size=64k --directory={there}:{missing}"),
        format!("--sweep ioengine=null,sync --name=a --rw=write --size=64k --directory={missing}"),
    ] {
        let ran = loads.run(&line);
        assert!(!ran.stdout.contains("Step 1"), "{line}: {ran:?}");
        ran.ended(1, "missing is not a directory");
        assert!(!loads.path("missing").exists() && fs::read_dir(&there).unwrap().next().is_none(), "{line}");
    }
}

#[test]
fn links_whose_names_end_in_fio_are_fio() {
    let loads = Loads::new();
    for name in ["fio", "my-fio", "parload"] {
        symlink(PARFS, loads.path(name)).unwrap();
        let ran = Ran::of(Command::new(loads.path(name)).arg("--version").output().unwrap()).ok();
        assert!(ran.stdout.starts_with("fio-3.42-parfs-"), "{ran:?}");
    }
}

#[test]
fn published_lines_run() {
    let loads = Loads::new();
    fs::write(loads.path("mpatha1"), vec![7; 1 << 20]).unwrap();
    let oracle = "--filename=mpatha1 --direct=1 --rw=randread --bs=4k --ioengine=libaio --iodepth=256 --runtime=1 --numjobs=4 \
                  --time_based --group_reporting --name=iops-test-job --eta-newline=1 --readonly";
    let ran = loads.run(oracle).ok();
    assert_eq!(ran.stderr, "");
    assert!(ran.stdout.contains("\niops-test-job: (groupid=0, jobs=4): err= 0: pid="), "{ran:?}");
    assert!(fs::read(loads.path("mpatha1")).unwrap() == vec![7; 1 << 20]);
    for (name, rw) in [("read_throughput", "randread"), ("write_throughput", "randwrite")] {
        let line = format!(
            "--name={name} --directory={} --numjobs=8 -size=1M --time_based --runtime=1 -ioengine=libaio --direct=1 --verify=0 \
             --bs=32k --iodepth=32 --rw={rw} --group_reporting=1",
            loads.path("").display()
        );
        let document = loads.json(&line);
        let job = &document["jobs"][0];
        assert_eq!((job["jobname"].as_str(), job["error"].as_i64()), (Some(name), Some(0)));
        assert_eq!(document["jobs"].as_array().unwrap().len(), 1);
        let direction = if rw == "randread" { "read" } else { "write" };
        assert!(job[direction]["total_ios"].as_u64().unwrap() > 8 * 32, "{job}");
        assert!(loads.path(format!("{name}.7.0")).exists());
    }
}

/// Reads and writes of all jobs, in order.
fn ios(document: &Value) -> Vec<(u64, u64)> {
    let jobs = document["jobs"].as_array().unwrap();
    let of = |job: &Value, direction: &str| job[direction]["total_ios"].as_u64().unwrap();
    jobs.iter().map(|job| (of(job, "read"), of(job, "write"))).collect()
}

#[test]
fn jobs_wait_where_they_are_told_to() {
    let loads = Loads::new();
    // What the second reads is only there when the first has written: without the wall it would be refused, as nothing may be laid out.
    let document = loads.json(
        "--size=256k --filename=f --allow_file_create=1 --name=a --rw=write --name=b --stonewall --rw=read --name=c --wait_for=a --rw=read",
    );
    assert_eq!(ios(&document), [(0, 64), (64, 0), (64, 0)]);
    let groups: Vec<u64> =
        document["jobs"].as_array().unwrap().iter().map(|job| job["groupid"].as_u64().unwrap()).collect();
    assert_eq!(groups, [0, 1, 1]);
    let start = |job: usize| document["jobs"][job]["job_start"].as_u64().unwrap();
    let end = |job: usize| start(job) + document["jobs"][job]["job_runtime"].as_u64().unwrap();
    assert!(start(1) >= end(0).saturating_sub(1), "{document}");
}

#[test]
fn passes_go_on_and_begin_anew() {
    let loads = Loads::new();
    assert_eq!(ios(&loads.json("--name=a --rw=read --size=64k --loops=4 --number_ios=5")), [(20, 0)]);
    for (line, count) in [
        ("--size=8k --io_size=64k --loops=2", 16),
        ("--size=8k --io_size=20k --loops=2", 6),
        ("--size=8k --io_size=20k --loops=4", 8),
        ("--size=64k --io_size=100k --loops=3", 48),
        ("--size=64k --io_size=16k --loops=3", 12),
        ("--size=32k --filesize=64k --io_size=48k --loops=3", 36),
        ("--size=64k --io_size=256k --number_ios=20 --loops=2", 40),
    ] {
        for rw in ["read", "randread"] {
            let document = loads.json(&format!("--name=n --filename=n --rw={rw} {line}"));
            assert_eq!(ios(&document), [(count, 0)], "{rw} {line}");
        }
    }
    loads.json("--name=c --rw=write --filesize=64k --size=24k --loops=4 --write_iolog=log");
    let log = fs::read_to_string(loads.path("log")).unwrap();
    let wrote = log.lines().filter_map(|line| line.split_once(" write ")?.1.split(' ').next()?.parse::<u64>().ok());
    let wanted = (0..24).map(|block| block % 16 * 4096);
    assert!(wrote.eq(wanted), "a pass goes on where the last ended: {log}");
    assert_eq!(ios(&loads.json("--name=b --rw=write --size=64k --loops=3 --unlink_each_loop=1")), [(0, 48)]);
    assert!(loads.path("b.0.0").exists(), "only what stands between two passes is removed");
}

/// As in fio 3.33 with files that it can allocate; there it hangs on fallocate=.
#[test]
fn a_later_job_has_its_size_from_the_file_that_an_earlier_one_makes() {
    let loads = Loads::new();
    let text = "[global]\nfilename=F\n[w]\nrw=write\nsize=64k\n[r]\nstonewall\nrw=read\n[h]\nstonewall\nrw=read\nsize=50%\n\
                [o]\nstonewall\nrw=read\noffset=75%\n";
    fs::write(loads.path("later.fio"), text).unwrap();
    for _ in ["there is nothing", "it is there"] {
        assert_eq!(ios(&loads.json("later.fio")), [(0, 16), (16, 0), (8, 0), (4, 0)]);
    }
    let line =
        "--name=w --filename=G --rw=write --size=64k --name=r --stonewall --filename=G --rw=read --allow_file_create=0";
    assert_eq!(ios(&loads.json(line)), [(0, 16), (16, 0)], "it makes none itself");
    fs::remove_file(loads.path("F")).unwrap();
    let ran = loads.run("--name=r --filename=F --rw=read --name=w --filename=F --rw=write --size=64k");
    ran.ended(1, "r: you need to specify size=");
}

#[test]
fn exitall_ends_what_has_no_end() {
    let loads = Loads::new();
    let began = Instant::now();
    let document = loads
        .json("--ioengine=null --size=1m --name=short --exitall --number_ios=5 --name=long --time_based --runtime=300");
    assert_eq!(document["jobs"][0]["read"]["total_ios"], 5);
    assert!(began.elapsed() < Duration::from_secs(100), "{:?}", began.elapsed());
}

#[test]
fn the_same_offsets_twice_unless_told_otherwise() {
    let loads = Loads::new();
    let line = "--name=a --rw=randwrite --size=256k --number_ios=20 --bs=4k --fallocate=none --buffer_pattern=0xff --filename=";
    let written = |file: &str, more: &str| {
        loads.run(&format!("{line}{file} {more}")).ok();
        let bytes = fs::read(loads.path(file)).unwrap();
        bytes.chunks(4096).map(|block| block[0] == 0xff).collect::<Vec<bool>>()
    };
    let first = written("f1", "");
    assert_eq!(first.iter().filter(|touched| **touched).count(), 20);
    assert_eq!(written("f2", ""), first);
    assert_eq!(written("f3", "--randseed=77"), written("f4", "--randseed=77"));
    assert_ne!(written("f5", "--randseed=77"), first);
    // 20 of 64 blocks: that two free draws are the same is less likely than 10^-15.
    assert_ne!(written("f6", "--randrepeat=0"), written("f7", "--randrepeat=0"));
}

#[test]
fn a_signal_ends_a_run_with_128_and_a_valid_document() {
    for signal in [Signal::INT, Signal::TERM] {
        let loads = Loads::new();
        let line = "--output-format=json --output=out.json --status-interval=100ms --ioengine=null --size=1m --name=a --time_based --runtime=300";
        let child = loads.command(line).spawn().unwrap();
        // A first document is there: the job runs.
        let until = Instant::now() + Duration::from_secs(60);
        while !fs::read_to_string(loads.path("out.json")).is_ok_and(|text| text.contains("\n}\n")) {
            assert!(Instant::now() < until);
            std::thread::sleep(Duration::from_millis(20));
        }
        send(&child, signal);
        let ran = Ran::of(child.wait_with_output().unwrap()).ended(128, "terminating on signal");
        assert_eq!(ran.stdout, "");
        let text = fs::read_to_string(loads.path("out.json")).unwrap();
        let documents: Vec<Value> =
            serde_json::Deserializer::from_str(&text).into_iter().collect::<Result<_, _>>().unwrap();
        let ios: Vec<u64> =
            documents.iter().map(|document| document["jobs"][0]["read"]["total_ios"].as_u64().unwrap()).collect();
        assert!(ios.len() > 1 && ios.is_sorted() && ios[ios.len() - 1] > 0, "{ios:?}");
    }
}

/// `away` is 300 s for a target alone; who stops a run is not kept waiting for a server that is not there.
#[test]
fn a_signal_ends_a_run_whose_server_is_gone() {
    let (loads, sim) = (Loads::new(), Sim::start(&[]));
    let line = "--output-format=json --output=out --status-interval=100ms --ioengine=nfs --name=a --rw=write --size=1m";
    let child = loads.command(&format!("{line} --time_based --runtime=3000 --nfs_url={}", sim.url)).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while !fs::read_to_string(loads.path("out")).is_ok_and(|text| text.contains("\n}\n")) {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(sim);
    send(&child, Signal::INT);
    let begun = Instant::now();
    let ran = Ran::of(child.wait_with_output().unwrap()).ended(128, "terminating on signal");
    assert!(begun.elapsed() < Duration::from_secs(100), "{:?}", begun.elapsed());
    // The signal ended it, and no I/O failed of itself.
    assert!(!ran.stderr.contains("error") && !ran.stderr.contains("timed out"), "{ran:?}");
    let text = fs::read_to_string(loads.path("out")).unwrap();
    let last: Value = serde_json::Deserializer::from_str(&text).into_iter().last().unwrap().unwrap();
    assert_eq!(last["jobs"][0]["error"], 0, "{text}");
}

/// 64 GiB at 50 MB a second: the signal always comes before the end.
#[test]
fn a_signal_ends_a_layout_with_128_and_a_document_of_jobs_that_did_nothing() {
    let (loads, sim) = (Loads::new(), Sim::start(&["--bandwidth", "50MB"]));
    let line = format!(
        "--output-format=json,normal --output=out --ioengine=nfs --nfs_url={} --name=a --rw=read --size=64g --bs=1m",
        sim.url
    );
    let child = loads.command(&line).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    let told = || {
        fs::read_to_string(loads.path("out"))
            .is_ok_and(|text| text.contains("a: Laying out IO file (1 file / 65536MiB)"))
    };
    while !told() {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(20));
    }
    send(&child, Signal::INT);
    Ran::of(child.wait_with_output().unwrap()).ended(128, "terminating on signal");
    let text = fs::read_to_string(loads.path("out")).unwrap();
    let document = &text[text.find("{\n").unwrap()..=text.rfind("\n}\n").unwrap() + 2];
    let document: Value = serde_json::from_str(document).unwrap_or_else(|error| panic!("{error}: {text}"));
    let jobs = document["jobs"].as_array().unwrap();
    assert_eq!((jobs.len(), &jobs[0]["read"]["total_ios"], &jobs[0]["error"]), (1, &0.into(), &0.into()), "{text}");
    assert!(!text.contains("err="), "{text}");
}

#[test]
fn jobs_that_fail_are_counted_and_told() {
    let loads = Loads::new();
    let full = "--output-format=json --name=full --filename=/dev/full --size=64k --rw=write --numjobs=2";
    if Path::new("/dev/full").exists() {
        let ran = loads.run(full);
        assert_eq!(ran.status, Some(2), "{ran:?}");
        let document = document(&ran);
        let errors: Vec<i64> =
            document["jobs"].as_array().unwrap().iter().map(|job| job["error"].as_i64().unwrap()).collect();
        assert_eq!(errors, [28, 28]);
        assert!(
            ran.stderr
                .contains("fio: io_u error on file /dev/full: No space left on device: write offset=0, buflen=4096")
        );
        let ran = loads.run(&format!("{full} --continue_on_error=write --ignore_error=,ENOSPC --number_ios=7"));
        assert_eq!(document_errors(&ran), [(14, 28)], "{ran:?}");
        // As in fio: the report has the first error, and the exit status is that of a job that went on.
        assert_eq!((ran.status, document_error(&ran)), (Some(0), 28));
        let ran = loads.run(&format!("{full} --continue_on_error=all"));
        assert_eq!((ran.status, document_errors(&ran)), (Some(2), [(2, 28)]), "what ends the job is counted: {ran:?}");
        let ran = loads.run(&format!("{full} --continue_on_error=read"));
        assert_eq!((ran.status, document_errors(&ran)), (Some(2), [(0, 0)]), "it is about reads: {ran:?}");
        let one = "--name=full --filename=/dev/full --size=64k --rw=write";
        let ran = loads.run(one).ended(1, "No space left on device");
        assert!(ran.stdout.contains("err=28 (func=io_u error, error=No space left on device): pid="), "{ran:?}");
        let (ahead, _) = ran.stdout.split_once("\n\nfull: (groupid=0").unwrap_or_else(|| panic!("{ran:?}"));
        assert!(
            ahead.contains("\nfio: pid=") && ahead.ends_with(", err=28/func=io_u error, error=No space left on device")
        );
        let ran = loads.run(&format!("{one} --continue_on_error=write --ignore_error=,ENOSPC")).ok();
        assert!(!ran.stdout.contains("fio: pid="), "it went on: {ran:?}");
        assert!(
            ran.stdout.contains("     errors    : total=16, first_error=28/<No space left on device>\n"),
            "{ran:?}"
        );
    }
}

fn document_error(ran: &Ran) -> i64 {
    document(ran)["jobs"][0]["error"].as_i64().unwrap()
}

/// Errors that were counted, of a run whose jobs are reported together or not: their sum, and the first.
fn document_errors(ran: &Ran) -> [(u64, u64); 1] {
    let document = document(ran);
    let jobs = document["jobs"].as_array().unwrap();
    let of = |job: &Value, key: &str| job[key].as_u64().unwrap();
    [(jobs.iter().map(|job| of(job, "total_err")).sum(), of(&jobs[0], "first_error"))]
}

#[test]
fn the_status_line_is_shown_where_it_is_wanted_and_in_no_document() {
    let loads = Loads::new();
    let line = "--name=a --ioengine=null --size=1m --time_based --runtime=1 --eta-interval=250ms";
    let ran = loads.run(&format!("{line} --eta=always")).ok();
    assert!(ran.stdout.contains("Jobs: 1 (f="), "{ran:?}");
    assert!(!loads.run(line).ok().stdout.contains("Jobs: 1"));
    document(&loads.run(&format!("{line} --eta=always --output-format=json")).ok());
}

#[test]
fn readonly_leaves_everything_as_it_is() {
    let loads = Loads::new();
    fs::write(loads.path("f"), vec![1; 65536]).unwrap();
    loads.run("--readonly --name=a --filename=f --rw=randread --size=64k").ok();
    loads.run("--readonly --name=a --filename=f --rw=randrw --size=64k").ended(1, "not allowed with the --readonly");
    // It would have to be laid out anew.
    loads.run("--readonly --name=a --filename=f --rw=randread --size=128k").ended(1, "read-only");
    assert!(fs::read(loads.path("f")).unwrap() == vec![1; 65536]);
}
