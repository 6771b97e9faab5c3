//! Engines whose I/O is one operation on a whole file or directory: filecreate, filestat, filedelete, dircreate, dirstat, dirdelete.
//!
//! Promises: opening notes the path and asks the system nothing; each I/O is the operation, once, and counts as its length.
//! Leaves out: data. What a run made stays there.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{self, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};

use super::super::offsets::Extent;
use super::super::settings::Advice;
use super::descriptors::close;
use super::{Done, Engine, Io, Open, Queued, SyncKind};

/// What is done to each file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // fio's names
pub enum Operation {
    FileCreate,
    FileStat,
    FileDelete,
    DirCreate,
    DirStat,
    DirDelete,
}

impl Operation {
    /// By the engine's name.
    pub fn named(engine: &str) -> Option<Operation> {
        Some(match engine {
            "filecreate" => Operation::FileCreate,
            "filestat" => Operation::FileStat,
            "filedelete" => Operation::FileDelete,
            "dircreate" => Operation::DirCreate,
            "dirstat" => Operation::DirStat,
            "dirdelete" => Operation::DirDelete,
            _ => return None,
        })
    }

    fn carry_out(self, path: &Path) -> Result<(), Errno> {
        match self {
            Operation::FileCreate => {
                let flags = OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC;
                close(retry_on_intr(|| fs::open(path, flags, Mode::RUSR | Mode::WUSR))?)
            }
            Operation::FileStat | Operation::DirStat => fs::stat(path).map(drop),
            Operation::FileDelete => fs::unlink(path),
            Operation::DirCreate => fs::mkdir(path, Mode::RWXU | Mode::RWXG | Mode::RWXO),
            Operation::DirDelete => fs::rmdir(path),
        }
    }
}

/// The engine.
#[derive(Debug)]
pub struct Metadata {
    operation: Operation,
    /// By number; none where a file is not open.
    paths: Vec<Option<PathBuf>>,
}

impl Metadata {
    /// For `files` files.
    pub fn new(operation: Operation, files: u32) -> Metadata {
        Metadata { operation, paths: Vec::with_capacity(files as usize) }
    }

    fn path(&self, file: u32) -> Result<&Path, Errno> {
        self.paths.get(file as usize).and_then(Option::as_deref).ok_or(Errno::BADF)
    }
}

impl Engine for Metadata {
    fn waits(&self) -> bool {
        true
    }

    fn moves(&self) -> bool {
        false
    }

    fn open(&mut self, file: u32, path: &Path, _: Open) -> Result<(), Errno> {
        let file = file as usize;
        if file >= self.paths.len() {
            self.paths.resize(file + 1, None);
        }
        self.paths[file] = Some(path.to_owned());
        Ok(())
    }

    fn close(&mut self, file: u32) -> Result<(), Errno> {
        self.paths.get_mut(file as usize).and_then(Option::take).map(drop).ok_or(Errno::BADF)
    }

    fn advise(&mut self, file: u32, _: Option<Extent>, _: Option<Advice>) -> Result<(), Errno> {
        // No data is cached of what has none open.
        self.path(file).map(drop)
    }

    fn queue(&mut self, io: Io) -> Queued {
        let result = self.path(io.file).and_then(|path| self.operation.carry_out(path)).map(|()| io.buf.len());
        Queued::Done(Done { slot: io.slot, buf: io.buf, result })
    }

    fn commit(&mut self) -> Result<usize, Errno> {
        Ok(0)
    }

    fn reap(&mut self, _: usize, _: usize, _: Option<Duration>, _: &mut Vec<Done>) -> Result<(), Errno> {
        Ok(())
    }

    fn sync(&mut self, file: u32, _: SyncKind) -> Result<(), Errno> {
        self.path(file).map(drop)
    }
}
