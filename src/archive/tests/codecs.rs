use std::io::Write;

use super::*;

const ALL: [Codec; 5] = [Codec::Gzip, Codec::Zstd, Codec::Xz, Codec::Bzip2, Codec::Lz4];

fn compress(codec: Codec, bytes: &[u8]) -> Vec<u8> {
    match codec {
        Codec::Plain => bytes.to_vec(),
        Codec::Gzip => {
            let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            out.write_all(bytes).unwrap();
            out.finish().unwrap()
        }
        Codec::Zstd => {
            let mut out = zstd::Encoder::new(Vec::new(), 1).unwrap();
            out.include_checksum(true).unwrap();
            out.write_all(bytes).unwrap();
            out.finish().unwrap()
        }
        Codec::Xz => {
            let mut out = liblzma::write::XzEncoder::new(Vec::new(), 0);
            out.write_all(bytes).unwrap();
            out.finish().unwrap()
        }
        Codec::Bzip2 => {
            let mut out = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            out.write_all(bytes).unwrap();
            out.finish().unwrap()
        }
        Codec::Lz4 => {
            let info = lz4_flex::frame::FrameInfo::new().content_checksum(true);
            let mut out = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
            out.write_all(bytes).unwrap();
            out.finish().unwrap()
        }
    }
}

/// Through `open`, as a file and as a pipe.
fn opened(bytes: &[u8]) -> (Codec, Seen) {
    let (codec, input) = open(file(bytes)).unwrap();
    let seen = drain(&mut Archive::new(input, Options::default()), 1000);
    let (piped_codec, input) = open(pipe(bytes)).unwrap();
    let piped = drain(&mut Archive::new(input, Options::default()), 1000);
    assert_eq!((codec, &seen), (piped_codec, &piped));
    (codec, seen)
}

