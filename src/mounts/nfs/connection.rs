//! One TCP connection with many calls in flight, matched by xid.
//!
//! Lanes write their windows under a lock, a reader thread hands each reply to the window that waits for it. A connection
//! that breaks gives every call in flight back as lost; the lanes send them again, with the same xids, on a new connection
//! from the same source port where that can be had, so that the server's duplicate request cache knows them.
//! Nothing is ever sent twice on one connection: servers stay silent on such duplicates.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{self, IoSlice, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::base::Status;
use crate::base::hash::mix;
use crate::wire::record::Received;

use super::reader;

/// How long a connect may take. Loopback and cloud networks answer within milliseconds; a lost SYN is sent again after 1 s.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// What came back for one call.
#[derive(Debug)]
pub(super) enum Reply {
    /// Nothing yet.
    Awaited,
    /// The reply's record, and when it had arrived.
    Record(Received, Instant),
    /// The connection broke first; the buffer that was lent for the reply.
    Lost(Vec<u8>),
}

/// The calls that a lane sent together and waits for.
#[derive(Debug)]
pub(super) struct Window {
    state: Mutex<WindowState>,
    complete: Condvar,
}

#[derive(Debug)]
struct WindowState {
    left: usize,
    replies: Vec<Reply>,
}

impl Window {
    pub(super) fn new(calls: usize) -> Arc<Window> {
        let replies = (0..calls).map(|_| Reply::Awaited).collect();
        Arc::new(Window { state: Mutex::new(WindowState { left: calls, replies }), complete: Condvar::new() })
    }

    fn put(&self, slot: usize, reply: Reply) {
        let mut state = lock(&self.state);
        state.replies[slot] = reply;
        state.left -= 1;
        let is_complete = state.left == 0;
        // The lane would wake only to wait for the lock.
        drop(state);
        if is_complete {
            self.complete.notify_one();
        }
    }

    /// Waits until every call has its reply; false when `timeout` passed first.
    pub(super) fn wait(&self, timeout: Duration) -> bool {
        let state = lock(&self.state);
        let (state, _) = self
            .complete
            .wait_timeout_while(state, timeout, |state| state.left > 0)
            .expect("no lane panics while it holds a window");
        state.left == 0
    }

    /// How many calls have no reply yet.
    fn left(&self) -> usize {
        lock(&self.state).left
    }

    /// Takes the replies, in the order of the calls.
    pub(super) fn take(&self) -> Vec<Reply> {
        std::mem::take(&mut lock(&self.state).replies)
    }
}

/// Where a reply goes.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) window: Arc<Window>,
    pub(super) slot: usize,
    /// Receives the record, or only a READ's payload: a READ lends the caller's buffer.
    pub(super) buf: Vec<u8>,
    /// How many bytes a READ asked for; 0 for other calls.
    pub(super) asked: u32,
    pub(super) generation: u64,
    pub(super) sent: Instant,
}

impl Waiting {
    pub(super) fn answer(self, record: Received) {
        self.window.put(self.slot, Reply::Record(record, Instant::now()));
    }

    pub(super) fn lose(self) {
        self.window.put(self.slot, Reply::Lost(self.buf));
    }
}

#[derive(Debug, Default)]
struct InFlight {
    waiting: HashMap<u32, Waiting>,
    /// How many replies have come so far.
    answered: u64,
}

/// How far a connection has got with a window.
pub(super) struct Progress {
    /// How many of the window's calls have no reply yet.
    left: usize,
    /// How many replies have come on the connection, to whomever.
    answered: u64,
    /// Calls that were sent before the window are still to be answered.
    is_queued: bool,
}

impl Progress {
    /// Has the window come nearer to its replies, or what it stands behind?
    pub(super) fn is_beyond(&self, earlier: &Progress) -> bool {
        self.left < earlier.left || earlier.is_queued && self.answered > earlier.answered
    }
}

/// What the lanes and the reader thread share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    in_flight: Mutex<InFlight>,
    /// The newest generation known to be broken.
    broken: AtomicU64,
}

impl Shared {
    /// How many calls wait for their replies.
    pub(super) fn in_flight(&self) -> usize {
        lock(&self.in_flight).waiting.len()
    }

