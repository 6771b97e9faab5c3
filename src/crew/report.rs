//! What failed in a run. Bounded: the first failures are kept whole, the rest only counted.

use std::fmt;
use std::sync::{Mutex, OnceLock};

use crate::base::name::cut;
use crate::base::{Cause, Failure};

/// How many failures are kept whole.
pub const FAILURES_MAX: usize = 1000;

/// Bytes kept of a failure's path, and of its reason: twice the longest path that Linux takes. An archive can name a
/// member by 16 MiB.
pub const TEXT_BYTES_MAX: usize = 8192;

#[derive(Debug, Default)]
struct Kept {
    failures: Vec<Failure>,
    count: u64,
    cancelled: u64,
}

/// Who is told of each failure as it comes.
type Listener = Box<dyn Fn(&Failure) + Send + Sync>;

/// The failures of a run; shared by its lanes.
#[derive(Default)]
pub struct Report {
    kept: Mutex<Kept>,
    listener: OnceLock<Listener>,
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Report").field("kept", &self.kept).finish_non_exhaustive()
    }
}

impl Report {
    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().expect("nothing panics while it reports")
    }

    /// From now on `listener` is told of each failure, also of those that are not kept; the first one stays.
    pub fn tell(&self, listener: impl Fn(&Failure) + Send + Sync + 'static) {
        let _first = self.listener.set(Box::new(listener));
    }

    /// Records one object's failure.
    pub fn add(&self, mut failure: Failure) {
        if failure.path.len() > TEXT_BYTES_MAX {
            failure.path.truncate(TEXT_BYTES_MAX);
            failure.path.extend_from_slice(b"...");
            failure.path.shrink_to_fit();
        }
        if let Cause::Refused(reason) = &mut failure.cause {
            *reason = cut(std::mem::take(reason), TEXT_BYTES_MAX);
        }
        if let Some(listener) = self.listener.get() {
            listener(&failure);
        }
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
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::base::{Proc, Status};

    #[test]
    fn keeps_no_more_of_a_failure_than_its_limit() {
        let report = Report::default();
        report.add(Failure::refused(&[b'x'; 1 << 20], "\u{e9}".repeat(1 << 20)));
        let kept = report.failures().remove(0);
        assert_eq!(kept.path.len(), TEXT_BYTES_MAX + 3);
        assert!(kept.path.ends_with(b"x...") && kept.to_string().ends_with("\u{e9}..."));
        assert!(kept.to_string().len() < 3 * TEXT_BYTES_MAX);
    }

    #[test]
    fn keeps_the_first_and_counts_all() {
        let report = Report::default();
        let told = Arc::new(AtomicUsize::new(0));
        let count = told.clone();
        report.tell(move |failure| _ = count.fetch_add(usize::from(!failure.is_cancelled()), Ordering::Relaxed));
        for i in (0..FAILURES_MAX + 5).rev() {
            let status = if i == 0 { Status::Cancelled } else { Status::Io };
            report.add(Failure::call(format!("{i:05}").as_bytes(), Proc::Write, status));
        }
        assert_eq!((report.count(), report.unkept(), report.cancelled()), (FAILURES_MAX as u64 + 5, 5, 1));
        assert_eq!(told.load(Ordering::Relaxed), FAILURES_MAX + 4);
        let failures = report.failures();
        assert_eq!(failures.len(), FAILURES_MAX);
        assert!(failures.is_sorted_by(|a, b| a.path < b.path));
    }
}
