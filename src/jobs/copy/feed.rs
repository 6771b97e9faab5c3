//! Names from a list: each is looked up below the source's root and becomes a task; the directories on its way are made
//! where they are not.
//!
//! A list may name one object twice, and a directory before or after what is in it. Nothing is under way twice at once: what
//! is named, or is below a name, since the list last waited is left to that name; a directory that names led through is put off
//! until all that was begun is over, and what is met in it once more is equal by then. What is remembered for that is bounded:
//! when it is full the list waits, and goes on with nothing remembered.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::base::{Failure, Name, Status};
use crate::crew::Due;
use crate::storage::{Attr, Kind, Node};

use super::ctx::{Ctx, On, Trouble, add};
use super::dir::Dir;
use super::enter;
use super::task::{At, Object, Task};

/// Names taken at once.
const NAMES: usize = 64;

/// Names remembered at most, some 20 bytes each.
const BEGUN_MAX: usize = 1 << 16;

/// Directories held open at most, some 1000 bytes each.
const WAYS_MAX: usize = 1 << 12;

/// Bytes of names put off at most.
const LATER_BYTES_MAX: usize = 4 << 20;

/// The list, and what of it is under way.
pub(super) struct Feed<'a> {
    names: Mutex<Option<State<'a>>>,
}

type List<'a> = &'a mut (dyn Iterator<Item = Result<Vec<u8>, String>> + Send);

struct State<'a> {
    /// None: it has ended.
    list: Option<List<'a>>,
    root: Arc<Dir>,
    /// The directories on the way to names, by their paths; each is entered once and held open.
    ways: HashMap<Vec<u8>, Arc<Dir>>,
    begun: Begun,
    /// Directories on those ways that were named themselves; none is below another.
    later: BTreeSet<Vec<u8>>,
    later_bytes: usize,
    /// What was put off and can begin.
    ready: BTreeSet<Vec<u8>>,
    /// Goes on when nothing is open in the root.
    waits: bool,
    /// The source itself was named; and something in it.
    itself: bool,
    within: bool,
}

/// Of a list that names the source and nothing in it: it may be that of a `find` in an empty one, so it is no error.
const ITSELF: &str =
    "the list names the source itself and nothing in it: nothing is copied. Name what is in it, or give no list";

/// The names that were begun, by 128 bits that no list can be made to collide in.
#[derive(Default)]
struct Begun {
    /// True for what was seen to be a directory.
    keys: HashMap<(u64, u64), bool>,
    hashes: (RandomState, RandomState),
}

impl Begun {
    fn key(&self, path: &[u8]) -> (u64, u64) {
        (self.hashes.0.hash_one(path), self.hashes.1.hash_one(path))
    }
}

impl<'a> Feed<'a> {
    /// A list of names below `root`, which stays open until it ends or waits.
    pub fn new(list: List<'a>, root: Arc<Dir>) -> Feed<'a> {
        let (ways, begun) = (HashMap::new(), Begun::default());
        let (later, ready) = (BTreeSet::new(), BTreeSet::new());
        let (waits, itself, within) = (false, false, false);
        let state = State { list: Some(list), root, ways, begun, later, later_bytes: 0, ready, waits, itself, within };
        Feed { names: Mutex::new(Some(state)) }
    }

    fn state(&self) -> MutexGuard<'_, Option<State<'a>>> {
        self.names.lock().expect("nothing panics while it holds the list")
    }

    /// Takes some names.
    pub fn run(&self, ctx: &Ctx<'_>, due: &mut Vec<Due<Task>>) {
        let mut names = self.state();
        let Some(state) = &mut *names else { return };
        for _ in 0..NAMES {
            if state.is_full() {
                return state.wait(due);
            }
            match state.next() {
                Some(Ok(path)) => state.name(ctx, &path, due),
                Some(Err(error)) => {
                    ctx.crew.report().add(Failure::refused(b"", error));
                    ctx.source_failed.store(true, std::sync::atomic::Ordering::Relaxed);
                    break;
                }
                None if !state.later.is_empty() => return state.wait(due),
                None => {
                    if state.itself && !state.within {
                        ctx.warn_once("list of itself", || ITSELF.into());
                    }
                    state.leave(due);
                    *names = None;
                    return;
                }
            }
        }
        due.push(Task::Feed.due());
    }

    /// Nothing is open in `dir`: true when the list has waited for that and goes on.
    pub fn goes_on(&self, dir: &Arc<Dir>) -> bool {
        // The list is not waited for by the lanes that finish other directories.
        if !dir.is_root() {
            return false;
        }
        let mut names = self.state();
        let Some(state) = names.as_mut().filter(|state| state.waits && Arc::ptr_eq(&state.root, dir)) else {
            return false;
        };
        state.waits = false;
        state.root.hold(1);
        state.ready.append(&mut state.later);
        state.later_bytes = 0;
        true
    }
}

/// A path and the paths of the directories that lead to it, the shortest first.
fn prefixes(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(at, _)| at);
    slashes.chain([path.len()]).map(|end| &path[..end])
}

