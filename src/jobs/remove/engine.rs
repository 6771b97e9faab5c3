//! Removal as steps that any agenda can carry out: tasks in, calls made, further tasks out. The copy job removes with it what
//! the source lacks.
//!
//! A task is one call, and a step makes its calls in one window. A directory is removed when its listing has ended and nothing
//! is under way in it any more. On a volume whose mount carries calls out one after the other (a local directory, a kernel
//! mount: nodes without handles) the lane that lists a page of a directory also removes what it lists: further lanes would
//! queue at that directory's lock. Of a local file system half of an unlink is the inode's end, which needs no such lock:
//! there a lane that waits lists and removes the next page meanwhile. On several kernel mounts, which have a lock each,
//! lanes are kept apart by directories, and where lanes are many and directories few they remove from one through all
//! mounts (`Volume::route_removing`).

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::{mem, sync::Arc};

use crate::base::{Failure, Name, Proc, Status, Time, Warnings};
use crate::crew::{Class, Crew, Due, Seat};
use crate::storage::{Attr, Call, Cookie, Kind, Mount, Node, Route, Want};

use super::super::Live;
use super::super::port::Port;
use super::begun::Begun;
use super::frame::{Cursor, Frame, Root, flag};
use super::later::Later;
use super::turn::{Gone, Turn};

/// Bytes of a page of a listing: enough that listing is no bottleneck (330 entries a round trip), little enough to hold.
const PAGE_BYTES_MAX: u32 = 64 << 10;

/// Calls that a mount without handles is given at once: one look at the stop flag, one choice of a mount.
const SERIAL_MAX: usize = 32;
/// Listings that a lane of such a volume takes at once; of one that is no kernel's NFS mount few, for its names may be in memory: then
/// they are in the processor's cache yet when they are removed.
const SERIAL_LISTS_MAX: usize = 16;
const SHARED_LISTS_MAX: usize = 4;
/// Lanes that remove from one local directory: the part of an unlink that its lock covers is about half, so that two keep it
/// busy while a third lists; more have only the lock to wait at.
pub(super) const LANES_IN_A_DIRECTORY: usize = 4;

/// How many names of files that some client has open are kept.
const LEFTOVERS_MAX: usize = 100;

/// One call to be made for a tree of tag `T`.
pub(in crate::jobs) struct Task<T>(pub(super) Step<T>);

impl<T> Task<T> {
    /// The directory that a name is removed from.
    pub fn place(&self) -> Option<u64> {
        let up = match &self.0 {
            Step::Remove { up, .. } => up,
            Step::RmDir { frame } => frame.up.as_ref()?,
            Step::Look { .. } | Step::List { .. } => return None,
        };
        Some(Arc::as_ptr(up).addr() as u64)
    }
}

/// What is done with an entry of `up`, or with a directory.
pub(super) enum Step<T> {
    /// What is it? By name; by its node where that is known, or has no name.
    Look {
        up: Arc<Frame<T>>,
        name: Option<Name>,
        node: Option<Box<Node>>,
        tried: Tried,
    },
    /// A page of a listing, through the mount that it began with; none: the first.
    List {
        frame: Arc<Frame<T>>,
        from: Option<Box<Cookie>>,
        route: Option<Route>,
    },
    /// Anything but a directory.
    Remove {
        up: Arc<Frame<T>>,
        name: Name,
        tried: Tried,
    },
    RmDir {
        frame: Arc<Frame<T>>,
    },
}

/// What was tried with a name before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tried {
    /// How often it turned out to be something else.
    pub tries: u8,
    /// The listing did not say what it is.
    pub unknown: bool,
    /// REMOVE was refused with PERM, which POSIX says of directories.
    pub perm: bool,
    /// Whether it may go depends on what it is.
    pub judge: bool,
    /// Its directory has been opened.
    pub opened: bool,
}

