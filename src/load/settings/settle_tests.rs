use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::time::Duration;

use super::super::super::commandline::{self, Asked as Line};
use super::super::super::distribution::Distribution;
use super::super::super::offsets::{Order as Visits, Sizes};
use super::super::super::options::{Given, OptionError, TABLE};
use super::super::super::pace::Rate;
use super::super::super::value::KbBase;
use super::super::super::verify::Check;
use super::super::{Advice, Allocate, Content, FileName, OpenSync, Service, WindowValue};
use super::*;

/// The first job of a command line; blanks that stand ahead of `--` separate its words.
pub(in super::super) fn settled(line: &str) -> Result<Settled, String> {
    settled_with(line, |_| ())
}

fn settled_with(line: &str, change: impl FnOnce(&mut General)) -> Result<Settled, String> {
    let words = line.trim_start_matches("--").split(" --").map(|word| format!("--{}", word.trim()));
    let Line::Run(mut line) = commandline::parse(&words.collect::<Vec<_>>()).map_err(|error| error.to_string())? else {
        panic!("{line} runs nothing");
    };
    change(&mut line.general);
    settle(&line.jobs[0], &line.general).map_err(|error| error.to_string())
}

fn job(options: &str) -> Settings {
    settled(&format!("--name=j {options}")).unwrap_or_else(|error| panic!("{options}: {error}")).settings
}

fn notices(options: &str) -> Vec<String> {
    settled(&format!("--name=j {options}")).unwrap().notices
}

fn error(options: &str) -> String {
    settled(&format!("--name=j {options}")).unwrap_err()
}

#[test]
fn each_option_of_the_table_is_in_one_list() {
    let mut named = BTreeSet::new();
    for name in CARRIED.iter().chain(WITHOUT_EFFECT.iter().map(|(name, _)| name)) {
        assert!(named.insert(*name), "{name} twice");
    }
    assert_eq!(named, TABLE.iter().map(|spec| spec.name).collect());
}

