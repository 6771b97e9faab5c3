//! fio's value syntax: sizes, percentages, times, ranges, lists, weights.
//!
//! Promises: what fio 3.42 takes is taken with fio's meaning, traps included (`8kib` is 8000 bytes, `bs=4k-16k` is no range).
//! Leaves out: what fio takes and cuts off without a word. A suffix that means nothing is refused; a fraction (`1.5g`) and a spelt-out
//! unit (`2sec`) get the meaning that was meant, and [`Read::differs`] says that fio reads them otherwise.

use std::time::Duration;

use thiserror::Error;

use super::{Each, arithmetic};

/// Why a text is not a value of its kind.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct BadValue(pub String);

fn bad<T>(text: impl Into<String>) -> Result<T, BadValue> {
    Err(BadValue(text.into()))
}

/// What a text means, and whether fio would read it otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read<T> {
    /// What it means.
    pub value: T,
    /// fio reads another value, without saying so.
    pub differs: bool,
}

impl<T> Read<T> {
    fn map<U>(self, change: impl FnOnce(T) -> U) -> Read<U> {
        Read { value: change(self.value), differs: self.differs }
    }
}

/// What `k` stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KbBase {
    /// `k` is 1024 bytes and, inverted, `kib` 1000: fio's default.
    #[default]
    Binary,
    /// `k` is 1000 bytes and `kib` 1024.
    Decimal,
}

impl KbBase {
    /// Bytes of one `k`.
    pub fn bytes(self) -> u64 {
        match self {
            KbBase::Binary => 1024,
            KbBase::Decimal => 1000,
        }
    }

    /// The factor of `unit`: of `kib` to `pib` the other base's.
    fn factor(self, unit: &str) -> Option<u64> {
        let unit = unit.to_ascii_lowercase();
        let mut letters = unit.chars();
        let power = match letters.next() {
            None | Some('b') => 0,
            Some(letter) => "kmgtp".find(letter)? as u32 + 1,
        };
        let base = match (power, letters.as_str()) {
            (0, "") => 1,
            (0, _) => return None,
            // `ki` is read as `k` (measured); the manual says otherwise.
            (_, "" | "b" | "i") => self.bytes(),
            (_, "ib") => 2024 - self.bytes(),
            _ => return None,
        };
        Some(base.pow(power))
    }
}

/// A size as typed: in bytes, or as a share of a file or device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Bytes.
    Bytes(u64),
    /// Percent of the size of a file or device, 0 to 100.
    Percent(u8),
}

/// A number with what follows it: sign, digits (or 0x and hexadecimal digits), fraction, unit.
struct Number<'a> {
    negative: bool,
    whole: u64,
    /// The digits behind a dot.
    fraction: &'a str,
    unit: &'a str,
}

fn number(text: &str) -> Result<Number<'_>, BadValue> {
    let text = text.trim();
    let (negative, rest) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    let no_number = || BadValue(format!("'{text}' is not a number"));
    let hexadecimal = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X"));
    let radix = if hexadecimal.is_some() { 16 } else { 10 };
    let rest = hexadecimal.unwrap_or(rest);
    let end = rest.find(|c: char| !c.is_digit(radix)).unwrap_or(rest.len());
    let (digits, rest) = rest.split_at(end);
    if digits.is_empty() {
        return Err(no_number());
    }
    let whole = u64::from_str_radix(digits, radix).map_err(|_| BadValue(format!("'{text}' is too large")))?;
    let (fraction, unit) = match rest.strip_prefix('.') {
        Some(rest) if radix == 10 => rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())),
        _ => ("", rest),
    };
    if rest.starts_with('.') && fraction.is_empty() {
        return Err(no_number());
    }
    Ok(Number { negative, whole, fraction, unit })
}

impl Number<'_> {
    /// Times `factor`; a fraction must come out whole, or is cut off below one.
    fn times(&self, factor: u64) -> Result<Read<u64>, BadValue> {
        let too_large = || BadValue("the number is too large".into());
        let whole = self.whole.checked_mul(factor).ok_or_else(too_large)?;
        let digits = &self.fraction[..self.fraction.len().min(18)];
        let part = match digits.parse::<u128>() {
            Ok(digits_value) => digits_value * u128::from(factor) / 10_u128.pow(digits.len() as u32),
            Err(_) => 0,
        };
        let value = whole.checked_add(part as u64).ok_or_else(too_large)?;
        Ok(Read { value, differs: !self.fraction.is_empty() })
    }
}

