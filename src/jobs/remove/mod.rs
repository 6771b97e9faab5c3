//! Removal of trees, in parallel, depth first.

use std::time::Duration;

use crate::base::{Name, Time};
use crate::storage::Node;

use super::select::Selection;

/// What to remove and how.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What is left alone: matched against paths below the operand, and against the operand itself.
    pub select: Selection,
    /// Only what was modified before; a directory only when it was so itself and nothing is left in it.
    pub older_than: Option<Time>,
    /// Directories of other file systems are left alone.
    pub one_file_system: bool,
    /// A directory is removed only when it is empty (`-d`); false removes trees.
    pub empty_only: bool,
    /// What is not there is no failure (`-f`).
    pub force: bool,
}

/// One tree or object to remove.
#[derive(Clone, Debug)]
pub struct Operand {
    /// The directory that it is in.
    pub dir: Node,
    /// The way to it below `dir`; symbolic links on the way are not followed. Empty: `dir` itself, of which then only the
    /// contents are removed.
    pub way: Vec<Name>,
    /// As the user typed it, for messages.
    pub shown: Vec<u8>,
    /// Remove what is in it and keep it.
    pub contents: bool,
    /// It is the root of a file system: a `.snapshot` in it is left alone.
    pub fs_root: bool,
}

/// What came of a removal. Failures are in the crew's report.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Objects removed that are no directories.
    pub files: u64,
    /// Directories removed.
    pub dirs: u64,
    /// Objects left alone because the options say so.
    pub kept: u64,
    /// Directories that were listed again because RMDIR found something in them.
    pub relisted: u64,
    /// Names like `.nfs0000...`: files that some client still has open, removed or not; the first ones.
    pub leftovers: Vec<Vec<u8>>,
    /// Wall time.
    pub elapsed: Duration,
    /// What was odd.
    pub warnings: Vec<String>,
    /// Why not all was done, when the run was stopped.
    pub stopped: Option<String>,
}
