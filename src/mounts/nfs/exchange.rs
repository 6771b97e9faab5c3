//! One round of a window: its calls sent together, and the waiting for what comes back.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::base::{Proc, Status};
use crate::storage::{Call, Op};
use crate::wire::nfs3;
use crate::wire::rpc;

use super::NfsMount;
use super::connection::{Connection, Outgoing, Reply, Sent, Window};
use super::retry::{STOPPED_LOOK, give_back};

/// A call on its way to a reply.
pub(super) struct Try {
    /// Its place in the window.
    pub(super) index: usize,
    pub(super) xid: u32,
    pub(super) first_sent: Option<Instant>,
    pub(super) last_sent: Option<Instant>,
    pub(super) losses: u32,
    /// How long its answer was waited for, over all losses: a connection that breaks at once has used up no patience.
    pub(super) waited: Duration,
    /// The NULL that went beside it last was answered.
    beside: bool,
    /// Its last losses, in a row, each for `timeo` or more, while the target answered something else.
    pub(super) others: u32,
    /// What it had used up as it was begun anew.
    pub(super) anew: Option<(u32, Duration)>,
}

impl Try {
    pub(super) fn new(index: usize, xid: u32) -> Try {
        let (first_sent, last_sent, anew) = (None, None, None);
        Try { index, xid, first_sent, last_sent, losses: 0, waited: Duration::ZERO, beside: false, others: 0, anew }
    }

    /// It was lost, while the target, heard last at `heard`, answered another call of its window or did not. A connection that breaks
    /// before `timeo` says neither.
    pub(super) fn lose(&mut self, answers: bool, heard: Instant, timeo: Duration) {
        let waited = self.last_sent.map_or(Duration::ZERO, |sent| sent.elapsed());
        self.losses += 1;
        self.waited += waited;
        if waited >= timeo {
            let is_there = answers || self.beside || self.last_sent.is_some_and(|sent| heard > sent);
            self.others = if is_there { self.others + 1 } else { 0 };
        }
    }

    /// Losses, and how long its answer was waited for, from its beginning or since it was begun anew.
    pub(super) fn used(&self) -> (u32, Duration) {
        let (losses, waited) = self.anew.unwrap_or_default();
        (self.losses - losses, self.waited.saturating_sub(waited))
    }
}

/// A round's calls as they are sent.
#[derive(Default)]
struct Composed<'c> {
    heads: Vec<u8>,
    outgoing: Vec<Outgoing<'c>>,
    /// Those of the tries, by position, that cannot be said on the wire.
    unsendable: Vec<(usize, Status)>,
    /// The last of `outgoing` is a NULL that nobody asked for.
    probes: bool,
}

