//! One header block as GNU tar writes it: fields, numbers, checksum.

use std::ops::Range;

use super::super::header::byte_sum;
use super::{BLOCK_BYTES, Block, Format, Unfit};

// POSIX.1-1988 (ustar); GNU tar's have the same places up to devminor.
pub(super) const NAME: Range<usize> = 0..100;
const MODE: Range<usize> = 100..108;
const UID: Range<usize> = 108..116;
const GID: Range<usize> = 116..124;
pub(super) const SIZE: Range<usize> = 124..136;
pub(super) const MTIME: Range<usize> = 136..148;
const CHECKSUM: Range<usize> = 148..156;
pub(super) const TYPEFLAG: usize = 156;
pub(super) const LINK: Range<usize> = 157..257;
/// Magic and version.
const MAGIC: Range<usize> = 257..265;
pub(super) const UNAME: Range<usize> = 265..297;
pub(super) const GNAME: Range<usize> = 297..329;
const DEVMAJOR: Range<usize> = 329..337;
const DEVMINOR: Range<usize> = 337..345;
const PREFIX: Range<usize> = 345..500;

/// What goes into a header. Names longer than their field are cut off, owners' names left out.
#[derive(Clone, Default)]
pub(super) struct Fields<'a> {
    pub name: &'a [u8],
    pub prefix: &'a [u8],
    pub link: &'a [u8],
    pub typeflag: u8,
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub size: u64,
    pub mtime: i64,
    pub uname: &'a [u8],
    pub gname: &'a [u8],
    /// Of a device.
    pub dev: Option<(u32, u32)>,
}

/// Appends the block of `fields`, sealed. After an error what is appended is of no use.
pub(super) fn append(fields: &Fields<'_>, format: Format, out: &mut Vec<u8>) -> Result<(), Unfit> {
    let start = out.len();
    out.resize(start + BLOCK_BYTES, 0);
    let (_, blocks) = out.as_mut_slice().split_at_mut(start);
    blocks.first_chunk_mut().map_or(Ok(()), |block| fill(block, fields, format))
}

/// The block of `fields`, sealed.
pub(super) fn block(fields: &Fields<'_>, format: Format) -> Result<Block, Unfit> {
    let mut block = [0; BLOCK_BYTES];
    fill(&mut block, fields, format)?;
    Ok(block)
}

fn fill(block: &mut Block, fields: &Fields<'_>, format: Format) -> Result<(), Unfit> {
    text(&mut block[NAME], fields.name);
    text(&mut block[LINK], fields.link);
    text(&mut block[PREFIX], fields.prefix);
    number(&mut block[MODE], fields.mode.into(), "mode_t", format)?;
    number(&mut block[UID], fields.uid.into(), "uid_t", format)?;
    number(&mut block[GID], fields.gid.into(), "gid_t", format)?;
    number(&mut block[SIZE], off_t(fields.size), "off_t", format)?;
    number(&mut block[MTIME], fields.mtime, "time_t", format)?;
    block[TYPEFLAG] = fields.typeflag;
    block[MAGIC].copy_from_slice(if format == Format::Gnu { b"ustar  \0" } else { b"ustar\x0000" });
    for (field, owner) in [(UNAME, fields.uname), (GNAME, fields.gname)] {
        if fits_owner(owner) {
            text(&mut block[field], owner);
        }
    }
    // GNU headers of other kinds leave these fields empty.
    if let Some((major, minor)) = fields.dev.or((format != Format::Gnu).then_some((0, 0))) {
        number(&mut block[DEVMAJOR], major.into(), "major_t", format)?;
        number(&mut block[DEVMINOR], minor.into(), "minor_t", format)?;
    }
    seal(block);
    Ok(())
}

/// True for an owner's name that the header has room for, with the NUL that ends it.
pub(super) fn fits_owner(name: &[u8]) -> bool {
    name.len() < UNAME.len()
}

/// A size as a signed number. None is larger than a file can be.
pub(super) fn off_t(size: u64) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

/// The largest number that octal digits and a NUL in `bytes` can say.
pub(super) fn octal_max(bytes: usize) -> i64 {
    (1 << (3 * (bytes - 1))) - 1
}

/// Writes a number in octal with leading zeros and a NUL; one that does not fit in base 256 where the format has it.
pub(super) fn number(field: &mut [u8], value: i64, kind: &'static str, format: Format) -> Result<(), Unfit> {
    let max = octal_max(field.len());
    if (0..=max).contains(&value) {
        octal(field, value.unsigned_abs());
        return Ok(());
    }
    // One byte says that it is base 256 and the sign, the others are the number.
    let bits = 8 * (field.len() - 1);
    let fits = bits >= 64 || (value >> (bits - 1)) == 0 || (value >> (bits - 1)) == -1;
    if format != Format::Gnu || !fits {
        return Err(Unfit::Value { value, kind, min: 0, max });
    }
    let sign = if value < 0 { 0xff } else { 0 };
    let bytes = value.to_be_bytes();
    for (i, byte) in field.iter_mut().rev().enumerate() {
        *byte = if i < bytes.len() { bytes[bytes.len() - 1 - i] } else { sign };
    }
    field[0] = if value < 0 { 0xff } else { 0x80 };
    Ok(())
}

fn text(field: &mut [u8], text: &[u8]) {
    let len = text.len().min(field.len());
    field[..len].copy_from_slice(&text[..len]);
}

/// Sets the checksum: the sum of the block's bytes, its own field taken as blanks.
pub(super) fn seal(block: &mut Block) {
    block[CHECKSUM].fill(b' ');
    let sum = byte_sum(block);
    // At most 512 * 255, which is six digits; a blank follows their NUL.
    octal(&mut block[CHECKSUM.start..CHECKSUM.end - 1], sum);
}

/// Writes a number that fits in octal with leading zeros, and a NUL.
fn octal(field: &mut [u8], value: u64) {
    let Some((end, digits)) = field.split_last_mut() else { return };
    *end = 0;
    let mut left = value;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (left & 7) as u8;
        left >>= 3;
    }
}

/// A name in prefix and name, where GNU tar parts it: at the last slash that leaves a prefix of at most 155 bytes.
pub(super) fn split(name: &[u8]) -> Result<(&[u8], &[u8]), Unfit> {
    if name.len() <= NAME.len() {
        return Ok((b"", name));
    }
    let max = PREFIX.len() + 1 + NAME.len();
    if name.len() > max {
        return Err(Unfit::NameTooLong(max));
    }
    // A directory's last slash is not one to part at.
    let within = &name[..(name.len() - 1).min(PREFIX.len() + 1)];
    match within.iter().rposition(|&b| b == b'/') {
        Some(at) if at > 0 && name.len() - at - 1 <= NAME.len() => Ok((&name[..at], &name[at + 1..])),
        _ => Err(Unfit::NameUnsplit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_sum_of_the_bytes() {
        let patterns: [fn(usize) -> u8; 4] =
            [|_| 0, |_| 0xff, |i| (i % 256) as u8, |i| if i % 2 == 0 { 0xff } else { 1 }];
        for pattern in patterns {
            let mut block: Block = std::array::from_fn(pattern);
            seal(&mut block);
            let sum: u32 =
                block.iter().enumerate().map(|(i, &b)| if CHECKSUM.contains(&i) { 32 } else { b.into() }).sum();
            assert_eq!(block[CHECKSUM], *format!("{sum:06o}\0 ").as_bytes());
        }
    }
}
