//! fio's command line: getopt_long_only's grammar, general options, jobs by `--name`, job files as operands.
//!
//! Promises: one dash or two, `=` or the next word, unambiguous beginnings of names, options behind operands; messages as fio's. What is
//! known and not supported is refused by name. Further words behind `--sweep` that look like `OPTION=VALUES` belong to it.
//! Leaves out: reading the job files, and what the general options do.

use thiserror::Error;

use super::beyond;
use super::general::{self, Argument, BadGeneral, General};
use super::job::{self, BadJob, Job};
use super::options::{Given, Kind, OptionError, TABLE, nearest, refusal};

/// What was asked for.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // the names say it
pub enum Asked {
    Version,
    Help,
    /// `--cmdhelp`: of one option, or of all.
    CommandHelp(Option<String>),
    /// `--enghelp`: of one engine, or which there are.
    EngineHelp(Option<String>),
    /// `--debug=help`: the types that there are.
    DebugHelp,
    /// `--idle-prof=calibrate`, and the general options ahead of it.
    Calibrate(Box<General>),
    Run(Box<CommandLine>),
    /// `--compare`: two documents, by their names.
    Compare(String, String),
}

/// A command line that runs, checks or shows jobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandLine {
    /// What is not about jobs.
    pub general: General,
    /// Options without a job: globals of the first job file, as in fio.
    pub globals: Vec<Given>,
    /// The jobs of `--name`.
    pub jobs: Vec<Job>,
    /// Job files in order; `-` is standard input.
    pub files: Vec<String>,
}

