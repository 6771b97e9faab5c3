//! Log files of one clone: bandwidth, IOPS, latencies, histograms; a line for each I/O, or for each interval and direction.
//!
//! Promises: fio's columns; lines are written whole, in blocks, so that several clones may share a file; memory does not grow with the run.
//! Leaves out: opening files. A log that cannot be written is told once, at the end.

use std::fmt::Write as _;
use std::io::Write;

use super::super::histogram::{FIO_BUCKETS, bucket};
use super::super::settings::{Logs as Asked, WindowValue};
use super::super::{Direction, Each};
use super::clock::ns;
use super::recorder::Times;
use crate::base::reason;

/// A block of lines is written when it is this large.
const BLOCK_BYTES: usize = 64 << 10;

/// Opens log files.
pub trait LogFiles {
    /// A file of this name, emptied by its first user; what others write to it stands behind.
    fn log(&self, name: &str) -> Result<Box<dyn Write + Send>, String>;
}

/// What stands in a log's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Columns {
    /// Added to times: 0, or the wall clock at the job's start in ms.
    base_ms: u64,
    offset: bool,
    window: WindowValue,
}

/// One log file.
struct Log {
    name: String,
    out: Box<dyn Write + Send>,
    block: String,
    failed: Option<String>,
    columns: Columns,
    /// ns of an interval; 0 for a line for each I/O.
    every: u64,
    windows: Each<Window>,
}

/// What was seen in an interval.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    sum: u128,
    max: u64,
    n: u64,
    start: u64,
}

/// One line's values.
struct Entry {
    ms: u64,
    value: u64,
    max: u64,
    direction: Direction,
    len: u64,
    offset: u64,
}

impl Log {
    fn line(&mut self, entry: &Entry) {
        let Entry { ms, value, max, direction, len, offset } = *entry;
        let ms = ms + self.columns.base_ms;
        // Writing to a String does not fail.
        let _ = match (self.columns.window, self.every > 0) {
            (WindowValue::Both, true) => write!(self.block, "{ms}, {value}, {max}, "),
            (WindowValue::Max, true) => write!(self.block, "{ms}, {max}, "),
            _ => write!(self.block, "{ms}, {value}, "),
        };
        let _ = write!(self.block, "{}, {len}", direction as u8);
        if self.columns.offset {
            let _ = write!(self.block, ", {offset}");
        }
        // The priority of the I/O: there are none.
        self.block.push_str(", 0\n");
        self.flush_if(BLOCK_BYTES);
    }

    fn flush_if(&mut self, least: usize) {
        if self.block.len() < least.max(1) {
            return;
        }
        if let Err(error) = self.out.write_all(self.block.as_bytes()) {
            self.failed.get_or_insert_with(|| format!("{}: {}", self.name, reason(&error)));
        }
        self.block.clear();
    }

    /// A value at `now` (ns since the job's start), of an I/O.
    fn add(&mut self, now: u64, value: u64, direction: Direction, len: u64, offset: u64) {
        if self.every == 0 {
            return self.line(&Entry { ms: now / 1_000_000, value, max: value, direction, len, offset });
        }
        let window = &mut self.windows[direction];
        window.sum += u128::from(value);
        window.max = window.max.max(value);
        window.n += 1;
        if now - window.start >= self.every {
            self.close_window(now, direction);
        }
    }

    fn close_window(&mut self, now: u64, direction: Direction) {
        let window = std::mem::replace(
            &mut self.windows[direction],
            Window { start: begun(now, self.every), ..Window::default() },
        );
        if window.n > 0 {
            let value = (window.sum / u128::from(window.n)) as u64;
            let ms = now / 1_000_000;
            self.line(&Entry { ms, value, max: window.max, direction, len: 0, offset: 0 });
        }
    }
}

/// Counts of latencies since the last line.
struct HistogramLog {
    log: Log,
    every: u64,
    /// 2^coarseness buckets are told as one.
    coarseness: u32,
    counts: Each<Vec<u64>>,
    since: u64,
    len: Each<u64>,
}

