//! fio's metadata engines on an export: one operation for each file, which is the I/O.
//!
//! Promises: an I/O is one call, after the LOOKUPs of its directory, which `open` makes. More than one may be in flight, which fio does not
//! do. Leaves out: laying out what is looked at or removed, which is the place's.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;

use crate::base::{Name, Status};
use crate::load::offsets::Extent;
use crate::load::settings::Advice;
use crate::storage::{AttrChange, Call, How, Node};

use super::super::metadata::Operation;
use super::super::pool::{Hands, Work};
use super::super::{Done, Engine, Io, Open, Queued, SyncKind};
use super::io::Ended;
use super::{Export, errno, names, text};

fn carry_out(what: Operation, export: &Export, dir: &Node, name: &Name) -> Result<(), Status> {
    let mode = |mode| AttrChange { mode: Some(mode), ..AttrChange::default() };
    let call = match what {
        Operation::FileCreate => Call::create(dir, name, How::Unchecked, mode(export.modes.file)),
        Operation::DirCreate => Call::mkdir(dir, name, mode(export.modes.dir)),
        Operation::FileDelete => Call::remove(dir, name),
        Operation::DirDelete => Call::rmdir(dir, name),
        Operation::FileStat | Operation::DirStat => return export.look_up(dir, name).map(drop),
    };
    export.one(call).status()
}

/// A file by its directory and its name there.
type Named = (Node, Name);

/// Metadata operations of one clone.
pub struct NfsMetadata {
    export: Arc<Export>,
    hands: Hands<(Io, Named), Ended>,
    files: Vec<Option<Box<Named>>>,
    told: Option<String>,
}

fn carry(export: &Export, what: Operation, io: Io, (dir, name): &Named) -> Ended {
    let result = carry_out(what, export, dir, name);
    let len = io.buf.len();
    Ended::new(io, result.map(|()| len), None)
}

impl NfsMetadata {
    /// With up to `depth` operations in flight. An error is that of starting threads.
    pub fn new(export: Arc<Export>, what: Operation, depth: u32) -> io::Result<NfsMetadata> {
        let make = || -> Work<(Io, Named), Ended> {
            let export = export.clone();
            Box::new(move |(io, named)| carry(&export, what, io, &named))
        };
        let hands = Hands::new("nfs-io", depth, make)?;
        Ok(NfsMetadata { export, hands, files: Vec::new(), told: None })
    }

    fn named(&self, file: u32) -> Option<&Named> {
        self.files.get(file as usize).and_then(Option::as_deref)
    }
}

fn settle(told: &mut Option<String>, ended: Ended) -> Done {
    if let Some(status) = ended.status {
        *told = text(status);
    }
    ended.done
}

impl Engine for NfsMetadata {
    fn waits(&self) -> bool {
        self.hands.waits()
    }

    fn moves(&self) -> bool {
        false
    }

    /// Finds the directory; the file itself is the I/O's.
    fn open(&mut self, file: u32, path: &Path, _how: Open) -> Result<(), Errno> {
        let found = names(path).and_then(|names| {
            let (name, dirs) = names.split_last().ok_or(Status::IsDir)?;
            let dir = self.export.anew(|| self.export.dir(dirs, false))?;
            Ok((dir, name.clone()))
        });
        let named = found.map_err(|status| {
            self.told = text(status);
            errno(status)
        })?;
        let index = file as usize;
        if self.files.len() <= index {
            self.files.resize_with(index + 1, || None);
        }
        self.files[index] = Some(Box::new(named));
        Ok(())
    }

    fn close(&mut self, file: u32) -> Result<(), Errno> {
        self.files.get_mut(file as usize).and_then(Option::take).map(drop).ok_or(Errno::BADF)
    }

    fn advise(&mut self, _file: u32, _dropped: Option<Extent>, _advice: Option<Advice>) -> Result<(), Errno> {
        Ok(())
    }

    fn queue(&mut self, io: Io) -> Queued {
        let task = match self.named(io.file).cloned() {
            Some(named) => Ok((io, named)),
            None => Err(Ended::failed(io, Status::from_errno(Errno::BADF.raw_os_error()))),
        };
        match self.hands.queue(task) {
            Some(ended) => Queued::Done(settle(&mut self.told, ended)),
            None => Queued::Pending,
        }
    }

    fn commit(&mut self) -> Result<usize, Errno> {
        Ok(self.hands.commit())
    }

    fn reap(&mut self, min: usize, max: usize, wait: Option<Duration>, done: &mut Vec<Done>) -> Result<(), Errno> {
        let told = &mut self.told;
        self.hands.take(min, max, wait, |ended| done.push(settle(told, ended)))
    }

    /// Nothing was written: what names the server changed it has made safe before it answered (RFC 1813 4.7).
    fn sync(&mut self, _file: u32, how: SyncKind) -> Result<(), Errno> {
        if let SyncKind::Range { .. } = how { Err(Errno::OPNOTSUPP) } else { Ok(()) }
    }

    fn explain(&mut self) -> Option<String> {
        self.told.take()
    }
}
