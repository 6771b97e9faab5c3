//! From operands to legs: each is one run of the copy job, with the directories of both sides that it opens. One source is
//! one leg; of several, those that follow each other in one directory share one.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;

use crate::base::name::Shown;
use crate::base::{Failure, Name};
use crate::cli::console::reason;
use crate::cli::exports::{Exports, Found, is_link, kind};
use crate::cli::location::{Location, is_absent, is_fs_root, real};
use crate::jobs::copy::Verify;
use crate::mounts::nfs::{NfsMount, Usage};
use crate::storage::Kind;

use super::across::Destinations;
use super::high::High;
use super::relation::{self, Relation};
use super::taken;

/// A directory that a side is reached from.
#[derive(Clone)]
pub enum Base {
    /// Of this host.
    Dir(PathBuf),
    /// Of an export, attached.
    Nfs(Vec<Arc<NfsMount>>),
}

/// One side of a leg.
#[derive(Clone)]
#[allow(missing_docs)]
pub struct Place {
    pub base: Base,
    /// The way from there to the root of the copy.
    pub way: Vec<Name>,
    pub fs_root: bool,
    pub shown: Vec<u8>,
}

impl Place {
    /// The hosts of its URL, as they were typed; empty on this host.
    pub fn server(&self) -> &[u8] {
        let hosts = |text: &[u8]| text.iter().position(|b| *b == b'/').unwrap_or(text.len());
        match &self.base {
            Base::Dir(_) => b"",
            Base::Nfs(_) => self.shown.strip_prefix(b"nfs://").map_or(b"", |text| &text[..hosts(text)]),
        }
    }
}

/// One run of the job.
pub struct Leg {
    /// Where from.
    pub source: Place,
    /// Where to.
    pub target: Place,
    /// The names below the source that are copied; none: all that is in it, or the one file that it is.
    pub names: Option<Vec<Vec<u8>>>,
}

/// A source that is not copied.
pub struct Refused {
    /// Why.
    pub failure: Failure,
    /// Where it is, if it is anywhere and something may be deleted all the same.
    pub place: Option<Place>,
}

/// A source that is found.
struct Source {
    place: Place,
    is_dir: bool,
    /// Its own name, where it has one.
    name: Option<Name>,
}

impl Source {
    /// Is it a device, FIFO or socket? What cannot be asked is none. A link's target is most often a file.
    fn is_special(&self) -> bool {
        let Some(name) = self.name.as_ref().filter(|_| !self.is_dir) else { return false };
        match &self.place.base {
            Base::Dir(dir) => {
                let path = dir.join(OsStr::from_bytes(name.as_bytes()));
                let is = |meta: fs::Metadata| !meta.is_file() && !meta.is_dir() && !meta.is_symlink();
                fs::symlink_metadata(path).is_ok_and(is)
            }
            Base::Nfs(mounts) => {
                kind(mounts, name).is_some_and(|kind| !matches!(kind, Kind::File | Kind::Dir | Kind::Symlink))
            }
        }
    }
}

/// The path without the slashes at its end, and whether there were any.
pub(super) fn without_slashes(path: &[u8]) -> (&[u8], bool) {
    let end = path.iter().rposition(|&b| b != b'/').map_or(0, |last| last + 1);
    if end == 0 { (&path[..path.len().min(1)], false) } else { (&path[..end], end < path.len()) }
}

/// A local path's directory, and its last name; none where it ends in `.`, `..` or is `/`.
pub(super) fn split(path: &Path) -> Result<(PathBuf, Option<Name>), String> {
    let (bytes, _) = without_slashes(path.as_os_str().as_bytes());
    let start = bytes.iter().rposition(|&b| b == b'/').map_or(0, |slash| slash + 1);
    let (before, last) = bytes.split_at(start);
    if matches!(last, b"" | b"." | b"..") {
        return Ok((path.into(), None));
    }
    let name = Name::new(last).map_err(|error| error.to_string())?;
    let parent = if before.is_empty() { Path::new(".") } else { Path::new(OsStr::from_bytes(before)) };
    Ok((parent.into(), Some(name)))
}

