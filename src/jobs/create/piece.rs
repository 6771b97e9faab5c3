//! A piece of the archive: headers and the data of some files, or a part of one large file's; read by one lane.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::base::name::Shown;
use crate::base::{Failure, Proc, Status, Time};
use crate::crew::Permit;
use crate::storage::{Attr, Call, Kind, Mount, Node, Op, Route};

use super::super::port::Port;
use super::ctx::{Ctx, add, subtract};
use super::entry::{Dir, Home, Tree};

/// Data of one file in one piece: where it comes from. Its bytes follow its header, or the piece before.
pub(super) struct Data {
    pub tree: Arc<Tree>,
    /// Where it was found; none for an operand.
    pub dir: Option<Arc<Dir>>,
    pub node: Node,
    pub path: Arc<[u8]>,
    /// What was listed.
    pub size: u64,
    pub mtime: Time,
    pub ctime: Time,
    /// File system and file id.
    pub id: (u64, u64),
    /// What it holds, where it was read before its header was made.
    pub held: Option<Arc<[u8]>>,
    /// Offsets in the file and lengths; none of a file that was all holes.
    pub spans: Vec<(u64, u64)>,
    /// The file's first and last bytes are among them.
    pub first: bool,
    pub last: bool,
    pub fate: Arc<Fate>,
}

/// What the pieces of one file share.
#[derive(Default)]
pub(super) struct Fate {
    /// It could not be opened, and is left out.
    left_out: AtomicBool,
    /// A failure was told.
    told: AtomicBool,
    /// That it changed was told.
    changed: AtomicBool,
    /// What is stored is of another file, which took its place.
    replaced: AtomicBool,
    /// The ctime that the first READ told: a writer may put the time of modification back. The listed one is no measure: a tree of which
    /// others make hard links meanwhile (`cp -al`) would be told as changed.
    begun: OnceLock<Time>,
}

impl Fate {
    pub fn is_left_out(&self) -> bool {
        self.left_out.load(Ordering::Relaxed)
    }

    /// Has the file changed since the first who asks this?
    fn differs(&self, attr: &Attr) -> bool {
        *self.begun.get_or_init(|| attr.ctime) != attr.ctime
    }

    /// The archive does not have the data that its other names stand for.
    pub fn has_no_data(&self) -> bool {
        self.is_left_out() || self.replaced.load(Ordering::Relaxed)
    }
}

/// What came of a piece that goes on with a large file, to be told when it is known that the file is stored.
pub(super) struct Later {
    data: Box<Data>,
    got: Got,
}

impl Later {
    pub fn fate(&self) -> &Fate {
        &self.data.fate
    }

    pub fn tell(&self, ctx: &Ctx<'_>) {
        tell(ctx, &self.data, &self.got);
    }
}

/// A member's share of a piece.
#[derive(Default)]
pub(super) struct Part {
    /// Bytes of its header blocks, in `Piece::heads`.
    pub head: usize,
    /// In a place of its own: parts are moved, and most of a tree's may have none.
    pub data: Option<Box<Data>>,
    /// Zeros behind the data.
    pub pad: usize,
    /// For `-v`, where the member begins in this piece.
    pub shown: Option<Vec<u8>>,
    /// It is another name of the file with this fate, and was found there.
    pub link_to: Option<Box<(Arc<Fate>, Home)>>,
}

impl Part {
    fn data_bytes(&self) -> usize {
        self.data.as_ref().map_or(0, |data| data.bytes())
    }

    pub fn bytes(&self) -> usize {
        self.head + self.data_bytes() + self.pad
    }
}

impl Data {
    pub fn bytes(&self) -> usize {
        // A piece is at most some MiB.
        self.spans.iter().map(|(_, len)| *len as usize).sum()
    }

    /// True for the first who asks of the file.
    fn tells_change(&self) -> bool {
        !self.fate.changed.swap(true, Ordering::Relaxed)
    }

    /// The offset in the file behind the first so many bytes of it.
    fn reached(&self, bytes: usize) -> u64 {
        let mut left = bytes as u64;
        for &(at, len) in &self.spans {
            if left < len {
                return at + left;
            }
            left -= len;
        }
        self.spans.last().map_or(0, |(at, len)| at + len)
    }
}

/// A piece while it is put together.
#[derive(Default)]
pub(super) struct Piece {
    pub number: u64,
    /// The header blocks of all parts, in their order.
    pub heads: Vec<u8>,
    pub parts: Vec<Part>,
    pub bytes: usize,
    pub permit: Option<Permit>,
}

