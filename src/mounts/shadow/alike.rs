//! Calls of one sort that come together, answered at once: one lock, one look at the clock and at the directory for all of them.
//!
//! CREATEs in one directory that the shadow has invented, and SETATTRs and WRITEs of invented objects: nearly all that extraction and
//! copying ask. The rest is answered call by call.

use crate::base::Status;
use crate::storage::{Attr, AttrChange, Call, Found, How, Kind, Mount, Node, Op, Stable, Written};

use super::ShadowMount;
use super::answer::written_up_to;
use super::world::{Known, Made, World, apply_at, extend_at, recently};

/// True for calls that may be answered together.
fn are_alike(one: &Call<'_>, next: &Call<'_>) -> bool {
    match (&one.op, &next.op) {
        (Op::Create { dir, .. }, Op::Create { dir: other, .. }) => dir == other,
        (Op::SetAttr { .. }, Op::SetAttr { .. }) | (Op::Write { .. }, Op::Write { .. }) => true,
        _ => false,
    }
}

impl ShadowMount {
    /// Fills in the outcomes of calls of which nothing is to be asked of the real mount.
    pub(super) fn answer_all(&self, calls: &mut [Call<'_>]) {
        for alike in calls.chunk_by_mut(are_alike) {
            let is_answered = match alike[0].op {
                Op::Create { .. } => self.create_all(alike),
                Op::SetAttr { .. } => self.set_all(alike),
                Op::Write { .. } => self.write_all(alike),
                _ => false,
            };
            if !is_answered {
                alike.iter_mut().for_each(|call| self.answer(call, None));
            }
        }
    }

    /// CREATEs in one directory; false, and nothing is done, where that is a real one or some are of another sort.
    fn create_all(&self, calls: &mut [Call<'_>]) -> bool {
        let Op::Create { dir, .. } = &calls[0].op else { return false };
        let Some(parent) = self.world.made(dir).filter(|made| made.kind == Kind::Dir) else { return false };
        let is_plain =
            |call: &Call<'_>| matches!(&call.op, Op::Create { how: How::Guarded, change, .. } if change.size.is_none());
        if !calls.iter().all(is_plain) {
            return false;
        }
        let above = dir.key();
        let (root, now) = (self.world.root(&*self.real), recently());
        let parent = self.world.memory().objects.get(parent.id).copied();
        // What can be made before is not made under the lock.
        let made = calls.iter_mut().filter_map(|call| {
            let Op::Create { name, change, out, .. } = &mut call.op else { return None };
            let made = self.world.new_made(Kind::File);
            let attr = World::new_attr_at(root, made, parent.as_ref(), change, now);
            *out = Ok(Found { node: self.world.node(made), attr: Some(attr) });
            Some((Node::key_below(above, name), made))
        });
        let made: Vec<(u64, Made)> = made.collect();
        let mut memory = self.world.memory();
        let mut filled = 0;
        for (call, (key, made)) in calls.iter_mut().zip(made) {
            let Op::Create { out, .. } = &mut call.op else { continue };
            if memory.names.claim(key, Known::Made(made), |known| *known == Known::Gone) {
                let attr = out.as_ref().ok().and_then(|found| found.attr.as_ref());
                attr.into_iter().for_each(|attr| memory.objects.insert(made.id, attr));
                filled += 1;
            } else {
                *out = Err(Status::Exist);
            }
        }
        *memory.filled.renew(above, || 0) += filled;
        true
    }

    /// SETATTRs of invented objects; false, and nothing is done, where some are of another sort.
    fn set_all(&self, calls: &mut [Call<'_>]) -> bool {
        let is_plain = |call: &Call<'_>| match &call.op {
            Op::SetAttr { node, change, .. } => {
                let made = self.world.made(node);
                change.size.is_none() && made.is_some_and(|made| made.kind != Kind::Symlink || change.mode.is_none())
            }
            _ => false,
        };
        if !calls.iter().all(is_plain) {
            return false;
        }
        let now = recently();
        self.change_all(calls, |op, attr| {
            if let Op::SetAttr { change, out, .. } = op {
                apply_at(attr, change, now);
                *out = Ok(Some(*attr));
            }
        });
        true
    }

    /// WRITEs of invented files; false, and nothing is done, where some are of another sort.
    fn write_all(&self, calls: &mut [Call<'_>]) -> bool {
        let limits = self.limits();
        let is_plain = |call: &Call<'_>| match &call.op {
            Op::Write { node, offset, data, .. } => {
                self.world.made(node).is_some_and(|made| made.kind == Kind::File)
                    && written_up_to(limits, *offset, data).is_ok()
            }
            _ => false,
        };
        if !calls.iter().all(is_plain) {
            return false;
        }
        let (now, verifier) = (recently(), self.world.verifier);
        self.change_all(calls, |op, attr| {
            if let Op::Write { offset, data, stable, out, .. } = op {
                *out = written_up_to(limits, *offset, data).map(|(count, end)| {
                    extend_at(attr, end, count.into(), now);
                    let stable = if *stable == Stable::Unstable { *stable } else { Stable::FileSync };
                    Written { count, stable, verifier }
                });
            }
        });
        true
    }

    /// Changes what is remembered of the invented objects that the calls are about.
    fn change_all(&self, calls: &mut [Call<'_>], change: impl Fn(&mut Op<'_>, &mut Attr)) {
        let root = self.world.root(&*self.real);
        let mut memory = self.world.memory();
        for call in calls {
            let Some(made) = call.node().and_then(|node| self.world.made(node)) else { continue };
            match memory.objects.get_mut(made.id) {
                Some(known) => change(&mut call.op, known),
                None => {
                    let mut attr = World::new_attr(root, made, None, &AttrChange::default());
                    change(&mut call.op, &mut attr);
                    memory.objects.insert(made.id, &attr);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::base::{Name, Time};
    use crate::mounts::MemoryMount;
    use crate::storage::SetTime;

    /// Windows are answered as their calls would be one after the other, whatever is among them.
    #[test]
    fn a_window_is_answered_as_its_calls_alone() {
        let name = |text: &str| Name::new(text.as_bytes()).unwrap();
        let setgid = AttrChange { mode: Some(0o2755), gid: Some(7), ..AttrChange::default() };
        let at = |secs| AttrChange { mtime: SetTime::At(Time { secs, nanos: 0 }), ..AttrChange::default() };
        let mode = AttrChange { mode: Some(0o600), ..AttrChange::default() };
        let size = AttrChange { size: Some(3), ..AttrChange::default() };
        let run = |window: usize| {
            let shadow = ShadowMount::new(Arc::new(MemoryMount::new()));
            let mut seen = Vec::new();
            let mut perform = |calls: Vec<Call<'_>>| -> Vec<Option<Node>> {
                let mut calls = calls;
                calls.chunks_mut(window).for_each(|window| shadow.perform(window));
                seen.extend(calls.iter().map(|call| (call.proc(), call.status())));
                calls.iter().map(|call| call.found_object().map(|found| found.node.clone())).collect()
            };
            let made = perform(vec![
                Call::mkdir(&shadow.root(), &name("d"), setgid),
                Call::mkdir(&shadow.root(), &name("e"), mode),
            ]);
            let [Some(d), Some(e)] = &made[..] else { panic!("two directories") };
            let guarded = |dir: &Node, text: &str, change| Call::create(dir, &name(text), How::Guarded, change);
            // A name twice, one that was removed, another directory, a symlink, a size, one that is opened where it is, a real directory.
            let made = perform(vec![
                guarded(d, "a", mode),
                guarded(d, "b", mode),
                guarded(d, "a", mode),
                guarded(d, "c", size),
            ]);
            perform(vec![Call::remove(d, &name("b")), Call::rmdir(&shadow.root(), &name("d"))]);
            perform(vec![
                guarded(d, "b", mode),
                guarded(e, "a", mode),
                guarded(e, "b", mode),
                guarded(&shadow.root(), "a", mode),
                Call::symlink(e, &name("s"), b"to", mode),
                Call::create(d, &name("a"), How::Unchecked, size),
                Call::create(made[0].as_ref().unwrap(), &name("x"), How::Guarded, mode),
            ]);
            let a = made[0].as_ref().unwrap();
            perform(vec![
                Call::write(a, 0, b"12345", Stable::FileSync),
                Call::write(a, 7, b"8", Stable::Unstable),
                Call::write(d, 0, b"1", Stable::FileSync),
                Call::write(a, u64::MAX, b"1", Stable::FileSync),
            ]);
            perform(vec![
                Call::set_attr(a, at(5)),
                Call::set_attr(d, at(6)),
                Call::set_attr(d, size),
                Call::set_attr(a, at(7)),
            ]);
            let names = ["a", "b", "c", "s"].map(name);
            let mut looks: Vec<Call<'_>> =
                [d, e].iter().flat_map(|dir| names.iter().map(|name| Call::lookup(dir, name))).collect();
            looks.chunks_mut(window).for_each(|window| shadow.perform(window));
            let told = looks.iter().map(|call| {
                let attr = call.found_object().and_then(|found| found.attr);
                (call.status(), attr.map(|a| (a.kind, a.mode, a.gid, a.size, a.used, a.nlink, a.mtime.secs.min(100))))
            });
            let told: Vec<_> = told.collect();
            perform(vec![Call::rmdir(&shadow.root(), &name("d")), Call::rmdir(&shadow.root(), &name("e"))]);
            (seen, told, shadow.issued())
        };
        let alone = run(1);
        assert!(alone.0.iter().any(|(_, status)| *status == Err(Status::Exist)));
        assert_eq!(alone.1[0].1.map(|attr| (attr.2, attr.3, attr.6)), Some((7, 8, 7)));
        for window in [2, 3, 4, 64] {
            assert_eq!(run(window), alone, "{window}");
        }
    }
}
