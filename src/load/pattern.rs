//! Patterns of bytes: verify_pattern, buffer_pattern.
//!
//! Promises: the bytes that fio writes for the same text (measured with 3.33), begun anew in each block.
//! Leaves out: `'file'`, whose bytes a caller that opens files has put in its place.

use super::value::BadValue;

/// Bytes of a pattern at most, as in fio.
pub const PATTERN_MAX: usize = 512;

/// Bytes that repeat, and where the offset of the block stands in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    bytes: Vec<u8>,
    /// Where `%o` stands: eight bytes, little end first.
    offsets: Vec<usize>,
}

impl Pattern {
    /// `0xdeadbeef` (bytes as written), `12345` (as few bytes as hold it, little end first), `-2` (four bytes), `"text"`, `%o` (the
    /// block's offset), and these one behind the other: `120xab` is 12 and 0xab.
    pub fn parse(text: &str) -> Result<Pattern, BadValue> {
        let bad = |text: String| Err(BadValue(text));
        let mut pattern = Pattern { bytes: Vec::new(), offsets: Vec::new() };
        let mut rest = text.trim();
        while !rest.is_empty() {
            // Blanks tell digits from the next number's.
            if let Some(after) = rest.strip_prefix(' ') {
                rest = after;
                continue;
            }
            let digits = |rest: &str, radix| {
                let end = rest.find(|c: char| !c.is_digit(radix)).unwrap_or(rest.len());
                // A 0 ahead of an x begins the next number.
                let begins_next = rest[..end].ends_with('0') && rest[end..].starts_with(['x', 'X']);
                end - usize::from(begins_next)
            };
            if let Some(after) = rest.strip_prefix('"') {
                let Some((text, after)) = after.split_once('"') else {
                    return bad(format!("'\"' is missing in '{text}'"));
                };
                pattern.bytes.extend(text.bytes());
                rest = after;
            } else if let Some(after) = rest.strip_prefix("%o") {
                pattern.offsets.push(pattern.bytes.len());
                pattern.bytes.extend([0; 8]);
                rest = after;
            } else if let Some(after) = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")) {
                let (hexadecimal, after) = after.split_at(digits(after, 16));
                if hexadecimal.is_empty() {
                    return bad(format!("there are no digits behind 0x in '{text}'"));
                }
                // An odd number of digits has a zero ahead.
                let even = format!("{}{hexadecimal}", if hexadecimal.len() % 2 == 1 { "0" } else { "" });
                let byte = |pair: &[u8]| {
                    pair.iter().fold(0, |byte, digit| byte << 4 | (*digit as char).to_digit(16).unwrap_or(0) as u8)
                };
                pattern.bytes.extend(even.as_bytes().chunks(2).map(byte));
                rest = after;
            } else if rest.starts_with('\'') {
                return bad("patterns from files are not supported here; write the bytes as 0x... or \"...\"".into());
            } else {
                let sign = usize::from(rest.starts_with(['-', '+']));
                let end = sign + digits(&rest[sign..], 10);
                let Ok(number) = rest[..end].parse::<i64>() else { return bad(format!("'{rest}' is not a pattern")) };
                pattern.bytes.extend(number_bytes(number)?);
                rest = &rest[end..];
            }
        }
        match pattern.bytes.len() {
            0 => bad("the pattern is empty".into()),
            len if len > PATTERN_MAX => bad(format!("the pattern has {len} bytes; {PATTERN_MAX} are possible")),
            _ => Ok(pattern),
        }
    }

    /// True when the bytes differ from block to block.
    pub fn has_offset(&self) -> bool {
        !self.offsets.is_empty()
    }

    /// The byte `at` of a block at `offset`.
    #[inline]
    pub fn byte(&self, at: usize, offset: u64) -> u8 {
        let at = at % self.bytes.len();
        let within = self.offsets.iter().find_map(|start| at.checked_sub(*start).filter(|at| *at < 8));
        within.map_or(self.bytes[at], |at| offset.to_le_bytes()[at])
    }

    /// Fills a block that lies at `offset`.
    pub fn fill(&self, block: &mut [u8], offset: u64) {
        let once: Vec<u8> = (0..self.bytes.len()).map(|at| self.byte(at, offset)).collect();
        block.chunks_mut(once.len()).for_each(|part| part.copy_from_slice(&once[..part.len()]));
    }

    /// Where a block at `offset` is not filled so.
    pub fn first_difference(&self, block: &[u8], offset: u64) -> Option<usize> {
        let once: Vec<u8> = (0..self.bytes.len()).map(|at| self.byte(at, offset)).collect();
        let wrong = block.chunks(once.len()).position(|part| *part != once[..part.len()])?;
        let from = wrong * once.len();
        (from..block.len()).find(|at| block[*at] != once[at - from])
    }
}

