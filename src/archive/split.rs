//! Cutting a compressed archive into units that can be unpacked by themselves, several at once.
//!
//! A unit is cut only where the format itself says where it ends and that it is small: a gzip member that carries its size, a zstd
//! or lz4 frame that tells its content's size, a bzip2 stream behind which the next one begins. Whatever else comes, also a unit
//! that is not whole, is left for the decoder of the whole stream, which judges it. Unpacking a unit must end exactly at its end,
//! so a wrong size is an error, never other data. Starts no thread. Leaves out xz: liblzma unpacks its blocks on several cores.

use std::io::{self, Cursor, Read};

use super::codec::{Codec, GZIP, LZ4, skippable};
use super::pack::{GZIP_SIZE_ID, PIECE_BYTES_MAX};

/// Compressed bytes of a unit at most: what does not compress grows by 1/256 and less.
const UNIT_BYTES_MAX: usize = PIECE_BYTES_MAX + (PIECE_BYTES_MAX >> 6);
/// Unpacked bytes that a zstd or lz4 frame may announce at most to be a unit.
const UNIT_CONTENT_BYTES_MAX: u64 = 64 << 20;
/// Bytes within which the end of a bzip2 stream is looked for: one block of 900,000 bytes is hardly longer packed.
const BZIP2_STREAM_BYTES_MAX: usize = 1 << 20;
/// Bytes asked of the input at once.
const FILL_BYTES: usize = 256 * 1024;
/// Units below this are handed on together, as far as they are there already: a BGZF member holds 64 KiB at most.
const UNIT_BYTES_MIN: usize = 256 * 1024;
/// Unpacked bytes that are handed on at once at most.
const CHUNK_BYTES: usize = 128 * 1024;

/// Compressed bytes that can be unpacked by themselves: one or several members, frames or streams.
#[derive(Debug)]
pub struct Unit {
    /// Where it begins in the compressed input.
    pub offset: u64,
    bytes: Vec<u8>,
    /// Where its parts end.
    ends: Vec<usize>,
}

/// What comes next.
#[derive(Debug)]
pub enum Cut {
    /// A unit.
    Unit(Unit),
    /// Something that cannot be cut: see `into_rest`.
    Rest,
    /// Nothing.
    End,
}

/// Cuts units off a compressed input.
pub struct Splitter {
    codec: Codec,
    input: Source,
    /// How long the next zstd frame is, as a skippable frame before it said (pzstd).
    announced: Option<usize>,
}

impl Splitter {
    /// Of an input that is at its start.
    pub fn new(codec: Codec, input: Box<dyn Read + Send>) -> Splitter {
        Splitter { codec, input: Source { input, buf: Vec::new(), at: 0, offset: 0, may_read: true }, announced: None }
    }

    /// The next unit. Waits for no more of the input than that unit needs.
    pub fn cut(&mut self) -> io::Result<Cut> {
        self.input.may_read = true;
        self.pass_skippable()?;
        if self.input.want(0, 1)?.is_empty() {
            return Ok(Cut::End);
        }
        let Some(first) = self.part_bytes(0)? else { return Ok(Cut::Rest) };
        self.input.may_read = false;
        let mut ends = vec![first];
        let mut end = first;
        while end < UNIT_BYTES_MIN
            && let Some(more) = self.part_bytes(end)?
        {
            end += more;
            ends.push(end);
        }
        let offset = self.input.offset;
        let bytes = self.input.take(end);
        Ok(Cut::Unit(Unit { offset, bytes, ends }))
    }

    /// What no unit was cut off, for `Codec::decoder`.
    pub fn into_rest(self) -> Box<dyn Read + Send> {
        let Source { input, mut buf, at, .. } = self.input;
        buf.drain(..at);
        Box::new(Cursor::new(buf).chain(input))
    }

    /// Passes over skippable frames that are there as a whole.
    fn pass_skippable(&mut self) -> io::Result<()> {
        if !matches!(self.codec, Codec::Zstd | Codec::Lz4) {
            return Ok(());
        }
        self.announced = None;
        loop {
            let Some(content) = skippable(self.input.want(0, 8)?) else { return Ok(()) };
            let Some(len) = usize::try_from(content).ok().filter(|n| *n <= FILL_BYTES) else { return Ok(()) };
            let frame = self.input.want(0, 8 + len)?;
            let Some(frame) = frame.get(..8 + len) else { return Ok(()) };
            self.announced = match *frame {
                [0x50, _, _, _, 4, 0, 0, 0, a, b, c, d] => usize::try_from(u32::from_le_bytes([a, b, c, d])).ok(),
                _ => None,
            };
            self.input.take(8 + len);
        }
    }

    /// Bytes of the member, frame or stream that begins `at` bytes from here; `None` where that cannot be said, or there is none.
    fn part_bytes(&mut self, at: usize) -> io::Result<Option<usize>> {
        let len = match self.codec {
            Codec::Gzip => self.gzip_bytes(at)?,
            Codec::Zstd => self.zstd_bytes(at)?,
            Codec::Lz4 => self.lz4_bytes(at)?,
            Codec::Bzip2 => self.bzip2_bytes(at)?,
            Codec::Plain | Codec::Xz => None,
        };
        // Only what is there as a whole.
        let Some(len) = len.filter(|len| *len <= UNIT_BYTES_MAX) else { return Ok(None) };
        Ok((self.input.want(at, len)?.len() >= len).then_some(len))
    }

