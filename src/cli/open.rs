//! Opening the volumes that a command line names, with their counters and ceilings.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::price::Ceiling;
use crate::base::{Name, PriceList};
use crate::crew::Stop;
use crate::mounts::local::peers::{Mounted, Purpose, Way};
use crate::mounts::nfs::{NfsMount, Url, Usage};
use crate::mounts::{LocalMount, ShadowMount, Shadows};
use crate::storage::{self, Lowered, Mount, Tap, Tapped, Throttle, Volume};

use super::console::{Console, reason};
use super::exports::{self, Exports};
use super::location::Location;
use super::meter::{Meter, Meters, Role};
use super::patience;
use super::planned::{PAUSE, Planned};
use super::spread::{Spread, Spreader};

/// What statfs(2) says of a kernel's NFS mount.
const NFS_SUPER_MAGIC: rustix::fs::FsWord = 0x6969;

/// Opens volumes whose targets are counted and, where asked, held under a ceiling; one target has one clock, however many
/// volumes and sides it is in.
pub struct Opener {
    held: Option<Ceiling>,
    stop: Stop,
    meters: Meters,
    throttles: HashMap<String, Arc<Throttle>>,
    rehearsal: Option<Rehearsal>,
    planned: Option<Planned>,
    changes: bool,
    /// Windows are full before a lane has them, whatever lanes do.
    batched: bool,
    removes: bool,
    /// Devices of mounts that have stored what was written before.
    synced: HashSet<u64>,
    /// Who hears of a wait.
    console: Option<Arc<Console>>,
    spreader: Spreader,
    /// Volumes that are opened one after the other in a rehearsal may hold each other: what their shadows share, by server.
    nested: Option<HashMap<String, Shadows>>,
    /// What was found for directories that are not opened yet.
    found: Vec<(PathBuf, Purpose, Vec<Way>)>,
}

/// A run that changes nothing: what it would ask is asked of shadows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rehearsal {
    /// No file is read either.
    Unread,
    /// Files are read, for a job that compares them.
    Reading,
}

impl Opener {
    /// Counts into `meters`.
    pub fn new(meters: Meters) -> Opener {
        let (throttles, spreader) = (HashMap::new(), Spreader::default());
        Opener {
            held: None,
            stop: Stop::default(),
            meters,
            throttles,
            rehearsal: None,
            planned: None,
            changes: true,
            batched: false,
            removes: false,
            synced: HashSet::new(),
            console: None,
            spreader,
            nested: None,
            found: Vec::new(),
        }
    }

    /// Holds each target under `ceiling`, until `stop`.
    pub fn held(mut self, ceiling: Option<Ceiling>, stop: &Stop) -> Opener {
        (self.held, self.stop) = (ceiling, stop.clone());
        self
    }

    /// For a job that removes from one volume after the other, which may be one in the other: a rehearsal knows in each what is gone
    /// of the others.
    pub fn nesting(mut self) -> Opener {
        self.nested = self.rehearsal.is_some().then(HashMap::new);
        self.removes = true;
        self
    }

    /// True in a rehearsal where the directory of this volume was removed through another one.
    pub fn is_gone(&self, volume: &Volume) -> bool {
        self.nested.iter().flatten().any(|(_, shadows)| shadows.is_gone(&volume.root()))
    }

    /// From now on directories are opened through the mounts that `spread` says.
    pub fn over(mut self, spread: &Spread) -> Opener {
        self.spreader = Spreader::new(spread.clone());
        self
    }

    /// A long wait is told there.
    pub fn telling(mut self, console: &Arc<Console>) -> Opener {
        self.console = Some(console.clone());
        self
    }

    /// Exports of the same run.
    pub fn exports(&self) -> Exports {
        Exports::telling(self.console.clone())
    }

    /// Whether names are made or removed at all.
    pub fn changing(mut self, changes: bool) -> Opener {
        self.changes = changes;
        self
    }

    /// For a job whose windows do not depend on how fast lanes are: to rehearse it, no lane has to wait as for a server. On kernels'
    /// mounts they do depend on it, for there lanes choose among directories.
    pub fn batched(mut self) -> Opener {
        self.batched = true;
        self
    }

    /// True when something may be changed, be it only to find something out.
    pub fn is_changing(&self) -> bool {
        self.changes && self.rehearsal.is_none()
    }

    /// What finds the mounts of a directory.
    pub fn spreader(&mut self) -> &mut Spreader {
        &mut self.spreader
    }

