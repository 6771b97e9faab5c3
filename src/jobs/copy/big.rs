//! Large files in ranges, carried or compared by several lanes at once. A few tasks for each file go round: each carries a
//! range and comes again while there are more, so what waits does not grow with the file.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::base::{Proc, Status};
use crate::crew::Due;
use crate::storage::Beyond;
use crate::storage::{Attr, Call, Kind, Lent, Mount, Node, Op, Promise, Route, Sought};

use super::super::port::Port;
use super::super::write;
use super::batch::{Known, Routes, give_up, retry};
use super::compare;
use super::complete;
use super::ctx::{Ctx, On, Trouble, add};
use super::fill::{self, read_ranges};
use super::make::{self, Item, Made};
use super::task::{At, Task};
use super::{Sparse, Verify};

/// Bytes asked of one COPY: after each the stop flag is looked at.
const COPY_BYTES: u64 = 64 << 20;

/// What is done with the ranges.
enum Mode {
    Carry(Made),
    /// The whole file at once, by the storage itself.
    Clone(Made, Lent),
    Compare(Node),
}

/// A large file.
pub(super) struct Big {
    known: Mutex<Option<Known>>,
    depth: u32,
    source: Node,
    size: u64,
    range: u64,
    mode: Mode,
    hole_min: Option<usize>,
    next: AtomicU64,
    /// Tasks that have not ended.
    tasks: AtomicU64,
    trouble: Mutex<Option<Trouble>>,
    differs: AtomicBool,
    /// Bytes of it that were compared.
    compared: AtomicU64,
    /// Where the source ended before its size, if only for a moment.
    cut: AtomicU64,
    /// From here on it has no data. A sparse file may be of 2^63 bytes.
    hole: AtomicU64,
}

impl Big {
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// How many there are to carry: none behind the source's end, or in the hole there.
    fn ranges(&self) -> u64 {
        let end = self.cut.load(Ordering::Relaxed).min(self.hole.load(Ordering::Relaxed));
        self.size.min(end).div_ceil(self.range)
    }

    fn is_cut(&self) -> bool {
        self.cut.load(Ordering::Relaxed) < self.size
    }

    fn cut_at(&self, at: u64) {
        self.cut.fetch_min(at, Ordering::Relaxed);
    }

    /// Up to `data` there is none: what is left of that is done.
    fn go_on_at(&self, ctx: &Ctx<'_>, data: u64) {
        let next = data / self.range;
        let passed = next.saturating_sub(self.next.fetch_max(next, Ordering::Relaxed));
        add(&ctx.live.bytes, passed * self.range);
    }

    fn end_with(&self, trouble: Trouble) {
        self.trouble.lock().expect("nothing panics while it sets this").get_or_insert(trouble);
    }

    fn is_over(&self) -> bool {
        self.differs.load(Ordering::Relaxed)
            || self.trouble.lock().expect("nothing panics while it looks at this").is_some()
    }
}

fn start(ctx: &Ctx<'_>, known: Known, mode: Mode, due: &mut Vec<Due<Task>>) {
    let range = if matches!(mode, Mode::Clone(..)) {
        known.attr.size
    } else {
        ctx.options.range_bytes.next_multiple_of(ctx.target.volume.page_bytes())
    };
    let hole_min = fill::hole_min(ctx, &known.attr);
    let big = Big {
        depth: known.object.dir.depth(),
        source: known.node.clone(),
        size: known.attr.size,
        range: range.max(1),
        mode,
        hole_min,
        next: AtomicU64::new(0),
        tasks: AtomicU64::new(0),
        trouble: Mutex::default(),
        differs: AtomicBool::new(false),
        compared: AtomicU64::new(0),
        cut: AtomicU64::new(u64::MAX),
        hole: AtomicU64::new(u64::MAX),
        known: Mutex::new(Some(known)),
    };
    let tasks = big.ranges().clamp(1, ctx.crew.shape().lanes.max(1) as u64);
    big.tasks.store(tasks, Ordering::Relaxed);
    let big = Arc::new(big);
    if !matches!(big.mode, Mode::Compare(_)) {
        written(ctx).insert(address(&big), big.clone());
    }
    due.extend((0..tasks).map(|_| Task::Carry(big.clone()).due()));
}

