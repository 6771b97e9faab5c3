//! Members that are no directories: making them, what to do where the name exists, and their final attributes.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::base::{Cause, Failure, Name, Proc, Status};
use crate::storage::{Attr, AttrChange, Call, Found, How, Kind, Mount, Node, Op, Route, SetTime, Special};

use super::super::mode::SET_IDS;
use super::attributes::Extra;
use super::ctx::{Ctx, Head, Meta, Outcome};
use super::finish::{self, Due};
use super::{Existing, TRIES_MAX};

/// ETIMEDOUT, on Linux.
const TIMED_OUT: i32 = 110;

const UNCLEAR: &str = "an answer was lost, and what has this name now, of another owner, may be this run's, still empty, or what was \
                       there before; look at it, and remove it or leave it out";

/// What a leaf is.
pub(super) enum What {
    /// A file whose data is at hand.
    File {
        data: Vec<u8>,
        shape: Shape,
    },
    Symlink(Vec<u8>),
    Special(Special),
    /// No leaf: a directory member, made with the batch. It is the leaf's own directory.
    Dir,
}

/// A file's size and where its stored data belongs: (stored start, offset in the file, bytes).
#[derive(Clone, Default)]
pub(super) struct Shape {
    pub size: u64,
    pub segments: Option<Arc<[(u64, u64, u64)]>>,
}

impl Shape {
    /// The size to set at the end: where a file ends in a hole.
    fn size_due(&self) -> Option<u64> {
        let segments = self.segments.as_ref()?;
        let end = segments.last().map_or(0, |(_, offset, len)| offset + len);
        (end != self.size).then_some(self.size)
    }
}

/// A member to be made in a batch.
pub(super) struct Leaf {
    pub head: Head,
    /// Its directory's place among the batch's.
    pub dir: usize,
    pub name: Name,
    pub what: What,
    pub meta: Meta,
    pub extra: Option<Arc<Extra>>,
}

/// What a call needs to make an object; shared by small and big files.
pub(super) struct Making<'a> {
    pub path: &'a [u8],
    pub parent: &'a Node,
    pub name: &'a Name,
    pub meta: Meta,
    pub extra: Option<&'a Arc<Extra>>,
    pub kind: MakeKind<'a>,
}

#[derive(Clone, Copy)]
pub(super) enum MakeKind<'a> {
    File,
    Symlink(&'a [u8]),
    Special(Special),
}

/// An object made, or an existing file to be written into, whose attributes are then to be set.
pub(super) struct Made {
    pub node: Node,
    pub existed: bool,
    /// The server does not let the caller give it away; it is made all the same, and told.
    pub owner_refused: bool,
    /// Whose it is, where the reply to the call that made it said so.
    pub owner: Option<(u32, u32)>,
    /// It was made with another mode than the one asked for: an inherited ACL, or the server, took bits off.
    pub other_mode: bool,
}

/// Whose what has a name is, after an answer to a call that makes it was lost.
enum Whose {
    /// The call's. What was there before and looks just so has little to lose: an empty file, the same link or device, of the caller's or
    /// of the owner that it is to have, without another name.
    Ours,
    /// It is like that but for its owner, which the server may have left out.
    Unclear,
    Anothers,
}

impl Made {
    fn found(node: Node) -> Made {
        Made { node, existed: true, owner_refused: false, owner: None, other_mode: false }
    }
}

impl<'a> Making<'a> {
    /// Is its owner asked for at once?
    pub fn gives(&self, ctx: &Ctx<'_>) -> bool {
        !ctx.refuses(self.owner())
    }

    /// User and group that it is to have.
    fn owner(&self) -> (Option<u32>, Option<u32>) {
        (self.meta.uid, self.meta.gid)
    }

    /// What it is made with. Set-id bits come when all else is done: nobody is to run what is not whole yet.
    fn change(&self, owner: bool) -> AttrChange {
        let Meta { mode, uid, gid, .. } = self.meta;
        let (uid, gid) = if owner { (uid, gid) } else { (None, None) };
        let shut = self.extra.map_or(0, |extra| extra.shuts_out());
        let mode = if let MakeKind::Symlink(_) = self.kind { None } else { Some(mode & !SET_IDS & !shut) };
        AttrChange { mode, uid, gid, ..AttrChange::default() }
    }

