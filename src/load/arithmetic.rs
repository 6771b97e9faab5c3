//! Arithmetic in values: `(1024*1k)`, `8*4096`.
//!
//! Promises: `+ - * /` and parentheses, in whole numbers; overflow, division by zero and depth are errors, never panics.
//! Leaves out: everything else that `bc` can, to which fio hands such texts.

use super::value::BadValue;

/// Parentheses within each other at most.
const DEPTH_MAX: usize = 32;

struct Parser<'a, F> {
    rest: &'a str,
    leaf: F,
}

/// What `text` comes to; `leaf` reads a number with its unit.
pub fn evaluate(text: &str, leaf: impl Fn(&str) -> Result<u64, BadValue>) -> Result<u64, BadValue> {
    let mut parser = Parser { rest: text, leaf };
    let value = parser.sum(0)?;
    match parser.peek() {
        None => u64::try_from(value).map_err(|_| BadValue(format!("'{text}' is negative or too large"))),
        Some(letter) => Err(BadValue(format!("'{letter}' was not expected in '{text}'"))),
    }
}

impl<F: Fn(&str) -> Result<u64, BadValue>> Parser<'_, F> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn next_if(&mut self, letters: &[char]) -> Option<char> {
        let letter = self.peek().filter(|letter| letters.contains(letter))?;
        self.rest = &self.rest[letter.len_utf8()..];
        Some(letter)
    }

    fn sum(&mut self, depth: usize) -> Result<i128, BadValue> {
        let mut value = self.product(depth)?;
        while let Some(sign) = self.next_if(&['+', '-']) {
            let other = self.product(depth)?;
            let sum = if sign == '+' { value.checked_add(other) } else { value.checked_sub(other) };
            value = sum.ok_or_else(too_large)?;
        }
        Ok(value)
    }

    fn product(&mut self, depth: usize) -> Result<i128, BadValue> {
        let mut value = self.atom(depth)?;
        while let Some(sign) = self.next_if(&['*', '/']) {
            let other = self.atom(depth)?;
            value = match sign {
                '*' => value.checked_mul(other).ok_or_else(too_large)?,
                _ => value.checked_div(other).ok_or_else(|| BadValue("division by zero".into()))?,
            };
        }
        Ok(value)
    }

    fn atom(&mut self, depth: usize) -> Result<i128, BadValue> {
        if self.next_if(&['(']).is_some() {
            if depth == DEPTH_MAX {
                return Err(BadValue(format!("more than {DEPTH_MAX} parentheses within each other")));
            }
            let value = self.sum(depth + 1)?;
            let closed = self.next_if(&[')']).is_some();
            return if closed { Ok(value) } else { Err(BadValue("')' is missing".into())) };
        }
        self.peek();
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(end);
        self.rest = rest;
        (self.leaf)(number).map(i128::from)
    }
}

fn too_large() -> BadValue {
    BadValue("the result is too large".into())
}

#[cfg(test)]
mod tests {
    use super::super::value::{KbBase, bytes};
    use super::*;

    #[test]
    fn results() {
        let value = |text: &str| evaluate(text, |leaf| bytes(leaf, KbBase::Binary).map(|read| read.value)).ok();
        assert_eq!(value("(1024*1k)"), Some(1 << 20));
        assert_eq!(value("8*4096"), Some(32768));
        assert_eq!(value("2 + 3 * (4 - 1)"), Some(11));
        assert_eq!(value("7/2"), Some(3));
        for text in ["", "1/0", "(1", "1)", "1-2", "1p*1p*1p*1p", "2**3", &"(".repeat(99)] {
            assert_eq!(value(text), None, "{text}");
        }
    }
}
