//! The way of one I/O: waits until it may start, goes to the engine, comes back, is measured; and what happens when it fails.

use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;

use super::super::Direction;
use super::super::engine::{Buf, Done, Engine, Io, Queued};
use super::super::offsets::Extent;
use super::super::pace::Pause;
use super::super::random::Stream;
use super::super::verify::Written;
use super::choice::Next;
use super::clock::ns;
use super::clone::{Failed, Runner, Slot, said};
use super::live::State;
use super::log::Logged;
use super::recorder::Times;

impl<'a, E: Engine> Runner<'a, E> {
    /// For how long `next` may not start yet: its rate, or an I/O under way on the same bytes.
    pub(super) fn must_wait(&mut self, next: &Next) -> Option<Duration> {
        if self.is_paced
            && let Some(pacer) = &self.pacers[next.direction]
        {
            self.now = self.work.clock.now();
            let wait = pacer.next_start().saturating_sub(Duration::from_nanos(self.now - self.began));
            if !wait.is_zero() {
                return Some(wait);
            }
        }
        // Of two writes of the same bytes the later must be the one that is read back.
        let serializes = self.work.settings.engine.serialize_overlap || self.latest.is_some();
        if serializes && self.in_flight > 0 {
            let (file, Extent { offset, len }) = (next.file, next.extent);
            let overlaps = |slot: &Slot| {
                let other = slot.next.extent;
                let apart = other.offset + other.len <= offset || offset + len <= other.offset;
                slot.buf.is_none() && slot.next.file == file && !apart
            };
            if self.slots.iter().any(overlaps) {
                return Some(Duration::MAX);
            }
        }
        None
    }

    /// Waits, and takes what ends meanwhile.
    pub(super) fn idle(&mut self, wait: Duration) {
        // Whoever ends the run is not kept waiting.
        const LOOK: Duration = Duration::from_millis(100);
        let left = Duration::from_nanos(self.ends.saturating_sub(self.now));
        let wait = wait.min(left).min(LOOK);
        if self.in_flight > 0 {
            self.send();
            self.reap(1, self.slots.len(), Some(wait));
        } else {
            std::thread::sleep(wait);
            self.now = self.work.clock.now();
        }
        if self.work.live.is_wanted() {
            self.give_snapshot();
        }
    }

    /// Gives an I/O to the engine.
    #[inline]
    pub(super) fn start(&mut self, next: Next) {
        let writes = next.direction != Direction::Read;
        // As in fio, what a mixed job reads may never have been written with marks; its writes are read back after the pass.
        let is_checked = !writes && self.verifier.is_some() && !self.work.settings.load.writes();
        let checks = is_checked.then(|| self.expected(&next));
        self.start_io(next, checks);
        self.issued += 1;
        self.pass_issued += 1;
        if writes {
            self.writes += 1;
            self.touch(next.file, next.extent);
        }
        if self.is_paced
            && let Some(pacer) = &mut self.pacers[next.direction]
        {
            pacer.started(next.extent.len);
        }
    }

    /// What the mark of a block says.
    fn written(&self, next: &Next) -> Written {
        let seed = self.work.seeds.seed(Stream::Verify, 0);
        Written { offset: next.extent.offset, seed: Some(seed), sequence: Some(next.number) }
    }

    /// What of it a block is held against.
    pub(super) fn expected(&self, next: &Next) -> Written {
        let Written { offset, seed, sequence } = self.written(next);
        let verify = self.work.settings.verify.as_ref();
        let seed = seed.filter(|_| verify.is_some_and(|verify| verify.seeds));
        Written { offset, seed, sequence: sequence.filter(|_| verify.is_some_and(|verify| verify.sequence)) }
    }

