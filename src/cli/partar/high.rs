//! What partar's options mean on this host: defaults as GNU tar has them, contradictions refused, files of patterns read.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::archive::{self, Codec};
use crate::base::name::Shown;
use crate::base::{Name, Time};
use crate::cli::archive::ArchiveName;
use crate::cli::host::Unclear::{self, Fatal, Usage};
use crate::cli::host::{Host, Manner};
use crate::cli::location::Location;
use crate::cli::report;
use crate::jobs::XattrMasks;
use crate::jobs::compare;
use crate::jobs::extract::{Existing, Options, Owner};
use crate::jobs::members::Names;
use crate::jobs::select::Selection;
use crate::jobs::transform::Transform;

use super::creation::Creation;
use super::dates::date;
use super::low::Low;
use super::{list, reading, to_stdout, words};

/// setuid, setgid and sticky: without -p, GNU tar does not restore them.
const SPECIAL_BITS: u32 = 0o7000;

/// A run of partar, ready to begin.
#[derive(Debug)]
#[allow(missing_docs)] // the names say it
pub struct High {
    pub archive: ArchiveName,
    /// What a flag such as -z says the archive is.
    pub codec_said: Option<(Codec, &'static str)>,
    /// The command of -I.
    pub program: Option<OsString>,
    pub mode: Mode,
    pub ignore_zeros: bool,
    /// Where the archive's index is, or is to be.
    pub index: Option<PathBuf>,
    pub totals: bool,
    pub manner: Manner,
    /// Directories of `-C` in which nothing is done: they must be there all the same.
    pub idle: Vec<PathBuf>,
}

/// What is to be done.
#[derive(Debug)]
pub enum Mode {
    /// `-x`.
    Extract {
        /// What to extract and how.
        options: Box<Options>,
        /// Where.
        destination: Location,
    },
    /// `-xO`.
    ToStdout(to_stdout::Options),
    /// `-t`.
    List(list::Options),
    /// `-d`.
    Compare {
        /// What to compare.
        options: compare::Options,
        /// With what is here.
        directory: Location,
    },
    /// `-c`.
    Create(Box<Creation>),
    /// `-r`.
    Append(Box<Creation>),
    /// `-u`.
    Update(Box<Creation>),
}

/// Modes by GNU tar's letters.
const MODES: [(&str, char); 6] =
    [("create", 'c'), ("extract", 'x'), ("list", 't'), ("diff", 'd'), ("append", 'r'), ("update", 'u')];

/// Options that say something in some modes only, by their names in the parser, and where they may be given all the same because GNU
/// tar's manual says nothing of them there: `TAR_OPTIONS` is for all modes. Elsewhere they are refused, for they are partar's own or
/// GNU tar does something that partar does not. What is not here says something in all, or is what these do anyway.
const ABOUT: [(&str, &str, &str); 37] = [
    ("touch", "x", "tdcru"),
    ("keep_old_files", "x", "tdcru"),
    ("skip_old_files", "x", "tdcru"),
    ("keep_newer_files", "x", "tdcru"),
    ("overwrite", "x", "tdcru"),
    ("unlink_first", "x", "tdcru"),
    ("resume", "x", ""),
    ("one_top_level", "x", "tcru"),
    ("to_stdout", "x", "tdcru"),
    ("strip_components", "xtd", "cru"),
    ("transform", "xtdcru", ""),
    ("xattrs_include", "xcru", "td"),
    ("xattrs_exclude", "xcru", "td"),
    ("ignore_zeros", "xtdru", "c"),
    ("owner", "cru", "xtd"),
    ("group", "cru", "xtd"),
    ("mode", "cru", "xtd"),
    ("mtime", "cru", "xtd"),
    ("clamp_mtime", "cru", "xtd"),
    ("format", "cru", "xtd"),
    ("posix", "cru", "xtd"),
    ("sort", "cru", "xtd"),
    ("one_file_system", "cru", "xtd"),
    ("dereference", "cru", "t"),
    ("hard_dereference", "cru", "xtd"),
    ("record_size", "cru", "xtd"),
    ("label", "c", ""),
    ("level", "c", ""),
    ("absolute_names", "tcru", ""),
    ("full_time", "t", "xdcru"),
    ("utc", "t", "xdcru"),
    ("index", "xct", ""),
    ("xattrs", "xcru", "td"),
    ("acls", "xcru", "td"),
    ("selinux", "xcru", "td"),
    ("newer", "xtdcru", ""),
    ("newer_mtime", "xtdcru", ""),
];

impl High {
    /// What `low` means on `host`.
    pub fn new(low: Low, host: &Host) -> Result<High, Unclear> {
        let letter = letter(&low)?;
        check_about(&low, letter)?;
        let archive = archive_name(&low.file, low.choice.force_local)?;
        let reads = matches!(letter, 'x' | 't' | 'd');
        if reads && archive == ArchiveName::Stdin && host.stdin_is_terminal {
            return Err(Fatal("Refusing to read archive contents from terminal (missing -f option?)".into()));
        }
        let mode = match letter {
            'c' => Mode::Create(Box::new(Creation::new(&low, host, &archive, false)?)),
            'r' => Mode::Append(Box::new(Creation::new(&low, host, &archive, true)?)),
            'u' => Mode::Update(Box::new(Creation::new(&low, host, &archive, true)?)),
            't' => Mode::List(list::Options {
                select: selection(&low, &archive)?,
                newer: newer(&low)?,
                // As GNU tar 1.34; --full-time alone changes nothing there.
                long: low.output.verbose > 0 || low.output.utc,
                numeric: low.attributes.numeric_owner,
                full_time: low.output.full_time,
                utc: low.output.utc,
                transform: transform(&low)?,
                strip_components: low.choice.strip_components.unwrap_or(0),
                names: if low.choice.absolute_names { Names::Kept } else { Names::Inside },
            }),
            'd' => Mode::Compare {
                options: compare::Options {
                    select: selection(&low, &archive)?,
                    newer: newer(&low)?,
                    transform: transform(&low)?,
                    strip_components: low.choice.strip_components.unwrap_or(0),
                    numeric: low.attributes.numeric_owner,
                },
                directory: destination(&low)?,
            },
            _ if low.output.to_stdout => Mode::ToStdout(to_stdout::Options {
                select: selection(&low, &archive)?,
                newer: newer(&low)?,
                transform: transform(&low)?,
                strip_components: low.choice.strip_components.unwrap_or(0),
            }),
            _ => {
                let destination = destination(&low)?;
                let is_root = destination.uid(host.uid) == 0;
                Mode::Extract { options: Box::new(extraction(&low, host, is_root, &archive)?), destination }
            }
        };
        let idle =
            if matches!(mode, Mode::List(_) | Mode::ToStdout(_)) { reading::idle(&low.directory)? } else { Vec::new() };
        let index = index(&low, &archive)?;
        apart(&low, &archive, reads)?;
        let manner = Manner::new(&low.limits.parallel, low.limits.bwlimit, &low.output.tell, low.output.verbose, host)?;
        Ok(High {
            codec_said: codec_said(&low)?,
            program: program(&low)?.cloned(),
            mode,
            ignore_zeros: low.choice.ignore_zeros,
            index,
            totals: low.output.totals,
            manner,
            archive,
            idle,
        })
    }

