//! Directories while members are put into them: made by whoever needs them first, finished last.
//!
//! A lane that needs a directory that another lane is making waits for that lane's call, never for a queued task;
//! and no lane waits while it holds a directory that it has yet to make. So there is no deadlock.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use crate::base::name::Shown;
use crate::base::{Bell, Cause, Failure, Name, Proc, Status, Time};
use crate::storage::{Attr, AttrChange, Call, Kind, Node, Route, SetTime};

use super::super::mode::SET_GROUP_ID;
use super::super::moved::Filled;
use super::attributes::Extra;
use super::ctx::{Ctx, Meta};
use super::finish::Due;
use super::{Existing, TRIES_MAX};

/// In the place of bits that a directory may have been made with unasked: nobody knows which.
const UNKNOWN_BITS: u32 = 1 << 31;

/// A directory below the destination that members need or are.
pub(super) struct Dir {
    /// The directory it is in and its name; none at the destination itself.
    pub place: Option<(Arc<Dir>, Name)>,
    pub depth: usize,
    pub hash: u64,
    pub id: u64,
    /// What MKDIR sets; fixed when the directory is first heard of, so that it does not depend on who is first.
    make: AttrChange,
    /// First heard of as a member of its own, rather than in a member's path.
    explicit: bool,
    /// Puts back the times and mode of a directory that was there: it may be one that was finished early.
    restore: bool,
    /// When the producer last needed it.
    pub used: AtomicU64,
    /// The producer knows, or knew, a directory in it.
    pub has_dirs: AtomicBool,
    /// Something was made in it, or written over in its place.
    filled: AtomicBool,
    stage: Mutex<Stage>,
    settled: Bell,
    /// Why it was not removed to be replaced, as it was to be: it keeps its attributes.
    stays: OnceLock<Status>,
    /// It was made without the owner that it is to have.
    owner_due: AtomicBool,
    /// Set-id and sticky bits that it was made with unasked: its own directory's.
    inherited: AtomicU32,
    /// It was made with other permission bits than those asked for.
    other_mode: AtomicBool,
    /// What its last member asks for.
    last: Mutex<Option<Last>>,
}

/// Attributes that a directory's member asks for.
pub(super) type Last = (Meta, Option<Arc<Extra>>);

#[derive(Clone)]
enum Stage {
    Unmade,
    Making,
    Made { node: Node, found: Option<Attr> },
    Failed(Why),
}

/// Why there is no directory. `path` is the directory's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Failed {
        path: Arc<[u8]>,
        cause: Cause,
    },
    /// Something else is there, and the options say to leave it.
    Skipped {
        path: Arc<[u8]>,
    },
}

impl Why {
    /// The failure of a member that needs the directory.
    pub fn of_member(&self, member: &[u8]) -> Failure {
        match self {
            Why::Failed { cause: Cause::Refused(reason), .. } => Failure::refused(member, reason.clone()),
            Why::Failed { path, cause: Cause::Call(proc, status) } => {
                Failure::refused(member, format!("no directory '{}': {proc}: {status}", Shown(path)))
            }
            Why::Skipped { path } => {
                Failure::refused(member, format!("'{}' exists and is not a directory", Shown(path)))
            }
        }
    }
}

/// What stands between a directory and being there.
enum Frontier {
    Ready(Result<Node, Why>),
    /// Unmade, in a directory that is there.
    Claim(Arc<Dir>, Node),
    /// Another lane makes it.
    Wait(Arc<Dir>),
}

/// A directory that this lane makes. If it never says how that ended, the directory has failed.
struct Claim {
    dir: Arc<Dir>,
    parent: Node,
    name: Name,
    make: AttrChange,
    published: bool,
}

impl Claim {
    fn publish(mut self, result: Result<(Node, Option<Attr>), Cause>) {
        self.published = true;
        if let (Ok((_, None)), Some((above, _))) = (&result, &self.dir.place) {
            above.fill();
        }
        let stage = match result {
            Ok((node, found)) => Stage::Made { node, found },
            Err(cause) => Stage::Failed(Why::Failed { path: self.dir.path().into(), cause }),
        };
        self.dir.settle(stage);
    }

