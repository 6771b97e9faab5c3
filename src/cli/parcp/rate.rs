//! Rates as rsync takes them: KiB a second, or with a suffix.

/// Bytes a second of `text`: `1000` (KiB), `10M` (MiB), `1.5G`, `64KB` (1000 bytes each), `512B`; 0 is no limit.
pub fn parse(text: &str) -> Result<u64, String> {
    let bad = || format!("'{text}' is not a rate such as 1000 (KiB/s), 10M, 1.5G or 64KB");
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: f64 = number.parse().map_err(|_| bad())?;
    let factor = match unit.to_ascii_lowercase().as_str() {
        "b" => 1.0,
        "" | "k" | "kib" => 1024.0,
        "kb" => 1e3,
        "m" | "mib" => 1024.0 * 1024.0,
        "mb" => 1e6,
        "g" | "gib" => 1024.0 * 1024.0 * 1024.0,
        "gb" => 1e9,
        "t" | "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        "tb" => 1e12,
        _ => return Err(bad()),
    };
    let bytes = number * factor;
    // Below one byte a second nothing would move.
    if !bytes.is_finite() || bytes > u64::MAX as f64 || (bytes > 0.0 && bytes < 1.0) {
        Err(bad())
    } else {
        Ok(bytes as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_rsyncs() {
        for (text, bytes) in [
            ("1", 1024),
            ("0", 0),
            ("1.5m", 1_572_864),
            ("64KB", 64_000),
            ("2KiB", 2048),
            ("512b", 512),
            ("1G", 1 << 30),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for text in ["", "x", "1Q", "-1", "1.2.3", "0.1b", "99999999999999999999T"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
