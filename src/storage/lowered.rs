//! Taps over what a mount makes of its calls rather than over the calls: a kernel's NFS mount sends GETATTR and ACCESS before
//! the READ that it was asked for, and those have their price.

use std::sync::Arc;
use std::time::Duration;

use super::{Call, Ledger, Mount, Tally, Tap, Throttle};

/// A tap that sees the procedures that `mount` issues for calls, by the mount's word (`Mount::lower`).
pub struct Lowered<T> {
    mount: Arc<dyn Mount>,
    tap: Arc<T>,
}

impl<T> Lowered<T> {
    /// `tap` over `mount`.
    pub fn new(mount: Arc<dyn Mount>, tap: Arc<T>) -> Lowered<T> {
        Lowered { mount, tap }
    }
}

impl Tap for Lowered<Ledger> {
    /// Counts the procedures. The window's time is divided among all of them: they are sent one after the other.
    fn after(&self, calls: &[Call<'_>], took: Duration) {
        let lowered: Vec<Tally> = calls.iter().map(|call| self.mount.lower(call)).collect();
        let all = u32::try_from(lowered.iter().map(Tally::calls).sum::<u64>()).unwrap_or(u32::MAX).max(1);
        for (call, lowered) in calls.iter().zip(&lowered) {
            self.tap.record_lowered(call, lowered, took / all);
        }
    }
}

impl Tap for Lowered<Throttle> {
    fn before(&self, calls: &[Call<'_>]) {
        let all: Tally = calls.iter().map(|call| self.mount.lower(call)).sum();
        self.tap.hold(&all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::price::Ceiling;
    use crate::base::{PriceList, Proc};
    use crate::storage::{Limits, Node};

    /// Sends two procedures for each call.
    struct Twice;

    impl Mount for Twice {
        fn root(&self) -> Node {
            Node::root_chain(0)
        }
        fn limits(&self) -> Limits {
            unreachable!("nobody asks")
        }
        fn perform(&self, _: &mut [Call<'_>]) {}
        fn lower(&self, call: &Call<'_>) -> Tally {
            let mut tally = Tally::of(call);
            tally.count(Proc::Access, 0, false);
            tally
        }
        fn issued(&self) -> Option<Tally> {
            None
        }
        fn label(&self) -> String {
            "twice".into()
        }
    }

    fn reads() -> [Call<'static>; 2] {
        [(); 2].map(|()| {
            let mut call = Call::read(&Node::root_chain(0), 0, 40_000, Vec::new());
            call.fail(crate::base::Status::Io);
            call
        })
    }

    #[test]
    fn a_ledger_counts_what_is_issued_and_parts_the_time() {
        let ledger = Arc::new(Ledger::default());
        Lowered::new(Arc::new(Twice), ledger.clone()).after(&reads(), Duration::from_millis(40));
        let tally = ledger.tally();
        let read = tally.get(Proc::Read);
        assert_eq!((read.calls, read.failed, read.bytes, read.blocks_extra), (2, 2, 80_000, 2));
        assert_eq!((tally.get(Proc::Access).calls, tally.get(Proc::Access).failed), (2, 0));
        for proc in [Proc::Read, Proc::Access] {
            assert!((9_900..=10_100).contains(&ledger.latency_us(proc, 0.5).unwrap()));
        }
    }

    #[test]
    fn a_throttle_holds_what_is_issued() {
        // Two READs of 40,000 bytes are 3 IOPS each, and two ACCESSes 1: 8 in all, at 1,000 a second.
        let ceiling = Ceiling { iops: 1000.0, bytes_per_s: f64::INFINITY, latency: Duration::ZERO };
        let throttle = Arc::new(Throttle::new(ceiling, PriceList::oci(), Arc::default()));
        let start = std::time::Instant::now();
        Lowered::new(Arc::new(Twice), throttle).before(&reads());
        assert!(start.elapsed() >= Duration::from_millis(8));
    }
}
