//! Shell patterns, read.

use super::bracket::{Bracket, cases};
use super::steps::{Step, Steps};

/// What wildcards match besides the characters of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Slashes too, as for GNU tar.
    Slashes,
    /// No slash: a run of stars is one.
    Name,
    /// As for rsync: two stars match slashes, at the start (true) with the slash behind them also nothing.
    Stars(bool),
}

/// A pattern or a name. It compares bytes; in a UTF-8 locale glibc's fnmatch(3), which GNU tar asks, takes `?` and brackets for
/// characters, and then for bytes (2.36), and what is no UTF-8 for bytes alone.
#[derive(Clone, Debug)]
pub(super) struct Shell {
    pub bytes: Steps,
    /// Where characters match otherwise than bytes.
    pub chars: Option<Steps>,
    /// It may begin at any component, as rsync's `**/` does.
    pub anywhere: bool,
}

impl Shell {
    /// A pattern. With `fold` upper and lower case are the same, but not for classes, as for fnmatch. The error is a reason.
    pub fn pattern(pattern: &[u8], reach: Reach, fold: bool) -> Result<Shell, String> {
        // What is wrong with it is said of characters, where it has any.
        let chars = std::str::from_utf8(pattern).ok().map(|text| parse(text, reach, fold)).transpose()?;
        Ok(Shell::of(&parse(&as_chars(pattern), reach, fold)?, chars.as_deref(), reach, fold))
    }

    /// A name, in which nothing is special.
    pub fn name(name: &[u8], fold: bool) -> Shell {
        let parts = |text: &str| text.chars().map(Part::Char).collect::<Vec<_>>();
        let chars = std::str::from_utf8(name).ok().map(parts);
        Shell::of(&parts(&as_chars(name)), chars.as_deref(), Reach::Slashes, fold)
    }

    fn of(bytes: &[Part], chars: Option<&[Part]>, reach: Reach, fold: bool) -> Shell {
        let slashes = reach == Reach::Slashes;
        // rsync compares bytes in every locale.
        let chars = chars.filter(|chars| !matches!(reach, Reach::Stars(_)) && hangs_on_chars(chars, fold));
        Shell {
            bytes: Steps::new(bytes.iter().map(|part| part.by_bytes(slashes, fold)), slashes),
            chars: chars.map(|parts| Steps::new(parts.iter().map(|part| part.by_chars(slashes, fold)), slashes)),
            anywhere: matches!(bytes.first(), Some(Part::StarsAndSlash)),
        }
    }

    /// The one text that it matches, if it is but a name.
    pub fn literal(&self) -> Option<&[u8]> {
        self.bytes.literal().filter(|_| self.chars.is_none() && !self.anywhere)
    }
}

/// Each byte as the character of its number.
fn as_chars(text: &[u8]) -> String {
    text.iter().map(|byte| char::from(*byte)).collect()
}

#[derive(Debug)]
pub(super) enum Part {
    Char(char),
    Star,
    /// Two or more, for rsync.
    Stars,
    /// The same at the start, with the slash behind.
    StarsAndSlash,
    /// `?`
    Any,
    Bracket(Bracket),
}

impl Part {
    /// Of a pattern of which each character is a byte.
    fn by_bytes(&self, slashes: bool, fold: bool) -> Step {
        match self {
            Part::Char(c) if fold && c.is_ascii_alphabetic() => Step::Letter(*c as u8),
            Part::Char(c) => Step::Text([*c as u8].into()),
            Part::Any => Step::Byte,
            Part::Bracket(bracket) => Step::OneOf(Box::new(bracket.bytes(slashes, fold))),
            _ => self.stars(slashes),
        }
    }

    fn by_chars(&self, slashes: bool, fold: bool) -> Step {
        match self {
            Part::Char(c) if fold => Step::Cases(cases(*c, fold).into()),
            Part::Char(c) => Step::Text(c.to_string().into_bytes().into()),
            Part::Any => Step::Char,
            Part::Bracket(bracket) => Step::CharOf(Box::new(bracket.clone()), fold),
            _ => self.stars(slashes),
        }
    }

    fn stars(&self, slashes: bool) -> Step {
        match self {
            Part::Star if !slashes => Step::Star,
            // The pattern may begin at any component, which is all that it says.
            Part::StarsAndSlash => Step::Text([].into()),
            _ => Step::Stars,
        }
    }
}

/// Does it match other texts by characters than by bytes?
pub(super) fn hangs_on_chars(parts: &[Part], fold: bool) -> bool {
    parts.iter().any(|part| match part {
        Part::Any | Part::Bracket(_) => true,
        Part::Char(c) => fold && !c.is_ascii(),
        _ => false,
    })
}

/// The parts of a pattern. The error is a reason.
pub(super) fn parse(pattern: &str, reach: Reach, fold: bool) -> Result<Vec<Part>, String> {
    let mut parts = Vec::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let at_start = rest.len() == pattern.len();
        rest = &rest[c.len_utf8()..];
        parts.push(match c {
            '*' => {
                let run = rest.len();
                rest = rest.trim_start_matches('*');
                match reach {
                    Reach::Stars(true) if run > rest.len() && at_start && rest.starts_with('/') => {
                        rest = &rest[1..];
                        Part::StarsAndSlash
                    }
                    Reach::Stars(_) if run > rest.len() => Part::Stars,
                    _ => Part::Star,
                }
            }
            '?' => Part::Any,
            '\\' => {
                let escaped = rest.chars().next().ok_or("a backslash at its end escapes nothing")?;
                rest = &rest[escaped.len_utf8()..];
                Part::Char(escaped)
            }
            '[' => match Bracket::parse(rest, fold)? {
                // rsync counts it as the end of a component, and its brackets match none.
                Some((bracket, _)) if bracket.slash && matches!(reach, Reach::Stars(_)) => {
                    return Err("a bracket matches no '/'; write the pattern without it".into());
                }
                Some((bracket, behind)) => {
                    rest = behind;
                    Part::Bracket(bracket)
                }
                None if matches!(reach, Reach::Stars(_)) => {
                    return Err("a '[' that no ']' closes matches nothing; write '\\[' for the character".into());
                }
                None => Part::Char('['),
            },
            c => Part::Char(c),
        });
    }
    Ok(parts)
}
