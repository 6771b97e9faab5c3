//! Listing: pages of directories become entries, described so far as their headers need it.

use std::sync::Arc;

use crate::base::name::SNAPSHOT;
use crate::base::{Failure, Name, Proc, Status};
use crate::storage::{Attr, Call, Cookie, Kind, Mount, NO_PROGRESS, Node, Page, Route, Want};

use super::super::port::Port;
use super::ctx::Ctx;
use super::describe;
use super::entry::{Dir, Entry, Home, Listing, Tree, server};
use super::front::{Grown, Key};
use super::{Operand, Unfollowed};

/// Bytes of a listing's page on the wire: some 350 entries with attributes.
const PAGE_BYTES: u32 = 64 << 10;

/// Bytes of a member's path at most: 16 times what Linux takes. It also ends the walk of a directory that a server shows
/// inside itself.
const PATH_BYTES_MAX: usize = 64 << 10;

type Walked = Grown<Listing, Entry>;

/// Does some listings, of one volume as a rule, and says what stands in their places.
pub(super) fn run(ctx: &Ctx<'_>, listings: Vec<(Key, Listing)>) {
    let mut pages = Vec::new();
    for (key, listing) in listings {
        match listing {
            Listing::Operand(operand) => {
                let grown = if ctx.crew.stop().is_set() { Vec::new() } else { find(ctx, operand) };
                ctx.front.grow(key, grown);
            }
            Listing::Again { home, path } => {
                let grown = match home {
                    Home::Dir(dir) => find_again(ctx, &dir, path),
                    Home::Operand(tree) => find(ctx, tree.operand(path)),
                };
                ctx.front.grow(key, grown);
            }
            Listing::Page { dir, from, gathered } => pages.push((key, dir, from, gathered)),
        }
    }
    // Windows of one volume each.
    while let Some((_, dir, ..)) = pages.first() {
        let volume = dir.tree.volume.clone();
        let (ours, others): (Vec<_>, Vec<_>) =
            pages.into_iter().partition(|(_, dir, ..)| Arc::ptr_eq(&dir.tree.volume, &volume));
        pages = others;
        let port = ctx.port(&volume);
        let route = port.route();
        let mut calls: Vec<Call<'_>> = ours
            .iter()
            .map(|(_, dir, from, _)| Call::read_dir(&dir.node, *from, Want::Attributes, PAGE_BYTES))
            .collect();
        if ctx.crew.stop().is_set() {
            calls.iter_mut().for_each(|call| call.fail(Status::Cancelled));
        } else {
            port.perform(route, &mut calls);
        }
        let answers: Vec<_> = calls.iter_mut().map(|call| (call.proc(), call.take_page())).collect();
        drop(calls);
        for ((key, dir, from, gathered), (proc, answer)) in ours.into_iter().zip(answers) {
            let grown = match answer {
                Ok(page) => take_page(ctx, (port, route), &dir, (from, page), gathered),
                // RFC 1813 3.3.17: the directory changed. Its pages come again, and what was listed of them is in the archive.
                Err(Status::BadCookie) if from != Cookie::default() && dir.begins_anew() => {
                    let held = gathered.len();
                    vec![Grown::Rest(Listing::Page { dir, from: Cookie::default(), gathered }, held)]
                }
                Err(status) => {
                    not_listed(ctx, (port, route), &dir, (proc, status));
                    sorted(ctx, &dir, gathered)
                }
            };
            ctx.front.grow(key, grown);
        }
    }
}

/// Tells why a directory was not listed to its end. One that was removed since its own directory was listed is told as a file is; an operand
/// was to be there.
fn not_listed(ctx: &Ctx<'_>, via: (Port<'_>, Route), dir: &Dir, (proc, status): (Proc, Status)) {
    let is_below = dir.parent.is_some();
    let why = match status {
        Status::NoEnt if is_below => return ctx.vanished(&dir.path),
        Status::Stale if is_below && is_gone(via, dir) => return ctx.vanished(&dir.path),
        Status::BadCookie => {
            Failure::refused(&dir.path, "the directory changes while it is listed: not all of it is archived")
        }
        status => Failure::call(&dir.path, proc, status),
    };
    ctx.failed(why);
}