    /// Finds the mounts of directories of this host, before the first is opened and anything is changed: the destination
    /// first, for what is proven by writing there holds for a source as well. An error is a usage error.
    pub fn spread<'a>(&mut self, dirs: impl IntoIterator<Item = (&'a Path, Option<Role>)>) -> Result<(), String> {
        for (path, role) in dirs {
            let purpose = self.purpose(role);
            if self.found.iter().any(|(there, what, _)| there == path && *what == purpose) {
                continue;
            }
            if let Some(ways) = self.spreader.ways(path, purpose)? {
                self.found.push((path.to_path_buf(), purpose, ways));
            }
        }
        self.spreader.check_used()
    }

    fn purpose(&self, role: Option<Role>) -> Purpose {
        match (role, self.rehearsal) {
            (Some(Role::Source), _) => Purpose::Reads,
            (_, Some(_)) => Purpose::Rehearses,
            (_, None) if !self.changes => Purpose::Reads,
            (_, None) => Purpose::Writes,
        }
    }

    /// What is done to a directory on the side of `role`.
    pub fn usage(&self, role: impl Into<Option<Role>>) -> Usage {
        match self.purpose(role.into()) {
            Purpose::Writes => Usage::Writes,
            Purpose::Reads | Purpose::Rehearses => Usage::Reads,
        }
    }

    /// From now on volumes are opened for a rehearsal, where one is given.
    pub fn rehearse(mut self, rehearsal: Option<Rehearsal>) -> Opener {
        self.rehearsal = rehearsal;
        self
    }

    /// From now on volumes are opened for a forecast, where one is wanted; it is a rehearsal.
    pub fn planned(mut self, planned: Option<&Planned>) -> Opener {
        if let Some(planned) = planned {
            self.rehearsal.get_or_insert(Rehearsal::Unread);
            self.planned = Some(planned.clone());
        }
        self
    }

    /// Opens with `open` what is really read, also in a rehearsal.
    pub fn real<T>(&mut self, open: impl FnOnce(&mut Opener) -> T) -> T {
        let rehearsal = self.rehearsal.take();
        let opened = open(self);
        self.rehearsal = rehearsal;
        opened
    }

    /// Opens `location`, on the side of `role`. An error is `NAME: CALL: reason`.
    pub fn volume(&mut self, location: &Location, role: Option<Role>) -> Result<Volume, String> {
        match location {
            Location::Dir(path) => self.local(path, role, &[]),
            Location::Nfs(url, text) => {
                let mounts = exports::attach(self.console.as_deref(), url, self.usage(role));
                let mounts = mounts.map_err(|error| format!("{text}: Cannot mount: {error}"))?;
                Ok(self.attached(mounts, role, &[]))
            }
        }
    }

    /// Opens the directory `path`, through all mounts that it is to be worked on, with the taps `more` before its own.
    pub fn local(&mut self, path: &Path, role: Option<Role>, more: &[Arc<Throttle>]) -> Result<Volume, String> {
        let volume = self.open_local(path, role, more)?;
        if self.nested.is_some()
            && let Ok(whole) = path.canonicalize()
        {
            stand_at(&volume, whole.as_os_str().as_bytes());
        }
        Ok(volume)
    }

    /// A volume of targets that were attached at `url`; see [`Opener::nesting`].
    pub fn attached_at(&mut self, url: &Url, mounts: Vec<Arc<NfsMount>>) -> Volume {
        let volume = self.attached(mounts, None, &[]);
        if self.nested.is_some() {
            stand_at(&volume, &url.path);
        }
        volume
    }

    fn open_local(&mut self, path: &Path, role: Option<Role>, more: &[Arc<Throttle>]) -> Result<Volume, String> {
        let failed = |error: io::Error| format!("{}: Cannot open: {}", path.display(), reason(&error));
        let purpose = self.purpose(role);
        let ready = self.found.iter().position(|(there, what, _)| there == path && *what == purpose);
        let ways = match ready {
            Some(at) => Some(self.found.swap_remove(at).2),
            None => self.spreader.ways(path, purpose)?,
        };
        if let Some(ways) = ways {
            let alias = self.spreader.alias();
            let mut opened: Vec<(Arc<LocalMount>, Mounted)> = Vec::new();
            for Way { dir, mount } in ways {
                let local = match opened.first() {
                    None => LocalMount::of_dir(dir, &mount.point, alias.clone()),
                    Some((first, _)) => first.beside(dir, &mount.point),
                };
                opened.push((Arc::new(local.map_err(failed)?), mount));
            }
            // Before what is sent counts as the run's.
            self.sync(&opened);
            let mounts = opened.into_iter().map(|(opened, mount)| {
                let (label, target) = (mount.point.display().to_string(), mount.server.clone());
                let key = format!("device {}", mount.device);
                self.meters.kernel.count(&mount, &opened);
                if let Some(planned) = &self.planned {
                    planned.measure(&opened, &target, Some(&mount));
                }
                let meter = Meter { label, ledger: Arc::default(), nfs: Vec::new(), is_nfs: true, role, key, target };
                (opened as Arc<dyn Mount>, meter)
            });
            let mounts = mounts.collect();
            return Ok(self.tapped(mounts, more));
        }
        let mount = LocalMount::open(path).map_err(failed)?;
        let device = std::fs::metadata(path).map_err(failed)?.dev();
        let meter = Meter {
            label: mount.label(),
            ledger: Arc::default(),
            nfs: Vec::new(),
            is_nfs: rustix::fs::statfs(path).is_ok_and(|stat| is_nfs(&stat)),
            role,
            key: format!("device {device}"),
            target: format!("device {device}"),
        };
        if let Some(planned) = &self.planned {
            planned.measure(&mount, &meter.target, None);
        }
        Ok(self.tapped(vec![(Arc::new(mount), meter)], more))
    }

    /// Has each of several mounts store what was written through it, once in a run. What is removed has no data that matters.
    fn sync(&mut self, opened: &[(Arc<LocalMount>, Mounted)]) {
        if opened.len() > 1 && self.rehearsal.is_none() && !self.removes {
            let new = opened.iter().filter(|(_, mount)| self.synced.insert(mount.device));
            let new: Vec<Arc<LocalMount>> = new.map(|(local, _)| local.clone()).collect();
            let text = || {
                let mounts: Vec<String> = new.iter().map(|mount| mount.label()).collect();
                format!("waiting until what was written before through {} is stored", mounts.join(", "))
            };
            patience::told(self.console.as_deref(), patience::USUAL, text, || LocalMount::sync_all(&new));
        }
    }

    /// A volume of these targets, with the taps `more` before their own.
    pub fn attached(&mut self, mounts: Vec<Arc<NfsMount>>, role: Option<Role>, more: &[Arc<Throttle>]) -> Volume {
        let metered = mounts.into_iter().map(|mount| {
            mount.heed(self.stop.flag());
            let (label, nfs) = (mount.label(), vec![mount.clone()]);
            let meter = Meter {
                key: label.clone(),
                target: label.clone(),
                label,
                ledger: Arc::default(),
                nfs,
                is_nfs: true,
                role,
            };
            (mount as Arc<dyn Mount>, meter)
        });
        self.tapped(metered.collect(), more)
    }

    /// A volume of a mount that stands for a direct one to a target that is not there.
    pub fn imagined(&mut self, mount: Arc<dyn Mount>, role: Option<Role>) -> Volume {
        let label = mount.label();
        let (ledger, key, target) = (Arc::default(), label.clone(), label.clone());
        let meter = Meter { label, ledger, nfs: Vec::new(), is_nfs: true, role, key, target };
        self.tapped(vec![(mount, meter)], &[])
    }

    /// What the shadows of a volume of these targets share with those of others: all of this host, and all of one server.
    fn shadows(&mut self, meters: &[Meter]) -> Option<Shadows> {
        let nested = self.nested.as_mut()?;
        let server = meters.first().filter(|meter| !meter.nfs.is_empty()).map_or("", |meter| &meter.label);
        Some(nested.entry(server.into()).or_insert_with(Shadows::new).clone())
    }

    fn tapped(&mut self, mounts: Vec<(Arc<dyn Mount>, Meter)>, more: &[Arc<Throttle>]) -> Volume {
        let (mut mounts, meters): (Vec<_>, Vec<_>) = mounts.into_iter().unzip();
        // A throttle is outside the ledger: the time it holds a window back is not the target's latency. In a rehearsal it
        // holds what is really asked, under the shadow.
        let mut throttle = |(meter, mount): (&Meter, &Arc<dyn Mount>)| -> Option<Arc<dyn Tap>> {
            let ceiling = self.held?;
            let new = || Arc::new(Throttle::new(ceiling, PriceList::oci(), self.stop.flag()));
            let throttle = self.throttles.entry(meter.target.clone()).or_insert_with(new).clone();
            meter.nfs.iter().for_each(|mount| mount.hold_by(throttle.clone()));
            Some(if is_lowered(mount) { Arc::new(Lowered::new(mount.clone(), throttle)) } else { throttle })
        };
        let throttles: Vec<Option<Arc<dyn Tap>>> = meters.iter().zip(&mounts).map(&mut throttle).collect();
        let idle = self.planned.as_ref().and_then(|planned| planned.idle(&meters));
        if let Some(rehearsal) = self.rehearsal {
            let nested = self.shadows(&meters);
            let unseen = &self.meters.unseen;
            let shadow = |(shadow, meter): (ShadowMount, &Meter)| -> Arc<dyn Mount> {
                let shadow = shadow.telling(unseen.clone());
                let shadow = if rehearsal == Rehearsal::Reading { shadow.reading() } else { shadow };
                // Of what is not on NFS nothing is forecast.
                Arc::new(match (self.planned.is_some(), meter.is_nfs, rehearsal) {
                    (true, true, _) => {
                        let is_kernel = shadow.limits().dirs_locked;
                        let paced = self.planned.as_ref().filter(|_| is_kernel || !meter.nfs.is_empty());
                        let paced = paced.and_then(|planned| planned.paced(&meter.target, &meter.key, idle, is_kernel));
                        let waits = !self.batched || is_kernel;
                        let shadow = if waits { shadow.pausing(PAUSE) } else { shadow.at_once() };
                        if let Some(paced) = paced { shadow.paced(paced) } else { shadow }
                    }
                    (true, false, Rehearsal::Unread) => shadow.unopened(),
                    _ => shadow,
                })
            };
            let held = mounts.into_iter().zip(&throttles).map(|(mount, throttle)| -> Arc<dyn Mount> {
                Arc::new(Tapped::new(mount, throttle.iter().cloned().collect()))
            });
            let shadows = match &nested {
                Some(shadows) => ShadowMount::beside(shadows, held),
                None => ShadowMount::all(held),
            };
            mounts = shadows.into_iter().zip(&meters).map(shadow).collect();
        }
        let is_real = self.rehearsal.is_none();
        for mount in meters.iter().flat_map(|meter| &meter.nfs).filter(|_| is_real) {
            more.iter().for_each(|throttle| mount.hold_by(throttle.clone()));
        }
        let courses = self.planned.as_ref().map(|planned| planned.follow(&mounts, &meters, idle)).unwrap_or_default();
        let courses = courses.into_iter().map(Some).chain(std::iter::repeat(None));
        let parts = mounts.into_iter().zip(meters).zip(throttles.into_iter().zip(courses));
        let tapped = parts.map(|((mount, meter), (throttle, course))| -> Arc<dyn Mount> {
            let before =
                more.iter().map(|more| more.clone() as Arc<dyn Tap>).chain(throttle).filter(|_| is_real).chain(course);
            let is_clamped = is_real && !meter.nfs.is_empty();
            let clamped = is_clamped.then(|| self.meters.clamped.clone() as Arc<dyn Tap>);
            let (target, role) = (meter.target.clone(), meter.role);
            let ledger = self.meters.ledger(meter);
            if let Some(planned) = &self.planned {
                planned.counts(&target, role, &ledger);
            }
            let counting: Arc<dyn Tap> =
                if is_lowered(&mount) { Arc::new(Lowered::new(mount.clone(), ledger)) } else { ledger };
            Arc::new(Tapped::new(mount, before.chain(clamped).chain([counting]).collect()))
        });
        Volume::new(tapped.collect(), storage::Spread::default())
    }
}

