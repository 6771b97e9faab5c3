//! Where a listing came from and how far: what a volume of a server's mounts notes in its cookies.
//!
//! It promises: a listing stays with the target it began at, for RFC 1813 3.3.17 gives cookies a meaning only where they were given;
//! it goes on at another only after that has listed the same names up to there; one whose cookies come round again is found (the kernel's
//! client calls it "readdir loop"). Leaves out: kernel mounts, whose client sees to all of that.

use std::hash::Hasher;

use crate::base::Status;
use crate::base::hash::Mix;

use super::tap::perform_some;
use super::{Call, Cookie, Entry, Op, Out, Page, Route, Volume};

/// The pages of a listing so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trail {
    /// The mount they came through.
    home: u16,
    /// A position has come twice.
    pub goes_round: bool,
    pages: u32,
    /// The position after the latest 2^n-th page (Brent's algorithm: a loop is found within three times its length).
    mark: u64,
    /// A hash of all names, in their order.
    names: u64,
}

impl Trail {
    /// `hashes`: another mount may have to go on.
    fn after(self, route: Route, page: &Page, hashes: bool) -> Trail {
        let (pages, position) = (self.pages.saturating_add(1), page.next.position);
        let some = if hashes { &page.entries[..] } else { &[] };
        Trail {
            home: route.0 as u16,
            goes_round: self.pages > 0 && position == self.mark,
            pages,
            mark: if pages.is_power_of_two() { position } else { self.mark },
            names: some.iter().fold(self.names, with),
        }
    }
}

/// The hash with one name more: the same however the pages are cut.
fn with(hash: u64, entry: &Entry) -> u64 {
    let mut name = Mix::default();
    name.write_u64(hash);
    name.write(entry.name.as_bytes());
    name.finish()
}

/// Where a listing that has begun is to go on.
fn begun(call: &Call<'_>) -> Option<usize> {
    match &call.op {
        Op::ReadDir { from, .. } if from.position != 0 => Some(usize::from(from.trail.home)),
        _ => None,
    }
}

