//! Operands on their way into the agenda: a few at a time, however many there are. The directories that they are in are
//! looked up once for those few, in windows; the operands themselves are left to the lanes.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use crate::base::name::Shown;
use crate::base::{Failure, Name, Proc, Status};
use crate::crew::Due;
use crate::storage::{Call, Kind, Node};

use super::super::port::Port;
use super::begun::Named;
use super::engine::{Engine, Met, Task};
use super::frame::{Frame, Root, flag};
use super::{Operand, Options};

/// Operands taken from the list at once: enough to keep lanes busy for the time of a few round trips.
const BATCH_MAX: usize = 128;

/// A list of operands.
pub(super) type Operands<'a> = &'a mut (dyn Iterator<Item = Result<Operand, String>> + Send);

/// A directory by its way from another.
type Way = (Node, Vec<Name>);

/// Why a way does not lead to a directory.
#[derive(Clone, Copy)]
enum Astray {
    Call(Proc, Status),
    Symlink,
}

struct State<'a> {
    operands: Operands<'a>,
    known: HashMap<Way, Result<(Node, u64), Astray>>,
    /// The directory that ways begin in, and its file system.
    base: Option<(Node, u64)>,
    /// What was named last, of a list.
    named: Named,
}

/// The rest of the list.
pub(super) struct Feed<'a>(Mutex<State<'a>>);

impl<'a> Feed<'a> {
    pub fn new(operands: Operands<'a>) -> Feed<'a> {
        Feed(Mutex::new(State { operands, known: HashMap::new(), base: None, named: Named::default() }))
    }

    /// Begins with the next few operands. False when there are no more.
    pub fn next(
        &self,
        engine: &Engine<'_, ()>,
        options: &Options,
        due: &mut Vec<Due<Task<()>>>,
        finished: &mut Vec<((), bool)>,
    ) -> bool {
        let mut state = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (mut batch, mut more) = (Vec::with_capacity(BATCH_MAX), true);
        while more && batch.len() < BATCH_MAX {
            match state.operands.next() {
                Some(Ok(operand)) => batch.push(operand),
                Some(Err(why)) => {
                    engine.crew.report().add(Failure::refused(b"the list of operands", why.as_str()));
                    more = false;
                }
                None => more = false,
            }
        }
        state.resolve(engine, &batch);
        for operand in batch {
            state.begin(engine, options, operand, due, finished);
        }
        more
    }
}

/// The way to the directory that an operand is in.
fn above(operand: &Operand) -> &[Name] {
    operand.way.split_last().map_or(&[], |(_, above)| above)
}

impl State<'_> {
    /// Finds the directories that these operands are in, one level of the tree after the other.
    #[allow(clippy::mutable_key_type)] // a node is hashed and compared by what never changes
    fn resolve(&mut self, engine: &Engine<'_, ()>, batch: &[Operand]) {
        // A list may come slowly, and what was a directory's name is another's by then.
        self.known.clear();
        let levels = batch.iter().map(|operand| above(operand).len()).max().unwrap_or(0);
        for level in 1..=levels {
            let mut wanted: HashSet<Way> = HashSet::new();
            let (mut ways, mut calls) = (Vec::new(), Vec::new());
            for operand in batch {
                let Some((name, before)) = above(operand).get(..level).and_then(|way| way.split_last()) else {
                    continue;
                };
                let way = (operand.dir.clone(), above(operand)[..level].to_vec());
                if self.known.contains_key(&way) || wanted.contains(&way) {
                    continue;
                }
                match self.node(&operand.dir, before) {
                    Ok(node) => {
                        calls.push(Call::lookup(&node, name));
                        wanted.insert(way.clone());
                        ways.push(way);
                    }
                    Err(astray) => {
                        self.known.insert(way, Err(astray));
                    }
                }
            }
            let route = engine.port.route();
            // No lane has anything to do until they are found.
            Port::new(engine.port.volume, BATCH_MAX).perform(route, &mut calls);
            for (way, call) in ways.into_iter().zip(&calls) {
                let found = match engine.port.found(route, call) {
                    Ok((node, attr)) if attr.kind == Kind::Dir => Ok((node, attr.fsid)),
                    Ok((_, attr)) if attr.kind == Kind::Symlink => Err(Astray::Symlink),
                    Ok(_) => Err(Astray::Call(Proc::Lookup, Status::NotDir)),
                    Err((proc, status)) => Err(Astray::Call(proc, status)),
                };
                self.known.insert(way, found);
            }
        }
    }