    /// Has the replies to these xids go to their windows.
    pub(super) fn wait(&self, calls: impl Iterator<Item = (u32, Waiting)>) {
        let mut in_flight = lock(&self.in_flight);
        for (xid, call) in calls {
            let earlier = in_flight.waiting.insert(xid, call);
            debug_assert!(earlier.is_none(), "xids are unique while in flight");
        }
    }

    /// Takes the call that `xid` answers; none for one that nobody waits for on this connection: a duplicate, or a call
    /// that was sent again elsewhere, which a reply cut off here must not lose a second time.
    pub(super) fn claim(&self, xid: u32, generation: u64) -> Option<Waiting> {
        let mut in_flight = lock(&self.in_flight);
        match in_flight.waiting.entry(xid) {
            Entry::Occupied(waiting) if waiting.get().generation == generation => {
                let claimed = waiting.remove();
                in_flight.answered += 1;
                Some(claimed)
            }
            _ => None,
        }
    }

    /// How far a window has got that was sent at `sent`.
    fn progress(&self, window: &Window, sent: Instant) -> Progress {
        let in_flight = lock(&self.in_flight);
        let is_queued = in_flight.waiting.values().any(|call| call.sent < sent);
        Progress { left: window.left(), answered: in_flight.answered, is_queued }
    }

    /// Marks a generation as broken and gives its calls back as lost.
    pub(super) fn break_off(&self, generation: u64) {
        self.broken.fetch_max(generation, Ordering::SeqCst);
        let lost: Vec<Waiting> = {
            let waiting = &mut lock(&self.in_flight).waiting;
            let xids: Vec<u32> = waiting.iter().filter(|(_, w)| w.generation <= generation).map(|(x, _)| *x).collect();
            xids.into_iter().filter_map(|xid| waiting.remove(&xid)).collect()
        };
        lost.into_iter().for_each(Waiting::lose);
    }
}

#[derive(Debug, Default)]
struct Writer {
    stream: Option<TcpStream>,
    /// Counts the connections made; the current one's number.
    generation: u64,
    source_port: Option<u16>,
    /// When the last try to connect failed, and how.
    failed: Option<(Instant, io::Error)>,
}

/// The longest that sending a window may take, where a reply's time limit is not longer: some MB at 100 KB/s.
const SEND_MAX: Duration = Duration::from_secs(120);
/// How often a peer that takes no more bytes is looked at again: the connection's lock is held meanwhile.
const SEND_LOOK: Duration = Duration::from_secs(1);

/// What has been sent: on which connection, whether that had to be made, and when.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) generation: u64,
    pub(super) connected: bool,
    pub(super) at: Instant,
}

/// Says of a peer that takes no bytes whether it is waited for in vain: given for how long it has taken none, and when it last took some
/// after a pause.
pub(super) type GivesUp<'a> = &'a dyn Fn(Duration, Option<Instant>) -> bool;

/// One pipelined connection to a target, made anew when it breaks.
#[derive(Debug)]
pub(super) struct Connection {
    peer: SocketAddr,
    privileged: bool,
    record_bytes_max: usize,
    write_timeout: Duration,
    writer: Mutex<Writer>,
    shared: Arc<Shared>,
    /// Payload bytes and calls in flight; what `NfsMount` chooses a connection by.
    pub(super) load: AtomicU64,
    /// It is there, as far as is known without its lock, which a lane may hold for long.
    made: AtomicBool,
    /// There was no descriptor for it when it was tried last.
    lacking: AtomicBool,
}

/// One call to be sent: its xid, its bytes in the window's buffer, and the payload that follows them.
pub(super) struct Outgoing<'a> {
    pub(super) xid: u32,
    pub(super) head: std::ops::Range<usize>,
    pub(super) payload: Option<&'a [u8]>,
    /// The buffer that a READ lends, and how many bytes it asks for.
    pub(super) buf: Vec<u8>,
    pub(super) asked: u32,
}

