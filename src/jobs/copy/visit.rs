//! Directories: entered (made or found at the target), then listed on both sides, page against page.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::base::{Name, Status};
use crate::crew::Due;
use crate::storage::{Attr, Call, Cookie, Entry, Found, Kind, NO_PROGRESS, Route, Want};

use super::Compare;
use super::aside;
use super::ctx::{Ctx, On, Trouble, add};
use super::decide::{self, Verdict};
use super::dir::Dir;
use super::enter;
use super::groups;
use super::join::{Join, Pair};
use super::task::{At, Object, Task};
use super::whole;

/// How often a listing begins anew.
pub(super) const RESTARTS_MAX: u8 = 3;

/// Enters the directories that are new and lists a page of each.
pub(super) fn run(ctx: &Ctx<'_>, new: Vec<Arc<Dir>>, listed: Vec<Arc<Dir>>, due: &mut Vec<Due<Task>>) {
    let routes = (ctx.source.route(), ctx.target.route());
    let mut dirs = listed;
    for dir in enter::run(ctx, routes.1, new, due) {
        let is_other = ctx.options.one_file_system && ctx.is_other_fs(&dir.attr);
        if is_other || dir.is_partial() {
            dir.break_off();
            dir.leave(due);
            continue;
        }
        dir.join().target.end = dir.is_fresh();
        dirs.push(dir);
    }
    let mut pages: Vec<Paired> = dirs.iter().map(|_| Paired::default()).collect();
    list_source(ctx, routes.0, &dirs, &mut pages);
    list_target(ctx, routes.1, &dirs, &mut pages);
    for (dir, Paired { new, pairs }) in dirs.iter().zip(pages) {
        for entry in look_at(ctx, routes.0, dir, whole::gather(ctx, dir, new, due)) {
            dispatch(ctx, dir, entry, At::Absent, due);
        }
        for (entry, there) in pairs {
            match there {
                Some(there) if goes_excluded(ctx, dir, &entry) => dir.join().keeps_extra(there),
                there => dispatch(ctx, dir, entry, At::of(there), due),
            }
        }
        go_on(ctx, dir, due);
    }
}

/// What pages of a directory's two sides brought.
#[derive(Default)]
struct Paired {
    /// Entries of the source, of which the target, a directory just made, has none.
    new: Vec<Entry>,
    pairs: Vec<Pair>,
}

/// Is this side to be listed on?
fn is_open(join: &Join, on: On) -> bool {
    let listing = if on == On::Source { &join.source } else { &join.target };
    !listing.end && !join.rests()
}

fn list_source(ctx: &Ctx<'_>, route: Route, dirs: &[Arc<Dir>], pages: &mut [Paired]) {
    let open: Vec<usize> = (0..dirs.len()).filter(|&i| is_open(&dirs[i].join(), On::Source)).collect();
    let page = |dir: &Dir| {
        let join = dir.join();
        let want = whole::want(ctx, dir, dir.is_fresh() && !join.lossy);
        Call::read_dir(&dir.source, join.source.next, want, ctx.page_bytes())
    };
    let mut calls: Vec<Call<'_>> = open.iter().map(|&i| page(&dirs[i])).collect();
    ctx.source.perform(route, &mut calls);
    for (i, call) in open.into_iter().zip(&mut calls) {
        let dir = &dirs[i];
        let mut join = dir.join();
        match call.take_page() {
            Ok(page) if page.is_stuck(join.source.next) => {
                join.source.end = true;
                drop(join);
                dir.break_off();
                ctx.fail(dir, None, Trouble::Refused(On::Source, NO_PROGRESS.into()));
            }
            Ok(page) => {
                (join.source.next, join.source.end) = (page.next, page.end);
                if dir.is_fresh() && !join.lossy {
                    pages[i].new = page.entries;
                } else {
                    join.source_entries(page.entries, &mut pages[i].pairs);
                }
            }
            // RFC 1813 3.3.17: the directory changed; what was listed before comes again, and is there by then.
            Err(Status::BadCookie) if join.source.restarts < RESTARTS_MAX => {
                ctx.links.keep();
                join.begin_anew();
            }
            Err(status) => {
                join.source.end = true;
                drop(join);
                // As if it had never been there, as a file.
                if ctx.is_gone(dir, status) {
                    add(&ctx.counts.vanished, 1);
                    dir.vanish();
                    continue;
                }
                dir.break_off();
                ctx.fail(dir, None, Trouble::Call(On::Source, call.proc(), status));
            }
        }
    }
}