    /// The size in the header: `IG` of pgzip and of `pack`, or `BC` of BGZF (the SAM format's specification, section 4.1).
    fn gzip_bytes(&mut self, at: usize) -> io::Result<Option<usize>> {
        const HAS_EXTRA: u8 = 4;
        let &[m0, m1, 8, flags, _, _, _, _, _, _, x0, x1, ..] = self.input.want(at, 12)? else { return Ok(None) };
        if [m0, m1] != *GZIP || flags & HAS_EXTRA == 0 {
            return Ok(None);
        }
        let head = 12 + usize::from(u16::from_le_bytes([x0, x1]));
        let Some(mut fields) = self.input.want(at, head)?.get(12..head) else { return Ok(None) };
        while let &[a, b, l0, l1, ref rest @ ..] = fields {
            let len = usize::from(u16::from_le_bytes([l0, l1]));
            let size = match (&[a, b], rest) {
                (GZIP_SIZE_ID, &[s0, s1, s2, s3, ..]) if len == 4 => Some(u32::from_le_bytes([s0, s1, s2, s3])),
                (b"BC", &[s0, s1, ..]) if len == 2 => Some(u32::from(u16::from_le_bytes([s0, s1])) + 1),
                _ => None,
            };
            if let Some(size) = size {
                // The shortest data and the trailer follow the header.
                return Ok(usize::try_from(size).ok().filter(|n| *n >= head + 2 + 8));
            }
            let Some(next) = rest.get(len..) else { break };
            fields = next;
        }
        Ok(None)
    }

    /// RFC 8878, section 3.1.1: the frame's header, then block after block up to the one marked as the last.
    fn zstd_bytes(&mut self, at: usize) -> io::Result<Option<usize>> {
        const BLOCK_BYTES_MAX: usize = 128 * 1024;
        let &[0x28, 0xb5, 0x2f, 0xfd, flags, ..] = self.input.want(at, 5)? else { return Ok(None) };
        let single_segment = flags & 0x20 != 0;
        let size_bytes = match flags >> 6 {
            0 => usize::from(single_segment),
            n => 1 << n,
        };
        let dictionary_bytes = [0, 1, 2, 4][usize::from(flags & 3)];
        let size_at = 5 + usize::from(!single_segment) + dictionary_bytes;
        let mut end = size_at + size_bytes;
        let Some(field) = self.input.want(at, end)?.get(size_at..end) else { return Ok(None) };
        let content = field.iter().rev().fold(0, |sum: u64, byte| sum << 8 | u64::from(*byte));
        let is_small = size_bytes > 0 && content <= UNIT_CONTENT_BYTES_MAX;
        // Who does not tell the size did not know it: the frame may be long, and come in parts whose reader is waited for.
        if !is_small && self.announced.is_none_or(|n| size_bytes > 0 || n > UNIT_BYTES_MAX) {
            return Ok(None);
        }
        loop {
            let Some(&[a, b, c]) = self.input.want(at, end + 3)?.get(end..end + 3) else { return Ok(None) };
            let header = u32::from_le_bytes([a, b, c, 0]);
            let size = (header >> 3) as usize;
            end += 3 + match (header >> 1) & 3 {
                0 | 2 if size <= BLOCK_BYTES_MAX => size,
                1 => 1,
                _ => return Ok(None),
            };
            if end > UNIT_BYTES_MAX {
                return Ok(None);
            }
            if header & 1 == 1 {
                return Ok(Some(end + if flags & 4 != 0 { 4 } else { 0 }));
            }
        }
    }

    /// The LZ4 frame format, version 1.6: the header, blocks up to an empty one, a checksum.
    fn lz4_bytes(&mut self, at: usize) -> io::Result<Option<usize>> {
        const BLOCK_BYTES_MAX: usize = 4 << 20;
        let head = self.input.want(at, 14)?;
        let (true, Some(&[flags, _, ref size @ ..])) = (head.starts_with(LZ4), head.get(4..14)) else {
            return Ok(None);
        };
        let content = size.iter().rev().fold(0, |sum: u64, byte| sum << 8 | u64::from(*byte));
        if flags >> 6 != 1 || flags & 8 == 0 || content > UNIT_CONTENT_BYTES_MAX {
            return Ok(None);
        }
        let mut end = 14 + if flags & 1 != 0 { 4 } else { 0 } + 1;
        loop {
            let Some(&[a, b, c, d]) = self.input.want(at, end + 4)?.get(end..end + 4) else { return Ok(None) };
            // The highest bit says that the block is stored as it is.
            let size = (u32::from_le_bytes([a, b, c, d]) & 0x7fff_ffff) as usize;
            end += 4;
            if size == 0 {
                return Ok(Some(end + if flags & 4 != 0 { 4 } else { 0 }));
            }
            end += size + if flags & 16 != 0 { 4 } else { 0 };
            if size > BLOCK_BYTES_MAX || end > UNIT_BYTES_MAX {
                return Ok(None);
            }
        }
    }

