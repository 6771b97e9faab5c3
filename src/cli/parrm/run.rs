//! One run of parrm: asks where it is to ask, opens the directories of its operands, removes, tells, and reports.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::base::name::{SNAPSHOT, Shown};
use crate::base::units::grouped;
use crate::base::{Failure, Status};
use crate::cli::bound::Flow;
use crate::cli::console::{Console, reason};
use crate::cli::lists::Paths;
use crate::cli::location::{Location, is_fs_root};
use crate::cli::open::{Opener, Rehearsal};
use crate::cli::session::{Ended, Session};
use crate::cli::spread::Spread;
use crate::cli::{Exit, Fatal};
use crate::crew::Crew;
use crate::jobs::Live;
use crate::jobs::remove::{Operand, Options, Summary, Tell, remove};
use crate::mounts::local::peers::mountinfo::Table;
use crate::storage::{Mount, Shape, Volume};

use super::exclude;
use super::high::{High, List};
use super::operands::{self, Parent, Points, Rule};
use super::plan::{self, Group};

/// Operands named in the report at most.
const OPERANDS_MAX: usize = 1000;

/// What was removed.
#[derive(Clone, Debug, Default, Serialize)]
#[allow(missing_docs)]
pub struct Removed {
    pub files: u64,
    pub dirs: u64,
    pub kept: u64,
    pub relisted: u64,
    /// Files that some client still has open, by the names that their removal left.
    pub leftovers: Vec<String>,
}

/// What the report says beside what every run's does.
#[derive(Clone, Debug, Serialize)]
struct Job {
    operands: Vec<String>,
    dry_run: bool,
    removed: Removed,
}

/// Runs `high`; the report is written however it ends.
pub fn run(high: &High, console: &Arc<Console>) -> Exit {
    if let Some(question) = &high.question
        && high.manner.planned.is_none()
        && !console.ask(question)
    {
        return Exit::Success;
    }
    let mut session = Session::new("parrm", "objects", console, &high.manner);
    let operands = high.operands.iter().take(OPERANDS_MAX).map(|operand| operand.display().to_string());
    let mut job = Job { operands: operands.collect(), dry_run: high.dry_run, removed: Removed::default() };
    let exit = remove_all(high, &mut session, &mut job).unwrap_or_else(|fatal| {
        console.flush();
        console.message(&fatal.text);
        session.report.fatal = Some(fatal.text);
        fatal.exit
    });
    session.conclude(&job, exit, Exit::Partly)
}

/// One run's removals, whatever volumes they are in.
struct Remover<'a> {
    high: &'a High,
    crew: &'a Crew,
    live: &'a Live,
    tell: Option<&'a Tell<'a>>,
    total: Summary,
    gone: Vec<String>,
    /// This host's root directory.
    root: (u64, u64),
}

impl Remover<'_> {
    /// Removes operands of a volume; `is_local` says whether it is of this host.
    fn remove(
        &mut self,
        volume: &Volume,
        is_local: bool,
        operands: &mut (dyn Iterator<Item = Result<Operand, String>> + Send),
    ) {
        let rehearsal = self.high.dry_run || self.high.manner.planned.is_some();
        let options = Options { host_root: is_local.then_some(self.root), rehearsal, ..self.high.options.clone() };
        let done = remove(volume, operands, &options, self.crew, self.live, self.tell);
        let total = &mut self.total;
        total.files += done.files;
        total.dirs += done.dirs;
        total.kept += done.kept;
        total.relisted += done.relisted;
        total.leftovers.extend(done.leftovers);
        total.warnings.extend(done.warnings);
        total.stopped = total.stopped.take().or(done.stopped);
        self.gone.extend(volume.gone());
    }
}

/// What is to be removed, opened as far as the crew's shape needs it.
enum Work {
    Groups(Vec<(Group, Option<Volume>)>),
    List(Box<Listed>),
}

/// A list of paths below the volume's root.
struct Listed {
    volume: Volume,
    is_local: bool,
    base_is_root: bool,
    in_fs_root: bool,
    points: Points,
    paths: Paths,
}

