//! Extended attributes and POSIX ACLs, from one object to another, where both sides have them.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use crate::base::name::Shown;
use crate::base::{Name, Proc, Status};
use crate::storage::{Attr, Beyond, Call, Kind, NO_XATTR, Node, Op, Route};

use super::super::port::Port;
use super::ctx::{Ctx, On, Trouble};
use super::dir::Dir;

pub(super) const ACCESS_ACL: &[u8] = b"system.posix_acl_access";
const DEFAULT_ACL: &[u8] = b"system.posix_acl_default";

/// The bits of the group, or of an ACL's mask.
pub(super) const GROUP: u32 = 0o070;

/// The bits of all others.
pub(super) const OTHERS: u32 = 0o007;

/// How often an attribute that vanishes between its listing and its reading is listed anew.
const TRIES_MAX: usize = 3;

type Xattrs = BTreeMap<Vec<u8>, Vec<u8>>;

fn list(port: Port<'_>, route: Route, node: &Node) -> Result<Vec<Vec<u8>>, Status> {
    port.one(route, Call::list_xattrs(node)).into_xattr_names()
}

pub(super) fn get(port: Port<'_>, route: Route, node: &Node, name: &[u8]) -> Result<Vec<u8>, Status> {
    port.one(route, Call::get_xattr(node, name)).into_xattr()
}

/// The attributes that are carried by the options, with their values.
fn all(ctx: &Ctx<'_>, port: Port<'_>, route: Route, node: &Node) -> Result<Xattrs, (Proc, Status)> {
    for _ in 0..TRIES_MAX {
        let names = list(port, route, node).map_err(|status| (Proc::ListXattrs, status))?;
        let mut xattrs = Xattrs::new();
        let mut vanished = false;
        for name in names.into_iter().filter(|name| is_carried(ctx, name)) {
            match get(port, route, node, &name) {
                Ok(value) => {
                    xattrs.insert(name, value);
                }
                Err(Status::NoEnt | NO_XATTR) => vanished = true,
                // Listed by a security module, or by a layer above the file system, which has it not.
                Err(status @ Status::NotSupp) => ctx.warn_once("xattr unread", || {
                    format!(
                        "some extended attributes, such as {}, are listed and cannot be read: {status}",
                        Shown(&name)
                    )
                }),
                Err(status) => return Err((Proc::GetXattr, status)),
            }
        }
        if !vanished {
            return Ok(xattrs);
        }
    }
    Err((Proc::GetXattr, Status::Io))
}

fn is_carried(ctx: &Ctx<'_>, name: &[u8]) -> bool {
    if name == ACCESS_ACL || name == DEFAULT_ACL {
        return ctx.options.preserve.acls;
    }
    // The rest of `system.` is the file system's own.
    ctx.options.preserve.xattrs && !name.starts_with(b"system.")
}

/// Tells once that the object has what the target cannot have. Security labels are the host's own affair.
pub(super) fn miss(ctx: &Ctx<'_>, source: &Node) {
    if !ctx.xattrs_watched.load(Ordering::Relaxed) {
        return;
    }
    let names = list(ctx.source, ctx.source.route(), source).unwrap_or_default();
    let lost = names.iter().find(|name| is_carried(ctx, name) && !name.starts_with(b"security."));
    if let Some(name) = lost {
        ctx.xattrs_watched.store(false, Ordering::Relaxed);
        ctx.warn_once("xattrs lost", || {
            format!(
                "the source has extended attributes or ACLs, such as {}; they are not copied: the destination has none",
                Shown(name)
            )
        });
    }
}

/// Are ACLs carried whose files' modes are the source's?
fn shuts(ctx: &Ctx<'_>) -> bool {
    ctx.xattrs && ctx.options.preserve.acls && ctx.options.preserve.mode
}

/// Are ACLs carried without the modes? Those are not set again behind an ACL: they would take the umask off its mask.
pub(super) fn is_alone(ctx: &Ctx<'_>) -> bool {
    ctx.xattrs && ctx.options.preserve.acls && !ctx.options.preserve.mode
}

