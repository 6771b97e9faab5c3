//! One step's work: calls made of tasks, and what their outcomes lead to.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::base::name::is_silly;
use crate::base::{Failure, Name, Proc, Status};
use crate::crew::{Class, Due, Seat};
use crate::storage::{AttrChange, Call, Cookie, Kind, Mount, NO_PROGRESS, Node, Out, Page, Route};

use super::engine::{Engine, LANES_IN_A_DIRECTORY, Met, Step, Task, Tried};
use super::frame::{Cursor, Frame, flag};

/// How often a name may turn out to be something else than what it was found to be.
pub(super) const TRIES_MAX: u8 = 3;

/// How often a directory is listed from the start at most, each time because the last time removed something. A server
/// that skips half of what is left each time is done with a directory of any size in 64; one that some program fills without
/// end is a failure.
pub(super) const PASSES_MAX: u32 = 64;
/// How often a listing is begun anew although nothing was removed meanwhile: its cookie went stale, or it shows what is said to be gone.
pub(super) const STALE_PASSES_MAX: u32 = 3;

/// A step under way.
pub(super) struct Turn<'t, 'a, T> {
    pub engine: &'t Engine<'a, T>,
    pub due: &'t mut Vec<Due<Task<T>>>,
    pub finished: &'t mut Vec<(T, bool)>,
    /// What this lane does itself, at once.
    pub now: VecDeque<Step<T>>,
    /// What lanes that wait may begin before that.
    pub next: Vec<Due<Task<T>>>,
    /// Directories of which this lane removes one page of several.
    pub within: Vec<Arc<Frame<T>>>,
    pub cursor: Cursor<T>,
    /// The room of the last window.
    pub calls: Vec<Call<'static>>,
    /// What the window under way has removed.
    pub gone: Gone,
    /// Where the lane is, if its tasks have a place.
    pub seat: Option<Seat>,
}

/// How many were removed.
#[derive(Default)]
pub(super) struct Gone {
    files: u64,
    dirs: u64,
}

impl<T> Step<T> {
    fn call(&self, engine: &Engine<'_, T>) -> Call<'static>
    where
        T: Clone + Send,
    {
        match self {
            Step::Look { node: Some(node), .. } => Call::get_attr(node),
            Step::Look { up, name: Some(name), .. } => Call::lookup(&up.node, name),
            Step::Look { up, .. } => Call::get_attr(&up.node),
            Step::List { frame, from, .. } => engine.list(frame, from.as_deref().copied().unwrap_or_default()),
            Step::Remove { up, name, .. } => Call::remove(&up.node, name),
            Step::RmDir { frame } => match (&frame.up, &frame.name) {
                (Some(up), Some(name)) => Call::rmdir(&up.node, name),
                _ => Call::default(),
            },
        }
    }

    /// The name it is about: the directory that it is in, and the name there.
    fn place(&self) -> (&Arc<Frame<T>>, Option<&Name>) {
        match self {
            Step::Look { up, name, .. } => (up, name.as_ref()),
            Step::Remove { up, name, .. } => (up, Some(name)),
            Step::List { frame, .. } | Step::RmDir { frame } => {
                (frame.up.as_ref().unwrap_or(frame), frame.name.as_ref())
            }
        }
    }
}

impl<T: Clone + Send> Turn<'_, '_, T> {
    /// Adds a step to the agenda.
    pub fn put_off(&mut self, step: Step<T>) {
        let (class, depth) = match &step {
            Step::Look { up, .. } => (Class::List, up.depth.saturating_add(1)),
            Step::List { frame, .. } => (Class::List, frame.depth),
            Step::Remove { up, .. } => (Class::Work, up.depth.saturating_add(1)),
            Step::RmDir { frame } => (Class::Work, frame.depth),
        };
        self.due.push(Due { class, depth, task: Task(step) });
    }

