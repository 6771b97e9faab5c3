//! Which objects a job is about: exclude patterns and member operands, matched as GNU tar does by default.
//!
//! Exclude patterns are wildcards that match slashes, may begin after any slash, and exclude what is below a match.
//! Operands are literal unless asked otherwise, begin at the start, and select what is below a match. Each pattern can say otherwise.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

mod rules;
mod shell;
#[cfg(test)]
mod tests;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use thiserror::Error;

pub use rules::{Allowed, Rules};
use shell::Reach;

/// Why a pattern cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("pattern '{pattern}': {reason}")]
pub struct BadPattern {
    pattern: String,
    reason: String,
}

/// A pattern, and how it is matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// As it was typed; with `wildcards` UTF-8.
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
    excludes: GlobSet,
    /// Those that begin with `./`: about paths that do so too.
    dotted: GlobSet,
    /// None: everything that is not excluded.
    operands: Option<Vec<Vec<u8>>>,
    literal: HashMap<Vec<u8>, usize>,
    wild: GlobSet,
    /// The operand of each glob of `wild`.
    of_glob: Vec<usize>,
}

/// Which operands have matched.
#[derive(Clone, Debug)]
pub struct Matched(Vec<bool>);

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
        let (dotted, plain): (Vec<Pattern>, Vec<Pattern>) =
            excludes.iter().cloned().partition(|pattern| pattern.text.starts_with(b"./"));
        let mut selection = Selection { excludes: set(&plain)?.0, dotted: set(&dotted)?.0, ..Selection::default() };
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
                wild.push(Pattern { text, ..member.clone() });
                of_wild.push(i);
            }
        }
        let (globs, of_glob) = set(&wild)?;
        selection.wild = globs;
        selection.of_glob = of_glob.into_iter().map(|at| of_wild[at]).collect();
        Ok(selection)
    }

    /// True when it selects everything.
    pub fn is_everything(&self) -> bool {
        self.excludes.is_empty() && self.dotted.is_empty() && self.operands.is_none()
    }

    /// True when only some members are named, as against left out.
    pub fn is_narrow(&self) -> bool {
        self.operands.is_some()
    }

    /// A record of which operands have matched nothing yet.
    pub fn matched(&self) -> Matched {
        Matched(vec![false; self.operands.as_ref().map_or(0, Vec::len)])
    }

    /// Is the object of this path selected? Notes which operands it matches.
    pub fn selects(&self, path: &[u8], matched: &mut Matched) -> bool {
        if self.is_everything() {
            return true;
        }
        let is_dotted = path.starts_with(b"./");
        let path = rooted(path);
        let as_path = Path::new(OsStr::from_bytes(&path));
        let is_excluded = !self.excludes.is_empty() && self.excludes.is_match(as_path)
            || is_dotted && !path.is_empty() && !self.dotted.is_empty() && self.dotted.is_match(as_path);
        if self.operands.is_none() {
            return !is_excluded;
        }
        // An operand of which all is excluded was found all the same.
        let mut selected = false;
        for glob in if self.wild.is_empty() { Vec::new() } else { self.wild.matches(as_path) } {
            matched.0[self.of_glob[glob]] = true;
            selected = true;
        }
        if !self.literal.is_empty() {
            let ends = path.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(i, _)| i);
            // The empty prefix is the operand ".", below which everything is, and the first slash the operand "/".
            for end in [0, usize::from(path.starts_with(b"/"))].into_iter().chain(ends).chain([path.len()]) {
                if let Some(&operand) = self.literal.get(&path[..end]) {
                    matched.0[operand] = true;
                    selected = true;
                }
            }
        }
        selected && !is_excluded
    }

    /// The operands that have matched nothing.
    pub fn unmatched<'a>(&'a self, matched: &'a Matched) -> impl Iterator<Item = &'a [u8]> {
        // An operand given twice is found by its last place only.
        let found = |operand: &Vec<u8>| self.literal.get(&rooted(operand)).is_some_and(|&i| matched.0[i]);
        let indexed = self.operands.iter().flatten().enumerate();
        indexed.filter(move |(i, o)| !matched.0[*i] && !found(o)).map(|(_, o)| o.as_slice())
    }
}

