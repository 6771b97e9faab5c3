//! What the target alone has, and what is in the way: removed by the removal job's engine, within this run.
//!
//! A name goes only when the listings of its directory on both sides were complete, nothing of the source had failed until
//! then, and a LOOKUP in the source has said once more that it is not there.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use crate::base::{Proc, Status};
use crate::crew::{Agenda, Class, Due};
use crate::storage::{Call, Cookie, Entry, Kind, NO_PROGRESS, Want};

use super::super::remove::{Met, Root, Spares, Task as RemoveTask};
use super::aside;
use super::batch::{self, Known, Routes};
use super::ctx::{Ctx, On, Trouble, add};
use super::dir::Dir;
use super::fill;
use super::join::Alone;
use super::task::{At, Object, Task};
use super::visit::RESTARTS_MAX;

/// Names confirmed by one task.
const CHUNK: usize = 64;

/// What is told when a tree is gone.
#[derive(Clone)]
pub(super) enum Tag {
    /// A name that the target alone had in this directory.
    Extra(Arc<Dir>),
    /// This object takes its place.
    Replace(Arc<Mutex<Option<Box<Object>>>>),
}

/// A task of removal.
pub(super) enum Removal {
    /// Names that the target alone has.
    Extras(Arc<Dir>, Vec<Alone>),
    /// The target's directory is listed for such names, for they were too many to be kept.
    List(Arc<Dir>, Cookie),
    /// The engine's.
    Step(Due<RemoveTask<Tag>>),
}

impl Removal {
    /// Its class and depth.
    pub fn place(&self) -> (Class, u32) {
        match self {
            Removal::Extras(dir, _) => (Class::Work, dir.depth() + 1),
            Removal::List(dir, _) => (Class::List, dir.depth()),
            Removal::Step(due) => (due.class, due.depth),
        }
    }

    fn due(self) -> Due<Task> {
        Task::Remove(self).due()
    }
}

/// Is a directory of the target on another file system than the target's root is?
fn is_mounted_there(dir: &Dir) -> bool {
    let mut top = dir;
    while let Some((parent, _)) = top.parent() {
        top = parent;
    }
    let fsid = |dir: &Dir| dir.made().was.map(|was| was.fsid);
    fsid(top).zip(fsid(dir)).is_some_and(|(top, here)| top != here)
}

/// Is something in the target's directory spared? A source's own contents may be mapped into it, or another source's.
fn is_spared(ctx: &Ctx<'_>, dir: &Dir) -> bool {
    let Some(spare) = ctx.remover.spare else { return false };
    let spares = |dir: &Dir| {
        let made = dir.made();
        made.was.map_or(Spares::Nothing, |was| spare(&made.node, was.fsid, was.fileid))
    };
    dir.spared(spares) != Spares::Nothing
}

