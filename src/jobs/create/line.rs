//! The order of pieces: each takes its place in the archive when all before it have taken theirs, and is written then.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use crate::archive::{Pack, write};
use crate::base::{Failure, Proc, Status, reason};
use crate::crew::Scope;
use crate::storage::{AttrChange, Call, Mount, Node};

use super::super::port::Port;
use super::super::write::put_file;
use super::ctx::{Ctx, add, subtract};
use super::piece::{Filled, Linked};

/// Bytes of a piece that are written together with what was left of the one before.
const BESIDE_BYTES: usize = 4 << 10;

/// Where the archive goes.
pub(super) enum Target<'a> {
    Stream(Mutex<&'a mut (dyn Write + Send)>),
    File(Port<'a>, Node),
}

struct State {
    next: u64,
    ready: BTreeMap<u64, Filled>,
    /// A lane is writing to the stream, or giving out places.
    busy: bool,
    /// Where the next piece goes, in the archive as it is written.
    at: u64,
    /// Where the last member ends that is whole, and how many there are up to it.
    whole: Whole,
    members: u64,
    /// A piece was not read whole: nothing that comes after is written.
    cut: bool,
}

impl State {
    /// The piece has its place.
    fn passes(&mut self, piece: &Filled) {
        self.at += piece.bytes.len() as u64;
        if piece.ends && !self.cut {
            self.whole = Whole { at: self.at, members: self.members };
        }
    }
}

/// A place in the archive behind whole members only.
#[derive(Clone, Copy)]
pub(super) struct Whole {
    pub at: u64,
    /// Members of this run up to there.
    pub members: u64,
}

/// The beginning of what is packed, without any of its data: more than a reader knows the format by, less than the shortest header (lz4's, of 7).
const HEAD_BYTES: usize = 5;

/// Where a piece goes.
#[derive(Clone, Copy)]
struct Place {
    at: u64,
    /// The last end of a member at or before it.
    whole: Whole,
}

/// How what goes to storage begins. Its pieces are written in any order, so a writer that is killed may leave zeros in the midst, which
/// a reader takes for the end. Until all is written, what stands at a new archive's beginning is no header of anything; and an archive that is
/// added to ends where it ended, for a block of zeros is there.
enum Head {
    /// Not come yet.
    Awaited,
    /// To be put in its place.
    Held(Vec<u8>),
    /// There; or of an archive that goes to a stream.
    There,
}

/// The pieces that wait for their places.
pub(super) struct Line<'a> {
    pub(super) target: Target<'a>,
    pack: Option<&'a dyn Pack>,
    state: Mutex<State>,
    /// Bytes of the archive before packing.
    raw: AtomicU64,
    failed: AtomicBool,
    unread: AtomicBool,
    /// Where the first piece that could not be written was to go.
    broken: Mutex<Option<Place>>,
    /// Where the first piece goes: 0 in a new archive.
    pub(super) from: u64,
    /// Its first bytes, while others stand in their place.
    head: Mutex<Head>,
    /// The last bytes of what goes to a stream, which are written when more comes or nothing does. Pieces end where members do, packed ones
    /// too, and what ends there is a whole archive for GNU tar and bsdtar: of 35 that were killed they took 33 for it. So what is
    /// written ends within a file's data, unless of so many members as a piece holds none has any.
    tail: Mutex<Vec<u8>>,
    error: Mutex<Option<String>>,
}

impl<'a> Line<'a> {
    pub fn new(target: Target<'a>, pack: Option<&'a dyn Pack>, at: u64) -> Line<'a> {
        let whole = Whole { at, members: 0 };
        let state = State { next: 0, ready: BTreeMap::new(), busy: false, at, whole, members: 0, cut: false };
        let is_file = matches!(target, Target::File(..));
        Line {
            target,
            pack,
            from: at,
            head: Mutex::new(if is_file { Head::Awaited } else { Head::There }),
            tail: Mutex::default(),
            state: Mutex::new(state),
            raw: AtomicU64::new(at),
            failed: AtomicBool::new(false),
            unread: AtomicBool::new(false),
            broken: Mutex::default(),
            error: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds the line")
    }

    /// Bytes of the archive so far, before packing.
    pub fn raw(&self) -> u64 {
        self.raw.load(Ordering::Relaxed)
    }

    /// Where the archive ends, as it is written.
    pub fn end(&self) -> u64 {
        self.state().at
    }

    /// Behind which of its members all of the archive was written; all pieces have ended.
    pub fn whole(&self) -> Whole {
        self.broken().map_or_else(|| self.state().whole, |place| place.whole)
    }

    fn broken(&self) -> Option<Place> {
        *self.broken.lock().expect("nothing panics while it holds a place")
    }

