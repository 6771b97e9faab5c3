//! The time of a rehearsal: its threads wait for answers that nobody sends.
//!
//! Time goes on from one answer to the next when no thread can do anything before, so it makes no difference what a processor takes, and
//! which thread gets it first. Counted is who acts at this time. A thread that waits for another one acts again from when it is woken
//! ([`Bell`](super::Bell)), a lane from when a task is spawned for it; one that waits for a real answer does not act, but the time at which it
//! stands for being there does not pass before.
//!
//! Each wait costs two switches of threads, some 10 us of a processor. So there is an end to it: then nobody waits any more.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

thread_local! {
    /// The pace that counts this thread.
    static OWN: RefCell<Option<Arc<Pace>>> = const { RefCell::new(None) };
}

/// Nobody has come or gone for so long, and no real answer is waited for: a thread waits for something that is not counted, or takes very
/// long. Then it is over, rather than that the run hangs.
const STUCK_AFTER: Duration = Duration::from_secs(10);

/// How often that is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What is to be noted when half of the waits that are followed are over, and when all are.
type Note = dyn Fn(Duration) + Send + Sync;

/// A clock for threads that wait for it.
pub struct Pace {
    state: Mutex<State>,
    over: AtomicBool,
    waits_max: AtomicU64,
    note: OnceLock<Box<Note>>,
    /// It was called for half of them, and for all.
    noted: [AtomicBool; 2],
}

#[derive(Default)]
struct State {
    now: Duration,
    /// Threads that can do something at this time.
    acting: usize,
    due: BTreeMap<(Duration, u64), Arc<Due>>,
    /// How many have waited so far.
    waits: u64,
    /// Real answers that are waited for.
    pending: usize,
}

/// A thread that waits.
struct Due {
    thread: Thread,
    woken: AtomicBool,
    /// The real answer is not there.
    pending: AtomicBool,
}

impl State {
    fn put(&mut self, until: Duration, pending: bool) -> Arc<Due> {
        let (woken, pending) = (AtomicBool::new(false), AtomicBool::new(pending));
        let due = Arc::new(Due { thread: std::thread::current(), woken, pending });
        self.waits += 1;
        self.due.insert((until.max(self.now), self.waits), due.clone());
        due
    }

    /// Where nobody acts: wakes those who come next, unless that waits for a real answer.
    fn go_on(&mut self) {
        while let Some(first) = self.due.first_entry() {
            let at = first.key().0;
            if first.get().pending.load(Ordering::Relaxed) || self.acting > 0 && at > self.now {
                return;
            }
            let due = first.remove();
            self.now = at;
            self.acting += 1;
            due.wake();
        }
    }
}

