//! Pieces packed, cut into units again and unpacked: the same bytes or an error, whatever happens to what is packed.

use std::io::Write;

use super::*;
use crate::archive::split::{Cut, Splitter};

const IN_PIECES: [Codec; 4] = [Codec::Gzip, Codec::Zstd, Codec::Bzip2, Codec::Lz4];

/// The default level.
fn packer(codec: Codec) -> Box<dyn Pack> {
    codec.pack(codec.levels().unwrap().0).unwrap()
}

/// Half noise, half runs.
fn sample(len: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let byte = |i: usize| {
        if (i / 100).is_multiple_of(2) {
            return b'a' + (i / 200 % 20) as u8;
        }
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..len).map(byte).collect()
}

/// Gives `step` bytes at a time at most.
struct Dribble(Vec<u8>, usize, usize);

impl Read for Dribble {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = buf.len().min(self.2).min(self.0.len() - self.1);
        buf[..n].copy_from_slice(&self.0[self.1..self.1 + n]);
        self.1 += n;
        Ok(n)
    }
}

/// What is unpacked, how many units there were, and whether something was left for the decoder of the stream.
fn unpacked_by(codec: Codec, bytes: &[u8], step: usize) -> (Vec<u8>, usize, bool, io::Result<()>) {
    let mut splitter = Splitter::new(codec, Box::new(Dribble(bytes.to_vec(), 0, step)));
    let (mut out, mut units) = (Vec::new(), 0);
    let mut give = |chunk: Vec<u8>| {
        out.extend(chunk);
        true
    };
    let mut end = 0;
    loop {
        match splitter.cut() {
            Ok(Cut::Unit(unit)) => {
                assert!(unit.offset >= end, "units overlap");
                end = unit.offset + 1;
                units += 1;
                if let Err(error) = unit.unpack(codec, &mut give) {
                    return (out, units, false, Err(error));
                }
            }
            Ok(Cut::Rest) => {
                let result = codec.decoder(splitter.into_rest()).and_then(|mut rest| rest.read_to_end(&mut out));
                return (out, units, true, result.map(drop));
            }
            Ok(Cut::End) => return (out, units, false, Ok(())),
            Err(error) => return (out, units, false, Err(error)),
        }
    }
}

fn unpacked(codec: Codec, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let (out, _, _, result) = unpacked_by(codec, bytes, usize::MAX);
    result.map(|()| out)
}

fn streamed(codec: Codec, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    codec.decoder(Box::new(io::Cursor::new(bytes.to_vec())))?.read_to_end(&mut out)?;
    Ok(out)
}

#[test]
fn pieces_come_back_as_units_and_as_a_stream() {
    for codec in IN_PIECES {
        let packer = packer(codec);
        let size = packer.piece_bytes();
        assert_eq!(size % 512, 0);
        let pieces = [sample(size, 1), sample(size, 2), sample(size / 3, 3), sample(1, 4)];
        let packed: Vec<Vec<u8>> = pieces.iter().map(|piece| packer.pack(piece).unwrap()).collect();
        assert_eq!(packed[0], packer.pack(&pieces[0]).unwrap(), "{codec:?}: not the same twice");
        let (whole, joined) = (pieces.concat(), packed.concat());
        assert!(streamed(codec, &joined).unwrap() == whole, "{codec:?}");
        for step in [usize::MAX, 70_001] {
            let (out, units, rest, result) = unpacked_by(codec, &joined, step);
            result.unwrap();
            assert!(out == whole, "{codec:?} by {step}");
            // The last bzip2 stream has none behind it that would show its end.
            assert!(units >= 3 && rest == (codec == Codec::Bzip2), "{codec:?} by {step}: {units} units, rest: {rest}");
        }
    }
}

#[test]
fn every_level_packs() {
    let piece = sample(20_000, 5);
    for codec in IN_PIECES {
        for level in codec.levels().unwrap().1 {
            let packed = codec.pack(level).unwrap().pack(&piece).unwrap();
            assert!(packed.len() < piece.len() && streamed(codec, &packed).unwrap() == piece, "{codec:?} {level}");
        }
    }
    assert!(Codec::Plain.pack(1).is_none() && Codec::Xz.pack(1).is_none());
}

#[test]
fn empty_pieces_and_empty_inputs() {
    for codec in IN_PIECES {
        let empty = packer(codec).pack(b"").unwrap();
        assert!(!empty.is_empty());
        for bytes in [Vec::new(), empty.clone(), empty.repeat(3)] {
            assert_eq!(unpacked(codec, &bytes).unwrap(), b"", "{codec:?}");
        }
        let text = packer(codec).pack(b"text").unwrap();
        assert_eq!(unpacked(codec, &[&empty[..], &text, &empty, &text].concat()).unwrap(), b"texttext", "{codec:?}");
    }
}

