//! The proof that several targets serve one file system. Ids, times and even handles may be those of two: copies of one disk have all of them.

use crate::base::{Name, Proc, Status, Time, Unbroken, name};
use crate::storage::{Attr, AttrChange, Call, How, Mount, Node, Op, SetTime, Space, Want};

use super::{AttachError, NfsMount};

/// What a job does to the directory that it attaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// It changes nothing there, and no proof is to: another run may read the same, or a copy be compared by its times.
    Reads,
    /// It makes or removes names.
    Writes,
    /// It does that to measure: each target is to be there, whatever it remembers of names that are gone.
    Measures,
}

/// The handles that several targets give to one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handles {
    /// The same ones.
    Shared,
    /// Each target has its own.
    Own,
}

impl Handles {
    fn and(self, equal: bool) -> Handles {
        if equal { self } else { Handles::Own }
    }
}

/// How often a comparison of what may be changing is begun.
const LOOKS_MAX: usize = 4;

/// Proves that all mounts, each asked by its own root's handle, show one directory. For a job that writes a name made through the first
/// has to be seen through the others, and once it is removed to be seen no more: what is replaced through one target would else be taken for
/// what it was, a hard link's target for instance. For one that reads equal file ids, change times, first pages of the listing and counts of what is free
/// have to do; where these differ or go on changing, or are not to be had, the name decides for it too: a server may have cached what it
/// shows. Where nothing can be made, it is what can be seen, but for what is free, which others change all the time.
pub(super) fn prove_same(mounts: &[NfsMount], usage: Usage) -> Result<Handles, AttachError> {
    let Some((first, others)) = mounts.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Ok(Handles::Shared);
    };
    if usage == Usage::Reads {
        match by_looks(first, others, Counts::All) {
            Err(AttachError::Different { .. } | AttachError::Call { status: Status::Access, .. }) => {}
            proven => return proven,
        }
    }
    by_name(first, others, usage).unwrap_or_else(|| by_looks(first, others, Counts::Totals))
}

/// By a name; none where none can be made. The directory gets the time back that it had.
fn by_name(first: &NfsMount, others: &[NfsMount], usage: Usage) -> Option<Result<Handles, AttachError>> {
    let root = first.root();
    let name = name::unique();
    let change = AttrChange { mode: Some(0o600), ..AttrChange::default() };
    let all = || std::iter::once(first).chain(others);
    let before: Vec<Option<Attr>> = all().map(|mount| attr_of(mount, &mount.root()).ok()).collect();
    let _unbroken = Unbroken::begin();
    let verdict = match sent(first, Call::create(&root, &name, How::Guarded, change)).found() {
        Ok(made) => seen_by_all(first, others, &name, &made.node),
        // It may be there all the same; nobody else has this name.
        Err(status) if status.is_uncertain() || status == Status::Exist => {
            Err(failed(first, &name.to_string(), Proc::Create, status))
        }
        Err(_) => return None,
    };
    // By another target where the first is gone meanwhile: no name is to stay.
    let mut removed = (first, Err(Status::NoReply));
    for mount in all() {
        removed = (mount, sent(mount, Call::remove(&mount.root(), &name)).status());
        if !removed.1.is_err_and(Status::is_uncertain) {
            break;
        }
    }
    // Nor the time of its making. Whoever had the name to remove shows this directory, and who has seen it.
    let shows = |mount: &&NfsMount| {
        std::ptr::eq(*mount, first) || verdict.is_ok() || removed.1.is_ok() && std::ptr::eq(*mount, removed.0)
    };
    // Of one directory the first may not have heard yet of what was changed through another; of several each has a time of its own.
    let of_one = if verdict.is_ok() { before.len() } else { 1 };
    if let Some(before) = before.into_iter().take(of_one).flatten().max_by_key(|attr| attr.ctime) {
        let change = AttrChange { mtime: SetTime::At(before.mtime), ..AttrChange::default() };
        for mount in all().filter(shows) {
            // Refused to those who do not own it; then it has the time of this proof.
            if !sent(mount, Call::set_attr(&mount.root(), change)).status().is_err_and(Status::is_uncertain) {
                break;
            }
        }
    }
    Some(verdict.and_then(|handles| match removed.1 {
        Ok(()) if usage != Usage::Measures && std::ptr::eq(removed.0, first) => {
            forgotten(first, others, &name).map(|()| handles)
        }
        // A target that fell silent amid it may have removed it all the same.
        Ok(()) | Err(Status::NoEnt) => Ok(handles),
        Err(status) => Err(failed(first, &name.to_string(), Proc::Remove, status)),
    }))
}

