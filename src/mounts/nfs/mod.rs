//! The direct NFSv3 mount: one target, spoken to over pipelined TCP connections. Several of them make a volume.
//!
//! Promises: every call of a window ends with an outcome; a call that got no reply is sent again with the same xid on a
//! new connection; a repeated CREATE, REMOVE, MKDIR, RENAME or LINK that finds its own work done counts as done (`replay`);
//! JUKEBOX is waited out; where READDIRPLUS is not supported, READDIR lists; a target that stays away ends in
//! `Status::TargetGone`, for the volume to go on elsewhere.
//! Leaves out: NFSv4, UDP, Kerberos, locks.

mod ask;
mod attach;
mod connection;
mod exchange;
mod lowat;
mod proof;
mod reader;
mod replay;
mod retry;
mod site;
mod url;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::base::hash::mix;
use crate::base::{Bell, Name, Proc, Status};
use crate::storage::{Call, Chain, Handle, Ledger, Limits, Mount, Node, Op, Tally, Throttle, Want};
use crate::wire::rpc::Credential;

pub use attach::{AttachError, attach, shape};
pub use proof::Usage;
pub use site::Site;
pub use url::{GIDS_MAX, Host, Url, UrlError};

use connection::Connection;

/// Calls that are timed where a forecast hangs on it.
const ANSWERS_TIMED: usize = 5;

/// Calls of one window sent at once; larger windows go in parts. NetApp documents 128 as a connection's limit.
const CALLS_IN_FLIGHT_MAX: usize = 64;
/// Payload in flight to one target. At 1 GB/s and 5 ms a target needs 5 MB; more only fills socket buffers and caches.
const PAYLOAD_IN_FLIGHT_MAX: u64 = 16 << 20;
/// What a record may hold besides one READ's payload: RPC header, attributes, and what a listing exceeds its bound by.
const RECORD_OVERHEAD_MAX: usize = 64 << 10;

/// How a mount treats silence.
#[derive(Clone, Copy, Debug)]
struct Patience {
    reply_timeout: Duration,
    retrans: u32,
    away_max: Duration,
}

/// One mount target of one export, from one of its directories down.
#[derive(Debug)]
pub struct NfsMount {
    root: Node,
    target: Arc<Target>,
    /// What was asked through this mount alone.
    ledger: Ledger,
    retransmitted: AtomicU64,
    reconnects: AtomicU64,
}

/// What the mounts of several directories of one file system share at a target: its connections, and what is known of it.
#[derive(Debug)]
struct Target {
    label: String,
    /// This target's slot in the handles of chain nodes.
    index: usize,
    /// Where MOUNT is.
    mount_at: SocketAddr,
    privileged: bool,
    limits: Limits,
    credential: Credential,
    connections: Vec<Connection>,
    next_xid: AtomicU32,
    patience: Patience,
    payload: Gate,
    /// Milliseconds after `born` of the newest reply, for the judgement "stays away".
    heard_ms: AtomicU64,
    /// The same without replies to NULL, which say that somebody is there and not that he does anything.
    worked_ms: AtomicU64,
    born: Instant,
    /// How fast it answered when it was attached.
    idle_answer: Duration,
    gone: AtomicBool,
    /// The last try to connect was refused: nobody serves at the address.
    refuses: AtomicBool,
    /// The server has no READDIRPLUS (unfs3).
    names_only: AtomicBool,
    /// Since when no connection could be made for want of descriptors.
    starved_since: Mutex<Option<Instant>>,
    /// The run is being stopped.
    stopped: OnceLock<Arc<AtomicBool>>,
    /// When that was first seen.
    stop_seen: OnceLock<Instant>,
    /// When calls were given up then for the first time.
    cut_short: OnceLock<Instant>,
    /// What it adds to the calls it is given waits for these.
    holders: Mutex<Vec<Arc<Throttle>>>,
}

/// A mount before its root is known.
struct Setup {
    label: String,
    index: usize,
    address: SocketAddr,
    mount_at: SocketAddr,
    privileged: bool,
    credential: Credential,
    connections: usize,
    patience: Patience,
}

impl NfsMount {
    /// Once `stopped` is set, a target that is away, silent or busy is waited for a few seconds at most.
    pub fn heed(&self, stopped: Arc<AtomicBool>) {
        // A mount is one run's.
        let _ = self.target.stopped.set(stopped);
    }

    /// Who holds its calls holds what it adds to them too: what is sent again, and what is asked of what was made.
    pub fn hold_by(&self, holder: Arc<Throttle>) {
        let mut holders = self.target.holders.lock().expect("nothing panics while it holds the holders");
        // A mount may be in several volumes.
        if !holders.iter().any(|there| Arc::ptr_eq(there, &holder)) {
            holders.push(holder);
        }
    }

