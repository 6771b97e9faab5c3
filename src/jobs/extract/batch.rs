//! A batch of small members in one lane: directories, then a window of CREATEs, of WRITEs, of SETATTRs.

use std::collections::HashMap;
use std::mem;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::base::{Cause, Failure, PriceList, Proc, Status};
use crate::crew::{Permit, Places, Ticket};
use crate::storage::{Call, Kind, Node, Op, Route, Stable};

use super::super::write::{self, Put};
use super::ctx::{Ctx, Outcome};
use super::dirs::{self, Dir, Why};
use super::finish::{self, Spoilt};
use super::leaf::{self, Leaf, Made, MakeKind, Making, What};

/// A leaf in work, then what it became.
struct Work<'l> {
    leaf: &'l Leaf,
    dir: &'l Arc<Dir>,
    made: Option<Made>,
    outcome: Option<Outcome>,
}

impl<'l> Work<'l> {
    /// What it is made in, of what the batch's directories became.
    fn parent<'p>(&self, parents: &'p Parents) -> Option<&'p Node> {
        parents[self.leaf.dir].as_ref().filter(|_| self.outcome.is_none())
    }

    /// How to make it, unless its outcome is known or it is a directory.
    fn making<'m>(&self, parents: &'m Parents) -> Option<Making<'m>>
    where
        'l: 'm,
    {
        let leaf = self.leaf;
        let kind = match &leaf.what {
            What::File { .. } => MakeKind::File,
            What::Symlink(target) => MakeKind::Symlink(target),
            What::Special(special) => MakeKind::Special(*special),
            What::Dir => return None,
        };
        let parent = self.parent(parents)?;
        Some(Making {
            path: &leaf.head.path,
            parent,
            name: &leaf.name,
            meta: leaf.meta,
            extra: leaf.extra.as_ref(),
            kind,
        })
    }

    fn chunks(&self, write_max: usize) -> Option<(&Node, Vec<write::Chunk<'_>>)> {
        let made = self.made.as_ref().filter(|_| self.outcome.is_none())?;
        let What::File { data, shape } = &self.leaf.what else { return None };
        Some((&made.node, write::chunks(data, 0, shape.segments.as_deref(), write_max)))
    }
}

/// Members that one lane makes.
#[derive(Default)]
pub(super) struct Batch {
    pub leaves: Vec<Leaf>,
    /// What they are in, each once in a row: lanes and the producer would fight for a count that each leaf has a part in.
    pub dirs: Vec<Arc<Dir>>,
    /// For the bytes they hold: one for all, since it is given back under a lock.
    pub permit: Option<Permit>,
    /// Bytes of the permit that nothing needs yet.
    pub room: u64,
}

impl Batch {
    /// The directory's place among the batch's.
    pub fn enter(&mut self, dir: &Arc<Dir>) -> usize {
        if self.dirs.last().is_none_or(|last| !Arc::ptr_eq(last, dir)) {
            self.dirs.push(dir.clone());
        }
        self.dirs.len() - 1
    }
}

type Apart = Mutex<Places<Batch>>;

/// The batch's directories, as far as they are there.
type Parents = [Option<Node>];

fn places(apart: &Apart) -> MutexGuard<'_, Places<Batch>> {
    apart.lock().expect("nothing panics while it holds the batches")
}

/// Puts a batch of the directory `dir` among those that wait.
pub(super) fn wait(apart: &Apart, dir: u64, batch: Batch) {
    places(apart).put(dir, batch);
}

/// Runs the batch that is best run next. For each that waits one lane comes; `ticket` is for as many members as some batch has.
pub(super) fn run_next(ctx: &Ctx<'_>, apart: &Apart, ticket: Ticket<'_>) {
    let mut some = Vec::with_capacity(1);
    let Some(seat) = places(apart).take(1, &mut some) else { return };
    for batch in some {
        run(ctx, ctx.volume.route_making(seat.share, seat.slot, ctx.crew.shape().lanes), batch);
    }
    places(apart).leave(seat);
    drop(ticket);
}

/// Makes every leaf of the batch and says what became of it.
pub(super) fn run(ctx: &Ctx<'_>, route: Route, batch: Batch) {
    let Batch { mut leaves, dirs, permit, .. } = batch;
    let mut parents = vec![None; dirs.len()];
    let mut works: Vec<Work<'_>> =
        leaves.iter().map(|leaf| Work { leaf, dir: &dirs[leaf.dir], made: None, outcome: None }).collect();
    // The windows are those of batches that have one each.
    for (i, works) in works.chunks_mut(ctx.port.window).enumerate() {
        run_window(ctx, if i == 0 { route } else { ctx.volume.route() }, &mut parents, works);
    }
    // Of most there is nothing to be said.
    let said = works.iter_mut().enumerate().filter(|(_, work)| work.outcome.is_some());
    let said: Vec<(usize, Outcome)> = said.filter_map(|(i, work)| Some((i, work.outcome.take()?))).collect();
    drop(works);
    // The data goes before the permit for it.
    leaves.iter_mut().for_each(|leaf| (leaf.what, leaf.extra) = (What::Dir, None));
    drop(permit);
    let mut said = said.into_iter().peekable();
    ctx.complete_all(leaves.iter_mut().enumerate().map(|(i, leaf)| {
        let outcome = said.next_if(|(at, _)| *at == i).map_or(Outcome::Done, |(_, outcome)| outcome);
        (mem::take(&mut leaf.head), outcome)
    }));
}

