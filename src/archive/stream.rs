//! `Archive`: an archive's members in order, with their data.
//!
//! Where formats leave a choice or an archive is damaged, it does what GNU tar 1.34 does when extracting:
//! - links, directories, devices and FIFOs have no data, whatever size their headers give;
//! - a regular file's name that ends in a slash makes it a directory (v7), which has no data either;
//! - an unknown type is a regular file, with a warning; a volume label is passed over; a dump directory is a directory;
//! - two zero blocks end the archive, one ends it with a warning, the end of the input ends it in silence.
//!
//! It differs, to the safe side, in that an input that ends inside a header is an error, and that a member whose
//! extended header is malformed is left out.

mod assemble;

use std::io;
use std::mem;
use std::sync::Arc;

use super::header::{self, BLOCK_BYTES, Block, Fields, Notes};
use super::input::{Input, ReadAt, Window};
use super::member::{ArchiveError, Member};
use super::pax::Overrides;
use super::write::UNFINISHED;
use crate::base::Time;
use crate::base::Warnings;

use assemble::continued;

/// Bytes of a GNU long name; Linux paths end at 4096.
pub(super) const LONG_NAME_BYTES_MAX: u64 = 1 << 20;
/// Bytes of the records of one pax header: extended attributes, or a sparse map of format 0.1 with about 500,000 segments.
pub(super) const PAX_BYTES_MAX: u64 = 16 << 20;

/// How to read an archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Pass over zero blocks and read on to the end of the input: concatenated archives (`tar -i`).
    pub ignore_zeros: bool,
}

/// A tar archive, read from its start. Memory: one chunk of 512 KiB, and one member's extensions up to their limits.
///
/// `next` gives member after member until `None`. An error from it concerns one place or member; unless it
/// `is_fatal`, calling `next` again goes on behind that.
pub struct Archive {
    window: Window,
    options: Options,
    notes: Notes,
    globals: Overrides,
    /// Of the current member's first block, extensions included.
    offset: u64,
    /// The header block that was read last.
    block: Box<Block>,
    /// The current member's path, while `has_name`: its memory is used again.
    name: Vec<u8>,
    has_name: bool,
    /// Its stored bytes that are not read yet.
    left: u64,
    /// Bytes behind them that nobody reads: padding, data that has no use.
    slack: u64,
    progress: Progress,
    /// Where a member would have followed.
    members_end: u64,
    /// Hears of each member.
    watch: Option<Watch>,
    /// Where the members that are wanted begin; none: all.
    visits: Option<Visits>,
    label: Option<Label>,
    has_globals: bool,
    has_records: bool,
}

/// Hears of a member: its path, and where it begins.
pub type Watch = Box<dyn FnMut(&[u8], u64) + Send>;
/// Where members begin, in rising order.
pub type Visits = Box<dyn Iterator<Item = u64> + Send>;

/// A volume label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Its text.
    pub name: Vec<u8>,
    /// When the archive was begun.
    pub mtime: Time,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// Nothing but errors so far.
    Fresh,
    /// In step with the headers.
    Sound,
    /// Looking for a valid header after one that was not; this was reported.
    Lost,
    /// Nothing follows.
    Done,
}

/// What the headers in front of a member's own said.
#[derive(Default)]
struct Extensions {
    name: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    pax: Option<Vec<u8>>,
    /// Why the member they belong to cannot be given.
    bad: Option<String>,
}

impl Extensions {
    fn is_empty(&self) -> bool {
        self.name.is_none() && self.link.is_none() && self.pax.is_none() && self.bad.is_none()
    }
}

impl Archive {
    /// Reads `input`, which is not compressed (see `open`).
    pub fn new(input: Input, options: Options) -> Archive {
        Archive {
            window: Window::new(input),
            options,
            notes: Notes::default(),
            globals: Overrides::default(),
            offset: 0,
            block: Box::new([0; BLOCK_BYTES]),
            name: Vec::new(),
            has_name: false,
            left: 0,
            slack: 0,
            progress: Progress::Fresh,
            members_end: 0,
            watch: None,
            visits: None,
            label: None,
            has_globals: false,
            has_records: false,
        }
    }

