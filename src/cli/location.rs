//! Where files go, as typed: a directory of this host, or an NFSv3 export.

use std::ffi::OsStr;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::fs::{Mode, OFlags};

use crate::mounts::nfs::{Url, UrlError};

/// A place for files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A directory, by the host's own file systems.
    Dir(PathBuf),
    /// An export that parfs speaks NFSv3 to, with the text it was parsed from.
    Nfs(Box<Url>, String),
}

impl Location {
    /// What `text` names. Only `nfs://` makes a URL; a directory of that name is `./nfs:/...`.
    pub fn parse(text: &OsStr) -> Result<Location, UrlError> {
        if !text.as_encoded_bytes().starts_with(b"nfs://") {
            return Ok(Location::Dir(PathBuf::from(text)));
        }
        // Names of any bytes are written as a URL has them.
        let chunks = text.as_encoded_bytes().utf8_chunks();
        let url: String = chunks.fold(String::new(), |mut url, chunk| {
            url.push_str(chunk.valid());
            chunk.invalid().iter().for_each(|byte| url.push_str(&format!("%{byte:02X}")));
            url
        });
        Ok(Location::Nfs(Box::new(Url::parse(&url)?), url))
    }

    /// The directory of this host, if it is one.
    pub fn dir(&self) -> Option<&Path> {
        match self {
            Location::Dir(path) => Some(path),
            Location::Nfs(..) => None,
        }
    }

    /// As it is written, and without a URL's arguments: what is in it is shown below it.
    pub fn shown(&self) -> Vec<u8> {
        match self {
            Location::Dir(path) => path.as_os_str().as_bytes().to_vec(),
            Location::Nfs(_, text) => text.split('?').next().unwrap_or_default().as_bytes().to_vec(),
        }
    }

    /// The user that files are made as; `own` is the process's.
    pub fn uid(&self, own: u32) -> u32 {
        match self {
            Location::Dir(_) => own,
            Location::Nfs(url, _) => url.uid.unwrap_or(own),
        }
    }

    /// The groups that it is a member of.
    pub fn groups(&self) -> Vec<u32> {
        match self {
            Location::Dir(_) => {
                let groups = rustix::process::getgroups().unwrap_or_default();
                [rustix::process::getegid()].into_iter().chain(groups).map(rustix::process::Gid::as_raw).collect()
            }
            Location::Nfs(url, _) => url.groups(),
        }
    }
}

/// True when the local directory `path` is the root of a mounted file system: it is on another device than what is above
/// it, or nothing is. True also where that cannot be told, so that nobody's snapshots are taken for files.
pub fn is_fs_root(path: &Path) -> bool {
    let (here, above) = match (fs::metadata(path), fs::metadata(path.join(".."))) {
        (Ok(here), Ok(above)) => (here, above),
        (Err(error), _) | (_, Err(error)) => return !is_absent(&error),
    };
    here.dev() != above.dev() || here.ino() == above.ino()
}

/// True for what there is nothing of, rather than what cannot be looked at.
pub fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The path without symbolic links. In a working directory that is below one which may not be searched it is the kernel's name for what
/// can be opened all the same.
pub fn real(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize().or_else(|error| {
        if is_absent(&error) {
            return Err(error);
        }
        let held = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        let real = fs::read_link(format!("/proc/self/fd/{}", held.as_raw_fd()));
        real.ok().filter(|real| real.is_absolute()).ok_or(error)
    })
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Location::Dir(path) => path.display().fmt(f),
            Location::Nfs(_, text) => text.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_of_file_systems_are_known() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("d")).unwrap();
        assert!(is_fs_root(Path::new("/")) && is_fs_root(Path::new("/proc")) && is_fs_root(Path::new("/proc/.")));
        assert!(!is_fs_root(&dir.path().join("d")) && !is_fs_root(&dir.path().join("absent")));
    }

    #[test]
    fn urls_and_directories() {
        let at = |text: &str| Location::parse(OsStr::new(text));
        assert_eq!(at("/mnt/fss").unwrap(), Location::Dir("/mnt/fss".into()));
        assert_eq!(at("nfs").unwrap().uid(5), 5);
        assert_eq!(at("nfs://h/e?uid=0").unwrap().uid(5), 0);
        assert_eq!(at("nfs://h/e").unwrap().uid(5), 5);
        assert!(at("nfs://h").is_err());
        // A name that is no UTF-8 is one of the export, not a directory of this host.
        let latin = std::os::unix::ffi::OsStrExt::from_bytes(b"nfs://h/e/l\xe9\xffa");
        assert_eq!(Location::parse(latin).unwrap(), at("nfs://h/e/l%E9%FFa").unwrap());
    }
}
