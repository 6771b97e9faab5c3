//! Files that several lanes write, each its ranges: whoever comes first makes the file, whoever ends last finishes it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::archive::ReadAt;
use crate::base::{Bell, Cause, Failure, Name, Proc, Status};
use crate::crew::{Permit, Ticket};
use crate::storage::{Node, Route};

use super::super::write;
use super::attributes::Extra;
use super::ctx::{Ctx, Head, Meta, Outcome};
use super::dirs::{self, Dir};
use super::finish::{self, Spoilt};
use super::leaf::{self, Made, MakeKind, Making, Shape};

/// A file in ranges.
pub(super) struct Big {
    path: Vec<u8>,
    /// As in its head.
    again: bool,
    dir: Arc<Dir>,
    name: Name,
    meta: Meta,
    extra: Option<Arc<Extra>>,
    shape: Shape,
    state: Mutex<State>,
    settled: Bell,
    /// Ranges that are not written or given up.
    left: AtomicU64,
}

struct State {
    stage: Stage,
    /// For the lane that completes it.
    head: Option<Head>,
    /// How it ended, once it cannot end well any more.
    outcome: Option<Outcome>,
}

enum Stage {
    Unmade,
    Making,
    Made(Made),
    /// `outcome` says why.
    Over,
}

/// Where a range's data comes from.
pub(super) enum Source {
    /// The producer read it.
    Held(Vec<u8>),
    /// The lane reads it: input, offset in it, bytes.
    At(Arc<dyn ReadAt>, u64, usize),
}

/// Some of a big file's stored data.
pub(super) struct Range {
    pub big: Arc<Big>,
    /// Where it begins in the stored data.
    pub start: u64,
    pub source: Source,
    pub permit: Permit,
}

impl Big {
    pub fn new(
        head: Head,
        dir: Arc<Dir>,
        name: Name,
        (meta, extra): (Meta, Option<Arc<Extra>>),
        shape: Shape,
        ranges: u64,
    ) -> Big {
        let (path, again) = (head.path.clone(), head.again);
        let state = State { stage: Stage::Unmade, head: Some(head), outcome: None };
        let (state, settled, left) = (Mutex::new(state), Bell::default(), AtomicU64::new(ranges));
        Big { path, again, dir, name, meta, extra, shape, state, settled, left }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds a file's stage")
    }

    /// Ends it with `outcome`, unless it has ended before.
    pub fn end(&self, outcome: Outcome) {
        self.state().outcome.get_or_insert(outcome);
    }

    /// The run was stopped. A file that is there but incomplete is told by name.
    pub fn stop(&self) {
        let state = &mut *self.state();
        let begun = matches!(state.stage, Stage::Made(_) | Stage::Making);
        state.outcome.get_or_insert_with(|| match begun {
            true => Outcome::Failed(Failure::call(&self.path, Proc::Write, Status::Cancelled)),
            false => Outcome::Undone,
        });
    }

    /// The member's path.
    pub fn path(&self) -> &[u8] {
        &self.path
    }

    /// True once it cannot end well any more, or need not.
    pub fn is_over(&self) -> bool {
        self.state().outcome.is_some()
    }

    fn making<'a>(&'a self, parent: &'a Node) -> Making<'a> {
        let kind = MakeKind::File;
        Making { path: &self.path, parent, name: &self.name, meta: self.meta, extra: self.extra.as_ref(), kind }
    }

    /// The file's node; the first lane makes it, the others wait for that. None when it is over.
    fn node(&self, ctx: &Ctx<'_>, route: Route) -> Option<Node> {
        {
            let mut state = self.state();
            while matches!(state.stage, Stage::Making) {
                state = self.settled.wait(state).expect("nothing panics while it holds a file's stage");
            }
            match &state.stage {
                Stage::Made(made) => return Some(made.node.clone()).filter(|_| state.outcome.is_none()),
                Stage::Over => return None,
                // A range that was stopped first has said that nothing is begun.
                Stage::Unmade if state.outcome.is_some() => return None,
                Stage::Unmade | Stage::Making => state.stage = Stage::Making,
            }
        }
        let mut settle = Settle { big: self, result: None };
        settle.result = Some(self.make(ctx, route));
        drop(settle);
        self.node(ctx, route)
    }

    fn make(&self, ctx: &Ctx<'_>, route: Route) -> Result<Made, Outcome> {
        dirs::ensure(ctx, route, vec![&self.dir]);
        let parent = self.dir.result().map_err(|why| Outcome::Failed(why.of_member(&self.path)))?;
        if ctx.options.resume
            && !self.again
            && let Ok((_, attr)) = ctx.look_up(route, &parent, &self.name)
            && leaf::is_complete(ctx, &attr, self.shape.size, self.meta.mtime)
        {
            return Err(Outcome::Skipped);
        }
        let making = self.making(&parent);
        let gives = making.gives(ctx);
        let mut call = ctx.one(route, making.call(gives));
        let made = making.settle(ctx, route, &mut call, gives)?;
        self.dir.fill();
        Ok(made)
    }

    /// True if one of its ranges could not be written, or not be read from the archive: ranges are written in any order, and there may
    /// be holes before those that are there. What was stopped is told as not complete, and written over by the next run, unless that
    /// leaves it.
    fn lacks_data(&self, stays: bool) -> bool {
        match &self.state().outcome {
            Some(Outcome::Failed(Failure { cause, .. })) => match cause {
                Cause::Call(Proc::Write | Proc::Commit, status) => stays || *status != Status::Cancelled,
                Cause::Call(..) => false,
                Cause::Refused(_) => true,
            },
            _ => false,
        }
    }

