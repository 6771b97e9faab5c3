//! The members of an archive that are meant, one after the other, with what goes wrong on the way told once.

use crate::archive::{Archive, ArchiveError, Member};
use crate::base::{Failure, Time};
use crate::crew::Crew;

use super::select::{Matched, Selection};

/// Warnings kept.
const WARNINGS_MAX: usize = 1000;

/// How reading ended.
#[derive(Clone, Debug, Default)]
pub struct Read {
    /// What is wrong with the archive, first of all.
    pub archive_error: Option<String>,
    /// What was odd.
    pub warnings: Vec<String>,
    /// Members that were given.
    pub members: u64,
    /// The run was stopped.
    pub stopped: bool,
}

/// The selected members of an archive.
pub struct Members<'a> {
    archive: &'a mut Archive,
    select: &'a Selection,
    /// Only members of this time or later.
    newer: Option<Time>,
    crew: &'a Crew,
    matched: Matched,
    read: Read,
}

impl<'a> Members<'a> {
    /// Those of `archive` that `select` selects, and that are not older than `newer`.
    pub fn new(archive: &'a mut Archive, select: &'a Selection, newer: Option<Time>, crew: &'a Crew) -> Members<'a> {
        Members { matched: select.matched(), archive, select, newer, crew, read: Read::default() }
    }

    /// The archive, at the member that was given last.
    pub fn archive(&mut self) -> &mut Archive {
        self.archive
    }

    /// The next one; none at the end, or when the run is stopped. A member that cannot be given is a failure of the crew's report.
    // Not an Iterator: it lends the archive between two members.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Option<Member> {
        while !self.crew.stop().is_set() {
            let next = self.archive.next();
            let room = WARNINGS_MAX.saturating_sub(self.read.warnings.len());
            self.read.warnings.extend(self.archive.take_warnings().into_iter().take(room));
            match next {
                Ok(Some(member)) => {
                    let is_old = self.newer.is_some_and(|newer| member.mtime < newer);
                    if self.select.selects(&member.path, &mut self.matched) && !is_old {
                        self.read.members += 1;
                        return Some(member);
                    }
                }
                Ok(None) => return None,
                Err(error) => self.fail(error),
            }
        }
        None
    }

    /// Notes an error of the archive.
    pub fn fail(&mut self, error: ArchiveError) {
        match error {
            ArchiveError::BadMember { member, reason, .. } => self.crew.report().add(Failure::refused(&member, reason)),
            error if self.read.archive_error.is_none() => self.read.archive_error = Some(error.to_string()),
            error if self.read.warnings.len() < WARNINGS_MAX => self.read.warnings.push(error.to_string()),
            _ => {}
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
