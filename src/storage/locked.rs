//! The lock that a kernel holds on a directory while something in it changes, as of every file system that it mounts.

use crate::base::Proc;

use super::{How, Node, Op, Tally};

/// The directory that waits for its lock before this is done, and how many of the procedures that a kernel's NFS mount sends for it, `lowered`,
/// are sent under that: those that make or remove the name, the SETATTR of O_EXCL, and what the client asks of a new directory
/// or of a file with one name more. None where no name is changed.
pub fn locked<'c>(op: &'c Op<'_>, lowered: &Tally) -> Option<(&'c Node, u64)> {
    match op {
        Op::Create { dir, how, .. } => {
            let is_proved = *how != How::Unchecked && lowered.get(Proc::SetAttr).calls > 0;
            Some((dir, 1 + u64::from(is_proved)))
        }
        Op::MkDir { dir, .. } | Op::Link { dir, .. } => Some((dir, 2)),
        Op::Symlink { dir, .. } | Op::MkNod { dir, .. } | Op::Remove { dir, .. } | Op::RmDir { dir, .. } => {
            Some((dir, 1))
        }
        Op::Rename { to_dir, .. } => Some((to_dir, 1)),
        _ => None,
    }
}
