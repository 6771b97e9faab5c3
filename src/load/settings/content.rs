//! What is written, and how it is checked.
//!
//! Promises: buffers that fio's options ask for together, refilled where fio refills them; an interval of marks that divides the blocks.
//! Leaves out: the bytes.

use super::super::Direction;
use super::super::job::BadJob;
use super::super::options::Value;
use super::super::pattern::Pattern;
use super::super::verify::{Check, Verifier};
use super::asked::Asked;
use super::{Buffers, Content, Load, Verify};

pub(super) fn buffers(asked: &Asked<'_>, load: &Load, verify: Option<&Verify>) -> Result<Buffers, BadJob> {
    let pattern = pattern(asked, "buffer_pattern")?;
    if pattern.as_ref().is_some_and(Pattern::has_offset) {
        return Err(asked.bad("buffer_pattern", "%o is for verify_pattern; buffers have no offset"));
    }
    let compress = asked.number("buffer_compress_percentage").unwrap_or(0);
    let dedupe = asked.number("dedupe_percentage").unwrap_or(0);
    let chunk = asked.number("buffer_compress_chunk").unwrap_or(512).max(1);
    let zeros = asked.is("zero_buffers");
    let content = match pattern {
        pattern if (1..100).contains(&compress) => Content::Compressible { percent: compress, chunk, pattern },
        Some(pattern) => Content::Pattern(pattern),
        None if zeros || compress == 100 => Content::Zeros,
        None => Content::Random,
    };
    let is_pattern = matches!(content, Content::Pattern(_));
    // Of options that switch each other, the last holds, as in fio (measured with 3.33).
    let is_last = |option: &str, other: &str| asked.place(option) > asked.place(other);
    let refill = match asked.value("refill_buffers") {
        Some(Value::Bool(refill))
            if asked.has("refill_buffers") && (dedupe == 0 || is_last("refill_buffers", "dedupe_percentage")) =>
        {
            refill
        }
        _ if dedupe > 0 => true,
        // Reads would leave something else in a buffer with a pattern.
        _ => (1..100).contains(&compress) || verify.is_some() || is_pattern && load.reads(),
    };
    // Zeros and patterns are changed only when that is asked for.
    let is_plain = !zeros && !is_pattern || is_last("scramble_buffers", "buffer_pattern");
    let is_changed = !refill && compress == 0 && dedupe == 0 && verify.is_none();
    let scramble = asked.is("scramble_buffers") && is_plain && is_changed;
    let align = asked.number("iomem_align").unwrap_or(0);
    if align > 0 && !align.is_power_of_two() {
        return Err(asked.bad("iomem_align", format!("{align} is not a power of 2")));
    }
    Ok(Buffers { content, refill, scramble, dedupe, align })
}

/// Threads that verify for one clone.
const THREADS_MAX: u32 = 256;

fn pattern(asked: &Asked<'_>, name: &str) -> Result<Option<Pattern>, BadJob> {
    let pattern = asked.text(name).map(|text| Pattern::parse(&text)).transpose();
    pattern.map_err(|error| asked.bad(name, error.0))
}

pub(super) fn verify(asked: &mut Asked<'_>, load: &Load, clones: u32) -> Result<Option<Verify>, BadJob> {
    let pattern = pattern(asked, "verify_pattern")?;
    let check = match asked.word("verify") {
        // As in fio: a pattern alone is checked too, unless verify=0 is said.
        "0" if pattern.is_some() && !asked.has("verify") => Check::Pattern,
        "0" => return Ok(None),
        word => match Check::named(word) {
            Some(check) => check,
            None => return Err(asked.bad("verify", format!("'{word}' is no check"))),
        },
    };
    let direction = if load.writes() { Direction::Write } else { Direction::Read };
    let (least, most) = load.blocks[direction];
    let smallest = if load.reads() { least.min(load.blocks.read.0) } else { least };
    let interval = asked.number("verify_interval").unwrap_or(least).min(smallest);
    let divides = least.is_multiple_of(interval) && most.is_multiple_of(interval);
    let interval = if divides { interval } else { gcd(least, most) };
    let mark_at = asked.number("verify_offset").unwrap_or(0);
    let in_memory = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    let verifier =
        Verifier::new(check, Some(in_memory(interval)), in_memory(least), in_memory(mark_at), pattern.clone());
    verifier.map_err(|reason| asked.together(format!("fio: {reason}")))?;
    let read_back = asked.is("do_verify");
    let threads = asked.count("verify_async").unwrap_or(0);
    if threads > THREADS_MAX {
        return Err(asked.bad("verify_async", format!("{threads} threads; {THREADS_MAX} are possible")));
    }
    let backlog = asked.number("verify_backlog").filter(|writes| *writes > 0);
    if load.writes() && read_back {
        warn_of_writers(asked, clones);
        let runtime = asked.is("time_based") && !asked.time("runtime").is_zero();
        if runtime && !load.reads() && backlog.is_none() {
            asked.note("fio: what is written is read back when the runtime is over; fio itself would not read it back");
        }
    }
    if asked.is("norandommap") && load.blocks.iter().any(|(_, (least, most))| least != most) {
        asked.warn("fio: norandommap given for variable block sizes, verify limited");
    }
    let only = asked.is("verify_only");
    let unless_only = |option: &str| if asked.has(option) { asked.is(option) } else { !only };
    Ok(Some(Verify {
        check,
        interval,
        mark_at,
        pattern,
        read_back,
        only,
        seeds: unless_only("verify_header_seed") && (load.writes() || asked.has("verify_header_seed")),
        sequence: unless_only("verify_write_sequence") && load.writes(),
        fatal: asked.is("verify_fatal"),
        dump: asked.is("verify_dump"),
        threads,
        cpus: match asked.value("verify_async_cpus") {
            Some(Value::Cpus(cpus)) if threads > 0 => Some(cpus),
            _ => None,
        },
        save_state: asked.is("verify_state_save"),
        load_state: asked.is("verify_state_load"),
        backlog: backlog.map(|writes| (writes, asked.number("verify_backlog_batch").unwrap_or(0))),
    }))
}

/// Clones that write the same files overwrite each other's marks.
fn warn_of_writers(asked: &mut Asked<'_>, clones: u32) {
    let format = asked.text("filename_format").unwrap_or_default().to_ascii_lowercase();
    let own_names = ["$jobname", "$jobnum", "$filenum"].iter().all(|part| format.contains(part));
    if clones > 1 && (asked.has("filename") || !own_names) {
        asked.warn(
            "fio: multiple writers may overwrite blocks that belong to other jobs. This can cause verification failures.",
        );
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
