//! What a load gives on one mount target: the least of what its IOPS, its bandwidth, its latency and the load's own rate allow.
//!
//! Promises: reads and writes of their own sizes; a load of many targets is this on each.
//! Leaves out: the client's processors and its network, and loads that share a target.

use std::time::Duration;

use serde::Serialize;

use crate::base::Proc;

use super::{Load, ServerProfile};

/// How large the I/Os of a direction are: bytes, and the part of them that has so many.
pub type Sizes = Vec<(u64, f64)>;

/// What one mount target is asked for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Asked {
    /// The part of the I/Os that are reads, 0 to 1.
    pub read_share: f64,
    /// Bytes of one read, and of one write, on average.
    #[allow(missing_docs)] // as above
    pub read_bytes: u64,
    #[allow(missing_docs)] // as above
    pub write_bytes: u64,
    /// What these are the averages of: a price goes up by steps, and that of the average size is not the average price.
    #[serde(skip)]
    pub sizes: [Sizes; 2],
    /// What makes data safe.
    pub commits: Commits,
    /// I/Os in flight at once.
    pub in_flight: f64,
    /// I/Os a second that the load does not pass.
    pub ios_per_s_max: Option<f64>,
    /// A rate of one of two directions.
    pub one_rate: Option<OneRate>,
    /// Pauses of its own.
    pub pauses: Pauses,
}

/// How often the share of a direction with a rate is halved to where it meets that: beyond what a float tells.
const HALVED_TIMES: usize = 60;

/// COMMITs among the I/Os.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Commits {
    /// For one I/O, on average.
    pub per_io: f64,
    /// What an I/O in flight waits for them, and for those that have to end before, on average: of the time that one answer takes.
    pub share: f64,
}

/// What each I/O in flight waits besides for its answer, on average.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Pauses {
    /// Seconds for each I/O.
    pub seconds: f64,
    /// With them, of the time that answers take: all in flight end before a pause, and nothing is behind them.
    pub drained: f64,
    /// Where pauses come by time: of the time that answers take.
    pub share: f64,
}

/// A rate of one direction of a mix; what the other one has of the I/Os in flight goes on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs)] // the names say it
pub enum OneRate {
    Reads(f64),
    Writes(f64),
}

/// What is met first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // the names say it
pub enum Bound {
    Iops,
    Bandwidth,
    Latency,
    Rate,
    Pauses,
}

impl Bound {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Bound::Iops => "IOPS",
            Bound::Bandwidth => "bandwidth",
            Bound::Latency => "latency x depth",
            Bound::Rate => "rate=",
            Bound::Pauses => "thinktime=",
        }
    }
}

/// What one target will give.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs)] // the names say it
pub struct Given {
    pub ios_per_s: f64,
    pub bytes_per_s: f64,
    /// IOPS of the price list.
    pub priced_iops: f64,
    pub bound: Bound,
    /// The part of the I/Os that are reads: of a mix with one rate not what was asked.
    pub read_share: f64,
}

impl Asked {
    /// What one I/O costs on average, in IOPS of the price list.
    pub fn price(&self, profile: &ServerProfile) -> f64 {
        let of = |sizes: &Sizes, read_share| -> f64 {
            sizes.iter().map(|&(io_bytes, part)| part * Load { io_bytes, read_share }.price(profile)).sum()
        };
        let [reads, writes] = &self.sizes;
        self.read_share * of(reads, 1.0)
            + (1.0 - self.read_share) * of(writes, 0.0)
            + self.commits.per_io * profile.prices.price(Proc::Commit, 0) as f64
    }

    /// Bytes of one I/O on average.
    fn io_bytes(&self) -> f64 {
        self.read_share * self.read_bytes as f64 + (1.0 - self.read_share) * self.write_bytes as f64
    }

    /// What a target of `profile` gives that answers in `latency`.
    pub fn given(&self, profile: &ServerProfile, latency: Duration) -> Given {
        let (rate, own_share, is_read) = match self.one_rate {
            Some(OneRate::Reads(rate)) => (rate, self.read_share, true),
            Some(OneRate::Writes(rate)) => (rate, 1.0 - self.read_share, false),
            None => return self.given_as_mixed(profile, latency),
        };
        let of_share = |share: f64| {
            let read_share = if is_read { share } else { 1.0 - share };
            Asked { read_share, ..self.clone() }.given_as_mixed(profile, latency)
        };
        let whole = of_share(own_share);
        if own_share * whole.ios_per_s <= rate {
            return whole;
        }
        // The mix has a price, and the price says what the rate is of it: the direction has more I/Os the larger its share is.
        let (mut low, mut high) = (0.0, own_share);
        for _ in 0..HALVED_TIMES {
            let share = (low + high) / 2.0;
            let is_below = share * of_share(share).ios_per_s <= rate;
            (low, high) = if is_below { (share, high) } else { (low, share) };
        }
        of_share(low)
    }

