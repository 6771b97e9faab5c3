//! Directories that somebody moves away or removes while something is put into them. They are known by handles and open descriptors, which
//! lead to them wherever they are: no call fails, and what has their names meanwhile, if anything has, lacks what was put into them.
//!
//! It promises: of a directory that something was put into, and that is not at its place when it is over, that is told; of one that is there
//! nothing is. Where a file system may number it anew, another object is not told from it by its number. Leaves out: the root of a job, which it sits in as
//! other programs do, and what is moved after it is over.

use crate::base::{Cause, Name, Status};
use crate::storage::{Attr, Call, Kind, Mount, Node, Route};

use super::port::Port;

/// What is told of one.
const MOVED: &str = "it was moved or removed while it was written: what was copied into it is not at this path";

/// A directory that something was put into.
pub(super) struct Filled {
    /// The directory that it was made or found in.
    pub above: Node,
    pub name: Name,
    pub node: Node,
}

impl Filled {
    /// The call that asks what has its name.
    pub fn look<'c>(&self) -> Call<'c> {
        Call::lookup(&self.above, &self.name)
    }
}

/// Why of each is to be told something, by what their LOOKUPs were answered.
pub(super) fn judge(port: Port<'_>, route: Route, dirs: &[Filled], looks: &[Call<'_>]) -> Vec<Result<(), Cause>> {
    // A rehearsal, in which nobody moves anything, does not remember all that it has made.
    let knows = dirs.is_empty() || !port.volume.limits().extras.forgets;
    dirs.iter().zip(looks).map(|(dir, look)| if knows { is_there(port, route, dir, look) } else { Ok(()) }).collect()
}

fn is_there(port: Port<'_>, route: Route, dir: &Filled, look: &Call<'_>) -> Result<(), Cause> {
    let is_elsewhere = match look.found() {
        Ok(found) if found.node == dir.node => false,
        // Servers may have several handles for one object.
        Ok(_) if dir.node.has_handles() => {
            port.found(route, look).is_ok_and(|(_, is)| is_another(port, &is, asked(port, route, &dir.node)))
        }
        // Both have a number where their file system keeps to those.
        Ok(found) => {
            let numbers = dir.node.number().zip(found.node.number());
            numbers.is_some_and(|(was, is)| was != is) && !is_seen(port, route, &dir.node)
        }
        Err(Status::NoEnt) => !is_seen(port, route, &dir.node),
        // Who may list the directory above, and not search it, has reached this one all the same.
        Err(Status::Access | Status::Perm) => false,
        // Said of the directory above, which may be gone as well.
        Err(Status::NotDir | Status::Stale) if is_no_dir(asked(port, route, &dir.above)) => {
            !is_seen(port, route, &dir.node)
        }
        Err(status) => return Err(Cause::Call(look.proc(), status)),
    };
    if is_elsewhere { Err(Cause::Refused(MOVED.into())) } else { Ok(()) }
}

fn asked(port: Port<'_>, route: Route, node: &Node) -> Result<Attr, Status> {
    port.one(route, Call::get_attr(node)).attr()
}

fn is_gone(status: Status) -> bool {
    matches!(status, Status::NoEnt | Status::Stale)
}

/// Is nothing there any more that names may be in?
fn is_no_dir(is: Result<Attr, Status>) -> bool {
    is.map_or_else(|status| is_gone(status) || status == Status::NotDir, |is| is.kind != Kind::Dir)
}

/// Is what has the name another object than the directory, both asked now? Of several targets each may have its own id of a file system.
fn is_another(port: Port<'_>, is: &Attr, dir: Result<Attr, Status>) -> bool {
    let has_one_id = port.volume.mounts().len() == 1;
    dir.map_or_else(is_gone, |dir| dir.fileid != is.fileid || has_one_id && dir.fsid != is.fsid)
}

