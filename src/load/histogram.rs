//! Latencies as fio counts them: 64 buckets for each power of two of nanoseconds, and the sums for mean and deviation.
//!
//! Promises: bucket labels, midpoints and ranks are fio's, so that percentiles are within 1/128 of the exact ones; merging loses nothing.
//! Above fio's last bucket (17 s, where a server that hangs would not be seen) counting goes on; [`Histogram::bins`] folds it for
//! readers that know only fio's 1856 buckets.
//! Leaves out: printing.

/// Buckets for each power of two, and below twice as many nanoseconds exact ones.
const SUB: usize = 64;
const SUB_BITS: u32 = 6;

/// What fio has: 29 groups of 64.
pub const FIO_BUCKETS: usize = 29 * SUB;

/// Up to 2^64 ns.
const BUCKETS: usize = (64 - SUB_BITS as usize + 1) * SUB;

/// Counts of latencies in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Vec<u64>,
    /// All that was counted.
    total: u64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { counts: vec![0; BUCKETS], total: 0 }
    }
}

/// The bucket of a value in ns: below 128 its own; else by the top seven bits.
#[inline]
pub fn bucket(ns: u64) -> usize {
    let top = 63 - (ns | 1).leading_zeros();
    if top <= SUB_BITS {
        return ns as usize;
    }
    let shift = top - SUB_BITS;
    (shift as usize + 1) * SUB + ((ns >> shift) as usize & (SUB - 1))
}

/// The middle of a bucket, in ns.
pub fn midpoint(bucket: usize) -> u64 {
    if bucket < 2 * SUB {
        return bucket as u64;
    }
    let shift = bucket / SUB - 1;
    let start = ((SUB + bucket % SUB) as u64) << shift;
    start + (1 << (shift - 1))
}

impl Histogram {
    /// Counts one.
    #[inline]
    pub fn add(&mut self, ns: u64) {
        self.counts[bucket(ns)] += 1;
        self.total += 1;
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.total += other.total;
    }

    /// How many were counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The values, in ns, of ascending `percentiles` (0 to 100): the middle of the first bucket up to which at least that share was counted.
    /// Zeros when nothing was.
    pub fn percentiles(&self, percentiles: &[f64]) -> Vec<u64> {
        let mut sum = 0;
        let mut buckets = self.counts.iter().enumerate();
        let mut last = 0;
        let value = |percentile: &f64| {
            let wanted = percentile / 100.0 * self.total as f64;
            // Something must have been counted, also for the 0th.
            while self.total > 0 && (sum == 0 || (sum as f64) < wanted) {
                let Some((bucket, count)) = buckets.next() else { break };
                sum += count;
                last = bucket;
            }
            midpoint(last)
        };
        percentiles.iter().map(value).collect()
    }

    /// fio's buckets that hold something: their middles in ns, and counts. What is above fio's last is in it.
    pub fn bins(&self) -> Vec<(u64, u64)> {
        let beyond: u64 = self.counts[FIO_BUCKETS..].iter().sum();
        let counted = self.counts[..FIO_BUCKETS].iter().enumerate();
        let folded = counted
            .map(|(bucket, count)| (midpoint(bucket), count + if bucket + 1 == FIO_BUCKETS { beyond } else { 0 }));
        folded.filter(|(_, count)| *count > 0).collect()
    }
}

/// Smallest, largest, mean and deviation of any numbers, as fio sums them (Welford 1962; groups by Chan et al. 1979).
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // the names say it
pub struct Moments {
    pub min: u64,
    pub max: u64,
    pub n: u64,
    pub mean: f64,
    /// Sum of squared distances from the mean.
    pub squares: f64,
}

impl Default for Moments {
    fn default() -> Moments {
        Moments { min: u64::MAX, max: 0, n: 0, mean: 0.0, squares: 0.0 }
    }
}

