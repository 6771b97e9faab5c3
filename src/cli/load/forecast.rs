//! A job as the planner sees it: what it asks of one mount target.

use crate::load::Direction;
use crate::load::engine::metadata::Operation;
use crate::load::pace::Rate;
use crate::load::settings::Settings;
use crate::plan::load::{Asked, Pauses};

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
    let pauses = pauses(job);
    // What a clone waits for one of its I/Os; a rate goes on behind it instead of catching up.
    let waits = if job.pacing.ignore_thinktime { pauses.seconds / f64::from(job.engine.in_flight.max(1)) } else { 0.0 };
    let limits = of.into_iter().filter(|(_, share)| *share > 0.0).filter_map(|(direction, share)| {
        let ios = match job.pacing.rate[direction]? {
            Rate::Bytes(rate) => rate as f64 / bytes(direction) as f64,
            Rate::Ios(rate) => rate as f64,
        };
        let ios = ios / share;
        Some(clones * ios / (1.0 + waits * ios))
    });
    Asked {
        read_share,
        read_bytes: bytes(Direction::Read),
        write_bytes: bytes(Direction::Write),
        in_flight: clones * f64::from(job.engine.in_flight),
        ios_per_s_max: limits.reduce(f64::min),
        pauses,
    }
}

/// thinktime=, in which a clone starts nothing: after so many I/Os, or so much time.
fn pauses(job: &Settings) -> Pauses {
    let think = &job.pacing.think;
    let pause = think.pause.as_secs_f64();
    match think.io_time.is_zero() {
        true => {
            let seconds = pause * f64::from(job.engine.in_flight) / think.blocks.max(1) as f64;
            Pauses { seconds, share: 0.0 }
        }
        false => Pauses { seconds: 0.0, share: pause / think.io_time.as_secs_f64() },
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::load::commandline::{Asked as Line, parse};
    use crate::load::general::General;
    use crate::load::settings::settle;
    use crate::plan::ServerProfile;

    /// As a run on an engine without latency: fio 3.33 gave 3960 I/Os a second for the first, and 320 for the third.
    #[test]
    fn thinktime_is_counted() {
        for (line, wanted) in [
            ("--thinktime=1000 --thinktime_blocks=4", 4000.0),
            ("--thinktime=1000 --thinktime_blocks=4 --numjobs=2", 8000.0),
            ("--thinktime=3125 --ioengine=libaio --iodepth=4", 320.0),
            ("--thinktime=100ms --thinktime_blocks=10 --rate_iops=100", 100.0),
            ("--thinktime=100ms --thinktime_blocks=10 --rate_iops=100 --rate_ignore_thinktime=1", 50.0),
        ] {
            let words: Vec<String> =
                format!("--name=j --size=1m --rw=read --direct=1 {line}").split(' ').map(str::to_owned).collect();
            let Ok(Line::Run(run)) = parse(&words) else { panic!("{line}") };
            let job = settle(&run.jobs[0], &General::default()).unwrap().settings;
            let given = asked(&job, f64::from(job.clones)).given(&ServerProfile::oci(), Duration::ZERO);
            assert!((given.ios_per_s / wanted - 1.0).abs() < 1e-9, "{line}: {}", given.ios_per_s);
        }
    }
}
