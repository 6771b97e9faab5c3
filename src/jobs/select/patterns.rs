//! Many patterns, of which one is asked which match a path: mere names are looked up, the others asked one by one, where the path has all
//! pairs of bytes that their texts have.

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
    /// Of each of `shells`, in one piece: most are not looked at.
    pairs: Vec<Pairs>,
}

/// Fewer patterns are asked sooner than a path's pairs are gathered.
const SHELLS_MIN: usize = 4;

/// Pairs of bytes that follow each other, by a hash: what a pattern has and a path has not, it does not match.
#[derive(Clone, Copy, Debug, Default)]
struct Pairs([u64; 4]);

impl Pairs {
    fn of<'t>(texts: impl Iterator<Item = &'t [u8]>) -> Pairs {
        let mut pairs = Pairs::default();
        for pair in texts.flat_map(|text| text.windows(2)) {
            // Knuth's multiplier (The Art of Computer Programming 6.4): the product's upper byte hangs on all bits of both.
            let bit = u16::from_ne_bytes([pair[0], pair[1]]).wrapping_mul(40_503) >> 8;
            pairs.0[usize::from(bit >> 6)] |= 1_u64 << (bit & 63);
        }
        pairs
    }

    /// Those of a pattern, also where characters are asked.
    fn of_shell(shell: &Shell) -> Pairs {
        let bytes = Pairs::of(shell.bytes.texts());
        let Some(chars) = &shell.chars else { return bytes };
        let chars = Pairs::of(chars.texts());
        Pairs(std::array::from_fn(|word| bytes.0[word] & chars.0[word]))
    }

    fn are_in(self, path: Pairs) -> bool {
        self.0.iter().zip(path.0).all(|(own, has)| own & !has == 0)
    }
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
            self.pairs.push(Pairs::of_shell(&shell));
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
        let has = (self.shells.len() >= SHELLS_MIN).then(|| Pairs::of([text].into_iter()));
        let may_match = move |(own, shell): (&Pairs, &'a (usize, Shell, Way))| {
            has.is_none_or(|has| own.are_in(has)).then_some(shell)
        };
        let shells = self.pairs.iter().zip(&self.shells).filter_map(may_match).filter(move |(_, shell, way)| {
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