    /// From now on `watch` hears of each member.
    pub fn watch(&mut self, watch: Watch) {
        self.watch = Some(watch);
    }

    /// From now on only the members that begin at these offsets are given; for a seekable input. Where none begins is an error.
    pub fn visit(&mut self, visits: Visits) {
        self.visits = Some(visits);
    }

    /// True if headers that are about all members behind them have been met: members cannot be read without them.
    pub fn has_globals(&self) -> bool {
        self.has_globals
    }

    /// True if the member that was given last has a pax header of its own: its times are whole where they have no fraction.
    pub fn has_records(&self) -> bool {
        self.has_records
    }

    /// True once nothing follows: all members were given, or a fatal error.
    pub fn has_ended(&self) -> bool {
        self.progress == Progress::Done
    }

    /// The volume label that was met since the last call.
    pub fn take_label(&mut self) -> Option<Label> {
        self.label.take()
    }

    /// The next member; `None` at the archive's end and after a fatal error. Passes over what is unread of the last
    /// one, by seeking where the input can.
    // Not an Iterator: one's `None` after an error would promise less than this one's.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Member>, ArchiveError> {
        let mut member = Member::default();
        Ok(self.next_in(&mut member)?.then_some(member))
    }

    /// As `next`, with the member put into `member`, whose memory is used again; false at the end. What `member` holds then, and after an
    /// error, is nothing.
    pub(crate) fn next_in(&mut self, member: &mut Member) -> Result<bool, ArchiveError> {
        if self.progress == Progress::Done {
            return Ok(false);
        }
        let mut result = self.advance(member);
        match (&result, &mut self.watch) {
            (Ok(true), Some(watch)) => watch(&member.path, self.offset),
            // A decompressor checks its sums at its end, and who writes into a pipe wants it read.
            (Ok(false), _) => {
                if let Err(error) = self.window.drain() {
                    result = Err(self.io(error));
                }
            }
            _ => {}
        }
        if matches!(&result, Ok(false)) || result.as_ref().is_err_and(ArchiveError::is_fatal) {
            self.finish();
        }
        result
    }

    /// Reads stored data of the current member into `buf`, often less than fits; 0 at the member's end. An archive that
    /// ends before is `Truncated`.
    pub fn read(&mut self, buf: &mut [u8]) -> Result<usize, ArchiveError> {
        let n = buf.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if n == 0 {
            return Ok(0);
        }
        let result = match self.window.read(&mut buf[..n]) {
            Ok(0) => Err(self.truncated()),
            Ok(n) => Ok(n),
            Err(e) => Err(self.io(e)),
        };
        match result {
            Ok(n) => self.left -= n as u64,
            Err(_) => self.finish(),
        }
        result
    }

    /// Where in a seekable input the current member's next unread byte is.
    pub fn stored_at(&self) -> Option<u64> {
        (self.window.source().is_some() && self.has_name).then(|| self.window.position())
    }

    /// The input, if it is seekable, for reading ranges of it beside this reader.
    pub fn source(&self) -> Option<Arc<dyn ReadAt>> {
        self.window.source().cloned()
    }

    /// Where in the uncompressed archive the current member begins, its extended headers included; bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Where the end mark begins, or the archive ends without one, after `next` has said that no member follows; bytes.
    pub fn members_end(&self) -> u64 {
        self.members_end
    }

    /// How many bytes of the uncompressed archive have been passed.
    pub fn position(&self) -> u64 {
        self.window.position()
    }

    /// Was something found odd since the last call of `take_warnings`?
    pub(crate) fn has_warnings(&self) -> bool {
        !self.notes.warnings.is_empty()
    }

    /// What was found odd since the last call, as lines for the user.
    pub fn take_warnings(&mut self) -> Warnings {
        mem::take(&mut self.notes.warnings)
    }

    /// True when a member has something else than its header says, for that is no number: so it was told, and GNU tar ends with 2.
    pub fn is_flawed(&self) -> bool {
        self.notes.flawed
    }

    fn finish(&mut self) {
        self.progress = Progress::Done;
        self.has_name = false;
        (self.left, self.slack) = (0, 0);
    }

    fn current(&self) -> Option<Vec<u8>> {
        self.has_name.then(|| self.name.clone())
    }

    fn truncated(&self) -> ArchiveError {
        ArchiveError::Truncated { offset: self.window.position(), member: self.current() }
    }

    fn io(&self, source: io::Error) -> ArchiveError {
        ArchiveError::Io { offset: self.window.position(), member: self.current(), source }
    }

    fn advance(&mut self, member: &mut Member) -> Result<bool, ArchiveError> {
        let visited = match &mut self.visits {
            None => {
                self.pass_data()?;
                None
            }
            Some(visits) => {
                (self.left, self.slack) = (0, 0);
                let Some(to) = visits.next() else { return Ok(false) };
                self.window.jump(to);
                self.progress = Progress::Sound;
                Some(to)
            }
        };
        self.has_name = false;
        let mut extensions = Extensions::default();
        while let Some(at) = self.header_block(&extensions)? {
            if extensions.is_empty() {
                self.offset = at;
            }
            if !header::checksum_matches(&self.block) {
                if self.progress == Progress::Fresh && self.block.starts_with(UNFINISHED) {
                    self.progress = Progress::Lost;
                    return Err(ArchiveError::Unfinished);
                }
                if self.progress != Progress::Lost {
                    return Err(self.lose(at, "bad checksum".into()));
                }
                extensions = Extensions::default();
                continue;
            }
            let fields = match header::decode(&self.block, member, &mut self.notes) {
                Ok(fields) => fields,
                Err(_) if self.progress == Progress::Lost => continue,
                Err(reason) => return Err(self.lose(at, reason)),
            };
            self.progress = Progress::Sound;
            match fields.typeflag {
                b'L' => extensions.name = self.long_name(&fields, &mut extensions.bad)?,
                b'K' => extensions.link = self.long_name(&fields, &mut extensions.bad)?,
                // 'X' is Solaris's spelling of 'x', which GNU tar reads too.
                b'x' | b'X' => extensions.pax = self.pax(&fields, &mut extensions.bad)?,
                b'g' => {
                    self.has_globals = true;
                    if let Some(records) = self.pax(&fields, &mut extensions.bad)? {
                        let applied = self.globals.apply(&records, &mut self.notes);
                        // What is one file's: a copy of it for each member could be of any size.
                        self.globals.sparse = Default::default();
                        self.globals.attributes = Default::default();
                        let label = self.globals.label.take().map(|name| Label { name, mtime: member.mtime });
                        self.label = label.or(self.label.take());
                        let continued = self.globals.continued.take().map(|name| continued(&name));
                        extensions.bad = extensions.bad.or(applied.err()).or(continued);
                    }
                }
                b'V' => {
                    // What stood before it was its own.
                    extensions = Extensions::default();
                    self.label = Some(Label { name: mem::take(&mut member.path), mtime: member.mtime });
                    self.slack = padded(fields.size);
                    self.pass_data()?;
                }
                _ => {
                    self.has_records = extensions.pax.is_some();
                    return self.member(fields, extensions, member).map(|()| true);
                }
            }
        }
        match visited {
            None => Ok(false),
            Some(offset) => Err(self.lose(offset, "no header".into())),
        }
    }

    fn lose(&mut self, offset: u64, reason: String) -> ArchiveError {
        match mem::replace(&mut self.progress, Progress::Lost) {
            Progress::Fresh => ArchiveError::NotAnArchive,
            _ => ArchiveError::BadHeader { offset, reason },
        }
    }

    /// Passes over what is left of the current member.
    fn pass_data(&mut self) -> Result<(), ArchiveError> {
        let count = mem::take(&mut self.left).saturating_add(mem::take(&mut self.slack));
        match self.window.skip(count) {
            Ok(n) if n == count => Ok(()),
            Ok(_) => Err(self.truncated()),
            Err(e) => Err(self.io(e)),
        }
    }

    /// Reads the next block that is not part of an end mark; its offset, `None` at the archive's end.
    fn header_block(&mut self, extensions: &Extensions) -> Result<Option<u64>, ArchiveError> {
        let (mut zeros, mut passed_zeros) = (0, false);
        // An extended header without a member is no part of what is there.
        self.members_end = if extensions.is_empty() { self.window.position() } else { self.offset };
        loop {
            let at = self.window.position();
            let got = self.window.read_full(&mut self.block[..]).map_err(|e| self.io(e))?;
            let is_zero = self.block.iter().all(|&byte| byte == 0);
            if got == BLOCK_BYTES && !is_zero && zeros == 0 {
                return Ok(Some(at));
            }
            if got == BLOCK_BYTES && is_zero {
                if self.options.ignore_zeros {
                    passed_zeros = true;
                    self.progress = if self.progress == Progress::Fresh { Progress::Sound } else { self.progress };
                    continue;
                }
                zeros += 1;
                if zeros < 2 {
                    continue;
                }
            } else if zeros == 1 {
                // GNU tar numbers blocks from 1 here.
                self.notes.warnings.add(format!("A lone zero block at {}", at / BLOCK_BYTES as u64));
            } else {
                self.check_end(got, passed_zeros, extensions)?;
            }
            if !extensions.is_empty() {
                self.notes.warnings.add("the archive ends with an extended header that has no member".into());
            }
            return Ok(None);
        }
    }

    /// May the input end here, `got` bytes into a block? With zeros ignored, those passed are the end mark.
    fn check_end(&mut self, got: usize, passed_zeros: bool, extensions: &Extensions) -> Result<(), ArchiveError> {
        match self.progress {
            // The error that lost the way was reported.
            Progress::Lost => Ok(()),
            Progress::Fresh => Err(self.lose(0, String::new())),
            _ if got > 0 || !extensions.is_empty() => Err(self.truncated()),
            // GNU tar says nothing here. But a compressed stream may end where a member does: those of `pack` do.
            _ if !passed_zeros => Err(ArchiveError::NoEnd { offset: self.window.position() }),
            _ => Ok(()),
        }
    }

    /// The text of a long-name header.
    fn long_name(&mut self, fields: &Fields, bad: &mut Option<String>) -> Result<Option<Vec<u8>>, ArchiveError> {
        Ok(self.extension(fields, LONG_NAME_BYTES_MAX, bad)?.map(|name| header::text(&name).to_vec()))
    }

    /// The records of a pax header.
    fn pax(&mut self, fields: &Fields, bad: &mut Option<String>) -> Result<Option<Vec<u8>>, ArchiveError> {
        self.extension(fields, PAX_BYTES_MAX, bad)
    }

    /// The data of an extended header. One larger than `bytes_max` is passed over and spoils its member.
    fn extension(
        &mut self,
        fields: &Fields,
        bytes_max: u64,
        bad: &mut Option<String>,
    ) -> Result<Option<Vec<u8>>, ArchiveError> {
        self.slack = padded(fields.size);
        if fields.size > bytes_max {
            bad.get_or_insert(format!("extended header of {} bytes, more than {bytes_max}", fields.size));
            self.pass_data()?;
            return Ok(None);
        }
        let size = usize::try_from(fields.size).unwrap_or(usize::MAX);
        let mut data = Vec::new();
        while data.len() < size {
            // Grows as the data arrives, not by the header's word.
            let (from, to) = (data.len(), size.min(data.len() + (64 << 10)));
            data.resize(to, 0);
            let got = self.window.read_full(&mut data[from..]).map_err(|e| self.io(e))?;
            self.slack -= got as u64;
            if got < to - from {
                return Err(self.truncated());
            }
        }
        self.pass_data()?;
        Ok(Some(data))
    }
}

/// Bytes up to the end of the last block.
fn padded(bytes: u64) -> u64 {
    // Sizes are below 2^63, so this does not overflow.
    bytes.next_multiple_of(BLOCK_BYTES as u64)
}
