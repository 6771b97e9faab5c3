//! What was odd in a run. Bounded: the first warnings are kept, the rest only counted.

use super::name::cut;

/// How many warnings are kept.
const WARNINGS_MAX: usize = 1000;

/// Bytes kept of each: twice the longest path that Linux takes. Names and records of an archive can be of 16 MiB.
const TEXT_BYTES_MAX: usize = 8192;

/// Warnings, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub struct Warnings {
    kept: Vec<String>,
    more: u64,
}

impl Warnings {
    /// One more.
    pub fn add(&mut self, text: String) {
        if self.kept.len() < WARNINGS_MAX {
            self.kept.push(cut(text, TEXT_BYTES_MAX));
        } else {
            self.more += 1;
        }
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty() && self.more == 0
    }

    /// Those of `later` behind these.
    pub fn append(&mut self, later: Warnings) {
        later.kept.into_iter().for_each(|text| self.add(text));
        self.more += later.more;
    }

    /// The texts that are to be told; the last one says how many are not among them.
    pub fn told(mut self) -> Vec<String> {
        if self.more > 0 {
            self.kept.push(format!("{} warnings more are not listed", self.more));
        }
        self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_is_lost_without_a_word() {
        let some = |count: usize| {
            let mut warnings = Warnings::default();
            (0..count).for_each(|i| warnings.add(i.to_string()));
            warnings
        };
        assert_eq!(some(WARNINGS_MAX).told().len(), WARNINGS_MAX);
        let mut all = some(700);
        all.append(some(1400));
        all.append(Warnings::default());
        let told = all.told();
        assert_eq!((told.len(), &told[700][..], &told[1000][..]), (1001, "0", "1100 warnings more are not listed"));
    }
}