    /// Removes a directory that a member is to replace; false where it stays, which may be as it should.
    fn unlinks(&self, ctx: &Ctx<'_>, route: Route) -> bool {
        if !ctx.options.unlinks_dirs() || !self.dir.explicit {
            return false;
        }
        match ctx.one(route, Call::rmdir(&self.parent, &self.name)).status() {
            Ok(()) | Err(Status::NoEnt) => true,
            Err(status) => {
                self.dir.stays.get_or_init(|| status);
                false
            }
        }
    }

    fn gives_away(&self) -> bool {
        self.make.uid.is_some() || self.make.gid.is_some()
    }

    fn skip(mut self) {
        self.published = true;
        self.dir.settle(Stage::Failed(Why::Skipped { path: self.dir.path().into() }));
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.published {
            let cause = Cause::Call(Proc::MkDir, Status::Cancelled);
            self.dir.settle(Stage::Failed(Why::Failed { path: Arc::from(&b""[..]), cause }));
        }
    }
}

impl Dir {
    /// The destination.
    pub fn root(node: Node, hash: u64) -> Dir {
        let stage = Stage::Made { node, found: None };
        Dir {
            place: None,
            depth: 0,
            hash,
            id: 0,
            make: AttrChange::default(),
            explicit: false,
            restore: false,
            used: AtomicU64::new(0),
            has_dirs: AtomicBool::new(false),
            filled: AtomicBool::new(false),
            stage: Mutex::new(stage),
            settled: Bell::default(),
            stays: OnceLock::new(),
            owner_due: AtomicBool::new(false),
            inherited: AtomicU32::new(0),
            other_mode: AtomicBool::new(false),
            last: Mutex::default(),
        }
    }

    /// A directory heard of for the first time: in a path, or as a member with `meta`.
    pub fn new(
        parent: &Arc<Dir>,
        name: &Name,
        ids: (u64, u64),
        implied_mode: u32,
        last: Option<Last>,
        restore: bool,
    ) -> Dir {
        let make = match &last {
            // While it is filled, its owner must be able to, and what is made in it inherits nothing.
            Some((meta, extra)) => AttrChange {
                mode: Some(meta.mode & 0o777 & !extra.as_ref().map_or(0, |extra| extra.shuts_out()) | 0o700),
                uid: meta.uid,
                gid: meta.gid,
                ..AttrChange::default()
            },
            // Nobody asked for a mode: a default ACL's stays. GNU tar takes the umask off there too.
            None => AttrChange { mode: Some(implied_mode), masked: Some(0), ..AttrChange::default() },
        };
        Dir {
            place: Some((parent.clone(), name.clone())),
            depth: parent.depth + 1,
            hash: ids.1,
            id: ids.0,
            make,
            explicit: last.is_some(),
            restore,
            used: AtomicU64::new(0),
            has_dirs: AtomicBool::new(false),
            filled: AtomicBool::new(false),
            stage: Mutex::new(Stage::Unmade),
            settled: Bell::default(),
            stays: OnceLock::new(),
            owner_due: AtomicBool::new(false),
            inherited: AtomicU32::new(0),
            other_mode: AtomicBool::new(false),
            last: Mutex::new(last),
        }
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().expect("nothing panics while it holds a directory's stage")
    }

    fn settle(&self, stage: Stage) {
        let mut guard = self.stage();
        *guard = stage;
        self.settled.ring(guard);
    }

    /// A later member of the same directory.
    pub fn ask(&self, last: Last) {
        *self.last.lock().expect("nothing panics while it sets this") = Some(last);
    }

    /// A later member where what is there stays: an earlier one has said what it is to be.
    pub fn ask_once(&self, last: Last) {
        self.last.lock().expect("nothing panics while it sets this").get_or_insert(last);
    }

