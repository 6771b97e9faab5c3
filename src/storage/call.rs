//! One NFSv3 procedure's worth of work as a value, with a typed place for its outcome.

use crate::base::{Name, Proc, Status};

use super::beyond::{Beyond, Copied};
use super::trail::Trail;
use super::{Attr, AttrChange, Kind, Node};

/// The outcome of a call: `Err(Status::Pending)` until a mount has filled it in.
pub type Out<T> = Result<T, Status>;

/// The server's instance (RFC 1813 3.3.7, writeverf3): when it changes, unstable data written under the old one may be lost.
pub type Verifier = u64;

/// How CREATE treats an existing name (createhow3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Opens what is there; a size of 0 in the attributes empties it.
    Unchecked,
    /// Fails with EXIST.
    Guarded,
    /// Fails with EXIST unless this very verifier made it; the attributes are not set.
    Exclusive(u64),
}

/// How safe written data is before the reply (stable_how), in rising order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)] // stable_how's values
pub enum Stable {
    Unstable,
    DataSync,
    FileSync,
}

/// What MKNOD makes; devices carry (major, minor).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum Special {
    Char(u32, u32),
    Block(u32, u32),
    Socket,
    Fifo,
}

/// What a listing returns with each name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// READDIR: names and file ids.
    Names,
    /// Types as well, and nodes where that costs nothing more: READDIRPLUS; locally what the directory itself knows.
    Types,
    /// READDIRPLUS: attributes and nodes as well, where the server gives them.
    Attributes,
}

/// Where a listing goes on: 0, 0 at the start, then as the last page said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cookie {
    /// The last entry seen.
    pub position: u64,
    /// The directory's cookie verifier.
    pub verifier: u64,
    /// What a volume knows of the listing so far.
    pub trail: Trail,
}

/// An object found or made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The object.
    pub node: Node,
    /// Its attributes, when the server gave them.
    pub attr: Option<Attr>,
}

/// What WRITE answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Bytes taken, from the start of the data; may be fewer than given, never 0 for data that is not empty.
    pub count: u32,
    /// How safe they are.
    pub stable: Stable,
    /// The server's instance.
    pub verifier: Verifier,
}

/// One entry of a listing.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The name in its directory; `.` and `..` are left out by every mount.
    pub name: Name,
    /// The file id.
    pub fileid: u64,
    /// The cookie to go on after this entry.
    pub position: u64,
    /// The object, when the listing carried it.
    pub node: Option<Node>,
    /// The attributes, when the listing carried them.
    pub attr: Option<Attr>,
    /// The type, when the listing carried it or the attributes.
    pub kind: Option<Kind>,
}

impl Entry {
    /// The type, as far as the listing told it.
    pub fn kind_told(&self) -> Option<Kind> {
        self.attr.as_ref().map(|attr| attr.kind).or(self.kind)
    }
}

/// One page of a listing.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The entries; may be empty before the end.
    pub entries: Vec<Entry>,
    /// Where to go on.
    pub next: Cookie,
    /// True when nothing follows.
    pub end: bool,
}

impl Page {
    /// The server's listing does not go on after this page, which was asked for `from` there: the next would be the same, or one that
    /// was listed before.
    pub fn is_stuck(&self, from: Cookie) -> bool {
        !self.end && (self.next.position == from.position || self.next.trail.goes_round)
    }
}

/// FSSTAT's answer, in bytes and files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // fsstat3's fields
pub struct Space {
    pub total_bytes: u64,
    pub free_bytes: u64,
    pub available_bytes: u64,
    pub total_files: u64,
    pub free_files: u64,
    pub available_files: u64,
}

