//! What partar's options mean on this host: defaults as GNU tar has them, contradictions refused, files of patterns read.

use std::ffi::OsString;
use std::io::{IsTerminal, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::Mode;

use crate::archive::Codec;
use crate::base::price::Ceiling;
use crate::cli::console::{Quoted, reason};
use crate::cli::location::Location;
use crate::cli::open::ArchiveName;
use crate::jobs::extract::{Existing, Options, Owner};
use crate::jobs::select::Selection;

use super::low::Low;

/// setuid, setgid and sticky: without -p, GNU tar does not restore them.
const SPECIAL_BITS: u32 = 0o7000;

/// A file of patterns has at most this many bytes.
const PATTERNS_BYTES_MAX: u64 = 64 << 20;

/// What the meaning of options depends on.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // the names say it
pub struct Host {
    pub uid: u32,
    pub umask: u32,
    pub stdin_is_terminal: bool,
    pub stdout_is_terminal: bool,
    pub stderr_is_terminal: bool,
}

impl Host {
    /// This process's. Sets its umask to 0, so that every mode is exactly what it is asked to be.
    pub fn here() -> Host {
        Host {
            uid: rustix::process::geteuid().as_raw(),
            umask: rustix::process::umask(Mode::empty()).as_raw_mode(),
            stdin_is_terminal: std::io::stdin().is_terminal(),
            stdout_is_terminal: std::io::stdout().is_terminal(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
        }
    }
}

/// A run of partar, ready to begin.
#[derive(Debug)]
#[allow(missing_docs)] // the names say it
pub struct High {
    pub archive: ArchiveName,
    /// What a flag such as -z says the archive is.
    pub codec_said: Option<(Codec, &'static str)>,
    pub destination: Location,
    pub options: Options,
    pub ignore_zeros: bool,
    pub lanes: Option<usize>,
    pub window: Option<usize>,
    /// A ceiling that each target is held under.
    pub held: Option<Ceiling>,
    pub verbose: u8,
    pub totals: bool,
    pub report: Option<PathBuf>,
    pub progress: bool,
}

/// Why a command line has no meaning: a usage error, or something on the host.
#[derive(Debug, PartialEq, Eq)]
pub enum Unclear {
    /// The command line contradicts itself or leaves something out.
    Usage(String),
    /// A file could not be read.
    Fatal(String),
}

use Unclear::{Fatal, Usage};

impl High {
    /// What `low` means on `host`.
    pub fn new(low: Low, host: &Host) -> Result<High, Unclear> {
        if !low.extract {
            return Err(Usage("You must specify -x, the only mode of this version".into()));
        }
        let archive = archive_name(&low.file)?;
        if archive == ArchiveName::Stdin && host.stdin_is_terminal {
            return Err(Fatal("Refusing to read archive contents from terminal (missing -f option?)".into()));
        }
        let destination = destination(&low.directory)?;
        let is_root = destination.uid(host.uid) == 0;
        let codec_said = codec_said(&low)?;
        let names_hide_progress = low.output.verbose > 0 && host.stdout_is_terminal;
        let progress =
            low.output.progress || (host.stderr_is_terminal && !low.output.no_progress && !names_hide_progress);
        Ok(High {
            codec_said,
            ignore_zeros: low.choice.ignore_zeros,
            lanes: low.parallel.parallel,
            window: low.parallel.window,
            held: held(low.parallel.max_iops, low.parallel.bwlimit),
            verbose: low.output.verbose,
            totals: low.output.totals,
            report: low.output.report.clone().map(PathBuf::from),
            progress,
            options: options(low, host, is_root, &archive)?,
            archive,
            destination,
        })
    }
}

fn archive_name(files: &[OsString]) -> Result<ArchiveName, Unclear> {
    match files {
        [] => Ok(ArchiveName::Stdin),
        [file] if file == "-" => Ok(ArchiveName::Stdin),
        [file] if file.is_empty() => Err(Usage("-f needs the archive's name".into())),
        [file] => Ok(ArchiveName::Path(file.into())),
        _ => {
            Err(Usage("Multiple archive files (-f) are not read; multi-volume archives are not in this version".into()))
        }
    }
}

fn destination(directories: &[OsString]) -> Result<Location, Unclear> {
    match directories {
        [] => Ok(Location::Dir(".".into())),
        [directory] => Location::parse(directory).map_err(|error| Usage(format!("-C: {error}"))),
        _ => Err(Usage("-C can be given once in this version; extract once for each directory".into())),
    }
}

fn codec_said(low: &Low) -> Result<Option<(Codec, &'static str)>, Unclear> {
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
    match said[..] {
        [] => Ok(None),
        [said] => Ok(Some(said)),
        _ => Err(Usage("Conflicting compression options".into())),
    }
}

fn held(iops: Option<u64>, bytes_per_s: Option<u64>) -> Option<Ceiling> {
    if iops.is_none() && bytes_per_s.is_none() {
        return None;
    }
    // What is infinite does not bind.
    let or_infinite = |limit: Option<u64>| limit.map_or(f64::INFINITY, |limit| limit as f64);
    Some(Ceiling { iops: or_infinite(iops), bytes_per_s: or_infinite(bytes_per_s), latency: Duration::ZERO })
}

fn options(low: Low, host: &Host, is_root: bool, archive: &ArchiveName) -> Result<Options, Unclear> {
    let attributes = &low.attributes;
    let exact_modes = attributes.preserve_permissions || (is_root && !attributes.no_same_permissions);
    let same_owner = attributes.same_owner || (is_root && !attributes.no_same_owner);
    let existing = match &low.existing {
        e if e.keep_old_files => Existing::Keep,
        e if e.skip_old_files => Existing::Skip,
        e if e.overwrite => Existing::Overwrite,
        _ => Existing::Replace,
    };
    Ok(Options {
        strip_components: low.choice.strip_components.unwrap_or(0),
        existing,
        mtime: !attributes.touch,
        owner: if same_owner { Owner::FromArchive { numeric: attributes.numeric_owner } } else { Owner::Keep },
        mode_mask: if exact_modes { 0 } else { host.umask | SPECIAL_BITS },
        implied_mode: 0o777 & !host.umask,
        resume: low.existing.resume,
        select: selection(low, archive)?,
        ..Options::default()
    })
}

fn selection(low: Low, archive: &ArchiveName) -> Result<Selection, Unclear> {
    let mut excludes: Vec<Vec<u8>> = low.choice.exclude.into_iter().map(OsStringExt::into_vec).collect();
    for file in &low.choice.exclude_from {
        excludes.extend(patterns(file, archive)?);
    }
    let text = |pattern: Vec<u8>| {
        String::from_utf8(pattern)
            .map_err(|bad| Usage(format!("pattern '{}' is not UTF-8 text", Quoted(bad.as_bytes()))))
    };
    let excludes = excludes.into_iter().map(text).collect::<Result<Vec<_>, _>>()?;
    let members: Vec<Vec<u8>> = low.members.into_iter().map(OsStringExt::into_vec).collect();
    Selection::new(&excludes, &members, low.choice.wildcards).map_err(|error| Usage(error.to_string()))
}

/// The patterns of a file, one a line; the last needs no newline.
fn patterns(file: &OsString, archive: &ArchiveName) -> Result<Vec<Vec<u8>>, Unclear> {
    let shown = Quoted(file.as_bytes()).to_string();
    let failed = |error: std::io::Error| Fatal(format!("{shown}: Cannot read: {}", reason(&error)));
    let source: Box<dyn Read> = if file != "-" {
        let open = std::fs::File::open(file);
        Box::new(open.map_err(|error| Fatal(format!("{shown}: Cannot open: {}", reason(&error))))?)
    } else if *archive == ArchiveName::Stdin {
        return Err(Usage("-X - and the archive cannot both be read from standard input".into()));
    } else {
        Box::new(std::io::stdin())
    };
    let mut text = Vec::new();
    source.take(PATTERNS_BYTES_MAX + 1).read_to_end(&mut text).map_err(failed)?;
    if text.len() as u64 > PATTERNS_BYTES_MAX {
        return Err(Fatal(format!("{shown}: has more than {PATTERNS_BYTES_MAX} bytes of patterns")));
    }
    Ok(text.split(|&b| b == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::partar::low;

    const USER: Host = Host {
        uid: 1000,
        umask: 0o027,
        stdin_is_terminal: false,
        stdout_is_terminal: false,
        stderr_is_terminal: false,
    };
    const ROOT: Host = Host { uid: 0, ..USER };

    fn high(line: &str, host: &Host) -> Result<High, Unclear> {
        High::new(low::parse(line.split_whitespace().map(OsString::from).collect()).unwrap(), host)
    }

    fn options(line: &str, host: &Host) -> Options {
        high(line, host).unwrap().options
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
        assert!(usage("-f a").contains("-x"));
        assert!(usage("xf a -f b").contains("-f"));
        assert!(usage("xf a -C b -C c").contains("-C"));
        assert!(usage("xzjf a").contains("Conflicting"));
        assert!(usage("xf - -X -").contains("-X -"));
        assert!(usage("xf a -C nfs://h").contains("-C"));
    }

    #[test]
    fn a_terminal_is_no_archive_and_hides_no_names() {
        let terminal = Host { stdin_is_terminal: true, stdout_is_terminal: true, stderr_is_terminal: true, ..USER };
        assert!(matches!(high("x", &terminal), Err(Fatal(text)) if text.contains("Refusing")));
        let progress = |line| high(line, &terminal).unwrap().progress;
        assert!(progress("xf a") && !progress("xvf a") && progress("xvf a --progress"));
        assert!(!progress("xf a --no-progress") && !high("x", &USER).unwrap().progress);
    }

    #[test]
    fn limits_bind_one_by_one() {
        assert!(high("xf a", &USER).unwrap().held.is_none());
        let held = high("xf a --max-iops 100", &USER).unwrap().held.unwrap();
        assert_eq!((held.iops, held.bytes_per_s), (100.0, f64::INFINITY));
        let held = high("xf a --bwlimit 1MB", &USER).unwrap().held.unwrap();
        assert_eq!((held.iops, held.bytes_per_s), (f64::INFINITY, 1e6));
    }

    #[test]
    fn a_file_of_patterns_is_one_bare_word_or_lines() {
        let dir = tempfile::tempdir().unwrap();
        for (text, expected) in [("*.log", vec!["*.log"]), ("a\n\nb\n", vec!["a", "b"]), ("", vec![])] {
            let file = dir.path().join("patterns");
            std::fs::write(&file, text).unwrap();
            let got = patterns(&file.into_os_string(), &ArchiveName::Stdin).unwrap();
            assert_eq!(got, expected.iter().map(|p| p.as_bytes().to_vec()).collect::<Vec<_>>());
        }
        let missing = patterns(&dir.path().join("none").into_os_string(), &ArchiveName::Stdin).unwrap_err();
        assert!(matches!(missing, Fatal(text) if text.ends_with("Cannot open: No such file or directory")));
    }
}
