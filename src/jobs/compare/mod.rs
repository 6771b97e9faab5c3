//! Comparison: the members of an archive against the objects of a volume, in parallel, told in the archive's order.
//!
//! What is compared is what GNU tar 1.34 compares: of a file type, mode, owner, time, size and content; of a directory, a device and a
//! fifo type and mode; of a link where it leads. An object of another kind than a symbolic link's is one that differs (GNU tar fails),
//! and a difference in a sparse file's holes is one of content. Extended attributes are not compared.
//!
//! The archive is read by the calling thread, also its data; lanes look the objects up, by their directories' handles, and read them.
//! What is held is bounded by the crew's budget and the limits named `..._MAX`.

mod check;
mod dirs;

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::archive::{Archive, ArchiveError, Member, MemberKind};
use crate::base::{Failure, Name, Time};
use crate::crew::{Crew, Flight, Permit, Scope, Sequencer};
use crate::storage::Volume;

use super::Live;
use super::extract::owners::Ids;
use super::extract::path::{Place, place};
use super::extract::{Owner, Owners};
use super::inside::{inside, stripped};
use super::members::{Members, Names, Read};
use super::port::Port;
use super::select::{Selection, without_end};
use super::transform::Transform;

use dirs::Dirs;

/// Files are compared in ranges of this size, in bytes.
const RANGE_BYTES: u64 = 1 << 20;
/// Ranges and members that lanes have or wait for.
const IN_FLIGHT_MAX: usize = 4096;
/// Members read beyond the first one that is not told.
const AHEAD_MAX: u64 = 16 << 10;

/// What to compare.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Which members.
    pub select: Selection,
    /// Only members that are not older.
    pub newer: Option<Time>,
    /// Changes of names, before anything is taken off them.
    pub transform: Option<Transform>,
    /// Leading components taken off the names.
    pub strip_components: usize,
    /// Owners by number only.
    pub numeric: bool,
}

/// What is told of a member, in the archive's order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It was compared; before what is found of it.
    Compared,
    /// Something differs, in GNU tar's words.
    Differs(String),
    /// There is no such object.
    Missing(String),
}

/// What came of a comparison. Failures are in the crew's report.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)] // the names say it
pub struct Summary {
    pub members: u64,
    /// Members that differ or are missing.
    pub different: u64,
    pub bytes: u64,
    pub read: Read,
    pub stopped: Option<String>,
}

/// What a member is found to be, until it is told.
#[derive(Debug, Default)]
struct Verdict {
    /// What is compared, as it is told: the member's path as it is below the directory, without a slash at its end.
    shown: Vec<u8>,
    findings: Vec<Finding>,
    failure: Option<Failure>,
}

/// A member under way, shared by its ranges.
struct Item {
    number: u64,
    member: Member,
    ids: (Option<u32>, Option<u32>),
    names: Vec<Name>,
    /// Of a hard link.
    target: Option<Vec<Name>>,
    /// Ranges that are not compared yet.
    left: AtomicUsize,
    /// Nothing more has to be compared.
    over: AtomicBool,
    content_differs: AtomicBool,
    verdict: Mutex<Verdict>,
}

/// A range of a file, with what the archive has for it; of anything else the whole.
struct Piece {
    item: Arc<Item>,
    start: u64,
    data: Vec<u8>,
    _permit: Option<Permit>,
}

struct Ctx<'a> {
    port: Port<'a>,
    dirs: Dirs,
    read_max: u64,
    flight: Flight,
    sequencer: Sequencer<(Vec<u8>, Verdict)>,
    crew: &'a Crew,
    live: &'a Live,
    tell: &'a (dyn Fn(&[u8], &Finding) + Sync),
    different: AtomicU64,
    bytes: AtomicU64,
}

