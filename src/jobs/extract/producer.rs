//! Reads the archive, decides where each member goes and what it must wait for, and hands it to the lanes.
//!
//! Order: members in flight have different places, none of them in the way of another's path. A member for which that
//! would not hold waits until all before it are complete.

mod under_way;

use std::collections::HashSet;
use std::mem;
use std::sync::Arc;

use crate::archive::{ArchiveError, Member, MemberKind};
use crate::base::name::Shown;
use crate::base::{Failure, Name};
use crate::crew::Scope;
use crate::jobs::inside::{self, TakenOff};
use crate::jobs::members::{Members, Read};
use crate::storage::{Mount, Special};

use super::attributes::Extra;
use super::batch::Batch;
use super::big::{self, Big, Range, Source};
use super::ctx::{Ctx, Head, Outcome};
use super::dirs::Last;
use super::leaf::{Leaf, Shape, What};
use super::links::Link;
use super::owners::Ids;
use super::path::{Beside, Place};
use super::seen::Seen;
use super::table::{Known, Table};
use super::taken::Taken;
use super::{Existing, Owners};

/// Files up to this size are read by the producer and gathered into batches; larger ones are tasks of their own.
const SMALL_BYTES_MAX: u64 = 128 << 10;
/// Members that lanes have or wait for.
const MEMBERS_IN_FLIGHT_MAX: usize = 4096;
/// Bytes of the sparse maps of files in ranges that are in flight.
const MAP_BYTES_MAX: u64 = 32 << 20;
/// The longest symbolic link that Linux can hold.
const LINK_TEXT_BYTES_MAX: usize = 4095;
/// The largest range, whatever is asked for: COMMIT's count has 32 bits.
const RANGE_BYTES_MAX: u64 = 1 << 30;

pub(super) struct Producer<'p, 'scope, 'env> {
    pub(super) ctx: &'scope Ctx<'env>,
    scope: &'p Scope<'p, 'scope>,
    pub(super) members: Members<'p>,
    pub(super) ids: Ids<'p>,
    table: Table,
    beside: Beside,
    /// What was taken off names and told.
    pub(super) taken_off: TakenOff,
    batch: Batch,
    batch_max: usize,
    /// A batch has left since it was last asked what is under way.
    has_left: bool,
    /// Places of members in flight that are no directories.
    taken: Taken,
    /// Path bytes of members that have their numbers.
    path_bytes: u64,
    /// What was last seen of the completions: the first number that was not told, and path bytes that were.
    told: (u64, u64),
    links: Vec<Link>,
    link_bytes: usize,
    /// Of the maps of files in ranges since the last drain.
    map_bytes: u64,
    /// Of what directories get in the end, since they were last finished.
    dir_extra_bytes: u64,
    /// Places of waiting links and of their targets.
    link_places: HashSet<u64>,
    target_places: HashSet<u64>,
    /// Names met so far; for `resume` only.
    seen: Seen,
    next: u64,
    range_bytes: u64,
    small_bytes_max: u64,
    /// A lane has panicked: nothing should begin.
    broken: bool,
}

impl<'p, 'scope, 'env> Producer<'p, 'scope, 'env> {
    pub fn new(
        ctx: &'scope Ctx<'env>,
        scope: &'p Scope<'p, 'scope>,
        members: Members<'p>,
        owners: &'p dyn Owners,
    ) -> Self {
        let range_bytes = ctx.options.range_bytes.clamp(1, RANGE_BYTES_MAX).next_multiple_of(ctx.volume.page_bytes());
        Producer {
            ctx,
            scope,
            members,
            ids: Ids::new(ctx.options.owner, owners),
            table: Table::new(ctx.volume.root(), ctx.options.implied_mode),
            beside: Beside::default(),
            taken_off: TakenOff::default(),
            batch: Batch::default(),
            batch_max: ctx.batch_max(),
            has_left: false,
            taken: Taken::default(),
            path_bytes: 0,
            told: (0, 0),
            links: Vec::new(),
            link_bytes: 0,
            map_bytes: 0,
            dir_extra_bytes: 0,
            link_places: HashSet::new(),
            target_places: HashSet::new(),
            seen: Seen::default(),
            next: 0,
            range_bytes,
            small_bytes_max: SMALL_BYTES_MAX.min(range_bytes),
            broken: false,
        }
    }

