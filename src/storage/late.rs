//! Several kernel mounts of one export as a volume. A kernel's client trusts for a while what it knows of a directory, and learns
//! late what was changed through another mount: it may not see a new name, or see an old object under it (ARCHITECTURE.md,
//! "Kernel mounts", has the table).
//!
//! It promises: what is about an object that this run made or found goes through the mount that did it (a hard link above all:
//! by an old name another mount could link another file); a name is looked up in what the server says of its directory now; a call whose way a mount does not see is done through one that does,
//! first the one that made the directory. READ, WRITE and COMMIT stay where the job sends them: data is committed where it was
//! written; a mount that did not make the file looks its name up anew before, and `Chain::fileid` tells it which file it must be. Leaves out: what other programs change meanwhile, which is seen as through one mount.

use std::sync::atomic::Ordering;

use crate::base::Status;

use super::tap::perform_some;
use super::volume::DEPTHS_LISTED;
use super::{Call, Node, Op, Route, Volume, Want};

/// The largest page of Linux's page cache that is not a folio of several (64 KiB, on ARM and POWER), and the largest folio that
/// writing a MiB at a time makes.
const PAGE_BYTES_MAX: u64 = 1 << 20;

/// Lanes that keep one mount's lock on a directory busy: of making, filling and dating a file one round trip of three is
/// under it.
const LANES_AT_A_LOCK: usize = 4;

/// Names to be removed from a directory, for each mount, that are worth entering it through all. To look up the way to it, each
/// directory's permissions first, and the first name takes some nine round trips; k mounts then save half of a round trip for
/// each name and more.
const NAMES_TO_ENTER: usize = 8;

impl Volume {
    /// The mount that made or found the object, where that matters; else `route`.
    pub fn route_of(&self, node: &Node, route: Route) -> Route {
        match node.home() {
            Some(seat) if self.late && seat < self.seats.len() => Route(seat),
            _ => route,
        }
    }

    /// The mount for a file that is written in pieces which begin and end anywhere: always the same where `page_bytes` is more than
    /// 1, else the next.
    pub fn route_writing(&self, node: &Node) -> Route {
        if self.late { self.route_of(node, self.route_from(0)) } else { self.route() }
    }

    /// The mount for removing what has a name and giving the name to another object: the one through which names are looked up later
    /// (see `route_for`), which else would remember the old one. Others may be as old: no GETATTR shows what changed within one tick of
    /// the server's clock. It is also the one that the user named, through which programs have files open: their kernel keeps those as
    /// `.nfs...` which it removes or renames over itself, and no others.
    pub fn route_replacing(&self, route: Route) -> Route {
        if self.late { self.route_from(0) } else { route }
    }

    /// What ranges of a file that are written through different mounts begin and end at, in bytes. Linux completes a page that
    /// it takes to be beyond the file's end with zeros, and writes them: over what came through another mount. 1 where there
    /// is one mount, or no page cache.
    pub fn page_bytes(&self) -> u64 {
        if self.late { PAGE_BYTES_MAX } else { 1 }
    }

    /// The mount for listing a directory: each in turn, for a removal stays with it, and what is outstanding when a tree's directories
    /// are met says nothing of how many names are in them. In turn at each `depth`: directories of one depth are more alike, and
    /// those above that hold few names would give some mount more of those below.
    pub fn route_listing(&self, route: Route, depth: u32) -> Route {
        let turn = &self.listed[depth as usize % DEPTHS_LISTED];
        if self.late { self.route_from(turn.fetch_add(1, Ordering::Relaxed)) } else { route }
    }

    /// The mount for making names in a directory whose lanes are told from each other by `slot`; `share` spreads directories over
    /// the mounts. A directory has its own mount: each further one must look it up, and asks again for its permissions after
    /// each change that it did not make itself. Only lanes that would wait at the lock go to the next.
    pub fn route_making(&self, share: usize, slot: usize, lanes: usize) -> Route {
        let n = self.seats.len();
        // Of many lanes, more wait: so that a directory that a few of them meet in by chance keeps its mount.
        let at_a_lock = (lanes / (LANES_AT_A_LOCK * n)).max(LANES_AT_A_LOCK);
        match self.late {
            true => self.route_from(share + slot / at_a_lock),
            false => self.route(),
        }
    }