/// A piece that was read.
pub(super) struct Filled {
    pub bytes: Vec<u8>,
    /// Bytes of the archive that `bytes` are, before packing.
    pub raw: u64,
    /// Members that begin here, in order.
    pub shown: Vec<Vec<u8>>,
    /// All of it is data of a file whose first bytes came before: dropped if that is left out.
    pub of: Option<Later>,
    /// Further names of files.
    pub links: Vec<Linked>,
    /// The bytes before packing, where some of `links` may have to be taken out of them. They are in the piece's permit.
    pub plain: Vec<u8>,
    /// `bytes` are packed.
    pub packed: bool,
    /// A member ends where it ends.
    pub ends: bool,
    /// Where, before packing, the last byte of data in it is; 0 where it has none.
    pub last_data: usize,
    /// Not all of it was read, for the run was stopped: the archive ends before it.
    pub cancelled: bool,
    /// Held until the bytes are written.
    pub _permit: Option<Permit>,
}

/// A further name of a file whose first name has this fate.
pub(super) struct Linked {
    pub path: Vec<u8>,
    pub fate: Arc<Fate>,
    pub home: Home,
    /// Where its header is in the piece, before packing.
    pub head: Range<usize>,
}

/// One READ.
struct Wanted {
    part: usize,
    offset: u64,
    len: usize,
    /// Where in the piece.
    to: usize,
}

/// What came of a part's READs.
#[derive(Clone, Copy, Default)]
struct Got {
    error: Option<Status>,
    bytes: usize,
    attr: Option<Attr>,
    /// One of the READs found another file than was listed, or than an earlier one.
    changed: bool,
    /// By its number too: what is missing of it is not what the first one lost.
    replaced: bool,
}

/// Reads what the piece holds.
pub(super) fn fill(ctx: &Ctx<'_>, piece: Piece) -> Filled {
    let Piece { mut heads, mut parts, bytes, permit, .. } = piece;
    let is_heads = heads.len() == bytes;
    let mut buffer = if is_heads { std::mem::take(&mut heads) } else { ctx.spare.take(bytes) };
    let mut wanted = Vec::new();
    let mut got = vec![Got::default(); parts.len()];
    let (mut at, mut from) = (0, 0);
    for (i, part) in parts.iter().enumerate() {
        if !is_heads {
            buffer[at..at + part.head].copy_from_slice(&heads[from..from + part.head]);
            from += part.head;
        }
        at += part.head;
        if let Some(data) = &part.data {
            let read_max = u64::from(data.tree.volume.limits().read_max.max(1));
            for &(offset, len) in &data.spans {
                if let Some(held) = &data.held {
                    let (from, bytes) = (offset as usize, len as usize);
                    buffer[at..at + bytes].copy_from_slice(&held[from..from + bytes]);
                    at += bytes;
                    got[i].bytes += bytes;
                    continue;
                }
                for from in (0..len).step_by(read_max as usize) {
                    let len = read_max.min(len - from) as usize;
                    wanted.push(Wanted { part: i, offset: offset + from, len, to: at });
                    at += len;
                }
            }
        }
        at += part.pad;
    }
    read_all(ctx, &parts, wanted, &mut buffer, &mut got);
    ask_holes(ctx, &parts, &mut got);
    let cancelled = got.iter().any(|got| got.error == Some(Status::Cancelled));
    let ends = parts.last().and_then(|part| part.data.as_ref()).is_none_or(|data| data.last);
    settle(ctx, &mut parts, &got, &mut buffer);
    let last_data = last_data(&parts);
    let links = links(&mut parts);
    let of = match &mut parts[..] {
        [Part { head: 0, data: data @ Some(_), .. }] if data.as_ref().is_some_and(|data| !data.first) => {
            data.take().map(|data| Later { got: settled(ctx, &data, got[0]), data })
        }
        _ => None,
    };
    let shown = parts.iter_mut().filter_map(|part| part.shown.take()).collect();
    let raw = buffer.len() as u64;
    Filled {
        raw,
        bytes: buffer,
        shown,
        of,
        links,
        plain: Vec::new(),
        packed: false,
        ends,
        last_data,
        cancelled,
        _permit: permit,
    }
}

/// Where the last byte of data is, if there is any.
fn last_data(parts: &[Part]) -> usize {
    let mut behind: usize = parts.iter().map(Part::bytes).sum();
    for part in parts.iter().rev() {
        if part.data_bytes() > 0 {
            return behind - part.pad - 1;
        }
        behind -= part.bytes();
    }
    0
}