/// What an option needs beside it to show, if anything, and a value that is not its default.
#[rustfmt::skip] // a table is read by columns
const SAMPLES: &[(&str, &str)] = &[
    ("", "description=text"), ("", "name=other"), ("", "wait_for=before"), ("", "filename=a:b"), ("", "directory=/a"),
    ("", "filename_format=$filenum"), ("", "x_targets=/a:/b"), ("", "x_per_target"), ("", "x_samples"),
    ("", "rw=write"), ("", "bs=8k"), ("", "bsrange=1k-2k"), ("", "bssplit=1k/50:2k/50"), ("rw=randread", "ba=8k"),
    ("", "bs_unaligned"), ("", "randrepeat=0"), ("randrepeat=0", "allrandrepeat=1"), ("", "randseed=5"), ("", "norandommap"),
    ("", "random_distribution=zipf:1.2"), ("", "percentage_random=50"), ("rw=randread:8", "rw_sequencer=identical"),
    ("rw=randrw", "rwmixread=70"), ("rw=randrw", "rwmixwrite=70"),
    ("", "ioengine=libaio"), ("ioengine=null", "iodepth=8"), ("ioengine=null --iodepth=8", "iodepth_batch=4"),
    ("ioengine=null --iodepth=8", "iodepth_batch_complete_min=4"), ("ioengine=null --iodepth=8", "iodepth_batch_complete_max=4"),
    ("ioengine=null --iodepth=8", "iodepth_low=4"), ("ioengine=null --iodepth=8 --rw=write", "serialize_overlap=1"),
    ("", "direct=1"), ("", "buffered=0"), ("ioengine=io_uring", "registerfiles"), ("ioengine=io_uring", "fixedbufs"),
    ("ioengine=pvsync2", "hipri"), ("ioengine=io_uring", "sqthread_poll"), ("ioengine=io_uring", "nonvectored=0"),
    ("ioengine=pvsync2", "uncached=1"), ("ioengine=filestat", "nfs_url=nfs://a/b"),
    ("ioengine=nfs --nfs_url=nfs://a/b", "x_nconnect=4"),
    ("", "size=1m"), ("", "io_size=1m"), ("rw=write", "fill_device=1"), ("", "filesize=1k-2k"), ("", "file_append=1"),
    ("", "offset=1m"), ("", "offset_increment=1m"), ("", "offset_align=8k"), ("", "number_ios=5"), ("", "nrfiles=3"),
    ("", "file_service_type=random:4"), ("nrfiles=3", "openfiles=2"), ("", "fallocate=none"), ("", "fadvise_hint=0"), ("", "overwrite=1"),
    ("", "invalidate=0"), ("", "create_fsync=0"), ("", "create_on_open=1"), ("", "create_only=1"),
    ("", "allow_file_create=0"), ("", "pre_read=1"), ("", "unlink=1"), ("", "unlink_each_loop=1"),
    ("", "fsync=1"), ("", "fdatasync=1"), ("", "end_fsync=1"), ("", "fsync_on_close=1"), ("", "sync=dsync"), ("", "sync_file_range=write:8"),
    ("", "loops=2"), ("", "numjobs=2"), ("", "startdelay=1-2"), ("", "runtime=5"), ("runtime=5", "time_based"), ("", "ramp_time=5"),
    ("", "verify=md5"), ("verify=md5", "do_verify=0"), ("", "verify_pattern=0xff"), ("verify=md5", "verify_fatal=1"),
    ("verify=md5", "verify_only"), ("verify=md5", "verify_interval=512"), ("verify=md5", "verify_offset=64"), ("verify=md5", "verify_dump=1"),
    ("verify=md5", "verify_backlog=8"), ("verify=md5 --verify_backlog=8", "verify_backlog_batch=4"),
    ("rw=write --verify=md5", "verify_write_sequence=0"), ("verify=md5", "verify_header_seed=1"),
    ("", "thinktime=10"), ("thinktime=10", "thinktime_spin=5"), ("", "thinktime_blocks=4"), ("", "thinktime_blocks_type=issue"),
    ("", "thinktime_iotime=5"), ("", "rate=1m"), ("", "rate_iops=100"), ("", "rate_min=1m"), ("", "rate_iops_min=100"),
    ("", "rate_process=poisson"), ("", "rate_cycle=500"), ("", "rate_ignore_thinktime=1"), ("", "max_latency=5"),
    ("", "latency_target=500"), ("latency_target=500", "latency_window=1000"), ("latency_target=500", "latency_percentile=99"),
    ("latency_target=500", "latency_run=1"), ("steadystate_duration=5", "steadystate=bw:5%"), ("", "steadystate_duration=5"),
    ("steadystate_duration=5", "steadystate_ramp_time=5"),
    ("", "exitall"), ("", "exitall_on_error"), ("", "exit_what=all"), ("", "stonewall"), ("", "new_group"), ("", "thread"),
    ("", "group_reporting"), ("", "per_job_logs=0"), ("", "write_bw_log=p"), ("", "write_lat_log=p"), ("", "write_iops_log=p"),
    ("", "write_hist_log=p"), ("", "log_avg_msec=500"), ("", "log_offset=1"), ("", "log_hist_msec=500"), ("", "log_hist_coarseness=2"),
    ("", "log_max_value=1"), ("", "log_window_value=both"), ("", "log_unix_epoch=1"), ("", "bwavgtime=100"), ("", "iopsavgtime=100"),
    ("", "zero_buffers"), ("", "refill_buffers"), ("", "scramble_buffers=0"), ("", "buffer_pattern=0xff"),
    ("", "buffer_compress_percentage=50"), ("buffer_compress_percentage=50", "buffer_compress_chunk=4096"), ("", "dedupe_percentage=50"),
    ("", "iomem_align=65536"),
    ("", "clat_percentiles=0"), ("", "lat_percentiles=1"), ("", "slat_percentiles=1"), ("", "percentile_list=50:99"),
    ("", "significant_figures=6"), ("", "gtod_reduce=1"), ("", "disable_lat=1"), ("", "disable_clat=1"), ("", "disable_slat=1"),
    ("", "disable_bw_measurement=1"), ("", "stats=0"), ("", "kb_base=1000"), ("", "unit_base=1"), ("", "unified_rw_reporting=mixed"),
    ("", "disk_util=0"),
    ("", "continue_on_error=io"), ("", "ignore_error=ENOSPC"), ("", "error_dump=1"),
    ("", "write_iolog=l"), ("", "read_iolog=l"), ("read_iolog=l", "replay_no_stall=1"), ("read_iolog=l", "replay_time_scale=50"),
    ("read_iolog=l", "replay_scale=2"), ("read_iolog=l", "replay_align=512"),
    ("", "exec_prerun=true"), ("", "exec_postrun=true"), ("", "nice=5"), ("", "cpus_allowed=0-1"),
    ("cpus_allowed=0-1", "cpus_allowed_policy=split"), ("", "numa_cpu_nodes=0"), ("", "uid=5"), ("", "gid=5"), ("", "prio=3"), ("", "prioclass=3"),
    ("", "opendir=d"), ("verify=md5", "verify_async=2"), ("verify=md5 --verify_async=2", "verify_async_cpus=0"), ("verify=md5", "verify_state_save=0"), ("verify=md5", "verify_state_load=1"),
];

