//! The flag that ends a run early. Signals set it, loops look at it; it is never taken back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A shared flag: clones are the same flag.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks every loop to end.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True once `set` was called.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag itself, for a signal handler that can only store a bool.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }
}
