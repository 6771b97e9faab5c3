//! Over which mounts an operand's directory is done: those that `--mounts` names, those that are found, or its own alone.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::mounts::local::Alias;
use crate::mounts::local::peers::{self, Among, Finder, Place, Purpose, Reason, Way};

use super::console::reason;
use super::flags::ParallelFlags;
use crate::base::name::Shown;

/// What the command line says about mounts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// Those that are found.
    #[default]
    Found,
    /// Groups of mounts, each of one export.
    Named(Vec<Vec<PathBuf>>),
    /// Only the operand's own.
    Off,
}

impl Spread {
    /// What these options say. An error is a usage error.
    pub fn new(flags: &ParallelFlags) -> Result<Spread, String> {
        if flags.no_spread {
            let is_alone = flags.mounts.is_empty();
            return if is_alone {
                Ok(Spread::Off)
            } else {
                Err("--mounts and --no-spread contradict each other".into())
            };
        }
        let group = |text: &OsString| {
            let paths = text.as_bytes().split(|&b| b == b',').map(|path| PathBuf::from(OsStr::from_bytes(path)));
            let paths: Vec<PathBuf> = paths.collect();
            match paths.iter().all(|path| !path.as_os_str().is_empty()) {
                true => Ok(paths),
                false => Err(format!("--mounts: '{}' has an empty name in it", Shown(text.as_bytes()))),
            }
        };
        match &flags.mounts[..] {
            [] => Ok(Spread::Found),
            groups => Ok(Spread::Named(groups.iter().map(group).collect::<Result<_, _>>()?)),
        }
    }
}

/// Finds mounts for one run, and keeps what is to be told of them.
#[derive(Debug, Default)]
pub struct Spreader {
    spread: Spread,
    /// The mount points of the groups, once they are known.
    points: Option<Vec<Vec<PathBuf>>>,
    /// Groups that an operand was in.
    used: Vec<bool>,
    finder: Finder,
    notes: Vec<String>,
    told: usize,
    warnings: Vec<String>,
}

impl Spreader {
    /// Finds them as `spread` says.
    pub fn new(spread: Spread) -> Spreader {
        Spreader { spread, ..Spreader::default() }
    }

    /// The ways to `path` for `purpose`; none where it is not on NFS or cannot be opened, which opening it then says.
    /// An error is a usage error: a mount that was named cannot be used.
    pub fn ways(&mut self, path: &Path, purpose: Purpose) -> Result<Option<Vec<Way>>, String> {
        let Ok(Some(place)) = Place::of(path) else { return Ok(None) };
        let here = place.point();
        let group = self.group(here)?;
        let named = match &self.spread {
            Spread::Named(_) => group.unwrap_or_default(),
            _ => Vec::new(),
        };
        let among = match &self.spread {
            Spread::Found => Among::All,
            Spread::Named(_) | Spread::Off => Among::Named(&named),
        };
        let found = match self.finder.find(&place, purpose, among) {
            Ok(found) => found,
            Err(error) if !named.is_empty() => {
                return Err(format!("--mounts: {}: {}", path.display(), reason(&error)));
            }
            Err(_) => return Ok(None),
        };
        for (point, why) in found.left_out {
            if let Reason::Left(..) = &why {
                self.warnings.push(format!("{}: {why}", point.display()));
            }
            if matches!(among, Among::Named(_)) {
                return Err(format!("--mounts: {} cannot be used: {why}", point.display()));
            }
            self.note(format!("{}: not used beside {}: {why}", point.display(), here.display()));
        }
        if found.ways.len() > 1 {
            let points = found.ways.iter().map(|way| way.mount.point.display().to_string());
            self.note(format!("{}: one file system, over {}", path.display(), points.collect::<Vec<_>>().join(", ")));
        }
        Ok(Some(found.ways))
    }

    /// The mount points that are named together with `point`.
    fn group(&mut self, point: &Path) -> Result<Option<Vec<PathBuf>>, String> {
        let Spread::Named(groups) = &self.spread else { return Ok(None) };
        if self.points.is_none() {
            let resolved = groups.iter().map(|group| group.iter().map(|path| resolved(path)).collect());
            self.points = Some(resolved.collect::<Result<_, _>>()?);
            self.used = vec![false; groups.len()];
        }
        let points = self.points.iter().flatten().enumerate();
        let found = points.into_iter().find(|(_, group)| group.iter().any(|named| named == point));
        Ok(found.map(|(at, group)| {
            self.used[at] = true;
            group.clone()
        }))
    }

    /// Says that mounts were named and no operand is on them, once all operands were asked for.
    pub fn check_used(&mut self) -> Result<(), String> {
        let Spread::Named(groups) = &self.spread else { return Ok(()) };
        self.used.resize(groups.len(), false);
        match groups.iter().zip(&self.used).find(|(_, used)| !**used) {
            Some((group, _)) => Err(format!("--mounts: no operand is on {}", group[0].display())),
            None => Ok(()),
        }
    }

    /// Are these one object, or may they be? `writes`: names may be made in the target to find that out.
    pub fn is_one(&mut self, source: &Path, target: &Path, writes: bool) -> bool {
        self.finder.is_one(source, target, writes).unwrap_or_else(|left| {
            self.warnings.push(format!("{}: {left}", target.display()));
            true
        })
    }

    /// The ids of file systems that are seen through several mounts.
    pub fn alias(&self) -> Alias {
        self.finder.alias()
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// What was found and left out since this was last asked.
    pub fn take_notes(&mut self) -> Vec<String> {
        let new = self.notes[self.told..].to_vec();
        self.told = self.notes.len();
        new
    }

    /// What has to be told in any case.
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }
}

/// A mount point as the kernel's table names it.
fn resolved(path: &Path) -> Result<PathBuf, String> {
    peers::resolved(path).map_err(|error| format!("--mounts: {} cannot be used: {}", path.display(), reason(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(mounts: &[&str], no_spread: bool) -> Result<Spread, String> {
        let mounts = mounts.iter().map(OsString::from).collect();
        Spread::new(&ParallelFlags { parallel: None, window: None, max_iops: None, mounts, no_spread })
    }

    #[test]
    fn groups_of_mounts_are_named_by_commas_and_repetition() {
        assert_eq!(spread(&[], false), Ok(Spread::Found));
        assert_eq!(spread(&[], true), Ok(Spread::Off));
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let named = Spread::Named(vec![paths(&["/a", "/b"]), paths(&["/c"])]);
        assert_eq!(spread(&["/a,/b", "/c"], false), Ok(named));
        assert!(spread(&["/a"], true).unwrap_err().contains("contradict"));
        for bad in ["", "/a,", ",/a", "/a,,/b"] {
            assert!(spread(&[bad], false).unwrap_err().contains("empty name"), "{bad}");
        }
    }

    #[test]
    fn what_is_not_on_nfs_is_opened_as_it_is_and_no_use_of_mounts() {
        let dir = tempfile::tempdir().unwrap();
        let mut spreader = Spreader::default();
        assert!(spreader.ways(dir.path(), Purpose::Writes).unwrap().is_none());
        assert!(spreader.ways(&dir.path().join("absent"), Purpose::Writes).unwrap().is_none());
        assert!(!spreader.is_one(dir.path(), dir.path(), true));
        assert_eq!((spreader.check_used(), spreader.take_notes()), (Ok(()), vec![]));
        let mut spreader = Spreader::new(Spread::Named(vec![vec![dir.path().into()]]));
        assert!(spreader.ways(dir.path(), Purpose::Writes).unwrap().is_none());
        assert!(spreader.check_used().unwrap_err().starts_with("--mounts: no operand is on "));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
