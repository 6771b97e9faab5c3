//! Objects that are no directories, a window of them at a time: looked up where that is needed, compared with what is
//! there, and sorted by what is to be done.

use crate::base::hash::mix;
use crate::base::{PriceList, Proc, Status};
use crate::crew::{Due, Seat};
use crate::storage::{Attr, AttrChange, Call, Kind, Node, Promise, Route};

use super::aside;
use super::attributes;
use super::compare::{self, content_differs};
use super::ctx::{Ctx, On, Trouble, add};
use super::decide::{self, Verdict};
use super::delete;
use super::enter::owner_refused;
use super::fill;
use super::folds;
use super::groups::{self, Settling};
use super::link;
use super::links::{Links, Role};
use super::make::{self, Item};
use super::task::{At, Held, Object, Task};
use super::visit;
use super::{Deed, TRIES_MAX, xattrs};

/// The mounts that a window's calls go to.
#[derive(Clone, Copy)]
pub(super) struct Routes {
    pub source: Route,
    pub target: Route,
}

/// An object whose source is known.
pub(super) struct Known {
    pub object: Box<Object>,
    pub node: Node,
    pub attr: Attr,
}

/// Deals with objects; each is over then, or has become another task.
pub(super) fn run(ctx: &Ctx<'_>, seat: Option<Seat>, objects: Vec<Held>, due: &mut Vec<Due<Task>>) {
    // A source's mount that has listed the directory knows its names.
    let listed = objects.iter().find_map(|object| object.source.as_ref());
    let source = ctx.source.route();
    let routes = Routes {
        source: listed.map_or(source, |(node, _)| ctx.source.volume.route_of(node, source)),
        target: seat.map_or_else(
            || ctx.target.route(),
            |seat| ctx.target.volume.route_making(seat.share, seat.slot, ctx.crew.shape().lanes),
        ),
    };
    let _promises = promise(ctx, routes, &objects);
    let known = look_up_source(ctx, routes, objects, due);
    let known = look_up_target(ctx, routes, known, due);
    let mut lists = Lists::default();
    for known in known {
        if ctx.options.atomic && !ctx.compares() && aside::is_aside(&known.object.name) {
            let reason = "has the form of a temporary name of this program; it can be copied without --atomic, -u, -n and \
                          --size-only, or left out";
            give_up(ctx, known.object, Trouble::Refused(On::Target, reason.into()), due);
            continue;
        }
        if let Some(known) = take_role(ctx, routes, known, due) {
            sort(ctx, routes, known, &mut lists, due);
        }
    }
    set_attributes(ctx, routes, lists.attributes, due);
    compare::texts(ctx, routes, lists.texts, &mut lists.items, due);
    compare::bytes(ctx, routes, lists.bytes, due);
    make::run(ctx, routes, lists.items, due);
}

/// What the objects take of both mounts at most, as far as it is known.
fn promise<'a>(ctx: &Ctx<'a>, routes: Routes, objects: &[Held]) -> [Promise<'a>; 2] {
    // Larger files are promised range by range.
    let sizes = || {
        let known = objects.iter().filter_map(|object| object.source.as_ref());
        known.map(|(_, attr)| if attr.size <= ctx.small_max { attr.size } else { 0 })
    };
    let reading = |list: &PriceList| sizes().map(|size| list.price(Proc::Read, size)).sum();
    let making = |list: &PriceList| {
        let each = list.price(Proc::Create, 0) + list.price(Proc::SetAttr, 0);
        sizes().map(|size| each + list.price(Proc::Write, size)).sum()
    };
    let (source, target) = (ctx.source.volume, ctx.target.volume);
    let there = |list: &PriceList| if ctx.compares() { reading(list) } else { making(list) };
    [source.promise(routes.source, reading), target.promise(routes.target, there)]
}

#[derive(Default)]
struct Lists {
    attributes: Vec<(Known, AttrChange)>,
    texts: Vec<Known>,
    bytes: Vec<Known>,
    items: Vec<Item>,
}

/// An object could not be dealt with.
pub(super) fn give_up(ctx: &Ctx<'_>, object: Box<Object>, trouble: Trouble, due: &mut Vec<Due<Task>>) {
    ctx.fail(&object.dir, Some(&object.name), trouble);
    end(ctx, object, None, due);
}

