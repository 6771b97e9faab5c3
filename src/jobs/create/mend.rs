//! An archive that was added to and could not be written on, or whose run was stopped: it ends behind its last whole member, with the
//! blocks that say so. Leaves out new archives: what is left of one that is not complete is to have no end.

use crate::archive::write;
use crate::base::Status;
use crate::storage::{AttrChange, Call};

use super::line::{Line, Target, Whole};

/// How an archive is left that was added to.
pub(super) struct Left {
    whole: Whole,
    /// Why its end could not be put behind what is whole.
    error: Option<Status>,
}

impl std::fmt::Display for Left {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Whole { at, members } = self.whole;
        let held = |f: &mut std::fmt::Formatter<'_>| match members {
            0 => write!(f, "what it held before"),
            1 => write!(f, "what it held before plus 1 member"),
            _ => write!(f, "what it held before plus {members} members"),
        };
        match self.error {
            None => {
                write!(f, "the archive is whole and holds ")?;
                held(f)
            }
            Some(status) => {
                write!(f, "the archive is whole up to byte {at}, with ")?;
                held(f)?;
                write!(f, ", but cannot be cut off there: SETATTR: {status}; `truncate -s {at}` mends it")
            }
        }
    }
}

impl Line<'_> {
    /// Ends an archive, to which pieces were added from byte `from` on, behind its last whole member. All pieces have ended.
    ///
    /// It is cut off there and made longer by its end: what SETATTR adds to a file reads as zeros (RFC 1813 2.5, "size3") and takes
    /// no space, of which there may be none left.
    pub fn mend(&self, from: u64, record_bytes: u64) -> Left {
        let whole = self.whole();
        let Target::File(port, node) = &self.target else { return Left { whole, error: None } };
        // Nothing was written, so the end that it had is there.
        if self.end() == from && !self.has_failed() {
            return Left { whole, error: None };
        }
        let end = write::end(whole.at, record_bytes).len() as u64;
        let resized = [whole.at, whole.at + end].into_iter().try_for_each(|size| {
            let change = AttrChange { size: Some(size), ..AttrChange::default() };
            port.one(port.route(), Call::set_attr(node, change)).status()
        });
        Left { whole, error: resized.err() }
    }
}
