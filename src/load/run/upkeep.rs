//! What a clone does besides its I/O: opens and closes files, makes data safe, holds a rate against its minimum.

use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::setpriority_process;
use rustix::thread::{CpuSet, gettid, sched_setaffinity};

use super::super::depth::Step;
use super::super::engine::{Engine, Open, SyncKind};
use super::super::iolog;
use super::super::offsets::Extent;
use super::super::pace::Rate;
use super::super::results::{JobResult, per_second};
use super::super::settings::Advice;
use super::super::{Direction, Each};
use super::choice::Next;
use super::clock::ns;
use super::clone::{Failed, Runner, Work, said};
use super::live::State;
use super::prio;

impl<E: Engine> Runner<'_, E> {
    /// What latency_target= wants done now; false when no I/O more may be in flight.
    pub(super) fn search_depth(&mut self) -> bool {
        let Some(search) = &mut self.search else { return true };
        let step = if self.counts { search.step(self.now, self.ended) } else { Step::Go };
        self.recorder.result.target.depth = search.depth();
        let room = self.in_flight < search.depth() as usize;
        match step {
            Step::Go => return room,
            Step::Done => self.ends = self.ends.min(self.now),
            Step::Quiet | Step::Last => {
                self.drain();
                self.now = self.work.clock.now();
                if step == Step::Last {
                    self.recorder.begin(self.now);
                    self.logs.begin(self.now);
                }
                self.search.iter_mut().for_each(|search| search.begin(self.now, self.ended));
            }
        }
        true
    }

    pub(super) fn give_snapshot(&mut self) {
        self.work.live.give(self.snapshot());
    }

    pub(super) fn snapshot(&self) -> JobResult {
        let mut result = self.recorder.snapshot(self.now);
        if let Some(failed) = &self.failed {
            (result.errors.error, result.errors.detail) = (failed.errno, failed.detail.clone());
        } else if let Some((_, first)) = result.errors.continued {
            // As in fio, reports show the first error of a job that went on; its exit status does not.
            result.errors.error = first;
        }
        result
    }

    /// Opens `file` where it is not open; another that is idle may have to be closed for it.
    #[inline]
    pub(super) fn open_for(&mut self, file: u32) -> Result<(), Failed> {
        if self.open.holds_all() || self.open.is_open(file) {
            return Ok(());
        }
        while let Err(()) = self.open.to_close() {
            self.send();
            self.reap(1, self.slots.len(), None);
            if self.failed.is_some() {
                return Ok(());
            }
        }
        if let Ok(Some(idle)) = self.open.to_close() {
            self.close_file(idle)?;
        }
        self.open_file(file)
    }

    pub(super) fn open_file(&mut self, file: u32) -> Result<(), Failed> {
        let settings = self.work.settings;
        let only = settings.verify.as_ref().is_some_and(|verify| verify.only);
        let how = Open {
            // As fio, which opens for both what it writes.
            read: true,
            write: settings.load.writes() && !only,
            // As fio, which lays nothing out with create_on_open and then finds that there is nothing to read.
            create: (settings.load.writes() && !only || settings.files.create_on_open) && settings.files.allow_create,
            direct: settings.engine.direct,
            sync: settings.syncs.open,
        };
        let path = self.path(file);
        self.engine.open(file, path, how).map_err(|errno| self.call_failed(file, "open", errno))?;
        self.open.opened(file);
        self.log_file(file, format_args!("open"));
        self.work.live.open.store(self.open.count() as u32, Ordering::Relaxed);
        let advice = match settings.files.advice {
            Advice::None => None,
            Advice::ByLoad if settings.load.is_random() => Some(Advice::Random),
            Advice::ByLoad => Some(Advice::Sequential),
            other => Some(other),
        };
        let dropped = settings.files.invalidate.then(|| self.region(file));
        self.engine.advise(file, dropped, advice).map_err(|errno| self.call_failed(file, "fadvise", errno))
    }

    /// The clone's part of a file. What others have cached of it is theirs.
    fn region(&self, file: u32) -> Extent {
        self.work.files[file as usize].1
    }

    /// invalidate=1: what is visited again is not found in the cache. Measured of fio 3.33: the files of a pass of loops= or io_size= are
    /// opened anew, which drops them; a job that fills its time keeps them open, and mapped, and drops nothing with direct=1.
    pub(super) fn drop_cached(&mut self) {
        let settings = self.work.settings;
        let fills = settings.span.fills();
        if !settings.files.invalidate || fills && settings.engine.direct {
            return;
        }
        for file in self.open.all() {
            let gone = if fills { Ok(()) } else { self.engine.let_go(file) };
            let gone = gone.and_then(|()| self.engine.advise(file, Some(self.region(file)), None));
            if let Err(errno) = gone {
                let failed = self.call_failed(file, "fadvise", errno);
                self.failed.get_or_insert(failed);
                return;
            }
        }
        // It is no part of an I/O.
        self.now = self.work.clock.now();
    }

    /// A call on a file failed: told, and why the job ends.
    fn call_failed(&mut self, file: u32, call: &str, errno: Errno) -> Failed {
        if self.is_given_up(errno) {
            return Failed::by_signal();
        }
        let (path, text) = (self.path(file).display(), self.said(errno));
        self.work.host.tell(&format!("fio: {call}({path}): {text}"));
        Failed::new(errno, format!("func={call}({path})"))
    }

    /// Reads all files once, so that they are cached.
    pub(super) fn pre_read(&mut self) {
        self.work.live.set_state(State::PreReading);
        (self.is_preparing, self.counts) = (true, false);
        let blocks = self.work.settings.load.blocks;
        let most = blocks.iter().map(|(_, (_, most))| *most).max().unwrap_or(1);
        for (file, (_, region)) in self.work.files.iter().enumerate() {
            let mut offset = region.offset;
            let end = region.offset + region.len;
            while offset < end && self.failed.is_none() && !self.work.live.is_ending() {
                while self.free.is_empty() && self.failed.is_none() {
                    self.send();
                    self.reap(1, self.slots.len(), None);
                }
                let extent = Extent { offset, len: most.min(end - offset) };
                self.start_io(Next { file: file as u32, direction: Direction::Read, extent, number: 0 }, None);
                offset += extent.len;
            }
        }
        self.drain();
        self.is_preparing = false;
        self.ended = 0;
    }

    /// Removes the clone's files.
    pub(super) fn unlink_all(&mut self) {
        if let Some(failed) = unlink_all(self.work) {
            self.failed.get_or_insert(failed);
        }
    }

    /// cpus_allowed, nice, prio and prioclass, of this thread.
    pub(super) fn adopt_host(&mut self) {
        let host = &self.work.settings.host;
        let mut failed = None;
        if let Some((cpus, split)) = &host.cpus {
            let own = self.work.clone as usize % cpus.len().max(1);
            let mut set = CpuSet::new();
            let chosen = cpus.iter().enumerate().filter(|(at, cpu)| (!split || *at == own) && **cpu < CpuSet::MAX_CPU);
            chosen.for_each(|(_, cpu)| set.set(*cpu));
            failed = sched_setaffinity(None, &set).err().map(|errno| (errno, "sched_setaffinity"));
        }
        if let Some(nice) = host.nice {
            let set = setpriority_process(Some(gettid()), nice);
            failed = failed.or(set.err().map(|errno| (errno, "setpriority")));
        }
        if let Some((class, level)) = host.prio {
            failed = failed.or(prio::set(class, level).err().map(|errno| (errno, "ioprio_set")));
        }
        if let Some((errno, call)) = failed {
            self.work.host.tell(&format!("fio: {call}: {}", said(errno)));
            self.failed = Some(Failed::new(errno, format!("func={call}")));
        }
    }

    pub(super) fn close_file(&mut self, file: u32) -> Result<(), Failed> {
        if self.work.settings.syncs.fsync_on_close && self.work.settings.load.writes() && !self.is_synced {
            self.sync_now(file, SyncKind::Full)?;
        }
        self.open.closed(file);
        self.log_file(file, format_args!("close"));
        self.work.live.open.store(self.open.count() as u32, Ordering::Relaxed);
        self.engine.close(file).map_err(|errno| self.call_failed(file, "close", errno))
    }

    /// fsync and its like, measured.
    pub(super) fn sync_now(&mut self, file: u32, how: SyncKind) -> Result<(), Failed> {
        let start = self.work.clock.now();
        let result = self.sync_uncounted(file, how);
        self.recorder.sync(start, self.now);
        result
    }

    fn sync_uncounted(&mut self, file: u32, how: SyncKind) -> Result<(), Failed> {
        self.log_file(file, format_args!("{} 0 0", iolog::sync_word(how)));
        let result = self.engine.sync(file, how);
        self.now = self.work.clock.now();
        result.map_err(|errno| self.call_failed(file, "fsync", errno))
    }

    /// A write on `file` was issued.
    #[inline]
    pub(super) fn touch(&mut self, file: u32, extent: Extent) {
        let all = match self.touched {
            Some((same, all)) if same == file => {
                let (from, to) =
                    (all.offset.min(extent.offset), (all.offset + all.len).max(extent.offset + extent.len));
                Extent { offset: from, len: to - from }
            }
            _ => extent,
        };
        self.touched = Some((file, all));
    }

    /// What is due after as many writes as were issued, ahead of the next I/O.
    pub(super) fn sync_if_due(&mut self) {
        let syncs = self.work.settings.syncs;
        let due = |every: u64| every > 0 && self.writes.is_multiple_of(every);
        let Some((file, extent)) = self.touched else { return };
        let kind = match syncs.range {
            _ if due(syncs.fsync) => Some(SyncKind::Full),
            _ if due(syncs.fdatasync) => Some(SyncKind::Data),
            Some((flags, every)) if due(every) => {
                Some(SyncKind::Range { flags, offset: extent.offset, len: extent.len })
            }
            _ => None,
        };
        let Some(kind) = kind else { return };
        self.touched = None;
        self.drain();
        if self.failed.is_none() && self.open.is_open(file) {
            self.failed = self.sync_now(file, kind).err();
        }
    }

    /// Waits for all that is under way.
    pub(super) fn drain(&mut self) {
        while self.in_flight > 0 {
            self.send();
            self.reap(1, self.slots.len(), None);
        }
        self.take_checked(0);
    }

    /// end_fsync and fsync_on_close at the end of a pass. Measured of fio 3.33: it is part of the time in which the pass's bytes were
    /// written, and files that openfiles= has closed are opened for it; it is not among the syncs that are counted.
    pub(super) fn sync_all(&mut self) {
        let syncs = self.work.settings.syncs;
        if self.failed.is_some() || !self.work.settings.load.writes() || !(syncs.end_fsync || syncs.fsync_on_close) {
            return;
        }
        self.drain();
        self.work.live.set_state(State::Syncing);
        let open = self.open.all();
        // Those that fsync_on_close= has closed are safe.
        let closed = (0..self.work.files.len() as u32).filter(|file| !syncs.fsync_on_close && !open.contains(file));
        for file in open.iter().copied().chain(closed.collect::<Vec<_>>()) {
            let synced = self.open_for(file).and_then(|()| self.sync_uncounted(file, SyncKind::Full));
            if let Err(failed) = synced {
                self.failed.get_or_insert(failed);
                break;
            }
        }
        self.is_synced = self.failed.is_none();
        self.work.live.set_state(State::Running);
    }

    /// Closes what is open; the first error is the clone's if it has none.
    pub(super) fn close_all(&mut self) {
        for file in self.open.all() {
            let failed = self.close_file(file).err();
            self.failed = self.failed.take().or(failed);
        }
    }

    /// rate_min and rate_iops_min: what a cycle moved must be at least that.
    pub(super) fn check_rate(&mut self) {
        // As in fio, a job has two seconds to come up to its rate.
        const SETTLE: Duration = Duration::from_secs(2);
        let pacing = &self.work.settings.pacing;
        if !self.counts || self.now < self.began + ns(SETTLE) {
            // What is asked for begins when ramp_time= is over.
            self.cycle = (self.now, self.work.live.done());
            return;
        }
        let spent = self.now.saturating_sub(self.cycle.0);
        if spent < ns(pacing.cycle.max(Duration::from_millis(1))) {
            return;
        }
        let done: Each<(u64, u64)> = self.work.live.done();
        let load = &self.work.settings.load;
        for (direction, has) in [(Direction::Read, load.reads()), (Direction::Write, load.writes())] {
            // One number is of both, of which the job may have one.
            if !has {
                continue;
            }
            let (ios, bytes) =
                (done[direction].0 - self.cycle.1[direction].0, done[direction].1 - self.cycle.1[direction].1);
            let (got, least, (option, asked, unit)) = match pacing.least[direction] {
                Some(Rate::Bytes(least)) => (per_second(bytes, spent / 1_000_000), least, ("rate_min", "B/s", "B/s")),
                Some(Rate::Ios(least)) => (per_second(ios, spent / 1_000_000), least, ("rate_iops_min", "", " IOPS")),
                None => continue,
            };
            if got < least {
                let text = format!("{option}={least}{asked} not met, got {got}{unit}");
                self.work.host.tell(&format!("{}: {text}", self.work.settings.name));
                self.failed.get_or_insert_with(|| Failed::new(Errno::IO, text));
                return;
            }
        }
        self.cycle = (self.now, done);
    }
}

/// exec_prerun and exec_postrun; what they print goes to a file, as in fio. False for one that failed, which is told.
pub(super) fn command(work: &Work<'_>, command: Option<&str>, when: &str) -> bool {
    let Some(command) = command else { return true };
    let done = work.host.shell(command, &format!("{}.{when}.txt", work.settings.name));
    if let Err(reason) = &done {
        work.host.tell(&format!("fio: exec_{when}={command}: {reason}"));
    }
    done.is_ok()
}

/// Removes a clone's files; the first failure, and a line for each.
pub(super) fn unlink_all(work: &Work<'_>) -> Option<Failed> {
    let mut first = None;
    for (path, _) in &work.files {
        if let Err(errno) = work.place.remove(path) {
            work.host.tell(&format!("fio: unlink({}): {}", path.display(), said(errno)));
            first.get_or_insert_with(|| Failed::new(errno, format!("func=unlink({})", path.display())));
        }
    }
    first
}

#[cfg(test)]
#[path = "upkeep_tests.rs"]
mod tests;
