//! Compressed archives: which compression, and its decoder.
//!
//! Detection is by content, never by a name. Every decoder reads concatenated streams and makes a truncated one an error.
//! Leaves out compress, lzip and lzop, which are recognised and refused, and zstd windows above 128 MiB.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use super::header::{BLOCK_BYTES, checksum_matches};
use super::input::{Input, read_full};

/// How an archive is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // their names say it
pub enum Codec {
    Plain,
    Gzip,
    Zstd,
    /// .xz, and .lzma alone.
    Xz,
    Bzip2,
    Lz4,
}

/// Buffer around the compressed input, in bytes.
const INPUT_BYTES: usize = 256 * 1024;
/// Memory an xz stream may ask of its decoder, in bytes; xz -9 asks 65 MiB.
const XZ_MEMORY_BYTES_MAX: u64 = 1 << 30;

pub(super) const GZIP: &[u8; 2] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
const BZIP2: &[u8] = b"BZh";
const XZ: &[u8] = b"\xfd7zXZ\0";
pub(super) const LZ4: &[u8] = b"\x04\x22\x4d\x18";

/// The suffixes that GNU tar knows (its suffix.c), and those of lz4; the error is what would have to compress it.
const SUFFIXES: [(&[u8], Result<Codec, &str>); 22] = [
    (b"gz", Ok(Codec::Gzip)),
    (b"z", Ok(Codec::Gzip)),
    (b"tgz", Ok(Codec::Gzip)),
    (b"taz", Ok(Codec::Gzip)),
    (b"bz2", Ok(Codec::Bzip2)),
    (b"tbz", Ok(Codec::Bzip2)),
    (b"tbz2", Ok(Codec::Bzip2)),
    (b"tz2", Ok(Codec::Bzip2)),
    (b"xz", Ok(Codec::Xz)),
    (b"txz", Ok(Codec::Xz)),
    (b"zst", Ok(Codec::Zstd)),
    (b"tzst", Ok(Codec::Zstd)),
    (b"lz4", Ok(Codec::Lz4)),
    (b"tlz4", Ok(Codec::Lz4)),
    (b"Z", Err("compress")),
    (b"taZ", Err("compress")),
    (b"lz", Err("lzip")),
    (b"lzma", Err("lzma")),
    (b"tlz", Err("lzma")),
    (b"lzo", Err("lzop")),
    (b"tzo", Err("lzop")),
    (b"tar", Ok(Codec::Plain)),
];

/// Compressions that are known and not supported.
const REFUSED: [(&[u8], &str); 3] = [(b"\x1f\x9d", "compress"), (b"LZIP", "lzip"), (b"\x89LZO", "lzop")];

impl Codec {
    /// The codec of a stream that begins with `first`; 512 bytes are enough. What is no known compression, and what is a
    /// valid tar header, is `Plain`.
    pub fn detect(first: &[u8]) -> Codec {
        if is_header(first) {
            return Codec::Plain;
        }
        match first {
            _ if first.starts_with(GZIP) => Codec::Gzip,
            _ if first.starts_with(ZSTD) || skippable(first).is_some() => Codec::Zstd,
            _ if first.starts_with(XZ) => Codec::Xz,
            _ if first.starts_with(LZ4) => Codec::Lz4,
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Codec::Bzip2,
            // .lzma: usual properties, a dictionary below 4 GiB, and a size that is unknown (all ones) or below 2^40.
            [0x5d, 0, 0, _, _, size @ ..] if size.starts_with(&[0xff; 8]) || size.get(5..8) == Some(&[0; 3]) => {
                Codec::Xz
            }
            _ => Codec::Plain,
        }
    }

