//! What is in the buffers of writes.
//!
//! Promises: how well data compresses and how often blocks repeat is what the options ask for (fio's own figures, within a few percent);
//! the same seeds give the same bytes. What is changed for each write by default costs a few nanoseconds.
//! Leaves out: marks of verify=, which are put over this. The bytes are not fio's.

use super::pattern::Pattern;
use super::random::{Random, Seeds, Stream};
use super::settings::{Buffers, Content};
use crate::base::hash::mix;

/// What one cheap change makes unique: the smallest block of devices and of deduplication.
const SECTOR: usize = 512;

/// Where a sector may be changed. Marks of earlier writes stay at the other places, and those compress: with five of them gzip -1 leaves 89 %
/// of blocks of 64 KiB, as of fio's (measured; 83 % with eight, 91 % with four).
const PLACES: u64 = 5;

/// Lanes that one step of the generator fills; a processor with vectors of 16 bytes or more takes several at once.
const LANES: usize = 8;
const LINE: usize = LANES * 8;

/// Random bytes: xorshift64 (Marsaglia 2003) in lanes side by side.
#[derive(Clone, Debug)]
struct Lanes([u64; LANES]);

impl Lanes {
    fn new(seed: u64) -> Lanes {
        let mut random = Random::new(seed);
        // A state of 0 would stay 0.
        Lanes(std::array::from_fn(|_| random.bits() | 1))
    }

    #[inline]
    fn step(&mut self) {
        for lane in &mut self.0 {
            *lane ^= *lane << 13;
            *lane ^= *lane >> 7;
            *lane ^= *lane << 17;
        }
    }