    pub fn push(&mut self, step: Step<T>) {
        match step {
            Step::Remove { .. } | Step::RmDir { .. } if self.engine.is_serial() => self.now.push_back(step),
            step => self.put_off(step),
        }
    }

    /// Makes the calls of these steps, in one window for each mount, and sees to what follows.
    pub fn carry(&mut self, steps: Vec<Step<T>>) {
        let route = self.engine.port.route();
        if self.engine.may_remove.is_none() && self.engine.is_serial() {
            return self.carry_on(route, steps);
        }
        let mut groups: Vec<(Route, Vec<Step<T>>)> = Vec::with_capacity(1);
        for step in steps {
            if matches!(step, Step::Remove { .. } | Step::RmDir { .. }) && !self.engine.may() {
                self.hold(&step);
                continue;
            }
            let route = self.route(&step, route);
            match groups.iter_mut().find(|(of, _)| *of == route) {
                Some((_, group)) => group.push(step),
                None => groups.push((route, vec![step])),
            }
        }
        for (route, steps) in groups {
            self.carry_on(route, steps);
        }
    }

    /// The same on one mount.
    fn carry_on(&mut self, route: Route, steps: Vec<Step<T>>) {
        if steps.is_empty() {
            return;
        }
        let mut calls = mem::take(&mut self.calls);
        calls.extend(steps.iter().map(|step| step.call(self.engine)));
        self.engine.perform(route, &mut calls);
        for (step, call) in steps.into_iter().zip(&mut calls) {
            self.settle(step, call, route);
        }
        calls.clear();
        self.calls = calls;
        self.count_gone();
    }

    /// What a window removed is counted at once: lanes fight for the lines of counters.
    fn count_gone(&mut self) {
        let Gone { files, dirs } = mem::take(&mut self.gone);
        if files + dirs > 0 {
            self.engine.counts.files.fetch_add(files, Ordering::Relaxed);
            self.engine.counts.dirs.fetch_add(dirs, Ordering::Relaxed);
            self.engine.live.objects.fetch_add(files + dirs, Ordering::Relaxed);
        }
    }

    /// The mount for a step: a listing's own; for a removal that of its directory's listing, or one of several.
    fn route(&self, step: &Step<T>, route: Route) -> Route {
        let up = match step {
            Step::List { route: Some(begun), .. } => return *begun,
            Step::List { frame, .. } => return self.engine.port.volume.route_listing(route, frame.depth),
            Step::Look { .. } => return route,
            Step::Remove { up, .. } => up,
            Step::RmDir { frame } => frame.up.as_ref().unwrap_or(frame),
        };
        let volume = self.engine.port.volume;
        match (volume.is_late(), up.route.get()) {
            (true, Some(home)) => {
                let seat = self.seat.unwrap_or_default();
                let lanes = self.engine.crew.shape().lanes / seat.places.max(1);
                // Mounts that have entered it stay.
                let names = if up.spread.load(Ordering::Relaxed) { usize::MAX } else { seat.waited };
                let (to, spread) = volume.route_removing(*home, seat.slot, lanes, names);
                up.spread.store(spread, Ordering::Relaxed);
                to
            }
            _ => route,
        }
    }

