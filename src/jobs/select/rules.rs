//! Ordered rules of what a copy leaves out, matched as rsync matches them: byte by byte, in every locale.
//!
//! They decide about one name at a time, on the way down from the root: what is below a directory that is left out is never met, and
//! nothing else that is said of a directory holds for what is in it. Who asks about a path without having come that way asks about
//! each directory of it first, by [`Rules::allow_way`].

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::storage::Kind;

use super::BadPattern;
use super::set::as_path;
use super::shell::{Reach, Shell};

/// The first rule that matches decides, and what none matches is copied.
///
/// A pattern without a slash and without `**` is about the name alone; any other is about the end of the path, from any component on,
/// or with a `/` at its start about all of it. With a `/` at its end it is about directories alone, and `dir/***` about the directory and
/// all below. `./` at the start is taken as `/`.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    globs: GlobSet,
    of: Vec<Rule>,
}

/// What a glob says.
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
    pub fn new(rules: &[(bool, String)]) -> Result<Rules, BadPattern> {
        let mut set = GlobSetBuilder::new();
        let mut of = Vec::new();
        for (order, (include, pattern)) in rules.iter().enumerate() {
            let bad = |reason| BadPattern { pattern: pattern.clone(), reason };
            for (glob, only_dirs) in forms(pattern).map_err(bad)? {
                set.add(glob);
                of.push(Rule { order, include: *include, only_dirs });
            }
        }
        let patterns = || rules.iter().map(|(_, p)| p.as_str()).collect::<Vec<_>>().join(" ");
        let globs = set.build().map_err(|e| BadPattern { pattern: patterns(), reason: e.to_string() })?;
        Ok(Rules { globs, of })
    }

    /// Is the object of this path, relative to the root, to be copied, if the directory that it is in is?
    pub fn allow(&self, path: &[u8]) -> Allowed {
        if self.globs.is_empty() {
            return Allowed { dir: true, other: true };
        }
        let (mut dir, mut other) = (None::<Rule>, None::<Rule>);
        for glob in self.globs.matches(as_path(path)) {
            let rule = self.of[glob];
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
        self.globs.is_empty()
    }
}

/// A pattern's globs, and whether they are about directories alone.
fn forms(pattern: &str) -> Result<Vec<(Glob, bool)>, String> {
    let (text, only_dirs) = match pattern.strip_suffix('/') {
        Some(text) if !text.is_empty() => (text, true),
        _ => (pattern, false),
    };
    let (text, anchored) = match text.strip_prefix("./").or(text.strip_prefix('/')) {
        Some(text) => (text, true),
        None => (text, false),
    };
    // Without a wildcard it is a name, in which a backslash is one.
    let is_wild = text.contains(['*', '?', '[']);
    let glob = |text: &str| {
        let mut form = match is_wild {
            true => Shell::pattern(text, Reach::Stars(!anchored), false)?.glob(),
            false => Shell::name(text, false).glob(),
        };
        if !anchored && !text.starts_with("**") {
            form.insert_str(0, "**/");
        }
        let mut builder = GlobBuilder::new(&form);
        let glob = builder.literal_separator(true).backslash_escape(true).build();
        glob.map_err(|e| e.kind().to_string())
    };
    let mut forms = vec![(glob(text)?, only_dirs)];
    if text.ends_with("***")
        && let Some(dir) = text.trim_end_matches('*').strip_suffix('/').filter(|dir| !dir.is_empty())
    {
        forms.push((glob(dir)?, true));
    }
    Ok(forms)
}
