//! Copying trees: the target becomes what the source is, in one pass, in parallel.
//!
//! Directories are listed on both sides, page against page, and what is equal by these listings costs no further call. A new
//! small file costs READ at the source and CREATE, WRITE and SETATTR at the target, in windows; large ones are carried in
//! ranges by all lanes. A file's times are set last, after its data is safe, so a file of the source's size and time is complete and
//! a run that was interrupted, however, is resumed by running it again. Directories get their attributes when all is in them.
//!
//! Nothing outside the two roots is reached: objects are known by handles or by directory and name, symbolic links are
//! copied and never followed. Memory is bounded by the depth and width of the tree: what waits are pages of listings (see
//! [`crate::crew::Agenda`]), comparisons hold at most `join_max` names, hard links at most `links_max` entries.
//!
//! Leaves out: what changes at the source while it is copied is copied as it is met; there is no snapshot but the server's own.

mod aside;
mod attributes;
mod batch;
mod big;
mod compare;
mod complete;
mod ctx;
mod decide;
mod delete;
mod dir;
mod enter;
mod feed;
mod fill;
mod folds;
mod groups;
mod join;
mod link;
mod links;
mod make;
mod run;
mod shares;
mod spared;
mod stood;
mod task;
mod visit;
mod whole;
mod xattrs;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64};
use std::time::{Duration, Instant};

use crate::base::Name;
use crate::crew::Crew;
use crate::storage::{Attr, Volume};

use super::Live;
use super::select::Rules;
use links::Links;
use run::Run;
pub use spared::{Deletes, Spared};

/// How often an object is begun anew because something came in its way.
const TRIES_MAX: usize = 4;

/// What to copy and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// What is left out, on both sides; matched against paths below the source's root.
    pub rules: Rules,
    /// When a file that is there counts as equal.
    pub compare: Compare,
    /// What to do with a file that is there and differs.
    pub existing: Existing,
    /// Which attributes are carried.
    pub preserve: Preserve,
    /// Who copies, where that is not root.
    pub user: Option<User>,
    /// Directories of other file systems than the source's root are made and not entered.
    pub one_file_system: bool,
    /// Remove from the target what the source lacks.
    pub delete: Option<Delete>,
    /// Write files under a temporary name and rename them; also done wherever an unfinished file could pass for a whole one.
    pub atomic: bool,
    /// What is done beside copying, or instead.
    pub verify: Verify,
    /// What becomes of runs of zeros.
    pub sparse: Sparse,
    /// Let the storage copy, and share blocks, where it can.
    pub reflink: bool,
    /// A file larger than this is copied in ranges of this size, by several lanes.
    pub range_bytes: u64,
    /// The names come from a list, and were not each typed.
    pub from_list: bool,
    /// Mode bits taken off new objects where modes are not preserved.
    pub umask: u32,
    /// Multiply linked files remembered at most at once; beyond, the source is listed once more for the rest.
    /// An entry takes at most 300 bytes.
    pub links_max: usize,
    /// Names of both sides held at most while they are compared; beyond, names are looked up one by one.
    /// A name takes at most 500 bytes.
    pub join_max: usize,
    /// What tells this host's process ids from others': of a run on the same host it is known whether it is under way, so that what it left
    /// under temporary names can be removed at once.
    pub host: Option<u64>,
}

impl Options {
    /// How many objects may be deleted, to be counted off by all copies of one run.
    pub fn deletable(&self) -> AtomicI64 {
        let max = self.delete.and_then(|delete| delete.max);
        AtomicI64::new(max.map_or(i64::MAX, |max| i64::try_from(max).unwrap_or(i64::MAX)))
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            rules: Rules::default(),
            compare: Compare::default(),
            existing: Existing::default(),
            preserve: Preserve::ALL,
            user: None,
            one_file_system: false,
            delete: None,
            atomic: false,
            verify: Verify::default(),
            sparse: Sparse::default(),
            reflink: true,
            range_bytes: 4 << 20,
            from_list: false,
            umask: 0o022,
            links_max: 500_000,
            join_max: 200_000,
            host: None,
        }
    }
}

/// A user that cannot give files away, but to the groups that it is a member of (POSIX's chown).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The user's id.
    pub uid: u32,
    /// The groups that it is a member of.
    pub groups: Arc<[u32]>,
    /// Ownership is to be carried: these groups are.
    pub carried: bool,
}

