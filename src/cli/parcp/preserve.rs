//! Which attributes are carried: cp's words and the letters of cp and rsync, in the order they were typed.

use clap::ArgMatches;
use clap::parser::ValueSource;

use crate::jobs::copy::Preserve;

/// cp's words for attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the words
pub enum Word {
    Mode,
    Ownership,
    Timestamps,
    Links,
    Xattr,
    Acl,
    All,
}

/// One of the options about attributes: take these words, or leave them.
pub type Keep = (Word, bool);

/// Parses one of cp's words.
pub fn word(text: &str) -> Result<Word, String> {
    match text {
        "mode" => Ok(Word::Mode),
        "ownership" => Ok(Word::Ownership),
        "timestamps" => Ok(Word::Timestamps),
        "links" => Ok(Word::Links),
        "xattr" => Ok(Word::Xattr),
        "all" => Ok(Word::All),
        "context" => Err("SELinux contexts are not in this version; leave them to the file system's policy".into()),
        _ => Err("mode, ownership, timestamps, links, xattr or all".into()),
    }
}

/// What each letter and long option stands for.
const FLAGS: [(&str, &[Word]); 7] = [
    ("archive", &[Word::All]),
    ("restore", &[Word::All]),
    ("mode_ownership_timestamps", &[Word::Mode, Word::Ownership, Word::Timestamps]),
    ("no_dereference_links", &[Word::Links]),
    ("hard_links", &[Word::Links]),
    ("xattrs", &[Word::Xattr]),
    ("acls", &[Word::Acl]),
];

/// The options about attributes in the order they were typed.
pub fn in_order(matches: &ArgMatches) -> Vec<Keep> {
    let typed = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let mut all: Vec<(usize, Keep)> = Vec::new();
    for (id, words) in FLAGS.into_iter().filter(|(id, _)| typed(id)) {
        let at = matches.index_of(id).unwrap_or(0);
        all.extend(words.iter().map(|word| (at, (*word, true))));
    }
    for (id, keep) in [("preserve", true), ("no_preserve", false)] {
        if typed(id) {
            let words = matches.get_many::<Word>(id).into_iter().flatten();
            let indices = matches.indices_of(id).into_iter().flatten();
            all.extend(indices.zip(words.map(|word| (*word, keep))));
        }
    }
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, keep)| keep).collect()
}

/// What is carried: everything, owners only for root, less what was told to be left. The second value: whether others than root
/// are to carry what they can of owners, and whether extended attributes or ACLs were asked for by name.
pub fn preserve(keeps: &[Keep], is_root: bool) -> (Preserve, Asked) {
    let mut preserve = Preserve { uid: is_root, gid: is_root, ..Preserve::ALL };
    let mut asked = Asked { groups: true, ..Asked::default() };
    for &(word, keep) in keeps {
        let all = word == Word::All;
        if all || word == Word::Mode {
            preserve.mode = keep;
            // cp's mode is the ACL too, as far as there is one.
            preserve.acls = keep;
        }
        if all || word == Word::Ownership {
            (preserve.uid, preserve.gid) = (keep && is_root, keep && is_root);
            asked.groups = keep;
        }
        if all || word == Word::Timestamps {
            preserve.times = keep;
        }
        if all || word == Word::Links {
            preserve.hard_links = keep;
        }
        if all || word == Word::Xattr {
            preserve.xattrs = keep;
            asked.xattrs = keep && !all;
        }
        if word == Word::Acl {
            preserve.acls = keep;
            asked.acls = keep;
        }
    }
    (preserve, asked)
}

/// What else was asked for; what of it by name must be told when it cannot be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Asked {
    /// Ownership, which for others than root is their own groups alone.
    pub groups: bool,
    pub xattrs: bool,
    pub acls: bool,
}

#[cfg(test)]
mod tests {
    use super::super::low;
    use super::*;

    fn kept(line: &str, is_root: bool) -> (Preserve, Asked) {
        let line = format!("{line} s d");
        let low = low::parse(line.split_whitespace().map(std::ffi::OsString::from).collect()).unwrap();
        preserve(&low.keeps, is_root)
    }

    #[test]
    fn everything_is_carried_unless_told_otherwise() {
        assert_eq!(kept("", true), (Preserve::ALL, Asked { groups: true, ..Asked::default() }));
        assert_eq!(kept("-a --restore", true).0, Preserve::ALL);
        let user = kept("-a", false).0;
        assert!(!user.uid && !user.gid && user.mode && user.times && user.hard_links && user.specials);
    }

    #[test]
    fn the_last_word_counts() {
        let none = kept("--no-preserve=all", true).0;
        assert!(!none.mode && !none.uid && !none.times && !none.hard_links && !none.xattrs && !none.acls);
        let some = kept("--no-preserve=all -p", true).0;
        assert!(some.mode && some.uid && some.times && !some.hard_links && !some.xattrs);
        assert!(!kept("-p --no-preserve=timestamps,links", true).0.times);
        assert!(kept("--no-preserve=timestamps --preserve", true).0.times);
        assert!(kept("--no-preserve=links -H", true).0.hard_links);
        assert!(!kept("--preserve=mode --no-preserve=mode", true).0.acls);
    }

    #[test]
    fn what_is_asked_by_name_is_remembered() {
        assert!(kept("-X", false).1.xattrs && kept("-A", false).1.acls && kept("--preserve=xattr", false).1.xattrs);
        assert_eq!(kept("-a", false).1, Asked { groups: true, ..Asked::default() });
        assert!(kept("-a --preserve=ownership", false).1.groups && !kept("--no-preserve=ownership", false).1.groups);
    }
}
