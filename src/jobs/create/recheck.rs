//! Directories once more, when all that was listed of them was read: a name that was made in one meanwhile, or moved into it, is not in
//! the archive, and what was moved may be nowhere in it. That is told as GNU tar tells it, which goes by ctime alone.
//!
//! A GETATTR for each directory, beside the READDIRPLUS that listed it, and none for a file; only one whose ctime is another than that of
//! its header is listed again, by names. Left out: names that have gone, of which the archive has what was there or the file's own turn
//! tells; files put in the place of others, which their own turn finds; and what changes within the resolution of the server's clock.

use std::hash::Hasher;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::base::hash::Mix;
use crate::base::name::Shown;
use crate::base::{Name, Status, Time};
use crate::crew::{Budget, Permit, Stop};
use crate::storage::{Call, Cookie, Node, Page, Route, Volume, Want};

use super::super::port::Port;
use super::super::select::Selection;
use super::ctx::{Ctx, add};
use super::entry::join;

/// What the names of all directories that are not done may take, beside the run's budget: a lane that waits for that may hold the directory
/// which would give it back.
const NAMES_BYTES: u64 = 32 << 20;
/// How often a listing begins anew: one whose directory changes all the time would never end.
const ANEW_MAX: u32 = 16;

/// Bytes of a listing's page by names.
const PAGE_BYTES: u32 = 64 << 10;

/// A directory that was listed to its end, and all of which was read.
pub(super) struct Left {
    pub volume: Arc<Volume>,
    pub node: Node,
    pub path: Vec<u8>,
    /// What of its operand is left out.
    pub exclude: Arc<Selection>,
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
    /// The room that they take.
    permit: Option<Permit>,
    /// There were more than are remembered.
    forgot: bool,
    /// To the end.
    pub ended: bool,
}

impl Listed {
    /// Notes a page, without what was listed before.
    pub fn note(&mut self, page: &mut Page, rechecks: &Rechecks) {
        self.ended |= page.end;
        if self.before > 0 {
            page.entries.retain(|entry| self.names[..self.before].binary_search(&mark(&entry.name)).is_err());
        }
        if self.forgot {
            return;
        }
        let before = self.names.capacity();
        self.names.extend(page.entries.iter().map(|entry| mark(&entry.name)));
        let bytes = ((self.names.capacity() - before) * size_of::<u64>()) as u64;
        let has_room = match &mut self.permit {
            Some(permit) => rechecks.room.try_extend(permit, bytes),
            permit => {
                *permit = rechecks.room.try_acquire(bytes);
                permit.is_some()
            }
        };
        if !has_room {
            self.forgot = true;
            // What a listing before has brought is to be known to the end.
            self.names.truncate(self.before);
            if self.before == 0 {
                (self.names, self.permit) = (Vec::new(), None);
            }
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
pub(super) struct Rechecks {
    left: Mutex<Vec<Left>>,
    room: Budget,
}

impl Default for Rechecks {
    fn default() -> Rechecks {
        Rechecks::new(NAMES_BYTES)
    }
}

impl Rechecks {
    fn new(bytes: u64) -> Rechecks {
        // Nobody waits for room, so that nothing has to end a wait.
        Rechecks { left: Mutex::default(), room: Budget::new(bytes, Stop::default()) }
    }

    fn left(&self) -> MutexGuard<'_, Vec<Left>> {
        self.left.lock().expect("nothing panics while it notes a directory")
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
        let mut dirs = ctx.rechecks.take(window, if all { 1 } else { window });
        let Some(volume) = dirs.first().map(|dir| dir.volume.clone()) else { return };
        let port = ctx.port(&volume);
        let route = port.route();
        let mut calls: Vec<Call<'_>> = dirs.iter().map(|dir| Call::get_attr(&dir.node)).collect();
        port.perform(route, &mut calls);
        let answers: Vec<_> = calls.iter().map(Call::attr).collect();
        drop(calls);
        for (dir, answer) in dirs.iter_mut().zip(answers) {
            let has_more = match answer {
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
fn has_more(ctx: &Ctx<'_>, (port, route): (Port<'_>, Route), dir: &mut Left) -> Result<bool, Status> {
    if dir.listed.forgot {
        return Ok(true);
    }
    dir.listed.names.sort_unstable();
    let known = &dir.listed.names;
    let mut from = Cookie::default();
    loop {
        let page = port.one(route, Call::read_dir(&dir.node, from, Want::Names, PAGE_BYTES)).take_page()?;
        let includes = |name: &Name| ctx.includes(&join(&dir.path, name), &dir.exclude);
        let is_new = |name: &Name| known.binary_search(&mark(name)).is_err() && includes(name);
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
    fn no_more_names_are_remembered_than_there_is_room_for() {
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
        // Of all directories together, whatever lanes list them.
        let rechecks = Rechecks::new(128 << 10);
        let is = |listed: &Listed| (listed.names.len(), listed.forgot, listed.ended);
        let most = 16 << 10;
        let (mut large, mut small) = (Listed::default(), Listed::default());
        large.note(&mut page(0..most - 2_000, false), &rechecks);
        assert_eq!(is(&large), (most - 2_000, false, false));
        small.note(&mut page(0..1_000, false), &rechecks);
        assert_eq!(is(&small), (1_000, false, false));
        large.note(&mut page(0..2_000, false), &rechecks);
        large.note(&mut page(0..3, true), &rechecks);
        assert_eq!(is(&large), (0, true, true));
        // What one gives back is another's.
        small.note(&mut page(0..10_000, true), &rechecks);
        assert_eq!((is(&small), rechecks.room.held()), ((11_000, false, true), 88_000));
        drop((large, small));
        assert_eq!(rechecks.room.held(), 0);
        // One that began anew knows what it has, whatever comes of it.
        let mut anew = Listed::default();
        anew.note(&mut page(0..1_000, false), &rechecks);
        assert!(anew.begins_anew());
        let mut more = page(0..most, false);
        anew.note(&mut more, &rechecks);
        let mut again = page(500..1_500, true);
        anew.note(&mut again, &rechecks);
        assert_eq!((is(&anew), more.entries.len(), again.entries.len()), ((1_000, true, true), most - 1_000, 500));
        assert!(!anew.begins_anew());
    }
}
