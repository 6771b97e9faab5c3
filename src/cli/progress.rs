//! The progress line: sampled five times a second from counters that the run keeps anyway, drawn on stderr. Where stderr
//! is no terminal and progress was asked for, a plain line each second.

use std::collections::VecDeque;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::base::PriceList;
use crate::base::price::Ceiling;
use crate::base::units::{bytes_shown, grouped};
use crate::crew::Budget;
use crate::jobs::Live;

use super::console::Console;
use super::meter::{Meter, Meters, Role};

const SAMPLE_EVERY: Duration = Duration::from_millis(200);

/// Samples that a rate is taken over: one second's.
const SAMPLES: usize = 6;

/// Targets whose shares are shown one by one; more are shown as lowest and highest.
const TARGETS_SHOWN_MAX: usize = 8;

/// What the counters said at one time.
#[derive(Clone, Debug)]
struct Sample {
    at: Instant,
    objects: u64,
    iops: Vec<(Option<Role>, u64)>,
}

/// A running progress display.
pub struct Progress {
    console: Arc<Console>,
    ended: Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts to show `live`, whose objects are `noun`, and `meters`; `budget` knows what was read but is not written.
    pub fn start(
        console: &Arc<Console>,
        live: Arc<Live>,
        meters: Meters,
        budget: Budget,
        noun: &'static str,
    ) -> Progress {
        let console = console.clone();
        let ceiling = Ceiling::oci();
        let (ended, end) = channel();
        let terminal = std::io::stderr().is_terminal();
        let bar = terminal.then(|| bar(live.total_bytes.load(Ordering::Relaxed)));
        console.set_bar(bar.clone());
        let lines = console.clone();
        let show = move || {
            let mut samples = VecDeque::with_capacity(SAMPLES);
            // Without a first sample the first line would tell of no rate.
            samples.push_back(sample(&live, &meters.list()));
            for tick in 1u64.. {
                if end.recv_timeout(SAMPLE_EVERY) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                if samples.len() == SAMPLES {
                    samples.pop_front();
                }
                samples.push_back(sample(&live, &meters.list()));
                let text = text(&samples, noun, live.bytes.load(Ordering::Relaxed), ceiling);
                match &bar {
                    Some(bar) => {
                        bar.set_position(done_bytes(&live, budget.held()));
                        bar.set_message(text);
                        bar.tick();
                    }
                    None if tick % 5 == 0 => lines.message(text),
                    None => {}
                }
            }
        };
        let thread = std::thread::Builder::new().name("progress".into()).spawn(show);
        // Without the thread the run is the same, only silent.
        Progress { console, ended, thread: thread.ok() }
    }