/// What an embedder knows of an object.
#[derive(Clone, Debug, Default)]
pub(in crate::jobs) struct Met {
    pub kind: Option<Kind>,
    pub node: Option<Node>,
    pub fsid: Option<u64>,
    /// Of the object itself; a listing's own may be that of a directory that something is mounted on.
    pub fileid: Option<u64>,
    pub mtime: Option<Time>,
}

impl Met {
    /// What attributes say.
    pub fn of(kind: Option<Kind>, node: Option<Node>, attr: Option<&Attr>) -> Met {
        Met {
            kind: kind.or(attr.map(|attr| attr.kind)),
            node,
            fsid: attr.map(|attr| attr.fsid),
            fileid: attr.map(|attr| attr.fileid),
            mtime: attr.map(|attr| attr.mtime),
        }
    }
}

/// How to remove.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::jobs) struct How {
    pub older_than: Option<Time>,
    pub one_file_system: bool,
    /// What is left alone of other file systems is told, and no failure, as it is with rm.
    pub mounts_kept: bool,
    /// Refuse a root of another file system than the directory it is in, also where it is only emptied.
    pub same_device: bool,
    /// The file system and file id of a directory that is never removed nor emptied.
    pub host_root: Option<(u64, u64)>,
    pub empty_only: bool,
    pub force: bool,
    /// A directory that does not let its owner in is opened, as rsync does; rm does not.
    pub opens: bool,
    pub rehearsal: bool,
}

/// What came of it so far.
#[derive(Debug, Default)]
pub(in crate::jobs) struct Counts {
    pub files: AtomicU64,
    pub dirs: AtomicU64,
    pub kept: AtomicU64,
    pub relisted: AtomicU64,
    /// Objects that would have been removed, had more been allowed.
    pub held_back: AtomicU64,
    pub leftovers: Mutex<Vec<Vec<u8>>>,
    warnings: Mutex<Warnings>,
    /// No target is left that answers.
    pub lost: AtomicBool,
}

/// Is the directory of this node, file system and file id one that stays?
pub(in crate::jobs) type Spare<'a> = dyn Fn(&Node, u64, u64) -> Spares + Sync + 'a;

/// How far a directory stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::jobs) enum Spares {
    /// It may go.
    Nothing,
    /// With the names in it.
    Names,
    /// With all that is below it.
    All,
}

/// Says whether the object of a path, as shown and below its root, may be removed. None: that depends on what it is.
pub(in crate::jobs) type Allow<'a> = dyn Fn(&[u8], &[u8], Option<Kind>) -> Option<bool> + Sync + 'a;

/// Hears of an object that was removed: its path as shown, and whether it was a directory.
pub type Tell<'a> = dyn Fn(&[u8], bool) + Sync + 'a;

/// Takes what lanes that wait can begin.
pub(in crate::jobs) type Early<'a, T> = dyn Fn(&mut Vec<Due<Task<T>>>) + 'a;

/// Removes trees. The embedder's agenda hands it tasks; `step` says what they led to.
pub(in crate::jobs) struct Engine<'a, T> {
    pub(super) port: Port<'a>,
    pub(super) how: How,
    pub(super) crew: &'a Crew,
    pub(super) live: &'a Live,
    pub(super) counts: &'a Counts,
    /// Hears of each object that was removed, if anybody is to.
    pub(super) tell: Option<&'a Tell<'a>>,
    /// May the object of this path go? Asked for entries below roots, with the root's `skip` taken off. A directory that may
    /// not is not entered. None: all may.
    pub allow: Option<&'a Allow<'a>>,
    /// Which directories of operands were begun.
    pub(super) begun: Option<&'a Begun>,
    /// How many objects may still be removed; counted down before each removal, and up again when it certainly failed.
    pub may_remove: Option<&'a AtomicI64>,
    /// Is the directory of this node, file system and file id one that must stay? None: there is none.
    pub spare: Option<&'a Spare<'a>>,
    /// The mount carries calls out one after the other.
    serial: bool,
    /// It does so in each lane, and lanes that have nothing else to do may share a directory.
    shared: bool,
    /// The mount can remove a directory's files while it lists them.
    clears: bool,
    page_bytes: u32,
    /// Directories that are in the one they were found in, and whose `..` is another.
    pub(super) odd_dotdots: AtomicU32,
    cursors: Mutex<Vec<Cursor<T>>>,
    /// Where only empty directories are removed: those that were not.
    pub(super) later: Option<Later<T>>,
}