    /// The codec that an archive of this name is to be written with: by its last suffix, `Plain` where that says nothing. The error
    /// is the name of a compression that is not supported.
    pub fn by_name(name: &[u8]) -> Result<Codec, &'static str> {
        let suffix = name.rsplit(|byte| *byte == b'.').next().filter(|suffix| suffix.len() < name.len());
        let known = suffix.and_then(|suffix| SUFFIXES.iter().find(|(known, _)| *known == suffix));
        known.map_or(Ok(Codec::Plain), |(_, codec)| *codec)
    }

    /// A reader of what `input` contains.
    pub fn decoder(self, input: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
        if self == Codec::Plain {
            return Ok(input);
        }
        let input = BufReader::with_capacity(INPUT_BYTES, input);
        Ok(match self {
            Codec::Plain => Box::new(input),
            Codec::Gzip => Box::new(Streams::<flate2::bufread::GzDecoder<Peek>>::new(input)?),
            Codec::Zstd => Box::new(zstd::Decoder::with_buffer(input)?),
            Codec::Xz => {
                let flags = liblzma::stream::CONCATENATED;
                let stream = liblzma::stream::Stream::new_auto_decoder(XZ_MEMORY_BYTES_MAX, flags)?;
                Box::new(liblzma::bufread::XzDecoder::new_stream(input, stream))
            }
            Codec::Bzip2 => Box::new(Streams::<bzip2::bufread::BzDecoder<Peek>>::new(input)?),
            Codec::Lz4 => Box::new(Streams::<lz4_flex::frame::FrameDecoder<Peek>>::new(input)?),
        })
    }
}

fn is_header(first: &[u8]) -> bool {
    first.first_chunk::<BLOCK_BYTES>().is_some_and(checksum_matches)
}

/// Looks at the first bytes. A plain seekable input stays seekable, a compressed one becomes a pipe out of its decoder.
pub fn open(input: Input) -> io::Result<(Codec, Input)> {
    let (codec, input) = detect(input)?;
    if codec == Codec::Plain {
        return Ok((codec, input));
    }
    Ok((codec, Input::Pipe(codec.decoder(input.into_reader())?)))
}

/// Looks at the first bytes, and gives the input back as it was.
pub fn detect(input: Input) -> io::Result<(Codec, Input)> {
    let mut first = vec![0; BLOCK_BYTES];
    let input = match input {
        Input::Seekable(source) => {
            let mut got = 0;
            while got < first.len() {
                match source.read_at(got as u64, &mut first[got..]) {
                    Ok(0) => break,
                    Ok(n) => got += n,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            first.truncate(got);
            Input::Seekable(source)
        }
        Input::Pipe(mut reader) => {
            let got = read_full(&mut *reader, &mut first)?;
            first.truncate(got);
            Input::Pipe(Box::new(Cursor::new(first.clone()).chain(reader)))
        }
    };
    let codec = Codec::detect(&first);
    if codec == Codec::Plain
        && let Some((_, name)) = REFUSED.iter().find(|(magic, _)| first.starts_with(magic))
        && !is_header(&first)
    {
        let reason = format!("the archive is compressed with {name}, which is not supported");
        return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
    }
    Ok((codec, input))
}

/// The length of the skippable frame (of zstd and lz4) that these bytes begin.
pub(super) fn skippable(first: &[u8]) -> Option<u64> {
    let [0x50..=0x5f, 0x2a, 0x4d, 0x18, a, b, c, d, ..] = *first else { return None };
    Some(u64::from(u32::from_le_bytes([a, b, c, d])))
}

/// A reader whose next bytes can be looked at without taking them.
struct Peek {
    head: Vec<u8>,
    taken: usize,
    rest: BufReader<Box<dyn Read + Send>>,
    /// True once a read found the end.
    ended: bool,
}

impl Peek {
    /// The next `count` bytes, fewer at the end.
    fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        self.head.drain(..self.taken);
        self.taken = 0;
        let have = self.head.len();
        if have < count {
            self.head.resize(count, 0);
            let got = read_full(&mut self.rest, &mut self.head[have..]).inspect_err(|_| self.head.truncate(have))?;
            self.head.truncate(have + got);
        }
        Ok(&self.head[..count.min(self.head.len())])
    }
}

impl Read for Peek {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(buf)?;
        self.consume(n);
        self.ended |= n == 0 && !buf.is_empty();
        Ok(n)
    }
}

