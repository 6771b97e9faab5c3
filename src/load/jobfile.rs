//! fio's job files: sections, globals, includes, variables.
//!
//! Promises: the same jobs as fio's, options in effect in the same order; what is wrong is told with file and line.
//! Leaves out: opening files and reading the environment, which [`Surroundings`] does.

use thiserror::Error;

use super::arithmetic;
use super::general::General;
use super::job::{self, BadJob, Job};
use super::options::{Given, OptionError};
use super::value::{self, KbBase};

/// Files that include each other at most this deep, as in fio.
const INCLUDES_MAX: usize = 16;

/// Files that are included in all, and lines of them, at most: a file that includes itself twice would grow without end.
const INCLUDED_MAX: usize = 4096;
const LINES_MAX: usize = 1 << 20;

/// What a job file can refer to.
pub trait Surroundings {
    /// The text of the file `path`, or why it cannot be read.
    fn text(&self, path: &str) -> Result<String, String>;

    /// The environment's variable `name`.
    fn variable(&self, name: &str) -> Option<String>;

    /// Bytes of a page, MiB of memory, processors: what `$pagesize`, `$mb_memory` and `$ncpus` stand for.
    fn facts(&self) -> [(&'static str, u64); 3];
}

/// Why a job file is none; the messages are fio's, with the place behind.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)] // the messages say it
pub enum FileError {
    #[error("fio: unable to open '{path}' job file: {reason}")]
    Open { path: String, reason: String },
    #[error("{error} ({place})")]
    Job { place: Place, error: BadJob },
    #[error("fio: option <{line}> outside of [] job section ({place})")]
    Outside { place: Place, line: String },
    #[error("fio: {reason} ({place})")]
    Line { place: Place, reason: String },
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{path}:{line}")]
pub struct Place {
    /// As it was named.
    pub path: String,
    /// From 1.
    pub line: usize,
}

/// One line that is not blank, comments cut off.
struct Line {
    place: Place,
    text: String,
}

/// The jobs of the file `path`, which is the run's `input`-th, over `globals`.
pub fn read(
    path: &str,
    input: usize,
    globals: &[Given],
    general: &General,
    around: &dyn Surroundings,
) -> Result<Vec<Job>, FileError> {
    let text = around.text(path).map_err(|reason| FileError::Open { path: path.to_owned(), reason })?;
    let mut gathered = Gathered::default();
    gathered.add(path, &text, 0, around)?;
    let mut globals = globals.to_vec();
    let mut jobs = Vec::new();
    let mut lines = gathered.lines.into_iter().peekable();
    while let Some(line) = lines.next() {
        let Some(section) = section_of(&line.text) else {
            return Err(FileError::Outside { place: line.place, line: line.text });
        };
        let mut own = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.text.starts_with('[')) {
            own.push(line);
        }
        if !general.wants(section) {
            continue;
        }
        if job::is_global(section) {
            let given = options(section, &own, &globals, around)?;
            globals.extend(given);
        } else {
            let given = options(section, &own, &globals, around)?;
            let job = Job { section: section.to_owned(), globals: globals.clone(), options: given, input };
            jobs.push(job.check().map_err(|error| FileError::Job { place: line.place, error })?);
        }
    }
    Ok(jobs)
}

/// The name between the brackets: it ends before the line's last character, as fio takes it.
fn section_of(line: &str) -> Option<&str> {
    let name = line.strip_prefix('[')?;
    name.strip_suffix(']').filter(|name| !name.is_empty())
}

/// What a file and all that it includes have.
#[derive(Default)]
struct Gathered {
    lines: Vec<Line>,
    included: usize,
}

impl Gathered {
    /// Adds the lines of `text`, those of included files in their place.
    fn add(&mut self, path: &str, text: &str, depth: usize, around: &dyn Surroundings) -> Result<(), FileError> {
        for (at, line) in text.lines().enumerate() {
            let place = Place { path: path.to_owned(), line: at + 1 };
            // fio cuts at `;` and `#` wherever they stand.
            let line = line
                .split([';', '#'])
                .next()
                .unwrap_or_default()
                .trim_matches(|c: char| c.is_whitespace() || c.is_control());
            if line.is_empty() {
                continue;
            }
            let refused = |reason: String| FileError::Line { place: place.clone(), reason };
            if self.lines.len() == LINES_MAX {
                return Err(refused(format!("more than {LINES_MAX} lines with what is included")));
            }
            // fio takes any character between the word and the name; `=` is what people write.
            let include = line
                .strip_prefix("include")
                .and_then(|rest| rest.strip_prefix(|c: char| c.is_whitespace() || c == '='));
            let Some(file) = include.map(str::trim) else {
                if depth > 0 && line.starts_with('[') {
                    return Err(refused("a file that is included must not have sections".into()));
                }
                self.lines.push(Line { place, text: line.to_owned() });
                continue;
            };
            self.included += 1;
            if depth == INCLUDES_MAX || self.included > INCLUDED_MAX {
                return Err(refused(format!(
                    "files include each other more than {INCLUDES_MAX} deep, or more than {INCLUDED_MAX} times"
                )));
            }
            if self.lines.is_empty() {
                return Err(FileError::Outside { place, line: line.to_owned() });
            }
            let file = with_variables(file, around);
            let beside = path.rsplit_once('/').map(|(dir, _)| format!("{dir}/{file}"));
            let beside = beside.filter(|_| !file.starts_with('/'));
            let (found, text) = match (around.text(&file), beside) {
                (Ok(text), _) => (file, text),
                (Err(first), Some(beside)) => match around.text(&beside) {
                    Ok(text) => (beside, text),
                    Err(_) => return Err(refused(format!("unable to open '{file}' include file: {first}"))),
                },
                (Err(reason), None) => return Err(refused(format!("unable to open '{file}' include file: {reason}"))),
            };
            self.add(&found, &text, depth + 1, around)?;
        }
        Ok(())
    }
}

/// What a section's lines mean over `globals`, in the order in which they take effect. kb_base comes first, wherever it stands: other
/// numbers depend on it.
fn options(
    section: &str,
    lines: &[Line],
    globals: &[Given],
    around: &dyn Surroundings,
) -> Result<Vec<Given>, FileError> {
    let mut split = Vec::with_capacity(lines.len());
    for line in lines {
        let dropped =
            |error| FileError::Job { place: line.place.clone(), error: BadJob { section: section.to_owned(), error } };
        let text = with_variables(&line.text, around);
        let (name, value) = text.split_once('=').map_or((text.as_str(), None), |(name, value)| (name, Some(value)));
        let name = name.trim().to_owned();
        let value = value.map(|value| with_facts(value, around)).transpose();
        let value = value.map_err(|reason| dropped(OptionError::Bad { given: line.text.clone(), reason }))?;
        split.push((line, name, value));
    }
    let mut base = job::base(globals.iter());
    let mut found: Vec<Option<Given>> = vec![None; split.len()];
    let (first, later): (Vec<usize>, Vec<usize>) = (0..split.len()).partition(|at| split[*at].1 == "kb_base");
    for at in first.into_iter().chain(later) {
        let (line, name, value) = &split[at];
        let given = Given::new(name, value.as_deref(), base).map_err(|error| {
            // What was typed is what can be found in the file.
            let error = match error {
                OptionError::Bad { reason, .. } => OptionError::Bad { given: line.text.clone(), reason },
                error => error,
            };
            FileError::Job { place: line.place.clone(), error: BadJob { section: section.to_owned(), error } }
        })?;
        if name == "kb_base" {
            base = job::base([&given].into_iter());
        }
        found[at] = Some(given);
    }
    let mut found: Vec<Given> = found.into_iter().flatten().collect();
    found.sort_by_key(job::rank);
    Ok(found)
}

/// `${NAME}` as the environment has it; nothing where it has not.
fn with_variables(text: &str, around: &dyn Surroundings) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, after)) = after.split_once('}') else { break };
        out.push_str(before);
        out.push_str(&around.variable(name).unwrap_or_default());
        rest = after;
    }
    out + rest
}

/// `$pagesize` and its like as numbers; a value that had one may be arithmetic, and is then its result.
fn with_facts(text: &str, around: &dyn Surroundings) -> Result<String, String> {
    let mut replaced = text.to_owned();
    for (name, number) in around.facts() {
        replaced = replaced.replace(name, &number.to_string());
    }
    if replaced == text || !replaced.contains(['*', '/', '+', '-', '(']) {
        return Ok(replaced);
    }
    let leaf = |leaf: &str| value::bytes(leaf, KbBase::Binary).map(|read| read.value);
    arithmetic::evaluate(&replaced, leaf).map(|result| result.to_string()).map_err(|error| error.to_string())
}

#[cfg(test)]
#[path = "jobfile_tests.rs"]
mod tests;
