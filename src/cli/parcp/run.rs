//! One run of parcp: opens both sides of each leg, copies, tells, and reports.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit};
use serde::Serialize;

use crate::base::name::Shown;
use crate::base::price::Ceiling;
use crate::base::{Name, PriceList, Proc};
use crate::cli::bound::Flow;
use crate::cli::console::Console;
use crate::cli::lists::Paths;
use crate::cli::meter::Role;
use crate::cli::open::{Opener, Rehearsal};
use crate::cli::session::{Ended, Session};
use crate::cli::{Exit, Fatal};
use crate::crew::Crew;
use crate::jobs::Live;
use crate::jobs::copy::{Compare, Deed, Deletes, Options, Series, Side, Spared, Sparse, Summary, Taken, Verify, What};
use crate::storage::{Attr, Mount, Shape, Throttle, Volume};

use super::high::High;
use super::legs::{Base, Leg, Place, Refused, legs};
use super::summary::{self, About};
use super::taken::{self, Earlier};

/// Sources named in the report at most.
const SOURCES_MAX: usize = 1000;

/// What was copied; see the fields of the same names of the job's summary.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Copied {
    pub objects: u64,
    pub files: u64,
    pub bytes: u64,
    pub dirs: u64,
    pub symlinks: u64,
    pub hard_links: u64,
    pub specials: u64,
    pub attributes: u64,
    pub unchanged: u64,
    pub left_out: u64,
    pub kept: u64,
    pub deleted: u64,
    pub delete_held_back: u64,
    pub differences: u64,
    pub verified_bytes: u64,
    pub read_again: u64,
    pub vanished: u64,
    pub passes: u64,
}

impl Copied {
    fn add(&mut self, done: &Summary) {
        self.objects += done.objects;
        self.files += done.files;
        self.bytes += done.bytes;
        self.dirs += done.dirs;
        self.symlinks += done.symlinks;
        self.hard_links += done.hard_links;
        self.specials += done.specials;
        self.attributes += done.attributes;
        self.unchanged += done.unchanged;
        self.left_out += done.left_out;
        self.kept += done.kept;
        self.deleted += done.deleted;
        self.delete_held_back += done.delete_held_back;
        self.differences += done.differences;
        self.verified_bytes += done.verified_bytes;
        self.read_again += done.read_again;
        self.vanished += done.vanished;
        self.passes = self.passes.max(done.passes);
    }
}

/// What the report says beside what every run's does.
#[derive(Clone, Debug, Serialize)]
struct Job {
    sources: Vec<String>,
    destination: String,
    dry_run: bool,
    copied: Copied,
}

/// Runs `high`; the report is written however it ends.
pub fn run(high: &High, console: &Arc<Console>) -> Exit {
    let mut session = Session::new("parcp", "files", console, &high.manner);
    let mut job = Job {
        sources: high.sources.iter().take(SOURCES_MAX).map(ToString::to_string).collect(),
        destination: high.destination.to_string(),
        dry_run: high.dry_run,
        copied: Copied::default(),
    };
    let exit = copy_all(high, &mut session, &mut job).unwrap_or_else(|fatal| {
        console.flush();
        console.message(&fatal.text);
        session.report.fatal = Some(fatal.text);
        fatal.exit
    });
    session.conclude(&job, exit, Exit::Partly)
}

/// Opens the volumes of both sides.
struct Sides {
    opener: Opener,
    limits: Vec<Arc<Throttle>>,
}

