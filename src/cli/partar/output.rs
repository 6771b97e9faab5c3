//! Where an archive goes: standard output, a file on any storage, or a pipe or device that is written as a stream.
//!
//! A file is made and emptied when it is opened, as by GNU tar; one that is to be appended to is not.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use crate::base::{Name, Proc, Status};
use crate::cli::archive::ArchiveName;
use crate::cli::console::{closed, reason};
use crate::cli::exports::Found;
use crate::cli::meter::Role;
use crate::cli::open::{Opener, is_nfs};
use crate::jobs::create::{FileKey, Output, server};
use crate::mounts::nfs::Url;
use crate::storage::{AttrChange, Call, Found as Object, How, Mount, Node, Shape, Stable, Volume};

/// An archive that is open for writing.
pub enum Sink {
    Stream(Box<dyn Write + Send>, Option<(u64, u64)>),
    /// With its file system and file id, where they are known.
    File(Box<Volume>, Node, Option<(u64, u64)>),
}

impl Sink {
    /// Opens `name`; a new file gets `mode`. An error is `NAME: CALL: reason`.
    pub fn create(name: &ArchiveName, opener: &mut Opener, mode: u32) -> Result<Sink, String> {
        let path = match name {
            ArchiveName::Stdin => {
                let id = File::from(
                    rustix::io::dup(io::stdout())
                        .map_err(|error| format!("-: Cannot open: {}", reason(&error.into())))?,
                );
                return Ok(match id.metadata().ok().filter(fs::Metadata::is_file) {
                    Some(meta) => Sink::Stream(Box::new(Told(id)), Some((meta.dev(), meta.ino()))),
                    None => Sink::Stream(Box::new(id), None),
                });
            }
            ArchiveName::Nfs(url, text) => return remote(url, text, opener, mode, Was::Emptied),
            ArchiveName::Path(path) => path,
        };
        let failed = |error: io::Error| format!("{}: Cannot open: {}", path.display(), reason(&error));
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(path).map_err(failed)?;
        let meta = file.metadata().map_err(failed)?;
        if !meta.is_file() {
            return Ok(Sink::Stream(Box::new(file), None));
        }
        let id = Some((meta.dev(), meta.ino()));
        // A file system of this host writes a file's bytes one writer at a time, and the others spin at its lock: one lane writes
        // while the others read. Over NFS all write.
        if !rustix::fs::fstatfs(&file).is_ok_and(|stat| is_nfs(&stat)) {
            return Ok(Sink::Stream(Box::new(Told(file)), id));
        }
        drop(file);
        Sink::there(path, opener, id)
    }

