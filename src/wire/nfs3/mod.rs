//! NFSv3 (RFC 1813): calls as arguments and results on the wire, both directions.
//!
//! The RFC's spellings end here: above are `Call`, `Node`, `Attr`, `Status`. Not carried: SETATTR's guard from the client
//! (it is read by the server side), weak cache consistency data (sent absent, skipped when received), READDIRPLUS's
//! `dircount` (a hint; `maxcount` is honoured).

pub mod args;
pub mod attr;
pub mod decode;
pub mod encode;

#[cfg(test)]
mod tests;

pub use args::{ArgsError, Asked, Request, decode_args, encode_args};
pub use decode::{Decoded, decode_results};
pub use encode::{encode_failure, encode_results};

/// The program's number.
pub const PROGRAM: u32 = nfs3_types::nfs3::PROGRAM;
/// The version spoken here.
pub const VERSION: u32 = nfs3_types::nfs3::VERSION;
/// What a record carries beyond READ's or WRITE's payload, at most: headers, credentials, names, attributes.
pub const OVERHEAD_BYTES_MAX: usize = 64 << 10;
