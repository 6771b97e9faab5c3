//! A diagnosis as text: grouped by what was looked at, what is worst first.

use crate::base::name::Printable;
use crate::base::units::grouped;
use crate::cli::table::Table;

use super::finding::{Diagnosis, Finding, Procedure, Subject};
use super::words::{counted, percent};

/// Columns of a line of prose. Commands are never broken.
const WIDTH: usize = 110;

/// Where a finding's text begins.
const INDENT: &str = "           ";

/// `text` in lines of at most `width` characters, broken at blanks.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

fn push(lines: &mut Vec<String>, first: &str, rest: &str, text: &str) {
    for (at, line) in wrapped(text, WIDTH - rest.len()).into_iter().enumerate() {
        lines.push(format!("{}{line}", if at == 0 { first } else { rest }));
    }
}

fn procedures(rows: &[Procedure]) -> Vec<String> {
    let all = rows.iter().fold(0u64, |sum, row| sum.saturating_add(row.iops));
    let mut table =
        Table::new(&["Procedure", "calls", "of IOPS", "sent again", "failed", "queue ms", "RTT ms", "exe ms"]);
    for row in rows {
        let ms = |ms: f64| format!("{ms:.2}");
        table.row(vec![
            row.procedure.to_string(),
            grouped(row.calls),
            format!("{:.1} %", percent(row.iops, all)),
            grouped(row.retransmitted),
            grouped(row.failed),
            ms(row.queue_ms),
            ms(row.rtt_ms),
            ms(row.execute_ms),
        ]);
    }
    table.lines()
}

fn finding(lines: &mut Vec<String>, finding: &Finding, before: Option<&Finding>) {
    let severity = finding.severity.to_string();
    let first = format!("  {severity:<9}");
    push(lines, &first, INDENT, &format!("{}: {}", finding.check, finding.found));
    push(lines, INDENT, INDENT, &finding.reason);
    push(lines, INDENT, INDENT, &format!("Do: {}", finding.advice));
    if finding.fix.is_empty() {
        return;
    }
    if before.is_some_and(|before| before.fix == finding.fix) {
        lines.push(format!("{INDENT}  (commands as above)"));
        return;
    }
    lines.extend(finding.fix.iter().map(|command| format!("{INDENT}  {command}")));
}

fn subject(lines: &mut Vec<String>, subject: &Subject) {
    lines.push(subject.title.clone());
    let facts: Vec<&str> =
        subject.facts.iter().map(|fact| fact.shown.as_str()).filter(|shown| !shown.is_empty()).collect();
    push(lines, "  ", "  ", &facts.join(", "));
    if !subject.procedures.is_empty() {
        lines.extend(procedures(&subject.procedures).into_iter().map(|line| format!("    {line}")));
    }
    for (at, found) in subject.findings.iter().enumerate() {
        finding(lines, found, at.checked_sub(1).map(|before| &subject.findings[before]));
    }
    if subject.findings.is_empty() {
        lines.push(if facts.is_empty() { "  nothing could be read" } else { "  nothing wrong" }.into());
    }
    lines.push(String::new());
}

/// All of it.
pub fn lines(diagnosis: &Diagnosis) -> Vec<String> {
    let mut lines = Vec::new();
    diagnosis.subjects.iter().for_each(|of| subject(&mut lines, of));
    if !diagnosis.not_read.is_empty() {
        lines.push("Not read, so not judged:".into());
        for missed in &diagnosis.not_read {
            push(&mut lines, "  ", "    ", &format!("{}: {} ({})", missed.what, missed.reason, missed.lost));
        }
        lines.push(String::new());
    }
    let count = |n: usize, one, many| counted(n as u64, one, many);
    lines.push(format!(
        "{}, {}, {}.",
        count(diagnosis.faults, "fault", "faults"),
        count(diagnosis.warnings, "warning", "warnings"),
        count(diagnosis.notes, "note", "notes")
    ));
    // What files and mounts are called may be anything; a terminal is shown text.
    lines.iter().map(|line| Printable(line.as_bytes()).to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_broken_at_blanks() {
        assert_eq!(wrapped("one two  three\nfour", 9), ["one two", "three", "four"]);
        assert_eq!(wrapped("a-word-that-is-longer x", 5), ["a-word-that-is-longer", "x"]);
        assert!(wrapped(" ", 5).is_empty());
    }
}
