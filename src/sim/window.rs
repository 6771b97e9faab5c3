//! The requests that one connection has ready, carried out as one window: headers read, faults and duplicates sorted
//! out, the calls performed by the mount, the replies written with the time each is due.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use crate::base::{Proc, Status, Time};
use crate::storage::{AttrChange, Call, Found, How, Kind, Node, Op, Out};
use crate::wire::nfs3::encode::encode_lookup;
use crate::wire::nfs3::{self, ArgsError, Asked, decode_args, encode_failure, encode_results};
use crate::wire::rpc::{self, CallHead, Credential, Reject, RpcError};
use crate::wire::xdr::padding;
use crate::wire::{mount3, portmap};

use super::faults::Misfortune;
use super::outbox::{Outbox, Reply};
use super::replay::{Begun, Key, is_kept};
use super::target::Target;

/// What a window's requests do to their connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It is reset, with the replies on it.
    Reset,
    /// It is closed, since what came is no RPC.
    NotRpc,
    /// The server restarts.
    Restart,
    /// The target goes away.
    Gone,
}

/// Who calls without credentials (AUTH_NONE): nobody, as every NFS server has it.
const NOBODY: u32 = 65_534;

/// How many bytes of READ take a processor as long as one byte of a page: 64 KiB of names and attributes on tmpfs take 1.2 ms. The replies
/// of a window go together, and a server has no client wait for a page that is ready.
const PAGE_WEIGHT: u64 = 32;

/// A call that waits to be performed with its window.
struct Pending {
    xid: u32,
    key: Option<Key>,
    fate: Misfortune,
    due: Instant,
    /// The owner that an object made by exclusive create gets afterwards.
    owner: Option<(u32, u32)>,
}

/// Requests that were read from a connection at once.
pub(super) struct Batch {
    pub peer: SocketAddr,
    pub arrived: Instant,
    /// Bytes that a page is expected to have; the connection's.
    pub page: u64,
}

/// A window being carried out for one connection of a target.
struct Window<'r, 't> {
    target: &'t Target,
    outbox: &'t Outbox,
    peer: SocketAddr,
    /// When the requests arrived.
    now: Instant,
    calls: Vec<Call<'r>>,
    pending: Vec<Pending>,
    /// READ and WRITE bytes of the calls taken, and those of pages by [`PAGE_WEIGHT`].
    payload: u64,
    /// Bytes of a page, by the largest of the windows before: a directory of few entries has a small one, whatever is asked for.
    page: &'t mut u64,
    replies: Vec<Reply>,
}

impl<'r, 't> Window<'r, 't> {
    fn new(target: &'t Target, outbox: &'t Outbox, batch: &'t mut Batch) -> Window<'r, 't> {
        let (calls, pending, replies) = (Vec::new(), Vec::new(), Vec::new());
        let Batch { peer, arrived, page } = batch;
        Window { target, outbox, peer: *peer, now: *arrived, calls, pending, payload: 0, page, replies }
    }

    /// Takes the next request; one that ends the connection is the last.
    fn take(&mut self, record: &'r [u8]) -> Result<(), End> {
        let head = match rpc::parse_call(record) {
            Ok(head) => head,
            Err(Reject::Malformed) => return Err(End::NotRpc),
            Err(Reject::Answer(xid, error)) => {
                self.refuse(xid, error);
                return Ok(());
            }
        };
        let (known, version) = match head.program {
            nfs3::PROGRAM => (true, nfs3::VERSION),
            mount3::PROGRAM => (true, mount3::VERSION),
            portmap::PROGRAM => (true, portmap::VERSION),
            _ => (false, 0),
        };
        if !known {
            self.refuse(head.xid, RpcError::ProgUnavail);
        } else if head.version != version {
            self.refuse(head.xid, RpcError::ProgMismatch { low: version, high: version });
        } else if head.program != nfs3::PROGRAM {
            self.answer(&head, record);
        } else if let Some(procedure) = Proc::from_number(head.procedure) {
            return self.nfs(&head, procedure, record);
        } else {
            self.refuse(head.xid, RpcError::ProcUnavail);
        }
        Ok(())
    }

    fn refuse(&mut self, xid: u32, error: RpcError) {
        let mut head = Vec::with_capacity(40);
        rpc::put_refusal(&mut head, xid, error);
        self.reply(head, Vec::new(), self.now + self.target.latency(), Misfortune::default());
    }