fn seen_by_all(first: &NfsMount, others: &[NfsMount], name: &Name, made: &Node) -> Result<Handles, AttachError> {
    let asked = |mount, node: &Node| {
        attr_of(mount, node).map_err(|error| failed(mount, &name.to_string(), Proc::GetAttr, error))
    };
    let fileid = asked(first, made)?.fileid;
    others.iter().try_fold(Handles::Shared, |handles, other| {
        let seen = sent(other, Call::lookup(&other.root(), name)).found().map_err(|status| match status {
            Status::NoEnt => different(first, other, format!("a file made there is not seen: {status}")),
            // It may be there all the same.
            status => failed(other, &name.to_string(), Proc::Lookup, status),
        })?;
        if asked(other, &seen.node)?.fileid != fileid {
            return Err(different(first, other, "a file made there has another file id".into()));
        }
        // CREATE may give another form of a handle than LOOKUP.
        let is_shared = seen.node == *made || found(first, name).is_some_and(|node| node == seen.node);
        Ok(handles.and(is_shared))
    })
}

/// That no other target still shows a name which each has shown and the first has removed. One that cannot say is taken at its word later.
fn forgotten(first: &NfsMount, others: &[NfsMount], name: &Name) -> Result<(), AttachError> {
    match others.iter().find(|other| found(other, name).is_some()) {
        Some(other) => Err(AttachError::Remembers { first: first.label(), other: other.label() }),
        None => Ok(()),
    }
}

/// Which of FSSTAT's counts are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counts {
    All,
    /// Not what is free.
    Totals,
}

/// What a mount shows of its root.
#[derive(PartialEq)]
struct Looks {
    fileid: u64,
    ctime: Time,
    names: Vec<(Name, u64)>,
    space: Option<Space>,
}

impl Looks {
    fn of(mount: &NfsMount, counts: Counts) -> Result<Looks, AttachError> {
        let root = mount.root();
        let attr = attr_of(mount, &root).map_err(|status| failed(mount, "/", Proc::GetAttr, status))?;
        let mut calls = [Call::read_dir(&root, Default::default(), Want::Names, 8192), Call::fs_stat(&root)];
        mount.perform(&mut calls);
        let page = calls[0].take_page().map_err(|status| failed(mount, "/", Proc::ReadDir, status))?;
        let names = page.entries.into_iter().map(|entry| (entry.name, entry.fileid)).collect();
        let space = match (&calls[1].op, counts) {
            (Op::FsStat { out: Ok(space), .. }, Counts::All) => Some(*space),
            (Op::FsStat { out: Ok(Space { total_bytes, total_files, .. }), .. }, Counts::Totals) => {
                Some(Space { total_bytes: *total_bytes, total_files: *total_files, ..Space::default() })
            }
            _ => None,
        };
        Ok(Looks { fileid: attr.fileid, ctime: attr.ctime, names, space })
    }
}

/// Each other is compared with what the first shows before and after it, for both may be changing.
fn by_looks(first: &NfsMount, others: &[NfsMount], counts: Counts) -> Result<Handles, AttachError> {
    let look = |mount| Looks::of(mount, counts);
    let mut seen = look(first)?;
    let mut handles = Handles::Shared;
    for other in others {
        let mut tries = 1;
        loop {
            let there = look(other)?;
            if there == seen {
                break;
            }
            let now = look(first)?;
            let (is_same, is_still) = (there == now, now == seen);
            seen = now;
            if is_same {
                break;
            }
            if is_still || tries == LOOKS_MAX {
                let why = "its root has another file id, change time, listing or space".into();
                return Err(different(first, other, why));
            }
            tries += 1;
        }
        // Of an empty directory that nothing can be made in, no handle is needed.
        let sample = seen.names.first().map(|(name, _)| name);
        handles = handles
            .and(sample.is_none_or(|name| found(first, name).is_some_and(|node| found(other, name) == Some(node))));
    }
    Ok(handles)
}

fn different(first: &NfsMount, other: &NfsMount, why: String) -> AttachError {
    AttachError::Different { first: first.label(), other: other.label(), why }
}

fn failed(mount: &NfsMount, path: &str, proc: Proc, status: Status) -> AttachError {
    AttachError::Call { target: mount.label(), path: path.into(), proc, status }
}

fn sent<'a>(mount: &NfsMount, call: Call<'a>) -> Call<'a> {
    let mut calls = [call];
    mount.perform(&mut calls);
    let [call] = calls;
    call
}

fn found(mount: &NfsMount, name: &Name) -> Option<Node> {
    sent(mount, Call::lookup(&mount.root(), name)).found().ok().map(|found| found.node)
}

pub(super) fn attr_of(mount: &NfsMount, node: &Node) -> Result<Attr, Status> {
    sent(mount, Call::get_attr(node)).attr()
}
