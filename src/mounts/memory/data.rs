//! The content of one file in memory: sparse blocks, and what a server restart would lose.
//!
//! A block of zeros is not stored where none is; a short file costs its own length, not a block.

use std::collections::BTreeMap;

use crate::base::Status;
use crate::storage::Stable;

use super::quota::Quota;

/// The unit of storage.
const BLOCK_BYTES: usize = 64 << 10;
/// Stored bytes are accounted in these, as on most file systems.
const CHARGE_BYTES: u64 = 4096;
/// What a hole reads as; also what blocks are compared with, at memcmp's speed.
static ZEROS: [u8; BLOCK_BYTES] = [0; BLOCK_BYTES];

/// The largest file: offsets must fit a signed 64-bit integer, as on Linux.
pub(super) const SIZE_MAX: u64 = i64::MAX as u64;

fn charge(len: usize) -> u64 {
    (len as u64).next_multiple_of(CHARGE_BYTES)
}

/// Blocks by number. A block may be shorter than `BLOCK_BYTES`; zeros follow it. The first one lies apart, so that a
/// small file needs no tree.
#[derive(Default)]
struct Blocks {
    first: Option<Vec<u8>>,
    #[allow(clippy::box_collection)] // 16 bytes less in each of a million small files
    rest: Option<Box<BTreeMap<u64, Vec<u8>>>>,
}

impl Blocks {
    fn get(&self, index: u64) -> Option<&Vec<u8>> {
        if index == 0 { self.first.as_ref() } else { self.rest.as_ref()?.get(&index) }
    }

    /// The block's content, empty where none is stored.
    fn bytes(&self, index: u64) -> &[u8] {
        self.get(index).map_or(&[], |block| block)
    }

    fn entry(&mut self, index: u64) -> &mut Vec<u8> {
        if index == 0 {
            self.first.get_or_insert_default()
        } else {
            self.rest.get_or_insert_default().entry(index).or_default()
        }
    }

    fn remove(&mut self, index: u64) -> Option<Vec<u8>> {
        if index == 0 { self.first.take() } else { self.rest.as_mut()?.remove(&index) }
    }

    /// The first block that is stored, from `index` on.
    fn next(&self, index: u64) -> Option<(u64, &Vec<u8>)> {
        match &self.first {
            Some(block) if index == 0 => Some((0, block)),
            _ => self.rest.as_ref()?.range(index..).next().map(|(&index, block)| (index, block)),
        }
    }

    fn into_blocks(self) -> impl Iterator<Item = (u64, Vec<u8>)> {
        self.first.map(|block| (0, block)).into_iter().chain(self.rest.into_iter().flat_map(|rest| *rest))
    }

    /// Takes out the blocks from `index` on; returns the bytes they were charged.
    fn drop_from(&mut self, index: u64) -> u64 {
        let mut freed = 0;
        if index == 0 {
            freed += self.first.take().map_or(0, |block| charge(block.len()));
        }
        if let Some(rest) = &mut self.rest {
            freed += rest.split_off(&index).values().map(|block| charge(block.len())).sum::<u64>();
        }
        freed
    }
}

/// The last safe state of a file with unstable data: its size, and the former content of each block written since.
struct Undo {
    size: u64,
    blocks: Blocks,
}

/// Part of a write that lies in one block; a whole block is copied here, before any lock is taken.
pub(super) struct Piece<'a> {
    index: u64,
    start: usize,
    data: &'a [u8],
    zero: bool,
    whole: Option<Vec<u8>>,
}

/// Cuts a write along the blocks. The end must not be above `SIZE_MAX`.
pub(super) fn pieces(offset: u64, mut data: &[u8]) -> Vec<Piece<'_>> {
    let mut at = offset;
    let mut pieces = Vec::with_capacity(data.len() / BLOCK_BYTES + 2);
    while !data.is_empty() {
        let start = (at % BLOCK_BYTES as u64) as usize;
        let (head, tail) = data.split_at(data.len().min(BLOCK_BYTES - start));
        let zero = head == &ZEROS[..head.len()];
        let whole = (head.len() == BLOCK_BYTES && !zero).then(|| head.to_vec());
        pieces.push(Piece { index: at / BLOCK_BYTES as u64, start, data: head, zero, whole });
        at += head.len() as u64;
        data = tail;
    }
    pieces
}

/// A file's content.
#[derive(Default)]
pub(super) struct Data {
    size: u64,
    used: u64,
    blocks: Blocks,
    undo: Option<Box<Undo>>,
}

impl Data {
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Bytes of storage charged.
    pub(super) fn used(&self) -> u64 {
        self.used
    }

