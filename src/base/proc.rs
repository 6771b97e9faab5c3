//! The 22 procedures of NFSv3 (RFC 1813, section 3.3), and those of NFSv4.2 (RFC 7862, RFC 8276) that local file systems
//! have as well: the vocabulary of every count in parfs.

use std::fmt;

/// One of NFSv3's 22 procedures, whose discriminant is its number on the wire, or an operation beyond NFSv3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs)] // the names are the RFC's
pub enum Proc {
    Null = 0,
    GetAttr = 1,
    SetAttr = 2,
    Lookup = 3,
    Access = 4,
    ReadLink = 5,
    Read = 6,
    Write = 7,
    Create = 8,
    MkDir = 9,
    Symlink = 10,
    MkNod = 11,
    Remove = 12,
    RmDir = 13,
    Rename = 14,
    Link = 15,
    ReadDir = 16,
    ReadDirPlus = 17,
    FsStat = 18,
    FsInfo = 19,
    PathConf = 20,
    Commit = 21,
    Seek = 22,
    Copy = 23,
    IoAdvise = 24,
    ListXattrs = 25,
    GetXattr = 26,
    SetXattr = 27,
    RemoveXattr = 28,
}

impl Proc {
    /// How many procedures there are; the length of every table indexed by one.
    pub const COUNT: usize = 29;

    /// How many of them NFSv3 has: the first ones.
    pub const NFS3_COUNT: usize = 22;

    /// All of them, in the order of their numbers.
    pub const ALL: [Proc; Proc::COUNT] = [
        Proc::Null,
        Proc::GetAttr,
        Proc::SetAttr,
        Proc::Lookup,
        Proc::Access,
        Proc::ReadLink,
        Proc::Read,
        Proc::Write,
        Proc::Create,
        Proc::MkDir,
        Proc::Symlink,
        Proc::MkNod,
        Proc::Remove,
        Proc::RmDir,
        Proc::Rename,
        Proc::Link,
        Proc::ReadDir,
        Proc::ReadDirPlus,
        Proc::FsStat,
        Proc::FsInfo,
        Proc::PathConf,
        Proc::Commit,
        Proc::Seek,
        Proc::Copy,
        Proc::IoAdvise,
        Proc::ListXattrs,
        Proc::GetXattr,
        Proc::SetXattr,
        Proc::RemoveXattr,
    ];

    /// The procedure with this number on the wire.
    pub fn from_number(number: u32) -> Option<Proc> {
        Proc::ALL[..Proc::NFS3_COUNT].get(usize::try_from(number).ok()?).copied()
    }

    /// True for the procedures of NFSv3.
    pub fn is_nfs3(self) -> bool {
        (self as usize) < Proc::NFS3_COUNT
    }

    /// True for the procedures that only ask: carried out once, twice or not at all, nothing differs.
    pub fn only_asks(self) -> bool {
        matches!(
            self,
            Proc::Null
                | Proc::GetAttr
                | Proc::Lookup
                | Proc::Access
                | Proc::ReadLink
                | Proc::Read
                | Proc::ReadDir
                | Proc::ReadDirPlus
                | Proc::FsStat
                | Proc::FsInfo
                | Proc::PathConf
                | Proc::Seek
                | Proc::IoAdvise
                | Proc::ListXattrs
                | Proc::GetXattr
        )
    }

    /// The RFC's spelling, as `mountstats` and `nfsstat` print it.
    pub fn name(self) -> &'static str {
        match self {
            Proc::Null => "NULL",
            Proc::GetAttr => "GETATTR",
            Proc::SetAttr => "SETATTR",
            Proc::Lookup => "LOOKUP",
            Proc::Access => "ACCESS",
            Proc::ReadLink => "READLINK",
            Proc::Read => "READ",
            Proc::Write => "WRITE",
            Proc::Create => "CREATE",
            Proc::MkDir => "MKDIR",
            Proc::Symlink => "SYMLINK",
            Proc::MkNod => "MKNOD",
            Proc::Remove => "REMOVE",
            Proc::RmDir => "RMDIR",
            Proc::Rename => "RENAME",
            Proc::Link => "LINK",
            Proc::ReadDir => "READDIR",
            Proc::ReadDirPlus => "READDIRPLUS",
            Proc::FsStat => "FSSTAT",
            Proc::FsInfo => "FSINFO",
            Proc::PathConf => "PATHCONF",
            Proc::Commit => "COMMIT",
            Proc::Seek => "SEEK",
            Proc::Copy => "COPY",
            Proc::IoAdvise => "IO_ADVISE",
            Proc::ListXattrs => "LISTXATTRS",
            Proc::GetXattr => "GETXATTR",
            Proc::SetXattr => "SETXATTR",
            Proc::RemoveXattr => "REMOVEXATTR",
        }
    }

    /// The procedure of that name, in any case; for options such as a fault's `proc=`.
    pub fn from_name(name: &str) -> Option<Proc> {
        Proc::ALL.into_iter().find(|p| p.name().eq_ignore_ascii_case(name))
    }
}

impl fmt::Display for Proc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_inverse() {
        for (i, p) in Proc::ALL.into_iter().enumerate() {
            assert_eq!(p as usize, i);
            assert_eq!(Proc::from_number(i as u32), Some(p).filter(|p| p.is_nfs3()));
            assert_eq!(Proc::from_name(&p.name().to_lowercase()), Some(p));
        }
        assert_eq!(Proc::from_number(22), None);
    }
}
