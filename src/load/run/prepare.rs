//! Files before jobs start: what is there, what is missing, laid out in parallel.
//!
//! Promises: a file that several clones use is laid out once, in the largest size that any of them needs; one that is large enough is kept
//! as it is; one that is too small is made anew, as in fio.
//! Leaves out: names and regions (`settings`), and how a file is made (`engine`'s places).

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::io::Errno;

use super::super::content::Contents;
use super::super::engine::{Layout, Place, There};
use super::super::offsets::Extent;
use super::super::random::Seeds;
use super::super::settings::{FileExtent, Settings, files, total_io};
use super::clone::said;

/// Threads that look and lay out: enough to keep a mount target busy with small files; on a disk a few suffice.
const THREADS: usize = 16;

/// A clone whose files are to be found.
pub struct Asked<'a> {
    /// Its job.
    pub settings: &'a Settings,
    /// Its number within the job.
    pub clone: u32,
    /// Where its files are.
    pub place: &'a dyn Place,
    /// Tells places apart: files of one name at two places are two files.
    pub place_index: usize,
    /// Its files' names.
    pub paths: Vec<PathBuf>,
    /// Its random numbers.
    pub seeds: Seeds,
}

/// A clone's files as its engine is to use them.
#[derive(Clone, Debug)]
pub struct Found {
    /// Names, and the part of each that it works on.
    pub files: Vec<(PathBuf, Extent)>,
    /// Bytes of a pass.
    pub pass_bytes: u64,
}

/// A file that has to be made.
struct Missing<'a> {
    place: &'a dyn Place,
    place_index: usize,
    path: PathBuf,
    layout: Layout,
    /// Of an earlier file that is too small.
    is_there: bool,
    /// What its bytes are.
    contents: Contents,
    job: usize,
}

/// Why files could not be set up: the clone's job, and the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotReady {
    /// Which of those asked for.
    pub asked: usize,
    /// The reason's number.
    pub errno: i32,
    /// For people.
    pub text: String,
}

/// Metadata engines that make their files themselves, or directories.
fn lays_out(settings: &Settings) -> bool {
    let makes = ["filecreate", "dircreate", "dirstat", "dirdelete", "null"].contains(&settings.engine.name);
    !makes && !settings.files.create_on_open && settings.io_logs.replay.is_none()
}

/// Finds and lays out the files of all clones. `tell` is given fio's lines about what is laid out, before it is.
pub fn prepare(
    asked: &[Asked<'_>],
    readonly: bool,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(String),
) -> Result<Vec<Found>, NotReady> {
    let mut found = Vec::with_capacity(asked.len());
    let mut missing: Vec<Missing<'_>> = Vec::new();
    let mut known: HashMap<(usize, PathBuf), usize> = HashMap::new();
    let there = look_at_all(asked, stop);
    for (index, (clone, there)) in asked.iter().zip(there).enumerate() {
        let failed = |errno: Errno, text: String| NotReady { asked: index, errno: errno.raw_os_error(), text };
        let mut sizes = Vec::with_capacity(there.len());
        for (path, there) in clone.paths.iter().zip(&there) {
            sizes.push(match there {
                Err(errno) => return Err(failed(*errno, format!("{}: {}", path.display(), said(*errno)))),
                Ok(There::Dir) if clone.settings.engine.name.starts_with("dir") => There::Nothing,
                Ok(There::Dir) => return Err(failed(Errno::ISDIR, format!("{}: it is a directory", path.display()))),
                Ok(there) => *there,
            });
        }
        let extents =
            files(clone.settings, clone.clone, &sizes, clone.seeds).map_err(|text| failed(Errno::INVAL, text))?;
        if lays_out(clone.settings) {
            for ((path, extent), there) in clone.paths.iter().zip(&extents).zip(&there) {
                let Some(new) = needed(clone, path, extent, there) else { continue };
                if !clone.settings.files.allow_create && !new.is_there {
                    let text = "fio: file creation disallowed by allow_file_create=0";
                    return Err(failed(Errno::PERM, text.into()));
                }
                let key = (clone.place_index, path.clone());
                match known.get(&key) {
                    Some(at) => {
                        let layout = &mut missing[*at].layout;
                        layout.size = layout.size.max(new.layout.size);
                        layout.filled |= new.layout.filled;
                    }
                    None => {
                        known.insert(key, missing.len());
                        missing.push(Missing { job: index, ..new });
                    }
                }
            }
        }
        let pass_bytes = total_io(clone.settings, &extents);
        let regions = clone.paths.iter().cloned().zip(extents.iter().map(|extent| extent.region));
        found.push(Found { files: regions.collect(), pass_bytes });
    }
    if let Some(first) = missing.first().filter(|_| readonly) {
        let text = format!("fio: refusing extend of file due to read-only: {}", first.path.display());
        return Err(NotReady { asked: first.job, errno: Errno::PERM.raw_os_error(), text });
    }
    tell_layouts(asked, &missing, tell);
    lay_out_all(&missing, stop)?;
    Ok(found)
}

fn look_at_all(asked: &[Asked<'_>], stop: &AtomicBool) -> Vec<Vec<Result<There, Errno>>> {
    let parts = |(index, clone): (usize, &'_ Asked<'_>)| {
        let chunks = clone.paths.chunks(TOGETHER_FILES_MAX);
        chunks.map(|paths| (index, paths.to_vec())).collect::<Vec<_>>()
    };
    let all: Vec<(usize, Vec<PathBuf>)> = asked.iter().enumerate().flat_map(parts).collect();
    let looked = in_parallel(&all, stop, |(index, paths)| Ok(asked[*index].place.look_many(paths)));
    let mut there: Vec<Vec<Result<There, Errno>>> = asked.iter().map(|_| Vec::new()).collect();
    for ((index, paths), result) in all.iter().zip(looked) {
        match result {
            Some(Ok(found)) => there[*index].extend(found),
            _ => there[*index].extend(paths.iter().map(|_| Err(Errno::INTR))),
        }
    }
    there
}

/// What has to be made of a clone's file, if anything.
fn needed<'a>(
    clone: &Asked<'a>,
    path: &Path,
    extent: &FileExtent,
    there: &Result<There, Errno>,
) -> Option<Missing<'a>> {
    let settings = clone.settings;
    let is_there = match there {
        Ok(There::File(size)) if *size >= extent.size => return None,
        Ok(There::File(_)) => true,
        Ok(There::Nothing) => false,
        _ => return None,
    };
    let only_writes = settings.load.writes() && !settings.load.reads();
    // Memory is mapped of what is there.
    let filled = !only_writes || (settings.files.overwrite && !settings.files.append) || settings.engine.name == "mmap";
    let layout =
        Layout { size: extent.size, filled, allocate: settings.files.allocate, fsync: settings.files.create_fsync };
    if settings.files.append && is_there {
        return None;
    }
    let contents = Contents::new(&settings.buffers, clone.seeds, settings.load.block_min() as usize);
    let path = path.to_path_buf();
    Some(Missing { place: clone.place, place_index: clone.place_index, path, layout, is_there, contents, job: 0 })
}