/// When a regular file counts as equal to the source's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compare {
    /// Its size and time are the source's.
    #[default]
    SizeAndTime,
    /// Its size is (`--size-only`).
    Size,
    /// Its bytes are (`--checksum`).
    Bytes,
    /// Never (`--ignore-times`).
    Never,
}

/// What to do with a file that is there and differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// Make it equal.
    #[default]
    Replace,
    /// Unless its time is the later one (`-u`).
    UnlessNewer,
    /// Leave it (`-n`); what is in directories that are there is still copied.
    Keep,
}

/// Which attributes are carried to the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub struct Preserve {
    pub mode: bool,
    pub uid: bool,
    pub gid: bool,
    pub times: bool,
    pub hard_links: bool,
    pub xattrs: bool,
    pub acls: bool,
    /// Devices, fifos and sockets; false leaves them out.
    pub specials: bool,
}

impl Preserve {
    /// Everything.
    pub const ALL: Preserve = Preserve {
        mode: true,
        uid: true,
        gid: true,
        times: true,
        hard_links: true,
        xattrs: true,
        acls: true,
        specials: true,
    };
}

/// Removing from the target what the source lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delete {
    /// No more objects than this; the rest is counted and told.
    pub max: Option<u64>,
    /// Also when the source could not be read everywhere.
    pub despite_errors: bool,
    /// Also what the rules leave out.
    pub excluded: bool,
}

/// Reading back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// No.
    #[default]
    Off,
    /// What was written is read back and compared, written once more if it differs, then an error.
    Written,
    /// Nothing is written; the trees are compared, data and attributes, and every difference is told.
    Only,
}

/// What becomes of runs of zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sparse {
    /// Holes where the source has some.
    #[default]
    Auto,
    /// Holes for every block of zeros.
    Always,
    /// None.
    Never,
}

/// One side of a copy.
pub struct Side<'a> {
    /// The volume.
    pub volume: &'a Volume,
    /// The way to the root of the copy below the volume's root; symbolic links are not followed. On the target the last
    /// name need not exist.
    pub way: Vec<Name>,
    /// It is the root of a file system: a `.snapshot` in it is left alone.
    pub fs_root: bool,
    /// The root as the user typed it, for messages.
    pub shown: Vec<u8>,
}

/// What is to be copied below the roots.
pub enum What<'a> {
    /// The source's root becomes the target's root: a directory's contents, or one file.
    Tree,
    /// These paths below the source's root become the same paths below the target's, which is a directory.
    /// An `Err` is a list that cannot be read on.
    Names(&'a mut (dyn Iterator<Item = Result<Vec<u8>, String>> + Send)),
}

/// What happened to an object, for `-v`, and what would in a dry run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum Deed {
    /// Made anew.
    Made,
    /// Its content was made equal.
    Updated,
    /// Its attributes were made equal.
    Attributes,
    /// Made another name of a file.
    Linked,
    /// Removed from the target.
    Removed,
    /// Differs: found by `Verify::Only`. The text says in what.
    Differs(&'static str),
}

/// What came of a copy. Failures are in the crew's report.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)] // counts of objects; see `Deed`
pub struct Summary {
    /// Objects of the source met.
    pub objects: u64,
    /// Regular files made or made equal, and their bytes.
    pub files: u64,
    pub bytes: u64,
    /// Directories made.
    pub dirs: u64,
    pub symlinks: u64,
    pub hard_links: u64,
    pub specials: u64,
    /// Objects whose attributes alone were made equal.
    pub attributes: u64,
    /// Objects that were equal.
    pub unchanged: u64,
    /// Objects left out by the rules, other file systems, or kinds that are not carried.
    pub left_out: u64,
    /// Objects left as they were by `Existing`.
    pub kept: u64,
    pub deleted: u64,
    /// Objects that `--max-delete` or errors of the source saved from being deleted.
    pub delete_held_back: u64,
    /// Differences found by `Verify::Only`.
    pub differences: u64,
    pub verified_bytes: u64,
    /// Files that changed while they were read, and were read again.
    pub read_again: u64,
    /// Names of the source that were no more when they were to be read: removed, or renamed.
    pub vanished: u64,
    /// Passes over the source; more than one where `links_max` was not enough.
    pub passes: u64,
    /// The most tasks that waited at once, and the most names that comparisons held: what memory was used for.
    pub waited_most: usize,
    pub joined_most: usize,
    pub elapsed: Duration,
    /// What was odd.
    pub warnings: Vec<String>,
    /// Why not all was done, when the run was stopped.
    pub stopped: Option<String>,
}

/// Who hears of deeds, with their paths.
pub type Tell<'a> = &'a (dyn Fn(Deed, &[u8]) + Sync);

