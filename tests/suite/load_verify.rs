//! `parfs load --verify`, on files and on a simulated server: what was written is found whole; a flipped byte, a block that is missing, one of
//! another place and one of an older run are each told, with status 84 in the document and exit 1. And servers that fail in the middle.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::cli_support::{Ran, Sim};
use super::load::{Loads, document};

const BLOCK: usize = 4096;

/// Where a job's file is, as a job says it and as this test reaches it.
struct Where {
    loads: Loads,
    sim: Option<(Sim, tempfile::TempDir)>,
}

impl Where {
    fn files() -> Where {
        Where { loads: Loads::new(), sim: None }
    }

    fn nfs() -> Where {
        let dir = tempfile::tempdir().unwrap();
        let sim = Sim::start(&["--dir", dir.path().to_str().unwrap(), "--unlimited"]);
        Where { loads: Loads::new(), sim: Some((sim, dir)) }
    }

    fn both() -> [Where; 2] {
        [Where::files(), Where::nfs()]
    }

    fn run(&self, line: &str) -> Ran {
        let place = match &self.sim {
            Some((sim, _)) => format!("--ioengine=nfs --nfs_url={}", sim.url),
            None => String::new(),
        };
        self.loads.run(&format!("--output-format=json {place} --name=a --filename=f --size=64k --bs=4k {line}"))
    }

    fn file(&self) -> PathBuf {
        match &self.sim {
            Some((_, dir)) => dir.path().join("f"),
            None => self.loads.path("f"),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.file()).unwrap()
    }

    /// Puts bytes at a place, from behind.
    fn put(&self, at: usize, bytes: &[u8]) {
        let file = fs::File::options().write(true).open(self.file()).unwrap();
        file.write_all_at(bytes, at as u64).unwrap();
    }
}

#[track_caller]
fn found(ran: &Ran, check: &str) {
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains(&format!("{check}: verify failed at file ")) || ran.stderr.contains("verify: bad"),
        "{ran:?}"
    );
    assert_eq!(document(ran)["jobs"][0]["error"], 84, "{ran:?}");
}

#[test]
fn what_was_written_is_found_whole() {
    for place in Where::both() {
        for check in
            ["md5", "crc32c", "sha256", "sha3-224", "sha3-512", "xxhash", "meta", "pattern --verify_pattern=0xabcd"]
        {
            for rw in ["write", "randwrite"] {
                place.run(&format!("--rw={rw} --verify={check}")).ok();
                let read = rw.replace("write", "read");
                let ran = place.run(&format!("--rw={read} --verify={check}")).ok();
                assert_eq!(document(&ran)["jobs"][0]["read"]["total_ios"], 16, "{check} {rw}");
            }
        }
    }
}

/// Blocks that one pass writes twice, and reads of a mixed job, which are of blocks that were never written with marks.
#[test]
fn nothing_is_found_where_nothing_is_wrong() {
    for place in Where::both() {
        for line in [
            "--rw=write --io_size=128k",
            "--rw=randwrite --io_size=200k --iodepth=4",
            "--rw=randwrite --loops=3",
            "--rw=randwrite --norandommap",
            "--rw=randrw",
            "--rw=rw --verify_backlog=3",
            "--rw=randrw --verify_backlog=8 --verify_backlog_batch=2",
            "--rw=randwrite --verify_backlog=4 --iodepth=8",
            "--rw=write --filename=g",
            "--rw=randwrite --bsrange=4k-16k",
            "--rw=write:4k",
        ] {
            let ran = place.run(&format!("{line} --verify=crc32c"));
            assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{line}");
            fs::remove_file(place.file()).unwrap();
        }
    }
}

/// As in fio: its reads leave buffers as they were.
#[test]
fn what_the_null_engine_reads_passes_for_what_was_written() {
    let loads = Loads::new();
    for line in [
        "--rw=write",
        "--rw=randwrite --iodepth=8",
        "--rw=randrw --verify_backlog=4",
        "--rw=read",
        "--debug=io --rw=write",
    ] {
        for check in ["crc32c", "meta", "pattern --verify_pattern=0x1234"] {
            let line = format!("--output-format=terse --name=a --ioengine=null --size=64k {line} --verify={check}");
            loads.run(&line).ok();
        }
    }
}

