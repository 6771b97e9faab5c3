//! Objects made at the target, a window of them at a time: what they hold is read from the source first, then they are
//! made (or emptied), filled, and get their attributes last (`complete`). So an object whose time is the source's is complete.

use std::sync::atomic::Ordering;

use crate::base::{Name, Proc, Status};
use crate::crew::Due;
use crate::storage::{Attr, AttrChange, Call, Found, How, Kind, Node, Special};

use super::attributes::{self, Owned, owner_aside};
use super::batch::{self, Known, Routes};
use super::big;
use super::complete;
use super::ctx::{Ctx, On, Trouble};
use super::decide;
use super::fill;
use super::groups;
use super::stood;
use super::task::{At, Object, Task};
use super::whole;
use super::xattrs;

/// An object that was made, or emptied, at the target.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub node: Node,
    pub fileid: Option<u64>,
    /// Whose it is, where the reply said so.
    pub owner: Option<(u32, u32)>,
    /// It was made with another mode than the one asked for: an inherited ACL, or the server, took bits off.
    pub other_mode: bool,
    /// It has less of its mode than it is to have, until its ACL is set.
    pub shut_out: bool,
    pub existed: bool,
    pub owner_refused: bool,
    /// The mode that it is to have in the end, where that is of the file whose place it takes.
    pub mode: Option<u32>,
    pub stage: Stage,
    /// The name it has until it is complete.
    pub aside: Option<Name>,
}

impl Made {
    /// A new one, of which no reply has told anything.
    pub fn new(node: Node, stage: Stage) -> Made {
        let (fileid, owner, aside) = (None, None, None);
        Made {
            node,
            fileid,
            owner,
            other_mode: false,
            shut_out: false,
            existed: false,
            owner_refused: false,
            mode: None,
            stage,
            aside,
        }
    }
}

/// How far an object is that is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// `Made::node` says nothing unless it existed, and what was there is untouched.
    Due,
    /// It is there, and what was there is gone.
    Begun,
    /// All its bytes are written.
    Filled,
}

/// An object on its way.
pub(super) struct Item {
    pub known: Known,
    /// A small file's bytes, or a symlink's text.
    pub data: Vec<u8>,
    pub made: Option<Made>,
    /// The size to be set at the end: of a file that ends in a hole.
    pub size_due: Option<u64>,
    /// It changed while it was read, twice.
    pub unsteady: bool,
    /// The rest of it is as it should be.
    pub mode_refused: Option<Status>,
    pub trouble: Option<Trouble>,
    /// The bits of its mode that it is not to have before its ACL is set.
    pub shut_out: u32,
    /// The file whose place it takes, as far as it is to be like that one.
    pub stood: Option<Attr>,
    /// That one's ACL, if it is to get it.
    pub acl: Option<Vec<u8>>,
    /// It has become another task.
    pub elsewhere: bool,
    /// Nothing is left to be done to it.
    pub is_complete: bool,
}

impl Item {
    pub fn new(known: Known) -> Item {
        Item {
            known,
            data: Vec::new(),
            made: None,
            size_due: None,
            unsteady: false,
            mode_refused: None,
            trouble: None,
            shut_out: 0,
            stood: None,
            acl: None,
            elsewhere: false,
            is_complete: false,
        }
    }

    pub fn attr(&self) -> &Attr {
        &self.known.attr
    }

    pub fn object(&self) -> &Object {
        &self.known.object
    }

    /// What it is made with.
    pub fn made_with(&self, ctx: &Ctx<'_>) -> AttrChange {
        let all = decide::make(ctx.options, self.attr(), self.stood.as_ref());
        AttrChange { mode: all.mode.map(|mode| mode & !self.shut_out), ..all }
    }

    pub fn is_open(&self) -> bool {
        self.trouble.is_none() && !self.elsewhere && !self.is_complete
    }

    pub fn parent(&self) -> &Node {
        &self.known.object.dir.made().node
    }

    fn is_small(&self, ctx: &Ctx<'_>) -> bool {
        self.attr().kind == Kind::File && self.attr().size <= ctx.small_max
    }

