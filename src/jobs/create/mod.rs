//! Creation: trees become an archive, read in parallel and written in the trees' order.
//!
//! Directories are listed ahead of where the archive is, in order and within bounds; what the listings say is all that a small file
//! costs beside its READ. The archive is cut into pieces; lanes read what a piece holds, pieces take their places in order as they are
//! complete, and are then written (to a file on storage) by lanes at their offsets or (to a stream) one after the other.
//!
//! A file that cannot be opened is left out and told; one that shrinks or fails while it is read is padded with zeros and told, for its
//! size is in the archive already; both as GNU tar does.

mod ctx;
mod describe;
mod entry;
mod front;
mod layout;
mod line;
mod member;
mod mend;
mod piece;
mod recheck;
mod walk;

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::archive::PIECE_BYTES;
pub use crate::archive::Pack;
use crate::archive::write::{self, Format};
use crate::base::{Failure, Name, Time};
use crate::crew::{Crew, Scope};
use crate::storage::{Mount, Node, Volume};

use super::Live;
use super::mode::ModeChange;
use super::port::Port;
use super::select::Selection;
use super::transform::Transform;
use super::xattr_masks::XattrMasks;

use ctx::{Ctx, add};
use entry::Listing;
pub use entry::{FileKey, server};
use front::{LISTINGS_MAX, Next};
use layout::Layout;
use line::{Line, Target};
use mend::Left;
use piece::Piece;

/// Operands looked at ahead of where the archive is.
const OPERANDS_AHEAD: usize = 256;
/// Pieces that lanes read and pack, or that wait for it, for each lane. Of a million empty files over nfs:// (benches/plan.sh, then with
/// 64 members in a piece) all that the budget allowed took 288 MB, four for each lane 192 MB, and no longer; with up to 256 it is 195 MB.
const PIECES_EACH_LANE: usize = 4;

/// What goes into the archive and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The archive's format.
    pub format: Format,
    /// Members of a directory in the order of their names' bytes; else as the directory lists them.
    pub sort_by_name: bool,
    /// What is left out, by the members' names; an excluded directory is not entered. Operands of it are not used.
    pub exclude: Selection,
    /// Directories of other file systems than their operand's are stored and not entered.
    pub one_file_system: bool,
    /// Store each name of a file with several as a file of its own.
    pub hard_dereference: bool,
    /// Leave out holes.
    pub sparse: bool,
    /// Extended attributes, which ones.
    pub xattrs: bool,
    /// Which ones of them.
    pub xattr_masks: XattrMasks,
    /// ACLs.
    pub acls: bool,
    /// SELinux's context.
    pub selinux: bool,
    /// Only files (directories always) that are newer.
    pub newer: Option<Newer>,
    /// Only what the archive does not have, or has with an earlier time (`-u`).
    pub update: Option<Arc<dyn Archived>>,
    /// What is said of all members instead of what their files say.
    pub attributes: Attributes,
    /// Changes names on their way into the archive.
    pub transform: Option<Arc<Transform>>,
    /// Keep a leading `/` of members' names.
    pub absolute_names: bool,
    /// The archive itself, where it is a file: it is not stored in itself.
    pub archive: Option<FileKey>,
    /// Multiply linked files remembered at most at once. Beyond, further names of the rest are stored as files of their own.
    pub links_max: usize,
    /// Trees may overlap: files of which all names have come are remembered as well, as far as there is room.
    pub several: bool,
    /// Directory entries listed ahead at most.
    pub ahead_max: usize,
    /// The archive's size is a multiple of this.
    pub record_bytes: u64,
    /// Blocks in front of the first member: a volume label.
    pub label: Vec<u8>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            format: Format::default(),
            sort_by_name: false,
            exclude: Selection::default(),
            one_file_system: false,
            hard_dereference: false,
            sparse: false,
            xattrs: false,
            xattr_masks: XattrMasks::default(),
            acls: false,
            selinux: false,
            newer: None,
            update: None,
            attributes: Attributes::default(),
            transform: None,
            absolute_names: false,
            archive: None,
            links_max: 1_000_000,
            several: false,
            ahead_max: 50_000,
            record_bytes: write::RECORD_BYTES,
            label: Vec::new(),
        }
    }
}

