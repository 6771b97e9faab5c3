//! Opening the archive that a command line names: a file, a pipe or a file of an export, unpacked by its content or by a program.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use crate::archive::{Codec, Input, ReadAt, detect};
use crate::crew::Stop;
use crate::mounts::nfs::{Url, UrlError, Usage};
use crate::storage::{Call, Kind, Mount, Node, Op, Volume};

use super::console::reason;
use super::exports::Found;
use super::filter::Filter;
use super::location::Location;
use super::meter::Role;
use super::open::Opener;
use super::readahead::ReadAhead;
use super::unpack;

/// Which archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArchiveName {
    /// Standard input.
    Stdin,
    /// A file, or whatever else opens: a fifo, a device.
    Path(PathBuf),
    /// A file of an export, with the text it was parsed from.
    Nfs(Box<Url>, String),
}

impl ArchiveName {
    /// What `text` names: `-`, a URL, or a file.
    pub fn parse(text: &OsStr) -> Result<ArchiveName, UrlError> {
        Ok(match Location::parse(text)? {
            Location::Nfs(url, text) => ArchiveName::Nfs(url, text),
            Location::Dir(path) if path.as_os_str() == "-" => ArchiveName::Stdin,
            Location::Dir(path) => ArchiveName::Path(path),
        })
    }
}

impl std::fmt::Display for ArchiveName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ArchiveName::Stdin => f.write_str("-"),
            ArchiveName::Path(path) => path.display().fmt(f),
            ArchiveName::Nfs(_, text) => text.fmt(f),
        }
    }
}

/// A file of an export, read at any offset by any lane.
struct Remote {
    volume: Volume,
    node: Node,
    len: u64,
}

impl Remote {
    /// Finds the file at `url`. An error is `CALL: reason`.
    fn open(url: &Url, opener: &mut Opener) -> Result<Remote, String> {
        let mut exports = opener.exports();
        let (mounts, name) = match exports.find(url, Usage::Reads)? {
            Found::Other(mounts, name) => (mounts, name),
            Found::Dir(_) => return Err("Cannot read: Is a directory".into()),
            Found::Nothing(..) => return Err("Cannot open: No such file or directory".into()),
        };
        let volume = opener.real(|opener| opener.attached(mounts, Some(Role::Source), &[]));
        let mut calls = [Call::lookup(&volume.root(), &name)];
        volume.perform(&mut calls);
        let found = calls[0].found().map_err(|status| format!("LOOKUP: {status}"))?;
        let attr = match found.attr {
            Some(attr) => attr,
            None => {
                let mut calls = [Call::get_attr(&found.node)];
                volume.perform(&mut calls);
                calls[0].attr().map_err(|status| format!("GETATTR: {status}"))?
            }
        };
        if attr.kind != Kind::File {
            return Err("Cannot read: it is no regular file".into());
        }
        Ok(Remote { volume, node: found.node, len: attr.size })
    }
}

impl ReadAt for Remote {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let most = (self.volume.limits().read_max as usize).min(buf.len());
        let mut calls = [Call::read(&self.node, offset, u32::try_from(most).unwrap_or(u32::MAX), Vec::new())];
        self.volume.perform(&mut calls);
        let [Call { op: Op::Read { buf: read, out, .. }, .. }] = calls else { return Ok(0) };
        out.map_err(|status| io::Error::other(format!("READ: {status}")))?;
        let n = read.len().min(buf.len());
        buf[..n].copy_from_slice(&read[..n]);
        Ok(n)
    }

    fn len(&self) -> u64 {
        self.len
    }
}

/// A regular file, read at any offset by any lane.
pub struct Seekable {
    file: Arc<File>,
    len: u64,
}

impl Seekable {
    /// The first `len` bytes of `file`.
    pub fn new(file: Arc<File>, len: u64) -> Seekable {
        Seekable { file, len }
    }
}

impl ReadAt for Seekable {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(buf, offset)
    }

    fn len(&self) -> u64 {
        self.len
    }
}

/// An archive that can be read.
pub struct OpenedArchive {
    /// What it is compressed with, by its content.
    pub codec: Codec,
    /// Its bytes, decoded ahead of the reader unless they are plain and seekable.
    pub input: Input,
    /// Its size in the form it is read in, where that is known.
    pub bytes: Option<u64>,
}

