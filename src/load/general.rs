//! General options: those of a whole run, not of a job.
//!
//! Promises: each is taken, or refused with a reason. Those that only tune fio's own memory (`--alloc-size`) have nothing to tune here.
//! Leaves out: doing what they ask.

use std::time::Duration;

use thiserror::Error;

use super::beyond::Beyond;
use super::job;
use super::value::{self, KbBase, TimeUnit};

/// Whether an option has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum Argument {
    None,
    Required,
    /// Behind `=` only.
    Optional,
}

/// A general option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub struct Spec {
    pub name: &'static str,
    /// Behind a single dash; a blank for none.
    pub letter: char,
    pub argument: Argument,
}

const fn spec(name: &'static str, letter: char, argument: Argument) -> Spec {
    Spec { name, letter, argument }
}

/// All that are taken; the letters are those that fio 3.33 takes.
pub static TABLE: &[Spec] = &[
    spec("output", 'o', Argument::Required),
    spec("minimal", 'm', Argument::None),
    spec("output-format", 'F', Argument::Required),
    spec("append-terse", 'f', Argument::Optional),
    spec("terse-version", 'V', Argument::Required),
    spec("version", 'v', Argument::None),
    spec("help", 'h', Argument::None),
    spec("cmdhelp", 'c', Argument::Optional),
    spec("enghelp", 'i', Argument::Optional),
    spec("showcmd", 's', Argument::None),
    spec("readonly", 'r', Argument::None),
    spec("eta", 'e', Argument::Required),
    spec("eta-interval", 'O', Argument::Required),
    spec("eta-newline", 'E', Argument::Required),
    spec("parse-only", 'P', Argument::None),
    spec("section", 'x', Argument::Required),
    spec("alloc-size", ' ', Argument::Required),
    spec("warnings-fatal", 'w', Argument::None),
    spec("max-jobs", 'j', Argument::Required),
    spec("status-interval", 'L', Argument::Required),
    spec("aux-path", 'K', Argument::Required),
    spec("bandwidth-log", 'b', Argument::Optional),
    spec("idle-prof", 'I', Argument::Required),
    spec("debug", 'd', Argument::Required),
];

const NO_CLIENTS: &str =
    "there is no client/server mode; start one run on each host, with --output= and --status-interval=";
const NO_TEST: &str = "it tests fio itself, not storage";
const NO_TRIGGER: &str = "remote triggers belong to the client/server mode; use exec_postrun=";

/// Names, or beginnings of names that end in `*`, and why they are refused.
const REFUSED: &[(&str, &str)] = &[
    ("client", NO_CLIENTS),
    ("server", NO_CLIENTS),
    ("daemonize", NO_CLIENTS),
    ("remote-config", NO_CLIENTS),
    ("trigger*", NO_TRIGGER),
    ("inflate-log", "logs are written as text"),
    ("crctest", NO_TEST),
    ("cpuclock-test", NO_TEST),
    ("memcpytest", NO_TEST),
    ("merge-blktrace-only", "blktrace files cannot be replayed"),
    ("latency-log", "it is deprecated in fio; use write_lat_log="),
];

/// Why the general option `name` is refused, if it is known and refused.
pub fn refusal(name: &str) -> Option<String> {
    let matches =
        |pattern: &str| pattern.strip_suffix('*').map_or(name == pattern, |beginning| name.starts_with(beginning));
    REFUSED.iter().find(|(pattern, _)| matches(pattern)).map(|(_, reason)| (*reason).to_owned())
}

/// The option of this letter.
pub fn by_letter(letter: char) -> Option<&'static Spec> {
    TABLE.iter().find(|spec| spec.letter == letter)
}

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)] // the names say it
pub enum Format {
    /// Printed first, whatever the order asked for.
    Terse,
    Json,
    /// JSON with latency buckets.
    JsonPlus,
    Normal,
}

/// When the status line is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum Eta {
    #[default]
    Auto,
    Always,
    Never,
}

