//! A tree that is nowhere: as many directories and files as are asked for, made up by arithmetic. What is made or removed in it
//! is answered and counted, not kept (but for how much of each directory is left), so that what a job itself holds in memory can be seen at any size.
//!
//! The product's own (`src/mounts/imagined.rs`) is uniform and cannot be changed; over it stands a shadow, which remembers. Here are deep
//! and wide trees, and nothing is remembered.
//!
//! Directories are numbered as in a heap: of directory `d` the directories `d * fan + 1` and following are children. A
//! handle is a directory's number and that of a file in it. Leaves out: everything that a job on such a tree does not ask.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use parfs::base::{Name, Proc, Status, Time};
use parfs::storage::{
    Attr, AttrChange, Call, Cookie, Entry, Extras, Found, Handle, Kind, Limits, Mount, Node, Op, Page, Shape, Stable,
    Tally, Written,
};

/// What the tree looks like.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Directories, the root among them.
    pub dirs: u64,
    /// Directories in a directory, while there are any.
    pub fan: u64,
    /// Files in each directory; in the root only when there is no other.
    pub files: u64,
    /// Listed from the last entry to the first.
    pub reverse: bool,
    /// Nothing is there yet but the root.
    pub empty: bool,
    /// How long each window of calls takes.
    pub latency: Duration,
}

impl Plan {
    /// Entries of directory `dir`: directories first, then files.
    fn dirs_in(&self, dir: u64) -> u64 {
        let first = dir.saturating_mul(self.fan).saturating_add(1);
        self.dirs.saturating_sub(first).min(self.fan)
    }

    fn files_in(&self, dir: u64) -> u64 {
        if dir == 0 && self.dirs > 1 { 0 } else { self.files }
    }

    /// Files of the whole tree.
    pub fn all_files(&self) -> u64 {
        if self.dirs > 1 { (self.dirs - 1) * self.files } else { self.files }
    }

    /// Directories between the root and the deepest one.
    pub fn depth(&self) -> u64 {
        let (mut dir, mut depth) = (self.dirs - 1, 0);
        while dir > 0 {
            dir = (dir - 1) / self.fan;
            depth += 1;
        }
        depth
    }
}

/// The tree as a mount.
pub struct Imagined {
    plan: Plan,
    /// Each is a file system of its own.
    fsid: u64,
    /// Entries of each directory that were not removed yet: RMDIR of a directory that is not empty must fail.
    left: Vec<AtomicU32>,
    /// Directories that were made where nothing was.
    made: Vec<AtomicBool>,
    calls: [AtomicU64; Proc::COUNT],
    /// Of each procedure how many failed.
    failed: AtomicU64,
}

/// A directory's own number among the files in it.
const ITSELF: u64 = u64::MAX;
/// A page's entries: READDIRPLUS answers of some 200 bytes each.
const ENTRY_BYTES: u32 = 200;
/// Bytes of each file.
const FILE_BYTES: u64 = 100;

impl Imagined {
    /// The tree of this plan.
    pub fn new(plan: Plan) -> Imagined {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let count = |dir| u32::try_from(plan.dirs_in(dir) + plan.files_in(dir)).expect("entries that fit 32 bits");
        Imagined {
            plan,
            fsid: NEXT.fetch_add(1, Ordering::Relaxed),
            left: (0..plan.dirs).map(|dir| AtomicU32::new(count(dir))).collect(),
            made: (0..plan.dirs).map(|_| AtomicBool::new(false)).collect(),
            calls: [const { AtomicU64::new(0) }; Proc::COUNT],
            failed: AtomicU64::new(0),
        }
    }

    /// How many calls of a procedure were made.
    pub fn count(&self, proc: Proc) -> u64 {
        self.calls[proc as usize].load(Ordering::Relaxed)
    }

    /// How many calls failed.
    pub fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    fn node(dir: u64, file: u64) -> Node {
        let bytes = (u128::from(dir) << 64 | u128::from(file)).to_be_bytes();
        Node::Handle(Handle::new(&bytes).expect("16 bytes are a handle"))
    }