/// The work of a call. The names are RFC 1813's procedures; `out` is what came of it.
#[derive(Debug)]
#[allow(missing_docs)] // the arguments are the RFC's
pub enum Op<'a> {
    /// NULL: does nothing; asks whether the server answers.
    Null {
        out: Out<()>,
    },
    GetAttr {
        node: Node,
        out: Out<Attr>,
    },
    SetAttr {
        node: Node,
        change: AttrChange,
        out: Out<Option<Attr>>,
    },
    Lookup {
        dir: Node,
        name: Name,
        out: Out<Found>,
    },
    /// `want` and the answer are ACCESS3 bits.
    Access {
        node: Node,
        want: u32,
        out: Out<u32>,
    },
    ReadLink {
        node: Node,
        out: Out<Vec<u8>>,
    },
    /// Reads up to `count` bytes into `buf`, which is emptied first and holds exactly what was read; `out` is "end of file".
    /// The buffer is the caller's to reuse. `attr` is what the file was right after, where the mount knows that for nothing.
    Read {
        node: Node,
        offset: u64,
        count: u32,
        buf: Vec<u8>,
        attr: Option<Attr>,
        out: Out<bool>,
    },
    Write {
        node: Node,
        offset: u64,
        data: &'a [u8],
        stable: Stable,
        out: Out<Written>,
    },
    Create {
        dir: Node,
        name: Name,
        how: How,
        change: AttrChange,
        out: Out<Found>,
    },
    MkDir {
        dir: Node,
        name: Name,
        change: AttrChange,
        out: Out<Found>,
    },
    Symlink {
        dir: Node,
        name: Name,
        target: &'a [u8],
        change: AttrChange,
        out: Out<Found>,
    },
    MkNod {
        dir: Node,
        name: Name,
        special: Special,
        change: AttrChange,
        out: Out<Found>,
    },
    Remove {
        dir: Node,
        name: Name,
        out: Out<()>,
    },
    RmDir {
        dir: Node,
        name: Name,
        out: Out<()>,
    },
    Rename {
        from_dir: Node,
        from: Name,
        to_dir: Node,
        to: Name,
        /// The file id of what is renamed, where it is known: by it a repeated call knows its own work.
        fileid: Option<u64>,
        out: Out<()>,
    },
    /// Makes `name` in `dir` another name of `node`.
    Link {
        node: Node,
        dir: Node,
        name: Name,
        out: Out<Option<Attr>>,
    },
    /// `bytes_max` bounds the answer's size on the wire.
    ReadDir {
        dir: Node,
        from: Cookie,
        want: Want,
        bytes_max: u32,
        out: Out<Page>,
    },
    FsStat {
        node: Node,
        out: Out<Space>,
    },
    /// Asks the mount's limits anew.
    FsInfo {
        node: Node,
        out: Out<super::Limits>,
    },
    /// The longest name the server takes, in bytes.
    PathConf {
        node: Node,
        out: Out<u32>,
    },
    /// Makes unstable data safe; `count` 0 is "to the end".
    Commit {
        node: Node,
        offset: u64,
        count: u32,
        out: Out<Verifier>,
    },
    /// What NFSv3 has no procedure for.
    Beyond(Beyond<'a>),
}

/// A call: the work, and whether it may have been carried out before.
#[derive(Debug)]
pub struct Call<'a> {
    /// The work and its outcome.
    pub op: Op<'a>,
    /// True when an earlier try's reply was lost, so that EXIST or NOENT may be that try's own doing.
    pub repeated: bool,
    /// True when the mount could not see the way to the object: what another mount of the export made or replaced is seen late
    /// by a kernel's client. Nothing was carried out, and another mount of the volume may see it.
    pub unseen: bool,
}

pub(super) const PENDING: Status = Status::Pending;

impl<'a> From<Op<'a>> for Call<'a> {
    fn from(op: Op<'a>) -> Call<'a> {
        Call { op, repeated: false, unseen: false }
    }
}

impl Default for Call<'_> {
    fn default() -> Self {
        Op::Null { out: Err(PENDING) }.into()
    }
}