/// Why a command line is not one; the messages are fio's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)] // the messages say it
pub enum LineError {
    #[error("fio: unrecognized option '{given}'{}", nearest.map(|name| format!("\nDid you mean {name}?")).unwrap_or_default())]
    Unrecognized { given: String, nearest: Option<&'static str> },
    #[error("fio: option '{given}' is ambiguous; possibilities: {possible}")]
    Ambiguous { given: String, possible: String },
    #[error("fio: option '--{0}' requires an argument")]
    NoArgument(&'static str),
    #[error("fio: option '--{0}' doesn't allow an argument")]
    Argument(&'static str),
    #[error("fio: option '--{name}' is not supported here: {reason}")]
    Refused { name: String, reason: String },
    #[error("{0}")]
    General(#[from] BadGeneral),
    #[error("{0}")]
    Option(#[from] OptionError),
    #[error("{0}")]
    Job(#[from] BadJob),
    #[error("No job(s) defined{}", if *.options { NO_NAME } else { "" })]
    NoJob { options: bool },
    #[error("fio: --compare takes two JSON documents and nothing else: --compare A.json B.json")]
    Compare,
}

/// Published lines forget it, and do not run in fio either.
const NO_NAME: &str = "\nfio: job options without a job: add --name=JOB ahead of the job's options, or name a job file";

/// One word of the line that begins with a dash.
struct Typed<'a> {
    /// The whole word.
    word: &'a str,
    name: &'a str,
    value: Option<&'a str>,
}

impl<'a> Typed<'a> {
    /// None for an operand; a dash alone is one.
    fn of(word: &'a str) -> Option<Typed<'a>> {
        let rest = word.strip_prefix("--").or_else(|| word.strip_prefix('-')).filter(|rest| !rest.is_empty())?;
        let (name, value) = rest.split_once('=').map_or((rest, None), |(name, value)| (name, Some(value)));
        Some(Typed { word, name, value })
    }
}

/// What a name on the line stands for.
enum Meant {
    General(&'static general::Spec),
    Job { name: &'static str, kind: Kind },
    Refused { reason: String },
}

/// Parses what follows the program's name.
pub fn parse(words: &[String]) -> Result<Asked, LineError> {
    let mut line = Line::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            line.done.files.extend(words.cloned());
            break;
        }
        let Some(typed) = Typed::of(word) else {
            line.done.files.push(word.clone());
            continue;
        };
        match meant(&typed)? {
            Meant::Refused { reason } => return Err(LineError::Refused { name: typed.name.to_owned(), reason }),
            Meant::General(spec) => {
                let value = match (spec.argument, typed.value) {
                    (Argument::None, Some(_)) => return Err(LineError::Argument(spec.name)),
                    (Argument::Required, None) => Some(words.next().ok_or(LineError::NoArgument(spec.name))?.as_str()),
                    (_, value) => value,
                };
                if let Some(asked) = line.general(spec, value)? {
                    return Ok(asked);
                }
                while spec.name == "sweep"
                    && let Some(further) = words.as_slice().first().filter(|word| beyond::is_axis(word))
                {
                    line.general(spec, Some(further))?;
                    words.next();
                }
            }
            Meant::Job { name, kind } => {
                let value = match (kind.is_flag(), typed.value) {
                    (false, None) => Some(words.next().ok_or(LineError::NoArgument(name))?.as_str()),
                    (_, value) => value,
                };
                line.job_option(name, value)?;
            }
        }
    }
    line.end()
}

fn meant(typed: &Typed<'_>) -> Result<Meant, LineError> {
    let name = typed.name;
    let one_letter =
        (!typed.word.starts_with("--") && name.len() == 1 && typed.value.is_none()).then(|| name.chars().next());
    if let Some(spec) = one_letter.flatten().and_then(general::by_letter) {
        return Ok(Meant::General(spec));
    }
    if let Some(spec) = beyond::TABLE.iter().find(|spec| spec.name == name) {
        return Ok(Meant::General(spec));
    }
    let general = general::TABLE.iter().map(|spec| (spec.name, Meant::General(spec)));
    let options = TABLE.iter().flat_map(|spec| {
        let names = spec.aliases.iter().copied().chain([spec.name]);
        names.map(|name| (name, Meant::Job { name, kind: spec.kind }))
    });
    let mut found: Vec<(&'static str, Meant)> =
        general.chain(options).filter(|(known, _)| known.starts_with(name)).collect();
    if let Some(exact) = found.iter().position(|(known, _)| *known == name) {
        return Ok(found.swap_remove(exact).1);
    }
    if let Some(reason) = general::refusal(name).or_else(|| refusal(name, typed.value)) {
        return Ok(Meant::Refused { reason });
    }
    match found.len() {
        1 => Ok(found.swap_remove(0).1),
        0 => Err(LineError::Unrecognized { given: typed.word.to_owned(), nearest: nearest(name) }),
        _ => {
            let possible: Vec<String> = found.iter().map(|(known, _)| format!("'--{known}'")).collect();
            Err(LineError::Ambiguous { given: typed.word.to_owned(), possible: possible.join(" ") })
        }
    }
}

/// The line as far as it was read.
#[derive(Default)]
struct Line {
    done: CommandLine,
    /// The job that options go to; none: they are globals.
    open: Option<Job>,
    /// The open job is not among those of `--section`.
    skipped: bool,
}

impl Line {
    fn general(&mut self, spec: &'static general::Spec, value: Option<&str>) -> Result<Option<Asked>, LineError> {
        let owned = || value.filter(|value| !value.is_empty()).map(str::to_owned);
        Ok(match spec.name {
            "version" => Some(Asked::Version),
            "help" => Some(Asked::Help),
            "cmdhelp" => Some(Asked::CommandHelp(owned())),
            "enghelp" => Some(Asked::EngineHelp(owned())),
            "debug" if value == Some("help") => Some(Asked::DebugHelp),
            "idle-prof" if value == Some("calibrate") => Some(Asked::Calibrate(Box::new(self.done.general.clone()))),
            _ => {
                self.done.general.take(spec, value.unwrap_or_default())?;
                None
            }
        })
    }

    fn job_option(&mut self, name: &'static str, value: Option<&str>) -> Result<(), LineError> {
        if name == "name" {
            self.close()?;
            let section = value.unwrap_or_default();
            if section.is_empty() {
                return Err(LineError::NoArgument("name"));
            }
            self.skipped = !self.done.general.wants(section);
            if !job::is_global(section) {
                let globals = self.done.globals.clone();
                self.open = Some(Job { section: section.to_owned(), globals, options: Vec::new(), input: 0 });
            }
        }
        let base = match &self.open {
            Some(job) => job::base(job.all()),
            None => job::base(self.done.globals.iter()),
        };
        let given = Given::new(name, value, base)?;
        match &mut self.open {
            Some(job) => job.options.push(given),
            None => self.done.globals.push(given),
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), LineError> {
        if let Some(job) = self.open.take().filter(|_| !self.skipped) {
            self.done.jobs.push(job.check()?);
        }
        Ok(())
    }

    fn end(mut self) -> Result<Asked, LineError> {
        self.close()?;
        if let Some(first) = self.done.general.beyond.compare.take() {
            let CommandLine { general, globals, jobs, files } = self.done;
            let alone = globals.is_empty() && jobs.is_empty() && general == General::default();
            return match (<[String; 1]>::try_from(files), alone) {
                (Ok([second]), true) => Ok(Asked::Compare(first, second)),
                _ => Err(LineError::Compare),
            };
        }
        if self.done.jobs.is_empty() && self.done.files.is_empty() {
            return Err(LineError::NoJob { options: !self.done.globals.is_empty() });
        }
        Ok(Asked::Run(Box::new(self.done)))
    }
}

#[cfg(test)]
#[path = "commandline_tests.rs"]
mod tests;
