//! Removal of trees, in parallel, depth first.
//!
//! Directories are listed with types, so that nothing is asked of an entry; files go while the listing goes on, and a directory
//! goes as soon as it is empty. n files in d directories cost n REMOVE, d RMDIR, the pages of the listings and one LOOKUP for each
//! operand. A directory is listed again only when RMDIR says that something is in it although something was removed, or when a
//! cookie went stale. Where it stays, because it or something in it is kept, and had several pages, no RMDIR tells whether the
//! listing skipped entries; then its names are listed once more, and removed from only if that shows new ones. So it is where a call
//! found that an entry, or the directory, is not there or not known (NOENT, STALE), whom others may have removed or a server forgotten.
//!
//! Nothing but what is below the operands is touched: objects are reached by node and name, a symbolic link is removed and never
//! followed. What fails is told by path, once, and its parents stay without a word. Memory is bounded by the depth of the tree
//! (see `frame`), not by its size. Leaves out: undoing, and waiting for files that some client has open.

mod begun;
mod complete;
mod engine;
mod excluded;
mod feed;
mod frame;
mod later;
mod meet;
mod moved;
#[cfg(test)]
mod tests;
mod turn;

use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::base::{Name, Time};
use crate::crew::{Agenda, Class, Crew, Due};
use crate::storage::{Node, Volume};

use super::Live;
use super::port::Port;
use begun::Begun;
use feed::{Feed, Operands};
use later::Later;

pub use engine::Tell;
pub use excluded::{Against, Excluded, Place, Places, Reading};
pub use meet::IS_ROOT;

pub(super) use engine::{Counts, Engine, How, Met, Spares, Task};
pub(super) use frame::Root;

/// Tasks of work that wait while listings rest, for each call that may be in flight: listings are resumed before lanes run dry.
const LOW_WATER: usize = 4;
/// And at least.
const LOW_WATER_MIN: usize = 256;

/// What to remove and how.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What is left alone. A directory that is excluded is not entered.
    pub excluded: Excluded,
    /// Only what was modified before; a directory only when it was so itself and nothing is left in it.
    pub older_than: Option<Time>,
    /// Directories of other file systems are left alone.
    pub one_file_system: bool,
    /// An operand of another file system than the directory it is in is refused, unless it is only emptied.
    pub mounts_stay: bool,
    /// And then, too. Only with `mounts_stay`.
    pub same_device: bool,
    /// The file system and file id of a directory that is refused as an operand, and wherever else attributes are asked for, by
    /// whatever way it is reached: `host_root` of a volume of this host.
    pub host_root: Option<(u64, u64)>,
    /// A directory is removed only when it is empty (`-d`); false removes trees.
    pub empty_only: bool,
    /// What is not there is no failure (`-f`).
    pub force: bool,
    /// Nothing is removed, and storage may forget what would have been.
    pub rehearsal: bool,
}

/// One tree or object to remove.
#[derive(Clone, Debug)]
pub struct Operand {
    /// The directory that it is in.
    pub dir: Node,
    /// The way to it below `dir`; symbolic links on the way are not followed. Empty: `dir` itself, of which then only the
    /// contents are removed.
    pub way: Vec<Name>,
    /// As the user typed it, for messages.
    pub shown: Vec<u8>,
    /// Remove what is in it and keep it.
    pub contents: bool,
    /// It is the root of a file system: a `.snapshot` in it is left alone.
    pub fs_root: bool,
    /// The file system of `dir`, where the caller has just asked for it; else the job does, once for operands that follow each other.
    pub dir_fsid: Option<u64>,
    /// It was written with a slash behind it: refused unless it is a directory.
    pub must_be_dir: bool,
}

/// What came of a removal. Failures are in the crew's report.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Objects removed that are no directories.
    pub files: u64,
    /// Directories removed.
    pub dirs: u64,
    /// Objects left alone because the options say so.
    pub kept: u64,
    /// Directories that were listed again because something was left in them, or because a cookie was stale.
    pub relisted: u64,
    /// Names like `.nfs0000...`: files that some client still has open, which could not be removed or were there again; the first ones.
    pub leftovers: Vec<Vec<u8>>,
    /// The most tasks that waited at once: what memory was used for.
    pub waited_most: usize,
    /// Wall time.
    pub elapsed: Duration,
    /// What was odd.
    pub warnings: Vec<String>,
    /// Why not all was done, when the run was stopped.
    pub stopped: Option<String>,
}

/// What waits in the agenda.
enum Waiting {
    Operands,
    Tree(Task<()>),
}

