//! Which operands are removed through which volume: those that follow each other in one directory share one. What is
//! refused goes to the report, and the rest goes on.

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use crate::base::name::SNAPSHOT;
use crate::base::{Failure, Name, Proc, Status};
use crate::cli::exports::{Exports, Mounts};
use crate::cli::location::{Location, is_fs_root, real};
use crate::jobs::remove::Operand;
use crate::mounts::nfs::{AttachError, Url, Usage};
use crate::storage::{Attr, Call, Kind, Mount, Node, Out, Volume};

use super::operands::{self, Parent, Placed, Rule};

/// LOOKUPs of operands in flight at once.
const LOOKUPS: usize = 64;

pub const IS_SNAPSHOTS: &str = "the snapshots of a file system are never removed through it";

/// Operands of one volume.
pub struct Group {
    /// Their directory; for a whole export the export.
    pub parent: Parent,
    /// Attached already, where it is an export.
    pub mounts: Option<Mounts>,
    /// An operand before is the directory of these, or above it, by their URLs.
    pub nested: bool,
    /// The operands.
    pub operands: Vec<Wanted>,
}

/// One operand of a group.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Wanted {
    /// None: all that is in the volume.
    pub name: Option<Name>,
    pub shown: Vec<u8>,
    pub fs_root: bool,
    pub slash: bool,
    /// The file system of the directory it is in, once that was asked for.
    pub dir_fsid: Option<u64>,
}

/// Does a directory of an export that cannot be attached not exist, so that nothing in it can? What is no export says nothing of that.
fn is_absent(error: &AttachError) -> bool {
    match error {
        AttachError::Call { proc: Proc::Lookup, status, .. } => matches!(status, Status::NoEnt | Status::NotDir),
        AttachError::NotADirectory { .. } => true,
        _ => false,
    }
}

/// An object of an export: in its directory, or a whole export where the directory above it is none. None: it cannot be there, and `-f` asks
/// for no more.
fn place(exports: &mut Exports, (url, usage): (&Url, Usage), rule: Rule) -> Result<Option<(Placed, Mounts)>, String> {
    let cannot = |error: AttachError| format!("Cannot mount: {error}");
    let placed = operands::nfs(url)?;
    if let (Parent::Nfs(parent), Some(name)) = (&placed.parent, &placed.name) {
        if name.as_bytes() == SNAPSHOT {
            return Err(IS_SNAPSHOTS.into());
        }
        match exports.attach(parent, usage) {
            Ok(mounts) => return Ok(Some((placed, mounts))),
            Err(AttachError::Mount { .. }) => {}
            Err(error) if rule.force && is_absent(&error) => return Ok(None),
            Err(error) => return Err(cannot(error)),
        }
    }
    let mounts = exports.attach(url, usage).map_err(cannot)?;
    if !rule.contents || rule.same_device {
        return Err("it is an export's root; --contents removes what is in it".into());
    }
    Ok(Some((Placed { parent: Parent::Nfs(Box::new(url.clone())), name: None, fs_root: true, ..placed }, mounts)))
}

/// True when the directory of a local operand is the root of a file system.
fn in_fs_root(parent: &Parent) -> bool {
    let Parent::Dir(parent) = parent else { return false };
    is_fs_root(parent)
}

/// True of a directory among a file system's snapshots.
pub fn in_snapshots(parent: &Parent) -> bool {
    match parent {
        Parent::Nfs(url) => url.path.split(|&byte| byte == b'/').any(|part| part == SNAPSHOT),
        Parent::Dir(parent) => {
            let Ok(parent) = real(parent) else { return false };
            let mut above =
                parent.ancestors().filter(|path| path.file_name().is_some_and(|name| name.as_bytes() == SNAPSHOT));
            above.any(|path| path.parent().is_some_and(is_fs_root))
        }
    }
}

/// Objects of exports by their URLs: the hosts and the path.
#[derive(Default)]
struct Taken(HashSet<(String, Vec<u8>)>);

impl Taken {
    fn hosts(url: &Url) -> String {
        url.hosts.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    }

    fn take(&mut self, parent: &Parent, name: Option<&Name>) {
        if let (Parent::Nfs(url), Some(name)) = (parent, name) {
            let slash: &[u8] = if url.path.ends_with(b"/") { b"" } else { b"/" };
            self.0.insert((Taken::hosts(url), [&url.path, slash, name.as_bytes()].concat()));
        }
    }

    /// Is it one of them, or below one?
    fn has(&self, parent: &Parent) -> bool {
        let Parent::Nfs(url) = parent else { return false };
        if self.0.is_empty() {
            return false;
        }
        let hosts = Taken::hosts(url);
        let mut ends = (1..=url.path.len()).filter(|&end| url.path.get(end).is_none_or(|byte| *byte == b'/'));
        ends.any(|end| self.0.contains(&(hosts.clone(), url.path[..end].to_vec())))
    }
}

