//! A forecast beside the facts: what a run reported, by procedure and side.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::base::name::Printable;
use crate::base::units::{bytes_shown, grouped};
use crate::base::{PriceList, Proc};
use crate::cli::console::reason;
use crate::cli::table::Table;
use crate::plan::forecast::Job;

use super::forecast::{What, seconds_shown};

/// Bytes read of a report; one of 64 targets has some 100 KB.
const REPORT_BYTES_MAX: u64 = 64 << 20;

/// What of a run's report is compared.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Fact {
    pub schema: u32,
    pub program: String,
    /// What partar -x did, and what partar -c did: the report of one of them has one of both.
    extracted: Option<IgnoredAny>,
    stored: Option<IgnoredAny>,
    pub seconds: f64,
    pub targets: Vec<Target>,
    #[serde(default)]
    dry_run: bool,
    #[serde(default)]
    failures: u64,
    fatal: Option<String>,
    stopped: Option<String>,
}

impl Fact {
    /// The job that it is about.
    fn job(&self) -> &str {
        match self.program.as_str() {
            "partar" if self.extracted.is_some() => What::Extract.of(),
            "partar" if self.stored.is_some() => What::Create.of(),
            other => other,
        }
    }

    /// Why it did not do all that was forecast.
    fn unfinished(&self) -> Option<String> {
        let told = |text: &String| Printable(text.as_bytes()).to_string();
        match (&self.fatal, &self.stopped, self.failures) {
            (Some(fatal), ..) => Some(format!("the run failed: {}", told(fatal))),
            (None, Some(stopped), _) => Some(told(stopped)),
            (None, None, 0) => None,
            (None, None, 1) => Some("the run had 1 failure".into()),
            (None, None, n) => Some(format!("the run had {} failures", grouped(n))),
        }
    }
}

/// One target of a report.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Target {
    pub role: Option<String>,
    pub is_nfs: bool,
    pub iops_total: u64,
    pub procedures: Vec<Procedure>,
}

/// One procedure of a target.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Procedure {
    pub procedure: String,
    pub calls: u64,
}

/// Reads what `--report` of a run of the job `what` wrote. An error is `NAME: reason`.
pub fn read(path: &Path, what: What) -> Result<Fact, String> {
    let mut text = Vec::new();
    File::open(path)
        .and_then(|file| file.take(REPORT_BYTES_MAX + 1).read_to_end(&mut text))
        .map_err(|error| format!("{}: Cannot read: {}", path.display(), reason(&error)))?;
    if text.len() as u64 > REPORT_BYTES_MAX {
        let most = bytes_shown(REPORT_BYTES_MAX);
        return Err(format!("{}: is too large for a report of a run, which has {most} at most", path.display()));
    }
    let fact: Fact = serde_json::from_slice(&text).map_err(|error| {
        format!("{}: is no report of a run (--report of partar, parcp or parrm): {error}", path.display())
    })?;
    if !fact.seconds.is_finite() || fact.seconds < 0.0 {
        return Err(format!("{}: is no report of a run: it took {} s", path.display(), fact.seconds));
    }
    if fact.schema != 1 {
        return Err(format!("{}: is a report of schema {}; this version reads 1", path.display(), fact.schema));
    }
    if fact.dry_run {
        return Err(format!("{}: is the report of a dry run, which changed nothing", path.display()));
    }
    let is = fact.job();
    if is != what.of() {
        return Err(format!(
            "{}: is the report of {}, and the forecast is of {}",
            path.display(),
            Printable(is.as_bytes()),
            what.of()
        ));
    }
    Ok(fact)
}

/// A forecast figure and what became of it.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Pair<T> {
    pub forecast: T,
    pub fact: T,
}

/// Calls of one procedure to one side.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct Calls {
    pub role: Option<String>,
    pub procedure: &'static str,
    #[serde(flatten)]
    pub calls: Pair<u64>,
}

/// Forecast and fact.
#[derive(Debug, Serialize)]
pub struct Compared {
    /// By side and procedure.
    pub procedures: Vec<Calls>,
    /// Priced, of all targets, both by OCI's list: a report knows no other.
    pub iops: Pair<u64>,
    /// Of a side, in the run, of the one that has the most; the forecast's time is for as many.
    pub targets: usize,
    /// Of each side, where that differs.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub targets_by_role: BTreeMap<String, usize>,
    /// The forecast's own prices are another list's.
    #[serde(skip)]
    is_priced_otherwise: bool,
    /// Wall time.
    pub seconds: Pair<f64>,
    /// Why the run did not do all that was forecast.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<String>,
}