fn written<'a>(ctx: &'a Ctx<'_>) -> MutexGuard<'a, HashMap<usize, Arc<Big>>> {
    ctx.bigs.lock().expect("nothing panics while it holds this")
}

fn address(big: &Big) -> usize {
    std::ptr::from_ref(big).addr()
}

/// A stopped run goes on with no file that it has begun; nobody writes any more.
pub(super) fn abandon(ctx: &Ctx<'_>) {
    let left = std::mem::take(&mut *written(ctx));
    let routes = Routes { source: ctx.source.route(), target: ctx.target.route() };
    for big in left.into_values() {
        let known = big.known.lock().expect("nothing panics while it takes this").take();
        if let (Some(known), Mode::Carry(made) | Mode::Clone(made, _)) = (known, &big.mode) {
            complete::discard(ctx, routes, (&known.object, &known.attr), Some(made));
        }
    }
}

/// The file of `item` was made, or emptied; its bytes follow.
pub(super) fn begin(ctx: &Ctx<'_>, item: &mut Item, due: &mut Vec<Due<Task>>) {
    let Some(made) = item.made.take() else { return };
    item.elsewhere = true;
    let placeholder = make::placeholder(item.object());
    let object = std::mem::replace(&mut item.known.object, placeholder);
    let known = Known { object, node: item.known.node.clone(), attr: item.known.attr };
    let copies = !ctx.copies_refused.load(Ordering::Relaxed) && ctx.options.verify == Verify::Off;
    // COPY knows nothing of holes where blocks cannot be shared: those files are carried.
    let lent = (copies && fill::hole_min(ctx, &known.attr).is_none()).then(|| ctx.source.volume.lend(&known.node));
    let mode = match lent.flatten() {
        Some(lent) => Mode::Clone(made, lent),
        None => Mode::Carry(made),
    };
    start(ctx, known, mode, due);
}

/// The bytes of the file on both sides are to be compared.
pub(super) fn compare(ctx: &Ctx<'_>, known: Known, due: &mut Vec<Due<Task>>) {
    let At::Present(Some(there), _) = &known.object.at else { return };
    let there = there.clone();
    if ctx.compares() && ctx.caches[On::Target as usize] {
        // Its ranges are read through all mounts, each of which has pages of its own. What cannot be dropped is read all the same.
        for route in ctx.target.volume.routes() {
            ctx.target.one(route, Call::io_advise(&there));
        }
    }
    start(ctx, known, Mode::Compare(there), due);
}

/// Carries the next range of each file.
pub(super) fn run(ctx: &Ctx<'_>, bigs: Vec<Arc<Big>>, due: &mut Vec<Due<Task>>) {
    for big in bigs {
        let i = big.next.fetch_add(1, Ordering::Relaxed);
        let routes = Routes { source: ctx.source.route(), target: ctx.target.route() };
        if i < big.ranges() && !big.is_over() {
            let offset = i * big.range;
            let len = big.range.min(big.size - offset);
            let _promises = promise(ctx, routes, &big.mode, len);
            let result = match &big.mode {
                Mode::Carry(made) => carry(ctx, routes, &big, &made.node, (offset, len)),
                Mode::Clone(made, lent) => clone(ctx, routes, &big, &made.node, lent),
                Mode::Compare(there) => compare_range(ctx, routes, &big, there, (offset, len)),
            };
            if let Err(trouble) = result {
                big.end_with(trouble);
            }
        }
        if big.next.load(Ordering::Relaxed) < big.ranges() && !big.is_over() {
            due.push(Task::Carry(big).due());
        } else if big.tasks.fetch_sub(1, Ordering::AcqRel) == 1 {
            finish(ctx, routes, &big, due);
        }
    }
}

