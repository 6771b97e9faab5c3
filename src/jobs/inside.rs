//! Names without what would lead out of the place that they are put in: a leading slash, and all up to the last `..`. As GNU tar takes it
//! off, and tells once of each such beginning.

use crate::base::name::Shown;

/// Beginnings told at most.
const TOLD_MAX: usize = 100;

/// Why a member with `..` in its name is refused; GNU tar's words.
pub(super) const HAS_DOT_DOT: &str = "Member name contains '..'";

/// Whose name it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    /// A member's.
    Member,
    /// Where a hard link leads.
    HardLink,
}

/// What was taken off names and told.
#[derive(Debug, Default)]
pub(super) struct TakenOff(Vec<(Vec<u8>, Of)>);

impl TakenOff {
    /// Takes off `name` what would lead out; what is to be told of it, if anything is.
    pub fn take_off(&mut self, name: &mut Vec<u8>, of: Of) -> Option<String> {
        let told = self.tell(name, of);
        if prefix_len(name) > 0 {
            *name = inside(name).to_vec();
        }
        told
    }

    /// What is to be told of what would be taken off `name`, if anything is.
    pub fn tell(&mut self, name: &[u8], of: Of) -> Option<String> {
        let prefix = &name[..prefix_len(name)];
        let is_known = || self.0.len() >= TOLD_MAX || self.0.iter().any(|(known, what)| known == prefix && *what == of);
        if prefix.is_empty() || is_known() {
            return None;
        }
        self.0.push((prefix.to_vec(), of));
        let what = match of {
            Of::Member => "member names",
            Of::HardLink => "hard link targets",
        };
        Some(format!("Removing leading `{}' from {what}", Shown(prefix)))
    }
}

/// A name without what would lead out; `.`, as GNU tar has `/` itself, where nothing else is left.
pub(super) fn inside(name: &[u8]) -> &[u8] {
    match prefix_len(name) {
        taken if taken > 0 && taken == name.len() => b".",
        taken => &name[taken..],
    }
}

/// A path without its first `strip` components.
pub(super) fn stripped(path: &[u8], strip: usize) -> &[u8] {
    let mut rest = path;
    for _ in 0..strip {
        let end = rest.iter().position(|b| *b == b'/').unwrap_or(rest.len());
        let next = rest[end..].iter().position(|b| *b != b'/').map_or(rest.len(), |slashes| end + slashes);
        rest = &rest[next..];
    }
    rest
}

/// Would something be taken off the name?
pub(super) fn leads_out(name: &[u8]) -> bool {
    prefix_len(name) > 0
}

/// Is one of the name's components `..`? GNU tar extracts no such member, whatever the rest of its name is.
pub(super) fn has_dot_dot(name: &[u8]) -> bool {
    name.split(|&b| b == b'/').any(|part| part == b"..")
}

/// How many bytes of a name lead out of where it is put: up to behind its last `..`, and slashes.
fn prefix_len(name: &[u8]) -> usize {
    // Nearly all names: no two dots, no slash before them.
    if name.first() != Some(&b'/') && !name.windows(2).any(|two| two == b"..") {
        return 0;
    }
    let mut end = 0;
    let mut at = 0;
    for part in name.split(|&b| b == b'/') {
        if part == b".." {
            end = at + part.len();
        }
        at += part.len() + 1;
    }
    end + name[end..].iter().take_while(|&&b| b == b'/').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_out_is_taken_off_as_gnu_tar_does() {
        for (name, taken) in [
            ("a/b", ""),
            ("/a", "/"),
            ("///a/b", "///"),
            ("../a", "../"),
            ("a/../../b", "a/../../"),
            ("/../a", "/../"),
            ("a/..", "a/.."),
            ("..", ".."),
            ("/", "/"),
            ("a..b/c", ""),
            ("./a", ""),
        ] {
            assert_eq!(&name[..prefix_len(name.as_bytes())], taken, "{name}");
            assert_eq!(has_dot_dot(name.as_bytes()), taken.contains(".."), "{name}");
        }
    }

    #[test]
    fn each_beginning_is_told_once_and_not_without_end() {
        let mut off = TakenOff::default();
        let mut told = |name: &str, of| {
            let mut name = name.as_bytes().to_vec();
            let told = off.take_off(&mut name, of);
            (String::from_utf8(name).unwrap(), told)
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(told("/a", Of::Member), ("a".into(), text("Removing leading `/' from member names")));
        assert_eq!(told("/", Of::Member), (".".into(), None));
        assert_eq!(told("/a", Of::HardLink), ("a".into(), text("Removing leading `/' from hard link targets")));
        assert_eq!(told("a", Of::Member), ("a".into(), None));
        let told = (0..2 * TOLD_MAX).filter(|i| told(&format!("{i}/../a"), Of::Member).1.is_some()).count();
        assert_eq!(told, TOLD_MAX - 2);
    }
}