    pub fn call(&self, owner: bool) -> Call<'a> {
        let change = self.change(owner);
        match self.kind {
            MakeKind::File => Call::create(self.parent, self.name, How::Guarded, change),
            MakeKind::Symlink(target) => Call::symlink(self.parent, self.name, target, change),
            MakeKind::Special(special) => Call::mknod(self.parent, self.name, special, change),
        }
    }

    /// What the answer to the first call, with its owner or without, means; goes on where the name exists.
    pub fn settle(&self, ctx: &Ctx<'_>, route: Route, call: &mut Call<'_>, mut owner: bool) -> Result<Made, Outcome> {
        if let Some(found) = call.found_object() {
            return Ok(self.made(ctx, found, owner));
        }
        let (mut result, mut repeated) = (call.take_found(), call.repeated);
        let mut route = route;
        let has_owner = self.owner() != (None, None);
        let (mut undone, mut lost) = (false, repeated);
        for _ in 0..TRIES_MAX {
            match result {
                Ok(found) => return Ok(self.made(ctx, &found, owner)),
                Err(Status::Exist) => {
                    route = ctx.volume.route_replacing(route);
                    if let Some(made) = self.make_way(ctx, route, call.proc(), (repeated, owner))? {
                        return Ok(Made { owner_refused: undone, ..made });
                    }
                }
                // Not root, or root that the server squashes.
                Err(Status::Perm) if has_owner && owner => (owner, undone) = (false, true),
                Err(status) => return Err(self.unmade(ctx, route, (call.proc(), status), (lost, owner))),
            }
            let again = ctx.one(route, self.call(owner));
            // A server may make an object before it refuses its owner.
            (result, repeated) = (again.found(), again.repeated || undone);
            lost |= repeated;
        }
        // Another program makes this name as fast as it is removed.
        result
            .map(|found| self.made(ctx, &found, owner))
            .map_err(|status| self.unmade(ctx, route, (call.proc(), status), (lost, owner)))
    }

    /// It could not be made. A file that may have been made all the same, of which the answer was lost, is told where the next run would
    /// leave it: it is as empty as one that was there before, so that it is not for this run to remove.
    fn unmade(
        &self,
        ctx: &Ctx<'_>,
        route: Route,
        (proc, status): (Proc, Status),
        (lost, owner): (bool, bool),
    ) -> Outcome {
        let failed = self.failed(proc, status);
        let is_file = matches!(self.kind, MakeKind::File);
        // What the kernel says of a call that a server did not answer, on a `soft` mount and on a `softerr` one.
        let is_soft = matches!(status, Status::Io | Status::Errno(TIMED_OUT)) && ctx.volume.limits().dirs_locked;
        let is_uncertain = status.is_uncertain() || is_soft;
        if !is_file || !ctx.options.existing.stays() || !(lost || is_uncertain) {
            return failed;
        }
        let is_anothers = match ctx.look_up(route, self.parent, self.name) {
            Ok((node, attr)) => matches!(self.whose(ctx, route, owner, (&node, &attr)), Whose::Anothers),
            // A server that did not answer may still do what it was asked.
            Err((_, gone)) => gone == Status::NoEnt && !is_uncertain,
        };
        if is_anothers { failed } else { Outcome::Failed(finish::maybe_there(self.path, &Cause::Call(proc, status))) }
    }

    fn failed(&self, proc: Proc, status: Status) -> Outcome {
        Outcome::Failed(Failure::call(self.path, proc, status))
    }

    /// The name exists: uses it, removes it (none: make it now), or leaves it.
    fn make_way(
        &self,
        ctx: &Ctx<'_>,
        route: Route,
        proc: Proc,
        (repeated, owner): (bool, bool),
    ) -> Result<Option<Made>, Outcome> {
        let existing = ctx.options.existing;
        match existing {
            Existing::Keep if !repeated => return Err(self.failed(proc, Status::Exist)),
            Existing::Skip if !repeated => return Err(Outcome::Left),
            _ => {}
        }
        let (node, attr) = match ctx.look_up(route, self.parent, self.name) {
            Ok(found) => found,
            Err((_, Status::NoEnt)) => return Ok(None),
            Err((proc, status)) => return Err(self.failed(proc, status)),
        };
        let file_over_file = attr.kind == Kind::File && matches!(self.kind, MakeKind::File);
        if repeated && existing.stays() {
            match self.whose(ctx, route, owner, (&node, &attr)) {
                Whose::Ours => return Ok(Some(Made::found(node))),
                Whose::Unclear => return Err(Outcome::Failed(Failure::refused(self.path, UNCLEAR))),
                Whose::Anothers => {}
            }
        }
        match existing {
            Existing::Keep => Err(self.failed(proc, Status::Exist)),
            Existing::Skip => Err(Outcome::Left),
            Existing::KeepNewer if attr.kind != Kind::Dir && attr.mtime >= self.meta.dated => Err(Outcome::Left),
            // Members that are files of their own may be names of one file here. Written into at once, it would have data of both.
            Existing::Overwrite if file_over_file && ctx.takes_over(&attr, self.parent.key_of(self.name)) => {
                let empty = AttrChange { size: Some(0), ..AttrChange::default() };
                let call = ctx.one(route, Call::set_attr(&node, empty));
                call.status().map_err(|s| self.failed(Proc::SetAttr, s))?;
                Ok(Some(Made::found(node)))
            }
            // What is written into is never removed: GNU tar's --overwrite opens a directory for a file, even an empty one.
            Existing::Overwrite if attr.kind == Kind::Dir && matches!(self.kind, MakeKind::File) => {
                Err(self.failed(proc, Status::IsDir))
            }
            Existing::Overwrite | Existing::Replace | Existing::UnlinkFirst | Existing::KeepNewer => {
                remove(ctx, route, self.parent, self.name, attr.kind).map_err(|(p, s)| self.failed(p, s))?;
                Ok(None)
            }
        }
    }

    /// A new object. An owner that the server left out is due, unless it refuses that.
    fn made(&self, ctx: &Ctx<'_>, found: &Found, owner: bool) -> Made {
        if !owner {
            ctx.note_refused(self.owner());
        }
        let is = found.attr.map(|is| (is.uid, is.gid));
        let asked = self.change(owner);
        let left_out = asked.not_given(is) != (None, None);
        let other_mode = found.attr.zip(asked.mode).is_some_and(|(is, mode)| is.mode != mode);
        let is_given = is.is_some() && self.change(true).not_given(is) == (None, None);
        let owner_refused = !owner && !is_given || left_out && ctx.owners_refused.load(Ordering::Relaxed);
        Made { node: found.node.clone(), existed: false, owner_refused, owner: is, other_mode }
    }

    fn whose(&self, ctx: &Ctx<'_>, route: Route, owner: bool, (node, attr): (&Node, &Attr)) -> Whose {
        let is_kind = match self.kind {
            MakeKind::File => attr.kind == Kind::File && attr.size == 0,
            MakeKind::Symlink(target) => match ctx.one(route, Call::read_link(node)).op {
                Op::ReadLink { out: Ok(text), .. } => attr.kind == Kind::Symlink && text == target,
                _ => false,
            },
            MakeKind::Special(special) => special.is(attr),
        };
        if !is_kind || attr.nlink != 1 {
            return Whose::Anothers;
        }
        let is_made_for = AttrChange { mode: None, ..self.change(owner) }.may_have_made(attr);
        let is_callers = || ctx.volume.makes_as().is_some_and(|(uid, _)| uid == attr.uid);
        if is_made_for || is_callers() { Whose::Ours } else { Whose::Unclear }
    }

    /// What completes the object, if anything is due. The time comes with it: its data is safe by now.
    pub fn finish(&self, made: &Made, shape: Option<&Shape>) -> Option<Due> {
        let Meta { mode, uid, gid, mtime, .. } = self.meta;
        let has_mode = !matches!(self.kind, MakeKind::Symlink(_));
        // Writing to a file and giving it away clear the bits above 0777.
        let is_other = made.existed || made.other_mode || mode & 0o7000 != 0;
        let mode_due = has_mode && (is_other || self.extra.is_some());
        // Whoever runs another's file would get that one's rights.
        let kept = if made.owner_refused { !SET_IDS } else { u32::MAX };
        let (uid, gid) = match made {
            Made { owner_refused: true, .. } => (None, None),
            Made { existed: true, .. } => (uid, gid),
            Made { owner, .. } => self.change(true).not_given(*owner),
        };
        let change = AttrChange {
            mode: mode_due.then_some(mode & kept),
            uid,
            gid,
            size: shape.and_then(Shape::size_due),
            mtime,
            ..AttrChange::default()
        };
        let is_due = !change.is_empty() || self.extra.is_some();
        is_due.then(|| {
            let (extra, is_new) = (self.extra.cloned(), !made.existed);
            Due { node: made.node.clone(), change, extra, is_dir: false, is_new }
        })
    }
}

