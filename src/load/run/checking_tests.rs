use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno as Reason;

use super::super::super::engine::{Done, Io, Open, Queued, SyncKind};
use super::super::super::offsets::Extent;
use super::super::super::results::JobResult;
use super::super::super::settings::Advice;
use super::super::Live;
use super::super::harness::{REGION, run_clone};
use super::*;

/// Files in memory.
#[derive(Default)]
struct Memory {
    files: HashMap<u32, Vec<u8>>,
    /// What was written once is not written again.
    keeps_first: bool,
    /// A write at this offset of a file goes wrong half way, with this reason.
    fails: Option<(u64, Reason)>,
    written: Vec<(u32, u64)>,
    /// Waits for nothing: the newest that was queued is done first.
    depth: usize,
    pending: Vec<Io>,
}

impl Memory {
    fn carry_out(&mut self, mut io: Io) -> Done {
        let size = (REGION.offset + REGION.len) as usize;
        let file = self.files.entry(io.file).or_insert_with(|| vec![0; size]);
        let part = io.offset as usize..io.offset as usize + io.buf.len();
        let at = (io.file, io.offset);
        let failed = self.fails.filter(|(offset, _)| io.direction != Direction::Read && *offset == io.offset);
        if let Some((_, reason)) = failed {
            file[part.start..part.start + part.len() / 2].fill(7);
            return Done { slot: io.slot, result: Err(reason), buf: io.buf };
        }
        match io.direction {
            Direction::Read => io.buf.copy_from_slice(&file[part]),
            _ if self.keeps_first && self.written.contains(&at) => {}
            _ => {
                file[part].copy_from_slice(&io.buf);
                self.written.push(at);
            }
        }
        Done { slot: io.slot, result: Ok(io.buf.len()), buf: io.buf }
    }
}

impl Engine for Memory {
    fn waits(&self) -> bool {
        self.depth < 2
    }

    fn open(&mut self, _: u32, _: &Path, _: Open) -> Result<(), Reason> {
        Ok(())
    }

    fn close(&mut self, _: u32) -> Result<(), Reason> {
        Ok(())
    }

    fn advise(&mut self, _: u32, _: Option<Extent>, _: Option<Advice>) -> Result<(), Reason> {
        Ok(())
    }

    fn queue(&mut self, io: Io) -> Queued {
        if self.waits() {
            return Queued::Done(self.carry_out(io));
        }
        self.pending.push(io);
        Queued::Pending
    }

    fn commit(&mut self) -> Result<usize, Reason> {
        Ok(self.pending.len())
    }

    fn reap(&mut self, min: usize, max: usize, _: Option<Duration>, done: &mut Vec<Done>) -> Result<(), Reason> {
        for _ in 0..min.min(max) {
            let Some(io) = self.pending.pop() else { break };
            let ended = self.carry_out(io);
            done.push(ended);
        }
        Ok(())
    }

    fn sync(&mut self, _: u32, _: SyncKind) -> Result<(), Reason> {
        Ok(())
    }
}

fn ran(line: &str, files: usize, bytes: u64, engine: Memory) -> JobResult {
    run_clone(&format!("--verify=crc32c --verify_fatal=1 {line}"), files, bytes, &Live::default(), engine)
}

/// Loads that write bytes twice. fio 3.33 says of some of them that they fail, though nothing is lost (rw=randwrite:8).
const TWICE: [&str; 12] = [
    "--rw=randwrite:8",
    "--rw=randwrite:8 --norandommap",
    "--rw=randwrite:4 --rw_sequencer=identical",
    "--rw=randwrite --percentage_random=50",
    "--rw=randwrite --norandommap",
    "--rw=randwrite --blockalign=512",
    "--rw=randwrite --blockalign=512 --bsrange=4k-16k",
    "--rw=randwrite --bsrange=1k-16k --bs_unaligned=1 --norandommap",
    "--rw=randrw:8",
    "--rw=randwrite:8 --verify_backlog=4",
    "--rw=randwrite --blockalign=512 --verify_backlog=8 --verify_backlog_batch=2",
    "--rw=randwrite --blockalign=512 --loops=2",
];

#[test]
fn what_was_written_over_is_no_mismatch() {
    for line in TWICE {
        for depth in [1, 8] {
            let bytes = 4 * REGION.len;
            let line = if depth > 1 { format!("--ioengine=libaio --iodepth=8 {line}") } else { line.to_owned() };
            for files in [1, 2] {
                let result = ran(&line, files, bytes, Memory { depth, ..Memory::default() });
                let [read, write] = [Direction::Read, Direction::Write].map(|way| result.directions[way].ios);
                assert_eq!(result.errors.error, 0, "{line}: {}", result.errors.detail);
                assert!(read > 0 && write > 0, "{line}");
                let is_plain = !line.contains("rw=randrw") && !line.contains("backlog");
                assert!(!is_plain || read < write, "{line}: {read} of {write} were read back");
            }
        }
    }
}

/// A pass that goes round.
#[test]
fn what_was_lost_of_two_writes_is_a_mismatch() {
    for line in [
        "--rw=randwrite --norandommap",
        "--rw=randwrite:8",
        "--rw=randwrite --percentage_random=50",
        "--rw=write --io_size=256k",
        "--rw=randwrite --io_size=256k",
    ] {
        let bytes = 4 * REGION.len;
        assert_eq!(ran(line, 1, bytes, Memory::default()).errors.error, 0, "{line}");
        let lossy = Memory { keeps_first: true, ..Memory::default() };
        assert_eq!(ran(line, 1, bytes, lossy).errors.error, Reason::ILSEQ.raw_os_error(), "{line}");
    }
}

/// Also where an earlier write was there that succeeded.
#[test]
fn what_failed_and_was_passed_over_is_not_read_back() {
    let middle = REGION.offset + REGION.len / 2;
    for (line, reason) in [
        ("--rw=write --continue_on_error=io", Reason::IO),
        ("--rw=write --continue_on_error=io --ignore_error=,EIO", Reason::IO),
        ("--rw=write --fill_device=1", Reason::NOSPC),
        ("--rw=write --continue_on_error=write --loops=2", Reason::IO),
        ("--rw=randwrite --norandommap --continue_on_error=write", Reason::IO),
        ("--rw=write --continue_on_error=write --verify_backlog=3", Reason::IO),
    ] {
        for depth in [1, 8] {
            let line = if depth > 1 { format!("--ioengine=libaio --iodepth=8 {line}") } else { line.to_owned() };
            let faulty = Memory { depth, fails: Some((middle, reason)), ..Memory::default() };
            let result = ran(&line, 1, 8 * REGION.len, faulty);
            let (ended, detail) = (result.errors.error, &result.errors.detail);
            let is_passed = ended == if reason == Reason::NOSPC { 0 } else { reason.raw_os_error() };
            assert!(is_passed && !detail.contains("verify"), "{line}: {ended} {detail}");
            let [read, write] = [Direction::Read, Direction::Write].map(|way| result.directions[way].ios);
            assert!(read > 0 && read <= write, "{line}: {read} of {write} were read back");
        }
    }
}
