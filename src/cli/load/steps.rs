//! `--scale` and `--sweep`: the same jobs on several numbers of targets or with several values of options, one after the other, and the
//! table of what came of it.
//!
//! Promises: a step has the first n targets and n times the clones, so that each target has the same load in every step. What was
//! measured is told, also when a later step could not run.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::base::units::{bytes_shown, grouped, io_shown};
use crate::cli::Exit;
use crate::cli::console::{Console, reason};
use crate::cli::host::file_mode;
use crate::cli::report::{empty, judge, write_whole};
use crate::cli::table::Table;
use crate::crew::Stop;
use crate::load::Direction;
use crate::load::general::Format;
use crate::load::output::json::{self, Json};
use crate::load::output::terse;
use crate::load::results::JobResult;
use crate::load::run::Live;
use crate::load::scale::html::{self, Course};
use crate::load::scale::{self, Measured, Row, Target};
use crate::load::settings::{Settings, order};
use crate::plan::ServerProfile;

use super::forecast;
use super::inputs::{Gathered, Marks};
use super::out::Out;
use super::report::{self, Line};
use super::run::{Finished, Run, SIGNALLED, SoFar, Untold, ended, exit_of};

/// The same jobs on a number of targets.
struct Step {
    marks: Marks,
    targets: u32,
    jobs: Vec<Settings>,
}

/// What was measured so far.
#[derive(Default)]
struct Told {
    measured: Vec<Measured>,
    jobs: Vec<JobResult>,
    failed: usize,
    /// For plots.
    courses: Vec<Course>,
}

/// Runs all steps and tells of them.
pub fn run(console: &Arc<Console>, gathered: &Gathered, out: &Out) -> Exit {
    let steps = match steps(gathered) {
        Ok(steps) => steps,
        Err(text) => return super::refused(console, &text),
    };
    let stop = Stop::default();
    let teller = console.clone();
    let caught = crate::cli::signals::watch(stop.clone(), move |signal| {
        teller.line(format_args!("\nfio: terminating on signal {signal}"));
    });
    let caught = match caught {
        Ok(caught) => caught,
        Err(error) => return super::refused(console, &format!("fio: signals: {error}")),
    };
    if let Err(text) = check_reports(gathered)
        .and_then(|()| check(console, gathered, out, &steps, &stop))
        .and_then(|()| empty_reports(gathered))
    {
        return super::refused(console, &text);
    }
    let asked = Arc::new(AtomicBool::new(false));
    if let Err(error) = signal_hook::flag::register(signal_hook::consts::SIGUSR1, asked.clone()) {
        return super::refused(console, &format!("fio: SIGUSR1: {error}"));
    }
    gathered.notices.iter().for_each(|notice| out.notice(notice));
    out.banner(&super::version());
    let (mut told, server) = (Told::default(), server(gathered.general.beyond.ceilings));
    let mut refused = None;
    for (index, step) in steps.iter().enumerate() {
        let shown = format!("Step {} of {}: {}", index + 1, steps.len(), step.shown());
        out.banner(&shown);
        let mut so_far = Where { console, asked: &asked, shown: &shown };
        if let Err(text) = carry_out(console, gathered, out, step, &server, (&stop, &mut so_far), &mut told) {
            refused = Some(text);
        }
        if refused.is_some() || caught.signal().is_some() {
            break;
        }
    }
    let written = tell(gathered, out, &server, &told);
    let exit = match (caught.signal(), refused.or(written.err())) {
        (Some(_), _) => SIGNALLED,
        (None, Some(text)) => super::refused(console, &text),
        (None, None) => exit_of(told.failed),
    };
    ended(console, out, exit)
}

/// SIGUSR1, which asks a plain run for its results so far, is told where the run is.
struct Where<'a> {
    console: &'a Console,
    asked: &'a AtomicBool,
    shown: &'a str,
}

impl SoFar for Where<'_> {
    fn tell(&mut self, lives: &[Live]) -> Duration {
        if self.asked.swap(false, Ordering::Relaxed) {
            self.console.line(format_args!("{}; results are told at the end", self.shown));
        }
        Untold.tell(lives)
    }
}

