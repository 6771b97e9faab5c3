//! A job's options by name: the last that was given, or the default of the table.
//!
//! Promises: what is said of an option that cannot be names it as it was typed; warnings are told apart from notes, as `--warnings-fatal` does.
//! Leaves out: what options mean together.

use std::time::Duration;

use super::super::Each;
use super::super::job::{BadJob, Job};
use super::super::options::{Given, OptionError, Value, find};
use super::super::value::{Amount, KbBase};

/// A job that is being settled.
pub(super) struct Asked<'a> {
    pub(super) job: &'a Job,
    /// In the order in which they came up.
    pub(super) notices: Vec<String>,
    /// Those of them that `--warnings-fatal` makes errors.
    pub(super) warnings: Vec<String>,
}

/// As it was typed.
fn typed(given: &Given) -> String {
    given.text.as_ref().map_or(given.spec.name.to_owned(), |text| format!("{}={text}", given.spec.name))
}

impl<'a> Asked<'a> {
    pub(super) fn new(job: &'a Job) -> Asked<'a> {
        Asked { job, notices: Vec::new(), warnings: Vec::new() }
    }

    /// Something that a user may not expect.
    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.notices.push(text.into());
    }

    /// Something that fio warns of.
    pub(super) fn warn(&mut self, text: impl Into<String>) {
        let text = text.into();
        self.warnings.push(text.clone());
        self.notices.push(text);
    }

    fn fail(&self, error: OptionError) -> BadJob {
        BadJob { section: self.job.section.clone(), error }
    }

    /// The option `name` has a value that is none.
    pub(super) fn bad(&self, name: &str, reason: impl Into<String>) -> BadJob {
        let given = self.job.given(name).map_or(name.to_owned(), typed);
        self.fail(OptionError::Bad { given, reason: format!("{name}: {}", reason.into()) })
    }

    /// The option `name` is known and not carried out.
    pub(super) fn refused(&self, name: &str, reason: impl Into<String>) -> BadJob {
        let given = self.job.given(name).map_or(name.to_owned(), typed);
        self.fail(OptionError::Refused { given, reason: reason.into() })
    }

    /// Options that do not go together.
    pub(super) fn together(&self, text: impl Into<String>) -> BadJob {
        self.fail(OptionError::Together(text.into()))
    }

    /// True when it was given, be it with its default.
    pub(super) fn has(&self, name: &str) -> bool {
        self.job.given(name).is_some()
    }

    /// Where it was given last, if it was: later options are greater.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.job.all().enumerate().filter(|(_, given)| given.spec.name == name).map(|(at, _)| at).last()
    }

    /// What was given last, or the default; None for an option without one.
    pub(super) fn value(&self, name: &str) -> Option<Value> {
        if let Some(given) = self.job.given(name) {
            return Some(given.value.clone());
        }
        let spec = find(name).filter(|spec| !spec.default.is_empty())?;
        spec.kind.read(spec.default, KbBase::Binary).ok().map(|read| read.value)
    }

    pub(super) fn is(&self, name: &str) -> bool {
        matches!(self.value(name), Some(Value::Bool(true)))
    }

    pub(super) fn signed(&self, name: &str) -> Option<i64> {
        match self.value(name) {
            Some(Value::Int(number)) => Some(number),
            _ => None,
        }
    }

    /// A count, or bytes; negative ones are kept out by the table.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        match self.value(name) {
            Some(Value::Int(number)) => u64::try_from(number).ok(),
            Some(Value::Bytes(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// A count that the table keeps within 32 bits.
    pub(super) fn count(&self, name: &str) -> Option<u32> {
        self.number(name).map(|number| u32::try_from(number).unwrap_or(u32::MAX))
    }

    /// An amount above 0; fio takes 0 as not given.
    pub(super) fn amount(&self, name: &str) -> Option<Amount> {
        match self.value(name) {
            Some(Value::Amount(Amount::Bytes(0) | Amount::Percent(0))) => None,
            Some(Value::Amount(amount)) => Some(amount),
            _ => None,
        }
    }

    pub(super) fn time(&self, name: &str) -> Duration {
        match self.value(name) {
            Some(Value::Time(time)) => time,
            _ => Duration::ZERO,
        }
    }

    /// A text; blanks around it are cut off.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        match self.value(name) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn names(&self, name: &str) -> Vec<String> {
        match self.value(name) {
            Some(Value::Names(names)) => names,
            _ => Vec::new(),
        }
    }

    /// The word of a choice, and what stands behind its colon.
    pub(super) fn choice(&self, name: &str) -> (&'static str, Option<String>) {
        match self.value(name) {
            Some(Value::Choice { word, more }) => (word, more),
            _ => ("", None),
        }
    }

    pub(super) fn word(&self, name: &str) -> &'static str {
        self.choice(name).0
    }

    /// What each direction has after all that was given, one after the other: a direction that a text leaves out keeps what it had.
    pub(super) fn merged<T: Clone>(
        &self,
        name: &str,
        take: impl Fn(&Value) -> Option<Each<Option<T>>>,
    ) -> Each<Option<T>> {
        let mut each = Each::of(|_| None);
        for given in self.job.all().filter(|given| given.spec.name == name) {
            for (direction, value) in
                take(&given.value).iter().flat_map(Each::iter).filter(|(_, value)| value.is_some())
            {
                each[direction] = value.clone();
            }
        }
        each
    }

    /// The same of counts, over `default`.
    pub(super) fn each(&self, name: &str, default: u64) -> Each<u64> {
        let merged = self.merged(name, |value| match value {
            Value::Each(each) => Some(*each),
            _ => None,
        });
        Each::of(|direction| merged[direction].unwrap_or(default))
    }
}
