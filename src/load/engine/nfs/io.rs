//! One I/O in the hands of the thread that carries it out.
//!
//! Promises: its buffer comes back, whatever happened. Leaves out: files and their numbers, which are the engine's.

use std::sync::Arc;

use crate::base::Status;
use crate::load::Direction;
use crate::storage::{Mount, Node, Route, Stable, Unstable, Volume};

use super::super::{Done, Io};
use super::{errno, transfer};

/// An I/O on an open file.
pub(super) struct Task {
    pub io: Io,
    pub node: Node,
    pub stable: Stable,
}

/// An I/O that has ended, and what its file has to know of it.
pub(super) struct Ended {
    pub file: u32,
    pub done: Done,
    /// Why it failed, in the protocol's words.
    pub status: Option<Status>,
    /// What of it is not safe, and the mount that it went through.
    pub unstable: Option<(Route, Unstable)>,
}

impl Ended {
    /// Of an I/O that failed.
    pub fn failed(io: Io, status: Status) -> Ended {
        Ended::new(io, Err(status), None)
    }

    pub fn new(io: Io, result: Result<usize, Status>, unstable: Option<(Route, Unstable)>) -> Ended {
        let status = result.err();
        let done = Done { slot: io.slot, buf: io.buf, result: result.map_err(errno) };
        Ended { file: io.file, done, status, unstable }
    }
}

/// Carries out one I/O after the other.
pub(super) struct Carrier {
    volume: Arc<Volume>,
    read_max: u32,
    write_max: u32,
    fetch: bool,
    /// Buffers that READs are lent.
    spare: Vec<Vec<u8>>,
}

impl Carrier {
    pub fn new(volume: &Arc<Volume>, fetch: bool) -> Carrier {
        let limits = volume.limits();
        let (read_max, write_max) = (limits.read_max, limits.write_max);
        Carrier { volume: volume.clone(), read_max, write_max, fetch, spare: Vec::new() }
    }

    pub fn carry(&mut self, task: Task) -> Ended {
        let Task { mut io, node, stable } = task;
        let (volume, at) = (&self.volume, (&node, io.offset));
        match io.direction {
            Direction::Read => {
                let result = transfer::read(volume, self.read_max, at, &mut io.buf, &mut self.spare, self.fetch);
                Ended::new(io, result, None)
            }
            Direction::Write => {
                let route = volume.route();
                let (result, unstable) = transfer::write(volume, route, self.write_max, at, &io.buf, stable);
                Ended::new(io, result, Some((route, unstable)))
            }
            Direction::Trim => Ended::failed(io, Status::NotSupp),
        }
    }
}
