//! Contents compared: the texts of symlinks and the bytes of small files. Large files are compared in ranges, in `big`.

use crate::base::{Proc, Status};
use crate::crew::Due;
use crate::storage::{Call, Node};

use super::batch::{self, Known, Routes, end, give_up, retry, set_attributes};
use super::big;
use super::ctx::{Ctx, On, Trouble, add};
use super::decide::{self, Verdict};
use super::fill::read_ranges;
use super::make::Item;
use super::task::{At, Task};
use super::xattrs::Unread;

/// Compares symlinks' texts; those that differ are to be made anew.
pub(super) fn texts(ctx: &Ctx<'_>, routes: Routes, links: Vec<Known>, items: &mut Vec<Item>, due: &mut Vec<Due<Task>>) {
    let mut ours: Vec<Call<'_>> = links.iter().map(|known| Call::read_link(&known.node)).collect();
    ctx.source.perform(routes.source, &mut ours);
    let mut theirs: Vec<Call<'_>> = links.iter().filter_map(there).map(Call::read_link).collect();
    ctx.target.perform(routes.target, &mut theirs);
    let ours: Vec<_> = ours.into_iter().map(Call::into_text).collect();
    let theirs: Vec<_> = theirs.into_iter().map(Call::into_text).collect();
    let mut equal = Vec::new();
    for (known, (ours, theirs)) in links.into_iter().zip(ours.into_iter().zip(theirs)) {
        match (ours, theirs) {
            (Err(status), _) if known.object.is_to_be_looked_up(status) => {
                look_up_again(ctx, routes, known, (Proc::ReadLink, status), due);
            }
            // Gone, or another link by now.
            (_, Err(status @ (Status::NoEnt | Status::Stale))) => {
                retry(ctx, known.object, Trouble::Call(On::Target, Proc::ReadLink, status), due);
            }
            (Err(status), _) => {
                give_up(ctx, known.object, Trouble::Call(On::Source, Proc::ReadLink, status), due);
            }
            (_, Err(status)) => {
                give_up(ctx, known.object, Trouble::Call(On::Target, Proc::ReadLink, status), due);
            }
            (Ok(ours), Ok(theirs)) if ours == theirs => equal.push(known),
            _ if ctx.compares() => differs(ctx, known, due),
            _ => match taken(ctx, &known) {
                Some(taken) => give_up(ctx, known.object, taken, due),
                None => items.push(Item::new(known)),
            },
        }
    }
    equals(ctx, routes, equal, due);
}

/// What is another object by now, or none, is looked up once more.
fn look_up_again(
    ctx: &Ctx<'_>,
    routes: Routes,
    known: Known,
    (proc, status): (Proc, Status),
    due: &mut Vec<Due<Task>>,
) {
    let Known { object, .. } = known;
    if !ctx.compares() {
        return due.push(object.again().due());
    }
    let found = ctx.source.look_up(routes.source, &object.dir.source, &object.name);
    let is = found.map(drop).map_err(|(_, status)| status);
    match is {
        Ok(()) => due.push(object.again().due()),
        Err(gone) if !object.single && batch::has_vanished(ctx, &object, gone) => {
            batch::end_vanished(ctx, object, due);
        }
        Err(_) => give_up(ctx, object, Trouble::Call(On::Source, proc, status), due),
    }
}

/// Its extended attributes could not be read. What is another object by now, or none, is looked up once more; of what comes back it was told.
pub(super) fn unread(
    ctx: &Ctx<'_>,
    routes: Routes,
    known: Known,
    (on, proc, status): Unread,
    due: &mut Vec<Due<Task>>,
) -> Option<Known> {
    let trouble = Trouble::Call(on, proc, status);
    match on {
        On::Source if known.object.is_to_be_looked_up(status) => look_up_again(ctx, routes, known, (proc, status), due),
        On::Target if matches!(status, Status::NoEnt | Status::Stale) => retry(ctx, known.object, trouble, due),
        _ => {
            ctx.fail(&known.object.dir, Some(&known.object.name), trouble);
            return Some(known);
        }
    }
    None
}

fn taken(ctx: &Ctx<'_>, known: &Known) -> Option<Trouble> {
    let At::Present(_, is) = &known.object.at else { return None };
    ctx.taken(&known.object.dir, Some(&known.object.name), is)
}

fn there(known: &Known) -> Option<&Node> {
    match &known.object.at {
        At::Present(node, _) => node.as_ref(),
        _ => None,
    }
}