/// The bits of a mode that a copy is not to have before it has its ACL: where the source has one they are its mask, and whom it shuts out
/// would be let in meanwhile.
///
/// So it is of one that `inherits` an ACL of its directory, until it is without.
pub(super) fn shut_out(ctx: &Ctx<'_>, source: &Node, attr: &Attr, inherits: bool) -> u32 {
    if !shuts(ctx) || attr.kind == Kind::Symlink || attr.mode & GROUP == 0 {
        return 0;
    }
    until_acl(ctx, source, inherits)
}

/// The same of what is no directory and is made with `mode`, also where that is not the source's and lets in others whom the ACL does not.
pub(super) fn shut_out_of_new(ctx: &Ctx<'_>, (source, attr): (&Node, &Attr), mode: u32, inherits: bool) -> u32 {
    let others = mode & !attr.mode & OTHERS;
    let is_open = attr.kind != Kind::Symlink && (mode & GROUP | others) != 0;
    if is_open && (shuts(ctx) || is_alone(ctx)) && until_acl(ctx, source, inherits) != 0 { GROUP | others } else { 0 }
}

fn until_acl(ctx: &Ctx<'_>, source: &Node, inherits: bool) -> u32 {
    if inherits || has_access_acl(ctx.source, ctx.source.route(), source) { GROUP } else { 0 }
}

/// The same of a file that is written into as it is: its own ACL lets others in too.
pub(super) fn shut_out_of(ctx: &Ctx<'_>, route: Route, (source, target): (&Node, &Node), attr: &Attr) -> u32 {
    if !shuts(ctx) {
        return 0;
    }
    if has_access_acl(ctx.target, route, target) { GROUP } else { shut_out(ctx, source, attr, false) }
}

/// What cannot be listed may have one.
fn has_access_acl(port: Port<'_>, route: Route, node: &Node) -> bool {
    match list(port, route, node) {
        Ok(names) => names.iter().any(|name| name == ACCESS_ACL),
        Err(status) => status != Status::NotSupp,
    }
}

/// True for what is known to have an ACL.
pub(super) fn has_acl(ctx: &Ctx<'_>, route: Route, node: &Node) -> bool {
    list(ctx.target, route, node).is_ok_and(|names| names.iter().any(|name| name == ACCESS_ACL))
}

/// Is what was shut until it had its ACL to get its mode now? Without modes carried the ACL has it, and what was to have one and has none
/// stays shut.
pub(super) fn may_open(ctx: &Ctx<'_>, route: Route, (source, target): (&Node, &Node)) -> bool {
    let has_one =
        || has_access_acl(ctx.target, route, target) || has_access_acl(ctx.source, ctx.source.route(), source);
    !(is_alone(ctx) && has_one())
}

/// True when new objects in the directory inherit an ACL.
pub(super) fn has_default_acl(ctx: &Ctx<'_>, route: Route, node: &Node) -> bool {
    match list(ctx.target, route, node) {
        Ok(names) => names.iter().any(|name| name == DEFAULT_ACL),
        // Taken for one where it is not known: what is made there is then looked at more, and never let in less strictly.
        Err(status) => status != Status::NotSupp,
    }
}

/// The call that attributes could not be read by.
pub(super) type Unread = (On, Proc, Status);

/// Tells in what the attributes differ, for a comparison; true where they do.
pub(super) fn compare(
    ctx: &Ctx<'_>,
    route: Route,
    (source, target): (&Node, &Node),
    (dir, name): (&Dir, Option<&Name>),
) -> Result<bool, Unread> {
    if !ctx.xattrs {
        return Ok(false);
    }
    let read = |on, port, route, node| match all(ctx, port, route, node) {
        Err((_, Status::NotSupp)) => Ok(Xattrs::new()),
        read => read.map_err(|(proc, status)| (on, proc, status)),
    };
    let ours = read(On::Source, ctx.source, ctx.source.route(), source)?;
    let theirs = read(On::Target, ctx.target, route, target)?;
    let acls = |xattrs: &Xattrs| [ACCESS_ACL, DEFAULT_ACL].map(|name| xattrs.get(name).cloned());
    if ours == theirs {
        return Ok(false);
    }
    let is_acl = acls(&ours) != acls(&theirs);
    ctx.differs(if is_acl { "ACL" } else { "extended attributes" }, dir, name);
    Ok(true)
}

