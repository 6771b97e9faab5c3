//! write_iolog= and read_iolog=: the logs that a job keeps and replays.
//!
//! Promises: what a log cannot be replayed with is refused by name; after [`Settings::follow`] a job has the files, blocks and directions of
//! its log.
//! Leaves out: reading the log.

use super::super::iolog::{Replay, Summary};
use super::super::job::BadJob;
use super::super::offsets::Sizes;
use super::super::value::{self, Amount};
use super::asked::Asked;
use super::{FileName, Settings, Verify, how};

/// Logs of I/O.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IoLogs {
    /// write_iolog=.
    pub write: Option<String>,
    /// read_iolog=.
    pub replay: Option<Replay>,
}

pub(super) fn iologs(asked: &Asked<'_>, engine: &str, verify: Option<&Verify>) -> Result<IoLogs, BadJob> {
    let align = asked.number("replay_align").unwrap_or(0);
    if asked.has("replay_align") && !align.is_power_of_two() {
        return Err(asked.bad("replay_align", format!("{align} is not a power of 2")));
    }
    let write = asked.text("write_iolog");
    let Some(path) = asked.text("read_iolog") else { return Ok(IoLogs { write, replay: None }) };
    if path == "-" {
        return Err(asked.refused("read_iolog", "a log is read twice, so that it cannot be standard input; use a file"));
    }
    let path = match &value::names(&path)[..] {
        [path] => path.clone(),
        _ => {
            return Err(
                asked.refused("read_iolog", "a list of logs is not shared out to clones; make a job of each log")
            );
        }
    };
    if verify.is_some() {
        return Err(asked.refused("read_iolog", "what a log writes is not read back; leave verify= out"));
    }
    if how::is_metadata(engine) {
        return Err(asked.refused("read_iolog", format!("ioengine={engine} has no offsets; use ioengine=psync")));
    }
    let replay = Replay {
        path,
        no_stall: asked.is("replay_no_stall"),
        percent: asked.number("replay_time_scale").unwrap_or(100),
        scale: asked.number("replay_scale").unwrap_or(1),
        align,
        open_max: asked.count("openfiles").filter(|open| *open > 0),
    };
    Ok(IoLogs { write, replay: Some(replay) })
}

impl Settings {
    /// Takes over what the log that is to be replayed has in it.
    pub fn follow(&mut self, log: Summary) {
        self.load.rw = log.rw();
        self.load.read_percent = if log.blocks.write.is_none() { 100 } else { 0 };
        for (direction, blocks) in log.blocks.iter() {
            let Some((least, most)) = *blocks else { continue };
            self.load.blocks[direction] = (least, most);
            self.load.plans[direction].sizes = Sizes::Range(least, most);
        }
        self.load.io_size = Some(Amount::Bytes(log.bytes));
        let open_max = self.io_logs.replay.as_ref().and_then(|replay| replay.open_max);
        self.files.names.clear();
        let directory = self.files.directories.first().cloned();
        self.take_files(0, (log.files, directory), None);
        self.files.open_max = open_max.unwrap_or(self.files.count).min(self.files.count);
    }

    /// Takes files of one directory into the job, `ahead` of those that it names itself before them, and no more than `used` of all.
    pub fn take_files(&mut self, ahead: usize, (found, directory): (Vec<String>, Option<String>), used: Option<u32>) {
        let all_open = self.files.open_max >= self.files.count;
        let at = ahead.min(self.files.names.len());
        let found = found.into_iter().map(|name| FileName { directory: directory.clone(), name });
        self.files.names.splice(at..at, found);
        self.files.names.truncate(used.map_or(usize::MAX, |used| used as usize));
        self.files.count = u32::try_from(self.files.names.len()).unwrap_or(u32::MAX);
        self.files.open_max = if all_open { self.files.count } else { self.files.open_max.min(self.files.count) };
    }
}
