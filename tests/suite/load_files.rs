//! `parfs load`: which files a job works on and makes, and how much of them, where that was measured of fio 3.33.

use std::fs;

use super::cli_support::Sim;
use super::load::Loads;

fn moved(loads: &Loads, line: &str) -> (u64, u64) {
    let document = loads.json(line);
    let job = &document["jobs"][0];
    let sum = |key: &str| ["read", "write"].iter().map(|direction| job[direction][key].as_u64().unwrap()).sum();
    (sum("total_ios"), sum("io_bytes"))
}

#[test]
fn a_file_that_is_read_and_appended_to_is_laid_out_with_what_is_appended() {
    for rw in ["read", "randread", "rw", "randrw"] {
        let loads = Loads::new();
        fs::write(loads.path("f"), [1; 10_000]).unwrap();
        let line = format!("--name=a --filename=f --rw={rw} --size=64k --file_append=1");
        assert_eq!(moved(&loads, &line), (16, 65536), "{rw}");
        assert_eq!(fs::metadata(loads.path("f")).unwrap().len(), 75_536, "{rw}");
    }
    let loads = Loads::new();
    fs::write(loads.path("f"), [1; 10_000]).unwrap();
    assert_eq!(moved(&loads, "--name=a --filename=f --rw=write --size=64k --file_append=1"), (16, 65536));
    let data = fs::read(loads.path("f")).unwrap();
    assert!(data.len() == 75_536 && data[..10_000] == [1; 10_000], "what is only appended to is kept");
    // fio has no engine for memory that appends, and its engine for NFS makes no files.
    let sim = Sim::start(&["--dir", loads.path("").to_str().unwrap(), "--unlimited"]);
    let nfs = format!("--ioengine=nfs --nfs_url={}", sim.url);
    for (engine, rw) in
        [("--ioengine=mmap", "write"), ("--ioengine=mmap", "read"), (nfs.as_str(), "rw"), (&nfs, "read")]
    {
        fs::write(loads.path("f"), [1; 10_000]).unwrap();
        loads.run(&format!("--name=a {engine} --filename=f --rw={rw} --size=64k --file_append=1"));
        assert_eq!(fs::read(loads.path("f")).unwrap()[..10_000], [1; 10_000], "{engine} {rw}");
    }
}

/// As fio, which ends a job that has moved all its bytes, though loops are left; it unlinks ahead of each.
#[test]
fn a_job_that_has_moved_all_is_over_whatever_loops_are_left() {
    let loads = Loads::new();
    let line = "--name=a --rw=read:8k --bs=12k --size=100k --loops=2 --unlink_each_loop=1";
    assert_eq!(moved(&loads, line).0, 17);
    // number_ios= is of all loops, and with what is read back of it.
    for (size, n, loops, both) in
        [("1m", 5, 3, 30), ("1m", 20, 2, 80), ("64k", 7, 3, 32), ("64k", 12, 3, 40), ("64k", 20, 2, 48)]
    {
        let line = format!("--rw=write --size={size} --number_ios={n} --loops={loops} --verify=crc32c");
        assert_eq!(moved(&loads, &format!("--name=b --bs=4k {line}")).0, both, "{line}");
    }
    assert!(!loads.path("a.0.0").exists());
}

#[test]
fn what_a_directory_is_searched_for_is_in_the_one_that_stood_ahead_of_it() {
    let loads = Loads::new();
    for dir in ["od", "a/od"] {
        fs::create_dir_all(loads.path(dir)).unwrap();
        fs::write(loads.path(dir).join("1"), [1; 16_384]).unwrap();
    }
    loads.json("--name=x --rw=write --size=8k --opendir=od --directory=a");
    let is_kept = |dir: &str| fs::read(loads.path(dir).join("1")).unwrap() == [1; 16_384];
    assert_eq!((is_kept("od"), is_kept("a/od")), (false, true));
}

#[test]
fn holes_begin_anew_at_the_end_of_the_file_and_not_of_the_jobs_part() {
    let loads = Loads::new();
    fs::write(loads.path("f"), [0; 131_072]).unwrap();
    for (line, ios) in [
        ("--rw=read:4k --size=64k", 8),
        ("--rw=read:4k --size=64k --loops=2", 16),
        ("--rw=read:8k --size=64k", 6),
        ("--rw=read:4k --size=64k --io_size=96k", 24),
        ("--rw=write:4k --filesize=64k --size=128k", 8),
        ("--rw=read:4k --size=128k", 32),
    ] {
        assert_eq!(moved(&loads, &format!("--name=a --filename=f {line}")).0, ios, "{line}");
    }
}

#[test]
fn a_file_is_in_the_directory_that_stood_ahead_of_its_name() {
    let loads = Loads::new();
    ["d", "e"].iter().for_each(|dir| fs::create_dir(loads.path(dir)).unwrap());
    let job = "[global]\nrw=write\nsize=4k\nfilename=f\n[a]\nfilename=g\ndirectory=d\n[b]\nfilename=h\ndirectory=e\n";
    fs::write(loads.path("jobs.fio"), job).unwrap();
    loads.json("jobs.fio");
    assert!(["f", "d/g", "e/h"].iter().all(|file| loads.path(file).is_file()));
    assert!(!loads.path("d/f").exists() && !loads.path("d/h").exists());
}

