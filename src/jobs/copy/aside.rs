//! The names that objects have until they are complete. Each run's are its own: of two runs that write to one directory, one would
//! otherwise rename or remove what the other has not finished.
//!
//! A run that is killed leaves some. A later one removes them, unless they may be those of a run that is under way.

use std::hash::{BuildHasher, RandomState};

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::base::hash::mix;
use crate::base::{Name, Status, Time, name};
use crate::storage::{Attr, Call, Kind};

use super::Deed;
use super::ctx::{Ctx, add};
use super::dir::Dir;
use super::join::Alone;

const PREFIX: &[u8] = b".parfs.";

/// What has not changed for so long is no run's: between the making of a file and its last byte it may wait for its turn, and for a server.
const WAITS_MAX_S: i64 = 24 * 3600;

/// What tells the names of one run from all others'.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// Where process ids mean what they mean here.
    host: u32,
    pid: u32,
    /// Process ids and hosts' marks may be the same elsewhere.
    random: u32,
}

impl Mark {
    /// A new run's. `host` is what tells this host's process ids from others'.
    pub fn new(host: Option<u64>) -> Mark {
        let pid = std::process::id();
        let random = RandomState::new().hash_one(pid);
        // Nothing has a host's mark that was drawn.
        let host = host.unwrap_or_else(|| RandomState::new().hash_one(pid));
        Mark { host: mix(host) as u32, pid, random: random as u32 }
    }

    /// The name of the object `name` until it is complete.
    pub fn aside(&self, name: &Name) -> Name {
        let hash = name.as_bytes().iter().fold(0, |hash, byte| mix(hash ^ u64::from(*byte)));
        let Mark { host, pid, random } = self;
        let text = format!(".parfs.{hash:016x}.{host:08x}{pid:08x}{random:08x}");
        Name::new(text.as_bytes()).expect("hex digits are a name")
    }

    /// The one in a name of that form, if it has one: once they had none.
    fn of(name: &Name) -> Option<Option<Mark>> {
        let rest = name.as_bytes().strip_prefix(PREFIX)?;
        let (hash, mark) = rest.split_at_checked(16)?;
        number(hash)?;
        let Some(mark) = mark.strip_prefix(b".") else { return mark.is_empty().then_some(None) };
        let part = |at: usize| mark.get(at..at + 8).and_then(number).map(|part| part as u32);
        let all = Mark { host: part(0)?, pid: part(8)?, random: part(16)? };
        (mark.len() == 24).then_some(Some(all))
    }

    /// May what has a name of that form, and changed last at `ctime`, be a run's that is under way?
    fn may_live(&self, name: &Name, ctime: Time, now: Time) -> bool {
        let ended = Mark::of(name).flatten().is_some_and(|mark| mark.host == self.host && !mark.is_running());
        !ended && now.secs.saturating_sub(ctime.secs) < WAITS_MAX_S
    }

    fn is_running(&self) -> bool {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        pid.is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
    }
}

/// Of hexadecimal digits as they are written here.
fn number(digits: &[u8]) -> Option<u64> {
    let all = digits.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let text = std::str::from_utf8(digits).ok().filter(|_| all)?;
    u64::from_str_radix(text, 16).ok()
}

/// True for names of that form: an object of the source that has one would be removed as one that a killed run left.
pub(super) fn is_aside(name: &Name) -> bool {
    Mark::of(name).is_some()
}

/// May it be what a killed run left, by its name? An empty file too that proved two mounts, or targets, to be one.
pub(super) fn may_be_left(name: &Name) -> bool {
    is_aside(name) || name::is_unique(name)
}

/// Of a name that was for a proof: is it that, or somebody's?
fn is_proof(attr: &Attr) -> bool {
    attr.kind == Kind::File && attr.size == 0
}

/// Is this name of the target's directory a run's that may be under way? Of this one's own some come and go while it is listed. Nor does
/// somebody's file go, where nothing else is deleted, that has the name of a proof.
pub(super) fn may_live(ctx: &Ctx<'_>, dir: &Dir, entry: &Alone) -> bool {
    if !may_be_left(&entry.name) {
        return false;
    }
    let mark = Mark::of(&entry.name).flatten();
    let look_up = || ctx.target.look_up(ctx.target.route(), &dir.made().node, &entry.name).ok().map(|(_, attr)| attr);
    // It is gone, or nothing can be done to it.
    let Some(attr) = entry.attr.or_else(look_up) else { return true };
    if !is_aside(&entry.name) && !is_proof(&attr) {
        return ctx.options.delete.is_none();
    }
    let lives = attr.kind != Kind::Dir && ctx.mark.may_live(&entry.name, attr.ctime, Time::now());
    if lives && mark != Some(ctx.mark) && ctx.options.delete.is_some() {
        ctx.warn_once("asides", || {
            "some temporary names (.parfs.* or .parfs-*) were not deleted: another run may be using them; what a killed run left \
             on another host is deleted a day later"
                .into()
        });
    }
    lives
}

