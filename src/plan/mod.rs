//! What a job or a load will take, computed before it runs: pure arithmetic over profiles. No files, no clock, no mounts.

pub mod capacity;
pub mod course;
pub mod forecast;
pub mod level;
pub mod load;
pub mod mix;
pub mod profile;
pub mod server;
pub mod volume;

pub use capacity::{Demand, Load};
pub use profile::BadProfile;
pub use server::ServerProfile;
pub use volume::VolumeProfile;