/// Says which other source of the same run, by its path for people, has brought what is at a path below the target's root, by what it is
/// there. Asked for each object that is about to be replaced, or made equal, by this source's.
pub type Taken<'a> = &'a (dyn Fn(&[u8], &Attr) -> Option<Vec<u8>> + Sync);

/// Makes the target what the source is. `tell` hears of each deed: its path below the roots, empty for the roots themselves; from any
/// lane, in any order.
pub fn copy(
    source: &Side<'_>,
    target: &Side<'_>,
    what: What<'_>,
    options: &Options,
    crew: &Crew,
    live: &Live,
    tell: Option<Tell<'_>>,
) -> Summary {
    let left = options.deletable();
    let held = AtomicBool::new(false);
    Series::new(options, (crew, live), Deletes { left: &left, spared: &[], others: false, held: &held }, false).copy(
        source,
        target,
        what,
        (tell, None),
    )
}

/// Copies one after the other, all onto one volume and from one host or server. Names of one file that several of them meet
/// become names of one file.
pub struct Series<'a> {
    options: Options,
    crew: &'a Crew,
    live: &'a Live,
    deletes: Deletes<'a>,
    links: Links,
}

impl<'a> Series<'a> {
    /// Copies that are done with these options; `several`, if a later one may meet what an earlier one has met.
    pub fn new(
        options: &Options,
        (crew, live): (&'a Crew, &'a Live),
        deletes: Deletes<'a>,
        several: bool,
    ) -> Series<'a> {
        // What a killed run left unfinished must not pass for what is to be kept, or for complete by its size alone.
        let by_name = options.existing != Existing::Replace || options.compare == Compare::Size;
        let options = Options { atomic: options.atomic || by_name, ..options.clone() };
        Series { links: Links::new(options.links_max, several), options, crew, live, deletes }
    }

    /// The next one; see [`copy`]. What `taken` says another source has brought is refused.
    pub fn copy(
        &self,
        source: &Side<'_>,
        target: &Side<'_>,
        what: What<'_>,
        (tell, taken): (Option<Tell<'_>>, Option<Taken<'_>>),
    ) -> Summary {
        let start = Instant::now();
        let Series { options, crew, live, deletes, links } = self;
        // A list of names cannot be read twice; a comparison would tell all twice.
        links.begin(matches!(what, What::Tree) && options.verify != Verify::Only);
        let mut names = match what {
            What::Tree => None,
            What::Names(names) => Some(names),
        };
        let mut summary: Option<Summary> = None;
        loop {
            let run = Run { sides: (source, target), options, crew, live, tell, taken, deletes: *deletes, links };
            let passes = summary.as_ref().map_or(0, |summary| summary.passes);
            let pass = run.pass(names.take(), passes > 0);
            summary = Some(match summary {
                None => pass,
                Some(before) => before.and(pass),
            });
            let again = links.next_pass();
            if !again || crew.stop().is_set() {
                break;
            }
        }
        let mut summary = summary.unwrap_or_default();
        if links.has_lost_others() {
            let text = "more hard links than can be remembered for several sources; some between them may have been copied as \
                        files of their own";
            summary.warnings.push(text.into());
        }
        summary.elapsed = start.elapsed();
        summary
    }
}

impl Summary {
    /// Two passes of one run.
    fn and(self, later: Summary) -> Summary {
        Summary {
            objects: self.objects + later.objects,
            files: self.files + later.files,
            bytes: self.bytes + later.bytes,
            dirs: self.dirs + later.dirs,
            symlinks: self.symlinks + later.symlinks,
            hard_links: self.hard_links + later.hard_links,
            specials: self.specials + later.specials,
            attributes: self.attributes + later.attributes,
            unchanged: self.unchanged + later.unchanged,
            left_out: self.left_out + later.left_out,
            kept: self.kept + later.kept,
            deleted: self.deleted + later.deleted,
            delete_held_back: self.delete_held_back + later.delete_held_back,
            differences: self.differences + later.differences,
            verified_bytes: self.verified_bytes + later.verified_bytes,
            read_again: self.read_again + later.read_again,
            vanished: self.vanished + later.vanished,
            passes: self.passes + later.passes,
            waited_most: self.waited_most.max(later.waited_most),
            joined_most: self.joined_most.max(later.joined_most),
            elapsed: Duration::ZERO,
            warnings: [self.warnings, later.warnings].concat(),
            stopped: self.stopped.or(later.stopped),
        }
    }
}
