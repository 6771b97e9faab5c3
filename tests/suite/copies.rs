//! Copies in one line, between any mounts, for tests of trees, books and faults.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::sync::{Arc, Mutex};
use std::time::Duration;

use parfs::base::price::Ceiling;
use parfs::crew::Crew;
use parfs::jobs::Live;
use parfs::jobs::copy::{Delete, Options, Side, Summary, What, copy};
use parfs::mounts::LocalMount;
use parfs::mounts::nfs::{Url, Usage, attach};
use parfs::sim::{Config, Server};
use parfs::storage::{Ledger, Mount, Shape, Spread, Tally, Tap, Tapped, Volume};

/// What a copy said.
#[derive(Debug)]
pub struct Ran {
    pub summary: Summary,
    pub failures: Vec<String>,
    /// Deed and path, sorted.
    pub deeds: Vec<String>,
}

impl Ran {
    /// Panics unless all went well.
    pub fn clean(self) -> Ran {
        assert!(self.failures.is_empty(), "{:?}", &self.failures[..self.failures.len().min(10)]);
        // What carries no extended attributes or ACLs, as NFS, says so; these trees have some.
        let told = |text: &&String| ["extended attributes", "some ACLs"].iter().any(|what| text.contains(what));
        let odd = self.summary.warnings.iter().find(|text| !told(text));
        assert_eq!((&self.summary.stopped, odd), (&None, None));
        self
    }
}

/// A crew of this shape that may hold 64 MiB.
pub fn crew(lanes: usize, window: usize) -> Crew {
    Crew::new(Shape { lanes, window }, 64 << 20).unwrap()
}

/// A volume of views of one file system.
pub fn volume(views: Vec<Arc<dyn Mount>>) -> Volume {
    Volume::new(views, Spread::RoundRobin)
}

/// A sync: what the source lacks goes.
pub fn sync() -> Options {
    Options { delete: Some(Delete::default()), range_bytes: 1 << 20, ..Options::default() }
}

/// Makes the root of `target` what the root of `source` is.
pub fn run(source: &Volume, target: &Volume, options: &Options, crew: &Crew) -> Ran {
    let side = |volume, shown: &str| Side { volume, way: Vec::new(), fs_root: false, shown: shown.into() };
    let deeds = Mutex::new(Vec::new());
    let tell = |deed, path: &[u8]| deeds.lock().unwrap().push(format!("{deed:?} {}", String::from_utf8_lossy(path)));
    let live = Live::default();
    let summary = copy(&side(source, "from"), &side(target, "to"), What::Tree, options, crew, &live, Some(&tell));
    let failures = crew.report().failures().iter().map(ToString::to_string).collect();
    let mut deeds = deeds.into_inner().unwrap();
    deeds.sort();
    assert_eq!(crew.budget().held(), 0, "all permits are given back");
    Ran { summary, failures, deeds }
}

/// The mount, and what is asked of it.
pub fn counted(mount: Arc<dyn Mount>) -> (Arc<dyn Mount>, Arc<Ledger>) {
    let ledger = Arc::new(Ledger::default());
    let tap: Arc<dyn Tap> = ledger.clone();
    (Arc::new(Tapped::new(mount, vec![tap])), ledger)
}

/// Copies between single mounts; what was asked of the source and of the target.
pub fn asked(
    source: &Arc<dyn Mount>,
    target: &Arc<dyn Mount>,
    options: &Options,
    shape: (usize, usize),
) -> (Tally, Tally, Ran) {
    let ((from, read), (to, written)) = (counted(source.clone()), counted(target.clone()));
    let ran = run(&volume(vec![from]), &volume(vec![to]), options, &crew(shape.0, shape.1));
    (read.tally(), written.tally(), ran)
}

/// A directory of its own as a mount.
pub fn local() -> (tempfile::TempDir, Arc<dyn Mount>) {
    let dir = tempfile::tempdir().unwrap();
    let mount = Arc::new(LocalMount::open(dir.path()).unwrap());
    (dir, mount)
}

/// Serves a mount from so many targets, as fast as they can; the views of a client.
pub fn direct(served: Arc<dyn Mount>, targets: usize) -> (Server, Vec<Arc<dyn Mount>>) {
    let ceiling = Ceiling { iops: f64::INFINITY, bytes_per_s: f64::INFINITY, latency: Duration::ZERO };
    let server = Server::start(served, Config { targets, ceiling, squash: true, ..Config::default() }).unwrap();
    let views =
        attach(&Url::parse(&server.url()).unwrap(), Usage::Writes).unwrap().into_iter().map(|m| m as Arc<dyn Mount>);
    (server, views.collect())
}

/// Panics unless the tallies are the same; names the procedures that differ.
pub fn assert_asked(want: Tally, is: Tally, context: &str) {
    let wrong: Vec<String> = parfs::base::Proc::ALL
        .into_iter()
        .filter(|proc| want.get(*proc) != is.get(*proc))
        .map(|proc| format!("{proc}: {:?}, not {:?}", is.get(proc), want.get(proc)))
        .collect();
    assert!(wrong.is_empty(), "{context}\n{}", wrong.join("\n"));
}