    pub(super) fn start_io(&mut self, next: Next, checks: Option<Written>) {
        if let Err(failed) = self.open_for(next.file) {
            self.failed = Some(failed);
            return;
        }
        let Some(slot) = self.free.pop() else { return };
        let index = slot as usize;
        let Some(mut buf) = self.slots[index].buf.take() else { return };
        buf.set_len(next.extent.len as usize);
        let marks = next.direction != Direction::Read && self.verifier.is_some();
        let mut ready = self.now;
        if next.direction != Direction::Read {
            let is_stale = std::mem::take(&mut self.slots[index].is_stale);
            match self.verifier.as_ref().filter(|verifier| verifier.has_data()) {
                Some(verifier) => {
                    let written = self.written(&next);
                    let parts = verifier.parts(&mut buf, &written);
                    parts.for_each(|(part, at, number)| self.contents.fill_keyed(part, at, number));
                }
                None if is_stale => self.contents.fill_read(&mut buf, next.extent.offset),
                None => self.contents.fill(&mut buf, next.extent.offset),
            }
        } else {
            self.slots[index].is_stale = true;
        }
        // As in fio: what fills a buffer is no part of an I/O's time, its mark is.
        if self.has_times {
            ready = self.work.clock.now();
        }
        if let (Some(verifier), true) = (&self.verifier, marks) {
            verifier.mark(&mut buf, &self.written(&next));
        }
        if let (Some(log), false) = (&mut self.io_log, self.is_preparing) {
            let Extent { offset, len } = next.extent;
            let path = self.work.files[next.file as usize].0.display();
            log.line(self.work.clock.now(), path, format_args!("{} {offset} {len}", next.direction.name()));
        }
        let issued = if self.has_times && marks { self.work.clock.now() } else { ready };
        let at = &mut self.slots[index];
        (at.next, at.moved, at.checks) = (next, 0, checks);
        at.times = Times { ready, issued, ended: 0 };
        self.open.begins(next.file);
        self.in_flight += 1;
        self.recorder.result.depths.at(self.in_flight as u64);
        let io = Io { slot, file: next.file, direction: next.direction, offset: next.extent.offset, buf };
        self.queue(io);
    }

    pub(super) fn queue(&mut self, io: Io) {
        let mut next = Some(io);
        while let Some(io) = next.take() {
            let slot = io.slot;
            match self.engine.queue(io) {
                Queued::Done(done) => {
                    self.read_clock();
                    let depths = &mut self.recorder.result.depths;
                    depths.submitted(1);
                    depths.completed(1);
                    next = self.end_io(done);
                }
                Queued::Pending => {
                    self.queued.push_back(slot);
                    if self.queued.len() >= self.work.settings.engine.batch.max(1) as usize {
                        self.send();
                    }
                }
            }
        }
    }

    /// Without latencies the time is only looked at now and then.
    #[inline]
    pub(super) fn read_clock(&mut self) {
        if self.has_times || self.is_paced || self.ended.is_multiple_of(32) {
            self.now = self.work.clock.now();
        }
    }

    pub(super) fn send(&mut self) {
        if self.queued.is_empty() {
            return;
        }
        match self.engine.commit() {
            Ok(sent) => {
                let sent = sent.min(self.queued.len());
                // As in fio, an I/O is issued when the kernel has taken it: what submitting takes is slat, also where it blocks.
                let issued = self.has_times.then(|| self.work.clock.now());
                for slot in self.queued.drain(..sent) {
                    let times = &mut self.slots[slot as usize].times;
                    times.issued = issued.unwrap_or(times.issued);
                }
                if sent > 0 {
                    self.recorder.result.depths.submitted(sent as u64);
                }
            }
            Err(errno) => {
                let text = self.said(errno);
                self.work.host.tell(&format!("fio: {}: I/O could not be submitted: {text}", self.work.settings.name));
                self.failed = Some(Failed::new(errno, format!("func=commit, error={text}")));
                // The kernel has none of them: they would be waited for without end.
                self.in_flight = self.in_flight.saturating_sub(self.queued.len());
                self.queued.clear();
            }
        }
    }

    /// Takes what has ended; `all` when nothing more is started.
    pub(super) fn collect(&mut self, all: bool) {
        self.send();
        let (least, most) = self.work.settings.engine.complete;
        let least = if all || self.free.is_empty() { least.max(1) } else { least } as usize;
        let most = if all { self.slots.len() } else { most.max(1) as usize };
        self.reap(least.min(self.in_flight), most, None);
        if self.work.live.is_wanted() {
            self.give_snapshot();
        }
    }

    pub(super) fn reap(&mut self, least: usize, most: usize, wait: Option<Duration>) {
        let mut done = std::mem::take(&mut self.done);
        let result = self.engine.reap(least, most.max(least), wait, &mut done);
        self.read_clock();
        if !done.is_empty() {
            self.recorder.result.depths.completed(done.len() as u64);
        }
        for done in done.drain(..) {
            if let Some(rest) = self.end_io(done) {
                self.queue(rest);
                self.send();
            }
        }
        self.done = done;
        if let Err(errno) = result {
            self.failed = Some(Failed::new(errno, format!("func=getevents, error={errno}")));
            // What the engine does not give back is lost with it.
            self.in_flight = 0;
            self.queued.clear();
        }
    }

