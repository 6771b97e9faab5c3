//! verify=: what was written is read back and checked; what a read job reads is checked as it comes.

use rustix::io::Errno;

use super::super::engine::Engine;
use super::super::verify::{Mismatch, Told, Written};
use super::super::{Direction, Each};
use super::choice::{Choice, Next};
use super::clone::{Runner, Slot};
use super::latest::Latest;
use super::live::State;

impl<E: Engine> Runner<'_, E> {
    /// Checks what was read as `next`.
    pub(super) fn check(&mut self, block: &[u8], written: &Written, next: &Next) {
        if self.verifiers.is_some() {
            return self.check_elsewhere(block, written, next);
        }
        let Some(verifier) = &self.verifier else { return };
        if let Err(mismatch) = verifier.verify(block, written) {
            self.mismatched(block, written, next, &mismatch);
        }
    }

    /// A block is not what was written.
    pub(super) fn mismatched(&mut self, block: &[u8], written: &Written, next: &Next, mismatch: &Mismatch) {
        let path = self.path(next.file);
        self.work.host.tell(&Told(mismatch, &path.display().to_string()).to_string());
        let verify = self.work.settings.verify.as_ref();
        if verify.is_some_and(|verify| verify.dump) {
            self.dump(block, written, next);
        }
        let errors = &self.work.settings.errors;
        // verify_fatal=1 ends the job at once; without it the rest is checked, and the job has failed all the same.
        let goes_on = errors.verify && errors.ignored[2].contains(&Errno::ILSEQ.raw_os_error());
        let fatal = verify.is_some_and(|verify| verify.fatal);
        if !goes_on && !fatal {
            self.mismatch.get_or_insert_with(|| mismatch_detail(&path.display().to_string()));
            return;
        }
        self.has_mismatch = true;
        self.count_error(errors.verify, Errno::ILSEQ.raw_os_error());
        self.went_wrong(goes_on, Errno::ILSEQ.raw_os_error(), &mismatch_detail(&path.display().to_string()));
    }

    /// What was read beside the file, and what should have been.
    fn dump(&self, block: &[u8], written: &Written, next: &Next) {
        let path = self.path(next.file).display().to_string();
        let mut contents = self.contents.clone();
        let fill = |part: &mut [u8], at, number| contents.fill_keyed(part, at, number);
        let expected = self.verifier.as_ref().and_then(|verifier| verifier.expected(block, written, fill));
        let (host, at) = (&self.work.host, next.extent.offset);
        if expected.is_none() {
            host.tell(&format!("fio: {path}.{at}.expected: the block has no mark that says what was written"));
        }
        for (ending, bytes) in [("received", Some(block)), ("expected", expected.as_deref())] {
            let (Some(bytes), name) = (bytes, format!("{path}.{at}.{ending}")) else { continue };
            if let Err(reason) = host.save(&name, bytes) {
                host.tell(&format!("fio: {name}: {reason}"));
            }
        }
    }

    /// Reads back up to `most` of this pass's writes that were not read back yet.
    pub(super) fn check_written(&mut self, most: u64) {
        self.drain();
        // Without a limit of its own a pass that is only checked goes as far as the load does.
        let ios = if self.only_reads_back() { self.ios_left() } else { self.pass_issued };
        self.latest.iter_mut().for_each(|latest| latest.follow(ios));
        let mut left = most;
        while left > 0 && self.failed.is_none() {
            let Some(replay) = &mut self.replay else { return };
            if self.checked >= ios {
                break;
            }
            let Some(next) = replay.next_io(&Each::default()) else { break };
            self.checked += 1;
            let is_there = |latest: &mut Latest| latest.take(&next);
            let is_read = next.direction == Direction::Read;
            if is_read || !self.latest.as_mut().is_none_or(is_there) || self.unwritten.has(next.number) {
                continue;
            }
            left -= 1;
            let written = self.expected(&next);
            let next = Next { direction: Direction::Read, ..next };
            while self.free.is_empty() && self.failed.is_none() {
                self.send();
                self.reap(1, self.slots.len(), None);
            }
            if self.work.live.is_ending() {
                break;
            }
            self.start_io(next, Some(written));
        }
        self.drain();
    }

    /// verify_backlog: after so many writes, so many are read back.
    pub(super) fn check_backlog(&mut self) {
        let backlog = self.work.settings.verify.as_ref().and_then(|verify| verify.backlog);
        let Some((every, batch)) = backlog else { return };
        if every > 0 && self.writes > 0 && self.writes.is_multiple_of(every) && self.backlog.writes != self.writes {
            self.backlog.writes = self.writes;
            self.backlog.due += if batch == 0 { every } else { batch };
        }
        // As in fio, where more is in flight: writing goes on until the first that is to be read back has ended.
        let first = self.replay.as_ref().map(Choice::number);
        let is_under_way = |slot: &Slot| slot.buf.is_none() && Some(slot.next.number) == first;
        if self.backlog.due > 0 && !self.slots.iter().any(is_under_way) {
            // fio 3.33 charges this to writing alone, and shows what was read as if only the last reading had taken time.
            self.turn(true, true);
            let due = std::mem::take(&mut self.backlog.due);
            self.check_written(due);
            self.turn_to_pass();
        }
    }

    /// What is read back after a pass.
    pub(super) fn check_pass(&mut self) {
        self.work.live.set_state(State::Verifying);
        self.turn(true, false);
        self.drop_cached();
        self.check_written(u64::MAX);
        self.turn_to_pass();
        self.work.live.set_state(State::Running);
    }

    pub(super) fn turn_to_pass(&mut self) {
        let settings = self.work.settings;
        // What a replayed log holds is known when it was read.
        let is_told = settings.io_logs.replay.is_some();
        self.turn(is_told || settings.load.reads(), is_told || settings.load.writes());
    }

    pub(super) fn turn(&mut self, read: bool, write: bool) {
        self.now = self.work.clock.now();
        self.recorder.turn(self.now, Each { read, write, trim: write });
    }
}

fn mismatch_detail(file: &str) -> String {
    format!("func=verify({file})")
}

#[cfg(test)]
#[path = "checking_tests.rs"]
mod tests;
