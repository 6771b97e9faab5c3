//! The table and its plots as one HTML file that opens without network: no script, no style sheet, no picture from elsewhere.
//!
//! Promises: texts are escaped; a plot without points is left out.

use std::fmt::Write;

use super::super::timeline::{Interval, Timeline};
use super::{Row, plot};

/// What a job did over time on a number of targets.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// The job's place among the jobs: two may have one name.
    pub at: usize,
    /// The job with the options of its sweep: curves of one plot have it in common.
    pub job: String,
    /// On how many targets.
    pub targets: u32,
    /// Reads and writes together.
    pub timeline: Timeline,
}

/// Percentiles that are drawn over time.
const OVER_TIME: [f64; 3] = [50.0, 99.0, 99.9];

const STYLE: &str = "body{font:14px sans-serif;margin:2em;max-width:75em}table{border-collapse:collapse}\
                     td,th{border:1px solid #bbb;padding:.2em .6em;text-align:right}td:first-child{text-align:left}\
                     svg{margin:.5em 1em .5em 0}";

/// How each document begins, with its title's first word.
pub const START: &str = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>parfs";

/// The document. `heads` and `cells` are the table as people see it.
pub fn document(result: &str, heads: &[String], cells: &[Vec<String>], rows: &[Row], courses: &[Course]) -> String {
    let title = format!(" load, {}", escaped(result));
    let mut out = format!("{START}{title}</title><style>{STYLE}</style></head>\n<body><h1>parfs{title}</h1>\n");
    out.push_str(&table(heads, cells));
    out.push_str("<h2>Against mount targets</h2>\n");
    let lines = by_job(rows);
    let of = |value: fn(&Row) -> f64| {
        let points = |rows: &Vec<&Row>| rows.iter().map(|row| (f64::from(row.targets), value(row))).collect();
        lines.iter().map(|(job, rows)| (job.clone(), points(rows))).collect::<Vec<_>>()
    };
    out.push_str(&plot::lines("I/Os a second, all targets", ("mount targets", "IOPS"), &of(|row| row.iops)));
    out.push_str(&plot::lines("Throughput, all targets", ("mount targets", "MB/s"), &of(|row| row.mb)));
    out.push_str(&plot::lines("I/Os a second of each target", ("mount targets", "IOPS"), &of(|row| row.iops_each)));
    out.push_str("<h2>Latency over time</h2>\n");
    for course in courses {
        let name = format!("{}, {} target{}", course.job, course.targets, if course.targets == 1 { "" } else { "s" });
        out.push_str(&plot::lines(&name, ("seconds", "ms"), &over_time(&course.timeline)));
    }
    out.push_str("<h2>Latencies, cumulative</h2>\n");
    let mut jobs: Vec<(usize, &str)> = Vec::new();
    for course in courses {
        let job = (course.at, course.job.as_str());
        if !jobs.contains(&job) {
            jobs.push(job);
        }
    }
    for (at, job) in jobs {
        let of_job = courses.iter().filter(|course| (course.at, course.job.as_str()) == (at, job));
        let curves: Vec<_> =
            of_job.map(|course| (format!("on {}", course.targets), cumulative(&course.timeline.all()))).collect();
        out.push_str(&plot::lines(job, ("log10 of ms", "% of I/Os"), &curves));
    }
    out.push_str("</body></html>\n");
    out
}

/// Text as HTML.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn table(heads: &[String], cells: &[Vec<String>]) -> String {
    let line = |cells: &[String], tag: &str| {
        let cells: String = cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell))).collect();
        format!("<tr>{cells}</tr>\n")
    };
    let mut out = format!("<table>\n{}", line(heads, "th"));
    cells.iter().for_each(|cells| out.push_str(&line(cells, "td")));
    out.push_str("</table>\n");
    out
}

