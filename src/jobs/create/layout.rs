//! Cutting the archive into pieces: members in order, several small ones in one piece, a large one over many.

use std::sync::Arc;

use crate::archive::write::{header, padding};
use crate::archive::{Member, MemberKind};
use crate::base::Failure;
use crate::storage::Kind;

use super::Options;
use super::ctx::{Ctx, add};
use super::entry::Entry;
use super::member::{Made, Maker};
use super::piece::{Data, Fate, Part, Piece};

/// Members with data in one piece at most: with fewer files than lanes could read at once, all lanes get some.
const DATA_MAX: usize = 64;
/// Members of one piece at most: those without data need no lane to wait for them, but each takes some 400 bytes beside its header.
const MEMBERS_MAX: usize = 256;

/// Cuts pieces of up to `piece_bytes` and hands each to `give`, which says whether to go on.
pub(super) struct Layout<G> {
    piece: Piece,
    next: u64,
    piece_bytes: usize,
    /// Members of a piece at most, with data and in all.
    most: (usize, usize),
    /// Members with data in the piece.
    with_data: usize,
    maker: Maker,
    give: G,
}

impl<G: FnMut(Piece) -> bool> Layout<G> {
    /// `packed`: pieces are as large as can be, for the codec's sake.
    pub fn new(piece_bytes: usize, packed: bool, give: G) -> Layout<G> {
        let most = if packed { (usize::MAX, usize::MAX) } else { (DATA_MAX, MEMBERS_MAX) };
        Layout {
            piece: Piece::default(),
            next: 0,
            piece_bytes: piece_bytes.max(4096),
            most,
            with_data: 0,
            maker: Maker::new(),
            give,
        }
    }

    /// Adds blocks that are no member's.
    pub fn label(&mut self, head: Vec<u8>) {
        if !head.is_empty() {
            self.piece.heads.extend_from_slice(&head);
            self.push(Part { head: head.len(), data: None, pad: 0, shown: None, link_to: None });
        }
    }

    /// Adds an entry; false when the run is to end.
    pub fn entry(&mut self, ctx: &Ctx<'_>, mut entry: Entry) -> bool {
        let Some(Made { member, fate, link_to }) = self.maker.member(ctx, &mut entry) else { return true };
        let before = self.piece.heads.len();
        let Options { format, ref attributes, .. } = *ctx.options;
        if let Err(unfit) = header(member, format, attributes.numeric, &mut self.piece.heads) {
            // By the name that does not fit, as GNU tar tells it.
            ctx.failed(Failure::refused(&shown(member.path.clone(), entry.attr.kind), unfit.to_string()));
            self.maker.forget(&entry);
            return true;
        }
        let head = self.piece.heads.len() - before;
        count(ctx, member.kind);
        let pad = padding(member.stored);
        // Sizes of real files: far below 2^63.
        let bytes = head as u64 + member.stored + pad as u64;
        let spans = spans(member);
        // A file that is all holes has nothing to be read, and by its turn may hold something.
        let has_data = !spans.is_empty() || member.segments.is_some();
        let room = self.piece_bytes as u64;
        if bytes <= room {
            if self.piece.bytes as u64 + bytes > room && !self.flush_before(head) {
                return false;
            }
            let data = has_data.then(|| data(&entry, spans, (true, true), &fate.unwrap_or_default()));
            let link_to = link_to.map(|fate| Box::new((fate, entry.home())));
            self.push(Part { head, data, pad, shown: Some(shown(entry.path, entry.attr.kind)), link_to });
            let is_full = self.with_data >= self.most.0 || self.piece.parts.len() >= self.most.1;
            return !is_full || self.flush();
        }
        self.large((entry, &fate.unwrap_or_default()), spans, (head, pad))
    }

    /// A member over several pieces, each of which is its alone.
    fn large(
        &mut self,
        (entry, fate): (Entry, &Arc<Fate>),
        mut spans: Vec<(u64, u64)>,
        (head, pad): (usize, usize),
    ) -> bool {
        if !self.flush_before(head) {
            return false;
        }
        spans.reverse();
        let mut is_first = true;
        loop {
            let head = if is_first { head } else { 0 };
            let mut room = self.piece_bytes.saturating_sub(head).max(4096) as u64;
            let mut here = Vec::new();
            while let Some((offset, len)) = spans.pop_if(|_| room > 0) {
                let now = len.min(room);
                here.push((offset, now));
                room -= now;
                if now < len {
                    spans.push((offset + now, len - now));
                }
            }
            let is_last = spans.is_empty();
            let pad = if is_last { pad } else { 0 };
            let data = Some(data(&entry, here, (is_first, is_last), fate));
            let shown = is_first.then(|| shown(entry.path.clone(), entry.attr.kind));
            self.push(Part { head, data, pad, shown, link_to: None });
            if !self.flush() || is_last {
                return is_last;
            }
            is_first = false;
        }
    }

    fn push(&mut self, part: Part) {
        self.with_data += usize::from(part.data.is_some());
        self.piece.bytes += part.bytes();
        self.piece.parts.push(part);
    }

    /// Hands the piece out without the last so many bytes of its heads: the next one begins with them.
    fn flush_before(&mut self, head: usize) -> bool {
        let next = self.piece.heads.split_off(self.piece.heads.len() - head);
        let goes_on = self.flush();
        self.piece.heads.extend_from_slice(&next);
        goes_on
    }

    /// Hands the piece out, if there is something in it.
    pub fn flush(&mut self) -> bool {
        if self.piece.parts.is_empty() {
            return true;
        }
        // The next one is mostly alike.
        let heads = Vec::with_capacity(self.piece.heads.len());
        let parts = Vec::with_capacity(self.piece.parts.len());
        let mut piece = std::mem::replace(&mut self.piece, Piece { heads, parts, ..Piece::default() });
        piece.number = self.next;
        (self.next, self.with_data) = (self.next + 1, 0);
        (self.give)(piece)
    }
}

/// Its name for `-v`.
fn shown(mut path: Vec<u8>, kind: Kind) -> Vec<u8> {
    if kind == Kind::Dir && !path.ends_with(b"/") {
        path.push(b'/');
    }
    path
}

/// Where a member's stored bytes are in its file; empty where it has none.
fn spans(member: &Member) -> Vec<(u64, u64)> {
    match &member.segments {
        Some(segments) => segments.iter().map(|segment| (segment.offset, segment.len)).collect(),
        None if member.stored == 0 => Vec::new(),
        None => vec![(0, member.stored)],
    }
}

fn data(entry: &Entry, spans: Vec<(u64, u64)>, (first, last): (bool, bool), fate: &Arc<Fate>) -> Box<Data> {
    Box::new(Data {
        tree: entry.tree.clone(),
        dir: entry.dir.clone(),
        node: entry.node.clone(),
        path: entry.path.as_slice().into(),
        size: entry.attr.size,
        mtime: entry.attr.mtime,
        ctime: entry.attr.ctime,
        id: (entry.attr.fsid, entry.attr.fileid),
        held: entry.more.as_ref().and_then(|more| more.held.clone()),
        spans,
        first,
        last,
        fate: fate.clone(),
    })
}

fn count(ctx: &Ctx<'_>, kind: MemberKind) {
    let counter = match kind {
        MemberKind::File => &ctx.counts.files,
        MemberKind::Dir => &ctx.counts.dirs,
        MemberKind::Symlink | MemberKind::HardLink => &ctx.counts.links,
        _ => return,
    };
    add(counter, 1);
}