/// Removes what killed runs left in a directory, with no `--delete`: what the source has under such a name is its own. What cannot be removed is
/// another user's.
pub(super) fn remove_left(ctx: &Ctx<'_>, dir: &Dir, left: &[Alone]) {
    if ctx.others {
        ctx.warn_once("asides of several", || {
            "some temporary names (.parfs.* or .parfs-*) that a killed run may have left were not deleted: this run has several sources, \
             which may have brought or hold them; --delete deletes them, or a run with one source"
                .into()
        });
        return;
    }
    let left: Vec<&Alone> = left.iter().filter(|entry| entry.kind_told() != Some(Kind::Dir)).collect();
    let mut asked: Vec<Call<'_>> = left.iter().map(|entry| Call::lookup(&dir.source, &entry.name)).collect();
    ctx.source.perform(ctx.source.route(), &mut asked);
    let parent = &dir.made().node;
    let lacking = left.iter().zip(&asked).filter(|(_, call)| call.status() == Err(Status::NoEnt));
    let lacking: Vec<&Name> = lacking.map(|(entry, _)| &entry.name).collect();
    let mut calls: Vec<Call<'_>> = lacking.iter().map(|name| Call::remove(parent, name)).collect();
    ctx.target.perform(ctx.target.route(), &mut calls);
    for (name, _) in lacking.iter().zip(&calls).filter(|(_, call)| call.status().is_ok()) {
        dir.touch();
        add(&ctx.counts.left_overs, 1);
        ctx.tell(Deed::Removed, dir, Some(name));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::new(text.as_bytes()).unwrap()
    }

    #[test]
    fn names_are_each_runs_own_and_known_by_their_form() {
        let marks = [Mark::new(Some(1)), Mark::new(Some(1)), Mark::new(None)];
        let of = |at: &str| marks.map(|mark| mark.aside(&name(at)));
        let all = [of("a"), of("b"), of(&"x".repeat(255))].concat();
        for (i, one) in all.iter().enumerate() {
            assert!(is_aside(one) && one.as_bytes().len() <= 64, "{one}");
            assert!(!all[..i].contains(one), "{all:?}");
        }
        assert_eq!(Mark::of(&all[0]), Some(Some(marks[0])));
        assert_eq!(Mark::of(&name(".parfs.02f590758a6d2936")), Some(None));
        for other in [".parfs.", ".parfs.02f590758a6d293", ".parfs.02F590758a6d2936", ".parfs.02f590758a6d2936."] {
            assert!(!is_aside(&name(other)), "{other}");
        }
        assert!(!is_aside(&name(&format!("{}0", all[0]))) && !is_aside(&name(&all[0].to_string()[..40])));
    }

    #[test]
    fn what_a_killed_run_left_is_told_by_its_process_or_by_its_age() {
        let ours = Mark::new(Some(1));
        let at = |secs| Time { secs, nanos: 0 };
        let (now, day) = (at(1_000_000), 24 * 3600);
        let lives = |mark: Mark, age| ours.may_live(&mark.aside(&name("a")), at(now.secs - age), now);
        // No process has an id above 2^22 (proc_pid_max(5)).
        let ended = Mark { pid: 1 << 30, ..ours };
        let elsewhere = Mark { host: !ours.host, ..ended };
        let another = Mark { random: !ours.random, ..ours };
        assert_eq!([ours, another, ended, elsewhere].map(|mark| lives(mark, 0)), [true, true, false, true]);
        assert_eq!([ours, another, elsewhere].map(|mark| lives(mark, day)), [false; 3]);
        assert!(lives(elsewhere, -day) && lives(elsewhere, day - 1));
        let before = name(".parfs.02f590758a6d2936");
        assert!(ours.may_live(&before, now, now) && !ours.may_live(&before, at(0), now));
    }
}
