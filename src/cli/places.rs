//! Where the operands of a job that reads are: each by a volume and the way below its root, with few volumes for any number of
//! operands.
//!
//! A local operand's directory is resolved as the kernel does it, its last name is not followed. What is below the directory that
//! operands are relative to is reached from there; anything else from the root of its file system.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::base::{Failure, Name};
use crate::jobs::create::{Follow, Operand, Unfollowed};
use crate::mounts::nfs::{Url, Usage};
use crate::storage::Volume;

use super::console::reason;
use super::exports::{Exports, Found};
use super::location::{Location, is_fs_root};
use super::meter::Role;
use super::open::Opener;

/// Volumes that are opened at most for one job; a tree can lead by links to no more file systems than that.
const VOLUMES_MAX: usize = 1000;

/// The volumes of one job.
pub struct Places {
    opener: Mutex<Opener>,
    exports: Mutex<Exports>,
    volumes: Mutex<HashMap<Place, Arc<Volume>>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Place {
    Dir(PathBuf),
    /// The mounts, by where they are in memory: each export is attached once.
    Nfs(String),
}

/// Why an operand is not to be had.
#[derive(Debug)]
pub enum Lost {
    /// The directory that it is relative to is none: so is any other that is.
    Base(Failure),
    /// Itself.
    Operand(Failure),
}

/// A directory of this host that was resolved, and the way to an object below it.
type Way = (PathBuf, Vec<Name>);

impl Places {
    /// Opens them with `opener`.
    pub fn new(opener: Opener) -> Arc<Places> {
        let exports = Mutex::new(opener.exports());
        Arc::new(Places { opener: Mutex::new(opener), exports, volumes: Mutex::default() })
    }

    /// The opener, for what else the job opens.
    pub fn opener(&self) -> std::sync::MutexGuard<'_, Opener> {
        self.opener.lock().expect("nothing panics while it opens")
    }

