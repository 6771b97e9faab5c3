//! I/O and file operations on an export by direct NFSv3 calls: one engine for each clone, over a volume that the command line opened.
//!
//! Promises: as many I/Os are in flight as were queued, up to the depth; one I/O is one call, or several at once where it is larger than
//! a mount takes. Data written UNSTABLE is safe after `sync`, or its loss is told. Paths are below the volume's root, and a leading
//! slash means that root.
//! Leaves out: caches of data, symbolic links (ELOOP), block devices, what NFSv3 has no procedure for.

mod files;
mod io;
mod metadata;
mod place;
mod transfer;
mod waves;

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};
use std::sync::{Arc, PoisonError, RwLock};

use rustix::io::Errno;

use crate::base::{BadName, Name, Status};
use crate::storage::{Attr, AttrChange, Call, How, Kind, Mount, Node, Volume};

pub use files::NfsEngine;
pub use metadata::NfsMetadata;
pub use place::NfsPlace;

/// The permission bits of what is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub struct Modes {
    pub file: u32,
    pub dir: u32,
}

impl Modes {
    /// What open(2) with 0644, as fio opens, and mkdir(2) leave under this umask.
    pub fn under(umask: u32) -> Modes {
        Modes { file: 0o644 & !umask, dir: 0o777 & !umask }
    }
}

/// One entry of nfs_url: a volume, and the directories below its root that were found. Shared by the clones that use it.
pub struct Export {
    volume: Arc<Volume>,
    modes: Modes,
    /// By the names of their way, joined with slashes.
    dirs: RwLock<HashMap<Vec<u8>, Node>>,
}

/// The errno for a status.
fn errno(status: Status) -> Errno {
    Errno::from_raw_os_error(status.to_errno())
}

/// What a status says beyond its errno, if it does.
fn text(status: Status) -> Option<String> {
    (Status::from_errno(status.to_errno()) != status).then(|| status.to_string())
}

/// The components of a path; `..` is not taken.
fn names(path: &Path) -> Result<Vec<Name>, Status> {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::RootDir | Component::CurDir => {}
            Component::Normal(name) => names.push(Name::new(name.as_bytes()).map_err(|bad| match bad {
                BadName::TooLong => Status::NameTooLong,
                _ => Status::Inval,
            })?),
            Component::ParentDir | Component::Prefix(_) => return Err(Status::Inval),
        }
    }
    Ok(names)
}

fn key(names: &[Name]) -> Vec<u8> {
    let parts: Vec<&[u8]> = names.iter().map(Name::as_bytes).collect();
    parts.join(&b'/')
}

impl Export {
    /// The tree below the volume's root.
    pub fn new(volume: Arc<Volume>, modes: Modes) -> Export {
        Export { volume, modes, dirs: RwLock::default() }
    }

    /// The volume that it is over.
    pub fn volume(&self) -> &Arc<Volume> {
        &self.volume
    }