/// Removes what is in the way; a directory only when it is empty.
pub(super) fn remove(
    ctx: &Ctx<'_>,
    route: Route,
    parent: &Node,
    name: &Name,
    kind: Kind,
) -> Result<(), (Proc, Status)> {
    let call = match kind {
        Kind::Dir => Call::rmdir(parent, name),
        _ => Call::remove(parent, name),
    };
    let call = ctx.one(route, call);
    match call.status() {
        Ok(()) | Err(Status::NoEnt) => Ok(()),
        // What GNU tar says of a directory that is not empty.
        Err(Status::NotEmpty | Status::Exist) => Err((Proc::Create, Status::IsDir)),
        Err(status) => Err((call.proc(), status)),
    }
}

/// True when a file found is the member, complete: its size, and the time that is set last.
pub(super) fn is_complete(ctx: &Ctx<'_>, attr: &Attr, size: u64, mtime: SetTime) -> bool {
    attr.kind == Kind::File && attr.size == size && is_dated(ctx, attr, mtime)
}

/// True when what was found has the time that is set last.
pub(super) fn is_dated(ctx: &Ctx<'_>, attr: &Attr, mtime: SetTime) -> bool {
    matches!(mtime, SetTime::At(mtime) if mtime.may_be_kept_as(attr.mtime, ctx.volume.nfs_times()))
}