    /// For a forecast: what is written to `name` goes to a shadow, or nowhere; nothing is made.
    pub fn rehearsed(name: &ArchiveName, opener: &mut Opener, mode: u32) -> Result<Sink, String> {
        let path = match name {
            ArchiveName::Stdin => return Ok(Sink::Stream(Box::new(io::sink()), None)),
            ArchiveName::Nfs(url, text) => return remote(url, text, opener, mode, Was::Emptied),
            ArchiveName::Path(path) => path,
        };
        let failed = |error: io::Error| format!("{}: Cannot open: {}", path.display(), reason(&error));
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => return Err(failed(io::ErrorKind::IsADirectory.into())),
            Ok(meta) if !meta.is_file() => return Ok(Sink::Stream(Box::new(io::sink()), None)),
            Ok(meta) => return Sink::there(path, opener, Some((meta.dev(), meta.ino()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(error)),
        }
        if path.as_os_str().as_bytes().ends_with(b"/") {
            return Err(failed(io::ErrorKind::IsADirectory.into()));
        }
        // A link that leads nowhere: its file is made where it leads.
        let led = fs::read_link(path).map(|to| path.parent().unwrap_or(Path::new("")).join(to));
        let path = led.as_deref().unwrap_or(path);
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let typed = |error| if parent.is_dir() { Ok(parent.to_path_buf()) } else { Err(error) };
        let resolved = fs::canonicalize(parent).or_else(typed).map_err(failed)?;
        let last = path.file_name().ok_or_else(|| failed(io::ErrorKind::IsADirectory.into()))?;
        let last = Name::new(last.as_bytes()).map_err(|error| failed(io::Error::other(error)))?;
        let volume = opener.local(&resolved, Some(Role::Destination), &[])?;
        let change = AttrChange { mode: Some(mode), size: Some(0), ..AttrChange::default() };
        let mut calls = [Call::create(&volume.root(), &last, How::Unchecked, change)];
        volume.perform(&mut calls);
        let object = calls[0].found().map_err(|status| call_failed(&path.display(), Proc::Create, status))?;
        Ok(Sink::File(Box::new(volume), object.node, None))
    }

    /// Opens the archive `name` to be added to; it is made, with `mode`, when it is not there. Of `len` bytes it was when
    /// it was read (0: not there): now of others, somebody else has written it. A client of NFS may remember for a minute that a file is
    /// not there.
    pub fn existing(name: &ArchiveName, opener: &mut Opener, mode: u32, len: u64) -> Result<Sink, String> {
        let path = match name {
            ArchiveName::Path(path) => path,
            ArchiveName::Nfs(url, text) => return remote(url, text, opener, mode, Was::Of(len)),
            ArchiveName::Stdin => return Err("-: Cannot be added to".into()),
        };
        let failed = |error: io::Error| format!("{}: Cannot open: {}", path.display(), reason(&error));
        let opened = OpenOptions::new().write(true).create(len == 0).truncate(false).mode(mode).open(path);
        let meta = opened.and_then(|file| file.metadata()).map_err(failed)?;
        if meta.len() != len {
            return Err(changed(&path.display()));
        }
        Sink::there(path, opener, Some((meta.dev(), meta.ino())))
    }

    /// How the storage of a file likes to be driven.
    pub fn shape(&self) -> Option<Shape> {
        match self {
            Sink::Stream(..) => None,
            Sink::File(volume, ..) => Some(volume.limits().shape),
        }
    }

    /// Opens a file of this host that is there, through all its mounts.
    pub fn there(path: &Path, opener: &mut Opener, id: Option<(u64, u64)>) -> Result<Sink, String> {
        let failed = |error: io::Error| format!("{}: Cannot open: {}", path.display(), reason(&error));
        // In a working directory that its path does not lead to, the name as it was typed, if it is no link.
        let is_file = || fs::symlink_metadata(path).is_ok_and(|there| there.is_file());
        let typed = |error| if is_file() { Ok(Path::new(".").join(path)) } else { Err(error) };
        let resolved = fs::canonicalize(path).or_else(typed).map_err(failed)?;
        let (Some(parent), Some(last)) = (resolved.parent(), resolved.file_name()) else {
            return Err(failed(io::ErrorKind::IsADirectory.into()));
        };
        let last = Name::new(last.as_bytes()).map_err(|error| failed(io::Error::other(error)))?;
        let volume = opener.local(parent, Some(Role::Destination), &[])?;
        let mut lookup = [Call::lookup(&volume.root(), &last)];
        volume.perform(&mut lookup);
        let object = lookup[0].found().map_err(|status| call_failed(&path.display(), Proc::Lookup, status))?;
        Ok(Sink::File(Box::new(volume), object.node, id))
    }

    /// For the job, from byte `at` on.
    pub fn output(&mut self, at: u64) -> Output<'_> {
        match self {
            Sink::Stream(stream, _) => Output::Stream(&mut **stream),
            Sink::File(volume, node, _) => Output::File { volume, node: node.clone(), at },
        }
    }

    /// Which file it is.
    pub fn key(&self) -> Option<FileKey> {
        let (server, id) = match self {
            Sink::Stream(_, id) => ("".into(), id),
            Sink::File(volume, _, id) => (server(volume), id),
        };
        id.map(|(fsid, fileid)| (server, fsid, fileid))
    }

    /// As a stream, for what cannot be written piece by piece.
    pub fn into_stream(self) -> Box<dyn Write + Send> {
        match self {
            Sink::Stream(stream, _) => stream,
            Sink::File(volume, node, _) => Box::new(InOrder { volume, node, at: 0, kept: Vec::new() }),
        }
    }

    /// The labels of targets that were left out.
    pub fn gone(&self) -> Vec<String> {
        match self {
            Sink::Stream(..) => Vec::new(),
            Sink::File(volume, ..) => volume.gone(),
        }
    }
}

fn call_failed(name: &dyn std::fmt::Display, proc: Proc, status: Status) -> String {
    format!("{name}: {proc}: {status}")
}

fn changed(name: &dyn std::fmt::Display) -> String {
    format!("{name}: was written meanwhile by somebody else; nothing was added; the same command adds to it")
}

/// What is known of a file that is opened for writing.
#[derive(Clone, Copy)]
enum Was {
    /// It is to be emptied.
    Emptied,
    /// It was read and had so many bytes, or was not there.
    Of(u64),
}