impl<'a, T: Clone + Send> Engine<'a, T> {
    pub fn new(
        port: Port<'a>,
        how: How,
        crew: &'a Crew,
        live: &'a Live,
        counts: &'a Counts,
        tell: Option<&'a Tell<'a>>,
    ) -> Engine<'a, T> {
        let handles = match port.volume.root() {
            Node::Handle(_) => true,
            Node::Chain(chain) => !chain.handles.is_empty(),
        };
        let serial = !handles && port.volume.mounts().len() == 1;
        let limits = port.volume.limits();
        Engine {
            port,
            how,
            crew,
            live,
            counts,
            tell,
            allow: None,
            begun: None,
            may_remove: None,
            spare: None,
            serial,
            shared: serial && !limits.dirs_locked,
            clears: serial && limits.extras.clears,
            page_bytes: PAGE_BYTES_MAX.min(limits.list_max),
            odd_dotdots: AtomicU32::new(0),
            cursors: Mutex::default(),
            later: how.empty_only.then(Later::default),
        }
    }

    /// Does this status of a directory on the way to an operand say that it is not there, rather than that all of the file system is not?
    pub(super) fn is_absent(&self, status: Status) -> bool {
        match status {
            Status::NoEnt | Status::NotDir => true,
            Status::Stale => {
                self.port.one(self.port.route(), Call::get_attr(&self.port.volume.root())).status().is_ok()
            }
            _ => false,
        }
    }

    /// Is what an operand names a directory that was begun, under another spelling, or what goes with one?
    pub(super) fn is_taken(&self, shown: &[u8]) -> bool {
        self.begun.is_some_and(|begun| begun.has(shown))
    }

    /// How many tasks a lane best takes at once.
    pub fn take_max(&self) -> usize {
        match self.serial || self.is_apart() {
            true if self.shared => SHARED_LISTS_MAX,
            true => SERIAL_LISTS_MAX,
            false => self.port.window,
        }
    }

    /// Begins with a root of which this much is known. `depth` is that of the directory that it is in.
    pub fn begin(
        &self,
        root: Root<T>,
        met: Met,
        depth: u32,
        due: &mut Vec<Due<Task<T>>>,
        finished: &mut Vec<(T, bool)>,
    ) {
        self.begin_at(Frame::top(root, depth), met, due, finished);
    }

    /// The same at a top of the caller's.
    pub(super) fn begin_at(&self, top: Frame<T>, met: Met, due: &mut Vec<Due<Task<T>>>, finished: &mut Vec<(T, bool)>) {
        let (name, top) = (top.root.as_ref().and_then(|root| root.name.clone()), Arc::new(top));
        self.turn(due, finished, |turn| turn.meet(&top, name, met, Tried::default()));
    }

    /// Carries out tasks of one class. `due` is what they led to, of which `early` may take what other lanes can begin before this one
    /// is done; `finished` are the roots that were done with: the tag, and whether all that was to be removed is gone.
    pub fn step(
        &self,
        (_class, seat): (Class, Option<Seat>),
        tasks: &mut Vec<Task<T>>,
        due: &mut Vec<Due<Task<T>>>,
        finished: &mut Vec<(T, bool)>,
        early: &Early<'_, T>,
    ) {
        self.turn(due, finished, |turn| {
            turn.seat = seat;
            turn.carry(tasks.drain(..).map(|task| task.0).collect());
            if !turn.next.is_empty() {
                early(&mut turn.next);
                turn.due.append(&mut turn.next);
            }
            while !turn.now.is_empty() && !turn.engine.crew.stop().is_set() {
                let some = turn.now.drain(..SERIAL_MAX.min(turn.now.len())).collect();
                turn.carry(some);
            }
            turn.leave();
        });
    }

    fn turn(
        &self,
        due: &mut Vec<Due<Task<T>>>,
        finished: &mut Vec<(T, bool)>,
        body: impl FnOnce(&mut Turn<'_, 'a, T>),
    ) {
        let cursors = || self.cursors.lock().expect("nothing panics while it takes a cursor");
        let cursor = cursors().pop().unwrap_or_default();
        let mut turn = Turn {
            engine: self,
            due,
            finished,
            now: VecDeque::new(),
            next: Vec::new(),
            within: Vec::new(),
            cursor,
            calls: Vec::new(),
            gone: Gone::default(),
            seat: None,
        };
        body(&mut turn);
        for step in mem::take(&mut turn.now) {
            turn.put_off(step);
        }
        let cursor = turn.cursor;
        cursors().push(cursor);
    }

    /// True when no target is left that answers.
    pub fn is_lost(&self) -> bool {
        self.counts.lost.load(Ordering::Relaxed)
    }

    /// True where lanes had best be in different directories, and may share one through different mounts.
    pub fn is_apart(&self) -> bool {
        self.port.volume.is_late()
    }

    /// True where the lane that finds work had best do it itself.
    pub(super) fn is_serial(&self) -> bool {
        self.serial
    }

    /// True where a second lane may remove from a directory.
    pub(super) fn is_shared(&self) -> bool {
        self.shared
    }

    pub(super) fn perform(&self, route: Route, calls: &mut [Call<'_>]) {
        if self.serial {
            self.port.volume.perform_on(route, calls);
        } else {
            self.port.perform(route, calls);
        }
    }

    /// The call that reads a page: of names alone, or of all that is wanted. A first page's files go with it where the mount can do
    /// that, all of them may go, and nobody is to hear of each.
    pub(super) fn list(&self, frame: &Frame<T>, from: Cookie) -> Call<'static> {
        let want = match self.how.older_than {
            _ if frame.has(flag::CHECK) => Want::Names,
            Some(_) => Want::Attributes,
            None => Want::Types,
        };
        let all = self.allow.is_none() && self.may_remove.is_none() && self.tell.is_none();
        if self.clears && all && want == Want::Types && from == Cookie::default() && !frame.stays() {
            return Call::clear(&frame.node, self.page_bytes);
        }
        Call::read_dir(&frame.node, from, want, self.page_bytes)
    }

    /// Takes leave to remove one object.
    pub(super) fn may(&self) -> bool {
        let take = |left: i64| (left > 0).then(|| left - 1);
        self.may_remove.is_none_or(|left| left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok())
    }

    /// Gives the leave back: nothing was removed.
    pub(super) fn may_again(&self, status: Status) {
        if let Some(left) = self.may_remove
            && !status.is_uncertain()
        {
            left.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The last target is gone: that ends the run, and is told once.
    pub(super) fn lose(&self, path: &[u8], proc: Proc) {
        if !self.counts.lost.swap(true, Ordering::Relaxed) {
            self.crew.report().add(Failure::call(path, proc, Status::NoTarget));
        }
        self.crew.stop().set();
    }
}

impl Counts {
    /// Notes the name of a file that some client has open.
    pub fn leftover(&self, path: &[u8]) {
        let mut leftovers = self.leftovers.lock().expect("nothing panics while it notes a name");
        if leftovers.len() < LEFTOVERS_MAX && !leftovers.iter().any(|known| known == path) {
            leftovers.push(path.to_vec());
        }
    }

    /// Notes what was odd.
    pub fn warn(&self, text: String) {
        self.warnings.lock().expect("nothing panics while it warns").add(text);
    }

    /// What was noted as odd, so that it can be told.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock().expect("nothing panics while it warns")).told()
    }
}