/// Gives the root of a volume the place of `path`: what is known by its way is one object through any volume.
fn stand_at(volume: &Volume, path: &[u8]) {
    let way: Vec<Name> = path.split(|&b| b == b'/').filter_map(|name| Name::new(name).ok()).collect();
    volume.root().stand_at(&way);
}

/// True of what statfs(2) says of a kernel's NFS mount.
pub fn is_nfs(stat: &rustix::fs::StatFs) -> bool {
    stat.f_type == NFS_SUPER_MAGIC
}

/// True of a kernel's NFS mount: what is counted and held are the procedures that it sends, not the calls made of it.
fn is_lowered(mount: &Arc<dyn Mount>) -> bool {
    mount.limits().dirs_locked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forecast_goes_through_local_files_many_at_once_unless_it_reads_them() {
        let dir = tempfile::tempdir().unwrap();
        let bulk = |rehearsal: Option<Rehearsal>, planned: Option<&Planned>| {
            let mut opener = Opener::new(Meters::default()).rehearse(rehearsal).planned(planned);
            opener.local(dir.path(), None, &[]).unwrap().limits().extras.bulk
        };
        let planned = Some(&Planned::default());
        assert!(bulk(None, None) && bulk(None, planned));
        assert!(!bulk(Some(Rehearsal::Reading), planned) && !bulk(Some(Rehearsal::Unread), None));
    }
}
