//! Writing archives: the blocks in front of a member's data, and those at the end.
//!
//! Promises: what `header` writes, `Archive` reads back as the same member, or it is `Unfit`; a ustar or GNU header is byte
//! for byte GNU tar's. The same member gives the same bytes: nothing of the process or the clock goes in.
//! Leaves out: the data, global headers, times of access and change, dump directories and multi-volume archives.

mod block;
mod pax;
mod sparse;

use std::borrow::Cow;

use thiserror::Error;

use super::header::{BLOCK_BYTES, Block};
use super::member::{Member, MemberKind, Segment};
use super::stream::LONG_NAME_BYTES_MAX;
use crate::base::Time;
use block::Fields;

/// The archive's format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// POSIX.1-1988: what does not fit is refused.
    Ustar,
    /// GNU tar's: long names in blocks of their own, large numbers in base 256.
    Gnu,
    /// POSIX.1-2001: ustar, and extended headers where they are needed.
    #[default]
    Pax,
}

/// Bytes of a record: an archive's length is a multiple of it, as GNU tar's with its usual blocking factor of 20.
pub const RECORD_BYTES: u64 = 10240;

/// The largest file, less the largest map: offsets are signed 64-bit numbers everywhere.
const SIZE_MAX: u64 = i64::MAX as u64 - (1 << 30);

/// Why a member cannot be in an archive of a format; in GNU tar's words where it has them.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unfit {
    /// A number that the header has no room for.
    #[error("value {value} out of {kind} range {min}..{max}")]
    Value {
        /// The number.
        value: i64,
        /// The C type of its kind.
        kind: &'static str,
        /// The least that fits.
        min: i64,
        /// The most that fits.
        max: i64,
    },
    /// The path is longer than name and prefix together.
    #[error("file name is too long (max {0}); not dumped")]
    NameTooLong(usize),
    /// The path has no slash where name and prefix could be parted.
    #[error("file name is too long (cannot be split); not dumped")]
    NameUnsplit,
    /// The text of a symbolic link or the path of a hard link's target.
    #[error("link name is too long; not dumped")]
    LinkTooLong,
    /// A sparse map, extended attributes or ACLs, which this format cannot express.
    #[error("{0} cannot be in an archive of this format; not dumped")]
    Format(&'static str),
    /// More bytes than readers take, this one among them.
    #[error("{what} of {bytes} bytes, more than {max}; not dumped")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size.
        bytes: u64,
        /// The limit.
        max: u64,
    },
    /// What no archive can hold.
    #[error("{0}; not dumped")]
    Malformed(&'static str),
}

/// Appends all blocks that come before the member's data: extended headers, long names, the header, a sparse map. After them
/// come `stored` bytes of data and their `padding`. Whose path, names or records no format can hold is `Unfit`, and then nothing
/// is appended; owner's names that are too long for the format are left out, for the numbers hold.
///
/// A directory's name gets its trailing slash. `stored` and `size` count for files only, `link` for links, `dev` for devices.
/// `numeric`: no owner is named, whatever member it is of.
pub fn header(member: &Member, format: Format, numeric: bool, out: &mut Vec<u8>) -> Result<(), Unfit> {
    let start = out.len();
    let written = check(member, format).and_then(|()| match format {
        Format::Ustar => ustar(member, out),
        Format::Gnu => gnu(member, numeric, out),
        Format::Pax => pax::member(member, out),
    });
    if written.is_err() {
        out.truncate(start);
    }
    written
}

/// The header of a volume label (`-V`): GNU tar's, in all formats but ustar, which has none.
pub fn label(name: &[u8], mtime: Time, format: Format) -> Result<Vec<u8>, Unfit> {
    if format == Format::Ustar {
        return Err(Unfit::Format("a volume label"));
    }
    if name.len() >= block::NAME.len() {
        return Err(Unfit::TooLarge {
            what: "volume label",
            bytes: name.len() as u64,
            max: block::NAME.len() as u64 - 1,
        });
    }
    if name.contains(&0) {
        return Err(Unfit::Malformed("the label contains a NUL byte"));
    }
    let mut header = [0; BLOCK_BYTES];
    header[..name.len()].copy_from_slice(name);
    header[block::TYPEFLAG] = b'V';
    block::number(&mut header[block::MTIME], mtime.secs.max(0), "time_t", format)?;
    block::seal(&mut header);
    Ok(header.to_vec())
}

/// The end of an archive of `position` bytes: two zero blocks, and zeros up to a multiple of `record_bytes`.
pub fn end(position: u64, record_bytes: u64) -> Vec<u8> {
    let marks = 2 * BLOCK_BYTES as u64;
    let over = position.saturating_add(marks) % record_bytes.max(1);
    let fill = if over == 0 { 0 } else { record_bytes - over };
    vec![0; usize::try_from(marks + fill).unwrap_or(2 * BLOCK_BYTES)]
}

/// The last block of an archive that is not complete: an extended header (pax) without its data. Every reader says that something is missing,
/// and makes nothing of it; GNU tar and bsdtar take an archive that ends behind a member, without [`end`], for whole.
pub fn broken_off() -> Vec<u8> {
    let size = BLOCK_BYTES as u64;
    let fields = Fields { name: b"./PaxHeaders/incomplete", typeflag: b'x', mode: 0o644, size, ..Fields::default() };
    let mut block = Vec::new();
    let fits = block::append(&fields, Format::Pax, &mut block);
    debug_assert!(fits.is_ok());
    block
}

/// What stands in the place of an archive's first block while the rest is written.
pub const UNFINISHED: &[u8] =
    b"This archive is not complete: what wrote it was ended before it had written all of it.\n";

