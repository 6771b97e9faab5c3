//! `parfs load --write_iolog` and `--read_iolog`: what a run wrote is replayed with the same I/Os on the same places, at the log's pace; what is
//! wrong in a log is told with its line. Real fio's logs are tests/fio's.

use std::fs;
use std::time::{Duration, Instant};

use super::cli_support::Sim;
use super::load::{Loads, document};

/// Lines of a log without their times.
fn lines(text: &str) -> Vec<String> {
    text.lines().skip(1).map(|line| line.split_once(' ').unwrap().1.to_owned()).collect()
}

#[test]
fn a_run_is_written_down_and_replayed() {
    let loads = Loads::new();
    let line = "--name=a --filename=f:g --size=64k --bs=4k --rw=randrw --number_ios=12 --fsync=4";
    let first = loads.json(&format!("{line} --write_iolog=log"));
    let log = fs::read_to_string(loads.path("log")).unwrap();
    assert!(log.starts_with("fio version 3 iolog\n0 f add\n0 g add\n0 f open\n0 g open\n"), "{log}");
    let again = loads.json("--name=b --read_iolog=log --write_iolog=again");
    for direction in ["read", "write"] {
        for key in ["total_ios", "io_bytes"] {
            assert_eq!(first["jobs"][0][direction][key], again["jobs"][0][direction][key], "{direction} {key}");
        }
    }
    assert_eq!(first["jobs"][0]["sync"]["total_ios"], again["jobs"][0]["sync"]["total_ios"]);
    assert!(first["jobs"][0]["sync"]["total_ios"].as_u64() > Some(0));
    assert_eq!(lines(&log), lines(&fs::read_to_string(loads.path("again")).unwrap()));
    let times = log.lines().skip(1).map(|line| line.split_once(' ').unwrap().0.parse::<u64>().unwrap());
    assert!(times.is_sorted(), "{log}");
}

#[test]
fn clones_have_logs_of_their_own() {
    let loads = Loads::new();
    loads.json("--name=a --size=16k --rw=write --numjobs=2 --write_iolog=log");
    assert!(fs::read_to_string(loads.path("log")).unwrap().contains(" a.0.0 write 12288 4096\n"));
    assert!(fs::read_to_string(loads.path("log.1")).unwrap().contains(" a.1.0 write 12288 4096\n"));
    let ran = loads.run("--size=16k --write_iolog=log --name=a --name=b");
    assert!(ran.status == Some(1) && ran.stderr.contains("write_iolog=log is of two jobs"), "{ran:?}");
}

#[test]
fn a_log_that_finds_no_room_is_told() {
    let loads = Loads::new();
    let ran = loads.run("--name=a --size=16k --rw=write --write_iolog=/dev/full");
    assert!(ran.status == Some(1) && ran.stderr.contains("fio: /dev/full: No space left on device\n"), "{ran:?}");
}

#[test]
fn writes_make_their_files_and_go_where_the_log_says() {
    let loads = Loads::new();
    fs::create_dir(loads.path("d")).unwrap();
    let log = "fio version 2 iolog\nx add\nx open\nx write 8192 4096\nx write 0 512\nx datasync 0 0\nx close\ny write 4096 4096\n";
    fs::write(loads.path("log"), log).unwrap();
    let done =
        loads.json("--name=a --read_iolog=log --directory=d --ioengine=libaio --iodepth=4 --buffer_pattern=0x61");
    assert_eq!(done["jobs"][0]["write"]["total_ios"], 3);
    assert_eq!(done["jobs"][0]["sync"]["total_ios"], 1);
    let x = fs::read(loads.path("d/x")).unwrap();
    assert_eq!((x.len(), &x[..512], x[512], x[8192]), (12288, &[b'a'; 512][..], 0, b'a'));
    loads.json("--name=a --read_iolog=log --directory=d --replay_scale=2 --replay_align=4096 --unlink=0 --loops=2");
    loads.json("--name=b --read_iolog=log --replay_scale=2 --replay_align=4096");
    assert_eq!(fs::metadata(loads.path("x")).unwrap().len(), 8192, "8192 / 2, and no more than 4096 of it aligned");
    let ran = loads.run("--readonly --name=a --read_iolog=log");
    assert!(ran.status == Some(1) && ran.stderr.contains("--readonly"), "{ran:?}");
}

