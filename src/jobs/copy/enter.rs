//! Making or finding directories at the target, and what becomes of them when all is in them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::base::{Cause, Proc, Status};
use crate::crew::Due;
use crate::storage::{self, Attr, AttrChange, Call, Kind, Node, Op, Route, SetTime};

use super::super::moved::{self, Filled};
use super::attributes;
use super::ctx::{Ctx, On, Trouble, add};
use super::decide;
use super::delete;
use super::dir::{Dir, Made};
use super::folds;
use super::groups;
use super::task::{At, Task};
use super::{Deed, Existing, TRIES_MAX, xattrs};

/// A directory on its way to being entered.
struct Entering {
    dir: Arc<Dir>,
    at: At,
    owner: bool,
    /// Its name was not there, and then it was.
    appeared: bool,
}

/// Makes or finds the directories; those that could be come back, the others are over.
pub(super) fn run(ctx: &Ctx<'_>, route: Route, dirs: Vec<Arc<Dir>>, due: &mut Vec<Due<Task>>) -> Vec<Arc<Dir>> {
    let mut entered = Vec::new();
    let mut left: Vec<Entering> = Vec::new();
    for dir in dirs {
        let at = dir.at.clone();
        left.push(Entering { dir, at, owner: true, appeared: false });
    }
    for attempt in 0..=TRIES_MAX {
        let mut again = Vec::new();
        let (ask, known) = left.into_iter().partition(|e| matches!(e.at, At::Ask | At::Present(None, _)));
        let known: Vec<Entering> = known;
        let asked = look_up(ctx, route, ask, due);
        let (absent, present) = known.into_iter().chain(asked).partition(|e| matches!(e.at, At::Absent));
        for entering in present {
            match found(ctx, route, entering, due) {
                Found::Entered(dir) => entered.push(dir),
                Found::Again(entering) => again.push(entering),
                Found::Over => {}
            }
        }
        make(ctx, route, absent, &mut entered, &mut again, due);
        left = again;
        if left.is_empty() || attempt == TRIES_MAX {
            break;
        }
    }
    for entering in left {
        give_up(ctx, &entering.dir, Trouble::Call(On::Target, Proc::MkDir, Status::Exist), due);
    }
    entered
}

/// The directory is not entered: what is in it is not met.
fn give_up(ctx: &Ctx<'_>, dir: &Arc<Dir>, trouble: Trouble, due: &mut Vec<Due<Task>>) {
    ctx.fail(dir, None, trouble);
    dir.break_off();
    dir.leave(due);
}

fn place(dir: &Dir) -> Option<(&Node, &crate::base::Name)> {
    dir.parent().map(|(parent, name)| (&parent.made().node, name))
}

fn look_up(ctx: &Ctx<'_>, route: Route, ask: Vec<Entering>, due: &mut Vec<Due<Task>>) -> Vec<Entering> {
    let mut calls: Vec<Call<'_>> =
        ask.iter().filter_map(|e| place(&e.dir)).map(|(parent, name)| Call::lookup(parent, name)).collect();
    ctx.target.perform(route, &mut calls);
    let answers: Vec<_> = calls.iter().map(|call| ctx.target.found(route, call)).collect();
    drop(calls);
    let mut known = Vec::new();
    for (entering, answer) in ask.into_iter().zip(answers) {
        match answer {
            Ok((node, attr)) => known.push(Entering { at: At::Present(Some(node), attr), ..entering }),
            Err((_, Status::NoEnt)) => known.push(Entering { at: At::Absent, ..entering }),
            Err(error) => give_up(ctx, &entering.dir, Trouble::on_target(error), due),
        }
    }
    known
}

enum Found {
    Entered(Arc<Dir>),
    Again(Entering),
    Over,
}

