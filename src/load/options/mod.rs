//! fio's job options as a table: names, aliases, kinds of value, tiers, defaults; and what a given option means.
//!
//! Promises: an option is known, refused with a reason and the nearest alternative, or unknown; nothing is taken and ignored. Texts are
//! kept as typed, for reports.
//! Leaves out: whether a known option is carried out. Who runs jobs takes from a job's options what it carries out and refuses the rest.

mod refused;
mod table;

use std::time::Duration;

use thiserror::Error;

use super::Each;
use super::value::{self, Amount, BadValue, KbBase, Range, Read, TimeUnit, Weighted};

pub use refused::{ENGINES, engine, refusal};
pub use table::TABLE;

/// How much of published use an option has (the specification counts it).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// Widely used; must work.
    First,
    /// Should work.
    Second,
}

/// The syntax of an option's value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Any text but an empty one.
    Text,
    /// Any text, also none at all (`write_bw_log`); in job files only.
    TextOrNone,
    /// Texts separated by `:`.
    Names,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// One of these words, and after a `:` more.
    ChoiceMore(&'static [&'static str]),
    /// 0 or 1; a value is required.
    Bool,
    /// 0 or 1; nothing means 1.
    Flag,
    /// A number, both ends included.
    Int(i64, i64),
    /// A number for each direction, both ends included.
    Each(u64, u64),
    /// Bytes or a count.
    Bytes,
    /// Bytes, or a range of them.
    BytesRange,
    /// Bytes, or a percentage of a file or device.
    Amount,
    /// Ranges for each direction.
    EachRange,
    /// Mixtures of sizes for each direction.
    EachSplit,
    /// A time; the unit is that of a bare number.
    Time(TimeUnit),
    /// A time in seconds, or a range of them.
    TimeRange,
    /// Numbers separated by `:`: how many at most, from, to.
    Floats(usize, f64, f64),
    /// Processors.
    Cpus,
}

/// What the text of an option means.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // as the kinds
pub enum Value {
    Text(String),
    Names(Vec<String>),
    Choice { word: &'static str, more: Option<String> },
    Bool(bool),
    Int(i64),
    Each(Each<Option<u64>>),
    Bytes(u64),
    BytesRange(Range),
    Amount(Amount),
    EachRange(Each<Option<Range>>),
    EachSplit(Each<Option<Vec<Weighted>>>),
    Time(Duration),
    TimeRange(Duration, Duration),
    Floats(Vec<f64>),
    Cpus(Vec<usize>),
}

/// One option of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spec {
    /// The name that reports use.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// What its value looks like.
    pub kind: Kind,
    /// How widely it is used.
    pub tier: Tier,
    /// What holds when it is not given, as one would type it; empty for nothing.
    pub default: &'static str,
    /// The engines that have it; empty for an option of all jobs.
    pub engines: &'static [&'static str],
}

/// Why an option is not taken; the messages are fio's where fio has one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OptionError {
    /// There is none of this name. The text as given, and a name that is like it.
    #[error("Bad option <{given}>{}", did_you_mean(nearest))]
    #[allow(missing_docs)] // the message says it
    Unknown { given: String, nearest: Option<&'static str> },
    /// It belongs to other engines than the job's.
    #[error("Bad option <{given}>\nthe option belongs to ioengine={engines}")]
    #[allow(missing_docs)] // the message says it
    OtherEngine { given: String, engines: String },
    /// It is known and not supported.
    #[error("fio: option '{given}' is not supported here: {reason}")]
    #[allow(missing_docs)] // the message says it
    Refused { given: String, reason: String },
    /// It needs a value.
    #[error("Option {0} requires an argument")]
    NoValue(&'static str),
    /// Its value is not of its kind.
    #[error("{reason}\nfio: failed parsing {given}")]
    #[allow(missing_docs)] // the message says it
    Bad { given: String, reason: String },
    /// It does not go with what else the job has.
    #[error("{0}")]
    Together(String),
}

fn did_you_mean(nearest: &Option<&'static str>) -> String {
    nearest.map(|name| format!("\nDid you mean {name}?")).unwrap_or_default()
}

/// An option that a section or a command line has.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// Which.
    pub spec: &'static Spec,
    /// Its value as typed, variables replaced; None for a flag without one.
    pub text: Option<String>,
    /// What it means.
    pub value: Value,
    /// fio would read another value, without saying so.
    pub differs: bool,
}

/// The option of this name or alias.
pub fn find(name: &str) -> Option<&'static Spec> {
    TABLE.iter().find(|spec| spec.name == name || spec.aliases.contains(&name))
}