fn number_bytes(number: i64) -> Result<Vec<u8>, BadValue> {
    let too_large = |_| BadValue(format!("{number} does not fit 32 bits"));
    if number < 0 {
        return Ok(i32::try_from(number).map_err(too_large)?.to_le_bytes().to_vec());
    }
    let bytes = u32::try_from(number).map_err(too_large)?.to_le_bytes();
    let len = bytes.iter().rposition(|byte| *byte != 0).map_or(1, |last| last + 1);
    Ok(bytes[..len].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str, len: usize) -> Vec<u8> {
        let mut block = vec![0xee; len];
        let pattern = Pattern::parse(text).unwrap();
        pattern.fill(&mut block, 0x1000);
        assert_eq!(pattern.first_difference(&block, 0x1000), None);
        block
    }

    /// As `od` showed files that Debian's fio 3.33 had written.
    #[test]
    fn bytes_as_fio_writes_them() {
        assert_eq!(filled("0xdeadbeef", 6), [0xde, 0xad, 0xbe, 0xef, 0xde, 0xad]);
        assert_eq!(filled("12345", 4), [0x39, 0x30, 0x39, 0x30]);
        assert_eq!(filled("\"abcd\"", 5), *b"abcda");
        assert_eq!(filled("0xabc", 4), [0x0a, 0xbc, 0x0a, 0xbc]);
        assert_eq!(filled("\"ab\"0x01", 4), *b"ab\x01a");
        assert_eq!(filled("0x01\"x\"-2", 7), [1, b'x', 0xfe, 0xff, 0xff, 0xff, 1]);
        assert_eq!(filled("0", 2), [0, 0]);
        assert_eq!(filled("\"abcd\"-120xdeadface", 12), *b"abcd\xf4\xff\xff\xff\xde\xad\xfa\xce");
        assert_eq!(filled("1200xab", 2), [120, 0xab]);
        assert_eq!(filled("0xabc0xd", 3), [0x0a, 0xbc, 0x0d]);
        assert_eq!(filled("00xab", 2), [0, 0xab]);
        assert_eq!(filled("-1", 4), [0xff; 4]);
    }

    #[test]
    fn offsets_and_differences() {
        assert_eq!(filled("\"a\"%o", 10), [b'a', 0, 0x10, 0, 0, 0, 0, 0, 0, b'a']);
        let pattern = Pattern::parse("0x0102").unwrap();
        assert_eq!(pattern.first_difference(&[1, 2, 1, 2, 1, 9], 0), Some(5));
        assert_eq!(pattern.first_difference(&[], 0), None);
    }

    #[test]
    fn what_is_no_pattern() {
        for text in [
            "",
            "0x",
            "-0xab",
            "\"abc",
            "'file'",
            "abc",
            "99999999999",
            &"0x".repeat(2),
            &format!("0x{}", "ab".repeat(513)),
        ] {
            assert!(Pattern::parse(text).is_err(), "{text}");
        }
    }
}