/// What a range of `len` bytes takes of both mounts; a file that the storage copies itself is not read and written.
fn promise<'a>(ctx: &Ctx<'a>, routes: Routes, mode: &Mode, len: u64) -> Option<[Promise<'a>; 2]> {
    let there = match mode {
        Mode::Carry(_) => Proc::Write,
        Mode::Compare(_) => Proc::Read,
        Mode::Clone(..) => return None,
    };
    let of = |port: Port<'a>, route, proc| port.volume.promise(route, |list| list.price(proc, len));
    Some([of(ctx.source, routes.source, Proc::Read), of(ctx.target, routes.target, there)])
}

/// Ranges of (offset, bytes) that hold data, by the source's word, or all of it.
fn segments(ctx: &Ctx<'_>, route: Route, big: &Big, (offset, len): (u64, u64)) -> Result<Vec<(u64, u64)>, Trouble> {
    if !ctx.source_holes || big.hole_min.is_none() || ctx.options.sparse == Sparse::Never {
        return Ok(vec![(offset, len)]);
    }
    let end = offset + len;
    let mut segments = Vec::new();
    let mut at = offset;
    while at < end {
        let data = match seek(ctx, route, big, at, Sought::Data) {
            Ok(data) if data < end => data,
            Ok(data) => {
                big.go_on_at(ctx, data);
                break;
            }
            Err(Status::NxIo) => {
                big.hole.fetch_min(at, Ordering::Relaxed);
                break;
            }
            Err(Status::NotSupp | Status::Inval) => return Ok(vec![(offset, len)]),
            Err(status) => return Err(Trouble::Call(On::Source, Proc::Seek, status)),
        };
        let hole = match seek(ctx, route, big, data, Sought::Hole) {
            Ok(hole) => hole.min(end),
            // It was cut meanwhile; reading will tell.
            Err(Status::NxIo) => end,
            Err(status) => return Err(Trouble::Call(On::Source, Proc::Seek, status)),
        };
        segments.push((data, hole.max(data + 1).min(end) - data));
        at = hole.max(data + 1);
    }
    Ok(segments)
}

fn seek(ctx: &Ctx<'_>, route: Route, big: &Big, offset: u64, what: Sought) -> Result<u64, Status> {
    ctx.source.one(route, Call::seek(&big.source, offset, what)).sought()
}

/// Bytes and the offsets that they are from.
type Parts = Vec<(u64, Vec<u8>)>;

/// Reads one side's range in a window of READs; where the file ended, if that was before the range did.
fn read(
    ctx: &Ctx<'_>,
    on: On,
    route: Route,
    node: &Node,
    (offset, len): (u64, u64),
) -> Result<(Parts, Option<u64>), Trouble> {
    let port = if on == On::Source { ctx.source } else { ctx.target };
    let step = u64::from(ctx.read_max).max(1);
    let starts = (0..len.div_ceil(step)).map(|i| offset + i * step);
    let ranges: Vec<_> = starts.map(|at| (node.clone(), at, step.min(offset + len - at))).collect();
    let (mut parts, mut cut) = (Vec::with_capacity(ranges.len()), None);
    for (read, (_, at, _)) in read_ranges(port, route, &ranges, ctx.read_max).into_iter().zip(&ranges) {
        let read = read.map_err(|status| Trouble::Call(on, Proc::Read, status))?;
        if read.short {
            cut = cut.or(Some(at + read.data.len() as u64));
        }
        parts.push((*at, read.data));
    }
    Ok((parts, cut))
}

fn carry(ctx: &Ctx<'_>, routes: Routes, big: &Big, node: &Node, range: (u64, u64)) -> Result<(), Trouble> {
    let Some(_permit) = ctx.crew.budget().acquire(range.1) else {
        return Err(Trouble::Call(On::Target, Proc::Write, Status::Cancelled));
    };
    for segment in segments(ctx, routes.source, big, range)? {
        let (parts, cut) = read(ctx, On::Source, routes.source, &big.source, segment)?;
        cut.into_iter().for_each(|at| big.cut_at(at));
        let chunks: Vec<_> =
            parts.iter().flat_map(|(at, data)| fill::pieces(data, *at, ctx.write_max, big.hole_min)).collect();
        write::put_file(ctx.target, routes.target, node, &chunks).map_err(Trouble::on_target)?;
        if ctx.options.verify == Verify::Written {
            for (at, data) in &parts {
                fill::read_back(ctx, routes.target, node, *at, data)?;
            }
        }
    }
    add(&ctx.live.bytes, range.1);
    Ok(())
}

