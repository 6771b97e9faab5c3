//! Looks at the rates of jobs with steadystate= each second, and ends those that have become steady.
//!
//! Promises: a job is looked at by itself, or with all of its group where these are reported together, as in fio.
//! Leaves out: the criteria.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::super::settings::Settings;
use super::super::steady::Window;
use super::clock::ns;
use super::live::{Live, State};

const EVERY_NS: u64 = 1_000_000_000;

/// What a clone had done when it was looked at.
#[derive(Clone, Copy)]
struct Looked {
    at_ns: u64,
    ios: u64,
    bytes: u64,
}

/// Clones that become steady together.
struct Watched {
    window: Window,
    ramp_ns: u64,
    /// Of each clone its place, and the last look.
    clones: Vec<(usize, Option<Looked>)>,
    attained: bool,
}

/// All that is looked at.
pub struct SteadyWatch {
    watched: Vec<Watched>,
    next_ns: u64,
}

impl SteadyWatch {
    /// Of clones with their jobs and groups; as many `lives`.
    pub fn new(clones: &[(&Settings, u32)], lives: &[Live]) -> SteadyWatch {
        let mut watched: Vec<(Option<u32>, Watched)> = Vec::new();
        for (index, (settings, group)) in clones.iter().enumerate() {
            let Some(asked) = settings.steady else { continue };
            let group = settings.order.group_reporting.then_some(*group);
            match watched.iter_mut().find(|(known, _)| group.is_some() && *known == group) {
                Some((_, watched)) => watched.clones.push((index, None)),
                None => {
                    let window = Window::new(asked);
                    lives[index].set_steady(window.result());
                    let (ramp_ns, clones) = (ns(asked.ramp), vec![(index, None)]);
                    watched.push((group, Watched { window, ramp_ns, clones, attained: false }));
                }
            }
        }
        SteadyWatch { watched: watched.into_iter().map(|(_, watched)| watched).collect(), next_ns: EVERY_NS }
    }

    /// Looks if it is time; when it wants to be called again.
    pub fn look(&mut self, now: u64, lives: &[Live]) -> Duration {
        if self.watched.is_empty() {
            return Duration::MAX;
        }
        if now >= self.next_ns {
            self.watched.iter_mut().for_each(|watched| watched.look(now, lives));
            self.next_ns = now + EVERY_NS;
        }
        Duration::from_nanos(self.next_ns - now)
    }
}

impl Watched {
    fn look(&mut self, now: u64, lives: &[Live]) {
        if self.attained {
            return;
        }
        let (mut counted, mut iops, mut bytes) = (false, 0, 0);
        for (index, last) in &mut self.clones {
            let live = &lives[*index];
            let began = live.began.load(Ordering::Relaxed);
            if began == 0 || live.state() >= State::Exited {
                *last = None;
                continue;
            }
            let done = live.done();
            let nothing = Looked { at_ns: now, ios: 0, bytes: 0 };
            let add =
                |sum: Looked, (ios, bytes): &(u64, u64)| Looked { ios: sum.ios + ios, bytes: sum.bytes + bytes, ..sum };
            let sum = done.iter().fold(nothing, |sum, (_, done)| add(sum, done));
            let Some(before) = last.replace(sum).filter(|before| before.at_ns >= began.saturating_add(self.ramp_ns))
            else {
                continue;
            };
            let rate = |done: u64| (u128::from(done) * 1_000_000_000 / u128::from((now - before.at_ns).max(1))) as u64;
            iops += rate(sum.ios - before.ios);
            bytes += rate(sum.bytes - before.bytes);
            counted = true;
        }
        if !counted {
            return;
        }
        self.attained = self.window.add(iops, bytes);
        lives[self.clones[0].0].set_steady(self.window.result());
        if self.attained {
            self.clones.iter().for_each(|(index, _)| lives[*index].end());
        }
    }
}
