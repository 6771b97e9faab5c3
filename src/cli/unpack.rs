//! A compressed archive's bytes, unpacked on several cores and handed on in order, some way ahead of the reader.
//!
//! One thread reads and cuts units (`archive::split`), workers unpack them, the reader takes their chunks in the units' order. What
//! cannot be cut is unpacked by one thread, ahead of the reader as well. Memory: each worker holds one unit (33 MiB at most, and
//! never more than arrived) and at most `CHUNKS_MAX` chunks of it, however much it would unpack to; `WAITING_MAX` units more
//! wait. An error comes behind all before it.
//!
//! Leaves out a gzip member of unknown size, which is one thread's work: decoders that begin anywhere in it by guessing need an input
//! that can be read anywhere and more processor time, while the other cores have the extraction to do.

use std::io::{self, BufReader, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::archive::Codec;
use crate::archive::split::{Cut, Splitter, Unit};
use crate::crew::Stop;

use super::readahead::ReadAhead;
use super::xz::XzReader;

/// Workers at most: enough for 1 GB/s and more of what gzip unpacks to.
const WORKERS_MAX: usize = 16;

/// Units that wait for a worker at most.
const WAITING_MAX: usize = 4;

/// Chunks (of 128 KiB) of a unit that wait for the reader at most: 8 MiB, the largest piece at usual levels.
const CHUNKS_MAX: usize = 64;

/// How often a reader that waits looks whether it was asked to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Buffer around the compressed input, in bytes.
const INPUT_BYTES: usize = 256 * 1024;

/// Threads that a job of computing gets: one for each core that this process may use, up to a bound.
pub fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get()).min(WORKERS_MAX)
}

/// A reader of what `input` contains: unpacked ahead by up to `workers` threads, until its end, an error, or until it is dropped.
pub fn reader(
    codec: Codec,
    input: Box<dyn Read + Send>,
    workers: usize,
    stop: &Stop,
) -> io::Result<Box<dyn Read + Send>> {
    match codec {
        Codec::Plain => Ok(input),
        Codec::Xz => {
            let input = BufReader::with_capacity(INPUT_BYTES, input);
            Ok(Box::new(ReadAhead::new(XzReader::open(input, workers)?, stop.clone())?))
        }
        Codec::Gzip | Codec::Zstd | Codec::Bzip2 | Codec::Lz4 => {
            Ok(Box::new(Unpacked::new(codec, input, workers, stop)?))
        }
    }
}

/// A chunk; empty at the unit's end.
type Chunk = io::Result<Vec<u8>>;

/// What the reader takes next.
enum Part {
    Unit(Receiver<Chunk>),
    /// What could not be cut.
    Rest(Box<dyn Read + Send>),
    Failed(io::Error),
    End,
}

/// A unit and where its chunks go.
type Task = (Unit, SyncSender<Chunk>);

enum Current {
    Nothing,
    Unit(Receiver<Chunk>),
    Rest(ReadAhead),
    Ended,
}

/// The reader's side.
struct Unpacked {
    codec: Codec,
    parts: Receiver<Part>,
    current: Current,
    chunk: Vec<u8>,
    taken: usize,
    stop: Stop,
}

impl Unpacked {
    fn new(codec: Codec, input: Box<dyn Read + Send>, workers: usize, stop: &Stop) -> io::Result<Unpacked> {
        let workers = workers.max(1);
        let (to_reader, parts) = sync_channel(workers + WAITING_MAX);
        let splitter = Splitter::new(codec, input);
        std::thread::Builder::new()
            .name("unpack-cut".into())
            .spawn(move || cut(codec, splitter, workers, &to_reader))?;
        let stop = stop.clone();
        Ok(Unpacked { codec, parts, current: Current::Nothing, chunk: Vec::new(), taken: 0, stop })
    }