/// The limit of all loops, the passes that end with the files, and those that come on top until less than a block is left.
#[test]
fn loops_and_io_size_are_counted_as_in_fio() {
    let loads = Loads::new();
    for (line, ios) in [
        ("--bs=4k --size=64k --io_size=10k --loops=2", 5),
        ("--bs=4k --size=64k --io_size=30k --loops=3", 23),
        ("--bs=12k --size=64k --io_size=50k --loops=2", 9),
        ("--bs=12k --size=64k --io_size=90k --loops=3", 15),
        ("--bs=12k --size=64k --io_size=128k", 10),
        ("--bs=12k --size=64k --io_size=150k --loops=3", 15),
        ("--bs=12k --size=64k --io_size=200k --loops=2", 20),
        ("--bs=12k --size=64k --io_size=70k", 5),
        ("--bs=12k --size=60k --io_size=64k", 5),
        ("--bs=4k --size=64k --io_size=128k", 32),
        ("--bs=4k --size=64k --loops=3", 48),
        ("--bs=4k --size=50k", 12),
    ] {
        for rw in ["read", "randread", "write", "randwrite"] {
            let line = format!("--name=a --ioengine=null --rw={rw} {line}");
            assert_eq!(moved(&loads, &line).0, ios, "{line}");
        }
    }
    for (line, ios) in [("--io_size=100k --loops=2", 50), ("--io_size=70k --loops=3", 53), ("--io_size=30k", 8)] {
        let line = format!("--name=a --ioengine=null --rw=randwrite --norandommap --size=64k {line}");
        assert_eq!(moved(&loads, &line).0, ios, "{line}");
    }
}

/// As fio, which makes data safe where a pass ends ahead of its bytes, and again when the next begins.
#[test]
fn what_is_due_at_the_end_of_a_pass_is_synced() {
    for (line, syncs) in [
        ("--size=64k --fsync=4", 3),
        ("--size=50k --fsync=4", 3),
        ("--size=50k --fsync=3", 4),
        ("--size=64k --fsync=4 --loops=2", 8),
        ("--size=50k --fsync=4 --loops=3", 11),
        ("--size=64k --fsync=4 --loops=2 --verify=crc32c", 8),
        ("--size=64k --fsync=4 --loops=2 --number_ios=8", 3),
        ("--size=64k --fdatasync=4 --io_size=128k", 8),
    ] {
        // A file that is larger than the job's part would have room for another I/O.
        let document = Loads::new().json(&format!("--name=a --rw=write --bs=4k {line}"));
        assert_eq!(document["jobs"][0]["sync"]["total_ios"], syncs, "{line}");
    }
}

/// What bs= does not divide: as in fio, sequential I/O of one size goes on in a file that is larger than the job's part of it.
#[test]
fn the_last_io_of_a_part_may_lead_into_the_rest_of_the_file() {
    let loads = Loads::new();
    ["f", "g"].iter().for_each(|file| fs::write(loads.path(file), [1; 65536]).unwrap());
    for (line, ios) in [
        ("--rw=write --size=50k --bs=4k", 13),
        ("--rw=read --size=49k --bs=16k", 4),
        ("--rw=read --filesize=50k --bs=4k", 13),
        ("--rw=write --size=50k --bs=4k --offset=12k", 13),
        ("--rw=write --size=50k --bs=4k --offset=14k", 12),
        ("--rw=write --size=50k --bs=4k --loops=2", 25),
        ("--rw=write:4k --size=50k --bs=4k", 7),
        ("--rw=randread --size=50k --bs=4k", 12),
        ("--rw=write --size=50k --bs=4k --io_size=20k", 5),
        ("--rw=write --size=50k --bs=4k --verify=crc32c", 26),
        ("--rw=write --size=53k --bs=4k --filename=f:g --file_service_type=sequential", 14),
    ] {
        assert_eq!(moved(&loads, &format!("--name=a --filename=f {line}")).0, ios, "{line}");
    }
    assert_eq!(fs::metadata(loads.path("f")).unwrap().len(), 65536);
}

/// What is behind a file's end is written once; only random I/O without end, or that fills the time, goes on there.
#[test]
fn files_that_are_appended_to_do_not_begin_anew() {
    for (line, ios) in [
        ("--rw=write --loops=3", 16),
        ("--rw=randwrite --loops=2", 16),
        ("--rw=read --loops=2", 16),
        ("--rw=write --io_size=128k", 16),
        ("--rw=write --loops=2 --io_size=32k", 16),
        ("--rw=write --loops=2 --number_ios=5", 10),
        ("--rw=write --loops=2 --nrfiles=2", 16),
        ("--rw=write --loops=2 --verify=crc32c", 32),
        ("--rw=write --time_based --runtime=20", 16),
        ("--rw=randwrite --norandommap --loops=2", 32),
        ("--rw=randwrite --norandommap --io_size=256k", 64),
    ] {
        let loads = Loads::new();
        fs::write(loads.path("a.0.0"), [1; 20_480]).unwrap();
        let line = format!("--name=a --size=64k --bs=4k --file_append=1 {line}");
        assert_eq!(moved(&loads, &line).0, ios, "{line}");
    }
}
