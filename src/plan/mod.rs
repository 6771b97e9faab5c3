//! What a job or a load will take, computed before it runs: pure arithmetic over profiles. No files, no clock, no mounts.

pub mod capacity;
pub(crate) mod course;
pub(crate) mod forecast;
pub(crate) mod level;
pub mod load;
pub(crate) mod mix;
pub(crate) mod profile;
pub(crate) mod server;
pub mod volume;

pub use capacity::{Demand, Load};
pub use profile::BadProfile;
pub use server::ServerProfile;
pub use volume::VolumeProfile;