    fn fill(&mut self, buf: &mut [u8]) {
        let mut lines = buf.chunks_exact_mut(LINE);
        for line in &mut lines {
            self.step();
            for (bytes, lane) in line.chunks_exact_mut(8).zip(&self.0) {
                bytes.copy_from_slice(&lane.to_le_bytes());
            }
        }
        let rest = lines.into_remainder();
        if !rest.is_empty() {
            self.step();
            for (bytes, lane) in rest.chunks_mut(8).zip(&self.0) {
                bytes.copy_from_slice(&lane.to_le_bytes()[..bytes.len()]);
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Kind {
    Zeros,
    Random,
    Pattern(Pattern),
    /// Of each `chunk` bytes the first `random` are that, and the others `rest`.
    Compressible {
        chunk: usize,
        random: usize,
        rest: Vec<u8>,
        pattern: Option<Pattern>,
    },
}

/// The contents of one clone's writes.
#[derive(Clone, Debug)]
pub struct Contents {
    kind: Kind,
    /// What repeats or does not: the smallest write.
    block: usize,
    refill: bool,
    scramble: bool,
    dedupe: u64,
    random: Random,
    /// Of the last block that was not a repetition.
    seed: u64,
}

impl Contents {
    /// For writes of `block` bytes at least.
    pub fn new(buffers: &Buffers, seeds: Seeds, block: usize) -> Contents {
        let block = block.max(1);
        let kind = match &buffers.content {
            Content::Zeros => Kind::Zeros,
            Content::Random => Kind::Random,
            Content::Pattern(pattern) => Kind::Pattern(pattern.clone()),
            Content::Compressible { percent, chunk, pattern } => {
                // 0 is the whole block, as in fio.
                let chunk = usize::try_from(*chunk).ok().filter(|chunk| (1..block).contains(chunk)).unwrap_or(block);
                let random = (chunk as u128 * u128::from(100 - percent.min(&100)) / 100) as usize;
                let mut rest = vec![0; chunk - random];
                if let Some(pattern) = pattern {
                    pattern.fill(&mut rest, 0);
                }
                let pattern = pattern.clone().filter(Pattern::has_offset);
                Kind::Compressible { chunk, random, rest, pattern }
            }
        };
        let is_random = matches!(kind, Kind::Random);
        let refill = match kind {
            Kind::Compressible { .. } => true,
            Kind::Random => buffers.refill || buffers.dedupe > 0,
            Kind::Zeros | Kind::Pattern(_) => false,
        };
        let mut random = seeds.random(Stream::Buffers, 0);
        Contents {
            kind,
            block,
            refill,
            scramble: buffers.scramble && is_random && !refill,
            dedupe: buffers.dedupe,
            seed: random.bits(),
            random,
        }
    }

    /// Fills a buffer at first; and again one that something was read into since.
    pub fn prefill(&mut self, buf: &mut [u8]) {
        self.make(buf, 0);
    }

    /// Before a write at `offset` out of a buffer that was prefilled: makes it what this write is to have.
    #[inline]
    pub fn fill(&mut self, buf: &mut [u8], offset: u64) {
        if self.scramble {
            self.change(buf, offset);
        } else if self.refill {
            self.make(buf, offset);
        } else if let Kind::Pattern(pattern) = &self.kind
            && pattern.has_offset()
        {
            pattern.fill(buf, offset);
        }
    }

    /// Before a write at `offset` out of a buffer that something was read into: as in fio, what was read is written where writes differ
    /// anyway. To make it anew took half of the time of a mixed job.
    pub fn fill_read(&mut self, buf: &mut [u8], offset: u64) {
        if self.scramble {
            self.change(buf, offset);
        } else {
            self.fill_anew(buf, offset);
        }
    }

    /// What a write at `offset` has, in a buffer of which nothing is known.
    pub fn fill_anew(&mut self, buf: &mut [u8], offset: u64) {
        self.make(buf, offset);
        if self.scramble {
            self.change(buf, offset);
        }
    }

    /// What a write of the number `key` has at `offset`, and no other has: the same bytes each time that it is asked for.
    pub fn fill_keyed(&mut self, buf: &mut [u8], offset: u64, key: u64) {
        match &mut self.kind {
            Kind::Zeros => buf.fill(0),
            Kind::Pattern(pattern) => pattern.fill(buf, offset),
            Kind::Random => Lanes::new(key).fill(buf),
            Kind::Compressible { .. } => self.compress(buf, offset, |_| Lanes::new(key)),
        }
    }

    /// Writes into each sector where it goes and a number that does not come again, 16 bytes at one of [`PLACES`].
    fn change(&mut self, buf: &mut [u8], offset: u64) {
        let number = self.random.bits();
        let place = (number % PLACES) as usize * LINE;
        let mut sectors = buf.chunks_exact_mut(SECTOR);
        for (sector, at) in (&mut sectors).zip((offset..).step_by(SECTOR)) {
            sector[place..place + 8].copy_from_slice(&at.to_le_bytes());
            sector[place + 8..place + 16].copy_from_slice(&number.to_le_bytes());
        }
        let rest = sectors.into_remainder();
        let len = rest.len().min(8);
        rest[..len].copy_from_slice(&mix(number ^ offset).to_le_bytes()[..len]);
    }

    fn make(&mut self, buf: &mut [u8], offset: u64) {
        match &mut self.kind {
            Kind::Zeros => buf.fill(0),
            Kind::Pattern(pattern) => pattern.fill(buf, offset),
            Kind::Random => {
                for block in buf.chunks_mut(self.block) {
                    next(&mut self.random, &mut self.seed, self.dedupe).fill(block);
                }
            }
            Kind::Compressible { .. } => {
                self.compress(buf, offset, |contents| next(&mut contents.random, &mut contents.seed, contents.dedupe))
            }
        }
    }

    /// Fills each block with what `lanes` give, and what compresses.
    fn compress(&mut self, buf: &mut [u8], offset: u64, lanes: impl Fn(&mut Contents) -> Lanes) {
        for block in buf.chunks_mut(self.block) {
            let mut lanes = lanes(self);
            let Kind::Compressible { chunk, random, rest, pattern } = &mut self.kind else { return };
            if let Some(pattern) = pattern {
                pattern.fill(rest, offset);
            }
            for chunk in block.chunks_mut(*chunk) {
                let (first, last) = chunk.split_at_mut((*random).min(chunk.len()));
                lanes.fill(first);
                last.copy_from_slice(&rest[..last.len()]);
            }
        }
    }
}

/// The generator of the next block: in `dedupe` of 100 cases that of the last one.
#[inline]
fn next(random: &mut Random, seed: &mut u64, dedupe: u64) -> Lanes {
    if dedupe == 0 || !random.percent(dedupe) {
        *seed = random.bits();
    }
    Lanes::new(*seed)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::io::Write;

    use super::*;

    fn buffers(content: Content) -> Buffers {
        Buffers { content, refill: false, scramble: true, dedupe: 0, align: 0 }
    }

    fn contents(buffers: &Buffers, block: usize) -> Contents {
        Contents::new(buffers, Seeds::new(None, true, 0, 1), block)
    }

    /// What `count` sequential writes out of one buffer put into a file.
    fn written(buffers: &Buffers, block: usize, count: usize) -> Vec<u8> {
        let mut contents = contents(buffers, block);
        let mut buf = vec![0; block];
        contents.prefill(&mut buf);
        let mut file = Vec::new();
        for number in 0..count {
            contents.fill(&mut buf, (number * block) as u64);
            file.extend_from_slice(&buf);
        }
        file
    }

    fn unique(file: &[u8], block: usize) -> usize {
        file.chunks(block).collect::<HashSet<_>>().len()
    }

    /// Percent that is left, nearly as by gzip -1. Level 1 of the crate has fixed codes only, and makes 105 % of random bytes.
    fn compressed(file: &[u8]) -> usize {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(2));
        encoder.write_all(file).unwrap();
        encoder.finish().unwrap().len() * 100 / file.len()
    }

    #[test]
    fn blocks_are_as_unique_and_as_compressible_as_asked() {
        let random = buffers(Content::Random);
        let half = Content::Compressible { percent: 50, chunk: 512, pattern: None };
        let pattern = Some(Pattern::parse("0xdeadbeef").unwrap());
        let table: [(&str, Buffers, usize, std::ops::RangeInclusive<usize>); 9] = [
            ("default", random.clone(), 64, 85..=97),
            ("refill", Buffers { refill: true, ..random.clone() }, 64, 99..=101),
            ("no scramble", Buffers { scramble: false, ..random.clone() }, 1, 0..=101),
            ("zeros", buffers(Content::Zeros), 1, 0..=1),
            ("pattern", buffers(Content::Pattern(pattern.clone().unwrap())), 1, 0..=1),
            ("half", buffers(half), 64, 48..=54),
            ("80 %", buffers(Content::Compressible { percent: 80, chunk: 4096, pattern: None }), 64, 18..=23),
            ("half a pattern", buffers(Content::Compressible { percent: 50, chunk: 0, pattern }), 64, 48..=54),
            ("all the same", Buffers { dedupe: 100, ..random }, 1, 0..=101),
        ];
        for (name, buffers, blocks, left) in table {
            let file = written(&buffers, 64 << 10, 64);
            assert_eq!(unique(&file, 64 << 10), blocks, "{name}");
            let compressed = compressed(&file);
            assert!(left.contains(&compressed), "{name}: {compressed} %");
        }
    }

    #[test]
    fn half_of_the_blocks_repeat() {
        let file = written(&Buffers { dedupe: 50, ..buffers(Content::Random) }, 4096, 256);
        let unique = unique(&file, 4096);
        assert!((104..152).contains(&unique), "{unique}");
    }

    /// In a larger write it is the smallest block that repeats.
    #[test]
    fn blocks_within_a_write_repeat_too() {
        let mut contents = contents(&Buffers { dedupe: 50, ..buffers(Content::Random) }, 4096);
        let mut buf = vec![0; 1 << 20];
        contents.fill(&mut buf, 0);
        let unique = unique(&buf, 4096);
        assert!((104..152).contains(&unique), "{unique}");
    }

    #[test]
    fn each_sector_of_each_write_is_another() {
        let file = written(&buffers(Content::Random), 4096, 256);
        assert_eq!(unique(&file, SECTOR), file.len() / SECTOR);
        // The same block written again at the same place, and blocks that are no sectors.
        let mut contents = contents(&buffers(Content::Random), 100);
        let mut buf = vec![0; 100];
        contents.prefill(&mut buf);
        let again = (0..100).map(|_| {
            contents.fill(&mut buf, 0);
            buf.clone()
        });
        assert_eq!(again.collect::<HashSet<_>>().len(), 100);
    }

    #[test]
    fn the_same_seeds_give_the_same_bytes() {
        let random = buffers(Content::Random);
        assert_eq!(written(&random, 4096, 8), written(&random, 4096, 8));
        let mut other = Contents::new(&random, Seeds::new(None, true, 0, 2), 4096);
        let mut buf = vec![0; 4096];
        other.fill_anew(&mut buf, 0);
        assert_ne!(written(&random, 4096, 1), buf, "clones differ");
    }

    #[test]
    fn a_pattern_has_the_offset_of_its_write() {
        let mut contents = contents(&buffers(Content::Pattern(Pattern::parse("\"at\"%o").unwrap())), 16);
        let mut buf = vec![0; 12];
        contents.prefill(&mut buf);
        contents.fill(&mut buf, 0x0102);
        assert_eq!(buf, *b"at\x02\x01\0\0\0\0\0\0at");
    }

    /// Every length, also one that is no multiple of a lane, is filled to its end.
    #[test]
    fn nothing_is_left_unfilled() {
        for len in 1..200 {
            let mut filled = vec![false; len];
            for seed in 0..40 {
                let mut buf = vec![0; len];
                Lanes::new(seed).fill(&mut buf);
                filled.iter_mut().zip(&buf).for_each(|(filled, byte)| *filled |= *byte != 0);
            }
            assert!(filled.iter().all(|filled| *filled), "{len}");
        }
    }
}
