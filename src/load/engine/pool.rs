//! Threads that carry out tasks for one owner: handed over in order, taken back as they end.
//!
//! Promises: each task comes back once; it is begun as soon as a thread is free; dropping the pool waits for what is under way
//! and forgets what was not begun. Leaves out: what tasks do, and how long they may take.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use rustix::io::Errno;

/// An RPC needs some 10 KiB; a page is used only when it is touched.
const STACK_BYTES: usize = 256 << 10;

/// What carries out tasks.
pub(super) type Work<T, R> = Box<dyn FnMut(T) -> R + Send>;

struct State<T, R> {
    tasks: VecDeque<T>,
    ended: VecDeque<R>,
    /// Workers that sleep.
    idle: usize,
    /// The owner sleeps until so many have ended; 0: it does not sleep.
    awaited: usize,
    /// Workers are to end.
    over: bool,
    /// A worker panicked, and what it had will not come back.
    broken: bool,
}

struct Shared<T, R> {
    state: Mutex<State<T, R>>,
    work: Condvar,
    ended: Condvar,
}

impl<T, R> Shared<T, R> {
    fn lock(&self) -> MutexGuard<'_, State<T, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Workers and what is between them and their owner.
pub(super) struct Pool<T, R> {
    shared: Arc<Shared<T, R>>,
    workers: Vec<JoinHandle<()>>,
    /// Taken from the workers and not yet asked for.
    ready: VecDeque<R>,
    under_way: usize,
}

impl<T: Send + 'static, R: Send + 'static> Pool<T, R> {
    /// So many workers named `name`, each with what `make` makes for it. An error is that of starting a thread.
    pub fn new<W>(name: &str, workers: usize, mut make: impl FnMut() -> W) -> io::Result<Pool<T, R>>
    where
        W: FnMut(T) -> R + Send + 'static,
    {
        let state = State {
            tasks: VecDeque::with_capacity(workers),
            ended: VecDeque::with_capacity(workers),
            idle: 0,
            awaited: 0,
            over: false,
            broken: false,
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), work: Condvar::new(), ended: Condvar::new() });
        let mut pool = Pool { shared, workers: Vec::with_capacity(workers), ready: VecDeque::new(), under_way: 0 };
        for _ in 0..workers {
            let (shared, work) = (pool.shared.clone(), make());
            let thread = Builder::new().name(name.into()).stack_size(STACK_BYTES);
            pool.workers.push(thread.spawn(move || serve(&shared, work))?);
        }
        Ok(pool)
    }

    /// Hands over all of `tasks`.
    pub fn submit(&mut self, tasks: &mut Vec<T>) {
        let count = tasks.len();
        self.under_way += count;
        let idle = {
            let mut state = self.shared.lock();
            state.tasks.extend(tasks.drain(..));
            state.idle
        };
        (0..count.min(idle)).for_each(|_| self.shared.work.notify_one());
    }

    /// Takes what needed no worker; it comes back with the rest.
    pub fn put(&mut self, ended: R) {
        self.under_way += 1;
        self.ready.push_back(ended);
    }

    /// Handed over and not yet taken back.
    pub fn under_way(&self) -> usize {
        self.under_way
    }

    /// Gives what has ended to `each`: at least `min` (or all that is under way, if that is less), at most `max`; fewer than `min` when
    /// `wait` is over. An error is that a worker panicked.
    pub fn take(
        &mut self,
        min: usize,
        max: usize,
        wait: Option<Duration>,
        mut each: impl FnMut(R),
    ) -> Result<(), Errno> {
        let min = min.min(max).min(self.under_way);
        if self.ready.len() < max {
            self.collect(min, wait)?;
        }
        let count = self.ready.len().min(max);
        self.under_way -= count;
        self.ready.drain(..count).for_each(&mut each);
        Ok(())
    }

    /// Waits until `min` are ready.
    fn collect(&mut self, min: usize, wait: Option<Duration>) -> Result<(), Errno> {
        let missing = min.saturating_sub(self.ready.len());
        // A point in time that cannot be named is never reached.
        let until = wait.and_then(|wait| Instant::now().checked_add(wait));
        let mut state = self.shared.lock();
        while state.ended.len() < missing && !state.broken {
            state.awaited = missing;
            state = match until {
                None => self.shared.ended.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        break;
                    }
                    self.shared.ended.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        state.awaited = 0;
        self.ready.append(&mut state.ended);
        if state.broken { Err(Errno::IO) } else { Ok(()) }
    }
}

impl<T, R> Drop for Pool<T, R> {
    fn drop(&mut self) {
        let dropped = {
            let mut state = self.shared.lock();
            state.over = true;
            std::mem::take(&mut state.tasks)
        };
        self.shared.work.notify_all();
        drop(dropped);
        for worker in self.workers.drain(..) {
            // One that panicked has nothing more to end, and its owner was told.
            let _ = worker.join();
        }
    }
}

/// Who carries out what one clone has in flight.
pub(super) enum Hands<T, R> {
    /// Its own thread, one at a time: nothing is handed over.
    Own(Work<T, R>),
    /// Workers, and what they are not given yet.
    Pool(Pool<T, R>, Vec<T>),
}

impl<T: Send + 'static, R: Send + 'static> Hands<T, R> {
    /// For up to `depth` tasks at once. An error is that of starting a thread.
    pub fn new(name: &str, depth: u32, mut make: impl FnMut() -> Work<T, R>) -> io::Result<Hands<T, R>> {
        Ok(match depth {
            0 | 1 => Hands::Own(make()),
            _ => Hands::Pool(Pool::new(name, depth as usize, make)?, Vec::new()),
        })
    }

