//! A job as the planner sees it: what it asks of one mount target.

use crate::load::Direction;
use crate::load::engine::metadata::Operation;
use crate::load::offsets;
use crate::load::pace::Rate;
use crate::load::settings::Settings;
use crate::plan::load::{Asked, Commits, OneRate, Pauses, Sizes};

/// True of jobs that read and write data.
pub fn moves_data(job: &Settings) -> bool {
    Operation::named(job.engine.name).is_none() && job.engine.name != "null"
}

/// True of jobs whose I/Os are READs and WRITEs, each once: over NFS, or past the kernel's cache.
pub fn is_priced(job: &Settings) -> bool {
    moves_data(job) && (!job.engine.nfs_urls.is_empty() || job.engine.direct)
}

/// Options of the job by which fewer I/Os are in flight than its depth says, which `asked` does not know.
pub fn depths_left_out(job: &Settings) -> impl Iterator<Item = &'static str> {
    let low = (job.engine.low < job.engine.in_flight).then_some("iodepth_low=");
    low.into_iter().chain(job.pacing.latency.is_some().then_some("latency_target="))
}

/// On how many targets a job works: the hosts of its URLs, or its directories.
pub fn targets(job: &Settings) -> usize {
    match job.engine.nfs_urls.len() {
        0 => job.files.directories.len().max(1),
        _ => job.engine.nfs_urls.iter().map(|url| hosts(url).len()).sum(),
    }
}

/// The hosts of a URL; at least one.
pub fn hosts(url: &str) -> Vec<&str> {
    let hosts = url.strip_prefix("nfs://").and_then(|rest| rest.split('/').next()).unwrap_or_default();
    hosts.split(',').collect()
}

/// What `clones` of the job ask together.
pub fn asked(job: &Settings, clones: f64) -> Asked {
    let each = [Direction::Read, Direction::Write].map(|direction| sizes(&job.load.plans[direction].sizes));
    let bytes = each.each_ref().map(|sizes| sizes.iter().map(|(bytes, part)| *bytes as f64 * part).sum::<f64>());
    let rates = [(Direction::Read, bytes[0]), (Direction::Write, bytes[1])].map(|(direction, bytes)| {
        job.pacing.rate[direction].map(|rate| match rate {
            Rate::Bytes(rate) => rate as f64 / bytes,
            Rate::Ios(rate) => rate as f64,
        })
    });
    let read_share = match (job.load.reads(), job.load.writes(), rates) {
        // Rates of both say how many there are of each, whatever rwmixread= says.
        (true, true, [Some(reads), Some(writes)]) => reads / (reads + writes),
        (true, true, _) => job.load.read_percent as f64 / 100.0,
        (true, false, _) => 1.0,
        (false, ..) => 0.0,
    };
    let pauses = pauses(job);
    // What a clone waits for one of its I/Os; a rate goes on behind it instead of catching up.
    let waits = if job.pacing.ignore_thinktime { pauses.seconds / f64::from(job.engine.in_flight.max(1)) } else { 0.0 };
    // But for one I/O, which starts at once behind a pause that is longer than its turn.
    let per_pause = job.pacing.think.blocks.map_or(f64::INFINITY, |blocks| blocks.get() as f64);
    let pause = job.pacing.think.pause.as_secs_f64();
    let behind = |ios: f64| {
        let caught_up = if waits > 0.0 && 1.0 / ios <= pause { 1.0 / per_pause } else { 0.0 };
        clones * ios / (1.0 + waits * ios - caught_up)
    };
    // What has no rate of its own is not held up by the other's, as in fio.
    let one_rate = match (read_share > 0.0 && read_share < 1.0, rates) {
        (true, [Some(reads), None]) => Some(OneRate::Reads(behind(reads))),
        (true, [None, Some(writes)]) => Some(OneRate::Writes(behind(writes))),
        _ => None,
    };
    let limits = rates.into_iter().zip([read_share, 1.0 - read_share]).filter_map(|(rate, share)| {
        let ios = rate.filter(|_| share > 0.0 && one_rate.is_none())? / share;
        Some(behind(ios))
    });
    let [read_bytes, write_bytes] = bytes.map(|bytes| (bytes.round() as u64).max(1));
    Asked {
        read_share,
        read_bytes,
        write_bytes,
        ios_per_s_max: limits.reduce(f64::min),
        one_rate,
        sizes: each,
        commits: commits(job, 1.0 - read_share),
        in_flight: clones * f64::from(job.engine.in_flight),
        pauses,
    }
}

