//! A mount over a real one that reads it and changes nothing: for dry runs, and for forecasts of what a job will ask.
//!
//! Calls that only read pass through. READ of a real file does not (unless [`ShadowMount::reading`]): it answers bytes that
//! are no zeros, up to the size that the real mount told. No block of them passes for a hole, so a forecast plans to write
//! every byte; holes count where the mount knows them (SEEK passes through). What is read and what is read back are
//! the same bytes.
//!
//! Calls that change are answered and not made. What they would have made is invented: objects with handles of their own,
//! whose attributes, names and removal hold for LOOKUP, GETATTR and the calls that change. A name in a real directory is
//! looked up, uncounted, before something is made of it, so that EXIST is answered where the real mount would. Left out: listings
//! show the real tree alone (without what another volume's shadow removed), and nothing of an invented directory; REMOVE of a real object is believed where listings tell
//! kinds (a job knows what it removes), and RMDIR of a directory from which something was removed and in which nothing is that
//! was made; the attributes of real objects stay what they are, but for modes of directories that a job opens; other rights and full disks; a real object that is renamed is seen as an
//! empty one of its kind. Memory is bounded (`world`): of a run that made more
//! than that, a forgotten name in an invented directory is taken for a file that is there.

mod alike;
mod answer;
mod need;
mod paced;
mod world;

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::base::{Name, Status};
use crate::storage::{Attr, Beyond, Call, Entry, Found, Kind, Lent, Limits, Mount, Node, Op, Out, Tally, Want, Was};

use need::Need;
pub use paced::{Kernel, Locks, Paced, Server};
use world::{IDLE_REMEMBERED_MAX, Known, REMEMBERED_MAX, Seen, World};

/// A mount that reads another and answers changes without making them. Wrap all mounts of a volume at once.
pub struct ShadowMount {
    real: Arc<dyn Mount>,
    world: Arc<World>,
    reads: bool,
    /// Nothing is forecast of it.
    idle: bool,
    /// A kernel's NFS mount, which makes other procedures of calls.
    lowers: bool,
    /// Others remove names as well.
    shared: bool,
    pause: Option<Duration>,
    /// In whose time it is rehearsed.
    paced: Option<Paced>,
    /// It stands for a mount that waits.
    waits: bool,
    issued: Option<Mutex<Tally>>,
    /// How many directories a job opens first that it may not look into now.
    unseen: Arc<AtomicU64>,
}

/// What the shadows of several volumes know of what was done through each other, for a job that removes names of theirs in turn: what
/// went in one is not in the other's listings. Objects of one key are one object.
#[derive(Clone)]
pub struct Shadows(Arc<World>);

impl Shadows {
    /// Nothing was done yet.
    #[allow(clippy::new_without_default)] // two of them are not alike
    pub fn new() -> Shadows {
        Shadows(Arc::new(World::new(REMEMBERED_MAX)))
    }

    /// Was the directory `root` of a volume removed, by its way from another's? Not known of handles.
    pub fn is_gone(&self, root: &Node) -> bool {
        let key = root.key();
        matches!(root, Node::Chain(_)) && self.0.memory().names.get(key) == Some(&Known::Gone)
    }
}

/// What was asked of the real mount in place of a call.
enum Asked {
    Nothing,
    ItsOwn,
    Question,
}

/// What a lane owes before it sleeps: to fall asleep and wake up costs it 10 us of a processor, and for each window that was a third
/// of a forecast's time. Windows fill as they do when it sleeps for each.
const OWED_MAX: Duration = Duration::from_micros(500);

