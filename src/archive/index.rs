//! Where the members of an archive begin, in a form to be kept beside it: a header that says of which archive it is, and one zstd frame
//! of names, each less what it shares with the one before it, and of distances. About 20 bytes a member, and no more memory than one name.
//!
//! A frame ends with a count and a checksum: what is cut or changed is found by reading it once to its end.

use std::io::{self, BufReader, Read, Write};

use crate::base::Time;

/// What every index begins with; the last byte is its version.
const MAGIC: [u8; 16] = *b"parfs-tar-index\x02";
/// Bytes of it that every version has.
const MAGIC_BYTES: usize = 15;
/// The longest name that is kept.
const NAME_BYTES_MAX: usize = 64 << 10;
/// zstd's window at most, as a power of two: what a reader has to hold.
const WINDOW_LOG_MAX: u32 = 23;
const LEVEL: i32 = 3;

/// Which archive an index is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Of {
    /// Its size, bytes.
    pub len: u64,
    /// Its time of modification.
    pub mtime: Time,
    /// Members behind zero blocks are among its members (`-i`).
    pub ignore_zeros: bool,
}

/// Writes an index.
pub struct Writer<W: Write> {
    out: zstd::Encoder<'static, W>,
    last: Vec<u8>,
    offset: u64,
    count: u64,
}

impl<W: Write> Writer<W> {
    /// An index of this archive, into `out`.
    pub fn new(mut out: W, of: Of) -> io::Result<Writer<W>> {
        out.write_all(&MAGIC)?;
        out.write_all(&of.len.to_le_bytes())?;
        out.write_all(&of.mtime.secs.to_le_bytes())?;
        out.write_all(&of.mtime.nanos.to_le_bytes())?;
        out.write_all(&[of.ignore_zeros.into()])?;
        let mut out = zstd::Encoder::new(out, LEVEL)?;
        out.include_checksum(true)?;
        Ok(Writer { out, last: Vec::new(), offset: 0, count: 0 })
    }

    /// The next member; offsets rise.
    pub fn add(&mut self, path: &[u8], offset: u64) -> io::Result<()> {
        let distance = offset.checked_sub(self.offset).filter(|_| path.len() <= NAME_BYTES_MAX);
        let distance = distance.ok_or_else(|| io::Error::other("a member that an index cannot hold"))?;
        let shared = path.iter().zip(&self.last).take_while(|(a, b)| a == b).count();
        // 0 is the end.
        self.number(shared as u64 + 1)?;
        self.number((path.len() - shared) as u64)?;
        self.out.write_all(&path[shared..])?;
        self.number(distance)?;
        self.last.truncate(shared);
        self.last.extend_from_slice(&path[shared..]);
        (self.offset, self.count) = (offset, self.count + 1);
        Ok(())
    }

    /// Ends it; without that it is no index.
    pub fn finish(mut self) -> io::Result<W> {
        self.number(0)?;
        self.number(self.count)?;
        self.out.finish()
    }

    /// Seven bits a byte, the lowest first.
    fn number(&mut self, mut value: u64) -> io::Result<()> {
        while value >= 0x80 {
            self.out.write_all(&[value as u8 | 0x80])?;
            value >>= 7;
        }
        self.out.write_all(&[value as u8])
    }
}

/// True of an index, of whatever version and however damaged.
pub fn is_index(input: &mut impl Read) -> bool {
    let mut first = [0; MAGIC_BYTES];
    input.read_exact(&mut first).is_ok() && first == MAGIC[..MAGIC_BYTES]
}

