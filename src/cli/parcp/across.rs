//! What `--delete` may remove of one source in clearing the destination of another. Every source is held against the
//! destination of every other one before the first of them is copied.
//!
//! All destinations are one directory or names in it, so a source is looked for by the ways that lead to it, and not in each
//! destination: the work grows with the number of sources and their depth.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::base::Name;
use crate::base::name::Shown;
use crate::cli::location::{Location, real};
use crate::jobs::copy::Options;
use crate::mounts::nfs::Url;

use super::legs::{IsOne, joined, split, without_slashes};
use super::relation::{self, Relation};

/// The destinations of a run: names below one directory, and that itself where a source's contents go into it.
pub struct Destinations<'a> {
    pub directory: &'a Location,
    pub names: Vec<Name>,
    pub itself: bool,
    /// The directory is a file system's root: a `.snapshot` in it is left alone.
    pub fs_root: bool,
}

/// Destinations of this host, by what tells that a directory on the way to a source is one of them.
struct Here {
    by_path: HashMap<PathBuf, PathBuf>,
    by_file_id: HashMap<u64, Vec<PathBuf>>,
}

impl Destinations<'_> {
    /// Why one of the sources would lose something, if so.
    pub fn refusal(&self, sources: &[Location], options: &Options, is_one: IsOne<'_>) -> Option<String> {
        options.delete?;
        let here = match self.directory {
            Location::Dir(path) => Some(Here::new(path, &self.names, self.itself)),
            Location::Nfs(..) => None,
        };
        sources.iter().find_map(|source| match (source, self.directory) {
            (Location::Dir(path), Location::Dir(directory)) => {
                let found = here.as_ref()?.around(path, is_one);
                let found = found.into_iter().chain(self.inside(path, directory, is_one));
                found.into_iter().find_map(|(relation, to)| self.of(&relation, options, source, &to))
            }
            (Location::Nfs(from, _), Location::Nfs(to, _)) => {
                let found = self.of_urls(from, to);
                found.into_iter().find_map(|(relation, name)| self.of(&relation, options, source, &self.shown(name)))
            }
            _ => None,
        })
    }

    /// A destination as it is shown.
    fn shown(&self, name: Option<&Name>) -> Vec<u8> {
        let directory = self.directory.shown();
        name.map_or_else(|| directory.clone(), |name| joined(&directory, name))
    }

    fn of(&self, relation: &Relation, options: &Options, source: &Location, to: &[u8]) -> Option<String> {
        let from = source.shown();
        let snapshots = self.fs_root && *to == self.directory.shown();
        match relation {
            Relation::Same => Some(format!(
                "--delete would remove the source '{}', which is the destination of another source; move it out",
                Shown(&from)
            )),
            Relation::Inside(_) => relation::refusal(relation, options, snapshots, &from, to).map(|_| {
                let (from, to) = (Shown(&from), Shown(to));
                format!("--delete would remove the source '{from}' in part: '{to}', a destination, is in it")
            }),
            other => relation::refusal(other, options, snapshots, &from, to),
        }
    }

    /// How a source lies around destinations: where it is the directory that they are in, or above that.
    fn inside(&self, source: &Path, directory: &Path, is_one: IsOne<'_>) -> Vec<(Relation, Vec<u8>)> {
        if !fs::symlink_metadata(source).is_ok_and(|meta| meta.is_dir()) && named(source).is_some() {
            return Vec::new();
        }
        let way = match relation::local(source, directory, is_one) {
            Relation::Same => Vec::new(),
            Relation::Inside(way) => way,
            unknown @ Relation::Unknown(_) => return vec![(unknown, self.shown(None))],
            Relation::Apart | Relation::Around(_) => return Vec::new(),
        };
        let below = self.names.iter().map(|name| {
            let way = if way.is_empty() { name.as_bytes().to_vec() } else { joined(&way, name) };
            (Relation::Inside(way), self.shown(Some(name)))
        });
        let itself = self.itself && !way.is_empty();
        let itself = itself.then(|| (Relation::Inside(way.clone()), self.shown(None)));
        below.chain(itself).collect()
    }

    fn of_urls(&self, from: &Url, to: &Url) -> Vec<(Relation, Option<&Name>)> {
        let own = |relation: Relation| (relation, None);
        match relation::nfs(from, to) {
            Relation::Apart => Vec::new(),
            Relation::Around(way) => {
                let end = way.iter().position(|b| *b == b'/').unwrap_or(way.len());
                let name = self.names.iter().find(|name| name.as_bytes() == &way[..end]);
                let below = name.map(|name| match way.get(end + 1..) {
                    Some(rest) => (Relation::Around(rest.to_vec()), Some(name)),
                    None => (Relation::Same, Some(name)),
                });
                below.into_iter().chain(self.itself.then(|| own(Relation::Around(way)))).collect()
            }
            relation => {
                let way = if let Relation::Inside(way) = relation { way } else { Vec::new() };
                let below = self.names.iter().map(|name| {
                    let way = if way.is_empty() { name.as_bytes().to_vec() } else { joined(&way, name) };
                    (Relation::Inside(way), Some(name))
                });
                let itself = (self.itself && !way.is_empty()).then(|| own(Relation::Inside(way.clone())));
                below.chain(itself).collect()
            }
        }
    }
}