/// Begins to remove what the target alone has in a directory; true when there is something, after which it is finished
/// once more.
pub(super) fn sweep(ctx: &Ctx<'_>, dir: &Arc<Dir>, due: &mut Vec<Due<Task>>) -> bool {
    let mut extras = std::mem::take(&mut *dir.extras());
    extras.retain(|entry| !ctx.is_snapshot(On::Target, dir, &entry.name));
    if ctx.compares() {
        extras.retain(|entry| ctx.allows(On::Target, dir, &entry.name, entry.kind_told()));
    } else {
        if ctx.later {
            return false;
        }
        extras.retain(|entry| !dir.is_respelled(&entry.name));
        if ctx.options.delete.is_none_or(|delete| !delete.excluded) {
            extras.retain(|entry| ctx.allows(On::Target, dir, &entry.name, entry.kind_told()));
        }
        extras.retain(|entry| !aside::may_live(ctx, dir, entry));
        if ctx.options.delete.is_none() {
            if !extras.is_empty() && !is_spared(ctx, dir) {
                aside::remove_left(ctx, dir, &extras);
            }
            return false;
        }
    }
    let complete = ctx.compares() || ctx.options.delete.is_some();
    let relist = complete && dir.join().lossy && !dir.is_broken() && !dir.is_fresh();
    if extras.is_empty() && !relist {
        return false;
    }
    if !ctx.compares() && (dir.is_broken() || ctx.holds_back()) {
        add(&ctx.counts.held_back, extras.len() as u64);
        return false;
    }
    if ctx.options.one_file_system && !ctx.compares() && is_mounted_there(dir) {
        return false;
    }
    if !ctx.compares() && is_spared(ctx, dir) {
        let reason = "it is in a source or holds one, or cannot be told from that; nothing in it is deleted";
        ctx.fail(dir, None, Trouble::Refused(On::Target, reason.into()));
        return false;
    }
    dir.hold(1);
    while !extras.is_empty() {
        let some = extras.split_off(extras.len().saturating_sub(CHUNK));
        dir.hold(1);
        due.push(Removal::Extras(dir.clone(), some).due());
    }
    if relist {
        dir.hold(1);
        due.push(Removal::List(dir.clone(), Cookie::default()).due());
    }
    dir.leave(due);
    true
}

/// Carries out tasks of removal. Lanes that wait at `agenda` may begin what they led to before that is done.
pub(super) fn run(
    ctx: &Ctx<'_>,
    class: Class,
    removals: Vec<Removal>,
    due: &mut Vec<Due<Task>>,
    agenda: &Agenda<Task>,
) {
    let mut steps = Vec::new();
    for removal in removals {
        match removal {
            Removal::Step(step) => steps.push(step.task),
            Removal::Extras(dir, entries) => confirm(ctx, &dir, entries, due),
            Removal::List(dir, cookie) => list(ctx, &dir, cookie, due),
        }
    }
    if steps.is_empty() {
        return;
    }
    let (mut next, mut finished) = (Vec::new(), Vec::new());
    let early = |next: &mut Vec<Due<RemoveTask<Tag>>>| {
        if agenda.is_waited_at() {
            agenda.add(next.drain(..).map(|step| Removal::Step(step).due()));
        }
    };
    ctx.remover.step((class, None), &mut steps, &mut next, &mut finished, &early);
    settle(ctx, next, finished, due);
}

fn settle(ctx: &Ctx<'_>, next: Vec<Due<RemoveTask<Tag>>>, finished: Vec<(Tag, bool)>, due: &mut Vec<Due<Task>>) {
    due.extend(next.into_iter().map(|step| Removal::Step(step).due()));
    for (tag, gone) in finished {
        match tag {
            Tag::Extra(dir) => {
                // What stays has changed nothing in it.
                if gone {
                    dir.touch();
                }
                dir.leave(due);
            }
            Tag::Replace(object) => {
                let object = object.lock().expect("nothing panics while it takes this").take();
                let Some(mut object) = object else { continue };
                if gone {
                    object.dir.touch();
                    object.at = At::Absent;
                    due.push(Task::Object(object).due());
                } else {
                    // Why is told, unless the rules keep something in it.
                    let reason = "a directory is in its place, and not all in it was removed";
                    batch::give_up(ctx, object, Trouble::Refused(On::Target, reason.into()), due);
                }
            }
        }
    }
}