/// `--newer` and `--newer-mtime`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Newer {
    /// Later than this, or at it.
    pub than: Time,
    /// A later change of attributes (ctime) counts as well.
    pub or_changed: bool,
}

/// What an archive that is updated has already.
pub trait Archived: Send + Sync + std::fmt::Debug {
    /// What it has of this name.
    fn latest(&self, path: &[u8]) -> Option<Latest>;
}

/// What an archive has of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latest {
    /// The latest time of a member of this name.
    pub mtime: Time,
    /// That is known to the nanosecond; else to the second.
    pub is_exact: bool,
    /// The last member of this name is a directory.
    pub is_dir: bool,
}

/// Attributes of all members.
#[derive(Clone, Debug, Default)]
pub struct Attributes {
    /// Owner's name (empty: none) and number.
    pub owner: Option<(Vec<u8>, u32)>,
    /// Group's name and number.
    pub group: Option<(Vec<u8>, u32)>,
    /// Applied to each mode.
    pub mode: Option<Arc<ModeChange>>,
    /// Time of last modification.
    pub mtime: Option<Time>,
    /// Only members later than `mtime` get it.
    pub clamp_mtime: bool,
    /// No names of owners and groups.
    pub numeric: bool,
}

/// Names users and groups.
pub trait Names: Sync {
    /// The user's name, empty where there is none.
    fn user(&self, uid: u32) -> Vec<u8>;
    /// The group's name.
    fn group(&self, gid: u32) -> Vec<u8>;
}

/// One tree.
pub struct Operand {
    /// Where it is.
    pub volume: Arc<Volume>,
    /// The way to it below the volume's root, whose last name is not followed when it is a symbolic link; empty: the root itself.
    pub way: Vec<Name>,
    /// Its name as it was typed: the members' names begin with it.
    pub name: Vec<u8>,
    /// It is the root of a file system: a `.snapshot` in it is left alone.
    pub fs_root: bool,
    /// Enter it, if it is a directory.
    pub recursive: bool,
    /// What of it is left out besides.
    pub exclude: Arc<Selection>,
    /// Finds what symbolic links in it lead to, where these are followed.
    pub follow: Option<Arc<dyn Follow>>,
}

/// Follows symbolic links, which the calls on storage never do.
pub trait Follow: Send + Sync {
    /// What the link of this path (that of its member, as the operand's name begins it) leads to: the volume and the way below its
    /// root.
    fn follow(&self, path: &[u8]) -> Result<(Arc<Volume>, Vec<Name>), Unfollowed>;
}

/// Why a symbolic link is not followed.
pub enum Unfollowed {
    /// It leads to nothing: for GNU tar what was there is gone.
    Nothing,
    /// The reason.
    Refused(String),
}

/// Where the archive goes.
pub enum Output<'a> {
    /// A stream, written from one thread at a time; its errors end the run.
    Stream(&'a mut (dyn std::io::Write + Send)),
    /// A file on storage, from byte `at` on, written by all lanes.
    File {
        /// Where it is.
        volume: &'a Volume,
        /// The file.
        node: Node,
        /// Where the first member goes: 0, or where those that are there end.
        at: u64,
    },
}

/// What came of it. Failures are in the crew's report.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)] // counts of members
pub struct Summary {
    pub members: u64,
    pub files: u64,
    pub dirs: u64,
    pub links: u64,
    /// Bytes of files' data.
    pub bytes: u64,
    /// Bytes of the archive, before packing.
    pub archive_bytes: u64,
    /// Files that changed while they were read: exit status 1.
    pub changed: u64,
    /// What was odd, in order.
    pub warnings: Vec<String>,
    /// Why the archive could not be written on.
    pub archive_error: Option<String>,
    /// It could not because a reader went away, who knows that.
    pub unread: bool,
    /// Why not all was done, when the run was stopped.
    pub stopped: Option<String>,
    pub elapsed: Duration,
    pub source_wait: Duration,
    pub storage_wait: Duration,
}

