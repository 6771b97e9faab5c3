//! Reading tar archives: a sequence of members from a seekable or piped, plain or compressed input. Writing them, but for
//! their data: `write`.
//!
//! Promises: any bytes may come in; none panics, hangs, or makes it allocate more than the limits named `..._max` in
//! the files below. Opens no file and starts no thread. Leaves out: multi-volume archives.

mod attributes;
pub(crate) mod codec;
mod header;
pub(crate) mod index;
pub(crate) mod input;
pub(crate) mod member;
pub(crate) mod pack;
mod pax;
mod sparse;
pub(crate) mod split;
pub(crate) mod stream;
#[cfg(test)]
mod tests;
pub mod write;

pub use codec::{Codec, detect, open};
pub use input::{Input, ReadAt};
pub use member::{ArchiveError, Member, MemberKind, Segment};
pub use pack::{FinishWrite, PIECE_BYTES, Pack, Packing, Wrap};
pub use stream::{Archive, Label, Options};