impl Sides {
    fn new(high: &High, session: &Session<'_>) -> Sides {
        let compares = high.options.verify == Verify::Only;
        // A comparison is forecast for trees that are equal, and reads nothing for that.
        let reads = high.options.compare == Compare::Bytes && !compares;
        let planned = high.manner.planned.as_ref();
        let rehearses = high.dry_run || planned.is_some();
        let rehearsal = if reads { Rehearsal::Reading } else { Rehearsal::Unread };
        let opener = session.opener();
        if let Some(planned) = planned.filter(|_| high.options.sparse == Sparse::Always && !compares) {
            planned.note("--sparse=always is forecast as if nothing were zeros, for what is read is not known");
        }
        if let (Some(planned), Some(rate)) = (planned, high.bwlimit) {
            planned.writes_below(rate as f64);
        }
        let limit = high.bwlimit.map(|rate| {
            let ceiling = Ceiling { iops: f64::INFINITY, bytes_per_s: rate as f64, latency: Duration::ZERO };
            Arc::new(Throttle::new(ceiling, PriceList::oci(), session.stop.flag()).only(Proc::Write))
        });
        let changes_nothing = rehearses || compares;
        Sides {
            opener: opener.rehearse(rehearses.then_some(rehearsal)).planned(planned).changing(!changes_nothing),
            limits: limit.into_iter().collect(),
        }
    }

    /// Finds the mounts of all sides before the first is opened.
    fn spread(&mut self, legs: &[Leg]) -> Result<(), String> {
        let targets = legs.iter().filter_map(|leg| Some((leg.target.base.dir()?, Some(Role::Destination))));
        let sources = legs.iter().filter_map(|leg| Some((leg.source.base.dir()?, Some(Role::Source))));
        self.opener.spread(targets.chain(sources))
    }

    fn open(&mut self, place: &Place, role: Role) -> Result<Volume, String> {
        let limits: &[Arc<Throttle>] = if role == Role::Destination { &self.limits } else { &[] };
        match &place.base {
            Base::Dir(path) => self.opener.local(path, Some(role), limits),
            Base::Nfs(mounts) => Ok(self.opener.attached(mounts.clone(), Some(role), limits)),
        }
    }
}

/// Lanes for both sides: exports wait for each other's answers, a local side does not add to that.
fn shape(session: &Session<'_>, sides: [&Volume; 2]) -> Shape {
    let roles = [Role::Source, Role::Destination];
    let is_nfs = roles.map(|role| session.meters.list().iter().any(|m| m.role == Some(role) && m.is_nfs));
    let shapes = sides.map(|volume| volume.limits().shape);
    let lanes = match is_nfs {
        [true, true] => shapes[0].lanes + shapes[1].lanes,
        _ => shapes[0].lanes.max(shapes[1].lanes),
    };
    Shape { lanes, window: shapes[0].window.max(shapes[1].window) }
}

/// One run's copies, whatever legs they are in.
struct Copier<'a> {
    high: &'a High,
    options: Options,
    crew: &'a Crew,
    live: &'a Live,
    deletes: Deletes<'a>,
    console: &'a Console,
    total: Copied,
    warnings: Vec<String>,
    stopped: Option<String>,
    gone: Vec<String>,
    /// Copies from this host, and from each server, by its text in URLs: file ids are of one of them.
    series: Vec<(Vec<u8>, Series<'a>)>,
    /// Sources may meet one path, and what is at it.
    several: bool,
}

