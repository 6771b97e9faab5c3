//! READ, WRITE and COMMIT: cached descriptors, opened on first use, closed where their error can be reported.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::buffer::spare_capacity;
use rustix::fs::{Mode, OFlags, Stat, fstat, fsync, syncfs};
use rustix::io::{Errno, fcntl_dupfd_cloexec, pread, pwrite, retry_on_intr};

use crate::base::Status;
use crate::storage::{Attr, Chain, Kind, Node, Out, Stable, Verifier, Written};

use super::convert::{attr, kind, mode_bits, status};
use super::descriptors::{Held, Ranges, Sent, Use, close};
use super::modify::On;
use super::{LocalMount, Place};

/// Never waits for the other end of a FIFO, never takes a terminal.
pub(super) const QUIET: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY);

/// What is asked for beyond the size that a file had when it was opened.
const PROBE_BYTES: u64 = 64 << 10;

/// How often the rest of a file's data is flushed after there was no room for some of it.
const FLUSHES_MAX: usize = 4;

/// How often a mount is asked to store all it has: what a server has lost meanwhile it writes the second time.
const SYNCS: usize = 2;

/// Held while a file has another mode than its own.
pub(super) static OPENING: Mutex<()> = Mutex::new(());

/// Writes until an error or the end; an error behind some bytes is left to the next who writes. With `again`, the first word of a file
/// system without room is not believed.
fn write_all(fd: BorrowedFd<'_>, data: &[u8], offset: u64, mut again: bool) -> Result<usize, Status> {
    let mut count = 0;
    while count < data.len() {
        match retry_on_intr(|| pwrite(fd, &data[count..], offset + count as u64)) {
            Ok(0) => return Err(Status::Io),
            Ok(n) => count += n,
            Err(Errno::NOSPC | Errno::DQUOT) if again => again = false,
            Err(errno) if count == 0 => return Err(status(errno)),
            Err(_) => break,
        }
    }
    Ok(count)
}

/// Sends what was written to a file on a kernel's NFS mount, and waits until the server has stored it. After an error the client
/// keeps what it had sent but not committed, and would write it again once the server says that it lost it, as Linux's server says of
/// all that is not committed when it finds no room: so it is committed, or found to have no room either, before anything else is done.
fn store(fd: BorrowedFd<'_>) -> Result<(), Status> {
    let stored = retry_on_intr(|| fsync(fd)).map_err(status);
    if matches!(stored, Err(Status::NoSpc | Status::DQuot | Status::FBig)) {
        let _is_clean = (0..FLUSHES_MAX).any(|_| fsync(fd).is_ok());
    }
    stored
}

/// The same of a descriptor that lanes share: fsync tells an error to one of them, which may be about another's data.
pub(super) fn flush(held: &Held) -> Result<(), Status> {
    let Held::Write(fd, _, sent) = held else { return Ok(()) };
    let mut before = None;
    sent.first.get_or_init(|| before = Some(store(fd.as_fd())));
    // What `write` tries again for: this tells as well what became of another process's data, and nothing was written through
    // this descriptor.
    if matches!(before, Some(Ok(()) | Err(Status::NoSpc | Status::DQuot))) {
        return Ok(());
    }
    // Held while it waits: who comes next is told what this one was.
    let mut failed = sent.failed.lock().unwrap_or_else(PoisonError::into_inner);
    if let Err(status) = before.unwrap_or_else(|| store(fd.as_fd())) {
        failed.get_or_insert(status);
    }
    failed.map_or(Ok(()), Err)
}

/// What RFC 1813 says of READ and WRITE on something that is not a regular file.
fn only_files(stat: &Stat) -> Result<(), Status> {
    match kind(stat) {
        Kind::File => Ok(()),
        Kind::Dir => Err(Status::IsDir),
        _ => Err(Status::Inval),
    }
}