/// Further names of files, and where their headers are.
fn links(parts: &mut [Part]) -> Vec<Linked> {
    let mut at = 0;
    let link = |part: &mut Part| {
        let head = at..at + part.head;
        at += part.bytes();
        let (fate, home) = *part.link_to.take()?;
        Some(Linked { path: part.shown.clone()?, fate, home, head })
    };
    parts.iter_mut().filter_map(link).collect()
}

/// Carries out all READs, in windows; short ones are continued.
fn read_all(ctx: &Ctx<'_>, parts: &[Part], mut wanted: Vec<Wanted>, buffer: &mut [u8], got: &mut [Got]) {
    wanted.reverse();
    let mut spare: Vec<Vec<u8>> = Vec::new();
    let window = ctx.crew.shape().window;
    while !wanted.is_empty() {
        // One window is of one volume.
        let Some(data) = wanted.last().and_then(|w| parts[w.part].data.as_ref()) else { return };
        let volume = &data.tree.volume;
        let mut some: Vec<(Wanted, &Data)> = Vec::with_capacity(window);
        while some.len() < window {
            let Some(one) = wanted.pop() else { break };
            match &parts[one.part].data {
                _ if got[one.part].error.is_some() => {}
                Some(data) if !data.first && data.fate.is_left_out() => {}
                Some(data) if Arc::ptr_eq(&data.tree.volume, volume) => some.push((one, data)),
                _ => {
                    wanted.push(one);
                    break;
                }
            }
        }
        let port = ctx.port(volume);
        let route = port.route();
        let mut calls: Vec<Call<'_>> = some
            .iter()
            .map(|(w, data)| {
                Call::read(
                    &data.node,
                    w.offset,
                    u32::try_from(w.len).unwrap_or(u32::MAX),
                    spare.pop().unwrap_or_default(),
                )
            })
            .collect();
        if ctx.crew.stop().is_set() {
            calls.iter_mut().for_each(|call| call.fail(Status::Cancelled));
        } else {
            port.perform(route, &mut calls);
        }
        for ((one, data), call) in some.into_iter().zip(calls).rev() {
            let Op::Read { buf, attr, out, .. } = call.op else { continue };
            let part = &mut got[one.part];
            part.changed |= attr.is_some_and(|attr| is_other(data, &attr) || data.fate.differs(&attr));
            part.replaced |= attr.is_some_and(|attr| (attr.fsid, attr.fileid) != data.id && is_other(data, &attr));
            part.attr = attr.or(part.attr);
            let n = buf.len().min(one.len);
            buffer[one.to..one.to + n].copy_from_slice(&buf[..n]);
            part.bytes += n;
            match out {
                Err(status) => part.error = Some(status),
                Ok(ended) if n < one.len && !ended && n > 0 => {
                    let Wanted { part, offset, len, to } = one;
                    wanted.push(Wanted { part, offset: offset + n as u64, len: len - n, to: to + n });
                }
                Ok(_) => {}
            }
            spare.push(buf);
        }
    }
}

/// Asks once of files of which there is nothing to read whether they are what was listed.
fn ask_holes(ctx: &Ctx<'_>, parts: &[Part], got: &mut [Got]) {
    for (part, got) in parts.iter().zip(got) {
        let Some(data) = part.data.as_ref().filter(|data| data.spans.is_empty()) else { continue };
        match if ctx.crew.stop().is_set() { Err(Status::Cancelled) } else { get_attr(ctx, data) } {
            Ok(attr) => got.attr = Some(attr),
            Err(status) => got.error = Some(status),
        }
    }
}

/// Leaves out what could not be opened, tells what is not whole, and what has changed.
fn settle(ctx: &Ctx<'_>, parts: &mut [Part], got: &[Got], buffer: &mut Vec<u8>) {
    let (mut at, mut cut) = (0, Vec::new());
    for (part, got) in parts.iter_mut().zip(got) {
        let bytes = part.bytes();
        let place = at..at + bytes;
        at += bytes;
        let Some(data) = &part.data else { continue };
        if !data.first {
            continue;
        }
        if got.error != Some(Status::Cancelled) && is_lost(ctx, data, got) {
            data.fate.left_out.store(true, Ordering::Relaxed);
            subtract(&ctx.counts.files, 1);
            cut.push(place);
            *part = Part::default();
            continue;
        }
        tell(ctx, data, &settled(ctx, data, *got));
    }
    for place in cut.into_iter().rev() {
        buffer.drain(place);
    }
}

