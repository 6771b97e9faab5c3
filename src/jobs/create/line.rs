//! The order of pieces: each takes its place in the archive when all before it have taken theirs, and is written then.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use crate::base::{Failure, Proc, Status, reason};
use crate::crew::Scope;
use crate::storage::{AttrChange, Call, Mount, Node};

use super::super::port::Port;
use super::super::write::put_file;
use super::ctx::{Ctx, add};
use super::piece::Filled;

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
    /// A piece was not read whole: nothing that comes after is written.
    cut: bool,
}

/// The pieces that wait for their places.
pub(super) struct Line<'a> {
    target: Target<'a>,
    state: Mutex<State>,
    /// Bytes of the archive before packing.
    raw: AtomicU64,
    failed: AtomicBool,
    unread: AtomicBool,
    /// Where the first piece that could not be written was to go; `u64::MAX` when all could.
    broken_at: AtomicU64,
    error: Mutex<Option<String>>,
}

impl<'a> Line<'a> {
    pub fn new(target: Target<'a>, at: u64) -> Line<'a> {
        let state = State { next: 0, ready: BTreeMap::new(), busy: false, at, cut: false };
        Line {
            target,
            state: Mutex::new(state),
            raw: AtomicU64::new(at),
            failed: AtomicBool::new(false),
            unread: AtomicBool::new(false),
            broken_at: AtomicU64::new(u64::MAX),
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
    pub fn complete<'s>(&'s self, ctx: &'s Ctx<'_>, scope: &Scope<'s>, number: u64, piece: Filled) {
        let mut state = self.state();
        state.ready.insert(number, piece);
        if std::mem::replace(&mut state.busy, true) {
            return;
        }
        match &self.target {
            Target::Stream(writer) => self.stream(ctx, state, writer),
            Target::File(port, node) => {
                let mut placed = Vec::new();
                while let Some(piece) = self.next(ctx, &mut state) {
                    placed.push((state.at, piece));
                    state.at += placed.last().map_or(0, |(_, piece)| piece.bytes.len() as u64);
                }
                state.busy = false;
                drop(state);
                let own = placed.pop();
                for (at, piece) in placed {
                    scope.spawn(move |_| self.put(ctx, *port, node, at, &piece));
                }
                if let Some((at, piece)) = own {
                    self.put(ctx, *port, node, at, &piece);
                }
            }
        }
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
        for (path, _) in piece.links.iter().filter(|(_, fate)| fate.is_left_out()) {
            let reason = "is another name of a file whose first name could not be stored; store it again";
            ctx.failed(Failure::refused(path, reason));
        }
        if piece.of.as_ref().is_some_and(|fate| fate.is_left_out()) {
            piece.bytes.clear();
            piece.raw = 0;
        }
        self.raw.fetch_add(piece.raw, Ordering::Relaxed);
        add(&ctx.counts.members, piece.shown.len() as u64);
        ctx.live.objects.fetch_add(piece.shown.len() as u64, Ordering::Relaxed);
        if !self.has_failed() {
            piece.shown.iter().for_each(|path| (ctx.tell)(path));
        }
        Some(piece)
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
            state.at += piece.bytes.len() as u64;
            drop(state);
            if !self.has_failed()
                && let Err(error) = writer.write_all(&piece.bytes)
            {
                self.refuse(ctx, &error);
            }
            // What is packed is not of a size that is asked for again.
            if piece.raw == piece.bytes.len() as u64 {
                ctx.spare.give(std::mem::take(&mut piece.bytes));
            }
            drop(piece);
            state = self.state();
        }
        state.busy = false;
    }

    fn put(&self, ctx: &Ctx<'_>, port: Port<'_>, node: &Node, at: u64, piece: &Filled) {
        // Behind what is missing nothing is of use. What comes before it is written also after the run has failed.
        if at >= self.broken_at.load(Ordering::Relaxed) {
            return;
        }
        let write_max = usize::try_from(port.volume.limits().write_max).unwrap_or(usize::MAX).max(1);
        let chunks: Vec<(u64, &[u8])> =
            piece.bytes.chunks(write_max).enumerate().map(|(i, data)| (at + (i * write_max) as u64, data)).collect();
        if let Err((proc, status)) = put_file(port, port.route(), node, &chunks) {
            self.broken_at.fetch_min(at, Ordering::Relaxed);
            self.fail(ctx, text(proc, status));
        }
    }

    /// Cuts a file off where the first piece is missing, so that no member is left that is whole by its size and has holes for data;
    /// all pieces have ended.
    pub fn cut_off(&self, ctx: &Ctx<'_>) {
        let at = self.broken_at.load(Ordering::Relaxed);
        let Target::File(port, node) = &self.target else { return };
        if at == u64::MAX {
            return;
        }
        let change = AttrChange { size: Some(at), ..AttrChange::default() };
        if let Err(status) = port.one(port.route(), Call::set_attr(node, change)).status() {
            ctx.warn(format!("what is left of the archive is not whole and cannot be cut off at byte {at}: {status}"));
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
                if let Err(error) = writer.write_all(&bytes).and_then(|()| writer.flush()) {
                    self.refuse(ctx, &error);
                }
            }
            Target::File(port, node) => {
                let piece = Filled {
                    raw: bytes.len() as u64,
                    bytes,
                    shown: Vec::new(),
                    of: None,
                    links: Vec::new(),
                    cancelled: false,
                    _permit: None,
                };
                self.put(ctx, *port, node, at, &piece);
            }
        }
    }
}

fn text(proc: Proc, status: Status) -> String {
    format!("{proc}: {status}")
}