#[test]
fn each_option_that_is_carried_changes_the_settings() {
    let without_texts = |options: &str| {
        let mut settings = job(options);
        settings.own.clear();
        settings
    };
    // `--name=` begins a job; within one it is a job file's.
    let line = |context: &str| if context.is_empty() { String::new() } else { format!("--{context}") };
    for (context, sample) in SAMPLES.iter().filter(|(_, sample)| !sample.starts_with("name=")) {
        let before = without_texts(&line(context));
        let after = without_texts(format!("{} --{sample}", line(context)).trim_start());
        assert_ne!(before, after, "{sample}");
    }
    let tested: BTreeSet<&str> = SAMPLES.iter().map(|(_, sample)| sample.split('=').next().unwrap()).collect();
    assert_eq!(tested, CARRIED.iter().copied().collect());
}

#[test]
fn a_job_may_be_renamed() {
    let mut options = vec![Given::new("write_bw_log", None, KbBase::Binary).unwrap()];
    options.push(Given::new("name", Some("other"), KbBase::Binary).unwrap());
    let job = Job { section: "s".into(), globals: vec![], options, input: 3 };
    let settings = settle(&job, &General::default()).unwrap().settings;
    assert_eq!((settings.section.as_str(), settings.name.as_str(), settings.input), ("s", "other", 3));
    assert_eq!(settings.logs.bw.as_deref(), Some("other"), "a log without a prefix has the job's name");
}

#[test]
fn what_is_not_carried_out_is_refused_by_name() {
    assert_eq!(notices("--steadystate_duration=0"), [""; 0]);
    assert!(error("--opendir=d --ioengine=nfs --nfs_url=nfs://a/b").contains("an export is not searched"));
    assert!(error("--buffer_pattern=0x12%o").contains("%o is for verify_pattern"));
    assert!(error("--verify=md5 --verify_async=257").contains("257 threads; 256 are possible"));
    assert_eq!(job("--prio=3").host.prio, Some((2, 3)));
    assert_eq!(job("--prioclass=1").host.prio, Some((1, 0)));
    assert!(error("--verify=pattern --verify_pattern='f'").contains("patterns from files are not supported"));
    assert!(error("--rw=read:-4k").starts_with("fio: option 'rw=read:-4k' is not supported here"));
    assert!(error("--sync_file_range=write:8 --ioengine=nfs --nfs_url=nfs://a/b").contains("NFSv3 has only COMMIT"));
}

#[test]
fn what_changes_nothing_is_told_where_one_could_think_otherwise() {
    assert_eq!(notices("--unique_filename=0 --disk_util=0 --softrandommap=1 --log_entries=2048"), [""; 0]);
    assert_eq!(
        notices("--clocksource=cpu"),
        ["fio: clocksource changes nothing: the clock is always the system's monotonic one"]
    );
    assert_eq!(notices("--random_generator=lfsr").len(), 1);
    assert_eq!(notices("--random_generator=tausworthe64"), [""; 0]);
    assert_eq!(
        notices("--runtime=2sec"),
        ["fio: runtime=2sec is taken as it reads; fio itself cuts it off or takes another unit"]
    );
}

