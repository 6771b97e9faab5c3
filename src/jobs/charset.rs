//! What stands in a bracket expression, in the regex crate's words.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

/// One character.
pub(super) fn push_char(out: &mut String, c: char) {
    if matches!(c, '[' | ']' | '\\' | '^' | '-' | '&' | '~') {
        out.push('\\');
    }
    out.push(c);
}

/// Is a character in one of POSIX's classes? In none that is not known.
pub(super) fn has(name: &str, c: char) -> bool {
    static CLASSES: LazyLock<HashMap<&str, Regex>> = LazyLock::new(|| {
        let compiled = |name: &&'static str| Some((*name, Regex::new(&format!("[{}]", class(name.as_bytes())?)).ok()?));
        NAMES.iter().filter_map(compiled).collect()
    });
    CLASSES.get(name).is_some_and(|class| class.is_match(c.encode_utf8(&mut [0; 4])))
}

/// The names of POSIX's classes.
pub(super) const NAMES: [&str; 12] =
    ["alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit"];

/// POSIX's classes of characters, as in a UTF-8 locale.
pub(super) fn class(name: &[u8]) -> Option<&'static str> {
    Some(match name {
        b"alpha" => r"\p{Alphabetic}",
        b"digit" => "0-9",
        b"alnum" => r"\p{Alphabetic}\p{Nd}",
        b"upper" => r"\p{Uppercase}",
        b"lower" => r"\p{Lowercase}",
        b"space" => r"\s",
        b"blank" => r" \t",
        b"punct" => r"\p{P}\p{S}",
        b"cntrl" => r"\p{Cc}",
        b"xdigit" => "0-9A-Fa-f",
        b"graph" => r"[^\p{Z}\p{C}]",
        b"print" => r" [^\p{Z}\p{C}]",
        _ => return None,
    })
}
