//! Extended attributes and, as `system.posix_acl_*`, ACLs: of the object itself, also when it is a symlink.
//!
//! The object is held by `O_PATH` and reached through its descriptor's name in /proc, which stands for the object and is
//! not followed further; without /proc, by opening it. What is neither a file nor a directory is not opened: its attributes and ACLs are read by
//! its name then, with the calls of Linux 6.13, and that they cannot be set, or on an older kernel not be read, is an error.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, PoisonError};

use rustix::fs::{
    Mode, OFlags, XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr, fstat, getxattr, listxattr, removexattr,
    setxattr,
};
use rustix::io::{Errno, retry_on_intr};

use crate::base::Status;
use crate::storage::{Chain, Kind, Node, Out};

use super::at_calls;
use super::convert::{kind, mode_bits, status};
use super::data::{OPENING, QUIET};
use super::descriptors::Held;
use super::modify::{On, shown_in_proc};
use super::{LocalMount, Place};

/// What most lists and values fit in.
const USUAL_BYTES: usize = 1024;
/// No list and no value is larger (xattr(7): XATTR_LIST_MAX, XATTR_SIZE_MAX), so that no growth meanwhile can outrun it.
const LARGEST_BYTES: usize = 64 << 10;

/// XFS lists the ACLs a second time for root, under the names by which it keeps them (fs/xfs/xfs_xattr.c): to remove one of these, or to set it on
/// another XFS, is to do that to the ACL.
const ACLS_OF_XFS: [&[u8]; 2] = [b"trusted.SGI_ACL_FILE", b"trusted.SGI_ACL_DEFAULT"];

/// The names of a list, each of which ends with a NUL.
fn listed(list: &[u8]) -> Vec<Vec<u8>> {
    let names = list.split(|&byte| byte == 0).filter(|name| !name.is_empty() && !ACLS_OF_XFS.contains(name));
    let mut names: Vec<Vec<u8>> = names.map(<[u8]>::to_vec).collect();
    names.sort_unstable();
    names
}

