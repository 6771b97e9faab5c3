//! POSIX ACLs between the text that archives hold and the bytes of the `system.posix_acl_*` attributes.
//!
//! Text as acl(5) has it, long or short, parted by newlines or commas, `#` comments; with star's number as a fourth field. What
//! is made of it is what Linux takes: in order, nothing twice, complete. The bytes are those of linux/posix_acl_xattr.h.
//! Leaves out NFSv4 ACLs.

use crate::base::name::Shown;

use super::create::Names;
use super::extract::Owners;

/// The attribute of an object's access ACL.
pub const ACCESS: &[u8] = b"system.posix_acl_access";
/// The attribute of a directory's default ACL.
pub const DEFAULT: &[u8] = b"system.posix_acl_default";

/// Entries of one ACL: what fits in an attribute's 64 KiB (XATTR_SIZE_MAX).
pub const ENTRIES_MAX: usize = ((64 << 10) - HEADER_BYTES) / ENTRY_BYTES;
/// The longest name that is asked for, as for members' owners.
const NAME_BYTES_MAX: usize = 256;

const VERSION: u32 = 2;
const HEADER_BYTES: usize = 4;
const ENTRY_BYTES: usize = 8;
const NO_ID: u32 = u32::MAX;

const USER_OBJ: u16 = 0x01;
const USER: u16 = 0x02;
const GROUP_OBJ: u16 = 0x04;
const GROUP: u16 = 0x08;
const MASK: u16 = 0x10;
const OTHER: u16 = 0x20;

/// One entry; ordered as Linux wants them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    tag: u16,
    id: u32,
    perm: u16,
}

/// The attribute's bytes for an ACL's text. Names are looked up with `owners`, or, without it and where it does not know them,
/// stand for the number in the fourth field. The error says what is wrong with the text.
pub fn from_text(text: &[u8], owners: Option<&dyn Owners>) -> Result<Vec<u8>, String> {
    let mut entries = Vec::new();
    for line in text.split(|b| *b == b'\n') {
        let line = line.split(|b| *b == b'#').next().unwrap_or_default();
        for part in line.split(|b| *b == b',').map(<[u8]>::trim_ascii).filter(|part| !part.is_empty()) {
            if entries.len() == ENTRIES_MAX {
                return Err(format!("more than {ENTRIES_MAX} entries"));
            }
            entries.push(entry(part, owners).ok_or_else(|| format!("'{}' is no entry", Shown(cut(part))))??);
        }
    }
    entries.sort_unstable();
    check(&entries)?;
    let mut bytes = VERSION.to_le_bytes().to_vec();
    for Entry { tag, id, perm } in entries {
        bytes.extend_from_slice(&tag.to_le_bytes());
        bytes.extend_from_slice(&perm.to_le_bytes());
        bytes.extend_from_slice(&id.to_le_bytes());
    }
    Ok(bytes)
}

/// What an ACL lets the file's group do, and what each user and group that it names: their entries, as far as the mask lets them. None for
/// what is no ACL.
pub(super) fn granted(xattr: &[u8]) -> Option<(u32, u32)> {
    let (version, entries) = xattr.split_first_chunk::<HEADER_BYTES>()?;
    let (entries, rest) = entries.as_chunks::<ENTRY_BYTES>();
    if u32::from_le_bytes(*version) != VERSION || !rest.is_empty() {
        return None;
    }
    let (mut group, mut named, mut mask) = (None, 7, 7);
    for &[tag0, tag1, perm0, perm1, ..] in entries {
        let perm = u32::from(u16::from_le_bytes([perm0, perm1])) & 7;
        match u16::from_le_bytes([tag0, tag1]) {
            GROUP_OBJ => group = Some(perm),
            USER | GROUP => named &= perm,
            MASK => mask = perm,
            _ => {}
        }
    }
    let is_named = entries.iter().any(|entry| matches!(u16::from_le_bytes([entry[0], entry[1]]), USER | GROUP));
    Some((group? & mask, if is_named { named & mask } else { 7 }))
}