/// Cut anywhere: all before the cut, and an error unless the cut is between units.
#[test]
fn truncated_units_are_errors_behind_what_is_whole() {
    for codec in IN_PIECES {
        let pieces = [sample(700, 6), sample(300, 7)];
        let packed: Vec<Vec<u8>> = pieces.iter().map(|piece| packer(codec).pack(piece).unwrap()).collect();
        let (whole, joined) = (pieces.concat(), packed.concat());
        for cut in 0..joined.len() {
            let (out, _, _, result) = unpacked_by(codec, &joined[..cut], usize::MAX);
            assert!(whole.starts_with(&out), "{codec:?} cut at {cut}");
            assert!(cut < packed[0].len() || out.len() >= pieces[0].len(), "{codec:?} cut at {cut}");
            let fine = cut == 0 || cut == packed[0].len();
            assert_eq!(result.is_ok(), fine, "{codec:?} cut at {cut}: {result:?}");
        }
    }
}

#[test]
fn a_flipped_bit_is_an_error_or_harmless() {
    for codec in IN_PIECES {
        let pieces = [sample(900, 8), sample(500, 9)];
        let joined: Vec<u8> = pieces.iter().flat_map(|piece| packer(codec).pack(piece).unwrap()).collect();
        let first = packer(codec).pack(&pieces[0]).unwrap().len();
        for bit in 0..8 * joined.len() {
            let mut bad = joined.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let Ok(out) = unpacked(codec, &bad) else { continue };
            // A spoilt magic where a further member would begin makes garbage of it: gzip and bzip2 end there as well.
            let ends_there = out == pieces[0] && (first..first + 3).contains(&(bit / 8));
            let at_start = out.is_empty() && bit / 8 < 3;
            let all = out == pieces.concat();
            let stream = streamed(codec, &bad);
            assert!(all || (ends_there || at_start) && stream.is_ok_and(|s| s == out), "{codec:?}: bit {bit}");
        }
    }
}

#[test]
fn a_wrong_size_in_a_gzip_header_is_an_error_or_harmless() {
    let pieces = [sample(900, 10), sample(500, 11)];
    let packed: Vec<Vec<u8>> = pieces.iter().map(|piece| packer(Codec::Gzip).pack(piece).unwrap()).collect();
    let right = u32::from_le_bytes(packed[0][16..20].try_into().unwrap());
    assert_eq!(right as usize, packed[0].len());
    let wrong = (0..2 * right + 600).chain([1 << 20, 1 << 24, u32::MAX - 1, u32::MAX]).filter(|n| *n != right);
    for size in wrong {
        let mut bad = packed.concat();
        bad[16..20].copy_from_slice(&size.to_le_bytes());
        // Where it cannot be a size it is not looked at.
        assert!(unpacked(Codec::Gzip, &bad).map_or(true, |out| out == pieces.concat()), "{size}");
    }
}

