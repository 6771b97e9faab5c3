//! Sparse maps: old GNU, in the header and blocks behind it, and pax 1.0, in front of the data. Both end, as GNU tar's, with an
//! empty segment at the file's end, so that a hole there is not lost.

use super::block::{self, SIZE, TYPEFLAG};
use super::{BLOCK_BYTES, Block, Format, Segment, Unfit, padding};
use crate::archive::sparse::SEGMENTS_MAX;

/// Bytes of an offset and of a length.
const FIELD_BYTES: usize = SIZE.end - SIZE.start;
/// Where the header's own segments begin, and how many there are.
const IN_HEADER: (usize, usize) = (386, 4);
/// Says in the header that blocks of segments follow.
const HEADER_EXTENDED: usize = 482;
/// The file's size.
const REAL_SIZE: std::ops::Range<usize> = 483..495;
/// Segments of a block of segments; behind them a byte that says whether another block follows.
const IN_BLOCK: usize = 21;
const BLOCK_EXTENDED: usize = IN_BLOCK * 2 * FIELD_BYTES;

/// The map as it is written: the segments, and one without length at the end.
fn entries(segments: &[Segment], size: u64) -> Result<Vec<Segment>, Unfit> {
    if segments.len() >= SEGMENTS_MAX {
        let max = SEGMENTS_MAX as u64 - 1;
        return Err(Unfit::TooLarge { what: "sparse map", bytes: segments.len() as u64, max });
    }
    Ok([segments, &[Segment { offset: size, len: 0 }]].concat())
}

/// Makes `header` that of a sparse file, and appends it and its map.
pub(super) fn old(header: &mut Block, segments: &[Segment], size: u64, out: &mut Vec<u8>) -> Result<(), Unfit> {
    let entries = entries(segments, size)?;
    let (first, rest) = entries.split_at(entries.len().min(IN_HEADER.1));
    header[TYPEFLAG] = b'S';
    put(&mut header[IN_HEADER.0..], first)?;
    header[HEADER_EXTENDED] = u8::from(!rest.is_empty());
    number(&mut header[REAL_SIZE], size)?;
    block::seal(header);
    out.extend_from_slice(header);
    let mut blocks = rest.chunks(IN_BLOCK).peekable();
    while let Some(entries) = blocks.next() {
        let mut block = [0; BLOCK_BYTES];
        put(&mut block, entries)?;
        block[BLOCK_EXTENDED] = u8::from(blocks.peek().is_some());
        out.extend_from_slice(&block);
    }
    Ok(())
}

fn put(place: &mut [u8], entries: &[Segment]) -> Result<(), Unfit> {
    for (place, entry) in place.chunks_exact_mut(2 * FIELD_BYTES).zip(entries) {
        let (offset, len) = place.split_at_mut(FIELD_BYTES);
        number(offset, entry.offset)?;
        number(len, entry.len)?;
    }
    Ok(())
}

fn number(field: &mut [u8], value: u64) -> Result<(), Unfit> {
    block::number(field, block::off_t(value), "off_t", Format::Gnu)
}

/// The map of pax 1.0: decimal numbers, a line each, and zeros up to the end of the block.
pub(super) fn new(segments: &[Segment], size: u64) -> Result<Vec<u8>, Unfit> {
    let entries = entries(segments, size)?;
    let mut map = format!("{}\n", entries.len()).into_bytes();
    for Segment { offset, len } in entries {
        map.extend_from_slice(format!("{offset}\n{len}\n").as_bytes());
    }
    map.resize(map.len() + padding(map.len() as u64), 0);
    Ok(map)
}
