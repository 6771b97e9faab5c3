//! What is under way: members in batches, links that wait, directories that are not finished; and the room that is made for more.

use std::sync::Arc;

use crate::jobs::extract::batch;
use crate::jobs::extract::dirs::Dir;
use crate::jobs::extract::ending::{self, Ending};
use crate::jobs::extract::leaf::Leaf;
use crate::jobs::extract::links::{self, Link, Ready};
use crate::jobs::extract::table::Table;

use super::{MEMBERS_IN_FLIGHT_MAX, Producer};

/// The same where lanes are kept apart by directories: enough for those to be many.
const MEMBERS_IN_FLIGHT_APART_MAX: usize = 16 << 10;
/// Members read beyond the first one that is not complete, and bytes of their paths: what the order of `done` costs. More than what
/// is in flight: where many directories are filled side by side, the oldest is not complete before most of the others.
const AHEAD_MAX: u64 = 64 << 10;
const AHEAD_BYTES_MAX: u64 = 64 << 20;
/// Bytes that a batch gets a permit for beyond those that it needs now: the budget is under a lock, and most members have less.
const ROOM_BYTES: u64 = 4096;
/// Hard links that wait for what is before them, and bytes of their paths.
const LINKS_MAX: usize = 4096;
const LINK_BYTES_MAX: usize = 16 << 20;
/// Bytes of extended attributes and ACLs of directories that are not finished.
const DIR_EXTRA_BYTES_MAX: u64 = 32 << 20;

