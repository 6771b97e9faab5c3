//! What NFSv3 has no procedure for: SEEK, COPY and IO_ADVISE on the same cached descriptors as READ and WRITE.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::fs::{Advice, SeekFrom, copy_file_range, fadvise, fdatasync, fstat, ioctl_ficlone, seek};
use rustix::io::{Errno, pread, retry_on_intr};

use crate::base::Status;
use crate::storage::{Beyond, Lent, Node, Out, Sought};

use super::convert::{attr, status};
use super::data::flush;
use super::descriptors::{Held, Use};
use super::{Alias, LocalMount};

/// Bytes that the kernel copies by one call at most where it does not share them: it would take 2 GiB and not be interrupted, which is 20 s
/// of a disk's 100 MB/s for each lane, in which nothing is told and no stop is heeded.
const COPIED_MAX: u64 = 64 << 20;

/// What a mount lends: an open read descriptor, closed with the last copy from it.
pub(super) struct LentFile(pub(super) Arc<Held>);

/// A directory that a mount lends, and what its file systems are to be known by.
pub(super) struct LentDir {
    pub(super) held: Arc<Held>,
    pub(super) alias: Alias,
}

/// What the kernel says of a pair of files that it cannot copy between, or not in this way.
pub(super) fn cannot(errno: Errno) -> bool {
    matches!(errno, Errno::XDEV | Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOTTY)
}

/// What it says of one file that may be read and written all the same: sandboxes answer EPERM to calls that they do not know, a swap file is
/// ETXTBSY, a file that is only appended to EBADF, and CIFS knows ENOENT. Whether it is true, reading and writing tell.
fn cannot_this(errno: Errno) -> bool {
    matches!(errno, Errno::PERM | Errno::TXTBSY | Errno::BADF | Errno::NOENT)
}

impl LocalMount {
    pub(super) fn serve_beyond(&self, beyond: &mut Beyond<'_>) {
        let extras = self.limits.extras;
        // A mount that does not announce an operation does not carry it out either.
        let if_so = |can: bool| if can { Ok(()) } else { Err(Status::NotSupp) };
        match beyond {
            Beyond::Seek { node, offset, what, out } => {
                *out = if_so(extras.holes).and_then(|()| self.seek(node, *offset, *what));
            }
            Beyond::Copy { from, from_offset, node, offset, count, out } => {
                *out = if_so(extras.copies).and_then(|()| self.copy(from, *from_offset, node, *offset, *count));
            }
            Beyond::CopyFile { from, was, bare, dir, name, change, out } => {
                let copy = || self.copy_file((from, *was, *bare), (dir, name), change);
                *out = if_so(extras.copies).and_then(|()| copy());
            }
            Beyond::CopyFiles { from, names, rule, dir, out } => {
                let copy = || self.copy_files(from, names, rule, dir);
                *out = if_so(extras.copies && extras.bulk).and_then(|()| copy());
            }
            Beyond::IoAdvise { node, out } => *out = if_so(extras.caches).and_then(|()| self.io_advise(node)),
            Beyond::Clear { dir, bytes_max, gone, out } => {
                *out = if_so(extras.clears).and_then(|()| self.clear(dir, *bytes_max, gone));
            }
            Beyond::ListXattrs { node, out } => *out = if_so(extras.xattrs).and_then(|()| self.list_xattrs(node)),
            Beyond::GetXattr { node, name, out } => {
                *out = if_so(extras.xattrs).and_then(|()| self.get_xattr(node, name));
            }
            Beyond::SetXattr { node, name, value, out } => {
                *out = if_so(extras.xattrs).and_then(|()| self.set_xattr(node, name, value));
            }
            Beyond::RemoveXattr { node, name, out } => {
                *out = if_so(extras.xattrs).and_then(|()| self.remove_xattr(node, name));
            }
        }
    }

    fn seek(&self, node: &Node, offset: u64, what: Sought) -> Out<u64> {
        let chain = self.chain(node)?;
        let held = self.file(chain, Use::Read)?;
        if offset > self.limits.size_max {
            return Err(Status::NxIo);
        }
        // READ and WRITE name their offsets: moving the descriptor's own disturbs nobody.
        let to = match what {
            Sought::Data => SeekFrom::Data(offset),
            Sought::Hole => SeekFrom::Hole(offset),
        };
        let found = seek(held.fd(), to);
        // Who asks for data reads no hole; a hole at the end has no READ that could meet the end.
        if let (Sought::Data, Held::Read(_, size, ranges)) = (what, &*held) {
            let hole = match found {
                Ok(data) => Some((data, false)),
                Err(Errno::NXIO) => Some((*size, true)),
                Err(_) => None,
            };
            if hole.is_some_and(|(to, ended)| ranges.are_all(*size, (offset, to), ended)) {
                self.descriptors.take(chain, Use::Read);
            }
        }
        found.map_err(|errno| if errno == Errno::INVAL { Status::NotSupp } else { status(errno) })
    }

