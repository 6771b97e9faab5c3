//! Ordered rules of what a copy leaves out, matched as rsync matches them: byte by byte, in every locale.
//!
//! They decide about one name at a time, on the way down from the root: what is below a directory that is left out is never met, and
//! nothing else that is said of a directory holds for what is in it. Who asks about a path without having come that way asks about
//! each directory of it first, by [`Rules::allow_way`].

use crate::storage::Kind;

use super::BadPattern;
use super::patterns::Patterns;
use super::shell::{Reach, Shell};
use super::steps::Way;

/// The first rule that matches decides, and what none matches is copied.
///
/// A pattern without a slash and without `**` is about the name alone; any other is about the end of the path, from any component on,
/// or with a `/` at its start about all of it. With a `/` at its end it is about directories alone, and `dir/***` about the directory and
/// all below. `./` at the start is taken as `/`.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    patterns: Patterns,
    /// By the places of `patterns`.
    of: Vec<Rule>,
}

/// What a pattern says.
#[derive(Clone, Copy, Debug)]
struct Rule {
    /// The place of its pattern.
    order: usize,
    include: bool,
    only_dirs: bool,
}

/// Whether a name is copied, by what it may turn out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub struct Allowed {
    pub dir: bool,
    pub other: bool,
}

impl Allowed {
    /// Of a known kind. None: it matters, and is not known.
    pub fn of(self, kind: Option<Kind>) -> Option<bool> {
        match kind {
            _ if self.dir == self.other => Some(self.dir),
            Some(Kind::Dir) => Some(self.dir),
            Some(_) => Some(self.other),
            None => None,
        }
    }
}

impl Rules {
    /// Rules in the order they were given: (include, pattern).
    pub fn new(rules: &[(bool, Vec<u8>)]) -> Result<Rules, BadPattern> {
        let mut all = Rules::default();
        for (order, (include, pattern)) in rules.iter().enumerate() {
            for (shell, way, only_dirs) in forms(pattern).map_err(|reason| BadPattern::new(pattern, reason))? {
                all.patterns.add(all.of.len(), shell, way);
                all.of.push(Rule { order, include: *include, only_dirs });
            }
        }
        Ok(all)
    }

    /// Is the object of this path, relative to the root, to be copied, if the directory that it is in is?
    pub fn allow(&self, path: &[u8]) -> Allowed {
        if self.patterns.is_empty() {
            return Allowed { dir: true, other: true };
        }
        let (mut dir, mut other) = (None::<Rule>, None::<Rule>);
        for place in self.patterns.matches(path) {
            let rule = self.of[place];
            let sooner = |found: &Option<Rule>| found.is_none_or(|found| rule.order < found.order);
            if sooner(&dir) {
                dir = Some(rule);
            }
            if !rule.only_dirs && sooner(&other) {
                other = Some(rule);
            }
        }
        let allows = |found: Option<Rule>| found.is_none_or(|rule| rule.include);
        Allowed { dir: allows(dir), other: allows(other) }
    }

    /// Is the directory of this path to be copied, and each one on the way to it?
    pub fn allow_way(&self, path: &[u8]) -> bool {
        let ends = path.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(at, _)| at).chain([path.len()]);
        ends.into_iter().all(|end| self.allow(&path[..end]).dir)
    }

    /// True when everything is copied.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }
}

/// A pattern's forms, and whether they are about directories alone.
fn forms(pattern: &[u8]) -> Result<Vec<(Shell, Way, bool)>, String> {
    let (text, only_dirs) = match pattern.strip_suffix(b"/") {
        Some(text) if !text.is_empty() => (text, true),
        _ => (pattern, false),
    };
    let (text, anchored) = match text.strip_prefix(b"./").or(text.strip_prefix(b"/")) {
        Some(text) => (text, true),
        None => (text, false),
    };
    // Without a wildcard it is a name, in which a backslash is one.
    let is_wild = text.iter().any(|byte| b"*?[".contains(byte));
    let way = Way { anchored: anchored || text.starts_with(b"**"), below: false };
    let shell = |text: &[u8]| match is_wild {
        true => Shell::pattern(text, Reach::Stars(!anchored), false),
        false => Ok(Shell::name(text, false)),
    };
    let mut forms = vec![(shell(text)?, way, only_dirs)];
    if text.ends_with(b"***") {
        let end = text.iter().rposition(|byte| *byte != b'*').map_or(0, |last| last + 1);
        if let Some(dir) = text[..end].strip_suffix(b"/").filter(|dir| !dir.is_empty()) {
            forms.push((shell(dir)?, way, true));
        }
    }
    Ok(forms)
}