/// Asks for the attributes of what was listed by its type alone and is no file.
fn look_at(ctx: &Ctx<'_>, route: Route, dir: &Dir, entries: Vec<Entry>) -> Vec<Entry> {
    let mut entries = entries;
    let mut unknown: Vec<&mut Entry> =
        entries.iter_mut().filter(|entry| entry.attr.is_none() && entry.kind.is_some()).collect();
    let mut calls: Vec<Call<'_>> = unknown.iter().map(|entry| Call::lookup(&dir.source, &entry.name)).collect();
    ctx.source.perform(route, &mut calls);
    let found: Vec<_> = calls.iter().map(|call| call.found().ok()).collect();
    drop(calls);
    for (entry, found) in unknown.iter_mut().zip(found) {
        // What cannot be found is looked up once more by its task, which tells why.
        if let Some(Found { node, attr }) = found {
            (entry.node, entry.attr) = (Some(node), attr);
        }
    }
    entries
}

fn list_target(ctx: &Ctx<'_>, route: Route, dirs: &[Arc<Dir>], pages: &mut [Paired]) {
    let open: Vec<usize> = (0..dirs.len()).filter(|&i| is_open(&dirs[i].join(), On::Target)).collect();
    let page = |dir: &Dir| Call::read_dir(&dir.made().node, dir.join().target.next, Want::Attributes, ctx.page_bytes());
    let mut calls: Vec<Call<'_>> = open.iter().map(|&i| page(&dirs[i])).collect();
    ctx.target.perform(route, &mut calls);
    for (i, call) in open.into_iter().zip(&mut calls) {
        let dir = &dirs[i];
        let mut join = dir.join();
        match call.take_page() {
            Ok(page) if page.is_stuck(join.target.next) => {
                join.lossy = true;
                join.target.end = true;
                drop(join);
                dir.break_off();
                ctx.fail(dir, None, Trouble::Refused(On::Target, NO_PROGRESS.into()));
            }
            Ok(page) => {
                join.target.next = page.next;
                if !join.lossy {
                    join.target_entries(page.entries, &mut pages[i].pairs);
                }
                if page.end {
                    join.target_ended(&mut pages[i].pairs);
                }
            }
            Err(Status::BadCookie) if join.target.restarts < RESTARTS_MAX => {
                join.target.restarts += 1;
                join.target.next = Cookie::default();
            }
            // What cannot be listed can be looked up, name by name; but nothing is deleted there.
            Err(status) => {
                join.lossy = true;
                join.target.end = true;
                drop(join);
                dir.break_off();
                if ctx.options.delete.is_some() || ctx.compares() {
                    ctx.fail(dir, None, Trouble::Call(On::Target, call.proc(), status));
                }
            }
        }
    }
}

/// Lists on, or ends the listing.
fn go_on(ctx: &Ctx<'_>, dir: &Arc<Dir>, due: &mut Vec<Due<Task>>) {
    let mut join = dir.join();
    let mut unknown = Vec::new();
    // Counted anew each time: exact enough for a bound of memory.
    let before = join.counted;
    join.counted = join.held();
    let held = ctx.joined.fetch_add(join.counted, Ordering::Relaxed) + join.counted;
    ctx.joined.fetch_sub(before, Ordering::Relaxed);
    ctx.joined_most.fetch_max(held.saturating_sub(before), Ordering::Relaxed);
    if held.saturating_sub(before) > ctx.options.join_max && join.counted > 0 {
        join.forget();
    }
    if join.lossy || join.is_over() {
        unknown = join.take_source();
    }
    if join.is_over() && !join.lossy && !dir.is_broken() {
        let mut extras = join.take_extras();
        if !ctx.compares() && ctx.options.delete.is_none() {
            extras.retain(|entry| aside::may_be_left(&entry.name));
            extras.shrink_to_fit();
        }
        *dir.extras() = extras;
    }
    let freed = join.counted - join.held();
    join.counted -= freed;
    ctx.joined.fetch_sub(freed, Ordering::Relaxed);
    let over = join.is_over();
    drop(join);
    for entry in unknown {
        dispatch(ctx, dir, entry, At::Ask, due);
    }
    if over {
        dir.leave(due);
    } else {
        due.push(Task::List(dir.clone()).due());
    }
}

