//! The table as JSON: one object for each row, with the names and units of the CSV. What is not known has no key.

use super::super::output::json::{Json, object, texts};
use super::Row;

/// All rows.
pub fn rows(rows: &[Row]) -> Json {
    Json::Array(rows.iter().map(row).collect())
}

fn row(row: &Row) -> Json {
    let float = |name: &'static str, n: f64| Some((name, Json::Float(n)));
    let known = |name: &'static str, n: Option<f64>| n.map(|n| (name, Json::Float(n)));
    let members = [
        Some(("job", Json::Text(row.job.clone()))),
        (!row.marks.is_empty()).then(|| ("options", texts(&row.marks))),
        Some(("io_bytes", Json::Int(row.io_bytes))),
        float("read_percent", row.read_percent),
        Some(("targets", Json::Int(u64::from(row.targets)))),
        float("iops_each", row.iops_each),
        float("iops", row.iops),
        float("mb_per_s_each", row.mb_each),
        float("mb_per_s", row.mb),
        float("linearity_percent", row.linearity),
        known("priced_iops_each", row.priced_each),
        known("iops_ceiling_percent", row.iops_percent),
        float("bandwidth_ceiling_percent", row.bandwidth_percent),
        known("forecast_iops_each", row.forecast_each),
        known("fact_of_forecast_percent", row.forecast_percent),
        float("latency_ms", row.latency_ms),
        Some(("bound", Json::Text(row.bound.name().to_owned()))),
        Some(("failed", Json::Int(u64::from(row.failed)))),
    ];
    object(members.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{published, target};

    #[test]
    fn every_figure_that_is_known() {
        let text = super::rows(&super::super::rows(&published(), &target())).document();
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        let (one, two) = (&read[0], &read[1]);
        assert_eq!((one["targets"].as_u64(), one["iops_each"].as_f64()), (Some(1), Some(25_018.0)));
        assert_eq!((one["bound"].as_str(), one["forecast_iops_each"].as_f64()), (Some("IOPS"), Some(25_000.0)));
        assert!(two.get("forecast_iops_each").is_none() && two["linearity_percent"].as_f64() < Some(100.0));
        assert_eq!(read.as_array().unwrap().len(), 5);
    }
}
