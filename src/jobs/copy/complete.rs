//! What completes an object that was made: its size and extended attributes, the last SETATTR, its name; and what becomes of one that
//! cannot be completed.

use crate::base::{Proc, Status, Time};
use crate::crew::Due;
use crate::storage::{Attr, AttrChange, Call, Kind, Node, SetTime};

use super::attributes::without_mode;
use super::batch::{Routes, end, give_up};
use super::ctx::{Ctx, On, Trouble, add, is_kernel_nfs};
use super::decide;
use super::enter::owner_refused;
use super::folds;
use super::make::{Item, Made, Stage, reach};
use super::task::{At, Object, Task};
use super::{Compare, Deed, Existing, xattrs};

/// Extended attributes, the last SETATTR, the name; then the objects are over.
pub(super) fn run(ctx: &Ctx<'_>, routes: Routes, items: Vec<Item>, due: &mut Vec<Due<Task>>) {
    let mut items = items;
    if ctx.options.existing == Existing::Keep || ctx.options.compare == Compare::Size {
        // Another run would keep it as it is, or give it the source's time.
        let refuse = |item: &mut Item| {
            let reason = "changed while it was read, also the second time; it was not copied";
            item.trouble = Some(Trouble::Refused(On::Source, reason.into()));
        };
        items.iter_mut().filter(|item| item.unsteady && item.is_open()).for_each(refuse);
    }
    // Whatever fails from here on, their bytes are there.
    reach(&mut items, Stage::Filled);
    set_last(ctx, routes, &mut items);
    rename(ctx, routes, &mut items);
    for item in items.into_iter().filter(|item| !item.elsewhere) {
        let Item { known, made, trouble, unsteady, mode_refused, .. } = item;
        let (attr, object) = (known.attr, known.object);
        if let Some(trouble) = trouble {
            discard(ctx, routes, (&object, &attr), made.as_ref());
            give_up(ctx, object, trouble, due);
            continue;
        }
        let Some(made) = made else { continue };
        let place = (&*object.dir, Some(&object.name));
        match attr.kind {
            Kind::File => {
                add(&ctx.counts.files, 1);
                add(&ctx.counts.bytes, attr.size);
            }
            Kind::Symlink => add(&ctx.counts.symlinks, 1),
            _ => add(&ctx.counts.specials, 1),
        }
        let was_there = !matches!(object.at, At::Absent);
        ctx.tell(if was_there { Deed::Updated } else { Deed::Made }, place.0, place.1);
        if made.owner_refused && (ctx.options.preserve.uid || ctx.options.preserve.gid) {
            ctx.fail(place.0, place.1, owner_refused());
        }
        if let Some(status) = mode_refused {
            let reason = format!("copied, but its mode cannot be set: {status}");
            ctx.fail(place.0, place.1, Trouble::Refused(On::Target, reason));
        }
        if unsteady {
            let reason = "changed while it was read, also the second time; the copy is not of one moment";
            ctx.fail(place.0, place.1, Trouble::Refused(On::Source, reason.into()));
        }
        let node = settled_node(ctx, routes, &object, &made);
        end(ctx, object, node.map(|node| (node, made.fileid)), due);
    }
}

/// The object by its final name, for its other names: a node that is a way from the root ends at the name it was made under.
fn settled_node(ctx: &Ctx<'_>, routes: Routes, object: &Object, made: &Made) -> Option<Node> {
    if object.first.is_none() || made.aside.is_none() {
        return Some(made.node.clone());
    }
    let parent = &object.dir.made().node;
    let lookup = Call::lookup(parent, &object.name);
    // Through the mount that has put it there, where it replaced something.
    let route = match object.at {
        At::Absent => routes.target,
        _ => ctx.target.volume.route_replacing(routes.target),
    };
    match ctx.target.one(route, lookup).found() {
        // Of several mounts one may still find what had the name before; the one that made a new one has renamed it.
        Ok(found) if ctx.target.volume.is_late() && made.fileid.is_some() => {
            let is_this = found.attr.is_none_or(|attr| Some(attr.fileid) == made.fileid);
            let renamed = || made.node.renamed(parent, &object.name);
            Some(if is_this { None } else { renamed() }.unwrap_or(found.node))
        }
        Ok(found) => Some(found.node),
        // The next name begins anew, as a file of its own: that is told, and mended by the next run.
        Err(status) => {
            let why = format!("{}: {status}, so its other names may not be hard links", Proc::Lookup);
            ctx.fail(&object.dir, Some(&object.name), Trouble::Refused(On::Target, why));
            None
        }
    }
}