    /// Why the archive could not be written on.
    pub fn take_error(&self) -> Option<String> {
        self.error.lock().expect("nothing panics while it holds the error").take()
    }

    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    pub fn fail(&self, ctx: &Ctx<'_>, error: String) {
        self.error.lock().expect("nothing panics while it holds the error").get_or_insert(error);
        self.failed.store(true, Ordering::Relaxed);
        ctx.crew.stop().set();
    }

    /// The stream takes no more.
    fn refuse(&self, ctx: &Ctx<'_>, error: &std::io::Error) {
        if error.kind() == ErrorKind::BrokenPipe {
            self.unread.store(true, Ordering::Relaxed);
        }
        self.fail(ctx, format!("Cannot write: {}", reason(error)));
    }

    /// True when a reader went away before the end.
    pub fn is_unread(&self) -> bool {
        self.unread.load(Ordering::Relaxed)
    }

    /// Piece `number` was read. What has its place now is written, further pieces of a file by other lanes.
    pub fn complete<'s>(&'s self, ctx: &'s Ctx<'_>, scope: &Scope<'_, 's>, number: u64, piece: Filled) {
        let mut state = self.state();
        state.ready.insert(number, piece);
        if std::mem::replace(&mut state.busy, true) {
            return;
        }
        match &self.target {
            Target::Stream(writer) => self.stream(ctx, state, writer),
            Target::File(port, node) => {
                // What says that the archive is not complete is there before anything behind it.
                while state.at == self.from
                    && let Some((place, piece)) = self.placed(ctx, &mut state)
                {
                    drop(state);
                    self.put(ctx, *port, node, place, &piece.bytes);
                    state = self.state();
                }
                let mut placed = Vec::new();
                while let Some(piece) = self.placed(ctx, &mut state) {
                    placed.push(piece);
                }
                state.busy = false;
                drop(state);
                let own = placed.pop();
                for (place, piece) in placed {
                    scope.spawn(move |_| self.put(ctx, *port, node, place, &piece.bytes));
                }
                if let Some((place, piece)) = own {
                    self.put(ctx, *port, node, place, &piece.bytes);
                }
            }
        }
    }

    /// The piece whose turn it is, if it is there, and its place in the file.
    fn placed(&self, ctx: &Ctx<'_>, state: &mut State) -> Option<(Place, Filled)> {
        let mut piece = self.next(ctx, state)?;
        let place = Place { at: state.at, whole: state.whole };
        self.hold_head(&mut piece.bytes);
        state.passes(&piece);
        Some((place, piece))
    }

    /// The piece whose turn it is, if it is there. Dropped where it is a file's that is left out.
    fn next(&self, ctx: &Ctx<'_>, state: &mut State) -> Option<Filled> {
        let number = state.next;
        let mut piece = state.ready.remove(&number)?;
        state.next += 1;
        state.cut |= piece.cancelled;
        if state.cut {
            piece.bytes.clear();
            piece.raw = 0;
            piece.shown.clear();
            return Some(piece);
        }
        // All pieces before it have been read.
        self.settle_links(ctx, &mut piece);
        if piece.cancelled {
            state.cut = true;
            piece.raw = 0;
            return Some(piece);
        }
        match piece.of.take() {
            Some(of) if of.fate().is_left_out() => {
                piece.bytes.clear();
                piece.raw = 0;
            }
            Some(of) => of.tell(ctx),
            None => {}
        }
        self.raw.fetch_add(piece.raw, Ordering::Relaxed);
        state.members += piece.shown.len() as u64;
        add(&ctx.counts.members, piece.shown.len() as u64);
        ctx.live.objects.fetch_add(piece.shown.len() as u64, Ordering::Relaxed);
        if !self.has_failed() {
            piece.shown.iter().for_each(|path| (ctx.tell)(path));
        }
        Some(piece)
    }

    /// Takes out further names of files whose first name is known by now not to be stored. A piece that has them and is packed already is
    /// packed once more: that is rare, and kept are only such pieces.
    fn settle_links(&self, ctx: &Ctx<'_>, piece: &mut Filled) {
        let plain = std::mem::take(&mut piece.plain);
        let Some(pack) = self.pack else { return without_links(ctx, piece) };
        if !piece.links.iter().any(|link| link.fate.has_no_data()) {
            // Those without links were given back before.
            if !piece.links.is_empty() {
                ctx.spare.give(plain);
            }
            return;
        }
        piece.bytes = plain;
        without_links(ctx, piece);
        match pack.pack(&piece.bytes) {
            Ok(packed) => ctx.spare.give(std::mem::replace(&mut piece.bytes, packed)),
            Err(error) => {
                piece.cancelled = true;
                piece.bytes.clear();
                piece.shown.clear();
                self.fail(ctx, format!("Cannot compress: {error}"));
            }
        }
    }

    /// Writes pieces as long as the next one is there. Others leave theirs meanwhile.
    fn stream<'s>(
        &'s self,
        ctx: &Ctx<'_>,
        mut state: MutexGuard<'s, State>,
        writer: &Mutex<&'a mut (dyn Write + Send)>,
    ) {
        let mut writer = writer.lock().expect("nothing panics while it writes");
        while let Some(mut piece) = self.next(ctx, &mut state) {
            state.passes(&piece);
            drop(state);
            if !self.has_failed() && !piece.bytes.is_empty() {
                let within = if self.pack.is_some() { piece.bytes.len() - 1 } else { piece.last_data };
                let (now, later) = piece.bytes.split_at(within.min(piece.bytes.len()));
                self.write(ctx, &mut **writer, now, later);
            }
            // What is packed is not of a size that is asked for again.
            if !piece.packed {
                ctx.spare.give(std::mem::take(&mut piece.bytes));
            }
            drop(piece);
            state = self.state();
        }
        state.busy = false;
    }

    /// Writes what was left of the piece before, and `bytes`; keeps `tail` for later.
    fn write(&self, ctx: &Ctx<'_>, writer: &mut dyn Write, bytes: &[u8], tail: &[u8]) {
        let mut last = self.tail.lock().expect("nothing panics while it writes");
        // In one write with what follows, or a kill between the two would leave what ends behind a member.
        let (beside, rest) = bytes.split_at(if last.is_empty() { 0 } else { bytes.len().min(BESIDE_BYTES) });
        last.extend_from_slice(beside);
        let written = writer.write_all(&last).and_then(|()| writer.write_all(rest));
        last.clear();
        match written {
            Ok(()) => last.extend_from_slice(tail),
            Err(error) => self.refuse(ctx, &error),
        }
    }

    /// Writes what was left of the last piece of an archive that ends early; all pieces have ended.
    pub fn let_go(&self, ctx: &Ctx<'_>) {
        if let Target::Stream(writer) = &self.target {
            self.write(ctx, &mut **writer.lock().expect("nothing panics while it writes"), &[], &[]);
        }
    }

    /// Puts others in the place of the archive's first bytes, if these are they.
    fn hold_head(&self, bytes: &mut [u8]) {
        let mut head = self.head();
        if matches!(*head, Head::Awaited) && !bytes.is_empty() {
            let mut block = write::unfinished();
            if self.from > 0 {
                block.fill(0);
            }
            let (first, _) = bytes.split_at_mut(bytes.len().min(block.len()));
            *head = Head::Held(first.to_vec());
            first.copy_from_slice(&block[..first.len()]);
        }
    }

    fn head(&self) -> MutexGuard<'_, Head> {
        self.head.lock().expect("nothing panics while it holds the head")
    }

    /// Puts the first bytes in their place: there are no holes behind them, or none any more; all pieces have ended.
    pub fn reveal(&self) -> Result<(), String> {
        let Target::File(port, node) = &self.target else { return Ok(()) };
        let mut head = self.head();
        if let Head::Held(bytes) = &*head {
            put_file(*port, port.volume.route_writing(node), node, &[(self.from, bytes)])
                .map_err(|(proc, status)| text(proc, status))?;
            *head = Head::There;
        }
        Ok(())
    }

    /// The same for a new archive that ends early.
    pub fn reveal_cut(&self, ctx: &Ctx<'_>) {
        if let Err(error) = self.reveal() {
            let why = "the archive's first block cannot be put in its place, so that nothing of it can be extracted";
            ctx.warn(format!("{why}: {error}"));
            self.fail(ctx, error);
        }
    }

    /// Writes what tells readers that the archive is not complete: `block`, where it does not end amid a member, which tells them too. What is packed
    /// ends amid a piece in any case, for programs that only unpack it; all pieces have ended. Where it cannot be written, as to a pipe whose reader
    /// was stopped as well, the archive has no end all the same.
    pub fn break_off(&self, block: &[u8]) {
        let is_amid = self.end() != self.whole().at;
        let packed = self.pack.and_then(|pack| pack.pack(block).ok());
        let bytes = match &packed {
            None if is_amid => return,
            None => block,
            // Of a member nothing comes behind what is whole, or it might be the rest of it.
            Some(packed) if is_amid => &packed[..packed.len().min(HEAD_BYTES)],
            Some(packed) => &packed[..packed.len().saturating_sub(1)],
        };
        match &self.target {
            Target::Stream(writer) => {
                let mut writer = writer.lock().expect("nothing panics while it writes");
                let _ = writer.write_all(bytes).and_then(|()| writer.flush());
            }
            Target::File(port, node) => {
                let _ = put_file(*port, port.volume.route_writing(node), node, &[(self.end(), bytes)]);
            }
        }
    }

    fn put(&self, ctx: &Ctx<'_>, port: Port<'_>, node: &Node, place: Place, bytes: &[u8]) {
        // Behind what is missing nothing is of use. What comes before it is written also after the run has failed.
        if self.broken().is_some_and(|broken| place.at >= broken.at) {
            return;
        }
        let write_max = usize::try_from(port.volume.limits().write_max).unwrap_or(usize::MAX).max(1);
        let chunks: Vec<(u64, &[u8])> =
            bytes.chunks(write_max).enumerate().map(|(i, data)| (place.at + (i * write_max) as u64, data)).collect();
        if let Err((proc, status)) = put_file(port, port.volume.route_writing(node), node, &chunks) {
            let mut broken = self.broken.lock().expect("nothing panics while it holds a place");
            *broken = Some(broken.filter(|broken| broken.at <= place.at).unwrap_or(place));
            drop(broken);
            self.fail(ctx, text(proc, status));
        }
    }

    /// Cuts a file off where the first piece is missing, so that no member is left that is whole by its size and has holes for data;
    /// all pieces have ended.
    pub fn cut_off(&self, ctx: &Ctx<'_>) {
        let Target::File(port, node) = &self.target else { return };
        // Nothing is written behind what could not be packed.
        let Some(Place { at, .. }) = self.broken() else { return self.reveal_cut(ctx) };
        let change = AttrChange { size: Some(at), ..AttrChange::default() };
        match port.one(port.route(), Call::set_attr(node, change)).status() {
            Ok(()) => self.reveal_cut(ctx),
            // It says so by its first block.
            Err(status) if at > 0 => ctx.warn(format!(
                "what is left of the archive is not whole, cannot be cut off at byte {at}, and says so: {status}"
            )),
            Err(status) => ctx.warn(format!(
                "what is left of the archive has no beginning, and cannot be cut off at byte {at}: {status}; remove it"
            )),
        }
    }

    /// Writes the archive's last bytes; all pieces have ended.
    pub fn finish(&self, ctx: &Ctx<'_>, bytes: Vec<u8>) {
        let at = self.end();
        if self.has_failed() {
            return;
        }
        match &self.target {
            Target::Stream(writer) => {
                let mut writer = writer.lock().expect("nothing panics while it writes");
                self.write(ctx, &mut **writer, &bytes, &[]);
                if !self.has_failed()
                    && let Err(error) = writer.flush()
                {
                    self.refuse(ctx, &error);
                }
            }
            Target::File(port, node) => {
                let place = Place { at, whole: self.state().whole };
                self.put(ctx, *port, node, place, &bytes);
                if !self.has_failed()
                    && let Err(error) = self.reveal()
                {
                    self.fail(ctx, error);
                }
            }
        }
    }
}

