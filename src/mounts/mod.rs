//! The back ends: each carries out calls for one kind of storage. What they promise in common is tested over all of
//! them in tests/suite/conformance.rs.

// The direct NFSv3 client (`pub mod nfs;`) stands here.
pub mod local;
pub mod memory;
mod page;

pub use local::LocalMount;
pub use memory::MemoryMount;
