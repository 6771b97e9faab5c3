//! SEEK and extended attributes in memory, as Linux has them. Left out: COPY (a file is copied no faster here than by READ and
//! WRITE) and IO_ADVISE (nothing is cached).

use crate::base::{Status, Time};
use crate::storage::{Beyond, Kind, NO_XATTR, Node, Out, Sought};

use super::MemoryMount;
use super::tree::{Body, Inode, Xattrs};

/// The largest value (xattr(7), XATTR_SIZE_MAX), and how much of names an object has at most (XATTR_LIST_MAX).
const VALUE_MAX: usize = 64 << 10;
const NAMES_MAX: usize = 64 << 10;
/// The longest name (XATTR_NAME_MAX).
const NAME_MAX: usize = 255;
/// E2BIG: a value that is too large.
const TOO_LARGE: Status = Status::Errno(7);
/// ERANGE: a name that is too long or empty.
const OUT_OF_RANGE: Status = Status::Errno(34);

impl MemoryMount {
    pub(super) fn serve_beyond(&self, beyond: &mut Beyond<'_>) {
        match beyond {
            Beyond::Seek { node, offset, what, out } => *out = self.seek(node, *offset, *what),
            Beyond::Copy { out, .. } => *out = Err(Status::NotSupp),
            Beyond::CopyFile { out, .. } => *out = Err(Status::NotSupp),
            Beyond::CopyFiles { out, .. } => *out = Err(Status::NotSupp),
            Beyond::IoAdvise { out, .. } => *out = Err(Status::NotSupp),
            Beyond::Clear { out, .. } => *out = Err(Status::NotSupp),
            Beyond::ListXattrs { node, out } => *out = self.list_xattrs(node),
            Beyond::GetXattr { node, name, out } => *out = self.get_xattr(node, name),
            Beyond::SetXattr { node, name, value, out } => *out = self.set_xattr(node, name, value),
            Beyond::RemoveXattr { node, name, out } => *out = self.remove_xattr(node, name),
        }
    }

    fn seek(&self, node: &Node, offset: u64, what: Sought) -> Out<u64> {
        let inode = self.inode(node)?;
        let found = match (&inode.read().body, what) {
            (Body::File(data, _), Sought::Data) => data.data_from(offset),
            (Body::File(data, _), Sought::Hole) => data.hole_from(offset),
            (Body::Dir, _) => return Err(Status::IsDir),
            (Body::Symlink(_) | Body::Special(..), _) => return Err(Status::Inval),
        };
        found.ok_or(Status::NxIo)
    }

    fn list_xattrs(&self, node: &Node) -> Out<Vec<Vec<u8>>> {
        let (tree, id) = (self.tree(), self.id(node)?);
        tree.inode(id)?;
        let names = tree.xattrs.get(&id).into_iter().flat_map(Xattrs::keys);
        Ok(names.map(|name| name.to_vec()).collect())
    }

    fn get_xattr(&self, node: &Node, name: &[u8]) -> Out<Vec<u8>> {
        let (tree, id) = (self.tree(), self.id(node)?);
        allowed(tree.inode(id)?, name, false)?;
        Ok(tree.xattrs.get(&id).and_then(|xattrs| xattrs.get(name)).ok_or(NO_XATTR)?.to_vec())
    }

    fn set_xattr(&self, node: &Node, name: &[u8], value: &[u8]) -> Out<()> {
        let id = self.id(node)?;
        let mut tree = self.tree_mut();
        let inode = tree.inode(id)?.clone();
        allowed(&inode, name, true)?;
        if value.len() > VALUE_MAX {
            return Err(TOO_LARGE);
        }
        let xattrs = tree.xattrs.entry(id).or_default();
        let names: usize = xattrs.keys().map(|name| name.len() + 1).sum();
        if !xattrs.contains_key(name) && names + name.len() + 1 > NAMES_MAX {
            return Err(Status::NoSpc);
        }
        xattrs.insert(name.into(), value.into());
        inode.write().ctime = Time::now();
        Ok(())
    }

    fn remove_xattr(&self, node: &Node, name: &[u8]) -> Out<()> {
        let id = self.id(node)?;
        let mut tree = self.tree_mut();
        let inode = tree.inode(id)?.clone();
        allowed(&inode, name, true)?;
        let xattrs = tree.xattrs.get_mut(&id).ok_or(NO_XATTR)?;
        xattrs.remove(name).ok_or(NO_XATTR)?;
        if xattrs.is_empty() {
            tree.xattrs.remove(&id);
        }
        inode.write().ctime = Time::now();
        Ok(())
    }
}

/// What xattr(7) says of names: four namespaces, and `user.` on files and directories only.
fn allowed(inode: &Inode, name: &[u8], change: bool) -> Result<(), Status> {
    if name.is_empty() || name.len() > NAME_MAX {
        return Err(OUT_OF_RANGE);
    }
    if name.contains(&0) {
        return Err(Status::Inval);
    }
    let kind = inode.read().kind();
    let acl = matches!(name, b"system.posix_acl_access" | b"system.posix_acl_default");
    if name.starts_with(b"user.") {
        return match kind {
            Kind::File | Kind::Dir => Ok(()),
            _ if change => Err(Status::Perm),
            _ => Err(NO_XATTR),
        };
    }
    let known = name.starts_with(b"security.") || name.starts_with(b"trusted.");
    if known || acl && kind != Kind::Symlink { Ok(()) } else { Err(Status::NotSupp) }
}
