//! verify=: marks in what is written, and checks of what is read.
//!
//! Promises: a flipped byte, a block that is missing, one at a wrong place and one of an earlier pass are each told; what was read may hold any
//! bytes. Messages are fio's.
//! Leaves out: fio's own layout of marks (files that fio wrote are not verified here, nor the other way round), and which blocks are to be
//! visited.

use std::fmt;
use std::hash::Hasher;

use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};
use sha3::{Sha3_224, Sha3_256, Sha3_384, Sha3_512};

use super::pattern::Pattern;
use crate::base::hash::mix;

/// Bytes of a mark, before the checksum. fio's has as many; so a verify_interval that fio takes is taken.
pub const HEADER_LEN: usize = 40;

/// Bytes of the longest checksum.
const SUM_MAX: usize = 64;

/// fio's smallest verify_interval is two of its headers; with sha512 the mark itself needs more.
pub const INTERVAL_MIN: usize = 80;

const MAGIC: u16 = 0xacca;

/// fio's seed of xxhash.
const XXHASH_SEED: u32 = 1;

const CRC64: crc::Crc<u64> = crc::Crc::<u64>::new(&crc::CRC_64_XZ);
const CRC32: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);
const CRC16: crc::Crc<u16> = crc::Crc::<u16>::new(&crc::CRC_16_ARC);
const CRC7: crc::Crc<u8> = crc::Crc::<u8>::new(&crc::CRC_7_MMC);

/// How data is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // fio's names
#[repr(u16)]
pub enum Check {
    Md5 = 1,
    Sha1,
    Sha256,
    Sha512,
    Crc64,
    Crc32,
    Crc32c,
    Crc16,
    Crc7,
    Xxhash,
    /// The mark alone.
    Meta,
    /// A pattern without marks.
    Pattern,
    /// A pattern behind marks.
    PatternHdr,
    /// Nothing.
    Null,
    Sha3_224,
    Sha3_256,
    Sha3_384,
    Sha3_512,
}

const NAMES: [(&str, Check); 19] = [
    ("md5", Check::Md5),
    ("sha1", Check::Sha1),
    ("sha256", Check::Sha256),
    ("sha512", Check::Sha512),
    ("crc64", Check::Crc64),
    ("crc32", Check::Crc32),
    ("crc32c", Check::Crc32c),
    ("crc32c-intel", Check::Crc32c),
    ("crc16", Check::Crc16),
    ("crc7", Check::Crc7),
    ("xxhash", Check::Xxhash),
    ("meta", Check::Meta),
    ("pattern", Check::Pattern),
    ("pattern_hdr", Check::PatternHdr),
    ("null", Check::Null),
    ("sha3-224", Check::Sha3_224),
    ("sha3-256", Check::Sha3_256),
    ("sha3-384", Check::Sha3_384),
    ("sha3-512", Check::Sha3_512),
];

impl Check {
    /// By the word of verify=; None for what is none.
    pub fn named(word: &str) -> Option<Check> {
        NAMES.iter().find(|(name, _)| *name == word).map(|(_, check)| *check)
    }

