//! Groups that a user who is not root carries: those that it is a member of, the only ones that POSIX's chown lets it give its files to.
//!
//! Each is given by a SETATTR of its own, before what is in the object is written: a refusal then takes nothing else with it. Linux's server
//! takes a group of root alone with what makes an object (nfsd_create_setattr), and one that is set takes set-id bits that come with it
//! (nfsd_sanitize_attrs). What has its group by the reply costs nothing, as nearly everything does; what a server refuses once is not
//! asked of it again. A group that cannot be given is no error, as for cp -a.

use std::sync::Arc;

use crate::base::Status;
use crate::storage::{Attr, AttrChange, Call, Kind, Node, Route};

use super::batch::Known;
use super::ctx::{Ctx, Trouble};
use super::decide;
use super::dir::Dir;
use super::task::At;

/// An object whose content is equal.
pub(super) struct Settling {
    pub known: Known,
    pub there: Node,
    /// What is to be set.
    pub change: AttrChange,
    /// Why it is left as it is.
    pub taken: Option<Trouble>,
    /// It was given its group.
    pub regrouped: bool,
}

/// The group that an object of this user's is to be given: the source's, if the user may and the object has another.
fn due(ctx: &Ctx<'_>, source: &Attr, is: (u32, u32)) -> Option<u32> {
    let user = ctx.options.user.as_ref()?;
    let wanted = (user.uid, source.gid);
    (is.0 == wanted.0 && is.1 != wanted.1 && user.groups.contains(&wanted.1) && !ctx.is_refused_group(wanted.1))
        .then_some(wanted.1)
}

/// The same of one that was there before; what has names that the source does not have is left.
pub(super) fn due_of_old(ctx: &Ctx<'_>, source: &Attr, is: &Attr) -> Option<u32> {
    due(ctx, source, (is.uid, is.gid)).filter(|_| !ctx.has_more_names(source, is))
}

/// The groups that a whole copy may be given beside its owner's: none for root, which is asked by other words.
pub(super) fn open(ctx: &Ctx<'_>) -> Arc<[u32]> {
    let Some(user) = &ctx.options.user else { return Arc::default() };
    if user.groups.iter().any(|gid| ctx.is_refused_group(*gid)) {
        return user.groups.iter().copied().filter(|gid| !ctx.is_refused_group(*gid)).collect();
    }
    user.groups.clone()
}

/// What differs beside content, in one word: as far as this user could change it.
pub(super) fn difference(ctx: &Ctx<'_>, source: &Attr, is: &Attr) -> Option<&'static str> {
    decide::difference(ctx.by(), source, is).or_else(|| due(ctx, source, (is.uid, is.gid)).map(|_| "group"))
}

/// Gives the groups; tells of each whether it was given.
fn give(ctx: &Ctx<'_>, route: Route, objects: &[(&Node, u32)]) -> Vec<bool> {
    let change = |gid| AttrChange { gid: Some(gid), ..AttrChange::default() };
    let mut calls: Vec<Call<'_>> = objects.iter().map(|(node, gid)| Call::set_attr(node, change(*gid))).collect();
    ctx.target.perform(route, &mut calls);
    let answers = objects.iter().zip(&calls).map(|((_, gid), call)| {
        let (status, left_out) = (call.status(), call.leaves_owner_out());
        if left_out || status.is_err_and(Status::is_refusal) {
            ctx.refuse_group(*gid);
        }
        status.is_ok() && !left_out
    });
    answers.collect()
}

/// Gives new objects their groups: `is` is what the reply said of each.
pub(super) fn give_new<'n>(
    ctx: &Ctx<'_>,
    route: Route,
    made: impl IntoIterator<Item = (&'n Attr, &'n Node, Option<(u32, u32)>)>,
) {
    let Some(user) = &ctx.options.user else { return };
    let ask = |node| ctx.target.one(route, Call::get_attr(node)).attr().ok().map(|is| (is.uid, is.gid));
    let theirs = made.into_iter().filter(|(source, ..)| user.groups.contains(&source.gid));
    let due: Vec<_> =
        theirs.filter_map(|(source, node, is)| Some((node, due(ctx, source, is.or_else(|| ask(node))?)?))).collect();
    give(ctx, route, &due);
}

/// Gives a directory that was there its group; returns what it is then, and whether that is something else.
pub(super) fn give_dir(ctx: &Ctx<'_>, route: Route, dir: &Dir, (node, is): (&Node, Attr)) -> (Attr, bool) {
    let due = due_of_old(ctx, &dir.attr, &is).filter(|_| !dir.is_frame());
    match due {
        Some(gid) if give(ctx, route, &[(node, gid)]) == [true] => (given(&is, gid), true),
        _ => (is, false),
    }
}

/// What an object is after it was given a group.
fn given(is: &Attr, gid: u32) -> Attr {
    // Of what is no directory it takes the set-id bits.
    let kept = if is.kind == Kind::Dir { 0o7777 } else { !decide::SET_ID };
    Attr { gid, mode: is.mode & kept, ..*is }
}

/// Gives their groups to objects whose content is equal. Comes back: each with what else is to be set, and whether it was given one; those that
/// another source has brought, with the reason for which they are left.
pub(super) fn give_old(ctx: &Ctx<'_>, route: Route, objects: Vec<(Known, AttrChange)>) -> Vec<Settling> {
    let settling = |(known, change): (Known, AttrChange)| {
        let At::Present(Some(there), is) = &known.object.at else { return None };
        let (there, due) = (there.clone(), due_of_old(ctx, &known.attr, is));
        let asked = !change.is_empty() || due.is_some();
        let taken = if asked { ctx.taken(&known.object.dir, Some(&known.object.name), is) } else { None };
        let due = due.filter(|_| taken.is_none());
        Some((Settling { known, there, change, taken, regrouped: false }, due))
    };
    let mut objects: Vec<(Settling, Option<u32>)> = objects.into_iter().filter_map(settling).collect();
    let due: Vec<_> = objects.iter().filter_map(|(settling, due)| Some((&settling.there, (*due)?))).collect();
    let mut answers = give(ctx, route, &due).into_iter();
    for (settling, due) in &mut objects {
        let Some(gid) = due.filter(|_| answers.next() == Some(true)) else { continue };
        let At::Present(_, is) = &mut settling.known.object.at else { continue };
        *is = given(is, gid);
        settling.change = decide::change(ctx.by(), &settling.known.attr, is);
        settling.regrouped = true;
    }
    objects.into_iter().map(|(settling, _)| settling).collect()
}
