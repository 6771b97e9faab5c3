//! Faults as data: which requests of a simulated server meet which misfortune. Written as text such as
//! `lost-reply:proc=CREATE,every=100` or `delay:p=0.01,seed=7,ms=300`; the same text, seed and order of requests
//! give the same faults.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use thiserror::Error;

use crate::base::Proc;
use crate::base::hash::mix;

/// What happens to a request that was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Carried out; the reply is not sent.
    LostReply,
    /// Carried out; then the connection is reset with all replies that were due on it.
    Reset,
    /// The connection is reset before the request is carried out.
    ResetBefore,
    /// The reply is sent as several fragments, in several small TCP segments.
    Split,
    /// Not carried out; answered with JUKEBOX.
    Jukebox,
    /// The reply is late by this much.
    Delay(Duration),
    /// The reply is sent twice.
    Duplicate,
    /// Before the request is carried out the server restarts: all connections are reset, what was not committed is lost.
    Restart,
    /// Before the request is carried out the target's listener and connections close for good.
    Gone,
}

/// How often among the requests that match.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    /// Each one.
    Always,
    /// Only this one, counted from 1.
    Nth(u64),
    /// Each one whose number is a multiple of this.
    Every(u64),
    /// With this chance, drawn from the seed and the request's number.
    Chance {
        /// 0 to 1.
        p: f64,
        /// The seed.
        seed: u64,
    },
}

/// One kind of misfortune and the requests it meets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// What happens.
    pub kind: Kind,
    /// Only to this procedure.
    pub proc: Option<Proc>,
    /// Only at this target, counted from 1.
    pub target: Option<usize>,
    /// How often.
    pub when: When,
}

/// Why a text is not a fault.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{text}' is not a fault: {why}")]
pub struct BadFault {
    text: String,
    why: String,
}

const KINDS: &str = "lost-reply, reset, reset-before, split, jukebox, delay, duplicate, restart or gone";

fn number<T: FromStr>(key: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{key}={value} is not a number that fits"))
}

fn positive(key: &str, value: &str) -> Result<u64, String> {
    number(key, value).and_then(|n| if n == 0 { Err(format!("{key} counts from 1")) } else { Ok(n) })
}

fn parse(text: &str) -> Result<Fault, String> {
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    let (mut proc, mut target, mut when, mut seed, mut delay) = (None, None, None, None, None);
    for part in rest.split(',').filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once('=').ok_or_else(|| format!("'{part}' is not key=value"))?;
        let slot = match key {
            "proc" => proc
                .replace(Proc::from_name(value).ok_or_else(|| format!("'{value}' is not an NFSv3 procedure"))?)
                .is_some(),
            "target" => target.replace(usize::try_from(positive(key, value)?).unwrap_or(usize::MAX)).is_some(),
            "nth" => when.replace(When::Nth(positive(key, value)?)).is_some(),
            "every" => when.replace(When::Every(positive(key, value)?)).is_some(),
            "p" => {
                let p: f64 = number(key, value)?;
                if !(0.0..=1.0).contains(&p) {
                    return Err("p is a chance from 0 to 1".into());
                }
                when.replace(When::Chance { p, seed: 0 }).is_some()
            }
            "seed" => seed.replace(number(key, value)?).is_some(),
            "ms" => delay.replace(number::<u32>(key, value)?).is_some(),
            _ => return Err(format!("'{key}' is none of proc, target, nth, every, p, seed, ms")),
        };
        if slot {
            return Err("the same is said twice (nth, every and p exclude each other)".into());
        }
    }
    if let Some(seed) = seed {
        let Some(When::Chance { p, .. }) = when else { return Err("seed goes with p".into()) };
        when = Some(When::Chance { p, seed });
    }
    let kind = parse_kind(kind, delay)?;
    if delay.is_some() && !matches!(kind, Kind::Delay(_)) {
        return Err("ms goes with delay".into());
    }
    Ok(Fault { kind, proc, target, when: when.unwrap_or(When::Always) })
}

fn parse_kind(kind: &str, delay_ms: Option<u32>) -> Result<Kind, String> {
    Ok(match kind {
        "lost-reply" => Kind::LostReply,
        "reset" => Kind::Reset,
        "reset-before" => Kind::ResetBefore,
        "split" => Kind::Split,
        "jukebox" => Kind::Jukebox,
        "delay" => Kind::Delay(Duration::from_millis(delay_ms.ok_or("delay needs ms")?.into())),
        "duplicate" => Kind::Duplicate,
        "restart" => Kind::Restart,
        "gone" => Kind::Gone,
        _ => return Err(format!("'{kind}' is not {KINDS}")),
    })
}

impl FromStr for Fault {
    type Err = BadFault;