/// Makes an archive of the operands, in their order. `pack` compresses it. `tell` hears of each member in the archive's order, from
/// one thread at a time. An operand that is an `Err` is told as a failure.
#[allow(clippy::too_many_arguments)] // what a run is made of
pub fn create(
    operands: &mut dyn Iterator<Item = Result<Operand, Failure>>,
    output: Output<'_>,
    pack: Option<&dyn Pack>,
    options: &Options,
    names: &dyn Names,
    crew: &Crew,
    live: &Live,
    tell: &(dyn Fn(&[u8]) + Sync),
) -> Summary {
    let start = Instant::now();
    let waited = crew.budget().waited();
    let ctx = Ctx::new(options, names, crew, live, tell);
    let (target, at, write_max) = match output {
        Output::Stream(writer) => (Target::Stream(Mutex::new(writer)), 0, PIECE_BYTES),
        Output::File { volume, node, at } => {
            (Target::File(Port::new(volume, crew.shape().window), node), at, volume.limits().write_max)
        }
    };
    let line = Line::new(target, pack, at);
    let piece_bytes = pack.map_or(PIECE_BYTES.min(write_max) as usize, Pack::piece_bytes);
    crew.run(|scope| {
        let run = Run { ctx: &ctx, line: &line, pack, scope };
        run.produce(operands, piece_bytes);
    });
    // What lanes had no window for: nobody is in a directory any more.
    recheck::run(&ctx, true);
    let stopped = crew.stop().is_set();
    if !stopped && !line.has_failed() {
        run_end(&ctx, &line, pack);
    }
    // What was added to an archive must not cost what it held; a new one that is not complete is to look so.
    let unfinished = stopped || line.has_failed();
    let left = (unfinished && at > 0).then(|| line.mend(options.record_bytes));
    if unfinished {
        line.let_go(&ctx);
    }
    if line.has_failed() && at == 0 {
        line.cut_off(&ctx);
    } else if stopped && at == 0 {
        line.break_off(&write::broken_off());
        line.reveal_cut(&ctx);
    }
    let counts = &ctx.counts;
    let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let elapsed = start.elapsed();
    let busy = Duration::from_nanos(get(&counts.busy_ns) / crew.shape().lanes as u64);
    let archive_error = line.take_error().map(|error| match &left {
        Some(left) => format!("{error}; {left}"),
        None => error,
    });
    Summary {
        members: get(&counts.members),
        files: get(&counts.files),
        dirs: get(&counts.dirs),
        links: get(&counts.links),
        bytes: get(&counts.bytes),
        archive_bytes: line.raw() - at,
        changed: get(&counts.changed),
        warnings: ctx.take_warnings(),
        stopped: (stopped && archive_error.is_none()).then(|| cut_short(left.as_ref(), get(&counts.members))),
        archive_error,
        unread: line.is_unread(),
        elapsed,
        source_wait: elapsed.saturating_sub(busy),
        storage_wait: crew.budget().waited().saturating_sub(waited) + ctx.flight.waited(),
    }
}

/// How a stopped run leaves a new archive with so many members, or one that was added to.
fn cut_short(left: Option<&Left>, members: u64) -> String {
    match left {
        None => format!("stopped: the archive ends after {members} members and has no end"),
        Some(left) => format!("stopped: {left}"),
    }
}

/// Writes the archive's end.
fn run_end(ctx: &Ctx<'_>, line: &Line<'_>, pack: Option<&dyn Pack>) {
    let end = write::end(line.raw(), ctx.options.record_bytes);
    match pack.map_or(Ok(end.clone()), |pack| pack.pack(&end)) {
        Ok(bytes) => line.finish(ctx, bytes),
        Err(error) => line.fail(ctx, format!("Cannot compress: {error}")),
    }
}

/// A creation under way.
struct Run<'r, 's, 'a> {
    ctx: &'s Ctx<'a>,
    line: &'s Line<'a>,
    pack: Option<&'s dyn Pack>,
    scope: &'r Scope<'r, 's>,
}

/// Breaks the walk off when a lane panics, so that nobody waits for what it would have listed.
struct Guard<'s, 'a>(&'s Ctx<'a>);

impl Drop for Guard<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.front.break_off();
            // Whoever waits for bytes that are held for its piece is to give up.
            self.0.crew.stop().set();
        }
    }
}