/// What is told of idle processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // fio's words
pub enum IdleProf {
    System,
    PerCpu,
}

/// Types of --debug: what is told line by line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traces {
    /// Each I/O, when it is given to the engine and when it has ended.
    pub io: bool,
    /// Seeds, and where each random I/O goes.
    pub random: bool,
}

impl Traces {
    /// All types, as fio names them.
    pub const NAMES: [&str; 2] = ["io", "random"];

    /// Those that are on.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Traces::NAMES.into_iter().zip([self.io, self.random]).filter(|(_, is_on)| *is_on).map(|(name, _)| name)
    }

    /// Adds the types of a list.
    fn take(&mut self, list: &str) -> Result<(), BadGeneral> {
        for word in list.split(',') {
            match word {
                "io" => self.io = true,
                "random" => self.random = true,
                "all" => *self = Traces { io: true, random: true },
                _ => return Err(BadGeneral::Debug(word.to_owned())),
            }
        }
        Ok(())
    }
}

/// The general options of a line.
#[derive(Clone, Debug, PartialEq)]
pub struct General {
    /// Where results go; standard output if not given.
    pub output: Option<String>,
    /// In the order in which they are printed, each once.
    pub formats: Vec<Format>,
    /// 2 to 5.
    pub terse_version: u8,
    /// The status line.
    pub eta: Eta,
    /// How often the status line is refreshed.
    pub eta_interval: Duration,
    /// A new line of status after this time.
    pub eta_newline: Option<Duration>,
    /// Whole results this often.
    pub status_interval: Option<Duration>,
    /// Nothing is written.
    pub readonly: bool,
    /// The sections that are meant; empty for all.
    pub sections: Vec<String>,
    /// Jobs are only checked.
    pub parse_only: bool,
    /// Jobs of files are shown as command lines.
    pub show_command: bool,
    /// Jobs and clones at most.
    pub jobs_max: Option<u32>,
    /// Where state files go.
    pub aux_path: Option<String>,
    /// What the names of logs of all jobs' bandwidth begin with.
    pub bandwidth_log: Option<String>,
    /// How idle processors are is told.
    pub idle_prof: Option<IdleProf>,
    /// What is told line by line.
    pub traces: Traces,
    /// A warning ends the run before any I/O.
    pub warnings_fatal: bool,
    /// What fio has not.
    pub beyond: Beyond,
}

impl Default for General {
    fn default() -> General {
        General {
            output: None,
            formats: vec![Format::Normal],
            terse_version: 3,
            eta: Eta::Auto,
            eta_interval: Duration::from_secs(1),
            eta_newline: None,
            status_interval: None,
            readonly: false,
            sections: Vec::new(),
            parse_only: false,
            show_command: false,
            jobs_max: None,
            aux_path: None,
            bandwidth_log: None,
            idle_prof: None,
            traces: Traces::default(),
            warnings_fatal: false,
            beyond: Beyond::default(),
        }
    }
}