/// How much to ask for at `at` of a file of `size` bytes when it was opened, so that a small file needs a small buffer.
fn next_bytes(size: u64, at: u64, room: usize) -> usize {
    let left = if at < size { size - at } else { PROBE_BYTES };
    room.min(usize::try_from(left).unwrap_or(usize::MAX))
}

/// Appends up to `count` bytes at `at`.
fn read_some(held: &Held, buf: &mut Vec<u8>, count: usize, at: u64) -> Result<usize, Errno> {
    let had = buf.len();
    buf.reserve_exact(count);
    // A caller's larger buffer is not filled beyond `count`; one of just the size needs no zeros first.
    if buf.capacity() - had == count {
        return retry_on_intr(|| pread(held.fd(), spare_capacity(buf), at));
    }
    buf.resize(had + count, 0);
    let read = retry_on_intr(|| pread(held.fd(), &mut buf[had..], at));
    buf.truncate(had + read.unwrap_or(0));
    read
}

impl LocalMount {
    /// The descriptor of a regular file: cached, or opened.
    pub(super) fn file(&self, chain: &Arc<Chain>, used: Use) -> Result<Arc<Held>, Status> {
        if let Some(held) = self.descriptors.get(chain, used) {
            return Ok(held);
        }
        let held = self.open_file(chain, used)?;
        Ok(self.descriptors.keep(chain, used, held))
    }

    /// Opens a regular file for `used`.
    pub(super) fn open_file(&self, chain: &Arc<Chain>, used: Use) -> Result<Held, Status> {
        self.open_stat(chain, used).map(|(held, _)| held)
    }

    /// Opens a regular file, and says what it was then.
    pub(super) fn open_stat(&self, chain: &Arc<Chain>, used: Use) -> Result<(Held, Stat), Status> {
        let place = self.place(chain)?;
        let flags = if used == Use::Write { OFlags::WRONLY } else { OFlags::RDONLY };
        let open = || self.open_at(place.fd(), place.name(), flags | QUIET, Mode::empty());
        let fd = open().or_else(|errno| match errno {
            Errno::ACCESS if used == Use::Write => self.open_own(&place, open),
            Errno::LOOP | Errno::NXIO | Errno::NODEV => Err(Status::Inval), // a symlink; a FIFO, socket or device
            errno => Err(status(errno)),
        })?;
        let stat = fstat(&fd).map_err(status)?;
        // A kernel's client may still have an old file under a name that was made anew through another mount.
        if self.nfs && chain.fileid().is_some_and(|fileid| fileid != stat.st_ino) {
            return Err(Status::Stale);
        }
        if used == Use::Write && chain.met_as().is_some_and(|fileid| fileid != stat.st_ino) {
            return Err(Status::Stale);
        }
        only_files(&stat)?;
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        let held = if used == Use::Write {
            self.for_writing(fd, mode_bits(&stat))
        } else {
            Held::Read(fd, size, Ranges::default())
        };
        Ok((held, stat))
    }

    /// Opens for writing a file that its own mode keeps its owner from writing: NFSv3 servers let the owner (RFC 1813 4.4).
    /// A descriptor kept from its making may have been closed to make room.
    fn open_own(&self, place: &Place, open: impl Fn() -> Result<OwnedFd, Errno>) -> Result<OwnedFd, Status> {
        // Another lane's file would be seen with the mode that it has for a moment.
        let _one_at_a_time = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
        let stat = place.stat()?;
        let bits = mode_bits(&stat);
        // A server that squashes has made it another's, who we are there: whose it is it says by what it lets be done.
        let may_be_ours = self.nfs || stat.st_uid == rustix::process::geteuid().as_raw();
        if kind(&stat) != Kind::File || bits & 0o200 != 0 || !may_be_ours {
            return Err(Status::Access);
        }
        On::Place(self, place).chmod(bits | 0o200).map_err(|status| match status {
            Status::Perm => Status::Access,
            status => status,
        })?;
        let opened = open().map_err(status);
        On::Place(self, place).chmod(bits)?;
        opened
    }