    #[inline]
    pub(super) fn end_io(&mut self, done: Done) -> Option<Io> {
        let Done { slot, mut buf, result } = done;
        let at = &mut self.slots[slot as usize];
        at.times.ended = self.now;
        match result {
            Ok(moved) if moved < buf.len() => return self.rest(slot, buf, moved),
            Ok(_) => {}
            Err(errno) => {
                self.release(slot, buf);
                self.io_failed(slot, errno);
                return None;
            }
        }
        let (next, times, checks) = (at.next, at.times, at.checks.take());
        // As in fio: what the null engine reads passes for what was written.
        if let Some(written) = checks.filter(|_| self.engine.moves()) {
            buf.set_len(next.extent.len as usize);
            self.check(&buf, &written, &next);
        }
        self.release(slot, buf);
        self.ended += 1;
        if !self.is_preparing {
            self.work.live.count(next.direction, next.extent.len);
            self.account(&next, &times);
        }
        None
    }

    #[inline]
    pub(super) fn account(&mut self, next: &Next, times: &Times) {
        if !self.counts && times.ended >= self.ramped {
            self.begin_counting(times.ended);
        }
        // What was before is forgotten when the ramp is over; of a job that ends before that it is all there is to tell.
        self.recorder.io(next.direction, next.extent.len, times);
        if !self.counts {
            return;
        }
        if self.has_logs {
            let done = &self.recorder.result.directions[next.direction];
            let (len, offset) = (next.extent.len, next.extent.offset);
            self.logs.io(&Logged { direction: next.direction, len, offset, times: *times }, (done.bytes, done.ios));
        }
        if self.has_limit {
            self.check_latency(next, times.ended.saturating_sub(times.ready));
        }
    }

    /// ramp_time= is over. Counted are I/Os that end from then on, over the time from then on: from the first one's end (as fio 3.33 does it,
    /// which counts that one all the same) a slow job would have a part of a period less than I/Os.
    #[cold]
    fn begin_counting(&mut self, now: u64) {
        self.counts = true;
        self.recorder.begin(self.ramped);
        self.search.iter_mut().for_each(|search| search.begin(now, self.ended));
        self.logs.begin(self.ramped);
        self.work.live.set_state(State::Running);
    }

    /// max_latency= and latency_target=, which in fio 3.33 disable_lat= and gtod_reduce= switch off without a word.
    fn check_latency(&mut self, next: &Next, took: u64) {
        let pacing = &self.work.settings.pacing;
        let is_target_missed = self.search.as_mut().is_some_and(|search| !search.takes(took));
        let most = pacing.latency_max.filter(|most| took > ns(*most));
        let missed = pacing.latency.as_ref().filter(|_| is_target_missed).map(|asked| asked.target);
        // The first that is not let pass ends the job; those under way are waited for, not judged.
        let Some(most) = most.or(missed).filter(|_| self.failed.is_none()) else { return };
        let text = format!("latency of {took} nsec exceeds specified max ({} nsec)", ns(most));
        let (path, Extent { offset, len }) = (self.path(next.file).display(), next.extent);
        self.work.host.tell(&format!("fio: {text}: {path} {} {offset} {len}", next.direction.name()));
        let raw = Errno::TIMEDOUT.raw_os_error();
        let (counts, goes_on) = self.passes(next.direction, raw);
        // As in fio 3.33, which counts what ends the job only of engines that wait.
        self.count_error(counts && (goes_on || self.engine.waits()), raw);
        self.went_wrong(goes_on, raw, &text);
    }

    /// Do errors of this direction count, and is this one let pass (continue_on_error=, ignore_error=)?
    fn passes(&self, direction: Direction, errno: i32) -> (bool, bool) {
        let (errors, is_read) = (&self.work.settings.errors, direction == Direction::Read);
        let counts = if is_read { errors.read } else { errors.write };
        (counts, counts && errors.ignored[usize::from(!is_read)].contains(&errno))
    }

    /// What is left of a short I/O; one that moved nothing has failed.
    #[cold]
    pub(super) fn rest(&mut self, slot: u32, mut buf: Buf, moved: usize) -> Option<Io> {
        let at = &mut self.slots[slot as usize];
        if at.moved == 0 {
            self.recorder.result.directions[at.next.direction].short += 1;
        }
        if moved == 0 {
            self.release(slot, buf);
            self.io_failed(slot, Errno::IO);
            return None;
        }
        at.moved += moved;
        buf.advance(moved);
        let (next, offset) = (at.next, at.next.extent.offset + at.moved as u64);
        Some(Io { slot, file: next.file, direction: next.direction, offset, buf })
    }

