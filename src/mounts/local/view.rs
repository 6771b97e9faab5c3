//! What a kernel's NFS client sees late. It trusts what it knows of a directory for acdirmin (30 s) and longer, a name that was not
//! there as well as one that was; only its own changes it knows at once. So a directory that was made, removed or replaced through
//! another mount of the export (or by another client) may be missing here, or be an old one.
//!
//! It promises: where the way to an object is not seen, or the object itself that is known to be there, the server is asked
//! anew about each directory on the way, and the call is tried once more. What is not seen then either is marked `unseen`, for
//! another mount to see. A name of which the call asks whether it is there is no such case: NOENT is its answer.
//!
//! Linux: statx with AT_STATX_FORCE_SYNC is one GETATTR, for a descriptor opened by O_PATH as well. Where it shows another change
//! time, each name of the directory is looked up again when it is next used. (Opening `.` in a descriptor with O_PATH asks nothing; to read it asks as opendir does.) A
//! server whose clock does not tick between two changes (10 ms on some) shows the same time for both: then only another mount helps.

use std::sync::Arc;

use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags, statx};

use crate::base::Status;
use crate::storage::{Call, Chain, Cookie, Node, Op};

use super::LocalMount;
use super::descriptors::{Held, Use};

/// The chains that a call goes by.
struct Ways {
    /// Directories that it works in.
    dirs: Vec<Arc<Chain>>,
    /// The object that it is about.
    node: Option<Arc<Chain>>,
}

impl Ways {
    fn of(call: &Call<'_>) -> Ways {
        let chain = |node: &Node| match node {
            Node::Chain(chain) => Some(chain.clone()),
            Node::Handle(_) => None,
        };
        let (dir, other) = call.dirs();
        Ways { dirs: [dir, other].into_iter().flatten().filter_map(chain).collect(), node: call.node().and_then(chain) }
    }
}

impl LocalMount {
    /// Carries out a call; on an NFS mount again when it did not see the way. A listing shows what is there when it begins, as
    /// opendir by a path would (close-to-open).
    pub(super) fn serve(&self, call: &mut Call<'_>) {
        if let Op::ReadDir { dir, from, .. } = &call.op
            && *from == Cookie::default()
            && !self.asks_on_opening(dir)
        {
            self.refresh_dir(dir);
        }
        self.carry_out(call);
        if self.nfs && is_missing(call) {
            self.look_again(call);
        }
    }

    /// Will the directory be opened for its listing, by a client that asks the server about it then?
    fn asks_on_opening(&self, dir: &Node) -> bool {
        let is_open =
            |dir: &Node| matches!(dir, Node::Chain(chain) if self.descriptors.get(chain, Use::List).is_some());
        self.client.is_some_and(|client| client.asks_on_opening()) && !is_open(dir)
    }

    fn look_again(&self, call: &mut Call<'_>) {
        let ways = Ways::of(call);
        if ways.dirs.is_empty() && ways.node.is_none() || self.is_answer(call, &ways) {
            return;
        }
        ways.dirs.iter().chain(&ways.node).for_each(|chain| self.renew(chain));
        call.fail(Status::Pending);
        self.carry_out(call);
        call.unseen = is_missing(call) && !self.is_answer(call, &ways);
    }

    /// The way was seen, and the call asks for a name that may be there or not.
    fn is_answer(&self, call: &Call<'_>, ways: &Ways) -> bool {
        matches!(call.op, Op::Lookup { .. })
            && call.status() != Err(Status::Stale)
            && ways.dirs.iter().all(|dir| self.dir(dir).is_ok())
    }

    /// Asks the server anew about each directory on the way to `chain`, and opens them again.
    fn renew(&self, chain: &Arc<Chain>) {
        let mut way: Vec<&Arc<Chain>> = Vec::new();
        let mut at = chain;
        while let Some((Node::Chain(parent), _)) = &at.parent {
            way.push(at);
            at = parent;
        }
        for chain in &way {
            self.descriptors.take(chain, Use::Dir);
            self.descriptors.take(chain, Use::List);
            self.descriptors.take(chain, Use::Read);
        }
        let mut held = self.root.clone();
        while let Some(chain) = way.pop() {
            sync(&held);
            let Some((_, name)) = &chain.parent else { return };
            let flags = OFlags::PATH | OFlags::DIRECTORY;
            // What is no directory, or not there, has no names to be asked about.
            let Ok(fd) = self.open_at(held.fd(), name.as_bytes(), flags, Mode::empty()) else { return };
            if !self.is_same(chain, &fd) {
                return; // this mount does not see it
            }
            held = self.descriptors.keep(chain, Use::Dir, Held::Dir(fd));
        }
        sync(&held);
    }