    fn exports(&self) -> std::sync::MutexGuard<'_, Exports> {
        self.exports.lock().expect("nothing panics while it opens")
    }

    /// The operand `name`, relative to the directory `base`; with `follow` also what symbolic links lead to.
    pub fn operand(
        self: &Arc<Places>,
        base: &Location,
        name: &[u8],
        (recursive, follow): (bool, bool),
    ) -> Result<Operand, Lost> {
        let refused = |reason: String| Lost::Operand(Failure::refused(name, reason));
        // An unset variable of a script; joined to the base it would be all that is there.
        if name.is_empty() {
            return Err(Lost::Operand(Failure::refused(b"''", "Cannot stat: No such file or directory")));
        }
        let typed = Location::parse(OsStr::from_bytes(name)).map_err(|error| refused(error.to_string()))?;
        let (url, rest) = match (base, &typed) {
            (_, Location::Nfs(url, _)) => (Some(url), None),
            (Location::Nfs(url, text), Location::Dir(_)) => (Some(url), Some((name, text))),
            (Location::Dir(_), Location::Dir(_)) => (None, None),
        };
        if let Some(url) = url {
            if follow {
                return Err(refused("symbolic links are not followed through nfs://; leave out -h".into()));
            }
            if let Some((_, text)) = rest {
                let mounted = self.exports().attach(url, Usage::Reads).map(drop);
                let why = |error| Failure::refused(text.as_bytes(), format!("Cannot mount: {error}"));
                mounted.map_err(|error| Lost::Base(why(error)))?;
            }
            let operand = self.remote(url, rest.map(|(name, _)| name)).map_err(refused)?;
            return Ok(Operand { recursive, ..operand });
        }
        // As GNU tar does, so that `link/` is the link.
        let name = name.iter().rposition(|&byte| byte != b'/').map_or(name, |last| &name[..=last]);
        let base = base.dir().filter(|base| !base.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let place = self.local(base, name, follow);
        let (volume, way) = place.map_err(|why| match std::fs::metadata(base) {
            // Of what `-C` names; GNU tar says it so.
            Err(error) if !name.starts_with(b"/") => {
                let base = base.as_os_str().as_bytes();
                Lost::Base(Failure::refused(base, format!("Cannot open: {}", reason(&error))))
            }
            _ => refused(why),
        })?;
        let fs_root = is_fs_root(&base.join(OsStr::from_bytes(name)));
        let below = || Arc::new(Links { places: self.clone(), base: base.to_path_buf() }) as Arc<dyn Follow>;
        let exclude = Arc::default();
        Ok(Operand { volume, way, name: name.to_vec(), fs_root, recursive, exclude, follow: follow.then(below) })
    }

    /// What an operand is called in an archive: by a URL's last name, else as it is typed.
    pub fn called(&self, name: &[u8]) -> Vec<u8> {
        let last = match Location::parse(OsStr::from_bytes(name)) {
            Ok(Location::Nfs(url, _)) => self.exports().name(&url).ok().flatten(),
            _ => None,
        };
        last.map_or_else(|| name.to_vec(), |last| last.as_bytes().to_vec())
    }

    /// An object of this host.
    fn local(&self, base: &Path, name: &[u8], follow: bool) -> Result<(Arc<Volume>, Vec<Name>), String> {
        self.at(find(base, name, follow).map_err(|error| unseen(&error))?)
    }

    /// What is at a way.
    fn at(&self, (top, way): Way) -> Result<(Arc<Volume>, Vec<Name>), String> {
        let volume = self.volume(Place::Dir(top.clone()), |opener| opener.local(&top, Some(Role::Source), &[]))?;
        Ok((volume, way))
    }

    /// An object of an export: what is at `url` under its last name, or `name` below it.
    fn remote(&self, url: &Url, name: Option<&[u8]>) -> Result<Operand, String> {
        let mut exports = self.exports();
        let (mounts, way, shown) = match name {
            Some(name) => {
                let parts = name.split(|&b| b == b'/').filter(|part| !part.is_empty() && *part != b".");
                let way = parts.map(Name::new).collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
                let mounts = exports.attach(url, Usage::Reads).map_err(|error| format!("Cannot mount: {error}"))?;
                (mounts, way, name.to_vec())
            }
            None => match exports.find(url, Usage::Reads)? {
                Found::Dir(mounts) => {
                    let last = exports.name(url)?.map_or_else(|| b".".to_vec(), |name| name.as_bytes().to_vec());
                    (mounts, Vec::new(), last)
                }
                Found::Other(mounts, name) => (mounts, vec![name.clone()], name.as_bytes().to_vec()),
                Found::Nothing(..) => return Err("Cannot stat: No such file or directory".into()),
            },
        };
        let fs_root = way.is_empty() && exports.is_fs_root(url, &mounts)?;
        drop(exports);
        let place = Place::Nfs(mounts.iter().map(|mount| format!("{:p}", Arc::as_ptr(mount))).collect());
        let volume = self.volume(place, |opener| Ok(opener.attached(mounts, Some(Role::Source), &[])))?;
        let exclude = Arc::default();
        Ok(Operand { volume, way, name: shown, fs_root, recursive: true, exclude, follow: None })
    }

    fn volume(
        &self,
        place: Place,
        open: impl FnOnce(&mut Opener) -> Result<Volume, String>,
    ) -> Result<Arc<Volume>, String> {
        let mut volumes = self.volumes.lock().expect("nothing panics while it opens");
        if let Some(volume) = volumes.get(&place) {
            return Ok(volume.clone());
        }
        if volumes.len() == VOLUMES_MAX {
            return Err(format!("is on one file system more than the {VOLUMES_MAX} that one run reads"));
        }
        let volume = Arc::new(open(&mut self.opener())?);
        volumes.insert(place, volume.clone());
        Ok(volume)
    }

    /// The labels of targets that were left out.
    pub fn gone(&self) -> Vec<String> {
        let volumes = self.volumes.lock().expect("nothing panics while it opens");
        let mut gone: Vec<String> = volumes.values().flat_map(|volume| volume.gone()).collect();
        gone.sort();
        gone.dedup();
        gone
    }
}

/// What links below one base lead to.
struct Links {
    places: Arc<Places>,
    base: PathBuf,
}

impl Follow for Links {
    fn follow(&self, path: &[u8]) -> Result<(Arc<Volume>, Vec<Name>), Unfollowed> {
        let way = find(&self.base, path, true).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Unfollowed::Nothing,
            _ => Unfollowed::Refused(unseen(&error)),
        })?;
        self.places.at(way).map_err(Unfollowed::Refused)
    }
}

fn unseen(error: &io::Error) -> String {
    format!("Cannot stat: {}", reason(error))
}

/// The directory to open for an operand, and the way below it.
fn find(base: &Path, name: &[u8], follow: bool) -> io::Result<Way> {
    if name.ends_with(b"/.") {
        // What a name that ends so is of is a directory; realpath(3) takes a file for one.
        fs::metadata(base.join(OsStr::from_bytes(name)))?;
    }
    let resolved = resolve(&base.join(OsStr::from_bytes(name)), follow).and_then(|resolved| top(base, &resolved));
    resolved.or_else(|error| beneath(base, name, follow).ok_or(error))
}

