//! `--bandwidth-log`: what all jobs together moved, in a log of fio's form for each direction.
//!
//! Promises: a line for each half second that jobs run, as fio writes it: time in ms, KiB a second, direction, and two zeros.
//! Leaves out: what each job moved; write_bw_log= has that.

use std::fs::File;
use std::io::Write;
use std::time::Duration;

use crate::cli::console::reason;
use crate::load::run::Live;
use crate::load::{Direction, Each};

/// fio's bwavgtime, which these logs have whatever the jobs'.
const EVERY_NS: u64 = 500_000_000;

/// The three logs.
pub struct Aggregate {
    files: Each<File>,
    /// Bytes at the last line.
    done: Each<u64>,
    last_ns: Option<u64>,
    failed: Option<String>,
}

impl Aggregate {
    /// Empties `PREFIX-read_bw.log` and its like.
    pub fn open(prefix: &str) -> Result<Aggregate, String> {
        let open = |direction: Direction| {
            let name = format!("{prefix}-{}_bw.log", direction.name());
            File::create(&name).map_err(|error| format!("fio: {name}: {}", reason(&error)))
        };
        let files = Each { read: open(Direction::Read)?, write: open(Direction::Write)?, trim: open(Direction::Trim)? };
        Ok(Aggregate { files, done: Each::default(), last_ns: None, failed: None })
    }

    /// Writes lines if it is time (ns since the run's start); when it wants to be called again. The first call begins.
    pub fn look(&mut self, now: u64, lives: &[Live]) -> Duration {
        let last = *self.last_ns.get_or_insert(now);
        if now < last + EVERY_NS {
            return Duration::from_nanos(last + EVERY_NS - now);
        }
        self.last_ns = Some(now);
        self.write(now, now - last, lives);
        Duration::from_nanos(EVERY_NS)
    }

    fn write(&mut self, now: u64, spent: u64, lives: &[Live]) {
        for direction in Direction::ALL {
            let bytes: u64 = lives.iter().map(|live| live.done()[direction].1).sum();
            let moved = bytes.saturating_sub(std::mem::replace(&mut self.done[direction], bytes));
            let kib = u128::from(moved) * 1_000_000_000 / u128::from(spent) / 1024;
            let line = format!("{}, {kib}, {}, 0, 0\n", now / 1_000_000, direction as u8);
            let written = self.files[direction].write_all(line.as_bytes());
            self.failed = self.failed.take().or(written.err().map(|error| reason(&error)));
        }
    }

    /// An error is the first of all writes.
    pub fn close(self) -> Result<(), String> {
        self.failed.map_or(Ok(()), |reason| Err(format!("fio: bandwidth-log: {reason}")))
    }
}
