use std::cell::RefCell;
use std::path::Path;

use super::super::super::engine::{Done, Io, Queued};
use super::super::Live;
use super::super::harness::{REGION, run_clone};
use super::*;

/// What a clone does with its files, as words: `open`, `drop`, `go` where the engine lets go, and numbers of I/Os.
struct Recording<'a> {
    seen: &'a RefCell<Vec<String>>,
    live: &'a Live,
    /// After so many I/Os the run is ended from without.
    ends_after: u64,
}

impl Recording<'_> {
    fn saw(&self, word: &str) {
        self.seen.borrow_mut().push(word.to_owned());
    }
}

impl Engine for Recording<'_> {
    fn waits(&self) -> bool {
        true
    }

    fn open(&mut self, _: u32, _: &Path, _: Open) -> Result<(), Errno> {
        self.saw("open");
        Ok(())
    }

    fn close(&mut self, _: u32) -> Result<(), Errno> {
        Ok(())
    }

    fn advise(&mut self, _: u32, dropped: Option<Extent>, _: Option<Advice>) -> Result<(), Errno> {
        if dropped.is_some() {
            assert_eq!(dropped, Some(REGION));
            self.saw("drop");
        }
        Ok(())
    }

    fn let_go(&mut self, _: u32) -> Result<(), Errno> {
        self.saw("go");
        Ok(())
    }

    fn queue(&mut self, io: Io) -> Queued {
        let mut seen = self.seen.borrow_mut();
        match seen.last().and_then(|last| last.parse::<u64>().ok()) {
            Some(ios) => *seen.last_mut().unwrap() = (ios + 1).to_string(),
            None => seen.push("1".to_owned()),
        }
        self.ends_after -= 1;
        if self.ends_after == 0 {
            self.live.end();
        }
        let result = Ok(io.buf.len());
        Queued::Done(Done { slot: io.slot, buf: io.buf, result })
    }

    fn commit(&mut self) -> Result<usize, Errno> {
        Ok(0)
    }

    fn reap(&mut self, _: usize, _: usize, _: Option<Duration>, _: &mut Vec<Done>) -> Result<(), Errno> {
        Ok(())
    }

    fn sync(&mut self, file: u32, _: SyncKind) -> Result<(), Errno> {
        self.saw(&format!("sync{file}"));
        std::thread::sleep(SYNC);
        Ok(())
    }
}

/// What a sync takes at least.
const SYNC: Duration = Duration::from_millis(20);

/// Runs the clone of a command line over `files` files, in passes of `total_bytes`, for 40 I/Os at most.
fn seen(line: &str, files: usize, total_bytes: u64) -> String {
    ran(line, files, total_bytes).0
}

/// And what came of it.
fn ran(line: &str, files: usize, total_bytes: u64) -> (String, JobResult) {
    let (seen, live) = (RefCell::default(), Live::default());
    let engine = Recording { seen: &seen, live: &live, ends_after: 40 };
    let result = run_clone(line, files, total_bytes, &live, engine);
    (seen.into_inner().join(" "), result)
}

/// As fio 3.33 does it, measured with an fsync of two seconds: bytes count as written when they are safe.
#[test]
fn the_last_syncs_are_part_of_the_time_and_of_all_files() {
    let three = "--nrfiles=3 --openfiles=1 --file_service_type=sequential --invalidate=0";
    for (line, files, wanted, syncs) in [
        ("--rw=write --end_fsync=1", 1, "open drop 16 sync0", 1),
        ("--rw=write --fsync_on_close=1", 1, "open drop 16 sync0", 1),
        ("--rw=read --end_fsync=1", 1, "open drop 16", 0),
        (&format!("--rw=write --end_fsync=1 {three}"), 3, "open 16 open 8 sync1 open sync0 open sync2", 3),
    ] {
        let bytes = if files == 1 { REGION.len } else { 24 << 12 };
        let (seen, result) = ran(line, files, bytes);
        assert_eq!(seen, wanted, "{line}");
        assert!(result.directions[Direction::Write].runtime_ms >= syncs * SYNC.as_millis() as u64, "{line}");
    }
}

/// A job that fills its time would go round for ever.
#[test]
fn a_pass_without_an_io_ends_the_job() {
    let (seen, result) = ran("--rw=write --bsrange=1m-1m --time_based --runtime=1h", 1, REGION.len);
    assert_eq!((seen.as_str(), result.errors.error), ("open drop", Errno::INVAL.raw_os_error()));
    // Without a time to fill it is done, as in fio.
    let (seen, result) = ran("--rw=write --bsrange=1m-1m --loops=2", 1, REGION.len);
    assert_eq!((seen.as_str(), result.errors.error), ("open drop go drop", 0));
}

/// As strace(1) shows it of fio 3.33, whose opening of a file for the next pass is `go` here.
#[test]
fn what_is_visited_again_is_not_found_in_the_cache() {
    let fills = "--time_based --runtime=1h";
    for (line, wanted) in [
        ("--rw=read --loops=2", "open drop 16 go drop 16"),
        ("--rw=randread --loops=2", "open drop 16 go drop 16"),
        ("--rw=randread --loops=2 --direct=1", "open drop 16 go drop 16"),
        ("--rw=randwrite --loops=2", "open drop 16 go drop 16"),
        ("--rw=randread --loops=2 --invalidate=0", "open 32"),
        ("--rw=randread --loops=2 --norandommap", "open drop 32"),
        ("--rw=randread --loops=2 --random_distribution=zipf", "open drop 32"),
        ("--rw=write --verify=crc32c", "open drop 16 go drop 16"),
        // 16 that are read first.
        ("--rw=read --pre_read=1", "open 32"),
        (&format!("--rw=read {fills}"), "open drop 16 drop 16 drop 8"),
        (&format!("--rw=randread {fills}"), "open drop 16 drop 16 drop 8"),
        (&format!("--rw=randwrite {fills}"), "open drop 16 drop 16 drop 8"),
        (&format!("--rw=randrw {fills}"), "open drop 16 drop 16 drop 8"),
        (&format!("--rw=randread {fills} --invalidate=0"), "open 40"),
        (&format!("--rw=randread {fills} --norandommap"), "open drop 40"),
        (&format!("--rw=randread {fills} --direct=1"), "open drop 40"),
    ] {
        let loops = if line.contains("--loops=2") { 2 } else { 1 };
        assert_eq!(seen(line, 1, loops * REGION.len), wanted, "{line}");
    }
    let twice = 2 * REGION.len;
    assert_eq!(seen("--rw=read --io_size=128k", 1, twice), "open drop 16 go drop 16", "another pass");
    assert_eq!(seen("--rw=read --nrfiles=2 --time_based --runtime=1h", 2, twice), "open drop open drop 32 drop drop 8");
}
