//! Failing chosen calls, for tests of every job: the k-th call, the k-th of a procedure, or by a seed.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::base::hash::mix;
use crate::base::{Proc, Status};

use super::{Call, Tap};

/// Which calls fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The k-th call, counted from 0; of one procedure when given.
    Nth(u64, Option<Proc>),
    /// About `per_million` of all calls; the same ones for the same seed and order.
    Random {
        /// The seed.
        seed: u64,
        /// Chance of each call in millionths.
        per_million: u32,
    },
}

/// A tap that fails chosen calls with one status; they are not performed.
#[derive(Debug)]
pub struct Faults {
    which: Which,
    status: Status,
    seen: AtomicU64,
    failed: AtomicU64,
}

impl Faults {
    /// Fails the calls that `which` chooses, with `status`.
    pub fn new(which: Which, status: Status) -> Faults {
        Faults { which, status, seen: AtomicU64::new(0), failed: AtomicU64::new(0) }
    }

    /// How many calls have been failed.
    pub fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    /// How many calls it has counted (those of its procedure, when it has one).
    pub fn seen(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }
}

impl Tap for Faults {
    fn admit(&self, call: &Call<'_>) -> Result<(), Status> {
        let fails = match self.which {
            Which::Nth(_, Some(proc)) if proc != call.proc() => false,
            Which::Nth(k, _) => self.seen.fetch_add(1, Ordering::Relaxed) == k,
            Which::Random { seed, per_million } => {
                let n = self.seen.fetch_add(1, Ordering::Relaxed);
                mix(seed ^ mix(n)) % 1_000_000 < u64::from(per_million)
            }
        };
        if fails {
            self.failed.fetch_add(1, Ordering::Relaxed);
            return Err(self.status);
        }
        Ok(())
    }
}