/// Opens an archive. An error is `NAME: CALL: reason`.
pub fn open(name: &ArchiveName, opener: &mut Opener, stop: &Stop) -> Result<OpenedArchive, String> {
    let failed = |call: &str, error: &io::Error| format!("{name}: Cannot {call}: {}", reason(error));
    let (raw, len) = match name {
        ArchiveName::Stdin => {
            // A file given as `< a.tar` is read as a pipe: its offset may stand anywhere, and others may share it.
            (Input::Pipe(Box::new(ahead(Box::new(io::stdin()), stop).map_err(|e| failed("read", &e))?)), None)
        }
        ArchiveName::Path(path) => {
            let file = File::open(path).map_err(|e| failed("open", &e))?;
            let meta = file.metadata().map_err(|e| failed("stat", &e))?;
            if meta.is_dir() {
                return Err(format!("{name}: Cannot read: Is a directory"));
            }
            if meta.is_file() {
                let len = meta.len();
                (Input::Seekable(Arc::new(Seekable::new(Arc::new(file), len))), Some(len))
            } else {
                (Input::Pipe(Box::new(ahead(Box::new(file), stop).map_err(|e| failed("read", &e))?)), None)
            }
        }
        ArchiveName::Nfs(url, _) => {
            let file = Remote::open(url, opener).map_err(|error| format!("{name}: {error}"))?;
            let len = file.len;
            (Input::Seekable(Arc::new(file)), Some(len))
        }
    };
    let (codec, input) = detect(raw).map_err(|e| failed("read", &e))?;
    let bytes = len.filter(|_| codec == Codec::Plain);
    if codec == Codec::Plain {
        return Ok(OpenedArchive { codec, input, bytes });
    }
    let unpacked =
        unpack::reader(codec, input.into_reader(), unpack::workers(), stop).map_err(|e| failed("read", &e))?;
    Ok(OpenedArchive { codec, input: Input::Pipe(unpacked), bytes })
}

/// Opens an archive that `program` unpacks. An error is `NAME: CALL: reason`.
pub fn open_through(name: &ArchiveName, program: &Filter, stop: &Stop) -> Result<OpenedArchive, String> {
    let failed = |call: &str, error: &io::Error| format!("{name}: Cannot {call}: {}", reason(error));
    let from = match name {
        ArchiveName::Stdin => Stdio::inherit(),
        ArchiveName::Path(path) => File::open(path).map_err(|e| failed("open", &e))?.into(),
        ArchiveName::Nfs(..) => {
            return Err(format!("{name}: -I does not read through nfs://; give the archive through a pipe"));
        }
    };
    let reader = program.reader(from).and_then(|reader| ahead(Box::new(reader), stop));
    let input = Input::Pipe(Box::new(reader.map_err(|e| failed("read", &e))?));
    Ok(OpenedArchive { codec: Codec::Plain, input, bytes: None })
}

fn ahead(source: Box<dyn io::Read + Send>, stop: &Stop) -> io::Result<ReadAhead> {
    ReadAhead::new(source, stop.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::meter::Meters;

    fn text(input: Input) -> String {
        io::read_to_string(input.into_reader()).unwrap()
    }

    #[test]
    fn archives_are_unpacked_by_their_content_or_by_a_program() {
        let dir = tempfile::tempdir().unwrap();
        let (file, stop) = (dir.path().join("a"), Stop::default());
        let opener = &mut Opener::new(Meters::default());
        let name = ArchiveName::Path(file.clone());
        let program = Filter::new(OsStr::new("sh -c 'tr a-z A-Z' x"), &stop);
        let missing = format!("{name}: Cannot open: No such file or directory");
        assert_eq!(open(&name, opener, &stop).err().unwrap(), missing);
        assert_eq!(open_through(&name, &program, &stop).err().unwrap(), missing);
        std::fs::write(&file, Codec::Gzip.pack(6).unwrap().pack(b"text").unwrap()).unwrap();
        let opened = open(&name, opener, &stop).unwrap();
        assert_eq!((opened.codec, opened.bytes, text(opened.input)), (Codec::Gzip, None, "text".into()));
        std::fs::write(&file, "text").unwrap();
        let opened = open(&name, opener, &stop).unwrap();
        assert_eq!((opened.codec, opened.bytes, text(opened.input)), (Codec::Plain, Some(4), "text".into()));
        let opened = open_through(&name, &program, &stop).unwrap();
        assert_eq!((opened.codec, opened.bytes, text(opened.input)), (Codec::Plain, None, "TEXT".into()));
    }
}