impl Due {
    fn wake(&self) {
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

impl Pace {
    /// A clock at 0, which is over after so many waits.
    pub fn new(waits_max: u64) -> Arc<Pace> {
        let (state, over) = (Mutex::default(), AtomicBool::new(false));
        Arc::new(Pace {
            state,
            over,
            waits_max: waits_max.into(),
            note: OnceLock::new(),
            noted: [false, false].map(AtomicBool::new),
        })
    }

    /// It is not over before so many. To be said before the first of them.
    pub fn follows(&self, waits: u64) {
        self.waits_max.fetch_max(waits, Ordering::Relaxed);
    }

    /// Calls `note` with the time when half of the waits are over, and when all are; once.
    pub fn noting(&self, note: impl Fn(Duration) + Send + Sync + 'static) {
        let _ = self.note.set(Box::new(note));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time now, from 0.
    pub fn now(&self) -> Duration {
        self.state().now
    }

    /// True when nobody waits any more.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// The pace that counts this thread, if one does.
    pub fn own() -> Option<Arc<Pace>> {
        OWN.with_borrow(Option::clone)
    }

    fn is_own(&self) -> bool {
        OWN.with_borrow(|own| own.as_ref().is_some_and(|own| std::ptr::eq(&raw const **own, self)))
    }

    /// Counts this thread while the guard is there.
    pub fn enter(self: &Arc<Pace>) -> Acting {
        self.acts(1);
        Acting { pace: self.clone(), own: self.adopt() }
    }

    /// The same for a thread whose coming and going is counted by who calls for it.
    pub fn adopt(self: &Arc<Pace>) -> Own {
        Own { before: OWN.replace(Some(self.clone())) }
    }

    /// So many more can do something from now on.
    pub fn acts(&self, more: usize) {
        self.state().acting += more;
    }

    /// One can do nothing more at this time.
    pub fn rests(&self) {
        let mut state = self.state();
        state.acting = state.acting.saturating_sub(1);
        if state.acting == 0 {
            state.go_on();
        }
    }

    /// This thread waits until it is `until`.
    pub fn wait(self: &Arc<Pace>, until: Duration) {
        if self.is_over() {
            return;
        }
        let _acting = (!self.is_own()).then(|| self.enter());
        let (due, waits) = {
            let mut state = self.state();
            (state.put(until, false), state.waits)
        };
        self.rests();
        self.sleep(&due);
        self.passed(waits);
    }

    /// So many have waited. Each note is made once, the last one before anybody goes on without waiting.
    fn passed(&self, waits: u64) {
        let most = self.waits_max.load(Ordering::Relaxed);
        let first = |at: usize| !self.noted[at].swap(true, Ordering::Relaxed);
        let note = || self.note.get().into_iter().for_each(|note| note(self.now()));
        if waits >= most / 2 && first(0) {
            note();
        }
        if waits >= most && first(1) {
            note();
            self.end();
        }
    }

    /// This thread asks what really takes its time, and stands for being answered at `until`.
    pub fn wait_for<R>(self: &Arc<Pace>, until: Duration, ask: impl FnOnce() -> R) -> R {
        if self.is_over() {
            return ask();
        }
        let _acting = (!self.is_own()).then(|| self.enter());
        let (due, waits) = {
            let mut state = self.state();
            state.pending += 1;
            (state.put(until, true), state.waits)
        };
        self.rests();
        // What it waits for meanwhile is no matter of the rehearsal.
        let asking = Asking { pace: self, due: &due, own: OWN.take() };
        let answer = ask();
        drop(asking);
        self.sleep(&due);
        self.passed(waits);
        answer
    }

    fn sleep(&self, due: &Due) {
        let (mut seen, mut since) = (None, Instant::now());
        while !due.woken.load(Ordering::Acquire) && !self.is_over() {
            std::thread::park_timeout(LOOK_EVERY);
            let state = self.state();
            let is = (state.waits, state.now, state.pending);
            if seen.replace(is) != Some(is) || state.pending > 0 {
                since = Instant::now();
            } else if since.elapsed() > STUCK_AFTER {
                drop(state);
                self.end();
            }
        }
    }

    /// Nobody waits any more.
    fn end(&self) {
        let mut state = self.state();
        self.over.store(true, Ordering::Relaxed);
        std::mem::take(&mut state.due).values().for_each(|due| due.wake());
    }
}

impl fmt::Debug for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pace").finish_non_exhaustive()
    }
}

/// A real answer is waited for as long as this is there, be it that asking panics.
struct Asking<'a> {
    pace: &'a Pace,
    due: &'a Due,
    own: Option<Arc<Pace>>,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        OWN.set(self.own.take());
        let mut state = self.pace.state();
        state.pending -= 1;
        self.due.pending.store(false, Ordering::Relaxed);
        if state.acting == 0 {
            state.go_on();
        }
    }
}

/// A thread is counted as long as this is there.
pub struct Acting {
    pace: Arc<Pace>,
    own: Own,
}

impl Drop for Acting {
    fn drop(&mut self) {
        self.own.give_back();
        self.pace.rests();
    }
}

/// A thread knows its pace as long as this is there.
pub struct Own {
    before: Option<Arc<Pace>>,
}

