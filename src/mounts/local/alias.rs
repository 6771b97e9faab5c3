//! One id for one file system: two mounts of one export are two devices to the kernel, and one file system to a job, which
//! tells by `fsid` what is another file system, what is one file by two names, and what is the same object.
//!
//! Left out: file systems below a mount that the server exports within it. Through each mount they keep the device that the
//! kernel gave them there.

use crate::storage::{Attr, Beyond, Call, Found, Op, Out};

/// The devices of mounts that are known to show one file system, with the id they are to be known by.
#[derive(Clone, Debug, Default)]
pub struct Alias(Vec<(u64, u64)>);

impl Alias {
    /// Each device and its id.
    pub fn new(known: Vec<(u64, u64)>) -> Alias {
        Alias(known.into_iter().filter(|(device, id)| device != id).collect())
    }

    pub(super) fn rename(&self, attr: &mut Attr) {
        if let Some((_, id)) = self.0.iter().find(|(device, _)| *device == attr.fsid) {
            attr.fsid = *id;
        }
    }

    fn rename_found(&self, out: &mut Out<Found>) {
        if let Ok(Found { attr: Some(attr), .. }) = out {
            self.rename(attr);
        }
    }

    /// Puts the ids into what a call was answered.
    pub(super) fn apply(&self, call: &mut Call<'_>) {
        if self.0.is_empty() {
            return;
        }
        match &mut call.op {
            Op::GetAttr { out: Ok(attr), .. }
            | Op::SetAttr { out: Ok(Some(attr)), .. }
            | Op::Read { attr: Some(attr), .. } => self.rename(attr),
            Op::Lookup { out, .. }
            | Op::Create { out, .. }
            | Op::MkDir { out, .. }
            | Op::Symlink { out, .. }
            | Op::MkNod { out, .. } => self.rename_found(out),
            Op::ReadDir { out: Ok(page), .. } | Op::Beyond(Beyond::Clear { out: Ok(page), .. }) => {
                page.entries.iter_mut().filter_map(|entry| entry.attr.as_mut()).for_each(|attr| self.rename(attr));
            }
            _ => {}
        }
    }
}
