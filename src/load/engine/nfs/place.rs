//! Laying out and looking at files of an export.
//!
//! Promises: a file that was laid out has its exact size, and filled data is safe: a server that restarted meanwhile gets it again.
//! A name that is taken is removed and made anew. Leaves out: reserving room, for which NFSv3 has no procedure; `fallocate` of any kind
//! is a size set by SETATTR.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;

use crate::base::{Name, Status};
use crate::storage::{Attr, AttrChange, Call, How, Kind, Mount, Node, Route, Stable, Unstable};

use super::super::pool::Pool;
use super::super::{Layout, Place, There};
use super::transfer::{self, Unsettled};
use super::{Export, errno, names, waves};

/// Data of one file on its way while it is laid out: at 1 GB/s and 5 ms a target needs 5 MB.
const LAYOUT_IN_FLIGHT_BYTES: u64 = 8 << 20;
/// WRITEs in flight of one file at most; more of them do not make a target faster (`mounts::nfs` sends 64 at once).
const LAYOUT_IN_FLIGHT_MAX: u64 = 64;
/// How often a file is written again because the server lost data, before it is written stably.
const REWRITES_MAX: usize = 3;

/// The files of one entry of nfs_url.
pub struct NfsPlace {
    export: Arc<Export>,
}

/// What a worker gives back of a WRITE: the buffer, and what came of it.
type Put = (Vec<u8>, Route, Result<usize, Status>, Unstable);

impl NfsPlace {
    /// The files below the export's root.
    pub fn new(export: Arc<Export>) -> NfsPlace {
        NfsPlace { export }
    }

    /// The export that they are in.
    pub fn export(&self) -> &Arc<Export> {
        &self.export
    }

    /// An empty file, in place of what has the name.
    fn create(&self, dir: &Node, name: &Name) -> Result<Node, Status> {
        let change = AttrChange { mode: Some(self.export.modes.file), ..AttrChange::default() };
        let made = self.export.one(Call::create(dir, name, How::Guarded, change)).found();
        if made != Err(Status::Exist) {
            return Ok(made?.node);
        }
        self.unlink(dir, name)?;
        Ok(self.export.one(Call::create(dir, name, How::Guarded, change)).found()?.node)
    }

    fn unlink(&self, dir: &Node, name: &Name) -> Result<(), Status> {
        match self.export.one(Call::remove(dir, name)).status() {
            Err(Status::NoEnt) => Ok(()),
            removed => removed,
        }
    }

    fn resize(&self, node: &Node, size: u64) -> Result<(), Status> {
        self.export.one(Call::set_attr(node, AttrChange { size: Some(size), ..AttrChange::default() })).status()
    }

    /// Writes all of a file that is new, until it is safe.
    fn fill(
        &self,
        node: &Node,
        size: u64,
        fill: &mut dyn FnMut(u64, &mut [u8]),
        stop: &dyn Fn() -> bool,
    ) -> Result<(), Status> {
        for attempt in 0..=REWRITES_MAX {
            let one_write = size <= u64::from(self.export.volume.limits().write_max);
            let stable = if one_write || attempt == REWRITES_MAX { Stable::FileSync } else { Stable::Unstable };
            let mut unsettled = self.write(node, size, stable, fill, stop)?;
            if stop() || unsettled.commit(&self.export.volume, node)? {
                return Ok(());
            }
        }
        // The server restarts faster than data can be written.
        Err(Status::Io)
    }