    fn from_str(text: &str) -> Result<Fault, BadFault> {
        parse(text).map_err(|why| BadFault { text: text.into(), why })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, ms) = match self.kind {
            Kind::LostReply => ("lost-reply", None),
            Kind::Reset => ("reset", None),
            Kind::ResetBefore => ("reset-before", None),
            Kind::Split => ("split", None),
            Kind::Jukebox => ("jukebox", None),
            Kind::Delay(late) => ("delay", Some(format!("ms={}", late.as_millis()))),
            Kind::Duplicate => ("duplicate", None),
            Kind::Restart => ("restart", None),
            Kind::Gone => ("gone", None),
        };
        let when = match self.when {
            When::Always => None,
            When::Nth(n) => Some(format!("nth={n}")),
            When::Every(n) => Some(format!("every={n}")),
            When::Chance { p, seed } => Some(format!("p={p},seed={seed}")),
        };
        let parts = [self.proc.map(|p| format!("proc={p}")), self.target.map(|t| format!("target={t}")), when, ms];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() { f.write_str(kind) } else { write!(f, "{kind}:{}", parts.join(",")) }
    }
}

/// What befalls one request: all the faults that chose it, together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Misfortune {
    pub lost_reply: bool,
    pub reset: bool,
    pub reset_before: bool,
    pub split: bool,
    pub jukebox: bool,
    pub duplicate: bool,
    pub restart: bool,
    pub gone: bool,
    pub late: Duration,
}

/// Faults with their counts, shared by the targets of a server.
#[derive(Debug)]
pub(super) struct Faults {
    all: Vec<(Fault, AtomicU64, AtomicU64)>,
}

impl Faults {
    pub(super) fn new(faults: &[Fault]) -> Faults {
        Faults { all: faults.iter().map(|fault| (*fault, AtomicU64::new(0), AtomicU64::new(0))).collect() }
    }

    /// Decides on a request at the target of this index (from 0), in the order of arrival.
    pub(super) fn choose(&self, target: usize, proc: Proc) -> Misfortune {
        let mut misfortune = Misfortune::default();
        for (fault, seen, injected) in &self.all {
            if fault.proc.is_some_and(|p| p != proc) || fault.target.is_some_and(|t| t != target + 1) {
                continue;
            }
            let number = seen.fetch_add(1, Ordering::Relaxed) + 1;
            let chosen = match fault.when {
                When::Always => true,
                When::Nth(n) => n == number,
                When::Every(n) => number.is_multiple_of(n),
                When::Chance { p, seed } => (mix(seed ^ mix(number)) as f64) < p * u64::MAX as f64,
            };
            if chosen {
                injected.fetch_add(1, Ordering::Relaxed);
                misfortune.add(fault.kind);
            }
        }
        misfortune
    }

    /// Each fault's text and how often it struck.
    pub(super) fn injected(&self) -> Vec<(String, u64)> {
        self.all.iter().map(|(fault, _, injected)| (fault.to_string(), injected.load(Ordering::Relaxed))).collect()
    }
}

impl Misfortune {
    fn add(&mut self, kind: Kind) {
        match kind {
            Kind::LostReply => self.lost_reply = true,
            Kind::Reset => self.reset = true,
            Kind::ResetBefore => self.reset_before = true,
            Kind::Split => self.split = true,
            Kind::Jukebox => self.jukebox = true,
            Kind::Delay(late) => self.late += late,
            Kind::Duplicate => self.duplicate = true,
            Kind::Restart => self.restart = true,
            Kind::Gone => self.gone = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_round_trip_and_nonsense_is_told() {
        for text in [
            "lost-reply:proc=CREATE,every=100",
            "lost-reply:nth=7",
            "reset",
            "reset-before:nth=50",
            "split",
            "jukebox:every=50",
            "delay:every=100,ms=300",
            "duplicate:p=0.01,seed=7",
            "restart:nth=500",
            "gone:target=2,nth=300",
        ] {
            assert_eq!(text.parse::<Fault>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "reset:nth",
            "reset:nth=0",
            "reset:nth=1,every=2",
            "reset:ms=3",
            "delay:nth=1",
            "lost",
            "reset:p=1.5",
            "reset:p=nan",
            "reset:proc=OPEN",
            "reset:seed=3",
            "gone:target=0",
            "reset:nth=1,nth=1",
            "delay:ms=-1",
        ] {
            assert!(text.parse::<Fault>().is_err(), "{text}");
        }
    }

    #[test]
    fn requests_are_chosen_by_number_procedure_and_target() {
        let faults = ["jukebox:proc=WRITE,every=3", "gone:target=2,nth=2", "duplicate:p=0.25,seed=9"];
        let faults = Faults::new(&faults.map(|text| text.parse().unwrap()));
        let jukebox: Vec<bool> = (0..9).map(|_| faults.choose(0, Proc::Write).jukebox).collect();
        assert_eq!(jukebox, [false, false, true, false, false, true, false, false, true]);
        assert!(!faults.choose(0, Proc::Read).jukebox);
        let gone: Vec<bool> = (0..3).map(|_| faults.choose(1, Proc::Null).gone).collect();
        assert_eq!(gone, [false, true, false]);
        assert!((0..1000).all(|_| !faults.choose(0, Proc::Null).jukebox));
        let duplicated = faults.injected()[2].1;
        assert!((200..300).contains(&duplicated), "{duplicated}");
    }
}