    /// MOUNT and portmap: answered at once, neither priced nor counted.
    fn answer(&mut self, head: &CallHead, record: &[u8]) {
        let mut out = Vec::with_capacity(128);
        let start = rpc::begin_reply(&mut out, head.xid);
        let answered = match head.program {
            mount3::PROGRAM => self.target.service.mount(self.peer, head, record, &mut out),
            _ => self.target.answer_portmap(head, record, &mut out),
        };
        match answered {
            Ok(()) => {
                rpc::end_record(&mut out, start, 0);
                self.reply(out, Vec::new(), self.now + self.target.latency(), Misfortune::default());
            }
            Err(error) => self.refuse(head.xid, error),
        }
    }

    fn reply(&mut self, head: Vec<u8>, payload: Vec<u8>, due: Instant, fate: Misfortune) {
        let queued = due - self.now - self.target.latency();
        let due = due + fate.late;
        if fate.duplicate && !fate.lost_reply {
            self.replies.push(Reply { due, queued, head: head.clone(), payload: payload.clone(), split: fate.split });
        }
        if fate.lost_reply {
            self.target.counts.lost_replies();
        } else {
            self.replies.push(Reply { due, queued, head, payload, split: fate.split });
        }
    }

    fn nfs(&mut self, head: &CallHead, procedure: Proc, record: &'r [u8]) -> Result<(), End> {
        let fate = self.target.service.faults.choose(self.target.index, procedure);
        let end = match fate {
            Misfortune { gone: true, .. } => Some(End::Gone),
            Misfortune { restart: true, .. } => Some(End::Restart),
            Misfortune { reset_before: true, .. } => Some(End::Reset),
            _ => None,
        };
        if let Some(end) = end {
            self.target.counts.dropped();
            return Err(end);
        }
        let replay = &self.target.replay;
        let mut key = None;
        if replay.is_on() && is_kept(procedure) {
            let new = Key::new(self.peer, head.xid, procedure, record.get(head.args..).unwrap_or_default());
            loop {
                match replay.begin(new) {
                    Begun::New => break,
                    Begun::Busy => {
                        self.perform();
                        replay.wait(new);
                    }
                    Begun::Again(reply) => {
                        self.target.counts.replayed();
                        self.reply(reply.to_vec(), Vec::new(), self.now + self.target.latency(), fate);
                        return if fate.reset { Err(End::Reset) } else { Ok(()) };
                    }
                }
                if self.target.is_stopped() {
                    return Err(End::Reset);
                }
            }
            key = Some(new);
        }
        self.carry_out(head, procedure, record, (key, fate));
        if fate.reset { Err(End::Reset) } else { Ok(()) }
    }

    fn carry_out(&mut self, head: &CallHead, procedure: Proc, record: &'r [u8], with: (Option<Key>, Misfortune)) {
        let (key, fate) = with;
        if self.target.service.handles.waits_for(&self.calls, procedure) {
            self.perform();
        }
        let service = &self.target.service;
        let request = decode_args(procedure, record, head.args, &|handle| service.handles.node(handle));
        let outcome = match request {
            _ if fate.jukebox => Err(Status::Jukebox),
            Ok(request) => {
                // What is ahead may be what the guard is against.
                if request.guard.is_some() {
                    self.perform();
                }
                match service.prepare(request.asked, request.guard, head.credential.as_ref()) {
                    Ok(Prepared::Call(call, owner)) => return self.queue(call, (head.xid, procedure), owner, with),
                    Ok(Prepared::Found(found)) => Ok(found),
                    Err(status) => Err(status),
                }
            }
            Err(ArgsError::Status(status)) => Err(status),
            Err(ArgsError::Garbage) => {
                let mut out = Vec::with_capacity(40);
                rpc::put_refusal(&mut out, head.xid, RpcError::GarbageArgs);
                if let Some(key) = key {
                    self.target.replay.finish(key, &out);
                }
                return self.reply(out, Vec::new(), self.now + self.target.latency(), fate);
            }
        };
        let due = self.book(procedure, 0);
        self.target.ledger.record(procedure, 0, outcome.is_err(), due - self.now + fate.late);
        let mut out = Vec::with_capacity(160);
        let start = rpc::begin_reply(&mut out, head.xid);
        match outcome {
            Ok(found) => encode_lookup(&service.handles.handle(&found.node), found.attr.as_ref(), &mut out),
            Err(status) => encode_failure(procedure, status, &mut out),
        }
        rpc::end_record(&mut out, start, 0);
        if let Some(key) = key {
            self.target.replay.finish(key, &out);
        }
        self.reply(out, Vec::new(), due, fate);
    }