    /// How its archive is read.
    pub fn reading(&self) -> archive::Options {
        archive::Options { ignore_zeros: self.ignore_zeros }
    }
}

/// `--index`.
fn index(low: &Low, archive: &ArchiveName) -> Result<Option<PathBuf>, Unclear> {
    match (&low.choice.index, archive) {
        (None, _) => Ok(None),
        (Some(index), ArchiveName::Path(path)) if path.as_os_str() != index => Ok(Some(index.into())),
        (Some(_), ArchiveName::Path(_)) => Err(Usage("--index is a file of its own beside the archive".into())),
        (Some(_), _) => Err(Usage("--index is for archives that are files; give the file's name with -f".into())),
    }
}

/// Nothing that is written of the run is to be written over its archive or its index, by whatever name each is typed.
fn apart(low: &Low, archive: &ArchiveName, reads: bool) -> Result<(), Unclear> {
    let of_archive = match archive {
        ArchiveName::Path(path) => place(path),
        ArchiveName::Stdin if reads => stat(io::stdin()),
        ArchiveName::Stdin => stat(io::stdout()),
        ArchiveName::Nfs(..) => None,
    };
    let of_index = low.choice.index.as_ref().and_then(|index| place(Path::new(index)));
    for (option, file) in [("--report", &low.output.tell.report), ("--log", &low.output.tell.log)] {
        let Some(here) = file.as_ref().and_then(|file| place(Path::new(file))) else { continue };
        for (other, of_other) in [("archive", &of_archive), ("index", &of_index)] {
            if of_other.as_ref() == Some(&here) {
                return Err(Usage(format!("{option} is a file of its own beside the {other}")));
            }
        }
    }
    Ok(())
}

/// Where a file is, or is to be made.
#[derive(PartialEq, Eq)]
enum Place {
    /// Its file system and its number there.
    There(u64, u64),
    /// Its name in the directory that it leads to.
    ToBe(PathBuf),
}

/// Of a file of this host; none of a pipe or a device, which nothing is written over.
fn place(path: &Path) -> Option<Place> {
    // A link that leads nowhere: its file is made where it leads.
    let path = &report::resolved(path);
    if let Ok(meta) = fs::metadata(path) {
        return meta.is_file().then(|| Place::There(meta.dev(), meta.ino()));
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let parent = fs::canonicalize(parent).unwrap_or_else(|_| parent.to_path_buf());
    Some(Place::ToBe(parent.join(path.file_name()?)))
}

/// Of what the shell has led elsewhere.
fn stat(stream: impl AsFd) -> Option<Place> {
    let meta = fs::File::from(stream.as_fd().try_clone_to_owned().ok()?).metadata().ok()?;
    meta.is_file().then(|| Place::There(meta.dev(), meta.ino()))
}

/// The threshold of members that are read: GNU tar compares their time of modification in both spellings.
fn newer(low: &Low) -> Result<Option<Time>, Unclear> {
    match (&low.choice.newer[..], &low.choice.newer_mtime[..]) {
        ([], []) => Ok(None),
        ([text], []) => date("--newer", text).map(Some),
        ([], [text]) => date("--newer-mtime", text).map(Some),
        _ => Err(Usage("More than one threshold date".into())),
    }
}

/// The letter of the one mode that was given.
fn letter(low: &Low) -> Result<char, Unclear> {
    let given: Vec<char> =
        MODES.iter().filter(|(id, _)| low.given.iter().any(|g| g == id)).map(|(_, letter)| *letter).collect();
    match given[..] {
        [letter] => Ok(letter),
        [] => Err(Usage("You must specify one of the '-cdtrux' options".into())),
        _ => Err(Usage("You may not specify more than one '-cdtrux' option".into())),
    }
}

/// Refuses what would do nothing.
fn check_about(low: &Low, letter: char) -> Result<(), Unclear> {
    let says = |about: &str, idle: &str| about.contains(letter) || idle.contains(letter);
    let idle = ABOUT.iter().find(|(id, about, idle)| !says(about, idle) && low.given.iter().any(|given| given == id));
    let Some((id, about, _)) = idle else { return Ok(()) };
    let option = id.replace('_', "-");
    if *id == "dereference" {
        return Err(Usage(super::refused::dereference(letter)));
    }
    if *id == "absolute_names" {
        return Err(Usage(format!(
            "--absolute-names is about creating and listing: with -{letter} a member is below the directory of -C whatever its name \
             begins with; leave it out, and use -C / for the places that absolute names say"
        )));
    }
    let modes = about.chars().map(|mode| format!("-{mode}")).collect::<Vec<_>>().join(", ");
    Err(Usage(format!("--{option} does nothing with -{letter}: leave it out (it is about {modes})")))
}

fn archive_name(files: &[OsString], force_local: bool) -> Result<ArchiveName, Unclear> {
    match files {
        [] => Ok(ArchiveName::Stdin),
        [file] if file.is_empty() => Err(Usage("-f needs the archive's name".into())),
        [file] => match ArchiveName::parse(file).map_err(|error| Usage(format!("-f: {error}")))? {
            ArchiveName::Path(_) if !force_local && is_of_a_host(file.as_bytes()) => Err(Usage(format!(
                "-f: {}: archives on other hosts are reached by nfs://HOST/EXPORT/FILE or through a pipe; \
                 use --force-local for a file of this name",
                Shown(file.as_bytes())
            ))),
            archive => Ok(archive),
        },
        _ => {
            Err(Usage("Multiple archive files (-f) are of multi-volume archives, which are not in this version".into()))
        }
    }
}

/// Does GNU tar take this name for `HOST:FILE`? A script that means that is not to find the archive on this host.
fn is_of_a_host(file: &[u8]) -> bool {
    let ends = file.iter().position(|byte| matches!(byte, b':' | b'/'));
    ends.is_some_and(|at| at > 0 && file[at] == b':')
}

/// GNU tar has the names before a `-C` elsewhere than those behind it: nothing is to go where it does not put it.
fn destination(low: &Low) -> Result<Location, Unclear> {
    if let Some(late) = words::late_dir(&low.words) {
        return Err(Usage(format!(
            "-C '{}' is behind names, and -C is about names that follow it: write it before all names, or extract once for each directory",
            Shown(late.as_bytes())
        )));
    }
    match &low.directory[..] {
        [] => Ok(Location::Dir(".".into())),
        [directory] => reading::place(directory),
        _ => Err(Usage("-C can be given once when extracting; write where it leads as one directory".into())),
    }
}

/// The command of -I; the same may be given more than once, as for GNU tar.
pub fn program(low: &Low) -> Result<Option<&OsString>, Unclear> {
    let mut given = low.codec.use_compress_program.iter();
    let first = given.next();
    match given.all(|other| Some(other) == first) {
        true => Ok(first),
        false => Err(Usage("Conflicting compression options".into())),
    }
}

/// The codec of a flag such as `-z`.
pub fn codec_said(low: &Low) -> Result<Option<(Codec, &'static str)>, Unclear> {
    let flags = &low.codec;
    let said: Vec<(Codec, &'static str)> = [
        (flags.gzip, Codec::Gzip, "-z"),
        (flags.bzip2, Codec::Bzip2, "-j"),
        (flags.xz, Codec::Xz, "-J"),
        (flags.zstd, Codec::Zstd, "--zstd"),
        (flags.lz4, Codec::Lz4, "--lz4"),
    ]
    .into_iter()
    .filter_map(|(given, codec, flag)| given.then_some((codec, flag)))
    .collect();
    let mut commands = flags.use_compress_program.iter();
    match said[..] {
        [] => Ok(None),
        // GNU tar's `-z` is `-I gzip`.
        [said] if commands.all(|command| *command == *format!("{:?}", said.0).to_lowercase()) => Ok(Some(said)),
        _ => Err(Usage("Conflicting compression options".into())),
    }
}

/// The changes of names, if there are any.
pub fn transform(low: &Low) -> Result<Option<Transform>, Unclear> {
    let expressions: Vec<&[u8]> = low.choice.transform.iter().map(|text| text.as_bytes()).collect();
    let transform = Transform::parse(&expressions).map_err(|error| Usage(error.to_string()))?;
    Ok((!transform.is_empty()).then_some(transform))
}

fn extraction(low: &Low, host: &Host, is_root: bool, archive: &ArchiveName) -> Result<Options, Unclear> {
    let attributes = &low.attributes;
    let exact_modes = attributes.preserve_permissions || (is_root && !attributes.no_same_permissions);
    let same_owner = attributes.same_owner || (is_root && !attributes.no_same_owner && !attributes.o);
    let existing = match &low.existing {
        e if e.keep_old_files => Existing::Keep,
        e if e.skip_old_files => Existing::Skip,
        e if e.keep_newer_files => Existing::KeepNewer,
        e if e.overwrite => Existing::Overwrite,
        e if e.unlink_first => Existing::UnlinkFirst,
        _ => Existing::Replace,
    };
    Ok(Options {
        strip_components: low.choice.strip_components.unwrap_or(0),
        existing,
        mtime: !attributes.touch,
        owner: if same_owner { Owner::FromArchive { numeric: attributes.numeric_owner } } else { Owner::Keep },
        mode_mask: if exact_modes { 0 } else { host.umask | SPECIAL_BITS },
        as_root: is_root,
        implied_mode: 0o777 & !host.umask,
        resume: low.existing.resume,
        select: selection(low, archive)?,
        newer: newer(low)?,
        transform: transform(low)?,
        top: top(low, archive)?,
        xattrs: attributes.wants_xattrs(),
        xattr_masks: xattr_masks(low)?,
        acls: attributes.acls,
        selinux: attributes.selinux,
        ..Options::default()
    })
}

/// The patterns of extended attributes' names.
pub fn xattr_masks(low: &Low) -> Result<XattrMasks, Unclear> {
    let said = &low.attributes;
    XattrMasks::new(&said.xattrs_include, &said.xattrs_exclude).map_err(|error| Usage(error.to_string()))
}

/// The directory of `--one-top-level`: by default the archive's name without `.tar` and what says how it is packed.
fn top(low: &Low, archive: &ArchiveName) -> Result<Vec<Name>, Unclear> {
    let Some(typed) = &low.choice.one_top_level else { return Ok(Vec::new()) };
    let typed = match (typed.as_bytes(), archive) {
        (b"", ArchiveName::Path(path)) => path.file_name().and_then(|name| stem(name.as_bytes())).unwrap_or_default(),
        (typed, _) => typed,
    };
    let names: Result<Vec<Name>, _> =
        typed.split(|b| *b == b'/').filter(|part| !part.is_empty() && part != b".").map(Name::new).collect();
    match names {
        Ok(names) if names.is_empty() => Err(Usage(
            "Cannot deduce top-level directory name; please set it explicitly with --one-top-level=DIR".into(),
        )),
        Ok(names) if !typed.starts_with(b"/") => Ok(names),
        _ => Err(Usage("--one-top-level: DIR is below where members are extracted; give another place with -C".into())),
    }
}

/// An archive's name without its suffixes; none where it has none that are known.
fn stem(name: &[u8]) -> Option<&[u8]> {
    const PACKED: [&[u8]; 11] =
        [b".gz", b".bz2", b".xz", b".zst", b".lz4", b".Z", b".lz", b".lzma", b".lzo", b".tar", b""];
    const JOINED: [&[u8]; 10] =
        [b".tgz", b".taz", b".tz2", b".tbz2", b".tbz", b".txz", b".tzst", b".tlz", b".tlz4", b".taZ"];
    let joined = JOINED.iter().find_map(|suffix| name.strip_suffix(*suffix));
    let packed = || PACKED.iter().find_map(|suffix| name.strip_suffix(*suffix)?.strip_suffix(b".tar"));
    let stem = joined.or_else(packed).or_else(|| name.strip_suffix(b".tar"))?;
    (!stem.is_empty()).then_some(stem)
}

/// The members that are meant.
fn selection(low: &Low, archive: &ArchiveName) -> Result<Selection, Unclear> {
    let stdin_taken = (*archive == ArchiveName::Stdin)
        .then_some("a list (-X -, -T -) and the archive cannot both be read from standard input");
    let excludes = words::excludes(&low.words, stdin_taken)?;
    let members = words::members(&low.words, stdin_taken)?;
    Selection::of(&excludes, members.as_deref()).map_err(|error| Usage(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::partar::low;
    use crate::cli::watch::Progress;

    const USER: Host = Host {
        uid: 1000,
        umask: 0o027,
        stdin_is_terminal: false,
        stdout_is_terminal: false,
        stderr_is_terminal: false,
        pids: None,
    };
    const ROOT: Host = Host { uid: 0, ..USER };

    fn high(line: &str, host: &Host) -> Result<High, Unclear> {
        High::new(low::parse(line.split_whitespace().map(OsString::from).collect()).unwrap(), host)
    }

    fn options(line: &str, host: &Host) -> Options {
        match high(line, host).unwrap().mode {
            Mode::Extract { options, .. } => *options,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_archive_of_another_host_is_none_of_this_one() {
        for line in ["cf h:x a", "xf h:x", "tf u@h:/x", "rf 12:30.tar a"] {
            assert!(matches!(high(line, &USER), Err(Usage(text)) if text.contains("use --force-local")), "{line}");
            assert_eq!(high(&format!("{line} --force-local"), &USER).map(drop), Ok(()), "{line}");
        }
        for line in ["cf ./h:x a", "xf d/h:x", "tf :x", "xf nfs://h/e/x"] {
            assert_eq!(high(line, &USER).map(drop), Ok(()), "{line}");
        }
    }

    /// What is there already, what is made by the run, and what a link leads to.
    #[test]
    fn what_is_told_of_a_run_is_not_written_over_its_archive_or_index() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().display().to_string();
        std::fs::write(dir.path().join("there"), "").unwrap();
        std::fs::hard_link(dir.path().join("there"), dir.path().join("hard")).unwrap();
        for (to, link) in [("there", "soft"), ("new", "dangling"), ("dangling", "twice")] {
            std::os::unix::fs::symlink(to, dir.path().join(link)).unwrap();
        }
        let refused = |line: String| matches!(high(&line, &USER), Err(Usage(text)) if text.contains("of its own"));
        for option in ["--report", "--log"] {
            for (a, b) in [
                ("there", "./there"),
                ("new", "./new"),
                ("soft", "there"),
                ("hard", "there"),
                ("dangling", "new"),
                ("twice", "new"),
            ] {
                assert!(refused(format!("-cf {at}/{a} {option} {at}/{b} x")), "{a} {b}");
                assert!(refused(format!("-cf {at}/{b} {option} {at}/{a} x")), "{b} {a}");
                assert!(refused(format!("-cf {at}/tar --index {at}/{a} {option} {at}/{b} x")), "{a} {b}");
            }
            assert!(!refused(format!("-cf {at}/new --index {at}/i {option} {at}/there x")));
            assert!(!refused(format!("-cf /dev/null {option} /dev/null x")));
        }
    }

    #[test]
    fn modes_and_owners_follow_who_extracts() {
        let kept = Owner::FromArchive { numeric: false };
        for (line, host, owner, mask) in [
            ("xf a", USER, Owner::Keep, 0o7027),
            ("xpf a", USER, Owner::Keep, 0),
            ("xf a --same-owner", USER, kept, 0o7027),
            ("xf a", ROOT, kept, 0),
            ("xf a --no-same-permissions", ROOT, kept, 0o7027),
            ("xf a -o", ROOT, Owner::Keep, 0),
            ("xf a --numeric-owner", ROOT, Owner::FromArchive { numeric: true }, 0),
            ("xf a -C nfs://h/e?uid=0", USER, kept, 0),
            ("xf a -C nfs://h/e?uid=7", ROOT, Owner::Keep, 0o7027),
        ] {
            let options = options(line, &host);
            assert_eq!((options.owner, options.mode_mask), (owner, mask), "{line}");
        }
    }

    #[test]
    fn existing_files_and_times() {
        assert_eq!(options("xf a", &USER).existing, Existing::Replace);
        assert_eq!(options("xkf a", &USER).existing, Existing::Keep);
        assert_eq!(options("xf a --skip-old-files", &USER).existing, Existing::Skip);
        assert_eq!(options("xf a --overwrite", &USER).existing, Existing::Overwrite);
        assert!(options("xf a", &USER).mtime && !options("xmf a", &USER).mtime);
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        let usage = |line| match high(line, &USER) {
            Err(Usage(text)) => text,
            other => panic!("{other:?}"),
        };
        assert!(usage("-f a").contains("You must specify"));
        assert!(usage("-xtf a").contains("more than one"));
        assert!(usage("-cf a b --resume").contains("--resume does nothing with -c"));
        assert!(usage("-rf a b --label=c").contains("--label does nothing with -r"));
        assert!(usage("-xf a --absolute-names").contains("use -C /"));
        assert!(usage("xf a -f b").contains("-f"));
        assert!(usage("xf a -C b -C c").contains("-C"));
        assert!(usage("xzjf a").contains("Conflicting"));
        // As GNU tar 1.34: what was said before is not forgotten.
        for line in ["-x -I gzip -I bzip2 -f a", "-c -I gzip -I bzip2 -f a b"] {
            assert!(usage(line).contains("Conflicting"), "{line}");
        }
        assert!(high("-x -I gzip -I gzip -f a", &USER).is_ok());
        for line in [
            "-x -N 2020-01-01 -N 2020-01-01 -f a",
            "-c -N 2020-01-01 -N 2020-01-01 -f a b",
            "-c --newer-mtime 2020-01-01 --newer-mtime 2021-01-01 -f a b",
        ] {
            assert_eq!(usage(line), "More than one threshold date", "{line}");
        }
        assert!(usage("xf - -X -").contains("-X -"));
        assert!(usage("xf a -C nfs://h").contains("-C"));
    }

    #[test]
    fn a_terminal_is_no_archive_and_hides_no_names() {
        let terminal = Host { stdin_is_terminal: true, stdout_is_terminal: true, stderr_is_terminal: true, ..USER };
        assert!(matches!(high("x", &terminal), Err(Fatal(text)) if text.contains("Refusing")));
        let progress = |line| high(line, &terminal).unwrap().manner.progress != Progress::Off;
        assert!(progress("xf a") && !progress("xvf a") && progress("xvf a --progress"));
        assert!(!progress("xf a --no-progress") && high("x", &USER).unwrap().manner.progress == Progress::Off);
    }

    #[test]
    fn limits_bind_one_by_one() {
        assert!(high("xf a", &USER).unwrap().manner.held.is_none());
        let held = high("xf a --max-iops 100", &USER).unwrap().manner.held.unwrap();
        assert_eq!((held.iops, held.bytes_per_s), (100.0, f64::INFINITY));
        let held = high("xf a --bwlimit 1MB", &USER).unwrap().manner.held.unwrap();
        assert_eq!((held.iops, held.bytes_per_s), (f64::INFINITY, 1e6));
    }
}
