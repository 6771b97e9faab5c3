//! Which I/O is next: which file, which direction, which part of it.
//!
//! Promises: the same settings and seeds give the same I/Os in the same order, so that what was written can be visited again. With the
//! random map, reads and writes of a mixed job share it, as in fio: each block is visited once in a pass, by one or the other.
//! Leaves out: when.

use std::time::Duration;

use super::super::distribution::Sampler;
use super::super::offsets::{Extent, Offsets, Order, Plan};
use super::super::pace::Mix;
use super::super::random::{Random, Seeds, Stream};
use super::super::settings::{Load, Service, Settings};
use super::super::{Direction, Each};

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub struct Next {
    pub file: u32,
    pub direction: Direction,
    pub extent: Extent,
    /// Counts the I/Os of the clone.
    pub number: u64,
}

/// The I/Os of one file.
#[derive(Clone, Debug)]
enum Visits {
    /// Reads and writes take from one order.
    Shared(Box<Offsets>),
    /// Each direction has its own.
    Apart(Box<Each<Offsets>>),
    /// The other direction's blocks fit nowhere: as in fio they are passed over.
    One(Direction, Box<Offsets>),
}

impl Visits {
    fn next_io(&mut self, direction: Direction) -> Option<(Direction, Extent)> {
        let (direction, offsets) = match self {
            Visits::Shared(offsets) => (direction, offsets.as_mut()),
            Visits::Apart(offsets) => (direction, &mut offsets[direction]),
            Visits::One(only, offsets) => (*only, offsets.as_mut()),
        };
        offsets.next_io().map(|extent| (direction, extent))
    }

    fn each(&mut self, act: impl Fn(&mut Offsets)) {
        match self {
            Visits::Shared(offsets) | Visits::One(_, offsets) => act(offsets),
            Visits::Apart(offsets) => Direction::ALL.into_iter().for_each(|direction| act(&mut offsets[direction])),
        }
    }
}

#[derive(Clone, Debug)]
struct File {
    visits: Visits,
    /// Nothing is left of this round.
    is_done: bool,
    /// It has begun, and is not done.
    is_under_way: bool,
}

/// How the next file is found.
#[derive(Clone, Debug)]
enum Pick {
    /// After so many I/Os on one.
    RoundRobin(u64),
    Sequential,
    Drawn {
        sampler: Option<Sampler>,
        random: Random,
        each: u64,
    },
}

/// The order of one clone's I/Os.
#[derive(Clone, Debug)]
pub struct Choice {
    files: Vec<File>,
    /// Files that are under way at most, and that are: as in fio, another is begun when one is done (openfiles=).
    most: usize,
    under_way: Vec<usize>,
    /// The place in `under_way` of the last that was picked there.
    turn: usize,
    pick: Pick,
    mix: Mix,
    /// Bytes at most, and those that were given: of a job that fills its time, in a pass.
    total_bytes: u64,
    given: u64,
    fills: bool,
    /// This pass began where another ended, and no file has begun anew in it.
    is_midway: bool,
    /// No file begins anew (file_append=1): as in fio what is behind its end was visited by then, whatever passes are left.
    appends: bool,
    /// A file has an end: each of its blocks was visited. Without the map a random load has none, as in fio.
    has_end: bool,
    /// How often files that have an end began anew.
    rounds: u64,
    left: usize,
    current: usize,
    on_current: u64,
    number: u64,
}

/// True when a plan visits each block once.
fn is_mapped(plan: &Plan) -> bool {
    plan.map && matches!(plan.order, Order::Random { .. })
}

