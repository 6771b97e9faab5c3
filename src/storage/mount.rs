//! What carries out calls.

use super::{Attr, Call, Extras, Lent, Node, Tally};

/// What a mount takes and how it likes to be driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest READ, in bytes.
    pub read_max: u32,
    /// The largest WRITE, in bytes.
    pub write_max: u32,
    /// The largest page of a listing, in bytes on the wire.
    pub list_max: u32,
    /// The longest name, in bytes.
    pub name_max: u32,
    /// The largest file, in bytes.
    pub size_max: u64,
    /// How parallel a job should drive it unless told otherwise.
    pub shape: Shape,
    /// What it can do beyond NFSv3.
    pub extras: Extras,
    /// A directory takes one change at a time, for as long as the call takes, and what is changed through another mount is
    /// seen late: Linux's NFS client. Several mounts have several locks.
    pub dirs_locked: bool,
}

/// How parallel: `lanes` threads with up to `window` independent calls each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Threads that carry calls.
    pub lanes: usize,
    /// Independent calls each has in flight.
    pub window: usize,
}

impl Shape {
    /// One call in flight: what tar and cp do.
    pub const SERIAL: Shape = Shape { lanes: 1, window: 1 };

    /// Calls in flight at most.
    pub fn in_flight(self) -> usize {
        self.lanes * self.window
    }
}

/// One view of one export through one mount point or mount target.
pub trait Mount: Send + Sync {
    /// The directory that everything is beneath.
    fn root(&self) -> Node;

    /// Sizes and shape.
    fn limits(&self) -> Limits;

    /// Carries out a window of independent calls, in any order, possibly at once, and fills every outcome.
    /// Returns when all have one. Never panics on what a server or file system answers. A call that ends with
    /// `Status::TargetGone` has `repeated` set when it was sent and may have been carried out.
    fn perform(&self, calls: &mut [Call<'_>]);

    /// The file, for another mount of this kind to COPY from; none where that is not possible.
    fn lend(&self, _node: &Node) -> Option<Lent> {
        None
    }

    /// The directory, for another mount of this kind to COPY files of; none where that is not possible.
    fn lend_dir(&self, _dir: &Node) -> Option<Lent> {
        None
    }

    /// True for a file whose size says nothing of how much it holds, for it is made up while it is read; of a directory: files in it
    /// may be such. Asks nothing that is counted.
    fn is_made_up(&self, _node: &Node, _attr: &Attr) -> bool {
        false
    }

    /// False where calls are answered without waiting for anything: what is handed over to lanes had best be much at a time.
    fn waits(&self) -> bool {
        true
    }

    /// Asks the server anew about a directory, so that what was changed in it through other mounts is seen through this one;
    /// nothing to do for a mount that keeps nothing.
    fn refresh(&self, _dir: &Node) {}

    /// The user and group that new objects belong to, as far as the mount knows.
    fn makes_as(&self) -> Option<(u32, u32)> {
        None
    }

    /// The procedures this mount will issue for the call.
    fn lower(&self, call: &Call<'_>) -> Tally {
        Tally::of(call)
    }

    /// What it has issued so far; none when the mount does not count.
    fn issued(&self) -> Option<Tally>;

    /// The target's name for people: `10.0.0.5`, `/mnt/fss`, `memory`.
    fn label(&self) -> String;
}