fn cannot_stat(path: &[u8], error: &io::Error) -> String {
    let advice = if is_remote(path) { REMOTE } else { "" };
    format!("cannot stat '{}': {}{advice}", Shown(path), reason(error))
}

/// True for what rsync takes for a path of another host: a colon, and no slash before it.
fn is_remote(path: &[u8]) -> bool {
    path.iter().find(|&&byte| matches!(byte, b':' | b'/')) == Some(&b':')
}

const REMOTE: &str =
    "; other hosts are reached by nfs://HOST/PATH or a mount, and ./ before it makes it a name of this host";

/// `base/name`, for people.
pub(super) fn joined(base: &[u8], name: &Name) -> Vec<u8> {
    [base, if base.ends_with(b"/") { b"" } else { b"/" }, name.as_bytes()].concat()
}

/// Of a server's links nobody here knows where they lead: they are text for who mounts it. One would be copied for the directory that it leads
/// to, or take the place of the file.
const LINK: &str = "it is a symbolic link, and those of a URL are not followed; name what it leads to, or copy the link itself with -t";

/// Finds the source that is mapped onto the destination: a directory, through a symbolic link too, or one object.
fn source(location: &Location, exports: &mut Exports) -> Result<Source, String> {
    let shown = location.shown();
    let path = match location {
        Location::Dir(path) => path,
        Location::Nfs(url, _) => {
            return match exports.find(url, Usage::Reads)? {
                Found::Dir(mounts) => {
                    let fs_root = exports.is_fs_root(url, &mounts)?;
                    let place = Place { base: Base::Nfs(mounts), way: Vec::new(), fs_root, shown };
                    // As of a path that ends so: what is in it is meant.
                    let name = if url.path.ends_with(b"/.") { None } else { exports.name(url)? };
                    Ok(Source { place, is_dir: true, name })
                }
                Found::Other(mounts, name) if url.path.ends_with(b"/") || url.path.ends_with(b"/.") => {
                    let why = if is_link(&mounts, &name) { LINK } else { "Not a directory" };
                    Err(format!("cannot stat '{}': {why}", Shown(&shown)))
                }
                Found::Other(mounts, name) => {
                    let way = vec![name.clone()];
                    let place = Place { base: Base::Nfs(mounts), way, fs_root: false, shown };
                    Ok(Source { place, is_dir: false, name: Some(name) })
                }
                Found::Nothing(..) => Err(format!("cannot stat '{}': No such file or directory", Shown(&shown))),
            };
        }
    };
    let (parent, name) = split(path)?;
    match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => {
            let place = Place { base: Base::Dir(path.clone()), way: Vec::new(), fs_root: is_fs_root(path), shown };
            return Ok(Source { place, is_dir: true, name });
        }
        // What may be a directory is not copied as the link that leads there. One that leads nowhere is copied itself.
        Err(error) if !is_absent(&error) && !leads_nowhere(&error) => return Err(cannot_stat(&shown, &error)),
        _ => {}
    }
    let itself = fs::symlink_metadata(path).map_err(|error| cannot_stat(&shown, &error))?;
    if itself.is_dir() {
        return Err(format!("cannot stat '{}': it changed meanwhile", Shown(&shown)));
    }
    let name = name.ok_or_else(|| format!("cannot stat '{}'", Shown(&shown)))?;
    let place = Place { base: Base::Dir(parent), way: vec![name.clone()], fs_root: false, shown };
    Ok(Source { place, is_dir: false, name: Some(name) })
}