/// With what is known only by asking once more.
fn settled(ctx: &Ctx<'_>, data: &Data, mut got: Got) -> Got {
    got.changed |= data.held.is_none() && got.error.is_none() && data.last && has_changed(ctx, data, got.attr);
    got
}

/// Counts what was read of a stored file, and tells what is not as it should be, once for a file.
fn tell(ctx: &Ctx<'_>, data: &Data, got: &Got) {
    let path = &data.path;
    match got.error {
        // The run was stopped, which is told once for all.
        Some(Status::Cancelled) => return,
        Some(status) => fail(ctx, data, status),
        None if got.bytes < data.bytes() && !got.replaced && data.tells_change() => {
            let short = data.size.saturating_sub(data.reached(got.bytes));
            add(&ctx.counts.changed, 1);
            ctx.warn(format!("{}: File shrank by {short} bytes; padding with zeros", Shown(path)));
        }
        None if got.changed && data.tells_change() => {
            add(&ctx.counts.changed, 1);
            ctx.warn(format!("{}: file changed as we read it", Shown(path)));
        }
        None => {}
    }
    add(&ctx.counts.bytes, got.bytes as u64);
    ctx.live.bytes.fetch_add(got.bytes as u64, Ordering::Relaxed);
}

/// Is nothing of a file to be stored by what came of its first bytes? What could not be opened is told, or it is looked up once more; so
/// is what was put in its place, of which this is not the whole and no data of the file's other names.
fn is_lost(ctx: &Ctx<'_>, data: &Data, got: &Got) -> bool {
    let home = || Home::new(&data.tree, data.dir.as_ref());
    match got.error {
        Some(_) if got.bytes > 0 => false,
        Some(Status::NoEnt | Status::Stale) => {
            ctx.missed(home(), &data.path);
            true
        }
        // On this host a name is opened, and something else may have it by then: a directory, a symbolic link, a device.
        Some(Status::IsDir | Status::Inval | Status::Loop | Status::NxIo | Status::BadType)
            if is_replaced(ctx, data, None) && ctx.notes(home(), &data.path) =>
        {
            true
        }
        Some(status) => {
            fail(ctx, data, status);
            true
        }
        // What was all holes may have data now; where they are is asked when it is looked up once more.
        None if data.spans.is_empty() && has_changed(ctx, data, got.attr) && ctx.notes(home(), &data.path) => true,
        None if data.held.is_some() || !is_replaced(ctx, data, got.attr) => false,
        None if ctx.notes(home(), &data.path) => true,
        // It was looked up often enough.
        None => {
            data.fate.replaced.store(true, Ordering::Relaxed);
            if data.tells_change() {
                add(&ctx.counts.changed, 1);
                ctx.warn(format!("{}: file changed as we read it", Shown(&data.path)));
            }
            false
        }
    }
}

/// Some file systems give a file another id each time it is looked up; what else is told of it stays.
fn is_replaced(ctx: &Ctx<'_>, data: &Data, attr: Option<Attr>) -> bool {
    // A kernel's mount tells it of what is read to its end.
    let Some(attr) = attr.or_else(|| get_attr(ctx, data).ok()) else {
        // It may have been another file by then, whose data are none of this one's other names.
        data.fate.replaced.store(true, Ordering::Relaxed);
        return false;
    };
    // The number of what was removed is given to what is made next.
    let is_another = (attr.fsid, attr.fileid) != data.id && (is_other(data, &attr) || attr.ctime != data.ctime);
    is_another || attr.kind != Kind::File
}

fn get_attr(ctx: &Ctx<'_>, data: &Data) -> Result<Attr, Status> {
    let port: Port<'_> = ctx.port(&data.tree.volume);
    let route: Route = port.route();
    port.one(route, Call::get_attr(&data.node)).attr()
}

/// Told once for a file.
fn fail(ctx: &Ctx<'_>, data: &Data, status: Status) {
    if !data.fate.told.swap(true, Ordering::Relaxed) {
        let proc = if data.spans.is_empty() { Proc::GetAttr } else { Proc::Read };
        ctx.failed(Failure::call(&data.path, proc, status));
    }
}

fn has_changed(ctx: &Ctx<'_>, data: &Data, attr: Option<Attr>) -> bool {
    let attr = attr.map_or_else(|| get_attr(ctx, data), Ok);
    // What cannot be asked may have changed: a whole file is only one that is known to be.
    attr.map_or(true, |attr| is_other(data, &attr) || data.fate.differs(&attr))
}

fn is_other(data: &Data, attr: &Attr) -> bool {
    attr.size != data.size || attr.mtime != data.mtime
}