/// Bytes, or any count: `4096`, `4k`, `0x1000`, `1m`, `8kib`, `(1024*1k)`. Negative numbers and units that mean nothing are errors.
pub fn bytes(text: &str, base: KbBase) -> Result<Read<u64>, BadValue> {
    if text.trim_start().starts_with('(') {
        let value = arithmetic::evaluate(text, |leaf| bytes(leaf, base).map(|read| read.value))?;
        return Ok(Read { value, differs: false });
    }
    let number = number(text)?;
    if number.negative {
        return bad(format!("'{text}' is negative"));
    }
    match base.factor(number.unit) {
        Some(factor) => number.times(factor),
        None => bad(format!("'{}' is not a unit", number.unit)),
    }
}

/// A size in bytes or percent.
pub fn amount(text: &str, base: KbBase) -> Result<Read<Amount>, BadValue> {
    let Some(percent) = text.trim().strip_suffix('%') else { return Ok(bytes(text, base)?.map(Amount::Bytes)) };
    match percent.parse() {
        Ok(percent) if percent <= 100 => Ok(Read { value: Amount::Percent(percent), differs: false }),
        _ => bad(format!("'{text}' is not a percentage from 0% to 100%")),
    }
}

/// A signed number with the units of sizes (`nice=-5`).
pub fn signed(text: &str, base: KbBase) -> Result<Read<i64>, BadValue> {
    let number = number(text)?;
    let Some(factor) = base.factor(number.unit) else { return bad(format!("'{}' is not a unit", number.unit)) };
    let read = number.times(factor)?;
    let Ok(value) = i64::try_from(read.value) else { return bad(format!("'{text}' is too large")) };
    Ok(read.map(|_| if number.negative { -value } else { value }))
}

/// What a time without a unit is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum TimeUnit {
    Seconds,
    Milliseconds,
    Microseconds,
}

/// A time: `d h m s ms us` (also `msec`, `usec`), or a bare number in `bare`. `sec`, `min` and fractions, which fio misreads, are taken
/// as what they say. Units are in either case, as fio's.
pub fn duration(text: &str, bare: TimeUnit) -> Result<Read<Duration>, BadValue> {
    let number = number(text)?;
    if number.negative {
        return bad(format!("'{text}' is negative"));
    }
    let unit = number.unit.to_ascii_lowercase();
    let (nanoseconds, misread) = match unit.as_str() {
        "" => match bare {
            TimeUnit::Seconds => (1_000_000_000, false),
            TimeUnit::Milliseconds => (1_000_000, false),
            TimeUnit::Microseconds => (1_000, false),
        },
        "us" | "usec" => (1_000, false),
        "ms" | "msec" => (1_000_000, false),
        "s" => (1_000_000_000, false),
        "m" => (60_000_000_000, false),
        "h" => (3_600_000_000_000, false),
        "d" => (86_400_000_000_000, false),
        "sec" | "secs" | "second" | "seconds" => (1_000_000_000, true),
        "min" | "mins" | "minute" | "minutes" => (60_000_000_000, true),
        "hour" | "hours" => (3_600_000_000_000, true),
        _ => return bad(format!("'{}' is not a unit of time", number.unit)),
    };
    let read = number.times(nanoseconds)?;
    Ok(Read { value: Duration::from_nanos(read.value), differs: read.differs || misread })
}

/// A switch: the number that the text begins with, 0 or 1. What stands behind it is not looked at, as published lines have
/// `--direct=1G`.
pub fn boolean(text: &str) -> Result<bool, BadValue> {
    let text = text.trim();
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    // `0x` alone is a 0 with something behind it.
    let hexadecimal = hexadecimal.filter(|rest| rest.starts_with(|c: char| c.is_ascii_hexdigit()));
    let (digits, radix) = hexadecimal.map_or((text, 10), |digits| (digits, 16));
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    match u64::from_str_radix(&digits[..end], radix) {
        Ok(0) => Ok(false),
        Ok(1) => Ok(true),
        Ok(value) => bad(format!("max value out of range: {value} (1 max)")),
        Err(_) => bad(format!("'{text}' is neither 0 nor 1")),
    }
}

