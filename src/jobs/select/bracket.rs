//! Bracket expressions of shell patterns, as fnmatch(3) reads them. What hangs on a locale or matches nothing (`[.x.]`, `[=x=]`,
//! classes that POSIX does not name, ranges that end before they begin) is an error.

use crate::jobs::charset;

/// A bracket expression.
#[derive(Clone, Debug)]
pub(super) struct Bracket {
    pub(super) negated: bool,
    pub(super) items: Vec<Item>,
    /// A slash was written in it.
    pub slash: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Item {
    Range(char, char),
    Class(&'static str),
}

impl Bracket {
    /// The expression that begins `rest`, which is behind its `[`, and what is behind its `]`; none where none closes it.
    pub fn parse(rest: &str, fold: bool) -> Result<Option<(Bracket, &str)>, String> {
        let inner = rest.strip_prefix(['!', '^']);
        let mut bracket = Bracket { negated: inner.is_some(), items: Vec::new(), slash: false };
        // Whether it is closed at all decides if what is in it may be wrong.
        let mut wrong = None;
        let mut rest = inner.unwrap_or(rest);
        let mut first = true;
        loop {
            let Some(c) = rest.chars().next() else { return Ok(None) };
            if c == ']' && !first {
                return wrong.map_or(Ok(Some((bracket, &rest[1..]))), Err);
            }
            first = false;
            if let Some((kind, name, behind)) = named(rest) {
                rest = behind;
                match charset::NAMES.iter().find(|class| kind == ':' && **class == name) {
                    Some(class) => bracket.items.push(Item::Class(class)),
                    None => {
                        wrong.get_or_insert_with(|| format!("'[{kind}{name}{kind}]' is no class that is known here"));
                    }
                }
                continue;
            }
            let Some((low, behind)) = character(rest) else { return Ok(None) };
            rest = behind;
            let mut high = low;
            if let Some(end) = rest.strip_prefix('-').filter(|end| !end.is_empty() && !end.starts_with(']')) {
                let Some((c, behind)) = character(end) else { return Ok(None) };
                (high, rest) = (c, behind);
            }
            if folded(high, fold) < folded(low, fold) {
                wrong.get_or_insert_with(|| format!("the range '{low}-{high}' ends before it begins"));
            }
            bracket.slash |= low == '/' || high == '/';
            bracket.items.push(Item::Range(low, high));
        }
    }

    /// The bytes that it matches, where each character of it is one.
    pub fn bytes(&self, slashes: bool, fold: bool) -> [bool; 256] {
        let mut bytes = [false; 256];
        for (byte, is_in) in (0..=u8::MAX).zip(&mut bytes) {
            *is_in = self.has_plainly(char::from(byte), fold) != self.negated && (slashes || byte != b'/');
        }
        bytes
    }

    /// Does it match a character?
    pub fn has(&self, c: char, slashes: bool, fold: bool) -> bool {
        let other = |item: &Item| match *item {
            Item::Range(low, high) if low == high && !low.is_ascii() => cases(low, fold).contains(&c),
            Item::Class(name) => !c.is_ascii() && charset::has(name, c),
            Item::Range(..) => false,
        };
        let is_in = self.has_plainly(c, fold) || self.items.iter().any(other);
        is_in != self.negated && (slashes || c != '/')
    }

    /// Is a character in it, by ranges and by ASCII's classes, without its negation?
    fn has_plainly(&self, c: char, fold: bool) -> bool {
        self.items.iter().any(|item| match *item {
            Item::Range(low, high) => (folded(low, fold)..=folded(high, fold)).contains(&folded(c, fold)),
            Item::Class(name) => c.is_ascii() && is_of(name, c as u8),
        })
    }
}

/// How ASCII letters compare.
pub(super) fn folded(c: char, fold: bool) -> char {
    if fold { c.to_ascii_lowercase() } else { c }
}

/// A character, and with `fold` its other cases.
pub(super) fn cases(c: char, fold: bool) -> Vec<char> {
    let mut cases = vec![c];
    if fold {
        let mut add = |mut other: Box<dyn Iterator<Item = char>>| {
            if let (Some(c), None) = (other.next(), other.next())
                && !cases.contains(&c)
            {
                cases.push(c);
            }
        };
        add(Box::new(c.to_lowercase()));
        add(Box::new(c.to_uppercase()));
    }
    cases
}

/// A character of a bracket, and what is behind it.
fn character(rest: &str) -> Option<(char, &str)> {
    let rest = rest.strip_prefix('\\').unwrap_or(rest);
    let c = rest.chars().next()?;
    Some((c, &rest[c.len_utf8()..]))
}

/// `[:name:]`, `[.name.]` or `[=name=]`: the sign, the name and what is behind.
fn named(rest: &str) -> Option<(char, &str, &str)> {
    let inner = rest.strip_prefix('[')?;
    let sign = inner.chars().next().filter(|sign| matches!(sign, ':' | '.' | '='))?;
    let (name, behind) = inner[1..].split_once(match sign {
        ':' => ":]",
        '.' => ".]",
        _ => "=]",
    })?;
    // Else the `[` is a character, as in `[[:]`.
    let is_name = sign != ':' || name.bytes().all(|b| b.is_ascii_alphabetic());
    is_name.then_some((sign, name, behind))
}

/// Is an ASCII character of one of [`charset::NAMES`]?
pub(super) fn is_of(class: &str, b: u8) -> bool {
    match class {
        "alnum" => b.is_ascii_alphanumeric(),
        "alpha" => b.is_ascii_alphabetic(),
        "blank" => matches!(b, b' ' | b'\t'),
        "cntrl" => b.is_ascii_control(),
        "digit" => b.is_ascii_digit(),
        "graph" => b.is_ascii_graphic(),
        "lower" => b.is_ascii_lowercase(),
        "print" => matches!(b, b' '..=b'~'),
        "punct" => b.is_ascii_punctuation(),
        "space" => matches!(b, b' ' | b'\t'..=b'\r'),
        "upper" => b.is_ascii_uppercase(),
        "xdigit" => b.is_ascii_hexdigit(),
        _ => unreachable!("classes are those that are known"),
    }
}