/// Sizes of a bsrange= that are looked at.
const RANGE_SIZES_MAX: u64 = 1024;

fn sizes(of: &offsets::Sizes) -> Sizes {
    match of {
        offsets::Sizes::Fixed(size) => vec![(*size, 1.0)],
        offsets::Sizes::Range(low, high) => {
            // Multiples of the smallest; of many, some at even distances.
            let count = (high / (*low).max(1)).max(1);
            let looked_at = count.min(RANGE_SIZES_MAX);
            let at = |i: u64| low * (1 + (u128::from(i) * u128::from(count) / u128::from(looked_at)) as u64);
            (0..looked_at).map(|i| (at(i), 1.0 / looked_at as f64)).collect()
        }
        offsets::Sizes::Split(split) => {
            let whole: f64 = split.iter().map(|one| f64::from(one.percent)).sum();
            split.iter().map(|one| (one.size, f64::from(one.percent) / whole)).collect()
        }
    }
}

/// fsync= and fdatasync=, of the NFS client: a COMMIT after so many writes, for which those in flight are waited for first.
fn commits(job: &Settings, write_share: f64) -> Commits {
    let often = |writes: u64| if writes > 0 { write_share / writes as f64 } else { 0.0 };
    let (fsync, fdatasync) = (job.syncs.fsync, job.syncs.fdatasync);
    // Where both are due, one COMMIT is sent.
    let meet = if fsync > 0 && fdatasync > 0 { (fsync / gcd(fsync, fdatasync)).saturating_mul(fdatasync) } else { 0 };
    let per_io = often(fsync) + often(fdatasync) - often(meet);
    // Reads among the writes, and two that meet now and then, make it more or less than that many from one to the next.
    let is_even = write_share >= 1.0 && meet <= fsync.max(fdatasync);
    if per_io <= 0.0 || job.engine.nfs_urls.is_empty() {
        return Commits::default();
    }
    let (between, depth) = (1.0 / per_io, f64::from(job.engine.in_flight.max(1)));
    // Half a round too many on average then, where rounds have several.
    let rounds = if is_even { (between / depth).ceil() } else { between / depth + 0.5 * (1.0 - 1.0 / depth) };
    Commits { per_io, share: depth * (rounds + 1.0) / between - 1.0 }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// thinktime=, in which a clone starts nothing: after so many I/Os, or so much time. Those in flight end first: so many I/Os take the
/// answers that they wait for, at least one, and the pause.
fn pauses(job: &Settings) -> Pauses {
    let think = &job.pacing.think;
    let (pause, depth) = (think.pause.as_secs_f64(), f64::from(job.engine.in_flight.max(1)));
    let share = if think.io_time.is_zero() { 0.0 } else { pause / think.io_time.as_secs_f64() };
    let Some(blocks) = think.blocks.map(|blocks| blocks.get() as f64).filter(|_| pause > 0.0) else {
        return Pauses { share, ..Pauses::default() };
    };
    Pauses { seconds: pause * depth / blocks, drained: depth * (blocks / depth).ceil() / blocks - 1.0, share }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::load::commandline::{Asked as Line, parse};
    use crate::load::general::General;
    use crate::load::settings::settle;
    use crate::plan::ServerProfile;

    fn given(line: &str, latency: Duration) -> f64 {
        let words: Vec<String> = format!("--name=j --size=1m {line}").split(' ').map(str::to_owned).collect();
        let Ok(Line::Run(run)) = parse(&words) else { panic!("{line}") };
        let job = settle(&run.jobs[0], &General::default()).unwrap().settings;
        asked(&job, f64::from(job.clones)).given(&ServerProfile::oci(), latency).ios_per_s
    }

    /// As `parfs load` on `parfs sim --latency 20ms`, which gave 24.7, 39.2, 24.4, 190.6, 300.3, 32.5 and 156.0.
    #[test]
    fn commits_are_waited_for() {
        for (line, wanted) in [
            ("--rw=randwrite --fsync=1", 25.0),
            ("--rw=randwrite --fsync=4", 40.0),
            ("--rw=randwrite --fsync=1 --iodepth=8", 25.0),
            ("--rw=randwrite --fsync=8 --iodepth=8", 200.0),
            ("--rw=randwrite --fsync=32 --iodepth=8", 320.0),
            ("--rw=randrw --fdatasync=1", 100.0 / 3.0),
            ("--rw=randwrite --fsync=4 --fdatasync=2 --iodepth=4", 50.0),
            ("--rw=randwrite --fsync=2 --fdatasync=3", 30.0),
            ("--rw=randrw --fsync=4 --iodepth=8", 164.1),
            ("--rw=randread --fsync=4 --iodepth=8", 400.0),
        ] {
            let is = given(&format!("--ioengine=nfs --nfs_url=nfs://a/b {line}"), Duration::from_millis(20));
            assert!((is / wanted - 1.0).abs() < 1e-3, "{line}: {is}");
        }
    }

    /// Of two rates the mix is theirs; sizes that differ have prices that differ.
    #[test]
    fn rates_and_sizes_of_several_kinds_are_counted() {
        for (line, wanted) in [
            ("--rw=randrw --rate_iops=100,50", 150.0),
            ("--rw=randrw --rate_iops=100", 200.0),
            ("--rw=randread --bssplit=4k/50:40k/50", 50_000.0 / 2.5),
            ("--rw=randread --bsrange=4k-64k", 50_000.0 / 2.5),
        ] {
            let is = given(&format!("--ioengine=libaio --iodepth=256 --direct=1 {line}"), Duration::ZERO);
            assert!((is / wanted - 1.0).abs() < 1e-9, "{line}: {is}");
        }
    }

    /// As `parfs load` on `parfs sim --latency 20ms`, which gave 46.7, 186 and 758, and 194 with a rate of one direction.
    #[test]
    fn pauses_wait_for_what_is_in_flight() {
        for (line, wanted) in [
            ("--iodepth=16 --thinktime=1ms --thinktime_blocks_type=issue", 1.0 / 0.021),
            ("--iodepth=16 --thinktime=1ms --thinktime_blocks=4 --thinktime_blocks_type=issue", 4.0 / 0.021),
            ("--iodepth=16 --thinktime=1ms --thinktime_blocks=64", 64.0 / 0.081),
            ("--iodepth=4 --rw=randrw --rate_iops=20,", 200.0),
            ("--iodepth=4 --rw=randrw --rate_iops=,20", 200.0),
        ] {
            let line = format!("--ioengine=nfs --nfs_url=nfs://a/b --rw=randread --bs=4k {line}");
            let is = given(&line, Duration::from_millis(20));
            assert!((is / wanted - 1.0).abs() < 1e-3, "{line}: {is}");
        }
        // Ten reads a second, each for 2 IOPS, and the rest writes for 4.
        let one = "--ioengine=nfs --nfs_url=nfs://a/b --iodepth=256 --rw=randrw --bs=4k --rate_iops=10,";
        let is = given(one, Duration::from_millis(1));
        assert!((is - (10.0 + (50_000.0 - 20.0) / 4.0)).abs() < 1.0, "{is}");
        // A write of 1 MiB is 66.
        let dear =
            "--ioengine=nfs --nfs_url=nfs://a/b --iodepth=256 --rw=randrw --rwmixread=90 --bs=4k,1m --rate_iops=1000,";
        let is = given(dear, Duration::from_millis(1));
        assert!((is - (1000.0 + (50_000.0 - 2000.0) / 66.0)).abs() < 1.0, "{is}");
    }

    /// As a run on an engine without latency: fio 3.33 gave 3960 I/Os a second for the first, and 320 for the third.
    #[test]
    fn thinktime_is_counted() {
        for (line, wanted) in [
            ("--thinktime=1000 --thinktime_blocks=4", 4000.0),
            ("--thinktime=1000 --thinktime_blocks=4 --numjobs=2", 8000.0),
            ("--thinktime=3125 --ioengine=libaio --iodepth=4", 320.0),
            ("--thinktime=100ms --thinktime_blocks=10 --rate_iops=100", 100.0),
            ("--thinktime=100ms --thinktime_blocks=10 --rate_iops=100 --rate_ignore_thinktime=1", 1000.0 / 19.0),
            ("--thinktime=5ms --rate_iops=100 --rate_ignore_thinktime=1", 200.0 / 3.0),
            ("--thinktime=50ms --rate_iops=100 --rate_ignore_thinktime=1", 20.0),
        ] {
            let is = given(&format!("--rw=read --direct=1 {line}"), Duration::ZERO);
            assert!((is / wanted - 1.0).abs() < 1e-9, "{line}: {is}");
        }
    }
}
