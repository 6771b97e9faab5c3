//! What the options of -c, -r and -u mean.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use crate::archive::Codec;
use crate::archive::write::Format;
use crate::base::name::Shown;
use crate::cli::archive::ArchiveName;
use crate::cli::host::Host;
use crate::cli::host::Unclear::{self, Fatal, Usage};
use crate::cli::owners::HostOwners;
use crate::jobs::create::{Attributes, Newer, Options};
use crate::jobs::extract::Owners;
use crate::jobs::mode::ModeChange;
use crate::jobs::select::{Pattern, Selection};

use super::dates::date;
use super::high;
use super::low::Low;
use super::words::{self, Names, Word};

/// Multiply linked files remembered.
const LINKS_MAX: usize = 1_000_000;
/// Directory entries listed ahead.
const AHEAD_MAX: usize = 50_000;
/// A tar block, bytes.
const BLOCK_BYTES: u64 = 512;
/// GNU tar's default blocking.
const RECORD_BLOCKS: u64 = 20;
/// The largest record, bytes: what is padded with zeros at the end is no larger.
const RECORD_BYTES_MAX: u64 = 1 << 30;

/// An archive that is to be made or added to.
#[derive(Debug)]
pub struct Creation {
    /// What goes in and how; `archive` and `update` are not known yet.
    pub options: Options,
    /// What is left out besides, of operands with so many names and lists before them or more; the last of these that fits holds.
    pub excludes_behind: Vec<(usize, Arc<Selection>)>,
    /// Names, lists and `-C`, in order: see `Names`.
    pub words: Vec<Word>,
    /// What symbolic links lead to is stored.
    pub dereference: bool,
    /// The volume label in front.
    pub label: Option<Vec<u8>>,
    /// How it is packed.
    pub packed: Packed,
    /// The level that was asked for.
    pub level: Option<u32>,
}

/// How an archive is to be packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packed {
    /// With this codec, or plain.
    As(Codec),
    /// As the archive's name says.
    ByName,
    /// By this command.
    Program(OsString),
}

impl Creation {
    /// The names and directories of the command line itself, without its lists.
    pub fn named_words(&self) -> Vec<Word> {
        self.words.iter().filter(|word| !matches!(word, Word::List(_))).cloned().collect()
    }

    /// What `low` means for an archive that is made, or with `added` added to.
    pub fn new(low: &Low, host: &Host, archive: &ArchiveName, added: bool) -> Result<Creation, Unclear> {
        if low.attributes.o {
            return Err(Usage(
                "-o is the v7 format when creating, which is not in this version; use --format=ustar".into(),
            ));
        }
        if Names::new(&low.words).is_empty() && !added {
            return Err(Usage("Cowardly refusing to create an empty archive".into()));
        }
        if let Some(idle) = words::idle(&low.words) {
            return Err(Usage(format!(
                "The following options were used after any non-optional arguments in archive create or update mode.  These options are \
                 positional and affect only arguments that follow them.  Please, rearrange them properly: {idle} has no effect"
            )));
        }
        let packed = match (packed(low, archive)?, archive) {
            (Packed::ByName, ArchiveName::Path(path)) if added && is_plain(path.as_os_str().as_bytes()) => {
                Packed::As(Codec::Plain)
            }
            (Packed::ByName, ArchiveName::Nfs(url, _)) if added && is_plain(&url.path) => Packed::As(Codec::Plain),
            (packed, _) => packed,
        };
        if added && (packed != Packed::As(Codec::Plain)) {
            return Err(Usage("Cannot update compressed archives".into()));
        }
        if added && *archive == ArchiveName::Stdin {
            return Err(Usage("Options '-Aru' are incompatible with '-f -'".into()));
        }
        if !added && *archive == ArchiveName::Stdin && host.stdout_is_terminal {
            return Err(Fatal("Refusing to write archive contents to terminal (missing -f option?)".into()));
        }
        let excludes = words::excludes_of_stored(&low.words)?;
        let options = options(low, host, &excludes.all)?;
        fits(&options)?;
        Ok(Creation {
            options,
            excludes_behind: excludes_behind(excludes.behind)?,
            words: low.words.clone(),
            dereference: low.creation.dereference,
            label: low.creation.label.as_ref().map(|label| label.as_bytes().to_vec()),
            packed,
            level: low.codec.level,
        })
    }
}