    fn node(&self, dir: &Node, way: &[Name]) -> Result<Node, Astray> {
        if way.is_empty() {
            return Ok(dir.clone());
        }
        let known = self.known.get(&(dir.clone(), way.to_vec()));
        known.cloned().unwrap_or(Err(Astray::Call(Proc::Lookup, Status::NoEnt))).map(|(node, _)| node)
    }

    /// The file system of the directory that an operand is in.
    fn fsid(&mut self, engine: &Engine<'_, ()>, operand: &Operand) -> Result<u64, Status> {
        let above = above(operand);
        if !above.is_empty() {
            let known = self.known.get(&(operand.dir.clone(), above.to_vec()));
            return known.and_then(|found| found.as_ref().ok()).map(|(_, fsid)| *fsid).ok_or(Status::NoEnt);
        }
        if let Some(fsid) = operand.dir_fsid {
            return Ok(fsid);
        }
        if let Some((dir, fsid)) = &self.base
            && *dir == operand.dir
        {
            return Ok(*fsid);
        }
        let call = engine.port.one(engine.port.route(), Call::get_attr(&operand.dir));
        let fsid = call.attr()?.fsid;
        self.base = Some((operand.dir.clone(), fsid));
        Ok(fsid)
    }

    fn begin(
        &mut self,
        engine: &Engine<'_, ()>,
        options: &Options,
        operand: Operand,
        due: &mut Vec<Due<Task<()>>>,
        finished: &mut Vec<((), bool)>,
    ) {
        if self.named.again(&operand.dir, &operand.way, operand.must_be_dir) {
            return;
        }
        let name = operand.way.last().cloned();
        if let Some(pattern) = options.excluded.operand(&operand.shown, name.as_ref().map(Name::as_bytes)) {
            engine.counts.kept.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            // That a whole tree stays may not be what was meant; where a name stays that was given, it is.
            if let Some(pattern) = pattern {
                let (shown, pattern) = (Shown(&operand.shown), Shown(pattern));
                let why = "names it, or a directory above it";
                engine.counts.warn(format!("{shown}: left alone with all that is in it: pattern '{pattern}' {why}"));
            }
            return;
        }
        let dir = match self.node(&operand.dir, above(&operand)) {
            Ok(dir) => dir,
            Err(Astray::Call(_, Status::NoEnt | Status::NotDir)) if options.force => return,
            Err(Astray::Call(_, status)) if engine.is_taken(&operand.shown) && engine.is_absent(status) => return,
            Err(Astray::Call(proc, Status::NoTarget)) => return engine.lose(&operand.shown, proc),
            Err(Astray::Call(proc, status)) => {
                return engine.crew.report().add(Failure::call(&operand.shown, proc, status));
            }
            Err(Astray::Symlink) => {
                let why = "a directory on the way is a symbolic link, which is not followed";
                return engine.crew.report().add(Failure::refused(&operand.shown, why));
            }
        };
        let fsid = match options.mounts_stay.then(|| self.fsid(engine, &operand)).transpose() {
            Ok(fsid) => fsid,
            Err(Status::NoTarget) => return engine.lose(&operand.shown, Proc::GetAttr),
            // Whether something is mounted there would not be known.
            Err(status) => {
                return engine.crew.report().add(Failure::call(&operand.shown, Proc::GetAttr, status));
            }
        };
        let Operand { shown, contents, fs_root, must_be_dir, .. } = operand;
        let skip = shown.iter().rposition(|b| *b != b'/').map_or(0, |i| i + 1) + 1;
        let root = Root { dir, name, shown, skip, contents, fs_root, fsid, tag: () };
        let top = Frame::top(root, 0);
        if must_be_dir {
            top.set(flag::MUST_BE_DIR);
        }
        engine.begin_at(top, Met::default(), due, finished);
    }
}
