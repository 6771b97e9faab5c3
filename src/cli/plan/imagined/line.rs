//! What two small runs of a job tell of a large one: all grows evenly but the listings of the tree's top, which are counted
//! apart.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::mounts::imagined::Tree;
use crate::plan::course::Seen;
use crate::plan::forecast::Side;
use crate::storage::{Call, Cookie, Node, Op, Tally, Tap, Want};

/// What one run of the job on a small tree found.
pub struct Rehearsed {
    /// What was asked of each side.
    pub sides: Vec<Side>,
    /// Of each side the listings of the tree's top, whose pages do not grow as evenly as the rest.
    pub tops: Vec<Listed>,
}

/// Pages in which the directory `tree` was listed.
#[derive(Clone, Copy, Debug)]
pub struct Listed {
    pages: u64,
    want: Want,
    bytes_max: u32,
}

/// Counts them; a tap.
pub struct TopWatch {
    top: Node,
    pages: AtomicU64,
    /// The page's size, and a bit for READDIR.
    asked: AtomicU64,
}

impl TopWatch {
    /// Of the directory `top`.
    pub fn new(top: Node) -> TopWatch {
        TopWatch { top, pages: AtomicU64::new(0), asked: AtomicU64::new(0) }
    }

    /// What was counted.
    pub fn listed(&self) -> Listed {
        let asked = self.asked.load(Ordering::Relaxed);
        let want = if asked & 1 == 1 { Want::Names } else { Want::Attributes };
        Listed { pages: self.pages.load(Ordering::Relaxed), want, bytes_max: (asked >> 1) as u32 }
    }
}

impl Tap for TopWatch {
    fn before(&self, calls: &[Call<'_>]) {
        for call in calls {
            if let Op::ReadDir { dir, want, bytes_max, .. } = &call.op
                && *dir == self.top
            {
                self.pages.fetch_add(1, Ordering::Relaxed);
                self.asked.store(u64::from(*bytes_max) << 1 | u64::from(*want == Want::Names), Ordering::Relaxed);
            }
        }
    }
}

impl Listed {
    fn tally(&self, pages: u64) -> Tally {
        let call = Call::read_dir(&Node::root_chain(0), Cookie::default(), self.want, self.bytes_max);
        Tally::of(&call).scaled(pages, 1)
    }

    /// Its pages where `tree` is listed as often.
    fn pages_of(&self, ran: &Tree, tree: &Tree) -> u64 {
        let pages = |tree: &Tree| tree.top_pages(self.want, self.bytes_max);
        if self.pages == 0 { 0 } else { self.pages / pages(ran) * pages(tree) }
    }
}

/// Two runs of which the second does `step` more, and how much more than the first the whole does.
pub struct Line<'a> {
    /// The two.
    pub runs: [&'a Rehearsed; 2],
    /// What the second does more.
    pub step: u64,
    /// What the whole does more than the first.
    pub more: u64,
}

impl Line<'_> {
    /// The sides of the whole. `ran` are the trees that were run, `tree` is the whole.
    pub fn sides(&self, ran: [&Tree; 2], tree: &Tree) -> Rehearsed {
        let [first, second] = self.runs;
        let pairs = first.sides.iter().zip(&second.sides).zip(first.tops.iter().zip(&second.tops));
        let (sides, tops) = pairs
            .map(|((a, b), (top_a, top_b))| {
                let pages = top_b.pages_of(ran[1], tree);
                let even = |side: &Side, top: &Listed| side.tally - top.tally(top.pages);
                let (less, most) = (even(a, top_a), even(b, top_b));
                let tally = less + (most - less).scaled(self.more, self.step) + top_b.tally(pages);
                // Windows are as full as in the larger run: the difference of two runs would be that of two moments.
                let rounds = u128::from(b.seen.rounds) * u128::from(tally.calls()) / u128::from(b.tally.calls().max(1));
                let seen = Seen {
                    rounds: u64::try_from(rounds).unwrap_or(u64::MAX),
                    // A page is asked for when the one before it is there.
                    chain: b.seen.chain + pages.saturating_sub(top_b.pages),
                    // Where directories are made or removed, each is a change of the top.
                    busiest: if b.seen.busiest > 0 { b.seen.busiest.max(tree.dirs) } else { 0 },
                    // Of those made: a removal leaves none.
                    largest: if b.seen.largest > 0 { b.seen.largest.max(tree.dirs) } else { 0 },
                    locked: 0,
                    has_holes: false,
                };
                (Side { tally, seen, ..b.clone() }, Listed { pages, ..*top_b })
            })
            .unzip();
        Rehearsed { sides, tops }
    }
}