/// True for a link that cannot lead anywhere: it may be text that is kept as a link.
fn leads_nowhere(error: &io::Error) -> bool {
    [Errno::LOOP, Errno::NAMETOOLONG].iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

/// Finds where the source is mapped to.
fn mapped(location: &Location, source: &Source, (exports, usage): (&mut Exports, Usage)) -> Result<Place, String> {
    let shown = location.shown();
    let in_dir = |base: Base, fs_root: bool, shown: Vec<u8>| match (&source.name, source.is_dir) {
        (Some(name), false) => Place { base, way: vec![name.clone()], fs_root: false, shown: joined(&shown, name) },
        _ => Place { base, way: Vec::new(), fs_root, shown },
    };
    let not_over = || {
        let (from, to) = (Shown(&source.place.shown), Shown(&shown));
        format!("cannot overwrite non-directory '{to}' with directory '{from}'")
    };
    match location {
        Location::Nfs(url, _) => match exports.find(url, usage)? {
            Found::Dir(mounts) => {
                let fs_root = exports.is_fs_root(url, &mounts)?;
                Ok(in_dir(Base::Nfs(mounts), fs_root, shown))
            }
            Found::Other(..) if source.is_dir => Err(not_over()),
            Found::Other(..) | Found::Nothing(..) if !source.is_dir && without_slashes(&url.path).1 => {
                Err(format!("cannot create regular file '{}': Not a directory", Shown(&shown)))
            }
            Found::Other(mounts, name) | Found::Nothing(mounts, name) => {
                Ok(Place { base: Base::Nfs(mounts), way: vec![name], fs_root: false, shown })
            }
        },
        Location::Dir(path) => {
            let (bytes, slash) = without_slashes(&shown);
            let (parent, name) = split(path)?;
            match fs::metadata(path) {
                Ok(meta) if meta.is_dir() => return Ok(in_dir(Base::Dir(path.clone()), is_fs_root(path), shown)),
                Ok(_) if source.is_dir => return Err(not_over()),
                // cp would write into it. Copies replace, and nobody means to replace /dev/null by a file.
                Ok(meta) if !meta.is_file() && !source.is_special() => {
                    return Err(not_written(&shown, "a device, FIFO or socket"));
                }
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(cannot_stat(&shown, &error)),
                // Nor /dev/stdout, whatever that is now.
                _ if leads_into_proc(OsStr::from_bytes(bytes).into()) => {
                    return Err(not_written(&shown, "a symbolic link into /proc"));
                }
                _ => {}
            }
            if source.is_dir && fs::symlink_metadata(OsStr::from_bytes(bytes)).is_ok() {
                return Err(format!("not writing through dangling symlink '{}'", Shown(&shown)));
            }
            if slash && !source.is_dir {
                return Err(format!("cannot create regular file '{}': Not a directory", Shown(&shown)));
            }
            let name = name.ok_or_else(|| format!("cannot create '{}'", Shown(&shown)))?;
            if is_remote(&shown) && fs::symlink_metadata(OsStr::from_bytes(bytes)).is_err() {
                return Err(format!("cannot create '{}'{REMOTE}", Shown(&shown)));
            }
            if let Err(why) = is_dir(&parent) {
                return Err(format!("cannot create '{}': {why}", Shown(&shown)));
            }
            Ok(Place { base: Base::Dir(parent), way: vec![name], fs_root: false, shown })
        }
    }
}

fn not_written(shown: &[u8], what: &str) -> String {
    format!("'{}' is {what}, which is not written to; use cp, or remove it first", Shown(shown))
}

/// True of a symbolic link that is in /proc, or leads through it, be it by others.
fn leads_into_proc(mut path: PathBuf) -> bool {
    let is_in_proc = |path: &Path| {
        let parent = split(path).ok().and_then(|(parent, _)| real(&parent).ok());
        parent.is_some_and(|parent| parent.starts_with("/proc"))
    };
    for at in 0..LINKS_MAX {
        let to = fs::read_link(&path).ok();
        if (at > 0 || to.is_some()) && is_in_proc(&path) {
            return true;
        }
        let Some(to) = to else { return false };
        path = path.parent().unwrap_or(Path::new("")).join(to);
    }
    false
}

/// Symbolic links that Linux follows on one way.
const LINKS_MAX: usize = 40;

fn is_dir(path: &Path) -> Result<(), String> {
    let why = match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => return Ok(()),
        Ok(_) => "Not a directory".into(),
        Err(error) => reason(&error),
    };
    Err(format!("{}: {why}", Shown(without_slashes(path.as_os_str().as_bytes()).0)))
}

