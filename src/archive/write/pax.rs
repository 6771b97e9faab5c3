//! Pax: a ustar header, and an extended header with what that cannot say: long names, large numbers, fractions of a second,
//! sparse files, extended attributes, ACLs.
//!
//! Names that are not UTF-8 go into records as they are, under `hdrcharset=BINARY`: bsdtar 3.6 wants that, GNU tar 1.34 warns
//! of it and reads the same names.

use super::block::{self, Fields};
use super::{Format, Member, Unfit, data, fields, link, name, segments, sparse};
use crate::archive::attributes::{self, SELINUX};
use crate::archive::stream::PAX_BYTES_MAX;
use crate::base::Time;

/// The largest number of a field of 8 bytes, and of 12.
const SMALL_MAX: i64 = 0o7_777_777;
const LARGE_MAX: i64 = 0o77_777_777_777;

/// Records of an extended header.
#[derive(Default)]
struct Records {
    bytes: Vec<u8>,
    /// Some name is not UTF-8.
    binary: bool,
}

impl Records {
    /// `length key=value`; the length counts its own digits.
    fn push(&mut self, key: &[u8], value: &[u8]) {
        let rest = key.len() + value.len() + 3;
        let mut len = rest;
        while len != rest + digits(len) {
            len = rest + digits(len);
        }
        self.bytes.reserve(len);
        let mut number = [0; 20];
        for part in [decimal(len as u64, &mut number), b" ", key, b"=", value, b"\n"] {
            self.bytes.extend_from_slice(part);
        }
    }

    fn name(&mut self, key: &[u8], name: &[u8]) {
        self.binary |= str::from_utf8(name).is_err();
        self.push(key, name);
    }

    /// A number that its field has no room for goes into a record; what is then in the field.
    fn number<T: Copy + Into<u64> + Default>(&mut self, key: &[u8], value: T, max: i64) -> T {
        if block::off_t(value.into()) <= max {
            return value;
        }
        self.push(key, value.into().to_string().as_bytes());
        T::default()
    }
}

/// The digits of a number, in a place for those of any.
fn decimal(mut number: u64, place: &mut [u8; 20]) -> &[u8] {
    let mut at = place.len();
    loop {
        at -= 1;
        place[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &place[at..];
        }
    }
}

fn digits(mut number: usize) -> usize {
    let mut digits = 1;
    while number >= 10 {
        (number, digits) = (number / 10, digits + 1);
    }
    digits
}

/// Appends the member's blocks.
pub(super) fn member(member: &Member, out: &mut Vec<u8>) -> Result<(), Unfit> {
    let name = &*name(member);
    let mut records = Records::default();
    let mut header = fields(member, name);
    let (mut sparse_name, mut map) = (Vec::new(), Vec::new());
    if let Some(segments) = segments(member) {
        map = sparse::new(segments, member.size)?;
        records.push(b"GNU.sparse.major", b"1");
        records.push(b"GNU.sparse.minor", b"0");
        records.name(b"GNU.sparse.name", name);
        records.push(b"GNU.sparse.realsize", member.size.to_string().as_bytes());
        // Readers that know nothing of sparse files make one of this name, with the map in it.
        sparse_name.extend(beside(name, b"GNUSparseFile.0"));
        header.name = &sparse_name;
        header.size = header.size.saturating_add(map.len() as u64);
    } else if let Ok((prefix, last)) = block::split(name) {
        (header.prefix, header.name) = (prefix, last);
    } else {
        records.name(b"path", name);
    }
    overrides(member, &mut header, &mut records)?;
    attributes(member, &mut records)?;
    extended(name, member.mtime.secs, records, out)?;
    block::append(&header, Format::Pax, out)?;
    out.append(&mut map);
    Ok(())
}

/// Records for what does not fit in the header.
fn overrides(member: &Member, header: &mut Fields<'_>, records: &mut Records) -> Result<(), Unfit> {
    if link(member).len() > block::LINK.len() {
        records.name(b"linkpath", link(member));
    }
    for (key, owner) in [(&b"uname"[..], &member.uname), (b"gname", &member.gname)] {
        if !block::fits_owner(owner) {
            records.name(key, owner);
        }
    }
    header.uid = records.number(b"uid", header.uid, SMALL_MAX);
    header.gid = records.number(b"gid", header.gid, SMALL_MAX);
    header.size = records.number(b"size", header.size, LARGE_MAX);
    if let Some((major, minor)) = header.dev {
        let major = records.number(b"SCHILY.devmajor", major, SMALL_MAX);
        header.dev = Some((major, records.number(b"SCHILY.devminor", minor, SMALL_MAX)));
    }
    if member.mtime.nanos != 0 || !(0..=LARGE_MAX).contains(&member.mtime.secs) {
        records.push(b"mtime", &time(member.mtime)?);
        header.mtime = header.mtime.clamp(0, LARGE_MAX);
    }
    Ok(())
}

