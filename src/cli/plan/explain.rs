//! A forecast beside the facts: what a run reported, by procedure and side.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::base::Proc;
use crate::base::units::grouped;
use crate::cli::console::reason;
use crate::cli::table::Table;
use crate::plan::forecast::Job;

use super::forecast::seconds_shown;

/// What of a run's report is compared.
#[derive(Debug, Deserialize)]
#[allow(missing_docs)]
pub struct Fact {
    pub schema: u32,
    pub seconds: f64,
    pub targets: Vec<Target>,
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

/// Reads what `--report` of a run wrote. An error is `NAME: reason`.
pub fn read(path: &Path) -> Result<Fact, String> {
    let text = std::fs::read(path).map_err(|error| format!("{}: Cannot read: {}", path.display(), reason(&error)))?;
    let fact: Fact = serde_json::from_slice(&text).map_err(|error| {
        format!("{}: is no report of a run (--report of partar, parcp or parrm): {error}", path.display())
    })?;
    if fact.schema != 1 {
        return Err(format!("{}: is a report of schema {}; this version reads 1", path.display(), fact.schema));
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
            rows.entry((role, place(&one.procedure))).or_default()[1] += one.calls;
        }
    }
    let mut table = Table::new(&["Procedure", "forecast", "fact", "fact/forecast"]);
    let ratio = |is: f64, was: f64| if was > 0.0 { format!("{:.3}", is / was) } else { String::new() };
    for ((role, at), [was, is]) in &rows {
        let name = Proc::ALL.get(*at).map_or("?", |proc| proc.name());
        let name = if role.is_empty() { name.to_string() } else { format!("{role} {name}") };
        table.row(vec![name, grouped(*was), grouped(*is), ratio(*is as f64, *was as f64)]);
    }
    let forecast: u64 = job.sides.iter().filter(|side| side.is_nfs).map(|side| side.tally.price(&job.price)).sum();
    let iops: u64 = fact.targets.iter().filter(|target| target.is_nfs).map(|target| target.iops_total).sum();
    table.row(vec!["IOPS in all".into(), grouped(forecast), grouped(iops), ratio(iops as f64, forecast as f64)]);
    let of_role = |role: &Option<String>| fact.targets.iter().filter(|t| t.is_nfs && t.role == *role).count();
    let targets = fact.targets.iter().map(|target| of_role(&target.role)).max().unwrap_or(0).max(1);
    let point = job.on(targets);
    table.row(vec![
        format!("time on {targets} target{}", if targets == 1 { "" } else { "s" }),
        seconds_shown(point.seconds),
        seconds_shown(fact.seconds),
        ratio(fact.seconds, point.seconds),
    ]);
    table.lines()
}
