//! What a job's options mean together, with all defaults: one [`Settings`] for each section. Its clones differ by their number only.
//!
//! Promises: an option that is known and not carried out is refused by name; what is capped, switched or not as fio does it is told in a
//! notice.
//! Leaves out: looking at a host. Who looks says what is there, and [`files`] what of it is worked on.

mod asked;
mod banner;
mod clones;
mod content;
mod errors;
mod extents;
mod files;
mod how;
mod iologs;
mod measures;
mod order;
mod pacing;
mod settle;
mod what;

use std::time::Duration;

use super::Each;
use super::depth::LatencyTarget;
use super::offsets::Plan;
use super::pace::{Process, Rate, Span, Think};
use super::pattern::Pattern;
use super::steady::Steady;
use super::value::Amount;
use super::verify::Check;

pub use clones::file_names;
pub use extents::{FileExtent, files, total_io};
pub use iologs::IoLogs;
pub use measures::{Logs, Measures, WindowValue};
pub use order::{Started, order};
pub use settle::{CARRIED, Settled, WITHOUT_EFFECT, settle};

/// A section's job.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The section's name, which generated file names have.
    pub section: String,
    /// The name in reports.
    pub name: String,
    /// description=.
    pub description: Option<String>,
    /// Names and texts of the section's own options, as reports show them.
    pub own: Vec<(String, String)>,
    /// The same of the globals above it.
    pub globals: Vec<(String, String)>,
    /// Which input it is from; jobs of one input start after all of the input before have ended.
    pub input: usize,
    /// numjobs=.
    pub clones: u32,
    /// thread=1: said in "Starting N threads"; clones are threads in any case.
    pub threads: bool,
    /// How I/O is carried out.
    pub engine: EngineChoice,
    /// What I/O there is.
    pub load: Load,
    /// On which files.
    pub files: Files,
    /// How long.
    pub span: Span,
    /// steadystate=, with steadystate_duration=: the job ends when its rate has become steady.
    pub steady: Option<Steady>,
    /// startdelay=, from and to.
    pub delay: (Duration, Duration),
    /// How fast.
    pub pacing: Pacing,
    /// When data is made safe.
    pub syncs: Syncs,
    /// What is written.
    pub buffers: Buffers,
    /// verify=.
    pub verify: Option<Verify>,
    /// What is measured.
    pub measures: Measures,
    /// Log files.
    pub logs: Logs,
    /// write_iolog= and read_iolog=.
    pub io_logs: IoLogs,
    /// When it starts and which line of the report it is in.
    pub order: Order,
    /// What happens on errors.
    pub errors: OnErrors,
    /// What of the process is asked for.
    pub host: HostChoice,
    /// x_per_target: a line of the report for each mount or server.
    pub per_target: bool,
}

/// The engine and its options.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineChoice {
    /// As asked for: what reports say.
    pub name: &'static str,
    /// iodepth= as asked for: what the banner says.
    pub depth: u32,
    /// I/Os in flight at most: 1 for an engine that waits for each.
    pub in_flight: u32,
    /// I/Os that are submitted at once at most (iodepth_batch), 1 at least.
    pub batch: u32,
    /// Completions that are waited for at once: at least (0: those that are there), at most.
    pub complete: (u32, u32),
    /// When the depth was reached, none is submitted until no more than so many are in flight (iodepth_low).
    pub low: u32,
    /// O_DIRECT.
    pub direct: bool,
    /// serialize_overlap.
    pub serialize_overlap: bool,
    /// Of io_uring and pvsync2.
    pub uring: UringChoice,
    /// nfs_url= and x_targets=: clone i uses entry i mod n. Of the engine nfs one at least; of the metadata engines none where they work
    /// on the kernel's files.
    pub nfs_urls: Vec<String>,
    /// x_nconnect: connections to each server for each clone; none for as many as the URL says.
    pub nconnect: Option<u32>,
}

/// Options of io_uring, and hipri and uncached of pvsync2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // fio's names
pub struct UringChoice {
    pub fixedbufs: bool,
    pub registerfiles: bool,
    pub hipri: bool,
    pub sqthread_poll: bool,
    pub nonvectored: bool,
    pub uncached: bool,
}

/// What I/O there is.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// The word of rw=, as the banner says it: `randread`, `rw`, `randrw`.
    pub rw: &'static str,
    /// Percent of reads: 100 for reads alone, 0 for writes alone.
    pub read_percent: u64,
    /// Offsets and sizes by direction.
    pub plans: Each<Plan>,
    /// Smallest and largest block by direction, as the banner says them.
    pub blocks: Each<(u64, u64)>,
    /// size=: bytes for each clone, over all its files.
    pub size: Option<Amount>,
    /// io_size=: bytes of I/O in one pass.
    pub io_size: Option<Amount>,
    /// offset=.
    pub offset: Amount,
    /// offset_increment=, times the clone's number.
    pub offset_increment: Amount,
    /// offset_align=: offsets that come from percentages are rounded up to a multiple; 0 for the smallest block.
    pub offset_align: u64,
    /// number_ios=: I/Os of the whole job; 0 for no limit.
    pub number_ios: u64,
    /// randseed=, if given.
    pub seed: Option<u64>,
    /// randrepeat= or allrandrepeat=.
    pub repeat: bool,
    /// fill_device=: writes until there is no room.
    pub fill: bool,
}