/// One constructor for each procedure, with the outcome pending.
#[allow(missing_docs)] // the procedures are described at `Op`
impl<'a> Call<'a> {
    pub fn get_attr(node: &Node) -> Self {
        Op::GetAttr { node: node.clone(), out: Err(PENDING) }.into()
    }
    pub fn set_attr(node: &Node, change: AttrChange) -> Self {
        Op::SetAttr { node: node.clone(), change, out: Err(PENDING) }.into()
    }
    pub fn lookup(dir: &Node, name: &Name) -> Self {
        Op::Lookup { dir: dir.clone(), name: name.clone(), out: Err(PENDING) }.into()
    }
    pub fn access(node: &Node, want: u32) -> Self {
        Op::Access { node: node.clone(), want, out: Err(PENDING) }.into()
    }
    pub fn read_link(node: &Node) -> Self {
        Op::ReadLink { node: node.clone(), out: Err(PENDING) }.into()
    }
    pub fn read(node: &Node, offset: u64, count: u32, mut buf: Vec<u8>) -> Self {
        buf.clear(); // here, for a call that fails on its way to the mount holds nothing either
        Op::Read { node: node.clone(), offset, count, buf, attr: None, out: Err(PENDING) }.into()
    }
    pub fn write(node: &Node, offset: u64, data: &'a [u8], stable: Stable) -> Self {
        Op::Write { node: node.clone(), offset, data, stable, out: Err(PENDING) }.into()
    }
    pub fn create(dir: &Node, name: &Name, how: How, change: AttrChange) -> Self {
        Op::Create { dir: dir.clone(), name: name.clone(), how, change, out: Err(PENDING) }.into()
    }
    pub fn mkdir(dir: &Node, name: &Name, change: AttrChange) -> Self {
        Op::MkDir { dir: dir.clone(), name: name.clone(), change, out: Err(PENDING) }.into()
    }
    pub fn symlink(dir: &Node, name: &Name, target: &'a [u8], change: AttrChange) -> Self {
        Op::Symlink { dir: dir.clone(), name: name.clone(), target, change, out: Err(PENDING) }.into()
    }
    pub fn mknod(dir: &Node, name: &Name, special: Special, change: AttrChange) -> Self {
        Op::MkNod { dir: dir.clone(), name: name.clone(), special, change, out: Err(PENDING) }.into()
    }
    pub fn remove(dir: &Node, name: &Name) -> Self {
        Op::Remove { dir: dir.clone(), name: name.clone(), out: Err(PENDING) }.into()
    }
    pub fn rmdir(dir: &Node, name: &Name) -> Self {
        Op::RmDir { dir: dir.clone(), name: name.clone(), out: Err(PENDING) }.into()
    }
    pub fn rename(from_dir: &Node, from: &Name, to_dir: &Node, to: &Name) -> Self {
        Call::rename_of(None, (from_dir, from), (to_dir, to))
    }
    /// RENAME of the object with this file id.
    pub fn rename_of(fileid: Option<u64>, (from_dir, from): (&Node, &Name), (to_dir, to): (&Node, &Name)) -> Self {
        let (from_dir, from, to_dir, to) = (from_dir.clone(), from.clone(), to_dir.clone(), to.clone());
        Op::Rename { from_dir, from, to_dir, to, fileid, out: Err(PENDING) }.into()
    }
    pub fn link(node: &Node, dir: &Node, name: &Name) -> Self {
        Op::Link { node: node.clone(), dir: dir.clone(), name: name.clone(), out: Err(PENDING) }.into()
    }
    pub fn read_dir(dir: &Node, from: Cookie, want: Want, bytes_max: u32) -> Self {
        Op::ReadDir { dir: dir.clone(), from, want, bytes_max, out: Err(PENDING) }.into()
    }
    pub fn fs_stat(node: &Node) -> Self {
        Op::FsStat { node: node.clone(), out: Err(PENDING) }.into()
    }
    pub fn fs_info(node: &Node) -> Self {
        Op::FsInfo { node: node.clone(), out: Err(PENDING) }.into()
    }
    pub fn path_conf(node: &Node) -> Self {
        Op::PathConf { node: node.clone(), out: Err(PENDING) }.into()
    }
    pub fn commit(node: &Node, offset: u64, count: u32) -> Self {
        Op::Commit { node: node.clone(), offset, count, out: Err(PENDING) }.into()
    }
}

