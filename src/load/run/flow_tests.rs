use std::path::Path;

use super::super::super::engine::{Open, SyncKind};
use super::super::super::results::JobResult;
use super::super::super::settings::Advice;
use super::super::Live;
use super::super::harness::{REGION, run_clone};
use super::*;

/// An engine that takes its time. I/Os beyond `ios` end the job.
#[derive(Default)]
struct Slow {
    waits: bool,
    /// How long each read and write takes while it is queued, and sending what was queued; at least.
    read: Duration,
    write: Duration,
    commit: Duration,
    /// The write of this number is slow, and no other.
    slow: Option<u64>,
    writes: u64,
    /// Nothing can be sent.
    refuses: Option<Errno>,
    pending: Vec<Done>,
    reaped: u32,
}

impl Engine for Slow {
    fn waits(&self) -> bool {
        self.waits
    }

    fn open(&mut self, _: u32, _: &Path, _: Open) -> Result<(), Errno> {
        Ok(())
    }

    fn close(&mut self, _: u32) -> Result<(), Errno> {
        Ok(())
    }

    fn advise(&mut self, _: u32, _: Option<Extent>, _: Option<Advice>) -> Result<(), Errno> {
        Ok(())
    }

    fn queue(&mut self, io: Io) -> Queued {
        let is_slow = self.slow.is_none_or(|slow| slow == self.writes);
        if io.direction == Direction::Write {
            self.writes += 1;
        }
        if is_slow {
            std::thread::sleep(if io.direction == Direction::Read { self.read } else { self.write });
        }
        let result = Ok(io.buf.len());
        let done = Done { slot: io.slot, buf: io.buf, result };
        if self.waits {
            return Queued::Done(done);
        }
        self.pending.push(done);
        Queued::Pending
    }

    fn commit(&mut self) -> Result<usize, Errno> {
        std::thread::sleep(self.commit);
        self.refuses.map_or(Ok(self.pending.len()), Err)
    }

    fn reap(&mut self, _: usize, max: usize, _: Option<Duration>, done: &mut Vec<Done>) -> Result<(), Errno> {
        self.reaped += 1;
        assert!(self.reaped < 1000, "waits for what never comes");
        if self.refuses.is_none() {
            done.extend(self.pending.drain(..self.pending.len().min(max)));
        }
        Ok(())
    }

    fn sync(&mut self, _: u32, _: SyncKind) -> Result<(), Errno> {
        Ok(())
    }
}

fn ran(line: &str, engine: Slow) -> JobResult {
    run_clone(line, 1, REGION.len, &Live::default(), engine)
}

const MS: Duration = Duration::from_millis(1);

/// fio 3.33, sha3-512 over 48 MiB at 32 MiB/s: READ 1555 ms, WRITE 1683 ms, the job 3237 ms.
#[test]
fn what_is_read_back_is_no_part_of_the_time_of_writing() {
    for line in ["--rw=write --verify=null", "--rw=write --verify=null --loops=2"] {
        let engine = Slow { waits: true, read: 5 * MS, write: 3 * MS, ..Slow::default() };
        let result = ran(line, engine);
        let [read, write] = [Direction::Read, Direction::Write].map(|way| result.directions[way].clone());
        assert_eq!(read.ios, write.ios, "{line}");
        assert!(read.runtime_ms >= 5 * read.ios && write.runtime_ms >= 3 * write.ios, "{line}: {read:?} {write:?}");
        // Each is rounded up.
        assert!(read.runtime_ms + write.runtime_ms <= result.runtime_ms + 2, "{line}: {read:?} {write:?}");
    }
}

#[test]
fn what_is_only_read_back_takes_the_time_of_reading() {
    let engine = Slow { waits: true, read: 5 * MS, ..Slow::default() };
    let read = ran("--rw=write --verify=null --verify_only=1", engine).directions.read;
    assert!(read.ios > 0 && read.runtime_ms >= 5 * read.ios, "{read:?}");
}

#[test]
fn a_mixed_job_reads_in_both_times() {
    let engine = Slow { waits: true, read: 2 * MS, write: 2 * MS, ..Slow::default() };
    let result = ran("--rw=rw --verify=null", engine);
    let [read, write] = [Direction::Read, Direction::Write].map(|way| result.directions[way].clone());
    assert!(read.runtime_ms >= 2 * (read.ios + write.ios), "{read:?}");
    assert!(write.runtime_ms + 2 * write.ios <= read.runtime_ms + 1, "what is read back is not in it: {write:?}");
}