/// Has the storage copy the file; where it cannot, the file is carried by this lane, and later ones by all.
fn clone(ctx: &Ctx<'_>, routes: Routes, big: &Big, node: &Node, lent: &Lent) -> Result<(), Trouble> {
    let mut at = 0;
    while at < big.size && !ctx.is_stopped() {
        // The first asks for all of it: blocks are shared as a whole or not.
        let count = if at == 0 { big.size } else { COPY_BYTES.min(big.size - at) };
        let call = ctx.target.one(routes.target, Call::copy(lent, at, node, at, count));
        match call.op {
            Op::Beyond(Beyond::Copy { out: Ok(0), .. }) => {
                big.cut_at(at);
                break;
            }
            Op::Beyond(Beyond::Copy { out: Ok(copied), .. }) => {
                at += copied;
                add(&ctx.live.bytes, copied);
            }
            Op::Beyond(Beyond::Copy { out: Err(status @ (Status::NotSupp | Status::XDev)), .. }) => {
                // XDEV: of this file.
                ctx.copies_refused.fetch_or(status == Status::NotSupp, Ordering::Relaxed);
                while at < big.size && !ctx.is_stopped() {
                    let len = ctx.options.range_bytes.min(big.size - at);
                    carry(ctx, routes, big, node, (at, len))?;
                    at += len;
                }
            }
            Op::Beyond(Beyond::Copy { out: Err(status), .. }) => {
                return Err(Trouble::Call(On::Target, Proc::Copy, status));
            }
            _ => return Err(Trouble::Call(On::Target, Proc::Copy, Status::ServerFault)),
        }
    }
    if at < big.size && ctx.is_stopped() {
        return Err(Trouble::Call(On::Target, Proc::Copy, Status::Cancelled));
    }
    let call = ctx.target.one(routes.target, Call::commit(node, 0, 0));
    call.status().map_err(Trouble::target(Proc::Commit))
}

fn compare_range(ctx: &Ctx<'_>, routes: Routes, big: &Big, there: &Node, range: (u64, u64)) -> Result<(), Trouble> {
    let Some(_permit) = ctx.crew.budget().acquire(2 * range.1) else {
        return Err(Trouble::Call(On::Target, Proc::Read, Status::Cancelled));
    };
    let (ours, cut) = read(ctx, On::Source, routes.source, &big.source, range)?;
    let theirs = match read(ctx, On::Target, routes.target, there, range) {
        Ok((theirs, _)) => Some(theirs),
        // As of small ones.
        Err(Trouble::Call(_, _, Status::Access)) if !ctx.compares() => None,
        Err(trouble) => return Err(trouble),
    };
    if cut.is_some() || theirs.is_none_or(|theirs| theirs != ours) {
        big.differs.store(true, Ordering::Relaxed);
    }
    add(&ctx.live.bytes, range.1);
    add(&big.compared, range.1);
    Ok(())
}

