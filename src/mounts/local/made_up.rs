//! Files that are made up while they are read: what their file systems say of their sizes is 0 (procfs) or a page (sysfs), whatever
//! they hold.
//!
//! It promises: no system call for what is on a disk, one statfs for the first file of each other file system, and one for each file
//! that may be such. Left out: files within a directory of another file system that are mounted one by one, where that is asked of the
//! directory; what an NFS server exports of these, of which the client learns nothing; and FUSE, where few file systems make files up and
//! what these hold may be of any size.

use std::sync::atomic::Ordering;

use rustix::fs::{Mode, OFlags, fstatfs, major};

use crate::storage::{Attr, Kind, Node};

use super::LocalMount;

/// statfs(2)'s f_type of what the kernel makes up: proc, sysfs, debugfs, tracefs, securityfs, configfs, cgroup, cgroup2, pstore, selinuxfs,
/// smackfs, binfmt_misc, fusectl, nfsd, rpc_pipefs, resctrl, xenfs.
const KERNEL_MAGICS: [u64; 17] = [
    0x9fa0,
    0x6265_6572,
    0x6462_6720,
    0x7472_6163,
    0x7363_6673,
    0x6265_6570,
    0x0027_e0eb,
    0x6367_7270,
    0x6165_676c,
    0xf97c_ff8c,
    0x4341_5d53,
    0x4249_4e4d,
    0x6573_5543,
    0x6e66_7364,
    0x6759_6969,
    0x0765_5821,
    0xabba_1974,
];

/// The largest page (arm64): sysfs says one. What says more has it.
const PAGE_BYTES_MAX: u64 = 64 << 10;

impl LocalMount {
    pub(super) fn makes_up(&self, node: &Node, attr: &Attr) -> bool {
        let may_be = match attr.kind {
            Kind::File => attr.size <= PAGE_BYTES_MAX,
            Kind::Dir => true,
            _ => false,
        };
        // What is on no disk has a device number of major 0.
        if self.nfs || !may_be || major(attr.fsid) != 0 || self.sized.load(Ordering::Relaxed) == attr.fsid {
            return false;
        }
        match self.magic(node) {
            Some(magic) if KERNEL_MAGICS.contains(&magic) => true,
            Some(_) => {
                self.sized.store(attr.fsid, Ordering::Relaxed);
                false
            }
            // Reading it will tell why.
            None => false,
        }
    }

    fn magic(&self, node: &Node) -> Option<u64> {
        let place = self.place_of(node).ok()?;
        let file = self.open_at(place.fd(), place.name(), OFlags::PATH, Mode::empty()).ok()?;
        #[allow(clippy::unnecessary_cast)] // f_type's type differs by architecture
        fstatfs(&file).ok().map(|fs| fs.f_type as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::base::Name;
    use crate::storage::Mount;

    fn is_made_up(dir: &Path, name: &str) -> bool {
        let mount = LocalMount::open(dir).unwrap();
        let found = mount.lookup(&mount.root(), &Name::new(name.as_bytes()).unwrap()).unwrap();
        mount.is_made_up(&found.node, &found.attr.unwrap())
    }

    #[test]
    fn only_what_the_kernel_makes_up_is_made_up() {
        assert!(is_made_up(Path::new("/proc"), "version"));
        assert!(is_made_up(Path::new("/proc"), "sys"));
        assert!(is_made_up(Path::new("/"), "proc"), "another file system below the root");
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("empty"), "").unwrap();
        assert!(!is_made_up(dir.path(), "empty"));
    }
}