#[test]
fn blocks_by_direction() {
    let blocks = |options| job(options).load.blocks;
    let each = |read, write, trim| super::super::super::Each { read, write, trim };
    assert_eq!(blocks("--bs=4k,8k"), each((4096, 4096), (8192, 8192), (8192, 8192)));
    assert_eq!(blocks("--bs=8k,,16k"), each((8192, 8192), (4096, 4096), (16384, 16384)));
    assert_eq!(
        blocks("--bs=1k --bs=,8k"),
        each((1024, 1024), (8192, 8192), (8192, 8192)),
        "what was given before stays"
    );
    assert_eq!(
        blocks("--bsrange=1k-4k --bs=8k"),
        each((1024, 4096), (1024, 4096), (1024, 4096)),
        "ranges go before bs="
    );
    assert_eq!(blocks("--bssplit=2k/50:16k/50,8k/100"), each((2048, 16384), (8192, 8192), (8192, 8192)));
    assert_eq!(job("--bsrange=4k-4k").load.plans.read.sizes, Sizes::Fixed(4096));
    assert!(error("--bsrange=0-4k").contains("a block of 0 bytes"));
    assert_eq!(
        error("--size=4k --bs=8k"),
        "fio: size too small, must not be less than minimum block size: 4096 < 8192"
    );
}

#[test]
fn offsets_and_mixes() {
    let plan = |options| job(options).load.plans.read;
    assert_eq!(plan("--rw=read:8k").order, Visits::Sequential { skip: 8192 });
    assert_eq!(plan("--rw=randread:8 --rw_sequencer=identical").order, Visits::Random { run: 8, identical: true });
    assert_eq!(plan("--rw=randread").order, Visits::Random { run: 1, identical: false });
    assert!(error("--rw=randread:0").contains("is not a number of I/Os"));
    assert!(plan("--rw=randread").map && !plan("--rw=randread --norandommap").map);
    let zipf = plan("--rw=randread --random_distribution=zipf:1.2");
    assert_eq!((zipf.map, zipf.distribution), (false, Distribution::Zipf { theta: 1.2, center: None }));
    assert!(error("--random_distribution=zipf:1").contains("zipf theta must be different than 1.0"));
    assert_eq!((plan("--rw=randread --blockalign=8k").align, plan("--rw=read --blockalign=8k").align), (8192, 4096));
    assert_eq!(notices("--rw=randread --blockalign=8k"), ["fio: Any use of blockalign= turns off randommap"]);
    assert_eq!(notices("--rw=randread --blockalign=8k --norandommap"), [""; 0]);
    let percent = |options| job(options).load.read_percent;
    assert_eq!([percent("--rw=rw"), percent("--rw=read --rwmixread=3"), percent("--rw=write")], [50, 100, 0]);
    assert_eq!(percent("--rw=rw --rwmixread=70 --rwmixwrite=10"), 90, "the last one holds");
    assert_eq!(percent("--rw=rw --rwmixwrite=10 --rwmixread=70"), 70);
    let load = job("--rw=randrw --rwmixread=0 --randseed=7").load;
    assert_eq!(
        (load.rw, load.reads(), load.writes(), load.is_random(), load.seed),
        ("randrw", true, true, true, Some(7))
    );
    assert_eq!(job("--readwrite=readwrite").load.rw, "rw");
    assert!(error("--offset_align=4k,8k").contains("one number holds for all directions"));
}

#[test]
fn depths() {
    let engine = |options: &str| job(options).engine;
    let shape = |options: &str| {
        let engine = engine(options);
        (engine.depth, engine.in_flight, engine.batch, engine.complete, engine.low)
    };
    assert_eq!(shape("--iodepth=32"), (32, 1, 1, (1, 1), 1));
    let capped = "note: both iodepth >= 1 and synchronous I/O engine are selected, queue depth will be capped at 1";
    assert_eq!(notices("--iodepth=32"), [capped]);
    for name in ["sync", "vsync", "pvsync", "pvsync2", "mmap", "filecreate", "dirdelete"] {
        assert_eq!(notices(&format!("--iodepth=2 --ioengine={name}")), [capped], "{name}");
    }
    assert_eq!(shape("--iodepth=32 --ioengine=null"), (32, 32, 1, (1, 1), 32));
    assert_eq!(notices("--iodepth=32 --ioengine=null"), [""; 0]);
    assert_eq!(shape("--iodepth=8 --ioengine=filestat --nfs_url=nfs://a/b").1, 8, "over NFS many are under way");
    let batches = "--iodepth_batch=16 --iodepth_batch_complete_min=8 --iodepth_low=64";
    assert_eq!(shape(&format!("--iodepth=32 --ioengine=libaio {batches}")), (32, 32, 16, (8, 8), 32));
    let google = "--iodepth=64 --ioengine=libaio --iodepth_batch_submit=64 --iodepth_batch_complete_max=64";
    assert_eq!(shape(google), (64, 64, 64, (1, 64), 64));
    assert_eq!(
        shape("--iodepth=8 --ioengine=libaio --iodepth_batch=0 --iodepth_batch_complete_min=0"),
        (8, 8, 8, (0, 1), 8)
    );
    assert!(!engine("--iodepth=8 --ioengine=libaio --serialize_overlap=1").serialize_overlap, "reads do not matter");
}

