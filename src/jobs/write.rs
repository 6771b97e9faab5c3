//! Putting data into files so that it is safe: one stable WRITE where one is enough, else unstable ones and a COMMIT
//! whose verifier must match, while the data is still at hand to be written again (RFC 1813 3.3.7, 3.3.21).

use crate::base::{Proc, Status};
use crate::storage::{Call, Node, Route, Stable, Unstable};

use super::port::Port;

/// How often data is written again because the server lost it, before it is written stably.
const REWRITES_MAX: usize = 3;

/// Data and its offset in the file.
pub(super) type Chunk<'a> = (u64, &'a [u8]);

/// One chunk on its way into a file.
pub(super) struct Put<'a> {
    node: Node,
    offset: u64,
    data: &'a [u8],
    written: usize,
    unstable: Unstable,
    pub error: Option<Status>,
}

impl<'a> Put<'a> {
    pub fn new(node: &Node, chunk: Chunk<'a>) -> Put<'a> {
        let (offset, data) = chunk;
        Put { node: node.clone(), offset, data, written: 0, unstable: Unstable::default(), error: None }
    }

    /// True when the server did less than the stable write that was asked of it.
    pub fn is_unstable(&self) -> bool {
        !matches!(self.unstable, Unstable::Nothing)
    }

    fn call(&self, stable: Stable) -> Call<'a> {
        Call::write(&self.node, self.offset + self.written as u64, &self.data[self.written..], stable)
    }

    fn is_open(&self) -> bool {
        self.error.is_none() && self.written < self.data.len()
    }

    fn take(&mut self, call: &Call<'_>) {
        match call.written() {
            // A server that takes nothing would have us ask for ever.
            Ok(written) if written.count == 0 => self.error = Some(Status::Io),
            Ok(written) => {
                let count = usize::try_from(written.count).unwrap_or(usize::MAX);
                self.written += count.min(self.data.len() - self.written);
                self.unstable = self.unstable.and(written.into());
            }
            Err(status) => self.error = Some(status),
        }
    }
}

/// Writes all chunks, in windows over files; short writes are continued.
pub(super) fn put_all(port: Port<'_>, route: Route, puts: &mut [Put<'_>], stable: Stable) {
    loop {
        let mut open: Vec<&mut Put<'_>> = puts.iter_mut().filter(|p| p.is_open()).collect();
        if open.is_empty() {
            return;
        }
        let mut calls: Vec<Call<'_>> = open.iter().map(|p| p.call(stable)).collect();
        port.perform(route, &mut calls);
        for (put, call) in open.iter_mut().zip(&calls) {
            put.take(call);
        }
    }
}

/// Writes the chunks of one file and returns when they are safe.
pub(super) fn put_file(port: Port<'_>, route: Route, node: &Node, chunks: &[Chunk<'_>]) -> Result<(), (Proc, Status)> {
    let (Some(first), Some(last)) = (chunks.first(), chunks.last()) else { return Ok(()) };
    let from = first.0;
    // A span that does not fit is committed to the file's end: count 0.
    let count = u32::try_from(last.0 + last.1.len() as u64 - from).unwrap_or(0);
    let mut route = route;
    for attempt in 0..=REWRITES_MAX {
        // What is committed was written there, all of it.
        if port.volume.is_gone(route) {
            route = port.route();
        }
        let stable = if chunks.len() == 1 || attempt == REWRITES_MAX { Stable::FileSync } else { Stable::Unstable };
        let mut unstable = Unstable::Nothing;
        for some in chunks.chunks(port.window) {
            let mut puts: Vec<Put<'_>> = some.iter().map(|&chunk| Put::new(node, chunk)).collect();
            put_all(port, route, &mut puts, stable);
            for put in puts {
                put.error.map_or(Ok(()), |status| Err((Proc::Write, status)))?;
                unstable = unstable.and(put.unstable);
            }
        }
        match unstable {
            Unstable::Nothing => return Ok(()),
            Unstable::Broken => {}
            Unstable::Since(before) => {
                let commit = port.one(route, Call::commit(node, from, count));
                if commit.verifier().map_err(|s| (Proc::Commit, s))? == before {
                    return Ok(());
                }
            }
        }
    }
    // The server restarts faster than data can be written.
    Err((Proc::Commit, Status::Io))
}

/// Cuts `data`, stored in the archive from `at` on, into chunks for a file whose data begins at `segments` (stored start,
/// offset in the file, bytes), or lies as it is stored where there are none.
pub(super) fn chunks<'a>(
    data: &'a [u8],
    at: u64,
    segments: Option<&[(u64, u64, u64)]>,
    write_max: usize,
) -> Vec<Chunk<'a>> {
    let mut chunks = Vec::new();
    let mut cut = |offset: u64, data: &'a [u8]| {
        chunks.extend(data.chunks(write_max).enumerate().map(|(i, d)| (offset + (i * write_max) as u64, d)));
    };
    let Some(segments) = segments else {
        cut(at, data);
        return chunks;
    };
    let end = at + data.len() as u64;
    let first = segments.partition_point(|(start, _, len)| start + len <= at);
    for &(start, offset, len) in segments[first..].iter().take_while(|(start, ..)| *start < end) {
        let (from, to) = (start.max(at), (start + len).min(end));
        // Both lie within `data`.
        cut(offset + (from - start), &data[(from - at) as usize..(to - at) as usize]);
    }
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_data_goes_where_its_segments_are() {
        let segments = [(0, 100, 3), (3, 1000, 5)];
        assert_eq!(chunks(b"abcdefgh", 0, Some(&segments), 4), [(100, &b"abc"[..]), (1000, b"defg"), (1004, b"h")]);
        assert_eq!(chunks(b"cde", 2, Some(&segments), 4), [(102, &b"c"[..]), (1000, b"de")]);
        assert_eq!(chunks(b"gh", 6, Some(&segments), 4), [(1003, &b"gh"[..])]);
        assert_eq!(chunks(b"abcde", 8, None, 4), [(8, &b"abcd"[..]), (12, b"e")]);
        assert!(chunks(b"", 0, None, 4).is_empty());
    }
}