/// Removes the names that the source says once more it does not have.
fn confirm(ctx: &Ctx<'_>, dir: &Arc<Dir>, entries: Vec<Alone>, due: &mut Vec<Due<Task>>) {
    let route = ctx.source.route();
    let mut calls: Vec<Call<'_>> = entries.iter().map(|entry| Call::lookup(&dir.source, &entry.name)).collect();
    ctx.source.perform(route, &mut calls);
    let kind = |call: &Call<'_>| call.found_object().and_then(|found| found.attr.as_ref()).map(|attr| attr.kind);
    let answers: Vec<_> = calls.iter().map(|call| (call.status(), kind(call))).collect();
    drop(calls);
    let (mut next, mut finished) = (Vec::new(), Vec::new());
    for (entry, (answer, kind)) in entries.into_iter().zip(answers) {
        match answer {
            // Excluded names are there on both sides; they go when that was asked for.
            Ok(()) if ctx.allows(On::Source, dir, &entry.name, kind) => {} // it came meanwhile, and is copied by the next run
            Err(Status::NoEnt) if ctx.compares() => ctx.differs("only in the destination", dir, Some(&entry.name)),
            _ if ctx.holds_back() => add(&ctx.counts.held_back, 1),
            Err(Status::NoEnt) | Ok(()) => {
                dir.hold(1);
                let met = met(&entry);
                let root = root(ctx, dir, (&entry.name, &met), Tag::Extra(dir.clone()));
                ctx.remover.begin(root, met, dir.depth() + 1, &mut next, &mut finished);
            }
            Err(status) if ctx.is_gone(dir, status) => {}
            Err(status) => {
                add(&ctx.counts.held_back, u64::from(!ctx.compares()));
                ctx.fail(dir, Some(&entry.name), Trouble::Call(On::Source, Proc::Lookup, status));
            }
        }
    }
    settle(ctx, next, finished, due);
    dir.leave(due);
}

fn root(ctx: &Ctx<'_>, dir: &Dir, (name, met): (&crate::base::Name, &Met), tag: Tag) -> Root<Tag> {
    let mut shown = ctx.shown[On::Target as usize].to_vec();
    // A single object's own name ends it already.
    let skip = if ctx.single {
        shown.len().saturating_sub(name.as_bytes().len())
    } else {
        if shown.last() != Some(&b'/') {
            shown.push(b'/');
        }
        let skip = shown.len();
        shown.extend(dir.path_of(Some(name)));
        skip
    };
    // With `-x` nothing is removed of another file system either.
    let above = dir.made().was.map(|above| above.fsid);
    let fsid = above.filter(|_| ctx.options.one_file_system);
    let fs_root = above.zip(met.fsid).is_some_and(|(above, here)| above != here);
    let dir = dir.made().node.clone();
    Root { dir, name: Some(name.clone()), shown, skip, contents: false, fs_root, fsid, tag }
}

fn met(entry: &Entry) -> Met {
    Met::of(entry.kind, entry.node.clone(), entry.attr.as_ref())
}

/// A page of the target's directory, each name of which is asked of the source.
fn list(ctx: &Ctx<'_>, dir: &Arc<Dir>, from: Cookie, due: &mut Vec<Due<Task>>) {
    let call = Call::read_dir(&dir.made().node, from, Want::Attributes, ctx.page_bytes());
    let mut call = ctx.target.one(ctx.target.route(), call);
    match call.take_page() {
        Ok(page) if page.is_stuck(from) => {
            ctx.fail(dir, None, Trouble::Refused(On::Target, NO_PROGRESS.into()));
            dir.leave(due);
        }
        Ok(page) => {
            let excluded = ctx.options.delete.is_some_and(|delete| delete.excluded);
            let mut entries: Vec<Alone> = page.entries.into_iter().map(Box::new).collect();
            entries.retain(|entry| {
                !ctx.is_snapshot(On::Target, dir, &entry.name)
                    && (excluded || ctx.allows(On::Target, dir, &entry.name, entry.kind_told()))
                    && (ctx.compares() || !dir.is_respelled(&entry.name) && !aside::may_live(ctx, dir, entry))
            });
            if !page.end {
                dir.hold(1);
                due.push(Removal::List(dir.clone(), page.next).due());
            }
            confirm(ctx, dir, entries, due);
        }
        // What was asked of the source is gone, or stays for it: asking again changes nothing.
        Err(Status::BadCookie) if from != Cookie::default() && dir.join().target.restarts < RESTARTS_MAX => {
            dir.join().target.restarts += 1;
            due.push(Removal::List(dir.clone(), Cookie::default()).due());
        }
        Err(status) => {
            ctx.fail(dir, None, Trouble::Call(On::Target, call.proc(), status));
            dir.leave(due);
        }
    }
}