impl<'s> Run<'_, 's, '_> {
    /// Lays out the operands, and then what was put in the place of files while these were waiting to be read.
    fn produce(&self, operands: &mut dyn Iterator<Item = Result<Operand, Failure>>, piece_bytes: usize) {
        let ctx = self.ctx;
        let mut layout = Layout::new(piece_bytes, self.pack.is_some(), |piece| self.give(piece));
        layout.label(ctx.options.label.clone());
        let mut operands = Some(operands);
        loop {
            // What was missed is known when all has been read.
            if !self.walk(&mut operands, &mut layout) || !ctx.flight.drained() {
                return;
            }
            let missed = ctx.take_missed();
            if missed.is_empty() {
                return;
            }
            missed.into_iter().for_each(|(home, path)| ctx.front.add(Listing::Again { home, path }));
        }
    }

    /// Walks ahead and cuts pieces until all is laid out; false when the run is to end.
    fn walk<G: FnMut(Piece) -> bool>(
        &self,
        operands: &mut Option<&mut dyn Iterator<Item = Result<Operand, Failure>>>,
        layout: &mut Layout<G>,
    ) -> bool {
        let ctx = self.ctx;
        let shape = ctx.crew.shape();
        let under_way_max = shape.in_flight().max(shape.lanes * LISTINGS_MAX);
        while !ctx.crew.stop().is_set() {
            while ctx.front.places() < OPERANDS_AHEAD
                && let Some(list) = operands
            {
                match list.next() {
                    Some(Ok(operand)) => ctx.front.add(Listing::Operand(operand)),
                    Some(Err(failure)) => ctx.failed(failure),
                    None => *operands = None,
                }
            }
            loop {
                let begun = ctx.front.begin((shape.lanes, shape.window), under_way_max);
                if begun.is_empty() {
                    break;
                }
                self.scope.spawn(move |_| {
                    let _guard = Guard(ctx);
                    let start = Instant::now();
                    walk::run(ctx, begun);
                    recheck::run(ctx, false);
                    spent(ctx, start);
                });
            }
            match ctx.front.take() {
                Next::Run(entries) => {
                    if !entries.into_iter().all(|entry| layout.entry(ctx, entry)) {
                        return false;
                    }
                }
                Next::Waits => ctx.front.wait(under_way_max),
                Next::End if operands.is_none() => break,
                Next::End => {}
            }
        }
        layout.flush()
    }

    /// Has a lane read the piece; false when the run is stopped.
    fn give(&self, mut piece: Piece) -> bool {
        let (ctx, line, pack) = (self.ctx, self.line, self.pack);
        // A packed piece is held beside the one it was made of.
        let bytes = piece.bytes as u64 * if pack.is_some() { 2 } else { 1 };
        // A walk that finds small files lays out pieces faster than lanes take them: what waits is in memory for nothing.
        if !ctx.flight.below(PIECES_EACH_LANE * ctx.crew.shape().lanes) {
            return false;
        }
        let Some(permit) = ctx.crew.budget().acquire(bytes) else { return false };
        piece.permit = Some(permit);
        let ticket = ctx.flight.enter(1);
        self.scope.spawn(move |scope| {
            let _guard = Guard(ctx);
            let start = Instant::now();
            let number = piece.number;
            let mut filled = piece::fill(ctx, piece);
            if let Some(pack) = pack {
                // Later it has to be packed once more for it.
                line::without_links(ctx, &mut filled);
                match pack.pack(&filled.bytes) {
                    Ok(packed) => {
                        filled.packed = true;
                        let plain = std::mem::replace(&mut filled.bytes, packed);
                        match filled.links.is_empty() {
                            true => ctx.spare.give(plain),
                            false => filled.plain = plain,
                        }
                    }
                    Err(error) => {
                        filled.cancelled = true;
                        line.fail(ctx, format!("Cannot compress: {error}"));
                    }
                }
            }
            line.complete(ctx, scope, number, filled);
            // What cannot be stored is noted when a piece takes its place, too.
            drop(ticket);
            recheck::run(ctx, false);
            spent(ctx, start);
        });
        true
    }
}

fn spent(ctx: &Ctx<'_>, since: Instant) {
    add(&ctx.counts.busy_ns, u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX));
}