impl Step {
    /// `2 targets, bs=4k`.
    fn shown(&self) -> String {
        let marks = self.marks.iter().map(|(name, value)| format!(", {name}={value}")).collect::<String>();
        format!("{} target{}{marks}", self.targets, if self.targets == 1 { "" } else { "s" })
    }
}

/// All steps in order: each combination on each number of targets.
fn steps(gathered: &Gathered) -> Result<Vec<Step>, String> {
    if gathered.general.status_interval.is_some() {
        return Err(
            "fio: --status-interval tells of one run; with --scale or --sweep results are told at the end".into()
        );
    }
    if gathered.general.bandwidth_log.is_some() {
        return Err("fio: --bandwidth-log is of one run; with --scale or --sweep use --x-samples".into());
    }
    if gathered.general.idle_prof.is_some() {
        return Err("fio: --idle-prof is of one run, not of --scale or --sweep".into());
    }
    let scale = &gathered.general.beyond.scale;
    let mut all = Vec::new();
    for (marks, jobs) in &gathered.combinations {
        let most = jobs.iter().map(forecast::targets).max().unwrap_or(1);
        let whole = [u32::try_from(most).unwrap_or(u32::MAX)];
        for &targets in if scale.is_empty() { &whole[..] } else { scale } {
            let cut = jobs.iter().map(|job| if scale.is_empty() { Ok(job.clone()) } else { cut(job, targets) });
            all.push(Step { marks: marks.clone(), targets, jobs: cut.collect::<Result<_, _>>()? });
        }
    }
    for step in &all {
        order(&step.jobs).map_err(|text| format!("{text} ({})", step.shown()))?;
        let logs = |job: &Settings| {
            let logs = &job.logs;
            [&logs.bw, &logs.iops, &logs.lat, &logs.hist, &job.io_logs.write].into_iter().any(Option::is_some)
        };
        if all.len() > 1 && step.jobs.iter().any(logs) {
            return Err(
                "fio: logs are of one run, and each step of --scale or --sweep would begin them anew; use --x-samples"
                    .into(),
            );
        }
        if step.jobs.iter().any(|job| job.files.create_only) {
            return Err("fio: create_only=1 does no I/O, of which --scale and --sweep make a table".into());
        }
    }
    Ok(all)
}

/// The job on its first targets, with its clones on each.
fn cut(job: &Settings, targets: u32) -> Result<Settings, String> {
    let (there, section, n) = (forecast::targets(job), &job.section, targets as usize);
    if there < n {
        return Err(format!(
            "fio: {section}: --scale wants {n} targets and the job has {there}: list them in x_targets=, nfs_url= or directory="
        ));
    }
    if n > 1 && job.engine.nfs_urls.is_empty() && !job.files.names.is_empty() {
        return Err(format!(
            "fio: {section}: with filename= all files are in the first directory, which --scale cannot use"
        ));
    }
    let mut cut = job.clone();
    match job.engine.nfs_urls.is_empty() {
        true => cut.files.directories.truncate(n),
        false => cut.engine.nfs_urls = first_hosts(&job.engine.nfs_urls, n),
    }
    let clones = job.clones.checked_mul(targets);
    cut.clones = clones.ok_or_else(|| format!("fio: {section}: numjobs={} on {n} targets are too many", job.clones))?;
    Ok(cut)
}

/// The URLs with their first `n` hosts in all.
fn first_hosts(urls: &[String], n: usize) -> Vec<String> {
    let mut left = n;
    let mut cut = Vec::new();
    for url in urls {
        let hosts = forecast::hosts(url);
        let kept = &hosts[..hosts.len().min(left)];
        left -= kept.len();
        if !kept.is_empty() {
            cut.push(url.replacen(&hosts.join(","), &kept.join(","), 1));
        }
    }
    cut
}

/// The built-in profile, its ceilings times `factor`.
fn server(factor: f64) -> ServerProfile {
    let mut server = ServerProfile::oci();
    server.ceiling = server.ceiling.scaled(factor);
    server
}