    /// The mount for removing names from a directory that was listed through `home`, which knows its names. Each name that
    /// another mount changed something beside is looked up again under the lock, so k mounts are as fast as k / 2: two gain
    /// nothing, and more only where there are `lanes` enough for each directory and `names` enough that wait in it: to enter it through
    /// another mount takes the time of several.
    /// And whether it is through all of them.
    pub fn route_removing(&self, home: Route, slot: usize, lanes: usize, names: usize) -> (Route, bool) {
        let n = self.seats.len();
        let spread = self.late && n > 2 && lanes >= LANES_AT_A_LOCK * n && names >= NAMES_TO_ENTER * n;
        (if spread { self.route_from(home.0 + slot) } else { home }, spread)
    }

    /// The mount of this number, or the next that answers.
    fn route_from(&self, number: usize) -> Route {
        let n = self.seats.len();
        let all = (0..n).map(|i| Route((number + i) % n));
        all.into_iter().find(|&route| !self.is_gone(route)).unwrap_or(Route(number % n))
    }

    /// True for several kernel mounts.
    pub fn is_late(&self) -> bool {
        self.late
    }

    /// Where this call goes.
    fn route_for(&self, call: &Call<'_>, route: Route) -> Route {
        match &call.op {
            Op::Read { .. } | Op::Write { .. } | Op::Commit { .. } => route,
            // What is compared is listed and looked up through the mount that the user named: what was changed through it a
            // moment ago would be unknown to the others. Pages of one listing go through one mount: another would
            // read the directory from its start for each, and look up each name.
            Op::ReadDir { want: Want::Attributes, .. } | Op::Lookup { .. } => self.route_from(0),
            Op::ReadDir { dir, .. } if dir.home().is_none() => self.route_from(0),
            _ => call.node().map_or(route, |node| self.route_of(node, route)),
        }
    }

