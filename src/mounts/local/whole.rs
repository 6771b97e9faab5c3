//! A file's whole copy in one step, both files open: a third fewer system calls than READ, CREATE, WRITE and SETATTR, and its bytes
//! stay in the kernel where it can copy them itself. Of a directory's files many in one call, so that nothing but these system calls is
//! made for each.

use std::cell::RefCell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, Mode, OFlags, copy_file_range, flistxattr, fstat, statat, unlinkat};
use rustix::io::{Errno, pread, pwrite, retry_on_intr};

use crate::base::{Name, Status};
use crate::storage::{AttrChange, Copied, Left, Lent, Node, Out, Rule, SetTime, Was};

use super::LocalMount;
use super::beyond::{LentDir, LentFile, cannot};
use super::convert::{ITSELF, Is, attr, mode, status};
use super::data::QUIET;
use super::descriptors::close;
use super::make::FILE_MODE;
use super::modify::On;

/// Bytes through this process at once, where the kernel does not copy.
const BUFFER_BYTES: usize = 256 << 10;

/// How long COPY_FILES begins files at most, so that a run can be stopped: those of a slow disk, or of a file system that asks a server,
/// take milliseconds each. Tmpfs takes less than one for the 32 that a copy asks for at once.
const FILES_MAX: Duration = Duration::from_millis(10);

