//! An archive that was added to and could not be written on, or whose run was stopped: it ends behind its last whole member, with the
//! blocks that say so. Leaves out new archives: what is left of one that is not complete is to have no end.

use crate::archive::write;
use crate::storage::{AttrChange, Call};

use super::line::{Line, Target, Whole};

/// How an archive is left that was added to.
pub(super) struct Left {
    /// Members that it holds more than before.
    more: u64,
    /// Why those that were added whole are not among them.
    error: Option<String>,
}

impl std::fmt::Display for Left {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the archive is whole and holds what it held before")?;
        match (self.more, &self.error) {
            (0, None) => Ok(()),
            (1, _) => write!(f, " plus 1 member"),
            (0, Some(error)) => write!(f, ", but {error}"),
            (more, _) => write!(f, " plus {more} members"),
        }
    }
}

impl Line<'_> {
    /// Ends an archive to which pieces were added behind its last whole member. All pieces have ended.
    ///
    /// It is cut off there and made longer by its end: what SETATTR adds to a file reads as zeros (RFC 1813 2.5, "size3") and takes
    /// no space, of which there may be none left. Only then what was added is made visible.
    pub fn mend(&self, record_bytes: u64) -> Left {
        let Whole { at, members } = self.whole();
        let Target::File(port, node) = &self.target else { return Left { more: members, error: None } };
        // Nothing was written, so the end that it had is there.
        if self.end() == self.from && !self.has_failed() {
            return Left { more: 0, error: None };
        }
        let end = write::end(at, record_bytes).len() as u64;
        let resize = |size, what: &str| {
            let change = AttrChange { size: Some(size), ..AttrChange::default() };
            let status = port.one(port.route(), Call::set_attr(node, change)).status();
            status.map_err(|status| format!("{what}: SETATTR: {status}"))
        };
        let done = resize(at, "what was written behind it cannot be cut off")
            .and_then(|()| resize(at + end, "its end cannot be put behind it"))
            .and_then(|()| match at > self.from {
                true => self.reveal().map_err(|error| format!("what was added cannot be shown: {error}")),
                false => Ok(()),
            });
        Left { more: if done.is_ok() { members } else { 0 }, error: done.err() }
    }
}
