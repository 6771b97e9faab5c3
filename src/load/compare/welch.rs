//! Welch's test of two means (B. L. Welch, Biometrika 34, 1947): how likely a difference is chance, and how large it is.
//!
//! Promises: p and the interval to six digits, by the incomplete beta function's continued fraction (Abramowitz and Stegun 26.5.8,
//! evaluated as Lentz 1976 has it).
//! Leaves out: samples that depend on each other, of which it claims too much.

/// What a series of samples says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs)] // the names say it
pub struct Sample {
    pub n: u64,
    pub mean: f64,
    /// Of the sample: divided by n - 1.
    pub variance: f64,
}

impl Sample {
    /// Of these values.
    pub fn of(values: &[f64]) -> Sample {
        let n = values.len() as f64;
        let mean = if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / n };
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let variance = if values.len() > 1 { squares / (n - 1.0) } else { 0.0 };
        Sample { n: values.len() as u64, mean, variance }
    }
}

/// What the test says of a second sample against a first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// Second mean less first.
    pub difference: f64,
    /// Within which the difference is, with 95 % confidence: this much to either side.
    pub margin: f64,
    /// How likely a difference as large is chance, if there is none.
    pub p: f64,
    /// Degrees of freedom.
    pub freedom: f64,
}

/// How sure the margin is.
const CONFIDENCE: f64 = 0.95;

/// None where a sample has fewer than two values.
pub fn welch(first: &Sample, second: &Sample) -> Option<Welch> {
    if first.n < 2 || second.n < 2 {
        return None;
    }
    let difference = second.mean - first.mean;
    let parts = [first, second].map(|sample| sample.variance / sample.n as f64);
    let error = (parts[0] + parts[1]).sqrt();
    if error == 0.0 {
        let p = if difference == 0.0 { 1.0 } else { 0.0 };
        return Some(Welch { difference, margin: 0.0, p, freedom: (first.n + second.n - 2) as f64 });
    }
    let of = |part: f64, sample: &Sample| part * part / (sample.n - 1) as f64;
    let freedom = (parts[0] + parts[1]).powi(2) / (of(parts[0], first) + of(parts[1], second));
    let p = two_sided(difference / error, freedom);
    Some(Welch { difference, margin: error * quantile(1.0 - CONFIDENCE, freedom), p, freedom })
}

/// The probability that Student's t of so many degrees of freedom is further from 0 than `t`.
fn two_sided(t: f64, freedom: f64) -> f64 {
    beta(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

/// The t that is passed, to either side, with probability `p`.
fn quantile(p: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while two_sided(high, freedom) > p && high < 1e9 {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if two_sided(middle, freedom) > p {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

/// The regularized incomplete beta function.
fn beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp();
    // The fraction converges fast on this side of the mean only.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(x, a, b) / a
    } else {
        1.0 - front * fraction(1.0 - x, b, a) / b
    }
}

/// The continued fraction of the incomplete beta function.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |n: f64| if n.abs() < TINY { TINY } else { n };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for step in 1..=300 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            d = 1.0 / away(1.0 + term * d);
            c = away(1.0 + term / c);
            change = c * d;
            value *= change;
        }
        if (change - 1.0).abs() < 1e-14 {
            break;
        }
    }
    value
}

/// The logarithm of the gamma function for x above 0: Stirling's series, after the recurrence has made x large.
fn ln_gamma(mut x: f64) -> f64 {
    let mut shift = 0.0;
    while x < 10.0 {
        shift -= x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)));
    shift + (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64, within: f64) -> bool {
        (a - b).abs() <= within
    }

    /// Student's table: two-sided 5 % and 1 %.
    #[test]
    fn student_s_table() {
        for (freedom, five, one) in [
            (1.0, 12.706_205, 63.656_741),
            (2.0, 4.302_653, 9.924_843),
            (5.0, 2.570_582, 4.032_143),
            (10.0, 2.228_139, 3.169_273),
            (30.0, 2.042_272, 2.749_996),
            (120.0, 1.979_930, 2.617_421),
        ] {
            assert!(near(quantile(0.05, freedom), five, 2e-6), "{freedom}: {}", quantile(0.05, freedom));
            assert!(near(quantile(0.01, freedom), one, 2e-6), "{freedom}: {}", quantile(0.01, freedom));
        }
        // Of one degree the distribution is Cauchy's.
        assert!(near(two_sided(1.0, 1.0), 0.5, 1e-9) && near(two_sided(0.0, 7.0), 1.0, 1e-12));
        assert!(
            near(ln_gamma(0.5), std::f64::consts::PI.sqrt().ln(), 1e-10) && near(ln_gamma(5.0), 24.0_f64.ln(), 1e-10)
        );
    }

    /// The probability is by Simpson's rule over Student's density.
    #[test]
    fn a_known_pair() {
        let a = [27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4];
        let b = [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.5, 26.3];
        let test = welch(&Sample::of(&a), &Sample::of(&b)).unwrap();
        assert!(near(test.freedom, 27.970_227_264, 1e-8), "{test:?}");
        assert!(near(test.p, 0.006_567_746_5, 1e-9), "{test:?}");
        assert!(near(test.difference, 2.96, 1e-9), "{test:?}");
    }

    #[test]
    fn samples_that_say_little() {
        let of = |values: &[f64]| Sample::of(values);
        assert_eq!(welch(&of(&[1.0]), &of(&[1.0, 2.0])), None);
        let same = welch(&of(&[2.0, 2.0]), &of(&[2.0, 2.0])).unwrap();
        assert_eq!((same.p, same.margin), (1.0, 0.0));
        assert_eq!(welch(&of(&[2.0, 2.0]), &of(&[3.0, 3.0])).unwrap().p, 0.0);
        let noise = welch(&of(&[1.0, 5.0, 3.0]), &of(&[2.0, 4.0, 3.1])).unwrap();
        assert!(noise.p > 0.9 && noise.margin > 2.0, "{noise:?}");
    }
}