/// An error ends the run before anything is removed.
fn remove_all(high: &High, session: &mut Session<'_>, job: &mut Job) -> Result<Exit, Fatal> {
    let console = session.console.clone();
    let rule = Rule { contents: high.contents, same_device: high.same_device, force: high.options.force };
    let rehearsal = high.dry_run.then_some(Rehearsal::Unread);
    let mut opener = session.opener().rehearse(rehearsal).planned(high.manner.planned.as_ref()).nesting();
    let (work, refused, shape) = prepare(high, &mut opener, rule)?;
    let is_all_refused = matches!(&work, Work::Groups(groups) if groups.is_empty()) && !refused.is_empty();
    session.tell_mounts(opener.spreader());
    let (crew, caught) = session.crew(shape)?;
    refused.into_iter().for_each(|failure| crew.report().add(failure));
    session.tell_setup("removing", &crew);
    let live = Arc::new(Live::default());
    let verb = if high.dry_run { "would remove" } else { "removed" };
    let tell = |path: &[u8], is_dir: bool| {
        console.print(format_args!("{verb} {}'{}'", if is_dir { "directory " } else { "" }, Shown(path)));
    };
    let is_told = (high.manner.verbose > 0 || high.dry_run) && high.manner.planned.is_none();
    let start = Instant::now();
    let mut remover = Remover {
        high,
        crew: &crew,
        live: &live,
        tell: is_told.then_some(&tell as &Tell<'_>),
        total: Summary::default(),
        gone: Vec::new(),
        root: operands::host_root().map_err(|error| format!("/: Cannot stat: {}", reason(&error)))?,
    };
    session.with_progress(&live, &crew, || match work {
        Work::Groups(groups) => plan::together(groups).into_iter().for_each(|groups| {
            remove_groups(&mut remover, &mut opener, rule, groups);
        }),
        Work::List(list) => {
            let Listed { volume, is_local, base_is_root, in_fs_root, points, paths } = *list;
            let mut operands = listed(&volume, (base_is_root, in_fs_root), &points, paths, &crew);
            remover.remove(&volume, is_local, &mut operands);
        }
    });
    let elapsed = start.elapsed();
    let Remover { total, gone, .. } = remover;
    job.removed = removed(&total);
    let clean = finish(high, session, &crew, total, gone, elapsed, (!is_all_refused).then_some(&job.removed));
    Ok(match caught.signal() {
        Some(signal) => Exit::Signal(signal),
        None if clean => Exit::Success,
        None => Exit::Partly,
    })
}

/// Tells what came of it; true when nothing went wrong. Where every operand was refused, nothing was begun that had a sum.
fn finish(
    high: &High,
    session: &mut Session<'_>,
    crew: &Crew,
    total: Summary,
    gone: Vec<String>,
    elapsed: Duration,
    removed: Option<&Removed>,
) -> bool {
    let mut warnings = total.warnings;
    warnings.extend(
        total
            .leftovers
            .iter()
            .map(|path| format!("{}: some client has this file open; it goes when the file is closed", Shown(path))),
    );
    // What was to be kept may be gone, or another command's to come.
    if total.stopped.is_none() {
        warnings.extend(exclude::unmet(&high.options.excluded));
    }
    let flow = Flow { source_wait: 0.0, storage_wait: 0.0, shape: crew.shape(), held: high.manner.held, bwlimit: None };
    let stopped = total.stopped.map(|text| match (high.dry_run, text.split_once(": ")) {
        (true, Some((why, _))) => format!("{why}: not all that would be removed is told; nothing was removed"),
        _ => text,
    });
    let ended = Ended { elapsed, gone, gone_advice: "; run parrm again to be sure", warnings, stopped, fatal: None };
    session.fill(crew, flow, ended);
    let clean = session.tell_failures(crew);
    let planned = high.manner.planned.as_ref();
    let line = line(removed.unwrap_or(&Removed::default()), elapsed, high.dry_run || planned.is_some());
    if let Some(planned) = planned {
        planned.would(line);
    } else if removed.is_none() {
        return clean;
    } else if high.dry_run {
        session.tell_price(line);
    } else if high.manner.verbose > 0 {
        session.tell_summary(line);
    }
    clean
}

/// Opens what the crew's shape depends on: the directory of a list, all exports, and the first of the local directories.
fn prepare(high: &High, opener: &mut Opener, rule: Rule) -> Result<(Work, Vec<Failure>, Shape), Fatal> {
    if let Some(list) = &high.list {
        let (work, shape) = prepare_list(high, opener, list)?;
        return Ok((work, Vec::new(), shape));
    }
    let (groups, refused) = plan::plan(&high.operands, rule, (opener.exports(), opener.usage(None)));
    // What is found for the rest is found when their turn comes; what was named has to be of use before anything is removed.
    if matches!(high.manner.spread, Spread::Named(_)) {
        let dirs = groups.iter().filter_map(|group| Some((group.parent.dir()?, None)));
        opener.spread(dirs).map_err(Fatal::usage)?;
    }
    let mut shape = Shape::SERIAL;
    let mut opened = Vec::with_capacity(groups.len());
    let mut is_first = true;
    for group in groups {
        let volume = match (&group.parent, &group.mounts) {
            (Parent::Nfs(url), Some(mounts)) => Some(opener.attached_at(url, mounts.clone())),
            // What cannot be opened is told when its turn comes.
            (Parent::Dir(path), _) if std::mem::take(&mut is_first) => opener.local(path, None, &[]).ok(),
            _ => None,
        };
        if let Some(suggested) = volume.as_ref().map(|volume| volume.limits().shape) {
            shape = Shape { lanes: shape.lanes.max(suggested.lanes), window: shape.window.max(suggested.window) };
        }
        opened.push((group, volume));
    }
    Ok((Work::Groups(opened), refused, shape))
}

fn prepare_list(high: &High, opener: &mut Opener, list: &List) -> Result<(Work, Shape), Fatal> {
    let here = OsString::from(".");
    let base = high.operands.first().unwrap_or(&here);
    let location = Location::parse(base).map_err(|error| error.to_string())?;
    let base_is = match &location {
        Location::Dir(path) => Parent::Dir(path.clone()),
        Location::Nfs(url, _) => Parent::Nfs(url.clone()),
    };
    if plan::in_snapshots(&base_is) {
        return Err(format!("{}: {}", base.display(), plan::IS_SNAPSHOTS).into());
    }
    opener.spread(location.dir().map(|path| (path, None))).map_err(Fatal::usage)?;
    let volume = opener.volume(&location, None)?;
    let (base_is_root, in_fs_root) = match &location {
        Location::Dir(path) => (path.canonicalize().is_ok_and(|path| path == Path::new("/")), is_fs_root(path)),
        Location::Nfs(..) => (false, true),
    };
    // A bind mount has the device of what is around it: the table of mounts tells it, where there is one.
    let here = location.dir().and_then(|dir| dir.canonicalize().ok());
    let points = here.zip(Table::read().ok()).map(|(here, table)| Points::below(&here, &table)).unwrap_or_default();
    let is_local = location.dir().is_some();
    let paths = Paths::open(&list.file, list.null)?.whole();
    let shape = volume.limits().shape;
    Ok((Work::List(Box::new(Listed { volume, is_local, base_is_root, in_fs_root, points, paths })), shape))
}

/// The operands of a list; what is refused goes to the crew's report.
fn listed<'a>(
    volume: &'a Volume,
    (base_is_root, in_fs_root): (bool, bool),
    points: &'a Points,
    paths: Paths,
    crew: &'a Crew,
) -> impl Iterator<Item = Result<Operand, String>> + Send + use<'a> {
    paths.filter_map(move |path| {
        let shown = match path {
            Ok(path) => path,
            Err(error) => return Some(Err(error)),
        };
        let way = operands::way(&shown, base_is_root).and_then(|way| {
            points.check(&way.0)?;
            let is_snapshots = in_fs_root && way.0[0].as_bytes() == SNAPSHOT;
            if is_snapshots { Err(plan::IS_SNAPSHOTS.into()) } else { Ok(way) }
        });
        match way {
            Ok((way, must_be_dir)) => {
                let dir = volume.root();
                Some(Ok(Operand { dir, way, shown, contents: false, fs_root: false, dir_fsid: None, must_be_dir }))
            }
            Err(why) => {
                crew.report().add(Failure::refused(&shown, why));
                None
            }
        }
    })
}