/// How a call reaches the object.
enum By<'a> {
    /// The name of its descriptor in /proc.
    Name(&'a str),
    /// A descriptor that it is open by.
    Open(BorrowedFd<'a>),
    /// Its place, where it is not opened.
    At(&'a Place),
}

/// An object for the extended attribute calls.
struct Object<'a> {
    mount: &'a LocalMount,
    chain: &'a Arc<Chain>,
    held: Arc<Held>,
}

impl Object<'_> {
    fn place(&self) -> Result<Place, Status> {
        self.mount.place(self.chain)
    }

    /// Asks a directory that is being listed by its descriptor, others by the name in /proc, then, where there is no /proc, by an opened
    /// descriptor, or by their place.
    fn ask<T>(&self, by: impl Fn(By<'_>) -> Result<T, Errno>) -> Result<T, Errno> {
        if let Held::List(fd, _) = &*self.held {
            return retry_on_intr(|| by(By::Open(fd.as_fd())));
        }
        match retry_on_intr(|| by(By::Name(&shown_in_proc(self.held.fd())))) {
            Err(Errno::NOENT) => {}
            answered => return answered,
        }
        let place = self.place().map_err(|_| Errno::NOENT)?;
        let was = fstat(self.held.fd())?;
        if !matches!(kind(&was), Kind::File | Kind::Dir) {
            return retry_on_intr(|| by(By::At(&place)));
        }
        let open = self.mount.open_at(place.fd(), place.name(), OFlags::RDONLY | QUIET, Mode::empty())?;
        let is = fstat(&open)?;
        if (is.st_dev, is.st_ino) != (was.st_dev, was.st_ino) {
            return Err(Errno::STALE);
        }
        retry_on_intr(|| by(By::Open(open.as_fd())))
    }

    /// The list or value that `read` puts into a buffer and returns the length of.
    fn bytes(&self, by: impl Fn(By<'_>, &mut [u8]) -> Result<usize, Errno>) -> Out<Vec<u8>> {
        let read = |bytes: usize| {
            let buf = std::cell::RefCell::new(vec![0; bytes]);
            self.ask(|object| by(object, &mut buf.borrow_mut())).map(|len| {
                let mut buf = buf.into_inner();
                buf.truncate(len);
                buf
            })
        };
        match read(USUAL_BYTES) {
            Err(Errno::RANGE) => read(LARGEST_BYTES),
            read => read,
        }
        .map_err(status)
    }

    /// Makes a change. The owner of a write-protected file may, on NFS servers as here (see `open_own`).
    fn change(&self, change: impl Fn() -> Result<(), Errno>) -> Out<()> {
        match change() {
            Err(Errno::ACCESS) => {
                let _one_at_a_time = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
                let place = self.place()?;
                let stat = fstat(self.held.fd()).map_err(status)?;
                let bits = mode_bits(&stat);
                let own = stat.st_uid == rustix::process::geteuid().as_raw();
                if !own || bits & 0o200 != 0 || !matches!(kind(&stat), Kind::File | Kind::Dir) {
                    return Err(Status::Access);
                }
                let on = On::Held(&place, self.held.fd());
                on.chmod(bits | 0o200)?;
                let changed = change().map_err(status);
                on.chmod(bits)?;
                changed
            }
            changed => changed.map_err(status),
        }
    }
}

impl LocalMount {
    fn object<'a>(&'a self, node: &'a Node) -> Result<Object<'a>, Status> {
        let chain = self.chain(node)?;
        let held = match self.open_dir(chain) {
            Some(held) => held,
            None => {
                let place = self.place(chain)?;
                let open = self.open_at(place.fd(), place.name(), OFlags::PATH, Mode::empty());
                Arc::new(Held::Dir(open.map_err(status)?))
            }
        };
        Ok(Object { mount: self, chain, held })
    }

    /// The same for a change, which is for what this process made or met and not for what has its name by now.
    fn object_meant<'a>(&'a self, node: &'a Node) -> Result<Object<'a>, Status> {
        let object = self.object(node)?;
        self.is_meant(object.chain, object.held.fd())?;
        Ok(object)
    }

    pub(super) fn list_xattrs(&self, node: &Node) -> Out<Vec<Vec<u8>>> {
        let list = self.object(node)?.bytes(|by, buf| match by {
            By::Name(name) => listxattr(name, buf),
            By::Open(fd) => flistxattr(fd, buf),
            By::At(place) => match at_calls::list_xattrs(place.fd(), place.name(), buf) {
                // Users' attributes and ACLs are none of a link's (xattr(7)): each one of a tree would be told on an older kernel.
                Err(Errno::NOSYS) if place.stat().is_ok_and(|stat| kind(&stat) == Kind::Symlink) => {
                    Err(Errno::OPNOTSUPP)
                }
                listed => listed,
            },
        })?;
        Ok(listed(&list))
    }

    pub(super) fn get_xattr(&self, node: &Node, at: &[u8]) -> Out<Vec<u8>> {
        self.object(node)?.bytes(|by, buf| match by {
            By::Name(name) => getxattr(name, at, buf),
            By::Open(fd) => fgetxattr(fd, at, buf),
            By::At(place) => at_calls::get_xattr(place.fd(), place.name(), at, buf),
        })
    }

    pub(super) fn set_xattr(&self, node: &Node, at: &[u8], value: &[u8]) -> Out<()> {
        let object = self.object_meant(node)?;
        let any = XattrFlags::empty();
        let set = |by: By<'_>| match by {
            By::Name(name) => setxattr(name, at, value, any),
            By::Open(fd) => fsetxattr(fd, at, value, any),
            By::At(_) => Err(Errno::NOSYS),
        };
        object.change(|| object.ask(set))
    }

    pub(super) fn remove_xattr(&self, node: &Node, at: &[u8]) -> Out<()> {
        let object = self.object_meant(node)?;
        let remove = |by: By<'_>| match by {
            By::Name(name) => removexattr(name, at),
            By::Open(fd) => fremovexattr(fd, at),
            // What is not there need not be removed.
            By::At(place) => match at_calls::get_xattr(place.fd(), place.name(), at, &mut []) {
                Err(none @ (Errno::NODATA | Errno::OPNOTSUPP)) => Err(none),
                _ => Err(Errno::NOSYS),
            },
        };
        object.change(|| object.ask(remove))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acl_of_xfs_is_listed_once() {
        let list = b"user.b\0system.posix_acl_access\0trusted.SGI_ACL_FILE\0trusted.SGI_ACL_DEFAULT\0trusted.own\0";
        assert_eq!(listed(list), [&b"system.posix_acl_access"[..], b"trusted.own", b"user.b"]);
        assert_eq!(listed(b""), Vec::<Vec<u8>>::new());
    }
}