impl Ctx<'_> {
    /// Tells of a member whose last range is compared, when those before it are told.
    fn complete(&self, number: u64, path: &[u8], verdict: Verdict) {
        self.sequencer.complete(number, (path.to_vec(), verdict), |(path, verdict)| {
            self.different.fetch_add(u64::from(verdict.findings.len() > 1), Ordering::Relaxed);
            self.live.objects.fetch_add(1, Ordering::Relaxed);
            for finding in &verdict.findings {
                (self.tell)(if *finding == Finding::Compared { &path } else { &verdict.shown }, finding);
            }
            if let Some(failure) = verdict.failure {
                self.crew.report().add(failure);
            }
        });
    }
}

/// Compares the archive's members with what is below the volume's root. `tell` hears of each member, in the archive's order, from one
/// thread at a time.
pub fn compare(
    volume: &Volume,
    archive: &mut Archive,
    options: &Options,
    owners: &dyn Owners,
    crew: &Crew,
    live: &Live,
    tell: &(dyn Fn(&[u8], &Finding) + Sync),
) -> Summary {
    let ctx = Ctx {
        port: Port::new(volume, crew.shape().window),
        dirs: Dirs::new(volume),
        read_max: u64::from(crate::storage::Mount::limits(volume).read_max).max(1),
        flight: Flight::default(),
        sequencer: Sequencer::default(),
        crew,
        live,
        tell,
        different: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
    };
    let members = Members::new(archive, &options.select, options.newer, Names::Inside, (crew, live));
    let read = crew.run(|scope| {
        let ids = Ids::new(Owner::FromArchive { numeric: options.numeric }, owners);
        let mut producer = Producer {
            ctx: &ctx,
            scope,
            members,
            options,
            ids,
            batch: Vec::new(),
            batch_bytes: 0,
            next: 0,
            broken: false,
        };
        producer.run();
        producer.members.end()
    });
    let told = ctx.sequencer.low();
    Summary {
        members: told,
        different: ctx.different.into_inner(),
        bytes: ctx.bytes.into_inner(),
        stopped: read.stopped.then(|| format!("stopped: the first {told} members were compared")),
        read,
    }
}

struct Producer<'p, 'scope, 'env> {
    ctx: &'scope Ctx<'env>,
    scope: &'p Scope<'p, 'scope>,
    members: Members<'p>,
    options: &'p Options,
    ids: Ids<'p>,
    batch: Vec<Piece>,
    batch_bytes: u64,
    next: u64,
    broken: bool,
}

