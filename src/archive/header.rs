//! One 512-byte header block: checksum, kind of magic, fields. Field places are those of the `tar` crate's header
//! types; numbers are decoded here, because the crate's decoder passes over overflow and signs.
//!
//! Leaves out what spans blocks: long names, pax records, sparse maps.

use std::ffi::CStr;

use tar::Header;

use super::member::Member;
use crate::base::{Time, Warnings};

/// An archive is made of blocks of this many bytes.
pub(super) const BLOCK_BYTES: usize = 512;
/// One block.
pub(super) type Block = [u8; BLOCK_BYTES];

/// The owner number of one that does not fit in 32 bits, as GNU tar uses "nobody".
pub(super) const NOBODY: u32 = 65534;

/// What is told of headers.
#[derive(Default)]
pub(super) struct Notes {
    pub warnings: Warnings,
    /// A member has something else than its header says.
    pub flawed: bool,
}

impl Notes {
    /// Tells of a value that could not be taken.
    pub fn flaw(&mut self, text: String) {
        self.warnings.add(text);
        self.flawed = true;
    }
}

/// The fields of a header from which more is to be made than a member has of them.
#[derive(Debug, Default)]
pub(super) struct Fields {
    pub typeflag: u8,
    pub size: u64,
    /// A device's numbers; none outside 32 bits.
    pub dev: [Option<u32>; 2],
}

/// True if the stored checksum is the block's: the sum of its bytes with the checksum field as blanks (POSIX, pax,
/// ustar Interchange Format), or the sum of them as signed characters, which some old tars wrote.
pub(super) fn checksum_matches(block: &Block) -> bool {
    let field = &block[148..156];
    let Ok(Some(stored)) = number(field) else { return false };
    let blanks = 8 * i128::from(b' ');
    let unsigned = i128::from(byte_sum(block)) - field.iter().copied().map(i128::from).sum::<i128>();
    let signed = |bytes: &[u8]| -> i32 { bytes.iter().map(|&byte| i32::from(byte as i8)).sum() };
    stored == unsigned + blanks || stored == i128::from(signed(&block[..148]) + signed(&block[156..])) + blanks
}

/// Each second byte of a word.
const LOW_BYTES: u64 = 0x00ff_00ff_00ff_00ff;

/// The sum of a block's bytes, eight at a time in four lanes of 16 bits: 64 times two bytes have room there. One by one they are half
/// of the time that a header takes.
pub(super) fn byte_sum(block: &Block) -> u64 {
    let (words, _) = block.as_chunks::<8>();
    let add = |lanes, word: &[u8; 8]| {
        let word = u64::from_ne_bytes(*word);
        lanes + (word & LOW_BYTES) + ((word >> 8) & LOW_BYTES)
    };
    let lanes = words.iter().fold(0, add);
    (0..4).map(|lane| (lanes >> (16 * lane)) & 0xffff).sum()
}

/// Decodes a block whose checksum matches: the fields as they stand, before any extension overrides them, of which `member` gets names,
/// owner, mode and time. The error says why the size is none: what follows is then unknown. Other bad fields become 0 with a warning.
pub(super) fn decode(block: &Block, member: &mut Member, notes: &mut Notes) -> Result<Fields, String> {
    let mut standard;
    let header = if block[257..263] == *b"ustar\0" && block[263..265] != *b"00" {
        // GNU tar looks at the magic only; the crate wants version "00" as well, which some writers leave out.
        standard = *block;
        standard[263..265].copy_from_slice(b"00");
        Header::from_byte_slice(&standard)
    } else {
        Header::from_byte_slice(block)
    };
    let old = header.as_old();
    let typeflag = old.linkflag[0];
    put(&mut member.link, &[text(&old.linkname)]);
    let name = text(&old.name);
    let (mut prefix, mut owner, mut device): (&[u8], [&[u8]; 2], [&[u8]; 2]) = Default::default();
    if let Some(ustar) = header.as_ustar() {
        prefix = text(&ustar.prefix);
        (owner, device) = ([text(&ustar.uname), text(&ustar.gname)], [&ustar.dev_major[..], &ustar.dev_minor]);
    } else if let Some(gnu) = header.as_gnu() {
        (owner, device) = ([text(&gnu.uname), text(&gnu.gname)], [&gnu.dev_major[..], &gnu.dev_minor]);
    }
    let slash: &[u8] = if prefix.is_empty() { b"" } else { b"/" };
    put(&mut member.path, &[prefix, slash, name]);
    put(&mut member.uname, &[owner[0]]);
    put(&mut member.gname, &[owner[1]]);
    // GNU tar 1.34: a hard link's size is 0 whatever its header says.
    let size = if typeflag == b'1' { 0 } else { size(&old.size)? };
    let mut fields = Fields { typeflag, size, dev: [None; 2] };
    let mut field = |what: &str, bytes: &[u8]| {
        number(bytes).ok().flatten().unwrap_or_else(|| {
            notes.flaw(format!("{}: no number in the {what} field", crate::base::name::Shown(&member.path)));
            0
        })
    };
    member.mode = (field("mode", &old.mode) & 0o7777) as u32;
    let (uid, gid) = (field("uid", &old.uid), field("gid", &old.gid));
    let mtime = field("mtime", &old.mtime);
    if matches!(typeflag, b'3' | b'4') {
        let mut part =
            |what, bytes: &[u8]| if bytes.is_empty() { Some(0) } else { u32::try_from(field(what, bytes)).ok() };
        fields.dev = [part("devmajor", device[0]), part("devminor", device[1])];
    }
    let secs = i64::try_from(mtime).unwrap_or_else(|_| {
        let name = crate::base::name::Shown(&member.path);
        notes.flaw(format!("{name}: mtime {mtime} is outside 64 bits; 0 (1970) is taken"));
        0
    });
    member.mtime = Time { secs, nanos: 0 };
    for (what, number, id) in [("uid", uid, &mut member.uid), ("gid", gid, &mut member.gid)] {
        *id = u32::try_from(number).unwrap_or_else(|_| {
            let name = crate::base::name::Shown(&member.path);
            notes.flaw(format!("{name}: {what} {number} is outside 32 bits; {NOBODY} (nobody) is taken"));
            NOBODY
        });
    }
    Ok(fields)
}

