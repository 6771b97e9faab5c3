//! Patterns, compiled, and which of them match a path.
//!
//! globset compares bytes. In a UTF-8 locale glibc's fnmatch(3), which GNU tar asks, takes `?` and brackets for characters, and then for
//! bytes (2.36): of paths with characters beyond ASCII the regex crate is asked as well.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use regex::bytes::{RegexSet, RegexSetBuilder};

use super::shell::{Reach, Shell};
use super::{BadPattern, Pattern};

/// Bytes that compiled patterns may take.
const REGEX_BYTES_MAX: usize = 256 << 20;

/// Patterns of which a path is asked. The default matches nothing.
#[derive(Clone, Debug, Default)]
pub(in crate::jobs) struct Set {
    globs: GlobSet,
    /// The place of each glob's pattern.
    of: Vec<usize>,
    /// Those of which characters match otherwise than bytes.
    chars: Option<RegexSet>,
    /// The place of each one's pattern.
    of_chars: Vec<usize>,
}

impl Set {
    pub fn new(patterns: &[Pattern]) -> Result<Set, BadPattern> {
        let mut globs = GlobSetBuilder::new();
        let mut of = Vec::new();
        let (mut regexes, mut of_chars) = (Vec::new(), Vec::new());
        for (at, pattern) in patterns.iter().enumerate() {
            let compiled = Compiled::new(pattern)?;
            of.extend(compiled.globs.iter().map(|_| at));
            compiled.globs.into_iter().for_each(|glob| {
                globs.add(glob);
            });
            if let Some(regex) = compiled.regex {
                regexes.push(regex);
                of_chars.push(at);
            }
        }
        let all = || patterns.iter().map(|p| String::from_utf8_lossy(&p.text)).collect::<Vec<_>>().join(" ");
        let bad = |reason| BadPattern { pattern: all(), reason };
        let globs = globs.build().map_err(|e| bad(e.to_string()))?;
        let chars = (!regexes.is_empty()).then(|| RegexSetBuilder::new(regexes).size_limit(REGEX_BYTES_MAX).build());
        Ok(Set { globs, of, of_chars, chars: chars.transpose().map_err(|e| bad(e.to_string()))? })
    }

    pub fn is_empty(&self) -> bool {
        self.globs.is_empty()
    }

    pub fn is_match(&self, text: &[u8]) -> bool {
        self.globs.is_match(as_path(text)) || self.by_chars(text).is_some_and(|chars| chars.is_match(text))
    }

    /// The places of the patterns that match, some of them more than once.
    pub fn matches(&self, text: &[u8]) -> Vec<usize> {
        let by_bytes = self.globs.matches(as_path(text)).into_iter().map(|glob| self.of[glob]);
        let by_chars =
            self.by_chars(text).into_iter().flat_map(|chars| chars.matches(text)).map(|regex| self.of_chars[regex]);
        by_bytes.chain(by_chars).collect()
    }

    fn by_chars(&self, text: &[u8]) -> Option<&RegexSet> {
        self.chars.as_ref().filter(|_| !text.is_ascii() && std::str::from_utf8(text).is_ok())
    }
}

/// Bytes as globs match them.
pub(super) fn as_path(text: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(text))
}

/// A pattern's globs, which compare bytes, and where that is something else its regex, which compares characters.
struct Compiled {
    globs: Vec<Glob>,
    regex: Option<String>,
}

impl Compiled {
    /// At the start, unless it is anchored after any slash, and where it says so for what is below a match.
    fn new(pattern: &Pattern) -> Result<Compiled, BadPattern> {
        let typed = std::str::from_utf8(&pattern.text).map_err(|_| BadPattern {
            pattern: String::from_utf8_lossy(&pattern.text).into_owned(),
            reason: "not UTF-8".into(),
        })?;
        let bad = |reason: String| BadPattern { pattern: typed.into(), reason };
        let reach = if pattern.match_slash { Reach::Slashes } else { Reach::Name };
        let plain = typed.strip_prefix("./").unwrap_or(typed);
        // A script's unset variable: nobody has that name, not even the root, whose path is empty as well.
        if plain.is_empty() {
            return Ok(Compiled { globs: Vec::new(), regex: None });
        }
        let shell = match pattern.wildcards {
            true => Shell::pattern(plain, reach, pattern.ignore_case).map_err(bad)?,
            false => Shell::name(plain, pattern.ignore_case),
        };
        // Paths come without the `./` that they may begin with, so this is their start.
        let is_anchored = pattern.anchored || typed.starts_with("./");
        let text = shell.glob();
        // A star matches any number of directories only where it matches slashes.
        let (before, behind) = if pattern.match_slash { ("*/", "/*") } else { ("**/", "/**") };
        let mut forms = vec![text.clone()];
        if !is_anchored {
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
        let globs = forms.into_iter().map(glob).collect::<Result<_, _>>()?;
        let (before, behind) =
            (if is_anchored { "" } else { "(?s-u:.*/)?" }, if pattern.below { "(?s-u:/.*)?" } else { "" });
        let regex = shell.hangs_on_chars().then(|| format!(r"\A{before}{}{behind}\z", shell.regex()));
        Ok(Compiled { globs, regex })
    }
}
