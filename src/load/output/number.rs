//! Numbers for people, as fio cuts them.

/// What a number is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum Of {
    Nothing,
    Bytes,
    BytesPerSecond,
    /// Eight for each byte.
    BitsPerSecond,
}

impl Of {
    /// What rates are of: unit_base=1, or bytes.
    pub fn rate(bits: bool) -> Of {
        if bits { Of::BitsPerSecond } else { Of::BytesPerSecond }
    }
}

/// `n`, in bytes where it is one of bits, with at most `digits` digits and a prefix: divided by 1024 (`Ki`) or 1000 (`k`) until it fits, then
/// filled up with decimals.
pub fn shown(n: u64, digits: usize, binary: bool, of: Of) -> String {
    const DECIMAL: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    let thousand = if binary { 1024 } else { 1000 };
    let n = if of == Of::BitsPerSecond { n.saturating_mul(8) } else { n };
    let (mut whole, mut rest, mut power) = (n, None, 0);
    while whole.to_string().len() > digits && power < 6 {
        rest = Some(whole % thousand);
        whole /= thousand;
        power += 1;
    }
    let prefix = if binary { BINARY[power] } else { DECIMAL[power] };
    let unit = match of {
        Of::Nothing => "",
        Of::Bytes => "B",
        Of::BytesPerSecond => "B/s",
        Of::BitsPerSecond => "bit/s",
    };
    let Some(rest) = rest else { return format!("{whole}{prefix}{unit}") };
    let room = digits.saturating_sub(whole.to_string().len());
    // The dot takes one.
    if room <= 1 {
        let whole = whole + u64::from(rest >= thousand / 2);
        return format!("{whole}{prefix}{unit}");
    }
    let decimals = room - 1;
    // What is rounded up to one more digit keeps its decimals: 102399 bytes are 100.0KiB.
    format!("{:.decimals$}{prefix}{unit}", whole as f64 + rest as f64 / thousand as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that fio 3.33 printed.
    #[test]
    fn as_fio() {
        let count = |n| shown(n, 4, false, Of::Nothing);
        assert_eq!([0, 1914, 2037, 9999].map(count), ["0", "1914", "2037", "9999"]);
        assert_eq!([75_320, 37_925, 256_000].map(count), ["75.3k", "37.9k", "256k"]);
        let bytes = |n| shown(n, 4, true, Of::Bytes);
        assert_eq!([4096, 16_384, 4 << 20, 11_059_200_000].map(bytes), ["4096B", "16.0KiB", "4096KiB", "10.3GiB"]);
        assert_eq!([102_399, 16_383, 1_048_524, 10_485_759].map(bytes), ["100.0KiB", "16.0KiB", "1024KiB", "10.00MiB"]);
        assert_eq!(shown(155_344_592, 4, true, Of::BytesPerSecond), "148MiB/s");
        assert_eq!(shown(155_344_592, 4, false, Of::BytesPerSecond), "155MB/s");
        assert_eq!(shown(8_344_962, 4, false, Of::BytesPerSecond), "8345kB/s");
        assert_eq!(shown(8_344_962, 4, true, Of::BytesPerSecond), "8149KiB/s");
        assert_eq!(shown(10_911_744, 4, true, Of::BytesPerSecond), "10.4MiB/s");
        assert_eq!(shown(u64::MAX, 4, true, Of::Bytes), "16.0EiB");
        // unit_base=1, with four digits and with six.
        assert_eq!(shown(2_098_150, 4, true, Of::BitsPerSecond), "16.0Mibit/s");
        assert_eq!(shown(2_098_150, 4, false, Of::BitsPerSecond), "16.8Mbit/s");
        assert_eq!(shown(1_000_000_000, 6, false, Of::BitsPerSecond), "8000.0Mbit/s");
        assert_eq!(shown(1_000_000_000, 6, true, Of::BitsPerSecond), "7629.4Mibit/s");
        assert_eq!(shown(u64::MAX, 4, true, Of::BitsPerSecond), "16.0Eibit/s");
    }
}