/// The text of an attribute's bytes, an entry on each line, as GNU tar stores it; with `names`' names where it has them.
/// The error says what is wrong with the bytes.
pub fn to_text(xattr: &[u8], names: Option<&dyn Names>) -> Result<Vec<u8>, String> {
    let (version, entries) = xattr.split_first_chunk::<HEADER_BYTES>().ok_or("no ACL")?;
    if u32::from_le_bytes(*version) != VERSION {
        return Err(format!("ACL of version {}", u32::from_le_bytes(*version)));
    }
    let (entries, rest) = entries.as_chunks::<ENTRY_BYTES>();
    if !rest.is_empty() {
        return Err("ACL that ends within an entry".into());
    }
    let mut text = Vec::new();
    for &[tag0, tag1, perm0, perm1, id @ ..] in entries {
        let (tag, perm, id) =
            (u16::from_le_bytes([tag0, tag1]), u16::from_le_bytes([perm0, perm1]), u32::from_le_bytes(id));
        let (word, name) = match tag {
            USER_OBJ => ("user", Vec::new()),
            USER => ("user", named(id, names.map(|n| n.user(id)))),
            GROUP_OBJ => ("group", Vec::new()),
            GROUP => ("group", named(id, names.map(|n| n.group(id)))),
            MASK => ("mask", Vec::new()),
            OTHER => ("other", Vec::new()),
            _ => return Err(format!("ACL entry of unknown tag {tag}")),
        };
        let bit = |bit: u16, letter: char| if perm & bit != 0 { letter } else { '-' };
        text.extend_from_slice(word.as_bytes());
        text.push(b':');
        text.extend_from_slice(&name);
        text.extend_from_slice(format!(":{}{}{}\n", bit(4, 'r'), bit(2, 'w'), bit(1, 'x')).as_bytes());
    }
    Ok(text)
}

/// What the text has for a user or group: its name, what would part it from the rest as backslash and octal digits, as libacl does.
fn named(id: u32, name: Option<Vec<u8>>) -> Vec<u8> {
    let Some(name) = name.filter(|name| !name.is_empty() && !name.iter().all(u8::is_ascii_digit)) else {
        return id.to_string().into_bytes();
    };
    let mut quoted = Vec::with_capacity(name.len());
    for byte in name {
        match byte {
            b':' | b',' | b'#' | b'\\' | b'\0'..=b' ' => quoted.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
            _ => quoted.push(byte),
        }
    }
    quoted
}

/// One entry of the text; `None` if it is none, an error if its name is not known.
fn entry(part: &[u8], owners: Option<&dyn Owners>) -> Option<Result<Entry, String>> {
    let mut fields = part.split(|b| *b == b':').map(<[u8]>::trim_ascii);
    let (word, second) = (fields.next()?, fields.next()?);
    let (third, fourth) = (fields.next(), fields.next());
    if fields.next().is_some() {
        return None;
    }
    let (object, named) = match word {
        b"user" | b"u" => (USER_OBJ, Some(USER)),
        b"group" | b"g" => (GROUP_OBJ, Some(GROUP)),
        b"mask" | b"m" => (MASK, None),
        b"other" | b"o" => (OTHER, None),
        _ => return None,
    };
    // `other:r--` is short for `other::r--`.
    let (name, perm) = match third {
        Some(perm) => (second, perm),
        None if named.is_none() => (&b""[..], second),
        None => return None,
    };
    let perm = permissions(perm)?;
    if name.is_empty() {
        return Some(Ok(Entry { tag: object, id: NO_ID, perm }));
    }
    let tag = named?;
    let id = id(&unquoted(name), tag, fourth, owners);
    Some(
        id.map(|id| Entry { tag, id, perm })
            .ok_or_else(|| format!("unknown {} '{}'", if tag == USER { "user" } else { "group" }, Shown(cut(name)))),
    )
}

fn permissions(letters: &[u8]) -> Option<u16> {
    if letters.is_empty() || letters.len() > 3 {
        return None;
    }
    letters.iter().try_fold(0, |perm, letter| {
        Some(
            perm | match letter {
                b'r' => 4,
                b'w' => 2,
                b'x' => 1,
                b'-' => 0,
                _ => return None,
            },
        )
    })
}