impl State<'_> {
    fn next(&mut self) -> Option<Result<Vec<u8>, String>> {
        if let Some(path) = self.ready.pop_first() {
            return Some(Ok(path));
        }
        let next = self.list.as_mut()?.next();
        if next.is_none() {
            self.list = None;
        }
        next
    }

    fn is_full(&self) -> bool {
        self.begun.keys.len() >= BEGUN_MAX || self.ways.len() >= WAYS_MAX || self.later_bytes >= LATER_BYTES_MAX
    }

    /// Holds nothing open any more.
    fn leave(&mut self, due: &mut Vec<Due<Task>>) {
        self.ways.drain().for_each(|(_, dir)| dir.leave(due));
        self.root.leave(due);
    }

    /// Lets all that was begun end before the next name is taken.
    fn wait(&mut self, due: &mut Vec<Due<Task>>) {
        self.begun.keys.clear();
        self.waits = true;
        self.leave(due);
    }

    fn name(&mut self, ctx: &Ctx<'_>, path: &[u8], due: &mut Vec<Due<Task>>) {
        let parts = path.split(|b| *b == b'/').filter(|part| !part.is_empty() && *part != b".");
        let names: Result<Vec<Name>, _> = parts.map(Name::new).collect();
        let names = match names {
            Ok(names) => names,
            Err(bad) => return ctx.crew.report().add(Failure::refused(path, bad.to_string())),
        };
        // What find lists first: the source itself, which is there. What is in it is named as well.
        let Some((last, way)) = names.split_last() else {
            self.itself = true;
            return;
        };
        self.within = true;
        let path = names.iter().map(Name::as_bytes).collect::<Vec<_>>().join(&b'/');
        let is_snapshot = |on| ctx.is_snapshot(on, &self.root, &names[0]);
        let rules = &ctx.options.rules;
        // Nothing below a directory that is left out is met.
        let leaves_way = || prefixes(&path).take(way.len()).any(|path| !rules.allow(path).dir);
        let excluded = || !rules.is_empty() && (leaves_way() || rules.allow(&path).of(None) == Some(false));
        if is_snapshot(On::Source) || is_snapshot(On::Target) || excluded() {
            return add(&ctx.counts.left_out, 1);
        }
        let begun = |path: &[u8]| self.begun.keys.contains_key(&self.begun.key(path));
        if let Some(at) = prefixes(&path).position(|path| begun(path) || self.later.contains(path)) {
            return if at < way.len() {
                self.leave_to(ctx, &names[..=at])
            };
        }
        if self.ways.contains_key(&path) {
            return self.put_off(path);
        }
        self.begun.keys.insert(self.begun.key(&path), false);
        let mut dir = self.root.clone();
        for (at, path) in prefixes(&path).take(way.len()).enumerate() {
            if let Some(known) = self.ways.get(path) {
                dir = known.clone();
                continue;
            }
            match enter_way(ctx, &dir, &names[at..], due) {
                Some(entered) => dir = entered,
                None => return,
            }
            self.ways.insert(path.to_vec(), dir.clone());
        }
        if !ctx.allows(On::Source, &dir, last, None) {
            return add(&ctx.counts.left_out, 1);
        }
        dir.hold(1);
        due.push(Task::Object(Object::new(&dir, last.clone(), None, At::Ask)).due());
    }

    /// What is below a name that was begun is copied with it, if that is a directory; nothing is copied through a link.
    fn leave_to(&mut self, ctx: &Ctx<'_>, begun: &[Name]) {
        let Some((last, way)) = begun.split_last() else { return };
        let join = |names: &[Name]| names.iter().map(Name::as_bytes).collect::<Vec<_>>().join(&b'/');
        let Some(is_dir) = self.begun.keys.get_mut(&self.begun.key(&join(begun))) else { return };
        if *is_dir {
            return;
        }
        let parent = if way.is_empty() { Some(&self.root) } else { self.ways.get(&join(way)) };
        *is_dir = parent.is_none_or(|parent| look_up_way(ctx, parent, last).is_some());
    }

    /// A directory that is to be copied whole when what was begun in it is over; with it, what was put off in it.
    fn put_off(&mut self, path: Vec<u8>) {
        // '0' is the byte behind '/'.
        let (first, end) = ([&path[..], b"/"].concat(), [&path[..], b"0"].concat());
        let below: Vec<Vec<u8>> = self.later.range(first..end).cloned().collect();
        for path in below {
            self.later_bytes -= path.len();
            self.later.remove(&path);
        }
        self.later_bytes += path.len();
        self.later.insert(path);
    }
}