impl Compared {
    /// `job` beside what became of it.
    pub fn new(job: &Job, fact: &Fact) -> Compared {
        let mut rows: BTreeMap<(String, usize), Pair<u64>> = BTreeMap::new();
        let place = |name: &str| Proc::ALL.iter().position(|proc| proc.name() == name).unwrap_or(usize::MAX);
        for side in job.sides.iter().filter(|side| side.is_nfs) {
            for (proc, count) in side.tally.iter() {
                rows.entry((side.role.unwrap_or("").into(), place(proc.name()))).or_default().forecast += count.calls;
            }
        }
        let of_nfs = || fact.targets.iter().filter(|target| target.is_nfs);
        for target in of_nfs() {
            for one in &target.procedures {
                let role = target.role.clone().unwrap_or_default();
                let calls = rows.entry((role, place(&one.procedure))).or_default();
                calls.fact = calls.fact.saturating_add(one.calls);
            }
        }
        let procedures = rows.into_iter().map(|((role, at), calls)| Calls {
            role: Some(role).filter(|role| !role.is_empty()),
            procedure: Proc::ALL.get(at).map_or("?", |proc| proc.name()),
            calls,
        });
        let oci = PriceList::oci();
        let forecast = job.sides.iter().filter(|side| side.is_nfs).map(|side| side.tally.price(&oci)).sum();
        let is = of_nfs().fold(0u64, |all, target| all.saturating_add(target.iops_total));
        let mut by_role: BTreeMap<&str, usize> = BTreeMap::new();
        of_nfs().for_each(|target| *by_role.entry(target.role.as_deref().unwrap_or("")).or_default() += 1);
        let point = job.on_each(&|side| by_role.get(side.role.unwrap_or("")).copied().unwrap_or(1));
        let targets = by_role.values().copied().max().unwrap_or(1);
        let differs = by_role.values().any(|n| *n != targets);
        Compared {
            procedures: procedures.collect(),
            iops: Pair { forecast, fact: is },
            targets,
            targets_by_role: by_role.into_iter().filter(|_| differs).map(|(role, n)| (role.into(), n)).collect(),
            is_priced_otherwise: job.price != oci,
            seconds: Pair { forecast: point.seconds, fact: fact.seconds },
            unfinished: fact.unfinished(),
        }
    }

    /// Line by line.
    pub fn lines(&self) -> Vec<String> {
        let mut table = Table::new(&["Procedure", "forecast", "fact", "fact/forecast"]);
        let ratio = |is: f64, was: f64| if was > 0.0 { format!("{:.3}", is / was) } else { String::new() };
        let mut calls = |name: String, Pair { forecast, fact }: Pair<u64>| {
            table.row(vec![name, grouped(forecast), grouped(fact), ratio(fact as f64, forecast as f64)]);
        };
        for Calls { role, procedure, calls: of } in &self.procedures {
            let role = role.as_ref().map_or_else(String::new, |role| format!("{} ", Printable(role.as_bytes())));
            calls(format!("{role}{procedure}"), *of);
        }
        calls(format!("IOPS in all{}", if self.is_priced_otherwise { ", by OCI's list" } else { "" }), self.iops);
        let Pair { forecast, fact } = self.seconds;
        let targets = |n: usize, of: &str| format!("{n} {of}target{}", if n == 1 { "" } else { "s" });
        let each =
            self.targets_by_role.iter().map(|(role, n)| targets(*n, &format!("{} ", Printable(role.as_bytes()))));
        let each: Vec<String> = each.collect();
        table.row(vec![
            format!("time on {}", if each.is_empty() { targets(self.targets, "") } else { each.join(", ") }),
            seconds_shown(forecast),
            seconds_shown(fact),
            ratio(fact, forecast),
        ]);
        let note = self.unfinished.iter().map(|why| format!("The fact is of a run that is not complete: {why}"));
        note.chain(table.lines()).collect()
    }
}