/// The directory that sources go below.
fn directory(location: &Location, (exports, usage): (&mut Exports, Usage)) -> Result<Place, String> {
    let shown = location.shown();
    let (base, fs_root) = match location {
        Location::Dir(path) => {
            let meta = fs::metadata(path).map_err(|error| {
                let advice = if is_remote(&shown) { REMOTE } else { "" };
                format!("target '{}': {}{advice}", Shown(&shown), reason(&error))
            })?;
            if !meta.is_dir() {
                return Err(format!("target '{}' is not a directory", Shown(&shown)));
            }
            (Base::Dir(path.clone()), is_fs_root(path))
        }
        Location::Nfs(url, _) => match exports.find(url, usage)? {
            Found::Dir(mounts) => {
                let fs_root = exports.is_fs_root(url, &mounts)?;
                (Base::Nfs(mounts), fs_root)
            }
            _ => return Err(format!("target '{}' is not a directory", Shown(&shown))),
        },
    };
    Ok(Place { base, way: Vec::new(), fs_root, shown })
}

/// Says whether an object of the source's side and one of the destination's are one, on whatever devices.
pub type IsOne<'a> = &'a dyn Fn(&Path, &Path) -> bool;

/// How a source lies to what it is copied onto.
fn relation(
    (source, is_dir): (&Location, bool),
    destination: &Location,
    below: Option<&Name>,
    is_one: IsOne<'_>,
) -> Relation {
    match (source, destination) {
        (Location::Dir(from), Location::Dir(to)) => {
            let to = below.map_or_else(|| to.clone(), |name| to.join(OsStr::from_bytes(name.as_bytes())));
            let link = if is_dir { None } else { relation::link(from, &to, is_one) };
            link.unwrap_or_else(|| relation::local(from, &to, is_one))
        }
        (Location::Nfs(from, _), Location::Nfs(to, _)) => {
            let mut to = to.clone();
            if let Some(name) = below {
                to.path = joined(&to.path, name);
            }
            relation::nfs(from, &to)
        }
        _ => Relation::Apart,
    }
}

/// The legs of a run, and the sources that are refused. An error is about the destination, which is used so, or the one source.
pub fn legs(
    high: &High,
    (mut exports, usage): (Exports, Usage),
    is_one: IsOne<'_>,
) -> Result<(Vec<Leg>, Vec<Refused>), String> {
    if !high.below {
        let location = &high.sources[0];
        let source = source(location, &mut exports)?;
        if let (Base::Nfs(mounts), Some(name), false) = (&source.place.base, &source.name, source.is_dir)
            && is_link(mounts, name)
        {
            return Err(format!("cannot copy '{}': {LINK}", Shown(&source.place.shown)));
        }
        if high.list.is_some() && !source.is_dir {
            return Err(format!("--files-from: '{}' is not a directory", Shown(&source.place.shown)));
        }
        let mut target = mapped(&high.destination, &source, (&mut exports, usage))?;
        let below = source.name.as_ref().filter(|_| !source.is_dir && target.way.len() == 1);
        let is_in_dir = below.is_some_and(|name| target.shown == joined(&high.destination.shown(), name));
        let relation = relation((location, source.is_dir), &high.destination, below.filter(|_| is_in_dir), is_one);
        // A snapshot, as the source says, of the directory that it is in.
        target.fs_root |= matches!(&relation, Relation::Around(path) if path.starts_with(b".snapshot/"));
        let refusal = relation::refusal(&relation, &high.options, target.fs_root, &source.place.shown, &target.shown);
        return match refusal {
            Some(refusal) => Err(refusal),
            None => Ok((vec![Leg { source: source.place, target, names: None }], Vec::new())),
        };
    }
    let directory = directory(&high.destination, (&mut exports, usage))?;
    let (mut legs, mut refused): (Vec<Leg>, Vec<Refused>) = Default::default();
    let mut taken: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
    for location in &high.sources {
        match below(location, high, &directory, &mut exports, is_one) {
            Err(why) => refused.push(Refused::new(location, meant_as_destination(why, high), (high, &mut exports))),
            Ok(leg) => match last_name(&leg).and_then(|name| taken.insert(name, location.shown())) {
                None => add(&mut legs, leg),
                Some(before) if before == location.shown() => {} // typed twice
                // Neither is copied over the other, nor twice at once.
                Some(before) => {
                    let why = format!("would be copied over what '{}' is copied to", Shown(&before));
                    refused.push(Refused::new(location, why, (high, &mut exports)));
                }
            },
        }
    }
    let (names, itself) = taken_below(&legs);
    let destinations = Destinations { directory: &high.destination, names, itself, fs_root: directory.fs_root };
    let refusal = destinations.refusal(&high.sources, &high.options, is_one);
    match refusal.or_else(|| clears_others(&legs, high)).or_else(|| compares_others(&legs, high)) {
        Some(refusal) => Err(refusal),
        None => Ok((legs, refused)),
    }
}

