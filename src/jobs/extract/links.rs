//! Hard links, made in batches when everything before them is complete: the target is looked up by name, through
//! directories only, and linked.

use std::sync::Arc;

use crate::base::name::Shown;
use crate::base::{Cause, Failure, Name, Proc, Status, Time};
use crate::crew::Ticket;
use crate::storage::{Attr, Call, Kind, Node, Route};

use super::ctx::{Ctx, Head, Outcome};
use super::dirs::{self, Dir};
use super::{Existing, TRIES_MAX, leaf};

/// A link to be made.
pub(super) struct Link {
    pub head: Head,
    pub dir: Arc<Dir>,
    pub name: Name,
    /// The target's path; never empty.
    pub target: Vec<Name>,
    /// The member's time.
    pub dated: Time,
}

/// A link and the deepest directory on its target's way that is known, with how many names that covers.
pub(super) struct Ready {
    pub link: Link,
    pub base: Arc<Dir>,
    pub covered: usize,
}

/// A target found.
struct Target {
    node: Node,
    attr: Attr,
}

/// Makes a batch of links.
pub(super) fn run(ctx: &Ctx<'_>, links: Vec<Ready>, ticket: Ticket<'_>) {
    if ctx.stop().is_set() {
        ctx.complete_all(links.into_iter().map(|ready| (ready.link.head, Outcome::Undone)));
        return drop(ticket);
    }
    let route = ctx.volume.route();
    dirs::ensure(ctx, route, links.iter().map(|ready| &ready.link.dir).collect());
    let mut outcomes: Vec<Option<Outcome>> = Vec::new();
    let mut open: Vec<(usize, Node, Target)> = Vec::new();
    for (i, found) in targets(ctx, route, &links).into_iter().enumerate() {
        let link = &links[i].link;
        let parent = link.dir.result().map_err(|why| why.of_member(&link.head.path));
        match parent.and_then(|parent| Ok((parent, found?))) {
            Ok((parent, target)) => {
                open.push((i, parent, target));
                outcomes.push(None);
            }
            Err(failure) => outcomes.push(Some(Outcome::Failed(failure))),
        }
    }
    let mut calls: Vec<Call<'_>> =
        open.iter().map(|(i, parent, target)| Call::link(&target.node, parent, &links[*i].link.name)).collect();
    ctx.perform(route, &mut calls);
    for ((i, parent, target), call) in open.iter().zip(&calls) {
        outcomes[*i] = Some(settle(ctx, route, &links[*i], parent, target, call));
    }
    let ended = links.into_iter().zip(outcomes);
    ctx.complete_all(ended.map(|(ready, outcome)| (ready.link.head, outcome.unwrap_or(Outcome::Done))));
    drop(ticket);
}

/// How often a target is looked for: another run that puts its file in the place of this one's removes it first.
const LOOKS: usize = 3;

/// Looks all targets up, in one window where their directories are known.
fn targets(ctx: &Ctx<'_>, route: Route, links: &[Ready]) -> Vec<Result<Target, Failure>> {
    let dirs: Vec<Result<Node, Failure>> = links.iter().map(|ready| walk(ctx, route, ready)).collect();
    let lookup = |(ready, dir): (&Ready, &Result<Node, Failure>)| {
        let (dir, name) = (dir.as_ref().ok()?.clone(), ready.link.target.last()?.clone());
        Some((dir, name))
    };
    let names: Vec<(Node, Name)> = links.iter().zip(&dirs).filter_map(lookup).collect();
    let mut calls: Vec<Call<'_>> = names.iter().map(|(dir, name)| Call::lookup(dir, name)).collect();
    let mut missing: Vec<usize> = (0..calls.len()).collect();
    for _ in 0..LOOKS {
        let mut again: Vec<Call<'_>> = missing.iter().map(|i| Call::lookup(&names[*i].0, &names[*i].1)).collect();
        ctx.perform(route, &mut again);
        for (i, call) in missing.iter().zip(again) {
            calls[*i] = call;
        }
        missing.retain(|i| calls[*i].found().err() == Some(Status::NoEnt));
    }
    let mut calls = calls.iter();
    let found = links.iter().zip(dirs).map(|(ready, dir)| {
        dir?;
        let failed = |(proc, status)| no_target(&ready.link, proc, status);
        let lookup = calls.next().ok_or_else(|| failed((Proc::Lookup, Status::Pending)))?;
        let (node, attr) = ctx.found(route, lookup).map_err(failed)?;
        Ok(Target { node, attr })
    });
    found.collect()
}

