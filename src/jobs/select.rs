//! Which objects a job is about: exclude patterns and member operands, matched as GNU tar does by default.
//!
//! Exclude patterns are wildcards that match slashes, may begin after any slash, and exclude what is below a match.
//! Operands are literal unless asked otherwise, begin at the start, and select what is below a match. Each pattern can say otherwise.

use std::collections::HashMap;

mod bracket;
#[cfg(test)]
mod former;
mod patterns;
mod rules;
mod set;
mod shell;
mod steps;
#[cfg(test)]
mod tests;

use thiserror::Error;

use crate::base::name::Printable;

pub use rules::{Allowed, Rules};
pub(in crate::jobs) use set::Set;

/// Why a pattern cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("pattern '{pattern}': {reason}")]
pub struct BadPattern {
    pattern: String,
    reason: String,
}

impl BadPattern {
    fn new(pattern: &[u8], reason: String) -> BadPattern {
        BadPattern { pattern: Printable(pattern).to_string(), reason }
    }
}

/// A pattern, and how it is matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// As it was typed.
    pub text: Vec<u8>,
    /// A shell pattern; else a name.
    pub wildcards: bool,
    /// Begins where the path does; else also after any slash.
    pub anchored: bool,
    /// Upper and lower case are the same.
    pub ignore_case: bool,
    /// Wildcards match slashes too.
    pub match_slash: bool,
    /// What is below a match matches.
    pub below: bool,
}

impl Pattern {
    /// What is left out by default: a shell pattern, anywhere, with what is below.
    pub fn exclude(text: impl Into<Vec<u8>>) -> Pattern {
        let text = text.into();
        Pattern { text, wildcards: true, anchored: false, ignore_case: false, match_slash: true, below: true }
    }

    /// What is chosen by default: a name, from the start, with what is below.
    pub fn member(text: impl Into<Vec<u8>>) -> Pattern {
        Pattern { wildcards: false, anchored: true, ..Pattern::exclude(text) }
    }

    /// It is but a name at the start of paths.
    fn is_literal(&self) -> bool {
        !self.wildcards && self.anchored && !self.ignore_case && self.below
    }
}

/// What is selected. The default selects everything.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Exclude patterns: about paths as they are, as GNU tar has it. `*/a` is `./a` too, an anchored `a` is not, and `?` is the `.` of all
    /// that is stored as `./a`.
    excludes: Set,
    /// None: everything that is not excluded.
    operands: Option<Vec<Vec<u8>>>,
    literal: HashMap<Vec<u8>, usize>,
    wild: Set,
    /// The operand of each pattern of `wild`.
    of_wild: Vec<usize>,
}

/// Which operands have matched.
#[derive(Clone, Debug)]
pub struct Matched {
    operands: Vec<bool>,
    /// How many of them have.
    pub count: usize,
}

impl Matched {
    fn note(&mut self, operand: usize) {
        self.count += usize::from(!std::mem::replace(&mut self.operands[operand], true));
    }
}

impl Selection {
    /// Selects what `operands` name (everything when there are none) less what `excludes` match. With `wildcards` the
    /// operands are patterns.
    pub fn new(excludes: &[String], operands: &[Vec<u8>], wildcards: bool) -> Result<Selection, BadPattern> {
        let excludes: Vec<Pattern> = excludes.iter().map(|text| Pattern::exclude(text.as_bytes())).collect();
        let operands = operands.iter().map(|text| Pattern { wildcards, ..Pattern::member(text.as_slice()) });
        let operands: Vec<Pattern> = operands.collect();
        Selection::of(&excludes, (!operands.is_empty()).then_some(&operands))
    }

    /// Selects what `members` match (None: everything) less what `excludes` match.
    pub fn of(excludes: &[Pattern], members: Option<&[Pattern]>) -> Result<Selection, BadPattern> {
        let mut selection = Selection { excludes: Set::new(excludes)?, ..Selection::default() };
        let Some(members) = members else { return Ok(selection) };
        selection.operands = Some(members.iter().map(|member| member.text.clone()).collect());
        let mut wild = Vec::new();
        let mut of_wild = Vec::new();
        for (i, member) in members.iter().enumerate() {
            // Without a name in it, it is the root's, and so are all others below it.
            if member.is_literal() || (member.below && normal(&member.text).is_empty()) {
                selection.literal.insert(rooted(&member.text), i);
            } else {
                // A directory's name may end in a slash; members' paths are compared without it.
                let text = member.text.strip_suffix(b"/").unwrap_or(&member.text).to_vec();
                wild.push(undotted(Pattern { text, ..member.clone() }));
                of_wild.push(i);
            }
        }
        (selection.wild, selection.of_wild) = (Set::new(&wild)?, of_wild);
        Ok(selection)
    }