impl Load {
    /// True when the word of rw= has reads, though rwmixread=0 may leave none.
    pub fn reads(&self) -> bool {
        !self.rw.ends_with("write")
    }

    /// True when the word has writes, though rwmixwrite=0 may leave none.
    pub fn writes(&self) -> bool {
        !self.rw.ends_with("read")
    }

    /// The smallest block of any direction: what sizes and offsets are measured by, also those of directions without I/O, as in fio.
    pub fn block_min(&self) -> u64 {
        self.blocks.iter().map(|(_, (min, _))| *min).min().unwrap_or(1)
    }

    /// True of random I/O, which the word says.
    pub fn is_random(&self) -> bool {
        self.rw.starts_with("rand")
    }
}

/// Which of a clone's files is next.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // fio's names
pub enum Service {
    RoundRobin,
    Sequential,
    Random,
    /// random, zipf, pareto, normal over the files.
    By(super::distribution::Distribution),
}

/// fallocate=.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // fio's names
pub enum Allocate {
    None,
    Native,
    Posix,
    Keep,
    Truncate,
}

/// fadvise_hint=.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // fio's names
pub enum Advice {
    None,
    /// By rw: sequential or random.
    ByLoad,
    Random,
    Sequential,
    NoReuse,
}

/// opendir=: files that are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// All files below are the job's.
    pub dir: String,
    /// The directory that their names are in, if any: as in fio the first of a directory= that stood ahead of it.
    pub directory: Option<String>,
    /// How many names stand ahead of those that are found.
    pub ahead: usize,
    /// How many of all names are used: those ahead first, then those that are found, in the order in which the directory has them.
    pub used: Option<u32>,
}

/// A file of filename=.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileName {
    /// The directory that it is in, if any: as in fio the first of a directory= that stood ahead of it.
    pub directory: Option<String>,
    /// As it was given.
    pub name: String,
}

/// On which files.
#[derive(Clone, Debug, PartialEq)]
pub struct Files {
    /// filename=; empty for generated names.
    pub names: Vec<FileName>,
    /// opendir=.
    pub search: Option<Search>,
    /// directory=.
    pub directories: Vec<String>,
    /// filename_format=.
    pub format: String,
    /// nrfiles=, 1 at least; of given names their number.
    pub count: u32,
    /// openfiles=, 1 at least.
    pub open_max: u32,
    /// filesize=, from and to.
    pub size: Option<(u64, u64)>,
    /// Which is next, and after how many I/Os.
    pub service: (Service, u64),
    /// Options of these names.
    #[allow(missing_docs)] // fio's names
    pub create_fsync: bool,
    #[allow(missing_docs)] // as above
    pub create_on_open: bool,
    #[allow(missing_docs)] // as above
    pub create_only: bool,
    #[allow(missing_docs)] // as above
    pub allow_create: bool,
    #[allow(missing_docs)] // as above
    pub overwrite: bool,
    #[allow(missing_docs)] // as above
    pub append: bool,
    #[allow(missing_docs)] // as above
    pub pre_read: bool,
    #[allow(missing_docs)] // as above
    pub invalidate: bool,
    #[allow(missing_docs)] // as above
    pub unlink: bool,
    #[allow(missing_docs)] // as above
    pub unlink_each_loop: bool,
    #[allow(missing_docs)] // as above
    pub allocate: Allocate,
    #[allow(missing_docs)] // as above
    pub advice: Advice,
}

/// How fast.
#[derive(Clone, Debug, PartialEq)]
pub struct Pacing {
    /// rate= or rate_iops=.
    pub rate: Each<Option<Rate>>,
    /// rate_min= or rate_iops_min=: the job ends with an error when it is slower over a rate_cycle=.
    pub least: Each<Option<Rate>>,
    /// rate_cycle=.
    pub cycle: Duration,
    /// rate_process=.
    pub process: Process,
    /// A rate does not catch up with pauses.
    pub ignore_thinktime: bool,
    /// thinktime= and its relatives.
    pub think: Think,
    /// thinktime_blocks_type=issue.
    pub think_issued: bool,
    /// max_latency=: an I/O that takes longer ends the job.
    pub latency_max: Option<Duration>,
    /// latency_target= and its relatives: the depth is searched for.
    pub latency: Option<LatencyTarget>,
}

/// sync=: flags that files are opened with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // fio's names
pub enum OpenSync {
    #[default]
    None,
    Sync,
    DSync,
}

