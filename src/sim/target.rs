//! One mount target: its listener, its connections, its clock and its books.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use socket2::{Domain, SockRef, Socket, Type};

use crate::base::PriceList;
use crate::base::price::Ceiling;
use crate::storage::Ledger;
use crate::storage::throttle::Clock;
use crate::wire::nfs3::OVERHEAD_BYTES_MAX;
use crate::wire::portmap::{self, Mapping};
use crate::wire::record::Inbox;
use crate::wire::rpc::{CallHead, RpcError};
use crate::wire::{mount3, nfs3};

use super::outbox::Outbox;
use super::replay::Replay;
use super::report::{self, TargetReport};
use super::service::Service;
use super::window::{Batch, End, carry_out};

/// Bytes read from a socket at a time, large records apart.
const READ_BYTES: usize = 256 << 10;
/// Payload carried out at a time, so that the replies of one window stay in bounds.
const WINDOW_BYTES_MAX: u64 = 8 << 20;
/// What a page is expected to have before there was one: as much as parfs asks for.
const PAGE_BYTES: u64 = 64 << 10;
/// Requests carried out at a time.
const WINDOW_MAX: usize = 256;
/// A write that does not get on looks this often whether it still should.
const WRITE_TIMEOUT: Duration = Duration::from_millis(200);
/// Connection threads call the mount at a small depth; two for each connection.
const STACK_BYTES: usize = 1 << 20;

/// Counters beside the ledger.
#[derive(Debug, Default)]
pub(super) struct Counters {
    connections: AtomicU64,
    replayed: AtomicU64,
    dropped: AtomicU64,
    lost_replies: AtomicU64,
    /// The first and the last request.
    busy: Mutex<Option<(Instant, Instant)>>,
}

