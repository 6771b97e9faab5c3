//! Where jobs' files are, and which engine a clone gets: the kernel's, or one of its own over an export.

use std::collections::HashMap;
use std::sync::Arc;

use crate::cli::console::Console;
use crate::cli::exports;
use crate::cli::meter::Meters;
use crate::cli::open::Opener;
use crate::crew::Stop;
use crate::load::engine::metadata::Operation;
use crate::load::engine::nfs::{Export, Modes, NfsEngine, NfsMetadata, NfsPlace};
use crate::load::engine::{self, Engine, Place, WithEngine, with_engine};
use crate::load::results::JobResult;
use crate::load::run::{Work, failed, run};
use crate::load::settings::Settings;
use crate::mounts::nfs::{Url, Usage};

/// The places of all jobs.
pub struct Places {
    /// The choices of a job's clones; one of the kernel's is -1.
    jobs: Vec<Vec<Entry>>,
    exports: Vec<NfsPlace>,
    /// The counters of the exports' targets.
    pub meters: Meters,
}

#[derive(Clone)]
enum Entry {
    Kernel(&'static dyn Place),
    /// Which of the exports.
    Nfs(usize, Arc<Export>),
}

/// x_nconnect=, uid= and gid= of a job: jobs with the same share a mount.
type Identity = (Option<u32>, Option<u32>, Option<u32>);

impl Places {
    /// Mounts what jobs name by URL, each URL once; until `stop`, a target that is silent is waited for. An error is for stderr.
    pub fn open(jobs: &[Settings], console: &Console, stop: &Stop) -> Result<Places, String> {
        let mut places = Places { jobs: Vec::new(), exports: Vec::new(), meters: Meters::default() };
        let mut known: HashMap<(String, Identity), (usize, Arc<Export>)> = HashMap::new();
        for job in jobs {
            let mut entries = Vec::new();
            for text in &job.engine.nfs_urls {
                let of_job = (job.engine.nconnect, job.host.uid, job.host.gid);
                let key = (text.clone(), of_job);
                let (index, export) = match known.get(&key) {
                    Some(found) => found.clone(),
                    None => {
                        let opened = places.attach(text, of_job, (console, stop))?;
                        known.insert(key, opened.clone());
                        opened
                    }
                };
                entries.push(Entry::Nfs(index, export));
            }
            if entries.is_empty() {
                entries.push(Entry::Kernel(engine::place(&job.engine)));
            }
            places.jobs.push(entries);
        }
        Ok(places)
    }

    fn attach(
        &mut self,
        text: &str,
        (nconnect, uid, gid): Identity,
        (console, stop): (&Console, &Stop),
    ) -> Result<(usize, Arc<Export>), String> {
        let mut url = Url::parse(text).map_err(|error| format!("fio: nfs_url={text}: {error}"))?;
        if let Some(connections) = nconnect {
            url.nconnect = connections as usize;
        }
        (url.uid, url.gid) = (uid.or(url.uid), gid.or(url.gid));
        let mounts = exports::attach(Some(console), &url, Usage::Measures);
        let mounts = mounts.map_err(|error| format!("fio: nfs_url={text}: Cannot mount: {error}"))?;
        mounts.iter().for_each(|mount| mount.heed(stop.flag()));
        let volume = Opener::new(self.meters.clone()).attached(mounts, None, &[]);
        let export = Arc::new(Export::new(Arc::new(volume), Modes::under(super::super::host::umask())));
        self.exports.push(NfsPlace::new(export.clone()));
        Ok((self.exports.len() - 1, export))
    }

    fn entry(&self, job: usize, clone: u32) -> &Entry {
        let entries = &self.jobs[job];
        &entries[clone as usize % entries.len()]
    }

    /// Where a clone's files are, and a number that tells places apart.
    pub fn place(&self, job: usize, clone: u32) -> (&dyn Place, usize) {
        match self.entry(job, clone) {
            Entry::Kernel(place) => (*place, 0),
            Entry::Nfs(index, _) => (&self.exports[*index], index + 1),
        }
    }

    /// Runs a clone with its engine.
    pub fn run(&self, job: usize, clone: u32, work: &Work<'_>, go: &dyn Fn()) -> JobResult {
        let choice = &work.settings.engine;
        let result = match self.entry(job, clone) {
            Entry::Kernel(_) => with_engine(choice, work.files.len() as u32, Driven { work, go }),
            Entry::Nfs(_, export) => {
                let (export, depth) = (export.clone(), choice.in_flight);
                let started = |error: std::io::Error| format!("ioengine={}: threads: {error}", choice.name);
                match Operation::named(choice.name) {
                    Some(what) => NfsMetadata::new(export, what, depth).map(|e| run(e, work, go)).map_err(started),
                    None => {
                        let fetch = work.settings.verify.is_some();
                        NfsEngine::new(export, depth, fetch).map(|e| run(e, work, go)).map_err(started)
                    }
                }
            }
        };
        result.unwrap_or_else(|text| {
            work.host.tell(&format!("fio: {text}"));
            failed(work, rustix::io::Errno::NOSYS, &text)
        })
    }
}

struct Driven<'a> {
    work: &'a Work<'a>,
    go: &'a dyn Fn(),
}

impl WithEngine<JobResult> for Driven<'_> {
    fn run<E: Engine>(self, engine: E) -> JobResult {
        run(engine, self.work, self.go)
    }
}
