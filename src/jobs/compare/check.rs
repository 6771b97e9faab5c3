//! What a lane does: looks objects up in a window, compares their attributes, and reads files' ranges in windows.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::archive::{Member, MemberKind};
use crate::base::{Failure, Proc, Status, Time};
use crate::storage::{Attr, Call, Kind, Node, Op, Route};

use super::{Ctx, Finding, Item, Piece};

/// Compares these pieces; they may be of different members.
pub(super) fn run(ctx: &Ctx<'_>, batch: Vec<Piece>) {
    let route = ctx.port.route();
    if !ctx.crew.stop().is_set() {
        let found = look_up(ctx, route, &batch);
        let mut files = Vec::new();
        for (piece, found) in batch.iter().zip(found) {
            match found {
                Ok((node, attr)) => {
                    if piece.start == 0 {
                        check(ctx, route, piece, &node, &attr);
                    }
                    let is_file = piece.item.member.kind == MemberKind::File && attr.kind == Kind::File;
                    let is_whole = is_file && attr.size == piece.item.member.size;
                    if is_whole && !piece.data.is_empty() {
                        files.push((piece, node));
                    } else if piece.start > 0 && !is_whole {
                        // It changed since its first range was compared, or that has told.
                        piece.item.content_differs.store(true, Ordering::Release);
                    }
                }
                Err(cause) => absent(piece, cause),
            }
        }
        read(ctx, route, &files);
    }
    for piece in batch {
        landed(ctx, &piece.item, 1);
    }
}

/// Each piece's object and attributes.
fn look_up(ctx: &Ctx<'_>, route: Route, batch: &[Piece]) -> Vec<Result<(Node, Attr), (Proc, Status)>> {
    let parents: Vec<_> = batch
        .iter()
        .map(|piece| match piece.item.names.split_last() {
            Some((name, above)) => Ok((ctx.dirs.find(ctx.port, route, above)?, Some(name))),
            None => Ok((ctx.dirs.find(ctx.port, route, &[])?, None)),
        })
        .collect();
    let call = |(node, name): &(Node, Option<&crate::base::Name>)| match name {
        Some(name) => Call::lookup(node, name),
        None => Call::get_attr(node),
    };
    let mut calls: Vec<Call<'_>> = parents.iter().flatten().map(call).collect();
    ctx.port.perform(route, &mut calls);
    let mut calls = calls.iter();
    parents
        .iter()
        .map(|parent| {
            let (node, name) = parent.as_ref().map_err(|cause: &(Proc, Status)| *cause)?;
            let call = calls.next().expect("a call for each parent");
            match name {
                Some(_) => ctx.port.found(route, call),
                None => Ok((node.clone(), call.attr().map_err(|status| (Proc::GetAttr, status))?)),
            }
        })
        .collect()
}

/// Notes that a member's object cannot be found. What would be in a file is a failure, as for GNU tar, which is told of a missing object
/// only where there is nothing.
fn absent(piece: &Piece, (proc, status): (Proc, Status)) {
    let item = &piece.item;
    if item.over.swap(true, Ordering::AcqRel) {
        return;
    }
    let what = if item.member.kind == MemberKind::Symlink { "readlink" } else { "stat" };
    let missing = |status| Finding::Missing(format!("Warning: Cannot {what}: {status}"));
    match status {
        Status::NoEnt => note(item, missing(status)),
        // A symbolic link may lead to a directory that has it; it is not followed.
        Status::Loop => note(item, missing(Status::NotDir)),
        Status::NotDir => fail(item, Failure::refused(&shown(item), format!("Cannot {what}: {status}"))),
        status => fail(item, Failure::call(&shown(item), proc, status)),
    }
}

/// The member's path as it is told of its object.
fn shown(item: &Item) -> Vec<u8> {
    item.verdict.lock().expect("nothing panics while it notes").shown.clone()
}

/// Keeps the first failure of a member, after which nothing more of it is compared.
pub(super) fn fail(item: &Item, failure: Failure) {
    item.over.store(true, Ordering::Release);
    item.verdict.lock().expect("nothing panics while it notes").failure.get_or_insert(failure);
}

fn note(item: &Item, finding: Finding) {
    item.verdict.lock().expect("nothing panics while it notes").findings.push(finding);
}

fn differs(item: &Item, text: &str) {
    note(item, Finding::Differs(text.into()));
}

/// Compares what an object is, but for its content.
fn check(ctx: &Ctx<'_>, route: Route, piece: &Piece, node: &Node, attr: &Attr) {
    let (item, member) = (&piece.item, &piece.item.member);
    let kind = match member.kind {
        MemberKind::HardLink => return check_link(ctx, route, item, attr),
        MemberKind::File => Kind::File,
        MemberKind::Dir => Kind::Dir,
        MemberKind::Symlink => Kind::Symlink,
        MemberKind::Fifo => Kind::Fifo,
        MemberKind::Char => Kind::Char,
        MemberKind::Block => Kind::Block,
    };
    if attr.kind != kind {
        differs(item, "File type differs");
        item.over.store(true, Ordering::Release);
        return;
    }
    if kind == Kind::Symlink {
        match ctx.port.one(route, Call::read_link(node)).op {
            Op::ReadLink { out: Ok(text), .. } if text == member.link => {}
            Op::ReadLink { out: Err(status), .. } => fail(item, Failure::call(&member.path, Proc::ReadLink, status)),
            _ => differs(item, "Symlink differs"),
        }
        return;
    }
    if matches!(kind, Kind::Char | Kind::Block) && attr.rdev != member.dev {
        differs(item, "Device number differs");
        return;
    }
    if attr.mode & 0o7777 != member.mode & 0o7777 {
        differs(item, "Mode differs");
    }
    if kind != Kind::File {
        return;
    }
    let (uid, gid) = item.ids;
    if uid.is_some_and(|uid| uid != attr.uid) {
        differs(item, "Uid differs");
    }
    if gid.is_some_and(|gid| gid != attr.gid) {
        differs(item, "Gid differs");
    }
    if !is_time(member, attr.mtime, ctx.port.volume.nfs_times()) {
        differs(item, "Mod time differs");
    }
    if attr.size != member.size {
        differs(item, "Size differs");
        item.over.store(true, Ordering::Release);
    }
}