impl Volume {
    /// Carries out calls, listings that have begun through the mounts they began at.
    pub(super) fn perform_with_trails(&self, route: Route, calls: &mut [Call<'_>]) {
        let routes: Vec<usize> = calls.iter().map(|call| begun(call).unwrap_or(route.0)).collect();
        for seat in 0..self.seats.len() {
            let here: Vec<usize> = (0..calls.len()).filter(|&i| routes[i] == seat).collect();
            perform_some(calls, &here, |some| self.perform_via(Route(seat), some));
        }
    }

    /// True where a listing that has begun is among the calls.
    pub(super) fn has_begun(calls: &[Call<'_>]) -> bool {
        calls.iter().any(|call| begun(call).is_some())
    }

    /// Carries out calls at a mount that may not know the listings among them, and notes how far those have come.
    pub(super) fn perform_and_note(&self, route: Route, calls: &mut [Call<'_>]) {
        if !calls.iter().any(|call| matches!(call.op, Op::ReadDir { .. })) {
            return self.perform_at(route, calls);
        }
        let is_foreign = |call: &Call<'_>| begun(call).is_some_and(|home| home != route.0);
        let mut ours = Vec::with_capacity(calls.len());
        for (i, call) in calls.iter_mut().enumerate() {
            let is_ours = !is_foreign(call) || self.take_over(route, call).map_err(|status| call.fail(status)).is_ok();
            ours.extend(is_ours.then_some(i));
        }
        perform_some(calls, &ours, |some| self.perform_at(route, some));
        let hashes = self.seats.len() > 1;
        for call in calls {
            if let Op::ReadDir { from, out: Ok(page), .. } = &mut call.op {
                page.next.trail = from.trail.after(route, page, hashes);
            }
        }
    }

    /// Lists a directory through another mount, up to where the mount that is gone had come. BADCOOKIE where it lists otherwise: then
    /// what is listed from there on says nothing of what is missing.
    fn take_over(&self, route: Route, call: &mut Call<'_>) -> Out<()> {
        let Op::ReadDir { dir, from, want, bytes_max, .. } = &mut call.op else { return Ok(()) };
        let (mut at, mut names) = (Cookie::default(), 0);
        loop {
            let mut calls = [Call::read_dir(dir, at, *want, *bytes_max)];
            self.perform_at(route, &mut calls);
            let page = calls[0].take_page()?;
            for entry in &page.entries {
                names = with(names, entry);
                if (entry.position, names) == (from.position, from.trail.names) {
                    *from = Cookie {
                        verifier: page.next.verifier,
                        trail: Trail { home: route.0 as u16, ..from.trail },
                        ..*from
                    };
                    return Ok(());
                }
            }
            if page.end || page.is_stuck(at) {
                return Err(Status::BadCookie);
            }
            let trail = at.trail.after(route, &page, false);
            at = Cookie { trail, ..page.next };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;
    use crate::base::Name;
    use crate::storage::{Handle, Limits, Mount, Node, Shape, Spread, Tally, Want};

    const ALL: u64 = 10;

    /// Lists ten names by threes; may list backwards, go round, or be gone.
    #[derive(Default)]
    struct Lister {
        backwards: bool,
        round: u64,
        /// Names of a page; 0: three.
        cut: u64,
        gone: AtomicBool,
        asked: AtomicUsize,
    }

    impl Mount for Lister {
        fn root(&self) -> Node {
            Node::Handle(Handle::new(b"root").unwrap())
        }
        fn limits(&self) -> Limits {
            let (shape, extras) = (Shape::SERIAL, Default::default());
            Limits {
                read_max: 1,
                write_max: 1,
                list_max: 1,
                name_max: 9,
                size_max: 1,
                shape,
                extras,
                dirs_locked: false,
            }
        }
        fn perform(&self, calls: &mut [Call<'_>]) {
            for call in calls {
                let Op::ReadDir { from, out, .. } = &mut call.op else { continue };
                self.asked.fetch_add(1, Ordering::Relaxed);
                if self.gone.load(Ordering::Relaxed) {
                    *out = Err(Status::TargetGone);
                    continue;
                }
                let places = from.position..(from.position + self.cut.max(3)).min(ALL);
                let entry = |at: u64| {
                    let number = if self.backwards { ALL - at } else { at };
                    let name = Name::new(number.to_string().as_bytes()).unwrap();
                    Entry { name, fileid: number, position: at + 1, node: None, attr: None, kind: None }
                };
                let end = places.end == ALL;
                let position = if end && self.round > 0 { ALL - self.round } else { places.end };
                let next = Cookie { position, ..*from };
                *out =
                    Ok(Page { above: None, entries: places.map(entry).collect(), next, end: end && self.round == 0 });
            }
        }
        fn issued(&self) -> Option<Tally> {
            None
        }
        fn label(&self) -> String {
            "lister".into()
        }
    }

    fn volume(listers: &[Arc<Lister>]) -> Volume {
        Volume::new(listers.iter().map(|one| one.clone() as Arc<dyn Mount>).collect(), Spread::RoundRobin)
    }

    /// A page, through the mount whose turn it is.
    fn page(volume: &Volume, from: Cookie) -> Out<Page> {
        let mut calls = [Call::read_dir(&volume.root(), from, Want::Names, 512), Call::default()];
        volume.perform(&mut calls);
        calls[0].take_page()
    }

    /// How many names a listing gives, `after_each` of whose pages something happens.
    fn list(volume: &Volume, after_each: impl Fn()) -> Out<usize> {
        let (mut from, mut names) = (Cookie::default(), Vec::new());
        loop {
            let page = page(volume, from)?;
            names.extend(page.entries.iter().map(|entry| entry.fileid));
            if page.end || page.is_stuck(from) {
                names.sort_unstable();
                names.dedup();
                return if page.end { Ok(names.len()) } else { Err(Status::Loop) };
            }
            from = page.next;
            after_each();
        }
    }

    #[test]
    fn a_listing_stays_with_the_target_it_began_at() {
        for backwards in [[false, true], [true, false]] {
            let listers = backwards.map(|backwards| Arc::new(Lister { backwards, ..Lister::default() }));
            let volume = volume(&listers);
            assert_eq!([list(&volume, || {}), list(&volume, || {})], [Ok(10), Ok(10)]);
            assert_eq!(listers.each_ref().map(|one| one.asked.load(Ordering::Relaxed)), [4, 4], "each began one");
        }
    }

    #[test]
    fn another_target_takes_a_listing_over_only_where_it_lists_the_same() {
        // Pages may be cut elsewhere.
        for (backwards, cut, expected) in [(false, 3, Ok(10)), (false, 4, Ok(10)), (true, 3, Err(Status::BadCookie))] {
            let listers = [Lister::default(), Lister { backwards, cut, ..Lister::default() }].map(Arc::new);
            let listed = list(&volume(&listers), || listers[0].gone.store(true, Ordering::Relaxed));
            assert_eq!(listed, expected);
        }
    }

    #[test]
    fn a_listing_that_goes_round_is_found() {
        for round in 1..=ALL {
            let lister = Arc::new(Lister { round, ..Lister::default() });
            assert_eq!(list(&volume(std::slice::from_ref(&lister)), || {}), Err(Status::Loop));
            let asked = lister.asked.load(Ordering::Relaxed);
            assert!(asked <= 16, "{asked} pages of a loop of {round}");
        }
    }
}