/// The last range is over.
fn finish(ctx: &Ctx<'_>, routes: Routes, big: &Big, due: &mut Vec<Due<Task>>) {
    written(ctx).remove(&address(big));
    let Some(known) = big.known.lock().expect("nothing panics while it takes this").take() else { return };
    let trouble = big.trouble.lock().expect("nothing panics while it takes this").take();
    let trouble = match trouble {
        Some(Trouble::Call(On::Source, proc, status)) => match is_another(ctx, routes, &known, status) {
            Ok(true) => return begin_again(ctx, routes, big, known, due),
            Ok(false) => Some(Trouble::Call(On::Source, proc, status)),
            Err(vanished) => Some(vanished),
        },
        trouble => trouble,
    };
    let (Mode::Carry(made) | Mode::Clone(made, _)) = &big.mode else {
        return match trouble {
            // As of small ones.
            Some(Trouble::Call(On::Target, proc, status @ (Status::NoEnt | Status::Stale))) => {
                retry(ctx, known.object, Trouble::Call(On::Target, proc, status), due);
            }
            Some(trouble) => give_up(ctx, known.object, trouble, due),
            None => {
                add(&ctx.counts.verified_bytes, big.compared.load(Ordering::Relaxed));
                match big.differs.load(Ordering::Relaxed) {
                    true => compare::content_differs(ctx, known, due),
                    false => compare::equals(ctx, routes, vec![known], due),
                }
            }
        };
    };
    // Where it was made it gets its last attributes and its name.
    let routes = Routes { target: ctx.target.volume.route_of(&made.node, routes.target), ..routes };
    let mut item = Item { made: Some(made.clone()), trouble, ..Item::new(known) };
    if item.trouble.is_none() {
        // Ranges were read at different times: it must be now what it was when it was listed, and have been all the while.
        let now = ctx.source.one(routes.source, Call::get_attr(&big.source)).attr();
        let is_same = |now: &Attr| !big.is_cut() && !fill::has_changed(item.attr(), now);
        // Whoever writes a file and gives it back its time changes this one; so does whoever gives it another name.
        let is_known = |now: &Attr| now.ctime == item.attr().ctime || item.object().tries > 0;
        match now {
            Ok(now) if is_same(&now) && is_known(&now) => {}
            Ok(_) if item.object().tries == 0 => return begin_again(ctx, routes, big, item.known, due),
            Ok(now) if fill::is_replaced(item.attr(), &now) => item.trouble = Some(fill::replaced()),
            Ok(_) => item.unsteady = true,
            Err(status) => match is_another(ctx, routes, &item.known, status) {
                Ok(true) => return begin_again(ctx, routes, big, item.known, due),
                Ok(false) => item.trouble = Some(Trouble::Call(On::Source, Proc::GetAttr, status)),
                Err(vanished) => item.trouble = Some(vanished),
            },
        }
    }
    item.size_due = big.hole_min.map(|_| big.size);
    complete::run(ctx, routes, vec![item], due);
}

/// Has something else got the name of a file that reading ended with `status`? Another file is a reason to read it once more from its name
/// on, as large as it is; what cannot be read as one at all costs nothing, and is looked up as often as small ones are. An error says that
/// nothing has the name.
fn is_another(ctx: &Ctx<'_>, routes: Routes, known: &Known, status: Status) -> Result<bool, Trouble> {
    let object = &known.object;
    let is_gone = matches!(status, Status::NoEnt | Status::Stale);
    let has_tries = object.is_to_be_looked_up(status) && (!is_gone || object.tries == 0);
    let may_be = if is_gone { !object.single } else { has_tries };
    if !may_be {
        return Ok(false);
    }
    let found = match object.single {
        true => ctx.source.one(routes.source, Call::get_attr(&known.node)).attr(),
        false => {
            ctx.source.look_up(routes.source, &object.dir.source, &object.name).map(|(_, attr)| attr).map_err(|e| e.1)
        }
    };
    match found {
        // What is copied alone is no directory's entry, and cannot become one.
        Ok(is) if object.single && is.kind == Kind::Dir => Ok(false),
        // A file system may number a new file as the one that was removed before it.
        Ok(is) => {
            let id = |attr: &Attr| (attr.kind, attr.fileid, attr.ctime);
            Ok(has_tries && id(&is) != id(&known.attr))
        }
        Err(Status::NoEnt) => Err(fill::vanished()),
        Err(_) => Ok(false),
    }
}

/// What changed while it was read is read once more, from its name on.
fn begin_again(ctx: &Ctx<'_>, routes: Routes, big: &Big, known: Known, due: &mut Vec<Due<Task>>) {
    add(&ctx.counts.read_again, 1);
    let Known { mut object, attr, .. } = known;
    if let Mode::Carry(made) | Mode::Clone(made, _) = &big.mode {
        let routes = Routes { target: ctx.target.volume.route_of(&made.node, routes.target), ..routes };
        // Whatever comes of it: it is emptied where it is begun again.
        let _ = complete::discard_silently(ctx, routes, (&object, &attr), Some(made));
        object.begun = true;
    }
    due.push(object.again().due());
}