#[test]
fn direct_and_buffered() {
    let direct = |options| job(options).engine.direct;
    assert!(direct("--direct=1") && direct("--buffered=0") && !direct(""));
    assert!(!direct("--direct=1 --buffered=1") && direct("--buffered=1 --direct=1"), "the last one holds");
    assert!(!direct("--direct=1 --ioengine=mmap"));
    assert_eq!(notices("--direct=1 --ioengine=mmap").len(), 1);
    assert_eq!(notices("--direct=1 --ioengine=nfs --nfs_url=nfs://a/b").len(), 1);
}

#[test]
fn targets() {
    let urls = |text: &str| job(&format!("--ioengine=nfs --nfs_url={text}")).engine.nfs_urls;
    assert_eq!(urls("nfs://a/x?version=3"), ["nfs://a/x?version=3"]);
    assert_eq!(urls("nfs://a/x nfs://b/x"), ["nfs://a/x", "nfs://b/x"]);
    assert_eq!(urls("nfs://a/x,nfs://b/x"), ["nfs://a/x", "nfs://b/x"]);
    assert_eq!(urls("nfs://a/x, nfs://b,c/x"), ["nfs://a/x", "nfs://b,c/x"], "hosts of one entry");
    assert!(error("--ioengine=nfs --nfs_url=/mnt").contains("'/mnt' is not nfs://HOST/PATH"));
    assert!(error("--ioengine=nfs --nfs_url=nfs:///x").contains("is not nfs://HOST/PATH"));
    assert_eq!(error("--ioengine=nfs"), "fio: ioengine=nfs requires nfs_url=nfs://server/export");
    assert_eq!(job("--x_targets=/a:/b").files.directories, ["/a", "/b"]);
    assert_eq!(job("--ioengine=nfs --x_targets=nfs://a/x nfs://b/x").engine.nfs_urls, ["nfs://a/x", "nfs://b/x"]);
    assert!(error("--x_targets=/a --directory=/b").contains("mutually exclusive"));
    assert!(error("--ioengine=nfs --x_targets=nfs://a/x --nfs_url=nfs://b/x").contains("mutually exclusive"));
    assert!(error("--x_targets=nfs://a/x").contains("use ioengine=nfs"));
    assert!(error("--ioengine=nfs --x_targets=/a").contains("needs URLs"));
    assert!(error("--ioengine=filestat --x_nconnect=4").contains("requires nfs_url"));
    assert!(error("--ioengine=nfs --nfs_url=nfs://a/b --x_nconnect=17").contains("17 (16 max)"));
    assert_eq!(notices("--directory=/a:/b --filename=f").len(), 1);
    assert_eq!(notices("--directory=/a --filename=f"), [""; 0]);
}

#[test]
fn files_of_a_job() {
    let files = |options| job(options).files;
    assert_eq!((files("--filename=a:b:c --nrfiles=9").count, files("--nrfiles=9").count), (3, 9));
    assert_eq!([files("--nrfiles=9").open_max, files("--nrfiles=9 --openfiles=4").open_max], [9, 4]);
    assert_eq!([files("--nrfiles=9 --openfiles=0").open_max, files("--nrfiles=9 --openfiles=99").open_max], [9, 9]);
    assert_eq!(
        [files("--filesize=4k").size, files("--filesize=1m-4k").size],
        [Some((4096, 4096)), Some((4096, 1 << 20))]
    );
    assert_eq!(files("--file_service_type=random:8").service, (Service::Random, 8));
    let pareto = Distribution::Pareto { h: 0.3, center: None };
    assert_eq!(files("--file_service_type=pareto:0.3").service, (Service::By(pareto), 1));
    assert!(error("--file_service_type=sequential:x").contains("is not a number of I/Os"));
    assert!(!files("--pre_read=1 --invalidate=1").invalidate);
    assert_eq!([files("").allocate, files("--fallocate=0").allocate], [Allocate::Native, Allocate::None]);
    assert_eq!([files("").advice, files("--fadvise_hint=0").advice], [Advice::ByLoad, Advice::None]);
    assert!(
        error("--nrfiles=0").contains("a job without files") && error("--numjobs=0").contains("a job without clones")
    );
    assert!(error("--fill_device=1 --rw=randrw").contains("fill_device"));
}

