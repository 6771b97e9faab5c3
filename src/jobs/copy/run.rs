//! One pass of a copy: both roots are found, the lanes work from there on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::base::name::SNAPSHOT;
use crate::base::{Cause, Failure, Name, Proc, Status};
use crate::crew::{Agenda, Class, Crew, Due, Seat};
use crate::storage::{Attr, AttrChange, Call, Kind, Mount, Node};

use super::super::Live;
use super::super::port::Port;
use super::super::remove::{Counts as RemoveCounts, Engine, How, Spares, Tell as Told};
use super::aside::Mark;
use super::big::{self, Big};
use super::ctx::{self, Ctx, On, Trouble, is_one, may_be_one};
use super::delete::{self, Removal, Tag};
use super::dir::{Dir, Made};
use super::feed::Feed;
use super::groups;
use super::links::Links;
use super::spared::{Deletes, Spared};
use super::task::{At, Held, Object, Task};
use super::whole::{self, Files};
use super::{Deed, Options, Side, Summary, Taken, Tell, batch, decide, enter, visit, xattrs};

/// Objects that wait where lanes are kept apart by directories, so that there are enough directories: those of some 40 of
/// 100 objects. An object that waits takes some 500 bytes.
const APART_MIN: usize = 4096;

/// What a pass is made of.
pub(super) struct Run<'a> {
    pub sides: (&'a Side<'a>, &'a Side<'a>),
    pub options: &'a Options,
    pub crew: &'a Crew,
    pub live: &'a Live,
    pub tell: Option<Tell<'a>>,
    pub taken: Option<Taken<'a>>,
    pub deletes: Deletes<'a>,
    pub links: &'a Links,
}

type List<'a> = &'a mut (dyn Iterator<Item = Result<Vec<u8>, String>> + Send);