/// An error ends the run before anything is copied.
fn copy_all(high: &High, session: &mut Session<'_>, job: &mut Job) -> Result<Exit, Fatal> {
    let console = session.console.clone();
    let paths = high.list.as_ref().map(|list| Paths::open(&list.file, list.null)).transpose()?;
    let mut sides = Sides::new(high, session);
    let (writes, usage) = (sides.opener.is_changing(), sides.opener.usage(Role::Destination));
    let exports = sides.opener.exports();
    let spreader = RefCell::new(sides.opener.spreader());
    let is_one = |source: &_, target: &_| spreader.borrow_mut().is_one(source, target, writes);
    let (legs, refused) = legs(high, (exports, usage), &is_one)?;
    sides.spread(&legs).map_err(Fatal::usage)?;
    let mut open = |leg: &Leg| -> Result<_, Fatal> {
        Ok((sides.open(&leg.source, Role::Source)?, sides.open(&leg.target, Role::Destination)?))
    };
    let first = legs.first().map(&mut open).transpose()?;
    let shape = first.as_ref().map_or(Shape::SERIAL, |(source, target)| shape(session, [source, target]));
    session.tell_mounts(sides.opener.spreader());
    let (crew, caught) = session.crew(shape)?;
    let volumes = beside(high, (&legs, &refused), &mut sides)?;
    let others = high.options.delete.is_none() && legs.len() + refused.len() > 1;
    // Nobody knows what is in a source that is refused: nothing is deleted. rsync deletes all the same where it is not there.
    let held = AtomicBool::new(!refused.is_empty());
    refused.into_iter().for_each(|refused| crew.report().add(refused.failure));
    session.tell_setup("copying", &crew);
    let live = Arc::new(Live::default());
    let left = high.options.deletable();
    let spared = volumes.iter().map(spared).collect::<Result<Vec<_>, _>>()?.concat();
    let mut copier = Copier {
        high,
        options: Options { from_list: high.list.is_some(), ..high.options.clone() },
        deletes: Deletes { left: &left, spared: &spared, others, held: &held },
        crew: &crew,
        live: &live,
        console: &console,
        total: Copied::default(),
        warnings: high.warnings.clone(),
        stopped: None,
        gone: Vec::new(),
        series: Vec::new(),
        several: taken::may_meet(&legs),
    };
    if let Some((source, target)) = &first {
        copier.note_xattrs(source, target);
    }
    let start = Instant::now();
    session.with_progress(&live, &crew, || copier.copy_legs(legs, first, &mut sides, paths));
    let elapsed = start.elapsed();
    let Copier { total, warnings, stopped, gone, .. } = copier;
    let flow = Flow {
        source_wait: 0.0,
        storage_wait: 0.0,
        shape: crew.shape(),
        held: high.manner.held,
        bwlimit: high.bwlimit.map(|rate| rate as f64),
    };
    let gone_advice = "; run parcp again to be sure";
    session.fill(&crew, flow, Ended { elapsed, gone, gone_advice, warnings, stopped, fatal: None });
    let mut clean = session.tell_failures(&crew);
    let held_back = held_back(high, &total);
    clean &= held_back.is_none();
    let told: Vec<String> = held_back.into_iter().chain(vanished(&total)).collect();
    told.iter().for_each(|told| console.message(told));
    session.report.warnings.extend(told);
    let planned = high.manner.planned.as_ref();
    clean &= total.differences == 0 || planned.is_some();
    job.copied = total;
    let about = About { would: high.dry_run || planned.is_some(), compares: high.options.verify == Verify::Only };
    let line = summary::lines(&job.copied, elapsed.as_secs_f64(), about);
    if let Some(planned) = planned {
        planned.would(line);
    } else if high.dry_run {
        session.tell_price(line);
    } else if high.stats || high.manner.verbose > 0 {
        session.tell_summary(line);
    }
    Ok(match caught.signal() {
        Some(signal) => Exit::Signal(signal),
        None if clean => Exit::Success,
        None => Exit::Partly,
    })
}

fn side<'v>(volume: &'v Volume, place: &Place) -> Side<'v> {
    let Place { way, fs_root, shown, .. } = place.clone();
    Side { volume, way, fs_root, shown }
}

/// A source: its volume, its place there, and what of it is copied if not all is.
type Beside = (Volume, Place, Option<Vec<Vec<u8>>>);

