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
    /// Of a new object: the mode is what the system is asked for, as open(2) and mkdir(2) ask, and what it makes of it stays. These bits the
    /// umask took off; where the directory has a default ACL it does not (acl(5)), which a mount sees that can. Nothing that is sent.
    pub masked: Option<u32>,
}

impl Attr {
    /// Are both of one object?
    pub fn is_same_as(&self, other: &Attr) -> bool {
        (self.fsid, self.fileid) == (other.fsid, other.fileid)
    }
}

impl AttrChange {
    /// True when nothing would be set.
    pub fn is_empty(&self) -> bool {
        *self == AttrChange::default()
    }

    /// The mode that a new object is to have whatever the system would make of it.
    pub fn exact_mode(&self) -> Option<u32> {
        self.mode.filter(|_| self.masked.is_none())
    }

    /// True when an owner or a group would be set.
    pub fn gives_away(&self) -> bool {
        self.uid.is_some() || self.gid.is_some()
    }

    /// Could an object with these attributes have just been made with this change? Servers may leave set-id bits out, and directories
    /// get the set-group-id bit of the one above.
    pub fn may_have_made(&self, attr: &Attr) -> bool {
        let inherited = if attr.kind == Kind::Dir { 0o2000 } else { 0 };
        let further = |mode: u32| attr.mode & 0o7000 & !mode & !inherited;
        self.mode.is_none_or(|mode| mode & 0o777 == attr.mode & 0o777 && further(mode) == 0)
            && self.uid.is_none_or(|uid| uid == attr.uid)
            && self.gid.is_none_or(|gid| gid == attr.gid)
    }

    /// Owner and group that were asked for and that the new object, which belongs to `is`, was not given: there are servers that leave
    /// them out without a word (Linux those of a caller who is squashed, nfs-ganesha 4.3 a group in a set-group-id directory).
    pub fn not_given(&self, is: Option<(u32, u32)>) -> (Option<u32>, Option<u32>) {
        let Some((uid, gid)) = is else { return (None, None) };
        (self.uid.filter(|asked| *asked != uid), self.gid.filter(|asked| *asked != gid))
    }

    /// This change of a file as two, of which the first may be empty: servers that are given owner and mode at once take from the mode
    /// what giving a file away takes, its set-id bits (Linux, nfs-ganesha 4.3).
    pub fn owner_first(self) -> (AttrChange, AttrChange) {
        if !self.gives_away() || self.mode.is_none_or(|mode| mode & 0o6000 == 0) {
            return (AttrChange::default(), self);
        }
        let owner = AttrChange { uid: self.uid, gid: self.gid, ..AttrChange::default() };
        (owner, AttrChange { uid: None, gid: None, ..self })
    }
}