    /// What is there and is written into rather than made anew.
    fn reused(&self, ctx: &Ctx<'_>) -> Option<(&Node, &Attr)> {
        let At::Present(Some(node), is) = &self.object().at else { return None };
        // Other names of a file may not be the source's.
        let alike = is.kind == Kind::File && self.attr().kind == Kind::File && is.nlink < 2;
        (alike && !ctx.options.atomic && !self.object().unlink).then_some((node, is))
    }

    /// A file that is not written into, but gives its place to another.
    pub fn replaced(&self, ctx: &Ctx<'_>) -> Option<(Node, Attr)> {
        let At::Present(Some(node), is) = &self.object().at else { return None };
        let alike = is.kind == Kind::File && self.attr().kind == Kind::File;
        (alike && self.reused(ctx).is_none()).then(|| (node.clone(), *is))
    }

    /// Does it get its name only when it is complete? So does what is to be like a file whose place it takes in more than the options carry:
    /// when a run is killed between REMOVE and CREATE nothing is left to tell the next one what that was like. RENAME costs what REMOVE does.
    fn is_aside(&self, ctx: &Ctx<'_>) -> bool {
        let keeps = |stood: &Attr| decide::keeps_of_old(ctx.options, self.attr(), stood);
        ctx.options.atomic || self.replaced(ctx).is_some_and(|(_, stood)| keeps(&stood))
    }
}

/// Makes the objects; each is over then, or has become another task.
pub(super) fn run(ctx: &Ctx<'_>, routes: Routes, items: Vec<Item>, due: &mut Vec<Due<Task>>) {
    if items.is_empty() {
        return;
    }
    let mut items = items;
    whole::run(ctx, routes, &mut items);
    let bytes = items.iter().filter(|item| item.is_open() && item.is_small(ctx)).map(|item| item.attr().size).sum();
    let Some(_permit) = ctx.crew.budget().acquire(bytes) else {
        items.retain(|item| item.is_complete);
        return complete::run(ctx, routes, items, due); // stopped: what is left is done by the next run
    };
    read_texts(ctx, routes, &mut items, due);
    fill::read_small(ctx, routes, &mut items, due);
    probe_large(ctx, routes, &mut items, due);
    stood::note(ctx, routes.target, &mut items);
    clear(ctx, routes, &mut items);
    make(ctx, routes, &mut items, due);
    for item in &mut items {
        if item.is_open() && item.attr().kind == Kind::File && !item.is_small(ctx) && item.data.is_empty() {
            big::begin(ctx, item, due);
        }
    }
    fill::write_small(ctx, routes, &mut items);
    complete::run(ctx, routes, items, due);
}

fn read_texts(ctx: &Ctx<'_>, routes: Routes, items: &mut [Item], due: &mut Vec<Due<Task>>) {
    let mut links: Vec<&mut Item> = items.iter_mut().filter(|item| item.attr().kind == Kind::Symlink).collect();
    let mut calls: Vec<Call<'_>> = links.iter().map(|item| Call::read_link(&item.known.node)).collect();
    ctx.source.perform(routes.source, &mut calls);
    for (item, call) in links.iter_mut().zip(calls) {
        match call.into_text() {
            Ok(text) => item.data = text,
            Err(status) if item.object().is_to_be_looked_up(status) => fill::begin_again(item, due),
            Err(status) => item.trouble = Some(Trouble::Call(On::Source, Proc::ReadLink, status)),
        }
    }
}

/// What is there is not given up for a large file that cannot be read: small ones have been read by now.
fn probe_large(ctx: &Ctx<'_>, routes: Routes, items: &mut [Item], due: &mut Vec<Due<Task>>) {
    let is_risked = |item: &Item| {
        let large = item.attr().kind == Kind::File && !item.is_small(ctx);
        large && item.is_open() && !item.is_aside(ctx) && !matches!(item.object().at, At::Absent)
    };
    let mut risked: Vec<&mut Item> = items.iter_mut().filter(|item| is_risked(item)).collect();
    let ranges: Vec<_> = risked.iter().map(|item| (item.known.node.clone(), 0, 1)).collect();
    let reads = fill::read_ranges(ctx.source, routes.source, &ranges, ctx.read_max);
    for (item, read) in risked.iter_mut().zip(reads) {
        match read {
            Ok(_) => {}
            Err(status) if item.object().is_to_be_looked_up(status) => {
                item.known.object.begun = true;
                fill::begin_again(item, due);
            }
            Err(status) => item.trouble = Some(Trouble::Call(On::Source, Proc::Read, status)),
        }
    }
}