/// Something has the directory's name.
fn found(ctx: &Ctx<'_>, route: Route, entering: Entering, due: &mut Vec<Due<Task>>) -> Found {
    let Entering { dir, at: At::Present(Some(node), attr), owner, appeared } = entering else {
        return Found::Again(entering);
    };
    if let Some((parent, name)) = dir.parent().filter(|_| appeared)
        && let Some(taken) = folds::is_taken(ctx, route, parent, name, &attr)
    {
        give_up(ctx, &dir, taken, due);
        return Found::Over;
    }
    if attr.kind == Kind::Dir {
        use_existing(ctx, route, &dir, node, attr);
        return Found::Entered(dir);
    }
    if ctx.compares() {
        ctx.differs("type", &dir, None);
    } else if ctx.options.existing == Existing::Keep && ctx.later {
        // Told by the first pass.
    } else if ctx.options.existing == Existing::Keep {
        add(&ctx.counts.kept, 1);
        let reason =
            "is no directory at the destination and is kept, so that nothing in the source's directory is copied";
        ctx.fail(&dir, None, Trouble::Refused(On::Target, reason.into()));
    } else if let Some(taken) = ctx.taken(&dir, None, &attr) {
        give_up(ctx, &dir, taken, due);
        return Found::Over;
    } else if let Some((parent, name)) = place(&dir) {
        let route = ctx.target.volume.route_replacing(route);
        let status = ctx.target.one(route, Call::remove(parent, name)).status();
        match status {
            Ok(()) | Err(Status::NoEnt) => {
                touch_parent(&dir);
                return Found::Again(Entering { dir, at: At::Absent, owner, appeared: false });
            }
            Err(status) => {
                give_up(ctx, &dir, Trouble::Call(On::Target, Proc::Remove, status), due);
                return Found::Over;
            }
        }
    }
    dir.break_off();
    dir.leave(due);
    Found::Over
}

/// The target's directory is there. One that others' names are copied below is used as it is.
pub(super) fn use_existing(ctx: &Ctx<'_>, route: Route, dir: &Arc<Dir>, node: Node, attr: Attr) {
    ctx.links.met_fs(attr.fsid);
    if ctx.compares() {
        if !dir.is_frame() {
            let what = groups::difference(ctx, &dir.attr, &attr);
            what.iter().for_each(|what| ctx.differs(what, dir, None));
            let more = xattrs::compare(ctx, route, (&dir.source, &node), (dir, None));
            let more = more.unwrap_or_else(|(on, proc, status)| {
                // That it is gone is found out when it is listed.
                if on == On::Target || !ctx.is_gone(dir, status) {
                    ctx.fail(dir, None, Trouble::Call(on, proc, status));
                }
                false
            });
            if more || what.is_some() {
                dir.touch();
            }
        }
        dir.set_made(Made::new(node, Some(attr)));
        return;
    }
    let (attr, regrouped) = groups::give_dir(ctx, route, dir, (&node, attr));
    let opened = !dir.is_frame() && attr.mode & 0o700 != 0o700 && !may_fill(ctx, route, &node);
    if opened {
        // If this is refused, so is what follows, and that is reported.
        let change = AttrChange { mode: Some(attr.mode | 0o700), ..AttrChange::default() };
        ctx.target.one(route, Call::set_attr(&node, change));
    }
    let inherits = ctx.xattrs && xattrs::has_default_acl(ctx, route, &node);
    dir.set_made(Made { opened, regrouped, inherits, ..Made::new(node, Some(attr)) });
}

/// True when the caller may list and change the directory whatever its mode says, as root mostly may; only the server knows.
fn may_fill(ctx: &Ctx<'_>, route: Route, node: &Node) -> bool {
    /// READ, LOOKUP, MODIFY, EXTEND and DELETE of RFC 1813 3.3.4.
    const ALL: u32 = 0x1f;
    let answer = ctx.target.one(route, Call::access(node, ALL));
    matches!(answer.op, Op::Access { out: Ok(granted), .. } if granted & ALL == ALL)
}

fn touch_parent(dir: &Dir) {
    if let Some((parent, _)) = dir.parent() {
        parent.touch();
    }
}