/// When data is made safe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Syncs {
    /// After so many writes; 0 for never.
    #[allow(missing_docs)] // fio's names
    pub fsync: u64,
    #[allow(missing_docs)] // as above
    pub fdatasync: u64,
    /// sync_file_range=: its flags, and after how many writes.
    pub range: Option<(u32, u64)>,
    #[allow(missing_docs)] // as above
    pub end_fsync: bool,
    #[allow(missing_docs)] // as above
    pub fsync_on_close: bool,
    /// sync=.
    pub open: OpenSync,
}

/// What is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffers {
    /// The same bytes again and again, zeros, or random ones.
    pub content: Content,
    /// Random bytes are made anew for each write.
    pub refill: bool,
    /// Cheaply changed for each write.
    pub scramble: bool,
    /// dedupe_percentage=.
    pub dedupe: u64,
    /// Bytes that addresses are multiples of beyond a page (iomem_align); 0 for a page.
    pub align: u64,
}

/// What buffers hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// zero_buffers, or buffer_compress_percentage=100.
    Zeros,
    /// Random.
    Random,
    /// buffer_pattern=.
    Pattern(Pattern),
    /// Of each `chunk` bytes `percent` are zeros (or the pattern), the rest is random.
    #[allow(missing_docs)] // as above
    Compressible { percent: u64, chunk: u64, pattern: Option<Pattern> },
}

/// verify=.
#[derive(Clone, Debug, PartialEq)]
pub struct Verify {
    /// How.
    pub check: Check,
    /// verify_interval= as it fits the blocks: a divisor of the smallest and the largest of them, in bytes.
    pub interval: u64,
    /// verify_offset=: where the mark stands within an interval.
    pub mark_at: u64,
    /// verify_pattern=.
    pub pattern: Option<Pattern>,
    /// do_verify=: what was written is read back.
    pub read_back: bool,
    /// verify_only: nothing is written; what an earlier run wrote is checked.
    pub only: bool,
    /// verify_header_seed=: a mark's seed is the job's. As in fio 3.33 not of what another job wrote, unless that is asked for.
    pub seeds: bool,
    /// verify_write_sequence=: a mark's number is that of the job's write.
    pub sequence: bool,
    /// verify_fatal=.
    pub fatal: bool,
    /// verify_dump=.
    pub dump: bool,
    /// verify_async= and verify_async_cpus=: threads that check, 0 for the job's own, and their processors.
    pub threads: u32,
    #[allow(missing_docs)] // as above
    pub cpus: Option<Vec<usize>>,
    /// verify_state_save= and verify_state_load=.
    #[allow(missing_docs)] // as above
    pub save_state: bool,
    #[allow(missing_docs)] // as above
    pub load_state: bool,
    /// verify_backlog= and verify_backlog_batch=: after so many writes, so many are read back; 0 for all.
    pub backlog: Option<(u64, u64)>,
}

/// exit_what=: which jobs end with this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // fio's names
pub enum ExitWhat {
    #[default]
    Group,
    Stonewall,
    All,
}

/// When a job starts, and which line of the report it is in.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// The clone of number 0 waits until all before have ended, and begins a new group.
    pub stonewall: bool,
    /// Begins a new group.
    pub new_group: bool,
    /// All clones of this job have ended.
    pub wait_for: Option<String>,
    /// One line for the group.
    pub group_reporting: bool,
    /// exitall.
    pub exitall: bool,
    /// exitall_on_error.
    pub exitall_on_error: bool,
    /// exit_what=.
    pub exit_what: ExitWhat,
}

/// What happens on errors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OnErrors {
    /// continue_on_error= or ignore_error=: those errors of reads, writes and verification that `ignored` lists do not end the job.
    #[allow(missing_docs)] // fio's names
    pub read: bool,
    #[allow(missing_docs)] // as above
    pub write: bool,
    #[allow(missing_docs)] // as above
    pub verify: bool,
    /// Errnos of reads, writes and verification: those of ignore_error=, else EIO and EILSEQ, which fio goes on after.
    pub ignored: [Vec<i32>; 3],
    /// error_dump=: also those are told.
    pub dump: bool,
}

impl OnErrors {
    /// True when continue_on_error was given.
    pub fn continues(&self) -> bool {
        self.read || self.write || self.verify
    }
}

/// What of the process is asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostChoice {
    /// cpus_allowed=, and whether each clone gets one of its own (cpus_allowed_policy=split).
    pub cpus: Option<(Vec<usize>, bool)>,
    /// numa_cpu_nodes=: their processors become `cpus` when they were looked up.
    pub nodes: Vec<usize>,
    /// uid= and gid=: whose files they are; over NFS the identity in the calls.
    #[allow(missing_docs)] // as above
    pub uid: Option<u32>,
    #[allow(missing_docs)] // as above
    pub gid: Option<u32>,
    /// prioclass= and prio=.
    pub prio: Option<(u8, u8)>,
    /// nice=.
    pub nice: Option<i32>,
    /// exec_prerun= and exec_postrun=: commands of a shell.
    #[allow(missing_docs)] // as above
    pub before: Option<String>,
    #[allow(missing_docs)] // as above
    pub after: Option<String>,
}