impl Connection {
    /// A connection to `peer` that is made when first used. `privileged` asks for a source port below 1024.
    pub(super) fn new(
        peer: SocketAddr,
        privileged: bool,
        record_bytes_max: usize,
        write_timeout: Duration,
    ) -> Connection {
        Connection {
            peer,
            privileged,
            record_bytes_max,
            write_timeout,
            writer: Mutex::default(),
            shared: Arc::default(),
            load: AtomicU64::new(0),
            made: AtomicBool::new(false),
            lacking: AtomicBool::new(false),
        }
    }

    /// Is it there?
    pub(super) fn is_made(&self) -> bool {
        self.made.load(Ordering::Relaxed)
    }

    /// Could it not be made for want of descriptors?
    pub(super) fn is_lacking(&self) -> bool {
        self.lacking.load(Ordering::Relaxed)
    }

    /// Sends a window's calls with one system call where the socket takes them; connects first when needed.
    ///
    /// An error means that nothing was sent and the buffers are back in `calls`; once sent, whatever happens shows in the window.
    pub(super) fn send(
        &self,
        window: &Arc<Window>,
        heads: &[u8],
        calls: &mut [Outgoing<'_>],
        gives_up: GivesUp<'_>,
    ) -> io::Result<Sent> {
        let asked = Instant::now();
        let mut writer = lock(&self.writer);
        if writer.stream.is_some() && self.shared.broken.load(Ordering::SeqCst) >= writer.generation {
            self.drop_stream(&mut writer);
        }
        let connected = writer.stream.is_none();
        if connected {
            // Who waited for the lock while another lane tried to connect, or to send, takes that lane's word: at an address that
            // swallows packets, or with a peer that takes none, each try takes seconds, and lanes would take them one after the other.
            if let Some((when, error)) = &writer.failed
                && *when > asked
            {
                return Err(same(error));
            }
            let result = self.connect(&mut writer);
            self.made.store(result.is_ok(), Ordering::Relaxed);
            self.lacking.store(result.as_ref().is_err_and(|error| lacks(error).is_some()), Ordering::Relaxed);
            writer.failed = result.as_ref().err().map(|error| (Instant::now(), same(error)));
            result?;
        }
        let (generation, at) = (writer.generation, Instant::now());
        self.shared.wait(calls.iter_mut().enumerate().map(|(slot, call)| {
            let (buf, asked) = (std::mem::take(&mut call.buf), call.asked);
            (call.xid, Waiting { window: window.clone(), slot, buf, asked, generation, sent: at })
        }));
        let stream = writer.stream.as_ref().expect("connected above");
        let is_broken = || self.shared.broken.load(Ordering::SeqCst) >= generation;
        let ends = |silent: Duration, moved: Option<Instant>| {
            silent >= self.write_timeout || is_broken() || gives_up(silent, moved)
        };
        let written = write_window(stream, heads, calls, SEND_MAX.max(self.write_timeout), &ends);
        if let Err(error) = &written
            && error.kind() == io::ErrorKind::TimedOut
        {
            writer.failed = Some((Instant::now(), same(error)));
        }
        // The reader may have given up between the check above and the insertion; then nobody else would return these calls.
        if written.is_err() || is_broken() {
            self.drop_stream(&mut writer);
            self.shared.break_off(generation);
        }
        Ok(Sent { generation, connected, at })
    }

    /// How far a window has got that was sent on it.
    pub(super) fn progress(&self, window: &Window, sent: &Sent) -> Progress {
        self.shared.progress(window, sent.at)
    }

    /// Ends the connection of that generation, if it is still the current one; its calls come back as lost.
    pub(super) fn kill(&self, generation: u64) {
        // Who is sending on it lets go of the lock then.
        self.shared.break_off(generation);
        let mut writer = lock(&self.writer);
        if writer.generation == generation {
            self.drop_stream(&mut writer);
        }
    }

    fn drop_stream(&self, writer: &mut Writer) {
        self.made.store(false, Ordering::Relaxed);
        if let Some(stream) = writer.stream.take() {
            // Linger 0 ends it with a reset, so that no TIME_WAIT keeps the source port from the next connection.
            let _ = socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO));
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn connect(&self, writer: &mut Writer) -> io::Result<()> {
        let stream = open_stream(self.peer, self.privileged, writer.source_port)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(self.write_timeout.min(SEND_LOOK)))?;
        writer.source_port = Some(stream.local_addr()?.port());
        writer.generation += 1;
        let (generation, shared, record_bytes_max) = (writer.generation, self.shared.clone(), self.record_bytes_max);
        let incoming = stream.try_clone()?;
        let reader = std::thread::Builder::new().name("nfs-reader".into()).stack_size(256 << 10).spawn(move || {
            reader::read_replies(incoming, &shared, generation, record_bytes_max);
            shared.break_off(generation);
        });
        // Of the system's EAGAIN it would not be known that it is about a thread.
        reader.map_err(|_| io::Error::from(io::ErrorKind::QuotaExceeded))?;
        writer.stream = Some(stream);
        Ok(())
    }
}

