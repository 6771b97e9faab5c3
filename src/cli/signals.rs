//! SIGINT, SIGTERM and SIGHUP: the first asks the run to end in order, the second ends it at once. SIGUSR1 asks how far it is.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

use crate::crew::Stop;

/// The first signal that came, if any.
#[derive(Clone, Debug, Default)]
pub struct Caught(Arc<AtomicI32>);

impl Caught {
    /// The signal's number.
    pub fn signal(&self) -> Option<i32> {
        Some(self.0.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
    }
}

/// A flag that SIGUSR1 raises.
pub fn asked() -> io::Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGUSR1, asked.clone())?;
    Ok(asked)
}

/// Sets `stop` at the first signal, then calls `tell` with its number; a second one ends the process.
pub fn watch(stop: Stop, tell: impl Fn(i32) + Send + 'static) -> io::Result<Caught> {
    let caught = Caught::default();
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let first = caught.0.clone();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            if first.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed).is_err() {
                std::process::exit(128 + signal);
            }
            stop.set();
            tell(signal);
        }
    })?;
    Ok(caught)
}