#[test]
fn a_flipped_byte_is_found() {
    for place in Where::both() {
        for check in ["md5", "crc32c", "sha1", "crc64"] {
            place.run(&format!("--rw=write --verify={check}")).ok();
            let at = 5 * BLOCK + 1234;
            let byte = place.bytes()[at];
            place.put(at, &[byte ^ 1]);
            found(&place.run(&format!("--rw=read --verify={check}")), check);
            place.put(at, &[byte]);
            place.run(&format!("--rw=read --verify={check}")).ok();
        }
    }
}

#[test]
fn a_block_that_is_missing_is_found() {
    for place in Where::both() {
        place.run("--rw=write --verify=crc32c").ok();
        place.put(7 * BLOCK, &[0; BLOCK]);
        found(&place.run("--rw=read --verify=crc32c"), "crc32c");
    }
}

#[test]
fn a_block_at_a_wrong_place_is_found() {
    for place in Where::both() {
        place.run("--rw=write --verify=crc32c").ok();
        let bytes = place.bytes();
        place.put(7 * BLOCK, &bytes[3 * BLOCK..4 * BLOCK]);
        found(&place.run("--rw=read --verify=crc32c"), "crc32c");
    }
}

#[test]
fn a_block_of_an_older_run_is_found() {
    for place in Where::both() {
        place.run("--rw=write --verify=crc32c --randseed=1").ok();
        let old = place.bytes();
        place.run("--rw=write --verify=crc32c --randseed=2").ok();
        place.run("--rw=read --verify=crc32c --randseed=2 --verify_header_seed=1").ok();
        place.put(9 * BLOCK, &old[9 * BLOCK..10 * BLOCK]);
        found(&place.run("--rw=read --verify=crc32c --randseed=2 --verify_header_seed=1"), "crc32c");
        let only = "--rw=write --verify=crc32c --randseed=2 --verify_only";
        found(&place.run(&format!("{only} --verify_header_seed=1")), "crc32c");
        place.run(only).ok();
    }
}

/// Whose seed it is that wrote a file is not known to a job that only reads it.
#[test]
fn what_a_job_of_another_seed_wrote_is_no_mismatch() {
    for place in Where::both() {
        place.run("--rw=randwrite --verify=crc32c --randseed=1").ok();
        for line in ["--rw=read", "--rw=randread", "--rw=write --verify_only", "--rw=randwrite --verify_only"] {
            place.run(&format!("{line} --verify=crc32c --randseed=2")).ok();
            let ran = place.run(&format!("{line} --verify=crc32c --randseed=2 --verify_header_seed=1"));
            assert!(ran.stderr.contains("verify: bad header rand_seed "), "{line}: {ran:?}");
        }
        place.run("--rw=randwrite --verify_only --verify=crc32c --randseed=1 --verify_write_sequence=1").ok();
        let ran = place.run("--rw=write --verify_only --verify=crc32c --randseed=1 --verify_write_sequence=1");
        assert!(ran.stderr.contains("verify: bad header numberio "), "{ran:?}");
    }
}

#[test]
fn all_bad_blocks_are_counted_where_the_run_goes_on() {
    for place in Where::both() {
        place.run("--rw=write --verify=md5").ok();
        for block in [2, 5, 11] {
            place.put(block * BLOCK + 100, b"else");
        }
        let ran = place.run("--rw=read --verify=md5 --continue_on_error=verify");
        // fio ends with 0 here; a run that found wrong data has not gone well.
        assert_eq!(ran.status, Some(1), "{ran:?}");
        let document = document(&ran);
        let job = &document["jobs"][0];
        assert_eq!((job["total_err"].as_u64(), job["first_error"].as_u64()), (Some(3), Some(84)), "{job}");
        assert_eq!(ran.stderr.matches("md5: verify failed at file ").count(), 3, "{ran:?}");
    }
}