/// What a format cannot carry is told before an archive that is there is emptied, in GNU tar's words, and not of each member that has it.
fn fits(options: &Options) -> Result<(), Unclear> {
    let only_posix = [("--xattrs", options.xattrs), ("--acls", options.acls), ("--selinux", options.selinux)];
    match only_posix.into_iter().find(|(_, is_set)| *is_set && options.format != Format::Pax) {
        Some((option, _)) => Err(Usage(format!("{option} can be used only on POSIX archives"))),
        None if options.sparse && options.format == Format::Ustar => {
            Err(Usage("GNU features wanted on incompatible archive format (-S with --format=ustar)".into()))
        }
        None => Ok(()),
    }
}

/// Does its name say that it is not compressed?
fn is_plain(name: &[u8]) -> bool {
    matches!(Codec::by_name(name), Ok(Codec::Plain))
}

/// How it is to be packed. As for GNU tar, `-a` with a suffix that is known goes before a codec's letter and before `-I`.
fn packed(low: &Low, archive: &ArchiveName) -> Result<Packed, Unclear> {
    let by_name = low.codec.auto_compress && !low.codec.no_auto_compress;
    let suffix = match archive {
        ArchiveName::Stdin => Ok(Codec::Plain),
        ArchiveName::Path(path) => Codec::by_name(path.as_os_str().as_bytes()),
        ArchiveName::Nfs(url, _) => Codec::by_name(&url.path),
    };
    let said = high::codec_said(low)?;
    match (high::program(low)?, said) {
        // A suffix of what is not carried here asks for -I.
        (program, _) if by_name && suffix != Ok(Codec::Plain) && (program.is_none() || suffix.is_ok()) => {
            Ok(Packed::ByName)
        }
        (Some(_), None) if low.codec.level.is_some() => {
            Err(Usage("--level is not told to the command of -I; give it there: -I 'gzip -9'".into()))
        }
        (Some(command), None) => Ok(Packed::Program(command.clone())),
        (_, Some((codec, _))) => Ok(Packed::As(codec)),
        (None, None) if by_name => Ok(Packed::ByName),
        (None, None) => Ok(Packed::As(Codec::Plain)),
    }
}

fn selection(excludes: &[Pattern]) -> Result<Selection, Unclear> {
    Selection::of(excludes, None).map_err(|error| Usage(error.to_string()))
}

/// Each with those before it.
fn excludes_behind(behind: Vec<(usize, Vec<Pattern>)>) -> Result<Vec<(usize, Arc<Selection>)>, Unclear> {
    let mut so_far = Vec::new();
    let with_former = |(before, patterns)| {
        so_far.extend(patterns);
        Ok((before, Arc::new(selection(&so_far)?)))
    };
    behind.into_iter().map(with_former).collect()
}

fn options(low: &Low, host: &Host, excludes: &[Pattern]) -> Result<Options, Unclear> {
    let creation = &low.creation;
    let newer = match (&low.choice.newer[..], &low.choice.newer_mtime[..]) {
        ([], []) => None,
        ([text], []) => Some(Newer { than: date("--newer", text)?, or_changed: true }),
        ([], [text]) => Some(Newer { than: date("--newer-mtime", text)?, or_changed: false }),
        _ => return Err(Usage("More than one threshold date".into())),
    };
    let sort_by_name = match creation.sort.as_deref() {
        None | Some("none") => false,
        Some("name") => true,
        Some("inode") => return Err(Usage("--sort=inode is not in this version; use --sort=name".into())),
        Some(other) => {
            return Err(Usage(format!("invalid argument '{other}' for '--sort'; valid are 'none' and 'name'")));
        }
    };
    Ok(Options {
        format: format(low)?,
        sort_by_name,
        exclude: selection(excludes)?,
        one_file_system: creation.one_file_system,
        hard_dereference: creation.hard_dereference,
        sparse: low.attributes.sparse,
        xattrs: low.attributes.wants_xattrs(),
        xattr_masks: high::xattr_masks(low)?,
        acls: low.attributes.acls,
        selinux: low.attributes.selinux,
        newer,
        update: None,
        attributes: attributes(low, host)?,
        transform: high::transform(low)?.map(Arc::new),
        absolute_names: low.choice.absolute_names,
        archive: None,
        links_max: LINKS_MAX,
        several: words::Names::new(&low.words).is_several(),
        ahead_max: AHEAD_MAX,
        record_bytes: record_bytes(low)?,
        label: Vec::new(),
    })
}