impl HistogramLog {
    fn add(&mut self, now: u64, clat: u64, direction: Direction, len: u64) {
        let counts = &mut self.counts[direction];
        if counts.is_empty() {
            *counts = vec![0; FIO_BUCKETS];
        }
        counts[bucket(clat).min(FIO_BUCKETS - 1)] += 1;
        self.len[direction] = len;
        if now - self.since >= self.every {
            self.tell(now);
        }
    }

    fn tell(&mut self, now: u64) {
        self.since = begun(now, self.every);
        for direction in Direction::ALL {
            let counts = &mut self.counts[direction];
            if counts.iter().all(|count| *count == 0) {
                continue;
            }
            let ms = now / 1_000_000 + self.log.columns.base_ms;
            let _ = write!(self.log.block, "{ms}, {}, {}", direction as u8, self.len[direction]);
            for part in counts.chunks(1 << self.coarseness) {
                let _ = write!(self.log.block, ", {}", part.iter().sum::<u64>());
            }
            self.log.block.push('\n');
            counts.fill(0);
            self.log.flush_if(BLOCK_BYTES);
        }
    }
}

/// The logs of one clone. Times are since `began`.
#[derive(Default)]
pub struct Logs {
    bw: Option<Log>,
    iops: Option<Log>,
    slat: Option<Log>,
    clat: Option<Log>,
    lat: Option<Log>,
    hist: Option<HistogramLog>,
    began: u64,
    /// Amounts at the last line of intervals: bytes, and I/Os.
    rates: Each<[(u64, u64); 2]>,
}

impl std::fmt::Debug for Logs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Logs").finish_non_exhaustive()
    }
}

/// An I/O as logs tell it.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // the names say it
pub struct Logged {
    pub direction: Direction,
    pub len: u64,
    pub offset: u64,
    pub times: Times,
}

impl Logs {
    /// Opens what `asked` asks for; `number` is the clone's in the run, from 1. Of an engine that waits there is no slat. An error names the
    /// file.
    pub fn open(
        asked: &Asked,
        number: u32,
        has_slat: bool,
        files: &dyn LogFiles,
        wall_ms: u64,
    ) -> Result<Logs, String> {
        let columns =
            Columns { base_ms: if asked.unix_epoch { wall_ms } else { 0 }, offset: asked.offset, window: asked.window };
        let open = |prefix: &Option<String>, kind: &str, every: u64| {
            let Some(prefix) = prefix else { return Ok(None) };
            let part = if asked.per_job { format!(".{number}") } else { String::new() };
            let name = format!("{prefix}_{kind}{part}.log");
            let out = files.log(&name)?;
            let windows = Each::default();
            Ok::<_, String>(Some(Log { name, out, block: String::new(), failed: None, columns, every, windows }))
        };
        let latencies = |which: usize, kind: &str| match asked.of[which] {
            true => open(&asked.lat, kind, ns(asked.every)),
            false => Ok(None),
        };
        // As in fio, whose lines are of intervals alone: without one the file is there, empty.
        let hist = open(&asked.hist, "clat_hist", 0)?.filter(|_| !asked.hist_every.0.is_zero());
        let hist = hist.map(|log| HistogramLog {
            log,
            every: ns(asked.hist_every.0),
            coarseness: asked.hist_every.1,
            counts: Each::of(|_| Vec::new()),
            since: 0,
            len: Each::default(),
        });
        Ok(Logs {
            // As in fio the file is there, empty, where there is nothing to tell.
            bw: open(&asked.bw, "bw", ns(asked.bw_every))?.filter(|log| log.every > 0 || asked.rated[0]),
            iops: open(&asked.iops, "iops", ns(asked.iops_every))?.filter(|log| log.every > 0 || asked.rated[1]),
            slat: latencies(0, "slat")?.filter(|_| has_slat),
            clat: latencies(1, "clat")?,
            lat: latencies(2, "lat")?,
            hist,
            ..Logs::default()
        })
    }