/// An object is over. `made` is where the first name of a multiply linked file is: its other names go on.
pub(super) fn end(ctx: &Ctx<'_>, object: Box<Object>, made: Option<(Node, Option<u64>)>, due: &mut Vec<Due<Task>>) {
    if let Some(key) = object.first {
        due.extend(ctx.links.made(key, made).into_iter().map(|waiting| Task::Object(waiting).due()));
    }
    ctx.over(&object.dir, due);
}

/// An object is over that is there as it was, at `made`. What another source has brought is no other name of this one's file, although its
/// size and time are the same.
fn end_as_it_is(ctx: &Ctx<'_>, object: Box<Object>, made: Option<(Node, Option<u64>)>, due: &mut Vec<Due<Task>>) {
    let is_taken = match &object.at {
        At::Present(_, is) if object.first.is_some() => ctx.taken(&object.dir, Some(&object.name), is).is_some(),
        _ => false,
    };
    end(ctx, object, made.filter(|_| !is_taken), due);
}

/// Is nothing to be had of an object any more, by what its LOOKUP ended with?
pub(super) fn has_vanished(ctx: &Ctx<'_>, object: &Object, status: Status) -> bool {
    match status {
        Status::NoEnt => object.begun || !object.dir.is_partial(),
        Status::Stale => ctx.is_gone(&object.dir, status),
        _ => false,
    }
}

pub(super) fn end_vanished(ctx: &Ctx<'_>, object: Box<Object>, due: &mut Vec<Due<Task>>) {
    add(&ctx.counts.vanished, 1);
    end(ctx, object, None, due);
}

fn look_up_source(ctx: &Ctx<'_>, routes: Routes, objects: Vec<Held>, due: &mut Vec<Due<Task>>) -> Vec<Known> {
    let (unknown, known): (Vec<_>, Vec<_>) = objects.into_iter().partition(|object| object.source.is_none());
    let mut all: Vec<Known> = Vec::with_capacity(unknown.len() + known.len());
    for mut object in known {
        if let Some((node, attr)) = object.source.take() {
            all.push(Known { object, node, attr });
        }
    }
    let look = |o: &Held| match o.single {
        true => Call::get_attr(&o.dir.source),
        false => Call::lookup(&o.dir.source, &o.name),
    };
    let mut calls: Vec<Call<'_>> = unknown.iter().map(look).collect();
    ctx.source.perform(routes.source, &mut calls);
    let found = |(object, call): (&Held, &Call<'_>)| match object.single {
        true => call.attr().map(|attr| (object.dir.source.clone(), attr)).map_err(|status| (Proc::GetAttr, status)),
        false => ctx.source.found(routes.source, call),
    };
    let answers: Vec<_> = unknown.iter().zip(&calls).map(found).collect();
    drop(calls);
    for (mut object, answer) in unknown.into_iter().zip(answers) {
        if let Ok((_, attr)) = &answer {
            keep_first(ctx, &mut object, attr, due);
        }
        match answer {
            Ok((node, attr)) if attr.kind == Kind::Dir => {
                visit::enter_later(ctx, &object.dir, &object.name, (node, attr), object.at.clone(), due);
                object.dir.leave(due);
            }
            Ok((node, attr)) => all.push(Known { object, node, attr }),
            // It went between the listing and now: as if it had never been there, unless it was asked for by name.
            // What was begun may be emptied already.
            Err((_, status)) if has_vanished(ctx, &object, status) => match object.begun {
                true => give_up(ctx, object, fill::vanished(), due),
                false => end_vanished(ctx, object, due),
            },
            Err((proc, status)) => give_up(ctx, object, Trouble::Call(On::Source, proc, status), due),
        }
    }
    all
}

/// What has the name of a multiply linked file's first name now: the file, which may have been changed, or something else, for which the
/// others do not wait.
fn keep_first(ctx: &Ctx<'_>, object: &mut Object, attr: &Attr, due: &mut Vec<Due<Task>>) {
    let Some(key) = object.first else { return };
    if Links::key(attr) == key && attr.kind != Kind::Dir {
        return ctx.links.renew(attr);
    }
    object.first = None;
    due.extend(ctx.links.made(key, None).into_iter().map(|waiting| Task::Object(waiting).due()));
}

