//! How much a memory mount may hold, and how much it holds.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::base::Status;
use crate::storage::Space;

/// Bytes and files in use, with their limits.
pub(super) struct Quota {
    bytes_max: u64,
    files_max: u64,
    bytes: AtomicU64,
    files: AtomicU64,
}

impl Quota {
    pub(super) fn new(bytes_max: u64, files_max: u64) -> Quota {
        Quota { bytes_max, files_max, bytes: AtomicU64::new(0), files: AtomicU64::new(0) }
    }

    /// So large that memory ends first: 8 EiB, 2^48 files.
    pub(super) fn unlimited() -> Quota {
        Quota::new(1 << 63, 1 << 48)
    }

    pub(super) fn take_bytes(&self, n: u64) -> Result<(), Status> {
        take(&self.bytes, n, self.bytes_max)
    }

    /// Takes bytes even beyond the limit: what a restart brings back was there before.
    pub(super) fn force_bytes(&self, n: u64) {
        self.bytes.fetch_add(n, Ordering::Relaxed);
    }

    pub(super) fn give_bytes(&self, n: u64) {
        self.bytes.fetch_sub(n, Ordering::Relaxed);
    }

    pub(super) fn take_file(&self) -> Result<(), Status> {
        take(&self.files, 1, self.files_max)
    }

    pub(super) fn give_file(&self) {
        self.files.fetch_sub(1, Ordering::Relaxed);
    }

    #[cfg(test)]
    pub(super) fn bytes_used(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// FSSTAT's answer.
    pub(super) fn space(&self) -> Space {
        let bytes = self.bytes_max.saturating_sub(self.bytes.load(Ordering::Relaxed));
        let files = self.files_max.saturating_sub(self.files.load(Ordering::Relaxed));
        Space {
            total_bytes: self.bytes_max,
            free_bytes: bytes,
            available_bytes: bytes,
            total_files: self.files_max,
            free_files: files,
            available_files: files,
        }
    }
}

fn take(used: &AtomicU64, n: u64, max: u64) -> Result<(), Status> {
    let fits = |now: u64| now.checked_add(n).filter(|&then| n == 0 || then <= max);
    used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).map(|_| ()).map_err(|_| Status::NoSpc)
}
