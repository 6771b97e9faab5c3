//! One NFSv3 procedure's worth of work as a value, with a typed place for its outcome.

use crate::base::{Name, Proc, Status};

use super::beyond::Beyond;
use super::{Anew, Attr, AttrChange, Cookie, Found, Kind, Node, Out, Page, Space, Verifier, Written};

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

impl Special {
    /// True of an object of this kind and, where it is a device, of these numbers.
    pub fn is(self, attr: &Attr) -> bool {
        match self {
            Special::Char(major, minor) => attr.kind == Kind::Char && attr.rdev == (major, minor),
            Special::Block(major, minor) => attr.kind == Kind::Block && attr.rdev == (major, minor),
            Special::Socket => attr.kind == Kind::Socket,
            Special::Fifo => attr.kind == Kind::Fifo,
        }
    }
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
    /// What the mount asks before it because of other mounts' changes. Whoever carries it out notes it, so that all who count have the same.
    pub anew: Anew,
}

pub(super) const PENDING: Status = Status::Pending;

impl<'a> From<Op<'a>> for Call<'a> {
    fn from(op: Op<'a>) -> Call<'a> {
        Call { op, repeated: false, unseen: false, anew: Anew::default() }
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

    pub(super) fn finding(&self) -> Option<&Out<Found>> {
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
}
