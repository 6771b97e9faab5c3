//! POSIX regular expressions, basic and extended, with GNU's additions, in the words of the `regex` crate.
//!
//! As in a UTF-8 locale, `.` and brackets match characters; bytes that are no character match themselves only. Of several matches at one
//! place the longest counts, as POSIX says, where the pattern has alternatives and the text is no longer than a path. Leaves out
//! back-references in the pattern, which are refused.

use regex::bytes::{Regex, RegexBuilder};

use crate::jobs::charset;

/// Where a match is and where its groups are.
pub(super) type Groups = Vec<Option<(usize, usize)>>;

/// Texts in which the longest of several matches is looked for: Linux's longest path.
const LONGEST_TEXT_BYTES_MAX: usize = 4096;
/// How often something is repeated at most: glibc's RE_DUP_MAX.
const REPEAT_MAX: u32 = 0x7fff;
/// What matches nowhere.
const NEVER: &str = "[a&&b]";

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    regex: Regex,
    /// The same for a match that ends where the text does, and for one that ends where it is cut off.
    longest: Option<(Regex, Regex)>,
}

impl Pattern {
    /// Compiles `text`; the error is glibc's, where it has one.
    pub fn new(text: &[u8], extended: bool, ignore_case: bool) -> Result<Pattern, String> {
        let translated = Translator::run(text, extended, r"\z")?;
        let build = |text: &str| {
            let built = RegexBuilder::new(text).case_insensitive(ignore_case).dot_matches_new_line(true).build();
            built.map_err(|_| "Regular expression too big".to_string())
        };
        let longest = if translated.has_alternatives && !translated.has_word_ends {
            let cut = Translator::run(text, extended, NEVER)?;
            Some((build(&format!(r"(?:{})\z", translated.out))?, build(&format!(r"(?:{})\z", cut.out))?))
        } else {
            None
        };
        Ok(Pattern { regex: build(&translated.out)?, longest })
    }

    /// How many groups it has.
    pub fn groups(&self) -> usize {
        self.regex.captures_len() - 1
    }

    /// The first match at or behind `at`.
    pub fn find(&self, text: &[u8], at: usize) -> Option<Groups> {
        let spans = |captures: &regex::bytes::Captures<'_>| -> Groups {
            captures.iter().map(|group| group.map(|group| (group.start(), group.end()))).collect()
        };
        let first = self.regex.captures_at(text, at)?;
        let whole = first.get(0)?;
        if let Some((ending, cut)) = &self.longest
            && text.len() <= LONGEST_TEXT_BYTES_MAX
        {
            for end in (whole.end() + 1..=text.len()).rev() {
                let regex = if end == text.len() { ending } else { cut };
                let longer = regex.captures_at(&text[..end], whole.start());
                if let Some(longer) = longer.filter(|c| c.get(0).is_some_and(|m| m.start() == whole.start())) {
                    return Some(spans(&longer));
                }
            }
        }
        Some(spans(&first))
    }
}

/// What may stand before the place that is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// The start of the pattern, of a group or of an alternative.
    Start,
    /// Something that can be repeated and begins at this byte of the output.
    Atom(usize),
    /// The same, which is repeated already.
    Repeated(usize),
    /// An anchor.
    Anchor,
}

struct Translator<'a> {
    text: &'a [u8],
    at: usize,
    extended: bool,
    /// What `$` becomes.
    end: &'a str,
    out: String,
    before: Before,
    /// Where in the output open groups begin.
    open: Vec<usize>,
    has_alternatives: bool,
    has_word_ends: bool,
}

