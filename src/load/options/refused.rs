//! What fio has and this tool refuses, with the reason and the nearest alternative.

/// Engines that a job may name.
pub const ENGINES: [&str; 17] = [
    "psync",
    "sync",
    "vsync",
    "pvsync",
    "pvsync2",
    "libaio",
    "io_uring",
    "posixaio",
    "mmap",
    "null",
    "nfs",
    "filecreate",
    "filestat",
    "filedelete",
    "dircreate",
    "dirstat",
    "dirdelete",
];

const NO_ZONES: &str = "zoned block devices cannot sit on an NFS mount; use real fio for this job";
const NO_STRIDES: &str =
    "a file is not divided into zones; use rw=read:SKIP for strides, or jobs with offset= and size=, or real fio";
const NO_TRIM: &str = "a file on NFS cannot be trimmed; use rw=write with zero_buffers, or real fio on a block device";
const NO_FLOW: &str = "jobs are not coupled by flow counters; use rate_iops= with a rate for each job";
const NO_PRIORITY: &str = "NFS requests have no priority; use prio= and nice= for the process, or separate jobs";
const NO_PLACEMENT: &str = "placement hints are for NVMe devices; leave it out";
const NO_PASSTHROUGH: &str = "NVMe pass-through is for character devices; use ioengine=io_uring";
const NO_CGROUP: &str = "control groups are the caller's; start the job within one (systemd-run --scope)";
const NO_REPLAY: &str = "blktrace files cannot be replayed; use read_iolog= with a text log of version 2 or 3";
const NO_COMPRESSION: &str = "logs are written as text; compress them afterwards";
const NO_NOWAIT: &str =
    "a file system may answer EAGAIN instead of waiting, and then nothing is measured; leave it out";
const NO_EPOCH: &str = "use log_unix_epoch=1";
const NO_WORKING_SET: &str = "only repeated buffers are generated; use dedupe_percentage= alone";

/// Names, or beginnings of names that end in `*`, and why they are refused.
const OPTIONS: &[(&str, &str)] = &[
    ("zonecapacity", NO_ZONES),
    ("zonerange", NO_STRIDES),
    ("zoneskip", NO_STRIDES),
    ("zone_reset_*", NO_ZONES),
    ("read_beyond_wp", NO_ZONES),
    ("max_open_zones", NO_ZONES),
    ("job_max_open_zones", NO_ZONES),
    ("ignore_zone_limits", NO_ZONES),
    ("recover_zbd_write_error", NO_ZONES),
    ("trim_backlog*", NO_TRIM),
    ("trim_verify_zero", NO_TRIM),
    ("num_range", NO_TRIM),
    ("flow_*", NO_FLOW),
    ("cmdprio*", NO_PRIORITY),
    ("write_hint", NO_PLACEMENT),
    ("fdp*", NO_PLACEMENT),
    ("plids", NO_PLACEMENT),
    ("plid_select", NO_PLACEMENT),
    ("dp_scheme", NO_PLACEMENT),
    ("dataplacement", NO_PLACEMENT),
    ("cmd_type", NO_PASSTHROUGH),
    ("md_per_io_size", NO_PASSTHROUGH),
    ("pi_*", NO_PASSTHROUGH),
    ("apptag*", NO_PASSTHROUGH),
    ("cgroup*", NO_CGROUP),
    ("replay_redirect", "a log names its files; leave directory= or put the files where it says"),
    ("replay_skip", "a log is replayed whole; leave out of it what is not wanted"),
    ("read_iolog_chunked", NO_REPLAY),
    ("merge_blktrace_*", NO_REPLAY),
    ("log_compression*", NO_COMPRESSION),
    ("log_store_compressed", NO_COMPRESSION),
    ("log_alternate_epoch_clock_id", NO_EPOCH),
    ("log_issue_time", "logs have the time at which an I/O ended; write_iolog= keeps when each was issued"),
    ("job_start_clock_id", "job_start is always the wall clock's"),
    ("profile", "profiles are whole jobs of fio's own; write the job with its options"),
    (
        "block_error_percentiles",
        "errors by block are for flash wear tests; use continue_on_error= and the error counts",
    ),
    ("dedupe_working_set_percentage", NO_WORKING_SET),
    ("sprandom*", "preconditioning of flash is for block devices; use two jobs, the first filling the file"),
    ("spr_*", "preconditioning of flash is for block devices; use two jobs, the first filling the file"),
    ("lockmem", "memory pressure is the caller's; run the job in a control group with a memory limit"),
    ("cpumask", "use cpus_allowed= with a list"),
    ("ioscheduler", "the scheduler is a block device's; set it in /sys before the run"),
    ("allow_mounted_write", "block devices in use are never written to"),
    ("hugepage-size", "use mem=malloc or mem=mmap; transparent huge pages need no option"),
    ("nowait", NO_NOWAIT),
    ("userspace_reap", "completions are taken as the kernel gives them; leave it out"),
    ("force_async", "the kernel decides what it does in its own threads; leave it out"),
    ("sqthread_poll_cpu", "the kernel's polling thread is not bound; use sqthread_poll=1 alone"),
    ("hipri_percentage", "all I/O is polled or none; use hipri=1"),
    ("thp", "transparent huge pages are the host's; see /sys/kernel/mm/transparent_hugepage/enabled"),
    ("job_max_open", "files are bounded for each job; use openfiles= and ulimit -n"),
    ("verify_pattern_interval", "a pattern begins anew in each block; use bs= of that size"),
    ("verify_policy", "all that was written is read back, when it was written or by verify_backlog="),
    ("iodepth_mode", "the depth is not stepped; use --sweep iodepth=1,2,4, or latency_target="),
    ("threads", "it is of fio's profile tiobench; use numjobs= with thread"),
    ("verifysort", "verification always goes in the order of writing"),
    ("verifysort_nr", "verification always goes in the order of writing"),
];

