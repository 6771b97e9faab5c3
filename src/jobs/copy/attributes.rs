//! Attributes of objects that are there, set in windows.

use crate::base::Status;
use crate::storage::{AttrChange, Call, Node, Op, Route};

use super::ctx::Ctx;
use super::decide::SET_ID;

/// Sets them; of each whether its owner was refused, or why it could not be done. What a change of a file's owner would take from its
/// mode is set after it, and not on a file whose owner was refused.
pub(super) fn set(
    ctx: &Ctx<'_>,
    route: Route,
    changes: &[(&Node, AttrChange)],
    are_dirs: bool,
) -> Vec<Result<bool, Status>> {
    let split = |change: AttrChange| if are_dirs { (AttrChange::default(), change) } else { change.owner_first() };
    let mut ends = vec![Ok(false); changes.len()];
    window(ctx, route, changes, are_dirs, &mut ends, |change, _| split(change).0);
    window(ctx, route, changes, are_dirs, &mut ends, |change, refused| {
        let change = split(change).1;
        let mode = change.mode.map(|mode| if refused { mode & !SET_ID } else { mode });
        AttrChange { mode, ..change }
    });
    ends
}

/// A window of what `part` says of a change, and of whether its owner was refused.
fn window(
    ctx: &Ctx<'_>,
    route: Route,
    changes: &[(&Node, AttrChange)],
    are_dirs: bool,
    ends: &mut [Result<bool, Status>],
    part: impl Fn(AttrChange, bool) -> AttrChange,
) {
    let (mut of, mut calls) = (Vec::new(), Vec::new());
    for (i, (node, change)) in changes.iter().enumerate() {
        let Ok(refused) = ends[i] else { continue };
        let change = part(*change, refused);
        if !change.is_empty() {
            of.push((i, change));
            calls.push(Call::set_attr(node, change));
        }
    }
    ctx.target.perform(route, &mut calls);
    for ((i, change), call) in of.into_iter().zip(&calls) {
        let end = owner_aside(ctx, route, call, are_dirs);
        if let Err(status) = end {
            // The refusal is told all the same.
            without_mode(ctx, route, (changes[i].0, change), status, are_dirs);
        }
        ends[i] = end.map(|refused| refused || ends[i] == Ok(true));
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
    rest.is_empty() || owner_aside(ctx, route, &ctx.target.one(route, Call::set_attr(node, rest)), is_dir) == Ok(false)
}

/// How a SETATTR ended; one that was refused for its owner alone is done without it, and true says so, as of one that left the owner out
/// without a word.
pub(super) fn owner_aside(ctx: &Ctx<'_>, route: Route, call: &Call<'_>, is_dir: bool) -> Result<bool, Status> {
    match (&call.op, call.status()) {
        (Op::SetAttr { node, change, .. }, Err(Status::Perm)) if change.gives_away() => {
            let mode = change.mode.map(|mode| if is_dir { mode } else { mode & !SET_ID });
            let rest = AttrChange { mode, uid: None, gid: None, ..*change };
            if rest.is_empty() {
                return Ok(true);
            }
            ctx.target.one(route, Call::set_attr(node, rest)).status().map(|()| true)
        }
        (_, status) => status.map(|()| call.leaves_owner_out()),
    }
}
