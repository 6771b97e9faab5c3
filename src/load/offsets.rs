//! Where each I/O goes: sequential, with holes, random with every block once, or by a distribution.
//!
//! Promises: a pass with the random map visits every block of the region exactly once, in memory that does not grow with the region, also
//! where sizes differ; the same seeds give the same I/Os, so that what was written can be visited again.
//! Leaves out: how many I/Os there are (passes, bytes, time), and which direction is next.

use super::distribution::{Distribution, Sampler};
use super::random::{Permutation, Random, Seeds, Stream};
use super::value::Weighted;
use crate::base::hash::mix;

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it; in bytes
pub struct Extent {
    pub offset: u64,
    pub len: u64,
}

/// How large I/Os are, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// All the same.
    Fixed(u64),
    /// From and to, in multiples of the smallest, all equally frequent (measured of fio 3.33: 762, 789, 784 and 875 of 4 to 16 KiB).
    Range(u64, u64),
    /// By weight.
    Split(Vec<Weighted>),
}

impl Sizes {
    /// The smallest; 1 at least.
    pub fn min(&self) -> u64 {
        match self {
            Sizes::Fixed(size) | Sizes::Range(size, _) => *size,
            Sizes::Split(sizes) => sizes.iter().map(|weighted| weighted.size).min().unwrap_or(1),
        }
        .max(1)
    }

    /// The largest.
    pub fn max(&self) -> u64 {
        match self {
            Sizes::Fixed(size) | Sizes::Range(_, size) => *size,
            Sizes::Split(sizes) => sizes.iter().map(|weighted| weighted.size).max().unwrap_or(1),
        }
        .max(self.min())
    }

    /// One, a multiple of `unit` unless the size is fixed.
    #[inline]
    fn draw(&self, random: &mut Random, unit: u64) -> u64 {
        let size = match self {
            Sizes::Fixed(size) => return *size,
            Sizes::Range(low, high) => low.saturating_add(random.below(*high)).min(*high),
            Sizes::Split(sizes) => {
                let all: u64 = sizes.iter().map(|weighted| u64::from(weighted.percent)).sum();
                let mut drawn = random.below(all);
                let found = sizes.iter().find(|weighted| {
                    let hit = drawn < u64::from(weighted.percent);
                    drawn = drawn.saturating_sub(u64::from(weighted.percent));
                    hit
                });
                found.map_or(self.max(), |weighted| weighted.size)
            }
        };
        size / unit * unit
    }
}

/// What follows an I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The bytes behind it, and `skip` more (`rw=read:skip`); from the start again where that leads out of the file, until a pass has moved
    /// as many bytes as the region has. Where it leads out of the region alone the pass is over.
    #[allow(missing_docs)] // as above
    Sequential { skip: u64 },
    /// A new offset after `run` I/Os (`rw=randread:run`); within a run the next bytes, or the same again (`rw_sequencer=identical`).
    #[allow(missing_docs)] // as above
    Random { run: u64, identical: bool },
}

/// What a job's options say of offsets, for one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Sequential or random.
    pub order: Order,
    /// Sizes of I/Os.
    pub sizes: Sizes,
    /// Random offsets are multiples of this, from the region's start (blockalign); the smallest size if not given. Above 0.
    pub align: u64,
    /// Sizes need not be multiples of the smallest (bs_unaligned).
    pub unaligned: bool,
    /// No block twice before all were visited; only with [`Distribution::Uniform`], runs of 1 and all I/Os random.
    pub map: bool,
    /// How random offsets are spread.
    pub distribution: Distribution,
    /// Percent of a random job's I/Os that are random.
    pub percentage_random: u64,
}

