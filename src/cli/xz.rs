//! xz on several cores, by liblzma's own threads: one stream whose blocks say their sizes, which `xz -T0 -d` unpacks on several
//! cores as well. Streams packed piece by piece would not do: liblzma finishes one stream before it begins the next.
//!
//! Memory is bounded by using fewer threads. Leaves out .lzma: its decoder is `Codec::decoder`.

use std::io::{self, BufRead, BufReader, Read, Write};

use liblzma::stream::{Action, Check, MtStreamBuilder, Status, Stream};

use crate::archive::{Codec, FinishWrite, Wrap};

/// Memory that several threads may take together, in bytes; above it there are fewer.
const THREADING_BYTES_MAX: u64 = 2 << 30;
/// Memory that a stream may ask of its decoder in any case; xz -9 asks 65 MiB.
const MEMORY_BYTES_MAX: u64 = 1 << 30;
/// Packed bytes that are handed on at once.
const CHUNK_BYTES: usize = 128 * 1024;
/// What an .xz stream begins with.
const MAGIC: &[u8] = b"\xfd7zXZ\0";

/// Packs a stream.
pub struct Xz {
    /// 0 to 9, as the program's.
    pub level: u32,
    /// Threads at most.
    pub threads: usize,
}

impl Wrap for Xz {
    fn wrap<'w>(self: Box<Self>, out: Box<dyn Write + Send + 'w>) -> io::Result<Box<dyn FinishWrite + 'w>> {
        let mut builder = MtStreamBuilder::new();
        // The program's check. Its blocks of three dictionaries (24 MiB at level 6) make 0.7 % more of the first 120 MB of the
        // Linux source than one block.
        builder.preset(self.level).check(Check::Crc64);
        let mut threads = u32::try_from(self.threads).unwrap_or(1).max(1);
        while threads > 1 && builder.threads(threads).memusage() > THREADING_BYTES_MAX {
            threads -= 1;
        }
        let stream = builder.threads(threads).encoder()?;
        Ok(Box::new(XzWriter { out, stream, packed: Vec::with_capacity(CHUNK_BYTES) }))
    }
}

struct XzWriter<'w> {
    out: Box<dyn Write + Send + 'w>,
    stream: Stream,
    packed: Vec<u8>,
}

impl XzWriter<'_> {
    fn hand_on(&mut self) -> io::Result<()> {
        self.out.write_all(&self.packed)?;
        self.packed.clear();
        Ok(())
    }
}

impl Write for XzWriter<'_> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        loop {
            let before = self.stream.total_in();
            self.stream.process_vec(buf, &mut self.packed, Action::Run)?;
            self.hand_on()?;
            let taken = usize::try_from(self.stream.total_in() - before).unwrap_or(buf.len());
            if taken > 0 || buf.is_empty() {
                return Ok(taken);
            }
        }
    }

    /// What is packed. A block is not ended for it: only the archive's end ends the last one.
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl FinishWrite for XzWriter<'_> {
    fn finish(mut self: Box<Self>) -> io::Result<()> {
        loop {
            let status = self.stream.process_vec(&[], &mut self.packed, Action::Finish)?;
            self.hand_on()?;
            if status == Status::StreamEnd {
                return self.out.flush();
            }
        }
    }
}

/// Unpacks streams one after the other, the blocks of each on several threads.
pub struct XzReader {
    input: BufReader<Box<dyn Read + Send>>,
    threads: u32,
    /// `None` behind a stream.
    stream: Option<Stream>,
}

impl XzReader {
    /// Reads `input`, which is .xz or .lzma.
    pub fn open(mut input: BufReader<Box<dyn Read + Send>>, threads: usize) -> io::Result<Box<dyn Read + Send>> {
        let is_xz = input.fill_buf()?.first() == MAGIC.first();
        if !is_xz {
            return Codec::Xz.decoder(Box::new(input));
        }
        let threads = u32::try_from(threads).unwrap_or(1).max(1);
        let mut reader = XzReader { input, threads, stream: None };
        reader.begin()?;
        Ok(Box::new(reader))
    }

    fn begin(&mut self) -> io::Result<()> {
        let mut builder = MtStreamBuilder::new();
        builder.threads(self.threads).memlimit_threading(THREADING_BYTES_MAX).memlimit_stop(MEMORY_BYTES_MAX);
        self.stream = Some(builder.decoder()?);
        Ok(())
    }

