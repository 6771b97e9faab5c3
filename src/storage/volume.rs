//! One export seen through several mounts or mount targets, used as one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::base::{PriceList, Status};

use super::tap::perform_some;
use super::{Attr, Call, Lent, Limits, Mount, Node, Shape, Tally};

/// How windows of calls are spread over the mounts of a volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// To the mount with the least priced work outstanding; ties go round.
    #[default]
    LeastLoaded,
    /// To each in turn.
    RoundRobin,
    /// All to the first; the others stand by.
    First,
}

/// Lanes over several kernel mounts: at a round trip of 1 ms 256,000 calls a second, more than one host's kernel client makes.
pub const LATE_LANES_MAX: usize = 256;
/// Lanes over all mounts of a volume unless asked for: eight far targets' worth. Threads of a pool look for work at each other before they
/// sleep, which takes the square of their number: of 1,024 seconds, for a single file.
pub const LANES_SUGGESTED_MAX: usize = 512;

/// Depths of a tree whose directories take turns of their own; deeper ones begin again.
pub(super) const DEPTHS_LISTED: usize = 16;

/// The mount that a job chose for calls that belong together (one file's CREATE, WRITE and SETATTR).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route(pub(super) usize);

/// Work that a mount was promised: it counts as outstanding there until this is dropped.
#[must_use]
pub struct Promise<'v>(Option<(&'v Seat, u64)>);

impl Drop for Promise<'_> {
    fn drop(&mut self) {
        if let Some((seat, price)) = self.0 {
            seat.load.fetch_sub(price, Ordering::Relaxed);
        }
    }
}

pub(super) struct Seat {
    pub(super) mount: Arc<dyn Mount>,
    /// Priced IOPS promised to the mount, or handed to it and not yet answered.
    load: AtomicU64,
    gone: AtomicBool,
}

/// One export through several mounts; itself a mount. A window goes to one mount as a whole; when that mount's target
/// does not answer, the mount is left out from then on and the calls go to the others.
pub struct Volume {
    pub(super) seats: Vec<Seat>,
    spread: Spread,
    turn: AtomicUsize,
    /// Directories that were given a mount to be listed through, by depth.
    pub(super) listed: [AtomicUsize; DEPTHS_LISTED],
    price: PriceList,
    /// The mounts' nodes have handles.
    pub(super) has_handles: bool,
    /// Several kernel mounts: each sees late what the others change, so calls go where their object was made or found.
    pub(super) late: bool,
}

fn has_handles(root: &Node) -> bool {
    match root {
        Node::Handle(_) => true,
        Node::Chain(chain) => !chain.handles.is_empty(),
    }
}

impl Volume {
    /// A volume of these mounts, which must show the same tree and share their nodes. Panics when there is none.
    pub fn new(mounts: Vec<Arc<dyn Mount>>, spread: Spread) -> Volume {
        assert!(!mounts.is_empty(), "a volume has at least one mount");
        let has_handles = has_handles(&mounts[0].root());
        let late = !has_handles && mounts.len() > 1 && mounts.iter().any(|mount| mount.limits().dirs_locked);
        let seats = mounts
            .into_iter()
            .map(|mount| Seat { mount, load: AtomicU64::new(0), gone: AtomicBool::new(false) })
            .collect();
        Volume {
            seats,
            spread,
            turn: AtomicUsize::new(0),
            listed: Default::default(),
            price: PriceList::oci(),
            has_handles,
            late,
        }
    }

    /// The mounts, for what is reported by target.
    pub fn mounts(&self) -> impl ExactSizeIterator<Item = &Arc<dyn Mount>> {
        self.seats.iter().map(|seat| &seat.mount)
    }

    /// A route through each of its mounts.
    pub fn routes(&self) -> impl Iterator<Item = Route> {
        (0..self.seats.len()).map(Route)
    }

    /// Times of its files are what NFSv3 carries, whether the kernel speaks it or parfs.
    pub fn nfs_times(&self) -> bool {
        self.has_handles || self.mounts().any(|mount| mount.limits().dirs_locked)
    }

    /// Its nodes have handles: ids of its file systems are a server's, not this host's.
    pub fn has_handles(&self) -> bool {
        self.has_handles
    }

    /// The labels of targets that were left out because they did not answer.
    pub fn gone(&self) -> Vec<String> {
        self.seats.iter().filter(|s| s.gone.load(Ordering::Relaxed)).map(|s| s.mount.label()).collect()
    }

