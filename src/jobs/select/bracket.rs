//! Bracket expressions of shell patterns, as fnmatch(3) reads them. What globset has no words for (`[.x.]`, `[=x=]`, classes that POSIX
//! does not name, ranges that end before they begin) is an error.

use crate::jobs::charset;

/// A bracket expression.
#[derive(Clone, Debug)]
pub(super) struct Bracket {
    negated: bool,
    items: Vec<Item>,
    /// A slash was written in it.
    pub slash: bool,
}

#[derive(Clone, Debug)]
enum Item {
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
                match CLASSES.iter().find(|class| kind == ':' && **class == name) {
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

    /// The ASCII characters in it, without its negation.
    fn ascii(&self, fold: bool) -> [bool; 128] {
        let mut ascii = [false; 128];
        let mut add = |is_in: &dyn Fn(u8) -> bool| (0..128).for_each(|b| ascii[usize::from(b)] |= is_in(b));
        for item in &self.items {
            match *item {
                Item::Range(low, high) => {
                    let range = folded(low, fold)..=folded(high, fold);
                    add(&|b| range.contains(&folded(char::from(b), fold)));
                }
                Item::Class(name) => add(&|b| is_of(name, b)),
            }
        }
        ascii
    }

    /// In globset's words, which compare bytes: of a character beyond ASCII each by itself.
    pub fn push_glob(&self, glob: &mut String, slashes: bool, fold: bool) {
        let mut ascii = self.ascii(fold);
        if !slashes {
            ascii[usize::from(b'/')] = self.negated;
        }
        let mut take = |c: u8| std::mem::take(&mut ascii[usize::from(c)]);
        let (close, hyphen) = (take(b']'), take(b'-'));
        glob.push('[');
        if self.negated {
            glob.push('!');
        }
        // A bracket has to begin with something that means itself there; no path has a NUL.
        glob.push(if close { ']' } else { '\0' });
        let mut low = 0;
        while low < 128 {
            let high = (low..128).take_while(|b| ascii[*b]).last();
            if let Some(high) = high {
                push_range(glob, char::from(low as u8), char::from(high as u8));
            }
            low = high.unwrap_or(low) + 1;
        }
        for item in &self.items {
            if let Item::Range(low, high) = *item
                && !high.is_ascii()
            {
                push_range(glob, low.max('\x7f'), high);
            }
        }
        if hyphen {
            glob.push('-');
        }
        glob.push(']');
    }

    /// In the regex crate's words, which compare characters.
    pub fn push_regex(&self, regex: &mut String, slashes: bool, fold: bool) {
        regex.push_str(if self.negated { "[^" } else { "[[" });
        for (b, is_in) in self.ascii(fold).into_iter().enumerate() {
            if is_in {
                charset::push_char(regex, char::from(b as u8));
            }
        }
        for item in &self.items {
            match *item {
                Item::Range(_, high) if high.is_ascii() => {}
                Item::Range(low, high) if low == high => {
                    cases(low, fold).into_iter().for_each(|c| charset::push_char(regex, c));
                }
                Item::Range(low, high) => {
                    charset::push_char(regex, low.max('\u{80}'));
                    regex.push('-');
                    charset::push_char(regex, high);
                }
                Item::Class(name) => regex.push_str(charset::class(name.as_bytes()).expect("CLASSES are known")),
            }
        }
        regex.push_str(match (self.negated, slashes) {
            (true, true) => "]",
            (true, false) => "/]",
            (false, true) => "]]",
            (false, false) => "]&&[^/]]",
        });
    }
}

/// How ASCII letters compare.
fn folded(c: char, fold: bool) -> char {
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

fn push_range(glob: &mut String, low: char, high: char) {
    glob.push(low);
    if high > low {
        glob.extend(['-', high]);
    }
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

const CLASSES: [&str; 12] =
    ["alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit"];

/// Is an ASCII character of one of [`CLASSES`]?
fn is_of(class: &str, b: u8) -> bool {
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