    /// A member of a directory that was only in a path so far. One that was there is not replaced any more: something was put into it.
    pub fn ask_late(&self, last: Last) {
        if !self.explicit && matches!(&*self.stage(), Stage::Made { found: Some(_), .. }) {
            self.stays.get_or_init(|| Status::NotEmpty);
        }
        self.ask(last);
    }

    /// Why it is not replaced, where it was to be.
    pub fn stays(&self) -> Option<Status> {
        self.stays.get().copied()
    }

    /// Something was put into it.
    pub fn fill(&self) {
        // Lanes read what lies beside this.
        if !self.filled.load(Ordering::Relaxed) {
            self.filled.store(true, Ordering::Relaxed);
        }
    }

    /// The directory by its name, if something was put into it. The destination has none.
    pub fn filled(&self) -> Option<Filled> {
        let (above, name) = self.place.as_ref().filter(|_| self.filled.load(Ordering::Relaxed))?;
        Some(Filled { above: above.made()?, name: name.clone(), node: self.made()? })
    }

    /// The directory, if it is there.
    pub fn made(&self) -> Option<Node> {
        match &*self.stage() {
            Stage::Made { node, .. } => Some(node.clone()),
            _ => None,
        }
    }

    /// It was made in this run, or is set to what a member asks for; not one that was there and is only in paths.
    pub fn is_of_this_run(&self) -> bool {
        let is_asked =
            self.explicit || self.restore || self.last.lock().expect("nothing panics while it sets this").is_some();
        match &*self.stage() {
            Stage::Made { found, .. } => is_asked || found.is_none(),
            _ => false,
        }
    }

    /// Nobody has made it so far, or tried to.
    pub fn is_unmade(&self) -> bool {
        matches!(*self.stage(), Stage::Unmade)
    }

    /// Its path below the destination; `.` for the destination.
    pub fn path(&self) -> Vec<u8> {
        let mut names = Vec::new();
        let mut place = &self.place;
        while let Some((parent, name)) = place {
            names.push(name.as_bytes());
            place = &parent.place;
        }
        names.reverse();
        if names.is_empty() { b".".to_vec() } else { names.join(&b'/') }
    }

    fn frontier(self: &Arc<Dir>) -> Frontier {
        let (mut here, mut below) = (self, None);
        loop {
            match (&*here.stage(), below) {
                (Stage::Made { node, .. }, None) => return Frontier::Ready(Ok(node.clone())),
                (Stage::Made { node, .. }, Some(below)) => return Frontier::Claim(Arc::clone(below), node.clone()),
                (Stage::Failed(why), _) => return Frontier::Ready(Err(why.clone())),
                (Stage::Making, _) => return Frontier::Wait(here.clone()),
                (Stage::Unmade, _) => below = Some(here),
            }
            here = &here.place.as_ref().expect("the destination is made from the start").0;
        }
    }

    fn claim(self: Arc<Dir>, parent: Node) -> Option<Claim> {
        let name = self.place.as_ref()?.1.clone();
        {
            let mut stage = self.stage();
            if !matches!(*stage, Stage::Unmade) {
                return None;
            }
            *stage = Stage::Making;
        }
        Some(Claim { make: self.make, dir: self, parent, name, published: false })
    }

    fn wait(&self) {
        let mut stage = self.stage();
        while matches!(*stage, Stage::Making) {
            stage = self.settled.wait(stage).expect("nothing panics while it holds a directory's stage");
        }
    }

    /// How the directory stands after `ensure`.
    pub fn result(self: &Arc<Dir>) -> Result<Node, Why> {
        match self.frontier() {
            Frontier::Ready(result) => result,
            Frontier::Claim(dir, _) | Frontier::Wait(dir) => {
                Err(Why::Failed { path: dir.path().into(), cause: Cause::Call(Proc::MkDir, Status::Cancelled) })
            }
        }
    }

    /// When its last member was modified.
    fn dated(&self) -> Option<Time> {
        self.last.lock().expect("nothing panics while it sets this").as_ref().map(|(meta, _)| meta.dated)
    }