fn make(
    ctx: &Ctx<'_>,
    route: Route,
    absent: Vec<Entering>,
    entered: &mut Vec<Arc<Dir>>,
    again: &mut Vec<Entering>,
    due: &mut Vec<Due<Task>>,
) {
    if ctx.compares() {
        for Entering { dir, .. } in absent {
            ctx.differs("only in the source", &dir, None);
            dir.break_off();
            dir.leave(due);
        }
        return;
    }
    let change = |entering: &Entering| {
        let all = decide::make(ctx.options, &entering.dir.attr, None);
        let shut_out = xattrs::shut_out(ctx, &entering.dir.source, &entering.dir.attr, inherits(&entering.dir));
        // While it is filled, its owner must be able to.
        let mode = all.mode.map(|mode| mode & !shut_out | 0o700);
        if entering.owner {
            AttrChange { mode, ..all }
        } else {
            AttrChange { mode, masked: all.masked, ..AttrChange::default() }
        }
    };
    let mut calls: Vec<Call<'_>> = absent
        .iter()
        .filter_map(|e| place(&e.dir).map(|(parent, name)| Call::mkdir(parent, name, change(e))))
        .collect();
    ctx.target.perform(route, &mut calls);
    let answers: Vec<_> = calls.iter().map(Call::found).collect();
    drop(calls);
    let made = absent.iter().zip(&answers).filter_map(|(entering, answer)| {
        let found = answer.as_ref().ok()?;
        Some(((&entering.dir.attr, None), &found.node, found.attr.map(|is| (is.uid, is.gid))))
    });
    groups::give_new(ctx, route, made);
    for (entering, answer) in absent.into_iter().zip(answers) {
        let Entering { dir, owner, .. } = entering;
        match answer {
            Ok(found) => {
                dir.parent().into_iter().for_each(|(parent, _)| parent.gain());
                let inherits = inherits(&dir);
                let owner_is = found.attr.map(|is| (is.uid, is.gid));
                let let_in = let_in(ctx, route, &dir.attr, &found);
                dir.set_made(Made { owner_refused: !owner, owner_is, inherits, let_in, ..Made::new(found.node, None) });
                add(&ctx.counts.dirs, 1);
                ctx.tell(Deed::Made, &dir, None);
                entered.push(dir);
            }
            Err(Status::Exist) => again.push(Entering { dir, at: At::Ask, owner, appeared: true }),
            // Not root, or root that the server squashes.
            Err(Status::Perm) if owner && (ctx.options.preserve.uid || ctx.options.preserve.gid) => {
                // A server may make a directory before it refuses its owner.
                again.push(Entering { dir, at: At::Ask, owner: false, appeared: false });
            }
            Err(status) => give_up(ctx, &dir, Trouble::Call(On::Target, Proc::MkDir, status), due),
        }
    }
}

/// Nothing is open in these directories any more: what the target alone has is removed, then the last attributes are set.
pub(super) fn finish(ctx: &Ctx<'_>, dirs: Vec<Arc<Dir>>, due: &mut Vec<Due<Task>>) {
    let route = ctx.target.route();
    let mut over = Vec::new();
    for dir in dirs {
        if dir.join().begins_anew() {
            dir.hold(1);
            due.push(Task::List(dir).due());
            continue;
        }
        if dir.entered().is_some() && dir.sweep() && delete::sweep(ctx, &dir, due) {
            continue; // it comes again when that is over
        }
        over.push(dir);
    }
    set_last(ctx, route, &over);
    for dir in over {
        if !ctx.later && dir.entered().is_some() {
            add(&ctx.counts.objects, 1);
            add(&ctx.live.objects, 1);
        }
        if let Some((parent, _)) = dir.parent() {
            parent.leave(due);
        }
    }
}

