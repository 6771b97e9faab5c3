//! How I/O is carried out: the engine with its options, syncs, and what of the process is asked for.
//!
//! Promises: numbers of I/Os in flight, submitted and completed at once that fit each other; what an engine cannot do is refused or told.
//! Leaves out: whether the host has the engine.

use super::super::job::BadJob;
use super::super::options::{self, Value};
use super::asked::Asked;
use super::{EngineChoice, HostChoice, OpenSync, Syncs, UringChoice};

/// Engines that wait for each I/O; null waits for none, as in fio, where only its depth of 1 does.
const WAITING: [&str; 6] = ["psync", "sync", "vsync", "pvsync", "pvsync2", "mmap"];

/// Engines of which each I/O is one operation on a file's name. They wait, but over NFS many are under way.
const METADATA: [&str; 6] = ["filecreate", "filestat", "filedelete", "dircreate", "dirstat", "dirdelete"];

/// True of engines that can do without the kernel's mounts.
pub(super) fn takes_urls(engine: &str) -> bool {
    engine == "nfs" || METADATA.contains(&engine)
}

/// True of engines whose I/Os are operations on names.
pub(super) fn is_metadata(engine: &str) -> bool {
    METADATA.contains(&engine)
}

/// ioengine=; what stands behind a colon (`external:path`) was refused with its word.
pub(super) fn engine_name(asked: &Asked<'_>) -> Result<&'static str, BadJob> {
    let text = asked.text("ioengine").unwrap_or_default();
    options::engine(&text).map_err(|reason| asked.refused("ioengine", reason))
}

/// I/Os that a clone may have under way: far above what any kernel takes, and what is kept of each still fits in memory.
const DEPTH_MAX: u32 = 1 << 20;

/// `alters`: the job writes.
pub(super) fn engine(
    asked: &mut Asked<'_>,
    name: &'static str,
    nfs_urls: Vec<String>,
    alters: bool,
) -> Result<EngineChoice, BadJob> {
    if name == "nfs" && nfs_urls.is_empty() {
        return Err(asked.together("fio: ioengine=nfs requires nfs_url=nfs://server/export"));
    }
    let nconnect = asked.count("x_nconnect").filter(|_| takes_urls(name));
    if nconnect.is_some() && nfs_urls.is_empty() {
        return Err(
            asked.together("fio: x_nconnect requires nfs_url; on a kernel mount nconnect is an option of the mount")
        );
    }
    let depth = asked.count("iodepth").unwrap_or(1);
    let waits = WAITING.contains(&name) || METADATA.contains(&name) && nfs_urls.is_empty();
    if waits && depth > 1 {
        asked.note("note: both iodepth >= 1 and synchronous I/O engine are selected, queue depth will be capped at 1");
    }
    if !waits && depth > DEPTH_MAX {
        return Err(asked.bad("iodepth", format!("{depth} I/Os under way; {DEPTH_MAX} are possible")));
    }
    let in_flight = if waits { 1 } else { depth };
    let capped = |count: Option<u32>| count.filter(|count| (1..=in_flight).contains(count)).unwrap_or(in_flight);
    let least = asked.count("iodepth_batch_complete_min").unwrap_or(1).min(in_flight);
    let most = asked.count("iodepth_batch_complete_max").unwrap_or(0).min(in_flight);
    let of_engine = |option: &str| options::find(option).is_some_and(|spec| spec.engines.contains(&name));
    let is = |option: &str| of_engine(option) && asked.is(option);
    let at_one = |option: &str| of_engine(option) && asked.number(option) == Some(1);
    let uring = UringChoice {
        fixedbufs: is("fixedbufs"),
        registerfiles: is("registerfiles"),
        hipri: is("hipri"),
        sqthread_poll: is("sqthread_poll"),
        nonvectored: at_one("nonvectored"),
        uncached: at_one("uncached"),
    };
    Ok(EngineChoice {
        name,
        depth,
        in_flight,
        batch: capped(asked.count("iodepth_batch")),
        // 0 at least and 0 at most would never take anything.
        complete: (least, most.max(least).max(1)),
        low: capped(asked.count("iodepth_low")),
        direct: direct(asked, name, !nfs_urls.is_empty()),
        serialize_overlap: asked.is("serialize_overlap") && alters && in_flight > 1,
        uring,
        nfs_urls,
        nconnect,
    })
}

/// direct= and buffered= say the same; the last of the two holds.
fn direct(asked: &mut Asked<'_>, engine: &str, has_urls: bool) -> bool {
    let direct = asked.job.all().rev().find_map(|given| match (given.spec.name, &given.value) {
        ("direct", Value::Bool(direct)) => Some(*direct),
        ("buffered", Value::Bool(buffered)) => Some(!buffered),
        _ => None,
    });
    let direct = direct.unwrap_or(false);
    if direct && has_urls {
        asked.note(format!(
            "fio: direct=1 changes nothing with ioengine={engine} over NFS: there is no cache on this side"
        ));
    } else if direct && engine == "mmap" {
        asked.note("fio: direct=1 changes nothing with ioengine=mmap, which works in the page cache");
    }
    if asked.is("bs_unaligned") && direct {
        asked.note("fio: bs_unaligned may not work with raw io");
    }
    direct && !has_urls && engine != "mmap"
}

pub(super) fn syncs(asked: &Asked<'_>, engine: &EngineChoice) -> Result<Syncs, BadJob> {
    let range = match asked.text("sync_file_range") {
        Some(text) => range(&text).map_err(|reason| asked.bad("sync_file_range", reason))?,
        None => None,
    };
    if range.is_some() && !engine.nfs_urls.is_empty() {
        return Err(asked.refused("sync_file_range", "NFSv3 has only COMMIT; use fdatasync="));
    }
    Ok(Syncs {
        fsync: asked.number("fsync").unwrap_or(0),
        fdatasync: asked.number("fdatasync").unwrap_or(0),
        range,
        end_fsync: asked.is("end_fsync"),
        fsync_on_close: asked.is("fsync_on_close"),
        open: match asked.word("sync") {
            "sync" | "1" => OpenSync::Sync,
            "dsync" => OpenSync::DSync,
            _ => OpenSync::None,
        },
    })
}

/// Flags of sync_file_range(2).
const RANGE_FLAGS: [(&str, u32); 3] = [("wait_before", 1), ("write", 2), ("wait_after", 4)];

/// `wait_before,write:8`: flags, and after how many writes; 0 writes mean never.
fn range(text: &str) -> Result<Option<(u32, u64)>, String> {
    let (words, writes) = match text.rsplit_once(':') {
        Some((words, number)) if number.trim().starts_with(|c: char| c.is_ascii_digit()) => match number.trim().parse()
        {
            Ok(number) => (words, number),
            Err(_) => return Err(format!("'{number}' is not a number of writes")),
        },
        _ => (text, 1),
    };
    let mut flags = 0;
    for word in words.split([',', ':']) {
        let Some((_, flag)) = RANGE_FLAGS.iter().find(|(name, _)| *name == word.trim()) else {
            return Err(format!("'{word}' is none of wait_before, write, wait_after"));
        };
        flags |= flag;
    }
    Ok((writes > 0).then_some((flags, writes)))
}

pub(super) fn host(asked: &Asked<'_>) -> HostChoice {
    let cpus = match asked.value("cpus_allowed") {
        Some(Value::Cpus(cpus)) => Some((cpus, asked.word("cpus_allowed_policy") == "split")),
        _ => None,
    };
    let nodes = match asked.value("numa_cpu_nodes") {
        Some(Value::Cpus(nodes)) => nodes,
        _ => Vec::new(),
    };
    let small = |name: &str| asked.number(name).map(|number| number as u8);
    let prio = match (small("prioclass"), small("prio")) {
        (None, None) => None,
        // As in fio: best effort where no class is given.
        (class, level) => Some((class.filter(|class| *class > 0).unwrap_or(2), level.unwrap_or(0))),
    };
    HostChoice {
        cpus,
        nodes,
        uid: asked.count("uid"),
        gid: asked.count("gid"),
        prio,
        nice: asked.signed("nice").filter(|nice| *nice != 0).map(|nice| nice as i32),
        before: asked.text("exec_prerun"),
        after: asked.text("exec_postrun"),
    }
}