/// The first of these names, a directory on the way to the last. What is no directory at the destination makes way for it only where that one is
/// in the source.
fn enter_way(ctx: &Ctx<'_>, parent: &Arc<Dir>, names: &[Name], due: &mut Vec<Due<Task>>) -> Option<Arc<Dir>> {
    let (name, rest) = names.split_first()?;
    let (node, attr) = look_up_way(ctx, parent, name)?;
    let route = ctx.target.route();
    let at = match ctx.target.look_up(route, &parent.made().node, name) {
        Ok((node, attr)) => At::Present(Some(node), attr),
        Err((_, Status::NoEnt)) => At::Absent,
        Err(_) => At::Ask, // which tells it
    };
    let is_in_the_way = matches!(&at, At::Present(_, is) if is.kind != Kind::Dir) && !ctx.compares();
    let dir = Arc::new(Dir::child(parent, name, node, attr, at, true));
    if is_in_the_way && !leads_on(ctx, &dir, rest, due) {
        dir.break_off();
        dir.leave(due);
        return None;
    }
    enter::run(ctx, route, vec![dir], due).pop()
}

/// Do these names lead from a directory to something, in the source? Where they do not is told.
fn leads_on(ctx: &Ctx<'_>, dir: &Arc<Dir>, names: &[Name], due: &mut Vec<Due<Task>>) -> bool {
    let Some((name, rest)) = names.split_first() else { return true };
    if rest.is_empty() {
        let found = ctx.source.look_up(ctx.source.route(), &dir.source, name);
        found.as_ref().err().into_iter().for_each(|(proc, status)| {
            ctx.fail(dir, Some(name), Trouble::Call(On::Source, *proc, *status));
        });
        return found.is_ok();
    }
    let Some((node, attr)) = look_up_way(ctx, dir, name) else { return false };
    let below = Arc::new(Dir::child(dir, name, node, attr, At::Absent, true));
    let leads = leads_on(ctx, &below, rest, due);
    below.break_off();
    below.leave(due);
    leads
}

/// A directory on the way to a name, in the source; what is none is told.
fn look_up_way(ctx: &Ctx<'_>, parent: &Arc<Dir>, name: &Name) -> Option<(Node, Attr)> {
    let route = ctx.source.route();
    match ctx.source.look_up(route, &parent.source, name) {
        Ok((node, attr)) if attr.kind == Kind::Dir => Some((node, attr)),
        Ok(_) => {
            ctx.fail(parent, Some(name), Trouble::Call(On::Source, crate::base::Proc::Lookup, Status::NotDir));
            None
        }
        Err((proc, status)) => {
            ctx.fail(parent, Some(name), Trouble::Call(On::Source, proc, status));
            None
        }
    }
}