fn sample() -> Vec<u8> {
    let noise: Vec<u8> = (0..3000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    [entry("a", b'0', &noise), entry("b", b'0', b"text"), END.to_vec()].concat()
}

#[test]
fn every_codec_is_found_and_read() {
    let archive = sample();
    let expected = read(&archive);
    assert_eq!(opened(&archive), (Codec::Plain, read(&archive)));
    assert!(matches!(open(file(&archive)).unwrap().1, Input::Seekable(_)));
    for codec in ALL {
        let (found, seen) = opened(&compress(codec, &archive));
        assert_eq!((found, &seen), (codec, &expected));
        // Streams one after the other are one archive.
        let split = [compress(codec, &archive[..1000]), compress(codec, b""), compress(codec, &archive[1000..])];
        let (found, seen) = opened(&split.concat());
        assert_eq!((found, &seen), (codec, &expected));
    }
}

#[test]
fn lz4_frames_of_different_block_sizes_and_modes() {
    use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
    let archive = [entry("a", b'0', &vec![7; 600_000]), END.to_vec()].concat();
    let mut bytes = Vec::new();
    for (i, part) in archive.chunks(250_000).enumerate() {
        let info = FrameInfo::new()
            .block_size([BlockSize::Max256KB, BlockSize::Max64KB, BlockSize::Max1MB][i])
            .block_mode([BlockMode::Linked, BlockMode::Linked, BlockMode::Independent][i]);
        let mut out = FrameEncoder::with_frame_info(info, Vec::new());
        out.write_all(part).unwrap();
        bytes.extend(out.finish().unwrap());
        bytes.extend(b"\x5a\x2a\x4d\x18\x03\0\0\0abc");
    }
    assert_eq!(opened(&bytes), (Codec::Lz4, read(&archive)));
}

#[test]
fn a_skippable_frame_may_come_first_in_zstd() {
    let bytes = [&b"\x50\x2a\x4d\x18\x03\0\0\0abc"[..], &compress(Codec::Zstd, &sample())].concat();
    assert_eq!(opened(&bytes), (Codec::Zstd, read(&sample())));
}

#[test]
fn lzma_alone_is_read() {
    let options = liblzma::stream::LzmaOptions::new_preset(0).unwrap();
    let stream = liblzma::stream::Stream::new_lzma_encoder(&options).unwrap();
    let mut out = liblzma::write::XzEncoder::new_stream(Vec::new(), stream);
    out.write_all(&sample()).unwrap();
    assert_eq!(opened(&out.finish().unwrap()), (Codec::Xz, read(&sample())));
}

#[test]
fn trailing_garbage_loses_nothing() {
    let expected = read(&sample());
    for codec in ALL {
        for tail in [&[0; 700][..], b"garbage"] {
            let (_, seen) = opened(&[&compress(codec, &sample())[..], tail].concat());
            assert_eq!(seen.members, expected.members, "{codec:?}");
            // gzip and bzip2 take zeros for padding, and xz words of them; anything else may be a damaged stream.
            let padding = tail[0] == 0
                && match codec {
                    Codec::Gzip | Codec::Bzip2 => true,
                    Codec::Xz => tail.len() % 4 == 0,
                    _ => false,
                };
            assert_eq!(seen.errors.is_empty(), padding, "{codec:?}: {:?}", seen.errors);
        }
    }
}

/// Several streams one after the other, one of them with a flipped bit where it begins: nothing may be left out in silence.
#[test]
fn a_damaged_start_of_a_further_stream_is_an_error() {
    let archive = sample();
    let (first, second) = archive.split_at(archive.len() / 1024 * 512);
    for codec in ALL {
        let (mut bytes, rest) = (compress(codec, first), compress(codec, second));
        let from = bytes.len();
        bytes.extend(rest);
        assert_eq!(opened(&bytes).1, read(&archive), "{codec:?}");
        for bit in 0..16 {
            let mut bad = bytes.clone();
            bad[from + bit / 8] ^= 1 << (bit % 8);
            let (_, input) = open(file(&bad)).unwrap();
            let seen = drain(&mut Archive::new(input, Options::default()), 1000);
            assert!(!seen.errors.is_empty(), "{codec:?}, bit {bit}");
        }
    }
}

/// Cut anywhere, even behind the archive's end mark, a compressed stream is an error.
#[test]
fn truncated_streams_are_errors() {
    let expected = read(&sample());
    for codec in ALL {
        let bytes = compress(codec, &sample());
        for cut in 7..bytes.len() {
            let (found, seen) = opened(&bytes[..cut]);
            assert_eq!((found, seen.errors.len()), (codec, 1), "cut at {cut} of {}", bytes.len());
            assert!(seen.errors[0].contains("cannot read the archive"), "{codec:?} cut at {cut}: {:?}", seen.errors);
            assert!(expected.members[..seen.members.len()].iter().zip(&seen.members).all(|(e, s)| e.0 == s.0));
        }
    }
}

#[test]
fn truncated_lz4_at_a_block_boundary_is_an_error() {
    let archive = [entry("a", b'0', &vec![7; 600_000]), END.to_vec()].concat();
    let info = lz4_flex::frame::FrameInfo::new().block_size(lz4_flex::frame::BlockSize::Max64KB);
    let mut out = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
    out.write_all(&archive).unwrap();
    let bytes = out.finish().unwrap();
    assert_eq!(open(file(&bytes[..6])).err().unwrap().kind(), io::ErrorKind::UnexpectedEof);
    for cut in 8..bytes.len() {
        let (_, input) = open(file(&bytes[..cut])).unwrap();
        let seen = drain(&mut Archive::new(input, Options::default()), 10);
        assert!(seen.errors.len() == 1 && seen.errors[0].contains("cannot read"), "cut at {cut}: {:?}", seen.errors);
    }
}

/// A flipped bit is an error or harmless, never other data: every codec here carries a checksum.
#[test]
fn flipped_bits_never_change_data_silently() {
    let expected = read(&sample());
    for codec in ALL {
        let bytes = compress(codec, &sample());
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 1 << (at % 8);
            let Ok((_, input)) = open(file(&bad)) else { continue };
            let seen = drain(&mut Archive::new(input, Options::default()), 1000);
            assert!(!seen.errors.is_empty() || seen.members == expected.members, "{codec:?} flipped at {at}");
        }
    }
}

#[test]
fn what_only_looks_compressed_is_plain() {
    let named = [entry("BZh1", b'0', b"1"), END.to_vec()].concat();
    assert_eq!(Codec::detect(&named), Codec::Plain);
    for other in [&b""[..], b"B", b"BZhx", b"plain text", &[0; 512]] {
        assert_eq!(Codec::detect(other), Codec::Plain);
    }
    for (magic, name) in [(&b"\x1f\x9d\x90"[..], "compress"), (b"LZIP\x01", "lzip"), (b"\x89LZO\0", "lzop")] {
        let error = open(file(magic)).err().unwrap();
        assert!(error.kind() == io::ErrorKind::Unsupported && error.to_string().contains(name));
    }
}
