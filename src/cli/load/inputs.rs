//! What is to be run: the jobs of the command line and of job files, and what their options mean.

use std::io::Read;
use std::path::Path;

use crate::load::Direction;
use crate::load::commandline::CommandLine;
use crate::load::general::General;
use crate::load::job::{Job, base};
use crate::load::jobfile::{self, Surroundings};
use crate::load::options::Given;
use crate::load::settings::{Settings, settle};

use super::here;

/// A job file at most, in bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Options of a sweep with their texts.
pub type Marks = Vec<(String, String)>;

/// All jobs, as settings.
pub struct Gathered {
    /// What is not about jobs.
    pub general: General,
    /// As they were written, for `--showcmd`; jobs of files only.
    pub shown: Vec<Job>,
    /// In order; of a sweep those of its first combination.
    pub jobs: Vec<Settings>,
    /// The combinations of a sweep, and the jobs of each; one without any options where nothing is swept.
    pub combinations: Vec<(Marks, Vec<Settings>)>,
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
        let is_comment = |line: &[u8]| matches!(line.trim_ascii_start().first(), Some(b'#' | b';'));
        let is_text = |line: &[u8]| is_comment(line) || str::from_utf8(line).is_ok();
        match bytes.split(|byte| *byte == b'\n').position(|line| !is_text(line)) {
            // Comments may be in any encoding.
            None => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Some(line) => Err(format!("line {} is not UTF-8", line + 1)),
        }
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
    for (index, path) in files.iter().enumerate() {
        // As measured of fio: globals of the command line reach the first file only.
        let above = if index == 0 { &globals[..] } else { &[] };
        let read = jobfile::read(path, index, above, &general, &Here).map_err(|error| error.to_string())?;
        shown.extend(read.iter().cloned());
        jobs.extend(read);
    }
    // As in fio, a file without jobs can be checked and shown.
    if jobs.is_empty() && (files.is_empty() || !(general.parse_only || general.show_command)) {
        return Err("No job(s) defined".into());
    }
    if let Some(most) = general.jobs_max.filter(|most| jobs.len() as u64 > u64::from(*most)) {
        return Err(format!("error: maximum number of jobs ({most}) reached."));
    }
    general.beyond.check()?;
    let (mut combinations, mut notices) = (Vec::new(), Vec::new());
    for marks in general.beyond.combinations() {
        let settled = settled(&jobs, &marks, &general, &mut notices)?;
        here::check_logs(&settled)?;
        combinations.push((marks, settled));
    }
    changes(&combinations)?;
    let jobs = combinations.first().map(|(_, jobs)| jobs.clone()).unwrap_or_default();
    if general.warnings_fatal
        && let Some(notice) = notices.first()
    {
        return Err(format!("{notice}\nfio: it is fatal (--warnings-fatal)"));
    }
    Ok(Gathered { general, shown, jobs, combinations, notices })
}

/// Is an option of a sweep not the same as one before it?
fn once(given: &Given, swept: &mut Vec<&'static str>) -> Result<(), String> {
    let name = given.spec.name;
    if swept.contains(&name) {
        return Err(format!("fio: --sweep: {name} is there twice, by two names of it"));
    }
    swept.push(name);
    Ok(())
}

/// Does a sweep of bs= change what any job does? bsrange= and bssplit= go before it.
fn changes(combinations: &[(Marks, Vec<Settings>)]) -> Result<(), String> {
    let is_swept = combinations
        .iter()
        .any(|(marks, _)| marks.iter().any(|(name, _)| ["bs", "blocksize"].contains(&name.as_str())));
    let sizes = |jobs: &[Settings]| {
        let of = |job: &Settings| Direction::ALL.map(|direction| format!("{:?}", job.load.plans[direction].sizes));
        jobs.iter().map(of).collect::<Vec<_>>()
    };
    let mut all = combinations.iter().map(|(_, jobs)| sizes(jobs));
    let first = all.next();
    if is_swept && combinations.len() > 1 && all.all(|sizes| Some(sizes) == first) {
        return Err("fio: --sweep of bs changes nothing: bssplit= or bsrange= says the sizes".into());
    }
    Ok(())
}

/// The jobs with the options of a sweep in place of their own. Each notice is kept once.
fn settled(jobs: &[Job], marks: &Marks, general: &General, notices: &mut Vec<String>) -> Result<Vec<Settings>, String> {
    let mut all = Vec::with_capacity(jobs.len());
    for job in jobs {
        let (mut job, mut swept) = (job.clone(), Vec::new());
        for (name, text) in marks {
            let given = Given::new(name, Some(text), base(job.all())).map_err(|error| format!("{error} (--sweep)"))?;
            once(&given, &mut swept)?;
            job.options.retain(|own| own.spec.name != given.spec.name);
            job.options.push(given);
        }
        let mut job = if marks.is_empty() { job } else { job.check().map_err(|error| error.to_string())? };
        here::read_patterns(&mut job)?;
        let done = settle(&job, general).map_err(|error| error.to_string())?;
        let mixes = |(name, _): &(String, String)| name.starts_with("rwmix");
        if marks.iter().any(mixes) && !(done.settings.load.reads() && done.settings.load.writes()) {
            let (section, rw) = (&done.settings.section, done.settings.load.rw);
            return Err(format!("fio: {section}: --sweep of rwmix wants rw=rw or rw=randrw, not rw={rw}"));
        }
        let mut settings = done.settings;
        if !general.parse_only && !general.show_command {
            here::look_up(&mut settings, general, Path::new("/sys"))?;
        }
        let beyond = &general.beyond;
        // Plots are of latencies over time.
        settings.measures.samples |= beyond.samples || beyond.html.is_some();
        settings.per_target |= beyond.per_target;
        for notice in done.notices {
            // Of one run without a sweep every job's notices are told, as in fio.
            if marks.is_empty() || !notices.contains(&notice) {
                notices.push(notice);
            }
        }
        all.push(settings);
    }
    Ok(all)
}
