//! The status line while jobs run: on a terminal, or where `--eta=always` asks for it.
//!
//! Promises: never in a document: not shown where stdout carries one and no human report.

use std::io::{IsTerminal, Write};
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::load::general::{Eta, Format, General};
use crate::load::output::status::Status;
use crate::load::pace::Rate;
use crate::load::run::{Clock, Live, State};
use crate::load::settings::Settings;
use crate::load::{Direction, Each};

/// The line, as it was shown last.
pub struct StatusLine<'a> {
    jobs: Vec<&'a Settings>,
    clock: Clock,
    every_ns: u64,
    newline_ns: Option<u64>,
    /// When it was shown, and when it last went to a new line.
    shown_ns: u64,
    newline_at_ns: u64,
    done: Each<(u64, u64)>,
    len: usize,
    is_shown: bool,
}

/// fio's first refreshes have no rates.
const BRIEF_NS: u64 = 2_000_000_000;

impl<'a> StatusLine<'a> {
    /// For clones whose jobs are `jobs`; None where no line is to be shown.
    pub fn new(general: &General, jobs: Vec<&'a Settings>, clock: Clock) -> Option<StatusLine<'a>> {
        let wanted = match general.eta {
            Eta::Never => false,
            Eta::Always => true,
            Eta::Auto => std::io::stdout().is_terminal(),
        };
        let is_document = general.output.is_none() && !general.formats.contains(&Format::Normal);
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        (wanted && !is_document).then(|| StatusLine {
            jobs,
            clock,
            every_ns: ns(general.eta_interval),
            newline_ns: general.eta_newline.map(ns),
            shown_ns: 0,
            newline_at_ns: 0,
            done: Each::default(),
            len: 0,
            is_shown: false,
        })
    }

    /// Shows the line if it is time; when it wants to be called again.
    pub fn refresh(&mut self, lives: &[Live]) -> Duration {
        let now = self.clock.now();
        let due = self.shown_ns + self.every_ns;
        if now < due {
            return Duration::from_nanos(due - now);
        }
        let spent = (now - self.shown_ns).max(1);
        let line = self.status(lives, now, spent).line(now < BRIEF_NS);
        let mut text = String::new();
        if self.newline_ns.is_some_and(|every| now - self.newline_at_ns > every) {
            if self.is_shown {
                text.push('\n');
            }
            self.newline_at_ns = now;
        }
        // A shorter line covers what a longer one left.
        text.push_str(&format!("{line:<width$}\r", width = self.len));
        self.len = line.len();
        self.is_shown = true;
        let mut out = std::io::stdout().lock();
        // A terminal that has gone is no reason to stop.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        self.shown_ns = now;
        Duration::from_nanos(self.every_ns)
    }

    /// Leaves the line, if one was shown.
    pub fn end(&self) {
        if self.is_shown {
            let mut out = std::io::stdout().lock();
            let _ = out.write_all(b"\n").and_then(|()| out.flush());
        }
    }

    fn status(&mut self, lives: &[Live], now: u64, spent: u64) -> Status {
        let mut done = Each::<(u64, u64)>::default();
        let (mut status, mut left) =
            (Status { binary: true, elapsed_s: now / 1_000_000_000, ..Status::default() }, Some(0));
        for (live, settings) in lives.iter().zip(&self.jobs) {
            let state = live.state();
            status.letters.push(letter(state, settings, live));
            status.binary &= settings.measures.binary;
            // As in fio, the last one's.
            status.bits = settings.measures.bits;
            for direction in [Direction::Read, Direction::Write] {
                let more = live.done()[direction];
                let sum = &mut done[direction];
                (sum.0, sum.1) = (sum.0 + more.0, sum.1 + more.1);
            }
            if (State::Created..State::Exited).contains(&state) {
                status.running += 1;
                status.ramping += u32::from(state == State::Ramping);
                status.open += live.open.load(Ordering::Relaxed);
                status.has[0] |= settings.load.reads();
                status.has[1] |= settings.load.writes();
                limits(&mut status.limits, settings);
            }
            if state < State::Exited {
                left = match (left, seconds_left(live, settings, now)) {
                    (Some(most), Some(this)) => Some(u64::max(most, this)),
                    _ => None,
                };
            }
        }
        status.left_s = left;
        for (at, direction) in [Direction::Read, Direction::Write].into_iter().enumerate() {
            let (before, after) = (self.done[direction], done[direction]);
            let rate = |n: u64| (u128::from(n) * 1_000_000_000 / u128::from(spent)) as u64;
            status.rates[at] = (rate(after.1.saturating_sub(before.1)), rate(after.0.saturating_sub(before.0)));
        }
        self.done = done;
        status
    }
}

/// What a clone is doing, as a letter.
fn letter(state: State, settings: &Settings, live: &Live) -> char {
    let load = &settings.load;
    let doing = match (load.reads(), load.writes()) {
        (true, true) => 'm',
        (true, false) => 'r',
        (false, _) => 'w',
    };
    match state {
        State::NotStarted => 'P',
        State::Created => 'C',
        State::Initialized => 'I',
        State::PreReading => 'p',
        State::Ramping => '/',
        State::Running if load.is_random() => doing,
        State::Running => doing.to_ascii_uppercase(),
        State::Verifying => 'V',
        State::Syncing => 'F',
        State::Finishing => 'f',
        State::Exited => 'E',
        State::Reaped if live.failed.load(Ordering::Relaxed) => 'X',
        State::Reaped => '_',
    }
}

/// Rates of all that run together.
fn limits(limits: &mut Option<(Rate, Rate)>, settings: &Settings) {
    let both = |rates: &Each<Option<Rate>>| -> (Option<bool>, u64) {
        // One number is of all directions, of which the job may have one.
        let load = &settings.load;
        let is_done = |direction| match direction {
            Direction::Read => load.reads(),
            Direction::Write => load.writes(),
            Direction::Trim => false,
        };
        rates.iter().filter_map(|(direction, rate)| rate.filter(|_| is_done(direction))).fold(
            (None, 0),
            |(_, sum), rate| match rate {
                Rate::Bytes(rate) => (Some(true), sum + rate),
                Rate::Ios(rate) => (Some(false), sum + rate),
            },
        )
    };
    let (of_bytes, wanted) = both(&settings.pacing.rate);
    let (_, least) = both(&settings.pacing.least);
    let Some(of_bytes) = of_bytes else { return };
    let as_rate = |n: u64| if of_bytes { Rate::Bytes(n) } else { Rate::Ios(n) };
    *limits = Some(match limits.take() {
        Some((Rate::Bytes(low) | Rate::Ios(low), Rate::Bytes(high) | Rate::Ios(high))) => {
            (as_rate(low + least), as_rate(high + wanted))
        }
        None => (as_rate(least), as_rate(wanted)),
    });
}

/// Seconds until a clone's end: by its time, or by what it has done of what it is to do.
fn seconds_left(live: &Live, settings: &Settings, now: u64) -> Option<u64> {
    let began = live.began.load(Ordering::Relaxed);
    let spent = if began == 0 { 0 } else { now.saturating_sub(began) };
    let by_time =
        settings.span.ends().map(|ends| (ends.as_nanos() as u64).saturating_sub(spent).div_ceil(1_000_000_000));
    if settings.span.time_based && by_time.is_some() {
        return by_time;
    }
    let done: u64 = live.done().iter().map(|(_, (_, bytes))| bytes).sum();
    let all = live.expected.load(Ordering::Relaxed);
    let by_bytes = (done > 0 && all > 0).then(|| {
        let left = all.saturating_sub(done);
        (u128::from(spent) * u128::from(left) / u128::from(done) / 1_000_000_000) as u64
    });
    match (by_time, by_bytes) {
        (Some(time), Some(bytes)) => Some(time.min(bytes)),
        (time, bytes) => bytes.or(time),
    }
}