/// Finds an operand on its way.
fn find(ctx: &Ctx<'_>, operand: Operand) -> Vec<Walked> {
    let Operand { volume, way, name, fs_root, recursive, exclude, follow } = operand;
    let path = trimmed(name.clone());
    // As with GNU tar, what is left out need not be there.
    if !ctx.includes(&path, &exclude) {
        return Vec::new();
    }
    let port = ctx.port(&volume);
    let route = port.route();
    let (node, attr) = match go(port, route, &way) {
        Ok(found) => found,
        Err((proc, status)) => {
            ctx.failed(Failure::call(&name, proc, status));
            return Vec::new();
        }
    };
    if !ctx.is_wanted(&path, &attr) {
        return Vec::new();
    }
    let tree = Arc::new(Tree {
        volume: volume.clone(),
        server: server(&volume),
        fsid: attr.fsid,
        fs_root,
        recursive,
        exclude,
        follow,
        way,
        rechecks: ctx.rechecks.clone(),
    });
    let entry = Entry { tree, dir: None, path, node, attr, link: Vec::new(), more: None };
    let mut entries = vec![entry];
    describe::run(ctx, (port, route), &mut entries);
    with_listings(ctx, entries, None)
}

fn found_in(dir: &Arc<Dir>, path: Vec<u8>, node: Node, attr: Attr) -> Entry {
    Entry { tree: dir.tree.clone(), dir: Some(dir.clone()), path, node, attr, link: Vec::new(), more: None }
}

/// What a directory has at a path by now, if it has something.
fn find_again(ctx: &Ctx<'_>, dir: &Arc<Dir>, path: Vec<u8>) -> Vec<Walked> {
    let port = ctx.port(&dir.tree.volume);
    let via = (port, port.route());
    let Ok(name) = Name::new(dir.name(&path)) else { return Vec::new() };
    let mut found = match port.look_up(via.1, &dir.node, &name) {
        Ok((node, attr)) => vec![found_in(dir, path, node, attr)],
        Err(error) => {
            not_found(ctx, via, dir, &path, error);
            return Vec::new();
        }
    };
    describe(ctx, via, dir, &mut found);
    with_listings(ctx, found, Some(dir))
}

/// Tells of what a directory does not have any more, or what cannot be looked up in it.
fn not_found(ctx: &Ctx<'_>, via: (Port<'_>, Route), dir: &Dir, path: &[u8], (proc, status): (Proc, Status)) {
    match status {
        Status::NoEnt => ctx.vanished(path),
        Status::Stale if is_gone(via, dir) => ctx.vanished(path),
        status => ctx.failed(Failure::call(path, proc, status)),
    }
}

/// Tells what became of something that was not there when it was to be read, and that is not looked up again at the end: it was removed, or
/// what has its place is not archived.
pub(super) fn leave_out(ctx: &Ctx<'_>, home: &Home, path: &[u8]) {
    let via = |volume| {
        let port = ctx.port(volume);
        (port, port.route())
    };
    match home {
        Home::Operand(tree) => {
            let (port, route) = via(&tree.volume);
            match go(port, route, &tree.way) {
                Ok((_, attr)) if ctx.is_wanted(path, &attr) => ctx.overran(path),
                Ok(_) => {}
                Err((proc, status)) => ctx.failed(Failure::call(path, proc, status)),
            }
        }
        Home::Dir(dir) => {
            let (port, route) = via(&dir.tree.volume);
            let Ok(name) = Name::new(dir.name(path)) else { return };
            match port.look_up(route, &dir.node, &name) {
                Ok((node, attr)) => {
                    let mut found = vec![found_in(dir, path.to_vec(), node, attr)];
                    follow(ctx, dir, &mut found);
                    found.retain(|entry| ctx.is_wanted(&entry.path, &entry.attr));
                    found.iter().for_each(|entry| ctx.overran(&entry.path));
                }
                Err(error) => not_found(ctx, (port, route), dir, path, error),
            }
        }
    }
}

/// Is a directory not there by now whose handle is stale? A server that knows no handle any more, the root's neither, has removed nothing.
fn is_gone((port, route): (Port<'_>, Route), dir: &Dir) -> bool {
    let mut dir = dir;
    while let Some(parent) = &dir.parent {
        let Ok(name) = Name::new(parent.name(&dir.path)) else { return false };
        match port.look_up(route, &parent.node, &name) {
            // What a link leads to is not what has its name.
            Ok((_, attr)) if attr.kind == Kind::Symlink => break,
            Ok((_, attr)) => return (attr.fsid, attr.fileid) != dir.id,
            Err((_, Status::Stale)) => dir = parent,
            Err((_, status)) => return status == Status::NoEnt,
        }
    }
    port.one(route, Call::get_attr(&port.volume.root())).attr().is_ok()
}

/// Completes what was found in a directory, without what is not wanted.
fn describe(ctx: &Ctx<'_>, via: (Port<'_>, Route), dir: &Dir, found: &mut Vec<Entry>) {
    follow(ctx, dir, found);
    found.retain(|entry| ctx.is_wanted(&entry.path, &entry.attr));
    describe::run(ctx, via, found);
}

