//! What `-z`, `--zstd`, `-I CMD`, `-a` and `--level` mean for an archive that is written.
//!
//! Leaves out reading: there the content says what it is.

use crate::archive::{Codec, Packing};

use super::unpack::workers;
use super::xz::Xz;

/// How an archive of `codec` is packed at `level`, or at its program's default. An error is a usage error.
pub fn packing(codec: Codec, level: Option<u32>) -> Result<Packing, String> {
    let Some((default, levels)) = codec.levels() else {
        return match level {
            Some(_) => Err("--level needs a compression (-z, -j, -J, --zstd, --lz4, or -a)".into()),
            None => Ok(Packing::Plain),
        };
    };
    let level = level.unwrap_or(default);
    if !levels.contains(&level) {
        let (from, to) = levels.into_inner();
        let others = if codec == Codec::Lz4 { "; for others use -I 'lz4 -LEVEL'" } else { "" };
        return Err(format!("--level={level}: {} has levels {from} to {to}{others}", name(codec)));
    }
    Ok(codec.pack(level).map_or_else(|| Packing::Stream(Box::new(Xz { level, threads: workers() })), Packing::Pieces))
}

/// The name of its program.
pub fn name(codec: Codec) -> &'static str {
    match codec {
        Codec::Plain => "no compression",
        Codec::Gzip => "gzip",
        Codec::Zstd => "zstd",
        Codec::Xz => "xz",
        Codec::Bzip2 => "bzip2",
        Codec::Lz4 => "lz4",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_the_programs() {
        for codec in [Codec::Gzip, Codec::Zstd, Codec::Bzip2, Codec::Lz4] {
            let (default, levels) = codec.levels().unwrap();
            assert!(levels.contains(&default));
            for level in levels.clone().map(Some).chain([None]) {
                assert!(matches!(packing(codec, level), Ok(Packing::Pieces(_))), "{codec:?} {level:?}");
            }
            assert!(packing(codec, Some(levels.end() + 1)).is_err_and(|e| e.contains(name(codec))));
        }
        assert!(matches!(packing(Codec::Xz, Some(0)), Ok(Packing::Stream(_))));
        assert!(packing(Codec::Xz, Some(10)).is_err());
        assert!(matches!(packing(Codec::Plain, None), Ok(Packing::Plain)));
        assert!(packing(Codec::Plain, Some(6)).is_err_and(|e| e.contains("--level")));
    }
}