impl Waiting {
    /// The directory that a name is removed from.
    fn place(&self) -> Option<u64> {
        match self {
            Waiting::Tree(task) => task.place(),
            Waiting::Operands => None,
        }
    }
}

/// Removes what the operands name. `tell` hears of each object that was removed, from several threads at once; without it their
/// paths are not built.
pub fn remove(
    volume: &Volume,
    operands: Operands<'_>,
    options: &Options,
    crew: &Crew,
    live: &Live,
    tell: Option<&Tell<'_>>,
) -> Summary {
    run(volume, operands, options, crew, live, tell).0
}

/// The same; also the most tasks that waited at once.
fn run(
    volume: &Volume,
    operands: Operands<'_>,
    options: &Options,
    crew: &Crew,
    live: &Live,
    tell: Option<&Tell<'_>>,
) -> (Summary, usize) {
    let start = Instant::now();
    let counts = Counts::default();
    let Options { older_than, one_file_system, same_device, host_root, empty_only, force, rehearsal, .. } = *options;
    let how =
        How { older_than, one_file_system, same_device, host_root, empty_only, force, rehearsal, ..How::default() };
    let allow = |shown: &[u8], path: &[u8], _| Some(!options.excluded.has(shown, path));
    let mut engine = Engine::new(Port::new(volume, crew.shape().window), how, crew, live, &counts, tell);
    if !options.excluded.is_empty() {
        engine.allow = Some(&allow);
    }
    let begun = Begun::new(!options.empty_only);
    engine.begun = Some(&begun);
    let feed = Feed::new(operands);
    let take_max = engine.take_max();
    let low_water = (LOW_WATER * crew.shape().lanes * take_max).max(LOW_WATER_MIN);
    let agenda = match engine.is_apart() {
        true => Agenda::new(crew, low_water).apart(Waiting::place, 1),
        false => Agenda::new(crew, low_water),
    };
    let operands = || Due { class: Class::List, depth: 0, task: Waiting::Operands };
    let tree = |Due { class, depth, task }: Due<Task<()>>| Due { class, depth, task: Waiting::Tree(task) };
    let step = |class, seat, tasks: &mut Vec<Waiting>, due: &mut Vec<Due<Waiting>>| {
        let (mut trees, mut led_to, mut finished) = (Vec::with_capacity(tasks.len()), Vec::new(), Vec::new());
        for task in tasks.drain(..) {
            match task {
                Waiting::Tree(task) => trees.push(task),
                Waiting::Operands => {
                    let pauses = engine.later.as_ref().is_some_and(Later::pauses_list);
                    if !pauses && feed.next(&engine, options, &mut led_to, &mut finished) {
                        due.push(operands());
                    }
                }
            }
        }
        let early = |next: &mut Vec<Due<Task<()>>>| {
            if agenda.is_waited_at() {
                agenda.add(next.drain(..).map(tree));
            }
        };
        engine.step((class, seat), &mut trees, &mut led_to, &mut finished, &early);
        due.extend(led_to.into_iter().map(tree));
    };
    let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    agenda.add([operands()]);
    let left = loop {
        let left = agenda.run(crew, take_max, step);
        let Some(later) = &engine.later else { break left };
        if left > 0 || crew.stop().is_set() {
            break left + later.waiting() + usize::from(later.resumes_list());
        }
        let again = later.tries(get(&counts.files) + get(&counts.dirs));
        if !again.is_empty() {
            agenda.add(again.into_iter().map(tree));
        } else if later.resumes_list() {
            agenda.add([operands()]);
        } else {
            break 0;
        }
    };
    drop(engine);
    (summary(counts, options, left, start.elapsed(), agenda.most()), agenda.most())
}

/// What came of a run that left so many tasks undone.
fn summary(counts: Counts, options: &Options, left: usize, elapsed: Duration, waited_most: usize) -> Summary {
    let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let (files, dirs) = (get(&counts.files), get(&counts.dirs));
    let lost = counts.lost.load(Ordering::Relaxed);
    let why = if lost { "no mount target is left that answers" } else { "interrupted" };
    // What a directory loses makes it young.
    let young = if options.older_than.is_some() { ", but for directories that it made young by that" } else { "" };
    let stopped =
        format!("{why}: {files} files and {dirs} directories were removed; the same command removes the rest{young}");
    let warnings = counts.take_warnings();
    Summary {
        files,
        dirs,
        kept: get(&counts.kept),
        relisted: get(&counts.relisted),
        leftovers: counts.leftovers.into_inner().unwrap_or_else(PoisonError::into_inner),
        waited_most,
        elapsed,
        warnings,
        stopped: (left > 0 || lost).then_some(stopped),
    }
}