/// Measured of fio 3.33.
#[test]
fn files_that_are_named_are_in_the_directory_that_stood_ahead_of_them() {
    let places = |line: &str| {
        let place = |file: &FileName| format!("{}/{}", file.directory.as_deref().unwrap_or("."), file.name);
        job(line).files.names.iter().map(place).collect::<Vec<_>>()
    };
    assert_eq!(places("--filename=a:b --filename=a"), ["./a", "./b", "./a"], "all that were named");
    assert_eq!(places("--directory=d:e --filename=a"), ["d/a"]);
    assert_eq!(places("--filename=a --directory=d --filename=b --directory=e"), ["./a", "d/b"]);
    assert_eq!(places("--filename=a --x_targets=/d:/e"), ["/d/a"], "which are of all of the job");
    let told = notices("--filename=a --directory=d");
    assert_eq!(told, ["fio: filename=a stands ahead of directory=d: as in fio that file is in no directory"]);
}

/// fio 3.33 takes them, and is ended for want of memory.
#[test]
fn what_no_memory_holds_is_refused_by_its_name() {
    let many = error("--ioengine=libaio --iodepth=100000000");
    assert!(many.contains("iodepth=100000000") && many.contains("1048576 are possible"), "{many}");
    assert_eq!(job("--ioengine=libaio --iodepth=1048576").engine.in_flight, 1 << 20);
    assert_eq!(job("--ioengine=psync --iodepth=100000000").engine.in_flight, 1, "as in fio");
    for options in ["--nrfiles=4294967295", "--nrfiles=16777217", "--nrfiles=1000000 --numjobs=20"] {
        let many = error(options);
        assert!(many.contains("nrfiles=") && many.contains("16777216 are possible"), "{many}");
    }
    assert_eq!(job("--nrfiles=16777216").files.count, 1 << 24);
    assert_eq!(job("--filename=a --nrfiles=4294967295").files.count, 1);
}

#[test]
fn syncs() {
    let range = |text: &str| job(&format!("--sync_file_range={text}")).syncs.range;
    assert_eq!(
        [range("write:8"), range("wait_before,write"), range("wait_before:write:2")],
        [Some((2, 8)), Some((3, 1)), Some((3, 2))]
    );
    assert_eq!(range("write:0"), None);
    assert!(error("--sync_file_range=foo:8").contains("'foo' is none of wait_before"));
    assert_eq!([job("--sync=1").syncs.open, job("--sync=dsync").syncs.open], [OpenSync::Sync, OpenSync::DSync]);
}

#[test]
fn rates_and_pauses() {
    let rate = job("--rate=4m,2m").pacing.rate;
    assert_eq!((rate.read, rate.write), (Some(Rate::Bytes(4 << 20)), Some(Rate::Bytes(2 << 20))));
    assert_eq!(job("--rate_iops=,500").pacing.rate.read, None);
    assert_eq!(error("--rate=1m --rate_iops=5"), "fio: rate and rate_iops are mutually exclusive");
    assert_eq!(error("--rate_min=1m --rate_iops_min=5"), "fio: rate and rate_iops are mutually exclusive");
    let exceeds = "fio: minimum rate exceeds rate, ddir 1\nfio: minimum rate exceeds rate, ddir 2";
    assert_eq!(error("--rate=,1m --rate_min=,2m"), exceeds);
    let think = job("--thinktime=10 --thinktime_spin=20 --thinktime_blocks=0").pacing.think;
    assert_eq!((think.spin, think.blocks), (Duration::from_micros(10), Some(NonZeroU64::MIN)));
    let think = job("--thinktime=10 --thinktime_iotime=2").pacing.think;
    assert_eq!((think.io_time, think.blocks), (Duration::from_secs(2), None));
    let both = job("--thinktime=10 --thinktime_iotime=2ms --thinktime_blocks=3").pacing.think;
    assert_eq!((both.io_time, both.blocks), (Duration::from_millis(2), NonZeroU64::new(3)));
}

