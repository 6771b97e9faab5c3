//! Pax records (POSIX, pax Extended Header): what they override in the header after them.
//!
//! Records are cut by their length, not at newlines as the `tar` crate's `PaxExtensions` does, so a name may contain
//! one. Leaves out every key that does not change how a member is read or made (atime, ctime, comments): they are
//! skipped.

use super::attributes::Attributes;
use super::header::{NOBODY, Notes, text};
use super::member::Segment;
use super::sparse;
use crate::base::Time;
use crate::base::name::Shown;

/// What records say about the next member; `None` where they say nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Overrides {
    pub path: Option<Vec<u8>>,
    pub link: Option<Vec<u8>>,
    pub uname: Option<Vec<u8>>,
    pub gname: Option<Vec<u8>>,
    pub size: Option<u64>,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    pub mtime: Option<Time>,
    pub dev: [Option<Option<u32>>; 2],
    pub sparse: SparseRecords,
    pub attributes: Attributes,
    /// GNU tar's mark, in a global header, of a file that began on another volume: the file's name.
    pub continued: Option<Vec<u8>>,
    /// GNU tar's volume label, in a global header.
    pub label: Option<Vec<u8>>,
}

/// The GNU.sparse records, formats 0.0, 0.1 and 1.0.
#[derive(Clone, Debug, Default)]
pub(super) struct SparseRecords {
    pub name: Option<Vec<u8>>,
    pub version: (u64, u64),
    /// The file's size; every format has it, so its presence marks a sparse file.
    pub size: Option<u64>,
    /// There is some record, whatever it says: the data is no whole file's.
    pub any: bool,
    /// The map of 0.0 and 0.1.
    pub map: Vec<Segment>,
    /// An offset of 0.0 whose length has not come yet.
    offset: Option<u64>,
    /// The first record that makes no sense.
    pub bad: Option<String>,
}

impl Overrides {
    /// Applies the records of one extended header, over what was there. The error is one that leaves the next
    /// member's place or name unknown; lesser ones become warnings and are passed over.
    pub(super) fn apply(&mut self, mut records: &[u8], notes: &mut Notes) -> Result<(), String> {
        // Some writers pad the records with NULs; GNU tar ends there as well.
        while !records.is_empty() && records[0] != 0 {
            let (key, value, rest) = record(records)?;
            self.set(key, value, notes)?;
            records = rest;
        }
        Ok(())
    }

    fn set(&mut self, key: &[u8], value: &[u8], notes: &mut Notes) -> Result<(), String> {
        let malformed = || format!("malformed extended header: invalid {}={}", Shown(key), Shown(value));
        // POSIX: an empty value deletes the override.
        let bytes = || Some(text(value).to_vec()).filter(|v| !v.is_empty());
        let (mut bad, mut odd) = (false, false);
        match key {
            b"path" => self.path = bytes(),
            b"linkpath" => self.link = bytes(),
            b"uname" => self.uname = bytes(),
            b"gname" => self.gname = bytes(),
            b"size" if value.is_empty() => self.size = None,
            b"size" => self.size = Some(decimal(value).ok_or_else(malformed)?),
            b"uid" => (self.uid, bad) = owner(value),
            b"gid" => (self.gid, bad) = owner(value),
            b"mtime" => {
                self.mtime = time(value);
                bad = self.mtime.is_none() && !value.is_empty();
            }
            b"SCHILY.devmajor" => (self.dev[0], bad) = device(value),
            b"SCHILY.devminor" => (self.dev[1], bad) = device(value),
            b"GNU.volume.filename" => self.continued = bytes(),
            b"GNU.volume.label" => self.label = bytes(),
            b"hdrcharset" => odd = !matches!(value, b"" | b"BINARY" | b"ISO-IR 10646 2000 UTF-8"),
            _ => {
                if let Some(key) = key.strip_prefix(b"GNU.sparse.")
                    && self.sparse.set(key, value).is_none()
                {
                    self.sparse.bad.get_or_insert_with(malformed);
                }
                odd = self.attributes.set(key, value) == Some(false);
            }
        }
        if bad {
            notes.flaw(malformed());
        } else if odd {
            notes.warnings.add(malformed());
        }
        Ok(())
    }
}