    /// A descriptor for writing; a file whose mode keeps its owner from writing might not open a second time. On an NFS mount it
    /// stays for the SETATTR that mostly follows: by its name the file would be looked up again once another mount has changed
    /// the directory.
    pub(super) fn for_writing(&self, fd: OwnedFd, bits: u32) -> Held {
        Held::Write(fd, self.nfs || !self.superuser && bits & 0o200 == 0, Sent::default())
    }

    /// Reads; where that costs no question, and at the file's end, also what the file was right after. Most files are read once and whole:
    /// only one that is read by ranges stays open, until all of it was read, for lanes take ranges in any order, and by its name another
    /// file may be found by now.
    pub(super) fn read(&self, node: &Node, offset: u64, count: u32, buf: &mut Vec<u8>) -> Out<(bool, Option<Attr>)> {
        buf.clear();
        let chain = self.chain(node)?;
        let mut opened = None;
        let held = match self.descriptors.get(chain, Use::Read) {
            Some(held) => held,
            None => {
                let (held, stat) = self.open_stat(chain, Use::Read)?;
                let is_whole = offset == 0 && matches!(held, Held::Read(_, size, _) if size <= u64::from(count));
                if is_whole {
                    let read = self.read_from(&held, offset, count, buf);
                    match read {
                        Ok((false, _)) => drop(self.descriptors.keep(chain, Use::Read, held)),
                        // Each mount keeps what it has read by itself.
                        Ok((true, _)) if !self.has_peers.load(Ordering::Relaxed) => chain.note_whole(),
                        _ => {}
                    }
                    return read;
                }
                opened = Some(stat);
                self.descriptors.keep(chain, Use::Read, held)
            }
        };
        let (ended, is) = self.read_from(&held, offset, count, buf)?;
        if let Held::Read(_, size, ranges) = &*held {
            let to = offset.saturating_add(buf.len() as u64);
            if ranges.are_all(*size, (offset, to), ended) || ended && to < *size {
                self.descriptors.take(chain, Use::Read);
            }
        }
        Ok((ended, is.or_else(|| opened.map(|stat| attr(&stat)))))
    }

    fn read_from(&self, held: &Held, offset: u64, count: u32, buf: &mut Vec<u8>) -> Out<(bool, Option<Attr>)> {
        let mut size = if let Held::Read(_, size, _) = held { *size } else { 0 };
        let count = count.min(self.limits.read_max) as usize;
        let stat = loop {
            let (had, at) = (buf.len(), offset.saturating_add(buf.len() as u64));
            // No file reaches beyond `size_max`, and the kernel takes no such offset.
            let ended = at > self.limits.size_max
                || had < count && {
                    match read_some(held, buf, next_bytes(size, at, count - had), at) {
                        Ok(read) => read == 0,
                        Err(errno) if had == 0 => return Err(status(errno)),
                        Err(_) => return Ok((false, None)), // what was read is good; the next READ will meet the error
                    }
                };
            let at = offset.saturating_add(buf.len() as u64);
            if !ended && (at < size || size == 0 && !buf.is_empty()) {
                // The size at opening tells for all but the last READ; one of 0 says nothing of files that the kernel makes up.
                if buf.len() < count {
                    continue;
                }
                // What it is that was read: by its name it may be another file. A kernel's client might ask its server for it.
                let is = if self.nfs { None } else { fstat(held.fd()).ok() };
                return Ok((false, is.map(|stat| attr(&stat))));
            }
            let stat = fstat(held.fd()).map_err(status)?;
            size = u64::try_from(stat.st_size).unwrap_or(0);
            if ended || at >= size {
                break stat;
            }
            if buf.len() == count {
                return Ok((false, Some(attr(&stat)))); // it has grown
            }
        };
        Ok((true, Some(attr(&stat))))
    }