/// What was begun and is not complete: a name that was to be renamed goes, if it can. A file that was written in its place is emptied and
/// gets a time that no copy has, for ranges are written in any order: it may have the source's size, and a time behind the source's, so
/// that a run that looks at one of them alone would leave it as it is. What could not be emptied is told.
pub(super) fn discard(ctx: &Ctx<'_>, routes: Routes, (object, attr): (&Object, &Attr), made: Option<&Made>) {
    let Err(status) = discard_silently(ctx, routes, (object, attr), made) else { return };
    // Nobody has it any more, or no target is left, which is told once and says the same of all that was begun.
    if !matches!(status, Status::NoEnt | Status::Stale | Status::NoTarget) {
        let left = format!(
            "could not be emptied and given a time: {status}; -u and --size-only may take what is left of it for a copy"
        );
        ctx.fail(&object.dir, Some(&object.name), Trouble::Refused(On::Target, left));
    }
}

/// The same of what is begun anew at once. An error says that a file has bytes in it.
pub(super) fn discard_silently(
    ctx: &Ctx<'_>,
    routes: Routes,
    (object, attr): (&Object, &Attr),
    made: Option<&Made>,
) -> Result<(), Status> {
    let Some(made) = made else { return unmade(ctx, routes, object, attr) };
    // The failure that is told is the cause; what is left over is removed by a later run.
    if let Some(aside) = &made.aside {
        ctx.target.one(routes.target, Call::remove(&object.dir.made().node, aside));
    } else if made.stage == Stage::Begun && attr.kind == Kind::File {
        let time = decide::time_of_no_copy(attr);
        let is_dated = empty(ctx, routes, &made.node, (time, made.mode))?;
        // NFSv3 has no time before a source's of 1970: -u would take the emptied file for the newer one. What could not be given a time may
        // be another's.
        if time > attr.mtime && is_dated {
            ctx.target.one(routes.target, Call::remove(&object.dir.made().node, &object.name));
        }
    }
    Ok(())
}

/// A file that could not be made. On a `soft` mount of the kernel it may have been made all the same, empty and newer than the source.
fn unmade(ctx: &Ctx<'_>, routes: Routes, object: &Object, attr: &Attr) -> Result<(), Status> {
    let is_ours = matches!(object.at, At::Absent) && attr.kind == Kind::File && !ctx.options.atomic;
    if !is_ours || !is_kernel_nfs(ctx.target) {
        return Ok(());
    }
    let found = ctx.target.look_up(routes.target, &object.dir.made().node, &object.name);
    match found.map_err(|(_, status)| status) {
        Ok((node, is)) if is.kind == Kind::File && is.size == 0 => {
            empty(ctx, routes, &node, (decide::time_of_no_copy(attr), None)).map(drop)
        }
        // What is not answered now either may be there.
        Err(status @ (Status::Io | Status::Errno(_))) => Err(status),
        _ => Ok(()),
    }
}

/// Empties a file and gives it a time, and the mode of the file whose place it has, of which nothing is known afterwards; false where it has
/// no time of ours, as another's has that may be written. It is looked at afterwards, and emptied once more: behind a SETATTR that went well
/// the kernel's client of a `soft` mount wrote what it still had (seen of Linux 6.12, after an outage).
fn empty(ctx: &Ctx<'_>, routes: Routes, node: &Node, (time, mode): (Time, Option<u32>)) -> Result<bool, Status> {
    let mode = mode.map(|mode| mode & !decide::SET_ID);
    let emptied = AttrChange { size: Some(0), ..AttrChange::default() };
    let dated = AttrChange { mtime: SetTime::At(time), mode, ..emptied };
    let mut change = dated;
    let mut why = Status::Pending;
    for _ in 0..2 {
        let set = ctx.target.one(routes.target, Call::set_attr(node, change)).status();
        match ctx.target.one(routes.target, Call::get_attr(node)).attr() {
            // A kernel's client tells by SETATTR too what became of bytes that it was given before, and that are gone now.
            Ok(is) if is.size == 0 && change == dated && time.may_be_kept_as(is.mtime, true) => return Ok(true),
            Ok(is) if is.size == 0 && set.is_ok() => return Ok(change == dated),
            // Another's, which is as empty.
            Ok(is) if is.size == 0 && matches!(set, Err(Status::Perm | Status::Access)) => return Ok(false),
            Ok(_) => why = set.err().unwrap_or(Status::Io),
            Err(status) => why = set.err().unwrap_or(status),
        }
        // A server may refuse both for the sake of one.
        change = if matches!(why, Status::Perm | Status::Access) { emptied } else { dated };
    }
    Err(why)
}