    /// True when it selects everything.
    pub fn is_everything(&self) -> bool {
        self.excludes.is_empty() && self.operands.is_none()
    }

    /// True when only some members are named, as against left out.
    pub fn is_narrow(&self) -> bool {
        self.operands.is_some()
    }

    /// A record of which operands have matched nothing yet.
    pub fn matched(&self) -> Matched {
        Matched { operands: vec![false; self.operands.as_ref().map_or(0, Vec::len)], count: 0 }
    }

    /// The same, where nobody asks which operands match.
    pub fn lets_in(&self, path: &[u8]) -> bool {
        self.is_everything() || self.selects(path, &mut self.matched())
    }

    /// Is the object of this path selected? Notes which operands it matches.
    pub fn selects(&self, path: &[u8], matched: &mut Matched) -> bool {
        if self.is_everything() {
            return true;
        }
        let is_excluded = !self.excludes.is_empty() && self.excludes.is_match(without_end(path));
        if self.operands.is_none() {
            return !is_excluded;
        }
        let path = rooted(path);
        // An operand of which all is excluded was found all the same.
        let mut selected = false;
        for wild in if self.wild.is_empty() { Vec::new() } else { self.wild.matches(&path) } {
            matched.note(self.of_wild[wild]);
            selected = true;
        }
        if !self.literal.is_empty() {
            let ends = path.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(i, _)| i);
            // The empty prefix is the operand ".", below which everything is, and the first slash the operand "/".
            for end in [0, usize::from(path.starts_with(b"/"))].into_iter().chain(ends).chain([path.len()]) {
                if let Some(&operand) = self.literal.get(&path[..end]) {
                    matched.note(operand);
                    selected = true;
                }
            }
        }
        selected && !is_excluded
    }

    /// The operands that have matched nothing.
    pub fn unmatched<'a>(&'a self, matched: &'a Matched) -> impl Iterator<Item = &'a [u8]> {
        // An operand given twice is found by its last place only.
        let found = |operand: &Vec<u8>| self.literal.get(&rooted(operand)).is_some_and(|&i| matched.operands[i]);
        let indexed = self.operands.iter().flatten().enumerate();
        indexed.filter(move |(i, o)| !matched.operands[*i] && !found(o)).map(|(_, o)| o.as_slice())
    }
}

/// Exclude patterns that tell which of them matches.
#[derive(Clone, Debug, Default)]
pub(super) struct Globs {
    set: Set,
    /// What each pattern is of.
    of: Vec<usize>,
}

impl Globs {
    /// Patterns, each with a number of the caller's.
    pub fn new<'a>(patterns: impl Iterator<Item = (usize, &'a Pattern)>) -> Result<Globs, BadPattern> {
        let (of, patterns): (Vec<usize>, Vec<Pattern>) =
            patterns.map(|(of, pattern)| (of, undotted(pattern.clone()))).unzip();
        Ok(Globs { set: Set::new(&patterns)?, of })
    }

    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    /// The numbers of the patterns that match `path`, which is [`normal`].
    pub fn matches(&self, path: &[u8]) -> Vec<usize> {
        self.set.matches(path).into_iter().map(|pattern| self.of[pattern]).collect()
    }
}

/// A pattern for paths without the `./` that they may begin with: what is behind its own is their start.
fn undotted(pattern: Pattern) -> Pattern {
    match pattern.text.strip_prefix(b"./") {
        Some(text) => Pattern { text: text.to_vec(), anchored: true, ..pattern },
        None => pattern,
    }
}

/// The path's components joined by single slashes, without empty ones and `.`.
pub(super) fn normal(path: &[u8]) -> Vec<u8> {
    let parts: Vec<&[u8]> = path.split(|b| *b == b'/').filter(|p| !p.is_empty() && *p != b".").collect();
    parts.join(&b'/')
}

/// The same, with the slash that an absolute path begins with.
fn rooted(path: &[u8]) -> Vec<u8> {
    let rest = normal(path);
    if path.starts_with(b"/") { [b"/", &rest[..]].concat() } else { rest }
}

/// The path without the slashes that it ends with.
pub(super) fn without_end(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(1, |last| last + 1);
    &path[..end.min(path.len())]
}

/// Patterns that match a whole text, which is no path.
pub(super) fn whole(patterns: &[String]) -> Result<Set, BadPattern> {
    let whole = |text: &String| Pattern { anchored: true, below: false, ..Pattern::exclude(text.as_bytes()) };
    Set::new(&patterns.iter().map(whole).collect::<Vec<_>>())
}