fn size(bytes: &[u8]) -> Result<u64, String> {
    let value = number(bytes).map_err(|()| "no number in the size field")?.ok_or("blanks in the size field")?;
    // File offsets are signed 64-bit numbers everywhere.
    i64::try_from(value).ok().and_then(|v| u64::try_from(v).ok()).ok_or_else(|| format!("size {value} out of range"))
}

/// A text field: up to its first NUL.
pub(super) fn text(field: &[u8]) -> &[u8] {
    CStr::from_bytes_until_nul(field).map_or(field, CStr::to_bytes)
}

/// Puts the parts of a text into memory that is at hand.
fn put(bytes: &mut Vec<u8>, parts: &[&[u8]]) {
    bytes.clear();
    bytes.reserve_exact(parts.iter().map(|part| part.len()).sum());
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
}

/// A numeric field as nearly all are: 7 or 11 octal digits, or the 6 of a checksum, with blanks or NULs behind them.
#[inline]
fn octal(field: &[u8]) -> Option<u64> {
    const ZEROS: u64 = 0x3030_3030_3030_3030;
    // Of eight digits. They become pairs, then fours, then all.
    let value = |word: u64| {
        let pairs = word & 0x0707_0707_0707_0707;
        let fours = (pairs | pairs >> 5) & 0x003f_003f_003f_003f;
        let eights = (fours | fours >> 10) & 0x0000_0fff_0000_0fff;
        (word & 0xf8f8_f8f8_f8f8_f8f8 == ZEROS).then_some((eights | eights >> 20) & 0xff_ffff)
    };
    // The first digits of a word, fewer than eight.
    let first = |word: u64, digits: u32| value(word >> (64 - 8 * digits) | ZEROS << (8 * digits));
    let is_end = |byte: u8| byte == b'\0' || byte == b' ';
    let (word, rest) = field.split_first_chunk()?;
    let word = u64::from_be_bytes(*word);
    match *rest {
        [] if is_end(field[7]) => first(word, if is_end(field[6]) { 6 } else { 7 }),
        [a, b, c, end] if is_end(end) => {
            Some(value(word)? << 9 | first(u64::from_be_bytes([a, b, c, end, 0, 0, 0, 0]), 3)?)
        }
        _ => None,
    }
}

/// A numeric field of at most 12 bytes: octal digits between blanks, up to a blank or NUL, or base-256 (first bit set,
/// two's complement of the other bits). `None` if all blank. As GNU tar, takes one leading NUL for the tail of an
/// overflowing field before, and an empty field for 0.
#[inline]
pub(super) fn number(field: &[u8]) -> Result<Option<i128>, ()> {
    debug_assert!(field.len() <= 12);
    octal(field).map_or_else(|| by_digits(field), |value| Ok(Some(value.into())))
}

fn by_digits(field: &[u8]) -> Result<Option<i128>, ()> {
    if field.first().is_some_and(|b| b & 0x80 != 0) {
        let negative = field[0] & 0x40 != 0;
        let mut value: i128 = if negative { -1 } else { 0 };
        for (i, &byte) in field.iter().enumerate() {
            let byte = if i == 0 && !negative { byte & 0x7f } else { byte };
            value = (value << 8) | i128::from(byte);
        }
        return Ok(Some(value));
    }
    let rest = field.strip_prefix(b"\0").unwrap_or(field);
    let Some(start) = rest.iter().position(|b| !b.is_ascii_whitespace()) else { return Ok(None) };
    // Twelve digits are 36 bits.
    let mut value = 0_u64;
    for &byte in &rest[start..] {
        match byte {
            b'0'..=b'7' => value = value * 8 + u64::from(byte - b'0'),
            b'\0' => break,
            _ if byte.is_ascii_whitespace() => break,
            _ => return Err(()),
        }
    }
    Ok(Some(value.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is taken eight digits at a time is what is taken one by one.
    #[test]
    fn numbers_are_the_same_by_words() {
        let bytes = b"01234567890 \0\t\x80\xffa";
        let mut state = 1_u64;
        let mut next = |below: usize| {
            state = crate::base::hash::mix(state);
            state as usize % below
        };
        let mut quick = 0;
        for len in [8, 12].repeat(20_000) {
            let digits = next(len + 1);
            let mut field: Vec<u8> = (0..digits).map(|_| b'0' + next(8) as u8).collect();
            field.resize_with(len, || bytes[next(bytes.len())]);
            if let Some(value) = octal(&field) {
                quick += 1;
                assert_eq!(by_digits(&field), Ok(Some(value.into())), "{field:?}");
            }
        }
        assert!(quick > 1_000);
        assert_eq!(octal(b"0000644\0"), Some(0o644));
        assert_eq!(octal(b"012345\0 "), Some(0o12345));
        assert_eq!(octal(b"76543210123\0"), Some(0o76543210123));
    }
}
