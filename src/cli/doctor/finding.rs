//! What is found: things of the host, what is wrong with each, and the document of it all.

use std::fmt;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::root::NotRead;

/// How bad a finding is. Exit status 1 is for faults and warnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing: a bound of this way of working, or what could be better for some work.
    Note,
    /// It costs speed or IOPS that this host could have.
    Warning,
    /// Data, or most of the speed, is at stake.
    Fault,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Fault => "FAULT",
        })
    }
}

/// One thing that is wrong, or worth knowing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The check's name, which does not change between versions.
    pub check: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The figure that was found.
    pub found: String,
    /// Why that is bad.
    pub reason: String,
    /// What to do.
    pub advice: String,
    /// Commands, or a line of a file (`/etc/fstab: ...`), that do it; doctor runs none of them.
    pub fix: Vec<String>,
}

/// Something that was looked at.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Subject {
    /// `mount`, `export`, `target`, `transport`, `directory`, `device` or `host`.
    pub kind: &'static str,
    /// Which one.
    pub name: String,
    /// What it is, for people.
    #[serde(skip)]
    pub title: String,
    /// What was read of it.
    #[serde(serialize_with = "as_map")]
    pub facts: Vec<Fact>,
    /// What it sent, by procedure.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub procedures: Vec<Procedure>,
    /// What is wrong with it.
    pub findings: Vec<Finding>,
}

/// One figure that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// Its name in the document.
    pub name: &'static str,
    /// Its value there.
    pub value: Value,
    /// The words for people.
    pub shown: String,
}

fn as_map<S: Serializer>(facts: &[Fact], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(facts.len()))?;
    facts.iter().try_for_each(|fact| map.serialize_entry(fact.name, &fact.value))?;
    map.end()
}

/// One procedure's figures since the mount was made.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs)] // the names say it
pub struct Procedure {
    pub procedure: &'static str,
    pub calls: u64,
    /// Priced by OCI's list.
    pub iops: u64,
    pub retransmitted: u64,
    pub failed: u64,
    /// Means, in milliseconds.
    pub queue_ms: f64,
    pub rtt_ms: f64,
    pub execute_ms: f64,
}

impl Subject {
    /// A thing of which nothing is known yet.
    pub fn new(kind: &'static str, name: impl Into<String>, title: impl Into<String>) -> Subject {
        let (facts, procedures, findings) = (Vec::new(), Vec::new(), Vec::new());
        Subject { kind, name: name.into(), title: title.into(), facts, procedures, findings }
    }

    /// Adds what was read: a figure for the document, and words for people.
    pub fn fact(&mut self, name: &'static str, value: impl Into<Value>, shown: impl Into<String>) {
        self.facts.push(Fact { name, value: value.into(), shown: shown.into() });
    }
}

/// All that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnosis {
    /// The document's version: a field may be added under the same number, not renamed or removed.
    pub schema: u32,
    /// `parfs doctor`.
    pub program: &'static str,
    /// The version of parfs.
    pub version: &'static str,
    /// 1 when something is wrong, 2 when a path that was named could not be looked at.
    pub exit_status: u8,
    /// How many of each severity.
    pub faults: usize,
    /// See `faults`.
    pub warnings: usize,
    /// See `faults`.
    pub notes: usize,
    /// What was looked at.
    pub subjects: Vec<Subject>,
    /// What could not be.
    pub not_read: Vec<NotRead>,
}

impl Diagnosis {
    /// The document of these; what is worst comes first in each. `is_all`: all paths that were named were looked at.
    pub fn new(mut subjects: Vec<Subject>, not_read: Vec<NotRead>, is_all: bool) -> Diagnosis {
        for subject in &mut subjects {
            subject.findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        }
        let count = |severity| subjects.iter().flat_map(|s| &s.findings).filter(|f| f.severity == severity).count();
        let (faults, warnings, notes) = (count(Severity::Fault), count(Severity::Warning), count(Severity::Note));
        let exit_status = if is_all { u8::from(faults + warnings > 0) } else { 2 };
        let (program, version) = ("parfs doctor", env!("CARGO_PKG_VERSION"));
        Diagnosis { schema: 1, program, version, exit_status, faults, warnings, notes, subjects, not_read }
    }
}