    pub(super) fn write(&self, node: &Node, offset: u64, data: &[u8], stable: Stable) -> Out<Written> {
        let chain = self.chain(node)?;
        let held = self.file(chain, Use::Write)?;
        if offset.checked_add(data.len() as u64).is_none_or(|end| end > self.limits.size_max) {
            return Err(Status::FBig);
        }
        let data = &data[..data.len().min(self.limits.write_max as usize)];
        // On NFS, Linux tells what became of data written earlier, by another process, to the next write: a file system that
        // was full when the last run ended. Only a descriptor's first write is tried again, and others wait for it, or one of
        // them would be told: what is told later is about data that was written through it.
        let mut first = None;
        if let Held::Write(_, _, sent) = &*held {
            sent.first.get_or_init(|| first = Some(write_all(held.fd(), data, offset, true)));
        }
        let written = first.unwrap_or_else(|| write_all(held.fd(), data, offset, false));
        if let (Err(status), true, Held::Write(_, _, sent)) = (written, self.nfs, &*held) {
            // It may be about what another lane wrote.
            sent.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(status);
        }
        let count = written?;
        let stable = match stable {
            Stable::Unstable => stable,
            Stable::DataSync | Stable::FileSync => {
                self.send(chain, held, false)?;
                Stable::FileSync
            }
        };
        Ok(Written { count: count as u32, stable, verifier: self.verifier.load(Ordering::Relaxed) })
    }

    /// Sends what was written to a file, and lets go of it unless it must stay open. The kernel's part of closing does both, on the
    /// descriptor, or, when it is in use elsewhere, on a duplicate. On a kernel's NFS mount it is fsync that sends, waits and tells
    /// the error: in NFSv3 the requests are those of closing, but closing leaves data in the client that the server lost meanwhile (a
    /// COMMIT with another verifier), to be written again at some later time, behind what another mount then wrote or set.
    /// `for_good`: no more is to be written.
    pub(super) fn send(&self, chain: &Arc<Chain>, held: Arc<Held>, for_good: bool) -> Result<(), Status> {
        if self.nfs {
            // After an error it stays, for all who wrote through it.
            flush(&held)?;
        }
        let stays = matches!(&*held, Held::Write(_, true, _)) && !for_good;
        let shared = if stays { Err(held) } else { self.descriptors.take_alone(chain, Use::Write, held) };
        match shared {
            Ok(Held::Write(fd, ..)) => close(fd),
            Ok(_) => Ok(()),
            Err(_) if self.nfs => Ok(()),
            Err(held) => match self.twin(&held) {
                Ok(twin) => close(twin),
                // None is to be had: this says as much, and takes longer where there is a disk.
                Err(Errno::MFILE | Errno::NFILE) => fsync(held.fd()).map_err(status),
                Err(errno) => Err(status(errno)),
            },
        }
    }

    /// Has the kernel store what was written through these mounts before, by whomever: data of a program that has the file open still,
    /// or of a run that failed, would else come to the server behind what this process writes through another mount of the
    /// export, or not be there to be read through one. It asks nothing of a server that has everything.
    pub fn sync_all(mounts: &[Arc<LocalMount>]) {
        std::thread::scope(|scope| {
            for mount in mounts {
                let started = std::thread::Builder::new().name("mounts".into()).spawn_scoped(scope, || mount.sync());
                if started.is_err() {
                    mount.sync();
                }
            }
        });
    }

    fn sync(&self) {
        // One open for its path is not taken. Where the directory cannot be opened, the kernel sends the data in its own time.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let Ok(dir) = self.open_at(self.root.fd(), b".", flags, Mode::empty()) else { return };
        for _ in 0..SYNCS {
            // The error would be of others' data, whom it is told as well.
            let _others = syncfs(&dir);
        }
    }

    /// Another descriptor of an open file. When they run out, idle ones are closed first.
    fn twin(&self, held: &Held) -> Result<OwnedFd, Errno> {
        loop {
            match fcntl_dupfd_cloexec(held.fd(), 0) {
                Err(Errno::MFILE | Errno::NFILE) if self.descriptors.shrink() => {}
                twin => return twin,
            }
        }
    }

