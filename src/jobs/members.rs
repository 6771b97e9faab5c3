//! The members of an archive that are meant, one after the other, with what goes wrong on the way told once.

use std::sync::atomic::Ordering;

use crate::archive::{Archive, ArchiveError, Label, Member, MemberKind};
use crate::base::{Failure, Time, Warnings};
use crate::crew::Crew;

use super::Live;
use super::inside::{self, Of, TakenOff};
use super::select::{Matched, Selection};
use super::transform::Transform;

/// Bytes of the archive after which a display is told how far it was read: lanes write beside it.
const SHOWN_BYTES: u64 = 64 << 10;

/// What becomes of names that lead out of the place where members are put.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Names {
    /// They stay as they are.
    Kept,
    /// What leads out is taken off, which is told: members keep their paths, and hard links lead where they would be made.
    #[default]
    Inside,
    /// The same, and members with `..` are refused, as they are not extracted.
    Extracted,
}

/// Makes a link lead where it does once it is extracted: so GNU tar lists it, beside the name that the archive has.
pub fn lead(member: &mut Member, transform: Option<&Transform>, strip: usize, names: Names) {
    if let Some(transform) = transform {
        transform.apply_to_link(member);
        if member.kind == MemberKind::HardLink && names != Names::Kept {
            member.link = inside::inside(&member.link).to_vec();
            // As GNU tar has what an expression leaves nothing of.
            if member.link.is_empty() {
                member.link.push(b'.');
            }
        }
    }
    if member.kind == MemberKind::HardLink && strip > 0 {
        member.link = inside::stripped(&member.link, strip).to_vec();
    }
}

/// How reading ended.
#[derive(Clone, Debug, Default)]
pub struct Read {
    /// What is wrong with the archive, first of all.
    pub archive_error: Option<String>,
    /// What was odd.
    pub warnings: Warnings,
    /// Members that were given.
    pub members: u64,
    /// The run was stopped.
    pub stopped: bool,
}

/// Is compressed data wrong? A system's own error is of the storage; an early end, and what stands where a member or a frame should begin
/// (Unsupported; in zstd's and xz's words), leave what came before as its checksums said.
fn is_damage(error: &std::io::Error) -> bool {
    error.raw_os_error().is_none()
        && !matches!(error.kind(), std::io::ErrorKind::UnexpectedEof | std::io::ErrorKind::Unsupported)
        && !["Unknown frame descriptor", "format not recognized"].iter().any(|said| error.to_string().contains(said))
}

/// What is said of a compressed archive whose checksum, behind what it is of, is wrong.
const DAMAGED: &str = "the compressed data is damaged, and what came before this was found may be wrong too: what was extracted of it is to be \
                       extracted anew from a good copy, not with --resume";

/// The selected members of an archive.
pub struct Members<'a> {
    archive: &'a mut Archive,
    select: &'a Selection,
    /// Only members of this time or later.
    newer: Option<Time>,
    names: Names,
    taken_off: TakenOff,
    crew: &'a Crew,
    live: &'a Live,
    /// Where in the archive the display was last told to be.
    shown: u64,
    matched: Matched,
    label: Option<Label>,
    read: Read,
}

impl<'a> Members<'a> {
    /// Those of `archive` that `select` selects, and that are not older than `newer`; `live` is told how far it is read.
    pub fn new(
        archive: &'a mut Archive,
        select: &'a Selection,
        newer: Option<Time>,
        names: Names,
        (crew, live): (&'a Crew, &'a Live),
    ) -> Members<'a> {
        let (matched, taken_off) = (select.matched(), TakenOff::default());
        if let Some(source) = archive.source() {
            live.total_bytes.store(source.len(), Ordering::Relaxed);
        }
        Members {
            archive,
            select,
            newer,
            names,
            taken_off,
            crew,
            live,
            shown: 0,
            matched,
            label: None,
            read: Read::default(),
        }
    }

    /// The archive, at the member that was given last.
    pub fn archive(&mut self) -> &mut Archive {
        self.archive
    }

    /// A volume label that stood before that member, or behind the last one.
    pub fn take_label(&mut self) -> Option<Label> {
        self.label.take()
    }

    /// The next one, put into `member`, whose memory is used again; false at the end, or when the run is stopped. A member that cannot be
    /// given is a failure of the crew's report.
    pub fn next(&mut self, member: &mut Member) -> bool {
        while !self.crew.stop().is_set() {
            let next = self.archive.next_in(member);
            if let Some(label) = self.archive.take_label() {
                // To GNU tar it is a member, of which nothing is extracted: an operand may be its name.
                let _is_told_either_way = self.select.selects(&label.name, &mut self.matched);
                self.label = Some(label);
            }
            if self.archive.has_warnings() {
                self.read.warnings.append(self.archive.take_warnings());
            }
            let position = self.archive.position();
            if matches!(next, Ok(false)) || position >= self.shown + SHOWN_BYTES {
                self.shown = position;
                self.live.archive_bytes.store(position, Ordering::Relaxed);
            }
            match next {
                Ok(true) => {
                    let is_old = self.newer.is_some_and(|newer| member.mtime < newer);
                    if self.select.selects(&member.path, &mut self.matched) && !is_old && self.is_named(member) {
                        self.read.members += 1;
                        return true;
                    }
                }
                Ok(false) => return false,
                Err(error) => self.fail(error),
            }
        }
        false
    }

    /// Takes off a member's names what leads out of their place, as far as that is asked for; false when it is refused.
    fn is_named(&mut self, member: &mut Member) -> bool {
        if self.names == Names::Kept {
            return true;
        }
        let of_path = self.taken_off.tell(&member.path, Of::Member);
        let is_link = member.kind == MemberKind::HardLink;
        let of_link = is_link.then(|| self.taken_off.take_off(&mut member.link, Of::HardLink)).flatten();
        if let Some(told) = of_path {
            self.warn(told);
        }
        if let Some(told) = of_link {
            self.warn(told);
        }
        let is_refused = self.names == Names::Extracted && inside::has_dot_dot(&member.path);
        if is_refused {
            self.crew.report().add(Failure::refused(&member.path, inside::HAS_DOT_DOT));
        }
        !is_refused
    }

    /// Notes something odd.
    pub fn warn(&mut self, warning: String) {
        self.read.warnings.add(warning);
    }

    /// Notes an error of the archive.
    pub fn fail(&mut self, error: ArchiveError) {
        // Before its first byte nothing of it has come: what reads it did not begin.
        if let ArchiveError::Io { source, offset: 1.., .. } = &error
            && is_damage(source)
            && !self.crew.stop().is_set()
        {
            self.warn(DAMAGED.into());
        }
        match error {
            ArchiveError::BadMember { member, reason, .. } => self.crew.report().add(Failure::refused(&member, reason)),
            error if self.read.archive_error.is_none() => self.read.archive_error = Some(error.to_string()),
            error => self.warn(error.to_string()),
        }
    }

    /// What came of it; operands that were not found are failures of the crew's report.
    pub fn end(mut self) -> Read {
        self.read.stopped = self.crew.stop().is_set();
        if !self.read.stopped {
            for operand in self.select.unmatched(&self.matched) {
                self.crew.report().add(Failure::refused(operand, "Not found in archive"));
            }
        }
        self.read
    }
}