impl SparseRecords {
    /// Takes one record; `None` if it makes no sense.
    fn set(&mut self, key: &[u8], value: &[u8]) -> Option<()> {
        self.any = true;
        match key {
            b"name" => self.name = Some(text(value).to_vec()),
            b"major" => self.version.0 = decimal(value)?,
            b"minor" => self.version.1 = decimal(value)?,
            b"size" | b"realsize" => self.size = Some(decimal(value)?),
            b"offset" => self.offset = Some(decimal(value)?),
            b"numbytes" => {
                let offset = self.offset.take()?;
                self.push(offset, decimal(value)?)?;
            }
            b"map" => {
                self.map.clear();
                let mut numbers = value.split(|&b| b == b',');
                while let Some(offset) = numbers.next() {
                    self.push(decimal(offset)?, decimal(numbers.next()?)?)?;
                }
            }
            // numblocks only announces the length of the map.
            _ => {}
        }
        Some(())
    }

    fn push(&mut self, offset: u64, len: u64) -> Option<()> {
        (self.map.len() < sparse::SEGMENTS_MAX).then(|| self.map.push(Segment { offset, len }))
    }
}

/// Key, value and the records behind.
type Cut<'a> = (&'a [u8], &'a [u8], &'a [u8]);

/// Cuts one record, "length key=value\n", off; the length counts all of it.
fn record(records: &[u8]) -> Result<Cut<'_>, String> {
    let cut = || {
        let blank = records.iter().take(21).position(|&b| b == b' ')?;
        let len = usize::try_from(decimal(&records[..blank])?).ok()?;
        let body = records.get(blank + 1..len)?.strip_suffix(b"\n")?;
        let equals = body.iter().position(|&b| b == b'=')?;
        Some((&body[..equals], &body[equals + 1..], &records[len..]))
    };
    cut().ok_or_else(|| {
        let start = records.split(|&b| b == b'\n').next().unwrap_or_default();
        format!("malformed extended header: '{}' is no record", Shown(&start[..start.len().min(40)]))
    })
}

/// A decimal number up to 2^63 - 1, the largest file offset.
pub(super) fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    let mut value = 0u64;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
    }
    (value <= i64::MAX as u64).then_some(value)
}

/// An owner's number, and whether it is none that can be used.
fn owner(value: &[u8]) -> (Option<u32>, bool) {
    match decimal(value) {
        Some(number) => u32::try_from(number).map_or((Some(NOBODY), true), |n| (Some(n), false)),
        None => (None, !value.is_empty()),
    }
}

/// One of a device's numbers, itself none if it has more than 32 bits; and whether it is no number.
fn device(value: &[u8]) -> (Option<Option<u32>>, bool) {
    match decimal(value) {
        Some(number) => (Some(u32::try_from(number).ok()), false),
        None => (None, !value.is_empty()),
    }
}

/// Seconds since 1970 with a sign and a fraction; digits past the ninth are cut off towards the past.
fn time(value: &[u8]) -> Option<Time> {
    let (negative, digits) = match value.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, value),
    };
    let point = digits.iter().position(|&b| b == b'.');
    let (whole, fraction) = point.map_or((digits, &b""[..]), |p| (&digits[..p], &digits[p + 1..]));
    if !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let secs = i64::try_from(decimal(whole)?).ok()?;
    let mut nanos = 0;
    for i in 0..9 {
        nanos = nanos * 10 + u32::from(fraction.get(i).map_or(0, |d| d - b'0'));
    }
    if !negative {
        return Some(Time { secs, nanos });
    }
    let cut = fraction.iter().skip(9).any(|&d| d != b'0');
    nanos += u32::from(cut);
    Some(if nanos == 0 { Time { secs: -secs, nanos } } else { Time { secs: -secs - 1, nanos: 1_000_000_000 - nanos } })
}
