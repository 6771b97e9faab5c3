//! One path component, parsed once. A path that leaves its root cannot be written with these.

use std::cmp::Ordering;
use std::fmt::{self, Write};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use thiserror::Error;

use super::hash::mix;
use super::time::Time;

/// The longest component, in bytes: most file systems take 255 of them, those that count in UTF-16 (vfat, NTFS, CIFS) 255 characters, which
/// Linux shows in up to four bytes each.
pub const NAME_MAX: usize = 1020;

/// How long a name is that needs no memory of its own: nearly all are shorter, and a name takes 32 bytes so.
const SHORT_MAX: usize = 30;

/// One path component: 1 to [`NAME_MAX`] bytes, no slash, no NUL, neither `.` nor `..`. Bytes, not UTF-8. Clones cost no allocation.
#[derive(Clone)]
pub struct Name(Bytes);

#[derive(Clone)]
enum Bytes {
    /// The length and the bytes.
    Short(u8, [u8; SHORT_MAX]),
    Long(Arc<[u8]>),
}

/// Why bytes are not a `Name`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)] // the messages say it
pub enum BadName {
    #[error("empty name")]
    Empty,
    #[error("'..' would leave the destination")]
    DotDot,
    #[error("'.' is not a name")]
    Dot,
    #[error("name contains a slash")]
    Slash,
    #[error("name contains a NUL byte")]
    Nul,
    #[error("name is longer than {NAME_MAX} bytes")]
    TooLong,
}

impl Name {
    /// Parses one component.
    pub fn new(bytes: &[u8]) -> Result<Name, BadName> {
        match bytes {
            b"" => Err(BadName::Empty),
            b"." => Err(BadName::Dot),
            b".." => Err(BadName::DotDot),
            _ if bytes.len() > NAME_MAX => Err(BadName::TooLong),
            _ if bytes.contains(&b'/') => Err(BadName::Slash),
            _ if bytes.contains(&0) => Err(BadName::Nul),
            _ => Ok(Name(Bytes::of(bytes))),
        }
    }

    /// The component's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Bytes::Short(len, bytes) => &bytes[..usize::from(*len)],
            Bytes::Long(bytes) => bytes,
        }
    }
}

impl Bytes {
    fn of(bytes: &[u8]) -> Bytes {
        match u8::try_from(bytes.len()) {
            Ok(len) if bytes.len() <= SHORT_MAX => {
                let mut short = [0; SHORT_MAX];
                short[..bytes.len()].copy_from_slice(bytes);
                Bytes::Short(len, short)
            }
            _ => Bytes::Long(Arc::from(bytes)),
        }
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Name) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Name {}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Name) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Name) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

/// `text`, or its first `bytes_max` bytes (less a character that does not fit) and three dots.
pub fn cut(text: String, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text;
    }
    let end = (0..=bytes_max).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    format!("{}...", &text[..end])
}

/// Bytes of a name or path in GNU tar's style, from which they can be told again: printable UTF-8 as it is, a backslash doubled, the
/// control characters that C has letters for with those, every other byte as `\ooo`.
pub struct Shown<'a>(pub &'a [u8]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        escaped(self.0, f, |c| {
            Some(match c {
                '\\' => "\\\\",
                '\x07' => "\\a",
                '\x08' => "\\b",
                '\x0c' => "\\f",
                '\n' => "\\n",
                '\r' => "\\r",
                '\t' => "\\t",
                '\x0b' => "\\v",
                _ => return None,
            })
        })
    }
}

/// Text that came from elsewhere, as a terminal may show it: as it is, but for control characters and what is no UTF-8, whose bytes are
/// shown as `\ooo`.
pub struct Printable<'a>(pub &'a [u8]);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        escaped(self.0, f, |_| None)
    }
}

/// The same of text of several lines.
pub struct PrintableLines<'a>(pub &'a str);

impl fmt::Display for PrintableLines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        escaped(self.0.as_bytes(), f, |c| match c {
            '\n' => Some("\n"),
            '\t' => Some("\t"),
            _ => None,
        })
    }
}

/// Writes what `special` has for a character, the bytes of other control characters and of what is no UTF-8 as `\ooo`.
fn escaped(bytes: &[u8], f: &mut fmt::Formatter<'_>, special: impl Fn(char) -> Option<&'static str>) -> fmt::Result {
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            let mut utf8 = [0; 4];
            match special(c) {
                Some(text) => f.write_str(text)?,
                None if c.is_control() => octal(c.encode_utf8(&mut utf8).as_bytes(), f)?,
                None => f.write_char(c)?,
            }
        }
        octal(chunk.invalid(), f)?;
    }
    Ok(())
}

fn octal(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    bytes.iter().try_for_each(|b| write!(f, "\\{b:03o}"))
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Shown(self.as_bytes()).fmt(f)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// A directory of a file system's root in which its server shows former states: nobody's data of now.
pub const SNAPSHOT: &[u8] = b".snapshot";

/// A name that nobody else has, for a file that proves what sees it.
pub(crate) fn unique() -> Name {
    let now = Time::now();
    let digits = mix(mix(u64::from(std::process::id())) ^ u64::from(now.nanos) ^ (now.secs as u64) << 30);
    Name::new(format!(".parfs-{digits:016x}").as_bytes()).expect("hex digits are a name")
}

/// True for a name of that form.
pub(crate) fn is_unique(name: &Name) -> bool {
    let digits = name.as_bytes().strip_prefix(b".parfs-");
    digits.is_some_and(|digits| digits.len() == 16 && digits.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
}

/// True for a client's name for a file that was removed while open (Linux's nfs_sillyrename: 24 hex digits; others use fewer).
pub fn is_silly(name: &[u8]) -> bool {
    let digits = name.strip_prefix(b".nfs");
    digits.is_some_and(|digits| digits.len() >= 8 && digits.iter().all(u8::is_ascii_hexdigit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_single_components_are_names() {
        for (bytes, error) in [
            (&b""[..], BadName::Empty),
            (b".", BadName::Dot),
            (b"..", BadName::DotDot),
            (b"a/b", BadName::Slash),
            (b"a\0b", BadName::Nul),
            (&[b'x'; 1021], BadName::TooLong),
        ] {
            assert_eq!(Name::new(bytes).unwrap_err(), error);
        }
        assert!(Name::new(&[b'x'; 1020]).is_ok());
        assert!(Name::new(b"...").is_ok());
        assert_eq!(Name::new(b"bad\xff\n\xc3\xa9").unwrap().to_string(), "bad\\377\\n\u{e9}");
    }

    #[test]
    fn names_of_any_length_are_their_bytes() {
        let bytes = [b'x'; NAME_MAX];
        let names: Vec<Name> = (1..=NAME_MAX).map(|len| Name::new(&bytes[..len]).unwrap()).collect();
        for (name, len) in names.iter().zip(1..) {
            assert_eq!(name.as_bytes(), &bytes[..len]);
            assert_eq!(*name, name.clone());
        }
        assert!(names.is_sorted() && names.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(size_of::<Name>(), 32);
        assert_eq!(size_of::<Option<Name>>(), 32);
    }

    /// What GNU tar 1.34 printed for this name in a UTF-8 locale.
    #[test]
    fn names_are_quoted_as_gnu_tar_does() {
        let name = b"a\nb\\c\td\x01\xc3\xa9\xff e";
        assert_eq!(Shown(name).to_string(), "a\\nb\\\\c\\td\\001\u{e9}\\377 e");
        assert_eq!(Printable(name).to_string(), "a\\012b\\c\\011d\\001\u{e9}\\377 e");
    }
}
