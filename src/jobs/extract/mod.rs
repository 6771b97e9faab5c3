//! Extraction: the members of an archive become objects of a volume, in parallel.
//!
//! A small file costs CREATE, WRITE and SETATTR, in windows over a batch of members; a directory MKDIR and, when all
//! is in it, SETATTR and LOOKUP. The result is what GNU tar would leave, whatever the shape of the crew: of several members of one
//! name the last one wins, and a member never waits for more than those before it. A file's time is set last, after
//! its data is safe, so one that has the archive's size and time is complete.
//!
//! Nothing is made outside the destination: names are parsed, directories are never reached through symbolic links, also
//! not the targets of hard links. Memory is bounded by the crew's budget and the limits named `..._MAX`, not by the archive.
//!
//! Leaves out: multi-volume archives, and undoing: what failed or was stopped leaves what it
//! had made, told by name.

mod attributes;
mod batch;
mod big;
mod ctx;
mod dirs;
mod ending;
mod finish;
mod leaf;
mod links;
pub(super) mod owners;
pub(super) mod path;
mod producer;
mod seen;
mod table;
mod taken;
mod wanted;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::archive::Archive;
use crate::base::name::Shown;
use crate::base::{Name, Time};
use crate::crew::Crew;
use crate::storage::Volume;

use super::Live;
use super::inside::{inside, stripped};
use super::members::{Members, Names};
use super::select::{Selection, without_end};
use super::transform::Transform;
use super::xattr_masks::XattrMasks;
use ctx::Ctx;
use path::Place;
use producer::Producer;

/// How often a name that keeps coming back is removed and made again.
const TRIES_MAX: usize = 4;

/// What is said once where attributes of members have no place.
const XATTRS_LOST: &str = "the archive has extended attributes or ACLs; they are not set: the destination has none";

/// What a stopped run says of directories that what is missing would inherit a bit of.
const BITS_HELD_BACK: &str = "directories do not have their set-group-id bit yet, which what is missing in them would inherit: go on without \
                              -k, --skip-old-files and --keep-newer-files";

/// What to extract and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Leading components taken off names and off the targets of hard links; what has no more is left out.
    pub strip_components: usize,
    /// Which members. Matched before names are changed.
    pub select: Selection,
    /// Only members that are not older.
    pub newer: Option<Time>,
    /// Changes members' names and where links lead, before components are stripped.
    pub transform: Option<Transform>,
    /// All goes below this, but for what begins with it: `--one-top-level`.
    pub top: Vec<Name>,
    /// What to do where a name exists.
    pub existing: Existing,
    /// Set the archive's times; false leaves the time of extraction (`-m`).
    pub mtime: bool,
    /// Whose the objects become.
    pub owner: Owner,
    /// Mode bits taken off members: the umask, with 07000 unless all bits are wanted (`-p`: 0).
    pub mode_mask: u32,
    /// The caller is root, who needs no bits of a directory's mode to fill it.
    pub as_root: bool,
    /// The mode of directories that are in a member's path but no members: 0777 less the umask.
    pub implied_mode: u32,
    /// Set extended attributes, those that `xattr_masks` takes.
    pub xattrs: bool,
    /// Which extended attributes.
    pub xattr_masks: XattrMasks,
    /// Set ACLs.
    pub acls: bool,
    /// Set SELinux's context.
    pub selinux: bool,
    /// Leave regular files alone that are there with the member's size and time.
    pub resume: bool,
    /// A file larger than this is written in ranges of this size, by several lanes.
    pub range_bytes: u64,
    /// Directories remembered at most; beyond, those not needed for longest are finished early and looked up again
    /// if they are needed again.
    pub dirs_max: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            strip_components: 0,
            select: Selection::default(),
            newer: None,
            transform: None,
            top: Vec::new(),
            existing: Existing::Replace,
            mtime: true,
            owner: Owner::Keep,
            mode_mask: 0o7022,
            as_root: false,
            implied_mode: 0o755,
            xattrs: false,
            xattr_masks: XattrMasks::default(),
            acls: false,
            selinux: false,
            resume: false,
            range_bytes: 4 << 20,
            dirs_max: 100_000,
        }
    }
}

impl Options {
    /// Are directories that are there removed to be made anew? Where a run goes on after another, they are that one's.
    fn unlinks_dirs(&self) -> bool {
        self.existing == Existing::UnlinkFirst && !self.resume
    }

    /// The path below the destination of what a member of this path would be. It is made anew from the member's where it is told: kept for
    /// each that is under way it would be twice the memory.
    fn placed_path(&self, path: &[u8]) -> Vec<u8> {
        let changed = self.transform.as_ref().map(|transform| transform.apply_to_path(path));
        let path = without_end(stripped(inside(changed.as_deref().unwrap_or(path)), self.strip_components));
        let is_in_top = matches!(path::place(path, 0), Ok(Place::Below(names)) if names.starts_with(&self.top));
        let top = self.top.iter().map(Name::as_bytes).filter(|_| !is_in_top);
        top.chain([path].into_iter().filter(|path| !path.is_empty())).collect::<Vec<_>>().join(&b'/')
    }
}

