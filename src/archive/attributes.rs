//! Extended attributes and ACLs in pax records: star's keys (SCHILY), which GNU tar and libarchive write, libarchive's own and
//! Red Hat's for SELinux.
//!
//! Leaves out what the values mean.

use std::collections::BTreeMap;

/// The attribute of SELinux's context.
pub(super) const SELINUX: &[u8] = b"security.selinux";
/// Attributes of one member: more than Linux can list of one object (XATTR_LIST_MAX of 64 KiB, 7 bytes for the shortest name).
const XATTRS_MAX: usize = 10_000;

const SCHILY: &[u8] = b"SCHILY.xattr.";
const LIBARCHIVE: &[u8] = b"LIBARCHIVE.xattr.";

/// What the records say of the next member.
#[derive(Clone, Debug, Default)]
pub(super) struct Attributes {
    /// By name: the value, and whether it came in star's spelling, which goes before libarchive's.
    xattrs: BTreeMap<Vec<u8>, (Vec<u8>, bool)>,
    pub acl_access: Option<Vec<u8>>,
    pub acl_default: Option<Vec<u8>>,
}

impl Attributes {
    /// Takes a record if it is one of an attribute; `Some(false)` if it makes no sense or there are too many.
    pub(super) fn set(&mut self, key: &[u8], value: &[u8]) -> Option<bool> {
        let acl = || Some(value.to_vec()).filter(|acl| !acl.is_empty());
        match key {
            b"SCHILY.acl.access" => self.acl_access = acl(),
            b"SCHILY.acl.default" => self.acl_default = acl(),
            b"RHT.security.selinux" if value.is_empty() => {}
            // The attribute has the NUL that ends the text.
            b"RHT.security.selinux" => return Some(self.put(SELINUX.to_vec(), [value, b"\0"].concat(), true)),
            _ => {
                if let Some(name) = key.strip_prefix(SCHILY) {
                    return Some(self.put(decoded(name, true), value.to_vec(), true));
                }
                let name = key.strip_prefix(LIBARCHIVE)?;
                return Some(base64(value).is_some_and(|value| self.put(decoded(name, false), value, false)));
            }
        }
        Some(true)
    }

    fn put(&mut self, name: Vec<u8>, value: Vec<u8>, schily: bool) -> bool {
        if name.is_empty() || name.contains(&0) {
            return false;
        }
        match self.xattrs.get(&name) {
            Some((_, true)) if !schily => return true,
            None if self.xattrs.len() >= XATTRS_MAX => return false,
            _ => {}
        }
        self.xattrs.insert(name, (value, schily));
        true
    }

    /// Names and values, sorted by name.
    pub(super) fn into_xattrs(self) -> Vec<(Vec<u8>, Vec<u8>)> {
        self.xattrs.into_iter().map(|(name, (value, _))| (name, value)).collect()
    }
}

/// The record's key for an attribute. As in GNU tar and libarchive, `=` and `%` are written as `%3D` and `%25`.
pub(super) fn key(name: &[u8]) -> Vec<u8> {
    let mut key = SCHILY.to_vec();
    for &byte in name {
        match byte {
            b'=' => key.extend_from_slice(b"%3D"),
            b'%' => key.extend_from_slice(b"%25"),
            _ => key.push(byte),
        }
    }
    key
}

/// A name without `%` escapes: any, or only the two that `key` writes.
fn decoded(name: &[u8], only_ours: bool) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::with_capacity(name.len()), name);
    while let Some((&first, tail)) = rest.split_first() {
        let escaped = (first == b'%').then(|| tail.get(..2).and_then(hex)).flatten();
        match escaped.filter(|byte| !only_ours || matches!(byte, b'=' | b'%')) {
            Some(byte) => {
                out.push(byte);
                rest = &tail[2..];
            }
            None => {
                out.push(first);
                rest = tail;
            }
        }
    }
    out
}

fn hex(digits: &[u8]) -> Option<u8> {
    let digit = |b: u8| char::from(b).to_digit(16);
    match *digits {
        // Below 256.
        [high, low] => Some((digit(high)? * 16 + digit(low)?) as u8),
        _ => None,
    }
}

/// RFC 4648 base 64, with or without padding; libarchive writes none.
fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let end = text.iter().rposition(|&b| b != b'=').map_or(0, |at| at + 1);
    let mut out = Vec::with_capacity(end / 4 * 3 + 2);
    let (mut bits, mut count) = (0u32, 0);
    for &byte in &text[..end] {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(digit)) & 0xfff;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    // One digit left over is no byte.
    (count < 6).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_as_in_rfc_4648_with_and_without_padding() {
        for (text, bytes) in
            [("", ""), ("Zg", "f"), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYmFy", "foobar")]
        {
            assert_eq!(base64(text.as_bytes()).as_deref(), Some(bytes.as_bytes()));
        }
        assert_eq!(base64(b"AP8K//+/"), Some(vec![0, 255, 10, 255, 255, 191]));
        for bad in ["A", "Zm9vA", "Zm9v!", "Z m8"] {
            assert_eq!(base64(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn names_are_escaped_as_gnu_tar_does_and_back() {
        assert_eq!(key(b"user.a=b%c"), b"SCHILY.xattr.user.a%3Db%25c");
        for name in [&b"user.a=b%c"[..], b"user.%41", b"%", b"=%", b"user.\xff"] {
            assert_eq!(decoded(&key(name)[SCHILY.len()..], true), name);
        }
        assert_eq!((decoded(b"u%41%4", true), decoded(b"u%41%4", false)), (b"u%41%4".to_vec(), b"uA%4".to_vec()));
    }

    #[test]
    fn stars_spelling_goes_first_whatever_the_order() {
        for order in [[true, false], [false, true]] {
            let mut attributes = Attributes::default();
            for schily in order {
                let record = if schily {
                    (&b"SCHILY.xattr.user.x"[..], &b"a"[..])
                } else {
                    (&b"LIBARCHIVE.xattr.user.x"[..], &b"Yg"[..])
                };
                assert_eq!(attributes.set(record.0, record.1), Some(true));
            }
            assert_eq!(attributes.into_xattrs(), [(b"user.x".to_vec(), b"a".to_vec())]);
        }
    }
}
