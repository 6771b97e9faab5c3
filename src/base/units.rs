//! Numbers with units: parsing what users type, printing what they read.

use std::time::Duration;

use thiserror::Error;

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{0}' is not {1}")]
pub struct BadUnit(String, &'static str);

fn split(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    text.split_at(end)
}

/// Bytes: `4096`, `64k`, `64KiB`, `1MiB`, `1M` (binary) or `1MB`, `1GB` (decimal), as GNU tools take them.
pub fn parse_bytes(text: &str) -> Result<u64, BadUnit> {
    let bad = || BadUnit(text.into(), "a size such as 4096, 64k, 1MiB or 1GB");
    let (number, unit) = split(text.trim());
    let number: f64 = number.parse().map_err(|_| bad())?;
    let factor: u64 = match unit.trim_end_matches("/s") {
        "" | "B" => 1,
        "k" | "K" | "KiB" | "kiB" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        "T" | "TiB" => 1 << 40,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        _ => return Err(bad()),
    };
    let bytes = number * factor as f64;
    if bytes > u64::MAX as f64 { Err(bad()) } else { Ok(bytes as u64) }
}

/// How many: `1000`, `190k`, `1.5M`, `2G`, in thousands.
pub fn parse_count(text: &str) -> Result<u64, BadUnit> {
    let bad = || BadUnit(text.into(), "a number such as 1000, 190k or 10M");
    let (number, unit) = split(text.trim());
    let number: f64 = number.parse().map_err(|_| bad())?;
    let factor = match unit {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        _ => return Err(bad()),
    };
    let count = number * factor;
    // Beyond 2^53 not every number can be told.
    if count.fract() == 0.0 && count <= 9e15 { Ok(count as u64) } else { Err(bad()) }
}

/// A duration: `250us`, `1ms`, `1.5s`, `2m`; a bare number is seconds.
pub fn parse_duration(text: &str) -> Result<Duration, BadUnit> {
    let bad = || BadUnit(text.into(), "a duration such as 250us, 1ms or 30s");
    let (number, unit) = split(text.trim());
    let number: f64 = number.parse().map_err(|_| bad())?;
    let factor = match unit {
        "us" => 1e-6,
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(bad()),
    };
    Duration::try_from_secs_f64(number * factor).map_err(|_| bad())
}

/// A count with thousands separated: `1,234,567`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// Bytes in decimal units, three significant digits: `1.50 GB`.
pub fn bytes_shown(n: u64) -> String {
    let (value, unit) = match n {
        0..1_000 => return format!("{n} B"),
        1_000..1_000_000 => (n as f64 / 1e3, "kB"),
        1_000_000..1_000_000_000 => (n as f64 / 1e6, "MB"),
        1_000_000_000..1_000_000_000_000 => (n as f64 / 1e9, "GB"),
        _ => (n as f64 / 1e12, "TB"),
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

/// The size of an I/O in the binary unit that it is a whole number of: `32 KiB`, `1 MiB`, `5,000 B`.
pub fn io_shown(n: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "B")];
    let (factor, unit) = units.into_iter().find(|(factor, _)| n.is_multiple_of(*factor)).unwrap_or((1, "B"));
    format!("{} {unit}", grouped(n / factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_durations() {
        assert_eq!(parse_bytes("64k"), Ok(65536));
        assert_eq!(parse_bytes("1GB"), Ok(1_000_000_000));
        assert_eq!(parse_bytes("1.5MiB"), Ok(1_572_864));
        assert!(parse_bytes("x").is_err() && parse_bytes("1Q").is_err() && parse_bytes("").is_err());
        assert_eq!(parse_duration("250us"), Ok(Duration::from_micros(250)));
        assert_eq!(parse_duration("2"), Ok(Duration::from_secs(2)));
        assert!(parse_duration("1y").is_err());
    }

    #[test]
    fn printed_numbers() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(bytes_shown(999), "999 B");
        assert_eq!(bytes_shown(1_500_000_000), "1.50 GB");
        assert_eq!([32 << 10, 1 << 20, 5_000].map(io_shown), ["32 KiB", "1 MiB", "5,000 B"]);
    }
}