    /// Writes all of a file, as much at once as a target needs.
    fn write(
        &self,
        node: &Node,
        size: u64,
        stable: Stable,
        fill: &mut dyn FnMut(u64, &mut [u8]),
        stop: &dyn Fn() -> bool,
    ) -> Result<Unsettled, Status> {
        let most = self.export.volume.limits().write_max;
        let piece = u64::from(most);
        let at_once =
            (LAYOUT_IN_FLIGHT_BYTES / piece).clamp(2, LAYOUT_IN_FLIGHT_MAX).min(size.div_ceil(piece)) as usize;
        let volume = &self.export.volume;
        let mut unsettled = Unsettled::default();
        if at_once <= 1 {
            let mut data = vec![0; size as usize];
            fill(0, &mut data);
            let route = volume.route();
            let (result, unstable) = transfer::write(volume, route, most, (node, 0), &data, stable);
            unsettled.note(route, unstable);
            return result.map(|_| unsettled);
        }
        let worker = || {
            let (volume, node) = (volume.clone(), node.clone());
            move |(offset, data): (u64, Vec<u8>)| -> Put {
                let route = volume.route();
                let (result, unstable) = transfer::write(&volume, route, most, (&node, offset), &data, stable);
                (data, route, result, unstable)
            }
        };
        let mut pool = Pool::new("nfs-io", at_once, worker).map_err(|error| status_of(&error))?;
        // One buffer more than are in flight is filled meanwhile.
        let mut spare: Vec<Vec<u8>> = (0..=at_once).map(|_| Vec::new()).collect();
        let (mut at, mut failed) = (0, None);
        let mut take = |pool: &mut Pool<_, Put>, spare: &mut Vec<Vec<u8>>, min: usize| {
            pool.take(min, usize::MAX, None, |(data, route, result, unstable)| {
                spare.push(data);
                unsettled.note(route, unstable);
                failed = failed.or(result.err());
            })
            .map_err(|errno| Status::from_errno(errno.raw_os_error()))?;
            failed.map_or(Ok(()), Err)
        };
        while at < size && !stop() {
            let Some(mut data) = spare.pop() else {
                take(&mut pool, &mut spare, 1)?;
                continue;
            };
            data.resize(piece.min(size - at) as usize, 0);
            fill(at, &mut data);
            let offset = at;
            at += data.len() as u64;
            pool.submit(&mut vec![(offset, data)]);
        }
        take(&mut pool, &mut spare, usize::MAX)?;
        Ok(unsettled)
    }

    pub(super) fn lay_out_at(
        &self,
        path: &Path,
        layout: &Layout,
        fill: &mut dyn FnMut(u64, &mut [u8]),
        stop: &dyn Fn() -> bool,
    ) -> Result<(), Status> {
        let node = self.export.at(path, |dir, name| self.create(dir, name))?;
        match layout.size {
            0 => Ok(()),
            size if layout.filled => {
                self.fill(&node, size, fill, stop)?;
                // As in fio, no part of a file is left.
                if stop() { self.export.at(path, |dir, name| self.unlink(dir, name)) } else { Ok(()) }
            }
            size => self.resize(&node, size),
        }
    }
}

/// Calls of one window over many names: what a connection takes in flight.
const WINDOW: usize = 64;

