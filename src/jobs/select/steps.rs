//! Patterns as steps along a text, in memory and time that hang on their own length alone: hundreds of thousands of them are held and
//! asked one by one, where automata of some 10,000 took more than their crate allows.

use super::bracket::Bracket;

/// What matches next.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Text(Box<[u8]>),
    /// A letter of ASCII, in either case.
    Letter(u8),
    Byte,
    OneOf(Box<[bool; 256]>),
    Char,
    Cases(Box<[char]>),
    /// With whether upper and lower case are the same.
    CharOf(Box<Bracket>, bool),
    /// Any bytes but slashes.
    Star,
    /// Any bytes.
    Stars,
}

/// Where in a text a match may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    /// It begins where the text does; else also after any slash.
    pub anchored: bool,
    /// It ends where the text does, or else at any slash.
    pub below: bool,
}

/// Steps, one behind the other.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    steps: Box<[Step]>,
    /// What matches one of many matches slashes too.
    slashes: bool,
    /// There is more in it than texts and letters.
    is_wild: bool,
}

impl Steps {
    /// Texts that follow each other are one.
    pub fn new(steps: impl Iterator<Item = Step>, slashes: bool) -> Steps {
        let (mut joined, mut text) = (Vec::new(), Vec::new());
        for step in steps {
            match step {
                Step::Text(more) => text.extend_from_slice(&more),
                other => {
                    if !text.is_empty() {
                        joined.push(Step::Text(std::mem::take(&mut text).into()));
                    }
                    joined.push(other);
                }
            }
        }
        if !text.is_empty() {
            joined.push(Step::Text(text.into()));
        }
        let is_wild = joined.iter().any(|step| !matches!(step, Step::Text(_) | Step::Letter(_) | Step::Cases(_)));
        Steps { steps: joined.into(), slashes, is_wild }
    }

    /// The text that it is, if there is nothing else in it.
    pub fn literal(&self) -> Option<&[u8]> {
        match &self.steps[..] {
            [Step::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The texts that are in all that it matches.
    pub fn texts(&self) -> impl Iterator<Item = &[u8]> {
        self.steps.iter().filter_map(|step| match step {
            Step::Text(text) => Some(&text[..]),
            _ => None,
        })
    }

    /// Each star takes as little as it can: what ends sooner leaves more for what follows, so only the last of each kind is ever tried
    /// with more, and a text that ends too soon ends too soon for all.
    pub fn matches(&self, text: &[u8], way: Way) -> bool {
        let (mut begin, mut step, mut at) = (0, 0, 0);
        let (mut star, mut stars) = (None::<(usize, usize)>, None::<(usize, usize)>);
        loop {
            let next = match self.steps.get(step) {
                None if at == text.len() || way.below && text[at] == b'/' => return true,
                None => None,
                Some(Step::Stars) => {
                    (star, stars) = (None, Some((step + 1, at)));
                    Some(at)
                }
                Some(Step::Star) => {
                    star = Some((step + 1, at));
                    Some(at)
                }
                Some(one) => match self.end(one, text, at) {
                    Next::TooShort => return false,
                    Next::At(end) => Some(end),
                    Next::No => None,
                },
            };
            if let Some(end) = next {
                (step, at) = (step + 1, end);
                continue;
            }
            star = star.filter(|(_, at)| text.get(*at).is_some_and(|byte| *byte != b'/'));
            let more = if star.is_some() { &mut star } else { &mut stars };
            if let Some((behind, taken)) = more {
                if *taken == text.len() {
                    return false;
                }
                *taken += 1;
                if let Some(Step::Text(own)) = self.steps.get(*behind) {
                    // To where it may begin: 50 patterns like `*.x` took 10 times as long byte by byte.
                    let mut rest = text[*taken..].iter();
                    *taken += rest.position(|byte| *byte == own[0] || *byte == b'/').unwrap_or(text.len() - *taken);
                }
                (step, at) = (*behind, *taken);
            } else {
                if way.anchored {
                    return false;
                }
                loop {
                    let Some(slash) = text[begin..].iter().position(|byte| *byte == b'/') else { return false };
                    begin += slash + 1;
                    // As of GNU tar, what has a wildcard begins behind the last of several slashes.
                    if !(self.is_wild && text.get(begin) == Some(&b'/')) {
                        break;
                    }
                }
                (step, at) = (0, begin);
            }
        }
    }

    /// Where a step that is no star ends, if it begins at a place.
    fn end(&self, step: &Step, text: &[u8], at: usize) -> Next {
        let rest = &text[at..];
        if let Step::Text(own) = step {
            return match rest.starts_with(own) {
                true => Next::At(at + own.len()),
                false if rest.len() < own.len() => Next::TooShort,
                false => Next::No,
            };
        }
        let Some(&byte) = rest.first() else { return Next::TooShort };
        let (is_match, len) = match step {
            Step::Letter(letter) => (byte.eq_ignore_ascii_case(letter), 1),
            Step::Byte => (self.slashes || byte != b'/', 1),
            Step::OneOf(bytes) => (bytes[usize::from(byte)], 1),
            _ => match first_char(rest) {
                None => (false, 0),
                Some(c) => {
                    let is_match = match step {
                        Step::Cases(cases) => cases.contains(&c),
                        Step::CharOf(bracket, fold) => bracket.has(c, self.slashes, *fold),
                        _ => self.slashes || c != '/',
                    };
                    (is_match, c.len_utf8())
                }
            },
        };
        if is_match { Next::At(at + len) } else { Next::No }
    }
}

enum Next {
    At(usize),
    No,
    /// The text ends before it.
    TooShort,
}

/// The character that a part of a text begins with; none within a character.
fn first_char(rest: &[u8]) -> Option<char> {
    let len = match rest.first()? {
        ..0x80 => 1,
        ..0xc0 => return None,
        ..0xe0 => 2,
        ..0xf0 => 3,
        _ => 4,
    };
    std::str::from_utf8(rest.get(..len)?).ok()?.chars().next()
}
