//! Reading tar archives: a sequence of members from a seekable or piped, plain or compressed input.
//!
//! Promises: any bytes may come in; none panics, hangs, or makes it allocate more than the limits named `..._max` in
//! the files below. Opens no file and starts no thread. Leaves out: writing archives, multi-volume archives, extended
//! attributes and ACLs (their records are skipped).

pub mod codec;
mod header;
pub mod input;
pub mod member;
mod pax;
mod sparse;
pub mod stream;
#[cfg(test)]
mod tests;
pub mod write;

pub use codec::{Codec, open};
pub use input::{Input, ReadAt};
pub use member::{ArchiveError, Member, MemberKind, Segment};
pub use stream::{Archive, Options};
