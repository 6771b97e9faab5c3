//! How large a clone's files are, and on which part of them it works.
//!
//! Promises: arithmetic on sizes that the caller has looked up, by fio's rules; errors in fio's words.
//! Leaves out: looking, laying out, and free space.

use super::super::engine::There;
use super::super::offsets::Extent;
use super::super::random::{Seeds, Stream};
use super::super::value::Amount;
use super::Settings;

/// A file of a clone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileExtent {
    /// Bytes that it must have at least, or it is laid out anew; 0 where nothing is laid out: devices, and files that are written until
    /// there is no room.
    pub size: u64,
    /// Where the I/O goes.
    pub region: Extent,
    /// Bytes that it has now, which may be more.
    pub there: u64,
}

/// Offsets are no larger: off_t.
const OFFSET_MAX: u64 = i64::MAX as u64;

/// The files of the clone `clone` (from 0), of which `there` is what is there under their names, in order. `seeds` are the clone's; sizes from a
/// range are drawn with them.
pub fn files(settings: &Settings, clone: u32, there: &[There], seeds: Seeds) -> Result<Vec<FileExtent>, String> {
    let load = &settings.load;
    if settings.io_logs.replay.is_some() {
        // A log says where its I/O goes; as in fio no file is laid out for it.
        let whole = |there: &There| {
            let len = size_of(*there);
            FileExtent { size: 0, region: Extent { offset: 0, len }, there: len }
        };
        return Ok(there.iter().map(whole).collect());
    }
    let given = given(settings);
    let fills = load.fill && given == 0;
    let real: u64 = there.iter().fold(0, |sum, there| sum.saturating_add(size_of(*there)));
    if real == 0 && given == 0 && settings.files.size.is_none() && !load.fill {
        return Err(format!("{}: you need to specify size=", settings.name));
    }
    let (min, count) = (load.block_min(), there.len().max(1) as u64);
    let mut extra = (given % count) / min;
    let mut found = Vec::with_capacity(there.len());
    for (at, there) in there.iter().enumerate() {
        let offset = offset(settings, clone, *there).ok_or_else(|| invalid(settings))?;
        let rest = || size_of(*there).checked_sub(offset).ok_or_else(|| invalid(settings));
        let mut len = match settings.files.size {
            Some((low, high)) if (low..=high).contains(&size_of(*there)) => rest()?,
            Some((low, high)) => {
                let mut random = seeds.random(Stream::FileSizes, at as u64);
                let drawn = low + random.below(high - low + 1);
                let size = if low == high { low } else { (drawn / min * min).max(min) };
                size.checked_sub(offset).ok_or_else(|| invalid(settings))?
            }
            None if fills => (OFFSET_MAX - offset) / count,
            None => match given / count + if extra > 0 { min } else { 0 } {
                0 => rest()?,
                len => len,
            },
        };
        extra = extra.saturating_sub(1);
        if let Some(Amount::Percent(percent)) = load.size.filter(|_| !fills) {
            let part = share(offset.saturating_add(len), percent).min(len);
            len = if percent < 100 { part / min * min } else { part };
        }
        let end = offset.checked_add(len).filter(|end| *end <= OFFSET_MAX).ok_or_else(|| invalid(settings))?;
        let (size, len) = match *there {
            // A device does not grow.
            There::Device(size) => (0, end.min(size).checked_sub(offset).ok_or_else(|| invalid(settings))?),
            There::Stream => (0, len),
            _ => (if fills { 0 } else { end }, len),
        };
        found.push(FileExtent { size, region: Extent { offset, len }, there: size_of(*there) });
    }
    if bytes(settings, &found) < min {
        return Err("fio: blocksize is larger than data set range".into());
    }
    Ok(found)
}

/// Bytes of I/O over `files` at most: of a job that fills its time in a pass, without an io_size= as in fio; of others in all of its loops.
pub fn total_io(settings: &Settings, files: &[FileExtent]) -> u64 {
    match settings.load.io_size {
        _ if settings.span.fills() => bytes(settings, files),
        Some(Amount::Bytes(io)) => io.saturating_mul(settings.span.loops),
        _ => bytes(settings, files).saturating_mul(settings.span.loops),
    }
}

/// What size= and the files leave; a percentage of io_size= is one of each file.
fn bytes(settings: &Settings, files: &[FileExtent]) -> u64 {
    let of_file = |file: &FileExtent| match settings.load.io_size {
        Some(Amount::Percent(percent)) if !settings.span.fills() => share(file.region.len, percent),
        _ => file.region.len,
    };
    let sum = files.iter().fold(0_u64, |sum, file| sum.saturating_add(of_file(file)));
    match given(settings) {
        0 => sum,
        given => given.min(sum),
    }
}

/// size= in bytes; 0 for none or a percentage.
fn given(settings: &Settings) -> u64 {
    match settings.load.size {
        Some(Amount::Bytes(bytes)) => bytes,
        _ => 0,
    }
}

fn share(bytes: u64, percent: u8) -> u64 {
    (u128::from(bytes) * u128::from(percent) / 100) as u64
}

fn size_of(there: There) -> u64 {
    match there {
        There::File(size) | There::Device(size) => size,
        There::Nothing | There::Stream | There::Dir => 0,
    }
}

fn invalid(settings: &Settings) -> String {
    format!("{}: you need to specify valid offset=", settings.name)
}

/// Where the region begins; None where no file reaches.
fn offset(settings: &Settings, clone: u32, there: There) -> Option<u64> {
    let load = &settings.load;
    match there {
        There::File(_) | There::Nothing if settings.files.append => return Some(size_of(there)),
        _ => {}
    }
    let is_share = |amount| matches!(amount, Amount::Percent(_));
    let bytes = |amount| match amount {
        Amount::Bytes(bytes) => bytes,
        Amount::Percent(percent) => share(size_of(there), percent),
    };
    let increment = bytes(load.offset_increment).checked_mul(u64::from(clone))?;
    let offset = bytes(load.offset).checked_add(increment)?;
    // As in fio: what was computed is aligned, what was typed stays as it is.
    let unit = match load.offset_align {
        _ if !is_share(load.offset) && !is_share(load.offset_increment) => 1,
        0 => load.block_min(),
        align => align,
    };
    offset.checked_next_multiple_of(unit).filter(|offset| *offset <= OFFSET_MAX)
}

#[cfg(test)]
#[path = "extents_tests.rs"]
mod tests;