    /// What is set in the end: what its last member asks for, or what it had before it was touched; none where nothing is due.
    pub fn finish(&self, ctx: &Ctx<'_>) -> Option<Due> {
        let Stage::Made { node, found } = self.stage().clone() else { return None };
        let existed = found.is_some() || self.place.is_none();
        let owner_due = existed || self.owner_due.load(Ordering::Relaxed);
        let lowered = found.filter(|a| self.opens(a)).map(|a| a.mode);
        let kept = existed && matches!(ctx.options.existing, Existing::Keep | Existing::Skip | Existing::KeepNewer)
            || self.stays().is_some();
        let last = self.last.lock().expect("nothing panics while it sets this").clone().filter(|_| !kept);
        let extra = last.as_ref().and_then(|(_, extra)| extra.clone());
        let inherited = self.inherited.load(Ordering::Relaxed);
        // Bits that are not restored are left as they are (GNU tar).
        let had = match (&self.place, &last) {
            (None, Some(_)) => ctx.destination_mode(),
            _ => found.map(|attr| attr.mode),
        };
        let is_as_made =
            |meta: &Meta| !existed && extra.is_none() && ctx.is_made_with(meta.mode) && !self.inherits_of_archive();
        let mask = if last.as_ref().is_some_and(|(meta, _)| is_as_made(meta)) { 0o7000 } else { ctx.options.mode_mask };
        let left = had.unwrap_or(inherited) & mask & 0o7000;
        let held_back = match &last {
            Some((meta, _)) if meta.mode & SET_GROUP_ID != 0 => self.held_back(ctx, &node, found, inherited),
            _ => 0,
        };
        let change = match last {
            Some((meta, extra)) => AttrChange {
                mode: (existed
                    || extra.is_some()
                    || meta.mtime != SetTime::Keep
                    || self.make.mode != Some(meta.mode)
                    || inherited != 0
                    || self.other_mode.load(Ordering::Relaxed)
                    || meta.mode > 0o777)
                    .then_some((meta.mode | left) & !held_back)
                    // One that was made wider, to be filled, is never left so.
                    .filter(|_| {
                        inherited & UNKNOWN_BITS == 0 || !is_as_made(&meta) || self.make.mode != Some(meta.mode)
                    }),
                uid: meta.uid.filter(|_| owner_due || self.make.uid != meta.uid),
                gid: meta.gid.filter(|_| owner_due || self.make.gid != meta.gid),
                mtime: meta.mtime,
                ..AttrChange::default()
            },
            None => {
                let mtime = found.filter(|_| self.restore).map_or(SetTime::Keep, |a| SetTime::At(a.mtime));
                AttrChange { mode: lowered, mtime, ..AttrChange::default() }
            }
        };
        Due { node, change, extra, is_dir: true, is_new: !existed }.some()
    }

    /// What a stopped run does not give it yet of a mode with the set-group-id bit: members of it may be missing, and those that another run makes
    /// would inherit the bit. Where that one, with the same options, leaves the mode as it is, nothing is held back, for it would never be given.
    fn held_back(&self, ctx: &Ctx<'_>, node: &Node, found: Option<Attr>, inherited: u32) -> u32 {
        let existing = ctx.options.existing;
        if !ctx.stop().is_set() || existing.stays() || ctx.options.unlinks_dirs() {
            return 0;
        }
        let had = match &self.place {
            Some(_) => found.map_or(inherited, |attr| attr.mode),
            None => ctx.one(ctx.volume.route(), Call::get_attr(node)).attr().map_or(0, |attr| attr.mode),
        };
        let held_back = SET_GROUP_ID & !had;
        ctx.bits_held_back.fetch_or(held_back != 0, Ordering::Relaxed);
        held_back
    }