#[test]
fn spans() {
    let settled = settled("--name=j --time_based --loops=0").unwrap();
    assert_eq!(settled.notices, ["fio: time_based requires a runtime/timeout setting"]);
    assert_eq!((settled.settings.span.time_based, settled.settings.span.loops), (false, 1));
    let fatal = settled_with("--name=j --time_based", |general| general.warnings_fatal = true);
    assert_eq!(fatal.unwrap_err(), "fio: time_based requires a runtime/timeout setting");
    let note = settled_with("--name=j --iodepth=2", |general| general.warnings_fatal = true);
    assert!(note.is_ok(), "a note is no warning");
}

#[test]
fn verification() {
    let verify = |options: &str| job(&format!("--rw=write {options}")).verify;
    assert_eq!(verify("--verify=0 --verify_pattern=0xff"), None);
    assert_eq!(verify("--verify_pattern=0xff").unwrap().check, Check::Pattern);
    let interval = |options: &str| verify(&format!("--verify=md5 {options}")).unwrap().interval;
    assert_eq!([interval("--bs=64k"), interval("--bs=64k --verify_interval=4k")], [65536, 4096]);
    assert_eq!(interval("--bs=4k --verify_interval=8k"), 4096, "no larger than a block");
    assert_eq!(interval("--bs=12k --verify_interval=8k"), 12288, "fio takes what divides the blocks");
    assert_eq!(interval("--bsrange=4k-64k"), 4096);
    assert!(error("--rw=write --verify=md5 --bs=64").starts_with("fio: verify=md5 needs blocks"));
    assert!(error("--rw=write --verify=pattern").contains("needs verify_pattern="));
    assert_eq!(verify("--verify=md5 --verify_backlog=8").unwrap().backlog, Some((8, 0)));
    let writers =
        "fio: multiple writers may overwrite blocks that belong to other jobs. This can cause verification failures.";
    assert_eq!(notices("--rw=write --verify=md5 --numjobs=2 --filename=f"), [writers]);
    assert_eq!(notices("--rw=write --verify=md5 --numjobs=2"), [""; 0]);
    assert_eq!(notices("--rw=write --verify=md5 --time_based --runtime=5").len(), 1, "it never comes to reading");
    assert_eq!(job("--rw=read --verify=md5 --bs=8k").verify.unwrap().interval, 8192);
}

#[test]
fn buffers() {
    let buffers = |options| job(options).buffers;
    let shape = |options| {
        let buffers = buffers(options);
        (buffers.content == Content::Zeros, buffers.refill, buffers.scramble)
    };
    assert_eq!(shape("--rw=write"), (false, false, true));
    assert_eq!(shape("--zero_buffers"), (true, false, false));
    assert_eq!(shape("--zero_buffers --scramble_buffers=1"), (true, false, true));
    assert_eq!(shape("--buffer_compress_percentage=100"), (true, false, false));
    assert_eq!(shape("--buffer_compress_percentage=50"), (false, true, false));
    assert_eq!(shape("--buffer_compress_percentage=50 --refill_buffers=0"), (false, false, false));
    assert_eq!(shape("--dedupe_percentage=50"), (false, true, false));
    assert_eq!(shape("--dedupe_percentage=50 --refill_buffers=0"), (false, false, false));
    assert_eq!(shape("--refill_buffers=0 --dedupe_percentage=50"), (false, true, false));
    assert_eq!(shape("--refill_buffers --dedupe_percentage=0"), (false, true, false));
    assert_eq!(shape("--rw=write --buffer_pattern=0xff --scramble_buffers=1"), (false, false, true), "as fio does");
    assert_eq!(shape("--rw=write --scramble_buffers=1 --buffer_pattern=0xff"), (false, false, false));
    assert!(matches!(buffers("--buffer_pattern=0xff --zero_buffers").content, Content::Pattern(_)));
    assert_eq!(shape("--rw=write --verify=md5"), (false, true, false));
    assert_eq!(shape("--rw=write --buffer_pattern=0xff"), (false, false, false));
    assert_eq!(shape("--rw=rw --buffer_pattern=0xff"), (false, true, false), "reads leave something else behind");
    assert!(matches!(
        buffers("--buffer_compress_percentage=30 --buffer_pattern=0xff").content,
        Content::Compressible { percent: 30, chunk: 512, pattern: Some(_) }
    ));
    assert!(error("--iomem_align=3").contains("3 is not a power of 2"));
}