/// What results are written to must be possible before hours are measured.
fn check_reports(gathered: &Gathered) -> Result<(), String> {
    let beyond = &gathered.general.beyond;
    if beyond.csv.is_some() && beyond.csv == beyond.html {
        return Err("fio: --report-csv and --report-html are one file; give two".into());
    }
    let reports = [(&beyond.csv, "--report-csv", scale::csv::START), (&beyond.html, "--report-html", html::START)];
    for (path, option, start) in reports {
        let Some(path) = path else { continue };
        judge(Path::new(path), file_mode(), (option, start.as_bytes())).map_err(|text| format!("fio: {text}"))?;
    }
    Ok(())
}

/// Those of an earlier run, once nothing keeps this one from its beginning.
fn empty_reports(gathered: &Gathered) -> Result<(), String> {
    let beyond = &gathered.general.beyond;
    let paths = [&beyond.csv, &beyond.html].into_iter().flatten();
    paths.into_iter().try_for_each(|path| empty(Path::new(path)).map_err(|text| format!("fio: {text}")))
}

/// As in a plain run, directories that are named must be there: of all steps, before the first is measured.
fn check(console: &Arc<Console>, gathered: &Gathered, out: &Out, steps: &[Step], stop: &Stop) -> Result<(), String> {
    let mut seen = HashSet::new();
    for step in steps {
        // What they are looked up by.
        let of = |job: &Settings| (job.engine.name, job.engine.nfs_urls.clone(), job.files.directories.clone());
        if seen.insert(step.jobs.iter().map(of).collect::<Vec<_>>()) {
            let starts = order(&step.jobs)?;
            Run::new(console, &only(gathered, step), &starts, out, stop)?.check_directories()?;
        }
    }
    Ok(())
}

/// The jobs of one step.
fn only(gathered: &Gathered, step: &Step) -> Gathered {
    Gathered {
        general: gathered.general.clone(),
        shown: Vec::new(),
        jobs: step.jobs.clone(),
        combinations: Vec::new(),
        notices: Vec::new(),
    }
}

