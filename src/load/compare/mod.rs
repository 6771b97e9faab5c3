//! Whether two runs differ: their JSON documents, job by job and direction by direction, by Welch's test on samples of I/Os a second.
//!
//! Promises: of a document with `x_samples` (half seconds of a whole job) those are tested; else what fio itself says of its samples
//! (iops_mean, iops_stddev, iops_samples), which of a group of jobs is not exact, and is told so.
//! Leaves out: samples that depend on each other (a server's slow waves), of which the test claims too much.

pub mod welch;

use serde_json::Value;

use self::welch::{Sample, Welch, welch};

/// Lines of text with a brace that are passed over.
const TRIES_MAX: usize = 100;

/// What chance is taken for none.
const P_MAX: f64 = 0.05;

/// A job's direction in a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name, with its step where there is one.
    pub job: String,
    /// `read`, `write`, `trim`, or `mixed` of all.
    pub direction: &'static str,
    /// I/Os a second.
    pub iops: Sample,
    /// Bytes of an I/O, the mean.
    pub io_bytes: f64,
    /// Of the job's x_samples.
    pub is_exact: bool,
}

/// One series in both documents.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // the names say it
pub struct Difference {
    pub job: String,
    pub direction: &'static str,
    pub first: Sample,
    pub second: Sample,
    /// Percent that the second is above the first, and to either side of it the margin of 95 % confidence. None with fewer than two samples,
    /// or where the first did nothing.
    pub change: Option<(f64, f64)>,
    pub test: Option<Welch>,
    /// Bytes of an I/O differ.
    pub sizes_differ: bool,
    pub is_exact: bool,
}

/// What came of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)] // the names say it
pub struct Comparison {
    pub differences: Vec<Difference>,
    /// In one document alone.
    pub alone: Vec<String>,
}

/// The series of a document that fio or parfs wrote. Banners ahead of it are passed over. An error is a reason.
pub fn series(text: &str) -> Result<Vec<Series>, String> {
    let document = last_document(text)?;
    let jobs = document["jobs"].as_array().ok_or("it has no jobs: it is not what --output-format=json writes")?;
    let mut found: Vec<Series> = Vec::new();
    let mut names: Vec<(String, &str)> = Vec::new();
    for job in jobs {
        for direction in ["read", "write", "trim", "mixed"] {
            let Some(mut one) = of_job(job, direction) else { continue };
            // Clones that are told one by one have one name.
            let name = (one.job.clone(), direction);
            let before = names.iter().filter(|known| **known == name).count();
            if before > 0 {
                one.job = format!("{}#{}", one.job, before + 1);
            }
            names.push(name);
            found.push(one);
        }
    }
    if found.is_empty() { Err("its jobs did no I/O".into()) } else { Ok(found) }
}

/// The last document of results; those before it tell of a run that went on (--status-interval). Each begins a line, blanks and a mark of the
/// byte order aside; where none does, behind a word on its line (`[host] {`).
fn last_document(text: &str) -> Result<Value, String> {
    let (mut last, mut failed, mut at, mut tries) = (None, None, 0, 0);
    let begins = |from: usize| {
        let mut line = from;
        text[from..].split_inclusive('\n').find_map(|here| {
            let ahead = here.len() - here.trim_start_matches(['\u{feff}', ' ', '\t', '\r']).len();
            let at = line + ahead;
            line += here.len();
            text[at..].starts_with('{').then_some(at)
        })
    };
    let is_by_line = begins(0).is_some();
    while let Some(start) = if is_by_line { begins(at) } else { text[at..].find('{').map(|more| at + more) } {
        let mut documents = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        match documents.next() {
            Some(Ok(document)) => {
                at = start + documents.byte_offset();
                if document["jobs"].is_array() || last.is_none() && failed.is_none() {
                    last = Some(document);
                }
            }
            // Text with a brace in it; of a document that is cut off, what is in it is none.
            Some(Err(error)) if !error.is_eof() && tries < TRIES_MAX => {
                tries += 1;
                failed.get_or_insert(error.to_string());
                at = text[start..].find('\n').map_or(text.len(), |end| start + end);
            }
            Some(Err(error)) => return Err(error.to_string()),
            None => break,
        }
    }
    last.ok_or_else(|| failed.unwrap_or_else(|| "there is no JSON document".into()))
}