impl Producer<'_, '_, '_> {
    /// Keeps all that grows with the archive within its limits.
    pub(super) fn make_room(&mut self) {
        let most = if self.ctx.apart.is_some() { MEMBERS_IN_FLIGHT_APART_MAX } else { MEMBERS_IN_FLIGHT_MAX };
        // What is under way grows only when a batch leaves.
        if std::mem::take(&mut self.has_left) && !self.ctx.flight.is_below(most) {
            self.flush();
            self.broken |= !self.ctx.flight.below(most);
        }
        let (ctx, begun) = (self.ctx, (self.next, self.path_bytes));
        let is_far = |told: (u64, u64)| begun.0 - told.0 >= AHEAD_MAX || begun.1 - told.1 >= AHEAD_BYTES_MAX;
        // What lanes write is looked at only when what was seen of it last does not do.
        if is_far(self.told) {
            self.told = ctx.told();
        }
        let is_ahead = is_far(self.told);
        let links_full = self.links.len() >= LINKS_MAX || self.link_bytes >= LINK_BYTES_MAX;
        if is_ahead && self.links.is_empty() {
            // Until the oldest is complete, not until all are: lanes would stand still.
            self.flush();
            self.broken |= !ctx.flight.until(|| !is_far(ctx.told()));
        } else if is_ahead || links_full {
            self.drain();
        }
        if self.table.len() >= self.ctx.options.dirs_max.max(1) {
            self.drain();
            let oldest = self.table.take_oldest();
            self.finish(oldest);
        }
        if self.dir_extra_bytes >= DIR_EXTRA_BYTES_MAX {
            self.drain();
            let known = self.table.take_known();
            self.finish(known);
            self.dir_extra_bytes = 0;
        }
    }

    /// Gets the batch a permit for bytes of what is put into it next, in `dir`. It has none when the run was stopped; then nothing is
    /// begun any more.
    pub(super) fn hold(&mut self, dir: &Dir, bytes: u64) {
        self.keep_apart(dir);
        if let Some(left) = self.batch.room.checked_sub(bytes) {
            self.batch.room = left;
            return;
        }
        let budget = self.ctx.crew.budget();
        let mut is_free = |bytes| match &mut self.batch.permit {
            Some(permit) => budget.try_extend(permit, bytes),
            none => {
                *none = budget.try_acquire(bytes);
                none.is_some()
            }
        };
        // Asked for once for some, where there is enough.
        let with_room = bytes + ROOM_BYTES;
        if bytes < ROOM_BYTES && with_room <= budget.total() && is_free(with_room) {
            self.batch.room += ROOM_BYTES;
        } else if !is_free(bytes) {
            // What waits in the batch holds a permit itself.
            self.flush();
            self.batch.permit = budget.acquire(bytes);
        }
    }

    /// Where lanes are kept apart, a batch is of one directory.
    fn keep_apart(&mut self, dir: &Dir) {
        if self.ctx.apart.is_some() && self.batch.dirs.last().is_some_and(|last| last.id != dir.id) {
            self.flush();
        }
    }

    /// Puts a leaf into the batch, by its directory's place there.
    pub(super) fn push(&mut self, dir: &Arc<Dir>, leaf: impl FnOnce(usize) -> Leaf) {
        self.keep_apart(dir);
        if self.batch.leaves.is_empty() {
            self.batch_max = self.ctx.batch_max();
            self.batch.leaves.reserve(self.batch_max);
        }
        let dir = self.batch.enter(dir);
        self.batch.leaves.push(leaf(dir));
        if self.batch.leaves.len() >= self.batch_max {
            self.flush();
        }
    }

    pub(super) fn flush(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        if batch.leaves.is_empty() {
            return;
        }
        self.has_left = true;
        let (ctx, ticket) = (self.ctx, self.ctx.flight.enter(batch.leaves.len()));
        match (&ctx.apart, batch.dirs.first()) {
            (Some(apart), Some(first)) => {
                batch::wait(apart, first.id, batch);
                self.scope.spawn(move |_| ctx.busy(|| batch::run_next(ctx, apart, ticket)));
            }
            _ => self.scope.spawn(move |_| {
                ctx.busy(|| batch::run(ctx, ctx.volume.route(), batch));
                drop(ticket);
            }),
        }
    }

    /// Waits until every member read so far is complete, links too.
    pub(super) fn drain(&mut self) {
        self.flush();
        self.broken |= !self.ctx.flight.drained();
        if self.links.is_empty() || self.broken {
            return;
        }
        let mut links = std::mem::take(&mut self.links).into_iter();
        loop {
            let window = links.by_ref().take(self.ctx.port.window);
            let ready: Vec<Ready> = window.map(|link| ready(&mut self.table, link)).collect();
            if ready.is_empty() {
                break;
            }
            let (ctx, ticket) = (self.ctx, self.ctx.flight.enter(ready.len()));
            self.scope.spawn(move |_| ctx.busy(|| links::run(ctx, ready, ticket)));
        }
        self.broken |= !self.ctx.flight.drained();
        self.link_places.clear();
        self.target_places.clear();
        self.link_bytes = 0;
    }

    /// Sets the directories' last attributes, the deepest first. Nothing else may be in flight.
    pub(super) fn finish(&mut self, mut dirs: Vec<Arc<Dir>>) {
        dirs.sort_by_key(|dir| std::cmp::Reverse(dir.depth));
        for level in dirs.chunk_by(|a, b| a.depth == b.depth) {
            if self.broken {
                return;
            }
            // A kernel mount carries out a window's calls one after the other.
            let window = if self.ctx.apart.is_some() { 1 } else { self.ctx.port.window };
            for window in level.chunks(window) {
                let endings: Vec<_> = window.iter().filter_map(|dir| Ending::of(self.ctx, dir)).collect();
                if endings.is_empty() {
                    continue;
                }
                let (ctx, ticket) = (self.ctx, self.ctx.flight.enter(endings.len()));
                self.scope.spawn(move |_| ctx.busy(|| ending::run(ctx, endings, ticket)));
            }
            self.broken |= !self.ctx.flight.drained();
        }
    }
}

fn ready(table: &mut Table, link: Link) -> Ready {
    let (base, mut covered) = table.deepest(&link.target[..link.target.len() - 1]);
    let mut base = Arc::clone(&base);
    // One that nothing was put into yet may be there from before, and the link's target in it.
    while let Some((above, _)) = base.place.as_ref().filter(|_| base.is_unmade()) {
        (base, covered) = (above.clone(), covered - 1);
    }
    Ready { link, base, covered }
}
