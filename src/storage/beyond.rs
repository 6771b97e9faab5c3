//! What NFSv3 has no procedure for and a local file system can do; named as NFSv4.2 names it (RFC 7862, RFC 8276). A mount
//! whose limits do not announce it answers `NotSupp`.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::base::{Name, Proc, Status, Time};

use super::call::PENDING;
use super::{Attr, AttrChange, Call, Kind, Node, Op, Out, Page, SetTime};

/// How GETXATTR and REMOVEXATTR end when the object has no such attribute: NFS4ERR_NOXATTR (RFC 8276), ENODATA on Linux.
pub const NO_XATTR: Status = Status::Errno(61);

/// Which of these a mount can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// SEEK tells data from holes.
    pub holes: bool,
    /// COPY from files that a mount of the same kind has lent.
    pub copies: bool,
    /// Extended attributes, and ACLs as `system.posix_acl_access` and `system.posix_acl_default`.
    pub xattrs: bool,
    /// What is read back may come from this host's memory until IO_ADVISE has it dropped.
    pub caches: bool,
    /// COPY_FILES: many files of a directory by one call.
    pub bulk: bool,
    /// CLEAR, the same of removals.
    pub clears: bool,
    /// What is written cannot be read back: nothing is. What was made may be forgotten.
    pub forgets: bool,
}

impl Extras {
    /// What both can do, and what either keeps in memory.
    pub fn and(self, other: Extras) -> Extras {
        Extras {
            holes: self.holes && other.holes,
            copies: self.copies && other.copies,
            xattrs: self.xattrs && other.xattrs,
            caches: self.caches || other.caches,
            bulk: self.bulk && other.bulk,
            clears: self.clears && other.clears,
            forgets: self.forgets || other.forgets,
        }
    }
}

/// What SEEK looks for (RFC 7862 15.11, data_content4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the RFC's
pub enum Sought {
    Data,
    Hole,
}

/// A file of one mount, open for another mount of the same kind to copy from.
#[derive(Clone)]
pub struct Lent {
    /// What only a mount of that kind knows.
    pub file: Arc<dyn Any + Send + Sync>,
    /// What it was when it was opened, where that is known.
    pub attr: Option<Attr>,
}

impl fmt::Debug for Lent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lent")
    }
}

/// What tells that a file's content is what it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // fattr3's fields
pub struct Was {
    pub size: u64,
    pub mtime: Time,
}

impl From<&Attr> for Was {
    fn from(attr: &Attr) -> Was {
        Was { size: attr.size, mtime: attr.mtime }
    }
}

/// Which of a directory's files COPY_FILES copies, and with what attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Larger files are left.
    pub size_max: u64,
    /// Files of so many bytes and more are left that take less room than they have bytes.
    pub hole_min: u64,
    /// Files with other names are left.
    pub alone: bool,
    /// Files with extended attributes are left.
    pub bare: bool,
    /// The permission bits that a copy gets of its source's.
    pub mode_mask: u32,
    /// The permission bits that the umask takes off, where a copy's mode is what the system makes of it.
    pub masked: Option<u32>,
    /// A copy gets its source's owner.
    pub uid: bool,
    /// And its group.
    pub gid: bool,
    /// Or it gets one of these, if that is its source's.
    pub groups: Arc<[u32]>,
    /// And its times.
    pub times: bool,
}

impl Rule {
    /// What a copy of such a file is made with; none of what is left: of all that is no file, or has set-id or sticky bits, as well.
    pub fn change(&self, attr: &Attr) -> Option<AttrChange> {
        let has_holes = attr.used < attr.size && attr.size >= self.hole_min;
        let is_plain = attr.kind == Kind::File && attr.mode & 0o7000 == 0;
        if !is_plain || attr.size > self.size_max || has_holes || (self.alone && attr.nlink > 1) {
            return None;
        }
        let time = |time| if self.times { SetTime::At(time) } else { SetTime::Keep };
        Some(AttrChange {
            mode: Some(attr.mode & self.mode_mask),
            uid: self.uid.then_some(attr.uid),
            gid: (self.gid || self.groups.contains(&attr.gid)).then_some(attr.gid),
            size: None,
            atime: time(attr.atime),
            mtime: time(attr.mtime),
            masked: self.masked.map(|mask| attr.mode & mask),
        })
    }
}

/// What became of a directory's files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// So many of the names, from the first on, were dealt with.
    pub seen: usize,
    /// Bytes of those that were copied.
    pub bytes: u64,
    /// Those of them that were not copied, in the order of the names.
    pub left: Vec<Left>,
}

impl Copied {
    /// How many were copied.
    pub fn files(&self) -> u64 {
        (self.seen - self.left.len()) as u64
    }

    /// How many were tried in vain.
    pub fn failed(&self) -> u64 {
        self.left.iter().filter(|left| left.tried).count() as u64
    }
}

/// A file that was not copied, and of which nothing was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Its place among the names.
    pub at: usize,
    /// What it is; none where it could not be opened.
    pub attr: Option<Attr>,
    /// It was to be copied, and something failed.
    pub tried: bool,
}

