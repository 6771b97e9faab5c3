//! Small files that are new at the target, copied whole by the storage where it can: in one step each. Whatever is unusual about a file,
//! and whatever goes wrong, is left to the longer way, which begins anew and tells.

use std::sync::atomic::Ordering;

use crate::storage::{AttrChange, Beyond, Call, Kind, Mount, Op};

use super::Verify;
use super::batch::{Known, Routes};
use super::ctx::{Ctx, add};
use super::decide;
use super::fill;
use super::make::{Item, Made};
use super::task::At;

/// Is any file copied in this way?
pub(super) fn is_possible(ctx: &Ctx<'_>) -> bool {
    let refused = ctx.copies_refused.load(Ordering::Relaxed) || ctx.xattrs_watched.load(Ordering::Relaxed);
    !refused && ctx.options.verify == Verify::Off && !ctx.options.atomic
}

/// Copies what it can of `items`, and marks those as made. What has no other names was tried before it became an item.
pub(super) fn run(ctx: &Ctx<'_>, routes: Routes, items: &mut [Item]) {
    if !is_possible(ctx) {
        return;
    }
    for item in items.iter_mut().filter(|item| ctx.is_linked(item.attr())) {
        item.made = copy(ctx, routes, &item.known);
        item.is_complete = item.made.is_some();
    }
}

/// True for a small file that nothing stands in the way of and that needs nothing but its bytes, owner, mode and times.
fn is_usual(ctx: &Ctx<'_>, Known { object, attr, .. }: &Known) -> bool {
    attr.kind == Kind::File
        && attr.size <= ctx.small_max
        && attr.mode & 0o7000 == 0
        && matches!(object.at, At::Absent)
        && fill::hole_min(ctx, attr).is_none()
        && !(ctx.xattrs && object.dir.made().inherits)
}

/// Copies a file where that is possible in this way and the run is not stopped.
pub(super) fn copy(ctx: &Ctx<'_>, routes: Routes, known: &Known) -> Option<Made> {
    if !is_usual(ctx, known) || ctx.is_stopped() {
        return None;
    }
    let lent = ctx.source.volume.lend(&known.node)?;
    let (attr, object) = (&known.attr, &known.object);
    let made = decide::make(ctx.options, attr);
    let times = decide::times(ctx.options, attr);
    let change = AttrChange { atime: times.atime, mtime: times.mtime, ..made };
    let call = Call::copy_file(lent, attr.into(), ctx.xattrs, &object.dir.made().node, &object.name, change);
    let done = ctx.target.one(routes.target, call);
    let Op::Beyond(Beyond::CopyFile { out: Ok((node, fileid)), .. }) = done.op else { return None };
    object.dir.touch();
    add(&ctx.live.bytes, attr.size);
    Some(Made { node, fileid: Some(fileid), existed: false, owner_refused: false, aside: None })
}