    /// Reads to the end and finishes the directories.
    pub fn run(mut self) -> Read {
        let mut member = Member::default();
        while !self.broken && self.members.next(&mut member) {
            self.member(&mut member);
        }
        self.drain();
        let dirs = self.table.take_all();
        self.finish(dirs);
        self.members.end()
    }

    fn member(&mut self, member: &mut Member) {
        self.make_room();
        let is_renamed = self.ctx.options.transform.is_some() || inside::leads_out(&member.path);
        let head = Head {
            number: self.next,
            path: if is_renamed { member.path.clone() } else { taken(&mut member.path) },
            kind: member.kind,
            again: false,
            bytes: if member.kind == MemberKind::File { member.stored } else { 0 },
        };
        self.next += 1;
        self.path_bytes += head.path.len() as u64;
        let extra = self.extra(member);
        self.rename(member);
        self.put(head, member, extra);
    }

    /// Puts a member at its place.
    fn put(&mut self, head: Head, member: &mut Member, extra: Option<Arc<Extra>>) {
        // Whatever became of it: that is what GNU tar goes by.
        if inside::leads_out(&head.path) && inside::has_dot_dot(&head.path) {
            let outcome = refused(&head.path, inside::HAS_DOT_DOT);
            return self.settle(Err((head, outcome)));
        }
        let path = path_of(&head, member);
        if let Some((above, name)) = self.beside.find(path) {
            let result = self.below(head, member, extra, (&above, &name));
            return self.settle(result);
        }
        let result = match self.placed(path, member.kind) {
            Ok(Place::Below(names)) => match names.split_last() {
                Some((name, above)) => {
                    if self.ctx.options.top.is_empty() {
                        self.beside.note(path, above);
                    }
                    self.below(head, member, extra, (above, name))
                }
                None => Err((head, Outcome::Skipped)),
            },
            Ok(Place::Root) if member.kind == MemberKind::Dir => {
                let last = (self.meta(member), extra);
                self.table.root().ask(last);
                Err((head, Outcome::Done))
            }
            Ok(Place::Root) => {
                let outcome = refused(path, "the destination itself is a directory");
                Err((head, outcome))
            }
            Ok(Place::Stripped) => Err((head, Outcome::Skipped)),
            Err(reason) => {
                let outcome = refused(path, &reason);
                Err((head, outcome))
            }
        };
        self.settle(result);
    }

    /// A member that is not on its way is complete.
    fn settle(&self, result: Result<(), (Head, Outcome)>) {
        if let Err((head, outcome)) = result {
            self.ctx.complete(head, outcome);
        }
    }

    /// Puts a member on its way, or says what became of it.
    fn below(
        &mut self,
        mut head: Head,
        member: &mut Member,
        extra: Option<Arc<Extra>>,
        (above, name): (&[Name], &Name),
    ) -> Result<(), (Head, Outcome)> {
        let meta = self.meta(member);
        let what = match member.kind {
            MemberKind::Dir => {
                self.dir_extra_bytes += extra.as_ref().map_or(0, |extra| extra.bytes());
                let dir = self.dir_member(above, name, (meta, extra));
                self.push(&dir, |dir| Leaf { head, dir, name: name.clone(), what: What::Dir, meta, extra: None });
                return Ok(());
            }
            MemberKind::HardLink => return self.link(head, member, above, name),
            MemberKind::File => None,
            MemberKind::Symlink if member.link.len() > LINK_TEXT_BYTES_MAX || member.link.contains(&0) => {
                let outcome = refused(&head.path, "the link's text is too long or contains a NUL byte");
                return Err((head, outcome));
            }
            MemberKind::Symlink => Some(What::Symlink(member.link.clone())),
            MemberKind::Fifo => Some(What::Special(Special::Fifo)),
            MemberKind::Char => Some(What::Special(Special::Char(member.dev.0, member.dev.1))),
            MemberKind::Block => Some(What::Special(Special::Block(member.dev.0, member.dev.1))),
        };
        let (dir, hash) = self.place(above, name, head.number);
        head.again = self.ctx.options.resume && self.seen.note(hash);
        match what {
            Some(what) => {
                let extra_bytes = extra.as_ref().map_or(0, |extra| extra.bytes());
                self.hold(&dir, (head.path.len() + member.link.len()) as u64 + extra_bytes);
                self.push(&dir, |dir| Leaf { head, dir, name: name.clone(), what, meta, extra });
                Ok(())
            }
            None => self.file(head, member, dir, name, (meta, extra)),
        }
    }