/// What is not there may have been meant as the destination, and -t as rsync's, which is about times.
fn meant_as_destination(why: String, high: &High) -> String {
    if high.options.delete.is_none() || high.sources.len() > 1 || !why.starts_with("cannot stat") {
        return why;
    }
    let directory = high.destination.shown();
    format!(
        "{why}; -t is cp's, and makes '{}' the destination: for rsync's leave it out, as times are kept",
        Shown(&directory)
    )
}

/// Contents that go into the directory itself: with `--delete`, all that other sources bring to it is nothing of theirs.
fn clears_others(legs: &[Leg], high: &High) -> Option<String> {
    high.options.delete?;
    let is_whole = |leg: &&Leg| leg.names.is_none() && leg.target.way.is_empty();
    // Also of one that is not there: it may be away for a while.
    let whole = legs.iter().find(is_whole).filter(|_| high.sources.len() > 1)?;
    Some(format!(
        "--delete would remove what other sources bring to '{}', which gets the contents of '{}'; copy that one in a run of its \
         own, and exclude there what the others bring",
        Shown(&high.destination.shown()),
        Shown(&whole.source.shown)
    ))
}

/// Contents that go into the directory itself: what other sources have brought to it is no difference, and nobody knows what is.
fn compares_others(legs: &[Leg], high: &High) -> Option<String> {
    let several = high.options.verify == Verify::Only && taken::may_meet(legs);
    several.then(|| {
        format!(
            "--verify-only compares the contents of one source with a directory, and several bring theirs to '{}'",
            Shown(&high.destination.shown())
        )
    })
}

/// The names below the directory that are copied to, and whether something is mapped onto the directory itself.
fn taken_below(legs: &[Leg]) -> (Vec<Name>, bool) {
    let names = legs.iter().flat_map(|leg| match &leg.names {
        Some(names) => names.iter().filter_map(|name| Name::new(name).ok()).collect(),
        None => leg.target.way.clone(),
    });
    (names.collect(), legs.iter().any(|leg| leg.names.is_none() && leg.target.way.is_empty()))
}

/// The name below the directory that a source takes; none where it is mapped onto the directory itself.
fn last_name(leg: &Leg) -> Option<Vec<u8>> {
    match &leg.names {
        Some(names) => names.last().cloned(),
        None => leg.target.way.last().map(|name| name.as_bytes().to_vec()),
    }
}

/// A leg joins the one before when both are names in one directory.
fn add(legs: &mut Vec<Leg>, leg: Leg) {
    if let Some(last) = legs.last_mut()
        && let (Some(names), Some(more)) = (&mut last.names, &leg.names)
        && last.source.base.is(&leg.source.base)
    {
        names.extend_from_slice(more);
        return;
    }
    legs.push(leg);
}