impl<'a> Translator<'a> {
    fn run(text: &'a [u8], extended: bool, end: &'a str) -> Result<Translator<'a>, String> {
        let mut translator = Translator {
            text,
            at: 0,
            extended,
            end,
            out: String::new(),
            before: Before::Start,
            open: Vec::new(),
            has_alternatives: false,
            has_word_ends: false,
        };
        while translator.at < text.len() {
            translator.step()?;
        }
        if translator.open.is_empty() { Ok(translator) } else { Err("Unmatched ( or \\(".into()) }
    }

    fn rest(&self) -> &'a [u8] {
        &self.text[self.at..]
    }

    /// Takes one element.
    fn step(&mut self) -> Result<(), String> {
        let byte = self.text[self.at];
        let next = self.text.get(self.at + 1).copied();
        match (byte, self.extended) {
            (b'\\', _) => {
                let next = next.ok_or("Trailing backslash")?;
                self.at += 1;
                if !self.extended && matches!(next, b'(' | b')' | b'|' | b'{' | b'+' | b'?') {
                    self.at += 1;
                    return self.operator(next);
                }
                self.escape(next)
            }
            (b'(' | b')' | b'|' | b'{' | b'+' | b'?', true) | (b'*', _) => {
                self.at += 1;
                self.operator(byte)
            }
            (b'^', extended) if extended || self.before == Before::Start => {
                self.at += 1;
                self.anchor(r"\A");
                Ok(())
            }
            (b'$', extended) => {
                self.at += 1;
                if extended || matches!(self.rest(), [] | [b'\\', b')' | b'|', ..]) {
                    self.anchor(self.end);
                } else {
                    self.atom(r"\$");
                }
                Ok(())
            }
            (b'.', _) => {
                self.at += 1;
                self.atom(".");
                Ok(())
            }
            (b'[', _) => self.bracket(),
            _ => {
                self.literal();
                Ok(())
            }
        }
    }

    fn anchor(&mut self, text: &str) {
        self.out.push_str(text);
        self.before = Before::Anchor;
    }

    fn atom(&mut self, text: &str) {
        self.before = Before::Atom(self.out.len());
        self.out.push_str(text);
    }

    /// The character at hand, as itself.
    fn literal(&mut self) {
        let chunk = self.rest()[..self.rest().len().min(4)].utf8_chunks().next();
        match chunk.and_then(|chunk| chunk.valid().chars().next()) {
            Some(c) => {
                self.at += c.len_utf8();
                self.atom(&regex::escape(c.encode_utf8(&mut [0; 4])));
            }
            None => {
                let byte = self.text[self.at];
                self.at += 1;
                self.atom(&format!(r"(?-u:\x{byte:02x})"));
            }
        }
    }

    /// What follows a backslash and is no operator.
    fn escape(&mut self, byte: u8) -> Result<(), String> {
        let class = match byte {
            b'1'..=b'9' => {
                return Err(format!("back-references in the pattern (\\{}) are not in this version", char::from(byte)));
            }
            b'w' => r"\w",
            b'W' => r"\W",
            b's' => r"\s",
            b'S' => r"\S",
            b'b' => r"\b",
            b'B' => r"\B",
            b'<' => r"\b{start}",
            b'>' => r"\b{end}",
            b'`' => r"\A",
            b'\'' => self.end,
            _ => {
                self.literal();
                return Ok(());
            }
        };
        self.at += 1;
        if byte.is_ascii_alphabetic() && !matches!(byte, b'b' | b'B') {
            self.atom(class);
        } else {
            self.has_word_ends |= matches!(byte, b'b' | b'B' | b'<' | b'>');
            self.anchor(class);
        }
        Ok(())
    }

    /// An operator, which was passed.
    fn operator(&mut self, byte: u8) -> Result<(), String> {
        match byte {
            b'(' => {
                self.open.push(self.out.len());
                self.out.push('(');
                self.before = Before::Start;
            }
            b')' => match self.open.pop() {
                Some(start) => {
                    self.out.push(')');
                    self.before = Before::Atom(start);
                }
                None if self.extended => self.atom(r"\)"),
                None => return Err("Unmatched ) or \\)".into()),
            },
            b'|' => {
                self.out.push('|');
                self.before = Before::Start;
                self.has_alternatives = true;
            }
            _ => return self.repeat(byte),
        }
        Ok(())
    }

    fn repeat(&mut self, byte: u8) -> Result<(), String> {
        let start = match self.before {
            Before::Atom(start) => start,
            Before::Repeated(start) if self.extended || byte != b'*' => start,
            Before::Start | Before::Anchor if !self.extended && byte != b'{' => {
                let literal =
                    if byte == b'*' { r"\*" } else { return Err("Invalid preceding regular expression".into()) };
                self.atom(literal);
                return Ok(());
            }
            _ => return Err("Invalid preceding regular expression".into()),
        };
        if matches!(self.before, Before::Repeated(_)) {
            // "+?" would be one operator.
            self.out.insert_str(start, "(?:");
            self.out.push(')');
        }
        if byte == b'{' {
            let interval = self.interval()?;
            self.out.push_str(&interval);
        } else {
            self.out.push(char::from(byte));
        }
        self.before = Before::Repeated(start);
        Ok(())
    }

    /// What is between `{` and `}`.
    fn interval(&mut self) -> Result<String, String> {
        let close: &[u8] = if self.extended { b"}" } else { b"\\}" };
        let end = self.rest().windows(close.len()).position(|w| w == close).ok_or("Unmatched \\{")?;
        let inner = &self.rest()[..end];
        self.at += end + close.len();
        let number = |digits: &[u8]| -> Result<u32, String> {
            if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
                return Err("Invalid content of \\{\\}".into());
            }
            let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
            number.filter(|n| *n <= REPEAT_MAX).ok_or_else(|| "Regular expression too big".to_string())
        };
        let Some(comma) = inner.iter().position(|b| *b == b',') else { return Ok(format!("{{{}}}", number(inner)?)) };
        let (low, high) = (&inner[..comma], &inner[comma + 1..]);
        let low = if low.is_empty() { 0 } else { number(low)? };
        if high.is_empty() {
            return Ok(format!("{{{low},}}"));
        }
        let high = number(high)?;
        if high < low {
            return Err("Invalid content of \\{\\}".into());
        }
        Ok(format!("{{{low},{high}}}"))
    }

    /// A bracket expression; a backslash in it is itself.
    fn bracket(&mut self) -> Result<(), String> {
        const UNMATCHED: &str = "Unmatched [, [^, [:, [., or [=";
        let start = self.out.len();
        self.at += 1;
        self.out.push('[');
        if self.rest().first() == Some(&b'^') {
            self.at += 1;
            self.out.push('^');
        }
        let mut first = true;
        loop {
            match self.rest() {
                [] => return Err(UNMATCHED.into()),
                [b']', ..] if !first => break,
                [b'[', b':', rest @ ..] => {
                    let end = rest.windows(2).position(|w| w == b":]").ok_or(UNMATCHED)?;
                    self.out.push_str(charset::class(&rest[..end]).ok_or("Invalid character class name")?);
                    self.at += end + 4;
                }
                _ => {
                    let from = self.element()?;
                    let to = match self.rest() {
                        [b'-', next, ..] if *next != b']' => {
                            self.at += 1;
                            Some(self.element()?)
                        }
                        _ => None,
                    };
                    charset::push_char(&mut self.out, from);
                    if let Some(to) = to {
                        if to < from {
                            return Err("Invalid range end".into());
                        }
                        self.out.push('-');
                        charset::push_char(&mut self.out, to);
                    }
                }
            }
            first = false;
        }
        self.at += 1;
        self.out.push(']');
        self.before = Before::Atom(start);
        Ok(())
    }

    /// One character of a bracket expression: itself, `[.x.]` or `[=x=]`.
    fn element(&mut self) -> Result<char, String> {
        let mut text = self.rest();
        let mut length = None;
        if let [b'[', mark @ (b'.' | b'='), rest @ ..] = text {
            let end = rest.windows(2).position(|w| w == [*mark, b']']).ok_or("Unmatched [, [^, [:, [., or [=")?;
            text = &rest[..end];
            length = Some(end + 4);
        }
        let text = text.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        let c = text.chars().next().ok_or("bytes in brackets that are no UTF-8 text are not in this version")?;
        if length.is_some_and(|length| length != c.len_utf8() + 4) {
            return Err("Invalid collation character".into());
        }
        self.at += length.unwrap_or(c.len_utf8());
        Ok(c)
    }
}
