//! What the disks below the jobs' files do while these run, from sysfs.
//!
//! Promises: a disk is told once, whole, whatever partition a file is on; what is on no disk of this host (NFS, tmpfs) has none.
//! Leaves out: the disks that a device mapper or RAID is made of; they are told as the one that they are together.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::fs::{major, minor};

use crate::load::offsets::Extent;
use crate::load::results::DiskResult;
use crate::load::settings::Settings;

/// Disks, and what they had done when this was made.
pub struct Disks {
    disks: Vec<(String, PathBuf, [u64; STATS])>,
    began: Instant,
}

/// Numbers in a disk's `stat` that every kernel has (Documentation/block/stat.rst).
const STATS: usize = 11;

impl Disks {
    /// Below the files of clones, where their jobs want that told. Files of one directory that have generated names are on one disk.
    pub fn below<'a>(clones: impl Iterator<Item = (&'a Settings, &'a [(PathBuf, Extent)])>) -> Disks {
        let mut numbers = BTreeSet::new();
        let mut looked: HashSet<&Path> = HashSet::new();
        for (settings, files) in clones {
            if !settings.measures.disks || !settings.engine.nfs_urls.is_empty() || settings.engine.name == "null" {
                continue;
            }
            for (path, _) in files {
                let key = if settings.files.names.is_empty() { path.parent().unwrap_or(path) } else { path };
                if looked.insert(key) {
                    numbers.extend(device(path));
                }
            }
        }
        let mut disks: Vec<_> = numbers.into_iter().filter_map(disk).collect();
        disks.dedup_by(|a, b| a.0 == b.0);
        Disks { disks, began: Instant::now() }
    }

    /// What they have done since.
    pub fn since(&self) -> Vec<DiskResult> {
        let ms = self.began.elapsed().as_millis().max(1) as f64;
        let told = self.disks.iter().filter_map(|(name, path, before)| {
            let now = stats(path)?;
            let since = |at: usize| now[at].saturating_sub(before[at]);
            let both = |at: usize| [since(at), since(at + 4)];
            Some(DiskResult {
                name: name.clone(),
                ios: both(0),
                merges: both(1),
                sectors: both(2),
                ticks: both(3),
                in_queue: since(10),
                util: (100.0 * since(9) as f64 / ms).min(100.0),
            })
        });
        told.collect()
    }
}

/// The number of the device that a file is on, or is; of one that is not there yet, that of the directory above it.
fn device(path: &Path) -> Option<u64> {
    let found = path.ancestors().find_map(|path| {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        fs::metadata(path).ok()
    })?;
    Some(if found.file_type().is_block_device() { found.rdev() } else { found.dev() })
}

/// The whole disk of a device's number: its name, its directory in sysfs, what it has done.
fn disk(number: u64) -> Option<(String, PathBuf, [u64; STATS])> {
    let path = fs::canonicalize(format!("/sys/dev/block/{}:{}", major(number), minor(number))).ok()?;
    let whole = if path.join("partition").exists() { path.parent()?.to_owned() } else { path };
    let name = whole.file_name()?.to_str()?.to_owned();
    let stats = stats(&whole)?;
    Some((name, whole, stats))
}

fn stats(disk: &Path) -> Option<[u64; STATS]> {
    let text = fs::read_to_string(disk.join("stat")).ok()?;
    let numbers: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    numbers.get(..STATS)?.try_into().ok()
}