/// Removes the operands of groups at once; of several, all are of one volume's file system.
fn remove_groups(remover: &mut Remover<'_>, opener: &mut Opener, rule: Rule, groups: Vec<(Group, Option<Volume>)>) {
    let report = remover.crew.report();
    if remover.crew.stop().is_set() {
        let left = || "interrupted before the last operands were begun; the same command removes the rest".to_string();
        remover.total.stopped.get_or_insert_with(left);
        return;
    }
    let opened = groups.into_iter().filter_map(|(group, volume)| opened(remover, opener, group, volume));
    let (groups, volumes): (Vec<Group>, Vec<Volume>) = opened.unzip();
    let Some(volume) = volumes.first() else { return };
    let is_local = groups.iter().all(|group| group.parent.dir().is_some());
    let groups = groups.into_iter().zip(volumes.iter().map(|volume| volume.root())).collect();
    let (operands, refused) = plan::checked(volume, groups, rule);
    refused.into_iter().for_each(|failure| report.add(failure));
    remover.remove(volume, is_local, &mut operands.into_iter().map(Ok));
}

/// A group with its volume; none where that cannot be had, which is told.
fn opened(remover: &Remover<'_>, opener: &mut Opener, group: Group, volume: Option<Volume>) -> Option<(Group, Volume)> {
    let report = remover.crew.report();
    let opened = match (volume, &group.parent) {
        (Some(volume), _) => Ok(volume),
        (None, Parent::Dir(path)) if remover.high.options.force && !path_is_there(path) => return None,
        (None, Parent::Dir(path)) => opener.local(path, None, &[]),
        (None, Parent::Nfs(_)) => return None,
    };
    let volume = match opened {
        Ok(volume) => volume,
        Err(why) => {
            plan::unopened(&group, &why).into_iter().for_each(|failure| report.add(failure));
            return None;
        }
    };
    // As it could not be opened.
    if let Some(path) = group.parent.dir().filter(|_| opener.is_gone(&volume)) {
        if !remover.high.options.force {
            let why = format!("{}: Cannot open: {}", path.display(), Status::NoEnt);
            plan::unopened(&group, &why).into_iter().for_each(|failure| report.add(failure));
        }
        return None;
    }
    Some((group, volume))
}