    /// As messages name it.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(_, check)| *check == self).map_or("", |(name, _)| name)
    }

    fn has_mark(self) -> bool {
        !matches!(self, Check::Pattern | Check::Null)
    }

    /// The checksum of two parts, one behind the other; empty for what has none.
    fn sum(self, parts: [&[u8]; 2]) -> Vec<u8> {
        fn digest<D: Digest>(parts: [&[u8]; 2]) -> Vec<u8> {
            let mut digest = D::new();
            parts.iter().for_each(|part| digest.update(part));
            digest.finalize().to_vec()
        }
        let [one, two] = parts;
        match self {
            Check::Md5 => digest::<Md5>(parts),
            Check::Sha1 => digest::<Sha1>(parts),
            Check::Sha256 => digest::<Sha256>(parts),
            Check::Sha512 => digest::<Sha512>(parts),
            Check::Sha3_224 => digest::<Sha3_224>(parts),
            Check::Sha3_256 => digest::<Sha3_256>(parts),
            Check::Sha3_384 => digest::<Sha3_384>(parts),
            Check::Sha3_512 => digest::<Sha3_512>(parts),
            Check::Crc64 => {
                let mut sum = CRC64.digest();
                parts.iter().for_each(|part| sum.update(part));
                sum.finalize().to_be_bytes().to_vec()
            }
            Check::Crc32 => {
                let mut sum = CRC32.digest();
                parts.iter().for_each(|part| sum.update(part));
                sum.finalize().to_be_bytes().to_vec()
            }
            Check::Crc32c => crc32c::crc32c_append(crc32c::crc32c(one), two).to_be_bytes().to_vec(),
            Check::Crc16 => {
                let mut sum = CRC16.digest();
                parts.iter().for_each(|part| sum.update(part));
                sum.finalize().to_be_bytes().to_vec()
            }
            Check::Crc7 => {
                let mut sum = CRC7.digest();
                parts.iter().for_each(|part| sum.update(part));
                vec![sum.finalize()]
            }
            Check::Xxhash => {
                let mut sum = twox_hash::XxHash32::with_seed(XXHASH_SEED);
                parts.iter().for_each(|part| sum.write(part));
                sum.finish_32().to_be_bytes().to_vec()
            }
            Check::Meta | Check::Pattern | Check::PatternHdr | Check::Null => Vec::new(),
        }
    }

    fn sum_len(self) -> usize {
        match self {
            Check::Md5 => 16,
            Check::Sha1 => 20,
            Check::Sha3_224 => 28,
            Check::Sha256 | Check::Sha3_256 => 32,
            Check::Sha3_384 => 48,
            Check::Sha512 | Check::Sha3_512 => SUM_MAX,
            Check::Crc64 => 8,
            Check::Crc32 | Check::Crc32c | Check::Xxhash => 4,
            Check::Crc16 => 2,
            Check::Crc7 => 1,
            Check::Meta | Check::Pattern | Check::PatternHdr | Check::Null => 0,
        }
    }
}

/// Which write of a job a block is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Where the write begins in the file, in bytes.
    pub offset: u64,
    /// The seed of the job's data: another run's blocks have another; checked only if given.
    pub seed: Option<u64>,
    /// The number of the write, or of the pass where the order of writes is not known; checked only if given.
    pub sequence: Option<u64>,
}

/// How a job verifies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verifier {
    check: Check,
    interval: usize,
    mark_at: usize,
    pattern: Option<Pattern>,
}

/// Why a part of a block is not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the messages say it
pub enum Wrong {
    Magic {
        found: u16,
    },
    Kind {
        found: u16,
        wanted: u16,
    },
    Length {
        found: u32,
        wanted: u32,
    },
    Seed {
        found: u64,
        wanted: u64,
    },
    Offset {
        found: u64,
        wanted: u64,
    },
    Sequence {
        found: u64,
        wanted: u64,
    },
    MarkSum {
        found: u32,
        wanted: u32,
    },
    Sum {
        check: Check,
        found: Vec<u8>,
        wanted: Vec<u8>,
    },
    Pattern {
        at: usize,
        found: u8,
        wanted: u8,
    },
    /// Fewer bytes than one interval or mark.
    Short,
}

/// A part of a block that is not what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Where it lies in the file, in bytes.
    pub offset: u64,
    /// Its bytes.
    pub len: usize,
    /// The block that was read.
    pub block: (u64, usize),
    /// What is wrong.
    pub wrong: Wrong,
}

impl Verifier {
    /// With `interval` bytes for each mark (all of the smallest block if None), which stands `mark_at` bytes into it. The text says why not.
    pub fn new(
        check: Check,
        interval: Option<usize>,
        block_min: usize,
        mark_at: usize,
        pattern: Option<Pattern>,
    ) -> Result<Verifier, String> {
        let interval = interval.unwrap_or(block_min).min(block_min);
        let need = mark_at + HEADER_LEN + check.sum_len();
        if check.has_mark() && interval < need.max(INTERVAL_MIN) {
            let least = need.max(INTERVAL_MIN);
            return Err(format!(
                "verify={} needs blocks and a verify_interval of {least} bytes at least, not {interval}",
                check.name()
            ));
        }
        if matches!(check, Check::Pattern | Check::PatternHdr) && pattern.is_none() {
            return Err(format!("verify={} needs verify_pattern=", check.name()));
        }
        Ok(Verifier { check, interval: interval.max(1), mark_at, pattern })
    }

