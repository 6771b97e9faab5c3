//! What the client of one of several kernel mounts asks before a call because another of them changed the directory that the call changes:
//! decided once for each call, when it comes, and noted in it (`Call::anew`), from where all counts, prices and times have it.
//!
//! From mountstats on Linux 6.12 with four mounts. Counts alone hang on it, no answer does. Where a server's clock ticks so seldom that changes have
//! one time, clients notice fewer of them and ask less. Memory is bounded: of a directory that was forgotten nothing is asked anew. Left
//! out: what other programs change, and directories above one that is new to a mount.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::base::{Memo, Proc};

use super::{Call, Kind, Node, Op, Tally, locked};

/// Directories remembered at least; some 50 bytes each.
const DIRS_MAX: usize = 16_384;

/// Changes of a directory by one mount, one after the other, that others would have come between, where lanes do not wait for answers: each then
/// makes some twenty windows before another one runs.
const RUN_MAX: u32 = 256;

/// Questions that a call's own procedures come behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Anew {
    /// LOOKUP of the directory, which is new to the mount.
    pub dir: bool,
    /// ACCESS of the directory.
    pub access: bool,
    /// LOOKUP of the name that is to be there, under the directory's lock.
    pub name: bool,
}

impl Anew {
    /// How many are asked on the way to the directory, one after the other.
    pub fn before(self) -> u64 {
        u64::from(self.dir) + u64::from(self.access)
    }

    /// And how many under its lock.
    pub fn under_lock(self) -> u64 {
        u64::from(self.name)
    }

    /// Their procedures.
    pub fn tally(self) -> Tally {
        let mut tally = Tally::default();
        let asked = [(Proc::Lookup, self.dir), (Proc::Access, self.access), (Proc::Lookup, self.name)];
        asked.into_iter().filter(|(_, is)| *is).for_each(|(proc, _)| tally.count(proc, 0, false));
        tally
    }
}

/// What mounts know of a directory. A mount is known by its number, the last six bits of which are a bit here.
#[derive(Clone, Copy, Default)]
struct Dir {
    /// The mount that changed it last.
    last: Option<u64>,
    /// How many changes it has made since another one made any.
    run: u32,
    /// More than one did, so that none believes what it knows of the names in it.
    by_several: bool,
    /// The mounts that have it.
    known: u64,
}

/// The directories that some mounts have changed or found.
struct Dirs {
    known: Mutex<Known>,
    mounts: AtomicU64,
}

struct Known {
    dirs: Memo<Dir>,
    /// Changes of directories that several mounts changed, in turn.
    turns: Share,
    /// And where they did not wait for each other.
    at_once: Share,
}

/// How many of some changes came behind another mount's.
#[derive(Clone, Copy, Default)]
struct Share {
    of: u64,
    behind: u64,
}

impl Share {
    fn count(&mut self, is_behind: bool) {
        self.of += 1;
        self.behind += u64::from(is_behind);
    }

    /// Is the next change to be one that came behind, for these to have the share of `like`? All are, where nothing is known of that.
    fn lacks(self, like: Share) -> bool {
        like.of == 0
            || u128::from(self.behind) * u128::from(like.of) < u128::from(self.of + 1) * u128::from(like.behind)
    }
}

impl Default for Dirs {
    fn default() -> Dirs {
        let known = Known { dirs: Memo::new(DIRS_MAX), turns: Share::default(), at_once: Share::default() };
        Dirs { known: Mutex::new(known), mounts: AtomicU64::new(1) }
    }
}

/// One of the mounts that change directories beside each other. Clones are the same mount.
#[derive(Clone, Default)]
pub struct Changer {
    all: Arc<Dirs>,
    mount: u64,
}

/// Is the name that it changes to be there?
fn looks(op: &Op<'_>) -> bool {
    matches!(op, Op::Remove { .. } | Op::RmDir { .. } | Op::Rename { .. })
}

fn bit(mount: u64) -> u64 {
    1 << (mount % 64)
}

impl Changer {
    /// Another mount beside it.
    pub fn beside(&self) -> Changer {
        Changer { all: self.all.clone(), mount: self.all.mounts.fetch_add(1, Ordering::Relaxed) }
    }

