//! SIGINT, SIGTERM and SIGHUP: once a job runs, the first asks the run to end in order, a second one, later, ends it at once. SIGUSR1
//! asks how far it is. SIGXFSZ is outlived. A SIGHUP that is ignored when the run begins stays so: that is what nohup is for.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGXFSZ};
use signal_hook::iterator::Signals;

use crate::base::unbroken;
use crate::crew::Stop;

/// Signals this soon after the first are the same request: coreutils' timeout sends one to its child, and then one to its group.
const SAME: Duration = Duration::from_millis(500);

/// What waits for a server that does not answer is broken off after this.
const UNBROKEN_MAX: Duration = Duration::from_secs(10);

/// Some `defer` has signals, and some `watch`, which goes before it.
static IS_DEFERRED: AtomicBool = AtomicBool::new(false);
static IS_WATCHED: AtomicBool = AtomicBool::new(false);

/// The first signal that came, if any.
#[derive(Clone, Debug, Default)]
pub struct Caught {
    first: Arc<AtomicI32>,
    /// Noted by the handler: a program that the run has started is ended by the same key, and what that leads to must not be taken for the
    /// cause before the thread that heeds signals has run. Of several it is the last.
    noted: Arc<AtomicUsize>,
}

impl Caught {
    /// The signal's number.
    pub fn signal(&self) -> Option<i32> {
        let noted = || i32::try_from(self.noted.load(Ordering::Relaxed)).ok();
        let first = Some(self.first.load(Ordering::Relaxed)).filter(|signal| *signal != 0);
        first.or_else(noted).filter(|signal| *signal != 0)
    }
}

/// A flag that SIGUSR1 raises.
pub fn asked() -> io::Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGUSR1, asked.clone())?;
    Ok(asked)
}

/// From now on a write beyond the limit of a file's size (`ulimit -f`) is refused with EFBIG and told as any other failure: SIGXFSZ would
/// end the run where it is, with temporary names and files that look complete behind it. Caught, not ignored: programs that are run get
/// it as it was.
pub fn outlive_limits() -> io::Result<()> {
    if !is_ignored(SIGXFSZ) {
        signal_hook::flag::register(SIGXFSZ, Arc::default())?;
    }
    Ok(())
}

/// Until a `watch`, a signal ends the process as ever, but not amid what would leave something behind; a second one, later, does.
pub fn defer() -> io::Result<()> {
    if IS_DEFERRED.swap(true, Ordering::SeqCst) {
        return Ok(());
    }
    // Who takes them is there before they are caught: without a thread for it they end the process as ever.
    let (to, from) = mpsc::channel::<Signals>();
    std::thread::Builder::new().name("early signals".into()).spawn(move || {
        let Ok(mut signals) = from.recv() else { return };
        let mut came: Option<Instant> = None;
        for signal in signals.forever() {
            if IS_WATCHED.load(Ordering::SeqCst) {
                return;
            }
            match came {
                Some(came) if came.elapsed() > SAME => end_by(signal),
                Some(_) => {}
                None => {
                    came = Some(Instant::now());
                    let end = move || {
                        unbroken::wait(UNBROKEN_MAX);
                        end_by(signal);
                    };
                    // Without a thread for it no second signal is heard meanwhile.
                    if std::thread::Builder::new().spawn(end).is_err() {
                        end();
                    }
                }
            }
        }
    })?;
    // The thread ends behind this, so it takes them.
    let _ = to.send(Signals::new(all())?);
    Ok(())
}

/// Ends the process as the signal does that nobody catches.
fn end_by(signal: i32) {
    // An error: of a signal that has no such default, which none of these is.
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}

/// Those that end a run.
fn all() -> impl Iterator<Item = i32> + Clone {
    let hangup = (!is_ignored(SIGHUP)).then_some(SIGHUP);
    [SIGINT, SIGTERM].into_iter().chain(hangup)
}

/// Sets `stop` at the first signal, then calls `tell` with its number; a second one, after `SAME`, ends the process.
pub fn watch(stop: Stop, tell: impl Fn(i32) + Send + 'static) -> io::Result<Caught> {
    let caught = Caught::default();
    for signal in all() {
        signal_hook::flag::register_usize(signal, caught.noted.clone(), signal.unsigned_abs() as usize)?;
    }
    let mut signals = Signals::new(all())?;
    IS_WATCHED.store(true, Ordering::SeqCst);
    let first = caught.first.clone();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        let mut came: Option<Instant> = None;
        for signal in signals.forever() {
            match came {
                Some(came) if came.elapsed() > SAME => std::process::exit(128 + signal),
                Some(_) => {}
                None => {
                    came = Some(Instant::now());
                    first.store(signal, Ordering::Relaxed);
                    stop.set();
                    tell(signal);
                }
            }
        }
    })?;
    Ok(caught)
}

/// True when the process was started with this signal ignored (proc(5): SigIgn). Without /proc none is.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
