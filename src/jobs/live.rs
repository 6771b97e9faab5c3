//! What is going on in a job, for a display that samples it.

use std::sync::atomic::AtomicU64;

/// Counters that a job raises while it runs.
#[derive(Debug, Default)]
pub struct Live {
    /// Objects dealt with: members, files, directories.
    pub objects: AtomicU64,
    /// Bytes of file data dealt with.
    pub bytes: AtomicU64,
    /// Bytes of the uncompressed archive read so far; 0 in jobs without one.
    pub archive_bytes: AtomicU64,
    /// The archive's size in bytes; 0 where it is not known.
    pub total_bytes: AtomicU64,
}