/// The directory of a source that is taken as a name in it: what a link leads to is taken only with a slash behind it.
fn named(source: &Path) -> Option<(PathBuf, Name)> {
    let (parent, name) = split(source).ok()?;
    let name = name?;
    let (bytes, slash) = without_slashes(source.as_os_str().as_bytes());
    let is_link = fs::symlink_metadata(OsStr::from_bytes(bytes)).is_ok_and(|meta| meta.is_symlink());
    (!(is_link && slash)).then_some((parent, name))
}

impl Here {
    /// A link in the directory is no way to elsewhere: the copy replaces it.
    fn new(directory: &Path, names: &[Name], itself: bool) -> Here {
        let mut here = Here { by_path: HashMap::new(), by_file_id: HashMap::new() };
        let Ok(real) = real(directory) else { return here };
        let below = |dir: &Path, name: &Name| dir.join(OsStr::from_bytes(name.as_bytes()));
        let below = names.iter().map(|name| (below(&real, name), below(directory, name)));
        for (real, path) in below.chain(itself.then(|| (real.clone(), directory.to_path_buf()))) {
            if let Some(meta) = fs::symlink_metadata(&real).ok().filter(fs::Metadata::is_dir) {
                here.by_file_id.entry(meta.ino()).or_default().push(path.clone());
            }
            here.by_path.insert(real, path);
        }
        here
    }

    /// The destinations that a source is, or is in. What is a source's own destination and it is told before.
    fn around(&self, source: &Path, is_one: IsOne<'_>) -> Vec<(Relation, Vec<u8>)> {
        let real = match named(source) {
            Some((parent, name)) => real(&parent).map(|dir| dir.join(OsStr::from_bytes(name.as_bytes()))),
            None => real(source),
        };
        let Ok(real) = real else { return Vec::new() };
        let mut found = Vec::new();
        for above in real.ancestors() {
            let Some(to) = self.destination(above, is_one) else { continue };
            let way = real.strip_prefix(above).map(|way| way.as_os_str().as_bytes().to_vec()).unwrap_or_default();
            let relation = if way.is_empty() { Relation::Same } else { Relation::Around(way) };
            found.push((relation, to.as_os_str().as_bytes().to_vec()));
        }
        found
    }

    /// The destination that a directory is, by its path or, for one that is mounted at two places, by its ids.
    fn destination(&self, path: &Path, is_one: IsOne<'_>) -> Option<&PathBuf> {
        if let Some(to) = self.by_path.get(path) {
            return Some(to);
        }
        let meta = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_dir)?;
        let alike = self.by_file_id.get(&meta.ino())?;
        alike.iter().find(|to| {
            let dev = fs::metadata(to).map(|there| there.dev());
            dev.is_ok_and(|dev| dev == meta.dev() || is_one(path, to))
        })
    }
}