#[test]
fn measures() {
    let on = |options| {
        let measures = job(options).measures;
        [measures.slat, measures.clat, measures.lat, measures.bw, measures.clat_percentiles]
    };
    assert_eq!(on(""), [true; 5]);
    assert_eq!(on("--gtod_reduce=1"), [false; 5]);
    assert_eq!(on("--gtod_reduce=1 --disable_lat=0"), [false, false, true, false, false], "switched on again");
    assert_eq!(on("--gtod_reduce=0"), [true; 5]);
    assert_eq!(on("--disable_clat=1"), [true, false, true, true, false]);
    assert_eq!(job("--percentile_list=99:50").measures.percentiles, [50.0, 99.0]);
    assert_eq!(job("").measures.percentiles.len(), 17);
}

#[test]
fn logs() {
    let every = |options| {
        let settings = job(options);
        (settings.logs.bw_every.as_millis(), settings.measures.bw_every.as_millis())
    };
    assert_eq!(every(""), (0, 500));
    assert_eq!(every("--write_bw_log=x --log_avg_msec=1000"), (1000, 1000), "samples go with the log");
    assert_eq!(every("--write_bw_log=x --log_avg_msec=1000 --bwavgtime=250"), (250, 250));
    assert_eq!(every("--write_bw_log=x --log_avg_msec=100 --bwavgtime=500"), (500, 500));
    assert_eq!(every("--write_bw_log=x --bwavgtime=500"), (0, 500), "a line for each I/O");
    assert_eq!(every("--log_avg_msec=1000"), (1000, 500));
    assert_eq!(
        [
            "",
            "--disable_bw=1",
            "--gtod_reduce=1",
            "--gtod_reduce=1 --disable_lat=0",
            "--gtod_reduce=1 --disable_clat=0"
        ]
        .map(|options| job(options).logs.rated),
        [[true; 2], [false, true], [false; 2], [false; 2], [false, true]]
    );
    assert_eq!(job("--log_max_value=1").logs.window, WindowValue::Max);
    assert_eq!(job("--gtod_reduce=1 --disable_clat=0").logs.of, [false, true, false]);
    assert_eq!((job("").logs.lat, job("--write_lat_log=p").logs.lat), (None, Some("p".into())));
}

#[test]
fn errors_that_a_job_survives() {
    let errors = job("--continue_on_error=io --ignore_error=,ENOSPC:122,0x54").errors;
    assert_eq!((errors.read, errors.write, errors.verify), (true, true, true));
    assert_eq!(errors.ignored, [vec![libc::EIO, libc::EILSEQ], vec![libc::ENOSPC, 122], vec![0x54]]);
    assert!(!job("--continue_on_error=none").errors.continues());
    assert!(error("--ignore_error=EFOO").contains("Unknown error EFOO, please use number value"));
    assert!(error("--ignore_error=1,2,3,4").contains("more lists than kinds"));
}

#[test]
fn readonly() {
    let readonly = |line| settled_with(line, |general| general.readonly = true);
    let text = "fio: trim and write operations are not allowed with the --readonly parameter.";
    assert_eq!(readonly("--name=j --rw=randrw --rwmixread=100").unwrap_err(), text);
    for line in [
        "--name=j --size=4k --ioengine=filedelete",
        "--name=j --size=4k --ioengine=dircreate",
        "--name=j --rw=read --unlink=1",
        "--name=j --rw=read --unlink_each_loop=1",
    ] {
        let refused = readonly(line).unwrap_err();
        assert_eq!(refused, "fio: files are neither made nor removed with the --readonly parameter.", "{line}");
    }
    assert!(readonly("--name=j --ioengine=filestat --size=4k").is_ok());
    assert!(readonly("--name=j --rw=randread").is_ok());
}

#[test]
fn texts_as_reports_show_them() {
    let settings = job("--bs= 4k --time_based --bs=8k --runtime=5");
    let own: Vec<(&str, &str)> = settings.own.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    assert_eq!(own, [("name", "j"), ("bs", "8k"), ("time_based", ""), ("runtime", "5")]);
    assert!(settings.globals.is_empty());
    let wrong = OptionError::Together("x".into());
    assert_eq!(BadJob { section: "s".into(), error: wrong }.to_string(), "x");
}