impl Moments {
    /// Adds one.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.n += 1;
        let delta = value as f64 - self.mean;
        self.mean += delta / self.n as f64;
        self.squares += delta * (value as f64 - self.mean);
    }

    /// Adds all of `other`, as if each had been added.
    pub fn merge(&mut self, other: &Moments) {
        if other.n == 0 {
            return;
        }
        let n = self.n + other.n;
        let delta = other.mean - self.mean;
        let (here, there) = (self.n as f64, other.n as f64);
        self.squares += other.squares + delta * delta * here * there / n as f64;
        self.mean += delta * there / n as f64;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.n = n;
    }

    /// Adds what another job of a group sampled at the same times: smallest, largest and mean are summed, as fio does for bandwidth and
    /// IOPS, though they were not at the same times.
    pub fn merge_sum(&mut self, other: &Moments) {
        if other.n == 0 {
            return;
        }
        if self.n == 0 {
            *self = *other;
            return;
        }
        self.min = self.min.saturating_add(other.min);
        self.max = self.max.saturating_add(other.max);
        self.mean += other.mean;
        self.squares += other.squares;
        self.n += other.n;
    }

    /// The smallest; 0 of nothing.
    pub fn least(&self) -> u64 {
        if self.n == 0 { 0 } else { self.min }
    }

    /// The standard deviation of a sample; 0 of fewer than two.
    pub fn deviation(&self) -> f64 {
        if self.n > 1 { (self.squares / (self.n - 1) as f64).sqrt() } else { 0.0 }
    }
}

/// Upper bounds of the shares that reports show, in ns, µs and ms; of ms also 2000.
const STEPS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];

/// How many I/Os took less than each of the bounds (and not less than the one before), by nanosecond, microsecond and millisecond bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // as above
pub struct Shares {
    pub ns: [u64; 10],
    pub us: [u64; 10],
    pub ms: [u64; 12],
}

impl Shares {
    /// Counts one, of `ns`.
    #[inline]
    pub fn add(&mut self, ns: u64) {
        let step = |value: u64| STEPS.iter().position(|bound| value < *bound);
        if let Some(at) = step(ns) {
            self.ns[at] += 1;
        } else if let Some(at) = step(ns / 1000) {
            self.us[at] += 1;
        } else {
            let ms = ns / 1_000_000;
            self.ms[step(ms).unwrap_or(if ms < 2000 { 10 } else { 11 })] += 1;
        }
    }

    /// Adds all of `other`.
    pub fn merge(&mut self, other: &Shares) {
        let all = |to: &mut [u64], from: &[u64]| to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        all(&mut self.ns, &other.ns);
        all(&mut self.us, &other.us);
        all(&mut self.ms, &other.ms);
    }

