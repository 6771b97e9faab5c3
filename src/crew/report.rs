//! What failed in a run. Bounded: the first failures are kept whole, the rest only counted.

use std::sync::Mutex;

use crate::base::Failure;

/// How many failures are kept whole.
pub const FAILURES_MAX: usize = 1000;

#[derive(Debug, Default)]
struct Kept {
    failures: Vec<Failure>,
    count: u64,
    cancelled: u64,
}

/// The failures of a run; shared by its lanes.
#[derive(Debug, Default)]
pub struct Report(Mutex<Kept>);

impl Report {
    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.0.lock().expect("nothing panics while it reports")
    }

    /// Records one object's failure.
    pub fn add(&self, failure: Failure) {
        let mut kept = self.kept();
        kept.count += 1;
        kept.cancelled += u64::from(failure.is_cancelled());
        if kept.failures.len() < FAILURES_MAX {
            kept.failures.push(failure);
        }
    }

    /// How many failed, kept or not.
    pub fn count(&self) -> u64 {
        self.kept().count
    }

    /// How many of them failed only because the run was stopped.
    pub fn cancelled(&self) -> u64 {
        self.kept().cancelled
    }

    /// The failures kept, by path, so that the same failures read the same whatever the lanes did.
    pub fn failures(&self) -> Vec<Failure> {
        let mut failures = self.kept().failures.clone();
        failures.sort_by_cached_key(|f| (f.path.clone(), f.to_string()));
        failures
    }

    /// How many were counted but not kept.
    pub fn unkept(&self) -> u64 {
        let kept = self.kept();
        kept.count - kept.failures.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Proc, Status};

    #[test]
    fn keeps_the_first_and_counts_all() {
        let report = Report::default();
        for i in (0..FAILURES_MAX + 5).rev() {
            let status = if i == 0 { Status::Cancelled } else { Status::Io };
            report.add(Failure::call(format!("{i:05}").as_bytes(), Proc::Write, status));
        }
        assert_eq!((report.count(), report.unkept(), report.cancelled()), (FAILURES_MAX as u64 + 5, 5, 1));
        let failures = report.failures();
        assert_eq!(failures.len(), FAILURES_MAX);
        assert!(failures.is_sorted_by(|a, b| a.path < b.path));
    }
}
