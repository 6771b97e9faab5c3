//! The last attributes of objects, in windows over many: mode, owner and size, then extended attributes, then ACLs, then the
//! time. In this order because a change of owner takes capabilities away, a change of mode changes an ACL's mask, and an object
//! with the archive's time is complete.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::base::name::Shown;
use crate::base::{Cause, Failure, Name, Proc, Status};
use crate::storage::{AttrChange, Call, NO_XATTR, Node, Op, Route, SetTime};

use super::super::mode::SET_IDS;
use super::attributes::Extra;
use super::ctx::{Ctx, Outcome};

/// What an object is to have in the end.
pub(super) struct Due {
    pub node: Node,
    pub change: AttrChange,
    pub extra: Option<Arc<Extra>>,
    pub is_dir: bool,
    /// This run made it.
    pub is_new: bool,
}

impl Due {
    /// Itself, unless there is nothing to set.
    pub fn some(self) -> Option<Due> {
        (!self.change.is_empty() || self.extra.is_some()).then_some(self)
    }

    /// What goes before extended attributes: nothing, where there are none.
    fn first(&self) -> AttrChange {
        let Some(extra) = &self.extra else { return AttrChange::default() };
        let mode = self.change.mode.map(|mode| mode & !extra.shuts_out());
        AttrChange { mode, mtime: SetTime::Keep, ..self.change }
    }

    /// What goes last: all, where there are none. The ACL has brought what of the mode it shut out, if the file system has ACLs.
    fn last(&self, has_acl: bool) -> AttrChange {
        match &self.extra {
            None => self.change,
            Some(extra) => {
                let mode = self.change.mode.filter(|_| !has_acl && extra.shuts_out() != 0);
                AttrChange { mode, mtime: self.change.mtime, ..AttrChange::default() }
            }
        }
    }
}

/// A file whose data could not all be written.
pub(super) struct Spoilt<'a> {
    pub node: Node,
    pub parent: &'a Node,
    pub name: &'a Name,
    /// It may have been there before: an answer was lost, and it was empty.
    pub existed: bool,
    /// Nothing is in it, or what is in it is from its beginning on and is written over by the next run.
    pub is_plain: bool,
}

/// Empties files whose data could not all be written: what came behind the WRITE that failed was carried out, so that they would
/// have holes for data and look nearly whole by their sizes. That they are not whole is told; a target that is gone is not asked twice.
///
/// Where the next run leaves what it finds, they are removed, or nothing would ever complete them. For each why it could not be.
pub(super) fn spoilt(ctx: &Ctx<'_>, route: Route, files: &[Spoilt<'_>]) -> Vec<Option<Status>> {
    let stays = ctx.options.existing.stays();
    let change = AttrChange { size: Some(0), ..AttrChange::default() };
    let holed = files.iter().filter(|file| if stays { file.existed } else { !file.is_plain });
    let mut calls: Vec<Call<'_>> = holed.map(|file| Call::set_attr(&file.node, change)).collect();
    ctx.perform(route, &mut calls);
    let left = |file: &Spoilt<'_>| match file.existed {
        _ if !stays => None,
        true => Some(Status::Exist),
        false => remove(ctx, route, file).err(),
    };
    files.iter().map(left).collect()
}

/// Removes it by its name, unless that is another file's by now.
fn remove(ctx: &Ctx<'_>, route: Route, file: &Spoilt<'_>) -> Result<(), Status> {
    let route = ctx.volume.route_replacing(route);
    let attempt = || {
        let is = ctx.look_up(route, file.parent, file.name).map_err(|(_, status)| status)?.1;
        let is_this = match file.node.fileid() {
            Some(made) => is.fileid == made,
            None => ctx.one(route, Call::get_attr(&file.node)).attr()?.is_same_as(&is),
        };
        if is_this { ctx.one(route, Call::remove(file.parent, file.name)).status() } else { Ok(()) }
    };
    match attempt() {
        // Another program has removed or replaced it.
        Err(Status::NoEnt | Status::Stale) => Ok(()),
        result => result,
    }
}

/// Is the hole at a file's end missing, which the next run would not give it?
pub(super) fn is_cut(ctx: &Ctx<'_>, due: &Due, cause: &Cause) -> bool {
    due.change.size.is_some() && ctx.options.existing.stays() && matches!(cause, Cause::Call(..))
}

/// The failure of a file that is there, is not whole, and could not be removed.
pub(super) fn left_over(path: &[u8], why: &Cause, status: Status) -> Failure {
    let text = "and what there is of it cannot be removed";
    Failure::refused(path, format!("{why}, {text}: {status}; {STAYS}"))
}

