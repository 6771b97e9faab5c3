//! Jobs as they were written: which options, in which section, over which globals.
//!
//! Promises: what a job has is its section's options over the globals that stood above it; texts are kept as typed, so that reports can
//! show globals and the job's own apart.
//! Leaves out: what the options mean together, defaults, and clones.

use thiserror::Error;

use super::options::{Given, OptionError, Value};
use super::value::KbBase;

/// A job of a command line or a job file.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The name of its section, which generated file names have.
    pub section: String,
    /// Options of global sections above it.
    pub globals: Vec<Given>,
    /// Its own options.
    pub options: Vec<Given>,
    /// Which of the inputs it is from: jobs of the command line and of the first file are 0. Jobs of one input start after all of the
    /// input before have ended.
    pub input: usize,
}

/// An option that a job's section cannot have, and the section. As in fio, the section is not named for options that only do not go together.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{error}{}", dropped(section, error))]
#[allow(missing_docs)] // the message says it
pub struct BadJob {
    pub section: String,
    pub error: OptionError,
}

fn dropped(section: &str, error: &OptionError) -> String {
    match error {
        OptionError::Together(_) => String::new(),
        _ => format!("\nfio: job {section} dropped"),
    }
}

impl Job {
    /// The name that reports have: the section's, or that of a `name=` within it.
    pub fn name(&self) -> &str {
        let named = self.options.iter().rev().find(|given| given.spec.name == "name");
        match named.map(|given| &given.value) {
            Some(Value::Text(name)) => name,
            _ => &self.section,
        }
    }

    /// Globals and own options, in the order in which they take effect.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = &Given> {
        self.globals.iter().chain(&self.options)
    }

    /// The option `name` as it was given last.
    pub fn given(&self, name: &str) -> Option<&Given> {
        self.all().rev().find(|given| given.spec.name == name)
    }

    /// Refuses options of other engines than the job's.
    pub fn check(self) -> Result<Job, BadJob> {
        let last = |options: &[Given]| {
            let engine = options.iter().rev().find(|given| given.spec.name == "ioengine");
            engine.and_then(|given| given.text.clone()).map(|text| text.trim().to_owned())
        };
        let globals = last(&self.globals).unwrap_or_else(|| "psync".into());
        let own = last(&self.options).unwrap_or_else(|| globals.clone());
        let parts = [(&self.globals, globals), (&self.options, own)];
        let wrong = parts.iter().find_map(|(options, engine)| {
            let belongs =
                |given: &&Given| given.spec.engines.is_empty() || given.spec.engines.contains(&engine.as_str());
            options.iter().find(|given| !belongs(given))
        });
        let Some(given) = wrong else { return Ok(self) };
        let typed =
            given.text.as_ref().map_or(given.spec.name.to_owned(), |text| format!("{}={text}", given.spec.name));
        let error = OptionError::OtherEngine { given: typed, engines: given.spec.engines.join(" or ") };
        Err(BadJob { section: self.section, error })
    }
}

/// The jobs of one file as a command line: what `--showcmd` says of them, without the program. Globals stand once; where a later section
/// brought more, all of them stand again.
pub fn command_line(jobs: &[Job]) -> String {
    let mut line = String::new();
    let mut globals: &[Given] = &[];
    for job in jobs {
        if job.globals != globals {
            show(&mut line, &job.globals);
            globals = &job.globals;
        }
        line.push_str(&format!("--name={} ", job.section));
        show(&mut line, &job.options);
    }
    line
}

/// When fio takes an option of a job file's section, and shows it: units first, file names after directories, an engine's own last.
pub fn rank(given: &Given) -> u8 {
    match given.spec.name {
        "kb_base" | "unit_base" => 0,
        "filename" => 2,
        _ if !given.spec.engines.is_empty() => 3,
        _ => 1,
    }
}

/// As fio it quotes the description alone.
fn show(line: &mut String, options: &[Given]) {
    let mut options: Vec<&Given> = options.iter().collect();
    options.sort_by_key(|given| rank(given));
    for given in options {
        let name = given.spec.name;
        line.push_str(&match &given.text {
            Some(text) if name == "description" => format!("--{name}=\"{text}\" "),
            Some(text) => format!("--{name}={text} "),
            None => format!("--{name} "),
        });
    }
}

/// What `k` stands for after `options`.
pub fn base<'a>(options: impl DoubleEndedIterator<Item = &'a Given>) -> KbBase {
    let last = options.rev().find(|given| given.spec.name == "kb_base");
    match last.map(|given| &given.value) {
        Some(Value::Choice { word: "1000", .. }) => KbBase::Decimal,
        _ => KbBase::Binary,
    }
}

/// True for the name of a section whose options hold for the jobs below it.
pub fn is_global(section: &str) -> bool {
    section.starts_with("global")
}
