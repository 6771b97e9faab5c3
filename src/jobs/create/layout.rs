//! Cutting the archive into pieces: members in order, several small ones in one piece, a large one over many.

use std::sync::Arc;

use crate::archive::write::{header, padding};
use crate::archive::{Member, MemberKind};
use crate::base::Failure;
use crate::storage::Kind;

use super::ctx::{Ctx, add};
use super::entry::Entry;
use super::member::{Made, Maker};
use super::piece::{Data, Fate, Part, Piece};

/// Members of one piece at most: with fewer files than lanes could read at once, all lanes get some.
const MEMBERS_MAX: usize = 64;

/// Bytes in front of most members: of pax an extended header, its records and the header.
const HEAD_BYTES: usize = 1536;

/// Cuts pieces of up to `piece_bytes` and hands each to `give`, which says whether to go on.
pub(super) struct Layout<G> {
    piece: Piece,
    next: u64,
    piece_bytes: usize,
    members_max: usize,
    maker: Maker,
    give: G,
}

impl<G: FnMut(Piece) -> bool> Layout<G> {
    /// `packed`: pieces are as large as can be, for the codec's sake.
    pub fn new(piece_bytes: usize, packed: bool, give: G) -> Layout<G> {
        let members_max = if packed { usize::MAX } else { MEMBERS_MAX };
        Layout {
            piece: Piece::default(),
            next: 0,
            piece_bytes: piece_bytes.max(4096),
            members_max,
            maker: Maker::new(),
            give,
        }
    }

    /// Adds blocks that are no member's.
    pub fn label(&mut self, head: Vec<u8>) {
        if !head.is_empty() {
            self.push(Part { head, data: None, pad: 0, shown: None, link_to: None });
        }
    }

    /// Adds an entry; false when the run is to end.
    pub fn entry(&mut self, ctx: &Ctx<'_>, mut entry: Entry) -> bool {
        let Some(Made { member, fate, link_to }) = self.maker.member(ctx, &mut entry) else { return true };
        let mut head = Vec::with_capacity(HEAD_BYTES);
        if let Err(unfit) = header(&member, ctx.options.format, &mut head) {
            self.maker.forget(&entry);
            ctx.failed(Failure::refused(&entry.path, unfit.to_string()));
            return true;
        }
        count(ctx, &member);
        let mut shown = entry.path.clone();
        if entry.attr.kind == Kind::Dir && !shown.ends_with(b"/") {
            shown.push(b'/');
        }
        let pad = padding(member.stored);
        // Sizes of real files: far below 2^63.
        let bytes = head.len() as u64 + member.stored + pad as u64;
        let room = self.piece_bytes as u64;
        if bytes <= room {
            if self.piece.bytes as u64 + bytes > room && !self.flush() {
                return false;
            }
            let data = (member.stored > 0).then(|| data(&entry, spans(&member), (true, true), &fate));
            self.push(Part { head, data, pad, shown: Some(shown), link_to });
            return self.piece.parts.len() < self.members_max || self.flush();
        }
        self.large((&entry, &fate), &member, (head, pad, shown))
    }

    /// A member over several pieces, each of which is its alone.
    fn large(
        &mut self,
        (entry, fate): (&Entry, &Arc<Fate>),
        member: &Member,
        (head, pad, shown): (Vec<u8>, usize, Vec<u8>),
    ) -> bool {
        if !self.flush() {
            return false;
        }
        let mut spans = spans(member);
        spans.reverse();
        let mut first = Some((head, shown));
        loop {
            let is_first = first.is_some();
            let (head, shown) = first.take().map_or((Vec::new(), None), |(head, shown)| (head, Some(shown)));
            let mut room = self.piece_bytes.saturating_sub(head.len()).max(4096) as u64;
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
            let data = Some(data(entry, here, (is_first, is_last), fate));
            self.push(Part { head, data, pad, shown, link_to: None });
            if !self.flush() || is_last {
                return is_last;
            }
        }
    }

    fn push(&mut self, part: Part) {
        self.piece.bytes += part.bytes();
        self.piece.parts.push(part);
    }

    /// Hands the piece out, if there is something in it.
    pub fn flush(&mut self) -> bool {
        if self.piece.parts.is_empty() {
            return true;
        }
        let mut piece = std::mem::take(&mut self.piece);
        piece.number = self.next;
        self.next += 1;
        (self.give)(piece)
    }
}

/// Where a member's stored bytes are in its file.
fn spans(member: &Member) -> Vec<(u64, u64)> {
    match &member.segments {
        Some(segments) => segments.iter().map(|segment| (segment.offset, segment.len)).collect(),
        None => vec![(0, member.stored)],
    }
}

fn data(entry: &Entry, spans: Vec<(u64, u64)>, (first, last): (bool, bool), fate: &Arc<Fate>) -> Data {
    Data {
        tree: entry.tree.clone(),
        node: entry.node.clone(),
        path: entry.path.as_slice().into(),
        size: entry.attr.size,
        mtime: entry.attr.mtime,
        spans,
        first,
        last,
        fate: fate.clone(),
    }
}

fn count(ctx: &Ctx<'_>, member: &Member) {
    let counter = match member.kind {
        MemberKind::File => &ctx.counts.files,
        MemberKind::Dir => &ctx.counts.dirs,
        MemberKind::Symlink | MemberKind::HardLink => &ctx.counts.links,
        _ => return,
    };
    add(counter, 1);
}
