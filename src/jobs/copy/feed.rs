//! Names from a list: each is looked up below the source's root and becomes a task; the directories on its way are made
//! where they are not. Of those only the ones on the way to the last name are held.

use std::sync::{Arc, Mutex};

use crate::base::{Failure, Name, Status};
use crate::crew::Due;
use crate::storage::{Call, Kind};

use super::ctx::{Ctx, On, Trouble, add};
use super::dir::Dir;
use super::enter;
use super::task::{At, Object, Task};

/// Names taken at once.
const NAMES: usize = 64;

/// The list and the way to its last name.
pub(super) struct Feed<'a> {
    names: Mutex<Option<State<'a>>>,
}

struct State<'a> {
    list: &'a mut (dyn Iterator<Item = Result<Vec<u8>, String>> + Send),
    root: Arc<Dir>,
    way: Vec<(Name, Arc<Dir>)>,
    /// The last path taken: what is below it is copied with it.
    last: Vec<Name>,
}

impl<'a> Feed<'a> {
    /// A list of names below `root`, which stays open until it ends.
    pub fn new(list: &'a mut (dyn Iterator<Item = Result<Vec<u8>, String>> + Send), root: Arc<Dir>) -> Feed<'a> {
        Feed { names: Mutex::new(Some(State { list, root, way: Vec::new(), last: Vec::new() })) }
    }

    /// Takes some names.
    pub fn run(&self, ctx: &Ctx<'_>, due: &mut Vec<Due<Task>>) {
        let mut names = self.names.lock().expect("nothing panics while it holds the list");
        let Some(state) = &mut *names else { return };
        for _ in 0..NAMES {
            match state.list.next() {
                Some(Ok(path)) => state.name(ctx, &path, due),
                Some(Err(error)) => {
                    ctx.crew.report().add(Failure::refused(b"", error));
                    ctx.source_failed.store(true, std::sync::atomic::Ordering::Relaxed);
                    break;
                }
                None => {
                    state.leave(0, due);
                    state.root.leave(due);
                    *names = None;
                    return;
                }
            }
        }
        due.push(Task::Feed.due());
    }
}

impl State<'_> {
    /// Leaves the directories of the way beyond the first `keep`.
    fn leave(&mut self, keep: usize, due: &mut Vec<Due<Task>>) {
        while self.way.len() > keep {
            if let Some((_, dir)) = self.way.pop() {
                dir.leave(due);
            }
        }
    }

    fn name(&mut self, ctx: &Ctx<'_>, path: &[u8], due: &mut Vec<Due<Task>>) {
        let parts = path.split(|b| *b == b'/').filter(|part| !part.is_empty() && *part != b".");
        let names: Result<Vec<Name>, _> = parts.map(Name::new).collect();
        let names = match names {
            Ok(names) => names,
            Err(bad) => return ctx.crew.report().add(Failure::refused(path, bad.to_string())),
        };
        let Some((last, way)) = names.split_last() else {
            let reason = "names the source itself, which is copied whole without a list";
            return ctx.crew.report().add(Failure::refused(path, reason));
        };
        // As find lists them: a directory, then what is in it.
        if !self.last.is_empty() && names.starts_with(&self.last) {
            return;
        }
        self.last.clone_from(&names);
        let same = self.way.iter().zip(way).take_while(|((a, _), b)| a == *b).count();
        self.leave(same, due);
        for name in &way[same..] {
            let parent = self.way.last().map_or(&self.root, |(_, dir)| dir).clone();
            // Nothing below a directory that is left out is met.
            if !ctx.allows(On::Source, &parent, name, Some(Kind::Dir)) {
                return add(&ctx.counts.left_out, 1);
            }
            match enter_way(ctx, &parent, name, due) {
                Some(dir) => self.way.push((name.clone(), dir)),
                None => return,
            }
        }
        let dir = self.way.last().map_or(&self.root, |(_, dir)| dir);
        if !ctx.allows(On::Source, dir, last, None) || ctx.is_snapshot(On::Source, dir, last) {
            return add(&ctx.counts.left_out, 1);
        }
        dir.hold(1);
        due.push(Task::Object(Object::new(dir, last.clone(), None, At::Ask)).due());
    }
}

/// A directory on the way to a name.
fn enter_way(ctx: &Ctx<'_>, parent: &Arc<Dir>, name: &Name, due: &mut Vec<Due<Task>>) -> Option<Arc<Dir>> {
    let route = ctx.source.route();
    let lookup = ctx.source.one(route, Call::lookup(&parent.source, name));
    match ctx.source.found(route, &lookup) {
        Ok((node, attr)) if attr.kind == Kind::Dir => {
            let dir = Arc::new(Dir::child(parent, name, node, attr, At::Ask, true));
            enter::run(ctx, ctx.target.route(), vec![dir], due).pop()
        }
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