    fn new(setup: Setup, root: Node, limits: Limits) -> NfsMount {
        let record_bytes_max = limits.read_max.max(limits.list_max) as usize + RECORD_OVERHEAD_MAX;
        let timeout = setup.patience.reply_timeout;
        let connection = || Connection::new(setup.address, setup.privileged, record_bytes_max, timeout);
        let seed = mix(u64::from(std::process::id()) ^ mix(crate::base::Time::now().nanos.into()) ^ setup.index as u64);
        let target = Target {
            label: setup.label,
            index: setup.index,
            mount_at: setup.mount_at,
            privileged: setup.privileged,
            limits,
            credential: setup.credential,
            connections: (0..setup.connections).map(|_| connection()).collect(),
            next_xid: AtomicU32::new(seed as u32),
            patience: setup.patience,
            payload: Gate::default(),
            heard_ms: AtomicU64::new(0),
            worked_ms: AtomicU64::new(0),
            born: Instant::now(),
            idle_answer: Duration::ZERO,
            gone: AtomicBool::new(false),
            refuses: AtomicBool::new(false),
            names_only: AtomicBool::new(false),
            starved_since: Mutex::default(),
            stopped: OnceLock::new(),
            stop_seen: OnceLock::new(),
            cut_short: OnceLock::new(),
            holders: Mutex::default(),
        };
        NfsMount::of(root, Arc::new(target))
    }

    /// A mount of another directory of what the target has.
    fn of(root: Node, target: Arc<Target>) -> NfsMount {
        let (ledger, retransmitted, reconnects) = Default::default();
        NfsMount { root, target, ledger, retransmitted, reconnects }
    }

    /// The target of a mount that is being attached.
    fn target_mut(&mut self) -> &mut Target {
        Arc::get_mut(&mut self.target).expect("no other mount shares it before it is attached")
    }

    /// Are both of one target, over the same connections?
    pub fn shares_target(&self, other: &NfsMount) -> bool {
        Arc::ptr_eq(&self.target, &other.target)
    }

    /// Calls sent again with their old xid after a connection broke.
    pub fn retransmitted(&self) -> u64 {
        self.retransmitted.load(Ordering::Relaxed)
    }

    /// Connections made anew after one broke.
    pub fn reconnects(&self) -> u64 {
        self.reconnects.load(Ordering::Relaxed)
    }

    /// How fast the target answered when it was attached and nothing else was asked of it by this mount.
    pub fn idle_answer(&self) -> Duration {
        self.target.idle_answer
    }

    /// The least of that and of some GETATTRs of the root, one after the other: of three calls that attaching makes, each may have
    /// waited for something else.
    pub fn answer(&self) -> Duration {
        let ask = |_| {
            let mut call = [Call::get_attr(&self.root)];
            let start = Instant::now();
            self.perform(&mut call);
            call[0].status().ok().map(|()| start.elapsed())
        };
        (0..ANSWERS_TIMED).map_while(ask).fold(self.target.idle_answer, Duration::min)
    }

    /// Counts and latencies of what was issued, each call from its first transmission to its reply.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Lists by READDIR what the server would not list by READDIRPLUS, as Linux's client does: a page then says no more than names.
    fn list_names(&self, calls: &mut [Call<'_>]) {
        let is_refused = |call: &Call<'_>| call.proc() == Proc::ReadDirPlus && call.status() == Err(Status::NotSupp);
        for call in calls.iter_mut().filter(|call| is_refused(call)) {
            self.target.names_only.store(true, Ordering::Relaxed);
            self.cut(call);
            self.perform_sent(std::slice::from_mut(call));
        }
    }

    /// Cuts a transfer to what the server takes at once; the outcome then says that it was a part.
    fn cut(&self, call: &mut Call<'_>) {
        match &mut call.op {
            Op::Read { count, .. } => *count = (*count).min(self.target.limits.read_max),
            Op::Write { data, .. } => *data = &data[..data.len().min(self.target.limits.write_max as usize)],
            Op::ReadDir { bytes_max, want, .. } => {
                *bytes_max = (*bytes_max).min(self.target.limits.list_max);
                if self.target.names_only.load(Ordering::Relaxed) {
                    *want = Want::Names;
                }
            }
            _ => {}
        }
    }

    fn xid(&self) -> u32 {
        self.target.next_xid.fetch_add(1, Ordering::Relaxed)
    }

    /// Somebody is there.
    fn note_heard(&self, arrived: Instant) -> u64 {
        let heard_ms = u64::try_from((arrived - self.target.born).as_millis()).unwrap_or(u64::MAX);
        self.target.heard_ms.fetch_max(heard_ms, Ordering::Relaxed);
        heard_ms
    }

    /// The connection with the least in flight, so that small calls avoid one that carries bulk data. One that there was no descriptor
    /// for is the last choice.
    fn connection(&self) -> &Connection {
        let least = self.target.connections.iter().min_by_key(|c| (c.is_lacking(), c.load.load(Ordering::Relaxed)));
        least.expect("a mount has at least one connection")
    }

    /// A connection that is there, the one with the least in flight.
    fn made_connection(&self) -> Option<&Connection> {
        let made = self.target.connections.iter().filter(|connection| connection.is_made());
        made.min_by_key(|c| c.load.load(Ordering::Relaxed))
    }

    /// How many of how many connections are used, where there were no descriptors for all that were wanted.
    pub fn fewer_connections(&self) -> Option<(usize, usize)> {
        let all = self.target.connections.len();
        let lacking = self.target.connections.iter().filter(|connection| connection.is_lacking()).count();
        (lacking > 0 && lacking < all).then_some((all - lacking, all))
    }

    /// The wire handle of `node` at this target; a chain node that was not yet seen here is looked up, parents first.
    fn resolve(&self, node: &Node) -> Result<Handle, Status> {
        let mut unknown: Vec<(Node, Name)> = Vec::new();
        let mut at = node.clone();
        let mut handle = loop {
            match &at {
                Node::Handle(handle) => break *handle,
                Node::Chain(chain) => match (self.slot(chain)?.get(), &chain.parent) {
                    (Some(handle), _) => break *handle,
                    (None, None) => return Err(Status::BadHandle),
                    (None, Some((parent, name))) => {
                        let parent = parent.clone();
                        unknown.push((at.clone(), name.clone()));
                        at = parent;
                    }
                },
            }
        };
        while let Some((child, name)) = unknown.pop() {
            let mut calls = [Call::lookup(&Node::Handle(handle), &name)];
            self.perform_sent(&mut calls);
            let Node::Handle(found) = calls[0].found()?.node else { return Err(Status::BadHandle) };
            if let Node::Chain(chain) = &child {
                let _ = self.slot(chain)?.set(found); // another lane may have been first, with the same object
            }
            handle = found;
        }
        Ok(handle)
    }

    fn slot<'c>(&self, chain: &'c Chain) -> Result<&'c std::sync::OnceLock<Handle>, Status> {
        chain.handles.get(self.target.index).ok_or(Status::BadHandle)
    }

    /// The node of a handle that this target answered with, found by `place`: a child of a chain is a chain.
    fn node(&self, place: Option<(&Node, &Name)>, handle: Handle) -> Node {
        if let Some((Node::Chain(dir), name)) = place {
            let child = Node::child(dir, name.clone());
            if let Node::Chain(chain) = &child
                && let Ok(slot) = self.slot(chain)
            {
                let _ = slot.set(handle); // a new chain's slots are empty
            }
            return child;
        }
        Node::Handle(handle)
    }
}