    pub(super) fn commit(&self, node: &Node) -> Out<Verifier> {
        let chain = self.chain(node)?;
        self.descriptors.take_error(chain.id)?;
        match self.descriptors.get(chain, Use::Write) {
            Some(held) => self.send(chain, held, true)?,
            // Its descriptor may be closing in another lane, for room: one more waits for the data, and is told all of it.
            None if self.nfs => store(self.open_file(chain, Use::Write)?.fd())?,
            None => only_files(&self.place(chain)?.stat()?)?,
        }
        Ok(self.verifier.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Name;
    use crate::storage::{AttrChange, Call, How, Mount};

    /// fsync of a pipe fails each time, that of a file does not: what is told is what the descriptor keeps.
    #[test]
    fn all_who_share_a_descriptor_hear_of_its_first_error() {
        let held = |fd| Held::Write(fd, true, Sent::default());
        let (_reader, writer) = rustix::pipe::pipe().unwrap();
        let pipe = held(writer);
        assert_eq!([flush(&pipe), flush(&pipe)], [Err(Status::Inval); 2]);
        let file = held(tempfile::tempfile().unwrap().into());
        assert_eq!([flush(&file), flush(&file)], [Ok(()); 2]);
        for (held, error) in [(&file, Status::NoSpc), (&pipe, Status::Inval)] {
            let Held::Write(_, _, sent) = held else { unreachable!() };
            sent.failed.lock().unwrap().get_or_insert(Status::NoSpc);
            assert_eq!([flush(held), flush(held)], [Err(error); 2]);
        }
    }

    #[test]
    fn what_one_read_has_brought_is_known_until_it_is_to_be_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("f"), "data").unwrap();
        let mount = LocalMount::open(dir.path()).unwrap();
        let Node::Chain(root) = mount.root() else { unreachable!() };
        let node = Node::child(&root, Name::new(b"f").unwrap());
        let Node::Chain(chain) = &node else { unreachable!() };
        let read = |offset, count| mount.perform(&mut [Call::read(&node, offset, count, Vec::new())]);
        read(0, 3);
        read(3, 9);
        assert!(!chain.was_whole(false));
        read(0, 4);
        assert!(chain.was_whole(false) && !chain.was_whole(true));
        read(0, 9);
        assert!(chain.was_whole(true));
        mount.perform(&mut [Call::io_advise(&node)]);
        assert!(!chain.was_whole(false));
        // Another mount does not have it.
        mount.has_peers.store(true, Ordering::Relaxed);
        read(0, 9);
        assert!(!chain.was_whole(false));
    }

    #[test]
    fn on_nfs_each_lane_that_commits_is_told_and_the_descriptor_stays_for_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let mut mount = LocalMount::open(dir.path()).unwrap();
        mount.nfs = true;
        let one = |call| {
            let mut calls = [call];
            mount.perform(&mut calls);
            let [call] = calls;
            call
        };
        let name = Name::new(b"f").unwrap();
        let file = one(Call::create(&mount.root(), &name, How::Guarded, AttrChange::default())).found().unwrap().node;
        one(Call::write(&file, 0, b"data", Stable::Unstable)).written().unwrap();
        let held = mount.descriptors.get(mount.chain(&file).unwrap(), Use::Write).unwrap();
        let Held::Write(_, _, sent) = &*held else { unreachable!() };
        *sent.failed.lock().unwrap() = Some(Status::DQuot);
        for _lane in 0..2 {
            assert_eq!(one(Call::commit(&file, 0, 0)).verifier().err(), Some(Status::DQuot));
        }
        assert_eq!(one(Call::write(&file, 4, b"more", Stable::FileSync)).written().err(), Some(Status::DQuot));
        *sent.failed.lock().unwrap() = None;
        assert!(one(Call::commit(&file, 0, 0)).verifier().is_ok());
    }
}