impl Own {
    fn give_back(&mut self) {
        OWN.set(self.before.take());
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::super::Bell;
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Runs these at once, each counted from the start; the time in the end.
    fn run(pace: &Arc<Pace>, threads: &[&(dyn Fn() + Sync)]) -> Duration {
        pace.acts(threads.len());
        std::thread::scope(|scope| {
            for thread in threads {
                scope.spawn(|| {
                    let _own = pace.adopt();
                    thread();
                    pace.rests();
                });
            }
        });
        pace.now()
    }

    #[test]
    fn time_is_what_is_waited_for_whoever_is_late() {
        let pace = Pace::new(1_000);
        let waits = |times: u32, each: Duration, late: Duration| {
            for _ in 0..times {
                std::thread::sleep(late);
                pace.wait(pace.now() + each);
            }
            pace.now()
        };
        let ends = Mutex::new(Vec::new());
        let end = |at: Duration| ends.lock().unwrap().push(at);
        let threads: [&(dyn Fn() + Sync); 3] =
            [&|| end(waits(10, 3 * MS, MS)), &|| end(waits(4, 5 * MS, Duration::ZERO)), &|| end(waits(0, MS, MS))];
        assert_eq!(run(&pace, &threads), 30 * MS);
        let mut ends = ends.into_inner().unwrap();
        ends.sort_unstable();
        assert_eq!(ends, [Duration::ZERO, 20 * MS, 30 * MS]);
    }

    #[test]
    fn a_real_answer_holds_what_comes_after_it_and_nothing_before() {
        let pace = Pace::new(1_000);
        let (before, answered) = (AtomicU64::new(0), AtomicBool::new(false));
        let asks = || {
            pace.wait_for(10 * MS, || {
                // The others go on as far as that.
                while before.load(Ordering::SeqCst) < 9 {
                    std::thread::yield_now();
                }
                answered.store(true, Ordering::SeqCst);
            });
            assert_eq!(pace.now(), 10 * MS);
        };
        let other = || {
            for at in 1..=20 {
                pace.wait(at * MS);
                assert!(at < 10 || answered.load(Ordering::SeqCst));
                before.fetch_add(1, Ordering::SeqCst);
            }
        };
        assert_eq!(run(&pace, &[&asks, &other]), 20 * MS);
    }

    #[test]
    fn who_is_rung_for_acts_before_he_is_awake() {
        let pace = Pace::new(10_000);
        let (bell, told) = (Bell::default(), Mutex::new(0_u32));
        // One works, and others wait for each of its results; then they wait themselves, from the time of the result on.
        let works = || {
            for at in 1..=100 {
                pace.wait(at * 10 * MS);
                let mut told = told.lock().unwrap();
                *told += 1;
                bell.ring(told);
            }
        };
        let waits = || {
            for at in 1..=100 {
                let mut told = told.lock().unwrap();
                while *told < at {
                    told = bell.wait_timeout(told, MS / 10).unwrap();
                }
                drop(told);
                assert_eq!(pace.now(), at * 10 * MS);
                pace.wait(pace.now() + MS);
            }
        };
        assert_eq!(run(&pace, &[&works, &waits, &waits, &waits]), 1_001 * MS);
    }

    #[test]
    fn an_end_of_following_lets_all_go_on_and_is_noted() {
        let pace = Pace::new(20);
        let notes = Arc::new(Mutex::new(Vec::new()));
        let noted = notes.clone();
        pace.noting(move |at| noted.lock().unwrap().push(at));
        let waits = || (1..=1_000).for_each(|at| pace.wait(at * MS));
        run(&pace, &[&waits]);
        assert!(pace.is_over());
        assert_eq!(*notes.lock().unwrap(), [10 * MS, 20 * MS]);
        // One that waits for what nobody counts.
        let pace = Pace::new(20);
        pace.acts(1);
        pace.wait(MS);
        assert!(pace.is_over());
    }
}
