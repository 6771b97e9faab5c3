//! The replies of one connection, each sent when it is due: a thread that sleeps until the next one and sends all that
//! are due in one call.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::io::{self, IoSlice, Write};
use std::net::TcpStream;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::wire::record::mark;
use crate::wire::xdr::padding;

/// Replies that may wait on one connection before no more requests are read from it.
const REPLIES_MAX: usize = 1024;
/// The same in bytes.
const REPLY_BYTES_MAX: usize = 64 << 20;
/// READ buffers kept for reuse by one connection.
const BUFFERS_MAX: usize = 16;
/// Slices that one writev takes (IOV_MAX is 1024; three for each reply).
const REPLIES_AT_ONCE_MAX: usize = 256;
/// Replies due within this time of one another are sent together: far below any latency worth simulating.
const TOGETHER: Duration = Duration::from_micros(20);
/// Replies that a busy target kept waiting may go earlier by an eighth of that wait, up to this, with one that is due. The
/// target's rate stays what it is, as it is kept by the clock that booked them; but a wake-up for each reply cost 33 us of CPU
/// per CREATE at 12,500/s over one connection, where the work itself costs 7.
const EARLY_MAX: Duration = Duration::from_micros(500);
const EARLY_SHARE: u32 = 8;

/// A reply that is to be sent.
#[derive(Debug)]
pub(super) struct Reply {
    pub due: Instant,
    /// How long the target was busy with other requests before this one, its own service included.
    pub queued: Duration,
    /// The record up to its payload, its mark included.
    pub head: Vec<u8>,
    /// READ's data; padded when it is sent.
    pub payload: Vec<u8>,
    /// Sent in pieces.
    pub split: bool,
}

impl Reply {
    /// When it may go at the earliest, together with one that is due.
    fn earliest(&self) -> Instant {
        self.due - TOGETHER.max((self.queued / EARLY_SHARE).min(EARLY_MAX))
    }

    fn bytes(&self) -> usize {
        self.head.len() + self.payload.len()
    }
}

/// A reply in the heap: the earliest first, and among equals the first that came.
struct Waiting(Reply, u64);

impl Ord for Waiting {
    fn cmp(&self, other: &Waiting) -> Ordering {
        (other.0.due, other.1).cmp(&(self.0.due, self.1))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Waiting) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Waiting {}

#[derive(Default)]
struct State {
    heap: BinaryHeap<Waiting>,
    /// Replies and bytes that wait or are being sent.
    replies: usize,
    bytes: usize,
    pushed: u64,
    /// No more replies will come: send what is there, and end.
    ended: bool,
    /// Send nothing any more.
    aborted: bool,
    /// READ buffers to be used again.
    buffers: Vec<Vec<u8>>,
}

/// The replies of one connection.
#[derive(Default)]
pub(super) struct Outbox {
    state: Mutex<State>,
    /// Something is due earlier than before, or the end has come.
    changed: Condvar,
    /// There is room for more.
    room: Condvar,
}

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes replies, then waits until there is room for more. False when nothing is sent any more.
    pub(super) fn push(&self, replies: impl IntoIterator<Item = Reply>) -> bool {
        let mut state = self.lock();
        let before = state.heap.peek().map(|waiting| waiting.0.due);
        for reply in replies {
            state.replies += 1;
            state.bytes += reply.bytes();
            state.pushed += 1;
            let number = state.pushed;
            state.heap.push(Waiting(reply, number));
        }
        let after = state.heap.peek().map(|waiting| waiting.0.due);
        if after.is_some_and(|after| before.is_none_or(|before| after < before)) {
            drop(state);
            self.changed.notify_one();
            state = self.lock();
        }
        while (state.replies >= REPLIES_MAX || state.bytes >= REPLY_BYTES_MAX) && !state.aborted {
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.aborted
    }

    /// A buffer for READ, with the capacity of an earlier one where there is one.
    pub(super) fn buffer(&self) -> Vec<u8> {
        self.lock().buffers.pop().unwrap_or_default()
    }

    /// Says that no more replies will come.
    pub(super) fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_one();
    }

    /// Sends nothing any more.
    pub(super) fn abort(&self) {
        self.lock().aborted = true;
        self.changed.notify_all();
        self.room.notify_all();
    }

    pub(super) fn is_aborted(&self) -> bool {
        self.lock().aborted
    }