/// What `replace` does, where what is to take the directory's place has to be read yet: not for an object that cannot be.
pub(super) fn replace_unread(ctx: &Ctx<'_>, routes: Routes, known: Known, due: &mut Vec<Due<Task>>) {
    match probe(ctx, routes, &known) {
        Ok(()) => replace(ctx, known, due),
        Err((_, status)) if known.object.is_to_be_looked_up(status) => due.push(known.object.again().due()),
        Err((proc, status)) => batch::give_up(ctx, known.object, Trouble::Call(On::Source, proc, status), due),
    }
}

/// Can it be read? A file is asked for one byte; what size is told of one that is made up says nothing.
fn probe(ctx: &Ctx<'_>, routes: Routes, Known { node, attr, .. }: &Known) -> Result<(), (Proc, Status)> {
    match attr.kind {
        Kind::File if attr.size > 0 || ctx.is_made_up(node, attr) => {
            let reads = fill::read_ranges(ctx.source, routes.source, &[(node.clone(), 0, 1)], ctx.read_max);
            reads.into_iter().try_for_each(|read| read.map(drop)).map_err(|status| (Proc::Read, status))
        }
        Kind::Symlink => {
            let text = ctx.source.one(routes.source, Call::read_link(node)).into_text();
            text.map(drop).map_err(|status| (Proc::ReadLink, status))
        }
        _ => Ok(()),
    }
}

/// A directory is where the source has something else. An empty one goes; a full one only where deleting is asked for.
pub(super) fn replace(ctx: &Ctx<'_>, known: Known, due: &mut Vec<Due<Task>>) {
    let Known { mut object, node, attr } = known;
    let At::Present(there, is) = &object.at else { return };
    debug_assert_eq!(is.kind, Kind::Dir);
    let met = Met::of(None, there.clone(), Some(is));
    let dir = object.dir.clone();
    let name = object.name.clone();
    object.source = Some((node, attr));
    let is_mounted = ctx.options.one_file_system && is_mounted_there(&dir);
    let may = ctx.options.delete.is_some() && !ctx.holds_back() && !is_mounted;
    let is_spared = may && is_spared(ctx, &dir);
    if !may || is_spared {
        let call = ctx.target.one(ctx.target.route(), Call::rmdir(&dir.made().node, &name));
        match call.status() {
            Ok(()) | Err(Status::NoEnt) => {
                dir.touch();
                object.at = At::Absent;
                due.push(Task::Object(object).due());
            }
            Err(Status::NotEmpty | Status::Exist) => {
                let why = match ctx.options.delete {
                    _ if is_mounted => ", on another file system",
                    _ if is_spared => ", in what is a source or holds one, or cannot be told from that",
                    Some(_) => "; nothing is deleted once something of the source could not be read",
                    None => "; --delete replaces it",
                };
                let reason = format!("is a directory that is not empty where the source has something else{why}");
                batch::give_up(ctx, object, Trouble::Refused(On::Target, reason), due);
            }
            Err(status) => batch::give_up(ctx, object, Trouble::Call(On::Target, Proc::RmDir, status), due),
        }
        return;
    }
    let tag = Tag::Replace(Arc::new(Mutex::new(Some(object))));
    let (mut next, mut finished) = (Vec::new(), Vec::new());
    ctx.remover.begin(root(ctx, &dir, (&name, &met), tag), met, dir.depth() + 1, &mut next, &mut finished);
    settle(ctx, next, finished, due);
}

impl Ctx<'_> {
    /// True when errors of the source keep everything from being deleted.
    pub fn holds_back(&self) -> bool {
        let despite = self.options.delete.is_some_and(|delete| delete.despite_errors);
        self.source_failed.load(Ordering::Relaxed) && !despite
    }
}