    /// Waits for what `from` has next; `None` when its other side is gone.
    fn wait<T>(&self, from: &Receiver<T>) -> io::Result<Option<T>> {
        loop {
            if self.stop.is_set() {
                return Err(io::Error::other("reading was stopped"));
            }
            match from.recv_timeout(LOOK_EVERY) {
                Ok(value) => return Ok(Some(value)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
            }
        }
    }

    /// The next chunk of the current unit, `None` at its end.
    fn next_chunk(&mut self, unit: &Receiver<Chunk>) -> io::Result<Option<Vec<u8>>> {
        // A worker says when it is done, so one that does not has panicked.
        let lost = || Err(io::Error::other("unpacking ended early"));
        let chunk = self.wait(unit)?.unwrap_or_else(lost)?;
        Ok(Some(chunk).filter(|chunk| !chunk.is_empty()))
    }

    fn next_part(&mut self) -> io::Result<Current> {
        match self.wait(&self.parts)? {
            Some(Part::Unit(chunks)) => Ok(Current::Unit(chunks)),
            Some(Part::Rest(rest)) => Ok(Current::Rest(ReadAhead::new(self.codec.decoder(rest)?, self.stop.clone())?)),
            Some(Part::Failed(error)) => Err(error),
            Some(Part::End) => Ok(Current::Ended),
            None => Err(io::Error::other("unpacking ended early")),
        }
    }
}

impl Read for Unpacked {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        while self.taken == self.chunk.len() {
            // Whatever fails is left behind as the end.
            match std::mem::replace(&mut self.current, Current::Ended) {
                Current::Ended => return Ok(0),
                Current::Nothing => self.current = self.next_part()?,
                Current::Rest(mut rest) => {
                    let got = rest.read(buf)?;
                    self.current = Current::Rest(rest);
                    return Ok(got);
                }
                Current::Unit(chunks) => {
                    let next = self.next_chunk(&chunks)?;
                    self.current = if next.is_some() { Current::Unit(chunks) } else { Current::Nothing };
                    self.chunk = next.unwrap_or_default();
                    self.taken = 0;
                }
            }
        }
        let n = buf.len().min(self.chunk.len() - self.taken);
        buf[..n].copy_from_slice(&self.chunk[self.taken..self.taken + n]);
        self.taken += n;
        Ok(n)
    }
}

/// Cuts units until the end, an error, the rest, or until nobody reads any more; starts a worker for each of the first units.
fn cut(codec: Codec, mut splitter: Splitter, workers: usize, to_reader: &SyncSender<Part>) {
    let (to_workers, tasks) = sync_channel::<Task>(workers.min(WAITING_MAX));
    let tasks = Arc::new(Mutex::new(tasks));
    let mut started = 0;
    // Nobody is left to hear of it when a part cannot be sent.
    loop {
        let part = match splitter.cut() {
            Ok(Cut::Unit(unit)) => {
                if started < workers {
                    let tasks = tasks.clone();
                    let worker = std::thread::Builder::new().name("unpack".into());
                    match worker.spawn(move || work(codec, &tasks)) {
                        Ok(_) => started += 1,
                        // Those that are there do.
                        Err(_) if started > 0 => {}
                        Err(error) => {
                            let _gone = to_reader.send(Part::Failed(error));
                            return;
                        }
                    }
                }
                let (to, chunks) = sync_channel(CHUNKS_MAX);
                if to_reader.send(Part::Unit(chunks)).is_err() || to_workers.send((unit, to)).is_err() {
                    return;
                }
                continue;
            }
            Ok(Cut::Rest) => Part::Rest(splitter.into_rest()),
            Ok(Cut::End) => Part::End,
            Err(error) => Part::Failed(error),
        };
        let _gone = to_reader.send(part);
        return;
    }
}