/// Removes what is in the way and is neither written into nor renamed over.
fn clear(ctx: &Ctx<'_>, routes: Routes, items: &mut [Item]) {
    let in_the_way = |item: &Item| item.is_open() && !item.is_aside(ctx) && !matches!(item.object().at, At::Absent);
    let mut occupied: Vec<&mut Item> =
        items.iter_mut().filter(|item| in_the_way(item) && item.reused(ctx).is_none()).collect();
    let answers: Vec<_> = {
        let call = |item: &&mut Item| Call::remove(item.parent(), &item.known.object.name);
        let mut calls: Vec<Call<'_>> = occupied.iter().map(call).collect();
        ctx.target.perform(ctx.target.volume.route_replacing(routes.target), &mut calls);
        calls.iter().map(Call::status).collect()
    };
    for (item, answer) in occupied.iter_mut().zip(answers) {
        item.known.object.dir.touch();
        match answer {
            Ok(()) | Err(Status::NoEnt) => {}
            Err(status) => item.trouble = Some(Trouble::Call(On::Target, Proc::Remove, status)),
        }
    }
}

/// The call that makes or empties an object; none where what is there can be written into as it is.
fn making<'c>(ctx: &Ctx<'_>, item: &'c Item, name: &Name, owner: bool) -> Option<Call<'c>> {
    if let Some((node, is)) = item.reused(ctx) {
        let differs = decide::change(ctx.by(), item.attr(), is);
        // Who may read the new bytes is settled before they are written.
        let shut = (is.mode & item.shut_out != 0).then_some(is.mode);
        let change = AttrChange {
            size: (is.size > 0).then_some(0),
            mode: differs.mode.or(shut).map(|mode| mode & !decide::SET_ID & !item.shut_out),
            uid: differs.uid,
            gid: differs.gid,
            ..AttrChange::default()
        };
        return (!change.is_empty()).then(|| Call::set_attr(node, change));
    }
    let all = item.made_with(ctx);
    let change = if owner { all } else { AttrChange { uid: None, gid: None, ..all } };
    let parent = item.parent();
    let rdev = item.attr().rdev;
    let special = |special| Some(Call::mknod(parent, name, special, change));
    match item.attr().kind {
        Kind::File => Some(Call::create(parent, name, How::Guarded, change)),
        Kind::Symlink => Some(Call::symlink(parent, name, &item.data, change)),
        Kind::Char => special(Special::Char(rdev.0, rdev.1)),
        Kind::Block => special(Special::Block(rdev.0, rdev.1)),
        Kind::Fifo => special(Special::Fifo),
        Kind::Socket => special(Special::Socket),
        Kind::Dir => None,
    }
}