    fn given_as_mixed(&self, profile: &ServerProfile, latency: Duration) -> Given {
        let (price, io_bytes) = (self.price(profile), self.io_bytes());
        let latency = latency.as_secs_f64() * (1.0 + self.commits.share);
        let Pauses { seconds, drained, share } = self.pauses;
        let pause = (seconds + latency * drained).max(latency * share);
        let one_by_one = if pause > latency { Bound::Pauses } else { Bound::Latency };
        let limits = [
            (Bound::Iops, Some(profile.ceiling.iops / price)),
            (Bound::Bandwidth, Some(profile.ceiling.bytes_per_s / io_bytes)),
            (one_by_one, (latency + pause > 0.0).then(|| self.in_flight / (latency + pause))),
            (Bound::Rate, self.ios_per_s_max),
        ];
        let known = limits.into_iter().filter_map(|(bound, limit)| Some((bound, limit.filter(|n| n.is_finite())?)));
        let (bound, ios_per_s) = known.min_by(|(_, a), (_, b)| a.total_cmp(b)).unwrap_or((Bound::Iops, 0.0));
        let (bytes_per_s, priced_iops) = (ios_per_s * io_bytes, ios_per_s * price);
        Given { ios_per_s, bytes_per_s, priced_iops, bound, read_share: self.read_share }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_sizes(read_share: f64, read_bytes: u64, write_bytes: u64) -> Asked {
        Asked {
            read_share,
            read_bytes,
            write_bytes,
            sizes: [read_bytes, write_bytes].map(|bytes| vec![(bytes, 1.0)]),
            commits: Commits::default(),
            in_flight: 256.0,
            ios_per_s_max: None,
            one_rate: None,
            pauses: Pauses::default(),
        }
    }

    fn reads() -> Asked {
        of_sizes(1.0, 32 << 10, 32 << 10)
    }

    const LATENCY: Duration = Duration::from_millis(1);

    /// The paper measured 25,018, 12,580, 937 and 761.
    #[test]
    fn the_published_tests() {
        let given = |read_share, bytes| of_sizes(read_share, bytes, bytes).given(&ServerProfile::oci(), LATENCY);
        let close =
            |given: Given, fact: f64, bound| (given.ios_per_s / fact - 1.0).abs() < 0.03 && given.bound == bound;
        assert!(close(given(1.0, 32 << 10), 25_018.0, Bound::Iops));
        assert!(close(given(0.0, 32 << 10), 12_580.0, Bound::Iops));
        assert!(close(given(1.0, 1 << 20), 937.0, Bound::Bandwidth));
        assert!(close(given(0.0, 1 << 20), 761.0, Bound::Iops));
    }

    #[test]
    fn what_else_binds() {
        let of = |asked: Asked, latency| asked.given(&ServerProfile::oci(), latency);
        let alone = of(Asked { in_flight: 1.0, ..reads() }, LATENCY);
        assert_eq!((alone.ios_per_s, alone.bound), (1000.0, Bound::Latency));
        assert_eq!(of(Asked { in_flight: 1.0, ..reads() }, Duration::ZERO).bound, Bound::Iops);
        let rated = of(Asked { ios_per_s_max: Some(10.0), ..reads() }, LATENCY);
        assert_eq!((rated.ios_per_s, rated.bound, rated.priced_iops), (10.0, Bound::Rate, 20.0));
        let pauses = Pauses { seconds: 0.004, ..Pauses::default() };
        let thinks = of(Asked { in_flight: 1.0, pauses, ..reads() }, LATENCY);
        assert_eq!((thinks.ios_per_s, thinks.bound), (200.0, Bound::Pauses));
        assert_eq!(of(Asked { in_flight: 1.0, pauses, ..reads() }, Duration::ZERO).ios_per_s, 250.0);
        let pauses = Pauses { share: 0.25, ..Pauses::default() };
        let halts = of(Asked { in_flight: 1.0, pauses, ..reads() }, LATENCY);
        assert_eq!((halts.ios_per_s, halts.bound), (800.0, Bound::Latency));
        let mixed = of_sizes(0.5, 32 << 10, 64 << 10);
        assert_eq!(mixed.price(&ServerProfile::oci()), 0.5 * 2.0 + 0.5 * 6.0);
        assert_eq!(of(mixed, LATENCY).bytes_per_s, 50_000.0 / 4.0 * f64::from(48 << 10));
        // Half of them 4 KiB (2 IOPS), half 40 KiB (3): the average size, 22 KiB, would have 2.
        let split = Asked { sizes: [vec![(4 << 10, 0.5), (40 << 10, 0.5)], Vec::new()], ..of_sizes(1.0, 22 << 10, 1) };
        assert_eq!(split.price(&ServerProfile::oci()), 2.5);
        // A COMMIT costs 1, and is waited for.
        let commits = Commits { per_io: 0.25, share: 0.25 };
        let safe = Asked { commits, in_flight: 1.0, ..of_sizes(0.0, 1, 4 << 10) };
        assert_eq!(safe.price(&ServerProfile::oci()), 4.0 + 0.25);
        assert_eq!(of(safe, LATENCY).ios_per_s, 800.0);
    }
}