    /// True when what is queued is over at once.
    pub fn waits(&self) -> bool {
        matches!(self, Hands::Own(_))
    }

    /// Takes a task, or what came of one that could not begin; gives back what is over. The rest goes at the next `commit`.
    pub fn queue(&mut self, task: Result<T, R>) -> Option<R> {
        match (self, task) {
            (Hands::Own(work), task) => Some(task.map_or_else(|ended| ended, work)),
            (Hands::Pool(_, queued), Ok(task)) => {
                queued.push(task);
                None
            }
            (Hands::Pool(pool, _), Err(ended)) => {
                pool.put(ended);
                None
            }
        }
    }

    /// Hands over what was queued; how many that were.
    pub fn commit(&mut self) -> usize {
        match self {
            Hands::Pool(pool, queued) if !queued.is_empty() => {
                let count = queued.len();
                pool.submit(queued);
                count
            }
            _ => 0,
        }
    }

    /// As [`Pool::take`].
    pub fn take(&mut self, min: usize, max: usize, wait: Option<Duration>, each: impl FnMut(R)) -> Result<(), Errno> {
        match self {
            Hands::Own(_) => Ok(()),
            Hands::Pool(pool, _) => pool.take(min, max, wait, each),
        }
    }
}

/// Tells the owner when a worker panics.
struct Watch<'a, T, R>(&'a Shared<T, R>);

impl<T, R> Drop for Watch<'_, T, R> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.lock().broken = true;
            self.0.ended.notify_all();
        }
    }
}

fn serve<T, R>(shared: &Shared<T, R>, mut work: impl FnMut(T) -> R) {
    let _watch = Watch(shared);
    let mut state = shared.lock();
    loop {
        if let Some(task) = state.tasks.pop_front() {
            drop(state);
            let result = work(task);
            state = shared.lock();
            state.ended.push_back(result);
            if state.awaited > 0 && state.ended.len() >= state.awaited {
                // One worker tells; not under the lock, which the owner would meet at once.
                state.awaited = 0;
                drop(state);
                shared.ended.notify_one();
                state = shared.lock();
            }
        } else if state.over {
            return;
        } else {
            state.idle += 1;
            state = shared.work.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn each_task_comes_back_once_in_portions_as_asked() {
        let mut pool = Pool::new("test", 3, || |n: usize| n).unwrap();
        let mut seen = vec![0; 1000];
        let mut next = 0;
        while next < seen.len() {
            let more = (seen.len() - next).min(7 - pool.under_way());
            pool.submit(&mut (next..next + more).collect());
            next += more;
            let mut taken = 0;
            pool.take(2, 5, None, |n| {
                seen[n] += 1;
                taken += 1;
            })
            .unwrap();
            assert!((2..=5).contains(&taken), "{taken}");
        }
        pool.put(0);
        // More than there are is all of them.
        let left = pool.under_way();
        let mut taken = 0;
        pool.take(usize::MAX, usize::MAX, None, |n| {
            seen[n] += 1;
            taken += 1;
        })
        .unwrap();
        assert_eq!((left, pool.under_way()), (taken, 0));
        assert!(seen[0] == 2 && seen[1..].iter().all(|&n| n == 1));
    }

    #[test]
    fn as_many_at_once_as_there_are_workers() {
        let barrier = Arc::new(std::sync::Barrier::new(8));
        let mut pool = Pool::new("test", 8, || {
            let barrier = barrier.clone();
            move |_: ()| barrier.wait().is_leader()
        })
        .unwrap();
        pool.submit(&mut vec![(); 16]);
        let mut leaders = 0;
        pool.take(16, 16, None, |leader| leaders += usize::from(leader)).unwrap();
        assert_eq!(leaders, 2);
    }

    #[test]
    fn a_wait_that_is_over_takes_what_there_is() {
        let (open, gate) = std::sync::mpsc::channel::<()>();
        let gate = Arc::new(Mutex::new(gate));
        let mut pool = Pool::new("test", 2, || {
            let gate = gate.clone();
            move |wait: bool| {
                if wait {
                    let _ = gate.lock().unwrap().recv();
                }
                wait
            }
        })
        .unwrap();
        pool.submit(&mut vec![true]);
        let mut taken = Vec::new();
        pool.take(1, 1, Some(Duration::from_millis(1)), |wait| taken.push(wait)).unwrap();
        assert!(taken.is_empty());
        pool.submit(&mut vec![false]);
        pool.take(1, 2, Some(Duration::MAX), |wait| taken.push(wait)).unwrap();
        open.send(()).unwrap();
        pool.take(1, 2, None, |wait| taken.push(wait)).unwrap();
        assert_eq!(taken, [false, true]);
    }

    #[test]
    fn dropping_waits_for_what_was_begun_and_forgets_the_rest() {
        let (begun, ended) = (Arc::new(std::sync::Barrier::new(3)), Arc::new(AtomicUsize::new(0)));
        let mut pool = Pool::new("test", 2, || {
            let (begun, ended) = (begun.clone(), ended.clone());
            move |first: bool| {
                if first {
                    begun.wait();
                }
                ended.fetch_add(1, Ordering::SeqCst);
            }
        })
        .unwrap();
        let mut tasks = vec![true; 2];
        pool.submit(&mut tasks);
        begun.wait();
        drop(pool);
        assert_eq!(ended.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn a_panic_is_told_and_nobody_hangs() {
        let mut pool = Pool::new("test", 2, || |n: u8| assert!(n > 0, "this panic is a part of the test")).unwrap();
        pool.submit(&mut vec![0, 1, 2]);
        assert_eq!(pool.take(3, 3, None, drop), Err(Errno::IO));
    }
}
