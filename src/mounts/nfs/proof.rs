//! The proof that several targets serve one file system. Ids, times and even handles may be those of two: copies of one disk have all of them.

use crate::base::hash::mix;
use crate::base::{Name, Proc, Status, Time, Unbroken};
use crate::storage::{Attr, AttrChange, Call, How, Mount, Node, Op, SetTime, Space, Want};

use super::{AttachError, NfsMount};

/// What a job does to the directory that it attaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// It changes nothing there, and no proof may: another run may read the same, or a copy be compared by its times.
    Reads,
    /// It makes or removes names.
    Writes,
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
/// has to be seen through the others. For one that reads, and where nothing can be made, equal file ids, change times, first pages of
/// the listing and counts of what is free have to do; where they go on changing, it is the name for readers too.
pub(super) fn prove_same(mounts: &[NfsMount], usage: Usage) -> Result<Handles, AttachError> {
    let Some((first, others)) = mounts.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Ok(Handles::Shared);
    };
    if usage == Usage::Reads {
        for _ in 0..LOOKS_MAX {
            match by_looks(first, others) {
                Err(AttachError::Different { .. }) => {}
                proven => return proven,
            }
        }
    }
    by_name(first, others).unwrap_or_else(|| by_looks(first, others))
}

/// By a name; none where none can be made. The directory gets the time back that it had.
fn by_name(first: &NfsMount, others: &[NfsMount]) -> Option<Result<Handles, AttachError>> {
    let root = first.root();
    let unique = mix(mix(u64::from(std::process::id())) ^ Time::now().nanos as u64 ^ (Time::now().secs as u64) << 30);
    let name = Name::new(format!(".parfs-{unique:016x}").as_bytes()).expect("hex digits are a name");
    let change = AttrChange { mode: Some(0o600), ..AttrChange::default() };
    let before = attr_of(first, &root);
    let _unbroken = Unbroken::begin();
    let mut calls = [Call::create(&root, &name, How::Guarded, change)];
    first.perform(&mut calls);
    let verdict = match calls[0].found() {
        Ok(made) => seen_by_all(first, others, &name, &made.node),
        // It may be there all the same.
        Err(status) if status.is_uncertain() => Err(failed(first, &name.to_string(), Proc::Create, status)),
        Err(_) => return None,
    };
    // By another target where the first is gone meanwhile: no name is to stay, nor the time of its making.
    let of_any = |call: &dyn Fn(&NfsMount) -> Call<'static>| {
        let mut status = Ok(());
        for mount in std::iter::once(first).chain(others) {
            let mut calls = [call(mount)];
            mount.perform(&mut calls);
            status = calls[0].status();
            if !status.is_err_and(Status::is_uncertain) {
                break;
            }
        }
        status
    };
    let removed = of_any(&|mount| Call::remove(&mount.root(), &name));
    if let Ok(before) = before {
        // Refused to those who do not own it; then it has the time of this proof.
        let change = AttrChange { mtime: SetTime::At(before.mtime), ..AttrChange::default() };
        let _refused = of_any(&|mount| Call::set_attr(&mount.root(), change));
    }
    Some(verdict.and_then(|handles| match removed {
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
        let mut calls = [Call::lookup(&other.root(), name)];
        other.perform(&mut calls);
        let seen = calls[0].found().map_err(|status| match status {
            _ if status.is_uncertain() => failed(other, &name.to_string(), Proc::Lookup, status),
            status => different(first, other, format!("a file made there is not seen: {status}")),
        })?;
        if asked(other, &seen.node)?.fileid != fileid {
            return Err(different(first, other, "a file made there has another file id".into()));
        }
        // CREATE may give another form of a handle than LOOKUP.
        let is_shared = seen.node == *made || found(first, name).is_some_and(|node| node == seen.node);
        Ok(handles.and(is_shared))
    })
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
    fn of(mount: &NfsMount) -> Result<Looks, AttachError> {
        let root = mount.root();
        let attr = attr_of(mount, &root).map_err(|status| failed(mount, "/", Proc::GetAttr, status))?;
        let mut calls = [Call::read_dir(&root, Default::default(), Want::Names, 8192), Call::fs_stat(&root)];
        mount.perform(&mut calls);
        let page = calls[0].take_page().map_err(|status| failed(mount, "/", Proc::ReadDir, status))?;
        let names = page.entries.into_iter().map(|entry| (entry.name, entry.fileid)).collect();
        let space = match &calls[1].op {
            Op::FsStat { out: Ok(space), .. } => Some(*space),
            _ => None,
        };
        Ok(Looks { fileid: attr.fileid, ctime: attr.ctime, names, space })
    }
}

fn by_looks(first: &NfsMount, others: &[NfsMount]) -> Result<Handles, AttachError> {
    let seen = Looks::of(first)?;
    // Of an empty directory that nothing can be made in, no handle is needed.
    let sample = seen.names.first().map(|(name, _)| name.clone());
    others.iter().try_fold(Handles::Shared, |handles, other| {
        if Looks::of(other)? != seen {
            let why = "its root has another file id, change time, listing or free space".into();
            return Err(different(first, other, why));
        }
        let is_shared = |name: &Name| found(first, name).is_some_and(|node| found(other, name) == Some(node));
        Ok(handles.and(sample.as_ref().is_none_or(is_shared)))
    })
}

fn different(first: &NfsMount, other: &NfsMount, why: String) -> AttachError {
    AttachError::Different { first: first.label(), other: other.label(), why }
}

fn failed(mount: &NfsMount, path: &str, proc: Proc, status: Status) -> AttachError {
    AttachError::Call { target: mount.label(), path: path.into(), proc, status }
}

fn found(mount: &NfsMount, name: &Name) -> Option<Node> {
    let mut calls = [Call::lookup(&mount.root(), name)];
    mount.perform(&mut calls);
    calls[0].found().ok().map(|found| found.node)
}

pub(super) fn attr_of(mount: &NfsMount, node: &Node) -> Result<Attr, Status> {
    let mut calls = [Call::get_attr(node)];
    mount.perform(&mut calls);
    calls[0].attr()
}
