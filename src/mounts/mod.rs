//! The back ends: a local directory or kernel mount, memory, NFSv3 spoken directly, and trees that are only imagined. Each carries out
//! calls for one kind of storage; what they promise in common is tested over all of them in tests/suite/conformance.rs.

pub mod imagined;
pub mod local;
pub mod memory;
pub mod nfs;
mod page;
pub(crate) mod shadow;

pub use imagined::ImaginedMount;
pub use local::LocalMount;
pub use memory::MemoryMount;
pub use shadow::{Kernel, Locks, Paced, Server, ShadowMount, Shadows};
