//! The table as CSV (RFC 4180, with newlines alone): a heading, then a line for each row. A figure that is not known is empty.

use super::Row;

/// How each document begins.
pub const START: &str = "job,";

/// The columns behind those of the sweep.
const COLUMNS: &str = "io_bytes,read_percent,targets,iops_each,iops,mb_per_s_each,mb_per_s,linearity_percent,priced_iops_each,\
                       iops_ceiling_percent,bandwidth_ceiling_percent,forecast_iops_each,fact_of_forecast_percent,latency_ms,\
                       bound,failed";

/// The document. All rows have the same options of a sweep.
pub fn document(rows: &[Row]) -> String {
    let marks = rows.first().map_or(&[][..], |row| &row.marks);
    let names = marks.iter().map(|(name, _)| format!("{},", quoted(name))).collect::<String>();
    let mut out = format!("{START}{names}{COLUMNS}\n");
    for row in rows {
        out.push_str(&line(row));
        out.push('\n');
    }
    out
}

fn line(row: &Row) -> String {
    let known = |n: Option<f64>, digits: usize| n.map_or(String::new(), |n| format!("{n:.digits$}"));
    let mut cells = vec![quoted(&row.job)];
    cells.extend(row.marks.iter().map(|(_, value)| quoted(value)));
    cells.extend([
        row.io_bytes.to_string(),
        format!("{:.1}", row.read_percent),
        row.targets.to_string(),
        format!("{:.1}", row.iops_each),
        format!("{:.1}", row.iops),
        format!("{:.3}", row.mb_each),
        format!("{:.3}", row.mb),
        format!("{:.2}", row.linearity),
        known(row.priced_each, 1),
        known(row.iops_percent, 2),
        format!("{:.2}", row.bandwidth_percent),
        known(row.forecast_each, 1),
        known(row.forecast_percent, 2),
        format!("{:.3}", row.latency_ms),
        row.bound.name().to_owned(),
        row.failed.to_string(),
    ]);
    cells.join(",")
}

fn quoted(text: &str) -> String {
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows;
    use super::super::tests::{published, target};
    use super::*;

    #[test]
    fn as_spreadsheets_read_it() {
        let mut all = published();
        for job in &mut all {
            job.marks = vec![("bs".into(), "32k".into())];
        }
        all[4].job = "1 MiB, \"cold\"".into();
        all[4].is_priced = false;
        let text = document(&rows(&all, &target()));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 6);
        assert!(lines[0].starts_with("job,bs,io_bytes,"));
        assert_eq!(
            lines[1],
            "r32k,32k,32768,100.0,1,25018.0,25018.0,819.790,819.790,100.00,50036.0,100.07,81.98,25000.0,100.07,1.000,IOPS,0"
        );
        assert_eq!(
            lines[5],
            "\"1 MiB, \"\"cold\"\"\",32k,1048576,0.0,1,761.0,761.0,797.966,797.966,100.00,,,79.80,,,1.000,latency x depth,0"
        );
        assert!(lines[..5].iter().all(|line| line.split(',').count() == 18), "{text}");
    }
}