/// A block that begins with [`UNFINISHED`]: no header, and the beginning of nothing that is packed.
pub fn unfinished() -> Block {
    let mut block = [b'\n'; BLOCK_BYTES];
    block[..UNFINISHED.len()].copy_from_slice(UNFINISHED);
    block
}

/// How many zeros follow `bytes` of data.
pub fn padding(bytes: u64) -> usize {
    // Less than a block.
    (bytes.wrapping_neg() % BLOCK_BYTES as u64) as usize
}

/// What no format can hold.
fn check(member: &Member, format: Format) -> Result<(), Unfit> {
    if member.path.is_empty() {
        return Err(Unfit::Malformed("the name is empty"));
    }
    if member.path.ends_with(b"/") && member.kind == MemberKind::File {
        return Err(Unfit::Malformed("the name of a file ends with a slash, as a directory's"));
    }
    if [&member.path, &member.link, &member.uname, &member.gname].iter().any(|name| name.contains(&0)) {
        return Err(Unfit::Malformed("a name contains a NUL byte"));
    }
    if format != Format::Pax {
        if !member.xattrs.is_empty() {
            return Err(Unfit::Format("extended attributes"));
        }
        if member.acl_access.is_some() || member.acl_default.is_some() {
            return Err(Unfit::Format("ACLs"));
        }
    }
    // With room for the map, which counts as data.
    let (bytes, max) = (member.stored.max(member.size), SIZE_MAX);
    if bytes > max {
        return Err(Unfit::TooLarge { what: "file", bytes, max });
    }
    let stored: u128 = segments(member).unwrap_or_default().iter().map(|s| u128::from(s.len)).sum();
    if segments(member).is_some() && stored != u128::from(member.stored) {
        return Err(Unfit::Malformed("the sparse map is of another length than the data"));
    }
    Ok(())
}

/// The member's name in the archive.
fn name(member: &Member) -> Cow<'_, [u8]> {
    if member.kind == MemberKind::Dir && !member.path.ends_with(b"/") {
        return Cow::Owned([&member.path[..], b"/"].concat());
    }
    Cow::Borrowed(&member.path)
}

/// The link's text or target; empty for what is no link.
fn link(member: &Member) -> &[u8] {
    if matches!(member.kind, MemberKind::HardLink | MemberKind::Symlink) { &member.link } else { b"" }
}

fn segments(member: &Member) -> Option<&[Segment]> {
    member.segments.as_deref().filter(|_| member.kind == MemberKind::File)
}

/// The fields that follow from the member alone; the caller sets name, prefix and whatever did not fit.
fn fields<'a>(member: &'a Member, name: &'a [u8]) -> Fields<'a> {
    Fields {
        name,
        prefix: b"",
        link: link(member),
        typeflag: typeflag(member.kind),
        mode: member.mode & 0o7777,
        uid: member.uid,
        gid: member.gid,
        size: if member.kind == MemberKind::File { member.stored } else { 0 },
        mtime: member.mtime.secs,
        uname: &member.uname,
        gname: &member.gname,
        dev: matches!(member.kind, MemberKind::Char | MemberKind::Block).then_some(member.dev),
    }
}

fn typeflag(kind: MemberKind) -> u8 {
    match kind {
        MemberKind::File => b'0',
        MemberKind::HardLink => b'1',
        MemberKind::Symlink => b'2',
        MemberKind::Char => b'3',
        MemberKind::Block => b'4',
        MemberKind::Dir => b'5',
        MemberKind::Fifo => b'6',
    }
}

fn ustar(member: &Member, out: &mut Vec<u8>) -> Result<(), Unfit> {
    if segments(member).is_some() {
        return Err(Unfit::Format("a sparse file"));
    }
    let name = name(member);
    let (prefix, last) = block::split(&name)?;
    if link(member).len() > block::LINK.len() {
        return Err(Unfit::LinkTooLong);
    }
    block::append(&Fields { prefix, ..fields(member, last) }, Format::Ustar, out)
}

fn gnu(member: &Member, numeric: bool, out: &mut Vec<u8>) -> Result<(), Unfit> {
    let (name, link) = (name(member), link(member));
    // GNU tar gives these blocks root's names, whoever owns the member, unless it was asked for numbers only.
    let owner: &[u8] = if numeric { b"" } else { b"root" };
    if link.len() > block::LINK.len() {
        long(link, b'K', owner, out)?;
    }
    if name.len() > block::NAME.len() {
        long(&name, b'L', owner, out)?;
    }
    let fields = fields(member, &name);
    match segments(member) {
        Some(segments) => sparse::old(&mut block::block(&fields, Format::Gnu)?, segments, member.size, out),
        None => block::append(&fields, Format::Gnu, out),
    }
}

/// A GNU long name: a header, and the name with its NUL as data.
fn long(name: &[u8], typeflag: u8, owner: &[u8], out: &mut Vec<u8>) -> Result<(), Unfit> {
    let size = name.len() as u64 + 1;
    if size > LONG_NAME_BYTES_MAX {
        return Err(Unfit::TooLarge { what: "name", bytes: size - 1, max: LONG_NAME_BYTES_MAX - 1 });
    }
    let fields =
        Fields { name: b"././@LongLink", typeflag, mode: 0o644, size, uname: owner, gname: owner, ..Fields::default() };
    block::append(&fields, Format::Gnu, out)?;
    data(&[name, b"\0"].concat(), out);
    Ok(())
}

/// Appends data with its padding.
fn data(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(bytes);
    out.resize(out.len() + padding(bytes.len() as u64), 0);
}