    /// Passes over padding, which is zeros in groups of four; false at the end of the input.
    fn has_next_stream(&mut self) -> io::Result<bool> {
        let mut zeros = 0;
        loop {
            let input = self.input.fill_buf()?;
            let here = input.iter().take_while(|byte| **byte == 0).count();
            let (is_end, is_more) = (input.is_empty(), here < input.len());
            self.input.consume(here);
            zeros = (zeros + here) % 4;
            if (is_end || is_more) && zeros != 0 {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "xz streams are padded by other than groups of 4",
                ));
            }
            if is_end || is_more {
                return Ok(is_more);
            }
        }
    }
}

impl Read for XzReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        loop {
            let Some(stream) = &mut self.stream else {
                if !self.has_next_stream()? {
                    return Ok(0);
                }
                self.begin()?;
                continue;
            };
            let input = self.input.fill_buf()?;
            let action = if input.is_empty() { Action::Finish } else { Action::Run };
            let before = (stream.total_in(), stream.total_out());
            let status = stream.process(input, buf, action);
            let taken = usize::try_from(stream.total_in() - before.0).unwrap_or(input.len());
            let given = usize::try_from(stream.total_out() - before.1).unwrap_or(buf.len());
            self.input.consume(taken);
            match status? {
                Status::StreamEnd => self.stream = None,
                // Said only when a second try has got no further, so the input has ended too early.
                Status::MemNeeded if given == 0 && action_is_last(action) => {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                _ => {}
            }
            if given > 0 {
                return Ok(given);
            }
        }
    }
}

fn action_is_last(action: Action) -> bool {
    matches!(action, Action::Finish)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compressible, and different everywhere.
    fn sample(len: usize) -> Vec<u8> {
        (0..len as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 29) as u8 ^ (i >> 12) as u8).collect()
    }

    fn packed(bytes: &[u8], threads: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let mut writer = Box::new(Xz { level: 0, threads }).wrap(Box::new(&mut out)).unwrap();
        writer.write_all(bytes).unwrap();
        writer.finish().unwrap();
        out
    }

    fn unpacked(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let input: Box<dyn Read + Send> = Box::new(io::Cursor::new(bytes.to_vec()));
        let mut out = Vec::new();
        XzReader::open(BufReader::with_capacity(1000, input), 3)?.read_to_end(&mut out).map(|_| out)
    }

    #[test]
    fn round_trips_in_several_blocks() {
        // Level 0 has blocks of 1 MiB.
        for len in [0, 1, 1 << 20, (3 << 20) + 17] {
            let bytes = sample(len);
            let one = packed(&bytes, 1);
            assert!(one == packed(&bytes, 3), "{len}: threads change the bytes");
            assert!(unpacked(&one).unwrap() == bytes, "{len}");
        }
    }

    #[test]
    fn streams_and_padding_follow_each_other() {
        let (a, b) = (sample(5000), sample(70));
        let bytes = [packed(&a, 1), vec![0; 8], packed(b"", 1), packed(&b, 1), vec![0; 4]].concat();
        assert!(unpacked(&bytes).unwrap() == [a, b].concat());
        for tail in [&b"\0\0\0"[..], b"garbage!", b"\0\0\0\0abcd"] {
            assert!(unpacked(&[&bytes[..], tail].concat()).is_err(), "{tail:?}");
        }
    }

    #[test]
    fn what_is_cut_or_flipped_is_an_error() {
        let bytes = sample(3000);
        let whole = packed(&bytes, 1);
        for cut in 6..whole.len() {
            assert_eq!(unpacked(&whole[..cut]).unwrap_err().kind(), io::ErrorKind::UnexpectedEof, "cut at {cut}");
        }
        for at in 0..whole.len() {
            let mut bad = whole.clone();
            bad[at] ^= 1 << (at % 8);
            assert!(unpacked(&bad).is_err(), "flipped at {at}");
        }
    }

    #[test]
    fn dropped_without_its_end_nothing_more_is_written() {
        let mut out = Vec::new();
        let mut writer = Box::new(Xz { level: 0, threads: 2 }).wrap(Box::new(&mut out)).unwrap();
        writer.write_all(&sample(100)).unwrap();
        drop(writer);
        assert!(unpacked(&out).is_err());
    }
}
