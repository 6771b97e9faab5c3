//! Many small files laid out together: the CREATEs of a wave of files in one window, then their WRITEs or SETATTRs.
//!
//! Promises: as one by one, in fewer round trips; a file that fits one WRITE is written stably, which saves its COMMIT. Leaves out:
//! files that are larger, which are laid out one by one after the others.

use std::ops::Range;
use std::path::PathBuf;

use crate::base::{Name, Status};
use crate::storage::{AttrChange, Call, How, Mount, Node, Route, Stable, Volume};

use super::super::Layout;
use super::super::pool::Pool;
use super::place::{NfsPlace, status_of};
use super::transfer::{self, Unsettled};
use super::{Modes, names};

/// Files of one wave: what a connection takes in flight.
const WAVE_FILES_MAX: usize = 64;
/// Data of one wave, if it is more than one file.
const WAVE_BYTES_MAX: usize = 4 << 20;
/// Waves in flight for each mount, so that one is filled and created while another is written.
const WAVES_PER_MOUNT: usize = 2;

/// What came of a file: its place in the list, and why it failed.
type Failed = (usize, Status);

/// A file of a wave.
struct Small {
    index: usize,
    dir: Node,
    name: Name,
    size: u64,
    /// Its bytes in the wave's data; none when it is not filled.
    filled: Option<Range<usize>>,
    node: Option<Node>,
}

#[derive(Default)]
struct Wave {
    files: Vec<Small>,
    data: Vec<u8>,
}

/// What carries out waves.
struct Swimmer<'a> {
    volume: &'a Volume,
    modes: Modes,
    route: Route,
}

/// Lays out `files` as `NfsPlace::lay_out_many` says.
pub(super) fn lay_out(
    place: &NfsPlace,
    files: &[(PathBuf, Layout)],
    fill: &mut dyn FnMut(usize, u64, &mut [u8]),
    stop: &dyn Fn() -> bool,
) -> Result<(), Failed> {
    let export = place.export();
    let write_max = u64::from(export.volume.limits().write_max);
    let is_small = |layout: &Layout| !layout.filled || layout.size <= write_max;
    let worker = || {
        let (volume, modes) = (export.volume.clone(), export.modes);
        move |mut wave: Wave| {
            let swimmer = Swimmer { volume: &volume, modes, route: volume.route() };
            let result = swimmer.carry(&mut wave);
            (wave.data, result)
        }
    };
    let smalls = files.iter().filter(|(_, layout)| is_small(layout)).count();
    let at_once = (export.volume.mounts().len() * WAVES_PER_MOUNT).min(smalls.div_ceil(WAVE_FILES_MAX));
    let mut pool = Pool::new("nfs-io", at_once, worker).map_err(|error| (0, status_of(&error)))?;
    let mut spare: Vec<Vec<u8>> = Vec::new();
    let take = |pool: &mut Pool<Wave, _>, min: usize, spare: &mut Vec<Vec<u8>>| -> Result<(), Failed> {
        let mut failed = None;
        let taken = pool.take(min, usize::MAX, None, |(data, result): (Vec<u8>, Result<(), Failed>)| {
            spare.push(data);
            failed = failed.or(result.err());
        });
        taken.map_err(|errno| (0, Status::from_errno(errno.raw_os_error())))?;
        failed.map_or(Ok(()), Err)
    };
    let mut wave = Wave::default();
    for (index, (path, layout)) in files.iter().enumerate().filter(|(_, (_, layout))| is_small(layout)) {
        if stop() {
            break;
        }
        let bytes = if layout.filled { layout.size as usize } else { 0 };
        if wave.files.len() == WAVE_FILES_MAX || !wave.data.is_empty() && wave.data.len() + bytes > WAVE_BYTES_MAX {
            let too_many = pool.under_way() > at_once;
            take(&mut pool, usize::from(too_many), &mut spare)?;
            pool.submit(&mut vec![std::mem::take(&mut wave)]);
            wave.data = spare.pop().unwrap_or_default();
            wave.data.clear();
        }
        let names = names(path).map_err(|status| (index, status))?;
        let (name, dirs) = names.split_last().ok_or((index, Status::IsDir))?;
        let dir = export.anew(|| export.dir(dirs, false)).map_err(|status| (index, status))?;
        let from = wave.data.len();
        wave.data.resize(from + bytes, 0);
        let filled = (bytes > 0).then(|| from..from + bytes);
        filled.iter().for_each(|range| fill(index, 0, &mut wave.data[range.clone()]));
        wave.files.push(Small { index, dir, name: name.clone(), size: layout.size, filled, node: None });
    }
    if !wave.files.is_empty() {
        pool.submit(&mut vec![wave]);
    }
    take(&mut pool, usize::MAX, &mut spare)?;
    for (index, (path, layout)) in files.iter().enumerate().filter(|(_, (_, layout))| !is_small(layout)) {
        if stop() {
            break;
        }
        let mut fill = |offset: u64, bytes: &mut [u8]| fill(index, offset, bytes);
        place.lay_out_at(path, layout, &mut fill, stop).map_err(|status| (index, status))?;
    }
    Ok(())
}