thread_local! {
    /// A lane's own; it goes with the lane.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Copies up to `size` bytes from file to file; fewer when the source has ended.
fn copy_bytes(from: BorrowedFd<'_>, to: BorrowedFd<'_>, size: u64) -> Result<(), Errno> {
    let mut at = 0;
    while at < size {
        let left = usize::try_from(size - at).unwrap_or(usize::MAX);
        let copied = retry_on_intr(|| {
            let (mut read, mut written) = (at, at);
            copy_file_range(from, Some(&mut read), to, Some(&mut written), left)
        });
        match copied {
            // A file that the kernel makes up may hide its bytes from this call.
            Ok(0) => return read_and_write(from, to, at, size),
            Ok(copied) => at += copied as u64,
            Err(errno) if cannot(errno) => return read_and_write(from, to, at, size),
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

fn read_and_write(from: BorrowedFd<'_>, to: BorrowedFd<'_>, at: u64, size: u64) -> Result<(), Errno> {
    BUFFER.with_borrow_mut(|buf| {
        buf.resize(BUFFER_BYTES, 0);
        let mut at = at;
        while at < size {
            let count = buf.len().min(usize::try_from(size - at).unwrap_or(usize::MAX));
            let read = retry_on_intr(|| pread(from, &mut buf[..count], at))?;
            if read == 0 {
                break;
            }
            let mut done = 0;
            while done < read {
                match retry_on_intr(|| pwrite(to, &buf[done..read], at + done as u64))? {
                    0 => return Err(Errno::IO),
                    written => done += written,
                }
            }
            at += read as u64;
        }
        Ok(())
    })
}

impl LocalMount {
    pub(super) fn copy_file(
        &self,
        (from, was, bare): (&Lent, Was, bool),
        (dir, name): (&Node, &Name),
        change: &AttrChange,
    ) -> Out<(Node, u64)> {
        let LentFile(source) = from.file.downcast_ref::<LentFile>().ok_or(Status::NotSupp)?;
        if was.size > self.limits.size_max {
            return Err(Status::FBig);
        }
        if bare && has_xattrs(source.fd())? {
            return Err(Status::NotSupp);
        }
        let chain = self.chain(dir)?;
        let bits = self.asked(dir, change, FILE_MODE)?;
        let fileid = self.copy_open((source.fd(), was), (self.dir(chain)?.fd(), name, bits), change)?;
        Ok((Node::child(chain, name.clone()), fileid))
    }

    pub(super) fn copy_files(&self, from: &Lent, names: &[Name], rule: &Rule, dir: &Node) -> Out<Copied> {
        let from = from.file.downcast_ref::<LentDir>().ok_or(Status::NotSupp)?;
        let to = self.dir(self.chain(dir)?)?;
        let begun = Instant::now();
        let mut copied = Copied::default();
        for (at, name) in names.iter().enumerate() {
            if at > 0 && begun.elapsed() > FILES_MAX {
                break;
            }
            match self.copy_named(from, name, rule, (dir, to.fd())) {
                Ok(bytes) => copied.bytes += bytes,
                Err(left) => copied.left.push(Left { at, ..*left }),
            }
            copied.seen = at + 1;
        }
        Ok(copied)
    }

    /// Copies one of a directory's files; returns its bytes.
    fn copy_named(
        &self,
        from: &LentDir,
        name: &Name,
        rule: &Rule,
        (dir, to): (&Node, BorrowedFd<'_>),
    ) -> Result<u64, Box<Left>> {
        let unknown = || Box::new(Left { at: 0, attr: None, tried: false });
        let open = self.open_at(from.held.fd(), name.as_bytes(), OFlags::RDONLY | QUIET, Mode::empty());
        let source = open.map_err(|_| unknown())?;
        let mut attr = attr(&fstat(&source).map_err(|_| unknown())?);
        from.alias.rename(&mut attr);
        let left = |tried| Box::new(Left { at: 0, attr: Some(attr), tried });
        let change = rule.change(&attr).ok_or_else(|| left(false))?;
        if attr.size > self.limits.size_max || (rule.bare && has_xattrs(source.as_fd()) != Ok(false)) {
            return Err(left(true));
        }
        let bits = self.asked(dir, &change, FILE_MODE).map_err(|_| left(true))?;
        let copied = self.copy_open((source.as_fd(), Was::from(&attr)), (to, name, bits), &change);
        copied.map(|_| attr.size).map_err(|_| left(true))
    }

    /// Makes `name` a copy of an open file, or nothing; returns the new file's id.
    fn copy_open(
        &self,
        (source, was): (BorrowedFd<'_>, Was),
        (dir, name, bits): (BorrowedFd<'_>, &Name, u32),
        change: &AttrChange,
    ) -> Out<u64> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY;
        let file = self.open_at(dir, name.as_bytes(), flags, mode(bits)).map_err(status)?;
        self.fill(source, was, file, change).map_err(|(status, fileid)| {
            take_back(dir, name, fileid);
            status
        })
    }

    /// Gives a new file its bytes, owner, mode and times, and closes it. An error comes with the file's id, where that is known.
    fn fill(
        &self,
        source: BorrowedFd<'_>,
        was: Was,
        file: OwnedFd,
        change: &AttrChange,
    ) -> Result<u64, (Status, Option<u64>)> {
        let on = On::Fd(file.as_fd());
        let early = AttrChange { size: None, atime: SetTime::Keep, mtime: SetTime::Keep, ..*change };
        let made = Is::of(file.as_fd()).map_err(|errno| (status(errno), None))?;
        let failed = |status| (status, Some(made.fileid));
        self.settle(&on, &made, &early).map_err(failed)?;
        copy_bytes(source, file.as_fd(), was.size).map_err(|errno| failed(status(errno)))?;
        let is = fstat(source).map_err(|errno| failed(status(errno)))?;
        if Was::from(&attr(&is)) != was {
            return Err(failed(Status::NotSync));
        }
        on.set_times(change).map_err(failed)?;
        close(file).map_err(failed)?;
        Ok(made.fileid)
    }
}

/// Removes what `fill` did not complete, unless the name stands for something else by now.
fn take_back(dir: BorrowedFd<'_>, name: &Name, fileid: Option<u64>) {
    if statat(dir, name.as_bytes(), ITSELF).is_ok_and(|stat| Some(stat.st_ino) == fileid) {
        // What cannot be removed has no times of a complete file: the next run copies it again.
        let _ = retry_on_intr(|| unlinkat(dir, name.as_bytes(), AtFlags::empty()));
    }
}

/// True for a file with extended attributes or an ACL; a file system without them says so.
fn has_xattrs(file: BorrowedFd<'_>) -> Result<bool, Status> {
    // No name fits: an empty list alone does.
    let mut byte = [0; 1];
    match retry_on_intr(|| flistxattr(file, &mut byte[..])) {
        Ok(bytes) => Ok(bytes > 0),
        Err(Errno::RANGE) => Ok(true),
        Err(Errno::OPNOTSUPP) => Ok(false),
        Err(errno) => Err(status(errno)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use crate::base::{Name, Time};
    use crate::storage::{Beyond, Call, Mount, Op};

    fn copied(mount: &LocalMount, from: &Node, was: Was, bare: bool, to: &str) -> Out<(Node, u64)> {
        let at = Time { secs: 1000, nanos: 7 };
        let change = AttrChange { mode: Some(0o640), mtime: SetTime::At(at), ..AttrChange::default() };
        let name = Name::new(to.as_bytes()).unwrap();
        let lent = mount.lend(from).unwrap();
        let mut calls = [Call::copy_file(lent, was, bare, &mount.root(), &name, change)];
        mount.perform(&mut calls);
        let [Call { op: Op::Beyond(Beyond::CopyFile { out, .. }), .. }] = calls else { panic!("another call") };
        out
    }

    #[test]
    fn a_file_is_copied_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let mount = LocalMount::open(dir.path()).unwrap();
        let data: Vec<u8> = (0..700_000_u32).map(|i| (i % 251 * 7) as u8).collect();
        for (name, bytes) in [("empty", &data[..0]), ("file", &data[..])] {
            std::fs::write(dir.path().join(name), bytes).unwrap();
            let found = mount.lookup(&mount.root(), &Name::new(name.as_bytes()).unwrap()).unwrap();
            let (from, is) = (found.node, found.attr.unwrap());
            let was = Was::from(&is);
            let (_, fileid) = copied(&mount, &from, was, true, "copy").unwrap();
            let copy = dir.path().join("copy");
            let meta = copy.metadata().unwrap();
            assert_eq!((meta.ino(), meta.mode() & 0o7777, meta.mtime(), meta.mtime_nsec()), (fileid, 0o640, 1000, 7));
            assert_eq!(std::fs::read(&copy).unwrap(), bytes);
            assert_eq!(copied(&mount, &from, was, true, "copy"), Err(Status::Exist));
            assert_eq!(std::fs::read(&copy).unwrap(), bytes, "what was there stays");
            for other in [Was { size: was.size + 1, ..was }, Was { mtime: Time::default(), ..was }] {
                assert_eq!(copied(&mount, &from, other, true, "changed"), Err(Status::NotSync));
            }
            assert!(!dir.path().join("changed").exists());
            std::fs::remove_file(copy).unwrap();
        }
    }

    #[test]
    fn of_many_files_those_that_fail_leave_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mount = LocalMount::open(dir.path()).unwrap();
        for name in ["from", "to", "from/sub"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        for (name, text) in [("a", "one"), ("b", "second"), ("c", "3")] {
            std::fs::write(dir.path().join("from").join(name), text).unwrap();
        }
        std::fs::write(dir.path().join("to/b"), "there").unwrap();
        std::os::unix::fs::symlink("a", dir.path().join("from/link")).unwrap();
        let node = |name: &str| mount.lookup(&mount.root(), &Name::new(name.as_bytes()).unwrap()).unwrap().node;
        let names = ["a", "b", "link", "none", "sub", "c"].map(|name| Name::new(name.as_bytes()).unwrap());
        let rule = Rule {
            size_max: 10,
            hole_min: u64::MAX,
            alone: true,
            bare: true,
            mode_mask: 0o700,
            masked: None,
            uid: false,
            gid: false,
            groups: [].into(),
            times: true,
        };
        let mut calls = [Call::copy_files(mount.lend_dir(&node("from")).unwrap(), names.to_vec(), rule, &node("to"))];
        mount.perform(&mut calls);
        let copied = calls[0].copied().unwrap();
        assert_eq!((copied.files(), copied.failed(), copied.bytes, copied.seen), (2, 1, 4, 6));
        let left: Vec<_> = copied.left.iter().map(|left| (left.at, left.attr.is_some(), left.tried)).collect();
        assert_eq!(left, [(1, true, true), (2, false, false), (3, false, false), (4, true, false)]);
        assert_eq!(mount.issued().unwrap().get(crate::base::Proc::Copy).calls, 3);
        let mut there: Vec<_> =
            std::fs::read_dir(dir.path().join("to")).unwrap().map(|e| e.unwrap().file_name()).collect();
        there.sort();
        assert_eq!(there, ["a", "b", "c"]);
        assert_eq!(std::fs::read(dir.path().join("to/b")).unwrap(), b"there");
        let [from, to] = ["from/a", "to/a"].map(|name| dir.path().join(name).metadata().unwrap());
        assert_eq!(
            (to.mode() & 0o7777, to.mtime(), to.mtime_nsec()),
            (from.mode() & 0o700, from.mtime(), from.mtime_nsec())
        );
    }

    #[test]
    fn extended_attributes_are_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let mount = LocalMount::open(dir.path()).unwrap();
        std::fs::write(dir.path().join("file"), "text").unwrap();
        let found = mount.lookup(&mount.root(), &Name::new(b"file").unwrap()).unwrap();
        match mount.set_xattr(&found.node, b"user.comment", b"kept") {
            Err(Status::NotSupp) => return, // a file system without them
            set => set.unwrap(),
        }
        let was = Was::from(&found.attr.unwrap());
        assert_eq!(copied(&mount, &found.node, was, true, "copy"), Err(Status::NotSupp));
        assert!(!dir.path().join("copy").exists());
        copied(&mount, &found.node, was, false, "copy").unwrap();
        assert_eq!(std::fs::read(dir.path().join("copy")).unwrap(), b"text");
    }

    #[test]
    fn what_the_kernel_does_not_copy_goes_through_this_process() {
        let dir = tempfile::tempdir().unwrap();
        let data: Vec<u8> = (0..BUFFER_BYTES * 2 + 77).map(|i| (i % 253 * 3) as u8).collect();
        std::fs::write(dir.path().join("a"), &data).unwrap();
        let from = std::fs::File::open(dir.path().join("a")).unwrap();
        for (at, size) in [(0, data.len()), (0, data.len() + 9), (5, data.len()), (0, 10)] {
            let to = std::fs::File::create(dir.path().join("b")).unwrap();
            read_and_write(from.as_fd(), to.as_fd(), at as u64, size as u64).unwrap();
            let end = size.min(data.len());
            assert_eq!(std::fs::read(dir.path().join("b")).unwrap()[at..], data[at..end]);
        }
    }
}