/// The sources that others might delete, where names do not tell: a server has several, exports lie in each other, and directories of this host
/// are mounted elsewhere. Where one cannot be looked at nothing is copied: it would not be spared.
fn beside(high: &High, (legs, refused): (&[Leg], &[Refused]), sides: &mut Sides) -> Result<Vec<Beside>, Fatal> {
    let copied = legs.iter().map(|leg| (&leg.source, leg.names.as_ref()));
    let all = || copied.clone().chain(refused.iter().filter_map(|refused| Some((refused.place.as_ref()?, None))));
    let sources: usize = all().map(|(_, names)| names.map_or(1, Vec::len)).sum();
    if high.options.delete.is_none() || sources < 2 {
        return Ok(Vec::new());
    }
    // Each of this host stays open; a quarter of what is allowed leaves room for the copies.
    let room = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX) / 4;
    let n = all().filter(|(source, _)| source.base.dir().is_some()).count();
    if n as u64 > room {
        return Err(Fatal::usage(format!(
            "--delete with sources in {n} directories is one descriptor for each; copy those of {room} at once, or raise ulimit -n"
        )));
    }
    all().map(|(source, names)| Ok((sides.open(source, Role::Source)?, source.clone(), names.cloned()))).collect()
}

/// The directories that stay for a source.
fn spared((volume, source, names): &Beside) -> Result<Vec<Spared<'_>>, Fatal> {
    let from = side(volume, source);
    let find = |way: &[Name]| Spared::find(&from, way).map_err(|failure| Fatal::usage(failure.to_string()));
    let Some(names) = names else { return Ok(find(&[])?.into_iter().collect()) };
    let way = |path: &Vec<u8>| {
        let parts = path.split(|&b| b == b'/').filter(|part| !part.is_empty());
        parts.map(Name::new).collect::<Result<Vec<_>, _>>()
    };
    let mut found: Vec<Spared<'_>> = Vec::new();
    // What is no name is not there.
    for way in names.iter().filter_map(|path| way(path).ok()) {
        // Of files in one directory that is asked once.
        found.extend(find(&way)?.filter(|next| found.last().is_none_or(|last| !last.is_like(next))));
    }
    Ok(found)
}

/// What is said where something was to be deleted and was not.
fn held_back(high: &High, total: &Copied) -> Option<String> {
    let most = high.options.delete.and_then(|delete| delete.max);
    let why = if most.is_some_and(|most| total.deleted >= most) {
        "--max-delete allows no more"
    } else {
        "because not all of the source could be read; --ignore-errors deletes all the same"
    };
    let n = total.delete_held_back;
    match n {
        0 => None,
        1 => Some(format!("1 object was not deleted from the destination: {why}")),
        _ => Some(format!("{n} objects were not deleted from the destination: {why}")),
    }
}

/// What is said where names of the source were there no more: nobody knows whether they were removed or renamed.
fn vanished(total: &Copied) -> Option<String> {
    let (names, it_was) = match total.vanished {
        0 => return None,
        1 => ("1 name".into(), "it was"),
        n => (format!("{n} names"), "they were"),
    };
    Some(format!(
        "{names} of the source vanished before {it_was} read; what was renamed meanwhile may be missing from the copy: run parcp again"
    ))
}

