//! Small files that are new at the target, copied whole by the storage where it can: in one step each. Whatever is unusual about a file,
//! and whatever goes wrong, is left to the longer way, which begins anew and tells.
//!
//! Of a directory that is new at the target the files are not even looked at when they are listed: what a file is comes with
//! opening it, right before it is copied. So its attributes are asked for once rather than twice, while the kernel has them at hand, and
//! what waits of it is a name.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::base::{Name, Status};
use crate::crew::Due;
use crate::storage::{Attr, AttrChange, Beyond, Call, Entry, Kind, Lent, Mount, Node, Op, Out, Route, Want};

use super::batch::Routes;
use super::ctx::{Ctx, add};
use super::dir::Dir;
use super::make::{Item, Made};
use super::task::{At, Object, Task};
use super::{Deed, Sparse, Verify, decide, fill, visit};

/// Files of a directory that are one task: enough that lanes meet at the agenda seldom, few enough that each lane has some of
/// what a page of a listing brings.
const TOGETHER: usize = 32;

/// Refusals one after the other until no more is tried: where each file has a label of SELinux, say, or a caller who may not give
/// files away.
const REFUSALS_MAX: u32 = 64;

/// Files by name, of a directory that is new at the target.
pub(super) struct Files {
    dir: Arc<Dir>,
    names: Vec<Name>,
}

impl Files {
    pub fn depth(&self) -> u32 {
        self.dir.depth() + 1
    }
}

/// May files be copied whole in this run?
fn is_possible(ctx: &Ctx<'_>) -> bool {
    let refused = ctx.copies_refused.load(Ordering::Relaxed) || ctx.xattrs_watched.load(Ordering::Relaxed);
    let in_vain = ctx.whole_refused.load(Ordering::Relaxed) >= REFUSALS_MAX;
    !refused && !in_vain && ctx.options.verify == Verify::Off && !ctx.options.atomic
}

/// What a listing of the source's directory is to bring.
pub(super) fn want(ctx: &Ctx<'_>, dir: &Dir, is_new: bool) -> Want {
    let inherits = ctx.xattrs && dir.made().inherits;
    let by_name = is_new && !inherits && !ctx.later && is_possible(ctx) && ctx.options.sparse != Sparse::Always;
    // Without handles alone: there a listing's attributes are a call for each name.
    if by_name && matches!(dir.source, Node::Chain(_)) { Want::Types } else { Want::Attributes }
}

/// Takes the files that were listed by name out of what is new in a directory; each is a part of a task then.
pub(super) fn gather(ctx: &Ctx<'_>, dir: &Arc<Dir>, new: Vec<Entry>, due: &mut Vec<Due<Task>>) -> Vec<Entry> {
    let is_file = |entry: &Entry| entry.attr.is_none() && entry.kind == Some(Kind::File);
    if !new.iter().any(is_file) {
        return new;
    }
    let (files, others): (Vec<Entry>, Vec<Entry>) = new.into_iter().partition(is_file);
    let names = files.into_iter().map(|entry| entry.name);
    let mut files = names.filter(|name| !visit::is_left_out(ctx, dir, name, Some(Kind::File)));
    loop {
        let names: Vec<Name> = files.by_ref().take(TOGETHER).collect();
        if names.is_empty() {
            return others;
        }
        dir.hold(1);
        due.push(Task::Files(Files { dir: dir.clone(), names }).due());
    }
}

