//! Reading and decoding on a thread of their own, a few chunks ahead of the archive's reader, so that decompression
//! overlaps with storage. Also what lets a reader of a silent pipe notice that it was asked to stop.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use crate::crew::Stop;

/// Room for what is handed over at once: large against the hand-over's few microseconds, small against memory.
const CHUNK_BYTES: usize = 128 << 10;

/// Chunks decoded ahead at most: up to 8 MiB, some 20 ms of a 400 MB/s decoder, which covers a slow window of calls.
const CHUNKS_MAX: usize = 64;

/// How often a reader that waits looks whether it was asked to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

type Chunk = io::Result<Vec<u8>>;

/// The other thread's bytes.
pub struct ReadAhead {
    chunks: Receiver<Chunk>,
    current: Vec<u8>,
    taken: usize,
    ended: bool,
    stop: Stop,
}

impl ReadAhead {
    /// Reads `source` on a thread of its own until its end, an error, or until the `ReadAhead` is dropped.
    pub fn new(source: Box<dyn Read + Send>, stop: Stop) -> io::Result<ReadAhead> {
        let (to, chunks) = sync_channel(CHUNKS_MAX);
        std::thread::Builder::new().name("readahead".into()).spawn(move || pump(source, &to))?;
        Ok(ReadAhead { chunks, current: Vec::new(), taken: 0, ended: false, stop })
    }

    fn receive(&mut self) -> io::Result<()> {
        while !self.ended {
            if self.stop.is_set() {
                return Err(io::Error::other("reading was stopped"));
            }
            match self.chunks.recv_timeout(LOOK_EVERY) {
                Ok(chunk) => {
                    self.taken = 0;
                    self.current = chunk.inspect_err(|_| self.ended = true)?;
                    self.ended = self.current.is_empty();
                    return Ok(());
                }
                Err(RecvTimeoutError::Timeout) => {}
                // The pump says when it is done, so one that does not has panicked: an archive must not look complete for that.
                Err(RecvTimeoutError::Disconnected) => {
                    self.ended = true;
                    return Err(io::Error::other("reading ended early"));
                }
            }
        }
        Ok(())
    }
}

/// Ends when `source` does, which an empty chunk or the error says, or when `to` has no reader any more.
fn pump(mut source: Box<dyn Read + Send>, to: &SyncSender<Chunk>) {
    loop {
        let chunk = read_chunk(&mut source);
        let is_last = chunk.as_ref().map_or(true, Vec::is_empty);
        // Nobody is left to read when it cannot be sent.
        if to.send(chunk).is_err() || is_last {
            return;
        }
    }
}

/// What one read gives, handed on at once however little: who writes to the pipe may wait for us. Empty at the end.
fn read_chunk(source: &mut Box<dyn Read + Send>) -> Chunk {
    let mut bytes = vec![0; CHUNK_BYTES];
    loop {
        match source.read(&mut bytes) {
            Ok(n) => {
                bytes.truncate(n);
                return Ok(bytes);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

impl Read for ReadAhead {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.current.len() {
            self.current = Vec::new();
            self.taken = 0;
            self.receive()?;
        }
        let rest = &self.current[self.taken..];
        let n = rest.len().min(buf.len());
        buf[..n].copy_from_slice(&rest[..n]);
        self.taken += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its bytes one at a time at first, then all, then fails or ends.
    struct Source {
        bytes: Vec<u8>,
        given: usize,
        fails: bool,
    }

    impl Read for Source {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let rest = &self.bytes[self.given..];
            if rest.is_empty() && self.fails {
                return Err(io::Error::other("bad block"));
            }
            let n = rest.len().min(buf.len()).min(if self.given < 10 { 1 } else { usize::MAX });
            buf[..n].copy_from_slice(&rest[..n]);
            self.given += n;
            Ok(n)
        }
    }

    fn source(len: usize, fails: bool) -> Box<Source> {
        Box::new(Source { bytes: (0..len).map(|i| (i % 251) as u8).collect(), given: 0, fails })
    }

    #[test]
    fn all_bytes_arrive_in_order_and_then_the_error() {
        for len in [0, 5, CHUNK_BYTES, 3 * CHUNK_BYTES * CHUNKS_MAX / 2 + 1] {
            let mut got = Vec::new();
            ReadAhead::new(source(len, false), Stop::default()).unwrap().read_to_end(&mut got).unwrap();
            assert!(got == source(len, false).bytes, "{len}");
            got.clear();
            let error = ReadAhead::new(source(len, true), Stop::default()).unwrap().read_to_end(&mut got).unwrap_err();
            assert_eq!(error.to_string(), "bad block");
            assert_eq!(got.len(), len);
        }
    }

    #[test]
    fn a_decoder_that_panics_is_no_end() {
        struct Panics;
        impl Read for Panics {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                // Without the words that a panic writes.
                std::panic::resume_unwind(Box::new(()))
            }
        }
        let mut ahead = ReadAhead::new(Box::new(Panics), Stop::default()).unwrap();
        assert_eq!(ahead.read(&mut [0; 8]).unwrap_err().to_string(), "reading ended early");
    }

    #[test]
    fn a_reader_of_a_silent_pipe_notices_a_stop() {
        struct Silent(Receiver<()>);
        impl Read for Silent {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                // Until the test is over.
                let _over = self.0.recv();
                Ok(0)
            }
        }
        let (_test, over) = sync_channel(0);
        let stop = Stop::default();
        let mut ahead = ReadAhead::new(Box::new(Silent(over)), stop.clone()).unwrap();
        stop.set();
        assert_eq!(ahead.read(&mut [0; 8]).unwrap_err().to_string(), "reading was stopped");
    }
}
