//! What headers need beside the listings' attributes: texts of symbolic links, extended attributes, where data is in sparse files.

use std::sync::atomic::Ordering;

use crate::archive::Segment;
use crate::base::name::Shown;
use crate::base::{Failure, Proc, Status};
use crate::storage::{Call, Kind, Mount, NO_XATTR, Node, Route, Sought};

use super::super::acl;
use super::super::made_up;
use super::super::port::Port;
use super::ctx::Ctx;
use super::entry::{Entry, More};

/// Runs of data in one file at most; what has more is stored whole. A run takes 16 bytes here and some 20 in the archive.
const SEGMENTS_MAX: usize = 100_000;

/// Completes the entries; those that cannot be are left out and told.
pub(super) fn run(ctx: &Ctx<'_>, (port, route): (Port<'_>, Route), entries: &mut Vec<Entry>) {
    read_links(ctx, (port, route), entries);
    entries.retain_mut(|entry| read_made_up(ctx, entry));
    let extras = port.volume.limits().extras;
    // What a followed link leads to may be on another volume.
    if ctx.options.xattrs || ctx.options.acls || ctx.options.selinux {
        if extras.xattrs {
            entries.retain_mut(|entry| {
                let volume = entry.tree.volume.clone();
                let port = ctx.port(&volume);
                read_xattrs(ctx, (port, port.route()), entry)
            });
        } else if !ctx.said[0].swap(true, Ordering::Relaxed) {
            ctx.warn("extended attributes and ACLs are not stored: the source cannot carry them (NFSv3 has no procedure for them, and NFSACL is not used)".into());
        }
    }
    if ctx.options.sparse {
        if extras.holes {
            entries.iter_mut().for_each(|entry| {
                let volume = entry.tree.volume.clone();
                let port = ctx.port(&volume);
                find_holes((port, port.route()), entry);
            });
        } else if !ctx.said[1].swap(true, Ordering::Relaxed) {
            ctx.warn("the source does not tell holes from data; sparse files are stored whole".into());
        }
    }
}

fn read_links(ctx: &Ctx<'_>, (port, route): (Port<'_>, Route), entries: &mut Vec<Entry>) {
    let links: Vec<usize> = (0..entries.len()).filter(|&i| entries[i].attr.kind == Kind::Symlink).collect();
    let mut calls: Vec<Call<'_>> = links.iter().map(|&i| Call::read_link(&entries[i].node)).collect();
    port.perform(route, &mut calls);
    let mut gone = Vec::new();
    for (i, call) in links.into_iter().zip(calls) {
        let entry = &mut entries[i];
        match call.into_text() {
            Ok(text) => entry.link = text,
            Err(status) => {
                match status {
                    // By its name, on this host, something else may be read by now.
                    Status::NoEnt | Status::Stale | Status::Inval | Status::BadType => {
                        ctx.missed(entry.home(), &entry.path)
                    }
                    status => ctx.failed(Failure::call(&entry.path, Proc::ReadLink, status)),
                }
                gone.push(i);
            }
        }
    }
    let mut i = 0;
    entries.retain(|_| {
        i += 1;
        gone.binary_search(&(i - 1)).is_err()
    });
}

/// The header needs the size, and reading alone tells it. False when that failed, which is told.
fn read_made_up(ctx: &Ctx<'_>, entry: &mut Entry) -> bool {
    let volume = &entry.tree.volume;
    if entry.attr.kind != Kind::File || !volume.is_made_up(&entry.node, &entry.attr) {
        return true;
    }
    let port = ctx.port(volume);
    match made_up::read(port, port.route(), &entry.node) {
        Ok(Some(held)) => {
            entry.attr.size = held.len() as u64;
            entry.attr.used = entry.attr.size;
            entry.more.get_or_insert_default().held = Some(held.into());
            return true;
        }
        Ok(None) => ctx.failed(Failure::refused(&entry.path, made_up::TOO_LARGE)),
        Err(Status::NoEnt | Status::Stale) => ctx.missed(entry.home(), &entry.path),
        Err(status) => ctx.failed(Failure::call(&entry.path, Proc::Read, status)),
    }
    false
}

