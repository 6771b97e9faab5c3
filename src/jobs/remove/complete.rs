//! The end of a directory: what follows when nothing is under way in it any more, from the inside outwards. A directory that goes is
//! asked for by RMDIR, which knows what is in it; of one that stays a listing has to say it.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::base::{Failure, Proc, Status};

use super::engine::Step;
use super::frame::{Frame, flag};
use super::turn::{PASSES_MAX, STALE_PASSES_MAX, Turn};

const STILL_LISTED: &str =
    "names in it are listed, and said not to be there when they are removed; run the same command again";

impl<T: Clone + Send> Turn<'_, '_, T> {
    /// Something in `frame` is no longer under way. What that completes, from the inside outwards, is dealt with.
    pub fn off(&mut self, frame: Arc<Frame<T>>) {
        let mut next = Some(frame);
        while let Some(frame) = next.filter(|frame| frame.pending.fetch_sub(1, Ordering::AcqRel) == 1) {
            next = self.complete(&frame);
        }
    }

    /// Nothing is under way in `frame` any more. Returns the directory it is in when that is all there is to it.
    fn complete(&mut self, frame: &Arc<Frame<T>>) -> Option<Arc<Frame<T>>> {
        let kept = frame.kept.load(Ordering::Relaxed);
        let (failed, held) = (frame.has(flag::FAILED), frame.has(flag::HELD));
        let Some(up) = frame.up.clone() else {
            let root = frame.root.as_ref()?;
            self.engine.counts.kept.fetch_add(kept, Ordering::Relaxed);
            self.finished.push((root.tag.clone(), !failed && !held && kept == 0));
            return None;
        };
        let passes = frame.passes.load(Ordering::Relaxed);
        if frame.has(flag::STALE_COOKIE) {
            if !failed && (frame.has(flag::REMOVED) && passes < PASSES_MAX || passes < STALE_PASSES_MAX) {
                self.relist(frame);
                return None;
            }
            self.fail_dir(frame, |path| Failure::call(path, Proc::ReadDirPlus, Status::BadCookie));
        }
        if !frame.has(flag::FAILED) && !held {
            if kept == 0 && !frame.young && !frame.stays() {
                self.push(Step::RmDir { frame: frame.clone() });
                return None;
            }
            if self.looks_again(frame, kept) {
                return None;
            }
        }
        self.shut(frame);
        if frame.has(flag::FAILED) {
            up.set(flag::FAILED);
        } else if held {
            up.set(flag::HELD);
            // It would have been next.
            let next = !frame.stays() && !frame.young && kept == 0;
            self.engine.counts.held_back.fetch_add(u64::from(next), Ordering::Relaxed);
        } else if frame.has(flag::UNLISTED) && self.is_unknown(frame, &up) {
            return Some(up);
        }
        up.kept.fetch_add(kept + u64::from(frame.young && !frame.stays()), Ordering::Relaxed);
        Some(up)
    }

    fn relist(&mut self, frame: &Arc<Frame<T>>) {
        self.engine.counts.relisted.fetch_add(1, Ordering::Relaxed);
        self.list_again(frame);
    }

    /// Lists a directory that stays once more, where no RMDIR will say what the listing skipped, as those do whose cookies shift when
    /// entries go, nor whether what was said not to be there is gone. False when all is known: what is wrong with it is told.
    fn looks_again(&mut self, frame: &Arc<Frame<T>>, kept: u64) -> bool {
        let passes = frame.passes.load(Ordering::Relaxed);
        let progress = frame.has(flag::REMOVED) && passes < PASSES_MAX;
        let unlisted = frame.has(flag::UNLISTED);
        let doubtful = frame.has(flag::UNSURE) || unlisted && kept > 0;
        if !frame.has(flag::CHECK) {
            let looks = doubtful || progress && frame.has(flag::PAGES);
            if looks {
                frame.check();
                self.push(Step::List { frame: frame.clone(), from: None, route: None });
            }
            return looks;
        }
        // A rehearsal's storage has all of it still, and shows again what it has forgotten to hide.
        if self.engine.how.rehearsal || !unlisted && frame.is_checked() {
            return false;
        }
        if progress || doubtful && passes < STALE_PASSES_MAX {
            self.relist(frame);
            return true;
        }
        if doubtful {
            self.fail_dir(frame, |path| Failure::refused(path, STILL_LISTED));
        }
        false
    }

    /// What becomes of a directory that is too young to go and could not be listed: it failed, or is said not to be there, which the
    /// directory that it is in knows better. Returns true for the latter.
    fn is_unknown(&mut self, frame: &Arc<Frame<T>>, up: &Arc<Frame<T>>) -> bool {
        let trouble = frame.trouble.get().copied().unwrap_or(Status::Stale);
        let status = self.meaning(up, trouble);
        if status == Status::NoEnt || status == Status::Stale && up.root.is_none() {
            self.note_vanished(up, frame.name.as_ref());
            return true;
        }
        self.fail_dir(frame, |path| Failure::call(path, Proc::ReadDirPlus, trouble));
        up.set(flag::FAILED);
        false
    }
}