    /// Notes with which mode it was made. Where the answer did not tell, the directory above does.
    fn note_mode(&self, ctx: &Ctx<'_>, attr: Option<&Attr>) {
        let asked = self.make.mode.unwrap_or(0) & 0o7000;
        let above = || match self.place.as_ref().and_then(|(up, _)| up.passes_on(ctx)) {
            Some(true) => SET_GROUP_ID,
            Some(false) => 0,
            None => UNKNOWN_BITS,
        };
        let inherited = attr.map_or_else(above, |attr| attr.mode & 0o7000 & !asked);
        self.inherited.store(inherited, Ordering::Relaxed);
        let is_other = attr.zip(self.make.mode).is_some_and(|(is, mode)| (is.mode ^ mode) & 0o777 != 0);
        self.other_mode.store(is_other, Ordering::Relaxed);
    }

    /// Does what is made in it get its set-group-id bit? None: it is not known whether it has one.
    fn passes_on(&self, ctx: &Ctx<'_>) -> Option<bool> {
        let had = match &*self.stage() {
            _ if self.place.is_none() => ctx.destination_mode(),
            Stage::Made { found, .. } => found.map(|attr| attr.mode),
            _ => None,
        };
        let made = self.make.mode.map(|mode| mode | self.inherited.load(Ordering::Relaxed));
        let bits = had.or(made)?;
        if bits & UNKNOWN_BITS != 0 { None } else { Some(bits & SET_GROUP_ID != 0) }
    }

    /// Was it made below one that was there and has its set-group-id bit by the archive? Another run has given it that, which this one would have
    /// done last.
    fn inherits_of_archive(&self) -> bool {
        let mut above = self.place.as_ref().map(|(above, _)| above);
        while let Some(dir) = above
            && let (Some((up, _)), Stage::Made { found: None, .. }) = (&dir.place, &*dir.stage())
        {
            above = Some(up);
        }
        let given =
            |dir: &Arc<Dir>| dir.last.lock().expect("nothing panics while it sets this").as_ref().map(|(m, _)| m.mode);
        above.and_then(given).is_some_and(|mode| mode & SET_GROUP_ID != 0)
    }

    /// True for a directory that was there, is ours to fill, and does not let its owner in.
    fn opens(&self, attr: &Attr) -> bool {
        (self.explicit || self.restore) && attr.mode & 0o300 != 0o300
    }
}

/// A hash of the object `name` in the directory of hash `parent`; the same for the same path in one extraction.
pub(super) fn place_hash(state: &RandomState, parent: u64, name: &Name) -> u64 {
    state.hash_one((parent, name.as_bytes()))
}

/// Makes the directories that are not there, in windows, parents first. Each then has a `result`.
pub(super) fn ensure(ctx: &Ctx<'_>, route: Route, mut left: Vec<&Arc<Dir>>) {
    // Most often a batch is of one directory.
    left.dedup_by(|one, other| Arc::ptr_eq(one, other));
    while !left.is_empty() {
        let (mut claims, mut wait) = (Vec::new(), None);
        left.retain(|dir| match dir.frontier() {
            Frontier::Ready(_) => false,
            Frontier::Claim(dir, parent) => {
                claims.extend(dir.claim(parent));
                true
            }
            Frontier::Wait(dir) => {
                wait = Some(dir);
                true
            }
        });
        if !claims.is_empty() {
            make(ctx, route, claims);
        } else if let Some(dir) = wait {
            dir.wait();
        }
    }
}

fn make(ctx: &Ctx<'_>, route: Route, claims: Vec<Claim>) {
    let mut claims = claims;
    for attempt in 1..=TRIES_MAX {
        let mut calls: Vec<Call<'_>> = claims.iter().map(|c| Call::mkdir(&c.parent, &c.name, c.make)).collect();
        ctx.perform(route, &mut calls);
        let mut existing = Vec::new();
        for (claim, call) in claims.into_iter().zip(calls) {
            match call.found() {
                Ok(found) => {
                    claim.dir.note_mode(ctx, found.attr.as_ref());
                    if claim.make.not_given(found.attr.map(|is| (is.uid, is.gid))) != (None, None) {
                        claim.dir.owner_due.store(true, Ordering::Relaxed);
                    }
                    claim.publish(Ok((found.node, None)));
                }
                // A server may check its caller before the name: what is there can be used all the same.
                Err(status @ (Status::Exist | Status::Access | Status::Perm | Status::RoFs)) => {
                    existing.push((claim, status, call.repeated));
                }
                Err(status) => claim.publish(Err(Cause::Call(Proc::MkDir, status))),
            }
        }
        claims = use_existing(ctx, route, existing, attempt == TRIES_MAX);
        if claims.is_empty() {
            return;
        }
    }
}