/// The failure of a file that may be there, empty, for all that was heard.
pub(super) fn maybe_there(path: &[u8], why: &Cause) -> Failure {
    Failure::refused(path, format!("{why}; it may be there all the same, empty: {STAYS}"))
}

const STAYS: &str = "remove it, or other runs leave it as it is";

/// How it ended: whether the owner was refused, or why it is not as it should be.
pub(super) type Finished = Result<bool, Cause>;

/// How far an object is.
struct End {
    so_far: Finished,
    /// Something went wrong that may go right another time: without its time a run that resumes does it again.
    again: bool,
    /// The file system has no ACLs.
    no_acl: bool,
    /// It is another's than the archive says.
    not_given: bool,
}

/// Sets all of them; for each how it ended.
pub(super) fn all(ctx: &Ctx<'_>, route: Route, dues: &[Due]) -> Vec<Finished> {
    all_beside(ctx, route, dues, &mut Vec::new())
}

/// The same. The calls `beside` are carried out in the last window.
pub(super) fn all_beside(ctx: &Ctx<'_>, route: Route, dues: &[Due], beside: &mut Vec<Call<'_>>) -> Vec<Finished> {
    let mut ends: Vec<End> =
        dues.iter().map(|_| End { so_far: Ok(false), again: false, no_acl: false, not_given: false }).collect();
    if dues.iter().any(|due| due.extra.is_some()) {
        change(ctx, route, (dues, &mut Vec::new()), &mut ends, |due, _| due.first());
        set(ctx, route, dues, &mut ends, xattrs);
        set(ctx, route, dues, &mut ends, acls);
    }
    change(ctx, route, (dues, beside), &mut ends, |due, end| due.last(!end.no_acl));
    for (due, end) in dues.iter().zip(&mut ends) {
        if let (Some(bad), true) = (due.extra.as_ref().and_then(|extra| extra.bad.as_ref()), end.so_far.is_ok()) {
            end.so_far = Err(Cause::Refused(bad.clone()));
        }
    }
    ends.into_iter().map(|end| end.so_far).collect()
}

/// SETATTRs of what `part` says. What a change of a file's owner would take from its mode is set after it, and not on a file that was not
/// given its owner: whoever runs it would get another's rights.
fn change(
    ctx: &Ctx<'_>,
    route: Route,
    (dues, beside): (&[Due], &mut Vec<Call<'_>>),
    ends: &mut [End],
    part: impl Fn(&Due, &End) -> AttrChange,
) {
    let split = |due: &Due, end: &End| match part(due, end) {
        change if due.is_dir => (AttrChange::default(), change),
        change if end.not_given => AttrChange { mode: change.mode.map(|mode| mode & !SET_IDS), ..change }.owner_first(),
        change => change.owner_first(),
    };
    if dues.iter().any(|due| due.change.gives_away()) {
        set_attrs(ctx, route, (dues, &mut Vec::new()), ends, |due, end| split(due, end).0);
    }
    set_attrs(ctx, route, (dues, beside), ends, |due, end| split(due, end).1);
}

/// A window of SETATTRs of what `part` says; one that failed for its owner or its mode alone is done without it.
fn set_attrs(
    ctx: &Ctx<'_>,
    route: Route,
    (dues, beside): (&[Due], &mut Vec<Call<'_>>),
    ends: &mut [End],
    part: impl Fn(&Due, &End) -> AttrChange,
) {
    let mut of = Vec::with_capacity(dues.len());
    let mut calls = Vec::with_capacity(dues.len());
    for (i, due) in dues.iter().enumerate() {
        let change = part(due, &ends[i]);
        if !change.is_empty() && !ends[i].again {
            of.push(i);
            calls.push(Call::set_attr(&due.node, change));
        }
    }
    let sets = calls.len();
    calls.append(beside);
    ctx.perform(route, &mut calls);
    *beside = calls.split_off(sets);
    for (i, call) in of.into_iter().zip(&calls) {
        let settled = match (call.status(), &call.op) {
            // Of this one alone: a server that maps one id may take the others.
            (Err(status), Op::SetAttr { change, .. }) => set_without(ctx, route, &dues[i], *change, status),
            _ => Ok(Without { owner: call.leaves_owner_out(), mode: None }),
        };
        let End { so_far, again, not_given, .. } = &mut ends[i];
        *not_given |= settled.is_ok_and(|without| without.owner);
        match (settled, so_far) {
            (Ok(Without { mode: Some(status), owner }), so_far @ Ok(_)) => {
                let what = if owner { "owner and its mode" } else { "mode" };
                *so_far = Err(Cause::Refused(format!("extracted, but its {what} cannot be set: {status}")));
            }
            (Ok(without), Ok(owner_refused)) => *owner_refused |= without.owner,
            (Err(status), so_far) => {
                *again = true;
                if so_far.is_ok() {
                    *so_far = Err(Cause::Call(Proc::SetAttr, status));
                }
            }
            (Ok(_), Err(_)) => {}
        }
    }
}

/// What of a SETATTR was refused, and left out.
#[derive(Clone, Copy, Default)]
struct Without {
    owner: bool,
    mode: Option<Status>,
}

/// Does a SETATTR that was refused without the owner, without the mode, or without both: a caller may not give files away, and on some
/// file systems behind a server a mode is what it is.
fn set_without(ctx: &Ctx<'_>, route: Route, due: &Due, change: AttrChange, refused: Status) -> Result<Without, Status> {
    let has_owner = change.gives_away() && refused == Status::Perm;
    let has_mode = change.mode.is_some() && refused.is_refusal();
    let note_owner = || ctx.owners_refused.fetch_or(due.is_new, Ordering::Relaxed);
    for (owner, mode) in [(true, false), (false, true), (true, true)] {
        if (owner && !has_owner) || (mode && !has_mode) {
            continue;
        }
        let mut rest = change;
        if owner {
            (rest.uid, rest.gid) = (None, None);
        }
        if mode {
            rest.mode = None;
        }
        if rest.is_empty() || ctx.one(route, Call::set_attr(&due.node, rest)).status().is_ok() {
            if owner {
                note_owner();
            }
            return Ok(Without { owner, mode: mode.then_some(refused) });
        }
    }
    if has_owner {
        note_owner();
    }
    Err(refused)
}

/// An attribute to be set, or to be taken away.
type Change<'a> = (&'a [u8], Option<&'a [u8]>);

fn xattrs(extra: &Extra) -> Vec<Change<'_>> {
    extra.xattrs.iter().map(|(name, value)| (&name[..], Some(&value[..]))).collect()
}

fn acls(extra: &Extra) -> Vec<Change<'_>> {
    extra.acls.iter().map(|(name, value)| (*name, value.as_deref())).collect()
}