fn look_up_target(ctx: &Ctx<'_>, routes: Routes, known: Vec<Known>, due: &mut Vec<Due<Task>>) -> Vec<Known> {
    let is_unknown = |known: &Known| matches!(known.object.at, At::Ask | At::Present(None, _));
    if !known.iter().any(is_unknown) {
        return known;
    }
    let (unknown, mut all): (Vec<_>, Vec<_>) = known.into_iter().partition(is_unknown);
    let mut calls: Vec<Call<'_>> =
        unknown.iter().map(|k| Call::lookup(&k.object.dir.made().node, &k.object.name)).collect();
    ctx.target.perform(routes.target, &mut calls);
    let answers: Vec<_> = calls.iter().map(|call| ctx.target.found(routes.target, call)).collect();
    drop(calls);
    for (mut known, answer) in unknown.into_iter().zip(answers) {
        match answer {
            Ok((node, attr)) => {
                let (dir, name) = (&known.object.dir, &known.object.name);
                let appeared = known.object.appeared && !ctx.compares();
                if let Some(taken) = appeared.then(|| folds::is_taken(ctx, routes.target, dir, name, &attr)).flatten() {
                    give_up(ctx, known.object, taken, due);
                    continue;
                }
                known.object.at = At::Present(Some(node), attr);
            }
            Err((_, Status::NoEnt)) => known.object.at = At::Absent,
            Err(error) => {
                give_up(ctx, known.object, Trouble::on_target(error), due);
                continue;
            }
        }
        all.push(known);
    }
    all
}

/// What an object of several names is; those that go on like any other come back.
fn take_role(ctx: &Ctx<'_>, routes: Routes, known: Known, due: &mut Vec<Due<Task>>) -> Option<Known> {
    let Known { mut object, node, attr } = known;
    if attr.nlink < 2 || !ctx.options.preserve.hard_links || object.first.is_some() {
        return Some(Known { object, node, attr });
    }
    if ctx.compares() {
        return compare_role(ctx, routes.target, Known { object, node, attr }, due);
    }
    let dir = object.dir.clone();
    object.source = Some((node.clone(), attr)); // for one that waits
    let mut object = Some(object);
    let role = ctx.links.meet(&attr, &mut object);
    let mut object = object?; // else it waits
    match role {
        Role::First(key) => {
            object.first = Some(key);
            Some(Known { object, node, attr })
        }
        Role::Other(there, fileid) => {
            link::run(ctx, routes.target, Known { object, node, attr }, (there, fileid), due);
            None
        }
        Role::Alone => {
            ctx.warn_once("links", || {
                "more hard links than can be remembered for a list of names; some were copied as files of their own"
                    .into()
            });
            Some(Known { object, node, attr })
        }
        Role::Another => {
            ctx.warn_once("other links", || {
                "some files with several names were changed or replaced meanwhile; such a name may be a file of its own"
                    .into()
            });
            Some(Known { object, node, attr })
        }
        Role::Anew => {
            due.push(object.again().due());
            None
        }
        Role::Parked | Role::Postponed | Role::Past => {
            dir.leave(due);
            None
        }
    }
}

