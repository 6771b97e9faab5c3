//! Directories once more, when all that was listed of them was read: a name that was made in one meanwhile, or moved into it, is not in
//! the archive, and what was moved may be nowhere in it. That is told as GNU tar tells it, which goes by ctime alone.
//!
//! A GETATTR for each directory, beside the READDIRPLUS that listed it, and none for a file; only one whose ctime is another than that of
//! its header is listed again, by names. Left out: names that have gone, of which the archive has what was there or the file's own turn
//! tells; files put in the place of others, which their own turn finds; and what changes within the resolution of the server's clock.

use std::collections::HashSet;
use std::hash::Hasher;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::base::hash::Mix;
use crate::base::name::Shown;
use crate::base::{Name, Status, Time};
use crate::storage::{Call, Cookie, Node, Page, Route, Volume, Want};

use super::super::port::Port;
use super::ctx::{Ctx, add};
use super::entry::join;

/// Names of one directory that are remembered, in 8 MB.
const NAMES_MAX: usize = 1 << 20;
/// How often a listing begins anew: one whose directory changes all the time would never end.
const ANEW_MAX: u32 = 16;

/// Bytes of a listing's page by names.
const PAGE_BYTES: u32 = 64 << 10;

/// A directory that was listed to its end, and all of which was read.
pub(super) struct Left {
    pub volume: Arc<Volume>,
    pub node: Node,
    pub path: Vec<u8>,
    /// As its own directory listed it.
    pub ctime: Time,
    pub listed: Listed,
}

/// What was listed of a directory, page by page.
#[derive(Default)]
pub(super) struct Listed {
    /// As [`mark`]s; those of the listings before this one are sorted.
    names: Vec<u64>,
    before: usize,
    /// How often it has begun anew.
    anew: u32,
    /// There were more than are remembered.
    forgot: bool,
    /// To the end.
    pub ended: bool,
}

impl Listed {
    /// Notes a page, without what was listed before.
    pub fn note(&mut self, page: &mut Page) {
        self.ended |= page.end;
        if self.before > 0 {
            page.entries.retain(|entry| self.names[..self.before].binary_search(&mark(&entry.name)).is_err());
        }
        self.forgot |= self.names.len() + page.entries.len() > NAMES_MAX;
        if self.forgot {
            self.names = Vec::new();
        } else {
            self.names.extend(page.entries.iter().map(|entry| mark(&entry.name)));
        }
    }

    /// Its pages come once more from the first one on. False where what came before is not known, or it has begun too often.
    pub fn begins_anew(&mut self) -> bool {
        self.anew += 1;
        self.names.sort_unstable();
        self.before = self.names.len();
        !self.forgot && self.anew <= ANEW_MAX
    }
}

/// A name in eight bytes: of a million in one directory, another one is taken for one of them once in 10^13 times.
fn mark(name: &Name) -> u64 {
    let mut mix = Mix::default();
    mix.write(name.as_bytes());
    mix.write_u64(name.as_bytes().len() as u64);
    mix.finish()
}

/// Those that wait to be looked at.
#[derive(Default)]
pub(super) struct Rechecks(Mutex<Vec<Left>>);

impl Rechecks {
    fn left(&self) -> MutexGuard<'_, Vec<Left>> {
        self.0.lock().expect("nothing panics while it notes a directory")
    }

    pub fn add(&self, left: Left) {
        self.left().push(left);
    }

    /// Some of one volume: as many as are in flight at once, or what is there. None where fewer than `least` wait.
    fn take(&self, window: usize, least: usize) -> Vec<Left> {
        let mut left = self.left();
        let Some(last) = left.last().filter(|_| left.len() >= least) else { return Vec::new() };
        let from = left.len().saturating_sub(window);
        let other = left[from..].iter().rposition(|dir| !Arc::ptr_eq(&dir.volume, &last.volume));
        left.split_off(other.map_or(from, |at| from + at + 1))
    }
}

/// Looks at directories while there are as many as a lane has calls in flight; with `all`, at every one.
pub(super) fn run(ctx: &Ctx<'_>, all: bool) {
    let window = ctx.crew.shape().window.max(1);
    while !ctx.crew.stop().is_set() {
        let dirs = ctx.rechecks.take(window, if all { 1 } else { window });
        let Some(first) = dirs.first() else { return };
        let port = ctx.port(&first.volume);
        let route = port.route();
        let mut calls: Vec<Call<'_>> = dirs.iter().map(|dir| Call::get_attr(&dir.node)).collect();
        port.perform(route, &mut calls);
        for (dir, call) in dirs.iter().zip(&calls) {
            let has_more = match call.attr() {
                Ok(attr) if attr.ctime == dir.ctime => Ok(false),
                Ok(_) => has_more(ctx, (port, route), dir),
                Err(status) => Err(status),
            };
            // Nothing is in what is gone. What cannot be asked may have changed.
            if !matches!(has_more, Ok(false) | Err(Status::NoEnt | Status::Stale | Status::Cancelled)) {
                add(&ctx.counts.changed, 1);
                ctx.warn(format!("{}: file changed as we read it", Shown(&dir.path)));
            }
        }
    }
}

/// Has the directory a name that it did not have when it was listed? One of so many that they are not remembered is taken to have one, as GNU
/// tar takes each.
fn has_more(ctx: &Ctx<'_>, (port, route): (Port<'_>, Route), dir: &Left) -> Result<bool, Status> {
    if dir.listed.forgot {
        return Ok(true);
    }
    let known: HashSet<u64> = dir.listed.names.iter().copied().collect();
    let mut from = Cookie::default();
    loop {
        let page = port.one(route, Call::read_dir(&dir.node, from, Want::Names, PAGE_BYTES)).take_page()?;
        let is_new = |name: &Name| !known.contains(&mark(name)) && ctx.includes(&join(&dir.path, name));
        if page.entries.iter().any(|entry| is_new(&entry.name)) {
            return Ok(true);
        }
        if page.end || page.is_stuck(from) {
            return Ok(false);
        }
        if ctx.crew.stop().is_set() {
            return Err(Status::Cancelled);
        }
        from = page.next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Entry;

    #[test]
    fn of_a_large_directory_no_names_are_remembered() {
        let entry = |at: usize| Entry {
            name: Name::new(at.to_string().as_bytes()).unwrap(),
            fileid: at as u64,
            position: 0,
            kind: None,
            attr: None,
            node: None,
        };
        let page = |names: std::ops::Range<usize>, end| Page {
            entries: names.map(entry).collect(),
            end,
            next: Cookie::default(),
            above: None,
        };
        let mut listed = Listed::default();
        listed.note(&mut page(0..1_000, false));
        assert_eq!((listed.names.len(), listed.forgot, listed.ended), (1_000, false, false));
        listed.note(&mut page(1_000..NAMES_MAX + 1, false));
        listed.note(&mut page(0..3, true));
        assert_eq!((listed.names.len(), listed.forgot, listed.ended), (0, true, true));
    }
}
