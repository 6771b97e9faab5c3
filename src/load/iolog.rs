//! fio's logs of I/O: read of versions 2 and 3 (read_iolog), written of version 3 (write_iolog).
//!
//! Promises: a log is read line by line, never as a whole; what is no line of a log is told with its number. Names may have blanks in them.
//! Leaves out: opening files, and when what a line says is done. Binary logs of blktrace are refused: their first line is none of fio's.

use std::collections::HashSet;
use std::io::{BufRead, Read, Write};

use super::engine::SyncKind;
use super::{Direction, Each};
use crate::base::reason;

/// Bytes of a line at most; fio reads as many.
const LINE_MAX: u64 = 4096;

/// Files of a log at most: their names are held.
const FILES_MAX: usize = 1 << 20;

/// Bytes that are held before they go to the file.
const BLOCK_MAX: usize = 64 << 10;

/// read_iolog= and what goes with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// The log.
    pub path: String,
    /// replay_no_stall: as fast as possible.
    pub no_stall: bool,
    /// replay_time_scale: percent of the log's rate.
    pub percent: u64,
    /// replay_scale: offsets are divided by it.
    pub scale: u64,
    /// replay_align: offsets are rounded down to a multiple; 0 for as they are.
    pub align: u64,
    /// openfiles=, if given.
    pub open_max: Option<u32>,
}

impl Replay {
    /// Where an I/O that the log has at `offset` goes.
    pub fn offset(&self, offset: u64) -> u64 {
        let offset = offset / self.scale.max(1);
        if self.align > 1 { offset / self.align * self.align } else { offset }
    }
}

/// What a line asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // fio's words
pub enum Action {
    Add,
    Open,
    Close,
    /// Bytes from and how many.
    #[allow(missing_docs)] // as above
    Io {
        direction: Direction,
        offset: u64,
        len: u64,
    },
    Sync(SyncKind),
    /// Until so many milliseconds after the start, as fio 3.33 does; its manual has microseconds.
    Wait(u64),
}

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Microseconds since the log's start; version 2 has none.
    pub at_us: Option<u64>,
    /// The file.
    pub name: String,
    /// What is done.
    pub action: Action,
}

/// A log as it is read.
pub struct Lines<R> {
    from: R,
    path: String,
    line: u64,
    /// 2 or 3; 0 before the first line was read.
    version: u8,
}

impl<R: BufRead> Lines<R> {
    /// The log `path`, whose bytes are `from`.
    pub fn new(from: R, path: &str) -> Lines<R> {
        Lines { from, path: path.to_owned(), line: 0, version: 0 }
    }

    /// What is wrong with the line that was read last.
    pub fn wrong(&self, reason: impl std::fmt::Display) -> String {
        format!("fio: {}: line {}: {reason}", self.path, self.line)
    }

    fn text(&mut self) -> Result<Option<String>, String> {
        let mut bytes = Vec::new();
        self.line += 1;
        let read = (&mut self.from).take(LINE_MAX + 1).read_until(b'\n', &mut bytes);
        read.map_err(|error| self.wrong(error))?;
        if bytes.len() as u64 > LINE_MAX {
            return Err(self.wrong(format!("it is longer than {LINE_MAX} bytes")));
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        String::from_utf8(bytes).map(Some).map_err(|_| self.wrong("it is not text"))
    }

    /// The next line that asks for something; None at the end.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, String> {
        if self.version == 0 {
            let first = self.text()?.unwrap_or_default();
            self.version = match first.trim() {
                "fio version 2 iolog" => 2,
                "fio version 3 iolog" => 3,
                _ => return Err(self.wrong("it is not 'fio version 2 iolog' or 'fio version 3 iolog'")),
            };
        }
        while let Some(text) = self.text()? {
            if !text.trim().is_empty() {
                return self.entry(text.trim()).map(Some);
            }
        }
        Ok(None)
    }

