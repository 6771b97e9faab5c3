//! `--older-than`: a span before now, or a date in UTC.

use crate::base::Time;

/// Seconds of a span's unit.
const UNITS: [(char, u64); 5] = [('w', 7 * 86_400), ('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

/// The point in time that `text` names, counted back from `now` when it is a span.
pub fn parse(text: &str, now: Time) -> Result<Time, String> {
    let bad = || {
        format!(
            "--older-than: '{text}' is neither a span (2w, 30d, 12h, 45m, 90s) nor a date in UTC (YYYY-MM-DD[ HH:MM[:SS]])"
        )
    };
    let text = text.trim();
    let span = UNITS.into_iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)));
    if let Some((number, seconds)) = span {
        let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        let span =
            number.parse::<u64>().ok().filter(|_| digits).and_then(|n| n.checked_mul(seconds)).ok_or_else(bad)?;
        let secs = i64::try_from(span).ok().and_then(|span| now.secs.checked_sub(span)).ok_or_else(bad)?;
        return Ok(Time { secs, ..now });
    }
    date(text).ok_or_else(bad)
}

fn date(text: &str) -> Option<Time> {
    let (day, clock) = text.split_once([' ', 'T']).unwrap_or((text, "00:00"));
    let [year, month, day] = numbers(day, '-', 3)?[..] else { return None };
    let clock = numbers(clock, ':', 3)?;
    let (hour, minute, second) = match clock[..] {
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    let in_range = (1..=12).contains(&month) && day >= 1 && day <= days_of(year, month) && hour < 24 && minute < 60;
    if !in_range || second >= 60 {
        return None;
    }
    let secs = days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second;
    Some(Time { secs, nanos: 0 })
}

/// Up to `max` numbers of at most four digits.
fn numbers(text: &str, between: char, max: usize) -> Option<Vec<i64>> {
    let parts: Vec<&str> = text.split(between).collect();
    let is_number = |part: &&str| (1..=4).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    if parts.len() > max || !parts.iter().all(is_number) {
        return None;
    }
    parts.into_iter().map(|part| part.parse().ok()).collect()
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01, in the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Leap days before a year: each fourth, but for centuries, but for each fourth century.
    let leaps = |year: i64| (year - 1).div_euclid(4) - (year - 1).div_euclid(100) + (year - 1).div_euclid(400);
    let of_years = (year - 1970) * 365 + leaps(year) - leaps(1970);
    of_years + (1..month).map(|month| days_of(year, month)).sum::<i64>() + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time { secs: 1_000_000_000, nanos: 7 };

    #[test]
    fn spans_are_counted_back_from_now() {
        for (text, secs) in [("90s", 90), ("45m", 2_700), ("12h", 43_200), ("30d", 2_592_000), ("1w", 604_800)] {
            assert_eq!(parse(text, NOW).unwrap(), Time { secs: NOW.secs - secs, nanos: 7 }, "{text}");
        }
        assert_eq!(parse("0s", NOW).unwrap(), NOW);
    }

    #[test]
    fn every_unit_is_named_where_units_are() {
        let (message, help) = (parse("soon", NOW).unwrap_err(), super::super::low::help());
        for (unit, _) in UNITS {
            let is_in = |text: &str| {
                text.split(|c: char| !c.is_alphanumeric())
                    .any(|word| word.strip_suffix(unit).is_some_and(|n| n.parse::<u64>().is_ok()))
            };
            let about = help.split("--older-than").nth(1).unwrap().split("--files-from").next().unwrap();
            assert!(is_in(&message) && is_in(about), "{unit}: {message} {about}");
        }
    }

    /// Compared with what `date -u -d TEXT +%s` prints.
    #[test]
    fn dates_are_in_utc() {
        for (text, secs) in [
            ("1970-01-01", 0),
            ("2001-09-09 01:46:40", 1_000_000_000),
            ("2024-02-29 12:30", 1_709_209_800),
            ("2000-12-31T23:59:59", 978_307_199),
            ("1969-12-31", -86_400),
            ("1900-03-01", -2_203_891_200),
            ("2100-03-01", 4_107_542_400),
        ] {
            assert_eq!(parse(text, NOW).unwrap(), Time { secs, nanos: 0 }, "{text}");
        }
    }

    #[test]
    fn what_is_neither_is_refused() {
        for text in [
            "",
            "d",
            "30",
            "-1d",
            "1.5d",
            "30dd",
            "2024-02-30",
            "2023-02-29",
            "2024-13-01",
            "2024-1",
            "2024-01-01 24:00",
            "2024-01-01 1:2:3:4",
            "+1d",
            "99999999999999999999s",
            "9223372036854775807w",
        ] {
            assert!(parse(text, NOW).unwrap_err().contains("neither a span"), "{text}");
        }
    }
}