impl Choice {
    /// Over the parts `regions` of a clone's files; `total_bytes` is what they are to move at most, or one pass where the job fills its time.
    pub fn new(settings: &Settings, seeds: Seeds, regions: &[Extent], total_bytes: u64) -> Choice {
        let load = &settings.load;
        let file = |(index, region): (usize, &Extent)| File {
            visits: visits(load, seeds, *region, index as u64),
            is_done: false,
            is_under_way: false,
        };
        let files: Vec<File> = regions.iter().enumerate().map(file).collect();
        let (service, each) = &settings.files.service;
        let random = seeds.random(Stream::File, 0);
        let pick = match service {
            Service::RoundRobin => Pick::RoundRobin(*each),
            Service::Sequential => Pick::Sequential,
            Service::Random => Pick::Drawn { sampler: None, random, each: *each },
            Service::By(distribution) => {
                let sampler = Sampler::new(distribution, files.len().max(1) as u64, 1, seeds.seed(Stream::File, 1));
                Pick::Drawn { sampler: Some(sampler), random, each: *each }
            }
        };
        let has_end = |plan: &Plan| plan.map || matches!(plan.order, Order::Sequential { .. });
        Choice {
            left: files.len(),
            most: (settings.files.open_max as usize).max(1),
            under_way: Vec::new(),
            turn: 0,
            files,
            pick,
            mix: Mix::new(load.read_percent, seeds.random(Stream::Mix, 0)),
            total_bytes,
            given: 0,
            fills: settings.span.fills(),
            is_midway: false,
            appends: settings.files.append && !(settings.span.fills() && load.is_random()),
            has_end: load.reads() && has_end(&load.plans.read) || load.writes() && has_end(&load.plans.write),
            rounds: 0,
            current: 0,
            on_current: 0,
            number: 0,
        }
    }

    /// How large the files are that the parts are of.
    pub fn in_files(mut self, bytes: &[u64]) -> Choice {
        self.files.iter_mut().zip(bytes).for_each(|(file, bytes)| file.visits.each(|offsets| offsets.in_file(*bytes)));
        self
    }

    /// The next I/O; None at the end of a pass. `late` says by how much each direction may not start yet.
    #[inline]
    pub fn next_io(&mut self, late: &Each<Duration>) -> Option<Next> {
        let mut rounds = 0;
        while self.given < self.total_bytes {
            if self.left == 0 {
                // A file without room for even one I/O ends the pass.
                rounds += 1;
                if rounds > 1 || !self.is_midway {
                    return None;
                }
                self.begin_round();
                self.is_midway = false;
            }
            let file = self.file()?;
            let direction = self.mix.next_direction(late);
            match self.files[file].visits.next_io(direction) {
                Some((direction, extent)) => {
                    let next = Next { file: file as u32, direction, extent, number: self.number };
                    self.given += extent.len;
                    self.number += 1;
                    self.on_current += 1;
                    return Some(next);
                }
                None => {
                    (self.files[file].is_done, self.files[file].is_under_way) = (true, false);
                    self.over(file);
                    self.left -= 1;
                    self.on_current = 0;
                }
            }
        }
        None
    }

    /// All that the job is to move was given.
    pub fn is_exhausted(&self) -> bool {
        !self.fills && self.given >= self.total_bytes
    }

    /// The number of the next I/O.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// How often files began anew after each of their blocks was visited.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// What a pass over `replay` that only reads back has come to counts as given.
    pub fn count(&mut self, replay: &Choice) {
        self.given = replay.given;
    }

    fn begin_round(&mut self) {
        self.rounds += u64::from(self.has_end);
        self.files.iter_mut().for_each(|file| {
            file.visits.each(Offsets::restart);
            (file.is_done, file.is_under_way) = (false, false);
        });
        self.left = self.files.len();
        (self.under_way, self.turn) = (Vec::new(), 0);
        // The first file is next, which sequential service stays on and the others go on to.
        self.current = if matches!(self.pick, Pick::Sequential) { 0 } else { self.files.len().saturating_sub(1) };
        self.on_current = 0;
    }

    /// The next pass, over all files from their start.
    pub fn restart(&mut self) {
        if !self.appends {
            self.begin_round();
        }
        self.is_midway = false;
        self.end_pass();
    }

