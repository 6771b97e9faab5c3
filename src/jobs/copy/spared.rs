//! What no copy of a run deletes: the sources of all of them. One may lie in the destination of another under another name of its server, or
//! under a name of the server where the other has a path of this host.

use std::sync::atomic::AtomicI64;

use crate::base::{Failure, Name};
use crate::storage::{Kind, Node};

use super::super::port::Port;
use super::Side;
use super::ctx::{is_one, may_be_one};
use super::run;

/// A directory that is not deleted, and in which nothing is.
#[derive(Clone)]
pub struct Spared<'a> {
    port: Port<'a>,
    node: Node,
    ids: (u64, u64),
}

/// What the copies of a run may delete.
#[derive(Clone, Copy)]
pub struct Deletes<'a> {
    /// How many objects still, by all of them ([`super::Options::deletable`]).
    pub left: &'a AtomicI64,
    /// But for these.
    pub spared: &'a [Spared<'a>],
}

impl<'a> Spared<'a> {
    /// A source's root, or a directory below it; none where it is no directory or not there. An error says why it cannot be looked at.
    pub fn find(source: &Side<'a>, below: &[Name]) -> Result<Option<Spared<'a>>, Failure> {
        let port = Port::new(source.volume, 1);
        let way: Vec<Name> = source.way.iter().chain(below).cloned().collect();
        match run::resolve(port, &way, &source.shown) {
            Ok((node, attr)) if attr.kind == Kind::Dir => Ok(Some(Spared::new(port, node, (attr.fsid, attr.fileid)))),
            Ok(_) => Ok(None),
            Err(failure) if failure.cause == run::NOT_THERE => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    pub(super) fn new(port: Port<'a>, node: Node, ids: (u64, u64)) -> Spared<'a> {
        Spared { port, node, ids }
    }

    /// What cannot be told from it is it.
    pub(super) fn is(&self, target: Port<'_>, node: &Node, ids: (u64, u64)) -> bool {
        may_be_one(self.port, self.ids, target, ids) && is_one(self.port, &self.node, target, node).unwrap_or(true)
    }
}