    /// The directory of `above`, and the hash of `name` in it, which is registered, and at which nothing else is in flight.
    fn place(&mut self, above: &[Name], name: &Name, number: u64) -> (Known, u64) {
        let dir = self.dir(above);
        let hash = self.table.hash_in(dir.hash, name);
        if self.is_linked(hash) {
            self.drain();
        }
        // It may replace a directory: that one's last word is spoken before.
        if let Some(known) = self.table.child(&dir, name).cloned() {
            self.drain();
            let tree = self.table.take_tree(&known);
            self.finish(tree);
        }
        if !self.taken.take(hash, number, || self.ctx.low()) {
            self.drain();
        }
        (dir, hash)
    }

    fn is_busy(&self, hash: u64) -> bool {
        self.is_linked(hash) || self.taken.is_taken(hash, || self.ctx.low())
    }

    /// A link waits that has this place or leads there.
    fn is_linked(&self, hash: u64) -> bool {
        self.link_places.contains(&hash) || self.target_places.contains(&hash)
    }

    /// The directory of this path, known from now on.
    fn dir(&mut self, names: &[Name]) -> Known {
        let (mut dir, covered) = self.table.deepest(names);
        for name in &names[covered..] {
            if self.is_busy(self.table.hash_in(dir.hash, name)) {
                self.drain();
            }
            dir = self.table.add(&dir, name, None);
        }
        dir
    }

    /// The directory that is a member itself.
    fn dir_member(&mut self, above: &[Name], name: &Name, last: Last) -> Known {
        let parent = self.dir(above);
        if let Some(known) = self.table.child(&parent, name).cloned() {
            if known.made().is_none() {
                // It was only in a path so far, and that may have failed where a member succeeds.
                self.drain();
            }
            if known.made().is_some() {
                match self.ctx.options.existing {
                    _ if self.ctx.options.unlinks_dirs() => known.ask_late(last),
                    Existing::Keep | Existing::Skip => known.ask_once(last),
                    _ => known.ask(last),
                }
                return known;
            }
            self.table.take_tree(&known);
        } else if self.is_busy(self.table.hash_in(parent.hash, name)) {
            self.drain();
        }
        self.table.add(&parent, name, Some(last))
    }

    fn link(&mut self, head: Head, member: &Member, above: &[Name], name: &Name) -> Result<(), (Head, Outcome)> {
        let target = match self.placed(&member.link, MemberKind::HardLink) {
            Ok(Place::Below(target)) => target,
            Ok(_) => {
                let outcome = refused(&head.path, "its target is the destination itself");
                return Err((head, outcome));
            }
            Err(reason) => {
                let outcome = refused(&head.path, &format!("its target: {reason}"));
                return Err((head, outcome));
            }
        };
        let (dir, hash) = self.place(above, name, head.number);
        if self.ctx.options.resume {
            // What a file of this name is to replace is of this run.
            self.seen.note(hash);
        }
        let target_hash = self.table.hash_of(&target);
        // A link to a link that waits.
        if self.link_places.contains(&target_hash) {
            self.drain();
        }
        self.link_places.insert(hash);
        self.target_places.insert(target_hash);
        self.link_bytes += head.path.len() + member.link.len();
        self.links.push(Link { head, dir: Arc::clone(&dir), name: name.clone(), target, dated: member.mtime });
        Ok(())
    }

    fn file(
        &mut self,
        head: Head,
        member: &mut Member,
        dir: Known,
        name: &Name,
        (meta, extra): Last,
    ) -> Result<(), (Head, Outcome)> {
        let mut start = 0;
        let segments = member.segments.take().map(|segments| {
            let starts = segments.iter().map(|segment| {
                let at = start;
                start += segment.len;
                (at, segment.offset, segment.len)
            });
            starts.collect::<Arc<[_]>>()
        });
        let shape = Shape { size: member.size, segments };
        let map_bytes = shape.segments.as_ref().map_or(0, |s| s.len() as u64 * 24)
            + extra.as_ref().map_or(0, |extra| extra.bytes());
        if member.stored > self.small_bytes_max {
            self.map_bytes += map_bytes;
            if self.map_bytes > MAP_BYTES_MAX {
                self.drain();
                self.map_bytes = map_bytes;
            }
            self.big(
                Big::new(
                    head,
                    Arc::clone(&dir),
                    name.clone(),
                    (meta, extra),
                    shape,
                    member.stored.div_ceil(self.range_bytes),
                ),
                member.stored,
            );
            return Ok(());
        }
        self.hold(&dir, member.stored + head.path.len() as u64 + map_bytes);
        if member.stored == 0 {
            let what = What::File { data: Vec::new(), shape };
            self.push(&dir, |dir| Leaf { head, dir, name: name.clone(), what, meta, extra });
            return Ok(());
        }
        match self.data(member.stored) {
            Ok(data) => {
                let what = What::File { data, shape };
                self.push(&dir, |dir| Leaf { head, dir, name: name.clone(), what, meta, extra });
                Ok(())
            }
            Err(error) => {
                // Not begun, so nothing is left that looks complete.
                let outcome = match self.ctx.stop().is_set() {
                    true => Outcome::Undone,
                    false => refused(&head.path, &format!("not extracted: {error}")),
                };
                self.members.fail(error);
                Err((head, outcome))
            }
        }
    }

