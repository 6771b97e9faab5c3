//! `--transform`: sed's replacement expressions on members' names.
//!
//! Expressions are as GNU tar 1.34 reads them, and give what it gives, with these differences: where a pattern matches the empty string
//! and `g` is given (GNU tar then never ends), or only the N-th match is meant (GNU tar then repeats what is before it), and in what an
//! anchor is (GNU tar takes each further match for the start of a name), names become what sed makes of them. Back-references in a
//! pattern are refused.

mod pattern;

use thiserror::Error;

use crate::archive::{Member, MemberKind};

use pattern::{Groups, Pattern};

/// What a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A member's.
    Member,
    /// A hard link's target, also a member's name.
    HardLink,
    /// A symbolic link's text.
    Symlink,
}

/// Why an expression cannot be used; in GNU tar's words.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct BadTransform(String);

/// Replacement expressions, applied in order.
#[derive(Clone, Debug, Default)]
pub struct Transform {
    rules: Vec<Rule>,
}

/// Which names a rule is about.
#[derive(Clone, Copy, Debug)]
struct Scope {
    members: bool,
    hard_links: bool,
    symlinks: bool,
}

#[derive(Clone, Debug)]
struct Rule {
    pattern: Pattern,
    with: Vec<Segment>,
    /// The first match that is replaced, from 1.
    first: u64,
    /// All behind it as well.
    global: bool,
    scope: Scope,
}

/// A piece of what a match is replaced with.
#[derive(Clone, Debug)]
enum Segment {
    Literal(Vec<u8>),
    Group(usize),
    Case(Case),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    AsIs,
    Upper,
    Lower,
    /// The next character only.
    UpperNext,
    LowerNext,
}

impl Transform {
    /// Reads expressions, each of them one or more `s/PATTERN/WITH/FLAGS` or `flags=FLAGS`, separated by `;`.
    pub fn parse<B: AsRef<[u8]>>(expressions: &[B]) -> Result<Transform, BadTransform> {
        let mut rules = Vec::new();
        let mut scope = Scope { members: true, hard_links: true, symlinks: true };
        for expression in expressions {
            let mut rest = expression.as_ref();
            while !rest.is_empty() {
                rest = match rest.strip_prefix(b"flags=") {
                    Some(flags) => default_scope(&mut scope, flags)?,
                    None => {
                        let (rule, rest) = rule(rest, scope)?;
                        rules.push(rule);
                        rest
                    }
                };
            }
        }
        Ok(Transform { rules })
    }

    /// True when it changes no name.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Changes where a member that is a link leads.
    pub(super) fn apply_to_link(&self, member: &mut Member) {
        match member.kind {
            MemberKind::HardLink => member.link = self.apply(&member.link, Part::HardLink),
            MemberKind::Symlink => member.link = self.apply(&member.link, Part::Symlink),
            _ => {}
        }
    }

    /// What a member's path in an archive becomes. As of GNU tar, the slash behind a directory's is none of its name, and stays.
    pub fn apply_to_path(&self, path: &[u8]) -> Vec<u8> {
        let end = path.iter().rposition(|&byte| byte != b'/').map_or(path.len().min(1), |last| last + 1);
        let mut name = self.apply(&path[..end], Part::Member);
        if end < path.len() && name.last().is_some_and(|last| *last != b'/') {
            name.push(b'/');
        }
        name
    }

    /// What `name` becomes.
    pub fn apply(&self, name: &[u8], what: Part) -> Vec<u8> {
        let mut name = name.to_vec();
        for rule in &self.rules {
            let concerned = match what {
                Part::Member => rule.scope.members,
                Part::HardLink => rule.scope.hard_links,
                Part::Symlink => rule.scope.symlinks,
            };
            if concerned && !name.is_empty() {
                name = rule.apply(&name);
            }
        }
        name
    }
}

impl Rule {
    fn apply(&self, name: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(name.len());
        let (mut at, mut copied, mut count, mut last_end) = (0, 0, 0, None);
        while at <= name.len() {
            let Some(groups) = self.pattern.find(name, at) else { break };
            let Some(&Some((start, end))) = groups.first() else { break };
            if start == end && last_end == Some(end) {
                // An empty match right behind a match is none.
                at = after(name, end);
                continue;
            }
            count += 1;
            last_end = Some(end);
            at = if start == end { after(name, end) } else { end };
            if count < self.first {
                continue;
            }
            out.extend_from_slice(&name[copied..start]);
            self.replace(name, &groups, &mut out);
            copied = end;
            if !self.global {
                break;
            }
        }
        out.extend_from_slice(&name[copied..]);
        out
    }

    fn replace(&self, name: &[u8], groups: &Groups, out: &mut Vec<u8>) {
        let (mut case, mut later) = (Case::AsIs, Case::AsIs);
        for segment in &self.with {
            let text = match segment {
                Segment::Literal(text) => text.as_slice(),
                Segment::Group(group) => match groups.get(*group) {
                    Some(Some((start, end))) => &name[*start..*end],
                    // It took no part in the match.
                    _ => continue,
                },
                Segment::Case(next @ (Case::UpperNext | Case::LowerNext)) => {
                    later = case;
                    case = *next;
                    continue;
                }
                Segment::Case(now) => {
                    case = *now;
                    continue;
                }
            };
            convert(case, text, out);
            if matches!(case, Case::UpperNext | Case::LowerNext) {
                case = std::mem::replace(&mut later, Case::AsIs);
            }
        }
    }
}

