//! Results of clones as the report shows them: merged by group, told in every format that was asked for.

use jiff::{Timestamp, tz::TimeZone};

use crate::load::general::{Format, General};
use crate::load::output::{json, normal, terse};
use crate::load::results::{JobResult, RunResult};
use crate::load::settings::Settings;
use crate::load::{Direction, Each};

/// A clone's result and its job.
pub struct Line<'a> {
    /// Its job.
    pub settings: &'a Settings,
    /// What it found.
    pub result: JobResult,
}

/// One line for each clone, or for each group whose jobs ask for that; in order.
pub fn merged<'a>(clones: Vec<Line<'a>>) -> Vec<Line<'a>> {
    let rates = group_rates(&clones);
    let mut lines: Vec<Line<'a>> = Vec::new();
    for mut clone in clones.into_iter().filter(|clone| clone.settings.measures.told) {
        clone.result.group_rate = rates[clone.result.group as usize];
        let same = lines.iter_mut().find(|line| {
            clone.settings.order.group_reporting
                && line.settings.order.group_reporting
                && line.result.group == clone.result.group
        });
        match same {
            Some(line) => line.result.merge(&clone.result),
            None => lines.push(clone),
        }
    }
    lines
}

/// Bytes a second of each group, by direction: all bytes in the longest time.
fn group_rates(clones: &[Line<'_>]) -> Vec<Each<u64>> {
    let groups = clones.iter().map(|clone| clone.result.group as usize + 1).max().unwrap_or(0);
    let mut sums = vec![Each::<(u64, u64)>::default(); groups];
    for clone in clones {
        for direction in Direction::ALL {
            let (done, sum) = (&clone.result.directions[direction], &mut sums[clone.result.group as usize][direction]);
            sum.0 += done.bytes;
            sum.1 = sum.1.max(done.runtime_ms);
        }
    }
    let rate = |(bytes, ms): (u64, u64)| crate::load::results::per_second(bytes, ms);
    sums.into_iter().map(|sum| Each::of(|direction| rate(sum[direction]))).collect()
}

/// The text of everything that was asked for, in fio's order: terse, JSON, human.
pub fn text(general: &General, lines: &[Line<'_>], globals: &[(String, String)], notices: &[String]) -> String {
    let now = Timestamp::now();
    let time = now.to_zoned(TimeZone::system()).strftime("%a %b %e %H:%M:%S %Y").to_string();
    let version = super::version();
    let mut out = String::new();
    if general.formats.contains(&Format::Terse) {
        lines.iter().for_each(|line| out.push_str(&terse::line(&line.result, general.terse_version, &version)));
    }
    if general.formats.contains(&Format::Json) || general.formats.contains(&Format::JsonPlus) {
        let run = RunResult {
            version,
            timestamp_ms: now.as_millisecond().try_into().unwrap_or(0),
            time: time.clone(),
            globals: globals.to_vec(),
            jobs: lines.iter().map(|line| line.result.clone()).collect(),
            notices: notices.to_vec(),
        };
        out.push_str(&json::run(&run, general.formats.contains(&Format::JsonPlus)).document());
    }
    if general.formats.contains(&Format::Normal) {
        out.push_str(&human(lines, &time));
    }
    out
}

fn human(lines: &[Line<'_>], time: &str) -> String {
    let mut out = String::from("\n");
    let manner =
        |settings: &Settings| normal::Manner { digits: settings.measures.digits, binary: settings.measures.binary };
    for line in lines {
        let errno = line.result.errors.error;
        let error = if errno == 0 {
            String::new()
        } else {
            crate::load::run::said(rustix::io::Errno::from_raw_os_error(errno))
        };
        out.push_str(&normal::job(&line.result, time, &error, &manner(line.settings)));
    }
    let mut groups: Vec<u32> = lines.iter().map(|line| line.result.group).collect();
    groups.dedup();
    for group in groups {
        let of_group: Vec<&Line<'_>> = lines.iter().filter(|line| line.result.group == group).collect();
        let Some(first) = of_group.first() else { continue };
        let results: Vec<&JobResult> = of_group.iter().map(|line| &line.result).collect();
        out.push_str(&normal::group(group, &results, &manner(first.settings)));
    }
    out
}