fn tell_layouts(asked: &[Asked<'_>], missing: &[Missing<'_>], tell: &mut dyn FnMut(String)) {
    for (index, clone) in asked.iter().enumerate() {
        let of_clone = || missing.iter().filter(move |missing| missing.job == index);
        let (count, bytes) = (of_clone().count(), of_clone().map(|missing| missing.layout.size).sum::<u64>());
        if count == 0 {
            continue;
        }
        let (s, total) = if count > 1 { ("s", "total ") } else { ("", "") };
        let (name, mib) = (&clone.settings.name, bytes >> 20);
        tell(format!("{name}: Laying out IO file{s} ({count} file{s} / {total}{mib}MiB)"));
    }
}

/// Small files of one place go together: a target takes many at once, and threads are not handed over for each.
const TOGETHER_FILES_MAX: usize = 512;
const TOGETHER_BYTES_MAX: u64 = 1 << 20;

fn lay_out_all(missing: &[Missing<'_>], stop: &AtomicBool) -> Result<(), NotReady> {
    let mut made: HashSet<(usize, &Path)> = HashSet::new();
    for one in missing {
        let parent = one.path.parent().unwrap_or(Path::new(""));
        if made.insert((one.place_index, parent)) {
            one.place.make_parents(&one.path).map_err(|errno| not_ready(one, errno))?;
        }
    }
    let batch = |batch: &[Missing<'_>]| {
        let mut contents: Vec<Contents> = batch.iter().map(|missing| missing.contents.clone()).collect();
        let files: Vec<(PathBuf, Layout)> = batch.iter().map(|one| (one.path.clone(), one.layout.clone())).collect();
        let mut fill = |file: usize, offset: u64, block: &mut [u8]| contents[file].fill_anew(block, offset);
        let Some(first) = batch.first() else { return Ok(Ok(())) };
        let small: Vec<PathBuf> = batch.iter().filter(|one| one.is_there).map(|one| one.path.clone()).collect();
        first.place.remove_many(&small).into_iter().collect::<Result<Vec<()>, Errno>>()?;
        Ok(first.place.lay_out_many(&files, &mut fill, &|| stop.load(Ordering::Relaxed)))
    };
    let is_small = |one: &Missing<'_>| one.layout.size <= TOGETHER_BYTES_MAX;
    let together = |a: &Missing<'_>, b: &Missing<'_>| a.place_index == b.place_index && is_small(a) && is_small(b);
    let batches: Vec<&[Missing<'_>]> =
        missing.chunk_by(together).flat_map(|batch| batch.chunks(TOGETHER_FILES_MAX)).collect();
    let results = in_parallel(&batches, stop, |one| batch(one));
    for (batch, result) in batches.iter().zip(results) {
        match result {
            Some(Err(errno)) => return Err(not_ready(&batch[0], errno)),
            Some(Ok(Err((file, errno)))) => return Err(not_ready(&batch[file], errno)),
            Some(Ok(Ok(()))) | None => {}
        }
    }
    Ok(())
}

fn not_ready(missing: &Missing<'_>, errno: Errno) -> NotReady {
    let text = format!("fio: {}: {}", missing.path.display(), said(errno));
    NotReady { asked: missing.job, errno: errno.raw_os_error(), text }
}

/// `work` of each, by several threads; None for what was not begun before `stop`, or after an error.
fn in_parallel<T: Sync, R: Send>(
    all: &[T],
    stop: &AtomicBool,
    work: impl Fn(&T) -> Result<R, Errno> + Sync,
) -> Vec<Option<Result<R, Errno>>> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let results: Vec<Mutex<Option<Result<R, Errno>>>> = all.iter().map(|_| Mutex::new(None)).collect();
    let take = || {
        while !stop.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(one) = all.get(at) else { break };
            let result = work(one);
            failed.fetch_or(result.is_err(), Ordering::Relaxed);
            *results[at].lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(result);
        }
    };
    if all.len() < 2 {
        take();
    } else {
        std::thread::scope(|scope| (0..THREADS.min(all.len())).for_each(|_| drop(scope.spawn(take))));
    }
    let value = |result: Mutex<Option<_>>| result.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    results.into_iter().map(value).collect()
}
