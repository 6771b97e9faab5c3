//! Groups that a user who is not root carries: those that it is a member of, the only ones that POSIX's chown lets it give its files to.
//!
//! Each is given by a SETATTR of its own, before what is in the object is written: a refusal then takes nothing else with it. Linux's server
//! takes a group of root alone with what makes an object (nfsd_create_setattr), and one that is set takes set-id bits that come with it
//! (nfsd_sanitize_attrs). What has its group by the reply costs nothing, as nearly everything does; what a server refuses once is not
//! asked of it again. A group that cannot be given is no error, as for cp -a. What takes the place of a file, and gets no group of the source's,
//! is given that file's in the same way.

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

/// The group that an object is to have, as far as this user may give it: the source's, if that is carried, or that of the file that `stood`
/// there.
pub(super) fn wanted(ctx: &Ctx<'_>, source: &Attr, stood: Option<&Attr>) -> Option<u32> {
    let user = ctx.options.user.as_ref()?;
    let carried = user.carried.then_some(source.gid);
    let may = |gid: &u32| user.groups.contains(gid) && !ctx.is_refused_group(*gid);
    carried.filter(may).or_else(|| stood.map(|was| was.gid).filter(may))
}

/// The same, where the object is this user's and has another.
fn due(ctx: &Ctx<'_>, wanted: Option<u32>, is: (u32, u32)) -> Option<u32> {
    let user = ctx.options.user.as_ref()?;
    wanted.filter(|gid| is.0 == user.uid && is.1 != *gid)
}

/// The same of one that was there before; what has names that the source does not have is left.
pub(super) fn due_of_old(ctx: &Ctx<'_>, source: &Attr, is: &Attr) -> Option<u32> {
    due(ctx, wanted(ctx, source, None), (is.uid, is.gid)).filter(|_| !ctx.has_more_names(source, is))
}

/// The groups that a whole copy may be given beside its owner's: none for root, which is asked by other words.
pub(super) fn open(ctx: &Ctx<'_>) -> Arc<[u32]> {
    let Some(user) = ctx.options.user.as_ref().filter(|user| user.carried) else { return Arc::default() };
    if user.groups.iter().any(|gid| ctx.is_refused_group(*gid)) {
        return user.groups.iter().copied().filter(|gid| !ctx.is_refused_group(*gid)).collect();
    }
    user.groups.clone()
}

/// What differs beside content, in one word: as far as this user could change it.
pub(super) fn difference(ctx: &Ctx<'_>, source: &Attr, is: &Attr) -> Option<&'static str> {
    decide::difference(ctx.by(), source, is)
        .or_else(|| due(ctx, wanted(ctx, source, None), (is.uid, is.gid)).map(|_| "group"))
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

/// Whose a new object is.
pub(super) fn ask(ctx: &Ctx<'_>, route: Route, node: &Node) -> Option<(u32, u32)> {
    ctx.target.one(route, Call::get_attr(node)).attr().ok().map(|is| (is.uid, is.gid))
}

/// A new object's source, and the file whose place it takes.
type Origin<'n> = (&'n Attr, Option<&'n Attr>);

/// Gives new objects the groups that they are to have: the third of each is whose it is, by the reply. Comes back: of each whose it is then, as far
/// as that is known.
pub(super) fn give_new<'n>(
    ctx: &Ctx<'_>,
    route: Route,
    made: impl IntoIterator<Item = (Origin<'n>, &'n Node, Option<(u32, u32)>)>,
) -> Vec<Option<(u32, u32)>> {
    let wanted = |(source, stood): Origin<'_>| wanted(ctx, source, stood);
    let (mut owners, mut asked) = (Vec::new(), Vec::new());
    for (i, (origin, node, is)) in made.into_iter().enumerate() {
        let wanted = wanted(origin);
        let is = if wanted.is_some() { is.or_else(|| ask(ctx, route, node)) } else { is };
        asked.extend(is.and_then(|is| due(ctx, wanted, is)).map(|gid| (i, origin, node, gid)));
        owners.push(is);
    }
    while !asked.is_empty() {
        let changes: Vec<_> = asked.iter().map(|(_, _, node, gid)| (*node, *gid)).collect();
        let answers = give(ctx, route, &changes);
        let left = asked.into_iter().zip(answers).filter_map(|((i, origin, node, gid), given)| {
            let (uid, was) = owners[i]?;
            if given {
                owners[i] = Some((uid, gid));
                return None;
            }
            // Where the source's is refused there is still that of the file whose place it takes.
            let other = wanted(origin).filter(|other| *other != gid);
            due(ctx, other, (uid, was)).map(|gid| (i, origin, node, gid))
        });
        asked = left.collect();
    }
    owners
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