/// Uses directories that are there; returns those to be made once more.
fn use_existing(ctx: &Ctx<'_>, route: Route, existing: Vec<(Claim, Status, bool)>, last: bool) -> Vec<Claim> {
    let mut calls: Vec<Call<'_>> = existing.iter().map(|(c, ..)| Call::lookup(&c.parent, &c.name)).collect();
    ctx.perform(route, &mut calls);
    let mut again = Vec::new();
    for ((mut claim, status, repeated), call) in existing.into_iter().zip(calls) {
        let found = ctx.found(route, &call);
        let is_dir = found.as_ref().is_ok_and(|(_, attr)| attr.kind == Kind::Dir);
        if is_dir && !repeated && !last && claim.unlinks(ctx, route) {
            again.push(claim);
            continue;
        }
        match found {
            // Made by a first try whose answer was lost.
            Ok((node, attr)) if attr.kind == Kind::Dir && repeated && claim.make.may_have_made(&attr) => {
                claim.publish(Ok((node, None)));
            }
            Ok((node, attr)) if attr.kind == Kind::Dir => {
                if claim.dir.opens(&attr) {
                    // If this is refused, so is what follows, and that is reported.
                    let change = AttrChange { mode: Some(attr.mode | 0o700), ..AttrChange::default() };
                    ctx.one(route, Call::set_attr(&node, change));
                }
                claim.publish(Ok((node, Some(attr))));
            }
            // The owner is what is refused; it is tried once more, and told, at the end.
            Err((_, Status::NoEnt)) if status == Status::Perm && claim.gives_away() => {
                claim.dir.owner_due.store(true, Ordering::Relaxed);
                (claim.make.uid, claim.make.gid) = (None, None);
                again.push(claim);
            }
            _ if last || status != Status::Exist && call.status().is_err() => {
                claim.publish(Err(Cause::Call(Proc::MkDir, status)));
            }
            Ok((_, attr)) => again.extend(replace(ctx, route, claim, &attr)),
            Err((_, Status::NoEnt)) => again.push(claim),
            Err((proc, status)) => claim.publish(Err(Cause::Call(proc, status))),
        }
    }
    again
}

/// Something else has the directory's name. A member replaces it by the options; a path is never followed through it.
fn replace(ctx: &Ctx<'_>, route: Route, claim: Claim, is: &Attr) -> Option<Claim> {
    if !claim.dir.explicit {
        let cause = match is.kind {
            Kind::Symlink => {
                let link = claim.dir.path();
                Cause::Refused(format!("would be written through the symbolic link '{}'", Shown(&link)))
            }
            _ => Cause::Call(Proc::MkDir, Status::NotDir),
        };
        claim.publish(Err(cause));
        return None;
    }
    match ctx.options.existing {
        Existing::Keep => claim.publish(Err(Cause::Call(Proc::MkDir, Status::Exist))),
        Existing::Skip => claim.skip(),
        Existing::KeepNewer if claim.dir.dated().is_none_or(|dated| is.mtime >= dated) => claim.skip(),
        Existing::Replace | Existing::UnlinkFirst | Existing::Overwrite | Existing::KeepNewer => {
            let route = ctx.volume.route_replacing(route);
            match ctx.one(route, Call::remove(&claim.parent, &claim.name)).status() {
                Ok(()) | Err(Status::NoEnt) => return Some(claim),
                Err(status) => claim.publish(Err(Cause::Call(Proc::Remove, status))),
            }
        }
    }
    None
}