/// Opens the file at a URL; makes it when it is not there.
fn remote(url: &Url, text: &str, opener: &mut Opener, mode: u32, was: Was) -> Result<Sink, String> {
    let empty = matches!(was, Was::Emptied);
    let mut exports = opener.exports();
    let (mounts, name, is_new) = match exports.find(url, opener.usage(Role::Destination))? {
        Found::Dir(_) => return Err(format!("{text}: Cannot open: Is a directory")),
        Found::Other(mounts, name) => (mounts, name, false),
        Found::Nothing(..) if matches!(was, Was::Of(1..)) => return Err(changed(&text)),
        Found::Nothing(mounts, name) => (mounts, name, true),
    };
    let volume = opener.attached(mounts, Some(Role::Destination), &[]);
    // What is there and stays keeps its mode.
    let change =
        AttrChange { mode: (empty || is_new).then_some(mode), size: empty.then_some(0), ..AttrChange::default() };
    let mut calls = [Call::create(&volume.root(), &name, How::Unchecked, change)];
    volume.perform(&mut calls);
    let Object { node, attr } = calls[0].found().map_err(|status| call_failed(&text, Proc::Create, status))?;
    let mut asked = [Call::get_attr(&node)];
    let attr = match attr {
        None => {
            volume.perform(&mut asked);
            Some(asked[0].attr().map_err(|status| call_failed(&text, Proc::GetAttr, status))?)
        }
        known => known,
    };
    if matches!(was, Was::Of(len) if attr.is_some_and(|attr| attr.size != len)) {
        return Err(changed(&text));
    }
    let id = attr.map(|attr| (attr.fsid, attr.fileid));
    Ok(Sink::File(Box::new(volume), node, id))
}

/// A file of this host that is written as a stream. Flushing it, which is its end, tells what closing it would: some file systems
/// (CIFS, FUSE, quotas) say only then that bytes could not be stored.
struct Told(File);

/// Bytes of one write to a file of this host. The page cache of ext4 and XFS takes the bytes of one write in one run of memory, if
/// it can: writes of 1 MiB draw on memory that a hypervisor had taken back, and cost up to four times the processor time of
/// those of 128 KiB (`benches/tar.sh --only "creation, plain"` on ext4; 64 to 256 KiB are alike).
const WRITE_BYTES_MAX: usize = 128 << 10;

impl Write for Told {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(&bytes[..bytes.len().min(WRITE_BYTES_MAX)])
    }

    fn flush(&mut self) -> io::Result<()> {
        closed(&self.0)
    }
}

/// Bytes of one WRITE of a stream.
const CHUNK_BYTES: usize = 1 << 20;

/// A file on storage as a stream: one WRITE after the other.
struct InOrder {
    volume: Box<Volume>,
    node: Node,
    at: u64,
    kept: Vec<u8>,
}

impl InOrder {
    fn put(&mut self) -> io::Result<()> {
        let mut from = 0;
        while from < self.kept.len() {
            let write_max = self.volume.limits().write_max as usize;
            let data = &self.kept[from..self.kept.len().min(from + write_max.max(1))];
            let mut calls = [Call::write(&self.node, self.at, data, Stable::FileSync)];
            self.volume.perform_on(self.volume.route_writing(&self.node), &mut calls);
            let written = calls[0].written().map_err(|status| io::Error::other(format!("WRITE: {status}")))?;
            if written.count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            from += written.count as usize;
            self.at += u64::from(written.count);
        }
        self.kept.clear();
        Ok(())
    }
}

impl Write for InOrder {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.kept.extend_from_slice(bytes);
        if self.kept.len() >= CHUNK_BYTES {
            self.put()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.put()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::meter::Meters;

    /// Between the reading of an archive and its opening somebody else has made or written it.
    #[test]
    fn an_archive_that_was_written_meanwhile_is_not_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.tar");
        let open = |len| {
            let name = ArchiveName::Path(path.clone());
            Sink::existing(&name, &mut Opener::new(Meters::default()), 0o644, len).map(drop)
        };
        assert!(open(512).unwrap_err().contains("No such file") && !path.exists());
        assert_eq!(open(0), Ok(()));
        fs::write(&path, [1; 512]).unwrap();
        assert!(open(0).unwrap_err().contains("was written meanwhile"));
        assert_eq!(open(512), Ok(()));
        assert_eq!(fs::read(&path).unwrap(), [1; 512]);
    }
}