/// Sets the last attributes of directories, and looks whether those that something was put into are where they are to be.
fn set_last(ctx: &Ctx<'_>, route: Route, over: &[Arc<Dir>]) {
    let (mut setting, mut looked, mut filled) = (Vec::new(), Vec::new(), Vec::new());
    for (i, dir) in over.iter().enumerate() {
        if dir.entered().is_some() && dir.is_fresh() {
            xattrs::miss(ctx, &dir.source);
        }
        let regrouped = dir.entered().is_some_and(|made| made.regrouped);
        let carried = carry_xattrs(ctx, route, dir) || regrouped;
        if let Some(change) = change_due(ctx, dir, carried) {
            setting.push((i, change, carried));
        } else if carried && !dir.is_fresh() {
            add(&ctx.counts.attributes, 1);
            ctx.tell(Deed::Attributes, dir, None);
        }
        if let Some(is) = dir.filled() {
            looked.push(i);
            filled.push(is);
        }
    }
    let changes: Vec<_> = setting.iter().map(|(i, change, _)| (&over[*i].made().node, *change)).collect();
    let mut looks: Vec<Call<'_>> = filled.iter().map(Filled::look).collect();
    let ends = attributes::set_of_dirs(ctx, route, &changes, &mut looks);
    let judged = looked.into_iter().zip(moved::judge(ctx.target, route, &filled, &looks));
    let mut lost: Vec<(usize, Cause)> = judged.filter_map(|(i, is)| Some((i, is.err()?))).collect();
    for ((i, _, carried), end) in setting.into_iter().zip(ends) {
        let is_moved = lost.iter().any(|(at, cause)| *at == i && matches!(cause, Cause::Refused(_)));
        if !is_moved {
            // Of two calls that failed the first is told.
            lost.retain(|(at, _)| *at != i || end.is_ok());
            tell_set(ctx, &over[i], carried, end);
        }
    }
    for (i, cause) in lost {
        let trouble = match cause {
            Cause::Call(proc, status) => Trouble::Call(On::Target, proc, status),
            Cause::Refused(reason) => Trouble::Refused(On::Target, reason),
        };
        ctx.fail(&over[i], None, trouble);
    }
}

/// What is to be set on a directory in the end; of one that is left as it was that is counted.
fn change_due(ctx: &Ctx<'_>, dir: &Dir, carried: bool) -> Option<AttrChange> {
    let mut change = last_change(ctx, dir);
    if let Some(AttrChange { mode: Some(mode), .. }) = &mut change
        && ctx.xattrs
        && dir.has_vanished()
    {
        // What its ACL, which nobody knows now, did not let in.
        *mode &= !0o077;
    }
    let existed = dir.entered().is_some_and(|made| made.was.is_some());
    let differs = ctx.compares() && dir.is_touched();
    if change.is_none() && !carried && existed && !ctx.later && !dir.is_frame() && !differs {
        add(&ctx.counts.unchanged, 1);
    }
    if change.is_none() && dir.entered().is_some_and(|made| made.owner_refused) {
        ctx.fail(dir, None, owner_refused());
    }
    change
}

/// Tells how setting a directory's last attributes ended.
fn tell_set(ctx: &Ctx<'_>, dir: &Dir, carried: bool, end: Result<attributes::Owned, Status>) {
    match end {
        Ok(owned) if !owned.is_given() || dir.made().owner_refused => ctx.fail(dir, None, owner_refused()),
        Ok(_) => {
            let is_more = carried || !dir.is_touched() || differs_beside_time(ctx, dir);
            if !dir.is_fresh() && is_more && !is_as_it_was(ctx, dir) {
                add(&ctx.counts.attributes, 1);
                ctx.tell(Deed::Attributes, dir, None);
            }
        }
        Err(status) => ctx.fail(dir, None, Trouble::Call(On::Target, Proc::SetAttr, status)),
    }
}

/// Extended attributes have no time that would tell of them: they are looked at in each run. True when some were changed.
fn carry_xattrs(ctx: &Ctx<'_>, route: Route, dir: &Dir) -> bool {
    let Some(made) = dir.entered().filter(|_| ctx.xattrs && !ctx.compares() && !ctx.later) else { return false };
    if dir.has_vanished() || dir.is_frame() && made.was.is_some() {
        return false;
    }
    // A new directory gets its parent's default ACL.
    let unclean = made.was.is_some() || made.inherits;
    xattrs::carry(ctx, route, (&dir.source, &made.node), unclean, (dir, None))
}

/// Was more than its time, which changes with what is in it, other than the source's?
fn differs_beside_time(ctx: &Ctx<'_>, dir: &Dir) -> bool {
    let was = dir.entered().and_then(|made| made.was.as_ref()).filter(|_| !dir.is_frame());
    was.map(|was| decide::change(ctx.by(), &dir.attr, was))
        .is_some_and(|change| change.mode.is_some() || change.gives_away())
}