/// Are the target's the source's, but for what it takes none of? What cannot be read is told by who carries them.
pub(super) fn equal(ctx: &Ctx<'_>, route: Route, (source, target): (&Node, &Node)) -> Option<bool> {
    let mut ours = all(ctx, ctx.source, ctx.source.route(), source).ok()?;
    let theirs = all(ctx, ctx.target, route, target).ok()?;
    ours.retain(|name, _| theirs.contains_key(name) || !is_untaken(ctx, route, target, name));
    Some(ours == theirs)
}

/// Has the target no attribute of this name, on whatever object? That is told as where it is to be set.
fn is_untaken(ctx: &Ctx<'_>, route: Route, target: &Node, name: &[u8]) -> bool {
    let is_untaken = get(ctx.target, route, target, name) == Err(Status::NotSupp);
    if is_untaken {
        not_set(ctx, name, Status::NotSupp);
    }
    is_untaken
}

fn not_set(ctx: &Ctx<'_>, name: &[u8], status: Status) {
    if name != ACCESS_ACL && name != DEFAULT_ACL {
        let text = || format!("some extended attributes cannot be set at the destination: {status}");
        return ctx.warn_once("xattrs", text);
    }
    // As cp and rsync leave it; acl(5): with an ACL the mode has its mask where the group's bits are.
    let modes = if ctx.options.preserve.mode { "; the group may do there what an ACL's mask lets it" } else { "" };
    ctx.warn_once("acls", || format!("some ACLs cannot be set at the destination: {status}{modes}"));
}

/// Makes the target's attributes the source's; true when something was changed. `unclean`: the target may have some already.
/// What the target refuses for lack of rights is told once, as a warning; all else is a failure of the object.
pub(super) fn carry(
    ctx: &Ctx<'_>,
    route: Route,
    nodes: (&Node, &Node),
    unclean: bool,
    (dir, name): (&Dir, Option<&Name>),
) -> bool {
    carry_if_read(ctx, route, nodes, unclean, (dir, name)).unwrap_or_else(|(on, proc, status)| {
        ctx.fail(dir, name, Trouble::Call(on, proc, status));
        false
    })
}

/// The same of what may have become another object; why nothing was done is not told.
pub(super) fn carry_if_read(
    ctx: &Ctx<'_>,
    route: Route,
    (source, target): (&Node, &Node),
    unclean: bool,
    (dir, name): (&Dir, Option<&Name>),
) -> Result<bool, Unread> {
    let wanted = match all(ctx, ctx.source, ctx.source.route(), source) {
        Ok(wanted) => wanted,
        Err((_, Status::NotSupp)) => return Ok(false),
        Err((proc, status)) => return Err((On::Source, proc, status)),
    };
    if wanted.is_empty() && !unclean {
        return Ok(false);
    }
    let there = match all(ctx, ctx.target, route, target) {
        Ok(there) => there,
        Err((_, Status::NotSupp)) if wanted.is_empty() => return Ok(false),
        Err((proc, status)) => return Err((On::Target, proc, status)),
    };
    let mut calls: Vec<Call<'_>> = Vec::new();
    for (name, value) in wanted.iter().filter(|(name, value)| there.get(*name) != Some(value)) {
        calls.push(Call::set_xattr(target, name, value));
    }
    for name in there.keys().filter(|name| !wanted.contains_key(*name)) {
        calls.push(Call::remove_xattr(target, name));
    }
    ctx.target.perform(route, &mut calls);
    let mut changed = false;
    for call in &calls {
        match call.status() {
            Ok(()) => changed = true,
            Err(status @ (Status::Perm | Status::NotSupp)) => {
                if let Op::Beyond(Beyond::SetXattr { name, .. } | Beyond::RemoveXattr { name, .. }) = call.op {
                    not_set(ctx, name, status);
                }
            }
            Err(status) => ctx.fail(dir, name, Trouble::Call(On::Target, call.proc(), status)),
        }
    }
    Ok(changed)
}
