//! What the sources of one run have brought to their common directory, where one of them goes there without a name of its own
//! (`parcp -t DIR a/. b/.`): what it has in common with another is copied from the first of them alone, as cp does it.
//!
//! Sources are asked, not remembered: nothing grows with what is copied, and only what is about to be replaced is asked for.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::base::{Name, Status};
use crate::mounts::LocalMount;
use crate::storage::{Call, Mount, Volume};

use super::legs::{Base, Leg};
use super::run::below;

/// Open at once for the way to one object.
const DESCRIPTORS: usize = 16;

/// A source that was copied.
pub struct Earlier {
    root: Root,
    /// The way from there to what was copied.
    way: Vec<Name>,
    /// Where its root went, below the directory.
    at: Vec<Name>,
    /// The names below its root that were copied; none: all.
    names: Option<HashSet<Vec<u8>>>,
    shown: Vec<u8>,
}

enum Root {
    /// Of this host, by its path: it is looked at and no more, and holds nothing open.
    Dir(PathBuf),
    Nfs(Box<Volume>),
}

/// True where two sources may bring something to one path: all others have names of their own.
pub fn may_meet(legs: &[Leg]) -> bool {
    legs.len() > 1 && legs.iter().any(|leg| leg.names.is_none() && leg.target.way.is_empty())
}

impl Earlier {
    /// A leg that is over, and the volume that its source was.
    pub fn new(leg: &Leg, source: Volume) -> Earlier {
        let root = match &leg.source.base {
            Base::Dir(path) => Root::Dir(path.clone()),
            Base::Nfs(_) => Root::Nfs(Box::new(source)),
        };
        Earlier {
            root,
            way: leg.source.way.clone(),
            at: leg.target.way.clone(),
            names: leg.names.as_ref().map(|names| names.iter().cloned().collect()),
            shown: leg.source.shown.clone(),
        }
    }

    /// The source's path of what it has brought to `path` below the directory, if it has.
    fn brought(&self, path: &[Name]) -> Option<Vec<u8>> {
        let rest = path.strip_prefix(&self.at[..])?;
        let Some(first) = rest.first() else {
            // Its root itself, unless that went onto the directory.
            return (!self.at.is_empty()).then(|| self.shown.clone());
        };
        if self.names.as_ref().is_some_and(|names| !names.contains(first.as_bytes())) {
            return None;
        }
        let names: Vec<&[u8]> = rest.iter().map(Name::as_bytes).collect();
        self.has(rest).then(|| below(&self.shown, &names.join(&b'/')))
    }

    /// What cannot be told counts as there: nothing is replaced on a guess.
    fn has(&self, rest: &[Name]) -> bool {
        let way: Vec<&Name> = self.way.iter().chain(rest).collect();
        let path = match &self.root {
            Root::Nfs(volume) => return leads(&**volume, &way),
            Root::Dir(path) => path,
        };
        let whole = way.iter().fold(path.clone(), |path, name| path.join(OsStr::from_bytes(name.as_bytes())));
        match fs::symlink_metadata(whole).map_err(|error| error.kind()) {
            Ok(_) => true,
            Err(ErrorKind::NotFound | ErrorKind::NotADirectory) => false,
            // Longer than a path may be, say: then name by name.
            Err(_) => LocalMount::open_with(path, DESCRIPTORS).map_or(true, |mount| leads(&mount, &way)),
        }
    }
}

/// Does the way lead to something, or cannot that be told?
fn leads(mount: &dyn Mount, way: &[&Name]) -> bool {
    let mut at = mount.root();
    for name in way {
        let mut call = [Call::lookup(&at, name)];
        mount.perform(&mut call);
        let next = match call[0].found() {
            Ok(found) => found.node,
            Err(status) => return !matches!(status, Status::NoEnt | Status::NotDir),
        };
        at = next;
    }
    true
}

/// The source that has brought something to `path` below what a leg goes to, by the path there.
pub fn by(earlier: &[Earlier], leg: &[Name], path: &[u8]) -> Option<Vec<u8>> {
    let names = path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()).map(Name::new);
    let path: Result<Vec<Name>, _> = leg.iter().cloned().map(Ok).chain(names).collect();
    let path = path.ok()?;
    earlier.iter().find_map(|source| source.brought(&path))
}