/// Applies one expression to the `out` of whichever procedure this is.
macro_rules! each_out {
    ($op:expr, $out:ident => $body:expr) => {
        match $op {
            Op::Null { out: $out } => $body,
            Op::GetAttr { out: $out, .. } => $body,
            Op::SetAttr { out: $out, .. } => $body,
            Op::Lookup { out: $out, .. } => $body,
            Op::Access { out: $out, .. } => $body,
            Op::ReadLink { out: $out, .. } => $body,
            Op::Read { out: $out, .. } => $body,
            Op::Write { out: $out, .. } => $body,
            Op::Create { out: $out, .. } => $body,
            Op::MkDir { out: $out, .. } => $body,
            Op::Symlink { out: $out, .. } => $body,
            Op::MkNod { out: $out, .. } => $body,
            Op::Remove { out: $out, .. } => $body,
            Op::RmDir { out: $out, .. } => $body,
            Op::Rename { out: $out, .. } => $body,
            Op::Link { out: $out, .. } => $body,
            Op::ReadDir { out: $out, .. } => $body,
            Op::FsStat { out: $out, .. } => $body,
            Op::FsInfo { out: $out, .. } => $body,
            Op::PathConf { out: $out, .. } => $body,
            Op::Commit { out: $out, .. } => $body,
            Op::Beyond(Beyond::Seek { out: $out, .. }) => $body,
            Op::Beyond(Beyond::Copy { out: $out, .. }) => $body,
            Op::Beyond(Beyond::CopyFile { out: $out, .. }) => $body,
            Op::Beyond(Beyond::CopyFiles { out: $out, .. }) => $body,
            Op::Beyond(Beyond::IoAdvise { out: $out, .. }) => $body,
            Op::Beyond(Beyond::Clear { out: $out, .. }) => $body,
            Op::Beyond(Beyond::ListXattrs { out: $out, .. }) => $body,
            Op::Beyond(Beyond::GetXattr { out: $out, .. }) => $body,
            Op::Beyond(Beyond::SetXattr { out: $out, .. }) => $body,
            Op::Beyond(Beyond::RemoveXattr { out: $out, .. }) => $body,
        }
    };
}