/// Of several kernel mounts one may not know yet what another has made: does that one see it under its name?
fn is_seen(port: Port<'_>, route: Route, dir: &Node) -> bool {
    let sees = |is: Attr| dir.number().is_none_or(|was| was == is.fileid);
    port.volume.is_late() && asked(port, route, dir).map_or_else(|status| !is_gone(status), sees)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::base::{Proc, Time};
    use crate::storage::{Chain, Found, Limits, Op, Out, Shape, Spread, Tally, Volume};

    fn attr(fileid: u64) -> Attr {
        let (time, mode) = (Time::default(), 0o755);
        let (uid, gid, size, used, fsid, rdev) = (0, 0, 0, 0, 0, (0, 0));
        let (kind, nlink, atime, mtime, ctime) = (Kind::Dir, 2, time, time, time);
        Attr { kind, mode, nlink, uid, gid, size, used, rdev, fsid, fileid, atime, mtime, ctime }
    }

    /// Goes by names, and says this of a directory that it is asked for.
    struct Named(Node, Out<Attr>);

    impl Mount for Named {
        fn root(&self) -> Node {
            self.0.clone()
        }
        fn limits(&self) -> Limits {
            Limits {
                read_max: 1,
                write_max: 1,
                list_max: 1,
                name_max: 255,
                size_max: 1,
                shape: Shape::SERIAL,
                extras: Default::default(),
                dirs_locked: true,
            }
        }
        fn perform(&self, calls: &mut [Call<'_>]) {
            for call in calls {
                let Op::GetAttr { out, .. } = &mut call.op else { panic!("another call") };
                *out = self.1;
            }
        }
        fn issued(&self) -> Option<Tally> {
            None
        }
        fn label(&self) -> String {
            "named".into()
        }
    }

    /// Is a directory, made with this number, told as moved by mounts that find this under its name, and say this of it?
    fn is_told(mounts: usize, was: Option<u64>, found: Out<Option<u64>>, says: Out<Attr>) -> bool {
        match judge_of(mounts, was, found, says) {
            Err(Cause::Refused(_)) => true,
            Ok(()) => false,
            other => panic!("{other:?}"),
        }
    }

    fn judge_of(mounts: usize, was: Option<u64>, found: Out<Option<u64>>, says: Out<Attr>) -> Result<(), Cause> {
        let mount: Arc<dyn Mount> = Arc::new(Named(Node::root_chain(0), says));
        let volume = Volume::new(vec![mount; mounts], Spread::First);
        let root = volume.root();
        let name = Name::new(b"d").unwrap();
        let numbered = |fileid: Option<u64>, note: fn(&Chain, u64)| {
            let Node::Chain(root) = &root else { panic!("a chain") };
            let node = Node::child(root, name.clone());
            let Node::Chain(chain) = &node else { panic!("a chain") };
            fileid.into_iter().for_each(|fileid| note(chain, fileid));
            node
        };
        let dir = Filled { above: root.clone(), name: name.clone(), node: numbered(was, Chain::note) };
        let mut look = dir.look();
        let Op::Lookup { out, .. } = &mut look.op else { panic!("another call") };
        *out = found.map(|is| Found { node: numbered(is, Chain::note_met), attr: Some(attr(is.unwrap_or(9))) });
        judge(Port::new(&volume, 1), volume.route(), &[dir], &[look]).pop().unwrap()
    }

    #[test]
    fn a_number_tells_only_where_the_file_system_keeps_to_it() {
        let unasked = Err(Status::ServerFault);
        assert!(!is_told(1, Some(5), Ok(Some(5)), unasked));
        assert!(is_told(1, Some(5), Ok(Some(6)), unasked));
        // Overlays and FUSE, of which mounts note no number of what they meet.
        assert!(!is_told(1, Some(5), Ok(None), unasked));
        assert!(!is_told(1, None, Ok(Some(6)), unasked));
        assert!(is_told(1, None, Err(Status::NoEnt), unasked));
        assert!(!is_told(1, Some(5), Err(Status::Access), unasked));
    }

    /// What a LOOKUP says of the directory above counts where that is none any more.
    #[test]
    fn what_is_in_a_directory_that_is_gone_is_gone() {
        let file = Attr { kind: Kind::File, ..attr(9) };
        for status in [Status::NotDir, Status::Stale] {
            for says in [Ok(file), Err(Status::Stale), Err(Status::NoEnt), Err(Status::NotDir)] {
                assert!(is_told(1, Some(5), Err(status), says), "{status} {says:?}");
            }
            let judged = |says| judge_of(1, Some(5), Err(status), says);
            assert_eq!(judged(Ok(attr(9))), Err(Cause::Call(Proc::Lookup, status)));
            assert_eq!(judged(Err(Status::Io)), Err(Cause::Call(Proc::Lookup, status)));
        }
    }

    /// The mount that names are looked up through may not know what another one has made, or know what was there before.
    #[test]
    fn of_several_kernel_mounts_the_one_that_made_it_is_asked_as_well() {
        for found in [Err(Status::NoEnt), Ok(Some(6))] {
            assert!(!is_told(2, Some(5), found, Ok(attr(5))));
            assert!(is_told(2, Some(5), found, Ok(attr(6))));
            assert!(is_told(2, Some(5), found, Err(Status::NoEnt)) && is_told(2, Some(5), found, Err(Status::Stale)));
            assert!(!is_told(2, Some(5), found, Err(Status::Io)));
        }
    }
}