    fn settle(&mut self, step: Step<T>, call: &mut Call<'static>, route: Route) {
        if call.status() == Err(Status::NoTarget) {
            let (up, name) = step.place();
            self.engine.lose(self.cursor.path(up, name), call.proc());
            // It stays to be done.
            return self.put_off(step);
        }
        match step {
            Step::Look { up, name, node, tried } => {
                let found = match node {
                    None if name.is_some() => self.engine.port.found(route, call),
                    node => {
                        let node = node.map_or_else(|| up.node.clone(), |node| *node);
                        call.attr().map(|attr| (node, attr)).map_err(|status| (Proc::GetAttr, status))
                    }
                };
                match found {
                    Ok((_, attr)) if tried.judge && !self.is_allowed(&up, name.as_ref(), attr.kind) => {
                        self.keep(&up);
                    }
                    Ok((node, attr)) => {
                        self.meet(&up, name, Met::of(None, Some(node), Some(&attr)), tried);
                    }
                    Err((proc, status)) => self.not_found(&up, name.as_ref(), proc, status),
                }
            }
            Step::List { frame, from, .. } => {
                if call.gone() > 0 {
                    self.gone.files += call.gone();
                    frame.set(flag::REMOVED);
                }
                self.listed(
                    frame,
                    from.map_or_else(Cookie::default, |from| *from),
                    call.take_page(),
                    call.proc(),
                    route,
                );
            }
            Step::Remove { up, name, tried } => self.removed(up, name, tried, call.status()),
            Step::RmDir { frame } => self.removed_dir(frame, call.status()),
        }
    }

    /// What a status says of the name of an operand: where the directory that it was in is gone (a list may name that as well), and the
    /// file system is not, it is not there.
    pub fn meaning(&self, up: &Frame<T>, status: Status) -> Status {
        let Some(root) = up.root.as_ref().filter(|_| status == Status::Stale) else { return status };
        let port = self.engine.port;
        let is = |node: &Node| port.one(port.route(), Call::get_attr(node)).status();
        let is_gone = is(&root.dir) == Err(Status::Stale) && is(&port.volume.root()).is_ok();
        if is_gone { Status::NoEnt } else { status }
    }

    fn not_found(&mut self, up: &Arc<Frame<T>>, name: Option<&Name>, proc: Proc, status: Status) {
        let status = self.meaning(up, status);
        let gone = match status {
            // Somebody else removed it, or the whole directory.
            Status::NoEnt | Status::Stale if up.root.is_none() => true,
            // rm -f: what cannot be there is not there.
            Status::NoEnt | Status::NotDir => {
                self.engine.how.force || up.root.as_ref().is_some_and(|root| self.engine.is_taken(&root.shown))
            }
            _ => false,
        };
        if gone { self.vanished(up.clone(), name) } else { self.fail(up, name, proc, status) }
    }

    /// May an entry go, of what kind it is? None: that matters, and is not known.
    fn may_go(&mut self, up: &Arc<Frame<T>>, name: &Name, kind: Option<Kind>) -> Option<bool> {
        let Some(allow) = self.engine.allow else { return Some(true) };
        let (shown, path) = self.cursor.paths(up, name);
        allow(shown, path, kind)
    }

    /// Are there options to be asked again where an entry of `up` turns out to be something else?
    pub(super) fn judges(&self, up: &Frame<T>) -> bool {
        self.engine.allow.is_some() && up.root.is_none()
    }

    fn is_allowed(&mut self, up: &Arc<Frame<T>>, name: Option<&Name>, kind: Kind) -> bool {
        name.is_none_or(|name| self.may_go(up, name, Some(kind)) == Some(true))
    }

