//! The counters of a run as Prometheus reads them: text format 0.0.4, whose names follow its rules (base units, `_total`).

use std::fmt::{Display, Write as _};
use std::sync::atomic::Ordering;

use crate::base::price::Ceiling;
use crate::cli::meter::{ProcedureReport, Role, TargetReport};

use super::Watched;

/// A document while it is written.
#[derive(Default)]
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.0 += &format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0 += name;
        for (i, (label, text)) in labels.iter().enumerate() {
            self.0.push(if i == 0 { '{' } else { ',' });
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            self.0 += &format!("{label}=\"{text}\"");
        }
        let end = if labels.is_empty() { "" } else { "}" };
        writeln!(self.0, "{end} {value}").expect("a String takes all");
    }

    fn single(&mut self, name: &str, kind: &str, help: &str, labels: &[(&str, &str)], value: impl Display) {
        self.family(name, kind, help);
        self.sample(name, labels, value);
    }
}

/// A counter of procedures: its name, what it says, and its figure.
type Family = (&'static str, &'static str, fn(&ProcedureReport) -> u64);

const PROCEDURES: [Family; 3] = [
    ("parfs_calls_total", "NFSv3 procedures asked of a target.", |row| row.calls),
    ("parfs_calls_failed_total", "Of those, the failed ones.", |row| row.failed),
    ("parfs_call_bytes_total", "Bytes of data that they carried.", |row| row.bytes),
];

/// All there is to say now.
pub fn text(watched: &Watched<'_>) -> String {
    let program = watched.program;
    let own = [("program", program)];
    let mut text = Text::default();
    let version = [("program", program), ("version", env!("CARGO_PKG_VERSION"))];
    text.single("parfs_build_info", "gauge", "1, with the version.", &version, 1);
    let seconds = watched.started.elapsed();
    text.single("parfs_run_seconds", "gauge", "Seconds since the run began.", &own, seconds.as_secs_f64());
    let shape = watched.crew.shape();
    text.single("parfs_lanes", "gauge", "Threads.", &own, shape.lanes);
    text.single("parfs_window", "gauge", "Calls that each thread keeps in flight.", &own, shape.window);
    let (objects, bytes) = (watched.live.objects.load(Ordering::Relaxed), watched.live.bytes.load(Ordering::Relaxed));
    let noun = [("program", program), ("noun", watched.noun)];
    text.single("parfs_objects_total", "counter", "Objects dealt with; the noun says which.", &noun, objects);
    text.single("parfs_bytes_total", "counter", "Bytes of file data dealt with.", &own, bytes);
    let failures = watched.crew.report().count();
    text.single("parfs_failures_total", "counter", "Objects that failed.", &own, failures);
    let reports: Vec<TargetReport> =
        watched.meters.list().iter().map(|meter| meter.report(seconds, Ceiling::oci())).collect();
    targets(&mut text, program, &reports);
    text.0
}

fn targets(text: &mut Text, program: &str, reports: &[TargetReport]) {
    let role = |report: &TargetReport| report.role.map_or("", Role::name);
    let all = || {
        reports.iter().flat_map(|report| {
            report.procedures.iter().map(move |row| {
                let labels = [
                    ("program", program),
                    ("target", &*report.target),
                    ("role", role(report)),
                    ("procedure", row.procedure),
                ];
                (labels, row)
            })
        })
    };
    text.family("parfs_priced_iops_total", "counter", "IOPS that was asked of a target, by OCI's price list.");
    for report in reports {
        let labels = [("program", program), ("target", &*report.target), ("role", role(report))];
        text.sample("parfs_priced_iops_total", &labels, report.iops_total);
    }
    for (name, help, figure) in PROCEDURES {
        text.family(name, "counter", help);
        all().for_each(|(labels, row)| text.sample(name, &labels, figure(row)));
    }
    let name = "parfs_call_latency_seconds";
    text.family(name, "gauge", "Time that the quantile of a procedure's calls did not exceed, since the run began.");
    for (labels, row) in all() {
        for (quantile, us) in [("0.5", row.p50_us), ("0.99", row.p99_us)] {
            if let Some(us) = us {
                text.sample(name, &[&labels[..], &[("quantile", quantile)]].concat(), us as f64 / 1e6);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Proc;
    use crate::cli::meter::tests::meter;
    use std::time::Duration;

    #[test]
    fn a_target_has_its_procedures() {
        let mut text = Text::default();
        let mut report = meter(3, Proc::Create, 0).report(Duration::from_secs(1), Ceiling::oci());
        report.target = "a\"b\\c".into();
        report.role = Some(Role::Source);
        targets(&mut text, "parcp", &[report]);
        let labels = "program=\"parcp\",target=\"a\\\"b\\\\c\",role=\"source\"";
        for line in [
            format!("parfs_priced_iops_total{{{labels}}} 12"),
            format!("parfs_calls_total{{{labels},procedure=\"CREATE\"}} 3"),
            format!("parfs_calls_failed_total{{{labels},procedure=\"CREATE\"}} 0"),
            "# TYPE parfs_call_latency_seconds gauge".to_string(),
        ] {
            assert!(text.0.lines().any(|l| l == line), "{line}\n{}", text.0);
        }
        assert!(text.0.contains(",quantile=\"0.99\"} 0.00"), "{}", text.0);
    }
}
