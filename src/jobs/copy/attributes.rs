//! Attributes of objects that are there, set in windows.

use crate::base::Status;
use crate::storage::{AttrChange, Call, Node, Op, Route};

use super::ctx::Ctx;
use super::decide::SET_ID;

/// What became of an owner that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owned {
    /// It was given, or none was asked for.
    Given,
    /// The server left it out without a word: of this one, for it may map some ids alone.
    LeftOut,
    /// The caller may give nothing away.
    Refused,
}

impl Owned {
    pub fn is_given(self) -> bool {
        self == Owned::Given
    }
}

/// Sets them; of each what became of its owner, or why it could not be done. What a change of a file's owner would take from its
/// mode is set after it, and not on a file whose owner was refused.
pub(super) fn set(ctx: &Ctx<'_>, route: Route, changes: &[(&Node, AttrChange)]) -> Vec<Result<Owned, Status>> {
    let mut ends = vec![Ok(Owned::Given); changes.len()];
    window(ctx, route, changes, None, &mut ends, |change, _| change.owner_first().0);
    window(ctx, route, changes, None, &mut ends, |change, owned| {
        let change = change.owner_first().1;
        let mode = change.mode.map(|mode| if owned.is_given() { mode } else { mode & !SET_ID });
        AttrChange { mode, ..change }
    });
    ends
}

/// The same of directories. The calls `beside` are carried out in the same window.
pub(super) fn set_of_dirs(
    ctx: &Ctx<'_>,
    route: Route,
    changes: &[(&Node, AttrChange)],
    beside: &mut Vec<Call<'_>>,
) -> Vec<Result<Owned, Status>> {
    let mut ends = vec![Ok(Owned::Given); changes.len()];
    window(ctx, route, changes, Some(beside), &mut ends, |change, _| change);
    ends
}

/// A window of what `part` says of a change, and of what became of its owner. What is done beside it says that the objects are directories.
fn window(
    ctx: &Ctx<'_>,
    route: Route,
    changes: &[(&Node, AttrChange)],
    beside: Option<&mut Vec<Call<'_>>>,
    ends: &mut [Result<Owned, Status>],
    part: impl Fn(AttrChange, Owned) -> AttrChange,
) {
    let are_dirs = beside.is_some();
    let (mut of, mut calls) = (Vec::new(), Vec::new());
    for (i, (node, change)) in changes.iter().enumerate() {
        let Ok(owned) = ends[i] else { continue };
        let change = part(*change, owned);
        if !change.is_empty() {
            of.push((i, change));
            calls.push(Call::set_attr(node, change));
        }
    }
    let sets = calls.len();
    match beside {
        Some(beside) => {
            calls.append(beside);
            ctx.target.perform(route, &mut calls);
            *beside = calls.split_off(sets);
        }
        None => ctx.target.perform(route, &mut calls),
    }
    for ((i, change), call) in of.into_iter().zip(&calls) {
        let end = owner_aside(ctx, route, call, are_dirs);
        if let Err(status) = end {
            // The refusal is told all the same.
            without_mode(ctx, route, (changes[i].0, change), status, are_dirs);
        }
        ends[i] = end.map(|owned| ends[i].map_or(owned, |before| owned.max(before)));
    }
}

/// What was refused, without the mode, where that may have been what was: on some file systems behind a server a mode is what it is.
/// True when all else is done.
pub(super) fn without_mode(
    ctx: &Ctx<'_>,
    route: Route,
    (node, change): (&Node, AttrChange),
    refused: Status,
    is_dir: bool,
) -> bool {
    if change.mode.is_none() || !refused.is_refusal() {
        return false;
    }
    let rest = AttrChange { mode: None, ..change };
    let set = |rest| owner_aside(ctx, route, &ctx.target.one(route, Call::set_attr(node, rest)), is_dir);
    rest.is_empty() || set(rest) == Ok(Owned::Given)
}

/// How a SETATTR ended; one that was refused for its owner alone is done without it.
pub(super) fn owner_aside(ctx: &Ctx<'_>, route: Route, call: &Call<'_>, is_dir: bool) -> Result<Owned, Status> {
    match (&call.op, call.status()) {
        (Op::SetAttr { node, change, .. }, Err(Status::Perm)) if change.gives_away() => {
            let mode = change.mode.map(|mode| if is_dir { mode } else { mode & !SET_ID });
            let rest = AttrChange { mode, uid: None, gid: None, ..*change };
            if rest.is_empty() {
                return Ok(Owned::Refused);
            }
            ctx.target.one(route, Call::set_attr(node, rest)).status().map(|()| Owned::Refused)
        }
        (_, status) => status.map(|()| if call.leaves_owner_out() { Owned::LeftOut } else { Owned::Given }),
    }
}
