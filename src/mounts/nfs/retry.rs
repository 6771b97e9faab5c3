//! Carrying a window to its replies: send, wait, and send again what was lost or put off.
//!
//! Three reasons to send again. The connection broke or the reply timed out: same xid, new connection. JUKEBOX: new xid,
//! after a pause (RFC 1813 2.6). Neither goes on for ever: `retrans`, `away` and `JUKEBOX_MAX` bound them. Connections that
//! break are not the fault of the calls that were on them, so they alone are no reason to give a call up before `away`.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::base::hash::mix;
use crate::base::{Proc, Status};
use crate::storage::{Call, Found, How, Node, Op, Tap};
use crate::wire::nfs3::{self, Decoded};
use crate::wire::record::Received;
use crate::wire::rpc::{self, RpcError};

use super::connection::{Connection, Reply, lacks};
use super::exchange::Try;
use super::{NfsMount, Patience};

/// First and longest pause before JUKEBOX is tried again; Linux waits 5 s each time.
const JUKEBOX_PAUSE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(5));
/// How long JUKEBOX is waited out.
const JUKEBOX_MAX: Duration = Duration::from_secs(120);
/// How long a target that is away, silent or busy is waited for once the run is stopped: who sends one signal and then SIGKILL (systemd,
/// Kubernetes) gives from half a minute to one and a half.
const STOPPED_MAX: Duration = Duration::from_secs(15);
/// How long after that a server's JUKEBOX is still an answer to wait after: it is there, and each window of a job may get it anew.
const STOPPED_BUSY_MAX: Duration = Duration::from_secs(3);
/// How often it is looked for that.
pub(super) const STOPPED_LOOK: Duration = Duration::from_secs(1);
/// How long it is waited for a descriptor or a thread, which other parts of this process or others may give up.
const STARVED_MAX: Duration = Duration::from_secs(3);
/// First and longest pause between tries to connect.
const CONNECT_PAUSE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// What a round of sending has to wait for before the next.
#[derive(Default)]
struct Round {
    again: Vec<Try>,
    jukebox: bool,
    /// Some call got its answer.
    answered: bool,
}

