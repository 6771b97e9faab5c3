//! Many patterns, of which one is asked which match a path: mere names are looked up, the others asked one by one.

use std::collections::HashMap;

use super::shell::Shell;
use super::steps::Way;

/// Patterns with places. The default matches nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Patterns {
    /// The last of `named` for each name.
    names: HashMap<Box<[u8]>, usize>,
    named: Vec<Named>,
    /// The numbers of slashes that names have, in order.
    slashes: Vec<usize>,
    shells: Vec<(usize, Shell, Way)>,
}

/// A name.
#[derive(Clone, Copy, Debug)]
struct Named {
    place: usize,
    way: Way,
    /// The one before it of the same name.
    before: Option<usize>,
}

impl Patterns {
    /// With a place of the caller's, by which a match is told.
    pub fn add(&mut self, place: usize, shell: Shell, way: Way) {
        let Some(name) = shell.literal() else {
            let anchored = way.anchored && !shell.anywhere;
            return self.shells.push((place, shell, Way { anchored, ..way }));
        };
        let slashes = name.iter().filter(|byte| **byte == b'/').count();
        if let Err(at) = self.slashes.binary_search(&slashes) {
            self.slashes.insert(at, slashes);
        }
        let before = self.names.insert(name.into(), self.named.len());
        self.named.push(Named { place, way, before });
    }

    pub fn is_empty(&self) -> bool {
        self.named.is_empty() && self.shells.is_empty()
    }

    pub fn is_match(&self, text: &[u8]) -> bool {
        self.matches(text).next().is_some()
    }

    /// The places of the patterns that match, some of them more than once.
    pub fn matches<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
        // Characters are asked only of what has other ones than bytes.
        let by_chars = !self.shells.is_empty() && !text.is_ascii() && std::str::from_utf8(text).is_ok();
        let shells = self.shells.iter().filter(move |(_, shell, way)| {
            let chars = shell.chars.as_ref().filter(|_| by_chars);
            shell.bytes.matches(text, *way) || chars.is_some_and(|chars| chars.matches(text, *way))
        });
        self.named(text).chain(shells.map(|(place, ..)| *place))
    }

    fn named<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
        let slashes: Vec<usize> = match self.names.is_empty() {
            true => Vec::new(),
            false => text.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at).collect(),
        };
        // From the start of each component to the end of one, by as many slashes as names have.
        let starts = if self.names.is_empty() { 0 } else { slashes.len() + 1 };
        let spans = (0..starts).flat_map(move |first| {
            let ends = slashes.clone();
            let begin = if first == 0 { 0 } else { ends[first - 1] + 1 };
            self.slashes
                .iter()
                .take_while(move |count| first + **count < starts)
                .map(move |count| (begin, ends.get(first + count).copied().unwrap_or(text.len())))
        });
        spans.flat_map(move |(begin, end)| {
            let last = self.names.get(&text[begin..end]).copied();
            let all = std::iter::successors(last, |at| self.named[*at].before).map(|at| self.named[at]);
            let fits =
                move |named: &Named| (begin == 0 || !named.way.anchored) && (end == text.len() || named.way.below);
            all.filter(fits).map(|named| named.place)
        })
    }
}
