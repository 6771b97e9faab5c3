//! When clones start and which end together: stonewall, wait_for, startdelay, exitall.
//!
//! Promises: clones that may start at the same time are all ready (files open, buffers made) before the first begins; every clone that was
//! started has ended when this returns.
//! Leaves out: what a clone does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::super::results::JobResult;
use super::super::settings::ExitWhat;
use super::clock::{Clock, ns};
use super::live::{Live, State};

/// One clone, as far as its start and its end go.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its job's number.
    pub job: usize,
    /// Its group in reports.
    pub group: u32,
    /// Starts when all before it have ended; jobs behind it wait as well.
    pub stonewall: bool,
    /// Starts when all clones of this job have ended.
    pub wait_for: Option<usize>,
    /// Not before this time since the first clones may start: as fio counts it, without what laying out files takes.
    pub delay: Duration,
    /// When it ends, these end too.
    pub exitall: Option<ExitWhat>,
    /// When it ends with an error, these end too.
    pub exitall_on_error: Option<ExitWhat>,
}

/// How often it is looked whether the run is stopped.
const STOP_LOOK: Duration = Duration::from_millis(50);

/// Clones that start together.
#[derive(Debug, Default)]
struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Gate {
    fn wait(&self) {
        let mut is_open = lock(&self.is_open);
        while !*is_open {
            is_open = self.opened.wait(is_open).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn open(&self) {
        *lock(&self.is_open) = true;
        self.opened.notify_all();
    }
}

/// Told whenever a clone's state changes.
#[derive(Debug, Default)]
struct Bell {
    rung: Mutex<bool>,
    heard: Condvar,
}

impl Bell {
    fn ring(&self) {
        *lock(&self.rung) = true;
        self.heard.notify_all();
    }

    fn wait(&self, wait: Duration) -> bool {
        let rung = lock(&self.rung);
        let (mut rung, _) =
            self.heard.wait_timeout_while(rung, wait, |rung| !*rung).unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *rung)
    }

    /// The same; `stop`, which no one rings for, ends it too.
    fn wait_or(&self, stop: &AtomicBool, mut wait: Duration) {
        while !stop.load(Ordering::Relaxed) && !self.wait(wait.min(STOP_LOOK)) && wait > STOP_LOOK {
            wait -= STOP_LOOK;
        }
    }
}

/// Says that a clone has ended, also when it panicked, so that nobody waits for it.
struct Ended<'a> {
    live: &'a Live,
    bell: &'a Bell,
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.live.failed.store(true, Ordering::Relaxed);
        }
        self.live.set_state(State::Exited);
        self.bell.ring();
    }
}

/// Runs a clone by its entry's number; it calls what it is given when it is ready.
type Cloned<'a> = &'a (dyn Fn(usize, &dyn Fn()) -> JobResult + Sync);

/// The result of a clone for which there is no thread.
type Lost<'a> = &'a dyn Fn(usize, &std::io::Error) -> JobResult;

/// A run of all clones.
pub struct Schedule<'a> {
    /// The clones, in the order of their start.
    pub entries: &'a [Entry],
    /// What each shows; as many.
    pub lives: &'a [Live],
    /// The run's clock.
    pub clock: Clock,
    /// Ends the run: a signal came.
    pub stop: &'a AtomicBool,
}

