//! A job as the planner sees it: what it asks of one mount target.

use crate::load::Direction;
use crate::load::engine::metadata::Operation;
use crate::load::pace::Rate;
use crate::load::settings::Settings;
use crate::plan::load::Asked;

/// True of jobs that read and write data.
pub fn moves_data(job: &Settings) -> bool {
    Operation::named(job.engine.name).is_none() && job.engine.name != "null"
}

/// True of jobs whose I/Os are READs and WRITEs, each once: over NFS, or past the kernel's cache.
pub fn is_priced(job: &Settings) -> bool {
    moves_data(job) && (!job.engine.nfs_urls.is_empty() || job.engine.direct)
}

/// On how many targets a job works: its URLs, or its directories.
pub fn targets(job: &Settings) -> usize {
    match job.engine.nfs_urls.len() {
        0 => job.files.directories.len().max(1),
        urls => urls,
    }
}

/// What `clones` of the job ask together. Of sizes that differ it is the middle.
pub fn asked(job: &Settings, clones: f64) -> Asked {
    let (reads, writes) = (job.load.reads(), job.load.writes());
    let read_share = match (reads, writes) {
        (true, true) => job.load.read_percent as f64 / 100.0,
        (true, false) => 1.0,
        (false, _) => 0.0,
    };
    let bytes = |direction: Direction| {
        let (low, high) = job.load.blocks[direction];
        (low / 2 + high / 2 + (low % 2 + high % 2) / 2).max(1)
    };
    let of = [(Direction::Read, read_share), (Direction::Write, 1.0 - read_share)];
    let limits = of.into_iter().filter(|(_, share)| *share > 0.0).filter_map(|(direction, share)| {
        let ios = match job.pacing.rate[direction]? {
            Rate::Bytes(rate) => rate as f64 / bytes(direction) as f64,
            Rate::Ios(rate) => rate as f64,
        };
        Some(clones * ios / share)
    });
    Asked {
        read_share,
        read_bytes: bytes(Direction::Read),
        write_bytes: bytes(Direction::Write),
        in_flight: clones * f64::from(job.engine.in_flight),
        ios_per_s_max: limits.reduce(f64::min),
    }
}
