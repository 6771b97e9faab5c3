//! `random_distribution=`: which blocks are visited how often.
//!
//! Promises: no memory and no set-up that grow with the file; hot blocks are spread over it (zipf, pareto), or lie where the option says
//! (normal, zoned).
//! Leaves out: the random map: fio uses none with these either.

use super::Each;
use super::random::{Permutation, Random};
use super::value::{self, BadValue, KbBase};

/// A zone of `zoned`: how many of 100 accesses go to how much of the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Zone {
    /// Percent of accesses.
    pub access: u32,
    /// How much of the file.
    pub size: ZoneSize,
}

/// How large a zone is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ZoneSize {
    /// Percent of the region.
    Percent(u32),
    /// Bytes.
    Bytes(u64),
}

/// How accesses are spread.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// All blocks equally.
    Uniform,
    /// The k-th hottest block in proportion to 1 / k^theta; `center` is where the hottest lies, 0 to 1, else anywhere.
    #[allow(missing_docs)] // as above
    Zipf { theta: f64, center: Option<f64> },
    /// A share `h` of blocks gets the share 1 - h of accesses.
    #[allow(missing_docs)] // as above
    Pareto { h: f64, center: Option<f64> },
    /// Around the middle (or `center`), with a deviation in percent of the region.
    #[allow(missing_docs)] // as above
    Normal { percent: f64, center: Option<f64> },
    /// Zone after zone from the start.
    Zoned(Vec<Zone>),
}

/// Zones at most, as in fio.
pub const ZONES_MAX: usize = 256;

/// What the words of `random_distribution` mean for each direction: `zipf:1.2`, `normal:20:0.3`, `zoned:60/10:30/20:10/70,50/50:50/50`.
pub fn parse(word: &str, more: Option<&str>, base: KbBase) -> Result<Each<Distribution>, BadValue> {
    if word.starts_with("zoned") {
        let mut zones = more.unwrap_or_default().split(',').map(|list| zones(list, word == "zoned_abs", base));
        let read = zones.next().unwrap_or_else(|| bad("zones are missing".into()))?;
        let write = zones.next().transpose()?.unwrap_or_else(|| read.clone());
        let trim = zones.next().transpose()?.unwrap_or_else(|| write.clone());
        return Ok(Each {
            read: Distribution::Zoned(read),
            write: Distribution::Zoned(write),
            trim: Distribution::Zoned(trim),
        });
    }
    let mut numbers = Vec::new();
    for text in more.into_iter().flat_map(|more| more.split(':')) {
        match text.trim().trim_end_matches('%').parse::<f64>() {
            Ok(number) if number.is_finite() && number >= 0.0 => numbers.push(number),
            _ => return bad(format!("'{text}' is not a number")),
        }
    }
    let center = numbers.get(1).copied();
    if center.is_some_and(|center| center > 1.0) || numbers.len() > 2 {
        return bad(format!("'{}' has a center that is not from 0 to 1", more.unwrap_or_default()));
    }
    // fio's defaults.
    let first = |default: f64| numbers.first().copied().unwrap_or(default);
    let found = match word {
        "zipf" if first(1.1) == 1.0 => return bad("zipf theta must be different than 1.0".into()),
        "zipf" => Distribution::Zipf { theta: first(1.1), center },
        "pareto" if first(0.2) <= 0.0 || first(0.2) >= 1.0 => {
            return bad("pareto input out of range (0 < input < 1.0)".into());
        }
        "pareto" => Distribution::Pareto { h: first(0.2), center },
        "normal" if first(0.0) > 100.0 => return bad("normal deviation out of range (0 <= input <= 100)".into()),
        "normal" => Distribution::Normal { percent: first(0.0), center },
        _ => Distribution::Uniform,
    };
    Ok(Each { read: found.clone(), write: found.clone(), trim: found })
}

fn bad<T>(text: String) -> Result<T, BadValue> {
    Err(BadValue(text))
}

