//! A run: what is said before, files set up, clones run, the report, the exit status.

use std::collections::{BTreeSet, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Gid, Uid};
use rustix::thread::{set_thread_res_gid, set_thread_res_uid};

use crate::cli::Exit;
use crate::cli::console::{Console, reason};
use crate::crew::Stop;
use crate::load::engine::There;
use crate::load::pace::start_delay;
use crate::load::random::{Seeds, Stream};
use crate::load::results::{Idleness, JobResult};
use crate::load::run::prepare::{Asked, Found, NotReady, prepare};
use crate::load::run::{
    Clock, Entry, Host, IdleProf, Live, LogFiles, Schedule, SteadyWatch, Work, failed, only_create, said, unstarted,
};
use crate::load::settings::{HostChoice, Settings, Started, file_names, order};
use crate::load::{general, job};

use super::aggregate::Aggregate;
use super::disks::Disks;
use super::eta::StatusLine;
use super::inputs::Gathered;
use super::out::Out;
use super::places::Places;
use super::report::{self, Line};
use super::steps;

/// Signals end a run; fio's status is 128 whatever the signal.
pub(super) const SIGNALLED: Exit = Exit::Code(128);

/// How often jobs are looked at while nothing is shown.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// How long a job that waits for an I/O is waited for when results are wanted.
const ANSWER_WAIT: Duration = Duration::from_millis(200);

/// Checks, shows or runs what was gathered.
pub fn run(console: &Arc<Console>, gathered: Gathered) -> Exit {
    let general = &gathered.general;
    let out = match Out::open(general) {
        Ok(out) => out,
        Err(text) => return super::refused(console, &text),
    };
    if general.show_command {
        let files = gathered.shown.chunk_by(|a, b| a.input == b.input);
        files.for_each(|jobs| out.write(&format!("fio {}\n", job::command_line(jobs))));
        return ended(console, &out, Exit::Success);
    }
    if general.parse_only {
        return ended(console, &out, Exit::Success);
    }
    let starts = match order(&gathered.jobs) {
        Ok(starts) => starts,
        Err(text) => return super::refused(console, &text),
    };
    general.traces.names().for_each(|name| aside(console, &out, &format!("fio: set debug option {name}")));
    if general.beyond.has_steps() {
        return steps::run(console, &gathered, &out);
    }
    for (index, job) in gathered.jobs.iter().enumerate() {
        let group = starts.iter().find(|start| start.job == index).map_or(0, |start| start.group);
        out.banner(job.banner(group).trim_end());
    }
    gathered.notices.iter().for_each(|notice| out.notice(notice));
    match Run::new(console, &gathered, &starts, &out, &Stop::default()) {
        Ok(run) => run.all(),
        Err(text) => super::refused(console, &text),
    }
}

/// A line of --debug: in the human report as in fio, else where it tears no document.
fn aside(console: &Console, out: &Out, line: &str) {
    if out.is_normal { out.banner(line) } else { console.line(line) }
}

/// What could not be written is an error, whatever came of the jobs.
pub(super) fn ended(console: &Console, out: &Out, exit: Exit) -> Exit {
    match out.failure() {
        Some(reason) => super::refused(console, &format!("fio: results could not be written: {reason}")),
        None => exit,
    }
}

/// Jobs that are run once.
pub(super) struct Run<'a> {
    console: &'a Arc<Console>,
    gathered: &'a Gathered,
    starts: &'a [Started],
    out: &'a Out,
    places: Places,
    stop: Stop,
    clock: Clock,
    /// Log files that a job has begun.
    logs: Mutex<HashSet<String>>,
    /// The disks below the jobs' files, since the jobs began.
    disks: OnceLock<Disks>,
    /// How idle processors were, when the jobs have ended.
    idleness: OnceLock<Idleness>,
}

impl Host for Run<'_> {
    fn tell(&self, line: &str) {
        self.console.line(line);
    }

    fn trace(&self, line: &str) {
        aside(self.console, self.out, line);
    }

    fn is_signalled(&self) -> bool {
        self.stop.is_set()
    }

    fn save(&self, name: &str, bytes: &[u8]) -> Result<(), String> {
        std::fs::write(name, bytes).map_err(|error| reason(&error))
    }

    fn state_path(&self, name: &str) -> String {
        self.gathered.general.aux_path.as_ref().map_or(name.to_owned(), |dir| format!("{dir}/{name}"))
    }

    fn read(&self, name: &str) -> Result<Box<dyn BufRead>, String> {
        File::open(name)
            .map(|file| Box::new(BufReader::new(file)) as Box<dyn BufRead>)
            .map_err(|error| format!("fio: {name}: {}", reason(&error)))
    }

    fn shell(&self, command: &str, output: &str) -> Result<(), String> {
        let ran = File::create(output).and_then(|out| {
            let errors = out.try_clone()?;
            Command::new("sh").args(["-c", command]).stdin(Stdio::null()).stdout(out).stderr(errors).status()
        });
        match ran {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("{status}; what it said is in {output}")),
            Err(error) => Err(reason(&error)),
        }
    }
}

