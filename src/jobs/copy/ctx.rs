//! What the lanes of one copy share: both sides, what is counted, what failed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::base::name::{self, SNAPSHOT, Shown};
use crate::base::{Failure, Name, Proc, Status, Unbroken};
use crate::crew::{Crew, Due};
use crate::storage::{Attr, AttrChange, Call, How, Kind, Limits, Mount, Node};

use super::super::Live;
use super::super::port::Port;
use super::super::remove::Engine;
use super::aside::Mark;
use super::big::Big;
use super::decide::{self, By};
use super::delete::Tag;
use super::dir::Dir;
use super::links::{Key, Links};
use super::run::Run;
use super::task::Task;
use super::{Deed, Options, Summary, Taken, Tell, Verify};

/// Bytes of a listing's page on the wire: some 350 entries with attributes. What waits at a level of the tree is pages.
const PAGE_BYTES: u32 = 64 << 10;

/// A file of up to this size is copied in windows with others, if one READ and one WRITE carry it.
const SMALL_BYTES_MAX: u64 = 1 << 20;

/// Which side a call was made on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum On {
    Source,
    Target,
}

/// One failed call and where.
#[derive(Clone, Debug)]
pub(super) enum Trouble {
    Call(On, Proc, Status),
    Refused(On, String),
}

impl Trouble {
    pub fn target(proc: Proc) -> impl Fn(Status) -> Trouble {
        move |status| Trouble::Call(On::Target, proc, status)
    }

    /// A failure of the target by procedure and status, as [`super::super::write`] gives it.
    pub fn on_target((proc, status): (Proc, Status)) -> Trouble {
        Trouble::Call(On::Target, proc, status)
    }
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    pub objects: AtomicU64,
    pub files: AtomicU64,
    pub bytes: AtomicU64,
    pub dirs: AtomicU64,
    pub symlinks: AtomicU64,
    pub hard_links: AtomicU64,
    pub specials: AtomicU64,
    pub attributes: AtomicU64,
    pub unchanged: AtomicU64,
    pub left_out: AtomicU64,
    pub kept: AtomicU64,
    pub held_back: AtomicU64,
    pub differences: AtomicU64,
    pub verified_bytes: AtomicU64,
    pub read_again: AtomicU64,
    pub vanished: AtomicU64,
    /// What killed runs had left, where nothing else is deleted.
    pub left_overs: AtomicU64,
}

pub(super) fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

