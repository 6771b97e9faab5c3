//! What is left of an archive that was added to when its storage is full, fails, or the run is stopped: it is whole, and what
//! is said of it is true. What is left of a new one whose writer was killed: nobody takes it for a whole one.

#![allow(clippy::unwrap_used)] // also in the helpers of tests

use std::sync::{Arc, Mutex};

use parfs::archive::{Archive, Codec, Input, MemberKind};
use parfs::base::Status;
use parfs::crew::Crew;
use parfs::jobs::create::{Options, Output, Summary};
use parfs::mounts::MemoryMount;
use parfs::storage::{AttrChange, Call, How, Mount, Op, Tap, Tapped, Volume};

use crate::ask::Ask;
use crate::copies::crew;
use crate::create::{self, FullFrom, StopAt, members, sample};
use crate::creates::{Numbers, named, shared, stream, whole};
use crate::tree::content;

type Members = Vec<(String, MemberKind, Vec<u8>)>;

/// An archive on storage with `taps` before it.
struct Bed {
    mount: Arc<MemoryMount>,
    volume: Arc<Volume>,
    /// Where its members end.
    end: u64,
    had: Members,
}

impl Bed {
    fn new(taps: Vec<Arc<dyn Tap>>) -> Bed {
        let first = stream(vec![named(&shared(vec![sample()]), "a")], &Options::default(), &crew(2, 2)).clean();
        let mount = Arc::new(MemoryMount::new());
        let node = mount.create(&mount.root(), "a.tar", How::Guarded, AttrChange::default()).unwrap().node;
        crate::nasty::put(&*mount, &node, 0, &first.archive);
        let volume = shared(vec![Arc::new(Tapped::new(mount.clone(), taps)) as Arc<dyn Mount>]);
        Bed { mount, volume, end: first.summary.archive_bytes, had: members(&first.archive) }
    }

    /// Adds the whole of `from`.
    fn add(&self, from: &Arc<Volume>, crew: &Crew) -> Summary {
        let node = self.mount.lookup(&self.mount.root(), "a.tar").unwrap().node;
        parfs::jobs::create::create(
            &mut whole(from).into_iter().map(Ok),
            Output::File { volume: &self.volume, node, at: self.end },
            None,
            &Options::default(),
            &Numbers,
            crew,
            &Default::default(),
            &|_| (),
        )
    }

    fn archive(&self) -> Vec<u8> {
        content(&*self.mount, "a.tar")
    }

    /// Panics unless the archive reads as what it was; one block of zeros is no longer an end that is well made.
    fn is_as_it_was(&self, archive: &[u8], context: &str) {
        let (is, warnings) = create::read(archive);
        assert!(is == self.had, "{context}");
        let lone = format!("A lone zero block at {}", self.end / 512 + 1);
        assert!(warnings.is_empty() || warnings == [lone], "{context}: {warnings:?}");
    }

    /// Panics unless the archive is sound and has what it had and the first of `added`; returns how many of these.
    fn added(&self, archive: &[u8], added: &Members, context: &str) -> usize {
        let is = members(archive);
        assert!(is.starts_with(&self.had), "{context}");
        let more = &is[self.had.len()..];
        assert!(added.starts_with(more), "{context}: {}", more.len());
        more.len()
    }
}

fn all_of_it() -> Members {
    members(&stream(whole(&shared(vec![sample()])), &Options::default(), &crew(1, 1)).archive)
}

fn held(members: usize) -> String {
    match members {
        0 => "holds what it held before".into(),
        1 => "holds what it held before plus 1 member".into(),
        _ => format!("holds what it held before plus {members} members"),
    }
}