#[test]
fn a_server_that_ends_in_the_middle_is_told() {
    let loads = Loads::new();
    let sim = Sim::start(&["--unlimited", "--fault", "gone:nth=200"]);
    let url = format!("{}?timeo=3&retrans=2&away=1", sim.url);
    let line = format!(
        "--output-format=json --ioengine=nfs --nfs_url={url} --name=a --rw=write --bs=4k --size=4m --iodepth=8"
    );
    let ran = loads.run(&line);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("fio: "), "{ran:?}");
    let document = document(&ran);
    let job = &document["jobs"][0];
    assert_ne!(job["error"], 0, "{job}");
    assert!(job["write"]["total_ios"].as_u64().unwrap() < 1024, "{job}");
}

#[test]
fn a_server_that_starts_again_loses_nothing_that_is_not_told() {
    let place = Where::nfs();
    place.run("--rw=write --verify=crc32c --end_fsync=1 --iodepth=4").ok();
    assert_eq!(place.bytes().len(), 16 * BLOCK);
    let sim = Sim::start(&["--unlimited", "--fault", "restart:proc=WRITE,nth=9"]);
    let line = format!(
        "--output-format=json --ioengine=nfs --nfs_url={}?timeo=3 --name=a --filename=f --size=64k --rw=write --verify=crc32c --iodepth=4",
        sim.url
    );
    let ran = place.loads.run(&line);
    let document = document(&ran);
    let told = document["jobs"][0]["error"] != 0;
    assert_eq!(ran.status, Some(i32::from(told)), "{ran:?}");
}

#[test]
fn published_lines_run_against_several_targets() {
    let loads = Loads::new();
    let sim = Sim::start(&["--unlimited", "--targets", "2"]);
    for (name, rw) in [("write_throughput", "randwrite"), ("read_throughput", "randread")] {
        let line = format!(
            "--name={name} --numjobs=8 -size=1M --time_based --runtime=1 -ioengine=nfs --nfs_url={} --direct=1 --verify=0 --bs=32k \
             --iodepth=32 --rw={rw} --group_reporting=1",
            sim.url
        );
        let document = loads.json(&line);
        let job = &document["jobs"][0];
        assert_eq!(job["error"], 0, "{job}");
        let direction = rw.trim_start_matches("rand");
        assert!(job[direction]["total_ios"].as_u64().unwrap() > 8, "{job}");
        assert_eq!(job[direction]["short_ios"], 0, "{job}");
    }
}

/// verify_async: threads find what the job itself finds, with as many blocks as there are.
#[test]
fn threads_of_a_job_find_the_same() {
    for place in Where::both() {
        for threads in ["1", "3", "3 --verify_async_cpus=0"] {
            let line = format!("--verify=sha256 --iodepth=4 --verify_async={threads}");
            place.run(&format!("--rw=randwrite {line}")).ok();
            place.run(&format!("--rw=randread {line}")).ok();
            for block in [0, 7, 15] {
                let at = block * BLOCK + 999;
                let byte = place.bytes()[at];
                place.put(at, &[byte ^ 1]);
                let ran = place.run(&format!("--rw=randread {line}"));
                found(&ran, "sha256");
                assert!(ran.stderr.contains(&format!(" offset {}, length 4096 ", block * BLOCK)), "{ran:?}");
                place.put(at, &[byte]);
            }
        }
        let ran = place.run("--rw=read --verify=sha256 --verify_async=1 --verify_async_cpus=1023");
        assert!(ran.status == Some(1) && ran.stderr.contains("fio: verify_async=1: Invalid argument"), "{ran:?}");
    }
}

