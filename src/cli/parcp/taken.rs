//! What the sources of one run have brought to their common directory, where one of them goes there without a name of its own
//! (`parcp -t DIR a/. b/.`): what it has in common with another is copied from the first of them alone, and told.
//!
//! Sources are asked, not remembered: nothing grows with what is copied, and only what is about to be replaced is asked for. What is there
//! was brought by a source that has an object like it, by the measure by which a copy is known: so what a killed run left unfinished, or a
//! source was not copied to for any reason, is in nobody's way.

use std::collections::HashSet;
use std::path::PathBuf;

use crate::base::{Name, Status};
use crate::mounts::LocalMount;
use crate::storage::{Attr, Call, Kind, Mount, Volume};

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

    /// The source's path of what it has brought to `path` below the directory, if it is what is there.
    fn brought(&self, path: &[Name], is: &Attr, timed: bool) -> Option<Vec<u8>> {
        let rest = path.strip_prefix(&self.at[..])?;
        let Some(first) = rest.first() else {
            // Its root itself, unless that went onto the directory.
            return (!self.at.is_empty()).then(|| self.shown.clone());
        };
        if self.names.as_ref().is_some_and(|names| !names.contains(first.as_bytes())) {
            return None;
        }
        let names: Vec<&[u8]> = rest.iter().map(Name::as_bytes).collect();
        self.has(rest, is, timed).then(|| below(&self.shown, &names.join(&b'/')))
    }

    /// What cannot be told counts as there: nothing is replaced on a guess.
    fn has(&self, rest: &[Name], is: &Attr, timed: bool) -> bool {
        let way: Vec<&Name> = self.way.iter().chain(rest).collect();
        let found = match &self.root {
            Root::Nfs(volume) => look(&**volume, &way),
            Root::Dir(path) => match LocalMount::open_with(path, DESCRIPTORS) {
                Ok(mount) => look(&mount, &way),
                Err(_) => return true,
            },
        };
        match found {
            Ok(has) => is_copy(&has, is, timed),
            Err(status) => !matches!(status, Status::NoEnt | Status::NotDir),
        }
    }
}

/// May `is` be a copy of `of`: of one kind and size, and with its time, if that is carried?
fn is_copy(of: &Attr, is: &Attr, timed: bool) -> bool {
    let sized = !matches!(of.kind, Kind::File | Kind::Symlink) || of.size == is.size;
    let same_time = !timed || of.kind != Kind::File || of.mtime.may_be_kept_as(is.mtime, true);
    of.kind == is.kind && sized && same_time
}

/// What the way leads to; no symbolic link is followed.
fn look(mount: &dyn Mount, way: &[&Name]) -> Result<Attr, Status> {
    let mut at = mount.root();
    let mut attr = None;
    for name in way {
        let mut call = [Call::lookup(&at, name)];
        mount.perform(&mut call);
        let found = call[0].found()?;
        (at, attr) = (found.node, found.attr);
    }
    if let Some(attr) = attr {
        return Ok(attr);
    }
    let mut call = [Call::get_attr(&at)];
    mount.perform(&mut call);
    call[0].attr()
}

/// The source that has brought what is at `path` below what a leg goes to, and `is` this there, by the path there. `timed`: its time with it.
pub fn by(earlier: &[Earlier], leg: &[Name], (path, is): (&[u8], &Attr), timed: bool) -> Option<Vec<u8>> {
    let names = path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()).map(Name::new);
    let path: Result<Vec<Name>, _> = leg.iter().cloned().map(Ok).chain(names).collect();
    let path = path.ok()?;
    earlier.iter().find_map(|source| source.brought(&path, is, timed))
}