/// A number, else the name's, else that of the fourth field.
fn id(name: &[u8], tag: u16, fourth: Option<&[u8]>, owners: Option<&dyn Owners>) -> Option<u32> {
    let known = |owners: &dyn Owners| if tag == USER { owners.uid(name) } else { owners.gid(name) };
    number(name)
        .or_else(|| owners.filter(|_| name.len() <= NAME_BYTES_MAX).and_then(known))
        .or_else(|| fourth.and_then(number))
}

fn number(digits: &[u8]) -> Option<u32> {
    let digits = str::from_utf8(digits).ok().filter(|d| d.bytes().all(|b| b.is_ascii_digit()))?;
    digits.parse().ok().filter(|id| *id != NO_ID)
}

fn unquoted(name: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::with_capacity(name.len()), name);
    while let Some((&first, tail)) = rest.split_first() {
        match (first, tail) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) => {
                out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = after;
            }
            _ => {
                out.push(first);
                rest = tail;
            }
        }
    }
    out
}

/// As acl_valid(3) and Linux want it; `entries` are sorted.
fn check(entries: &[Entry]) -> Result<(), String> {
    if entries.windows(2).any(|pair| (pair[0].tag, pair[0].id) == (pair[1].tag, pair[1].id)) {
        return Err("an entry comes twice".into());
    }
    let has = |tag: u16| entries.iter().any(|entry| entry.tag == tag);
    if ![USER_OBJ, GROUP_OBJ, OTHER].into_iter().all(has) {
        return Err("the entry of the owner, the group or the others is missing".into());
    }
    if (has(USER) || has(GROUP)) && !has(MASK) {
        return Err("the mask is missing".into());
    }
    Ok(())
}