    /// Is what stands behind the marks the job's to choose? It is of each part's own number then ([`Verifier::parts`]), so that it can be made
    /// once more.
    pub fn has_data(&self) -> bool {
        self.check.has_mark() && self.pattern.is_none()
    }

    /// The parts of `block` with a mark each, and the last one's rest: each with its place in the file and the number of its data.
    pub fn parts<'b>(&self, block: &'b mut [u8], written: &Written) -> impl Iterator<Item = (&'b mut [u8], u64, u64)> {
        let (seed, sequence) = (written.seed.unwrap_or(0), written.sequence.unwrap_or(0));
        let parts = block.chunks_mut(self.interval).zip(self.places(written));
        parts.map(move |(part, at)| (part, at, mix(seed ^ mix(at ^ mix(sequence)))))
    }

    /// What `read` was when it was written, its data by `fill` (part, offset in the file, its number). The mark of each part says what
    /// `written` does not; none where that is no mark.
    pub fn expected(
        &self,
        read: &[u8],
        written: &Written,
        mut fill: impl FnMut(&mut [u8], u64, u64),
    ) -> Option<Vec<u8>> {
        let mut block = vec![0; read.len()];
        if let Some(pattern) = &self.pattern {
            pattern.fill(&mut block, written.offset);
        }
        if !self.check.has_mark() {
            return Some(block);
        }
        let (even, last) = block.split_at_mut(self.last(read.len()));
        let parts = even.chunks_mut(self.interval).chain([last]).zip(self.marked(read)).zip(self.places(written));
        for ((part, was), at) in parts {
            let said = was.get(self.mark_at..self.mark_at + HEADER_LEN).filter(|mark| is_mark(mark));
            let said = |from: usize| said.map(|mark| number(mark, from, 8));
            let written = Written {
                offset: at,
                seed: Some(written.seed.or_else(|| said(8))?),
                sequence: Some(written.sequence.or_else(|| said(24))?),
            };
            if self.has_data() {
                self.parts(part, &written).for_each(|(part, at, number)| fill(part, at, number));
            }
            if part.len() >= self.interval {
                self.mark_part(part, at, &written);
            }
        }
        Some(block)
    }

    /// Marks `block`, which is about to be written. One shorter than an interval is filled but not marked.
    pub fn mark(&self, block: &mut [u8], written: &Written) {
        if let Some(pattern) = &self.pattern {
            pattern.fill(block, written.offset);
        }
        if !self.check.has_mark() {
            return;
        }
        if block.len() < self.interval {
            return;
        }
        let (even, last) = block.split_at_mut(self.last(block.len()));
        for (part, at) in even.chunks_mut(self.interval).chain([last]).zip(self.places(written)) {
            self.mark_part(part, at, written);
        }
    }

    fn mark_part(&self, part: &mut [u8], at: u64, written: &Written) {
        let sum = self.check.sum(self.covered(part));
        let header = self.header(part.len(), at, written);
        let mark = &mut part[self.mark_at..];
        mark[..HEADER_LEN].copy_from_slice(&header);
        mark[HEADER_LEN..HEADER_LEN + sum.len()].copy_from_slice(&sum);
    }

    /// Checks `block` as it was read.
    pub fn verify(&self, block: &[u8], written: &Written) -> Result<(), Mismatch> {
        let told = |at: u64, len, wrong| Mismatch { offset: at, len, block: (written.offset, block.len()), wrong };
        if self.check == Check::Pattern {
            return match self.pattern_difference(block, written.offset, 0..0) {
                Some(wrong) => Err(told(written.offset, block.len(), wrong)),
                None => Ok(()),
            };
        }
        if !self.check.has_mark() {
            return Ok(());
        }
        if block.len() < self.interval {
            return Err(told(written.offset, block.len(), Wrong::Short));
        }
        let start = self.mark_at..self.mark_at + HEADER_LEN;
        for (part, at) in self.marked(block).zip(self.places(written)) {
            let wrong = self
                .mark_difference(&part[start.clone()], part.len(), at, written)
                .or_else(|| self.data_difference(part, at, written));
            if let Some(wrong) = wrong {
                return Err(told(at, part.len(), wrong));
            }
        }
        Ok(())
    }

    /// Where the last mark's part of a block of `len` bytes begins: it reaches to the block's end, which with bs_unaligned= is anywhere.
    fn last(&self, len: usize) -> usize {
        (len / self.interval).saturating_sub(1) * self.interval
    }

    /// The parts with a mark each.
    fn marked<'b>(&self, block: &'b [u8]) -> impl Iterator<Item = &'b [u8]> {
        let (even, last) = block.split_at(self.last(block.len()));
        even.chunks(self.interval).chain([last])
    }

    fn places(&self, written: &Written) -> impl Iterator<Item = u64> + use<> {
        let (offset, interval) = (written.offset, self.interval as u64);
        (0..).map(move |index: u64| offset + index * interval)
    }

    /// What the checksum is of: all but the mark.
    fn covered<'a>(&self, part: &'a [u8]) -> [&'a [u8]; 2] {
        [&part[..self.mark_at], &part[self.mark_at + HEADER_LEN + self.check.sum_len()..]]
    }

    fn header(&self, len: usize, at: u64, written: &Written) -> [u8; HEADER_LEN] {
        let mut header = [0; HEADER_LEN];
        header[..2].copy_from_slice(&MAGIC.to_le_bytes());
        header[2..4].copy_from_slice(&(self.check as u16).to_le_bytes());
        header[4..8].copy_from_slice(&(len as u32).to_le_bytes());
        header[8..16].copy_from_slice(&written.seed.unwrap_or(0).to_le_bytes());
        header[16..24].copy_from_slice(&at.to_le_bytes());
        header[24..32].copy_from_slice(&written.sequence.unwrap_or(0).to_le_bytes());
        let sum = mark_sum(&header);
        header[HEADER_LEN - 4..].copy_from_slice(&sum.to_le_bytes());
        header
    }

    fn mark_difference(&self, mark: &[u8], len: usize, at: u64, written: &Written) -> Option<Wrong> {
        let number = |from: usize, len: usize| number(mark, from, len);
        let other = |from: usize, wanted: Option<u64>| wanted.filter(|wanted| number(from, 8) != *wanted);
        let (kind, len) = (self.check as u16, len as u32);
        let sum = mark_sum(mark);
        match () {
            () if number(0, 2) as u16 != MAGIC => Some(Wrong::Magic { found: number(0, 2) as u16 }),
            () if number(HEADER_LEN - 4, 4) as u32 != sum => {
                Some(Wrong::MarkSum { found: number(HEADER_LEN - 4, 4) as u32, wanted: sum })
            }
            () if number(2, 2) as u16 != kind => Some(Wrong::Kind { found: number(2, 2) as u16, wanted: kind }),
            () if number(4, 4) as u32 != len => Some(Wrong::Length { found: number(4, 4) as u32, wanted: len }),
            () if number(16, 8) != at => Some(Wrong::Offset { found: number(16, 8), wanted: at }),
            () => {
                let seed = other(8, written.seed).map(|wanted| Wrong::Seed { found: number(8, 8), wanted });
                let sequence = || other(24, written.sequence);
                seed.or_else(|| sequence().map(|wanted| Wrong::Sequence { found: number(24, 8), wanted }))
            }
        }
    }

    fn data_difference(&self, part: &[u8], at: u64, written: &Written) -> Option<Wrong> {
        let len = self.check.sum_len();
        let start = self.mark_at + HEADER_LEN;
        if self.check == Check::PatternHdr {
            let skip = (at - written.offset) as usize;
            let difference = self.pattern_difference(part, written.offset, self.mark_at..start);
            // The pattern began with the block, not with the interval.
            return if skip == 0 {
                difference
            } else {
                self.later_difference(part, skip, written.offset, self.mark_at..start)
            };
        }
        let (found, wanted) = (&part[start..start + len], self.check.sum(self.covered(part)));
        (*found != *wanted).then(|| Wrong::Sum { check: self.check, found: found.to_vec(), wanted })
    }

    /// The first byte that is not the pattern's, those of `mark` left out.
    fn pattern_difference(&self, part: &[u8], offset: u64, mark: std::ops::Range<usize>) -> Option<Wrong> {
        if mark.is_empty() {
            let at = self.pattern.as_ref()?.first_difference(part, offset)?;
            return self.wrong_byte(part, at, 0, offset);
        }
        self.later_difference(part, 0, offset, mark)
    }

    fn later_difference(&self, part: &[u8], skip: usize, offset: u64, mark: std::ops::Range<usize>) -> Option<Wrong> {
        let pattern = self.pattern.as_ref()?;
        let at = (0..part.len()).find(|at| !mark.contains(at) && part[*at] != pattern.byte(skip + at, offset))?;
        self.wrong_byte(part, at, skip, offset)
    }

    fn wrong_byte(&self, part: &[u8], at: usize, skip: usize, offset: u64) -> Option<Wrong> {
        let wanted = self.pattern.as_ref()?.byte(skip + at, offset);
        Some(Wrong::Pattern { at, found: part[at], wanted })
    }
}