    pub(super) fn release(&mut self, slot: u32, buf: Buf) {
        self.slots[slot as usize].buf = Some(buf);
        self.open.ends(self.slots[slot as usize].next.file);
        self.free.push(slot);
        self.in_flight -= 1;
    }

    pub(super) fn path(&self, file: u32) -> &'a Path {
        &self.work.files[file as usize].0
    }

    /// What there is to say of an errno that the engine gave.
    pub(super) fn said(&mut self, errno: Errno) -> String {
        match self.engine.explain() {
            Some(text) => format!("{} ({text})", said(errno)),
            None => said(errno),
        }
    }

    #[cold]
    pub(super) fn io_failed(&mut self, slot: u32, errno: Errno) {
        let text = self.said(errno);
        let next = self.slots[slot as usize].next;
        let (errors, raw) = (&self.work.settings.errors, errno.raw_os_error());
        let is_read = next.direction == Direction::Read;
        if !is_read && self.replay.is_some() {
            self.unwritten.add(next.number);
        }
        if self.is_given_up(errno) {
            return;
        }
        let full = self.work.settings.load.fill && errno == Errno::NOSPC && !is_read;
        if full {
            // fill_device: that was its end.
            self.ends = self.ends.min(self.now);
            return;
        }
        let (counts, goes_on) = self.passes(next.direction, raw);
        if !goes_on || errors.dump {
            self.work.host.tell(&format!(
                "fio: io_u error on file {}: {}: {} offset={}, buflen={}",
                self.path(next.file).display(),
                text,
                next.direction.name(),
                next.extent.offset,
                next.extent.len
            ));
        }
        self.count_error(counts, raw);
        self.went_wrong(goes_on, raw, &format!("func=io_u error, error={text}"));
    }

    /// Is it the signal's doing that ends the run? A target that is away is not waited for then.
    pub(super) fn is_given_up(&self, errno: Errno) -> bool {
        errno == Errno::TIMEDOUT && self.work.host.is_signalled()
    }

    /// As in fio: of the kinds that continue_on_error= names, also the error is counted that ends the job.
    pub(super) fn count_error(&mut self, counts: bool, errno: i32) {
        if counts {
            let (total, first) = self.recorder.result.errors.continued.unwrap_or_default();
            self.recorder.result.errors.continued = Some((total + 1, if total == 0 { errno } else { first }));
        }
    }

    /// An error that ends the job, or does not.
    pub(super) fn went_wrong(&mut self, goes_on: bool, errno: i32, detail: &str) {
        let errors = &mut self.recorder.result.errors;
        if !goes_on {
            self.failed.get_or_insert_with(|| Failed { errno, detail: detail.to_owned() });
        } else if errors.detail.is_empty() {
            errors.detail = detail.to_owned();
        }
    }

    pub(super) fn think(&mut self) {
        let pacing = &self.work.settings.pacing;
        let count = if pacing.think_issued { self.issued } else { self.ended };
        let since = Duration::from_nanos(self.now.saturating_sub(self.paused));
        let Some(Pause { spin, sleep }) = pacing.think.after(count - self.thought, since) else { return };
        // As in fio, what ends while the pause is waited for counts for the next one.
        self.thought = count;
        while self.in_flight > 0 && !self.is_over() {
            self.idle(Duration::MAX);
        }
        let start = self.work.clock.now();
        while self.work.clock.now() < start + ns(spin) {
            std::hint::spin_loop();
        }
        self.now = self.work.clock.now();
        let until = start + ns(spin + sleep);
        while self.now < until && !self.is_over() {
            self.idle(Duration::from_nanos(until - self.now));
            self.now = self.work.clock.now();
        }
        self.paused = self.now;
        if pacing.ignore_thinktime {
            let by = Duration::from_nanos(self.now - start);
            let blocks = &self.work.settings.load.blocks;
            for direction in Direction::ALL {
                self.pacers[direction].iter_mut().for_each(|pacer| pacer.paused(by, blocks[direction].0));
            }
        }
    }
}

#[cfg(test)]
#[path = "flow_tests.rs"]
mod tests;
