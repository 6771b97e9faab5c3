//! fio's status line: how many jobs run, what they are doing, how far they are, and how fast.
//!
//! Promises: the line that fio prints of the same numbers, as scripts cut it out of captured logs.
//! Leaves out: when it is refreshed, and the CR or NL behind it.

use std::fmt::Write;

use super::super::Direction;
use super::super::pace::Rate;
use super::number::{Of, shown};

/// What a refresh shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Status {
    /// Clones that run.
    pub running: u32,
    /// Those that are in their ramp_time.
    pub ramping: u32,
    /// Open files.
    pub open: u32,
    /// A letter for each clone.
    pub letters: String,
    /// Least and wanted rates of all that run together, where they have any.
    pub limits: Option<(Rate, Rate)>,
    /// Seconds since the start, and seconds that are left; None where that is not known.
    pub elapsed_s: u64,
    #[allow(missing_docs)] // as above
    pub left_s: Option<u64>,
    /// Bytes and I/Os a second of reads and writes since the last refresh.
    pub rates: [(u64, u64); 2],
    /// Directions that jobs have.
    pub has: [bool; 2],
    /// kb_base=1024.
    pub binary: bool,
    /// unit_base=1: rates are in bits. As in fio those of `limits` stay in bytes.
    pub bits: bool,
}

/// The same letters in a row as one and their number: `r(4),_(1)`.
pub fn run_lengths(letters: &str) -> String {
    let mut out = String::new();
    let mut rest = letters.chars().peekable();
    while let Some(letter) = rest.next() {
        let mut count = 1;
        while rest.next_if_eq(&letter).is_some() {
            count += 1;
        }
        let comma = if out.is_empty() { "" } else { "," };
        let _ = write!(out, "{comma}{letter}({count})");
    }
    out
}

impl Status {
    /// The line, without what ends it. `brief` is the first refresh: nothing is known of rates yet.
    pub fn line(&self, brief: bool) -> String {
        let mut out = format!("Jobs: {} (f={})", self.running, self.open);
        if let Some((least, wanted)) = self.limits {
            let _ = match (least, wanted) {
                (Rate::Bytes(least), Rate::Bytes(wanted)) => {
                    let shown = |rate| shown(rate, 4, self.binary, Of::BytesPerSecond);
                    write!(out, ", {}-{}", shown(least), shown(wanted))
                }
                (Rate::Ios(least) | Rate::Bytes(least), Rate::Ios(wanted) | Rate::Bytes(wanted)) => {
                    write!(out, ", {least}-{wanted} IOPS")
                }
            };
        }
        if brief || self.running == 0 {
            return out;
        }
        let percent = match self.left_s {
            Some(left) if self.ramping < self.running && self.elapsed_s + left > 0 => {
                format!("{:3.1}%", 100.0 * self.elapsed_s as f64 / (self.elapsed_s + left) as f64)
            }
            _ => "-.-%".into(),
        };
        let _ = write!(out, ": [{}][{percent}]", run_lengths(&self.letters));
        let shown_of =
            [Direction::Read, Direction::Write].into_iter().zip(self.rates).zip(self.has).filter(|(_, has)| *has);
        let (mut bytes, mut ios) = (Vec::new(), Vec::new());
        for ((direction, (rate, iops)), _) in shown_of {
            let letter = &direction.name()[..1];
            bytes.push(format!("{letter}={}", shown(rate, 4, self.binary, Of::rate(self.bits))));
            ios.push(format!("{letter}={}", shown(iops, 4, false, Of::Nothing)));
        }
        if !bytes.is_empty() {
            let _ = write!(out, "[{}][{} IOPS]", bytes.join(","), ios.join(","));
        }
        let _ = match self.left_s {
            Some(left) => write!(out, "[eta {}]", time(left)),
            None => Ok(()),
        };
        out
    }
}

/// `00m:03s`, with hours and days in front where there are any.
fn time(seconds: u64) -> String {
    let (days, hours, minutes, seconds) = (seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let mut out = String::new();
    if days > 0 {
        let _ = write!(out, "{days:02}d:");
    }
    if days > 0 || hours > 0 {
        let _ = write!(out, "{hours:02}h:");
    }
    let _ = write!(out, "{minutes:02}m:{seconds:02}s");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_fio_prints_it() {
        let status = Status {
            running: 4,
            open: 4,
            letters: "rrrr".into(),
            elapsed_s: 3,
            left_s: Some(3),
            rates: [(326_107_136, 79_600), (0, 0)],
            has: [true, false],
            binary: true,
            ..Status::default()
        };
        assert_eq!(status.line(true), "Jobs: 4 (f=4)");
        assert_eq!(status.line(false), "Jobs: 4 (f=4): [r(4)][50.0%][r=311MiB/s][r=79.6k IOPS][eta 00m:03s]");
        let bits = Status { bits: true, limits: Some((Rate::Bytes(0), Rate::Bytes(16 << 20))), ..status.clone() };
        assert_eq!(
            bits.line(false),
            "Jobs: 4 (f=4), 0B/s-16.0MiB/s: [r(4)][50.0%][r=2488Mibit/s][r=79.6k IOPS][eta 00m:03s]"
        );
        let mixed = Status {
            letters: "mm_".into(),
            rates: [(117 << 20, 29_800), (116 << 20, 29_600)],
            has: [true, true],
            limits: Some((Rate::Ios(0), Rate::Ios(1000))),
            ramping: 4,
            left_s: Some(90_061),
            ..status
        };
        assert_eq!(
            mixed.line(false),
            "Jobs: 4 (f=4), 0-1000 IOPS: [m(2),_(1)][-.-%][r=117MiB/s,w=116MiB/s][r=29.8k,w=29.6k IOPS][eta 01d:01h:01m:01s]"
        );
    }
}