/// What the lanes share.
pub(super) struct Ctx<'a> {
    pub source: Port<'a>,
    pub target: Port<'a>,
    pub shown: [&'a [u8]; 2],
    pub fs_root: [bool; 2],
    pub options: &'a Options,
    pub crew: &'a Crew,
    pub live: &'a Live,
    pub tell: Option<Tell<'a>>,
    pub taken: Option<Taken<'a>>,
    pub counts: Counts,
    pub links: &'a Links,
    /// What the names of unfinished objects have that no other run's have.
    pub mark: Mark,
    /// The run has other sources, and which directories they are is not known.
    pub others: bool,
    /// Removes what is to go from the target.
    pub remover: &'a Engine<'a, Tag>,
    /// A pass after the first: only links that were postponed are new to it.
    pub later: bool,
    /// What is read back from a side may come from this host's memory.
    pub caches: [bool; 2],
    /// The source tells data from holes.
    pub source_holes: bool,
    /// The target's times are what NFSv3 carries of them.
    nfs_times: bool,
    /// Extended attributes or ACLs are carried.
    pub xattrs: bool,
    /// The source has them and the target cannot: the first that is met is told.
    pub xattrs_watched: AtomicBool,
    pub read_max: u32,
    pub write_max: usize,
    pub small_max: u64,
    /// Groups that the target has refused to give a file of this user to.
    refused_groups: Mutex<HashSet<u32>>,
    /// The server does not let the caller give away what it makes: that is not tried again where it leaves owners out itself.
    pub owners_refused: AtomicBool,
    /// Something of the source could not be read, or of one that was copied before.
    pub source_failed: &'a AtomicBool,
    /// No target is left; told once.
    pub lost: AtomicBool,
    /// Large files that are written, by their addresses; those that a stopped run has left are no copies.
    pub bigs: Mutex<HashMap<usize, Arc<Big>>>,
    /// COPY was refused for this pair of file systems.
    pub copies_refused: AtomicBool,
    /// Many files may go by one call.
    pub bulk: bool,
    /// How often in a row a whole copy was refused.
    pub whole_refused: AtomicU32,
    /// Names held by comparisons.
    pub joined: AtomicUsize,
    /// The most of them at once.
    pub joined_most: AtomicUsize,
    /// The most tasks that waited at once.
    pub waited_most: AtomicUsize,
    /// The target's root, where it can be met in the source: a copy into itself ends there.
    pub target_root: OnceLock<(Node, Attr)>,
    /// Names were made in the target's root, to see whether the source shows them.
    pub probed: AtomicBool,
    /// The file system of the source's root.
    pub source_fsid: u64,
    /// The target takes two spellings of a name for one, where that was asked.
    pub folds: OnceLock<bool>,
    /// Held where it does, to give an object its name.
    pub renaming: Mutex<()>,
    /// The source is one object that is no directory.
    pub single: bool,
    snapshot: Name,
    warnings: Mutex<(HashSet<&'static str>, Vec<String>)>,
}

impl<'a> Ctx<'a> {
    /// By what objects of the two sides are compared.
    pub fn by(&self) -> By<'_> {
        By { options: self.options, nfs_times: self.nfs_times }
    }

    pub fn new(run: &Run<'a>, remover: &'a Engine<'a, Tag>, mark: Mark, later: bool) -> Ctx<'a> {
        let Run { sides: (source, target), options, crew, live, tell, taken, links, .. } = *run;
        let window = crew.shape().window;
        let (from, to): (Limits, Limits) = (source.volume.limits(), target.volume.limits());
        let extras = from.extras.and(to.extras);
        let wanted = options.preserve.xattrs || options.preserve.acls;
        let most = u64::from(from.read_max.min(to.write_max)).max(1);
        Ctx {
            source: Port::new(source.volume, window),
            target: Port::new(target.volume, window),
            shown: [&source.shown, &target.shown],
            fs_root: [source.fs_root, target.fs_root],
            options,
            crew,
            live,
            tell,
            taken,
            counts: Counts::default(),
            links,
            mark,
            others: run.deletes.others,
            remover,
            later,
            source_holes: from.extras.holes,
            caches: [from.extras.caches, to.extras.caches],
            bulk: extras.bulk,
            nfs_times: target.volume.nfs_times(),
            xattrs: extras.xattrs && wanted,
            xattrs_watched: AtomicBool::new(wanted && from.extras.xattrs && !to.extras.xattrs),
            read_max: from.read_max.min(to.read_max).max(1),
            write_max: usize::try_from(to.write_max).unwrap_or(usize::MAX).max(1),
            small_max: SMALL_BYTES_MAX.min(most),
            refused_groups: Mutex::default(),
            owners_refused: AtomicBool::new(false),
            source_failed: run.deletes.held,
            lost: AtomicBool::new(false),
            bigs: Mutex::default(),
            copies_refused: AtomicBool::new(!(extras.copies && options.reflink)),
            whole_refused: AtomicU32::new(0),
            joined: AtomicUsize::new(0),
            joined_most: AtomicUsize::new(0),
            waited_most: AtomicUsize::new(0),
            target_root: OnceLock::new(),
            probed: AtomicBool::new(false),
            source_fsid: 0,
            folds: OnceLock::new(),
            renaming: Mutex::default(),
            single: false,
            snapshot: Name::new(SNAPSHOT).expect("the name is valid"),
            warnings: Mutex::default(),
        }
    }

    /// Bytes of a page of a listing of either side.
    pub fn page_bytes(&self) -> u32 {
        PAGE_BYTES
    }

    /// Tasks that a lane takes at once.
    pub fn take_max(&self) -> usize {
        self.source.window.max(self.target.window)
    }

    /// Is the object of this name, in a directory that is copied, to be copied? One whose kind matters and was not told is looked up.
    pub fn allows(&self, on: On, dir: &Dir, name: &Name, kind: Option<Kind>) -> bool {
        if self.options.rules.is_empty() {
            return true;
        }
        let allowed = self.options.rules.allow(&dir.path_of(Some(name)));
        let looked_up = || {
            let (port, node) = match on {
                On::Source => (self.source, &dir.source),
                On::Target => (self.target, &dir.made().node),
            };
            let route = port.route();
            port.look_up(route, node, name).ok().and_then(|(_, attr)| allowed.of(Some(attr.kind)))
        };
        // Of what cannot be told, the copy tells why, and nothing is removed.
        allowed.of(kind).or_else(looked_up).unwrap_or(on == On::Source)
    }

    /// True when the source's directory is the target's root.
    pub fn is_target_root(&self, node: &Node, attr: &Attr) -> bool {
        let Some((root, is)) = self.target_root.get() else { return false };
        if self.compares() || !may_be_one(self.source, (attr.fsid, attr.fileid), self.target, (is.fsid, is.fileid)) {
            return false;
        }
        self.probed.store(true, Ordering::Relaxed);
        // Roots of file systems have one file id often.
        is_one(self.mark, (self.source, node), (self.target, root)).unwrap_or(false)
    }

    /// True in another file system than the source's root.
    pub fn is_other_fs(&self, attr: &Attr) -> bool {
        attr.fsid != self.source_fsid
    }

    pub fn is_refused_group(&self, gid: u32) -> bool {
        self.refused_groups.lock().expect("nothing panics while it looks").contains(&gid)
    }

    pub fn refuse_group(&self, gid: u32) {
        self.refused_groups.lock().expect("nothing panics while it adds").insert(gid);
    }

    /// True for a file of the source that has to be read to know how much it holds.
    pub fn is_made_up(&self, node: &Node, attr: &Attr) -> bool {
        self.source.volume.is_made_up(node, attr)
    }

    /// The path of an object below the roots; empty for the roots.
    fn below(&self, dir: &Dir, name: Option<&Name>) -> Vec<u8> {
        if self.single { Vec::new() } else { dir.path_of(name) }
    }

    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed) || self.remover.is_lost()
    }

    pub fn is_stopped(&self) -> bool {
        self.crew.stop().is_set()
    }

    /// A call has said that the source's directory is not there. Is that so by what is above it? What is in another one of its name is not
    /// copied, so that one does not count; what was asked for by name is to be there.
    pub fn is_gone(&self, dir: &Dir, status: Status) -> bool {
        if !matches!(status, Status::NoEnt | Status::Stale) {
            return false;
        }
        let mut place = dir.place();
        while let Some((dir, name)) = place.filter(|(dir, _)| !dir.is_partial()) {
            match self.source.look_up(self.source.route(), &dir.source, name) {
                Ok(_) => return false,
                // A server that knows no handle any more, the root's neither, has lost nothing.
                Err((_, Status::Stale)) => place = dir.place(),
                Err((_, status)) => return status == Status::NoEnt,
            }
        }
        false
    }

    /// True when nothing is written: the trees are compared.
    pub fn compares(&self) -> bool {
        self.options.verify == Verify::Only
    }

    /// True for a name in the root of a file system that shows snapshots rather than holds files.
    pub fn is_snapshot(&self, on: On, dir: &Dir, name: &Name) -> bool {
        *name == self.snapshot && if dir.is_root() { self.fs_root[on as usize] } else { dir.is_mounted(on) }
    }

    /// Records why an object is not as it should be.
    pub fn fail(&self, dir: &Dir, name: Option<&Name>, trouble: Trouble) {
        let on = match &trouble {
            Trouble::Call(on, ..) | Trouble::Refused(on, _) => *on,
        };
        if on == On::Source {
            self.source_failed.store(true, Ordering::Relaxed);
        }
        let below = self.below(dir, name);
        let mut path = self.shown[on as usize].to_vec();
        if !below.is_empty() {
            if path.last().is_some_and(|last| *last != b'/') {
                path.push(b'/');
            }
            path.extend(below);
        }
        match trouble {
            // Whatever is tried after that fails likewise.
            Trouble::Call(_, proc, status @ Status::NoTarget) => {
                if !self.lost.swap(true, Ordering::Relaxed) {
                    self.crew.report().add(Failure::call(&path, proc, status));
                }
                self.crew.stop().set();
            }
            Trouble::Call(_, proc, status) => self.crew.report().add(Failure::call(&path, proc, status)),
            Trouble::Refused(_, reason) => self.crew.report().add(Failure::refused(&path, reason)),
        }
    }

    /// Says something once.
    pub fn warn_once(&self, kind: &'static str, text: impl FnOnce() -> String) {
        let mut warnings = self.warnings.lock().expect("nothing panics while it warns");
        if warnings.0.insert(kind) {
            warnings.1.push(text());
        }
    }

    /// Tells a deed, if somebody listens: else not even its path is made.
    pub fn tell(&self, deed: Deed, dir: &Dir, name: Option<&Name>) {
        if let Some(tell) = self.tell {
            tell(deed, &self.below(dir, name));
        }
    }

    /// Why what is there is not replaced by this source's: another source has brought it, and both are to be had.
    pub fn taken(&self, dir: &Dir, name: Option<&Name>, is: &Attr) -> Option<Trouble> {
        let by = self.taken?(&self.below(dir, name), is)?;
        Some(Trouble::Refused(On::Source, format!("would be copied over what '{}' is copied to", Shown(&by))))
    }

    /// The target's object has names that this source's does not have, and they would change with it; they may be another source's, or
    /// another file's of this one. If not, it is to be changed.
    pub fn has_more_names(&self, source: &Attr, is: &Attr) -> bool {
        let others = self.taken.is_some() && is.nlink > 1 && is.kind != Kind::Dir;
        let may_change =
            || is.nlink < 2 || is.kind == Kind::Dir || self.links.shares.may_change(self.share(is), Links::key(source));
        others || decide::has_more_names(self.options, source, is) || !may_change()
    }

    /// The source's object has met what is there; false where that was changed for another one since it was looked at.
    pub fn meets(&self, source: &Attr, is: &Attr) -> bool {
        is.nlink < 2 || is.kind == Kind::Dir || self.links.shares.meet(self.share(is), Links::key(source))
    }

    /// May the other names of the source's file, where they are the target's too, become those of what is there? Of two files that were met
    /// with it one would be lost.
    pub fn keeps(&self, source: &Attr, is: &Attr) -> bool {
        is.nlink < 2 || is.kind == Kind::Dir || self.links.shares.keep(self.share(is), Links::key(source))
    }

    /// Of several mounts each has its own id of a file system.
    fn share(&self, is: &Attr) -> Key {
        let fs = if self.target.volume.mounts().len() == 1 { is.fsid } else { 0 };
        (fs, is.fileid)
    }

    /// Tells a difference that a comparison found.
    pub fn differs(&self, what: &'static str, dir: &Dir, name: Option<&Name>) {
        add(&self.counts.differences, 1);
        self.tell(Deed::Differs(what), dir, name);
    }

    /// An object of the source is dealt with: counts it off in its directory.
    pub fn over(&self, dir: &Arc<Dir>, due: &mut Vec<Due<Task>>) {
        add(&self.counts.objects, 1);
        add(&self.live.objects, 1);
        dir.leave(due);
    }

    /// What came of it all.
    pub fn summary(&self) -> Summary {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counts = &self.counts;
        Summary {
            objects: get(&counts.objects),
            files: get(&counts.files),
            bytes: get(&counts.bytes),
            dirs: get(&counts.dirs),
            symlinks: get(&counts.symlinks),
            hard_links: get(&counts.hard_links),
            specials: get(&counts.specials),
            attributes: get(&counts.attributes),
            unchanged: get(&counts.unchanged),
            left_out: get(&counts.left_out),
            kept: get(&counts.kept),
            delete_held_back: get(&counts.held_back),
            differences: get(&counts.differences),
            verified_bytes: get(&counts.verified_bytes),
            read_again: get(&counts.read_again),
            vanished: get(&counts.vanished),
            deleted: get(&counts.left_overs),
            waited_most: self.waited_most.load(Ordering::Relaxed),
            joined_most: self.joined_most.load(Ordering::Relaxed),
            warnings: self.warnings.lock().expect("nothing panics while it warns").1.clone(),
            ..Summary::default()
        }
    }
}