    /// Labels of the bounds of ns and µs, and with the last two those of ms.
    pub const LABELS: [&'static str; 12] =
        ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000"];
}

/// Percent of `all` for each count, as reports show them: a count that is not 0 is at least 0.01.
pub fn percent_of(count: u64, all: u64) -> f64 {
    match (count, all) {
        (0, _) | (_, 0) => 0.0,
        (count, all) => (100.0 * count as f64 / all as f64).max(0.01),
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::Random;
    use super::*;

    #[test]
    fn buckets_are_fio_s() {
        assert!((0..128).all(|ns| bucket(ns) == ns as usize && midpoint(ns as usize) == ns));
        assert_eq!((bucket(128), bucket(129), bucket(130)), (128, 128, 129));
        assert_eq!(midpoint(128), 129);
        // 4293 us is a midpoint that fio printed: 4292608 = 2^22 + 1.5 * 2^16.
        assert_eq!(midpoint(bucket(4_293_000)), 4_292_608);
        assert_eq!(bucket((1 << 34) - 1), FIO_BUCKETS - 1, "17 s end fio's buckets");
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        for bucket_before in 0..BUCKETS - 1 {
            assert!(midpoint(bucket_before) < midpoint(bucket_before + 1));
            assert_eq!(bucket(midpoint(bucket_before)), bucket_before);
        }
    }

    #[test]
    fn percentiles_are_within_a_128th() {
        let mut random = Random::new(4);
        let mut value = || 1 << (random.below(30) + 1);
        let bounds: Vec<u64> = (0..50_000).map(|_| value()).collect();
        let mut exact: Vec<u64> = bounds.iter().map(|bound| random.below(*bound)).collect();
        let mut histogram = Histogram::default();
        exact.iter().for_each(|ns| histogram.add(*ns));
        exact.sort_unstable();
        let asked = [0.0, 1.0, 25.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0];
        for (percentile, got) in asked.iter().zip(histogram.percentiles(&asked)) {
            let rank = ((percentile / 100.0 * exact.len() as f64).ceil() as usize).max(1);
            let wanted = exact[rank - 1] as f64;
            assert!((got as f64 - wanted).abs() <= wanted / 128.0, "{percentile}: {got}, not {wanted}");
        }
    }

    #[test]
    fn ranks_are_the_first_bucket_that_has_enough() {
        let mut histogram = Histogram::default();
        [10, 20, 30, 40].iter().for_each(|ns| histogram.add(*ns));
        assert_eq!(histogram.percentiles(&[25.0, 25.1, 50.0, 75.0, 99.0, 100.0]), [10, 20, 20, 30, 40, 40]);
        assert_eq!(Histogram::default().percentiles(&[50.0, 99.0]), [0, 0]);
    }

    #[test]
    fn merging_is_counting_together() {
        let (mut a, mut b, mut both) = (Histogram::default(), Histogram::default(), Histogram::default());
        let (mut moments_a, mut moments_b, mut moments) = (Moments::default(), Moments::default(), Moments::default());
        for ns in 0..1000 {
            let (histogram, part) = if ns % 3 == 0 { (&mut a, &mut moments_a) } else { (&mut b, &mut moments_b) };
            histogram.add(ns * ns);
            part.add(ns * ns);
            both.add(ns * ns);
            moments.add(ns * ns);
        }
        a.merge(&b);
        moments_a.merge(&moments_b);
        assert_eq!(a, both);
        assert_eq!((moments_a.n, moments_a.min, moments_a.max), (moments.n, moments.min, moments.max));
        assert!((moments_a.mean / moments.mean - 1.0).abs() < 1e-9);
        assert!((moments_a.deviation() / moments.deviation() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn values_beyond_fio_s_last_bucket_are_seen() {
        let mut histogram = Histogram::default();
        histogram.add(5);
        histogram.add(60_000_000_000);
        assert_eq!(histogram.bins(), [(5, 1), (midpoint(FIO_BUCKETS - 1), 1)]);
        assert!((histogram.percentiles(&[100.0])[0] as f64 / 6e10 - 1.0).abs() < 1.0 / 128.0);
    }

    #[test]
    fn deviation_of_a_sample() {
        let mut moments = Moments::default();
        assert_eq!((moments.least(), moments.deviation()), (0, 0.0));
        [2, 4, 4, 4, 5, 5, 7, 9].iter().for_each(|value| moments.add(*value));
        assert_eq!((moments.least(), moments.max, moments.mean), (2, 9, 5.0));
        assert!((moments.deviation() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        let mut group = moments;
        group.merge_sum(&moments);
        assert_eq!((group.min, group.max, group.mean, group.n), (4, 18, 10.0, 16), "a group's members are summed");
    }

    #[test]
    fn shares_have_exclusive_upper_bounds() {
        let mut shares = Shares::default();
        for ns in [1, 2, 20, 49, 999, 1_000, 999_999, 1_000_000, 1_999_000_000, 2_000_000_000] {
            shares.add(ns);
        }
        assert_eq!(shares.ns, [1, 1, 0, 0, 2, 0, 0, 0, 0, 1]);
        assert_eq!(shares.us, [1, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(shares.ms, [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
        assert_eq!([percent_of(0, 5), percent_of(1, 1_000_000), percent_of(1, 4)], [0.0, 0.01, 25.0]);
    }
}