    /// True when there is nothing to log.
    pub fn is_empty(&self) -> bool {
        let logs = [&self.bw, &self.iops, &self.slat, &self.clat, &self.lat];
        logs.iter().all(|log| log.is_none()) && self.hist.is_none()
    }

    /// The job's I/O counts from here on, and its amounts begin at 0: after ramp_time=, and when latency_target= has found a depth, where
    /// fio's times begin anew as well.
    pub fn begin(&mut self, began: u64) {
        self.tell_open(began);
        self.began = began;
        self.rates = Each::default();
        for log in [&mut self.slat, &mut self.clat, &mut self.lat].into_iter().flatten() {
            log.windows = Each::default();
        }
        self.hist.iter_mut().for_each(|hist| hist.since = 0);
    }

    /// What intervals hold that are not over.
    fn tell_open(&mut self, now: u64) {
        let now = now.saturating_sub(self.began);
        if let Some(hist) = &mut self.hist {
            hist.tell(now);
        }
        for log in [&mut self.slat, &mut self.clat, &mut self.lat].into_iter().flatten() {
            Direction::ALL.into_iter().for_each(|direction| log.close_window(now, direction));
        }
    }

    /// An I/O ended; `done` are bytes and I/Os of its direction so far, with it.
    pub fn io(&mut self, io: &Logged, done: (u64, u64)) {
        let Logged { direction, len, offset, times } = *io;
        let now = times.ended.saturating_sub(self.began);
        let clat = times.ended.saturating_sub(times.issued);
        let lat = times.ended.saturating_sub(times.ready);
        let values =
            [(&mut self.slat, times.issued.saturating_sub(times.ready)), (&mut self.clat, clat), (&mut self.lat, lat)];
        for (log, value) in values {
            log.iter_mut().for_each(|log| log.add(now, value, direction, len, offset));
        }
        if let Some(hist) = &mut self.hist {
            hist.add(now, clat, direction, len);
        }
        let rates = &mut self.rates[direction];
        // Of one I/O: KiB a second while it lasted, by its clat as in fio, and 1.
        let one = (len.saturating_mul(1_000_000_000) / clat.max(1) / 1024, 1);
        rate(&mut self.bw, &mut rates[0], now, done.0, 1024, one.0, io);
        rate(&mut self.iops, &mut rates[1], now, done.1, 1, one.1, io);
    }

    /// Writes what is left. The first failure is told.
    pub fn close(&mut self, now: u64) -> Option<String> {
        self.tell_open(now);
        let logs = [&mut self.bw, &mut self.iops, &mut self.slat, &mut self.clat, &mut self.lat].into_iter().flatten();
        let mut failed = None;
        for log in logs.chain(self.hist.as_mut().map(|hist| &mut hist.log)) {
            log.flush_if(1);
            if let Err(error) = log.out.flush() {
                log.failed.get_or_insert_with(|| format!("{}: {}", log.name, reason(&error)));
            }
            failed = failed.or(log.failed.take());
        }
        failed
    }
}

/// When the interval began that `now` is in: a line that comes late does not make all the later ones late, as in fio.
fn begun(now: u64, every: u64) -> u64 {
    now - now.checked_rem(every).unwrap_or(0)
}

/// A log of rates: of each I/O, or of an interval.
fn rate(log: &mut Option<Log>, last: &mut (u64, u64), now: u64, done: u64, unit: u64, one: u64, io: &Logged) {
    let Some(log) = log else { return };
    if log.every == 0 {
        return log.add(now, one, io.direction, io.len, io.offset);
    }
    let (amount, at) = *last;
    let spent = now.saturating_sub(at);
    // What follows a late line at once is told with the next: over so short a time it would be no rate.
    if now.saturating_sub(begun(at, log.every)) >= log.every && spent >= log.every / 2 {
        let value = (u128::from(done - amount) * 1_000_000_000 / u128::from(spent) / u128::from(unit)) as u64;
        log.line(&Entry { ms: now / 1_000_000, value, max: value, direction: io.direction, len: 0, offset: 0 });
        *last = (done, now);
    }
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
