//! Bytes to values and back: ONC RPC (RFC 5531), NFSv3 and MOUNT (RFC 1813), portmap (RFC 1833). No sockets, no clock.
//!
//! Both directions of everything, so that the client and the simulator are each other's inverse. XDR bodies of fixed
//! size go through the `nfs3_types` crate; whatever carries a length is read by hand, because a length from the
//! network must be checked against the bytes that are there before anything is allocated.

pub mod mount3;
pub mod nfs3;
pub mod portmap;
pub mod record;
pub mod rpc;
pub mod xdr;

pub use xdr::Malformed;