    fn one<'c>(&self, call: Call<'c>) -> Call<'c> {
        let mut calls = [call];
        self.volume.perform(&mut calls);
        let [call] = calls;
        call
    }

    /// LOOKUP; GETATTR too, where its answer has no attributes.
    fn look_up(&self, dir: &Node, name: &Name) -> Result<(Node, Attr), Status> {
        let found = self.one(Call::lookup(dir, name)).found()?;
        let attr = found.attr.map_or_else(|| self.one(Call::get_attr(&found.node)).attr(), Ok)?;
        Ok((found.node, attr))
    }

    /// The regular file `name`; made when it is not there and `create` says so.
    fn file(&self, dir: &Node, name: &Name, create: bool) -> Result<Node, Status> {
        match self.look_up(dir, name) {
            Ok((node, attr)) => match attr.kind {
                Kind::File => Ok(node),
                Kind::Dir => Err(Status::IsDir),
                Kind::Symlink => Err(Status::Loop),
                Kind::Block | Kind::Char | Kind::Socket | Kind::Fifo => Err(Status::NxIo),
            },
            Err(Status::NoEnt) if create => {
                let change = AttrChange { mode: Some(self.modes.file), ..AttrChange::default() };
                Ok(self.one(Call::create(dir, name, How::Unchecked, change)).found()?.node)
            }
            Err(status) => Err(status),
        }
    }

    fn known(&self, names: &[Name]) -> Option<Node> {
        if names.is_empty() {
            return Some(self.volume.root());
        }
        self.dirs.read().unwrap_or_else(PoisonError::into_inner).get(&key(names)).cloned()
    }

    fn learn(&self, names: &[Name], dir: &Node) {
        self.dirs.write().unwrap_or_else(PoisonError::into_inner).insert(key(names), dir.clone());
    }

    fn forget(&self) {
        self.dirs.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The directory that is reached by `names`; directories that are not there are made when `make` says so.
    fn dir(&self, names: &[Name], make: bool) -> Result<Node, Status> {
        if let Some(node) = self.known(names) {
            return Ok(node);
        }
        let mut at = self.volume.root();
        for depth in 1..=names.len() {
            let way = &names[..depth];
            at = match self.known(way) {
                Some(node) => node,
                None => {
                    let node = self.enter(&at, &names[depth - 1], make)?;
                    self.learn(way, &node);
                    node
                }
            };
        }
        Ok(at)
    }

    fn enter(&self, dir: &Node, name: &Name, make: bool) -> Result<Node, Status> {
        let looked = match self.look_up(dir, name) {
            Err(Status::NoEnt) if make => {
                let change = AttrChange { mode: Some(self.modes.dir), ..AttrChange::default() };
                match self.one(Call::mkdir(dir, name, change)).found() {
                    // Another clone was first.
                    Err(Status::Exist) => self.look_up(dir, name),
                    made => return Ok(made?.node),
                }
            }
            looked => looked,
        };
        match looked? {
            (node, attr) if attr.kind == Kind::Dir => Ok(node),
            (_, attr) if attr.kind == Kind::Symlink => Err(Status::Loop),
            _ => Err(Status::NotDir),
        }
    }

    /// Does something to `path` by its directory and its name there. Directories that were found earlier may have been made anew
    /// meanwhile; then it is done once more.
    fn at<T>(&self, path: &Path, act: impl Fn(&Node, &Name) -> Result<T, Status>) -> Result<T, Status> {
        let names = names(path)?;
        let Some((name, dirs)) = names.split_last() else { return Err(Status::IsDir) };
        self.anew(|| act(&self.dir(dirs, false)?, name))
    }

    fn anew<T>(&self, act: impl Fn() -> Result<T, Status>) -> Result<T, Status> {
        match act() {
            Err(Status::Stale | Status::BadHandle) => {
                self.forget();
                act()
            }
            done => done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_names_below_the_root() {
        let of = |path: &str| names(Path::new(path)).map(|names| String::from_utf8(key(&names)).unwrap());
        assert_eq!(of("a/./b c//d/"), Ok("a/b c/d".into()));
        assert_eq!((of("/a"), of(""), of("/.")), (Ok("a".into()), Ok(String::new()), Ok(String::new())));
        assert_eq!((of("a/../b"), of(&"x".repeat(1021))), (Err(Status::Inval), Err(Status::NameTooLong)));
    }

    #[test]
    fn what_an_errno_does_not_say_has_a_text() {
        assert_eq!((errno(Status::NoSpc), text(Status::NoSpc)), (Errno::NOSPC, None));
        assert_eq!((errno(Status::Errno(11)), text(Status::Errno(11))), (Errno::AGAIN, None));
        assert!(errno(Status::Denied) == Errno::ACCESS && text(Status::Denied).unwrap().contains("credentials"));
    }

    #[test]
    fn modes_are_those_that_a_umask_leaves() {
        assert_eq!(Modes::under(0o027), Modes { file: 0o640, dir: 0o750 });
    }
}