/// True when all that was set on the directory is the mode that it had before it was opened.
fn is_as_it_was(ctx: &Ctx<'_>, dir: &Dir) -> bool {
    let differs = |was: &Attr| !dir.is_frame() && !decide::change(ctx.by(), &dir.attr, was).is_empty();
    dir.entered().is_some_and(|made| made.opened && !made.regrouped && !made.was.as_ref().is_some_and(differs))
}

/// The trouble of an object that is whole but for its owner.
pub(super) fn owner_refused() -> Trouble {
    Trouble::Refused(On::Target, format!("copied, but its owner cannot be set: {}", Status::Perm))
}

/// Lets its owner into a new directory that a default ACL shuts; the mode that it was made with.
pub(super) fn let_in(ctx: &Ctx<'_>, route: Route, source: &Attr, found: &storage::Found) -> Option<u32> {
    let is = found.attr.filter(|_| decide::masked(ctx.options, source).is_some())?;
    if is.mode & 0o700 == 0o700 {
        return None;
    }
    // If this is refused, so is what follows, and that is reported.
    let change = AttrChange { mode: Some(is.mode | 0o700), ..AttrChange::default() };
    ctx.target.one(route, Call::set_attr(&found.node, change));
    Some(is.mode)
}

/// The mode of a new directory that its owner was let into, and whose mode is not kept: without what its owner is not to have of it.
fn shut(ctx: &Ctx<'_>, node: &Node, wanted: u32) -> Option<u32> {
    if wanted & 0o700 == 0o700 {
        return None;
    }
    let is = ctx.target.one(ctx.target.route(), Call::get_attr(node)).attr();
    Some(is.map_or(wanted, |is| is.mode & !0o700 | wanted & 0o700))
}

/// Has the directory its mode from an ACL that was carried, and is it to keep no other? Its group's bits are the ACL's mask then, which the umask
/// is not for.
fn has_mode_of_acl(ctx: &Ctx<'_>, node: &Node) -> bool {
    ctx.xattrs
        && ctx.options.preserve.acls
        && !ctx.options.preserve.mode
        && xattrs::has_acl(ctx, ctx.target.route(), node)
}

/// Does it get an ACL of the directory that it is made in?
fn inherits(dir: &Dir) -> bool {
    dir.parent().is_some_and(|(parent, _)| parent.made().inherits)
}

/// What is to be set on a directory when all is in it, its extended attributes too.
fn last_change(ctx: &Ctx<'_>, dir: &Dir) -> Option<AttrChange> {
    let made = dir.entered().filter(|_| !ctx.compares())?;
    let wanted = decide::mode(ctx.options, &dir.attr, None);
    let change = match &made.was {
        None => {
            // Its mode comes with the time: making it may have left bits out, and its owner was let in.
            let mode = match made.let_in {
                _ if has_mode_of_acl(ctx, &made.node) => None,
                _ if decide::is_exact(ctx.options) => Some(wanted),
                Some(mode) => Some(mode & (wanted | !0o700)),
                None => shut(ctx, &made.node, wanted),
            };
            let all = decide::make(ctx.options, &dir.attr, None);
            let (uid, gid) = match made {
                _ if dir.is_root() => (all.uid, all.gid),
                Made { owner_refused: true, .. } => (None, None),
                made => all.not_given(made.owner_is),
            };
            AttrChange { mode, uid, gid, ..decide::times(ctx.options, &dir.attr) }
        }
        Some(_) if dir.is_frame() => AttrChange::default(),
        Some(was) => {
            let differs = decide::change(ctx.by(), &dir.attr, was);
            let touched = dir.is_touched() || dir.is_root() && ctx.probed.load(Ordering::Relaxed);
            let timed = touched && ctx.options.preserve.times;
            let mtime = if timed { SetTime::At(dir.attr.mtime) } else { differs.mtime };
            let atime = if timed { SetTime::At(dir.attr.atime) } else { differs.atime };
            let reopened = (made.opened && !has_mode_of_acl(ctx, &made.node)).then(|| differs.mode.unwrap_or(was.mode));
            AttrChange { mode: differs.mode.or(reopened), mtime, atime, ..differs }
        }
    };
    (!change.is_empty()).then_some(change)
}
