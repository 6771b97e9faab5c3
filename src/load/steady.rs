//! steadystate=: when the rate of a job, measured each second, has stopped to change.
//!
//! Promises: fio's two criteria over the last seconds of the window: the slope of the line through them (least squares), or the largest
//! distance from their mean; in units a second, or in percent of the mean. Memory is that of the window.
//! Leaves out: clocks, counting, and ending the job.

use std::collections::VecDeque;
use std::time::Duration;

use super::value::{self, KbBase};

/// Seconds of a window at most: a day.
const SECONDS_MAX: u64 = 86_400;

/// What has to hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Criterion {
    /// Of I/Os a second, or of bytes a second.
    pub of_iops: bool,
    /// The slope, or the largest distance from the mean.
    pub slope: bool,
    /// It is below this.
    pub limit: f64,
    /// `limit` is in percent of the mean.
    pub percent: bool,
}

impl Criterion {
    /// From `iops_slope` and what stands behind the colon; `k` is `base`.
    pub fn read(word: &str, limit: &str, base: KbBase) -> Result<Criterion, String> {
        let (of_iops, slope) = (word.starts_with("iops"), word.ends_with("_slope"));
        let (text, percent) = match limit.trim().strip_suffix('%') {
            Some(text) => (text.trim_end(), true),
            None => (limit.trim(), false),
        };
        let limit = match percent || of_iops {
            true => text.parse().ok(),
            false => value::bytes(text, base).ok().map(|read| read.value as f64),
        };
        let limit = limit.filter(|limit: &f64| limit.is_finite() && *limit >= 0.0);
        let limit = limit.ok_or_else(|| format!("'{text}' is no limit"))?;
        Ok(Criterion { of_iops, slope, limit, percent })
    }

    /// What it is of: `iops` or `bw`.
    pub fn name(&self) -> &'static str {
        if self.of_iops { "iops" } else { "bw" }
    }

    /// `%`, or nothing.
    pub fn unit(&self) -> &'static str {
        if self.percent { "%" } else { "" }
    }
}

/// What a job asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    /// What has to hold.
    pub criterion: Criterion,
    /// For so long (steadystate_duration), in seconds.
    pub seconds: u32,
    /// From this time of the job on (steadystate_ramp_time).
    pub ramp: Duration,
}

impl Steady {
    /// Over a window of `duration`. An error is the reason.
    pub fn new(criterion: Criterion, duration: Duration, ramp: Duration) -> Result<Steady, String> {
        let least = if criterion.slope { 2 } else { 1 };
        match duration.as_secs() {
            seconds if seconds < least => Err(format!("{least} s at least")),
            seconds if seconds > SECONDS_MAX => Err(format!("{SECONDS_MAX} s at most")),
            seconds => Ok(Steady { criterion, seconds: seconds as u32, ramp }),
        }
    }
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct SteadyResult {
    /// What was asked for.
    pub asked: Steady,
    /// It held.
    pub attained: bool,
    /// The slope or the distance that was found last, as the limit is told.
    pub found: f64,
    /// The distance in units a second, 0 for a slope.
    pub deviation: f64,
    /// The slope, 0 for a distance.
    pub slope: f64,
    /// I/Os and bytes a second of each second of the window; zeros for those that were not measured.
    #[allow(missing_docs)] // as above
    pub iops: Vec<u64>,
    #[allow(missing_docs)] // as above
    pub bw: Vec<u64>,
}

impl SteadyResult {
    /// Means of I/Os and of bytes a second.
    pub fn means(&self) -> (u64, u64) {
        let mean = |values: &[u64]| values.iter().sum::<u64>() / u64::from(self.asked.seconds.max(1));
        (mean(&self.iops), mean(&self.bw))
    }
}

/// The last seconds of a job.
#[derive(Clone, Debug)]
pub struct Window {
    found: SteadyResult,
    iops: VecDeque<u64>,
    bw: VecDeque<u64>,
}

impl Window {
    /// Of nothing yet.
    pub fn new(asked: Steady) -> Window {
        let (iops, bw) = (Vec::new(), Vec::new());
        let found = SteadyResult { asked, attained: false, found: 0.0, deviation: 0.0, slope: 0.0, iops, bw };
        Window { found, iops: VecDeque::new(), bw: VecDeque::new() }
    }