/// False when the object is gone.
fn read_xattrs(ctx: &Ctx<'_>, (port, route): (Port<'_>, Route), entry: &mut Entry) -> bool {
    let names = match port.one(route, Call::list_xattrs(&entry.node)).into_xattr_names() {
        Ok(names) => names,
        Err(Status::NotSupp) => return true,
        Err(Status::NoEnt | Status::Stale) => {
            ctx.missed(entry.home(), &entry.path);
            return false;
        }
        // As GNU tar: the object itself is stored.
        Err(status) => {
            ctx.failed(Failure::call(&entry.path, Proc::ListXattrs, status));
            return true;
        }
    };
    for name in names.into_iter().filter(|name| is_carried(ctx, name)) {
        match port.one(route, Call::get_xattr(&entry.node, &name)).into_xattr() {
            Ok(value) => keep(ctx, entry, name, value),
            Err(NO_XATTR | Status::NoEnt) => {}
            Err(status) => ctx.failed(Failure::call(&entry.path, Proc::GetXattr, status)),
        }
    }
    true
}

fn is_carried(ctx: &Ctx<'_>, name: &[u8]) -> bool {
    let asked = match name {
        b"security.selinux" => ctx.options.selinux,
        acl::ACCESS | acl::DEFAULT => ctx.options.acls,
        _ => false,
    };
    asked || is_attribute(ctx, name)
}

/// Is it stored as an attribute, whatever it means?
fn is_attribute(ctx: &Ctx<'_>, name: &[u8]) -> bool {
    ctx.options.xattrs && ctx.options.xattr_masks.stores(name)
}

fn keep(ctx: &Ctx<'_>, entry: &mut Entry, name: Vec<u8>, value: Vec<u8>) {
    let more = entry.more.get_or_insert_default();
    let place = match &name[..] {
        acl::ACCESS if ctx.options.acls => Some(&mut more.acl_access),
        acl::DEFAULT if ctx.options.acls => Some(&mut more.acl_default),
        _ => None,
    };
    let is_text = place.is_some();
    if let Some(place) = place {
        let named = (!ctx.options.attributes.numeric).then_some(ctx.names);
        match acl::to_text(&value, named) {
            Ok(text) => *place = Some(text),
            Err(reason) => ctx.warn(format!("{}: ACL not stored: {reason}", Shown(&entry.path))),
        }
    }
    // As GNU tar: with both options an ACL is stored as both.
    if !is_text || is_attribute(ctx, &name) {
        more.xattrs.push((name, value));
    }
}

/// Asks where the data of a file is that has fewer bytes of storage than it is long.
fn find_holes((port, route): (Port<'_>, Route), entry: &mut Entry) {
    let attr = &entry.attr;
    if attr.kind != Kind::File || attr.used >= attr.size {
        return;
    }
    let segments = match segments(port, route, &entry.node, attr.size) {
        Ok(Some(segments)) => segments,
        Ok(None) => return,
        // A file that cannot be opened is told when it is read.
        Err(_) => return,
    };
    let whole = matches!(segments[..], [Segment { offset: 0, len }] if len == entry.attr.size);
    if !whole {
        entry.more.get_or_insert_with(|| Box::new(More::default())).segments = Some(segments);
    }
}

/// The runs of data in a file; none when they are too many.
fn segments(port: Port<'_>, route: Route, node: &Node, size: u64) -> Result<Option<Vec<Segment>>, Status> {
    let seek = |offset, what| port.one(route, Call::seek(node, offset, what)).sought();
    let mut segments = Vec::new();
    let mut at = 0;
    while at < size {
        let data = match seek(at, Sought::Data) {
            Ok(data) => data.max(at),
            Err(Status::NxIo) => break,
            Err(status) => return Err(status),
        };
        if data >= size {
            break;
        }
        let hole = match seek(data, Sought::Hole) {
            Ok(hole) => hole.min(size),
            Err(Status::NxIo) => size,
            Err(status) => return Err(status),
        };
        if hole <= data || segments.len() == SEGMENTS_MAX {
            return Ok(None);
        }
        segments.push(Segment { offset: data, len: hole - data });
        at = hole;
    }
    Ok(Some(segments))
}