    /// Takes the line off the screen.
    pub fn finish(self) {
        // Fails when the thread has ended already.
        let _ended = self.ended.send(());
        if let Some(thread) = self.thread
            && thread.join().is_err()
        {
            self.console.message("the progress display failed");
        }
        let bar = self.console.take_bar();
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(total_bytes: u64) -> ProgressBar {
    let (bar, template) = match total_bytes {
        0 => (ProgressBar::no_length(), "{elapsed} {wide_msg}"),
        total => (ProgressBar::new(total), "{elapsed} {percent:>3}% {wide_msg}"),
    };
    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
    bar.set_style(ProgressStyle::with_template(template).expect("the template is valid"));
    bar
}

/// How much of the archive is dealt with, at least: reading runs ahead of writing by what is `held`, and stands still while
/// a large file is written; members have a header of 512 bytes each.
fn done_bytes(live: &Live, held: u64) -> u64 {
    let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let written = get(&live.bytes) + 512 * get(&live.objects);
    get(&live.archive_bytes).saturating_sub(held).max(written).min(get(&live.total_bytes))
}

fn sample(live: &Live, meters: &[Meter]) -> Sample {
    let list = PriceList::oci();
    let iops = meters.iter().map(|meter| (meter.role, meter.ledger.tally().price(&list))).collect();
    Sample { at: Instant::now(), objects: live.objects.load(Ordering::Relaxed), iops }
}

fn text(samples: &VecDeque<Sample>, noun: &str, bytes: u64, ceiling: Ceiling) -> String {
    let (Some(first), Some(last)) = (samples.front(), samples.back()) else { return String::new() };
    let seconds = (last.at - first.at).as_secs_f64();
    let rate = |now: u64, then: u64| if seconds > 0.0 { now.saturating_sub(then) as f64 / seconds } else { 0.0 };
    // A target that joined meanwhile had nothing before.
    let then = first.iops.iter().map(|(_, iops)| *iops).chain(std::iter::repeat(0));
    let iops: Vec<(Option<Role>, f64)> =
        last.iops.iter().zip(then).map(|(&(role, now), then)| (role, rate(now, then))).collect();
    let mut text = format!(
        "{} {noun}, {}, {}/s",
        grouped(last.objects),
        bytes_shown(bytes),
        grouped(rate(last.objects, first.objects) as u64),
    );
    for role in [None, Some(Role::Source), Some(Role::Destination)] {
        let of_role: Vec<f64> = iops.iter().filter(|(of, _)| *of == role).map(|(_, iops)| *iops).collect();
        if !of_role.is_empty() {
            text += &format!(
                ", {}{} IOPS ({} of {})",
                role.map_or_else(String::new, |role| format!("{} ", role.name())),
                grouped(of_role.iter().sum::<f64>() as u64),
                shares(&of_role, ceiling),
                grouped(ceiling.iops as u64)
            );
        }
    }
    text
}

fn shares(iops: &[f64], ceiling: Ceiling) -> String {
    let percent = |iops: f64| format!("{:.0} %", iops / ceiling.iops * 100.0);
    if iops.len() <= TARGETS_SHOWN_MAX {
        return iops.iter().map(|&iops| percent(iops)).collect::<Vec<_>>().join(", ");
    }
    let lowest = iops.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = iops.iter().copied().fold(0.0, f64::max);
    format!("{} to {}", percent(lowest), percent(highest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_only_read_is_not_done() {
        let live = Live::default();
        live.total_bytes.store(10_000_000, Ordering::Relaxed);
        live.archive_bytes.store(5_000_000, Ordering::Relaxed);
        assert_eq!(done_bytes(&live, 4_000_000), 1_000_000);
        // A large file is being written: what was read of it is told when it is over.
        live.bytes.store(7_000_000, Ordering::Relaxed);
        live.objects.store(10, Ordering::Relaxed);
        assert_eq!(done_bytes(&live, 4_000_000), 7_005_120);
        live.bytes.store(20_000_000, Ordering::Relaxed);
        assert_eq!(done_bytes(&live, 0), 10_000_000);
    }

    #[test]
    fn rates_are_taken_over_the_window_of_samples() {
        let at = Instant::now();
        let sample = |s, objects, iops: &[(Option<Role>, u64)]| Sample {
            at: at + Duration::from_secs(s),
            objects,
            iops: iops.to_vec(),
        };
        let samples = VecDeque::from([
            sample(0, 1_000, &[(None, 0), (None, 10_000)]),
            sample(2, 11_000, &[(None, 50_000), (None, 100_000)]),
        ]);
        assert_eq!(
            text(&samples, "members", 1_500_000, Ceiling::oci()),
            "11,000 members, 1.50 MB, 5,000/s, 70,000 IOPS (50 %, 90 % of 50,000)"
        );
        let (source, destination) = (Some(Role::Source), Some(Role::Destination));
        let samples =
            VecDeque::from([sample(0, 0, &[(source, 0)]), sample(1, 10, &[(source, 5_000), (destination, 25_000)])]);
        assert_eq!(
            text(&samples, "files", 5, Ceiling::oci()),
            "10 files, 5 B, 10/s, source 5,000 IOPS (10 % of 50,000), destination 25,000 IOPS (50 % of 50,000)"
        );
        assert_eq!(shares(&[5_000.0; 9], Ceiling::oci()), "10 % to 10 %");
    }
}
