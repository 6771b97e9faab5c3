//! General options that fio has not: one run on several numbers of targets or for several values of options, and what is told of it.
//!
//! Promises: they count in full only, so that no beginning of a fio option's name becomes ambiguous.
//! Leaves out: doing what they ask.

use super::general::{Argument, BadGeneral, Spec};

const fn spec(name: &'static str, argument: Argument) -> Spec {
    Spec { name, letter: ' ', argument }
}

/// All of them.
pub static TABLE: &[Spec] = &[
    spec("scale", Argument::Required),
    spec("scale-ceilings", Argument::Required),
    spec("sweep", Argument::Required),
    spec("report-csv", Argument::Required),
    spec("report-html", Argument::Required),
    spec("compare", Argument::Required),
    spec("per-target", Argument::None),
    spec("x-samples", Argument::None),
];

/// Targets of one step at most: beyond it a typing error is likelier than a wish.
const TARGETS_MAX: u32 = 1024;

/// Steps of a run at most, for the same reason.
const STEPS_MAX: usize = 1000;

/// What ceilings may be multiplied by.
const FACTORS: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

/// An option of jobs, and the values that it is to have in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub struct Axis {
    pub option: String,
    pub values: Vec<String>,
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Beyond {
    /// Numbers of targets, in the order in which they were given, each once; empty for all targets of the jobs.
    pub scale: Vec<u32>,
    /// What the ceilings of a mount target are multiplied by.
    pub ceilings: f64,
    /// The grid of a sizing test: the last axis changes first.
    pub sweep: Vec<Axis>,
    /// Where the table goes as CSV.
    pub csv: Option<String>,
    /// Where plots go, as one HTML file.
    pub html: Option<String>,
    /// The first of two documents that are compared; the second is the only operand.
    pub compare: Option<String>,
    /// All jobs have x_per_target, x_samples.
    #[allow(missing_docs)] // as above
    pub per_target: bool,
    #[allow(missing_docs)] // as above
    pub samples: bool,
}

impl Default for Beyond {
    fn default() -> Beyond {
        Beyond {
            scale: Vec::new(),
            ceilings: 1.0,
            sweep: Vec::new(),
            csv: None,
            html: None,
            compare: None,
            per_target: false,
            samples: false,
        }
    }
}

