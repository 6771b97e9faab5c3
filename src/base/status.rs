//! How a call ended when it did not end well: NFSv3's statuses (RFC 1813, section 2.6) and the few that only a
//! client can have. Copied freely, so it carries no text; the text of what happened to a target is in the mount's log.

use thiserror::Error;

/// Why a call failed. The message is what `strerror` would say, so that users of tar and cp recognise it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[allow(missing_docs)] // the messages say it
pub enum Status {
    #[error("Operation not permitted")]
    Perm,
    #[error("No such file or directory")]
    NoEnt,
    #[error("Input/output error")]
    Io,
    #[error("No such device or address")]
    NxIo,
    #[error("Permission denied")]
    Access,
    #[error("File exists")]
    Exist,
    #[error("Invalid cross-device link")]
    XDev,
    #[error("No such device")]
    NoDev,
    #[error("Not a directory")]
    NotDir,
    #[error("Is a directory")]
    IsDir,
    #[error("Invalid argument")]
    Inval,
    #[error("File too large")]
    FBig,
    #[error("No space left on device")]
    NoSpc,
    #[error("Read-only file system")]
    RoFs,
    #[error("Too many links")]
    MLink,
    #[error("File name too long")]
    NameTooLong,
    #[error("Directory not empty")]
    NotEmpty,
    #[error("Disk quota exceeded")]
    DQuot,
    #[error("Stale file handle")]
    Stale,
    #[error("Object is remote")]
    Remote,
    #[error("Illegal file handle")]
    BadHandle,
    #[error("Attributes changed meanwhile (guard mismatch)")]
    NotSync,
    #[error("Directory cookie is stale")]
    BadCookie,
    #[error("Operation not supported")]
    NotSupp,
    #[error("Buffer or request too small")]
    TooSmall,
    #[error("Server fault")]
    ServerFault,
    #[error("File type not supported by the server")]
    BadType,
    #[error("Server is busy and asks to try again later (JUKEBOX), for longer than the limit")]
    Jukebox,
    #[error("Too many levels of symbolic links")]
    Loop,
    /// No mount has carried the call out yet.
    #[error("Not carried out")]
    Pending,
    /// The target did not answer for longer than its limit; whether it carried the call out is not known.
    #[error("The mount target does not answer")]
    TargetGone,
    /// No answer to this call, however often it was sent, and no other target may be asked in its place.
    #[error("The server never answered this call; whether it was carried out is not known")]
    NoReply,
    /// As `NoReply`, of a call that changes nothing: there is no doubt about what it left behind.
    #[error("The server answers other calls, but not this one, however often it was sent; it changes nothing there")]
    Unanswered,
    /// The last target of the volume is gone.
    #[error("No mount target is left that answers")]
    NoTarget,
    /// The server refused the credentials (AUTH_SYS flavour, uid, or an unprivileged source port).
    #[error("The server refuses the credentials (a privileged source port, or another uid, may be needed)")]
    Denied,
    /// The server's reply is not what the RFC says.
    #[error("The server's reply is not valid NFSv3")]
    Protocol,
    /// GARBAGE_ARGS (RFC 5531, section 9).
    #[error("The server could not read this call (GARBAGE_ARGS)")]
    Garbage,
    /// PROG_UNAVAIL, PROG_MISMATCH or RPC_MISMATCH (RFC 5531, section 9).
    #[error("There is no server of NFSv3 at this port, or it no longer serves it")]
    NotServed,
    /// No descriptor is left for a connection (EMFILE, ENFILE); the call was not sent.
    #[error("No connection can be made: too many files are open; raise the limit of open files (ulimit -n)")]
    NoDescriptors,
    /// No thread is left for a connection (EAGAIN of clone); the call was not sent.
    #[error(
        "No connection can be made: no thread can be started; raise ulimit -u, or the container's limit of processes"
    )]
    NoThreads,
    /// The run was stopped before this call.
    #[error("Interrupted")]
    Cancelled,
    /// A local system call failed with an errno that NFSv3 has no word for.
    #[error("{}", said(*.0))]
    Errno(i32),
}

/// What the system says of an errno.
fn said(errno: i32) -> String {
    super::reason(&std::io::Error::from_raw_os_error(errno))
}

