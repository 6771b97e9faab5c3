//! What the disks below the jobs' files do while these run, from sysfs.
//!
//! Promises: a disk is told once, whole, whatever partition a file is on, and behind one of a device mapper or RAID the disks that it is made
//! of; what is on no disk of this host (NFS, tmpfs) has none.

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
    disks: Vec<Disk>,
    began: Instant,
}

struct Disk {
    name: String,
    /// Its directory in sysfs.
    path: PathBuf,
    before: [u64; STATS],
    /// The names of those that it is made of; they are among the disks themselves.
    parts: Vec<String>,
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
        Disks::of(Path::new("/sys"), numbers)
    }

    /// Those of device numbers.
    fn of(sys: &Path, numbers: impl IntoIterator<Item = u64>) -> Disks {
        let mut disks = Vec::new();
        for number in numbers {
            add(&mut disks, &sys.join(format!("dev/block/{}:{}", major(number), minor(number))));
        }
        Disks { disks, began: Instant::now() }
    }

    /// What they have done since.
    pub fn since(&self) -> Vec<DiskResult> {
        let ms = self.began.elapsed().as_millis().max(1) as f64;
        let told = self.disks.iter().filter_map(|disk| {
            let now = stats(&disk.path)?;
            let since = |at: usize| now[at].saturating_sub(disk.before[at]);
            let both = |at: usize| [since(at), since(at + 4)];
            Some(DiskResult {
                name: disk.name.clone(),
                ios: both(0),
                merges: both(1),
                sectors: both(2),
                ticks: both(3),
                in_queue: since(10),
                util: (100.0 * since(9) as f64 / ms).min(100.0),
                parts: None,
            })
        });
        let mut told: Vec<DiskResult> = told.collect();
        let made_of: Vec<_> = told.iter().map(|disk| self.parts(disk, &told).map(Box::new)).collect();
        told.iter_mut().zip(made_of).for_each(|(disk, parts)| disk.parts = parts);
        told
    }

    fn parts(&self, whole: &DiskResult, told: &[DiskResult]) -> Option<DiskResult> {
        let names = &self.disks.iter().find(|disk| disk.name == whole.name)?.parts;
        DiskResult::mean(&told.iter().filter(|disk| names.contains(&disk.name)).collect::<Vec<_>>())
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

/// Adds the whole disk of a device's directory, and behind it those that it is made of, each once; its name.
fn add(disks: &mut Vec<Disk>, device: &Path) -> Option<String> {
    let path = fs::canonicalize(device).ok()?;
    let path = if path.join("partition").exists() { path.parent()?.to_owned() } else { path };
    let name = path.file_name()?.to_str()?.to_owned();
    if disks.iter().any(|disk| disk.name == name) {
        return Some(name);
    }
    let (at, slaves) = (disks.len(), path.join("slaves"));
    disks.push(Disk { name: name.clone(), before: stats(&path)?, path, parts: Vec::new() });
    let entries = fs::read_dir(slaves).into_iter().flatten().flatten();
    let links: BTreeSet<PathBuf> = entries.map(|entry| entry.path()).collect();
    let parts: BTreeSet<String> = links.iter().filter_map(|link| add(disks, link)).collect();
    disks[at].parts = parts.into_iter().collect();
    Some(name)
}

fn stats(disk: &Path) -> Option<[u64; STATS]> {
    let text = fs::read_to_string(disk.join("stat")).ok()?;
    let numbers: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    numbers.get(..STATS)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::makedev;

    use super::*;

    /// As the kernel lays it out: a device below `devices` and a link to it from `dev/block`.
    fn device(sys: &Path, path: &str, number: &str, stat: [u64; STATS]) {
        let dir = sys.join("devices").join(path);
        fs::create_dir_all(&dir).unwrap();
        fs::create_dir_all(sys.join("dev/block")).unwrap();
        symlink(format!("../../devices/{path}"), sys.join("dev/block").join(number)).unwrap();
        did(sys, path, stat);
    }

    fn did(sys: &Path, path: &str, stat: [u64; STATS]) {
        let numbers: Vec<String> = stat.iter().map(|n| format!("{n:8}")).collect();
        fs::write(sys.join("devices").join(path).join("stat"), format!("{}\n", numbers.join(" "))).unwrap();
    }

    /// The device at `path` is made of the one at `part`.
    fn made_of(sys: &Path, path: &str, part: &str) {
        let slaves = sys.join("devices").join(path).join("slaves");
        fs::create_dir_all(&slaves).unwrap();
        let up = "../".repeat(path.split('/').count() + 1);
        symlink(format!("{up}{part}"), slaves.join(part.rsplit('/').next().unwrap())).unwrap();
    }

    /// A volume on a RAID of a partition and a disk, whose files another job reaches by the disk too.
    #[test]
    fn a_volume_is_told_with_what_it_is_made_of() {
        let dir = tempfile::tempdir().unwrap();
        let sys = dir.path();
        let disks = [
            ("virtual/block/dm-0", "253:0"),
            ("virtual/block/md0", "9:0"),
            ("pci/vda", "254:0"),
            ("pci/vdb", "254:16"),
        ];
        disks.iter().for_each(|(path, number)| device(sys, path, number, [10; STATS]));
        device(sys, "pci/vda/vda2", "254:2", [1; STATS]);
        fs::write(sys.join("devices/pci/vda/vda2/partition"), "2\n").unwrap();
        made_of(sys, "virtual/block/dm-0", "virtual/block/md0");
        made_of(sys, "virtual/block/md0", "pci/vda/vda2");
        made_of(sys, "virtual/block/md0", "pci/vdb");
        let found = Disks::of(sys, [makedev(254, 16), makedev(253, 0)]);
        for (at, (path, _)) in disks.iter().enumerate() {
            let ios = [100, 30, 20, 9][at];
            did(sys, path, [10 + ios, 11, 12, 13, 14 + ios, 15, 16, 17, 18, 10, 20]);
        }
        let told = found.since();
        let named: Vec<(&str, u64)> = told.iter().map(|disk| (disk.name.as_str(), disk.ios[0])).collect();
        assert_eq!(named, [("vdb", 9), ("dm-0", 100), ("md0", 30), ("vda", 20)]);
        let parts: Vec<Option<[u64; 2]>> = told.iter().map(|disk| disk.parts.as_ref().map(|parts| parts.ios)).collect();
        // The mean of 20 and 9, cut off.
        assert_eq!(parts, [None, Some([30, 34]), Some([14, 18]), None]);
        let md = told[2].parts.as_ref().unwrap();
        assert_eq!((md.sectors, md.ticks, md.in_queue, md.name.as_str()), ([2, 6], [3, 7], 10, ""));
    }

    #[test]
    fn the_busiest_part_tells_the_use() {
        let disk = |util, ios| DiskResult { util, ios: [ios, 0], ..DiskResult::default() };
        let mean = DiskResult::mean(&[&disk(10.0, 3), &disk(80.0, 4)]).unwrap();
        assert_eq!((mean.util, mean.ios), (80.0, [3, 0]));
        assert_eq!(DiskResult::mean(&[]), None);
    }
}
