//! What stays of a removal by its path. A pattern may be meant in several ways, and a path be written in several; what any pair
//! of them matches stays, for what was removed is not to be had back. The caller says how each pattern may be meant and where
//! operands are; this file touches no host.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::jobs::select::{BadPattern, Globs, Pattern, normal};

/// What of an object a pattern is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// Its path below the operand; of an operand its name.
    Below,
    /// Its path as it is shown, which begins as the operand was typed.
    Shown,
    /// Its absolute path.
    Whole,
    /// Its absolute path, from any component of the operand's on.
    Inside,
}

/// One way that a pattern may be meant.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // the names say it
pub struct Reading {
    /// Which of the patterns that were typed it is of.
    pub of: usize,
    pub against: Against,
    pub pattern: Pattern,
}

/// Where an operand is; it may be in several places, by the symbolic links on the way to it.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// Its absolute paths, without slashes at their ends and without `.` and `..`.
    pub paths: Vec<Vec<u8>>,
    /// The ways that were typed to it. A directory above them is named by no pattern of a name.
    pub ways: Vec<Vec<u8>>,
}

/// Where operands are.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// By operands as they were typed, without slashes at their ends.
    pub typed: HashMap<Vec<u8>, Place>,
    /// What the paths of other operands are relative to.
    pub base: Place,
}

impl Places {
    /// The absolute paths of an operand.
    fn paths(&self, operand: &[u8]) -> Cow<'_, [Vec<u8>]> {
        match self.typed.get(operand) {
            Some(place) => Cow::Borrowed(&place.paths),
            None => self.base.paths.iter().map(|base| joined(base, operand)).collect(),
        }
    }

    /// The ways that were typed to an operand.
    fn ways(&self, operand: &[u8]) -> Cow<'_, [Vec<u8>]> {
        match self.typed.get(operand) {
            Some(place) => Cow::Borrowed(&place.ways),
            None if self.base.ways.is_empty() => Cow::Owned(vec![normal(operand)]),
            None => self.base.ways.iter().map(|base| joined(base, operand)).collect(),
        }
    }
}

fn joined(base: &[u8], operand: &[u8]) -> Vec<u8> {
    normal(&[base, b"/", operand].concat())
}

/// What stays, and which patterns have kept something. The default lets everything go.
#[derive(Clone, Debug, Default)]
pub struct Excluded {
    typed: Vec<Vec<u8>>,
    /// By pattern: it has kept something.
    met: Arc<Vec<AtomicBool>>,
    below: Globs,
    shown: Globs,
    whole: Globs,
    inside: Globs,
    places: Places,
}

impl Excluded {
    /// Patterns as they were typed, and what they may mean.
    pub fn new(typed: Vec<Vec<u8>>, readings: &[Reading], mut places: Places) -> Result<Excluded, BadPattern> {
        // Patterns are written without the first slash.
        let all = places.typed.values_mut().flat_map(|place| place.paths.iter_mut().chain(&mut place.ways));
        all.for_each(|path| *path = normal(path));
        let globs = |against: Against| {
            let some = readings.iter().filter(|reading| reading.against == against);
            Globs::new(some.map(|reading| (reading.of, &reading.pattern)))
        };
        Ok(Excluded {
            met: Arc::new(typed.iter().map(|_| AtomicBool::new(false)).collect()),
            below: globs(Against::Below)?,
            shown: globs(Against::Shown)?,
            whole: globs(Against::Whole)?,
            inside: globs(Against::Inside)?,
            typed,
            places,
        })
    }

    /// Shell patterns that match names, and paths below the operands, at any depth.
    pub fn anywhere(patterns: &[&str]) -> Result<Excluded, BadPattern> {
        let reading = |(of, text): (usize, &&str)| Reading {
            of,
            against: Against::Below,
            pattern: Pattern::exclude(text.as_bytes()),
        };
        let readings: Vec<Reading> = patterns.iter().enumerate().map(reading).collect();
        Excluded::new(patterns.iter().map(|text| text.as_bytes().to_vec()).collect(), &readings, Places::default())
    }

    /// True when nothing stays.
    pub fn is_empty(&self) -> bool {
        self.typed.is_empty()
    }

    /// Does the object of this path, as shown and below its operand, stay?
    pub fn has(&self, shown: &[u8], below: &[u8]) -> bool {
        // Between the two is one slash.
        let operand = &shown[..shown.len().saturating_sub(below.len() + 1)];
        let mut by = self.below.matches(below);
        by.extend(self.by_path(shown, operand, Some(below)));
        self.note(&by);
        !by.is_empty()
    }

    /// Does this operand stay, with all that is in it? Then the pattern that names it by its path, if it is not only one by its name.
    pub fn operand(&self, shown: &[u8], name: Option<&[u8]>) -> Option<Option<&[u8]>> {
        let end = shown.iter().rposition(|b| *b != b'/').map_or(0, |last| last + 1);
        let by_path = self.by_path(shown, &shown[..end], None);
        let by_name = name.map_or(Vec::new(), |name| self.below.matches(name));
        // What would stay if the first directory of the way were removed stays here too.
        let by_way: Vec<usize> =
            self.places.ways(&shown[..end]).iter().flat_map(|way| self.below.matches(way)).collect();
        [&by_path, &by_name, &by_way].into_iter().for_each(|by| self.note(by));
        let is_more = |of: &&usize| !by_name.contains(of);
        let by_more = by_path.iter().find(|of| self.typed[**of].contains(&b'/') || is_more(of));
        let path = by_more.or_else(|| by_way.iter().find(is_more)).map(|of| self.typed[*of].as_slice());
        (!by_path.is_empty() || !by_name.is_empty() || !by_way.is_empty()).then_some(path)
    }

    /// The patterns that this path is matched by, otherwise than below its operand.
    fn by_path(&self, shown: &[u8], operand: &[u8], below: Option<&[u8]>) -> Vec<usize> {
        if self.shown.is_empty() && self.whole.is_empty() && self.inside.is_empty() {
            return Vec::new();
        }
        let mut by = self.shown.matches(&normal(shown));
        for place in self.places.paths(operand).iter() {
            let mut path = place.clone();
            let above = path.len();
            if let Some(below) = below {
                path.extend(if above == 0 { &b""[..] } else { b"/" });
                path.extend_from_slice(below);
            }
            by.extend(self.whole.matches(&path));
            let slashes = path[..above].iter().enumerate().filter(|(_, b)| **b == b'/').map(|(i, _)| i + 1);
            if !self.inside.is_empty() {
                [0].into_iter().chain(slashes).for_each(|start| by.extend(self.inside.matches(&path[start..])));
            }
        }
        by
    }

    fn note(&self, by: &[usize]) {
        by.iter().for_each(|of| self.met[*of].store(true, Ordering::Relaxed));
    }

    /// The patterns that have kept nothing.
    pub fn unmet(&self) -> impl Iterator<Item = &[u8]> {
        let unmet = self.typed.iter().zip(self.met.iter()).filter(|(_, met)| !met.load(Ordering::Relaxed));
        unmet.map(|(typed, _)| typed.as_slice())
    }
}
