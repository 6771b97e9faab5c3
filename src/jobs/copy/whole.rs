//! Small files that are new at the target, copied whole by the storage where it can: in one step each. Whatever is unusual about a file,
//! and whatever goes wrong, is left to the longer way, which begins anew and tells.

use std::sync::atomic::Ordering;

use crate::storage::{AttrChange, Beyond, Call, Kind, Mount, Op};

use super::Verify;
use super::batch::Routes;
use super::ctx::{Ctx, add};
use super::decide;
use super::fill;
use super::make::{Item, Made};
use super::task::At;

/// Copies what it can of `items`, and marks those as made.
pub(super) fn run(ctx: &Ctx<'_>, routes: Routes, items: &mut [Item]) {
    let refused = ctx.copies_refused.load(Ordering::Relaxed) || ctx.xattrs_watched.load(Ordering::Relaxed);
    if refused || ctx.options.verify != Verify::Off || ctx.options.atomic {
        return;
    }
    for item in items.iter_mut().filter(|item| is_usual(ctx, item)) {
        if ctx.is_stopped() {
            return;
        }
        copy(ctx, routes, item);
    }
}

/// True for a small file that nothing stands in the way of and that needs nothing but its bytes, owner, mode and times.
fn is_usual(ctx: &Ctx<'_>, item: &Item) -> bool {
    let attr = item.attr();
    attr.kind == Kind::File
        && attr.size <= ctx.small_max
        && attr.mode & 0o7000 == 0
        && matches!(item.object().at, At::Absent)
        && fill::hole_min(ctx, attr).is_none()
        && !(ctx.xattrs && item.object().dir.made().inherits)
}

fn copy(ctx: &Ctx<'_>, routes: Routes, item: &mut Item) {
    let Some(lent) = ctx.source.volume.lend(&item.known.node) else { return };
    let (attr, dir) = (item.known.attr, item.object().dir.clone());
    let made = decide::make(ctx.options, &attr);
    let times = decide::times(ctx.options, &attr);
    let change = AttrChange { atime: times.atime, mtime: times.mtime, ..made };
    let call = Call::copy_file(lent, (&attr).into(), ctx.xattrs, &dir.made().node, &item.object().name, change);
    if let Op::Beyond(Beyond::CopyFile { out: Ok((node, fileid)), .. }) = ctx.target.one(routes.target, call).op {
        dir.touch();
        add(&ctx.live.bytes, attr.size);
        item.made = Some(Made { node, fileid: Some(fileid), existed: false, owner_refused: false, aside: None });
        item.is_complete = true;
    }
}
