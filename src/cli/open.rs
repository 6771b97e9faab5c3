//! Opening what a command line names: the volume with its counters and ceilings, and the archive.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::archive::{Codec, Input, ReadAt};
use crate::base::PriceList;
use crate::base::price::Ceiling;
use crate::crew::Stop;
use crate::mounts::LocalMount;
use crate::mounts::nfs;
use crate::storage::{Ledger, Mount, Spread, Tap, Tapped, Throttle, Volume};

use super::console::reason;
use super::location::Location;
use super::readahead::ReadAhead;
use super::report::Meter;

/// What statfs(2) says of a kernel's NFS mount.
const NFS_SUPER_MAGIC: rustix::fs::FsWord = 0x6969;

/// A volume and the counters of its targets, in the volume's order.
pub struct Opened {
    /// The volume; each target counted and, where asked, held under a ceiling.
    pub volume: Volume,
    /// One for each target.
    pub meters: Vec<Meter>,
}

/// Opens `location`. An error is `NAME: CALL: reason`.
pub fn volume(location: &Location, held: Option<Ceiling>) -> Result<Opened, String> {
    let mut is_nfs = true;
    let (mounts, nfs): (Vec<Arc<dyn Mount>>, Vec<Arc<nfs::NfsMount>>) = match location {
        Location::Dir(path) => {
            let failed = |error| format!("{}: Cannot open: {}", path.display(), reason(&error));
            let mount = LocalMount::open(path).map_err(failed)?;
            is_nfs = rustix::fs::statfs(path).is_ok_and(|stat| stat.f_type == NFS_SUPER_MAGIC);
            (vec![Arc::new(mount)], Vec::new())
        }
        Location::Nfs(url, text) => {
            let nfs = nfs::attach(url).map_err(|error| format!("{text}: Cannot mount: {error}"))?;
            (nfs.iter().map(|mount| mount.clone() as Arc<dyn Mount>).collect(), nfs)
        }
    };
    let mut meters = Vec::new();
    let mut tapped: Vec<Arc<dyn Mount>> = Vec::new();
    for (i, mount) in mounts.into_iter().enumerate() {
        let ledger = Arc::new(Ledger::default());
        meters.push(Meter { label: mount.label(), ledger: ledger.clone(), nfs: nfs.get(i).cloned(), is_nfs });
        // The throttle is outside the ledger: the time it holds a window back is not the target's latency.
        let mut taps: Vec<Arc<dyn Tap>> = Vec::new();
        if let Some(ceiling) = held {
            taps.push(Arc::new(Throttle::new(ceiling, PriceList::oci())));
        }
        taps.push(ledger);
        tapped.push(Arc::new(Tapped::new(mount, taps)));
    }
    Ok(Opened { volume: Volume::new(tapped, Spread::default()), meters })
}

/// Which archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArchiveName {
    /// Standard input.
    Stdin,
    /// A file, or whatever else opens: a fifo, a device.
    Path(PathBuf),
}

impl std::fmt::Display for ArchiveName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ArchiveName::Stdin => f.write_str("-"),
            ArchiveName::Path(path) => path.display().fmt(f),
        }
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
pub fn archive(name: &ArchiveName, stop: &Stop) -> Result<OpenedArchive, String> {
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
    };
    let (codec, input) = crate::archive::open(raw).map_err(|e| failed("read", &e))?;
    let bytes = len.filter(|_| codec == Codec::Plain);
    let input = match input {
        Input::Pipe(decoder) if codec != Codec::Plain => {
            Input::Pipe(Box::new(ahead(decoder, stop).map_err(|e| failed("read", &e))?))
        }
        other => other,
    };
    Ok(OpenedArchive { codec, input, bytes })
}

fn ahead(source: Box<dyn io::Read + Send>, stop: &Stop) -> io::Result<ReadAhead> {
    ReadAhead::new(source, stop.clone())
}