/// The directory of a link's target, through directories only: a symbolic link could lead out of the destination.
fn walk(ctx: &Ctx<'_>, route: Route, ready: &Ready) -> Result<Node, Failure> {
    let Ready { link, base, covered } = ready;
    let path = &link.head.path;
    let mut node = match base.result() {
        Ok(node) => node,
        Err(dirs::Why::Failed { cause: Cause::Refused(_), path: through }) => return Err(through_link(path, &through)),
        Err(_) => return Err(no_target(link, Proc::Lookup, Status::NoEnt)),
    };
    let steps = link.target.get(*covered..link.target.len() - 1).unwrap_or_default();
    for (i, name) in steps.iter().enumerate() {
        let (next, attr) = ctx.look_up(route, &node, name).map_err(|(proc, status)| no_target(link, proc, status))?;
        match attr.kind {
            Kind::Dir => node = next,
            Kind::Symlink => {
                let through: Vec<_> = link.target[..=covered + i].iter().map(Name::as_bytes).collect();
                return Err(through_link(path, &through.join(&b'/')));
            }
            _ => return Err(no_target(link, Proc::Lookup, Status::NotDir)),
        }
    }
    Ok(node)
}

/// The target could not be looked up; where it is not there, it may not have been asked for.
fn no_target(link: &Link, proc: Proc, status: Status) -> Failure {
    if !matches!(status, Status::NoEnt | Status::NotDir) {
        return Failure::call(&link.head.path, proc, status);
    }
    let target: Vec<_> = link.target.iter().map(Name::as_bytes).collect();
    Failure::refused(&link.head.path, format!("its target '{}': {proc}: {status}", Shown(&target.join(&b'/'))))
}

fn through_link(path: &[u8], through: &[u8]) -> Failure {
    Failure::refused(path, format!("its target would be reached through the symbolic link '{}'", Shown(through)))
}

/// Is it one file? Of several kernel mounts each has an id of its own for the file system.
fn is_same(ctx: &Ctx<'_>, attr: &Attr, target: &Attr) -> bool {
    if ctx.volume.is_late() { attr.fileid == target.fileid } else { attr.is_same_as(target) }
}

/// What LINK's answer means; goes on where the name exists, and where another program has put another file in the target's place.
fn settle(ctx: &Ctx<'_>, route: Route, ready: &Ready, parent: &Node, target: &Target, call: &Call<'_>) -> Outcome {
    let link = &ready.link;
    let (mut found, mut target) = (None::<Target>, target);
    let failed = |proc, status| Outcome::Failed(Failure::call(&link.head.path, proc, status));
    let route = ctx.volume.route_replacing(route);
    let (mut status, mut repeated) = (call.status(), call.repeated);
    for _ in 0..TRIES_MAX {
        match status {
            Ok(()) => {
                link.dir.fill();
                return Outcome::Done;
            }
            Err(Status::Exist) => {}
            // What was looked up is gone.
            Err(Status::Stale | Status::NoEnt) => {
                match targets(ctx, route, std::slice::from_ref(ready)).pop() {
                    Some(Ok(again)) => target = found.insert(again),
                    Some(Err(failure)) => return Outcome::Failed(failure),
                    None => {}
                }
                let again = ctx.one(route, Call::link(&target.node, parent, &link.name));
                (status, repeated) = (again.status(), again.repeated);
                continue;
            }
            Err(status) => return failed(Proc::Link, status),
        }
        // What is there may be this link: no error then, as GNU tar has it also under -k.
        if ctx.options.existing == Existing::Skip && !repeated {
            return Outcome::Left;
        }
        match ctx.look_up(route, parent, &link.name) {
            // The link is there: from an earlier run, a first try whose answer was lost, or as its own target.
            Ok((_, attr)) if is_same(ctx, &attr, &target.attr) => return Outcome::Done,
            Ok(_) if ctx.options.existing == Existing::Keep => return failed(Proc::Link, Status::Exist),
            Ok(_) if ctx.options.existing == Existing::Skip => return Outcome::Left,
            Ok((_, attr))
                if ctx.options.existing == Existing::KeepNewer
                    && attr.kind != Kind::Dir
                    && attr.mtime >= link.dated =>
            {
                return Outcome::Left;
            }
            Ok((_, attr)) => {
                if let Err((proc, status)) = leaf::remove(ctx, route, parent, &link.name, attr.kind) {
                    return failed(proc, status);
                }
            }
            Err((_, Status::NoEnt)) => {}
            Err((proc, status)) => return failed(proc, status),
        }
        let again = ctx.one(route, Call::link(&target.node, parent, &link.name));
        (status, repeated) = (again.status(), again.repeated);
    }
    status.map_or_else(|status| failed(Proc::Link, status), |()| Outcome::Done)
}