/// True for a name that is not to be copied; counts it.
pub(super) fn is_left_out(ctx: &Ctx<'_>, dir: &Dir, name: &Name, kind: Option<Kind>) -> bool {
    let out = ctx.is_snapshot(On::Source, dir, name)
        || ctx.is_snapshot(On::Target, dir, name)
        || !ctx.allows(On::Source, dir, name, kind);
    if out && !ctx.later {
        add(&ctx.counts.left_out, 1);
    }
    out
}

/// Is what has this name on both sides to go, because it is excluded? Counts it as left out.
fn goes_excluded(ctx: &Ctx<'_>, dir: &Dir, entry: &Entry) -> bool {
    let (name, kind) = (&entry.name, entry.attr.map(|attr| attr.kind).or(entry.kind));
    let deletes = ctx.options.delete.is_some_and(|delete| delete.excluded) && !ctx.compares();
    deletes && !ctx.allows(On::Source, dir, name, kind) && is_left_out(ctx, dir, name, kind)
}

/// An entry of the source and what is at its place: nothing to do, or a task.
pub(super) fn dispatch(ctx: &Ctx<'_>, dir: &Arc<Dir>, entry: Entry, at: At, due: &mut Vec<Due<Task>>) {
    if is_left_out(ctx, dir, &entry.name, entry.kind_told()) {
        return;
    }
    let Entry { name, node, attr, .. } = entry;
    let Some((node, attr)) = node.zip(attr) else {
        dir.hold(1);
        return due.push(Task::Object(Object::new(dir, name, None, at)).due());
    };
    match attr.kind {
        Kind::Dir => enter_later(ctx, dir, &name, (node, attr), at, due),
        _ if ctx.later && attr.nlink < 2 => {}
        _ if is_plainly_equal(ctx, &name, &attr, &at) => {
            add(&ctx.counts.objects, 1);
            add(&ctx.live.objects, 1);
            add(&ctx.counts.unchanged, 1);
        }
        _ => {
            dir.hold(1);
            let source = Some((node, attr));
            due.push(Task::Object(Object::new(dir, name, source, at)).due());
        }
    }
}

/// True for what needs no call at all: the listings have said that it is equal.
fn is_plainly_equal(ctx: &Ctx<'_>, name: &Name, attr: &Attr, at: &At) -> bool {
    let At::Present(_, there) = at else { return false };
    let linked = attr.nlink > 1 && ctx.options.preserve.hard_links;
    let aside = ctx.options.atomic && aside::is_aside(name);
    let looks_in = ctx.xattrs || ctx.compares() || ctx.options.compare == Compare::Bytes;
    let is_equal = || decide::verdict(ctx.by(), attr, there) == Verdict::Equal;
    let is_due = || groups::due_of_old(ctx, attr, there).is_some();
    !linked && !aside && !looks_in && is_equal() && !is_due() && ctx.meets(attr, there)
}

/// A directory of the source becomes a task.
pub(super) fn enter_later(
    ctx: &Ctx<'_>,
    dir: &Arc<Dir>,
    name: &Name,
    (node, attr): (crate::storage::Node, Attr),
    at: At,
    due: &mut Vec<Due<Task>>,
) {
    if ctx.is_target_root(&node, &attr) {
        let reason = "is the destination; it is not copied into itself";
        return ctx.fail(dir, Some(name), Trouble::Refused(On::Source, reason.into()));
    }
    if dir.is_within(&node) {
        let reason = "a directory that contains itself";
        return ctx.fail(dir, Some(name), Trouble::Refused(On::Source, reason.into()));
    }
    let child = Dir::child(dir, name, node, attr, at, false);
    due.push(Task::Enter(Arc::new(child)).due());
}