    /// An open file for COPY; not kept open for READ, so that copied files do not fill the cache.
    pub(super) fn lend_file(&self, node: &Node) -> Option<Lent> {
        if !self.limits.extras.copies {
            return None;
        }
        let chain = self.chain(node).ok()?;
        let (held, stat) = match self.descriptors.get(chain, Use::Read) {
            Some(held) => {
                let stat = fstat(held.fd()).ok()?;
                (held, stat)
            }
            None => {
                let (held, stat) = self.open_stat(chain, Use::Read).ok()?;
                (Arc::new(held), stat)
            }
        };
        let mut attr = attr(&stat);
        self.alias.rename(&mut attr);
        Some(Lent { file: Arc::new(LentFile(held)), attr: Some(attr) })
    }

    /// An open directory for COPY of what is in it.
    pub(super) fn lend_open_dir(&self, dir: &Node) -> Option<Lent> {
        if !self.limits.extras.copies {
            return None;
        }
        let held = self.dir(self.chain(dir).ok()?).ok()?;
        Some(Lent { file: Arc::new(LentDir { held, alias: self.alias.clone() }), attr: None })
    }

    /// A descriptor to read from: the cached one, or one that goes with its last user.
    fn to_read(&self, node: &Node) -> Result<Arc<Held>, Status> {
        let chain = self.chain(node)?;
        match self.descriptors.get(chain, Use::Read) {
            Some(held) => Ok(held),
            None => Ok(Arc::new(self.open_file(chain, Use::Read)?)),
        }
    }

    /// Shares the blocks of a whole file where the file system can, else has the kernel copy: without going through this process.
    fn copy(&self, from: &Lent, from_offset: u64, node: &Node, offset: u64, count: u64) -> Out<u64> {
        let LentFile(source) = from.file.downcast_ref::<LentFile>().ok_or(Status::NotSupp)?;
        let target = self.file(self.chain(node)?, Use::Write)?;
        if offset.checked_add(count).is_none_or(|end| end > self.limits.size_max) {
            return Err(Status::FBig);
        }
        if from_offset > self.limits.size_max {
            return Ok(0); // no file reaches so far
        }
        if from_offset == 0
            && offset == 0
            && let Some(cloned) = self.clone_whole(source, &target, count)?
        {
            return Ok(cloned);
        }
        let count = count.min(self.limits.size_max - from_offset).min(COPIED_MAX) as usize;
        let copied = retry_on_intr(|| {
            let (mut at, mut to) = (from_offset, offset);
            copy_file_range(source.fd(), Some(&mut at), target.fd(), Some(&mut to), count)
        });
        match copied {
            // Of a file that hides its size the kernel copies nothing, and some file systems do so of any.
            Ok(0) if count > 0 && goes_on(source, from_offset)? => Err(Status::XDev),
            Ok(copied) => Ok(copied as u64),
            Err(errno) if cannot(errno) => Err(Status::NotSupp),
            Err(errno) if cannot_this(errno) => Err(Status::XDev),
            Err(errno) => Err(status(errno)),
        }
    }

    /// The bytes that both files share now; none where that is not possible and a copy must tell why.
    fn clone_whole(&self, source: &Held, target: &Held, count: u64) -> Result<Option<u64>, Status> {
        let stat = fstat(source.fd()).map_err(status)?;
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if size == 0 || count < size || self.clones_not.load(Ordering::Relaxed) == stat.st_dev {
            return Ok(None);
        }
        match retry_on_intr(|| ioctl_ficlone(target.fd(), source.fd())) {
            Ok(()) => {
                // Its length at that moment lies between its lengths before and after.
                let after = u64::try_from(fstat(source.fd()).map_err(status)?.st_size).unwrap_or(0);
                Ok(Some(size.min(after)))
            }
            Err(errno) => {
                if matches!(errno, Errno::OPNOTSUPP | Errno::NOTTY | Errno::NOSYS) {
                    self.clones_not.store(stat.st_dev, Ordering::Relaxed);
                }
                Ok(None)
            }
        }
    }

    /// Data on its way to the storage cannot be dropped, so it is sent first; that costs nothing where there is none.
    fn io_advise(&self, node: &Node) -> Out<()> {
        let chain = self.chain(node)?;
        chain.forget_whole();
        let held = match self.descriptors.get(chain, Use::Write) {
            Some(held) => held,
            None => self.to_read(node)?,
        };
        match &*held {
            Held::Write(..) if self.nfs => flush(&held)?,
            held => retry_on_intr(|| fdatasync(held.fd())).map_err(status)?,
        }
        retry_on_intr(|| fadvise(held.fd(), 0, None, Advice::DontNeed)).map_err(status)
    }
}

/// True for a file with content at `at`, whatever its size is said to be.
fn goes_on(file: &Held, at: u64) -> Result<bool, Status> {
    retry_on_intr(|| pread(file.fd(), &mut [0][..], at)).map(|read: usize| read > 0).map_err(status)
}