    pub(super) fn refresh_dir(&self, dir: &Node) {
        if let (true, Node::Chain(chain)) = (self.nfs, dir)
            && let Ok(held) = self.dir(chain)
        {
            sync(&held);
        }
    }
}

/// Something is not there, or is not what it was. What is no directory may have been one; and of the name that RENAME is to give, the
/// client may remember a directory that is gone.
fn is_missing(call: &Call<'_>) -> bool {
    match call.status() {
        Err(Status::NoEnt | Status::Stale | Status::NotDir) => true,
        Err(Status::IsDir | Status::NotEmpty | Status::Exist) => matches!(call.op, Op::Rename { .. }),
        _ => false,
    }
}

/// One GETATTR, whatever the client knows.
fn sync(held: &Held) {
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
    // The answer is in the client's cache; what went wrong, the call that needs it will say.
    let _ = statx(held.fd(), c"", flags, StatxFlags::MTIME | StatxFlags::CTIME);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Name;
    use crate::storage::{AttrChange, How, Mount, Want};

    fn one<'a>(mount: &LocalMount, call: Call<'a>) -> Call<'a> {
        let mut calls = [call];
        mount.perform(&mut calls);
        let [call] = calls;
        call
    }

    /// A local directory keeps nothing that is old but descriptors: those of a directory that was made anew behind the mount.
    #[test]
    fn a_directory_made_anew_elsewhere_is_found_and_one_that_is_gone_is_unseen() {
        let dir = tempfile::tempdir().unwrap();
        let name = |text: &str| Name::new(text.as_bytes()).unwrap();
        let mut mount = LocalMount::open(dir.path()).unwrap();
        mount.nfs = true;
        std::fs::create_dir_all(dir.path().join("a/b")).unwrap();
        let a = one(&mount, Call::lookup(&mount.root(), &name("a"))).found().unwrap().node;
        let b = one(&mount, Call::lookup(&a, &name("b"))).found().unwrap().node;
        let create = |text: &str| one(&mount, Call::create(&b, &name(text), How::Guarded, AttrChange::default()));
        assert_eq!(create("first").status(), Ok(()));
        std::fs::remove_dir_all(dir.path().join("a")).unwrap();
        for call in [create("none"), one(&mount, Call::get_attr(&b)), one(&mount, Call::remove(&b, &name("first")))] {
            assert_eq!((call.status(), call.unseen), (Err(Status::NoEnt), true), "{}", call.proc());
        }
        std::fs::create_dir_all(dir.path().join("a/b")).unwrap();
        let made = create("second");
        assert_eq!((made.status(), made.unseen), (Ok(()), false));
        assert!(dir.path().join("a/b/second").exists());
        // That a name is not there is an answer where the way to it is seen.
        let absent = one(&mount, Call::lookup(&b, &name("absent")));
        assert_eq!((absent.status(), absent.unseen), (Err(Status::NoEnt), false));
        let node = made.found().unwrap().node;
        std::fs::remove_file(dir.path().join("a/b/second")).unwrap();
        let gone = one(&mount, Call::get_attr(&node));
        assert_eq!((gone.status(), gone.unseen), (Err(Status::NoEnt), true));
    }

    /// What another client knows of a name: the directory that was there before, which lives on under another name.
    #[test]
    fn a_directory_that_is_not_the_one_that_was_made_is_not_entered() {
        let dir = tempfile::tempdir().unwrap();
        let name = |text: &str| Name::new(text.as_bytes()).unwrap();
        let [mut a, mut b] = [(); 2].map(|()| LocalMount::open(dir.path()).unwrap());
        (a.nfs, b.nfs) = (true, true);
        let made = one(&a, Call::mkdir(&a.root(), &name("d"), AttrChange::default())).found().unwrap().node;
        std::fs::rename(dir.path().join("d"), dir.path().join("ours")).unwrap();
        std::fs::create_dir(dir.path().join("d")).unwrap();
        std::fs::write(dir.path().join("d/f"), "precious").unwrap();
        for call in [
            Call::create(&made, &name("new"), How::Guarded, AttrChange::default()),
            Call::remove(&made, &name("f")),
            Call::read_dir(&made, Cookie::default(), Want::Names, 4096),
        ] {
            let call = one(&b, call);
            assert_eq!((call.status(), call.unseen), (Err(Status::Stale), true), "{}", call.proc());
        }
        assert_eq!(std::fs::read_dir(dir.path().join("d")).unwrap().count(), 1);
        assert_eq!(std::fs::read(dir.path().join("d/f")).unwrap(), b"precious");
    }
}