/// A window of what `of` says.
fn set<'a>(ctx: &Ctx<'_>, route: Route, dues: &'a [Due], ends: &mut [End], of: impl Fn(&'a Extra) -> Vec<Change<'a>>) {
    let mut changes = Vec::new();
    let mut calls = Vec::new();
    for (i, due) in dues.iter().enumerate() {
        for (name, value) in due.extra.as_deref().map(&of).unwrap_or_default() {
            changes.push((i, name, value.is_some()));
            calls.push(match value {
                Some(value) => Call::set_xattr(&due.node, name, value),
                None => Call::remove_xattr(&due.node, name),
            });
        }
    }
    ctx.perform(route, &mut calls);
    for ((i, name, sets), call) in changes.into_iter().zip(&calls) {
        let status = match call.status() {
            Ok(()) => continue,
            // Nothing of the kind was inherited.
            Err(NO_XATTR | Status::NotSupp) if !sets => continue,
            Err(Status::NotSupp) => {
                ctx.xattrs_lost.store(true, Ordering::Relaxed);
                ends[i].no_acl |= name == super::super::acl::ACCESS;
                continue;
            }
            Err(status) => status,
        };
        let is_refused = matches!(status, Status::Perm | Status::Access);
        ends[i].again |= !is_refused;
        if ends[i].so_far.is_ok() {
            let time = match is_refused {
                true => "",
                false if ctx.options.existing.stays() => "; nor is its time",
                false => "; nor is its time, so that --resume does it again",
            };
            let what = called(name);
            ends[i].so_far = Err(Cause::Refused(format!("extracted, but its {what} cannot be set: {status}{time}")));
        }
    }
}

/// What an attribute is called in messages.
fn called(name: &[u8]) -> String {
    match name {
        super::super::acl::ACCESS => "ACL".into(),
        super::super::acl::DEFAULT => "default ACL".into(),
        _ => format!("extended attribute {}", Shown(name)),
    }
}

/// How a member ended whose last attributes are not as they should be: what is refused here is told as extracted.
pub(super) fn ended(path: &[u8], cause: Cause) -> Outcome {
    let is_there = matches!(cause, Cause::Refused(_));
    let failure = Failure { path: path.to_vec(), cause };
    if is_there { Outcome::Lacking(failure) } else { Outcome::Failed(failure) }
}

/// The failure of an object that is whole but for its owner.
pub(super) fn owner_refused(path: &[u8]) -> Failure {
    Failure::refused(path, format!("extracted, but its owner cannot be set: {}", Status::Perm))
}
