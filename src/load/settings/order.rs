//! In which order clones start, and which group of the report they are in.
//!
//! Promises: fio's order (clone 0, then the others from the last to the first), which is also that of log files and reports.
//! Leaves out: starting and waiting.

use super::Settings;

/// A clone that is to be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Started {
    /// Which of the jobs.
    pub job: usize,
    /// Which of its clones, from 0.
    pub clone: u32,
    /// Its number in the run, from 1: log files have it, and seeds.
    pub number: u32,
    /// Its group, from 0.
    pub group: u32,
    /// It starts when all ahead of it have ended.
    pub waits_for_all: bool,
    /// It starts when all clones of this job have ended.
    pub waits_for: Option<usize>,
}

/// Clones of a run at most, as in fio. `--max-jobs` below it limits nothing in fio either (3.33 runs 40 with `--max-jobs=16`).
pub const JOBS_MAX: u32 = 4096;

/// All clones of `jobs`, which stand in the order in which they were read. Errors are fio's.
pub fn order(jobs: &[Settings]) -> Result<Vec<Started>, String> {
    let mut order: Vec<Started> = Vec::new();
    let mut group = 0;
    for (at, job) in jobs.iter().enumerate() {
        let waits_for = waited_for(jobs, at)?;
        // A further input begins as if it had a stonewall.
        let stonewall = job.order.stonewall || at > 0 && jobs[at - 1].input != job.input;
        if at > 0 && (stonewall || job.order.new_group) {
            group += 1;
        }
        differs_from_group(jobs, at, &order, group)?;
        let room = u64::from(JOBS_MAX).saturating_sub(order.len() as u64);
        if u64::from(job.clones) > room {
            return Err("error: maximum number of jobs reached.".into());
        }
        for clone in std::iter::once(0).chain((1..job.clones).rev()) {
            let number = order.len() as u32 + 1;
            order.push(Started { job: at, clone, number, group, waits_for_all: stonewall && clone == 0, waits_for });
        }
    }
    Ok(order)
}

/// The job that wait_for= of the job `at` names: one of those ahead of it.
fn waited_for(jobs: &[Settings], at: usize) -> Result<Option<usize>, String> {
    let Some(name) = &jobs[at].order.wait_for else { return Ok(None) };
    let section = &jobs[at].section;
    if name == section {
        return Err(format!("{section}: a job cannot wait for itself (wait_for={name})."));
    }
    let mut named = (0..at).filter(|before| jobs[*before].name == *name);
    match (named.next(), named.next()) {
        (None, _) => Err(format!("{section}: waitee job {name} unknown.")),
        (found, None) => Ok(found),
        _ => Err(format!(
            "{section}: multiple waitees {name} found,\nplease avoid duplicates when using wait_for option."
        )),
    }
}

/// Percentiles of a group are of one kind, and it becomes steady as a whole.
fn differs_from_group(jobs: &[Settings], at: usize, order: &[Started], group: u32) -> Result<(), String> {
    let job = &jobs[at];
    if !job.order.group_reporting || !job.measures.told {
        return Ok(());
    }
    let percentiles = job.measures.lat_percentiles;
    let others = order.iter().filter(|started| started.group == group).map(|started| &jobs[started.job]);
    if others.clone().any(|other| other.order.group_reporting && other.steady != job.steady) {
        return Err("fio: job rejected: steadystate options must be consistent within reporting groups".into());
    }
    if others.into_iter().any(|other| other.measures.lat_percentiles != percentiles) {
        return Err(format!("fio: lat_percentiles in job: {} differs from group", job.section));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::settle::tests::settled;
    use super::*;

    fn jobs(lines: &[&str]) -> Vec<Settings> {
        lines.iter().map(|line| settled(line).unwrap().settings).collect()
    }

    #[test]
    fn clones_start_with_the_last_after_the_first() {
        let order = order(&jobs(&["--name=a --numjobs=4", "--name=b"])).unwrap();
        let clones: Vec<(usize, u32, u32)> = order.iter().map(|clone| (clone.job, clone.clone, clone.number)).collect();
        assert_eq!(clones, [(0, 0, 1), (0, 3, 2), (0, 2, 3), (0, 1, 4), (1, 0, 5)]);
    }

    #[test]
    fn groups_begin_where_a_job_precedes() {
        let lines = ["--name=a --stonewall", "--name=b --numjobs=2 --stonewall", "--name=c --new_group", "--name=d"];
        let mut jobs = jobs(&lines);
        let shape = |jobs: &[Settings]| -> Vec<(u32, bool)> {
            order(jobs).unwrap().iter().map(|clone| (clone.group, clone.waits_for_all)).collect()
        };
        assert_eq!(shape(&jobs), [(0, true), (1, true), (1, false), (2, false), (2, false)]);
        jobs[3].input = 1;
        assert_eq!(shape(&jobs)[4], (3, true), "another input");
    }

    #[test]
    fn waiting_for_a_job() {
        let wait = |lines: &[&str]| order(&jobs(lines)).map(|order| order.last().unwrap().waits_for);
        assert_eq!(wait(&["--name=a", "--name=b", "--name=c --wait_for=b"]), Ok(Some(1)));
        assert_eq!(wait(&["--name=a --wait_for=zz"]), Err("a: waitee job zz unknown.".into()));
        assert_eq!(
            wait(&["--name=a --wait_for=b", "--name=b"]),
            Err("a: waitee job b unknown.".into()),
            "it is not ahead"
        );
        assert_eq!(wait(&["--name=a --wait_for=a"]), Err("a: a job cannot wait for itself (wait_for=a).".into()));
        assert!(
            wait(&["--name=a", "--name=a", "--name=b --wait_for=a"]).unwrap_err().contains("multiple waitees a found")
        );
    }

    #[test]
    fn limits() {
        let many = ["--name=a --numjobs=4096", "--name=b"];
        assert_eq!(order(&jobs(&many)), Err("error: maximum number of jobs reached.".into()));
        assert!(order(&jobs(&many[..1])).is_ok());
        assert!(order(&jobs(&["--name=a --numjobs=4000000000"])).is_err());
        let lines = ["--name=a", "--name=b --group_reporting --lat_percentiles=1"];
        assert_eq!(order(&jobs(&lines)), Err("fio: lat_percentiles in job: b differs from group".into()));
    }
}