fn not_text(pattern: &[u8]) -> BadPattern {
    BadPattern { pattern: String::from_utf8_lossy(pattern).into_owned(), reason: "not UTF-8".into() }
}

/// Exclude patterns that tell which of them matches.
#[derive(Clone, Debug, Default)]
pub(super) struct Globs {
    globs: GlobSet,
    /// What each glob is of.
    of: Vec<usize>,
}

impl Globs {
    /// Patterns, each with a number of the caller's.
    pub fn new<'a>(patterns: impl Iterator<Item = (usize, &'a Pattern)>) -> Result<Globs, BadPattern> {
        let (numbers, patterns): (Vec<usize>, Vec<Pattern>) =
            patterns.map(|(of, pattern)| (of, pattern.clone())).unzip();
        let (globs, of_glob) = set(&patterns)?;
        Ok(Globs { globs, of: of_glob.into_iter().map(|at| numbers[at]).collect() })
    }

    pub fn is_empty(&self) -> bool {
        self.globs.is_empty()
    }

    /// The numbers of the patterns that match `path`, which is [`normal`].
    pub fn matches(&self, path: &[u8]) -> Vec<usize> {
        self.globs.matches(as_path(path)).into_iter().map(|glob| self.of[glob]).collect()
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

/// The patterns as globs, and for each glob the place of its pattern.
fn set(patterns: &[Pattern]) -> Result<(GlobSet, Vec<usize>), BadPattern> {
    let mut set = GlobSetBuilder::new();
    let mut of_glob = Vec::new();
    for (i, pattern) in patterns.iter().enumerate() {
        for glob in forms(pattern)? {
            set.add(glob);
            of_glob.push(i);
        }
    }
    let all = || patterns.iter().map(|p| String::from_utf8_lossy(&p.text)).collect::<Vec<_>>().join(" ");
    let globs = set.build().map_err(|e| BadPattern { pattern: all(), reason: e.to_string() })?;
    Ok((globs, of_glob))
}

/// The patterns as globs that match a whole text, which is no path.
pub(super) fn whole(patterns: &[String]) -> Result<GlobSet, BadPattern> {
    let mut set = GlobSetBuilder::new();
    for text in patterns {
        let pattern = Pattern { anchored: true, below: false, ..Pattern::exclude(text.as_bytes()) };
        forms(&pattern)?.into_iter().for_each(|glob| {
            set.add(glob);
        });
    }
    set.build().map_err(|e| BadPattern { pattern: patterns.join(" "), reason: e.to_string() })
}

/// Bytes as globs match them.
pub(super) fn as_path(text: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(text))
}

/// A pattern's globs: at the start, unless it is anchored after any slash, and where it says so for what is below a match.
fn forms(pattern: &Pattern) -> Result<Vec<Glob>, BadPattern> {
    let typed = std::str::from_utf8(&pattern.text).map_err(|_| not_text(&pattern.text))?;
    let bad = |reason: String| BadPattern { pattern: typed.into(), reason };
    let reach = if pattern.match_slash { Reach::Slashes } else { Reach::Name };
    let plain = typed.strip_prefix("./").unwrap_or(typed);
    // A script's unset variable: nobody has that name, not even the root, whose path is empty as well.
    if plain.is_empty() {
        return Ok(Vec::new());
    }
    let text = match pattern.wildcards {
        true => shell::glob(plain, reach, pattern.ignore_case).map_err(bad)?,
        false => shell::literal(plain, pattern.ignore_case),
    };
    // A star matches any number of directories only where it matches slashes.
    let (before, behind) = if pattern.match_slash { ("*/", "/*") } else { ("**/", "/**") };
    let mut forms = vec![text.clone()];
    // Paths come without the `./` that they may begin with, so this is their start.
    if !pattern.anchored && !typed.starts_with("./") {
        forms.push(format!("{before}{text}"));
    }
    if pattern.below {
        forms.extend(forms.clone().into_iter().map(|form| format!("{form}{behind}")));
    }
    let glob = |form: String| {
        let mut builder = GlobBuilder::new(&form);
        builder.literal_separator(!pattern.match_slash);
        builder.backslash_escape(true).build().map_err(|e| bad(e.kind().to_string()))
    };
    forms.into_iter().map(glob).collect()
}
