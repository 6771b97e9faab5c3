//! What takes long before there is a progress line is told.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use super::console::Console;

/// How long nobody wonders.
pub const USUAL: Duration = Duration::from_secs(3);

/// Does `work`; if it takes longer than `patience`, tells once what is waited for.
pub fn told(console: Option<&Console>, patience: Duration, text: impl FnOnce() -> String + Send, work: impl FnOnce()) {
    let (done, over) = mpsc::channel::<()>();
    let tell = move || {
        if over.recv_timeout(patience) == Err(RecvTimeoutError::Timeout)
            && let Some(console) = console
        {
            console.message(text());
        }
    };
    std::thread::scope(|scope| {
        // Without a thread to tell of it, it is waited for all the same.
        let _told = std::thread::Builder::new().name("patience".into()).spawn_scoped(scope, tell);
        work();
        drop(done);
    });
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_long_wait_is_told_once_and_a_short_one_never() {
        let (console, told_of) = (Console::new("test"), AtomicU32::new(0));
        let text = || {
            told_of.fetch_add(1, Ordering::Relaxed);
            "waiting for a test".to_string()
        };
        told(Some(&console), Duration::from_secs(3600), text, || {});
        assert_eq!(told_of.load(Ordering::Relaxed), 0);
        let begun = Instant::now();
        let slow = || {
            while told_of.load(Ordering::Relaxed) == 0 && begun.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        told(Some(&console), Duration::from_millis(1), text, slow);
        assert_eq!(told_of.load(Ordering::Relaxed), 1);
        told(None, Duration::from_millis(1), text, || std::thread::sleep(Duration::from_millis(20)));
        assert_eq!(told_of.load(Ordering::Relaxed), 1, "there is nobody to tell");
    }
}