/// The object at the end of a way below the volume's root.
fn go(port: Port<'_>, route: Route, way: &[Name]) -> Result<(Node, Attr), (Proc, Status)> {
    let mut node = port.volume.root();
    let mut attr = None;
    for name in way {
        let (next, is) = port.look_up(route, &node, name)?;
        (node, attr) = (next, Some(is));
    }
    let attr = match attr {
        Some(attr) => attr,
        None => port.one(route, Call::get_attr(&node)).attr().map_err(|status| (Proc::GetAttr, status))?,
    };
    Ok((node, attr))
}

/// What the symbolic links among the entries lead to, where links are followed.
fn follow(ctx: &Ctx<'_>, dir: &Dir, entries: &mut Vec<Entry>) {
    let Some(follow) = dir.tree.follow.clone() else { return };
    entries.retain_mut(|entry| {
        if entry.attr.kind != Kind::Symlink {
            return true;
        }
        let refused = |reason: String| {
            ctx.failed(Failure::refused(&entry.path, reason));
            false
        };
        let (volume, way) = match follow.follow(&entry.path) {
            Ok(found) => found,
            // With -u, GNU tar takes the names in a directory that the archive has for operands, which are to lead to something.
            Err(Unfollowed::Nothing) if ctx.has_dir(&dir.path) => {
                return refused("Cannot stat: No such file or directory".into());
            }
            Err(Unfollowed::Nothing) => {
                ctx.vanished(&entry.path);
                return false;
            }
            Err(Unfollowed::Refused(reason)) => return refused(reason),
        };
        let port = ctx.port(&volume);
        let (node, attr) = match go(port, port.route(), &way) {
            Ok(found) => found,
            Err((proc, status)) => {
                ctx.failed(Failure::call(&entry.path, proc, status));
                return false;
            }
        };
        if attr.kind == Kind::Dir && dir.is_in((attr.fsid, attr.fileid)) {
            return refused("leads to a directory that it is in; not followed".into());
        }
        let Tree { fsid, recursive, ref exclude, ref follow, .. } = *dir.tree;
        (entry.node, entry.attr) = (node, attr);
        let (exclude, follow) = (exclude.clone(), follow.clone());
        let server = if Arc::ptr_eq(&volume, &dir.tree.volume) { dir.tree.server.clone() } else { server(&volume) };
        let (volume, rechecks) = (volume.clone(), ctx.rechecks.clone());
        entry.tree = Arc::new(Tree { volume, server, fsid, fs_root: false, recursive, exclude, follow, way, rechecks });
        true
    });
}

/// Without slashes at the end; a root stays one.
fn trimmed(mut name: Vec<u8>) -> Vec<u8> {
    while name.len() > 1 && name.ends_with(b"/") {
        name.pop();
    }
    name
}

/// Entries, each directory with its listing if it is to be entered.
fn with_listings(ctx: &Ctx<'_>, entries: Vec<Entry>, parent: Option<&Arc<Dir>>) -> Vec<Walked> {
    // With room for the listing's rest.
    let mut grown = Vec::with_capacity(2);
    if entries.iter().all(|entry| entry.attr.kind != Kind::Dir) {
        grown.push(Grown::Entries(entries));
        return grown;
    }
    let mut run = Vec::new();
    for entry in entries {
        let is_dir = entry.attr.kind == Kind::Dir;
        let other_fs = ctx.options.one_file_system && entry.attr.fsid != entry.tree.fsid;
        if is_dir && parent.is_some_and(|dir| dir.is_below(&entry.node)) {
            ctx.failed(Failure::refused(&entry.path, "a directory that contains itself"));
            continue;
        }
        let listing = (is_dir && entry.tree.recursive && !other_fs).then(|| {
            let (tree, path, node) = (entry.tree.clone(), entry.path.clone(), entry.node.clone());
            let dir = Arc::new(Dir::new(tree, path, node, &entry.attr, parent));
            Grown::Listing(Listing::Page { dir, from: Cookie::default(), gathered: Vec::new() })
        });
        // A directory that the archive has is entered all the same.
        if !is_dir || !ctx.is_archived(&entry.path, &entry.attr) {
            run.push(entry);
        }
        if listing.is_some() {
            grown.push(Grown::Entries(std::mem::take(&mut run)));
            grown.extend(listing);
        }
    }
    grown.push(Grown::Entries(run));
    grown
}