fn zones(list: &str, absolute: bool, base: KbBase) -> Result<Vec<Zone>, BadValue> {
    let mut given: Vec<(u32, Option<ZoneSize>)> = Vec::new();
    for text in list.split(':').filter(|text| !text.trim().is_empty()) {
        let (access, size) = text.split_once('/').unwrap_or((text, ""));
        let percent =
            |text: &str| text.trim().trim_end_matches('%').parse::<u32>().ok().filter(|percent| *percent <= 100);
        let Some(access) = percent(access) else { return bad(format!("'{access}' is not a percentage")) };
        let size = match (absolute, percent(size)) {
            (true, _) => Some(ZoneSize::Bytes(value::bytes(size, base)?.value)),
            (false, None) if size.trim().is_empty() => None,
            (false, Some(size)) => Some(ZoneSize::Percent(size)),
            (false, None) => return bad(format!("'{size}' is not a percentage")),
        };
        given.push((access, size));
    }
    let access: u32 = given.iter().map(|(access, _)| access).sum();
    let percent = |size: &Option<ZoneSize>| if let Some(ZoneSize::Percent(size)) = size { *size } else { 0 };
    let sizes: u32 = given.iter().map(|(_, size)| percent(size)).sum();
    // As in fio (measured with 3.33): what is left of the file is theirs in equal parts, and what no zone has is not visited.
    let unsized_zones = given.iter().filter(|(_, size)| size.is_none()).count() as u32;
    let each = 100_u32.saturating_sub(sizes).checked_div(unsized_zones);
    match () {
        () if given.is_empty() || given.len() > ZONES_MAX => bad(format!("1 to {ZONES_MAX} zones are possible")),
        () if access != 100 => bad(format!("zones have {access} % of accesses, not 100")),
        () if sizes > 100 => bad(format!("zones have {sizes} % of the file, more than 100")),
        () if !absolute && (each == Some(0) || each.is_none() && sizes == 0) => {
            bad(format!("'{list}' leaves nothing of the file for a zone"))
        }
        () => {
            let size = |size: Option<ZoneSize>| size.unwrap_or(ZoneSize::Percent(each.unwrap_or(0)));
            Ok(given.into_iter().map(|(access, of)| Zone { access, size: size(of) }).collect())
        }
    }
}

/// Draws blocks of a region by a distribution.
#[derive(Clone, Debug)]
pub struct Sampler {
    n: u64,
    draw: Draw,
}

#[derive(Clone, Debug)]
enum Draw {
    Uniform,
    Zipf {
        zipf: Zipf,
        spread: Spread,
    },
    Pareto {
        power: f64,
        spread: Spread,
    },
    Normal {
        deviation: f64,
        center: f64,
    },
    /// Up to which of 100 accesses, from and to which block.
    Zoned(Vec<(u64, u64, u64)>),
}

/// Where the ranks of hot blocks lie: anywhere, or on from one place.
#[derive(Clone, Debug)]
enum Spread {
    Anywhere(Permutation),
    From(u64),
}

impl Sampler {
    /// Over `n` blocks of `block` bytes; `seed` says where hot blocks lie.
    pub fn new(distribution: &Distribution, n: u64, block: u64, seed: u64) -> Sampler {
        let spread = |center: Option<f64>| match center {
            None => Spread::Anywhere(Permutation::new(n, seed)),
            Some(center) => Spread::From((center * n as f64) as u64),
        };
        let draw = match distribution {
            Distribution::Uniform => Draw::Uniform,
            Distribution::Zipf { theta, center } => {
                Draw::Zipf { zipf: Zipf::new(n.max(1), *theta), spread: spread(*center) }
            }
            Distribution::Pareto { h, center } => {
                Draw::Pareto { power: h.ln() / (1.0 - h).ln(), spread: spread(*center) }
            }
            Distribution::Normal { percent, center } => {
                Draw::Normal { deviation: n as f64 * percent / 100.0, center: n as f64 * center.unwrap_or(0.5) }
            }
            Distribution::Zoned(zones) => Draw::Zoned(blocks_of(zones, n, block)),
        };
        Sampler { n, draw }
    }

