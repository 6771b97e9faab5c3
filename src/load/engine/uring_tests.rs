use std::collections::VecDeque;
use std::path::PathBuf;

use super::super::super::settings::OpenSync;
use super::*;

/// What the next calls of each kind fail with.
#[derive(Default)]
pub(super) struct Faults {
    pub(super) submit: VecDeque<Errno>,
    pub(super) enter: VecDeque<Errno>,
}

const BLOCK: usize = 4096;

/// An engine with a file of 8 blocks; None, which is said elsewhere, without io_uring here.
fn engine() -> Option<(tempfile::TempDir, Uring)> {
    let mut engine = Uring::new(8, UringChoice::default(), 1).ok()?;
    let dir = tempfile::tempdir().unwrap();
    let path: PathBuf = dir.path().join("f");
    std::fs::write(&path, vec![7; 8 * BLOCK]).unwrap();
    let how = Open { read: true, write: false, create: false, direct: false, sync: OpenSync::None };
    engine.open(0, &path, how).unwrap();
    Some((dir, engine))
}

fn queue(engine: &mut Uring, slots: std::ops::Range<u32>) {
    for slot in slots {
        let buf = Buf::zeroed(BLOCK, 0).unwrap();
        let offset = u64::from(slot) * BLOCK as u64;
        let queued = engine.queue(Io { slot, file: 0, direction: Direction::Read, offset, buf });
        assert!(matches!(queued, Queued::Pending));
    }
}

fn reap(engine: &mut Uring, count: usize) {
    let mut done = Vec::new();
    while done.len() < count {
        let missing = count - done.len();
        engine.reap(missing, missing, None, &mut done).unwrap();
    }
    assert!(done.iter().all(|done| done.result == Ok(BLOCK) && done.buf.iter().all(|byte| *byte == 7)));
}

#[test]
fn what_passes_is_tried_again_and_loses_nothing() {
    let Some((_dir, mut engine)) = engine() else { return };
    let passing = [Errno::AGAIN, Errno::INTR, Errno::BUSY, Errno::AGAIN];
    queue(&mut engine, 0..4);
    engine.faults.submit.extend(passing);
    assert_eq!(engine.commit(), Ok(4), "nothing was in flight that could end");
    queue(&mut engine, 4..8);
    engine.faults.submit.extend(passing);
    engine.faults.enter.extend(passing);
    assert_eq!(engine.commit(), Ok(4));
    engine.faults.enter.extend(passing);
    reap(&mut engine, 8);
    assert_eq!(engine.in_flight, 0);
}

#[test]
fn what_does_not_pass_is_told_and_not_tried_for_ever() {
    let Some((_dir, mut engine)) = engine() else { return };
    queue(&mut engine, 0..2);
    engine.faults.submit.extend([Errno::BADF]);
    assert_eq!(engine.commit(), Err(Errno::BADF));
    assert_eq!(engine.commit(), Ok(2));
    reap(&mut engine, 2);
    queue(&mut engine, 0..1);
    engine.faults.submit.extend(std::iter::repeat_n(Errno::AGAIN, TRIES_MAX as usize + 1));
    assert_eq!(engine.commit(), Err(Errno::AGAIN));
}