fn make(ctx: &Ctx<'_>, routes: Routes, items: &mut [Item], due: &mut Vec<Due<Task>>) {
    let names: Vec<Option<Name>> =
        items.iter().map(|item| item.is_aside(ctx).then(|| ctx.mark.aside(&item.known.object.name))).collect();
    for item in items.iter_mut().filter(|item| item.is_open()) {
        item.shut_out = match item.reused(ctx) {
            Some((node, _)) => xattrs::shut_out_of(ctx, routes.target, (&item.known.node, node), item.attr()),
            None => {
                let inherits = item.object().dir.made().inherits;
                let mode = decide::mode(ctx.options, item.attr(), item.stood.as_ref());
                xattrs::shut_out_of_new(ctx, (&item.known.node, item.attr()), mode, inherits)
                    | stood::shut_out(ctx, item)
            }
        };
    }
    let mut asked = Vec::new();
    let outs: Vec<_> = {
        let mut calls: Vec<Call<'_>> = Vec::new();
        for (i, item) in items.iter().enumerate().filter(|(_, item)| item.is_open()) {
            let name = names[i].as_ref().unwrap_or(&item.known.object.name);
            if let Some(call) = making(ctx, item, name, true) {
                asked.push(i);
                calls.push(call);
            }
        }
        ctx.target.perform(routes.target, &mut calls);
        calls.iter().map(|call| outcome(ctx, routes, call)).collect()
    };
    for (item, aside) in items.iter_mut().zip(names).filter(|(item, _)| item.is_open()) {
        let shut_out = item.shut_out != 0;
        if let Some((node, is)) = item.reused(ctx) {
            let node = node.clone();
            item.known.object.dir.fill();
            let (fileid, owner) = (Some(is.fileid), Some((is.uid, is.gid)));
            item.made = Some(Made { fileid, owner, shut_out, existed: true, aside, ..Made::new(node, Stage::Due) });
        } else {
            let nowhere = item.known.node.clone();
            item.made = Some(Made { shut_out, aside, ..Made::new(nowhere, Stage::Due) });
        }
    }
    for (i, out) in asked.into_iter().zip(outs) {
        let out = without_shutting(ctx, routes, &mut items[i], out);
        settle(ctx, routes, &mut items[i], out, due);
    }
    reach(items, Stage::Begun);
    give_owners(ctx, routes, items);
    let open = items.iter().filter(|item| item.is_open());
    let made = open.filter_map(|item| {
        let made = item.made.as_ref()?;
        Some(((item.attr(), item.stood.as_ref()), &made.node, made.owner))
    });
    let owners = groups::give_new(ctx, routes.target, made);
    let open = items.iter_mut().filter(|item| item.is_open());
    for (made, owner) in open.filter_map(|item| item.made.as_mut()).zip(owners) {
        made.owner = owner;
    }
    stood::settle(ctx, routes.target, items);
}

/// Sets the owners that the server left out without a word: before there are bytes that another may read, and before attributes that
/// giving a file away takes.
fn give_owners(ctx: &Ctx<'_>, routes: Routes, items: &mut [Item]) {
    let (mut due, mut changes) = (Vec::new(), Vec::new());
    let left_out = |item: &Item| {
        let made = item.made.as_ref().filter(|made| item.is_open() && !made.existed && !made.owner_refused);
        let (uid, gid) = item.made_with(ctx).not_given(made.and_then(|made| made.owner));
        AttrChange { uid, gid, ..AttrChange::default() }
    };
    if ctx.owners_refused.load(Ordering::Relaxed) {
        for item in items.iter_mut().filter(|item| left_out(item).gives_away()) {
            item.made.iter_mut().for_each(|made| made.owner_refused = true);
        }
        return;
    }
    for (i, item) in items.iter().enumerate() {
        let (Some(made), change @ AttrChange { uid, gid, .. }) = (&item.made, left_out(item)) else { continue };
        if change.gives_away() {
            let owner = made.owner.map(|(is, group)| (uid.unwrap_or(is), gid.unwrap_or(group)));
            due.push((i, owner));
            changes.push((&made.node, change));
        }
    }
    let ends = attributes::set(ctx, routes.target, &changes);
    for ((i, owner), end) in due.into_iter().zip(ends) {
        let item = &mut items[i];
        match (end, &mut item.made) {
            (Ok(Owned::Given), Some(made)) => made.owner = owner,
            (Ok(owned), Some(made)) => {
                made.owner_refused = true;
                ctx.owners_refused.fetch_or(owned == Owned::Refused, Ordering::Relaxed);
            }
            // Of this one alone: a symbolic link, an id that is not known there.
            (Err(Status::Access | Status::Inval | Status::NotSupp), Some(made)) => made.owner_refused = true,
            (Err(status), _) => item.trouble = Some(Trouble::Call(On::Target, Proc::SetAttr, status)),
            (Ok(_), None) => {}
        }
    }
}

/// Those with which all is well are that far.
pub(super) fn reach(items: &mut [Item], stage: Stage) {
    let open = items.iter_mut().filter(|item| item.is_open());
    open.filter_map(|item| item.made.as_mut()).for_each(|made| made.stage = stage);
}

/// What a call that makes or empties came to: the new object, if it is one, and whether its owner was refused.
type Outcome = Result<(Option<Found>, bool), (Proc, Status)>;

fn outcome(ctx: &Ctx<'_>, routes: Routes, call: &Call<'_>) -> Outcome {
    let failed = |status| (call.proc(), status);
    if call.proc() == Proc::SetAttr {
        return owner_aside(ctx, routes.target, call, false).map(|owned| (None, !owned.is_given())).map_err(failed);
    }
    let found = call.found().map_err(failed)?;
    Ok((Some(found), false))
}