/// The groups, and the operands that are refused. A name that comes twice in a directory is in a later group the second time: it is told
/// as what is not there any more, whatever lanes are faster.
pub fn plan(typed: &[OsString], rule: Rule, (mut exports, usage): (Exports, Usage)) -> (Vec<Group>, Vec<Failure>) {
    let (mut groups, mut refused): (Vec<Group>, Vec<Failure>) = Default::default();
    let (mut taken, mut names) = (Taken::default(), HashSet::new());
    let mut last: Option<(Parent, bool)> = None;
    for operand in typed {
        let location = Location::parse(operand);
        let shown = location.as_ref().map_or_else(|_| operand.as_bytes().to_vec(), Location::shown);
        let placed = match location {
            Err(error) => Err(error.to_string()),
            Ok(Location::Nfs(url, _)) => match place(&mut exports, (&url, usage), rule) {
                Ok(Some((placed, mounts))) => Ok((placed, Some(mounts))),
                Ok(None) => continue,
                Err(why) => Err(why),
            },
            Ok(Location::Dir(path)) if rule.force && operands::cannot_be(&path) => continue,
            Ok(Location::Dir(_)) => operands::local(operand, rule).map(|placed| (placed, None)),
        };
        let placed = placed.and_then(|(placed, mounts)| {
            // Operands mostly lie side by side.
            if last.as_ref().is_none_or(|(parent, _)| *parent != placed.parent) {
                last = Some((placed.parent.clone(), in_snapshots(&placed.parent)));
            }
            let named = placed.name.as_ref().is_some_and(|name| name.as_bytes() == SNAPSHOT);
            let is_snapshot = last.as_ref().is_some_and(|(_, is)| *is) || (named && in_fs_root(&placed.parent));
            if is_snapshot { Err(IS_SNAPSHOTS.into()) } else { Ok((placed, mounts)) }
        });
        match placed {
            Err(why) => refused.push(Failure::refused(&shown, why)),
            Ok((Placed { parent, name, fs_root, slash }, mounts)) => {
                taken.take(&parent, name.as_ref());
                let wanted = Wanted { name: name.clone(), shown, fs_root, slash, dir_fsid: None };
                match groups.last_mut().filter(|group| group.parent == parent && !names.contains(&name)) {
                    Some(group) => group.operands.push(wanted),
                    None => {
                        names.clear();
                        let nested = taken.has(&parent);
                        groups.push(Group { parent, mounts, nested, operands: vec![wanted] });
                    }
                }
                names.insert(name);
            }
        }
    }
    (groups, refused)
}

/// Groups that follow each other and whose operands are removed at once, at the width of one volume: those of one file system's directories at
/// the same targets. No operand of them is another, or lies in one: what is told of the second depends on which goes first.
pub fn together(groups: Vec<(Group, Option<Volume>)>) -> Vec<Vec<(Group, Option<Volume>)>> {
    let mut together: Vec<Vec<(Group, Option<Volume>)>> = Vec::new();
    // None beside what has no place that others could be apart from.
    let mut ways: Option<Apart> = None;
    for (group, volume) in groups {
        let batch = together.last_mut().filter(|batch| is_beside(&batch[0].0, &group));
        let is_apart = batch.is_some() && ways.as_mut().is_some_and(|ways| ways.take(&group, volume.as_ref()));
        match batch.filter(|_| is_apart) {
            Some(batch) => batch.push((group, volume)),
            None => {
                let mut first = Apart::default();
                ways = first.take(&group, volume.as_ref()).then_some(first);
                together.push(vec![(group, volume)]);
            }
        }
    }
    together
}

/// Are both at the same targets, over the same connections?
fn is_beside(one: &Group, other: &Group) -> bool {
    let (Some(one), Some(other)) = (&one.mounts, &other.mounts) else { return false };
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.shares_target(other))
}

/// Operands none of which lies in another.
#[derive(Default)]
struct Apart {
    taken: HashSet<Vec<Name>>,
    /// The directories above them.
    above: HashSet<Vec<Name>>,
    dirs: HashSet<Node>,
}

impl Apart {
    /// Takes the operands of a group, which are all in one directory; false where it cannot be told that they are apart from those before.
    #[allow(clippy::mutable_key_type)] // a node is hashed and compared by what never changes
    fn take(&mut self, group: &Group, volume: Option<&Volume>) -> bool {
        let (Parent::Nfs(url), Some(volume)) = (&group.parent, volume) else { return false };
        let Ok(dir) = url.names() else { return false };
        let way = |wanted: &Wanted| Some([&dir[..], &[wanted.name.clone()?]].concat());
        let Some(ways) = group.operands.iter().map(way).collect::<Option<Vec<_>>>() else { return false };
        let is_apart = (0..=dir.len()).all(|end| !self.taken.contains(&dir[..end]))
            && ways.iter().all(|way| !self.taken.contains(way) && !self.above.contains(way));
        // One directory may have several URLs.
        if !is_apart || !self.dirs.insert(volume.root()) {
            return false;
        }
        self.above.extend((0..=dir.len()).map(|end| dir[..end].to_vec()));
        self.taken.extend(ways);
        true
    }
}