/// Takes out further names of files whose data is not in the archive, as far as that is known; the piece is not packed.
pub(super) fn without_links(ctx: &Ctx<'_>, piece: &mut Filled) {
    let (mut lost, mut before) = (Vec::new(), 0);
    for link in std::mem::take(&mut piece.links) {
        let Range { start, end } = link.head;
        if link.fate.has_no_data() {
            before += end - start;
            lost.push(link);
        } else {
            piece.links.push(Linked { head: start - before..end - before, ..link });
        }
    }
    // Their places are before those of what comes behind them.
    lost.into_iter().rev().for_each(|link| without_link(ctx, piece, link));
}

/// Takes a name of a file out whose first name is not in the archive, so that it is looked up once more: what it is now is stored.
fn without_link(ctx: &Ctx<'_>, piece: &mut Filled, link: Linked) {
    let Linked { path, home, head, .. } = link;
    let comes_again = ctx.notes(home, &path);
    let (at, bytes) = (head.start, head.len());
    piece.raw -= bytes as u64;
    piece.bytes.drain(head);
    if let Some(at) = piece.shown.iter().position(|shown| *shown == path) {
        piece.shown.remove(at);
    }
    piece.last_data = piece.last_data.saturating_sub(if at < piece.last_data { bytes } else { 0 });
    subtract(&ctx.counts.links, 1);
    if !comes_again {
        let reason = "is another name of a file whose first name could not be stored; store it again";
        ctx.failed(Failure::refused(&path, reason));
    }
}

fn text(proc: Proc, status: Status) -> String {
    format!("{proc}: {status}")
}