impl Plan {
    /// True when no pass visits a byte twice.
    pub fn visits_once(&self) -> bool {
        match self.order {
            Order::Sequential { skip } => skip == 0,
            Order::Random { run, .. } => {
                let once = self.map && self.distribution == Distribution::Uniform && self.percentage_random >= 100;
                let fits = match self.sizes {
                    Sizes::Fixed(size) => self.align >= size,
                    Sizes::Range(..) | Sizes::Split(..) => self.align == self.sizes.min(),
                };
                once && run <= 1 && fits
            }
        }
    }
}

/// Pieces of a slot at least and at most: enough that their order is none, few enough to be laid out for each I/O.
const PIECES_MIN: u64 = 16;
const PIECES_MAX: u64 = 128;

/// The I/Os of one direction in one file.
#[derive(Clone, Debug)]
pub struct Offsets {
    plan: Plan,
    region: Extent,
    /// Bytes of the file that the region is of.
    file_bytes: u64,
    seeds: Seeds,
    /// Tells this file and direction from the clone's others.
    part: u64,
    pass: u64,
    picks: Picks,
    random: Random,
    sizes: Random,
    /// How many of the pass's picks were made.
    picked: u64,
    /// Where sequential I/O goes on, from the region's start.
    position: u64,
    last: Option<Extent>,
    left_in_run: u64,
}

/// Where random offsets come from.
#[derive(Clone, Debug)]
enum Picks {
    /// Each block once; all I/Os are of one size.
    Once(Permutation),
    /// Sizes differ: the region is cut into slots of one length, each slot into the same number of pieces in an order of its own, and the
    /// pieces are visited in the order of a permutation of (slot, index).
    Pieces(Pieces),
    Any(Sampler),
}

#[derive(Clone, Debug)]
struct Pieces {
    order: Permutation,
    mixture: Mixture,
    slot: u64,
    seed: u64,
}

/// The pieces of a slot: whatever their order, their lengths have one sum.
#[derive(Clone, Debug)]
enum Mixture {
    /// Sizes by their weights.
    Counted(Vec<u64>),
    /// Pairs of a size drawn from the range and what is left of smallest and largest together; in units.
    #[allow(missing_docs)] // as above
    Pairs { low: u64, high: u64, unit: u64 },
}

impl Mixture {
    fn new(sizes: &Sizes, unit: u64) -> Mixture {
        match sizes {
            Sizes::Fixed(size) => Mixture::Counted(vec![*size; PIECES_MIN as usize]),
            Sizes::Range(..) => Mixture::Pairs { low: sizes.min() / unit, high: sizes.max() / unit, unit },
            Sizes::Split(split) => {
                let sum: u64 = split.iter().map(|weighted| u64::from(weighted.percent)).sum();
                let divisor =
                    split.iter().fold(0, |divisor, weighted| gcd(u64::from(weighted.percent), divisor)).max(1);
                let times = PIECES_MIN.div_ceil(sum / divisor);
                let exact = sum / divisor * times <= PIECES_MAX;
                let counted = split.iter().filter(|weighted| weighted.percent > 0).flat_map(|weighted| {
                    let percent = u64::from(weighted.percent);
                    let count = if exact { percent / divisor * times } else { (percent * PIECES_MIN * 4 / sum).max(1) };
                    std::iter::repeat_n((weighted.size / unit * unit).max(unit), count as usize)
                });
                Mixture::Counted(counted.collect())
            }
        }
    }

    fn len(&self) -> u64 {
        match self {
            Mixture::Counted(sizes) => sizes.len() as u64,
            Mixture::Pairs { .. } => PIECES_MIN,
        }
    }

    /// Bytes of all pieces together.
    fn sum(&self) -> u64 {
        match self {
            Mixture::Counted(sizes) => sizes.iter().sum(),
            Mixture::Pairs { low, high, unit } => (low + high) * unit * (PIECES_MIN / 2),
        }
    }