/// For a comparison: is the object another name of the same file on both sides?
fn compare_role(ctx: &Ctx<'_>, route: Route, known: Known, due: &mut Vec<Due<Task>>) -> Option<Known> {
    let At::Present(Some(there), is) = &known.object.at else { return Some(known) };
    // As in a copy: of several mounts each has its own id of a file system.
    let has_one_id = ctx.target.volume.mounts().len() == 1;
    let id = |is: &Attr| Some(is.fileid ^ if has_one_id { mix(is.fsid) } else { 0 });
    let (there, fileid) = (there.clone(), id(is));
    let Known { mut object, node, attr } = known;
    object.source = Some((node.clone(), attr)); // or it would be looked up again, which depends on lanes
    let mut object = Some(object);
    let role = ctx.links.meet(&attr, &mut object);
    let mut object = object?; // else it waits, for no longer than it takes to say where the first one is
    match role {
        Role::First(key) => {
            let waiting = ctx.links.made(key, Some((there, fileid)));
            due.extend(waiting.into_iter().map(|waiting| Task::Object(waiting).due()));
        }
        Role::Other(lead, first) if first != fileid => {
            let mut calls = [Call::get_attr(&lead), Call::get_attr(&there)];
            ctx.target.perform(route, &mut calls);
            let is_gone = |call: &Call<'_>, was: Option<u64>| match call.attr() {
                Ok(is) => id(&is) != was,
                Err(status) => matches!(status, Status::Stale | Status::NoEnt),
            };
            let (lead_is_gone, this_is_gone) = (is_gone(&calls[0], first), is_gone(&calls[1], fileid));
            // Who replaces one name of a file replaces all. What that one led to is gone: they are compared with this one from now on. What was
            // listed here is gone: this one is looked up again when it is read.
            if lead_is_gone {
                ctx.links.made(Links::key(&attr), Some((there, fileid)));
            } else if !object.was_told() && !this_is_gone {
                ctx.differs("hard link", &object.dir, Some(&object.name));
                object.differs = true;
            }
        }
        Role::Alone => ctx.warn_once("links", || {
            "more hard links than can be remembered; of some it was not compared which names are one file's".into()
        }),
        _ => {}
    }
    Some(Known { object, node, attr })
}

/// May what is there be what a link that was named leads to? Of one on a server neither that is known, nor whether two names of the server
/// mean one. (The command line has looked at those of this host. Names of a list are of one directory, as those of a tree are.)
fn may_lead_to(ctx: &Ctx<'_>, object: &Object, (node, attr): (&Node, &Attr), is: &Attr) -> bool {
    let is_named = object.single || object.dir.is_partial() && !ctx.options.from_list;
    is_named && attr.kind == Kind::Symlink && is.kind == Kind::File && node.has_handles()
}

/// Finds out what is to be done.
fn sort(ctx: &Ctx<'_>, routes: Routes, known: Known, lists: &mut Lists, due: &mut Vec<Due<Task>>) {
    let Known { object, node, attr } = &known;
    let special = matches!(attr.kind, Kind::Char | Kind::Block | Kind::Fifo | Kind::Socket);
    if special && !ctx.options.preserve.specials {
        add(&ctx.counts.left_out, 1);
        return end(ctx, known.object, None, due);
    }
    let At::Present(Some(there), is) = &object.at else {
        if ctx.compares() {
            ctx.differs("only in the source", &object.dir, Some(&object.name));
            return end(ctx, known.object, None, due);
        }
        return lists.items.push(Item::new(known));
    };
    let made = Some((there.clone(), Some(is.fileid)));
    if ctx.compares() {
        return sort_comparison(ctx, routes, known, lists, due);
    }
    let verdict = match object.tries {
        _ if object.differs => Verdict::Content,
        0 => decide::verdict(ctx.by(), attr, is),
        _ => decide::verdict_again(ctx.by(), attr, is),
    };
    // Its size and times say nothing of what it holds.
    let may_be_equal = matches!(verdict, Verdict::Equal | Verdict::Attributes(_) | Verdict::CompareBytes);
    let is_unknown = may_be_equal && attr.kind == Kind::File && ctx.is_made_up(node, attr);
    let verdict = match verdict {
        _ if is_unknown => Verdict::Content,
        // Another's change would be this one's too.
        Verdict::Keep => {
            ctx.meets(attr, is);
            Verdict::Keep
        }
        Verdict::Equal | Verdict::Attributes(_) | Verdict::CompareBytes | Verdict::CompareText
            if !ctx.meets(attr, is) || (object.first.is_some() && !ctx.keeps(attr, is)) =>
        {
            Verdict::Replace
        }
        Verdict::Attributes(_) if ctx.has_more_names(attr, is) => Verdict::Replace,
        verdict => verdict,
    };
    if verdict == Verdict::Replace && may_lead_to(ctx, object, (node, attr), is) {
        let reason = "is there, and may be what the source, a symbolic link, leads to; remove it first";
        return give_up(ctx, known.object, Trouble::Refused(On::Target, reason.into()), due);
    }
    if matches!(verdict, Verdict::Content | Verdict::Replace)
        && let Some(taken) = ctx.taken(&object.dir, Some(&object.name), is)
    {
        return give_up(ctx, known.object, taken, due);
    }
    match verdict {
        Verdict::Equal if ctx.xattrs || groups::due_of_old(ctx, attr, is).is_some() => {
            lists.attributes.push((known, AttrChange::default()))
        }
        Verdict::Equal => {
            add(&ctx.counts.unchanged, 1);
            end_as_it_is(ctx, known.object, made, due);
        }
        Verdict::Attributes(change) => lists.attributes.push((known, change)),
        Verdict::Content => lists.items.push(Item::new(known)),
        Verdict::CompareBytes => lists.bytes.push(known),
        Verdict::CompareText => lists.texts.push(known),
        Verdict::Replace if is.kind == Kind::Dir => delete::replace_unread(ctx, routes, known, due),
        Verdict::Replace => lists.items.push(Item::new(known)),
        Verdict::Keep => {
            add(&ctx.counts.kept, 1);
            // Other names of the source's file are no names of something else.
            let alike = attr.kind == is.kind && attr.size == is.size && ctx.by().keeps_time(attr, is);
            let same = alike && (object.first.is_none() || ctx.keeps(attr, is));
            let made = made.filter(|_| same);
            end_as_it_is(ctx, known.object, made, due);
        }
    }
}

