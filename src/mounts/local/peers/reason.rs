//! Why a mount is not used beside another: for people.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why a mount is left out.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say it
pub enum Reason {
    #[error("it is mounted read-only")]
    ReadOnly,
    #[error("it is one superblock with {0}, with one lock for each directory, and would add nothing")]
    Superblock(PathBuf),
    #[error("it is not a mount point of this host")]
    NoMount,
    #[error("it is not an NFS mount")]
    NoNfs,
    #[error("the directory is not there or cannot be opened through it: {0}")]
    NotThere(io::Error),
    #[error("another mount, {0}, lies in the directory or on the way to it")]
    Within(PathBuf),
    #[error("it shows another {} (file id {fileid}, not {expected})", if *.is_root { "root" } else { "directory" })]
    Other { is_root: bool, fileid: u64, expected: u64 },
    #[error("it shows another file system: a name made through one mount is not there through the other")]
    NotSeen,
    #[error("it may show another file system: the {0} differ")]
    NotProven(&'static str),
    #[error("it cannot be proven to show the same file system while the {0} keep changing")]
    Changing(&'static str),
    #[error("it cannot be proven to show the same file system: making a name through it: {0}")]
    CannotMake(io::Error),
    #[error("files made through it are owned by {}:{}, not {}:{}: the server squashes owners differently",
            makes.0, makes.1, expected.0, expected.1)]
    OtherOwner { makes: (u32, u32), expected: (u32, u32) },
    #[error("the server allows something else through it")]
    OtherAccess,
    #[error("it does not answer in time")]
    Silent,
    #[error("it answers in {:.1} ms, the fastest in {:.1} ms", ms(.answer), ms(.best))]
    Slow { answer: Duration, best: Duration },
    #[error("the operand's own mount could not be compared with it: {0}")]
    Base(io::Error),
    #[error("{0}, which was made to compare the mounts, could not be removed and can be: {1}")]
    Left(String, io::Error),
}

fn ms(time: &Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

impl Reason {
    /// An error of the mount that the others are compared with.
    pub fn base(error: io::Error) -> Reason {
        Reason::Base(error)
    }

    /// True when it says something of the mount, whatever the directory.
    pub fn is_of_mount(&self) -> bool {
        matches!(
            self,
            Reason::ReadOnly
                | Reason::Superblock(_)
                | Reason::NotSeen
                | Reason::OtherOwner { .. }
                | Reason::Silent
                | Reason::Slow { .. }
        )
    }
}