thread_local! {
    /// How long this lane has still to wait for answers that nobody sends.
    static OWED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// Waits for `pause`, or with a later one.
fn owe(pause: Duration) {
    let owed = OWED.get() + pause;
    if owed >= OWED_MAX {
        std::thread::sleep(owed);
    }
    OWED.set(if owed >= OWED_MAX { Duration::ZERO } else { owed });
}

/// A real file that a shadow has lent: what copying from it needs to know.
struct LentFile {
    /// None where nobody is to know.
    was: Option<Was>,
    /// It has no extended attributes.
    bare: bool,
}

/// A real directory whose files are copied by one call.
struct LentDir {
    mount: Arc<dyn Mount>,
    dir: Node,
}

impl ShadowMount {
    /// The shadow of one mount.
    pub fn new(real: Arc<dyn Mount>) -> ShadowMount {
        ShadowMount::with(real, Shadows::new().0, false)
    }

    /// The shadows of the mounts of one volume: what is made through one is there through the others.
    pub fn all(mounts: impl IntoIterator<Item = Arc<dyn Mount>>) -> Vec<ShadowMount> {
        let world = Shadows::new().0;
        mounts.into_iter().map(|real| ShadowMount::with(real, world.clone(), false)).collect()
    }

    /// The same of one volume of several.
    pub fn beside(shadows: &Shadows, mounts: impl IntoIterator<Item = Arc<dyn Mount>>) -> Vec<ShadowMount> {
        mounts.into_iter().map(|real| ShadowMount::with(real, shadows.0.clone(), true)).collect()
    }

    fn with(real: Arc<dyn Mount>, world: Arc<World>, shared: bool) -> ShadowMount {
        let lowers = real.limits().dirs_locked;
        let issued = Some(Mutex::default());
        let unseen = Arc::default();
        ShadowMount {
            real,
            world,
            reads: false,
            idle: false,
            lowers,
            shared,
            pause: None,
            paced: None,
            waits: true,
            issued,
            unseen,
        }
    }

    /// Counts in `unseen` the directories that the job would open and that say nothing before: they are taken to be empty.
    pub fn telling(self, unseen: Arc<AtomicU64>) -> ShadowMount {
        ShadowMount { unseen, ..self }
    }

    /// READ of a real file reads it: for a dry run that compares contents.
    pub fn reading(self) -> ShadowMount {
        ShadowMount { reads: true, ..self }
    }

    /// For a side of which nothing is forecast. No file is opened to be lent: it is taken to be one that can be read, that is what it is
    /// now and that has no extended attributes. Calls are not counted, and less is remembered.
    pub fn unopened(self) -> ShadowMount {
        self.world.memory().limit(IDLE_REMEMBERED_MAX);
        ShadowMount { idle: true, issued: None, ..self }.at_once()
    }

    /// For a rehearsal whose calls do not depend on how long they take: that is not measured, and lanes are given much at a time.
    pub fn at_once(self) -> ShadowMount {
        ShadowMount { waits: false, ..self }
    }

    /// Calls take as long as this target would, as long as that is followed.
    pub fn paced(self, paced: Paced) -> ShadowMount {
        ShadowMount { paced: Some(paced), ..self }
    }

    /// A window of calls that are all answered here takes this long, on the average of some.
    pub fn pausing(self, pause: Duration) -> ShadowMount {
        ShadowMount { pause: Some(pause), ..self }
    }

    fn is_made(&self, node: &Node) -> bool {
        self.world.made(node).is_some()
    }

    fn known(&self, dir: &Node, name: &Name) -> Option<Known> {
        let key = dir.key_of(name);
        self.world.memory().names.get(key).copied()
    }

    /// Asks the real mount, uncounted.
    fn real_attr(&self, node: &Node) -> Out<Attr> {
        let mut calls = [Call::get_attr(node)];
        self.real.perform(&mut calls);
        calls[0].attr()
    }

    fn seen(&self, node: &Node) -> Option<Seen> {
        let key = node.key();
        self.world.memory().real.get(key).copied()
    }

    /// Remembers the attributes of real files that came by, and which handles directories have.
    fn note(&self, call: &Call<'_>) {
        match &call.op {
            Op::GetAttr { node, out: Ok(attr) } | Op::Read { node, attr: Some(attr), .. } => {
                self.note_files([(node, attr)]);
            }
            Op::Lookup { out: Ok(found), .. } => self.note_files(found.attr.iter().map(|attr| (&found.node, attr))),
            Op::ReadDir { dir, want, out: Ok(page), .. } => {
                if page.entries.iter().any(|entry| entry.kind.is_none()) {
                    self.world.untyped.store(true, Ordering::Relaxed);
                }
                // Who asks for types does not go on to the files.
                if *want == Want::Attributes {
                    self.note_files(page.entries.iter().filter_map(|e| e.node.as_ref().zip(e.attr.as_ref())));
                }
                let is_dir = |entry: &&Entry| entry.kind == Some(Kind::Dir);
                for entry in page.entries.iter().filter(is_dir) {
                    if let Some(node @ Node::Handle(_)) = &entry.node {
                        self.world.memory().dirs.insert(dir.key_of(&entry.name), node.key());
                    }
                }
            }
            _ => {}
        }
    }

    /// Takes out of a real directory's page what was removed.
    fn hide(&self, call: &mut Call<'_>) {
        let Op::ReadDir { dir, out: Ok(page), .. } = &mut call.op else { return };
        let key = dir.key();
        let memory = self.world.memory();
        if memory.emptied.get(key).is_some() {
            page.entries.retain(|entry| memory.names.get(dir.key_of(&entry.name)) != Some(&Known::Gone));
        }
    }

    /// Puts into what the real mount says of directories what calls that were not made would have changed: their modes, and that they may
    /// be looked into.
    fn open(&self, call: &mut Call<'_>) {
        if !self.world.opens.load(Ordering::Relaxed) {
            return;
        }
        let memory = self.world.memory();
        let set = |node: &Node, attr: &mut Attr| {
            if let (Kind::Dir, Some(opened)) = (attr.kind, memory.opened.get(node.key())) {
                attr.mode = opened.mode;
            }
        };
        let closed = match &mut call.op {
            Op::GetAttr { node, out: Ok(attr) } => return set(node, attr),
            Op::Lookup { out: Ok(Found { node, attr: Some(attr) }), .. } => return set(node, attr),
            Op::ReadDir { out: Ok(page), .. } => {
                let known = page.entries.iter_mut().filter_map(|entry| entry.node.as_ref().zip(entry.attr.as_mut()));
                return known.for_each(|(node, attr)| set(node, attr));
            }
            Op::Lookup { dir, out: Err(Status::Access), .. } | Op::ReadDir { dir, out: Err(Status::Access), .. } => dir,
            _ => return,
        };
        let (closed, key) = (closed.clone(), closed.key());
        let Some(opened) = memory.opened.get(key).copied() else { return };
        drop(memory);
        if !opened.would_tell.unwrap_or_else(|| self.would_tell(&closed)) {
            return;
        }
        match &mut call.op {
            Op::ReadDir { dir, from, out, .. } => *out = self.read_dir(dir, *from),
            _ => call.fail(Status::NoEnt),
        }
    }

    /// Would a directory say what is in it, had it been opened? Only its owner opens it.
    fn would_tell(&self, closed: &Node) -> bool {
        let owner = self.real_attr(closed).ok().map(|attr| attr.uid);
        let is_his = self.real.makes_as().is_none_or(|(uid, _)| owner == Some(uid));
        if let Some(opened) = self.world.memory().opened.get_mut(closed.key())
            && opened.would_tell.replace(is_his).is_none()
            && is_his
        {
            self.unseen.fetch_add(1, Ordering::Relaxed);
        }
        is_his
    }

    fn note_files<'n>(&self, objects: impl IntoIterator<Item = (&'n Node, &'n Attr)>) {
        // Where files are copied whole, nobody asks.
        if self.idle && !self.world.is_read.load(Ordering::Relaxed) {
            return;
        }
        let files = objects.into_iter().filter(|(_, attr)| attr.kind == Kind::File);
        let keyed: Vec<(u64, &Attr)> = files.map(|(node, attr)| (node.key(), attr)).collect();
        let mut memory = self.world.memory();
        for (key, attr) in keyed {
            if !memory.real.get(key).is_some_and(|seen| seen.resized) {
                memory.real.insert(key, Seen { attr: *attr, resized: false });
            }
        }
    }

    /// Counts the calls as the real mount would have issued them, unless nobody asks.
    fn count(&self, calls: &[Call<'_>]) {
        let Some(issued) = &self.issued else { return };
        // A kernel's mount sends others; what NFSv3 lacks is sent by some and not by others. The rest is counted as it is asked.
        let lowered = |call: &Call<'_>| {
            let lowered = (self.lowers || !call.proc().is_nfs3()).then(|| self.real.lower(call));
            lowered.filter(|lowered| *lowered != Tally::of(call))
        };
        let mut issued = issued.lock().unwrap_or_else(PoisonError::into_inner);
        for call in calls {
            match lowered(call) {
                Some(lowered) => *issued += lowered,
                None => issued.count(call.proc(), call.payload(), call.status().is_err()),
            }
        }
    }

    /// In whose time it is rehearsed, as long as that is followed.
    fn followed(&self) -> Option<&Paced> {
        self.paced.as_ref().filter(|paced| paced.is_followed())
    }

    /// Waits as for an answer, where nothing else tells how long that takes.
    fn pause(&self) {
        self.pause.filter(|_| self.followed().is_none()).into_iter().for_each(owe);
    }

    /// Answers what nobody is asked for.
    fn answer_alone(&self, calls: &mut [Call<'_>]) {
        self.pause();
        self.answer_all(calls);
        if let Some(paced) = self.followed() {
            paced.wait(paced.book(calls, &*self.real));
        }
        self.count(calls);
    }

    /// Answers calls, or has them answered, as they need it.
    fn serve(&self, calls: &mut [Call<'_>], needs: Vec<Need>) {
        // What is there already is not waited for by what comes while it is really asked for.
        let paced = self.followed().map(|paced| (paced, paced.book(calls, &*self.real)));
        let mut window = Vec::new();
        let mut asked = Vec::with_capacity(calls.len());
        for (call, need) in calls.iter_mut().zip(needs) {
            asked.push(match need {
                Need::Answer => None,
                Need::Fail(status) => {
                    call.fail(status);
                    Some(Asked::Nothing)
                }
                Need::Real => {
                    window.push(std::mem::take(call));
                    Some(Asked::ItsOwn)
                }
                Need::Ask(question) => {
                    window.push(*question);
                    Some(Asked::Question)
                }
            });
        }
        match paced {
            Some((paced, until)) if window.is_empty() => paced.wait(until),
            None if window.is_empty() => self.pause(),
            Some((paced, until)) => paced.ask(until, || self.real.perform(&mut window)),
            None => self.real.perform(&mut window),
        }
        let mut window = window.into_iter();
        for (call, asked) in calls.iter_mut().zip(asked) {
            match asked {
                Some(Asked::Nothing) => {}
                Some(Asked::ItsOwn) => {
                    if let Some(mut done) = window.next() {
                        self.open(&mut done);
                        self.note(&done);
                        if self.shared {
                            self.hide(&mut done);
                        }
                        *call = done;
                    }
                }
                Some(Asked::Question) => {
                    let mut question = window.next();
                    question.iter_mut().for_each(|question| self.open(question));
                    self.answer(call, question);
                }
                None => self.answer(call, None),
            }
        }
        self.count(calls);
    }
}

impl Mount for ShadowMount {
    fn root(&self) -> Node {
        self.real.root()
    }

    fn limits(&self) -> Limits {
        let mut limits = self.real.limits();
        // What a forecast counts is met file by file.
        limits.extras.bulk &= self.idle;
        limits.extras.clears = false;
        // What is read as it is differs from what stands for what was written; and of names the latest are remembered.
        limits.extras.forgets = true;
        limits.shape = self.paced.as_ref().and_then(|paced| paced.shape).unwrap_or(limits.shape);
        limits
    }

    fn is_made_up(&self, node: &Node, attr: &Attr) -> bool {
        let is = !self.is_made(node) && self.real.is_made_up(node, attr);
        if is && self.seen(node).is_none() {
            // For the READ that follows.
            self.world.memory().real.insert(node.key(), Seen { attr: *attr, resized: false });
        }
        is
    }

    fn perform(&self, calls: &mut [Call<'_>]) {
        // What waits at a directory's lock is behind those that came before: each call is to come in its own time.
        let is_in_turn = self.followed().is_some_and(|paced| paced.kernel.is_some());
        for calls in calls.chunks_mut(if is_in_turn { 1 } else { usize::MAX }) {
            let kernel = self.paced.as_ref().and_then(|paced| paced.kernel.as_ref());
            kernel.into_iter().for_each(|kernel| kernel.changer.asks(calls, is_in_turn));
            let needs: Vec<Need> = calls.iter().map(|call| self.need(call)).collect();
            match needs.iter().all(|need| matches!(need, Need::Answer)) {
                true => self.answer_alone(calls),
                false => self.serve(calls, needs),
            }
            kernel.into_iter().for_each(|kernel| kernel.changer.finds(calls));
        }
    }

    fn waits(&self) -> bool {
        self.waits || self.followed().is_some()
    }

    fn refresh(&self, dir: &Node) {
        if !self.is_made(dir) {
            self.real.refresh(dir);
        }
    }

    fn lend(&self, node: &Node) -> Option<Lent> {
        if self.is_made(node) {
            return None;
        }
        if self.idle {
            let attr = || self.real_attr(node).ok();
            return self.limits().extras.copies.then(|| Lent { file: self.world.any_file.clone(), attr: attr() });
        }
        let lent = self.real.lend(node)?;
        let attr = self.seen(node).map(|seen| seen.attr).or(lent.attr).or_else(|| self.real_attr(node).ok());
        let bare = || {
            let mut calls = [Call::list_xattrs(node)];
            self.real.perform(&mut calls);
            match &calls[0].op {
                Op::Beyond(Beyond::ListXattrs { out: Ok(names), .. }) => names.is_empty(),
                _ => true,
            }
        };
        Some(Lent { file: Arc::new(LentFile { was: Some(Was::from(&attr?)), bare: bare() }), attr })
    }

    fn lend_dir(&self, dir: &Node) -> Option<Lent> {
        let lends = self.limits().extras.bulk && !self.is_made(dir);
        lends.then(|| Lent { file: Arc::new(LentDir { mount: self.real.clone(), dir: dir.clone() }), attr: None })
    }

    fn lower(&self, call: &Call<'_>) -> Tally {
        self.real.lower(call)
    }

    fn makes_as(&self) -> Option<(u32, u32)> {
        self.real.makes_as()
    }

    /// What the real mount would have issued; what the shadow asked for its own sake is not in it.
    fn issued(&self) -> Option<Tally> {
        self.issued.as_ref().map(|issued| *issued.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn label(&self) -> String {
        self.real.label()
    }
}
