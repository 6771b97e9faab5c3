//! Shell patterns, in globset's words and in the regex crate's.

use super::bracket::{Bracket, cases};
use crate::jobs::charset;

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

/// A pattern or a name. With `fold` upper and lower case are the same, but not for classes, as for fnmatch.
#[derive(Debug)]
pub(super) struct Shell {
    parts: Vec<Part>,
    reach: Reach,
    fold: bool,
}

#[derive(Debug)]
enum Part {
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

impl Shell {
    /// A pattern. The error is a reason.
    pub fn pattern(pattern: &str, reach: Reach, fold: bool) -> Result<Shell, String> {
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
        Ok(Shell { parts, reach, fold })
    }

    /// A name, in which nothing is special.
    pub fn name(name: &str, fold: bool) -> Shell {
        Shell { parts: name.chars().map(Part::Char).collect(), reach: Reach::Slashes, fold }
    }

    /// In globset's words, which compare bytes; what matches no slash wants [`globset::GlobBuilder::literal_separator`].
    pub fn glob(&self) -> String {
        let mut glob = String::with_capacity(self.parts.len() + 8);
        for part in &self.parts {
            match part {
                Part::Char(c) => self.push_literal(&mut glob, *c),
                Part::Star => glob.push('*'),
                // Alone, or with a slash within: globset's own two stars are whole components.
                Part::Stars => glob.push_str("{*,*/**/*}"),
                Part::StarsAndSlash => glob.push_str("**/"),
                Part::Any => glob.push('?'),
                Part::Bracket(bracket) => bracket.push_glob(&mut glob, self.reach == Reach::Slashes, self.fold),
            }
        }
        glob
    }

    fn push_literal(&self, glob: &mut String, c: char) {
        if self.fold && c.is_ascii_alphabetic() {
            return glob.extend(['[', c.to_ascii_lowercase(), c.to_ascii_uppercase(), ']']);
        }
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | ',' | '\\') {
            glob.push('\\');
        }
        glob.push(c);
    }

    /// Does it match other texts by characters than by bytes?
    pub fn hangs_on_chars(&self) -> bool {
        self.parts.iter().any(|part| match part {
            Part::Any | Part::Bracket(_) => true,
            Part::Char(c) => self.fold && !c.is_ascii(),
            _ => false,
        })
    }

    /// In the regex crate's words, which compare characters; not for rsync, which compares bytes.
    pub fn regex(&self) -> String {
        let slashes = self.reach == Reach::Slashes;
        let mut regex = String::with_capacity(self.parts.len() + 8);
        for part in &self.parts {
            match part {
                Part::Char(c) => push_cases(&mut regex, *c, self.fold),
                Part::Any => regex.push_str(if slashes { "(?s:.)" } else { "[^/]" }),
                Part::Bracket(bracket) => bracket.push_regex(&mut regex, slashes, self.fold),
                // By bytes, in fewer states; what is behind it begins with a character.
                Part::Star => regex.push_str(if slashes { "(?s-u:.)*" } else { "(?-u:[^/])*" }),
                Part::Stars | Part::StarsAndSlash => unreachable!("rsync's stars compare bytes"),
            }
        }
        regex
    }
}

fn push_cases(regex: &mut String, c: char, fold: bool) {
    regex.push('[');
    cases(c, fold).into_iter().for_each(|c| charset::push_char(regex, c));
    regex.push(']');
}