fn of_job(job: &Value, direction: &'static str) -> Option<Series> {
    let done = &job[direction];
    let (ios, bytes) = (done["total_ios"].as_u64().filter(|n| *n > 0)?, done["io_bytes"].as_f64()?);
    let samples = job["x_samples"][direction]["iops"].as_array();
    let values: Option<Vec<f64>> = samples.map(|values| values.iter().filter_map(Value::as_f64).collect());
    let number = |key: &str| done[key].as_f64().unwrap_or(0.0);
    let told = || Sample {
        n: done["iops_samples"].as_u64().unwrap_or(0),
        mean: number("iops_mean"),
        variance: number("iops_stddev").powi(2),
    };
    let step = job["x_step"].as_object().into_iter().flatten();
    let step: String = step.map(|(name, value)| format!(" {name}={}", value.as_str().unwrap_or_default())).collect();
    Some(Series {
        job: format!("{}{step}", job["jobname"].as_str().unwrap_or_default()),
        direction,
        is_exact: values.is_some(),
        iops: values.map_or_else(told, |values| Sample::of(&values)),
        io_bytes: bytes / ios as f64,
    })
}

/// The second document's series against the first's.
pub fn compare(first: &[Series], second: &[Series]) -> Comparison {
    let same = |one: &Series, other: &Series| one.job == other.job && one.direction == other.direction;
    let name = |one: &Series| format!("{} {}", one.job, one.direction);
    let mut comparison = Comparison::default();
    for one in first {
        let Some(other) = second.iter().find(|other| same(one, other)) else {
            comparison.alone.push(format!("{}: only in the first", name(one)));
            continue;
        };
        let test = welch(&one.iops, &other.iops);
        let percent = |n: f64| 100.0 * n / one.iops.mean;
        comparison.differences.push(Difference {
            job: one.job.clone(),
            direction: one.direction,
            first: one.iops,
            second: other.iops,
            change: test.filter(|_| one.iops.mean > 0.0).map(|test| (percent(test.difference), percent(test.margin))),
            test,
            sizes_differ: (one.io_bytes / other.io_bytes - 1.0).abs() > 0.01,
            is_exact: one.is_exact && other.is_exact,
        });
    }
    let missing = second.iter().filter(|one| !first.iter().any(|other| same(one, other)));
    comparison.alone.extend(missing.map(|one| format!("{}: only in the second", name(one))));
    comparison
}

