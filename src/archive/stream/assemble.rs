//! A member, of its header, of what came in front of it, and of a sparse file's map behind it.

use std::mem;

use crate::archive::header::{BLOCK_BYTES, Fields};
use crate::archive::member::{ArchiveError, Member, MemberKind, Segment};
use crate::archive::pax::{Overrides, SparseRecords};
use crate::archive::sparse::{self, NewMap, OldMap};
use crate::base::name::Shown;

use super::{Archive, Extensions, padded};

impl Archive {
    /// Completes the member of its header's other fields and of what came before it.
    pub(super) fn member(
        &mut self,
        mut fields: Fields,
        extensions: Extensions,
        member: &mut Member,
    ) -> Result<(), ArchiveError> {
        let mut bad = extensions.bad;
        let is_extended = self.has_globals || extensions.pax.is_some();
        let mut over = is_extended.then(|| if self.has_globals { self.globals.clone() } else { Overrides::default() });
        if let (Some(over), Some(records)) = (&mut over, extensions.pax)
            && let Err(reason) = over.apply(&records, &mut self.notes)
        {
            bad.get_or_insert(reason);
        }
        [(extensions.name, &mut member.path), (extensions.link, &mut member.link)].into_iter().for_each(replace);
        (member.segments, member.acl_access, member.acl_default) = (None, None, None);
        member.xattrs.clear();
        let mut sparse = SparseRecords::default();
        if let Some(over) = over {
            sparse = over.sparse;
            replace((over.path, &mut member.path));
            replace((sparse.size.and(sparse.name.take()), &mut member.path));
            replace((over.link, &mut member.link));
            replace((over.uname, &mut member.uname));
            replace((over.gname, &mut member.gname));
            replace((over.uid, &mut member.uid));
            replace((over.gid, &mut member.gid));
            replace((over.mtime, &mut member.mtime));
            replace((over.size, &mut fields.size));
            over.dev.into_iter().zip(&mut fields.dev).for_each(replace);
            let mut attributes = over.attributes;
            (member.acl_access, member.acl_default) = (attributes.acl_access.take(), attributes.acl_default.take());
            member.xattrs = attributes.into_xattrs();
        }
        let name = &member.path;
        self.name.clear();
        self.name.extend_from_slice(name);
        self.has_name = true;
        let kind = self.kind(fields.typeflag, name);
        let data = fields.size;
        let has_data = kind == MemberKind::File;
        let is_dir_by_slash = kind == MemberKind::Dir && matches!(fields.typeflag, b'\0' | b'0' | b'7');
        // Dump directories: data that has no use. All other kinds have none, and what follows is the next header.
        if matches!(fields.typeflag, b'1'..=b'6') || is_dir_by_slash {
            (self.left, self.slack) = (0, 0);
        } else {
            self.left = if has_data { data } else { 0 };
            self.slack = padded(data) - self.left;
        }
        if fields.typeflag == b'M' {
            bad.get_or_insert_with(|| continued(name));
        }
        let is_device = matches!(kind, MemberKind::Char | MemberKind::Block);
        if is_device && fields.dev.contains(&None) {
            bad.get_or_insert_with(|| "its device number has more than 32 bits".into());
        }
        (member.size, member.segments) =
            if has_data && bad.is_none() { self.shape(fields.typeflag, &mut sparse, &mut bad)? } else { (0, None) };
        if let Some(reason) = bad {
            self.slack += mem::take(&mut self.left);
            return Err(ArchiveError::BadMember { offset: self.offset, member: mem::take(&mut member.path), reason });
        }
        (member.kind, member.stored) = (kind, self.left);
        member.dev = if is_device { fields.dev.map(Option::unwrap_or_default).into() } else { (0, 0) };
        if !matches!(kind, MemberKind::HardLink | MemberKind::Symlink) {
            member.link.clear();
        }
        Ok(())
    }

    fn kind(&mut self, typeflag: u8, name: &[u8]) -> MemberKind {
        match typeflag {
            b'1' => MemberKind::HardLink,
            b'2' => MemberKind::Symlink,
            b'3' => MemberKind::Char,
            b'4' => MemberKind::Block,
            b'5' => MemberKind::Dir,
            b'6' => MemberKind::Fifo,
            b'\0' | b'0' | b'7' if name.ends_with(b"/") => MemberKind::Dir,
            b'\0' | b'0' | b'7' | b'S' | b'M' => MemberKind::File,
            b'D' => {
                self.notes.warnings.add(format!("{}: dump directory, taken as a directory", Shown(name)));
                MemberKind::Dir
            }
            _ => {
                let flag = Shown(&[typeflag]).to_string();
                self.notes.warnings.add(format!("{}: Unknown file type '{flag}', taken as a normal file", Shown(name)));
                MemberKind::File
            }
        }
    }

    /// A file's size and, if it is sparse, where its data belongs; reads the map. What is wrong with it goes to `bad`.
    fn shape(
        &mut self,
        typeflag: u8,
        sparse: &mut SparseRecords,
        bad: &mut Option<String>,
    ) -> Result<(u64, Option<Vec<Segment>>), ArchiveError> {
        let (size, segments) = if typeflag == b'S' {
            let Some(mut map) = OldMap::new(&self.block) else {
                *bad = Some("sparse file of a format that is not GNU's".into());
                return Ok((0, None));
            };
            while map.more {
                let mut block = [0; BLOCK_BYTES];
                if self.window.read_full(&mut block).map_err(|e| self.io(e))? < BLOCK_BYTES {
                    return Err(self.truncated());
                }
                map.extend(&block);
            }
            (map.size, map.segments)
        } else if let Some(size) = sparse.size {
            let segments = match (sparse.bad.take(), sparse.version) {
                (Some(reason), _) => Err(reason),
                (None, (0, _)) => Ok(mem::take(&mut sparse.map)),
                (None, (1, 0)) => self.new_map()?,
                (None, (major, minor)) => Err(format!("sparse format {major}.{minor} is not known")),
            };
            (size, segments)
        } else if sparse.any {
            (0, Err("records of a sparse file without its size".into()))
        } else {
            return Ok((self.left, None));
        };
        match segments.and_then(|segments| sparse::check(segments, size, self.left)) {
            Ok(segments) => Ok((size, Some(segments))),
            Err(reason) => {
                *bad = Some(reason);
                Ok((0, None))
            }
        }
    }

    /// Reads the map in front of the data.
    fn new_map(&mut self) -> Result<Result<Vec<Segment>, String>, ArchiveError> {
        let mut map = NewMap::default();
        while self.left >= BLOCK_BYTES as u64 {
            let mut block = [0; BLOCK_BYTES];
            if self.window.read_full(&mut block).map_err(|e| self.io(e))? < BLOCK_BYTES {
                return Err(self.truncated());
            }
            self.left -= BLOCK_BYTES as u64;
            match map.extend(&block) {
                Ok(false) => {}
                Ok(true) => return Ok(Ok(map.into_segments())),
                Err(reason) => return Ok(Err(reason)),
            }
        }
        Ok(Err("sparse map without end".into()))
    }
}

/// Why a later part of a file cannot be given.
pub(super) fn continued(name: &[u8]) -> String {
    format!("'{}' is continued from another volume, which is not supported", Shown(name))
}

/// Puts what an extension says, if anything, in place of what the header says.
fn replace<T>((said, field): (Option<T>, &mut T)) {
    if let Some(said) = said {
        *field = said;
    }
}