/// What of hostile text goes into a message.
fn cut(text: &[u8]) -> &[u8] {
    &text[..text.len().min(100)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct Known;

    impl Owners for Known {
        fn uid(&self, name: &[u8]) -> Option<u32> {
            (name == b"amy").then_some(7)
        }
        fn gid(&self, name: &[u8]) -> Option<u32> {
            (name == b"domain users").then_some(8)
        }
    }

    impl Names for Known {
        fn user(&self, uid: u32) -> Vec<u8> {
            if uid == 7 { b"amy".to_vec() } else { Vec::new() }
        }
        fn group(&self, gid: u32) -> Vec<u8> {
            if gid == 8 { b"domain users".to_vec() } else { Vec::new() }
        }
    }

    /// What Linux gives for the text below (getfattr -e hex).
    const BYTES: &[u8] = b"\x02\0\0\0\x01\0\x06\0\xff\xff\xff\xff\x02\0\x07\0\x07\0\0\0\x02\0\x04\0\xd2\x04\0\0\
        \x04\0\x04\0\xff\xff\xff\xff\x08\0\x05\0\x08\0\0\0\x10\0\x07\0\xff\xff\xff\xff\x20\0\0\0\xff\xff\xff\xff";
    const TEXT: &str =
        "user::rw-\nuser:amy:rwx\nuser:1234:r--\ngroup::r--\ngroup:domain\\040users:r-x\nmask::rwx\nother::---\n";

    #[test]
    fn text_and_bytes_in_all_spellings() {
        assert_eq!(to_text(BYTES, Some(&Known)).unwrap(), TEXT.as_bytes());
        let numbers = TEXT.replace("amy", "7").replace("domain\\040users", "8");
        assert_eq!(to_text(BYTES, None).unwrap(), numbers.as_bytes());
        for owners in [None, Some(&Known as &dyn Owners)] {
            assert_eq!(from_text(numbers.as_bytes(), owners).unwrap(), BYTES);
        }
        let spellings = [
            // Of star and libarchive: commas, another order, numbers behind the names; those go after names that are known.
            "user::rw-,group::r--,other::---,user:amy:rwx:99,user:zoe:r--:1234,group:domain\\040users:r-x:99,mask::rwx",
            " u::rw , u:amy:rwx\t# effective: rw-\n\n#comment\ng:8:xr,g::r\nm:rwx\no:-,u:1234:-r-\n",
        ];
        for text in spellings {
            assert_eq!(from_text(text.as_bytes(), Some(&Known)).unwrap(), BYTES, "{text}");
        }
        let starred = "user::rw-,user:foreign:r--:12,group::r--,mask::r--,other::---";
        assert!(from_text(starred.as_bytes(), None).unwrap().windows(8).any(|e| e == b"\x02\0\x04\0\x0c\0\0\0"));
    }

    #[test]
    fn what_is_no_acl_is_refused_with_the_reason() {
        let base = "user::rwx\ngroup::r-x\nother::r-x\n";
        assert!(from_text(base.as_bytes(), None).is_ok());
        for (more, reason) in [
            ("user:amy:r--", "unknown user 'amy'"),
            ("group:4294967295:r--\nmask::r--", "unknown group"),
            ("user:5:r--", "mask is missing"),
            ("other::r--", "twice"),
            ("user:5:r--,user:5:rw-,mask::rwx", "twice"),
            ("nobody::r--", "is no entry"),
            ("user", "is no entry"),
            ("user:rwx", "is no entry"),
            ("mask:5:rwx", "is no entry"),
            ("user:5:rwq", "is no entry"),
            ("user:5:", "is no entry"),
            ("user:5:rwx:5:5", "is no entry"),
        ] {
            let error = from_text(format!("{base}{more}").as_bytes(), None).unwrap_err();
            assert!(error.contains(reason), "{more}: {error}");
        }
        assert!(from_text(b"", None).unwrap_err().contains("missing"));
        let many: String = (0..=ENTRIES_MAX).map(|i| format!("user:{i}:r--\n")).collect();
        assert!(from_text(many.as_bytes(), None).unwrap_err().contains("more than"));
        struct Asked;
        impl Owners for Asked {
            fn uid(&self, _: &[u8]) -> Option<u32> {
                panic!("asked for a name that nobody can have")
            }
            fn gid(&self, _: &[u8]) -> Option<u32> {
                None
            }
        }
        let long = format!("{base}user:{}:r--:3,mask::r", "u".repeat(NAME_BYTES_MAX + 1));
        assert!(from_text(long.as_bytes(), Some(&Asked)).is_ok());
        for bad in [&b""[..], b"\x01\0\0\0", b"\x02\0\0\0\x01", b"\x02\0\0\0\x03\0\0\0\0\0\0\0"] {
            assert!(to_text(bad, None).is_err());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn bytes_come_back_and_any_text_is_survived(
            users in prop::collection::btree_map(0..u32::MAX, 0u16..8, 0..9),
            groups in prop::collection::btree_map(0..u32::MAX, 0u16..8, 0..9),
            perms in prop::collection::vec(0u16..8, 4),
            noise in "[ugom:,\n#0-9rwx\\\\ -]{0,80}",
        ) {
            let mut bytes = VERSION.to_le_bytes().to_vec();
            let mut add = |tag: u16, perm: u16, id: u32| {
                bytes.extend([tag.to_le_bytes(), perm.to_le_bytes()].concat());
                bytes.extend(id.to_le_bytes());
            };
            add(USER_OBJ, perms[0], NO_ID);
            users.iter().for_each(|(id, perm)| add(USER, *perm, *id));
            add(GROUP_OBJ, perms[1], NO_ID);
            groups.iter().for_each(|(id, perm)| add(GROUP, *perm, *id));
            add(MASK, perms[2], NO_ID);
            add(OTHER, perms[3], NO_ID);
            prop_assert_eq!(from_text(&to_text(&bytes, None).unwrap(), None), Ok(bytes.clone()));
            prop_assert_eq!(from_text(&to_text(&bytes, Some(&Known)).unwrap(), Some(&Known)), Ok(bytes));
            if let Ok(bytes) = from_text(noise.as_bytes(), Some(&Known)) {
                prop_assert!(to_text(&bytes, None).is_ok());
            }
        }
    }
}
