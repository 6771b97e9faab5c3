//! `--compare A.json B.json`: reads both documents and says whether the runs differ.

use std::fs::File;
use std::io::Read;

use crate::cli::console::reason;
use crate::load::compare::{Difference, Series, compare, series};

/// Bytes of a document at most.
const BYTES_MAX: u64 = 256 << 20;

/// What is told. An error is for stderr.
pub fn compared(first: &str, second: &str) -> Result<String, String> {
    let comparison = compare(&document(first)?, &document(second)?);
    if comparison.differences.is_empty() {
        return Err(format!("fio: {first} and {second} have no job in common\n{}", comparison.alone.join("\n")));
    }
    let lines: Vec<String> = comparison.differences.iter().map(Difference::line).chain(comparison.alone).collect();
    Ok(format!("First: {first}. Second: {second}.\n{}", lines.join("\n")))
}

fn document(path: &str) -> Result<Vec<Series>, String> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(BYTES_MAX + 1).read_to_string(&mut text));
    read.map_err(|error| format!("fio: {path}: Cannot read: {}", reason(&error)))?;
    if text.len() as u64 > BYTES_MAX {
        return Err(format!("fio: {path}: it is larger than {} MiB", BYTES_MAX >> 20));
    }
    series(&text).map_err(|error| format!("fio: {path}: {error}"))
}
