//! Shell patterns in globset's words. A bracket is read as fnmatch(3) reads it in the C locale, with classes of ASCII characters; what
//! globset has no words for (`[.x.]`, `[=x=]`, classes that POSIX does not name, ranges that end before they begin) is an error.
//!
//! Of a character beyond ASCII in a bracket, globset compares each byte by itself.

/// What wildcards match besides the characters of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Slashes too, as for GNU tar.
    Slashes,
    /// No slash: a run of stars is one.
    Name,
    /// As for rsync: two stars match slashes, at the start (true) with the slash behind them also nothing.
    Stars(bool),
}

/// In globset's words; what matches no slash wants [`globset::GlobBuilder::literal_separator`]. With `fold` upper and lower case are the
/// same, but not for classes, as for fnmatch. The error is a reason.
pub(super) fn glob(pattern: &str, reach: Reach, fold: bool) -> Result<String, String> {
    let mut glob = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let at_start = rest.len() == pattern.len();
        rest = &rest[c.len_utf8()..];
        match c {
            '*' => {
                let run = rest.len();
                rest = rest.trim_start_matches('*');
                match reach {
                    Reach::Stars(true) if run > rest.len() && at_start && rest.starts_with('/') => {
                        rest = &rest[1..];
                        glob.push_str("**/");
                    }
                    // Alone, or with a slash within: globset's own two stars are whole components.
                    Reach::Stars(_) if run > rest.len() => glob.push_str("{*,*/**/*}"),
                    _ => glob.push('*'),
                }
            }
            '?' => glob.push('?'),
            '\\' => {
                let escaped = rest.chars().next().ok_or("a backslash at its end escapes nothing")?;
                rest = &rest[escaped.len_utf8()..];
                push_literal(&mut glob, escaped, fold);
            }
            '[' => match Bracket::parse(rest, fold)? {
                // rsync counts it as the end of a component, and its brackets match none.
                Some((bracket, _)) if bracket.slash && matches!(reach, Reach::Stars(_)) => {
                    return Err("a bracket matches no '/'; write the pattern without it".into());
                }
                Some((bracket, behind)) => {
                    rest = behind;
                    bracket.push(&mut glob, reach == Reach::Slashes);
                }
                None if matches!(reach, Reach::Stars(_)) => {
                    return Err("a '[' that no ']' closes matches nothing; write '\\[' for the character".into());
                }
                None => push_literal(&mut glob, '[', fold),
            },
            c => push_literal(&mut glob, c, fold),
        }
    }
    Ok(glob)
}

/// A name in globset's words.
pub(super) fn literal(name: &str, fold: bool) -> String {
    let mut glob = String::with_capacity(name.len());
    name.chars().for_each(|c| push_literal(&mut glob, c, fold));
    glob
}

fn push_literal(glob: &mut String, c: char, fold: bool) {
    if fold && c.is_ascii_alphabetic() {
        return glob.extend(['[', c.to_ascii_lowercase(), c.to_ascii_uppercase(), ']']);
    }
    if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | ',' | '\\') {
        glob.push('\\');
    }
    glob.push(c);
}

/// A bracket expression.
#[derive(Debug)]
struct Bracket {
    negated: bool,
    ascii: [bool; 128],
    /// With an end beyond ASCII.
    beyond: Vec<(char, char)>,
    /// A slash was written in it.
    slash: bool,
}

impl Bracket {
    /// The expression that begins `rest`, which is behind its `[`, and what is behind its `]`; none where none closes it.
    fn parse(rest: &str, fold: bool) -> Result<Option<(Bracket, &str)>, String> {
        let inner = rest.strip_prefix(['!', '^']);
        let mut bracket = Bracket { negated: inner.is_some(), ascii: [false; 128], beyond: Vec::new(), slash: false };
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
                let known = if kind == ':' { class(name) } else { None };
                match known {
                    Some(class) => (0..128).for_each(|b| bracket.ascii[usize::from(b)] |= class(b)),
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
            let folded = |c: char| if fold { c.to_ascii_lowercase() } else { c };
            if folded(high) < folded(low) {
                wrong.get_or_insert_with(|| format!("the range '{low}-{high}' ends before it begins"));
            }
            bracket.slash |= low == '/' || high == '/';
            bracket.add(folded(low), folded(high), folded);
        }
    }

    fn add(&mut self, low: char, high: char, folded: impl Fn(char) -> char) {
        let is_in = |b: &u8| (low..=high).contains(&folded(char::from(*b)));
        (0..128u8).filter(is_in).for_each(|b| self.ascii[usize::from(b)] = true);
        if !high.is_ascii() {
            self.beyond.push((low.max('\x7f'), high));
        }
    }

    fn push(mut self, glob: &mut String, slashes: bool) {
        if !slashes {
            self.ascii[usize::from(b'/')] = self.negated;
        }
        let mut take = |c: u8| std::mem::take(&mut self.ascii[usize::from(c)]);
        let (close, hyphen) = (take(b']'), take(b'-'));
        glob.push('[');
        if self.negated {
            glob.push('!');
        }
        // A bracket has to begin with something that means itself there; no path has a NUL.
        glob.push(if close { ']' } else { '\0' });
        let mut low = 0;
        while low < 128 {
            let high = (low..128).take_while(|b| self.ascii[*b]).last();
            if let Some(high) = high {
                push_range(glob, char::from(low as u8), char::from(high as u8));
            }
            low = high.unwrap_or(low) + 1;
        }
        self.beyond.into_iter().for_each(|(low, high)| push_range(glob, low, high));
        if hyphen {
            glob.push('-');
        }
        glob.push(']');
    }
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

fn class(name: &str) -> Option<fn(u8) -> bool> {
    Some(match name {
        "alnum" => |b| b.is_ascii_alphanumeric(),
        "alpha" => |b| b.is_ascii_alphabetic(),
        "blank" => |b| matches!(b, b' ' | b'\t'),
        "cntrl" => |b| b.is_ascii_control(),
        "digit" => |b| b.is_ascii_digit(),
        "graph" => |b| b.is_ascii_graphic(),
        "lower" => |b| b.is_ascii_lowercase(),
        "print" => |b| matches!(b, b' '..=b'~'),
        "punct" => |b| b.is_ascii_punctuation(),
        "space" => |b| matches!(b, b' ' | b'\t'..=b'\r'),
        "upper" => |b| b.is_ascii_uppercase(),
        "xdigit" => |b| b.is_ascii_hexdigit(),
        _ => return None,
    })
}