/// A general option's value that is none; the messages are fio's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs)] // the messages say it
pub enum BadGeneral {
    #[error("fio: invalid output format {0}\nfio: failed parsing output-format")]
    Format(String),
    #[error("fio: bad terse version format")]
    TerseVersion,
    #[error("fio: eta interval time too short (250msec min)")]
    EtaInterval,
    #[error("fio: status interval too small")]
    StatusInterval,
    #[error("fio: failed parsing {0} {1}")]
    Value(&'static str, String),
    #[error("fio: option --{0} requires an argument")]
    Empty(&'static str),
    #[error("fio: incorrect idle-prof option: {0}")]
    IdleProf(String),
    #[error("fio: debug mask {} not found; there are {}, all", .0, Traces::NAMES.join(", "))]
    Debug(String),
    #[error("fio: --{name}={value}: expected {reason}")]
    Beyond { name: &'static str, value: String, reason: String },
}

/// A status line is not refreshed more often, as in fio.
const ETA_INTERVAL_MIN: Duration = Duration::from_millis(250);

/// fio prints results no more often.
const STATUS_INTERVAL_MIN: Duration = Duration::from_millis(1);

impl General {
    /// Takes `value`, which is empty for an option without one.
    pub fn take(&mut self, spec: &'static Spec, value: &str) -> Result<(), BadGeneral> {
        let name = spec.name;
        let bad = || BadGeneral::Value(name, value.to_owned());
        let time = || value::duration(value, TimeUnit::Seconds).map(|read| read.value).map_err(|_| bad());
        let count = || {
            value::bytes(value, KbBase::Binary)
                .map_err(|_| bad())
                .and_then(|n| u32::try_from(n.value).map_err(|_| bad()))
        };
        if spec.argument == Argument::Required && value.is_empty() {
            return Err(BadGeneral::Empty(name));
        }
        match name {
            "output" => self.output = Some(value.to_owned()),
            "minimal" => self.formats = vec![Format::Terse],
            "output-format" => self.formats = formats(value)?,
            "append-terse" => self.add(Format::Terse),
            "terse-version" => {
                let version = value.parse().ok().filter(|version| (2..=5).contains(version));
                self.terse_version = version.ok_or(BadGeneral::TerseVersion)?;
            }
            "showcmd" => self.show_command = true,
            "readonly" => self.readonly = true,
            "eta" => {
                self.eta = match value {
                    "auto" => Eta::Auto,
                    "always" => Eta::Always,
                    "never" => Eta::Never,
                    _ => return Err(bad()),
                }
            }
            "eta-interval" => {
                let interval = time()?;
                if interval < ETA_INTERVAL_MIN {
                    return Err(BadGeneral::EtaInterval);
                }
                self.eta_interval = interval;
            }
            "eta-newline" => self.eta_newline = Some(time()?),
            "parse-only" => self.parse_only = true,
            "section" => self.sections.push(value.to_owned()),
            // Memory comes from the system as it is needed; the number is only checked.
            "alloc-size" => count().map(|_| ())?,
            "warnings-fatal" => self.warnings_fatal = true,
            "max-jobs" => self.jobs_max = Some(count()?),
            "status-interval" => {
                let interval = time()?;
                if interval < STATUS_INTERVAL_MIN {
                    return Err(BadGeneral::StatusInterval);
                }
                self.status_interval = Some(interval);
            }
            "bandwidth-log" => self.bandwidth_log = Some(if value.is_empty() { "agg" } else { value }.to_owned()),
            "idle-prof" => {
                self.idle_prof = match value {
                    "system" => Some(IdleProf::System),
                    "percpu" => Some(IdleProf::PerCpu),
                    _ => return Err(BadGeneral::IdleProf(value.to_owned())),
                }
            }
            "debug" => self.traces.take(value)?,
            "aux-path" => self.aux_path = Some(value.to_owned()),
            _ if self.beyond.take(name, value)? => {}
            _ => return Err(bad()),
        }
        Ok(())
    }

    fn add(&mut self, format: Format) {
        self.formats.push(format);
        self.formats.sort_unstable();
        self.formats.dedup();
        // json+ is json with more in it; fio prints one document.
        if self.formats.contains(&Format::JsonPlus) {
            self.formats.retain(|format| *format != Format::Json);
        }
    }

    /// True when the section `name` is meant; globals always are.
    pub fn wants(&self, name: &str) -> bool {
        self.sections.is_empty() || job::is_global(name) || self.sections.iter().any(|section| section == name)
    }
}

fn formats(text: &str) -> Result<Vec<Format>, BadGeneral> {
    let mut general = General { formats: Vec::new(), ..General::default() };
    for word in text.split(',').filter(|word| !word.is_empty()) {
        general.add(match word {
            "minimal" | "terse" => Format::Terse,
            "json" => Format::Json,
            "json+" => Format::JsonPlus,
            "normal" => Format::Normal,
            _ => return Err(BadGeneral::Format(word.to_owned())),
        });
    }
    if general.formats.is_empty() { Err(BadGeneral::Format(text.to_owned())) } else { Ok(general.formats) }
}
