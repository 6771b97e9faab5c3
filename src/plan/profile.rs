//! Profiles as TOML: what is common to those of servers and of volumes. A key that is unknown, missing or of the wrong
//! kind is an error that names the file, the line and what is expected. Reads no file: callers hand in the text.

use std::fmt;

use serde::de::{self, DeserializeOwned, Deserializer, Visitor};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What a profile is about; its first key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // the names say it
pub enum Kind {
    Server,
    Volume,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Server => "server",
            Kind::Volume => "volume",
        }
    }

    /// The command that reads profiles of this kind.
    fn command(self) -> &'static str {
        match self {
            Kind::Server => "parfs plan capacity",
            Kind::Volume => "parfs plan volume",
        }
    }
}

/// Why a text is no profile.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}: {what}")]
pub struct BadProfile {
    file: String,
    what: String,
}

impl BadProfile {
    /// What is wrong with the value of `key`.
    pub(super) fn key(file: &str, key: &str, what: impl fmt::Display) -> BadProfile {
        BadProfile { file: file.into(), what: format!("{key}: {what}") }
    }

    fn toml(file: &str, text: &str, error: &toml::de::Error) -> BadProfile {
        // The parser's message may go over several lines.
        let message = error.message().lines().collect::<Vec<_>>().join(" ");
        let at = error.span().map(|span| {
            let before = text.get(..span.start).unwrap_or(text);
            let number = before.matches('\n').count();
            let line = text.lines().nth(number).unwrap_or_default();
            // Its comment is nothing that could be wrong.
            let line = line.split(" #").next().unwrap_or_default().trim();
            format!("line {} ('{line}'): ", number + 1)
        });
        BadProfile { file: file.into(), what: format!("{}{message}", at.unwrap_or_default()) }
    }
}

/// Operations a second of anything.
pub(super) const IOPS: [f64; 2] = [1.0, 1e12];
/// Bytes a second of anything.
pub(super) const BYTES_PER_S: [f64; 2] = [1.0, 1e15];

/// An error unless `figure` is from `min` to `max`: beyond, it is mistyped, and sums and quotients would be no numbers.
pub(super) fn within(file: &str, key: &str, figure: f64, [min, max]: [f64; 2]) -> Result<(), BadProfile> {
    // As it would be typed: neither hundreds of digits nor a fraction of a whole number.
    let shown = |n: f64| format!("{n:?}").trim_end_matches(".0").to_string();
    if (min..=max).contains(&figure) {
        return Ok(());
    }
    let what = format!("{} is given; from {} to {} is expected", shown(figure), shown(min), shown(max));
    Err(BadProfile::key(file, key, what))
}

/// The head of every profile.
#[derive(Deserialize)]
struct Head {
    kind: Kind,
}

/// The profile in `text`, which came from `file`, if it is of this `kind`.
pub(super) fn parse<T: DeserializeOwned>(kind: Kind, file: &str, text: &str) -> Result<T, BadProfile> {
    let bad = |error: toml::de::Error| BadProfile::toml(file, text, &error);
    let head: Head = toml::from_str(text).map_err(bad)?;
    if head.kind != kind {
        let (found, other) = (head.kind.name(), head.kind.command());
        let what = format!("'{}' is expected, not '{found}', which {other} reads", kind.name());
        return Err(BadProfile::key(file, "kind", what));
    }
    toml::from_str(text).map_err(bad)
}

/// A number that is at least, or above, 0.
struct Number {
    above: bool,
}

impl Visitor<'_> for Number {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.above { "a number above 0" } else { "a number, 0 or more" })
    }

    fn visit_f64<E: de::Error>(self, n: f64) -> Result<f64, E> {
        let fits = n.is_finite() && if self.above { n > 0.0 } else { n >= 0.0 };
        if fits { Ok(n) } else { Err(E::invalid_value(de::Unexpected::Float(n), &self)) }
    }

    fn visit_i64<E: de::Error>(self, n: i64) -> Result<f64, E> {
        let fits = if self.above { n > 0 } else { n >= 0 };
        if fits { Ok(n as f64) } else { Err(E::invalid_value(de::Unexpected::Signed(n), &self)) }
    }
}

/// For `deserialize_with`: a number above 0.
pub(super) fn above_zero<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    from.deserialize_f64(Number { above: true })
}

/// For `deserialize_with`: a number, 0 or more.
pub(super) fn from_zero<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    from.deserialize_f64(Number { above: false })
}

/// For `deserialize_with` and `default`: a limit above 0, or none where the key is left out.
pub(super) fn limit<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    above_zero(from).map(Some)
}
