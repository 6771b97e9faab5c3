//! From a job's options to its settings.
//!
//! Promises: each option of the table is carried out, refused by name, or has no effect by its nature; the two lists say which, and no option
//! is in neither.
//! Leaves out: what other jobs ask for, and what is there on a host.

use super::super::general::General;
use super::super::job::{BadJob, Job};
use super::super::options::Given;
use super::asked::Asked;
use super::order::JOBS_MAX;
use super::{ExitWhat, Order, Settings, content, errors, files, how, iologs, measures, pacing, what};

/// A job's settings, and what a user should know of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// With all defaults.
    pub settings: Settings,
    /// One line each; fio's words where fio has some.
    pub notices: Vec<String>,
}

/// Options that [`Settings`] has.
#[rustfmt::skip] // a list is read by its groups
pub const CARRIED: &[&str] = &[
    "description", "name", "wait_for", "filename", "directory", "filename_format", "x_targets", "x_per_target", "x_samples",
    "rw", "bs", "bsrange", "bssplit", "ba", "bs_unaligned", "randrepeat", "allrandrepeat", "randseed", "norandommap",
    "random_distribution", "percentage_random", "rw_sequencer", "rwmixread", "rwmixwrite",
    "ioengine", "iodepth", "iodepth_batch", "iodepth_batch_complete_min", "iodepth_batch_complete_max", "iodepth_low",
    "serialize_overlap", "direct", "buffered", "registerfiles", "fixedbufs", "hipri", "sqthread_poll", "nonvectored", "uncached",
    "nfs_url", "x_nconnect",
    "size", "io_size", "fill_device", "filesize", "file_append", "offset", "offset_increment", "offset_align", "number_ios",
    "nrfiles", "file_service_type", "openfiles", "fallocate", "fadvise_hint", "overwrite", "invalidate",
    "create_fsync", "create_on_open", "create_only", "allow_file_create", "pre_read", "unlink", "unlink_each_loop",
    "fsync", "fdatasync", "end_fsync", "fsync_on_close", "sync", "sync_file_range",
    "loops", "numjobs", "startdelay", "runtime", "time_based", "ramp_time",
    "steadystate", "steadystate_duration", "steadystate_ramp_time",
    "verify", "do_verify", "verify_pattern", "verify_fatal", "verify_only", "verify_interval", "verify_offset", "verify_dump",
    "verify_backlog", "verify_backlog_batch", "verify_write_sequence", "verify_header_seed",
    "thinktime", "thinktime_spin", "thinktime_blocks", "thinktime_blocks_type", "thinktime_iotime",
    "rate", "rate_iops", "rate_min", "rate_iops_min", "rate_process", "rate_cycle", "rate_ignore_thinktime",
    "max_latency", "latency_target", "latency_window", "latency_percentile", "latency_run",
    "exitall", "exitall_on_error", "exit_what", "stonewall", "new_group", "thread", "group_reporting",
    "per_job_logs", "write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log", "log_avg_msec", "log_offset",
    "log_hist_msec", "log_hist_coarseness", "log_max_value", "log_window_value", "log_unix_epoch", "bwavgtime", "iopsavgtime",
    "zero_buffers", "refill_buffers", "scramble_buffers", "buffer_pattern", "buffer_compress_percentage", "buffer_compress_chunk",
    "dedupe_percentage", "iomem_align",
    "clat_percentiles", "lat_percentiles", "slat_percentiles", "percentile_list", "significant_figures", "gtod_reduce",
    "disable_lat", "disable_clat", "disable_slat", "disable_bw_measurement", "stats", "kb_base", "unit_base", "unified_rw_reporting",
    "disk_util",
    "continue_on_error", "ignore_error", "error_dump",
    "write_iolog", "read_iolog", "replay_no_stall", "replay_time_scale", "replay_scale", "replay_align",
    "exec_prerun", "exec_postrun", "nice", "cpus_allowed", "cpus_allowed_policy",
    "numa_cpu_nodes", "uid", "gid", "prio", "prioclass", "opendir", "verify_async", "verify_async_cpus", "verify_state_save", "verify_state_load",
];

/// Options that change nothing by their nature, and what is said where one could think otherwise; nothing for an empty text.
pub const WITHOUT_EFFECT: &[(&str, &str)] = &[
    ("unique_filename", ""),
    // Their other values are refused.
    ("zonemode", ""),
    ("zonesize", ""),
    ("trim_percentage", ""),
    ("flow", ""),
    ("log_prio", ""),
    ("atomic", ""),
    ("log_alternate_epoch", ""),
    ("dedupe_mode", ""),
    ("dedupe_global", ""),
    ("write_barrier", ""),
    ("lockfile", ""),
    ("numa_mem_policy", ""),
    ("bs_is_seq_rand", ""),
    ("stat_type", ""),
    // Buffers are pages of this process, whatever hands them out.
    ("mem", ""),
    // Files are laid out before jobs start, in parallel.
    ("create_serialize", ""),
    // Nothing is allocated for the map, so that it cannot fail.
    ("softrandommap", ""),
    ("random_generator", ""),
    ("io_submit_mode", ""),
    ("clocksource", "the clock is always the system's monotonic one"),
    ("gtod_cpu", "each job reads the clock itself"),
    ("experimental_verify", "what was written is always found by choosing it again, never from a list of it"),
    // Logs grow as needed.
    ("log_entries", ""),
];