    /// The next pass; as in fio it goes on where a pass ended that was smaller than the files.
    pub fn go_on(&mut self) {
        self.rounds += u64::from(self.has_end);
        self.is_midway = !self.appends;
        self.end_pass();
    }

    fn end_pass(&mut self) {
        if self.fills {
            self.given = 0;
        }
    }

    /// `file` is under way no more: what stands behind it is next.
    fn over(&mut self, file: usize) {
        if let Some(place) = self.under_way.iter().position(|other| *other == file) {
            self.under_way.remove(place);
            self.turn = (place + self.under_way.len()).saturating_sub(1) % self.under_way.len().max(1);
        }
    }

    /// A file that has I/O left.
    fn file(&mut self) -> Option<usize> {
        let n = self.files.len();
        let may_begin = self.most >= n || self.under_way.len() < self.most.min(self.left);
        if !may_begin {
            return self.file_under_way();
        }
        let stays = |choice: &Choice, each: u64| choice.on_current > 0 && choice.on_current < each;
        let start = match &self.pick {
            Pick::Sequential => self.current,
            Pick::RoundRobin(each) if stays(self, *each) => self.current,
            Pick::RoundRobin(_) if self.number == 0 => 0,
            Pick::RoundRobin(_) => self.current + 1,
            Pick::Drawn { each, .. } if stays(self, *each) => self.current,
            Pick::Drawn { .. } => self.draw(n),
        };
        let found = (0..n).map(|step| (start + step) % n).find(|file| !self.files[*file].is_done)?;
        let is_next = !matches!(self.pick, Pick::Sequential) && start == self.current + 1;
        if found != self.current || is_next {
            self.on_current = 0;
        }
        if self.most < n && !self.files[found].is_under_way {
            self.files[found].is_under_way = true;
            self.turn = self.under_way.len();
            self.under_way.push(found);
        }
        self.current = found;
        Some(found)
    }

    /// One of those under way, where no other may begin.
    fn file_under_way(&mut self) -> Option<usize> {
        let n = self.under_way.len();
        let each = match &self.pick {
            Pick::Sequential => u64::MAX,
            Pick::RoundRobin(each) | Pick::Drawn { each, .. } => *each,
        };
        let stays = self.on_current > 0 && self.on_current < each && self.files[self.current].is_under_way;
        if !stays {
            self.turn = if matches!(self.pick, Pick::Drawn { .. }) { self.draw(n) % n } else { (self.turn + 1) % n };
            self.on_current = 0;
            self.current = *self.under_way.get(self.turn)?;
        }
        Some(self.current)
    }

    fn draw(&mut self, n: usize) -> usize {
        self.on_current = 0;
        match &mut self.pick {
            Pick::Drawn { sampler: Some(sampler), random, .. } => sampler.draw(random) as usize,
            Pick::Drawn { random, .. } => random.below(n as u64) as usize,
            _ => self.current,
        }
    }
}

fn visits(load: &Load, seeds: Seeds, region: Extent, file: u64) -> Visits {
    let offsets =
        |direction: Direction| Offsets::new(load.plans[direction].clone(), region, seeds, file * 4 + direction as u64);
    let (read, write) = (&load.plans.read, &load.plans.write);
    let is_mixed = load.reads() && load.writes();
    if !is_mixed || (is_mapped(read) && read == write) {
        let direction = if load.reads() { Direction::Read } else { Direction::Write };
        // One stream for reads, writes and both, so that a read job visits what a write job of the same seeds wrote.
        return Visits::Shared(Box::new(Offsets::new(load.plans[direction].clone(), region, seeds, file * 4)));
    }
    let fits = |plan: &Plan| plan.sizes.min() <= region.len;
    match (fits(read), fits(write)) {
        (true, false) => Visits::One(Direction::Read, Box::new(offsets(Direction::Read))),
        (false, true) => Visits::One(Direction::Write, Box::new(offsets(Direction::Write))),
        _ => Visits::Apart(Box::new(Each::of(offsets))),
    }
}

#[cfg(test)]
#[path = "choice_tests.rs"]
mod tests;
