//! Numbers from seeds: the same on every machine and in every version.
//!
//! Promises: streams of one job are independent of each other and of other clones'; a permutation of any number of things in the memory of
//! a few words.
//! Leaves out: entropy; who wants other numbers on each run brings a seed from the system. The numbers are not fio's, which changed
//! between its versions too.

use crate::base::hash::mix;

/// A generator with 64 bits of state (splitmix64, Steele et al. 2014): a few nanoseconds a number, any seed is good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random(u64);

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let bits = mix(self.0);
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        bits
    }

    /// Below `n`; 0 for an `n` of 0. For numbers of a file's blocks the bias is below 2^-20.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// From 0 to below 1.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True in `percent` of 100 times.
    #[inline]
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// What random numbers of a job are for. Each has a stream of its own, so that a job with another mix still visits the same offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
#[repr(u64)]
pub enum Stream {
    Blocks,
    Sizes,
    Mix,
    File,
    FileSizes,
    Delay,
    Poisson,
    Buffers,
    Verify,
    Sequence,
}

impl Stream {
    /// All, in the order of their numbers.
    pub const ALL: [Stream; 10] = [
        Stream::Blocks,
        Stream::Sizes,
        Stream::Mix,
        Stream::File,
        Stream::FileSizes,
        Stream::Delay,
        Stream::Poisson,
        Stream::Buffers,
        Stream::Verify,
        Stream::Sequence,
    ];
}

/// Where a clone's streams begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds(u64);

/// fio's seed if none is given.
pub const SEED: u64 = 0x89;

impl Seeds {
    /// Of the `clone`-th job of the run (from 1). `given` is randseed, which overrides randrepeat; `repeat` is randrepeat or allrandrepeat;
    /// `entropy` is what differs from run to run.
    pub fn new(given: Option<u64>, repeat: bool, entropy: u64, clone: u64) -> Seeds {
        let seed = given.unwrap_or(if repeat { SEED } else { entropy });
        Seeds(mix(mix(seed) ^ clone))
    }

    /// The seed of a stream's `part` (a file, a pass, a direction).
    pub fn seed(self, stream: Stream, part: u64) -> u64 {
        mix(self.0 ^ mix(stream as u64) ^ mix(part).rotate_left(17))
    }

    /// A generator for a stream's `part`.
    pub fn random(self, stream: Stream, part: u64) -> Random {
        Random::new(self.seed(stream, part))
    }
}

/// A keyed permutation of the numbers below `n`: a Feistel network over the smallest power of two that holds them, walked until it falls
/// below `n` (Black and Rogaway 2002), which takes less than two steps on average. Four rounds of [`mix`] leave no order that a disk, a
/// cache or a read-ahead could see; it is no cipher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation {
    n: u64,
    low_bits: u32,
    low_mask: u64,
    high_mask: u64,
    keys: [u64; 4],
}

impl Permutation {
    /// Of the numbers below `n`.
    pub fn new(n: u64, seed: u64) -> Permutation {
        let bits = (64 - n.saturating_sub(1).leading_zeros()).max(2);
        let low_bits = bits / 2;
        let mut random = Random::new(seed);
        Permutation {
            n,
            low_bits,
            low_mask: (1 << low_bits) - 1,
            high_mask: (1 << (bits - low_bits)) - 1,
            keys: [random.bits(), random.bits(), random.bits(), random.bits()],
        }
    }

    /// How many numbers there are.
    pub fn len(&self) -> u64 {
        self.n
    }

    /// Where `index` (below `n`) goes.
    #[inline]
    pub fn at(&self, index: u64) -> u64 {
        debug_assert!(index < self.n, "{index} of {}", self.n);
        let mut value = index;
        loop {
            value = self.round(value);
            if value < self.n {
                return value;
            }
        }
    }

    #[inline]
    fn round(&self, value: u64) -> u64 {
        let (mut low, mut high) = (value & self.low_mask, value >> self.low_bits);
        for keys in self.keys.chunks_exact(2) {
            low ^= mix(high ^ keys[0]) & self.low_mask;
            high ^= mix(low ^ keys[1]) & self.high_mask;
        }
        high << self.low_bits | low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permutation_visits_each_number_once() {
        for n in [1, 2, 3, 4, 5, 7, 8, 9, 100, 1000, 1024, 1025, 4097, 65_537] {
            let permutation = Permutation::new(n, 7);
            let mut seen = vec![false; n as usize];
            (0..n).for_each(|i| assert!(!std::mem::replace(&mut seen[permutation.at(i) as usize], true), "{i} of {n}"));
        }
    }

    #[test]
    fn large_permutations_stay_within_bounds() {
        for n in [(1 << 34) + 1, 1 << 52, u64::MAX] {
            let permutation = Permutation::new(n, 1);
            for i in [0, 1, 2, n / 2, n - 1] {
                assert!(permutation.at(i) < n);
            }
        }
    }

    /// Neighbours end up far apart, in either direction equally often.
    #[test]
    fn a_permutation_has_no_order() {
        let n = 1 << 20;
        let permutation = Permutation::new(n, SEED);
        let steps: Vec<i64> = (1..10_000).map(|i| permutation.at(i) as i64 - permutation.at(i - 1) as i64).collect();
        let up = steps.iter().filter(|step| **step > 0).count();
        assert!((4_700..5_300).contains(&up), "{up}");
        let near = steps.iter().filter(|step| step.abs() < 64).count();
        assert!(near < 10, "{near}");
        let fixed = (0..10_000).filter(|i| permutation.at(*i) == *i).count();
        assert!(fixed < 5, "{fixed}");
    }

    #[test]
    fn streams_are_in_the_order_of_their_numbers() {
        assert!(Stream::ALL.iter().enumerate().all(|(at, stream)| *stream as usize == at));
        assert_eq!(Stream::ALL.last(), Some(&Stream::Sequence), "the last one");
    }

    #[test]
    fn seeds_repeat_unless_asked_not_to() {
        let seed = |given, repeat, entropy, clone| Seeds::new(given, repeat, entropy, clone).seed(Stream::Blocks, 0);
        assert_eq!(seed(None, true, 1, 1), seed(None, true, 2, 1), "randrepeat=1");
        assert_ne!(seed(None, false, 1, 1), seed(None, false, 2, 1), "randrepeat=0");
        assert_ne!(seed(None, true, 1, 1), seed(None, true, 1, 2), "clones differ");
        assert_eq!(seed(Some(5), false, 1, 1), seed(Some(5), true, 2, 1), "randseed overrides");
        assert_eq!(seed(Some(SEED), true, 1, 1), seed(None, true, 1, 1), "the default seed");
        let seeds = Seeds::new(None, true, 0, 1);
        assert_ne!(seeds.seed(Stream::Blocks, 0), seeds.seed(Stream::Sizes, 0));
        assert_ne!(seeds.seed(Stream::Blocks, 0), seeds.seed(Stream::Blocks, 1));
    }

    #[test]
    fn numbers_are_even_and_the_same_for_ever() {
        let mut random = Random::new(0);
        assert_eq!(random.bits(), 0xe220_a839_7b1d_cdaf, "splitmix64's first number of seed 0");
        let mut counts = [0; 10];
        (0..10_000).for_each(|_| counts[random.below(10) as usize] += 1);
        assert!(counts.iter().all(|count| (900..1_100).contains(count)), "{counts:?}");
        let hits = (0..10_000).filter(|_| random.percent(70)).count();
        assert!((6_850..7_150).contains(&hits), "{hits}");
    }
}
