//! What calls answer: objects, entries, pages, counts.

use crate::base::{Name, Status};

use super::beyond::{Beyond, Copied};
use super::call::{Call, Op, PENDING, Stable};
use super::trail::Trail;
use super::{Attr, Kind, Node};

/// The outcome of a call: `Err(Status::Pending)` until a mount has filled it in.
pub type Out<T> = Result<T, Status>;

/// The server's instance (RFC 1813 3.3.7, writeverf3): when it changes, unstable data written under the old one may be lost.
pub type Verifier = u64;

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
    /// Its attributes, when the server gave them. Of what was just made a mount leaves them out only where it has set those asked for.
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

/// What is said of a listing whose page is stuck.
pub(crate) const NO_PROGRESS: &str = "the server's listing does not go on";

/// A listing's entry `..`, which is no entry of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DotDot {
    /// The file id of the directory above.
    pub fileid: u64,
    /// The cookie's position: where to go on after it.
    pub position: u64,
}

/// One page of a listing.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// What it says of the directory above, if it does: on most servers the first page.
    pub above: Option<DotDot>,
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

/// Outcomes, by the procedure that has them.
impl Call<'_> {
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

    /// True of a SETATTR that is said to be done and whose reply shows another owner or group than it asked for: nfs-ganesha 4.3 takes
    /// root's for the anonymous user's where it squashes root, and says OK.
    pub fn leaves_owner_out(&self) -> bool {
        let Op::SetAttr { change, out: Ok(Some(is)), .. } = &self.op else { return false };
        change.not_given(Some((is.uid, is.gid))) != (None, None)
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

    /// The text that READLINK read; panics for other procedures.
    pub fn into_text(self) -> Out<Vec<u8>> {
        match self.op {
            Op::ReadLink { out, .. } => out,
            _ => panic!("{} reads no link", self.proc()),
        }
    }

    /// The offset that SEEK found; panics for other procedures.
    pub fn sought(&self) -> Out<u64> {
        match &self.op {
            Op::Beyond(Beyond::Seek { out, .. }) => *out,
            _ => panic!("{} seeks nothing", self.proc()),
        }
    }

    /// The names that LISTXATTRS read; panics for other procedures.
    pub fn into_xattr_names(self) -> Out<Vec<Vec<u8>>> {
        match self.op {
            Op::Beyond(Beyond::ListXattrs { out, .. }) => out,
            _ => panic!("{} lists no attributes", self.proc()),
        }
    }

    /// The value that GETXATTR read; panics for other procedures.
    pub fn into_xattr(self) -> Out<Vec<u8>> {
        match self.op {
            Op::Beyond(Beyond::GetXattr { out, .. }) => out,
            _ => panic!("{} reads no attribute", self.proc()),
        }
    }
}
