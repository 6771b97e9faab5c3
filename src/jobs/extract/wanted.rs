//! What the options make of a member before it is put on its way: its name, its place, its attributes.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::archive::{Member, MemberKind};
use crate::jobs::inside::Of;
use crate::storage::SetTime;

use super::attributes::Extra;
use super::ctx::Meta;
use super::path::{self, Place};
use super::producer::Producer;

impl Producer<'_, '_, '_> {
    /// The extended attributes and ACLs that a member asks for, where the volume has such.
    pub(super) fn extra(&mut self, member: &mut Member) -> Option<Arc<Extra>> {
        let options = self.ctx.options;
        if !options.xattrs && !options.acls && !options.selinux {
            return None;
        }
        let extra = Extra::of(member, options, &self.ids)?;
        if !self.ctx.xattrs {
            self.ctx.xattrs_lost.fetch_or(extra.sets() || extra.bad.is_some(), Ordering::Relaxed);
            return None;
        }
        Some(Arc::new(extra))
    }

    /// The attributes that a member asks for.
    pub(super) fn meta(&mut self, member: &Member) -> Meta {
        let options = self.ctx.options;
        let (uid, gid) = self.ids.of(member);
        let mtime = if options.mtime { SetTime::At(member.mtime) } else { SetTime::Keep };
        Meta { mode: member.mode & 0o7777 & !options.mode_mask, uid, gid, mtime, dated: member.mtime }
    }

    /// Changes a member's name, and where it leads, as the options say, and takes off what would lead out of the destination.
    pub(super) fn rename(&mut self, member: &mut Member) {
        self.transform(member);
        let of_path = self.taken_off.take_off(&mut member.path, Of::Member);
        let is_link = member.kind == MemberKind::HardLink;
        let of_link = is_link.then(|| self.taken_off.take_off(&mut member.link, Of::HardLink)).flatten();
        if let Some(told) = of_path {
            self.members.warn(told);
        }
        if let Some(told) = of_link {
            self.members.warn(told);
        }
    }

    fn transform(&mut self, member: &mut Member) {
        let Some(transform) = &self.ctx.options.transform else { return };
        member.path = transform.apply_to_path(&member.path);
        if member.path.is_empty() {
            // As GNU tar.
            member.path.push(b'.');
            self.members.warn("Substituting '.' for empty member name".into());
        }
        transform.apply_to_link(member);
    }

    /// Where a path of the archive goes. As with GNU tar, a directory of which no name is left stands for that of `--one-top-level`.
    pub(super) fn placed(&self, path: &[u8], kind: MemberKind) -> Result<Place, String> {
        let (options, top) = (self.ctx.options, &self.ctx.options.top);
        Ok(match path::place(path, options.strip_components)? {
            Place::Stripped if kind == MemberKind::Dir && !top.is_empty() => Place::Below(top.clone()),
            Place::Root if !top.is_empty() => Place::Below(top.clone()),
            Place::Below(names) if !names.starts_with(top) => Place::Below([&top[..], &names[..]].concat()),
            place => place,
        })
    }
}