    fn place(node: &Node) -> Result<(u64, u64), Status> {
        let Node::Handle(handle) = node else { return Err(Status::BadHandle) };
        let bits = u128::from_be_bytes(handle.as_bytes().try_into().map_err(|_| Status::BadHandle)?);
        Ok(((bits >> 64) as u64, bits as u64))
    }

    fn dir(node: &Node) -> Result<u64, Status> {
        match Imagined::place(node)? {
            (dir, ITSELF) => Ok(dir),
            _ => Err(Status::NotDir),
        }
    }

    fn attr(&self, (dir, file): (u64, u64)) -> Attr {
        let time = Time { secs: 1_700_000_000, nanos: 5 };
        let is_dir = file == ITSELF;
        Attr {
            kind: if is_dir { Kind::Dir } else { Kind::File },
            mode: if is_dir { 0o755 } else { 0o644 },
            nlink: if is_dir { 2 } else { 1 },
            uid: 0,
            gid: 0,
            size: FILE_BYTES,
            used: FILE_BYTES,
            rdev: (0, 0),
            fsid: self.fsid,
            fileid: dir << 32 | (file & 0xffff_ffff),
            atime: time,
            mtime: time,
            ctime: time,
        }
    }

    /// The name of the entry at `position` of `dir`, and what it is.
    fn entry(&self, dir: u64, position: u64) -> (Name, (u64, u64)) {
        let dirs = self.plan.dirs_in(dir);
        let (text, place) = match position.checked_sub(dirs) {
            None => {
                let child = dir * self.plan.fan + 1 + position;
                (format!("d{child:08}"), (child, ITSELF))
            }
            Some(file) => (format!("f{file:08}.dat"), (dir, file)),
        };
        (Name::new(text.as_bytes()).expect("letters and digits are a name"), place)
    }

    /// What a name in `dir` stands for, whether or not it is there yet.
    fn named(&self, dir: &Node, name: &Name) -> Result<(u64, u64), Status> {
        let dir = Imagined::dir(dir)?;
        let text = std::str::from_utf8(name.as_bytes()).map_err(|_| Status::NoEnt)?;
        let number = |digits: &str| digits.parse::<u64>().map_err(|_| Status::NoEnt);
        let first = dir * self.plan.fan + 1;
        match text.strip_prefix('d') {
            Some(digits) => {
                let child = number(digits)?;
                let is_child = child >= first && child - first < self.plan.dirs_in(dir);
                is_child.then_some((child, ITSELF)).ok_or(Status::NoEnt)
            }
            None => {
                let digits = text.strip_prefix('f').and_then(|rest| rest.strip_suffix(".dat")).ok_or(Status::NoEnt)?;
                let file = number(digits)?;
                (file < self.plan.files_in(dir)).then_some((dir, file)).ok_or(Status::NoEnt)
            }
        }
    }

    fn found(&self, dir: &Node, name: &Name) -> Result<Found, Status> {
        let place = self.named(dir, name)?;
        Ok(Found { node: Imagined::node(place.0, place.1), attr: Some(self.attr(place)) })
    }

    fn page(&self, dir: &Node, from: Cookie, bytes_max: u32) -> Result<Page, Status> {
        let dir = Imagined::dir(dir)?;
        // A directory is listed as it was until all in it is removed.
        let gone = self.plan.empty || self.left[dir as usize].load(Ordering::Acquire) == 0;
        let all = if gone { 0 } else { self.plan.dirs_in(dir) + self.plan.files_in(dir) };
        let end = all.min(from.position + u64::from(bytes_max / ENTRY_BYTES).max(1));
        let entries = (from.position..end)
            .map(|at| {
                let (name, place) = self.entry(dir, if self.plan.reverse { all - 1 - at } else { at });
                let attr = self.attr(place);
                let node = Some(Imagined::node(place.0, place.1));
                let (fileid, position) = (attr.fileid, at + 1);
                Entry { name, fileid, position, node, attr: Some(attr), kind: Some(attr.kind) }
            })
            .collect();
        Ok(Page {
            above: None,
            entries,
            next: Cookie { position: end, verifier: 1, ..Cookie::default() },
            end: end == all,
        })
    }

