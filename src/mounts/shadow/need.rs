//! What a call on the shadow needs before it is answered: the real mount, a question put to it, or nothing.

use std::sync::atomic::Ordering;

use crate::base::{Name, Status};
use crate::storage::{Beyond, Call, Cookie, How, Kind, Mount, Node, Op, Want};

use super::ShadowMount;
use super::world::{Known, Tells};

/// What a call needs: the real mount, or an answer of ours, maybe after a question that is not counted.
pub(super) enum Need {
    Real,
    Answer,
    Ask(Box<Call<'static>>),
    /// The answer is this error.
    Fail(Status),
}

/// Bytes of the page that tells whether a directory is empty: the longest name fits.
const PEEK_BYTES: u32 = 4096;

fn ask(question: Call<'static>) -> Need {
    Need::Ask(Box::new(question))
}

impl ShadowMount {
    /// Before something is made under a name.
    fn before_making(&self, dir: &Node, name: &Name, how: Option<How>) -> Need {
        if self.is_made(dir) {
            return Need::Answer;
        }
        match self.known(dir, name) {
            // The file itself is the answer.
            Some(Known::Real(Kind::File)) if how == Some(How::Unchecked) => ask(Call::lookup(dir, name)),
            None => ask(Call::lookup(dir, name)),
            Some(_) => Need::Answer,
        }
    }

    pub(super) fn need(&self, call: &Call<'_>) -> Need {
        let made_or_real = |node: &Node| match self.is_made(node) {
            true => Need::Answer,
            false if self.is_gone(node) => Need::Fail(Status::Stale),
            false => Need::Real,
        };
        match &call.op {
            Op::Null { .. } => Need::Real,
            Op::GetAttr { node, .. }
            | Op::Access { node, .. }
            | Op::ReadLink { node, .. }
            | Op::FsInfo { node, .. }
            | Op::PathConf { node, .. }
            | Op::ReadDir { dir: node, .. } => made_or_real(node),
            Op::FsStat { node, .. } if self.is_made(node) => ask(Call::fs_stat(&self.real.root())),
            Op::FsStat { .. } => Need::Real,
            Op::Lookup { dir, name, .. } => match self.known(dir, name) {
                None | Some(Known::Real(_)) => made_or_real(dir),
                Some(Known::Gone | Known::Made(_)) => Need::Answer,
            },
            Op::Read { node, .. } => self.before_reading(node),
            Op::Create { dir, name, how, .. } => self.before_making(dir, name, Some(*how)),
            Op::MkDir { dir, name, .. }
            | Op::Symlink { dir, name, .. }
            | Op::MkNod { dir, name, .. }
            | Op::Link { dir, name, .. } => self.before_making(dir, name, None),
            Op::Rename { from_dir, from, .. } => match self.known(from_dir, from) {
                None | Some(Known::Real(_)) if !self.is_made(from_dir) => ask(Call::lookup(from_dir, from)),
                _ => Need::Answer,
            },
            Op::Remove { dir, name, .. } => {
                let asks = self.world.untyped.load(Ordering::Relaxed) && !self.is_made(dir);
                if asks && self.known(dir, name).is_none() { ask(Call::lookup(dir, name)) } else { Need::Answer }
            }
            Op::RmDir { dir, name, .. } => self.before_rmdir(dir, name),
            Op::SetAttr { .. } | Op::Write { .. } | Op::Commit { .. } => Need::Answer,
            Op::Beyond(beyond) => match beyond {
                Beyond::Seek { node, .. } | Beyond::ListXattrs { node, .. } | Beyond::GetXattr { node, .. } => {
                    made_or_real(node)
                }
                Beyond::CopyFile { dir, name, .. } => self.before_making(dir, name, Some(How::Guarded)),
                Beyond::Clear { .. } // never announced: nothing may go
                | Beyond::CopyFiles { .. }
                | Beyond::Copy { .. }
                | Beyond::IoAdvise { .. }
                | Beyond::SetXattr { .. }
                | Beyond::RemoveXattr { .. } => Need::Answer,
            },
        }
    }

    /// A real directory from which nothing was removed is asked whether it is empty.
    fn before_rmdir(&self, dir: &Node, name: &Name) -> Need {
        match self.known(dir, name) {
            Some(Known::Made(made)) => return self.unless_filled(self.world.node(made).key()),
            None | Some(Known::Real(Kind::Dir)) if !self.is_made(dir) => {}
            _ => return Need::Answer,
        }
        if let Some(listed) = self.emptied(dir, name) {
            return self.unless_filled(listed);
        }
        let mut calls = [Call::lookup(dir, name)];
        self.real.perform(&mut calls);
        let node = match calls[0].found() {
            Ok(found) => found.node,
            Err(status) => return Need::Fail(status),
        };
        let key = node.key();
        let is_emptied = {
            let mut memory = self.world.memory();
            if self.shared && matches!(node, Node::Handle(_)) {
                memory.dirs.insert(dir.key_of(name), key);
            }
            memory.emptied.get(key).is_some() || memory.emptied.forgot
        };
        match self.unless_filled(key) {
            Need::Answer if !is_emptied => ask(Call::read_dir(&node, Cookie::default(), Want::Names, PEEK_BYTES)),
            need => need,
        }
    }

    /// Was this directory removed through another shadow? By its handle: of names `Shadows::is_gone` knows.
    fn is_gone(&self, node: &Node) -> bool {
        self.shared && matches!(node, Node::Handle(_)) && self.world.memory().gone.get(node.key()).is_some()
    }

    /// A directory of this key is not empty while something invented is in it.
    fn unless_filled(&self, key: u64) -> Need {
        if self.world.memory().is_filled(key) { Need::Fail(Status::NotEmpty) } else { Need::Answer }
    }

    /// The key of a directory that was listed under this name and from which something was removed.
    fn emptied(&self, dir: &Node, name: &Name) -> Option<u64> {
        let key = dir.key_of(name);
        let memory = self.world.memory();
        let listed = match dir {
            Node::Chain(_) => Some(key),
            Node::Handle(_) => memory.dirs.get(key).copied(),
        };
        listed.filter(|&listed| memory.emptied.get(listed).is_some())
    }

    fn before_reading(&self, node: &Node) -> Need {
        if self.is_made(node) {
            return Need::Answer;
        }
        self.world.is_read.store(true, Ordering::Relaxed);
        let seen = self.seen(node);
        if self.reads && seen.is_none_or(|seen| !seen.resized) {
            return Need::Real;
        }
        if seen.is_some_and(|seen| !seen.resized && self.real.is_made_up(node, &seen.attr)) {
            return Need::Real; // how much it holds is known by reading it alone
        }
        // Whether this mount's READ brings attributes is found out with the first one.
        if self.world.tells.get().is_none() {
            let beyond = self.limits().size_max.saturating_sub(1);
            let mut calls = [Call::read(node, 0, 0, Vec::new()), Call::read(node, beyond, 1, Vec::new())];
            self.real.perform(&mut calls);
            let told = |call: &Call<'_>| match &call.op {
                Op::Read { attr, out: Ok(_), .. } => Some(attr.is_some()),
                _ => None,
            };
            if let (Some(before), Some(at_end)) = (told(&calls[0]), told(&calls[1])) {
                // Another lane may have been first, with the same result.
                let _ = self.world.tells.set(Tells { before, at_end });
            }
        }
        if seen.is_some() { Need::Answer } else { ask(Call::get_attr(node)) }
    }
}
