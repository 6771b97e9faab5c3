//! A clone's passes over its load: which I/O is started when, and what is due between them.
//!
//! Promises: the depth is exact: an I/O that ended is replaced before anything else is waited for; a pass without an I/O ends the job.
//! Leaves out: the way of one I/O (`flow`), and what is read back (`checking`).

use std::time::Duration;

use rustix::io::Errno;

use super::super::engine::Engine;
use super::super::pace::AfterPass;
use super::super::value::Amount;
use super::super::{Direction, Each};
use super::choice::Next;
use super::clone::{Failed, Runner};
use super::latest::Latest;
use super::unwritten::Unwritten;

impl<E: Engine> Runner<'_, E> {
    pub(super) fn all_passes(&mut self) {
        let settings = self.work.settings;
        let verify = settings.verify.as_ref();
        let only = self.only_reads_back();
        let read_back = verify.is_some_and(|verify| verify.read_back) && settings.load.writes();
        let mut passes = 0;
        loop {
            let before = self.moved();
            self.replay = (only || read_back).then(|| self.choice.clone());
            let once = settings.load.plans[Direction::Write].visits_once();
            self.latest = self.replay.clone().filter(|_| !once).map(Latest::new);
            (self.pass_issued, self.checked, self.is_synced, self.backlog.due) = (0, 0, false, 0);
            self.unwritten = Unwritten::default();
            if only {
                self.turn(true, false);
                self.check_written(u64::MAX);
                self.replay.iter().for_each(|replay| self.choice.count(replay));
            } else if let Some(replay) = &settings.io_logs.replay {
                self.replay_log(replay);
            } else {
                self.pass();
                self.sync_all();
                let is_idle = self.pass_issued == 0 && self.failed.is_none() && !self.is_over();
                if is_idle && settings.files.append && self.issued > 0 {
                    return;
                }
                if is_idle && settings.span.fills() {
                    return self.nothing_fits();
                }
            }
            if read_back && !only && self.failed.is_none() {
                self.check_pass();
            }
            self.pass_most = self.pass_most.max(self.pass_issued);
            passes += 1;
            let is_last = settings.span.after_pass(passes) == AfterPass::End && !self.falls_short(before);
            if self.is_over() || self.failed.is_some() || is_last {
                return;
            }
            if settings.files.unlink_each_loop {
                self.close_all();
                self.unlink_all();
            }
            // As in fio the job is over, though there are loops left.
            let has_all = self.choice.is_exhausted() || !settings.span.fills() && self.has_all_ios();
            if has_all && settings.io_logs.replay.is_none() {
                return;
            }
            if settings.files.unlink_each_loop {
                self.open_first();
            }
            match self.replay.is_some() {
                true => self.choice.restart(),
                false => self.choice.go_on(),
            }
        }
    }

    /// I/Os and bytes of the job, those that were read back among them. As in fio what is only read back counts for its writing, too.
    fn moved(&self) -> (u64, u64) {
        let times = if self.only_reads_back() { 2 } else { 1 };
        let done = self.work.live.done();
        done.iter().fold((0, 0), |sum, (_, (ios, bytes))| (sum.0 + times * ios, sum.1 + times * bytes))
    }

    /// verify_only=1 of what would be written.
    pub(super) fn only_reads_back(&self) -> bool {
        let settings = self.work.settings;
        settings.verify.as_ref().is_some_and(|verify| verify.only) && settings.load.writes()
    }

    /// I/Os that are left of number_ios= to a pass that only reads back.
    pub(super) fn ios_left(&self) -> u64 {
        let most = self.work.settings.load.number_ios.saturating_mul(self.work.settings.span.loops);
        if self.is_limited_by_pass() { self.ios_max } else { most.saturating_sub(self.moved().0) }
    }

    /// As in fio there are passes beyond loops= until an io_size= is moved but for less than a block. One after which no more was moved than
    /// `before` would be followed by others without end.
    fn falls_short(&self, before: (u64, u64)) -> bool {
        let load = &self.work.settings.load;
        let Some(Amount::Bytes(io)) = load.io_size else { return false };
        let most = load.blocks.iter().map(|(_, (_, most))| *most).max().unwrap_or(1);
        let ((_, moved), is_replay) = (self.moved(), self.work.settings.io_logs.replay.is_some());
        !is_replay && !self.has_all_ios() && moved > before.1 && io.saturating_sub(moved) >= most.max(1)
    }

    /// A pass without an I/O would be followed by others without end. Where the time is not to be filled, that is the job, as in fio.
    fn nothing_fits(&mut self) {
        let text = "no block fits into what the job's files and sizes leave";
        self.work.host.tell(&format!("fio: {}: {text}", self.work.settings.name));
        self.failed = Some(Failed::new(Errno::INVAL, text));
    }

    pub(super) fn is_over(&self) -> bool {
        self.now >= self.ends || self.work.live.is_ending()
    }

    /// As in fio, number_ios= is of each pass where loops fill the time; else it is of all loops together, those that are read back among them,
    /// and their passes end with the files.
    pub(super) fn has_all_ios(&self) -> bool {
        let (load, span) = (&self.work.settings.load, &self.work.settings.span);
        let is_limited = load.number_ios > 0 && !span.fills();
        let most = load.number_ios.saturating_mul(span.loops);
        let has_all = || match &self.work.settings.verify {
            // Summing up for each I/O took a tenth of what an engine that does nothing does.
            None => self.issued >= most,
            Some(_) => self.moved().0 + self.in_flight as u64 >= most,
        };
        self.is_limited_by_pass() && self.pass_issued >= self.ios_max || is_limited && has_all()
    }

    fn is_limited_by_pass(&self) -> bool {
        let span = &self.work.settings.span;
        span.loops <= 1 || self.ios_max != self.work.settings.load.number_ios || span.fills()
    }

    /// One pass over the load.
    fn pass(&mut self) {
        let (mut is_last, mut waiting) = (false, None);
        loop {
            while !is_last && self.may_start() {
                if self.is_over() || self.has_all_ios() || self.failed.is_some() {
                    is_last = true;
                    break;
                }
                let Some(next) = waiting.take().or_else(|| self.choose()) else {
                    self.sync_at_end();
                    is_last = true;
                    break;
                };
                match self.must_wait(&next) {
                    None => {
                        self.sync_if_due();
                        self.start(next);
                    }
                    Some(wait) => {
                        waiting = Some(next);
                        self.idle(wait);
                    }
                }
                self.after_start();
            }
            if self.in_flight == 0 {
                return;
            }
            self.collect(is_last);
            if self.replay.is_some() && !is_last {
                self.check_backlog();
            }
        }
    }

    /// True when there is room for an I/O.
    pub(super) fn may_start(&mut self) -> bool {
        if self.search.is_some() && !self.search_depth() {
            return false;
        }
        if self.free.is_empty() {
            self.is_full = true;
            return false;
        }
        let low = self.work.settings.engine.low as usize;
        if self.is_full && low > 0 && self.in_flight > low && low < self.slots.len() {
            return false;
        }
        self.is_full = false;
        true
    }

    fn choose(&mut self) -> Option<Next> {
        // What is read back is chosen again without a clock.
        let late = match self.is_paced && self.replay.is_none() {
            true => {
                let now = Duration::from_nanos(self.now - self.began);
                let late = |direction: Direction| {
                    self.pacers[direction]
                        .as_ref()
                        .map_or(Duration::ZERO, |pacer| pacer.next_start().saturating_sub(now))
                };
                Each::of(late)
            }
            false => Each::default(),
        };
        let next = self.choice.next_io(&late);
        if self.choice.rounds() != self.rounds {
            self.rounds = self.choice.rounds();
            self.drop_cached();
        }
        next
    }

    /// As in fio, what is due where a pass has come to its end with bytes left to move is done there, and again when the next begins.
    fn sync_at_end(&mut self) {
        if !self.choice.is_exhausted() && !self.work.settings.span.fills() {
            let touched = self.touched;
            self.sync_if_due();
            self.touched = touched;
        }
    }

    /// What is due after an I/O was started: syncs, pauses, read-backs, a rate that must be kept.
    pub(super) fn after_start(&mut self) {
        let settings = self.work.settings;
        if self.work.live.is_wanted() {
            self.give_snapshot();
        }
        if self.replay.is_some() {
            self.check_backlog();
        }
        if !settings.pacing.think.pause.is_zero() {
            self.think();
        }
        if settings.pacing.least.iter().any(|(_, least)| least.is_some()) {
            self.check_rate();
        }
    }
}
