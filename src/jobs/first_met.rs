//! What tells a multiply linked file from another that has got its number since all of its names were met.

use crate::base::Time;
use crate::storage::Attr;

/// A file as it was when the first of its names was met.
pub(super) struct FirstMet {
    size: u64,
    mtime: Time,
    ctime: Time,
    nlink: u32,
}

impl FirstMet {
    pub fn new(attr: &Attr) -> FirstMet {
        let &Attr { size, mtime, ctime, nlink, .. } = attr;
        FirstMet { size, mtime, ctime, nlink }
    }

    /// Is what has its number now another file? To be asked when all its names have been met. A name more changes the ctime too.
    pub fn is_succeeded_by(&self, attr: &Attr) -> bool {
        self.is_changed(attr) || self.ctime != attr.ctime && attr.nlink <= self.nlink
    }

    /// Have its data been changed?
    pub fn is_changed(&self, attr: &Attr) -> bool {
        (self.size, self.mtime) != (attr.size, attr.mtime)
    }
}
