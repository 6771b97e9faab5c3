//! The archive of an imagined tree, as `partar -c` would write it: any byte of it is answered by arithmetic, none is kept.

use std::io;

use crate::archive::write::{self, Format};
use crate::archive::{Member, MemberKind, ReadAt};
use crate::base::Time;
use crate::mounts::imagined::{Tree, dir_name, file_name, top_name};

/// What every byte of a file is: not zero, so that no block is taken for a hole.
const FILL: u8 = b'i';

/// The archive.
pub struct ImaginedArchive {
    tree: Tree,
    /// Bytes of the header blocks of a directory and of a file: all names of a kind are equally long.
    dir_head: u64,
    file_head: u64,
    len: u64,
}

/// What stands at an offset.
enum Part {
    /// A header's blocks.
    Head(Box<Member>),
    Data,
    Zeros,
}

fn member(path: String, kind: MemberKind, size: u64) -> Member {
    let mode = if kind == MemberKind::Dir { 0o755 } else { 0o644 };
    let mtime = Time { secs: 1_700_000_000, nanos: 0 };
    Member { path: path.into_bytes(), kind, stored: size, size, mode, mtime, ..Member::default() }
}

fn dir_member(dir: u64) -> Member {
    member(format!("{}/{}", top_name(), dir_name(dir)), MemberKind::Dir, 0)
}

fn file_member(dir: u64, file: u64, size: u64) -> Member {
    member(format!("{}/{}/{}", top_name(), dir_name(dir), file_name(file)), MemberKind::File, size)
}

fn head(member: &Member) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    write::header(member, Format::Pax, false, &mut head).map_err(io::Error::other)?;
    Ok(head)
}

impl ImaginedArchive {
    /// The archive of this tree. An error says why no archive can hold it.
    pub fn new(tree: Tree) -> io::Result<ImaginedArchive> {
        let dir_head = head(&dir_member(0))?.len() as u64;
        let file_head = head(&file_member(0, 0, tree.size))?.len() as u64;
        let mut archive = ImaginedArchive { tree, dir_head, file_head, len: 0 };
        let dirs = u128::from(dir_head) * (1 + u128::from(tree.dirs));
        let members = dirs + u128::from(archive.file_bytes()) * u128::from(tree.files_all());
        let too_large = || io::Error::other("it has more bytes than an archive can have");
        let members = u64::try_from(members).ok().filter(|bytes| *bytes < i64::MAX as u64).ok_or_else(too_large)?;
        archive.len = members + write::end(members, write::RECORD_BYTES).len() as u64;
        Ok(archive)
    }

    /// Bytes of a file's member.
    fn file_bytes(&self) -> u64 {
        self.file_head + self.tree.size + write::padding(self.tree.size) as u64
    }

    /// What stands at `offset`, how far into it that is, and how long it is.
    fn part(&self, offset: u64) -> (Part, u64, u64) {
        let Some(below) = offset.checked_sub(self.dir_head) else {
            return (Part::Head(Box::new(member(top_name().to_string(), MemberKind::Dir, 0))), offset, self.dir_head);
        };
        let dir_bytes = self.dir_head + self.tree.files * self.file_bytes();
        let dir = (below / dir_bytes).min(self.tree.dirs.saturating_sub(1));
        let below = below - dir * dir_bytes;
        let Some(files) = below.checked_sub(self.dir_head) else {
            return (Part::Head(Box::new(dir_member(dir))), below, self.dir_head);
        };
        let file = files / self.file_bytes();
        if file >= self.tree.files_in(dir) {
            return (Part::Zeros, 0, self.len - offset);
        }
        let at = files % self.file_bytes();
        let Some(data) = at.checked_sub(self.file_head) else {
            return (Part::Head(Box::new(file_member(dir, file, self.tree.size))), at, self.file_head);
        };
        match data.checked_sub(self.tree.size) {
            None => (Part::Data, data, self.tree.size),
            Some(pad) => (Part::Zeros, pad, write::padding(self.tree.size) as u64),
        }
    }
}

impl ReadAt for ImaginedArchive {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < buf.len() && offset + (done as u64) < self.len {
            let (part, within, bytes) = self.part(offset + done as u64);
            let most = usize::try_from(bytes - within).unwrap_or(usize::MAX);
            let room = &mut buf[done..];
            let n = most.min(room.len());
            match part {
                Part::Head(member) => {
                    let from = usize::try_from(within).unwrap_or(0);
                    room[..n].copy_from_slice(&head(&member)?[from..from + n]);
                }
                Part::Data => room[..n].fill(FILL),
                Part::Zeros => room[..n].fill(0),
            }
            done += n;
        }
        Ok(done)
    }

    fn len(&self) -> u64 {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::archive::{Archive, Input, Options};

    #[test]
    fn the_archive_has_the_trees_members_wherever_it_is_read_from() {
        for (tree, len) in
            [(Tree::new(7, 3, 1000), 20_480), (Tree::new(1, 9, 512), 10_240), (Tree::new(4, 2, 0), 10_240)]
        {
            let archive = ImaginedArchive::new(tree).unwrap();
            assert_eq!(archive.len(), len, "{tree:?}");
            let mut whole = vec![1; 40_000];
            assert_eq!(archive.read_at(0, &mut whole).unwrap() as u64, len);
            whole.truncate(usize::try_from(len).unwrap());
            // In pieces of odd sizes it is the same.
            let mut pieces = Vec::new();
            let mut piece = [1; 331];
            loop {
                match archive.read_at(pieces.len() as u64, &mut piece).unwrap() {
                    0 => break,
                    n => pieces.extend_from_slice(&piece[..n]),
                }
            }
            assert!(pieces == whole, "{tree:?}");
            let mut read = Archive::new(Input::Seekable(Arc::new(archive)), Options::default());
            let mut paths = Vec::new();
            while let Some(member) = read.next().unwrap() {
                let mut data = vec![0; 2000];
                let n = if member.kind == MemberKind::File { read.read(&mut data).unwrap() } else { 0 };
                assert!(data[..n].iter().all(|byte| *byte == FILL));
                assert_eq!((n as u64, member.size), (member.stored, member.stored));
                paths.push(String::from_utf8(member.path).unwrap());
            }
            assert_eq!(paths.len() as u64, 1 + tree.dirs + tree.files_all(), "{paths:?}");
            let last = format!("tree/{}/{}", dir_name(tree.dirs - 1), file_name(tree.files_last - 1));
            assert_eq!((paths[0].trim_end_matches('/'), paths.last()), ("tree", Some(&last)));
        }
    }

    #[test]
    fn what_no_archive_can_hold_is_refused() {
        let error = ImaginedArchive::new(Tree::new(1 << 40, 1000, 1 << 40)).err().unwrap();
        assert!(error.to_string().contains("more bytes"), "{error}");
    }
}