impl Refused {
    fn new(location: &Location, why: String, (high, exports): (&High, &mut Exports)) -> Refused {
        // Without --ignore-errors nothing is deleted then, and it need not be looked at.
        let despite = high.options.delete.filter(|delete| delete.despite_errors);
        let found = despite.and_then(|_| source(location, exports).ok());
        let place = found.map(|source| source.place);
        Refused { failure: Failure::refused(&location.shown(), why), place }
    }
}

impl Base {
    /// The directory of this host, if it is one.
    pub fn dir(&self) -> Option<&Path> {
        match self {
            Base::Dir(path) => Some(path),
            Base::Nfs(_) => None,
        }
    }

    fn is(&self, other: &Base) -> bool {
        match (self, other) {
            (Base::Dir(a), Base::Dir(b)) => a == b,
            (Base::Nfs(a), Base::Nfs(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| Arc::ptr_eq(a, b)),
            _ => false,
        }
    }
}

/// A source's leg below `directory`: under its name, or its contents where it has none.
fn below(
    location: &Location,
    high: &High,
    directory: &Place,
    exports: &mut Exports,
    is_one: IsOne<'_>,
) -> Result<Leg, String> {
    let relate = |name: Option<&Name>, is_dir: bool| {
        let relation = relation((location, is_dir), &high.destination, name, is_one);
        let relation = if is_dir || relation == Relation::Same { relation } else { Relation::Apart };
        let target = name.map_or_else(|| directory.shown.clone(), |name| joined(&directory.shown, name));
        let snapshots = name.is_none() && directory.fs_root;
        match relation::refusal(&relation, &high.options, snapshots, &location.shown(), &target) {
            Some(refusal) => Err(refusal),
            None => Ok(target),
        }
    };
    let onto = |name: Option<Name>, mut source: Place| {
        let shown = relate(name.as_ref(), true)?;
        source.way.clear();
        let fs_root = name.is_none() && directory.fs_root;
        let target = Place { base: directory.base.clone(), way: name.into_iter().collect(), fs_root, shown };
        Ok(Leg { source, target, names: None })
    };
    let named = |parent: Base, name: Name, parent_shown: Vec<u8>, is_dir: bool, fs_root: bool| {
        relate(Some(&name), is_dir)?;
        let source = Place { base: parent, way: Vec::new(), fs_root, shown: parent_shown };
        Ok(Leg { source, target: directory.clone(), names: Some(vec![name.as_bytes().to_vec()]) })
    };
    let path = match location {
        Location::Dir(path) => path,
        Location::Nfs(..) => {
            let found = source(location, exports)?;
            // An export, or a directory of it: mapped onto its name below the directory.
            let Some(name) = found.name else { return onto(None, found.place) };
            if found.is_dir {
                return onto(Some(name), found.place);
            }
            let above = found.place.shown.len() - name.as_bytes().len();
            let parent_shown = found.place.shown[..above.min(found.place.shown.len())].to_vec();
            return named(found.place.base, name, parent_shown, false, false);
        }
    };
    let (parent, name) = split(path)?;
    let Some(name) = name else { return onto(None, source(location, exports)?.place) };
    let (bytes, slash) = without_slashes(path.as_os_str().as_bytes());
    let there = fs::symlink_metadata(OsStr::from_bytes(bytes));
    let there = there.map_err(|error| format!("cannot stat: {}", reason(&error)))?;
    if (there.is_dir() && is_fs_root(path)) || (there.is_symlink() && slash) {
        // Its own file system's root; or what a link leads to, as the slash says.
        let found = source(location, exports)?;
        return if found.is_dir { onto(Some(name), found.place) } else { Err("Not a directory".into()) };
    }
    if slash && !there.is_dir() {
        return Err("cannot stat: Not a directory".into());
    }
    let (fs_root, parent_shown) = (is_fs_root(&parent), parent.as_os_str().as_bytes().to_vec());
    named(Base::Dir(parent), name, parent_shown, there.is_dir(), fs_root)
}
