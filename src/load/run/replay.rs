//! read_iolog and write_iolog: a clone's I/O out of a log, and into one.
//!
//! Promises: the log is read while it is replayed, line by line. Its I/Os start at the log's times at the earliest, in its order; with a depth
//! above 1 several are under way. A sync or a close waits for all before it.
//! Leaves out: the form of the lines (`iolog`).

use std::collections::HashMap;
use std::time::Duration;

use rustix::io::Errno;

use super::super::engine::Engine;
use super::super::iolog::{Action, Entry, Lines, Replay, Writer};
use super::super::offsets::Extent;
use super::choice::Next;
use super::clone::{Failed, Runner};

impl<E: Engine> Runner<'_, E> {
    /// A log could not be opened or written.
    pub(super) fn log_failed(&mut self, text: String) {
        self.work.host.tell(&format!("fio: {text}"));
        self.failed.get_or_insert_with(|| Failed::new(Errno::IO, format!("func=log, error={text}")));
    }

    /// Begins write_iolog's log. Clones would tear each other's lines apart in fio; here each behind the first has a file of its own.
    pub(super) fn open_io_log(&mut self) {
        let Some(path) = &self.work.settings.io_logs.write else { return };
        let path = if self.work.clone == 0 { path.clone() } else { format!("{path}.{}", self.work.clone) };
        match self.work.host.log(&path) {
            Ok(out) => {
                let files = self.work.files.iter().map(|(file, _)| file.display());
                self.io_log = Some(Writer::new(out, &path, files));
            }
            Err(text) => self.log_failed(text),
        }
    }

    /// A line of write_iolog about a whole file.
    pub(super) fn log_file(&mut self, file: u32, what: std::fmt::Arguments<'_>) {
        if let (Some(log), false) = (&mut self.io_log, self.is_preparing) {
            log.line(self.work.clock.now(), self.work.files[file as usize].0.display(), what);
        }
    }

    /// Does what the log says, from its first line to its last.
    pub(super) fn replay_log(&mut self, replay: &Replay) {
        let names = &self.work.settings.files.names;
        let files: HashMap<&str, u32> = names.iter().map(|file| file.name.as_str()).zip(0..).collect();
        let start = self.work.clock.now();
        let mut lines = match self.work.host.read(&replay.path) {
            Ok(from) => Lines::new(from, &replay.path),
            Err(text) => return self.misread(text),
        };
        while self.failed.is_none() && !self.is_over() && !self.has_all_ios() {
            let entry = match lines.next_entry() {
                Ok(Some(entry)) => entry,
                Ok(None) => break,
                Err(text) => return self.misread(text),
            };
            let file = files.get(entry.name.as_str()).copied();
            let due_us = match entry.action {
                Action::Wait(ms) => Some(ms.saturating_mul(1000)),
                _ => entry.at_us.map(|at| at.saturating_mul(100) / replay.percent.max(1)),
            };
            if let (Some(due_us), false) = (due_us, replay.no_stall) {
                self.wait_until(start.saturating_add(due_us.saturating_mul(1000)));
            }
            let done = match (file, entry.action) {
                (_, Action::Wait(_)) => Ok(()),
                (Some(file), _) => self.replay_entry(file, &entry, replay),
                (None, _) => Err(lines.wrong("its file was not in the log before the run")),
            };
            if let Err(text) = done {
                return self.misread(text);
            }
        }
        self.drain();
    }

    fn replay_entry(&mut self, file: u32, entry: &Entry, replay: &Replay) -> Result<(), String> {
        match entry.action {
            Action::Add | Action::Wait(_) => {}
            Action::Open => self.open_replayed(file),
            Action::Close if self.open.is_open(file) => {
                self.drain();
                self.failed = self.failed.take().or_else(|| self.close_file(file).err());
            }
            Action::Close => {}
            Action::Sync(how) => {
                self.drain();
                self.open_replayed(file);
                if self.failed.is_none() {
                    self.failed = self.sync_now(file, how).err();
                }
            }
            Action::Io { direction, offset, len } => {
                let most = self.work.settings.load.blocks[direction].1;
                if len > most {
                    return Err(format!("fio: {}: it has changed: an I/O of {len} bytes", replay.path));
                }
                let extent = Extent { offset: replay.offset(offset), len };
                self.open_replayed(file);
                self.start_replayed(Next { file, direction, extent, number: self.issued });
            }
        }
        Ok(())
    }

    /// Opens a file that is not open, be it that the log does not say so.
    fn open_replayed(&mut self, file: u32) {
        if self.failed.is_some() || self.open.is_open(file) {
            return;
        }
        if !self.open.holds_all() {
            self.failed = self.open_for(file).err();
        } else {
            self.failed = self.open_file(file).err();
        }
    }

    fn start_replayed(&mut self, next: Next) {
        while self.failed.is_none() && !self.is_over() && !self.may_start() {
            self.collect(false);
        }
        while let Some(wait) = self.must_wait(&next) {
            if self.is_over() || self.failed.is_some() {
                return;
            }
            self.idle(wait);
        }
        if self.failed.is_none() && !self.is_over() {
            self.start(next);
            self.after_start();
        }
    }

    fn wait_until(&mut self, due: u64) {
        self.now = self.work.clock.now();
        while self.now < due && !self.is_over() && self.failed.is_none() {
            self.idle(Duration::from_nanos(due - self.now));
            self.now = self.work.clock.now();
        }
    }

    fn misread(&mut self, text: String) {
        self.work.host.tell(&text);
        self.failed.get_or_insert_with(|| Failed::new(Errno::INVAL, text));
        self.drain();
    }
}