/// The statuses that travel, with their numbers on the wire.
const ON_THE_WIRE: [(Status, u32); 28] = [
    (Status::Perm, 1),
    (Status::NoEnt, 2),
    (Status::Io, 5),
    (Status::NxIo, 6),
    (Status::Access, 13),
    (Status::Exist, 17),
    (Status::XDev, 18),
    (Status::NoDev, 19),
    (Status::NotDir, 20),
    (Status::IsDir, 21),
    (Status::Inval, 22),
    (Status::FBig, 27),
    (Status::NoSpc, 28),
    (Status::RoFs, 30),
    (Status::MLink, 31),
    (Status::NameTooLong, 63),
    (Status::NotEmpty, 66),
    (Status::DQuot, 69),
    (Status::Stale, 70),
    (Status::Remote, 71),
    (Status::BadHandle, 10001),
    (Status::NotSync, 10002),
    (Status::BadCookie, 10003),
    (Status::NotSupp, 10004),
    (Status::TooSmall, 10005),
    (Status::ServerFault, 10006),
    (Status::BadType, 10007),
    (Status::Jukebox, 10008),
];

impl Status {
    /// The status of this nfsstat3 number; a number the RFC does not know is a protocol error, 0 is none.
    pub fn from_nfs(number: u32) -> Status {
        ON_THE_WIRE.iter().find(|(_, n)| *n == number).map_or(Status::Protocol, |(s, _)| *s)
    }

    /// The nfsstat3 number; what NFSv3 has no word for is an I/O error (`Loop`: INVAL).
    pub fn to_nfs(self) -> u32 {
        match self {
            Status::Loop => 22,
            _ => ON_THE_WIRE.iter().find(|(s, _)| *s == self).map_or(5, |(_, n)| *n),
        }
    }

    /// The status of a Linux errno.
    pub fn from_errno(errno: i32) -> Status {
        match errno {
            1 => Status::Perm,
            2 => Status::NoEnt,
            5 => Status::Io,
            6 => Status::NxIo,
            13 => Status::Access,
            17 => Status::Exist,
            18 => Status::XDev,
            19 => Status::NoDev,
            20 => Status::NotDir,
            21 => Status::IsDir,
            22 => Status::Inval,
            27 => Status::FBig,
            28 => Status::NoSpc,
            30 => Status::RoFs,
            31 => Status::MLink,
            36 => Status::NameTooLong,
            39 => Status::NotEmpty,
            40 => Status::Loop,
            95 => Status::NotSupp,
            116 => Status::Stale,
            122 => Status::DQuot,
            other => Status::Errno(other),
        }
    }

    /// The Linux errno for who knows errnos only: `from_errno`'s, and for what no errno says that of what a user would do about it.
    pub fn to_errno(self) -> i32 {
        match self {
            Status::Perm => 1,
            Status::NoEnt => 2,
            Status::Cancelled => 4,
            Status::NxIo => 6,
            Status::Access | Status::Denied => 13,
            Status::Exist => 17,
            Status::XDev => 18,
            Status::NoDev => 19,
            Status::NotDir => 20,
            Status::IsDir => 21,
            Status::Inval | Status::TooSmall | Status::BadType => 22,
            Status::FBig => 27,
            Status::NoSpc => 28,
            Status::RoFs => 30,
            Status::MLink => 31,
            Status::NameTooLong => 36,
            Status::NotEmpty => 39,
            Status::Loop => 40,
            Status::Remote => 66,
            Status::NoThreads => 11,
            Status::NoDescriptors => 24,
            Status::NotServed => 93, // EPROTONOSUPPORT, as the kernel's client says
            Status::NotSupp => 95,
            // As of a soft mount with softerr (nfs(5)): nobody answered in time.
            Status::TargetGone | Status::NoReply | Status::Unanswered | Status::NoTarget | Status::Jukebox => 110,
            Status::Stale | Status::BadHandle => 116,
            Status::ServerFault => 121,
            Status::DQuot => 122,
            Status::Errno(errno) => errno,
            Status::Io | Status::NotSync | Status::BadCookie | Status::Pending | Status::Protocol | Status::Garbage => {
                5
            }
        }
    }

    /// True when the server will not have what it is asked to set, however often that is asked.
    pub fn is_refusal(self) -> bool {
        matches!(self, Status::Perm | Status::Access | Status::Inval | Status::NotSupp)
    }

    /// True when the call may have been carried out although it failed (its reply, not its work, was lost), or when what it
    /// asked is not known for want of an answer.
    pub fn is_uncertain(self) -> bool {
        matches!(self, Status::TargetGone | Status::NoTarget | Status::NoReply | Status::Unanswered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errnos_are_inverse() {
        for errno in 1..134 {
            assert_eq!(Status::from_errno(errno).to_errno(), errno);
        }
        assert_eq!(Status::NoTarget.to_errno(), 110);
    }

    #[test]
    fn statuses_on_the_wire_are_inverse() {
        for (status, number) in ON_THE_WIRE {
            assert_eq!(Status::from_nfs(number), status);
            assert_eq!(status.to_nfs(), number);
        }
        assert_eq!(Status::from_nfs(12345), Status::Protocol);
        assert_eq!(Status::TargetGone.to_nfs(), 5);
    }
}