    /// Takes a call into the window.
    fn queue(
        &mut self,
        call: Call<'r>,
        (xid, procedure): (u32, Proc),
        owner: Option<(u32, u32)>,
        (key, fate): (Option<Key>, Misfortune),
    ) {
        let due = self.book(procedure, call.payload());
        self.payload += match &call.op {
            Op::ReadDir { bytes_max, .. } => PAGE_WEIGHT * u64::from(*bytes_max).min(*self.page),
            _ => call.payload(),
        };
        self.calls.push(self.with_buffer(call));
        self.pending.push(Pending { xid, key, fate, due, owner });
    }

    fn book(&self, procedure: Proc, bytes: u64) -> Instant {
        self.target.clock.book(self.now, procedure, bytes) + self.target.latency()
    }

    /// Gives READ a buffer that was used before.
    fn with_buffer(&self, mut call: Call<'r>) -> Call<'r> {
        if let Op::Read { buf, .. } = &mut call.op {
            *buf = self.outbox.buffer();
        }
        call
    }

    /// Performs the calls taken so far and writes their replies.
    fn perform(&mut self) {
        if self.calls.is_empty() {
            return;
        }
        let service = &self.target.service;
        service.mount.perform(&mut self.calls);
        let calls = std::mem::take(&mut self.calls);
        let pending = std::mem::take(&mut self.pending);
        let mut page = None;
        for (mut call, pending) in calls.into_iter().zip(pending) {
            if let Some((uid, gid)) = pending.owner {
                service.give_owner(&mut call, uid, gid);
            }
            service.tell_attributes(&mut call);
            service.handles.settle(&mut call);
            let late = pending.due - self.now + pending.fate.late;
            self.target.ledger.record(call.proc(), call.payload(), call.status().is_err(), late);
            let mut out = Vec::with_capacity(192);
            let start = rpc::begin_reply(&mut out, pending.xid);
            let payload = encode_results(&call, &|node| service.handles.handle(node), &mut out);
            let payload = payload.map_or(0, |payload| payload.len() + padding(payload.len()));
            rpc::end_record(&mut out, start, payload);
            if let Op::ReadDir { .. } = call.op {
                page = page.max(Some(out.len() as u64));
            }
            if let Some(key) = pending.key {
                self.target.replay.finish(key, &out);
            }
            let payload = match call.op {
                Op::Read { buf, out: Ok(_), .. } => buf,
                _ => Vec::new(),
            };
            self.reply(out, payload, pending.due, pending.fate);
        }
        *self.page = page.map_or(*self.page, |page: u64| page.max(*self.page / 2));
    }
}

/// A request ready for the mount, or already answered.
#[allow(clippy::large_enum_variant)] // a call is what it nearly always is
enum Prepared<'r> {
    /// To be performed; then the object made gets this owner.
    Call(Call<'r>, Option<(u32, u32)>),
    /// LOOKUP of `.` or `..`.
    Found(Found),
}

impl super::service::Service {
    /// Turns what is asked for into a call on the mount: sizes within its limits, a new object owned by the caller.
    fn prepare<'r>(
        &self,
        asked: Asked<'r>,
        guard: Option<Time>,
        credential: Option<&Credential>,
    ) -> Result<Prepared<'r>, Status> {
        let mut call = match asked {
            Asked::Call(call) => call,
            // RFC 1813 3.3.3: of what is no directory it is NOTDIR.
            Asked::LookupDot(node) | Asked::LookupDotDot(node) if self.attr(&node)?.kind != Kind::Dir => {
                return Err(Status::NotDir);
            }
            Asked::LookupDot(dir) => return self.found(dir).map(Prepared::Found),
            Asked::LookupDotDot(dir) => return self.found(self.handles.parent(&dir)?).map(Prepared::Found),
        };
        let (uid, gid) = credential.map_or((NOBODY, NOBODY), |c| (c.uid, c.gid));
        let own = |dir: &Node, change: &mut AttrChange| {
            if !self.squash {
                change.uid.get_or_insert(uid);
                change.gid = change.gid.or_else(|| (!self.gives_its_group(dir)).then_some(gid));
            }
        };
        let mut owner = None;
        match &mut call.op {
            Op::SetAttr { node, .. } => {
                if let Some(ctime) = guard
                    && self.attr(node)?.ctime != ctime
                {
                    return Err(Status::NotSync);
                }
            }
            Op::Create { how: How::Exclusive(_), .. } => owner = (!self.squash).then_some((uid, gid)),
            Op::Create { dir, change, .. }
            | Op::MkDir { dir, change, .. }
            | Op::Symlink { dir, change, .. }
            | Op::MkNod { dir, change, .. } => own(dir, change),
            Op::Read { count, .. } => *count = (*count).min(self.limits.read_max),
            Op::Write { data, .. } => *data = &data[..data.len().min(self.limits.write_max as usize)],
            Op::ReadDir { bytes_max, .. } => *bytes_max = (*bytes_max).min(self.limits.list_max),
            _ => {}
        }
        Ok(Prepared::Call(call, owner))
    }

    /// The attributes, asked of the mount beside what is counted and priced.
    pub(super) fn attr(&self, node: &Node) -> Out<crate::storage::Attr> {
        let mut calls = [Call::get_attr(node)];
        self.mount.perform(&mut calls);
        match calls {
            [Call { op: Op::GetAttr { out, .. }, .. }] => out,
            _ => Err(Status::ServerFault),
        }
    }

    /// New objects in the directory belong to its group rather than to their maker's: System V's way, and Linux's servers'.
    fn gives_its_group(&self, dir: &Node) -> bool {
        self.attr(dir).is_ok_and(|dir| dir.mode & 0o2000 != 0)
    }

    fn found(&self, node: Node) -> Result<Found, Status> {
        let attr = Some(self.attr(&node)?);
        Ok(Found { node, attr })
    }

    /// What was made is told with its attributes, as real servers tell it, also where the mount did not look again after the last change.
    fn tell_attributes(&self, call: &mut Call<'_>) {
        let (Op::Create { out, .. } | Op::MkDir { out, .. } | Op::Symlink { out, .. } | Op::MkNod { out, .. }) =
            &mut call.op
        else {
            return;
        };
        if let Ok(found) = out
            && found.attr.is_none()
        {
            found.attr = self.attr(&found.node).ok();
        }
    }

    /// Exclusive create sets no attributes (RFC 1813 3.3.8), the owner among them: it is set afterwards.
    fn give_owner(&self, call: &mut Call<'_>, uid: u32, gid: u32) {
        let Op::Create { dir, out: Ok(found), .. } = &mut call.op else { return };
        let gid = found.attr.filter(|_| self.gives_its_group(dir)).map_or(gid, |is| is.gid);
        if found.attr.is_none_or(|attr| (attr.uid, attr.gid) == (uid, gid)) {
            return;
        }
        let change = AttrChange { uid: Some(uid), gid: Some(gid), ..AttrChange::default() };
        let mut calls = [Call::set_attr(&found.node, change)];
        self.mount.perform(&mut calls);
        if let [Call { op: Op::SetAttr { out: Ok(attr), .. }, .. }] = calls {
            found.attr = attr;
        }
    }
}

/// Carries out requests of one connection, all that arrived or until they carry `payload_max` bytes, and gives the replies and
/// what happens to the connection thereafter.
pub(super) fn carry_out(
    target: &Arc<Target>,
    outbox: &Outbox,
    batch: &mut Batch,
    records: &mut dyn Iterator<Item = &[u8]>,
    payload_max: u64,
) -> (Vec<Reply>, Option<End>) {
    let mut window = Window::new(target, outbox, batch);
    let mut end = None;
    while end.is_none() && window.payload < payload_max {
        let Some(record) = records.next() else { break };
        end = window.take(record).err();
    }
    window.perform();
    if let Some(due) = window.replies.iter().map(|reply| reply.due).max() {
        target.counts.busy_until(due);
    }
    (window.replies, end)
}
