//! What watches, delays or fails the calls of a mount without the mount's knowing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::base::Status;

use super::{Attr, Call, Lent, Limits, Mount, Node, Tally};

/// A wrapper's part in each window of calls.
pub trait Tap: Send + Sync {
    /// May refuse a call, which then fails with that status and is not performed.
    fn admit(&self, _call: &Call<'_>) -> Result<(), Status> {
        Ok(())
    }

    /// Sees the admitted calls before they are performed; may wait.
    fn before(&self, _calls: &[Call<'_>]) {}

    /// Must it see each REMOVE and COPY? Then the mount does not announce what makes many at once.
    fn sees_each(&self) -> bool {
        true
    }

    /// Sees the calls and their outcomes, refused ones too; `took` is the window's time.
    fn after(&self, _calls: &[Call<'_>], _took: Duration) {}
}

/// A mount with taps; itself a mount. The first tap is the outermost.
pub struct Tapped {
    mount: Arc<dyn Mount>,
    taps: Vec<Arc<dyn Tap>>,
    /// How long windows take is worth two looks at the clock.
    is_timed: bool,
}

impl Tapped {
    /// Wraps `mount`.
    pub fn new(mount: Arc<dyn Mount>, taps: Vec<Arc<dyn Tap>>) -> Tapped {
        Tapped { is_timed: mount.waits(), mount, taps }
    }

    fn admit(&self, call: &mut Call<'_>) -> bool {
        match self.taps.iter().try_for_each(|tap| tap.admit(call)) {
            Ok(()) => true,
            Err(status) => {
                call.fail(status);
                false
            }
        }
    }
}

/// Performs the calls at `indexes` (rising) of `calls` as one window of their own.
pub(super) fn perform_some(calls: &mut [Call<'_>], indexes: &[usize], perform: impl FnOnce(&mut [Call<'_>])) {
    if indexes.len() == calls.len() {
        return perform(calls);
    }
    if indexes.is_empty() {
        return;
    }
    let mut some: Vec<Call<'_>> = indexes.iter().map(|&i| std::mem::take(&mut calls[i])).collect();
    perform(&mut some);
    for (&i, call) in indexes.iter().zip(some) {
        calls[i] = call;
    }
}

impl Mount for Tapped {
    fn root(&self) -> Node {
        self.mount.root()
    }

    fn limits(&self) -> Limits {
        let mut limits = self.mount.limits();
        let one_by_one = self.taps.iter().any(|tap| tap.sees_each());
        limits.extras.bulk &= !one_by_one;
        limits.extras.clears &= !one_by_one;
        limits
    }

    fn perform(&self, calls: &mut [Call<'_>]) {
        let refused: Vec<usize> = (0..calls.len()).filter(|&i| !self.admit(&mut calls[i])).collect();
        let mut start = None;
        let mut perform = |some: &mut [Call<'_>]| {
            self.taps.iter().for_each(|tap| tap.before(some));
            // A throttle holds a window back there, which is not the mount's time.
            start = self.is_timed.then(Instant::now);
            self.mount.perform(some);
        };
        if refused.is_empty() {
            perform(calls);
        } else {
            let admitted: Vec<usize> = (0..calls.len()).filter(|i| refused.binary_search(i).is_err()).collect();
            perform_some(calls, &admitted, perform);
        }
        let took = start.map_or(Duration::ZERO, |start: Instant| start.elapsed());
        self.taps.iter().rev().for_each(|tap| tap.after(calls, took));
    }

    fn lend(&self, node: &Node) -> Option<Lent> {
        self.mount.lend(node)
    }

    fn lend_dir(&self, dir: &Node) -> Option<Lent> {
        self.mount.lend_dir(dir)
    }

    fn is_made_up(&self, node: &Node, attr: &Attr) -> bool {
        self.mount.is_made_up(node, attr)
    }

    fn waits(&self) -> bool {
        self.mount.waits()
    }

    fn refresh(&self, dir: &Node) {
        self.mount.refresh(dir);
    }

    fn lower(&self, call: &Call<'_>) -> Tally {
        self.mount.lower(call)
    }

    fn makes_as(&self) -> Option<(u32, u32)> {
        self.mount.makes_as()
    }

    fn issued(&self) -> Option<Tally> {
        self.mount.issued()
    }

    fn label(&self) -> String {
        self.mount.label()
    }
}