/// What stands in a mark, little end first.
fn number(mark: &[u8], from: usize, len: usize) -> u64 {
    mark[from..from + len].iter().rev().fold(0_u64, |n, byte| n << 8 | u64::from(*byte))
}

fn mark_sum(mark: &[u8]) -> u32 {
    crc32c::crc32c(&mark[..HEADER_LEN - 4])
}

fn is_mark(mark: &[u8]) -> bool {
    number(mark, 0, 2) as u16 == MAGIC && number(mark, HEADER_LEN - 4, 4) as u32 == mark_sum(mark)
}

/// A mismatch with the name of the file that it is in, as fio tells it on stderr.
pub struct Told<'a>(pub &'a Mismatch, pub &'a str);

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch { offset, len, block, wrong } = self.0;
        let place = format!(
            "at file {} offset {offset}, length {len} (requested block: offset={}, length={})",
            self.1, block.0, block.1
        );
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        match wrong {
            Wrong::Magic { found } => write!(f, "verify: bad magic header {found:x}, wanted {MAGIC:x} {place}"),
            Wrong::Kind { found, wanted } => {
                write!(f, "fio: verify type mismatch ({found} media, {wanted} given) {place}")
            }
            Wrong::Length { found, wanted } => write!(f, "verify: bad header length {found}, wanted {wanted} {place}"),
            Wrong::Seed { found, wanted } => write!(f, "verify: bad header rand_seed {found}, wanted {wanted} {place}"),
            Wrong::Offset { found, wanted } => write!(f, "verify: bad header offset {found}, wanted {wanted} {place}"),
            Wrong::Sequence { found, wanted } => {
                write!(f, "verify: bad header numberio {found}, wanted {wanted} {place}")
            }
            Wrong::MarkSum { found, wanted } => {
                write!(f, "verify: bad header crc {found:x}, calculated {wanted:x} {place}")
            }
            Wrong::Sum { check, found, wanted } => {
                writeln!(f, "{}: verify failed {place}", check.name())?;
                write!(f, "       Expected CRC: {}\n       Received CRC: {}", hex(found), hex(wanted))
            }
            Wrong::Pattern { at, found, wanted } => {
                let bits = (found ^ wanted).count_ones();
                writeln!(f, "fio: got pattern '{found:02x}', wanted '{wanted:02x}'. Bad bits {bits}")?;
                writeln!(f, "fio: bad pattern block offset {at}")?;
                write!(f, "pattern: verify failed {place}")
            }
            Wrong::Short => write!(f, "verify: the block is shorter than verify_interval {place}"),
        }
    }
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