    /// Where the piece `index` of a slot begins, and its bytes; `random` is the slot's.
    fn piece(&self, index: u64, random: &mut Random) -> (u64, u64) {
        let mut pairs = [0; PIECES_MIN as usize];
        let mut counted = [0; PIECES_MAX as usize];
        let sizes = match self {
            Mixture::Counted(sizes) => {
                counted[..sizes.len()].copy_from_slice(sizes);
                &mut counted[..sizes.len()]
            }
            Mixture::Pairs { low, high, unit } => {
                pairs.chunks_exact_mut(2).for_each(|pair| {
                    let drawn = low + random.below(high - low + 1);
                    (pair[0], pair[1]) = (drawn * unit, (low + high - drawn) * unit);
                });
                &mut pairs[..]
            }
        };
        // As much of a shuffle as is needed.
        let mut offset = 0;
        for at in 0..=index as usize {
            sizes.swap(at, at + random.below((sizes.len() - at) as u64) as usize);
            if at < index as usize {
                offset += sizes[at];
            }
        }
        (offset, sizes[index as usize])
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Offsets {
    /// Over `region`; `part` tells files and directions of one clone apart.
    pub fn new(plan: Plan, region: Extent, seeds: Seeds, part: u64) -> Offsets {
        let picks = Offsets::picks(&plan, region.len, seeds, part, 0);
        let (random, sizes) = (seeds.random(Stream::Sequence, part), seeds.random(Stream::Sizes, part));
        Offsets {
            plan,
            region,
            file_bytes: region.offset.saturating_add(region.len),
            seeds,
            part,
            pass: 0,
            picks,
            random,
            sizes,
            picked: 0,
            position: 0,
            last: None,
            left_in_run: 0,
        }
    }

    /// The region is of a file of so many bytes, if those are more than it needs.
    pub fn in_file(&mut self, bytes: u64) {
        self.file_bytes = self.file_bytes.max(bytes);
    }

    fn picks(plan: &Plan, len: u64, seeds: Seeds, part: u64, pass: u64) -> Picks {
        let seed = seeds.seed(Stream::Blocks, part ^ pass << 32);
        let min = plan.sizes.min();
        // Blocks at which the smallest I/O still fits.
        let blocks = if len < min { 0 } else { (len - min) / plan.align + 1 };
        // Nothing is picked of what is sequential.
        let once = matches!(plan.order, Order::Random { .. }) && plan.visits_once();
        match plan.sizes {
            Sizes::Fixed(_) if once => Picks::Once(Permutation::new(blocks, seed)),
            Sizes::Range(..) | Sizes::Split(..) if once => {
                let unit = if plan.unaligned { 1 } else { min };
                let mixture = Mixture::new(&plan.sizes, unit);
                let slot = mixture.sum();
                let slots = (len / unit * unit).div_ceil(slot);
                Picks::Pieces(Pieces {
                    order: Permutation::new(slots.saturating_mul(mixture.len()), seed),
                    mixture,
                    slot,
                    seed,
                })
            }
            // The places of hot blocks are those of the first pass.
            _ => Picks::Any(Sampler::new(&plan.distribution, blocks, plan.align, seeds.seed(Stream::Blocks, part))),
        }
    }

    /// Bytes that sizes are multiples of.
    fn unit(&self) -> u64 {
        if self.plan.unaligned { 1 } else { self.plan.sizes.min() }
    }

    /// The next I/O; None at the end of a pass, unless the plan leaves it to its caller to count the bytes of one; and always where not even the smallest fits the region.
    #[inline]
    pub fn next_io(&mut self) -> Option<Extent> {
        let (offset, len) = match self.plan.order {
            Order::Sequential { skip } => {
                let (offset, len) = self.onward()?;
                self.position = self.behind(offset + len, skip);
                (offset, len)
            }
            Order::Random { run, identical } => {
                let (offset, len) = self.random_io(run, identical)?;
                self.position = offset + len;
                (offset, len)
            }
        };
        let extent = Extent { offset: self.region.offset + offset, len };
        self.last = Some(extent);
        Some(extent)
    }

    /// Begins the next pass: sequential I/O at the start, random I/O in another order.
    pub fn restart(&mut self) {
        self.pass += 1;
        (self.picked, self.position, self.left_in_run) = (0, 0, 0);
        self.picks = Offsets::picks(&self.plan, self.region.len, self.seeds, self.part, self.pass);
    }

    /// Where the next I/O is, of what is sequential and has an I/O that ended at `end`. As fio 3.33, which ends a pass early where an I/O
    /// ends with the file, or does not fit; and which begins as far behind the region's start as that is behind the file's.
    fn behind(&self, end: u64, skip: u64) -> u64 {
        let next = end.saturating_add(skip);
        let is_out = skip > 0 && self.region.offset + end < self.file_bytes && next >= self.file_bytes;
        if is_out { self.region.offset } else { next }
    }

    fn random_io(&mut self, run: u64, identical: bool) -> Option<(u64, u64)> {
        if self.left_in_run > 0 {
            self.left_in_run -= 1;
            let again = self.last.filter(|_| identical).map(|last| (last.offset - self.region.offset, last.len));
            if let Some(io) = again.or_else(|| self.onward()) {
                return Some(io);
            }
        }
        let sequential = self.plan.percentage_random < 100 && !self.random.percent(self.plan.percentage_random);
        if let Some(io) = sequential.then(|| self.onward()).flatten() {
            return Some(io);
        }
        self.left_in_run = run.saturating_sub(1);
        match &self.picks {
            Picks::Once(order) => {
                let index = self.picked;
                (index < order.len())
                    .then(|| (order.at(index) * self.plan.align, self.plan.sizes.max()))
                    .inspect(|_| self.picked += 1)
            }
            Picks::Pieces(_) => self.piece(),
            Picks::Any(sampler) => {
                if self.region.len < self.plan.sizes.min() {
                    return None;
                }
                let offset = sampler.draw(&mut self.random) * self.plan.align;
                let unit = self.unit();
                let size = self.plan.sizes.draw(&mut self.sizes, unit);
                Some((offset, self.cut(offset, size)))
            }
        }
    }

    /// The bytes behind the last I/O, if the smallest I/O fits there. As in fio the last of one size may lead out of the region, not of the file.
    fn onward(&mut self) -> Option<(u64, u64)> {
        let left = self.region.len.checked_sub(self.position).filter(|left| *left > 0)?;
        if let Sizes::Fixed(size) = self.plan.sizes {
            let in_file = self.file_bytes - self.region.offset - self.position;
            return (size <= in_file).then_some((self.position, size));
        }
        if left < self.plan.sizes.min() {
            return None;
        }
        let unit = self.unit();
        let size = self.plan.sizes.draw(&mut self.sizes, unit);
        Some((self.position, self.cut(self.position, size)))
    }

    /// `size` at `offset`, or what of it fits the region.
    fn cut(&self, offset: u64, size: u64) -> u64 {
        let left = self.region.len - offset;
        if size <= left { size } else { left / self.unit() * self.unit() }
    }

    fn piece(&mut self) -> Option<(u64, u64)> {
        let unit = self.unit();
        let Picks::Pieces(pieces) = &self.picks else { return None };
        if self.region.len < self.plan.sizes.min() {
            return None;
        }
        let whole = self.region.len / unit * unit;
        while self.picked < pieces.order.len() {
            let at = pieces.order.at(self.picked);
            self.picked += 1;
            let (slot, index) = (at / pieces.mixture.len(), at % pieces.mixture.len());
            let mut random = Random::new(mix(pieces.seed ^ slot));
            let (offset, size) = pieces.mixture.piece(index, &mut random);
            let start = slot * pieces.slot + offset;
            // The last slot is cut off where the region ends; with bs_unaligned= that may leave less than the smallest I/O.
            let size = size.min(whole.saturating_sub(start));
            if size >= self.plan.sizes.min() {
                return Some((start, size));
            }
        }
        None
    }
}

#[cfg(test)]
#[path = "offsets_tests.rs"]
mod tests;