impl Run<'_> {
    /// Copies once over; a `later` pass is for links that were postponed.
    pub fn pass(&self, names: Option<List<'_>>, later: bool) -> Summary {
        let (_, target) = self.sides;
        let removed = RemoveCounts::default();
        let skip = target.shown.len() + usize::from(target.shown.last() != Some(&b'/'));
        let told = self.tell.map(|tell| move |path: &[u8], _: bool| tell(Deed::Removed, &path[skip.min(path.len())..]));
        let tell = told.as_ref().map(|told| told as &Told<'_>);
        // What may be left out stays.
        let allow = |_: &[u8], path: &[u8], kind| self.options.rules.allow(path).of(kind);
        let port = Port::new(target.volume, self.crew.shape().window);
        let (one_file_system, opens) = (self.options.one_file_system, self.options.user.is_some());
        // What is mounted there was never a part of the copy.
        let how = How { force: true, one_file_system, mounts_kept: true, opens, ..How::default() };
        let (source_root, mark): (OnceLock<Spared<'_>>, _) = (OnceLock::new(), Mark::new(self.options.host));
        let spare = |node: &Node, fsid: u64, fileid: u64| {
            let all = source_root.get().into_iter().chain(self.deletes.spared);
            all.map(|spared| spared.of(mark, (port, node), (fsid, fileid))).max().unwrap_or(Spares::Nothing)
        };
        let mut remover: Engine<'_, Tag> = Engine::new(port, how, self.crew, self.live, &removed, tell);
        remover.may_remove = Some(self.deletes.left);
        remover.spare = Some(&spare);
        if !self.options.rules.is_empty() && !self.options.delete.is_some_and(|delete| delete.excluded) {
            remover.allow = Some(&allow);
        }
        let mut ctx = Ctx::new(self, &remover, mark, later);
        let left = match self.begin(&mut ctx, names.is_some()) {
            Ok(begun) => {
                let source = Port::new(self.sides.0.volume, 1);
                let spared = |(node, attr): (&Node, &Attr), how_far| {
                    Spared::new(source, node.clone(), (attr.fsid, attr.fileid), how_far)
                };
                let above = begun.above.as_ref().filter(|_| begun.attr.kind != Kind::Dir);
                source_root.get_or_init(|| match above {
                    // A directory's id is what tells; of an object that is none it is that of the directory that it is a name in.
                    Some((node, attr)) => spared((node, attr), Spares::Names),
                    None => spared((&begun.node, &begun.attr), Spares::All),
                });
                self.work(&ctx, begun, names)
            }
            Err(failure) => {
                self.crew.report().add(failure);
                0
            }
        };
        let mut summary = ctx.summary();
        summary.passes = 1;
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        summary.deleted += get(&removed.files) + get(&removed.dirs);
        summary.delete_held_back += get(&removed.held_back);
        summary.warnings.extend(removed.take_warnings());
        if self.crew.stop().is_set() {
            let why = if ctx.is_lost() { "no mount target is left that answers" } else { "interrupted" };
            summary.stopped = Some(format!(
                "{why}: {left} tasks that were known of were not begun, and what they would have led to is not known; \
                 the same command goes on where this one ended"
            ));
        }
        summary
    }

    /// Finds both roots.
    fn begin(&self, ctx: &mut Ctx<'_>, is_list: bool) -> Result<Begun, Failure> {
        let (source, target) = self.sides;
        let (mut above, mut at) = (Vec::new(), root_of(ctx.source, &source.shown)?);
        for name in &source.way {
            let next = resolve_in(ctx.source, &at.0, name, &source.shown)?;
            above.push(std::mem::replace(&mut at, next));
        }
        let (node, attr) = at;
        (ctx.source_fsid, ctx.single) = (attr.fsid, attr.kind != Kind::Dir);
        let last_missing = |failure: Failure| (failure.cause == NOT_THERE).then_some(()).ok_or(failure);
        let Some((last, way)) = target.way.split_last() else {
            let (there, is) = resolve(ctx.target, &[], &target.shown)?;
            ctx.target_root.get_or_init(|| (there.clone(), is));
            self.tell_apart(ctx, &node, &attr)?;
            self.tell_above(ctx, is_list, &above)?;
            return Ok(Begun { node, attr, above: above.pop(), parent: None, at: At::Present(Some(there), is) });
        };
        let (parent, parent_attr) = resolve(ctx.target, way, &target.shown)?;
        let at = match resolve_in(ctx.target, &parent, last, &target.shown) {
            Ok((there, is)) => {
                ctx.target_root.get_or_init(|| (there.clone(), is));
                self.tell_apart(ctx, &node, &attr)?;
                self.tell_above(ctx, is_list, &above)?;
                At::Present(Some(there), is)
            }
            Err(failure) => {
                last_missing(failure)?;
                ctx.links.met_fs(parent_attr.fsid);
                At::Absent
            }
        };
        Ok(Begun { node, attr, above: above.pop(), parent: Some((parent, parent_attr, last.clone())), at })
    }

    /// A copy onto itself would empty each file before it is read.
    fn tell_apart(&self, ctx: &Ctx<'_>, node: &Node, attr: &Attr) -> Result<(), Failure> {
        let same = match attr.kind {
            Kind::Dir => ctx.is_target_root(node, attr),
            _ if ctx.compares() => false,
            _ => ctx.target_root.get().is_some_and(|(_, is)| is == attr || self.is_one_file(ctx, attr, is)),
        };
        let same_text = || Failure::refused(&self.sides.0.shown, "source and destination are the same");
        if same { Err(same_text()) } else { Ok(()) }
    }

    /// What is deleted is not what the source is in. The command line has told so of paths and of URLs with one host; a server has
    /// several names, and mounts.
    fn tell_above(&self, ctx: &Ctx<'_>, is_list: bool, above: &[(Node, Attr)]) -> Result<(), Failure> {
        let (source, target) = self.sides;
        let Some(delete) = self.options.delete.filter(|_| !is_list) else { return Ok(()) };
        let stays = |way: &[Name]| {
            let path = way.iter().map(Name::as_bytes).collect::<Vec<_>>().join(&b'/');
            (target.fs_root && way[0].as_bytes() == SNAPSHOT)
                || (!delete.excluded && !self.options.rules.allow_way(&path))
        };
        let ways = above.iter().enumerate().map(|(at, dir)| (dir, &source.way[at..]));
        let mut held = ways.filter(|(_, way)| !stays(way));
        if !held.any(|((node, attr), _)| ctx.is_target_root(node, attr)) {
            return Ok(());
        }
        let reason = "the source is in it, and --delete would remove that; exclude it, or move it out";
        Err(Failure::refused(&target.shown, reason))
    }

    /// Are files one whose file systems have other ids on each side? A name cannot be made in a file: they are one of the same file id
    /// in one directory, or names of one file by its times.
    fn is_one_file(&self, ctx: &Ctx<'_>, attr: &Attr, is: &Attr) -> bool {
        let (ours, theirs) = ((attr.fsid, attr.fileid), (is.fsid, is.fileid));
        if !may_be_one(ctx.source, ours, ctx.target, theirs) {
            return false;
        }
        let above = |port, side: &Side<'_>| {
            let (_, way) = side.way.split_last()?;
            resolve(port, way, &side.shown).ok().map(|(dir, _)| dir)
        };
        let times = |attr: &Attr| (attr.size, attr.mtime, attr.ctime);
        let (source, target) = self.sides;
        let dirs = above(ctx.source, source).zip(above(ctx.target, target));
        let alike = times(attr) == times(is);
        let in_one = |(ours, theirs): (Node, Node)| is_one(ctx.mark, (ctx.source, &ours), (ctx.target, &theirs));
        (alike && attr.nlink > 1) || dirs.and_then(in_one).unwrap_or(alike)
    }

    /// Copies from the roots on; returns how many tasks were left undone.
    fn work(&self, ctx: &Ctx<'_>, begun: Begun, names: Option<List<'_>>) -> usize {
        let mut due: Vec<Due<Task>> = Vec::new();
        let mut feed = None;
        if begun.attr.kind == Kind::Dir {
            let root = Arc::new(Dir::root(begun.node.clone(), begun.attr, begun.at.clone(), names.is_some()));
            if !self.make_root(ctx, &root, &begun) {
                return 0;
            }
            match names {
                Some(names) => {
                    feed = Some(Feed::new(names, root));
                    due.push(Task::Feed.due());
                }
                None => {
                    root.join().target.end = root.is_fresh();
                    due.push(Task::List(root).due());
                }
            }
        } else if let Some(object) = self.single(ctx, &begun) {
            due.push(Task::Object(object).due());
        }
        let low_water = 4 * self.crew.shape().in_flight();
        let agenda = match ctx.target.volume.limits().dirs_locked {
            true => {
                Agenda::new(self.crew, low_water.max(APART_MIN)).apart(Task::place, ctx.target.volume.mounts().len())
            }
            false => Agenda::new(self.crew, low_water),
        };
        agenda.add(due);
        let left = agenda.run(self.crew, ctx.take_max(), |class, seat, tasks, due| {
            let mut sorted = Sorted::default();
            tasks.drain(..).for_each(|task| sorted.take(task));
            sorted.run(ctx, feed.as_ref(), (class, seat), due, &agenda);
        });
        ctx.waited_most.store(agenda.most(), Ordering::Relaxed);
        big::abandon(ctx);
        left
    }

    /// The target's root directory: found, or made. False if it is neither.
    fn make_root(&self, ctx: &Ctx<'_>, root: &Arc<Dir>, begun: &Begun) -> bool {
        match (&begun.at, &begun.parent) {
            (At::Present(Some(node), attr), _) if attr.kind == Kind::Dir => {
                enter::use_existing(ctx, ctx.target.route(), root, node.clone(), *attr);
                true
            }
            (At::Absent, Some(_)) if ctx.compares() => {
                ctx.differs("only in the source", root, None);
                false
            }
            (At::Absent, Some((parent, _, name))) => {
                let route = ctx.target.route();
                let inherits = ctx.xattrs && xattrs::has_default_acl(ctx, route, parent);
                let all = decide::make(ctx.options, &root.attr, None);
                let shut_out = xattrs::shut_out(ctx, &root.source, &root.attr, inherits);
                let mode = all.mode.map(|mode| mode & !shut_out | 0o700);
                let change = AttrChange { mode, masked: all.masked, ..Default::default() };
                let call = ctx.target.one(route, Call::mkdir(parent, name, change));
                match call.found() {
                    Ok(made) => {
                        // It may be in the source.
                        if let Ok(root) = ctx.target.found(route, &call) {
                            ctx.target_root.get_or_init(|| root);
                        }
                        ctx::add(&ctx.counts.dirs, 1);
                        ctx.tell(Deed::Made, root, None);
                        let is = made.attr.map(|is| (is.uid, is.gid));
                        groups::give_new(ctx, route, [((&root.attr, None), &made.node, is)]);
                        // Its owner comes with its other attributes, when all is in it.
                        let let_in = enter::let_in(ctx, route, &root.attr, &made);
                        root.set_made(Made { inherits, let_in, ..Made::new(made.node, None) });
                        true
                    }
                    Err(status) => {
                        // Another run may have made it meanwhile.
                        let there = (status == Status::Exist).then(|| ctx.target.look_up(route, parent, name).ok());
                        match there.flatten().filter(|(_, attr)| attr.kind == Kind::Dir) {
                            Some((node, attr)) => {
                                enter::use_existing(ctx, route, root, node, attr);
                                true
                            }
                            None => {
                                ctx.fail(root, None, Trouble::Call(On::Target, Proc::MkDir, status));
                                false
                            }
                        }
                    }
                }
            }
            _ => {
                ctx.fail(root, None, Trouble::Call(On::Target, Proc::MkDir, Status::NotDir));
                false
            }
        }
    }

    /// The source is one object, to be copied under the name that the target's way ends with.
    fn single(&self, ctx: &Ctx<'_>, begun: &Begun) -> Option<Box<Object>> {
        let Some((parent, parent_attr, name)) = &begun.parent else {
            let reason = "is a directory, and the source is none";
            self.crew.report().add(Failure::refused(ctx.shown[On::Target as usize], reason));
            return None;
        };
        let dir = Arc::new(Dir::root(begun.node.clone(), *parent_attr, At::Absent, true));
        // As rsync: patterns are asked of the source's own name, whatever it is called at the target.
        let own = self.sides.0.way.last();
        if own.is_some_and(|own| visit::is_left_out(ctx, &dir, own, Some(begun.attr.kind))) {
            return None;
        }
        let (node, was) = (parent.clone(), Some(*parent_attr));
        dir.set_made(Made { inherits: ctx.xattrs, ..Made::new(node, was) });
        let source = Some((begun.node.clone(), begun.attr));
        let mut object = Object::new(&dir, name.clone(), source, begun.at.clone());
        object.single = true;
        Some(object)
    }
}

