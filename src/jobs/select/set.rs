//! Patterns, read, and which of them match a path.

use super::patterns::Patterns;
use super::shell::{Reach, Shell};
use super::steps::Way;
use super::{BadPattern, Pattern};

/// Patterns of which a path is asked. The default matches nothing.
#[derive(Clone, Debug, Default)]
pub(in crate::jobs) struct Set(Patterns);

impl Set {
    pub fn new(patterns: &[Pattern]) -> Result<Set, BadPattern> {
        let mut all = Patterns::default();
        for (place, pattern) in patterns.iter().enumerate() {
            // A script's unset variable: nobody has that name, not even the root, whose path is empty as well.
            if pattern.text.is_empty() {
                continue;
            }
            let reach = if pattern.match_slash { Reach::Slashes } else { Reach::Name };
            let shell = match pattern.wildcards {
                true => Shell::pattern(&pattern.text, reach, pattern.ignore_case)
                    .map_err(|reason| BadPattern::new(&pattern.text, reason))?,
                false => Shell::name(&pattern.text, pattern.ignore_case),
            };
            all.add(place, shell, Way { anchored: pattern.anchored, below: pattern.below });
        }
        Ok(Set(all))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn is_match(&self, text: &[u8]) -> bool {
        self.0.is_match(text)
    }

    /// The places of the patterns that match, some of them more than once.
    pub fn matches(&self, text: &[u8]) -> Vec<usize> {
        self.0.matches(text).collect()
    }
}