/// A gzip member with one subfield.
fn member(id: &[u8; 2], size_at: impl Fn(&mut [u8], usize), width: usize, bytes: &[u8]) -> Vec<u8> {
    let extra = [&id[..], &[width as u8, 0], &vec![0; width]].concat();
    let mut out = flate2::GzBuilder::new().extra(extra).write(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    let mut out = out.finish().unwrap();
    let len = out.len();
    size_at(&mut out[16..], len);
    out
}

#[test]
fn blocked_gzip_is_cut_several_members_at_once() {
    let pieces: Vec<Vec<u8>> = (0..40).map(|i| sample(30_000 + i, i as u64)).collect();
    let size = |at: &mut [u8], len: usize| at[..2].copy_from_slice(&((len - 1) as u16).to_le_bytes());
    let bytes: Vec<u8> = pieces.iter().flat_map(|piece| member(b"BC", size, 2, piece)).collect();
    let (out, units, rest, result) = unpacked_by(Codec::Gzip, &bytes, usize::MAX);
    result.unwrap();
    assert!(out == pieces.concat() && !rest && units < pieces.len() / 2, "{units} units");
    // Subfields of others say nothing.
    let other = member(b"XY", size, 2, &pieces[0]);
    let (out, units, rest, result) = unpacked_by(Codec::Gzip, &other, usize::MAX);
    result.unwrap();
    assert!(out == pieces[0] && units == 0 && rest);
}

#[test]
fn what_follows_the_last_unit_is_judged_as_in_a_stream() {
    for codec in IN_PIECES {
        let packed = packer(codec).pack(b"text").unwrap();
        for tail in [&[0; 700][..], b"garbage", b"\x1f", b"BZ", b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18"] {
            let bytes = [&packed[..], tail].concat();
            let (ours, theirs) = (unpacked(codec, &bytes), streamed(codec, &bytes));
            assert_eq!(ours.is_ok(), theirs.is_ok(), "{codec:?} {tail:?}");
            let padding = tail[0] == 0 && matches!(codec, Codec::Gzip | Codec::Bzip2);
            assert_eq!(ours.is_ok(), padding, "{codec:?} {tail:?}");
        }
    }
}

#[test]
fn frames_that_do_not_say_their_size_are_left_to_the_stream() {
    let bytes = sample(100_000, 12);
    let mut zstd = zstd::Encoder::new(Vec::new(), 3).unwrap();
    zstd.write_all(&bytes).unwrap();
    let zstd = zstd.finish().unwrap();
    let mut lz4 = lz4_flex::frame::FrameEncoder::new(Vec::new());
    lz4.write_all(&bytes).unwrap();
    let lz4 = lz4.finish().unwrap();
    for (codec, packed) in [(Codec::Zstd, &zstd), (Codec::Lz4, &lz4)] {
        // Behind a unit, and with skippable frames around.
        let skipped = b"\x5f\x2a\x4d\x18\x03\0\0\0abc".as_slice();
        let small = packer(codec).pack(b"text").unwrap();
        let (out, units, rest, result) =
            unpacked_by(codec, &[skipped, &small, skipped, packed, skipped].concat(), 1000);
        result.unwrap();
        assert!(out == [b"text", &bytes[..]].concat() && units == 1 && rest, "{codec:?}");
    }
    // pzstd tells the size in a skippable frame before.
    let size = u32::try_from(zstd.len()).unwrap().to_le_bytes();
    let announced = [b"\x50\x2a\x4d\x18\x04\0\0\0", &size[..], &zstd].concat();
    let (out, units, rest, result) = unpacked_by(Codec::Zstd, &announced.repeat(2), usize::MAX);
    result.unwrap();
    assert!(out == bytes.repeat(2) && units == 2 && !rest);
}

#[test]
fn sizes_beyond_what_is_there_are_errors() {
    // Headers that announce as much as they can, and nothing behind them.
    let mut gzip = packer(Codec::Gzip).pack(b"text").unwrap();
    gzip[16..20].fill(0xff);
    gzip.truncate(24);
    let zstd = b"\x28\xb5\x2f\xfd\xe0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff".to_vec();
    let lz4 = b"\x04\x22\x4d\x18\x6c\x70\xff\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\x7f".to_vec();
    let skip = b"\x50\x2a\x4d\x18\xff\xff\xff\xff".to_vec();
    for (codec, bytes) in [(Codec::Gzip, gzip), (Codec::Zstd, zstd), (Codec::Lz4, lz4), (Codec::Lz4, skip)] {
        assert!(unpacked(codec, &bytes).is_err(), "{codec:?}");
    }
}

#[test]
fn an_error_says_where() {
    let packed = packer(Codec::Gzip).pack(&sample(5000, 13)).unwrap();
    let mut bytes = packed.repeat(2);
    let at = packed.len() + 100;
    bytes[at] ^= 1;
    let error = unpacked(Codec::Gzip, &bytes).unwrap_err().to_string();
    assert!(error.ends_with(&format!("in what is compressed from byte {} on", packed.len())), "{error}");
}

#[test]
fn codecs_by_name_are_gnu_tars() {
    for (name, codec) in [
        ("a.tar", Codec::Plain),
        ("a", Codec::Plain),
        ("gz", Codec::Plain),
        ("a.unknown", Codec::Plain),
        ("a.gz.", Codec::Plain),
        ("a.tar.gz", Codec::Gzip),
        ("/d.xz/a.tgz", Codec::Gzip),
        ("a.taz", Codec::Gzip),
        ("a.tbz2", Codec::Bzip2),
        ("a.tar.xz", Codec::Xz),
        ("a.tzst", Codec::Zstd),
        ("a.tar.lz4", Codec::Lz4),
    ] {
        assert_eq!(Codec::by_name(name.as_bytes()), Ok(codec), "{name}");
    }
    for (name, program) in [("a.tar.Z", "compress"), ("a.lz", "lzip"), ("a.tlz", "lzma"), ("a.tar.lzo", "lzop")] {
        assert_eq!(Codec::by_name(name.as_bytes()), Err(program), "{name}");
    }
}