    /// A second more; true when the state is steady now.
    pub fn add(&mut self, iops: u64, bytes: u64) -> bool {
        let Steady { criterion, seconds, .. } = self.found.asked;
        for (values, value) in [(&mut self.iops, iops), (&mut self.bw, bytes)] {
            if values.len() == seconds as usize {
                values.pop_front();
            }
            values.push_back(value);
        }
        let values = if criterion.of_iops { &self.iops } else { &self.bw };
        if values.len() < seconds as usize {
            return false;
        }
        let n = f64::from(seconds);
        let mean = values.iter().map(|value| *value as f64).sum::<f64>() / n;
        let found = &mut self.found;
        let size = if criterion.slope {
            let middle = (n - 1.0) / 2.0;
            let each = || values.iter().enumerate().map(|(x, y)| (x as f64 - middle, *y as f64));
            found.slope = each().map(|(x, y)| x * y).sum::<f64>() / each().map(|(x, _)| x * x).sum::<f64>();
            found.slope
        } else {
            found.deviation = values.iter().map(|value| (*value as f64 - mean).abs()).fold(0.0, f64::max);
            found.deviation
        };
        found.found = match criterion.percent {
            true if mean == 0.0 => 0.0,
            true => 100.0 * size / mean,
            false => size,
        };
        // What does nothing at all is steady in no useful sense.
        found.attained = mean > 0.0 && found.found.abs() < criterion.limit;
        found.attained
    }

    /// What is known now.
    pub fn result(&self) -> SteadyResult {
        let all = |values: &VecDeque<u64>| {
            let missing = (self.found.asked.seconds as usize).saturating_sub(values.len());
            values.iter().copied().chain(std::iter::repeat_n(0, missing)).collect()
        };
        SteadyResult { iops: all(&self.iops), bw: all(&self.bw), ..self.found.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(word: &str, limit: &str, seconds: u64) -> Window {
        let criterion = Criterion::read(word, limit, KbBase::Binary).unwrap();
        Window::new(Steady::new(criterion, Duration::from_secs(seconds), Duration::ZERO).unwrap())
    }

    #[test]
    fn limits_are_read_as_fio_reads_them() {
        let read = |word, limit| Criterion::read(word, limit, KbBase::Binary);
        let of = |word, limit| read(word, limit).map(|found| (found.of_iops, found.slope, found.limit, found.percent));
        assert_eq!(of("iops", "2.5"), Ok((true, false, 2.5, false)));
        assert_eq!(of("iops_slope", "0.3 %"), Ok((true, true, 0.3, true)));
        assert_eq!(of("bw", "1m"), Ok((false, false, 1_048_576.0, false)));
        assert_eq!(of("bw_slope", "5%"), Ok((false, true, 5.0, true)));
        assert!(read("bw", "").is_err() && read("iops", "1k").is_err() && read("iops", "-1").is_err());
        let criterion = read("iops_slope", "1").unwrap();
        let of = |seconds| Steady::new(criterion, Duration::from_secs(seconds), Duration::ZERO).is_ok();
        assert_eq!([1, 2, SECONDS_MAX, SECONDS_MAX + 1].map(of), [false, true, true, false]);
    }

    #[test]
    fn the_largest_distance_from_the_mean() {
        let mut window = window("iops", "5%", 4);
        assert_eq!([100, 200, 100, 100].map(|iops| window.add(iops, 0)), [false; 4]);
        assert_eq!((window.result().deviation, window.result().found), (75.0, 60.0));
        assert_eq!([100, 104, 100, 96].map(|iops| window.add(iops, 7)), [false, true, true, true]);
        let result = window.result();
        assert_eq!((result.attained, result.deviation, result.found, result.slope), (true, 4.0, 4.0, 0.0));
        assert_eq!((result.iops.as_slice(), result.means()), (&[100, 104, 100, 96][..], (100, 7)));
    }

    #[test]
    fn the_slope_of_the_line() {
        let mut window = window("bw_slope", "8", 3);
        assert_eq!(window.result().bw, [0, 0, 0]);
        assert_eq!([1000, 1010, 1020].map(|bytes| window.add(0, bytes)), [false; 3]);
        assert_eq!((window.result().slope, window.result().found), (10.0, 10.0));
        // 1010, 1020, 1015 and 1020, 1015, 1000: slopes 2.5 and -10.
        assert_eq!([1015, 1000].map(|bytes| window.add(0, bytes)), [true, false]);
        assert_eq!(window.result().slope, -10.0);
        let mut idle = super::tests::window("iops", "5%", 1);
        assert!(!idle.add(0, 0) && idle.add(1, 1));
    }
}