fn run_window(ctx: &Ctx<'_>, route: Route, parents: &mut Parents, works: &mut [Work<'_>]) {
    if ctx.stop().is_set() {
        works.iter_mut().for_each(|w| w.outcome = Some(Outcome::Undone));
    } else {
        let _promise = ctx.volume.promise(route, |list| works.iter().map(|work| price(list, work.leaf)).sum());
        enter_dirs(ctx, route, parents, works);
        if ctx.options.resume {
            skip_complete(ctx, route, parents, works);
        }
        make(ctx, route, parents, works);
        write(ctx, route, parents, works);
        finish(ctx, route, parents, works);
    }
}

/// What making a member takes, about.
fn price(list: &PriceList, leaf: &Leaf) -> u64 {
    let making = list.price(Proc::Create, 0) + list.price(Proc::SetAttr, 0);
    match &leaf.what {
        What::File { data, .. } => making + list.price(Proc::Write, data.len() as u64),
        _ => making,
    }
}

fn enter_dirs(ctx: &Ctx<'_>, route: Route, parents: &mut Parents, works: &mut [Work<'_>]) {
    dirs::ensure(ctx, route, works.iter().map(|work| work.dir).collect());
    for work in works {
        let (path, dir) = (&work.leaf.head.path, work.dir);
        if matches!(work.leaf.what, What::Dir) {
            work.outcome = Some(match dir.result() {
                Ok(_) => dir
                    .stays()
                    .map_or(Outcome::Done, |status| Outcome::Failed(Failure::call(path, Proc::RmDir, status))),
                Err(Why::Failed { path: failed, cause }) if *failed == dir.path() => {
                    Outcome::Failed(Failure { path: path.clone(), cause })
                }
                Err(Why::Skipped { path: skipped }) if *skipped == dir.path() => Outcome::Left,
                Err(why) => Outcome::Failed(why.of_member(path)),
            });
            continue;
        }
        let parent = &mut parents[work.leaf.dir];
        if parent.is_none() {
            match dir.result() {
                Ok(node) => *parent = Some(node),
                Err(why) => work.outcome = Some(Outcome::Failed(why.of_member(path))),
            }
        }
    }
}

/// Leaves what is there as the member is, with its time: a file of its size, a symbolic link of its text, a device of its numbers.
fn skip_complete(ctx: &Ctx<'_>, route: Route, parents: &Parents, works: &mut [Work<'_>]) {
    let of: Vec<usize> =
        (0..works.len()).filter(|&i| !works[i].leaf.head.again && works[i].making(parents).is_some()).collect();
    let mut calls: Vec<Call<'_>> =
        of.iter().filter_map(|&i| Some(Call::lookup(works[i].parent(parents)?, &works[i].leaf.name))).collect();
    ctx.perform(route, &mut calls);
    let (mut complete, mut links) = (Vec::new(), Vec::new());
    for (i, call) in of.into_iter().zip(&calls) {
        let leaf = works[i].leaf;
        // What cannot be looked up is made; if that fails too, it is reported.
        let Ok((node, attr)) = ctx.found(route, call) else { continue };
        match &leaf.what {
            What::File { shape, .. } if leaf::is_complete(ctx, &attr, shape.size, leaf.meta.mtime) => complete.push(i),
            What::Special(special) if special.is(&attr) && leaf::is_dated(ctx, &attr, leaf.meta.mtime) => {
                complete.push(i);
            }
            What::Symlink(text) if attr.kind == Kind::Symlink && leaf::is_dated(ctx, &attr, leaf.meta.mtime) => {
                links.push((i, text, node));
            }
            _ => {}
        }
    }
    let mut calls: Vec<Call<'_>> = links.iter().map(|(.., node)| Call::read_link(node)).collect();
    ctx.perform(route, &mut calls);
    let is_same = |text: &Vec<u8>, call: &Call<'_>| matches!(&call.op, Op::ReadLink { out: Ok(is), .. } if is == text);
    complete.extend(links.iter().zip(&calls).filter(|((_, text, _), call)| is_same(text, call)).map(|((i, ..), _)| *i));
    for i in complete {
        works[i].outcome = Some(Outcome::Skipped);
    }
}