impl Drop for Connection {
    /// Ends the reader thread; nothing is in flight any more, so nothing can be lost.
    fn drop(&mut self) {
        if let Some(stream) = lock(&self.writer).stream.take() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nothing panics while it holds a connection's lock")
}

/// The same error, for another lane.
fn same(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}

/// What this host does not give for one more connection, which is no word of the target: an open file, of this process or at all, or a
/// thread.
pub(super) fn lacks(error: &io::Error) -> Option<Status> {
    match rustix::io::Errno::from_io_error(error) {
        Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE) => Some(Status::NoDescriptors),
        _ if error.kind() == io::ErrorKind::QuotaExceeded => Some(Status::NoThreads),
        _ => None,
    }
}

/// Writes all, within `limit`, as long as `ends` does not say of a peer that takes nothing that it is over.
fn write_window(
    stream: &TcpStream,
    heads: &[u8],
    calls: &[Outgoing<'_>],
    limit: Duration,
    ends: GivesUp<'_>,
) -> io::Result<()> {
    const PADDING: [u8; 3] = [0; 3];
    let is_heads = calls.iter().all(|c| c.payload.is_none());
    let mut slices = Vec::with_capacity(if is_heads { 1 } else { calls.len() * 3 });
    slices.extend(is_heads.then(|| IoSlice::new(heads)));
    for call in calls.iter().filter(|_| !is_heads) {
        slices.push(IoSlice::new(&heads[call.head.clone()]));
        if let Some(payload) = call.payload {
            slices.push(IoSlice::new(payload));
            slices.push(IoSlice::new(&PADDING[..payload.len().wrapping_neg() % 4]));
        }
    }
    let (mut rest, mut began) = (&mut slices[..], None::<Instant>);
    // Since when it takes nothing, and when it last took something again.
    let (mut silent, mut moved) = (None::<Instant>, None::<Instant>);
    while !rest.is_empty() {
        let asked = Instant::now();
        match (&mut &*stream).write_vectored(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => {
                IoSlice::advance_slices(&mut rest, n);
                moved = silent.take().map(|_| Instant::now()).or(moved);
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            // A socket's time limit comes as EAGAIN.
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                if ends(silent.get_or_insert(asked).elapsed(), moved) {
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
            Err(e) => return Err(e),
        }
        // The connection's lock is held: a peer that takes a little at a time would hold up all who wait for it.
        if !rest.is_empty() && began.get_or_insert_with(Instant::now).elapsed() > limit {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
    Ok(())
}

/// Connects, from `port` where given, else from a privileged port when asked for and allowed.
///
/// Ports 665 to 1023 are used: the ones below hold most well-known services.
pub(super) fn open_stream(peer: SocketAddr, privileged: bool, port: Option<u16>) -> io::Result<TcpStream> {
    if let Some(port) = port
        && let Ok(stream) = connect_from(peer, Some(port))
    {
        return Ok(stream);
    }
    if privileged {
        let start = mix(u64::from(std::process::id()) ^ mix(port_seed()));
        for i in 0..64 {
            let port = 1023 - u16::try_from((start + i * 7) % 359).expect("below 359");
            match connect_from(peer, Some(port)) {
                Ok(stream) => return Ok(stream),
                Err(e) if e.kind() == io::ErrorKind::PermissionDenied => break,
                Err(e) if matches!(e.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable) => {}
                Err(e) => return Err(e),
            }
        }
    }
    connect_from(peer, None)
}

/// Differs for each connection of the process, so that connections do not try the same ports in the same order.
fn port_seed() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn connect_from(peer: SocketAddr, port: Option<u16>) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(peer), Type::STREAM, Some(Protocol::TCP))?;
    if let Some(port) = port {
        // Lets the port of a connection that just broke be used again (RFC 1813 and servers' caches want the same port).
        socket.set_reuse_address(true)?;
        let any: SocketAddr = match peer {
            SocketAddr::V4(_) => (std::net::Ipv4Addr::UNSPECIFIED, port).into(),
            SocketAddr::V6(_) => (std::net::Ipv6Addr::UNSPECIFIED, port).into(),
        };
        socket.bind(&SockAddr::from(any))?;
    }
    socket.connect_timeout(&SockAddr::from(peer), CONNECT_TIMEOUT)?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(window: &Arc<Window>, generation: u64, sent: Instant) -> Waiting {
        Waiting { window: window.clone(), slot: 0, buf: Vec::new(), asked: 0, generation, sent }
    }

    /// What counts is what was sent before it; what comes behind it may be answered for ever and says nothing of it.
    #[test]
    fn a_window_gets_on_with_what_it_stands_behind() {
        let (shared, now) = (Shared::default(), Instant::now());
        let windows: Vec<Arc<Window>> = (0..4).map(|_| Window::new(1)).collect();
        let sent = |i: usize| now + Duration::from_millis(i as u64);
        shared.wait(windows.iter().enumerate().map(|(i, window)| (i as u32, waiting(window, 1, sent(i)))));
        let answer = |xid| shared.claim(xid, 1).expect("it is in flight").answer(vec![1].into());
        let at = || (shared.progress(&windows[1], sent(1)), shared.progress(&windows[2], sent(2)));
        let steps = [at(), (answer(3), at()).1, (answer(0), at()).1, (answer(1), at()).1];
        let got_on: Vec<(bool, bool)> =
            steps.windows(2).map(|two| (two[1].0.is_beyond(&two[0].0), two[1].1.is_beyond(&two[0].1))).collect();
        assert_eq!(got_on, [(true, true), (true, true), (true, true)]);
        let (alone, late) = (shared.progress(&windows[2], sent(2)), Window::new(1));
        shared.wait([(9, waiting(&late, 1, sent(9)))].into_iter());
        answer(9);
        assert!(!shared.progress(&windows[2], sent(2)).is_beyond(&alone), "it is the next in turn");
        answer(2);
        assert!(shared.progress(&windows[2], sent(2)).is_beyond(&alone));
    }

    /// A connection that was given up may still have replies in its socket, the last of them cut off.
    #[test]
    fn a_call_sent_again_is_not_lost_with_its_former_connection() {
        let (shared, window) = (Shared::default(), Window::new(1));
        shared.wait([(7, waiting(&window, 2, Instant::now()))].into_iter());
        assert!(shared.claim(7, 1).is_none());
        shared.break_off(1);
        assert!(!window.wait(Duration::ZERO));
        shared.claim(7, 2).expect("it waits on the second connection").answer(vec![1].into());
        assert!(matches!(&window.take()[..], [Reply::Record(record, _)] if record.head == [1]));
    }

    /// A lane that waited while another one tried to connect does not try on its own.
    #[test]
    fn a_failed_connect_counts_for_all_who_waited_for_it() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let connection = Connection::new(listener.local_addr().unwrap(), false, 1000, Duration::from_secs(1));
        let (window, minute) = (Window::new(0), Duration::from_secs(60));
        let failed = |when| lock(&connection.writer).failed = Some((when, io::ErrorKind::TimedOut.into()));
        failed(Instant::now() + minute);
        let never = |_: Duration, _: Option<Instant>| false;
        assert_eq!(connection.send(&window, &[], &mut [], &never).unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
        failed(Instant::now());
        let sent = connection.send(&window, &[], &mut [], &never).unwrap();
        assert_eq!((sent.generation, sent.connected), (1, true));
        listener.accept().unwrap();
    }
}