impl BufRead for Peek {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.taken < self.head.len() { Ok(&self.head[self.taken..]) } else { self.rest.fill_buf() }
    }

    fn consume(&mut self, n: usize) {
        if self.taken < self.head.len() {
            self.taken = (self.taken + n).min(self.head.len());
        } else {
            self.rest.consume(n);
        }
    }
}

/// A decoder of one compressed stream that leaves its input just behind it.
trait Decoder: Read {
    fn start(input: Peek) -> Self;
    fn into_input(self) -> Peek;
    /// True if `input`, at its start or behind a stream, is at a further one.
    fn follows(input: &mut Peek) -> io::Result<bool>;
}

/// Compressed streams one after the other.
struct Streams<D> {
    decoder: Option<D>,
}

impl<D: Decoder> Streams<D> {
    fn new(rest: BufReader<Box<dyn Read + Send>>) -> io::Result<Streams<D>> {
        let mut input = Peek { head: Vec::new(), taken: 0, rest, ended: false };
        Ok(Streams { decoder: D::follows(&mut input)?.then(|| D::start(input)) })
    }
}

impl<D: Decoder> Read for Streams<D> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while let Some(decoder) = &mut self.decoder {
            match decoder.read(buf)? {
                0 if !buf.is_empty() => {}
                n => return Ok(n),
            }
            let Some(mut input) = self.decoder.take().map(D::into_input) else { break };
            if D::follows(&mut input)? {
                self.decoder = Some(D::start(input));
            }
        }
        Ok(0)
    }
}

/// Zeros may follow the last stream, for tapes pad with them; anything else may be a further one that is damaged, and is an error.
fn ends(input: &mut Peek, what: &str) -> io::Result<()> {
    loop {
        let rest = input.fill_buf()?;
        if rest.is_empty() {
            return Ok(());
        }
        if rest.iter().any(|byte| *byte != 0) {
            let reason = format!("what follows a {what} is none: it is damaged there, or something was appended");
            return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
        }
        let zeros = rest.len();
        input.consume(zeros);
    }
}

/// flate2's own multi-member decoder takes zeros for an error.
impl Decoder for flate2::bufread::GzDecoder<Peek> {
    fn start(input: Peek) -> Self {
        Self::new(input)
    }

    fn into_input(self) -> Peek {
        self.into_inner()
    }

    fn follows(input: &mut Peek) -> io::Result<bool> {
        Ok(input.peek(GZIP.len())? == GZIP || ends(input, "gzip member").map(|()| false)?)
    }
}

impl Decoder for bzip2::bufread::BzDecoder<Peek> {
    fn start(input: Peek) -> Self {
        Self::new(input)
    }

    fn into_input(self) -> Peek {
        self.into_inner()
    }

    fn follows(input: &mut Peek) -> io::Result<bool> {
        Ok(input.peek(BZIP2.len())? == BZIP2 || ends(input, "bzip2 stream").map(|()| false)?)
    }
}

/// Magic, FLG, BD and the header's checksum: no lz4 frame is shorter.
const LZ4_HEADER_BYTES_MIN: usize = 7;

/// Frames; skippable ones are passed over. A decoder serves one frame only: block sizes may change between them.
impl Decoder for lz4_flex::frame::FrameDecoder<Peek> {
    fn start(input: Peek) -> Self {
        Self::new(input)
    }

    fn into_input(self) -> Peek {
        self.into_inner()
    }

    fn follows(input: &mut Peek) -> io::Result<bool> {
        loop {
            if input.ended {
                // The crate takes an end between two blocks for the end of the frame.
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let first = input.peek(8)?;
            if first.is_empty() {
                return Ok(false);
            } else if let Some(len) = skippable(first) {
                if io::copy(&mut input.take(8 + len), &mut io::sink())? < 8 + len {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            } else if first.len() < LZ4_HEADER_BYTES_MIN {
                // The crate takes this for the end of the input.
                return Err(io::ErrorKind::UnexpectedEof.into());
            } else if first.starts_with(LZ4) {
                return Ok(true);
            } else {
                return Err(io::Error::new(io::ErrorKind::Unsupported, "no lz4 frame"));
            }
        }
    }
}