fn make(ctx: &Ctx<'_>, route: Route, parents: &Parents, works: &mut [Work<'_>]) {
    let mut makings: Vec<(&mut Work<'_>, Making<'_>, bool)> = Vec::with_capacity(works.len());
    for work in works {
        if let Some(making) = work.making(parents) {
            let gives = making.gives(ctx);
            makings.push((work, making, gives));
        }
    }
    let mut calls: Vec<Call<'_>> = makings.iter().map(|(_, making, gives)| making.call(*gives)).collect();
    ctx.perform(route, &mut calls);
    for ((work, making, gives), call) in makings.into_iter().zip(&mut calls) {
        match making.settle(ctx, route, call, gives) {
            Ok(made) => {
                work.dir.fill();
                work.made = Some(made);
            }
            Err(outcome) => work.outcome = Some(outcome),
        }
    }
}

/// Files of one chunk in windows of stable writes; the others one after the other.
fn write(ctx: &Ctx<'_>, route: Route, parents: &Parents, works: &mut [Work<'_>]) {
    let mut failed: Vec<(usize, Cause)> = Vec::new();
    {
        let has_data = |work: &Work<'_>| matches!(&work.leaf.what, What::File { data, .. } if !data.is_empty());
        let files: Vec<(usize, &Node, Vec<write::Chunk<'_>>)> = works
            .iter()
            .enumerate()
            .filter(|(_, work)| has_data(work))
            .filter_map(|(i, w)| w.chunks(ctx.write_max).map(|(node, chunks)| (i, node, chunks)))
            .collect();
        let single: Vec<_> = files.iter().filter(|(.., chunks)| chunks.len() == 1).collect();
        let mut puts: Vec<Put<'_>> = single.iter().map(|(_, node, chunks)| Put::new(node, chunks[0])).collect();
        write::put_all(ctx.port, route, &mut puts, Stable::FileSync);
        let mut one_by_one: Vec<_> = files.iter().filter(|(.., chunks)| chunks.len() > 1).collect();
        for (file, put) in single.into_iter().zip(&puts) {
            match put.error {
                Some(status) => failed.push((file.0, Cause::Call(Proc::Write, status))),
                None if put.is_unstable() => one_by_one.push(file),
                None => {}
            }
        }
        for (i, node, chunks) in one_by_one {
            if let Err((proc, status)) = write::put_file(ctx.port, route, node, chunks) {
                failed.push((*i, Cause::Call(proc, status)));
            }
        }
    }
    spoil(ctx, route, parents, works, failed);
    let bytes = works.iter().filter(|w| w.outcome.is_none()).map(|w| w.leaf.head.bytes).sum();
    ctx.live.bytes.fetch_add(bytes, Ordering::Relaxed);
}

/// Files that are not whole, for these causes.
fn spoil(ctx: &Ctx<'_>, route: Route, parents: &Parents, works: &mut [Work<'_>], failed: Vec<(usize, Cause)>) {
    let spoilt = |i: usize| {
        let work = &works[i];
        let (node, chunks) = work.chunks(ctx.write_max)?;
        let parent = work.parent(parents)?;
        let existed = work.made.as_ref().is_some_and(|made| made.existed);
        // Of one chunk that failed there is nothing to be taken for the whole.
        Some(Spoilt { node: node.clone(), parent, name: &work.leaf.name, existed, is_plain: chunks.len() <= 1 })
    };
    let (of, files): (Vec<_>, Vec<_>) = failed.iter().filter_map(|(i, _)| Some((*i, spoilt(*i)?))).unzip();
    let left: HashMap<usize, Option<Status>> = of.into_iter().zip(finish::spoilt(ctx, route, &files)).collect();
    for (i, cause) in failed {
        let path = &works[i].leaf.head.path;
        let failure = match left.get(&i) {
            Some(Some(status)) => finish::left_over(path, &cause, *status),
            _ => Failure { path: path.clone(), cause },
        };
        works[i].outcome = Some(Outcome::Failed(failure));
    }
}

fn finish(ctx: &Ctx<'_>, route: Route, parents: &Parents, works: &mut [Work<'_>]) {
    let (mut of, mut dues) = (Vec::with_capacity(works.len()), Vec::with_capacity(works.len()));
    for (i, work) in works.iter().enumerate() {
        let (Some(making), Some(made)) = (work.making(parents), &work.made) else { continue };
        let shape = match &work.leaf.what {
            What::File { shape, .. } => Some(shape),
            _ => None,
        };
        if let Some(due) = making.finish(made, shape) {
            of.push(i);
            dues.push(due);
        }
    }
    let mut cut = Vec::new();
    for ((i, due), finished) in of.into_iter().zip(&dues).zip(finish::all(ctx, route, &dues)) {
        let work = &mut works[i];
        match (finished, &mut work.made) {
            (Err(cause), _) if finish::is_cut(ctx, due, &cause) => cut.push((i, cause)),
            (Err(cause), _) => work.outcome = Some(finish::ended(&work.leaf.head.path, cause)),
            (Ok(refused), Some(made)) => made.owner_refused |= refused,
            (Ok(_), None) => {}
        }
    }
    spoil(ctx, route, parents, works, cut);
    for work in works.iter_mut().filter(|w| w.outcome.is_none() && w.made.as_ref().is_some_and(|m| m.owner_refused)) {
        work.outcome = Some(Outcome::Lacking(finish::owner_refused(&work.leaf.head.path)));
    }
}
