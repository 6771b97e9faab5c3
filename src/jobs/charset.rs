//! What stands in a bracket expression, in the regex crate's words.

/// One character.
pub(super) fn push_char(out: &mut String, c: char) {
    if matches!(c, '[' | ']' | '\\' | '^' | '-' | '&' | '~') {
        out.push('\\');
    }
    out.push(c);
}

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
