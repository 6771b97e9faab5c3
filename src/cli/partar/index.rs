//! `--index FILE`: an index of the archive that is used where only some members are wanted, and made where there is none that is good.
//!
//! An index is of one size and time of modification, with or without `-i`; one of another archive, or of another version of this one, is told, not used, and
//! made anew when the whole archive has been read without a failure.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::archive::index::{Of, Reader, Writer};
use crate::archive::{self, Archive, Codec};
use crate::base::Time;
use crate::cli::archive::ArchiveName;
use crate::cli::console::{Console, reason};
use crate::jobs::select::Selection;

use super::high::High;

type Out = Writer<BufWriter<File>>;

/// An index in the making.
pub struct Keeper {
    path: PathBuf,
    beside: PathBuf,
    out: Arc<Mutex<Option<io::Result<Out>>>>,
}

fn cannot(path: &Path, call: &str, error: &io::Error) -> String {
    format!("{}: Cannot {call}: {}", path.display(), reason(error))
}

fn of(high: &High, archive: &Path) -> Result<Of, String> {
    let meta = fs::metadata(archive).map_err(|error| cannot(archive, "stat", &error))?;
    let nanos = u32::try_from(meta.mtime_nsec()).unwrap_or(0);
    Ok(Of { len: meta.len(), mtime: Time { secs: meta.mtime(), nanos }, ignore_zeros: high.ignore_zeros })
}

/// What is said of the index of an archive that is compressed.
pub fn packed(high: &High) -> String {
    format!("{}: --index is for files that are not compressed", high.archive)
}

/// Refuses an index that would be written over something else: the archive, or a file that is no index.
pub fn check(high: &High) -> Result<(), String> {
    let (Some(path), ArchiveName::Path(archive)) = (&high.index, &high.archive) else { return Ok(()) };
    let Ok(there) = fs::metadata(path) else { return Ok(()) };
    if fs::metadata(archive).is_ok_and(|archive| (archive.dev(), archive.ino()) == (there.dev(), there.ino())) {
        return Err(format!("{}: is the archive; --index is a file of its own beside it", path.display()));
    }
    let holds_one = || File::open(path).map(|mut file| archive::index::is_index(&mut file));
    let is_index =
        there.is_file() && (there.len() == 0 || holds_one().map_err(|error| cannot(path, "open", &error))?);
    if is_index {
        Ok(())
    } else {
        Err(format!("{}: is there and is no index; give --index another name", path.display()))
    }
}

/// Lets `archive` go by its index, where that is good and only some members are meant; else gives what makes one, if it is missing.
pub fn prepare(
    high: &High,
    archive: &mut Archive,
    select: &Selection,
    console: &Console,
) -> Result<Option<Keeper>, String> {
    let (Some(path), ArchiveName::Path(name)) = (&high.index, &high.archive) else { return Ok(None) };
    let Some(source) = archive.source() else {
        return Err(packed(high));
    };
    let of = Of { len: source.len(), ..of(high, name)? };
    check(high)?;
    match good(path, of) {
        Ok(reader) => {
            if select.is_narrow() {
                let (select, mut matched) = (select.clone(), select.matched());
                // It was read to its end once: what fails now ends the members, and operands are not found.
                let offsets = reader.map_while(Result::ok);
                // What is excluded is read as well where it is the first of an operand's: that one was found.
                archive.visit(Box::new(offsets.filter_map(move |(path, at)| {
                    let before = matched.count;
                    (select.selects(&path, &mut matched) || matched.count > before).then_some(at)
                })));
            }
            return Ok(None);
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => console.message(format_args!("{}: not used: {}", path.display(), reason(&error))),
    }
    // A rehearsal leaves no index behind.
    if high.manner.planned.is_some() {
        return Ok(None);
    }
    let keeper = Keeper::new(path, of, high.manner.report_mode)?;
    let out = keeper.out.clone();
    archive.watch(Box::new(move |path, offset| {
        let mut out = out.lock().expect("nothing panics while it writes");
        let failed = out.as_mut().and_then(|out| out.as_mut().ok()?.add(path, offset).err());
        if let Some(error) = failed {
            *out = Some(Err(error));
        }
    }));
    Ok(Some(keeper))
}

/// The index at `path`, if it is whole and of this archive.
fn good(path: &Path, of: Of) -> io::Result<Reader<BufReader<File>>> {
    let open = || Reader::new(BufReader::new(File::open(path)?));
    let reader = open()?;
    if reader.of() != of {
        return Err(io::Error::other(
            "it is of another archive, or of this one as it was before, or with -i and without",
        ));
    }
    reader.check().map_err(|error| io::Error::other(format!("it is damaged ({error})")))?;
    open()
}

impl Keeper {
    fn new(path: &Path, of: Of, mode: u32) -> Result<Keeper, String> {
        let mut beside = path.as_os_str().to_os_string();
        beside.push(format!(".{}.tmp", std::process::id()));
        let beside = PathBuf::from(beside);
        let file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&beside);
        let out = file.and_then(|file| Writer::new(BufWriter::new(file), of));
        let out = out.map_err(|error| cannot(&beside, "create", &error))?;
        Ok(Keeper { path: path.to_path_buf(), beside, out: Arc::new(Mutex::new(Some(Ok(out)))) })
    }

    /// Ends the index, if the archive was read to its end and `whole`; false when it could not be kept, which is told.
    pub fn finish(self, archive: &Archive, whole: bool, console: &Console) -> bool {
        let out = self.out.lock().expect("nothing panics while it writes").take();
        let kept = match out {
            _ if !whole || !archive.has_ended() => Err(io::Error::other("the archive was not read without failures")),
            _ if archive.has_globals() => Err(io::Error::other("the archive has headers that are about all members")),
            Some(Ok(out)) => end(out, &self.beside, &self.path),
            Some(Err(error)) => Err(error),
            None => Ok(()),
        };
        let Err(error) = kept else { return true };
        // What is left beside it carries its reason in its name.
        let _left = fs::remove_file(&self.beside);
        console.message(format_args!("{}: no index is kept: {}", self.path.display(), reason(&error)));
        false
    }
}

fn end(out: Out, beside: &Path, path: &Path) -> io::Result<()> {
    let file = out.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    fs::rename(beside, path)
}

/// Makes the index of an archive that has just been written; false when it could not be kept, which is told.
pub fn make(high: &High, console: &Console) -> Result<bool, String> {
    let (Some(index), ArchiveName::Path(name)) = (&high.index, &high.archive) else { return Ok(true) };
    check(high)?;
    let file = File::open(name).map_err(|error| cannot(name, "open", &error))?;
    let of = of(high, name)?;
    let source = crate::cli::archive::Seekable::new(Arc::new(file), of.len);
    let input = crate::archive::Input::Seekable(Arc::new(source));
    let (codec, input) = crate::archive::detect(input).map_err(|error| cannot(name, "read", &error))?;
    if codec != Codec::Plain {
        return Err(packed(high));
    }
    let mut archive = Archive::new(input, high.reading());
    let keeper = Keeper::new(index, of, high.manner.report_mode)?;
    let mut whole = true;
    loop {
        match archive.next() {
            Ok(None) => break,
            Ok(Some(member)) => {
                let mut out = keeper.out.lock().expect("nothing panics while it writes");
                if let Some(Err(error)) =
                    out.as_mut().and_then(|out| Some(out.as_mut().ok()?.add(&member.path, archive.offset())))
                {
                    *out = Some(Err(error));
                }
            }
            Err(_) => whole = false,
        }
    }
    Ok(keeper.finish(&archive, whole, console))
}