impl Given {
    /// What `name` and `text` mean where `k` is `base`.
    pub fn new(name: &str, text: Option<&str>, base: KbBase) -> Result<Given, OptionError> {
        let given = || text.map_or(name.to_owned(), |text| format!("{name}={text}"));
        if let Some(reason) = refusal(name, text) {
            return Err(OptionError::Refused { given: given(), reason });
        }
        let Some(spec) = find(name) else {
            return Err(OptionError::Unknown { given: given(), nearest: nearest(name) });
        };
        let typed = match (text, spec.kind) {
            (Some(text), _) => text,
            (None, Kind::Flag) => "1",
            (None, Kind::TextOrNone) => "",
            (None, _) => return Err(OptionError::NoValue(spec.name)),
        };
        match spec.kind.read(typed, base) {
            Ok(Read { value, differs }) => Ok(Given { spec, text: text.map(str::to_owned), value, differs }),
            Err(error) => Err(OptionError::Bad { given: given(), reason: format!("{}: {error}", spec.name) }),
        }
    }
}

impl Kind {
    /// What `text` means where `k` is `base`. Blanks around it are no part of it.
    pub fn read(&self, text: &str, base: KbBase) -> Result<Read<Value>, BadValue> {
        let text = text.trim();
        let exact = |value| Read { value, differs: false };
        Ok(match *self {
            Kind::Text if text.is_empty() => return Err(BadValue("the value is empty".into())),
            Kind::Text | Kind::TextOrNone => exact(Value::Text(text.to_owned())),
            Kind::Names => match value::names(text) {
                names if names.is_empty() => return Err(BadValue("the value is empty".into())),
                names => exact(Value::Names(names)),
            },
            Kind::Choice(words) => exact(Value::Choice { word: choose(words, text)?, more: None }),
            Kind::ChoiceMore(words) => {
                let (word, more) = text.split_once(':').map_or((text, None), |(word, more)| (word, Some(more)));
                exact(Value::Choice { word: choose(words, word)?, more: more.map(str::to_owned) })
            }
            Kind::Bool | Kind::Flag => exact(Value::Bool(value::boolean(text)?)),
            Kind::Int(low, high) => told(value::signed(text, base)?, |n| within(n, low, high).map(Value::Int))?,
            Kind::Each(low, high) => told(value::each_bytes(text, base)?, |each| {
                each.iter().filter_map(|(_, n)| *n).try_for_each(|n| within(n, low, high).map(|_| ()))?;
                Ok(Value::Each(each))
            })?,
            Kind::Bytes => told(value::bytes(text, base)?, |n| Ok(Value::Bytes(n)))?,
            Kind::BytesRange if text.contains(['-', ':', ',']) => {
                told(value::range(&text.replace(',', "-"), base)?, |range| Ok(Value::BytesRange(range)))?
            }
            Kind::BytesRange => told(value::bytes(text, base)?, |n| Ok(Value::BytesRange((n, n))))?,
            Kind::Amount => told(value::amount(text, base)?, |amount| Ok(Value::Amount(amount)))?,
            Kind::EachRange => told(value::each_range(text, base)?, |ranges| Ok(Value::EachRange(ranges)))?,
            Kind::EachSplit => exact(Value::EachSplit(value::each_split(text, base)?)),
            Kind::Time(unit) => told(value::duration(text, unit)?, |time| Ok(Value::Time(time)))?,
            Kind::TimeRange => {
                let (low, high) = text.split_once(['-', ',']).unwrap_or((text, text));
                let high = value::duration(high, TimeUnit::Seconds)?;
                let low = value::duration(low, TimeUnit::Seconds)?;
                let value = Value::TimeRange(low.value.min(high.value), low.value.max(high.value));
                Read { value, differs: low.differs || high.differs }
            }
            Kind::Floats(most, low, high) => exact(Value::Floats(value::floats(text, most, low, high)?)),
            Kind::Cpus => exact(Value::Cpus(value::cpus(text)?)),
        })
    }

    /// True when the command line takes a value only after `=`.
    pub fn is_flag(&self) -> bool {
        matches!(self, Kind::Flag)
    }
}

fn told<T>(read: Read<T>, change: impl FnOnce(T) -> Result<Value, BadValue>) -> Result<Read<Value>, BadValue> {
    Ok(Read { differs: read.differs, value: change(read.value)? })
}

fn within<T: PartialOrd + std::fmt::Display>(n: T, low: T, high: T) -> Result<T, BadValue> {
    match () {
        () if n > high => Err(BadValue(format!("max value out of range: {n} ({high} max)"))),
        () if n < low => Err(BadValue(format!("min value out of range: {n} ({low} min)"))),
        () => Ok(n),
    }
}

fn choose(words: &[&'static str], text: &str) -> Result<&'static str, BadValue> {
    let found = words.iter().find(|word| **word == text.trim());
    found.copied().ok_or_else(|| BadValue(format!("'{text}' is none of {}", words.join(", "))))
}

/// The option whose name is most like `name`, if half of it is right.
pub fn nearest(name: &str) -> Option<&'static str> {
    let name = name.split('=').next().unwrap_or_default();
    let named = TABLE.iter().map(|spec| (distance(name, spec.name), spec.name));
    let (far, nearest) = named.min_by_key(|(far, _)| *far)?;
    (far <= name.len().div_ceil(2)).then_some(nearest)
}

/// Letters to insert, leave out or replace until `a` is `b`.
fn distance(a: &str, b: &str) -> usize {
    let b = b.as_bytes();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests;