/// What `job` asks for.
pub fn settle(job: &Job, general: &General) -> Result<Settled, BadJob> {
    let mut asked = Asked::new(job);
    misread(&mut asked);
    let mut settings = settings(&mut asked)?;
    if general.readonly && settings.load.writes() {
        return Err(asked.together("fio: trim and write operations are not allowed with the --readonly parameter."));
    }
    // fio lets these through; who says --readonly means that nothing changes.
    let changes = ["filecreate", "filedelete", "dircreate", "dirdelete"].contains(&settings.engine.name);
    if general.readonly && (changes || settings.files.unlink || settings.files.unlink_each_loop) {
        return Err(asked.together("fio: files are neither made nor removed with the --readonly parameter."));
    }
    // Nothing is made, so that what is missing is told before the load.
    settings.files.create_on_open &= !general.readonly;
    if general.warnings_fatal && !asked.warnings.is_empty() {
        return Err(asked.together(asked.warnings.join("\n")));
    }
    Ok(Settled { settings, notices: asked.notices })
}

/// Tells of values that mean what they say here, and something else to fio; and of options that one could think to have an effect.
fn misread(asked: &mut Asked<'_>) {
    let job = asked.job;
    for given in job.all().filter(|given| given.differs) {
        let text = given.text.as_deref().unwrap_or_default();
        asked.note(format!(
            "fio: {}={text} is taken as it reads; fio itself cuts it off or takes another unit",
            given.spec.name
        ));
    }
    for (name, effect) in WITHOUT_EFFECT.iter().filter(|(name, effect)| !effect.is_empty() && job.given(name).is_some())
    {
        asked.note(format!("fio: {name} changes nothing: {effect}"));
    }
    if asked.word("random_generator") == "lfsr" {
        asked.note(
            "fio: random_generator=lfsr changes nothing: all offsets come from one generator, which needs no map",
        );
    }
}

/// Files of a job's clones together: their names and extents are in memory. fio 3.33 aborts at some 40,000 (smalloc: OOM).
const FILES_MAX: u64 = 1 << 24;

fn settings(asked: &mut Asked<'_>) -> Result<Settings, BadJob> {
    let clones = match asked.count("numjobs") {
        Some(0) => return Err(asked.bad("numjobs", "a job without clones")),
        clones => clones.unwrap_or(1),
    };
    let name = asked.job.name().to_owned();
    let load = what::load(asked)?;
    let engine_name = how::engine_name(asked)?;
    let targets = files::targets(asked, engine_name)?;
    let files = files::files(asked, targets.directories)?;
    // What is too many clones is told of all jobs together.
    let all_files = u64::from(files.count) * u64::from(clones.min(JOBS_MAX));
    if files.names.is_empty() && all_files > FILES_MAX {
        let text = format!("{all_files} files of all clones together; {FILES_MAX} are possible");
        return Err(asked.bad("nrfiles", text));
    }
    let engine = how::engine(asked, engine_name, targets.urls, load.writes())?;
    if files.append && load.reads() && engine.nfs_urls.is_empty() && engine.name != "mmap" {
        asked.note(
            "fio: file_append=1 of a job that reads: as in fio, what a file held is lost where it is made longer",
        );
    }
    let syncs = how::syncs(asked, &engine)?;
    let verify = content::verify(asked, &load, clones)?;
    let buffers = content::buffers(asked, &load, verify.as_ref())?;
    let logs = measures::logs(asked, &name);
    let io_logs = iologs::iologs(asked, engine_name, verify.as_ref())?;
    Ok(Settings {
        section: asked.job.section.clone(),
        description: asked.text("description"),
        own: shown(&asked.job.options),
        globals: shown(&asked.job.globals),
        input: asked.job.input,
        clones,
        threads: asked.is("thread"),
        engine,
        load,
        files,
        span: pacing::span(asked),
        steady: pacing::steady(asked)?,
        delay: pacing::delay(asked),
        pacing: pacing::pacing(asked)?,
        syncs,
        buffers,
        verify,
        measures: measures::measures(asked, &logs),
        logs,
        io_logs,
        order: order(asked),
        errors: errors::on_errors(asked)?,
        host: how::host(asked),
        per_target: asked.is("x_per_target"),
        name,
    })
}

/// Names and texts as reports show them: a flag without a text has an empty one, and of an option that was given twice the last counts.
fn shown(options: &[Given]) -> Vec<(String, String)> {
    let mut shown: Vec<(String, String)> = Vec::new();
    for given in options {
        let (name, text) = (given.spec.name, given.text.clone().unwrap_or_default());
        match shown.iter_mut().find(|(known, _)| known == name) {
            Some((_, before)) => *before = text,
            None => shown.push((name.to_owned(), text)),
        }
    }
    shown
}

fn order(asked: &Asked<'_>) -> Order {
    Order {
        stonewall: asked.is("stonewall"),
        new_group: asked.is("new_group"),
        wait_for: asked.text("wait_for"),
        group_reporting: asked.is("group_reporting"),
        exitall: asked.is("exitall"),
        exitall_on_error: asked.is("exitall_on_error"),
        exit_what: match asked.word("exit_what") {
            "stonewall" => ExitWhat::Stonewall,
            "all" => ExitWhat::All,
            _ => ExitWhat::Group,
        },
    }
}

#[cfg(test)]
#[path = "settle_tests.rs"]
pub(super) mod tests;