/// A value for each direction that the text names; None leaves the direction as it was. `4k`, `4k,8k`, `,8k`, `4k,,16k`; the last
/// value holds for the directions behind it. `:` and `-` separate too (`4k-16k` is `4k,16k`), but in ranges.
///
/// A direction left empty between commas, and all behind a comma that ends the text, keep what they had (measured:
/// `bs=8k,,16k` leaves writes at 4096).
pub fn each<T: Copy>(
    text: &str,
    separators: &[char],
    parse: impl Fn(&str) -> Result<Read<T>, BadValue>,
) -> Result<Read<Each<Option<T>>>, BadValue> {
    // fio looks for a comma first; the other separators only where there is no comma further on.
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(',').or_else(|| separators.iter().find_map(|s| rest.find(*s).filter(|at| *at > 0))) {
        parts.push(&rest[..at]);
        rest = &rest[at + 1..];
    }
    parts.push(rest);
    let mut values: Vec<Option<T>> = Vec::new();
    let mut differs = false;
    for part in &parts {
        let read = if part.trim().is_empty() { None } else { Some(parse(part)?) };
        differs |= read.as_ref().is_some_and(|read| read.differs);
        values.push(read.map(|read| read.value));
    }
    if values.iter().all(Option::is_none) {
        return bad("there is no value");
    }
    if values.len() > 3 {
        return bad("there are more values than directions (read, write, trim)");
    }
    let last = values.last().copied().flatten();
    values.resize(3, last);
    Ok(Read { value: Each { read: values[0], write: values[1], trim: values[2] }, differs })
}

/// Counts or sizes for each direction.
pub fn each_bytes(text: &str, base: KbBase) -> Result<Read<Each<Option<u64>>>, BadValue> {
    each(text, &[':', '-'], |part| bytes(part, base))
}

/// From and to, both included; the smaller first, whichever was typed first.
pub type Range = (u64, u64);

/// `1k-4k` or `1k:4k`.
pub fn range(text: &str, base: KbBase) -> Result<Read<Range>, BadValue> {
    let Some((low, high)) = text.split_once('-').or_else(|| text.split_once(':')) else {
        return bad(format!("'{text}' is not a range such as 1k-4k"));
    };
    let (low, high) = (bytes(low, base)?, bytes(high, base)?);
    let ends = (low.value.min(high.value), low.value.max(high.value));
    Ok(Read { value: ends, differs: low.differs || high.differs })
}

/// Ranges for each direction: `1k-4k,8k-32k`.
pub fn each_range(text: &str, base: KbBase) -> Result<Read<Each<Option<Range>>>, BadValue> {
    each(text, &[], |part| range(part, base))
}

/// One size of a mixture and its share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weighted {
    /// Bytes.
    pub size: u64,
    /// Percent.
    pub percent: u32,
}

/// Sizes of a mixture are no more than this, as in fio.
pub const SPLITS_MAX: usize = 64;