impl Difference {
    /// What it comes to, in words.
    pub fn verdict(&self) -> &'static str {
        match &self.test {
            None => "too few samples to say anything",
            Some(test) if test.p >= P_MAX => "no difference is shown",
            Some(test) if test.difference > 0.0 => "the second is faster",
            Some(_) => "the second is slower",
        }
    }

    /// A line for people.
    pub fn line(&self) -> String {
        let Difference { job, direction, first, second, .. } = self;
        let means = format!(
            "{job} {direction}: {:.1} and {:.1} IOPS ({} and {} samples)",
            first.mean, second.mean, first.n, second.n
        );
        let change = self.change.zip(self.test).map_or(String::new(), |((percent, margin), test)| {
            let (low, high) = (percent - margin, percent + margin);
            let p = if test.p < 1e-4 { "p < 0.0001".to_owned() } else { format!("p = {:.4}", test.p) };
            format!(", {percent:+.2} % (95 % confidence: {low:+.2} % to {high:+.2} %), {p}")
        });
        let sizes = if self.sizes_differ { "; I/Os differ in size" } else { "" };
        let rough = if self.is_exact { "" } else { "; without x_samples, by fio's own means" };
        format!("{means}{change}: {}{sizes}{rough}", self.verdict())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(samples: &str, mean: f64) -> String {
        format!(
            "fio: note\n{{\"jobs\": [{{\"jobname\": \"j\", \"read\": {{\"total_ios\": 100, \"io_bytes\": 409600, \"iops_mean\": {mean}, \
             \"iops_stddev\": 10.0, \"iops_samples\": 8}}, \"write\": {{\"total_ios\": 0, \"io_bytes\": 0}}{samples}}}]}}\n"
        )
    }

    fn exact(values: &str) -> String {
        document(
            &format!(
                ", \"x_samples\": {{\"msec\": 500, \"read\": {{\"iops\": [{values}]}}}}, \"x_step\": {{\"targets\": \"2\"}}"
            ),
            1.0,
        )
    }

    fn lines(first: &str, second: &str) -> Vec<String> {
        let comparison = compare(&series(first).unwrap(), &series(second).unwrap());
        comparison.differences.iter().map(Difference::line).chain(comparison.alone).collect()
    }

    #[test]
    fn what_two_runs_come_to() {
        let slow = exact("100, 102, 98, 101, 99, 100");
        let told = lines(&slow, &exact("110, 112, 108, 111, 109, 110"));
        let wanted = "j targets=2 read: 100.0 and 110.0 IOPS (6 and 6 samples), +10.00 % (95 % confidence: +8.18 % to +11.82 %), \
                      p < 0.0001: the second is faster";
        assert_eq!(told, [wanted]);
        assert!(lines(&slow, &exact("90, 92, 88, 91"))[0].ends_with("the second is slower"));
        assert!(lines(&slow, &slow)[0].ends_with("p = 1.0000: no difference is shown"));
        assert!(lines(&slow, &exact("90"))[0].ends_with("too few samples to say anything"));
    }

    #[test]
    fn fio_s_own_documents() {
        let told = lines(&document("", 1000.0), &document("", 1001.0));
        assert!(told[0].ends_with("no difference is shown; without x_samples, by fio's own means"), "{told:?}");
        let told = lines(&document("", 1000.0), &exact("1, 2"));
        assert_eq!(told, ["j read: only in the first", "j targets=2 read: only in the second"]);
        // Of several documents of one run the last; a banner with a brace is none.
        let several = format!("fio: {{x\n{}{}", document("", 9.0), document("", 1000.0));
        assert_eq!(series(&several).unwrap()[0].iops.mean, 1000.0);
        assert_eq!(series(&document("", 9.0).replace("read", "mixed")).unwrap()[0].direction, "mixed");
        assert_eq!(
            series(&format!("\u{feff}  {}", &document("", 7.0)["fio: note\n".len()..])).unwrap()[0].iops.mean,
            7.0
        );
        assert_eq!(series(&format!("[host] {}", &document("", 7.0)["fio: note\n".len()..])).unwrap()[0].iops.mean, 7.0);
        let two = [5.0, 9.0].map(|mean| format!("[host] {}", &document("", mean)["fio: note\n".len()..])).concat();
        assert_eq!(series(&two).unwrap()[0].iops.mean, 9.0);
        let noted = format!("{}note:\n  {{x}}\n", document("", 4.0));
        assert_eq!(series(&noted).unwrap()[0].iops.mean, 4.0);
        assert!(series(&document("", 4.0)[..60]).is_err());
        // Clones of a name with a number sign.
        let job = |mean: f64| {
            format!("{{\"jobname\": \"a#1\", \"read\": {{\"total_ios\": 1, \"io_bytes\": 1, \"iops_mean\": {mean}}}}}")
        };
        let clones = series(&format!("{{\"jobs\": [{}, {}]}}", job(1.0), job(2.0))).unwrap();
        assert_eq!(clones.iter().map(|one| one.job.as_str()).collect::<Vec<_>>(), ["a#1", "a#1#2"]);
        assert!(series("").is_err() && series("{\"a\": 1}").is_err() && series("{").is_err());
    }
}