    /// What becomes of it when it is not whole.
    fn spoil(&self, ctx: &Ctx<'_>, route: Route) {
        let Some(parent) = self.dir.made() else { return };
        let (node, existed) = match &self.state().stage {
            Stage::Made(made) => (made.node.clone(), made.existed),
            Stage::Unmade | Stage::Making | Stage::Over => return,
        };
        let file = Spoilt { node, parent: &parent, name: &self.name, existed, is_plain: false };
        let left = finish::spoilt(ctx, route, &[file]).into_iter().flatten().next();
        let mut state = self.state();
        let Some(Outcome::Failed(failure)) = &mut state.outcome else { return };
        match left {
            Some(left) => {
                // Told as a failure, it is no more one that was only stopped.
                ctx.front().gap |= failure.is_cancelled();
                *failure = finish::left_over(&self.path, &failure.cause, left);
            }
            // Nothing is there of it.
            None if failure.is_cancelled() => state.outcome = Some(Outcome::Undone),
            None => {}
        }
    }

    /// Counts off ranges; the last one completes the file.
    pub fn landed(&self, ctx: &Ctx<'_>, route: Route, ranges: u64) {
        if self.left.fetch_sub(ranges, Ordering::AcqRel) != ranges {
            return;
        }
        if self.lacks_data(ctx.options.existing.stays()) {
            self.spoil(ctx, route);
        }
        let (finish, mut owner_refused) = {
            let state = self.state();
            match (&state.stage, &state.outcome, self.dir.made()) {
                (Stage::Made(made), None, Some(parent)) => {
                    (self.making(&parent).finish(made, Some(&self.shape)), made.owner_refused)
                }
                _ => (None, false),
            }
        };
        for finished in finish::all(ctx, route, finish.as_slice()) {
            match finished {
                Ok(refused) => owner_refused |= refused,
                Err(cause) => {
                    let is_cut = finish.as_ref().is_some_and(|due| finish::is_cut(ctx, due, &cause));
                    self.end(finish::ended(&self.path, cause));
                    if is_cut {
                        self.spoil(ctx, route);
                    }
                }
            }
        }
        if owner_refused {
            self.end(Outcome::Lacking(finish::owner_refused(&self.path)));
        }
        let (head, outcome) = {
            let mut state = self.state();
            (state.head.take(), state.outcome.take())
        };
        if let Some(head) = head {
            ctx.complete(head, outcome.unwrap_or(Outcome::Done));
        }
    }
}

/// Says how making the file ended, also when it panicked, so that nobody waits for ever.
struct Settle<'a> {
    big: &'a Big,
    result: Option<Result<Made, Outcome>>,
}

impl Drop for Settle<'_> {
    fn drop(&mut self) {
        let Ok(mut state) = self.big.state.lock() else { return };
        state.stage = match self.result.take() {
            Some(Ok(made)) => Stage::Made(made),
            Some(Err(outcome)) => {
                state.outcome.get_or_insert(outcome);
                Stage::Over
            }
            None => Stage::Over,
        };
        self.big.settled.ring(state);
    }
}

/// Writes one range.
pub(super) fn run(ctx: &Ctx<'_>, range: Range, ticket: Ticket<'_>) {
    let Range { big, start, source, permit } = range;
    let route = ctx.volume.route();
    // Before it waits for the file to be made, as lanes with its other ranges do.
    let promise = ctx.volume.promise(route, |list| list.price(Proc::Write, source.len()));
    if ctx.stop().is_set() {
        big.stop();
    } else if let Some(node) = big.node(ctx, route) {
        // The ranges of a file with holes end anywhere: two mounts would write into one page (`Volume::page_bytes`).
        let route = if big.shape.segments.is_some() { ctx.volume.route_of(&node, route) } else { route };
        match source.read() {
            Err(reason) => big.end(Outcome::Failed(Failure::refused(&big.path, reason))),
            Ok(data) => {
                let chunks = write::chunks(&data, start, big.shape.segments.as_deref(), ctx.write_max);
                if !big.is_over()
                    && let Err((proc, status)) = write::put_file(ctx.port, route, &node, &chunks)
                {
                    big.end(Outcome::Failed(Failure::call(&big.path, proc, status)));
                }
                ctx.live.bytes.fetch_add(data.len() as u64, Ordering::Relaxed);
            }
        }
    }
    drop((permit, promise));
    big.landed(ctx, route, 1);
    drop(ticket);
}

impl Source {
    /// Bytes of the range.
    fn len(&self) -> u64 {
        match self {
            Source::Held(data) => data.len() as u64,
            Source::At(.., len) => *len as u64,
        }
    }

    fn read(self) -> Result<Vec<u8>, String> {
        let (input, offset, len) = match self {
            Source::Held(data) => return Ok(data),
            Source::At(input, offset, len) => (input, offset, len),
        };
        let mut data = vec![0; len];
        let mut got = 0;
        while got < len {
            match input.read_at(offset + got as u64, &mut data[got..]) {
                Ok(0) => return Err("Unexpected EOF in archive; the file is incomplete".into()),
                Ok(n) => got += n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(format!("cannot read the archive: {e}")),
            }
        }
        Ok(data)
    }
}
