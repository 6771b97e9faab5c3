//! Are two paths one object, though the kernel says that they are on two devices? Two mounts of one export are, and what is
//! copied onto itself through them would be lost.
//!
//! It promises to say yes whenever it cannot be excluded: who asks is about to refuse something.

use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::path::Path;

use super::Finder;
use super::mountinfo::{Entry, Export, Table};
use super::proof::{self, Seen, Spot, View};
use super::reason::Reason;
use super::view::{self, Opened};

const FILE_TYPE: u32 = 0o170_000;
const DIRECTORY: u32 = 0o040_000;

/// What came of comparing two objects.
#[derive(Debug)]
pub enum Verdict {
    /// They are two.
    Two,
    /// They are one; proven, so their file systems are, too.
    One,
    /// They may be one.
    Maybe,
    /// They may be one, and a name was left behind.
    Left(Reason),
}

/// Compares two objects of one file id; through `target` names may be made if it `writes`.
pub fn verdict(source: &dyn View, target: &dyn View, one_server: bool, writes: bool) -> Verdict {
    let look = |view: &dyn View| view.look(Spot::Dir);
    let (Ok(ours), Ok(theirs)) = (look(source), look(target)) else { return Verdict::Maybe };
    let what = |seen: &Seen| (seen.fileid, seen.mode & FILE_TYPE);
    if what(&ours) != what(&theirs) {
        return Verdict::Two;
    }
    let handles = (source.handle(Spot::Dir), target.handle(Spot::Dir));
    if one_server && handles.0.is_some() && handles.0 == handles.1 {
        return Verdict::One;
    }
    // One object has one time of change, to the nanosecond, whoever asks.
    match proof::equal("times or owners", || look(source), || look(target), PartialEq::eq) {
        Err(Reason::NotProven(_)) => return Verdict::Two,
        Ok(()) | Err(_) if !writes || ours.mode & FILE_TYPE != DIRECTORY => return Verdict::Maybe,
        Ok(()) | Err(_) => {}
    }
    match proof::made_and_found(target, source) {
        Ok(_) => Verdict::One,
        Err(Reason::NotSeen) => Verdict::Two,
        Err(left @ Reason::Left(..)) => Verdict::Left(left),
        Err(_) => Verdict::Maybe,
    }
}

impl Finder {
    /// Are `source` and `target` one object? Asked of the servers only where they are on different NFS mounts; `writes`: names
    /// may be made in the target. An `Err` is a name that was left there, when they may be one.
    pub fn is_one(&mut self, source: &Path, target: &Path, writes: bool) -> Result<bool, Reason> {
        let located = |path: &Path| {
            let at = view::locate(path).ok()?;
            let table = Table::read().ok()?;
            let entry: Entry = table.get(at.mount)?.clone();
            let export: Export = entry.export()?;
            Some((at.dir, entry, export))
        };
        let (Some(ours), Some(theirs)) = (located(source), located(target)) else { return Ok(false) };
        let devices = (ours.1.device_number(), theirs.1.device_number());
        let opened =
            |dir: &std::os::fd::OwnedFd| Some(Opened { root: dir.try_clone().ok()?, dir: dir.try_clone().ok()? });
        let (Some(from), Some(to)) = (opened(&ours.0), opened(&theirs.0)) else { return Ok(true) };
        if devices.0 == devices.1 || self.proven.contains(&devices) || self.proven.contains(&(devices.1, devices.0)) {
            let id = |dir: &Opened| view::fresh(dir.dir.as_fd()).map(|seen| seen.fileid);
            return match (id(&from), id(&to)) {
                (Ok(ours), Ok(theirs)) => Ok(ours == theirs),
                (Err(error), _) | (_, Err(error)) => Ok(error.kind() != ErrorKind::NotFound),
            };
        }
        let one_server = ours.2.address.is_some() && ours.2.address == theirs.2.address;
        match verdict(&from, &to, one_server, writes) {
            Verdict::Two => Ok(false),
            Verdict::Maybe => Ok(true),
            Verdict::Left(reason) => Err(reason),
            Verdict::One => {
                self.proven.insert(devices);
                self.join(devices.0, devices.1);
                Ok(true)
            }
        }
    }
}
