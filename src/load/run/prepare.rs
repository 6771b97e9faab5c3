//! Files before jobs start: what is there, what is missing, laid out in parallel.
//!
//! Promises: a file that several clones use is laid out once, in the largest size that any of them needs; one that is large enough is kept
//! as it is; one that is too small is made anew, as in fio. A clone whose files cannot be set up keeps no other from its own.
//! Leaves out: names and regions (`settings`), and how a file is made (`engine`'s places).

use std::collections::HashMap;
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
    /// Bytes of each that are there before it is laid out.
    pub there: Vec<u64>,
    /// Bytes of I/O at most: of a job that fills its time, in a pass.
    pub total_bytes: u64,
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
    /// The clones that use it, by their place among those asked for; the first is the one that it is laid out for.
    users: Vec<usize>,
}

/// Why a clone's files could not be set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotReady {
    /// The reason's number.
    pub errno: i32,
    /// For people.
    pub text: String,
}

impl NotReady {
    fn new(errno: Errno, text: String) -> NotReady {
        NotReady { errno: errno.raw_os_error(), text }
    }
}

/// Metadata engines that make their files themselves, or directories.
fn lays_out(settings: &Settings) -> bool {
    let makes = ["filecreate", "dircreate", "dirstat", "dirdelete", "null"].contains(&settings.engine.name);
    !makes && !settings.files.create_on_open && settings.io_logs.replay.is_none()
}

/// Finds and lays out the files of all clones; as many results. `tell` is given fio's lines about what is laid out, before it is.
pub fn prepare(
    asked: &[Asked<'_>],
    readonly: bool,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(String),
) -> Vec<Result<Found, NotReady>> {
    let mut all = All::default();
    let looked = asked.iter().zip(look_at_all(asked, stop)).enumerate();
    let mut found: Vec<Result<Found, NotReady>> =
        looked.map(|(index, (clone, there))| all.find(index, clone, &there, readonly)).collect();
    tell_layouts(asked, &all.missing, tell);
    for (clone, reason) in lay_out_all(asked.len(), &all.missing, stop).into_iter().enumerate() {
        if let (Some(reason), Ok(_)) = (reason, &found[clone]) {
            found[clone] = Err(reason);
        }
    }
    found
}

/// What has to be made for all clones.
#[derive(Default)]
struct All<'a> {
    missing: Vec<Missing<'a>>,
    known: HashMap<(usize, PathBuf), usize>,
}

impl<'a> All<'a> {
    /// The files of the clone `index`, of which `there` is known.
    fn find(
        &mut self,
        index: usize,
        clone: &Asked<'a>,
        there: &[Result<There, Errno>],
        readonly: bool,
    ) -> Result<Found, NotReady> {
        let mut sizes = Vec::with_capacity(there.len());
        for (path, there) in clone.paths.iter().zip(there) {
            sizes.push(match there {
                Err(errno) => {
                    return Err(NotReady::new(*errno, format!("fio: {}: {}", path.display(), said(*errno))));
                }
                Ok(There::Dir) if clone.settings.engine.name.starts_with("dir") => There::Nothing,
                Ok(There::Dir) => {
                    return Err(NotReady::new(Errno::ISDIR, format!("fio: {}: it is a directory", path.display())));
                }
                Ok(there) => self.laid_out(clone, path, *there),
            });
        }
        let writes = clone.settings.load.writes();
        for (path, _) in clone.paths.iter().zip(&sizes).filter(|(_, there)| writes && matches!(there, There::Device(_)))
        {
            clone.place.is_free(path).map_err(|errno| {
                let text = format!("fio: {}: {}; a block device in use is not written to", path.display(), said(errno));
                NotReady::new(errno, text)
            })?;
        }
        let extents = files(clone.settings, clone.clone, &sizes, clone.seeds)
            .map_err(|text| NotReady::new(Errno::INVAL, text))?;
        let mut needed_now = Vec::new();
        if lays_out(clone.settings) {
            let each = clone.paths.iter().zip(&extents).zip(there);
            needed_now.extend(each.filter_map(|((path, extent), there)| needed(clone, path, extent, there)));
        }
        if let Some(first) = needed_now.first().filter(|_| readonly) {
            let text = format!("fio: refusing extend of file due to read-only: {}", first.path.display());
            return Err(NotReady::new(Errno::PERM, text));
        }
        // One that is there and too small would be made anew.
        let is_made = |new: &Missing<'_>| self.known.contains_key(&(new.place_index, new.path.clone()));
        if !clone.settings.files.allow_create && !needed_now.iter().all(is_made) {
            let text = "fio: file creation disallowed by allow_file_create=0";
            return Err(NotReady::new(Errno::PERM, text.into()));
        }
        needed_now.into_iter().for_each(|new| self.add(index, new));
        let total_bytes = total_io(clone.settings, &extents);
        let regions = clone.paths.iter().cloned().zip(extents.iter().map(|extent| extent.region));
        let there = extents.iter().map(|extent| extent.there).collect();
        Ok(Found { files: regions.collect(), there, total_bytes })
    }