/// This volume is of a kernel's NFS mounts, two of which have two ids for one file system: of mounts of this host, they alone
/// keep caches and know no holes.
pub(super) fn is_kernel_nfs(port: Port<'_>) -> bool {
    let extras = port.volume.limits().extras;
    !port.volume.has_handles() && extras.caches && !extras.holes
}

/// May the source's and the target's objects of these file systems and file ids be one? A server's and this host's ids of a
/// file system have nothing in common.
pub(super) fn may_be_one(source: Port<'_>, ours: (u64, u64), target: Port<'_>, theirs: (u64, u64)) -> bool {
    let unlike = || {
        source.volume.has_handles() != target.volume.has_handles() || (is_kernel_nfs(source) && is_kernel_nfs(target))
    };
    // Mostly the ids tell; each directory that goes is held against each source.
    ours.1 == theirs.1 && (ours.0 == theirs.0 || unlike())
}

/// Are the source's and the target's directories one? Ids that are equal may be those of two servers, so a name made in the
/// one is looked for in the other. None where nothing can be made: in a full file system, say, or by a caller who may not.
pub(super) fn is_one(
    mark: Mark,
    (source, ours): (Port<'_>, &Node),
    (target, theirs): (Port<'_>, &Node),
) -> Option<bool> {
    let name = mark.aside(&name::unique());
    let change = AttrChange { mode: Some(0o600), ..AttrChange::default() };
    let route = target.route();
    let _unbroken = Unbroken::begin();
    let made = target.one(route, Call::create(theirs, &name, How::Guarded, change)).status();
    let is_one =
        made.is_ok().then(|| source.one(source.route(), Call::lookup(ours, &name)).status() != Err(Status::NoEnt));
    // Of a CREATE without an answer the name may be there all the same.
    if made.is_ok() || made.is_err_and(Status::is_uncertain) {
        target.one(route, Call::remove(theirs, &name));
    }
    is_one
}