impl NfsMount {
    /// Sends at most `CALLS_IN_FLIGHT_MAX` calls and fills their outcomes; does not judge replays.
    pub(super) fn perform_sent(&self, calls: &mut [Call<'_>]) {
        let mut tries: Vec<Try> = Vec::with_capacity(calls.len());
        for (index, call) in calls.iter_mut().enumerate() {
            match self.resolve_all(call) {
                Ok(()) => tries.push(Try::new(index, self.xid())),
                Err(status) => call.fail(status),
            }
        }
        self.carry(calls, tries);
        self.ask_what_was_made(calls);
    }

    fn resolve_all(&self, call: &Call<'_>) -> Result<(), Status> {
        call.nodes().filter(|n| matches!(n, Node::Chain(_))).try_for_each(|n| {
            self.resolve(n)?;
            Ok(())
        })
    }

    /// Is the run stopped, and what went on last, at `since`, too long ago? The time counts from when the stop is first seen.
    pub(super) fn is_overdue(&self, since: Instant) -> bool {
        self.stop_seen().is_some_and(|seen| since.max(seen).elapsed() >= STOPPED_MAX)
    }

    /// When it was first seen that the run is stopped, if it is.
    fn stop_seen(&self) -> Option<Instant> {
        let is_stopped = self.target.stopped.get().is_some_and(|stopped| stopped.load(Ordering::Relaxed));
        is_stopped.then(|| *self.target.stop_seen.get_or_init(Instant::now))
    }

    /// Is a call, put off by a server since `since`, not to wait any longer?
    fn is_put_off_for_good(&self, since: Instant) -> bool {
        let is_stopped = self.stop_seen().is_some_and(|seen| seen.elapsed() >= STOPPED_BUSY_MAX);
        since.elapsed() >= JUKEBOX_MAX || is_stopped && since.elapsed() >= STOPPED_LOOK
    }

    /// Sleeps until calls that were put off are due again, or are not to wait any longer.
    fn sleep_put_off(&self, pause: Duration, since: Instant) {
        let end = Instant::now() + pause;
        while !self.is_put_off_for_good(since) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(STOPPED_LOOK / 4));
        }
    }

    /// Is a target given up that takes none of what it is sent, for as long as `silent`? Another lane may have found out that it is gone.
    pub(super) fn is_given_up(&self, silent: Duration, moved: Option<Instant>) -> bool {
        let last = moved.map_or(self.worked(), |moved| moved.max(self.worked()));
        self.target.gone.load(Ordering::Relaxed) || silent >= 2 * STOPPED_LOOK && self.is_overdue(last)
    }

    /// Gives up what was lost, in a run that is stopped, of a target that says nothing, and the target with it unless it answers NULL, or for
    /// what is begun later, and not answered either, whatever it answers: what is left to do by it is not to wait anew, call by call.
    fn cut_short(&self, calls: &mut [Call<'_>], tries: &mut Vec<Try>, begun: Instant) {
        let is_lost = tries.iter().any(|t| t.losses > 0);
        if !is_lost || begun.elapsed() < 2 * STOPPED_LOOK || !self.is_overdue(self.worked()) {
            return;
        }
        let is_probe = calls.iter().all(|call| matches!(call.op, Op::Null { .. }));
        let first = *self.target.cut_short.get_or_init(Instant::now);
        if begun > first && self.worked() < first {
            self.target.gone.store(true, Ordering::Relaxed);
        }
        if !is_probe && !self.target.gone.load(Ordering::Relaxed) {
            let mut probe = [Call::default()];
            self.perform_sent(&mut probe);
            if probe[0].status().is_err() {
                self.target.gone.store(true, Ordering::Relaxed);
            }
        }
        let (lost, rest) = std::mem::take(tries).into_iter().partition(|t| t.losses > 0);
        *tries = rest;
        for try_ in lost {
            let call = &mut calls[try_.index];
            let status = never_answered(call);
            self.fail(call, &try_, status);
        }
    }

    /// Waits until these may be sent, beside what was held already.
    fn hold(&self, calls: &[Call<'_>]) {
        let holders = self.target.holders.lock().expect("nothing panics while it holds the holders").clone();
        holders.iter().for_each(|holder| holder.before(calls));
    }

    /// One round, in which the calls count as in flight. Between rounds they do not: what a server puts off for minutes must not keep
    /// from it what it would answer at once.
    fn round<'m>(
        &'m self,
        connection: &mut Option<&'m Connection>,
        calls: &mut [Call<'_>],
        tries: &mut Vec<Try>,
    ) -> std::io::Result<Vec<Reply>> {
        let payload = tries.iter().map(|t| calls[t.index].payload()).sum();
        let _passed = self.target.payload.pass(payload);
        // What is sent again goes the way it went: another connection's port is another client's to a duplicate request cache.
        let connection = connection.get_or_insert_with(|| self.connection());
        let load = payload + tries.len() as u64;
        connection.load.fetch_add(load, Ordering::Relaxed);
        let result = self.exchange(connection, calls, tries);
        connection.load.fetch_sub(load, Ordering::Relaxed);
        result
    }

    fn carry(&self, calls: &mut [Call<'_>], mut tries: Vec<Try>) {
        let mut connection = None;
        let (mut connect_pause, mut jukebox_pause) = (CONNECT_PAUSE.0, JUKEBOX_PAUSE.0);
        let begun = Instant::now();
        // Since when the server puts calls off; less what the run's own throttle holds back, for then it is not the server that refuses.
        let mut busy_since: Option<Instant> = None;
        let mut away_since: Option<Instant> = None;
        while !tries.is_empty() {
            if self.target.gone.load(Ordering::Relaxed) {
                return self.give_up(calls, &tries);
            }
            match self.round(&mut connection, calls, &mut tries) {
                Err(error) => {
                    if let Some(lacking) = lacks(&error) {
                        // Where fewer connections than were wanted could be made, those are used.
                        connection = self.made_connection();
                        if connection.is_some() {
                            continue;
                        }
                        if self.is_starved() {
                            return self.end_unsent(calls, &tries, lacking);
                        }
                        std::thread::sleep(connect_pause);
                        connect_pause = (connect_pause * 2).min(CONNECT_PAUSE.1);
                        continue;
                    }
                    self.is_fed();
                    self.target.refuses.store(error.kind() == std::io::ErrorKind::ConnectionRefused, Ordering::Relaxed);
                    let since = *away_since.get_or_insert_with(Instant::now);
                    let last = since.max(self.heard());
                    let is_overdue = since.elapsed() >= 2 * STOPPED_LOOK && self.is_overdue(self.worked());
                    if last.elapsed() >= self.target.patience.away_max || is_overdue {
                        self.target.gone.store(true, Ordering::Relaxed);
                        return self.give_up(calls, &tries);
                    }
                    std::thread::sleep(connect_pause);
                    connect_pause = (connect_pause * 2).min(CONNECT_PAUSE.1);
                }
                Ok(replies) => {
                    let round = self.settle(calls, tries, replies);
                    tries = round.again;
                    self.cut_short(calls, &mut tries, begun);
                    if round.jukebox {
                        let since = *busy_since.get_or_insert_with(Instant::now);
                        if self.is_put_off_for_good(since) {
                            tries.retain(|t| calls[t.index].status() != Err(Status::Jukebox));
                        }
                        if !tries.is_empty() {
                            self.sleep_put_off(jukebox_pause, since);
                            jukebox_pause = (jukebox_pause * 2).min(JUKEBOX_PAUSE.1);
                        }
                    }
                    away_since =
                        if tries.iter().any(|t| t.losses > 0) { away_since.or(Some(Instant::now())) } else { None };
                    if away_since.is_some_and(|s| s.max(self.heard()).elapsed() >= self.target.patience.away_max) {
                        self.target.gone.store(true, Ordering::Relaxed);
                    }
                    let held = Instant::now();
                    tries.iter().for_each(|t| self.hold(std::slice::from_ref(&calls[t.index])));
                    busy_since = busy_since.map(|since| since + held.elapsed());
                    // A server that takes connections and breaks each at once must not be hammered.
                    if round.answered {
                        connect_pause = CONNECT_PAUSE.0;
                    } else if tries.iter().any(|t| t.losses > 1) {
                        std::thread::sleep(connect_pause);
                        connect_pause = (connect_pause * 2).min(CONNECT_PAUSE.1);
                    }
                }
            }
        }
    }

    /// Was no descriptor or thread to be had for so long that none will come free? It is no word of the target.
    fn is_starved(&self) -> bool {
        let mut since = self.target.starved_since.lock().expect("nothing panics while it holds this");
        since.get_or_insert_with(Instant::now).elapsed() >= STARVED_MAX
    }

    /// A descriptor and a thread were to be had.
    pub(super) fn is_fed(&self) {
        self.target.starved_since.lock().expect("nothing panics while it holds this").take();
    }

    /// Ends what cannot be sent, or not again.
    fn end_unsent(&self, calls: &mut [Call<'_>], tries: &[Try], lacking: Status) {
        for try_ in tries {
            let call = &mut calls[try_.index];
            let status = if try_.first_sent.is_some() { never_answered(call) } else { lacking };
            self.fail(call, try_, status);
        }
    }

    fn give_up(&self, calls: &mut [Call<'_>], tries: &[Try]) {
        for try_ in tries {
            let call = &mut calls[try_.index];
            let status = self.left_over(call);
            self.fail(call, try_, status);
        }
    }

    /// What becomes of a call of a target that is gone: it is for another target, with one exception. A target that is
    /// only silent may wake and still carry out what it was sent; a REMOVE or RENAME could then hit what has been made under
    /// that name meanwhile, and a truncation what has been written, so these are not handed on. Where connections are refused, no server is left that could.
    fn left_over(&self, call: &Call<'_>) -> Status {
        let truncates = match &call.op {
            Op::SetAttr { change, .. } | Op::Create { how: How::Unchecked, change, .. } => change.size.is_some(),
            _ => false,
        };
        let destroys = truncates || matches!(call.proc(), Proc::Remove | Proc::RmDir | Proc::Rename);
        let late = destroys && call.repeated && !self.target.refuses.load(Ordering::Relaxed);
        if late { Status::NoReply } else { Status::TargetGone }
    }

    fn heard(&self) -> Instant {
        self.target.born + Duration::from_millis(self.target.heard_ms.load(Ordering::Relaxed))
    }

    pub(super) fn worked(&self) -> Instant {
        self.target.born + Duration::from_millis(self.target.worked_ms.load(Ordering::Relaxed))
    }

    /// Puts replies into their calls; returns what has to be sent again.
    fn settle(&self, calls: &mut [Call<'_>], tries: Vec<Try>, replies: Vec<Reply>) -> Round {
        let mut round = Round::default();
        let answers = replies.iter().any(|reply| matches!(reply, Reply::Record(..)));
        // Before what is asked for one of them is answered.
        let heard = self.heard();
        for (mut try_, reply) in tries.into_iter().zip(replies) {
            let call = &mut calls[try_.index];
            match reply {
                Reply::Record(record, arrived) => {
                    let heard_ms = self.note_heard(arrived);
                    if !matches!(call.op, Op::Null { .. }) {
                        self.target.worked_ms.fetch_max(heard_ms, Ordering::Relaxed);
                    }
                    round.answered = true;
                    self.decode(call, record);
                    let took = try_.first_sent.map_or(Duration::ZERO, |sent| arrived.saturating_duration_since(sent));
                    self.ledger.record(call.proc(), call.payload(), call.status().is_err(), took);
                    if call.status() == Err(Status::Jukebox) {
                        round.jukebox = true;
                        round.again.push(Try::new(try_.index, self.xid()));
                    }
                }
                Reply::Lost(buf) => {
                    give_back(call, buf);
                    call.repeated = true;
                    // Nor has it the answer of an earlier round any more: it may have been carried out since.
                    call.fail(Status::Pending);
                    try_.lose(answers, heard, self.target.patience.reply_timeout);
                    match self.is_over(&try_).then(|| self.judge_silence(call, &mut try_)).flatten() {
                        Some(status) => self.fail(call, &try_, status),
                        None => round.again.push(try_),
                    }
                }
                Reply::Awaited => call.fail(never_answered(call)),
            }
        }
        round
    }

    /// Was the call sent as often as may be? What counts is how long its answer was waited for, by `timeo` and `retrans`: where
    /// many calls share a connection, some that are answered last are lost with nine connections in a row within a fraction
    /// of a second. A call that itself breaks each connection is over when `away` has passed since it was sent first.
    fn is_over(&self, try_: &Try) -> bool {
        let is_away = try_.first_sent.is_some_and(|sent| sent.elapsed() >= self.target.patience.away_max);
        try_.used().0 > self.target.patience.retrans && (is_away || self.is_waited_out(try_))
    }

    fn is_waited_out(&self, try_: &Try) -> bool {
        let Patience { reply_timeout, retrans, .. } = self.target.patience;
        try_.used().1 >= reply_timeout.saturating_mul(retrans.saturating_add(1))
    }

    /// A call has been sent as often as may be. While the target has answered others all the time, it is this call that it never
    /// answers. Otherwise it was silent for a time, which may have been the call's only fault: where it answers now, a NULL if nothing
    /// else, the call is tried as often once more (`None`), and once only; where it does not, the target is gone.
    fn judge_silence(&self, call: &Call<'_>, try_: &mut Try) -> Option<Status> {
        // One answer may have come just before this one would have, from a target that woke.
        let others_min = self.target.patience.retrans.max(2);
        if try_.others >= others_min || matches!(call.op, Op::Null { .. }) {
            return Some(never_answered(call));
        }
        let mut probe = [Call::default()];
        if try_.others == 0 && !self.target.gone.load(Ordering::Relaxed) {
            self.perform_sent(&mut probe);
        }
        if try_.others == 0 && probe[0].status().is_err() {
            self.target.gone.store(true, Ordering::Relaxed);
            return Some(self.left_over(call));
        }
        // What breaks its connections was not met with silence.
        if try_.anew.is_some() || !self.is_waited_out(try_) {
            return Some(never_answered(call));
        }
        try_.anew = Some((try_.losses, try_.waited));
        None
    }

    /// What was sent and never answered was issued all the same: the server may have carried it out (law 4).
    fn fail(&self, call: &mut Call<'_>, try_: &Try, status: Status) {
        call.fail(status);
        if let Some(sent) = try_.first_sent {
            self.ledger.record(call.proc(), call.payload(), true, sent.elapsed());
        }
    }

    fn decode(&self, call: &mut Call<'_>, mut record: Received) {
        let mut parsed = rpc::parse_reply(&record.head);
        if !matches!(parsed, Ok((_, Ok(_)))) && !record.tail.is_empty() {
            // Cut for a payload that it does not have.
            record = record.joined().into();
            parsed = rpc::parse_reply(&record.head);
        }
        match parsed {
            Ok((_, Ok(at))) => {
                if nfs3::decode_results(call, record, at, &|place, handle| self.node(place, handle))
                    == Decoded::NeedsLookup
                {
                    self.look_up_made(call);
                }
                self.mark_verifier(call);
            }
            Ok((_, Err(error))) => call.fail(status_of(&error)),
            Err(_) => call.fail(Status::Protocol),
        }
    }

    /// Makes write verifiers differ between targets. Servers take the second they started in for one, so two targets that
    /// were started together have the same; and COMMIT at one says nothing of what another was sent (RFC 1813 3.3.7).
    fn mark_verifier(&self, call: &mut Call<'_>) {
        let mark = mix(self.target.index as u64);
        match &mut call.op {
            Op::Write { out: Ok(written), .. } => written.verifier ^= mark,
            Op::Commit { out: Ok(verifier), .. } => *verifier ^= mark,
            _ => {}
        }
    }

    /// RFC 1813 3.3.8 lets a server make an object and not say its handle; then it has to be asked.
    fn look_up_made(&self, call: &mut Call<'_>) {
        let (Op::Create { dir, name, out, .. }
        | Op::MkDir { dir, name, out, .. }
        | Op::Symlink { dir, name, out, .. }
        | Op::MkNod { dir, name, out, .. }) = &mut call.op
        else {
            return call.fail(Status::Protocol);
        };
        let mut lookup = [Call::lookup(dir, name)];
        self.hold(&lookup);
        self.perform_sent(&mut lookup);
        *out = lookup[0].found().map_err(asked_for_another);
        // What is not found now was made all the same.
        call.repeated |= call.status().is_err();
    }

    /// Nor need it say with which mode and owner it was made, and those are not always the ones that were asked for.
    fn ask_what_was_made(&self, calls: &mut [Call<'_>]) {
        let made: Vec<(usize, Node)> =
            calls.iter_mut().enumerate().filter_map(|(i, call)| Some((i, untold(call)?.node.clone()))).collect();
        if made.is_empty() {
            return;
        }
        let mut asks: Vec<Call<'_>> = made.iter().map(|(_, node)| Call::get_attr(node)).collect();
        self.hold(&asks);
        self.perform_sent(&mut asks);
        for ((i, _), ask) in made.iter().zip(&asks) {
            match (ask.attr(), untold(&mut calls[*i])) {
                (Ok(is), Some(found)) => found.attr = Some(is),
                (Err(status), Some(_)) => {
                    calls[*i].fail(asked_for_another(status));
                    calls[*i].repeated = true;
                }
                (_, None) => {}
            }
        }
    }
}

/// What a call has made whose attributes the server did not tell, though some were asked for.
fn untold<'c>(call: &'c mut Call<'_>) -> Option<&'c mut Found> {
    let (Op::Create { change, out, .. }
    | Op::MkDir { change, out, .. }
    | Op::Symlink { change, out, .. }
    | Op::MkNod { change, out, .. }) = &mut call.op
    else {
        return None;
    };
    let asks = change.mode.is_some() || change.gives_away();
    out.as_mut().ok().filter(|found| asks && found.attr.is_none())
}

/// What is said of a call that the server never answers, though it answers others.
fn never_answered(call: &Call<'_>) -> Status {
    if call.proc().only_asks() { Status::Unanswered } else { Status::NoReply }
}

/// Of a call whose outcome had to be looked up, and the look was never answered: it is that call whose work is not known.
pub(super) fn asked_for_another(status: Status) -> Status {
    if status == Status::Unanswered { Status::NoReply } else { status }
}

pub(super) fn give_back(call: &mut Call<'_>, lent: Vec<u8>) {
    if let Op::Read { buf, .. } = &mut call.op {
        *buf = lent;
    }
}

fn status_of(error: &RpcError) -> Status {
    match error {
        RpcError::Denied(_) => Status::Denied,
        RpcError::ProcUnavail => Status::NotSupp,
        RpcError::ProgUnavail | RpcError::ProgMismatch { .. } | RpcError::RpcMismatch { .. } => Status::NotServed,
        RpcError::SystemErr => Status::ServerFault,
        RpcError::GarbageArgs => Status::Garbage,
        RpcError::Malformed => Status::Protocol,
    }
}
