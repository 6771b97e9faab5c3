//! Bytes of small files: read in windows, cut around holes, written safely, and read back where that is asked for.

use crate::base::{Proc, Status};
use crate::crew::Due;
use crate::storage::{Attr, Call, Kind, Mount, Node, Op, Route, Stable};

use super::super::made_up;
use super::super::port::Port;
use super::super::write::{self, Chunk, Put};
use super::batch::{Known, Routes, give_up};
use super::ctx::{Ctx, On, Trouble, add};
use super::make::{self, Item};
use super::task::Task;
use super::{Sparse, Verify};

/// Zeros of at least this length become a hole where the source has holes: shorter ones cost more calls than they save.
pub(super) const HOLE_BYTES_MIN: usize = 32 << 10;
/// And where every block of zeros is to be one.
const BLOCK_BYTES: usize = 4 << 10;

/// What reading a range came to.
pub(super) struct Read {
    pub data: Vec<u8>,
    /// The file ended before.
    pub short: bool,
    /// The file goes on after, by the server's word.
    pub more: bool,
    /// What the file was after the last READ, where that was told.
    pub attr: Option<Attr>,
}

/// Reads whole ranges (node, offset, bytes) in windows, however short the answers are.
pub(super) fn read_ranges(
    port: Port<'_>,
    route: Route,
    ranges: &[(Node, u64, u64)],
    read_max: u32,
) -> Vec<Result<Read, Status>> {
    let mut reads: Vec<Result<Read, Status>> = ranges
        .iter()
        .map(|(_, _, len)| {
            let data = Vec::with_capacity(usize::try_from(*len).unwrap_or(0));
            Ok(Read { data, short: false, more: true, attr: None })
        })
        .collect();
    loop {
        let mut open = Vec::new();
        let mut calls: Vec<Call<'_>> = Vec::new();
        for (i, (read, (node, offset, len))) in reads.iter_mut().zip(ranges).enumerate() {
            let Ok(read) = read else { continue };
            let had = read.data.len() as u64;
            if had < *len && !read.short {
                let count = u32::try_from(len - had).unwrap_or(u32::MAX).min(read_max);
                // A first READ fills the range's own buffer; where it is the whole range, nothing is copied.
                let buf = if had == 0 { std::mem::take(&mut read.data) } else { Vec::new() };
                open.push(i);
                calls.push(Call::read(node, offset + had, count, buf));
            }
        }
        if calls.is_empty() {
            return reads;
        }
        port.perform(route, &mut calls);
        for (i, call) in open.into_iter().zip(calls) {
            let status = call.status();
            let Op::Read { buf, attr, out, .. } = call.op else { continue };
            match (&mut reads[i], out) {
                // A server that gives nothing would have us ask for ever.
                (read, Ok(false)) if buf.is_empty() => *read = Err(Status::Io),
                (Ok(read), Ok(end)) => {
                    if read.data.is_empty() {
                        read.data = buf;
                    } else {
                        read.data.extend_from_slice(&buf);
                    }
                    let len = ranges[i].2;
                    read.short = end && (read.data.len() as u64) < len;
                    read.more = !end;
                    read.attr = attr.or(read.attr);
                }
                (read, _) => *read = Err(status.err().unwrap_or(Status::Io)),
            }
        }
    }
}

/// True when the file is not what it was when it was listed.
pub(super) fn has_changed(was: &Attr, is: &Attr) -> bool {
    (was.size, was.mtime) != (is.size, is.mtime) || is_replaced(was, is)
}

/// True when what has the name of a multiply linked file is another one now: its other names are none of that one's. (Of several kernel mounts
/// each has ids of its own for file systems below.)
pub(super) fn is_replaced(was: &Attr, is: &Attr) -> bool {
    was.nlink > 1 && is.fileid != was.fileid
}

pub(super) fn replaced() -> Trouble {
    Trouble::Refused(On::Source, "replaced by another file while it was read, also the second time".into())
}

/// What nothing was left of when it was read.
pub(super) fn vanished() -> Trouble {
    Trouble::Refused(On::Source, "vanished while it was read; it was not copied".into())
}

/// Reads the small files. One that changed since it was listed is begun anew, the second time copied and told.
pub(super) fn read_small(ctx: &Ctx<'_>, routes: Routes, items: &mut [Item], due: &mut Vec<Due<Task>>) {
    let is_small = |item: &Item| (1..=ctx.small_max).contains(&item.attr().size);
    let mut small: Vec<&mut Item> = Vec::new();
    for item in items.iter_mut().filter(|item| item.is_open() && item.attr().kind == Kind::File) {
        if ctx.is_made_up(&item.known.node, item.attr()) {
            read_made_up(ctx, routes, item);
        } else if is_small(item) {
            small.push(item);
        }
    }
    let ranges: Vec<_> = small.iter().map(|item| (item.known.node.clone(), 0, item.attr().size)).collect();
    let reads = read_ranges(ctx.source, routes.source, &ranges, ctx.read_max);
    for (item, read) in small.iter_mut().zip(reads) {
        match read {
            Err(status) if item.object().is_to_be_looked_up(status) => begin_again(item, due),
            Err(status) => item.trouble = Some(Trouble::Call(On::Source, Proc::Read, status)),
            Ok(read) => {
                let changed = match &read.attr {
                    Some(attr) => has_changed(item.attr(), attr),
                    None => read.more,
                };
                item.data = read.data;
                if (changed || read.short) && item.object().tries == 0 {
                    add(&ctx.counts.read_again, 1);
                    begin_again(item, due);
                } else if read.attr.is_some_and(|attr| is_replaced(item.attr(), &attr)) {
                    item.trouble = Some(replaced());
                } else {
                    item.unsteady = changed || read.short;
                }
            }
        }
    }
}