/// Most formats hold whole seconds; then those are compared, as in GNU tar.
fn is_time(member: &Member, found: Time, by_nfs: bool) -> bool {
    let of_seconds = member.mtime.nanos == 0 && member.mtime.secs == found.secs;
    of_seconds || member.mtime.may_be_kept_as(found, by_nfs)
}

/// Is a hard link's object that of its target?
fn check_link(ctx: &Ctx<'_>, route: Route, item: &Item, attr: &Attr) {
    let target = item.target.as_deref().unwrap_or_default();
    let found = match target.split_last() {
        Some((name, above)) => {
            ctx.dirs.find(ctx.port, route, above).and_then(|dir| ctx.port.look_up(route, &dir, name))
        }
        None => Err((Proc::Lookup, Status::NoEnt)),
    };
    match found {
        Ok((_, other)) if other.is_same_as(attr) => {}
        Ok(_) => differs(item, &format!("Not linked to {}", crate::base::name::Shown(&item.member.link))),
        Err((_, status @ (Status::NoEnt | Status::NotDir))) => {
            let target = crate::base::name::Shown(&item.member.link);
            note(item, Finding::Missing(format!("its target '{target}': Warning: Cannot stat: {status}")));
        }
        Err((proc, status)) => fail(item, Failure::call(&item.member.link, proc, status)),
    }
}

/// Reads these ranges and compares them.
fn read(ctx: &Ctx<'_>, route: Route, files: &[(&Piece, Node)]) {
    let mut wanted = Vec::new();
    let mut calls = Vec::new();
    for (piece, node) in files.iter().filter(|(piece, _)| !piece.item.over.load(Ordering::Acquire)) {
        let mut at = 0;
        while at < piece.data.len() as u64 {
            let count = (piece.data.len() as u64 - at).min(ctx.read_max);
            // Not above RANGE_BYTES.
            calls.push(Call::read(node, piece.start + at, count as u32, Vec::new()));
            wanted.push((*piece, node, at, count));
            at += count;
        }
    }
    ctx.port.perform(route, &mut calls);
    for ((piece, node, at, count), call) in wanted.into_iter().zip(calls) {
        compare(ctx, route, piece, node, (at, count), call);
    }
}

/// Compares what a READ brought, and reads on where it brought less than asked for.
fn compare<'c>(ctx: &Ctx<'_>, route: Route, piece: &Piece, node: &Node, (at, count): (u64, u64), mut call: Call<'c>) {
    let expected = &piece.data[at as usize..(at + count) as usize];
    let mut got = 0;
    loop {
        let (bytes, end) = match call.op {
            Op::Read { out: Ok(end), buf, .. } => (buf, end),
            Op::Read { out: Err(status), .. } => {
                return fail(&piece.item, Failure::call(&piece.item.member.path, Proc::Read, status));
            }
            _ => return,
        };
        let same = expected.get(got..got + bytes.len()).is_some_and(|expected| expected == bytes);
        got += bytes.len();
        if !same || (got < expected.len() && (end || bytes.is_empty())) {
            piece.item.content_differs.store(true, Ordering::Release);
            return;
        }
        if got == expected.len() {
            ctx.bytes.fetch_add(count, Ordering::Relaxed);
            ctx.live.bytes.fetch_add(count, Ordering::Relaxed);
            return;
        }
        let rest = (expected.len() - got) as u32;
        call = ctx.port.one(route, Call::read(node, piece.start + at + got as u64, rest, Vec::new()));
    }
}

/// Notes that ranges of a member are compared, or will not be; tells of it after the last.
pub(super) fn landed(ctx: &Ctx<'_>, item: &Arc<Item>, count: usize) {
    if item.left.fetch_sub(count, Ordering::AcqRel) != count {
        return;
    }
    let mut verdict = std::mem::take(&mut *item.verdict.lock().expect("nothing panics while it notes"));
    let told = |finding: &Finding| matches!(finding, Finding::Differs(what) if what == "Size differs" || what == "File type differs");
    let is_told = verdict.findings.iter().any(told);
    if item.content_differs.load(Ordering::Acquire) && verdict.failure.is_none() && !is_told {
        verdict.findings.push(Finding::Differs("Contents differ".into()));
    }
    if ctx.crew.stop().is_set() && verdict.findings.len() < 2 && verdict.failure.is_none() {
        // It may not have been compared at all.
        verdict.findings.clear();
    }
    ctx.complete(item.number, &item.member.path, verdict);
}