    /// Notes in these calls, which the mount sends together, what it asks anew before each. Those of others come in between: of
    /// each it is asked again whether it may. Where mounts are not `in_turn`, as they are that wait for answers, those that change one directory
    /// ask as often as when they were.
    pub fn asks(&self, calls: &mut [Call<'_>], in_turn: bool) {
        let mount = self.mount;
        let mut known = self.all.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Known { dirs, turns, at_once } = &mut *known;
        let mut changed = Vec::new();
        for call in calls {
            call.anew = Anew::default();
            let Some((dir, _)) = locked(&call.op, &Tally::default()) else { continue };
            let key = dir.key();
            let first = Dir { known: bit(mount), ..Dir::default() };
            let dir = dirs.renew(key, || first);
            let mut is_others = dir.last.is_some_and(|last| last != mount);
            if !in_turn && dir.by_several && dir.run < RUN_MAX {
                is_others = at_once.lacks(*turns);
                at_once.count(is_others);
            }
            let is_new = dir.known & bit(mount) == 0;
            dir.by_several |= is_others;
            dir.known |= bit(mount);
            if in_turn && dir.by_several {
                turns.count(is_others);
            }
            let name = dir.by_several && looks(&call.op);
            call.anew = Anew { dir: is_new, access: is_others || is_new, name };
            changed.push(key);
        }
        for key in changed {
            let dir = dirs.renew(key, Dir::default);
            dir.run = if dir.last.replace(mount) == Some(mount) { dir.run.saturating_add(1) } else { 1 };
        }
    }

    /// Notes the directories that the mount has made, found or listed by these.
    pub fn finds(&self, calls: &[Call<'_>]) {
        for call in calls {
            let node: Option<&Node> = match &call.op {
                Op::ReadDir { dir, out: Ok(_), .. } => Some(dir),
                Op::MkDir { out: Ok(found), .. } => Some(&found.node),
                Op::Lookup { out: Ok(found), .. } if found.attr.is_some_and(|attr| attr.kind == Kind::Dir) => {
                    Some(&found.node)
                }
                _ => None,
            };
            if let Some(node) = node {
                let key = node.key();
                let mut known = self.all.known.lock().unwrap_or_else(PoisonError::into_inner);
                known.dirs.renew(key, Dir::default).known |= bit(self.mount);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Name;
    use crate::storage::{AttrChange, Cookie, How, Page, Want};

    const NOTHING: Anew = Anew { dir: false, access: false, name: false };
    const ACCESS: Anew = Anew { access: true, ..NOTHING };
    const NEW: Anew = Anew { dir: true, ..ACCESS };
    const NAMED: Anew = Anew { name: true, ..NOTHING };

    fn name() -> Name {
        Name::new(b"n").unwrap()
    }

    fn create(dir: &Node) -> Call<'static> {
        Call::create(dir, &name(), How::Guarded, AttrChange::default())
    }

    #[test]
    fn a_mount_asks_whether_it_may_where_another_one_changed_the_directory_last() {
        let (one, dir) = (Changer::default(), Node::root_chain(0));
        let mounts = [one.clone(), one.beside()];
        let asked = |mount: usize, mut calls: Vec<Call<'_>>| {
            mounts[mount].asks(&mut calls, true);
            calls.iter().map(|call| call.anew).collect::<Vec<_>>()
        };
        let creates = |n| (0..n).map(|_| create(&dir)).collect::<Vec<_>>();
        // One mount asks nothing, however often.
        assert_eq!(asked(0, creates(2)), [NOTHING; 2]);
        assert_eq!(asked(0, vec![Call::remove(&dir, &name())]), [NOTHING]);
        // To another the directory is new, once; others' calls come between those that it sends together.
        assert_eq!(asked(1, creates(2)), [NEW, ACCESS]);
        assert_eq!(asked(1, creates(1)), [NOTHING]);
        assert_eq!(asked(0, creates(1)), [ACCESS]);
        // Of several mounts' names none is believed any more.
        let removes = || vec![Call::remove(&dir, &name()), Call::rmdir(&dir, &name()), Call::get_attr(&dir)];
        assert_eq!(asked(0, removes()), [NAMED, NAMED, NOTHING]);
        let both = Anew { name: true, ..ACCESS };
        assert_eq!(asked(1, removes()), [both, both, NOTHING]);
    }

    /// Of 30,000 names that four mounts made in one directory, 8,200 were forecast as asked about anew, and 26,482 were.
    #[test]
    fn mounts_that_do_not_wait_for_answers_ask_as_often_as_when_they_took_turns() {
        let dir = Node::root_chain(0);
        let pair = || {
            let one = Changer::default();
            [one.beside(), one]
        };
        let asked = |mount: &Changer, n: usize, in_turn: bool| {
            let mut calls: Vec<_> = (0..n).map(|_| create(&dir)).collect();
            calls.chunks_mut(4).for_each(|calls| mount.asks(calls, in_turn));
            calls.iter().filter(|call| call.anew.access).count()
        };
        let [one, other] = &pair();
        // One alone asks nothing.
        assert_eq!(asked(one, 100, false), 0);
        // From then on there are two, which come one after the other only because nothing keeps them waiting.
        assert_eq!([asked(other, 100, false), asked(one, 100, false), asked(other, 40, false)], [100, 100, 40]);
        // The other one is not there any more.
        assert_eq!(asked(other, 1000, false), RUN_MAX as usize - 40);
        // Where they took turns, of each eight changes by several four came behind the other's.
        let [one, other] = &pair();
        assert_eq!([asked(one, 4, true), asked(other, 8, true), asked(one, 8, true)], [0, 4, 4]);
        assert_eq!(asked(other, 200, false), 100);
    }

    #[test]
    fn a_directory_is_new_to_those_that_did_not_list_it() {
        let (one, dir) = (Changer::default(), Node::root_chain(0));
        let other = one.beside();
        let mut list = Call::read_dir(&dir, Cookie::default(), Want::Types, 4096);
        let noted = |list: &Call<'_>| one.finds(std::slice::from_ref(list));
        noted(&list);
        if let Op::ReadDir { out, .. } = &mut list.op {
            *out = Ok(Page { above: None, entries: Vec::new(), next: Cookie::default(), end: true });
        }
        noted(&list);
        let all = Anew { name: true, ..NEW };
        for (mount, anew) in [(&one, NOTHING), (&other, all), (&one, Anew { dir: false, ..all })] {
            // What was noted before is noted anew.
            let mut calls = [Call::remove(&dir, &name())];
            calls[0].anew = NEW;
            mount.asks(&mut calls, true);
            assert_eq!(calls[0].anew, anew, "{}", mount.mount);
        }
    }
}