/// Large members lie over several pieces: where one of these fails, the member's beginning goes as well.
#[test]
fn a_full_target_leaves_an_archive_whole_that_was_added_to() {
    let (all, mut counts) = (all_of_it(), std::collections::BTreeSet::new());
    for at in (0..9).map(|i| i * 700_000) {
        for shape in [(1, 1), (4, 2), (16, 4)] {
            let bed = Bed::new(vec![Arc::new(FullFrom(2_000_000 + at))]);
            let summary = bed.add(&shared(vec![sample()]), &crew(shape.0, shape.1));
            let context = format!("{at} {shape:?}");
            let added = bed.added(&bed.archive(), &all, &context);
            let error = summary.archive_error.unwrap();
            let said = format!("WRITE: No space left on device; the archive is whole and {}", held(added));
            assert_eq!(error, said, "{context}");
            counts.insert(added);
        }
    }
    assert!(counts.len() > 3, "{counts:?}");
}

/// Refuses SETATTR, from the call of this number on.
struct Unchangeable(std::sync::atomic::AtomicUsize);

impl Tap for Unchangeable {
    fn admit(&self, call: &Call<'_>) -> Result<(), Status> {
        use std::sync::atomic::Ordering::Relaxed;
        let counts = |left: usize| left.checked_sub(1);
        let is_refused =
            matches!(call.op, Op::SetAttr { .. }) && self.0.fetch_update(Relaxed, Relaxed, counts).is_err();
        if is_refused { Err(Status::Io) } else { Ok(()) }
    }
}

/// It reads as it did, for what was added is not shown.
#[test]
fn what_cannot_be_cut_off_is_told() {
    for good in 0..2 {
        let taps: Vec<Arc<dyn Tap>> = vec![Arc::new(FullFrom(5_000_000)), Arc::new(Unchangeable(good.into()))];
        let bed = Bed::new(taps);
        let error = bed.add(&shared(vec![sample()]), &crew(4, 2)).archive_error.unwrap();
        let whole = "the archive is whole and holds what it held before";
        let what = ["what was written behind it cannot be cut off", "its end cannot be put behind it"][good];
        assert_eq!(error, format!("WRITE: No space left on device; {whole}, but {what}: SETATTR: Input/output error"));
        assert!(bed.archive().len() as u64 > bed.end);
        bed.is_as_it_was(&bed.archive(), &error);
    }
}

/// Refuses to write a header at this byte.
struct Headless(u64);

impl Tap for Headless {
    fn admit(&self, call: &Call<'_>) -> Result<(), Status> {
        let is_head = matches!(&call.op, Op::Write { offset, data, .. } if *offset == self.0 && data[0] != 0);
        if is_head { Err(Status::Io) } else { Ok(()) }
    }
}

#[test]
fn what_cannot_be_shown_leaves_the_archive_as_it_was() {
    let end = Bed::new(vec![]).end;
    let bed = Bed::new(vec![Arc::new(Headless(end))]);
    let error = bed.add(&shared(vec![sample()]), &crew(4, 2)).archive_error.unwrap();
    let said = "what it held before, but what was added cannot be shown: WRITE: Input/output error";
    assert_eq!(error, format!("WRITE: Input/output error; the archive is whole and holds {said}"));
    bed.is_as_it_was(&bed.archive(), &error);
}

#[test]
fn a_stopped_run_leaves_an_archive_whole_that_was_added_to() {
    let all = all_of_it();
    for (k, shape) in [(0, (1, 1)), (7, (1, 4)), (20, (4, 2)), (60, (16, 4)), (100, (3, 1))] {
        let crew = Box::leak(Box::new(crew(shape.0, shape.1)));
        let tap: Arc<dyn Tap> = Arc::new(StopAt { stop: crew.stop(), left: k.into() });
        let bed = Bed::new(vec![]);
        let summary = bed.add(&shared(vec![Arc::new(Tapped::new(sample(), vec![tap])) as Arc<dyn Mount>]), crew);
        let context = format!("{k} {shape:?}");
        let added = bed.added(&bed.archive(), &all, &context);
        assert_eq!(summary.stopped.unwrap(), format!("stopped: the archive is whole and {}", held(added)), "{context}");
    }
}