/// Copies files that were gathered; what it cannot copy becomes an object.
pub(super) fn copy_files(ctx: &Ctx<'_>, files: Files, due: &mut Vec<Due<Task>>) {
    let Files { dir, names } = files;
    let target = ctx.target.route();
    let (mut copied, mut bytes) = (0, 0);
    let mut names = names.into_iter();
    while !ctx.is_stopped()
        && let Some(name) = names.next()
    {
        let known = open(ctx, &dir, &name);
        let is_to_be = |attr: &Attr| is_possible(ctx) && is_usual(ctx, attr, &dir) && !is_linked(ctx, attr);
        let usual = known.as_ref().filter(|(_, attr, _)| is_to_be(attr));
        let done = usual.filter(|(_, attr, lent)| copy(ctx, target, (attr, lent), (&dir, &name)).is_ok());
        if let Some((_, attr, _)) = done {
            (copied, bytes) = (copied + 1, bytes + attr.size);
            ctx.tell(Deed::Made, &dir, Some(&name));
            continue;
        }
        dir.hold(1);
        let refused = usual.is_some();
        let source = known.map(|(node, attr, _)| (node, attr));
        let object = Object { refused, ..*Object::new(&dir, name, source, At::Absent) };
        due.push(Task::Object(Box::new(object)).due());
    }
    for counter in [&ctx.counts.objects, &ctx.live.objects, &ctx.counts.files] {
        add(counter, copied);
    }
    add(&ctx.counts.bytes, bytes);
    let left: Vec<Name> = names.collect();
    if left.is_empty() {
        dir.leave(due);
    } else {
        // Stopped: counted among what was not begun, and the directory is not finished.
        due.push(Task::Files(Files { dir, names: left }).due());
    }
}

/// A file of the source, open, and what it was then; none where the longer way has to find out why.
fn open(ctx: &Ctx<'_>, dir: &Dir, name: &Name) -> Option<(Node, Attr, Lent)> {
    let Node::Chain(source) = &dir.source else { return None };
    let node = Node::child(source, name.clone());
    let lent = ctx.source.volume.lend(&node)?;
    Some((node, lent.attr?, lent))
}

/// Copies what it can of `items`, and marks those as made.
pub(super) fn run(ctx: &Ctx<'_>, routes: Routes, items: &mut [Item]) {
    if !is_possible(ctx) {
        return;
    }
    let is_new = |item: &Item| matches!(item.object().at, At::Absent) && !item.object().refused;
    for item in items.iter_mut().filter(|item| is_new(item) && is_usual(ctx, item.attr(), &item.object().dir)) {
        if ctx.is_stopped() {
            return;
        }
        let Some(lent) = ctx.source.volume.lend(&item.known.node) else { continue };
        let to = (&*item.known.object.dir, &item.known.object.name);
        if let Ok((node, fileid)) = copy(ctx, routes.target, (item.attr(), &lent), to) {
            item.made = Some(Made { node, fileid: Some(fileid), existed: false, owner_refused: false, aside: None });
            item.is_complete = true;
        }
    }
}

/// True for a small file that needs nothing but its bytes, owner, mode and times.
fn is_usual(ctx: &Ctx<'_>, attr: &Attr, dir: &Dir) -> bool {
    attr.kind == Kind::File
        && attr.size <= ctx.small_max
        && attr.mode & 0o7000 == 0
        && fill::hole_min(ctx, attr).is_none()
        && !(ctx.xattrs && dir.made().inherits)
}

/// True for a file of which other names may be met.
fn is_linked(ctx: &Ctx<'_>, attr: &Attr) -> bool {
    attr.nlink > 1 && ctx.options.preserve.hard_links
}

fn copy(ctx: &Ctx<'_>, route: Route, (attr, lent): (&Attr, &Lent), (dir, name): (&Dir, &Name)) -> Out<(Node, u64)> {
    let made = decide::make(ctx.options, attr);
    let times = decide::times(ctx.options, attr);
    let change = AttrChange { atime: times.atime, mtime: times.mtime, ..made };
    let call = Call::copy_file(lent.clone(), attr.into(), ctx.xattrs, &dir.made().node, name, change);
    let Op::Beyond(Beyond::CopyFile { out, .. }) = ctx.target.one(route, call).op else {
        return Err(Status::ServerFault);
    };
    if out.is_ok() {
        dir.touch();
        add(&ctx.live.bytes, attr.size);
        ctx.whole_refused.store(0, Ordering::Relaxed);
    } else {
        ctx.whole_refused.fetch_add(1, Ordering::Relaxed);
    }
    out
}