/// Both roots.
struct Begun {
    node: Node,
    attr: Attr,
    /// The directory that the source's root is in, unless it is the volume's.
    above: Option<(Node, Attr)>,
    /// The directory that the target's root is in, and its name, unless it is the volume's.
    parent: Option<(Node, Attr, Name)>,
    at: At,
}

pub(super) const NOT_THERE: Cause = Cause::Call(Proc::Lookup, Status::NoEnt);

/// The object at the end of a way from the volume's root; symbolic links are not followed.
pub(super) fn resolve(port: Port<'_>, way: &[Name], shown: &[u8]) -> Result<(Node, Attr), Failure> {
    let mut at = root_of(port, shown)?;
    for name in way {
        at = resolve_in(port, &at.0, name, shown)?;
    }
    Ok(at)
}

fn root_of(port: Port<'_>, shown: &[u8]) -> Result<(Node, Attr), Failure> {
    let root = port.volume.root();
    let call = port.one(port.route(), Call::get_attr(&root));
    let attr = call.attr().map_err(|status| Failure::call(shown, Proc::GetAttr, status))?;
    Ok((root, attr))
}

fn resolve_in(port: Port<'_>, dir: &Node, name: &Name, shown: &[u8]) -> Result<(Node, Attr), Failure> {
    port.look_up(port.route(), dir, name).map_err(|(proc, status)| Failure::call(shown, proc, status))
}

