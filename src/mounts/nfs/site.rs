//! Several directories of one list of hosts, attached over the connections of the first that was attached of their file system.

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use crate::storage::{Attr, Node};

use super::ask::{Asker, Kept, Mounted};
use super::attach::{attach, enter, joined};
use super::proof::{Usage, attr_of, prove_same};
use super::{AttachError, NfsMount, Url};

/// Targets that are attached for any number of their directories: each file system has its connections once.
#[derive(Debug, Default)]
pub struct Site {
    known: Vec<Known>,
    /// What each target's MOUNT is asked on.
    kept: Vec<Kept>,
}

/// The first directory that was attached of a file system.
#[derive(Debug)]
struct Known {
    mounts: Vec<Arc<NfsMount>>,
    /// The file system as each target calls it, once that was asked for; none where one did not say.
    fsids: OnceCell<Option<Vec<u64>>>,
}

impl Known {
    fn fsids(&self) -> Option<&Vec<u64>> {
        let ask = |mount: &Arc<NfsMount>| Some(attr_of(mount, &mount.root).ok()?.fsid);
        self.fsids.get_or_init(|| self.mounts.iter().map(ask).collect()).as_ref()
    }
}

impl Site {
    /// Attaches the directory at `url`, which differs from those before in its path alone.
    pub fn attach(&mut self, url: &Url, usage: Usage) -> Result<Vec<Arc<NfsMount>>, AttachError> {
        if let Some(mounts) = self.beside(url, usage)? {
            return Ok(mounts);
        }
        let mounts = attach(url, usage)?;
        self.known.push(Known { mounts: mounts.clone(), fsids: OnceCell::new() });
        Ok(mounts)
    }

    /// The same, of a file system that is attached already; none of another, which has limits of its own, of an export that may be
    /// served elsewhere, and of what MOUNT does not give where it was: it may have moved. Each directory is proven to be one at all
    /// targets: replicas may be alike in one and not in the next.
    fn beside(&mut self, url: &Url, usage: Usage) -> Result<Option<Vec<Arc<NfsMount>>>, AttachError> {
        let Some(first) = self.known.first() else { return Ok(None) };
        self.kept.resize_with(first.mounts.len(), Kept::default);
        let shown = first.mounts.iter().zip(&mut self.kept).map(|(mount, kept)| shown(mount, kept, url));
        let shown: Vec<_> = match shown.collect() {
            Err(AttachError::Connect { .. }) => return Ok(None),
            shown => shown?,
        };
        let (mut mounts, attrs): (Vec<NfsMount>, Vec<Attr>) = shown.into_iter().unzip();
        let fsids: Vec<u64> = attrs.iter().map(|attr| attr.fsid).collect();
        // Some servers have no other number for any of theirs.
        if fsids.contains(&0) {
            return Ok(None);
        }
        let Some(known) = self.known.iter().find(|known| known.fsids() == Some(&fsids)) else { return Ok(None) };
        mounts.iter_mut().zip(&known.mounts).for_each(|(mount, of)| mount.target = of.target.clone());
        let below = prove_same(&mounts, usage)?;
        Ok(Some(joined(mounts, below)))
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
    let mut mount = NfsMount::of(Node::Handle(export), target.clone());
    let attr = enter(&mut mount, below, &url.path)?;
    Ok((mount, attr))
}
