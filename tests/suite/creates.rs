//! Creations in one line, for tests of trees, books and faults.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::sync::{Arc, Mutex};

use parfs::base::Name;
use parfs::crew::Crew;
use parfs::jobs::Live;
use parfs::jobs::create::{Names, Operand, Options, Output, Pack, Summary, create};
use parfs::mounts::MemoryMount;
use parfs::storage::{AttrChange, How, Mount, Spread, Volume};

use crate::ask::{Ask, name};
use crate::tree::content;

/// What a creation said, and the archive.
#[derive(Debug)]
pub struct Made {
    pub archive: Vec<u8>,
    pub summary: Summary,
    pub failures: Vec<String>,
    /// Members, in order.
    pub told: Vec<String>,
}

impl Made {
    /// Panics unless all went well.
    pub fn clean(self) -> Made {
        assert!(self.failures.is_empty(), "{:?}", &self.failures[..self.failures.len().min(10)]);
        let summary = &self.summary;
        assert_eq!((&summary.stopped, &summary.archive_error, summary.changed), (&None, &None, 0));
        self
    }
}

/// Calls users and groups by their numbers.
pub struct Numbers;

impl Names for Numbers {
    fn user(&self, uid: u32) -> Vec<u8> {
        format!("u{uid}").into_bytes()
    }
    fn group(&self, gid: u32) -> Vec<u8> {
        format!("g{gid}").into_bytes()
    }
}

/// A volume of these views.
pub fn shared(views: Vec<Arc<dyn Mount>>) -> Arc<Volume> {
    Arc::new(Volume::new(views, Spread::RoundRobin))
}

/// The operand that is the volume's root, called `.`.
pub fn whole(volume: &Arc<Volume>) -> Vec<Operand> {
    vec![Operand {
        volume: volume.clone(),
        way: Vec::new(),
        name: b".".to_vec(),
        fs_root: false,
        recursive: true,
        exclude: Arc::default(),
        follow: None,
    }]
}

/// The operand of one name in the root.
pub fn named(volume: &Arc<Volume>, at: &str) -> Operand {
    let way: Vec<Name> = at.split('/').filter(|part| !part.is_empty()).map(name).collect();
    Operand {
        volume: volume.clone(),
        way,
        name: at.into(),
        fs_root: false,
        recursive: true,
        exclude: Arc::default(),
        follow: None,
    }
}

/// What was made: the summary, the failures, what was told.
pub fn run(
    operands: Vec<Operand>,
    output: Output<'_>,
    pack: Option<&dyn Pack>,
    options: &Options,
    crew: &Crew,
) -> (Summary, Vec<String>, Vec<String>) {
    let told = Mutex::new(Vec::new());
    let tell = |path: &[u8]| told.lock().unwrap().push(String::from_utf8_lossy(path).into_owned());
    let mut operands = operands.into_iter().map(Ok);
    let summary = create(&mut operands, output, pack, options, &Numbers, crew, &Live::default(), &tell);
    assert_eq!(crew.budget().held(), 0, "all permits are given back");
    let failures = crew.report().failures().iter().map(ToString::to_string).collect();
    (summary, failures, told.into_inner().unwrap())
}

/// An archive through a stream.
pub fn stream(operands: Vec<Operand>, options: &Options, crew: &Crew) -> Made {
    let mut archive = Vec::new();
    let (summary, failures, told) = run(operands, Output::Stream(&mut archive), None, options, crew);
    Made { archive, summary, failures, told }
}

/// A packed archive through a stream.
pub fn packed(operands: Vec<Operand>, pack: &dyn Pack, options: &Options, crew: &Crew) -> Made {
    let mut archive = Vec::new();
    let (summary, failures, told) = run(operands, Output::Stream(&mut archive), Some(pack), options, crew);
    Made { archive, summary, failures, told }
}

/// An archive in a file of a mount of its own, behind `before`.
pub fn file(operands: Vec<Operand>, before: &[u8], options: &Options, crew: &Crew) -> Made {
    file_on(&(Arc::new(MemoryMount::new()) as Arc<dyn Mount>), operands, before, options, crew)
}

/// An archive in a new file of this mount.
pub fn file_on(mount: &Arc<dyn Mount>, operands: Vec<Operand>, before: &[u8], options: &Options, crew: &Crew) -> Made {
    let node = mount.create(&mount.root(), "a.tar", How::Guarded, AttrChange::default()).unwrap().node;
    if !before.is_empty() {
        crate::nasty::put(&**mount, &node, 0, before);
    }
    let volume = shared(vec![mount.clone()]);
    let output = Output::File { volume: &volume, node, at: before.len() as u64 };
    let (summary, failures, told) = run(operands, output, None, options, crew);
    Made { archive: content(&**mount, "a.tar"), summary, failures, told }
}