/// For a comparison: tells what differs in attributes, and leaves what has content.
fn sort_comparison(ctx: &Ctx<'_>, routes: Routes, known: Known, lists: &mut Lists, due: &mut Vec<Due<Task>>) {
    let Some(mut known) = fill::sized(ctx, routes, known, due) else { return };
    let Known { object, attr, .. } = &known;
    let At::Present(_, is) = &object.at else { return };
    let differs = |what| ctx.differs(what, &object.dir, Some(&object.name));
    if attr.kind != is.kind {
        differs("type");
        return end(ctx, known.object, None, due);
    }
    if attr.kind == Kind::File && attr.size != is.size {
        differs("size");
        return end(ctx, known.object, None, due);
    }
    if !object.was_told() {
        let Some(compared) = compare_attributes(ctx, routes, known, due) else { return };
        known = compared;
    }
    match known.attr.kind {
        Kind::File => lists.bytes.push(known),
        Kind::Symlink => lists.texts.push(known),
        _ => compare::equals(ctx, routes, vec![known], due),
    }
}

/// Tells in which attributes an object differs, if it does; none where it is looked up once more.
fn compare_attributes(ctx: &Ctx<'_>, routes: Routes, mut known: Known, due: &mut Vec<Due<Task>>) -> Option<Known> {
    let Known { object, node, attr } = &known;
    let At::Present(Some(there), is) = &object.at else { return Some(known) };
    let place = (&*object.dir, Some(&object.name));
    // A source's file may have names that are not copied.
    let has_more_names = ctx.options.preserve.hard_links && attr.nlink < is.nlink;
    let told = [groups::difference(ctx, attr, is), has_more_names.then_some("number of links")];
    told.iter().flatten().for_each(|what| ctx.differs(what, place.0, place.1));
    let differs = xattrs::compare(ctx, routes.target, (node, there), place);
    known.object.differs |= told.iter().any(Option::is_some) || differs == Ok(true);
    match differs {
        Ok(_) => Some(known),
        Err(unread) => compare::unread(ctx, routes, known, unread, due),
    }
}

/// Was more set than the owner that was refused, which takes set-id bits with it?
fn is_more(change: AttrChange, at: &At) -> bool {
    let was = if let At::Present(_, is) = at { Some(is.mode) } else { None };
    let mode = change.mode.map(|mode| mode & !decide::SET_ID).filter(|mode| Some(*mode) != was);
    !AttrChange { mode, uid: None, gid: None, ..change }.is_empty()
}

