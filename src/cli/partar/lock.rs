//! The lock on an archive that is added to: two runs that read where it ends before either has written would write over each other.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::cli::archive::ArchiveName;
use crate::cli::console::reason;

/// An archive that no other run adds to, as long as this is held.
#[derive(Debug)]
pub struct Locked(#[expect(dead_code, reason = "held, never asked: closing it gives the lock back")] File);

/// Locks the archive, which is made with `mode` when it is not there; waits for whoever has it, which is told. None where there is nothing
/// to be locked: at a URL, of what is no regular file, and in a file system without locks. It is flock's lock, for that is not lost when
/// the file is opened and closed once more; the kernel's NFS makes a lock at the server of it, or with `nolock` one of this host.
pub fn lock(name: &ArchiveName, mode: u32, tell: impl FnOnce(String)) -> Result<Option<Locked>, String> {
    lock_unless(is_callers, name, mode, tell)
}

fn lock_unless(
    is_callers: impl Fn(&File) -> bool,
    name: &ArchiveName,
    mode: u32,
    tell: impl FnOnce(String),
) -> Result<Option<Locked>, String> {
    let ArchiveName::Path(path) = name else { return Ok(None) };
    if fs::metadata(path).is_ok_and(|meta| !meta.is_file()) {
        return Ok(None);
    }
    let failed = |error: io::Error| format!("{}: Cannot open: {}", path.display(), reason(&error));
    let mut tell = Some(tell);
    loop {
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(mode).open(path).map_err(failed)?;
        if is_callers(&file) {
            return Ok(None);
        }
        match held(&file, || {
            if let Some(tell) = tell.take() {
                tell(format!("{name}: another run adds to it; waiting until that has ended"));
            }
        }) {
            Ok(()) if !is_at(&file, path) => {}
            Ok(()) => return Ok(Some(Locked(file))),
            // Without locks it is as it is for GNU tar.
            Err(_) => return Ok(None),
        }
    }
}

/// Has who started this process the lock, as flock(1) gives it to the command that it runs, along with the open file? It would be waited for
/// without end.
fn is_callers(file: &File) -> bool {
    let Ok(is) = file.metadata() else { return false };
    let open = fs::read_dir("/proc/self/fdinfo").into_iter().flatten().flatten();
    open.filter(|entry| entry.file_name() != *file.as_raw_fd().to_string()).any(|entry| {
        // proc_pid_fdinfo(5): of a file that it has a lock by.
        let holds = |line: &str| line.starts_with("lock:") && line.contains(" FLOCK ");
        let is_same = |there: fs::Metadata| (there.dev(), there.ino()) == (is.dev(), is.ino());
        fs::read_to_string(entry.path()).is_ok_and(|text| text.lines().any(holds))
            && fs::metadata(Path::new("/proc/self/fd").join(entry.file_name())).is_ok_and(is_same)
    })
}

/// Takes the lock; `tell` is called when that takes long.
fn held(file: &File, tell: impl FnOnce()) -> Result<(), Errno> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => tell(),
        done => return done,
    }
    loop {
        match flock(file, FlockOperation::LockExclusive) {
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
}

/// Is it still the file of this name? Whoever had the lock may have put another in its place.
fn is_at(file: &File, path: &Path) -> bool {
    let id = |meta: fs::Metadata| (meta.dev(), meta.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(is), Ok(there)) => id(is) == id(there),
        (_, Err(error)) => error.kind() != io::ErrorKind::NotFound,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn the_second_waits_for_the_first_and_is_told_once() {
        let dir = tempfile::tempdir().unwrap();
        let name = ArchiveName::Path(dir.path().join("a.tar"));
        let first = lock_unless(|_| false, &name, 0o600, |_| panic!("nobody has it")).unwrap();
        assert!(first.is_some() && dir.path().join("a.tar").exists());
        let (told, heard) = mpsc::channel();
        let second = {
            let name = name.clone();
            let tell = move |text| told.send(text).unwrap();
            std::thread::spawn(move || lock_unless(|_| false, &name, 0o600, tell).unwrap().is_some())
        };
        assert!(heard.recv().unwrap().ends_with("a.tar: another run adds to it; waiting until that has ended"));
        // What takes the archive's place meanwhile is what is locked then.
        fs::remove_file(dir.path().join("a.tar")).unwrap();
        drop(first);
        assert!(second.join().unwrap() && heard.recv().is_err());
        assert!(dir.path().join("a.tar").exists());
    }

    #[test]
    fn a_lock_that_the_caller_has_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.tar");
        let open = || File::options().append(true).create(true).open(&path).unwrap();
        let (inherited, file) = (open(), open());
        assert!(!is_callers(&file));
        flock(&inherited, FlockOperation::LockExclusive).unwrap();
        assert!(is_callers(&file));
        assert!(lock(&ArchiveName::Path(path.clone()), 0o600, |_| panic!("it is not waited for")).unwrap().is_none());
    }

    #[test]
    fn what_cannot_be_locked_is_passed_over() {
        assert!(lock(&ArchiveName::Stdin, 0o600, |_| ()).unwrap().is_none());
        assert!(lock(&ArchiveName::Path("/dev/null".into()), 0o600, |_| ()).unwrap().is_none());
        let none = lock(&ArchiveName::Path("/does/not/exist/a.tar".into()), 0o600, |_| ());
        assert_eq!(none.unwrap_err(), "/does/not/exist/a.tar: Cannot open: No such file or directory");
    }
}