impl Copier<'_> {
    /// Says what was asked for by name and cannot be carried.
    fn note_xattrs(&mut self, source: &Volume, target: &Volume) {
        let asked = self.high.asked;
        let what = match (asked.xattrs, asked.acls) {
            (true, true) => "extended attributes and ACLs",
            (true, false) => "extended attributes",
            (false, true) => "ACLs",
            (false, false) => return,
        };
        let has = |volume: &Volume| volume.limits().extras.xattrs;
        let who = match (has(source), has(target)) {
            (true, true) => return,
            (false, true) => "the source",
            (true, false) => "the destination",
            (false, false) => "neither side",
        };
        let verb = if who == "neither side" { "can carry them" } else { "cannot carry them" };
        self.warnings.push(format!(
            "{what} are not copied: {who} {verb} (NFSv3 has no procedure for them, and what some servers have beside it, NFSACL, is not used)"
        ));
    }

    /// All legs go below one directory, which the first has open.
    fn copy_legs(
        &mut self,
        legs: Vec<Leg>,
        first: Option<(Volume, Volume)>,
        sides: &mut Sides,
        mut paths: Option<Paths>,
    ) {
        let Some((first, target)) = first else { return };
        let mut first = Some(first);
        let mut earlier: Vec<Earlier> = Vec::new();
        for leg in legs {
            if self.crew.stop().is_set() {
                let left = || "interrupted before the last sources were begun; the same command goes on".to_string();
                self.stopped.get_or_insert_with(left);
                return;
            }
            let opened = first.take().map_or_else(|| sides.open(&leg.source, Role::Source), Ok);
            match opened {
                Ok(source) => {
                    self.copy_leg(&leg, (&source, &target), paths.take(), &earlier);
                    if self.several {
                        earlier.push(Earlier::new(&leg, source));
                    }
                }
                Err(why) => {
                    self.deletes.held.store(true, Ordering::Relaxed);
                    self.crew.report().add(crate::base::Failure::refused(&leg.source.shown, why));
                }
            }
        }
    }

    fn copy_leg(&mut self, leg: &Leg, (source, target): (&Volume, &Volume), paths: Option<Paths>, earlier: &[Earlier]) {
        let server = leg.source.server();
        let at = self.series.iter().position(|(of, _)| of == server).unwrap_or_else(|| {
            let with = (self.crew, self.live);
            self.series.push((server.to_vec(), Series::new(&self.options, with, self.deletes, self.several)));
            self.series.len() - 1
        });
        let clears = self.options.delete.is_some() && leg.names.is_none() && leg.target.way.is_empty();
        let (from, to) = (side(source, &leg.source), side(target, &leg.target));
        let tell = |deed: Deed, path: &[u8]| self.tell(deed, path, &from, &to);
        let manner = &self.high.manner;
        let lists = manner.planned.is_none() && (manner.verbose > 0 || self.high.dry_run);
        let listens = lists || (self.options.verify == Verify::Only && manner.planned.is_none());
        let mut names;
        let mut listed;
        let what = match (&leg.names, paths) {
            (Some(these), _) => {
                names = these.iter().cloned().map(Ok);
                What::Names(&mut names)
            }
            (None, Some(paths)) => {
                listed = paths;
                What::Names(&mut listed)
            }
            (None, None) => What::Tree,
        };
        let timed = self.options.preserve.times;
        let by = |path: &[u8], is: &Attr| taken::by(earlier, &leg.target.way, (path, is), timed);
        let taken = (!earlier.is_empty()).then_some(&by as Taken<'_>);
        let done = self.series[at].1.copy(&from, &to, what, (listens.then_some(&tell), taken));
        for gone in source.gone().into_iter().chain(target.gone()) {
            if !self.gone.contains(&gone) {
                self.gone.push(gone);
            }
        }
        if clears {
            // What was copied before may be deleted, and is nothing to link to.
            self.series.clear();
        }
        self.total.add(&done);
        self.warnings.extend(done.warnings);
        self.stopped = self.stopped.take().or(done.stopped);
    }

    fn tell(&self, deed: Deed, path: &[u8], from: &Side<'_>, to: &Side<'_>) {
        if let Deed::Differs(what) = deed {
            let path = if path.is_empty() { b".".as_slice() } else { path };
            return self.console.print(format_args!("{}: {what}", Shown(path)));
        }
        let (from, to) = (below(&from.shown, path), below(&to.shown, path));
        let (from, to) = (Shown(&from), Shown(&to));
        match deed {
            Deed::Made | Deed::Updated | Deed::Linked => self.console.print(format_args!("'{from}' -> '{to}'")),
            Deed::Attributes => self.console.print(format_args!("attributes of '{from}' -> '{to}'")),
            Deed::Removed if self.high.dry_run => self.console.print(format_args!("would remove '{to}'")),
            Deed::Removed => self.console.print(format_args!("removed '{to}'")),
            Deed::Differs(_) => {}
        }
    }
}

/// `path` below a root as it was typed.
pub(super) fn below(root: &[u8], path: &[u8]) -> Vec<u8> {
    let slash: &[u8] = if path.is_empty() || root.ends_with(b"/") { b"" } else { b"/" };
    [root, slash, path].concat()
}
