//! Files on a kernel's file systems: what is there, and how files are laid out before a job.
//!
//! Promises: a file is laid out anew, never cut or written over, with sequential writes of [`PIECE`] bytes; on file systems without
//! fallocate(2) no byte is written where only room was asked for.
//! Leaves out: which files there are to be.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{self, FallocateFlags, FileType, Mode, OFlags, SeekFrom};
use rustix::io::{Errno, retry_on_intr, write};

use super::super::settings::Allocate;
use super::descriptors::{MODE, close};
use super::{Layout, Place, There};

/// Bytes of one write when a file is filled.
pub const PIECE: usize = 1 << 20;

/// The kernel's file systems.
#[derive(Debug)]
pub struct KernelPlace;

/// The errno of an error of std's.
fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// A file of no bytes, in place of what was there.
fn anew(path: &Path) -> Result<OwnedFd, Errno> {
    match fs::unlink(path) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(errno),
    }
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    retry_on_intr(|| fs::open(path, flags, MODE))
}

/// Makes room for `size` bytes. Where the file system has no fallocate(2), `native` leaves it at that and `posix` sets the size: what
/// posix_fallocate(3) does there, a byte in each block, takes minutes over NFS.
fn make_room(fd: &OwnedFd, size: u64, allocate: Allocate) -> Result<(), Errno> {
    if size == 0 {
        return Ok(());
    }
    let set_size = || retry_on_intr(|| fs::ftruncate(fd, size));
    let by = |flags| match retry_on_intr(|| fs::fallocate(fd, flags, 0, size)) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
        made => made.map(|()| true),
    };
    match allocate {
        Allocate::None => Ok(()),
        Allocate::Truncate => set_size(),
        Allocate::Keep => by(FallocateFlags::KEEP_SIZE).map(drop),
        Allocate::Native => by(FallocateFlags::empty()).map(drop),
        Allocate::Posix => match by(FallocateFlags::empty())? {
            true => Ok(()),
            false => set_size(),
        },
    }
}

/// Writes `size` bytes of `fill`.
fn write_all(
    fd: &OwnedFd,
    size: u64,
    fill: &mut dyn FnMut(u64, &mut [u8]),
    stop: &dyn Fn() -> bool,
) -> Result<(), Errno> {
    let mut piece = vec![0; PIECE.min(usize::try_from(size).unwrap_or(PIECE))];
    let mut offset = 0;
    while offset < size && !stop() {
        let len = (size - offset).min(PIECE as u64) as usize;
        fill(offset, &mut piece[..len]);
        let mut rest = &piece[..len];
        while !rest.is_empty() {
            match retry_on_intr(|| write(fd, rest))? {
                0 => return Err(Errno::IO),
                written => rest = &rest[written..],
            }
        }
        offset += len as u64;
    }
    Ok(())
}

impl Place for KernelPlace {
    fn look(&self, path: &Path) -> Result<There, Errno> {
        let stat = match fs::stat(path) {
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(There::Nothing),
            stat => stat?,
        };
        Ok(match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => There::File(stat.st_size.cast_unsigned()),
            FileType::Directory => There::Dir,
            FileType::BlockDevice => {
                let device = retry_on_intr(|| fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()))?;
                There::Device(fs::seek(&device, SeekFrom::End(0))?)
            }
            _ => There::Stream,
        })
    }

    fn make_parents(&self, path: &Path) -> Result<(), Errno> {
        match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => {
                std::fs::create_dir_all(parent).map_err(|error| errno(&error))
            }
            _ => Ok(()),
        }
    }

    fn lay_out(
        &self,
        path: &Path,
        layout: &Layout,
        fill: &mut dyn FnMut(u64, &mut [u8]),
        stop: &dyn Fn() -> bool,
    ) -> Result<(), Errno> {
        let fd = anew(path)?;
        if layout.filled {
            write_all(&fd, layout.size, fill, stop)?;
        } else {
            make_room(&fd, layout.size, layout.allocate)?;
        }
        if layout.fsync {
            retry_on_intr(|| fs::fsync(&fd))?;
        }
        close(fd)
    }

    fn remove(&self, path: &Path) -> Result<(), Errno> {
        match fs::unlink(path) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    fn is_on_disk(&self, path: &Path) -> bool {
        // A file that is not there yet is where its directory is.
        let stat = path.ancestors().find_map(|path| {
            let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
            fs::stat(path).ok()
        });
        stat.is_some_and(|stat| {
            let is_device = FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice;
            let device = if is_device { stat.st_rdev } else { stat.st_dev };
            let (major, minor) = (fs::major(device), fs::minor(device));
            fs::stat(format!("/sys/dev/block/{major}:{minor}")).is_ok()
        })
    }
}
