//! Creation: trees become an archive, read in parallel and written in the trees' order.
//!
//! Directories are listed ahead of where the archive is, in order and within bounds; what the listings say is all that a small file
//! costs beside its READ. The archive is cut into pieces; lanes read what a piece holds, pieces take their places in order as they are
//! complete, and are then written (to a file on storage) by lanes at their offsets or (to a stream) one after the other.
//!
//! A file that cannot be opened is left out and told; one that shrinks or fails while it is read is padded with zeros and told, for its
//! size is in the archive already; both as GNU tar does.

use std::sync::Arc;
use std::time::Duration;

use crate::archive::write::Format;
pub use crate::archive::{FinishWrite, Pack, Packing, Wrap};
use crate::base::{Name, Time};
use crate::storage::{Node, Volume};

use super::mode::ModeChange;
use super::select::Selection;
use super::transform::Transform;

/// What goes into the archive and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The archive's format.
    pub format: Format,
    /// Members of a directory in the order of their names' bytes; else as the directory lists them.
    pub sort_by_name: bool,
    /// What is left out, by the members' names; an excluded directory is not entered. Operands of it are not used.
    pub exclude: Selection,
    /// Directories of other file systems than their operand's are stored and not entered.
    pub one_file_system: bool,
    /// Store what symbolic links point at.
    pub dereference: bool,
    /// Store each name of a file with several as a file of its own.
    pub hard_dereference: bool,
    /// Enter directories.
    pub recursive: bool,
    /// Leave out holes.
    pub sparse: bool,
    /// Extended attributes, but SELinux's and ACLs.
    pub xattrs: bool,
    /// ACLs.
    pub acls: bool,
    /// SELinux's context.
    pub selinux: bool,
    /// Only files (directories always) that are newer.
    pub newer: Option<Newer>,
    /// Only what the archive does not have, or has with an earlier time (`-u`).
    pub update: Option<Arc<dyn Archived>>,
    /// What is said of all members instead of what their files say.
    pub attributes: Attributes,
    /// Changes names on their way into the archive.
    pub transform: Option<Arc<Transform>>,
    /// Keep a leading `/` of members' names.
    pub absolute_names: bool,
    /// The archive itself, as (file system, file id), where it is a file: it is not stored in itself.
    pub archive_id: Option<(u64, u64)>,
    /// Multiply linked files remembered at most at once. Beyond, further names of the rest are stored as files of their own.
    pub links_max: usize,
    /// Directory entries listed ahead at most.
    pub ahead_max: usize,
}

/// `--newer` and `--newer-mtime`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Newer {
    /// Later than this, or at it.
    pub than: Time,
    /// A later change of attributes (ctime) counts as well.
    pub or_changed: bool,
}

/// What an archive that is updated has already.
pub trait Archived: Send + Sync + std::fmt::Debug {
    /// The latest time of a member of this name.
    fn mtime(&self, path: &[u8]) -> Option<Time>;
}

/// Attributes of all members.
#[derive(Clone, Debug, Default)]
pub struct Attributes {
    /// Owner's name (empty: none) and number.
    pub owner: Option<(Vec<u8>, u32)>,
    /// Group's name and number.
    pub group: Option<(Vec<u8>, u32)>,
    /// Applied to each mode.
    pub mode: Option<Arc<ModeChange>>,
    /// Time of last modification.
    pub mtime: Option<Time>,
    /// Only members later than `mtime` get it.
    pub clamp_mtime: bool,
    /// No names of owners and groups.
    pub numeric: bool,
}

/// Names users and groups.
pub trait Names: Sync {
    /// The user's name, empty where there is none.
    fn user(&self, uid: u32) -> Vec<u8>;
    /// The group's name.
    fn group(&self, gid: u32) -> Vec<u8>;
}

/// One tree.
pub struct Operand<'a> {
    /// Where it is.
    pub volume: &'a Volume,
    /// The way to it below the volume's root, whose last name is not followed when it is a symbolic link; empty: the root itself.
    pub way: Vec<Name>,
    /// Its name as it was typed: the members' names begin with it.
    pub name: Vec<u8>,
}

/// Where the archive goes.
pub enum Output<'a> {
    /// A stream, written from one thread at a time; its errors end the run.
    Stream(&'a mut (dyn std::io::Write + Send)),
    /// A file on storage, from byte `at` on, written by all lanes.
    File {
        /// Where it is.
        volume: &'a Volume,
        /// The file.
        node: Node,
        /// Where the first member goes: 0, or where those that are there end.
        at: u64,
    },
}

/// What came of it. Failures are in the crew's report.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)] // counts of members
pub struct Summary {
    pub members: u64,
    pub files: u64,
    pub dirs: u64,
    pub links: u64,
    /// Bytes of files' data.
    pub bytes: u64,
    /// Bytes of the archive, before packing.
    pub archive_bytes: u64,
    /// Files that changed while they were read: exit status 1.
    pub changed: u64,
    /// What was odd, in order.
    pub warnings: Vec<String>,
    /// Why the archive could not be written on.
    pub archive_error: Option<String>,
    /// Why not all was done, when the run was stopped.
    pub stopped: Option<String>,
    pub elapsed: Duration,
    pub source_wait: Duration,
    pub storage_wait: Duration,
}