/// verify_dump: beside what was read, what had to be there, by the job that wrote it and by another.
#[test]
fn what_had_to_be_there_is_kept_beside_what_was_read() {
    for place in Where::both() {
        for options in [
            "--verify=crc32c",
            "--verify=md5 --verify_interval=512 --verify_offset=64",
            "--verify=crc32c --buffer_compress_percentage=50 --buffer_pattern=0x616263",
            "--verify=sha1 --zero_buffers",
            "--verify=meta --dedupe_percentage=60",
            "--verify=pattern --verify_pattern=0x616263%o",
            "--verify=pattern_hdr --verify_pattern=0xdeadbeef --verify_interval=1k",
        ] {
            let line = format!("{options} --iodepth=4 --verify_dump=1");
            place.run(&format!("--rw=randwrite {options} --randseed=7")).ok();
            let good = place.bytes();
            // Within the mark of the third interval, or the data behind the only one.
            let at = 5 * BLOCK + 1024 + 64 + 34;
            place.put(at, &[good[at] ^ 1]);
            let kept = |ending: &str| fs::read(place.loads.path(format!("f.{}.{ending}", 5 * BLOCK))).ok();
            let same = "--rw=randwrite --verify_only --randseed=7";
            let known = format!("{same} --verify_header_seed=1 --verify_write_sequence=1");
            for job in [same, &known, "--rw=read --randseed=8"] {
                let ran = place.run(&format!("{job} {line}"));
                let is_meta = options.contains("meta");
                assert_eq!(ran.status, Some(i32::from(!is_meta)), "{options}: {ran:?}");
                if is_meta {
                    continue;
                }
                let block = 5 * BLOCK..6 * BLOCK;
                assert!(kept("received").unwrap() == place.bytes()[block.clone()], "{options}");
                if *job != *known && ran.stderr.contains("bad header") {
                    assert!(ran.stderr.contains("f.20480.expected: the block has no mark"), "{ran:?}");
                    assert!(kept("expected").is_none(), "{options}");
                } else {
                    assert!(kept("expected").unwrap() == good[block], "{options} {job}");
                }
                fs::remove_file(place.loads.path("f.20480.received")).unwrap();
                fs::remove_file(place.loads.path("f.20480.expected")).ok();
            }
            place.put(at, &good[at..=at]);
        }
    }
}

/// As fio: engines of metadata move no data that could be checked.
#[test]
fn nothing_is_checked_where_no_data_is_moved() {
    for engine in ["filecreate", "filestat"] {
        let document = Loads::new()
            .json(&format!("--name=a --ioengine={engine} --rw=randrw --nrfiles=4 --filesize=16k --verify=crc32c"));
        assert_eq!(document["jobs"][0]["error"], 0, "{engine}");
    }
}

/// What only reads back counts for number_ios= and io_size= as written and as read, as in fio.
#[test]
fn what_is_only_read_back_counts_twice() {
    let loads = Loads::new();
    let job = "--name=a --rw=write --size=64k --bs=4k --verify=crc32c";
    loads.json(job);
    for (limit, reads) in [
        ("", 16),
        ("--loops=2", 32),
        ("--io_size=32k", 8),
        ("--io_size=128k", 16),
        ("--io_size=160k", 32),
        ("--io_size=16k --loops=2", 8),
        ("--io_size=48k --loops=2", 24),
        ("--io_size=128k --loops=2", 32),
        ("--number_ios=5", 5),
        ("--number_ios=8 --loops=2", 16),
        ("--number_ios=12 --loops=3", 20),
    ] {
        let document = loads.json(&format!("{job} --verify_only=1 {limit}"));
        let done = &document["jobs"][0];
        assert_eq!((&done["error"], &done["read"]["total_ios"]), (&0.into(), &reads.into()), "{limit}");
    }
}

/// As fio, a backlog is read back once the first write of it has ended: with as many in flight as are to be done, all are written first.
#[test]
fn a_backlog_waits_for_its_first_write_alone() {
    for (depth, ios) in [(1, 8), (4, 8), (8, 8), (16, 16)] {
        let loads = Loads::new();
        let limit = format!("--number_ios=16 --ioengine=libaio --iodepth={depth}");
        let line = format!("--name=a --rw=write --size=128k --bs=4k --verify=crc32c --verify_backlog=4 {limit}");
        let document = loads.json(&line);
        let done = &document["jobs"][0];
        assert_eq!((&done["write"]["total_ios"], &done["read"]["total_ios"]), (&ios.into(), &ios.into()), "{depth}");
    }
}
