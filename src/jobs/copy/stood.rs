//! What takes the place of a file, rather than being written into it, is like that one in what is not carried, as if it had been written
//! into: in its owner and group, its mode, and its ACL where neither modes nor ACLs are carried.
//!
//! The group's bits of that mode may be the mask of that ACL, and who is denied by a name or as the group is one of the others without it. So
//! what not all of them had is held back until group and ACL are what they were; where they cannot be, all get what each had.
//!
//! Leaves out: ACLs that a server has and NFSv3 does not show.

use crate::base::Status;
use crate::storage::{Attr, Call, Mount, NO_XATTR, Node, Route};

use super::super::acl;
use super::ctx::Ctx;
use super::decide::{self, SET_ID};
use super::groups;
use super::make::{Item, Made};
use super::xattrs::{self, ACCESS_ACL, GROUP, OTHERS};

/// Is the mode the old file's, and may that have an ACL which can be seen?
fn sees_acls(ctx: &Ctx<'_>) -> bool {
    !ctx.options.preserve.mode && ctx.target.volume.limits().extras.xattrs
}

/// Notes what files were that are about to be replaced.
pub(super) fn note(ctx: &Ctx<'_>, route: Route, items: &mut [Item]) {
    for item in items.iter_mut().filter(|item| item.is_open()) {
        let Some((node, mut is)) = item.replaced(ctx) else { continue };
        if sees_acls(ctx) {
            match xattrs::get(ctx.target, route, &node, ACCESS_ACL) {
                Ok(acl) if ctx.options.preserve.acls => is.mode = narrowed(is.mode, Some(&acl), true),
                Ok(acl) => item.acl = Some(acl),
                Err(NO_XATTR | Status::NotSupp) => {}
                // It may be one that lets nobody else do anything.
                Err(status) => {
                    acls_are_lost(ctx, "read", status);
                    is.mode &= !(GROUP | OTHERS);
                }
            }
        }
        item.stood = Some(is);
    }
}

/// The mode of what had this ACL and has none any more, and of what has not its group. Who was denied by a name, or as the group, may be one
/// of the others now, and who was one of them may be in the group.
fn narrowed(mode: u32, acl: Option<&[u8]>, has_its_group: bool) -> u32 {
    let (group, named) = match acl {
        Some(acl) => acl::granted(acl).unwrap_or((0, 0)),
        None => ((mode & GROUP) >> 3, 7),
    };
    let (all, others) = (group & named, mode & OTHERS & named);
    let (group, others) = if has_its_group { (all, others) } else { (all & others, all & others) };
    mode & !(GROUP | OTHERS) | group << 3 | others
}

/// The bits that it is made without.
pub(super) fn shut_out(ctx: &Ctx<'_>, item: &Item) -> u32 {
    let keep = &ctx.options.preserve;
    // Behind an ACL that is carried no mode is set: it would be its mask.
    let Some(stood) = item.stood.filter(|_| !keep.mode && !keep.acls) else { return 0 };
    let at_once = if item.acl.is_some() { 0 } else { narrowed(stood.mode, None, false) };
    stood.mode & (GROUP | OTHERS) & !at_once
}

/// Settles the modes of what was made, and gives it the ACLs, while there is nothing in it yet.
pub(super) fn settle(ctx: &Ctx<'_>, route: Route, items: &mut [Item]) {
    for item in items.iter_mut().filter(|item| item.is_open()) {
        let (Some(stood), Some(made)) = (item.stood, &item.made) else { continue };
        let (is, given) = owner(ctx, route, (item.attr(), &stood), made);
        // Of one that was to be carried it is told by itself.
        if !(given || ctx.options.preserve.uid || ctx.options.preserve.gid) {
            ctx.warn_once("owners of replaced files", || {
                "some files that were replaced belonged to another user or group, and what took their places could not be given to them"
                    .into()
            });
        }
        if ctx.options.preserve.mode {
            continue;
        }
        let mut mode = decide::mode(ctx.options, item.attr(), Some(&stood));
        let (acl, has_its_group) = (item.acl.as_deref(), has_its_group(ctx, (item.attr(), &stood), is));
        let wanted = acl.filter(|_| has_its_group);
        let has_its_acl = give_acl(ctx, route, (item, &made.node), wanted);
        if !(has_its_group && has_its_acl) {
            mode = narrowed(mode, acl, has_its_group);
        }
        // The mask of an ACL that its directory gave it.
        if !(has_its_acl || wanted.is_some() && give_acl(ctx, route, (item, &made.node), None)) {
            mode &= !GROUP;
        }
        // Giving a file away clears them.
        if is != (stood.uid, stood.gid) {
            mode &= !SET_ID;
        }
        let made_with = item.made_with(ctx).mode;
        if let Some(made) = &mut item.made {
            made.mode = Some(mode);
            made.shut_out |= made_with != Some(mode);
        }
    }
}

/// Whose it is, and whether that is as it should be, where it is not the source's.
fn owner(ctx: &Ctx<'_>, route: Route, (source, stood): (&Attr, &Attr), made: &Made) -> ((u32, u32), bool) {
    let is = match decide::owner(ctx.options, source, Some(stood)) {
        (Some(uid), Some(gid)) if !made.owner_refused => (uid, gid),
        _ => made.owner.or_else(|| groups::ask(ctx, route, &made.node)).unwrap_or((u32::MAX, u32::MAX)),
    };
    let given = (ctx.options.preserve.uid || is.0 == stood.uid) && has_its_group(ctx, (source, stood), is);
    (is, given)
}

/// Is its group the one that the mode was for, or the source's?
fn has_its_group(ctx: &Ctx<'_>, (source, stood): (&Attr, &Attr), is: (u32, u32)) -> bool {
    let carried = ctx.options.user.as_ref().map_or(ctx.options.preserve.gid, |user| user.carried);
    is.1 == stood.gid || carried && is.1 == source.gid
}

/// Gives it this ACL, or takes the one off that its directory gave it; false if it cannot be.
fn give_acl(ctx: &Ctx<'_>, route: Route, (item, node): (&Item, &Node), acl: Option<&[u8]>) -> bool {
    // Without extended attributes to carry nobody has looked whether its directory gives one.
    let may_inherit = !ctx.xattrs || item.object().dir.made().inherits;
    if !sees_acls(ctx) || ctx.options.preserve.acls || acl.is_none() && !may_inherit {
        return true;
    }
    let call = match acl {
        Some(acl) => Call::set_xattr(node, ACCESS_ACL, acl),
        None => Call::remove_xattr(node, ACCESS_ACL),
    };
    match ctx.target.one(route, call).status() {
        Ok(()) => true,
        Err(NO_XATTR | Status::NotSupp) if acl.is_none() => true,
        Err(status) => {
            acls_are_lost(ctx, "set on what took their places", status);
            false
        }
    }
}

/// The others are given no more for that.
fn acls_are_lost(ctx: &Ctx<'_>, what: &str, status: Status) {
    ctx.warn_once("ACLs of replaced files", || {
        format!("some files that were replaced had ACLs that cannot be {what}: {status}")
    });
}
