//! What leaves something behind if the process ends amid it: a signal that would end it waits.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

static HELD: Mutex<usize> = Mutex::new(0);
static NONE_HELD: Condvar = Condvar::new();

fn held() -> MutexGuard<'static, usize> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// While one lives, [`wait`] waits.
#[derive(Debug)]
pub(crate) struct Unbroken(());

impl Unbroken {
    /// From now on.
    pub fn begin() -> Unbroken {
        *held() += 1;
        Unbroken(())
    }
}

impl Clone for Unbroken {
    fn clone(&self) -> Unbroken {
        Unbroken::begin()
    }
}

impl Drop for Unbroken {
    fn drop(&mut self) {
        let mut held = held();
        *held -= 1;
        if *held == 0 {
            NONE_HELD.notify_all();
        }
    }
}

/// Returns once nothing is held, at the latest after `most`: a server may not answer.
pub(crate) fn wait(most: Duration) {
    let waited = NONE_HELD.wait_timeout_while(held(), most, |held| *held > 0);
    drop(waited.unwrap_or_else(PoisonError::into_inner));
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn who_waits_goes_on_when_the_last_is_gone_or_time_is_up() {
        let (first, gone) = (Unbroken::begin(), AtomicBool::new(false));
        wait(Duration::from_millis(1));
        std::thread::scope(|s| {
            let second = first.clone();
            drop(first);
            s.spawn(|| {
                gone.store(true, Ordering::SeqCst);
                drop(second);
            });
            wait(Duration::MAX);
            assert!(gone.load(Ordering::SeqCst));
        });
    }
}