/// What completes an object: its times, and what making it could not set. Times only where all is well with it. Fails with the status of
/// a GETATTR that the mode depends on.
fn last_change(ctx: &Ctx<'_>, routes: Routes, item: &Item, made: &Made) -> Result<AttrChange, Status> {
    let attr = item.attr();
    let at = |time| AttrChange { mtime: SetTime::At(time), ..AttrChange::default() };
    let times = match ctx.options.existing {
        _ if !item.unsteady => decide::times(ctx.options, attr),
        // So that another run does not take it for the newer one, or for equal: both may have been written in one tick of the clock.
        Existing::UnlessNewer => at(Time::default()),
        _ if ctx.options.preserve.times => at(decide::time_of_no_copy(attr)),
        _ => AttrChange::default(),
    };
    let mode = made.mode.unwrap_or_else(|| decide::mode(ctx.options, attr, None));
    // Writing to a file clears the bits above 0777.
    // A mode that is not to be kept is as the directory's ACL, or the server, would have it.
    let keeps = ctx.options.preserve.mode || made.mode.is_some();
    // Behind an ACL that was carried it would be the mask.
    let is_behind_acl = made.shut_out && !xattrs::may_open(ctx, routes.target, (&item.known.node, &made.node));
    let is_shut = made.shut_out && !is_behind_acl;
    let is_other = is_shut || made.other_mode && keeps || mode & 0o7000 != 0 && (!made.existed || keeps);
    let due = attr.kind != Kind::Symlink && is_other;
    let owned = || Ok(decide::owned(attr, mode, owner(ctx, routes, item, made)?));
    let mode = due.then(|| made.mode.map_or_else(owned, Ok)).transpose()?;
    let mode =
        mode.map(|mode| if is_behind_acl { behind_acl(ctx, routes, made, mode) } else { Ok(mode) }).transpose()?;
    Ok(AttrChange { mode, size: item.size_due, ..times })
}

/// The bits of a mode that no ACL has, with those that the object has of its own.
fn behind_acl(ctx: &Ctx<'_>, routes: Routes, made: &Made, mode: u32) -> Result<u32, Status> {
    let is = ctx.target.one(routes.target, Call::get_attr(&made.node)).attr()?;
    Ok(mode & !0o777 | is.mode & 0o777)
}

/// Whose the object is now, where its set-id bits depend on that.
fn owner(ctx: &Ctx<'_>, routes: Routes, item: &Item, made: &Made) -> Result<(u32, u32), Status> {
    let attr = item.attr();
    let given = matches!(decide::owner(ctx.options, attr, None), (Some(_), Some(_))) && !made.owner_refused;
    if given || attr.mode & decide::SET_ID == 0 {
        return Ok((attr.uid, attr.gid));
    }
    let is = ctx.target.one(routes.target, Call::get_attr(&made.node)).attr()?;
    Ok((is.uid, is.gid))
}

/// Sets the sizes of files that end in a hole before they get extended attributes: truncation takes a file's capabilities off.
fn set_sizes(ctx: &Ctx<'_>, routes: Routes, items: &mut [Item]) {
    let is_due = |item: &&mut Item| item.is_open() && item.size_due.is_some() && item.made.is_some();
    let mut sized: Vec<&mut Item> = items.iter_mut().filter(is_due).collect();
    let answers: Vec<_> = {
        let of = |item: &&mut Item| {
            let change = AttrChange { size: item.size_due, ..AttrChange::default() };
            item.made.as_ref().map(|made| Call::set_attr(&made.node, change)).unwrap_or_default()
        };
        let mut calls: Vec<Call<'_>> = sized.iter().map(of).collect();
        ctx.target.perform(routes.target, &mut calls);
        calls.iter().map(Call::status).collect()
    };
    for (item, answer) in sized.iter_mut().zip(answers) {
        item.size_due = None;
        if let Err(status) = answer {
            item.trouble = Some(Trouble::Call(On::Target, Proc::SetAttr, status));
        }
    }
}

fn set_last(ctx: &Ctx<'_>, routes: Routes, items: &mut [Item]) {
    if ctx.xattrs {
        set_sizes(ctx, routes, items);
    }
    let mut setting = Vec::new();
    for (i, item) in items.iter_mut().enumerate().filter(|(_, item)| item.is_open()) {
        let Some(made) = &item.made else { continue };
        if ctx.xattrs {
            let dir = &item.known.object.dir;
            let unclean = made.existed || dir.made().inherits;
            let place = (&**dir, Some(&item.known.object.name));
            xattrs::carry(ctx, routes.target, (&item.known.node, &made.node), unclean, place);
        } else {
            xattrs::miss(ctx, &item.known.node);
        }
        match last_change(ctx, routes, item, made) {
            Ok(change) if change.is_empty() => {}
            Ok(change) => setting.push((i, change)),
            Err(status) => item.trouble = Some(Trouble::Call(On::Target, Proc::GetAttr, status)),
        }
    }
    let answers: Vec<_> = {
        let of = |&(i, change): &(usize, AttrChange)| {
            items[i].made.as_ref().map(|made| Call::set_attr(&made.node, change)).unwrap_or_default()
        };
        let mut calls: Vec<Call<'_>> = setting.iter().map(of).collect();
        ctx.target.perform(routes.target, &mut calls);
        calls.iter().map(Call::status).collect()
    };
    for ((i, change), answer) in setting.into_iter().zip(answers) {
        match answer {
            Ok(()) => {}
            Err(Status::NotSupp) if items[i].attr().kind == Kind::Symlink => {}
            Err(status) => {
                let node = items[i].made.as_ref().map(|made| &made.node);
                let is_mode = |node| without_mode(ctx, routes.target, (node, change), status, false);
                if node.is_some_and(is_mode) {
                    items[i].mode_refused = Some(status);
                } else {
                    items[i].trouble = Some(Trouble::Call(On::Target, Proc::SetAttr, status));
                }
            }
        }
    }
}

