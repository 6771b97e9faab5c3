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

/// Makes room for `size` bytes. `native` goes without where that fails, for whatever reason (as fio 3.33, measured). `posix` sets the size
/// where the file system has no fallocate(2): what posix_fallocate(3) does there, a byte in each block, takes minutes over NFS.
fn make_room(fd: &OwnedFd, size: u64, allocate: Allocate) -> Result<(), Errno> {
    if size == 0 {
        return Ok(());
    }
    let by = |flags| retry_on_intr(|| fs::fallocate(fd, flags, 0, size));
    let set_size = || retry_on_intr(|| fs::ftruncate(fd, size));
    match allocate {
        Allocate::None => Ok(()),
        Allocate::Native => by(FallocateFlags::empty()).or(Ok(())),
        Allocate::Posix => match by(FallocateFlags::empty()) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => set_size(),
            made => made,
        },
        Allocate::Keep => by(FallocateFlags::KEEP_SIZE),
        Allocate::Truncate => set_size(),
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

    fn is_free(&self, path: &Path) -> Result<(), Errno> {
        // open(2): without O_CREAT, and of a block device, O_EXCL fails with EBUSY if it is in use by the system; its partitions count.
        let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
        retry_on_intr(|| fs::open(path, flags, Mode::empty())).map(drop)
    }

    fn make_parents(&self, path: &Path) -> Result<(), Errno> {
        match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => {
                // What has a directory's name and is none has no files in it.
                let not_dir = |errno| if errno == Errno::EXIST { Errno::NOTDIR } else { errno };
                std::fs::create_dir_all(parent).map_err(|error| not_dir(errno(&error)))
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
            if stop() {
                // As in fio: what was begun is not waited for, and not left behind.
                drop(fd);
                return fs::unlink(path);
            }
        } else {
            make_room(&fd, layout.size, layout.allocate)?;
        }
        if layout.fsync {
            retry_on_intr(|| fs::fsync(&fd))?;
        }
        close(fd)
    }

    fn remove(&self, path: &Path) -> Result<(), Errno> {
        if matches!(self.look(path), Ok(There::Device(_) | There::Stream)) {
            return Ok(());
        }
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn layout(size: u64, filled: bool, allocate: Allocate) -> Layout {
        Layout { size, filled, allocate, fsync: filled }
    }

    fn lay_out(path: &Path, layout: &Layout) -> Result<(), Errno> {
        let mut fill = |offset: u64, bytes: &mut [u8]| {
            bytes.iter_mut().enumerate().for_each(|(at, byte)| *byte = ((offset + at as u64) % 251) as u8);
        };
        KernelPlace.lay_out(path, layout, &mut fill, &|| false)
    }

    #[test]
    fn files_are_laid_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("made/on the/way/file");
        assert_eq!(KernelPlace.look(&path), Ok(There::Nothing));
        assert_eq!(lay_out(&path, &layout(1, true, Allocate::None)), Err(Errno::NOENT));
        KernelPlace.make_parents(&path).unwrap();
        KernelPlace.make_parents(&path).unwrap();
        KernelPlace.make_parents(Path::new("file")).unwrap();
        let size = 2 * PIECE as u64 + 777;
        lay_out(&path, &layout(size, true, Allocate::Native)).unwrap();
        assert_eq!(KernelPlace.look(&path), Ok(There::File(size)));
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.iter().enumerate().all(|(at, byte)| *byte == (at % 251) as u8));
        assert_eq!(KernelPlace.look(path.parent().unwrap()), Ok(There::Dir));
        assert_eq!(KernelPlace.look(Path::new("/dev/null")), Ok(There::Stream));
        assert_eq!(KernelPlace.look(&path.join("below a file")), Ok(There::Nothing));
        KernelPlace.remove(&path).unwrap();
        KernelPlace.remove(&path).unwrap();
        assert_eq!(KernelPlace.remove(path.parent().unwrap()), Err(Errno::ISDIR));
    }

    #[test]
    fn room_is_made_as_asked() {
        use std::os::unix::fs::MetadataExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let size = 1 << 20;
        let table = [
            (Allocate::None, 0, false),
            (Allocate::Truncate, size, false),
            (Allocate::Native, size, true),
            (Allocate::Posix, size, true),
            (Allocate::Keep, 0, true),
        ];
        // Where the file system has no fallocate(2), which is said, the two that need none are left.
        lay_out(&path, &layout(size, false, Allocate::None)).unwrap();
        let probe = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        let has = fs::fallocate(&probe, FallocateFlags::KEEP_SIZE, 0, size).is_ok();
        for (allocate, len, is_allocated) in table {
            if is_allocated && !has {
                drop(std::fs::write("/dev/stderr", format!("NOT TESTED: fallocate={allocate:?}\n")));
                continue;
            }
            lay_out(&path, &layout(size, false, allocate)).unwrap();
            let there = std::fs::metadata(&path).unwrap();
            assert_eq!((there.len(), there.blocks() * 512 >= size), (len, is_allocated), "{allocate:?}");
        }
        // Of nothing there is no room.
        lay_out(&path, &layout(0, false, Allocate::Posix)).unwrap();
        lay_out(&path, &layout(0, true, Allocate::Native)).unwrap();
    }

    /// Another name of the file that was there keeps its bytes.
    #[test]
    fn what_was_there_is_not_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("file"), dir.path().join("other"));
        std::fs::write(&path, "precious").unwrap();
        std::fs::hard_link(&path, &other).unwrap();
        lay_out(&path, &layout(3, true, Allocate::None)).unwrap();
        assert_eq!(
            (std::fs::read(&path).unwrap(), std::fs::read(&other).unwrap()),
            (vec![0, 1, 2], b"precious".into())
        );
    }

    #[test]
    fn laying_out_stops_and_leaves_no_part_of_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let pieces = Cell::new(0);
        let mut fill = |_: u64, _: &mut [u8]| pieces.set(pieces.get() + 1);
        let layout = layout(10 * PIECE as u64, true, Allocate::None);
        KernelPlace.lay_out(&path, &layout, &mut fill, &|| pieces.get() == 3).unwrap();
        assert_eq!((pieces.get(), KernelPlace.look(&path)), (3, Ok(There::Nothing)));
    }

    #[test]
    fn devices_are_told_from_the_rest() {
        assert!(!KernelPlace.is_on_disk(Path::new("/proc/self/stat")));
        assert!(!KernelPlace.is_on_disk(Path::new("/proc/is not there/either")));
        let disks = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
        for disk in disks.map(|disk| Path::new("/dev").join(disk.file_name())).filter(|disk| disk.exists()) {
            assert!(KernelPlace.is_on_disk(&disk), "{}", disk.display());
        }
    }
}
