//! Record marking (RFC 5531 section 11): a byte stream is records, a record is fragments, each behind a four-byte mark
//! (bit 31: the last one; the rest: its length). Memory is bounded by the longest record allowed.

use std::ops::Range;

use thiserror::Error;

const LAST: u32 = 0x8000_0000;
const MARK_BYTES: usize = 4;

/// A record longer than allowed; the stream cannot be followed any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("an RPC record is longer than the {bytes_max} bytes allowed")]
pub struct TooLong {
    /// What was allowed.
    pub bytes_max: usize,
}

/// The mark of a fragment of `len` bytes. Panics at 2 GiB, which no record built here reaches.
pub fn mark(len: usize, last: bool) -> [u8; 4] {
    let len = u32::try_from(len).ok().filter(|len| *len < LAST).expect("a fragment is below 2 GiB");
    (len | if last { LAST } else { 0 }).to_be_bytes()
}

fn parse_mark(bytes: [u8; 4]) -> (usize, bool) {
    let mark = u32::from_be_bytes(bytes);
    ((mark & !LAST) as usize, mark & LAST != 0)
}

/// A record as it was received: what is wanted at its end, a READ's payload, may lie apart in the buffer that is to have it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The record's first bytes, or all of them.
    pub head: Vec<u8>,
    /// The bytes that follow, with their padding; none where they are not apart.
    pub tail: Vec<u8>,
}

impl Received {
    /// The whole record in one piece.
    pub fn joined(self) -> Vec<u8> {
        let Received { mut head, tail } = self;
        head.extend_from_slice(&tail);
        head
    }
}

impl From<Vec<u8>> for Received {
    fn from(head: Vec<u8>) -> Received {
        Received { head, tail: Vec::new() }
    }
}

/// The least that is read at a time, unless a large record's end is nearer.
const ROOM_BYTES: usize = 64 << 10;

/// A receive buffer that a socket reads straight into and in which records are found where they lie: a record is
/// copied once, by the socket, unless it comes in several fragments.
#[derive(Debug)]
pub struct Inbox {
    record_bytes_max: usize,
    buf: Vec<u8>,
    /// The unparsed part of `buf`.
    start: usize,
    end: usize,
    /// Where the current record's joined fragments lie, when there has been a fragment that is not the last.
    joined: Option<Range<usize>>,
}

impl Inbox {
    /// For records of up to `record_bytes_max` bytes; reads `read_bytes` at a time.
    pub fn new(record_bytes_max: usize, read_bytes: usize) -> Inbox {
        Inbox { record_bytes_max, buf: vec![0; read_bytes], start: 0, end: 0, joined: None }
    }

    /// Room for what the socket gives next; never empty. Records taken before are forgotten.
    pub fn space(&mut self) -> &mut [u8] {
        let kept = match &mut self.joined {
            None => 0,
            Some(joined) => {
                self.buf.copy_within(joined.clone(), 0);
                *joined = 0..joined.len();
                joined.end
            }
        };
        if self.start > kept {
            self.buf.copy_within(self.start..self.end, kept);
            self.end -= self.start - kept;
            self.start = kept;
        }
        let body_bytes = self.mark_at(self.start).map_or(0, |(len, _)| len.min(self.record_bytes_max));
        let whole = self.start + MARK_BYTES + body_bytes;
        // At most twice what has come: who announces a record and sends none of it gets no room for it.
        let room = whole.max(self.end + ROOM_BYTES).min((self.end * 2).max(self.end + ROOM_BYTES));
        if whole.max(self.end + 1) > self.buf.len() && room > self.buf.len() {
            self.buf.resize(room, 0);
        }
        // A large record ends the space, so that what follows it need not be moved to the front afterwards.
        let until = if whole > self.end + ROOM_BYTES { whole.min(self.buf.len()) } else { self.buf.len() };
        &mut self.buf[self.end..until]
    }

    /// Says that the socket wrote `count` bytes at the start of the space.
    pub fn filled(&mut self, count: usize) {
        self.end = (self.end + count).min(self.buf.len());
    }

    /// The next whole record, as a range for [`Inbox::bytes`] that is good until the next [`Inbox::space`].
    pub fn next_record(&mut self) -> Result<Option<Range<usize>>, TooLong> {
        loop {
            let Some((len, last)) = self.mark_at(self.start) else { return Ok(None) };
            let before = self.joined.as_ref().map_or(0, Range::len);
            if before + len > self.record_bytes_max {
                return Err(TooLong { bytes_max: self.record_bytes_max });
            }
            let body = self.start + MARK_BYTES..self.start + MARK_BYTES + len;
            if body.end > self.end {
                return Ok(None);
            }
            self.start = body.end;
            let record = match self.joined.take() {
                None => body,
                Some(joined) => {
                    let moved = joined.end..joined.end + body.len();
                    self.buf.copy_within(body, moved.start);
                    joined.start..moved.end
                }
            };
            if last {
                return Ok(Some(record));
            }
            self.joined = Some(record);
        }
    }

