//! Where mounts are, among all others: what lies below each, and whether the kernel made it by itself. A host may have thousands.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::mounts::local::peers::mountinfo::{Entry, Export, Table};

/// What else is where a mount is.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// Mount points below it, and its own for each mount that is over or under it.
    pub within: Vec<PathBuf>,
    /// The kernel mounted it by itself, when a path crossed into another file system of the server.
    pub is_crossed: bool,
}

/// A host's mounts by where they are.
pub struct Places<'a> {
    /// Sorted by components: what is below a point follows it.
    points: Vec<&'a Path>,
    /// Those of NFS.
    nfs: HashMap<&'a Path, Vec<(&'a Entry, Export)>>,
}

impl<'a> Places<'a> {
    /// Those of the kernel's table.
    pub fn of(table: &'a Table) -> Places<'a> {
        let mut points: Vec<&Path> = table.points().collect();
        points.sort_unstable();
        let mut nfs: HashMap<&Path, Vec<(&Entry, Export)>> = HashMap::new();
        for (entry, export) in table.nfs() {
            nfs.entry(&entry.point).or_default().push((entry, export));
        }
        Places { points, nfs }
    }

    /// What else is where this mount is.
    pub fn place(&self, entry: &Entry, export: &Export, is_in_fstab: bool) -> Place {
        let point = entry.point.as_path();
        let from = self.points.partition_point(|other| *other < point);
        let below = self.points[from..].iter().take_while(|other| other.starts_with(point));
        // The first is its own.
        let within = below.skip(1).map(|other| other.to_path_buf()).collect();
        Place { within, is_crossed: !is_in_fstab && self.is_crossed(entry, export) }
    }

    /// Does a mount above show, at this point, what this one shows?
    fn is_crossed(&self, entry: &Entry, export: &Export) -> bool {
        let path = Path::new(OsStr::from_bytes(&export.path));
        let has_crossed = |(above, of): &(&Entry, Export)| {
            let below = path.strip_prefix(OsStr::from_bytes(&of.path));
            above.device != entry.device
                && of.host == export.host
                && below.is_ok_and(|below| entry.point.strip_prefix(&above.point).is_ok_and(|way| way == below))
        };
        entry.point.ancestors().skip(1).filter_map(|above| self.nfs.get(above)).flatten().any(has_crossed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_follows_in_the_order_of_components() {
        let text = b"1 1 0:1 / / rw - tmpfs none rw\n2 1 0:2 / /m rw - nfs h:/a rw\n3 2 0:3 / /m/d rw - nfs h:/a/d rw\n\
                     4 1 0:4 / /m-1 rw - tmpfs none rw\n5 2 0:5 / /m/e rw - nfs h:/b/e rw\n6 3 0:6 / /m/d/x rw - tmpfs none rw\n\
                     7 6 0:7 / /m/d/x rw - nfs h:/x rw\n";
        let table = Table::parse(text);
        let places = Places::of(&table);
        let of = |point: &str, is_in_fstab: bool| {
            let (entry, export) = table.nfs().find(|(entry, _)| entry.point == Path::new(point)).unwrap();
            let place = places.place(entry, &export, is_in_fstab);
            (place.within.iter().map(|path| path.display().to_string()).collect::<Vec<_>>(), place.is_crossed)
        };
        let is =
            |points: &[&str], is_crossed: bool| (points.iter().map(|p| p.to_string()).collect::<Vec<_>>(), is_crossed);
        assert_eq!(of("/m", false), is(&["/m/d", "/m/d/x", "/m/d/x", "/m/e"], false));
        assert_eq!(
            (of("/m/d", false), of("/m/d", true)),
            (is(&["/m/d/x", "/m/d/x"], true), is(&["/m/d/x", "/m/d/x"], false))
        );
        assert_eq!(of("/m/e", false), is(&[], false));
        assert_eq!(of("/m/d/x", false), is(&["/m/d/x"], false));
    }
}
