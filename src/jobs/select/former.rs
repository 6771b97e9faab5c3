//! The matcher that was before [`super::steps`], for tests that no meaning has changed: globset for bytes and the regex crate for
//! characters. NUL, which no path has, matches otherwise.

use globset::{GlobBuilder, GlobMatcher};
use regex::bytes::Regex;

use super::Pattern;
use super::bracket::{Bracket, Item, cases, folded, is_of};
use super::shell::{Part, Reach, hangs_on_chars, parse};
use crate::jobs::charset;

/// Does a pattern match a path?
pub(super) struct Former {
    globs: Vec<GlobMatcher>,
    chars: Option<Regex>,
}

impl Former {
    pub fn new(pattern: &Pattern) -> Result<Former, String> {
        let typed = std::str::from_utf8(&pattern.text).unwrap();
        let reach = if pattern.match_slash { Reach::Slashes } else { Reach::Name };
        let plain = typed.strip_prefix("./").unwrap_or(typed);
        if plain.is_empty() {
            return Ok(Former { globs: Vec::new(), chars: None });
        }
        let parts = match pattern.wildcards {
            true => parse(plain, reach, pattern.ignore_case)?,
            false => plain.chars().map(Part::Char).collect(),
        };
        let shell =
            Shell { parts, reach: if pattern.wildcards { reach } else { Reach::Slashes }, fold: pattern.ignore_case };
        let is_anchored = pattern.anchored || typed.starts_with("./");
        let text = shell.glob();
        let (before, behind) = if pattern.match_slash { ("*/", "/*") } else { ("**/", "/**") };
        let mut forms = vec![text.clone()];
        if !is_anchored {
            forms.push(format!("{before}{text}"));
        }
        if pattern.below {
            forms.extend(forms.clone().into_iter().map(|form| format!("{form}{behind}")));
        }
        let globs = forms.iter().map(|form| glob(form, !pattern.match_slash)).collect();
        let (before, behind) =
            (if is_anchored { "" } else { "(?s-u:.*/)?" }, if pattern.below { "(?s-u:/.*)?" } else { "" });
        let regex = format!(r"\A{before}{}{behind}\z", shell.regex());
        let chars = hangs_on_chars(&shell.parts, shell.fold).then(|| Regex::new(&regex).unwrap());
        Ok(Former { globs, chars })
    }

    /// Of rsync's rules the first form of one that is not about directories alone.
    pub fn rule(text: &str) -> Result<Former, String> {
        let (text, anchored) = match text.strip_prefix('/') {
            Some(text) => (text, true),
            None => (text, false),
        };
        let reach = Reach::Stars(!anchored);
        let parts = match text.contains(['*', '?', '[']) {
            true => parse(text, reach, false)?,
            false => text.chars().map(Part::Char).collect(),
        };
        let mut form = Shell { parts, reach, fold: false }.glob();
        if !anchored && !text.starts_with("**") {
            form.insert_str(0, "**/");
        }
        Ok(Former { globs: vec![glob(&form, true)], chars: None })
    }

    pub fn is_match(&self, path: &str) -> bool {
        let by_chars = self.chars.as_ref().filter(|_| !path.is_ascii());
        self.globs.iter().any(|glob| glob.is_match(path))
            || by_chars.is_some_and(|chars| chars.is_match(path.as_bytes()))
    }
}

fn glob(form: &str, literal_separator: bool) -> GlobMatcher {
    let mut builder = GlobBuilder::new(form);
    builder.literal_separator(literal_separator).backslash_escape(true).build().unwrap().compile_matcher()
}

struct Shell {
    parts: Vec<Part>,
    reach: Reach,
    fold: bool,
}

impl Shell {
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

impl Bracket {
    /// The ASCII characters in it, without its negation.
    fn ascii(&self, fold: bool) -> [bool; 128] {
        let mut ascii = [false; 128];
        let mut add = |is_in: &dyn Fn(u8) -> bool| (0..128).for_each(|b| ascii[usize::from(b)] |= is_in(b));
        for item in &self.items {
            match *item {
                Item::Range(low, high) => {
                    let range = folded(low, fold)..=folded(high, fold);
                    add(&|b| range.contains(&folded(char::from(b), fold)));
                }
                Item::Class(name) => add(&|b| is_of(name, b)),
            }
        }
        ascii
    }

    /// In globset's words, which compare bytes: of a character beyond ASCII each by itself.
    pub fn push_glob(&self, glob: &mut String, slashes: bool, fold: bool) {
        let mut ascii = self.ascii(fold);
        if !slashes {
            ascii[usize::from(b'/')] = self.negated;
        }
        let mut take = |c: u8| std::mem::take(&mut ascii[usize::from(c)]);
        let (close, hyphen) = (take(b']'), take(b'-'));
        glob.push('[');
        if self.negated {
            glob.push('!');
        }
        // A bracket has to begin with something that means itself there; no path has a NUL.
        glob.push(if close { ']' } else { '\0' });
        let mut low = 0;
        while low < 128 {
            let high = (low..128).take_while(|b| ascii[*b]).last();
            if let Some(high) = high {
                push_range(glob, char::from(low as u8), char::from(high as u8));
            }
            low = high.unwrap_or(low) + 1;
        }
        for item in &self.items {
            if let Item::Range(low, high) = *item
                && !high.is_ascii()
            {
                push_range(glob, low.max('\x7f'), high);
            }
        }
        if hyphen {
            glob.push('-');
        }
        glob.push(']');
    }

    /// In the regex crate's words, which compare characters.
    pub fn push_regex(&self, regex: &mut String, slashes: bool, fold: bool) {
        regex.push_str(if self.negated { "[^" } else { "[[" });
        for (b, is_in) in self.ascii(fold).into_iter().enumerate() {
            if is_in {
                charset::push_char(regex, char::from(b as u8));
            }
        }
        for item in &self.items {
            match *item {
                Item::Range(_, high) if high.is_ascii() => {}
                Item::Range(low, high) if low == high => {
                    cases(low, fold).into_iter().for_each(|c| charset::push_char(regex, c));
                }
                Item::Range(low, high) => {
                    charset::push_char(regex, low.max('\u{80}'));
                    regex.push('-');
                    charset::push_char(regex, high);
                }
                Item::Class(name) => regex.push_str(charset::class(name.as_bytes()).expect("CLASSES are known")),
            }
        }
        regex.push_str(match (self.negated, slashes) {
            (true, true) => "]",
            (true, false) => "/]",
            (false, true) => "]]",
            (false, false) => "]&&[^/]]",
        });
    }
}

fn push_range(glob: &mut String, low: char, high: char) {
    glob.push(low);
    if high > low {
        glob.extend(['-', high]);
    }
}

fn push_cases(regex: &mut String, c: char, fold: bool) {
    regex.push('[');
    cases(c, fold).into_iter().for_each(|c| charset::push_char(regex, c));
    regex.push(']');
}