/// What a page says, in order; the directory's rest last.
fn take_page(
    ctx: &Ctx<'_>,
    via: (Port<'_>, Route),
    dir: &Arc<Dir>,
    (from, mut page): (Cookie, Page),
    mut gathered: Vec<Entry>,
) -> Vec<Walked> {
    let stuck = page.is_stuck(from);
    dir.note(&mut page);
    let Page { entries, next, end, .. } = page;
    let mut found: Vec<Entry> = Vec::with_capacity(entries.len());
    let (mut places, mut unknown) = (Vec::with_capacity(entries.len()), Vec::new());
    for (i, entry) in entries.into_iter().enumerate() {
        let path = dir.join(&entry.name);
        let is_snapshot = entry.name.as_bytes() == SNAPSHOT && dir.is_fs_root();
        if is_snapshot || !ctx.includes(&path, &dir.tree.exclude) {
            continue;
        }
        if path.len() > PATH_BYTES_MAX {
            ctx.failed(Failure::call(&path, Proc::Lookup, Status::NameTooLong));
            continue;
        }
        match (entry.node, entry.attr) {
            (Some(node), Some(attr)) => {
                places.push(i);
                found.push(found_in(dir, path, node, attr));
            }
            _ => unknown.push((i, entry.name, path)),
        }
    }
    if !unknown.is_empty() {
        for (i, path, node, attr) in look_up(ctx, via, dir, unknown) {
            places.push(i);
            found.push(found_in(dir, path, node, attr));
        }
        let mut placed: Vec<_> = places.into_iter().zip(found).collect();
        placed.sort_by_key(|(i, _)| *i);
        found = placed.into_iter().map(|(_, found)| found).collect();
    }
    describe(ctx, via, dir, &mut found);
    if stuck {
        ctx.failed(Failure::refused(&dir.path, NO_PROGRESS));
    }
    let rest = |gathered: Vec<Entry>| {
        let held = gathered.len();
        Grown::Rest(Listing::Page { dir: dir.clone(), from: next, gathered }, held)
    };
    if ctx.options.sort_by_name {
        gathered.extend(found);
        if !end && !stuck {
            return vec![rest(gathered)];
        }
        return sorted(ctx, dir, gathered);
    }
    // It waits as it is.
    if found.capacity() > 2 * found.len() {
        found.shrink_to_fit();
    }
    let mut grown = with_listings(ctx, found, Some(dir));
    if !end && !stuck {
        grown.push(rest(Vec::new()));
    }
    grown
}

/// What was gathered of a directory, by its names' bytes.
fn sorted(ctx: &Ctx<'_>, dir: &Arc<Dir>, mut gathered: Vec<Entry>) -> Vec<Walked> {
    gathered.sort_by(|a, b| dir.name(&a.path).cmp(dir.name(&b.path)));
    with_listings(ctx, gathered, Some(dir))
}

type Described = (usize, Vec<u8>, Node, Attr);

/// Looks up what the listing did not describe.
fn look_up(
    ctx: &Ctx<'_>,
    (port, route): (Port<'_>, Route),
    dir: &Dir,
    unknown: Vec<(usize, Name, Vec<u8>)>,
) -> Vec<Described> {
    let mut calls: Vec<Call<'_>> = unknown.iter().map(|(_, name, _)| Call::lookup(&dir.node, name)).collect();
    port.perform(route, &mut calls);
    let answers: Vec<_> = calls.iter().map(|call| port.found(route, call)).collect();
    drop(calls);
    let mut described = Vec::with_capacity(unknown.len());
    for ((i, _, path), answer) in unknown.into_iter().zip(answers) {
        match answer {
            Ok((node, attr)) => described.push((i, path, node, attr)),
            Err((_, Status::NoEnt)) => ctx.vanished(&path),
            Err((proc, status)) => ctx.failed(Failure::call(&path, proc, status)),
        }
    }
    described
}
