//! The engine for reads and writes: files by number, and a thread for each I/O in flight.
//!
//! Promises: at depth 1 the job's thread makes the call itself, and nothing is handed over. A file that is opened for reading is not
//! written. Closing makes nothing safe, as NFS promises nothing of it; what was written before is remembered, so that a later
//! `sync` of the file, opened again, still is a COMMIT.
//! Leaves out: the kernel's cache, so `direct` is always so, and `advise` has nothing to do.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;

use crate::base::Status;
use crate::load::Direction;
use crate::load::offsets::Extent;
use crate::load::settings::{Advice, OpenSync};
use crate::storage::{Node, Stable};

use super::super::pool::{Hands, Work};
use super::super::{Done, Engine, Io, Open, Queued, SyncKind};
use super::io::{Carrier, Ended, Task};
use super::transfer::Unsettled;
use super::{Export, errno, text};

const LOST: &str = "the server has restarted since the data was written, and may have lost it";

struct File {
    node: Node,
    /// Stands for the object, however its node was found.
    key: u64,
    /// None when it is closed.
    how: Option<Open>,
    stable: Stable,
    unsettled: Unsettled,
}

/// Reads and writes of one clone.
pub struct NfsEngine {
    export: Arc<Export>,
    hands: Hands<Task, Ended>,
    files: Vec<Option<Box<File>>>,
    told: Option<String>,
}

impl NfsEngine {
    /// With up to `depth` I/Os in flight. `fetch`: what is read is looked at; else buffers keep what they hold. An error is that of
    /// starting threads.
    pub fn new(export: Arc<Export>, depth: u32, fetch: bool) -> io::Result<NfsEngine> {
        let make = || -> Work<Task, Ended> {
            let mut carrier = Carrier::new(&export.volume, fetch);
            Box::new(move |task| carrier.carry(task))
        };
        let hands = Hands::new("nfs-io", depth, make)?;
        Ok(NfsEngine { export, hands, files: Vec::new(), told: None })
    }

    fn file(&mut self, file: u32) -> Result<&mut File, Errno> {
        let found = self.files.get_mut(file as usize).and_then(Option::as_deref_mut);
        found.filter(|file| file.how.is_some()).ok_or(Errno::BADF)
    }

    fn fail(&mut self, status: Status) -> Errno {
        self.told = text(status);
        errno(status)
    }

    /// The I/O as a task, if the file is open for it.
    fn task(&mut self, io: Io) -> Result<Task, Ended> {
        let file = match self.file(io.file) {
            Ok(file) => file,
            Err(errno) => return Err(Ended::failed(io, Status::from_errno(errno.raw_os_error()))),
        };
        let allowed = file.how.is_some_and(|how| match io.direction {
            Direction::Read => how.read,
            Direction::Write | Direction::Trim => how.write,
        });
        if !allowed {
            return Err(Ended::failed(io, Status::from_errno(Errno::BADF.raw_os_error())));
        }
        Ok(Task { io, node: file.node.clone(), stable: file.stable })
    }
}

/// Tells the file what came of its I/O.
fn settle(files: &mut [Option<Box<File>>], told: &mut Option<String>, ended: Ended) -> Done {
    if let Some((route, unstable)) = ended.unstable
        && let Some(file) = files.get_mut(ended.file as usize).and_then(Option::as_deref_mut)
    {
        file.unsettled.note(route, unstable);
    }
    if let Some(status) = ended.status {
        *told = text(status);
    }
    ended.done
}

impl Engine for NfsEngine {
    fn waits(&self) -> bool {
        self.hands.waits()
    }

    fn open(&mut self, file: u32, path: &Path, how: Open) -> Result<(), Errno> {
        let found = self.export.at(path, |dir, name| self.export.file(dir, name, how.create));
        let node = found.map_err(|status| self.fail(status))?;
        let stable = match how.sync {
            OpenSync::None => Stable::Unstable,
            OpenSync::DSync => Stable::DataSync,
            OpenSync::Sync => Stable::FileSync,
        };
        let index = file as usize;
        if self.files.len() <= index {
            self.files.resize_with(index + 1, || None);
        }
        // Another file may have its name by now; its data is its own.
        let key = node.key();
        let before = self.files[index].take().filter(|before| before.key == key);
        let unsettled = before.map(|before| before.unsettled).unwrap_or_default();
        self.files[index] = Some(Box::new(File { node, key, how: Some(how), stable, unsettled }));
        Ok(())
    }

    fn close(&mut self, file: u32) -> Result<(), Errno> {
        let open = self.file(file)?;
        open.how = None;
        // As close(2) tells it on a kernel mount: no sync may follow.
        let is_lost = open.unsettled.take_loss();
        if open.unsettled.is_empty() {
            self.files[file as usize] = None;
        }
        if is_lost {
            self.told = Some(LOST.into());
            return Err(Errno::IO);
        }
        Ok(())
    }

    fn advise(&mut self, file: u32, _dropped: Option<Extent>, _advice: Option<Advice>) -> Result<(), Errno> {
        self.file(file).map(drop)
    }

    fn queue(&mut self, io: Io) -> Queued {
        let task = self.task(io);
        match self.hands.queue(task) {
            Some(ended) => Queued::Done(settle(&mut self.files, &mut self.told, ended)),
            None => Queued::Pending,
        }
    }

    fn commit(&mut self) -> Result<usize, Errno> {
        Ok(self.hands.commit())
    }

    fn reap(&mut self, min: usize, max: usize, wait: Option<Duration>, done: &mut Vec<Done>) -> Result<(), Errno> {
        let (files, told) = (&mut self.files, &mut self.told);
        self.hands.take(min, max, wait, |ended| done.push(settle(files, told, ended)))
    }

    fn sync(&mut self, file: u32, how: SyncKind) -> Result<(), Errno> {
        if let SyncKind::Range { .. } = how {
            return Err(self.fail(Status::NotSupp));
        }
        let volume = self.export.volume.clone();
        let open = self.file(file)?;
        match open.unsettled.commit(&volume, &open.node) {
            Ok(true) => Ok(()),
            Ok(false) => {
                self.told = Some(format!("COMMIT: {LOST}"));
                Err(Errno::IO)
            }
            Err(status) => Err(self.fail(status)),
        }
    }

    fn explain(&mut self) -> Option<String> {
        self.told.take()
    }
}