    fn listed(&mut self, frame: Arc<Frame<T>>, from: Cookie, page: Out<Page>, proc: Proc, route: Route) {
        let first = from == Cookie::default();
        let page = match page {
            Ok(page) => page,
            // A first page's cookie goes stale where files went with it.
            Err(Status::BadCookie) if !first || frame.has(flag::REMOVED) => {
                frame.set(flag::STALE_COOKIE);
                return self.off(frame);
            }
            // It is no directory any more.
            Err(Status::NotDir | Status::Loop) if first && frame.tries < TRIES_MAX && !frame.stays() => {
                return self.remove_instead(&frame);
            }
            Err(Status::Access) if first && frame.opened.get().is_none() && self.opens(&frame) => {
                return self.push(Step::List { frame, from: None, route: None });
            }
            Err(Status::Stale) if self.has_another_its_name(&frame) => return self.look_again(&frame),
            // It is gone, or may not be read: then it may go if it is empty.
            Err(status @ (Status::NoEnt | Status::Stale | Status::Access))
                if !frame.stays() && (first || status != Status::Access) =>
            {
                let _ = frame.trouble.set(status);
                frame.set(flag::UNLISTED);
                return self.off(frame);
            }
            Err(status) => {
                self.fail_dir(&frame, |path| Failure::call(path, proc, status));
                return self.off(frame);
            }
        };
        if first && page.above.is_some_and(|above| self.was_moved(&frame, above.fileid)) {
            return self.look_again(&frame);
        }
        let (end, next, stuck) = (page.end, page.next, page.is_stuck(from));
        let _ = frame.route.set(route);
        if self.may_stay(&frame) {
            page.entries.iter().for_each(|entry| frame.note_listed(&entry.name));
        }
        let entries = if frame.has(flag::CHECK) { Vec::new() } else { page.entries };
        frame.pending.fetch_add(entries.len(), Ordering::Relaxed);
        for entry in entries {
            match self.may_go(&frame, &entry.name, entry.kind_told()) {
                Some(true) => {
                    let met = Met::of(entry.kind, entry.node, entry.attr.as_ref());
                    self.meet(&frame, Some(entry.name), met, Tried::default());
                }
                Some(false) => self.keep(&frame),
                None => {
                    let (node, tried) = (entry.node.map(Box::new), Tried { judge: true, ..Tried::default() });
                    self.push(Step::Look { up: frame.clone(), name: Some(entry.name), node, tried });
                }
            }
        }
        if end {
            return self.off(frame);
        }
        frame.set(flag::PAGES);
        if stuck {
            self.fail_dir(&frame, |path| Failure::refused(path, NO_PROGRESS));
            return self.off(frame);
        }
        let list = |frame| Step::List { frame, from: Some(next.into()), route: Some(route) };
        if !self.engine.is_shared() {
            return self.push(list(frame));
        }
        self.within.push(frame.clone());
        match frame.enter(LANES_IN_A_DIRECTORY) {
            true => self.next.push(Due { class: Class::List, depth: frame.depth, task: Task(list(frame)) }),
            false => self.push(list(frame)),
        }
    }

    /// This lane is done with its pages.
    pub fn leave(&mut self) {
        self.within.drain(..).for_each(|frame| frame.leave());
    }

    /// What was a directory is something else by now.
    fn remove_instead(&mut self, frame: &Arc<Frame<T>>) {
        if let (Some(up), Some(name)) = (frame.up.clone(), frame.name.clone()) {
            let judge = self.judges(&up);
            let tried = Tried { tries: frame.tries + 1, judge, ..Tried::default() };
            // What it is now the options have not seen.
            let spares = self.engine.how.older_than.is_some() || self.engine.spare.is_some();
            let chooses = judge || spares || up.has(flag::MUST_BE_DIR);
            self.push(match chooses {
                true => Step::Look { up, name: Some(name), node: None, tried },
                false => Step::Remove { up, name, tried },
            });
        }
    }

    fn removed(&mut self, up: Arc<Frame<T>>, name: Name, tried: Tried, status: Result<(), Status>) {
        let silly = is_silly(name.as_bytes());
        if silly && !matches!(status, Err(Status::NoEnt | Status::Stale)) {
            // One that goes is what a client left behind; what it has open is there again, under another name.
            if status.is_err() || up.has(flag::SILLY_BEFORE) {
                self.engine.counts.leftover(self.cursor.path(&up, Some(&name)));
            }
            up.set(flag::SILLY);
        }
        let Err(status) = status else {
            self.gone.files += 1;
            return self.went(up, Some(&name), false);
        };
        self.engine.may_again(status);
        if status == Status::Stale && self.engine.is_shared() {
            up.set(flag::MOVED);
        }
        match self.meaning(&up, status) {
            Status::NoEnt => self.vanished(up, Some(&name)),
            Status::Stale if up.root.is_none() => self.vanished(up, Some(&name)),
            Status::IsDir | Status::Perm if tried.tries < TRIES_MAX && (status == Status::IsDir || tried.unknown) => {
                let (perm, judge) = (status == Status::Perm, self.judges(&up));
                let tried = Tried { tries: tried.tries + 1, perm, unknown: false, judge, ..tried };
                self.push(Step::Look { up, name: Some(name), node: None, tried });
            }
            Status::Access if !tried.opened && self.opens(&up) => {
                self.push(Step::Remove { up, name, tried: Tried { opened: true, ..tried } });
            }
            status if silly => {
                let reason = format!("{}: {status}: some client still has this file open", Proc::Remove);
                self.refuse(&up, Some(&name), &reason);
            }
            status => self.fail(&up, Some(&name), Proc::Remove, status),
        }
    }