impl Call<'_> {
    /// The procedure this call is.
    pub fn proc(&self) -> Proc {
        match &self.op {
            Op::Null { .. } => Proc::Null,
            Op::GetAttr { .. } => Proc::GetAttr,
            Op::SetAttr { .. } => Proc::SetAttr,
            Op::Lookup { .. } => Proc::Lookup,
            Op::Access { .. } => Proc::Access,
            Op::ReadLink { .. } => Proc::ReadLink,
            Op::Read { .. } => Proc::Read,
            Op::Write { .. } => Proc::Write,
            Op::Create { .. } => Proc::Create,
            Op::MkDir { .. } => Proc::MkDir,
            Op::Symlink { .. } => Proc::Symlink,
            Op::MkNod { .. } => Proc::MkNod,
            Op::Remove { .. } => Proc::Remove,
            Op::RmDir { .. } => Proc::RmDir,
            Op::Rename { .. } => Proc::Rename,
            Op::Link { .. } => Proc::Link,
            Op::ReadDir { want: Want::Names, .. } => Proc::ReadDir,
            Op::ReadDir { want: Want::Types | Want::Attributes, .. } => Proc::ReadDirPlus,
            Op::FsStat { .. } => Proc::FsStat,
            Op::FsInfo { .. } => Proc::FsInfo,
            Op::PathConf { .. } => Proc::PathConf,
            Op::Commit { .. } => Proc::Commit,
            Op::Beyond(beyond) => beyond.proc(),
        }
    }

    /// The object that it is about, known by a node rather than by a name in a directory.
    pub fn node(&self) -> Option<&Node> {
        match &self.op {
            Op::GetAttr { node, .. }
            | Op::SetAttr { node, .. }
            | Op::Access { node, .. }
            | Op::ReadLink { node, .. }
            | Op::Read { node, .. }
            | Op::Write { node, .. }
            | Op::Link { node, .. }
            | Op::FsStat { node, .. }
            | Op::FsInfo { node, .. }
            | Op::PathConf { node, .. }
            | Op::Commit { node, .. } => Some(node),
            _ => None,
        }
    }

    /// The directory that it works in, and for RENAME the other one.
    pub fn dirs(&self) -> (Option<&Node>, Option<&Node>) {
        match &self.op {
            Op::Lookup { dir, .. }
            | Op::Create { dir, .. }
            | Op::MkDir { dir, .. }
            | Op::Symlink { dir, .. }
            | Op::MkNod { dir, .. }
            | Op::Remove { dir, .. }
            | Op::RmDir { dir, .. }
            | Op::Link { dir, .. }
            | Op::ReadDir { dir, .. } => (Some(dir), None),
            Op::Rename { from_dir, to_dir, .. } => (Some(from_dir), Some(to_dir)),
            _ => (None, None),
        }
    }

    /// All nodes that its arguments name.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        let (dir, other) = self.dirs();
        [self.node(), dir, other].into_iter().flatten()
    }

    fn finding(&self) -> Option<&Out<Found>> {
        match &self.op {
            Op::Lookup { out, .. }
            | Op::Create { out, .. }
            | Op::MkDir { out, .. }
            | Op::Symlink { out, .. }
            | Op::MkNod { out, .. } => Some(out),
            _ => None,
        }
    }

    /// The object that was found or made, if this call does that and did.
    pub fn found_object(&self) -> Option<&Found> {
        self.finding()?.as_ref().ok()
    }

    /// How it ended; `Err(Status::Pending)` before it was carried out.
    pub fn status(&self) -> Result<(), Status> {
        each_out!(&self.op, out => out.as_ref().map(|_| ()).map_err(|s| *s))
    }

    /// Puts `status` in place of the outcome.
    pub fn fail(&mut self, status: Status) {
        each_out!(&mut self.op, out => *out = Err(status));
    }

    /// Payload bytes asked for: what READ wants and WRITE carries; 0 for the rest. This is what is priced.
    pub fn payload(&self) -> u64 {
        match &self.op {
            Op::Read { count, .. } => u64::from(*count),
            Op::Write { data, .. } => data.len() as u64,
            _ => 0,
        }
    }

    /// The object found or made by LOOKUP, CREATE, MKDIR, SYMLINK or MKNOD; panics for other procedures.
    pub fn found(&self) -> Out<Found> {
        self.finding().unwrap_or_else(|| panic!("{} finds no object", self.proc())).clone()
    }

    /// Takes the object found or made by LOOKUP, CREATE, MKDIR, SYMLINK or MKNOD; panics for other procedures.
    pub(crate) fn take_found(&mut self) -> Out<Found> {
        match &mut self.op {
            Op::Lookup { out, .. }
            | Op::Create { out, .. }
            | Op::MkDir { out, .. }
            | Op::Symlink { out, .. }
            | Op::MkNod { out, .. } => std::mem::replace(out, Err(PENDING)),
            _ => panic!("{} finds no object", self.proc()),
        }
    }

    /// The attributes that GETATTR read; panics for other procedures.
    pub fn attr(&self) -> Out<Attr> {
        match &self.op {
            Op::GetAttr { out, .. } => *out,
            _ => panic!("{} reads no attributes", self.proc()),
        }
    }

    /// What WRITE answered; panics for other procedures.
    pub fn written(&self) -> Out<Written> {
        match &self.op {
            Op::Write { out, .. } => *out,
            _ => panic!("{} writes nothing", self.proc()),
        }
    }

    /// The verifier that COMMIT answered; panics for other procedures.
    pub fn verifier(&self) -> Out<Verifier> {
        match &self.op {
            Op::Commit { out, .. } => *out,
            _ => panic!("{} has no verifier", self.proc()),
        }
    }

    /// How many REMOVEs a CLEAR has made; 0 for the rest.
    pub fn gone(&self) -> u64 {
        match &self.op {
            Op::Beyond(Beyond::Clear { gone, .. }) => *gone,
            _ => 0,
        }
    }

    /// What became of the files that COPY_FILES has copied.
    pub fn copied(&self) -> Option<&Copied> {
        match &self.op {
            Op::Beyond(Beyond::CopyFiles { out, .. }) => out.as_ref().ok(),
            _ => None,
        }
    }

    /// Takes the page that READDIR, READDIRPLUS or CLEAR read; panics for other procedures.
    pub fn take_page(&mut self) -> Out<Page> {
        match &mut self.op {
            Op::ReadDir { out, .. } | Op::Beyond(Beyond::Clear { out, .. }) => std::mem::replace(out, Err(PENDING)),
            _ => panic!("{} lists nothing", self.proc()),
        }
    }
}