impl LogFiles for Run<'_> {
    fn log(&self, name: &str) -> Result<Box<dyn Write + Send>, String> {
        let mut used = self.logs.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let is_first = used.insert(name.to_owned());
        // Whoever shares the file appends whole lines to it.
        let file = if is_first { File::create(name).map(drop) } else { Ok(()) };
        let opened = file.and_then(|()| File::options().append(true).open(name));
        opened
            .map(|file| Box::new(file) as Box<dyn Write + Send>)
            .map_err(|error| format!("{name}: {}", reason(&error)))
    }
}

/// What came of a run.
pub(super) struct Finished<'a> {
    /// A line for each clone, in order.
    pub clones: Vec<Line<'a>>,
    /// Clones that ended with an error.
    pub failed: usize,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        console: &'a Arc<Console>,
        gathered: &'a Gathered,
        starts: &'a [Started],
        out: &'a Out,
        stop: &Stop,
    ) -> Result<Run<'a>, String> {
        let places = Places::open(&gathered.jobs, console, stop)?;
        Ok(Run {
            console,
            gathered,
            starts,
            out,
            places,
            stop: stop.clone(),
            clock: Clock::start(),
            logs: Mutex::default(),
            disks: OnceLock::new(),
            idleness: OnceLock::new(),
        })
    }

    fn settings(&self, start: &Started) -> &'a Settings {
        &self.gathered.jobs[start.job]
    }

    fn all(self) -> Exit {
        let console = self.console.clone();
        let caught = crate::cli::signals::watch(self.stop.clone(), move |signal| {
            console.line(format_args!("\nfio: terminating on signal {signal}"));
        });
        let caught = match caught {
            Ok(caught) => caught,
            Err(error) => return super::refused(self.console, &format!("fio: signals: {error}")),
        };
        if let Err(text) = self.check_directories() {
            return super::refused(self.console, &text);
        }
        self.out.banner(&super::version());
        self.tell_starting();
        let exit = match (self.told(), caught.signal()) {
            (_, Some(_)) => SIGNALLED,
            (Ok(exit), None) => exit,
            (Err(text), None) => super::refused(self.console, &text),
        };
        ended(self.console, self.out, exit)
    }

    /// `Starting 3 threads and 1 process`.
    fn tell_starting(&self) {
        let threads = self.starts.iter().filter(|start| self.settings(start).threads).count();
        let processes = self.starts.len() - threads;
        let of = |n: usize, one: &str, more: &str| format!("{n} {}", if n == 1 { one } else { more });
        let parts = [(threads, of(threads, "thread", "threads")), (processes, of(processes, "process", "processes"))];
        let said: Vec<String> = parts.into_iter().filter(|(n, _)| *n > 0).map(|(_, text)| text).collect();
        self.out.banner(&format!("Starting {}", said.join(" and ")));
    }

    fn seeds(&self, index: usize) -> Seeds {
        let load = &self.settings(&self.starts[index]).load;
        let entropy = crate::base::hash::mix(self.clock.start_ms ^ u64::from(std::process::id()) << 32);
        Seeds::new(load.seed, load.repeat, entropy, u64::from(self.starts[index].number))
    }

    fn told(&self) -> Result<Exit, String> {
        let mut partial = Partial::new(self)?;
        let idle_prof = self.gathered.general.idle_prof;
        let idle = idle_prof.map(|_| IdleProf::calibrate()).transpose()?;
        let Finished { clones, failed } = self.carry_out(&mut partial, idle.as_ref());
        if let Some(idle) = idle {
            self.idleness.get_or_init(|| idle.finish(idle_prof == Some(general::IdleProf::PerCpu)));
        }
        self.tell_all(clones);
        partial.aggregate.map_or(Ok(()), Aggregate::close)?;
        Ok(exit_of(failed))
    }

    /// Sets files up and runs all clones. What clones found so far goes to `sofar` now and then; `profile` begins when the files are there.
    pub(super) fn carry_out(&self, sofar: &mut dyn SoFar, profile: Option<&IdleProf>) -> Finished<'a> {
        let asked: Vec<Asked<'_>> =
            self.starts.iter().enumerate().map(|(index, start)| self.asked(index, start)).collect();
        let stop = self.stop.flag();
        let found = prepare(&asked, self.gathered.general.readonly, &stop, &mut |line| self.out.banner(&line));
        if !self.stop.is_set() {
            let reasons: BTreeSet<&str> = found.iter().filter_map(|found| Some(&*found.as_ref().err()?.text)).collect();
            reasons.into_iter().for_each(|reason| self.tell(reason));
        }
        let of_disks =
            asked.iter().zip(&found).filter_map(|(asked, found)| Some((asked.settings, found.as_ref().ok()?)));
        self.disks.get_or_init(|| Disks::below(of_disks.map(|(settings, found)| (settings, &found.files[..]))));
        let entries: Vec<Entry> =
            self.starts.iter().enumerate().map(|(index, start)| self.entry(index, start)).collect();
        let lives: Vec<Live> = self.starts.iter().map(|_| Live::default()).collect();
        let schedule = Schedule { entries: &entries, lives: &lives, clock: self.clock, stop: &stop };
        let clone = |index: usize, go: &dyn Fn()| self.clone(index, &found[index], &lives[index], go);
        let of_clones = self.starts.iter().map(|start| self.settings(start)).collect();
        let groups: Vec<(&Settings, u32)> =
            self.starts.iter().map(|start| (self.settings(start), start.group)).collect();
        let mut steady = SteadyWatch::new(&groups, &lives);
        let mut line = StatusLine::new(&self.gathered.general, of_clones, self.clock);
        profile.iter().for_each(|profile| profile.begin());
        let is_told = std::cell::Cell::new(false);
        let lost = |index: usize, error: &std::io::Error| {
            let errno = error.raw_os_error().map_or(Errno::AGAIN, Errno::from_raw_os_error);
            let text = format!("pthread_create: {}", said(errno));
            if !is_told.replace(true) {
                self.tell(&format!("fio: {text}"));
            }
            failed(&self.work(index, &found[index], &lives[index]), errno, &text)
        };
        let results = schedule.run(&clone, &lost, &mut || {
            let next = line.as_mut().map_or(LOOK_EVERY, |line| line.refresh(&lives));
            next.min(sofar.tell(&lives)).min(steady.look(self.clock.now(), &lives)).min(LOOK_EVERY)
        });
        line.iter().for_each(StatusLine::end);
        let failed = lives.iter().filter(|live| live.failed.load(Ordering::Relaxed)).count();
        let lines = self.starts.iter().zip(results).enumerate().map(|(index, (start, result))| {
            let (live, began) = (&lives[index], result.is_some());
            let result = result.unwrap_or_else(|| unstarted(&self.work(index, &found[index], live)));
            let result = JobResult { steady: live.steady(), ..result };
            if live.failed.load(Ordering::Relaxed) {
                report::ended(&result).iter().for_each(|line| self.out.banner(line));
            }
            Line { settings: self.settings(start), clone: start.clone, result, began }
        });
        Finished { clones: lines.collect(), failed }
    }

    fn asked(&self, index: usize, start: &Started) -> Asked<'_> {
        let settings = self.settings(start);
        let (place, place_index) = self.places.place(start.job, start.clone);
        // As in fio, a job whose name is a device's works on it.
        let named = |there| matches!(there, Ok(There::Device(_) | There::Stream));
        let is_device = named(place.look(Path::new(&settings.section)));
        let paths: Vec<PathBuf> = file_names(settings, start.clone, is_device);
        Asked { settings, clone: start.clone, place, place_index, paths, seeds: self.seeds(index) }
    }

    /// As fio: a directory that is named must be there.
    pub(super) fn check_directories(&self) -> Result<(), String> {
        for start in self.starts {
            let (place, _) = self.places.place(start.job, start.clone);
            for dir in &self.settings(start).files.directories {
                if self.settings(start).engine.name != "null" && !matches!(place.look(Path::new(dir)), Ok(There::Dir)) {
                    return Err(format!("fio: {dir} is not a directory\nfio: failed parsing directory={dir}"));
                }
            }
        }
        Ok(())
    }

    fn entry(&self, index: usize, start: &Started) -> Entry {
        let settings = self.settings(start);
        let order = &settings.order;
        let (low, high) = settings.delay;
        Entry {
            job: start.job,
            group: start.group,
            stonewall: start.waits_for_all,
            wait_for: start.waits_for,
            delay: start_delay(low, high, &mut self.seeds(index).random(Stream::Delay, 0)),
            exitall: order.exitall.then_some(order.exit_what),
            exitall_on_error: order.exitall_on_error.then_some(order.exit_what),
        }
    }

    fn clone(&self, index: usize, found: &Result<Found, NotReady>, live: &Live, go: &dyn Fn()) -> JobResult {
        let start = &self.starts[index];
        let work = self.work(index, found, live);
        if let Err(reason) = found {
            return failed(&work, Errno::from_raw_os_error(reason.errno), "func=setup_files");
        }
        live.expected.store(work.total_bytes, Ordering::Relaxed);
        if work.settings.files.create_only {
            return only_create(&work);
        }
        // Over NFS the calls have the identity.
        if work.settings.engine.nfs_urls.is_empty()
            && let Err((call, errno)) = adopt_user(&work.settings.host)
        {
            let text = format!("{call}: {}", said(errno));
            self.tell(&format!("fio: {text}"));
            return failed(&work, errno, &text);
        }
        self.places.run(start.job, start.clone, &work, go)
    }

    fn work<'w>(&'w self, index: usize, found: &Result<Found, NotReady>, live: &'w Live) -> Work<'w> {
        let start = &self.starts[index];
        Work {
            settings: self.settings(start),
            traces: self.gathered.general.traces,
            group: start.group,
            clone: start.clone,
            number: start.number,
            place: self.places.place(start.job, start.clone).0,
            files: found.as_ref().map_or(Vec::new(), |found| found.files.clone()),
            there: found.as_ref().map_or(Vec::new(), |found| found.there.clone()),
            total_bytes: found.as_ref().map_or(0, |found| found.total_bytes),
            seeds: self.seeds(index),
            live,
            clock: self.clock,
            host: self,
        }
    }

    fn tell_all(&self, lines: Vec<Line<'_>>) {
        let lines = report::merged(lines);
        let globals = self.gathered.jobs.first().map_or(&[][..], |job| &job.globals);
        let disks = self.disks.get().map_or(Vec::new(), Disks::since);
        let (general, idleness, notices) = (&self.gathered.general, self.idleness.get(), self.out.notices());
        self.out.write(&report::text(general, &lines, globals, &disks, idleness, &notices));
    }
}