fn format(low: &Low) -> Result<Format, Unclear> {
    let said = low.creation.format.as_deref();
    match said {
        Some("ustar" | "gnu") if low.creation.posix => Err(Usage("Conflicting archive format options".into())),
        None | Some("pax" | "posix") => Ok(Format::Pax),
        Some("ustar") => Ok(Format::Ustar),
        Some("gnu") => Ok(Format::Gnu),
        Some(old @ ("oldgnu" | "v7")) => {
            let instead = if old == "v7" { "ustar" } else { "gnu" };
            Err(Usage(format!("--format={old} is not in this version; use --format={instead}")))
        }
        Some(other) => Err(Usage(format!("{other}: Invalid archive format"))),
    }
}

fn attributes(low: &Low, host: &Host) -> Result<Attributes, Unclear> {
    let said = &low.attributes;
    if said.clamp_mtime && said.mtime.is_none() {
        return Err(Usage("--clamp-mtime needs a date specified using --mtime".into()));
    }
    let owners = HostOwners::default();
    let owner = |text: &OsString| identity("owner", text, |name| owners.uid(name), |id| owners.user_name(id));
    let group = |text: &OsString| identity("group", text, |name| owners.gid(name), |id| owners.group_name(id));
    let mode = |text: &OsString| {
        let change = text.to_str().and_then(|text| ModeChange::parse(text, host.umask).ok());
        change.ok_or_else(|| Fatal("Invalid mode given on option".into()))
    };
    Ok(Attributes {
        owner: said.owner.as_ref().map(owner).transpose()?,
        group: said.group.as_ref().map(group).transpose()?,
        mode: said.mode.as_ref().map(mode).transpose()?.map(Arc::new),
        mtime: said.mtime.as_ref().map(|text| date("--mtime", text)).transpose()?,
        clamp_mtime: said.clamp_mtime,
        numeric: said.numeric_owner,
    })
}

/// `NAME`, `NUMBER`, `NAME:NUMBER` or `:NUMBER` as name and number. A number alone has the name that this host has for it, as in
/// GNU tar.
fn identity(
    option: &str,
    text: &OsStr,
    find: impl Fn(&[u8]) -> Option<u32>,
    name_of: impl Fn(u32) -> Option<Vec<u8>>,
) -> Result<(Vec<u8>, u32), Unclear> {
    let bytes = text.as_bytes();
    let number = |digits: &[u8]| std::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<u32>().ok());
    let invalid = |what: &[u8]| Usage(format!("{}: Invalid owner or group ID", Shown(what)));
    if let Some(colon) = bytes.iter().rposition(|b| *b == b':') {
        let (name, id) = (&bytes[..colon], &bytes[colon + 1..]);
        let id = number(id).ok_or_else(|| invalid(id))?;
        let name = if name.is_empty() { name_of(id).unwrap_or_default() } else { name.to_vec() };
        return Ok((name, id));
    }
    if let Some(id) = find(bytes) {
        return Ok((bytes.to_vec(), id));
    }
    if let Some(id) = number(bytes) {
        return Ok((name_of(id).unwrap_or_default(), id));
    }
    let shown = Shown(bytes);
    Err(Usage(format!(
        "--{option}: this host does not know '{shown}'; give its number as well: --{option}={shown}:NUMBER"
    )))
}

/// `-b` and `--record-size`.
fn record_bytes(low: &Low) -> Result<u64, Unclear> {
    if let Some(text) = &low.creation.record_size {
        let bytes = text.to_str().and_then(|text| crate::base::units::parse_bytes(text).ok());
        let bytes = bytes.filter(|bytes| (1..=RECORD_BYTES_MAX).contains(bytes));
        let bytes = bytes.ok_or_else(|| Usage(format!("{}: Invalid record size", Shown(text.as_bytes()))))?;
        if bytes % BLOCK_BYTES != 0 {
            return Err(Usage(format!("Record size must be a multiple of {BLOCK_BYTES}.")));
        }
        return Ok(bytes);
    }
    let Some(text) = &low.creation.blocking_factor else { return Ok(RECORD_BLOCKS * BLOCK_BYTES) };
    let blocks = text.to_str().and_then(|text| text.parse::<u64>().ok());
    let blocks = blocks.filter(|blocks| (1..=RECORD_BYTES_MAX / BLOCK_BYTES).contains(blocks));
    blocks
        .map(|blocks| blocks * BLOCK_BYTES)
        .ok_or_else(|| Usage(format!("{}: Invalid blocking factor", Shown(text.as_bytes()))))
}