    /// Lets its owner into a directory that is removed; true where that was done, be it by another lane.
    fn opens(&self, frame: &Frame<T>) -> bool {
        if !self.engine.how.opens || frame.root.is_some() {
            return false;
        }
        let port = self.engine.port;
        let open = || {
            let is = port.one(port.route(), Call::get_attr(&frame.node)).attr().ok()?;
            let shut = is.mode & 0o700 != 0o700;
            (shut && self.set_mode(frame, is.mode | 0o700).is_ok()).then_some(is.mode)
        };
        frame.opened.get_or_init(open).is_some()
    }

    fn set_mode(&self, frame: &Frame<T>, mode: u32) -> Result<(), Status> {
        let (port, change) = (self.engine.port, AttrChange { mode: Some(mode), ..AttrChange::default() });
        port.one(port.route(), Call::set_attr(&frame.node, change)).status()
    }

    /// A directory that was opened and stays is as it was.
    pub fn shut(&mut self, frame: &Arc<Frame<T>>) {
        if let Some(Some(mode)) = frame.opened.get()
            && let Err(status) = self.set_mode(frame, *mode)
        {
            self.fail_dir(frame, |path| Failure::call(path, Proc::SetAttr, status));
        }
    }

    fn removed_dir(&mut self, frame: Arc<Frame<T>>, status: Result<(), Status>) {
        let Some(up) = frame.up.clone() else { return };
        // What has its name now is another.
        let is_moved = frame.has(flag::MOVED) || status == Err(Status::Stale) && self.engine.is_shared();
        if is_moved && frame.has(flag::REMOVED | flag::REMOVED_BEFORE) {
            self.tell_moved(&frame);
        }
        let Err(status) = status else {
            self.gone.dirs += 1;
            return self.went(up, frame.name.as_ref(), true);
        };
        self.engine.may_again(status);
        match self.meaning(&up, status) {
            Status::NoEnt => {
                if self.is_elsewhere(&frame) {
                    self.tell_moved(&frame);
                }
                self.vanished(up, frame.name.as_ref());
            }
            Status::Stale if up.root.is_none() => self.vanished(up, frame.name.as_ref()),
            Status::NotDir if frame.tries < TRIES_MAX => self.remove_instead(&frame),
            Status::Access if !frame.has(flag::AGAIN) && self.opens(&up) => {
                frame.set(flag::AGAIN);
                self.push(Step::RmDir { frame });
            }
            // RFC 1813 3.3.13 has NOTEMPTY; POSIX lets servers say EXIST.
            Status::NotEmpty | Status::Exist => {
                if frame.has(flag::REMOVED) && frame.passes.load(Ordering::Relaxed) < PASSES_MAX {
                    self.engine.counts.relisted.fetch_add(1, Ordering::Relaxed);
                    return self.list_again(&frame);
                }
                if self.engine.later.as_ref().is_some_and(|later| later.takes(&frame)) {
                    return;
                }
                self.shut(&frame);
                // Its listing said that it is gone: servers say so too where an entry goes while a page is made of it.
                if matches!(frame.trouble.get(), Some(Status::NoEnt | Status::Stale)) && frame.tries < TRIES_MAX {
                    let tried = Tried { tries: frame.tries + 1, judge: self.judges(&up), ..Tried::default() };
                    return self.push(Step::Look { up, name: frame.name.clone(), node: None, tried });
                }
                let why = match frame.trouble.get() {
                    Some(trouble) => return self.fail(&up, frame.name.as_ref(), Proc::ReadDirPlus, *trouble),
                    None if frame.has(flag::SNAPSHOT) => ": its .snapshot is left alone",
                    None if frame.has(flag::SILLY) => ": some client still has files in it open",
                    None => return self.fail(&up, frame.name.as_ref(), Proc::RmDir, status),
                };
                self.refuse(&up, frame.name.as_ref(), &format!("{}: {status}{why}", Proc::RmDir));
            }
            status => {
                self.shut(&frame);
                self.fail(&up, frame.name.as_ref(), Proc::RmDir, status);
            }
        }
    }