    /// Waits for the replies that are due next; none at the end.
    fn next_due(&self, due: &mut Vec<Reply>) -> bool {
        let mut state = self.lock();
        loop {
            let Some(first) = state.heap.peek().map(|waiting| waiting.0.due) else {
                if state.ended || state.aborted {
                    return false;
                }
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            if state.aborted {
                return false;
            }
            let now = Instant::now();
            if first > now {
                let waited = self.changed.wait_timeout(state, first - now);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
                continue;
            }
            while due.len() < REPLIES_AT_ONCE_MAX
                && state.heap.peek().is_some_and(|waiting| waiting.0.earliest() <= now)
            {
                due.extend(state.heap.pop().map(|waiting| waiting.0));
            }
            return true;
        }
    }

    /// Gives back the room of replies that were sent.
    fn sent(&self, due: &mut Vec<Reply>) {
        let mut state = self.lock();
        state.replies -= due.len();
        state.bytes -= due.iter().map(Reply::bytes).sum::<usize>();
        for reply in due.drain(..) {
            if reply.payload.capacity() > 0 && state.buffers.len() < BUFFERS_MAX {
                state.buffers.push(reply.payload);
            }
        }
        drop(state);
        self.room.notify_one();
    }

    /// Sends replies when they are due, until the end. On an error nothing is sent any more.
    pub(super) fn send_all(&self, stream: &TcpStream) -> io::Result<()> {
        let mut due = Vec::new();
        while self.next_due(&mut due) {
            let result = self.send(&due, stream);
            if let Err(error) = result {
                self.abort();
                return Err(error);
            }
            self.sent(&mut due);
        }
        Ok(())
    }

    fn send(&self, due: &[Reply], stream: &TcpStream) -> io::Result<()> {
        for group in due.chunk_by(|a, b| !a.split && !b.split) {
            if let [Reply { split: true, .. }] = group {
                for piece in in_pieces(&group[0]) {
                    self.write_all(stream, &mut [IoSlice::new(&piece)])?;
                }
                continue;
            }
            let mut slices = Vec::with_capacity(3 * group.len());
            for reply in group {
                slices.push(IoSlice::new(&reply.head));
                if !reply.payload.is_empty() {
                    slices.push(IoSlice::new(&reply.payload));
                    slices.push(IoSlice::new(&[0; 3][..padding(reply.payload.len())]));
                }
            }
            self.write_all(stream, &mut slices)?;
        }
        Ok(())
    }

    /// Writes everything; gives up when aborted, which a write that times out looks for.
    fn write_all(&self, mut stream: &TcpStream, mut slices: &mut [IoSlice<'_>]) -> io::Result<()> {
        IoSlice::advance_slices(&mut slices, 0);
        while !slices.is_empty() {
            match stream.write_vectored(slices) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => IoSlice::advance_slices(&mut slices, count),
                Err(error) => match error.kind() {
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut if !self.is_aborted() => {}
                    _ => return Err(error),
                },
            }
        }
        Ok(())
    }
}

/// A reply as several fragments, cut into pieces that do not keep to the fragments: within a mark, within a word.
fn in_pieces(reply: &Reply) -> Vec<Vec<u8>> {
    let mut record = reply.head[4..].to_vec();
    record.extend_from_slice(&reply.payload);
    record.extend_from_slice(&[0; 3][..padding(reply.payload.len())]);
    let mut bytes = Vec::new();
    let mut rest = &record[..];
    for len in [3, 10, record.len() / 2] {
        // Never an empty fragment: legal, but libnfs 4.0 waits for ever for the bytes of one.
        let Some((fragment, after)) = rest.split_at_checked(len).filter(|(a, b)| !a.is_empty() && !b.is_empty()) else {
            continue;
        };
        bytes.extend_from_slice(&mark(fragment.len(), false));
        bytes.extend_from_slice(fragment);
        rest = after;
    }
    bytes.extend_from_slice(&mark(rest.len(), true));
    bytes.extend_from_slice(rest);
    let mut pieces = Vec::new();
    let mut rest = &bytes[..];
    for len in [2, 4, 7, 9, bytes.len() / 3, bytes.len()] {
        let (piece, after) = rest.split_at(rest.len().min(len));
        pieces.push(piece.to_vec());
        rest = after;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::record::Inbox;

    fn reply(due: Instant, len: usize) -> Reply {
        let mut head = mark(len, true).to_vec();
        head.extend((0..len).map(|i| i as u8));
        Reply { due, queued: Duration::ZERO, head, payload: Vec::new(), split: true }
    }

    #[test]
    fn a_reply_in_pieces_is_the_same_reply() {
        for len in [0, 1, 12, 13, 24, 1000] {
            let whole = reply(Instant::now(), len);
            let pieces = in_pieces(&whole).concat();
            let mut inbox = Inbox::new(1000, 2000);
            inbox.space()[..pieces.len()].copy_from_slice(&pieces);
            inbox.filled(pieces.len());
            let record = inbox.next_record().unwrap().unwrap();
            assert_eq!(inbox.bytes(record), &whole.head[4..]);
            assert_eq!(inbox.next_record(), Ok(None));
        }
    }

    #[test]
    fn replies_leave_by_their_time_and_only_once_due() {
        let outbox = Outbox::default();
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        assert!(outbox.push([reply(at(9), 3), reply(at(3), 1), reply(at(6), 2), reply(at(3), 4)]));
        outbox.end();
        let (mut order, mut due) = (Vec::new(), Vec::new());
        while outbox.next_due(&mut due) {
            assert!(due.iter().all(|reply| reply.due <= Instant::now() + TOGETHER));
            order.extend(due.iter().map(|reply| reply.head.len() - 4));
            outbox.sent(&mut due);
        }
        assert_eq!(order, [1, 4, 2, 3]);
    }
}
