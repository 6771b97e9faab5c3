//! Where an archive's bytes come from, read in chunks so that small members cost few reads.
//!
//! Leaves out opening files: whoever has one wraps it in `ReadAt` or `Read`.

use std::io::{self, Read};
use std::sync::Arc;

/// Bytes that can be read at any offset, by several threads at once.
pub trait ReadAt: Send + Sync {
    /// Reads up to `buf.len()` bytes at `offset`; 0 at or beyond the end.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize>;
    /// How many bytes there are.
    fn len(&self) -> u64;
    /// True if there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(Vec::len(self));
        let n = buf.len().min(Vec::len(self) - from);
        buf[..n].copy_from_slice(&self[from..from + n]);
        Ok(n)
    }

    fn len(&self) -> u64 {
        Vec::len(self) as u64
    }
}

/// An archive's source.
pub enum Input {
    /// A file: members can be skipped by seeking, and lanes can read ranges of it by themselves.
    Seekable(Arc<dyn ReadAt>),
    /// A pipe, or a decompressor.
    Pipe(Box<dyn Read + Send>),
}

impl Input {
    /// The input as a stream from its start.
    pub fn into_reader(self) -> Box<dyn Read + Send> {
        match self {
            Input::Seekable(source) => Box::new(Sequential { source, offset: 0 }),
            Input::Pipe(reader) => reader,
        }
    }
}

/// Reads a seekable source from start to end.
struct Sequential {
    source: Arc<dyn ReadAt>,
    offset: u64,
}

impl Read for Sequential {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read_at(self.offset, buf)?;
        self.offset += n as u64;
        Ok(n)
    }
}

/// Reads into `buf` until it is full or the input ends.
pub(super) fn read_full(reader: &mut dyn Read, buf: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < buf.len() {
        match reader.read(&mut buf[got..]) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(got)
}

/// Bytes of one chunk.
const CHUNK_BYTES: usize = 512 * 1024;
/// Bytes of the first read after a long seek; each further one doubles. A listing of large members reads little more than
/// their headers, a run of small members reads whole chunks.
const FILL_BYTES_MIN: usize = 32 * 1024;
/// A read into a buffer of at least this many bytes goes past the chunk.
const DIRECT_BYTES_MIN: usize = CHUNK_BYTES / 2;

/// The input through a chunk buffer. Knows its place; never reads further than the caller and one chunk need.
pub(super) struct Window {
    input: Input,
    chunk: Vec<u8>,
    /// The unread part of `chunk`.
    unread: std::ops::Range<usize>,
    /// Offset in the input of the next unread byte.
    position: u64,
    fill_bytes: usize,
}

impl Window {
    pub(super) fn new(input: Input) -> Window {
        Window { input, chunk: vec![0; CHUNK_BYTES], unread: 0..0, position: 0, fill_bytes: FILL_BYTES_MIN }
    }

    pub(super) fn position(&self) -> u64 {
        self.position
    }

    pub(super) fn source(&self) -> Option<&Arc<dyn ReadAt>> {
        match &self.input {
            Input::Seekable(source) => Some(source),
            Input::Pipe(_) => None,
        }
    }

    /// Reads up to `buf.len()` bytes, 0 at the end of the input.
    pub(super) fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        if self.unread.is_empty() {
            if buf.len() >= DIRECT_BYTES_MIN {
                let n = read_input(&mut self.input, self.position, buf)?;
                self.position += n as u64;
                return Ok(n);
            }
            self.fill()?;
        }
        let n = buf.len().min(self.unread.len());
        buf[..n].copy_from_slice(&self.chunk[self.unread.start..self.unread.start + n]);
        self.advance(n);
        Ok(n)
    }

    /// Fills `buf`; fewer bytes only at the end of the input.
    pub(super) fn read_full(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let mut got = 0;
        while got < buf.len() {
            match self.read(&mut buf[got..])? {
                0 => break,
                n => got += n,
            }
        }
        Ok(got)
    }

    /// Passes over `count` bytes; fewer only at the end of the input.
    pub(super) fn skip(&mut self, count: u64) -> io::Result<u64> {
        let mut left = count;
        loop {
            let n = usize::try_from(left).unwrap_or(usize::MAX).min(self.unread.len());
            self.advance(n);
            left -= n as u64;
            if left == 0 {
                return Ok(count);
            }
            if let Input::Seekable(source) = &self.input {
                let n = left.min(source.len().saturating_sub(self.position));
                self.position += n;
                // A short step over the chunk's edge is part of a run of small members.
                if n > self.fill_bytes as u64 {
                    self.fill_bytes = FILL_BYTES_MIN;
                }
                return Ok(count - left + n);
            }
            self.fill()?;
            if self.unread.is_empty() {
                return Ok(count - left);
            }
        }
    }

    /// Goes to `position` of a seekable input; a pipe stays where it is.
    pub(super) fn jump(&mut self, position: u64) {
        if self.source().is_none() {
            return;
        }
        match position.checked_sub(self.position).and_then(|n| usize::try_from(n).ok()) {
            Some(n) if n <= self.unread.len() => self.advance(n),
            _ => {
                self.unread = 0..0;
                self.position = position;
                self.fill_bytes = FILL_BYTES_MIN;
            }
        }
    }

    /// Reads a pipe to its end.
    pub(super) fn drain(&mut self) -> io::Result<()> {
        if let Input::Pipe(_) = self.input {
            self.skip(u64::MAX)?;
        }
        Ok(())
    }

    fn advance(&mut self, n: usize) {
        self.unread.start += n;
        self.position += n as u64;
    }

    fn fill(&mut self) -> io::Result<()> {
        let want = self.fill_bytes;
        self.unread = 0..0;
        self.unread.end = read_input(&mut self.input, self.position, &mut self.chunk[..want])?;
        self.fill_bytes = (want * 2).min(CHUNK_BYTES);
        Ok(())
    }
}

fn read_input(input: &mut Input, position: u64, buf: &mut [u8]) -> io::Result<usize> {
    loop {
        let result = match input {
            Input::Seekable(source) => source.read_at(position, buf),
            Input::Pipe(reader) => reader.read(buf),
        };
        match result {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            // A reader that claims more than it was given room for must not move us past the buffer.
            other => return other.map(|n| n.min(buf.len())),
        }
    }
}
