//! What carries out calls: a local directory or kernel mount, memory, and NFSv3 spoken directly.

pub mod local;
pub mod memory;
pub mod nfs;

pub use local::LocalMount;
pub use memory::MemoryMount;