    /// The bytes of a record found by [`Inbox::next_record`].
    pub fn bytes(&self, record: Range<usize>) -> &[u8] {
        self.buf.get(record).unwrap_or_default()
    }

    /// Bytes received and not yet part of a record that was taken.
    pub fn pending(&self) -> usize {
        self.end - self.start
    }

    fn mark_at(&self, at: usize) -> Option<(usize, bool)> {
        self.buf[at..self.end].first_chunk().copied().map(parse_mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A stream of records, each in fragments of the given lengths, and the records.
    fn stream(fragments: &[Vec<usize>]) -> (Vec<u8>, Vec<Vec<u8>>) {
        let (mut bytes, mut records) = (Vec::new(), Vec::new());
        for lengths in fragments {
            let mut record = Vec::new();
            for (i, len) in lengths.iter().enumerate() {
                let body: Vec<u8> = (0..*len).map(|k| (k * 31 + records.len()) as u8).collect();
                bytes.extend_from_slice(&mark(*len, i + 1 == lengths.len()));
                bytes.extend_from_slice(&body);
                record.extend(body);
            }
            records.push(record);
        }
        (bytes, records)
    }

    proptest! {
        #[test]
        fn records_come_out_whole_however_they_are_cut(
            fragments in prop::collection::vec(prop::collection::vec(0_usize..40, 1..4), 0..8),
            cuts in prop::collection::vec(1_usize..30, 1..20),
        ) {
            let (bytes, expected) = stream(&fragments);
            let (mut inbox, mut found) = (Inbox::new(200, 16), Vec::new());
            let mut rest = &bytes[..];
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (mut piece, after) = rest.split_at(rest.len().min(*cut));
                while !piece.is_empty() {
                    let space = inbox.space();
                    let count = space.len().min(piece.len());
                    space[..count].copy_from_slice(&piece[..count]);
                    piece = &piece[count..];
                    inbox.filled(count);
                    while let Some(range) = inbox.next_record().unwrap() {
                        found.push(inbox.bytes(range).to_vec());
                    }
                }
                rest = after;
            }
            prop_assert_eq!(&found, &expected);
            prop_assert_eq!(inbox.pending(), 0);
        }

        #[test]
        fn no_stream_makes_a_buffer_beyond_the_limit(bytes in prop::collection::vec(any::<u8>(), 0..4000)) {
            let mut inbox = Inbox::new(1000, 64);
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let space = inbox.space();
                let count = space.len().min(rest.len());
                space[..count].copy_from_slice(&rest[..count]);
                inbox.filled(count);
                rest = &rest[count..];
                if std::iter::from_fn(|| inbox.next_record().transpose()).any(|record| record.is_err()) {
                    break;
                }
                prop_assert!(inbox.buf.len() <= 3000 + ROOM_BYTES);
            }
        }
    }

    #[test]
    fn a_record_of_length_zero_is_a_record() {
        let mut inbox = Inbox::new(10, 64);
        inbox.space()[..4].copy_from_slice(&mark(0, true));
        inbox.filled(4);
        assert_eq!(inbox.next_record(), Ok(Some(4..4)));
        assert_eq!(inbox.next_record(), Ok(None));
    }

    #[test]
    fn who_announces_a_record_and_sends_little_of_it_gets_little_room() {
        let mut inbox = Inbox::new(1 << 20, 64);
        inbox.space()[..4].copy_from_slice(&mark(1 << 20, true));
        inbox.filled(4);
        for _ in 0..100 {
            let space = inbox.space();
            assert!(!space.is_empty());
            space[0] = 0;
            inbox.filled(1);
        }
        assert_eq!(inbox.next_record(), Ok(None));
        assert!(inbox.buf.len() <= 2 * ROOM_BYTES, "{}", inbox.buf.len());
    }

    #[test]
    fn too_long_is_said_at_the_mark() {
        let mut inbox = Inbox::new(10, 64);
        inbox.space()[..4].copy_from_slice(&mark(11, false));
        inbox.filled(4);
        assert_eq!(inbox.next_record(), Err(TooLong { bytes_max: 10 }));
    }
}