/// What to do where a member's name exists. Directories are used as they are but for `UnlinkFirst`; their modes and times
/// are left under `Keep` and `Skip`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Remove what is there (a directory only when it is empty) and make the member anew; GNU tar's default.
    Replace,
    /// The same of directories too (`-U`), unless the run goes on after another: one that has something in it stays as it is, which is a
    /// failure, and is filled all the same.
    UnlinkFirst,
    /// A failure (`-k`).
    Keep,
    /// Leave it, which is no failure (`--skip-old-files`).
    Skip,
    /// Leave what is as new as the member, or newer; else as `Replace` (`--keep-newer-files`). A directory never replaces what is none.
    KeepNewer,
    /// Write into a regular file; else as `Replace` (`--overwrite`).
    Overwrite,
}

impl Existing {
    /// Another run leaves what this one has made, whatever became of it.
    pub fn stays(self) -> bool {
        matches!(self, Existing::Keep | Existing::Skip | Existing::KeepNewer)
    }
}

/// What is told of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was made.
    Made,
    /// Something has its name, and is left as it is by `Options::existing`.
    Left,
}

/// Whose the objects become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The caller's.
    Keep,
    /// The archive's: by name where `Owners` knows it, unless `numeric`; else by number.
    FromArchive {
        /// By number only.
        numeric: bool,
    },
}

/// Knows users and groups by name.
pub trait Owners: Sync {
    /// The user's number.
    fn uid(&self, name: &[u8]) -> Option<u32>;
    /// The group's number.
    fn gid(&self, name: &[u8]) -> Option<u32>;
}

/// What came of an extraction. Failures are in the crew's report.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Members dealt with: made, skipped or failed.
    pub members: u64,
    /// Regular files made.
    pub files: u64,
    /// Directory members made or found.
    pub dirs: u64,
    /// Hard and symbolic links made.
    pub links: u64,
    /// Bytes of the files made, holes not counted.
    pub bytes: u64,
    /// Members left alone because they were there.
    pub skipped: u64,
    /// Wall time.
    pub elapsed: Duration,
    /// How long the average lane had nothing to do: the archive came too slowly.
    pub source_wait: Duration,
    /// How long reading the archive waited for lanes: storage was too slow.
    pub storage_wait: Duration,
    /// What is wrong with the archive, first of all.
    pub archive_error: Option<String>,
    /// What was odd.
    pub warnings: Vec<String>,
    /// Why not all was done, when the run was stopped, and up to where it is complete.
    pub stopped: Option<String>,
}

/// Extracts the archive's members below the volume's root. `done` hears the path of each member that was made or left, in
/// the archive's order, from one thread at a time.
pub fn extract(
    volume: &Volume,
    archive: &mut Archive,
    options: &Options,
    owners: &dyn Owners,
    crew: &Crew,
    live: &Live,
    done: &(dyn Fn(&[u8], Fate) + Sync),
) -> Summary {
    let start = Instant::now();
    let waited = crew.budget().waited();
    let ctx = Ctx::new(volume, options, crew, live, done);
    let members = Members::new(archive, &options.select, options.newer, Names::Kept, (crew, live));
    let read = crew.run(|scope| Producer::new(&ctx, scope, members, owners).run());
    let mut warnings = read.warnings.told();
    if ctx.xattrs_lost.load(Ordering::Relaxed) {
        warnings.push(XATTRS_LOST.into());
    }
    if ctx.bits_held_back.load(Ordering::Relaxed) {
        warnings.push(BITS_HELD_BACK.into());
    }
    let counts = &ctx.counts;
    let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let elapsed = start.elapsed();
    let lanes = u64::try_from(crew.shape().lanes).unwrap_or(u64::MAX);
    let busy = Duration::from_nanos(get(&counts.busy_ns) / lanes);
    Summary {
        members: get(&counts.members),
        files: get(&counts.files),
        dirs: get(&counts.dirs),
        links: get(&counts.links),
        bytes: get(&counts.bytes),
        skipped: get(&counts.skipped),
        elapsed,
        source_wait: elapsed.saturating_sub(busy),
        storage_wait: ctx.flight.waited() + crew.budget().waited().saturating_sub(waited),
        archive_error: read.archive_error,
        warnings,
        stopped: read.stopped.then(|| stopped(&ctx)),
    }
}

fn stopped(ctx: &Ctx<'_>) -> String {
    let undone = ctx.counts.undone.load(Ordering::Relaxed) + ctx.crew.report().cancelled();
    let members = ctx.counts.members.load(Ordering::Relaxed);
    let front = ctx.front();
    let upto = match front.count {
        0 => "no member before them is known to be complete".to_string(),
        n => format!("the first {n} members, up to '{}', were dealt with", Shown(&front.path)),
    };
    format!("stopped: {members} members were dealt with, {undone} were read but not finished; {upto}")
}