/// Records for extended attributes and ACLs.
fn attributes(member: &Member, records: &mut Records) -> Result<(), Unfit> {
    for (key, acl) in [(&b"SCHILY.acl.access"[..], &member.acl_access), (b"SCHILY.acl.default", &member.acl_default)] {
        if let Some(acl) = acl.as_ref().filter(|acl| !acl.is_empty()) {
            records.push(key, acl);
        }
    }
    for (name, value) in &member.xattrs {
        if name.is_empty() || name.contains(&0) {
            return Err(Unfit::Malformed("an extended attribute's name is empty or contains a NUL byte"));
        }
        // GNU tar takes the one with --selinux alone, the other with --xattrs alone.
        let context =
            value.strip_suffix(b"\0").filter(|text| name == SELINUX && !text.is_empty() && !text.contains(&0));
        if let Some(context) = context {
            records.push(b"RHT.security.selinux", context);
        }
        records.push(&attributes::key(name), value);
    }
    Ok(())
}

/// Appends the extended header of a member, if there are records.
fn extended(name: &[u8], secs: i64, mut records: Records, out: &mut Vec<u8>) -> Result<(), Unfit> {
    if records.binary {
        let rest = std::mem::take(&mut records.bytes);
        records.push(b"hdrcharset", b"BINARY");
        records.bytes.extend_from_slice(&rest);
    }
    if records.bytes.is_empty() {
        return Ok(());
    }
    let size = records.bytes.len() as u64;
    if size > PAX_BYTES_MAX {
        return Err(Unfit::TooLarge { what: "extended header", bytes: size, max: PAX_BYTES_MAX });
    }
    let name = beside(name, b"PaxHeaders");
    let mtime = secs.clamp(0, LARGE_MAX);
    let fields = Fields { name: &name, typeflag: b'x', mode: 0o644, size, mtime, ..Fields::default() };
    block::append(&fields, Format::Pax, out)?;
    data(&records.bytes, out);
    Ok(())
}

/// `dir/with/base` for `dir/base`, which readers show that do not know what the member is.
fn beside(name: &[u8], with: &[u8]) -> Vec<u8> {
    let end = name.iter().rposition(|&b| b != b'/').map_or(0, |at| at + 1);
    let (dir, base) = match name[..end].iter().rposition(|&b| b == b'/') {
        Some(slash) => (&name[..slash], &name[slash + 1..end]),
        None => (&b"."[..], &name[..end]),
    };
    let mut name = [dir, b"/", with, b"/", base].concat();
    name.truncate(block::NAME.len());
    name
}

/// Seconds since 1970 with their fraction, without zeros at its end.
fn time(time: Time) -> Result<Vec<u8>, Unfit> {
    let (sign, whole, nanos) = match (time.secs, time.nanos) {
        (0.., nanos) => (&b""[..], time.secs, nanos),
        (i64::MIN, 0) => {
            return Err(Unfit::Value { value: time.secs, kind: "time_t", min: -i64::MAX, max: i64::MAX });
        }
        (secs, 0) => (&b"-"[..], -secs, 0),
        (secs, nanos) => (&b"-"[..], -(secs + 1), 1_000_000_000 - nanos),
    };
    let mut text = Vec::with_capacity(32);
    text.extend_from_slice(sign);
    text.extend_from_slice(decimal(whole.unsigned_abs(), &mut [0; 20]));
    if nanos > 0 {
        // A digit more, so that the zeros in front are there; its place is the point's.
        let point = text.len();
        text.extend_from_slice(decimal(1_000_000_000 + u64::from(nanos), &mut [0; 20]));
        text[point] = b'.';
        let zeros = text.iter().rev().take_while(|&&digit| digit == b'0').count();
        text.truncate(text.len() - zeros);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_digits_they_need() {
        let text = |secs, nanos| String::from_utf8(time(Time { secs, nanos }).unwrap()).unwrap();
        assert_eq!(text(0, 0), "0");
        assert_eq!(text(10, 0), "10");
        assert_eq!(text(1_700_000_000, 120_000_000), "1700000000.12");
        assert_eq!(text(0, 1), "0.000000001");
        assert_eq!(text(7, 999_999_999), "7.999999999");
        assert_eq!(text(-1, 500_000_000), "-0.5");
        assert_eq!(text(-100, 0), "-100");
        assert_eq!(text(i64::MAX, 10), "9223372036854775807.00000001");
        assert_eq!(text(i64::MIN, 1), "-9223372036854775807.999999999");
        assert!(time(Time { secs: i64::MIN, nanos: 0 }).is_err());
        assert_eq!(decimal(u64::MAX, &mut [0; 20]), b"18446744073709551615");
    }
}