    /// Chooses a mount for a group of calls by the volume's spread.
    pub fn route(&self) -> Route {
        let n = self.seats.len();
        let turn = match self.spread {
            Spread::First => 0,
            _ if n == 1 => 0,
            _ => self.turn.fetch_add(1, Ordering::Relaxed),
        };
        let alive = (0..n).map(|i| (turn + i) % n).filter(|&i| !self.seats[i].gone.load(Ordering::Relaxed));
        let best = match self.spread {
            Spread::LeastLoaded => alive.min_by_key(|&i| self.seats[i].load.load(Ordering::Relaxed)),
            Spread::RoundRobin | Spread::First => alive.into_iter().next(),
        };
        Route(best.unwrap_or(0))
    }

    /// Says what calls, in priced IOPS, a lane is about to make through the mount of `route`, where that is more than one window. Without
    /// it a mount would look idle between the windows of those that have chosen it, and get the next ones' work as well.
    pub fn promise(&self, route: Route, price: impl FnOnce(&PriceList) -> u64) -> Promise<'_> {
        if self.seats.len() == 1 || self.spread != Spread::LeastLoaded {
            return Promise(None);
        }
        let (seat, price) = (&self.seats[route.0], price(&self.price));
        seat.load.fetch_add(price, Ordering::Relaxed);
        Promise(Some((seat, price)))
    }

    /// Carries out a window through the mount of `route`, or through another when its target does not answer. On kernel mounts
    /// what is about a known object goes where that was made or found, and what a mount does not see goes to another.
    pub fn perform_on(&self, route: Route, calls: &mut [Call<'_>]) {
        if self.late {
            return self.perform_late(route, calls);
        }
        if self.has_handles && self.seats.len() > 1 && Volume::has_begun(calls) {
            return self.perform_with_trails(route, calls);
        }
        self.perform_via(route, calls);
    }

    pub(super) fn perform_via(&self, route: Route, calls: &mut [Call<'_>]) {
        let mut route = route;
        for _ in 0..=self.seats.len() {
            let seat = &self.seats[route.0];
            if !seat.gone.load(Ordering::Relaxed) {
                if self.has_handles {
                    self.perform_and_note(route, calls);
                } else {
                    self.perform_at(route, calls);
                }
            }
            let lost: Vec<usize> = (0..calls.len())
                .filter(|&i| matches!(calls[i].status(), Err(Status::TargetGone | Status::Pending)))
                .collect();
            if lost.is_empty() {
                return;
            }
            if calls.iter().any(|c| c.status() == Err(Status::TargetGone)) {
                seat.gone.store(true, Ordering::Relaxed);
            }
            if self.seats.iter().all(|s| s.gone.load(Ordering::Relaxed)) {
                lost.into_iter().for_each(|i| calls[i].fail(Status::NoTarget));
                return;
            }
            for &i in &lost {
                calls[i].fail(Status::Pending);
            }
            route = self.route();
            if lost.len() < calls.len() {
                return perform_some(calls, &lost, |some| self.perform_via(route, some));
            }
        }
    }

    /// The mount of `route` was left out, because its target does not answer.
    pub fn is_gone(&self, route: Route) -> bool {
        self.seats[route.0].gone.load(Ordering::Relaxed)
    }

    pub(super) fn perform_at(&self, route: Route, calls: &mut [Call<'_>]) {
        let seat = &self.seats[route.0];
        if self.seats.len() == 1 {
            // There is no other to choose.
            return seat.mount.perform(calls);
        }
        let price = calls.iter().map(|c| self.price.price(c.proc(), c.payload())).sum();
        seat.load.fetch_add(price, Ordering::Relaxed);
        seat.mount.perform(calls);
        seat.load.fetch_sub(price, Ordering::Relaxed);
    }
}

impl Mount for Volume {
    fn root(&self) -> Node {
        self.seats[0].mount.root()
    }

    /// The smallest of each limit; lanes for all mounts together, up to what a host's client carries.
    fn limits(&self) -> Limits {
        let all = self.seats.iter().map(|s| s.mount.limits());
        let mut limits = all
            .reduce(|a, b| Limits {
                read_max: a.read_max.min(b.read_max),
                write_max: a.write_max.min(b.write_max),
                list_max: a.list_max.min(b.list_max),
                name_max: a.name_max.min(b.name_max),
                size_max: a.size_max.min(b.size_max),
                shape: Shape { lanes: a.shape.lanes + b.shape.lanes, window: a.shape.window.max(b.shape.window) },
                extras: a.extras.and(b.extras),
                dirs_locked: a.dirs_locked || b.dirs_locked,
            })
            .expect("a volume has at least one mount");
        limits.shape.lanes = limits.shape.lanes.min(if self.late { LATE_LANES_MAX } else { LANES_SUGGESTED_MAX });
        limits
    }

    fn perform(&self, calls: &mut [Call<'_>]) {
        self.perform_on(self.route(), calls);
    }

    fn waits(&self) -> bool {
        self.mounts().any(|mount| mount.waits())
    }

    fn refresh(&self, dir: &Node) {
        self.mounts().for_each(|mount| mount.refresh(dir));
    }

    fn lend(&self, node: &Node) -> Option<Lent> {
        self.seats[self.route().0].mount.lend(node)
    }

    fn lend_dir(&self, dir: &Node) -> Option<Lent> {
        self.seats[self.route().0].mount.lend_dir(dir)
    }

    fn is_made_up(&self, node: &Node, attr: &Attr) -> bool {
        self.seats[0].mount.is_made_up(node, attr)
    }

    fn lower(&self, call: &Call<'_>) -> Tally {
        self.seats[0].mount.lower(call)
    }

    fn makes_as(&self) -> Option<(u32, u32)> {
        self.seats[0].mount.makes_as()
    }

    fn issued(&self) -> Option<Tally> {
        self.seats.iter().map(|s| s.mount.issued()).sum()
    }

    fn label(&self) -> String {
        self.seats.iter().map(|s| s.mount.label()).collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Handle;

    /// Answers NULL until it is told to be away.
    struct Ping {
        away: AtomicBool,
        served: AtomicUsize,
    }

    impl Mount for Ping {
        fn root(&self) -> Node {
            Node::Handle(Handle::new(b"root").unwrap())
        }
        fn limits(&self) -> Limits {
            let shape = Shape { lanes: 2, window: 4 };
            Limits {
                read_max: 1,
                write_max: 1,
                list_max: 1,
                name_max: 255,
                size_max: 1,
                shape,
                extras: Default::default(),
                dirs_locked: false,
            }
        }
        fn perform(&self, calls: &mut [Call<'_>]) {
            for call in calls {
                if self.away.load(Ordering::Relaxed) {
                    call.repeated = true;
                    call.fail(Status::TargetGone);
                } else if let crate::storage::Op::Null { out } = &mut call.op {
                    self.served.fetch_add(1, Ordering::Relaxed);
                    *out = Ok(());
                }
            }
        }
        fn issued(&self) -> Option<Tally> {
            None
        }
        fn label(&self) -> String {
            "ping".into()
        }
    }

    fn pings(n: usize) -> Vec<Arc<Ping>> {
        (0..n).map(|_| Arc::new(Ping { away: AtomicBool::new(false), served: AtomicUsize::new(0) })).collect()
    }

    fn volume(pings: &[Arc<Ping>], spread: Spread) -> Volume {
        Volume::new(pings.iter().map(|p| p.clone() as Arc<dyn Mount>).collect(), spread)
    }

    #[test]
    fn windows_go_round_and_lanes_add_up() {
        let mounts = pings(4);
        let volume = volume(&mounts, Spread::RoundRobin);
        for _ in 0..8 {
            volume.perform(&mut [Call::default(), Call::default()]);
        }
        assert!(mounts.iter().all(|m| m.served.load(Ordering::Relaxed) == 4));
        assert_eq!(volume.limits().shape.lanes, 8);
    }

    #[test]
    fn promised_work_counts_until_it_is_over() {
        let volume = volume(&pings(4), Spread::LeastLoaded);
        let mut promises = Vec::new();
        for price in [400, 1, 400, 1, 400, 1, 1, 1] {
            // Something else that takes a turn, as a listing does.
            volume.route();
            let route = volume.route();
            promises.push(volume.promise(route, |_| price));
        }
        // No mount has two of the three that are 400.
        let loads = || volume.seats.iter().map(|seat| seat.load.load(Ordering::Relaxed)).collect::<Vec<_>>();
        assert!(loads().iter().all(|&load| load < 800), "{:?}", loads());
        assert_eq!(loads().iter().sum::<u64>(), 1205);
        promises.clear();
        assert_eq!(loads(), [0; 4]);
    }

    #[test]
    fn calls_of_a_gone_target_go_to_the_others_and_end_clearly() {
        for spread in [Spread::LeastLoaded, Spread::RoundRobin, Spread::First] {
            let mounts = pings(3);
            let volume = volume(&mounts, spread);
            mounts[0].away.store(true, Ordering::Relaxed);
            for _ in 0..6 {
                let mut calls = [Call::default(), Call::default()];
                volume.perform(&mut calls);
                assert!(calls.iter().all(|c| c.status() == Ok(())), "{spread:?}");
            }
            assert_eq!(volume.gone().len(), 1);
            mounts[1].away.store(true, Ordering::Relaxed);
            mounts[2].away.store(true, Ordering::Relaxed);
            let mut calls = [Call::default()];
            volume.perform(&mut calls);
            assert_eq!(calls[0].status(), Err(Status::NoTarget));
            assert!(calls[0].repeated);
        }
    }
}
