//! What is to be run: the jobs of the command line and of job files, and what their options mean.

use std::io::Read;

use crate::load::commandline::CommandLine;
use crate::load::general::General;
use crate::load::job::Job;
use crate::load::jobfile::{self, Surroundings};
use crate::load::settings::{Settings, settle};

/// A job file at most, in bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// All jobs, as settings.
pub struct Gathered {
    /// What is not about jobs.
    pub general: General,
    /// As they were written, for `--showcmd`; jobs of files only.
    pub shown: Vec<Job>,
    /// In order.
    pub jobs: Vec<Settings>,
    /// What fio would say of them.
    pub notices: Vec<String>,
}

/// This process's surroundings.
struct Here;

impl Surroundings for Here {
    fn text(&self, path: &str) -> Result<String, String> {
        let mut bytes = Vec::new();
        let read = |source: &mut dyn Read, bytes: &mut Vec<u8>| source.take(FILE_BYTES_MAX + 1).read_to_end(bytes);
        let result = match path {
            "-" => read(&mut std::io::stdin().lock(), &mut bytes),
            path => std::fs::File::open(path).and_then(|mut file| read(&mut file, &mut bytes)),
        };
        result.map_err(|error| super::super::console::reason(&error))?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(format!("it is larger than {} MiB", FILE_BYTES_MAX >> 20));
        }
        String::from_utf8(bytes).map_err(|_| "it is not UTF-8".into())
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn facts(&self) -> [(&'static str, u64); 3] {
        let system = rustix::system::sysinfo();
        let unit = u64::from(system.mem_unit.max(1));
        let memory = (system.totalram as u64).saturating_mul(unit) >> 20;
        let processors = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
        [("$pagesize", rustix::param::page_size() as u64), ("$mb_memory", memory), ("$ncpus", processors)]
    }
}

/// Reads job files and settles all jobs. An error is what fio would say.
pub fn gather(line: CommandLine) -> Result<Gathered, String> {
    let CommandLine { general, globals, mut jobs, files } = line;
    let mut shown = Vec::new();
    let first = usize::from(!jobs.is_empty());
    for (index, path) in files.iter().enumerate() {
        // As measured of fio: globals of the command line reach the first file only.
        let above = if index == 0 { &globals[..] } else { &[] };
        let read = jobfile::read(path, index + first, above, &general, &Here).map_err(|error| error.to_string())?;
        shown.extend(read.iter().cloned());
        jobs.extend(read);
    }
    // As in fio, a file without jobs can be checked.
    if jobs.is_empty() && !(general.parse_only && !files.is_empty()) {
        return Err("No job(s) defined".into());
    }
    if let Some(most) = general.jobs_max.filter(|most| jobs.len() as u64 > u64::from(*most)) {
        return Err(format!("error: maximum number of jobs ({most}) reached."));
    }
    let (mut settled, mut notices) = (Vec::with_capacity(jobs.len()), Vec::new());
    for job in &jobs {
        let done = settle(job, &general).map_err(|error| error.to_string())?;
        notices.extend(done.notices);
        settled.push(done.settings);
    }
    if general.warnings_fatal
        && let Some(notice) = notices.first()
    {
        return Err(format!("{notice}\nfio: it is fatal (--warnings-fatal)"));
    }
    Ok(Gathered { general, shown, jobs: settled, notices })
}