fn rename(ctx: &Ctx<'_>, routes: Routes, items: &mut [Item]) {
    let has_to = |item: &Item| item.is_open() && item.made.as_ref().is_some_and(|made| made.aside.is_some());
    let mut moving: Vec<&mut Item> = items.iter_mut().filter(|item| has_to(item)).collect();
    if moving.is_empty() {
        return;
    }
    let (volume, is_new) = (ctx.target.volume, |item: &&mut Item| matches!(item.object().at, At::Absent));
    let mut new = moving.len();
    if volume.is_late() {
        moving.sort_by_key(|item| !is_new(item));
        new = moving.partition_point(is_new);
    }
    let (answers, taken): (Vec<_>, _) = {
        let call = |item: &&mut Item| {
            let made = item.made.as_ref()?;
            let (aside, name) = (made.aside.as_ref()?, &item.known.object.name);
            Some(Call::rename_of(made.fileid, (item.parent(), aside), (item.parent(), name)))
        };
        let mut calls: Vec<Call<'_>> = moving.iter().map(|item| call(item).unwrap_or_default()).collect();
        let taken = rename_new(ctx, routes, &moving[..new], &mut calls[..new]);
        ctx.target.perform(volume.route_replacing(routes.target), &mut calls[new..]);
        (calls.iter().map(Call::status).collect(), taken)
    };
    let taken = taken.into_iter().chain(std::iter::repeat_with(|| None));
    for ((item, answer), taken) in moving.iter_mut().zip(answers).zip(taken) {
        if taken.is_some() {
            item.trouble = taken;
            continue;
        }
        item.known.object.dir.gain();
        if let Err(status) = answer
            && !(status == Status::NoReply && has_moved(ctx, routes, item))
        {
            item.trouble = Some(Trouble::Call(On::Target, Proc::Rename, status));
        }
    }
}

/// Gives new objects their names, all at once. A RENAME does not tell that it has replaced what has its name in another spelling: where there may
/// be such, each is looked for, by one lane at a time. For each why it is not to have its name.
fn rename_new(ctx: &Ctx<'_>, routes: Routes, items: &[&mut Item], calls: &mut [Call<'_>]) -> Vec<Option<Trouble>> {
    let route = routes.target;
    let folds = |item: &&mut Item| {
        let aside = item.made.as_ref().and_then(|made| made.aside.as_ref());
        aside.is_some_and(|aside| folds::folds(ctx, route, item.parent(), aside))
    };
    let is_new = |item: &&&mut Item| matches!(item.object().at, At::Absent);
    if !items.iter().find(is_new).is_some_and(folds) {
        ctx.target.perform(route, calls);
        return Vec::new();
    }
    let rename = |(item, call): (&&mut Item, &mut Call<'_>)| {
        let (dir, name) = (&item.known.object.dir, &item.known.object.name);
        let _alone = ctx.renaming.lock().expect("nothing panics while it renames");
        let there = is_new(&item).then(|| ctx.target.look_up(route, item.parent(), name).ok());
        let taken = there.flatten().and_then(|(_, is)| folds::is_taken(ctx, route, dir, name, &is));
        if taken.is_none() {
            ctx.target.perform(route, std::slice::from_mut(call));
        }
        taken
    };
    items.iter().zip(calls).map(rename).collect()
}

/// Does the object have its name, of which a RENAME never told? Where the server has said no file id of what it made, mounts cannot
/// tell it from what had the name before.
fn has_moved(ctx: &Ctx<'_>, routes: Routes, item: &Item) -> bool {
    let (port, route) = (ctx.target, routes.target);
    let Some(made) = &item.made else { return false };
    let found = port.look_up(route, item.parent(), &item.known.object.name);
    let (Ok((_, is)), Ok(was)) = (found, port.one(route, Call::get_attr(&made.node)).attr()) else { return false };
    is.is_same_as(&was)
}