impl Mount for NfsMount {
    fn root(&self) -> Node {
        self.root.clone()
    }

    fn limits(&self) -> Limits {
        self.target.limits
    }

    fn perform(&self, calls: &mut [Call<'_>]) {
        calls.iter_mut().for_each(|call| self.cut(call));
        for part in calls.chunks_mut(CALLS_IN_FLIGHT_MAX) {
            self.perform_sent(part);
            self.list_names(part);
            for call in part.iter_mut() {
                if call.repeated && call.status().is_err() {
                    replay::judge(self, call);
                }
            }
        }
    }

    /// What NFSv3 has no procedure for is refused without asking.
    fn lower(&self, call: &Call<'_>) -> Tally {
        if call.proc().is_nfs3() { Tally::of(call) } else { Tally::default() }
    }

    fn makes_as(&self) -> Option<(u32, u32)> {
        Some((self.target.credential.uid, self.target.credential.gid))
    }

    fn issued(&self) -> Option<Tally> {
        Some(self.ledger.tally())
    }

    fn label(&self) -> String {
        self.target.label.clone()
    }
}

/// Bounds the payload in flight to one target.
#[derive(Debug, Default)]
struct Gate {
    used: Mutex<u64>,
    room: Bell,
}

impl Gate {
    /// Room for `bytes` of the bound, once others have given back enough; a window larger than the bound waits for the whole of it.
    fn pass(&self, bytes: u64) -> Passed<'_> {
        let bytes = bytes.min(PAYLOAD_IN_FLIGHT_MAX);
        if bytes > 0 {
            let mut used = self.used.lock().expect("nothing panics while it holds the gate");
            while *used + bytes > PAYLOAD_IN_FLIGHT_MAX {
                used = self.room.wait(used).expect("nothing panics while it holds the gate");
            }
            *used += bytes;
        }
        Passed { gate: self, bytes }
    }
}

/// Gives back what a window held, also when it panics: others wait for it.
struct Passed<'a> {
    gate: &'a Gate,
    bytes: u64,
}

impl Drop for Passed<'_> {
    fn drop(&mut self) {
        if self.bytes > 0 {
            let mut used = self.gate.used.lock().unwrap_or_else(PoisonError::into_inner);
            *used -= self.bytes;
            self.gate.room.ring(used);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_window_held_is_given_back_also_when_it_panics() {
        let gate = Gate::default();
        let window = std::panic::AssertUnwindSafe(|| {
            let _passed = gate.pass(PAYLOAD_IN_FLIGHT_MAX + 1);
            // Without the words that a panic writes.
            std::panic::resume_unwind(Box::new(()))
        });
        std::panic::catch_unwind(window).unwrap_err();
        assert_eq!(*gate.used.lock().unwrap(), 0);
    }
}