impl Counters {
    pub(super) fn replayed(&self) {
        self.replayed.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn dropped(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn lost_replies(&self) {
        self.lost_replies.fetch_add(1, Ordering::Relaxed);
    }

    fn window(&self) {
        let now = Instant::now();
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        *busy = Some(busy.map_or((now, now), |(first, last)| (first, last.max(now))));
    }

    /// What it has answered arrives by then: a target that requests wait at is busy although none comes.
    pub(super) fn busy_until(&self, due: Instant) {
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        *busy = busy.map(|(first, last)| (first, last.max(due)));
    }
}

/// One accepted connection.
struct Link {
    stream: TcpStream,
    peer: SocketAddr,
    outbox: Outbox,
}

impl Link {
    /// Ends the connection at once, replies or not; the client sees a reset when data was under way.
    fn cut(&self) {
        self.outbox.abort();
        // The socket is gone already when these fail, which is what was wanted.
        let _ = SockRef::from(&self.stream).set_linger(Some(Duration::ZERO));
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

pub(super) struct Target {
    pub index: usize,
    pub address: SocketAddr,
    pub service: Arc<Service>,
    pub clock: Clock,
    pub ledger: Ledger,
    pub replay: Replay,
    pub counts: Counters,
    price: PriceList,
    latency: Duration,
    connections_max: usize,
    /// What happens at a restart; the server's.
    restart: Box<dyn Fn() + Send + Sync>,
    stopped: AtomicBool,
    /// None once the target is gone; the portmapper's port may be the second.
    listeners: Mutex<Vec<Arc<TcpListener>>>,
    /// Keep the ports of a target that is gone from being given to others, whom its clients would take for it.
    parked: Mutex<Vec<Socket>>,
    links: Mutex<HashMap<u64, Arc<Link>>>,
}

/// What a target is made of.
pub(super) struct Parts {
    pub index: usize,
    pub listeners: Vec<TcpListener>,
    pub service: Arc<Service>,
    pub ceiling: Ceiling,
    pub price: PriceList,
    pub replay_max: usize,
    pub connections_max: usize,
    pub restart: Box<dyn Fn() + Send + Sync>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Target {
    /// Starts the threads that accept connections; they end when the target is stopped.
    pub(super) fn start(parts: Parts) -> io::Result<(Arc<Target>, Vec<JoinHandle<()>>)> {
        let address = match parts.listeners.first() {
            Some(listener) => listener.local_addr()?,
            None => return Err(io::Error::new(ErrorKind::InvalidInput, "a target listens somewhere")),
        };
        let listeners: Vec<Arc<TcpListener>> = parts.listeners.into_iter().map(Arc::new).collect();
        let target = Arc::new(Target {
            index: parts.index,
            address,
            service: parts.service,
            clock: Clock::new(parts.ceiling, parts.price.clone()),
            ledger: Ledger::default(),
            replay: Replay::new(parts.replay_max),
            counts: Counters::default(),
            price: parts.price,
            latency: parts.ceiling.latency,
            connections_max: parts.connections_max,
            restart: parts.restart,
            stopped: AtomicBool::new(false),
            listeners: Mutex::new(listeners.clone()),
            parked: Mutex::default(),
            links: Mutex::default(),
        });
        let mut threads = Vec::new();
        for listener in listeners {
            let accepting = Arc::clone(&target);
            let spawned = thread::Builder::new()
                .name(format!("sim-{}-accept", parts.index))
                .spawn(move || accepting.accept(listener));
            match spawned {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    target.stop();
                    return Err(error);
                }
            }
        }
        Ok((target, threads))
    }

    pub(super) fn latency(&self) -> Duration {
        self.latency
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Closes the listeners and all connections; none of them comes back.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        for listener in lock(&self.listeners).drain(..) {
            let address = listener.local_addr();
            // On Linux this ends an accept() that waits (it returns EINVAL), and gives back a port that the system chose.
            let _ = SockRef::from(&*listener).shutdown(Shutdown::Both);
            // Where it cannot be had again, nothing is parked.
            lock(&self.parked).extend(address.and_then(park).ok());
        }
        self.cut_all();
    }

    /// Resets all connections.
    pub(super) fn cut_all(&self) {
        let links: Vec<Arc<Link>> = lock(&self.links).values().cloned().collect();
        links.iter().for_each(|link| link.cut());
    }

    pub(super) fn replayed(&self) -> u64 {
        self.counts.replayed.load(Ordering::Relaxed)
    }

    pub(super) fn report(&self) -> TargetReport {
        let counts = report::Counts {
            connections: self.counts.connections.load(Ordering::Relaxed),
            replayed: self.replayed(),
            dropped: self.counts.dropped.load(Ordering::Relaxed),
            lost_replies: self.counts.lost_replies.load(Ordering::Relaxed),
            busy: lock(&self.counts.busy).map_or(Duration::ZERO, |(first, last)| last - first),
        };
        report::target(self.address.to_string(), !self.is_stopped(), &self.ledger, &self.price, counts)
    }

    /// Answers a call of the portmap program: all programs are at this target's port.
    pub(super) fn answer_portmap(&self, head: &CallHead, record: &[u8], out: &mut Vec<u8>) -> Result<(), RpcError> {
        let programs =
            [(nfs3::PROGRAM, nfs3::VERSION), (mount3::PROGRAM, mount3::VERSION), (portmap::PROGRAM, portmap::VERSION)];
        let port = self.address.port();
        match head.procedure {
            0 => {}
            portmap::GETPORT => {
                let asked = portmap::decode_getport(record, head.args).map_err(|_| RpcError::GarbageArgs)?;
                let known = asked.is_some_and(|asked| programs.contains(&(asked.program, asked.version)));
                portmap::encode_port(if known { port } else { 0 }, out);
            }
            portmap::DUMP => {
                let mappings = programs.map(|(program, version)| Mapping { program, version, port });
                portmap::encode_mappings(&mappings, out);
            }
            _ => return Err(RpcError::ProcUnavail),
        }
        Ok(())
    }

    fn accept(self: Arc<Self>, listener: Arc<TcpListener>) {
        let mut readers: Vec<JoinHandle<()>> = Vec::new();
        while !self.is_stopped() {
            match listener.accept() {
                Ok((stream, peer)) => {
                    readers.retain(|reader| !reader.is_finished());
                    // A connection that cannot be served is closed, as it is dropped here.
                    readers.extend(self.connect(stream, peer).ok().flatten());
                }
                // Out of descriptors, or a connection that was reset before it was accepted.
                Err(_) if !self.is_stopped() => thread::sleep(Duration::from_millis(10)),
                Err(_) => break,
            }
        }
        drop(listener);
        self.cut_all();
        for reader in readers {
            let _ = reader.join();
        }
    }

    /// Serves a new connection; none when there are too many.
    fn connect(self: &Arc<Self>, stream: TcpStream, peer: SocketAddr) -> io::Result<Option<JoinHandle<()>>> {
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
        let number = self.counts.connections.fetch_add(1, Ordering::Relaxed);
        let link = Arc::new(Link { stream, peer, outbox: Outbox::default() });
        {
            let mut links = lock(&self.links);
            if links.len() >= self.connections_max {
                return Ok(None);
            }
            links.insert(number, Arc::clone(&link));
        }
        if self.is_stopped() {
            link.cut();
        }
        let target = Arc::clone(self);
        let reader = thread::Builder::new()
            .name(format!("sim-{}-read", self.index))
            .stack_size(STACK_BYTES)
            .spawn(move || target.serve(number, &link));
        if reader.is_err() {
            lock(&self.links).remove(&number);
        }
        reader.map(Some)
    }

    /// A connection's life: this thread reads, another sends.
    fn serve(self: Arc<Self>, number: u64, link: &Arc<Link>) {
        let sending = Arc::clone(link);
        let writer =
            thread::Builder::new().name(format!("sim-{}-send", self.index)).stack_size(STACK_BYTES).spawn(move || {
                // Replies are due to the microsecond; the usual slack of 50 us would double a short latency.
                let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
                let _ = sending.outbox.send_all(&sending.stream);
            });
        match writer {
            Ok(writer) => {
                let end = self.read(link);
                match end {
                    Ok(None) => link.outbox.end(), // the client has said all it will; it may still want its replies
                    Ok(Some(End::NotRpc)) | Err(_) => link.cut(),
                    Ok(Some(End::Reset)) => self.reset(link),
                    Ok(Some(End::Restart)) => (self.restart)(),
                    Ok(Some(End::Gone)) => self.stop(),
                }
                let _ = writer.join();
            }
            Err(_) => link.cut(),
        }
        lock(&self.links).remove(&number);
    }

    /// Resets one connection: with the replies under way, and an RST instead of a FIN, as the socket is closed with
    /// nothing to linger for once both threads have let go of it.
    fn reset(&self, link: &Link) {
        link.outbox.abort();
        let _ = SockRef::from(&link.stream).set_linger(Some(Duration::ZERO));
    }

    /// Reads and carries out requests until the connection ends (none) or a request ends it.
    fn read(self: &Arc<Self>, link: &Link) -> io::Result<Option<End>> {
        let record_bytes_max = self.service.limits.write_max as usize + OVERHEAD_BYTES_MAX;
        let mut inbox = Inbox::new(record_bytes_max, READ_BYTES);
        let mut ranges = Vec::new();
        let mut batch = Batch { peer: link.peer, arrived: Instant::now(), page: PAGE_BYTES };
        loop {
            match (&link.stream).read(inbox.space()) {
                Ok(0) => return Ok(None),
                Ok(count) => inbox.filled(count),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            loop {
                ranges.clear();
                let mut end = None;
                while ranges.len() < WINDOW_MAX {
                    match inbox.next_record() {
                        Ok(Some(range)) => ranges.push(range),
                        Ok(None) => break,
                        Err(_too_long) => {
                            end = Some(End::NotRpc);
                            break;
                        }
                    }
                }
                if ranges.is_empty() && end.is_none() {
                    break;
                }
                batch.arrived = Instant::now();
                let mut records = ranges.iter().map(|range| inbox.bytes(range.clone())).peekable();
                while records.peek().is_some() {
                    self.counts.window();
                    let (replies, ended) = {
                        let _running = self.service.running.read().unwrap_or_else(PoisonError::into_inner);
                        if link.outbox.is_aborted() {
                            return Ok(None);
                        }
                        carry_out(self, &link.outbox, &mut batch, &mut records, WINDOW_BYTES_MAX)
                    };
                    if ended.is_some() {
                        // Whatever ends a connection takes along the replies that are not sent yet.
                        replies.iter().for_each(|_| self.counts.lost_replies());
                        return Ok(ended);
                    }
                    if !link.outbox.push(replies) {
                        return Ok(None);
                    }
                }
                if end.is_some() {
                    return Ok(end);
                }
            }
        }
    }
}

/// Where a client on this machine reaches an address that stands for all.
pub(super) fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        _ => address.ip(),
    };
    SocketAddr::new(ip, address.port())
}

/// Restarts a server whose targets are these: what was not committed is lost through `hook`, the duplicate request
/// caches are empty, all connections are reset. What was read from them before is not carried out after: no request
/// outlives the server that received it.
pub(super) fn restart(service: &Service, targets: &Mutex<Vec<Weak<Target>>>, hook: Option<&(dyn Fn() + Send + Sync)>) {
    let _stopped = service.running.write().unwrap_or_else(PoisonError::into_inner);
    let targets: Vec<Arc<Target>> = lock(targets).iter().filter_map(Weak::upgrade).collect();
    targets.iter().for_each(|target| target.replay.clear());
    if let Some(hook) = hook {
        hook();
    }
    targets.iter().for_each(|target| target.cut_all());
}

/// Takes a port without listening there: who connects is refused, and nobody else is given it.
fn park(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    // To be had beside connections that are ending; not to be shared afterwards.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.set_reuse_address(false)?;
    Ok(socket)
}