    fn entry(&self, text: &str) -> Result<Entry, String> {
        let (at_us, rest) = match self.version {
            3 => {
                let (time, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
                (Some(time.parse().map_err(|_| self.wrong(format!("'{time}' is not a time in microseconds")))?), rest)
            }
            _ => (None, text),
        };
        let bad = || self.wrong(format!("'{text}' is not FILE ACTION or FILE ACTION OFFSET LENGTH"));
        let (before, last) = last_word(rest).ok_or_else(bad)?;
        let simple = match last {
            "add" => Some(Action::Add),
            "open" => Some(Action::Open),
            "close" => Some(Action::Close),
            _ => None,
        };
        let (name, action) = match simple {
            Some(action) => (before, action),
            None => {
                let (before, offset) = last_word(before).ok_or_else(bad)?;
                let (name, word) = last_word(before).ok_or_else(bad)?;
                let (Ok(offset), Ok(len)) = (offset.parse(), last.parse::<u32>()) else { return Err(bad()) };
                (name, self.io(word, offset, u64::from(len))?)
            }
        };
        if name.is_empty() {
            return Err(bad());
        }
        Ok(Entry { at_us, name: name.to_owned(), action })
    }

    fn io(&self, word: &str, offset: u64, len: u64) -> Result<Action, String> {
        let direction = match word {
            "read" => Direction::Read,
            "write" => Direction::Write,
            "sync" => return Ok(Action::Sync(SyncKind::Full)),
            "datasync" => return Ok(Action::Sync(SyncKind::Data)),
            "wait" => return Ok(Action::Wait(offset)),
            "trim" => return Err(self.wrong("a file on NFS cannot be trimmed; use real fio on a block device")),
            _ => {
                return Err(
                    self.wrong(format!("'{word}' is none of add, open, close, read, write, sync, datasync, wait"))
                );
            }
        };
        if len == 0 {
            return Err(self.wrong("an I/O of 0 bytes"));
        }
        if offset.checked_add(len).is_none_or(|end| end > i64::MAX as u64) {
            return Err(self.wrong("it is beyond any file's end"));
        }
        Ok(Action::Io { direction, offset, len })
    }
}

/// The last word of `text`, and what stands ahead of it.
fn last_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_end();
    let at = text.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    if text.is_empty() { None } else { Some((text[..at].trim_end(), &text[at..])) }
}

/// What a job has to know of a log before it is replayed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Files, in the order in which they are first named.
    pub files: Vec<String>,
    /// Shortest and longest I/O, where there are any.
    pub blocks: Each<Option<(u64, u64)>>,
    /// Bytes of all I/Os.
    pub bytes: u64,
}

impl Summary {
    /// Goes over a whole log.
    pub fn of<R: BufRead>(mut lines: Lines<R>) -> Result<Summary, String> {
        let mut found = Summary::default();
        let mut known: HashSet<String> = HashSet::new();
        while let Some(entry) = lines.next_entry()? {
            if !matches!(entry.action, Action::Wait(_)) && !known.contains(&entry.name) {
                if found.files.len() == FILES_MAX {
                    return Err(lines.wrong(format!("it has more than {FILES_MAX} files")));
                }
                found.files.push(entry.name.clone());
                known.insert(entry.name);
            }
            if let Action::Io { direction, len, .. } = entry.action {
                let (least, most) = found.blocks[direction].unwrap_or((len, len));
                found.blocks[direction] = Some((least.min(len), most.max(len)));
                found.bytes = found.bytes.saturating_add(len);
            }
        }
        match found.bytes {
            0 => Err(format!("fio: {}: there is no read and no write in it", lines.path)),
            _ => Ok(found),
        }
    }

    /// As rw= names what there is.
    pub fn rw(&self) -> &'static str {
        match (self.blocks.read, self.blocks.write) {
            (_, None) => "read",
            (None, _) => "write",
            _ => "rw",
        }
    }
}

/// A log that is being written. A failure is kept until it is closed.
pub struct Writer {
    out: Box<dyn Write + Send>,
    path: String,
    /// The clock when the job's I/O began; what is before has time 0.
    began: Option<u64>,
    block: String,
    failed: Option<String>,
}

impl Writer {
    /// The log `path`, which goes to `out`, with its first lines: the files.
    pub fn new<'a>(
        out: Box<dyn Write + Send>,
        path: &str,
        files: impl Iterator<Item = std::path::Display<'a>>,
    ) -> Writer {
        let block = String::from("fio version 3 iolog\n");
        let mut writer = Writer { out, path: path.to_owned(), began: None, block, failed: None };
        files.for_each(|file| writer.line(0, file, format_args!("add")));
        writer
    }

    /// Times are since `now`, in ns.
    pub fn begin(&mut self, now: u64) {
        self.began = Some(now);
    }

    /// A line, as of `now` in ns.
    pub fn line(&mut self, now: u64, file: std::path::Display<'_>, what: std::fmt::Arguments<'_>) {
        use std::fmt::Write as _;
        let at_us = self.began.map_or(0, |began| now.saturating_sub(began)) / 1000;
        let _ = writeln!(self.block, "{at_us} {file} {what}"); // a String takes everything
        if self.block.len() >= BLOCK_MAX {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if let Err(error) = self.out.write_all(self.block.as_bytes()).and_then(|()| self.out.flush()) {
            self.failed.get_or_insert_with(|| format!("{}: {}", self.path, reason(&error)));
        }
        self.block.clear();
    }

    /// Writes what is left; the first failure.
    pub fn close(mut self) -> Option<String> {
        self.flush();
        self.failed
    }
}

/// The word of a sync; a range of a file has none that could be replayed, so that the nearest stands for it.
pub fn sync_word(how: SyncKind) -> &'static str {
    match how {
        SyncKind::Full => "sync",
        SyncKind::Data | SyncKind::Range { .. } => "datasync",
    }
}

#[cfg(test)]
#[path = "iolog_tests.rs"]
mod tests;