    /// Appends up to `count` bytes from `offset` to `buf`; true when they reach the end of the file.
    pub(super) fn read(&self, offset: u64, count: u32, buf: &mut Vec<u8>) -> bool {
        let end = self.size.min(offset.saturating_add(u64::from(count)));
        let mut at = offset;
        while at < end {
            let start = (at % BLOCK_BYTES as u64) as usize;
            let len = (BLOCK_BYTES - start).min(usize::try_from(end - at).unwrap_or(usize::MAX));
            let block = self.blocks.bytes(at / BLOCK_BYTES as u64);
            let stored = block.get(start..block.len().min(start + len)).unwrap_or(&[]);
            buf.extend_from_slice(stored);
            buf.extend_from_slice(&ZEROS[..len - stored.len()]);
            at += len as u64;
        }
        offset.saturating_add(u64::from(count)) >= self.size
    }

    /// The first stored byte at or after `offset`; none when only a hole follows.
    pub(super) fn data_from(&self, offset: u64) -> Option<u64> {
        let mut index = offset / BLOCK_BYTES as u64;
        loop {
            let (at, block) = self.blocks.next(index)?;
            let start = at * BLOCK_BYTES as u64;
            if start + block.len() as u64 > offset {
                return Some(start.max(offset)).filter(|&at| at < self.size);
            }
            index = at + 1; // `offset` lies behind what is stored of this block
        }
    }

    /// The first byte at or after `offset` that is not stored, at most the end; none from the end on.
    pub(super) fn hole_from(&self, offset: u64) -> Option<u64> {
        let mut at = offset;
        while at < self.size {
            let index = at / BLOCK_BYTES as u64;
            let stored = index * BLOCK_BYTES as u64 + self.blocks.bytes(index).len() as u64;
            if stored <= at {
                break;
            }
            at = stored;
        }
        (offset < self.size).then(|| at.min(self.size))
    }

    /// Writes pieces in rising order; returns the bytes taken, fewer than given when storage ran out on the way.
    /// A stable write makes the whole file safe, as a server may.
    pub(super) fn write(&mut self, quota: &Quota, pieces: Vec<Piece<'_>>, stable: Stable) -> Result<usize, Status> {
        match stable {
            Stable::Unstable if self.undo.is_none() => {
                self.undo = Some(Box::new(Undo { size: self.size, blocks: Blocks::default() }));
            }
            Stable::Unstable => {}
            Stable::DataSync | Stable::FileSync => self.commit(),
        }
        let mut taken = 0;
        for piece in pieces {
            let end = piece.index * BLOCK_BYTES as u64 + (piece.start + piece.data.len()) as u64;
            let len = piece.data.len();
            match self.put(quota, piece) {
                Ok(()) => {}
                Err(status) if taken == 0 => return Err(status),
                Err(_) => break,
            }
            taken += len;
            self.size = self.size.max(end);
        }
        Ok(taken)
    }

    fn put(&mut self, quota: &Quota, piece: Piece<'_>) -> Result<(), Status> {
        let Piece { index, start, data, zero, whole } = piece;
        let len = self.blocks.bytes(index).len();
        if zero && start >= len {
            return Ok(());
        }
        let more = charge(len.max(start + data.len())) - charge(len);
        quota.take_bytes(more)?;
        self.used += more;
        let block = self.blocks.entry(index);
        let mut former = None;
        if let Some(undo) = &self.undo
            && undo.blocks.get(index).is_none()
        {
            former = Some(if whole.is_some() { std::mem::take(block) } else { block.clone() });
        }
        match whole {
            Some(whole) => *block = whole,
            None => {
                if block.is_empty() {
                    block.reserve_exact(start + data.len());
                }
                if block.len() < start {
                    block.resize(start, 0);
                }
                let over = data.len().min(block.len() - start);
                block[start..start + over].copy_from_slice(&data[..over]);
                block.extend_from_slice(&data[over..]);
            }
        }
        if let (Some(undo), Some(former)) = (&mut self.undo, former) {
            *undo.blocks.entry(index) = former;
        }
        Ok(())
    }

    /// Sets the size; makes the file safe, as SETATTR's changes are.
    pub(super) fn resize(&mut self, quota: &Quota, size: u64) {
        self.commit();
        if size < self.size {
            let (last, kept) = (size / BLOCK_BYTES as u64, (size % BLOCK_BYTES as u64) as usize);
            let mut freed = self.blocks.drop_from(last + u64::from(kept > 0));
            if kept > 0 && self.blocks.bytes(last).len() > kept {
                let block = self.blocks.entry(last);
                freed += charge(block.len()) - charge(kept);
                block.truncate(kept);
                block.shrink_to_fit();
            }
            self.used -= freed;
            quota.give_bytes(freed);
        }
        self.size = size;
    }

    /// Makes all data safe.
    pub(super) fn commit(&mut self) {
        self.undo = None;
    }