    pub(super) fn perform_late(&self, route: Route, calls: &mut [Call<'_>]) {
        let routes: Vec<Route> = calls.iter().map(|call| self.route_for(call, route)).collect();
        for seat in 0..self.seats.len() {
            let here: Vec<usize> = (0..calls.len()).filter(|&i| routes[i] == Route(seat)).collect();
            if !here.is_empty() {
                perform_some(calls, &here, |some| self.perform_at_home(Route(seat), some));
            }
        }
        for (call, route) in calls.iter_mut().zip(routes) {
            if call.unseen && call.status().is_err() {
                self.look_elsewhere(route, call);
            }
            call.unseen = false;
        }
    }

    /// Carries out calls and notes where objects were made or found.
    fn perform_at_home(&self, route: Route, calls: &mut [Call<'_>]) {
        calls.iter_mut().for_each(|call| call.unseen = false);
        self.refresh_for(route, calls);
        self.perform_via(route, calls);
        if self.is_gone(route) {
            return;
        }
        for call in calls {
            match &call.op {
                Op::ReadDir { out: Ok(page), .. } => {
                    let nodes = page.entries.iter().filter_map(|entry| {
                        Some((entry.node.as_ref()?, entry.attr.map_or(entry.fileid, |attr| attr.fileid)))
                    });
                    nodes.for_each(|(node, fileid)| node.settle(route.0, Some(fileid)));
                }
                _ => {
                    let found = call.found_object();
                    found.into_iter().for_each(|found| found.node.settle(route.0, found.attr.map(|attr| attr.fileid)));
                }
            }
        }
    }

    /// Refreshes directories, each once, whose names are to be seen as they are now.
    fn refresh_for(&self, route: Route, calls: &[Call<'_>]) {
        let mut dirs: Vec<&Node> = Vec::new();
        for call in calls {
            let dir = match &call.op {
                Op::Lookup { dir, .. } => Some(dir),
                Op::Link { node, .. } if node.home() != Some(route.0) => node.parent(),
                Op::Read { node, .. } | Op::Write { node, .. } if node.is_new_to(route.0) => node.parent(),
                _ => None,
            };
            dirs.extend(dir.filter(|dir| !dirs.contains(dir)));
        }
        dirs.into_iter().for_each(|dir| self.seats[route.0].mount.refresh(dir));
        for call in calls {
            if let Op::Read { node, .. } | Op::Write { node, .. } = &call.op {
                node.is_known_to(route.0);
            }
        }
    }

    /// Does a call, of which the mount of `route` did not see the way, through the mount that made its directory, then through
    /// the others in turn. If none sees it the answer is the last one's: it is not there.
    fn look_elsewhere(&self, route: Route, call: &mut Call<'_>) {
        let n = self.seats.len();
        let (dir, other) = call.dirs();
        let homes = call.nodes().filter_map(Node::home).filter(|&seat| seat < n);
        let mut order: Vec<usize> = homes.chain((1..n).map(|i| (route.0 + i) % n)).collect();
        let mut asked = vec![false; n];
        asked[route.0] = true;
        order.retain(|&seat| !std::mem::replace(&mut asked[seat], true));
        // LINK and RENAME go by two ways; each mount may have asked anew about one of them only.
        if call.node().is_some() && dir.is_some() || other.is_some() {
            let again = order.clone();
            order.push(route.0);
            order.extend(again);
        }
        for seat in order {
            if self.is_gone(Route(seat)) {
                continue;
            }
            call.fail(Status::Pending);
            self.perform_at_home(Route(seat), std::slice::from_mut(call));
            if !call.unseen || call.status().is_ok() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::Mutex;

    use super::*;
    use crate::base::{Name, Proc};
    use crate::storage::{AttrChange, Found, How, Limits, Mount, Shape, Spread, Stable, Tally};

    /// Answers all that is asked; notes what, and does not see some names.
    struct View {
        root: Node,
        blind: &'static [&'static str],
        asked: Mutex<Vec<Proc>>,
        refreshed: Mutex<usize>,
    }

    impl View {
        fn new(blind: &'static [&'static str]) -> Arc<View> {
            Arc::new(View { root: Node::root_chain(0), blind, asked: Mutex::default(), refreshed: Mutex::default() })
        }

        fn asked(&self) -> Vec<Proc> {
            std::mem::take(&mut self.asked.lock().unwrap())
        }

        fn is_blind_to(&self, node: &Node) -> bool {
            let Node::Chain(chain) = node else { return false };
            let name = chain.parent.as_ref().map(|(_, name)| name.as_bytes());
            name.is_some_and(|name| self.blind.iter().any(|blind| blind.as_bytes() == name))
        }
    }

    impl Mount for View {
        fn root(&self) -> Node {
            self.root.clone()
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
                self.asked.lock().unwrap().push(call.proc());
                if call.nodes().any(|node| self.is_blind_to(node)) {
                    call.fail(Status::NoEnt);
                    call.unseen = true;
                    continue;
                }
                match &mut call.op {
                    Op::Lookup { dir: Node::Chain(dir), name, out, .. }
                    | Op::Create { dir: Node::Chain(dir), name, out, .. }
                    | Op::MkDir { dir: Node::Chain(dir), name, out, .. } => {
                        *out = Ok(Found { node: Node::child(dir, name.clone()), attr: None });
                    }
                    Op::SetAttr { out, .. } | Op::Link { out, .. } => *out = Ok(None),
                    _ => call.fail(Status::NotSupp),
                }
            }
        }
        fn refresh(&self, _dir: &Node) {
            *self.refreshed.lock().unwrap() += 1;
        }
        fn issued(&self) -> Option<Tally> {
            None
        }
        fn label(&self) -> String {
            "view".into()
        }
    }

    fn on(volume: &Volume, seat: usize, call: Call<'_>) -> Result<Option<Node>, Status> {
        let mut calls = [call];
        volume.perform_on(Route(seat), &mut calls);
        assert!(!calls[0].unseen);
        calls[0].status().map(|()| calls[0].found_object().map(|found| found.node.clone()))
    }

    #[test]
    fn calls_on_a_known_object_go_home_and_data_goes_where_it_is_sent() {
        let views = [View::new(&[]), View::new(&[]), View::new(&[])];
        let volume = Volume::new(views.iter().map(|view| view.clone() as Arc<dyn Mount>).collect(), Spread::RoundRobin);
        let (root, name) = (volume.root(), Name::new(b"n").unwrap());
        let create = Call::create(&root, &name, How::Guarded, AttrChange::default());
        let file = on(&volume, 1, create).unwrap().unwrap();
        on(&volume, 0, Call::set_attr(&file, AttrChange::default())).unwrap();
        on(&volume, 2, Call::link(&file, &root, &name)).unwrap();
        let write = Call::write(&file, 0, b"x", Stable::FileSync);
        assert_eq!(on(&volume, 2, write), Err(Status::NotSupp));
        assert_eq!(on(&volume, 2, Call::commit(&file, 0, 0)), Err(Status::NotSupp));
        assert_eq!(views[0].asked(), []);
        assert_eq!(views[1].asked(), [Proc::Create, Proc::SetAttr, Proc::Link]);
        assert_eq!(views[2].asked(), [Proc::Write, Proc::Commit]);
        // A mount that did not make the file looks its name up anew, once; who looks a name up, asks about its directory.
        let refreshed = || views.each_ref().map(|view| *view.refreshed.lock().unwrap());
        assert_eq!(refreshed(), [0, 0, 1]);
        let _ = on(&volume, 2, Call::write(&file, 1, b"x", Stable::FileSync));
        let _ = on(&volume, 1, Call::write(&file, 1, b"x", Stable::FileSync));
        assert_eq!(refreshed(), [0, 0, 1]);
        // What is compared is looked up and listed through the mount that was named.
        on(&volume, 2, Call::lookup(&root, &name)).unwrap();
        assert_eq!(refreshed(), [1, 0, 1]);
        for (want, seat) in [(Want::Attributes, 0), (Want::Types, 2)] {
            let dir = on(&volume, 1, Call::mkdir(&root, &name, AttrChange::default())).unwrap().unwrap();
            views.iter().for_each(|view| drop(view.asked()));
            assert_eq!(on(&volume, 2, Call::read_dir(&dir, Default::default(), want, 4096)), Err(Status::NotSupp));
            let asked = views.each_ref().map(|view| view.asked());
            assert_eq!(asked[seat], [Proc::ReadDirPlus], "{want:?}");
        }
    }

    #[test]
    fn names_are_removed_through_all_mounts_where_lanes_and_names_are_many() {
        let volume = |n: usize| {
            let views: Vec<Arc<dyn Mount>> = (0..n).map(|_| View::new(&[]) as Arc<dyn Mount>).collect();
            Volume::new(views, Spread::RoundRobin)
        };
        let four = volume(4);
        let routes = |lanes, names| [0, 1, 5].map(|slot| four.route_removing(Route(3), slot, lanes, names));
        let through = |seats: [usize; 3], all| seats.map(|seat| (Route(seat), all));
        assert_eq!(routes(16, 32), through([3, 0, 0], true));
        assert_eq!(routes(15, 32), through([3; 3], false));
        assert_eq!(routes(16, 31), through([3; 3], false));
        assert_eq!(volume(2).route_removing(Route(1), 1, 256, 5000), (Route(1), false), "two gain nothing");
        // Listings take turns at each depth, whatever is listed above.
        let listed = |depth| four.route_listing(Route(0), depth).0;
        assert_eq!([listed(0), listed(1), listed(1), listed(2), listed(1), listed(2)], [0, 0, 1, 0, 2, 1]);
    }

    #[test]
    fn what_a_mount_does_not_see_is_done_by_one_that_does_first_by_the_maker() {
        let views = [View::new(&["d"]), View::new(&[]), View::new(&[]), View::new(&["d"])];
        let volume = Volume::new(views.iter().map(|view| view.clone() as Arc<dyn Mount>).collect(), Spread::RoundRobin);
        let name = Name::new(b"d").unwrap();
        let dir = on(&volume, 2, Call::mkdir(&volume.root(), &name, AttrChange::default())).unwrap().unwrap();
        on(&volume, 0, Call::create(&dir, &name, How::Guarded, AttrChange::default())).unwrap();
        assert_eq!(views.each_ref().map(|view| view.asked().len()), [1, 0, 2, 0]);
        let views = [View::new(&["d"]), View::new(&["d"]), View::new(&["d"])];
        let volume = Volume::new(views.iter().map(|view| view.clone() as Arc<dyn Mount>).collect(), Spread::RoundRobin);
        let Node::Chain(root) = volume.root() else { panic!("a chain") };
        let dir = Node::child(&root, name.clone());
        assert_eq!(on(&volume, 1, Call::lookup(&dir, &name)), Err(Status::NoEnt));
        assert_eq!(views.each_ref().map(|view| view.asked().len()), [1, 1, 1]);
        assert!(on(&volume, 0, Call::lookup(&volume.root(), &name)).is_ok());
    }
}