/// uid= and gid= of the calling thread, which is the clone's alone; threads that its engine starts have them too.
fn adopt_user(host: &HostChoice) -> Result<(), (&'static str, Errno)> {
    if let Some(gid) = host.gid.map(Gid::from_raw) {
        set_thread_res_gid(gid, gid, gid).map_err(|errno| ("setgid", errno))?;
    }
    if let Some(uid) = host.uid.map(Uid::from_raw) {
        set_thread_res_uid(uid, uid, uid).map_err(|errno| ("setuid", errno))?;
    }
    Ok(())
}

/// The exit status of a run of which so many clones failed.
pub(super) fn exit_of(failed: usize) -> Exit {
    Exit::Code(u8::try_from(failed).unwrap_or(u8::MAX))
}

/// Who is told what clones found so far.
pub(super) trait SoFar {
    /// Tells what is due; when it wants to be called again.
    fn tell(&mut self, lives: &[Live]) -> Duration;
}

/// Nobody is.
pub(super) struct Untold;

impl SoFar for Untold {
    fn tell(&mut self, _lives: &[Live]) -> Duration {
        LOOK_EVERY
    }
}

/// Whole results while jobs run, every `--status-interval` and on SIGUSR1; and `--bandwidth-log`.
struct Partial<'a> {
    run: &'a Run<'a>,
    every_ns: Option<u64>,
    next_ns: u64,
    asked: Arc<AtomicBool>,
    aggregate: Option<Aggregate>,
}

