//! What an archive says: its members, and what can be wrong with it.

use std::io;

use thiserror::Error;

use crate::base::Time;
use crate::base::name::Shown;

/// What kind of file a member makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // POSIX's kinds
pub enum MemberKind {
    #[default]
    File,
    HardLink,
    Symlink,
    Dir,
    Fifo,
    Char,
    Block,
}

/// One member of an archive. Names are bytes as the archive has them: unchecked, possibly absolute, with `..`, or with
/// a directory's trailing slash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// Where the member is to be put.
    pub path: Vec<u8>,
    /// What it is.
    pub kind: MemberKind,
    /// Bytes of data in the archive, those that `Archive::read` gives: of files only, without a sparse map.
    pub stored: u64,
    /// Bytes of the file when extracted; differs from `stored` only for sparse files.
    pub size: u64,
    /// The 12 permission bits.
    pub mode: u32,
    /// Owner's number; one outside 32 bits was replaced by 65534 (nobody), with a warning.
    pub uid: u32,
    /// Group's number, as `uid`.
    pub gid: u32,
    /// Owner's name, empty where the archive has none.
    pub uname: Vec<u8>,
    /// Group's name, empty where the archive has none.
    pub gname: Vec<u8>,
    /// Time of last modification.
    pub mtime: Time,
    /// A symbolic link's text or the path of a hard link's target; else empty.
    pub link: Vec<u8>,
    /// A device's major and minor number; else zeros.
    pub dev: (u32, u32),
    /// For a sparse file where the stored data belongs: in file order, apart, none empty, within `size`, their lengths
    /// summing to `stored`. All else is holes.
    pub segments: Option<Vec<Segment>>,
    /// Extended attributes, each once: names as the file system spells them (`user.x`, `security.selinux`), and values.
    pub xattrs: Vec<(Vec<u8>, Vec<u8>)>,
    /// The access ACL as text (`user::rwx`, ... on lines, or parted by commas), where the archive has one.
    pub acl_access: Option<Vec<u8>>,
    /// A directory's default ACL as text.
    pub acl_default: Option<Vec<u8>>,
}

/// A run of data in a sparse file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Bytes.
    pub len: u64,
}

/// What is wrong with an archive. Offsets are bytes in the uncompressed archive.
#[derive(Debug, Error)]
pub enum ArchiveError {
    /// The first block is no header, or there is none.
    #[error("This does not look like a tar archive")]
    NotAnArchive,
    /// The first block says that the archive's writer was ended: holes in it may read as its end.
    #[error("The archive is not complete: what wrote it was ended before it had written all of it")]
    Unfinished,
    /// A block that should be a header is none. Reported once; the next `next()` goes on at the next valid header.
    #[error("Skipping to next header: {reason} in the header at byte {offset}")]
    BadHeader {
        /// Of the block.
        offset: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// This member cannot be given as the archive means it, and is left out; the next `next()` goes on behind it.
    #[error("{}: {reason} (member at byte {offset})", Shown(member))]
    BadMember {
        /// Of the member's first block.
        offset: u64,
        /// Its path.
        member: Vec<u8>,
        /// What is wrong with it.
        reason: String,
    },
    /// The archive ends inside a header or a member's data.
    #[error("{}Unexpected EOF in archive at byte {offset}", prefix(member))]
    Truncated {
        /// Where the archive ends.
        offset: u64,
        /// The member it ends in, if its header was still there.
        member: Option<Vec<u8>>,
    },
    /// The archive ends behind a member, and there is no end mark: a writer that was killed leaves this.
    #[error("The archive has no end: nothing follows byte {offset}, and members may be missing")]
    NoEnd {
        /// Where the archive ends.
        offset: u64,
    },
    /// The input could not be read or decompressed.
    #[error("{}cannot read the archive at byte {offset}: {source}", prefix(member))]
    Io {
        /// Up to where it was read.
        offset: u64,
        /// The member being read.
        member: Option<Vec<u8>>,
        /// Why; a truncated compressed stream is an `UnexpectedEof`.
        source: io::Error,
    },
}

impl ArchiveError {
    /// True if nothing can follow: `next()` answers `None` from here on. After any other error, `next()` goes on.
    pub fn is_fatal(&self) -> bool {
        matches!(self, ArchiveError::Truncated { .. } | ArchiveError::NoEnd { .. } | ArchiveError::Io { .. })
    }
}

fn prefix(member: &Option<Vec<u8>>) -> String {
    member.as_ref().map_or_else(String::new, |m| format!("{}: ", Shown(m)))
}