impl Schedule<'_> {
    /// Runs `clone` for each entry in a thread of its own: it is given the entry's number and what it calls when it is ready, which returns
    /// when it may begin. `lost` gives the result of one for which there is no thread. `watch` is called now and then, and says when it
    /// wants to be called again. Results of clones that were never started are None.
    pub fn run(
        &self,
        clone: Cloned<'_>,
        lost: Lost<'_>,
        watch: &mut dyn FnMut() -> Duration,
    ) -> Vec<Option<JobResult>> {
        let results: Vec<Mutex<Option<JobResult>>> = self.entries.iter().map(|_| Mutex::new(None)).collect();
        let bell = Bell::default();
        let began = self.clock.now();
        std::thread::scope(|scope| {
            let mut waiting: Vec<usize> = (0..self.entries.len()).collect();
            let mut running: Vec<usize> = Vec::new();
            while !waiting.is_empty() || !running.is_empty() {
                let is_stopped = self.stop.load(Ordering::Relaxed);
                if is_stopped {
                    self.lives.iter().for_each(Live::end);
                    waiting.clear();
                    if running.is_empty() {
                        break;
                    }
                }
                let batch = self.ready(began, &waiting, &running);
                waiting.retain(|entry| !batch.contains(entry));
                self.start(scope, &batch, (clone, lost), &results, &bell, watch);
                running.extend(&batch);
                let next = watch();
                let has_ended = |entry: &usize| self.lives[*entry].state() >= State::Exited;
                if !running.iter().any(has_ended) {
                    let next = next.min(self.until_delay(began, &waiting));
                    if is_stopped {
                        bell.wait(next);
                    } else {
                        bell.wait_or(self.stop, next);
                    }
                }
                let (ended, left): (Vec<_>, Vec<_>) = running.into_iter().partition(has_ended);
                running = left;
                ended.iter().for_each(|entry| self.ended(*entry, &mut waiting));
            }
        });
        results.into_iter().map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
    }

    /// Which of `waiting` may start now, in a run whose first might at `began`.
    fn ready(&self, began: u64, waiting: &[usize], running: &[usize]) -> Vec<usize> {
        let now = self.clock.now().saturating_sub(began);
        let mut batch: Vec<usize> = Vec::new();
        for (at, index) in waiting.iter().enumerate() {
            let entry = &self.entries[*index];
            let is_behind = at > 0 || !running.is_empty();
            let waited = entry.wait_for.is_some_and(|job| {
                running.iter().chain(waiting).any(|other| self.entries[*other].job == job && other < index)
            });
            if entry.stonewall && is_behind {
                break;
            }
            // As in fio, others do not wait with it.
            if !waited && ns(entry.delay) <= now {
                batch.push(*index);
            }
        }
        batch
    }

    fn until_delay(&self, began: u64, waiting: &[usize]) -> Duration {
        let now = self.clock.now().saturating_sub(began);
        let left =
            waiting.iter().map(|entry| ns(self.entries[*entry].delay).saturating_sub(now)).filter(|left| *left > 0);
        Duration::from_nanos(left.min().unwrap_or(u64::MAX))
    }

    fn start<'s, 'e: 's>(
        &'e self,
        scope: &'s std::thread::Scope<'s, 'e>,
        batch: &[usize],
        (clone, lost): (Cloned<'e>, Lost<'_>),
        results: &'e [Mutex<Option<JobResult>>],
        bell: &'e Bell,
        watch: &mut dyn FnMut() -> Duration,
    ) {
        let gate = std::sync::Arc::new(Gate::default());
        for index in batch.iter().copied() {
            let gate = gate.clone();
            self.lives[index].set_state(State::Created);
            let run = move || {
                let _ended = Ended { live: &self.lives[index], bell };
                let result = clone(index, &|| {
                    bell.ring();
                    gate.wait();
                });
                *lock(&results[index]) = Some(result);
            };
            if let Err(error) = std::thread::Builder::new().spawn_scoped(scope, run) {
                *lock(&results[index]) = Some(lost(index, &error));
                drop(Ended { live: &self.lives[index], bell });
            }
        }
        // Files may be read ahead, and commands run, meanwhile.
        while batch.iter().any(|index| self.lives[*index].is_preparing()) {
            if self.stop.load(Ordering::Relaxed) {
                self.lives.iter().for_each(Live::end);
            }
            bell.wait(watch().min(Duration::from_millis(100)));
        }
        gate.open();
    }

    /// A clone has ended: others may have to end with it.
    fn ended(&self, index: usize, waiting: &mut Vec<usize>) {
        let entry = &self.entries[index];
        self.lives[index].set_state(State::Reaped);
        let failed = self.lives[index].failed.load(Ordering::Relaxed);
        let what = entry.exitall.or(entry.exitall_on_error.filter(|_| failed));
        let Some(what) = what else { return };
        let belongs = |other: usize| match what {
            ExitWhat::Group => self.entries[other].group == entry.group,
            // All that run now; what waits behind a stonewall goes on.
            ExitWhat::Stonewall => self.lives[other].state() != State::NotStarted,
            ExitWhat::All => true,
        };
        (0..self.entries.len()).filter(|other| belongs(*other)).for_each(|other| self.lives[other].end());
        waiting.retain(|other| !belongs(*other));
    }
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