impl<'a> Partial<'a> {
    fn new(run: &'a Run<'a>) -> Result<Partial<'a>, String> {
        let asked = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(signal_hook::consts::SIGUSR1, asked.clone())
            .map_err(|error| format!("fio: SIGUSR1: {error}"))?;
        let every = run.gathered.general.status_interval;
        let every_ns = every.map(|every| u64::try_from(every.as_nanos()).unwrap_or(u64::MAX));
        let aggregate = run.gathered.general.bandwidth_log.as_deref().map(Aggregate::open).transpose()?;
        let next_ns = run.clock.now().saturating_add(every_ns.unwrap_or(u64::MAX));
        Ok(Partial { run, every_ns, next_ns, asked, aggregate })
    }
}

impl SoFar for Partial<'_> {
    fn tell(&mut self, lives: &[Live]) -> Duration {
        let now = self.run.clock.now();
        let is_asked = self.asked.swap(false, Ordering::Relaxed);
        let is_due = self.every_ns.is_some() && now >= self.next_ns;
        if is_asked || is_due {
            let lines = self.run.starts.iter().zip(lives).filter_map(|(start, live)| {
                let result = JobResult { steady: live.steady(), ..live.look(ANSWER_WAIT)? };
                Some(Line { settings: self.run.settings(start), clone: start.clone, result, began: true })
            });
            self.run.tell_all(lines.collect());
        }
        while let Some(every) = self.every_ns
            && self.next_ns <= now
        {
            self.next_ns = self.next_ns.saturating_add(every.max(1));
        }
        let next = Duration::from_nanos(self.next_ns.saturating_sub(now));
        self.aggregate.as_mut().map_or(next, |aggregate| aggregate.look(now, lives).min(next))
    }
}