/// False when no directory is there, so that nothing in it can be.
fn path_is_there(path: &Path) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    !matches!(std::fs::metadata(path.join(".")), Err(error) if matches!(error.kind(), NotFound | NotADirectory))
}

fn removed(total: &Summary) -> Removed {
    Removed {
        files: total.files,
        dirs: total.dirs,
        kept: total.kept,
        relisted: total.relisted,
        leftovers: total.leftovers.iter().map(|path| Shown(path).to_string()).collect(),
    }
}

fn line(done: &Removed, elapsed: Duration, dry_run: bool) -> String {
    let (files, dirs) = (grouped(done.files), grouped(done.dirs));
    let kept = if done.kept > 0 { format!("; {} left alone", grouped(done.kept)) } else { String::new() };
    if dry_run {
        return format!("would remove {files} files and {dirs} directories{kept}");
    }
    let relisted = if done.relisted > 0 { format!("; {} listed again", grouped(done.relisted)) } else { String::new() };
    let per_s = (done.files + done.dirs) as f64 / elapsed.as_secs_f64().max(1e-9);
    format!(
        "removed {files} files and {dirs} directories in {:.2} s: {} objects a second{kept}{relisted}",
        elapsed.as_secs_f64(),
        grouped(per_s as u64),
    )
}