    /// The next block, below `n`.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        let last = self.n.saturating_sub(1);
        match &self.draw {
            Draw::Uniform => random.below(self.n),
            Draw::Zipf { zipf, spread } => spread.at(zipf.draw(random) - 1, self.n),
            Draw::Pareto { power, spread } => spread.at((last as f64 * random.unit().powf(*power)) as u64, self.n),
            Draw::Normal { deviation, center } => {
                let value = center + deviation * normal(random);
                // As a ring: what falls out at one end comes in at the other.
                (value.rem_euclid(self.n as f64) as u64).min(last)
            }
            Draw::Zoned(zones) => {
                let access = random.below(100);
                let zone = zones.iter().find(|(upto, _, _)| access < *upto);
                zone.map_or(last, |(_, from, to)| (from + random.below(to - from)).min(last))
            }
        }
    }
}

impl Spread {
    #[inline]
    fn at(&self, rank: u64, n: u64) -> u64 {
        let rank = rank.min(n.saturating_sub(1));
        match self {
            Spread::Anywhere(permutation) => permutation.at(rank),
            Spread::From(center) => (rank + center) % n.max(1),
        }
    }
}

fn blocks_of(zones: &[Zone], n: u64, block: u64) -> Vec<(u64, u64, u64)> {
    let (mut access, mut from) = (0, 0);
    let mut percent_before = 0;
    let zones = zones.iter().map(|zone| {
        access += u64::from(zone.access);
        let to = match zone.size {
            ZoneSize::Percent(percent) => {
                percent_before += u128::from(percent);
                (u128::from(n) * percent_before / 100) as u64
            }
            ZoneSize::Bytes(bytes) => (from + bytes.div_ceil(block.max(1))).min(n),
        };
        let zone = (access, from, to.max(from));
        from = zone.2;
        zone
    });
    zones.collect()
}

/// By the sum of twelve uniform numbers, as fio has it: never further out than six deviations.
fn normal(random: &mut Random) -> f64 {
    (0..12).map(|_| random.unit()).sum::<f64>() - 6.0
}

/// Ranks from 1 by rejection and inversion (Hörmann and Derflinger 1996): no sum over all ranks beforehand, for which fio takes seconds on
/// large files.
#[derive(Clone, Debug)]
struct Zipf {
    theta: f64,
    n: f64,
    low: f64,
    high: f64,
    near: f64,
}

impl Zipf {
    fn new(n: u64, theta: f64) -> Zipf {
        let n = n as f64;
        let mut zipf = Zipf { theta, n, low: 0.0, high: 0.0, near: 0.0 };
        zipf.low = zipf.integral(1.5) - 1.0;
        zipf.high = zipf.integral(n + 0.5);
        zipf.near = 2.0 - zipf.inverse(zipf.integral(2.5) - 2_f64.powf(-theta));
        zipf
    }

    /// Of x^-theta.
    fn integral(&self, x: f64) -> f64 {
        (x.powf(1.0 - self.theta) - 1.0) / (1.0 - self.theta)
    }

    fn inverse(&self, x: f64) -> f64 {
        (1.0 + x * (1.0 - self.theta)).max(0.0).powf(1.0 / (1.0 - self.theta))
    }

    fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let u = self.high + random.unit() * (self.low - self.high);
            let x = self.inverse(u);
            let k = (x + 0.5).floor().clamp(1.0, self.n);
            if k - x <= self.near || u >= self.integral(k + 0.5) - k.powf(-self.theta) {
                return k as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampler(text: &str, n: u64) -> Sampler {
        let (word, more) = text.split_once(':').map_or((text, None), |(word, more)| (word, Some(more)));
        Sampler::new(&parse(word, more, KbBase::Binary).unwrap().read, n, 4096, 3)
    }

    /// How often each of `n` blocks came in 100,000 draws.
    fn counts(text: &str, n: u64) -> Vec<u64> {
        let (sampler, mut random) = (sampler(text, n), Random::new(1));
        let mut counts = vec![0; n as usize];
        (0..100_000).for_each(|_| counts[sampler.draw(&mut random) as usize] += 1);
        counts
    }

    #[test]
    fn zipf_has_its_law() {
        let mut counts = counts("zipf:1.2", 1000);
        assert_ne!(counts.iter().enumerate().max_by_key(|(_, count)| **count).unwrap().0, 0, "hot blocks lie anywhere");
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let all: f64 = (1..=1000).map(|k| f64::from(k).powf(-1.2)).sum();
        for k in [1, 2, 4, 10] {
            let wanted = 100_000.0 * f64::from(k).powf(-1.2) / all;
            let got = counts[k as usize - 1] as f64;
            assert!((got / wanted - 1.0).abs() < 0.06, "rank {k}: {got}, not {wanted}");
        }
        assert_eq!(
            self::counts("zipf:0.8:0.5", 100).iter().enumerate().max_by_key(|(_, count)| **count).unwrap().0,
            50
        );
    }

    #[test]
    fn pareto_has_its_law() {
        let mut counts = counts("pareto:0.2", 1000);
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let hot: u64 = counts[..200].iter().sum();
        assert!((78_000..82_000).contains(&hot), "20 % of blocks have {hot} of 100,000");
    }

    #[test]
    fn normal_lies_around_the_middle() {
        let counts = counts("normal:10", 1000);
        let within: u64 = counts[400..600].iter().sum();
        assert!((67_000..69_500).contains(&within), "{within} within one deviation");
    }

    #[test]
    fn zones_have_their_shares() {
        let counts = counts("zoned:60/10:30/20:10/70", 1000);
        let shares = [&counts[..100], &counts[100..300], &counts[300..]].map(|zone| zone.iter().sum::<u64>() / 1000);
        assert_eq!(shares.map(|share| (share + 2) / 5 * 5), [60, 30, 10]);
        let counts = self::counts("zoned:50/5:30/15:20/", 1000);
        let shares = [&counts[..50], &counts[50..200], &counts[200..]].map(|zone| zone.iter().sum::<u64>() / 1000);
        assert_eq!(shares.map(|share| (share + 2) / 5 * 5), [50, 30, 20]);
        assert_eq!(parse("zoned", Some("60/:40"), KbBase::Binary), parse("zoned", Some("60/50:40/50"), KbBase::Binary));
        assert_eq!(self::counts("zoned:60/5:40/10", 1000)[150..].iter().sum::<u64>(), 0, "as in fio");
        let absolute = Sampler::new(&parse("zoned_abs", Some("100/8k"), KbBase::Binary).unwrap().read, 1000, 4096, 3);
        assert!((0..100).all(|seed| absolute.draw(&mut Random::new(seed)) < 2));
    }

    #[test]
    fn what_is_no_distribution() {
        for (word, more) in [
            ("zipf", "1"),
            ("zipf", "x"),
            ("pareto", "1.5"),
            ("normal", "200"),
            ("zoned", "50/50"),
            ("zoned", "60/50:40/60"),
            ("zoned", "60/100:40/"),
            ("zoned", "/50:50/50"),
            ("zoned_abs", "50/16k:50/"),
            ("zoned", ""),
            ("zipf", "1:2"),
        ] {
            assert!(parse(word, Some(more), KbBase::Binary).is_err(), "{word}:{more}");
        }
        assert_eq!(parse("random", None, KbBase::Binary).unwrap().read, Distribution::Uniform);
    }

    #[test]
    fn one_block_and_huge_files() {
        for text in ["random", "zipf:1.1", "pareto:0.3", "normal:20", "zoned:100/100"] {
            for n in [1, 1 << 40] {
                let (sampler, mut random) = (sampler(text, n), Random::new(9));
                assert!((0..1000).all(|_| sampler.draw(&mut random) < n), "{text} of {n}");
            }
        }
    }
}