#[test]
fn a_log_is_replayed_over_nfs() {
    let (loads, dir) = (Loads::new(), tempfile::tempdir().unwrap());
    let sim = Sim::start(&["--dir", dir.path().to_str().unwrap(), "--unlimited"]);
    fs::write(loads.path("log"), "fio version 3 iolog\n0 x write 8192 4096\n9 x sync 0 0\n9 x read 8192 4096\n")
        .unwrap();
    let done = loads.json(&format!("--name=a --read_iolog=log --ioengine=nfs --iodepth=4 --nfs_url={}", sim.url));
    assert_eq!((&done["jobs"][0]["write"]["total_ios"], &done["jobs"][0]["read"]["total_ios"]), (&1.into(), &1.into()));
    assert_eq!(fs::metadata(dir.path().join("x")).unwrap().len(), 12288);
}

#[test]
fn the_logs_times_are_kept_scaled_or_left_out() {
    let loads = Loads::new();
    let v3 = "fio version 3 iolog\n0 x write 0 4096\n400000 x write 4096 4096\n";
    let v2 = "fio version 2 iolog\nx write 0 4096\nx wait 400 0\nx write 4096 4096\n";
    let took = |log: &str, more: &str| {
        fs::write(loads.path("log"), log).unwrap();
        let start = Instant::now();
        let done = loads.json(&format!("--name=a --read_iolog=log {more}"));
        assert_eq!(done["jobs"][0]["write"]["total_ios"], 2);
        (start.elapsed(), done["jobs"][0]["write"]["runtime"].as_u64().unwrap())
    };
    for log in [v3, v2] {
        assert!(took(log, "").0 >= Duration::from_millis(400), "{log}");
        assert!(took(log, "--replay_no_stall=1").1 < 400, "{log}");
    }
    assert!(took(v3, "--replay_time_scale=50").0 >= Duration::from_millis(800));
    assert!(took(v3, "--replay_time_scale=1000").1 < 400);
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let loads = Loads::new();
    for (log, said) in [
        ("fio version 2 iolog\nx add\nx jump 0 1\n", "fio: log: line 3: 'jump' is none of"),
        ("fio version 2 iolog\nx trim 0 1\n", "fio: log: line 2: a file on NFS cannot be trimmed"),
        ("\0\0", "fio: log: line 1: it is not 'fio version 2 iolog'"),
        ("fio version 3 iolog\n0 x add\n", "fio: log: there is no read and no write in it"),
    ] {
        fs::write(loads.path("log"), log).unwrap();
        let ran = loads.run("--name=a --read_iolog=log");
        assert!(ran.status == Some(1) && ran.stderr.contains(said), "{ran:?}");
    }
    for (line, said) in [
        ("--read_iolog=none", "fio: none: No such file or directory"),
        ("--read_iolog=-", "a log is read twice"),
        ("--read_iolog=log --verify=md5", "what a log writes is not read back"),
        ("--read_iolog=log --ioengine=filecreate", "has no offsets"),
        ("--read_iolog=log --replay_align=3", "3 is not a power of 2"),
        ("--replay_align=3", "3 is not a power of 2"),
        ("--replay_align=0", "0 is not a power of 2"),
        ("--read_iolog=log --replay_redirect=f", "replay_redirect' is not supported here"),
    ] {
        let ran = loads.run(&format!("--name=a {line}"));
        assert!(ran.status == Some(1) && ran.stderr.contains(said), "{line}: {ran:?}");
    }
    fs::write(loads.path("log"), "fio version 2 iolog\nmissing read 0 4096\n").unwrap();
    let ran = loads.run("--output-format=json --name=a --read_iolog=log");
    assert_eq!((ran.status, &document(&ran)["jobs"][0]["error"]), (Some(1), &2.into()), "{ran:?}");
}
