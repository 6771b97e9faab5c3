//! What GNU tar takes from its environment: more options (TAR_OPTIONS), and the archive where none is named (TAPE).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::low::{self, Low};

/// Where more options are, which come before those of the command line.
const OPTIONS: &str = "TAR_OPTIONS";
/// Where the archive's name is.
const ARCHIVE: &str = "TAPE";

/// Parses what follows the program's name, with what the environment adds to it.
pub fn parse(args: Vec<OsString>) -> Result<Low, String> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let more = set(OPTIONS).map_or_else(|| Ok(Vec::new()), |text| options(&text))?;
    let mut low = low::parse_after(more, args)?;
    if low.file.is_empty() {
        low.file.extend(set(ARCHIVE));
    }
    Ok(low)
}

/// The options of a text; an error where there is something else in it.
fn options(text: &OsStr) -> Result<Vec<OsString>, String> {
    let mut words = split(text.as_bytes()).ok_or_else(|| format!("cannot split {OPTIONS}: missing closing quote"))?;
    let alone = low::parse_after(words.clone(), Vec::new()).map_err(|error| format!("in {OPTIONS}: {error}"))?;
    if !alone.members.is_empty() {
        return Err(format!("non-option arguments in {OPTIONS}"));
    }
    // It would end the options of the command line.
    words.pop_if(|last| last == "--");
    Ok(words)
}

/// The words of a text as GNU tar splits it: at blanks that are not quoted, of either kind, or behind a backslash. None where a quote is not
/// closed.
pub fn split(text: &[u8]) -> Option<Vec<OsString>> {
    let mut words: Vec<Vec<u8>> = Vec::new();
    let (mut open, mut quote) = (false, None);
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if quote.is_none() && matches!(byte, b' ' | b'\t' | b'\n') {
            open = false;
            continue;
        }
        if !open {
            words.push(Vec::new());
            open = true;
        }
        let word = words.last_mut()?;
        match byte {
            b'\'' | b'"' if quote.is_none_or(|quote| quote == byte) => {
                quote = if quote.is_some() { None } else { Some(byte) };
            }
            b'\\' if !rest.is_empty() => {
                let (escaped, taken) = unescape(rest);
                word.push(escaped);
                rest = &rest[taken..];
            }
            byte => word.push(byte),
        }
    }
    quote.is_none().then(|| words.into_iter().map(OsString::from_vec).collect())
}

/// The byte that is meant by what follows a backslash, and how much of it: C's escapes, also in single quotes.
fn unescape(text: &[u8]) -> (u8, usize) {
    let number =
        |digits: &[u8], radix| std::str::from_utf8(digits).ok().and_then(|text| u8::from_str_radix(text, radix).ok());
    let of = |digits: Option<&[u8]>, radix: u32| {
        let digits = digits.filter(|digits| digits.iter().all(|digit| char::from(*digit).is_digit(radix)))?;
        number(digits, radix)
    };
    match text[0] {
        b'a' => (0x07, 1),
        b'b' => (0x08, 1),
        b'f' => (0x0c, 1),
        b'n' => (b'\n', 1),
        b'r' => (b'\r', 1),
        b't' => (b'\t', 1),
        b'v' => (0x0b, 1),
        b'x' => of(text.get(1..3), 16).map_or((b'x', 1), |byte| (byte, 3)),
        byte => of(text.get(..3), 8).map_or((byte, 1), |byte| (byte, 3)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_gnu_tar_splits_them() {
        for (text, words) in [
            ("", &[][..]),
            ("  -v\t--exclude=a\n", &["-v", "--exclude=a"]),
            (r#"--exclude="b c""#, &["--exclude=b c"]),
            ("--exclude='b c'", &["--exclude=b c"]),
            (r"--exclude=b\ c", &["--exclude=b c"]),
            (r#"--exclude="b"\ "c""#, &["--exclude=b c"]),
            (r"--exclude=b\x20c", &["--exclude=b c"]),
            (r"'\142 c'", &["b c"]),
            (r#""it's" -v"#, &["it's", "-v"]),
            (r#""" -v"#, &["", "-v"]),
            (r"a\q \xg \", &["aq", "xg", r"\"]),
        ] {
            let split = split(text.as_bytes()).unwrap();
            assert_eq!(split, words, "{text}");
        }
        assert_eq!(split(b"-v '"), None);
    }

    #[test]
    fn options_alone_are_taken() {
        let options = |text: &str| options(OsStr::new(text));
        assert_eq!(options("-f t.tar --"), Ok(vec!["-f".into(), "t.tar".into()]));
        assert_eq!(options("tf"), Err("non-option arguments in TAR_OPTIONS".into()));
        assert!(options("-X").unwrap_err().starts_with("in TAR_OPTIONS: "));
        assert!(options("-v \"").unwrap_err().contains("missing closing quote"));
    }
}
