//! What takes the place of a file, rather than being written into it, is like that one in what is not carried, as if it had been written
//! into: in its owner and group, its mode, and its ACL where neither modes nor ACLs are carried.
//!
//! The group's bits of that mode may be the mask of that ACL. So they are held back until group and ACL are what they were; where they
//! cannot be, nobody gets what only others had.
//!
//! Leaves out: ACLs that a server has and NFSv3 does not show.

use crate::base::Status;
use crate::storage::{Attr, Call, Mount, NO_XATTR, Node, Route};

use super::super::acl;
use super::ctx::Ctx;
use super::decide::{self, SET_ID};
use super::groups;
use super::make::{Item, Made};
use super::xattrs::{self, ACCESS_ACL, GROUP};

/// The bits of all others.
const OTHERS: u32 = 0o007;

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
                Ok(acl) if ctx.options.preserve.acls => is.mode = without(is.mode, &acl),
                Ok(acl) => item.acl = Some(acl),
                Err(NO_XATTR | Status::NotSupp) => {}
                // It may be one that lets the group do nothing.
                Err(_) => is.mode &= !GROUP,
            }
        }
        item.stood = Some(is);
    }
}

/// A mode, the group's bits of which are the mask of this ACL, where there is no ACL any more.
fn without(mode: u32, acl: &[u8]) -> u32 {
    mode & !GROUP | mode & acl::group(acl).map_or(0, |bits| bits << 3)
}

/// The bits that it is made without.
pub(super) fn shut_out(ctx: &Ctx<'_>, item: &Item) -> u32 {
    let keep = &ctx.options.preserve;
    // Behind an ACL that is carried no mode is set: it would be its mask.
    item.stood.filter(|_| !keep.mode && !keep.acls).map_or(0, |stood| stood.mode & GROUP)
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
        if !has_its_group(ctx, (item.attr(), &stood), is) {
            // Who is in that one was of the others.
            mode &= !GROUP | (mode & OTHERS) << 3;
        } else if !give_acl(ctx, route, &made.node, item.acl.as_deref()) {
            mode = item.acl.as_deref().map_or(mode & !GROUP, |acl| without(mode, acl));
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
fn give_acl(ctx: &Ctx<'_>, route: Route, node: &Node, acl: Option<&[u8]>) -> bool {
    if !sees_acls(ctx) || ctx.options.preserve.acls {
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
            ctx.warn_once("ACLs of replaced files", || {
                format!("some files that were replaced had ACLs that cannot be set on what took their places: {status}")
            });
            false
        }
    }
}