/// A comparison found that contents differ.
pub(super) fn differs(ctx: &Ctx<'_>, known: Known, due: &mut Vec<Due<Task>>) {
    ctx.differs("content", &known.object.dir, Some(&known.object.name));
    end(ctx, known.object, None, due);
}

/// Contents are equal: the attributes are next.
pub(super) fn equals(ctx: &Ctx<'_>, routes: Routes, equal: Vec<Known>, due: &mut Vec<Due<Task>>) {
    let mut setting = Vec::new();
    for known in equal {
        if ctx.compares() {
            add(&ctx.counts.unchanged, u64::from(!known.object.differs));
            end(ctx, known.object, None, due);
            continue;
        }
        let At::Present(_, is) = &known.object.at else { continue };
        let change = match decide::rest(ctx.by(), &known.attr, is) {
            Verdict::Attributes(_) if ctx.has_more_names(&known.attr, is) => {
                content_differs(ctx, known, due); // made anew, apart from its other names
                continue;
            }
            Verdict::Attributes(change) => change,
            Verdict::Replace => {
                content_differs(ctx, known, due); // made anew, apart from its other names
                continue;
            }
            _ => Default::default(),
        };
        setting.push((known, change));
    }
    set_attributes(ctx, routes, setting, due);
}

/// Compares files' bytes; those that differ are to be copied, in another round.
pub(super) fn bytes(ctx: &Ctx<'_>, routes: Routes, files: Vec<Known>, due: &mut Vec<Due<Task>>) {
    let (small, large): (Vec<_>, Vec<_>) = files.into_iter().partition(|known| known.attr.size <= ctx.small_max);
    for known in large {
        big::compare(ctx, known, due);
    }
    if small.is_empty() {
        return;
    }
    let held = small.iter().map(|known| 2 * known.attr.size).sum();
    let Some(_permit) = ctx.crew.budget().acquire(held) else { return };
    let ranges = |node: &dyn Fn(&Known) -> Option<Node>| -> Vec<_> {
        small.iter().filter_map(|known| node(known).map(|node| (node, 0, known.attr.size))).collect()
    };
    let ours = ranges(&|known| Some(known.node.clone()));
    let ours = read_ranges(ctx.source, routes.source, &ours, ctx.read_max);
    let theirs = ranges(&|known| there(known).cloned());
    if ctx.compares() && ctx.caches[On::Target as usize] {
        drop_caches(ctx, routes, &theirs);
    }
    let theirs = read_ranges(ctx.target, routes.target, &theirs, ctx.read_max);
    let mut equal = Vec::new();
    for (known, (ours, theirs)) in small.into_iter().zip(ours.into_iter().zip(theirs)) {
        match (ours, theirs) {
            (Err(status), _) if known.object.is_to_be_looked_up(status) => {
                look_up_again(ctx, routes, known, (Proc::Read, status), due);
            }
            (Err(status), _) => give_up(ctx, known.object, Trouble::Call(On::Source, Proc::Read, status), due),
            // Another file has its name: who replaces files renames others over them.
            (_, Err(status @ (Status::NoEnt | Status::Stale))) => {
                retry(ctx, known.object, Trouble::Call(On::Target, Proc::Read, status), due);
            }
            // A copy that its owner may not read is made anew.
            (_, Err(Status::Access)) if !ctx.compares() => content_differs(ctx, known, due),
            (_, Err(status)) => give_up(ctx, known.object, Trouble::Call(On::Target, Proc::Read, status), due),
            (Ok(ours), Ok(theirs)) => {
                add(&ctx.live.bytes, ours.data.len() as u64);
                add(&ctx.counts.verified_bytes, theirs.data.len() as u64);
                if ours.data == theirs.data {
                    equal.push(known);
                } else {
                    content_differs(ctx, known, due);
                }
            }
        }
    }
    equals(ctx, routes, equal, due);
}

/// Contents differ: told, or copied in another round.
pub(super) fn content_differs(ctx: &Ctx<'_>, known: Known, due: &mut Vec<Due<Task>>) {
    if ctx.compares() {
        return differs(ctx, known, due);
    }
    let Known { mut object, node, attr } = known;
    object.differs = true;
    object.source = Some((node, attr));
    due.push(Task::Object(object).due());
}

fn drop_caches(ctx: &Ctx<'_>, routes: Routes, files: &[(Node, u64, u64)]) {
    let mut calls: Vec<Call<'_>> = files.iter().map(|(node, ..)| Call::io_advise(node)).collect();
    // What cannot be dropped is read all the same.
    ctx.target.perform(routes.target, &mut calls);
}
