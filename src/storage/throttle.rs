//! A ceiling for one target: priced IOPS and payload bytes a second. The same clock shapes the simulator's targets
//! and holds a real run under a budget.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::base::price::Ceiling;
use crate::base::{PriceList, Proc};

use super::{Call, Tally, Tap};

/// A virtual clock for one ceiling pair: each procedure moves it on by its price and by its bytes.
///
/// A target serves procedures one after the other, each for `price / iops` seconds on the IOPS clock and
/// `bytes / bytes_per_s` on the byte clock; it is ready when both are.
#[derive(Debug)]
pub struct Clock {
    iops: f64,
    bytes_per_s: f64,
    price: PriceList,
    free_at: Mutex<FreeAt>,
}

#[derive(Debug)]
struct FreeAt {
    iops: Instant,
    bytes: Instant,
}

impl Clock {
    /// A clock that starts now. A ceiling that is infinite or 0 does not bind.
    pub fn new(ceiling: Ceiling, price: PriceList) -> Clock {
        let now = Instant::now();
        let free_at = Mutex::new(FreeAt { iops: now, bytes: now });
        Clock { iops: ceiling.iops, bytes_per_s: ceiling.bytes_per_s, price, free_at }
    }

    /// Books a procedure that arrives at `now`; returns when the target has served it.
    pub fn book(&self, now: Instant, proc: Proc, bytes: u64) -> Instant {
        self.book_all(now, self.price.price(proc, bytes), bytes)
    }

    /// Books procedures of this price and payload together.
    pub fn book_all(&self, now: Instant, price: u64, bytes: u64) -> Instant {
        let mut free_at = self.free_at.lock().expect("the clock never panics");
        free_at.iops = free_at.iops.max(now) + time_for(price, self.iops);
        free_at.bytes = free_at.bytes.max(now) + time_for(bytes, self.bytes_per_s);
        free_at.iops.max(free_at.bytes)
    }
}

/// The longest that one booking may take, in seconds: what an absurdly low ceiling asks for must still be a point in time.
const BOOKING_S_MAX: f64 = 86_400.0;

fn time_for(amount: u64, per_s: f64) -> Duration {
    let binds = per_s.is_finite() && per_s > 0.0;
    if binds { Duration::from_secs_f64((amount as f64 / per_s).min(BOOKING_S_MAX)) } else { Duration::ZERO }
}

/// How often a call that is held looks whether the run is stopped.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Holds the calls of one mount under a ceiling, by waiting before they are performed.
#[derive(Debug)]
pub struct Throttle {
    clock: Clock,
    price: PriceList,
    /// What is held, if not every procedure.
    only: Option<Proc>,
    stopped: Arc<AtomicBool>,
}

impl Throttle {
    /// A throttle at `ceiling`, priced by `price`. Nothing waits once `stopped` is set: what is under way then is a window for each
    /// lane and what puts things in order, and a low ceiling would hold that for minutes.
    pub fn new(ceiling: Ceiling, price: PriceList, stopped: Arc<AtomicBool>) -> Throttle {
        Throttle { clock: Clock::new(ceiling, price.clone()), price, only: None, stopped }
    }

    /// Holds what `proc` carries and nothing else.
    pub fn only(mut self, proc: Proc) -> Throttle {
        self.only = Some(proc);
        self
    }

    /// Waits until a target under the ceiling has served these.
    pub fn hold(&self, tally: &Tally) {
        self.wait(tally.price(&self.price), tally.bytes());
    }

    fn wait(&self, price: u64, bytes: u64) {
        let mut now = Instant::now();
        let ready = self.clock.book_all(now, price, bytes);
        while now < ready && !self.stopped.load(Ordering::Relaxed) {
            std::thread::sleep((ready - now).min(LOOK_EVERY));
            now = Instant::now();
        }
    }
}

impl Tap for Throttle {
    fn before(&self, calls: &[Call<'_>]) {
        let held = || calls.iter().filter(|call| self.only.is_none_or(|only| call.proc() == only));
        // What holds nothing does not wait for what was booked before it.
        if held().next().is_none() {
            return;
        }
        let price = held().map(|call| self.price.price(call.proc(), call.payload())).sum();
        self.wait(price, held().map(Call::payload).sum());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{Node, Stable};

    #[test]
    fn the_clock_is_the_price_list() {
        let ceiling = Ceiling { iops: 1000.0, bytes_per_s: 1e6, latency: Duration::ZERO };
        let clock = Clock::new(ceiling, PriceList::oci());
        let start = Instant::now() + Duration::from_secs(1);
        let mut ready = start;
        for _ in 0..100 {
            ready = clock.book(start, Proc::Create, 0);
        }
        assert_eq!((ready - start).as_millis(), 400);
        // 1 MB takes a second of the byte clock, which the IOPS clock's 4 + 2*30 = 64 ms + 400 ms do not reach.
        let ready = clock.book(start, Proc::Write, 1_000_000);
        assert_eq!((ready - start).as_millis(), 1000);
    }

    #[test]
    fn a_run_that_is_stopped_is_not_held() {
        let ceiling = Ceiling { iops: f64::INFINITY, bytes_per_s: 0.001, latency: Duration::ZERO };
        let stopped = Arc::new(AtomicBool::new(false));
        let throttle = Arc::new(Throttle::new(ceiling, PriceList::oci(), stopped.clone()).only(Proc::Write));
        let node = Node::root_chain(0);
        // What is not held takes no time; a day of waiting ends with the run.
        throttle.before(&[Call::read(&node, 0, 100, Vec::new())]);
        let (tell, told) = std::sync::mpsc::channel();
        let (held, file) = (throttle.clone(), node.clone());
        std::thread::spawn(move || {
            held.before(&[Call::write(&file, 0, &[0; 100], Stable::Unstable)]);
            tell.send(())
        });
        assert!(told.recv_timeout(LOOK_EVERY).is_err());
        // Nor does it behind what is held for so long.
        throttle.before(&[Call::read(&node, 0, 100, Vec::new())]);
        stopped.store(true, Ordering::Relaxed);
        told.recv_timeout(Duration::from_secs(60)).unwrap();
    }

    #[test]
    fn an_absurd_ceiling_is_slow_and_no_more() {
        let ceiling = Ceiling { iops: f64::MIN_POSITIVE, bytes_per_s: f64::MIN_POSITIVE, latency: Duration::ZERO };
        let clock = Clock::new(ceiling, PriceList::oci());
        let now = Instant::now();
        assert_eq!(clock.book(now, Proc::Write, u64::MAX) - now, Duration::from_secs(86_400));
    }
}
