//! The clock that latencies are measured with: nanoseconds since the run's start.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// CLOCK_MONOTONIC, from a start on. Read without a system call (vDSO), some 20 ns.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start_ns: u64,
    /// The wall clock at the start: ms since 1970.
    pub start_ms: u64,
}

fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

impl Clock {
    /// Starts now.
    pub fn start() -> Clock {
        let wall = clock_gettime(ClockId::Realtime);
        let start_ms = wall.tv_sec as u64 * 1000 + wall.tv_nsec as u64 / 1_000_000;
        Clock { start_ns: monotonic_ns(), start_ms }
    }

    /// Nanoseconds since the start.
    #[inline]
    pub fn now(&self) -> u64 {
        monotonic_ns() - self.start_ns
    }

    /// The wall clock of a time since the start, in ms since 1970.
    pub fn wall_ms(&self, now: u64) -> u64 {
        self.start_ms + now / 1_000_000
    }
}

/// A duration as nanoseconds; what does not fit is the largest.
pub fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