/// Another's file that may be written: its mode is not the caller's to set, nor its ACL.
fn without_shutting(ctx: &Ctx<'_>, routes: Routes, item: &mut Item, out: Outcome) -> Outcome {
    let Some((_, is)) = item.reused(ctx) else { return out };
    let is_refused = matches!(out, Err((Proc::SetAttr, Status::Perm | Status::Access)));
    if !is_refused || item.shut_out == 0 || decide::change(ctx.by(), item.attr(), is).mode.is_some() {
        return out;
    }
    item.shut_out = 0;
    item.made.iter_mut().for_each(|made| made.shut_out = false);
    let name = item.known.object.name.clone();
    match making(ctx, item, &name, true) {
        Some(call) => outcome(ctx, routes, &ctx.target.one(routes.target, call)),
        None => Ok((None, false)),
    }
}

fn settle(ctx: &Ctx<'_>, routes: Routes, item: &mut Item, out: Outcome, due: &mut Vec<Due<Task>>) {
    let gives_away = item.made_with(ctx).gives_away();
    let (mut out, mut owner, mut cleared) = (out, true, false);
    loop {
        match out {
            Ok((made, refused)) => {
                let asked = item.made_with(ctx).mode;
                if let Some(is) = &mut item.made {
                    is.owner_refused = refused || !owner;
                    if let Some(Found { node, attr }) = made {
                        (is.node, is.fileid) = (node, attr.map(|attr| attr.fileid));
                        is.owner = attr.map(|attr| (attr.uid, attr.gid));
                        is.other_mode = attr.zip(asked).is_some_and(|(is, mode)| is.mode != mode);
                        item.known.object.dir.gain();
                    }
                }
                return;
            }
            // Not root, or root that the server squashes. A server may make an object before it refuses its owner.
            Err((proc, Status::Perm)) if owner && gives_away && proc != Proc::SetAttr => owner = false,
            // Made already: by a call that was sent again, or that then refused its owner.
            Err((_, Status::Exist)) if item.made.as_ref().is_some_and(|made| made.aside.is_some()) && !cleared => {
                cleared = true;
            }
            Err(error) => return fail(ctx, item, error, due),
        }
        out = remake(ctx, routes, item, owner);
    }
}

/// Makes it once more, after what may be there was removed.
fn remake(ctx: &Ctx<'_>, routes: Routes, item: &Item, owner: bool) -> Outcome {
    let name = item.made.as_ref().and_then(|made| made.aside.as_ref()).unwrap_or(&item.known.object.name).clone();
    let removed = ctx.target.one(routes.target, Call::remove(item.parent(), &name)).status();
    if let Err(status) = removed
        && status != Status::NoEnt
    {
        return Err((Proc::Remove, status));
    }
    match making(ctx, item, &name, owner) {
        Some(call) => outcome(ctx, routes, &ctx.target.one(routes.target, call)),
        None => Err((Proc::Create, Status::ServerFault)),
    }
}

/// What is in the way is looked at, and what cannot be written into is removed, in another try.
fn fail(ctx: &Ctx<'_>, item: &mut Item, (proc, status): (Proc, Status), due: &mut Vec<Due<Task>>) {
    const TXTBSY: Status = Status::Errno(26);
    let trouble = Trouble::Call(On::Target, proc, status);
    let unlink = proc == Proc::SetAttr && matches!(status, Status::Access | Status::Perm | TXTBSY);
    let again = status == Status::Exist || (unlink && !item.known.object.unlink);
    if !again {
        item.trouble = Some(trouble);
        return;
    }
    let placeholder = placeholder(&item.known.object);
    let object = std::mem::replace(&mut item.known.object, placeholder);
    let appeared = status == Status::Exist && matches!(object.at, At::Absent);
    batch::retry(ctx, Box::new(Object { unlink, appeared, ..*object }), trouble, due);
    item.elsewhere = true;
}

/// What is left of an object that went elsewhere; nobody looks at it.
pub(super) fn placeholder(object: &Object) -> Box<Object> {
    Object::new(&object.dir, object.name.clone(), None, At::Ask)
}