/// As fio 3.33 does with libaio and direct=0, where io_submit(2) blocks.
#[test]
fn what_submitting_takes_is_slat() {
    let result = ran("--ioengine=libaio --iodepth=4 --rw=write", Slow { commit: 5 * MS, ..Slow::default() });
    let write = &result.directions.write;
    assert!(write.slat.moments.min >= 5_000_000, "{:?}", write.slat.moments);
    let (slat, clat, lat) = (write.slat.moments.mean, write.clat.moments.mean, write.lat.moments.mean);
    assert!((slat + clat - lat).abs() < 1.0, "{slat} {clat} {lat}");
}

/// fio 3.33 with 256 KiB that are filled anew: clat 32690 ns, lat 32836 ns.
#[test]
fn what_fills_a_buffer_is_no_part_of_an_io() {
    let result = ran("--rw=write --refill_buffers=1", Slow { waits: true, ..Slow::default() });
    let write = &result.directions.write;
    assert_eq!(write.lat.moments.mean, write.clat.moments.mean);
}

#[test]
fn max_latency_is_seen_at_the_io_that_exceeds_it() {
    for more in ["", "--gtod_reduce=1", "--disable_lat=1 --disable_clat=1"] {
        let engine = Slow { waits: true, write: 50 * MS, slow: Some(5), ..Slow::default() };
        let result = ran(&format!("--rw=write --max_latency=49ms --loops=9 {more}"), engine);
        assert_eq!(result.errors.error, Errno::TIMEDOUT.raw_os_error(), "{more}");
        assert!(result.directions.write.ios <= 6, "{more}: not at the 33rd");
    }
}

/// As in fio.
#[test]
fn max_latency_begins_when_ramp_time_is_over() {
    let engine = Slow { waits: true, write: 2 * MS, ..Slow::default() };
    let result = ran("--rw=write --max_latency=1ms --ramp_time=1h", engine);
    // Of a job that ends before, what it did is told.
    assert_eq!((result.errors.error, result.directions.write.ios), (0, 16));
}

/// As in fio: those of the job, also within its ramp, and not those that end it.
#[test]
fn syncs_are_counted_but_at_the_end() {
    for (line, syncs) in [("", 0), ("--fsync=4", 3), ("--fsync=4 --ramp_time=1h", 3)] {
        let result = ran(&format!("--rw=write --end_fsync=1 {line}"), Slow { waits: true, ..Slow::default() });
        assert_eq!((result.directions.write.ios, result.sync.0), (16, syncs), "{line}");
    }
}

/// fio 3.33, 100 I/Os a second and 100 ms after 10: 96 a second, with rate_ignore_thinktime=1 53.
#[test]
fn a_rate_catches_up_with_pauses_unless_it_ignores_them() {
    let line = "--rw=write --rate_iops=4 --thinktime=300ms --thinktime_blocks=2 --number_ios=6";
    let result = ran(&format!("{line} --rate_ignore_thinktime=1"), Slow { waits: true, ..Slow::default() });
    // At 0, 250, 550, 800, 1100 and 1350; those that catch up at 0, 250, 550, 750, 1050 and 1250.
    assert!(result.runtime_ms >= 1350, "{}", result.runtime_ms);
}

#[test]
fn what_cannot_be_sent_ends_the_job_and_is_not_waited_for() {
    for batch in [1, 4] {
        let line = format!("--ioengine=libaio --iodepth=4 --iodepth_batch={batch} --rw=write");
        let result = ran(&line, Slow { refuses: Some(Errno::AGAIN), ..Slow::default() });
        assert_eq!(result.errors.error, Errno::AGAIN.raw_os_error(), "{line}");
        assert!(result.errors.detail.contains("func=commit"), "{}", result.errors.detail);
    }
}

/// fio 3.33: `func=iomem allocation, error=Cannot allocate memory`, or the kernel ends it.
#[test]
fn buffers_beyond_all_memory_are_refused_with_their_options() {
    let result = ran("--ioengine=libaio --iodepth=1000000 --rw=read --bs=1g", Slow::default());
    assert_eq!(result.errors.error, Errno::NOMEM.raw_os_error());
    assert!(result.errors.detail.contains("iodepth=1000000 and bs=1073741824"), "{}", result.errors.detail);
}