impl NfsMount {
    /// Sends the tries together and waits for their replies; an error means that no connection could be had.
    pub(super) fn exchange(
        &self,
        connection: &Connection,
        calls: &mut [Call<'_>],
        tries: &mut Vec<Try>,
    ) -> std::io::Result<Vec<Reply>> {
        let bufs: Vec<Vec<u8>> = tries.iter().map(|t| lend(&mut calls[t.index])).collect();
        let Composed { heads, mut outgoing, unsendable, probes } = self.compose(calls, tries, bufs);
        let window = Window::new(outgoing.len());
        let gives_up = |silent: Duration, moved: Option<Instant>| self.is_given_up(silent, moved);
        let sent = match outgoing.is_empty() {
            true => Ok(None),
            false => connection.send(&window, &heads, &mut outgoing, &gives_up).map(Some),
        };
        let mut returned: Vec<Vec<u8>> = outgoing.into_iter().map(|o| o.buf).collect();
        for (position, status) in unsendable.into_iter().rev() {
            calls[tries.remove(position).index].fail(status);
        }
        let sent = match sent {
            Ok(sent) => sent,
            Err(e) => {
                tries
                    .iter()
                    .zip(&mut returned)
                    .for_each(|(t, buf)| give_back(&mut calls[t.index], std::mem::take(buf)));
                return Err(e);
            }
        };
        let Some(sent) = sent else { return Ok(Vec::new()) };
        self.note_sent(tries, &sent);
        if !self.wait(connection, &window, &sent) {
            connection.kill(sent.generation);
            // Every call of the generation has been given back by now, or its reply is being put in its place.
            while !window.wait(Duration::from_secs(1)) {}
        }
        let mut replies = window.take();
        let beside = probes && self.note_probe(replies.pop(), sent.at);
        tries.iter_mut().for_each(|t| t.beside = beside);
        Ok(replies)
    }

    fn compose<'c>(&self, calls: &'c [Call<'_>], tries: &[Try], mut bufs: Vec<Vec<u8>>) -> Composed<'c> {
        let mut composed = Composed { heads: Vec::with_capacity(tries.len() * 192), ..Composed::default() };
        let Composed { heads, outgoing, unsendable, probes } = &mut composed;
        let begin = |heads: &mut Vec<u8>, xid, proc: Proc| {
            rpc::begin_call(heads, xid, nfs3::PROGRAM, nfs3::VERSION, proc as u32, Some(&self.target.credential))
        };
        for (position, try_) in tries.iter().enumerate() {
            let call = &calls[try_.index];
            let start = begin(heads, try_.xid, call.proc());
            match nfs3::encode_args(call, &|node| self.resolve(node), heads) {
                Ok(payload) => {
                    let padded = payload.map_or(0, |p| p.len().next_multiple_of(4));
                    rpc::end_record(heads, start, padded);
                    let buf = std::mem::take(&mut bufs[position]);
                    let asked = if let Op::Read { count, .. } = call.op { count } else { 0 };
                    outgoing.push(Outgoing { xid: try_.xid, head: start..heads.len(), payload, buf, asked });
                }
                Err(status) => {
                    heads.truncate(start);
                    unsendable.push((position, status));
                }
            }
        }
        // A call that takes longer than `timeo` and a target that is gone look alike. What is sent again after that silence is waited
        // for as long once more, so that a NULL beside it tells them apart in no time of its own.
        let is_silent = |t: &Try| t.losses > 0 && t.waited >= self.target.patience.reply_timeout;
        if !outgoing.is_empty() && tries.iter().any(is_silent) && !tries.iter().any(|t| is_null(&calls[t.index])) {
            let (xid, start) = (self.xid(), heads.len());
            begin(heads, xid, Proc::Null);
            rpc::end_record(heads, start, 0);
            outgoing.push(Outgoing { xid, head: start..heads.len(), payload: None, buf: Vec::new(), asked: 0 });
            *probes = true;
        }
        composed
    }

    fn note_sent(&self, tries: &mut [Try], sent: &Sent) {
        let now = Instant::now();
        if sent.connected {
            self.is_fed();
        }
        for try_ in tries {
            if try_.losses > 0 {
                self.retransmitted.fetch_add(1, Ordering::Relaxed);
            }
            try_.first_sent.get_or_insert(now);
            try_.last_sent = Some(now);
        }
        self.reconnects.fetch_add(u64::from(sent.generation > 1 && sent.connected), Ordering::Relaxed);
    }

    /// The NULL that was sent beside what is sent again: true when somebody is there.
    fn note_probe(&self, reply: Option<Reply>, sent: Instant) -> bool {
        let arrived = if let Some(Reply::Record(_, arrived)) = reply { Some(arrived) } else { None };
        if let Some(arrived) = arrived {
            self.note_heard(arrived);
        }
        let took = arrived.unwrap_or_else(Instant::now).saturating_duration_since(sent);
        self.ledger.record(Proc::Null, 0, arrived.is_none(), took);
        arrived.is_some()
    }

    /// Waits for a window's replies; false where they take too long: `timeo` without any, neither to this window nor, while some of them
    /// are still to come, to what was sent on the connection before it. A target that is slow and answers one call after the other is
    /// no silent one, however many wait for it.
    fn wait(&self, connection: &Connection, window: &Arc<Window>, sent: &Sent) -> bool {
        let begun = Instant::now();
        let (mut last, mut since) = (connection.progress(window, sent), begun);
        // In a run that is stopped it is how long nothing came of all.
        let mut worked = self.worked();
        loop {
            let rest = self.target.patience.reply_timeout.saturating_sub(since.elapsed());
            if window.wait(rest.min(STOPPED_LOOK)) {
                return true;
            }
            let now = connection.progress(window, sent);
            if now.is_beyond(&last) {
                (since, worked) = (Instant::now(), Instant::now());
            }
            last = now;
            // What is begun later, of a target that is silent already, is to have some time too.
            let is_overdue = begun.elapsed() >= 2 * STOPPED_LOOK && self.is_overdue(worked.max(self.worked()));
            if since.elapsed() >= self.target.patience.reply_timeout || is_overdue {
                return false;
            }
        }
    }
}

/// Takes a READ's buffer to receive the record into.
fn lend(call: &mut Call<'_>) -> Vec<u8> {
    match &mut call.op {
        Op::Read { buf, .. } => std::mem::take(buf),
        _ => Vec::new(),
    }
}

fn is_null(call: &Call<'_>) -> bool {
    matches!(call.op, Op::Null { .. })
}