    /// May it be that this directory is left for other reasons than failures?
    fn may_stay(&self, frame: &Frame<T>) -> bool {
        frame.stays() || self.engine.allow.is_some() || self.engine.how.older_than.is_some()
    }

    pub fn list_again(&mut self, frame: &Arc<Frame<T>>) {
        frame.renew();
        self.push(Step::List { frame: frame.clone(), from: None, route: None });
    }

    /// An entry of `up` was removed.
    fn went(&mut self, up: Arc<Frame<T>>, name: Option<&Name>, is_dir: bool) {
        if let Some(tell) = self.engine.tell {
            tell(self.cursor.path(&up, name), is_dir);
        }
        up.set(flag::REMOVED);
        if let Some(name) = name.filter(|_| self.may_stay(&up)) {
            up.note_removed(name);
        }
        self.off(up);
    }

    /// An entry of `up` is said not to be there, or `up` itself not to be. Where `up` goes its RMDIR knows better.
    pub fn vanished(&mut self, up: Arc<Frame<T>>, name: Option<&Name>) {
        self.note_vanished(&up, name);
        self.off(up);
    }

    pub fn note_vanished(&self, up: &Frame<T>, name: Option<&Name>) {
        up.set(flag::UNSURE);
        if let Some(name) = name.filter(|_| self.may_stay(up)) {
            up.note_vanished(name);
        }
    }

    /// An entry of `up` is left alone, as the options say.
    pub fn keep(&mut self, up: &Arc<Frame<T>>) {
        up.kept.fetch_add(1, Ordering::Relaxed);
        self.off(up.clone());
    }

    /// No more may be removed.
    fn hold(&mut self, step: &Step<T>) {
        self.engine.counts.held_back.fetch_add(1, Ordering::Relaxed);
        let up = step.place().0.clone();
        up.set(flag::HELD);
        self.off(up);
    }

    pub fn fail(&mut self, up: &Arc<Frame<T>>, name: Option<&Name>, proc: Proc, status: Status) {
        let path = self.cursor.path(up, name);
        if status == Status::NoTarget {
            self.engine.lose(path, proc);
        } else {
            self.engine.crew.report().add(Failure::call(path, proc, status));
        }
        up.set(flag::FAILED);
        self.off(up.clone());
    }

    pub fn refuse(&mut self, up: &Arc<Frame<T>>, name: Option<&Name>, reason: &str) {
        self.engine.crew.report().add(Failure::refused(self.cursor.path(up, name), reason));
        up.set(flag::FAILED);
        self.off(up.clone());
    }

    /// The directory itself failed; what is under way in it goes on.
    pub fn fail_dir(&mut self, frame: &Arc<Frame<T>>, failure: impl FnOnce(&[u8]) -> Failure) {
        if let Some(up) = &frame.up {
            self.engine.crew.report().add(failure(self.cursor.path(up, frame.name.as_ref())));
        }
        frame.set(flag::FAILED);
    }
}