    /// Goes back to the last safe state.
    pub(super) fn restore(&mut self, quota: &Quota) {
        let Some(undo) = self.undo.take() else { return };
        let before = self.used;
        for (index, former) in undo.blocks.into_blocks() {
            let now = charge(self.blocks.bytes(index).len());
            self.used = self.used - now + charge(former.len());
            if former.is_empty() {
                self.blocks.remove(index);
            } else {
                *self.blocks.entry(index) = former;
            }
        }
        self.size = undo.size;
        quota.give_bytes(before.saturating_sub(self.used));
        quota.force_bytes(self.used.saturating_sub(before));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(data: &mut Data, offset: u64, bytes: &[u8], stable: Stable) {
        assert_eq!(data.write(&Quota::unlimited(), pieces(offset, bytes), stable), Ok(bytes.len()));
    }

    fn all(data: &Data) -> Vec<u8> {
        let mut buf = Vec::new();
        assert!(data.read(0, u32::MAX, &mut buf));
        buf
    }

    #[test]
    fn zeros_cost_nothing_and_short_files_their_length() {
        let mut data = Data::default();
        let mib = vec![0; 1 << 20];
        for i in 0..8192 {
            write(&mut data, i << 20, &mib, Stable::Unstable);
        }
        assert_eq!((data.size(), data.used()), (8 << 30, 0));
        assert!(data.blocks.rest.is_none() && data.blocks.first.is_none());
        let mut data = Data::default();
        write(&mut data, 0, b"short", Stable::FileSync);
        assert_eq!(data.blocks.first.as_ref().unwrap().capacity(), 5);
        assert_eq!((data.used(), all(&data).as_slice()), (4096, &b"short"[..]));
    }

    #[test]
    fn writes_over_edges_match_a_flat_copy() {
        let mut data = Data::default();
        let mut flat = Vec::new();
        let mut seed = 7u64;
        for round in 0..400 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let offset = (seed >> 33) as usize % 300_000;
            let bytes = vec![(round % 5) as u8; (seed >> 20) as usize % 140_000];
            write(&mut data, offset as u64, &bytes, [Stable::Unstable, Stable::FileSync][round % 2]);
            if bytes.is_empty() {
                continue;
            }
            flat.resize(flat.len().max(offset + bytes.len()), 0);
            flat[offset..offset + bytes.len()].copy_from_slice(&bytes);
            if round % 11 == 0 {
                flat.resize(flat.len() / 2 + 17, 0);
                data.resize(&Quota::unlimited(), flat.len() as u64);
            }
            assert!(all(&data) == flat, "round {round}");
        }
    }

    #[test]
    fn data_and_holes_are_told_apart() {
        let mut data = Data::default();
        assert_eq!((data.data_from(0), data.hole_from(0)), (None, None));
        write(&mut data, 0, b"start", Stable::FileSync);
        write(&mut data, 130_000, &[1; 140_000], Stable::FileSync);
        data.resize(&Quota::unlimited(), 1 << 20);
        let block = BLOCK_BYTES as u64;
        for (offset, next_data, next_hole) in [
            (0, Some(0), Some(5)),
            (4, Some(4), Some(5)),
            (5, Some(block), Some(5)),
            (block, Some(block), Some(270_000)),
            (200_000, Some(200_000), Some(270_000)),
            (270_000, None, Some(270_000)),
            ((1 << 20) - 1, None, Some((1 << 20) - 1)),
            (1 << 20, None, None),
            (u64::MAX, None, None),
        ] {
            assert_eq!((data.data_from(offset), data.hole_from(offset)), (next_data, next_hole), "{offset}");
        }
        data.resize(&Quota::unlimited(), 200_000);
        assert_eq!((data.data_from(200_000), data.hole_from(block)), (None, Some(200_000)));
    }

    #[test]
    fn restore_goes_back_to_the_last_commit() {
        let quota = Quota::new(1 << 30, 10);
        let mut data = Data::default();
        let old: Vec<u8> = (0..200_000u32).map(|i| i as u8 | 1).collect();
        assert_eq!(data.write(&quota, pieces(0, &old), Stable::FileSync), Ok(old.len()));
        let used = data.used();
        for (offset, len) in [(0, 70_000), (10, 5), (199_990, 100_000), (1 << 30, 3)] {
            data.write(&quota, pieces(offset, &vec![9; len]), Stable::Unstable).unwrap();
        }
        assert_eq!(data.size(), (1 << 30) + 3);
        data.restore(&quota);
        assert!(all(&data) == old);
        assert_eq!((data.used(), quota.bytes_used()), (used, used));
        data.restore(&quota);
        assert!(all(&data) == old);
    }

    #[test]
    fn a_full_store_takes_what_fits() {
        let quota = Quota::new(128 << 10, 10);
        let mut data = Data::default();
        let bytes = vec![1; 256 << 10];
        assert_eq!(data.write(&quota, pieces(0, &bytes), Stable::FileSync), Ok(128 << 10));
        assert_eq!(data.write(&quota, pieces(128 << 10, &bytes), Stable::FileSync), Err(Status::NoSpc));
        data.resize(&quota, 0);
        assert_eq!((quota.bytes_used(), data.used()), (0, 0));
    }
}