pub(super) fn begin_again(item: &mut Item, due: &mut Vec<Due<Task>>) {
    let placeholder = make::placeholder(item.object());
    let object = std::mem::replace(&mut item.known.object, placeholder);
    due.push(object.again().due());
    item.elsewhere = true;
}

/// For a comparison: an object whose size is what it holds, also where that is made up while it is read; none if that could not be
/// read, which is told.
pub(super) fn sized(ctx: &Ctx<'_>, routes: Routes, mut known: Known, due: &mut Vec<Due<Task>>) -> Option<Known> {
    if known.attr.kind == Kind::File && ctx.is_made_up(&known.node, &known.attr) {
        match held(ctx, routes, &known.node) {
            Ok(data) => known.attr.size = data.len() as u64,
            Err(trouble) => {
                give_up(ctx, known.object, trouble, due);
                return None;
            }
        }
    }
    Some(known)
}

/// What a file holds that is made up while it is read.
fn held(ctx: &Ctx<'_>, routes: Routes, node: &Node) -> Result<Vec<u8>, Trouble> {
    let data = made_up::read(ctx.source, routes.source, node);
    let data = data.map_err(|status| Trouble::Call(On::Source, Proc::Read, status))?;
    data.ok_or_else(|| Trouble::Refused(On::Source, made_up::TOO_LARGE.into()))
}

/// What a file holds that is made up while it is read, which is its size from now on.
fn read_made_up(ctx: &Ctx<'_>, routes: Routes, item: &mut Item) {
    match held(ctx, routes, &item.known.node) {
        Ok(data) => {
            item.known.attr.size = data.len() as u64;
            item.data = data;
        }
        Err(trouble) => item.trouble = Some(trouble),
    }
}

/// The shortest run of zeros that is to be a hole of this file; none where it has none.
pub(super) fn hole_min(ctx: &Ctx<'_>, attr: &Attr) -> Option<usize> {
    match ctx.options.sparse {
        Sparse::Never => None,
        Sparse::Always => Some(BLOCK_BYTES),
        // Small files may be stored in no block of their own.
        Sparse::Auto => (attr.used < attr.size && attr.size >= HOLE_BYTES_MIN as u64).then_some(HOLE_BYTES_MIN),
    }
}

/// Cuts `data`, which lies at `offset`, into pieces of up to `write_max` bytes, without runs of zeros of `hole_min` or more.
pub(super) fn pieces<'d>(data: &'d [u8], offset: u64, write_max: usize, hole_min: Option<usize>) -> Vec<Chunk<'d>> {
    let mut pieces = Vec::new();
    let mut cut = |from: usize, to: usize| {
        let parts = data[from..to].chunks(write_max).enumerate();
        pieces.extend(parts.map(|(i, part)| (offset + (from + i * write_max) as u64, part)));
    };
    let Some(hole_min) = hole_min else {
        cut(0, data.len());
        return pieces;
    };
    // Where data that is not cut yet begins, and where the zeros before the current block begin.
    let (mut from, mut zeros) = (0, None);
    let mut at = 0;
    for block in data.chunks(BLOCK_BYTES) {
        let is_zero = block.iter().all(|byte| *byte == 0);
        match (is_zero, zeros) {
            (true, None) => zeros = Some(at),
            (false, Some(start)) => {
                if at - start >= hole_min {
                    cut(from, start);
                    from = at;
                }
                zeros = None;
            }
            _ => {}
        }
        at += block.len();
    }
    match zeros {
        Some(start) if at - start >= hole_min.min(data.len()) => cut(from, start),
        _ => cut(from, data.len()),
    }
    pieces
}

