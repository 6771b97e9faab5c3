//! Several directories of one list of hosts, attached over the connections of the first that was attached of their file system.

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use crate::storage::{Attr, Node};

use super::ask::{Asker, Kept, Mounted};
use super::attach::{attach, enter, joined};
use super::proof::{Handles, Usage, attr_of, prove_same};
use super::{AttachError, NfsMount, Url};

/// Targets that are attached for any number of their directories: each file system has its connections once.
#[derive(Debug, Default)]
pub struct Site {
    known: Vec<Known>,
    /// What each target's MOUNT is asked on.
    kept: Vec<Kept>,
}

/// A directory that was attached, and what it was proven for.
#[derive(Debug)]
struct Known {
    mounts: Vec<Arc<NfsMount>>,
    usage: Usage,
    /// The file system as each target calls it, once that was asked for; none where one did not say.
    fsids: OnceCell<Option<Vec<u64>>>,
}

impl Known {
    fn of(mounts: &[Arc<NfsMount>], usage: Usage) -> Known {
        Known { mounts: mounts.to_vec(), usage, fsids: OnceCell::new() }
    }

    fn fsids(&self) -> Option<&Vec<u64>> {
        let ask = |mount: &Arc<NfsMount>| Some(attr_of(mount, &mount.root).ok()?.fsid);
        self.fsids.get_or_init(|| self.mounts.iter().map(ask).collect()).as_ref()
    }

    fn is_for(&self, usage: Usage) -> bool {
        self.usage == usage || self.usage == Usage::Writes
    }
}

impl Site {
    /// Attaches the directory at `url`, which differs from those before in its path alone.
    pub fn attach(&mut self, url: &Url, usage: Usage) -> Result<Vec<Arc<NfsMount>>, AttachError> {
        if let Some(mounts) = self.beside(url, usage)? {
            return Ok(mounts);
        }
        let mounts = attach(url, usage)?;
        self.known.push(Known::of(&mounts, usage));
        Ok(mounts)
    }

    /// The same, of a file system that is attached already; none of another, which has limits of its own, and an export that may be
    /// served elsewhere.
    fn beside(&mut self, url: &Url, usage: Usage) -> Result<Option<Vec<Arc<NfsMount>>>, AttachError> {
        let Some(first) = self.known.first() else { return Ok(None) };
        self.kept.resize_with(first.mounts.len(), Kept::default);
        let shown = first.mounts.iter().zip(&mut self.kept).map(|(mount, kept)| shown(mount, kept, url));
        let (mut mounts, attrs): (Vec<NfsMount>, Vec<Attr>) = shown.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        let fsids: Vec<u64> = attrs.iter().map(|attr| attr.fsid).collect();
        let mut same = self.known.iter().filter(|known| known.fsids() == Some(&fsids));
        let Some(mut known) = same.next() else { return Ok(None) };
        if !known.is_for(usage) {
            known = same.find(|known| known.is_for(usage)).unwrap_or(known);
        }
        mounts.iter_mut().zip(&known.mounts).for_each(|(mount, of)| mount.target = of.target.clone());
        // Of a file system that was proven to be one, what has one file id at all targets is one directory.
        let is_one = attrs.windows(2).all(|pair| pair[0].fileid == pair[1].fileid);
        let is_proven = is_one && known.is_for(usage);
        let below = match known.mounts.first().map(|mount| &mount.root) {
            Some(Node::Chain(_)) if is_proven => Handles::Own,
            _ if is_proven => Handles::Shared,
            _ => prove_same(&mounts, usage)?,
        };
        let mounts = joined(mounts, below);
        if !is_proven {
            self.known.push(Known::of(&mounts, usage));
        }
        Ok(Some(mounts))
    }
}

/// What a target shows at `url`, as its MOUNT says: a directory may be an export of its own, with another file system in it than LOOKUP
/// finds there.
fn shown(mount: &NfsMount, kept: &mut Kept, url: &Url) -> Result<(NfsMount, Attr), AttachError> {
    let target = mount.target.clone();
    let asker = Asker {
        label: &target.label,
        address: target.mount_at,
        credential: &target.credential,
        privileged: target.privileged,
        kept: RefCell::new(std::mem::take(kept)),
    };
    let mounted = asker.mount(target.mount_at.port(), url);
    *kept = asker.kept.into_inner();
    let Mounted { export, below } = mounted?;
    let mut mount = NfsMount { root: Node::Handle(export), target: target.clone() };
    let attr = enter(&mut mount, below, &url.path)?;
    Ok((mount, attr))
}