/// Keeps each WRITE, in their order.
#[derive(Default)]
struct Writes(Mutex<Vec<(u64, Vec<u8>)>>);

impl Tap for Writes {
    fn before(&self, calls: &[Call<'_>]) {
        for call in calls {
            if let Op::Write { offset, data, .. } = &call.op {
                self.0.lock().unwrap().push((*offset, data.to_vec()));
            }
        }
    }
}

/// All members, and whether nothing was wrong.
fn read(archive: &[u8]) -> (usize, Result<(), String>) {
    let (codec, input) = parfs::archive::open(Input::Seekable(Arc::new(archive.to_vec()))).unwrap();
    let mut reader = Archive::new(input, Default::default());
    let mut count = 0;
    loop {
        match reader.next() {
            Ok(Some(_)) => count += 1,
            Ok(None) => return (count, Ok(())),
            Err(error) => return (count, Err(format!("{codec:?}: {error}"))),
        }
    }
}

/// What is there when only the first of these writes were carried out.
fn after(mut left: Vec<u8>, writes: &[(u64, Vec<u8>)]) -> Vec<u8> {
    for (offset, data) in writes {
        let (from, to) = (*offset as usize, *offset as usize + data.len());
        left.resize(left.len().max(to), 0);
        left[from..to].copy_from_slice(data);
    }
    left
}

#[test]
fn an_archive_holds_what_it_held_while_its_writer_may_be_killed() {
    let writes: Arc<Writes> = Arc::default();
    let bed = Bed::new(vec![writes.clone()]);
    let had = bed.archive();
    let summary = bed.add(&shared(vec![sample()]), &crew(3, 2));
    assert_eq!((summary.archive_error, summary.stopped), (None, None));
    let writes = std::mem::take(&mut *writes.0.lock().unwrap());
    assert!(writes.len() > 4, "{}", writes.len());
    for killed_after in 0..writes.len() {
        bed.is_as_it_was(&after(had.clone(), &writes[..killed_after]), &format!("after {killed_after}"));
    }
    assert!(after(had, &writes) == bed.archive());
    assert_eq!(bed.added(&bed.archive(), &all_of_it(), "all"), all_of_it().len());
}

/// Pieces are written in any order: where the writer is killed, zeros in the midst would read as the archive's end.
#[test]
fn a_new_archive_whose_writer_is_killed_is_not_taken_for_a_whole_one() {
    let gzip = Codec::Gzip.pack(1).unwrap();
    for pack in [None, Some(&*gzip)] {
        let writes: Arc<Writes> = Arc::default();
        let mount = Arc::new(MemoryMount::new());
        let node = mount.file(&mount.root(), "a.tar", b"");
        let volume = shared(vec![Arc::new(Tapped::new(mount.clone(), vec![writes.clone() as Arc<dyn Tap>]))]);
        let summary = parfs::jobs::create::create(
            &mut whole(&shared(vec![sample()])).into_iter().map(Ok),
            Output::File { volume: &volume, node, at: 0 },
            pack,
            &Options::default(),
            &Numbers,
            &crew(3, 2),
            &Default::default(),
            &|_| (),
        );
        assert_eq!((summary.archive_error, summary.stopped), (None, None));
        let writes = std::mem::take(&mut *writes.0.lock().unwrap());
        assert!(writes.len() > 4, "{}", writes.len());
        for killed_after in 1..=writes.len() {
            let left = after(Vec::new(), &writes[..killed_after]);
            let (count, end) = read(&left);
            match killed_after == writes.len() {
                true => assert!(left == content(&*mount, "a.tar") && end.is_ok() && count > 100, "{count}: {end:?}"),
                false => {
                    assert!(end.unwrap_err().contains("The archive is not complete"), "after {killed_after}: {count}")
                }
            }
        }
    }
}