/// The work of a call beyond NFSv3.
#[derive(Debug)]
#[allow(missing_docs)] // the arguments are the RFCs'
pub enum Beyond<'a> {
    /// The first data or hole at or after `offset`; the file's end is a hole. `NxIo` when there is none, also for a hole
    /// from the file's end on. What is data is the storage's to say: zeros may be either.
    Seek { node: Node, offset: u64, what: Sought, out: Out<u64> },
    /// Copies up to `count` bytes of `from`, shared where the file system can; `out` is how many, 0 at the end of `from`.
    /// Written as by an UNSTABLE WRITE: COMMIT makes it safe. `NotSupp` where this pair cannot.
    Copy { from: Lent, from_offset: u64, node: Node, offset: u64, count: u64, out: Out<u64> },
    /// Makes `name` a whole copy of `from`, with the mode, owner and times of `change`; `out` is the new file and its id. All or
    /// nothing: EXIST when the name is there, NOT_SYNC when `from` is or becomes another than `was`, NOTSUPP when it has extended
    /// attributes that `bare` rules out; after any error nothing was made. Safe as by a FILE_SYNC WRITE.
    CopyFile { from: Lent, was: Was, bare: bool, dir: Node, name: Name, change: AttrChange, out: Out<(Node, u64)> },
    /// A whole COPY of each of these files of a directory into `dir`, under its own name, where `rule` says so; `from` is the lent directory.
    /// Each as by COPY_FILE, and counted as one COPY; it may end before the last of them, after as long as a run should take to stop.
    CopyFiles { from: Lent, names: Vec<Name>, rule: Rule, dir: Node, out: Out<Copied> },
    /// This host forgets what it holds of the file in memory (IO_ADVISE4_DONTNEED), so that READ asks the storage. Data
    /// not yet there is sent first, and the error of that reported.
    IoAdvise { node: Node, out: Out<()> },
    /// READDIRPLUS of the first page with a REMOVE of each entry on it that is no directory, where the mount makes no request of each:
    /// what is on the page is what is left, the rest is `gone`, also when the listing ends with an error. Left is what else has to be
    /// looked at: a directory, what is of an unknown kind or has a client's name for an open file, and all after a REMOVE that failed,
    /// which tells why when it is tried again, or after as long as a run should take to stop. Counted as those procedures.
    Clear { dir: Node, bytes_max: u32, gone: u64, out: Out<Page> },
    /// The names of the attributes that a caller may read, `system.posix_acl_*` among them, sorted. As the other three: of
    /// the object itself, also when it is a symlink.
    ListXattrs { node: Node, out: Out<Vec<Vec<u8>>> },
    /// An attribute's value; `NO_XATTR` when there is none of that name.
    GetXattr { node: Node, name: &'a [u8], out: Out<Vec<u8>> },
    /// Makes an attribute or gives it another value.
    SetXattr { node: Node, name: &'a [u8], value: &'a [u8], out: Out<()> },
    /// Takes an attribute away; `NO_XATTR` when there is none of that name.
    RemoveXattr { node: Node, name: &'a [u8], out: Out<()> },
}

impl Beyond<'_> {
    /// The operation this is.
    pub fn proc(&self) -> Proc {
        match self {
            Beyond::Seek { .. } => Proc::Seek,
            Beyond::Copy { .. } | Beyond::CopyFile { .. } | Beyond::CopyFiles { .. } => Proc::Copy,
            Beyond::IoAdvise { .. } => Proc::IoAdvise,
            Beyond::Clear { .. } => Proc::ReadDirPlus,
            Beyond::ListXattrs { .. } => Proc::ListXattrs,
            Beyond::GetXattr { .. } => Proc::GetXattr,
            Beyond::SetXattr { .. } => Proc::SetXattr,
            Beyond::RemoveXattr { .. } => Proc::RemoveXattr,
        }
    }
}

/// One constructor for each operation, with the outcome pending.
#[allow(missing_docs)] // the operations are described at `Beyond`
impl<'a> Call<'a> {
    pub fn seek(node: &Node, offset: u64, what: Sought) -> Self {
        Op::Beyond(Beyond::Seek { node: node.clone(), offset, what, out: Err(PENDING) }).into()
    }
    pub fn copy(from: &Lent, from_offset: u64, node: &Node, offset: u64, count: u64) -> Self {
        let (from, node) = (from.clone(), node.clone());
        Op::Beyond(Beyond::Copy { from, from_offset, node, offset, count, out: Err(PENDING) }).into()
    }
    pub fn copy_file(from: Lent, was: Was, bare: bool, dir: &Node, name: &Name, change: AttrChange) -> Self {
        let (dir, name) = (dir.clone(), name.clone());
        Op::Beyond(Beyond::CopyFile { from, was, bare, dir, name, change, out: Err(PENDING) }).into()
    }
    pub fn copy_files(from: Lent, names: Vec<Name>, rule: Rule, dir: &Node) -> Self {
        Op::Beyond(Beyond::CopyFiles { from, names, rule, dir: dir.clone(), out: Err(PENDING) }).into()
    }
    pub fn io_advise(node: &Node) -> Self {
        Op::Beyond(Beyond::IoAdvise { node: node.clone(), out: Err(PENDING) }).into()
    }
    pub fn clear(dir: &Node, bytes_max: u32) -> Self {
        Op::Beyond(Beyond::Clear { dir: dir.clone(), bytes_max, gone: 0, out: Err(PENDING) }).into()
    }
    pub fn list_xattrs(node: &Node) -> Self {
        Op::Beyond(Beyond::ListXattrs { node: node.clone(), out: Err(PENDING) }).into()
    }
    pub fn get_xattr(node: &Node, name: &'a [u8]) -> Self {
        Op::Beyond(Beyond::GetXattr { node: node.clone(), name, out: Err(PENDING) }).into()
    }
    pub fn set_xattr(node: &Node, name: &'a [u8], value: &'a [u8]) -> Self {
        Op::Beyond(Beyond::SetXattr { node: node.clone(), name, value, out: Err(PENDING) }).into()
    }
    pub fn remove_xattr(node: &Node, name: &'a [u8]) -> Self {
        Op::Beyond(Beyond::RemoveXattr { node: node.clone(), name, out: Err(PENDING) }).into()
    }
}
