//! Small files that are new at the target, copied whole by the storage where it can: in one step each. Whatever is unusual about a file,
//! and whatever goes wrong, is left to the longer way, which begins anew and tells.
//!
//! Of a directory that is new at the target the files are not even looked at when they are listed: what a file is comes with
//! opening it, right before it is copied. So its attributes are asked for once rather than twice, while the kernel has them at hand, and
//! what waits of it is a name. Where nobody has to see each of them, storage copies those of a task by one call.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::base::{Name, Status};
use crate::crew::Due;
use crate::storage::{
    Attr, AttrChange, Beyond, Call, Copied, Entry, Kind, Left, Lent, Mount, Node, Op, Out, Route, Rule, Want,
};

use super::batch::Routes;
use super::ctx::{Ctx, add};
use super::dir::Dir;
use super::make::{Item, Made, Stage};
use super::task::{At, Object, Task};
use super::{Deed, Sparse, Verify, decide, fill, groups, visit};

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
    let options = ctx.options;
    !refused && !in_vain && options.verify == Verify::Off && !options.atomic && options.sparse != Sparse::Always
}

/// Which files are copied whole: small ones that need nothing but bytes, owner, mode and times. Of those with several names only
/// where that is `known`.
fn rule(ctx: &Ctx<'_>, known: bool) -> Rule {
    let keep = &ctx.options.preserve;
    Rule {
        size_max: ctx.small_max,
        hole_min: if ctx.options.sparse == Sparse::Never { u64::MAX } else { fill::HOLE_BYTES_MIN as u64 },
        alone: keep.hard_links && !known,
        bare: ctx.xattrs,
        mode_mask: if keep.mode { 0o7777 } else { 0o777 & !ctx.options.umask },
        masked: (!decide::is_exact(ctx.options)).then_some(0o777 & ctx.options.umask),
        uid: keep.uid,
        gid: keep.gid,
        groups: groups::open(ctx),
        times: keep.times,
    }
}

/// What a listing of the source's directory is to bring.
pub(super) fn want(ctx: &Ctx<'_>, dir: &Dir, is_new: bool) -> Want {
    let inherits = ctx.xattrs && dir.made().inherits;
    let made_up = || ctx.is_made_up(&dir.source, &dir.attr);
    let by_name = is_new && !inherits && !ctx.later && is_possible(ctx) && !made_up();
    // Without handles alone: there a listing's attributes are a call for each name.
    if by_name && matches!(dir.source, Node::Chain(_)) { Want::Types } else { Want::Attributes }
}

/// Takes the files that were listed by name out of what is new in a directory; each is a part of a task then.
pub(super) fn gather(ctx: &Ctx<'_>, dir: &Arc<Dir>, new: Vec<Entry>, due: &mut Vec<Due<Task>>) -> Vec<Entry> {
    let is_file = |entry: &Entry| entry.attr.is_none() && entry.kind == Some(Kind::File);
    if !new.iter().any(is_file) {
        return new;
    }
    let (mut files, mut others) = (Vec::with_capacity(new.len()), new);
    // In their place: entries are large, and files are most of them.
    others.retain(|entry| {
        let is_file = is_file(entry);
        if is_file {
            files.push(entry.name.clone());
        }
        !is_file
    });
    let mut files = files.into_iter().filter(|name| !visit::is_left_out(ctx, dir, name, Some(Kind::File)));
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
    let route = ctx.target.route();
    let lent =
        if ctx.bulk && !ctx.is_stopped() && is_possible(ctx) { ctx.source.volume.lend_dir(&dir.source) } else { None };
    let (names, copied) = match lent {
        Some(lent) => at_once(ctx, route, lent, &dir, names),
        None => one_by_one(ctx, route, &dir, names),
    };
    let files = copied.files();
    for counter in [&ctx.counts.objects, &ctx.live.objects, &ctx.counts.files] {
        add(counter, files);
    }
    for counter in [&ctx.counts.bytes, &ctx.live.bytes] {
        add(counter, copied.bytes);
    }
    if files > 0 {
        dir.gain();
    }
    let mut names = names.into_iter();
    let mut left = copied.left.into_iter().peekable();
    for (at, name) in names.by_ref().take(copied.seen).enumerate() {
        let Some(Left { attr, tried, .. }) = left.next_if(|left| left.at == at) else {
            ctx.tell(Deed::Made, &dir, Some(&name));
            continue;
        };
        dir.hold(1);
        let source = child(&dir, &name).zip(attr);
        let object = Object { refused: tried, ..*Object::new(&dir, name, source, At::Absent) };
        due.push(Task::Object(Box::new(object)).due());
    }
    let names: Vec<Name> = names.collect();
    if names.is_empty() {
        dir.leave(due);
    } else {
        // If the run is stopped they are counted among what was not begun, and the directory is not finished.
        due.push(Task::Files(Files { dir, names }).due());
    }
}

