//! Directories that somebody moves away while their tree is removed. `rm -r` goes by names, and leaves what is moved out before it is
//! entered; here directories wait, known by handles and by open descriptors, which lead to them wherever they are.
//!
//! Promises: what was moved away before it was listed stays; what was moved away while it was removed is told where there are handles, and
//! what has its name by then stays, and is told.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::base::{Failure, Status};
use crate::storage::{Call, Node};

use super::engine::{Step, Tried};
use super::frame::{Frame, flag};
use super::turn::{TRIES_MAX, Turn};

/// How many directories may turn out to be where they were found although their `..` says otherwise, before `..` is believed no more.
const ODD_DOTDOTS_MAX: u32 = 64;

const MOVED: &str = "it was moved while it was removed: what was listed in it is gone, and it is elsewhere";

const REPLACED: &str =
    "it was moved while it was removed: what was listed in it is gone, and what has its name now stays";

impl<T: Clone + Send> Turn<'_, '_, T> {
    /// Is a directory that waited to be listed, known by its handle, elsewhere by now? Its `..` is another one than it was found in, and it is
    /// not what has its name there. That is asked no more where it was answered no too often: `..` says something else on this server.
    pub fn was_moved(&self, frame: &Frame<T>, above: u64) -> bool {
        let (Some(up), Some(name)) = (&frame.up, &frame.name) else { return false };
        let port = self.engine.port;
        let differs = up.fileid.is_some_and(|fileid| fileid.get() != above) && port.volume.has_handles();
        if !differs || self.engine.odd_dotdots.load(Ordering::Relaxed) >= ODD_DOTDOTS_MAX {
            return false;
        }
        let mut call = port.one(port.route(), Call::lookup(&up.node, name));
        let is_here = match call.take_found() {
            // Servers may have several handles for one object.
            Ok(found) => {
                let number = found.attr.map(|attr| (attr.fsid, attr.fileid));
                found.node == frame.node || number.is_some_and(|number| frame.number() == Some(number))
            }
            Err(status) => !matches!(status, Status::NoEnt | Status::NotDir | Status::Stale),
        };
        self.engine.odd_dotdots.fetch_add(u32::from(is_here), Ordering::Relaxed);
        !is_here
    }

    /// On this host, which goes by names: was a directory of which something was removed known by another number than what has its name now?
    pub fn has_another_its_name(&self, frame: &Frame<T>) -> bool {
        let (Some(up), Some(name), Node::Chain(chain)) = (&frame.up, &frame.name, &frame.node) else { return false };
        let port = self.engine.port;
        let is = |entered| {
            let mut call = port.one(port.route(), Call::lookup(&up.node, name));
            let found = call.take_found().ok().and_then(|found| found.attr);
            found.is_some_and(|attr| attr.fileid != entered)
        };
        frame.has(flag::REMOVED | flag::REMOVED_BEFORE) && chain.entered().is_some_and(is)
    }

    /// What is there now under the name of a directory that was moved away? To `rm -r`, which enters a name once, it is a directory that is
    /// not empty if something was removed before.
    pub fn look_again(&mut self, frame: &Arc<Frame<T>>) {
        let (Some(up), Some(name)) = (frame.up.clone(), &frame.name) else { return };
        if frame.has(flag::REMOVED | flag::REMOVED_BEFORE) {
            let port = self.engine.port;
            if port.one(port.route(), Call::lookup(&up.node, name)).status() != Err(Status::NoEnt) {
                self.tell_once(frame, REPLACED);
                up.set(flag::FAILED);
                return self.off(up);
            }
            self.tell_moved(frame);
            return self.vanished(up, Some(name));
        }
        if frame.tries >= TRIES_MAX {
            return self.refuse(&up, frame.name.as_ref(), "another directory takes its place again and again");
        }
        let tried = Tried { tries: frame.tries + 1, judge: self.judges(&up), ..Tried::default() };
        self.push(Step::Look { up, name: frame.name.clone(), node: None, tried });
    }

    /// Is a directory whose name is gone still there, by its handle, and something of it not? It was known by that handle since its own directory
    /// was listed. On this host it is gone by its name.
    pub fn is_elsewhere(&self, frame: &Frame<T>) -> bool {
        let port = self.engine.port;
        let is_there = || port.one(port.route(), Call::get_attr(&frame.node)).status().is_ok();
        frame.has(flag::REMOVED | flag::REMOVED_BEFORE) && port.volume.has_handles() && is_there()
    }

    /// Something of it is gone, and it is elsewhere.
    pub fn tell_moved(&mut self, frame: &Frame<T>) {
        self.tell_once(frame, MOVED);
    }

    fn tell_once(&mut self, frame: &Frame<T>, reason: &str) {
        if let Some(up) = frame.up.as_ref().filter(|_| !frame.has(flag::TOLD)) {
            frame.set(flag::TOLD);
            let path = self.cursor.path(up, frame.name.as_ref());
            self.engine.crew.report().add(Failure::refused(path, reason));
        }
    }
}