fn carry_out(
    console: &Arc<Console>,
    gathered: &Gathered,
    out: &Out,
    step: &Step,
    server: &ServerProfile,
    (stop, so_far): (&Stop, &mut Where<'_>),
    told: &mut Told,
) -> Result<(), String> {
    let starts = order(&step.jobs)?;
    let of_step = only(gathered, step);
    let run = Run::new(console, &of_step, &starts, out, stop)?;
    let Finished { clones, failed } = run.carry_out(so_far, None);
    told.failed += failed;
    let clones: Vec<Line<'_>> = clones.into_iter().filter(|line| line.began).collect();
    for (at, job) in of_step.jobs.iter().enumerate() {
        let lines: Vec<&Line<'_>> = clones.iter().filter(|line| std::ptr::eq(line.settings, job)).collect();
        let has_company = clones.iter().any(|line| {
            !std::ptr::eq(line.settings, job) && lines.iter().any(|own| own.result.group == line.result.group)
        });
        let forecast = (forecast::is_priced(job) && !has_company).then(|| {
            let asked = forecast::asked(job, f64::from(job.clones) / f64::from(step.targets));
            asked.given(server, server.ceiling.latency).ios_per_s
        });
        told.courses.extend(course((at, job), step, &lines));
        told.measured.push(Measured { at, forecast, ..measured(job, step, &lines) });
    }
    for mut line in report::merged(clones) {
        line.result.step =
            [("targets".to_owned(), step.targets.to_string())].into_iter().chain(step.marks.clone()).collect();
        told.jobs.push(line.result);
    }
    Ok(())
}

/// All clones of a job together.
fn measured(job: &Settings, step: &Step, lines: &[&Line<'_>]) -> Measured {
    let mut sum = Measured {
        job: job.name.clone(),
        marks: step.marks.clone(),
        targets: step.targets,
        is_priced: forecast::is_priced(job),
        rate: forecast::asked(job, f64::from(job.clones) / f64::from(step.targets)).ios_per_s_max,
        ..Measured::default()
    };
    let (mut waited_ns, mut waits) = (0.0, 0);
    for line in lines {
        let (result, clone) = (&line.result, &line.result.directions);
        sum.group = result.group;
        for direction in [Direction::Read, Direction::Write] {
            let (done, moved) =
                (&clone[direction], if direction == Direction::Read { &mut sum.read } else { &mut sum.write });
            moved.ios += done.ios;
            moved.bytes += done.bytes;
            let latency = if done.lat.moments.n > 0 { &done.lat.moments } else { &done.clat.moments };
            waited_ns += latency.mean * latency.n as f64;
            waits += latency.n;
            sum.seconds = f64::max(sum.seconds, done.runtime_ms as f64 / 1e3);
        }
        sum.syncs += result.sync.0;
        sum.failed += u32::from(result.errors.error != 0);
    }
    sum.latency = if waits > 0 { waited_ns / waits as f64 / 1e9 } else { 0.0 };
    sum
}

/// Reads and writes of all clones over time, where that was measured.
fn course((at, job): (usize, &Settings), step: &Step, lines: &[&Line<'_>]) -> Option<Course> {
    let each =
        lines.iter().flat_map(|line| [Direction::Read, Direction::Write].map(|d| &line.result.directions[d].timeline));
    let timeline = each.flatten().cloned().reduce(|mut all, one| {
        all.merge(&one);
        all
    })?;
    Some(Course { at, job: html::named(&job.name, &step.marks), targets: step.targets, timeline })
}

/// Everything that was asked for: terse lines, JSON, the table, files.
fn tell(gathered: &Gathered, out: &Out, server: &ServerProfile, told: &Told) -> Result<(), String> {
    let general = &gathered.general;
    let target = Target {
        prices: server.prices.clone(),
        ceiling: server.ceiling,
        transfer_bytes_max: server.transfer_bytes_max,
    };
    let rows = scale::rows(&told.measured, &target);
    let globals = gathered.jobs.first().map_or(&[][..], |job| &job.globals);
    let result = report::result(told.jobs.clone(), globals, &[], &out.notices());
    let mut text = String::new();
    if general.formats.contains(&Format::Terse) {
        result
            .jobs
            .iter()
            .for_each(|job| text.push_str(&terse::line(job, &[], general.terse_version, &result.version)));
    }
    if let Some(bins) = report::json_bins(general) {
        let mut document = json::run(&result, bins);
        if let Json::Object(members) = &mut document {
            members.push(("x_scale".to_owned(), scale::json::rows(&rows)));
        }
        text.push_str(&document.document());
    }
    if general.formats.contains(&Format::Normal) {
        table(&rows, server).iter().for_each(|line| text.push_str(&format!("{line}\n")));
        for job in result.jobs.iter().filter(|job| !job.targets.is_empty()) {
            text.push_str(&format!("\n{}\n", html::named(&job.name, &job.step)));
            let label = |direction| job.label(direction);
            job.targets.iter().for_each(|target| text.push_str(&report::of_target(target, &label)));
        }
    }
    out.write(&text);
    let csv = general.beyond.csv.as_ref().map_or(Ok(()), |path| write(path, &scale::csv::document(&rows)));
    if let Some(path) = &general.beyond.html {
        let heads = rows.first().map(|row| heads(&row.marks)).unwrap_or_default();
        let cells: Vec<Vec<String>> = rows.iter().map(cells).collect();
        write(path, &html::document(&result.time, &heads, &cells, &rows, &told.courses))?;
    }
    csv
}

fn write(path: &str, text: &str) -> Result<(), String> {
    write_whole(Path::new(path), file_mode(), |file| file.write_all(text.as_bytes()))
        .map_err(|error| format!("fio: {path}: Cannot write: {}", reason(&error)))
}

/// The table's headings; `marks` are the options of the sweep.
fn heads(marks: &Marks) -> Vec<String> {
    let figures = ["I/O", "targets", "IOPS each", "IOPS", "MB/s each", "MB/s", "linear", "priced each", "of IOPS"];
    let behind = ["of MB/s", "forecast", "fact", "latency", "bound by"];
    let names = marks.iter().map(|(name, _)| name.as_str());
    ["job"].into_iter().chain(names).chain(figures).chain(behind).map(str::to_owned).collect()
}

/// A line of the table.
fn cells(row: &Row) -> Vec<String> {
    let percent = |n: f64| format!("{n:.1} %");
    let whole = |n: f64| grouped(n.round() as u64);
    let iops = |n: f64| if n < 100.0 { format!("{n:.1}") } else { whole(n) };
    let mb = |n: f64| if n < 1000.0 { format!("{n:.1}") } else { whole(n) };
    let known = |n: Option<f64>, shown: &dyn Fn(f64) -> String| n.map_or("-".to_owned(), shown);
    let mut cells = vec![row.job.clone()];
    cells.extend(row.marks.iter().map(|(_, value)| value.clone()));
    cells.extend([
        if row.io_bytes > 0 { format!("{} {}", io_shown(row.io_bytes), row.kind()) } else { "-".into() },
        row.targets.to_string(),
        iops(row.iops_each),
        iops(row.iops),
        mb(row.mb_each),
        mb(row.mb),
        percent(row.linearity),
        known(row.priced_each, &whole),
        known(row.iops_percent, &percent),
        percent(row.bandwidth_percent),
        known(row.forecast_each, &iops),
        known(row.forecast_percent, &percent),
        format!("{:.2} ms", row.latency_ms),
        match row.failed {
            0 => row.bound.name().to_owned(),
            failed => format!("{}; {failed} failed", row.bound.name()),
        },
    ]);
    cells
}

/// The table for people.
fn table(rows: &[Row], server: &ServerProfile) -> Vec<String> {
    let ceiling = &server.ceiling;
    let heads = rows.first().map(|row| heads(&row.marks)).unwrap_or_default();
    let mut table = Table::new(&heads.iter().map(String::as_str).collect::<Vec<_>>());
    rows.iter().for_each(|row| table.row(cells(row)));
    let mut lines = vec![String::new()];
    lines.extend(table.lines());
    lines.push(String::new());
    lines.push(format!(
        "Ceilings of a target: {} IOPS of the price list, {}/s. MB are 10^6 bytes; forecasts are for an answer in {:?}.",
        grouped(ceiling.iops.round() as u64),
        bytes_shown(ceiling.bytes_per_s as u64),
        ceiling.latency
    ));
    lines
}

#[cfg(test)]
mod tests {
    use crate::load::scale::Moved;

    #[test]
    fn each_host_of_a_url_is_a_target() {
        let urls = ["nfs://a,b:1,[::1]/e/x?timeo=9".to_owned(), "nfs://c/e".to_owned()];
        let cut = |n| first_hosts(&urls, n);
        assert_eq!(cut(1), ["nfs://a/e/x?timeo=9"]);
        assert_eq!(cut(2), ["nfs://a,b:1/e/x?timeo=9"]);
        assert_eq!(cut(3), urls[..1]);
        assert_eq!(cut(4), urls);
    }

    use super::*;

    #[test]
    fn the_paper_s_table() {
        let read = |targets, ios| Measured {
            job: "r32k".into(),
            marks: vec![("bs".into(), "32k".into())],
            targets,
            read: Moved { ios, bytes: ios * (32 << 10) },
            seconds: 10.0,
            is_priced: true,
            forecast: Some(25_000.0),
            latency: 0.0051,
            ..Measured::default()
        };
        let server = server(1.0);
        let target = Target { prices: server.prices.clone(), ceiling: server.ceiling, transfer_bytes_max: 1 << 20 };
        let rows = scale::rows(&[read(1, 250_180), Measured { failed: 1, ..read(2, 495_360) }], &target);
        let lines = table(&rows, &server);
        let wanted = [
            "",
            "job    bs           I/O  targets  IOPS each    IOPS  MB/s each   MB/s   linear  priced each  of IOPS  of MB/s  forecast     fact  latency        bound by",
            "r32k  32k  32 KiB reads        1     25,018  25,018      819.8  819.8  100.0 %       50,036  100.1 %   82.0 %    25,000  100.1 %  5.10 ms            IOPS",
            "r32k  32k  32 KiB reads        2     24,768  49,536      811.6  1,623   99.0 %       49,536   99.1 %   81.2 %    25,000   99.1 %  5.10 ms  IOPS; 1 failed",
        ];
        assert_eq!(lines[..4], wanted, "{}", lines.join("\n"));
    }
}