/// Rows of the same job and options, by targets ascending.
fn by_job(rows: &[Row]) -> Vec<(String, Vec<&Row>)> {
    let mut all: Vec<(String, Vec<&Row>)> = Vec::new();
    for row in rows {
        let name = named(&row.job, &row.marks);
        match all.iter_mut().find(|(known, rows)| *known == name && rows[0].at == row.at) {
            Some((_, rows)) => rows.push(row),
            None => all.push((name, vec![row])),
        }
    }
    all.iter_mut().for_each(|(_, rows)| rows.sort_by_key(|row| row.targets));
    all
}

/// A job with the options of its sweep.
pub fn named(job: &str, marks: &[(String, String)]) -> String {
    marks.iter().fold(job.to_owned(), |mut name, (option, value)| {
        // Writing to a String does not fail.
        let _ = write!(name, " {option}={value}");
        name
    })
}

fn over_time(timeline: &Timeline) -> Vec<(String, Vec<(f64, f64)>)> {
    let every_s = timeline.every_ms() as f64 / 1e3;
    let at = |index: usize| (index as f64 + 0.5) * every_s;
    let points = |percentage: f64| {
        let with_ios = timeline.intervals().iter().enumerate().filter(|(_, interval)| interval.ios > 0);
        with_ios.map(|(index, interval)| (at(index), interval.percentile(percentage) as f64 / 1e6)).collect()
    };
    OVER_TIME.iter().map(|&percentage| (format!("{percentage} %"), points(percentage))).collect()
}

/// Latencies as powers of ten of ms, and the percentage of I/Os that took no longer.
fn cumulative(all: &Interval) -> Vec<(f64, f64)> {
    let total = all.bins.iter().map(|(_, count)| *count).sum::<u64>() as f64;
    let mut sum = 0;
    let point = |(ns, count): &(u64, u64)| {
        sum += count;
        (((*ns).max(1) as f64 / 1e6).log10(), 100.0 * sum as f64 / total)
    };
    all.bins.iter().map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::super::rows;
    use super::super::tests::{published, target};
    use super::*;

    #[test]
    fn one_file_that_needs_nothing_else() {
        let mut timeline = Timeline::default();
        (0..200).for_each(|at| timeline.add(at * 10_000_000, 4096, 1_000_000 + at * 5000));
        let course = |at, targets| Course { at, job: "r<32k>".into(), targets, timeline: timeline.clone() };
        let rows = rows(&published(), &target());
        let cells = vec![vec!["a & b".to_owned(), "1".to_owned()]];
        let text = document(
            "run",
            &["job".into(), "n".into()],
            &cells,
            &rows,
            &[course(0, 1), course(1, 1), course(0, 2), course(1, 2)],
        );
        assert!(text.starts_with("<!DOCTYPE html>") && text.ends_with("</body></html>\n"));
        // Two jobs of one name on two targets: each over time, and a plot of latencies for each job.
        assert_eq!(text.matches("<svg ").count(), 3 + 4 + 2);
        assert_eq!(text.matches("</svg>").count(), 9);
        for part in
            ["<td>a &amp; b</td>", "r&lt;32k&gt;, 1 target<", "r&lt;32k&gt;, 2 targets<", ">99.9 %<", ": 49,536<"]
        {
            assert!(text.contains(part), "{part}");
        }
        for part in ["<script", "src=", "href=", "NaN", "inf", "r<32k>"] {
            assert!(!text.contains(part), "{part}");
        }
    }

    #[test]
    fn curves_end_at_all() {
        let all = Interval { ios: 4, bytes: 0, bins: vec![(1_000_000, 1), (10_000_000, 3)] };
        assert_eq!(cumulative(&all), [(0.0, 25.0), (1.0, 100.0)]);
        let mut timeline = Timeline::default();
        timeline.add(0, 1, 100);
        timeline.add(1_600_000_000, 1, 100);
        let points = &over_time(&timeline)[0].1;
        assert_eq!(points.len(), 1, "intervals without I/O have no latency");
    }
}