/// Letters beyond ASCII stay, and of a text whose first character alone is meant the rest stays, as in GNU tar.
fn convert(case: Case, text: &[u8], out: &mut Vec<u8>) {
    let first = text.len().min(1);
    match case {
        Case::AsIs => out.extend_from_slice(text),
        Case::Upper => out.extend(text.to_ascii_uppercase()),
        Case::Lower => out.extend(text.to_ascii_lowercase()),
        Case::UpperNext => out.extend(text[..first].to_ascii_uppercase().iter().chain(&text[first..])),
        Case::LowerNext => out.extend(text[..first].to_ascii_lowercase().iter().chain(&text[first..])),
    }
}

/// Where the character behind `at` begins.
fn after(name: &[u8], at: usize) -> usize {
    let continues = |byte: &u8| byte & 0xc0 == 0x80;
    let rest = name.get(at + 1..).unwrap_or_default();
    at + 1 + rest.iter().take(3).take_while(|byte| continues(byte)).count()
}

fn scope_flag(scope: &mut Scope, flag: u8) -> bool {
    match flag {
        b'r' => scope.members = true,
        b'R' => scope.members = false,
        b'h' => scope.hard_links = true,
        b'H' => scope.hard_links = false,
        b's' => scope.symlinks = true,
        b'S' => scope.symlinks = false,
        _ => return false,
    }
    true
}

/// Flags for all expressions from here on; what is behind them. They begin with nothing: `flags=r` means members alone.
fn default_scope<'a>(scope: &mut Scope, flags: &'a [u8]) -> Result<&'a [u8], BadTransform> {
    *scope = Scope { members: false, hard_links: false, symlinks: false };
    let end = flags.iter().position(|b| *b == b';').unwrap_or(flags.len());
    for &flag in &flags[..end] {
        if !scope_flag(scope, flag) {
            return Err(BadTransform(format!("Unknown transform flag: {}", shown(flag))));
        }
    }
    Ok(flags.get(end + 1..).unwrap_or_default())
}

fn shown(byte: u8) -> impl std::fmt::Display {
    byte.escape_ascii()
}

fn invalid() -> BadTransform {
    BadTransform("Invalid transform expression".into())
}

/// The length of what is before the next `delimiter` that has no backslash before it.
fn until(text: &[u8], delimiter: u8) -> Result<usize, BadTransform> {
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            byte if byte == delimiter => return Ok(at),
            b'\\' if at + 1 < text.len() => at += 2,
            _ => at += 1,
        }
    }
    Err(invalid())
}

/// One expression, and what is behind it.
fn rule(text: &[u8], scope: Scope) -> Result<(Rule, &[u8]), BadTransform> {
    let [b's', delimiter, rest @ ..] = text else { return Err(invalid()) };
    let (pattern, rest) = rest.split_at(until(rest, *delimiter)?);
    let (with, rest) = rest[1..].split_at(until(&rest[1..], *delimiter)?);
    let mut rest = &rest[1..];
    let (mut scope, mut first, mut global, mut extended, mut ignore_case) = (scope, 1, false, false, false);
    while let [flag, behind @ ..] = rest {
        rest = behind;
        match flag {
            b';' => break,
            b'g' => global = true,
            b'i' => ignore_case = true,
            b'x' => extended = true,
            b'0'..=b'9' => {
                let digits = 1 + behind.iter().take_while(|b| b.is_ascii_digit()).count();
                let (mut number, all) = (0u64, &text[text.len() - behind.len() - 1..][..digits]);
                for digit in all {
                    number = number.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
                }
                first = number.max(1);
                rest = &behind[digits - 1..];
            }
            flag if scope_flag(&mut scope, *flag) => {}
            flag => return Err(BadTransform(format!("Unknown flag in transform expression: {}", shown(*flag)))),
        }
    }
    let pattern = Pattern::new(pattern, extended, ignore_case)
        .map_err(|reason| BadTransform(format!("Invalid transform expression: {reason}")))?;
    let with = replacement(with, *delimiter, pattern.groups())?;
    Ok((Rule { pattern, with, first, global, scope }, rest))
}

/// What a letter behind a backslash stands for, as in C.
fn control(letter: u8) -> Option<u8> {
    Some(match letter {
        b'a' => 0x07,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0b,
        _ => return None,
    })
}

/// What a match is replaced with; unknown escapes stay as they are.
fn replacement(text: &[u8], delimiter: u8, groups: usize) -> Result<Vec<Segment>, BadTransform> {
    let mut segments = Vec::new();
    let mut literal = Vec::new();
    let mut rest = text;
    while let [byte, behind @ ..] = rest {
        rest = behind;
        let segment = match (byte, behind.first()) {
            (b'&', _) => Segment::Group(0),
            (b'\\', Some(&next)) => {
                rest = &behind[1..];
                match next {
                    b'0'..=b'9' if usize::from(next - b'0') > groups => {
                        let reason = "Invalid transform replacement: back reference out of range";
                        return Err(BadTransform(reason.into()));
                    }
                    b'0'..=b'9' => Segment::Group(usize::from(next - b'0')),
                    b'U' => Segment::Case(Case::Upper),
                    b'L' => Segment::Case(Case::Lower),
                    b'E' => Segment::Case(Case::AsIs),
                    b'u' => Segment::Case(Case::UpperNext),
                    b'l' => Segment::Case(Case::LowerNext),
                    _ => {
                        match control(next) {
                            Some(control) if next != delimiter => literal.push(control),
                            _ if next == delimiter || matches!(next, b'\\' | b'&') => literal.push(next),
                            _ => literal.extend([b'\\', next]),
                        }
                        continue;
                    }
                }
            }
            _ => {
                literal.push(*byte);
                continue;
            }
        };
        if !literal.is_empty() {
            segments.push(Segment::Literal(std::mem::take(&mut literal)));
        }
        segments.push(segment);
    }
    if !literal.is_empty() {
        segments.push(Segment::Literal(literal));
    }
    Ok(segments)
}

#[cfg(test)]
mod tests;