/// True of `word` behind `--sweep` when it is a further axis: `rwmix=100,70,0`.
pub fn is_axis(word: &str) -> bool {
    word.split_once('=')
        .is_some_and(|(name, _)| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}

impl Beyond {
    /// Takes `value`; false when `name` is not one of these options.
    pub fn take(&mut self, name: &'static str, value: &str) -> Result<bool, BadGeneral> {
        let bad = |reason: String| BadGeneral::Beyond { name, value: value.to_owned(), reason };
        match name {
            "scale" => {
                self.scale.clear();
                for word in value.split(',') {
                    let targets = word.trim().parse().ok().filter(|n| (1..=TARGETS_MAX).contains(n));
                    let targets = targets
                        .ok_or_else(|| bad(format!("numbers of targets such as 1,2,4,8, up to {TARGETS_MAX}")))?;
                    if !self.scale.contains(&targets) {
                        self.scale.push(targets);
                    }
                }
            }
            "scale-ceilings" => {
                let factor = value.parse().ok().filter(|factor| FACTORS.contains(factor));
                self.ceilings = factor.ok_or_else(|| bad("a factor such as 0.1".into()))?;
            }
            "sweep" => {
                for word in value.split_whitespace() {
                    self.sweep.push(axis(word).ok_or_else(|| bad("OPTION=VALUE,VALUE... such as bs=4k,128k".into()))?);
                }
                let steps = self.sweep.iter().map(|axis| axis.values.len()).product::<usize>();
                if self.sweep.is_empty() || steps > STEPS_MAX {
                    return Err(bad(format!("from 1 to {STEPS_MAX} combinations of OPTION=VALUE,VALUE...")));
                }
                let twice =
                    |(at, axis): (usize, &Axis)| self.sweep[..at].iter().any(|other| other.option == axis.option);
                if self.sweep.iter().enumerate().any(twice) {
                    return Err(bad("each option once, with all its values".into()));
                }
            }
            "report-html" => self.html = Some(value.to_owned()),
            "compare" => self.compare = Some(value.to_owned()),
            "per-target" => self.per_target = true,
            "x-samples" => self.samples = true,
            "report-csv" => self.csv = Some(value.to_owned()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// True when jobs run in steps, of which a table is made.
    pub fn has_steps(&self) -> bool {
        !self.scale.is_empty() || !self.sweep.is_empty()
    }

    /// What does not go together. An error is for stderr.
    pub fn check(&self) -> Result<(), String> {
        let of_steps = [
            ("report-csv", self.csv.is_some()),
            ("report-html", self.html.is_some()),
            ("scale-ceilings", self.ceilings != 1.0),
        ];
        match of_steps.iter().find(|(_, is_given)| *is_given && !self.has_steps()) {
            Some((name, _)) => {
                Err(format!("fio: --{name} is about the table of --scale or --sweep, and neither is given"))
            }
            None => Ok(()),
        }
    }

    /// All combinations of the sweep's values as options and their texts; one without any where nothing is swept.
    pub fn combinations(&self) -> Vec<Vec<(String, String)>> {
        let mut all = vec![Vec::new()];
        for axis in &self.sweep {
            let with = |before: &Vec<(String, String)>, value: &String| {
                before.iter().cloned().chain([(axis.option.clone(), value.clone())]).collect::<Vec<_>>()
            };
            all = all.iter().flat_map(|before| axis.values.iter().map(move |value| with(before, value))).collect();
        }
        all
    }
}

fn axis(word: &str) -> Option<Axis> {
    let (name, values) = word.split_once('=').filter(|_| is_axis(word))?;
    let values: Vec<String> = values.split(',').map(str::to_owned).collect();
    // What a sizing test's percentage of reads is called there.
    let option = if name == "rwmix" { "rwmixread" } else { name };
    values.iter().all(|value| !value.is_empty()).then(|| Axis { option: option.to_owned(), values })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(options: &[(&'static str, &str)]) -> Result<Beyond, BadGeneral> {
        let mut beyond = Beyond::default();
        for (name, value) in options {
            assert!(beyond.take(name, value)?, "{name}");
        }
        Ok(beyond)
    }

    #[test]
    fn numbers_of_targets() {
        assert_eq!(taken(&[("scale", "8,1, 2,1")]).unwrap().scale, [8, 1, 2]);
        for value in ["0", "", "1,", "x", "-1", "1025"] {
            assert!(taken(&[("scale", value)]).is_err(), "{value}");
        }
        assert!(taken(&[("scale-ceilings", "nan")]).is_err());
        assert!(!Beyond::default().take("output", "x").unwrap());
    }

    #[test]
    fn the_grid_of_a_sizing_test() {
        let beyond = taken(&[("sweep", "bs=4k,8k"), ("sweep", "rwmix=100,0")]).unwrap();
        let shown: Vec<String> = beyond
            .combinations()
            .iter()
            .map(|combination| combination.iter().map(|(name, value)| format!("{name}={value} ")).collect())
            .collect();
        let wanted = ["bs=4k rwmixread=100 ", "bs=4k rwmixread=0 ", "bs=8k rwmixread=100 ", "bs=8k rwmixread=0 "];
        assert_eq!(shown, wanted);
        assert_eq!(taken(&[("sweep", "bs=4k,8k rwmix=100,0")]).unwrap(), beyond);
        assert_eq!(Beyond::default().combinations(), [vec![]]);
        for value in ["bs", "bs=", "bs=4k,,8k", "=4k", " ", "bs=4k bs=8k"] {
            assert!(taken(&[("sweep", value)]).is_err(), "{value}");
        }
    }

    #[test]
    fn a_table_that_nobody_makes_is_refused() {
        assert!(taken(&[("report-csv", "x")]).unwrap().check().is_err());
        assert!(taken(&[("scale-ceilings", "0.1")]).unwrap().check().is_err());
        assert!(taken(&[("report-csv", "x"), ("scale", "1")]).unwrap().check().is_ok());
    }

    #[test]
    fn no_name_is_the_beginning_of_another() {
        let known = || crate::load::options::TABLE.iter().map(|spec| spec.name);
        for own in TABLE {
            assert!(known().all(|name| !name.starts_with(own.name)), "{}", own.name);
        }
    }
}