    /// Spawns the ranges of a file.
    fn big(&mut self, big: Big, stored: u64) {
        // What waits in the batch must not wait for all of this file.
        self.flush();
        let big = Arc::new(big);
        let archive = self.members.archive();
        let seekable = archive.source().zip(archive.stored_at());
        let (mut start, mut spawned) = (0, 0);
        let ranges = stored.div_ceil(self.range_bytes);
        // A header may claim any size: no more ranges once one has met the archive's end, or the run is stopped.
        while start < stored && !self.broken && !big.is_over() && !self.ctx.stop().is_set() {
            let len = (stored - start).min(self.range_bytes);
            self.broken |= !self.ctx.flight.below(MEMBERS_IN_FLIGHT_MAX);
            let Some(permit) = self.ctx.crew.budget().acquire(len) else { break };
            let source = match &seekable {
                // `len` is at most RANGE_BYTES_MAX.
                Some((input, at)) => Source::At(input.clone(), at + start, len as usize),
                None => match self.data(len) {
                    Ok(data) => Source::Held(data),
                    Err(error) => {
                        // The error names the member that it struck; a failure names it anyway.
                        let (text, named) = (error.to_string(), format!("{}: ", Shown(big.path())));
                        let reason = text.strip_prefix(&named).unwrap_or(&text);
                        match self.ctx.stop().is_set() {
                            true => big.stop(),
                            false => big.end(refused(big.path(), &format!("incomplete: {reason}"))),
                        }
                        self.members.fail(error);
                        break;
                    }
                },
            };
            let (ctx, ticket) = (self.ctx, self.ctx.flight.enter(1));
            let range = Range { big: big.clone(), start, source, permit };
            self.scope.spawn(move |_| ctx.busy(|| big::run(ctx, range, ticket)));
            (start, spawned) = (start + len, spawned + 1);
        }
        if spawned < ranges {
            if self.ctx.stop().is_set() || self.broken {
                big.stop();
            }
            big.landed(self.ctx, self.ctx.volume.route(), ranges - spawned);
        }
    }

    /// Reads `len` bytes of the current member.
    fn data(&mut self, len: u64) -> Result<Vec<u8>, ArchiveError> {
        // `len` is at most RANGE_BYTES_MAX, and there is a permit for it.
        let mut data = vec![0; len as usize];
        let (archive, mut got) = (self.members.archive(), 0);
        while got < data.len() {
            match archive.read(&mut data[got..])? {
                0 => {
                    let (offset, member) = (archive.position(), None);
                    return Err(ArchiveError::Truncated { offset, member });
                }
                n => got += n,
            }
        }
        Ok(data)
    }
}

/// The path that a member is to have: it is no longer in `member` where that is the one it has in the archive.
fn path_of<'m>(head: &'m Head, member: &'m Member) -> &'m [u8] {
    if member.path.is_empty() { &head.path } else { &member.path }
}

fn refused(path: &[u8], reason: &str) -> Outcome {
    Outcome::Failed(Failure::refused(path, reason))
}

/// A member's path, which is counted by its length: a longer name that was passed over before may have left its room in it.
fn taken(path: &mut Vec<u8>) -> Vec<u8> {
    let mut path = mem::take(path);
    path.shrink_to_fit();
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_no_room_of_a_longer_one() {
        let mut path = vec![b'x'; 1 << 20];
        path.clear();
        path.push(b'f');
        assert!(taken(&mut path).capacity() < 64 && path.capacity() == 0);
    }
}
