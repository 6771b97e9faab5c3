//! The progress line: drawn on stderr where that is a terminal, else written a line a second.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::base::price::Ceiling;
use crate::base::units::{bytes_shown, grouped};
use crate::cli::console::Console;
use crate::cli::meter::Role;

use super::{Sample, Watched, iops, rate};

/// Targets whose shares are shown one by one; more are shown as lowest and highest.
const TARGETS_SHOWN_MAX: usize = 8;

/// A progress line.
pub struct Line {
    bar: Option<ProgressBar>,
}

impl Line {
    /// Begins one; names on the terminal step aside for it.
    pub fn start(console: &Console, watched: &Watched<'_>) -> Line {
        let bar = std::io::stderr().is_terminal().then(|| bar(watched.done().map(|(_, total)| total)));
        // One that draws nothing on such a terminal (TERM=dumb) is none.
        let bar = bar.filter(|bar| !bar.is_hidden());
        console.set_bar(bar.clone());
        Line { bar }
    }

    /// False where there is no terminal.
    pub fn is_drawn(&self) -> bool {
        self.bar.is_some()
    }

    /// Shows `text`, and how much is done.
    pub fn draw(&self, done: Option<(u64, u64)>, text: String) {
        let Some(bar) = &self.bar else { return };
        if let Some((done, _)) = done {
            bar.set_position(done);
        }
        bar.set_message(text);
        bar.tick();
    }

    /// Takes the line off the screen.
    pub fn finish(self, console: &Console) {
        if let Some(bar) = console.take_bar() {
            bar.finish_and_clear();
        }
    }
}

fn bar(total_bytes: Option<u64>) -> ProgressBar {
    let (bar, template) = match total_bytes {
        None => (ProgressBar::no_length(), "{elapsed} {wide_msg}"),
        Some(total) => (ProgressBar::new(total), "{elapsed} {percent:>3}% {wide_msg}"),
    };
    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
    bar.set_style(ProgressStyle::with_template(template).expect("the template is valid"));
    bar
}

/// What was done of `noun`, and at which rates since `first`.
pub fn text(first: &Sample, last: &Sample, noun: &str) -> String {
    let ceiling = Ceiling::oci();
    let objects = rate(last.objects, first.objects, (last.at - first.at).as_secs_f64());
    let mut text =
        format!("{} {noun}, {}, {}/s", grouped(last.objects), bytes_shown(last.bytes), grouped(objects as u64));
    let iops = iops(first, last);
    let mut of = format!(" of {}", grouped(ceiling.iops as u64));
    // What costs most first: the line is cut where the terminal ends.
    for role in [None, Some(Role::Destination), Some(Role::Source)] {
        let of_role: Vec<f64> = iops.iter().filter(|(of, _)| *of == role).map(|(_, iops)| *iops).collect();
        if !of_role.is_empty() {
            text += &format!(
                ", {}{} IOPS ({}{})",
                role.map_or_else(String::new, |role| format!("{} ", role.name())),
                grouped(of_role.iter().sum::<f64>() as u64),
                shares(&of_role, ceiling),
                std::mem::take(&mut of)
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
pub mod tests {
    use std::time::{Duration, Instant};

    use super::super::TargetSample;
    use super::*;

    /// Counters `s` seconds after `at`.
    pub fn sample(at: Instant, s: u64, objects: u64, bytes: u64, iops: &[(Option<Role>, u64)]) -> Sample {
        let target = |&(role, iops): &(Option<Role>, u64)| TargetSample {
            target: "10.0.0.5".into(),
            role,
            calls: iops / 2,
            iops,
        };
        let targets = iops.iter().map(target).collect();
        Sample { at: at + Duration::from_secs(s), objects, bytes, failures: 0, targets }
    }

    #[test]
    fn rates_are_taken_between_the_samples() {
        let at = Instant::now();
        let first = sample(at, 0, 1_000, 0, &[(None, 0), (None, 10_000)]);
        let last = sample(at, 2, 11_000, 1_500_000, &[(None, 50_000), (None, 100_000)]);
        assert_eq!(
            text(&first, &last, "members"),
            "11,000 members, 1.50 MB, 5,000/s, 70,000 IOPS (50 %, 90 % of 50,000)"
        );
        let (source, destination) = (Some(Role::Source), Some(Role::Destination));
        let first = sample(at, 0, 0, 0, &[(source, 0)]);
        let last = sample(at, 1, 10, 5, &[(source, 5_000), (destination, 25_000)]);
        assert_eq!(
            text(&first, &last, "files"),
            "10 files, 5 B, 10/s, destination 25,000 IOPS (50 % of 50,000), source 5,000 IOPS (10 %)"
        );
        assert_eq!(shares(&[5_000.0; 9], Ceiling::oci()), "10 % to 10 %");
    }
}