/// The way below the directory itself. The path of a working directory may lead elsewhere, or not be searched from the root, and what
/// is in it is there all the same: for names without links in them, on its own file system.
fn beneath(base: &Path, name: &[u8], follow: bool) -> Option<Way> {
    if base.is_absolute() || name.starts_with(b"/") {
        return None;
    }
    let device = fs::metadata(base).ok()?.dev();
    let parts = name.split(|&b| b == b'/').filter(|part| !matches!(*part, b"" | b"."));
    let way: Vec<Name> = parts.map(|part| Name::new(part).ok()).collect::<Option<_>>()?;
    let mut path = base.to_path_buf();
    for (i, name) in way.iter().enumerate() {
        path.push(OsStr::from_bytes(name.as_bytes()));
        let there = fs::symlink_metadata(&path).ok()?;
        let is_last = i + 1 == way.len();
        if there.dev() != device || !(there.is_dir() || is_last && !(follow && there.is_symlink())) {
            return None;
        }
    }
    Some((base.to_path_buf(), way))
}

/// The path without symbolic links in it, but for a last name that is not to be followed.
fn resolve(path: &Path, follow: bool) -> io::Result<PathBuf> {
    let bytes = path.as_os_str().as_bytes();
    let named = bytes.iter().rposition(|&b| b == b'/').map_or(bytes, |slash| &bytes[slash + 1..]);
    // A slash at the end follows a link, as everywhere.
    if follow || matches!(named, b"" | b"." | b"..") {
        return fs::canonicalize(path);
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let resolved = fs::canonicalize(parent)?.join(OsStr::from_bytes(named));
    // It is to be there; what it is says the volume.
    fs::symlink_metadata(&resolved)?;
    Ok(resolved)
}

/// The directory that is opened for an operand, if it is there.
pub fn top_of(base: &Path, name: &[u8], follow: bool) -> Option<PathBuf> {
    Some(find(base, name, follow).ok()?.0)
}

/// The directory to open for a resolved path, and the way below it: `base` where the path is below it on one file system, else the
/// highest directory of the path's file system.
fn top(base: &Path, resolved: &Path) -> io::Result<Way> {
    let way = |below: &Path| {
        let parts = below.components().filter_map(|part| match part {
            Component::Normal(part) => Some(Name::new(part.as_bytes())),
            _ => None,
        });
        parts.collect::<Result<Vec<_>, _>>().map_err(io::Error::other)
    };
    let is_dir = fs::symlink_metadata(resolved)?.is_dir();
    let mut top = if is_dir { resolved } else { resolved.parent().unwrap_or(Path::new("/")) };
    let device = fs::metadata(top)?.dev();
    if let Ok(base) = fs::canonicalize(base)
        && let Ok(below) = resolved.strip_prefix(&base)
        && fs::metadata(&base)?.dev() == device
    {
        return Ok((base.clone(), way(below)?));
    }
    while let Some(above) = top.parent()
        && fs::metadata(above).is_ok_and(|above| above.dev() == device)
    {
        top = above;
    }
    let below = resolved.strip_prefix(top).map_err(io::Error::other)?;
    Ok((top.to_path_buf(), way(below)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_resolved_but_for_their_last_name() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        std::os::unix::fs::symlink("a/b", root.join("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", root.join("a/b/dangling")).unwrap();
        let at = |name: &str, follow| {
            let resolved = resolve(&root.join(name), follow)?;
            let (top, way) = top(&root, &resolved)?;
            Ok::<_, io::Error>((top, way.iter().map(ToString::to_string).collect::<Vec<_>>().join("/")))
        };
        for (name, follow, way) in [
            ("a/b", false, "a/b"),
            ("link", false, "link"),
            ("link", true, "a/b"),
            ("link/", false, "a/b"),
            ("link/dangling", false, "a/b/dangling"),
            ("a/..", false, ""),
            (".", false, ""),
            ("./a//b/", false, "a/b"),
        ] {
            assert_eq!(at(name, follow).unwrap(), (root.clone(), way.to_string()), "{name}");
        }
        for (name, follow) in [("none", false), ("none/x", false), ("link/dangling", true), ("link/dangling/", false)] {
            assert_eq!(at(name, follow).unwrap_err().kind(), io::ErrorKind::NotFound, "{name}");
        }
        // Elsewhere, from its file system's top.
        let resolved = resolve(Path::new("/proc/self/status"), true).unwrap();
        let (top, way) = top(&root, &resolved).unwrap();
        assert_eq!((top.as_path(), way.len()), (Path::new("/proc"), 2));
    }
}