/// `4k/10:64k/50:32k/40`: sizes with their percentages. As in fio 3.33, sizes without one, or with 0, share what the others
/// leave; where all have one, the last of those with the greatest gets what is left. Shares above 100 in sum are scaled, as fio 3.42 does,
/// which its manual calls an error.
pub fn split(text: &str, base: KbBase) -> Result<Vec<Weighted>, BadValue> {
    let mut sizes = Vec::new();
    for part in text.split(':').filter(|part| !part.trim().is_empty()) {
        let (size, percent) = part.split_once('/').unwrap_or((part, ""));
        let percent = match percent.trim() {
            "" => None,
            percent => match percent.trim_end_matches('%').parse::<u32>() {
                Ok(percent) if percent <= 100 => Some(percent).filter(|percent| *percent > 0),
                _ => return bad(format!("'{percent}' is not a percentage from 0 to 100")),
            },
        };
        let size = bytes(size, base)?.value;
        if size == 0 {
            return bad("a block of 0 bytes");
        }
        sizes.push((size, percent));
    }
    if sizes.is_empty() || sizes.len() > SPLITS_MAX {
        return bad(format!("1 to {SPLITS_MAX} sizes are possible, not {}", sizes.len()));
    }
    let given: u32 = sizes.iter().filter_map(|(_, percent)| *percent).sum();
    let blank = sizes.iter().filter(|(_, percent)| percent.is_none()).count() as u32;
    let left = 100_u32.saturating_sub(given);
    let mut shared = 0;
    let weigh = |(size, percent): (u64, Option<u32>)| {
        // What does not divide evenly goes to the first of those that share.
        let share = || left / blank + u32::from(shared < left % blank);
        let percent = percent.unwrap_or_else(share);
        shared += 1;
        Weighted { size, percent }
    };
    let mut weights: Vec<Weighted> = sizes.into_iter().map(weigh).collect();
    if let Some(greatest) = weights.iter_mut().max_by_key(|weighted| weighted.percent).filter(|_| blank == 0) {
        greatest.percent += left;
    }
    Ok(weights)
}

/// Mixtures for each direction.
pub fn each_split(text: &str, base: KbBase) -> Result<Each<Option<Vec<Weighted>>>, BadValue> {
    let mut parts = text.split(',').map(|part| match part.trim() {
        "" => Ok(None),
        part => split(part, base).map(Some),
    });
    let read = parts.next().transpose()?.flatten();
    let write = parts.next().transpose()?;
    let trim = parts.next().transpose()?;
    if parts.next().is_some() {
        return bad("there are more values than directions (read, write, trim)");
    }
    let write = write.unwrap_or_else(|| read.clone());
    let trim = trim.unwrap_or_else(|| write.clone());
    Ok(Each { read, write, trim })
}

/// A list separated by `:`; `\:` is a colon within an entry. Empty entries are left out.
pub fn names(text: &str) -> Vec<String> {
    let mut entries = vec![String::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let escaped = letter == '\\' && letters.next_if_eq(&':').is_some();
        match (letter, entries.last_mut()) {
            (':', _) => entries.push(String::new()),
            (_, Some(entry)) => entry.push(if escaped { ':' } else { letter }),
            _ => {}
        }
    }
    entries.retain(|entry| !entry.is_empty());
    entries
}

/// Numbers separated by `:`, at most `most`, each from `low` to `high`; in the order typed.
pub fn floats(text: &str, most: usize, low: f64, high: f64) -> Result<Vec<f64>, BadValue> {
    let mut values = Vec::new();
    for part in text.split(':') {
        let Ok(value) = part.trim().trim_end_matches('%').parse::<f64>() else {
            return bad(format!("not a floating point value: {part}"));
        };
        if !(low..=high).contains(&value) {
            return bad(format!("value out of range: {value:.6} (range {low:.6} to {high:.6})"));
        }
        values.push(value);
    }
    if values.len() > most {
        return bad(format!("the list exceeding max length {most}"));
    }
    Ok(values)
}

/// Processors at most, as the kernel's cpu sets have them.
pub const CPUS_MAX: usize = 8192;

/// A list of processors: `0-3,5` (or `0-3:5`); sorted, each once.
pub fn cpus(text: &str) -> Result<Vec<usize>, BadValue> {
    let mut found = Vec::new();
    for part in text.split([',', ':']).filter(|part| !part.trim().is_empty()) {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let (Ok(low), Ok(high)) = (low.trim().parse::<usize>(), high.trim().parse::<usize>()) else {
            return bad(format!("'{part}' is not a processor or a range of them"));
        };
        if low > high || high >= CPUS_MAX {
            return bad(format!("'{part}' is not a range of processors below {CPUS_MAX}"));
        }
        found.extend(low..=high);
    }
    found.sort_unstable();
    found.dedup();
    if found.is_empty() { bad("no processor is named") } else { Ok(found) }
}

#[cfg(test)]
#[path = "value_tests.rs"]
mod tests;
