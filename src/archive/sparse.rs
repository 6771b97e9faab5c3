//! Maps of sparse files: old GNU (in the header and blocks behind it) and pax 1.0 (in front of the data). The maps of
//! pax 0.0 and 0.1 are records and read there. All are checked by `check`.
//!
//! Leaves out star's own sparse format.

use tar::{GnuExtSparseHeader, GnuSparseHeader, Header};

use super::header::{Block, number};
use super::member::Segment;
use super::pax::decimal;

/// Segments of one file; at 16 bytes each, a map holds 16 MiB at most.
pub(super) const SEGMENTS_MAX: usize = 1 << 20;

/// The old GNU map while its blocks come in.
pub(super) struct OldMap {
    /// The file's size.
    pub size: u64,
    /// True while another block of the map follows.
    pub more: bool,
    /// The map so far, or what is wrong with it.
    pub segments: Result<Vec<Segment>, String>,
}

impl OldMap {
    /// The part of the map in the header itself; `None` if the header is not GNU's.
    pub(super) fn new(block: &Block) -> Option<OldMap> {
        let gnu = Header::from_byte_slice(block).as_gnu()?;
        let mut map = OldMap { size: 0, more: gnu.isextended[0] != 0, segments: Ok(Vec::new()) };
        match offset(&gnu.realsize) {
            Some(size) => map.size = size,
            None => map.segments = Err("no number in the sparse file's size".into()),
        }
        map.add(&gnu.sparse);
        Some(map)
    }

    /// One more block of the map.
    pub(super) fn extend(&mut self, block: &Block) {
        let mut more = GnuExtSparseHeader::new();
        more.as_mut_bytes().copy_from_slice(block);
        self.more = more.isextended[0] != 0;
        self.add(&more.sparse);
    }

    fn add(&mut self, entries: &[GnuSparseHeader]) {
        let Ok(segments) = &mut self.segments else { return };
        for entry in entries {
            // The map ends at the first entry without a length field.
            if entry.numbytes[0] == 0 {
                return;
            }
            let (Some(at), Some(len)) = (offset(&entry.offset), offset(&entry.numbytes)) else {
                self.segments = Err("no number in the sparse map".into());
                return;
            };
            if segments.len() == SEGMENTS_MAX {
                self.segments = Err(too_long());
                return;
            }
            segments.push(Segment { offset: at, len });
        }
    }
}

fn offset(field: &[u8]) -> Option<u64> {
    let value = number(field).ok()??;
    i64::try_from(value).ok().and_then(|v| u64::try_from(v).ok())
}

fn too_long() -> String {
    format!("sparse map of more than {SEGMENTS_MAX} segments")
}

/// The pax 1.0 map while its bytes come in: decimal numbers, a line each; first how many segments, then offset and
/// length of each. Ends within a block, whose rest is padding.
#[derive(Default)]
pub(super) struct NewMap {
    digits: Vec<u8>,
    count: Option<usize>,
    offset: Option<u64>,
    segments: Vec<Segment>,
}

impl NewMap {
    /// Takes one block; true when the map is complete.
    pub(super) fn extend(&mut self, block: &Block) -> Result<bool, String> {
        for &byte in block {
            if byte != b'\n' {
                if self.digits.len() >= 20 {
                    return Err("no number in the sparse map".into());
                }
                self.digits.push(byte);
                continue;
            }
            let value = decimal(&self.digits).ok_or("no number in the sparse map")?;
            self.digits.clear();
            match (self.count, self.offset.take()) {
                (None, _) => {
                    let count = usize::try_from(value).ok().filter(|&n| n <= SEGMENTS_MAX).ok_or_else(too_long)?;
                    self.count = Some(count);
                }
                (Some(_), None) => self.offset = Some(value),
                (Some(_), Some(offset)) => self.segments.push(Segment { offset, len: value }),
            }
            if self.count == Some(self.segments.len()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) fn into_segments(self) -> Vec<Segment> {
        self.segments
    }
}

/// A map that keeps `Member::segments`'s promises; empty segments, which mark a hole at the end, are dropped.
pub(super) fn check(mut segments: Vec<Segment>, size: u64, stored: u64) -> Result<Vec<Segment>, String> {
    let (mut end, mut sum) = (0u64, 0u64);
    for segment in &segments {
        let past = segment.offset.checked_add(segment.len).filter(|&past| past <= size);
        if segment.offset < end {
            return Err("sparse map out of order".into());
        }
        end = past.ok_or("sparse map reaches past the end of the file")?;
        // Apart and within `size`, so the sum cannot overflow.
        sum += segment.len;
    }
    if sum != stored {
        return Err(format!("sparse map of {sum} bytes for {stored} bytes of data"));
    }
    segments.retain(|s| s.len > 0);
    Ok(segments)
}