impl Swimmer<'_> {
    fn carry(&self, wave: &mut Wave) -> Result<(), Failed> {
        let taken = self.create(&mut wave.files)?;
        if taken {
            // Names that were taken are removed, and those files made in a window of their own.
            self.remove(&wave.files)?;
            self.create(&mut wave.files)?;
        }
        if let Some(file) = wave.files.iter().find(|file| file.node.is_none()) {
            return Err((file.index, Status::Exist));
        }
        self.write(wave)?;
        self.resize(wave)
    }

    fn perform(&self, calls: &mut [Call<'_>]) {
        self.volume.perform_on(self.route, calls);
    }

    /// CREATEs the files that have no node; true when a name was taken.
    fn create(&self, files: &mut [Small]) -> Result<bool, Failed> {
        let change = AttrChange { mode: Some(self.modes.file), ..AttrChange::default() };
        let mut open: Vec<&mut Small> = files.iter_mut().filter(|file| file.node.is_none()).collect();
        let create = |file: &&mut Small| Call::create(&file.dir, &file.name, How::Guarded, change);
        let mut calls: Vec<Call<'_>> = open.iter().map(create).collect();
        self.perform(&mut calls);
        let mut taken = false;
        for (file, call) in open.iter_mut().zip(&calls) {
            match call.found() {
                Ok(found) => file.node = Some(found.node),
                Err(Status::Exist) => taken = true,
                Err(status) => return Err((file.index, status)),
            }
        }
        Ok(taken)
    }

    fn remove(&self, files: &[Small]) -> Result<(), Failed> {
        let taken = || files.iter().filter(|file| file.node.is_none());
        let mut calls: Vec<Call<'_>> = taken().map(|file| Call::remove(&file.dir, &file.name)).collect();
        self.perform(&mut calls);
        for (file, call) in taken().zip(&calls) {
            match call.status() {
                Ok(()) | Err(Status::NoEnt) => {}
                Err(status) => return Err((file.index, status)),
            }
        }
        Ok(())
    }

    /// WRITEs what is filled, stably.
    fn write(&self, wave: &Wave) -> Result<(), Failed> {
        let filled = || wave.files.iter().filter_map(|file| Some((file, file.node.as_ref()?, file.filled.clone()?)));
        let call =
            |(_, node, range): (&Small, &_, Range<usize>)| Call::write(node, 0, &wave.data[range], Stable::FileSync);
        let mut calls: Vec<Call<'_>> = filled().map(call).collect();
        self.perform(&mut calls);
        for ((file, node, range), call) in filled().zip(&calls) {
            let failed = |status| (file.index, status);
            let written = call.written().map_err(failed)?;
            if written.count as usize == range.len() && written.stable != Stable::Unstable {
                continue;
            }
            // The server did less than was asked of it: the whole once more, by what goes on after that.
            let most = self.volume.limits().write_max;
            let (result, unstable) =
                transfer::write(self.volume, self.route, most, (node, 0), &wave.data[range], Stable::FileSync);
            result.map_err(failed)?;
            let mut unsettled = Unsettled::default();
            unsettled.note(self.route, unstable);
            if !unsettled.commit(self.volume, node).map_err(failed)? {
                return Err(failed(Status::Io));
            }
        }
        Ok(())
    }

    /// Sets the sizes of what is not filled.
    fn resize(&self, wave: &Wave) -> Result<(), Failed> {
        let empty = || wave.files.iter().filter(|file| file.filled.is_none() && file.size > 0);
        let change = |size| AttrChange { size: Some(size), ..AttrChange::default() };
        let nodes = empty().filter_map(|file| Some((file, file.node.as_ref()?)));
        let mut calls: Vec<Call<'_>> = nodes.map(|(file, node)| Call::set_attr(node, change(file.size))).collect();
        self.perform(&mut calls);
        for (file, call) in empty().zip(&calls) {
            call.status().map_err(|status| (file.index, status))?;
        }
        Ok(())
    }
}