/// Carries extended attributes to what is equal in all else, and says whether some were changed; none where it is looked up once more.
fn carry_of_old(
    ctx: &Ctx<'_>,
    routes: Routes,
    known: Known,
    there: &Node,
    due: &mut Vec<Due<Task>>,
) -> Option<(Known, bool)> {
    let place = (&*known.object.dir, Some(&known.object.name));
    match xattrs::carry_if_read(ctx, routes.target, (&known.node, there), true, place) {
        Ok(carried) => Some((known, carried)),
        Err(unread) => compare::unread(ctx, routes, known, unread, due).map(|known| (known, false)),
    }
}

/// Sets the attributes of objects whose content is equal.
pub(super) fn set_attributes(
    ctx: &Ctx<'_>,
    routes: Routes,
    objects: Vec<(Known, AttrChange)>,
    due: &mut Vec<Due<Task>>,
) {
    let carry = |known: &Known, there: &Node| {
        let place = (&*known.object.dir, Some(&known.object.name));
        ctx.xattrs && xattrs::carry(ctx, routes.target, (&known.node, there), true, place)
    };
    let mut setting = Vec::new();
    for Settling { known, there, change, taken, regrouped } in groups::give_old(ctx, routes.target, objects) {
        let At::Present(_, is) = &known.object.at else { continue };
        if change.is_empty() {
            let fileid = is.fileid;
            let looks = ctx.xattrs && (is.nlink > 1 || ctx.taken.is_some());
            let equal = looks.then(|| xattrs::equal(ctx, routes.target, (&known.node, &there))).flatten();
            let taken =
                looks && equal != Some(true) && ctx.taken(&known.object.dir, Some(&known.object.name), is).is_some();
            if equal == Some(false) && !taken && ctx.has_more_names(&known.attr, is) {
                content_differs(ctx, known, due); // made anew, apart from its other names
                continue;
            }
            let carried = match ctx.xattrs && !taken && equal != Some(true) {
                true => carry_of_old(ctx, routes, known, &there, due),
                false => Some((known, false)),
            };
            let Some((known, carried)) = carried else { continue };
            let carried = carried || regrouped;
            if carried {
                ctx.tell(Deed::Attributes, &known.object.dir, Some(&known.object.name));
            }
            add(if carried { &ctx.counts.attributes } else { &ctx.counts.unchanged }, 1);
            end_as_it_is(ctx, known.object, Some((there, Some(fileid))), due);
        } else if let Some(taken) = taken {
            give_up(ctx, known.object, taken, due);
        } else {
            setting.push((known, there, change));
        }
    }
    let changes: Vec<_> = setting.iter().map(|(_, node, change)| (node, *change)).collect();
    let answers = attributes::set(ctx, routes.target, &changes);
    for ((known, node, change), answer) in setting.into_iter().zip(answers) {
        // After the owner: giving a file away takes its capabilities.
        let carried = answer.is_ok() && carry(&known, &node);
        let Known { object, attr, .. } = known;
        let fileid = if let At::Present(_, is) = &object.at { Some(is.fileid) } else { None };
        match answer {
            // RFC 1813 has no time for symlinks; Linux has, some servers do not.
            Err(Status::NotSupp) if attr.kind == Kind::Symlink => {
                add(&ctx.counts.unchanged, 1);
                end(ctx, object, Some((node, fileid)), due);
            }
            Err(status) => give_up(ctx, object, Trouble::Call(On::Target, Proc::SetAttr, status), due),
            Ok(owned) => {
                if !owned.is_given() {
                    ctx.fail(&object.dir, Some(&object.name), owner_refused());
                }
                if owned.is_given() || carried || is_more(change, &object.at) {
                    add(&ctx.counts.attributes, 1);
                    ctx.tell(Deed::Attributes, &object.dir, Some(&object.name));
                }
                end(ctx, object, Some((node, fileid)), due);
            }
        }
    }
}

/// Begins an object anew, or gives it up when it was begun too often.
pub(super) fn retry(ctx: &Ctx<'_>, object: Box<Object>, trouble: Trouble, due: &mut Vec<Due<Task>>) {
    if usize::from(object.tries) < TRIES_MAX {
        due.push(object.again().due());
    } else {
        give_up(ctx, object, trouble, due);
    }
}