impl Producer<'_, '_, '_> {
    fn run(&mut self) {
        while !self.broken {
            let mut member = Member::default();
            if !self.members.next(&mut member) {
                break;
            }
            self.member(member);
        }
        self.flush();
        self.ctx.flight.drained();
    }

    fn member(&mut self, mut member: Member) {
        if self.next - self.ctx.sequencer.low() >= AHEAD_MAX {
            self.flush();
            self.broken |= !self.ctx.flight.drained();
        }
        let number = self.next;
        self.next += 1;
        let strip = self.options.strip_components;
        let changed = self.transform(&mut member);
        let path = inside(changed.as_ref().unwrap_or(&member.path));
        let names = match place(path, strip) {
            Ok(Place::Below(names)) => names,
            Ok(Place::Root) => Vec::new(),
            Ok(Place::Stripped) => return self.ctx.complete(number, &member.path, Verdict::default()),
            Err(reason) => return self.refuse(number, &member.path, &reason),
        };
        let mut target = None;
        if member.kind == MemberKind::HardLink {
            target = match place(&member.link, strip) {
                Ok(Place::Below(names)) => Some(names),
                Ok(_) => Some(Vec::new()),
                Err(reason) => return self.refuse(number, &member.path, &format!("its target: {reason}")),
            };
        }
        let shown = without_end(stripped(path, strip)).to_vec();
        let ids = self.ids.of(&member);
        let size = if member.kind == MemberKind::File { member.size } else { 0 };
        let ranges = usize::try_from(size.div_ceil(RANGE_BYTES)).unwrap_or(usize::MAX).max(1);
        let findings = vec![Finding::Compared];
        let item = Arc::new(Item {
            number,
            member,
            ids,
            names,
            target,
            left: AtomicUsize::new(ranges),
            over: AtomicBool::new(false),
            content_differs: AtomicBool::new(false),
            verdict: Mutex::new(Verdict { shown, findings, failure: None }),
        });
        self.ranges(&item, size, ranges);
    }

    /// The member's name as it is to be, and its link's text likewise; none where nothing changes names.
    fn transform(&self, member: &mut Member) -> Option<Vec<u8>> {
        let transform = self.options.transform.as_ref()?;
        transform.apply_to_link(member);
        Some(transform.apply_to_path(&member.path))
    }

    fn refuse(&mut self, number: u64, path: &[u8], reason: &str) {
        let failure = Some(Failure::refused(path, reason));
        self.ctx.complete(number, path, Verdict { failure, ..Verdict::default() });
    }

    /// Reads a file's data and hands its ranges to the lanes.
    fn ranges(&mut self, item: &Arc<Item>, size: u64, ranges: usize) {
        let mut filled = Filler { segment: 0, taken: 0 };
        let mut start = 0;
        for done in 0..ranges {
            let len = (size - start).min(RANGE_BYTES);
            // A header may claim any size: nothing is read for a file that differs already, or when the run is stopped.
            if self.broken || item.over.load(Ordering::Acquire) || self.ctx.crew.stop().is_set() {
                return check::landed(self.ctx, item, ranges - done);
            }
            let permit = self.permit(len + item.member.path.len() as u64);
            match filled.fill(self.members.archive(), &item.member, start, len) {
                Ok(data) => self.push(Piece { item: item.clone(), start, data, _permit: permit }),
                Err(error) => {
                    let reason = format!("not compared: {error}");
                    check::fail(item, Failure::refused(&item.member.path, reason));
                    self.members.fail(error);
                    return check::landed(self.ctx, item, ranges - done);
                }
            }
            start += len;
        }
    }

    fn permit(&mut self, bytes: u64) -> Option<Permit> {
        if let Some(permit) = self.ctx.crew.budget().try_acquire(bytes) {
            return Some(permit);
        }
        // What waits in the batch holds permits itself.
        self.flush();
        self.ctx.crew.budget().acquire(bytes)
    }

    fn push(&mut self, piece: Piece) {
        self.batch_bytes += piece.data.len() as u64;
        self.batch.push(piece);
        if self.batch.len() >= self.ctx.port.window || self.batch_bytes >= RANGE_BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        self.broken |= !self.ctx.flight.below(IN_FLIGHT_MAX);
        self.batch_bytes = 0;
        let batch = std::mem::take(&mut self.batch);
        let (ctx, ticket) = (self.ctx, self.ctx.flight.enter(batch.len()));
        self.scope.spawn(move |_| {
            check::run(ctx, batch);
            drop(ticket);
        });
    }
}

/// How far the stored data of a file has been put into ranges.
struct Filler {
    segment: usize,
    /// Bytes of that segment.
    taken: u64,
}

impl Filler {
    /// What the file has from `start` on: stored data, and zeros for holes. Ranges come in their order.
    fn fill(&mut self, archive: &mut Archive, member: &Member, start: u64, len: u64) -> Result<Vec<u8>, ArchiveError> {
        // `len` is at most RANGE_BYTES.
        let mut data = vec![0; len as usize];
        let Some(segments) = &member.segments else {
            read_full(archive, &mut data)?;
            return Ok(data);
        };
        let end = start + len;
        while let Some(segment) = segments.get(self.segment) {
            let (from, left) = (segment.offset + self.taken, segment.len - self.taken);
            if from >= end {
                break;
            }
            let count = left.min(end - from);
            read_full(archive, &mut data[(from - start) as usize..][..count as usize])?;
            self.taken += count;
            if self.taken == segment.len {
                (self.segment, self.taken) = (self.segment + 1, 0);
            }
        }
        Ok(data)
    }
}

fn read_full(archive: &mut Archive, mut buf: &mut [u8]) -> Result<(), ArchiveError> {
    while !buf.is_empty() {
        match archive.read(buf)? {
            0 => return Err(ArchiveError::Truncated { offset: archive.position(), member: None }),
            n => buf = &mut buf[n..],
        }
    }
    Ok(())
}
