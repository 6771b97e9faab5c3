//! A forecast beside the facts: what a run reported, by procedure and side.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::base::Proc;
use crate::base::name::Shown;
use crate::base::units::{bytes_shown, grouped};
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
    let is = fact.job();
    if is != what.of() {
        return Err(format!(
            "{}: is the report of {}, and the forecast is of {}",
            path.display(),
            Shown(is.as_bytes()),
            what.of()
        ));
    }
    Ok(fact)
}

/// Forecast and fact, line by line.
pub fn lines(job: &Job, fact: &Fact) -> Vec<String> {
    let mut rows: BTreeMap<(String, usize), [u64; 2]> = BTreeMap::new();
    let place = |name: &str| Proc::ALL.iter().position(|proc| proc.name() == name).unwrap_or(usize::MAX);
    for side in job.sides.iter().filter(|side| side.is_nfs) {
        for (proc, count) in side.tally.iter() {
            rows.entry((side.role.unwrap_or("").into(), place(proc.name()))).or_default()[0] += count.calls;
        }
    }
    for target in fact.targets.iter().filter(|target| target.is_nfs) {
        for one in &target.procedures {
            let role = target.role.clone().unwrap_or_default();
            let is = &mut rows.entry((role, place(&one.procedure))).or_default()[1];
            *is = is.saturating_add(one.calls);
        }
    }
    let mut table = Table::new(&["Procedure", "forecast", "fact", "fact/forecast"]);
    let ratio = |is: f64, was: f64| if was > 0.0 { format!("{:.3}", is / was) } else { String::new() };
    for ((role, at), [was, is]) in &rows {
        let name = Proc::ALL.get(*at).map_or("?", |proc| proc.name());
        let name = if role.is_empty() { name.to_string() } else { format!("{} {name}", Shown(role.as_bytes())) };
        table.row(vec![name, grouped(*was), grouped(*is), ratio(*is as f64, *was as f64)]);
    }
    let forecast: u64 = job.sides.iter().filter(|side| side.is_nfs).map(|side| side.tally.price(&job.price)).sum();
    let of_nfs = || fact.targets.iter().filter(|target| target.is_nfs);
    let iops = of_nfs().fold(0u64, |all, target| all.saturating_add(target.iops_total));
    table.row(vec!["IOPS in all".into(), grouped(forecast), grouped(iops), ratio(iops as f64, forecast as f64)]);
    let mut by_role: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    of_nfs().for_each(|target| *by_role.entry(target.role.as_deref()).or_default() += 1);
    let targets = by_role.into_values().max().unwrap_or(1);
    let point = job.on(targets);
    table.row(vec![
        format!("time on {targets} target{}", if targets == 1 { "" } else { "s" }),
        seconds_shown(point.seconds),
        seconds_shown(fact.seconds),
        ratio(fact.seconds, point.seconds),
    ]);
    table.lines()
}