/// Unpacks units until there are none. One whose reader is gone is left at its next chunk.
fn work(codec: Codec, tasks: &Mutex<Receiver<Task>>) {
    loop {
        let task = tasks.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((unit, to)) = task else { return };
        let result = unit.unpack(codec, &mut |chunk| to.send(Ok(chunk)).is_ok());
        let _gone = to.send(result.map(|()| Vec::new()));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    const IN_PIECES: [Codec; 4] = [Codec::Gzip, Codec::Zstd, Codec::Bzip2, Codec::Lz4];

    fn piece(seed: usize, len: usize) -> Vec<u8> {
        (0..len).map(|i| if i % 3 == 0 { (i.wrapping_mul(seed + 7) >> 9) as u8 } else { seed as u8 }).collect()
    }

    fn packed(codec: Codec, piece: &[u8]) -> Vec<u8> {
        codec.pack(1).unwrap().pack(piece).unwrap()
    }

    /// What comes before the end or the error.
    fn unpacked(codec: Codec, bytes: &[u8], workers: usize) -> (Vec<u8>, io::Result<()>) {
        let mut out = Vec::new();
        let input = Box::new(Cursor::new(bytes.to_vec()));
        let result = reader(codec, input, workers, &Stop::default()).and_then(|mut r| r.read_to_end(&mut out));
        (out, result.map(drop))
    }

    #[test]
    fn units_come_in_order_from_any_number_of_workers() {
        for codec in IN_PIECES {
            // Units below and above what waits for the reader at most.
            let lens = (0..30).map(|i| if i == 7 { (CHUNKS_MAX + 3) << 17 } else { i * 1000 });
            let pieces: Vec<Vec<u8>> = lens.enumerate().map(|(i, len)| piece(i, len)).collect();
            let bytes: Vec<u8> = pieces.iter().flat_map(|piece| packed(codec, piece)).collect();
            for workers in [1, 2, 16] {
                let (out, result) = unpacked(codec, &bytes, workers);
                result.unwrap();
                assert!(out == pieces.concat(), "{codec:?} with {workers} workers");
            }
        }
    }

    #[test]
    fn an_error_comes_behind_the_units_before_it_and_ends_all() {
        for codec in IN_PIECES {
            let pieces: Vec<Vec<u8>> = (0..8).map(|i| piece(i, 400_000)).collect();
            let mut each: Vec<Vec<u8>> = pieces.iter().map(|piece| packed(codec, piece)).collect();
            // The trailer's checksum of all codecs is within the last bytes.
            let bad = each[5].len() - 6;
            each[5][bad] ^= 0x40;
            let bytes = each.concat();
            let (out, result) = unpacked(codec, &bytes, 3);
            assert!(result.is_err(), "{codec:?}");
            assert!(out.starts_with(&pieces[..5].concat()) && pieces.concat().starts_with(&out), "{codec:?}");
            let mut reader = reader(codec, Box::new(Cursor::new(bytes)), 3, &Stop::default()).unwrap();
            assert!(reader.read_to_end(&mut Vec::new()).is_err());
            assert_eq!(reader.read(&mut [0; 8]).unwrap(), 0, "{codec:?}: more behind the error");
        }
    }

    #[test]
    fn an_unreadable_input_is_an_error() {
        struct Bad;
        impl Read for Bad {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("bad block"))
            }
        }
        for codec in IN_PIECES {
            let input = Box::new(Cursor::new(packed(codec, &piece(1, 5000))).chain(Bad));
            let mut reader = reader(codec, input, 2, &Stop::default()).unwrap();
            let error = reader.read_to_end(&mut Vec::new()).unwrap_err().to_string();
            assert_eq!(error, "bad block", "{codec:?}");
        }
    }

    #[test]
    fn a_stop_and_a_drop_end_it_while_units_wait() {
        let bytes = packed(Codec::Gzip, &piece(1, 300_000)).repeat(100);
        let stop = Stop::default();
        let mut first = reader(Codec::Gzip, Box::new(Cursor::new(bytes.clone())), 2, &stop).unwrap();
        first.read_exact(&mut [0; 1000]).unwrap();
        stop.set();
        let error = first.read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "reading was stopped");

        /// Tells when the cutting thread has let go of it.
        struct Told(Cursor<Vec<u8>>, #[allow(dead_code)] SyncSender<()>);
        impl Read for Told {
            fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
                self.0.read(buf)
            }
        }
        let (alive, gone) = sync_channel(0);
        let input = Told(Cursor::new(bytes), alive);
        let mut second = reader(Codec::Gzip, Box::new(input), 2, &Stop::default()).unwrap();
        second.read_exact(&mut [0; 1000]).unwrap();
        drop(second);
        assert!(gone.recv().is_err());
    }
}