/// Options that are taken only with a value that switches them off: option, value, and why others are refused.
const OFF: &[(&str, &str, &str)] = &[
    ("zonesize", "0", NO_STRIDES),
    ("trim_percentage", "0", NO_TRIM),
    ("flow", "0", NO_FLOW),
    ("log_prio", "0", NO_PRIORITY),
    ("atomic", "0", "atomic writes are for block devices; use sync=dsync"),
    ("log_alternate_epoch", "0", NO_EPOCH),
    ("dedupe_mode", "repeat", NO_WORKING_SET),
    ("dedupe_global", "0", NO_WORKING_SET),
    ("write_barrier", "0", "use sync_file_range= or fdatasync="),
    ("lockfile", "none", "files are not locked between jobs; give each job a file of its own"),
    ("numa_mem_policy", "default", "use numactl around the whole run"),
    ("bs_is_seq_rand", "0", "sizes go by reads and writes; use a job for each order"),
    ("stat_type", "stat", "files are looked at by stat alone; leave it out"),
];

/// Values of known options that are refused: option, words, reason.
const VALUES: &[(&str, &[&str], &str)] = &[
    ("zonemode", &["zbd"], NO_ZONES),
    ("zonemode", &["strided"], NO_STRIDES),
    ("random_distribution", &["sequence"], "the sequence is of fio's later versions; use rw=read or rw=write"),
    ("rw", &["trim", "randtrim", "trimwrite", "randtrimwrite"], NO_TRIM),
    ("readwrite", &["trim", "randtrim", "trimwrite", "randtrimwrite"], NO_TRIM),
    ("mem", &["shmhuge", "mmaphuge"], "huge pages need a reservation on the host; use mem=malloc or mem=mmap"),
    ("iomem", &["shmhuge", "mmaphuge"], "huge pages need a reservation on the host; use mem=malloc or mem=mmap"),
    ("mem", &["cudamalloc"], "buffers are in the host's memory; use mem=malloc"),
    ("iomem", &["cudamalloc"], "buffers are in the host's memory; use mem=malloc"),
    ("io_submit_mode", &["offload"], "requests are sent by the job's own thread; use numjobs= for more threads"),
];

/// fio's engines that are not here, and why.
const OTHER_ENGINES: &[(&str, &str)] = &[
    ("splice", "a page cache detour; use ioengine=psync"),
    ("ftruncate", "a test of file system internals; use ioengine=filecreate for metadata"),
    ("falloc", "NFSv3 cannot allocate; use rw=write"),
    ("e4defrag", "it is for ext4 alone"),
    ("sg", "it is for SCSI devices; use ioengine=libaio on the block device"),
    ("io_uring_cmd", NO_PASSTHROUGH),
    ("cpuio", "it loads processors, not storage"),
    ("exec", "it runs programs, not I/O; use exec_prerun="),
    ("net", "it measures a network, not storage"),
    ("netsplice", "it measures a network, not storage"),
    ("rdma", "it measures a network, not storage"),
    ("rbd", "Ceph's images are not reached through NFS; use real fio"),
    ("rados", "Ceph's objects are not reached through NFS; use real fio"),
    ("http", "object storage is not reached through NFS; use real fio"),
    ("gfapi", "Gluster's library is not built in; mount the volume"),
    ("gfapi_async", "Gluster's library is not built in; mount the volume"),
    ("libhdfs", "HDFS is not built in; use real fio"),
    ("nbd", "attach the device with nbd-client and use ioengine=libaio"),
    ("libblkio", "attach the device to the kernel and use ioengine=libaio"),
    ("spdk", "attach the device to the kernel and use ioengine=libaio"),
    ("mtd", "it is for raw flash"),
    ("pmemblk", "persistent memory is not a file on NFS; use ioengine=mmap"),
    ("dev-dax", "persistent memory is not a file on NFS; use ioengine=mmap"),
    ("libpmem", "persistent memory is not a file on NFS; use ioengine=mmap"),
    ("windowsaio", "it is for Windows; use ioengine=libaio"),
    ("solarisaio", "it is for Solaris; use ioengine=posixaio"),
    ("external", "engines cannot be loaded from files; use one that is built in"),
];

/// Why the option `name` with the value `text` is refused, if it is known and refused.
pub fn refusal(name: &str, text: Option<&str>) -> Option<String> {
    let matches = |pattern: &str| match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == pattern,
    };
    if let Some((_, reason)) = OPTIONS.iter().find(|(pattern, _)| matches(pattern)) {
        return Some((*reason).to_owned());
    }
    if let Some((_, off, reason)) = OFF.iter().find(|(option, _, _)| *option == name) {
        return text.filter(|text| text.trim() != *off).map(|_| (*reason).to_owned());
    }
    let word = text?.split(':').next()?.trim();
    if name == "ioengine" {
        return engine(word).err();
    }
    let refused = VALUES.iter().find(|(option, words, _)| *option == name && words.contains(&word));
    refused.map(|(_, _, reason)| (*reason).to_owned())
}

/// The engine of this name, or why there is none.
pub fn engine(name: &str) -> Result<&'static str, String> {
    if let Some(found) = ENGINES.iter().find(|engine| **engine == name) {
        return Ok(found);
    }
    let other = OTHER_ENGINES.iter().find(|(engine, _)| *engine == name);
    Err(other.map_or_else(
        || format!("engine {name} not loadable; there are {}", ENGINES.join(", ")),
        |(_, reason)| (*reason).to_owned(),
    ))
}
