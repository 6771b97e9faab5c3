//! Answers to calls that NFSv3 does not have.

use std::time::{Duration, Instant};

use crate::base::{Name, Status};
use crate::storage::{
    Attr, AttrChange, Beyond, Call, Copied, Found, Kind, Left, Lent, Mount, Node, Out, Rule, Sought, Was,
};

use super::only_files;
use crate::mounts::shadow::world::{apply, extend};
use crate::mounts::shadow::{LentDir, LentFile, ShadowMount};

/// ENODATA: what Linux says of an extended attribute that is not there.
const NO_DATA: Status = Status::Errno(61);

/// Files of COPY_FILES whose attributes are asked for together, and how long it goes on to others, as the storage's own does.
const ASKED_TOGETHER: usize = 8;
const FILES_MAX: Duration = Duration::from_millis(10);

impl ShadowMount {
    pub(super) fn beyond(&self, beyond: &mut Beyond<'_>, real: Option<Out<Found>>) {
        let extras = self.limits().extras;
        match beyond {
            Beyond::Seek { node, offset, what, out } => {
                *out = if extras.holes { self.seek(node, *offset, *what) } else { Err(Status::NotSupp) };
            }
            Beyond::Copy { from, from_offset, node, offset, count, out } => {
                let copy = || self.copy(from, *from_offset, node, *offset, *count);
                *out = if extras.copies { copy() } else { Err(Status::NotSupp) };
            }
            Beyond::CopyFile { from, was, bare, dir, name, change, out } => {
                let copy = || self.copy_file((from, *was, *bare), (dir, name), change, real);
                *out = if extras.copies { copy() } else { Err(Status::NotSupp) };
            }
            Beyond::IoAdvise { out, .. } => *out = if extras.caches { Ok(()) } else { Err(Status::NotSupp) },
            Beyond::Clear { out, .. } => *out = Err(Status::NotSupp),
            Beyond::CopyFiles { from, names, rule, dir, out } => {
                *out = if extras.bulk { self.copy_files(from, names, rule, dir) } else { Err(Status::NotSupp) };
            }
            Beyond::ListXattrs { out, .. } => *out = if extras.xattrs { Ok(Vec::new()) } else { Err(Status::NotSupp) },
            Beyond::GetXattr { out, .. } => *out = Err(if extras.xattrs { NO_DATA } else { Status::NotSupp }),
            Beyond::SetXattr { out, .. } => *out = if extras.xattrs { Ok(()) } else { Err(Status::NotSupp) },
            Beyond::RemoveXattr { node, out, .. } => {
                *out = match (extras.xattrs, self.is_made(node)) {
                    (false, _) => Err(Status::NotSupp),
                    (true, true) => Err(NO_DATA),
                    (true, false) => Ok(()),
                };
            }
        }
    }

    /// An invented file has no holes.
    fn seek(&self, node: &Node, offset: u64, what: Sought) -> Out<u64> {
        let attr = self.made_attr(node)?;
        only_files(attr.kind)?;
        match what {
            _ if offset >= attr.size => Err(Status::NxIo),
            Sought::Data => Ok(offset),
            Sought::Hole => Ok(attr.size),
        }
    }

    /// Of files whose attributes are asked for together. In a real directory each name has to be looked up: nothing is copied there.
    fn copy_files(&self, from: &Lent, names: &[Name], rule: &Rule, dir: &Node) -> Out<Copied> {
        let from: &LentDir = from.file.downcast_ref().ok_or(Status::NotSupp)?;
        let Node::Chain(above) = &from.dir else { return Err(Status::NotSupp) };
        self.dir(dir)?;
        let (spot, begun) = (self.spot(dir), Instant::now());
        let mut copied = Copied::default();
        for names in names.chunks(ASKED_TOGETHER) {
            if copied.seen > 0 && begun.elapsed() > FILES_MAX {
                break;
            }
            let mut calls: Vec<Call<'_>> = Vec::new();
            if spot.parent.is_some() {
                calls.extend(names.iter().map(|name| Call::get_attr(&Node::child(above, name.clone()))));
                from.mount.perform(&mut calls);
            }
            let keys: Vec<u64> = names.iter().map(|name| Node::key_below(spot.above, name)).collect();
            let mut memory = self.world.memory();
            for (at, key) in keys.into_iter().enumerate() {
                let attr = calls.get(at).and_then(|call| call.attr().ok());
                let usual = attr.and_then(|attr| Some((attr.size, rule.change(&attr)?)));
                let made = usual.map(|(size, change)| {
                    let more = |made: &mut Attr| {
                        extend(made, size, size);
                        apply(made, &change); // times after the data
                    };
                    self.make_in(&mut memory, (&spot, key), (Kind::File, &change), None, more).map(|_| size)
                });
                match made {
                    Some(Ok(bytes)) => copied.bytes += bytes,
                    tried => copied.left.push(Left { at: copied.seen + at, attr, tried: tried.is_some() }),
                }
            }
            copied.seen += names.len();
        }
        Ok(copied)
    }

    fn copy_file(
        &self,
        (from, was, bare): (&Lent, Was, bool),
        (dir, name): (&Node, &Name),
        change: &AttrChange,
        real: Option<Out<Found>>,
    ) -> Out<(Node, u64)> {
        let from: &LentFile = from.file.downcast_ref().ok_or(Status::NotSupp)?;
        if bare && !from.bare {
            return Err(Status::NotSupp);
        }
        if from.was.is_some_and(|is| is != was) {
            return Err(Status::NotSync);
        }
        let found = self.make(dir, name, Kind::File, change, real, |attr| {
            extend(attr, was.size, was.size);
            apply(attr, change); // times after the data
        })?;
        Ok((found.node, found.attr.map_or(0, |attr| attr.fileid)))
    }

    /// Copies from what another shadow has lent; the real mount would not know it either if it were of another kind.
    fn copy(&self, from: &Lent, from_offset: u64, node: &Node, offset: u64, count: u64) -> Out<u64> {
        let from: &LentFile = from.file.downcast_ref().ok_or(Status::NotSupp)?;
        let count = from.was.map_or(count, |was| count.min(was.size.saturating_sub(from_offset)));
        let end = offset.checked_add(count).filter(|&end| end <= self.limits().size_max).ok_or(Status::FBig)?;
        match self.world.made(node) {
            Some(made) => {
                only_files(made.kind)?;
                self.update(made, |attr| extend(attr, end, count));
            }
            None => self.resize(node, |attr| extend(attr, end, count)),
        }
        Ok(count)
    }
}