    /// What is there once the files of the clones ahead are laid out: a later job without a size has it from them, as in fio.
    fn laid_out(&self, clone: &Asked<'_>, path: &Path, there: There) -> There {
        let size = match there {
            There::Nothing => 0,
            There::File(size) => size,
            There::Device(_) | There::Stream | There::Dir => return there,
        };
        if self.known.is_empty() {
            return there;
        }
        let known = self.known.get(&(clone.place_index, path.to_path_buf()));
        match known.map_or(0, |known| self.missing[*known].layout.size) {
            0 => there,
            known => There::File(known.max(size)),
        }
    }

    fn add(&mut self, clone: usize, mut new: Missing<'a>) {
        new.users.push(clone);
        let at = *self.known.entry((new.place_index, new.path.clone())).or_insert(self.missing.len());
        match self.missing.get_mut(at) {
            Some(known) => {
                known.layout.size = known.layout.size.max(new.layout.size);
                known.layout.filled |= new.layout.filled;
                known.users.push(clone);
            }
            None => self.missing.push(new),
        }
    }
}

fn look_at_all(asked: &[Asked<'_>], stop: &AtomicBool) -> Vec<Vec<Result<There, Errno>>> {
    let parts = |(index, clone): (usize, &'_ Asked<'_>)| {
        let chunks = clone.paths.chunks(TOGETHER_FILES_MAX);
        chunks.map(|paths| (index, paths.to_vec())).collect::<Vec<_>>()
    };
    let all: Vec<(usize, Vec<PathBuf>)> = asked.iter().enumerate().flat_map(parts).collect();
    let looked = in_parallel(&all, stop, |(index, paths)| asked[*index].place.look_many(paths));
    let mut there: Vec<Vec<Result<There, Errno>>> = asked.iter().map(|_| Vec::new()).collect();
    for ((index, paths), result) in all.iter().zip(looked) {
        match result {
            Some(found) => there[*index].extend(found),
            None => there[*index].extend(paths.iter().map(|_| Err(Errno::INTR))),
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
        // As in fio what is only read has to be there, where nothing says how large it would be.
        Ok(There::Nothing) if extent.size == 0 && settings.load.reads() && !settings.load.writes() => return None,
        Ok(There::Nothing) => false,
        _ => return None,
    };
    let only_writes = settings.load.writes() && !settings.load.reads();
    // Memory is mapped of what is there.
    let filled = !only_writes || (settings.files.overwrite && !settings.files.append) || settings.engine.name == "mmap";
    let layout =
        Layout { size: extent.size, filled, allocate: settings.files.allocate, fsync: settings.files.create_fsync };
    // What is appended needs no room ahead; what is also read has to be there, and is made anew with the rest, as in fio. Its engine for NFS
    // makes no files, and that for memory does not append.
    let is_made_anew = filled && settings.engine.nfs_urls.is_empty() && settings.engine.name != "mmap";
    if settings.files.append && is_there && !is_made_anew {
        return None;
    }
    let contents = Contents::new(&settings.buffers, clone.seeds, settings.load.block_min() as usize);
    let path = path.to_path_buf();
    Some(Missing {
        place: clone.place,
        place_index: clone.place_index,
        path,
        layout,
        is_there,
        contents,
        users: Vec::new(),
    })
}

fn tell_layouts(asked: &[Asked<'_>], missing: &[Missing<'_>], tell: &mut dyn FnMut(String)) {
    for (index, clone) in asked.iter().enumerate() {
        let of_clone = || missing.iter().filter(move |missing| missing.users.first() == Some(&index));
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

/// Lays all of `missing` out; for each of so many clones why that failed, if it did. A clone's other files are then left out.
fn lay_out_all(clones: usize, missing: &[Missing<'_>], stop: &AtomicBool) -> Vec<Option<NotReady>> {
    let failed: Vec<Mutex<Option<NotReady>>> = (0..clones).map(|_| Mutex::default()).collect();
    let of = |clone: usize| failed[clone].lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let fail = |one: &Missing<'_>, errno: Errno| {
        let reason = NotReady::new(errno, format!("fio: {}: {}", one.path.display(), said(errno)));
        for clone in &one.users {
            of(*clone).get_or_insert_with(|| reason.clone());
        }
    };
    let is_wanted = |one: &Missing<'_>| one.users.iter().any(|clone| of(*clone).is_none());
    let mut made: HashMap<(usize, &Path), Result<(), Errno>> = HashMap::new();
    for one in missing {
        let parent = one.path.parent().unwrap_or(Path::new(""));
        let made = made.entry((one.place_index, parent)).or_insert_with(|| one.place.make_parents(&one.path));
        made.err().into_iter().for_each(|errno| fail(one, errno));
    }
    let is_small = |one: &Missing<'_>| one.layout.size <= TOGETHER_BYTES_MAX;
    let together = |a: &Missing<'_>, b: &Missing<'_>| {
        a.place_index == b.place_index && a.users == b.users && is_small(a) && is_small(b)
    };
    let batches: Vec<&[Missing<'_>]> =
        missing.chunk_by(together).flat_map(|batch| batch.chunks(TOGETHER_FILES_MAX)).collect();
    in_parallel(&batches, stop, |batch| {
        if is_wanted(&batch[0])
            && let Err((file, errno)) = lay_out(batch, stop)
        {
            fail(&batch[file], errno);
        }
    });
    let reason =
        |failed: Mutex<Option<NotReady>>| failed.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    failed.into_iter().map(reason).collect()
}

/// Makes the files of a batch, all of one place. An error is of one of them.
fn lay_out(batch: &[Missing<'_>], stop: &AtomicBool) -> Result<(), (usize, Errno)> {
    let Some(first) = batch.first() else { return Ok(()) };
    let mut contents: Vec<Contents> = batch.iter().map(|missing| missing.contents.clone()).collect();
    let files: Vec<(PathBuf, Layout)> = batch.iter().map(|one| (one.path.clone(), one.layout.clone())).collect();
    let mut fill = |file: usize, offset: u64, block: &mut [u8]| contents[file].fill_anew(block, offset);
    let small: Vec<usize> = (0..batch.len()).filter(|file| batch[*file].is_there).collect();
    let paths: Vec<PathBuf> = small.iter().map(|file| batch[*file].path.clone()).collect();
    for (file, removed) in small.into_iter().zip(first.place.remove_many(&paths)) {
        removed.map_err(|errno| (file, errno))?;
    }
    first.place.lay_out_many(&files, &mut fill, &|| stop.load(Ordering::Relaxed))
}

/// `work` of each, by several threads; None for what was not begun before `stop`.
fn in_parallel<T: Sync, R: Send>(all: &[T], stop: &AtomicBool, work: impl Fn(&T) -> R + Sync) -> Vec<Option<R>> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<R>>> = all.iter().map(|_| Mutex::new(None)).collect();
    let take = || {
        while !stop.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(one) = all.get(at) else { break };
            let result = work(one);
            *results[at].lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(result);
        }
    };
    if all.len() < 2 {
        take();
    } else {
        std::thread::scope(|scope| {
            let started = |_: &usize| std::thread::Builder::new().spawn_scoped(scope, take).is_ok();
            if (0..THREADS.min(all.len())).filter(started).count() == 0 {
                take();
            }
        });
    }
    let value = |result: Mutex<Option<_>>| result.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    results.into_iter().map(value).collect()
}
