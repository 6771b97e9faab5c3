//! Attributes of an object as NFSv3 has them (RFC 1813 2.5, fattr3 and sattr3).

use crate::base::Time;

/// The type of an object (ftype3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the RFC's types
pub enum Kind {
    File,
    Dir,
    Block,
    Char,
    Symlink,
    Socket,
    Fifo,
}

/// fattr3. `mode` holds the twelve permission bits only; `used` is bytes of storage; `rdev` is (major, minor).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // fattr3's fields
pub struct Attr {
    pub kind: Kind,
    pub mode: u32,
    pub nlink: u32,
    pub uid: u32,
    pub gid: u32,
    pub size: u64,
    pub used: u64,
    pub rdev: (u32, u32),
    pub fsid: u64,
    pub fileid: u64,
    pub atime: Time,
    pub mtime: Time,
    pub ctime: Time,
}

/// How a time is set (set_atime, set_mtime).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SetTime {
    /// Left as it is.
    #[default]
    Keep,
    /// The server's clock.
    Now,
    /// This time.
    At(Time),
}

/// sattr3: what is to be set; `None` and `Keep` leave a field as it is, or to the server when the object is new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // sattr3's fields
pub struct AttrChange {
    pub mode: Option<u32>,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    pub size: Option<u64>,
    pub atime: SetTime,
    pub mtime: SetTime,
}

impl AttrChange {
    /// True when nothing would be set.
    pub fn is_empty(&self) -> bool {
        *self == AttrChange::default()
    }
}
