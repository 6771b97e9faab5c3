//! Which writes of a pass are still there when they are read back: of those that overlap, the latest alone.
//!
//! Promises: what a later write touched is not read back as it was, as in fio 3.33 without its map (which reads such blocks back against their
//! first writing with it, and fails). Memory grows with the writes that are there and were not read back yet, as fio's does; only where a pass
//! may visit a byte twice is there one of these.
//! Leaves out: writes of other clones, and which of them failed (`unwritten`).

use std::collections::BTreeMap;

use super::super::{Direction, Each};
use super::choice::{Choice, Next};

/// The writes of a pass, by choosing them again.
#[derive(Debug)]
pub(super) struct Latest {
    ahead: Choice,
    /// I/Os that were chosen.
    ios: u64,
    /// By file and offset: bytes, and the number of the I/O. None overlaps another.
    writes: BTreeMap<(u32, u64), (u64, u64)>,
}

impl Latest {
    /// Of a pass that `start` begins.
    pub(super) fn new(start: Choice) -> Latest {
        Latest { ahead: start, ios: 0, writes: BTreeMap::new() }
    }

    /// The pass has come to so many I/Os.
    pub(super) fn follow(&mut self, ios: u64) {
        while self.ios < ios {
            let Some(next) = self.ahead.next_io(&Each::default()) else { return };
            self.ios += 1;
            if next.direction != Direction::Read {
                self.put(&next);
            }
        }
    }

    fn put(&mut self, next: &Next) {
        let (file, start, len) = (next.file, next.extent.offset, next.extent.len);
        let behind = start.saturating_add(len);
        loop {
            // Since none overlaps another, the last that begins ahead of the end is the last that can reach into it.
            let last = self.writes.range((file, 0)..(file, behind)).next_back();
            let Some(&at) = last.filter(|(at, (len, _))| at.1 + len > start).map(|(at, _)| at) else { break };
            self.writes.remove(&at);
        }
        self.writes.insert((file, start), (len, next.number));
    }

    /// True when `next` is still there; it is so only once.
    pub(super) fn take(&mut self, next: &Next) -> bool {
        let at = (next.file, next.extent.offset);
        let is_there = self.writes.get(&at) == Some(&(next.extent.len, next.number));
        if is_there {
            self.writes.remove(&at);
        }
        is_there
    }
}