impl NfsPlace {
    /// One call for each path, many at once. `judge` says what its answer means, and gives none where only `alone` can tell, one path at
    /// a time. Where a path's directory is not there, it is `nothing`.
    fn each<R: Clone>(
        &self,
        paths: &[PathBuf],
        call: impl Fn(&Node, &Name) -> Call<'static>,
        judge: impl Fn(&Call<'_>) -> Option<Result<R, Errno>>,
        alone: impl Fn(&Path) -> Result<R, Errno>,
        nothing: R,
    ) -> Vec<Result<R, Errno>> {
        // Also of those that are not there, which are not asked for again for each of thousands of names.
        let mut dirs: HashMap<Vec<Name>, Result<Node, Status>> = HashMap::new();
        let mut all = Vec::with_capacity(paths.len());
        for some in paths.chunks(WINDOW) {
            let mut places = Vec::with_capacity(some.len());
            let mut calls = Vec::with_capacity(some.len());
            for path in some {
                let mut names = names(path).unwrap_or_default();
                let Some(name) = names.pop() else {
                    places.push(Err(Status::Inval));
                    continue;
                };
                if !dirs.contains_key(&names) {
                    let found = self.export.anew(|| self.export.dir(&names, false));
                    dirs.insert(names.clone(), found);
                }
                places.push(match &dirs[&names] {
                    Ok(dir) => {
                        calls.push(call(dir, &name));
                        Ok(())
                    }
                    Err(status) => Err(*status),
                });
            }
            self.export.volume.perform(&mut calls);
            let mut answers = calls.iter();
            for (path, place) in some.iter().zip(places) {
                all.push(match place {
                    Err(Status::NoEnt) => Ok(nothing.clone()),
                    Err(_) => alone(path),
                    Ok(()) => answers.next().and_then(&judge).unwrap_or_else(|| alone(path)),
                });
            }
        }
        all
    }
}

fn there(attr: &Attr) -> Result<There, Errno> {
    match attr.kind {
        Kind::File => Ok(There::File(attr.size)),
        Kind::Dir => Ok(There::Dir),
        Kind::Symlink => Err(Errno::LOOP),
        // NFSv3 shows devices, and has no way to their data.
        Kind::Block | Kind::Char | Kind::Socket | Kind::Fifo => Ok(There::Stream),
    }
}

/// What an answer means; a directory that was found earlier may have been made anew, which is looked at alone.
fn judged<T, R>(
    answer: Result<T, Status>,
    means: impl Fn(T) -> Option<Result<R, Errno>>,
    nothing: R,
) -> Option<Result<R, Errno>> {
    match answer {
        Ok(answer) => means(answer),
        Err(Status::NoEnt) => Some(Ok(nothing)),
        Err(Status::Stale | Status::BadHandle) => None,
        Err(status) => Some(Err(errno(status))),
    }
}

/// Why threads could not be had.
pub(super) fn status_of(error: &std::io::Error) -> Status {
    error.raw_os_error().map_or(Status::Io, Status::from_errno)
}

impl Place for NfsPlace {
    fn look(&self, path: &Path) -> Result<There, Errno> {
        if names(path).map_err(errno)?.is_empty() {
            return Ok(There::Dir);
        }
        match self.export.at(path, |dir, name| self.export.look_up(dir, name)) {
            Ok((_, attr)) => there(&attr),
            Err(Status::NoEnt) => Ok(There::Nothing),
            Err(status) => Err(errno(status)),
        }
    }

    fn look_many(&self, paths: &[PathBuf]) -> Vec<Result<There, Errno>> {
        let judge = |call: &Call<'_>| judged(call.found(), |found| Some(there(&found.attr?)), There::Nothing);
        self.each(paths, Call::lookup, judge, |path| self.look(path), There::Nothing)
    }

    fn make_parents(&self, path: &Path) -> Result<(), Errno> {
        let names = names(path).map_err(errno)?;
        let Some((_, dirs)) = names.split_last() else { return Ok(()) };
        self.export.anew(|| self.export.dir(dirs, true)).map(drop).map_err(errno)
    }

    fn lay_out(
        &self,
        path: &Path,
        layout: &Layout,
        fill: &mut dyn FnMut(u64, &mut [u8]),
        stop: &dyn Fn() -> bool,
    ) -> Result<(), Errno> {
        self.lay_out_at(path, layout, fill, stop).map_err(errno)
    }

    fn lay_out_many(
        &self,
        files: &[(PathBuf, Layout)],
        fill: &mut dyn FnMut(usize, u64, &mut [u8]),
        stop: &dyn Fn() -> bool,
    ) -> Result<(), (usize, Errno)> {
        waves::lay_out(self, files, fill, stop).map_err(|(index, status)| (index, errno(status)))
    }

    fn remove(&self, path: &Path) -> Result<(), Errno> {
        match self.export.at(path, |dir, name| self.unlink(dir, name)) {
            Ok(()) | Err(Status::NoEnt) => Ok(()),
            Err(status) => Err(errno(status)),
        }
    }

    fn remove_many(&self, paths: &[PathBuf]) -> Vec<Result<(), Errno>> {
        let judge = |call: &Call<'_>| judged(call.status(), |()| Some(Ok(())), ());
        self.each(paths, Call::remove, judge, |path| self.remove(path), ())
    }

    fn is_on_disk(&self, _path: &Path) -> bool {
        false
    }
}