    /// Up to where the next stream begins: its mark and its first block's, 77 bits that say the same in every stream. They may
    /// also come about within a stream; then the unit does not end as a stream must, which is an error.
    fn bzip2_bytes(&mut self, at: usize) -> io::Result<Option<usize>> {
        if !self.input.want(at, BZIP2_START_BYTES)?.get(..BZIP2_START_BYTES).is_some_and(begins_bzip2) {
            return Ok(None);
        }
        let mut looked = 1;
        loop {
            let have = self.input.want(at, looked + BZIP2_START_BYTES)?;
            if have.len() < looked + BZIP2_START_BYTES {
                return Ok(None);
            }
            let found = have[looked..].windows(BZIP2_START_BYTES).position(begins_bzip2);
            if let Some(found) = found {
                return Ok(Some(looked + found));
            }
            looked = have.len() - BZIP2_START_BYTES + 1;
            if looked > BZIP2_STREAM_BYTES_MAX {
                return Ok(None);
            }
        }
    }
}

/// `BZh`, a level, and the first block's mark.
const BZIP2_START_BYTES: usize = 10;

fn begins_bzip2(bytes: &[u8]) -> bool {
    matches!(*bytes, [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..])
}

/// The input with what was looked at and not taken. Holds what arrived, never what a header said.
struct Source {
    input: Box<dyn Read + Send>,
    buf: Vec<u8>,
    /// Where the untaken bytes begin in `buf`, and in the input.
    at: usize,
    offset: u64,
    may_read: bool,
}

impl Source {
    /// The bytes from `at` on: `count` of them or more, fewer only at the end of the input or where it may not be read.
    fn want(&mut self, at: usize, count: usize) -> io::Result<&[u8]> {
        let until = at.saturating_add(count);
        while self.buf.len() - self.at < until && self.may_read {
            if self.at > 0 {
                self.buf.drain(..self.at);
                self.at = 0;
            }
            let have = self.buf.len();
            self.buf.resize(have + FILL_BYTES, 0);
            let got = self.input.read(&mut self.buf[have..]);
            self.buf.truncate(have + got.as_ref().map_or(0, |n| *n.min(&FILL_BYTES)));
            match got {
                Ok(0) => break,
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
        }
        Ok(self.buf.get(self.at + at..).unwrap_or_default())
    }

    fn take(&mut self, count: usize) -> Vec<u8> {
        let taken = self.buf[self.at..self.at + count].to_vec();
        self.at += count;
        self.offset += count as u64;
        taken
    }
}

impl Unit {
    /// Gives what it holds, in order, until `give` says no. An error comes behind what could be unpacked, and says where.
    pub fn unpack(&self, codec: Codec, give: &mut dyn FnMut(Vec<u8>) -> bool) -> io::Result<()> {
        let mut begin = 0;
        for end in &self.ends {
            let part = &self.bytes[begin..*end];
            match unpack_part(codec, part, give) {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(error) => {
                    let at = self.offset + begin as u64;
                    return Err(io::Error::new(
                        error.kind(),
                        format!("{error}, in what is compressed from byte {at} on"),
                    ));
                }
            }
            begin = *end;
        }
        Ok(())
    }
}

/// False if `give` said no.
fn unpack_part(codec: Codec, part: &[u8], give: &mut dyn FnMut(Vec<u8>) -> bool) -> io::Result<bool> {
    let (wanted, left) = match codec {
        Codec::Gzip => {
            let mut decoder = flate2::bufread::GzDecoder::new(part);
            (pour(&mut decoder, give)?, decoder.into_inner())
        }
        Codec::Zstd => {
            let mut decoder = zstd::Decoder::with_buffer(part)?.single_frame();
            (pour(&mut decoder, give)?, decoder.finish())
        }
        Codec::Lz4 => {
            let mut decoder = lz4_flex::frame::FrameDecoder::new(part);
            (pour(&mut decoder, give)?, decoder.into_inner())
        }
        Codec::Bzip2 => {
            let mut decoder = bzip2::bufread::BzDecoder::new(part);
            (pour(&mut decoder, give)?, decoder.into_inner())
        }
        Codec::Plain | Codec::Xz => return Err(io::Error::other("this compression has no units")),
    };
    if wanted && !left.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the end is not where the format says"));
    }
    Ok(wanted)
}

/// Reads to the end in chunks, and gives also those before an error.
fn pour(from: &mut dyn Read, give: &mut dyn FnMut(Vec<u8>) -> bool) -> io::Result<bool> {
    loop {
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut got = 0;
        let mut ended = Ok(false);
        while got < CHUNK_BYTES && matches!(ended, Ok(false)) {
            match from.read(&mut chunk[got..]) {
                Ok(0) => ended = Ok(true),
                Ok(n) => got += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => ended = Err(error),
            }
        }
        chunk.truncate(got);
        if got > 0 && !give(chunk) {
            return Ok(false);
        }
        if ended? {
            return Ok(true);
        }
    }
}