/// A lane's tasks, by what they are.
#[derive(Default)]
struct Sorted {
    enter: Vec<Arc<Dir>>,
    list: Vec<Arc<Dir>>,
    feed: bool,
    objects: Vec<Held>,
    files: Vec<Files>,
    bigs: Vec<Arc<Big>>,
    finish: Vec<Arc<Dir>>,
    removals: Vec<Removal>,
}

impl Sorted {
    fn take(&mut self, task: Task) {
        match task {
            Task::Enter(dir) => self.enter.push(dir),
            Task::List(dir) => self.list.push(dir),
            Task::Feed => self.feed = true,
            Task::Object(object) => self.objects.push(object),
            Task::Files(files) => self.files.push(files),
            Task::Carry(big) => self.bigs.push(big),
            Task::Finish(dir) => self.finish.push(dir),
            Task::Remove(removal) => self.removals.push(removal),
        }
    }

    fn run(
        self,
        ctx: &Ctx<'_>,
        feed: Option<&Feed<'_>>,
        (class, seat): (Class, Option<Seat>),
        due: &mut Vec<Due<Task>>,
        agenda: &Agenda<Task>,
    ) {
        if !self.enter.is_empty() || !self.list.is_empty() {
            visit::run(ctx, self.enter, self.list, due);
        }
        if let Some(feed) = feed.filter(|_| self.feed) {
            feed.run(ctx, due);
        }
        if !self.objects.is_empty() {
            batch::run(ctx, seat, self.objects, due);
        }
        self.files.into_iter().for_each(|files| whole::copy_files(ctx, files, due));
        if !self.removals.is_empty() {
            delete::run(ctx, class, self.removals, due, agenda);
        }
        let goes_on = |dir: &Arc<Dir>| feed.is_some_and(|feed| feed.goes_on(dir));
        let (on, finish): (Vec<_>, Vec<_>) = self.finish.into_iter().partition(goes_on);
        due.extend(on.into_iter().map(|_| Task::Feed.due()));
        if !finish.is_empty() {
            enter::finish(ctx, finish, due);
        }
        big::run(ctx, self.bigs, due);
    }
}