/// Writes the small files' bytes, and reads them back where that is asked for.
pub(super) fn write_small(ctx: &Ctx<'_>, routes: Routes, items: &mut [Item]) {
    let mut failed: Vec<(usize, (Proc, Status))> = Vec::new();
    let mut sized: Vec<(usize, u64)> = Vec::new();
    let mut written = 0;
    {
        let mut files: Vec<(usize, &Node, Vec<Chunk<'_>>)> = Vec::new();
        for (i, item) in items.iter().enumerate() {
            let is_file = item.is_open() && item.attr().kind == Kind::File;
            let Some(made) = item.made.as_ref().filter(|_| is_file) else { continue };
            let hole_min = hole_min(ctx, item.attr());
            let cut = pieces(&item.data, 0, ctx.write_max, hole_min);
            // Whether it ends in a hole is nothing that a forecast knows, which reads no file: as of larger ones its size is set in any case.
            if hole_min.is_some() && !item.data.is_empty() {
                sized.push((i, item.data.len() as u64));
            }
            written += item.data.len() as u64;
            files.push((i, &made.node, cut));
        }
        let (single, mut several): (Vec<_>, Vec<_>) = files.into_iter().partition(|(.., cut)| cut.len() == 1);
        let mut puts: Vec<Put<'_>> = single.iter().map(|(_, node, cut)| Put::new(node, cut[0])).collect();
        write::put_all(ctx.target, routes.target, &mut puts, Stable::FileSync);
        for (file, put) in single.into_iter().zip(&puts) {
            match put.error {
                Some(status) => failed.push((file.0, (Proc::Write, status))),
                None if put.is_unstable() => several.push(file),
                None => {}
            }
        }
        for (i, node, cut) in several {
            if let Err(error) = write::put_file(ctx.target, routes.target, node, &cut) {
                failed.push((i, error));
            }
        }
    }
    for (i, error) in failed {
        items[i].trouble = Some(Trouble::on_target(error));
    }
    for (i, size) in sized {
        items[i].size_due = Some(size);
    }
    add(&ctx.live.bytes, written);
    if ctx.options.verify == Verify::Written {
        for item in items.iter_mut().filter(|item| item.is_open() && item.attr().kind == Kind::File) {
            if let Some(made) = &item.made
                && let Err(trouble) = read_back(ctx, routes.target, &made.node, 0, &item.data)
            {
                item.trouble = Some(trouble);
            }
        }
    }
}

/// Reads back what was written at `offset`; what differs is written once more, then it is an error.
/// A hole at the end of the file reads as nothing.
pub(super) fn read_back(ctx: &Ctx<'_>, route: Route, node: &Node, offset: u64, data: &[u8]) -> Result<(), Trouble> {
    let mut differs = None;
    let is_kept = !ctx.target.volume.limits().extras.forgets;
    for attempt in 0..2 {
        if ctx.caches[On::Target as usize] {
            let call = ctx.target.one(route, Call::io_advise(node));
            call.status().map_err(Trouble::target(call.proc()))?;
        }
        let range = [(node.clone(), offset, data.len() as u64)];
        let read = read_ranges(ctx.target, route, &range, ctx.read_max).pop();
        let read = read.unwrap_or(Err(Status::Io)).map_err(Trouble::target(Proc::Read))?;
        add(&ctx.counts.verified_bytes, read.data.len() as u64);
        let (there, missing) = data.split_at(read.data.len().min(data.len()));
        if !is_kept || there == read.data && missing.iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        let same = there.iter().zip(&read.data).take_while(|(a, b)| a == b).count();
        differs = Some(offset + same as u64);
        if attempt == 0 {
            let whole = pieces(data, offset, ctx.write_max, None);
            write::put_file(ctx.target, route, node, &whole).map_err(Trouble::on_target)?;
        }
    }
    let at = differs.unwrap_or(offset);
    let reason = format!("what was read back differs from what was written, from byte {at} on, also the second time");
    Err(Trouble::Refused(On::Target, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_zeros_become_holes_and_all_else_is_written() {
        let block = BLOCK_BYTES;
        let mut data = vec![0_u8; 40 * block + 7];
        data[0] = 1;
        data[20 * block + 1] = 2;
        data[23 * block] = 3;
        let rebuilt = |pieces: &[Chunk<'_>]| {
            let mut file = vec![0; data.len()];
            for (offset, piece) in pieces {
                let at = usize::try_from(*offset).unwrap() - 1000;
                file[at..at + piece.len()].copy_from_slice(piece);
            }
            file
        };
        for (write_max, hole) in [(1 << 20, None), (5000, None), (1 << 20, Some(8 * block)), (3000, Some(block))] {
            let cut = pieces(&data, 1000, write_max, hole);
            assert!(cut.iter().all(|(_, piece)| piece.len() <= write_max && !piece.is_empty()));
            assert_eq!(rebuilt(&cut), data);
            let bytes: usize = cut.iter().map(|(_, piece)| piece.len()).sum();
            let expected = match hole {
                None => data.len(),
                Some(min) if min == block => 3 * block,
                Some(_) => block + 4 * block,
            };
            assert_eq!(bytes, expected);
        }
        assert!(pieces(&[0; 40_000], 0, 1 << 20, Some(HOLE_BYTES_MIN)).is_empty());
        assert_eq!(pieces(&[0; 100], 0, 1 << 20, Some(HOLE_BYTES_MIN)).len(), 0);
        assert!(pieces(&[], 0, 10, None).is_empty());
    }
}