/// Reads an index: names and offsets, until the end or the first error.
pub struct Reader<R: Read> {
    input: BufReader<zstd::Decoder<'static, BufReader<R>>>,
    of: Of,
    path: Vec<u8>,
    offset: u64,
    count: u64,
    ended: bool,
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl<R: Read> Reader<R> {
    /// Reads the header.
    pub fn new(mut input: R) -> io::Result<Reader<R>> {
        let mut head = [0; 37];
        input.read_exact(&mut head).map_err(|_| invalid("it is no index"))?;
        let (magic, rest) = head.split_at(MAGIC.len());
        if magic[..MAGIC_BYTES] != MAGIC[..MAGIC_BYTES] {
            return Err(invalid("it is no index"));
        }
        if magic != MAGIC {
            return Err(invalid("it is an index of another version"));
        }
        let word = |at: usize| -> [u8; 8] { std::array::from_fn(|i| rest[at + i]) };
        let nanos = u32::from_le_bytes(std::array::from_fn(|i| rest[16 + i]));
        let mtime = Time { secs: i64::from_le_bytes(word(8)), nanos };
        let mut decoder = zstd::Decoder::new(input)?;
        decoder.window_log_max(WINDOW_LOG_MAX)?;
        let of = Of { len: u64::from_le_bytes(word(0)), mtime, ignore_zeros: rest[20] != 0 };
        let input = BufReader::with_capacity(64 << 10, decoder);
        Ok(Reader { input, of, path: Vec::new(), offset: 0, count: 0, ended: false })
    }

    /// Of which archive it is.
    pub fn of(&self) -> Of {
        self.of
    }

    /// Reads all of it; an error where it is not whole.
    pub fn check(mut self) -> io::Result<()> {
        while self.step()? {}
        // The checksum comes behind the last byte.
        let mut rest = [0];
        if self.input.read(&mut rest)? != 0 { Err(invalid("something follows its end")) } else { Ok(()) }
    }

    /// Takes the next member; false at the end.
    fn step(&mut self) -> io::Result<bool> {
        let shared = self.number()?;
        if shared == 0 {
            let count = self.number()?;
            return if count == self.count { Ok(false) } else { Err(invalid("members are missing")) };
        }
        let shared = usize::try_from(shared - 1).unwrap_or(usize::MAX);
        let more = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        if shared > self.path.len() || shared.saturating_add(more) > NAME_BYTES_MAX {
            return Err(invalid("a name is out of bounds"));
        }
        self.path.resize(shared + more, 0);
        self.input.read_exact(&mut self.path[shared..])?;
        let distance = self.number()?;
        self.offset = self.offset.checked_add(distance).ok_or_else(|| invalid("an offset is out of bounds"))?;
        self.count += 1;
        Ok(true)
    }

    fn number(&mut self) -> io::Result<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let mut byte = [0];
            self.input.read_exact(&mut byte)?;
            value |= u64::from(byte[0] & 0x7f) << shift;
            if byte[0] & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(invalid("a number is out of bounds"))
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = io::Result<(Vec<u8>, u64)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        match self.step() {
            Ok(true) => Some(Ok((self.path.clone(), self.offset))),
            Ok(false) => {
                self.ended = true;
                None
            }
            Err(error) => {
                self.ended = true;
                Some(Err(error))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF: Of = Of { len: 1 << 40, mtime: Time { secs: -5, nanos: 7 }, ignore_zeros: true };

    fn sample(count: u64) -> Vec<(Vec<u8>, u64)> {
        (0..count).map(|i| (format!("some/dir-{}/file-{i}", i / 50).into_bytes(), i * i * 512)).collect()
    }

    fn written(members: &[(Vec<u8>, u64)]) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new(), OF).unwrap();
        members.iter().for_each(|(path, offset)| writer.add(path, *offset).unwrap());
        writer.finish().unwrap()
    }

    #[test]
    fn what_is_written_is_read() {
        for count in [0, 1, 10_000] {
            let members = sample(count);
            let bytes = written(&members);
            assert!(bytes.len() as u64 <= 200 + 20 * count, "{} bytes for {count}", bytes.len());
            assert_eq!(Reader::new(&bytes[..]).unwrap().of(), OF);
            Reader::new(&bytes[..]).unwrap().check().unwrap();
            let read: Vec<_> = Reader::new(&bytes[..]).unwrap().map(Result::unwrap).collect();
            assert_eq!(read, members);
        }
        let mut writer = Writer::new(Vec::new(), OF).unwrap();
        writer.add(b"b", 512).unwrap();
        assert!(writer.add(b"a", 0).is_err() && writer.add(&vec![b'x'; NAME_BYTES_MAX + 1], 1024).is_err());
    }

    #[test]
    fn what_is_cut_or_changed_is_found() {
        let members = sample(500);
        let bytes = written(&members);
        for at in 0..bytes.len() {
            let cut = Reader::new(&bytes[..at]).and_then(Reader::check);
            assert!(cut.is_err(), "cut at {at}");
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            let other = Reader::new(&changed[..]).is_ok_and(|reader| reader.of() != OF);
            if !other && Reader::new(&changed[..]).and_then(Reader::check).is_ok() {
                // A bit that nobody reads.
                let read: Vec<_> = Reader::new(&changed[..]).unwrap().map(Result::unwrap).collect();
                assert_eq!(read, members, "changed at {at}");
            }
        }
        let more = [&bytes[..], &[0]].concat();
        assert!(Reader::new(&more[..]).and_then(Reader::check).is_err());
    }
}