    fn remove(&self, dir: &Node, name: &Name, want_dir: bool) -> Result<(), Status> {
        let (place, parent) = (self.named(dir, name)?, Imagined::dir(dir)?);
        match (place.1 == ITSELF, want_dir) {
            (true, false) => return Err(Status::IsDir),
            (false, true) => return Err(Status::NotDir),
            (true, true) if self.left[place.0 as usize].load(Ordering::Acquire) > 0 => return Err(Status::NotEmpty),
            _ => {}
        }
        self.left[parent as usize].fetch_sub(1, Ordering::AcqRel);
        Ok(())
    }

    fn serve(&self, op: &mut Op<'_>) {
        let gone = |_: &AttrChange| Ok(None);
        match op {
            Op::GetAttr { node, out } => *out = Imagined::place(node).map(|place| self.attr(place)),
            Op::SetAttr { change, out, .. } => *out = gone(change),
            Op::Lookup { dir, name, out } => {
                let is_there = |place: (u64, u64)| {
                    !self.plan.empty || place.1 == ITSELF && self.made[place.0 as usize].load(Ordering::Acquire)
                };
                *out = match self.named(dir, name) {
                    Ok(place) if !is_there(place) => Err(Status::NoEnt),
                    _ => self.found(dir, name),
                };
            }
            Op::Read { offset, count, buf, attr, out, node } => {
                let len = FILE_BYTES.saturating_sub(*offset).min(u64::from(*count));
                buf.clear();
                buf.resize(len as usize, b'x');
                *attr = Imagined::place(node).map(|place| self.attr(place)).ok();
                *out = Ok(*offset + len >= FILE_BYTES);
            }
            Op::Write { data, out, .. } => {
                *out = Ok(Written { count: data.len() as u32, stable: Stable::FileSync, verifier: 1 });
            }
            Op::Create { dir, name, out, .. } => *out = self.found(dir, name),
            Op::MkDir { dir, name, out, .. } => {
                *out = self.found(dir, name);
                if let Ok((made, _)) = self.named(dir, name) {
                    self.made[made as usize].store(true, Ordering::Release);
                }
            }
            Op::Remove { dir, name, out } => *out = self.remove(dir, name, false),
            Op::RmDir { dir, name, out } => *out = self.remove(dir, name, true),
            Op::ReadDir { dir, from, bytes_max, out, .. } => *out = self.page(dir, *from, *bytes_max),
            _ => {}
        }
    }
}

impl Mount for Imagined {
    fn root(&self) -> Node {
        Imagined::node(0, ITSELF)
    }

    fn limits(&self) -> Limits {
        Limits {
            read_max: 1 << 20,
            write_max: 1 << 20,
            list_max: 1 << 20,
            name_max: 255,
            size_max: i64::MAX as u64,
            shape: Shape { lanes: 16, window: 4 },
            extras: Extras::default(),
            dirs_locked: false,
        }
    }

    fn perform(&self, calls: &mut [Call<'_>]) {
        for call in calls.iter_mut() {
            self.serve(&mut call.op);
            if call.status() == Err(Status::Pending) {
                call.fail(Status::NotSupp);
            }
            self.calls[call.proc() as usize].fetch_add(1, Ordering::Relaxed);
            self.failed.fetch_add(u64::from(call.status().is_err()), Ordering::Relaxed);
        }
        if !self.plan.latency.is_zero() {
            std::thread::sleep(self.plan.latency);
        }
    }

    fn issued(&self) -> Option<Tally> {
        None
    }

    fn label(&self) -> String {
        "imagined".into()
    }
}