/// The operands of groups that are removed at once through `volume`, each with its directory; less what only the server could say is to
/// be refused: the root of a file system exported within, and what was written with a slash and is no directory.
pub fn checked(volume: &Volume, groups: Vec<(Group, Node)>, rule: Rule) -> (Vec<Operand>, Vec<Failure>) {
    let (mut operands, mut refused, mut asked) = (Vec::new(), Vec::new(), Vec::new());
    let (local, groups): (Vec<_>, Vec<_>) = groups.into_iter().partition(|(group, _)| group.mounts.is_none());
    for (group, dir) in local {
        operands.extend(group.operands.into_iter().map(|wanted| wanted.operand(&dir, rule.contents)));
    }
    for (some, above) in groups.chunks(LOOKUPS).map(|some| (some, attrs(volume, some.iter().map(|(_, dir)| dir)))) {
        asked.extend(some.iter().zip(above).map(|((_, dir), above)| (dir.clone(), above)));
    }
    let mut wanted: Vec<(Wanted, &Node, Out<Attr>)> = Vec::new();
    for ((group, _), (dir, above)) in groups.into_iter().zip(&asked) {
        if group.nested && matches!(above, Err(Status::Stale | Status::NoEnt)) {
            // It went with an operand before.
            let gone = |w: Wanted| Failure::call(&w.shown, Proc::Lookup, Status::NoEnt);
            refused.extend(group.operands.into_iter().filter(|_| !rule.force).map(gone));
            continue;
        }
        wanted.extend(group.operands.into_iter().map(|wanted| (wanted, dir, *above)));
    }
    let mut rest = wanted.into_iter().peekable();
    while rest.peek().is_some() {
        let some: Vec<_> = rest.by_ref().take(LOOKUPS).collect();
        let found = found(volume, &some);
        for ((mut w, dir, above), found) in some.into_iter().zip(found) {
            w.dir_fsid = above.ok().map(|above| above.fsid);
            let is_dir = found.is_some_and(|attr| attr.kind == Kind::Dir);
            let verdict = match (found, above) {
                (Some(_), _) if w.slash && !is_dir && !rule.force => Err("Not a directory".to_string()),
                (Some(attr), Ok(above)) if is_dir && attr.fsid != above.fsid => {
                    w.fs_root = true;
                    operands::check_root(true, rule)
                }
                _ => Ok(()),
            };
            match verdict {
                Ok(()) => operands.push(w.operand(dir, rule.contents)),
                Err(why) => refused.push(Failure::refused(&w.shown, why)),
            }
        }
    }
    (operands, refused)
}

/// The attributes of these directories, asked for at once.
fn attrs<'n>(volume: &Volume, nodes: impl Iterator<Item = &'n Node>) -> Vec<Out<Attr>> {
    let mut calls: Vec<Call<'_>> = nodes.map(Call::get_attr).collect();
    volume.perform(&mut calls);
    calls.iter().map(Call::attr).collect()
}

/// What is there by these names, looked up at once.
fn found(volume: &Volume, wanted: &[(Wanted, &Node, Out<Attr>)]) -> Vec<Option<Attr>> {
    fn look<'w>((wanted, dir, _): &'w (Wanted, &Node, Out<Attr>)) -> Call<'w> {
        wanted.name.as_ref().map_or_else(Call::default, |name| Call::lookup(dir, name))
    }
    let mut calls: Vec<Call<'_>> = wanted.iter().map(look).collect();
    volume.perform(&mut calls);
    let of = |((w, ..), call): (&(Wanted, &Node, Out<Attr>), &Call<'_>)| {
        let found = w.name.as_ref().and_then(|_| call.found().ok())?;
        found.attr.or_else(|| attrs(volume, [&found.node].into_iter()).remove(0).ok())
    };
    wanted.iter().zip(&calls).map(of).collect()
}

impl Wanted {
    /// The job's operand, in `dir`.
    fn operand(self, dir: &Node, contents: bool) -> Operand {
        Operand {
            dir: dir.clone(),
            contents: contents || self.name.is_none(),
            way: self.name.into_iter().collect(),
            shown: self.shown,
            fs_root: self.fs_root,
            dir_fsid: self.dir_fsid,
            must_be_dir: self.slash,
        }
    }
}

/// The failures of a group whose directory cannot be opened.
pub fn unopened(group: &Group, why: &str) -> Vec<Failure> {
    group.operands.iter().map(|wanted| Failure::refused(&wanted.shown, why)).collect()
}
