//! One I/O as calls: cut to what a mount takes at once, all parts in flight together, short answers continued; and what of the
//! written data is not safe before a COMMIT.
//!
//! Promises: a result counts bytes from the I/O's start without a gap; data of which a server may have lost any is never
//! called safe. Leaves out: which threads wait.

use crate::base::Status;
use crate::storage::{Call, Mount, Node, Op, Route, Stable, Unstable, Volume};

/// A part of an I/O, relative to its start, in bytes.
struct Part {
    from: usize,
    len: usize,
    done: usize,
    /// The file ends there.
    ended: bool,
}

impl Part {
    fn at(&self) -> usize {
        self.from + self.done
    }

    fn left(&self) -> usize {
        self.len - self.done
    }

    fn is_open(&self) -> bool {
        !self.ended && self.done < self.len
    }
}

fn cut(len: usize, most: u32) -> Vec<Part> {
    let most = (most as usize).max(1);
    (0..len).step_by(most).map(|from| Part { from, len: most.min(len - from), done: 0, ended: false }).collect()
}

/// The bytes up to the first gap.
fn moved(parts: &[Part]) -> usize {
    let whole = parts.iter().take_while(|part| part.done == part.len).count();
    parts[..whole].iter().map(|part| part.len).sum::<usize>() + parts.get(whole).map_or(0, |part| part.done)
}

fn check_end(offset: u64, len: usize) -> Result<(), Status> {
    offset.checked_add(len as u64).map(drop).ok_or(Status::Inval)
}

/// Reads into `into`, or, when nobody looks at what is read (not `fetch`), only counts. `spare` has buffers that calls are lent.
pub(super) fn read(
    volume: &Volume,
    most: u32,
    (node, offset): (&Node, u64),
    into: &mut [u8],
    spare: &mut Vec<Vec<u8>>,
    fetch: bool,
) -> Result<usize, Status> {
    check_end(offset, into.len())?;
    let mut parts = cut(into.len(), most);
    while parts.iter().any(Part::is_open) {
        let mut open: Vec<&mut Part> = parts.iter_mut().filter(|part| part.is_open()).collect();
        let mut calls: Vec<Call<'_>> = Vec::with_capacity(open.len());
        for part in &open {
            let buf = spare.pop().unwrap_or_default();
            // A part is not longer than `most`.
            calls.push(Call::read(node, offset + part.at() as u64, part.left() as u32, buf));
        }
        volume.perform(&mut calls);
        let mut failed = None;
        for (part, call) in open.iter_mut().zip(calls) {
            let Op::Read { buf, out, .. } = call.op else { return Err(Status::Protocol) };
            match out {
                Ok(end) => {
                    let (at, count) = (part.at(), buf.len().min(part.left()));
                    if fetch {
                        into[at..at + count].copy_from_slice(&buf[..count]);
                    }
                    part.done += count;
                    part.ended = end || count == 0;
                }
                Err(status) => {
                    failed.get_or_insert(status);
                }
            }
            spare.push(buf);
        }
        failed.map_or(Ok(()), Err)?;
    }
    Ok(moved(&parts))
}

/// Writes `data` through the mount of `route`; what of it is not safe, also when an error came after a part. Where a server did less
/// than the stable write that was asked of it, it is asked for a COMMIT.
pub(super) fn write(
    volume: &Volume,
    route: Route,
    most: u32,
    (node, offset): (&Node, u64),
    data: &[u8],
    stable: Stable,
) -> (Result<usize, Status>, Unstable) {
    let mut unstable = Unstable::default();
    let result = check_end(offset, data.len()).and_then(|()| {
        let mut parts = cut(data.len(), most);
        while parts.iter().any(Part::is_open) {
            let mut open: Vec<&mut Part> = parts.iter_mut().filter(|part| part.is_open()).collect();
            let call = |part: &&mut Part| {
                Call::write(node, offset + part.at() as u64, &data[part.at()..part.from + part.len], stable)
            };
            let mut calls: Vec<Call<'_>> = open.iter().map(call).collect();
            volume.perform_on(route, &mut calls);
            let mut failed = None;
            for (part, call) in open.iter_mut().zip(&calls) {
                match call.written() {
                    // A server that takes nothing would be asked for ever.
                    Ok(written) if written.count == 0 => failed = failed.or(Some(Status::Io)),
                    Ok(written) => {
                        part.done += part.left().min(written.count as usize);
                        unstable = unstable.and(written.into());
                    }
                    Err(status) => failed = failed.or(Some(status)),
                }
            }
            failed.map_or(Ok(()), Err)?;
        }
        Ok(moved(&parts))
    });
    if stable == Stable::Unstable || unstable == Unstable::Nothing || result.is_err() {
        return (result, unstable);
    }
    match commit(volume, route, node, unstable) {
        Ok(true) => (result, Unstable::Nothing),
        Ok(false) => (Err(Status::Io), Unstable::Nothing),
        Err(status) => (Err(status), unstable),
    }
}

/// COMMITs a file through the mount of `route`; false when what was `unstable` there may be lost.
fn commit(volume: &Volume, route: Route, node: &Node, unstable: Unstable) -> Result<bool, Status> {
    let mut calls = [Call::commit(node, 0, 0)];
    volume.perform_on(route, &mut calls);
    let verifier = calls[0].verifier()?;
    Ok(unstable == Unstable::Since(verifier))
}

/// What of a file's data is not safe, by the mount that it went through: a COMMIT at one says nothing of another's.
#[derive(Debug, Default)]
pub(super) struct Unsettled(Vec<(Route, Unstable)>);

impl Unsettled {
    /// Takes what came of a write.
    pub fn note(&mut self, route: Route, unstable: Unstable) {
        if unstable == Unstable::Nothing {
            return;
        }
        match self.0.iter_mut().find(|(there, _)| *there == route) {
            Some((_, before)) => *before = before.and(unstable),
            None => self.0.push((route, unstable)),
        }
    }

    /// True when all is safe.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True, once, where some may be lost as is known without a COMMIT: another instance of the server has taken data since.
    pub fn take_loss(&mut self) -> bool {
        let before = self.0.len();
        self.0.retain(|(_, unstable)| *unstable != Unstable::Broken);
        self.0.len() < before
    }

    /// COMMITs the file wherever data of it is not safe; false when some may be lost. After an error what was not committed is as
    /// before; after a loss, which is told once, there is nothing more to be made safe.
    pub fn commit(&mut self, volume: &Volume, node: &Node) -> Result<bool, Status> {
        let mut kept = true;
        while let Some(&(route, unstable)) = self.0.last() {
            kept &= commit(volume, route, node, unstable)?;
            self.0.pop();
        }
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_io_is_cut_to_what_is_taken_at_once_and_counts_to_the_first_gap() {
        let mut parts = cut(10, 4);
        assert_eq!(parts.iter().map(|part| (part.from, part.len)).collect::<Vec<_>>(), [(0, 4), (4, 4), (8, 2)]);
        parts.iter_mut().zip([4, 3, 2]).for_each(|(part, done)| part.done = done);
        assert_eq!(moved(&parts), 7);
        assert!(parts[1].is_open() && !parts[0].is_open() && parts[1].at() == 7 && parts[1].left() == 1);
        parts[1].done = 4;
        assert_eq!((moved(&parts), moved(&cut(0, 4))), (10, 0));
        assert_eq!((check_end(u64::MAX - 1, 1), check_end(u64::MAX, 1)), (Ok(()), Err(Status::Inval)));
    }
}
