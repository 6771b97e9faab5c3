//! How much of a listing fits a page: entries are weighed as NFSv3 would encode them (RFC 1813 3.3.16 and 3.3.17), so
//! that a mount without a wire bounds its pages like one with it.

use crate::storage::Want;

/// Bytes beside the entries: attributes, verifier, two flags; and `..` with its two flags, without attributes and handle.
const PAGE_BYTES: u64 = 104 + ENTRY_BYTES + 4 + 8;
/// Bytes of an entry beside its name, and what READDIRPLUS adds: attributes, the largest handle, their flags.
const ENTRY_BYTES: u64 = 24;
const ENTRY_PLUS_BYTES: u64 = 88 + 68 + 8;

/// The room left in a page.
pub(super) struct Room {
    left: u64,
    entry: u64,
}

impl Room {
    /// A page of `bytes_max` bytes on the wire.
    pub(super) fn new(want: Want, bytes_max: u32) -> Room {
        let entry = ENTRY_BYTES + if want != Want::Names { ENTRY_PLUS_BYTES } else { 0 };
        Room { left: u64::from(bytes_max).saturating_sub(PAGE_BYTES), entry }
    }

    /// How many entries fit at most.
    pub(super) fn entries(&self) -> usize {
        (self.left / self.entry) as usize
    }

    /// Takes the room for an entry; false when the page is full.
    pub(super) fn take(&mut self, name: &[u8]) -> bool {
        let bytes = self.entry + name.len().next_multiple_of(4) as u64;
        let fits = bytes <= self.left;
        self.left = if fits { self.left - bytes } else { 0 };
        fits
    }
}
