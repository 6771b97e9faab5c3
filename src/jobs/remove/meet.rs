//! What is done with an entry, by what is known of it.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::base::name::{SNAPSHOT, Shown};
use crate::base::{Name, Proc, Status};
use crate::storage::{Call, Kind, Node};

use super::engine::{Met, Spares, Step, Tried};
use super::frame::{Frame, flag};
use super::turn::Turn;

/// Why the host's root directory stays.
pub const IS_ROOT: &str = "it is the root directory, which is never removed";

impl<T: Clone + Send> Turn<'_, '_, T> {
    /// Decides about an entry of `up`; it is counted among what is under way there.
    pub fn meet(&mut self, up: &Arc<Frame<T>>, name: Option<Name>, met: Met, tried: Tried) {
        let how = self.engine.how;
        let timed = how.older_than.is_none() || met.mtime.is_some();
        let is_named = name.as_ref().is_some_and(|name| name.as_bytes() == SNAPSHOT);
        let snapshot = is_named && (up.fs_root || self.is_fs_root(up));
        // Where it lies matters, or which it is.
        let placed = how.one_file_system || self.engine.spare.is_some() || up.root.is_some();
        let known = match met.kind {
            Some(Kind::Dir) => timed && met.node.is_some() && (!placed || met.fsid.is_some()),
            Some(_) => timed,
            None => timed && up.root.is_none() && !snapshot,
        };
        if !known {
            return self.push(Step::Look { up: up.clone(), name, node: met.node.map(Box::new), tried });
        }
        let young = how.older_than.zip(met.mtime).is_some_and(|(limit, mtime)| mtime >= limit);
        match (met.kind, name) {
            (Some(Kind::Dir), Some(_)) if snapshot => {
                if up.passes.load(Ordering::Relaxed) == 0 {
                    let dir = Shown(self.cursor.path(up, None)).to_string();
                    self.engine.counts.warn(format!("{dir}: its .snapshot is left alone"));
                }
                up.set(flag::SNAPSHOT);
                self.off(up.clone());
            }
            (Some(Kind::Dir), name) => self.enter(up, name, met, young, tried),
            (_, None) => self.fail(up, None, Proc::ReadDirPlus, Status::NotDir),
            (_, Some(name)) if up.root.as_ref().is_some_and(|root| root.contents) => {
                self.fail(up, Some(&name), Proc::ReadDirPlus, Status::NotDir);
            }
            (kind, Some(name)) if up.has(flag::MUST_BE_DIR) => {
                let link = met.node.filter(|_| kind == Some(Kind::Symlink));
                self.not_a_directory(up, &name, link.as_ref());
            }
            (_, Some(_)) if young => self.keep(up),
            (_, Some(name)) if tried.perm => self.fail(up, Some(&name), Proc::Remove, Status::Perm),
            (kind, Some(name)) => {
                let tried = Tried { unknown: kind.is_none(), ..tried };
                self.push(Step::Remove { up: up.clone(), name, tried });
            }
        }
    }

    /// What was written with a slash behind it and is no directory. To look at it so fails as at what is not there, which rm's -f ignores; with a
    /// `link` that leads to a directory it does not.
    fn not_a_directory(&mut self, up: &Arc<Frame<T>>, name: &Name, link: Option<&Node>) {
        if self.engine.how.force && !link.is_some_and(|link| self.may_lead_to_dir(up, link)) {
            return self.vanished(up.clone(), Some(name));
        }
        self.refuse(up, Some(name), "Not a directory");
    }

    /// May a link of `up` lead to a directory? What lies below where the link is tells; what lies elsewhere may.
    fn may_lead_to_dir(&self, up: &Frame<T>, link: &Node) -> bool {
        let (port, route) = (self.engine.port, self.engine.port.route());
        let text = match port.one(route, Call::read_link(link)).into_text() {
            Ok(text) => text,
            // By another name of the list it has been removed.
            Err(status) => return !matches!(status, Status::NoEnt | Status::Stale),
        };
        let mut dir = up.node.clone();
        for part in text.split(|byte| *byte == b'/').enumerate().filter(|(at, part)| *at == 0 || !part.is_empty()) {
            let Ok(name) = Name::new(part.1) else { return true };
            match port.look_up(route, &dir, &name) {
                Ok((node, attr)) if attr.kind == Kind::Dir => dir = node,
                Ok((_, attr)) => return attr.kind == Kind::Symlink,
                Err((_, status)) => return !matches!(status, Status::NoEnt | Status::NotDir),
            }
        }
        true
    }

    /// A directory of another file system, where those are left alone.
    fn leave_mounted(&mut self, up: &Arc<Frame<T>>, name: Option<&Name>) {
        const WHY: &str = "skipping it, since it's on a different device";
        if !self.engine.how.mounts_kept {
            return self.refuse(up, name, WHY);
        }
        let path = Shown(self.cursor.path(up, name)).to_string();
        self.engine.counts.warn(format!("{path}: {WHY}"));
        self.keep(up);
    }

    /// Is a directory the root of a file system? It is asked for where that was not known when it was entered.
    fn is_fs_root(&self, up: &Frame<T>) -> bool {
        let Some(above) = up.up.as_deref() else { return false };
        let port = self.engine.port;
        let fsid = |frame: &Frame<T>| {
            frame.fsid.or_else(|| port.one(port.route(), Call::get_attr(&frame.node)).attr().ok().map(|attr| attr.fsid))
        };
        fsid(above).zip(fsid(up)).is_some_and(|(above, here)| above != here)
    }

    /// A directory, of which all is known that matters.
    fn enter(&mut self, up: &Arc<Frame<T>>, name: Option<Name>, met: Met, young: bool, tried: Tried) {
        let Some(node) = met.node else { return self.fail(up, name.as_ref(), Proc::Lookup, Status::ServerFault) };
        if met.fsid.zip(met.fileid).is_some_and(|here| self.engine.how.host_root == Some(here)) {
            return self.refuse(up, name.as_ref(), IS_ROOT);
        }
        let other_fs = up.fsid.zip(met.fsid).is_some_and(|(above, here)| above != here);
        let root = up.root.as_deref();
        let emptied = root.is_some_and(|root| root.contents || root.name.is_none());
        if other_fs && self.engine.how.one_file_system && !emptied {
            return self.leave_mounted(up, name.as_ref());
        }
        if other_fs && root.is_some() && (!emptied || self.engine.how.same_device) {
            return self.refuse(up, name.as_ref(), "it is the root of a mounted file system");
        }
        if let (Some(spare), Some((fsid, fileid))) = (self.engine.spare, met.fsid.zip(met.fileid))
            && spare(&node, fsid, fileid) != Spares::Nothing
        {
            return self.refuse(up, name.as_ref(), "it is the source, or cannot be told from it; it is not removed");
        }
        // A directory that is only emptied is its own place.
        if name.is_some() && up.is_within(&node) {
            return self.refuse(up, name.as_ref(), "a directory that contains itself");
        }
        if let (Some(begun), Some(root)) = (self.engine.begun, root) {
            begun.note(&root.shown);
        }
        let listed = !self.engine.how.empty_only || emptied;
        let mut frame = Frame::dir(up, name, node);
        frame.fsid = met.fsid;
        frame.fileid = met.fileid.and_then(NonZeroU64::new);
        frame.young = young;
        frame.fs_root = other_fs || root.is_some_and(|root| root.fs_root);
        frame.tries = tried.tries;
        let frame = Arc::new(frame);
        if listed {
            self.push(Step::List { frame, from: None, route: None });
        } else {
            self.off(frame);
        }
    }
}
