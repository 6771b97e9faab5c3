//! What no copy of a run deletes: the sources of all of them. One may lie in the destination of another under another name of its server, or
//! under a name of the server where the other has a path of this host.

use std::sync::atomic::{AtomicBool, AtomicI64};

use crate::base::{Failure, Name};
use crate::storage::{Kind, Node};

use super::super::port::Port;
use super::super::remove::Spares;
use super::Side;
use super::aside::Mark;
use super::ctx::{is_one, may_be_one};
use super::run;

/// A directory that is not deleted, nor what is in it.
#[derive(Clone)]
pub struct Spared<'a> {
    port: Port<'a>,
    node: Node,
    ids: (u64, u64),
    how_far: Spares,
}

/// What the copies of a run may delete.
#[derive(Clone, Copy)]
pub struct Deletes<'a> {
    /// How many objects still, by all of them ([`super::Options::deletable`]).
    pub left: &'a AtomicI64,
    /// But for these.
    pub spared: &'a [Spared<'a>],
    /// The run has other sources than the one at hand, and `spared` is without them.
    pub others: bool,
    /// Nothing, unless errors of the source are to be passed over: something of one of the sources is not known. Set by whoever meets that; it
    /// holds for all that is copied from then on.
    pub held: &'a AtomicBool,
}

impl<'a> Spared<'a> {
    /// A source, or what of it is copied: with all that is below it, or the directory that it is a name in; none where it is not there. An error
    /// says why it cannot be looked at.
    pub fn find(source: &Side<'a>, below: &[Name]) -> Result<Option<Spared<'a>>, Failure> {
        let port = Port::new(source.volume, 1);
        let way: Vec<Name> = source.way.iter().chain(below).cloned().collect();
        let found = |way: &[Name]| match run::resolve(port, way, &source.shown) {
            Ok(found) => Ok(Some(found)),
            Err(failure) if failure.cause == run::NOT_THERE => Ok(None),
            Err(failure) => Err(failure),
        };
        let Some((node, attr)) = found(&way)? else { return Ok(None) };
        if attr.kind == Kind::Dir {
            return Ok(Some(Spared::new(port, node, (attr.fsid, attr.fileid), Spares::All)));
        }
        let Some((_, above)) = way.split_last() else { return Ok(None) };
        let above = found(above)?;
        Ok(above.map(|(node, attr)| Spared::new(port, node, (attr.fsid, attr.fileid), Spares::Names)))
    }

    /// Do both hold one directory, both of one volume, as far?
    pub fn is_like(&self, other: &Spared<'_>) -> bool {
        (self.ids, self.how_far) == (other.ids, other.how_far)
    }

    pub(super) fn new(port: Port<'a>, node: Node, ids: (u64, u64), how_far: Spares) -> Spared<'a> {
        Spared { port, node, ids, how_far }
    }

    /// How far it holds a directory of the target. What cannot be told from it is it.
    pub(super) fn of(&self, mark: Mark, (target, node): (Port<'_>, &Node), ids: (u64, u64)) -> Spares {
        let proven = || is_one(mark, (self.port, &self.node), (target, node));
        let is = may_be_one(self.port, self.ids, target, ids) && proven().unwrap_or(true);
        if is { self.how_far } else { Spares::Nothing }
    }
}