fn child(dir: &Dir, name: &Name) -> Option<Node> {
    let Node::Chain(source) = &dir.source else { return None };
    Some(Node::child(source, name.clone()))
}

/// By one call.
fn at_once(ctx: &Ctx<'_>, route: Route, lent: Lent, dir: &Dir, names: Vec<Name>) -> (Vec<Name>, Copied) {
    let call = Call::copy_files(lent, names, rule(ctx, false), &dir.made().node);
    let Op::Beyond(Beyond::CopyFiles { names, out, .. }) = ctx.target.one(route, call).op else {
        unreachable!("a call stays what it is")
    };
    let copied = out.unwrap_or_else(|_| {
        let left = (0..names.len()).map(|at| Left { at, attr: None, tried: true });
        Copied { seen: names.len(), bytes: 0, left: left.collect() }
    });
    note(ctx, copied.files() > 0, copied.failed());
    (names, copied)
}

/// By a call for each, for who has to see each.
fn one_by_one(ctx: &Ctx<'_>, route: Route, dir: &Dir, names: Vec<Name>) -> (Vec<Name>, Copied) {
    let rule = rule(ctx, false);
    let mut copied = Copied::default();
    for (at, name) in names.iter().enumerate() {
        if ctx.is_stopped() {
            break;
        }
        copied.seen = at + 1;
        let known = open(ctx, dir, name);
        let change = |attr: &Attr| if is_possible(ctx) { rule.change(attr) } else { None };
        let usual = known.as_ref().and_then(|(attr, lent)| Some((attr, lent, change(attr)?)));
        match usual.map(|(attr, lent, change)| copy(ctx, route, (attr, lent), (dir, name), change).map(|_| attr.size)) {
            Some(Ok(bytes)) => copied.bytes += bytes,
            tried => copied.left.push(Left { at, attr: known.map(|(attr, _)| attr), tried: tried.is_some() }),
        }
    }
    (names, copied)
}

/// A file of the source, open, and what it was then; none where the longer way has to find out why.
fn open(ctx: &Ctx<'_>, dir: &Dir, name: &Name) -> Option<(Attr, Lent)> {
    let lent = ctx.source.volume.lend(&child(dir, name)?)?;
    Some((lent.attr?, lent))
}

/// Copies what it can of `items`, and marks those as made.
pub(super) fn run(ctx: &Ctx<'_>, routes: Routes, items: &mut [Item]) {
    if !is_possible(ctx) {
        return;
    }
    let rule = rule(ctx, true);
    for item in items.iter_mut() {
        let object = item.object();
        if !matches!(object.at, At::Absent) || object.refused || (ctx.xattrs && object.dir.made().inherits) {
            continue;
        }
        let Some(change) = rule.change(item.attr()) else { continue };
        if ctx.is_made_up(&item.known.node, item.attr()) {
            continue;
        }
        if ctx.is_stopped() {
            return;
        }
        let Some(lent) = ctx.source.volume.lend(&item.known.node) else { continue };
        let to = (&*object.dir, &object.name);
        if let Ok((node, fileid)) = copy(ctx, routes.target, (item.attr(), &lent), to, change) {
            to.0.gain();
            add(&ctx.live.bytes, item.attr().size);
            item.made = Some(Made { fileid: Some(fileid), ..Made::new(node, Stage::Filled) });
            item.is_complete = true;
        }
    }
}

fn copy(
    ctx: &Ctx<'_>,
    route: Route,
    (attr, lent): (&Attr, &Lent),
    (dir, name): (&Dir, &Name),
    change: AttrChange,
) -> Out<(Node, u64)> {
    let call = Call::copy_file(lent.clone(), attr.into(), ctx.xattrs, &dir.made().node, name, change);
    let Op::Beyond(Beyond::CopyFile { out, .. }) = ctx.target.one(route, call).op else {
        return Err(Status::ServerFault);
    };
    note(ctx, out.is_ok(), u64::from(out.is_err()));
    out
}

/// Whether it is of use to try further is known by the refusals since the last copy.
fn note(ctx: &Ctx<'_>, any: bool, refused: u64) {
    if any {
        ctx.whole_refused.store(0, Ordering::Relaxed);
    }
    ctx.whole_refused.fetch_add(u32::try_from(refused).unwrap_or(u32::MAX), Ordering::Relaxed);
}
